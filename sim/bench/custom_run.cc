// SPDX-License-Identifier: Apache-2.0
#include "sim/bench/custom_workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <span>

#include "sim/bench/bottleneck.h"
#include "sim/bench/rdma_workload.h"
#include "sim/common/random.h"
#include "sim/traffic/net_frame.h"

namespace vireo::sim {
namespace {

using Opcode = spec::IbWrOpcode;

constexpr uint64_t kFillDivisor = 8;  // of the measured messages, excluded in addition to those that fill the queues
constexpr uint16_t kFirstPort = 50'000;
// Before an Ethernet frame without successor counts as lost: besides the time that all frames in flight take.
constexpr Picoseconds kNetTimeout = 1'000'000 * kPicosecondsPerNanosecond;
constexpr uint64_t kMostTimeouts = 100;  // one after the other, of each flow
constexpr uint32_t kFrameHeaders = spec::Ethernet::kBytes + spec::Ipv4::kBytes + spec::Udp::kBytes;

// A share by its weight. One share: no random number.
template <typename Share>
const Share& Choose(const std::vector<Share>& shares, std::mt19937_64& random) {
  if (shares.size() == 1) return shares.front();
  uint64_t all = 0;
  for (const Share& share : shares) all += share.weight;
  uint64_t at = UniformBelow(random, all);
  for (const Share& share : shares) {
    if (at < share.weight) return share;
    at -= share.weight;
  }
  return shares.back();
}

uint32_t ChooseSize(const std::vector<SizeShare>& sizes, std::mt19937_64& random) {
  const SizeShare& share = Choose(sizes, random);
  if (share.least == share.most) return share.least;
  return share.least + static_cast<uint32_t>(UniformBelow(random, uint64_t{share.most} - share.least + 1));
}

// From whom to whom, in the order of the senders.
std::vector<std::array<size_t, 2>> Ways(const CustomWorkload& workload) {
  if (workload.pattern == Pattern::kPair) return {{0, 1}};
  std::vector<std::array<size_t, 2>> ways;
  const size_t senders = workload.pattern == Pattern::kIncast ? workload.nics - 1 : workload.nics;
  ways.reserve(senders);
  for (size_t i = 0; i < senders; ++i) {
    ways.push_back({i, workload.pattern == Pattern::kIncast ? senders : (i + 1) % workload.nics});
  }
  return ways;
}

// Queue pairs of each NIC that sends; by a fault acted on, lost on the way, dropped by the switch; Ethernet frames that
// did not arrive, or not unchanged; of the way that carries least.
std::array<Metric, 7> OwnMetrics(uint32_t queue_pairs, uint32_t lost_per_million, uint64_t lost, uint64_t faults,
                                 uint64_t dropped, uint64_t missing, double least_gbps) {
  const auto number = [](uint64_t value) { return static_cast<double>(value); };
  return {{{"queue_pairs", number(queue_pairs), "1"},
           {"lost_pct", lost_per_million * 1e-4, "%"},
           {"frames_lost", number(lost), "1"},
           {"faults", number(faults), "1"},
           {"switch_drops", number(dropped), "1"},
           {"msgs_lost", number(missing), "1"},
           {"slowest_gbps", least_gbps, "Gb/s"}}};
}

// One queue pair in one direction.
struct Flow {
  size_t from = 0, to = 0, way = 0;
  std::mt19937_64 random;
  uint64_t posted = 0;
  uint64_t completed = 0;    // RDMA: by the sender's CQEs. Ethernet: up to the last one that arrived or is lost
  uint64_t bytes = 0;        // of these
  uint64_t missing = 0;      // Ethernet: lost
  Picoseconds moved_at = 0;  // when `completed` last changed
  struct Message {
    Picoseconds posted_at = 0;
    uint32_t bytes = 0;
  };
  std::vector<Message> messages;  // by number modulo outstanding

