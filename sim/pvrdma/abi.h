// SPDX-License-Identifier: Apache-2.0
// VMware's paravirtual RDMA device (PVRDMA) as its drivers see it: registers, shared region, commands, rings. Written
// from the public definition: Linux' drivers/infiniband/hw/vmw_pvrdma (pvrdma_dev_api.h, pvrdma_verbs.h, pvrdma_ring.h)
// and include/uapi/rdma/vmw_pvrdma-abi.h, cited below as [dev_api], [verbs], [ring] and [abi]. A test compares what the
// last one defines with the system's copy of it.
//
// Numbers in memory are little-endian, as this host's; GIDs, GUIDs, immediate data and MAC addresses are in network
// order.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace vireo::sim::pvrdma {

static_assert(std::endian::native == std::endian::little);

inline constexpr uint64_t kPageBytes = 4096;

// --- PCI [pvrdma.h, linux/pci_ids.h, dev_api]

inline constexpr uint16_t kVendorId = 0x15ad, kDeviceId = 0x0820;
inline constexpr uint32_t kVectors = 3;
enum Bar : unsigned { kMsixBar = 0, kRegisterBar = 1, kUarBar = 2 };
enum Vector : unsigned { kResponseVector = 0, kAsyncVector = 1, kCqVector = 2 };

// Registers of 32 bits in BAR 1, by offset.
enum Register : uint32_t {
  kVersion = 0x00,
  kDsrLow = 0x04,
  kDsrHigh = 0x08,
  kCtl = 0x0c,
  kRequest = 0x10,
  kErr = 0x14,
  kIcr = 0x18,
  kImr = 0x1c,
  kMacLow = 0x20,
  kMacHigh = 0x24,
};
enum Ctl : uint32_t { kActivate = 0, kUnquiesce = 1, kReset = 2 };
// 19: page frame numbers of 64 bits in the shared region and in CREATE_UC. 20: a queue pair's handle and number differ.
inline constexpr uint32_t kDeviceVersion = 20;

// Doorbells in a page of BAR 2, by offset [abi].
enum Doorbell : uint32_t { kQpDoorbell = 0, kCqDoorbell = 4, kSrqDoorbell = 8 };
inline constexpr uint32_t kHandleMask = 0x00ff'ffff;
inline constexpr uint32_t kQpSend = 1U << 30, kQpRecv = 1U << 31;
inline constexpr uint32_t kCqArmSolicited = 1U << 29, kCqArm = 1U << 30, kCqPoll = 1U << 31;
inline constexpr uint32_t kSrqRecv = 1U << 30;

// --- Page directories: a page with addresses of tables, each a page with addresses of pages [dev_api]

inline constexpr uint32_t kEntriesPerPage = 512;
inline constexpr uint32_t kMaxPages = kEntriesPerPage * kEntriesPerPage;

// --- Shared region [dev_api]

struct RingPages {
  uint32_t pages = 0;  // the first one holds the ring's state
  uint32_t reserved = 0;
  uint64_t directory = 0;
};

