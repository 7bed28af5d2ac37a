// SPDX-License-Identifier: Apache-2.0
// Generated from spec/*.toml by spec/generate.py. Do not edit: change the TOML, then run ./vireo spec.

// The contract of Vireo as C++: the same numbers as vireo_spec_pkg.sv, for model, firmware, host and tests. Freestanding; no
// state, no allocation, everything constexpr.
//
// A structure's Decode(bytes) reads kBytes bytes, Encode(bytes) writes kBytes bytes; both carry reserved bits. Neither checks
// values: an enum-typed field can hold a number that has no enumerator. Visit(self, f) calls f(name, field, bits) for every
// scalar in the order of the bytes, arrays element by element. Little-endian structures of up to 8 bytes also convert from and
// to one word.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace vireo::spec {

namespace detail {

// Bits [position, position + width) of `bytes`, in network order (first bit most significant) or little-endian order (first bit
// least significant). A field touches at most 8 bytes; the generator refuses others.
template <size_t position, size_t width>
constexpr uint64_t GetNetwork(const uint8_t* bytes) {
  constexpr size_t first = position / 8, last = (position + width - 1) / 8, spare = 7 - (position + width - 1) % 8;
  uint64_t value = 0;
  for (size_t i = first; i <= last; ++i) value = value << 8 | bytes[i];
  return value >> spare & (~uint64_t{0} >> (64 - width));
}

template <size_t position, size_t width>
constexpr void PutNetwork(uint8_t* bytes, uint64_t value) {
  constexpr size_t first = position / 8, last = (position + width - 1) / 8, spare = 7 - (position + width - 1) % 8;
  value = (value & (~uint64_t{0} >> (64 - width))) << spare;
  for (size_t i = last + 1; i-- > first; value >>= 8) bytes[i] = static_cast<uint8_t>(bytes[i] | (value & 0xff));
}

template <size_t position, size_t width>
constexpr uint64_t GetLittle(const uint8_t* bytes) {
  constexpr size_t first = position / 8, last = (position + width - 1) / 8;
  uint64_t value = 0;
  for (size_t i = last + 1; i-- > first;) value = value << 8 | bytes[i];
  return value >> position % 8 & (~uint64_t{0} >> (64 - width));
}

template <size_t position, size_t width>
constexpr void PutLittle(uint8_t* bytes, uint64_t value) {
  constexpr size_t first = position / 8, last = (position + width - 1) / 8;
  value = (value & (~uint64_t{0} >> (64 - width))) << position % 8;
  for (size_t i = first; i <= last; ++i, value >>= 8) bytes[i] = static_cast<uint8_t>(bytes[i] | (value & 0xff));
}

constexpr void Clear(uint8_t* bytes, size_t count) {
  for (size_t i = 0; i < count; ++i) bytes[i] = 0;
}

}  // namespace detail

// ABI profiles: chosen when a device is created. (profiles.toml)
enum class Profile : uint8_t {
  kRfcV2 = 0,  // The RFC's numbers and bytes; features that conflict with them are never offered.
  kVireo = 1,  // Numbers that virtio has not assigned, plus additions to the RFC. The default.
};

// Every number that differs between the profiles.
struct ProfileConstants {
  uint8_t net_f_roce;  // Feature bit of the RoCE extension. 55 is guest_uso6 today; 58 is the one unassigned bit in 50 … 63. Needs version_1 and ctrl_vq, and in vireo ring_reset too: without them FEATURES_OK stays 0.
  uint8_t net_ctrl_class_roce;  // Control class of every RoCE command. 6 is notification coalescing today; virtio assigns classes upwards from 0.
  uint16_t net_config_rdma_offset;  // Offset of net_config_rdma in the device configuration. 24 is supported_tunnel_types today, and the configuration grows upwards from 28; 64 leaves room and is 8-aligned. Bytes between the two parts read 0.
  uint64_t net_features_withheld;  // Feature bits that the device must not offer with their virtio meaning. rfc-v2: 51 hash_tunnel (its configuration field is at 24), 52 vq_notf_coal and 53 notf_coal (both use class 6), 55 guest_uso6 (is net_f_roce there).
  uint8_t rdma_event_queues;  // Virtqueues after the last QP's: rdma_eventq or none.
  uint8_t rdma_last_command;  // Highest command of the RoCE class; above it: unsupported_command.
  bool rdma_has_error_codes;  // 1: the ack of a refused RoCE command is its rdma_error; 0: `err`.
  bool rdma_has_additions;  // 1: fields marked `profile = "vireo"` are read and written; 0: they are reserved bytes, ignored and written as 0.
  bool rdma_has_cq_arm;  // 1: a 32-bit write at rdma_cq_arm_offset of a CQ's notify address arms it; 0: such a write is ignored.
  bool rdma_needs_ring_reset;  // 1: a destroyed QP's or CQ's virtqueues stay stopped until the driver resets them with ring_reset. 0: without that feature, the response to destroy resets their ring positions to 0.
};
inline constexpr ProfileConstants kRfcV2Constants = {.net_f_roce = 0x37u, .net_ctrl_class_roce = 6u, .net_config_rdma_offset = 0x18u, .net_features_withheld = 0xb8000000000000ull, .rdma_event_queues = 0u, .rdma_last_command = 0x11u, .rdma_has_error_codes = false, .rdma_has_additions = false, .rdma_has_cq_arm = false, .rdma_needs_ring_reset = false};
inline constexpr ProfileConstants kVireoConstants = {.net_f_roce = 0x3au, .net_ctrl_class_roce = 0x80u, .net_config_rdma_offset = 0x40u, .net_features_withheld = 0ull, .rdma_event_queues = 1u, .rdma_last_command = 0x1fu, .rdma_has_error_codes = true, .rdma_has_additions = true, .rdma_has_cq_arm = true, .rdma_needs_ring_reset = true};
constexpr const ProfileConstants& ConstantsOf(Profile profile) {
  switch (profile) {
    case Profile::kRfcV2: return kRfcV2Constants;
    case Profile::kVireo: return kVireoConstants;
  }
  return kRfcV2Constants;
}

// Of everything in this file; a host refuses another one (board.toml)
inline constexpr uint16_t kBoardVersion = 1u;

// "BVRD" as bytes (board.toml)
inline constexpr uint32_t kBoardMagic = 0x44525642u;

// Before and after every frame; one between two frames is enough [RFC 1662, 4.1] (board.toml)
inline constexpr uint8_t kBoardFlag = 126u;

// Within a frame `board_flag` and `board_escape` are sent as this byte and the byte itself exclusive-or `board_escape_bit` [RFC 1662, 4.2] (board.toml)
inline constexpr uint8_t kBoardEscape = 125u;

// See `board_escape` (board.toml)
inline constexpr uint8_t kBoardEscapeBit = 32u;

// Payload of a frame, between `board_header` and the CRC of 4 bytes over both, least significant byte first. This is the only credit: one frame each way (board.toml) Unit: bytes.
inline constexpr uint16_t kBoardPayloadMax = 1024u;

// The board holds this many beats of each of `read_beats` and `frame_beats`. One of each enters the device in every cycle that is run, as long as there are any (board.toml) Unit: beats.
inline constexpr uint8_t kBoardBeatsMax = 64u;

// Fewest queue pairs; in use after reset. [virtio 1.3, 5.1.6.5.6; linux/virtio_net.h] (net.toml) Unit: entries.
inline constexpr uint16_t kNetMqVqPairsMin = 1u;

// Most queue pairs. [virtio 1.3, 5.1.6.5.6; linux/virtio_net.h] (net.toml) Unit: entries.
inline constexpr uint16_t kNetMqVqPairsMax = 0x8000u;

// Largest speed; 0 to this are valid. [virtio 1.3, 5.1.4] (net.toml) Unit: Mb/s.
inline constexpr uint32_t kNetSpeedMax = 0x7fffffffu;

// Speed not known; the same applies to every value above net_speed_max. [virtio 1.3, 5.1.4] (net.toml)
inline constexpr uint32_t kNetSpeedUnknown = 0xffffffffu;

// Smallest value of net_config.mtu (the largest is 65535). [virtio 1.3, 5.1.4.1] (net.toml) Unit: bytes.
inline constexpr uint16_t kNetMtuMin = 68u;

// net_config.mtu should not be smaller. [virtio 1.3, 5.1.4.1] (net.toml) Unit: bytes.
inline constexpr uint16_t kNetMtuRecommended = 1280u;

// Smallest rss_max_key_size with rss or hash_report. [virtio 1.3, 5.1.4.1] (net.toml) Unit: bytes.
inline constexpr uint8_t kNetRssKeyBytesMin = 40u;

// Smallest rss_max_indirection_table_length with rss. [virtio 1.3, 5.1.4.1] (net.toml) Unit: entries.
inline constexpr uint16_t kNetRssTableEntriesMin = 128u;

// Largest received frame without feature mtu and without merging: 14 + 1500, header structure not counted. [virtio 1.3, 5.1.6.3] (net.toml) Unit: bytes.
inline constexpr uint32_t kNetPacketBytesMax = 1514u;

// Largest received frame with merging: 14 + 40 + 65535, header structure not counted. [virtio 1.4, 5.1.6.3 (before: 65550)] (net.toml) Unit: bytes.
inline constexpr uint32_t kNetPacketBytesMaxGso = 0x10035u;

// PCI vendor of every virtio device. [virtio 1.3, 4.1.2.1] (pci.toml)
inline constexpr uint16_t kPciVendorId = 6900u;

// Plus a virtio device number (virtio_device_id): the PCI device number of a device without legacy interface. [virtio 1.3, 4.1.2.1] (pci.toml)
inline constexpr uint16_t kPciDeviceIdBase = 4160u;

// virtio-net: pci_device_id_base + 1. [virtio 1.3, 4.1.2.1] (pci.toml)
inline constexpr uint16_t kPciDeviceId = 4161u;

// virtio-net with legacy interface. Vireo never presents it: it has no I/O BAR and no legacy registers. [virtio 1.3, 4.1.2.1] (pci.toml)
inline constexpr uint16_t kPciDeviceIdTransitional = 4096u;

// 1 or more keeps legacy drivers away. [virtio 1.3, 4.1.2.1] (pci.toml)
inline constexpr uint8_t kPciRevisionId = 1u;

// Informational; a driver does not match on it. [virtio 1.3, 4.1.2.1] (pci.toml)
inline constexpr uint16_t kPciSubsystemVendorId = 6900u;

// 0x40 + virtio device number: high enough to keep legacy drivers away, and not assigned. [virtio 1.3, 4.1.2.1; the value is Vireo's choice] (pci.toml)
inline constexpr uint16_t kPciSubsystemId = 65u;

// Base class 2 network controller, subclass 0 Ethernet, programming interface 0. [PCI Code and ID Assignment, 1.3] (pci.toml)
inline constexpr uint32_t kPciClassCode = 0x20000u;

// Conventional configuration space: header and capabilities. [PCIe 5.0, 7.2] (pci.toml) Unit: bytes.
inline constexpr uint16_t kPciConfigBytes = 256u;

// Configuration space of a PCI Express function; extended capabilities begin at pci_config_bytes. [PCIe 5.0, 7.2] (pci.toml) Unit: bytes.
inline constexpr uint16_t kPcieConfigBytes = 4096u;

// virtio_pci_cap for the common configuration; the first capability (pci_header.capabilities_pointer). (pci.toml) Unit: bytes.
inline constexpr uint8_t kPciCapAtCommonCfg = 64u;

// virtio_pci_notify_cap. (pci.toml) Unit: bytes.
inline constexpr uint8_t kPciCapAtNotifyCfg = 80u;

// virtio_pci_cap for the interrupt status byte. (pci.toml) Unit: bytes.
inline constexpr uint8_t kPciCapAtIsrCfg = 100u;

// virtio_pci_cap for net_config and what follows it. (pci.toml) Unit: bytes.
inline constexpr uint8_t kPciCapAtDeviceCfg = 116u;

// virtio_pci_cfg_cap: BAR access through configuration space. (pci.toml) Unit: bytes.
inline constexpr uint8_t kPciCapAtPciCfg = 132u;

// msix_cap. (pci.toml) Unit: bytes.
inline constexpr uint8_t kPciCapAtMsix = 152u;

// pcie_cap. (pci.toml) Unit: bytes.
inline constexpr uint8_t kPciCapAtPcie = 164u;

// pci_pm_cap; the last one, it ends at 0xe8. (pci.toml) Unit: bytes.
inline constexpr uint8_t kPciCapAtPm = 224u;

// Size of pcie_size 0; each step doubles it. [PCIe 5.0, 7.5.3.4] (pci.toml) Unit: bytes.
inline constexpr uint8_t kPcieSizeUnit = 128u;

// No memory request may cross a multiple of this address. [PCIe 5.0, 2.2.7] (pci.toml) Unit: bytes.
inline constexpr uint16_t kPcieRequestBoundary = 4096u;

// Maximum vectors of a function; a build parameter sets the number of this device, at least 2. [PCIe 5.0, 7.7.2.2; virtio 1.3, 4.1.5.1.2.1] (pci.toml) Unit: entries.
inline constexpr uint16_t kMsixVectorsMax = 2048u;

// BAR register of the virtio regions: 64-bit, not prefetchable; takes register 1 too. (pci.toml)
inline constexpr uint8_t kBarVirtio = 0u;

// 32 MiB: registers in the lower half, doorbells in the upper half. (pci.toml) Unit: bytes.
inline constexpr uint32_t kBarVirtioBytes = 0x2000000u;

// Offset of virtio_pci_common_cfg. (pci.toml) Unit: bytes.
inline constexpr uint32_t kBarVirtioCommonCfg = 0u;

// Offset of the interrupt status byte. (pci.toml) Unit: bytes.
inline constexpr uint32_t kBarVirtioIsrCfg = 4096u;

// Offset of net_config; the RoCE configuration of the profile follows inside this page. (pci.toml) Unit: bytes.
inline constexpr uint32_t kBarVirtioDeviceCfg = 8192u;

// Length of each of the three register regions. Unused bytes read 0 and ignore writes. (pci.toml) Unit: bytes.
inline constexpr uint32_t kBarVirtioCfgBytes = 4096u;

// Offset of the doorbell pages. (pci.toml) Unit: bytes.
inline constexpr uint32_t kBarVirtioNotify = 0x1000000u;

// 16 MiB: notify_queues_max pages of notify_off_multiplier bytes. (pci.toml) Unit: bytes.
inline constexpr uint32_t kBarVirtioNotifyBytes = 0x1000000u;

// Distance of two queues' doorbells: one page each, so that a process can map the doorbell of a single queue. [virtio 1.3, 4.1.4.4.1 (a power of 2 and a multiple of 4); the value is Vireo's choice] (pci.toml) Unit: bytes.
inline constexpr uint32_t kNotifyOffMultiplier = 4096u;

// Doorbell pages. nic100 needs 3,106: 32 net queues, 1 control, 1024 CQs, 2 * 1024 queues of QPs, 1 event queue. (pci.toml) Unit: entries.
inline constexpr uint16_t kNotifyQueuesMax = 4096u;

// Offset in a queue's page: its doorbell, 2 bytes, with notification_data 4. After it: rdma_cq_arm_offset. Reads return 0. [virtio 1.3, 4.1.5.2] (pci.toml) Unit: bytes.
inline constexpr uint16_t kNotifyPageQueue = 0u;

// BAR register of the MSI-X structures: 64-bit, not prefetchable; takes register 3 too. (pci.toml)
inline constexpr uint8_t kBarMsix = 2u;

// 64 KiB: room for msix_vectors_max table entries and their pending bits, each on pages of its own. (pci.toml) Unit: bytes.
inline constexpr uint32_t kBarMsixBytes = 0x10000u;

// Offset of the table: msix_table_entry[vectors], at most 32 KiB. (pci.toml) Unit: bytes.
inline constexpr uint32_t kBarMsixTable = 0u;

// Offset of the pending bit array: msix_pba_entry[vectors / 64, rounded up], at most 256 bytes. (pci.toml) Unit: bytes.
inline constexpr uint32_t kBarMsixPba = 0x8000u;

// The stack is at the lowest addresses of the memory and grows down to 0: an overflow leaves the map. The firmware's image follows it, and starts with its entry. (processor.toml) Unit: bytes.
inline constexpr uint32_t kProcessorStackBytes = 8192u;

// Memory is below this address. How much there is depends on the board. (processor.toml) Unit: bytes.
inline constexpr uint32_t kProcessorMemoryLimit = 0x40000000u;

// Address of the register block `processor` (processor.toml)
inline constexpr uint32_t kProcessorRegistersBase = 0x40000000u;

// Address of the register block `mgmt`, for whole words only (processor.toml)
inline constexpr uint32_t kProcessorManagementBase = 0x80000000u;

// Of `processor_settings` in the firmware's image (processor.toml) Unit: bytes.
inline constexpr uint32_t kProcessorSettingsOffset = 8u;

// "VERI" as bytes: an image with other bytes here is no firmware for this processor (processor.toml)
inline constexpr uint32_t kProcessorSettingsMagic = 0x49524556u;

// Profile of a device that was created without a profile: vireo. (profiles.toml)
inline constexpr uint8_t kProfileDefault = 1u;

// Virtqueue of CQ `cqn` (0 … M - 1): 2N + rdma_completeq_offset + cqn. [RFC v2, Virtqueues] (roce.toml)
inline constexpr uint16_t kRdmaCompleteqOffset = 1u;

// Send queue of QP `qpn` (0 … L - 1): 2N + M + rdma_transmitq_offset + 2 qpn. [RFC v2, Virtqueues] (roce.toml)
inline constexpr uint16_t kRdmaTransmitqOffset = 1u;

// Receive queue of QP `qpn`: 2N + M + rdma_receiveq_offset + 2 qpn. [RFC v2, Virtqueues] (roce.toml)
inline constexpr uint16_t kRdmaReceiveqOffset = 2u;

// Event queue (vireo only): 2N + M + 2L + rdma_eventq_offset, after the last QP's receive queue. [docs/decisions/0003] (roce.toml)
inline constexpr uint16_t kRdmaEventqOffset = 1u;

// Lowest number that create_qp assigns to an RC, UC or UD QP. The same number is used on the wire and for the virtqueues. 0 (SMI) is never assigned, gsi_qpn only to the GSI QP; the virtqueues of both count in max_rdma_qps nevertheless. [IBTA vol. 1, 3.5.1] (roce.toml)
inline constexpr uint32_t kRdmaFirstQpn = 2u;

// Lowest legal max_rdma_qps; useful from rdma_first_qpn + 1. [RFC v2, Device configuration layout] (roce.toml)
inline constexpr uint16_t kRdmaQpsMin = 1u;

// Highest legal max_rdma_qps: a quarter of 65536 virtqueues, as two belong to each QP. [RFC v2, Device configuration layout] (roce.toml)
inline constexpr uint16_t kRdmaQpsMax = 0x4000u;

// Lowest legal max_rdma_cqs. [RFC v2, Device configuration layout] (roce.toml)
inline constexpr uint16_t kRdmaCqsMin = 1u;

// Highest legal max_rdma_cqs. [RFC v2, Device configuration layout] (roce.toml)
inline constexpr uint16_t kRdmaCqsMax = 0x4000u;

// Highest legal gid_tbl_len: add_gid has 16 bits for the index, but rdma_global_route.sgid_index has 8. [RFC v2, MODIFY_QP and ADD_GID] (roce.toml)
inline constexpr uint16_t kRdmaGidsMax = 256u;

// Room for inline data in rdma_sq_req; every device accepts a max_inline_data up to this. [RFC v2, RoCE Support] (roce.toml) Unit: bytes.
inline constexpr uint16_t kRdmaInlineBytes = 512u;

// Bytes in front of the payload of every UD receive, part of byte_len: the GRH (an IPv6 header). For IPv4 the header is in the last 20 of them, the first 20 are 0. [IBTA Annex A17; as libibverbs programs expect] (roce.toml) Unit: bytes.
inline constexpr uint8_t kRdmaUdGrhBytes = 40u;

// Page size of reg_user_mr if page_shift is 0, and always in rfc-v2: 4096 bytes. (roce.toml)
inline constexpr uint8_t kRdmaPageShiftDefault = 12u;

// Smallest page_shift other than 0. (roce.toml)
inline constexpr uint8_t kRdmaPageShiftMin = 12u;

// Largest page_shift: 1 GiB. page_size_cap lists the sizes that a device supports. (roce.toml)
inline constexpr uint8_t kRdmaPageShiftMax = 30u;

// Number of the only port, as in port events. (roce.toml)
inline constexpr uint8_t kRdmaPortNum = 1u;

// Offset of the register that arms a CQ without a command (vireo only): after the notification word in its notify page. [docs/decisions/0003] (roce.toml) Unit: bytes.
inline constexpr uint8_t kRdmaCqArmOffset = 4u;

// The version of rdma_sq_base, and of the elements after it. [docs/decisions/0024] (roce.toml)
inline constexpr uint8_t kRdmaSqVersion = 1u;

// Offset in a send queue's notify page of what is pushed, in writes of 8 bytes in the order of their addresses: the device address of the work request's memory, then the work request, padded with zeros to a multiple of 8 bytes. A write of rdma_push ends it. [docs/decisions/0029] (roce.toml) Unit: bytes.
inline constexpr uint16_t kRdmaPushOffset = 64u;

// Offset of rdma_push in a send queue's notify page. [docs/decisions/0029] (roce.toml) Unit: bytes.
inline constexpr uint16_t kRdmaPushEndOffset = 8u;

// The longest work request that can be pushed. [docs/decisions/0029] (roce.toml) Unit: bytes.
inline constexpr uint8_t kRdmaPushMost = 64u;

// rdma_cq_base.version of a completion with elements; 0: it is an rdma_cq_req [docs/decisions/0039] (roce.toml)
inline constexpr uint8_t kRdmaCqVersion = 1u;

// Length of mac_filter. If more addresses are needed, firmware sets mgmt.rx_mode's all_unicast or all_multicast instead. (tables.toml) Unit: entries.
inline constexpr uint16_t kTableMacFilterEntries = 64u;

// VLAN identifiers in an entry of vlan_filter: entry v / 32, bit v % 32. (tables.toml)
inline constexpr uint8_t kTableVlanFilterBits = 32u;

// Longest hash key: rss_max_key_size. (tables.toml) Unit: bytes.
inline constexpr uint8_t kTableRssKeyBytes = 40u;

// Longest indirection table: rss_max_indirection_table_length. (tables.toml) Unit: entries.
inline constexpr uint16_t kTableRssQueues = 128u;

// Maximum length of a small read or write (dma_fetch, dma_store). (tokens.toml) Unit: bytes.
inline constexpr uint8_t kDmaFetchBytes = 64u;

// Small reads that a client may have outstanding: response slots. (tokens.toml) Unit: answers.
inline constexpr uint8_t kDmaFetchDepth = 32u;

// Latency from a BAR read access to its response, for every address. (tokens.toml) Unit: cycles.
inline constexpr uint8_t kBarReadLatency = 4u;

// Most buffers that one buffer_request of send asks for, if other queue pairs ask, too. (tokens.toml) Unit: descriptors.
inline constexpr uint8_t kBuffersPerRequest = 8u;

// Most buffers that one buffer_request of receive asks for. (tokens.toml) Unit: descriptors.
inline constexpr uint8_t kReceiveBuffersPerRequest = 32u;

// Most buffers that one buffer_request of send asks for, if no other queue pair asks. (tokens.toml) Unit: descriptors.
inline constexpr uint8_t kSendBuffersPerRequest = 32u;

// Most buffers that one buffer_request of net_transmit, net_receive or completion asks for: the entries of a split ring that one read brings. (tokens.toml) Unit: descriptors.
inline constexpr uint8_t kNetBuffersPerRequest = 32u;

// A received net frame is written in runs that end at multiples of this, or with their descriptor. The write port serves its clients in turn, a write of each, so a longer one would delay every used element and used index by as much. (tokens.toml) Unit: bytes.
inline constexpr uint16_t kNetWriteBytes = 512u;

// Generations are numbered modulo this. An older one that has the number of one in progress by chance is waited for without need. (tokens.toml)
inline constexpr uint8_t kKeyGenerations = 16u;

// Payload that a packet may carry with it, from an extensible work request, where that is one beat of the data path. (tokens.toml) Unit: bytes.
inline constexpr uint8_t kTxInlineBytes = 32u;

// A request packet sets ack_req if it is the last of its message or its PSN + 1 is a multiple of this. (tokens.toml) Unit: packets.
inline constexpr uint8_t kSendAckPackets = 64u;

// Work requests that are read and go between two bursts of long messages, if they are there. (tokens.toml) Unit: work requests.
inline constexpr uint8_t kSendReadsPerBurst = 2u;

// Length and alignment of the operand of an atomic operation. (tokens.toml) Unit: bytes.
inline constexpr uint8_t kAtomicBytes = 8u;

// Atomic operations that are being executed at a time; no two of them at one address. (tokens.toml) Unit: operations.
inline constexpr uint8_t kAtomicsInFlight = 16u;

// Net frames that are being read from host memory or wait for it. (tokens.toml) Unit: frames.
inline constexpr uint8_t kNetTxFrames = 64u;

// Longest chain of a net buffer; also the maximum number of buffers of one received frame. (tokens.toml) Unit: descriptors.
inline constexpr uint8_t kNetChainDescriptors = 64u;

// Receive buffers of a net queue pair that are prefetched. (tokens.toml) Unit: buffers.
inline constexpr uint8_t kNetReceivesAhead = 64u;

// Feature bits that device and driver exchange: four 32-bit windows. 128 and above are reserved. [virtio 1.3, 2.2] (virtio.toml) Unit: entries.
inline constexpr uint8_t kVirtioFeatureBits = 128u;

// Feature bits 0 to 23 belong to the device type (net_feature); 24 to 41 are virtio_feature, 42 to 49 reserved. [virtio 1.3, 2.2] (virtio.toml)
inline constexpr uint8_t kVirtioFeatureDeviceLowEnd = 24u;

// Feature bits 50 to 127 belong to the device type, too. [virtio 1.3, 2.2] (virtio.toml)
inline constexpr uint8_t kVirtioFeatureDeviceHigh = 50u;

// No vector: no interrupt for this event. All vectors read so after reset. [virtio 1.3, 4.1.5.1.2; linux/virtio_pci.h] (virtio.toml)
inline constexpr uint16_t kVirtioMsiNoVector = 0xffffu;

// Queue indices are 0 to 65535. Vireo stays below notify_queues_max. [virtio 1.3, 2.6] (virtio.toml) Unit: entries.
inline constexpr uint32_t kVirtioQueuesMax = 0x10000u;

// Largest split queue; sizes are powers of 2, indices count modulo 65536. [virtio 1.3, 2.7] (virtio.toml) Unit: entries.
inline constexpr uint16_t kVirtqSizeMax = 0x8000u;

// Alignment of the descriptor table, which has 16 * size bytes. [virtio 1.3, 2.7; linux/virtio_ring.h] (virtio.toml) Unit: bytes.
inline constexpr uint8_t kVirtqDescAlign = 16u;

// Alignment of the available ring, which has 6 + 2 * size bytes. [virtio 1.3, 2.7; linux/virtio_ring.h] (virtio.toml) Unit: bytes.
inline constexpr uint8_t kVirtqAvailAlign = 2u;

// Alignment of the used ring, which has 6 + 8 * size bytes. [virtio 1.3, 2.7; linux/virtio_ring.h] (virtio.toml) Unit: bytes.
inline constexpr uint8_t kVirtqUsedAlign = 4u;

// Largest packed queue; any size, not only powers of 2. [virtio 1.3, 2.8 and 2.8.10.1] (virtio.toml) Unit: entries.
inline constexpr uint16_t kPvirtqSizeMax = 0x8000u;

// Alignment of a descriptor ring, which has 16 * size bytes. [virtio 1.3, 2.8.10.1] (virtio.toml) Unit: bytes.
inline constexpr uint8_t kPvirtqDescAlign = 16u;

// Alignment of each event suppression structure. [virtio 1.3, 2.8.10.1] (virtio.toml) Unit: bytes.
inline constexpr uint8_t kPvirtqEventSuppressAlign = 4u;

// Shortest frame without FCS; shorter ones are padded with zeros. [IEEE 802.3, 3.2.8] (wire.toml) Unit: bytes.
inline constexpr uint8_t kEthernetFrameBytesMin = 60u;

// Destination port of every RoCEv2 datagram. [IANA service names; IBTA A17.4.3] (wire.toml)
inline constexpr uint16_t kUdpPortRocev2 = 4791u;

// Source ports are this plus 14 bits of flow entropy, so that switches spread flows over paths. [IBTA A17.4.3 (dynamic port range); Linux rxe does the same] (wire.toml)
inline constexpr uint16_t kUdpSourcePortBase = 0xc000u;

// A local ACK timeout code T (1 … 31) means this times 2^T; 0 switches the timer off. [IBTA vol. 1, 9.7.6.1.3] (wire.toml) Unit: ns.
inline constexpr uint16_t kLocalAckTimeoutUnitNs = 4096u;

// Invariant CRC after payload and pad: the last bytes of the IP datagram, least significant byte first. [IBTA vol. 1, 7.8.1; A17.3.3] (wire.toml) Unit: bytes.
inline constexpr uint8_t kIcrcBytes = 4u;

// Reflected CRC-32 of IEEE 802.3; state starts as all ones and is inverted at the end. [IBTA vol. 1, 7.8.1] (wire.toml)
inline constexpr uint32_t kIcrcPolynomial = 0xedb88320u;

// All-ones bytes in place of the (absent) local route header before the IP header. [IBTA A17.3.3] (wire.toml) Unit: bytes.
inline constexpr uint8_t kIcrcPrefixBytes = 8u;

// CRC state after a correct packet with its ICRC, before the final inversion. [follows from the polynomial; proved by verif/rdma/icrc_test.cc] (wire.toml)
inline constexpr uint32_t kIcrcResidue = 0xdebb20e3u;

// Default partition, full member: the only entry of Vireo's P_Key table. [IBTA vol. 1, 10.9.1.2] (wire.toml)
inline constexpr uint16_t kPkeyDefault = 0xffffu;

// Width of PSN and MSN; half of the range is valid ahead of the expected PSN. [IBTA vol. 1, 9.7.1] (wire.toml) Unit: bits.
inline constexpr uint8_t kPsnBits = 24u;

// Queue pair of the general services interface (CM). [IBTA vol. 1, 3.9] (wire.toml)
inline constexpr uint32_t kGsiQpn = 1u;

// Q_Key of QP1. [IBTA vol. 1, 10.2.5] (wire.toml)
inline constexpr uint32_t kGsiQkey = 0x80010000u;

// Destination QP of multicast datagrams. [IBTA vol. 1, 9.2.4] (wire.toml)
inline constexpr uint32_t kMulticastQpn = 0xffffffu;

// Words of 64 bits that the management block keeps of an entry, from its first byte on, by `mgmt_table`: what firmware reads to change it, or when it removes the object. 0: a read is an error. Of rss only entry 0 is kept. (tables.toml)
inline constexpr uint8_t kTableKeptWords[12] = {
    3u, 0u, 10u, 1u, 4u, 0u, 1u, 3u,
    0u, 1u, 7u, 0u,
};

// Features that the device offers, 32 bits to a word: ring_indirect_desc, ring_event_idx, version_1, access_platform, ring_packed, ring_reset; csum, guest_csum, ctrl_guest_offloads, mtu, mac, mrg_rxbuf, status, ctrl_vq, ctrl_rx, ctrl_vlan, ctrl_rx_extra, mq, ctrl_mac_addr, vq_notf_coal and notf_coal of a net device, except those in the profile's net_features_withheld. The profile's net_f_roce is added. [virtio 1.3, 2.2 and 6; the choice is Vireo's] (virtio.toml)
inline constexpr uint32_t kOfferedFeatures[4] = {
    819953711u, 3145991u, 0u, 0u,
};

// Credit count of an acknowledge by its 5-bit code; 31 means that credits are not used, here 0xffff. [IBTA vol. 1, table 46] (wire.toml)
inline constexpr uint16_t kAethCredits[32] = {
    0u, 1u, 2u, 3u, 4u, 6u, 8u, 12u,
    16u, 24u, 32u, 48u, 64u, 96u, 128u, 192u,
    256u, 384u, 512u, 768u, 1024u, 1536u, 2048u, 3072u,
    4096u, 6144u, 8192u, 12288u, 16384u, 24576u, 32768u, 65535u,
};

// How long a requester waits after an RNR NAK, by its 5-bit timer code. [IBTA vol. 1, table 47] (wire.toml)
inline constexpr uint32_t kRnrTimerNs[32] = {
    655360000u, 10000u, 20000u, 30000u, 40000u, 60000u, 80000u, 120000u,
    160000u, 240000u, 320000u, 480000u, 640000u, 960000u, 1280000u, 1920000u,
    2560000u, 3840000u, 5120000u, 7680000u, 10240000u, 15360000u, 20480000u, 30720000u,
    40960000u, 61440000u, 81920000u, 122880000u, 163840000u, 245760000u, 327680000u, 491520000u,
};

// Kinds of frames. A frame with a wrong CRC, an unknown kind or an unexpected sequence number is ignored; a repeated question is answered again and not executed again. (board.toml)
enum class BoardFrame : uint8_t {
  kHello = 1u,  // To the board, without payload: starts a session and stops what was being executed. From it: `board_hello`
  kData = 2u,  // To the board: commands, as a stream that may be cut anywhere. From it: events, all that these commands caused
  kMore = 3u,  // From the board: likewise, and execution waits for room; the next question must have no payload
  kNoSession = 4u,  // From the board: a question before the first `hello` since the board's power came up
};
// The contract's name of a value; null if it has none.
constexpr const char* ToString(BoardFrame value) {
  switch (value) {
    case BoardFrame::kHello: return "hello";
    case BoardFrame::kData: return "data";
    case BoardFrame::kMore: return "more";
    case BoardFrame::kNoSession: return "no_session";
  }
  return nullptr;
}

// Commands, each followed by its structure. What enters the device enters in the next cycle that is run, for that cycle. An unknown command ends execution of its session: its frame is answered by `refused`. (board.toml)
enum class BoardCommand : uint8_t {
  kReset = 1u,  // Resets NIC and control processor, for 16 cycles; all inputs are as after power-on. No structure
  kRun = 2u,  // `board_run`
  kTime = 3u,  // `board_time`
  kControls = 4u,  // `board_controls`
  kBar = 5u,  // `board_bar`
  kCsr = 6u,  // `board_csr`
  kCredits = 7u,  // `board_credits`
  kRefuse = 8u,  // The write whose last beat was in the cycle before is answered with an error. No structure
  kReadBeats = 9u,  // `board_read_beats`, then the beats
  kFrameBeats = 0xau,  // `board_frame_beats`, then the beats
  kLoad = 0xbu,  // `board_load`: a word of the control processor's memory
  kStart = 0xcu,  // The control processor starts with the next cycle. No structure
  kAdmit = 0xdu,  // The access that `board_event.access` has announced takes place in the next cycle. No structure
};
// The contract's name of a value; null if it has none.
constexpr const char* ToString(BoardCommand value) {
  switch (value) {
    case BoardCommand::kReset: return "reset";
    case BoardCommand::kRun: return "run";
    case BoardCommand::kTime: return "time";
    case BoardCommand::kControls: return "controls";
    case BoardCommand::kBar: return "bar";
    case BoardCommand::kCsr: return "csr";
    case BoardCommand::kCredits: return "credits";
    case BoardCommand::kRefuse: return "refuse";
    case BoardCommand::kReadBeats: return "read_beats";
    case BoardCommand::kFrameBeats: return "frame_beats";
    case BoardCommand::kLoad: return "load";
    case BoardCommand::kStart: return "start";
    case BoardCommand::kAdmit: return "admit";
  }
  return nullptr;
}

// Events, each followed by its structure. Those of a run come in the order of their cycles, within a cycle in the order of their numbers; the last is `ran`. (board.toml)
enum class BoardEvent : uint8_t {
  kBarAnswer = 1u,  // `board_bar_answer`
  kCsrAnswer = 2u,  // `board_csr_answer`
  kInterrupt = 3u,  // `board_interrupt`
  kRead = 4u,  // `board_read`: a DMA read is requested
  kWriteBeat = 5u,  // 8 bytes, as they are on the bus: of the oldest write that is not complete; the run ends with its last
  kWriteStart = 6u,  // `board_write`: the address of a DMA write is accepted
  kMsix = 7u,  // `board_msix`
  kTransmit = 8u,  // `board_transmit`: a beat of a frame; the run ends with its last
  kAccess = 9u,  // `board_csr`: in front of the next cycle, the control processor accesses a register in it; it waits for `admit`
  kRan = 0xau,  // `board_ran`: a run has ended
  kConsole = 0xbu,  // A byte: the control processor's console has sent it; only within a run
  kRefused = 0xcu,  // The command's number, a byte: it is unknown
};
// The contract's name of a value; null if it has none.
constexpr const char* ToString(BoardEvent value) {
  switch (value) {
    case BoardEvent::kBarAnswer: return "bar_answer";
    case BoardEvent::kCsrAnswer: return "csr_answer";
    case BoardEvent::kInterrupt: return "interrupt";
    case BoardEvent::kRead: return "read";
    case BoardEvent::kWriteBeat: return "write_beat";
    case BoardEvent::kWriteStart: return "write_start";
    case BoardEvent::kMsix: return "msix";
    case BoardEvent::kTransmit: return "transmit";
    case BoardEvent::kAccess: return "access";
    case BoardEvent::kRan: return "ran";
    case BoardEvent::kConsole: return "console";
    case BoardEvent::kRefused: return "refused";
  }
  return nullptr;
}

// Tables of the datapath that firmware fills through table_command. (csr.toml)
enum class MgmtTable : uint8_t {
  kVirtqueue = 0u,  // Per virtqueue: kind, limits, owner
  kWindow = 1u,  // Per virtqueue: address window
  kQpContext = 2u,  // Per QP: attributes of MODIFY_QP and transport state
  kCqContext = 3u,  // Per CQ: virtqueue, arm state, vector
  kMr = 4u,  // Per memory region: key, PD, bounds, access, first translation, page size
  kTranslation = 5u,  // Page addresses
  kAh = 6u,  // Address handles
  kGid = 7u,  // GIDs with type and VLAN
  kMacFilter = 8u,  // Unicast and multicast MAC addresses to accept
  kVlanFilter = 9u,  // 4,096 bits, 32 to an entry
  kRss = 0xau,  // Indirection table
  kMcast = 0xbu,  // Attachments of UD queue pairs to multicast groups
};
// The contract's name of a value; null if it has none.
constexpr const char* ToString(MgmtTable value) {
  switch (value) {
    case MgmtTable::kVirtqueue: return "virtqueue";
    case MgmtTable::kWindow: return "window";
    case MgmtTable::kQpContext: return "qp_context";
    case MgmtTable::kCqContext: return "cq_context";
    case MgmtTable::kMr: return "mr";
    case MgmtTable::kTranslation: return "translation";
    case MgmtTable::kAh: return "ah";
    case MgmtTable::kGid: return "gid";
    case MgmtTable::kMacFilter: return "mac_filter";
    case MgmtTable::kVlanFilter: return "vlan_filter";
    case MgmtTable::kRss: return "rss";
    case MgmtTable::kMcast: return "mcast";
  }
  return nullptr;
}

// What table_command does with the entry. (csr.toml)
enum class MgmtTableOperation : uint8_t {
  kRead = 0u,  // to table_data: what is kept of the entry (table_kept_words), then the second group; 0 in the rest
  kWrite = 1u,  // table_data to entry
  kClear = 2u,  // entry and table_data to all zero
};
// The contract's name of a value; null if it has none.
constexpr const char* ToString(MgmtTableOperation value) {
  switch (value) {
    case MgmtTableOperation::kRead: return "read";
    case MgmtTableOperation::kWrite: return "write";
    case MgmtTableOperation::kClear: return "clear";
  }
  return nullptr;
}

// Operation that qp_command requests. (csr.toml)
enum class QpOperation : uint8_t {
  kStart = 0u,  // serve the queues as the state in qp_context allows
  kDrain = 1u,  // stop taking new send WQEs; done when all outstanding ones are complete (SQD)
  kFlush = 2u,  // complete everything with WR_FLUSH_ERR; done when work in flight has ended; WRs posted but not started are flushed after that (ERR)
  kStop = 3u,  // discard all state; done when no DMA of this QP is in flight (RESET, destroy)
};
// The contract's name of a value; null if it has none.
constexpr const char* ToString(QpOperation value) {
  switch (value) {
    case QpOperation::kStart: return "start";
    case QpOperation::kDrain: return "drain";
    case QpOperation::kFlush: return "flush";
    case QpOperation::kStop: return "stop";
  }
  return nullptr;
}

// Memories whose entries have a parity bit: firmware's contexts in the management block, and what the datapath uses. (csr.toml)
enum class ContextRam : uint8_t {
  kManagementContext = 0u,  // What table_command reads of firmware's entries, in words: table_kept_words
  kManagementQueueRow = 0xbu,  // Per virtqueue: enabled, read with virtqueue
  kManagementEngineState = 0xcu,  // Per QP: state in force, read with qp_context
  kMemoryCheckMr = 0xdu,  // Memory regions, where keys are checked
  kMemoryCheckTranslation = 0xeu,  // Page addresses, where accesses are translated
  kDescFetchServed = 0xfu,  // Per virtqueue: served, has chains
  kDescFetchArea = 0x10u,  // Per virtqueue: enabled, address of the polled area
  kDescFetchSize = 0x11u,  // Per virtqueue: enabled, queue size
  kDescFetchDescriptors = 0x12u,  // Per virtqueue: enabled, queue size, address of the descriptors
  kDescFetchWindow = 0x13u,  // Per virtqueue: address window
  kRequesterQp = 0x14u,  // Per QP: the requester's checks
  kRequesterAh = 0x15u,  // Address handles, where the requester checks them
  kResponderQp = 0x16u,  // Per QP: the responder's checks
  kNetFilterMac = 0x17u,  // MAC addresses, where received net frames are filtered
  kNetFilterVlan = 0x18u,  // VLANs, likewise
  kModerationLimits = 0x19u,  // Per net queue: limits of notification coalescing
  kModerationCount = 0x1au,  // Per net queue: notifications counted, time, vector
  kQpControlQueue = 0x1bu,  // Per virtqueue: kind and owner, where a failed queue fails its QP
  kQpControlCqs = 0x1cu,  // Per QP: its CQs, where a failed CQ fails its QPs
  kQpControlRequested = 0x1du,  // Per QP: the state that firmware requests
  kQpControlState = 0x1eu,  // Per QP: the state in force
  kTxBuilderQp = 0x1fu,  // Per QP: path and peer of its packets
  kTxBuilderAh = 0x20u,  // Address handles: path of datagrams
  kReadResponderQp = 0x21u,  // Per QP: protection domain and path MTU of READ responses
  kCompleterQp = 0x22u,  // Per QP: completion queue, retries, timeout
  kCqWriterRow = 0x23u,  // Per virtqueue: the host's part, where used rings are written
  kCqWriterKind = 0x24u,  // Per virtqueue: served, notifies
  kCqWriterCq = 0x25u,  // Per CQ: its virtqueue, and the elements of its completions
  kManagementMrBinding = 0x26u,  // Per memory region: what it is in the device, read with mr
};
// The contract's name of a value; null if it has none.
constexpr const char* ToString(ContextRam value) {
  switch (value) {
    case ContextRam::kManagementContext: return "management_context";
    case ContextRam::kManagementQueueRow: return "management_queue_row";
    case ContextRam::kManagementEngineState: return "management_engine_state";
    case ContextRam::kMemoryCheckMr: return "memory_check_mr";
    case ContextRam::kMemoryCheckTranslation: return "memory_check_translation";
    case ContextRam::kDescFetchServed: return "desc_fetch_served";
    case ContextRam::kDescFetchArea: return "desc_fetch_area";
    case ContextRam::kDescFetchSize: return "desc_fetch_size";
    case ContextRam::kDescFetchDescriptors: return "desc_fetch_descriptors";
    case ContextRam::kDescFetchWindow: return "desc_fetch_window";
    case ContextRam::kRequesterQp: return "requester_qp";
    case ContextRam::kRequesterAh: return "requester_ah";
    case ContextRam::kResponderQp: return "responder_qp";
    case ContextRam::kNetFilterMac: return "net_filter_mac";
    case ContextRam::kNetFilterVlan: return "net_filter_vlan";
    case ContextRam::kModerationLimits: return "moderation_limits";
    case ContextRam::kModerationCount: return "moderation_count";
    case ContextRam::kQpControlQueue: return "qp_control_queue";
    case ContextRam::kQpControlCqs: return "qp_control_cqs";
    case ContextRam::kQpControlRequested: return "qp_control_requested";
    case ContextRam::kQpControlState: return "qp_control_state";
    case ContextRam::kTxBuilderQp: return "tx_builder_qp";
    case ContextRam::kTxBuilderAh: return "tx_builder_ah";
    case ContextRam::kReadResponderQp: return "read_responder_qp";
    case ContextRam::kCompleterQp: return "completer_qp";
    case ContextRam::kCqWriterRow: return "cq_writer_row";
    case ContextRam::kCqWriterKind: return "cq_writer_kind";
    case ContextRam::kCqWriterCq: return "cq_writer_cq";
    case ContextRam::kManagementMrBinding: return "management_mr_binding";
  }
  return nullptr;
}

// Result of the receive parser: the first check that applies, in this order. Everything but `roce` and `net` is counted and dropped. [IBTA vol. 1, 9.6 and A17.4 for the checks of RoCEv2 packets] (csr.toml)
enum class RxVerdict : uint8_t {
  kRoce = 0u,  // RoCEv2 with a correct ICRC: to the transport
  kNet = 1u,  // anything that is not RoCE: to the net path
  kTruncated = 2u,  // the MAC reported an error, or the frame ends before its IP datagram or headers
  kIpHeader = 3u,  // RoCEv2 by port, but IP version, or IPv4 header checksum or length, is wrong
  kIpFragment = 4u,  // a fragment to the RoCEv2 port
  kUdpLength = 5u,  // UDP length differs from the IP length
  kIcrc = 6u,  // invariant CRC is wrong
  kTransportVersion = 7u,  // BTH version is not 0; also RoCE version 1, by its EtherType, which is checked before `net`
  kOpcode = 8u,  // opcode not in the table and not RC, so that no responder may NAK it
  kLength = 9u,  // no room for the headers of the opcode, or pad longer than the payload
};
// The contract's name of a value; null if it has none.
constexpr const char* ToString(RxVerdict value) {
  switch (value) {
    case RxVerdict::kRoce: return "roce";
    case RxVerdict::kNet: return "net";
    case RxVerdict::kTruncated: return "truncated";
    case RxVerdict::kIpHeader: return "ip_header";
    case RxVerdict::kIpFragment: return "ip_fragment";
    case RxVerdict::kUdpLength: return "udp_length";
    case RxVerdict::kIcrc: return "icrc";
    case RxVerdict::kTransportVersion: return "transport_version";
    case RxVerdict::kOpcode: return "opcode";
    case RxVerdict::kLength: return "length";
  }
  return nullptr;
}

// Why the device stopped and needs a reset. A failure of a virtqueue, the control queue included, is none: it stops that queue alone. 2 was the control queue's. (csr.toml)
enum class FatalCause : uint8_t {
  kNone = 0u,  // no failure
  kFirmware = 1u,  // the firmware failed or did not respond
  kBus = 3u,  // the DMA port returned a response without a request
  kMemory = 4u,  // an entry of a context_ram was read and its parity is wrong; no new work is started until the driver resets the device
};
// The contract's name of a value; null if it has none.
constexpr const char* ToString(FatalCause value) {
  switch (value) {
    case FatalCause::kNone: return "none";
    case FatalCause::kFirmware: return "firmware";
    case FatalCause::kBus: return "bus";
    case FatalCause::kMemory: return "memory";
  }
  return nullptr;
}

// Ack byte of RoCE commands in profile `vireo`, and `code` of events. 0 and 1 are net_ctrl_ack's own values. [docs/decisions/0003] (errors.toml)
enum class RdmaError : uint8_t {
  kOk = 0u,  // Done
  kErr = 1u,  // Refused, no reason given: the only failure of profile rfc-v2
  kUnsupportedCommand = 2u,  // No command has this number in this profile
  kFeatureNotNegotiated = 3u,  // The driver did not accept net_f_roce
  kRequestTooShort = 4u,  // Readable part ends before the request or its page list does
  kResponseTooShort = 5u,  // Writable part cannot hold the ack byte and the response
  kDmaError = 6u,  // The bus refused or failed a read of the request
  kInternal = 7u,  // Internal failure of the control plane: software defect or faulty hardware
  kBadPdn = 0x10u,  // No protection domain has this number
  kBadCqn = 0x11u,  // No completion queue has this number
  kBadQpn = 0x12u,  // No queue pair has this number
  kBadMrn = 0x13u,  // No memory region, or for dealloc_mw no memory window, has this number
  kBadAh = 0x14u,  // No address handle of this protection domain has this number
  kBadGidIndex = 0x15u,  // Outside the GID table, or empty where an entry is needed
  kBadVqIndex = 0x16u,  // No virtqueue that may have a window has this index
  kHandleBusy = 0x17u,  // Other objects use it; for dereg_mr and rereg_mr: memory windows are bound to it; for create_qp: the one GSI QP exists, or has only just gone; for modify_qp: discarded work is not gone yet, try again; for destroy_qp: it is attached to a multicast group
  kBadSrqn = 0x18u,  // No shared receive queue has this number; for create_qp: none of this protection domain
  kInvalidParameter = 0x30u,  // A field has an undefined value
  kUnsupportedQpType = 0x31u,  // The device has no QPs of this type
  kBadAccessFlags = 0x32u,  // Unknown flag; remote_atomic on a device without atomic operations; remote_write or remote_atomic of a region without local_write; a right to FLUSH on a device without, of a DMA MR, or for persistence of a region without is_pmem; mw_bind on a device without memory windows, of a DMA MR, of a region with invalidatable
  kCapCqeExceeded = 0x33u,  // cqe is above max_cqe
  kCapWrExceeded = 0x34u,  // max_send_wr, max_recv_wr or max_wr is above max_qp_wr
  kCapSgeExceeded = 0x35u,  // max_send_sge, max_recv_sge or max_sge is above the device's limit
  kCapInlineExceeded = 0x36u,  // max_inline_data is above rdma_inline_bytes
  kUnsupportedCqElement = 0x37u,  // An element that is not of cq_elements
  kNotAUdQp = 0x38u,  // Only UD queue pairs are attached to multicast groups
  kCurStateMismatch = 0x40u,  // cur_qp_state is not the state the QP is in
  kInvalidStateTransition = 0x41u,  // IBTA does not allow this transition
  kMissingAttribute = 0x42u,  // The transition requires an attribute that the mask does not select
  kAttributeNotAllowed = 0x43u,  // The mask selects one that this type or transition does not allow
  kInvalidAttribute = 0x44u,  // Out of range: MTU, timer, counter, PSN, QPN, flow label, limit
  kInvalidAddress = 0x45u,  // dgid is zero or of another IP version than the source GID
  kQueueNotReady = 0x46u,  // A virtqueue of the QP or of its CQs is not enabled
  kInvalidLength = 0x50u,  // length is 0, above max_mr_size, or runs past 2^64
  kInvalidPageSize = 0x51u,  // page_shift is not a size of page_size_cap
  kPageListTooLong = 0x52u,  // npages is above max_mr_pages; for alloc_mr: max_pages is above max_fast_mr_pages
  kPageCountMismatch = 0x53u,  // npages does not match virt_addr, length and page size
  kUnalignedPage = 0x54u,  // A page address is not a multiple of the page size
  kUnsupportedGidType = 0x60u,  // Not RoCE v2
  kInvalidVlan = 0x61u,  // VLAN identifier 0xfff, or a TCI without vlan_present
  kInvalidGid = 0x62u,  // Zero or multicast GID; for attach_mcast: not a multicast GID
  kGidIndexInUse = 0x63u,  // The entry holds a GID: delete it first
  kGidDuplicate = 0x64u,  // Another entry has the same GID, type and VLAN
  kInvalidWindow = 0x65u,  // length is 0, or base + length runs past 2^64
  kNotAttached = 0x66u,  // The queue pair is not attached to this multicast group
  kNoFreePd = 0x70u,  // max_pd protection domains exist
  kNoFreeCq = 0x71u,  // max_rdma_cqs completion queues exist
  kNoFreeQp = 0x72u,  // Every QP number is taken
  kNoFreeMr = 0x73u,  // max_mr memory regions and windows exist; for alloc_mw: or the device has no windows
  kNoFreeAh = 0x74u,  // max_ah address handles exist
  kNoFreePages = 0x75u,  // The translation table cannot hold this page list now
  kNoFreeSrq = 0x76u,  // max_srq shared receive queues exist, or every QP number is taken
  kNoFreeMcast = 0x77u,  // max_mcast_attach attachments to multicast groups exist
  kWindowViolation = 0x80u,  // A buffer or indirect table lies outside the queue's window
  kBadDescriptor = 0x81u,  // Ring or chain is malformed: index, loop, direction, length
  kBadWqe = 0x82u,  // The descriptor is shorter than the fixed part of a work request
  kCqOverrun = 0x83u,  // A completion found no free CQ buffer
  kCqFailed = 0x84u,  // A completion queue of the QP is in error
  kQueueReset = 0x85u,  // The driver reset a virtqueue whose QP or CQ still exists
  kQueueDmaError = 0x86u,  // The bus refused or failed an access to ring, WQE, CQ buffer or payload
  kRetryExceeded = 0x87u,  // The peer did not respond, or reported missing packets, until no retry was left
  kRnrRetryExceeded = 0x88u,  // The peer had no receive until no RNR retry was left
  kRemoteInvalidRequest = 0x89u,  // The peer sent NAK invalid request
  kRemoteAccessError = 0x8au,  // The peer sent NAK remote access error
  kRemoteOperationalError = 0x8bu,  // NAK remote operational error, received or sent
  kBadResponse = 0x8cu,  // A response of the peer is invalid
};
// The contract's name of a value; null if it has none.
constexpr const char* ToString(RdmaError value) {
  switch (value) {
    case RdmaError::kOk: return "ok";
    case RdmaError::kErr: return "err";
    case RdmaError::kUnsupportedCommand: return "unsupported_command";
    case RdmaError::kFeatureNotNegotiated: return "feature_not_negotiated";
    case RdmaError::kRequestTooShort: return "request_too_short";
    case RdmaError::kResponseTooShort: return "response_too_short";
    case RdmaError::kDmaError: return "dma_error";
    case RdmaError::kInternal: return "internal";
    case RdmaError::kBadPdn: return "bad_pdn";
    case RdmaError::kBadCqn: return "bad_cqn";
    case RdmaError::kBadQpn: return "bad_qpn";
    case RdmaError::kBadMrn: return "bad_mrn";
    case RdmaError::kBadAh: return "bad_ah";
    case RdmaError::kBadGidIndex: return "bad_gid_index";
    case RdmaError::kBadVqIndex: return "bad_vq_index";
    case RdmaError::kHandleBusy: return "handle_busy";
    case RdmaError::kBadSrqn: return "bad_srqn";
    case RdmaError::kInvalidParameter: return "invalid_parameter";
    case RdmaError::kUnsupportedQpType: return "unsupported_qp_type";
    case RdmaError::kBadAccessFlags: return "bad_access_flags";
    case RdmaError::kCapCqeExceeded: return "cap_cqe_exceeded";
    case RdmaError::kCapWrExceeded: return "cap_wr_exceeded";
    case RdmaError::kCapSgeExceeded: return "cap_sge_exceeded";
    case RdmaError::kCapInlineExceeded: return "cap_inline_exceeded";
    case RdmaError::kUnsupportedCqElement: return "unsupported_cq_element";
    case RdmaError::kNotAUdQp: return "not_a_ud_qp";
    case RdmaError::kCurStateMismatch: return "cur_state_mismatch";
    case RdmaError::kInvalidStateTransition: return "invalid_state_transition";
    case RdmaError::kMissingAttribute: return "missing_attribute";
    case RdmaError::kAttributeNotAllowed: return "attribute_not_allowed";
    case RdmaError::kInvalidAttribute: return "invalid_attribute";
    case RdmaError::kInvalidAddress: return "invalid_address";
    case RdmaError::kQueueNotReady: return "queue_not_ready";
    case RdmaError::kInvalidLength: return "invalid_length";
    case RdmaError::kInvalidPageSize: return "invalid_page_size";
    case RdmaError::kPageListTooLong: return "page_list_too_long";
    case RdmaError::kPageCountMismatch: return "page_count_mismatch";
    case RdmaError::kUnalignedPage: return "unaligned_page";
    case RdmaError::kUnsupportedGidType: return "unsupported_gid_type";
    case RdmaError::kInvalidVlan: return "invalid_vlan";
    case RdmaError::kInvalidGid: return "invalid_gid";
    case RdmaError::kGidIndexInUse: return "gid_index_in_use";
    case RdmaError::kGidDuplicate: return "gid_duplicate";
    case RdmaError::kInvalidWindow: return "invalid_window";
    case RdmaError::kNotAttached: return "not_attached";
    case RdmaError::kNoFreePd: return "no_free_pd";
    case RdmaError::kNoFreeCq: return "no_free_cq";
    case RdmaError::kNoFreeQp: return "no_free_qp";
    case RdmaError::kNoFreeMr: return "no_free_mr";
    case RdmaError::kNoFreeAh: return "no_free_ah";
    case RdmaError::kNoFreePages: return "no_free_pages";
    case RdmaError::kNoFreeSrq: return "no_free_srq";
    case RdmaError::kNoFreeMcast: return "no_free_mcast";
    case RdmaError::kWindowViolation: return "window_violation";
    case RdmaError::kBadDescriptor: return "bad_descriptor";
    case RdmaError::kBadWqe: return "bad_wqe";
    case RdmaError::kCqOverrun: return "cq_overrun";
    case RdmaError::kCqFailed: return "cq_failed";
    case RdmaError::kQueueReset: return "queue_reset";
    case RdmaError::kQueueDmaError: return "queue_dma_error";
    case RdmaError::kRetryExceeded: return "retry_exceeded";
    case RdmaError::kRnrRetryExceeded: return "rnr_retry_exceeded";
    case RdmaError::kRemoteInvalidRequest: return "remote_invalid_request";
    case RdmaError::kRemoteAccessError: return "remote_access_error";
    case RdmaError::kRemoteOperationalError: return "remote_operational_error";
    case RdmaError::kBadResponse: return "bad_response";
  }
  return nullptr;
}
// The errno that a verbs call returns for it; null if it has none.
constexpr const char* ErrnoOf(RdmaError value) {
  switch (value) {
    case RdmaError::kOk: return nullptr;
    case RdmaError::kErr: return "EIO";
    case RdmaError::kUnsupportedCommand: return "EOPNOTSUPP";
    case RdmaError::kFeatureNotNegotiated: return "EOPNOTSUPP";
    case RdmaError::kRequestTooShort: return "EINVAL";
    case RdmaError::kResponseTooShort: return "EINVAL";
    case RdmaError::kDmaError: return "EIO";
    case RdmaError::kInternal: return "EIO";
    case RdmaError::kBadPdn: return "EINVAL";
    case RdmaError::kBadCqn: return "EINVAL";
    case RdmaError::kBadQpn: return "EINVAL";
    case RdmaError::kBadMrn: return "EINVAL";
    case RdmaError::kBadAh: return "EINVAL";
    case RdmaError::kBadGidIndex: return "EINVAL";
    case RdmaError::kBadVqIndex: return "EINVAL";
    case RdmaError::kHandleBusy: return "EBUSY";
    case RdmaError::kBadSrqn: return "EINVAL";
    case RdmaError::kInvalidParameter: return "EINVAL";
    case RdmaError::kUnsupportedQpType: return "EOPNOTSUPP";
    case RdmaError::kBadAccessFlags: return "EINVAL";
    case RdmaError::kCapCqeExceeded: return "EINVAL";
    case RdmaError::kCapWrExceeded: return "EINVAL";
    case RdmaError::kCapSgeExceeded: return "EINVAL";
    case RdmaError::kCapInlineExceeded: return "EINVAL";
    case RdmaError::kUnsupportedCqElement: return "EOPNOTSUPP";
    case RdmaError::kNotAUdQp: return "EINVAL";
    case RdmaError::kCurStateMismatch: return "EINVAL";
    case RdmaError::kInvalidStateTransition: return "EINVAL";
    case RdmaError::kMissingAttribute: return "EINVAL";
    case RdmaError::kAttributeNotAllowed: return "EINVAL";
    case RdmaError::kInvalidAttribute: return "EINVAL";
    case RdmaError::kInvalidAddress: return "EINVAL";
    case RdmaError::kQueueNotReady: return "EINVAL";
    case RdmaError::kInvalidLength: return "EINVAL";
    case RdmaError::kInvalidPageSize: return "EINVAL";
    case RdmaError::kPageListTooLong: return "EINVAL";
    case RdmaError::kPageCountMismatch: return "EINVAL";
    case RdmaError::kUnalignedPage: return "EINVAL";
    case RdmaError::kUnsupportedGidType: return "EOPNOTSUPP";
    case RdmaError::kInvalidVlan: return "EINVAL";
    case RdmaError::kInvalidGid: return "EINVAL";
    case RdmaError::kGidIndexInUse: return "EBUSY";
    case RdmaError::kGidDuplicate: return "EEXIST";
    case RdmaError::kInvalidWindow: return "EINVAL";
    case RdmaError::kNotAttached: return "EINVAL";
    case RdmaError::kNoFreePd: return "ENOMEM";
    case RdmaError::kNoFreeCq: return "ENOMEM";
    case RdmaError::kNoFreeQp: return "ENOMEM";
    case RdmaError::kNoFreeMr: return "ENOMEM";
    case RdmaError::kNoFreeAh: return "ENOMEM";
    case RdmaError::kNoFreePages: return "ENOMEM";
    case RdmaError::kNoFreeSrq: return "ENOMEM";
    case RdmaError::kNoFreeMcast: return "ENOMEM";
    case RdmaError::kWindowViolation: return "EFAULT";
    case RdmaError::kBadDescriptor: return "EIO";
    case RdmaError::kBadWqe: return "EIO";
    case RdmaError::kCqOverrun: return "EIO";
    case RdmaError::kCqFailed: return "EIO";
    case RdmaError::kQueueReset: return "EIO";
    case RdmaError::kQueueDmaError: return "EIO";
    case RdmaError::kRetryExceeded: return "ETIMEDOUT";
    case RdmaError::kRnrRetryExceeded: return "ETIMEDOUT";
    case RdmaError::kRemoteInvalidRequest: return "EREMOTEIO";
    case RdmaError::kRemoteAccessError: return "EREMOTEIO";
    case RdmaError::kRemoteOperationalError: return "EREMOTEIO";
    case RdmaError::kBadResponse: return "EREMOTEIO";
  }
  return nullptr;
}

// Numbers of the feature bits of a network device. Not assigned: 4, 58 and everything above 70. [virtio 1.3, 5.1.3 (50, 64 to 70: 1.4); linux/virtio_net.h (not 51, 64, 69, 70)] (net.toml)
enum class NetFeature : uint8_t {
  kCsum = 0u,  // Device completes checksums of sent packets
  kGuestCsum = 1u,  // Driver accepts received packets with incomplete checksums
  kCtrlGuestOffloads = 2u,  // Receive offloads can be switched at run time. Used over ctrl_vq
  kMtu = 3u,  // net_config.mtu is valid and a limit for both sides
  kMac = 5u,  // net_config.mac is valid
  kGso = 6u,  // Legacy: all kinds of segmentation. Never offered
  kGuestTso4 = 7u,  // Driver accepts merged TCP over IPv4. Requires guest_csum
  kGuestTso6 = 8u,  // Driver accepts merged TCP over IPv6. Requires guest_csum
  kGuestEcn = 9u,  // Driver accepts merged TCP with ECN. Requires guest_tso4 or guest_tso6
  kGuestUfo = 0xau,  // Driver accepts merged UDP fragments. Requires guest_csum
  kHostTso4 = 0xbu,  // Device segments TCP over IPv4. Requires csum
  kHostTso6 = 0xcu,  // Device segments TCP over IPv6. Requires csum
  kHostEcn = 0xdu,  // Device segments TCP with ECN. Requires host_tso4 or host_tso6
  kHostUfo = 0xeu,  // Device fragments UDP. Requires csum
  kMrgRxbuf = 0xfu,  // A received packet may span buffers (num_buffers)
  kStatus = 0x10u,  // net_config.status is valid
  kCtrlVq = 0x11u,  // There is a control queue
  kCtrlRx = 0x12u,  // Class rx: promiscuous, all-multicast; MAC table. Requires ctrl_vq
  kCtrlVlan = 0x13u,  // Class vlan: VLAN filter. Requires ctrl_vq
  kCtrlRxExtra = 0x14u,  // More commands of class rx. Offer only with ctrl_vq
  kGuestAnnounce = 0x15u,  // Driver announces itself when net_status.announce is set. Requires ctrl_vq
  kMq = 0x16u,  // Several queue pairs, steered by the device. Requires ctrl_vq
  kCtrlMacAddr = 0x17u,  // The MAC address can be set. Requires ctrl_vq
  kGuestRsc4 = 0x29u,  // Legacy private use of the bit that is virtio_feature.admin_vq now. Never offered
  kGuestRsc6 = 0x2au,  // Legacy private use, like guest_rsc4. Never offered
  kDeviceStats = 0x32u,  // Class stats: counters. Used over ctrl_vq
  kHashTunnel = 0x33u,  // Hash inner headers. Requires ctrl_vq, and rss or hash_report [vireo profile]
  kVqNotfCoal = 0x34u,  // Interrupt moderation per queue. Requires ctrl_vq [vireo profile]
  kNotfCoal = 0x35u,  // Interrupt moderation per direction. Requires ctrl_vq [vireo profile]
  kGuestUso4 = 0x36u,  // Driver accepts merged UDP over IPv4. Requires guest_csum
  kGuestUso6 = 0x37u,  // Driver accepts merged UDP over IPv6. Requires guest_csum [vireo profile]
  kHostUso = 0x38u,  // Device segments UDP. Requires csum
  kHashReport = 0x39u,  // Header carries the packet's hash (net_hdr_hash). Offer only with ctrl_vq
  kGuestHdrlen = 0x3bu,  // Driver sets exact hdr_len on packets to segment
  kRss = 0x3cu,  // Receive steering by hash and table. Requires ctrl_vq
  kRscExt = 0x3du,  // Merged packets carry counts. Requires host_tso4 or host_tso6 (sic)
  kStandby = 0x3eu,  // Standby for another device with the same MAC address
  kSpeedDuplex = 0x3fu,  // net_config.speed and duplex are valid
  kRssContext = 0x40u,  // Class rss_ctx: more RSS configurations. Requires ctrl_vq and rss
  kGuestUdpTunnelGso = 0x41u,  // Driver accepts merged UDP tunnel packets. Requires guest_tso4/6, guest_uso4/6
  kGuestUdpTunnelGsoCsum = 0x42u,  // Outer checksum may be incomplete. Requires guest_udp_tunnel_gso
  kHostUdpTunnelGso = 0x43u,  // Device segments inside UDP tunnels. Requires host_tso4 and host_tso6
  kHostUdpTunnelGsoCsum = 0x44u,  // Device completes the outer checksum, too. Requires host_udp_tunnel_gso
  kOutNetHeader = 0x45u,  // Header carries outer_nh_offset (net_hdr_hash_tunnel_out_net_hdr)
  kIpsec = 0x46u,  // Inline IPsec. Not supported
};
// The contract's name of a value; null if it has none.
constexpr const char* ToString(NetFeature value) {
  switch (value) {
    case NetFeature::kCsum: return "csum";
    case NetFeature::kGuestCsum: return "guest_csum";
    case NetFeature::kCtrlGuestOffloads: return "ctrl_guest_offloads";
    case NetFeature::kMtu: return "mtu";
    case NetFeature::kMac: return "mac";
    case NetFeature::kGso: return "gso";
    case NetFeature::kGuestTso4: return "guest_tso4";
    case NetFeature::kGuestTso6: return "guest_tso6";
    case NetFeature::kGuestEcn: return "guest_ecn";
    case NetFeature::kGuestUfo: return "guest_ufo";
    case NetFeature::kHostTso4: return "host_tso4";
    case NetFeature::kHostTso6: return "host_tso6";
    case NetFeature::kHostEcn: return "host_ecn";
    case NetFeature::kHostUfo: return "host_ufo";
    case NetFeature::kMrgRxbuf: return "mrg_rxbuf";
    case NetFeature::kStatus: return "status";
    case NetFeature::kCtrlVq: return "ctrl_vq";
    case NetFeature::kCtrlRx: return "ctrl_rx";
    case NetFeature::kCtrlVlan: return "ctrl_vlan";
    case NetFeature::kCtrlRxExtra: return "ctrl_rx_extra";
    case NetFeature::kGuestAnnounce: return "guest_announce";
    case NetFeature::kMq: return "mq";
    case NetFeature::kCtrlMacAddr: return "ctrl_mac_addr";
    case NetFeature::kGuestRsc4: return "guest_rsc4";
    case NetFeature::kGuestRsc6: return "guest_rsc6";
    case NetFeature::kDeviceStats: return "device_stats";
    case NetFeature::kHashTunnel: return "hash_tunnel";
    case NetFeature::kVqNotfCoal: return "vq_notf_coal";
    case NetFeature::kNotfCoal: return "notf_coal";
    case NetFeature::kGuestUso4: return "guest_uso4";
    case NetFeature::kGuestUso6: return "guest_uso6";
    case NetFeature::kHostUso: return "host_uso";
    case NetFeature::kHashReport: return "hash_report";
    case NetFeature::kGuestHdrlen: return "guest_hdrlen";
    case NetFeature::kRss: return "rss";
    case NetFeature::kRscExt: return "rsc_ext";
    case NetFeature::kStandby: return "standby";
    case NetFeature::kSpeedDuplex: return "speed_duplex";
    case NetFeature::kRssContext: return "rss_context";
    case NetFeature::kGuestUdpTunnelGso: return "guest_udp_tunnel_gso";
    case NetFeature::kGuestUdpTunnelGsoCsum: return "guest_udp_tunnel_gso_csum";
    case NetFeature::kHostUdpTunnelGso: return "host_udp_tunnel_gso";
    case NetFeature::kHostUdpTunnelGsoCsum: return "host_udp_tunnel_gso_csum";
    case NetFeature::kOutNetHeader: return "out_net_header";
    case NetFeature::kIpsec: return "ipsec";
  }
  return nullptr;
}

// Duplex mode. Every other value means unknown as well. [virtio 1.3, 5.1.4 (5.1.4.1 has half and full the wrong way round); linux/virtio_net.h] (net.toml)
enum class NetDuplex : uint8_t {
  kHalf = 0u,  // One direction at a time
  kFull = 1u,  // Both directions
  kUnknown = 0xffu,  // Not known
};
// The contract's name of a value; null if it has none.
constexpr const char* ToString(NetDuplex value) {
  switch (value) {
    case NetDuplex::kHalf: return "half";
    case NetDuplex::kFull: return "full";
    case NetDuplex::kUnknown: return "unknown";
  }
  return nullptr;
}

// Segmentation of a packet to send, or merging of a received one. Others are invalid. [virtio 1.3, 5.1.6; linux/virtio_net.h (VIRTIO_NET_HDR_GSO)] (net.toml)
enum class NetHdrGso : uint8_t {
  kNone = 0u,  // One packet as it is
  kTcpv4 = 1u,  // TCP over IPv4
  kUdp = 3u,  // UDP fragmentation (UFO)
  kTcpv6 = 4u,  // TCP over IPv6
  kUdpL4 = 5u,  // UDP segmentation (USO)
};
// The contract's name of a value; null if it has none.
constexpr const char* ToString(NetHdrGso value) {
  switch (value) {
    case NetHdrGso::kNone: return "none";
    case NetHdrGso::kTcpv4: return "tcpv4";
    case NetHdrGso::kUdp: return "udp";
    case NetHdrGso::kTcpv6: return "tcpv6";
    case NetHdrGso::kUdpL4: return "udp_l4";
  }
  return nullptr;
}

// Input of hash_value. [virtio 1.3, 5.1.6.4.5; linux/virtio_net.h] (net.toml)
enum class NetHashReport : uint16_t {
  kNone = 0u,  // No hash
  kIpv4 = 1u,  // net_hash_types.ipv4
  kTcpv4 = 2u,  // net_hash_types.tcpv4
  kUdpv4 = 3u,  // net_hash_types.udpv4
  kIpv6 = 4u,  // net_hash_types.ipv6
  kTcpv6 = 5u,  // net_hash_types.tcpv6
  kUdpv6 = 6u,  // net_hash_types.udpv6
  kIpv6Ex = 7u,  // net_hash_types.ip_ex
  kTcpv6Ex = 8u,  // net_hash_types.tcp_ex
  kUdpv6Ex = 9u,  // net_hash_types.udp_ex
};
// The contract's name of a value; null if it has none.
constexpr const char* ToString(NetHashReport value) {
  switch (value) {
    case NetHashReport::kNone: return "none";
    case NetHashReport::kIpv4: return "ipv4";
    case NetHashReport::kTcpv4: return "tcpv4";
    case NetHashReport::kUdpv4: return "udpv4";
    case NetHashReport::kIpv6: return "ipv6";
    case NetHashReport::kTcpv6: return "tcpv6";
    case NetHashReport::kUdpv6: return "udpv6";
    case NetHashReport::kIpv6Ex: return "ipv6_ex";
    case NetHashReport::kTcpv6Ex: return "tcpv6_ex";
    case NetHashReport::kUdpv6Ex: return "udpv6_ex";
  }
  return nullptr;
}

// First byte that the device writes for a command. [virtio 1.3, 5.1.6.5; linux/virtio_net.h] (net.toml)
enum class NetCtrlAck : uint8_t {
  kOk = 0u,  // Done
  kErr = 1u,  // Refused; nothing changed
};
// The contract's name of a value; null if it has none.
constexpr const char* ToString(NetCtrlAck value) {
  switch (value) {
    case NetCtrlAck::kOk: return "ok";
    case NetCtrlAck::kErr: return "err";
  }
  return nullptr;
}

// Command classes that virtio assigned. The RoCE class differs between profiles and is not here. [virtio 1.3, 5.1.6.5 (8 and 9: 1.4); linux/virtio_net.h (not 7 and 9)] (net.toml)
enum class NetCtrlClass : uint8_t {
  kRx = 0u,  // Receive modes; features ctrl_rx, ctrl_rx_extra
  kMac = 1u,  // MAC filter and address; features ctrl_rx, ctrl_mac_addr
  kVlan = 2u,  // VLAN filter; feature ctrl_vlan
  kAnnounce = 3u,  // Feature guest_announce
  kMq = 4u,  // Queue pairs and hashing; features mq, rss, hash_report
  kGuestOffloads = 5u,  // Feature ctrl_guest_offloads
  kNotfCoal = 6u,  // Interrupt moderation; features notf_coal, vq_notf_coal [vireo profile]
  kHashTunnel = 7u,  // Feature hash_tunnel [vireo profile]
  kStats = 8u,  // Feature device_stats
  kRssCtx = 9u,  // Feature rss_context
};
// The contract's name of a value; null if it has none.
constexpr const char* ToString(NetCtrlClass value) {
  switch (value) {
    case NetCtrlClass::kRx: return "rx";
    case NetCtrlClass::kMac: return "mac";
    case NetCtrlClass::kVlan: return "vlan";
    case NetCtrlClass::kAnnounce: return "announce";
    case NetCtrlClass::kMq: return "mq";
    case NetCtrlClass::kGuestOffloads: return "guest_offloads";
    case NetCtrlClass::kNotfCoal: return "notf_coal";
    case NetCtrlClass::kHashTunnel: return "hash_tunnel";
    case NetCtrlClass::kStats: return "stats";
    case NetCtrlClass::kRssCtx: return "rss_ctx";
  }
  return nullptr;
}

// Commands of class rx. 0 and 1 come with ctrl_rx, the others with ctrl_rx_extra. [virtio 1.3, 5.1.6.5.1; linux/virtio_net.h] (net.toml)
enum class NetCtrlRxCmd : uint8_t {
  kPromisc = 0u,  // Accept every packet; overrides the other modes
  kAllmulti = 1u,  // Accept every multicast packet
  kAlluni = 2u,  // Accept every unicast packet
  kNomulti = 3u,  // Accept no multicast packet except broadcast; overrides allmulti
  kNouni = 4u,  // Accept no unicast packet; overrides alluni
  kNobcast = 5u,  // Accept no broadcast packet; overrides allmulti
};
// The contract's name of a value; null if it has none.
constexpr const char* ToString(NetCtrlRxCmd value) {
  switch (value) {
    case NetCtrlRxCmd::kPromisc: return "promisc";
    case NetCtrlRxCmd::kAllmulti: return "allmulti";
    case NetCtrlRxCmd::kAlluni: return "alluni";
    case NetCtrlRxCmd::kNomulti: return "nomulti";
    case NetCtrlRxCmd::kNouni: return "nouni";
    case NetCtrlRxCmd::kNobcast: return "nobcast";
  }
  return nullptr;
}

// Commands of class mac. [virtio 1.3, 5.1.6.5.2; linux/virtio_net.h] (net.toml)
enum class NetCtrlMacCmd : uint8_t {
  kTableSet = 0u,  // Replace the filter table; empty after reset. Feature ctrl_rx
  kAddrSet = 1u,  // Replace the address; net_config.mac follows. Feature ctrl_mac_addr
};
// The contract's name of a value; null if it has none.
constexpr const char* ToString(NetCtrlMacCmd value) {
  switch (value) {
    case NetCtrlMacCmd::kTableSet: return "table_set";
    case NetCtrlMacCmd::kAddrSet: return "addr_set";
  }
  return nullptr;
}

// Commands of class vlan. The filter is empty after ctrl_vlan was accepted and applies to tagged packets only. [virtio 1.3, 5.1.6.5.3; linux/virtio_net.h] (net.toml)
enum class NetCtrlVlanCmd : uint8_t {
  kAdd = 0u,  // Accept packets of this VLAN
  kDel = 1u,  // Stop accepting them
};
// The contract's name of a value; null if it has none.
constexpr const char* ToString(NetCtrlVlanCmd value) {
  switch (value) {
    case NetCtrlVlanCmd::kAdd: return "add";
    case NetCtrlVlanCmd::kDel: return "del";
  }
  return nullptr;
}

// Commands of class announce. [virtio 1.3, 5.1.6.5.4; linux/virtio_net.h] (net.toml)
enum class NetCtrlAnnounceCmd : uint8_t {
  kAck = 0u,  // The driver saw net_status.announce; the device clears it
};
// The contract's name of a value; null if it has none.
constexpr const char* ToString(NetCtrlAnnounceCmd value) {
  switch (value) {
    case NetCtrlAnnounceCmd::kAck: return "ack";
  }
  return nullptr;
}

// Commands of class mq; the last one sent decides how packets are steered. [virtio 1.3, 5.1.6.5.5; linux/virtio_net.h] (net.toml)
enum class NetCtrlMqCmd : uint8_t {
  kVqPairsSet = 0u,  // Steering by the device; feature mq
  kRssConfig = 1u,  // Steering by hash and table; feature rss
  kHashConfig = 2u,  // Hash for the report only; feature hash_report
};
// The contract's name of a value; null if it has none.
constexpr const char* ToString(NetCtrlMqCmd value) {
  switch (value) {
    case NetCtrlMqCmd::kVqPairsSet: return "vq_pairs_set";
    case NetCtrlMqCmd::kRssConfig: return "rss_config";
    case NetCtrlMqCmd::kHashConfig: return "hash_config";
  }
  return nullptr;
}

// Commands of class guest_offloads. [virtio 1.3, 5.1.6.5.8; linux/virtio_net.h] (net.toml)
enum class NetCtrlGuestOffloadsCmd : uint8_t {
  kSet = 0u,  // Switch the receive offloads; after negotiation all accepted ones are on
};
// The contract's name of a value; null if it has none.
constexpr const char* ToString(NetCtrlGuestOffloadsCmd value) {
  switch (value) {
    case NetCtrlGuestOffloadsCmd::kSet: return "set";
  }
  return nullptr;
}

// Commands of class notf_coal. The last setting of a queue applies; 0 after reset, tx_set's and rx_set's after re-enabling. [virtio 1.3, 5.1.6.5.9; linux/virtio_net.h] (net.toml)
enum class NetCtrlNotfCoalCmd : uint8_t {
  kTxSet = 0u,  // All transmit queues; feature notf_coal
  kRxSet = 1u,  // All receive queues; feature notf_coal
  kVqSet = 2u,  // One enabled queue; feature vq_notf_coal
  kVqGet = 3u,  // Read one enabled queue's setting; feature vq_notf_coal
};
// The contract's name of a value; null if it has none.
constexpr const char* ToString(NetCtrlNotfCoalCmd value) {
  switch (value) {
    case NetCtrlNotfCoalCmd::kTxSet: return "tx_set";
    case NetCtrlNotfCoalCmd::kRxSet: return "rx_set";
    case NetCtrlNotfCoalCmd::kVqSet: return "vq_set";
    case NetCtrlNotfCoalCmd::kVqGet: return "vq_get";
  }
  return nullptr;
}

// Commands of class hash_tunnel. [virtio 1.3, 5.1.6.4.4] (net.toml)
enum class NetCtrlHashTunnelCmd : uint8_t {
  kSet = 0u,  // Choose the tunnels whose inner headers are hashed; none after reset
};
// The contract's name of a value; null if it has none.
constexpr const char* ToString(NetCtrlHashTunnelCmd value) {
  switch (value) {
    case NetCtrlHashTunnelCmd::kSet: return "set";
  }
  return nullptr;
}

// Commands of class rss_ctx. [virtio 1.4, 5.1.6.5, RSS Context (VIRTNET_RSS_CTX_CTRL)] (net.toml)
enum class NetCtrlRssCtxCmd : uint8_t {
  kCapGet = 0u,  // Number of contexts
  kAdd = 1u,  // Add a context
  kMod = 2u,  // Change a context
  kDel = 3u,  // Delete a context
};
// The contract's name of a value; null if it has none.
constexpr const char* ToString(NetCtrlRssCtxCmd value) {
  switch (value) {
    case NetCtrlRssCtxCmd::kCapGet: return "cap_get";
    case NetCtrlRssCtxCmd::kAdd: return "add";
    case NetCtrlRssCtxCmd::kMod: return "mod";
    case NetCtrlRssCtxCmd::kDel: return "del";
  }
  return nullptr;
}

// Commands of class stats. [virtio 1.4, 5.1.6.5, Device Statistics; linux/virtio_net.h] (net.toml)
enum class NetCtrlStatsCmd : uint8_t {
  kQuery = 0u,  // Supported kinds: response net_stats_capabilities
  kGet = 1u,  // Request net_ctrl_queue_stats, one or more; response net_stats_*, as many as fit
};
// The contract's name of a value; null if it has none.
constexpr const char* ToString(NetCtrlStatsCmd value) {
  switch (value) {
    case NetCtrlStatsCmd::kQuery: return "query";
    case NetCtrlStatsCmd::kGet: return "get";
  }
  return nullptr;
}

// Kind of statistics in a reply. [virtio 1.4, 5.1.6.5, Device Statistics; linux/virtio_net.h (VIRTIO_NET_STATS_TYPE_REPLY)] (net.toml)
enum class NetStatsReplyType : uint8_t {
  kRxBasic = 0u,  // net_stats_rx_basic
  kRxCsum = 1u,  // net_stats_rx_csum
  kRxGso = 2u,  // net_stats_rx_gso
  kRxSpeed = 3u,  // net_stats_rx_speed
  kTxBasic = 0x10u,  // net_stats_tx_basic
  kTxCsum = 0x11u,  // net_stats_tx_csum
  kTxGso = 0x12u,  // net_stats_tx_gso
  kTxSpeed = 0x13u,  // net_stats_tx_speed
  kCvq = 0x20u,  // net_stats_cvq
};
// The contract's name of a value; null if it has none.
constexpr const char* ToString(NetStatsReplyType value) {
  switch (value) {
    case NetStatsReplyType::kRxBasic: return "rx_basic";
    case NetStatsReplyType::kRxCsum: return "rx_csum";
    case NetStatsReplyType::kRxGso: return "rx_gso";
    case NetStatsReplyType::kRxSpeed: return "rx_speed";
    case NetStatsReplyType::kTxBasic: return "tx_basic";
    case NetStatsReplyType::kTxCsum: return "tx_csum";
    case NetStatsReplyType::kTxGso: return "tx_gso";
    case NetStatsReplyType::kTxSpeed: return "tx_speed";
    case NetStatsReplyType::kCvq: return "cvq";
  }
  return nullptr;
}

// High 3 bits of a BTH opcode. [IBTA vol. 1, table 38] (opcodes.toml)
enum class BthService : uint8_t {
  kRc = 0u,  // Reliable connection
  kUc = 1u,  // Unreliable connection
  kRd = 2u,  // Reliable datagram: not supported
  kUd = 3u,  // Unreliable datagram
  kCnp = 4u,  // Congestion notification
  kXrc = 5u,  // Extended reliable connection: not supported
};
// The contract's name of a value; null if it has none.
constexpr const char* ToString(BthService value) {
  switch (value) {
    case BthService::kRc: return "rc";
    case BthService::kUc: return "uc";
    case BthService::kRd: return "rd";
    case BthService::kUd: return "ud";
    case BthService::kCnp: return "cnp";
    case BthService::kXrc: return "xrc";
  }
  return nullptr;
}

// Operation of a packet; Vireo's own numbering, not on the wire. (opcodes.toml)
enum class BthOperation : uint8_t {
  kNone = 0u,  // no operation: an opcode that is not supported; as a response: no reply
  kSend = 1u,  // SEND, with or without immediate data or invalidate
  kRdmaWrite = 2u,  // RDMA WRITE, with or without immediate data
  kRdmaReadRequest = 3u,  // RDMA READ request
  kRdmaReadResponse = 4u,  // RDMA READ response; also the response to FLUSH and ATOMIC WRITE, without payload
  kAcknowledge = 5u,  // ACK or NAK
  kAtomicAcknowledge = 6u,  // response to COMPARE SWAP and FETCH ADD
  kCompareSwap = 7u,  // atomic compare and swap
  kFetchAdd = 8u,  // atomic fetch and add
  kFlush = 9u,  // FLUSH
  kAtomicWrite = 0xau,  // ATOMIC WRITE of 8 bytes
  kCongestionNotification = 0xbu,  // CNP
};
// The contract's name of a value; null if it has none.
constexpr const char* ToString(BthOperation value) {
  switch (value) {
    case BthOperation::kNone: return "none";
    case BthOperation::kSend: return "send";
    case BthOperation::kRdmaWrite: return "rdma_write";
    case BthOperation::kRdmaReadRequest: return "rdma_read_request";
    case BthOperation::kRdmaReadResponse: return "rdma_read_response";
    case BthOperation::kAcknowledge: return "acknowledge";
    case BthOperation::kAtomicAcknowledge: return "atomic_acknowledge";
    case BthOperation::kCompareSwap: return "compare_swap";
    case BthOperation::kFetchAdd: return "fetch_add";
    case BthOperation::kFlush: return "flush";
    case BthOperation::kAtomicWrite: return "atomic_write";
    case BthOperation::kCongestionNotification: return "congestion_notification";
  }
  return nullptr;
}

// Position of a packet in its message; Vireo's own numbering. Bit 0: starts a message, bit 1: ends it. (opcodes.toml)
enum class PacketPosition : uint8_t {
  kMiddle = 0u,  // neither first nor last
  kFirst = 1u,  // starts a message of several packets
  kLast = 2u,  // ends a message of several packets
  kOnly = 3u,  // a message of one packet
};
// The contract's name of a value; null if it has none.
constexpr const char* ToString(PacketPosition value) {
  switch (value) {
    case PacketPosition::kMiddle: return "middle";
    case PacketPosition::kFirst: return "first";
    case PacketPosition::kLast: return "last";
    case PacketPosition::kOnly: return "only";
  }
  return nullptr;
}

// How many payload bytes a packet carries; Vireo's own numbering for the column `payload`. (opcodes.toml)
enum class PayloadRule : uint8_t {
  kNone = 0u,  // no payload
  kMtu = 1u,  // exactly one path MTU
  kOneToMtu = 2u,  // 1 byte to one path MTU
  kZeroToMtu = 3u,  // 0 bytes to one path MTU
  kExact = 4u,  // the byte count in the row
};
// The contract's name of a value; null if it has none.
constexpr const char* ToString(PayloadRule value) {
  switch (value) {
    case PayloadRule::kNone: return "none";
    case PayloadRule::kMtu: return "mtu";
    case PayloadRule::kOneToMtu: return "one_to_mtu";
    case PayloadRule::kZeroToMtu: return "zero_to_mtu";
    case PayloadRule::kExact: return "exact";
  }
  return nullptr;
}

// Address width of a memory BAR. [PCIe 5.0, 7.5.1.2.1] (pci.toml)
enum class PciBarMemoryType : uint8_t {
  kMemory32 = 0u,  // 32-bit address, one BAR register
  kMemoryBelow = 1u,  // Below 1 MiB: obsolete
  kMemory64 = 2u,  // 64-bit address; the next BAR register holds the high half
};
// The contract's name of a value; null if it has none.
constexpr const char* ToString(PciBarMemoryType value) {
  switch (value) {
    case PciBarMemoryType::kMemory32: return "memory_32";
    case PciBarMemoryType::kMemoryBelow: return "memory_below";
    case PciBarMemoryType::kMemory64: return "memory_64";
  }
  return nullptr;
}

// First byte of a capability. Vireo has five vendor_specific, one msix and one pci_express; the rest is skipped by drivers. [PCI Code and ID Assignment, 2; linux/pci_regs.h] (pci.toml)
enum class PciCapabilityId : uint8_t {
  kPowerManagement = 1u,  // pci_pm_cap
  kVpd = 3u,  // Vital product data: not present
  kMsi = 5u,  // Not present: MSI-X only
  kVendorSpecific = 9u,  // virtio_pci_cap and its relatives
  kPciExpress = 0x10u,  // pcie_cap
  kMsix = 0x11u,  // msix_cap
  kAdvancedFeatures = 0x13u,  // Function reset of conventional PCI: not present
};
// The contract's name of a value; null if it has none.
constexpr const char* ToString(PciCapabilityId value) {
  switch (value) {
    case PciCapabilityId::kPowerManagement: return "power_management";
    case PciCapabilityId::kVpd: return "vpd";
    case PciCapabilityId::kMsi: return "msi";
    case PciCapabilityId::kVendorSpecific: return "vendor_specific";
    case PciCapabilityId::kPciExpress: return "pci_express";
    case PciCapabilityId::kMsix: return "msix";
    case PciCapabilityId::kAdvancedFeatures: return "advanced_features";
  }
  return nullptr;
}

// Capabilities above pci_config_bytes. None is required; a word of 0 there ends the list. [PCI Code and ID Assignment, 3; linux/pci_regs.h] (pci.toml)
enum class PcieExtendedCapabilityId : uint16_t {
  kAdvancedErrorReporting = 1u,  // Error registers and header log
  kDeviceSerialNumber = 3u,  // 64-bit unique number
  kVendorSpecific = 0xbu,  // Vendor registers
  kAccessControlServices = 0xdu,  // Peer-to-peer control
  kAlternativeRoutingId = 0xeu,  // More than 8 functions
  kAddressTranslation = 0xfu,  // Address translation services
  kSrIov = 0x10u,  // Virtual functions; virtio_feature.sr_iov says that the driver may use them
  kPageRequest = 0x13u,  // Page request interface
  kResizableBar = 0x15u,  // BAR size control
  kTphRequester = 0x17u,  // Steering hints
  kPasid = 0x1bu,  // Process address space numbers
  kDesignatedVendorSpecific = 0x23u,  // Registers of a named vendor
};
// The contract's name of a value; null if it has none.
constexpr const char* ToString(PcieExtendedCapabilityId value) {
  switch (value) {
    case PcieExtendedCapabilityId::kAdvancedErrorReporting: return "advanced_error_reporting";
    case PcieExtendedCapabilityId::kDeviceSerialNumber: return "device_serial_number";
    case PcieExtendedCapabilityId::kVendorSpecific: return "vendor_specific";
    case PcieExtendedCapabilityId::kAccessControlServices: return "access_control_services";
    case PcieExtendedCapabilityId::kAlternativeRoutingId: return "alternative_routing_id";
    case PcieExtendedCapabilityId::kAddressTranslation: return "address_translation";
    case PcieExtendedCapabilityId::kSrIov: return "sr_iov";
    case PcieExtendedCapabilityId::kPageRequest: return "page_request";
    case PcieExtendedCapabilityId::kResizableBar: return "resizable_bar";
    case PcieExtendedCapabilityId::kTphRequester: return "tph_requester";
    case PcieExtendedCapabilityId::kPasid: return "pasid";
    case PcieExtendedCapabilityId::kDesignatedVendorSpecific: return "designated_vendor_specific";
  }
  return nullptr;
}

// Encoding of max payload size and max read request size: 128 bytes << value. 6 and 7 are reserved. [PCIe 5.0, 7.5.3.3 and 7.5.3.4] (pci.toml)
enum class PcieSize : uint8_t {
  kBytes128 = 0u,  // 128 bytes; the payload size after reset
  kBytes256 = 1u,  // 256 bytes
  kBytes512 = 2u,  // 512 bytes; the read request size after reset
  kBytes1024 = 3u,  // 1024 bytes
  kBytes2048 = 4u,  // 2048 bytes
  kBytes4096 = 5u,  // 4096 bytes
};
// The contract's name of a value; null if it has none.
constexpr const char* ToString(PcieSize value) {
  switch (value) {
    case PcieSize::kBytes128: return "bytes_128";
    case PcieSize::kBytes256: return "bytes_256";
    case PcieSize::kBytes512: return "bytes_512";
    case PcieSize::kBytes1024: return "bytes_1024";
    case PcieSize::kBytes2048: return "bytes_2048";
    case PcieSize::kBytes4096: return "bytes_4096";
  }
  return nullptr;
}

// Device or port type. [PCIe 5.0, 7.5.3.2] (pci.toml)
enum class PciePortType : uint8_t {
  kEndpoint = 0u,  // What Vireo presents
  kLegacyEndpoint = 1u,  // Endpoint with I/O BARs
  kRootPort = 4u,  // Root port
  kUpstreamPort = 5u,  // Switch, towards the root
  kDownstreamPort = 6u,  // Switch, away from the root
  kPciBridge = 7u,  // PCI Express to PCI
  kPcieBridge = 8u,  // PCI to PCI Express
  kRcEndpoint = 9u,  // Endpoint inside the root complex
  kRcEventCollector = 0xau,  // Event collector of a root complex
};
// The contract's name of a value; null if it has none.
constexpr const char* ToString(PciePortType value) {
  switch (value) {
    case PciePortType::kEndpoint: return "endpoint";
    case PciePortType::kLegacyEndpoint: return "legacy_endpoint";
    case PciePortType::kRootPort: return "root_port";
    case PciePortType::kUpstreamPort: return "upstream_port";
    case PciePortType::kDownstreamPort: return "downstream_port";
    case PciePortType::kPciBridge: return "pci_bridge";
    case PciePortType::kPcieBridge: return "pcie_bridge";
    case PciePortType::kRcEndpoint: return "rc_endpoint";
    case PciePortType::kRcEventCollector: return "rc_event_collector";
  }
  return nullptr;
}

// Speed of one lane. [PCIe 5.0, 7.5.3.6; linux/pci_regs.h] (pci.toml)
enum class PcieLinkSpeed : uint8_t {
  kGen1 = 1u,  // 2.5 GT/s
  kGen2 = 2u,  // 5 GT/s
  kGen3 = 3u,  // 8 GT/s
  kGen4 = 4u,  // 16 GT/s
  kGen5 = 5u,  // 32 GT/s
  kGen6 = 6u,  // 64 GT/s
};
// The contract's name of a value; null if it has none.
constexpr const char* ToString(PcieLinkSpeed value) {
  switch (value) {
    case PcieLinkSpeed::kGen1: return "gen1";
    case PcieLinkSpeed::kGen2: return "gen2";
    case PcieLinkSpeed::kGen3: return "gen3";
    case PcieLinkSpeed::kGen4: return "gen4";
    case PcieLinkSpeed::kGen5: return "gen5";
    case PcieLinkSpeed::kGen6: return "gen6";
  }
  return nullptr;
}

// Which structure a virtio_pci_cap locates. Others are reserved and skipped by drivers. [virtio 1.3, 4.1.4] (pci.toml)
enum class VirtioPciCfgType : uint8_t {
  kCommonCfg = 1u,  // virtio_pci_common_cfg
  kNotifyCfg = 2u,  // Doorbells; virtio_pci_notify_cap
  kIsrCfg = 3u,  // Interrupt status byte (virtio_isr)
  kDeviceCfg = 4u,  // Device configuration (net_config)
  kPciCfg = 5u,  // BAR access through configuration space; virtio_pci_cfg_cap
  kSharedMemoryCfg = 8u,  // Shared memory region; virtio_pci_cap64. Not present
  kVendorCfg = 9u,  // Vendor data; virtio_pci_vndr_data. Not present
};
// The contract's name of a value; null if it has none.
constexpr const char* ToString(VirtioPciCfgType value) {
  switch (value) {
    case VirtioPciCfgType::kCommonCfg: return "common_cfg";
    case VirtioPciCfgType::kNotifyCfg: return "notify_cfg";
    case VirtioPciCfgType::kIsrCfg: return "isr_cfg";
    case VirtioPciCfgType::kDeviceCfg: return "device_cfg";
    case VirtioPciCfgType::kPciCfg: return "pci_cfg";
    case VirtioPciCfgType::kSharedMemoryCfg: return "shared_memory_cfg";
    case VirtioPciCfgType::kVendorCfg: return "vendor_cfg";
  }
  return nullptr;
}

// Why the control processor stopped. It takes firmware_ready away, so that the host learns that the device needs a reset, and starts again with it. (processor.toml)
enum class ProcessorFailure : uint8_t {
  kNone = 0u,  // It has not stopped
  kTrap = 1u,  // An illegal instruction, or an address that is not aligned
  kBus = 2u,  // An access outside of the memory map, as by an overflow of the stack, or a part of a management register
  kWatchdog = 3u,  // The watchdog has expired: the firmware neither waited nor reported that it is alive
  kFirmware = 4u,  // The firmware gave up: it does not know the device, or its settings are wrong
};
// The contract's name of a value; null if it has none.
constexpr const char* ToString(ProcessorFailure value) {
  switch (value) {
    case ProcessorFailure::kNone: return "none";
    case ProcessorFailure::kTrap: return "trap";
    case ProcessorFailure::kBus: return "bus";
    case ProcessorFailure::kWatchdog: return "watchdog";
    case ProcessorFailure::kFirmware: return "firmware";
  }
  return nullptr;
}

// Commands of class net_ctrl_class_roce. 32 … 127 are reserved for later versions of Vireo, 128 … 255 for experiments. [RFC v2, RoCE Configuration] (roce.toml)
enum class RdmaCtrlCmd : uint8_t {
  kQueryDevice = 0u,  // Attributes of the device
  kQueryPort = 1u,  // Attributes of the port
  kCreateCq = 2u,  // Create a completion queue
  kDestroyCq = 3u,  // Destroy a completion queue
  kCreatePd = 4u,  // Create a protection domain
  kDestroyPd = 5u,  // Destroy a protection domain
  kGetDmaMr = 6u,  // Memory region over the whole address space
  kRegUserMr = 7u,  // Memory region over a list of pages
  kDeregMr = 8u,  // Deregister a memory region
  kCreateQp = 9u,  // Create a queue pair
  kModifyQp = 0xau,  // Change state and attributes of a queue pair
  kQueryQp = 0xbu,  // State and attributes of a queue pair
  kDestroyQp = 0xcu,  // Destroy a queue pair
  kCreateAh = 0xdu,  // Create an address handle
  kDestroyAh = 0xeu,  // Destroy an address handle
  kAddGid = 0xfu,  // Write an entry of the GID table
  kDelGid = 0x10u,  // Clear an entry of the GID table
  kReqNotifyCq = 0x11u,  // Arm a completion queue
  kSetWindow = 0x12u,  // Limit the addresses that a virtqueue's descriptors may point to [vireo profile]
  kCreateSrq = 0x13u,  // Create a shared receive queue [vireo profile]
  kModifySrq = 0x14u,  // Arm or disarm the limit event of a shared receive queue [vireo profile]
  kQuerySrq = 0x15u,  // Attributes of a shared receive queue [vireo profile]
  kDestroySrq = 0x16u,  // Destroy a shared receive queue [vireo profile]
  kReregMr = 0x17u,  // Change translation, protection domain or rights of a memory region [vireo profile]
  kAllocMw = 0x18u,  // Allocate a memory window [vireo profile]
  kDeallocMw = 0x19u,  // Free a memory window [vireo profile]
  kAllocMr = 0x1au,  // Allocate a memory region that work requests register [vireo profile]
  kQueryMr = 0x1bu,  // Attributes of a memory region [vireo profile]
  kCreateExtendedCq = 0x1cu,  // Create a completion queue whose completions have optional elements [vireo profile]
  kQueryClock = 0x1du,  // Read the clock of the device [vireo profile]
  kAttachMcast = 0x1eu,  // Attach a UD queue pair to a multicast group [vireo profile]
  kDetachMcast = 0x1fu,  // Detach a UD queue pair from a multicast group [vireo profile]
};
// The contract's name of a value; null if it has none.
constexpr const char* ToString(RdmaCtrlCmd value) {
  switch (value) {
    case RdmaCtrlCmd::kQueryDevice: return "query_device";
    case RdmaCtrlCmd::kQueryPort: return "query_port";
    case RdmaCtrlCmd::kCreateCq: return "create_cq";
    case RdmaCtrlCmd::kDestroyCq: return "destroy_cq";
    case RdmaCtrlCmd::kCreatePd: return "create_pd";
    case RdmaCtrlCmd::kDestroyPd: return "destroy_pd";
    case RdmaCtrlCmd::kGetDmaMr: return "get_dma_mr";
    case RdmaCtrlCmd::kRegUserMr: return "reg_user_mr";
    case RdmaCtrlCmd::kDeregMr: return "dereg_mr";
    case RdmaCtrlCmd::kCreateQp: return "create_qp";
    case RdmaCtrlCmd::kModifyQp: return "modify_qp";
    case RdmaCtrlCmd::kQueryQp: return "query_qp";
    case RdmaCtrlCmd::kDestroyQp: return "destroy_qp";
    case RdmaCtrlCmd::kCreateAh: return "create_ah";
    case RdmaCtrlCmd::kDestroyAh: return "destroy_ah";
    case RdmaCtrlCmd::kAddGid: return "add_gid";
    case RdmaCtrlCmd::kDelGid: return "del_gid";
    case RdmaCtrlCmd::kReqNotifyCq: return "req_notify_cq";
    case RdmaCtrlCmd::kSetWindow: return "set_window";
    case RdmaCtrlCmd::kCreateSrq: return "create_srq";
    case RdmaCtrlCmd::kModifySrq: return "modify_srq";
    case RdmaCtrlCmd::kQuerySrq: return "query_srq";
    case RdmaCtrlCmd::kDestroySrq: return "destroy_srq";
    case RdmaCtrlCmd::kReregMr: return "rereg_mr";
    case RdmaCtrlCmd::kAllocMw: return "alloc_mw";
    case RdmaCtrlCmd::kDeallocMw: return "dealloc_mw";
    case RdmaCtrlCmd::kAllocMr: return "alloc_mr";
    case RdmaCtrlCmd::kQueryMr: return "query_mr";
    case RdmaCtrlCmd::kCreateExtendedCq: return "create_extended_cq";
    case RdmaCtrlCmd::kQueryClock: return "query_clock";
    case RdmaCtrlCmd::kAttachMcast: return "attach_mcast";
    case RdmaCtrlCmd::kDetachMcast: return "detach_mcast";
  }
  return nullptr;
}

// Type of a memory window. [IBTA vol. 1, 10.6.7.2; same numbers as enum ibv_mw_type] (roce.toml)
enum class RdmaMwType : uint8_t {
  kType1 = 1u,  // For the QPs of its PD; binds replace each other, and one of no bytes ends the last
  kType2 = 2u,  // Type 2B: for the QP that bound it; unbound before it is bound again, by an invalidate of its key
};
// The contract's name of a value; null if it has none.
constexpr const char* ToString(RdmaMwType value) {
  switch (value) {
    case RdmaMwType::kType1: return "type_1";
    case RdmaMwType::kType2: return "type_2";
  }
  return nullptr;
}

// What an atomic operation of a peer excludes between its read and its write. [IBTA vol. 1, 9.4.5, 11.2.1.2; same numbers as enum ibv_atomic_cap] (roce.toml)
enum class RdmaAtomicCap : uint8_t {
  kNone = 0u,  // There are no atomic operations
  kHca = 1u,  // Other atomic operations by this device
  kGlob = 2u,  // Also accesses of the CPU and of other devices: never offered
};
// The contract's name of a value; null if it has none.
constexpr const char* ToString(RdmaAtomicCap value) {
  switch (value) {
    case RdmaAtomicCap::kNone: return "none";
    case RdmaAtomicCap::kHca: return "hca";
    case RdmaAtomicCap::kGlob: return "glob";
  }
  return nullptr;
}

// Transport service of a QP. 5 … 255 are reserved. [RFC v2, CREATE_QP; same numbers as enum ib_qp_type of Linux] (roce.toml)
enum class IbQpType : uint8_t {
  kSmi = 0u,  // Subnet management: always refused, not used on Ethernet
  kGsi = 1u,  // General services (CM), QP number gsi_qpn, otherwise as UD; a device may refuse it
  kRc = 2u,  // Reliable connection
  kUc = 3u,  // Unreliable connection
  kUd = 4u,  // Unreliable datagram
};
// The contract's name of a value; null if it has none.
constexpr const char* ToString(IbQpType value) {
  switch (value) {
    case IbQpType::kSmi: return "smi";
    case IbQpType::kGsi: return "gsi";
    case IbQpType::kRc: return "rc";
    case IbQpType::kUc: return "uc";
    case IbQpType::kUd: return "ud";
  }
  return nullptr;
}

// State of a QP. [RFC v2, MODIFY_QP; IBTA vol. 1, 10.3.1; same numbers as enum ibv_qp_state] (roce.toml)
enum class IbQpState : uint8_t {
  kReset = 0u,  // Initial state: nothing is sent, received or completed
  kInit = 1u,  // Receive WQEs may be posted; packets are dropped
  kRtr = 2u,  // Ready to receive
  kRts = 3u,  // Ready to send
  kSqd = 4u,  // Send queue draining or drained
  kSqe = 5u,  // Send queue error (UC, UD); receiving continues
  kErr = 6u,  // Error: every WR completes with wr_flush_err
};
// The contract's name of a value; null if it has none.
constexpr const char* ToString(IbQpState value) {
  switch (value) {
    case IbQpState::kReset: return "reset";
    case IbQpState::kInit: return "init";
    case IbQpState::kRtr: return "rtr";
    case IbQpState::kRts: return "rts";
    case IbQpState::kSqd: return "sqd";
    case IbQpState::kSqe: return "sqe";
    case IbQpState::kErr: return "err";
  }
  return nullptr;
}

// Path MTU: payload bytes of a full packet. [RFC v2, MODIFY_QP; same numbers as enum ibv_mtu] (roce.toml)
enum class IbMtu : uint8_t {
  kMtu256 = 1u,  // 256 bytes
  kMtu512 = 2u,  // 512 bytes
  kMtu1024 = 3u,  // 1024 bytes
  kMtu2048 = 4u,  // 2048 bytes
  kMtu4096 = 5u,  // 4096 bytes
};
// The contract's name of a value; null if it has none.
constexpr const char* ToString(IbMtu value) {
  switch (value) {
    case IbMtu::kMtu256: return "mtu_256";
    case IbMtu::kMtu512: return "mtu_512";
    case IbMtu::kMtu1024: return "mtu_1024";
    case IbMtu::kMtu2048: return "mtu_2048";
    case IbMtu::kMtu4096: return "mtu_4096";
  }
  return nullptr;
}

// Operation of a send work request. 10 … 13 are reserved for verbs' numbers, 16 … 31 and 33 … 255 are reserved; all of these fail with loc_qp_op_err, and so do 5 and 6 on a device that is built without atomic operations, 7 and 9 on one without invalidation, 8 on one without memory windows, 14 on one without FLUSH, 15 on one without ATOMIC WRITE, 32 on one without fast registration. Drivers post 5 and 6 only if atomic_cap is not none, 7 and 9 only if invalidation is not 0, 8 only if max_mw is not 0, 14 only if flush has the placement, 15 only if atomic_write is not 0, 32 only if max_fast_mr_pages is not 0. [RFC v2, RoCE Support; same numbers as enum ibv_wr_opcode] (roce.toml)
enum class IbWrOpcode : uint8_t {
  kRdmaWrite = 0u,  // Write to the peer's memory (RC, UC)
  kRdmaWriteWithImm = 1u,  // Write, then complete a receive there with imm_data (RC, UC)
  kSend = 2u,  // Send to a receive WQE (RC, UC, UD)
  kSendWithImm = 3u,  // Send with imm_data (RC, UC, UD)
  kRdmaRead = 4u,  // Read the peer's memory (RC)
  kAtomicCmpAndSwp = 5u,  // Compare 8 bytes of the peer's memory and store others if they are equal; what was there is returned (RC)
  kAtomicFetchAndAdd = 6u,  // Add to 8 bytes of the peer's memory; what was there is returned (RC)
  kLocalInv = 7u,  // End an invalidatable region of the QP's PD; nothing is sent. Without elements; not with the flags fence and inline (RC, UC)
  kBindMw = 8u,  // Bind a memory window to a range of a region, both of the QP's PD; nothing is sent. Without elements; not with the flags fence and inline (RC, UC)
  kSendWithInv = 9u,  // Send, then have the peer end the region of a key (RC)
  kFlush = 0xeu,  // Complete when the QP's updates of the peer's memory before it are placed as requested. Without elements; not with the flag inline (RC)
  kAtomicWrite = 0xfu,  // Store 8 bytes in the peer's memory, all at once. Without elements; not with the flag inline (RC)
  kRegMr = 0x20u,  // Register a region of alloc_mr and of the QP's PD, which is not registered; nothing is sent. The elements are rdma_page_pair; not with the flags fence and inline (RC, UC). Number of Linux' IB_WR_REG_MR, which is for the kernel only
};
// The contract's name of a value; null if it has none.
constexpr const char* ToString(IbWrOpcode value) {
  switch (value) {
    case IbWrOpcode::kRdmaWrite: return "rdma_write";
    case IbWrOpcode::kRdmaWriteWithImm: return "rdma_write_with_imm";
    case IbWrOpcode::kSend: return "send";
    case IbWrOpcode::kSendWithImm: return "send_with_imm";
    case IbWrOpcode::kRdmaRead: return "rdma_read";
    case IbWrOpcode::kAtomicCmpAndSwp: return "atomic_cmp_and_swp";
    case IbWrOpcode::kAtomicFetchAndAdd: return "atomic_fetch_and_add";
    case IbWrOpcode::kLocalInv: return "local_inv";
    case IbWrOpcode::kBindMw: return "bind_mw";
    case IbWrOpcode::kSendWithInv: return "send_with_inv";
    case IbWrOpcode::kFlush: return "flush";
    case IbWrOpcode::kAtomicWrite: return "atomic_write";
    case IbWrOpcode::kRegMr: return "reg_mr";
  }
  return nullptr;
}

// What completed. Not verbs' numbers. 11 … 15 are reserved for the opcodes that ib_wr_opcode reserves. [RFC v2, RoCE Support] (roce.toml)
enum class IbWcOpcode : uint8_t {
  kSend = 0u,  // SEND, with or without immediate data or invalidate
  kRdmaWrite = 1u,  // RDMA WRITE, with or without immediate data
  kRdmaRead = 2u,  // RDMA READ
  kRecv = 3u,  // Receive WQE, filled by a SEND
  kRecvRdmaWithImm = 4u,  // Receive WQE, consumed by an RDMA WRITE with immediate data
  kCompSwap = 5u,  // Compare and swap
  kFetchAdd = 6u,  // Fetch and add
  kLocalInv = 7u,  // Local invalidate
  kAtomicWrite = 8u,  // ATOMIC WRITE
  kFlush = 9u,  // FLUSH
  kBindMw = 0xau,  // Bind of a memory window
  kRegMr = 0x10u,  // Registration of a memory region
};
// The contract's name of a value; null if it has none.
constexpr const char* ToString(IbWcOpcode value) {
  switch (value) {
    case IbWcOpcode::kSend: return "send";
    case IbWcOpcode::kRdmaWrite: return "rdma_write";
    case IbWcOpcode::kRdmaRead: return "rdma_read";
    case IbWcOpcode::kRecv: return "recv";
    case IbWcOpcode::kRecvRdmaWithImm: return "recv_rdma_with_imm";
    case IbWcOpcode::kCompSwap: return "comp_swap";
    case IbWcOpcode::kFetchAdd: return "fetch_add";
    case IbWcOpcode::kLocalInv: return "local_inv";
    case IbWcOpcode::kAtomicWrite: return "atomic_write";
    case IbWcOpcode::kFlush: return "flush";
    case IbWcOpcode::kBindMw: return "bind_mw";
    case IbWcOpcode::kRegMr: return "reg_mr";
  }
  return nullptr;
}

// Completion status of a work request. Not verbs' numbers: the RFC omits codes that it cannot cause. 17 … 31 are reserved for these. [RFC v2, RoCE Support; IBTA vol. 1, 11.6.2] (roce.toml)
enum class IbWcStatus : uint8_t {
  kSuccess = 0u,  // Done
  kLocLenErr = 1u,  // Receive buffer too small, or send above the maximum length
  kLocQpOpErr = 2u,  // The WR is malformed: opcode, flags, num_sge, inline_len, address handle
  kLocProtErr = 3u,  // A local key, its PD, bounds or rights do not allow the access
  kWrFlushErr = 4u,  // Not executed: the QP was in error
  kBadRespErr = 5u,  // A response had an unexpected opcode
  kLocAccessErr = 6u,  // A receive buffer did not allow the data of a WRITE with immediate data
  kRemInvReqErr = 7u,  // The peer found the request invalid (NAK)
  kRemAccessErr = 8u,  // The peer refused key, bounds or rights (NAK)
  kRemOpErr = 9u,  // The peer could not complete the request (NAK)
  kRetryExcErr = 0xau,  // No acknowledge after retry_cnt retries
  kRnrRetryExcErr = 0xbu,  // Peer not ready after rnr_retry retries
  kRemAbortErr = 0xcu,  // Reliable datagram only: never sent
  kFatalErr = 0xdu,  // The device failed
  kRespTimeoutErr = 0xeu,  // Reliable datagram only: never sent
  kGeneralErr = 0xfu,  // Anything else: never sent
  kMwBindErr = 0x10u,  // IBTA's memory management operation error: window or region do not allow the bind or registration: keys, PD, rights, bounds
};
// The contract's name of a value; null if it has none.
constexpr const char* ToString(IbWcStatus value) {
  switch (value) {
    case IbWcStatus::kSuccess: return "success";
    case IbWcStatus::kLocLenErr: return "loc_len_err";
    case IbWcStatus::kLocQpOpErr: return "loc_qp_op_err";
    case IbWcStatus::kLocProtErr: return "loc_prot_err";
    case IbWcStatus::kWrFlushErr: return "wr_flush_err";
    case IbWcStatus::kBadRespErr: return "bad_resp_err";
    case IbWcStatus::kLocAccessErr: return "loc_access_err";
    case IbWcStatus::kRemInvReqErr: return "rem_inv_req_err";
    case IbWcStatus::kRemAccessErr: return "rem_access_err";
    case IbWcStatus::kRemOpErr: return "rem_op_err";
    case IbWcStatus::kRetryExcErr: return "retry_exc_err";
    case IbWcStatus::kRnrRetryExcErr: return "rnr_retry_exc_err";
    case IbWcStatus::kRemAbortErr: return "rem_abort_err";
    case IbWcStatus::kFatalErr: return "fatal_err";
    case IbWcStatus::kRespTimeoutErr: return "resp_timeout_err";
    case IbWcStatus::kGeneralErr: return "general_err";
    case IbWcStatus::kMwBindErr: return "mw_bind_err";
  }
  return nullptr;
}

// Protocol of a GID (vireo only). Values are enum ibv_gid_type's and Linux ib_gid_type's; 0, InfiniBand there, cannot occur on Ethernet and means RoCE v2 here, so that a driver that writes only the RFC's padding gets RoCE v2. [infiniband/verbs.h, enum ibv_gid_type] (roce.toml)
enum class RdmaGidType : uint8_t {
  kUnspecified = 0u,  // RoCE v2
  kIbRoceV1 = 1u,  // RoCE v1: refused with unsupported_gid_type
  kRoceV2 = 2u,  // RoCE v2
};
// The contract's name of a value; null if it has none.
constexpr const char* ToString(RdmaGidType value) {
  switch (value) {
    case RdmaGidType::kUnspecified: return "unspecified";
    case RdmaGidType::kIbRoceV1: return "ib_roce_v1";
    case RdmaGidType::kRoceV2: return "roce_v2";
  }
  return nullptr;
}

// Asynchronous events (vireo only). Below 0x100 the numbers of enum ibv_event_type, from 0x100 Vireo's own. [infiniband/verbs.h, enum ibv_event_type; IBTA vol. 1, 11.6.3] (roce.toml)
enum class RdmaEventType : uint32_t {
  kCqErr = 0u,  // CQ `element` is in error; code: cq_overrun, queue_reset or the reason why its queue stopped
  kQpFatal = 1u,  // The device moved QP `element` to ERR, and no completion reports why; code as rdma_error
  kQpReqErr = 2u,  // QP `element` went to ERR: it received an invalid request; code: AETH syndrome sent
  kQpAccessErr = 3u,  // QP `element` went to ERR: the peer's access was denied; code: AETH syndrome sent
  kCommEst = 4u,  // QP `element` received its first packet in RTR
  kSqDrained = 5u,  // QP `element` in SQD has no send WR outstanding
  kPathMig = 6u,  // Never sent: no automatic path migration
  kPathMigErr = 7u,  // Never sent: no automatic path migration
  kDeviceFatal = 8u,  // The device needs a reset (DEVICE_NEEDS_RESET is set too); code as rdma_error
  kPortActive = 9u,  // Port `element`: link up
  kPortErr = 0xau,  // Port `element`: link down
  kLidChange = 0xbu,  // Never sent: InfiniBand links only
  kPkeyChange = 0xcu,  // Never sent: one fixed partition key
  kSmChange = 0xdu,  // Never sent: InfiniBand links only
  kSrqErr = 0xeu,  // The virtqueue of shared receive queue `element` stopped; code as rdma_error. Each of its QPs goes to ERR when it needs a receive
  kSrqLimitReached = 0xfu,  // Shared receive queue `element`: as many receives were taken as modify_srq armed the event for
  kQpLastWqeReached = 0x10u,  // QP `element` in ERR takes no more receives from its shared receive queue
  kClientReregister = 0x11u,  // Never sent: InfiniBand links only
  kGidChange = 0x12u,  // Never sent: the driver owns the GID table
  kWqFatal = 0x13u,  // Never sent: no separate work queues
  kVqErr = 0x100u,  // Virtqueue `element` stopped; code as rdma_error
};
// The contract's name of a value; null if it has none.
constexpr const char* ToString(RdmaEventType value) {
  switch (value) {
    case RdmaEventType::kCqErr: return "cq_err";
    case RdmaEventType::kQpFatal: return "qp_fatal";
    case RdmaEventType::kQpReqErr: return "qp_req_err";
    case RdmaEventType::kQpAccessErr: return "qp_access_err";
    case RdmaEventType::kCommEst: return "comm_est";
    case RdmaEventType::kSqDrained: return "sq_drained";
    case RdmaEventType::kPathMig: return "path_mig";
    case RdmaEventType::kPathMigErr: return "path_mig_err";
    case RdmaEventType::kDeviceFatal: return "device_fatal";
    case RdmaEventType::kPortActive: return "port_active";
    case RdmaEventType::kPortErr: return "port_err";
    case RdmaEventType::kLidChange: return "lid_change";
    case RdmaEventType::kPkeyChange: return "pkey_change";
    case RdmaEventType::kSmChange: return "sm_change";
    case RdmaEventType::kSrqErr: return "srq_err";
    case RdmaEventType::kSrqLimitReached: return "srq_limit_reached";
    case RdmaEventType::kQpLastWqeReached: return "qp_last_wqe_reached";
    case RdmaEventType::kClientReregister: return "client_reregister";
    case RdmaEventType::kGidChange: return "gid_change";
    case RdmaEventType::kWqFatal: return "wq_fatal";
    case RdmaEventType::kVqErr: return "vq_err";
  }
  return nullptr;
}

// Owner of a virtqueue, as set by firmware. `none`: not served. (tables.toml)
enum class TableQueueKind : uint8_t {
  kNone = 0u,  // Not in use
  kReceive = 1u,  // Net receive queue; owner: number of the pair
  kTransmit = 2u,  // Net transmit queue; owner: number of the pair
  kControl = 3u,  // Control queue
  kCq = 4u,  // Completion queue; owner: CQ index
  kSq = 5u,  // Send queue of a QP; owner: QP number
  kRq = 6u,  // Receive queue of a QP; owner: QP number
  kEvent = 7u,  // Event queue
};
// The contract's name of a value; null if it has none.
constexpr const char* ToString(TableQueueKind value) {
  switch (value) {
    case TableQueueKind::kNone: return "none";
    case TableQueueKind::kReceive: return "receive";
    case TableQueueKind::kTransmit: return "transmit";
    case TableQueueKind::kControl: return "control";
    case TableQueueKind::kCq: return "cq";
    case TableQueueKind::kSq: return "sq";
    case TableQueueKind::kRq: return "rq";
    case TableQueueKind::kEvent: return "event";
  }
  return nullptr;
}

// Requester of buffers from descriptor fetch. (tokens.toml)
enum class BufferClient : uint8_t {
  kSend = 0u,  // Send queues of QPs
  kReceive = 1u,  // Receive queues of QPs
  kCompletion = 2u,  // Completion queues and the event queue
  kControl = 3u,  // Control queue
  kNetTransmit = 4u,  // Net transmit queues
  kNetReceive = 5u,  // Net receive queues
};
// The contract's name of a value; null if it has none.
constexpr const char* ToString(BufferClient value) {
  switch (value) {
    case BufferClient::kSend: return "send";
    case BufferClient::kReceive: return "receive";
    case BufferClient::kCompletion: return "completion";
    case BufferClient::kControl: return "control";
    case BufferClient::kNetTransmit: return "net_transmit";
    case BufferClient::kNetReceive: return "net_receive";
  }
  return nullptr;
}

// Result of a buffer_request, in a `buffer` token. (tokens.toml)
enum class BufferStatus : uint8_t {
  kOk = 0u,  // a buffer
  kEmpty = 1u,  // no buffer: the queue has no more, or is not served
  kFailed = 2u,  // no buffer: the queue is broken and was stopped
  kPending = 3u,  // `receive` only: none is at hand, and a receive_retry follows if one comes
};
// The contract's name of a value; null if it has none.
constexpr const char* ToString(BufferStatus value) {
  switch (value) {
    case BufferStatus::kOk: return "ok";
    case BufferStatus::kEmpty: return "empty";
    case BufferStatus::kFailed: return "failed";
    case BufferStatus::kPending: return "pending";
  }
  return nullptr;
}

// Purpose of a QP's timer. (tokens.toml)
enum class TimerKind : uint8_t {
  kOff = 0u,  // timer stopped
  kAck = 1u,  // an acknowledge: local_ack_timeout_unit_ns times 2^code; code 0: timer stopped
  kRnr = 2u,  // end of the RNR NAK wait: rnr_timer_ns of code
};
// The contract's name of a value; null if it has none.
constexpr const char* ToString(TimerKind value) {
  switch (value) {
    case TimerKind::kOff: return "off";
    case TimerKind::kAck: return "ack";
    case TimerKind::kRnr: return "rnr";
  }
  return nullptr;
}

// Outcome of a memory_check: the first that applies. (tokens.toml)
enum class MemoryStatus : uint8_t {
  kOk = 0u,  // allowed
  kKey = 1u,  // no region, and for an access by the peer no bound window, has this key
  kPd = 2u,  // the region belongs to another protection domain, or the window to another queue pair
  kRights = 3u,  // a right is missing; a registration of a region that is registered
  kBounds = 4u,  // not inside the region; a bind of no bytes of a window of type 2; a registration of more than the pages hold, or than the region may have
};
// The contract's name of a value; null if it has none.
constexpr const char* ToString(MemoryStatus value) {
  switch (value) {
    case MemoryStatus::kOk: return "ok";
    case MemoryStatus::kKey: return "key";
    case MemoryStatus::kPd: return "pd";
    case MemoryStatus::kRights: return "rights";
    case MemoryStatus::kBounds: return "bounds";
  }
  return nullptr;
}

// Accesses by who makes them. Those of a side end without waiting for any of the other. (tokens.toml)
enum class KeySide : uint8_t {
  kSent = 0u,  // Checks of the requester and the read responder: payload that is read, operands of atomic operations
  kReceived = 1u,  // Checks of the responder: payload that is written, in order
};
// The contract's name of a value; null if it has none.
constexpr const char* ToString(KeySide value) {
  switch (value) {
    case KeySide::kSent: return "sent";
    case KeySide::kReceived: return "received";
  }
  return nullptr;
}

// Outcome of an atomic_request. (tokens.toml)
enum class AtomicStatus : uint8_t {
  kOk = 0u,  // executed, or found: `value` is the operand before the operation
  kUnknown = 1u,  // a duplicate whose result is not kept
  kFailed = 2u,  // the bus refused the read or the write
};
// The contract's name of a value; null if it has none.
constexpr const char* ToString(AtomicStatus value) {
  switch (value) {
    case AtomicStatus::kOk: return "ok";
    case AtomicStatus::kUnknown: return "unknown";
    case AtomicStatus::kFailed: return "failed";
  }
  return nullptr;
}

// Virtio device number; added to pci_device_id_base it is the PCI device number. Vireo is a net device. [virtio 1.3, 5; linux/virtio_ids.h] (virtio.toml)
enum class VirtioDeviceId : uint16_t {
  kInvalid = 0u,  // Reserved
  kNet = 1u,  // Network device
  kBlock = 2u,  // Block device
  kConsole = 3u,  // Console
  kEntropy = 4u,  // Entropy source (Linux: rng)
  kBalloon = 5u,  // Memory ballooning, traditional
  kIomem = 6u,  // I/O memory
  kRpmsg = 7u,  // Remote processor messaging
  kScsi = 8u,  // SCSI host
  kP9 = 9u,  // 9P transport
  kMac80211Wlan = 0xau,  // WLAN MAC
  kRprocSerial = 0xbu,  // Remote processor serial link
  kCaif = 0xcu,  // CAIF
  kMemoryBalloon = 0xdu,  // Memory balloon
  kGpu = 0x10u,  // GPU
  kClock = 0x11u,  // Timer and clock
  kInput = 0x12u,  // Input device
  kVsock = 0x13u,  // Socket device
  kCrypto = 0x14u,  // Crypto device
  kSignalDist = 0x15u,  // Signal distribution module
  kPstore = 0x16u,  // Persistent store
  kIommu = 0x17u,  // IOMMU
  kMem = 0x18u,  // Memory device
  kSound = 0x19u,  // Sound device
  kFs = 0x1au,  // File system
  kPmem = 0x1bu,  // Persistent memory
  kRpmb = 0x1cu,  // Replay-protected memory block
  kMac80211Hwsim = 0x1du,  // Wireless simulation
  kVideoEncoder = 0x1eu,  // Video encoder
  kVideoDecoder = 0x1fu,  // Video decoder
  kScmi = 0x20u,  // System control and management
  kNitroSecMod = 0x21u,  // Nitro secure module
  kI2cAdapter = 0x22u,  // I2C adapter
  kWatchdog = 0x23u,  // Watchdog
  kCan = 0x24u,  // CAN device
  kDmabuf = 0x25u,  // DMA buffer sharing; in linux/virtio_ids.h only
  kParamServ = 0x26u,  // Parameter server
  kAudioPolicy = 0x27u,  // Audio policy
  kBluetooth = 0x28u,  // Bluetooth
  kGpio = 0x29u,  // GPIO
  kRdma = 0x2au,  // RDMA device: reserved number without a specification; not what Vireo is
  kCamera = 0x2bu,  // Camera
  kIsm = 0x2cu,  // Internal shared memory
  kSpi = 0x2du,  // SPI controller
  kTee = 0x2eu,  // Trusted execution environment
  kCpuBalloon = 0x2fu,  // CPU balloon
};
// The contract's name of a value; null if it has none.
constexpr const char* ToString(VirtioDeviceId value) {
  switch (value) {
    case VirtioDeviceId::kInvalid: return "invalid";
    case VirtioDeviceId::kNet: return "net";
    case VirtioDeviceId::kBlock: return "block";
    case VirtioDeviceId::kConsole: return "console";
    case VirtioDeviceId::kEntropy: return "entropy";
    case VirtioDeviceId::kBalloon: return "balloon";
    case VirtioDeviceId::kIomem: return "iomem";
    case VirtioDeviceId::kRpmsg: return "rpmsg";
    case VirtioDeviceId::kScsi: return "scsi";
    case VirtioDeviceId::kP9: return "p9";
    case VirtioDeviceId::kMac80211Wlan: return "mac80211_wlan";
    case VirtioDeviceId::kRprocSerial: return "rproc_serial";
    case VirtioDeviceId::kCaif: return "caif";
    case VirtioDeviceId::kMemoryBalloon: return "memory_balloon";
    case VirtioDeviceId::kGpu: return "gpu";
    case VirtioDeviceId::kClock: return "clock";
    case VirtioDeviceId::kInput: return "input";
    case VirtioDeviceId::kVsock: return "vsock";
    case VirtioDeviceId::kCrypto: return "crypto";
    case VirtioDeviceId::kSignalDist: return "signal_dist";
    case VirtioDeviceId::kPstore: return "pstore";
    case VirtioDeviceId::kIommu: return "iommu";
    case VirtioDeviceId::kMem: return "mem";
    case VirtioDeviceId::kSound: return "sound";
    case VirtioDeviceId::kFs: return "fs";
    case VirtioDeviceId::kPmem: return "pmem";
    case VirtioDeviceId::kRpmb: return "rpmb";
    case VirtioDeviceId::kMac80211Hwsim: return "mac80211_hwsim";
    case VirtioDeviceId::kVideoEncoder: return "video_encoder";
    case VirtioDeviceId::kVideoDecoder: return "video_decoder";
    case VirtioDeviceId::kScmi: return "scmi";
    case VirtioDeviceId::kNitroSecMod: return "nitro_sec_mod";
    case VirtioDeviceId::kI2cAdapter: return "i2c_adapter";
    case VirtioDeviceId::kWatchdog: return "watchdog";
    case VirtioDeviceId::kCan: return "can";
    case VirtioDeviceId::kDmabuf: return "dmabuf";
    case VirtioDeviceId::kParamServ: return "param_serv";
    case VirtioDeviceId::kAudioPolicy: return "audio_policy";
    case VirtioDeviceId::kBluetooth: return "bluetooth";
    case VirtioDeviceId::kGpio: return "gpio";
    case VirtioDeviceId::kRdma: return "rdma";
    case VirtioDeviceId::kCamera: return "camera";
    case VirtioDeviceId::kIsm: return "ism";
    case VirtioDeviceId::kSpi: return "spi";
    case VirtioDeviceId::kTee: return "tee";
    case VirtioDeviceId::kCpuBalloon: return "cpu_balloon";
  }
  return nullptr;
}

// Numbers of the feature bits that do not depend on the device type. [virtio 1.3, 6; linux/virtio_config.h, linux/virtio_ring.h] (virtio.toml)
enum class VirtioFeature : uint8_t {
  kNotifyOnEmpty = 0x18u,  // Legacy only: interrupt when the available ring runs empty. Never offered
  kAnyLayout = 0x1bu,  // Legacy only: buffers may be split in any way. Never offered; always true since 1.0
  kRingIndirectDesc = 0x1cu,  // Descriptors may point to tables of descriptors
  kRingEventIdx = 0x1du,  // used_event, avail_event and ring_event_flags.desc choose when to notify
  kUnused = 0x1eu,  // Legacy marker of broken drivers. Never offered
  kVersion1 = 0x20u,  // Not legacy. Always offered; the device refuses features_ok without it
  kAccessPlatform = 0x21u,  // Addresses are bus addresses, translated and limited by the platform (IOMMU)
  kRingPacked = 0x22u,  // Packed rings instead of split ones
  kInOrder = 0x23u,  // The device uses buffers in the order in which they were made available
  kOrderPlatform = 0x24u,  // The driver must use memory barriers suitable for hardware devices
  kSrIov = 0x25u,  // The driver may enable virtual functions; needs the PCI capability
  kNotificationData = 0x26u,  // Doorbells carry the ring position: 4 bytes instead of 2
  kNotifConfigData = 0x27u,  // Doorbells carry queue_notif_config_data instead of the queue index
  kRingReset = 0x28u,  // A queue can be reset alone (queue_reset)
  kAdminVq = 0x29u,  // There are administration queues (admin_queue_index)
};
// The contract's name of a value; null if it has none.
constexpr const char* ToString(VirtioFeature value) {
  switch (value) {
    case VirtioFeature::kNotifyOnEmpty: return "notify_on_empty";
    case VirtioFeature::kAnyLayout: return "any_layout";
    case VirtioFeature::kRingIndirectDesc: return "ring_indirect_desc";
    case VirtioFeature::kRingEventIdx: return "ring_event_idx";
    case VirtioFeature::kUnused: return "unused";
    case VirtioFeature::kVersion1: return "version_1";
    case VirtioFeature::kAccessPlatform: return "access_platform";
    case VirtioFeature::kRingPacked: return "ring_packed";
    case VirtioFeature::kInOrder: return "in_order";
    case VirtioFeature::kOrderPlatform: return "order_platform";
    case VirtioFeature::kSrIov: return "sr_iov";
    case VirtioFeature::kNotificationData: return "notification_data";
    case VirtioFeature::kNotifConfigData: return "notif_config_data";
    case VirtioFeature::kRingReset: return "ring_reset";
    case VirtioFeature::kAdminVq: return "admin_vq";
  }
  return nullptr;
}

// Event suppression of one side of a packed ring. 3 is reserved. [virtio 1.3, 2.8.10; linux/virtio_ring.h] (virtio.toml)
enum class RingEventFlags : uint8_t {
  kEnable = 0u,  // Always
  kDisable = 1u,  // Never
  kDesc = 2u,  // At one descriptor; only if ring_event_idx was accepted
};
// The contract's name of a value; null if it has none.
constexpr const char* ToString(RingEventFlags value) {
  switch (value) {
    case RingEventFlags::kEnable: return "enable";
    case RingEventFlags::kDisable: return "disable";
    case RingEventFlags::kDesc: return "desc";
  }
  return nullptr;
}

// Protocol after an Ethernet header or an 802.1Q tag. [IEEE 802 numbers] (wire.toml)
enum class Ethertype : uint16_t {
  kIpv4 = 0x800u,  // IPv4
  kArp = 0x806u,  // ARP
  kVlan = 0x8100u,  // 802.1Q customer tag follows
  kIpv6 = 0x86ddu,  // IPv6
  kPause = 0x8808u,  // MAC control: pause and priority flow control
  kRoceV1 = 0x8915u,  // RoCE version 1: not supported, counted (rx_verdict `transport_version`) and dropped
};
// The contract's name of a value; null if it has none.
constexpr const char* ToString(Ethertype value) {
  switch (value) {
    case Ethertype::kIpv4: return "ipv4";
    case Ethertype::kArp: return "arp";
    case Ethertype::kVlan: return "vlan";
    case Ethertype::kIpv6: return "ipv6";
    case Ethertype::kPause: return "pause";
    case Ethertype::kRoceV1: return "roce_v1";
  }
  return nullptr;
}

// IPv4 protocol, IPv6 next header. [IANA protocol numbers] (wire.toml)
enum class IpProtocol : uint8_t {
  kIcmp = 1u,  // ICMP
  kTcp = 6u,  // TCP
  kUdp = 0x11u,  // UDP
  kIcmpv6 = 0x3au,  // ICMPv6
};
// The contract's name of a value; null if it has none.
constexpr const char* ToString(IpProtocol value) {
  switch (value) {
    case IpProtocol::kIcmp: return "icmp";
    case IpProtocol::kTcp: return "tcp";
    case IpProtocol::kUdp: return "udp";
    case IpProtocol::kIcmpv6: return "icmpv6";
  }
  return nullptr;
}

// Congestion field of IPv4 and IPv6. [RFC 3168, 5] (wire.toml)
enum class IpEcn : uint8_t {
  kNotEct = 0u,  // sender does not support ECN
  kEct1 = 1u,  // ECN-capable, codepoint 1
  kEct0 = 2u,  // ECN-capable, codepoint 0
  kCe = 3u,  // congestion experienced
};
// The contract's name of a value; null if it has none.
constexpr const char* ToString(IpEcn value) {
  switch (value) {
    case IpEcn::kNotEct: return "not_ect";
    case IpEcn::kEct1: return "ect1";
    case IpEcn::kEct0: return "ect0";
    case IpEcn::kCe: return "ce";
  }
  return nullptr;
}

// Bits 6:5 of the AETH syndrome. [IBTA vol. 1, table 44] (wire.toml)
enum class AethKind : uint8_t {
  kAck = 0u,  // Acknowledge; `value` holds credits
  kRnrNak = 1u,  // Receiver not ready; `value` holds the timer
  kReserved = 2u,  // Reserved
  kNak = 3u,  // Negative acknowledge; `value` holds the code
};
// The contract's name of a value; null if it has none.
constexpr const char* ToString(AethKind value) {
  switch (value) {
    case AethKind::kAck: return "ack";
    case AethKind::kRnrNak: return "rnr_nak";
    case AethKind::kReserved: return "reserved";
    case AethKind::kNak: return "nak";
  }
  return nullptr;
}

// Reason of a NAK; 5 … 31 are reserved. [IBTA vol. 1, table 45] (wire.toml)
enum class NakCode : uint8_t {
  kPsnSequenceError = 0u,  // A packet is missing: retransmit from the PSN in the BTH
  kInvalidRequest = 1u,  // Opcode or length not acceptable here
  kRemoteAccessError = 2u,  // R_Key, bounds or permission
  kRemoteOperationalError = 3u,  // The responder could not complete the request
  kInvalidRdRequest = 4u,  // Reliable datagram only: never sent
};
// The contract's name of a value; null if it has none.
constexpr const char* ToString(NakCode value) {
  switch (value) {
    case NakCode::kPsnSequenceError: return "psn_sequence_error";
    case NakCode::kInvalidRequest: return "invalid_request";
    case NakCode::kRemoteAccessError: return "remote_access_error";
    case NakCode::kRemoteOperationalError: return "remote_operational_error";
    case NakCode::kInvalidRdRequest: return "invalid_rd_request";
  }
  return nullptr;
}

// Whole first byte of the AETH for the cases that carry no parameter. [IBTA vol. 1, tables 44, 45] (wire.toml)
enum class AethSyndrome : uint8_t {
  kAckNoCredits = 0x1fu,  // Acknowledge, end-to-end credits not used (what Vireo sends)
  kRnrNak = 0x20u,  // Receiver not ready, plus timer in the low 5 bits
  kNakPsnSequenceError = 0x60u,  // `nak_code.psn_sequence_error`
  kNakInvalidRequest = 0x61u,  // `nak_code.invalid_request`
  kNakRemoteAccessError = 0x62u,  // `nak_code.remote_access_error`
  kNakRemoteOperationalError = 0x63u,  // `nak_code.remote_operational_error`
  kNakInvalidRdRequest = 0x64u,  // `nak_code.invalid_rd_request`
};
// The contract's name of a value; null if it has none.
constexpr const char* ToString(AethSyndrome value) {
  switch (value) {
    case AethSyndrome::kAckNoCredits: return "ack_no_credits";
    case AethSyndrome::kRnrNak: return "rnr_nak";
    case AethSyndrome::kNakPsnSequenceError: return "nak_psn_sequence_error";
    case AethSyndrome::kNakInvalidRequest: return "nak_invalid_request";
    case AethSyndrome::kNakRemoteAccessError: return "nak_remote_access_error";
    case AethSyndrome::kNakRemoteOperationalError: return "nak_remote_operational_error";
    case AethSyndrome::kNakInvalidRdRequest: return "nak_invalid_rd_request";
  }
  return nullptr;
}

// Extent of a FLUSH. [IBTA vol. 1 (1.6), A19.4.1] (wire.toml)
enum class FlushSelectivity : uint8_t {
  kRange = 0u,  // The range in the RETH
  kMemoryRegion = 1u,  // The whole memory region of the R_Key
};
// The contract's name of a value; null if it has none.
constexpr const char* ToString(FlushSelectivity value) {
  switch (value) {
    case FlushSelectivity::kRange: return "range";
    case FlushSelectivity::kMemoryRegion: return "memory_region";
  }
  return nullptr;
}

// BTH opcodes; their meaning: the opcode table. (opcodes.toml)
enum class BthOpcode : uint8_t {
  kRcSendFirst = 0u,
  kRcSendMiddle = 1u,
  kRcSendLast = 2u,
  kRcSendLastWithImmediate = 3u,
  kRcSendOnly = 4u,
  kRcSendOnlyWithImmediate = 5u,
  kRcRdmaWriteFirst = 6u,
  kRcRdmaWriteMiddle = 7u,
  kRcRdmaWriteLast = 8u,
  kRcRdmaWriteLastWithImmediate = 9u,
  kRcRdmaWriteOnly = 0xau,
  kRcRdmaWriteOnlyWithImmediate = 0xbu,
  kRcRdmaReadRequest = 0xcu,
  kRcRdmaReadResponseFirst = 0xdu,
  kRcRdmaReadResponseMiddle = 0xeu,
  kRcRdmaReadResponseLast = 0xfu,
  kRcRdmaReadResponseOnly = 0x10u,
  kRcAcknowledge = 0x11u,
  kRcAtomicAcknowledge = 0x12u,
  kRcCompareSwap = 0x13u,
  kRcFetchAdd = 0x14u,
  kRcSendLastWithInvalidate = 0x16u,
  kRcSendOnlyWithInvalidate = 0x17u,
  kRcFlush = 0x1cu,
  kRcAtomicWrite = 0x1du,
  kUcSendFirst = 0x20u,
  kUcSendMiddle = 0x21u,
  kUcSendLast = 0x22u,
  kUcSendLastWithImmediate = 0x23u,
  kUcSendOnly = 0x24u,
  kUcSendOnlyWithImmediate = 0x25u,
  kUcRdmaWriteFirst = 0x26u,
  kUcRdmaWriteMiddle = 0x27u,
  kUcRdmaWriteLast = 0x28u,
  kUcRdmaWriteLastWithImmediate = 0x29u,
  kUcRdmaWriteOnly = 0x2au,
  kUcRdmaWriteOnlyWithImmediate = 0x2bu,
  kUdSendOnly = 0x64u,
  kUdSendOnlyWithImmediate = 0x65u,
  kCnp = 0x81u,
};
// The contract's name of a value; null if it has none.
constexpr const char* ToString(BthOpcode value) {
  switch (value) {
    case BthOpcode::kRcSendFirst: return "rc_send_first";
    case BthOpcode::kRcSendMiddle: return "rc_send_middle";
    case BthOpcode::kRcSendLast: return "rc_send_last";
    case BthOpcode::kRcSendLastWithImmediate: return "rc_send_last_with_immediate";
    case BthOpcode::kRcSendOnly: return "rc_send_only";
    case BthOpcode::kRcSendOnlyWithImmediate: return "rc_send_only_with_immediate";
    case BthOpcode::kRcRdmaWriteFirst: return "rc_rdma_write_first";
    case BthOpcode::kRcRdmaWriteMiddle: return "rc_rdma_write_middle";
    case BthOpcode::kRcRdmaWriteLast: return "rc_rdma_write_last";
    case BthOpcode::kRcRdmaWriteLastWithImmediate: return "rc_rdma_write_last_with_immediate";
    case BthOpcode::kRcRdmaWriteOnly: return "rc_rdma_write_only";
    case BthOpcode::kRcRdmaWriteOnlyWithImmediate: return "rc_rdma_write_only_with_immediate";
    case BthOpcode::kRcRdmaReadRequest: return "rc_rdma_read_request";
    case BthOpcode::kRcRdmaReadResponseFirst: return "rc_rdma_read_response_first";
    case BthOpcode::kRcRdmaReadResponseMiddle: return "rc_rdma_read_response_middle";
    case BthOpcode::kRcRdmaReadResponseLast: return "rc_rdma_read_response_last";
    case BthOpcode::kRcRdmaReadResponseOnly: return "rc_rdma_read_response_only";
    case BthOpcode::kRcAcknowledge: return "rc_acknowledge";
    case BthOpcode::kRcAtomicAcknowledge: return "rc_atomic_acknowledge";
    case BthOpcode::kRcCompareSwap: return "rc_compare_swap";
    case BthOpcode::kRcFetchAdd: return "rc_fetch_add";
    case BthOpcode::kRcSendLastWithInvalidate: return "rc_send_last_with_invalidate";
    case BthOpcode::kRcSendOnlyWithInvalidate: return "rc_send_only_with_invalidate";
    case BthOpcode::kRcFlush: return "rc_flush";
    case BthOpcode::kRcAtomicWrite: return "rc_atomic_write";
    case BthOpcode::kUcSendFirst: return "uc_send_first";
    case BthOpcode::kUcSendMiddle: return "uc_send_middle";
    case BthOpcode::kUcSendLast: return "uc_send_last";
    case BthOpcode::kUcSendLastWithImmediate: return "uc_send_last_with_immediate";
    case BthOpcode::kUcSendOnly: return "uc_send_only";
    case BthOpcode::kUcSendOnlyWithImmediate: return "uc_send_only_with_immediate";
    case BthOpcode::kUcRdmaWriteFirst: return "uc_rdma_write_first";
    case BthOpcode::kUcRdmaWriteMiddle: return "uc_rdma_write_middle";
    case BthOpcode::kUcRdmaWriteLast: return "uc_rdma_write_last";
    case BthOpcode::kUcRdmaWriteLastWithImmediate: return "uc_rdma_write_last_with_immediate";
    case BthOpcode::kUcRdmaWriteOnly: return "uc_rdma_write_only";
    case BthOpcode::kUcRdmaWriteOnlyWithImmediate: return "uc_rdma_write_only_with_immediate";
    case BthOpcode::kUdSendOnly: return "ud_send_only";
    case BthOpcode::kUdSendOnlyWithImmediate: return "ud_send_only_with_immediate";
    case BthOpcode::kCnp: return "cnp";
  }
  return nullptr;
}

// Link status. [virtio 1.3, 5.1.4; linux/virtio_net.h] (net.toml)
struct NetStatus {
  static constexpr uint16_t kLinkUp = 1u;  // The link works; a driver without feature status assumes so
  static constexpr uint16_t kAnnounce = 2u;  // The driver shall announce itself; cleared by announce_ack
};

// Packets to hash, most specific first. Bit n is net_hash_report n + 1. Input: addresses, then ports, network order. [virtio 1.3, 5.1.6.4.3; linux/virtio_net.h (VIRTIO_NET_RSS_HASH_TYPE)] (net.toml)
struct NetHashTypes {
  static constexpr uint32_t kIpv4 = 1u;  // IPv4: addresses
  static constexpr uint32_t kTcpv4 = 2u;  // TCP over IPv4: addresses and ports
  static constexpr uint32_t kUdpv4 = 4u;  // UDP over IPv4: addresses and ports
  static constexpr uint32_t kIpv6 = 8u;  // IPv6: addresses
  static constexpr uint32_t kTcpv6 = 0x10u;  // TCP over IPv6: addresses and ports
  static constexpr uint32_t kUdpv6 = 0x20u;  // UDP over IPv6: addresses and ports
  static constexpr uint32_t kIpEx = 0x40u;  // IPv6 with extension headers: home address and type 2 routing address where present
  static constexpr uint32_t kTcpEx = 0x80u;  // TCP over IPv6 with extension headers: those addresses and ports
  static constexpr uint32_t kUdpEx = 0x100u;  // UDP over IPv6 with extension headers: those addresses and ports
};

// Tunnels whose inner headers are hashed instead of the outer ones (one level). [virtio 1.3, 5.1.6.4.4] (net.toml)
struct NetHashTunnelTypes {
  static constexpr uint32_t kGre2784 = 1u;  // GRE, RFC 2784
  static constexpr uint32_t kGre2890 = 2u;  // GRE with key and sequence number, RFC 2890
  static constexpr uint32_t kGre7676 = 4u;  // GRE over IPv6, RFC 7676
  static constexpr uint32_t kGreUdp = 8u;  // GRE in UDP, RFC 8086
  static constexpr uint32_t kVxlan = 0x10u;  // VXLAN, RFC 7348
  static constexpr uint32_t kVxlanGpe = 0x20u;  // VXLAN generic protocol extension
  static constexpr uint32_t kGeneve = 0x40u;  // Geneve, RFC 8926
  static constexpr uint32_t kIpip = 0x80u;  // IP in IP, RFC 2003
  static constexpr uint32_t kNvgre = 0x100u;  // NVGRE, RFC 7637
};

// State of a packet's checksum. IPsec (feature 70) uses more bits. [virtio 1.3, 5.1.6.2 and 5.1.6.4; linux/virtio_net.h] (net.toml)
struct NetHdrFlags {
  static constexpr uint8_t kNeedsCsum = 1u;  // Incomplete: sum from csum_start to the end belongs at csum_start + csum_offset
  static constexpr uint8_t kDataValid = 2u;  // Received and verified (one level of a tunnel). Never on sent packets
  static constexpr uint8_t kRscInfo = 4u;  // csum_start, csum_offset are segments, duplicate ACKs; feature rsc_ext. Never on sent packets
  static constexpr uint8_t kUdpTunnelCsum = 8u;  // The outer UDP checksum, too; features *_udp_tunnel_gso_csum
};

// Receive offloads. A bit has the number of its feature; features above 63 have a number of their own. [virtio 1.3, 5.1.6.5.8.1; 46 and 47: virtio 1.4 and linux/virtio_net.h 7.2 (_MAPPED)] (net.toml)
struct NetGuestOffloads {
  static constexpr uint64_t kGuestCsum = 2ull;  // Feature guest_csum
  static constexpr uint64_t kGuestTso4 = 0x80ull;  // Feature guest_tso4
  static constexpr uint64_t kGuestTso6 = 0x100ull;  // Feature guest_tso6
  static constexpr uint64_t kGuestEcn = 0x200ull;  // Feature guest_ecn
  static constexpr uint64_t kGuestUfo = 0x400ull;  // Feature guest_ufo
  static constexpr uint64_t kGuestUdpTunnelGsoMapped = 0x400000000000ull;  // Feature guest_udp_tunnel_gso (65)
  static constexpr uint64_t kGuestUdpTunnelGsoCsumMapped = 0x800000000000ull;  // Feature guest_udp_tunnel_gso_csum (66)
  static constexpr uint64_t kGuestUso4 = 0x40000000000000ull;  // Feature guest_uso4
  static constexpr uint64_t kGuestUso6 = 0x80000000000000ull;  // Feature guest_uso6 [vireo profile]
};

// Kinds of statistics. Bit n is net_stats_reply_type n. [virtio 1.4, 5.1.6.5, Device Statistics; linux/virtio_net.h (VIRTIO_NET_STATS_TYPE)] (net.toml)
struct NetStatsTypes {
  static constexpr uint64_t kRxBasic = 1ull;  // net_stats_rx_basic
  static constexpr uint64_t kRxCsum = 2ull;  // net_stats_rx_csum; feature guest_csum
  static constexpr uint64_t kRxGso = 4ull;  // net_stats_rx_gso; feature guest_tso4 or guest_tso6
  static constexpr uint64_t kRxSpeed = 8ull;  // net_stats_rx_speed
  static constexpr uint64_t kTxBasic = 0x10000ull;  // net_stats_tx_basic
  static constexpr uint64_t kTxCsum = 0x20000ull;  // net_stats_tx_csum; feature csum
  static constexpr uint64_t kTxGso = 0x40000ull;  // net_stats_tx_gso; feature host_tso4, host_tso6 or host_uso
  static constexpr uint64_t kTxSpeed = 0x80000ull;  // net_stats_tx_speed
  static constexpr uint64_t kCvq = 0x100000000ull;  // net_stats_cvq; control queue
};

// Command register: what the function may do on the bus. [PCIe 5.0, 7.5.1.1.3] (pci.toml)
struct PciCommand {
  static constexpr uint16_t kIoSpace = 1u;  // Answers I/O accesses; hardwired to 0, there is no I/O BAR
  static constexpr uint16_t kMemorySpace = 2u;  // Answers accesses to its memory BARs
  static constexpr uint16_t kBusMaster = 4u;  // May send DMA and MSI-X messages; while 0 the device sends neither
  static constexpr uint16_t kSpecialCycles = 8u;  // Hardwired to 0 on PCI Express
  static constexpr uint16_t kMemoryInvalidate = 0x10u;  // Hardwired to 0 on PCI Express
  static constexpr uint16_t kVgaPaletteSnoop = 0x20u;  // Hardwired to 0 on PCI Express
  static constexpr uint16_t kParityErrorResponse = 0x40u;  // Poisoned packets set master_data_parity_error
  static constexpr uint16_t kAddressStepping = 0x80u;  // Hardwired to 0 on PCI Express
  static constexpr uint16_t kSerrEnable = 0x100u;  // Errors are reported to the root complex
  static constexpr uint16_t kFastBackToBack = 0x200u;  // Hardwired to 0 on PCI Express
  static constexpr uint16_t kInterruptDisable = 0x400u;  // No INTx messages
};

// Status register. Bits 9 and 10 (DEVSEL timing) are 0 on PCI Express; error bits are cleared by writing 1. [PCIe 5.0, 7.5.1.1.4] (pci.toml)
struct PciStatus {
  static constexpr uint16_t kImmediateReadiness = 1u;  // Ready for configuration accesses right after reset
  static constexpr uint16_t kInterruptStatus = 8u;  // INTx is pending: OR of the ISR bits while MSI-X is off
  static constexpr uint16_t kCapabilitiesList = 0x10u;  // capabilities_pointer is valid; always 1
  static constexpr uint16_t kCapable66mhz = 0x20u;  // 0 on PCI Express
  static constexpr uint16_t kFastBackToBack = 0x80u;  // 0 on PCI Express
  static constexpr uint16_t kMasterDataParityError = 0x100u;  // Sent or received a poisoned packet
  static constexpr uint16_t kSignaledTargetAbort = 0x800u;  // Answered with completer abort
  static constexpr uint16_t kReceivedTargetAbort = 0x1000u;  // A DMA read was answered with completer abort
  static constexpr uint16_t kReceivedMasterAbort = 0x2000u;  // A DMA read was answered with unsupported request
  static constexpr uint16_t kSignaledSystemError = 0x4000u;  // Sent a fatal or non-fatal error message
  static constexpr uint16_t kDetectedParityError = 0x8000u;  // Received a poisoned packet
};

// Optional capabilities of the device. Numbers are the RFC's, not those of verbs; 1 … 63 are reserved for capabilities that the RFC lacks. [RFC v2, QUERY_DEVICE] (roce.toml)
struct IbDeviceCap {
  static constexpr uint64_t kRcRnrNakGen = 1ull;  // An RC responder without a receive WQE sends RNR NAK; always the case in Vireo
};

// Access rights of a memory region or of the peer of a QP; local read is always allowed. Bits 6, 7 and 10 … 31 are reserved for verbs' flags. [RFC v2, GET_DMA_MR; same numbers as enum ibv_access_flags] (roce.toml)
struct IbAccessFlags {
  static constexpr uint32_t kLocalWrite = 1u;  // Local writes: receives, responses to RDMA READs and atomic operations
  static constexpr uint32_t kRemoteWrite = 2u;  // RDMA WRITE by the peer; needs local_write
  static constexpr uint32_t kRemoteRead = 4u;  // RDMA READ by the peer
  static constexpr uint32_t kRemoteAtomic = 8u;  // COMPARE SWAP and FETCH ADD by the peer; needs local_write. Only if atomic_cap is not none
  static constexpr uint32_t kMwBind = 0x10u;  // Memory windows may be bound to the region. Not of a DMA MR, nor with invalidatable, nor of a QP; only if max_mw is not 0
  static constexpr uint32_t kZeroBased = 0x20u;  // Of a bind of a window of type 2 only: its first byte has address 0
  static constexpr uint32_t kFlushGlobal = 0x100u;  // FLUSH by the peer for global visibility. Not of a DMA MR; only if the device's `flush` has global_visibility
  static constexpr uint32_t kFlushPersistent = 0x200u;  // FLUSH by the peer for persistence. Of a region only with is_pmem; only if the device's `flush` has persistence
};

// What REREG_MR changes. The rest of the region stays, and fields of what is not selected are ignored. [IBTA vol. 1, 11.2.8.4; same numbers as enum ibv_rereg_mr_flags] (roce.toml)
struct RdmaReregFlags {
  static constexpr uint32_t kTranslation = 1u;  // virt_addr, length and pages
  static constexpr uint32_t kPd = 2u;  // pdn
  static constexpr uint32_t kAccess = 4u;  // access_flags
};

// Placements that a FLUSH may request. Same numbers as flush_placement; bits 2 … 7 are reserved. [IBTA vol. 1 (1.6), A19.4] (roce.toml)
struct RdmaFlushCap {
  static constexpr uint8_t kGlobalVisibility = 1u;  // Visible to every agent of the responder's system
  static constexpr uint8_t kPersistence = 2u;  // Survives loss of power, in regions with is_pmem
};

// Attributes that modify_qp changes. Not verbs' numbers: the RFC closed the gaps. Bits 17 … 31 are reserved. [RFC v2, MODIFY_QP] (roce.toml)
struct IbQpAttrMask {
  static constexpr uint32_t kState = 1u;  // qp_state
  static constexpr uint32_t kCurState = 2u;  // cur_qp_state
  static constexpr uint32_t kAccessFlags = 4u;  // qp_access_flags
  static constexpr uint32_t kQkey = 8u;  // qkey
  static constexpr uint32_t kAv = 0x10u;  // ah_attr
  static constexpr uint32_t kPathMtu = 0x20u;  // path_mtu
  static constexpr uint32_t kTimeout = 0x40u;  // timeout
  static constexpr uint32_t kRetryCnt = 0x80u;  // retry_cnt
  static constexpr uint32_t kRnrRetry = 0x100u;  // rnr_retry
  static constexpr uint32_t kRqPsn = 0x200u;  // rq_psn
  static constexpr uint32_t kMaxQpRdAtomic = 0x400u;  // max_rd_atomic
  static constexpr uint32_t kMinRnrTimer = 0x800u;  // min_rnr_timer
  static constexpr uint32_t kSqPsn = 0x1000u;  // sq_psn
  static constexpr uint32_t kMaxDestRdAtomic = 0x2000u;  // max_dest_rd_atomic
  static constexpr uint32_t kCap = 0x4000u;  // cap: refused, queue sizes are fixed when the QP is created
  static constexpr uint32_t kDestQpn = 0x8000u;  // dest_qp_num
  static constexpr uint32_t kRateLimit = 0x10000u;  // rate_limit
};

// Properties of a send work request. Bits 4 … 7 are reserved. [RFC v2, RoCE Support; same numbers as enum ibv_send_flags] (roce.toml)
struct IbSendFlags {
  static constexpr uint8_t kFence = 1u;  // Start only when all preceding RDMA READs, atomic operations, ATOMIC WRITEs and FLUSHes are complete
  static constexpr uint8_t kSignaled = 2u;  // Complete with a CQE on success too
  static constexpr uint8_t kSolicited = 4u;  // Set the solicited event bit in the last packet
  static constexpr uint8_t kInline = 8u;  // Data is in inline_data, length in inline_len; not for rdma_read, atomic operations, atomic_write and flush
};

// Contents of a completion. Bits 2 and 4 … 31 are reserved for verbs' flags. [RFC v2, RoCE Support; same numbers as enum ibv_wc_flags] (roce.toml)
struct IbWcFlags {
  static constexpr uint32_t kGrh = 1u;  // UD: the first rdma_ud_grh_bytes of the buffer are valid; always set for UD
  static constexpr uint32_t kWithImm = 2u;  // imm_data is immediate data
  static constexpr uint32_t kWithInv = 8u;  // imm_data is the key of the region that the peer's SEND with invalidate has ended
};

// When an armed CQ notifies; once, then it must be rearmed. With both flags, or armed twice, next_completion applies. [RFC v2, REQ_NOTIFY_CQ; IBTA vol. 1, 11.4.2.2] (roce.toml)
struct IbNotifyFlags {
  static constexpr uint32_t kSolicited = 1u;  // At the next CQE with an error, or of a receive whose message was sent solicited
  static constexpr uint32_t kNextCompletion = 2u;  // At the next CQE
};

// Properties of a GID (vireo only). (roce.toml)
struct RdmaGidFlags {
  static constexpr uint8_t kVlanPresent = 1u;  // Packets from and to this GID carry the VLAN tag in `vlan`
};

// Properties of a window (vireo only). (roce.toml)
struct RdmaWindowFlags {
  static constexpr uint8_t kEnable = 1u;  // 1: limit the queue; 0: the whole address space, base and length are ignored
};

// Elements of an extensible send work request, each of 16 bytes or a multiple, in the order of their bits. Each operation has exactly those of rdma and atomic, each datagram exactly that of ud; inline_data or sg_list is the last one. Bits 5 … 7 are reserved. [docs/decisions/0024] (roce.toml)
struct RdmaSqElement {
  static constexpr uint8_t kRdma = 1u;  // rdma_sq_rdma: RDMA READ, WRITE, atomic operations, ATOMIC WRITE, FLUSH; rdma_sq_bind: bind_mw; rdma_sq_reg: reg_mr
  static constexpr uint8_t kUd = 2u;  // rdma_sq_ud: UD
  static constexpr uint8_t kAtomic = 4u;  // rdma_sq_atomic: atomic operations, ATOMIC WRITE; rdma_sq_flush: FLUSH; rdma_sq_bind_range: bind_mw, reg_mr
  static constexpr uint8_t kInlineData = 8u;  // Data, up to the end of the descriptor; with the flag inline, and only then. Not with sg_list
  static constexpr uint8_t kSgList = 0x10u;  // rdma_sge, of reg_mr rdma_page_pair, up to the end of the descriptor; may be none
};

// Elements of a completion, which follow its base in the order of their bits. A later version adds higher bits, and never reuses one. [docs/decisions/0039] (roce.toml)
struct RdmaCqElement {
  static constexpr uint32_t kTimestamp = 1u;  // rdma_cq_timestamp [vireo profile]
};

// Progress of driver initialization. The driver only sets bits; writing 0 resets the device, which reads 0 once that is done. [virtio 1.3, 2.1; linux/virtio_config.h] (virtio.toml)
struct VirtioDeviceStatus {
  static constexpr uint8_t kAcknowledge = 1u;  // The system found the device
  static constexpr uint8_t kDriver = 2u;  // The system has a driver for it
  static constexpr uint8_t kDriverOk = 4u;  // Set up: the device may use its queues from here on
  static constexpr uint8_t kFeaturesOk = 8u;  // Features are chosen; reads back 0 if the device refuses the set
  static constexpr uint8_t kDeviceNeedsReset = 0x40u;  // Set by the device after an error that requires a reset
  static constexpr uint8_t kFailed = 0x80u;  // The driver gave up
};

// Interrupt status byte. Reading clears it and deasserts INTx. With MSI-X on, only device_config is maintained. [virtio 1.3, 4.1.4.5] (virtio.toml)
struct VirtioIsr {
  static constexpr uint8_t kQueue = 1u;  // Some queue has used buffers
  static constexpr uint8_t kDeviceConfig = 2u;  // The device configuration changed or device_needs_reset was set
};

// Descriptor flags; avail and used exist in packed rings only. [virtio 1.3, 2.7.5 and 2.8.1; linux/virtio_ring.h] (virtio.toml)
struct VirtqDescFlags {
  static constexpr uint16_t kNext = 1u;  // The buffer continues: split at `next`, packed in the following descriptor
  static constexpr uint16_t kWrite = 2u;  // The device writes this part; else it reads it
  static constexpr uint16_t kIndirect = 4u;  // addr and len give a table of descriptors; not together with next
  static constexpr uint16_t kAvail = 0x80u;  // Packed: the driver's wrap counter when the descriptor was made available
  static constexpr uint16_t kUsed = 0x8000u;  // Packed: inverse of that counter when available, the device's wrap counter when used
};

// Flags of an available ring; 0 if ring_event_idx was accepted. [virtio 1.3, 2.7.6 and 2.7.7; linux/virtio_ring.h] (virtio.toml)
struct VirtqAvailFlags {
  static constexpr uint16_t kNoInterrupt = 1u;  // The driver requests no interrupts for used buffers; a hint
};

// Flags of a used ring; 0 if ring_event_idx was accepted. [virtio 1.3, 2.7.8 and 2.7.10; linux/virtio_ring.h] (virtio.toml)
struct VirtqUsedFlags {
  static constexpr uint16_t kNoNotify = 1u;  // The device requests no doorbells for available buffers; a hint
};

// Placement guarantee that a FLUSH requests. [IBTA vol. 1 (1.6), A19.4.1] (wire.toml)
struct FlushPlacement {
  static constexpr uint8_t kGlobalVisibility = 1u;  // Visible to every agent of the responder's system
  static constexpr uint8_t kPersistence = 2u;  // Survives loss of power
};

// Start of every frame (board.toml)
// Little-endian, 2 bytes.
struct BoardHeader {
  static constexpr size_t kBytes = 2;
  static constexpr size_t kKindOffset = 0;
  static constexpr size_t kSerialOffset = 1;
  BoardFrame kind{};  // The frame's kind
  uint8_t serial{};  // Of `data`: the host counts 0, 1 … from its `hello` on; an answer has that of its question. Of `hello`: chosen by the host

  static constexpr BoardHeader Decode(const uint8_t* bytes) {
    BoardHeader result;
    result.kind = static_cast<BoardFrame>(detail::GetLittle<0, 8>(bytes));
    result.serial = static_cast<uint8_t>(detail::GetLittle<8, 8>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 8>(bytes, static_cast<uint64_t>(kind));
    detail::PutLittle<8, 8>(bytes, static_cast<uint64_t>(serial));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("kind", self.kind, 8);
    f("serial", self.serial, 8);
  }
  static constexpr BoardHeader FromWord(uint16_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 16>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint16_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint16_t>(detail::GetLittle<0, 16>(bytes));
  }

  friend constexpr bool operator==(const BoardHeader&, const BoardHeader&) = default;
};

// What the board is (board.toml)
// Little-endian, 12 bytes.
struct BoardHello {
  static constexpr size_t kBytes = 12;
  static constexpr size_t kMagicOffset = 0;
  static constexpr size_t kVersionOffset = 4;
  static constexpr size_t kHasProcessorOffset = 6;
  static constexpr size_t kConfigHashOffset = 8;
  uint32_t magic{};  // `board_magic`
  uint16_t version{};  // `board_version`
  uint8_t has_processor{};  // 1: a control processor is on the board
  uint8_t reserved{};  // 0
  uint32_t config_hash{};  // FNV-1a, 32 bits, over the bytes of all parameters of the configuration in the order of configs.toml, each 32 bits, least significant byte first

  static constexpr BoardHello Decode(const uint8_t* bytes) {
    BoardHello result;
    result.magic = static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
    result.version = static_cast<uint16_t>(detail::GetLittle<32, 16>(bytes));
    result.has_processor = static_cast<uint8_t>(detail::GetLittle<48, 8>(bytes));
    result.reserved = static_cast<uint8_t>(detail::GetLittle<56, 8>(bytes));
    result.config_hash = static_cast<uint32_t>(detail::GetLittle<64, 32>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 32>(bytes, static_cast<uint64_t>(magic));
    detail::PutLittle<32, 16>(bytes, static_cast<uint64_t>(version));
    detail::PutLittle<48, 8>(bytes, static_cast<uint64_t>(has_processor));
    detail::PutLittle<56, 8>(bytes, static_cast<uint64_t>(reserved));
    detail::PutLittle<64, 32>(bytes, static_cast<uint64_t>(config_hash));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("magic", self.magic, 32);
    f("version", self.version, 16);
    f("has_processor", self.has_processor, 8);
    f("reserved", self.reserved, 8);
    f("config_hash", self.config_hash, 32);
  }

  friend constexpr bool operator==(const BoardHello&, const BoardHello&) = default;
};

// Runs at most `cycles` cycles, and ends early: after a cycle with an event that a host must know of (all but `write_start`, `write_beat` and beats within a frame), in front of a cycle with an access of the control processor, and when nothing is left to do. (board.toml)
// Little-endian, 2 bytes.
struct BoardRun {
  static constexpr size_t kBytes = 2;
  static constexpr size_t kCyclesOffset = 0;
  uint16_t cycles{};  // 1 or more

  static constexpr BoardRun Decode(const uint8_t* bytes) {
    BoardRun result;
    result.cycles = static_cast<uint16_t>(detail::GetLittle<0, 16>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 16>(bytes, static_cast<uint64_t>(cycles));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("cycles", self.cycles, 16);
  }
  static constexpr BoardRun FromWord(uint16_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 16>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint16_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint16_t>(detail::GetLittle<0, 16>(bytes));
  }

  friend constexpr bool operator==(const BoardRun&, const BoardRun&) = default;
};

// Device time of the next cycle; it goes on by itself, and stands still between two runs (board.toml)
// Little-endian, 8 bytes.
struct BoardTime {
  static constexpr size_t kBytes = 8;
  static constexpr size_t kNsOffset = 0;
  uint64_t ns{};  // Device time in ns

  static constexpr BoardTime Decode(const uint8_t* bytes) {
    BoardTime result;
    result.ns = static_cast<uint64_t>(detail::GetLittle<0, 64>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 64>(bytes, static_cast<uint64_t>(ns));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("ns", self.ns, 64);
  }
  static constexpr BoardTime FromWord(uint64_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 64>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint64_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint64_t>(detail::GetLittle<0, 64>(bytes));
  }

  friend constexpr bool operator==(const BoardTime&, const BoardTime&) = default;
};

// From configuration space and MAC, until changed (board.toml)
// Little-endian, 2 bytes.
struct BoardControls {
  static constexpr size_t kBytes = 2;
  bool bus_master{};  // Of the command register
  bool msix_enable{};  // Of the MSI-X capability
  bool msix_mask{};  // Of the MSI-X capability: of the whole function
  bool mac_link{};  // 1: the link is up
  uint8_t reserved{};  // 0
  uint8_t max_payload_size{};  // `pcie_size`
  uint8_t max_read_request_size{};  // `pcie_size`

  static constexpr BoardControls Decode(const uint8_t* bytes) {
    BoardControls result;
    result.bus_master = static_cast<bool>(detail::GetLittle<0, 1>(bytes));
    result.msix_enable = static_cast<bool>(detail::GetLittle<1, 1>(bytes));
    result.msix_mask = static_cast<bool>(detail::GetLittle<2, 1>(bytes));
    result.mac_link = static_cast<bool>(detail::GetLittle<3, 1>(bytes));
    result.reserved = static_cast<uint8_t>(detail::GetLittle<4, 4>(bytes));
    result.max_payload_size = static_cast<uint8_t>(detail::GetLittle<8, 4>(bytes));
    result.max_read_request_size = static_cast<uint8_t>(detail::GetLittle<12, 4>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 1>(bytes, static_cast<uint64_t>(bus_master));
    detail::PutLittle<1, 1>(bytes, static_cast<uint64_t>(msix_enable));
    detail::PutLittle<2, 1>(bytes, static_cast<uint64_t>(msix_mask));
    detail::PutLittle<3, 1>(bytes, static_cast<uint64_t>(mac_link));
    detail::PutLittle<4, 4>(bytes, static_cast<uint64_t>(reserved));
    detail::PutLittle<8, 4>(bytes, static_cast<uint64_t>(max_payload_size));
    detail::PutLittle<12, 4>(bytes, static_cast<uint64_t>(max_read_request_size));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("bus_master", self.bus_master, 1);
    f("msix_enable", self.msix_enable, 1);
    f("msix_mask", self.msix_mask, 1);
    f("mac_link", self.mac_link, 1);
    f("reserved", self.reserved, 4);
    f("max_payload_size", self.max_payload_size, 4);
    f("max_read_request_size", self.max_read_request_size, 4);
  }
  static constexpr BoardControls FromWord(uint16_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 16>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint16_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint16_t>(detail::GetLittle<0, 16>(bytes));
  }

  friend constexpr bool operator==(const BoardControls&, const BoardControls&) = default;
};

// An access of a BAR (board.toml)
// Little-endian, 14 bytes.
struct BoardBar {
  static constexpr size_t kBytes = 14;
  static constexpr size_t kLengthOffset = 1;
  static constexpr size_t kOffsetOffset = 2;
  static constexpr size_t kValueOffset = 6;
  uint8_t bar{};  // Its number
  uint8_t is_write{};  // 1: a write, 0: a read
  uint8_t length{};  // 1, 2, 4 or 8
  uint32_t offset{};  // Within the BAR
  uint64_t value{};  // Of a write

  static constexpr BoardBar Decode(const uint8_t* bytes) {
    BoardBar result;
    result.bar = static_cast<uint8_t>(detail::GetLittle<0, 4>(bytes));
    result.is_write = static_cast<uint8_t>(detail::GetLittle<4, 4>(bytes));
    result.length = static_cast<uint8_t>(detail::GetLittle<8, 8>(bytes));
    result.offset = static_cast<uint32_t>(detail::GetLittle<16, 32>(bytes));
    result.value = static_cast<uint64_t>(detail::GetLittle<48, 64>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 4>(bytes, static_cast<uint64_t>(bar));
    detail::PutLittle<4, 4>(bytes, static_cast<uint64_t>(is_write));
    detail::PutLittle<8, 8>(bytes, static_cast<uint64_t>(length));
    detail::PutLittle<16, 32>(bytes, static_cast<uint64_t>(offset));
    detail::PutLittle<48, 64>(bytes, static_cast<uint64_t>(value));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("bar", self.bar, 4);
    f("is_write", self.is_write, 4);
    f("length", self.length, 8);
    f("offset", self.offset, 32);
    f("value", self.value, 64);
  }

  friend constexpr bool operator==(const BoardBar&, const BoardBar&) = default;
};

// An access of the management port, beside the control processor (board.toml)
// Little-endian, 6 bytes.
struct BoardCsr {
  static constexpr size_t kBytes = 6;
  static constexpr size_t kValueOffset = 2;
  uint16_t offset{};  // Of the register
  bool is_write{};  // 1: a write, 0: a read
  uint32_t value{};  // Of a write

  static constexpr BoardCsr Decode(const uint8_t* bytes) {
    BoardCsr result;
    result.offset = static_cast<uint16_t>(detail::GetLittle<0, 15>(bytes));
    result.is_write = static_cast<bool>(detail::GetLittle<15, 1>(bytes));
    result.value = static_cast<uint32_t>(detail::GetLittle<16, 32>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 15>(bytes, static_cast<uint64_t>(offset));
    detail::PutLittle<15, 1>(bytes, static_cast<uint64_t>(is_write));
    detail::PutLittle<16, 32>(bytes, static_cast<uint64_t>(value));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("offset", self.offset, 15);
    f("is_write", self.is_write, 1);
    f("value", self.value, 32);
  }

  friend constexpr bool operator==(const BoardCsr&, const BoardCsr&) = default;
};

// Credits in beats; they count from the next cycle that is run (board.toml)
// Little-endian, 4 bytes.
struct BoardCredits {
  static constexpr size_t kBytes = 4;
  static constexpr size_t kDmaWriteOffset = 0;
  static constexpr size_t kTransmitOffset = 2;
  uint16_t dma_write{};  // Of DMA writes
  uint16_t transmit{};  // Of frames

  static constexpr BoardCredits Decode(const uint8_t* bytes) {
    BoardCredits result;
    result.dma_write = static_cast<uint16_t>(detail::GetLittle<0, 16>(bytes));
    result.transmit = static_cast<uint16_t>(detail::GetLittle<16, 16>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 16>(bytes, static_cast<uint64_t>(dma_write));
    detail::PutLittle<16, 16>(bytes, static_cast<uint64_t>(transmit));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("dma_write", self.dma_write, 16);
    f("transmit", self.transmit, 16);
  }
  static constexpr BoardCredits FromWord(uint32_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 32>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint32_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
  }

  friend constexpr bool operator==(const BoardCredits&, const BoardCredits&) = default;
};

// Beats of 8 bytes of a DMA read's data, as they are on the bus (lane: address modulo 8) (board.toml)
// Little-endian, 4 bytes.
struct BoardReadBeats {
  static constexpr size_t kBytes = 4;
  static constexpr size_t kCountOffset = 0;
  static constexpr size_t kTagOffset = 1;
  uint8_t count{};  // How many follow, 1 or more
  uint8_t tag{};  // Of the request
  uint8_t resp{};  // AXI response of each of these beats
  bool last{};  // The last of these beats ends the request
  uint8_t reserved{};  // 0
  uint8_t reserved1{};  // 0

  static constexpr BoardReadBeats Decode(const uint8_t* bytes) {
    BoardReadBeats result;
    result.count = static_cast<uint8_t>(detail::GetLittle<0, 8>(bytes));
    result.tag = static_cast<uint8_t>(detail::GetLittle<8, 8>(bytes));
    result.resp = static_cast<uint8_t>(detail::GetLittle<16, 2>(bytes));
    result.last = static_cast<bool>(detail::GetLittle<18, 1>(bytes));
    result.reserved = static_cast<uint8_t>(detail::GetLittle<19, 5>(bytes));
    result.reserved1 = static_cast<uint8_t>(detail::GetLittle<24, 8>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 8>(bytes, static_cast<uint64_t>(count));
    detail::PutLittle<8, 8>(bytes, static_cast<uint64_t>(tag));
    detail::PutLittle<16, 2>(bytes, static_cast<uint64_t>(resp));
    detail::PutLittle<18, 1>(bytes, static_cast<uint64_t>(last));
    detail::PutLittle<19, 5>(bytes, static_cast<uint64_t>(reserved));
    detail::PutLittle<24, 8>(bytes, static_cast<uint64_t>(reserved1));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("count", self.count, 8);
    f("tag", self.tag, 8);
    f("resp", self.resp, 2);
    f("last", self.last, 1);
    f("reserved", self.reserved, 5);
    f("reserved1", self.reserved1, 8);
  }
  static constexpr BoardReadBeats FromWord(uint32_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 32>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint32_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
  }

  friend constexpr bool operator==(const BoardReadBeats&, const BoardReadBeats&) = default;
};

// Beats of 8 bytes of a received frame (board.toml)
// Little-endian, 3 bytes.
struct BoardFrameBeats {
  static constexpr size_t kBytes = 3;
  static constexpr size_t kCountOffset = 0;
  static constexpr size_t kKeepOffset = 2;
  uint8_t count{};  // How many follow, 1 or more
  bool last{};  // The last of these beats ends the frame
  bool error{};  // With `last`: the MAC reports an error
  uint8_t reserved{};  // 0
  uint8_t keep{};  // A bit per byte of the last of these beats; the others are full

  static constexpr BoardFrameBeats Decode(const uint8_t* bytes) {
    BoardFrameBeats result;
    result.count = static_cast<uint8_t>(detail::GetLittle<0, 8>(bytes));
    result.last = static_cast<bool>(detail::GetLittle<8, 1>(bytes));
    result.error = static_cast<bool>(detail::GetLittle<9, 1>(bytes));
    result.reserved = static_cast<uint8_t>(detail::GetLittle<10, 6>(bytes));
    result.keep = static_cast<uint8_t>(detail::GetLittle<16, 8>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 8>(bytes, static_cast<uint64_t>(count));
    detail::PutLittle<8, 1>(bytes, static_cast<uint64_t>(last));
    detail::PutLittle<9, 1>(bytes, static_cast<uint64_t>(error));
    detail::PutLittle<10, 6>(bytes, static_cast<uint64_t>(reserved));
    detail::PutLittle<16, 8>(bytes, static_cast<uint64_t>(keep));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("count", self.count, 8);
    f("last", self.last, 1);
    f("error", self.error, 1);
    f("reserved", self.reserved, 6);
    f("keep", self.keep, 8);
  }

  friend constexpr bool operator==(const BoardFrameBeats&, const BoardFrameBeats&) = default;
};

// A word of the control processor's memory; takes effect at once, and takes no cycle (board.toml)
// Little-endian, 8 bytes.
struct BoardLoad {
  static constexpr size_t kBytes = 8;
  static constexpr size_t kAddressOffset = 0;
  static constexpr size_t kValueOffset = 4;
  uint32_t address{};  // In bytes, a multiple of 4
  uint32_t value{};  // The word

  static constexpr BoardLoad Decode(const uint8_t* bytes) {
    BoardLoad result;
    result.address = static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
    result.value = static_cast<uint32_t>(detail::GetLittle<32, 32>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 32>(bytes, static_cast<uint64_t>(address));
    detail::PutLittle<32, 32>(bytes, static_cast<uint64_t>(value));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("address", self.address, 32);
    f("value", self.value, 32);
  }
  static constexpr BoardLoad FromWord(uint64_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 64>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint64_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint64_t>(detail::GetLittle<0, 64>(bytes));
  }

  friend constexpr bool operator==(const BoardLoad&, const BoardLoad&) = default;
};

// Answer of the oldest BAR read (board.toml)
// Little-endian, 8 bytes.
struct BoardBarAnswer {
  static constexpr size_t kBytes = 8;
  static constexpr size_t kValueOffset = 0;
  uint64_t value{};  // What was read

  static constexpr BoardBarAnswer Decode(const uint8_t* bytes) {
    BoardBarAnswer result;
    result.value = static_cast<uint64_t>(detail::GetLittle<0, 64>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 64>(bytes, static_cast<uint64_t>(value));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("value", self.value, 64);
  }
  static constexpr BoardBarAnswer FromWord(uint64_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 64>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint64_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint64_t>(detail::GetLittle<0, 64>(bytes));
  }

  friend constexpr bool operator==(const BoardBarAnswer&, const BoardBarAnswer&) = default;
};

// Answer of a read at the management port (board.toml)
// Little-endian, 4 bytes.
struct BoardCsrAnswer {
  static constexpr size_t kBytes = 4;
  static constexpr size_t kValueOffset = 0;
  uint32_t value{};  // What was read

  static constexpr BoardCsrAnswer Decode(const uint8_t* bytes) {
    BoardCsrAnswer result;
    result.value = static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 32>(bytes, static_cast<uint64_t>(value));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("value", self.value, 32);
  }
  static constexpr BoardCsrAnswer FromWord(uint32_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 32>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint32_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
  }

  friend constexpr bool operator==(const BoardCsrAnswer&, const BoardCsrAnswer&) = default;
};

// The interrupt of the management registers has changed (board.toml)
// Little-endian, 1 bytes.
struct BoardInterrupt {
  static constexpr size_t kBytes = 1;
  static constexpr size_t kLevelOffset = 0;
  uint8_t level{};  // Now

  static constexpr BoardInterrupt Decode(const uint8_t* bytes) {
    BoardInterrupt result;
    result.level = static_cast<uint8_t>(detail::GetLittle<0, 8>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 8>(bytes, static_cast<uint64_t>(level));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("level", self.level, 8);
  }
  static constexpr BoardInterrupt FromWord(uint8_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 8>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint8_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint8_t>(detail::GetLittle<0, 8>(bytes));
  }

  friend constexpr bool operator==(const BoardInterrupt&, const BoardInterrupt&) = default;
};

// A DMA read (board.toml)
// Little-endian, 12 bytes.
struct BoardRead {
  static constexpr size_t kBytes = 12;
  static constexpr size_t kAddressOffset = 0;
  static constexpr size_t kLengthOffset = 8;
  static constexpr size_t kTagOffset = 10;
  uint64_t address{};  // Of its first byte
  uint16_t length{};  // How many
  uint16_t tag{};  // Of the request

  static constexpr BoardRead Decode(const uint8_t* bytes) {
    BoardRead result;
    result.address = static_cast<uint64_t>(detail::GetLittle<0, 64>(bytes));
    result.length = static_cast<uint16_t>(detail::GetLittle<64, 16>(bytes));
    result.tag = static_cast<uint16_t>(detail::GetLittle<80, 16>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 64>(bytes, static_cast<uint64_t>(address));
    detail::PutLittle<64, 16>(bytes, static_cast<uint64_t>(length));
    detail::PutLittle<80, 16>(bytes, static_cast<uint64_t>(tag));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("address", self.address, 64);
    f("length", self.length, 16);
    f("tag", self.tag, 16);
  }

  friend constexpr bool operator==(const BoardRead&, const BoardRead&) = default;
};

// A DMA write (board.toml)
// Little-endian, 10 bytes.
struct BoardWrite {
  static constexpr size_t kBytes = 10;
  static constexpr size_t kAddressOffset = 0;
  static constexpr size_t kLengthOffset = 8;
  uint64_t address{};  // Of its first byte
  uint16_t length{};  // How many

  static constexpr BoardWrite Decode(const uint8_t* bytes) {
    BoardWrite result;
    result.address = static_cast<uint64_t>(detail::GetLittle<0, 64>(bytes));
    result.length = static_cast<uint16_t>(detail::GetLittle<64, 16>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 64>(bytes, static_cast<uint64_t>(address));
    detail::PutLittle<64, 16>(bytes, static_cast<uint64_t>(length));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("address", self.address, 64);
    f("length", self.length, 16);
  }

  friend constexpr bool operator==(const BoardWrite&, const BoardWrite&) = default;
};

// A message (board.toml)
// Little-endian, 2 bytes.
struct BoardMsix {
  static constexpr size_t kBytes = 2;
  static constexpr size_t kNumberOffset = 0;
  uint16_t number{};  // The vector

  static constexpr BoardMsix Decode(const uint8_t* bytes) {
    BoardMsix result;
    result.number = static_cast<uint16_t>(detail::GetLittle<0, 16>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 16>(bytes, static_cast<uint64_t>(number));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("number", self.number, 16);
  }
  static constexpr BoardMsix FromWord(uint16_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 16>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint16_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint16_t>(detail::GetLittle<0, 16>(bytes));
  }

  friend constexpr bool operator==(const BoardMsix&, const BoardMsix&) = default;
};

// A beat of a transmitted frame (board.toml)
// Little-endian, 9 bytes.
struct BoardTransmit {
  static constexpr size_t kBytes = 9;
  static constexpr size_t kDataOffset = 1;
  uint8_t length{};  // 1 to 8
  bool last{};  // The frame ends
  uint8_t data[8]{};  // From lane 0

  static constexpr BoardTransmit Decode(const uint8_t* bytes) {
    BoardTransmit result;
    result.length = static_cast<uint8_t>(detail::GetLittle<0, 7>(bytes));
    result.last = static_cast<bool>(detail::GetLittle<7, 1>(bytes));
    for (size_t i = 0; i < 8; ++i) result.data[i] = static_cast<uint8_t>(detail::GetLittle<0, 8>(bytes + 1 + i * 1));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 7>(bytes, static_cast<uint64_t>(length));
    detail::PutLittle<7, 1>(bytes, static_cast<uint64_t>(last));
    for (size_t i = 0; i < 8; ++i) detail::PutLittle<0, 8>(bytes + 1 + i * 1, data[i]);
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("length", self.length, 7);
    f("last", self.last, 1);
    for (size_t i = 0; i < 8; ++i) f("data", self.data[i], 8);
  }

  friend constexpr bool operator==(const BoardTransmit&, const BoardTransmit&) = default;
};

// The end of a run (board.toml)
// Little-endian, 12 bytes.
struct BoardRan {
  static constexpr size_t kBytes = 12;
  static constexpr size_t kCyclesOffset = 0;
  static constexpr size_t kFailureOffset = 3;
  static constexpr size_t kDeadlineNsOffset = 4;
  uint16_t cycles{};  // That were run; fewer than asked for: see `board_run`
  bool is_quiet{};  // Nothing changes before the next input or `deadline_ns`
  bool is_waiting{};  // The control processor waits for the interrupt, or there is none that runs
  uint8_t reserved{};  // 0
  ProcessorFailure failure{};  // While the control processor is stopped: why
  uint64_t deadline_ns{};  // Device time of the NIC's earliest timer; 0 or all ones: none runs

  static constexpr BoardRan Decode(const uint8_t* bytes) {
    BoardRan result;
    result.cycles = static_cast<uint16_t>(detail::GetLittle<0, 16>(bytes));
    result.is_quiet = static_cast<bool>(detail::GetLittle<16, 1>(bytes));
    result.is_waiting = static_cast<bool>(detail::GetLittle<17, 1>(bytes));
    result.reserved = static_cast<uint8_t>(detail::GetLittle<18, 6>(bytes));
    result.failure = static_cast<ProcessorFailure>(detail::GetLittle<24, 8>(bytes));
    result.deadline_ns = static_cast<uint64_t>(detail::GetLittle<32, 64>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 16>(bytes, static_cast<uint64_t>(cycles));
    detail::PutLittle<16, 1>(bytes, static_cast<uint64_t>(is_quiet));
    detail::PutLittle<17, 1>(bytes, static_cast<uint64_t>(is_waiting));
    detail::PutLittle<18, 6>(bytes, static_cast<uint64_t>(reserved));
    detail::PutLittle<24, 8>(bytes, static_cast<uint64_t>(failure));
    detail::PutLittle<32, 64>(bytes, static_cast<uint64_t>(deadline_ns));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("cycles", self.cycles, 16);
    f("is_quiet", self.is_quiet, 1);
    f("is_waiting", self.is_waiting, 1);
    f("reserved", self.reserved, 6);
    f("failure", self.failure, 8);
    f("deadline_ns", self.deadline_ns, 64);
  }

  friend constexpr bool operator==(const BoardRan&, const BoardRan&) = default;
};

// Device configuration, read-only. A field exists if its feature is offered and reads 0 otherwise. [virtio 1.3, 5.1.4; linux/virtio_net.h (without the last field)] (net.toml)
// Little-endian, 28 bytes.
struct NetConfig {
  static constexpr size_t kBytes = 28;
  static constexpr size_t kMacOffset = 0;
  static constexpr size_t kStatusOffset = 6;
  static constexpr size_t kMaxVirtqueuePairsOffset = 8;
  static constexpr size_t kMtuOffset = 10;
  static constexpr size_t kSpeedOffset = 12;
  static constexpr size_t kDuplexOffset = 16;
  static constexpr size_t kRssMaxKeySizeOffset = 17;
  static constexpr size_t kRssMaxIndirectionTableLengthOffset = 18;
  static constexpr size_t kSupportedHashTypesOffset = 20;
  static constexpr size_t kSupportedTunnelTypesOffset = 24;
  uint8_t mac[6]{};  // MAC address; feature mac
  uint16_t status{};  // Feature status; flags: NetStatus
  uint16_t max_virtqueue_pairs{};  // Queue pairs, net_mq_vq_pairs_min to _max; feature mq or rss
  uint16_t mtu{};  // Largest IP packet in bytes, never changes; feature mtu
  uint32_t speed{};  // Mb/s or net_speed_unknown; feature speed_duplex
  NetDuplex duplex{};  // Feature speed_duplex
  uint8_t rss_max_key_size{};  // Longest hash key in bytes; feature rss or hash_report
  uint16_t rss_max_indirection_table_length{};  // Most table entries; feature rss
  uint32_t supported_hash_types{};  // Feature rss or hash_report; flags: NetHashTypes
  uint32_t supported_tunnel_types{};  // Feature hash_tunnel; flags: NetHashTunnelTypes [vireo profile; else reserved]

  static constexpr NetConfig Decode(const uint8_t* bytes) {
    NetConfig result;
    for (size_t i = 0; i < 6; ++i) result.mac[i] = static_cast<uint8_t>(detail::GetLittle<0, 8>(bytes + 0 + i * 1));
    result.status = static_cast<uint16_t>(detail::GetLittle<48, 16>(bytes));
    result.max_virtqueue_pairs = static_cast<uint16_t>(detail::GetLittle<64, 16>(bytes));
    result.mtu = static_cast<uint16_t>(detail::GetLittle<80, 16>(bytes));
    result.speed = static_cast<uint32_t>(detail::GetLittle<96, 32>(bytes));
    result.duplex = static_cast<NetDuplex>(detail::GetLittle<128, 8>(bytes));
    result.rss_max_key_size = static_cast<uint8_t>(detail::GetLittle<136, 8>(bytes));
    result.rss_max_indirection_table_length = static_cast<uint16_t>(detail::GetLittle<144, 16>(bytes));
    result.supported_hash_types = static_cast<uint32_t>(detail::GetLittle<160, 32>(bytes));
    result.supported_tunnel_types = static_cast<uint32_t>(detail::GetLittle<192, 32>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    for (size_t i = 0; i < 6; ++i) detail::PutLittle<0, 8>(bytes + 0 + i * 1, mac[i]);
    detail::PutLittle<48, 16>(bytes, static_cast<uint64_t>(status));
    detail::PutLittle<64, 16>(bytes, static_cast<uint64_t>(max_virtqueue_pairs));
    detail::PutLittle<80, 16>(bytes, static_cast<uint64_t>(mtu));
    detail::PutLittle<96, 32>(bytes, static_cast<uint64_t>(speed));
    detail::PutLittle<128, 8>(bytes, static_cast<uint64_t>(duplex));
    detail::PutLittle<136, 8>(bytes, static_cast<uint64_t>(rss_max_key_size));
    detail::PutLittle<144, 16>(bytes, static_cast<uint64_t>(rss_max_indirection_table_length));
    detail::PutLittle<160, 32>(bytes, static_cast<uint64_t>(supported_hash_types));
    detail::PutLittle<192, 32>(bytes, static_cast<uint64_t>(supported_tunnel_types));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    for (size_t i = 0; i < 6; ++i) f("mac", self.mac[i], 8);
    f("status", self.status, 16);
    f("max_virtqueue_pairs", self.max_virtqueue_pairs, 16);
    f("mtu", self.mtu, 16);
    f("speed", self.speed, 32);
    f("duplex", self.duplex, 8);
    f("rss_max_key_size", self.rss_max_key_size, 8);
    f("rss_max_indirection_table_length", self.rss_max_indirection_table_length, 16);
    f("supported_hash_types", self.supported_hash_types, 32);
    f("supported_tunnel_types", self.supported_tunnel_types, 32);
  }

  friend constexpr bool operator==(const NetConfig&, const NetConfig&) = default;
};

// Precedes every packet in transmit and receive buffers; a packet's second and later receive buffers have none. [virtio 1.3, 5.1.6; linux/virtio_net.h (virtio_net_hdr_v1)] (net.toml)
// Little-endian, 12 bytes.
struct NetHdr {
  static constexpr size_t kBytes = 12;
  static constexpr size_t kFlagsOffset = 0;
  static constexpr size_t kHdrLenOffset = 2;
  static constexpr size_t kGsoSizeOffset = 4;
  static constexpr size_t kCsumStartOffset = 6;
  static constexpr size_t kCsumOffsetOffset = 8;
  static constexpr size_t kNumBuffersOffset = 10;
  uint8_t flags{};  // Checksum state; flags: NetHdrFlags
  NetHdrGso gso_type{};  // Segmentation; the standard's gso_type is this whole byte
  bool gso_udp_tunnel_ipv4{};  // gso_type 0x20: inside a UDP tunnel over IPv4
  bool gso_udp_tunnel_ipv6{};  // gso_type 0x40: inside a UDP tunnel over IPv6
  bool gso_ecn{};  // gso_type 0x80: the TCP packet has ECN set; features *_ecn
  uint16_t hdr_len{};  // Bytes of all headers; exact with guest_hdrlen and segmentation, else a hint
  uint16_t gso_size{};  // Payload bytes of each segment; not 0 if gso_type is not none
  uint16_t csum_start{};  // First byte to sum; with rsc_info, segments merged
  uint16_t csum_offset{};  // From csum_start to the checksum; with rsc_info, duplicate ACKs merged
  uint16_t num_buffers{};  // Received: buffers used, 1 without mrg_rxbuf. Sent: 0

  static constexpr NetHdr Decode(const uint8_t* bytes) {
    NetHdr result;
    result.flags = static_cast<uint8_t>(detail::GetLittle<0, 8>(bytes));
    result.gso_type = static_cast<NetHdrGso>(detail::GetLittle<8, 5>(bytes));
    result.gso_udp_tunnel_ipv4 = static_cast<bool>(detail::GetLittle<13, 1>(bytes));
    result.gso_udp_tunnel_ipv6 = static_cast<bool>(detail::GetLittle<14, 1>(bytes));
    result.gso_ecn = static_cast<bool>(detail::GetLittle<15, 1>(bytes));
    result.hdr_len = static_cast<uint16_t>(detail::GetLittle<16, 16>(bytes));
    result.gso_size = static_cast<uint16_t>(detail::GetLittle<32, 16>(bytes));
    result.csum_start = static_cast<uint16_t>(detail::GetLittle<48, 16>(bytes));
    result.csum_offset = static_cast<uint16_t>(detail::GetLittle<64, 16>(bytes));
    result.num_buffers = static_cast<uint16_t>(detail::GetLittle<80, 16>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 8>(bytes, static_cast<uint64_t>(flags));
    detail::PutLittle<8, 5>(bytes, static_cast<uint64_t>(gso_type));
    detail::PutLittle<13, 1>(bytes, static_cast<uint64_t>(gso_udp_tunnel_ipv4));
    detail::PutLittle<14, 1>(bytes, static_cast<uint64_t>(gso_udp_tunnel_ipv6));
    detail::PutLittle<15, 1>(bytes, static_cast<uint64_t>(gso_ecn));
    detail::PutLittle<16, 16>(bytes, static_cast<uint64_t>(hdr_len));
    detail::PutLittle<32, 16>(bytes, static_cast<uint64_t>(gso_size));
    detail::PutLittle<48, 16>(bytes, static_cast<uint64_t>(csum_start));
    detail::PutLittle<64, 16>(bytes, static_cast<uint64_t>(csum_offset));
    detail::PutLittle<80, 16>(bytes, static_cast<uint64_t>(num_buffers));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("flags", self.flags, 8);
    f("gso_type", self.gso_type, 5);
    f("gso_udp_tunnel_ipv4", self.gso_udp_tunnel_ipv4, 1);
    f("gso_udp_tunnel_ipv6", self.gso_udp_tunnel_ipv6, 1);
    f("gso_ecn", self.gso_ecn, 1);
    f("hdr_len", self.hdr_len, 16);
    f("gso_size", self.gso_size, 16);
    f("csum_start", self.csum_start, 16);
    f("csum_offset", self.csum_offset, 16);
    f("num_buffers", self.num_buffers, 16);
  }

  friend constexpr bool operator==(const NetHdr&, const NetHdr&) = default;
};

// Packet header if hash_report was accepted, in both directions. [virtio 1.3, 5.1.6; linux/virtio_net.h (virtio_net_hdr_v1_hash)] (net.toml)
// Little-endian, 20 bytes.
struct NetHdrHash {
  static constexpr size_t kBytes = 20;
  static constexpr size_t kHdrOffset = 0;
  static constexpr size_t kHashValueOffset = 12;
  static constexpr size_t kHashReportOffset = 16;
  static constexpr size_t kPaddingReservedOffset = 18;
  NetHdr hdr{};  // As without hash
  uint32_t hash_value{};  // Toeplitz hash of a received packet
  NetHashReport hash_report{};  // Input of the hash
  uint16_t padding_reserved{};  // 0

  static constexpr NetHdrHash Decode(const uint8_t* bytes) {
    NetHdrHash result;
    result.hdr = NetHdr::Decode(bytes + 0);
    result.hash_value = static_cast<uint32_t>(detail::GetLittle<96, 32>(bytes));
    result.hash_report = static_cast<NetHashReport>(detail::GetLittle<128, 16>(bytes));
    result.padding_reserved = static_cast<uint16_t>(detail::GetLittle<144, 16>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    hdr.Encode(bytes + 0);
    detail::PutLittle<96, 32>(bytes, static_cast<uint64_t>(hash_value));
    detail::PutLittle<128, 16>(bytes, static_cast<uint64_t>(hash_report));
    detail::PutLittle<144, 16>(bytes, static_cast<uint64_t>(padding_reserved));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    NetHdr::Visit(self.hdr, f);
    f("hash_value", self.hash_value, 32);
    f("hash_report", self.hash_report, 16);
    f("padding_reserved", self.padding_reserved, 16);
  }

  friend constexpr bool operator==(const NetHdrHash&, const NetHdrHash&) = default;
};

// Packet header if *_udp_tunnel_gso was accepted; the hash fields keep their place even without hash_report. [virtio 1.4, 5.1.6; linux/virtio_net.h 7.2 (virtio_net_hdr_v1_hash_tunnel)] (net.toml)
// Little-endian, 24 bytes.
struct NetHdrHashTunnel {
  static constexpr size_t kBytes = 24;
  static constexpr size_t kHashHdrOffset = 0;
  static constexpr size_t kOuterThOffsetOffset = 20;
  static constexpr size_t kInnerNhOffsetOffset = 22;
  NetHdrHash hash_hdr{};  // csum_start refers to the inner transport header
  uint16_t outer_th_offset{};  // Bytes from the packet's start to the outer UDP header
  uint16_t inner_nh_offset{};  // Bytes from the packet's start to the inner IP header

  static constexpr NetHdrHashTunnel Decode(const uint8_t* bytes) {
    NetHdrHashTunnel result;
    result.hash_hdr = NetHdrHash::Decode(bytes + 0);
    result.outer_th_offset = static_cast<uint16_t>(detail::GetLittle<160, 16>(bytes));
    result.inner_nh_offset = static_cast<uint16_t>(detail::GetLittle<176, 16>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    hash_hdr.Encode(bytes + 0);
    detail::PutLittle<160, 16>(bytes, static_cast<uint64_t>(outer_th_offset));
    detail::PutLittle<176, 16>(bytes, static_cast<uint64_t>(inner_nh_offset));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    NetHdrHash::Visit(self.hash_hdr, f);
    f("outer_th_offset", self.outer_th_offset, 16);
    f("inner_nh_offset", self.inner_nh_offset, 16);
  }

  friend constexpr bool operator==(const NetHdrHashTunnel&, const NetHdrHashTunnel&) = default;
};

// Packet header if out_net_header was accepted. [virtio 1.4, 5.1.6; Linux patch series of 2025-10-08 (in no released header)] (net.toml)
// Little-endian, 32 bytes.
struct NetHdrHashTunnelOutNetHdr {
  static constexpr size_t kBytes = 32;
  static constexpr size_t kTnlHdrOffset = 0;
  static constexpr size_t kOuterNhOffsetOffset = 24;
  static constexpr size_t kPaddingReserved2Offset = 26;
  NetHdrHashTunnel tnl_hdr{};  // As without this feature
  uint16_t outer_nh_offset{};  // Bytes from the packet's start to the outer IP header
  uint8_t padding_reserved_2[6]{};  // 0; with ipsec a resource number and type

  static constexpr NetHdrHashTunnelOutNetHdr Decode(const uint8_t* bytes) {
    NetHdrHashTunnelOutNetHdr result;
    result.tnl_hdr = NetHdrHashTunnel::Decode(bytes + 0);
    result.outer_nh_offset = static_cast<uint16_t>(detail::GetLittle<192, 16>(bytes));
    for (size_t i = 0; i < 6; ++i) result.padding_reserved_2[i] = static_cast<uint8_t>(detail::GetLittle<0, 8>(bytes + 26 + i * 1));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    tnl_hdr.Encode(bytes + 0);
    detail::PutLittle<192, 16>(bytes, static_cast<uint64_t>(outer_nh_offset));
    for (size_t i = 0; i < 6; ++i) detail::PutLittle<0, 8>(bytes + 26 + i * 1, padding_reserved_2[i]);
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    NetHdrHashTunnel::Visit(self.tnl_hdr, f);
    f("outer_nh_offset", self.outer_nh_offset, 16);
    for (size_t i = 0; i < 6; ++i) f("padding_reserved_2", self.padding_reserved_2[i], 8);
  }

  friend constexpr bool operator==(const NetHdrHashTunnelOutNetHdr&, const NetHdrHashTunnelOutNetHdr&) = default;
};

// Head of every command: header, request, then the part that the device writes: ack (net_ctrl_ack), response. [virtio 1.3, 5.1.6.5; linux/virtio_net.h] (net.toml)
// Little-endian, 2 bytes.
struct NetCtrlHdr {
  static constexpr size_t kBytes = 2;
  static constexpr size_t kCtrlClassOffset = 0;
  static constexpr size_t kCommandOffset = 1;
  NetCtrlClass ctrl_class{};  // Class; `class` in the standard, a C++ keyword
  uint8_t command{};  // Command of the class: net_ctrl_<class>_cmd

  static constexpr NetCtrlHdr Decode(const uint8_t* bytes) {
    NetCtrlHdr result;
    result.ctrl_class = static_cast<NetCtrlClass>(detail::GetLittle<0, 8>(bytes));
    result.command = static_cast<uint8_t>(detail::GetLittle<8, 8>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 8>(bytes, static_cast<uint64_t>(ctrl_class));
    detail::PutLittle<8, 8>(bytes, static_cast<uint64_t>(command));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("ctrl_class", self.ctrl_class, 8);
    f("command", self.command, 8);
  }
  static constexpr NetCtrlHdr FromWord(uint16_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 16>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint16_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint16_t>(detail::GetLittle<0, 16>(bytes));
  }

  friend constexpr bool operator==(const NetCtrlHdr&, const NetCtrlHdr&) = default;
};

// Request of every command of class rx. [virtio 1.3, 5.1.6.5.1] (net.toml)
// Little-endian, 1 bytes.
struct NetCtrlRx {
  static constexpr size_t kBytes = 1;
  static constexpr size_t kOnOffset = 0;
  uint8_t on{};  // 0 mode off, 1 mode on

  static constexpr NetCtrlRx Decode(const uint8_t* bytes) {
    NetCtrlRx result;
    result.on = static_cast<uint8_t>(detail::GetLittle<0, 8>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 8>(bytes, static_cast<uint64_t>(on));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("on", self.on, 8);
  }
  static constexpr NetCtrlRx FromWord(uint8_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 8>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint8_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint8_t>(detail::GetLittle<0, 8>(bytes));
  }

  friend constexpr bool operator==(const NetCtrlRx&, const NetCtrlRx&) = default;
};

// A MAC address: request of mac_addr_set, element of net_ctrl_mac. [virtio 1.3, 5.1.6.5.2] (net.toml)
// Little-endian, 6 bytes.
struct NetCtrlMacAddr {
  static constexpr size_t kBytes = 6;
  static constexpr size_t kMacOffset = 0;
  uint8_t mac[6]{};  // MAC address

  static constexpr NetCtrlMacAddr Decode(const uint8_t* bytes) {
    NetCtrlMacAddr result;
    for (size_t i = 0; i < 6; ++i) result.mac[i] = static_cast<uint8_t>(detail::GetLittle<0, 8>(bytes + 0 + i * 1));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    for (size_t i = 0; i < 6; ++i) detail::PutLittle<0, 8>(bytes + 0 + i * 1, mac[i]);
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    for (size_t i = 0; i < 6; ++i) f("mac", self.mac[i], 8);
  }

  friend constexpr bool operator==(const NetCtrlMacAddr&, const NetCtrlMacAddr&) = default;
};

// Address table. mac_table_set has two of them, one directly after the other: unicast, then multicast. [virtio 1.3, 5.1.6.5.2; linux/virtio_net.h] (net.toml)
// Little-endian, 4 bytes. Followed by macs[]: NetCtrlMacAddr.
struct NetCtrlMac {
  static constexpr size_t kBytes = 4;
  static constexpr size_t kEntriesOffset = 0;
  uint32_t entries{};  // Addresses that follow; 0 is allowed

  static constexpr NetCtrlMac Decode(const uint8_t* bytes) {
    NetCtrlMac result;
    result.entries = static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 32>(bytes, static_cast<uint64_t>(entries));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("entries", self.entries, 32);
  }
  static constexpr NetCtrlMac FromWord(uint32_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 32>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint32_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
  }

  friend constexpr bool operator==(const NetCtrlMac&, const NetCtrlMac&) = default;
};

// Request of every command of class vlan. [virtio 1.3, 5.1.6.5.3] (net.toml)
// Little-endian, 2 bytes.
struct NetCtrlVlan {
  static constexpr size_t kBytes = 2;
  static constexpr size_t kVlanIdOffset = 0;
  uint16_t vlan_id{};  // VLAN identifier, 0 to 4095

  static constexpr NetCtrlVlan Decode(const uint8_t* bytes) {
    NetCtrlVlan result;
    result.vlan_id = static_cast<uint16_t>(detail::GetLittle<0, 16>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 16>(bytes, static_cast<uint64_t>(vlan_id));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("vlan_id", self.vlan_id, 16);
  }
  static constexpr NetCtrlVlan FromWord(uint16_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 16>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint16_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint16_t>(detail::GetLittle<0, 16>(bytes));
  }

  friend constexpr bool operator==(const NetCtrlVlan&, const NetCtrlVlan&) = default;
};

// Request of mq_vq_pairs_set. [virtio 1.3, 5.1.6.5.6; linux/virtio_net.h (virtio_net_ctrl_mq)] (net.toml)
// Little-endian, 2 bytes.
struct NetCtrlMqPairsSet {
  static constexpr size_t kBytes = 2;
  static constexpr size_t kVirtqueuePairsOffset = 0;
  uint16_t virtqueue_pairs{};  // Pairs in use: 1 to max_virtqueue_pairs; 1 after reset

  static constexpr NetCtrlMqPairsSet Decode(const uint8_t* bytes) {
    NetCtrlMqPairsSet result;
    result.virtqueue_pairs = static_cast<uint16_t>(detail::GetLittle<0, 16>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 16>(bytes, static_cast<uint64_t>(virtqueue_pairs));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("virtqueue_pairs", self.virtqueue_pairs, 16);
  }
  static constexpr NetCtrlMqPairsSet FromWord(uint16_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 16>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint16_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint16_t>(detail::GetLittle<0, 16>(bytes));
  }

  friend constexpr bool operator==(const NetCtrlMqPairsSet&, const NetCtrlMqPairsSet&) = default;
};

// A receive queue. [virtio 1.3, 5.1.6.5.7.1] (net.toml)
// Little-endian, 2 bytes.
struct RssRqId {
  static constexpr size_t kBytes = 2;
  uint16_t vq_index_1_16{};  // Queue index / 2, which is the pair's number from 0
  bool reserved{};  // 0

  static constexpr RssRqId Decode(const uint8_t* bytes) {
    RssRqId result;
    result.vq_index_1_16 = static_cast<uint16_t>(detail::GetLittle<0, 15>(bytes));
    result.reserved = static_cast<bool>(detail::GetLittle<15, 1>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 15>(bytes, static_cast<uint64_t>(vq_index_1_16));
    detail::PutLittle<15, 1>(bytes, static_cast<uint64_t>(reserved));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("vq_index_1_16", self.vq_index_1_16, 15);
    f("reserved", self.reserved, 1);
  }
  static constexpr RssRqId FromWord(uint16_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 16>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint16_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint16_t>(detail::GetLittle<0, 16>(bytes));
  }

  friend constexpr bool operator==(const RssRqId&, const RssRqId&) = default;
};

// Request of mq_rss_config, first part; net_rss_config_trailer follows the table. [virtio 1.3, 5.1.6.5.7.1; linux/virtio_net.h (virtio_net_rss_config_hdr)] (net.toml)
// Little-endian, 8 bytes. Followed by indirection_table[]: RssRqId.
struct NetRssConfigHdr {
  static constexpr size_t kBytes = 8;
  static constexpr size_t kHashTypesOffset = 0;
  static constexpr size_t kIndirectionTableMaskOffset = 4;
  static constexpr size_t kUnclassifiedQueueOffset = 6;
  uint32_t hash_types{};  // Packets to hash; within supported_hash_types; flags: NetHashTypes
  uint16_t indirection_table_mask{};  // Table entries - 1; entries are a power of 2 within the device's limit
  RssRqId unclassified_queue{};  // Queue of packets without hash

  static constexpr NetRssConfigHdr Decode(const uint8_t* bytes) {
    NetRssConfigHdr result;
    result.hash_types = static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
    result.indirection_table_mask = static_cast<uint16_t>(detail::GetLittle<32, 16>(bytes));
    result.unclassified_queue = RssRqId::Decode(bytes + 6);
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 32>(bytes, static_cast<uint64_t>(hash_types));
    detail::PutLittle<32, 16>(bytes, static_cast<uint64_t>(indirection_table_mask));
    unclassified_queue.Encode(bytes + 6);
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("hash_types", self.hash_types, 32);
    f("indirection_table_mask", self.indirection_table_mask, 16);
    RssRqId::Visit(self.unclassified_queue, f);
  }
  static constexpr NetRssConfigHdr FromWord(uint64_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 64>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint64_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint64_t>(detail::GetLittle<0, 64>(bytes));
  }

  friend constexpr bool operator==(const NetRssConfigHdr&, const NetRssConfigHdr&) = default;
};

// Request of mq_rss_config, second part: hash_key_length key bytes follow. [virtio 1.3, 5.1.6.5.7.1; linux/virtio_net.h (virtio_net_rss_config_trailer)] (net.toml)
// Little-endian, 3 bytes. Followed by hash_key_data[]: 1-byte values.
struct NetRssConfigTrailer {
  static constexpr size_t kBytes = 3;
  static constexpr size_t kHashKeyDataEntryBytes = 1;
  static constexpr size_t kMaxTxVqOffset = 0;
  static constexpr size_t kHashKeyLengthOffset = 2;
  uint16_t max_tx_vq{};  // Transmit queues that the driver may use: 1 to max_virtqueue_pairs
  uint8_t hash_key_length{};  // Bytes; up to rss_max_key_size

  static constexpr NetRssConfigTrailer Decode(const uint8_t* bytes) {
    NetRssConfigTrailer result;
    result.max_tx_vq = static_cast<uint16_t>(detail::GetLittle<0, 16>(bytes));
    result.hash_key_length = static_cast<uint8_t>(detail::GetLittle<16, 8>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 16>(bytes, static_cast<uint64_t>(max_tx_vq));
    detail::PutLittle<16, 8>(bytes, static_cast<uint64_t>(hash_key_length));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("max_tx_vq", self.max_tx_vq, 16);
    f("hash_key_length", self.hash_key_length, 8);
  }

  friend constexpr bool operator==(const NetRssConfigTrailer&, const NetRssConfigTrailer&) = default;
};

// Request of mq_hash_config: hash_key_length key bytes follow. Has the shape of an RSS configuration with one entry. [virtio 1.3, 5.1.6.5.6.4; linux/virtio_net.h] (net.toml)
// Little-endian, 13 bytes. Followed by hash_key_data[]: 1-byte values.
struct NetHashConfig {
  static constexpr size_t kBytes = 13;
  static constexpr size_t kHashKeyDataEntryBytes = 1;
  static constexpr size_t kHashTypesOffset = 0;
  static constexpr size_t kHashKeyLengthOffset = 12;
  uint32_t hash_types{};  // Packets to hash; none after reset; flags: NetHashTypes
  uint16_t reserved[4]{};  // 0
  uint8_t hash_key_length{};  // Bytes; up to rss_max_key_size

  static constexpr NetHashConfig Decode(const uint8_t* bytes) {
    NetHashConfig result;
    result.hash_types = static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
    for (size_t i = 0; i < 4; ++i) result.reserved[i] = static_cast<uint16_t>(detail::GetLittle<0, 16>(bytes + 4 + i * 2));
    result.hash_key_length = static_cast<uint8_t>(detail::GetLittle<96, 8>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 32>(bytes, static_cast<uint64_t>(hash_types));
    for (size_t i = 0; i < 4; ++i) detail::PutLittle<0, 16>(bytes + 4 + i * 2, reserved[i]);
    detail::PutLittle<96, 8>(bytes, static_cast<uint64_t>(hash_key_length));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("hash_types", self.hash_types, 32);
    for (size_t i = 0; i < 4; ++i) f("reserved", self.reserved[i], 16);
    f("hash_key_length", self.hash_key_length, 8);
  }

  friend constexpr bool operator==(const NetHashConfig&, const NetHashConfig&) = default;
};

// Request of guest_offloads_set. [virtio 1.3, 5.1.6.5.8.1] (net.toml)
// Little-endian, 8 bytes.
struct NetCtrlGuestOffloads {
  static constexpr size_t kBytes = 8;
  static constexpr size_t kOffloadsOffset = 0;
  uint64_t offloads{};  // Offloads on from now; accepted features only; flags: NetGuestOffloads

  static constexpr NetCtrlGuestOffloads Decode(const uint8_t* bytes) {
    NetCtrlGuestOffloads result;
    result.offloads = static_cast<uint64_t>(detail::GetLittle<0, 64>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 64>(bytes, static_cast<uint64_t>(offloads));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("offloads", self.offloads, 64);
  }
  static constexpr NetCtrlGuestOffloads FromWord(uint64_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 64>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint64_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint64_t>(detail::GetLittle<0, 64>(bytes));
  }

  friend constexpr bool operator==(const NetCtrlGuestOffloads&, const NetCtrlGuestOffloads&) = default;
};

// Interrupt after this many packets or this time since the first one, whichever comes first; 0 in either: after every packet. [virtio 1.3, 5.1.6.5.9; linux/virtio_net.h] (net.toml)
// Little-endian, 8 bytes.
struct NetCtrlCoal {
  static constexpr size_t kBytes = 8;
  static constexpr size_t kMaxPacketsOffset = 0;
  static constexpr size_t kMaxUsecsOffset = 4;
  uint32_t max_packets{};  // Packets
  uint32_t max_usecs{};  // Microseconds

  static constexpr NetCtrlCoal Decode(const uint8_t* bytes) {
    NetCtrlCoal result;
    result.max_packets = static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
    result.max_usecs = static_cast<uint32_t>(detail::GetLittle<32, 32>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 32>(bytes, static_cast<uint64_t>(max_packets));
    detail::PutLittle<32, 32>(bytes, static_cast<uint64_t>(max_usecs));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("max_packets", self.max_packets, 32);
    f("max_usecs", self.max_usecs, 32);
  }
  static constexpr NetCtrlCoal FromWord(uint64_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 64>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint64_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint64_t>(detail::GetLittle<0, 64>(bytes));
  }

  friend constexpr bool operator==(const NetCtrlCoal&, const NetCtrlCoal&) = default;
};

// Request of notf_coal_vq_set. [virtio 1.3, 5.1.6.5.9; linux/virtio_net.h] (net.toml)
// Little-endian, 12 bytes.
struct NetCtrlCoalVq {
  static constexpr size_t kBytes = 12;
  static constexpr size_t kVqIndexOffset = 0;
  static constexpr size_t kCoalOffset = 4;
  uint16_t vq_index{};  // Index of an enabled transmit or receive queue (Linux: vqn)
  uint16_t reserved{};  // Ignored
  NetCtrlCoal coal{};  // Setting

  static constexpr NetCtrlCoalVq Decode(const uint8_t* bytes) {
    NetCtrlCoalVq result;
    result.vq_index = static_cast<uint16_t>(detail::GetLittle<0, 16>(bytes));
    result.reserved = static_cast<uint16_t>(detail::GetLittle<16, 16>(bytes));
    result.coal = NetCtrlCoal::Decode(bytes + 4);
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 16>(bytes, static_cast<uint64_t>(vq_index));
    detail::PutLittle<16, 16>(bytes, static_cast<uint64_t>(reserved));
    coal.Encode(bytes + 4);
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("vq_index", self.vq_index, 16);
    f("reserved", self.reserved, 16);
    NetCtrlCoal::Visit(self.coal, f);
  }

  friend constexpr bool operator==(const NetCtrlCoalVq&, const NetCtrlCoalVq&) = default;
};

// Device-readable part of notf_coal_vq_get: net_ctrl_coal_vq without coal, which the device writes. [virtio 1.3, 5.1.6.5.9] (net.toml)
// Little-endian, 4 bytes.
struct NetCtrlCoalVqGet {
  static constexpr size_t kBytes = 4;
  static constexpr size_t kVqIndexOffset = 0;
  uint16_t vq_index{};  // Index of an enabled transmit or receive queue (Linux: vqn)
  uint16_t reserved{};  // Ignored

  static constexpr NetCtrlCoalVqGet Decode(const uint8_t* bytes) {
    NetCtrlCoalVqGet result;
    result.vq_index = static_cast<uint16_t>(detail::GetLittle<0, 16>(bytes));
    result.reserved = static_cast<uint16_t>(detail::GetLittle<16, 16>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 16>(bytes, static_cast<uint64_t>(vq_index));
    detail::PutLittle<16, 16>(bytes, static_cast<uint64_t>(reserved));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("vq_index", self.vq_index, 16);
    f("reserved", self.reserved, 16);
  }
  static constexpr NetCtrlCoalVqGet FromWord(uint32_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 32>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint32_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
  }

  friend constexpr bool operator==(const NetCtrlCoalVqGet&, const NetCtrlCoalVqGet&) = default;
};

// Request of hash_tunnel set. [virtio 1.3, 5.1.6.4.4 (virtnet_hash_tunnel)] (net.toml)
// Little-endian, 4 bytes.
struct NetHashTunnel {
  static constexpr size_t kBytes = 4;
  static constexpr size_t kEnabledTunnelTypesOffset = 0;
  uint32_t enabled_tunnel_types{};  // Within supported_tunnel_types; flags: NetHashTunnelTypes

  static constexpr NetHashTunnel Decode(const uint8_t* bytes) {
    NetHashTunnel result;
    result.enabled_tunnel_types = static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 32>(bytes, static_cast<uint64_t>(enabled_tunnel_types));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("enabled_tunnel_types", self.enabled_tunnel_types, 32);
  }
  static constexpr NetHashTunnel FromWord(uint32_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 32>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint32_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
  }

  friend constexpr bool operator==(const NetHashTunnel&, const NetHashTunnel&) = default;
};

// Response of cap_get. [virtio 1.4, 5.1.6.5, RSS Context (virtnet_rss_ctx_cap)] (net.toml)
// Little-endian, 2 bytes.
struct NetRssCtxCap {
  static constexpr size_t kBytes = 2;
  static constexpr size_t kMaxRssContextsOffset = 0;
  uint16_t max_rss_contexts{};  // Contexts beside the default one; at least 1

  static constexpr NetRssCtxCap Decode(const uint8_t* bytes) {
    NetRssCtxCap result;
    result.max_rss_contexts = static_cast<uint16_t>(detail::GetLittle<0, 16>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 16>(bytes, static_cast<uint64_t>(max_rss_contexts));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("max_rss_contexts", self.max_rss_contexts, 16);
  }
  static constexpr NetRssCtxCap FromWord(uint16_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 16>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint16_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint16_t>(detail::GetLittle<0, 16>(bytes));
  }

  friend constexpr bool operator==(const NetRssCtxCap&, const NetRssCtxCap&) = default;
};

// Request of add and mod; net_rss_config_trailer follows the table. [virtio 1.4, 5.1.6.5, RSS Context (virtnet_rss_ctx_add_modify)] (net.toml)
// Little-endian, 16 bytes. Followed by indirection_table[]: RssRqId.
struct NetRssCtxAddModify {
  static constexpr size_t kBytes = 16;
  static constexpr size_t kRssCtxIdOffset = 0;
  static constexpr size_t kRssOffset = 8;
  uint16_t rss_ctx_id{};  // 1 to max_rss_contexts
  uint8_t reserved[6]{};  // Ignored
  NetRssConfigHdr rss{};  // RSS configuration of the context

  static constexpr NetRssCtxAddModify Decode(const uint8_t* bytes) {
    NetRssCtxAddModify result;
    result.rss_ctx_id = static_cast<uint16_t>(detail::GetLittle<0, 16>(bytes));
    for (size_t i = 0; i < 6; ++i) result.reserved[i] = static_cast<uint8_t>(detail::GetLittle<0, 8>(bytes + 2 + i * 1));
    result.rss = NetRssConfigHdr::Decode(bytes + 8);
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 16>(bytes, static_cast<uint64_t>(rss_ctx_id));
    for (size_t i = 0; i < 6; ++i) detail::PutLittle<0, 8>(bytes + 2 + i * 1, reserved[i]);
    rss.Encode(bytes + 8);
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("rss_ctx_id", self.rss_ctx_id, 16);
    for (size_t i = 0; i < 6; ++i) f("reserved", self.reserved[i], 8);
    NetRssConfigHdr::Visit(self.rss, f);
  }

  friend constexpr bool operator==(const NetRssCtxAddModify&, const NetRssCtxAddModify&) = default;
};

// Request of del. [virtio 1.4, 5.1.6.5, RSS Context (virtnet_rss_ctx_del)] (net.toml)
// Little-endian, 2 bytes.
struct NetRssCtxDel {
  static constexpr size_t kBytes = 2;
  static constexpr size_t kRssCtxIdOffset = 0;
  uint16_t rss_ctx_id{};  // 1 to max_rss_contexts

  static constexpr NetRssCtxDel Decode(const uint8_t* bytes) {
    NetRssCtxDel result;
    result.rss_ctx_id = static_cast<uint16_t>(detail::GetLittle<0, 16>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 16>(bytes, static_cast<uint64_t>(rss_ctx_id));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("rss_ctx_id", self.rss_ctx_id, 16);
  }
  static constexpr NetRssCtxDel FromWord(uint16_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 16>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint16_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint16_t>(detail::GetLittle<0, 16>(bytes));
  }

  friend constexpr bool operator==(const NetRssCtxDel&, const NetRssCtxDel&) = default;
};

// Response of query. [virtio 1.4, 5.1.6.5, Device Statistics; linux/virtio_net.h] (net.toml)
// Little-endian, 8 bytes.
struct NetStatsCapabilities {
  static constexpr size_t kBytes = 8;
  static constexpr size_t kSupportedStatsTypesOffset = 0;
  uint64_t supported_stats_types{};  // Kinds that the device counts; flags: NetStatsTypes

  static constexpr NetStatsCapabilities Decode(const uint8_t* bytes) {
    NetStatsCapabilities result;
    result.supported_stats_types = static_cast<uint64_t>(detail::GetLittle<0, 64>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 64>(bytes, static_cast<uint64_t>(supported_stats_types));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("supported_stats_types", self.supported_stats_types, 64);
  }
  static constexpr NetStatsCapabilities FromWord(uint64_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 64>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint64_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint64_t>(detail::GetLittle<0, 64>(bytes));
  }

  friend constexpr bool operator==(const NetStatsCapabilities&, const NetStatsCapabilities&) = default;
};

// Element of the request of get; one error refuses the whole command. [virtio 1.4, 5.1.6.5, Device Statistics; linux/virtio_net.h] (net.toml)
// Little-endian, 16 bytes.
struct NetCtrlQueueStats {
  static constexpr size_t kBytes = 16;
  static constexpr size_t kVqIndexOffset = 0;
  static constexpr size_t kTypesBitmapOffset = 8;
  uint16_t vq_index{};  // Queue
  uint16_t reserved[3]{};  // 0
  uint64_t types_bitmap{};  // Requested kinds; each must apply to the queue; flags: NetStatsTypes

  static constexpr NetCtrlQueueStats Decode(const uint8_t* bytes) {
    NetCtrlQueueStats result;
    result.vq_index = static_cast<uint16_t>(detail::GetLittle<0, 16>(bytes));
    for (size_t i = 0; i < 3; ++i) result.reserved[i] = static_cast<uint16_t>(detail::GetLittle<0, 16>(bytes + 2 + i * 2));
    result.types_bitmap = static_cast<uint64_t>(detail::GetLittle<64, 64>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 16>(bytes, static_cast<uint64_t>(vq_index));
    for (size_t i = 0; i < 3; ++i) detail::PutLittle<0, 16>(bytes + 2 + i * 2, reserved[i]);
    detail::PutLittle<64, 64>(bytes, static_cast<uint64_t>(types_bitmap));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("vq_index", self.vq_index, 16);
    for (size_t i = 0; i < 3; ++i) f("reserved", self.reserved[i], 16);
    f("types_bitmap", self.types_bitmap, 64);
  }

  friend constexpr bool operator==(const NetCtrlQueueStats&, const NetCtrlQueueStats&) = default;
};

// Head of every net_stats_* of a response. [virtio 1.4, 5.1.6.5, Device Statistics; linux/virtio_net.h] (net.toml)
// Little-endian, 8 bytes.
struct NetStatsReplyHdr {
  static constexpr size_t kBytes = 8;
  static constexpr size_t kStatsTypeOffset = 0;
  static constexpr size_t kVqIndexOffset = 2;
  static constexpr size_t kSizeOffset = 6;
  NetStatsReplyType stats_type{};  // Kind (in the standard `type`, a SystemVerilog keyword)
  uint8_t reserved{};  // 0
  uint16_t vq_index{};  // Queue
  uint16_t reserved1{};  // 0
  uint16_t size{};  // Bytes of the entry, this header included

  static constexpr NetStatsReplyHdr Decode(const uint8_t* bytes) {
    NetStatsReplyHdr result;
    result.stats_type = static_cast<NetStatsReplyType>(detail::GetLittle<0, 8>(bytes));
    result.reserved = static_cast<uint8_t>(detail::GetLittle<8, 8>(bytes));
    result.vq_index = static_cast<uint16_t>(detail::GetLittle<16, 16>(bytes));
    result.reserved1 = static_cast<uint16_t>(detail::GetLittle<32, 16>(bytes));
    result.size = static_cast<uint16_t>(detail::GetLittle<48, 16>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 8>(bytes, static_cast<uint64_t>(stats_type));
    detail::PutLittle<8, 8>(bytes, static_cast<uint64_t>(reserved));
    detail::PutLittle<16, 16>(bytes, static_cast<uint64_t>(vq_index));
    detail::PutLittle<32, 16>(bytes, static_cast<uint64_t>(reserved1));
    detail::PutLittle<48, 16>(bytes, static_cast<uint64_t>(size));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("stats_type", self.stats_type, 8);
    f("reserved", self.reserved, 8);
    f("vq_index", self.vq_index, 16);
    f("reserved1", self.reserved1, 16);
    f("size", self.size, 16);
  }
  static constexpr NetStatsReplyHdr FromWord(uint64_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 64>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint64_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint64_t>(detail::GetLittle<0, 64>(bytes));
  }

  friend constexpr bool operator==(const NetStatsReplyHdr&, const NetStatsReplyHdr&) = default;
};

// Statistics of the control queue. [virtio 1.4, 5.1.6.5, Device Statistics; linux/virtio_net.h] (net.toml)
// Little-endian, 24 bytes.
struct NetStatsCvq {
  static constexpr size_t kBytes = 24;
  static constexpr size_t kHdrOffset = 0;
  static constexpr size_t kCommandNumOffset = 8;
  static constexpr size_t kOkNumOffset = 16;
  NetStatsReplyHdr hdr{};  // Kind, queue, size
  uint64_t command_num{};  // Commands received, this one included
  uint64_t ok_num{};  // Commands done with ok, this one included

  static constexpr NetStatsCvq Decode(const uint8_t* bytes) {
    NetStatsCvq result;
    result.hdr = NetStatsReplyHdr::Decode(bytes + 0);
    result.command_num = static_cast<uint64_t>(detail::GetLittle<64, 64>(bytes));
    result.ok_num = static_cast<uint64_t>(detail::GetLittle<128, 64>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    hdr.Encode(bytes + 0);
    detail::PutLittle<64, 64>(bytes, static_cast<uint64_t>(command_num));
    detail::PutLittle<128, 64>(bytes, static_cast<uint64_t>(ok_num));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    NetStatsReplyHdr::Visit(self.hdr, f);
    f("command_num", self.command_num, 64);
    f("ok_num", self.ok_num, 64);
  }

  friend constexpr bool operator==(const NetStatsCvq&, const NetStatsCvq&) = default;
};

// Statistics of a receive queue. [virtio 1.4, 5.1.6.5, Device Statistics; linux/virtio_net.h] (net.toml)
// Little-endian, 56 bytes.
struct NetStatsRxBasic {
  static constexpr size_t kBytes = 56;
  static constexpr size_t kHdrOffset = 0;
  static constexpr size_t kRxNotificationsOffset = 8;
  static constexpr size_t kRxPacketsOffset = 16;
  static constexpr size_t kRxBytesOffset = 24;
  static constexpr size_t kRxInterruptsOffset = 32;
  static constexpr size_t kRxDropsOffset = 40;
  static constexpr size_t kRxDropOverrunsOffset = 48;
  NetStatsReplyHdr hdr{};  // Kind, queue, size
  uint64_t rx_notifications{};  // Doorbells
  uint64_t rx_packets{};  // Packets delivered to the driver
  uint64_t rx_bytes{};  // Their bytes
  uint64_t rx_interrupts{};  // Interrupts
  uint64_t rx_drops{};  // Packets dropped, for any reason
  uint64_t rx_drop_overruns{};  // Packets dropped for lack of buffers

  static constexpr NetStatsRxBasic Decode(const uint8_t* bytes) {
    NetStatsRxBasic result;
    result.hdr = NetStatsReplyHdr::Decode(bytes + 0);
    result.rx_notifications = static_cast<uint64_t>(detail::GetLittle<64, 64>(bytes));
    result.rx_packets = static_cast<uint64_t>(detail::GetLittle<128, 64>(bytes));
    result.rx_bytes = static_cast<uint64_t>(detail::GetLittle<192, 64>(bytes));
    result.rx_interrupts = static_cast<uint64_t>(detail::GetLittle<256, 64>(bytes));
    result.rx_drops = static_cast<uint64_t>(detail::GetLittle<320, 64>(bytes));
    result.rx_drop_overruns = static_cast<uint64_t>(detail::GetLittle<384, 64>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    hdr.Encode(bytes + 0);
    detail::PutLittle<64, 64>(bytes, static_cast<uint64_t>(rx_notifications));
    detail::PutLittle<128, 64>(bytes, static_cast<uint64_t>(rx_packets));
    detail::PutLittle<192, 64>(bytes, static_cast<uint64_t>(rx_bytes));
    detail::PutLittle<256, 64>(bytes, static_cast<uint64_t>(rx_interrupts));
    detail::PutLittle<320, 64>(bytes, static_cast<uint64_t>(rx_drops));
    detail::PutLittle<384, 64>(bytes, static_cast<uint64_t>(rx_drop_overruns));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    NetStatsReplyHdr::Visit(self.hdr, f);
    f("rx_notifications", self.rx_notifications, 64);
    f("rx_packets", self.rx_packets, 64);
    f("rx_bytes", self.rx_bytes, 64);
    f("rx_interrupts", self.rx_interrupts, 64);
    f("rx_drops", self.rx_drops, 64);
    f("rx_drop_overruns", self.rx_drop_overruns, 64);
  }

  friend constexpr bool operator==(const NetStatsRxBasic&, const NetStatsRxBasic&) = default;
};

// Statistics of a transmit queue. [virtio 1.4, 5.1.6.5, Device Statistics; linux/virtio_net.h] (net.toml)
// Little-endian, 56 bytes.
struct NetStatsTxBasic {
  static constexpr size_t kBytes = 56;
  static constexpr size_t kHdrOffset = 0;
  static constexpr size_t kTxNotificationsOffset = 8;
  static constexpr size_t kTxPacketsOffset = 16;
  static constexpr size_t kTxBytesOffset = 24;
  static constexpr size_t kTxInterruptsOffset = 32;
  static constexpr size_t kTxDropsOffset = 40;
  static constexpr size_t kTxDropMalformedOffset = 48;
  NetStatsReplyHdr hdr{};  // Kind, queue, size
  uint64_t tx_notifications{};  // Doorbells
  uint64_t tx_packets{};  // Packets sent on the wire
  uint64_t tx_bytes{};  // Their bytes
  uint64_t tx_interrupts{};  // Interrupts
  uint64_t tx_drops{};  // Packets dropped, for any reason
  uint64_t tx_drop_malformed{};  // Packets dropped for bad descriptors

  static constexpr NetStatsTxBasic Decode(const uint8_t* bytes) {
    NetStatsTxBasic result;
    result.hdr = NetStatsReplyHdr::Decode(bytes + 0);
    result.tx_notifications = static_cast<uint64_t>(detail::GetLittle<64, 64>(bytes));
    result.tx_packets = static_cast<uint64_t>(detail::GetLittle<128, 64>(bytes));
    result.tx_bytes = static_cast<uint64_t>(detail::GetLittle<192, 64>(bytes));
    result.tx_interrupts = static_cast<uint64_t>(detail::GetLittle<256, 64>(bytes));
    result.tx_drops = static_cast<uint64_t>(detail::GetLittle<320, 64>(bytes));
    result.tx_drop_malformed = static_cast<uint64_t>(detail::GetLittle<384, 64>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    hdr.Encode(bytes + 0);
    detail::PutLittle<64, 64>(bytes, static_cast<uint64_t>(tx_notifications));
    detail::PutLittle<128, 64>(bytes, static_cast<uint64_t>(tx_packets));
    detail::PutLittle<192, 64>(bytes, static_cast<uint64_t>(tx_bytes));
    detail::PutLittle<256, 64>(bytes, static_cast<uint64_t>(tx_interrupts));
    detail::PutLittle<320, 64>(bytes, static_cast<uint64_t>(tx_drops));
    detail::PutLittle<384, 64>(bytes, static_cast<uint64_t>(tx_drop_malformed));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    NetStatsReplyHdr::Visit(self.hdr, f);
    f("tx_notifications", self.tx_notifications, 64);
    f("tx_packets", self.tx_packets, 64);
    f("tx_bytes", self.tx_bytes, 64);
    f("tx_interrupts", self.tx_interrupts, 64);
    f("tx_drops", self.tx_drops, 64);
    f("tx_drop_malformed", self.tx_drop_malformed, 64);
  }

  friend constexpr bool operator==(const NetStatsTxBasic&, const NetStatsTxBasic&) = default;
};

// Checksum statistics of a receive queue. [virtio 1.4, 5.1.6.5, Device Statistics; linux/virtio_net.h] (net.toml)
// Little-endian, 40 bytes.
struct NetStatsRxCsum {
  static constexpr size_t kBytes = 40;
  static constexpr size_t kHdrOffset = 0;
  static constexpr size_t kRxCsumValidOffset = 8;
  static constexpr size_t kRxNeedsCsumOffset = 16;
  static constexpr size_t kRxCsumNoneOffset = 24;
  static constexpr size_t kRxCsumBadOffset = 32;
  NetStatsReplyHdr hdr{};  // Kind, queue, size
  uint64_t rx_csum_valid{};  // Packets with data_valid
  uint64_t rx_needs_csum{};  // Packets with needs_csum
  uint64_t rx_csum_none{};  // Packets that are neither TCP nor UDP
  uint64_t rx_csum_bad{};  // Packets with a wrong checksum

  static constexpr NetStatsRxCsum Decode(const uint8_t* bytes) {
    NetStatsRxCsum result;
    result.hdr = NetStatsReplyHdr::Decode(bytes + 0);
    result.rx_csum_valid = static_cast<uint64_t>(detail::GetLittle<64, 64>(bytes));
    result.rx_needs_csum = static_cast<uint64_t>(detail::GetLittle<128, 64>(bytes));
    result.rx_csum_none = static_cast<uint64_t>(detail::GetLittle<192, 64>(bytes));
    result.rx_csum_bad = static_cast<uint64_t>(detail::GetLittle<256, 64>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    hdr.Encode(bytes + 0);
    detail::PutLittle<64, 64>(bytes, static_cast<uint64_t>(rx_csum_valid));
    detail::PutLittle<128, 64>(bytes, static_cast<uint64_t>(rx_needs_csum));
    detail::PutLittle<192, 64>(bytes, static_cast<uint64_t>(rx_csum_none));
    detail::PutLittle<256, 64>(bytes, static_cast<uint64_t>(rx_csum_bad));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    NetStatsReplyHdr::Visit(self.hdr, f);
    f("rx_csum_valid", self.rx_csum_valid, 64);
    f("rx_needs_csum", self.rx_needs_csum, 64);
    f("rx_csum_none", self.rx_csum_none, 64);
    f("rx_csum_bad", self.rx_csum_bad, 64);
  }

  friend constexpr bool operator==(const NetStatsRxCsum&, const NetStatsRxCsum&) = default;
};

// Checksum statistics of a transmit queue. [virtio 1.4, 5.1.6.5, Device Statistics; linux/virtio_net.h] (net.toml)
// Little-endian, 24 bytes.
struct NetStatsTxCsum {
  static constexpr size_t kBytes = 24;
  static constexpr size_t kHdrOffset = 0;
  static constexpr size_t kTxCsumNoneOffset = 8;
  static constexpr size_t kTxNeedsCsumOffset = 16;
  NetStatsReplyHdr hdr{};  // Kind, queue, size
  uint64_t tx_csum_none{};  // Packets with complete checksums
  uint64_t tx_needs_csum{};  // Packets whose checksum the device computed

  static constexpr NetStatsTxCsum Decode(const uint8_t* bytes) {
    NetStatsTxCsum result;
    result.hdr = NetStatsReplyHdr::Decode(bytes + 0);
    result.tx_csum_none = static_cast<uint64_t>(detail::GetLittle<64, 64>(bytes));
    result.tx_needs_csum = static_cast<uint64_t>(detail::GetLittle<128, 64>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    hdr.Encode(bytes + 0);
    detail::PutLittle<64, 64>(bytes, static_cast<uint64_t>(tx_csum_none));
    detail::PutLittle<128, 64>(bytes, static_cast<uint64_t>(tx_needs_csum));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    NetStatsReplyHdr::Visit(self.hdr, f);
    f("tx_csum_none", self.tx_csum_none, 64);
    f("tx_needs_csum", self.tx_needs_csum, 64);
  }

  friend constexpr bool operator==(const NetStatsTxCsum&, const NetStatsTxCsum&) = default;
};

// Merging statistics of a receive queue; bytes include headers. [virtio 1.4, 5.1.6.5, Device Statistics; linux/virtio_net.h] (net.toml)
// Little-endian, 40 bytes.
struct NetStatsRxGso {
  static constexpr size_t kBytes = 40;
  static constexpr size_t kHdrOffset = 0;
  static constexpr size_t kRxGsoPacketsOffset = 8;
  static constexpr size_t kRxGsoBytesOffset = 16;
  static constexpr size_t kRxGsoPacketsCoalescedOffset = 24;
  static constexpr size_t kRxGsoBytesCoalescedOffset = 32;
  NetStatsReplyHdr hdr{};  // Kind, queue, size
  uint64_t rx_gso_packets{};  // Merged packets received
  uint64_t rx_gso_bytes{};  // Their bytes
  uint64_t rx_gso_packets_coalesced{};  // Merged packets made by the device
  uint64_t rx_gso_bytes_coalesced{};  // Their bytes

  static constexpr NetStatsRxGso Decode(const uint8_t* bytes) {
    NetStatsRxGso result;
    result.hdr = NetStatsReplyHdr::Decode(bytes + 0);
    result.rx_gso_packets = static_cast<uint64_t>(detail::GetLittle<64, 64>(bytes));
    result.rx_gso_bytes = static_cast<uint64_t>(detail::GetLittle<128, 64>(bytes));
    result.rx_gso_packets_coalesced = static_cast<uint64_t>(detail::GetLittle<192, 64>(bytes));
    result.rx_gso_bytes_coalesced = static_cast<uint64_t>(detail::GetLittle<256, 64>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    hdr.Encode(bytes + 0);
    detail::PutLittle<64, 64>(bytes, static_cast<uint64_t>(rx_gso_packets));
    detail::PutLittle<128, 64>(bytes, static_cast<uint64_t>(rx_gso_bytes));
    detail::PutLittle<192, 64>(bytes, static_cast<uint64_t>(rx_gso_packets_coalesced));
    detail::PutLittle<256, 64>(bytes, static_cast<uint64_t>(rx_gso_bytes_coalesced));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    NetStatsReplyHdr::Visit(self.hdr, f);
    f("rx_gso_packets", self.rx_gso_packets, 64);
    f("rx_gso_bytes", self.rx_gso_bytes, 64);
    f("rx_gso_packets_coalesced", self.rx_gso_packets_coalesced, 64);
    f("rx_gso_bytes_coalesced", self.rx_gso_bytes_coalesced, 64);
  }

  friend constexpr bool operator==(const NetStatsRxGso&, const NetStatsRxGso&) = default;
};

// Segmentation statistics of a transmit queue. [virtio 1.4, 5.1.6.5, Device Statistics; linux/virtio_net.h] (net.toml)
// Little-endian, 56 bytes.
struct NetStatsTxGso {
  static constexpr size_t kBytes = 56;
  static constexpr size_t kHdrOffset = 0;
  static constexpr size_t kTxGsoPacketsOffset = 8;
  static constexpr size_t kTxGsoBytesOffset = 16;
  static constexpr size_t kTxGsoSegmentsOffset = 24;
  static constexpr size_t kTxGsoSegmentsBytesOffset = 32;
  static constexpr size_t kTxGsoPacketsNosegOffset = 40;
  static constexpr size_t kTxGsoBytesNosegOffset = 48;
  NetStatsReplyHdr hdr{};  // Kind, queue, size
  uint64_t tx_gso_packets{};  // Packets to segment
  uint64_t tx_gso_bytes{};  // Their bytes
  uint64_t tx_gso_segments{};  // Segments made of them
  uint64_t tx_gso_segments_bytes{};  // Their bytes
  uint64_t tx_gso_packets_noseg{};  // Packets that needed no segmentation after all
  uint64_t tx_gso_bytes_noseg{};  // Their bytes

  static constexpr NetStatsTxGso Decode(const uint8_t* bytes) {
    NetStatsTxGso result;
    result.hdr = NetStatsReplyHdr::Decode(bytes + 0);
    result.tx_gso_packets = static_cast<uint64_t>(detail::GetLittle<64, 64>(bytes));
    result.tx_gso_bytes = static_cast<uint64_t>(detail::GetLittle<128, 64>(bytes));
    result.tx_gso_segments = static_cast<uint64_t>(detail::GetLittle<192, 64>(bytes));
    result.tx_gso_segments_bytes = static_cast<uint64_t>(detail::GetLittle<256, 64>(bytes));
    result.tx_gso_packets_noseg = static_cast<uint64_t>(detail::GetLittle<320, 64>(bytes));
    result.tx_gso_bytes_noseg = static_cast<uint64_t>(detail::GetLittle<384, 64>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    hdr.Encode(bytes + 0);
    detail::PutLittle<64, 64>(bytes, static_cast<uint64_t>(tx_gso_packets));
    detail::PutLittle<128, 64>(bytes, static_cast<uint64_t>(tx_gso_bytes));
    detail::PutLittle<192, 64>(bytes, static_cast<uint64_t>(tx_gso_segments));
    detail::PutLittle<256, 64>(bytes, static_cast<uint64_t>(tx_gso_segments_bytes));
    detail::PutLittle<320, 64>(bytes, static_cast<uint64_t>(tx_gso_packets_noseg));
    detail::PutLittle<384, 64>(bytes, static_cast<uint64_t>(tx_gso_bytes_noseg));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    NetStatsReplyHdr::Visit(self.hdr, f);
    f("tx_gso_packets", self.tx_gso_packets, 64);
    f("tx_gso_bytes", self.tx_gso_bytes, 64);
    f("tx_gso_segments", self.tx_gso_segments, 64);
    f("tx_gso_segments_bytes", self.tx_gso_segments_bytes, 64);
    f("tx_gso_packets_noseg", self.tx_gso_packets_noseg, 64);
    f("tx_gso_bytes_noseg", self.tx_gso_bytes_noseg, 64);
  }

  friend constexpr bool operator==(const NetStatsTxGso&, const NetStatsTxGso&) = default;
};

// Rate limit statistics of a receive queue. Linux: rx_ratelimit_packets, rx_ratelimit_bytes. [virtio 1.4, 5.1.6.5, Device Statistics; linux/virtio_net.h] (net.toml)
// Little-endian, 24 bytes.
struct NetStatsRxSpeed {
  static constexpr size_t kBytes = 24;
  static constexpr size_t kHdrOffset = 0;
  static constexpr size_t kRxPacketsAllowanceExceededOffset = 8;
  static constexpr size_t kRxBytesAllowanceExceededOffset = 16;
  NetStatsReplyHdr hdr{};  // Kind, queue, size
  uint64_t rx_packets_allowance_exceeded{};  // Packets dropped above net_config.speed
  uint64_t rx_bytes_allowance_exceeded{};  // Their bytes

  static constexpr NetStatsRxSpeed Decode(const uint8_t* bytes) {
    NetStatsRxSpeed result;
    result.hdr = NetStatsReplyHdr::Decode(bytes + 0);
    result.rx_packets_allowance_exceeded = static_cast<uint64_t>(detail::GetLittle<64, 64>(bytes));
    result.rx_bytes_allowance_exceeded = static_cast<uint64_t>(detail::GetLittle<128, 64>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    hdr.Encode(bytes + 0);
    detail::PutLittle<64, 64>(bytes, static_cast<uint64_t>(rx_packets_allowance_exceeded));
    detail::PutLittle<128, 64>(bytes, static_cast<uint64_t>(rx_bytes_allowance_exceeded));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    NetStatsReplyHdr::Visit(self.hdr, f);
    f("rx_packets_allowance_exceeded", self.rx_packets_allowance_exceeded, 64);
    f("rx_bytes_allowance_exceeded", self.rx_bytes_allowance_exceeded, 64);
  }

  friend constexpr bool operator==(const NetStatsRxSpeed&, const NetStatsRxSpeed&) = default;
};

// Rate limit statistics of a transmit queue. Linux: tx_ratelimit_packets, tx_ratelimit_bytes. [virtio 1.4, 5.1.6.5, Device Statistics; linux/virtio_net.h] (net.toml)
// Little-endian, 24 bytes.
struct NetStatsTxSpeed {
  static constexpr size_t kBytes = 24;
  static constexpr size_t kHdrOffset = 0;
  static constexpr size_t kTxPacketsAllowanceExceededOffset = 8;
  static constexpr size_t kTxBytesAllowanceExceededOffset = 16;
  NetStatsReplyHdr hdr{};  // Kind, queue, size
  uint64_t tx_packets_allowance_exceeded{};  // Packets dropped above net_config.speed
  uint64_t tx_bytes_allowance_exceeded{};  // Their bytes

  static constexpr NetStatsTxSpeed Decode(const uint8_t* bytes) {
    NetStatsTxSpeed result;
    result.hdr = NetStatsReplyHdr::Decode(bytes + 0);
    result.tx_packets_allowance_exceeded = static_cast<uint64_t>(detail::GetLittle<64, 64>(bytes));
    result.tx_bytes_allowance_exceeded = static_cast<uint64_t>(detail::GetLittle<128, 64>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    hdr.Encode(bytes + 0);
    detail::PutLittle<64, 64>(bytes, static_cast<uint64_t>(tx_packets_allowance_exceeded));
    detail::PutLittle<128, 64>(bytes, static_cast<uint64_t>(tx_bytes_allowance_exceeded));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    NetStatsReplyHdr::Visit(self.hdr, f);
    f("tx_packets_allowance_exceeded", self.tx_packets_allowance_exceeded, 64);
    f("tx_bytes_allowance_exceeded", self.tx_bytes_allowance_exceeded, 64);
  }

  friend constexpr bool operator==(const NetStatsTxSpeed&, const NetStatsTxSpeed&) = default;
};

// Type 0 header: the first bytes of configuration space. [PCIe 5.0, 7.5.1.1 and 7.5.1.2] (pci.toml)
// Little-endian, 64 bytes.
struct PciHeader {
  static constexpr size_t kBytes = 64;
  static constexpr size_t kVendorIdOffset = 0;
  static constexpr size_t kDeviceIdOffset = 2;
  static constexpr size_t kCommandOffset = 4;
  static constexpr size_t kStatusOffset = 6;
  static constexpr size_t kRevisionIdOffset = 8;
  static constexpr size_t kClassCodeOffset = 9;
  static constexpr size_t kCacheLineSizeOffset = 12;
  static constexpr size_t kLatencyTimerOffset = 13;
  static constexpr size_t kHeaderTypeOffset = 14;
  static constexpr size_t kBistOffset = 15;
  static constexpr size_t kBaseAddressOffset = 16;
  static constexpr size_t kCardbusCisPointerOffset = 40;
  static constexpr size_t kSubsystemVendorIdOffset = 44;
  static constexpr size_t kSubsystemIdOffset = 46;
  static constexpr size_t kExpansionRomBaseAddressOffset = 48;
  static constexpr size_t kCapabilitiesPointerOffset = 52;
  static constexpr size_t kInterruptLineOffset = 60;
  static constexpr size_t kInterruptPinOffset = 61;
  static constexpr size_t kMinGntOffset = 62;
  static constexpr size_t kMaxLatOffset = 63;
  uint16_t vendor_id{};  // pci_vendor_id
  uint16_t device_id{};  // pci_device_id
  uint16_t command{};  // Read-write; 0 after reset; flags: PciCommand
  uint16_t status{};  // Error bits: write 1 to clear; flags: PciStatus
  uint8_t revision_id{};  // pci_revision_id
  uint32_t class_code{};  // pci_class_code; programming interface in the lowest byte
  uint8_t cache_line_size{};  // Read-write, without effect on PCI Express
  uint8_t latency_timer{};  // 0 on PCI Express
  uint8_t header_type{};  // Bits 6:0 layout, 0 here; bit 7 set if the device has several functions
  uint8_t bist{};  // Self test: 0, none
  uint32_t base_address[6]{};  // BARs, pci_memory_bar; a 64-bit BAR takes two, low half first
  uint32_t cardbus_cis_pointer{};  // 0 on PCI Express
  uint16_t subsystem_vendor_id{};  // pci_subsystem_vendor_id
  uint16_t subsystem_id{};  // pci_subsystem_id
  uint32_t expansion_rom_base_address{};  // 0: no ROM
  uint8_t capabilities_pointer{};  // Offset of the first capability
  uint8_t reserved[7]{};  // 0
  uint8_t interrupt_line{};  // Read-write scratch for system software
  uint8_t interrupt_pin{};  // 0 no INTx, 1 INTA
  uint8_t min_gnt{};  // 0 on PCI Express
  uint8_t max_lat{};  // 0 on PCI Express

  static constexpr PciHeader Decode(const uint8_t* bytes) {
    PciHeader result;
    result.vendor_id = static_cast<uint16_t>(detail::GetLittle<0, 16>(bytes));
    result.device_id = static_cast<uint16_t>(detail::GetLittle<16, 16>(bytes));
    result.command = static_cast<uint16_t>(detail::GetLittle<32, 16>(bytes));
    result.status = static_cast<uint16_t>(detail::GetLittle<48, 16>(bytes));
    result.revision_id = static_cast<uint8_t>(detail::GetLittle<64, 8>(bytes));
    result.class_code = static_cast<uint32_t>(detail::GetLittle<72, 24>(bytes));
    result.cache_line_size = static_cast<uint8_t>(detail::GetLittle<96, 8>(bytes));
    result.latency_timer = static_cast<uint8_t>(detail::GetLittle<104, 8>(bytes));
    result.header_type = static_cast<uint8_t>(detail::GetLittle<112, 8>(bytes));
    result.bist = static_cast<uint8_t>(detail::GetLittle<120, 8>(bytes));
    for (size_t i = 0; i < 6; ++i) result.base_address[i] = static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes + 16 + i * 4));
    result.cardbus_cis_pointer = static_cast<uint32_t>(detail::GetLittle<320, 32>(bytes));
    result.subsystem_vendor_id = static_cast<uint16_t>(detail::GetLittle<352, 16>(bytes));
    result.subsystem_id = static_cast<uint16_t>(detail::GetLittle<368, 16>(bytes));
    result.expansion_rom_base_address = static_cast<uint32_t>(detail::GetLittle<384, 32>(bytes));
    result.capabilities_pointer = static_cast<uint8_t>(detail::GetLittle<416, 8>(bytes));
    for (size_t i = 0; i < 7; ++i) result.reserved[i] = static_cast<uint8_t>(detail::GetLittle<0, 8>(bytes + 53 + i * 1));
    result.interrupt_line = static_cast<uint8_t>(detail::GetLittle<480, 8>(bytes));
    result.interrupt_pin = static_cast<uint8_t>(detail::GetLittle<488, 8>(bytes));
    result.min_gnt = static_cast<uint8_t>(detail::GetLittle<496, 8>(bytes));
    result.max_lat = static_cast<uint8_t>(detail::GetLittle<504, 8>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 16>(bytes, static_cast<uint64_t>(vendor_id));
    detail::PutLittle<16, 16>(bytes, static_cast<uint64_t>(device_id));
    detail::PutLittle<32, 16>(bytes, static_cast<uint64_t>(command));
    detail::PutLittle<48, 16>(bytes, static_cast<uint64_t>(status));
    detail::PutLittle<64, 8>(bytes, static_cast<uint64_t>(revision_id));
    detail::PutLittle<72, 24>(bytes, static_cast<uint64_t>(class_code));
    detail::PutLittle<96, 8>(bytes, static_cast<uint64_t>(cache_line_size));
    detail::PutLittle<104, 8>(bytes, static_cast<uint64_t>(latency_timer));
    detail::PutLittle<112, 8>(bytes, static_cast<uint64_t>(header_type));
    detail::PutLittle<120, 8>(bytes, static_cast<uint64_t>(bist));
    for (size_t i = 0; i < 6; ++i) detail::PutLittle<0, 32>(bytes + 16 + i * 4, base_address[i]);
    detail::PutLittle<320, 32>(bytes, static_cast<uint64_t>(cardbus_cis_pointer));
    detail::PutLittle<352, 16>(bytes, static_cast<uint64_t>(subsystem_vendor_id));
    detail::PutLittle<368, 16>(bytes, static_cast<uint64_t>(subsystem_id));
    detail::PutLittle<384, 32>(bytes, static_cast<uint64_t>(expansion_rom_base_address));
    detail::PutLittle<416, 8>(bytes, static_cast<uint64_t>(capabilities_pointer));
    for (size_t i = 0; i < 7; ++i) detail::PutLittle<0, 8>(bytes + 53 + i * 1, reserved[i]);
    detail::PutLittle<480, 8>(bytes, static_cast<uint64_t>(interrupt_line));
    detail::PutLittle<488, 8>(bytes, static_cast<uint64_t>(interrupt_pin));
    detail::PutLittle<496, 8>(bytes, static_cast<uint64_t>(min_gnt));
    detail::PutLittle<504, 8>(bytes, static_cast<uint64_t>(max_lat));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("vendor_id", self.vendor_id, 16);
    f("device_id", self.device_id, 16);
    f("command", self.command, 16);
    f("status", self.status, 16);
    f("revision_id", self.revision_id, 8);
    f("class_code", self.class_code, 24);
    f("cache_line_size", self.cache_line_size, 8);
    f("latency_timer", self.latency_timer, 8);
    f("header_type", self.header_type, 8);
    f("bist", self.bist, 8);
    for (size_t i = 0; i < 6; ++i) f("base_address", self.base_address[i], 32);
    f("cardbus_cis_pointer", self.cardbus_cis_pointer, 32);
    f("subsystem_vendor_id", self.subsystem_vendor_id, 16);
    f("subsystem_id", self.subsystem_id, 16);
    f("expansion_rom_base_address", self.expansion_rom_base_address, 32);
    f("capabilities_pointer", self.capabilities_pointer, 8);
    for (size_t i = 0; i < 7; ++i) f("reserved", self.reserved[i], 8);
    f("interrupt_line", self.interrupt_line, 8);
    f("interrupt_pin", self.interrupt_pin, 8);
    f("min_gnt", self.min_gnt, 8);
    f("max_lat", self.max_lat, 8);
  }

  friend constexpr bool operator==(const PciHeader&, const PciHeader&) = default;
};

// Low half of a memory BAR register. The address bits below the BAR's size read 0, so that software can determine the size. [PCIe 5.0, 7.5.1.2.1] (pci.toml)
// Little-endian, 4 bytes.
struct PciMemoryBar {
  static constexpr size_t kBytes = 4;
  bool io_space{};  // 0: memory
  PciBarMemoryType memory_type{};  // Address width
  bool prefetchable{};  // Reads have no side effects and writes may merge
  uint32_t base_address{};  // Bits 31:4 of the address

  static constexpr PciMemoryBar Decode(const uint8_t* bytes) {
    PciMemoryBar result;
    result.io_space = static_cast<bool>(detail::GetLittle<0, 1>(bytes));
    result.memory_type = static_cast<PciBarMemoryType>(detail::GetLittle<1, 2>(bytes));
    result.prefetchable = static_cast<bool>(detail::GetLittle<3, 1>(bytes));
    result.base_address = static_cast<uint32_t>(detail::GetLittle<4, 28>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 1>(bytes, static_cast<uint64_t>(io_space));
    detail::PutLittle<1, 2>(bytes, static_cast<uint64_t>(memory_type));
    detail::PutLittle<3, 1>(bytes, static_cast<uint64_t>(prefetchable));
    detail::PutLittle<4, 28>(bytes, static_cast<uint64_t>(base_address));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("io_space", self.io_space, 1);
    f("memory_type", self.memory_type, 2);
    f("prefetchable", self.prefetchable, 1);
    f("base_address", self.base_address, 28);
  }
  static constexpr PciMemoryBar FromWord(uint32_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 32>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint32_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
  }

  friend constexpr bool operator==(const PciMemoryBar&, const PciMemoryBar&) = default;
};

// Head of every capability; each begins on a multiple of 4 bytes. [PCIe 5.0, 7.5.1.1.11] (pci.toml)
// Little-endian, 2 bytes.
struct PciCapability {
  static constexpr size_t kBytes = 2;
  static constexpr size_t kCapIdOffset = 0;
  static constexpr size_t kCapNextOffset = 1;
  PciCapabilityId cap_id{};  // Capability identifier
  uint8_t cap_next{};  // Offset of the next capability; 0 ends the list

  static constexpr PciCapability Decode(const uint8_t* bytes) {
    PciCapability result;
    result.cap_id = static_cast<PciCapabilityId>(detail::GetLittle<0, 8>(bytes));
    result.cap_next = static_cast<uint8_t>(detail::GetLittle<8, 8>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 8>(bytes, static_cast<uint64_t>(cap_id));
    detail::PutLittle<8, 8>(bytes, static_cast<uint64_t>(cap_next));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("cap_id", self.cap_id, 8);
    f("cap_next", self.cap_next, 8);
  }
  static constexpr PciCapability FromWord(uint16_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 16>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint16_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint16_t>(detail::GetLittle<0, 16>(bytes));
  }

  friend constexpr bool operator==(const PciCapability&, const PciCapability&) = default;
};

// Head of every extended capability. [PCIe 5.0, 7.6.3] (pci.toml)
// Little-endian, 4 bytes.
struct PcieExtendedCapability {
  static constexpr size_t kBytes = 4;
  static constexpr size_t kCapIdOffset = 0;
  PcieExtendedCapabilityId cap_id{};  // Capability identifier
  uint8_t version{};  // Of the capability's layout
  uint16_t cap_next{};  // Offset of the next one; 0 ends the list

  static constexpr PcieExtendedCapability Decode(const uint8_t* bytes) {
    PcieExtendedCapability result;
    result.cap_id = static_cast<PcieExtendedCapabilityId>(detail::GetLittle<0, 16>(bytes));
    result.version = static_cast<uint8_t>(detail::GetLittle<16, 4>(bytes));
    result.cap_next = static_cast<uint16_t>(detail::GetLittle<20, 12>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 16>(bytes, static_cast<uint64_t>(cap_id));
    detail::PutLittle<16, 4>(bytes, static_cast<uint64_t>(version));
    detail::PutLittle<20, 12>(bytes, static_cast<uint64_t>(cap_next));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("cap_id", self.cap_id, 16);
    f("version", self.version, 4);
    f("cap_next", self.cap_next, 12);
  }
  static constexpr PcieExtendedCapability FromWord(uint32_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 32>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint32_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
  }

  friend constexpr bool operator==(const PcieExtendedCapability&, const PcieExtendedCapability&) = default;
};

// Power management: mandatory in PCI Express. Vireo has D0 and D3hot; leaving D3hot resets nothing. [PCI Express Base 5.0, 7.5.2] (pci.toml)
// Little-endian, 8 bytes.
struct PciPmCap {
  static constexpr size_t kBytes = 8;
  static constexpr size_t kCapabilityIdOffset = 0;
  static constexpr size_t kNextOffset = 1;
  static constexpr size_t kBridgeExtensionsOffset = 6;
  static constexpr size_t kDataOffset = 7;
  PciCapabilityId capability_id{};  // power_management
  uint8_t next{};  // Configuration offset of the next capability; 0: none
  uint8_t pm_version{};  // 3
  bool pme_clock{};  // 0
  bool immediate_readiness{};  // 1: ready at once after D3hot to D0
  bool device_specific_initialization{};  // 0
  uint8_t aux_current{};  // 0
  bool d1_support{};  // 0
  bool d2_support{};  // 0
  uint8_t pme_support{};  // 0
  uint8_t power_state{};  // 0: D0, 3: D3hot
  bool reserved{};  // 0
  bool no_soft_reset{};  // 1: state survives D3hot
  uint8_t reserved1{};  // 0
  bool pme_enable{};  // 0
  uint8_t data_select{};  // 0
  uint8_t data_scale{};  // 0
  bool pme_status{};  // 0
  uint8_t bridge_extensions{};  // 0
  uint8_t data{};  // 0

  static constexpr PciPmCap Decode(const uint8_t* bytes) {
    PciPmCap result;
    result.capability_id = static_cast<PciCapabilityId>(detail::GetLittle<0, 8>(bytes));
    result.next = static_cast<uint8_t>(detail::GetLittle<8, 8>(bytes));
    result.pm_version = static_cast<uint8_t>(detail::GetLittle<16, 3>(bytes));
    result.pme_clock = static_cast<bool>(detail::GetLittle<19, 1>(bytes));
    result.immediate_readiness = static_cast<bool>(detail::GetLittle<20, 1>(bytes));
    result.device_specific_initialization = static_cast<bool>(detail::GetLittle<21, 1>(bytes));
    result.aux_current = static_cast<uint8_t>(detail::GetLittle<22, 3>(bytes));
    result.d1_support = static_cast<bool>(detail::GetLittle<25, 1>(bytes));
    result.d2_support = static_cast<bool>(detail::GetLittle<26, 1>(bytes));
    result.pme_support = static_cast<uint8_t>(detail::GetLittle<27, 5>(bytes));
    result.power_state = static_cast<uint8_t>(detail::GetLittle<32, 2>(bytes));
    result.reserved = static_cast<bool>(detail::GetLittle<34, 1>(bytes));
    result.no_soft_reset = static_cast<bool>(detail::GetLittle<35, 1>(bytes));
    result.reserved1 = static_cast<uint8_t>(detail::GetLittle<36, 4>(bytes));
    result.pme_enable = static_cast<bool>(detail::GetLittle<40, 1>(bytes));
    result.data_select = static_cast<uint8_t>(detail::GetLittle<41, 4>(bytes));
    result.data_scale = static_cast<uint8_t>(detail::GetLittle<45, 2>(bytes));
    result.pme_status = static_cast<bool>(detail::GetLittle<47, 1>(bytes));
    result.bridge_extensions = static_cast<uint8_t>(detail::GetLittle<48, 8>(bytes));
    result.data = static_cast<uint8_t>(detail::GetLittle<56, 8>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 8>(bytes, static_cast<uint64_t>(capability_id));
    detail::PutLittle<8, 8>(bytes, static_cast<uint64_t>(next));
    detail::PutLittle<16, 3>(bytes, static_cast<uint64_t>(pm_version));
    detail::PutLittle<19, 1>(bytes, static_cast<uint64_t>(pme_clock));
    detail::PutLittle<20, 1>(bytes, static_cast<uint64_t>(immediate_readiness));
    detail::PutLittle<21, 1>(bytes, static_cast<uint64_t>(device_specific_initialization));
    detail::PutLittle<22, 3>(bytes, static_cast<uint64_t>(aux_current));
    detail::PutLittle<25, 1>(bytes, static_cast<uint64_t>(d1_support));
    detail::PutLittle<26, 1>(bytes, static_cast<uint64_t>(d2_support));
    detail::PutLittle<27, 5>(bytes, static_cast<uint64_t>(pme_support));
    detail::PutLittle<32, 2>(bytes, static_cast<uint64_t>(power_state));
    detail::PutLittle<34, 1>(bytes, static_cast<uint64_t>(reserved));
    detail::PutLittle<35, 1>(bytes, static_cast<uint64_t>(no_soft_reset));
    detail::PutLittle<36, 4>(bytes, static_cast<uint64_t>(reserved1));
    detail::PutLittle<40, 1>(bytes, static_cast<uint64_t>(pme_enable));
    detail::PutLittle<41, 4>(bytes, static_cast<uint64_t>(data_select));
    detail::PutLittle<45, 2>(bytes, static_cast<uint64_t>(data_scale));
    detail::PutLittle<47, 1>(bytes, static_cast<uint64_t>(pme_status));
    detail::PutLittle<48, 8>(bytes, static_cast<uint64_t>(bridge_extensions));
    detail::PutLittle<56, 8>(bytes, static_cast<uint64_t>(data));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("capability_id", self.capability_id, 8);
    f("next", self.next, 8);
    f("pm_version", self.pm_version, 3);
    f("pme_clock", self.pme_clock, 1);
    f("immediate_readiness", self.immediate_readiness, 1);
    f("device_specific_initialization", self.device_specific_initialization, 1);
    f("aux_current", self.aux_current, 3);
    f("d1_support", self.d1_support, 1);
    f("d2_support", self.d2_support, 1);
    f("pme_support", self.pme_support, 5);
    f("power_state", self.power_state, 2);
    f("reserved", self.reserved, 1);
    f("no_soft_reset", self.no_soft_reset, 1);
    f("reserved1", self.reserved1, 4);
    f("pme_enable", self.pme_enable, 1);
    f("data_select", self.data_select, 4);
    f("data_scale", self.data_scale, 2);
    f("pme_status", self.pme_status, 1);
    f("bridge_extensions", self.bridge_extensions, 8);
    f("data", self.data, 8);
  }
  static constexpr PciPmCap FromWord(uint64_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 64>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint64_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint64_t>(detail::GetLittle<0, 64>(bytes));
  }

  friend constexpr bool operator==(const PciPmCap&, const PciPmCap&) = default;
};

// PCI Express capability, version 2. Slot and root registers read 0 in an endpoint. [PCIe 5.0, 7.5.3; linux/pci_regs.h] (pci.toml)
// Little-endian, 60 bytes.
struct PcieCap {
  static constexpr size_t kBytes = 60;
  static constexpr size_t kCapIdOffset = 0;
  static constexpr size_t kCapNextOffset = 1;
  static constexpr size_t kPortNumberOffset = 15;
  static constexpr size_t kLinkControlOffset = 16;
  static constexpr size_t kSlotCapabilitiesOffset = 20;
  static constexpr size_t kSlotControlOffset = 24;
  static constexpr size_t kSlotStatusOffset = 26;
  static constexpr size_t kRootControlOffset = 28;
  static constexpr size_t kRootCapabilitiesOffset = 30;
  static constexpr size_t kRootStatusOffset = 32;
  static constexpr size_t kDeviceCapabilities2Offset = 36;
  static constexpr size_t kDeviceControl2Offset = 40;
  static constexpr size_t kDeviceStatus2Offset = 42;
  static constexpr size_t kLinkCapabilities2Offset = 44;
  static constexpr size_t kLinkControl2Offset = 48;
  static constexpr size_t kLinkStatus2Offset = 50;
  static constexpr size_t kSlotCapabilities2Offset = 52;
  static constexpr size_t kSlotControl2Offset = 56;
  static constexpr size_t kSlotStatus2Offset = 58;
  PciCapabilityId cap_id{};  // pci_express
  uint8_t cap_next{};  // Offset of the next capability
  uint8_t version{};  // 2
  PciePortType port_type{};  // endpoint
  bool slot_implemented{};  // 0
  uint8_t interrupt_message_number{};  // 0
  uint8_t reserved{};  // 0
  PcieSize max_payload_size_supported{};  // Largest payload that the device can receive
  uint8_t phantom_functions_supported{};  // 0
  bool extended_tag_supported{};  // 8-bit tags
  uint8_t l0s_acceptable_latency{};  // Encoded time
  uint8_t l1_acceptable_latency{};  // Encoded time
  uint8_t reserved1{};  // 0
  bool role_based_error_reporting{};  // 1
  uint8_t reserved2{};  // 0
  uint8_t slot_power_limit_value{};  // Set by a message from the slot
  uint8_t slot_power_limit_scale{};  // Set by a message from the slot
  bool function_level_reset_capable{};  // initiate_function_level_reset works
  uint8_t reserved3{};  // 0
  bool correctable_error_reporting{};  // Enable
  bool non_fatal_error_reporting{};  // Enable
  bool fatal_error_reporting{};  // Enable
  bool unsupported_request_reporting{};  // Enable
  bool relaxed_ordering{};  // Enable
  PcieSize max_payload_size{};  // Largest payload that the device may send
  bool extended_tag{};  // Enable 8-bit tags
  bool phantom_functions{};  // Enable
  bool aux_power_pm{};  // Enable
  bool no_snoop{};  // Enable
  PcieSize max_read_request_size{};  // Largest DMA read that the device may request
  bool initiate_function_level_reset{};  // Write 1 to reset the function; reads 0
  bool correctable_error_detected{};  // Write 1 to clear
  bool non_fatal_error_detected{};  // Write 1 to clear
  bool fatal_error_detected{};  // Write 1 to clear
  bool unsupported_request_detected{};  // Write 1 to clear
  bool aux_power_detected{};  // 0
  bool transactions_pending{};  // DMA reads are waiting for their completions
  uint16_t reserved4{};  // 0
  PcieLinkSpeed max_link_speed{};  // Fastest speed of the port
  uint8_t max_link_width{};  // Lanes: 1, 2, 4, 8, 16
  uint8_t aspm_support{};  // Bit 0 L0s, bit 1 L1
  uint8_t l0s_exit_latency{};  // Encoded time
  uint8_t l1_exit_latency{};  // Encoded time
  bool clock_power_management{};  // 0
  bool surprise_down_error_reporting{};  // 0
  bool link_active_reporting{};  // 0
  bool link_bandwidth_notification{};  // 0
  uint8_t reserved5{};  // 0
  uint8_t port_number{};  // 0
  uint16_t link_control{};  // Power management, retraining; without effect on the model
  PcieLinkSpeed link_speed{};  // Speed in use
  uint8_t link_width{};  // Lanes in use
  bool reserved6{};  // 0
  bool link_training{};  // 0 in an endpoint
  bool slot_clock_configuration{};  // The reference clock is the slot's
  bool link_active{};  // 0 unless link_active_reporting
  bool link_bandwidth_management{};  // 0 in an endpoint
  bool link_autonomous_bandwidth{};  // 0 in an endpoint
  uint32_t slot_capabilities{};  // 0 in an endpoint
  uint16_t slot_control{};  // 0 in an endpoint
  uint16_t slot_status{};  // 0 in an endpoint
  uint16_t root_control{};  // 0 in an endpoint
  uint16_t root_capabilities{};  // 0 in an endpoint
  uint32_t root_status{};  // 0 in an endpoint
  uint32_t device_capabilities2{};  // 0: no optional feature
  uint16_t device_control2{};  // Bits 3:0 completion timeout, bit 4 disables it
  uint16_t device_status2{};  // 0
  uint32_t link_capabilities2{};  // Bits 7:1 are the speeds that the port supports, bit 1 is gen1
  uint16_t link_control2{};  // Bits 3:0 target speed (pcie_link_speed)
  uint16_t link_status2{};  // 0
  uint32_t slot_capabilities2{};  // 0 in an endpoint
  uint16_t slot_control2{};  // 0 in an endpoint
  uint16_t slot_status2{};  // 0 in an endpoint

  static constexpr PcieCap Decode(const uint8_t* bytes) {
    PcieCap result;
    result.cap_id = static_cast<PciCapabilityId>(detail::GetLittle<0, 8>(bytes));
    result.cap_next = static_cast<uint8_t>(detail::GetLittle<8, 8>(bytes));
    result.version = static_cast<uint8_t>(detail::GetLittle<16, 4>(bytes));
    result.port_type = static_cast<PciePortType>(detail::GetLittle<20, 4>(bytes));
    result.slot_implemented = static_cast<bool>(detail::GetLittle<24, 1>(bytes));
    result.interrupt_message_number = static_cast<uint8_t>(detail::GetLittle<25, 5>(bytes));
    result.reserved = static_cast<uint8_t>(detail::GetLittle<30, 2>(bytes));
    result.max_payload_size_supported = static_cast<PcieSize>(detail::GetLittle<32, 3>(bytes));
    result.phantom_functions_supported = static_cast<uint8_t>(detail::GetLittle<35, 2>(bytes));
    result.extended_tag_supported = static_cast<bool>(detail::GetLittle<37, 1>(bytes));
    result.l0s_acceptable_latency = static_cast<uint8_t>(detail::GetLittle<38, 3>(bytes));
    result.l1_acceptable_latency = static_cast<uint8_t>(detail::GetLittle<41, 3>(bytes));
    result.reserved1 = static_cast<uint8_t>(detail::GetLittle<44, 3>(bytes));
    result.role_based_error_reporting = static_cast<bool>(detail::GetLittle<47, 1>(bytes));
    result.reserved2 = static_cast<uint8_t>(detail::GetLittle<48, 2>(bytes));
    result.slot_power_limit_value = static_cast<uint8_t>(detail::GetLittle<50, 8>(bytes));
    result.slot_power_limit_scale = static_cast<uint8_t>(detail::GetLittle<58, 2>(bytes));
    result.function_level_reset_capable = static_cast<bool>(detail::GetLittle<60, 1>(bytes));
    result.reserved3 = static_cast<uint8_t>(detail::GetLittle<61, 3>(bytes));
    result.correctable_error_reporting = static_cast<bool>(detail::GetLittle<64, 1>(bytes));
    result.non_fatal_error_reporting = static_cast<bool>(detail::GetLittle<65, 1>(bytes));
    result.fatal_error_reporting = static_cast<bool>(detail::GetLittle<66, 1>(bytes));
    result.unsupported_request_reporting = static_cast<bool>(detail::GetLittle<67, 1>(bytes));
    result.relaxed_ordering = static_cast<bool>(detail::GetLittle<68, 1>(bytes));
    result.max_payload_size = static_cast<PcieSize>(detail::GetLittle<69, 3>(bytes));
    result.extended_tag = static_cast<bool>(detail::GetLittle<72, 1>(bytes));
    result.phantom_functions = static_cast<bool>(detail::GetLittle<73, 1>(bytes));
    result.aux_power_pm = static_cast<bool>(detail::GetLittle<74, 1>(bytes));
    result.no_snoop = static_cast<bool>(detail::GetLittle<75, 1>(bytes));
    result.max_read_request_size = static_cast<PcieSize>(detail::GetLittle<76, 3>(bytes));
    result.initiate_function_level_reset = static_cast<bool>(detail::GetLittle<79, 1>(bytes));
    result.correctable_error_detected = static_cast<bool>(detail::GetLittle<80, 1>(bytes));
    result.non_fatal_error_detected = static_cast<bool>(detail::GetLittle<81, 1>(bytes));
    result.fatal_error_detected = static_cast<bool>(detail::GetLittle<82, 1>(bytes));
    result.unsupported_request_detected = static_cast<bool>(detail::GetLittle<83, 1>(bytes));
    result.aux_power_detected = static_cast<bool>(detail::GetLittle<84, 1>(bytes));
    result.transactions_pending = static_cast<bool>(detail::GetLittle<85, 1>(bytes));
    result.reserved4 = static_cast<uint16_t>(detail::GetLittle<86, 10>(bytes));
    result.max_link_speed = static_cast<PcieLinkSpeed>(detail::GetLittle<96, 4>(bytes));
    result.max_link_width = static_cast<uint8_t>(detail::GetLittle<100, 6>(bytes));
    result.aspm_support = static_cast<uint8_t>(detail::GetLittle<106, 2>(bytes));
    result.l0s_exit_latency = static_cast<uint8_t>(detail::GetLittle<108, 3>(bytes));
    result.l1_exit_latency = static_cast<uint8_t>(detail::GetLittle<111, 3>(bytes));
    result.clock_power_management = static_cast<bool>(detail::GetLittle<114, 1>(bytes));
    result.surprise_down_error_reporting = static_cast<bool>(detail::GetLittle<115, 1>(bytes));
    result.link_active_reporting = static_cast<bool>(detail::GetLittle<116, 1>(bytes));
    result.link_bandwidth_notification = static_cast<bool>(detail::GetLittle<117, 1>(bytes));
    result.reserved5 = static_cast<uint8_t>(detail::GetLittle<118, 2>(bytes));
    result.port_number = static_cast<uint8_t>(detail::GetLittle<120, 8>(bytes));
    result.link_control = static_cast<uint16_t>(detail::GetLittle<128, 16>(bytes));
    result.link_speed = static_cast<PcieLinkSpeed>(detail::GetLittle<144, 4>(bytes));
    result.link_width = static_cast<uint8_t>(detail::GetLittle<148, 6>(bytes));
    result.reserved6 = static_cast<bool>(detail::GetLittle<154, 1>(bytes));
    result.link_training = static_cast<bool>(detail::GetLittle<155, 1>(bytes));
    result.slot_clock_configuration = static_cast<bool>(detail::GetLittle<156, 1>(bytes));
    result.link_active = static_cast<bool>(detail::GetLittle<157, 1>(bytes));
    result.link_bandwidth_management = static_cast<bool>(detail::GetLittle<158, 1>(bytes));
    result.link_autonomous_bandwidth = static_cast<bool>(detail::GetLittle<159, 1>(bytes));
    result.slot_capabilities = static_cast<uint32_t>(detail::GetLittle<160, 32>(bytes));
    result.slot_control = static_cast<uint16_t>(detail::GetLittle<192, 16>(bytes));
    result.slot_status = static_cast<uint16_t>(detail::GetLittle<208, 16>(bytes));
    result.root_control = static_cast<uint16_t>(detail::GetLittle<224, 16>(bytes));
    result.root_capabilities = static_cast<uint16_t>(detail::GetLittle<240, 16>(bytes));
    result.root_status = static_cast<uint32_t>(detail::GetLittle<256, 32>(bytes));
    result.device_capabilities2 = static_cast<uint32_t>(detail::GetLittle<288, 32>(bytes));
    result.device_control2 = static_cast<uint16_t>(detail::GetLittle<320, 16>(bytes));
    result.device_status2 = static_cast<uint16_t>(detail::GetLittle<336, 16>(bytes));
    result.link_capabilities2 = static_cast<uint32_t>(detail::GetLittle<352, 32>(bytes));
    result.link_control2 = static_cast<uint16_t>(detail::GetLittle<384, 16>(bytes));
    result.link_status2 = static_cast<uint16_t>(detail::GetLittle<400, 16>(bytes));
    result.slot_capabilities2 = static_cast<uint32_t>(detail::GetLittle<416, 32>(bytes));
    result.slot_control2 = static_cast<uint16_t>(detail::GetLittle<448, 16>(bytes));
    result.slot_status2 = static_cast<uint16_t>(detail::GetLittle<464, 16>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 8>(bytes, static_cast<uint64_t>(cap_id));
    detail::PutLittle<8, 8>(bytes, static_cast<uint64_t>(cap_next));
    detail::PutLittle<16, 4>(bytes, static_cast<uint64_t>(version));
    detail::PutLittle<20, 4>(bytes, static_cast<uint64_t>(port_type));
    detail::PutLittle<24, 1>(bytes, static_cast<uint64_t>(slot_implemented));
    detail::PutLittle<25, 5>(bytes, static_cast<uint64_t>(interrupt_message_number));
    detail::PutLittle<30, 2>(bytes, static_cast<uint64_t>(reserved));
    detail::PutLittle<32, 3>(bytes, static_cast<uint64_t>(max_payload_size_supported));
    detail::PutLittle<35, 2>(bytes, static_cast<uint64_t>(phantom_functions_supported));
    detail::PutLittle<37, 1>(bytes, static_cast<uint64_t>(extended_tag_supported));
    detail::PutLittle<38, 3>(bytes, static_cast<uint64_t>(l0s_acceptable_latency));
    detail::PutLittle<41, 3>(bytes, static_cast<uint64_t>(l1_acceptable_latency));
    detail::PutLittle<44, 3>(bytes, static_cast<uint64_t>(reserved1));
    detail::PutLittle<47, 1>(bytes, static_cast<uint64_t>(role_based_error_reporting));
    detail::PutLittle<48, 2>(bytes, static_cast<uint64_t>(reserved2));
    detail::PutLittle<50, 8>(bytes, static_cast<uint64_t>(slot_power_limit_value));
    detail::PutLittle<58, 2>(bytes, static_cast<uint64_t>(slot_power_limit_scale));
    detail::PutLittle<60, 1>(bytes, static_cast<uint64_t>(function_level_reset_capable));
    detail::PutLittle<61, 3>(bytes, static_cast<uint64_t>(reserved3));
    detail::PutLittle<64, 1>(bytes, static_cast<uint64_t>(correctable_error_reporting));
    detail::PutLittle<65, 1>(bytes, static_cast<uint64_t>(non_fatal_error_reporting));
    detail::PutLittle<66, 1>(bytes, static_cast<uint64_t>(fatal_error_reporting));
    detail::PutLittle<67, 1>(bytes, static_cast<uint64_t>(unsupported_request_reporting));
    detail::PutLittle<68, 1>(bytes, static_cast<uint64_t>(relaxed_ordering));
    detail::PutLittle<69, 3>(bytes, static_cast<uint64_t>(max_payload_size));
    detail::PutLittle<72, 1>(bytes, static_cast<uint64_t>(extended_tag));
    detail::PutLittle<73, 1>(bytes, static_cast<uint64_t>(phantom_functions));
    detail::PutLittle<74, 1>(bytes, static_cast<uint64_t>(aux_power_pm));
    detail::PutLittle<75, 1>(bytes, static_cast<uint64_t>(no_snoop));
    detail::PutLittle<76, 3>(bytes, static_cast<uint64_t>(max_read_request_size));
    detail::PutLittle<79, 1>(bytes, static_cast<uint64_t>(initiate_function_level_reset));
    detail::PutLittle<80, 1>(bytes, static_cast<uint64_t>(correctable_error_detected));
    detail::PutLittle<81, 1>(bytes, static_cast<uint64_t>(non_fatal_error_detected));
    detail::PutLittle<82, 1>(bytes, static_cast<uint64_t>(fatal_error_detected));
    detail::PutLittle<83, 1>(bytes, static_cast<uint64_t>(unsupported_request_detected));
    detail::PutLittle<84, 1>(bytes, static_cast<uint64_t>(aux_power_detected));
    detail::PutLittle<85, 1>(bytes, static_cast<uint64_t>(transactions_pending));
    detail::PutLittle<86, 10>(bytes, static_cast<uint64_t>(reserved4));
    detail::PutLittle<96, 4>(bytes, static_cast<uint64_t>(max_link_speed));
    detail::PutLittle<100, 6>(bytes, static_cast<uint64_t>(max_link_width));
    detail::PutLittle<106, 2>(bytes, static_cast<uint64_t>(aspm_support));
    detail::PutLittle<108, 3>(bytes, static_cast<uint64_t>(l0s_exit_latency));
    detail::PutLittle<111, 3>(bytes, static_cast<uint64_t>(l1_exit_latency));
    detail::PutLittle<114, 1>(bytes, static_cast<uint64_t>(clock_power_management));
    detail::PutLittle<115, 1>(bytes, static_cast<uint64_t>(surprise_down_error_reporting));
    detail::PutLittle<116, 1>(bytes, static_cast<uint64_t>(link_active_reporting));
    detail::PutLittle<117, 1>(bytes, static_cast<uint64_t>(link_bandwidth_notification));
    detail::PutLittle<118, 2>(bytes, static_cast<uint64_t>(reserved5));
    detail::PutLittle<120, 8>(bytes, static_cast<uint64_t>(port_number));
    detail::PutLittle<128, 16>(bytes, static_cast<uint64_t>(link_control));
    detail::PutLittle<144, 4>(bytes, static_cast<uint64_t>(link_speed));
    detail::PutLittle<148, 6>(bytes, static_cast<uint64_t>(link_width));
    detail::PutLittle<154, 1>(bytes, static_cast<uint64_t>(reserved6));
    detail::PutLittle<155, 1>(bytes, static_cast<uint64_t>(link_training));
    detail::PutLittle<156, 1>(bytes, static_cast<uint64_t>(slot_clock_configuration));
    detail::PutLittle<157, 1>(bytes, static_cast<uint64_t>(link_active));
    detail::PutLittle<158, 1>(bytes, static_cast<uint64_t>(link_bandwidth_management));
    detail::PutLittle<159, 1>(bytes, static_cast<uint64_t>(link_autonomous_bandwidth));
    detail::PutLittle<160, 32>(bytes, static_cast<uint64_t>(slot_capabilities));
    detail::PutLittle<192, 16>(bytes, static_cast<uint64_t>(slot_control));
    detail::PutLittle<208, 16>(bytes, static_cast<uint64_t>(slot_status));
    detail::PutLittle<224, 16>(bytes, static_cast<uint64_t>(root_control));
    detail::PutLittle<240, 16>(bytes, static_cast<uint64_t>(root_capabilities));
    detail::PutLittle<256, 32>(bytes, static_cast<uint64_t>(root_status));
    detail::PutLittle<288, 32>(bytes, static_cast<uint64_t>(device_capabilities2));
    detail::PutLittle<320, 16>(bytes, static_cast<uint64_t>(device_control2));
    detail::PutLittle<336, 16>(bytes, static_cast<uint64_t>(device_status2));
    detail::PutLittle<352, 32>(bytes, static_cast<uint64_t>(link_capabilities2));
    detail::PutLittle<384, 16>(bytes, static_cast<uint64_t>(link_control2));
    detail::PutLittle<400, 16>(bytes, static_cast<uint64_t>(link_status2));
    detail::PutLittle<416, 32>(bytes, static_cast<uint64_t>(slot_capabilities2));
    detail::PutLittle<448, 16>(bytes, static_cast<uint64_t>(slot_control2));
    detail::PutLittle<464, 16>(bytes, static_cast<uint64_t>(slot_status2));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("cap_id", self.cap_id, 8);
    f("cap_next", self.cap_next, 8);
    f("version", self.version, 4);
    f("port_type", self.port_type, 4);
    f("slot_implemented", self.slot_implemented, 1);
    f("interrupt_message_number", self.interrupt_message_number, 5);
    f("reserved", self.reserved, 2);
    f("max_payload_size_supported", self.max_payload_size_supported, 3);
    f("phantom_functions_supported", self.phantom_functions_supported, 2);
    f("extended_tag_supported", self.extended_tag_supported, 1);
    f("l0s_acceptable_latency", self.l0s_acceptable_latency, 3);
    f("l1_acceptable_latency", self.l1_acceptable_latency, 3);
    f("reserved1", self.reserved1, 3);
    f("role_based_error_reporting", self.role_based_error_reporting, 1);
    f("reserved2", self.reserved2, 2);
    f("slot_power_limit_value", self.slot_power_limit_value, 8);
    f("slot_power_limit_scale", self.slot_power_limit_scale, 2);
    f("function_level_reset_capable", self.function_level_reset_capable, 1);
    f("reserved3", self.reserved3, 3);
    f("correctable_error_reporting", self.correctable_error_reporting, 1);
    f("non_fatal_error_reporting", self.non_fatal_error_reporting, 1);
    f("fatal_error_reporting", self.fatal_error_reporting, 1);
    f("unsupported_request_reporting", self.unsupported_request_reporting, 1);
    f("relaxed_ordering", self.relaxed_ordering, 1);
    f("max_payload_size", self.max_payload_size, 3);
    f("extended_tag", self.extended_tag, 1);
    f("phantom_functions", self.phantom_functions, 1);
    f("aux_power_pm", self.aux_power_pm, 1);
    f("no_snoop", self.no_snoop, 1);
    f("max_read_request_size", self.max_read_request_size, 3);
    f("initiate_function_level_reset", self.initiate_function_level_reset, 1);
    f("correctable_error_detected", self.correctable_error_detected, 1);
    f("non_fatal_error_detected", self.non_fatal_error_detected, 1);
    f("fatal_error_detected", self.fatal_error_detected, 1);
    f("unsupported_request_detected", self.unsupported_request_detected, 1);
    f("aux_power_detected", self.aux_power_detected, 1);
    f("transactions_pending", self.transactions_pending, 1);
    f("reserved4", self.reserved4, 10);
    f("max_link_speed", self.max_link_speed, 4);
    f("max_link_width", self.max_link_width, 6);
    f("aspm_support", self.aspm_support, 2);
    f("l0s_exit_latency", self.l0s_exit_latency, 3);
    f("l1_exit_latency", self.l1_exit_latency, 3);
    f("clock_power_management", self.clock_power_management, 1);
    f("surprise_down_error_reporting", self.surprise_down_error_reporting, 1);
    f("link_active_reporting", self.link_active_reporting, 1);
    f("link_bandwidth_notification", self.link_bandwidth_notification, 1);
    f("reserved5", self.reserved5, 2);
    f("port_number", self.port_number, 8);
    f("link_control", self.link_control, 16);
    f("link_speed", self.link_speed, 4);
    f("link_width", self.link_width, 6);
    f("reserved6", self.reserved6, 1);
    f("link_training", self.link_training, 1);
    f("slot_clock_configuration", self.slot_clock_configuration, 1);
    f("link_active", self.link_active, 1);
    f("link_bandwidth_management", self.link_bandwidth_management, 1);
    f("link_autonomous_bandwidth", self.link_autonomous_bandwidth, 1);
    f("slot_capabilities", self.slot_capabilities, 32);
    f("slot_control", self.slot_control, 16);
    f("slot_status", self.slot_status, 16);
    f("root_control", self.root_control, 16);
    f("root_capabilities", self.root_capabilities, 16);
    f("root_status", self.root_status, 32);
    f("device_capabilities2", self.device_capabilities2, 32);
    f("device_control2", self.device_control2, 16);
    f("device_status2", self.device_status2, 16);
    f("link_capabilities2", self.link_capabilities2, 32);
    f("link_control2", self.link_control2, 16);
    f("link_status2", self.link_status2, 16);
    f("slot_capabilities2", self.slot_capabilities2, 32);
    f("slot_control2", self.slot_control2, 16);
    f("slot_status2", self.slot_status2, 16);
  }

  friend constexpr bool operator==(const PcieCap&, const PcieCap&) = default;
};

// MSI-X capability. Reset state: disabled, not masked. [PCIe 5.0, 7.7.2; linux/pci_regs.h] (pci.toml)
// Little-endian, 12 bytes.
struct MsixCap {
  static constexpr size_t kBytes = 12;
  static constexpr size_t kCapIdOffset = 0;
  static constexpr size_t kCapNextOffset = 1;
  PciCapabilityId cap_id{};  // msix
  uint8_t cap_next{};  // Offset of the next capability
  uint16_t table_size{};  // Vectors minus 1; read-only
  uint8_t reserved{};  // 0
  bool function_mask{};  // 1 masks all vectors
  bool msix_enable{};  // 1: interrupts are MSI-X messages, INTx is never sent
  uint8_t table_bir{};  // bar_msix
  uint32_t table_offset{};  // bar_msix_table in units of 8 bytes
  uint8_t pba_bir{};  // bar_msix
  uint32_t pba_offset{};  // bar_msix_pba in units of 8 bytes

  static constexpr MsixCap Decode(const uint8_t* bytes) {
    MsixCap result;
    result.cap_id = static_cast<PciCapabilityId>(detail::GetLittle<0, 8>(bytes));
    result.cap_next = static_cast<uint8_t>(detail::GetLittle<8, 8>(bytes));
    result.table_size = static_cast<uint16_t>(detail::GetLittle<16, 11>(bytes));
    result.reserved = static_cast<uint8_t>(detail::GetLittle<27, 3>(bytes));
    result.function_mask = static_cast<bool>(detail::GetLittle<30, 1>(bytes));
    result.msix_enable = static_cast<bool>(detail::GetLittle<31, 1>(bytes));
    result.table_bir = static_cast<uint8_t>(detail::GetLittle<32, 3>(bytes));
    result.table_offset = static_cast<uint32_t>(detail::GetLittle<35, 29>(bytes));
    result.pba_bir = static_cast<uint8_t>(detail::GetLittle<64, 3>(bytes));
    result.pba_offset = static_cast<uint32_t>(detail::GetLittle<67, 29>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 8>(bytes, static_cast<uint64_t>(cap_id));
    detail::PutLittle<8, 8>(bytes, static_cast<uint64_t>(cap_next));
    detail::PutLittle<16, 11>(bytes, static_cast<uint64_t>(table_size));
    detail::PutLittle<27, 3>(bytes, static_cast<uint64_t>(reserved));
    detail::PutLittle<30, 1>(bytes, static_cast<uint64_t>(function_mask));
    detail::PutLittle<31, 1>(bytes, static_cast<uint64_t>(msix_enable));
    detail::PutLittle<32, 3>(bytes, static_cast<uint64_t>(table_bir));
    detail::PutLittle<35, 29>(bytes, static_cast<uint64_t>(table_offset));
    detail::PutLittle<64, 3>(bytes, static_cast<uint64_t>(pba_bir));
    detail::PutLittle<67, 29>(bytes, static_cast<uint64_t>(pba_offset));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("cap_id", self.cap_id, 8);
    f("cap_next", self.cap_next, 8);
    f("table_size", self.table_size, 11);
    f("reserved", self.reserved, 3);
    f("function_mask", self.function_mask, 1);
    f("msix_enable", self.msix_enable, 1);
    f("table_bir", self.table_bir, 3);
    f("table_offset", self.table_offset, 29);
    f("pba_bir", self.pba_bir, 3);
    f("pba_offset", self.pba_offset, 29);
  }

  friend constexpr bool operator==(const MsixCap&, const MsixCap&) = default;
};

// One vector of the MSI-X table. A masked vector's message is kept in the pending bits and sent when the mask is cleared. [PCIe 5.0, 7.7.2; linux/pci_regs.h] (pci.toml)
// Little-endian, 16 bytes.
struct MsixTableEntry {
  static constexpr size_t kBytes = 16;
  static constexpr size_t kMessageAddressOffset = 0;
  static constexpr size_t kMessageUpperAddressOffset = 4;
  static constexpr size_t kMessageDataOffset = 8;
  uint32_t message_address{};  // Address bits 31:0; bits 1:0 are 0
  uint32_t message_upper_address{};  // Address bits 63:32
  uint32_t message_data{};  // Data to write, 4 bytes
  bool mask{};  // 1 after reset: no message is sent
  uint32_t reserved{};  // 0; steering tags are not supported

  static constexpr MsixTableEntry Decode(const uint8_t* bytes) {
    MsixTableEntry result;
    result.message_address = static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
    result.message_upper_address = static_cast<uint32_t>(detail::GetLittle<32, 32>(bytes));
    result.message_data = static_cast<uint32_t>(detail::GetLittle<64, 32>(bytes));
    result.mask = static_cast<bool>(detail::GetLittle<96, 1>(bytes));
    result.reserved = static_cast<uint32_t>(detail::GetLittle<97, 31>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 32>(bytes, static_cast<uint64_t>(message_address));
    detail::PutLittle<32, 32>(bytes, static_cast<uint64_t>(message_upper_address));
    detail::PutLittle<64, 32>(bytes, static_cast<uint64_t>(message_data));
    detail::PutLittle<96, 1>(bytes, static_cast<uint64_t>(mask));
    detail::PutLittle<97, 31>(bytes, static_cast<uint64_t>(reserved));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("message_address", self.message_address, 32);
    f("message_upper_address", self.message_upper_address, 32);
    f("message_data", self.message_data, 32);
    f("mask", self.mask, 1);
    f("reserved", self.reserved, 31);
  }

  friend constexpr bool operator==(const MsixTableEntry&, const MsixTableEntry&) = default;
};

// One element of the pending bit array: vectors 64 * i to 64 * i + 63. Read-only. [PCIe 5.0, 7.7.2] (pci.toml)
// Little-endian, 8 bytes.
struct MsixPbaEntry {
  static constexpr size_t kBytes = 8;
  static constexpr size_t kPendingOffset = 0;
  uint64_t pending{};  // Bit v: a message of vector 64 * i + v is pending until its mask is cleared

  static constexpr MsixPbaEntry Decode(const uint8_t* bytes) {
    MsixPbaEntry result;
    result.pending = static_cast<uint64_t>(detail::GetLittle<0, 64>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 64>(bytes, static_cast<uint64_t>(pending));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("pending", self.pending, 64);
  }
  static constexpr MsixPbaEntry FromWord(uint64_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 64>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint64_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint64_t>(detail::GetLittle<0, 64>(bytes));
  }

  friend constexpr bool operator==(const MsixPbaEntry&, const MsixPbaEntry&) = default;
};

// Location of a virtio structure. Read-only, except in virtio_pci_cfg_cap. [virtio 1.3, 4.1.4] (pci.toml)
// Little-endian, 16 bytes.
struct VirtioPciCap {
  static constexpr size_t kBytes = 16;
  static constexpr size_t kCapVndrOffset = 0;
  static constexpr size_t kCapNextOffset = 1;
  static constexpr size_t kCapLenOffset = 2;
  static constexpr size_t kCfgTypeOffset = 3;
  static constexpr size_t kBarOffset = 4;
  static constexpr size_t kIdOffset = 5;
  static constexpr size_t kPaddingOffset = 6;
  static constexpr size_t kOffsetOffset = 8;
  static constexpr size_t kLengthOffset = 12;
  PciCapabilityId cap_vndr{};  // vendor_specific
  uint8_t cap_next{};  // Offset of the next capability; 0 ends the list
  uint8_t cap_len{};  // Bytes of the capability, including what follows this structure
  VirtioPciCfgType cfg_type{};  // Which structure
  uint8_t bar{};  // BAR register that maps it: 0 to 5
  uint8_t id{};  // Distinguishes several of one type; 0 here
  uint8_t padding[2]{};  // 0
  uint32_t offset{};  // Bytes from the start of the BAR
  uint32_t length{};  // Bytes of the structure, padding included

  static constexpr VirtioPciCap Decode(const uint8_t* bytes) {
    VirtioPciCap result;
    result.cap_vndr = static_cast<PciCapabilityId>(detail::GetLittle<0, 8>(bytes));
    result.cap_next = static_cast<uint8_t>(detail::GetLittle<8, 8>(bytes));
    result.cap_len = static_cast<uint8_t>(detail::GetLittle<16, 8>(bytes));
    result.cfg_type = static_cast<VirtioPciCfgType>(detail::GetLittle<24, 8>(bytes));
    result.bar = static_cast<uint8_t>(detail::GetLittle<32, 8>(bytes));
    result.id = static_cast<uint8_t>(detail::GetLittle<40, 8>(bytes));
    for (size_t i = 0; i < 2; ++i) result.padding[i] = static_cast<uint8_t>(detail::GetLittle<0, 8>(bytes + 6 + i * 1));
    result.offset = static_cast<uint32_t>(detail::GetLittle<64, 32>(bytes));
    result.length = static_cast<uint32_t>(detail::GetLittle<96, 32>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 8>(bytes, static_cast<uint64_t>(cap_vndr));
    detail::PutLittle<8, 8>(bytes, static_cast<uint64_t>(cap_next));
    detail::PutLittle<16, 8>(bytes, static_cast<uint64_t>(cap_len));
    detail::PutLittle<24, 8>(bytes, static_cast<uint64_t>(cfg_type));
    detail::PutLittle<32, 8>(bytes, static_cast<uint64_t>(bar));
    detail::PutLittle<40, 8>(bytes, static_cast<uint64_t>(id));
    for (size_t i = 0; i < 2; ++i) detail::PutLittle<0, 8>(bytes + 6 + i * 1, padding[i]);
    detail::PutLittle<64, 32>(bytes, static_cast<uint64_t>(offset));
    detail::PutLittle<96, 32>(bytes, static_cast<uint64_t>(length));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("cap_vndr", self.cap_vndr, 8);
    f("cap_next", self.cap_next, 8);
    f("cap_len", self.cap_len, 8);
    f("cfg_type", self.cfg_type, 8);
    f("bar", self.bar, 8);
    f("id", self.id, 8);
    for (size_t i = 0; i < 2; ++i) f("padding", self.padding[i], 8);
    f("offset", self.offset, 32);
    f("length", self.length, 32);
  }

  friend constexpr bool operator==(const VirtioPciCap&, const VirtioPciCap&) = default;
};

// virtio_pci_cap for offsets or lengths of 4 GiB and more. [virtio 1.3, 4.1.4] (pci.toml)
// Little-endian, 24 bytes.
struct VirtioPciCap64 {
  static constexpr size_t kBytes = 24;
  static constexpr size_t kCapOffset = 0;
  static constexpr size_t kOffsetHiOffset = 16;
  static constexpr size_t kLengthHiOffset = 20;
  VirtioPciCap cap{};  // cap_len covers the two fields below
  uint32_t offset_hi{};  // Bits 63:32 of the offset
  uint32_t length_hi{};  // Bits 63:32 of the length

  static constexpr VirtioPciCap64 Decode(const uint8_t* bytes) {
    VirtioPciCap64 result;
    result.cap = VirtioPciCap::Decode(bytes + 0);
    result.offset_hi = static_cast<uint32_t>(detail::GetLittle<128, 32>(bytes));
    result.length_hi = static_cast<uint32_t>(detail::GetLittle<160, 32>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    cap.Encode(bytes + 0);
    detail::PutLittle<128, 32>(bytes, static_cast<uint64_t>(offset_hi));
    detail::PutLittle<160, 32>(bytes, static_cast<uint64_t>(length_hi));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    VirtioPciCap::Visit(self.cap, f);
    f("offset_hi", self.offset_hi, 32);
    f("length_hi", self.length_hi, 32);
  }

  friend constexpr bool operator==(const VirtioPciCap64&, const VirtioPciCap64&) = default;
};

// Location of the doorbells: that of a queue is at cap.offset + queue_notify_off * notify_off_multiplier. [virtio 1.3, 4.1.4.4] (pci.toml)
// Little-endian, 20 bytes.
struct VirtioPciNotifyCap {
  static constexpr size_t kBytes = 20;
  static constexpr size_t kCapOffset = 0;
  static constexpr size_t kNotifyOffMultiplierOffset = 16;
  VirtioPciCap cap{};  // cfg_type notify_cfg
  uint32_t notify_off_multiplier{};  // Bytes: the constant notify_off_multiplier

  static constexpr VirtioPciNotifyCap Decode(const uint8_t* bytes) {
    VirtioPciNotifyCap result;
    result.cap = VirtioPciCap::Decode(bytes + 0);
    result.notify_off_multiplier = static_cast<uint32_t>(detail::GetLittle<128, 32>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    cap.Encode(bytes + 0);
    detail::PutLittle<128, 32>(bytes, static_cast<uint64_t>(notify_off_multiplier));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    VirtioPciCap::Visit(self.cap, f);
    f("notify_off_multiplier", self.notify_off_multiplier, 32);
  }

  friend constexpr bool operator==(const VirtioPciNotifyCap&, const VirtioPciNotifyCap&) = default;
};

// Window into the BARs: cap.bar, cap.offset and cap.length (1, 2 or 4; offset a multiple of it) are writable and choose it. [virtio 1.3, 4.1.4.9] (pci.toml)
// Little-endian, 20 bytes.
struct VirtioPciCfgCap {
  static constexpr size_t kBytes = 20;
  static constexpr size_t kCapOffset = 0;
  static constexpr size_t kPciCfgDataOffset = 16;
  VirtioPciCap cap{};  // cfg_type pci_cfg; bar, offset and length are read-write, 0 after reset
  uint8_t pci_cfg_data[4]{};  // Reading or writing it reads or writes cap.length bytes of the BAR

  static constexpr VirtioPciCfgCap Decode(const uint8_t* bytes) {
    VirtioPciCfgCap result;
    result.cap = VirtioPciCap::Decode(bytes + 0);
    for (size_t i = 0; i < 4; ++i) result.pci_cfg_data[i] = static_cast<uint8_t>(detail::GetLittle<0, 8>(bytes + 16 + i * 1));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    cap.Encode(bytes + 0);
    for (size_t i = 0; i < 4; ++i) detail::PutLittle<0, 8>(bytes + 16 + i * 1, pci_cfg_data[i]);
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    VirtioPciCap::Visit(self.cap, f);
    for (size_t i = 0; i < 4; ++i) f("pci_cfg_data", self.pci_cfg_data[i], 8);
  }

  friend constexpr bool operator==(const VirtioPciCfgCap&, const VirtioPciCfgCap&) = default;
};

// Vendor data for debugging; the whole is a multiple of 4 bytes long. [virtio 1.3, 4.1.4.8] (pci.toml)
// Little-endian, 6 bytes. Followed by data[]: 1-byte values.
struct VirtioPciVndrData {
  static constexpr size_t kBytes = 6;
  static constexpr size_t kDataEntryBytes = 1;
  static constexpr size_t kCapVndrOffset = 0;
  static constexpr size_t kCapNextOffset = 1;
  static constexpr size_t kCapLenOffset = 2;
  static constexpr size_t kCfgTypeOffset = 3;
  static constexpr size_t kVendorIdOffset = 4;
  PciCapabilityId cap_vndr{};  // vendor_specific
  uint8_t cap_next{};  // Offset of the next capability; 0 ends the list
  uint8_t cap_len{};  // Bytes of the capability, data included
  VirtioPciCfgType cfg_type{};  // vendor_cfg
  uint16_t vendor_id{};  // Vendor that defines the format of the data; never 0x1af4

  static constexpr VirtioPciVndrData Decode(const uint8_t* bytes) {
    VirtioPciVndrData result;
    result.cap_vndr = static_cast<PciCapabilityId>(detail::GetLittle<0, 8>(bytes));
    result.cap_next = static_cast<uint8_t>(detail::GetLittle<8, 8>(bytes));
    result.cap_len = static_cast<uint8_t>(detail::GetLittle<16, 8>(bytes));
    result.cfg_type = static_cast<VirtioPciCfgType>(detail::GetLittle<24, 8>(bytes));
    result.vendor_id = static_cast<uint16_t>(detail::GetLittle<32, 16>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 8>(bytes, static_cast<uint64_t>(cap_vndr));
    detail::PutLittle<8, 8>(bytes, static_cast<uint64_t>(cap_next));
    detail::PutLittle<16, 8>(bytes, static_cast<uint64_t>(cap_len));
    detail::PutLittle<24, 8>(bytes, static_cast<uint64_t>(cfg_type));
    detail::PutLittle<32, 16>(bytes, static_cast<uint64_t>(vendor_id));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("cap_vndr", self.cap_vndr, 8);
    f("cap_next", self.cap_next, 8);
    f("cap_len", self.cap_len, 8);
    f("cfg_type", self.cfg_type, 8);
    f("vendor_id", self.vendor_id, 16);
  }

  friend constexpr bool operator==(const VirtioPciVndrData&, const VirtioPciVndrData&) = default;
};

// What the firmware is told about its board (processor.toml)
// Little-endian, 16 bytes.
struct ProcessorSettings {
  static constexpr size_t kBytes = 16;
  static constexpr size_t kMagicOffset = 0;
  static constexpr size_t kAbiProfileOffset = 4;
  static constexpr size_t kHasMacOffset = 5;
  static constexpr size_t kMacOffset = 6;
  static constexpr size_t kMtuOffset = 12;
  uint32_t magic{};  // `processor_settings_magic`
  uint8_t abi_profile{};  // `profile`: 0 rfc-v2, 1 vireo
  uint8_t has_mac{};  // 1: mac is set, else the device's own stays
  uint8_t mac[6]{};  // MAC address
  uint32_t mtu{};  // mgmt.mtu; 0: the device's own stays

  static constexpr ProcessorSettings Decode(const uint8_t* bytes) {
    ProcessorSettings result;
    result.magic = static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
    result.abi_profile = static_cast<uint8_t>(detail::GetLittle<32, 8>(bytes));
    result.has_mac = static_cast<uint8_t>(detail::GetLittle<40, 8>(bytes));
    for (size_t i = 0; i < 6; ++i) result.mac[i] = static_cast<uint8_t>(detail::GetLittle<0, 8>(bytes + 6 + i * 1));
    result.mtu = static_cast<uint32_t>(detail::GetLittle<96, 32>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 32>(bytes, static_cast<uint64_t>(magic));
    detail::PutLittle<32, 8>(bytes, static_cast<uint64_t>(abi_profile));
    detail::PutLittle<40, 8>(bytes, static_cast<uint64_t>(has_mac));
    for (size_t i = 0; i < 6; ++i) detail::PutLittle<0, 8>(bytes + 6 + i * 1, mac[i]);
    detail::PutLittle<96, 32>(bytes, static_cast<uint64_t>(mtu));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("magic", self.magic, 32);
    f("abi_profile", self.abi_profile, 8);
    f("has_mac", self.has_mac, 8);
    for (size_t i = 0; i < 6; ++i) f("mac", self.mac[i], 8);
    f("mtu", self.mtu, 32);
  }

  friend constexpr bool operator==(const ProcessorSettings&, const ProcessorSettings&) = default;
};

// Fields of the device configuration at net_config_rdma_offset; present if the device offers net_f_roce. [RFC v2, Device configuration layout] (roce.toml)
// Little-endian, 8 bytes.
struct NetConfigRdma {
  static constexpr size_t kBytes = 8;
  static constexpr size_t kMaxRdmaQpsOffset = 0;
  static constexpr size_t kMaxRdmaCqsOffset = 4;
  uint32_t max_rdma_qps{};  // L: queue pairs, rdma_qps_min … rdma_qps_max
  uint32_t max_rdma_cqs{};  // M: completion queues, rdma_cqs_min … rdma_cqs_max; the RFC also has max_rdma_cps

  static constexpr NetConfigRdma Decode(const uint8_t* bytes) {
    NetConfigRdma result;
    result.max_rdma_qps = static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
    result.max_rdma_cqs = static_cast<uint32_t>(detail::GetLittle<32, 32>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 32>(bytes, static_cast<uint64_t>(max_rdma_qps));
    detail::PutLittle<32, 32>(bytes, static_cast<uint64_t>(max_rdma_cqs));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("max_rdma_qps", self.max_rdma_qps, 32);
    f("max_rdma_cqs", self.max_rdma_cqs, 32);
  }
  static constexpr NetConfigRdma FromWord(uint64_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 64>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint64_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint64_t>(detail::GetLittle<0, 64>(bytes));
  }

  friend constexpr bool operator==(const NetConfigRdma&, const NetConfigRdma&) = default;
};

// Attributes of the device; constant until it is reset. [RFC v2, QUERY_DEVICE] (roce.toml)
// Little-endian, 128 bytes.
struct RdmaAckQueryDevice {
  static constexpr size_t kBytes = 128;
  static constexpr size_t kDeviceCapFlagsOffset = 0;
  static constexpr size_t kMaxMrSizeOffset = 8;
  static constexpr size_t kPageSizeCapOffset = 16;
  static constexpr size_t kHwVerOffset = 24;
  static constexpr size_t kMaxQpWrOffset = 28;
  static constexpr size_t kMaxSendSgeOffset = 32;
  static constexpr size_t kMaxRecvSgeOffset = 36;
  static constexpr size_t kMaxSgeRdOffset = 40;
  static constexpr size_t kMaxCqeOffset = 44;
  static constexpr size_t kMaxMrOffset = 48;
  static constexpr size_t kMaxPdOffset = 52;
  static constexpr size_t kMaxQpRdAtomOffset = 56;
  static constexpr size_t kMaxQpInitRdAtomOffset = 60;
  static constexpr size_t kMaxAhOffset = 64;
  static constexpr size_t kLocalCaAckDelayOffset = 68;
  static constexpr size_t kMaxMrPagesOffset = 72;
  static constexpr size_t kAtomicCapOffset = 76;
  static constexpr size_t kInvalidationOffset = 77;
  static constexpr size_t kSqVersionOffset = 78;
  static constexpr size_t kAtomicWriteOffset = 79;
  static constexpr size_t kMaxSrqOffset = 80;
  static constexpr size_t kFlushOffset = 84;
  static constexpr size_t kMaxPushOffset = 85;
  static constexpr size_t kMaxMwOffset = 88;
  static constexpr size_t kMaxFastMrPagesOffset = 92;
  static constexpr size_t kCqElementsOffset = 96;
  static constexpr size_t kMaxMcastAttachOffset = 100;
  uint64_t device_cap_flags{};  // Optional capabilities; flags: IbDeviceCap
  uint64_t max_mr_size{};  // Longest memory region in bytes
  uint64_t page_size_cap{};  // Page sizes of reg_user_mr: bit n stands for 2^n bytes; bit 12 is always set
  uint32_t hw_ver{};  // Version of the device, IBTA's hardware version: for display only
  uint32_t max_qp_wr{};  // Highest max_send_wr and max_recv_wr: the largest size of their virtqueues
  uint32_t max_send_sge{};  // Highest max_send_sge
  uint32_t max_recv_sge{};  // Highest max_recv_sge
  uint32_t max_sge_rd{};  // Most scatter elements of an RDMA READ
  uint32_t max_cqe{};  // Highest cqe: the largest size of a completion virtqueue
  uint32_t max_mr{};  // Memory regions
  uint32_t max_pd{};  // Protection domains
  uint32_t max_qp_rd_atom{};  // Highest max_dest_rd_atomic: RDMA READs and atomic operations queued at a responder
  uint32_t max_qp_init_rd_atom{};  // Highest max_rd_atomic: RDMA READs and atomic operations that a requester has outstanding
  uint32_t max_ah{};  // Address handles
  uint8_t local_ca_ack_delay{};  // Longest time to respond to a packet: 4096 ns times 2^n
  uint8_t reserved[3]{};  // 0
  uint32_t max_mr_pages{};  // Highest npages of reg_user_mr [vireo profile; else reserved]
  RdmaAtomicCap atomic_cap{};  // Atomic operations [vireo profile; else reserved]
  uint8_t invalidation{};  // Not 0: invalidatable regions, SEND with invalidate, local invalidate [vireo profile; else reserved]
  uint8_t sq_version{};  // Highest rdma_sq_base.version of a send work request; 0: only rdma_sq_req [vireo profile; else reserved]
  uint8_t atomic_write{};  // Not 0: ATOMIC WRITE [vireo profile; else reserved]
  uint32_t max_srq{};  // Shared receive queues; each takes the number of a QP. Their max_wr is up to max_qp_wr, their max_sge up to max_recv_sge [vireo profile; else reserved]
  uint8_t flush{};  // Placements that a FLUSH may request; flags: RdmaFlushCap [vireo profile; else reserved]
  uint8_t max_push{};  // Longest extensible send work request that can be pushed through the notify page, in bytes; 0: none [vireo profile; else reserved]
  uint8_t reserved2[2]{};  // 0
  uint32_t max_mw{};  // Memory windows, types 1 and 2B, whose numbers are those of memory regions: no more than max_mr of both. 0: there are none [vireo profile; else reserved]
  uint32_t max_fast_mr_pages{};  // Highest max_pages of alloc_mr, and pages of a reg_mr: two for each of max_send_sge. 0: no registration by work requests [vireo profile; else reserved]
  uint32_t cq_elements{};  // Elements that the completions of a CQ may have; none: no create_extended_cq; flags: RdmaCqElement [vireo profile; else reserved]
  uint32_t max_mcast_attach{};  // Attachments to multicast groups of all UD QPs together, so that there are no more groups, nor QPs in one. 0: no multicast is received [vireo profile; else reserved]
  uint8_t reserved3[24]{};  // 0

  static constexpr RdmaAckQueryDevice Decode(const uint8_t* bytes) {
    RdmaAckQueryDevice result;
    result.device_cap_flags = static_cast<uint64_t>(detail::GetLittle<0, 64>(bytes));
    result.max_mr_size = static_cast<uint64_t>(detail::GetLittle<64, 64>(bytes));
    result.page_size_cap = static_cast<uint64_t>(detail::GetLittle<128, 64>(bytes));
    result.hw_ver = static_cast<uint32_t>(detail::GetLittle<192, 32>(bytes));
    result.max_qp_wr = static_cast<uint32_t>(detail::GetLittle<224, 32>(bytes));
    result.max_send_sge = static_cast<uint32_t>(detail::GetLittle<256, 32>(bytes));
    result.max_recv_sge = static_cast<uint32_t>(detail::GetLittle<288, 32>(bytes));
    result.max_sge_rd = static_cast<uint32_t>(detail::GetLittle<320, 32>(bytes));
    result.max_cqe = static_cast<uint32_t>(detail::GetLittle<352, 32>(bytes));
    result.max_mr = static_cast<uint32_t>(detail::GetLittle<384, 32>(bytes));
    result.max_pd = static_cast<uint32_t>(detail::GetLittle<416, 32>(bytes));
    result.max_qp_rd_atom = static_cast<uint32_t>(detail::GetLittle<448, 32>(bytes));
    result.max_qp_init_rd_atom = static_cast<uint32_t>(detail::GetLittle<480, 32>(bytes));
    result.max_ah = static_cast<uint32_t>(detail::GetLittle<512, 32>(bytes));
    result.local_ca_ack_delay = static_cast<uint8_t>(detail::GetLittle<544, 8>(bytes));
    for (size_t i = 0; i < 3; ++i) result.reserved[i] = static_cast<uint8_t>(detail::GetLittle<0, 8>(bytes + 69 + i * 1));
    result.max_mr_pages = static_cast<uint32_t>(detail::GetLittle<576, 32>(bytes));
    result.atomic_cap = static_cast<RdmaAtomicCap>(detail::GetLittle<608, 8>(bytes));
    result.invalidation = static_cast<uint8_t>(detail::GetLittle<616, 8>(bytes));
    result.sq_version = static_cast<uint8_t>(detail::GetLittle<624, 8>(bytes));
    result.atomic_write = static_cast<uint8_t>(detail::GetLittle<632, 8>(bytes));
    result.max_srq = static_cast<uint32_t>(detail::GetLittle<640, 32>(bytes));
    result.flush = static_cast<uint8_t>(detail::GetLittle<672, 8>(bytes));
    result.max_push = static_cast<uint8_t>(detail::GetLittle<680, 8>(bytes));
    for (size_t i = 0; i < 2; ++i) result.reserved2[i] = static_cast<uint8_t>(detail::GetLittle<0, 8>(bytes + 86 + i * 1));
    result.max_mw = static_cast<uint32_t>(detail::GetLittle<704, 32>(bytes));
    result.max_fast_mr_pages = static_cast<uint32_t>(detail::GetLittle<736, 32>(bytes));
    result.cq_elements = static_cast<uint32_t>(detail::GetLittle<768, 32>(bytes));
    result.max_mcast_attach = static_cast<uint32_t>(detail::GetLittle<800, 32>(bytes));
    for (size_t i = 0; i < 24; ++i) result.reserved3[i] = static_cast<uint8_t>(detail::GetLittle<0, 8>(bytes + 104 + i * 1));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 64>(bytes, static_cast<uint64_t>(device_cap_flags));
    detail::PutLittle<64, 64>(bytes, static_cast<uint64_t>(max_mr_size));
    detail::PutLittle<128, 64>(bytes, static_cast<uint64_t>(page_size_cap));
    detail::PutLittle<192, 32>(bytes, static_cast<uint64_t>(hw_ver));
    detail::PutLittle<224, 32>(bytes, static_cast<uint64_t>(max_qp_wr));
    detail::PutLittle<256, 32>(bytes, static_cast<uint64_t>(max_send_sge));
    detail::PutLittle<288, 32>(bytes, static_cast<uint64_t>(max_recv_sge));
    detail::PutLittle<320, 32>(bytes, static_cast<uint64_t>(max_sge_rd));
    detail::PutLittle<352, 32>(bytes, static_cast<uint64_t>(max_cqe));
    detail::PutLittle<384, 32>(bytes, static_cast<uint64_t>(max_mr));
    detail::PutLittle<416, 32>(bytes, static_cast<uint64_t>(max_pd));
    detail::PutLittle<448, 32>(bytes, static_cast<uint64_t>(max_qp_rd_atom));
    detail::PutLittle<480, 32>(bytes, static_cast<uint64_t>(max_qp_init_rd_atom));
    detail::PutLittle<512, 32>(bytes, static_cast<uint64_t>(max_ah));
    detail::PutLittle<544, 8>(bytes, static_cast<uint64_t>(local_ca_ack_delay));
    for (size_t i = 0; i < 3; ++i) detail::PutLittle<0, 8>(bytes + 69 + i * 1, reserved[i]);
    detail::PutLittle<576, 32>(bytes, static_cast<uint64_t>(max_mr_pages));
    detail::PutLittle<608, 8>(bytes, static_cast<uint64_t>(atomic_cap));
    detail::PutLittle<616, 8>(bytes, static_cast<uint64_t>(invalidation));
    detail::PutLittle<624, 8>(bytes, static_cast<uint64_t>(sq_version));
    detail::PutLittle<632, 8>(bytes, static_cast<uint64_t>(atomic_write));
    detail::PutLittle<640, 32>(bytes, static_cast<uint64_t>(max_srq));
    detail::PutLittle<672, 8>(bytes, static_cast<uint64_t>(flush));
    detail::PutLittle<680, 8>(bytes, static_cast<uint64_t>(max_push));
    for (size_t i = 0; i < 2; ++i) detail::PutLittle<0, 8>(bytes + 86 + i * 1, reserved2[i]);
    detail::PutLittle<704, 32>(bytes, static_cast<uint64_t>(max_mw));
    detail::PutLittle<736, 32>(bytes, static_cast<uint64_t>(max_fast_mr_pages));
    detail::PutLittle<768, 32>(bytes, static_cast<uint64_t>(cq_elements));
    detail::PutLittle<800, 32>(bytes, static_cast<uint64_t>(max_mcast_attach));
    for (size_t i = 0; i < 24; ++i) detail::PutLittle<0, 8>(bytes + 104 + i * 1, reserved3[i]);
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("device_cap_flags", self.device_cap_flags, 64);
    f("max_mr_size", self.max_mr_size, 64);
    f("page_size_cap", self.page_size_cap, 64);
    f("hw_ver", self.hw_ver, 32);
    f("max_qp_wr", self.max_qp_wr, 32);
    f("max_send_sge", self.max_send_sge, 32);
    f("max_recv_sge", self.max_recv_sge, 32);
    f("max_sge_rd", self.max_sge_rd, 32);
    f("max_cqe", self.max_cqe, 32);
    f("max_mr", self.max_mr, 32);
    f("max_pd", self.max_pd, 32);
    f("max_qp_rd_atom", self.max_qp_rd_atom, 32);
    f("max_qp_init_rd_atom", self.max_qp_init_rd_atom, 32);
    f("max_ah", self.max_ah, 32);
    f("local_ca_ack_delay", self.local_ca_ack_delay, 8);
    for (size_t i = 0; i < 3; ++i) f("reserved", self.reserved[i], 8);
    f("max_mr_pages", self.max_mr_pages, 32);
    f("atomic_cap", self.atomic_cap, 8);
    f("invalidation", self.invalidation, 8);
    f("sq_version", self.sq_version, 8);
    f("atomic_write", self.atomic_write, 8);
    f("max_srq", self.max_srq, 32);
    f("flush", self.flush, 8);
    f("max_push", self.max_push, 8);
    for (size_t i = 0; i < 2; ++i) f("reserved2", self.reserved2[i], 8);
    f("max_mw", self.max_mw, 32);
    f("max_fast_mr_pages", self.max_fast_mr_pages, 32);
    f("cq_elements", self.cq_elements, 32);
    f("max_mcast_attach", self.max_mcast_attach, 32);
    for (size_t i = 0; i < 24; ++i) f("reserved3", self.reserved3[i], 8);
  }

  friend constexpr bool operator==(const RdmaAckQueryDevice&, const RdmaAckQueryDevice&) = default;
};

// Attributes of the port. Link state, speed and MTU are virtio-net's own configuration fields. [RFC v2, QUERY_PORT] (roce.toml)
// Little-endian, 32 bytes.
struct RdmaAckQueryPort {
  static constexpr size_t kBytes = 32;
  static constexpr size_t kGidTblLenOffset = 0;
  static constexpr size_t kMaxMsgSzOffset = 4;
  uint32_t gid_tbl_len{};  // Entries of the GID table, up to rdma_gids_max
  uint32_t max_msg_sz{};  // Longest message of any operation in bytes; IBTA allows 2^31
  uint32_t reserved[6]{};  // 0

  static constexpr RdmaAckQueryPort Decode(const uint8_t* bytes) {
    RdmaAckQueryPort result;
    result.gid_tbl_len = static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
    result.max_msg_sz = static_cast<uint32_t>(detail::GetLittle<32, 32>(bytes));
    for (size_t i = 0; i < 6; ++i) result.reserved[i] = static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes + 8 + i * 4));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 32>(bytes, static_cast<uint64_t>(gid_tbl_len));
    detail::PutLittle<32, 32>(bytes, static_cast<uint64_t>(max_msg_sz));
    for (size_t i = 0; i < 6; ++i) detail::PutLittle<0, 32>(bytes + 8 + i * 4, reserved[i]);
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("gid_tbl_len", self.gid_tbl_len, 32);
    f("max_msg_sz", self.max_msg_sz, 32);
    for (size_t i = 0; i < 6; ++i) f("reserved", self.reserved[i], 32);
  }

  friend constexpr bool operator==(const RdmaAckQueryPort&, const RdmaAckQueryPort&) = default;
};

// The clock of the device, which timestamps completions, read between command and response. [docs/decisions/0039] (roce.toml)
// Little-endian, 8 bytes. Only in the vireo profile.
struct RdmaAckQueryClock {
  static constexpr size_t kBytes = 8;
  static constexpr size_t kTimeNsOffset = 0;
  uint64_t time_ns{};  // Nanoseconds, from a start of its own; never goes back

  static constexpr RdmaAckQueryClock Decode(const uint8_t* bytes) {
    RdmaAckQueryClock result;
    result.time_ns = static_cast<uint64_t>(detail::GetLittle<0, 64>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 64>(bytes, static_cast<uint64_t>(time_ns));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("time_ns", self.time_ns, 64);
  }
  static constexpr RdmaAckQueryClock FromWord(uint64_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 64>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint64_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint64_t>(detail::GetLittle<0, 64>(bytes));
  }

  friend constexpr bool operator==(const RdmaAckQueryClock&, const RdmaAckQueryClock&) = default;
};

// Create a completion queue. Its capacity is the number of buffers that the driver posts on its virtqueue. [RFC v2, CREATE_CQ] (roce.toml)
// Little-endian, 4 bytes.
struct RdmaCmdCreateCq {
  static constexpr size_t kBytes = 4;
  static constexpr size_t kCqeOffset = 0;
  uint32_t cqe{};  // CQEs requested, 1 … max_cqe

  static constexpr RdmaCmdCreateCq Decode(const uint8_t* bytes) {
    RdmaCmdCreateCq result;
    result.cqe = static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 32>(bytes, static_cast<uint64_t>(cqe));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("cqe", self.cqe, 32);
  }
  static constexpr RdmaCmdCreateCq FromWord(uint32_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 32>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint32_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
  }

  friend constexpr bool operator==(const RdmaCmdCreateCq&, const RdmaCmdCreateCq&) = default;
};

// The new completion queue. [RFC v2, CREATE_CQ] (roce.toml)
// Little-endian, 4 bytes.
struct RdmaAckCreateCq {
  static constexpr size_t kBytes = 4;
  static constexpr size_t kCqnOffset = 0;
  uint32_t cqn{};  // Index of the CQ, from 0

  static constexpr RdmaAckCreateCq Decode(const uint8_t* bytes) {
    RdmaAckCreateCq result;
    result.cqn = static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 32>(bytes, static_cast<uint64_t>(cqn));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("cqn", self.cqn, 32);
  }
  static constexpr RdmaAckCreateCq FromWord(uint32_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 32>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint32_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
  }

  friend constexpr bool operator==(const RdmaAckCreateCq&, const RdmaAckCreateCq&) = default;
};

// Create a completion queue whose completions are an rdma_cq_base with elements. The response is that of create_cq. [docs/decisions/0039] (roce.toml)
// Little-endian, 8 bytes. Only in the vireo profile.
struct RdmaCmdCreateExtendedCq {
  static constexpr size_t kBytes = 8;
  static constexpr size_t kCqeOffset = 0;
  static constexpr size_t kElementsOffset = 4;
  uint32_t cqe{};  // As in rdma_cmd_create_cq
  uint32_t elements{};  // One or more of cq_elements; flags: RdmaCqElement

  static constexpr RdmaCmdCreateExtendedCq Decode(const uint8_t* bytes) {
    RdmaCmdCreateExtendedCq result;
    result.cqe = static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
    result.elements = static_cast<uint32_t>(detail::GetLittle<32, 32>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 32>(bytes, static_cast<uint64_t>(cqe));
    detail::PutLittle<32, 32>(bytes, static_cast<uint64_t>(elements));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("cqe", self.cqe, 32);
    f("elements", self.elements, 32);
  }
  static constexpr RdmaCmdCreateExtendedCq FromWord(uint64_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 64>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint64_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint64_t>(detail::GetLittle<0, 64>(bytes));
  }

  friend constexpr bool operator==(const RdmaCmdCreateExtendedCq&, const RdmaCmdCreateExtendedCq&) = default;
};

// Destroy a completion queue. [RFC v2, DESTROY_CQ] (roce.toml)
// Little-endian, 4 bytes.
struct RdmaCmdDestroyCq {
  static constexpr size_t kBytes = 4;
  static constexpr size_t kCqnOffset = 0;
  uint32_t cqn{};  // The CQ

  static constexpr RdmaCmdDestroyCq Decode(const uint8_t* bytes) {
    RdmaCmdDestroyCq result;
    result.cqn = static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 32>(bytes, static_cast<uint64_t>(cqn));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("cqn", self.cqn, 32);
  }
  static constexpr RdmaCmdDestroyCq FromWord(uint32_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 32>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint32_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
  }

  friend constexpr bool operator==(const RdmaCmdDestroyCq&, const RdmaCmdDestroyCq&) = default;
};

// Arm a completion queue for CQEs after the response; the driver must poll once more for earlier ones. [RFC v2, REQ_NOTIFY_CQ] (roce.toml)
// Little-endian, 8 bytes.
struct RdmaCmdReqNotify {
  static constexpr size_t kBytes = 8;
  static constexpr size_t kCqnOffset = 0;
  static constexpr size_t kFlagsOffset = 4;
  uint32_t cqn{};  // The CQ
  uint32_t flags{};  // When to notify; at least one flag; flags: IbNotifyFlags

  static constexpr RdmaCmdReqNotify Decode(const uint8_t* bytes) {
    RdmaCmdReqNotify result;
    result.cqn = static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
    result.flags = static_cast<uint32_t>(detail::GetLittle<32, 32>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 32>(bytes, static_cast<uint64_t>(cqn));
    detail::PutLittle<32, 32>(bytes, static_cast<uint64_t>(flags));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("cqn", self.cqn, 32);
    f("flags", self.flags, 32);
  }
  static constexpr RdmaCmdReqNotify FromWord(uint64_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 64>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint64_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint64_t>(detail::GetLittle<0, 64>(bytes));
  }

  friend constexpr bool operator==(const RdmaCmdReqNotify&, const RdmaCmdReqNotify&) = default;
};

// 32-bit write that arms a CQ. If a CQE that the flags select lies between seen_used_idx and the device's position, the device notifies at once; this closes the race between the last poll and arming. Without a flag the write is ignored. [docs/decisions/0003] (roce.toml)
// Little-endian, 4 bytes. Only in the vireo profile.
struct RdmaCqArm {
  static constexpr size_t kBytes = 4;
  static constexpr size_t kSeenUsedIdxOffset = 0;
  uint16_t seen_used_idx{};  // Split: used.idx that the driver has processed; packed: next used slot, bit 15 its wrap
  bool solicited{};  // As ib_notify_flags.solicited
  bool next_completion{};  // As ib_notify_flags.next_completion
  uint16_t reserved{};  // 0

  static constexpr RdmaCqArm Decode(const uint8_t* bytes) {
    RdmaCqArm result;
    result.seen_used_idx = static_cast<uint16_t>(detail::GetLittle<0, 16>(bytes));
    result.solicited = static_cast<bool>(detail::GetLittle<16, 1>(bytes));
    result.next_completion = static_cast<bool>(detail::GetLittle<17, 1>(bytes));
    result.reserved = static_cast<uint16_t>(detail::GetLittle<18, 14>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 16>(bytes, static_cast<uint64_t>(seen_used_idx));
    detail::PutLittle<16, 1>(bytes, static_cast<uint64_t>(solicited));
    detail::PutLittle<17, 1>(bytes, static_cast<uint64_t>(next_completion));
    detail::PutLittle<18, 14>(bytes, static_cast<uint64_t>(reserved));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("seen_used_idx", self.seen_used_idx, 16);
    f("solicited", self.solicited, 1);
    f("next_completion", self.next_completion, 1);
    f("reserved", self.reserved, 14);
  }
  static constexpr RdmaCqArm FromWord(uint32_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 32>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint32_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
  }

  friend constexpr bool operator==(const RdmaCqArm&, const RdmaCqArm&) = default;
};

// The new protection domain. [RFC v2, CREATE_PD] (roce.toml)
// Little-endian, 4 bytes.
struct RdmaAckCreatePd {
  static constexpr size_t kBytes = 4;
  static constexpr size_t kPdnOffset = 0;
  uint32_t pdn{};  // Handle of the PD

  static constexpr RdmaAckCreatePd Decode(const uint8_t* bytes) {
    RdmaAckCreatePd result;
    result.pdn = static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 32>(bytes, static_cast<uint64_t>(pdn));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("pdn", self.pdn, 32);
  }
  static constexpr RdmaAckCreatePd FromWord(uint32_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 32>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint32_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
  }

  friend constexpr bool operator==(const RdmaAckCreatePd&, const RdmaAckCreatePd&) = default;
};

// Destroy a protection domain. The RFC spells the command's name DESTORY_PD once. [RFC v2, DESTROY_PD] (roce.toml)
// Little-endian, 4 bytes.
struct RdmaCmdDestroyPd {
  static constexpr size_t kBytes = 4;
  static constexpr size_t kPdnOffset = 0;
  uint32_t pdn{};  // The PD

  static constexpr RdmaCmdDestroyPd Decode(const uint8_t* bytes) {
    RdmaCmdDestroyPd result;
    result.pdn = static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 32>(bytes, static_cast<uint64_t>(pdn));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("pdn", self.pdn, 32);
  }
  static constexpr RdmaCmdDestroyPd FromWord(uint32_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 32>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint32_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
  }

  friend constexpr bool operator==(const RdmaCmdDestroyPd&, const RdmaCmdDestroyPd&) = default;
};

// Memory region over the whole address space: keys work on DMA addresses. For a trusted driver's own PD only. [RFC v2, GET_DMA_MR] (roce.toml)
// Little-endian, 8 bytes.
struct RdmaCmdGetDmaMr {
  static constexpr size_t kBytes = 8;
  static constexpr size_t kPdnOffset = 0;
  static constexpr size_t kAccessFlagsOffset = 4;
  uint32_t pdn{};  // The PD
  uint32_t access_flags{};  // What it allows; flags: IbAccessFlags

  static constexpr RdmaCmdGetDmaMr Decode(const uint8_t* bytes) {
    RdmaCmdGetDmaMr result;
    result.pdn = static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
    result.access_flags = static_cast<uint32_t>(detail::GetLittle<32, 32>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 32>(bytes, static_cast<uint64_t>(pdn));
    detail::PutLittle<32, 32>(bytes, static_cast<uint64_t>(access_flags));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("pdn", self.pdn, 32);
    f("access_flags", self.access_flags, 32);
  }
  static constexpr RdmaCmdGetDmaMr FromWord(uint64_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 64>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint64_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint64_t>(detail::GetLittle<0, 64>(bytes));
  }

  friend constexpr bool operator==(const RdmaCmdGetDmaMr&, const RdmaCmdGetDmaMr&) = default;
};

// The new memory region. [RFC v2, GET_DMA_MR] (roce.toml)
// Little-endian, 12 bytes.
struct RdmaAckGetDmaMr {
  static constexpr size_t kBytes = 12;
  static constexpr size_t kMrnOffset = 0;
  static constexpr size_t kLkeyOffset = 4;
  static constexpr size_t kRkeyOffset = 8;
  uint32_t mrn{};  // Handle of the MR
  uint32_t lkey{};  // Key for local scatter/gather elements
  uint32_t rkey{};  // Key for the peer

  static constexpr RdmaAckGetDmaMr Decode(const uint8_t* bytes) {
    RdmaAckGetDmaMr result;
    result.mrn = static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
    result.lkey = static_cast<uint32_t>(detail::GetLittle<32, 32>(bytes));
    result.rkey = static_cast<uint32_t>(detail::GetLittle<64, 32>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 32>(bytes, static_cast<uint64_t>(mrn));
    detail::PutLittle<32, 32>(bytes, static_cast<uint64_t>(lkey));
    detail::PutLittle<64, 32>(bytes, static_cast<uint64_t>(rkey));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("mrn", self.mrn, 32);
    f("lkey", self.lkey, 32);
    f("rkey", self.rkey, 32);
  }

  friend constexpr bool operator==(const RdmaAckGetDmaMr&, const RdmaAckGetDmaMr&) = default;
};

// Memory region over a list of pages. The region is [virt_addr, virt_addr + length); page i of the list backs the i-th page that it overlaps, in pages of 2^page_shift bytes. npages is exactly their number, and the list is part of the request. [RFC v2, REG_USER_MR] (roce.toml)
// Little-endian, 32 bytes. Followed by pages[]: 8-byte values.
struct RdmaCmdRegUserMr {
  static constexpr size_t kBytes = 32;
  static constexpr size_t kPagesEntryBytes = 8;
  static constexpr size_t kPdnOffset = 0;
  static constexpr size_t kAccessFlagsOffset = 4;
  static constexpr size_t kVirtAddrOffset = 8;
  static constexpr size_t kLengthOffset = 16;
  static constexpr size_t kNpagesOffset = 24;
  static constexpr size_t kPageShiftOffset = 28;
  static constexpr size_t kInvalidatableOffset = 29;
  static constexpr size_t kIsPmemOffset = 30;
  uint32_t pdn{};  // The PD
  uint32_t access_flags{};  // What it allows; flags: IbAccessFlags
  uint64_t virt_addr{};  // First address of the region as used in SGEs and by the peer; any value
  uint64_t length{};  // Bytes, from 1
  uint32_t npages{};  // Entries of pages
  uint8_t page_shift{};  // 0, or a size of page_size_cap from rdma_page_shift_min on [vireo profile; else reserved]
  uint8_t invalidatable{};  // 1: work requests of QPs of this PD, and SENDs with invalidate to them, may end it; else 0 [vireo profile; else reserved]
  uint8_t is_pmem{};  // 1: all of it is persistent memory, as the driver knows of its host; else 0 [vireo profile; else reserved]
  uint8_t reserved{};  // 0

  static constexpr RdmaCmdRegUserMr Decode(const uint8_t* bytes) {
    RdmaCmdRegUserMr result;
    result.pdn = static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
    result.access_flags = static_cast<uint32_t>(detail::GetLittle<32, 32>(bytes));
    result.virt_addr = static_cast<uint64_t>(detail::GetLittle<64, 64>(bytes));
    result.length = static_cast<uint64_t>(detail::GetLittle<128, 64>(bytes));
    result.npages = static_cast<uint32_t>(detail::GetLittle<192, 32>(bytes));
    result.page_shift = static_cast<uint8_t>(detail::GetLittle<224, 8>(bytes));
    result.invalidatable = static_cast<uint8_t>(detail::GetLittle<232, 8>(bytes));
    result.is_pmem = static_cast<uint8_t>(detail::GetLittle<240, 8>(bytes));
    result.reserved = static_cast<uint8_t>(detail::GetLittle<248, 8>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 32>(bytes, static_cast<uint64_t>(pdn));
    detail::PutLittle<32, 32>(bytes, static_cast<uint64_t>(access_flags));
    detail::PutLittle<64, 64>(bytes, static_cast<uint64_t>(virt_addr));
    detail::PutLittle<128, 64>(bytes, static_cast<uint64_t>(length));
    detail::PutLittle<192, 32>(bytes, static_cast<uint64_t>(npages));
    detail::PutLittle<224, 8>(bytes, static_cast<uint64_t>(page_shift));
    detail::PutLittle<232, 8>(bytes, static_cast<uint64_t>(invalidatable));
    detail::PutLittle<240, 8>(bytes, static_cast<uint64_t>(is_pmem));
    detail::PutLittle<248, 8>(bytes, static_cast<uint64_t>(reserved));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("pdn", self.pdn, 32);
    f("access_flags", self.access_flags, 32);
    f("virt_addr", self.virt_addr, 64);
    f("length", self.length, 64);
    f("npages", self.npages, 32);
    f("page_shift", self.page_shift, 8);
    f("invalidatable", self.invalidatable, 8);
    f("is_pmem", self.is_pmem, 8);
    f("reserved", self.reserved, 8);
  }

  friend constexpr bool operator==(const RdmaCmdRegUserMr&, const RdmaCmdRegUserMr&) = default;
};

// The new memory region. [RFC v2, REG_USER_MR] (roce.toml)
// Little-endian, 12 bytes.
struct RdmaAckRegUserMr {
  static constexpr size_t kBytes = 12;
  static constexpr size_t kMrnOffset = 0;
  static constexpr size_t kLkeyOffset = 4;
  static constexpr size_t kRkeyOffset = 8;
  uint32_t mrn{};  // Handle of the MR
  uint32_t lkey{};  // Key for local scatter/gather elements
  uint32_t rkey{};  // Key for the peer

  static constexpr RdmaAckRegUserMr Decode(const uint8_t* bytes) {
    RdmaAckRegUserMr result;
    result.mrn = static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
    result.lkey = static_cast<uint32_t>(detail::GetLittle<32, 32>(bytes));
    result.rkey = static_cast<uint32_t>(detail::GetLittle<64, 32>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 32>(bytes, static_cast<uint64_t>(mrn));
    detail::PutLittle<32, 32>(bytes, static_cast<uint64_t>(lkey));
    detail::PutLittle<64, 32>(bytes, static_cast<uint64_t>(rkey));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("mrn", self.mrn, 32);
    f("lkey", self.lkey, 32);
    f("rkey", self.rkey, 32);
  }

  friend constexpr bool operator==(const RdmaAckRegUserMr&, const RdmaAckRegUserMr&) = default;
};

// Deregister a memory region. [RFC v2, DEREG_MR] (roce.toml)
// Little-endian, 4 bytes.
struct RdmaCmdDeregMr {
  static constexpr size_t kBytes = 4;
  static constexpr size_t kMrnOffset = 0;
  uint32_t mrn{};  // The MR

  static constexpr RdmaCmdDeregMr Decode(const uint8_t* bytes) {
    RdmaCmdDeregMr result;
    result.mrn = static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 32>(bytes, static_cast<uint64_t>(mrn));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("mrn", self.mrn, 32);
  }
  static constexpr RdmaCmdDeregMr FromWord(uint32_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 32>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint32_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
  }

  friend constexpr bool operator==(const RdmaCmdDeregMr&, const RdmaCmdDeregMr&) = default;
};

// Change a memory region in place. With the flag translation it becomes the region that reg_user_mr would make of virt_addr, length, npages, page_shift and the list, which is part of the request; without it there is no list. (roce.toml)
// Little-endian, 40 bytes. Only in the vireo profile. Followed by pages[]: 8-byte values.
struct RdmaCmdReregMr {
  static constexpr size_t kBytes = 40;
  static constexpr size_t kPagesEntryBytes = 8;
  static constexpr size_t kMrnOffset = 0;
  static constexpr size_t kFlagsOffset = 4;
  static constexpr size_t kPdnOffset = 8;
  static constexpr size_t kAccessFlagsOffset = 12;
  static constexpr size_t kVirtAddrOffset = 16;
  static constexpr size_t kLengthOffset = 24;
  static constexpr size_t kNpagesOffset = 32;
  static constexpr size_t kPageShiftOffset = 36;
  static constexpr size_t kIsPmemOffset = 37;
  uint32_t mrn{};  // The MR
  uint32_t flags{};  // What changes; at least one; flags: RdmaReregFlags
  uint32_t pdn{};  // The new PD
  uint32_t access_flags{};  // What it allows from now on; flags: IbAccessFlags
  uint64_t virt_addr{};  // As in reg_user_mr
  uint64_t length{};  // As in reg_user_mr
  uint32_t npages{};  // Entries of pages
  uint8_t page_shift{};  // As in reg_user_mr
  uint8_t is_pmem{};  // As in reg_user_mr; it belongs to the translation
  uint8_t reserved[2]{};  // 0

  static constexpr RdmaCmdReregMr Decode(const uint8_t* bytes) {
    RdmaCmdReregMr result;
    result.mrn = static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
    result.flags = static_cast<uint32_t>(detail::GetLittle<32, 32>(bytes));
    result.pdn = static_cast<uint32_t>(detail::GetLittle<64, 32>(bytes));
    result.access_flags = static_cast<uint32_t>(detail::GetLittle<96, 32>(bytes));
    result.virt_addr = static_cast<uint64_t>(detail::GetLittle<128, 64>(bytes));
    result.length = static_cast<uint64_t>(detail::GetLittle<192, 64>(bytes));
    result.npages = static_cast<uint32_t>(detail::GetLittle<256, 32>(bytes));
    result.page_shift = static_cast<uint8_t>(detail::GetLittle<288, 8>(bytes));
    result.is_pmem = static_cast<uint8_t>(detail::GetLittle<296, 8>(bytes));
    for (size_t i = 0; i < 2; ++i) result.reserved[i] = static_cast<uint8_t>(detail::GetLittle<0, 8>(bytes + 38 + i * 1));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 32>(bytes, static_cast<uint64_t>(mrn));
    detail::PutLittle<32, 32>(bytes, static_cast<uint64_t>(flags));
    detail::PutLittle<64, 32>(bytes, static_cast<uint64_t>(pdn));
    detail::PutLittle<96, 32>(bytes, static_cast<uint64_t>(access_flags));
    detail::PutLittle<128, 64>(bytes, static_cast<uint64_t>(virt_addr));
    detail::PutLittle<192, 64>(bytes, static_cast<uint64_t>(length));
    detail::PutLittle<256, 32>(bytes, static_cast<uint64_t>(npages));
    detail::PutLittle<288, 8>(bytes, static_cast<uint64_t>(page_shift));
    detail::PutLittle<296, 8>(bytes, static_cast<uint64_t>(is_pmem));
    for (size_t i = 0; i < 2; ++i) detail::PutLittle<0, 8>(bytes + 38 + i * 1, reserved[i]);
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("mrn", self.mrn, 32);
    f("flags", self.flags, 32);
    f("pdn", self.pdn, 32);
    f("access_flags", self.access_flags, 32);
    f("virt_addr", self.virt_addr, 64);
    f("length", self.length, 64);
    f("npages", self.npages, 32);
    f("page_shift", self.page_shift, 8);
    f("is_pmem", self.is_pmem, 8);
    for (size_t i = 0; i < 2; ++i) f("reserved", self.reserved[i], 8);
  }

  friend constexpr bool operator==(const RdmaCmdReregMr&, const RdmaCmdReregMr&) = default;
};

// The keys from now on: those of before, or new ones if the region is invalidatable, so that a key that was invalidated stays dead. (roce.toml)
// Little-endian, 8 bytes. Only in the vireo profile.
struct RdmaAckReregMr {
  static constexpr size_t kBytes = 8;
  static constexpr size_t kLkeyOffset = 0;
  static constexpr size_t kRkeyOffset = 4;
  uint32_t lkey{};  // Key for local scatter/gather elements
  uint32_t rkey{};  // Key for the peer

  static constexpr RdmaAckReregMr Decode(const uint8_t* bytes) {
    RdmaAckReregMr result;
    result.lkey = static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
    result.rkey = static_cast<uint32_t>(detail::GetLittle<32, 32>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 32>(bytes, static_cast<uint64_t>(lkey));
    detail::PutLittle<32, 32>(bytes, static_cast<uint64_t>(rkey));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("lkey", self.lkey, 32);
    f("rkey", self.rkey, 32);
  }
  static constexpr RdmaAckReregMr FromWord(uint64_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 64>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint64_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint64_t>(detail::GetLittle<0, 64>(bytes));
  }

  friend constexpr bool operator==(const RdmaAckReregMr&, const RdmaAckReregMr&) = default;
};

// Allocate a memory window, which is bound to no region. (roce.toml)
// Little-endian, 8 bytes. Only in the vireo profile.
struct RdmaCmdAllocMw {
  static constexpr size_t kBytes = 8;
  static constexpr size_t kPdnOffset = 0;
  static constexpr size_t kMwTypeOffset = 4;
  uint32_t pdn{};  // The PD
  RdmaMwType mw_type{};  // Its type
  uint8_t reserved[3]{};  // 0

  static constexpr RdmaCmdAllocMw Decode(const uint8_t* bytes) {
    RdmaCmdAllocMw result;
    result.pdn = static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
    result.mw_type = static_cast<RdmaMwType>(detail::GetLittle<32, 8>(bytes));
    for (size_t i = 0; i < 3; ++i) result.reserved[i] = static_cast<uint8_t>(detail::GetLittle<0, 8>(bytes + 5 + i * 1));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 32>(bytes, static_cast<uint64_t>(pdn));
    detail::PutLittle<32, 8>(bytes, static_cast<uint64_t>(mw_type));
    for (size_t i = 0; i < 3; ++i) detail::PutLittle<0, 8>(bytes + 5 + i * 1, reserved[i]);
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("pdn", self.pdn, 32);
    f("mw_type", self.mw_type, 8);
    for (size_t i = 0; i < 3; ++i) f("reserved", self.reserved[i], 8);
  }
  static constexpr RdmaCmdAllocMw FromWord(uint64_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 64>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint64_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint64_t>(detail::GetLittle<0, 64>(bytes));
  }

  friend constexpr bool operator==(const RdmaCmdAllocMw&, const RdmaCmdAllocMw&) = default;
};

// The new memory window. (roce.toml)
// Little-endian, 8 bytes. Only in the vireo profile.
struct RdmaAckAllocMw {
  static constexpr size_t kBytes = 8;
  static constexpr size_t kMwnOffset = 0;
  static constexpr size_t kRkeyOffset = 4;
  uint32_t mwn{};  // Handle of the window, from the numbers of memory regions
  uint32_t rkey{};  // Its key, of no use before a bind. A bind chooses the low 8 bits of the next one

  static constexpr RdmaAckAllocMw Decode(const uint8_t* bytes) {
    RdmaAckAllocMw result;
    result.mwn = static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
    result.rkey = static_cast<uint32_t>(detail::GetLittle<32, 32>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 32>(bytes, static_cast<uint64_t>(mwn));
    detail::PutLittle<32, 32>(bytes, static_cast<uint64_t>(rkey));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("mwn", self.mwn, 32);
    f("rkey", self.rkey, 32);
  }
  static constexpr RdmaAckAllocMw FromWord(uint64_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 64>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint64_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint64_t>(detail::GetLittle<0, 64>(bytes));
  }

  friend constexpr bool operator==(const RdmaAckAllocMw&, const RdmaAckAllocMw&) = default;
};

// Free a memory window. (roce.toml)
// Little-endian, 4 bytes. Only in the vireo profile.
struct RdmaCmdDeallocMw {
  static constexpr size_t kBytes = 4;
  static constexpr size_t kMwnOffset = 0;
  uint32_t mwn{};  // The window

  static constexpr RdmaCmdDeallocMw Decode(const uint8_t* bytes) {
    RdmaCmdDeallocMw result;
    result.mwn = static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 32>(bytes, static_cast<uint64_t>(mwn));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("mwn", self.mwn, 32);
  }
  static constexpr RdmaCmdDeallocMw FromWord(uint32_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 32>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint32_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
  }

  friend constexpr bool operator==(const RdmaCmdDeallocMw&, const RdmaCmdDeallocMw&) = default;
};

// Allocate a memory region that work requests reg_mr register, with any DMA addresses as pages. For a trusted driver's own PD only, as get_dma_mr: no QP of another PD can register it. [IBTA vol. 1, 10.6.3, 11.2.8.1: Allocate L_Key] (roce.toml)
// Little-endian, 8 bytes. Only in the vireo profile.
struct RdmaCmdAllocMr {
  static constexpr size_t kBytes = 8;
  static constexpr size_t kPdnOffset = 0;
  static constexpr size_t kMaxPagesOffset = 4;
  uint32_t pdn{};  // The PD
  uint32_t max_pages{};  // Most pages of a registration, 1 … max_fast_mr_pages

  static constexpr RdmaCmdAllocMr Decode(const uint8_t* bytes) {
    RdmaCmdAllocMr result;
    result.pdn = static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
    result.max_pages = static_cast<uint32_t>(detail::GetLittle<32, 32>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 32>(bytes, static_cast<uint64_t>(pdn));
    detail::PutLittle<32, 32>(bytes, static_cast<uint64_t>(max_pages));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("pdn", self.pdn, 32);
    f("max_pages", self.max_pages, 32);
  }
  static constexpr RdmaCmdAllocMr FromWord(uint64_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 64>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint64_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint64_t>(detail::GetLittle<0, 64>(bytes));
  }

  friend constexpr bool operator==(const RdmaCmdAllocMr&, const RdmaCmdAllocMr&) = default;
};

// The new memory region, which is not registered. Its keys are of no use before; a registration chooses their low 8 bits. (roce.toml)
// Little-endian, 12 bytes. Only in the vireo profile.
struct RdmaAckAllocMr {
  static constexpr size_t kBytes = 12;
  static constexpr size_t kMrnOffset = 0;
  static constexpr size_t kLkeyOffset = 4;
  static constexpr size_t kRkeyOffset = 8;
  uint32_t mrn{};  // Handle of the MR
  uint32_t lkey{};  // Key for local scatter/gather elements
  uint32_t rkey{};  // Key for the peer

  static constexpr RdmaAckAllocMr Decode(const uint8_t* bytes) {
    RdmaAckAllocMr result;
    result.mrn = static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
    result.lkey = static_cast<uint32_t>(detail::GetLittle<32, 32>(bytes));
    result.rkey = static_cast<uint32_t>(detail::GetLittle<64, 32>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 32>(bytes, static_cast<uint64_t>(mrn));
    detail::PutLittle<32, 32>(bytes, static_cast<uint64_t>(lkey));
    detail::PutLittle<64, 32>(bytes, static_cast<uint64_t>(rkey));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("mrn", self.mrn, 32);
    f("lkey", self.lkey, 32);
    f("rkey", self.rkey, 32);
  }

  friend constexpr bool operator==(const RdmaAckAllocMr&, const RdmaAckAllocMr&) = default;
};

// Attributes of a memory region. [IBTA vol. 1, 11.2.8.3: Query Memory Region] (roce.toml)
// Little-endian, 4 bytes. Only in the vireo profile.
struct RdmaCmdQueryMr {
  static constexpr size_t kBytes = 4;
  static constexpr size_t kMrnOffset = 0;
  uint32_t mrn{};  // The MR

  static constexpr RdmaCmdQueryMr Decode(const uint8_t* bytes) {
    RdmaCmdQueryMr result;
    result.mrn = static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 32>(bytes, static_cast<uint64_t>(mrn));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("mrn", self.mrn, 32);
  }
  static constexpr RdmaCmdQueryMr FromWord(uint32_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 32>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint32_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
  }

  friend constexpr bool operator==(const RdmaCmdQueryMr&, const RdmaCmdQueryMr&) = default;
};

// A memory region as it is now. Of one of alloc_mr the device keeps range and rights for itself: access_flags, virt_addr, length and page_shift are 0. (roce.toml)
// Little-endian, 40 bytes. Only in the vireo profile.
struct RdmaAckQueryMr {
  static constexpr size_t kBytes = 40;
  static constexpr size_t kLkeyOffset = 0;
  static constexpr size_t kRkeyOffset = 4;
  static constexpr size_t kPdnOffset = 8;
  static constexpr size_t kAccessFlagsOffset = 12;
  static constexpr size_t kVirtAddrOffset = 16;
  static constexpr size_t kLengthOffset = 24;
  static constexpr size_t kNpagesOffset = 32;
  static constexpr size_t kPageShiftOffset = 36;
  static constexpr size_t kIsAliveOffset = 37;
  static constexpr size_t kInvalidatableOffset = 38;
  static constexpr size_t kIsFastOffset = 39;
  uint32_t lkey{};  // Key for local scatter/gather elements
  uint32_t rkey{};  // Key for the peer
  uint32_t pdn{};  // The PD
  uint32_t access_flags{};  // What it allows; flags: IbAccessFlags
  uint64_t virt_addr{};  // First address; of get_dma_mr 0
  uint64_t length{};  // Bytes; of get_dma_mr 0, which stands for all
  uint32_t npages{};  // Pages; of alloc_mr the most; of get_dma_mr 0
  uint8_t page_shift{};  // Pages of 2^page_shift bytes; of get_dma_mr 0
  uint8_t is_alive{};  // 1: the keys are valid; 0: it was invalidated, or is not registered
  uint8_t invalidatable{};  // 1: invalidates may end it; else 0
  uint8_t is_fast{};  // 1: of alloc_mr; else 0

  static constexpr RdmaAckQueryMr Decode(const uint8_t* bytes) {
    RdmaAckQueryMr result;
    result.lkey = static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
    result.rkey = static_cast<uint32_t>(detail::GetLittle<32, 32>(bytes));
    result.pdn = static_cast<uint32_t>(detail::GetLittle<64, 32>(bytes));
    result.access_flags = static_cast<uint32_t>(detail::GetLittle<96, 32>(bytes));
    result.virt_addr = static_cast<uint64_t>(detail::GetLittle<128, 64>(bytes));
    result.length = static_cast<uint64_t>(detail::GetLittle<192, 64>(bytes));
    result.npages = static_cast<uint32_t>(detail::GetLittle<256, 32>(bytes));
    result.page_shift = static_cast<uint8_t>(detail::GetLittle<288, 8>(bytes));
    result.is_alive = static_cast<uint8_t>(detail::GetLittle<296, 8>(bytes));
    result.invalidatable = static_cast<uint8_t>(detail::GetLittle<304, 8>(bytes));
    result.is_fast = static_cast<uint8_t>(detail::GetLittle<312, 8>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 32>(bytes, static_cast<uint64_t>(lkey));
    detail::PutLittle<32, 32>(bytes, static_cast<uint64_t>(rkey));
    detail::PutLittle<64, 32>(bytes, static_cast<uint64_t>(pdn));
    detail::PutLittle<96, 32>(bytes, static_cast<uint64_t>(access_flags));
    detail::PutLittle<128, 64>(bytes, static_cast<uint64_t>(virt_addr));
    detail::PutLittle<192, 64>(bytes, static_cast<uint64_t>(length));
    detail::PutLittle<256, 32>(bytes, static_cast<uint64_t>(npages));
    detail::PutLittle<288, 8>(bytes, static_cast<uint64_t>(page_shift));
    detail::PutLittle<296, 8>(bytes, static_cast<uint64_t>(is_alive));
    detail::PutLittle<304, 8>(bytes, static_cast<uint64_t>(invalidatable));
    detail::PutLittle<312, 8>(bytes, static_cast<uint64_t>(is_fast));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("lkey", self.lkey, 32);
    f("rkey", self.rkey, 32);
    f("pdn", self.pdn, 32);
    f("access_flags", self.access_flags, 32);
    f("virt_addr", self.virt_addr, 64);
    f("length", self.length, 64);
    f("npages", self.npages, 32);
    f("page_shift", self.page_shift, 8);
    f("is_alive", self.is_alive, 8);
    f("invalidatable", self.invalidatable, 8);
    f("is_fast", self.is_fast, 8);
  }

  friend constexpr bool operator==(const RdmaAckQueryMr&, const RdmaAckQueryMr&) = default;
};

// Sizes of a QP. [RFC v2, CREATE_QP] (roce.toml)
// Little-endian, 24 bytes.
struct RdmaQpCap {
  static constexpr size_t kBytes = 24;
  static constexpr size_t kMaxSendWrOffset = 0;
  static constexpr size_t kMaxRecvWrOffset = 4;
  static constexpr size_t kMaxSendSgeOffset = 8;
  static constexpr size_t kMaxRecvSgeOffset = 12;
  static constexpr size_t kMaxInlineDataOffset = 16;
  uint32_t max_send_wr{};  // Outstanding send WRs
  uint32_t max_recv_wr{};  // Outstanding receive WRs
  uint32_t max_send_sge{};  // Elements per send WR
  uint32_t max_recv_sge{};  // Elements per receive WR
  uint32_t max_inline_data{};  // Inline bytes per send WR, up to rdma_inline_bytes
  uint32_t reserved{};  // 0

  static constexpr RdmaQpCap Decode(const uint8_t* bytes) {
    RdmaQpCap result;
    result.max_send_wr = static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
    result.max_recv_wr = static_cast<uint32_t>(detail::GetLittle<32, 32>(bytes));
    result.max_send_sge = static_cast<uint32_t>(detail::GetLittle<64, 32>(bytes));
    result.max_recv_sge = static_cast<uint32_t>(detail::GetLittle<96, 32>(bytes));
    result.max_inline_data = static_cast<uint32_t>(detail::GetLittle<128, 32>(bytes));
    result.reserved = static_cast<uint32_t>(detail::GetLittle<160, 32>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 32>(bytes, static_cast<uint64_t>(max_send_wr));
    detail::PutLittle<32, 32>(bytes, static_cast<uint64_t>(max_recv_wr));
    detail::PutLittle<64, 32>(bytes, static_cast<uint64_t>(max_send_sge));
    detail::PutLittle<96, 32>(bytes, static_cast<uint64_t>(max_recv_sge));
    detail::PutLittle<128, 32>(bytes, static_cast<uint64_t>(max_inline_data));
    detail::PutLittle<160, 32>(bytes, static_cast<uint64_t>(reserved));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("max_send_wr", self.max_send_wr, 32);
    f("max_recv_wr", self.max_recv_wr, 32);
    f("max_send_sge", self.max_send_sge, 32);
    f("max_recv_sge", self.max_recv_sge, 32);
    f("max_inline_data", self.max_inline_data, 32);
    f("reserved", self.reserved, 32);
  }

  friend constexpr bool operator==(const RdmaQpCap&, const RdmaQpCap&) = default;
};

// Create a queue pair, in RESET. [RFC v2, CREATE_QP] (roce.toml)
// Little-endian, 56 bytes.
struct RdmaCmdCreateQp {
  static constexpr size_t kBytes = 56;
  static constexpr size_t kPdnOffset = 0;
  static constexpr size_t kQpTypeOffset = 4;
  static constexpr size_t kSqSigAllOffset = 5;
  static constexpr size_t kHasSrqOffset = 6;
  static constexpr size_t kSendCqnOffset = 8;
  static constexpr size_t kRecvCqnOffset = 12;
  static constexpr size_t kCapOffset = 16;
  static constexpr size_t kSrqnOffset = 40;
  uint32_t pdn{};  // The PD
  IbQpType qp_type{};  // Transport service
  uint8_t sq_sig_all{};  // Not 0: every send WR completes with a CQE
  uint8_t has_srq{};  // Not 0: receives come from `srqn`; max_recv_wr and max_recv_sge are ignored and the receive virtqueue is not used [vireo profile; else reserved]
  uint8_t reserved{};  // 0
  uint32_t send_cqn{};  // CQ of send WRs
  uint32_t recv_cqn{};  // CQ of receive WRs; may be the same
  RdmaQpCap cap{};  // Sizes
  uint32_t srqn{};  // With has_srq: shared receive queue of the same PD [vireo profile; else reserved]
  uint32_t reserved1[3]{};  // 0

  static constexpr RdmaCmdCreateQp Decode(const uint8_t* bytes) {
    RdmaCmdCreateQp result;
    result.pdn = static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
    result.qp_type = static_cast<IbQpType>(detail::GetLittle<32, 8>(bytes));
    result.sq_sig_all = static_cast<uint8_t>(detail::GetLittle<40, 8>(bytes));
    result.has_srq = static_cast<uint8_t>(detail::GetLittle<48, 8>(bytes));
    result.reserved = static_cast<uint8_t>(detail::GetLittle<56, 8>(bytes));
    result.send_cqn = static_cast<uint32_t>(detail::GetLittle<64, 32>(bytes));
    result.recv_cqn = static_cast<uint32_t>(detail::GetLittle<96, 32>(bytes));
    result.cap = RdmaQpCap::Decode(bytes + 16);
    result.srqn = static_cast<uint32_t>(detail::GetLittle<320, 32>(bytes));
    for (size_t i = 0; i < 3; ++i) result.reserved1[i] = static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes + 44 + i * 4));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 32>(bytes, static_cast<uint64_t>(pdn));
    detail::PutLittle<32, 8>(bytes, static_cast<uint64_t>(qp_type));
    detail::PutLittle<40, 8>(bytes, static_cast<uint64_t>(sq_sig_all));
    detail::PutLittle<48, 8>(bytes, static_cast<uint64_t>(has_srq));
    detail::PutLittle<56, 8>(bytes, static_cast<uint64_t>(reserved));
    detail::PutLittle<64, 32>(bytes, static_cast<uint64_t>(send_cqn));
    detail::PutLittle<96, 32>(bytes, static_cast<uint64_t>(recv_cqn));
    cap.Encode(bytes + 16);
    detail::PutLittle<320, 32>(bytes, static_cast<uint64_t>(srqn));
    for (size_t i = 0; i < 3; ++i) detail::PutLittle<0, 32>(bytes + 44 + i * 4, reserved1[i]);
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("pdn", self.pdn, 32);
    f("qp_type", self.qp_type, 8);
    f("sq_sig_all", self.sq_sig_all, 8);
    f("has_srq", self.has_srq, 8);
    f("reserved", self.reserved, 8);
    f("send_cqn", self.send_cqn, 32);
    f("recv_cqn", self.recv_cqn, 32);
    RdmaQpCap::Visit(self.cap, f);
    f("srqn", self.srqn, 32);
    for (size_t i = 0; i < 3; ++i) f("reserved1", self.reserved1[i], 32);
  }

  friend constexpr bool operator==(const RdmaCmdCreateQp&, const RdmaCmdCreateQp&) = default;
};

// The new queue pair. [RFC v2, CREATE_QP] (roce.toml)
// Little-endian, 4 bytes.
struct RdmaAckCreateQp {
  static constexpr size_t kBytes = 4;
  static constexpr size_t kQpnOffset = 0;
  uint32_t qpn{};  // Number of the QP, also on the wire; determines its virtqueues

  static constexpr RdmaAckCreateQp Decode(const uint8_t* bytes) {
    RdmaAckCreateQp result;
    result.qpn = static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 32>(bytes, static_cast<uint64_t>(qpn));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("qpn", self.qpn, 32);
  }
  static constexpr RdmaAckCreateQp FromWord(uint32_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 32>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint32_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
  }

  friend constexpr bool operator==(const RdmaAckCreateQp&, const RdmaAckCreateQp&) = default;
};

// Layer 3 of a path. [RFC v2, MODIFY_QP; as struct ibv_global_route] (roce.toml)
// Little-endian, 24 bytes.
struct RdmaGlobalRoute {
  static constexpr size_t kBytes = 24;
  static constexpr size_t kDgidOffset = 0;
  static constexpr size_t kFlowLabelOffset = 16;
  static constexpr size_t kSgidIndexOffset = 20;
  static constexpr size_t kHopLimitOffset = 21;
  static constexpr size_t kTrafficClassOffset = 22;
  uint8_t dgid[16]{};  // Destination GID; an IPv4 address is the IPv4-mapped GID ::ffff:a.b.c.d
  uint32_t flow_label{};  // IPv6 flow label, 20 bits
  uint8_t sgid_index{};  // GID table entry with source address and VLAN
  uint8_t hop_limit{};  // Hop limit or TTL
  uint8_t traffic_class{};  // Traffic class or TOS byte: DSCP and ECN
  uint8_t reserved{};  // 0

  static constexpr RdmaGlobalRoute Decode(const uint8_t* bytes) {
    RdmaGlobalRoute result;
    for (size_t i = 0; i < 16; ++i) result.dgid[i] = static_cast<uint8_t>(detail::GetLittle<0, 8>(bytes + 0 + i * 1));
    result.flow_label = static_cast<uint32_t>(detail::GetLittle<128, 32>(bytes));
    result.sgid_index = static_cast<uint8_t>(detail::GetLittle<160, 8>(bytes));
    result.hop_limit = static_cast<uint8_t>(detail::GetLittle<168, 8>(bytes));
    result.traffic_class = static_cast<uint8_t>(detail::GetLittle<176, 8>(bytes));
    result.reserved = static_cast<uint8_t>(detail::GetLittle<184, 8>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    for (size_t i = 0; i < 16; ++i) detail::PutLittle<0, 8>(bytes + 0 + i * 1, dgid[i]);
    detail::PutLittle<128, 32>(bytes, static_cast<uint64_t>(flow_label));
    detail::PutLittle<160, 8>(bytes, static_cast<uint64_t>(sgid_index));
    detail::PutLittle<168, 8>(bytes, static_cast<uint64_t>(hop_limit));
    detail::PutLittle<176, 8>(bytes, static_cast<uint64_t>(traffic_class));
    detail::PutLittle<184, 8>(bytes, static_cast<uint64_t>(reserved));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    for (size_t i = 0; i < 16; ++i) f("dgid", self.dgid[i], 8);
    f("flow_label", self.flow_label, 32);
    f("sgid_index", self.sgid_index, 8);
    f("hop_limit", self.hop_limit, 8);
    f("traffic_class", self.traffic_class, 8);
    f("reserved", self.reserved, 8);
  }

  friend constexpr bool operator==(const RdmaGlobalRoute&, const RdmaGlobalRoute&) = default;
};

// Address vector: the path to a peer. Fields from the GID table are copied when the command is executed. [RFC v2, MODIFY_QP] (roce.toml)
// Little-endian, 40 bytes.
struct RdmaAhAttr {
  static constexpr size_t kBytes = 40;
  static constexpr size_t kGrhOffset = 0;
  static constexpr size_t kDmacOffset = 24;
  RdmaGlobalRoute grh{};  // Layer 3
  uint8_t dmac[6]{};  // Destination MAC address; the driver resolves it
  uint8_t reserved[10]{};  // 0

  static constexpr RdmaAhAttr Decode(const uint8_t* bytes) {
    RdmaAhAttr result;
    result.grh = RdmaGlobalRoute::Decode(bytes + 0);
    for (size_t i = 0; i < 6; ++i) result.dmac[i] = static_cast<uint8_t>(detail::GetLittle<0, 8>(bytes + 24 + i * 1));
    for (size_t i = 0; i < 10; ++i) result.reserved[i] = static_cast<uint8_t>(detail::GetLittle<0, 8>(bytes + 30 + i * 1));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    grh.Encode(bytes + 0);
    for (size_t i = 0; i < 6; ++i) detail::PutLittle<0, 8>(bytes + 24 + i * 1, dmac[i]);
    for (size_t i = 0; i < 10; ++i) detail::PutLittle<0, 8>(bytes + 30 + i * 1, reserved[i]);
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    RdmaGlobalRoute::Visit(self.grh, f);
    for (size_t i = 0; i < 6; ++i) f("dmac", self.dmac[i], 8);
    for (size_t i = 0; i < 10; ++i) f("reserved", self.reserved[i], 8);
  }

  friend constexpr bool operator==(const RdmaAhAttr&, const RdmaAhAttr&) = default;
};

// Change state and attributes of a queue pair. Only fields that attr_mask selects are read. [RFC v2, MODIFY_QP; IBTA vol. 1, 11.2.5.2] (roce.toml)
// Little-endian, 128 bytes.
struct RdmaCmdModifyQp {
  static constexpr size_t kBytes = 128;
  static constexpr size_t kQpnOffset = 0;
  static constexpr size_t kAttrMaskOffset = 4;
  static constexpr size_t kQpStateOffset = 8;
  static constexpr size_t kCurQpStateOffset = 9;
  static constexpr size_t kPathMtuOffset = 10;
  static constexpr size_t kMaxRdAtomicOffset = 11;
  static constexpr size_t kMaxDestRdAtomicOffset = 12;
  static constexpr size_t kMinRnrTimerOffset = 13;
  static constexpr size_t kTimeoutOffset = 14;
  static constexpr size_t kRetryCntOffset = 15;
  static constexpr size_t kRnrRetryOffset = 16;
  static constexpr size_t kQkeyOffset = 24;
  static constexpr size_t kRqPsnOffset = 28;
  static constexpr size_t kSqPsnOffset = 32;
  static constexpr size_t kDestQpNumOffset = 36;
  static constexpr size_t kQpAccessFlagsOffset = 40;
  static constexpr size_t kRateLimitOffset = 44;
  static constexpr size_t kCapOffset = 48;
  static constexpr size_t kAhAttrOffset = 72;
  uint32_t qpn{};  // The QP
  uint32_t attr_mask{};  // What to change; flags: IbQpAttrMask
  IbQpState qp_state{};  // State to go to; not sqe
  IbQpState cur_qp_state{};  // Current state that the driver expects
  IbMtu path_mtu{};  // Path MTU (RC, UC), must fit the link's MTU
  uint8_t max_rd_atomic{};  // RDMA READs and atomic operations outstanding as requester (RC)
  uint8_t max_dest_rd_atomic{};  // RDMA READs and atomic operations queued as responder (RC)
  uint8_t min_rnr_timer{};  // Index into rnr_timer_ns for RNR NAKs sent, 0 … 31 (RC)
  uint8_t timeout{};  // Retransmit after local_ack_timeout_unit_ns times 2^n, 0 … 31; 0: never (RC)
  uint8_t retry_cnt{};  // Retries after a timeout or sequence NAK, 0 … 7 (RC)
  uint8_t rnr_retry{};  // Retries after RNR NAK, 0 … 6; 7: infinite (RC)
  uint8_t reserved[7]{};  // 0
  uint32_t qkey{};  // Q_Key (UD)
  uint32_t rq_psn{};  // First PSN expected, 24 bits (RC, UC)
  uint32_t sq_psn{};  // First PSN sent, 24 bits
  uint32_t dest_qp_num{};  // Peer's QP number, 24 bits (RC, UC)
  uint32_t qp_access_flags{};  // What the peer may do (RC, UC); flags: IbAccessFlags
  uint32_t rate_limit{};  // Pacing in kbit/s; 0: none; a device without pacing refuses anything else
  RdmaQpCap cap{};  // Never read: see ib_qp_attr_mask.cap
  RdmaAhAttr ah_attr{};  // Path to the peer (RC, UC)
  uint32_t reserved1[4]{};  // 0

  static constexpr RdmaCmdModifyQp Decode(const uint8_t* bytes) {
    RdmaCmdModifyQp result;
    result.qpn = static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
    result.attr_mask = static_cast<uint32_t>(detail::GetLittle<32, 32>(bytes));
    result.qp_state = static_cast<IbQpState>(detail::GetLittle<64, 8>(bytes));
    result.cur_qp_state = static_cast<IbQpState>(detail::GetLittle<72, 8>(bytes));
    result.path_mtu = static_cast<IbMtu>(detail::GetLittle<80, 8>(bytes));
    result.max_rd_atomic = static_cast<uint8_t>(detail::GetLittle<88, 8>(bytes));
    result.max_dest_rd_atomic = static_cast<uint8_t>(detail::GetLittle<96, 8>(bytes));
    result.min_rnr_timer = static_cast<uint8_t>(detail::GetLittle<104, 8>(bytes));
    result.timeout = static_cast<uint8_t>(detail::GetLittle<112, 8>(bytes));
    result.retry_cnt = static_cast<uint8_t>(detail::GetLittle<120, 8>(bytes));
    result.rnr_retry = static_cast<uint8_t>(detail::GetLittle<128, 8>(bytes));
    for (size_t i = 0; i < 7; ++i) result.reserved[i] = static_cast<uint8_t>(detail::GetLittle<0, 8>(bytes + 17 + i * 1));
    result.qkey = static_cast<uint32_t>(detail::GetLittle<192, 32>(bytes));
    result.rq_psn = static_cast<uint32_t>(detail::GetLittle<224, 32>(bytes));
    result.sq_psn = static_cast<uint32_t>(detail::GetLittle<256, 32>(bytes));
    result.dest_qp_num = static_cast<uint32_t>(detail::GetLittle<288, 32>(bytes));
    result.qp_access_flags = static_cast<uint32_t>(detail::GetLittle<320, 32>(bytes));
    result.rate_limit = static_cast<uint32_t>(detail::GetLittle<352, 32>(bytes));
    result.cap = RdmaQpCap::Decode(bytes + 48);
    result.ah_attr = RdmaAhAttr::Decode(bytes + 72);
    for (size_t i = 0; i < 4; ++i) result.reserved1[i] = static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes + 112 + i * 4));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 32>(bytes, static_cast<uint64_t>(qpn));
    detail::PutLittle<32, 32>(bytes, static_cast<uint64_t>(attr_mask));
    detail::PutLittle<64, 8>(bytes, static_cast<uint64_t>(qp_state));
    detail::PutLittle<72, 8>(bytes, static_cast<uint64_t>(cur_qp_state));
    detail::PutLittle<80, 8>(bytes, static_cast<uint64_t>(path_mtu));
    detail::PutLittle<88, 8>(bytes, static_cast<uint64_t>(max_rd_atomic));
    detail::PutLittle<96, 8>(bytes, static_cast<uint64_t>(max_dest_rd_atomic));
    detail::PutLittle<104, 8>(bytes, static_cast<uint64_t>(min_rnr_timer));
    detail::PutLittle<112, 8>(bytes, static_cast<uint64_t>(timeout));
    detail::PutLittle<120, 8>(bytes, static_cast<uint64_t>(retry_cnt));
    detail::PutLittle<128, 8>(bytes, static_cast<uint64_t>(rnr_retry));
    for (size_t i = 0; i < 7; ++i) detail::PutLittle<0, 8>(bytes + 17 + i * 1, reserved[i]);
    detail::PutLittle<192, 32>(bytes, static_cast<uint64_t>(qkey));
    detail::PutLittle<224, 32>(bytes, static_cast<uint64_t>(rq_psn));
    detail::PutLittle<256, 32>(bytes, static_cast<uint64_t>(sq_psn));
    detail::PutLittle<288, 32>(bytes, static_cast<uint64_t>(dest_qp_num));
    detail::PutLittle<320, 32>(bytes, static_cast<uint64_t>(qp_access_flags));
    detail::PutLittle<352, 32>(bytes, static_cast<uint64_t>(rate_limit));
    cap.Encode(bytes + 48);
    ah_attr.Encode(bytes + 72);
    for (size_t i = 0; i < 4; ++i) detail::PutLittle<0, 32>(bytes + 112 + i * 4, reserved1[i]);
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("qpn", self.qpn, 32);
    f("attr_mask", self.attr_mask, 32);
    f("qp_state", self.qp_state, 8);
    f("cur_qp_state", self.cur_qp_state, 8);
    f("path_mtu", self.path_mtu, 8);
    f("max_rd_atomic", self.max_rd_atomic, 8);
    f("max_dest_rd_atomic", self.max_dest_rd_atomic, 8);
    f("min_rnr_timer", self.min_rnr_timer, 8);
    f("timeout", self.timeout, 8);
    f("retry_cnt", self.retry_cnt, 8);
    f("rnr_retry", self.rnr_retry, 8);
    for (size_t i = 0; i < 7; ++i) f("reserved", self.reserved[i], 8);
    f("qkey", self.qkey, 32);
    f("rq_psn", self.rq_psn, 32);
    f("sq_psn", self.sq_psn, 32);
    f("dest_qp_num", self.dest_qp_num, 32);
    f("qp_access_flags", self.qp_access_flags, 32);
    f("rate_limit", self.rate_limit, 32);
    RdmaQpCap::Visit(self.cap, f);
    RdmaAhAttr::Visit(self.ah_attr, f);
    for (size_t i = 0; i < 4; ++i) f("reserved1", self.reserved1[i], 32);
  }

  friend constexpr bool operator==(const RdmaCmdModifyQp&, const RdmaCmdModifyQp&) = default;
};

// Ask for state and attributes of a queue pair. [RFC v2, QUERY_QP] (roce.toml)
// Little-endian, 8 bytes.
struct RdmaCmdQueryQp {
  static constexpr size_t kBytes = 8;
  static constexpr size_t kQpnOffset = 0;
  static constexpr size_t kAttrMaskOffset = 4;
  uint32_t qpn{};  // The QP
  uint32_t attr_mask{};  // Requested attributes; ignored: Vireo returns all; flags: IbQpAttrMask

  static constexpr RdmaCmdQueryQp Decode(const uint8_t* bytes) {
    RdmaCmdQueryQp result;
    result.qpn = static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
    result.attr_mask = static_cast<uint32_t>(detail::GetLittle<32, 32>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 32>(bytes, static_cast<uint64_t>(qpn));
    detail::PutLittle<32, 32>(bytes, static_cast<uint64_t>(attr_mask));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("qpn", self.qpn, 32);
    f("attr_mask", self.attr_mask, 32);
  }
  static constexpr RdmaCmdQueryQp FromWord(uint64_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 64>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint64_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint64_t>(detail::GetLittle<0, 64>(bytes));
  }

  friend constexpr bool operator==(const RdmaCmdQueryQp&, const RdmaCmdQueryQp&) = default;
};

// State and attributes of a queue pair, a consistent snapshot. Fields without meaning for the QP's type are 0. [RFC v2, QUERY_QP] (roce.toml)
// Little-endian, 120 bytes.
struct RdmaAckQueryQp {
  static constexpr size_t kBytes = 120;
  static constexpr size_t kQpStateOffset = 0;
  static constexpr size_t kPathMtuOffset = 1;
  static constexpr size_t kSqDrainingOffset = 2;
  static constexpr size_t kMaxRdAtomicOffset = 3;
  static constexpr size_t kMaxDestRdAtomicOffset = 4;
  static constexpr size_t kMinRnrTimerOffset = 5;
  static constexpr size_t kTimeoutOffset = 6;
  static constexpr size_t kRetryCntOffset = 7;
  static constexpr size_t kRnrRetryOffset = 8;
  static constexpr size_t kQkeyOffset = 16;
  static constexpr size_t kRqPsnOffset = 20;
  static constexpr size_t kSqPsnOffset = 24;
  static constexpr size_t kDestQpNumOffset = 28;
  static constexpr size_t kQpAccessFlagsOffset = 32;
  static constexpr size_t kRateLimitOffset = 36;
  static constexpr size_t kCapOffset = 40;
  static constexpr size_t kAhAttrOffset = 64;
  IbQpState qp_state{};  // The state it is in
  IbMtu path_mtu{};  // Path MTU; 0 before it is set
  uint8_t sq_draining{};  // 1: in SQD with send WRs outstanding
  uint8_t max_rd_atomic{};  // As in modify_qp
  uint8_t max_dest_rd_atomic{};  // As in modify_qp
  uint8_t min_rnr_timer{};  // As in modify_qp
  uint8_t timeout{};  // As in modify_qp
  uint8_t retry_cnt{};  // As in modify_qp
  uint8_t rnr_retry{};  // As in modify_qp
  uint8_t reserved[7]{};  // 0
  uint32_t qkey{};  // As in modify_qp
  uint32_t rq_psn{};  // PSN expected next
  uint32_t sq_psn{};  // PSN of the next new packet
  uint32_t dest_qp_num{};  // As in modify_qp
  uint32_t qp_access_flags{};  // As in modify_qp; flags: IbAccessFlags
  uint32_t rate_limit{};  // As in modify_qp
  RdmaQpCap cap{};  // As in create_qp
  RdmaAhAttr ah_attr{};  // As in modify_qp
  uint32_t reserved1[4]{};  // 0

  static constexpr RdmaAckQueryQp Decode(const uint8_t* bytes) {
    RdmaAckQueryQp result;
    result.qp_state = static_cast<IbQpState>(detail::GetLittle<0, 8>(bytes));
    result.path_mtu = static_cast<IbMtu>(detail::GetLittle<8, 8>(bytes));
    result.sq_draining = static_cast<uint8_t>(detail::GetLittle<16, 8>(bytes));
    result.max_rd_atomic = static_cast<uint8_t>(detail::GetLittle<24, 8>(bytes));
    result.max_dest_rd_atomic = static_cast<uint8_t>(detail::GetLittle<32, 8>(bytes));
    result.min_rnr_timer = static_cast<uint8_t>(detail::GetLittle<40, 8>(bytes));
    result.timeout = static_cast<uint8_t>(detail::GetLittle<48, 8>(bytes));
    result.retry_cnt = static_cast<uint8_t>(detail::GetLittle<56, 8>(bytes));
    result.rnr_retry = static_cast<uint8_t>(detail::GetLittle<64, 8>(bytes));
    for (size_t i = 0; i < 7; ++i) result.reserved[i] = static_cast<uint8_t>(detail::GetLittle<0, 8>(bytes + 9 + i * 1));
    result.qkey = static_cast<uint32_t>(detail::GetLittle<128, 32>(bytes));
    result.rq_psn = static_cast<uint32_t>(detail::GetLittle<160, 32>(bytes));
    result.sq_psn = static_cast<uint32_t>(detail::GetLittle<192, 32>(bytes));
    result.dest_qp_num = static_cast<uint32_t>(detail::GetLittle<224, 32>(bytes));
    result.qp_access_flags = static_cast<uint32_t>(detail::GetLittle<256, 32>(bytes));
    result.rate_limit = static_cast<uint32_t>(detail::GetLittle<288, 32>(bytes));
    result.cap = RdmaQpCap::Decode(bytes + 40);
    result.ah_attr = RdmaAhAttr::Decode(bytes + 64);
    for (size_t i = 0; i < 4; ++i) result.reserved1[i] = static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes + 104 + i * 4));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 8>(bytes, static_cast<uint64_t>(qp_state));
    detail::PutLittle<8, 8>(bytes, static_cast<uint64_t>(path_mtu));
    detail::PutLittle<16, 8>(bytes, static_cast<uint64_t>(sq_draining));
    detail::PutLittle<24, 8>(bytes, static_cast<uint64_t>(max_rd_atomic));
    detail::PutLittle<32, 8>(bytes, static_cast<uint64_t>(max_dest_rd_atomic));
    detail::PutLittle<40, 8>(bytes, static_cast<uint64_t>(min_rnr_timer));
    detail::PutLittle<48, 8>(bytes, static_cast<uint64_t>(timeout));
    detail::PutLittle<56, 8>(bytes, static_cast<uint64_t>(retry_cnt));
    detail::PutLittle<64, 8>(bytes, static_cast<uint64_t>(rnr_retry));
    for (size_t i = 0; i < 7; ++i) detail::PutLittle<0, 8>(bytes + 9 + i * 1, reserved[i]);
    detail::PutLittle<128, 32>(bytes, static_cast<uint64_t>(qkey));
    detail::PutLittle<160, 32>(bytes, static_cast<uint64_t>(rq_psn));
    detail::PutLittle<192, 32>(bytes, static_cast<uint64_t>(sq_psn));
    detail::PutLittle<224, 32>(bytes, static_cast<uint64_t>(dest_qp_num));
    detail::PutLittle<256, 32>(bytes, static_cast<uint64_t>(qp_access_flags));
    detail::PutLittle<288, 32>(bytes, static_cast<uint64_t>(rate_limit));
    cap.Encode(bytes + 40);
    ah_attr.Encode(bytes + 64);
    for (size_t i = 0; i < 4; ++i) detail::PutLittle<0, 32>(bytes + 104 + i * 4, reserved1[i]);
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("qp_state", self.qp_state, 8);
    f("path_mtu", self.path_mtu, 8);
    f("sq_draining", self.sq_draining, 8);
    f("max_rd_atomic", self.max_rd_atomic, 8);
    f("max_dest_rd_atomic", self.max_dest_rd_atomic, 8);
    f("min_rnr_timer", self.min_rnr_timer, 8);
    f("timeout", self.timeout, 8);
    f("retry_cnt", self.retry_cnt, 8);
    f("rnr_retry", self.rnr_retry, 8);
    for (size_t i = 0; i < 7; ++i) f("reserved", self.reserved[i], 8);
    f("qkey", self.qkey, 32);
    f("rq_psn", self.rq_psn, 32);
    f("sq_psn", self.sq_psn, 32);
    f("dest_qp_num", self.dest_qp_num, 32);
    f("qp_access_flags", self.qp_access_flags, 32);
    f("rate_limit", self.rate_limit, 32);
    RdmaQpCap::Visit(self.cap, f);
    RdmaAhAttr::Visit(self.ah_attr, f);
    for (size_t i = 0; i < 4; ++i) f("reserved1", self.reserved1[i], 32);
  }

  friend constexpr bool operator==(const RdmaAckQueryQp&, const RdmaAckQueryQp&) = default;
};

// Destroy a queue pair. [RFC v2, DESTROY_QP] (roce.toml)
// Little-endian, 4 bytes.
struct RdmaCmdDestroyQp {
  static constexpr size_t kBytes = 4;
  static constexpr size_t kQpnOffset = 0;
  uint32_t qpn{};  // The QP

  static constexpr RdmaCmdDestroyQp Decode(const uint8_t* bytes) {
    RdmaCmdDestroyQp result;
    result.qpn = static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 32>(bytes, static_cast<uint64_t>(qpn));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("qpn", self.qpn, 32);
  }
  static constexpr RdmaCmdDestroyQp FromWord(uint32_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 32>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint32_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
  }

  friend constexpr bool operator==(const RdmaCmdDestroyQp&, const RdmaCmdDestroyQp&) = default;
};

// Create a shared receive queue. [libibverbs, ibv_create_srq(3)] (roce.toml)
// Little-endian, 16 bytes. Only in the vireo profile.
struct RdmaCmdCreateSrq {
  static constexpr size_t kBytes = 16;
  static constexpr size_t kPdnOffset = 0;
  static constexpr size_t kMaxWrOffset = 4;
  static constexpr size_t kMaxSgeOffset = 8;
  uint32_t pdn{};  // The PD: of its receives' keys, and of every QP that uses it
  uint32_t max_wr{};  // Outstanding receive WRs, from 1
  uint32_t max_sge{};  // Elements per receive WR
  uint32_t reserved{};  // 0

  static constexpr RdmaCmdCreateSrq Decode(const uint8_t* bytes) {
    RdmaCmdCreateSrq result;
    result.pdn = static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
    result.max_wr = static_cast<uint32_t>(detail::GetLittle<32, 32>(bytes));
    result.max_sge = static_cast<uint32_t>(detail::GetLittle<64, 32>(bytes));
    result.reserved = static_cast<uint32_t>(detail::GetLittle<96, 32>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 32>(bytes, static_cast<uint64_t>(pdn));
    detail::PutLittle<32, 32>(bytes, static_cast<uint64_t>(max_wr));
    detail::PutLittle<64, 32>(bytes, static_cast<uint64_t>(max_sge));
    detail::PutLittle<96, 32>(bytes, static_cast<uint64_t>(reserved));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("pdn", self.pdn, 32);
    f("max_wr", self.max_wr, 32);
    f("max_sge", self.max_sge, 32);
    f("reserved", self.reserved, 32);
  }

  friend constexpr bool operator==(const RdmaCmdCreateSrq&, const RdmaCmdCreateSrq&) = default;
};

// The new shared receive queue. (roce.toml)
// Little-endian, 4 bytes. Only in the vireo profile.
struct RdmaAckCreateSrq {
  static constexpr size_t kBytes = 4;
  static constexpr size_t kSrqnOffset = 0;
  uint32_t srqn{};  // Its number: no QP has it while it exists. Determines its virtqueue, as that of a QP

  static constexpr RdmaAckCreateSrq Decode(const uint8_t* bytes) {
    RdmaAckCreateSrq result;
    result.srqn = static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 32>(bytes, static_cast<uint64_t>(srqn));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("srqn", self.srqn, 32);
  }
  static constexpr RdmaAckCreateSrq FromWord(uint32_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 32>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint32_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
  }

  friend constexpr bool operator==(const RdmaAckCreateSrq&, const RdmaAckCreateSrq&) = default;
};

// Arm the limit event: it is sent once, when fewer than srq_limit of the first `posted` receives have not been taken; at once, if this is the case already. A driver that has posted more in the meantime arms it again. [libibverbs, ibv_modify_srq(3)] (roce.toml)
// Little-endian, 16 bytes. Only in the vireo profile.
struct RdmaCmdModifySrq {
  static constexpr size_t kBytes = 16;
  static constexpr size_t kSrqnOffset = 0;
  static constexpr size_t kSrqLimitOffset = 4;
  static constexpr size_t kPostedOffset = 8;
  uint32_t srqn{};  // The shared receive queue
  uint32_t srq_limit{};  // Up to max_wr; 0: no event
  uint32_t posted{};  // Receives posted since it was created, modulo 2^16
  uint32_t reserved{};  // 0

  static constexpr RdmaCmdModifySrq Decode(const uint8_t* bytes) {
    RdmaCmdModifySrq result;
    result.srqn = static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
    result.srq_limit = static_cast<uint32_t>(detail::GetLittle<32, 32>(bytes));
    result.posted = static_cast<uint32_t>(detail::GetLittle<64, 32>(bytes));
    result.reserved = static_cast<uint32_t>(detail::GetLittle<96, 32>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 32>(bytes, static_cast<uint64_t>(srqn));
    detail::PutLittle<32, 32>(bytes, static_cast<uint64_t>(srq_limit));
    detail::PutLittle<64, 32>(bytes, static_cast<uint64_t>(posted));
    detail::PutLittle<96, 32>(bytes, static_cast<uint64_t>(reserved));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("srqn", self.srqn, 32);
    f("srq_limit", self.srq_limit, 32);
    f("posted", self.posted, 32);
    f("reserved", self.reserved, 32);
  }

  friend constexpr bool operator==(const RdmaCmdModifySrq&, const RdmaCmdModifySrq&) = default;
};

// Ask for the attributes of a shared receive queue. [libibverbs, ibv_query_srq(3)] (roce.toml)
// Little-endian, 4 bytes. Only in the vireo profile.
struct RdmaCmdQuerySrq {
  static constexpr size_t kBytes = 4;
  static constexpr size_t kSrqnOffset = 0;
  uint32_t srqn{};  // The shared receive queue

  static constexpr RdmaCmdQuerySrq Decode(const uint8_t* bytes) {
    RdmaCmdQuerySrq result;
    result.srqn = static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 32>(bytes, static_cast<uint64_t>(srqn));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("srqn", self.srqn, 32);
  }
  static constexpr RdmaCmdQuerySrq FromWord(uint32_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 32>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint32_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
  }

  friend constexpr bool operator==(const RdmaCmdQuerySrq&, const RdmaCmdQuerySrq&) = default;
};

// Attributes of a shared receive queue. (roce.toml)
// Little-endian, 16 bytes. Only in the vireo profile.
struct RdmaAckQuerySrq {
  static constexpr size_t kBytes = 16;
  static constexpr size_t kMaxWrOffset = 0;
  static constexpr size_t kMaxSgeOffset = 4;
  static constexpr size_t kSrqLimitOffset = 8;
  static constexpr size_t kQpsOffset = 12;
  uint32_t max_wr{};  // As in create_srq
  uint32_t max_sge{};  // As in create_srq
  uint32_t srq_limit{};  // As in modify_srq, whether the event was sent or not; 0: none
  uint32_t qps{};  // QPs that use it

  static constexpr RdmaAckQuerySrq Decode(const uint8_t* bytes) {
    RdmaAckQuerySrq result;
    result.max_wr = static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
    result.max_sge = static_cast<uint32_t>(detail::GetLittle<32, 32>(bytes));
    result.srq_limit = static_cast<uint32_t>(detail::GetLittle<64, 32>(bytes));
    result.qps = static_cast<uint32_t>(detail::GetLittle<96, 32>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 32>(bytes, static_cast<uint64_t>(max_wr));
    detail::PutLittle<32, 32>(bytes, static_cast<uint64_t>(max_sge));
    detail::PutLittle<64, 32>(bytes, static_cast<uint64_t>(srq_limit));
    detail::PutLittle<96, 32>(bytes, static_cast<uint64_t>(qps));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("max_wr", self.max_wr, 32);
    f("max_sge", self.max_sge, 32);
    f("srq_limit", self.srq_limit, 32);
    f("qps", self.qps, 32);
  }

  friend constexpr bool operator==(const RdmaAckQuerySrq&, const RdmaAckQuerySrq&) = default;
};

// Destroy a shared receive queue. [libibverbs, ibv_destroy_srq(3)] (roce.toml)
// Little-endian, 4 bytes. Only in the vireo profile.
struct RdmaCmdDestroySrq {
  static constexpr size_t kBytes = 4;
  static constexpr size_t kSrqnOffset = 0;
  uint32_t srqn{};  // The shared receive queue

  static constexpr RdmaCmdDestroySrq Decode(const uint8_t* bytes) {
    RdmaCmdDestroySrq result;
    result.srqn = static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 32>(bytes, static_cast<uint64_t>(srqn));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("srqn", self.srqn, 32);
  }
  static constexpr RdmaCmdDestroySrq FromWord(uint32_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 32>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint32_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
  }

  friend constexpr bool operator==(const RdmaCmdDestroySrq&, const RdmaCmdDestroySrq&) = default;
};

// Create an address handle. [RFC v2, CREATE_AH] (roce.toml)
// Little-endian, 48 bytes.
struct RdmaCmdCreateAh {
  static constexpr size_t kBytes = 48;
  static constexpr size_t kPdnOffset = 0;
  static constexpr size_t kAhAttrOffset = 8;
  uint32_t pdn{};  // The PD
  uint32_t reserved{};  // 0
  RdmaAhAttr ah_attr{};  // Path to the peer

  static constexpr RdmaCmdCreateAh Decode(const uint8_t* bytes) {
    RdmaCmdCreateAh result;
    result.pdn = static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
    result.reserved = static_cast<uint32_t>(detail::GetLittle<32, 32>(bytes));
    result.ah_attr = RdmaAhAttr::Decode(bytes + 8);
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 32>(bytes, static_cast<uint64_t>(pdn));
    detail::PutLittle<32, 32>(bytes, static_cast<uint64_t>(reserved));
    ah_attr.Encode(bytes + 8);
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("pdn", self.pdn, 32);
    f("reserved", self.reserved, 32);
    RdmaAhAttr::Visit(self.ah_attr, f);
  }

  friend constexpr bool operator==(const RdmaCmdCreateAh&, const RdmaCmdCreateAh&) = default;
};

// The new address handle. [RFC v2, CREATE_AH] (roce.toml)
// Little-endian, 4 bytes.
struct RdmaAckCreateAh {
  static constexpr size_t kBytes = 4;
  static constexpr size_t kAhOffset = 0;
  uint32_t ah{};  // The handle, for rdma_sq_req_ud

  static constexpr RdmaAckCreateAh Decode(const uint8_t* bytes) {
    RdmaAckCreateAh result;
    result.ah = static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 32>(bytes, static_cast<uint64_t>(ah));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("ah", self.ah, 32);
  }
  static constexpr RdmaAckCreateAh FromWord(uint32_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 32>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint32_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
  }

  friend constexpr bool operator==(const RdmaAckCreateAh&, const RdmaAckCreateAh&) = default;
};

// Destroy an address handle. [RFC v2, DESTROY_AH] (roce.toml)
// Little-endian, 8 bytes.
struct RdmaCmdDestroyAh {
  static constexpr size_t kBytes = 8;
  static constexpr size_t kPdnOffset = 0;
  static constexpr size_t kAhOffset = 4;
  uint32_t pdn{};  // The PD it belongs to
  uint32_t ah{};  // The handle

  static constexpr RdmaCmdDestroyAh Decode(const uint8_t* bytes) {
    RdmaCmdDestroyAh result;
    result.pdn = static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
    result.ah = static_cast<uint32_t>(detail::GetLittle<32, 32>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 32>(bytes, static_cast<uint64_t>(pdn));
    detail::PutLittle<32, 32>(bytes, static_cast<uint64_t>(ah));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("pdn", self.pdn, 32);
    f("ah", self.ah, 32);
  }
  static constexpr RdmaCmdDestroyAh FromWord(uint64_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 64>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint64_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint64_t>(detail::GetLittle<0, 64>(bytes));
  }

  friend constexpr bool operator==(const RdmaCmdDestroyAh&, const RdmaCmdDestroyAh&) = default;
};

// Write an entry of the GID table. An IPv4 address is written as its IPv4-mapped GID and makes packets IPv4. [RFC v2, ADD_GID] (roce.toml)
// Little-endian, 24 bytes.
struct RdmaCmdAddGid {
  static constexpr size_t kBytes = 24;
  static constexpr size_t kIndexOffset = 0;
  static constexpr size_t kGidTypeOffset = 2;
  static constexpr size_t kFlagsOffset = 3;
  static constexpr size_t kVlanOffset = 4;
  static constexpr size_t kGidOffset = 8;
  uint16_t index{};  // Entry, below gid_tbl_len
  RdmaGidType gid_type{};  // Protocol; in rfc-v2 always RoCE v2 [vireo profile; else reserved]
  uint8_t flags{};  // Properties; in rfc-v2 none; flags: RdmaGidFlags [vireo profile; else reserved]
  uint16_t vlan{};  // Tag control information: identifier 11:0, DEI 12, priority 15:13 [vireo profile; else reserved]
  uint16_t reserved{};  // 0
  uint8_t gid[16]{};  // The GID

  static constexpr RdmaCmdAddGid Decode(const uint8_t* bytes) {
    RdmaCmdAddGid result;
    result.index = static_cast<uint16_t>(detail::GetLittle<0, 16>(bytes));
    result.gid_type = static_cast<RdmaGidType>(detail::GetLittle<16, 8>(bytes));
    result.flags = static_cast<uint8_t>(detail::GetLittle<24, 8>(bytes));
    result.vlan = static_cast<uint16_t>(detail::GetLittle<32, 16>(bytes));
    result.reserved = static_cast<uint16_t>(detail::GetLittle<48, 16>(bytes));
    for (size_t i = 0; i < 16; ++i) result.gid[i] = static_cast<uint8_t>(detail::GetLittle<0, 8>(bytes + 8 + i * 1));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 16>(bytes, static_cast<uint64_t>(index));
    detail::PutLittle<16, 8>(bytes, static_cast<uint64_t>(gid_type));
    detail::PutLittle<24, 8>(bytes, static_cast<uint64_t>(flags));
    detail::PutLittle<32, 16>(bytes, static_cast<uint64_t>(vlan));
    detail::PutLittle<48, 16>(bytes, static_cast<uint64_t>(reserved));
    for (size_t i = 0; i < 16; ++i) detail::PutLittle<0, 8>(bytes + 8 + i * 1, gid[i]);
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("index", self.index, 16);
    f("gid_type", self.gid_type, 8);
    f("flags", self.flags, 8);
    f("vlan", self.vlan, 16);
    f("reserved", self.reserved, 16);
    for (size_t i = 0; i < 16; ++i) f("gid", self.gid[i], 8);
  }

  friend constexpr bool operator==(const RdmaCmdAddGid&, const RdmaCmdAddGid&) = default;
};

// Clear an entry of the GID table. [RFC v2, DEL_GID] (roce.toml)
// Little-endian, 2 bytes.
struct RdmaCmdDelGid {
  static constexpr size_t kBytes = 2;
  static constexpr size_t kIndexOffset = 0;
  uint16_t index{};  // Entry

  static constexpr RdmaCmdDelGid Decode(const uint8_t* bytes) {
    RdmaCmdDelGid result;
    result.index = static_cast<uint16_t>(detail::GetLittle<0, 16>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 16>(bytes, static_cast<uint64_t>(index));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("index", self.index, 16);
  }
  static constexpr RdmaCmdDelGid FromWord(uint16_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 16>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint16_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint16_t>(detail::GetLittle<0, 16>(bytes));
  }

  friend constexpr bool operator==(const RdmaCmdDelGid&, const RdmaCmdDelGid&) = default;
};

// Attach a UD QP to a multicast group: it receives a copy of each datagram to the group that has its Q_Key. [IBTA vol. 1, 10.5.2, 11.3.1; docs/decisions/0044] (roce.toml)
// Little-endian, 20 bytes. Only in the vireo profile.
struct RdmaCmdAttachMcast {
  static constexpr size_t kBytes = 20;
  static constexpr size_t kQpnOffset = 0;
  static constexpr size_t kMgidOffset = 4;
  uint32_t qpn{};  // The QP
  uint8_t mgid[16]{};  // GID of the group: ff00::/8, or ::ffff:224.0.0.0/100 for an IPv4 group

  static constexpr RdmaCmdAttachMcast Decode(const uint8_t* bytes) {
    RdmaCmdAttachMcast result;
    result.qpn = static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
    for (size_t i = 0; i < 16; ++i) result.mgid[i] = static_cast<uint8_t>(detail::GetLittle<0, 8>(bytes + 4 + i * 1));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 32>(bytes, static_cast<uint64_t>(qpn));
    for (size_t i = 0; i < 16; ++i) detail::PutLittle<0, 8>(bytes + 4 + i * 1, mgid[i]);
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("qpn", self.qpn, 32);
    for (size_t i = 0; i < 16; ++i) f("mgid", self.mgid[i], 8);
  }

  friend constexpr bool operator==(const RdmaCmdAttachMcast&, const RdmaCmdAttachMcast&) = default;
};

// Detach a UD QP from a multicast group. [IBTA vol. 1, 11.3.2] (roce.toml)
// Little-endian, 20 bytes. Only in the vireo profile.
struct RdmaCmdDetachMcast {
  static constexpr size_t kBytes = 20;
  static constexpr size_t kQpnOffset = 0;
  static constexpr size_t kMgidOffset = 4;
  uint32_t qpn{};  // The QP
  uint8_t mgid[16]{};  // GID of the group

  static constexpr RdmaCmdDetachMcast Decode(const uint8_t* bytes) {
    RdmaCmdDetachMcast result;
    result.qpn = static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
    for (size_t i = 0; i < 16; ++i) result.mgid[i] = static_cast<uint8_t>(detail::GetLittle<0, 8>(bytes + 4 + i * 1));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 32>(bytes, static_cast<uint64_t>(qpn));
    for (size_t i = 0; i < 16; ++i) detail::PutLittle<0, 8>(bytes + 4 + i * 1, mgid[i]);
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("qpn", self.qpn, 32);
    for (size_t i = 0; i < 16; ++i) f("mgid", self.mgid[i], 8);
  }

  friend constexpr bool operator==(const RdmaCmdDetachMcast&, const RdmaCmdDetachMcast&) = default;
};

// Limits what a virtqueue's descriptors may point to: every buffer and every indirect table must lie in [base, base + length). The ring itself is placed by common configuration, which only a trusted driver can access. Applies to every descriptor fetched after the response, until set again; a reset of the queue or device removes it. [docs/decisions/0003] (roce.toml)
// Little-endian, 24 bytes. Only in the vireo profile.
struct RdmaCmdSetWindow {
  static constexpr size_t kBytes = 24;
  static constexpr size_t kVqIndexOffset = 0;
  static constexpr size_t kFlagsOffset = 2;
  static constexpr size_t kBaseOffset = 8;
  static constexpr size_t kLengthOffset = 16;
  uint16_t vq_index{};  // Virtqueue; any but controlq
  uint8_t flags{};  // Properties; flags: RdmaWindowFlags
  uint8_t reserved[5]{};  // 0
  uint64_t base{};  // First DMA address
  uint64_t length{};  // Bytes, from 1; base + length is at most 2^64

  static constexpr RdmaCmdSetWindow Decode(const uint8_t* bytes) {
    RdmaCmdSetWindow result;
    result.vq_index = static_cast<uint16_t>(detail::GetLittle<0, 16>(bytes));
    result.flags = static_cast<uint8_t>(detail::GetLittle<16, 8>(bytes));
    for (size_t i = 0; i < 5; ++i) result.reserved[i] = static_cast<uint8_t>(detail::GetLittle<0, 8>(bytes + 3 + i * 1));
    result.base = static_cast<uint64_t>(detail::GetLittle<64, 64>(bytes));
    result.length = static_cast<uint64_t>(detail::GetLittle<128, 64>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 16>(bytes, static_cast<uint64_t>(vq_index));
    detail::PutLittle<16, 8>(bytes, static_cast<uint64_t>(flags));
    for (size_t i = 0; i < 5; ++i) detail::PutLittle<0, 8>(bytes + 3 + i * 1, reserved[i]);
    detail::PutLittle<64, 64>(bytes, static_cast<uint64_t>(base));
    detail::PutLittle<128, 64>(bytes, static_cast<uint64_t>(length));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("vq_index", self.vq_index, 16);
    f("flags", self.flags, 8);
    for (size_t i = 0; i < 5; ++i) f("reserved", self.reserved[i], 8);
    f("base", self.base, 64);
    f("length", self.length, 64);
  }

  friend constexpr bool operator==(const RdmaCmdSetWindow&, const RdmaCmdSetWindow&) = default;
};

// Asynchronous event. The driver posts device-writable buffers of this size on rdma_eventq; each event uses one. [docs/decisions/0003] (roce.toml)
// Little-endian, 16 bytes. Only in the vireo profile.
struct RdmaEvent {
  static constexpr size_t kBytes = 16;
  static constexpr size_t kEventTypeOffset = 0;
  static constexpr size_t kElementOffset = 4;
  static constexpr size_t kCodeOffset = 8;
  static constexpr size_t kLostOffset = 12;
  RdmaEventType event_type{};  // What happened
  uint32_t element{};  // Object: QP number, CQ index, number of the shared receive queue, port number or virtqueue index, by type; else 0
  uint32_t code{};  // Reason: an rdma_error or an AETH syndrome, by type; else 0
  uint32_t lost{};  // Events dropped for lack of a buffer since the previous one; saturates at 2^32 - 1

  static constexpr RdmaEvent Decode(const uint8_t* bytes) {
    RdmaEvent result;
    result.event_type = static_cast<RdmaEventType>(detail::GetLittle<0, 32>(bytes));
    result.element = static_cast<uint32_t>(detail::GetLittle<32, 32>(bytes));
    result.code = static_cast<uint32_t>(detail::GetLittle<64, 32>(bytes));
    result.lost = static_cast<uint32_t>(detail::GetLittle<96, 32>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 32>(bytes, static_cast<uint64_t>(event_type));
    detail::PutLittle<32, 32>(bytes, static_cast<uint64_t>(element));
    detail::PutLittle<64, 32>(bytes, static_cast<uint64_t>(code));
    detail::PutLittle<96, 32>(bytes, static_cast<uint64_t>(lost));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("event_type", self.event_type, 32);
    f("element", self.element, 32);
    f("code", self.code, 32);
    f("lost", self.lost, 32);
  }

  friend constexpr bool operator==(const RdmaEvent&, const RdmaEvent&) = default;
};

// Scatter/gather element. [RFC v2, RoCE Support] (roce.toml)
// Little-endian, 16 bytes.
struct RdmaSge {
  static constexpr size_t kBytes = 16;
  static constexpr size_t kAddrOffset = 0;
  static constexpr size_t kLengthOffset = 8;
  static constexpr size_t kLkeyOffset = 12;
  uint64_t addr{};  // Address in the region of lkey
  uint32_t length{};  // Bytes; 0 is 0 bytes
  uint32_t lkey{};  // Local key

  static constexpr RdmaSge Decode(const uint8_t* bytes) {
    RdmaSge result;
    result.addr = static_cast<uint64_t>(detail::GetLittle<0, 64>(bytes));
    result.length = static_cast<uint32_t>(detail::GetLittle<64, 32>(bytes));
    result.lkey = static_cast<uint32_t>(detail::GetLittle<96, 32>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 64>(bytes, static_cast<uint64_t>(addr));
    detail::PutLittle<64, 32>(bytes, static_cast<uint64_t>(length));
    detail::PutLittle<96, 32>(bytes, static_cast<uint64_t>(lkey));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("addr", self.addr, 64);
    f("length", self.length, 32);
    f("lkey", self.lkey, 32);
  }

  friend constexpr bool operator==(const RdmaSge&, const RdmaSge&) = default;
};

// Variant of rdma_sq_req.wr for RDMA READ and WRITE. [RFC v2, RoCE Support] (roce.toml)
// Little-endian, 32 bytes.
struct RdmaSqReqRdma {
  static constexpr size_t kBytes = 32;
  static constexpr size_t kRemoteAddrOffset = 0;
  static constexpr size_t kRkeyOffset = 8;
  uint64_t remote_addr{};  // Address in the region of rkey
  uint32_t rkey{};  // Peer's key
  uint32_t reserved[5]{};  // 0

  static constexpr RdmaSqReqRdma Decode(const uint8_t* bytes) {
    RdmaSqReqRdma result;
    result.remote_addr = static_cast<uint64_t>(detail::GetLittle<0, 64>(bytes));
    result.rkey = static_cast<uint32_t>(detail::GetLittle<64, 32>(bytes));
    for (size_t i = 0; i < 5; ++i) result.reserved[i] = static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes + 12 + i * 4));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 64>(bytes, static_cast<uint64_t>(remote_addr));
    detail::PutLittle<64, 32>(bytes, static_cast<uint64_t>(rkey));
    for (size_t i = 0; i < 5; ++i) detail::PutLittle<0, 32>(bytes + 12 + i * 4, reserved[i]);
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("remote_addr", self.remote_addr, 64);
    f("rkey", self.rkey, 32);
    for (size_t i = 0; i < 5; ++i) f("reserved", self.reserved[i], 32);
  }

  friend constexpr bool operator==(const RdmaSqReqRdma&, const RdmaSqReqRdma&) = default;
};

// Variant of rdma_sq_req.wr for FLUSH. [Vireo; IBTA vol. 1 (1.6), A19.4.1] (roce.toml)
// Little-endian, 32 bytes. Only in the vireo profile.
struct RdmaSqReqFlush {
  static constexpr size_t kBytes = 32;
  static constexpr size_t kRemoteAddrOffset = 0;
  static constexpr size_t kLengthOffset = 8;
  static constexpr size_t kPlacementOffset = 12;
  static constexpr size_t kSelectivityOffset = 13;
  static constexpr size_t kRkeyOffset = 24;
  uint64_t remote_addr{};  // With selectivity range: first address, in the region of rkey
  uint32_t length{};  // Likewise: bytes, 0 … 2^31 - 1
  uint8_t placement{};  // flush_placement: at least one
  uint8_t selectivity{};  // flush_selectivity
  uint16_t reserved{};  // 0
  uint64_t reserved1{};  // 0
  uint32_t rkey{};  // Peer's key
  uint32_t reserved2{};  // 0

  static constexpr RdmaSqReqFlush Decode(const uint8_t* bytes) {
    RdmaSqReqFlush result;
    result.remote_addr = static_cast<uint64_t>(detail::GetLittle<0, 64>(bytes));
    result.length = static_cast<uint32_t>(detail::GetLittle<64, 32>(bytes));
    result.placement = static_cast<uint8_t>(detail::GetLittle<96, 8>(bytes));
    result.selectivity = static_cast<uint8_t>(detail::GetLittle<104, 8>(bytes));
    result.reserved = static_cast<uint16_t>(detail::GetLittle<112, 16>(bytes));
    result.reserved1 = static_cast<uint64_t>(detail::GetLittle<128, 64>(bytes));
    result.rkey = static_cast<uint32_t>(detail::GetLittle<192, 32>(bytes));
    result.reserved2 = static_cast<uint32_t>(detail::GetLittle<224, 32>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 64>(bytes, static_cast<uint64_t>(remote_addr));
    detail::PutLittle<64, 32>(bytes, static_cast<uint64_t>(length));
    detail::PutLittle<96, 8>(bytes, static_cast<uint64_t>(placement));
    detail::PutLittle<104, 8>(bytes, static_cast<uint64_t>(selectivity));
    detail::PutLittle<112, 16>(bytes, static_cast<uint64_t>(reserved));
    detail::PutLittle<128, 64>(bytes, static_cast<uint64_t>(reserved1));
    detail::PutLittle<192, 32>(bytes, static_cast<uint64_t>(rkey));
    detail::PutLittle<224, 32>(bytes, static_cast<uint64_t>(reserved2));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("remote_addr", self.remote_addr, 64);
    f("length", self.length, 32);
    f("placement", self.placement, 8);
    f("selectivity", self.selectivity, 8);
    f("reserved", self.reserved, 16);
    f("reserved1", self.reserved1, 64);
    f("rkey", self.rkey, 32);
    f("reserved2", self.reserved2, 32);
  }

  friend constexpr bool operator==(const RdmaSqReqFlush&, const RdmaSqReqFlush&) = default;
};

// Variant of rdma_sq_req.wr for bind_mw. [Vireo; IBTA vol. 1, 11.4.1.1; members as in struct ibv_send_wr] (roce.toml)
// Little-endian, 32 bytes. Only in the vireo profile.
struct RdmaSqReqBind {
  static constexpr size_t kBytes = 32;
  static constexpr size_t kAddrOffset = 0;
  static constexpr size_t kLengthOffset = 8;
  static constexpr size_t kAccessFlagsOffset = 16;
  static constexpr size_t kRkeyOffset = 24;
  static constexpr size_t kLkeyOffset = 28;
  uint64_t addr{};  // First address of the window, in the region of lkey
  uint64_t length{};  // Bytes; 0, of type 1 only: unbound
  uint32_t access_flags{};  // remote_write, remote_read, remote_atomic, zero_based; flags: IbAccessFlags
  uint32_t reserved{};  // 0
  uint32_t rkey{};  // The window's from now on: its number, and any low 8 bits
  uint32_t lkey{};  // Of the region, which has the right mw_bind; not used if length is 0

  static constexpr RdmaSqReqBind Decode(const uint8_t* bytes) {
    RdmaSqReqBind result;
    result.addr = static_cast<uint64_t>(detail::GetLittle<0, 64>(bytes));
    result.length = static_cast<uint64_t>(detail::GetLittle<64, 64>(bytes));
    result.access_flags = static_cast<uint32_t>(detail::GetLittle<128, 32>(bytes));
    result.reserved = static_cast<uint32_t>(detail::GetLittle<160, 32>(bytes));
    result.rkey = static_cast<uint32_t>(detail::GetLittle<192, 32>(bytes));
    result.lkey = static_cast<uint32_t>(detail::GetLittle<224, 32>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 64>(bytes, static_cast<uint64_t>(addr));
    detail::PutLittle<64, 64>(bytes, static_cast<uint64_t>(length));
    detail::PutLittle<128, 32>(bytes, static_cast<uint64_t>(access_flags));
    detail::PutLittle<160, 32>(bytes, static_cast<uint64_t>(reserved));
    detail::PutLittle<192, 32>(bytes, static_cast<uint64_t>(rkey));
    detail::PutLittle<224, 32>(bytes, static_cast<uint64_t>(lkey));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("addr", self.addr, 64);
    f("length", self.length, 64);
    f("access_flags", self.access_flags, 32);
    f("reserved", self.reserved, 32);
    f("rkey", self.rkey, 32);
    f("lkey", self.lkey, 32);
  }

  friend constexpr bool operator==(const RdmaSqReqBind&, const RdmaSqReqBind&) = default;
};

// Variant of rdma_sq_req.wr for reg_mr, whose elements are rdma_page_pair, one or more. Fields are where rdma_sq_req_bind has its own. [Vireo; IBTA vol. 1, 11.4.1.1: Fast Register Physical MR; as struct ib_reg_wr] (roce.toml)
// Little-endian, 32 bytes. Only in the vireo profile.
struct RdmaSqReqReg {
  static constexpr size_t kBytes = 32;
  static constexpr size_t kVirtAddrOffset = 0;
  static constexpr size_t kLengthOffset = 8;
  static constexpr size_t kAccessFlagsOffset = 16;
  static constexpr size_t kKeyOffset = 24;
  static constexpr size_t kPageShiftOffset = 28;
  uint64_t virt_addr{};  // First address of the region. Its offset in a page is that of the region's first byte in the first page
  uint64_t length{};  // Bytes, from 1
  uint32_t access_flags{};  // local_write, remote_write, remote_read, remote_atomic; flags: IbAccessFlags
  uint32_t reserved{};  // 0
  uint32_t key{};  // Its lkey and rkey from now on: its number, and any low 8 bits
  uint8_t page_shift{};  // A size of page_size_cap from rdma_page_shift_min on
  uint8_t reserved1[3]{};  // 0

  static constexpr RdmaSqReqReg Decode(const uint8_t* bytes) {
    RdmaSqReqReg result;
    result.virt_addr = static_cast<uint64_t>(detail::GetLittle<0, 64>(bytes));
    result.length = static_cast<uint64_t>(detail::GetLittle<64, 64>(bytes));
    result.access_flags = static_cast<uint32_t>(detail::GetLittle<128, 32>(bytes));
    result.reserved = static_cast<uint32_t>(detail::GetLittle<160, 32>(bytes));
    result.key = static_cast<uint32_t>(detail::GetLittle<192, 32>(bytes));
    result.page_shift = static_cast<uint8_t>(detail::GetLittle<224, 8>(bytes));
    for (size_t i = 0; i < 3; ++i) result.reserved1[i] = static_cast<uint8_t>(detail::GetLittle<0, 8>(bytes + 29 + i * 1));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 64>(bytes, static_cast<uint64_t>(virt_addr));
    detail::PutLittle<64, 64>(bytes, static_cast<uint64_t>(length));
    detail::PutLittle<128, 32>(bytes, static_cast<uint64_t>(access_flags));
    detail::PutLittle<160, 32>(bytes, static_cast<uint64_t>(reserved));
    detail::PutLittle<192, 32>(bytes, static_cast<uint64_t>(key));
    detail::PutLittle<224, 8>(bytes, static_cast<uint64_t>(page_shift));
    for (size_t i = 0; i < 3; ++i) detail::PutLittle<0, 8>(bytes + 29 + i * 1, reserved1[i]);
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("virt_addr", self.virt_addr, 64);
    f("length", self.length, 64);
    f("access_flags", self.access_flags, 32);
    f("reserved", self.reserved, 32);
    f("key", self.key, 32);
    f("page_shift", self.page_shift, 8);
    for (size_t i = 0; i < 3; ++i) f("reserved1", self.reserved1[i], 8);
  }

  friend constexpr bool operator==(const RdmaSqReqReg&, const RdmaSqReqReg&) = default;
};

// Two pages of a reg_mr, in the place of an rdma_sge. [docs/decisions/0036] (roce.toml)
// Little-endian, 16 bytes. Only in the vireo profile.
struct RdmaPagePair {
  static constexpr size_t kBytes = 16;
  static constexpr size_t kFirstOffset = 0;
  static constexpr size_t kSecondOffset = 8;
  uint64_t first{};  // DMA address of the page, a multiple of the page size
  uint64_t second{};  // Of the next one; any value if the region ends before

  static constexpr RdmaPagePair Decode(const uint8_t* bytes) {
    RdmaPagePair result;
    result.first = static_cast<uint64_t>(detail::GetLittle<0, 64>(bytes));
    result.second = static_cast<uint64_t>(detail::GetLittle<64, 64>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 64>(bytes, static_cast<uint64_t>(first));
    detail::PutLittle<64, 64>(bytes, static_cast<uint64_t>(second));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("first", self.first, 64);
    f("second", self.second, 64);
  }

  friend constexpr bool operator==(const RdmaPagePair&, const RdmaPagePair&) = default;
};

// Variant of rdma_sq_req.wr for atomic operations and ATOMIC WRITE. The elements take 8 bytes; more are not written. [Vireo; members and order as in struct ibv_send_wr] (roce.toml)
// Little-endian, 32 bytes.
struct RdmaSqReqAtomic {
  static constexpr size_t kBytes = 32;
  static constexpr size_t kRemoteAddrOffset = 0;
  static constexpr size_t kCompareAddOffset = 8;
  static constexpr size_t kSwapOffset = 16;
  static constexpr size_t kRkeyOffset = 24;
  uint64_t remote_addr{};  // Address in the region of rkey; a multiple of 8
  uint64_t compare_add{};  // atomic_cmp_and_swp: value to compare with; atomic_fetch_and_add: to add; atomic_write: to store
  uint64_t swap{};  // atomic_cmp_and_swp: value to store; else not used
  uint32_t rkey{};  // Peer's key
  uint32_t reserved{};  // 0

  static constexpr RdmaSqReqAtomic Decode(const uint8_t* bytes) {
    RdmaSqReqAtomic result;
    result.remote_addr = static_cast<uint64_t>(detail::GetLittle<0, 64>(bytes));
    result.compare_add = static_cast<uint64_t>(detail::GetLittle<64, 64>(bytes));
    result.swap = static_cast<uint64_t>(detail::GetLittle<128, 64>(bytes));
    result.rkey = static_cast<uint32_t>(detail::GetLittle<192, 32>(bytes));
    result.reserved = static_cast<uint32_t>(detail::GetLittle<224, 32>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 64>(bytes, static_cast<uint64_t>(remote_addr));
    detail::PutLittle<64, 64>(bytes, static_cast<uint64_t>(compare_add));
    detail::PutLittle<128, 64>(bytes, static_cast<uint64_t>(swap));
    detail::PutLittle<192, 32>(bytes, static_cast<uint64_t>(rkey));
    detail::PutLittle<224, 32>(bytes, static_cast<uint64_t>(reserved));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("remote_addr", self.remote_addr, 64);
    f("compare_add", self.compare_add, 64);
    f("swap", self.swap, 64);
    f("rkey", self.rkey, 32);
    f("reserved", self.reserved, 32);
  }

  friend constexpr bool operator==(const RdmaSqReqAtomic&, const RdmaSqReqAtomic&) = default;
};

// Variant of rdma_sq_req.wr for UD. [RFC v2, RoCE Support] (roce.toml)
// Little-endian, 32 bytes.
struct RdmaSqReqUd {
  static constexpr size_t kBytes = 32;
  static constexpr size_t kRemoteQpnOffset = 0;
  static constexpr size_t kRemoteQkeyOffset = 4;
  static constexpr size_t kAhOffset = 8;
  uint32_t remote_qpn{};  // Peer's QP number, 24 bits
  uint32_t remote_qkey{};  // Q_Key to send; if bit 31 is set, the QP's own instead
  uint32_t ah{};  // Address handle of the QP's PD
  uint32_t reserved[5]{};  // 0

  static constexpr RdmaSqReqUd Decode(const uint8_t* bytes) {
    RdmaSqReqUd result;
    result.remote_qpn = static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
    result.remote_qkey = static_cast<uint32_t>(detail::GetLittle<32, 32>(bytes));
    result.ah = static_cast<uint32_t>(detail::GetLittle<64, 32>(bytes));
    for (size_t i = 0; i < 5; ++i) result.reserved[i] = static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes + 12 + i * 4));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 32>(bytes, static_cast<uint64_t>(remote_qpn));
    detail::PutLittle<32, 32>(bytes, static_cast<uint64_t>(remote_qkey));
    detail::PutLittle<64, 32>(bytes, static_cast<uint64_t>(ah));
    for (size_t i = 0; i < 5; ++i) detail::PutLittle<0, 32>(bytes + 12 + i * 4, reserved[i]);
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("remote_qpn", self.remote_qpn, 32);
    f("remote_qkey", self.remote_qkey, 32);
    f("ah", self.ah, 32);
    for (size_t i = 0; i < 5; ++i) f("reserved", self.reserved[i], 32);
  }

  friend constexpr bool operator==(const RdmaSqReqUd&, const RdmaSqReqUd&) = default;
};

// Variant of rdma_sq_req.size without the inline flag. [RFC v2, RoCE Support] (roce.toml)
// Little-endian, 4 bytes.
struct RdmaSqReqNumSge {
  static constexpr size_t kBytes = 4;
  static constexpr size_t kNumSgeOffset = 0;
  uint32_t num_sge{};  // Elements of sg_list

  static constexpr RdmaSqReqNumSge Decode(const uint8_t* bytes) {
    RdmaSqReqNumSge result;
    result.num_sge = static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 32>(bytes, static_cast<uint64_t>(num_sge));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("num_sge", self.num_sge, 32);
  }
  static constexpr RdmaSqReqNumSge FromWord(uint32_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 32>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint32_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
  }

  friend constexpr bool operator==(const RdmaSqReqNumSge&, const RdmaSqReqNumSge&) = default;
};

// Variant of rdma_sq_req.size with the inline flag. The upper half is undefined: it must not be read. [RFC v2, RoCE Support] (roce.toml)
// Little-endian, 4 bytes.
struct RdmaSqReqInlineLen {
  static constexpr size_t kBytes = 4;
  static constexpr size_t kInlineLenOffset = 0;
  uint16_t inline_len{};  // Bytes of inline_data
  uint16_t reserved{};  // Anything

  static constexpr RdmaSqReqInlineLen Decode(const uint8_t* bytes) {
    RdmaSqReqInlineLen result;
    result.inline_len = static_cast<uint16_t>(detail::GetLittle<0, 16>(bytes));
    result.reserved = static_cast<uint16_t>(detail::GetLittle<16, 16>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 16>(bytes, static_cast<uint64_t>(inline_len));
    detail::PutLittle<16, 16>(bytes, static_cast<uint64_t>(reserved));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("inline_len", self.inline_len, 16);
    f("reserved", self.reserved, 16);
  }
  static constexpr RdmaSqReqInlineLen FromWord(uint32_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 32>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint32_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
  }

  friend constexpr bool operator==(const RdmaSqReqInlineLen&, const RdmaSqReqInlineLen&) = default;
};

// Send work request: one device-readable descriptor. The device may skip inline_data when it reads. The descriptor is returned as used, length 0 and in order, when the WR is complete, before the CQE of that WR if it has one. [RFC v2, RoCE Support] (roce.toml)
// Little-endian, 576 bytes. Followed by sg_list[]: RdmaSge.
struct RdmaSqReq {
  static constexpr size_t kBytes = 576;
  static constexpr size_t kWrIdOffset = 0;
  static constexpr size_t kOpcodeOffset = 8;
  static constexpr size_t kSendFlagsOffset = 9;
  static constexpr size_t kImmDataOffset = 12;
  static constexpr size_t kWrOffset = 16;
  static constexpr size_t kInlineDataOffset = 48;
  static constexpr size_t kSizeOffset = 560;
  uint64_t wr_id{};  // Returned in the CQE
  IbWrOpcode opcode{};  // Operation
  uint8_t send_flags{};  // Properties; flags: IbSendFlags
  uint16_t reserved{};  // 0
  uint8_t imm_data[4]{};  // In network order: immediate data, or with send_with_inv and local_inv the key; ignored by other operations
  uint8_t wr[32]{};  // By QP type and opcode; unused by SEND of RC, UC; one of RdmaSqReqRdma, RdmaSqReqAtomic, RdmaSqReqUd
  uint8_t inline_data[512]{};  // Data if the inline flag is set
  uint8_t size[4]{};  // By the inline flag; one of RdmaSqReqNumSge, RdmaSqReqInlineLen
  uint32_t reserved1[3]{};  // 0

  static constexpr RdmaSqReq Decode(const uint8_t* bytes) {
    RdmaSqReq result;
    result.wr_id = static_cast<uint64_t>(detail::GetLittle<0, 64>(bytes));
    result.opcode = static_cast<IbWrOpcode>(detail::GetLittle<64, 8>(bytes));
    result.send_flags = static_cast<uint8_t>(detail::GetLittle<72, 8>(bytes));
    result.reserved = static_cast<uint16_t>(detail::GetLittle<80, 16>(bytes));
    for (size_t i = 0; i < 4; ++i) result.imm_data[i] = static_cast<uint8_t>(detail::GetLittle<0, 8>(bytes + 12 + i * 1));
    for (size_t i = 0; i < 32; ++i) result.wr[i] = static_cast<uint8_t>(detail::GetLittle<0, 8>(bytes + 16 + i * 1));
    for (size_t i = 0; i < 512; ++i) result.inline_data[i] = static_cast<uint8_t>(detail::GetLittle<0, 8>(bytes + 48 + i * 1));
    for (size_t i = 0; i < 4; ++i) result.size[i] = static_cast<uint8_t>(detail::GetLittle<0, 8>(bytes + 560 + i * 1));
    for (size_t i = 0; i < 3; ++i) result.reserved1[i] = static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes + 564 + i * 4));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 64>(bytes, static_cast<uint64_t>(wr_id));
    detail::PutLittle<64, 8>(bytes, static_cast<uint64_t>(opcode));
    detail::PutLittle<72, 8>(bytes, static_cast<uint64_t>(send_flags));
    detail::PutLittle<80, 16>(bytes, static_cast<uint64_t>(reserved));
    for (size_t i = 0; i < 4; ++i) detail::PutLittle<0, 8>(bytes + 12 + i * 1, imm_data[i]);
    for (size_t i = 0; i < 32; ++i) detail::PutLittle<0, 8>(bytes + 16 + i * 1, wr[i]);
    for (size_t i = 0; i < 512; ++i) detail::PutLittle<0, 8>(bytes + 48 + i * 1, inline_data[i]);
    for (size_t i = 0; i < 4; ++i) detail::PutLittle<0, 8>(bytes + 560 + i * 1, size[i]);
    for (size_t i = 0; i < 3; ++i) detail::PutLittle<0, 32>(bytes + 564 + i * 4, reserved1[i]);
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("wr_id", self.wr_id, 64);
    f("opcode", self.opcode, 8);
    f("send_flags", self.send_flags, 8);
    f("reserved", self.reserved, 16);
    for (size_t i = 0; i < 4; ++i) f("imm_data", self.imm_data[i], 8);
    for (size_t i = 0; i < 32; ++i) f("wr", self.wr[i], 8);
    for (size_t i = 0; i < 512; ++i) f("inline_data", self.inline_data[i], 8);
    for (size_t i = 0; i < 4; ++i) f("size", self.size[i], 8);
    for (size_t i = 0; i < 3; ++i) f("reserved1", self.reserved1[i], 32);
  }

  friend constexpr bool operator==(const RdmaSqReq&, const RdmaSqReq&) = default;
};

// Start of an extensible send work request: one device-readable descriptor of less than 576 bytes, with a work request of exactly its length. A longer one is an rdma_sq_req, whose first 16 bytes are the same. Used like that one. [docs/decisions/0024] (roce.toml)
// Little-endian, 16 bytes. Only in the vireo profile.
struct RdmaSqBase {
  static constexpr size_t kBytes = 16;
  static constexpr size_t kWrIdOffset = 0;
  static constexpr size_t kOpcodeOffset = 8;
  static constexpr size_t kSendFlagsOffset = 9;
  static constexpr size_t kVersionOffset = 10;
  static constexpr size_t kElementsOffset = 11;
  static constexpr size_t kImmDataOffset = 12;
  uint64_t wr_id{};  // Returned in the CQE
  IbWrOpcode opcode{};  // Operation
  uint8_t send_flags{};  // Properties; flags: IbSendFlags
  uint8_t version{};  // rdma_sq_version
  uint8_t elements{};  // What follows; flags: RdmaSqElement
  uint8_t imm_data[4]{};  // As in rdma_sq_req

  static constexpr RdmaSqBase Decode(const uint8_t* bytes) {
    RdmaSqBase result;
    result.wr_id = static_cast<uint64_t>(detail::GetLittle<0, 64>(bytes));
    result.opcode = static_cast<IbWrOpcode>(detail::GetLittle<64, 8>(bytes));
    result.send_flags = static_cast<uint8_t>(detail::GetLittle<72, 8>(bytes));
    result.version = static_cast<uint8_t>(detail::GetLittle<80, 8>(bytes));
    result.elements = static_cast<uint8_t>(detail::GetLittle<88, 8>(bytes));
    for (size_t i = 0; i < 4; ++i) result.imm_data[i] = static_cast<uint8_t>(detail::GetLittle<0, 8>(bytes + 12 + i * 1));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 64>(bytes, static_cast<uint64_t>(wr_id));
    detail::PutLittle<64, 8>(bytes, static_cast<uint64_t>(opcode));
    detail::PutLittle<72, 8>(bytes, static_cast<uint64_t>(send_flags));
    detail::PutLittle<80, 8>(bytes, static_cast<uint64_t>(version));
    detail::PutLittle<88, 8>(bytes, static_cast<uint64_t>(elements));
    for (size_t i = 0; i < 4; ++i) detail::PutLittle<0, 8>(bytes + 12 + i * 1, imm_data[i]);
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("wr_id", self.wr_id, 64);
    f("opcode", self.opcode, 8);
    f("send_flags", self.send_flags, 8);
    f("version", self.version, 8);
    f("elements", self.elements, 8);
    for (size_t i = 0; i < 4; ++i) f("imm_data", self.imm_data[i], 8);
  }

  friend constexpr bool operator==(const RdmaSqBase&, const RdmaSqBase&) = default;
};

// 64-bit write that ends the push of a send work request and is a doorbell. The driver has made the work request available before, as if it were not pushed. [docs/decisions/0029] (roce.toml)
// Little-endian, 8 bytes. Only in the vireo profile.
struct RdmaPush {
  static constexpr size_t kBytes = 8;
  static constexpr size_t kPositionOffset = 0;
  static constexpr size_t kHeadOffset = 2;
  static constexpr size_t kLengthOffset = 4;
  uint16_t position{};  // Split: avail.idx without this buffer; packed: its place in the ring, bit 15 the wrap counter there
  uint16_t head{};  // Split: its descriptor; packed: as position
  uint16_t length{};  // Of the work request, in bytes; rdma_sq_base to rdma_push_most
  uint16_t reserved{};  // 0

  static constexpr RdmaPush Decode(const uint8_t* bytes) {
    RdmaPush result;
    result.position = static_cast<uint16_t>(detail::GetLittle<0, 16>(bytes));
    result.head = static_cast<uint16_t>(detail::GetLittle<16, 16>(bytes));
    result.length = static_cast<uint16_t>(detail::GetLittle<32, 16>(bytes));
    result.reserved = static_cast<uint16_t>(detail::GetLittle<48, 16>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 16>(bytes, static_cast<uint64_t>(position));
    detail::PutLittle<16, 16>(bytes, static_cast<uint64_t>(head));
    detail::PutLittle<32, 16>(bytes, static_cast<uint64_t>(length));
    detail::PutLittle<48, 16>(bytes, static_cast<uint64_t>(reserved));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("position", self.position, 16);
    f("head", self.head, 16);
    f("length", self.length, 16);
    f("reserved", self.reserved, 16);
  }
  static constexpr RdmaPush FromWord(uint64_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 64>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint64_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint64_t>(detail::GetLittle<0, 64>(bytes));
  }

  friend constexpr bool operator==(const RdmaPush&, const RdmaPush&) = default;
};

// Element of an extensible send work request: the peer's memory. [docs/decisions/0024] (roce.toml)
// Little-endian, 16 bytes. Only in the vireo profile.
struct RdmaSqRdma {
  static constexpr size_t kBytes = 16;
  static constexpr size_t kRemoteAddrOffset = 0;
  static constexpr size_t kRkeyOffset = 8;
  uint64_t remote_addr{};  // Address in the region of rkey; of an atomic operation or ATOMIC WRITE a multiple of 8
  uint32_t rkey{};  // Peer's key
  uint32_t reserved{};  // 0

  static constexpr RdmaSqRdma Decode(const uint8_t* bytes) {
    RdmaSqRdma result;
    result.remote_addr = static_cast<uint64_t>(detail::GetLittle<0, 64>(bytes));
    result.rkey = static_cast<uint32_t>(detail::GetLittle<64, 32>(bytes));
    result.reserved = static_cast<uint32_t>(detail::GetLittle<96, 32>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 64>(bytes, static_cast<uint64_t>(remote_addr));
    detail::PutLittle<64, 32>(bytes, static_cast<uint64_t>(rkey));
    detail::PutLittle<96, 32>(bytes, static_cast<uint64_t>(reserved));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("remote_addr", self.remote_addr, 64);
    f("rkey", self.rkey, 32);
    f("reserved", self.reserved, 32);
  }

  friend constexpr bool operator==(const RdmaSqRdma&, const RdmaSqRdma&) = default;
};

// Element of an extensible send work request: the peer of a datagram. [docs/decisions/0024] (roce.toml)
// Little-endian, 16 bytes. Only in the vireo profile.
struct RdmaSqUd {
  static constexpr size_t kBytes = 16;
  static constexpr size_t kRemoteQpnOffset = 0;
  static constexpr size_t kRemoteQkeyOffset = 4;
  static constexpr size_t kAhOffset = 8;
  uint32_t remote_qpn{};  // Peer's QP number, 24 bits
  uint32_t remote_qkey{};  // As in rdma_sq_req_ud
  uint32_t ah{};  // Address handle of the QP's PD
  uint32_t reserved{};  // 0

  static constexpr RdmaSqUd Decode(const uint8_t* bytes) {
    RdmaSqUd result;
    result.remote_qpn = static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
    result.remote_qkey = static_cast<uint32_t>(detail::GetLittle<32, 32>(bytes));
    result.ah = static_cast<uint32_t>(detail::GetLittle<64, 32>(bytes));
    result.reserved = static_cast<uint32_t>(detail::GetLittle<96, 32>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 32>(bytes, static_cast<uint64_t>(remote_qpn));
    detail::PutLittle<32, 32>(bytes, static_cast<uint64_t>(remote_qkey));
    detail::PutLittle<64, 32>(bytes, static_cast<uint64_t>(ah));
    detail::PutLittle<96, 32>(bytes, static_cast<uint64_t>(reserved));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("remote_qpn", self.remote_qpn, 32);
    f("remote_qkey", self.remote_qkey, 32);
    f("ah", self.ah, 32);
    f("reserved", self.reserved, 32);
  }

  friend constexpr bool operator==(const RdmaSqUd&, const RdmaSqUd&) = default;
};

// Element of an extensible send work request: operands. [docs/decisions/0024] (roce.toml)
// Little-endian, 16 bytes. Only in the vireo profile.
struct RdmaSqAtomic {
  static constexpr size_t kBytes = 16;
  static constexpr size_t kCompareAddOffset = 0;
  static constexpr size_t kSwapOffset = 8;
  uint64_t compare_add{};  // atomic_cmp_and_swp: value to compare with; atomic_fetch_and_add: to add; atomic_write: to store
  uint64_t swap{};  // atomic_cmp_and_swp: value to store; else not used

  static constexpr RdmaSqAtomic Decode(const uint8_t* bytes) {
    RdmaSqAtomic result;
    result.compare_add = static_cast<uint64_t>(detail::GetLittle<0, 64>(bytes));
    result.swap = static_cast<uint64_t>(detail::GetLittle<64, 64>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 64>(bytes, static_cast<uint64_t>(compare_add));
    detail::PutLittle<64, 64>(bytes, static_cast<uint64_t>(swap));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("compare_add", self.compare_add, 64);
    f("swap", self.swap, 64);
  }

  friend constexpr bool operator==(const RdmaSqAtomic&, const RdmaSqAtomic&) = default;
};

// Element of an extensible send work request, in the place of rdma_sq_atomic: what a FLUSH requests. [docs/decisions/0028] (roce.toml)
// Little-endian, 16 bytes. Only in the vireo profile.
struct RdmaSqFlush {
  static constexpr size_t kBytes = 16;
  static constexpr size_t kLengthOffset = 0;
  static constexpr size_t kPlacementOffset = 4;
  static constexpr size_t kSelectivityOffset = 5;
  uint32_t length{};  // With selectivity range: bytes, 0 … 2^31 - 1
  uint8_t placement{};  // flush_placement: at least one
  uint8_t selectivity{};  // flush_selectivity
  uint16_t reserved{};  // 0
  uint64_t reserved1{};  // 0

  static constexpr RdmaSqFlush Decode(const uint8_t* bytes) {
    RdmaSqFlush result;
    result.length = static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
    result.placement = static_cast<uint8_t>(detail::GetLittle<32, 8>(bytes));
    result.selectivity = static_cast<uint8_t>(detail::GetLittle<40, 8>(bytes));
    result.reserved = static_cast<uint16_t>(detail::GetLittle<48, 16>(bytes));
    result.reserved1 = static_cast<uint64_t>(detail::GetLittle<64, 64>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 32>(bytes, static_cast<uint64_t>(length));
    detail::PutLittle<32, 8>(bytes, static_cast<uint64_t>(placement));
    detail::PutLittle<40, 8>(bytes, static_cast<uint64_t>(selectivity));
    detail::PutLittle<48, 16>(bytes, static_cast<uint64_t>(reserved));
    detail::PutLittle<64, 64>(bytes, static_cast<uint64_t>(reserved1));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("length", self.length, 32);
    f("placement", self.placement, 8);
    f("selectivity", self.selectivity, 8);
    f("reserved", self.reserved, 16);
    f("reserved1", self.reserved1, 64);
  }

  friend constexpr bool operator==(const RdmaSqFlush&, const RdmaSqFlush&) = default;
};

// Element of an extensible send work request, in the place of rdma_sq_rdma: keys and address of a bind_mw. [docs/decisions/0032] (roce.toml)
// Little-endian, 16 bytes. Only in the vireo profile.
struct RdmaSqBind {
  static constexpr size_t kBytes = 16;
  static constexpr size_t kAddrOffset = 0;
  static constexpr size_t kRkeyOffset = 8;
  static constexpr size_t kLkeyOffset = 12;
  uint64_t addr{};  // As in rdma_sq_req_bind
  uint32_t rkey{};  // As in rdma_sq_req_bind
  uint32_t lkey{};  // As in rdma_sq_req_bind

  static constexpr RdmaSqBind Decode(const uint8_t* bytes) {
    RdmaSqBind result;
    result.addr = static_cast<uint64_t>(detail::GetLittle<0, 64>(bytes));
    result.rkey = static_cast<uint32_t>(detail::GetLittle<64, 32>(bytes));
    result.lkey = static_cast<uint32_t>(detail::GetLittle<96, 32>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 64>(bytes, static_cast<uint64_t>(addr));
    detail::PutLittle<64, 32>(bytes, static_cast<uint64_t>(rkey));
    detail::PutLittle<96, 32>(bytes, static_cast<uint64_t>(lkey));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("addr", self.addr, 64);
    f("rkey", self.rkey, 32);
    f("lkey", self.lkey, 32);
  }

  friend constexpr bool operator==(const RdmaSqBind&, const RdmaSqBind&) = default;
};

// Element of an extensible send work request, in the place of rdma_sq_rdma: address, key and page size of a reg_mr. [docs/decisions/0036] (roce.toml)
// Little-endian, 16 bytes. Only in the vireo profile.
struct RdmaSqReg {
  static constexpr size_t kBytes = 16;
  static constexpr size_t kVirtAddrOffset = 0;
  static constexpr size_t kKeyOffset = 8;
  static constexpr size_t kPageShiftOffset = 12;
  uint64_t virt_addr{};  // As in rdma_sq_req_reg
  uint32_t key{};  // As in rdma_sq_req_reg
  uint8_t page_shift{};  // As in rdma_sq_req_reg
  uint8_t reserved[3]{};  // 0

  static constexpr RdmaSqReg Decode(const uint8_t* bytes) {
    RdmaSqReg result;
    result.virt_addr = static_cast<uint64_t>(detail::GetLittle<0, 64>(bytes));
    result.key = static_cast<uint32_t>(detail::GetLittle<64, 32>(bytes));
    result.page_shift = static_cast<uint8_t>(detail::GetLittle<96, 8>(bytes));
    for (size_t i = 0; i < 3; ++i) result.reserved[i] = static_cast<uint8_t>(detail::GetLittle<0, 8>(bytes + 13 + i * 1));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 64>(bytes, static_cast<uint64_t>(virt_addr));
    detail::PutLittle<64, 32>(bytes, static_cast<uint64_t>(key));
    detail::PutLittle<96, 8>(bytes, static_cast<uint64_t>(page_shift));
    for (size_t i = 0; i < 3; ++i) detail::PutLittle<0, 8>(bytes + 13 + i * 1, reserved[i]);
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("virt_addr", self.virt_addr, 64);
    f("key", self.key, 32);
    f("page_shift", self.page_shift, 8);
    for (size_t i = 0; i < 3; ++i) f("reserved", self.reserved[i], 8);
  }

  friend constexpr bool operator==(const RdmaSqReg&, const RdmaSqReg&) = default;
};

// Element of an extensible send work request, in the place of rdma_sq_atomic: length and rights of a bind_mw or reg_mr. [docs/decisions/0032] (roce.toml)
// Little-endian, 16 bytes. Only in the vireo profile.
struct RdmaSqBindRange {
  static constexpr size_t kBytes = 16;
  static constexpr size_t kLengthOffset = 0;
  static constexpr size_t kAccessFlagsOffset = 8;
  uint64_t length{};  // As in rdma_sq_req_bind
  uint32_t access_flags{};  // As in rdma_sq_req_bind; flags: IbAccessFlags
  uint32_t reserved{};  // 0

  static constexpr RdmaSqBindRange Decode(const uint8_t* bytes) {
    RdmaSqBindRange result;
    result.length = static_cast<uint64_t>(detail::GetLittle<0, 64>(bytes));
    result.access_flags = static_cast<uint32_t>(detail::GetLittle<64, 32>(bytes));
    result.reserved = static_cast<uint32_t>(detail::GetLittle<96, 32>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 64>(bytes, static_cast<uint64_t>(length));
    detail::PutLittle<64, 32>(bytes, static_cast<uint64_t>(access_flags));
    detail::PutLittle<96, 32>(bytes, static_cast<uint64_t>(reserved));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("length", self.length, 64);
    f("access_flags", self.access_flags, 32);
    f("reserved", self.reserved, 32);
  }

  friend constexpr bool operator==(const RdmaSqBindRange&, const RdmaSqBindRange&) = default;
};

// Receive work request: one device-readable descriptor, which is returned as used, length 0 and in order, before its CQE. Data fills the elements in order; for UD it starts after rdma_ud_grh_bytes. [RFC v2, RoCE Support] (roce.toml)
// Little-endian, 24 bytes. Followed by sg_list[]: RdmaSge.
struct RdmaRqReq {
  static constexpr size_t kBytes = 24;
  static constexpr size_t kWrIdOffset = 0;
  static constexpr size_t kNumSgeOffset = 8;
  uint64_t wr_id{};  // Returned in the CQE
  uint32_t num_sge{};  // Elements of sg_list
  uint32_t reserved[3]{};  // 0

  static constexpr RdmaRqReq Decode(const uint8_t* bytes) {
    RdmaRqReq result;
    result.wr_id = static_cast<uint64_t>(detail::GetLittle<0, 64>(bytes));
    result.num_sge = static_cast<uint32_t>(detail::GetLittle<64, 32>(bytes));
    for (size_t i = 0; i < 3; ++i) result.reserved[i] = static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes + 12 + i * 4));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 64>(bytes, static_cast<uint64_t>(wr_id));
    detail::PutLittle<64, 32>(bytes, static_cast<uint64_t>(num_sge));
    for (size_t i = 0; i < 3; ++i) detail::PutLittle<0, 32>(bytes + 12 + i * 4, reserved[i]);
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("wr_id", self.wr_id, 64);
    f("num_sge", self.num_sge, 32);
    for (size_t i = 0; i < 3; ++i) f("reserved", self.reserved[i], 32);
  }

  friend constexpr bool operator==(const RdmaRqReq&, const RdmaRqReq&) = default;
};

// Completion: written to a device-writable buffer of at least this size, used length 48. On error only wr_id, status, vendor_err and qp_num are valid, as in verbs. [RFC v2, RoCE Support] (roce.toml)
// Little-endian, 48 bytes.
struct RdmaCqReq {
  static constexpr size_t kBytes = 48;
  static constexpr size_t kWrIdOffset = 0;
  static constexpr size_t kStatusOffset = 8;
  static constexpr size_t kOpcodeOffset = 9;
  static constexpr size_t kVendorErrOffset = 12;
  static constexpr size_t kByteLenOffset = 16;
  static constexpr size_t kImmDataOffset = 20;
  static constexpr size_t kQpNumOffset = 24;
  static constexpr size_t kSrcQpOffset = 28;
  static constexpr size_t kWcFlagsOffset = 32;
  uint64_t wr_id{};  // Of the work request
  IbWcStatus status{};  // Completion status
  IbWcOpcode opcode{};  // Operation
  uint16_t reserved{};  // 0
  uint32_t vendor_err{};  // Diagnostic detail: an rdma_error or an AETH syndrome; else 0
  uint32_t byte_len{};  // Bytes received (UD: with the GRH); for RDMA READ and atomic operations bytes read; else 0
  uint8_t imm_data[4]{};  // As received, in network order: immediate data if with_imm, the key if with_inv
  uint32_t qp_num{};  // Local QP
  uint32_t src_qp{};  // Sender's QP number (UD receive)
  uint32_t wc_flags{};  // Valid fields; flags: IbWcFlags
  uint32_t reserved1[3]{};  // 0

  static constexpr RdmaCqReq Decode(const uint8_t* bytes) {
    RdmaCqReq result;
    result.wr_id = static_cast<uint64_t>(detail::GetLittle<0, 64>(bytes));
    result.status = static_cast<IbWcStatus>(detail::GetLittle<64, 8>(bytes));
    result.opcode = static_cast<IbWcOpcode>(detail::GetLittle<72, 8>(bytes));
    result.reserved = static_cast<uint16_t>(detail::GetLittle<80, 16>(bytes));
    result.vendor_err = static_cast<uint32_t>(detail::GetLittle<96, 32>(bytes));
    result.byte_len = static_cast<uint32_t>(detail::GetLittle<128, 32>(bytes));
    for (size_t i = 0; i < 4; ++i) result.imm_data[i] = static_cast<uint8_t>(detail::GetLittle<0, 8>(bytes + 20 + i * 1));
    result.qp_num = static_cast<uint32_t>(detail::GetLittle<192, 32>(bytes));
    result.src_qp = static_cast<uint32_t>(detail::GetLittle<224, 32>(bytes));
    result.wc_flags = static_cast<uint32_t>(detail::GetLittle<256, 32>(bytes));
    for (size_t i = 0; i < 3; ++i) result.reserved1[i] = static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes + 36 + i * 4));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 64>(bytes, static_cast<uint64_t>(wr_id));
    detail::PutLittle<64, 8>(bytes, static_cast<uint64_t>(status));
    detail::PutLittle<72, 8>(bytes, static_cast<uint64_t>(opcode));
    detail::PutLittle<80, 16>(bytes, static_cast<uint64_t>(reserved));
    detail::PutLittle<96, 32>(bytes, static_cast<uint64_t>(vendor_err));
    detail::PutLittle<128, 32>(bytes, static_cast<uint64_t>(byte_len));
    for (size_t i = 0; i < 4; ++i) detail::PutLittle<0, 8>(bytes + 20 + i * 1, imm_data[i]);
    detail::PutLittle<192, 32>(bytes, static_cast<uint64_t>(qp_num));
    detail::PutLittle<224, 32>(bytes, static_cast<uint64_t>(src_qp));
    detail::PutLittle<256, 32>(bytes, static_cast<uint64_t>(wc_flags));
    for (size_t i = 0; i < 3; ++i) detail::PutLittle<0, 32>(bytes + 36 + i * 4, reserved1[i]);
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("wr_id", self.wr_id, 64);
    f("status", self.status, 8);
    f("opcode", self.opcode, 8);
    f("reserved", self.reserved, 16);
    f("vendor_err", self.vendor_err, 32);
    f("byte_len", self.byte_len, 32);
    for (size_t i = 0; i < 4; ++i) f("imm_data", self.imm_data[i], 8);
    f("qp_num", self.qp_num, 32);
    f("src_qp", self.src_qp, 32);
    f("wc_flags", self.wc_flags, 32);
    for (size_t i = 0; i < 3; ++i) f("reserved1", self.reserved1[i], 32);
  }

  friend constexpr bool operator==(const RdmaCqReq&, const RdmaCqReq&) = default;
};

// Base of a completion with elements: the fields of an rdma_cq_req, where that has them. The used length is that of base and elements; the buffer must have room for all that the CQ was created with. A reader takes what it knows: base_bytes tells where the elements begin, and those of a later version come behind the others. [docs/decisions/0039] (roce.toml)
// Little-endian, 40 bytes. Only in the vireo profile.
struct RdmaCqBase {
  static constexpr size_t kBytes = 40;
  static constexpr size_t kWrIdOffset = 0;
  static constexpr size_t kStatusOffset = 8;
  static constexpr size_t kOpcodeOffset = 9;
  static constexpr size_t kVersionOffset = 10;
  static constexpr size_t kBaseBytesOffset = 11;
  static constexpr size_t kVendorErrOffset = 12;
  static constexpr size_t kByteLenOffset = 16;
  static constexpr size_t kImmDataOffset = 20;
  static constexpr size_t kQpNumOffset = 24;
  static constexpr size_t kSrcQpOffset = 28;
  static constexpr size_t kWcFlagsOffset = 32;
  static constexpr size_t kElementsOffset = 36;
  uint64_t wr_id{};  // As in rdma_cq_req
  IbWcStatus status{};  // As in rdma_cq_req
  IbWcOpcode opcode{};  // As in rdma_cq_req
  uint8_t version{};  // rdma_cq_version or later, which has all of an earlier one; 0: this is an rdma_cq_req
  uint8_t base_bytes{};  // Length of the base: 40, in a later version perhaps more
  uint32_t vendor_err{};  // As in rdma_cq_req
  uint32_t byte_len{};  // As in rdma_cq_req
  uint8_t imm_data[4]{};  // As in rdma_cq_req
  uint32_t qp_num{};  // As in rdma_cq_req
  uint32_t src_qp{};  // As in rdma_cq_req
  uint32_t wc_flags{};  // As in rdma_cq_req; flags: IbWcFlags
  uint32_t elements{};  // Those that follow; flags: RdmaCqElement

  static constexpr RdmaCqBase Decode(const uint8_t* bytes) {
    RdmaCqBase result;
    result.wr_id = static_cast<uint64_t>(detail::GetLittle<0, 64>(bytes));
    result.status = static_cast<IbWcStatus>(detail::GetLittle<64, 8>(bytes));
    result.opcode = static_cast<IbWcOpcode>(detail::GetLittle<72, 8>(bytes));
    result.version = static_cast<uint8_t>(detail::GetLittle<80, 8>(bytes));
    result.base_bytes = static_cast<uint8_t>(detail::GetLittle<88, 8>(bytes));
    result.vendor_err = static_cast<uint32_t>(detail::GetLittle<96, 32>(bytes));
    result.byte_len = static_cast<uint32_t>(detail::GetLittle<128, 32>(bytes));
    for (size_t i = 0; i < 4; ++i) result.imm_data[i] = static_cast<uint8_t>(detail::GetLittle<0, 8>(bytes + 20 + i * 1));
    result.qp_num = static_cast<uint32_t>(detail::GetLittle<192, 32>(bytes));
    result.src_qp = static_cast<uint32_t>(detail::GetLittle<224, 32>(bytes));
    result.wc_flags = static_cast<uint32_t>(detail::GetLittle<256, 32>(bytes));
    result.elements = static_cast<uint32_t>(detail::GetLittle<288, 32>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 64>(bytes, static_cast<uint64_t>(wr_id));
    detail::PutLittle<64, 8>(bytes, static_cast<uint64_t>(status));
    detail::PutLittle<72, 8>(bytes, static_cast<uint64_t>(opcode));
    detail::PutLittle<80, 8>(bytes, static_cast<uint64_t>(version));
    detail::PutLittle<88, 8>(bytes, static_cast<uint64_t>(base_bytes));
    detail::PutLittle<96, 32>(bytes, static_cast<uint64_t>(vendor_err));
    detail::PutLittle<128, 32>(bytes, static_cast<uint64_t>(byte_len));
    for (size_t i = 0; i < 4; ++i) detail::PutLittle<0, 8>(bytes + 20 + i * 1, imm_data[i]);
    detail::PutLittle<192, 32>(bytes, static_cast<uint64_t>(qp_num));
    detail::PutLittle<224, 32>(bytes, static_cast<uint64_t>(src_qp));
    detail::PutLittle<256, 32>(bytes, static_cast<uint64_t>(wc_flags));
    detail::PutLittle<288, 32>(bytes, static_cast<uint64_t>(elements));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("wr_id", self.wr_id, 64);
    f("status", self.status, 8);
    f("opcode", self.opcode, 8);
    f("version", self.version, 8);
    f("base_bytes", self.base_bytes, 8);
    f("vendor_err", self.vendor_err, 32);
    f("byte_len", self.byte_len, 32);
    for (size_t i = 0; i < 4; ++i) f("imm_data", self.imm_data[i], 8);
    f("qp_num", self.qp_num, 32);
    f("src_qp", self.src_qp, 32);
    f("wc_flags", self.wc_flags, 32);
    f("elements", self.elements, 32);
  }

  friend constexpr bool operator==(const RdmaCqBase&, const RdmaCqBase&) = default;
};

// Element of a completion: when the device wrote it. Later than that of the completion before it in the same CQ. [docs/decisions/0039] (roce.toml)
// Little-endian, 8 bytes. Only in the vireo profile.
struct RdmaCqTimestamp {
  static constexpr size_t kBytes = 8;
  static constexpr size_t kTimeNsOffset = 0;
  uint64_t time_ns{};  // As of query_clock

  static constexpr RdmaCqTimestamp Decode(const uint8_t* bytes) {
    RdmaCqTimestamp result;
    result.time_ns = static_cast<uint64_t>(detail::GetLittle<0, 64>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 64>(bytes, static_cast<uint64_t>(time_ns));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("time_ns", self.time_ns, 64);
  }
  static constexpr RdmaCqTimestamp FromWord(uint64_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 64>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint64_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint64_t>(detail::GetLittle<0, 64>(bytes));
  }

  friend constexpr bool operator==(const RdmaCqTimestamp&, const RdmaCqTimestamp&) = default;
};

// A virtqueue, by its index. Second group: what common configuration set, and the positions in the ring. (tables.toml)
// Little-endian, 64 bytes.
struct TableVirtqueue {
  static constexpr size_t kBytes = 64;
  static constexpr size_t kKindOffset = 0;
  static constexpr size_t kLimitOffset = 2;
  static constexpr size_t kOwnerOffset = 4;
  static constexpr size_t kCoalMaxPacketsOffset = 8;
  static constexpr size_t kCoalMaxUsecsOffset = 12;
  static constexpr size_t kGuestOffloadsOffset = 16;
  static constexpr size_t kQueueSizeOffset = 26;
  static constexpr size_t kMsixVectorOffset = 28;
  static constexpr size_t kNextAvailOffset = 30;
  static constexpr size_t kNextUsedOffset = 32;
  static constexpr size_t kQueueDescOffset = 40;
  static constexpr size_t kQueueDriverOffset = 48;
  static constexpr size_t kQueueDeviceOffset = 56;
  TableQueueKind kind{};  // Owner kind
  bool stopped{};  // 1: the engine accesses neither ring nor buffers; cleared by a queue reset
  bool reset_positions{};  // 1 in a write: next_avail and next_used become 0, the wrap counters 1
  uint8_t reserved{};  // 0
  uint16_t limit{};  // Maximum WRs or CQEs that the owner requested; 0: no limit
  uint32_t owner{};  // By kind
  uint8_t reserved1{};  // 0
  uint32_t coal_max_packets{};  // Net queues: net_ctrl_coal.max_packets
  uint32_t coal_max_usecs{};  // Net queues: net_ctrl_coal.max_usecs
  uint64_t guest_offloads{};  // Net receive queues: offloads that are on; flags: NetGuestOffloads
  bool enabled{};  // queue_enable, and not in reset
  bool failed{};  // The engine stopped it (vq_err)
  bool avail_wrap{};  // Packed: wrap counter at next_avail
  bool used_wrap{};  // Packed: wrap counter at next_used
  uint8_t reserved2{};  // 0
  uint8_t reserved3{};  // 0
  uint16_t queue_size{};  // As in common configuration
  uint16_t msix_vector{};  // As in common configuration
  uint16_t next_avail{};  // Next entry to fetch
  uint16_t next_used{};  // Next entry to use
  uint16_t reserved4{};  // 0
  uint32_t reserved5{};  // 0
  uint64_t queue_desc{};  // As in common configuration
  uint64_t queue_driver{};  // As in common configuration
  uint64_t queue_device{};  // As in common configuration

  static constexpr TableVirtqueue Decode(const uint8_t* bytes) {
    TableVirtqueue result;
    result.kind = static_cast<TableQueueKind>(detail::GetLittle<0, 8>(bytes));
    result.stopped = static_cast<bool>(detail::GetLittle<8, 1>(bytes));
    result.reset_positions = static_cast<bool>(detail::GetLittle<9, 1>(bytes));
    result.reserved = static_cast<uint8_t>(detail::GetLittle<10, 6>(bytes));
    result.limit = static_cast<uint16_t>(detail::GetLittle<16, 16>(bytes));
    result.owner = static_cast<uint32_t>(detail::GetLittle<32, 24>(bytes));
    result.reserved1 = static_cast<uint8_t>(detail::GetLittle<56, 8>(bytes));
    result.coal_max_packets = static_cast<uint32_t>(detail::GetLittle<64, 32>(bytes));
    result.coal_max_usecs = static_cast<uint32_t>(detail::GetLittle<96, 32>(bytes));
    result.guest_offloads = static_cast<uint64_t>(detail::GetLittle<128, 64>(bytes));
    result.enabled = static_cast<bool>(detail::GetLittle<192, 1>(bytes));
    result.failed = static_cast<bool>(detail::GetLittle<193, 1>(bytes));
    result.avail_wrap = static_cast<bool>(detail::GetLittle<194, 1>(bytes));
    result.used_wrap = static_cast<bool>(detail::GetLittle<195, 1>(bytes));
    result.reserved2 = static_cast<uint8_t>(detail::GetLittle<196, 4>(bytes));
    result.reserved3 = static_cast<uint8_t>(detail::GetLittle<200, 8>(bytes));
    result.queue_size = static_cast<uint16_t>(detail::GetLittle<208, 16>(bytes));
    result.msix_vector = static_cast<uint16_t>(detail::GetLittle<224, 16>(bytes));
    result.next_avail = static_cast<uint16_t>(detail::GetLittle<240, 16>(bytes));
    result.next_used = static_cast<uint16_t>(detail::GetLittle<256, 16>(bytes));
    result.reserved4 = static_cast<uint16_t>(detail::GetLittle<272, 16>(bytes));
    result.reserved5 = static_cast<uint32_t>(detail::GetLittle<288, 32>(bytes));
    result.queue_desc = static_cast<uint64_t>(detail::GetLittle<320, 64>(bytes));
    result.queue_driver = static_cast<uint64_t>(detail::GetLittle<384, 64>(bytes));
    result.queue_device = static_cast<uint64_t>(detail::GetLittle<448, 64>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 8>(bytes, static_cast<uint64_t>(kind));
    detail::PutLittle<8, 1>(bytes, static_cast<uint64_t>(stopped));
    detail::PutLittle<9, 1>(bytes, static_cast<uint64_t>(reset_positions));
    detail::PutLittle<10, 6>(bytes, static_cast<uint64_t>(reserved));
    detail::PutLittle<16, 16>(bytes, static_cast<uint64_t>(limit));
    detail::PutLittle<32, 24>(bytes, static_cast<uint64_t>(owner));
    detail::PutLittle<56, 8>(bytes, static_cast<uint64_t>(reserved1));
    detail::PutLittle<64, 32>(bytes, static_cast<uint64_t>(coal_max_packets));
    detail::PutLittle<96, 32>(bytes, static_cast<uint64_t>(coal_max_usecs));
    detail::PutLittle<128, 64>(bytes, static_cast<uint64_t>(guest_offloads));
    detail::PutLittle<192, 1>(bytes, static_cast<uint64_t>(enabled));
    detail::PutLittle<193, 1>(bytes, static_cast<uint64_t>(failed));
    detail::PutLittle<194, 1>(bytes, static_cast<uint64_t>(avail_wrap));
    detail::PutLittle<195, 1>(bytes, static_cast<uint64_t>(used_wrap));
    detail::PutLittle<196, 4>(bytes, static_cast<uint64_t>(reserved2));
    detail::PutLittle<200, 8>(bytes, static_cast<uint64_t>(reserved3));
    detail::PutLittle<208, 16>(bytes, static_cast<uint64_t>(queue_size));
    detail::PutLittle<224, 16>(bytes, static_cast<uint64_t>(msix_vector));
    detail::PutLittle<240, 16>(bytes, static_cast<uint64_t>(next_avail));
    detail::PutLittle<256, 16>(bytes, static_cast<uint64_t>(next_used));
    detail::PutLittle<272, 16>(bytes, static_cast<uint64_t>(reserved4));
    detail::PutLittle<288, 32>(bytes, static_cast<uint64_t>(reserved5));
    detail::PutLittle<320, 64>(bytes, static_cast<uint64_t>(queue_desc));
    detail::PutLittle<384, 64>(bytes, static_cast<uint64_t>(queue_driver));
    detail::PutLittle<448, 64>(bytes, static_cast<uint64_t>(queue_device));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("kind", self.kind, 8);
    f("stopped", self.stopped, 1);
    f("reset_positions", self.reset_positions, 1);
    f("reserved", self.reserved, 6);
    f("limit", self.limit, 16);
    f("owner", self.owner, 24);
    f("reserved1", self.reserved1, 8);
    f("coal_max_packets", self.coal_max_packets, 32);
    f("coal_max_usecs", self.coal_max_usecs, 32);
    f("guest_offloads", self.guest_offloads, 64);
    f("enabled", self.enabled, 1);
    f("failed", self.failed, 1);
    f("avail_wrap", self.avail_wrap, 1);
    f("used_wrap", self.used_wrap, 1);
    f("reserved2", self.reserved2, 4);
    f("reserved3", self.reserved3, 8);
    f("queue_size", self.queue_size, 16);
    f("msix_vector", self.msix_vector, 16);
    f("next_avail", self.next_avail, 16);
    f("next_used", self.next_used, 16);
    f("reserved4", self.reserved4, 16);
    f("reserved5", self.reserved5, 32);
    f("queue_desc", self.queue_desc, 64);
    f("queue_driver", self.queue_driver, 64);
    f("queue_device", self.queue_device, 64);
  }

  friend constexpr bool operator==(const TableVirtqueue&, const TableVirtqueue&) = default;
};

// Address window of the virtqueue of this index (rdma_cmd_set_window). A reset of queue or device clears it. (tables.toml)
// Little-endian, 24 bytes.
struct TableWindow {
  static constexpr size_t kBytes = 24;
  static constexpr size_t kBaseOffset = 8;
  static constexpr size_t kLastOffset = 16;
  bool enable{};  // 0: the whole address space
  uint8_t reserved{};  // 0
  uint8_t reserved1[7]{};  // 0
  uint64_t base{};  // First address inside
  uint64_t last{};  // Last address inside: base + length - 1

  static constexpr TableWindow Decode(const uint8_t* bytes) {
    TableWindow result;
    result.enable = static_cast<bool>(detail::GetLittle<0, 1>(bytes));
    result.reserved = static_cast<uint8_t>(detail::GetLittle<1, 7>(bytes));
    for (size_t i = 0; i < 7; ++i) result.reserved1[i] = static_cast<uint8_t>(detail::GetLittle<0, 8>(bytes + 1 + i * 1));
    result.base = static_cast<uint64_t>(detail::GetLittle<64, 64>(bytes));
    result.last = static_cast<uint64_t>(detail::GetLittle<128, 64>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 1>(bytes, static_cast<uint64_t>(enable));
    detail::PutLittle<1, 7>(bytes, static_cast<uint64_t>(reserved));
    for (size_t i = 0; i < 7; ++i) detail::PutLittle<0, 8>(bytes + 1 + i * 1, reserved1[i]);
    detail::PutLittle<64, 64>(bytes, static_cast<uint64_t>(base));
    detail::PutLittle<128, 64>(bytes, static_cast<uint64_t>(last));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("enable", self.enable, 1);
    f("reserved", self.reserved, 7);
    for (size_t i = 0; i < 7; ++i) f("reserved1", self.reserved1[i], 8);
    f("base", self.base, 64);
    f("last", self.last, 64);
  }

  friend constexpr bool operator==(const TableWindow&, const TableWindow&) = default;
};

// Path to a peer, fully resolved. GIDs in network order; IPv4 as ::ffff:a.b.c.d. (tables.toml)
// Little-endian, 48 bytes.
struct TablePath {
  static constexpr size_t kBytes = 48;
  static constexpr size_t kDgidOffset = 0;
  static constexpr size_t kSgidOffset = 16;
  static constexpr size_t kDmacOffset = 32;
  static constexpr size_t kVlanOffset = 38;
  static constexpr size_t kTrafficClassOffset = 43;
  static constexpr size_t kHopLimitOffset = 44;
  static constexpr size_t kSgidIndexOffset = 45;
  uint8_t dgid[16]{};  // Destination
  uint8_t sgid[16]{};  // Source: copy of the GID table's entry
  uint8_t dmac[6]{};  // Destination MAC address; the source is the device's own
  uint16_t vlan{};  // Tag control information: copy of the GID table's entry
  uint32_t flow_label{};  // IPv6 flow label
  bool ipv4{};  // 1: IPv4 goes on the wire
  bool vlan_present{};  // 1: packets carry the tag `vlan`
  uint8_t reserved{};  // 0
  uint8_t traffic_class{};  // Traffic class or TOS
  uint8_t hop_limit{};  // Hop limit or TTL
  uint8_t sgid_index{};  // For query_qp only: GID table entry of sgid and vlan
  uint16_t reserved1{};  // 0

  static constexpr TablePath Decode(const uint8_t* bytes) {
    TablePath result;
    for (size_t i = 0; i < 16; ++i) result.dgid[i] = static_cast<uint8_t>(detail::GetLittle<0, 8>(bytes + 0 + i * 1));
    for (size_t i = 0; i < 16; ++i) result.sgid[i] = static_cast<uint8_t>(detail::GetLittle<0, 8>(bytes + 16 + i * 1));
    for (size_t i = 0; i < 6; ++i) result.dmac[i] = static_cast<uint8_t>(detail::GetLittle<0, 8>(bytes + 32 + i * 1));
    result.vlan = static_cast<uint16_t>(detail::GetLittle<304, 16>(bytes));
    result.flow_label = static_cast<uint32_t>(detail::GetLittle<320, 20>(bytes));
    result.ipv4 = static_cast<bool>(detail::GetLittle<340, 1>(bytes));
    result.vlan_present = static_cast<bool>(detail::GetLittle<341, 1>(bytes));
    result.reserved = static_cast<uint8_t>(detail::GetLittle<342, 2>(bytes));
    result.traffic_class = static_cast<uint8_t>(detail::GetLittle<344, 8>(bytes));
    result.hop_limit = static_cast<uint8_t>(detail::GetLittle<352, 8>(bytes));
    result.sgid_index = static_cast<uint8_t>(detail::GetLittle<360, 8>(bytes));
    result.reserved1 = static_cast<uint16_t>(detail::GetLittle<368, 16>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    for (size_t i = 0; i < 16; ++i) detail::PutLittle<0, 8>(bytes + 0 + i * 1, dgid[i]);
    for (size_t i = 0; i < 16; ++i) detail::PutLittle<0, 8>(bytes + 16 + i * 1, sgid[i]);
    for (size_t i = 0; i < 6; ++i) detail::PutLittle<0, 8>(bytes + 32 + i * 1, dmac[i]);
    detail::PutLittle<304, 16>(bytes, static_cast<uint64_t>(vlan));
    detail::PutLittle<320, 20>(bytes, static_cast<uint64_t>(flow_label));
    detail::PutLittle<340, 1>(bytes, static_cast<uint64_t>(ipv4));
    detail::PutLittle<341, 1>(bytes, static_cast<uint64_t>(vlan_present));
    detail::PutLittle<342, 2>(bytes, static_cast<uint64_t>(reserved));
    detail::PutLittle<344, 8>(bytes, static_cast<uint64_t>(traffic_class));
    detail::PutLittle<352, 8>(bytes, static_cast<uint64_t>(hop_limit));
    detail::PutLittle<360, 8>(bytes, static_cast<uint64_t>(sgid_index));
    detail::PutLittle<368, 16>(bytes, static_cast<uint64_t>(reserved1));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    for (size_t i = 0; i < 16; ++i) f("dgid", self.dgid[i], 8);
    for (size_t i = 0; i < 16; ++i) f("sgid", self.sgid[i], 8);
    for (size_t i = 0; i < 6; ++i) f("dmac", self.dmac[i], 8);
    f("vlan", self.vlan, 16);
    f("flow_label", self.flow_label, 20);
    f("ipv4", self.ipv4, 1);
    f("vlan_present", self.vlan_present, 1);
    f("reserved", self.reserved, 2);
    f("traffic_class", self.traffic_class, 8);
    f("hop_limit", self.hop_limit, 8);
    f("sgid_index", self.sgid_index, 8);
    f("reserved1", self.reserved1, 16);
  }

  friend constexpr bool operator==(const TablePath&, const TablePath&) = default;
};

// A QP, by its number. First group: attributes, second: transport state (state of the message in progress is not visible to firmware). State: firmware writes the requested state and then starts the qp_operation that makes it the engine's state: start takes it over, drain moves RTS to SQD at once, flush any state to ERR, stop any state to RESET and clears the second group. Once the engine's state is ERR only stop changes it: a command in flight never overwrites an error that the engine detected. A drain may never end (rnr_retry 7): another operation may be written meanwhile, then the end of the drain is not reported, but the QP stays in SQD; a new drain reports it. (tables.toml)
// Little-endian, 128 bytes.
struct TableQpContext {
  static constexpr size_t kBytes = 128;
  static constexpr size_t kStateOffset = 0;
  static constexpr size_t kQpTypeOffset = 1;
  static constexpr size_t kPathMtuOffset = 2;
  static constexpr size_t kMaxRdAtomicOffset = 4;
  static constexpr size_t kMaxDestRdAtomicOffset = 5;
  static constexpr size_t kPdnOffset = 8;
  static constexpr size_t kSendCqnOffset = 10;
  static constexpr size_t kRecvCqnOffset = 12;
  static constexpr size_t kMaxInlineDataOffset = 14;
  static constexpr size_t kQkeyOffset = 16;
  static constexpr size_t kDestQpnOffset = 20;
  static constexpr size_t kMaxSendSgeOffset = 23;
  static constexpr size_t kMaxSendWrOffset = 24;
  static constexpr size_t kMaxRecvWrOffset = 26;
  static constexpr size_t kMaxRecvSgeOffset = 28;
  static constexpr size_t kSrqOffset = 29;
  static constexpr size_t kPathOffset = 32;
  static constexpr size_t kEngineStateOffset = 80;
  static constexpr size_t kSendOutstandingOffset = 82;
  static constexpr size_t kNextPsnOffset = 84;
  static constexpr size_t kUnackedPsnOffset = 88;
  static constexpr size_t kReadsOutstandingOffset = 91;
  static constexpr size_t kMessagesSentOffset = 92;
  static constexpr size_t kCreditLimitOffset = 96;
  static constexpr size_t kDeadlineNsOffset = 100;
  static constexpr size_t kExpectedPsnOffset = 108;
  static constexpr size_t kReadsHeldOffset = 111;
  static constexpr size_t kMsnOffset = 112;
  IbQpState state{};  // State that firmware requests
  IbQpType qp_type{};  // Transport service
  IbMtu path_mtu{};  // RC, UC: as modified; UD: what the link carries
  bool valid{};  // The QP exists
  bool sq_sig_all{};  // Every send WR completes with a CQE
  bool load_requester{};  // 1 in a write: the requester's fields below are taken over
  bool load_responder{};  // 1 in a write: the responder's fields below are taken over
  bool remote_write{};  // The peer may write
  bool remote_read{};  // The peer may read
  bool local_write{};  // Kept for query_qp
  bool remote_atomic{};  // The peer may execute atomic operations
  uint8_t max_rd_atomic{};  // RDMA READs and atomic operations outstanding as requester
  uint8_t max_dest_rd_atomic{};  // RDMA READs and atomic operations held as responder
  uint8_t min_rnr_timer{};  // Index into rnr_timer_ns
  uint8_t retry_cnt{};  // Retries after a timeout or sequence NAK
  uint8_t timeout{};  // local_ack_timeout_unit_ns times 2^n; 0: never
  uint8_t rnr_retry{};  // Retries after RNR NAK; 7: without end
  uint16_t pdn{};  // Protection domain
  uint16_t send_cqn{};  // CQ of send WRs
  uint16_t recv_cqn{};  // CQ of receive WRs
  uint16_t max_inline_data{};  // Inline bytes per send WR
  uint32_t qkey{};  // Q_Key
  uint32_t dest_qpn{};  // Peer's QP number
  uint8_t max_send_sge{};  // Elements per send WR
  uint16_t max_send_wr{};  // Outstanding send WRs
  uint16_t max_recv_wr{};  // Outstanding receive WRs
  uint8_t max_recv_sge{};  // Elements per receive WR
  uint16_t srq{};  // With has_srq: number of the shared receive queue; with is_srq and limit_armed: the limit event is due when as many receives were taken, modulo 2^16
  bool has_srq{};  // The QP takes receives from a shared receive queue, not from its own
  bool is_srq{};  // No QP: its receive queue is a shared one. `valid` is 0
  bool limit_armed{};  // With is_srq: 1 in a write arms the limit event, 0 disarms it; a stop disarms it, too
  bool flush_global{};  // The peer may FLUSH for global visibility
  bool flush_persistent{};  // The peer may FLUSH for persistence
  uint8_t reserved1{};  // 0
  TablePath path{};  // RC, UC: path to the peer
  IbQpState engine_state{};  // State in force
  uint8_t reserved2{};  // 0
  uint16_t send_outstanding{};  // Send WRs fetched and not complete
  uint32_t next_psn{};  // Requester: PSN of the next new packet
  uint8_t retries_left{};  // Requester: of retry_cnt
  uint8_t rnr_retries_left{};  // Requester: of rnr_retry
  bool timer_running{};  // Requester: deadline_ns is valid
  bool timer_is_rnr{};  // Requester: deadline ends the RNR NAK wait instead of the acknowledge timeout
  uint32_t unacked_psn{};  // Requester: oldest PSN without an acknowledge
  uint8_t reads_outstanding{};  // Requester: of max_rd_atomic
  uint32_t messages_sent{};  // Requester: message sequence number of the last message started
  uint8_t reserved3{};  // 0
  uint32_t credit_limit{};  // Requester: message sequence number up to which the peer has receives
  uint8_t reserved4{};  // 0
  uint64_t deadline_ns{};  // Requester: device time at which the timer expires
  uint32_t expected_psn{};  // Responder: next PSN
  uint8_t reads_held{};  // Responder: of max_dest_rd_atomic
  uint32_t msn{};  // Responder: messages completed
  bool in_message{};  // Responder: between the first and the last packet of a message
  bool receive_taken{};  // Responder: the message holds a receive WQE
  bool nak_sent{};  // Responder: a sequence NAK was sent and the expected packet has not arrived
  bool ack_due{};  // Responder: an acknowledge is held back to be coalesced
  bool communication_established{};  // Responder: comm_est was sent
  uint8_t reserved5{};  // 0
  uint32_t reserved6[3]{};  // 0

  static constexpr TableQpContext Decode(const uint8_t* bytes) {
    TableQpContext result;
    result.state = static_cast<IbQpState>(detail::GetLittle<0, 8>(bytes));
    result.qp_type = static_cast<IbQpType>(detail::GetLittle<8, 8>(bytes));
    result.path_mtu = static_cast<IbMtu>(detail::GetLittle<16, 8>(bytes));
    result.valid = static_cast<bool>(detail::GetLittle<24, 1>(bytes));
    result.sq_sig_all = static_cast<bool>(detail::GetLittle<25, 1>(bytes));
    result.load_requester = static_cast<bool>(detail::GetLittle<26, 1>(bytes));
    result.load_responder = static_cast<bool>(detail::GetLittle<27, 1>(bytes));
    result.remote_write = static_cast<bool>(detail::GetLittle<28, 1>(bytes));
    result.remote_read = static_cast<bool>(detail::GetLittle<29, 1>(bytes));
    result.local_write = static_cast<bool>(detail::GetLittle<30, 1>(bytes));
    result.remote_atomic = static_cast<bool>(detail::GetLittle<31, 1>(bytes));
    result.max_rd_atomic = static_cast<uint8_t>(detail::GetLittle<32, 8>(bytes));
    result.max_dest_rd_atomic = static_cast<uint8_t>(detail::GetLittle<40, 8>(bytes));
    result.min_rnr_timer = static_cast<uint8_t>(detail::GetLittle<48, 5>(bytes));
    result.retry_cnt = static_cast<uint8_t>(detail::GetLittle<53, 3>(bytes));
    result.timeout = static_cast<uint8_t>(detail::GetLittle<56, 5>(bytes));
    result.rnr_retry = static_cast<uint8_t>(detail::GetLittle<61, 3>(bytes));
    result.pdn = static_cast<uint16_t>(detail::GetLittle<64, 16>(bytes));
    result.send_cqn = static_cast<uint16_t>(detail::GetLittle<80, 16>(bytes));
    result.recv_cqn = static_cast<uint16_t>(detail::GetLittle<96, 16>(bytes));
    result.max_inline_data = static_cast<uint16_t>(detail::GetLittle<112, 16>(bytes));
    result.qkey = static_cast<uint32_t>(detail::GetLittle<128, 32>(bytes));
    result.dest_qpn = static_cast<uint32_t>(detail::GetLittle<160, 24>(bytes));
    result.max_send_sge = static_cast<uint8_t>(detail::GetLittle<184, 8>(bytes));
    result.max_send_wr = static_cast<uint16_t>(detail::GetLittle<192, 16>(bytes));
    result.max_recv_wr = static_cast<uint16_t>(detail::GetLittle<208, 16>(bytes));
    result.max_recv_sge = static_cast<uint8_t>(detail::GetLittle<224, 8>(bytes));
    result.srq = static_cast<uint16_t>(detail::GetLittle<232, 16>(bytes));
    result.has_srq = static_cast<bool>(detail::GetLittle<248, 1>(bytes));
    result.is_srq = static_cast<bool>(detail::GetLittle<249, 1>(bytes));
    result.limit_armed = static_cast<bool>(detail::GetLittle<250, 1>(bytes));
    result.flush_global = static_cast<bool>(detail::GetLittle<251, 1>(bytes));
    result.flush_persistent = static_cast<bool>(detail::GetLittle<252, 1>(bytes));
    result.reserved1 = static_cast<uint8_t>(detail::GetLittle<253, 3>(bytes));
    result.path = TablePath::Decode(bytes + 32);
    result.engine_state = static_cast<IbQpState>(detail::GetLittle<640, 8>(bytes));
    result.reserved2 = static_cast<uint8_t>(detail::GetLittle<648, 8>(bytes));
    result.send_outstanding = static_cast<uint16_t>(detail::GetLittle<656, 16>(bytes));
    result.next_psn = static_cast<uint32_t>(detail::GetLittle<672, 24>(bytes));
    result.retries_left = static_cast<uint8_t>(detail::GetLittle<696, 3>(bytes));
    result.rnr_retries_left = static_cast<uint8_t>(detail::GetLittle<699, 3>(bytes));
    result.timer_running = static_cast<bool>(detail::GetLittle<702, 1>(bytes));
    result.timer_is_rnr = static_cast<bool>(detail::GetLittle<703, 1>(bytes));
    result.unacked_psn = static_cast<uint32_t>(detail::GetLittle<704, 24>(bytes));
    result.reads_outstanding = static_cast<uint8_t>(detail::GetLittle<728, 8>(bytes));
    result.messages_sent = static_cast<uint32_t>(detail::GetLittle<736, 24>(bytes));
    result.reserved3 = static_cast<uint8_t>(detail::GetLittle<760, 8>(bytes));
    result.credit_limit = static_cast<uint32_t>(detail::GetLittle<768, 24>(bytes));
    result.reserved4 = static_cast<uint8_t>(detail::GetLittle<792, 8>(bytes));
    result.deadline_ns = static_cast<uint64_t>(detail::GetLittle<800, 64>(bytes));
    result.expected_psn = static_cast<uint32_t>(detail::GetLittle<864, 24>(bytes));
    result.reads_held = static_cast<uint8_t>(detail::GetLittle<888, 8>(bytes));
    result.msn = static_cast<uint32_t>(detail::GetLittle<896, 24>(bytes));
    result.in_message = static_cast<bool>(detail::GetLittle<920, 1>(bytes));
    result.receive_taken = static_cast<bool>(detail::GetLittle<921, 1>(bytes));
    result.nak_sent = static_cast<bool>(detail::GetLittle<922, 1>(bytes));
    result.ack_due = static_cast<bool>(detail::GetLittle<923, 1>(bytes));
    result.communication_established = static_cast<bool>(detail::GetLittle<924, 1>(bytes));
    result.reserved5 = static_cast<uint8_t>(detail::GetLittle<925, 3>(bytes));
    for (size_t i = 0; i < 3; ++i) result.reserved6[i] = static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes + 116 + i * 4));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 8>(bytes, static_cast<uint64_t>(state));
    detail::PutLittle<8, 8>(bytes, static_cast<uint64_t>(qp_type));
    detail::PutLittle<16, 8>(bytes, static_cast<uint64_t>(path_mtu));
    detail::PutLittle<24, 1>(bytes, static_cast<uint64_t>(valid));
    detail::PutLittle<25, 1>(bytes, static_cast<uint64_t>(sq_sig_all));
    detail::PutLittle<26, 1>(bytes, static_cast<uint64_t>(load_requester));
    detail::PutLittle<27, 1>(bytes, static_cast<uint64_t>(load_responder));
    detail::PutLittle<28, 1>(bytes, static_cast<uint64_t>(remote_write));
    detail::PutLittle<29, 1>(bytes, static_cast<uint64_t>(remote_read));
    detail::PutLittle<30, 1>(bytes, static_cast<uint64_t>(local_write));
    detail::PutLittle<31, 1>(bytes, static_cast<uint64_t>(remote_atomic));
    detail::PutLittle<32, 8>(bytes, static_cast<uint64_t>(max_rd_atomic));
    detail::PutLittle<40, 8>(bytes, static_cast<uint64_t>(max_dest_rd_atomic));
    detail::PutLittle<48, 5>(bytes, static_cast<uint64_t>(min_rnr_timer));
    detail::PutLittle<53, 3>(bytes, static_cast<uint64_t>(retry_cnt));
    detail::PutLittle<56, 5>(bytes, static_cast<uint64_t>(timeout));
    detail::PutLittle<61, 3>(bytes, static_cast<uint64_t>(rnr_retry));
    detail::PutLittle<64, 16>(bytes, static_cast<uint64_t>(pdn));
    detail::PutLittle<80, 16>(bytes, static_cast<uint64_t>(send_cqn));
    detail::PutLittle<96, 16>(bytes, static_cast<uint64_t>(recv_cqn));
    detail::PutLittle<112, 16>(bytes, static_cast<uint64_t>(max_inline_data));
    detail::PutLittle<128, 32>(bytes, static_cast<uint64_t>(qkey));
    detail::PutLittle<160, 24>(bytes, static_cast<uint64_t>(dest_qpn));
    detail::PutLittle<184, 8>(bytes, static_cast<uint64_t>(max_send_sge));
    detail::PutLittle<192, 16>(bytes, static_cast<uint64_t>(max_send_wr));
    detail::PutLittle<208, 16>(bytes, static_cast<uint64_t>(max_recv_wr));
    detail::PutLittle<224, 8>(bytes, static_cast<uint64_t>(max_recv_sge));
    detail::PutLittle<232, 16>(bytes, static_cast<uint64_t>(srq));
    detail::PutLittle<248, 1>(bytes, static_cast<uint64_t>(has_srq));
    detail::PutLittle<249, 1>(bytes, static_cast<uint64_t>(is_srq));
    detail::PutLittle<250, 1>(bytes, static_cast<uint64_t>(limit_armed));
    detail::PutLittle<251, 1>(bytes, static_cast<uint64_t>(flush_global));
    detail::PutLittle<252, 1>(bytes, static_cast<uint64_t>(flush_persistent));
    detail::PutLittle<253, 3>(bytes, static_cast<uint64_t>(reserved1));
    path.Encode(bytes + 32);
    detail::PutLittle<640, 8>(bytes, static_cast<uint64_t>(engine_state));
    detail::PutLittle<648, 8>(bytes, static_cast<uint64_t>(reserved2));
    detail::PutLittle<656, 16>(bytes, static_cast<uint64_t>(send_outstanding));
    detail::PutLittle<672, 24>(bytes, static_cast<uint64_t>(next_psn));
    detail::PutLittle<696, 3>(bytes, static_cast<uint64_t>(retries_left));
    detail::PutLittle<699, 3>(bytes, static_cast<uint64_t>(rnr_retries_left));
    detail::PutLittle<702, 1>(bytes, static_cast<uint64_t>(timer_running));
    detail::PutLittle<703, 1>(bytes, static_cast<uint64_t>(timer_is_rnr));
    detail::PutLittle<704, 24>(bytes, static_cast<uint64_t>(unacked_psn));
    detail::PutLittle<728, 8>(bytes, static_cast<uint64_t>(reads_outstanding));
    detail::PutLittle<736, 24>(bytes, static_cast<uint64_t>(messages_sent));
    detail::PutLittle<760, 8>(bytes, static_cast<uint64_t>(reserved3));
    detail::PutLittle<768, 24>(bytes, static_cast<uint64_t>(credit_limit));
    detail::PutLittle<792, 8>(bytes, static_cast<uint64_t>(reserved4));
    detail::PutLittle<800, 64>(bytes, static_cast<uint64_t>(deadline_ns));
    detail::PutLittle<864, 24>(bytes, static_cast<uint64_t>(expected_psn));
    detail::PutLittle<888, 8>(bytes, static_cast<uint64_t>(reads_held));
    detail::PutLittle<896, 24>(bytes, static_cast<uint64_t>(msn));
    detail::PutLittle<920, 1>(bytes, static_cast<uint64_t>(in_message));
    detail::PutLittle<921, 1>(bytes, static_cast<uint64_t>(receive_taken));
    detail::PutLittle<922, 1>(bytes, static_cast<uint64_t>(nak_sent));
    detail::PutLittle<923, 1>(bytes, static_cast<uint64_t>(ack_due));
    detail::PutLittle<924, 1>(bytes, static_cast<uint64_t>(communication_established));
    detail::PutLittle<925, 3>(bytes, static_cast<uint64_t>(reserved5));
    for (size_t i = 0; i < 3; ++i) detail::PutLittle<0, 32>(bytes + 116 + i * 4, reserved6[i]);
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("state", self.state, 8);
    f("qp_type", self.qp_type, 8);
    f("path_mtu", self.path_mtu, 8);
    f("valid", self.valid, 1);
    f("sq_sig_all", self.sq_sig_all, 1);
    f("load_requester", self.load_requester, 1);
    f("load_responder", self.load_responder, 1);
    f("remote_write", self.remote_write, 1);
    f("remote_read", self.remote_read, 1);
    f("local_write", self.local_write, 1);
    f("remote_atomic", self.remote_atomic, 1);
    f("max_rd_atomic", self.max_rd_atomic, 8);
    f("max_dest_rd_atomic", self.max_dest_rd_atomic, 8);
    f("min_rnr_timer", self.min_rnr_timer, 5);
    f("retry_cnt", self.retry_cnt, 3);
    f("timeout", self.timeout, 5);
    f("rnr_retry", self.rnr_retry, 3);
    f("pdn", self.pdn, 16);
    f("send_cqn", self.send_cqn, 16);
    f("recv_cqn", self.recv_cqn, 16);
    f("max_inline_data", self.max_inline_data, 16);
    f("qkey", self.qkey, 32);
    f("dest_qpn", self.dest_qpn, 24);
    f("max_send_sge", self.max_send_sge, 8);
    f("max_send_wr", self.max_send_wr, 16);
    f("max_recv_wr", self.max_recv_wr, 16);
    f("max_recv_sge", self.max_recv_sge, 8);
    f("srq", self.srq, 16);
    f("has_srq", self.has_srq, 1);
    f("is_srq", self.is_srq, 1);
    f("limit_armed", self.limit_armed, 1);
    f("flush_global", self.flush_global, 1);
    f("flush_persistent", self.flush_persistent, 1);
    f("reserved1", self.reserved1, 3);
    TablePath::Visit(self.path, f);
    f("engine_state", self.engine_state, 8);
    f("reserved2", self.reserved2, 8);
    f("send_outstanding", self.send_outstanding, 16);
    f("next_psn", self.next_psn, 24);
    f("retries_left", self.retries_left, 3);
    f("rnr_retries_left", self.rnr_retries_left, 3);
    f("timer_running", self.timer_running, 1);
    f("timer_is_rnr", self.timer_is_rnr, 1);
    f("unacked_psn", self.unacked_psn, 24);
    f("reads_outstanding", self.reads_outstanding, 8);
    f("messages_sent", self.messages_sent, 24);
    f("reserved3", self.reserved3, 8);
    f("credit_limit", self.credit_limit, 24);
    f("reserved4", self.reserved4, 8);
    f("deadline_ns", self.deadline_ns, 64);
    f("expected_psn", self.expected_psn, 24);
    f("reads_held", self.reads_held, 8);
    f("msn", self.msn, 24);
    f("in_message", self.in_message, 1);
    f("receive_taken", self.receive_taken, 1);
    f("nak_sent", self.nak_sent, 1);
    f("ack_due", self.ack_due, 1);
    f("communication_established", self.communication_established, 1);
    f("reserved5", self.reserved5, 3);
    for (size_t i = 0; i < 3; ++i) f("reserved6", self.reserved6[i], 32);
  }

  friend constexpr bool operator==(const TableQpContext&, const TableQpContext&) = default;
};

// A CQ, by its index. Its vector is that of its virtqueue. (tables.toml)
// Little-endian, 16 bytes.
struct TableCqContext {
  static constexpr size_t kBytes = 16;
  static constexpr size_t kElementsOffset = 1;
  static constexpr size_t kVqIndexOffset = 2;
  static constexpr size_t kCqeOffset = 4;
  bool valid{};  // The CQ exists
  bool set_solicited{};  // 1 in a write: arms, as rdma_cq_arm with the device's own position
  bool set_next_completion{};  // 1 in a write: arms likewise
  bool set_failed{};  // 1 in a write: puts the CQ in error, no CQE is written from then on
  uint8_t reserved{};  // 0
  uint8_t elements{};  // Of its completions: bits of rdma_cq_element
  uint16_t vq_index{};  // Its virtqueue
  uint32_t cqe{};  // CQEs that the driver requested
  bool armed_solicited{};  // Notifies at the next solicited CQE
  bool armed_next_completion{};  // Notifies at the next CQE
  bool failed{};  // In error
  uint8_t reserved1{};  // 0
  uint8_t reserved2[7]{};  // 0

  static constexpr TableCqContext Decode(const uint8_t* bytes) {
    TableCqContext result;
    result.valid = static_cast<bool>(detail::GetLittle<0, 1>(bytes));
    result.set_solicited = static_cast<bool>(detail::GetLittle<1, 1>(bytes));
    result.set_next_completion = static_cast<bool>(detail::GetLittle<2, 1>(bytes));
    result.set_failed = static_cast<bool>(detail::GetLittle<3, 1>(bytes));
    result.reserved = static_cast<uint8_t>(detail::GetLittle<4, 4>(bytes));
    result.elements = static_cast<uint8_t>(detail::GetLittle<8, 8>(bytes));
    result.vq_index = static_cast<uint16_t>(detail::GetLittle<16, 16>(bytes));
    result.cqe = static_cast<uint32_t>(detail::GetLittle<32, 32>(bytes));
    result.armed_solicited = static_cast<bool>(detail::GetLittle<64, 1>(bytes));
    result.armed_next_completion = static_cast<bool>(detail::GetLittle<65, 1>(bytes));
    result.failed = static_cast<bool>(detail::GetLittle<66, 1>(bytes));
    result.reserved1 = static_cast<uint8_t>(detail::GetLittle<67, 5>(bytes));
    for (size_t i = 0; i < 7; ++i) result.reserved2[i] = static_cast<uint8_t>(detail::GetLittle<0, 8>(bytes + 9 + i * 1));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 1>(bytes, static_cast<uint64_t>(valid));
    detail::PutLittle<1, 1>(bytes, static_cast<uint64_t>(set_solicited));
    detail::PutLittle<2, 1>(bytes, static_cast<uint64_t>(set_next_completion));
    detail::PutLittle<3, 1>(bytes, static_cast<uint64_t>(set_failed));
    detail::PutLittle<4, 4>(bytes, static_cast<uint64_t>(reserved));
    detail::PutLittle<8, 8>(bytes, static_cast<uint64_t>(elements));
    detail::PutLittle<16, 16>(bytes, static_cast<uint64_t>(vq_index));
    detail::PutLittle<32, 32>(bytes, static_cast<uint64_t>(cqe));
    detail::PutLittle<64, 1>(bytes, static_cast<uint64_t>(armed_solicited));
    detail::PutLittle<65, 1>(bytes, static_cast<uint64_t>(armed_next_completion));
    detail::PutLittle<66, 1>(bytes, static_cast<uint64_t>(failed));
    detail::PutLittle<67, 5>(bytes, static_cast<uint64_t>(reserved1));
    for (size_t i = 0; i < 7; ++i) detail::PutLittle<0, 8>(bytes + 9 + i * 1, reserved2[i]);
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("valid", self.valid, 1);
    f("set_solicited", self.set_solicited, 1);
    f("set_next_completion", self.set_next_completion, 1);
    f("set_failed", self.set_failed, 1);
    f("reserved", self.reserved, 4);
    f("elements", self.elements, 8);
    f("vq_index", self.vq_index, 16);
    f("cqe", self.cqe, 32);
    f("armed_solicited", self.armed_solicited, 1);
    f("armed_next_completion", self.armed_next_completion, 1);
    f("failed", self.failed, 1);
    f("reserved1", self.reserved1, 5);
    for (size_t i = 0; i < 7; ++i) f("reserved2", self.reserved2[i], 8);
  }

  friend constexpr bool operator==(const TableCqContext&, const TableCqContext&) = default;
};

// A memory region, by its index. Its lkey and rkey are rdma_key: this index and `key`. Page i of the region, counted from the page that holds virt_addr, is at translation[first_translation + i]. Or a memory window: a write makes it unbound, and binds change key, range, rights and translation in the device. Or a region that work requests register, which sets key, range, rights and pages in the device. Second group: the entry as it is in the device. (tables.toml)
// Little-endian, 40 bytes.
struct TableMr {
  static constexpr size_t kBytes = 40;
  static constexpr size_t kKeyOffset = 1;
  static constexpr size_t kPageShiftOffset = 2;
  static constexpr size_t kNpagesOffset = 4;
  static constexpr size_t kFirstTranslationOffset = 8;
  static constexpr size_t kPdnOffset = 12;
  static constexpr size_t kVirtAddrOffset = 16;
  static constexpr size_t kLengthOffset = 24;
  static constexpr size_t kBoundToOffset = 33;
  static constexpr size_t kBoundByOffset = 36;
  static constexpr size_t kDeviceKeyOffset = 39;
  bool valid{};  // The region exists
  bool dma{};  // 1: the whole address space, untranslated; of the other fields only key, pdn and rights are used
  bool local_write{};  // As ib_access_flags
  bool remote_write{};  // As ib_access_flags
  bool remote_read{};  // As ib_access_flags
  bool remote_atomic{};  // As ib_access_flags
  bool invalidatable{};  // An invalidate may clear the entry: the device does so itself, and a read still returns what was written
  bool reserved{};  // 0
  uint8_t key{};  // Low bits of the keys
  uint8_t page_shift{};  // Pages of 2^page_shift bytes
  bool flush_global{};  // As ib_access_flags; not with dma
  bool flush_persistent{};  // As ib_access_flags; not with dma
  bool is_pmem{};  // Kept for rereg_mr: the region is persistent memory
  bool mw_bind{};  // As ib_access_flags; not with dma or invalidatable
  bool is_window{};  // A memory window; other fields than valid, key, pdn and is_type_2 are 0
  bool is_type_2{};  // With is_window: as rdma_mw_type
  bool is_fast{};  // Work requests register it: npages, an even number, is the most. Written with invalidatable and without valid; other fields than key, npages, first_translation and pdn are 0
  bool reserved1{};  // 0
  uint32_t npages{};  // Translations that it uses
  uint32_t first_translation{};  // Index in the translation table
  uint16_t pdn{};  // Protection domain
  uint16_t reserved2{};  // 0
  uint64_t virt_addr{};  // First address
  uint64_t length{};  // Bytes
  bool is_bound{};  // A memory window that is bound
  bool is_alive{};  // The device's `valid`: of a region that was invalidated, or is not registered, 0
  uint8_t reserved3{};  // 0
  uint32_t bound_to{};  // With is_bound: index of the region
  uint32_t bound_by{};  // With is_bound: the QP that bound it
  uint8_t device_key{};  // The device's `key`

  static constexpr TableMr Decode(const uint8_t* bytes) {
    TableMr result;
    result.valid = static_cast<bool>(detail::GetLittle<0, 1>(bytes));
    result.dma = static_cast<bool>(detail::GetLittle<1, 1>(bytes));
    result.local_write = static_cast<bool>(detail::GetLittle<2, 1>(bytes));
    result.remote_write = static_cast<bool>(detail::GetLittle<3, 1>(bytes));
    result.remote_read = static_cast<bool>(detail::GetLittle<4, 1>(bytes));
    result.remote_atomic = static_cast<bool>(detail::GetLittle<5, 1>(bytes));
    result.invalidatable = static_cast<bool>(detail::GetLittle<6, 1>(bytes));
    result.reserved = static_cast<bool>(detail::GetLittle<7, 1>(bytes));
    result.key = static_cast<uint8_t>(detail::GetLittle<8, 8>(bytes));
    result.page_shift = static_cast<uint8_t>(detail::GetLittle<16, 8>(bytes));
    result.flush_global = static_cast<bool>(detail::GetLittle<24, 1>(bytes));
    result.flush_persistent = static_cast<bool>(detail::GetLittle<25, 1>(bytes));
    result.is_pmem = static_cast<bool>(detail::GetLittle<26, 1>(bytes));
    result.mw_bind = static_cast<bool>(detail::GetLittle<27, 1>(bytes));
    result.is_window = static_cast<bool>(detail::GetLittle<28, 1>(bytes));
    result.is_type_2 = static_cast<bool>(detail::GetLittle<29, 1>(bytes));
    result.is_fast = static_cast<bool>(detail::GetLittle<30, 1>(bytes));
    result.reserved1 = static_cast<bool>(detail::GetLittle<31, 1>(bytes));
    result.npages = static_cast<uint32_t>(detail::GetLittle<32, 32>(bytes));
    result.first_translation = static_cast<uint32_t>(detail::GetLittle<64, 32>(bytes));
    result.pdn = static_cast<uint16_t>(detail::GetLittle<96, 16>(bytes));
    result.reserved2 = static_cast<uint16_t>(detail::GetLittle<112, 16>(bytes));
    result.virt_addr = static_cast<uint64_t>(detail::GetLittle<128, 64>(bytes));
    result.length = static_cast<uint64_t>(detail::GetLittle<192, 64>(bytes));
    result.is_bound = static_cast<bool>(detail::GetLittle<256, 1>(bytes));
    result.is_alive = static_cast<bool>(detail::GetLittle<257, 1>(bytes));
    result.reserved3 = static_cast<uint8_t>(detail::GetLittle<258, 6>(bytes));
    result.bound_to = static_cast<uint32_t>(detail::GetLittle<264, 24>(bytes));
    result.bound_by = static_cast<uint32_t>(detail::GetLittle<288, 24>(bytes));
    result.device_key = static_cast<uint8_t>(detail::GetLittle<312, 8>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 1>(bytes, static_cast<uint64_t>(valid));
    detail::PutLittle<1, 1>(bytes, static_cast<uint64_t>(dma));
    detail::PutLittle<2, 1>(bytes, static_cast<uint64_t>(local_write));
    detail::PutLittle<3, 1>(bytes, static_cast<uint64_t>(remote_write));
    detail::PutLittle<4, 1>(bytes, static_cast<uint64_t>(remote_read));
    detail::PutLittle<5, 1>(bytes, static_cast<uint64_t>(remote_atomic));
    detail::PutLittle<6, 1>(bytes, static_cast<uint64_t>(invalidatable));
    detail::PutLittle<7, 1>(bytes, static_cast<uint64_t>(reserved));
    detail::PutLittle<8, 8>(bytes, static_cast<uint64_t>(key));
    detail::PutLittle<16, 8>(bytes, static_cast<uint64_t>(page_shift));
    detail::PutLittle<24, 1>(bytes, static_cast<uint64_t>(flush_global));
    detail::PutLittle<25, 1>(bytes, static_cast<uint64_t>(flush_persistent));
    detail::PutLittle<26, 1>(bytes, static_cast<uint64_t>(is_pmem));
    detail::PutLittle<27, 1>(bytes, static_cast<uint64_t>(mw_bind));
    detail::PutLittle<28, 1>(bytes, static_cast<uint64_t>(is_window));
    detail::PutLittle<29, 1>(bytes, static_cast<uint64_t>(is_type_2));
    detail::PutLittle<30, 1>(bytes, static_cast<uint64_t>(is_fast));
    detail::PutLittle<31, 1>(bytes, static_cast<uint64_t>(reserved1));
    detail::PutLittle<32, 32>(bytes, static_cast<uint64_t>(npages));
    detail::PutLittle<64, 32>(bytes, static_cast<uint64_t>(first_translation));
    detail::PutLittle<96, 16>(bytes, static_cast<uint64_t>(pdn));
    detail::PutLittle<112, 16>(bytes, static_cast<uint64_t>(reserved2));
    detail::PutLittle<128, 64>(bytes, static_cast<uint64_t>(virt_addr));
    detail::PutLittle<192, 64>(bytes, static_cast<uint64_t>(length));
    detail::PutLittle<256, 1>(bytes, static_cast<uint64_t>(is_bound));
    detail::PutLittle<257, 1>(bytes, static_cast<uint64_t>(is_alive));
    detail::PutLittle<258, 6>(bytes, static_cast<uint64_t>(reserved3));
    detail::PutLittle<264, 24>(bytes, static_cast<uint64_t>(bound_to));
    detail::PutLittle<288, 24>(bytes, static_cast<uint64_t>(bound_by));
    detail::PutLittle<312, 8>(bytes, static_cast<uint64_t>(device_key));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("valid", self.valid, 1);
    f("dma", self.dma, 1);
    f("local_write", self.local_write, 1);
    f("remote_write", self.remote_write, 1);
    f("remote_read", self.remote_read, 1);
    f("remote_atomic", self.remote_atomic, 1);
    f("invalidatable", self.invalidatable, 1);
    f("reserved", self.reserved, 1);
    f("key", self.key, 8);
    f("page_shift", self.page_shift, 8);
    f("flush_global", self.flush_global, 1);
    f("flush_persistent", self.flush_persistent, 1);
    f("is_pmem", self.is_pmem, 1);
    f("mw_bind", self.mw_bind, 1);
    f("is_window", self.is_window, 1);
    f("is_type_2", self.is_type_2, 1);
    f("is_fast", self.is_fast, 1);
    f("reserved1", self.reserved1, 1);
    f("npages", self.npages, 32);
    f("first_translation", self.first_translation, 32);
    f("pdn", self.pdn, 16);
    f("reserved2", self.reserved2, 16);
    f("virt_addr", self.virt_addr, 64);
    f("length", self.length, 64);
    f("is_bound", self.is_bound, 1);
    f("is_alive", self.is_alive, 1);
    f("reserved3", self.reserved3, 6);
    f("bound_to", self.bound_to, 24);
    f("bound_by", self.bound_by, 24);
    f("device_key", self.device_key, 8);
  }

  friend constexpr bool operator==(const TableMr&, const TableMr&) = default;
};

// Composition of lkey and rkey. Opaque to the driver. (tables.toml)
// Little-endian, 4 bytes.
struct RdmaKey {
  static constexpr size_t kBytes = 4;
  static constexpr size_t kKeyOffset = 0;
  static constexpr size_t kIndexOffset = 1;
  uint8_t key{};  // Changes with every new region of this index and is never 0
  uint32_t index{};  // Entry of the mr table

  static constexpr RdmaKey Decode(const uint8_t* bytes) {
    RdmaKey result;
    result.key = static_cast<uint8_t>(detail::GetLittle<0, 8>(bytes));
    result.index = static_cast<uint32_t>(detail::GetLittle<8, 24>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 8>(bytes, static_cast<uint64_t>(key));
    detail::PutLittle<8, 24>(bytes, static_cast<uint64_t>(index));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("key", self.key, 8);
    f("index", self.index, 24);
  }
  static constexpr RdmaKey FromWord(uint32_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 32>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint32_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
  }

  friend constexpr bool operator==(const RdmaKey&, const RdmaKey&) = default;
};

// One page of a memory region. (tables.toml)
// Little-endian, 8 bytes.
struct TableTranslation {
  static constexpr size_t kBytes = 8;
  static constexpr size_t kAddressOffset = 0;
  uint64_t address{};  // DMA address of its first byte

  static constexpr TableTranslation Decode(const uint8_t* bytes) {
    TableTranslation result;
    result.address = static_cast<uint64_t>(detail::GetLittle<0, 64>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 64>(bytes, static_cast<uint64_t>(address));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("address", self.address, 64);
  }
  static constexpr TableTranslation FromWord(uint64_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 64>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint64_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint64_t>(detail::GetLittle<0, 64>(bytes));
  }

  friend constexpr bool operator==(const TableTranslation&, const TableTranslation&) = default;
};

// An address handle, by its number. (tables.toml)
// Little-endian, 56 bytes.
struct TableAh {
  static constexpr size_t kBytes = 56;
  static constexpr size_t kPdnOffset = 2;
  static constexpr size_t kPathOffset = 8;
  bool valid{};  // The handle exists
  uint8_t reserved{};  // 0
  uint8_t reserved1{};  // 0
  uint16_t pdn{};  // Protection domain
  uint32_t reserved2{};  // 0
  TablePath path{};  // Path to the peer

  static constexpr TableAh Decode(const uint8_t* bytes) {
    TableAh result;
    result.valid = static_cast<bool>(detail::GetLittle<0, 1>(bytes));
    result.reserved = static_cast<uint8_t>(detail::GetLittle<1, 7>(bytes));
    result.reserved1 = static_cast<uint8_t>(detail::GetLittle<8, 8>(bytes));
    result.pdn = static_cast<uint16_t>(detail::GetLittle<16, 16>(bytes));
    result.reserved2 = static_cast<uint32_t>(detail::GetLittle<32, 32>(bytes));
    result.path = TablePath::Decode(bytes + 8);
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 1>(bytes, static_cast<uint64_t>(valid));
    detail::PutLittle<1, 7>(bytes, static_cast<uint64_t>(reserved));
    detail::PutLittle<8, 8>(bytes, static_cast<uint64_t>(reserved1));
    detail::PutLittle<16, 16>(bytes, static_cast<uint64_t>(pdn));
    detail::PutLittle<32, 32>(bytes, static_cast<uint64_t>(reserved2));
    path.Encode(bytes + 8);
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("valid", self.valid, 1);
    f("reserved", self.reserved, 7);
    f("reserved1", self.reserved1, 8);
    f("pdn", self.pdn, 16);
    f("reserved2", self.reserved2, 32);
    TablePath::Visit(self.path, f);
  }

  friend constexpr bool operator==(const TableAh&, const TableAh&) = default;
};

// An entry of the GID table. All entries are RoCE v2. (tables.toml)
// Little-endian, 24 bytes.
struct TableGid {
  static constexpr size_t kBytes = 24;
  static constexpr size_t kVlanOffset = 2;
  static constexpr size_t kGidOffset = 8;
  bool valid{};  // The entry is in use
  bool vlan_present{};  // Packets carry the tag `vlan`
  bool ipv4{};  // gid is an IPv4-mapped address
  uint8_t reserved{};  // 0
  uint8_t reserved1{};  // 0
  uint16_t vlan{};  // Tag control information
  uint32_t reserved2{};  // 0
  uint8_t gid[16]{};  // In network order

  static constexpr TableGid Decode(const uint8_t* bytes) {
    TableGid result;
    result.valid = static_cast<bool>(detail::GetLittle<0, 1>(bytes));
    result.vlan_present = static_cast<bool>(detail::GetLittle<1, 1>(bytes));
    result.ipv4 = static_cast<bool>(detail::GetLittle<2, 1>(bytes));
    result.reserved = static_cast<uint8_t>(detail::GetLittle<3, 5>(bytes));
    result.reserved1 = static_cast<uint8_t>(detail::GetLittle<8, 8>(bytes));
    result.vlan = static_cast<uint16_t>(detail::GetLittle<16, 16>(bytes));
    result.reserved2 = static_cast<uint32_t>(detail::GetLittle<32, 32>(bytes));
    for (size_t i = 0; i < 16; ++i) result.gid[i] = static_cast<uint8_t>(detail::GetLittle<0, 8>(bytes + 8 + i * 1));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 1>(bytes, static_cast<uint64_t>(valid));
    detail::PutLittle<1, 1>(bytes, static_cast<uint64_t>(vlan_present));
    detail::PutLittle<2, 1>(bytes, static_cast<uint64_t>(ipv4));
    detail::PutLittle<3, 5>(bytes, static_cast<uint64_t>(reserved));
    detail::PutLittle<8, 8>(bytes, static_cast<uint64_t>(reserved1));
    detail::PutLittle<16, 16>(bytes, static_cast<uint64_t>(vlan));
    detail::PutLittle<32, 32>(bytes, static_cast<uint64_t>(reserved2));
    for (size_t i = 0; i < 16; ++i) detail::PutLittle<0, 8>(bytes + 8 + i * 1, gid[i]);
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("valid", self.valid, 1);
    f("vlan_present", self.vlan_present, 1);
    f("ipv4", self.ipv4, 1);
    f("reserved", self.reserved, 5);
    f("reserved1", self.reserved1, 8);
    f("vlan", self.vlan, 16);
    f("reserved2", self.reserved2, 32);
    for (size_t i = 0; i < 16; ++i) f("gid", self.gid[i], 8);
  }

  friend constexpr bool operator==(const TableGid&, const TableGid&) = default;
};

// An attachment of a UD queue pair to a multicast group. No two entries are alike. (tables.toml)
// Little-endian, 24 bytes.
struct TableMcast {
  static constexpr size_t kBytes = 24;
  static constexpr size_t kQpnOffset = 1;
  static constexpr size_t kMgidOffset = 8;
  bool valid{};  // The entry is in use
  uint8_t reserved{};  // 0
  uint32_t qpn{};  // The queue pair
  uint32_t reserved1{};  // 0
  uint8_t mgid[16]{};  // GID of the group, in network order

  static constexpr TableMcast Decode(const uint8_t* bytes) {
    TableMcast result;
    result.valid = static_cast<bool>(detail::GetLittle<0, 1>(bytes));
    result.reserved = static_cast<uint8_t>(detail::GetLittle<1, 7>(bytes));
    result.qpn = static_cast<uint32_t>(detail::GetLittle<8, 24>(bytes));
    result.reserved1 = static_cast<uint32_t>(detail::GetLittle<32, 32>(bytes));
    for (size_t i = 0; i < 16; ++i) result.mgid[i] = static_cast<uint8_t>(detail::GetLittle<0, 8>(bytes + 8 + i * 1));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 1>(bytes, static_cast<uint64_t>(valid));
    detail::PutLittle<1, 7>(bytes, static_cast<uint64_t>(reserved));
    detail::PutLittle<8, 24>(bytes, static_cast<uint64_t>(qpn));
    detail::PutLittle<32, 32>(bytes, static_cast<uint64_t>(reserved1));
    for (size_t i = 0; i < 16; ++i) detail::PutLittle<0, 8>(bytes + 8 + i * 1, mgid[i]);
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("valid", self.valid, 1);
    f("reserved", self.reserved, 7);
    f("qpn", self.qpn, 24);
    f("reserved1", self.reserved1, 32);
    for (size_t i = 0; i < 16; ++i) f("mgid", self.mgid[i], 8);
  }

  friend constexpr bool operator==(const TableMcast&, const TableMcast&) = default;
};

// A MAC address that the net path accepts besides its own and broadcast. (tables.toml)
// Little-endian, 8 bytes.
struct TableMacFilter {
  static constexpr size_t kBytes = 8;
  static constexpr size_t kMacOffset = 2;
  bool valid{};  // The entry is in use
  uint8_t reserved{};  // 0
  uint8_t reserved1{};  // 0
  uint8_t mac[6]{};  // The address

  static constexpr TableMacFilter Decode(const uint8_t* bytes) {
    TableMacFilter result;
    result.valid = static_cast<bool>(detail::GetLittle<0, 1>(bytes));
    result.reserved = static_cast<uint8_t>(detail::GetLittle<1, 7>(bytes));
    result.reserved1 = static_cast<uint8_t>(detail::GetLittle<8, 8>(bytes));
    for (size_t i = 0; i < 6; ++i) result.mac[i] = static_cast<uint8_t>(detail::GetLittle<0, 8>(bytes + 2 + i * 1));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 1>(bytes, static_cast<uint64_t>(valid));
    detail::PutLittle<1, 7>(bytes, static_cast<uint64_t>(reserved));
    detail::PutLittle<8, 8>(bytes, static_cast<uint64_t>(reserved1));
    for (size_t i = 0; i < 6; ++i) detail::PutLittle<0, 8>(bytes + 2 + i * 1, mac[i]);
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("valid", self.valid, 1);
    f("reserved", self.reserved, 7);
    f("reserved1", self.reserved1, 8);
    for (size_t i = 0; i < 6; ++i) f("mac", self.mac[i], 8);
  }
  static constexpr TableMacFilter FromWord(uint64_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 64>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint64_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint64_t>(detail::GetLittle<0, 64>(bytes));
  }

  friend constexpr bool operator==(const TableMacFilter&, const TableMacFilter&) = default;
};

// Membership of VLANs. (tables.toml)
// Little-endian, 4 bytes.
struct TableVlanFilter {
  static constexpr size_t kBytes = 4;
  static constexpr size_t kMembersOffset = 0;
  uint32_t members{};  // 1: frames of this VLAN are accepted

  static constexpr TableVlanFilter Decode(const uint8_t* bytes) {
    TableVlanFilter result;
    result.members = static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 32>(bytes, static_cast<uint64_t>(members));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("members", self.members, 32);
  }
  static constexpr TableVlanFilter FromWord(uint32_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 32>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint32_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
  }

  friend constexpr bool operator==(const TableVlanFilter&, const TableVlanFilter&) = default;
};

// Entry 0 of table rss: hashing and steering of received packets. (tables.toml)
// Little-endian, 56 bytes.
struct TableRssConfig {
  static constexpr size_t kBytes = 56;
  static constexpr size_t kUnclassifiedPairOffset = 1;
  static constexpr size_t kIndirectionTableMaskOffset = 2;
  static constexpr size_t kHashTypesOffset = 4;
  static constexpr size_t kHashKeyDataOffset = 8;
  static constexpr size_t kHashKeyLengthOffset = 48;
  bool steer{};  // 1: by hash and table; 0: the device's own choice
  uint8_t reserved{};  // 0
  uint8_t unclassified_pair{};  // Net queue pair of packets without hash
  uint16_t indirection_table_mask{};  // Entries of the table - 1
  uint32_t hash_types{};  // Packets to hash; flags: NetHashTypes
  uint8_t hash_key_data[40]{};  // The key, 0 after its end
  uint8_t hash_key_length{};  // Bytes of the key
  uint8_t reserved1[7]{};  // 0

  static constexpr TableRssConfig Decode(const uint8_t* bytes) {
    TableRssConfig result;
    result.steer = static_cast<bool>(detail::GetLittle<0, 1>(bytes));
    result.reserved = static_cast<uint8_t>(detail::GetLittle<1, 7>(bytes));
    result.unclassified_pair = static_cast<uint8_t>(detail::GetLittle<8, 8>(bytes));
    result.indirection_table_mask = static_cast<uint16_t>(detail::GetLittle<16, 16>(bytes));
    result.hash_types = static_cast<uint32_t>(detail::GetLittle<32, 32>(bytes));
    for (size_t i = 0; i < 40; ++i) result.hash_key_data[i] = static_cast<uint8_t>(detail::GetLittle<0, 8>(bytes + 8 + i * 1));
    result.hash_key_length = static_cast<uint8_t>(detail::GetLittle<384, 8>(bytes));
    for (size_t i = 0; i < 7; ++i) result.reserved1[i] = static_cast<uint8_t>(detail::GetLittle<0, 8>(bytes + 49 + i * 1));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 1>(bytes, static_cast<uint64_t>(steer));
    detail::PutLittle<1, 7>(bytes, static_cast<uint64_t>(reserved));
    detail::PutLittle<8, 8>(bytes, static_cast<uint64_t>(unclassified_pair));
    detail::PutLittle<16, 16>(bytes, static_cast<uint64_t>(indirection_table_mask));
    detail::PutLittle<32, 32>(bytes, static_cast<uint64_t>(hash_types));
    for (size_t i = 0; i < 40; ++i) detail::PutLittle<0, 8>(bytes + 8 + i * 1, hash_key_data[i]);
    detail::PutLittle<384, 8>(bytes, static_cast<uint64_t>(hash_key_length));
    for (size_t i = 0; i < 7; ++i) detail::PutLittle<0, 8>(bytes + 49 + i * 1, reserved1[i]);
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("steer", self.steer, 1);
    f("reserved", self.reserved, 7);
    f("unclassified_pair", self.unclassified_pair, 8);
    f("indirection_table_mask", self.indirection_table_mask, 16);
    f("hash_types", self.hash_types, 32);
    for (size_t i = 0; i < 40; ++i) f("hash_key_data", self.hash_key_data[i], 8);
    f("hash_key_length", self.hash_key_length, 8);
    for (size_t i = 0; i < 7; ++i) f("reserved1", self.reserved1[i], 8);
  }

  friend constexpr bool operator==(const TableRssConfig&, const TableRssConfig&) = default;
};

// Entries 1 and up of table rss: 32 elements of the indirection table each, in order. (tables.toml)
// Little-endian, 32 bytes.
struct TableRss {
  static constexpr size_t kBytes = 32;
  static constexpr size_t kPairOffset = 0;
  uint8_t pair[32]{};  // Net queue pair

  static constexpr TableRss Decode(const uint8_t* bytes) {
    TableRss result;
    for (size_t i = 0; i < 32; ++i) result.pair[i] = static_cast<uint8_t>(detail::GetLittle<0, 8>(bytes + 0 + i * 1));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    for (size_t i = 0; i < 32; ++i) detail::PutLittle<0, 8>(bytes + 0 + i * 1, pair[i]);
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    for (size_t i = 0; i < 32; ++i) f("pair", self.pair[i], 8);
  }

  friend constexpr bool operator==(const TableRss&, const TableRss&) = default;
};

// Common configuration, 1.3 size. Fields are accessed at their own width; a 64-bit field as two independent 32-bit halves. [virtio 1.3, 4.1.4.3; linux/virtio_pci.h (virtio_pci_modern_common_cfg)] (virtio.toml)
// Little-endian, 64 bytes.
struct VirtioPciCommonCfg {
  static constexpr size_t kBytes = 64;
  static constexpr size_t kDeviceFeatureSelectOffset = 0;
  static constexpr size_t kDeviceFeatureOffset = 4;
  static constexpr size_t kDriverFeatureSelectOffset = 8;
  static constexpr size_t kDriverFeatureOffset = 12;
  static constexpr size_t kConfigMsixVectorOffset = 16;
  static constexpr size_t kNumQueuesOffset = 18;
  static constexpr size_t kDeviceStatusOffset = 20;
  static constexpr size_t kConfigGenerationOffset = 21;
  static constexpr size_t kQueueSelectOffset = 22;
  static constexpr size_t kQueueSizeOffset = 24;
  static constexpr size_t kQueueMsixVectorOffset = 26;
  static constexpr size_t kQueueEnableOffset = 28;
  static constexpr size_t kQueueNotifyOffOffset = 30;
  static constexpr size_t kQueueDescOffset = 32;
  static constexpr size_t kQueueDriverOffset = 40;
  static constexpr size_t kQueueDeviceOffset = 48;
  static constexpr size_t kQueueNotifConfigDataOffset = 56;
  static constexpr size_t kQueueResetOffset = 58;
  static constexpr size_t kAdminQueueIndexOffset = 60;
  static constexpr size_t kAdminQueueNumOffset = 62;
  uint32_t device_feature_select{};  // RW: which 32 feature bits device_feature shows: 32 * value and up
  uint32_t device_feature{};  // RO: offered bits of the selected window; 0 beyond the last
  uint32_t driver_feature_select{};  // RW: which 32 feature bits driver_feature holds
  uint32_t driver_feature{};  // RW: accepted bits of the selected window
  uint16_t config_msix_vector{};  // RW: vector of configuration changes; reads virtio_msi_no_vector if refused
  uint16_t num_queues{};  // RO: queues of the device, administration queues not counted
  uint8_t device_status{};  // RW: writing 0 resets the device; flags: VirtioDeviceStatus
  uint8_t config_generation{};  // RO: changes whenever the device configuration may have changed
  uint16_t queue_select{};  // RW: queue index that the fields below are about
  uint16_t queue_size{};  // RW: after reset the largest size, 0 no such queue; the driver may write less
  uint16_t queue_msix_vector{};  // RW: vector of the queue; reads virtio_msi_no_vector if refused
  uint16_t queue_enable{};  // RW: 1 enables; 0 may not be written. Written last
  uint16_t queue_notify_off{};  // RO: doorbell page of the queue; in Vireo the queue index
  uint64_t queue_desc{};  // RW: address of the descriptor area (table or packed ring)
  uint64_t queue_driver{};  // RW: address of the driver area (available ring or driver event suppression)
  uint64_t queue_device{};  // RW: address of the device area (used ring or device event suppression)
  uint16_t queue_notif_config_data{};  // RO: with notif_config_data, sent as vq_index; Linux: queue_notify_data
  uint16_t queue_reset{};  // RW: with ring_reset, write 1; reads 1 until done, then it and queue_enable read 0
  uint16_t admin_queue_index{};  // RO: with admin_vq, first administration queue; >= num_queues
  uint16_t admin_queue_num{};  // RO: with admin_vq, number of administration queues; 0 none

  static constexpr VirtioPciCommonCfg Decode(const uint8_t* bytes) {
    VirtioPciCommonCfg result;
    result.device_feature_select = static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
    result.device_feature = static_cast<uint32_t>(detail::GetLittle<32, 32>(bytes));
    result.driver_feature_select = static_cast<uint32_t>(detail::GetLittle<64, 32>(bytes));
    result.driver_feature = static_cast<uint32_t>(detail::GetLittle<96, 32>(bytes));
    result.config_msix_vector = static_cast<uint16_t>(detail::GetLittle<128, 16>(bytes));
    result.num_queues = static_cast<uint16_t>(detail::GetLittle<144, 16>(bytes));
    result.device_status = static_cast<uint8_t>(detail::GetLittle<160, 8>(bytes));
    result.config_generation = static_cast<uint8_t>(detail::GetLittle<168, 8>(bytes));
    result.queue_select = static_cast<uint16_t>(detail::GetLittle<176, 16>(bytes));
    result.queue_size = static_cast<uint16_t>(detail::GetLittle<192, 16>(bytes));
    result.queue_msix_vector = static_cast<uint16_t>(detail::GetLittle<208, 16>(bytes));
    result.queue_enable = static_cast<uint16_t>(detail::GetLittle<224, 16>(bytes));
    result.queue_notify_off = static_cast<uint16_t>(detail::GetLittle<240, 16>(bytes));
    result.queue_desc = static_cast<uint64_t>(detail::GetLittle<256, 64>(bytes));
    result.queue_driver = static_cast<uint64_t>(detail::GetLittle<320, 64>(bytes));
    result.queue_device = static_cast<uint64_t>(detail::GetLittle<384, 64>(bytes));
    result.queue_notif_config_data = static_cast<uint16_t>(detail::GetLittle<448, 16>(bytes));
    result.queue_reset = static_cast<uint16_t>(detail::GetLittle<464, 16>(bytes));
    result.admin_queue_index = static_cast<uint16_t>(detail::GetLittle<480, 16>(bytes));
    result.admin_queue_num = static_cast<uint16_t>(detail::GetLittle<496, 16>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 32>(bytes, static_cast<uint64_t>(device_feature_select));
    detail::PutLittle<32, 32>(bytes, static_cast<uint64_t>(device_feature));
    detail::PutLittle<64, 32>(bytes, static_cast<uint64_t>(driver_feature_select));
    detail::PutLittle<96, 32>(bytes, static_cast<uint64_t>(driver_feature));
    detail::PutLittle<128, 16>(bytes, static_cast<uint64_t>(config_msix_vector));
    detail::PutLittle<144, 16>(bytes, static_cast<uint64_t>(num_queues));
    detail::PutLittle<160, 8>(bytes, static_cast<uint64_t>(device_status));
    detail::PutLittle<168, 8>(bytes, static_cast<uint64_t>(config_generation));
    detail::PutLittle<176, 16>(bytes, static_cast<uint64_t>(queue_select));
    detail::PutLittle<192, 16>(bytes, static_cast<uint64_t>(queue_size));
    detail::PutLittle<208, 16>(bytes, static_cast<uint64_t>(queue_msix_vector));
    detail::PutLittle<224, 16>(bytes, static_cast<uint64_t>(queue_enable));
    detail::PutLittle<240, 16>(bytes, static_cast<uint64_t>(queue_notify_off));
    detail::PutLittle<256, 64>(bytes, static_cast<uint64_t>(queue_desc));
    detail::PutLittle<320, 64>(bytes, static_cast<uint64_t>(queue_driver));
    detail::PutLittle<384, 64>(bytes, static_cast<uint64_t>(queue_device));
    detail::PutLittle<448, 16>(bytes, static_cast<uint64_t>(queue_notif_config_data));
    detail::PutLittle<464, 16>(bytes, static_cast<uint64_t>(queue_reset));
    detail::PutLittle<480, 16>(bytes, static_cast<uint64_t>(admin_queue_index));
    detail::PutLittle<496, 16>(bytes, static_cast<uint64_t>(admin_queue_num));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("device_feature_select", self.device_feature_select, 32);
    f("device_feature", self.device_feature, 32);
    f("driver_feature_select", self.driver_feature_select, 32);
    f("driver_feature", self.driver_feature, 32);
    f("config_msix_vector", self.config_msix_vector, 16);
    f("num_queues", self.num_queues, 16);
    f("device_status", self.device_status, 8);
    f("config_generation", self.config_generation, 8);
    f("queue_select", self.queue_select, 16);
    f("queue_size", self.queue_size, 16);
    f("queue_msix_vector", self.queue_msix_vector, 16);
    f("queue_enable", self.queue_enable, 16);
    f("queue_notify_off", self.queue_notify_off, 16);
    f("queue_desc", self.queue_desc, 64);
    f("queue_driver", self.queue_driver, 64);
    f("queue_device", self.queue_device, 64);
    f("queue_notif_config_data", self.queue_notif_config_data, 16);
    f("queue_reset", self.queue_reset, 16);
    f("admin_queue_index", self.admin_queue_index, 16);
    f("admin_queue_num", self.admin_queue_num, 16);
  }

  friend constexpr bool operator==(const VirtioPciCommonCfg&, const VirtioPciCommonCfg&) = default;
};

// Descriptor of a split ring, also in its indirect tables: one contiguous part of a buffer. [virtio 1.3, 2.7.5; linux/virtio_ring.h (vring_desc)] (virtio.toml)
// Little-endian, 16 bytes.
struct VirtqDesc {
  static constexpr size_t kBytes = 16;
  static constexpr size_t kAddrOffset = 0;
  static constexpr size_t kLenOffset = 8;
  static constexpr size_t kFlagsOffset = 12;
  static constexpr size_t kNextOffset = 14;
  uint64_t addr{};  // Address
  uint32_t len{};  // Bytes
  uint16_t flags{};  // Direction and chaining; flags: VirtqDescFlags
  uint16_t next{};  // Index of the next descriptor, if flags has next

  static constexpr VirtqDesc Decode(const uint8_t* bytes) {
    VirtqDesc result;
    result.addr = static_cast<uint64_t>(detail::GetLittle<0, 64>(bytes));
    result.len = static_cast<uint32_t>(detail::GetLittle<64, 32>(bytes));
    result.flags = static_cast<uint16_t>(detail::GetLittle<96, 16>(bytes));
    result.next = static_cast<uint16_t>(detail::GetLittle<112, 16>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 64>(bytes, static_cast<uint64_t>(addr));
    detail::PutLittle<64, 32>(bytes, static_cast<uint64_t>(len));
    detail::PutLittle<96, 16>(bytes, static_cast<uint64_t>(flags));
    detail::PutLittle<112, 16>(bytes, static_cast<uint64_t>(next));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("addr", self.addr, 64);
    f("len", self.len, 32);
    f("flags", self.flags, 16);
    f("next", self.next, 16);
  }

  friend constexpr bool operator==(const VirtqDesc&, const VirtqDesc&) = default;
};

// Available ring, written by the driver: heads of descriptor chains, one per queue entry, then virtq_used_event. [virtio 1.3, 2.7.6; linux/virtio_ring.h (vring_avail)] (virtio.toml)
// Little-endian, 4 bytes. Followed by ring[]: 2-byte values.
struct VirtqAvail {
  static constexpr size_t kBytes = 4;
  static constexpr size_t kRingEntryBytes = 2;
  static constexpr size_t kFlagsOffset = 0;
  static constexpr size_t kIdxOffset = 2;
  uint16_t flags{};  // Interrupt suppression; flags: VirtqAvailFlags
  uint16_t idx{};  // Where the driver puts the next head, modulo the size; only grows, wraps at 65536

  static constexpr VirtqAvail Decode(const uint8_t* bytes) {
    VirtqAvail result;
    result.flags = static_cast<uint16_t>(detail::GetLittle<0, 16>(bytes));
    result.idx = static_cast<uint16_t>(detail::GetLittle<16, 16>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 16>(bytes, static_cast<uint64_t>(flags));
    detail::PutLittle<16, 16>(bytes, static_cast<uint64_t>(idx));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("flags", self.flags, 16);
    f("idx", self.idx, 16);
  }
  static constexpr VirtqAvail FromWord(uint32_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 32>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint32_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
  }

  friend constexpr bool operator==(const VirtqAvail&, const VirtqAvail&) = default;
};

// After an available ring, at 4 + 2 * size. Always present; used if ring_event_idx was accepted. [virtio 1.3, 2.7.6 and 2.7.7; linux/virtio_ring.h (vring_used_event)] (virtio.toml)
// Little-endian, 2 bytes.
struct VirtqUsedEvent {
  static constexpr size_t kBytes = 2;
  static constexpr size_t kUsedEventOffset = 0;
  uint16_t used_event{};  // Interrupt when the used entry of this idx is written

  static constexpr VirtqUsedEvent Decode(const uint8_t* bytes) {
    VirtqUsedEvent result;
    result.used_event = static_cast<uint16_t>(detail::GetLittle<0, 16>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 16>(bytes, static_cast<uint64_t>(used_event));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("used_event", self.used_event, 16);
  }
  static constexpr VirtqUsedEvent FromWord(uint16_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 16>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint16_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint16_t>(detail::GetLittle<0, 16>(bytes));
  }

  friend constexpr bool operator==(const VirtqUsedEvent&, const VirtqUsedEvent&) = default;
};

// Entry of a used ring: a used buffer. [virtio 1.3, 2.7.8; linux/virtio_ring.h (vring_used_elem)] (virtio.toml)
// Little-endian, 8 bytes.
struct VirtqUsedElem {
  static constexpr size_t kBytes = 8;
  static constexpr size_t kIdOffset = 0;
  static constexpr size_t kLenOffset = 4;
  uint32_t id{};  // Index of the chain's first descriptor
  uint32_t len{};  // Bytes written to the buffer's writable parts

  static constexpr VirtqUsedElem Decode(const uint8_t* bytes) {
    VirtqUsedElem result;
    result.id = static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
    result.len = static_cast<uint32_t>(detail::GetLittle<32, 32>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 32>(bytes, static_cast<uint64_t>(id));
    detail::PutLittle<32, 32>(bytes, static_cast<uint64_t>(len));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("id", self.id, 32);
    f("len", self.len, 32);
  }
  static constexpr VirtqUsedElem FromWord(uint64_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 64>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint64_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint64_t>(detail::GetLittle<0, 64>(bytes));
  }

  friend constexpr bool operator==(const VirtqUsedElem&, const VirtqUsedElem&) = default;
};

// Used ring, written by the device: used buffers, one entry per queue entry, then virtq_avail_event. [virtio 1.3, 2.7.8; linux/virtio_ring.h (vring_used)] (virtio.toml)
// Little-endian, 4 bytes. Followed by ring[]: VirtqUsedElem.
struct VirtqUsed {
  static constexpr size_t kBytes = 4;
  static constexpr size_t kFlagsOffset = 0;
  static constexpr size_t kIdxOffset = 2;
  uint16_t flags{};  // Doorbell suppression; flags: VirtqUsedFlags
  uint16_t idx{};  // Where the device puts the next entry, modulo the size; only grows, wraps at 65536

  static constexpr VirtqUsed Decode(const uint8_t* bytes) {
    VirtqUsed result;
    result.flags = static_cast<uint16_t>(detail::GetLittle<0, 16>(bytes));
    result.idx = static_cast<uint16_t>(detail::GetLittle<16, 16>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 16>(bytes, static_cast<uint64_t>(flags));
    detail::PutLittle<16, 16>(bytes, static_cast<uint64_t>(idx));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("flags", self.flags, 16);
    f("idx", self.idx, 16);
  }
  static constexpr VirtqUsed FromWord(uint32_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 32>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint32_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
  }

  friend constexpr bool operator==(const VirtqUsed&, const VirtqUsed&) = default;
};

// After a used ring, at 4 + 8 * size. Always present; used if ring_event_idx was accepted. [virtio 1.3, 2.7.8 and 2.7.10; linux/virtio_ring.h (vring_avail_event)] (virtio.toml)
// Little-endian, 2 bytes.
struct VirtqAvailEvent {
  static constexpr size_t kBytes = 2;
  static constexpr size_t kAvailEventOffset = 0;
  uint16_t avail_event{};  // Ring the doorbell when the available entry of this idx is written

  static constexpr VirtqAvailEvent Decode(const uint8_t* bytes) {
    VirtqAvailEvent result;
    result.avail_event = static_cast<uint16_t>(detail::GetLittle<0, 16>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 16>(bytes, static_cast<uint64_t>(avail_event));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("avail_event", self.avail_event, 16);
  }
  static constexpr VirtqAvailEvent FromWord(uint16_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 16>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint16_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint16_t>(detail::GetLittle<0, 16>(bytes));
  }

  friend constexpr bool operator==(const VirtqAvailEvent&, const VirtqAvailEvent&) = default;
};

// Descriptor of a packed ring, read and overwritten in place. In an indirect table only addr, len and flag write count. [virtio 1.3, 2.8.13; linux/virtio_ring.h (vring_packed_desc)] (virtio.toml)
// Little-endian, 16 bytes.
struct PvirtqDesc {
  static constexpr size_t kBytes = 16;
  static constexpr size_t kAddrOffset = 0;
  static constexpr size_t kLenOffset = 8;
  static constexpr size_t kIdOffset = 12;
  static constexpr size_t kFlagsOffset = 14;
  uint64_t addr{};  // Address; unused in a used descriptor
  uint32_t len{};  // Bytes; in a used descriptor with flag write, bytes written
  uint16_t id{};  // Buffer number, in the last descriptor of a list and in the used one
  uint16_t flags{};  // Written last: makes the descriptor available or used; flags: VirtqDescFlags

  static constexpr PvirtqDesc Decode(const uint8_t* bytes) {
    PvirtqDesc result;
    result.addr = static_cast<uint64_t>(detail::GetLittle<0, 64>(bytes));
    result.len = static_cast<uint32_t>(detail::GetLittle<64, 32>(bytes));
    result.id = static_cast<uint16_t>(detail::GetLittle<96, 16>(bytes));
    result.flags = static_cast<uint16_t>(detail::GetLittle<112, 16>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 64>(bytes, static_cast<uint64_t>(addr));
    detail::PutLittle<64, 32>(bytes, static_cast<uint64_t>(len));
    detail::PutLittle<96, 16>(bytes, static_cast<uint64_t>(id));
    detail::PutLittle<112, 16>(bytes, static_cast<uint64_t>(flags));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("addr", self.addr, 64);
    f("len", self.len, 32);
    f("id", self.id, 16);
    f("flags", self.flags, 16);
  }

  friend constexpr bool operator==(const PvirtqDesc&, const PvirtqDesc&) = default;
};

// Event suppression: the driver area controls interrupts and is read by the device, the device area controls doorbells. [virtio 1.3, 2.8.14; linux/virtio_ring.h (vring_packed_desc_event)] (virtio.toml)
// Little-endian, 4 bytes.
struct PvirtqEventSuppress {
  static constexpr size_t kBytes = 4;
  uint16_t desc_event_off{};  // Descriptor that triggers, if desc_event_flags is desc
  bool desc_event_wrap{};  // Wrap counter of that descriptor
  RingEventFlags desc_event_flags{};  // When
  uint16_t reserved{};  // 0

  static constexpr PvirtqEventSuppress Decode(const uint8_t* bytes) {
    PvirtqEventSuppress result;
    result.desc_event_off = static_cast<uint16_t>(detail::GetLittle<0, 15>(bytes));
    result.desc_event_wrap = static_cast<bool>(detail::GetLittle<15, 1>(bytes));
    result.desc_event_flags = static_cast<RingEventFlags>(detail::GetLittle<16, 2>(bytes));
    result.reserved = static_cast<uint16_t>(detail::GetLittle<18, 14>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 15>(bytes, static_cast<uint64_t>(desc_event_off));
    detail::PutLittle<15, 1>(bytes, static_cast<uint64_t>(desc_event_wrap));
    detail::PutLittle<16, 2>(bytes, static_cast<uint64_t>(desc_event_flags));
    detail::PutLittle<18, 14>(bytes, static_cast<uint64_t>(reserved));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("desc_event_off", self.desc_event_off, 15);
    f("desc_event_wrap", self.desc_event_wrap, 1);
    f("desc_event_flags", self.desc_event_flags, 2);
    f("reserved", self.reserved, 14);
  }
  static constexpr PvirtqEventSuppress FromWord(uint32_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 32>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint32_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
  }

  friend constexpr bool operator==(const PvirtqEventSuppress&, const PvirtqEventSuppress&) = default;
};

// Doorbell without notification_data: a 2-byte write. [virtio 1.3, 2.9 and 4.1.5.2] (virtio.toml)
// Little-endian, 2 bytes.
struct VirtqNotification {
  static constexpr size_t kBytes = 2;
  static constexpr size_t kVqIndexOffset = 0;
  uint16_t vq_index{};  // Queue index; with notif_config_data its queue_notif_config_data instead

  static constexpr VirtqNotification Decode(const uint8_t* bytes) {
    VirtqNotification result;
    result.vq_index = static_cast<uint16_t>(detail::GetLittle<0, 16>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 16>(bytes, static_cast<uint64_t>(vq_index));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("vq_index", self.vq_index, 16);
  }
  static constexpr VirtqNotification FromWord(uint16_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 16>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint16_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint16_t>(detail::GetLittle<0, 16>(bytes));
  }

  friend constexpr bool operator==(const VirtqNotification&, const VirtqNotification&) = default;
};

// Doorbell of a split queue with notification_data: a 4-byte write. [virtio 1.3, 2.9 and 4.1.5.2] (virtio.toml)
// Little-endian, 4 bytes.
struct VirtqNotificationData {
  static constexpr size_t kBytes = 4;
  static constexpr size_t kVqIndexOffset = 0;
  static constexpr size_t kNextIdxOffset = 2;
  uint16_t vq_index{};  // Queue index; with notif_config_data its queue_notif_config_data instead
  uint16_t next_idx{};  // idx of the available ring (in the standard: next_off, and bit 15 as next_wrap)

  static constexpr VirtqNotificationData Decode(const uint8_t* bytes) {
    VirtqNotificationData result;
    result.vq_index = static_cast<uint16_t>(detail::GetLittle<0, 16>(bytes));
    result.next_idx = static_cast<uint16_t>(detail::GetLittle<16, 16>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 16>(bytes, static_cast<uint64_t>(vq_index));
    detail::PutLittle<16, 16>(bytes, static_cast<uint64_t>(next_idx));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("vq_index", self.vq_index, 16);
    f("next_idx", self.next_idx, 16);
  }
  static constexpr VirtqNotificationData FromWord(uint32_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 32>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint32_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
  }

  friend constexpr bool operator==(const VirtqNotificationData&, const VirtqNotificationData&) = default;
};

// Doorbell of a packed queue with notification_data: a 4-byte write. [virtio 1.3, 2.9 and 4.1.5.2] (virtio.toml)
// Little-endian, 4 bytes.
struct PvirtqNotificationData {
  static constexpr size_t kBytes = 4;
  static constexpr size_t kVqIndexOffset = 0;
  uint16_t vq_index{};  // Queue index; with notif_config_data its queue_notif_config_data instead
  uint16_t next_off{};  // Ring position that the driver fills next, in descriptors
  bool next_wrap{};  // Wrap counter of that position

  static constexpr PvirtqNotificationData Decode(const uint8_t* bytes) {
    PvirtqNotificationData result;
    result.vq_index = static_cast<uint16_t>(detail::GetLittle<0, 16>(bytes));
    result.next_off = static_cast<uint16_t>(detail::GetLittle<16, 15>(bytes));
    result.next_wrap = static_cast<bool>(detail::GetLittle<31, 1>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 16>(bytes, static_cast<uint64_t>(vq_index));
    detail::PutLittle<16, 15>(bytes, static_cast<uint64_t>(next_off));
    detail::PutLittle<31, 1>(bytes, static_cast<uint64_t>(next_wrap));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("vq_index", self.vq_index, 16);
    f("next_off", self.next_off, 15);
    f("next_wrap", self.next_wrap, 1);
  }
  static constexpr PvirtqNotificationData FromWord(uint32_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 32>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint32_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
  }

  friend constexpr bool operator==(const PvirtqNotificationData&, const PvirtqNotificationData&) = default;
};

// Ethernet II header. The frame check sequence belongs to the MAC and is not visible here. [IEEE 802.3, 3.2] (wire.toml)
// Network order, 14 bytes.
struct Ethernet {
  static constexpr size_t kBytes = 14;
  static constexpr size_t kDestinationOffset = 0;
  static constexpr size_t kSourceOffset = 6;
  static constexpr size_t kEthertypeOffset = 12;
  uint8_t destination[6]{};  // Destination MAC address
  uint8_t source[6]{};  // Source MAC address
  Ethertype ethertype{};  // Protocol of what follows

  static constexpr Ethernet Decode(const uint8_t* bytes) {
    Ethernet result;
    for (size_t i = 0; i < 6; ++i) result.destination[i] = static_cast<uint8_t>(detail::GetNetwork<0, 8>(bytes + 0 + i * 1));
    for (size_t i = 0; i < 6; ++i) result.source[i] = static_cast<uint8_t>(detail::GetNetwork<0, 8>(bytes + 6 + i * 1));
    result.ethertype = static_cast<Ethertype>(detail::GetNetwork<96, 16>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    for (size_t i = 0; i < 6; ++i) detail::PutNetwork<0, 8>(bytes + 0 + i * 1, destination[i]);
    for (size_t i = 0; i < 6; ++i) detail::PutNetwork<0, 8>(bytes + 6 + i * 1, source[i]);
    detail::PutNetwork<96, 16>(bytes, static_cast<uint64_t>(ethertype));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    for (size_t i = 0; i < 6; ++i) f("destination", self.destination[i], 8);
    for (size_t i = 0; i < 6; ++i) f("source", self.source[i], 8);
    f("ethertype", self.ethertype, 16);
  }

  friend constexpr bool operator==(const Ethernet&, const Ethernet&) = default;
};

// 802.1Q tag; follows an `ethernet` header whose ethertype is `vlan`. [IEEE 802.1Q, 9.6] (wire.toml)
// Network order, 4 bytes.
struct VlanTag {
  static constexpr size_t kBytes = 4;
  static constexpr size_t kEthertypeOffset = 2;
  uint8_t pcp{};  // Priority code point
  bool dei{};  // Drop eligible
  uint16_t vid{};  // VLAN identifier; 0 is a priority tag, 4095 is reserved
  Ethertype ethertype{};  // Protocol of what follows

  static constexpr VlanTag Decode(const uint8_t* bytes) {
    VlanTag result;
    result.pcp = static_cast<uint8_t>(detail::GetNetwork<0, 3>(bytes));
    result.dei = static_cast<bool>(detail::GetNetwork<3, 1>(bytes));
    result.vid = static_cast<uint16_t>(detail::GetNetwork<4, 12>(bytes));
    result.ethertype = static_cast<Ethertype>(detail::GetNetwork<16, 16>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutNetwork<0, 3>(bytes, static_cast<uint64_t>(pcp));
    detail::PutNetwork<3, 1>(bytes, static_cast<uint64_t>(dei));
    detail::PutNetwork<4, 12>(bytes, static_cast<uint64_t>(vid));
    detail::PutNetwork<16, 16>(bytes, static_cast<uint64_t>(ethertype));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("pcp", self.pcp, 3);
    f("dei", self.dei, 1);
    f("vid", self.vid, 12);
    f("ethertype", self.ethertype, 16);
  }

  friend constexpr bool operator==(const VlanTag&, const VlanTag&) = default;
};

// IPv4 header without options (RoCEv2 packets carry none: ihl = 5). [RFC 791, 3.1; which fields the ICRC masks: IBTA A17.3.3] (wire.toml)
// Network order, 20 bytes.
struct Ipv4 {
  static constexpr size_t kBytes = 20;
  static constexpr size_t kTotalLengthOffset = 2;
  static constexpr size_t kIdentificationOffset = 4;
  static constexpr size_t kTimeToLiveOffset = 8;
  static constexpr size_t kProtocolOffset = 9;
  static constexpr size_t kHeaderChecksumOffset = 10;
  static constexpr size_t kSourceOffset = 12;
  static constexpr size_t kDestinationOffset = 16;
  // Bits that the ICRC calculation replaces with ones.
  static constexpr uint8_t kIcrcOnes[kBytes] = {0x00, 0xff, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xff, 0x00, 0xff, 0xff, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00};
  uint8_t version{};  // 4
  uint8_t ihl{};  // Header length in 4-byte words
  uint8_t dscp{};  // Differentiated services: high 6 bits of the traffic class
  IpEcn ecn{};  // Congestion
  uint16_t total_length{};  // Bytes from this header to the end of the ICRC
  uint16_t identification{};  // Fragment group; unused when dont_fragment is set
  bool reserved{};  // 0
  bool dont_fragment{};  // Set on every RoCEv2 packet sent
  bool more_fragments{};  // A fragment is never RoCEv2
  uint16_t fragment_offset{};  // In units of 8 bytes
  uint8_t time_to_live{};  // Hop limit
  IpProtocol protocol{};  // Protocol of what follows
  uint16_t header_checksum{};  // Ones' complement sum of the header
  uint32_t source{};  // Source address
  uint32_t destination{};  // Destination address

  static constexpr Ipv4 Decode(const uint8_t* bytes) {
    Ipv4 result;
    result.version = static_cast<uint8_t>(detail::GetNetwork<0, 4>(bytes));
    result.ihl = static_cast<uint8_t>(detail::GetNetwork<4, 4>(bytes));
    result.dscp = static_cast<uint8_t>(detail::GetNetwork<8, 6>(bytes));
    result.ecn = static_cast<IpEcn>(detail::GetNetwork<14, 2>(bytes));
    result.total_length = static_cast<uint16_t>(detail::GetNetwork<16, 16>(bytes));
    result.identification = static_cast<uint16_t>(detail::GetNetwork<32, 16>(bytes));
    result.reserved = static_cast<bool>(detail::GetNetwork<48, 1>(bytes));
    result.dont_fragment = static_cast<bool>(detail::GetNetwork<49, 1>(bytes));
    result.more_fragments = static_cast<bool>(detail::GetNetwork<50, 1>(bytes));
    result.fragment_offset = static_cast<uint16_t>(detail::GetNetwork<51, 13>(bytes));
    result.time_to_live = static_cast<uint8_t>(detail::GetNetwork<64, 8>(bytes));
    result.protocol = static_cast<IpProtocol>(detail::GetNetwork<72, 8>(bytes));
    result.header_checksum = static_cast<uint16_t>(detail::GetNetwork<80, 16>(bytes));
    result.source = static_cast<uint32_t>(detail::GetNetwork<96, 32>(bytes));
    result.destination = static_cast<uint32_t>(detail::GetNetwork<128, 32>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutNetwork<0, 4>(bytes, static_cast<uint64_t>(version));
    detail::PutNetwork<4, 4>(bytes, static_cast<uint64_t>(ihl));
    detail::PutNetwork<8, 6>(bytes, static_cast<uint64_t>(dscp));
    detail::PutNetwork<14, 2>(bytes, static_cast<uint64_t>(ecn));
    detail::PutNetwork<16, 16>(bytes, static_cast<uint64_t>(total_length));
    detail::PutNetwork<32, 16>(bytes, static_cast<uint64_t>(identification));
    detail::PutNetwork<48, 1>(bytes, static_cast<uint64_t>(reserved));
    detail::PutNetwork<49, 1>(bytes, static_cast<uint64_t>(dont_fragment));
    detail::PutNetwork<50, 1>(bytes, static_cast<uint64_t>(more_fragments));
    detail::PutNetwork<51, 13>(bytes, static_cast<uint64_t>(fragment_offset));
    detail::PutNetwork<64, 8>(bytes, static_cast<uint64_t>(time_to_live));
    detail::PutNetwork<72, 8>(bytes, static_cast<uint64_t>(protocol));
    detail::PutNetwork<80, 16>(bytes, static_cast<uint64_t>(header_checksum));
    detail::PutNetwork<96, 32>(bytes, static_cast<uint64_t>(source));
    detail::PutNetwork<128, 32>(bytes, static_cast<uint64_t>(destination));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("version", self.version, 4);
    f("ihl", self.ihl, 4);
    f("dscp", self.dscp, 6);
    f("ecn", self.ecn, 2);
    f("total_length", self.total_length, 16);
    f("identification", self.identification, 16);
    f("reserved", self.reserved, 1);
    f("dont_fragment", self.dont_fragment, 1);
    f("more_fragments", self.more_fragments, 1);
    f("fragment_offset", self.fragment_offset, 13);
    f("time_to_live", self.time_to_live, 8);
    f("protocol", self.protocol, 8);
    f("header_checksum", self.header_checksum, 16);
    f("source", self.source, 32);
    f("destination", self.destination, 32);
  }

  friend constexpr bool operator==(const Ipv4&, const Ipv4&) = default;
};

// IPv6 header; extension headers are never RoCEv2. [RFC 8200, 3; which fields the ICRC masks: IBTA A17.3.3] (wire.toml)
// Network order, 40 bytes.
struct Ipv6 {
  static constexpr size_t kBytes = 40;
  static constexpr size_t kPayloadLengthOffset = 4;
  static constexpr size_t kNextHeaderOffset = 6;
  static constexpr size_t kHopLimitOffset = 7;
  static constexpr size_t kSourceOffset = 8;
  static constexpr size_t kDestinationOffset = 24;
  // Bits that the ICRC calculation replaces with ones.
  static constexpr uint8_t kIcrcOnes[kBytes] = {0x0f, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0xff, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00};
  uint8_t version{};  // 6
  uint8_t dscp{};  // High 6 bits of the traffic class
  IpEcn ecn{};  // Congestion
  uint32_t flow_label{};  // Flow label
  uint16_t payload_length{};  // Bytes after this header to the end of the ICRC
  IpProtocol next_header{};  // Protocol of what follows
  uint8_t hop_limit{};  // Hop limit
  uint8_t source[16]{};  // Source address
  uint8_t destination[16]{};  // Destination address

  static constexpr Ipv6 Decode(const uint8_t* bytes) {
    Ipv6 result;
    result.version = static_cast<uint8_t>(detail::GetNetwork<0, 4>(bytes));
    result.dscp = static_cast<uint8_t>(detail::GetNetwork<4, 6>(bytes));
    result.ecn = static_cast<IpEcn>(detail::GetNetwork<10, 2>(bytes));
    result.flow_label = static_cast<uint32_t>(detail::GetNetwork<12, 20>(bytes));
    result.payload_length = static_cast<uint16_t>(detail::GetNetwork<32, 16>(bytes));
    result.next_header = static_cast<IpProtocol>(detail::GetNetwork<48, 8>(bytes));
    result.hop_limit = static_cast<uint8_t>(detail::GetNetwork<56, 8>(bytes));
    for (size_t i = 0; i < 16; ++i) result.source[i] = static_cast<uint8_t>(detail::GetNetwork<0, 8>(bytes + 8 + i * 1));
    for (size_t i = 0; i < 16; ++i) result.destination[i] = static_cast<uint8_t>(detail::GetNetwork<0, 8>(bytes + 24 + i * 1));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutNetwork<0, 4>(bytes, static_cast<uint64_t>(version));
    detail::PutNetwork<4, 6>(bytes, static_cast<uint64_t>(dscp));
    detail::PutNetwork<10, 2>(bytes, static_cast<uint64_t>(ecn));
    detail::PutNetwork<12, 20>(bytes, static_cast<uint64_t>(flow_label));
    detail::PutNetwork<32, 16>(bytes, static_cast<uint64_t>(payload_length));
    detail::PutNetwork<48, 8>(bytes, static_cast<uint64_t>(next_header));
    detail::PutNetwork<56, 8>(bytes, static_cast<uint64_t>(hop_limit));
    for (size_t i = 0; i < 16; ++i) detail::PutNetwork<0, 8>(bytes + 8 + i * 1, source[i]);
    for (size_t i = 0; i < 16; ++i) detail::PutNetwork<0, 8>(bytes + 24 + i * 1, destination[i]);
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("version", self.version, 4);
    f("dscp", self.dscp, 6);
    f("ecn", self.ecn, 2);
    f("flow_label", self.flow_label, 20);
    f("payload_length", self.payload_length, 16);
    f("next_header", self.next_header, 8);
    f("hop_limit", self.hop_limit, 8);
    for (size_t i = 0; i < 16; ++i) f("source", self.source[i], 8);
    for (size_t i = 0; i < 16; ++i) f("destination", self.destination[i], 8);
  }

  friend constexpr bool operator==(const Ipv6&, const Ipv6&) = default;
};

// UDP header. [RFC 768; IBTA A17.4.3] (wire.toml)
// Network order, 8 bytes.
struct Udp {
  static constexpr size_t kBytes = 8;
  static constexpr size_t kSourcePortOffset = 0;
  static constexpr size_t kDestinationPortOffset = 2;
  static constexpr size_t kLengthOffset = 4;
  static constexpr size_t kChecksumOffset = 6;
  // Bits that the ICRC calculation replaces with ones.
  static constexpr uint8_t kIcrcOnes[kBytes] = {0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff};
  uint16_t source_port{};  // Flow entropy: the same for all packets of a QP
  uint16_t destination_port{};  // `udp_port_rocev2`
  uint16_t length{};  // Bytes from this header to the end of the ICRC
  uint16_t checksum{};  // 0 when sent with IPv4 or IPv6; ignored when received

  static constexpr Udp Decode(const uint8_t* bytes) {
    Udp result;
    result.source_port = static_cast<uint16_t>(detail::GetNetwork<0, 16>(bytes));
    result.destination_port = static_cast<uint16_t>(detail::GetNetwork<16, 16>(bytes));
    result.length = static_cast<uint16_t>(detail::GetNetwork<32, 16>(bytes));
    result.checksum = static_cast<uint16_t>(detail::GetNetwork<48, 16>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutNetwork<0, 16>(bytes, static_cast<uint64_t>(source_port));
    detail::PutNetwork<16, 16>(bytes, static_cast<uint64_t>(destination_port));
    detail::PutNetwork<32, 16>(bytes, static_cast<uint64_t>(length));
    detail::PutNetwork<48, 16>(bytes, static_cast<uint64_t>(checksum));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("source_port", self.source_port, 16);
    f("destination_port", self.destination_port, 16);
    f("length", self.length, 16);
    f("checksum", self.checksum, 16);
  }

  friend constexpr bool operator==(const Udp&, const Udp&) = default;
};

// Global Route Header in a UD receive: the first 40 bytes of its buffer. For IPv4 the last 20 of them hold the IPv4 header and the first 20 are undefined. [IBTA vol. 1, 8.3; A17.4.5.1] (wire.toml)
// Network order, 40 bytes.
struct Grh {
  static constexpr size_t kBytes = 40;
  static constexpr size_t kPayloadLengthOffset = 4;
  static constexpr size_t kNextHeaderOffset = 6;
  static constexpr size_t kHopLimitOffset = 7;
  static constexpr size_t kSgidOffset = 8;
  static constexpr size_t kDgidOffset = 24;
  uint8_t ip_version{};  // 6
  uint8_t traffic_class{};  // Traffic class
  uint32_t flow_label{};  // Flow label
  uint16_t payload_length{};  // Bytes after this header
  uint8_t next_header{};  // Next header
  uint8_t hop_limit{};  // Hop limit
  uint8_t sgid[16]{};  // Source GID
  uint8_t dgid[16]{};  // Destination GID

  static constexpr Grh Decode(const uint8_t* bytes) {
    Grh result;
    result.ip_version = static_cast<uint8_t>(detail::GetNetwork<0, 4>(bytes));
    result.traffic_class = static_cast<uint8_t>(detail::GetNetwork<4, 8>(bytes));
    result.flow_label = static_cast<uint32_t>(detail::GetNetwork<12, 20>(bytes));
    result.payload_length = static_cast<uint16_t>(detail::GetNetwork<32, 16>(bytes));
    result.next_header = static_cast<uint8_t>(detail::GetNetwork<48, 8>(bytes));
    result.hop_limit = static_cast<uint8_t>(detail::GetNetwork<56, 8>(bytes));
    for (size_t i = 0; i < 16; ++i) result.sgid[i] = static_cast<uint8_t>(detail::GetNetwork<0, 8>(bytes + 8 + i * 1));
    for (size_t i = 0; i < 16; ++i) result.dgid[i] = static_cast<uint8_t>(detail::GetNetwork<0, 8>(bytes + 24 + i * 1));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutNetwork<0, 4>(bytes, static_cast<uint64_t>(ip_version));
    detail::PutNetwork<4, 8>(bytes, static_cast<uint64_t>(traffic_class));
    detail::PutNetwork<12, 20>(bytes, static_cast<uint64_t>(flow_label));
    detail::PutNetwork<32, 16>(bytes, static_cast<uint64_t>(payload_length));
    detail::PutNetwork<48, 8>(bytes, static_cast<uint64_t>(next_header));
    detail::PutNetwork<56, 8>(bytes, static_cast<uint64_t>(hop_limit));
    for (size_t i = 0; i < 16; ++i) detail::PutNetwork<0, 8>(bytes + 8 + i * 1, sgid[i]);
    for (size_t i = 0; i < 16; ++i) detail::PutNetwork<0, 8>(bytes + 24 + i * 1, dgid[i]);
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("ip_version", self.ip_version, 4);
    f("traffic_class", self.traffic_class, 8);
    f("flow_label", self.flow_label, 20);
    f("payload_length", self.payload_length, 16);
    f("next_header", self.next_header, 8);
    f("hop_limit", self.hop_limit, 8);
    for (size_t i = 0; i < 16; ++i) f("sgid", self.sgid[i], 8);
    for (size_t i = 0; i < 16; ++i) f("dgid", self.dgid[i], 8);
  }

  friend constexpr bool operator==(const Grh&, const Grh&) = default;
};

// Base Transport Header: first header after UDP in every RoCEv2 packet. [IBTA vol. 1, 9.2; FECN and BECN: A17.9] (wire.toml)
// Network order, 12 bytes.
struct Bth {
  static constexpr size_t kBytes = 12;
  static constexpr size_t kOpcodeOffset = 0;
  static constexpr size_t kPkeyOffset = 2;
  static constexpr size_t kDestQpOffset = 5;
  static constexpr size_t kPsnOffset = 9;
  // Bits that the ICRC calculation replaces with ones.
  static constexpr uint8_t kIcrcOnes[kBytes] = {0x00, 0x00, 0x00, 0x00, 0xff, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00};
  BthOpcode opcode{};  // Service and operation
  bool solicited_event{};  // Solicits a completion event at the receiver
  bool mig_req{};  // Path migration state; sent as 0, both accepted
  uint8_t pad_count{};  // Bytes of padding after the payload (to a multiple of 4)
  uint8_t transport_version{};  // 0
  uint16_t pkey{};  // Partition key
  bool fecn{};  // Forward congestion (the IP ECN field carries it in RoCEv2)
  bool becn{};  // Backward congestion: set in a CNP
  uint8_t reserved{};  // Sent as 0, ignored
  uint32_t dest_qp{};  // Destination queue pair
  bool ack_req{};  // Requests an acknowledge of this packet
  uint8_t reserved1{};  // Sent as 0, ignored, but covered by the ICRC
  uint32_t psn{};  // Packet sequence number

  static constexpr Bth Decode(const uint8_t* bytes) {
    Bth result;
    result.opcode = static_cast<BthOpcode>(detail::GetNetwork<0, 8>(bytes));
    result.solicited_event = static_cast<bool>(detail::GetNetwork<8, 1>(bytes));
    result.mig_req = static_cast<bool>(detail::GetNetwork<9, 1>(bytes));
    result.pad_count = static_cast<uint8_t>(detail::GetNetwork<10, 2>(bytes));
    result.transport_version = static_cast<uint8_t>(detail::GetNetwork<12, 4>(bytes));
    result.pkey = static_cast<uint16_t>(detail::GetNetwork<16, 16>(bytes));
    result.fecn = static_cast<bool>(detail::GetNetwork<32, 1>(bytes));
    result.becn = static_cast<bool>(detail::GetNetwork<33, 1>(bytes));
    result.reserved = static_cast<uint8_t>(detail::GetNetwork<34, 6>(bytes));
    result.dest_qp = static_cast<uint32_t>(detail::GetNetwork<40, 24>(bytes));
    result.ack_req = static_cast<bool>(detail::GetNetwork<64, 1>(bytes));
    result.reserved1 = static_cast<uint8_t>(detail::GetNetwork<65, 7>(bytes));
    result.psn = static_cast<uint32_t>(detail::GetNetwork<72, 24>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutNetwork<0, 8>(bytes, static_cast<uint64_t>(opcode));
    detail::PutNetwork<8, 1>(bytes, static_cast<uint64_t>(solicited_event));
    detail::PutNetwork<9, 1>(bytes, static_cast<uint64_t>(mig_req));
    detail::PutNetwork<10, 2>(bytes, static_cast<uint64_t>(pad_count));
    detail::PutNetwork<12, 4>(bytes, static_cast<uint64_t>(transport_version));
    detail::PutNetwork<16, 16>(bytes, static_cast<uint64_t>(pkey));
    detail::PutNetwork<32, 1>(bytes, static_cast<uint64_t>(fecn));
    detail::PutNetwork<33, 1>(bytes, static_cast<uint64_t>(becn));
    detail::PutNetwork<34, 6>(bytes, static_cast<uint64_t>(reserved));
    detail::PutNetwork<40, 24>(bytes, static_cast<uint64_t>(dest_qp));
    detail::PutNetwork<64, 1>(bytes, static_cast<uint64_t>(ack_req));
    detail::PutNetwork<65, 7>(bytes, static_cast<uint64_t>(reserved1));
    detail::PutNetwork<72, 24>(bytes, static_cast<uint64_t>(psn));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("opcode", self.opcode, 8);
    f("solicited_event", self.solicited_event, 1);
    f("mig_req", self.mig_req, 1);
    f("pad_count", self.pad_count, 2);
    f("transport_version", self.transport_version, 4);
    f("pkey", self.pkey, 16);
    f("fecn", self.fecn, 1);
    f("becn", self.becn, 1);
    f("reserved", self.reserved, 6);
    f("dest_qp", self.dest_qp, 24);
    f("ack_req", self.ack_req, 1);
    f("reserved1", self.reserved1, 7);
    f("psn", self.psn, 24);
  }

  friend constexpr bool operator==(const Bth&, const Bth&) = default;
};

// RDMA Extended Transport Header. [IBTA vol. 1, 9.3.3] (wire.toml)
// Network order, 16 bytes.
struct Reth {
  static constexpr size_t kBytes = 16;
  static constexpr size_t kVirtualAddressOffset = 0;
  static constexpr size_t kRkeyOffset = 8;
  static constexpr size_t kDmaLengthOffset = 12;
  uint64_t virtual_address{};  // Start of the remote buffer
  uint32_t rkey{};  // Remote key of its memory region
  uint32_t dma_length{};  // Bytes of the whole message, 0 … 2^31

  static constexpr Reth Decode(const uint8_t* bytes) {
    Reth result;
    result.virtual_address = static_cast<uint64_t>(detail::GetNetwork<0, 64>(bytes));
    result.rkey = static_cast<uint32_t>(detail::GetNetwork<64, 32>(bytes));
    result.dma_length = static_cast<uint32_t>(detail::GetNetwork<96, 32>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutNetwork<0, 64>(bytes, static_cast<uint64_t>(virtual_address));
    detail::PutNetwork<64, 32>(bytes, static_cast<uint64_t>(rkey));
    detail::PutNetwork<96, 32>(bytes, static_cast<uint64_t>(dma_length));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("virtual_address", self.virtual_address, 64);
    f("rkey", self.rkey, 32);
    f("dma_length", self.dma_length, 32);
  }

  friend constexpr bool operator==(const Reth&, const Reth&) = default;
};

// ACK Extended Transport Header. [IBTA vol. 1, 9.3.5] (wire.toml)
// Network order, 4 bytes.
struct Aeth {
  static constexpr size_t kBytes = 4;
  static constexpr size_t kMsnOffset = 1;
  bool reserved{};  // 0
  AethKind kind{};  // High part of the syndrome
  uint8_t value{};  // Credits (`aeth_credits`), RNR timer (`rnr_timer_ns`) or NAK code (`nak_code`), by kind
  uint32_t msn{};  // Message sequence number: messages completed, modulo 2^24

  static constexpr Aeth Decode(const uint8_t* bytes) {
    Aeth result;
    result.reserved = static_cast<bool>(detail::GetNetwork<0, 1>(bytes));
    result.kind = static_cast<AethKind>(detail::GetNetwork<1, 2>(bytes));
    result.value = static_cast<uint8_t>(detail::GetNetwork<3, 5>(bytes));
    result.msn = static_cast<uint32_t>(detail::GetNetwork<8, 24>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutNetwork<0, 1>(bytes, static_cast<uint64_t>(reserved));
    detail::PutNetwork<1, 2>(bytes, static_cast<uint64_t>(kind));
    detail::PutNetwork<3, 5>(bytes, static_cast<uint64_t>(value));
    detail::PutNetwork<8, 24>(bytes, static_cast<uint64_t>(msn));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("reserved", self.reserved, 1);
    f("kind", self.kind, 2);
    f("value", self.value, 5);
    f("msn", self.msn, 24);
  }

  friend constexpr bool operator==(const Aeth&, const Aeth&) = default;
};

// Datagram Extended Transport Header. [IBTA vol. 1, 9.3.2] (wire.toml)
// Network order, 8 bytes.
struct Deth {
  static constexpr size_t kBytes = 8;
  static constexpr size_t kQkeyOffset = 0;
  static constexpr size_t kSourceQpOffset = 5;
  uint32_t qkey{};  // Queue key
  uint8_t reserved{};  // 0
  uint32_t source_qp{};  // Sender's queue pair

  static constexpr Deth Decode(const uint8_t* bytes) {
    Deth result;
    result.qkey = static_cast<uint32_t>(detail::GetNetwork<0, 32>(bytes));
    result.reserved = static_cast<uint8_t>(detail::GetNetwork<32, 8>(bytes));
    result.source_qp = static_cast<uint32_t>(detail::GetNetwork<40, 24>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutNetwork<0, 32>(bytes, static_cast<uint64_t>(qkey));
    detail::PutNetwork<32, 8>(bytes, static_cast<uint64_t>(reserved));
    detail::PutNetwork<40, 24>(bytes, static_cast<uint64_t>(source_qp));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("qkey", self.qkey, 32);
    f("reserved", self.reserved, 8);
    f("source_qp", self.source_qp, 24);
  }

  friend constexpr bool operator==(const Deth&, const Deth&) = default;
};

// Immediate data: four opaque bytes, delivered in the receiver's completion in wire order. [IBTA vol. 1, 9.3.6] (wire.toml)
// Network order, 4 bytes.
struct Immdt {
  static constexpr size_t kBytes = 4;
  static constexpr size_t kImmediateDataOffset = 0;
  uint8_t immediate_data[4]{};  // As sent

  static constexpr Immdt Decode(const uint8_t* bytes) {
    Immdt result;
    for (size_t i = 0; i < 4; ++i) result.immediate_data[i] = static_cast<uint8_t>(detail::GetNetwork<0, 8>(bytes + 0 + i * 1));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    for (size_t i = 0; i < 4; ++i) detail::PutNetwork<0, 8>(bytes + 0 + i * 1, immediate_data[i]);
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    for (size_t i = 0; i < 4; ++i) f("immediate_data", self.immediate_data[i], 8);
  }

  friend constexpr bool operator==(const Immdt&, const Immdt&) = default;
};

// Invalidate Extended Transport Header. [IBTA vol. 1, 9.3.7] (wire.toml)
// Network order, 4 bytes.
struct Ieth {
  static constexpr size_t kBytes = 4;
  static constexpr size_t kRkeyOffset = 0;
  uint32_t rkey{};  // Key that the receiver shall invalidate

  static constexpr Ieth Decode(const uint8_t* bytes) {
    Ieth result;
    result.rkey = static_cast<uint32_t>(detail::GetNetwork<0, 32>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutNetwork<0, 32>(bytes, static_cast<uint64_t>(rkey));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("rkey", self.rkey, 32);
  }

  friend constexpr bool operator==(const Ieth&, const Ieth&) = default;
};

// Atomic Extended Transport Header. [IBTA vol. 1, 9.3.4] (wire.toml)
// Network order, 28 bytes.
struct AtomicEth {
  static constexpr size_t kBytes = 28;
  static constexpr size_t kVirtualAddressOffset = 0;
  static constexpr size_t kRkeyOffset = 8;
  static constexpr size_t kSwapAddDataOffset = 12;
  static constexpr size_t kCompareDataOffset = 20;
  uint64_t virtual_address{};  // 8-byte aligned address of the operand
  uint32_t rkey{};  // Remote key of its memory region
  uint64_t swap_add_data{};  // Value to store or to add
  uint64_t compare_data{};  // Value to compare with

  static constexpr AtomicEth Decode(const uint8_t* bytes) {
    AtomicEth result;
    result.virtual_address = static_cast<uint64_t>(detail::GetNetwork<0, 64>(bytes));
    result.rkey = static_cast<uint32_t>(detail::GetNetwork<64, 32>(bytes));
    result.swap_add_data = static_cast<uint64_t>(detail::GetNetwork<96, 64>(bytes));
    result.compare_data = static_cast<uint64_t>(detail::GetNetwork<160, 64>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutNetwork<0, 64>(bytes, static_cast<uint64_t>(virtual_address));
    detail::PutNetwork<64, 32>(bytes, static_cast<uint64_t>(rkey));
    detail::PutNetwork<96, 64>(bytes, static_cast<uint64_t>(swap_add_data));
    detail::PutNetwork<160, 64>(bytes, static_cast<uint64_t>(compare_data));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("virtual_address", self.virtual_address, 64);
    f("rkey", self.rkey, 32);
    f("swap_add_data", self.swap_add_data, 64);
    f("compare_data", self.compare_data, 64);
  }

  friend constexpr bool operator==(const AtomicEth&, const AtomicEth&) = default;
};

// Atomic Acknowledge Extended Transport Header. [IBTA vol. 1, 9.3.5.3] (wire.toml)
// Network order, 8 bytes.
struct AtomicAckEth {
  static constexpr size_t kBytes = 8;
  static constexpr size_t kOriginalDataOffset = 0;
  uint64_t original_data{};  // Operand before the operation

  static constexpr AtomicAckEth Decode(const uint8_t* bytes) {
    AtomicAckEth result;
    result.original_data = static_cast<uint64_t>(detail::GetNetwork<0, 64>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutNetwork<0, 64>(bytes, static_cast<uint64_t>(original_data));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("original_data", self.original_data, 64);
  }

  friend constexpr bool operator==(const AtomicAckEth&, const AtomicAckEth&) = default;
};

// FLUSH Extended Transport Header. [IBTA vol. 1 (1.6), A19.4.1] (wire.toml)
// Network order, 4 bytes.
struct Feth {
  static constexpr size_t kBytes = 4;
  uint32_t reserved{};  // 0
  uint8_t reserved1{};  // 0
  FlushSelectivity selectivity{};  // What shall be flushed
  uint8_t placement{};  // How far; flags: FlushPlacement

  static constexpr Feth Decode(const uint8_t* bytes) {
    Feth result;
    result.reserved = static_cast<uint32_t>(detail::GetNetwork<0, 24>(bytes));
    result.reserved1 = static_cast<uint8_t>(detail::GetNetwork<24, 2>(bytes));
    result.selectivity = static_cast<FlushSelectivity>(detail::GetNetwork<26, 2>(bytes));
    result.placement = static_cast<uint8_t>(detail::GetNetwork<28, 4>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutNetwork<0, 24>(bytes, static_cast<uint64_t>(reserved));
    detail::PutNetwork<24, 2>(bytes, static_cast<uint64_t>(reserved1));
    detail::PutNetwork<26, 2>(bytes, static_cast<uint64_t>(selectivity));
    detail::PutNetwork<28, 4>(bytes, static_cast<uint64_t>(placement));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("reserved", self.reserved, 24);
    f("reserved1", self.reserved1, 2);
    f("selectivity", self.selectivity, 2);
    f("placement", self.placement, 4);
  }

  friend constexpr bool operator==(const Feth&, const Feth&) = default;
};

// Version of this register block; firmware refuses another major number (csr.toml)
// Little-endian, 4 bytes.
struct MgmtVersion {
  static constexpr size_t kBytes = 4;
  static constexpr size_t kMinorOffset = 0;
  static constexpr size_t kMajorOffset = 2;
  uint16_t minor{};  // Compatible additions
  uint16_t major{};  // Incompatible changes

  static constexpr MgmtVersion Decode(const uint8_t* bytes) {
    MgmtVersion result;
    result.minor = static_cast<uint16_t>(detail::GetLittle<0, 16>(bytes));
    result.major = static_cast<uint16_t>(detail::GetLittle<16, 16>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 16>(bytes, static_cast<uint64_t>(minor));
    detail::PutLittle<16, 16>(bytes, static_cast<uint64_t>(major));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("minor", self.minor, 16);
    f("major", self.major, 16);
  }
  static constexpr MgmtVersion FromWord(uint32_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 32>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint32_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
  }

  friend constexpr bool operator==(const MgmtVersion&, const MgmtVersion&) = default;
};

// ABI profile towards the host; may change only while the virtio device is reset (csr.toml)
// Little-endian, 4 bytes.
struct MgmtAbiProfile {
  static constexpr size_t kBytes = 4;
  bool profile{};  // `profile`: 0 rfc-v2, 1 vireo
  uint32_t reserved{};  // 0

  static constexpr MgmtAbiProfile Decode(const uint8_t* bytes) {
    MgmtAbiProfile result;
    result.profile = static_cast<bool>(detail::GetLittle<0, 1>(bytes));
    result.reserved = static_cast<uint32_t>(detail::GetLittle<1, 31>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 1>(bytes, static_cast<uint64_t>(profile));
    detail::PutLittle<1, 31>(bytes, static_cast<uint64_t>(reserved));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("profile", self.profile, 1);
    f("reserved", self.reserved, 31);
  }
  static constexpr MgmtAbiProfile FromWord(uint32_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 32>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint32_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
  }

  friend constexpr bool operator==(const MgmtAbiProfile&, const MgmtAbiProfile&) = default;
};

// Switches that firmware sets (csr.toml)
// Little-endian, 4 bytes.
struct MgmtControl {
  static constexpr size_t kBytes = 4;
  bool firmware_ready{};  // Firmware serves control commands. After a hardware reset the driver's reset does not end before: what is offered depends on the profile
  bool datapath_enable{};  // Frames, doorbells and timers are served
  bool link_up{};  // VIRTIO_NET_S_LINK_UP as the host reads it
  bool announce{};  // VIRTIO_NET_S_ANNOUNCE as the host reads it
  bool pause{};  // Quiesce: no new work is started, work in flight drains (status.quiet), arriving frames wait
  uint32_t reserved{};  // 0

  static constexpr MgmtControl Decode(const uint8_t* bytes) {
    MgmtControl result;
    result.firmware_ready = static_cast<bool>(detail::GetLittle<0, 1>(bytes));
    result.datapath_enable = static_cast<bool>(detail::GetLittle<1, 1>(bytes));
    result.link_up = static_cast<bool>(detail::GetLittle<2, 1>(bytes));
    result.announce = static_cast<bool>(detail::GetLittle<3, 1>(bytes));
    result.pause = static_cast<bool>(detail::GetLittle<4, 1>(bytes));
    result.reserved = static_cast<uint32_t>(detail::GetLittle<5, 27>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 1>(bytes, static_cast<uint64_t>(firmware_ready));
    detail::PutLittle<1, 1>(bytes, static_cast<uint64_t>(datapath_enable));
    detail::PutLittle<2, 1>(bytes, static_cast<uint64_t>(link_up));
    detail::PutLittle<3, 1>(bytes, static_cast<uint64_t>(announce));
    detail::PutLittle<4, 1>(bytes, static_cast<uint64_t>(pause));
    detail::PutLittle<5, 27>(bytes, static_cast<uint64_t>(reserved));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("firmware_ready", self.firmware_ready, 1);
    f("datapath_enable", self.datapath_enable, 1);
    f("link_up", self.link_up, 1);
    f("announce", self.announce, 1);
    f("pause", self.pause, 1);
    f("reserved", self.reserved, 27);
  }
  static constexpr MgmtControl FromWord(uint32_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 32>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint32_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
  }

  friend constexpr bool operator==(const MgmtControl&, const MgmtControl&) = default;
};

// State of the datapath (csr.toml)
// Little-endian, 4 bytes.
struct MgmtStatus {
  static constexpr size_t kBytes = 4;
  static constexpr size_t kDeviceStatusOffset = 1;
  static constexpr size_t kDmaOutstandingOffset = 2;
  bool idle{};  // Nothing in flight: no queue, buffer, DMA tag or timer has work due now
  bool mac_link{};  // The MAC has a link
  bool quiet{};  // Nothing in flight between queues and wire or towards host memory; waiting work does not count
  bool event_full{};  // No room for an event: one that event_push sends now is lost
  uint8_t reserved{};  // 0
  uint8_t device_status{};  // virtio device status as the driver left it
  uint16_t dma_outstanding{};  // DMA reads without completion

  static constexpr MgmtStatus Decode(const uint8_t* bytes) {
    MgmtStatus result;
    result.idle = static_cast<bool>(detail::GetLittle<0, 1>(bytes));
    result.mac_link = static_cast<bool>(detail::GetLittle<1, 1>(bytes));
    result.quiet = static_cast<bool>(detail::GetLittle<2, 1>(bytes));
    result.event_full = static_cast<bool>(detail::GetLittle<3, 1>(bytes));
    result.reserved = static_cast<uint8_t>(detail::GetLittle<4, 4>(bytes));
    result.device_status = static_cast<uint8_t>(detail::GetLittle<8, 8>(bytes));
    result.dma_outstanding = static_cast<uint16_t>(detail::GetLittle<16, 16>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 1>(bytes, static_cast<uint64_t>(idle));
    detail::PutLittle<1, 1>(bytes, static_cast<uint64_t>(mac_link));
    detail::PutLittle<2, 1>(bytes, static_cast<uint64_t>(quiet));
    detail::PutLittle<3, 1>(bytes, static_cast<uint64_t>(event_full));
    detail::PutLittle<4, 4>(bytes, static_cast<uint64_t>(reserved));
    detail::PutLittle<8, 8>(bytes, static_cast<uint64_t>(device_status));
    detail::PutLittle<16, 16>(bytes, static_cast<uint64_t>(dma_outstanding));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("idle", self.idle, 1);
    f("mac_link", self.mac_link, 1);
    f("quiet", self.quiet, 1);
    f("event_full", self.event_full, 1);
    f("reserved", self.reserved, 4);
    f("device_status", self.device_status, 8);
    f("dma_outstanding", self.dma_outstanding, 16);
  }
  static constexpr MgmtStatus FromWord(uint32_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 32>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint32_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
  }

  friend constexpr bool operator==(const MgmtStatus&, const MgmtStatus&) = default;
};

// Interrupt causes for firmware (csr.toml)
// Little-endian, 4 bytes.
struct MgmtInterruptCause {
  static constexpr size_t kBytes = 4;
  bool mailbox_request{};  // A control command waits in the mailbox
  bool device_reset{};  // The driver wrote 0 to device_status
  bool features_written{};  // The driver set FEATURES_OK
  bool driver_ok{};  // The driver set DRIVER_OK
  bool queue_reset{};  // The driver wrote 1 to a queue_reset; the queue is in queue_reset_index
  bool link_change{};  // status.mac_link changed
  bool qp_done{};  // A qp_command has finished
  bool fatal{};  // fatal_cause is not 0
  uint32_t reserved{};  // 0

  static constexpr MgmtInterruptCause Decode(const uint8_t* bytes) {
    MgmtInterruptCause result;
    result.mailbox_request = static_cast<bool>(detail::GetLittle<0, 1>(bytes));
    result.device_reset = static_cast<bool>(detail::GetLittle<1, 1>(bytes));
    result.features_written = static_cast<bool>(detail::GetLittle<2, 1>(bytes));
    result.driver_ok = static_cast<bool>(detail::GetLittle<3, 1>(bytes));
    result.queue_reset = static_cast<bool>(detail::GetLittle<4, 1>(bytes));
    result.link_change = static_cast<bool>(detail::GetLittle<5, 1>(bytes));
    result.qp_done = static_cast<bool>(detail::GetLittle<6, 1>(bytes));
    result.fatal = static_cast<bool>(detail::GetLittle<7, 1>(bytes));
    result.reserved = static_cast<uint32_t>(detail::GetLittle<8, 24>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 1>(bytes, static_cast<uint64_t>(mailbox_request));
    detail::PutLittle<1, 1>(bytes, static_cast<uint64_t>(device_reset));
    detail::PutLittle<2, 1>(bytes, static_cast<uint64_t>(features_written));
    detail::PutLittle<3, 1>(bytes, static_cast<uint64_t>(driver_ok));
    detail::PutLittle<4, 1>(bytes, static_cast<uint64_t>(queue_reset));
    detail::PutLittle<5, 1>(bytes, static_cast<uint64_t>(link_change));
    detail::PutLittle<6, 1>(bytes, static_cast<uint64_t>(qp_done));
    detail::PutLittle<7, 1>(bytes, static_cast<uint64_t>(fatal));
    detail::PutLittle<8, 24>(bytes, static_cast<uint64_t>(reserved));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("mailbox_request", self.mailbox_request, 1);
    f("device_reset", self.device_reset, 1);
    f("features_written", self.features_written, 1);
    f("driver_ok", self.driver_ok, 1);
    f("queue_reset", self.queue_reset, 1);
    f("link_change", self.link_change, 1);
    f("qp_done", self.qp_done, 1);
    f("fatal", self.fatal, 1);
    f("reserved", self.reserved, 24);
  }
  static constexpr MgmtInterruptCause FromWord(uint32_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 32>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint32_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
  }

  friend constexpr bool operator==(const MgmtInterruptCause&, const MgmtInterruptCause&) = default;
};

// The command at the head of the control queue (csr.toml)
// Little-endian, 4 bytes.
struct MgmtMailboxStatus {
  static constexpr size_t kBytes = 4;
  bool request{};  // A command waits
  bool busy{};  // A fetch or completion is in progress
  bool dma_error{};  // The last fetch failed
  uint32_t reserved{};  // 0

  static constexpr MgmtMailboxStatus Decode(const uint8_t* bytes) {
    MgmtMailboxStatus result;
    result.request = static_cast<bool>(detail::GetLittle<0, 1>(bytes));
    result.busy = static_cast<bool>(detail::GetLittle<1, 1>(bytes));
    result.dma_error = static_cast<bool>(detail::GetLittle<2, 1>(bytes));
    result.reserved = static_cast<uint32_t>(detail::GetLittle<3, 29>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 1>(bytes, static_cast<uint64_t>(request));
    detail::PutLittle<1, 1>(bytes, static_cast<uint64_t>(busy));
    detail::PutLittle<2, 1>(bytes, static_cast<uint64_t>(dma_error));
    detail::PutLittle<3, 29>(bytes, static_cast<uint64_t>(reserved));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("request", self.request, 1);
    f("busy", self.busy, 1);
    f("dma_error", self.dma_error, 1);
    f("reserved", self.reserved, 29);
  }
  static constexpr MgmtMailboxStatus FromWord(uint32_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 32>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint32_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
  }

  friend constexpr bool operator==(const MgmtMailboxStatus&, const MgmtMailboxStatus&) = default;
};

// A write starts the operation on table_index; busy until it is done, in order with the datapath's own accesses; of a memory region, until accesses that the old entry granted have ended (csr.toml)
// Little-endian, 4 bytes.
struct MgmtTableCommand {
  static constexpr size_t kBytes = 4;
  static constexpr size_t kTableIdOffset = 0;
  MgmtTable table_id{};  // Which table
  MgmtTableOperation operation{};  // What to do
  uint32_t reserved{};  // 0
  bool error{};  // Reads 1: the last operation named a table or index that does not exist, read an entry of which nothing is kept, or one with bad parity (table_data is then 0)
  bool busy{};  // Reads 1 until the operation is done

  static constexpr MgmtTableCommand Decode(const uint8_t* bytes) {
    MgmtTableCommand result;
    result.table_id = static_cast<MgmtTable>(detail::GetLittle<0, 8>(bytes));
    result.operation = static_cast<MgmtTableOperation>(detail::GetLittle<8, 2>(bytes));
    result.reserved = static_cast<uint32_t>(detail::GetLittle<10, 20>(bytes));
    result.error = static_cast<bool>(detail::GetLittle<30, 1>(bytes));
    result.busy = static_cast<bool>(detail::GetLittle<31, 1>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 8>(bytes, static_cast<uint64_t>(table_id));
    detail::PutLittle<8, 2>(bytes, static_cast<uint64_t>(operation));
    detail::PutLittle<10, 20>(bytes, static_cast<uint64_t>(reserved));
    detail::PutLittle<30, 1>(bytes, static_cast<uint64_t>(error));
    detail::PutLittle<31, 1>(bytes, static_cast<uint64_t>(busy));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("table_id", self.table_id, 8);
    f("operation", self.operation, 2);
    f("reserved", self.reserved, 20);
    f("error", self.error, 1);
    f("busy", self.busy, 1);
  }
  static constexpr MgmtTableCommand FromWord(uint32_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 32>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint32_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
  }

  friend constexpr bool operator==(const MgmtTableCommand&, const MgmtTableCommand&) = default;
};

// A write starts an operation on one QP; one at a time (csr.toml)
// Little-endian, 4 bytes.
struct MgmtQpCommand {
  static constexpr size_t kBytes = 4;
  static constexpr size_t kQpnOffset = 0;
  uint32_t qpn{};  // Queue pair
  QpOperation operation{};  // What to do
  uint8_t reserved{};  // 0
  bool busy{};  // Reads 1 until the operation is done

  static constexpr MgmtQpCommand Decode(const uint8_t* bytes) {
    MgmtQpCommand result;
    result.qpn = static_cast<uint32_t>(detail::GetLittle<0, 24>(bytes));
    result.operation = static_cast<QpOperation>(detail::GetLittle<24, 3>(bytes));
    result.reserved = static_cast<uint8_t>(detail::GetLittle<27, 4>(bytes));
    result.busy = static_cast<bool>(detail::GetLittle<31, 1>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 24>(bytes, static_cast<uint64_t>(qpn));
    detail::PutLittle<24, 3>(bytes, static_cast<uint64_t>(operation));
    detail::PutLittle<27, 4>(bytes, static_cast<uint64_t>(reserved));
    detail::PutLittle<31, 1>(bytes, static_cast<uint64_t>(busy));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("qpn", self.qpn, 24);
    f("operation", self.operation, 3);
    f("reserved", self.reserved, 4);
    f("busy", self.busy, 1);
  }
  static constexpr MgmtQpCommand FromWord(uint32_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 32>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint32_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
  }

  friend constexpr bool operator==(const MgmtQpCommand&, const MgmtQpCommand&) = default;
};

// The entry for flip_bit (csr.toml)
// Little-endian, 4 bytes.
struct MgmtFlipEntry {
  static constexpr size_t kBytes = 4;
  static constexpr size_t kIndexOffset = 0;
  static constexpr size_t kRamOffset = 3;
  uint32_t index{};  // Entry of the memory, numbered as in its table; of management_context its word
  ContextRam ram{};  // Which memory

  static constexpr MgmtFlipEntry Decode(const uint8_t* bytes) {
    MgmtFlipEntry result;
    result.index = static_cast<uint32_t>(detail::GetLittle<0, 24>(bytes));
    result.ram = static_cast<ContextRam>(detail::GetLittle<24, 8>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 24>(bytes, static_cast<uint64_t>(index));
    detail::PutLittle<24, 8>(bytes, static_cast<uint64_t>(ram));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("index", self.index, 24);
    f("ram", self.ram, 8);
  }
  static constexpr MgmtFlipEntry FromWord(uint32_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 32>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint32_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
  }

  friend constexpr bool operator==(const MgmtFlipEntry&, const MgmtFlipEntry&) = default;
};

// Receive modes of the net path, as set by the RX control class (csr.toml)
// Little-endian, 4 bytes.
struct MgmtRxMode {
  static constexpr size_t kBytes = 4;
  bool promiscuous{};  // Everything
  bool all_multicast{};  // Every multicast frame
  bool all_unicast{};  // Every unicast frame
  bool no_multicast{};  // No multicast frame
  bool no_unicast{};  // No unicast frame
  bool no_broadcast{};  // No broadcast frame
  bool vlan_filter{};  // Only VLANs of the filter table
  uint32_t reserved{};  // 0

  static constexpr MgmtRxMode Decode(const uint8_t* bytes) {
    MgmtRxMode result;
    result.promiscuous = static_cast<bool>(detail::GetLittle<0, 1>(bytes));
    result.all_multicast = static_cast<bool>(detail::GetLittle<1, 1>(bytes));
    result.all_unicast = static_cast<bool>(detail::GetLittle<2, 1>(bytes));
    result.no_multicast = static_cast<bool>(detail::GetLittle<3, 1>(bytes));
    result.no_unicast = static_cast<bool>(detail::GetLittle<4, 1>(bytes));
    result.no_broadcast = static_cast<bool>(detail::GetLittle<5, 1>(bytes));
    result.vlan_filter = static_cast<bool>(detail::GetLittle<6, 1>(bytes));
    result.reserved = static_cast<uint32_t>(detail::GetLittle<7, 25>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 1>(bytes, static_cast<uint64_t>(promiscuous));
    detail::PutLittle<1, 1>(bytes, static_cast<uint64_t>(all_multicast));
    detail::PutLittle<2, 1>(bytes, static_cast<uint64_t>(all_unicast));
    detail::PutLittle<3, 1>(bytes, static_cast<uint64_t>(no_multicast));
    detail::PutLittle<4, 1>(bytes, static_cast<uint64_t>(no_unicast));
    detail::PutLittle<5, 1>(bytes, static_cast<uint64_t>(no_broadcast));
    detail::PutLittle<6, 1>(bytes, static_cast<uint64_t>(vlan_filter));
    detail::PutLittle<7, 25>(bytes, static_cast<uint64_t>(reserved));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("promiscuous", self.promiscuous, 1);
    f("all_multicast", self.all_multicast, 1);
    f("all_unicast", self.all_unicast, 1);
    f("no_multicast", self.no_multicast, 1);
    f("no_unicast", self.no_unicast, 1);
    f("no_broadcast", self.no_broadcast, 1);
    f("vlan_filter", self.vlan_filter, 1);
    f("reserved", self.reserved, 25);
  }
  static constexpr MgmtRxMode FromWord(uint32_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 32>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint32_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
  }

  friend constexpr bool operator==(const MgmtRxMode&, const MgmtRxMode&) = default;
};

// Sends a byte to the console; stands still while the one before is being sent (processor.toml)
// Little-endian, 4 bytes.
struct ProcessorConsole {
  static constexpr size_t kBytes = 4;
  static constexpr size_t kCharacterOffset = 0;
  uint8_t character{};  // 8 bits, no parity, 1 stop bit
  uint32_t reserved{};  // 0

  static constexpr ProcessorConsole Decode(const uint8_t* bytes) {
    ProcessorConsole result;
    result.character = static_cast<uint8_t>(detail::GetLittle<0, 8>(bytes));
    result.reserved = static_cast<uint32_t>(detail::GetLittle<8, 24>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 8>(bytes, static_cast<uint64_t>(character));
    detail::PutLittle<8, 24>(bytes, static_cast<uint64_t>(reserved));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("character", self.character, 8);
    f("reserved", self.reserved, 24);
  }
  static constexpr ProcessorConsole FromWord(uint32_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 32>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint32_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
  }

  friend constexpr bool operator==(const ProcessorConsole&, const ProcessorConsole&) = default;
};

// Why the processor stopped last, since its power came up (processor.toml)
// Little-endian, 4 bytes.
struct ProcessorLastFailure {
  static constexpr size_t kBytes = 4;
  static constexpr size_t kCauseOffset = 0;
  ProcessorFailure cause{};  // The cause
  uint32_t reserved{};  // 0

  static constexpr ProcessorLastFailure Decode(const uint8_t* bytes) {
    ProcessorLastFailure result;
    result.cause = static_cast<ProcessorFailure>(detail::GetLittle<0, 8>(bytes));
    result.reserved = static_cast<uint32_t>(detail::GetLittle<8, 24>(bytes));
    return result;
  }
  constexpr void Encode(uint8_t* bytes) const {
    detail::Clear(bytes, kBytes);
    detail::PutLittle<0, 8>(bytes, static_cast<uint64_t>(cause));
    detail::PutLittle<8, 24>(bytes, static_cast<uint64_t>(reserved));
  }
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("cause", self.cause, 8);
    f("reserved", self.reserved, 24);
  }
  static constexpr ProcessorLastFailure FromWord(uint32_t word) {
    uint8_t bytes[kBytes]{};
    detail::PutLittle<0, 32>(bytes, word);
    return Decode(bytes);
  }
  constexpr uint32_t ToWord() const {
    uint8_t bytes[kBytes]{};
    Encode(bytes);
    return static_cast<uint32_t>(detail::GetLittle<0, 32>(bytes));
  }

  friend constexpr bool operator==(const ProcessorLastFailure&, const ProcessorLastFailure&) = default;
};

// A client's read: 1 to 4096 bytes at any address. The tag returns with the data. (tokens.toml)
struct DmaReadRequest {
  static constexpr size_t kBits = 85;
  uint64_t address{};  // First byte
  uint16_t bytes{};  // 1 to 4096
  uint8_t tag{};  // The client's
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("address", self.address, 64);
    f("bytes", self.bytes, 13);
    f("tag", self.tag, 8);
  }

  friend constexpr bool operator==(const DmaReadRequest&, const DmaReadRequest&) = default;
};

// Response to a small read. (tokens.toml)
struct DmaFetched {
  static constexpr size_t kBits = 522;
  uint8_t tag{};  // Of the request
  uint8_t resp{};  // axi_resp_e; not okay: the data is undefined
  uint8_t data[64]{};  // From the first byte; zero after the last
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("tag", self.tag, 8);
    f("resp", self.resp, 2);
    for (size_t i = 64; i-- > 0;) f("data", self.data[i], 8);
  }

  friend constexpr bool operator==(const DmaFetched&, const DmaFetched&) = default;
};

// A small write. (tokens.toml)
struct DmaStore {
  static constexpr size_t kBits = 592;
  uint64_t address{};  // First byte
  uint8_t bytes{};  // 1 to 64
  bool notify{};  // Report completion (dma_done) on success, too
  uint8_t tag{};  // The client's
  uint8_t data[64]{};  // From the first byte
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("address", self.address, 64);
    f("bytes", self.bytes, 7);
    f("notify", self.notify, 1);
    f("tag", self.tag, 8);
    for (size_t i = 64; i-- > 0;) f("data", self.data[i], 8);
  }

  friend constexpr bool operator==(const DmaStore&, const DmaStore&) = default;
};

// A client's write, sent with the first beat of its data: 1 to 4096 bytes at any address. (tokens.toml)
struct DmaWriteRequest {
  static constexpr size_t kBits = 86;
  uint64_t address{};  // First byte
  uint16_t bytes{};  // 1 to 4096
  bool notify{};  // Report completion (dma_done) on success, too
  uint8_t tag{};  // The client's
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("address", self.address, 64);
    f("bytes", self.bytes, 13);
    f("notify", self.notify, 1);
    f("tag", self.tag, 8);
  }

  friend constexpr bool operator==(const DmaWriteRequest&, const DmaWriteRequest&) = default;
};

// A write of this client has completed: it was requested with notify, or it failed. (tokens.toml)
struct DmaDone {
  static constexpr size_t kBits = 10;
  uint8_t tag{};  // Of the request
  uint8_t resp{};  // axi_resp_e
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("tag", self.tag, 8);
    f("resp", self.resp, 2);
  }

  friend constexpr bool operator==(const DmaDone&, const DmaDone&) = default;
};

// Host access to a BAR: one per cycle, always accepted. Read data returns in order, after bar_read_latency. (tokens.toml)
struct BarAccess {
  static constexpr size_t kBits = 104;
  bool write{};  // 1: write, 0: read
  uint8_t bar_index{};  // BAR register: bar_virtio or bar_msix
  uint32_t offset{};  // First byte, from the start of the BAR
  uint8_t bytes{};  // 1, 2, 4 or 8
  uint64_t data{};  // Write data, from bit 0
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("write", self.write, 1);
    f("bar_index", self.bar_index, 3);
    f("offset", self.offset, 32);
    f("bytes", self.bytes, 4);
    f("data", self.data, 64);
  }

  friend constexpr bool operator==(const BarAccess&, const BarAccess&) = default;
};

// Firmware's write of a table entry, broadcast to all blocks in one cycle. An entry shorter than 128 bytes occupies the low ones. (tokens.toml)
struct TableWrite {
  static constexpr size_t kBits = 1056;
  MgmtTable table_id{};  // Which table
  uint32_t index{};  // Entry number; always in range
  uint8_t data[128]{};  // The entry; all zero for a clear
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("table_id", self.table_id, 8);
    f("index", self.index, 24);
    for (size_t i = 128; i-- > 0;) f("data", self.data[i], 8);
  }

  friend constexpr bool operator==(const TableWrite&, const TableWrite&) = default;
};

// Request to flip one bit of a context memory, broadcast to all blocks in one cycle (mgmt.flip_bit). (tokens.toml)
struct ContextFlip {
  static constexpr size_t kBits = 42;
  ContextRam ram{};  // Which memory
  uint32_t index{};  // Entry number; may be out of range
  uint16_t bit_index{};  // Bit number; beyond the last one: the parity bit
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("ram", self.ram, 8);
    f("index", self.index, 24);
    f("bit_index", self.bit_index, 10);
  }

  friend constexpr bool operator==(const ContextFlip&, const ContextFlip&) = default;
};

// The host's configuration of a virtqueue, broadcast to all blocks when the queue is enabled and when it is reset (queue or device reset). (tokens.toml)
struct QueueRowWrite {
  static constexpr size_t kBits = 241;
  uint16_t vq_index{};  // Virtqueue
  bool enabled{};  // 0: every other field is 0
  uint16_t queue_size{};  // Entries
  uint16_t msix_vector{};  // Or virtio_msi_no_vector
  uint64_t queue_desc{};  // Descriptor area
  uint64_t queue_driver{};  // Driver area
  uint64_t queue_device{};  // Device area
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("vq_index", self.vq_index, 16);
    f("enabled", self.enabled, 1);
    f("queue_size", self.queue_size, 16);
    f("msix_vector", self.msix_vector, 16);
    f("queue_desc", self.queue_desc, 64);
    f("queue_driver", self.queue_driver, 64);
    f("queue_device", self.queue_device, 64);
  }

  friend constexpr bool operator==(const QueueRowWrite&, const QueueRowWrite&) = default;
};

// New state of a QP, effective at once, broadcast to all blocks in one cycle. (tokens.toml)
struct QpStateWrite {
  static constexpr size_t kBits = 28;
  uint32_t qpn{};  // Queue pair
  IbQpState state{};  // New state
  bool clear{};  // 1: discard all state of this QP
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("qpn", self.qpn, 24);
    f("state", self.state, 3);
    f("clear", self.clear, 1);
  }

  friend constexpr bool operator==(const QpStateWrite&, const QpStateWrite&) = default;
};

// Firmware initializes one half of a QP: all its state is as after RESET, with this PSN. (tokens.toml)
struct QpLoad {
  static constexpr size_t kBits = 48;
  uint32_t qpn{};  // Queue pair
  uint32_t psn{};  // Requester: PSN of the next packet; responder: expected PSN
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("qpn", self.qpn, 24);
    f("psn", self.psn, 24);
  }

  friend constexpr bool operator==(const QpLoad&, const QpLoad&) = default;
};

// A qp_command of firmware, passed to QP control. (tokens.toml)
struct QpOrder {
  static constexpr size_t kBits = 27;
  uint32_t qpn{};  // Queue pair
  QpOperation operation{};  // What to do
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("qpn", self.qpn, 24);
    f("operation", self.operation, 3);
  }

  friend constexpr bool operator==(const QpOrder&, const QpOrder&) = default;
};

// A pulse: a qp_order has completed, or a drain has finished. (tokens.toml)
struct QpDone {
  static constexpr size_t kBits = 1;
  bool is_drain{};  // It was a drain; possibly one that a later order superseded
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("is_drain", self.is_drain, 1);
  }

  friend constexpr bool operator==(const QpDone&, const QpDone&) = default;
};

// A pulse: how many send work requests of a QP the send queue has started to fetch and are not complete. (tokens.toml)
struct QpSends {
  static constexpr size_t kBits = 40;
  uint32_t qpn{};  // Queue pair
  uint16_t outstanding{};  // Work requests; an outstanding fetch counts as the most that it can return
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("qpn", self.qpn, 24);
    f("outstanding", self.outstanding, 16);
  }

  friend constexpr bool operator==(const QpSends&, const QpSends&) = default;
};

// A pulse: a packet with ack_req leaves for the wire; a response to everything up to `psn` can be expected from now on. (tokens.toml)
struct QpSent {
  static constexpr size_t kBits = 56;
  uint32_t qpn{};  // Queue pair that sends it
  uint32_t psn{};  // tx_packet's last_psn
  uint8_t epoch{};  // tx_packet's
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("qpn", self.qpn, 24);
    f("psn", self.psn, 24);
    f("epoch", self.epoch, 8);
  }

  friend constexpr bool operator==(const QpSent&, const QpSent&) = default;
};

// A pulse: position of one half of a QP: PSN of the requester's next new packet, or the responder's expected PSN. (tokens.toml)
struct QpPsn {
  static constexpr size_t kBits = 48;
  uint32_t qpn{};  // Queue pair
  uint32_t psn{};  // New position
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("qpn", self.qpn, 24);
    f("psn", self.psn, 24);
  }

  friend constexpr bool operator==(const QpPsn&, const QpPsn&) = default;
};

// A block detected an error that moves a QP to ERR; or, with comm_est and qp_last_wqe_reached, an event that leaves its state as it is. (tokens.toml)
struct QpFailure {
  static constexpr size_t kBits = 74;
  uint32_t qpn{};  // Queue pair
  RdmaEventType event_type{};  // Event for the host: qp_fatal, qp_req_err or qp_access_err
  uint32_t code{};  // Reason: with qp_fatal an rdma_error, else an AETH syndrome
  bool send_only{};  // Only the send half of a UC or UD QP: it goes to SQE, and no event is sent
  bool reported{};  // A completion reports it: with qp_fatal no event is sent
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("qpn", self.qpn, 24);
    f("event_type", self.event_type, 16);
    f("code", self.code, 32);
    f("send_only", self.send_only, 1);
    f("reported", self.reported, 1);
  }

  friend constexpr bool operator==(const QpFailure&, const QpFailure&) = default;
};

// A write of 8 bytes to a place of a send queue's notify page that takes a pushed work request: a pulse. (tokens.toml)
struct PushWrite {
  static constexpr size_t kBits = 92;
  uint32_t qpn{};  // QP
  uint8_t place{};  // 0: rdma_push, which ends it; 1: rdma_push_address; from 2 on the work request's words
  uint64_t data{};  // What is written, from bit 0
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("qpn", self.qpn, 24);
    f("place", self.place, 4);
    f("data", self.data, 64);
  }

  friend constexpr bool operator==(const PushWrite&, const PushWrite&) = default;
};

// Requests the next buffers of a virtqueue from descriptor fetch, or one descriptor by its index. In a packed ring an index is a position in the ring, with the wrap counter in bit 15; by_index ignores that bit. (tokens.toml)
struct BufferRequest {
  static constexpr size_t kBits = 131;
  BufferClient client{};  // Requester
  uint16_t vq_index{};  // Virtqueue
  bool by_index{};  // 1: the descriptor `index`, as the next of a chain; the ring is not read
  uint16_t index{};  // Descriptor index
  uint8_t count{};  // Maximum number of buffers, 1 to 32; by_index: 1
  bool indirect{};  // by_index: the descriptor is in an indirect table; the fields below are copied from the `buffer` token
  uint64_t table_address{};  // Of the indirect table
  uint16_t table_entries{};  // Descriptors of the indirect table
  bool pushed{};  // `send` only, without by_index, count 1: the driver has said what the next buffer is. `index` is its position (packed: with the wrap counter), `table_entries` its head, `table_address` and `bytes` its memory. Answered without reading if the position is the queue's next one; else `empty`
  uint8_t bytes{};  // pushed: length of the buffer
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("client", self.client, 3);
    f("vq_index", self.vq_index, 16);
    f("by_index", self.by_index, 1);
    f("index", self.index, 16);
    f("count", self.count, 6);
    f("indirect", self.indirect, 1);
    f("table_address", self.table_address, 64);
    f("table_entries", self.table_entries, 16);
    f("pushed", self.pushed, 1);
    f("bytes", self.bytes, 7);
  }

  friend constexpr bool operator==(const BufferRequest&, const BufferRequest&) = default;
};

// Response to a buffer_request: one token per buffer, in ring order, the last one marked; one token without a buffer if there is none. Fewer than requested means that the ring has no more. `head` identifies the buffer in the device. In a packed ring it is the position of the buffer's first descriptor, not its buffer id; the last descriptor of a chain returns the id and, as `next_index`, the position after it, and the client copies both into its completion. For a buffer in an indirect table the token holds the table's first descriptor; a client that follows chains requests the next one with `indirect` and the table. (tokens.toml)
struct Buffer {
  static constexpr size_t kBits = 247;
  BufferStatus status{};  // ok, or why there is no buffer
  bool last{};  // Last token of the response
  uint16_t vq_index{};  // Virtqueue
  uint16_t head{};  // Descriptor index, as used elements name it; by_index: that index
  uint64_t address{};  // First byte
  uint32_t bytes{};  // Length
  bool writable{};  // For the device
  bool more{};  // The chain continues at `next_index`
  uint16_t next_index{};  // Descriptor index; with has_id and without `more` the position after the descriptor
  bool has_id{};  // A descriptor of a packed ring, not of a table
  uint16_t id{};  // With has_id: buffer id; valid in the last descriptor of a buffer
  bool indirect{};  // `next_index` is an index into an indirect table; else the fields below are 0
  uint64_t table_address{};  // Of the indirect table
  uint16_t table_entries{};  // Descriptors of the indirect table
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("status", self.status, 2);
    f("last", self.last, 1);
    f("vq_index", self.vq_index, 16);
    f("head", self.head, 16);
    f("address", self.address, 64);
    f("bytes", self.bytes, 32);
    f("writable", self.writable, 1);
    f("more", self.more, 1);
    f("next_index", self.next_index, 16);
    f("has_id", self.has_id, 1);
    f("id", self.id, 16);
    f("indirect", self.indirect, 1);
    f("table_address", self.table_address, 64);
    f("table_entries", self.table_entries, 16);
  }

  friend constexpr bool operator==(const Buffer&, const Buffer&) = default;
};

// A pulse, with ring_event_idx in split rings: descriptor fetch has reported a ring as empty at this index. The driver must ring the doorbell when it adds to that; after avail_event is written the ring has to be polled once more. (tokens.toml)
struct AvailEvent {
  static constexpr size_t kBits = 32;
  uint16_t vq_index{};  // Virtqueue
  uint16_t idx{};  // avail.idx as read
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("vq_index", self.vq_index, 16);
    f("idx", self.idx, 16);
  }

  friend constexpr bool operator==(const AvailEvent&, const AvailEvent&) = default;
};

// A virtqueue was stopped because it is broken; or a shared receive queue has reached its limit. (tokens.toml)
struct QueueFailure {
  static constexpr size_t kBits = 24;
  uint16_t vq_index{};  // Virtqueue
  RdmaError code{};  // bad_descriptor, bad_wqe, window_violation or queue_dma_error; ok: srq_limit_reached
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("vq_index", self.vq_index, 16);
    f("code", self.code, 8);
  }

  friend constexpr bool operator==(const QueueFailure&, const QueueFailure&) = default;
};

// A completed work request: its buffer is returned as used, then its CQE is written, if it has one. (tokens.toml)
struct Completion {
  static constexpr size_t kBits = 501;
  uint16_t vq_index{};  // Virtqueue of the work request
  uint16_t head{};  // Its descriptor
  uint32_t used_bytes{};  // Bytes written, for the used element
  bool more{};  // Must not become visible to the driver before the next completion, which follows directly and belongs to the same queue; without CQE
  bool has_id{};  // Packed ring, the buffer may be a chain: `id` and `next_position` are valid. Else it is one descriptor
  uint16_t id{};  // Buffer id, of the chain's last descriptor
  uint16_t next_position{};  // Position after the chain's last descriptor
  bool by_id{};  // Packed ring: `head` is the buffer id, not a position; the queue's buffers are single descriptors and used in any order. All completions of a queue have it, or none
  bool has_cqe{};  // 1: the fields below are valid
  uint16_t cqn{};  // Completion queue
  bool solicited{};  // Also notifies a CQ armed for solicited completions only; errors always do
  uint8_t cqe[48]{};  // rdma_cq_req as in memory
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("vq_index", self.vq_index, 16);
    f("head", self.head, 16);
    f("used_bytes", self.used_bytes, 32);
    f("more", self.more, 1);
    f("has_id", self.has_id, 1);
    f("id", self.id, 16);
    f("next_position", self.next_position, 16);
    f("by_id", self.by_id, 1);
    f("has_cqe", self.has_cqe, 1);
    f("cqn", self.cqn, 16);
    f("solicited", self.solicited, 1);
    for (size_t i = 48; i-- > 0;) f("cqe", self.cqe[i], 8);
  }

  friend constexpr bool operator==(const Completion&, const Completion&) = default;
};

// Written to the host's event queue as an rdma_event; the writer fills its field `lost`. (tokens.toml)
struct HostEvent {
  static constexpr size_t kBits = 80;
  RdmaEventType event_type{};  // What happened
  uint32_t element{};  // To what
  uint32_t code{};  // Why
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("event_type", self.event_type, 16);
    f("element", self.element, 32);
    f("code", self.code, 32);
  }

  friend constexpr bool operator==(const HostEvent&, const HostEvent&) = default;
};

// Interrupt request of a virtqueue, through its vector. Moderation may delay it to merge more of the same queue. (tokens.toml)
struct QueueInterrupt {
  static constexpr size_t kBits = 32;
  uint16_t vq_index{};  // Virtqueue
  uint16_t msix_vector{};  // Its vector
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("vq_index", self.vq_index, 16);
    f("msix_vector", self.msix_vector, 16);
  }

  friend constexpr bool operator==(const QueueInterrupt&, const QueueInterrupt&) = default;
};

// Sends the message of an MSI-X vector, unless it is masked. (tokens.toml)
struct Interrupt {
  static constexpr size_t kBits = 16;
  uint16_t msix_vector{};  // virtio_msi_no_vector: no effect
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("msix_vector", self.msix_vector, 16);
  }

  friend constexpr bool operator==(const Interrupt&, const Interrupt&) = default;
};

// Doorbell of a virtqueue. While one is pending, further doorbells of the same virtqueue merge into it. (tokens.toml)
struct Doorbell {
  static constexpr size_t kBits = 16;
  uint16_t vq_index{};  // Virtqueue
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("vq_index", self.vq_index, 16);
  }

  friend constexpr bool operator==(const Doorbell&, const Doorbell&) = default;
};

// The driver armed a CQ (rdma_cq_arm). (tokens.toml)
struct CqArm {
  static constexpr size_t kBits = 48;
  uint16_t cqn{};  // Completion queue
  uint32_t value{};  // Value written
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("cqn", self.cqn, 16);
    f("value", self.value, 32);
  }

  friend constexpr bool operator==(const CqArm&, const CqArm&) = default;
};

// A send work request as read from memory: of an rdma_sq_req bytes 0 to 47 and 560 to 591, with the first element from 576 on, if there is one; of an extensible one, with less than 576 `bytes`, bytes 0 to 63. (tokens.toml)
struct WorkRequest {
  static constexpr size_t kBits = 906;
  uint32_t qpn{};  // Queue pair
  uint16_t head{};  // Its descriptor
  RdmaError failed{};  // Not ok: bad_wqe or queue_dma_error, the other fields are undefined
  uint64_t address{};  // Of the work request
  uint32_t bytes{};  // Of the descriptor
  uint8_t head_bytes[48]{};  // Bytes 0 to 47; zero after the end of the descriptor
  uint8_t tail_bytes[32]{};  // Bytes 560 to 591, or 48 to 63 and zeros; zero after the end of the descriptor
  bool is_replay{};  // 1: fetched for a replay, and the fields below are that token's; else they are 0
  bool resume{};  // Of the replay: there is no work request; only qpn and the fields below are valid
  uint8_t epoch{};  // Of the replay
  uint8_t slot{};  // Of the replay
  uint32_t psn{};  // Of the replay
  uint32_t first_psn{};  // Of the replay
  uint32_t last_psn{};  // Of the replay
  uint16_t packets{};  // Of the replay
  bool first_transmission{};  // Of the replay
  uint8_t number{};  // Of the replay
  uint8_t serial{};  // Of the replay
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("qpn", self.qpn, 24);
    f("head", self.head, 16);
    f("failed", self.failed, 8);
    f("address", self.address, 64);
    f("bytes", self.bytes, 32);
    for (size_t i = 48; i-- > 0;) f("head_bytes", self.head_bytes[i], 8);
    for (size_t i = 32; i-- > 0;) f("tail_bytes", self.tail_bytes[i], 8);
    f("is_replay", self.is_replay, 1);
    f("resume", self.resume, 1);
    f("epoch", self.epoch, 8);
    f("slot", self.slot, 8);
    f("psn", self.psn, 24);
    f("first_psn", self.first_psn, 24);
    f("last_psn", self.last_psn, 24);
    f("packets", self.packets, 16);
    f("first_transmission", self.first_transmission, 1);
    f("number", self.number, 8);
    f("serial", self.serial, 7);
  }

  friend constexpr bool operator==(const WorkRequest&, const WorkRequest&) = default;
};

// A pulse: from now on the requester sends only replays of this QP. New work requests still get PSNs and records (`unsent`); the rest of a message in progress is skipped. A replay with `resume` and the same generation ends the hold. (tokens.toml)
struct QpHold {
  static constexpr size_t kBits = 32;
  uint32_t qpn{};  // Queue pair
  uint8_t epoch{};  // Epoch of the hold: one more than that of the QP's previous hold; 0 for the first one and after a clear
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("qpn", self.qpn, 24);
    f("epoch", self.epoch, 8);
  }

  friend constexpr bool operator==(const QpHold&, const QpHold&) = default;
};

// The completer requests retransmission of a record's packets, or their first transmission if they were held back: the work request is read again. Replays of a QP are executed in order. (tokens.toml)
struct Replay {
  static constexpr size_t kBits = 161;
  uint32_t qpn{};  // Queue pair
  bool resume{};  // 1: no record: every packet below `psn` was requested; if `psn` is the requester's next one and `number` its count of records, the hold of this generation ends
  uint8_t epoch{};  // Of the hold
  uint16_t head{};  // The record's descriptor
  uint8_t slot{};  // The completer's slot of the record
  uint32_t psn{};  // Of the first packet to send
  uint32_t first_psn{};  // Of the record's message
  uint32_t last_psn{};  // Of the record's message; the last one to send
  uint16_t packets{};  // Not 0: this many packets from `psn` on are sent; a record with `replaces` marks their start. 0: all up to last_psn
  bool first_transmission{};  // First transmission: the packets do not count as retransmissions
  uint8_t number{};  // RDMA READ: number of READs of the QP before it since the hardware reset, modulo 256; with resume: of its records
  uint8_t serial{};  // Replays of all QPs up to this one, modulo 128; the requester reports its end by it. 0 with resume
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("qpn", self.qpn, 24);
    f("resume", self.resume, 1);
    f("epoch", self.epoch, 8);
    f("head", self.head, 16);
    f("slot", self.slot, 8);
    f("psn", self.psn, 24);
    f("first_psn", self.first_psn, 24);
    f("last_psn", self.last_psn, 24);
    f("packets", self.packets, 16);
    f("first_transmission", self.first_transmission, 1);
    f("number", self.number, 8);
    f("serial", self.serial, 7);
  }

  friend constexpr bool operator==(const Replay&, const Replay&) = default;
};

// Restarts or stops the one timer of a QP. (tokens.toml)
struct TimerSet {
  static constexpr size_t kBits = 39;
  uint32_t qpn{};  // Queue pair
  TimerKind kind{};  // Purpose
  uint8_t code{};  // Duration, by kind
  uint8_t epoch{};  // Returned in timer_expired
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("qpn", self.qpn, 24);
    f("kind", self.kind, 2);
    f("code", self.code, 5);
    f("epoch", self.epoch, 8);
  }

  friend constexpr bool operator==(const TimerSet&, const TimerSet&) = default;
};

// A QP's timer has expired and is stopped. (tokens.toml)
struct TimerExpired {
  static constexpr size_t kBits = 32;
  uint32_t qpn{};  // Queue pair
  uint8_t epoch{};  // Of the timer_set
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("qpn", self.qpn, 24);
    f("epoch", self.epoch, 8);
  }

  friend constexpr bool operator==(const TimerExpired&, const TimerExpired&) = default;
};

// Checks whether a key allows an access, and translates its address if it has at most 4096 bytes. (tokens.toml)
struct MemoryCheck {
  static constexpr size_t kBits = 244;
  uint32_t key{};  // lkey or rkey
  uint16_t pdn{};  // Protection domain of the QP
  bool local_write{};  // Required right
  bool remote_write{};  // Required right
  bool remote_read{};  // Required right
  bool remote_atomic{};  // Required right
  bool flush_global{};  // Required right
  bool flush_persistent{};  // Required right
  bool whole{};  // From the region's first byte on: `address` is not used. Not of a region `dma`
  uint64_t address{};  // First byte, in the region's addresses
  uint32_t bytes{};  // 1 or more; above 4096 only the status is valid
  bool invalidate{};  // Not an access: if the key's region is invalidatable it ends, or a window of type 2 is unbound. Other fields than key, pdn and qpn are 0, and only the status of the answer is not
  uint32_t qpn{};  // Of an access by the peer, an invalidate or a bind: the QP; else not used
  bool binds{};  // Not an access: the window with the number of `key` is bound to `address` and length of the region of lkey, with the rights in the place of those required, by `qpn`; `key` is its key from then on. Only the status of the answer is not 0
  bool zero_based{};  // With binds
  uint32_t lkey{};  // With binds; with maps: number of the pair; with registers: page_shift, and from bit 8 on the number of pairs; else 0
  uint32_t bytes_high{};  // With binds, registers: upper half of the length, whose lower one is `bytes`; with maps: of the second page; else 0
  bool maps{};  // Not an access: `address`, and bytes_high with `bytes`, become the pages of a pair of the region with the number of `key`, which is not registered. Only the status of the answer is not 0
  bool registers{};  // Not an access: the region with the number of `key` is registered with `address`, length and the rights in the place of those required; `key` is its key from then on. Only the status of the answer is not 0
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("key", self.key, 32);
    f("pdn", self.pdn, 16);
    f("local_write", self.local_write, 1);
    f("remote_write", self.remote_write, 1);
    f("remote_read", self.remote_read, 1);
    f("remote_atomic", self.remote_atomic, 1);
    f("flush_global", self.flush_global, 1);
    f("flush_persistent", self.flush_persistent, 1);
    f("whole", self.whole, 1);
    f("address", self.address, 64);
    f("bytes", self.bytes, 32);
    f("invalidate", self.invalidate, 1);
    f("qpn", self.qpn, 24);
    f("binds", self.binds, 1);
    f("zero_based", self.zero_based, 1);
    f("lkey", self.lkey, 32);
    f("bytes_high", self.bytes_high, 32);
    f("maps", self.maps, 1);
    f("registers", self.registers, 1);
  }

  friend constexpr bool operator==(const MemoryCheck&, const MemoryCheck&) = default;
};

// A pulse: an entry of the mr table was written. What it is in the device, for firmware; is_bound, bound_to and bound_by are 0 of others than memory windows. (tokens.toml)
struct MrBinding {
  static constexpr size_t kBits = 82;
  uint32_t index{};  // Entry
  bool is_bound{};  // It is a window, and bound
  uint32_t bound_to{};  // Index of the region
  uint32_t bound_by{};  // QP that bound it
  bool is_alive{};  // Its `valid`
  uint8_t device_key{};  // Its `key`
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("index", self.index, 24);
    f("is_bound", self.is_bound, 1);
    f("bound_to", self.bound_to, 24);
    f("bound_by", self.bound_by, 24);
    f("is_alive", self.is_alive, 1);
    f("device_key", self.device_key, 8);
  }

  friend constexpr bool operator==(const MrBinding&, const MrBinding&) = default;
};

// An access that memory_check allowed, from the check until it has ended: the last byte is read, the last write is answered, or the access is not made. (tokens.toml)
struct MemoryGrant {
  static constexpr size_t kBits = 2;
  bool valid{};  // There is such an access
  bool epoch{};  // Lowest bit of its side's generation: key_fence
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("valid", self.valid, 1);
    f("epoch", self.epoch, 1);
  }

  friend constexpr bool operator==(const MemoryGrant&, const MemoryGrant&) = default;
};

// Which granted accesses have not ended. Every access is of the current generation of its side. Another one begins when somebody waits for the current one, and the one before has ended: so there are two at most. (tokens.toml)
struct KeyFence {
  static constexpr size_t kBits = 10;
  uint8_t sent{};  // Number of the current generation
  bool sent_open{};  // The one before has not ended
  uint8_t received{};  // Likewise
  bool received_open{};  // Likewise
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("sent", self.sent, 4);
    f("sent_open", self.sent_open, 1);
    f("received", self.received, 4);
    f("received_open", self.received_open, 1);
  }

  friend constexpr bool operator==(const KeyFence&, const KeyFence&) = default;
};

// Result of a memory_check: at most two runs of bus addresses, because pages have 4096 bytes or more. Not ok, or a check of more than 4096 bytes: the other fields are 0. (tokens.toml)
struct MemoryPlace {
  static constexpr size_t kBits = 159;
  MemoryStatus status{};  // Outcome
  uint64_t address0{};  // First run
  uint16_t bytes0{};  // Its length
  uint64_t address1{};  // Second run
  uint16_t bytes1{};  // Its length; 0: no run
  MemoryGrant grant{};  // Of the runs
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("status", self.status, 3);
    f("address0", self.address0, 64);
    f("bytes0", self.bytes0, 13);
    f("address1", self.address1, 64);
    f("bytes1", self.bytes1, 13);
    MemoryGrant::Visit(self.grant, f);
  }

  friend constexpr bool operator==(const MemoryPlace&, const MemoryPlace&) = default;
};

// A packet to send, without its path; the path builder and the framer add the other headers. (tokens.toml)
struct TxPacket {
  static constexpr size_t kBits = 629;
  uint32_t qpn{};  // Queue pair that sends it
  BthOpcode opcode{};  // BTH
  bool solicited_event{};  // BTH
  bool ack_req{};  // BTH
  uint32_t psn{};  // BTH
  uint8_t extension[28]{};  // Extended headers, from the first byte after the BTH, then the payload of an ATOMIC WRITE, which `payload_bytes` does not count; zero after the last
  uint16_t payload_bytes{};  // Without pad: at most 4096 of RoCE, header and frame of a net frame
  bool has_ah{};  // Datagram: path and peer are the two fields below instead of the QP's own
  uint16_t ah{};  // Address handle; checked to be valid
  uint32_t dest_qpn{};  // Peer's queue pair
  bool reports{};  // tx_gather reports to the completer when the packet leaves: the last one of a message without acknowledge (UC, UD)
  bool is_response{};  // A packet of the read responder: tx_builder reports that it took it, tx_gather that it failed
  uint32_t last_psn{};  // With ack_req: last PSN that its response covers: PSN of the last response of a READ, else the packet's own
  uint8_t epoch{};  // With ack_req: epoch of the QP's last hold when it was sent
  bool stale{};  // The QP was stopped since it was made: it takes its way, but no frame of it is sent
  bool has_inline{};  // The payload, tx_inline_bytes at most, is inline_data: it has no runs
  uint8_t inline_data[32]{};  // Then: the payload, zero after its last byte; else 0
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("qpn", self.qpn, 24);
    f("opcode", self.opcode, 8);
    f("solicited_event", self.solicited_event, 1);
    f("ack_req", self.ack_req, 1);
    f("psn", self.psn, 24);
    for (size_t i = 28; i-- > 0;) f("extension", self.extension[i], 8);
    f("payload_bytes", self.payload_bytes, 14);
    f("has_ah", self.has_ah, 1);
    f("ah", self.ah, 16);
    f("dest_qpn", self.dest_qpn, 24);
    f("reports", self.reports, 1);
    f("is_response", self.is_response, 1);
    f("last_psn", self.last_psn, 24);
    f("epoch", self.epoch, 8);
    f("stale", self.stale, 1);
    f("has_inline", self.has_inline, 1);
    for (size_t i = 32; i-- > 0;) f("inline_data", self.inline_data[i], 8);
  }

  friend constexpr bool operator==(const TxPacket&, const TxPacket&) = default;
};

// A packet to send and the location of its payload: at most two runs of bus addresses per job, in one job or several. The runs total payload_bytes. (tokens.toml)
struct TxJob {
  static constexpr size_t kBits = 787;
  TxPacket packet{};  // Packet to send
  uint64_t address0{};  // First run
  uint16_t bytes0{};  // Its length; 0: no run
  uint64_t address1{};  // Second run
  uint16_t bytes1{};  // Its length; 0: no run
  bool more{};  // The payload continues in the next job, which has the same packet
  bool drop{};  // No runs: discards the packet that previous jobs started, if any
  MemoryGrant grant{};  // Of the runs; of none if they are no region's (inline data, net frames)
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    TxPacket::Visit(self.packet, f);
    f("address0", self.address0, 64);
    f("bytes0", self.bytes0, 13);
    f("address1", self.address1, 64);
    f("bytes1", self.bytes1, 13);
    f("more", self.more, 1);
    f("drop", self.drop, 1);
    MemoryGrant::Visit(self.grant, f);
  }

  friend constexpr bool operator==(const TxJob&, const TxJob&) = default;
};

// A send work request whose packets start to leave, or that failed: kept until it completes, in order. (tokens.toml)
struct SendRecord {
  static constexpr size_t kBits = 272;
  uint32_t qpn{};  // Queue pair
  uint16_t head{};  // Its descriptor
  uint64_t wr_id{};  // For the CQE
  IbWcOpcode opcode{};  // For the CQE
  IbWcStatus status{};  // Not success: completes with this status, without an acknowledge of its own
  uint32_t vendor_err{};  // For the CQE
  bool signaled{};  // Has a CQE on success, too
  uint32_t last_psn{};  // Complete when this PSN is acknowledged
  uint32_t first_psn{};  // Of its first packet; without packets the PSN of the next packet, and last_psn is one less
  bool replaces{};  // Replaces a record, if that still exists: its message failed while being sent
  bool is_replay{};  // With amends: replaces the record of `slot` if it has this first_psn (replay); else the QP's newest record
  uint8_t slot{};  // Slot of the replay
  bool unsent{};  // No packet of it was sent, because the QP is held
  bool fence{};  // Not started before all preceding READs are complete
  uint32_t bytes{};  // RDMA READ: message length, for the CQE; else 0
  bool no_completion{};  // The work request could not be read: retired without CQE and without used element
  uint16_t packets{};  // Not 0: this many of its packets leave now, the rest on a replay; with amends and again: those that the replay requested
  uint8_t epoch{};  // With packets, amends and again: epoch of the replay; with recovers: of the QP's last hold; else 0
  bool recovers{};  // UC, UD: the first one after the end of SQE
  bool is_local{};  // Local invalidate, bind or registration that was executed: there are no packets, last_psn is that before first_psn; completes when all before it have
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("qpn", self.qpn, 24);
    f("head", self.head, 16);
    f("wr_id", self.wr_id, 64);
    f("opcode", self.opcode, 8);
    f("status", self.status, 8);
    f("vendor_err", self.vendor_err, 32);
    f("signaled", self.signaled, 1);
    f("last_psn", self.last_psn, 24);
    f("first_psn", self.first_psn, 24);
    f("replaces", self.replaces, 1);
    f("is_replay", self.is_replay, 1);
    f("slot", self.slot, 8);
    f("unsent", self.unsent, 1);
    f("fence", self.fence, 1);
    f("bytes", self.bytes, 32);
    f("no_completion", self.no_completion, 1);
    f("packets", self.packets, 16);
    f("epoch", self.epoch, 8);
    f("recovers", self.recovers, 1);
    f("is_local", self.is_local, 1);
  }

  friend constexpr bool operator==(const SendRecord&, const SendRecord&) = default;
};

// A pulse: number of RDMA READs of a QP that have ended since the hardware reset, modulo 256. The block that starts them counts starts likewise, so the difference is the number outstanding; neither counter is ever reset. Sent by the completer (record retired, with any status) to the requester, and by the read responder (answered or dropped) to the responder. (tokens.toml)
struct QpReads {
  static constexpr size_t kBits = 32;
  uint32_t qpn{};  // Queue pair
  uint8_t ended{};  // READs
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("qpn", self.qpn, 24);
    f("ended", self.ended, 8);
  }

  friend constexpr bool operator==(const QpReads&, const QpReads&) = default;
};

// Destination of the responses of an RDMA READ of ours. Sent before its request leaves, also on retransmission, in PSN order; a duplicate changes nothing. (tokens.toml)
struct ReadRecord {
  static constexpr size_t kBits = 313;
  uint32_t qpn{};  // Queue pair
  uint8_t number{};  // Number of READs of the QP before it since the hardware reset, modulo 256: distinguishes a new one from a duplicate
  uint32_t first_psn{};  // Of its responses
  uint32_t last_psn{};  // Of its responses
  uint32_t bytes{};  // Of the message
  uint64_t elements{};  // Address of sg_list in host memory
  uint8_t num_sge{};  // Elements of sg_list
  uint8_t sge[16]{};  // The first rdma_sge as in memory; 0 if there is none
  bool is_atomic{};  // 1: COMPARE SWAP or FETCH ADD, whose response is an atomic acknowledge; `bytes` is 8. ATOMIC WRITE and FLUSH are READs of 0 bytes
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("qpn", self.qpn, 24);
    f("number", self.number, 8);
    f("first_psn", self.first_psn, 24);
    f("last_psn", self.last_psn, 24);
    f("bytes", self.bytes, 32);
    f("elements", self.elements, 64);
    f("num_sge", self.num_sge, 8);
    for (size_t i = 16; i-- > 0;) f("sge", self.sge[i], 8);
    f("is_atomic", self.is_atomic, 1);
  }

  friend constexpr bool operator==(const ReadRecord&, const ReadRecord&) = default;
};

// Progress of our packets, for the completer: an acknowledge or a READ response that arrived, or UC and UD packets that have left (`syndrome` is then an acknowledge without credits) or cannot be sent. The data of a READ response is already on its way to memory. (tokens.toml)
struct RxAck {
  static constexpr size_t kBits = 89;
  uint32_t qpn{};  // Our queue pair
  uint32_t psn{};  // BTH; for an unexpected response: the expected PSN
  uint8_t syndrome{};  // AETH; for an unexpected response: NAK PSN sequence error. With a status: its rdma_error
  uint32_t msn{};  // AETH; 0 if the packet has none
  bool is_read{};  // A READ response: acknowledges its own PSN, which is a READ's, and all before
  IbWcStatus status{};  // Not success: status with which the work request of this PSN completes: of a READ (loc_len_err, loc_qp_op_err, loc_prot_err, bad_resp_err), else of a UC or UD packet that cannot be sent (loc_qp_op_err)
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("qpn", self.qpn, 24);
    f("psn", self.psn, 24);
    f("syndrome", self.syndrome, 8);
    f("msn", self.msn, 24);
    f("is_read", self.is_read, 1);
    f("status", self.status, 8);
  }

  friend constexpr bool operator==(const RxAck&, const RxAck&) = default;
};

// Response to a request, in request order: a packet, or the responses of a READ. For a READ `packet` holds the QP, the PSN of the first response and, as AETH, syndrome and MSN of every response that has one; its other fields are 0. An atomic operation comes as a READ of 8 bytes whose `packet` has also the request's opcode and, behind the AETH, the rest of the AtomicETH from swap_add_data on; so does ATOMIC WRITE, with what is behind the key there: length and value; and FLUSH as a READ of 1 byte, with length and FETH there. A FLUSH of no bytes is a READ of none. (tokens.toml)
struct RxAnswer {
  static constexpr size_t kBits = 759;
  bool is_read{};  // 1: the fields after `packet` are valid
  TxPacket packet{};  // Without payload
  uint64_t address{};  // First byte, in the region's addresses
  uint32_t rkey{};  // Its key, checked for the whole range when the request arrived
  uint32_t bytes{};  // 0 to 2^31
  bool is_duplicate{};  // An atomic operation that was accepted before: its result is sent again, and nothing is executed
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("is_read", self.is_read, 1);
    TxPacket::Visit(self.packet, f);
    f("address", self.address, 64);
    f("rkey", self.rkey, 32);
    f("bytes", self.bytes, 32);
    f("is_duplicate", self.is_duplicate, 1);
  }

  friend constexpr bool operator==(const RxAnswer&, const RxAnswer&) = default;
};

// Disposition of the oldest frame in the receive buffer: bytes of it go to host memory, and after them a completion, a response and an acknowledge may leave; or the frame is dropped. Several tokens may belong to one frame, and a token may belong to none. (tokens.toml)
struct RxPlace {
  static constexpr size_t kBits = 1609;
  bool no_frame{};  // Belongs to no frame, writes nothing
  bool more{};  // The frame stays: the next token belongs to it, too
  bool copied{};  // The last token of one copy of a multicast datagram: the frame stays for the next copy, or the token that frees it
  uint16_t net_bytes{};  // Not 0: length of the frame, which goes to the net path unchanged; no other field applies
  bool zeros{};  // Zeros are written instead of frame bytes
  bool has_value{};  // `value` is written instead of frame bytes, from its low byte on: at most 8 bytes
  uint64_t value{};  // With has_value; else 0
  uint16_t offset{};  // Offset in the frame of the first byte to write
  uint64_t address0{};  // First run
  uint16_t bytes0{};  // Its length; 0: no write
  uint64_t address1{};  // Second run
  uint16_t bytes1{};  // Its length; 0: no run
  MemoryGrant grant{};  // Of the runs
  bool request{};  // An accepted request: if the bus refuses a write of its frame, the QP fails. In the last token of the frame only
  bool acknowledged{};  // With request: of RC, the peer then gets a NAK
  bool uses_receive{};  // With request: of a SEND, the receive of the message then fails
  bool ends_message{};  // With request: last packet of a message, which the MSN of `answer` counts
  bool fence{};  // A region was invalidated: the outputs wait until the accesses of side `sent` that were granted before have ended
  bool has_completion{};  // `completion` is valid
  Completion completion{};  // Of a receive; sent when the data is in host memory
  bool has_answer{};  // `answer` is valid
  RxAnswer answer{};  // Sent when the data is in host memory. Its packet is also valid with `request`, its QP with every completion
  bool has_ack{};  // `ack` is valid
  RxAck ack{};  // Sent when the data is in host memory
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("no_frame", self.no_frame, 1);
    f("more", self.more, 1);
    f("copied", self.copied, 1);
    f("net_bytes", self.net_bytes, 14);
    f("zeros", self.zeros, 1);
    f("has_value", self.has_value, 1);
    f("value", self.value, 64);
    f("offset", self.offset, 13);
    f("address0", self.address0, 64);
    f("bytes0", self.bytes0, 13);
    f("address1", self.address1, 64);
    f("bytes1", self.bytes1, 13);
    MemoryGrant::Visit(self.grant, f);
    f("request", self.request, 1);
    f("acknowledged", self.acknowledged, 1);
    f("uses_receive", self.uses_receive, 1);
    f("ends_message", self.ends_message, 1);
    f("fence", self.fence, 1);
    f("has_completion", self.has_completion, 1);
    Completion::Visit(self.completion, f);
    f("has_answer", self.has_answer, 1);
    RxAnswer::Visit(self.answer, f);
    f("has_ack", self.has_ack, 1);
    RxAck::Visit(self.ack, f);
  }

  friend constexpr bool operator==(const RxPlace&, const RxPlace&) = default;
};

// The responder requests the next receive work request of a receive queue, or an element of its current one. One is outstanding at a time. (tokens.toml)
struct ReceiveRequest {
  static constexpr size_t kBits = 99;
  uint32_t qpn{};  // Receive queue, private or shared: number of its queue pair or of the shared receive queue; is_element: queue pair
  bool is_element{};  // 1: the rdma_sge at `address`, no work request
  bool no_wait{};  // 1: answered `pending` instead of after an access of host memory
  uint64_t address{};  // In host memory
  uint8_t elements{};  // is_element: of the list from `address` on, with the one that is requested
  bool is_new{};  // is_element: of a list of which nothing was requested before
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("qpn", self.qpn, 24);
    f("is_element", self.is_element, 1);
    f("no_wait", self.no_wait, 1);
    f("address", self.address, 64);
    f("elements", self.elements, 8);
    f("is_new", self.is_new, 1);
  }

  friend constexpr bool operator==(const ReceiveRequest&, const ReceiveRequest&) = default;
};

// After a receive_request that was answered `pending`: request once more. None follows if the queue had no receive when it was requested, or was cleared since. (tokens.toml)
struct ReceiveRetry {
  static constexpr size_t kBits = 24;
  uint32_t qpn{};  // Queue pair
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("qpn", self.qpn, 24);
  }

  friend constexpr bool operator==(const ReceiveRetry&, const ReceiveRetry&) = default;
};

// A pulse to recv_queue: the doorbell of a receive queue rang. (tokens.toml)
struct QueueRung {
  static constexpr size_t kBits = 24;
  uint32_t qpn{};  // Queue pair, or number of the shared queue
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("qpn", self.qpn, 24);
  }

  friend constexpr bool operator==(const QueueRung&, const QueueRung&) = default;
};

// Response to a receive_request. Failed with a code: the work request or the element's read was bad, and head and wr_id are valid as far as known. Otherwise not ok: the other fields are 0. (tokens.toml)
struct Receive {
  static constexpr size_t kBits = 290;
  BufferStatus status{};  // ok; empty: no receive is posted; failed: the queue or the read failed; pending: see no_wait
  RdmaError code{};  // Why it failed: bad_descriptor, bad_wqe or queue_dma_error; ok: the queue is broken, which descriptor fetch has reported
  uint16_t head{};  // Descriptor of the work request; of a shared receive queue in a packed ring: its buffer id
  uint64_t wr_id{};  // For the CQE
  uint64_t elements{};  // Address of sg_list in host memory
  uint8_t num_sge{};  // Elements of sg_list
  uint8_t sge[16]{};  // rdma_sge as in memory: the first one (0 if there is none), or the requested one
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("status", self.status, 2);
    f("code", self.code, 8);
    f("head", self.head, 16);
    f("wr_id", self.wr_id, 64);
    f("elements", self.elements, 64);
    f("num_sge", self.num_sge, 8);
    for (size_t i = 16; i-- > 0;) f("sge", self.sge[i], 8);
  }

  friend constexpr bool operator==(const Receive&, const Receive&) = default;
};

// An atomic operation to execute, or whose result is wanted again. A QP has at most one of them without an atomic_result. (tokens.toml)
struct AtomicRequest {
  static constexpr size_t kBits = 246;
  uint32_t qpn{};  // Queue pair
  uint32_t psn{};  // Of the request
  bool is_duplicate{};  // 1: nothing is executed, and the fields below are not used
  bool is_swap{};  // 1: COMPARE SWAP
  bool is_write{};  // 1: ATOMIC WRITE: `swap_add` is stored, and nothing is read
  bool is_flush{};  // 1: FLUSH: nothing is stored, and what is read does not matter; none of these three: FETCH ADD
  uint64_t address{};  // Bus address of the operand; aligned
  MemoryGrant grant{};  // Of the operand
  uint64_t swap_add{};  // Value to store or to add
  uint64_t compare{};  // COMPARE SWAP: value to compare with
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("qpn", self.qpn, 24);
    f("psn", self.psn, 24);
    f("is_duplicate", self.is_duplicate, 1);
    f("is_swap", self.is_swap, 1);
    f("is_write", self.is_write, 1);
    f("is_flush", self.is_flush, 1);
    f("address", self.address, 64);
    MemoryGrant::Visit(self.grant, f);
    f("swap_add", self.swap_add, 64);
    f("compare", self.compare, 64);
  }

  friend constexpr bool operator==(const AtomicRequest&, const AtomicRequest&) = default;
};

// The outcome of an atomic_request. If something was written, it is in memory. (tokens.toml)
struct AtomicResult {
  static constexpr size_t kBits = 90;
  uint32_t qpn{};  // Queue pair
  AtomicStatus status{};  // Outcome
  uint64_t value{};  // With ok; else 0
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("qpn", self.qpn, 24);
    f("status", self.status, 2);
    f("value", self.value, 64);
  }

  friend constexpr bool operator==(const AtomicResult&, const AtomicResult&) = default;
};

// Classification of a received frame: a pulse, a fixed latency after its headers, and one for checksum_valid after its last beat. (tokens.toml)
struct NetClass {
  static constexpr size_t kBits = 78;
  uint8_t destination_mac[6]{};  // As on the wire
  bool vlan_present{};  // The frame has a tag (802.1Q)
  uint16_t vlan_id{};  // Of the tag
  uint16_t flow_hash{};  // Hash of addresses and ports, selects the queue pair
  bool checksum_valid{};  // Complete TCP or UDP over IPv4 or IPv6 with a correct checksum (IPv4: header checksum, too)
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    for (size_t i = 6; i-- > 0;) f("destination_mac", self.destination_mac[i], 8);
    f("vlan_present", self.vlan_present, 1);
    f("vlan_id", self.vlan_id, 12);
    f("flow_hash", self.flow_hash, 16);
    f("checksum_valid", self.checksum_valid, 1);
  }

  friend constexpr bool operator==(const NetClass&, const NetClass&) = default;
};

// A received frame that passed the filter; frames are in the net store in the order of these tokens. (tokens.toml)
struct NetFrame {
  static constexpr size_t kBits = 22;
  uint16_t bytes{};  // Of the frame
  uint8_t pair_index{};  // Net queue pair
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("bytes", self.bytes, 14);
    f("pair_index", self.pair_index, 8);
  }

  friend constexpr bool operator==(const NetFrame&, const NetFrame&) = default;
};

// One row of the BTH opcode table. Offsets count from the first byte of the BTH. (opcodes.toml)
struct OpcodeInfo {
  bool valid{};
  BthOperation operation{};
  PacketPosition position{};
  BthOperation response{};
  PayloadRule payload{};
  uint8_t payload_exact{};
  bool starts_message{};
  bool ends_message{};
  bool may_pad{};
  bool is_response{};
  bool consumes_recv{};
  bool completes_recv{};
  bool may_solicit{};
  uint8_t extension_bytes{};
  bool has_immdt{};
  uint8_t immdt_offset{};
  bool has_reth{};
  uint8_t reth_offset{};
  bool has_aeth{};
  uint8_t aeth_offset{};
  bool has_atomic_ack_eth{};
  uint8_t atomic_ack_eth_offset{};
  bool has_atomic_eth{};
  uint8_t atomic_eth_offset{};
  bool has_ieth{};
  uint8_t ieth_offset{};
  bool has_feth{};
  uint8_t feth_offset{};
  bool has_deth{};
  uint8_t deth_offset{};
  template <typename Self, typename F>
  static constexpr void Visit(Self& self, F&& f) {
    f("valid", self.valid, 1);
    f("operation", self.operation, 4);
    f("position", self.position, 2);
    f("response", self.response, 4);
    f("payload", self.payload, 3);
    f("payload_exact", self.payload_exact, 5);
    f("starts_message", self.starts_message, 1);
    f("ends_message", self.ends_message, 1);
    f("may_pad", self.may_pad, 1);
    f("is_response", self.is_response, 1);
    f("consumes_recv", self.consumes_recv, 1);
    f("completes_recv", self.completes_recv, 1);
    f("may_solicit", self.may_solicit, 1);
    f("extension_bytes", self.extension_bytes, 6);
    f("has_immdt", self.has_immdt, 1);
    f("immdt_offset", self.immdt_offset, 6);
    f("has_reth", self.has_reth, 1);
    f("reth_offset", self.reth_offset, 6);
    f("has_aeth", self.has_aeth, 1);
    f("aeth_offset", self.aeth_offset, 6);
    f("has_atomic_ack_eth", self.has_atomic_ack_eth, 1);
    f("atomic_ack_eth_offset", self.atomic_ack_eth_offset, 6);
    f("has_atomic_eth", self.has_atomic_eth, 1);
    f("atomic_eth_offset", self.atomic_eth_offset, 6);
    f("has_ieth", self.has_ieth, 1);
    f("ieth_offset", self.ieth_offset, 6);
    f("has_feth", self.has_feth, 1);
    f("feth_offset", self.feth_offset, 6);
    f("has_deth", self.has_deth, 1);
    f("deth_offset", self.deth_offset, 6);
  }
};

// By opcode; rows that are not valid are all zero.
inline constexpr OpcodeInfo kOpcodeInfo[256] = {
    /* rc_send_first */ {.valid = true, .operation = BthOperation{1}, .position = PacketPosition{1}, .response = BthOperation{5}, .payload = PayloadRule{1}, .starts_message = true, .consumes_recv = true},
    /* rc_send_middle */ {.valid = true, .operation = BthOperation{1}, .response = BthOperation{5}, .payload = PayloadRule{1}},
    /* rc_send_last */ {.valid = true, .operation = BthOperation{1}, .position = PacketPosition{2}, .response = BthOperation{5}, .payload = PayloadRule{2}, .ends_message = true, .may_pad = true, .completes_recv = true, .may_solicit = true},
    /* rc_send_last_with_immediate */ {.valid = true, .operation = BthOperation{1}, .position = PacketPosition{2}, .response = BthOperation{5}, .payload = PayloadRule{2}, .ends_message = true, .may_pad = true, .completes_recv = true, .may_solicit = true, .extension_bytes = 4, .has_immdt = true, .immdt_offset = 12},
    /* rc_send_only */ {.valid = true, .operation = BthOperation{1}, .position = PacketPosition{3}, .response = BthOperation{5}, .payload = PayloadRule{3}, .starts_message = true, .ends_message = true, .may_pad = true, .consumes_recv = true, .completes_recv = true, .may_solicit = true},
    /* rc_send_only_with_immediate */ {.valid = true, .operation = BthOperation{1}, .position = PacketPosition{3}, .response = BthOperation{5}, .payload = PayloadRule{3}, .starts_message = true, .ends_message = true, .may_pad = true, .consumes_recv = true, .completes_recv = true, .may_solicit = true, .extension_bytes = 4, .has_immdt = true, .immdt_offset = 12},
    /* rc_rdma_write_first */ {.valid = true, .operation = BthOperation{2}, .position = PacketPosition{1}, .response = BthOperation{5}, .payload = PayloadRule{1}, .starts_message = true, .extension_bytes = 16, .has_reth = true, .reth_offset = 12},
    /* rc_rdma_write_middle */ {.valid = true, .operation = BthOperation{2}, .response = BthOperation{5}, .payload = PayloadRule{1}},
    /* rc_rdma_write_last */ {.valid = true, .operation = BthOperation{2}, .position = PacketPosition{2}, .response = BthOperation{5}, .payload = PayloadRule{2}, .ends_message = true, .may_pad = true},
    /* rc_rdma_write_last_with_immediate */ {.valid = true, .operation = BthOperation{2}, .position = PacketPosition{2}, .response = BthOperation{5}, .payload = PayloadRule{2}, .ends_message = true, .may_pad = true, .consumes_recv = true, .completes_recv = true, .may_solicit = true, .extension_bytes = 4, .has_immdt = true, .immdt_offset = 12},
    /* rc_rdma_write_only */ {.valid = true, .operation = BthOperation{2}, .position = PacketPosition{3}, .response = BthOperation{5}, .payload = PayloadRule{3}, .starts_message = true, .ends_message = true, .may_pad = true, .extension_bytes = 16, .has_reth = true, .reth_offset = 12},
    /* rc_rdma_write_only_with_immediate */ {.valid = true, .operation = BthOperation{2}, .position = PacketPosition{3}, .response = BthOperation{5}, .payload = PayloadRule{3}, .starts_message = true, .ends_message = true, .may_pad = true, .consumes_recv = true, .completes_recv = true, .may_solicit = true, .extension_bytes = 20, .has_immdt = true, .immdt_offset = 28, .has_reth = true, .reth_offset = 12},
    /* rc_rdma_read_request */ {.valid = true, .operation = BthOperation{3}, .position = PacketPosition{3}, .response = BthOperation{4}, .starts_message = true, .ends_message = true, .extension_bytes = 16, .has_reth = true, .reth_offset = 12},
    /* rc_rdma_read_response_first */ {.valid = true, .operation = BthOperation{4}, .position = PacketPosition{1}, .payload = PayloadRule{1}, .starts_message = true, .is_response = true, .extension_bytes = 4, .has_aeth = true, .aeth_offset = 12},
    /* rc_rdma_read_response_middle */ {.valid = true, .operation = BthOperation{4}, .payload = PayloadRule{1}, .is_response = true},
    /* rc_rdma_read_response_last */ {.valid = true, .operation = BthOperation{4}, .position = PacketPosition{2}, .payload = PayloadRule{2}, .ends_message = true, .may_pad = true, .is_response = true, .extension_bytes = 4, .has_aeth = true, .aeth_offset = 12},
    /* rc_rdma_read_response_only */ {.valid = true, .operation = BthOperation{4}, .position = PacketPosition{3}, .payload = PayloadRule{3}, .starts_message = true, .ends_message = true, .may_pad = true, .is_response = true, .extension_bytes = 4, .has_aeth = true, .aeth_offset = 12},
    /* rc_acknowledge */ {.valid = true, .operation = BthOperation{5}, .position = PacketPosition{3}, .starts_message = true, .ends_message = true, .is_response = true, .extension_bytes = 4, .has_aeth = true, .aeth_offset = 12},
    /* rc_atomic_acknowledge */ {.valid = true, .operation = BthOperation{6}, .position = PacketPosition{3}, .starts_message = true, .ends_message = true, .is_response = true, .extension_bytes = 12, .has_aeth = true, .aeth_offset = 12, .has_atomic_ack_eth = true, .atomic_ack_eth_offset = 16},
    /* rc_compare_swap */ {.valid = true, .operation = BthOperation{7}, .position = PacketPosition{3}, .response = BthOperation{6}, .starts_message = true, .ends_message = true, .extension_bytes = 28, .has_atomic_eth = true, .atomic_eth_offset = 12},
    /* rc_fetch_add */ {.valid = true, .operation = BthOperation{8}, .position = PacketPosition{3}, .response = BthOperation{6}, .starts_message = true, .ends_message = true, .extension_bytes = 28, .has_atomic_eth = true, .atomic_eth_offset = 12},
    {},
    /* rc_send_last_with_invalidate */ {.valid = true, .operation = BthOperation{1}, .position = PacketPosition{2}, .response = BthOperation{5}, .payload = PayloadRule{2}, .ends_message = true, .may_pad = true, .completes_recv = true, .may_solicit = true, .extension_bytes = 4, .has_ieth = true, .ieth_offset = 12},
    /* rc_send_only_with_invalidate */ {.valid = true, .operation = BthOperation{1}, .position = PacketPosition{3}, .response = BthOperation{5}, .payload = PayloadRule{3}, .starts_message = true, .ends_message = true, .may_pad = true, .consumes_recv = true, .completes_recv = true, .may_solicit = true, .extension_bytes = 4, .has_ieth = true, .ieth_offset = 12},
    {},
    {},
    {},
    {},
    /* rc_flush */ {.valid = true, .operation = BthOperation{9}, .position = PacketPosition{3}, .response = BthOperation{4}, .starts_message = true, .ends_message = true, .extension_bytes = 20, .has_reth = true, .reth_offset = 16, .has_feth = true, .feth_offset = 12},
    /* rc_atomic_write */ {.valid = true, .operation = BthOperation{10}, .position = PacketPosition{3}, .response = BthOperation{4}, .payload = PayloadRule{4}, .payload_exact = 8, .starts_message = true, .ends_message = true, .extension_bytes = 16, .has_reth = true, .reth_offset = 12},
    {},
    {},
    /* uc_send_first */ {.valid = true, .operation = BthOperation{1}, .position = PacketPosition{1}, .payload = PayloadRule{1}, .starts_message = true, .consumes_recv = true},
    /* uc_send_middle */ {.valid = true, .operation = BthOperation{1}, .payload = PayloadRule{1}},
    /* uc_send_last */ {.valid = true, .operation = BthOperation{1}, .position = PacketPosition{2}, .payload = PayloadRule{2}, .ends_message = true, .may_pad = true, .completes_recv = true, .may_solicit = true},
    /* uc_send_last_with_immediate */ {.valid = true, .operation = BthOperation{1}, .position = PacketPosition{2}, .payload = PayloadRule{2}, .ends_message = true, .may_pad = true, .completes_recv = true, .may_solicit = true, .extension_bytes = 4, .has_immdt = true, .immdt_offset = 12},
    /* uc_send_only */ {.valid = true, .operation = BthOperation{1}, .position = PacketPosition{3}, .payload = PayloadRule{3}, .starts_message = true, .ends_message = true, .may_pad = true, .consumes_recv = true, .completes_recv = true, .may_solicit = true},
    /* uc_send_only_with_immediate */ {.valid = true, .operation = BthOperation{1}, .position = PacketPosition{3}, .payload = PayloadRule{3}, .starts_message = true, .ends_message = true, .may_pad = true, .consumes_recv = true, .completes_recv = true, .may_solicit = true, .extension_bytes = 4, .has_immdt = true, .immdt_offset = 12},
    /* uc_rdma_write_first */ {.valid = true, .operation = BthOperation{2}, .position = PacketPosition{1}, .payload = PayloadRule{1}, .starts_message = true, .extension_bytes = 16, .has_reth = true, .reth_offset = 12},
    /* uc_rdma_write_middle */ {.valid = true, .operation = BthOperation{2}, .payload = PayloadRule{1}},
    /* uc_rdma_write_last */ {.valid = true, .operation = BthOperation{2}, .position = PacketPosition{2}, .payload = PayloadRule{2}, .ends_message = true, .may_pad = true},
    /* uc_rdma_write_last_with_immediate */ {.valid = true, .operation = BthOperation{2}, .position = PacketPosition{2}, .payload = PayloadRule{2}, .ends_message = true, .may_pad = true, .consumes_recv = true, .completes_recv = true, .may_solicit = true, .extension_bytes = 4, .has_immdt = true, .immdt_offset = 12},
    /* uc_rdma_write_only */ {.valid = true, .operation = BthOperation{2}, .position = PacketPosition{3}, .payload = PayloadRule{3}, .starts_message = true, .ends_message = true, .may_pad = true, .extension_bytes = 16, .has_reth = true, .reth_offset = 12},
    /* uc_rdma_write_only_with_immediate */ {.valid = true, .operation = BthOperation{2}, .position = PacketPosition{3}, .payload = PayloadRule{3}, .starts_message = true, .ends_message = true, .may_pad = true, .consumes_recv = true, .completes_recv = true, .may_solicit = true, .extension_bytes = 20, .has_immdt = true, .immdt_offset = 28, .has_reth = true, .reth_offset = 12},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    /* ud_send_only */ {.valid = true, .operation = BthOperation{1}, .position = PacketPosition{3}, .payload = PayloadRule{3}, .starts_message = true, .ends_message = true, .may_pad = true, .consumes_recv = true, .completes_recv = true, .may_solicit = true, .extension_bytes = 8, .has_deth = true, .deth_offset = 12},
    /* ud_send_only_with_immediate */ {.valid = true, .operation = BthOperation{1}, .position = PacketPosition{3}, .payload = PayloadRule{3}, .starts_message = true, .ends_message = true, .may_pad = true, .consumes_recv = true, .completes_recv = true, .may_solicit = true, .extension_bytes = 12, .has_immdt = true, .immdt_offset = 20, .has_deth = true, .deth_offset = 12},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    /* cnp */ {.valid = true, .operation = BthOperation{11}, .position = PacketPosition{3}, .payload = PayloadRule{4}, .payload_exact = 16, .starts_message = true, .ends_message = true},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
};

// One command of the control virtqueue. (net.toml, roce.toml)
struct CommandInfo {
  const char* name;
  uint8_t command;
  uint16_t request_bytes;   // fixed part after the 2-byte header
  uint16_t response_bytes;  // after the ack byte
  bool request_has_tail;
  bool vireo_only;
};
inline constexpr CommandInfo kNetCtrlRxCommands[6] = {
    {"promisc", 0, 1, 0, false, false},
    {"allmulti", 1, 1, 0, false, false},
    {"alluni", 2, 1, 0, false, false},
    {"nomulti", 3, 1, 0, false, false},
    {"nouni", 4, 1, 0, false, false},
    {"nobcast", 5, 1, 0, false, false},
};
inline constexpr CommandInfo kNetCtrlMacCommands[2] = {
    {"table_set", 0, 4, 0, true, false},
    {"addr_set", 1, 6, 0, false, false},
};
inline constexpr CommandInfo kNetCtrlVlanCommands[2] = {
    {"add", 0, 2, 0, false, false},
    {"del", 1, 2, 0, false, false},
};
inline constexpr CommandInfo kNetCtrlAnnounceCommands[1] = {
    {"ack", 0, 0, 0, false, false},
};
inline constexpr CommandInfo kNetCtrlMqCommands[3] = {
    {"vq_pairs_set", 0, 2, 0, false, false},
    {"rss_config", 1, 8, 0, true, false},
    {"hash_config", 2, 13, 0, true, false},
};
inline constexpr CommandInfo kNetCtrlGuestOffloadsCommands[1] = {
    {"set", 0, 8, 0, false, false},
};
inline constexpr CommandInfo kNetCtrlNotfCoalCommands[4] = {
    {"tx_set", 0, 8, 0, false, true},
    {"rx_set", 1, 8, 0, false, true},
    {"vq_set", 2, 12, 0, false, true},
    {"vq_get", 3, 4, 8, false, true},
};
inline constexpr CommandInfo kNetCtrlRoceCommands[32] = {
    {"query_device", 0, 0, 128, false, false},
    {"query_port", 1, 0, 32, false, false},
    {"create_cq", 2, 4, 4, false, false},
    {"destroy_cq", 3, 4, 0, false, false},
    {"create_pd", 4, 0, 4, false, false},
    {"destroy_pd", 5, 4, 0, false, false},
    {"get_dma_mr", 6, 8, 12, false, false},
    {"reg_user_mr", 7, 32, 12, true, false},
    {"dereg_mr", 8, 4, 0, false, false},
    {"create_qp", 9, 56, 4, false, false},
    {"modify_qp", 10, 128, 0, false, false},
    {"query_qp", 11, 8, 120, false, false},
    {"destroy_qp", 12, 4, 0, false, false},
    {"create_ah", 13, 48, 4, false, false},
    {"destroy_ah", 14, 8, 0, false, false},
    {"add_gid", 15, 24, 0, false, false},
    {"del_gid", 16, 2, 0, false, false},
    {"req_notify_cq", 17, 8, 0, false, false},
    {"set_window", 18, 24, 0, false, true},
    {"create_srq", 19, 16, 4, false, true},
    {"modify_srq", 20, 16, 0, false, true},
    {"query_srq", 21, 4, 16, false, true},
    {"destroy_srq", 22, 4, 0, false, true},
    {"rereg_mr", 23, 40, 8, true, true},
    {"alloc_mw", 24, 8, 8, false, true},
    {"dealloc_mw", 25, 4, 0, false, true},
    {"alloc_mr", 26, 8, 12, false, true},
    {"query_mr", 27, 4, 40, false, true},
    {"create_extended_cq", 28, 8, 4, false, true},
    {"query_clock", 29, 0, 8, false, true},
    {"attach_mcast", 30, 20, 0, false, true},
    {"detach_mcast", 31, 20, 0, false, true},
};

// Management registers. (csr.toml)
enum class Access : uint8_t { kRo, kRw, kWo, kW1c, kRc };
struct RegisterInfo {
  const char* name;
  uint32_t offset;  // bytes in the block
  uint32_t count;
  Access access;
  bool has_reset;
  uint32_t reset;
};
inline constexpr uint32_t kMgmtBytes = 0x1000u;
inline constexpr uint32_t kMgmtIdRegister = 0x0u;  // Identifies the block: "VIRO" as bytes in memory
inline constexpr uint32_t kMgmtVersionRegister = 0x4u;  // Version of this register block; firmware refuses another major number
inline constexpr uint32_t kMgmtAbiProfileRegister = 0x8u;  // ABI profile towards the host; may change only while the virtio device is reset
inline constexpr uint32_t kMgmtScratchRegister = 0xcu;  // Holds what was written; for bus tests
inline constexpr uint32_t kMgmtTimeLowRegister = 0x70u;  // Device time in ns, low half; reading it latches the high half
inline constexpr uint32_t kMgmtTimeHighRegister = 0x74u;  // Device time in ns, high half, as latched by the last read of time_low
inline constexpr uint32_t kMgmtControlRegister = 0x80u;  // Switches that firmware sets
inline constexpr uint32_t kMgmtStatusRegister = 0x84u;  // State of the datapath
inline constexpr uint32_t kMgmtInterruptCauseRegister = 0x88u;  // Interrupt causes for firmware
inline constexpr uint32_t kMgmtInterruptEnableRegister = 0x8cu;  // Bits of interrupt_cause that raise the firmware's interrupt
inline constexpr uint32_t kMgmtQueueResetIndexRegister = 0x90u;  // Virtqueue of the oldest queue reset that firmware has not acknowledged
inline constexpr uint32_t kMgmtQueueResetDoneRegister = 0x94u;  // Virtqueue whose reset is complete: the driver may set it up again
inline constexpr uint32_t kMgmtFatalCauseRegister = 0x98u;  // First reason since reset for which the device needs a reset (`fatal_cause` values); sets DEVICE_NEEDS_RESET
inline constexpr uint32_t kMgmtMailboxStatusRegister = 0xc0u;  // The command at the head of the control queue
inline constexpr uint32_t kMgmtMailboxRequestBytesRegister = 0xc4u;  // Device-readable bytes of the command
inline constexpr uint32_t kMgmtMailboxResponseBytesRegister = 0xc8u;  // Device-writable bytes of the command
inline constexpr uint32_t kMgmtMailboxFetchRegister = 0xccu;  // Byte offset in the request: copies up to 512 bytes from there to mailbox_data; done when not busy
inline constexpr uint32_t kMgmtMailboxCompleteRegister = 0xd0u;  // Bytes of the window to write as response; then the descriptor is returned as used and the next command may follow
inline constexpr uint32_t kMgmtMailboxDataRegister = 0x200u;  // Window of 512 bytes: request bytes after a fetch, the response before a completion
inline constexpr uint32_t kMgmtTableCommandRegister = 0x100u;  // A write starts the operation on table_index; busy until it is done, in order with the datapath's own accesses; of a memory region, until accesses that the old entry granted have ended
inline constexpr uint32_t kMgmtTableIndexRegister = 0x104u;  // Entry of the table
inline constexpr uint32_t kMgmtTableDataRegister = 0x180u;  // Window of one entry, up to 128 bytes. Not to be written while table_command is busy
inline constexpr uint32_t kMgmtQpCommandRegister = 0x110u;  // A write starts an operation on one QP; one at a time
inline constexpr uint32_t kMgmtEventPushRegister = 0x118u;  // Puts event_data into the host's event queue; counted as lost there if no buffer is free. Not while status.event_full is 1
inline constexpr uint32_t kMgmtEventDataRegister = 0x120u;  // The event that event_push sends, as in memory
inline constexpr uint32_t kMgmtFlipEntryRegister = 0x130u;  // The entry for flip_bit
inline constexpr uint32_t kMgmtFlipBitRegister = 0x134u;  // Fault injection (single-event upset) for tests: writing a bit number flips that bit in the memory of flip_entry; until the entry is written, every read of it has bad parity (fatal_cause.memory). A number beyond the entry's last bit selects its parity bit. Each memory keeps one flip; a new one replaces it, even if its entry does not exist. Only the low 10 bits are used.
inline constexpr uint32_t kMgmtMacLowRegister = 0x400u;  // Bytes 0 … 3 of the MAC address, byte 0 in bits 7:0
inline constexpr uint32_t kMgmtMacHighRegister = 0x404u;  // Bytes 4 and 5 of the MAC address
inline constexpr uint32_t kMgmtRxModeRegister = 0x408u;  // Receive modes of the net path, as set by the RX control class
inline constexpr uint32_t kMgmtActiveQueuePairsRegister = 0x40cu;  // Net queue pairs in use (VIRTIO_NET_CTRL_MQ)
inline constexpr uint32_t kMgmtMtuRegister = 0x410u;  // Largest net packet without Ethernet header, as the host reads it in its configuration
inline constexpr uint32_t kMgmtRxVerdictCountRegister = 0x440u;  // Frames by `rx_verdict`, saturating
inline constexpr uint32_t kMgmtTxFramesRegister = 0x480u;  // Frames sent, saturating
inline constexpr uint32_t kMgmtRxBufferDropsRegister = 0x484u;  // Frames dropped because the receive buffer was full, saturating
inline constexpr uint32_t kMgmtRetransmissionsRegister = 0x488u;  // RoCE packets retransmitted, saturating
inline constexpr uint32_t kMgmtDmaErrorsRegister = 0x48cu;  // DMA reads or writes that completed with an error, saturating
inline constexpr uint32_t kMgmtWindowViolationsRegister = 0x490u;  // Descriptors rejected because they point outside their queue's window, saturating
inline constexpr uint32_t kMgmtNetRxFilteredRegister = 0x494u;  // Net frames dropped by the receive filter, saturating
inline constexpr uint32_t kMgmtNetRxDropsRegister = 0x498u;  // Net frames dropped before or after the filter for lack of space or of receive buffers, saturating
inline constexpr uint32_t kMgmtNetTxDropsRegister = 0x49cu;  // Net frames of the driver that cannot be sent: too short, too long, or a header that requests a feature that was not offered, saturating
inline constexpr uint32_t kMgmtParameterRegister = 0x500u;  // Build parameters in the order of configs.toml, one register each; 0 after the last
inline constexpr uint32_t kMgmtDriverFeaturesRegister = 0xa0u;  // Feature bits that the driver wrote to common configuration, 32 to a register; valid while FEATURES_OK is set
inline constexpr RegisterInfo kMgmtRegisters[43] = {
    {"mgmt_id", 0x0u, 1u, Access::kRo, true, 0x4f524956u},
    {"mgmt_version", 0x4u, 1u, Access::kRo, true, 0x20000u},
    {"mgmt_abi_profile", 0x8u, 1u, Access::kRw, true, 0x1u},
    {"mgmt_scratch", 0xcu, 1u, Access::kRw, true, 0x0u},
    {"mgmt_time_low", 0x70u, 1u, Access::kRo, false, 0x0u},
    {"mgmt_time_high", 0x74u, 1u, Access::kRo, false, 0x0u},
    {"mgmt_control", 0x80u, 1u, Access::kRw, true, 0x0u},
    {"mgmt_status", 0x84u, 1u, Access::kRo, false, 0x0u},
    {"mgmt_interrupt_cause", 0x88u, 1u, Access::kW1c, true, 0x0u},
    {"mgmt_interrupt_enable", 0x8cu, 1u, Access::kRw, true, 0x0u},
    {"mgmt_queue_reset_index", 0x90u, 1u, Access::kRo, false, 0x0u},
    {"mgmt_queue_reset_done", 0x94u, 1u, Access::kWo, false, 0x0u},
    {"mgmt_fatal_cause", 0x98u, 1u, Access::kRo, true, 0x0u},
    {"mgmt_mailbox_status", 0xc0u, 1u, Access::kRo, true, 0x0u},
    {"mgmt_mailbox_request_bytes", 0xc4u, 1u, Access::kRo, false, 0x0u},
    {"mgmt_mailbox_response_bytes", 0xc8u, 1u, Access::kRo, false, 0x0u},
    {"mgmt_mailbox_fetch", 0xccu, 1u, Access::kWo, false, 0x0u},
    {"mgmt_mailbox_complete", 0xd0u, 1u, Access::kWo, false, 0x0u},
    {"mgmt_mailbox_data", 0x200u, 128u, Access::kRw, false, 0x0u},
    {"mgmt_table_command", 0x100u, 1u, Access::kRw, true, 0x0u},
    {"mgmt_table_index", 0x104u, 1u, Access::kRw, true, 0x0u},
    {"mgmt_table_data", 0x180u, 32u, Access::kRw, false, 0x0u},
    {"mgmt_qp_command", 0x110u, 1u, Access::kRw, true, 0x0u},
    {"mgmt_event_push", 0x118u, 1u, Access::kWo, false, 0x0u},
    {"mgmt_event_data", 0x120u, 4u, Access::kRw, false, 0x0u},
    {"mgmt_flip_entry", 0x130u, 1u, Access::kRw, true, 0x0u},
    {"mgmt_flip_bit", 0x134u, 1u, Access::kWo, false, 0x0u},
    {"mgmt_mac_low", 0x400u, 1u, Access::kRw, false, 0x0u},
    {"mgmt_mac_high", 0x404u, 1u, Access::kRw, false, 0x0u},
    {"mgmt_rx_mode", 0x408u, 1u, Access::kRw, true, 0x0u},
    {"mgmt_active_queue_pairs", 0x40cu, 1u, Access::kRw, true, 0x1u},
    {"mgmt_mtu", 0x410u, 1u, Access::kRw, true, 0x5dcu},
    {"mgmt_rx_verdict_count", 0x440u, 16u, Access::kRc, true, 0x0u},
    {"mgmt_tx_frames", 0x480u, 1u, Access::kRc, true, 0x0u},
    {"mgmt_rx_buffer_drops", 0x484u, 1u, Access::kRc, true, 0x0u},
    {"mgmt_retransmissions", 0x488u, 1u, Access::kRc, true, 0x0u},
    {"mgmt_dma_errors", 0x48cu, 1u, Access::kRc, true, 0x0u},
    {"mgmt_window_violations", 0x490u, 1u, Access::kRc, true, 0x0u},
    {"mgmt_net_rx_filtered", 0x494u, 1u, Access::kRc, true, 0x0u},
    {"mgmt_net_rx_drops", 0x498u, 1u, Access::kRc, true, 0x0u},
    {"mgmt_net_tx_drops", 0x49cu, 1u, Access::kRc, true, 0x0u},
    {"mgmt_parameter", 0x500u, 64u, Access::kRo, false, 0x0u},
    {"mgmt_driver_features", 0xa0u, 4u, Access::kRo, false, 0x0u},
};
inline constexpr uint32_t kProcessorBytes = 0x100u;
inline constexpr uint32_t kProcessorWaitRegister = 0x0u;  // A read is answered, with 0, when the interrupt of the management registers is asserted and the console is idle; until then the processor stands still
inline constexpr uint32_t kProcessorConsoleRegister = 0x4u;  // Sends a byte to the console; stands still while the one before is being sent
inline constexpr uint32_t kProcessorAliveRegister = 0x8u;  // Any value restarts the watchdog. A read of `wait` that is answered does, too
inline constexpr uint32_t kProcessorStopRegister = 0xcu;  // Any value stops the processor with the cause `firmware`
inline constexpr uint32_t kProcessorLastFailureRegister = 0x10u;  // Why the processor stopped last, since its power came up
inline constexpr uint32_t kProcessorFailureAddressRegister = 0x14u;  // The address of the last access before that
inline constexpr RegisterInfo kProcessorRegisters[6] = {
    {"processor_wait", 0x0u, 1u, Access::kRo, true, 0x0u},
    {"processor_console", 0x4u, 1u, Access::kWo, false, 0x0u},
    {"processor_alive", 0x8u, 1u, Access::kWo, false, 0x0u},
    {"processor_stop", 0xcu, 1u, Access::kWo, false, 0x0u},
    {"processor_last_failure", 0x10u, 1u, Access::kRo, true, 0x0u},
    {"processor_failure_address", 0x14u, 1u, Access::kRo, true, 0x0u},
};

// Build parameters; a named configuration is one set of them. (configs.toml)
struct Config {
  const char* name;
  uint32_t datapath_bits;  // Width of a beat on the DMA and frame streams [bits]
  uint32_t core_clock_khz;  // Core clock [kHz]
  uint32_t link_mbps;  // Ethernet line rate [Mb/s]
  uint32_t net_queue_pairs;  // virtio-net receive/transmit queue pairs (N) [pairs]
  uint32_t num_cqs;  // Completion queues (M, max_rdma_cqs); more need a larger notify region (notify_queues_max) [entries]
  uint32_t num_qps;  // Queue pairs including QP1 (L, max_rdma_qps); more need a larger notify region (notify_queues_max) [entries]
  uint32_t num_pds;  // Protection domains [entries]
  uint32_t num_mrs;  // Memory regions [entries]
  uint32_t num_translations;  // On-chip page addresses of all memory regions together [entries]
  uint32_t num_ahs;  // Address handles [entries]
  uint32_t num_gids;  // Length of the GID table [entries]
  uint32_t max_queue_entries;  // Largest virtqueue [descriptors]
  uint32_t max_net_queue_entries;  // Largest receive or transmit queue of the net part, if smaller than max_queue_entries: Linux fills every entry of its receive queues, 25 KiB of memory each [descriptors]
  uint32_t max_send_sge;  // Scatter/gather entries of a send work request [entries]
  uint32_t max_recv_sge;  // Scatter/gather entries of a receive work request [entries]
  uint32_t max_inline_bytes;  // Inline data of a send work request [bytes]
  uint32_t max_rd_atomic;  // RDMA READs and atomic operations outstanding per QP, each way [operations]
  uint32_t atomics;  // 1: COMPARE SWAP and FETCH ADD; 0: without their logic and memory
  uint32_t atomic_write;  // 1: ATOMIC WRITE, which the logic of atomic operations executes; 0: without what it needs besides
  uint32_t flush;  // 1: FLUSH, which the logic of atomic operations executes; 0: without what it needs besides
  uint32_t invalidation;  // 1: SEND with invalidate, local invalidate; 0: without their logic
  uint32_t memory_windows;  // 1: memory windows, which a local invalidate's logic completes; 0: without their logic and memory
  uint32_t fast_registration;  // 1: memory regions registered by work requests, which a local invalidate's logic completes; 0: without their logic
  uint32_t extensible_requests;  // 1: send work requests of a base and elements; their inline data of up to tx_inline_bytes is not read again if that is one beat of the data path. 0: without their logic
  uint32_t cqe_elements;  // 1: completions of a base and elements, such as a timestamp. 0: without their logic
  uint32_t push_requests;  // 1: send work requests of up to rdma_push_most can be pushed through the queue's notify page. 0: without their logic and memory
  uint32_t known_entries;  // 1: descriptor fetch keeps how many entries of a split ring are known to be available, and reads no index for them. 0: it reads the index for every request
  uint32_t max_srqs;  // Shared receive queues, each of which takes the number of a queue pair; 0: without their logic
  uint32_t max_mcast_attach;  // Attachments of UD queue pairs to multicast groups, of all together; 0: without their logic [entries]
  uint32_t parity;  // 1: a parity bit for each entry of the context memories; 0: without it, and without what it detects
  uint32_t net_offloads;  // 1: transmit and receive checksums of net frames; 0: without their logic
  uint32_t packed_rings;  // 1: packed rings besides split ones; 0: without their logic
  uint32_t event_index;  // 1: the driver can name the ring position of its next interrupt, and the device that of its next doorbell; 0: without their logic
  uint32_t moderation;  // 1: interrupts can be coalesced by number and time; 0: without the logic and memory
  uint32_t max_path_mtu;  // Largest RoCE path MTU [bytes]
  uint32_t max_frame_bytes;  // Largest Ethernet frame without FCS [bytes]
  uint32_t dma_tags;  // DMA reads outstanding [reads]
  uint32_t rx_buffer_bytes;  // Packet buffer between wire and host memory [bytes]
  uint32_t tx_buffer_bytes;  // Packet buffer between host memory and wire [bytes]
  uint32_t net_buffer_bytes;  // Each net frame buffer: host memory to checksum, checksum to wire, wire to host memory [bytes]
  uint32_t dma_read_buffer_bytes;  // Reorder buffer of the DMA reader: limits the bytes of outstanding reads [bytes]
  uint32_t dma_writes;  // Outstanding DMA writes [bursts]
  uint32_t send_records;  // Send work requests per QP that are fetched and not complete [entries]
  uint32_t send_queue_requests;  // Outstanding requests of the send queue to descriptor fetch [requests]
  uint32_t send_queue_buffers;  // Buffers that the outstanding requests of the send queue ask for [buffers]
  uint32_t send_queue_fetches;  // Outstanding reads of the send queue: two per rdma_sq_req, one per extensible work request [reads]
  uint32_t receives_ahead;  // Receive work requests of a QP or of a shared receive queue that are prefetched [entries]
  uint32_t send_requests_kept;  // Send work requests of all QPs that stay in the device after they were read: a replay does not read them again. 0: without the memory [entries]
  uint32_t send_burst_bytes;  // Maximum that a message sends per round-robin turn of its queue pair: a short message of another one waits for as much of each [bytes]
  uint32_t num_msix_vectors;  // MSI-X vectors (up to msix_vectors_max). A queue and the configuration each can have one of their own; the driver shares what there is [entries]
};
// 100 Gb/s SmartNIC boards (UltraScale+ class), and the default of every command
inline constexpr Config kNic100 = {
    .name = "nic100",
    .datapath_bits = 512u,
    .core_clock_khz = 250000u,
    .link_mbps = 100000u,
    .net_queue_pairs = 16u,
    .num_cqs = 1024u,
    .num_qps = 1024u,
    .num_pds = 1024u,
    .num_mrs = 4096u,
    .num_translations = 65536u,
    .num_ahs = 1024u,
    .num_gids = 128u,
    .max_queue_entries = 32768u,
    .max_net_queue_entries = 1024u,
    .max_send_sge = 30u,
    .max_recv_sge = 30u,
    .max_inline_bytes = 512u,
    .max_rd_atomic = 16u,
    .atomics = 1u,
    .atomic_write = 1u,
    .flush = 1u,
    .invalidation = 1u,
    .memory_windows = 1u,
    .fast_registration = 1u,
    .extensible_requests = 1u,
    .cqe_elements = 1u,
    .push_requests = 1u,
    .known_entries = 1u,
    .max_srqs = 256u,
    .max_mcast_attach = 16u,
    .parity = 1u,
    .net_offloads = 1u,
    .packed_rings = 1u,
    .event_index = 1u,
    .moderation = 1u,
    .max_path_mtu = 4096u,
    .max_frame_bytes = 9728u,
    .dma_tags = 256u,
    .rx_buffer_bytes = 524288u,
    .tx_buffer_bytes = 524288u,
    .net_buffer_bytes = 32768u,
    .dma_read_buffer_bytes = 32768u,
    .dma_writes = 256u,
    .send_records = 64u,
    .send_queue_requests = 32u,
    .send_queue_buffers = 64u,
    .send_queue_fetches = 32u,
    .receives_ahead = 64u,
    .send_requests_kept = 1024u,
    .send_burst_bytes = 16384u,
    .num_msix_vectors = 2048u,
};
// 1 Gb/s boards with a small FPGA (ECP5 class)
inline constexpr Config kNic1 = {
    .name = "nic1",
    .datapath_bits = 64u,
    .core_clock_khz = 125000u,
    .link_mbps = 1000u,
    .net_queue_pairs = 1u,
    .num_cqs = 16u,
    .num_qps = 16u,
    .num_pds = 16u,
    .num_mrs = 64u,
    .num_translations = 1024u,
    .num_ahs = 16u,
    .num_gids = 8u,
    .max_queue_entries = 256u,
    .max_net_queue_entries = 256u,
    .max_send_sge = 4u,
    .max_recv_sge = 4u,
    .max_inline_bytes = 256u,
    .max_rd_atomic = 4u,
    .atomics = 1u,
    .atomic_write = 1u,
    .flush = 1u,
    .invalidation = 1u,
    .memory_windows = 1u,
    .fast_registration = 0u,
    .extensible_requests = 1u,
    .cqe_elements = 0u,
    .push_requests = 0u,
    .known_entries = 0u,
    .max_srqs = 4u,
    .max_mcast_attach = 4u,
    .parity = 1u,
    .net_offloads = 1u,
    .packed_rings = 1u,
    .event_index = 1u,
    .moderation = 1u,
    .max_path_mtu = 4096u,
    .max_frame_bytes = 9728u,
    .dma_tags = 16u,
    .rx_buffer_bytes = 32768u,
    .tx_buffer_bytes = 32768u,
    .net_buffer_bytes = 16384u,
    .dma_read_buffer_bytes = 8192u,
    .dma_writes = 16u,
    .send_records = 16u,
    .send_queue_requests = 8u,
    .send_queue_buffers = 16u,
    .send_queue_fetches = 8u,
    .receives_ahead = 16u,
    .send_requests_kept = 16u,
    .send_burst_bytes = 4096u,
    .num_msix_vectors = 64u,
};
// 1 Gb/s boards with the smallest FPGAs: RC with SEND, WRITE and READ, the datagrams of connection setup, one net queue pair without offloads
inline constexpr Config kNic1Rc = {
    .name = "nic1_rc",
    .datapath_bits = 64u,
    .core_clock_khz = 62500u,
    .link_mbps = 1000u,
    .net_queue_pairs = 1u,
    .num_cqs = 8u,
    .num_qps = 8u,
    .num_pds = 8u,
    .num_mrs = 32u,
    .num_translations = 512u,
    .num_ahs = 8u,
    .num_gids = 4u,
    .max_queue_entries = 128u,
    .max_net_queue_entries = 128u,
    .max_send_sge = 4u,
    .max_recv_sge = 4u,
    .max_inline_bytes = 256u,
    .max_rd_atomic = 2u,
    .atomics = 0u,
    .atomic_write = 0u,
    .flush = 0u,
    .invalidation = 0u,
    .memory_windows = 0u,
    .fast_registration = 0u,
    .extensible_requests = 0u,
    .cqe_elements = 0u,
    .push_requests = 0u,
    .known_entries = 0u,
    .max_srqs = 0u,
    .max_mcast_attach = 0u,
    .parity = 0u,
    .net_offloads = 0u,
    .packed_rings = 0u,
    .event_index = 0u,
    .moderation = 0u,
    .max_path_mtu = 4096u,
    .max_frame_bytes = 9728u,
    .dma_tags = 8u,
    .rx_buffer_bytes = 16384u,
    .tx_buffer_bytes = 16384u,
    .net_buffer_bytes = 16384u,
    .dma_read_buffer_bytes = 8192u,
    .dma_writes = 8u,
    .send_records = 8u,
    .send_queue_requests = 4u,
    .send_queue_buffers = 8u,
    .send_queue_fetches = 8u,
    .receives_ahead = 8u,
    .send_requests_kept = 0u,
    .send_burst_bytes = 4096u,
    .num_msix_vectors = 8u,
};
// Feature bits that a device of this configuration does not offer.
constexpr uint64_t FeaturesWithheld(const Config& config) {
  uint64_t bits = 0;
  if (config.net_offloads == 0) bits |= 0x7u;  // net_feature.csum, net_feature.guest_csum, net_feature.ctrl_guest_offloads
  if (config.packed_rings == 0) bits |= 0x400000000u;  // virtio_feature.ring_packed
  if (config.event_index == 0) bits |= 0x20000000u;  // virtio_feature.ring_event_idx
  if (config.moderation == 0) bits |= 0x30000000000000u;  // net_feature.notf_coal, net_feature.vq_notf_coal
  return bits;
}
inline constexpr const Config* kConfigs[3] = {&kNic100, &kNic1, &kNic1Rc};

}  // namespace vireo::spec