  std::unique_ptr<ConnectedPair> pair;
  uint64_t receives = 0, received = 0;  // at the receiver
  std::vector<uint32_t> lengths;        // of messages that complete a receive, by number modulo its size
  uint64_t sent_to_receives = 0;        // number of these
  struct Section {
    uint64_t posted = 0;
    std::vector<uint32_t> longest;  // message in each slot
  };
  std::map<Opcode, Section> sections;

  uint16_t queue = 0;                               // Ethernet: of the sender
  std::map<uint32_t, std::vector<uint8_t>> frames;  // by size
  std::set<uint32_t> gaps;                          // numbers of frames that did not arrive
};

// The part of a frame that differs between frames of its flow.
struct Label {
  uint32_t flow;
  uint32_t number;
};

// With so many times as many messages outstanding as Options wants.
CustomWorkload Widened(CustomWorkload workload, const Options& options) {
  workload.outstanding *= options.more_outstanding;
  return workload;
}

class CustomRun {
 public:
  CustomRun(const Options& options, std::string device, const CustomWorkload& workload)
      : options_(options),
        hardware_(*options.hardware),
        device_(std::move(device)),
        workload_(Widened(workload, options)),
        fill_(uint64_t{workload_.outstanding} * workload.queue_pairs * Ways(workload).size() +
              workload.messages / kFillDivisor) {}
  std::string Run(Row& row);

 private:
  struct Host {
    std::vector<size_t> sends, receives;  // numbers of flows
    size_t next = 0;                      // of `sends`
    uint64_t seen = 0;                    // DMA writes to its memory
    bool has_work = true;
    Picoseconds free_at = 0;  // when its thread has made its last call
  };
  struct Marks {
    Mark mark;                  // of the NICs of the first way
    Counts senders, receivers;  // sums
    uint64_t bytes = 0;
    std::vector<uint64_t> way_bytes;
  };

  std::string Open();
  std::string Connect();
  std::string Drain();
  void Report(Row& row);
  // One call of a host's thread. False: it has nothing to do, or error_.
  bool Act(Host& host);
  bool PollSends(Flow& flow);
  bool PollReceives(Flow& flow);
  bool PostReceive(Flow& flow);
  bool PostSend(Flow& flow);
  bool ReceiveFrame(Host& host);
  bool SendFrame(Flow& flow);
  void TakeFrame(const std::vector<uint8_t>& bytes);
  void FindLost();
  bool Fail(std::string error) {
    error_ = std::move(error);
    return false;
  }
  bool IsWoken(size_t i) { return bench_.system->topology().station(i).pcie().counters().writes != hosts_[i].seen; }
  void Judge();
  Marks MarkAll();
  std::vector<uint8_t>& FrameOf(Flow& flow, uint32_t bytes);
  Picoseconds Now() { return bench_.system->scheduler().now(); }

