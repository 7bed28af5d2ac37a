// SPDX-License-Identifier: Apache-2.0
#include "sim/bench/rdma_workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <optional>

#include "sim/bench/bottleneck.h"
#include "sim/bench/go_back_n.h"

namespace vireo::sim {

namespace {

constexpr auto kWrite = spec::IbWrOpcode::kRdmaWrite;
constexpr auto kRead = spec::IbWrOpcode::kRdmaRead;
constexpr auto kFetchAdd = spec::IbWrOpcode::kAtomicFetchAndAdd;
constexpr auto kSend = spec::IbWrOpcode::kSend;
constexpr auto kWriteImm = spec::IbWrOpcode::kRdmaWriteWithImm;  // the peer gets a CQE with the number of each
constexpr auto kMtu = spec::IbMtu::kMtu4096;
constexpr Workload kWorkloads[] = {
    {"write_64b_1qp", kWrite, 64, 1, 64, 16, kMtu, 8000, 800},
    {"write_64b_16qp", kWrite, 64, 16, 64, 16, kMtu, 20000, 2000},
    {"write_512b_1qp", kWrite, 512, 1, 64, 16, kMtu, 8000, 800},
    {"write_4k_1qp", kWrite, 4096, 1, 64, 16, kMtu, 3000, 320},
    {"write_4k_16qp", kWrite, 4096, 16, 16, 8, kMtu, 4000, 512},
    {"write_64k_1qp", kWrite, 65536, 1, 8, 1, kMtu, 300, 16},
    {"write_1m_1qp", kWrite, 1048576, 1, 2, 1, kMtu, 16, 2},
    {"write_1m_16qp", kWrite, 1048576, 16, 1, 1, kMtu, 160, 16},
    {"write_64k_16qp", kWrite, 65536, 16, 2, 1, kMtu, 320, 32},
    {"read_64b_1qp", kRead, 64, 1, 32, 16, kMtu, 4000, 400},
    {"read_4k_1qp", kRead, 4096, 1, 16, 8, kMtu, 2000, 256},
    {"read_1m_1qp", kRead, 1048576, 1, 2, 1, kMtu, 16, 2},
    {"read_1m_16qp", kRead, 1048576, 16, 1, 1, kMtu, 160, 16},
    {"read_64b_16qp", kRead, 64, 16, 32, 16, kMtu, 8000, 800},
    {"read_4k_16qp", kRead, 4096, 16, 16, 8, kMtu, 4000, 512},
    {"read_64k_1qp", kRead, 65536, 1, 8, 1, kMtu, 300, 16},
    {"read_64k_16qp", kRead, 65536, 16, 2, 1, kMtu, 320, 32},
    {"atomic_8b_1qp", kFetchAdd, spec::kAtomicBytes, 1, 32, 16, kMtu, 4000, 400},
    {"atomic_8b_16qp", kFetchAdd, spec::kAtomicBytes, 16, 32, 16, kMtu, 8000, 800},
    {"send_64b_1qp", kSend, 64, 1, 64, 16, kMtu, 4000, 400},
    {"send_4k_1qp", kSend, 4096, 1, 16, 8, kMtu, 2000, 256},
    {"send_1m_1qp", kSend, 1048576, 1, 2, 1, kMtu, 16, 2},
    {"send_1m_16qp", kSend, 1048576, 16, 1, 1, kMtu, 160, 16},
    {"send_64b_16qp", kSend, 64, 16, 64, 16, kMtu, 8000, 800},
    {"send_4k_16qp", kSend, 4096, 16, 16, 8, kMtu, 4000, 512},
    {"send_64k_1qp", kSend, 65536, 1, 8, 1, kMtu, 300, 16},
    {"send_64k_16qp", kSend, 65536, 16, 2, 1, kMtu, 320, 32},
    {"loss_64k_write_0pct", kWriteImm, 65536, 4, 2, 1, kMtu, 400, 40, 0},
    {"loss_64k_write_0.01pct", kWriteImm, 65536, 4, 2, 1, kMtu, 2000, 40, 100},
    {"loss_64k_write_0.1pct", kWriteImm, 65536, 4, 2, 1, kMtu, 400, 40, 1000},
    {"loss_64k_write_0.5pct", kWriteImm, 65536, 4, 2, 1, kMtu, 400, 40, 5000},
    {"loss_64k_write_1pct", kWriteImm, 65536, 4, 2, 1, kMtu, 400, 40, 10000},
    {"pingpong_64b", kWrite, 64, 1, 1, 1, kMtu, 1000, 50},
};
// Local ACK timeouts on lossy lines: longer than all outstanding data takes on the line; 262 us and 17 ms.
constexpr uint8_t kLossTimeout = 6, kSlowLossTimeout = 12, kMostTimeout = 31;

// The most that go-back-N can reach on this line, and how much of it was.
void AddGoBackN(Bench& bench, const Workload& workload, double loss, Row& row) {
  constexpr uint32_t kLineBytes = kPreambleBytes + kFcsBytes + kInterframeGapBytes;
  constexpr uint32_t kHeaderBytes =
      spec::Ethernet::kBytes + spec::Ipv4::kBytes + spec::Udp::kBytes + spec::Bth::kBytes + spec::kIcrcBytes;
  const Wire& wire = bench.system->topology().wire(0);
  const auto line_ns = [&](uint64_t bytes) {
    return static_cast<double>(wire.Time(bytes + kLineBytes)) / kPicosecondsPerNanosecond;
  };
  const uint32_t payload = uint32_t{128} << static_cast<unsigned>(workload.path_mtu);
  const MacParameters mac;
  const uint64_t most_frames = workload.depth * ((workload.bytes + payload - 1) / payload);
  const LossyLine line{.loss = loss,
                       .frame_ns = line_ns(payload + kHeaderBytes),
                       .answer_ns = line_ns(std::max<uint64_t>(kHeaderBytes + spec::Aeth::kBytes, kMinFrameBytes)),
                       .delay_ns = static_cast<double>(wire.parameters().delay_ns),
                       .mac_ns = static_cast<double>(mac.transmit_latency_ns + mac.receive_latency_ns),
                       .most_frames = static_cast<double>(most_frames)};
  const double most = GoBackNShare(line) * payload * 8 / line.frame_ns;
  row.metrics.push_back({kGoBackN, most, "Gb/s"});
  row.metrics.push_back({kGoBackNReached, row.Value("goodput_gbps") / most * 100, "%"});
}

uint64_t MessageCount(const Options& options, const Workload& workload) {
  const uint64_t messages = options.quick ? workload.quick_messages : workload.messages;
  return options.config->link_mbps < kSlowMbps
             ? std::max<uint64_t>(messages / kSlowLinkDivisor, 2 * workload.signal_every)
             : messages;
}

constexpr uint32_t kMinCqes = 64;

// Posted at the peer: twice as many as outstanding messages, so that no message waits for the peer's host.
uint32_t Receives(const Workload& workload) {
  return workload.opcode == kSend || workload.opcode == kWriteImm ? 2 * workload.depth : 0;
}

}  // namespace

std::span<const Workload> Workloads() { return kWorkloads; }

uint8_t LossTimeout(const spec::Config& config, uint64_t bytes_in_flight) {
  uint8_t timeout = config.link_mbps < kSlowMbps ? kSlowLossTimeout : kLossTimeout;
  const uint64_t ns = bytes_in_flight * 8 * 1000 / config.link_mbps;
  while (timeout < kMostTimeout && (uint64_t{spec::kLocalAckTimeoutUnitNs} << timeout) <= ns) ++timeout;
  return timeout;
}

uint64_t MostQueuePairs(const spec::Config& config, uint64_t bytes) {
  // Each queue pair has a CQ, a PD and a region on both sides; regions have default-size pages.
  const uint64_t memory_bytes = std::max<uint64_t>(bytes, kMinMemoryBytes);
  const uint64_t pages = (memory_bytes + (1U << spec::kRdmaPageShiftDefault) - 1) >> spec::kRdmaPageShiftDefault;
  const uint64_t queue_pairs = config.num_qps - kReservedQueuePairs;
  return std::min<uint64_t>(
      {queue_pairs, config.num_cqs, config.num_pds, config.num_mrs, config.num_translations / pages});
}

host::Status PostMessage(ConnectedPair& pair, const Workload& workload, uint64_t wr_id, uint64_t offset,
                         bool is_signaled) {
  auto& [near, far] = pair.side;
  const spec::RdmaSge sge = near.region->Sge(offset, workload.bytes);
  verbs::SendRequest request{.wr_id = wr_id,
                             .opcode = workload.opcode,
                             .flags = is_signaled ? spec::IbSendFlags::kSignaled : uint8_t{0},
                             .sg_list = std::span(&sge, 1),
                             .remote_addr = far.region->address() + offset,
                             .rkey = far.region->rkey(),
                             .compare_add = 1};  // of FETCH ADD
  const auto number = static_cast<uint32_t>(wr_id);
  std::memcpy(request.imm_data, &number, sizeof number);
  return near.qp->PostSend(request);
}

std::string RunWorkload(const Options& options, const std::string& device, const Workload& base, Row& row) {
  Workload workload = base;
  workload.depth *= options.more_outstanding;
  const uint64_t memory_bytes = std::max(workload.bytes, kMinMemoryBytes);
  const uint64_t most_queue_pairs = MostQueuePairs(*options.config, workload.bytes);
  const size_t queue_pairs = std::min<uint64_t>(workload.queue_pairs, most_queue_pairs);
  const bool has_number = workload.opcode == kWriteImm;
  const bool sends = workload.opcode == kSend || has_number;
  const uint32_t receives = Receives(workload);
  ConnectedPairOptions pair_options{
      .memory_bytes = memory_bytes,
      .path_mtu = workload.path_mtu,
      .cqe = std::max(kMinCqes, receives),
      .interrupts = false,  // the host polls
      .qp = {.max_send_wr = std::max<uint32_t>(workload.depth, 2), .max_recv_wr = receives}};
  pair_options.connection.max_rd_atomic = pair_options.connection.max_dest_rd_atomic =
      static_cast<uint8_t>(options.config->max_rd_atomic);
  if (workload.opcode == kFetchAdd) pair_options.connection.access |= spec::IbAccessFlags::kRemoteAtomic;
  const uint32_t lost_per_million =
      workload.lost_per_million + (options.hardware != nullptr ? options.hardware->lost_per_million : 0);
  std::vector<FaultRule> faults;
  if (has_number || lost_per_million != 0 || (options.hardware != nullptr && options.hardware->is_lossy())) {
    pair_options.connection.timeout = LossTimeout(*options.config, 0);
    if (workload.lost_per_million != 0) faults.push_back(LoseFrames(workload.lost_per_million));
  }
  Bench bench;
  if (std::string error = bench.Open(options, device, {}, faults); !error.empty()) return error;
  if (std::string error = bench.Connect(queue_pairs, pair_options); !error.empty()) return error;

  struct Queue {
    uint64_t posted = 0, completed = 0;
    uint64_t receives = 0, received = 0;  // at the peer
    std::vector<Picoseconds> posted_at;   // by number modulo depth
  };
  std::vector<Queue> queues(queue_pairs);
  for (Queue& queue : queues) queue.posted_at.resize(workload.depth);
  // Excluded from the measurement: the messages that fill the queues, and an eighth more.
  const uint64_t measured = MessageCount(options, workload);
  const uint64_t fill = workload.depth * queue_pairs + measured / 8;
  const uint64_t slots = memory_bytes / workload.bytes;

  uint64_t completed = 0;
  std::optional<Mark> begin, end;
  std::vector<Picoseconds> latencies;
  Progress progress(device, workload.name);
  std::array<spec::RdmaCqReq, 16> cqes;
  // The peer's host polls its completions and reposts as many receives.
  const auto receive = [&](Queue& queue, ConnectedPair::Side& far) -> std::string {
    for (;;) {
      auto count = far.cq->Poll(cqes);
      if (!count.ok()) return host::ToString(count.error());
      if (*count == 0) break;
      // Each message once, in order.
      for (size_t k = 0; k < *count; ++k, ++queue.received) {
        const spec::RdmaCqReq& cqe = cqes[k];
        uint32_t number = 0;
        std::memcpy(&number, cqe.imm_data, sizeof number);
        if (cqe.status != spec::IbWcStatus::kSuccess || cqe.wr_id != queue.received || cqe.byte_len != workload.bytes ||
            (has_number && number != static_cast<uint32_t>(queue.received))) {
          return fmt::format("message {} of {} bytes completed receive {}, expected {}: {}", number, cqe.byte_len,
                             cqe.wr_id, queue.received, spec::ToString(cqe.status));
        }
      }
    }
    for (; queue.receives - queue.received < receives; ++queue.receives) {
      const spec::RdmaSge sge = far.region->Sge(queue.receives % slots * workload.bytes, workload.bytes);
      const host::Status posted = far.qp->PostRecv({.wr_id = queue.receives, .sg_list = std::span(&sge, 1)});
      if (!posted.ok()) return host::ToString(posted.error());
    }
    return "";
  };
  while (!end) {
    for (size_t i = 0; i < queue_pairs; ++i) {
      Queue& queue = queues[i];
      if (receives != 0) {
        if (std::string error = receive(queue, bench.pairs[i]->side[1]); !error.empty()) return error;
      }
      for (; queue.posted - queue.completed < workload.depth; ++queue.posted) {
        const bool is_signaled = (queue.posted + 1) % workload.signal_every == 0;
        const host::Status posted =
            PostMessage(*bench.pairs[i], workload, queue.posted, queue.posted % slots * workload.bytes, is_signaled);
        if (!posted.ok()) return host::ToString(posted.error());
        queue.posted_at[queue.posted % workload.depth] = bench.system->scheduler().now();
      }
    }
    if (!bench.RunUntilWritten([&] { progress.Tick(completed, fill + measured); })) {
      return fmt::format("no completion after {} messages\n{}", completed, bench.system->Violations());
    }
    const uint64_t first_completed = queues[0].completed;
    for (size_t i = 0; i < queue_pairs; ++i) {
      Queue& queue = queues[i];
      auto count = bench.pairs[i]->side[0].cq->Poll(cqes);
      if (!count.ok()) return host::ToString(count.error());
      for (size_t k = 0; k < *count; ++k) {
        const spec::RdmaCqReq& cqe = cqes[k];
        if (cqe.status != spec::IbWcStatus::kSuccess || cqe.wr_id != queue.completed + workload.signal_every - 1) {
          return fmt::format("queue pair {}: completion of {} is {}", i, cqe.wr_id, spec::ToString(cqe.status));
        }
        queue.completed += workload.signal_every;
        completed += workload.signal_every;
        if (begin) latencies.push_back(bench.system->scheduler().now() - queue.posted_at[cqe.wr_id % workload.depth]);
      }
    }
    // Both marks are at a CQE of queue pair 0, so that the others have equal progress towards their next CQE.
    if (queues[0].completed == first_completed) continue;
    if (!begin && completed >= fill) {
      begin = MarkNow(bench, completed);
    } else if (begin && completed >= begin->completed + measured) {
      end = MarkNow(bench, completed);
    }
  }
  // Complete outstanding messages, so that all data can be checked.
  if (std::string error = bench.RunUntilQuiet(); !error.empty()) return error;
  for (size_t i = 0; i < queue_pairs; ++i) {
    const auto& [near, far] = bench.pairs[i]->side;
    if (std::string error = receive(queues[i], bench.pairs[i]->side[1]); !error.empty()) return error;
    if (sends && queues[i].received != queues[i].posted) {
      return fmt::format("queue pair {}: {} of {} messages received", i, queues[i].received, queues[i].posted);
    }
    const uint64_t bytes = std::min(slots, queues[i].posted) * workload.bytes;
    // The value that came back is that before the last addition.
    const auto is_counted = [&, near_data = near.memory->data(), far_data = far.memory->data()] {
      for (uint64_t at = 0; at < bytes; at += workload.bytes) {
        uint64_t before = 0, after = 0;
        std::memcpy(&before, near_data + at, sizeof before);
        std::memcpy(&after, far_data + at, sizeof after);
        if (after != before + 1) return false;
      }
      return true;
    };
    if (workload.opcode == kFetchAdd ? !is_counted()
                                     : std::memcmp(near.memory->data(), far.memory->data(), bytes) != 0) {
      return fmt::format("queue pair {}: wrong data in the peer's memory", i);
    }
  }
  if (std::string violations = bench.system->Violations(); !violations.empty()) return violations;

  row.metrics = Measure(options, *begin, *end, workload.bytes, latencies);
  row.metrics.push_back({"queue_pairs", static_cast<double>(queue_pairs), "1"});
  AddLockstep(bench, row);
  const bool is_limited = workload.opcode == kRead || workload.opcode == kFetchAdd;
  const bool begins_all = !is_limited || workload.depth <= options.config->max_rd_atomic;
  if (options.is_metered) FindBottleneck(options, *begin, *end, workload.depth * queue_pairs, begins_all, row);
  if (!has_number) return "";
  uint64_t lost = 0;
  for (size_t i = 0; i < 2; ++i) {
    const FaultInjector* injector = bench.system->topology().faults_out(i);
    if (injector != nullptr) lost += injector->injected();
  }
  row.metrics.push_back({"lost_pct", lost_per_million * 1e-4, "%"});
  row.metrics.push_back({"frames_lost", static_cast<double>(lost), "1"});
  if (lost_per_million != 0) AddGoBackN(bench, workload, lost_per_million * 1e-6, row);
  return "";
}

}  // namespace vireo::sim
