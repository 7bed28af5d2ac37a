// SPDX-License-Identifier: Apache-2.0
// Queries of device, port and GID table.
#include <endian.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "host/ibverbs/objects.h"

namespace vireo::ibverbs {
namespace {

int Int(uint64_t value) { return static_cast<int>(std::min<uint64_t>(value, std::numeric_limits<int>::max())); }

// perftest selects its defaults and its posting method by this number. VIREO_VENDOR_PART_ID overrides it.
uint32_t VendorPartId() {
  const char* variable = std::getenv("VIREO_VENDOR_PART_ID");
  if (variable == nullptr) return kVirtioNet;
  char* end = nullptr;
  const unsigned long value = std::strtoul(variable, &end, 0);
  return *variable != '\0' && *end == '\0' ? static_cast<uint32_t>(value) : kVirtioNet;
}

ibv_device_attr Attributes(Context& context) {
  const spec::RdmaAckQueryDevice& device = context.device->attributes();
  const service::SharedDevice::Info& info = context.shared->info();
  ibv_device_attr out{};
  std::memcpy(out.fw_ver, "vireo", sizeof "vireo");
  out.node_guid = htobe64(info.node_guid);
  out.sys_image_guid = out.node_guid;
  out.max_mr_size = device.max_mr_size;
  out.page_size_cap = device.page_size_cap;
  out.vendor_id = kVirtioVendor;
  out.vendor_part_id = VendorPartId();
  out.hw_ver = device.hw_ver;
  out.max_qp = Int(info.own_qps);
  out.max_qp_wr = Int(device.max_qp_wr);
  out.device_cap_flags = IBV_DEVICE_CURR_QP_STATE_MOD | IBV_DEVICE_PORT_ACTIVE_EVENT;
  if ((device.device_cap_flags & spec::IbDeviceCap::kRcRnrNakGen) != 0) {
    out.device_cap_flags |= IBV_DEVICE_RC_RNR_NAK_GEN;
  }
  if (device.max_mw != 0) out.device_cap_flags |= IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_WINDOW_TYPE_2B;
  out.max_sge = Int(std::min(device.max_send_sge, device.max_recv_sge));
  out.max_sge_rd = Int(device.max_sge_rd);
  out.max_cq = Int(info.own_cqs);
  out.max_cqe = Int(device.max_cqe);
  out.max_mr = Int(device.max_mr);
  out.max_mw = Int(device.max_mw);
  out.max_pd = Int(device.max_pd);
  out.max_qp_rd_atom = Int(device.max_qp_rd_atom);
  out.max_res_rd_atom = Int(uint64_t{device.max_qp_rd_atom} * info.own_qps);
  out.max_qp_init_rd_atom = Int(device.max_qp_init_rd_atom);
  static_assert(static_cast<int>(spec::RdmaAtomicCap::kHca) == IBV_ATOMIC_HCA &&
                static_cast<int>(spec::RdmaAtomicCap::kGlob) == IBV_ATOMIC_GLOB);
  out.atomic_cap = static_cast<ibv_atomic_cap>(device.atomic_cap);
  out.max_ah = Int(device.max_ah);
  out.max_srq = Int(device.max_srq);
  out.max_srq_wr = device.max_srq == 0 ? 0 : Int(device.max_qp_wr);
  out.max_srq_sge = device.max_srq == 0 ? 0 : Int(device.max_recv_sge);
  if (device.max_srq != 0) out.device_cap_flags |= IBV_DEVICE_SRQ_RESIZE;
  out.max_mcast_grp = out.max_mcast_qp_attach = out.max_total_mcast_qp_attach = Int(device.max_mcast_attach);
  out.max_pkeys = 1;
  out.local_ca_ack_delay = device.local_ca_ack_delay;
  out.phys_port_cnt = kPort;
  return out;
}

// A rate as lanes and lane speed, in the encodings of ibv_port_attr.
struct Link {
  uint8_t width, speed;
};
Link LinkOf(uint32_t mbps) {
  constexpr struct {
    uint32_t mbps;
    Link link;
  } kLinks[] = {{2'500, {1, 1}},   {10'000, {1, 4}},   {25'000, {1, 32}}, {40'000, {2, 4}},
                {50'000, {1, 64}}, {100'000, {2, 32}}, {200'000, {2, 64}}};
  for (const auto& entry : kLinks) {
    if (mbps <= entry.mbps) return entry.link;
  }
  return {.width = 2, .speed = 128};
}

}  // namespace

std::string RateText(uint32_t mbps) {
  const Link link = LinkOf(mbps);
  const unsigned lanes = link.width == 2 ? 4 : 1;
  // Rate of a lane in 0.1 Gb/s, and its name. [IBTA vol. 1, 14.2.5.6, LinkSpeedActive; Linux, rate_show()]
  constexpr struct {
    uint8_t code;
    unsigned rate;
    const char* name;
  } kSpeeds[] = {{1, 25, ""}, {4, 100, " QDR"}, {32, 250, " EDR"}, {64, 500, " HDR"}, {128, 1000, " NDR"}};
  for (const auto& speed : kSpeeds) {
    if (speed.code != link.speed) continue;
    const unsigned rate = speed.rate * lanes;
    return std::to_string(rate / 10) + (rate % 10 != 0 ? ".5" : "") + " Gb/sec (" + std::to_string(lanes) + "X" +
           speed.name + ")";
  }
  return "";
}

int QueryDeviceEx(ibv_context* context, const ibv_query_device_ex_input* input, ibv_device_attr_ex* attributes,
                  size_t bytes) {
  if (bytes < sizeof attributes->orig_attr) return EINVAL;
  if (input != nullptr && input->comp_mask != 0) return EINVAL;
  ibv_device_attr_ex out{};
  out.orig_attr = Attributes(Of(context));
  out.device_cap_flags_ex = out.orig_attr.device_cap_flags;
  out.phys_port_cnt_ex = kPort;
  out.odp_caps = OdpCaps(Of(context));
  // Completions are timestamped by the device, or by the host (completion.cc), in nanoseconds.
  out.completion_timestamp_mask = ~uint64_t{0};
  constexpr uint64_t kNanosecondsInKhz = 1'000'000;
  out.hca_core_clock = kNanosecondsInKhz;
  // Zero the fields of newer versions of the structure.
  std::memset(static_cast<void*>(attributes), 0, bytes);
  std::memcpy(static_cast<void*>(attributes), &out, std::min(bytes, sizeof out));
  return 0;
}

int QueryPort(ibv_context* context, uint8_t port, ibv_port_attr* attributes, size_t bytes) {
  if (port != kPort) return EINVAL;
  Context& ours = Of(context);
  if (!ours.IsOwnedByThisProcess()) return EIO;
  std::lock_guard guard(ours.control);
  Result<spec::RdmaAckQueryPort> device = ours.device->QueryPort();
  if (!device.ok()) return ErrnoOf(device.error());
  const service::SharedDevice::Info& info = ours.shared->info();
  constexpr uint8_t kLinkUp = 5;  // IBTA vol. 1, 14.2.5.6, PortPhysicalState
  constexpr uint8_t kDisabled = 3;
  const Link link = LinkOf(info.link_mbps);
  ibv_port_attr out{};
  out.state = ours.link_up ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
  out.max_mtu = IBV_MTU_4096;
  out.active_mtu = static_cast<ibv_mtu>(info.active_mtu);
  out.gid_tbl_len = Int(device->gid_tbl_len);
  out.port_cap_flags = kPortCapFlags;
  out.max_msg_sz = device->max_msg_sz;
  out.pkey_tbl_len = 1;
  out.max_vl_num = 1;
  out.active_width = link.width;
  out.active_speed = link.speed;
  out.phys_state = ours.link_up ? kLinkUp : kDisabled;
  out.link_layer = IBV_LINK_LAYER_ETHERNET;
  std::memset(static_cast<void*>(attributes), 0, bytes);
  std::memcpy(static_cast<void*>(attributes), &out, std::min(bytes, sizeof out));
  return 0;
}

namespace {

// Cached: programs read the table entry by entry, and a command to the device is slow. 0, or an errno.
int GidTableLength(Context& context, uint32_t& length) {
  if (!context.IsOwnedByThisProcess()) return EIO;
  std::lock_guard guard(context.control);
  if (!context.gid_table_length.has_value()) {
    Result<spec::RdmaAckQueryPort> port = context.device->QueryPort();
    if (!port.ok()) return ErrnoOf(port.error());
    context.gid_table_length = port->gid_tbl_len;
  }
  length = *context.gid_table_length;
  return 0;
}

// 0, or an errno. For an unused entry: zeros, and ENODATA unless `may_be_empty`.
int QueryGid(ibv_context* context, uint32_t port, uint32_t index, ibv_gid_entry& out, bool may_be_empty) {
  if (port != kPort) return EINVAL;
  uint32_t length = 0;
  if (int error = GidTableLength(Of(context), length); error != 0) return error;
  if (index >= length) return EINVAL;
  out = {};
  out.gid_index = index;
  out.port_num = port;
  const auto gid = Of(context).FindGid(index);
  if (!gid.has_value()) return may_be_empty ? 0 : ENODATA;
  std::ranges::copy(gid->gid, out.gid.raw);
  out.gid_type = IBV_GID_TYPE_ROCE_V2;
  out.ndev_ifindex = Of(context).shared->info().ifindex;
  return 0;
}

}  // namespace
}  // namespace vireo::ibverbs

using namespace vireo::ibverbs;  // NOLINT(google-build-using-namespace): what follows are C functions

VIREO_API int ibv_query_device(ibv_context* context, ibv_device_attr* attributes) {
  VIREO_PASS(ibv_query_device, context, attributes);
  *attributes = Attributes(Of(context));
  return 0;
}

VIREO_API int ibv_query_port(ibv_context* context, uint8_t port, _compat_ibv_port_attr* attributes) {
  VIREO_PASS(ibv_query_port, context, port, attributes);
  return QueryPort(context, port, reinterpret_cast<ibv_port_attr*>(attributes),
                   offsetof(ibv_port_attr, port_cap_flags2));
}

VIREO_API int ibv_query_gid(ibv_context* context, uint8_t port, int index, ibv_gid* gid) {
  VIREO_PASS(ibv_query_gid, context, port, index, gid);
  ibv_gid_entry entry;
  // Programs read the whole table and stop at the first error.
  if (int error = QueryGid(context, port, static_cast<uint32_t>(index), entry, true); error != 0)
    return MinusOne(error);
  *gid = entry.gid;
  return 0;
}

// A private symbol of libibverbs that ibv_devinfo and pyverbs use.
VIREO_API int ibv_query_gid_type(ibv_context* context, uint8_t port, unsigned int index, unsigned int* type);
VIREO_API int ibv_query_gid_type(ibv_context* context, uint8_t port, unsigned int index, unsigned int* type) {
  VIREO_PASS(ibv_query_gid_type, context, port, index, type);
  ibv_gid_entry entry;
  if (int error = QueryGid(context, port, index, entry, true); error != 0) return MinusOne(error);
  // libibverbs' internal values (enum ibv_gid_type_sysfs): 0 is InfiniBand or RoCE v1, 1 is RoCE v2.
  *type = entry.gid_type == IBV_GID_TYPE_ROCE_V2 ? 1 : 0;
  return 0;
}

VIREO_API int _ibv_query_gid_ex(ibv_context* context, uint32_t port, uint32_t index, ibv_gid_entry* entry,
                                uint32_t flags, size_t entry_size) {
  VIREO_PASS(_ibv_query_gid_ex, context, port, index, entry, flags, entry_size);
  if (flags != 0) return EOPNOTSUPP;
  ibv_gid_entry out;
  if (int error = QueryGid(context, port, index, out, false); error != 0) return error;
  std::memset(static_cast<void*>(entry), 0, entry_size);
  std::memcpy(static_cast<void*>(entry), &out, std::min(entry_size, sizeof out));
  return 0;
}

VIREO_API ssize_t _ibv_query_gid_table(ibv_context* context, ibv_gid_entry* entries, size_t max_entries, uint32_t flags,
                                       size_t entry_size) {
  VIREO_PASS(_ibv_query_gid_table, context, entries, max_entries, flags, entry_size);
  if (flags != 0) return -EOPNOTSUPP;
  size_t count = 0;
  for (const auto& gid : Of(context).shared->gids()) {
    if (count == max_entries) return -EINVAL;
    ibv_gid_entry out;
    const int error = QueryGid(context, kPort, gid.index, out, false);
    if (error == ENODATA) continue;  // removed meanwhile
    if (error != 0) return -error;
    uint8_t* const at = reinterpret_cast<uint8_t*>(entries) + count++ * entry_size;
    std::memset(at, 0, entry_size);
    std::memcpy(at, &out, std::min(entry_size, sizeof out));
  }
  return static_cast<ssize_t>(count);
}

VIREO_API int ibv_query_pkey(ibv_context* context, uint8_t port, int index, __be16* pkey) {
  VIREO_PASS(ibv_query_pkey, context, port, index, pkey);
  if (port != kPort || index != 0) return MinusOne(EINVAL);
  *pkey = htobe16(kFullPkey);
  return 0;
}

VIREO_API int ibv_get_pkey_index(ibv_context* context, uint8_t port, __be16 pkey) {
  VIREO_PASS(ibv_get_pkey_index, context, port, pkey);
  return port == kPort && pkey == htobe16(kFullPkey) ? 0 : MinusOne(EINVAL);
}
