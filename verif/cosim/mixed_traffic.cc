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
bool IsAtomic(IbWrOpcode opcode) {
  return opcode == IbWrOpcode::kAtomicFetchAndAdd || opcode == IbWrOpcode::kAtomicCmpAndSwp;
}
// Operations that return data.
bool IsRead(IbWrOpcode opcode) { return opcode == IbWrOpcode::kRdmaRead || IsAtomic(opcode); }
bool IsSend(IbWrOpcode opcode) {
  return opcode == IbWrOpcode::kSend || opcode == IbWrOpcode::kSendWithImm || opcode == IbWrOpcode::kSendWithInv;
}
bool TakesReceive(IbWrOpcode opcode) { return IsSend(opcode) || opcode == IbWrOpcode::kRdmaWriteWithImm; }
// No packet is sent.
bool IsLocal(IbWrOpcode opcode) { return opcode == IbWrOpcode::kBindMw || opcode == IbWrOpcode::kLocalInv; }
spec::IbWcOpcode OpcodeOf(IbWrOpcode opcode) {
  switch (opcode) {
    case IbWrOpcode::kAtomicFetchAndAdd: return spec::IbWcOpcode::kFetchAdd;
    case IbWrOpcode::kAtomicCmpAndSwp: return spec::IbWcOpcode::kCompSwap;
    case IbWrOpcode::kAtomicWrite: return spec::IbWcOpcode::kAtomicWrite;
    case IbWrOpcode::kFlush: return spec::IbWcOpcode::kFlush;
    case IbWrOpcode::kBindMw: return spec::IbWcOpcode::kBindMw;
    case IbWrOpcode::kLocalInv: return spec::IbWcOpcode::kLocalInv;
    case IbWrOpcode::kRdmaRead: return spec::IbWcOpcode::kRdmaRead;
    default: return IsWrite(opcode) ? spec::IbWcOpcode::kRdmaWrite : spec::IbWcOpcode::kSend;
  }
}

}  // namespace

// Memory of a side: sources, then a place for each WRITE of the peer, for each of its own READs, for each receive, and
// the number.
MixedTraffic::MixedTraffic(RdmaSystem& system, const Options& options, std::mt19937_64& random)
    : system_(system), options_(options), random_(random), directions_(options.pairs) {
  constexpr std::array<spec::IbMtu, 3> kMtus = {spec::IbMtu::kMtu256, spec::IbMtu::kMtu1024, spec::IbMtu::kMtu4096};
  verbs::Device& device = system_.host(0).device();
  opcodes_ = {IbWrOpcode::kSend, IbWrOpcode::kSendWithImm, IbWrOpcode::kRdmaWrite, IbWrOpcode::kRdmaWriteWithImm,
              IbWrOpcode::kRdmaRead};
  if (options_.every_operation) {
    const auto add = [this](bool has, std::initializer_list<IbWrOpcode> more) {
      if (has) opcodes_.insert(opcodes_.end(), more);
    };
    add(device.has_atomics(), {IbWrOpcode::kAtomicFetchAndAdd, IbWrOpcode::kAtomicCmpAndSwp});
    add(device.has_atomic_write(), {IbWrOpcode::kAtomicWrite});
    add(device.has_flush(spec::FlushPlacement::kGlobalVisibility), {IbWrOpcode::kFlush});
    // Often: a window must be bound before it is used, and nothing may be under way to it when it is ended.
    add(device.has_windows(), {IbWrOpcode::kBindMw, IbWrOpcode::kBindMw, IbWrOpcode::kSendWithInv});
    if (auto pd = system_.host(1).device().CreatePd(); pd.ok()) {
      auto srq = (*pd)->CreateSrq({.max_wr = static_cast<uint32_t>(kReceives * options_.pairs)});
      if (srq.ok()) srq_ = *srq;
    }
  }
  for (size_t i = 0; i < options_.pairs; ++i) {
    ConnectedPairOptions pair;
    pair.qp.push = true;
    pair.memory_bytes = NumberPlace() + spec::kAtomicBytes;
    pair.path_mtu = kMtus.at(Below(kMtus.size()));
    pair.interrupts = false;
    pair.far_srq = srq_;
    pair.connection.timeout = options_.timeout;
    pair.connection.min_rnr_timer = 1;
    pair.connection.access = device.all_access();
    const uint32_t reads = device.attributes().max_qp_rd_atom;
    pair.connection.max_rd_atomic = pair.connection.max_dest_rd_atomic = static_cast<uint8_t>(1 + Below(reads));
    std::string error;
    pairs_.push_back(MakeConnectedPair(system_.host(0), system_.host(1), pair, &error));
    if (pairs_.back() == nullptr) {
      Fail(error);
      return;
    }
    for (ConnectedPair::Side& side : pairs_.back()->side) {
      for (size_t k = 0; k < side.memory->size(); ++k) side.memory->data()[k] = static_cast<uint8_t>(random_() >> 32);
      std::memset(side.memory->data() + NumberPlace(), 0, spec::kAtomicBytes);
    }
    if (!options_.every_operation || !device.has_windows()) continue;
    for (size_t side = 0; side < 2; ++side) MakeWindows(i, side);
  }
}