struct DeviceCaps {
  uint64_t fw_ver = 0;
  uint8_t node_guid[8]{};
  uint8_t sys_image_guid[8]{};
  uint64_t max_mr_size = 0;
  uint64_t page_size_cap = 0;
  uint64_t atomic_arg_sizes = 0;
  uint32_t ex_comp_mask = 0;
  uint32_t device_cap_flags2 = 0;
  uint32_t max_fa_bit_boundary = 0;
  uint32_t log_max_atomic_inline_arg = 0;
  uint32_t vendor_id = 0;
  uint32_t vendor_part_id = 0;
  uint32_t hw_ver = 0;
  uint32_t max_qp = 0;
  uint32_t max_qp_wr = 0;
  uint32_t device_cap_flags = 0;
  uint32_t max_sge = 0;
  uint32_t max_sge_rd = 0;
  uint32_t max_cq = 0;
  uint32_t max_cqe = 0;
  uint32_t max_mr = 0;
  uint32_t max_pd = 0;
  uint32_t max_qp_rd_atom = 0;
  uint32_t max_ee_rd_atom = 0;
  uint32_t max_res_rd_atom = 0;
  uint32_t max_qp_init_rd_atom = 0;
  uint32_t max_ee_init_rd_atom = 0;
  uint32_t max_ee = 0;
  uint32_t max_rdd = 0;
  uint32_t max_mw = 0;
  uint32_t max_raw_ipv6_qp = 0;
  uint32_t max_raw_ethy_qp = 0;
  uint32_t max_mcast_grp = 0;
  uint32_t max_mcast_qp_attach = 0;
  uint32_t max_total_mcast_qp_attach = 0;
  uint32_t max_ah = 0;
  uint32_t max_fmr = 0;
  uint32_t max_map_per_fmr = 0;
  uint32_t max_srq = 0;
  uint32_t max_srq_wr = 0;
  uint32_t max_srq_sge = 0;
  uint32_t max_uar = 0;
  uint32_t gid_tbl_len = 0;
  uint16_t max_pkeys = 0;
  uint8_t local_ca_ack_delay = 0;
  uint8_t phys_port_cnt = 0;
  uint8_t mode = 0;        // 0: RoCE
  uint8_t atomic_ops = 0;  // kAtomicCompareSwap, kAtomicFetchAdd
  uint8_t bmme_flags = 0;
  uint8_t gid_types = 0;  // kGidRoceV2
  uint8_t reserved[4]{};
};
inline constexpr uint8_t kGidRoceV2 = 2;
inline constexpr uint8_t kAtomicCompareSwap = 1, kAtomicFetchAdd = 2;

struct SharedRegion {
  uint32_t driver_version = 0;
  uint32_t pad = 0;
  uint64_t gos_info = 0;  // kind of operating system: not used
  uint64_t cmd_slot = 0;  // addresses of pages
  uint64_t resp_slot = 0;
  RingPages async_ring{};
  RingPages cq_ring{};
  uint64_t uar_pfn = 0;  // page frame number of the driver's own doorbell page, the first one of BAR 2
  DeviceCaps caps{};     // written by the device
};

// --- Rings [ring]

// Of a ring of N entries both indices count modulo 2 N.
struct RingState {
  uint32_t prod_tail = 0;
  uint32_t cons_head = 0;
};
// First page of a ring. Queue pairs: `first` is the send queue's, `second` the receive queue's. Others: `second`.
struct RingHeader {
  RingState first, second;
};

enum class EventType : uint32_t {
  kCqErr = 0,
  kQpFatal = 1,
  kQpReqErr = 2,
  kQpAccessErr = 3,
  kCommEst = 4,
  kSqDrained = 5,
  kDeviceFatal = 8,
  kPortActive = 9,
  kPortErr = 10,
  kSrqErr = 14,
  kSrqLimitReached = 15,
  kQpLastWqeReached = 16,
};
// Entry of the asynchronous event ring.
struct Event {
  EventType type{};
  uint32_t info = 0;  // handle, or port
};
// Entry of the completion notification ring.
struct Notification {
  uint32_t cq_handle = 0;
};

// --- Commands [dev_api, verbs]

enum class Command : uint32_t {
  kQueryPort = 0,
  kQueryPkey = 1,
  kCreatePd = 2,
  kDestroyPd = 3,
  kCreateMr = 4,
  kDestroyMr = 5,
  kCreateCq = 6,
  kResizeCq = 7,
  kDestroyCq = 8,
  kCreateQp = 9,
  kModifyQp = 10,
  kQueryQp = 11,
  kDestroyQp = 12,
  kCreateUc = 13,
  kDestroyUc = 14,
  kCreateBind = 15,
  kDestroyBind = 16,
  kCreateSrq = 17,
  kModifySrq = 18,
  kQuerySrq = 19,
  kDestroySrq = 20,
};
inline constexpr uint32_t kResponseBit = 1U << 31;  // of a response's `ack`: this bit and the command

struct CommandHeader {
  uint64_t response = 0;  // repeated in the response
  Command command{};
  uint32_t reserved = 0;
};
struct ResponseHeader {
  uint64_t response = 0;
  uint32_t ack = 0;
  uint8_t error = 0;  // an errno
  uint8_t reserved[3]{};
};

