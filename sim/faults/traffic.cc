// SPDX-License-Identifier: Apache-2.0
#include "sim/faults/traffic.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "sim/common/random.h"
#include "sim/traffic/net_frame.h"

namespace vireo::sim {
namespace {

using spec::IbWcStatus;
using spec::IbWrOpcode;

constexpr uint64_t kWindow = 6;         // most outstanding messages of one side
constexpr uint64_t kSpareReceives = 8;  // in addition to one per message
constexpr uint32_t kNumberBytes = 4;

void PutNumber(uint8_t* at, uint64_t number) {
  for (unsigned i = 0; i < kNumberBytes; ++i) at[i] = static_cast<uint8_t>(number >> 8 * i);
}
uint64_t GetNumber(const uint8_t* at) {
  uint64_t number = 0;
  for (unsigned i = 0; i < kNumberBytes; ++i) number |= uint64_t{at[i]} << 8 * i;
  return number;
}
std::array<uint8_t, 4> Immediate(uint64_t number) {
  std::array<uint8_t, 4> bytes{};
  PutNumber(bytes.data(), number);
  return bytes;
}

// Of the descriptors now in the ring.
AddressRange BuffersOf(const RawRing& ring) {
  const auto [first, end] = BuffersIn(ring);
  return {first, end > first ? end - first : 0};
}

constexpr bool HasImmediate(IbWrOpcode opcode) {
  return opcode == IbWrOpcode::kSendWithImm || opcode == IbWrOpcode::kRdmaWriteWithImm;
}

// --- Queue pairs

class QueuePairs final : public Traffic {
 public:
  static Made Make(RdmaSystem& system, const Options& options, std::mt19937_64& random) {
    std::unique_ptr<QueuePairs> traffic(new QueuePairs(system, options));
    std::string error = traffic->Connect(random);
    if (!error.empty()) return {nullptr, error};
    return {std::move(traffic), ""};
  }

  void Harvest(size_t at) override {
    if (is_ignored_.at(at)) return;
    std::array<spec::RdmaCqReq, 16> completions;
    for (;;) {
      const auto polled = sides_.at(at).cq->Poll(completions);
      if (!polled.ok()) return AddViolation(fmt::format("{}: {}", kSideNames.at(at), host::ToString(polled.error())));
      for (size_t i = 0; i < *polled; ++i) Take(at, completions.at(i));
      if (*polled < completions.size()) return;
    }
  }

  uint16_t SendQueue() override { return system_.host(0).device().net().SendQueueIndex(sides_[0].qp->qpn()).value(); }
  std::map<std::string, AddressRange, std::less<>> Places() override {
    const uint64_t memory = sides_[0].memory->address(), bytes = options_.messages * kSlotBytes;
    std::map<std::string, AddressRange, std::less<>> places = {{"source", {memory + Source(0), bytes}},
                                                               {"read_source", {memory + ReadSource(0), bytes}},
                                                               {"targets", {memory + WritePlace(0), bytes}},
                                                               {"read_targets", {memory + ReadPlace(0), bytes}}};
    const uint64_t receives = ReceivePlace(0);
    places["receives"] = {memory + receives, sides_[0].memory->size() - receives};
    if (const auto ring = FindRing(system_.host(0), SendQueue())) {
      places["ring"] = {ring->address, uint64_t{ring->size} * spec::VirtqDesc::kBytes};
      places["used"] = {ring->used_address, ring->used_bytes};
    }
    const uint16_t completions = system_.host(0).device().net().CompletionQueueIndex(sides_[0].cq->cqn()).value();
    if (const auto ring = FindRing(system_.host(0), completions)) places["cqes"] = BuffersOf(*ring);
    return places;
  }
  bool Owns(size_t side, const spec::RdmaEvent& event) override {
    host::VirtioNetDevice& net = system_.host(side).device().net();
    const uint32_t qpn = sides_.at(side).qp->qpn(), cqn = sides_.at(side).cq->cqn();
    switch (event.event_type) {
      case spec::RdmaEventType::kCqErr: return event.element == cqn;
      case spec::RdmaEventType::kVqErr:
        return event.element == net.SendQueueIndex(qpn).value() ||
               event.element == net.ReceiveQueueIndex(qpn).value() ||
               event.element == net.CompletionQueueIndex(cqn).value();
      default: return event.element == qpn;
    }
  }