// A region of the peer's WRITEs, and windows that are not bound yet.
void MixedTraffic::MakeWindows(size_t pair, size_t side) {
  ConnectedPair::Side& of = pairs_[pair]->side.at(side);
  Windows& windows = directions_[pair].at(side).windows;
  constexpr uint64_t kPage = 4096;
  const uint64_t begin = WritePlace(0), end = WritePlace(kPlaces - 1) + options_.max_bytes;
  std::vector<uint64_t> pages;
  for (uint64_t at = begin / kPage * kPage; at < end; at += kPage) pages.push_back(of.memory->address() + at);
  auto region = of.pd->Register(of.memory->address() + begin, end - begin,
                                spec::IbAccessFlags::kLocalWrite | spec::IbAccessFlags::kMwBind, 0, pages);
  if (!region.ok()) return Fail("region for windows: " + host::ToString(region.error()));
  windows.region = *region;
  for (size_t i = 0; i < windows.all.size(); ++i) {
    auto window = of.pd->AllocateWindow(i == 0 ? spec::RdmaMwType::kType1 : spec::RdmaMwType::kType2);
    if (!window.ok()) return Fail("window: " + host::ToString(window.error()));
    windows.all.at(i).window = *window;
  }
}

uint32_t MixedTraffic::KeyOf(size_t pair, size_t owner, size_t window) const {
  const Window& of = directions_[pair].at(owner).windows.all.at(window);
  return of.window->mwn() << 8 | of.key;
}