struct QueryPort {
  CommandHeader header{};
  uint8_t port = 0;
  uint8_t reserved[7]{};
};
struct PortAttributes {
  uint32_t state = 0;
  uint32_t max_mtu = 0;  // IBTA's encodings
  uint32_t active_mtu = 0;
  uint32_t gid_tbl_len = 0;
  uint32_t port_cap_flags = 0;
  uint32_t max_msg_sz = 0;
  uint32_t bad_pkey_cntr = 0;
  uint32_t qkey_viol_cntr = 0;
  uint16_t pkey_tbl_len = 0;
  uint16_t lid = 0;
  uint16_t sm_lid = 0;
  uint8_t lmc = 0;
  uint8_t max_vl_num = 0;
  uint8_t sm_sl = 0;
  uint8_t subnet_timeout = 0;
  uint8_t init_type_reply = 0;
  uint8_t active_width = 0;
  uint8_t active_speed = 0;
  uint8_t phys_state = 0;
  uint8_t reserved[2]{};
};
struct QueryPortResponse {
  ResponseHeader header{};
  PortAttributes attributes{};
};

struct QueryPkey {
  CommandHeader header{};
  uint8_t port = 0;
  uint8_t index = 0;
  uint8_t reserved[6]{};
};
struct QueryPkeyResponse {
  ResponseHeader header{};
  uint16_t pkey = 0;
  uint8_t reserved[6]{};
};

// The command names its argument by a handle: every DESTROY command, and CREATE_PD, whose argument is a context.
struct HandleCommand {
  CommandHeader header{};
  uint32_t handle = 0;
  uint32_t reserved = 0;
};
struct HandleResponse {
  ResponseHeader header{};
  uint32_t handle = 0;
  uint32_t reserved = 0;
};

struct CreateUc {
  CommandHeader header{};
  uint64_t pfn = 0;  // page frame number of the doorbell page
};

struct CreateMr {
  CommandHeader header{};
  uint64_t start = 0;
  uint64_t length = 0;
  uint64_t directory = 0;
  uint32_t pd = 0;
  uint32_t access_flags = 0;
  uint32_t flags = 0;
  uint32_t pages = 0;
};
inline constexpr uint32_t kMrDma = 1, kMrFastRegister = 2;
struct CreateMrResponse {
  ResponseHeader header{};
  uint32_t handle = 0;
  uint32_t lkey = 0;
  uint32_t rkey = 0;
  uint32_t reserved = 0;
};

struct CreateCq {
  CommandHeader header{};
  uint64_t directory = 0;
  uint32_t context = 0;
  uint32_t cqe = 0;
  uint32_t pages = 0;
  uint32_t reserved = 0;
};
struct CreateCqResponse {
  ResponseHeader header{};
  uint32_t handle = 0;
  uint32_t cqe = 0;
};

struct SrqAttributes {
  uint32_t max_wr = 0;
  uint32_t max_sge = 0;
  uint32_t srq_limit = 0;
  uint32_t reserved = 0;
};
struct CreateSrq {
  CommandHeader header{};
  uint64_t directory = 0;
  uint32_t pd = 0;
  uint32_t pages = 0;
  SrqAttributes attributes{};
  uint8_t type = 0;  // kSrqBasic
  uint8_t reserved[7]{};
};
inline constexpr uint8_t kSrqBasic = 0;
struct ModifySrq {
  CommandHeader header{};
  uint32_t handle = 0;
  uint32_t mask = 0;
  SrqAttributes attributes{};
};
enum SrqMask : uint32_t { kMaskSrqMaxWr = 1U << 0, kMaskSrqLimit = 1U << 1 };
struct QuerySrqResponse {
  ResponseHeader header{};
  SrqAttributes attributes{};
};

struct CreateQp {
  CommandHeader header{};
  uint64_t directory = 0;
  uint32_t pd = 0;
  uint32_t send_cq = 0;
  uint32_t recv_cq = 0;
  uint32_t srq = 0;
  uint32_t max_send_wr = 0;
  uint32_t max_recv_wr = 0;
  uint32_t max_send_sge = 0;
  uint32_t max_recv_sge = 0;
  uint32_t max_inline_data = 0;
  uint32_t lkey = 0;
  uint32_t access_flags = 0;
  uint16_t pages = 0;
  uint16_t send_pages = 0;  // without the first page, which holds the rings' states
  uint16_t max_atomic_arg = 0;
  uint8_t signal_all = 0;
  uint8_t type = 0;  // IBTA's: 1 GSI, 2 RC, 3 UC, 4 UD
  uint8_t has_srq = 0;
  uint8_t reserved[3]{};
};
struct CreateQpResponse {
  ResponseHeader header{};
  uint32_t qpn = 0;
  uint32_t handle = 0;
  uint32_t max_send_wr = 0;
  uint32_t max_recv_wr = 0;
  uint32_t max_send_sge = 0;
  uint32_t max_recv_sge = 0;
  uint32_t max_inline_data = 0;
};