 private:
  struct Side {
    std::shared_ptr<verbs::CompletionQueue> cq;
    std::shared_ptr<verbs::QueuePair> qp;
    host::DmaMemory* memory = nullptr;
    std::shared_ptr<verbs::MemoryRegion> region;
  };

  using Traffic::Traffic;

  // Memory of a side, a slot per message: sources of its messages, sources of the peer's READs, targets of the peer's
  // WRITEs, targets of its own READs, receives.
  uint64_t Source(uint64_t number) const { return number * kSlotBytes; }
  uint64_t ReadSource(uint64_t number) const { return Source(options_.messages + number); }
  uint64_t WritePlace(uint64_t number) const { return Source(2 * options_.messages + number); }
  uint64_t ReadPlace(uint64_t number) const { return Source(3 * options_.messages + number); }
  uint64_t ReceivePlace(uint64_t number) const {
    return Source(4 * options_.messages) + number * (kSlotBytes + spec::kRdmaUdGrhBytes);
  }
  uint32_t header_bytes() const { return options_.transport == Transport::kUd ? spec::kRdmaUdGrhBytes : 0; }

  IbWrOpcode OpcodeOf(uint64_t number) const {
    constexpr std::array<IbWrOpcode, 5> kRc = {IbWrOpcode::kSend, IbWrOpcode::kRdmaWriteWithImm, IbWrOpcode::kRdmaRead,
                                               IbWrOpcode::kSendWithImm, IbWrOpcode::kRdmaWrite};
    constexpr std::array<IbWrOpcode, 3> kUc = {IbWrOpcode::kSend, IbWrOpcode::kRdmaWriteWithImm,
                                               IbWrOpcode::kSendWithImm};
    constexpr std::array<IbWrOpcode, 2> kUd = {IbWrOpcode::kSend, IbWrOpcode::kSendWithImm};
    if (options_.transport == Transport::kUd) return kUd.at(number % kUd.size());
    return options_.transport == Transport::kUc ? kUc.at(number % kUc.size()) : kRc.at(number % kRc.size());
  }
  // One or several packets; an early READ has several.
  static uint32_t BytesOf(uint64_t number) {
    constexpr std::array<uint32_t, 4> kBytes = {700, 64, 1900, 257};
    return kBytes.at(number % kBytes.size());
  }

  std::string Connect(std::mt19937_64& random) {
    const uint64_t receives = options_.messages + kSpareReceives;
    verbs::QueuePairOptions qp{.max_send_wr = 64, .max_recv_wr = 64, .push = false};  // receives come at the same time
    std::string error;
    const auto take = [&](auto& pair) {
      for (size_t i = 0; pair != nullptr && i < 2; ++i) {
        auto& side = pair->side.at(i);
        sides_.at(i) = {side.cq, side.qp, side.memory.get(), side.region};
      }
    };
    const uint64_t bytes = ReceivePlace(receives);
    if (options_.transport == Transport::kUd) {
      qp.type = spec::IbQpType::kUd;
      datagrams_ =
          MakeDatagramPair(system_.host(0), system_.host(1),
                           {.memory_bytes = bytes, .cqe = options_.cqe, .interrupts = false, .qp = qp}, &error);
      take(datagrams_);
    } else {
      qp.type = options_.transport == Transport::kUc ? spec::IbQpType::kUc : spec::IbQpType::kRc;
      ConnectedPairOptions pair{
          .memory_bytes = bytes, .path_mtu = spec::IbMtu::kMtu256, .cqe = options_.cqe, .interrupts = false, .qp = qp};
      pair.connection.timeout = 8;  // 1 ms
      pair.connection.min_rnr_timer = 1;
      pair.connection.max_rd_atomic = pair.connection.max_dest_rd_atomic = 4;
      connected_ = MakeConnectedPair(system_.host(0), system_.host(1), pair, &error);
      take(connected_);
    }
    if (!error.empty()) return error;
    for (size_t at = 0; at < 2; ++at) {
      Side& side = sides_.at(at);
      for (size_t i = 0; i < side.memory->size(); ++i) side.memory->data()[i] = static_cast<uint8_t>(random() >> 32);
      for (uint64_t i = 0; i < options_.messages; ++i) {
        PutNumber(side.memory->data() + Source(i), i);
        messages_.at(at).at(i).needs_receive =
            OpcodeOf(i) != IbWrOpcode::kRdmaRead && OpcodeOf(i) != IbWrOpcode::kRdmaWrite;
      }
      for (uint64_t i = 0; i < receives; ++i) {
        const spec::RdmaSge sge = side.region->Sge(ReceivePlace(i), kSlotBytes + header_bytes());
        const verbs::Status posted = side.qp->PostRecv({.wr_id = i, .sg_list = std::span(&sge, 1)});
        if (!posted.ok()) return "receive: " + host::ToString(posted.error());
      }
    }
    return "";
  }

