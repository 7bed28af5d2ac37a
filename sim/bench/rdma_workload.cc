// SPDX-License-Identifier: Apache-2.0
#include "sim/bench/rdma_workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "sim/bench/bottleneck.h"
#include "sim/bench/go_back_n.h"

namespace vireo::sim {

namespace {

constexpr auto kWrite = spec::IbWrOpcode::kRdmaWrite;
constexpr auto kRead = spec::IbWrOpcode::kRdmaRead;
constexpr auto kFetchAdd = spec::IbWrOpcode::kAtomicFetchAndAdd;
constexpr auto kAtomicWrite = spec::IbWrOpcode::kAtomicWrite;
constexpr auto kFlush = spec::IbWrOpcode::kFlush;
constexpr auto kBind = spec::IbWrOpcode::kBindMw;
constexpr auto kRegister = spec::IbWrOpcode::kRegMr;
constexpr auto kInvalidate = spec::IbWrOpcode::kLocalInv;
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
    {"atomic_write_8b_16qp", kAtomicWrite, spec::kAtomicBytes, 16, 32, 16, kMtu, 8000, 800},
    {"flush_64b_16qp", kFlush, 64, 16, 32, 16, kMtu, 8000, 800},
    {"bind_16qp", kBind, 0, 16, 64, 16, kMtu, 16000, 1600},
    {"bind_invalidate_16qp", kInvalidate, 0, 16, 32, 16, kMtu, 8000, 800},
    {"register_invalidate_16qp", kRegister, 0, 16, 32, 16, kMtu, 8000, 800},
    {"send_64b_1qp", kSend, 64, 1, 64, 16, kMtu, 4000, 400},
    {"send_4k_1qp", kSend, 4096, 1, 16, 8, kMtu, 2000, 256},
    {"send_1m_1qp", kSend, 1048576, 1, 2, 1, kMtu, 16, 2},
    {"send_1m_16qp", kSend, 1048576, 16, 1, 1, kMtu, 160, 16},
    {"send_64b_16qp", kSend, 64, 16, 64, 16, kMtu, 8000, 800},
    {"srq_send_64b_1qp", kSend, 64, 1, 64, 16, kMtu, 4000, 400, 0, true},
    {"srq_send_64b_16qp", kSend, 64, 16, 64, 16, kMtu, 8000, 800, 0, true},
    {"srq_send_4k_16qp", kSend, 4096, 16, 16, 8, kMtu, 4000, 512, 0, true},
    {"send_4k_16qp", kSend, 4096, 16, 16, 8, kMtu, 4000, 512},
    {"send_64k_1qp", kSend, 65536, 1, 8, 1, kMtu, 300, 16},
    {"send_64k_16qp", kSend, 65536, 16, 2, 1, kMtu, 320, 32},
    {"loss_64k_write_0pct", kWriteImm, 65536, 4, 2, 1, kMtu, 400, 40, 0},
    {"loss_64k_write_0.01pct", kWriteImm, 65536, 4, 2, 1, kMtu, 2000, 40, 100},
    {"loss_64k_write_0.1pct", kWriteImm, 65536, 4, 2, 1, kMtu, 2000, 40, 1000},
    {"loss_64k_write_0.5pct", kWriteImm, 65536, 4, 2, 1, kMtu, 2000, 40, 5000},
    {"loss_64k_write_1pct", kWriteImm, 65536, 4, 2, 1, kMtu, 2000, 40, 10000},
    {"pingpong_64b", kWrite, 64, 1, 1, 1, kMtu, 1000, 50},
};
// Local ACK timeouts on lossy lines: longer than all outstanding data takes on the line; 262 us and 17 ms.
constexpr uint8_t kLossTimeout = 6, kSlowLossTimeout = 12, kMostTimeout = 31;

// The most that go-back-N can reach on this line, and how much of it was.
void AddGoBackN(Bench& bench, const Workload& workload, double loss, Row& row) {
  const uint32_t payload = uint32_t{128} << static_cast<unsigned>(workload.path_mtu);
  LossyLine line = LineOf(bench.system->topology().wire(0), MacParameters{}, payload);
  line.loss = loss;
  line.most_frames = static_cast<double>(workload.depth * ((workload.bytes + payload - 1) / payload));
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

// Posted at the peer, for each queue pair: twice as many as outstanding messages, so that no message waits for the
// peer's host.
uint32_t Receives(const Workload& workload) {
  return workload.opcode == kSend || workload.opcode == kWriteImm ? 2 * workload.depth : 0;
}

bool UsesWindows(const Workload& workload) {
  return workload.opcode == kBind || workload.opcode == kInvalidate || workload.opcode == kRegister;
}
// Work requests of a message.
uint32_t WorkRequests(const Workload& workload) {
  return workload.opcode == kFlush || workload.opcode == kInvalidate || workload.opcode == kRegister ? 2 : 1;
}
// Operations of which max_rd_atomic may be outstanding.
bool IsLimited(const Workload& workload) {
  return workload.opcode == kRead || workload.opcode == kFetchAdd || workload.opcode == kAtomicWrite ||
         workload.opcode == kFlush;
}

// The receives of the peer, whose host polls its completions and reposts as many: of each queue pair, or of all in one
// queue.
class Receiver {
 public:
  // `slots`: in the memory of each queue pair.
  Receiver(Bench& bench, const Workload& workload, uint64_t slots, std::shared_ptr<verbs::SharedReceiveQueue> srq,
           uint32_t srq_receives)
      : bench_(bench),
        workload_(workload),
        slots_(slots),
        srq_(std::move(srq)),
        srq_receives_(srq_receives),
        queues_(bench.pairs.size()) {}

  uint64_t received(size_t queue) const { return queues_[queue].received; }
  // Of one queue pair. Returns "" or an error.
  std::string Run(size_t queue) {
    for (;;) {
      auto count = bench_.pairs[queue]->side[1].cq->Poll(cqes_);
      if (!count.ok()) return host::ToString(count.error());
      if (*count == 0) break;
      for (size_t k = 0; k < *count; ++k) {
        if (std::string error = Check(queue, cqes_.at(k)); !error.empty()) return error;
        ++queues_[queue].received;
      }
    }
    return srq_ == nullptr ? PostOwn(queue) : PostShared();
  }

 private:
  struct Queue {
    uint64_t posted = 0, received = 0;
  };
  // Each message once, in order.
  std::string Check(size_t queue, const spec::RdmaCqReq& cqe) {
    const uint64_t message = queues_[queue].received;
    uint32_t number = 0;
    std::memcpy(&number, cqe.imm_data, sizeof number);
    const bool is_next = srq_ == nullptr ? cqe.wr_id == message : outstanding_.erase(cqe.wr_id) == 1;
    if (cqe.status != spec::IbWcStatus::kSuccess || !is_next || cqe.byte_len != workload_.bytes ||
        (workload_.opcode == kWriteImm && number != static_cast<uint32_t>(message))) {
      return fmt::format("message {} of {} bytes completed receive {}, expected {}: {}", number, cqe.byte_len,
                         cqe.wr_id, message, spec::ToString(cqe.status));
    }
    if (srq_ == nullptr) return "";
    const auto [owner, offset] = SharedPlace(cqe.wr_id);
    const uint8_t* sent = bench_.pairs[queue]->side[0].memory->data() + message % slots_ * workload_.bytes;
    if (std::memcmp(owner->memory->data() + offset, sent, workload_.bytes) == 0) return "";
    return fmt::format("queue pair {}: wrong data of message {} in shared receive {}", queue, message, cqe.wr_id);
  }
  std::string PostOwn(size_t index) {
    ConnectedPair::Side& side = bench_.pairs[index]->side[1];
    Queue& queue = queues_[index];
    for (; queue.posted - queue.received < Receives(workload_); ++queue.posted) {
      const spec::RdmaSge sge = side.region->Sge(queue.posted % slots_ * workload_.bytes, workload_.bytes);
      const host::Status posted = side.qp->PostRecv({.wr_id = queue.posted, .sg_list = std::span(&sge, 1)});
      if (!posted.ok()) return host::ToString(posted.error());
    }
    return "";
  }
  std::string PostShared() {
    // They are completed in any order, and each has its own place.
    const uint64_t places = bench_.pairs.size() * slots_;
    for (; outstanding_.size() < srq_receives_ && (outstanding_.empty() || shared_ - *outstanding_.begin() < places);
         ++shared_) {
      const auto [owner, offset] = SharedPlace(shared_);
      const spec::RdmaSge sge = owner->region->Sge(offset, workload_.bytes);
      const host::Status posted = srq_->PostRecv({.wr_id = shared_, .sg_list = std::span(&sge, 1)});
      if (!posted.ok()) return host::ToString(posted.error());
      outstanding_.insert(shared_);
    }
    return "";
  }
  // Whose memory a shared receive has, and where.
  std::pair<const ConnectedPair::Side*, uint64_t> SharedPlace(uint64_t receive) const {
    const size_t pairs = bench_.pairs.size();
    return {&bench_.pairs[receive % pairs]->side[1], receive / pairs % slots_ * workload_.bytes};
  }

  Bench& bench_;
  const Workload& workload_;
  const uint64_t slots_;
  const std::shared_ptr<verbs::SharedReceiveQueue> srq_;
  const uint32_t srq_receives_;
  std::vector<Queue> queues_;
  uint64_t shared_ = 0;               // receives posted to srq_
  std::set<uint64_t> outstanding_{};  // of them
  std::array<spec::RdmaCqReq, 16> cqes_{};
};

// A memory window of each sender's queue pair, which its work requests bind and invalidate; or a region, which they
// register and invalidate.
class Windows {
 public:
  // Returns "" or an error.
  std::string Open(Bench& bench, const Workload& workload) {
    const auto type = workload.opcode == kBind ? spec::RdmaMwType::kType1 : spec::RdmaMwType::kType2;
    for (const auto& pair : bench.pairs) {
      ConnectedPair::Side& side = pair->side[0];
      if (workload.opcode == kRegister) {
        auto region = side.pd->AllocateRegion(1);
        if (!region.ok()) return host::ToString(region.error());
        windows_.push_back({*region, nullptr, (*region)->mrn(), side.memory->address(), side.memory->size()});
        continue;
      }
      std::vector<uint64_t> pages;
      for (uint64_t at = 0; at < side.memory->size(); at += kPage) pages.push_back(side.memory->address() + at);
      auto region = side.pd->Register(side.memory->address(), side.memory->size(),
                                      spec::IbAccessFlags::kLocalWrite | spec::IbAccessFlags::kMwBind, 0, pages);
      if (!region.ok()) return host::ToString(region.error());
      auto window = side.pd->AllocateWindow(type);
      if (!window.ok()) return host::ToString(window.error());
      windows_.push_back({*region, *window, (*window)->mwn(), side.memory->address(), side.memory->size()});
    }
    return "";
  }
  // One message: a bind to, or registration of, another page than the one before, with another key; and, if the
  // workload says so, the invalidate of this key.
  host::Status Post(Bench& bench, const Workload& workload, size_t queue, uint64_t message, bool is_signaled) {
    verbs::QueuePair& qp = *bench.pairs[queue]->side[0].qp;
    const uint8_t flags = is_signaled ? spec::IbSendFlags::kSignaled : uint8_t{0};
    const bool registers = workload.opcode == kRegister, is_ended = workload.opcode == kInvalidate || registers;
    const std::array<uint64_t, 1> page = {Address(queue, message)};
    host::Status bound = qp.PostSend(
        {.wr_id = message,
         .opcode = registers ? kRegister : kBind,
         .flags = is_ended ? uint8_t{0} : flags,
         .rkey = Key(queue, message),
         .bind_address = page[0],
         .bind_length = kPage,
         .bind_access = spec::IbAccessFlags::kRemoteWrite | (registers ? spec::IbAccessFlags::kLocalWrite : 0u),
         .bind_lkey = registers ? 0 : windows_[queue].region->lkey(),
         .pages = page});
    if (!bound.ok() || !is_ended) return bound;
    return qp.PostSend(
        {.wr_id = message, .opcode = kInvalidate, .flags = flags, .invalidate_rkey = Key(queue, message)});
  }
  // After `messages` of a queue pair: a WRITE of the peer by the last key reaches what the last bind said, or nothing.
  // By the key of before it reaches nothing.
  std::string Check(Bench& bench, const Workload& workload, size_t queue, uint64_t messages) {
    ConnectedPair::Side& peer = bench.pairs[queue]->side[1];
    const uint64_t last = messages - 1;
    const bool is_bound = workload.opcode == kBind;
    const uint64_t place = Address(queue, last) - windows_[queue].address;
    const uint8_t* memory = bench.pairs[queue]->side[0].memory->data() + place;
    for (const bool is_last : {true, false}) {
      const spec::RdmaSge sge = peer.region->Sge(is_last ? 0 : kPage, kPage);
      const std::vector<uint8_t> before(memory, memory + kPage);
      const host::Status posted = peer.qp->PostSend({.opcode = kWrite,
                                                     .sg_list = std::span(&sge, 1),
                                                     .remote_addr = Address(queue, last),
                                                     .rkey = Key(queue, is_last ? last : last - 1)});
      if (!posted.ok()) return host::ToString(posted.error());
      if (std::string error = bench.RunUntilQuiet(); !error.empty()) return error;
      std::array<spec::RdmaCqReq, 2> cqes{};
      auto count = peer.cq->Poll(cqes);
      const bool has_access = is_last && is_bound;
      const auto expected = has_access ? spec::IbWcStatus::kSuccess : spec::IbWcStatus::kRemAccessErr;
      if (!count.ok() || *count != 1 || cqes[0].status != expected) {
        return fmt::format("queue pair {}: a WRITE by the {} key does not complete with {}", queue,
                           is_last ? "last" : "former", spec::ToString(expected));
      }
      const uint8_t* const now = has_access ? peer.memory->data() : before.data();
      if (std::memcmp(memory, now, kPage) != 0) return fmt::format("queue pair {}: wrong data by its window", queue);
      if (!has_access) return "";  // the connection has failed
    }
    return "";
  }

 private:
  static constexpr uint64_t kPage = 4096;
  struct Window {
    std::shared_ptr<verbs::MemoryRegion> region;
    std::shared_ptr<verbs::MemoryWindow> window;
    uint32_t number = 0;
    uint64_t address = 0, length = 0;  // of the memory
  };
  uint32_t Key(size_t queue, uint64_t message) const {
    return windows_[queue].number << 8 | static_cast<uint8_t>(message);
  }
  uint64_t Address(size_t queue, uint64_t message) const {
    const Window& window = windows_[queue];
    return window.address + message % (window.length / kPage) * kPage;
  }

  std::vector<Window> windows_;
};

// Whether the peer's memory has what was sent. Not with windows or a shared receive queue, whose data is checked as it
// comes.
bool IsDelivered(const Workload& workload, const ConnectedPair& pair, uint64_t bytes) {
  const uint8_t *near = pair.side[0].memory->data(), *far = pair.side[1].memory->data();
  if (workload.opcode != kFetchAdd) return std::memcmp(near, far, bytes) == 0;
  // The value that came back is that before the last addition.
  for (uint64_t at = 0; at < bytes; at += workload.bytes) {
    uint64_t before = 0, after = 0;
    std::memcpy(&before, near + at, sizeof before);
    std::memcpy(&after, far + at, sizeof after);
    if (after != before + 1) return false;
  }
  return true;
}

}  // namespace

std::span<const Workload> Workloads() { return kWorkloads; }

bool IsOffered(const Options& options, const Workload& workload) {
  const spec::Config& config = *options.config;
  const auto has = [&](uint32_t feature) {
    return feature != 0 && spec::ConstantsOf(options.profile).rdma_has_additions;
  };
  if (workload.has_srq) return has(config.max_srqs);
  switch (workload.opcode) {
    case kFetchAdd: return has(config.atomics);
    case kAtomicWrite: return has(config.atomic_write);
    case kFlush: return has(config.flush);
    case kBind:
    case kInvalidate: return has(config.memory_windows);
    case kRegister: return has(config.fast_registration);
    default: return true;
  }
}

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
  if (workload.opcode == kAtomicWrite) {
    std::memcpy(&request.compare_add, near.memory->data() + offset, sizeof request.compare_add);
    request.sg_list = {};
  } else if (workload.opcode == kFlush) {
    verbs::SendRequest write = request;
    write.opcode = kWrite;
    write.flags = 0;
    if (host::Status posted = near.qp->PostSend(write); !posted.ok()) return posted;
    request.sg_list = {};
    request.flush_length = workload.bytes;
    request.flush_placement = spec::FlushPlacement::kGlobalVisibility;
  }
  return near.qp->PostSend(request);
}

