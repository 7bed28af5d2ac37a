// SPDX-License-Identifier: Apache-2.0
#include "verif/cosim/mixed_traffic.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

namespace vireo::sim {
namespace {

using spec::IbWcStatus;
using spec::IbWrOpcode;

constexpr Picoseconds kStep = 2'000 * kPicosecondsPerNanosecond;
constexpr Picoseconds kTimeout = 400'000'000 * kPicosecondsPerNanosecond;

bool IsWrite(IbWrOpcode opcode) { return opcode == IbWrOpcode::kRdmaWrite || opcode == IbWrOpcode::kRdmaWriteWithImm; }
bool HasImmediate(IbWrOpcode opcode) {
  return opcode == IbWrOpcode::kSendWithImm || opcode == IbWrOpcode::kRdmaWriteWithImm;
}
// Operations that return data.
bool IsRead(IbWrOpcode opcode) { return opcode == IbWrOpcode::kRdmaRead || opcode == IbWrOpcode::kAtomicFetchAndAdd; }
bool TakesReceive(IbWrOpcode opcode) { return opcode != IbWrOpcode::kRdmaWrite && !IsRead(opcode); }
spec::IbWcOpcode OpcodeOf(IbWrOpcode opcode) {
  if (opcode == IbWrOpcode::kAtomicFetchAndAdd) return spec::IbWcOpcode::kFetchAdd;
  if (opcode == IbWrOpcode::kRdmaRead) return spec::IbWcOpcode::kRdmaRead;
  return IsWrite(opcode) ? spec::IbWcOpcode::kRdmaWrite : spec::IbWcOpcode::kSend;
}

}  // namespace

// Memory of a side: sources, then a place for each WRITE of the peer, for each of its own READs, for each receive, and
// the counter.
MixedTraffic::MixedTraffic(RdmaSystem& system, const Options& options, std::mt19937_64& random)
    : system_(system), options_(options), random_(random), directions_(options.pairs) {
  constexpr std::array<spec::IbMtu, 3> kMtus = {spec::IbMtu::kMtu256, spec::IbMtu::kMtu1024, spec::IbMtu::kMtu4096};
  for (size_t i = 0; i < options_.pairs; ++i) {
    ConnectedPairOptions pair;
    pair.memory_bytes = CounterPlace() + spec::kAtomicBytes;
    pair.path_mtu = kMtus.at(Below(kMtus.size()));
    pair.interrupts = false;
    pair.connection.timeout = options_.timeout;
    pair.connection.min_rnr_timer = 1;
    pair.connection.access = system_.host(0).device().all_access();
    const uint32_t reads = system_.host(0).device().attributes().max_qp_rd_atom;
    pair.connection.max_rd_atomic = pair.connection.max_dest_rd_atomic = static_cast<uint8_t>(1 + Below(reads));
    std::string error;
    pairs_.push_back(MakeConnectedPair(system_.host(0), system_.host(1), pair, &error));
    if (pairs_.back() == nullptr) {
      Fail(error);
      return;
    }
    for (ConnectedPair::Side& side : pairs_.back()->side) {
      for (size_t k = 0; k < side.memory->size(); ++k) side.memory->data()[k] = static_cast<uint8_t>(random_() >> 32);
      std::memset(side.memory->data() + CounterPlace(), 0, spec::kAtomicBytes);
    }
  }
}

bool MixedTraffic::ok() const { return !testing::Test::HasFailure(); }
void MixedTraffic::Fail(const std::string& what) {
  ADD_FAILURE() << what << "\nat " << system_.scheduler().now() / kPicosecondsPerNanosecond << " ns, after " << Text();
}
std::string MixedTraffic::Text() const {
  uint64_t arrived = 0;
  for (const auto& pair : directions_) arrived += pair[0].arrived + pair[1].arrived;
  return fmt::format("{} messages posted, {} bytes, {} arrived, {} us", posted_, bytes_, arrived,
                     system_.scheduler().now() / kPicosecondsPerNanosecond / 1000);
}

void MixedTraffic::PostReceives(size_t pair, size_t to) {
  Direction& direction = directions_[pair].at(1 - to);
  ConnectedPair::Side& side = pairs_[pair]->side.at(to);
  while (direction.receiving.size() < kReceives) {
    const spec::RdmaSge sge = side.region->Sge(ReceivePlace(direction.receives), options_.max_bytes);
    if (!side.qp->PostRecv({.wr_id = direction.receives, .sg_list = std::span(&sge, 1)}).ok()) return;
    ++direction.receives;
    direction.receiving.emplace_back();
  }
}

bool MixedTraffic::Post(size_t pair, size_t from) {
  Direction& direction = directions_[pair].at(from);
  if (direction.unarrived.size() >= kWindow || direction.unfinished.size() >= kWindow) return false;
  // READs in between do not count as unarrived.
  if (!direction.unarrived.empty() && direction.posted - direction.unarrived.front().number >= kPlaces) return false;
  ConnectedPair::Side& side = pairs_[pair]->side.at(from);
  ConnectedPair::Side& peer = pairs_[pair]->side.at(1 - from);
  constexpr std::array<IbWrOpcode, 6> kOpcodes = {IbWrOpcode::kSend,      IbWrOpcode::kSendWithImm,
                                                  IbWrOpcode::kRdmaWrite, IbWrOpcode::kRdmaWriteWithImm,
                                                  IbWrOpcode::kRdmaRead,  IbWrOpcode::kAtomicFetchAndAdd};
  Message message;
  message.number = direction.posted;
  message.opcode =
      kOpcodes.at(Below(kOpcodes.size() - (options_.atomics && system_.host(0).device().has_atomics() ? 0 : 1)));
  const bool is_read = IsRead(message.opcode), is_atomic = message.opcode == IbWrOpcode::kAtomicFetchAndAdd;
  message.bytes = static_cast<uint32_t>(Below(Below(3) == 0 ? options_.max_bytes + 1 : 300));
  if (is_atomic) message.bytes = spec::kAtomicBytes;
  message.before = direction.additions;
  const uint64_t source = Below(2 * options_.max_bytes - message.bytes + 1);
  message.data = (is_read ? peer : side).memory->data() + source;
  message.signaled = Below(3) == 0 || direction.posted % kWindow == kWindow - 1;
  for (uint8_t& byte : message.immediate) byte = static_cast<uint8_t>(random_() >> 32);
  uint8_t flags = message.signaled ? spec::IbSendFlags::kSignaled : 0;
  if (Below(4) == 0) flags |= spec::IbSendFlags::kFence;
  spec::RdmaSge sge = side.region->Sge(source, message.bytes);
  if (is_read) {
    sge = side.region->Sge(ReadPlace(message.number), message.bytes);
  } else if ((flags & spec::IbSendFlags::kFence) != 0 && direction.last.opcode == IbWrOpcode::kRdmaRead) {
    // Sends the data that was read.
    message.bytes = direction.last.bytes;
    message.data = direction.last.data;
    sge = side.region->Sge(ReadPlace(direction.last.number), message.bytes);
  }
  verbs::SendRequest request{.wr_id = message.number,
                             .opcode = message.opcode,
                             .flags = flags,
                             .sg_list = std::span(&sge, 1),
                             .remote_addr = peer.region->address() + (is_read ? source : WritePlace(message.number)),
                             .rkey = peer.region->rkey(),
                             .compare_add = 1};
  if (is_atomic) request.remote_addr = peer.region->address() + CounterPlace();
  std::ranges::copy(message.immediate, request.imm_data);
  if (!side.qp->PostSend(request).ok()) return false;
  ++direction.posted;
  if (is_atomic) ++direction.additions;
  ++posted_;
  bytes_ += message.bytes;
  direction.unfinished.push_back(message);
  if (!is_read) direction.unarrived.push_back(message);
  direction.last = message;
  return true;
}

void MixedTraffic::CheckWritten(size_t pair, size_t to, const Message& message) {
  const uint8_t* place = pairs_[pair]->side.at(to).memory->data() + WritePlace(message.number);
  if (std::memcmp(message.data, place, message.bytes) == 0) return;
  Fail(
      fmt::format("pair {}, to host {}: WRITE {} of {} bytes has wrong data", pair, to, message.number, message.bytes));
}

void MixedTraffic::CheckRead(size_t pair, size_t reader, const Message& message) {
  const uint8_t* place = pairs_[pair]->side.at(reader).memory->data() + ReadPlace(message.number);
  ++directions_[pair].at(reader).arrived;
  if (message.opcode == IbWrOpcode::kAtomicFetchAndAdd) {
    uint64_t before = 0;
    std::memcpy(&before, place, sizeof before);
    if (before == message.before) return;
    return Fail(fmt::format("pair {}, to host {}: FETCH ADD {} returned {}, expected {}", pair, reader, message.number,
                            before, message.before));
  }
  if (std::memcmp(message.data, place, message.bytes) == 0) return;
  Fail(fmt::format("pair {}, to host {}: READ {} of {} bytes has wrong data", pair, reader, message.number,
                   message.bytes));
}

void MixedTraffic::Sent(size_t pair, size_t from, const spec::RdmaCqReq& completion) {
  Direction& direction = directions_[pair].at(from);
  if (completion.status != IbWcStatus::kSuccess) {
    return Fail(fmt::format("pair {}, from host {}: {} completes with {}", pair, from, completion.wr_id,
                            spec::ToString(completion.status)));
  }
  while (!direction.unfinished.empty() && direction.unfinished.front().number != completion.wr_id) {
    const Message& message = direction.unfinished.front();
    if (message.signaled) break;
    if (IsRead(message.opcode)) CheckRead(pair, from, message);
    direction.unfinished.pop_front();
  }
  if (direction.unfinished.empty() || direction.unfinished.front().number != completion.wr_id ||
      !direction.unfinished.front().signaled) {
    return Fail(fmt::format("pair {}, from host {}: {} completes out of order", pair, from, completion.wr_id));
  }
  const Message& message = direction.unfinished.front();
  if (completion.opcode != OpcodeOf(message.opcode)) {
    return Fail(fmt::format("pair {}, from host {}: {} completes as {}", pair, from, completion.wr_id,
                            spec::ToString(completion.opcode)));
  }
  if (IsRead(message.opcode)) {
    CheckRead(pair, from, message);
    if (completion.byte_len != message.bytes) {
      return Fail(fmt::format("pair {}, from host {}: READ {} returned {} bytes, expected {}", pair, from,
                              completion.wr_id, completion.byte_len, message.bytes));
    }
  }
  direction.unfinished.pop_front();
  direction.completed = completion.wr_id + 1;
}

void MixedTraffic::Received(size_t pair, size_t to, const spec::RdmaCqReq& completion) {
  Direction& direction = directions_[pair].at(1 - to);
  const std::string name = fmt::format("pair {}, to host {}, receive {}", pair, to, completion.wr_id);
  if (completion.status != IbWcStatus::kSuccess) return Fail(name + ": " + spec::ToString(completion.status));
  if (completion.wr_id + direction.receiving.size() != direction.receives) return Fail(name + ": out of order");
  direction.receiving.pop_front();
  // All earlier WRITEs have arrived.
  while (!direction.unarrived.empty() && !TakesReceive(direction.unarrived.front().opcode)) {
    CheckWritten(pair, to, direction.unarrived.front());
    direction.unarrived.pop_front();
    ++direction.arrived;
  }
  if (direction.unarrived.empty()) return Fail(name + ": nothing was sent");
  const Message message = direction.unarrived.front();
  direction.unarrived.pop_front();
  ++direction.arrived;
  const auto opcode = IsWrite(message.opcode) ? spec::IbWcOpcode::kRecvRdmaWithImm : spec::IbWcOpcode::kRecv;
  if (completion.opcode != opcode || completion.byte_len != message.bytes) {
    return Fail(fmt::format("{}: {} of {} bytes, expected message {} of {}", name, spec::ToString(completion.opcode),
                            completion.byte_len, message.number, message.bytes));
  }
  if (HasImmediate(message.opcode) && !std::ranges::equal(completion.imm_data, message.immediate)) {
    return Fail(name + ": wrong immediate data");
  }
  if (IsWrite(message.opcode)) return CheckWritten(pair, to, message);
  const uint8_t* place = pairs_[pair]->side.at(to).memory->data() + ReceivePlace(completion.wr_id);
  if (std::memcmp(message.data, place, message.bytes) != 0) return Fail(name + ": wrong data");
}

void MixedTraffic::Harvest(size_t host) {
  for (size_t i = 0; i < pairs_.size() && ok(); ++i) {
    std::array<spec::RdmaCqReq, 16> completions;
    auto polled = pairs_[i]->side.at(host).cq->Poll(completions);
    if (!polled.ok()) return Fail(host::ToString(polled.error()));
    for (size_t k = 0; k < *polled && ok(); ++k) {
      const spec::RdmaCqReq& completion = completions.at(k);
      if (completion.opcode == spec::IbWcOpcode::kRecv || completion.opcode == spec::IbWcOpcode::kRecvRdmaWithImm) {
        Received(i, host, completion);
      } else {
        Sent(i, host, completion);
      }
    }
  }
}

void MixedTraffic::Run() {
  Picoseconds progress = system_.scheduler().now();
  const auto all_arrived = [&] {
    // Messages without a receive must have a completion.
    return std::ranges::all_of(directions_, [](const auto& pair) {
      return std::ranges::all_of(pair, [](const Direction& one) {
        return std::ranges::none_of(one.unarrived, [](const Message& m) { return TakesReceive(m.opcode); }) &&
               std::ranges::none_of(one.unfinished, [](const Message& m) { return m.signaled; });
      });
    });
  };
  // Progress counter.
  const auto state = [&] {
    uint64_t sum = posted_;
    for (const auto& pair : directions_) {
      for (const Direction& one : pair) sum += one.arrived + one.completed;
    }
    return sum;
  };
  while (ok() && (posted_ < options_.messages || !all_arrived())) {
    const uint64_t before = state();
    for (size_t i = 0; i < pairs_.size(); ++i) {
      for (size_t host = 0; host < 2; ++host) {
        if (Below(3) != 0) PostReceives(i, host);
        for (uint64_t burst = Below(4); burst != 0 && posted_ < options_.messages; --burst) {
          if (!Post(i, host)) break;
        }
      }
    }
    system_.topology().RunFor(kStep);
    Harvest(0);
    Harvest(1);
    if (state() != before) progress = system_.scheduler().now();
    if (system_.scheduler().now() - progress > kTimeout) return Fail("no progress");
  }
  // Data that neither a receive nor a completion reports.
  if (!system_.topology().RunUntilQuiet(system_.scheduler().now() + kTimeout))
    return Fail("the system does not become quiet");
  for (size_t i = 0; i < pairs_.size() && ok(); ++i) {
    for (size_t from = 0; from < 2; ++from) {
      Direction& one = directions_[i].at(from);
      uint64_t count = 0;
      std::memcpy(&count, pairs_[i]->side.at(1 - from).memory->data() + CounterPlace(), sizeof count);
      if (count != one.additions) {
        return Fail(fmt::format("pair {}, from host {}: {} FETCH ADDs count {}", i, from, one.additions, count));
      }
      for (; !one.unarrived.empty(); ++one.arrived) {
        CheckWritten(i, 1 - from, one.unarrived.front());
        one.unarrived.pop_front();
      }
      for (; !one.unfinished.empty(); one.unfinished.pop_front()) {
        if (IsRead(one.unfinished.front().opcode)) CheckRead(i, from, one.unfinished.front());
      }
    }
  }
}

}  // namespace vireo::sim