  const Options& options_;
  const Hardware& hardware_;
  const std::string device_;
  const CustomWorkload workload_;
  const uint64_t fill_;
  Bench bench_;
  std::vector<std::array<size_t, 2>> ways_;
  std::vector<Host> hosts_;
  std::vector<Flow> flows_;
  std::string error_;
  uint64_t completed_ = 0;
  bool is_due_ = false;  // to look whether a mark is
  std::optional<Marks> begin_, end_;
  std::vector<Picoseconds> latencies_;
  Picoseconds net_timeout_ = kNetTimeout;
  uint64_t timeouts_ = 0;  // since the last frame
};

std::string CustomRun::Open() {
  ways_ = Ways(workload_);
  host::DeviceOptions driver;
  if (workload_.is_net()) driver.queue_pairs = static_cast<uint16_t>(workload_.queue_pairs);
  NicRoles roles{.nics = workload_.nics, .is_switched = workload_.pattern != Pattern::kPair, .senders = {}};
  for (const auto& [from, to] : ways_) roles.senders.push_back(from);
  if (std::string error = bench_.Open(options_, device_, driver, {}, roles); !error.empty()) return error;
  hosts_.resize(workload_.nics);
  for (size_t way = 0; way < ways_.size(); ++way) {
    for (uint32_t i = 0; i < workload_.queue_pairs; ++i) {
      hosts_[ways_[way][0]].sends.push_back(flows_.size());
      hosts_[ways_[way][1]].receives.push_back(flows_.size());
      Flow& flow = flows_.emplace_back();
      flow.from = ways_[way][0], flow.to = ways_[way][1], flow.way = way;
      flow.queue = static_cast<uint16_t>(i);
      flow.random = MakeRandom(fmt::format("custom.{}.{}", way, i));
      flow.messages.resize(workload_.outstanding);
      flow.lengths.resize(2 * uint64_t{Receives(workload_)});
    }
  }
  return workload_.is_net() ? "" : Connect();
}

std::string CustomRun::Connect() {
  const uint32_t receives = Receives(workload_);
  const uint64_t section = SectionBytes(workload_);
  ConnectedPairOptions options{
      .memory_bytes = section * workload_.operations.size(),
      .path_mtu = workload_.path_mtu,
      .cqe = std::max(kMinCqes, receives),
      .interrupts = false,  // the host polls
      .qp = {.max_send_wr = std::max<uint32_t>(workload_.outstanding, 2), .max_recv_wr = receives}};
  options.connection.max_rd_atomic = options.connection.max_dest_rd_atomic =
      static_cast<uint8_t>(options_.config->max_rd_atomic);
  if (hardware_.is_lossy() || workload_.pattern != Pattern::kPair ||
      std::ranges::count(workload_.operations, Opcode::kRdmaWriteWithImm, &OperationShare::opcode) != 0) {
    const uint64_t in_flight = uint64_t{workload_.outstanding} * workload_.most_bytes() * flows_.size();
    options.connection.timeout = LossTimeout(*options_.config, in_flight);
  }
  auto random = MakeRandom("bench");
  for (Flow& flow : flows_) {
    std::string error;
    flow.pair = MakeConnectedPair(bench_.system->host(flow.from), bench_.system->host(flow.to), options, &error);
    if (flow.pair == nullptr) return error;
    for (const auto& side : flow.pair->side) {
      std::ranges::generate_n(side.memory->data(), static_cast<ptrdiff_t>(side.memory->size()),
                              [&] { return static_cast<uint8_t>(random()); });
    }
    for (const OperationShare& share : workload_.operations) {
      flow.sections[share.opcode].longest.resize(section / workload_.most_bytes());
    }
  }
  return bench_.RunUntilQuiet();
}

bool CustomRun::PollSends(Flow& flow) {
  std::array<spec::RdmaCqReq, 16> cqes;
  auto count = flow.pair->side[0].cq->Poll(cqes);
  if (!count.ok()) return Fail(host::ToString(count.error()));
  for (size_t k = 0; k < *count; ++k) {
    const spec::RdmaCqReq& cqe = cqes.at(k);
    if (cqe.status != spec::IbWcStatus::kSuccess || cqe.wr_id != flow.completed + workload_.signal_every - 1) {
      return Fail(fmt::format("queue pair {}: completion of {} is {}", &flow - flows_.data(), cqe.wr_id,
                              spec::ToString(cqe.status)));
    }
    for (uint64_t i = flow.completed; i <= cqe.wr_id; ++i) flow.bytes += flow.messages[i % workload_.outstanding].bytes;
    flow.completed += workload_.signal_every;
    completed_ += workload_.signal_every;
    if (begin_) latencies_.push_back(Now() - flow.messages[cqe.wr_id % workload_.outstanding].posted_at);
  }
  // Both marks are at a CQE of the first queue pair, so that the others have equal progress towards their next CQE.
  if (*count != 0 && &flow == flows_.data()) is_due_ = true;
  return *count != 0;
}

bool CustomRun::PollReceives(Flow& flow) {
  std::array<spec::RdmaCqReq, 16> cqes;
  auto count = flow.pair->side[1].cq->Poll(cqes);
  if (!count.ok()) return Fail(host::ToString(count.error()));
  // Each message once, in order.
  for (size_t k = 0; k < *count; ++k, ++flow.received) {
    const spec::RdmaCqReq& cqe = cqes.at(k);
    uint32_t number = 0;
    std::memcpy(&number, cqe.imm_data, sizeof number);
    const bool has_number = cqe.opcode == spec::IbWcOpcode::kRecvRdmaWithImm;
    if (cqe.status != spec::IbWcStatus::kSuccess || cqe.wr_id != flow.received ||
        cqe.byte_len != flow.lengths[flow.received % flow.lengths.size()] ||
        (has_number && number != static_cast<uint32_t>(flow.received))) {
      return Fail(fmt::format("message {} of {} bytes completed receive {}, expected {}: {}", number, cqe.byte_len,
                              cqe.wr_id, flow.received, spec::ToString(cqe.status)));
    }
  }
  return *count != 0;
}

bool CustomRun::PostReceive(Flow& flow) {
  if (flow.receives - flow.received >= Receives(workload_)) return false;
  // All have room for the longest message, in the section of SENDs. Only the numbers of SENDs among the messages that
  // complete a receive are in order with its slots if there are others: so a receive has the slot of its own number,
  // and so has the SEND.
  const auto send = flow.sections.find(Opcode::kSend);
  const auto section = send == flow.sections.end() ? flow.sections.begin() : send;
  const uint64_t offset =
      static_cast<uint64_t>(std::distance(flow.sections.begin(), section)) * SectionBytes(workload_) +
      flow.receives % section->second.longest.size() * workload_.most_bytes();
  const spec::RdmaSge sge = flow.pair->side[1].region->Sge(offset, workload_.most_bytes());
  const host::Status posted = flow.pair->side[1].qp->PostRecv({.wr_id = flow.receives, .sg_list = std::span(&sge, 1)});
  if (!posted.ok()) return Fail(host::ToString(posted.error()));
  ++flow.receives;
  return true;
}

bool CustomRun::PostSend(Flow& flow) {
  if (flow.posted - flow.completed >= workload_.outstanding) return false;
  auto& [near, far] = flow.pair->side;
  const Opcode opcode = Choose(workload_.operations, flow.random).opcode;
  const uint32_t bytes = ChooseSize(workload_.sizes, flow.random);
  const auto at = flow.sections.find(opcode);
  Flow::Section& section = at->second;
  const uint64_t number = HasReceive(opcode) ? flow.sent_to_receives : section.posted;
  const uint64_t slot = number % section.longest.size();
  const uint64_t offset = static_cast<uint64_t>(std::distance(flow.sections.begin(), at)) * SectionBytes(workload_) +
                          slot * workload_.most_bytes();
  const bool is_signaled = (flow.posted + 1) % workload_.signal_every == 0;
  const spec::RdmaSge sge = near.region->Sge(offset, bytes);
  verbs::SendRequest request{.wr_id = flow.posted,
                             .opcode = opcode,
                             .flags = is_signaled ? spec::IbSendFlags::kSignaled : uint8_t{0},
                             .sg_list = std::span(&sge, 1),
                             .remote_addr = far.region->address() + offset,
                             .rkey = far.region->rkey()};
  const auto immediate = static_cast<uint32_t>(flow.sent_to_receives);
  std::memcpy(request.imm_data, &immediate, sizeof immediate);
  const host::Status posted = near.qp->PostSend(request);
  if (!posted.ok()) return Fail(host::ToString(posted.error()));
  section.longest[slot] = std::max(section.longest[slot], bytes);
  ++section.posted;
  if (HasReceive(opcode)) flow.lengths[flow.sent_to_receives++ % flow.lengths.size()] = bytes;
  flow.messages[flow.posted % workload_.outstanding] = {Now(), bytes};
  ++flow.posted;
  return true;
}

std::vector<uint8_t>& CustomRun::FrameOf(Flow& flow, uint32_t bytes) {
  const auto [at, is_new] = flow.frames.try_emplace(bytes);
  if (is_new) {
    sim::Flow header;
    header.source_port = static_cast<uint16_t>(kFirstPort + (&flow - flows_.data()));
    at->second = MakeTransportFrame(bench_.system->host(flow.to).mac(), bench_.system->host(flow.from).mac(), header,
                                    bytes - kFrameHeaders, static_cast<uint64_t>(&flow - flows_.data()), true)
                     .bytes;
  }
  return at->second;
}

bool CustomRun::SendFrame(Flow& flow) {
  if (flow.posted - flow.completed >= workload_.outstanding) return false;
  const uint32_t bytes = ChooseSize(workload_.sizes, flow.random);
  std::vector<uint8_t>& frame = FrameOf(flow, bytes);
  const Label label{static_cast<uint32_t>(&flow - flows_.data()), static_cast<uint32_t>(flow.posted)};
  std::memcpy(frame.data() + frame.size() - sizeof(label), &label, sizeof(label));
  const host::Status sent = bench_.system->host(flow.from).device().net().transmit(flow.queue).Send(frame);
  if (!sent.ok()) {
    // The device has not sent earlier ones yet; it writes to the host's memory when it has.
    return sent.error().code == host::ErrorCode::kNoSpace ? false : Fail(host::ToString(sent.error()));
  }
  if (flow.posted == flow.completed) flow.moved_at = Now();
  flow.messages[flow.posted % workload_.outstanding] = {Now(), bytes};
  ++flow.posted;
  return true;
}

void CustomRun::TakeFrame(const std::vector<uint8_t>& bytes) {
  Label label{};
  if (bytes.size() >= kFrameHeaders + sizeof(label)) {
    std::memcpy(&label, bytes.data() + bytes.size() - sizeof(label), sizeof(label));
  }
  const bool is_known = bytes.size() >= kFrameHeaders + sizeof(label) && label.flow < flows_.size() &&
                        label.number < flows_[label.flow].posted &&
                        flows_[label.flow].frames.contains(static_cast<uint32_t>(bytes.size()));
  bool is_good = false;
  if (is_known) {
    std::vector<uint8_t>& frame = FrameOf(flows_[label.flow], static_cast<uint32_t>(bytes.size()));
    std::memcpy(frame.data() + frame.size() - sizeof(label), &label, sizeof(label));
    is_good = bytes == frame;
  }
  if (!is_good) {
    // A fault changed it: it counts as lost when a later one of its flow arrives.
    if (!hardware_.is_lossy()) error_ = fmt::format("received a frame of {} bytes that nobody sent", bytes.size());
    return;
  }
  Flow& flow = flows_[label.flow];
  if (label.number < flow.completed) {  // late, or a copy
    if (flow.gaps.erase(label.number) == 0) {
      if (!hardware_.is_lossy()) error_ = fmt::format("flow {}: received frame {} twice", label.flow, label.number);
      return;
    }
    if (!hardware_.is_lossy())
      error_ = fmt::format("flow {}: received frame {} out of order", label.flow, label.number);
    --flow.missing;
  } else {
    for (; flow.completed < label.number; ++flow.completed, ++flow.missing) {
      flow.gaps.insert(static_cast<uint32_t>(flow.completed));
    }
    ++flow.completed;
    if (begin_) latencies_.push_back(Now() - flow.messages[label.number % workload_.outstanding].posted_at);
  }
  flow.moved_at = Now();
  timeouts_ = 0;
  flow.bytes += bytes.size();
  ++completed_;
  is_due_ = true;
  hosts_[flow.from].has_work = true;
}

// Ethernet has no acknowledgement: after a time without progress, a flow's frames are lost.
void CustomRun::FindLost() {
  for (Flow& flow : flows_) {
    if (flow.completed == flow.posted || Now() < flow.moved_at + net_timeout_) continue;
    for (; flow.completed < flow.posted; ++flow.completed, ++flow.missing) {
      flow.gaps.insert(static_cast<uint32_t>(flow.completed));
    }
    flow.moved_at = Now();
    hosts_[flow.from].has_work = true;
    if (++timeouts_ > kMostTimeouts * flows_.size())
      error_ = fmt::format("no frame arrives any more, after {}", completed_);
  }
}

bool CustomRun::ReceiveFrame(Host& host) {
  if (host.receives.empty()) return false;
  host::VirtioNetDevice& device = bench_.system->host(flows_[host.receives.front()].to).device().net();
  const auto pairs = static_cast<uint16_t>(workload_.queue_pairs);
  for (uint16_t i = 0; i < pairs; ++i) {
    auto frame = device.receive(i).Receive();
    if (!frame.ok()) return Fail(host::ToString(frame.error()));
    if (!frame->has_value()) continue;
    TakeFrame((*frame)->bytes);
    return error_.empty();
  }
  return false;
}

bool CustomRun::Act(Host& host) {
  // Completions come first.
  if (workload_.is_net()) {
    if (ReceiveFrame(host)) return true;
  } else {
    for (const size_t i : host.sends) {
      if (PollSends(flows_[i])) return true;
    }
    for (const size_t i : host.receives) {
      if (Receives(workload_) != 0 && PollReceives(flows_[i])) return true;
    }
  }
  if (!error_.empty()) return false;
  Judge();
  if (end_) return false;
  for (const size_t i : host.receives) {
    if (!workload_.is_net() && PostReceive(flows_[i])) return true;
  }
  for (; host.next < host.sends.size(); ++host.next) {
    Flow& flow = flows_[host.sends[host.next]];
    if (workload_.is_net() ? SendFrame(flow) : PostSend(flow)) return true;
    if (!error_.empty()) return false;
  }
  host.next = 0;
  return false;
}

CustomRun::Marks CustomRun::MarkAll() {
  Marks marks;
  marks.mark = MarkNow(bench_, completed_, ways_.front());
  std::set<size_t> senders, receivers;
  for (const auto& [from, to] : ways_) senders.insert(from), receivers.insert(to);
  for (const size_t i : senders) marks.senders += bench_.observer.counts(i);
  for (const size_t i : receivers) marks.receivers += bench_.observer.counts(i);
  marks.way_bytes.resize(ways_.size());
  for (const Flow& flow : flows_) marks.way_bytes[flow.way] += flow.bytes;
  for (const uint64_t bytes : marks.way_bytes) marks.bytes += bytes;
  return marks;
}

void CustomRun::Judge() {
  if (!std::exchange(is_due_, false)) return;
  if (!begin_ && completed_ >= fill_) {
    begin_ = MarkAll();
  } else if (begin_ && !end_ && completed_ >= begin_->mark.completed + workload_.messages) {
    end_ = MarkAll();
  }
}

// Completes outstanding messages, so that all data can be checked.
std::string CustomRun::Drain() {
  Scheduler& scheduler = bench_.system->scheduler();
  const Picoseconds deadline = Now() + kQuietTimeout;
  for (;;) {
    for (size_t i = 0; i < hosts_.size(); ++i)
      hosts_[i].seen = bench_.system->topology().station(i).pcie().counters().writes;
    for (Flow& flow : flows_) {
      while (flow.pair != nullptr && Receives(workload_) != 0 && (PollReceives(flow) || PostReceive(flow))) {
      }
    }
    if (!error_.empty()) return error_;
    if (bench_.system->topology().IsQuiet()) break;
    const bool goes_on = scheduler.RunUntil(
        [&] {
          if (bench_.system->topology().IsQuiet()) return true;
          for (size_t i = 0; i < hosts_.size(); ++i) {
            if (Receives(workload_) != 0 && !hosts_[i].receives.empty() && IsWoken(i)) return true;
          }
          return false;
        },
        deadline);
    if (!goes_on) return "the NICs do not become idle";
  }
  for (const Flow& flow : flows_) {
    if (flow.pair == nullptr) continue;
    const auto& [near, far] = flow.pair->side;
    const auto number = &flow - flows_.data();
    if (flow.received != flow.sent_to_receives) {
      return fmt::format("queue pair {}: {} of {} messages received", number, flow.received, flow.sent_to_receives);
    }
    uint64_t offset = 0;
    for (const auto& [opcode, section] : flow.sections) {
      for (size_t slot = 0; slot < section.longest.size(); ++slot) {
        const uint64_t at = offset + slot * workload_.most_bytes();
        if (std::memcmp(near.memory->data() + at, far.memory->data() + at, section.longest[slot]) != 0) {
          return fmt::format("queue pair {}: wrong data in memory", number);
        }
      }
      offset += SectionBytes(workload_);
    }
  }
  return "";
}

std::string CustomRun::Run(Row& row) {
  if (std::string error = Open(); !error.empty()) return error;
  Scheduler& scheduler = bench_.system->scheduler();
  Topology& topology = bench_.system->topology();
  if (workload_.is_net()) {
    const uint64_t in_flight = uint64_t{workload_.outstanding} * workload_.most_bytes() * flows_.size();
    net_timeout_ +=
        2 * (topology.wire(0).Time(in_flight) + Picoseconds{hardware_.nic.wire_delay_ns} * kPicosecondsPerNanosecond);
    if (workload_.pattern == Pattern::kIncast) {
      // The receiver of an incast sends nothing else, so that the switch would send every frame to all.
      const std::vector<uint8_t> hello =
          PlainFrame(kBroadcast, bench_.system->host(ways_[0][1]).mac(), kShortestFrame, 0);
      const host::Status sent = bench_.system->host(ways_[0][1]).device().net().transmit(0).Send(hello);
      if (!sent.ok()) return host::ToString(sent.error());
      if (std::string error = bench_.RunUntilQuiet(); !error.empty()) return error;
    }
  }
  // Receives are posted in advance.
  for (Flow& flow : flows_) {
    while (!workload_.is_net() && PostReceive(flow)) {
    }
  }
  const Picoseconds call = Picoseconds{hardware_.call_ns} * kPicosecondsPerNanosecond;
  Progress progress(device_, workload_.name);
  while (!end_) {
    bool is_again = false;
    Picoseconds next = kForever;
    for (size_t i = 0; i < hosts_.size(); ++i) {
      Host& host = hosts_[i];
      if (IsWoken(i)) host.has_work = true, host.seen = topology.station(i).pcie().counters().writes;
      while (host.has_work && Now() >= host.free_at) {
        host.has_work = Act(host);
        if (!error_.empty()) return error_;
        if (end_) break;
        if (host.has_work) host.free_at = Now() + call;
      }
      if (end_) break;
      if (host.has_work) next = std::min(next, host.free_at);
    }
    if (end_) break;
    // A frame that arrived gives its sender work, which may have had its turn already.
    for (const Host& host : hosts_) is_again |= host.has_work && Now() >= host.free_at;
    if (is_again) continue;
    const bool waits = next == kForever;
    Picoseconds deadline = waits ? Now() + kCompletionTimeout : next;
    if (workload_.is_net()) {
      for (const Flow& flow : flows_) {
        if (flow.completed != flow.posted) deadline = std::min(deadline, flow.moved_at + net_timeout_);
      }
    }
    const bool is_woken = scheduler.RunUntil(
        [&] {
          progress.Tick(completed_, fill_ + workload_.messages);
          for (size_t i = 0; i < hosts_.size(); ++i) {
            const Host& host = hosts_[i];
            if (!host.has_work && IsWoken(i) &&
                (!host.sends.empty() || workload_.is_net() || Receives(workload_) != 0)) {
              return true;
            }
          }
          return false;
        },
        deadline);
    if (workload_.is_net()) {
      FindLost();
      if (!error_.empty()) return error_;
    } else if (!is_woken && waits) {
      return fmt::format("no completion after {} messages\n{}", completed_, bench_.system->Violations());
    }
  }
  if (std::string error = Drain(); !error.empty()) return error;
  if (std::string violations = bench_.system->Violations(); !violations.empty()) return violations;
  Report(row);
  return "";
}

void CustomRun::Report(Row& row) {
  Mark begin = begin_->mark, end = end_->mark;
  begin.counts = {begin_->senders, begin_->receivers};
  end.counts = {end_->senders, end_->receivers};
  const double bytes =
      static_cast<double>(end_->bytes - begin_->bytes) / static_cast<double>(end.completed - begin.completed);
  row.metrics = Measure(options_, begin, end, bytes, latencies_);
  if (options_.is_metered) {  // of the first sender and its peer, not of all
    const bool reads = std::ranges::any_of(
        workload_.operations, [](const OperationShare& share) { return share.opcode == spec::IbWrOpcode::kRdmaRead; });
    const bool begins_all = !reads || workload_.outstanding <= options_.config->max_rd_atomic;
    FindBottleneck(options_, begin_->mark, end_->mark, uint64_t{workload_.outstanding} * flows_.size(), begins_all,
                   row);
  }

  Topology& topology = bench_.system->topology();
  uint64_t faults = 0, lost = 0, dropped = 0, missing = 0;
  for (size_t i = 0; i < topology.size(); ++i) {
    const FaultInjector* injector = topology.faults_out(i);
    if (injector != nullptr) {
      faults += injector->injected();
      const bool sends = std::ranges::count(ways_, i, [](const auto& way) { return way[0]; }) != 0;
      const std::vector<FaultRule> rules = FaultsOut(hardware_, sends);
      for (size_t k = 0; k < rules.size(); ++k) {
        if (rules[k].kind == FaultKind::kDrop || rules[k].kind == FaultKind::kLinkDown) lost += injector->hits()[k];
      }
    }
    if (topology.network_switch() != nullptr)
      dropped += topology.network_switch()->counters(static_cast<unsigned>(i)).overflow_drops;
    if (i == 0 || topology.network_switch() != nullptr) lost += topology.wire(i).lost();
  }
  for (const Flow& flow : flows_) missing += flow.missing;
  double least = -1;
  const auto seconds = static_cast<double>(end.time - begin.time) * 1e-12;
  for (size_t way = 0; way < ways_.size(); ++way) {
    const double gbps = static_cast<double>(end_->way_bytes[way] - begin_->way_bytes[way]) * 8e-9 / seconds;
    if (least < 0 || gbps < least) least = gbps;
  }
  std::ranges::copy(
      OwnMetrics(workload_.queue_pairs, hardware_.lost_per_million, lost, faults, dropped, missing, least),
      std::back_inserter(row.metrics));
  AddLockstep(bench_, row);
}

}  // namespace

std::vector<Metric> CustomMetrics() {
  std::vector<Picoseconds> latencies;
  std::vector<Metric> metrics = Measure({}, {}, {}, 0, latencies);
  std::ranges::copy(OwnMetrics(0, 0, 0, 0, 0, 0, 0), std::back_inserter(metrics));
  return metrics;
}

std::string RunCustom(const Options& options, const std::string& device, const CustomWorkload& workload, Row& row) {
  return CustomRun(options, device, workload).Run(row);
}

}  // namespace vireo::sim
