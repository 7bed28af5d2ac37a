// SPDX-License-Identifier: Apache-2.0
// Generated from spec/configs.toml by spec/generate.py. Do not edit: change the TOML, then run ./vireo spec.
// Configurations other than the named ones: what each parameter may be, and which rule a configuration breaks.
#pragma once

#include <stdint.h>

#include "spec/gen/vireo_spec.h"

namespace vireo::spec {

struct ParameterInfo {
  const char* name;
  uint32_t Config::*member;
  uint32_t min, max;  // inclusive
  bool is_power_of_two;  // only powers of two are legal
  const char* unit;
  const char* doc;
  const char* range;  // as text
};
inline constexpr ParameterInfo kParameterInfo[50] = {
    {"datapath_bits", &Config::datapath_bits, 64u, 1024u, true, "bits",
     "Width of a beat on the DMA and frame streams",
     "must be 64 to 1024 and a power of two"},
    {"core_clock_khz", &Config::core_clock_khz, 1000u, 1000000u, false, "kHz",
     "Core clock",
     "must be 1000 to 1000000"},
    {"link_mbps", &Config::link_mbps, 100u, 400000u, false, "Mb/s",
     "Ethernet line rate",
     "must be 100 to 400000"},
    {"net_queue_pairs", &Config::net_queue_pairs, 1u, 16u, false, "pairs",
     "virtio-net receive/transmit queue pairs (N)",
     "must be 1 to 16"},
    {"num_cqs", &Config::num_cqs, 2u, 1024u, true, "entries",
     "Completion queues (M, max_rdma_cqs); more need a larger notify region (notify_queues_max)",
     "must be 2 to 1024 and a power of two"},
    {"num_qps", &Config::num_qps, 2u, 1024u, true, "entries",
     "Queue pairs including QP1 (L, max_rdma_qps); more need a larger notify region (notify_queues_max)",
     "must be 2 to 1024 and a power of two"},
    {"num_pds", &Config::num_pds, 1u, 16384u, true, "entries",
     "Protection domains",
     "must be 1 to 16384 and a power of two"},
    {"num_mrs", &Config::num_mrs, 1u, 65536u, true, "entries",
     "Memory regions",
     "must be 1 to 65536 and a power of two"},
    {"num_translations", &Config::num_translations, 16u, 1048576u, true, "entries",
     "On-chip page addresses of all memory regions together",
     "must be 16 to 1048576 and a power of two"},
    {"num_ahs", &Config::num_ahs, 1u, 65536u, true, "entries",
     "Address handles",
     "must be 1 to 65536 and a power of two"},
    {"num_gids", &Config::num_gids, 1u, 256u, true, "entries",
     "Length of the GID table",
     "must be 1 to 256 and a power of two"},
    {"max_queue_entries", &Config::max_queue_entries, 16u, 32768u, true, "descriptors",
     "Largest virtqueue",
     "must be 16 to 32768 and a power of two"},
    {"max_net_queue_entries", &Config::max_net_queue_entries, 16u, 32768u, true, "descriptors",
     "Largest receive or transmit queue of the net part, if smaller than max_queue_entries: Linux fills every entry of its receive queues, 25 KiB of memory each",
     "must be 16 to 32768 and a power of two"},
    {"max_send_sge", &Config::max_send_sge, 1u, 32u, false, "entries",
     "Scatter/gather entries of a send work request",
     "must be 1 to 32"},
    {"max_recv_sge", &Config::max_recv_sge, 1u, 32u, false, "entries",
     "Scatter/gather entries of a receive work request",
     "must be 1 to 32"},
    {"max_inline_bytes", &Config::max_inline_bytes, 0u, 512u, false, "bytes",
     "Inline data of a send work request",
     "must be 0 to 512"},
    {"max_rd_atomic", &Config::max_rd_atomic, 1u, 128u, true, "operations",
     "RDMA READs and atomic operations outstanding per QP, each way",
     "must be 1 to 128 and a power of two"},
    {"atomics", &Config::atomics, 0u, 1u, false, "",
     "1: COMPARE SWAP and FETCH ADD; 0: without their logic and memory",
     "must be 0 to 1"},
    {"atomic_write", &Config::atomic_write, 0u, 1u, false, "",
     "1: ATOMIC WRITE, which the logic of atomic operations executes; 0: without what it needs besides",
     "must be 0 to 1"},
    {"flush", &Config::flush, 0u, 1u, false, "",
     "1: FLUSH, which the logic of atomic operations executes; 0: without what it needs besides",
     "must be 0 to 1"},
    {"invalidation", &Config::invalidation, 0u, 1u, false, "",
     "1: SEND with invalidate, local invalidate; 0: without their logic",
     "must be 0 to 1"},
    {"memory_windows", &Config::memory_windows, 0u, 1u, false, "",
     "1: memory windows, which a local invalidate's logic completes; 0: without their logic and memory",
     "must be 0 to 1"},
    {"fast_registration", &Config::fast_registration, 0u, 1u, false, "",
     "1: memory regions registered by work requests, which a local invalidate's logic completes; 0: without their logic",
     "must be 0 to 1"},
    {"extensible_requests", &Config::extensible_requests, 0u, 1u, false, "",
     "1: send work requests of a base and elements; their inline data of up to tx_inline_bytes is not read again if that is one beat of the data path. 0: without their logic",
     "must be 0 to 1"},
    {"cqe_elements", &Config::cqe_elements, 0u, 1u, false, "",
     "1: completions of a base and elements, such as a timestamp. 0: without their logic",
     "must be 0 to 1"},
    {"push_requests", &Config::push_requests, 0u, 1u, false, "",
     "1: send work requests of up to rdma_push_most can be pushed through the queue's notify page. 0: without their logic and memory",
     "must be 0 to 1"},
    {"known_entries", &Config::known_entries, 0u, 1u, false, "",
     "1: descriptor fetch keeps how many entries of a split ring are known to be available, and reads no index for them. 0: it reads the index for every request",
     "must be 0 to 1"},
    {"max_srqs", &Config::max_srqs, 0u, 1022u, false, "",
     "Shared receive queues, each of which takes the number of a queue pair; 0: without their logic",
     "must be 0 to 1022"},
    {"max_mcast_attach", &Config::max_mcast_attach, 0u, 64u, false, "entries",
     "Attachments of UD queue pairs to multicast groups, of all together; 0: without their logic",
     "must be 0 to 64"},
    {"parity", &Config::parity, 0u, 1u, false, "",
     "1: a parity bit for each entry of the context memories; 0: without it, and without what it detects",
     "must be 0 to 1"},
    {"net_offloads", &Config::net_offloads, 0u, 1u, false, "",
     "1: transmit and receive checksums of net frames; 0: without their logic",
     "must be 0 to 1"},
    {"packed_rings", &Config::packed_rings, 0u, 1u, false, "",
     "1: packed rings besides split ones; 0: without their logic",
     "must be 0 to 1"},
    {"event_index", &Config::event_index, 0u, 1u, false, "",
     "1: the driver can name the ring position of its next interrupt, and the device that of its next doorbell; 0: without their logic",
     "must be 0 to 1"},
    {"moderation", &Config::moderation, 0u, 1u, false, "",
     "1: interrupts can be coalesced by number and time; 0: without the logic and memory",
     "must be 0 to 1"},
    {"max_path_mtu", &Config::max_path_mtu, 256u, 4096u, true, "bytes",
     "Largest RoCE path MTU",
     "must be 256 to 4096 and a power of two"},
    {"max_frame_bytes", &Config::max_frame_bytes, 1518u, 9728u, false, "bytes",
     "Largest Ethernet frame without FCS",
     "must be 1518 to 9728"},
    {"dma_tags", &Config::dma_tags, 8u, 1024u, true, "reads",
     "DMA reads outstanding",
     "must be 8 to 1024 and a power of two"},
    {"rx_buffer_bytes", &Config::rx_buffer_bytes, 16384u, 4194304u, true, "bytes",
     "Packet buffer between wire and host memory",
     "must be 16384 to 4194304 and a power of two"},
    {"tx_buffer_bytes", &Config::tx_buffer_bytes, 16384u, 4194304u, true, "bytes",
     "Packet buffer between host memory and wire",
     "must be 16384 to 4194304 and a power of two"},
    {"net_buffer_bytes", &Config::net_buffer_bytes, 16384u, 4194304u, true, "bytes",
     "Each net frame buffer: host memory to checksum, checksum to wire, wire to host memory",
     "must be 16384 to 4194304 and a power of two"},
    {"dma_read_buffer_bytes", &Config::dma_read_buffer_bytes, 8192u, 1048576u, true, "bytes",
     "Reorder buffer of the DMA reader: limits the bytes of outstanding reads",
     "must be 8192 to 1048576 and a power of two"},
    {"dma_writes", &Config::dma_writes, 2u, 1024u, true, "bursts",
     "Outstanding DMA writes",
     "must be 2 to 1024 and a power of two"},
    {"send_records", &Config::send_records, 2u, 256u, true, "entries",
     "Send work requests per QP that are fetched and not complete",
     "must be 2 to 256 and a power of two"},
    {"send_queue_requests", &Config::send_queue_requests, 4u, 128u, true, "requests",
     "Outstanding requests of the send queue to descriptor fetch",
     "must be 4 to 128 and a power of two"},
    {"send_queue_buffers", &Config::send_queue_buffers, 8u, 256u, true, "buffers",
     "Buffers that the outstanding requests of the send queue ask for",
     "must be 8 to 256 and a power of two"},
    {"send_queue_fetches", &Config::send_queue_fetches, 8u, 128u, true, "reads",
     "Outstanding reads of the send queue: two per rdma_sq_req, one per extensible work request",
     "must be 8 to 128 and a power of two"},
    {"receives_ahead", &Config::receives_ahead, 8u, 128u, true, "entries",
     "Receive work requests of a QP or of a shared receive queue that are prefetched",
     "must be 8 to 128 and a power of two"},
    {"send_requests_kept", &Config::send_requests_kept, 0u, 65536u, true, "entries",
     "Send work requests of all QPs that stay in the device after they were read: a replay does not read them again. 0: without the memory",
     "must be 0 to 65536 and a power of two"},
    {"send_burst_bytes", &Config::send_burst_bytes, 4096u, 8388608u, true, "bytes",
     "Maximum that a message sends per round-robin turn of its queue pair: a short message of another one waits for as much of each",
     "must be 4096 to 8388608 and a power of two"},
    {"num_msix_vectors", &Config::num_msix_vectors, 2u, 2048u, false, "entries",
     "MSI-X vectors (up to msix_vectors_max). A queue and the configuration each can have one of their own; the driver shares what there is",
     "must be 2 to 2048"},
};
inline constexpr uint32_t kDatapathBitsMax = 1024u;
inline constexpr uint32_t kCoreClockKhzMax = 1000000u;
inline constexpr uint32_t kLinkMbpsMax = 400000u;
inline constexpr uint32_t kNetQueuePairsMax = 16u;
inline constexpr uint32_t kNumCqsMax = 1024u;
inline constexpr uint32_t kNumQpsMax = 1024u;
inline constexpr uint32_t kNumPdsMax = 16384u;
inline constexpr uint32_t kNumMrsMax = 65536u;
inline constexpr uint32_t kNumTranslationsMax = 1048576u;
inline constexpr uint32_t kNumAhsMax = 65536u;
inline constexpr uint32_t kNumGidsMax = 256u;
inline constexpr uint32_t kMaxQueueEntriesMax = 32768u;
inline constexpr uint32_t kMaxNetQueueEntriesMax = 32768u;
inline constexpr uint32_t kMaxSendSgeMax = 32u;
inline constexpr uint32_t kMaxRecvSgeMax = 32u;
inline constexpr uint32_t kMaxInlineBytesMax = 512u;
inline constexpr uint32_t kMaxRdAtomicMax = 128u;
inline constexpr uint32_t kAtomicsMax = 1u;
inline constexpr uint32_t kAtomicWriteMax = 1u;
inline constexpr uint32_t kFlushMax = 1u;
inline constexpr uint32_t kInvalidationMax = 1u;
inline constexpr uint32_t kMemoryWindowsMax = 1u;
inline constexpr uint32_t kFastRegistrationMax = 1u;
inline constexpr uint32_t kExtensibleRequestsMax = 1u;
inline constexpr uint32_t kCqeElementsMax = 1u;
inline constexpr uint32_t kPushRequestsMax = 1u;
inline constexpr uint32_t kKnownEntriesMax = 1u;
inline constexpr uint32_t kMaxSrqsMax = 1022u;
inline constexpr uint32_t kMaxMcastAttachMax = 64u;
inline constexpr uint32_t kParityMax = 1u;
inline constexpr uint32_t kNetOffloadsMax = 1u;
inline constexpr uint32_t kPackedRingsMax = 1u;
inline constexpr uint32_t kEventIndexMax = 1u;
inline constexpr uint32_t kModerationMax = 1u;
inline constexpr uint32_t kMaxPathMtuMax = 4096u;
inline constexpr uint32_t kMaxFrameBytesMax = 9728u;
inline constexpr uint32_t kDmaTagsMax = 1024u;
inline constexpr uint32_t kRxBufferBytesMax = 4194304u;
inline constexpr uint32_t kTxBufferBytesMax = 4194304u;
inline constexpr uint32_t kNetBufferBytesMax = 4194304u;
inline constexpr uint32_t kDmaReadBufferBytesMax = 1048576u;
inline constexpr uint32_t kDmaWritesMax = 1024u;
inline constexpr uint32_t kSendRecordsMax = 256u;
inline constexpr uint32_t kSendQueueRequestsMax = 128u;
inline constexpr uint32_t kSendQueueBuffersMax = 256u;
inline constexpr uint32_t kSendQueueFetchesMax = 128u;
inline constexpr uint32_t kReceivesAheadMax = 128u;
inline constexpr uint32_t kSendRequestsKeptMax = 65536u;
inline constexpr uint32_t kSendBurstBytesMax = 8388608u;
inline constexpr uint32_t kNumMsixVectorsMax = 2048u;

// The first rule that a configuration breaks, and why it is a rule. `rule` is null if it breaks none.
struct ConfigViolation {
  const char* rule;
  const char* reason;
};

// First the ranges, in the order of the parameters, then the rules between parameters.
constexpr ConfigViolation FirstIllegal(const Config& config) {
  for (const ParameterInfo& parameter : kParameterInfo) {
    const uint32_t value = config.*parameter.member;
    if (value < parameter.min || value > parameter.max ||
        (parameter.is_power_of_two && (value & (value - 1)) != 0)) {
      return {parameter.name, parameter.range};
    }
  }
  if (!((int64_t{config.datapath_bits} * int64_t{config.core_clock_khz}) >= (int64_t{config.link_mbps} * int64_t{1000}))) {
    return {"data_path_carries_line_rate",
            "datapath_bits * core_clock_khz >= link_mbps * 1000: The receive path has no back-pressure towards the line: a slower data path would need a buffer without end"};
  }
  if (!((int64_t{config.max_path_mtu} + int64_t{110}) <= int64_t{config.max_frame_bytes})) {
    return {"frame_holds_path_mtu",
            "max_path_mtu + 110 <= max_frame_bytes: Around the payload a frame has 18 bytes of Ethernet and VLAN tag, 40 of IPv6, 8 of UDP, 12 of BTH, up to 28 of extended headers, 4 of ICRC"};
  }
  if (!(int64_t{config.atomic_write} <= int64_t{config.atomics})) {
    return {"atomic_write_is_executed",
            "atomic_write <= atomics: The block of atomic operations executes ATOMIC WRITE"};
  }
  if (!(int64_t{config.memory_windows} <= int64_t{config.invalidation})) {
    return {"windows_are_invalidated",
            "memory_windows <= invalidation: A window of type 2 is unbound by an invalidate, and a bind completes as one"};
  }
  if (!(int64_t{config.fast_registration} <= int64_t{config.invalidation})) {
    return {"fast_regions_are_invalidated",
            "fast_registration <= invalidation: A region that a work request registered is free again by an invalidate, and a registration completes as one"};
  }
  if (!(int64_t{config.flush} <= int64_t{config.atomics})) {
    return {"flush_is_executed",
            "flush <= atomics: The block of atomic operations executes FLUSH"};
  }
  if (!(int64_t{config.push_requests} <= int64_t{config.extensible_requests})) {
    return {"pushed_is_extensible",
            "push_requests <= extensible_requests: What is pushed is an extensible work request"};
  }
  return {nullptr, nullptr};
}

}  // namespace vireo::spec