struct GlobalRoute {
  uint8_t dgid[16]{};
  uint32_t flow_label = 0;
  uint8_t sgid_index = 0;
  uint8_t hop_limit = 0;
  uint8_t traffic_class = 0;
  uint8_t reserved = 0;
};
struct Path {
  GlobalRoute grh{};
  uint16_t dlid = 0;
  uint16_t vlan_id = 0;
  uint8_t sl = 0;
  uint8_t src_path_bits = 0;
  uint8_t static_rate = 0;
  uint8_t flags = 0;
  uint8_t port = 0;
  uint8_t dmac[6]{};
  uint8_t reserved = 0;
};
struct QpCap {
  uint32_t max_send_wr = 0;
  uint32_t max_recv_wr = 0;
  uint32_t max_send_sge = 0;
  uint32_t max_recv_sge = 0;
  uint32_t max_inline_data = 0;
  uint32_t reserved = 0;
};
struct QpAttributes {
  uint32_t qp_state = 0;
  uint32_t cur_qp_state = 0;
  uint32_t path_mtu = 0;
  uint32_t path_mig_state = 0;
  uint32_t qkey = 0;
  uint32_t rq_psn = 0;
  uint32_t sq_psn = 0;
  uint32_t dest_qp_num = 0;
  uint32_t qp_access_flags = 0;
  uint16_t pkey_index = 0;
  uint16_t alt_pkey_index = 0;
  uint8_t en_sqd_async_notify = 0;
  uint8_t sq_draining = 0;
  uint8_t max_rd_atomic = 0;
  uint8_t max_dest_rd_atomic = 0;
  uint8_t min_rnr_timer = 0;
  uint8_t port = 0;
  uint8_t timeout = 0;
  uint8_t retry_cnt = 0;
  uint8_t rnr_retry = 0;
  uint8_t alt_port = 0;
  uint8_t alt_timeout = 0;
  uint8_t reserved[5]{};
  QpCap cap{};
  Path path{};
  Path alt_path{};
};
// Bits of `mask`.
enum QpMask : uint32_t {
  kMaskState = 1U << 0,
  kMaskCurState = 1U << 1,
  kMaskSqdNotify = 1U << 2,
  kMaskAccessFlags = 1U << 3,
  kMaskPkeyIndex = 1U << 4,
  kMaskPort = 1U << 5,
  kMaskQkey = 1U << 6,
  kMaskPath = 1U << 7,
  kMaskPathMtu = 1U << 8,
  kMaskTimeout = 1U << 9,
  kMaskRetryCnt = 1U << 10,
  kMaskRnrRetry = 1U << 11,
  kMaskRqPsn = 1U << 12,
  kMaskMaxRdAtomic = 1U << 13,
  kMaskAltPath = 1U << 14,
  kMaskMinRnrTimer = 1U << 15,
  kMaskSqPsn = 1U << 16,
  kMaskMaxDestRdAtomic = 1U << 17,
  kMaskMigration = 1U << 18,
  kMaskCap = 1U << 19,
  kMaskDestQpn = 1U << 20,
};
struct ModifyQp {
  CommandHeader header{};
  uint32_t handle = 0;
  uint32_t mask = 0;
  QpAttributes attributes{};
};
struct QueryQp {
  CommandHeader header{};
  uint32_t handle = 0;
  uint32_t mask = 0;
};
struct QueryQpResponse {
  ResponseHeader header{};
  QpAttributes attributes{};
};
struct DestroyQpResponse {
  ResponseHeader header{};
  uint32_t events_reported = 0;
  uint32_t reserved = 0;
};