// Work requests of the peer use it, and are not complete.
bool MixedTraffic::IsInUse(size_t pair, size_t owner, size_t window) const {
  return std::ranges::any_of(directions_[pair].at(1 - owner).unfinished, [&](const Message& message) {
    return !IsLocal(message.opcode) && message.window == window;
  });
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

void MixedTraffic::PostSharedReceives() {
  // They are completed in any order, and each has its own place.
  while (shared_.empty() || shared_receives_ - *shared_.begin() < kReceives * pairs_.size()) {
    const ConnectedPair::Side& side = pairs_[shared_receives_ % pairs_.size()]->side[1];
    const spec::RdmaSge sge = side.region->Sge(ReceivePlace(shared_receives_ / pairs_.size()), options_.max_bytes);
    if (!srq_->PostRecv({.wr_id = shared_receives_, .sg_list = std::span(&sge, 1)}).ok()) return;
    shared_.insert(shared_receives_++);
  }
}

bool MixedTraffic::UseWindow(size_t pair, size_t from, Message& message, verbs::SendRequest& request) {
  if (message.opcode == IbWrOpcode::kBindMw) {
    // One of its own: bound, or ended.
    Windows& windows = directions_[pair].at(from).windows;
    const size_t number = Below(windows.all.size());
    Window& window = windows.all.at(number);
    const bool is_type2 = window.window->type() == spec::RdmaMwType::kType2;
    const bool is_bound = window.state == WindowState::kBound;
    if (!is_bound && window.state != WindowState::kUnbound) return false;
    if (is_bound && IsInUse(pair, from, number)) return false;
    message.window = number;
    message.signaled = true;
    message.bytes = 0;
    request.flags = spec::IbSendFlags::kSignaled;
    request.sg_list = {};
    const bool ends = is_bound && (is_type2 || Below(2) == 0);
    if (is_bound && is_type2) {
      request.opcode = message.opcode = IbWrOpcode::kLocalInv;
      request.invalidate_rkey = KeyOf(pair, from, number);
    } else {
      ++window.key;
      window.zero_based = is_type2 && Below(2) == 0;
      request.rkey = KeyOf(pair, from, number);
      request.bind_address = windows.region->address();
      request.bind_length = ends ? 0 : windows.region->length();
      request.bind_access =
          spec::IbAccessFlags::kRemoteWrite | (window.zero_based ? spec::IbAccessFlags::kZeroBased : 0);
      request.bind_lkey = windows.region->lkey();
    }
    window.state = ends ? WindowState::kEnding : WindowState::kBinding;
    return true;
  }
  // One of the peer.
  Windows& windows = directions_[pair].at(1 - from).windows;
  if (windows.region == nullptr) return false;
  const bool ends = message.opcode == IbWrOpcode::kSendWithInv;
  const size_t number = ends ? 1 : Below(windows.all.size());
  Window& window = windows.all.at(number);
  if (window.state != WindowState::kBound) return false;
  message.window = number;
  if (ends) {
    // An ATOMIC WRITE before it may be executed behind it. [IBTA vol. 1, 10.8.3.3]
    const bool is_stored_to = std::ranges::any_of(directions_[pair].at(from).unfinished, [&](const Message& earlier) {
      return earlier.opcode == IbWrOpcode::kAtomicWrite && earlier.window == number;
    });
    if (is_stored_to) request.flags |= spec::IbSendFlags::kFence;
    request.invalidate_rkey = KeyOf(pair, 1 - from, number);
    window.state = WindowState::kEnding;
  } else {
    request.rkey = KeyOf(pair, 1 - from, number);
    if (window.zero_based) request.remote_addr -= windows.region->address();
  }
  return true;
}

bool MixedTraffic::Post(size_t pair, size_t from) {
  Direction& direction = directions_[pair].at(from);
  if (direction.unarrived.size() >= kWindow || direction.unfinished.size() >= kWindow) return false;
  // What no receive shows, in between, does not count as unarrived.
  if (!direction.unarrived.empty() && direction.posted - direction.unarrived.front().number >= kPlaces) return false;
  ConnectedPair::Side& side = pairs_[pair]->side.at(from);
  ConnectedPair::Side& peer = pairs_[pair]->side.at(1 - from);
  Message message;
  message.number = direction.posted;
  message.opcode = opcodes_.at(Below(opcodes_.size()));
  const bool is_read = IsRead(message.opcode), is_atomic = IsAtomic(message.opcode);
  const bool is_store = message.opcode == IbWrOpcode::kAtomicWrite, is_flush = message.opcode == IbWrOpcode::kFlush;
  message.bytes = static_cast<uint32_t>(Below(Below(3) == 0 ? options_.max_bytes + 1 : 300));
  if (is_atomic || is_store) message.bytes = spec::kAtomicBytes;
  message.before = direction.number;
  const uint64_t source = Below(2 * options_.max_bytes - message.bytes + 1);
  message.data = (is_read ? peer : side).memory->data() + source;
  message.signaled = Below(3) == 0 || direction.posted % kWindow == kWindow - 1;
  for (uint8_t& byte : message.immediate) byte = static_cast<uint8_t>(random_() >> 32);
  uint8_t flags = message.signaled ? spec::IbSendFlags::kSignaled : 0;
  if (Below(4) == 0) flags |= spec::IbSendFlags::kFence;
  spec::RdmaSge sge = side.region->Sge(source, message.bytes);
  if (is_read) {
    sge = side.region->Sge(ReadPlace(message.number), message.bytes);
  } else if ((flags & spec::IbSendFlags::kFence) != 0 && direction.last.opcode == IbWrOpcode::kRdmaRead &&
             (TakesReceive(message.opcode) || IsWrite(message.opcode))) {
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
                             .compare_add = random_()};
  std::ranges::copy(message.immediate, request.imm_data);
  uint64_t number = direction.number;
  if (is_atomic) {
    request.remote_addr = peer.region->address() + NumberPlace();
    if (message.opcode == IbWrOpcode::kAtomicFetchAndAdd) {
      number += request.compare_add;
    } else {
      request.swap = random_();
      if (Below(2) == 0) request.compare_add = number;
      if (request.compare_add == number) number = request.swap;
    }
  } else if (is_store) {
    request.sg_list = {};
    std::memcpy(&request.compare_add, message.data, sizeof request.compare_add);
  } else if (is_flush) {
    request.sg_list = {};
    request.flush_length = message.bytes;
    request.flush_placement = spec::FlushPlacement::kGlobalVisibility;
    if (Below(2) == 0) request.flush_selectivity = spec::FlushSelectivity::kMemoryRegion;
    message.bytes = 0;
  }
  const bool needs_window = message.opcode == IbWrOpcode::kBindMw || message.opcode == IbWrOpcode::kSendWithInv;
  const bool may_use_window = (IsWrite(message.opcode) || is_store) && options_.every_operation && Below(2) == 0;
  if ((needs_window || may_use_window) && !UseWindow(pair, from, message, request) && needs_window) return true;
  if (!side.qp->PostSend(request).ok()) {
    if (needs_window) Fail("no room for a work request on a window");  // its state has changed
    return false;
  }
  direction.number = number;
  ++direction.posted;
  ++posted_;
  bytes_ += message.bytes;
  direction.unfinished.push_back(message);
  if (TakesReceive(message.opcode) || IsWrite(message.opcode)) direction.unarrived.push_back(message);
  direction.last = message;
  return true;
}

void MixedTraffic::CheckWritten(size_t pair, size_t to, const Message& message) {
  const uint8_t* place = pairs_[pair]->side.at(to).memory->data() + WritePlace(message.number);
  if (std::memcmp(message.data, place, message.bytes) == 0) return;
  Fail(
      fmt::format("pair {}, to host {}: WRITE {} of {} bytes has wrong data", pair, to, message.number, message.bytes));
}

void MixedTraffic::CheckAnswered(size_t pair, size_t requester, const Message& message) {
  if (TakesReceive(message.opcode) || IsWrite(message.opcode)) return;  // its arrival is seen at the receiver
  ++directions_[pair].at(requester).arrived;
  if (IsLocal(message.opcode)) {
    Window& window = directions_[pair].at(requester).windows.all.at(message.window.value());
    window.state = window.state == WindowState::kBinding ? WindowState::kBound : WindowState::kUnbound;
    return;
  }
  if (message.opcode == IbWrOpcode::kAtomicWrite) return CheckWritten(pair, 1 - requester, message);
  if (message.opcode == IbWrOpcode::kFlush) {
    for (const Message& earlier : directions_[pair].at(requester).unarrived) {
      if (earlier.number < message.number && IsWrite(earlier.opcode)) CheckWritten(pair, 1 - requester, earlier);
    }
    return;
  }
  const uint8_t* place = pairs_[pair]->side.at(requester).memory->data() + ReadPlace(message.number);
  if (IsAtomic(message.opcode)) {
    uint64_t before = 0;
    std::memcpy(&before, place, sizeof before);
    if (before == message.before) return;
    return Fail(fmt::format("pair {}, to host {}: {} {} returned {}, expected {}", pair, requester,
                            spec::ToString(message.opcode), message.number, before, message.before));
  }
  if (std::memcmp(message.data, place, message.bytes) == 0) return;
  Fail(fmt::format("pair {}, to host {}: READ {} of {} bytes has wrong data", pair, requester, message.number,
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
    CheckAnswered(pair, from, message);
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
  CheckAnswered(pair, from, message);
  if (IsRead(message.opcode)) {
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
  const bool is_shared = to == 1 && srq_ != nullptr;
  if (is_shared) {
    if (shared_.erase(completion.wr_id) == 0) return Fail(name + ": completed twice");
  } else {
    if (completion.wr_id + direction.receiving.size() != direction.receives) return Fail(name + ": out of order");
    direction.receiving.pop_front();
  }
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
  if (message.opcode == IbWrOpcode::kSendWithInv) {
    Window& window = directions_[pair].at(to).windows.all.at(message.window.value());
    uint32_t key = 0;
    for (const uint8_t byte : completion.imm_data) key = key << 8 | byte;
    if ((completion.wc_flags & spec::IbWcFlags::kWithInv) == 0 || key != KeyOf(pair, to, message.window.value())) {
      return Fail(fmt::format("{}: invalidated key {:#x}", name, key));
    }
    window.state = WindowState::kUnbound;
  }
  if (IsWrite(message.opcode)) return CheckWritten(pair, to, message);
  const size_t owner = is_shared ? completion.wr_id % pairs_.size() : pair;
  const uint64_t receive = is_shared ? completion.wr_id / pairs_.size() : completion.wr_id;
  const uint8_t* place = pairs_[owner]->side.at(to).memory->data() + ReceivePlace(receive);
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
        if (Below(3) != 0) {
          if (host == 1 && srq_ != nullptr) {
            PostSharedReceives();
          } else {
            PostReceives(i, host);
          }
        }
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
      std::memcpy(&count, pairs_[i]->side.at(1 - from).memory->data() + NumberPlace(), sizeof count);
      if (count != one.number) {
        return Fail(fmt::format("pair {}, from host {}: atomic operations end with {}, expected {}", i, from, count,
                                one.number));
      }
      for (; !one.unarrived.empty(); ++one.arrived) {
        CheckWritten(i, 1 - from, one.unarrived.front());
        one.unarrived.pop_front();
      }
      for (; !one.unfinished.empty(); one.unfinished.pop_front()) {
        CheckAnswered(i, from, one.unfinished.front());
      }
    }
  }
}

}  // namespace vireo::sim