  bool Send(size_t from, uint64_t number) override {
    Side& side = sides_.at(from);
    Side& peer = sides_.at(1 - from);
    const IbWrOpcode opcode = OpcodeOf(number);
    const bool is_read = opcode == IbWrOpcode::kRdmaRead;
    const spec::RdmaSge sge = side.region->Sge(is_read ? ReadPlace(number) : Source(number), BytesOf(number));
    verbs::SendRequest request{
        .wr_id = number,
        .opcode = opcode,
        .sg_list = std::span(&sge, 1),
        .remote_addr = peer.region->address() + (is_read ? ReadSource(number) : WritePlace(number)),
        .rkey = peer.region->rkey()};
    std::ranges::copy(Immediate(number), request.imm_data);
    if (datagrams_ != nullptr) request = datagrams_->To(from, request);
    return side.qp->PostSend(request).ok();
  }

  void Take(size_t at, const spec::RdmaCqReq& completion) {
    const bool is_receive =
        completion.opcode == spec::IbWcOpcode::kRecv || completion.opcode == spec::IbWcOpcode::kRecvRdmaWithImm;
    if (is_receive) return TakeReceive(at, completion);
    if (completion.wr_id >= options_.messages) {
      return AddViolation(fmt::format("{}: unexpected completion", kSideNames.at(at)));
    }
    const uint64_t number = completion.wr_id;
    Ended(at, number, completion.status);
    if (completion.status != IbWcStatus::kSuccess || OpcodeOf(number) != IbWrOpcode::kRdmaRead) return;
    const bool is_right = std::memcmp(sides_.at(at).memory->data() + ReadPlace(number),
                                      sides_.at(1 - at).memory->data() + ReadSource(number), BytesOf(number)) == 0;
    if (!is_right) AddViolation(fmt::format("{}: READ {} returned wrong data", kSideNames.at(at), number));
    Arrived(at, number);
  }
  void TakeReceive(size_t at, const spec::RdmaCqReq& completion) {
    if (completion.status != IbWcStatus::kSuccess) return Failed(at, completion.status);
    const uint8_t* data = sides_.at(at).memory->data() + ReceivePlace(completion.wr_id) + header_bytes();
    const bool has_immediate = (completion.wc_flags & spec::IbWcFlags::kWithImm) != 0;
    const uint64_t number = has_immediate ? GetNumber(completion.imm_data) : GetNumber(data);
    bool is_right = number < options_.messages;
    if (is_right) {
      const IbWrOpcode opcode = OpcodeOf(number);
      const bool is_write = opcode == IbWrOpcode::kRdmaWriteWithImm;
      if (is_write) data = sides_.at(at).memory->data() + WritePlace(number);
      is_right = HasImmediate(opcode) == has_immediate &&
                 completion.byte_len == BytesOf(number) + (is_write ? 0 : header_bytes()) &&
                 std::memcmp(data, sides_.at(1 - at).memory->data() + Source(number), BytesOf(number)) == 0;
    }
    Received(1 - at, number, is_right);
  }
  void CheckMemory() override {
    for (size_t from = 0; from < 2; ++from) {
      for (uint64_t i = 0; i < options_.messages; ++i) {
        if (OpcodeOf(i) != IbWrOpcode::kRdmaWrite) continue;
        if (std::memcmp(sides_.at(from).memory->data() + Source(i), sides_.at(1 - from).memory->data() + WritePlace(i),
                        BytesOf(i)) == 0) {
          Arrived(from, i);
        }
      }
    }
  }