std::string RunWorkload(const Options& options, const std::string& device, const Workload& base, Row& row) {
  Workload workload = base;
  workload.depth *= options.more_outstanding;
  // Shared receives are taken in any order: each has its own place.
  const uint32_t own_bytes = workload.has_srq ? Receives(workload) * workload.bytes : workload.bytes;
  const uint64_t memory_bytes = std::max(own_bytes, kMinMemoryBytes);
  const uint64_t most_queue_pairs = MostQueuePairs(*options.config, memory_bytes);
  // A shared receive queue takes the number of a queue pair.
  const size_t queue_pairs = std::min<uint64_t>(workload.queue_pairs, most_queue_pairs - (workload.has_srq ? 1 : 0));
  const bool has_number = workload.opcode == kWriteImm;
  const bool sends = workload.opcode == kSend || has_number;
  uint32_t srq_receives = 0;
  if (workload.has_srq) {
    srq_receives =
        std::min<uint32_t>(Receives(workload) * static_cast<uint32_t>(queue_pairs), options.config->max_queue_entries);
    workload.depth = std::min(workload.depth, srq_receives / static_cast<uint32_t>(2 * queue_pairs));
    workload.signal_every = std::min(workload.signal_every, workload.depth);
  }
  const uint32_t receives = Receives(workload);
  ConnectedPairOptions pair_options{
      .memory_bytes = memory_bytes,
      .path_mtu = workload.path_mtu,
      .cqe = std::max(kMinCqes, receives),
      .interrupts = false,  // the host polls
      .qp = {.max_send_wr = std::max<uint32_t>(WorkRequests(workload) * workload.depth, 2), .max_recv_wr = receives}};
  pair_options.connection.max_rd_atomic = pair_options.connection.max_dest_rd_atomic =
      static_cast<uint8_t>(options.config->max_rd_atomic);
  if (workload.opcode == kFetchAdd) pair_options.connection.access |= spec::IbAccessFlags::kRemoteAtomic;
  if (workload.opcode == kFlush) pair_options.connection.access |= spec::IbAccessFlags::kFlushGlobal;
  const uint32_t lost_per_million =
      workload.lost_per_million + (options.hardware != nullptr ? options.hardware->lost_per_million : 0);
  std::vector<FaultRule> faults;
  if (has_number || lost_per_million != 0 || (options.hardware != nullptr && options.hardware->is_lossy())) {
    pair_options.connection.timeout = LossTimeout(*options.config, 0);
    if (workload.lost_per_million != 0) faults.push_back(LoseFrames(workload.lost_per_million));
  }
  Bench bench;
  if (std::string error = bench.Open(options, device, {}, faults); !error.empty()) return error;
  std::shared_ptr<verbs::SharedReceiveQueue> srq;
  if (workload.has_srq) {
    auto pd = bench.system->host(1).device().CreatePd();
    if (!pd.ok()) return host::ToString(pd.error());
    auto created = (*pd)->CreateSrq({.max_wr = srq_receives});
    if (!created.ok()) return host::ToString(created.error());
    srq = pair_options.far_srq = *created;
  }
  if (std::string error = bench.Connect(queue_pairs, pair_options); !error.empty()) return error;
  pair_options.far_srq.reset();  // it ends before the system

  Windows windows;
  if (UsesWindows(workload)) {
    if (std::string error = windows.Open(bench, workload); !error.empty()) return error;
  }

  struct Queue {
    uint64_t posted = 0, completed = 0;
    std::vector<Picoseconds> posted_at;  // by number modulo depth
  };
  std::vector<Queue> queues(queue_pairs);
  for (Queue& queue : queues) queue.posted_at.resize(workload.depth);
  // Excluded from the measurement: the messages that fill the queues, and an eighth more.
  const uint64_t measured = MessageCount(options, workload);
  const uint64_t fill = workload.depth * queue_pairs + measured / 8;
  const uint64_t slots = memory_bytes / std::max<uint32_t>(workload.bytes, 1);
  Receiver receiver(bench, workload, slots, srq, srq_receives);

  uint64_t completed = 0;
  std::optional<Mark> begin, end;
  std::vector<Picoseconds> latencies;
  Progress progress(device, workload.name);
  std::array<spec::RdmaCqReq, 16> cqes;
  while (!end) {
    for (size_t i = 0; i < queue_pairs; ++i) {
      Queue& queue = queues[i];
      if (receives != 0) {
        if (std::string error = receiver.Run(i); !error.empty()) return error;
      }
      for (; queue.posted - queue.completed < workload.depth; ++queue.posted) {
        const bool is_signaled = (queue.posted + 1) % workload.signal_every == 0;
        const host::Status posted = UsesWindows(workload)
                                        ? windows.Post(bench, workload, i, queue.posted, is_signaled)
                                        : PostMessage(*bench.pairs[i], workload, queue.posted,
                                                      queue.posted % slots * workload.bytes, is_signaled);
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
    if (UsesWindows(workload)) {
      if (std::string error = windows.Check(bench, workload, i, queues[i].posted); !error.empty()) return error;
      continue;
    }
    if (std::string error = receiver.Run(i); !error.empty()) return error;
    if (sends && receiver.received(i) != queues[i].posted) {
      return fmt::format("queue pair {}: {} of {} messages received", i, receiver.received(i), queues[i].posted);
    }
    const uint64_t bytes = std::min(slots, queues[i].posted) * workload.bytes;
    if (!workload.has_srq && !IsDelivered(workload, *bench.pairs[i], bytes)) {
      return fmt::format("queue pair {}: wrong data in the peer's memory", i);
    }
  }
  if (std::string violations = bench.system->Violations(); !violations.empty()) return violations;

  row.metrics = Measure(options, *begin, *end, workload.bytes, latencies);
  row.metrics.push_back({"queue_pairs", static_cast<double>(queue_pairs), "1"});
  AddLockstep(bench, row);
  const bool begins_all = !IsLimited(workload) || workload.depth <= options.config->max_rd_atomic;
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