struct CreateBind {
  CommandHeader header{};
  uint32_t mtu = 0;
  uint32_t vlan = 0;  // kNoVlan: none
  uint32_t index = 0;
  uint8_t gid[16]{};
  uint8_t gid_type = 0;
  uint8_t reserved[3]{};
};
inline constexpr uint32_t kNoVlan = 0xfff;
struct DestroyBind {
  CommandHeader header{};
  uint32_t index = 0;
  uint8_t gid[16]{};
  uint8_t reserved[4]{};
};

// --- Work requests and completions [abi]

struct Sge {
  uint64_t addr = 0;
  uint32_t length = 0;
  uint32_t lkey = 0;
};
// Elements follow.
struct RecvWqe {
  uint64_t wr_id = 0;
  uint32_t num_sge = 0;
  uint32_t total_len = 0;
};

enum class WrOpcode : uint32_t {
  kRdmaWrite = 0,
  kRdmaWriteWithImm = 1,
  kSend = 2,
  kSendWithImm = 3,
  kRdmaRead = 4,
  kCompareSwap = 5,
  kFetchAdd = 6,
  kSendWithInv = 8,
  kLocalInv = 10,
};
inline constexpr uint32_t kSendFence = 1, kSendSignaled = 2, kSendSolicited = 4, kSendInline = 8;

struct AddressVector {
  uint32_t port_pd = 0;              // port in the highest byte, below it the PD's handle
  uint32_t sl_tclass_flowlabel = 0;  // 31:28, 27:20, 19:0
  uint8_t dgid[16]{};
  uint8_t src_path_bits = 0;
  uint8_t gid_index = 0;
  uint8_t stat_rate = 0;
  uint8_t hop_limit = 0;
  uint8_t dmac[6]{};
  uint8_t reserved[6]{};
};
struct RdmaPart {
  uint64_t remote_addr = 0;
  uint32_t rkey = 0;
  uint32_t reserved = 0;
};
struct AtomicPart {
  uint64_t remote_addr = 0;
  uint64_t compare_add = 0;
  uint64_t swap = 0;
  uint32_t rkey = 0;
  uint32_t reserved = 0;
};
struct DatagramPart {
  uint32_t remote_qpn = 0;
  uint32_t remote_qkey = 0;
  AddressVector av{};
};
inline constexpr size_t kPartBytes = 48;
// Elements follow.
struct SendWqe {
  uint64_t wr_id = 0;
  uint32_t num_sge = 0;
  uint32_t total_len = 0;
  WrOpcode opcode{};
  uint32_t flags = 0;
  uint8_t imm_data[4]{};  // kSendWithInv, kLocalInv: the key, little-endian
  uint32_t reserved = 0;
  alignas(8) uint8_t part[kPartBytes]{};  // RdmaPart, AtomicPart, DatagramPart, by opcode and kind of queue pair
};

struct Cqe {
  uint64_t wr_id = 0;
  uint64_t qp = 0;  // its handle
  uint32_t opcode = 0;
  uint32_t status = 0;
  uint32_t byte_len = 0;
  uint8_t imm_data[4]{};
  uint32_t src_qp = 0;
  uint32_t wc_flags = 0;
  uint32_t vendor_err = 0;
  uint16_t pkey_index = 0;
  uint16_t slid = 0;
  uint8_t sl = 0;
  uint8_t dlid_path_bits = 0;
  uint8_t port = 0;
  uint8_t smac[6]{};
  uint8_t network_hdr_type = 0;
  uint8_t reserved[6]{};
};
inline constexpr uint32_t kWcGrh = 1, kWcWithImm = 2;

static_assert(sizeof(DeviceCaps) == 208 && sizeof(SharedRegion) == 280);
static_assert(sizeof(PortAttributes) == 48 && sizeof(Path) == 40 && sizeof(ModifyQp) == 184);
static_assert(sizeof(CreateQp) == 80 && sizeof(CreateMr) == 56 && sizeof(CreateCq) == 40);
static_assert(sizeof(CreateSrq) == 56 && sizeof(ModifySrq) == 40 && sizeof(QuerySrqResponse) == 32);
static_assert(sizeof(AddressVector) == 40 && sizeof(SendWqe) == 80 && sizeof(RecvWqe) == 16 && sizeof(Cqe) == 64);

}  // namespace vireo::sim::pvrdma