  // The destructor releases queue pairs before the resources that they use.
  std::unique_ptr<ConnectedPair> connected_;
  std::unique_ptr<DatagramPair> datagrams_;
  std::array<Side, 2> sides_;

 public:
  ~QueuePairs() override {
    sides_ = {};
    connected_.reset();
    datagrams_.reset();
  }
};

// --- Net queues

class NetFrames final : public Traffic {
 public:
  NetFrames(RdmaSystem& system, const Options& options) : Traffic(system, options) {}

  void Harvest(size_t at) override {
    for (;;) {
      auto frame = net(at).receive(0).Receive();
      if (!frame.ok()) return AddViolation(fmt::format("{}: {}", kSideNames.at(at), host::ToString(frame.error())));
      if (!frame->has_value()) break;
      const std::vector<uint8_t>& bytes = (*frame)->bytes;
      const bool has_number = bytes.size() >= kNumberAt + kNumberBytes;
      const uint64_t number = has_number ? GetNumber(bytes.data() + kNumberAt) : ~uint64_t{0};
      Received(1 - at, number, number < options_.messages && bytes == FrameOf(1 - at, number));
    }
    // Buffers are returned in order; the `waiting` last ones are still outstanding.
    const auto waiting = net(at).transmit(0).Reclaim();
    if (!waiting.ok()) return AddViolation(fmt::format("{}: {}", kSideNames.at(at), host::ToString(waiting.error())));
    for (; done_.at(at) + *waiting < sent_.at(at); ++done_.at(at)) Ended(at, done_.at(at), IbWcStatus::kSuccess);
  }
  uint16_t SendQueue() override { return net(0).transmit(0).queue().index; }
  std::map<std::string, AddressRange, std::less<>> Places() override {
    const auto ring = FindRing(system_.host(0), net(0).receive(0).queue().index);
    if (!ring) return {};
    return {{"receives", BuffersOf(*ring)}, {"used", {ring->used_address, ring->used_bytes}}};
  }
  bool Owns(size_t side, const spec::RdmaEvent& event) override {
    return event.event_type == spec::RdmaEventType::kVqErr && event.element == net(side).receive(0).queue().index;
  }
  // The other direction goes on.
  void Stop(size_t side, const spec::RdmaEvent&) override { EndReceives(side); }

 private:
  static constexpr size_t kNumberAt = spec::Ethernet::kBytes;

  host::VirtioNetDevice& net(size_t at) { return system_.host(at).device().net(); }
  std::vector<uint8_t> FrameOf(size_t from, uint64_t number) {
    constexpr std::array<size_t, 4> kBytes = {700, 64, 1500, 257};
    auto frame = PlainFrame(system_.host(1 - from).mac(), system_.host(from).mac(), kBytes.at(number % kBytes.size()),
                            2 * number + from);
    PutNumber(frame.data() + kNumberAt, number);
    return frame;
  }
  bool Send(size_t from, uint64_t number) override {
    if (!net(from).transmit(0).Send(FrameOf(from, number)).ok()) return false;
    ++sent_.at(from);
    return true;
  }

  std::array<uint64_t, 2> sent_{}, done_{};
};

}  // namespace

// --- Common

Traffic::Traffic(RdmaSystem& system, const Options& options) : system_(system), options_(options) {
  for (auto& side : messages_) side.resize(options_.messages);
}

Traffic::Made Traffic::Make(RdmaSystem& system, const Options& options, std::mt19937_64& random) {
  if (options.transport == Transport::kNet) return {std::make_unique<NetFrames>(system, options), ""};
  return QueuePairs::Make(system, options, random);
}

void Traffic::Post(size_t from) {
  while (!is_paused_.at(from) && !has_ended_.at(from) && posted_.at(from) < options_.messages &&
         posted_.at(from) < ended_.at(from) + kWindow) {
    if (!Send(from, posted_.at(from))) return;
    ++posted_.at(from);
  }
}

void Traffic::Failed(size_t side, IbWcStatus status) {
  if (status == IbWcStatus::kWrFlushErr) return;
  const char* name = spec::ToString(status);
  statuses_.insert(fmt::format("{} status {}", kSideNames.at(side), name == nullptr ? "?" : name));
  ++failures_.at(side);
  End(side);  // no event tells that
}

void Traffic::Ended(size_t from, uint64_t number, IbWcStatus status) {
  Message& message = messages_.at(from).at(number);
  if (message.has_ended) AddViolation(fmt::format("{}: message {} ends twice", kSideNames.at(from), number));
  message.has_ended = true;
  ++ended_.at(from);
  if (status == IbWcStatus::kSuccess) return;
  message.has_failed = true;
  Failed(from, status);
}

void Traffic::Received(size_t from, uint64_t number, bool is_right) {
  if (!is_right) {
    return AddViolation(fmt::format("{}: received message {} with wrong contents", kSideNames.at(1 - from), number));
  }
  if (messages_.at(from).at(number).arrivals == 0) order_.at(from).push_back(number);
  Arrived(from, number);
}

bool Traffic::IsDone() const {
  for (size_t side = 0; side < 2; ++side) {
    if (!has_ended_.at(side) && ended_.at(side) < options_.messages) return false;
  }
  return true;
}

Account Traffic::Check(const Outcome& outcome, uint64_t injected, std::vector<std::string>& violations) {
  CheckMemory();
  Account account;
  for (size_t from = 0; from < 2; ++from) {
    const bool is_sure = !has_ended_.at(1 - from) && !receives_ended_.at(1 - from);  // arrivals there are complete
    for (uint64_t i = 0; i < options_.messages; ++i) {
      const Message& message = messages_.at(from).at(i);
      const auto add_violation = [&](const char* what) {
        violations.push_back(fmt::format("{}: message {} {}", kSideNames.at(from), i, what));
      };
      const bool is_cut_off = has_ended_.at(from) && !message.has_ended;
      if (!message.has_ended && !is_cut_off) {
        ++account.hung;
        add_violation("never ended");
        continue;
      }
      const bool has_failed = message.has_failed || is_cut_off;
      if (has_failed && !outcome.ends()) add_violation("failed");
      if (!has_failed && message.arrivals == 0 && is_sure) ++account.missing;
      if (message.arrivals > 1) account.repeated += message.arrivals - 1;
      ++account.recovered;
    }
    if (!outcome.reordered && !std::ranges::is_sorted(order_.at(from))) {
      violations.push_back(fmt::format("{}: messages arrived out of order", kSideNames.at(1 - from)));
    }
  }
  const uint64_t may_miss = outcome.lost * injected;
  account.lost = account.missing > may_miss ? account.missing - may_miss : 0;
  account.recovered -= std::min(account.recovered, account.lost);
  if (account.lost > 0)
    violations.push_back(fmt::format("{} messages lost, at most {} allowed", account.missing, may_miss));
  if (account.repeated > outcome.repeated * injected) {
    violations.push_back(
        fmt::format("{} messages repeated, at most {} allowed", account.repeated, outcome.repeated * injected));
  }
  violations.insert(violations.end(), violations_.begin(), violations_.end());
  return account;
}

}  // namespace vireo::sim
