// SPDX-License-Identifier: Apache-2.0
#include "verif/cosim/random_traffic.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <utility>

namespace vireo::sim {
namespace {

using spec::IbAccessFlags;
using spec::IbWcStatus;

constexpr uint32_t kAllAccess = IbAccessFlags::kLocalWrite | IbAccessFlags::kRemoteWrite | IbAccessFlags::kRemoteRead;
constexpr Picoseconds kMicrosecond = 1000 * kPicosecondsPerNanosecond;
constexpr Picoseconds kTrafficTimeout = 60'000 * kMicrosecond;  // longer than all retries of kTimeout
// Time within which the slowest device has written acknowledged data to memory.
constexpr Picoseconds kArrival = 20 * kMicrosecond;
// Per direction. More than the receive buffer of nic100 holds (512 KiB, 512 frames), so that frames are sometimes lost
// and retransmitted; nic1 receives faster than its wire.
constexpr uint64_t kMaxBytes = 1'200'000;
constexpr uint64_t kMaxPackets = 1500;
constexpr uint8_t kTimeout = 8;  // 1 ms
constexpr uint64_t kTail = 8192;

}  // namespace

std::string TrafficStatistics::Text() const {
  return fmt::format(
      "{} messages of {} bytes ({} READs), {} refused, {} flushed, {} reconnects, {} regions revoked, {} interrupts",
      messages, bytes, reads, refused, flushed, reconnects, revokes, interrupts);
}

uint64_t RandomTraffic::Region::Place(uint64_t offset) const {
  const uint64_t page_bytes = uint64_t{1} << page_shift;
  const uint64_t at = address % page_bytes + offset;
  return pages[at >> page_shift] + at % page_bytes;
}

RandomTraffic::RandomTraffic(RdmaSystem& system, const spec::Config& config, std::mt19937_64& random)
    : system_(system), config_(config), random_(random) {
  constexpr std::array<uint32_t, 4> kLargest = {300, 4096, 16'384, 65'536};
  largest_ = kLargest.at(Below(kLargest.size()));
  with_errors_ = !OneIn(3);
  // As many as the smaller device has page translations.
  pairs_.resize(1 + Below(largest_ > 16'384 ? 4 : 8));
  for (size_t host = 0; host < 2 && ok(); ++host) {
    for (int i = 0; i < 2; ++i) {
      auto pd = system_.host(host).device().CreatePd();
      if (!pd.ok()) {
        Fail(host::ToString(pd.error()));
        return;
      }
      hosts_.at(host).pds.push_back(*pd);
    }
    const size_t regions = 1 + Below(3);
    for (size_t i = 0; i < regions && ok(); ++i)
      hosts_.at(host).regions.push_back(MakeRegion(host, 0, kAllAccess, pairs_.size()));
    hosts_.at(host).read_only = MakeRegion(host, 0, IbAccessFlags::kLocalWrite | IbAccessFlags::kRemoteRead);
    hosts_.at(host).write_only = MakeRegion(host, 0, IbAccessFlags::kLocalWrite | IbAccessFlags::kRemoteWrite);
    hosts_.at(host).constant = MakeRegion(host, 0, IbAccessFlags::kRemoteRead);
    hosts_.at(host).foreign = MakeRegion(host, 1, kAllAccess);
    MakeQueues(host);
  }
  for (size_t i = 0; i < pairs_.size() && ok(); ++i) Connect(i);
}

RandomTraffic::~RandomTraffic() { pairs_.clear(); }

bool RandomTraffic::ok() const { return !testing::Test::HasFailure(); }
void RandomTraffic::Fail(const std::string& what) {
  ADD_FAILURE() << what << "\nat " << system_.scheduler().now() / kPicosecondsPerNanosecond << " ns, after "
                << statistics_.Text();
}
std::string RandomTraffic::Name(size_t number, size_t side) const {
  const Side& one = pairs_[number].side.at(side);
  return fmt::format("pair {}, host {} (QP {}, path MTU {})", number, side, one.qp ? one.qp->qpn() : 0,
                     pairs_[number].path_mtu);
}

// --- Objects

std::shared_ptr<RandomTraffic::Region> RandomTraffic::MakeRegion(size_t host, size_t pd, uint32_t access,
                                                                 size_t pairs) {
  auto region = std::make_shared<Region>();
  region->host = host;
  region->page_shift = OneIn(3) ? 16 : 12;
  region->source_bytes = largest_ + Below(4096);
  region->target_bytes = largest_ + Below(512);
  region->pairs = pairs;
  region->tail = region->source_bytes + 2 * pairs * region->target_bytes;
  region->length = region->tail + 1 + Below(kTail);
  const uint64_t page_bytes = uint64_t{1} << region->page_shift;
  // Any address, with all bytes below 2^63; sometimes just below a round number.
  region->address = random_() >> 1 >> Below(32);
  if (OneIn(4)) region->address = (region->address | (page_bytes - 1)) - Below(64);
  const uint64_t pages = (region->address % page_bytes + region->length - 1) / page_bytes + 1;
  const uint64_t room = pages + Below(3);
  auto buffer = system_.host(host).function().AllocateDma((room + 1) * page_bytes, 4096);
  if (!buffer.ok()) {
    Fail(host::ToString(buffer.error()));
    return region;
  }
  region->buffer = std::move(buffer).value();
  const uint64_t first = (page_bytes - region->buffer->address() % page_bytes) % page_bytes;
  std::vector<uint64_t> order(room);
  std::iota(order.begin(), order.end(), uint64_t{0});
  if (!OneIn(4)) {
    for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[Below(i)]);
  }
  std::vector<uint64_t> addresses;
  for (uint64_t i = 0; i < pages; ++i) {
    region->pages.push_back(first + order[i] * page_bytes);
    addresses.push_back(region->buffer->address() + region->pages.back());
  }
  uint8_t* bytes = region->buffer->data();
  for (size_t i = 0; i + 8 <= region->buffer->size(); i += 8) {
    const uint64_t word = random_();
    std::memcpy(bytes + i, &word, 8);
  }
  region->reference.assign(bytes, bytes + region->buffer->size());
  auto registered =
      hosts_.at(host).pds[pd]->Register(region->address, region->length, access, region->page_shift, addresses);
  if (!registered.ok()) {
    Fail(host::ToString(registered.error()));
    return region;
  }
  region->region = *registered;
  region->lkey = region->region->lkey();
  region->rkey = region->region->rkey();
  return region;
}

void RandomTraffic::MakeQueues(size_t number) {
  Host& host = hosts_.at(number);
  verbs::Device& device = system_.host(number).device();
  const size_t count = 1 + Below(pairs_.size());
  const uint16_t vectors = device.net().vectors();
  for (size_t i = 0; i < count; ++i) {
    Queue queue;
    // One for each QP that may share it, and one to post with.
    queue.cqe = static_cast<uint32_t>(pairs_.size() + 2 + Below(OneIn(2) ? 8 : 100));
    if (!OneIn(3) && vectors > 3) queue.vector = static_cast<uint16_t>(vectors - 1 - Below(2));
    auto cq = device.CreateCq(queue.cqe, queue.vector);
    if (!cq.ok()) return Fail(host::ToString(cq.error()));
    queue.cq = *cq;
    if (queue.vector.has_value() && !queue.cq->Arm().ok()) return Fail("the CQ cannot be armed");
    host.queues.push_back(std::move(queue));
  }
}

void RandomTraffic::Connect(size_t number) {
  Pair& pair = pairs_[number];
  pair = Pair();
  constexpr std::array<spec::IbMtu, 5> kMtus = {spec::IbMtu::kMtu256, spec::IbMtu::kMtu512, spec::IbMtu::kMtu1024,
                                                spec::IbMtu::kMtu2048, spec::IbMtu::kMtu4096};
  const size_t mtu = Below(kMtus.size());
  pair.path_mtu = 256U << mtu;
  std::array<uint32_t, 2> psn{};
  std::array<uint8_t, 2> reads{};  // outstanding READs that each accepts
  for (uint8_t& each : reads) each = static_cast<uint8_t>(1 + Below(config_.max_rd_atomic));
  for (size_t i = 0; i < 2; ++i) {
    psn.at(i) = static_cast<uint32_t>(OneIn(2) ? 0x100'0000 - 1 - Below(8) : Below(0x100'0000));
    Side& side = pair.side.at(i);
    Host& host = hosts_.at(i);
    side.queue = Below(host.queues.size());
    ++host.queues[side.queue].users;
    side.max_send_wr = static_cast<uint32_t>(OneIn(2) ? 1U << (1 + Below(6)) : 2 + Below(63));
    side.signal_all = OneIn(3);
    verbs::QueuePairOptions options;
    options.send_cq = host.queues[side.queue].cq;
    options.recv_cq = host.queues[Below(host.queues.size())].cq;
    options.max_send_wr = side.max_send_wr;
    options.max_recv_wr = static_cast<uint32_t>(Below(3));
    options.signal_all = side.signal_all;
    auto qp = host.pds[0]->CreateQp(options);
    if (!qp.ok()) return Fail(host::ToString(qp.error()));
    side.qp = *qp;
    by_qpn_[{i, side.qp->qpn()}] = {number, i};
  }
  const size_t first = Below(2);
  for (const size_t i : {first, 1 - first}) {
    const verbs::Status connected =
        pair.side.at(i).qp->Connect({.dest_qpn = pair.side.at(1 - i).qp->qpn(),
                                     .local_psn = psn.at(i),
                                     .remote_psn = psn.at(1 - i),
                                     .path_mtu = kMtus.at(mtu),
                                     .path = system_.host(i).PathTo(system_.host(1 - i)),
                                     .timeout = kTimeout,
                                     .max_rd_atomic = static_cast<uint8_t>(1 + Below(reads.at(1 - i))),
                                     .max_dest_rd_atomic = reads.at(i)});
    if (!connected.ok()) return Fail(Name(number, i) + ": " + host::ToString(connected.error()));
  }
}

// --- Posting

uint32_t RandomTraffic::RandomSize(uint32_t path_mtu) {
  uint64_t size = 0;
  switch (Below(8)) {
    case 0: size = Below(3); break;
    case 1: size = 64 * (1 + Below(4)) + Below(5) - 2; break;
    case 2: size = path_mtu + Below(5) - 2; break;
    case 3: size = path_mtu * (1 + Below(4)) + Below(5) - 2; break;
    case 4:
    case 5: size = Below(600); break;
    case 6: size = Below(OneIn(4) ? largest_ + 1 : 2 * path_mtu); break;
    default: size = OneIn(8) ? largest_ : Below(128); break;
  }
  return static_cast<uint32_t>(std::min<uint64_t>(size, largest_));
}

bool RandomTraffic::Post(size_t number, size_t near, Fault fault, bool closing) {
  Pair& pair = pairs_[number];
  Side& side = pair.side.at(near);
  Host& host = hosts_.at(near);
  Host& peer = hosts_.at(1 - near);
  Queue& queue = host.queues[side.queue];
  Message message;
  message.fault = fault;
  message.is_read = fault == Fault::kLocalRights || (!closing && OneIn(3));
  message.local = host.regions[Below(host.regions.size())];
  message.remote = peer.regions[Below(peer.regions.size())];
  message.bytes = closing ? 0 : RandomSize(pair.path_mtu);
  if (fault != Fault::kNone && message.bytes == 0) message.bytes = 1;
  if (fault == Fault::kRemoteRights) message.remote = message.is_read ? peer.write_only : peer.read_only;
  if (fault == Fault::kRemotePd) message.remote = peer.foreign;
  if (fault == Fault::kLocalPd) message.local = host.foreign;
  if (fault == Fault::kLocalRights) message.local = host.constant;
  if (fault == Fault::kRemoteRevoked) {
    if (peer.revoked.empty()) return false;
    message.remote = peer.revoked[Below(peer.revoked.size())];
  }
  if (fault == Fault::kLocalRevoked) {
    if (host.revoked.empty()) return false;
    message.local = host.revoked[Below(host.revoked.size())];
  }
  // Offsets in the two regions; the injected error is applied on top.
  const auto source_offset = [&](const Region& region) { return Below(region.source_bytes - message.bytes + 1); };
  const auto target_offset = [&](const Region& region) {
    return region.Target(number, message.is_read) + Below(region.target_bytes - message.bytes + 1);
  };
  uint64_t local = message.is_read ? target_offset(*message.local) : source_offset(*message.local);
  uint64_t remote = message.is_read ? source_offset(*message.remote) : target_offset(*message.remote);
  // Across the end of the region, or before it.
  const auto beyond = [&](const Region& region) {
    const uint64_t count = 1 + Below(message.bytes);
    return OneIn(3) ? uint64_t{0} - count
                    : region.length - std::min(region.length - region.tail, message.bytes - count);
  };
  if (fault == Fault::kRemoteBounds) remote = beyond(*message.remote);
  if (fault == Fault::kLocalBounds) local = beyond(*message.local);
  message.target_offset = message.is_read ? local : remote;
  if (message.target_offset > message.target().length) message.target_offset = message.target().length;
  const uint64_t from = message.is_read ? remote : local;  // of the data
  message.packets = std::max<uint64_t>(1, (message.bytes + pair.path_mtu - 1) / pair.path_mtu);
  Host& sender = message.is_read ? peer : host;  // of the bytes
  if (!closing) {
    // Reserves a CQE for every queue pair that may have to close, or they would wait for each other.
    if (queue.outstanding + queue.users >= queue.cqe) return false;
    if (sender.bytes + message.bytes > kMaxBytes || sender.packets + message.packets > kMaxPackets) return false;
  } else if (queue.outstanding >= queue.cqe) {
    return false;
  }
  message.wr_id = next_wr_id_ * 0x1'0000'0001;  // both halves count
  message.signaled = closing || OneIn(2);
  message.data.resize(message.bytes);
  const Region& source = message.is_read ? *message.remote : *message.local;
  for (uint32_t i = 0; i < message.bytes && from + i < source.length; ++i) {
    message.data[i] = source.reference[source.Place(from + i)];
  }
  spec::RdmaSge sge{.addr = message.local->address + local, .length = message.bytes, .lkey = message.local->lkey};
  uint32_t rkey = message.remote->rkey;
  const uint32_t wrong = static_cast<uint32_t>(1 + Below(255));  // in the key, not in the index
  if (fault == Fault::kLocalKey) sge.lkey ^= wrong;
  if (fault == Fault::kRemoteKey) rkey = OneIn(4) ? rkey | 0xffff'ff00 : rkey ^ wrong;
  const bool no_element = message.bytes == 0 && OneIn(2);
  const verbs::Status posted = side.qp->PostSend(
      {.wr_id = message.wr_id,
       .opcode = message.is_read ? spec::IbWrOpcode::kRdmaRead : spec::IbWrOpcode::kRdmaWrite,
       .flags = static_cast<uint8_t>((message.signaled ? spec::IbSendFlags::kSignaled : 0) |
                                     (OneIn(8) ? spec::IbSendFlags::kFence : 0)),
       .sg_list = no_element ? std::span<const spec::RdmaSge>() : std::span<const spec::RdmaSge>(&sge, 1),
       .remote_addr = message.remote->address + remote,
       .rkey = rkey});
  if (!posted.ok()) {
    if (posted.error().code != host::ErrorCode::kNoSpace || side.outstanding.size() < side.max_send_wr) {
      Fail(Name(number, near) + ": " + host::ToString(posted.error()));
    }
    return false;
  }
  message.signaled = message.signaled || side.signal_all;
  ++next_wr_id_;
  ++queue.outstanding;
  sender.bytes += message.bytes;
  sender.packets += message.packets;
  posted_bytes_ += message.bytes;
  ++posted_messages_;
  if (fault != Fault::kNone) side.doomed = true;
  side.outstanding.push_back(std::move(message));
  return true;
}

void RandomTraffic::Burst() {
  const size_t number = Below(pairs_.size());
  const size_t near = Below(2);
  Pair& pair = pairs_[number];
  Side& side = pair.side.at(near);
  if (pair.failing || side.doomed) return;
  const size_t count = 1 + Below(OneIn(4) ? 20 : 4);
  for (size_t i = 0; i < count && ok(); ++i) {
    const Fault fault = with_errors_ && !side.doomed && OneIn(60)
                            ? static_cast<Fault>(1 + Below(static_cast<uint64_t>(Fault::kCount) - 1))
                            : Fault::kNone;
    if (!Post(number, near, fault, false)) break;
  }
}

void RandomTraffic::Revoke() {
  const size_t number = Below(2);
  Host& host = hosts_.at(number);
  const size_t slot = Below(host.regions.size());
  const std::shared_ptr<Region> old = host.regions[slot];
  host.regions[slot] = MakeRegion(number, 0, kAllAccess, pairs_.size());
  if (!ok()) return;
  for (int i = 0; i < 6; ++i) Burst();
  for (Pair& pair : pairs_) {
    for (Side& side : pair.side) {
      for (Message& message : side.outstanding) {
        if (message.local == old) message.local_revoked = true;
        if (message.remote == old) message.remote_revoked = true;
      }
    }
  }
  old->region.reset();
  host.revoked.push_back(old);
  ++statistics_.revokes;
}

// --- Completions

void RandomTraffic::Release(Side& side, size_t host, const Message& message) {
  --hosts_.at(host).queues[side.queue].outstanding;
  Host& sender = hosts_.at(message.is_read ? 1 - host : host);
  sender.bytes -= message.bytes;
  sender.packets -= message.packets;
}

void RandomTraffic::Succeed(Side& side, size_t host, const Message& message) {
  for (uint32_t i = 0; i < message.bytes; ++i) {
    message.target().reference[message.target().Place(message.target_offset + i)] = message.data[i];
  }
  ++statistics_.messages;
  statistics_.reads += message.is_read ? 1 : 0;
  statistics_.bytes += message.bytes;
  Release(side, host, message);
}

void RandomTraffic::Complete(size_t host, size_t queue, const spec::RdmaCqReq& completion) {
  const std::string status =
      fmt::format("completion of work request {:#x}, {}", completion.wr_id, spec::ToString(completion.status));
  const auto found = by_qpn_.find({host, completion.qp_num});
  if (found == by_qpn_.end()) return Fail(status + fmt::format(": there is no QP {}", completion.qp_num));
  const auto [number, near] = found->second;
  Pair& pair = pairs_[number];
  Side& side = pair.side.at(near);
  const std::string name = Name(number, near) + ", " + status;
  if (side.queue != queue) return Fail(name + ": in another CQ");
  // Those without a completion have succeeded if a later one has one.
  while (!side.outstanding.empty() && side.outstanding.front().wr_id != completion.wr_id) {
    const Message& message = side.outstanding.front();
    if (message.signaled || message.fault != Fault::kNone || !side.failed.empty()) {
      return Fail(name + fmt::format(": expected {:#x} first", message.wr_id));
    }
    Succeed(side, host, message);
    side.outstanding.pop_front();
  }
  if (side.outstanding.empty()) return Fail(name + ": is not outstanding");
  Message message = std::move(side.outstanding.front());
  side.outstanding.pop_front();
  message.status = completion.status;
  if (message.status == IbWcStatus::kSuccess) {
    if (!message.signaled) return Fail(name + ": is not signaled");
    if (message.fault != Fault::kNone || !side.failed.empty()) {
      return Fail(name +
                  fmt::format(": fault {}, {} failed before", static_cast<int>(message.fault), side.failed.size()));
    }
    const auto opcode = message.is_read ? spec::IbWcOpcode::kRdmaRead : spec::IbWcOpcode::kRdmaWrite;
    if (completion.opcode != opcode) return Fail(name + ": wrong opcode");
    if (completion.byte_len != (message.is_read ? message.bytes : 0)) return Fail(name + ": wrong length");
    return Succeed(side, host, message);
  }
  const bool is_remote = message.remote_revoked || message.is_remote_fault();
  const bool is_local = message.local_revoked || message.is_local_fault();
  // A READ that is requested again because its response was lost is not refused but ignored if the key is no longer
  // valid.
  // [IBTA vol. 1, 9.7.5.1.2]
  const bool is_ignored = message.is_read && message.remote_revoked && message.status == IbWcStatus::kRetryExcErr;
  const bool is_expected = message.status == IbWcStatus::kWrFlushErr || (is_ignored && side.failed.empty()) ||
                           (message.status == IbWcStatus::kLocProtErr && is_local) ||
                           (message.status == IbWcStatus::kRemAccessErr && is_remote && side.failed.empty());
  if (!is_expected) {
    return Fail(name + fmt::format(": fault {}, revoked {} {}, {} failed before", static_cast<int>(message.fault),
                                   message.local_revoked, message.remote_revoked, side.failed.size()));
  }
  ++(message.status == IbWcStatus::kWrFlushErr ? statistics_.flushed : statistics_.refused);
  Release(side, host, message);
  side.failed.push_back(std::move(message));
  pair.failing = true;
}

void RandomTraffic::Harvest() {
  for (size_t number = 0; number < 2; ++number) {
    Host& host = hosts_.at(number);
    host::PciFunction& function = system_.host(number).function();
    std::map<uint16_t, bool> taken;  // several CQs may share a vector
    for (const Queue& queue : host.queues) {
      if (queue.vector.has_value() && !taken.contains(*queue.vector)) {
        taken[*queue.vector] = function.TakeInterrupt(*queue.vector);
        statistics_.interrupts += taken[*queue.vector];
      }
    }
    for (size_t i = 0; i < host.queues.size(); ++i) {
      Queue& queue = host.queues[i];
      if (queue.vector.has_value() && !taken[*queue.vector]) continue;
      std::array<spec::RdmaCqReq, 8> completions;
      const size_t room = 1 + Below(completions.size());
      for (size_t count = room; count == room && ok();) {
        auto polled = queue.cq->Poll(std::span(completions).first(room));
        if (!polled.ok()) return Fail(host::ToString(polled.error()));
        count = *polled;
        for (size_t k = 0; k < count && ok(); ++k) Complete(number, i, completions.at(k));
      }
      if (queue.vector.has_value() && !queue.cq->Arm().ok()) return Fail("the CQ cannot be armed");
    }
  }
}

void RandomTraffic::PollEvents() {
  for (size_t number = 0; number < 2; ++number) {
    for (;;) {
      auto event = system_.host(number).device().PollEvent();
      if (!event.ok()) return Fail(host::ToString(event.error()));
      if (!event->has_value()) break;
      const spec::RdmaEvent& rdma = (*event)->rdma;
      const bool is_expected =
          (*event)->kind == host::DeviceEvent::Kind::kRdma && rdma.lost == 0 &&
          (rdma.event_type == spec::RdmaEventType::kQpFatal || rdma.event_type == spec::RdmaEventType::kQpAccessErr);
      if (!is_expected) {
        return Fail(fmt::format("host {}: event {} of {}, code {}, {} lost", number,
                                static_cast<uint32_t>(rdma.event_type), rdma.element, rdma.code, rdma.lost));
      }
    }
  }
}

void RandomTraffic::Step() {
  system_.topology().RunFor((20 + Below(OneIn(3) ? 2000 : 200)) * kPicosecondsPerNanosecond * 100'000 /
                            std::max<uint64_t>(config_.link_mbps, 25'000));
  if (system_.is_mismatched()) return Fail("a lockstep mismatch");
  Harvest();
  PollEvents();
}

template <typename Done>
void RandomTraffic::StepUntil(const char* what, Done done) {
  const Picoseconds deadline = system_.scheduler().now() + kTrafficTimeout;
  while (ok() && !done()) {
    if (system_.scheduler().now() > deadline) {
      std::string text = fmt::format("{}: not after {} ns", what, kTrafficTimeout / kPicosecondsPerNanosecond);
      for (size_t i = 0; i < pairs_.size(); ++i) {
        for (size_t near = 0; near < 2; ++near) {
          const Side& side = pairs_[i].side.at(near);
          if (side.outstanding.empty()) continue;
          Queue& queue = hosts_.at(near).queues[side.queue];
          std::array<spec::RdmaCqReq, 1> completion;
          const auto polled = queue.cq->Poll(completion);
          text += fmt::format(
              "\n{}: {} outstanding, first {:#x}, {} bytes, fault {}, last {}signaled; CQ {} of {} ({} CQEs wanted), "
              "{}; its "
              "ring holds {}",
              Name(i, near), side.outstanding.size(), side.outstanding.front().wr_id, side.outstanding.front().bytes,
              static_cast<int>(side.outstanding.front().fault), side.outstanding.back().signaled ? "" : "not ",
              queue.cq->cqn(), queue.cqe, queue.outstanding,
              queue.vector.has_value() ? fmt::format("vector {}", *queue.vector) : "polled",
              polled.ok() && *polled != 0 ? fmt::format("{:#x}", completion[0].wr_id) : "nothing");
        }
      }
      return Fail(text);
    }
    Step();
  }
}

// --- The end of a connection

void RandomTraffic::Reconnect(size_t number) {
  const size_t first = Below(2);
  pairs_[number].ended_by_us = !pairs_[number].failing;
  pairs_[number].failing = true;  // no more posts
  for (const size_t near : {first, 1 - first}) {
    const verbs::Status ended =
        pairs_[number].side.at(near).qp->Modify({.qp_state = spec::IbQpState::kErr}, spec::IbQpAttrMask::kState);
    if (!ended.ok()) return Fail(Name(number, near) + ": " + host::ToString(ended.error()));
    if (OneIn(2)) Burst();
  }
  StepUntil("flushing", [&] {
    // An unsignaled request succeeded if it was acknowledged before the end; only a flush or a later success shows it.
    for (const Side& side : pairs_[number].side) {
      for (const Message& message : side.outstanding) {
        if (message.signaled || message.fault != Fault::kNone) return false;
      }
    }
    return true;
  });
  // Extra time for those.
  for (int i = 0; i < 8 && ok(); ++i) Step();
  if (!ok()) return;
  const size_t order = Below(2);
  for (const size_t near : {order, 1 - order}) {
    Side& side = pairs_[number].side.at(near);
    by_qpn_.erase({near, side.qp->qpn()});
    side.qp.reset();
    --hosts_.at(near).queues[side.queue].users;
  }
  // From here on their targets do not change.
  Judge(number);
  if (!ok()) return;
  ++statistics_.reconnects;
  Connect(number);
}

void RandomTraffic::Judge(size_t number) {
  Pair& pair = pairs_[number];
  const auto failed_itself = [](const Side& side) {
    return std::ranges::any_of(side.failed, [](const Message& message) {
      return message.fault != Fault::kNone || message.local_revoked || message.remote_revoked;
    });
  };
  for (size_t near = 0; near < 2; ++near) {
    Side& side = pair.side.at(near);
    if (!side.failed.empty() && !side.outstanding.empty()) return Fail(Name(number, near) + ": not all flushed");
    for (const Message& message : side.outstanding) Succeed(side, near, message);  // not signaled, not flushed
    side.outstanding.clear();
    if (side.failed.empty()) continue;
    const bool refused = side.failed.front().status != IbWcStatus::kWrFlushErr;
    if (!refused && !pair.ended_by_us && !failed_itself(side) && !failed_itself(pair.side.at(1 - near))) {
      return Fail(Name(number, near) + ": flushed without a reason");
    }
    // A refused request may have been partly written, up to the refused packet and nothing after it; except for a READ,
    // which may be refused after later requests were sent, or even completed. A flushed request may have been written
    // or not.
    const Message& first = side.failed.front();
    const size_t written = refused && (!first.is_read || first.is_remote_fault()) ? 1 : side.failed.size();
    for (size_t i = 0; i < written; ++i) {
      const Message& message = side.failed[i];
      Region& target = message.target();
      for (uint32_t k = 0; k < message.bytes && message.target_offset + k < target.length; ++k) {
        const uint64_t offset = message.target_offset + k;
        const uint64_t place = target.Place(offset);
        const uint8_t is = target.buffer->data()[place];
        if (is == target.reference[place]) continue;
        // All requests share the tail; and a source that extends beyond the end is not constant.
        bool is_explained = offset >= target.tail;
        for (size_t j = 0; j < written && !is_explained; ++j) {
          const Message& other = side.failed[j];
          is_explained = &other.target() == &target && offset >= other.target_offset &&
                         offset - other.target_offset < other.bytes &&
                         ((other.fault == Fault::kLocalBounds && !other.is_read) ||
                          other.data[offset - other.target_offset] == is);
        }
        if (!is_explained) {
          std::string text = fmt::format("{}: byte {} of the target is {:#x}, expected {:#x}", Name(number, near),
                                         offset, is, target.reference[place]);
          for (const Message& other : side.failed) {
            text += fmt::format("\n{:#x}: {}, {}, fault {}, {} bytes to {}", other.wr_id,
                                other.is_read ? "READ" : "WRITE", spec::ToString(other.status),
                                static_cast<int>(other.fault), other.bytes, other.target_offset);
          }
          return Fail(text);
        }
        target.reference[place] = is;
      }
    }
  }
}

void RandomTraffic::CompareAll() {
  for (const Host& host : hosts_) {
    std::vector<std::shared_ptr<Region>> all = host.regions;
    all.insert(all.end(), host.revoked.begin(), host.revoked.end());
    all.push_back(host.read_only);
    all.push_back(host.write_only);
    all.push_back(host.constant);
    all.push_back(host.foreign);
    for (const auto& region : all) {
      const auto differ = std::mismatch(region->reference.begin(), region->reference.end(), region->buffer->data());
      if (differ.first == region->reference.end()) continue;
      return Fail(fmt::format(
          "host {}, region of {} bytes at {:#x}, pages of 2^{}: byte {} of its buffer is {:#x}, expected {:#x}",
          region->host, region->length, region->address, region->page_shift, differ.first - region->reference.begin(),
          *differ.second, *differ.first));
    }
  }
}

bool RandomTraffic::Settle() {
  for (size_t i = 0; i < pairs_.size() && ok(); ++i) {
    if (pairs_[i].failing) Reconnect(i);
    for (size_t near = 0; near < 2 && ok(); ++near) {
      Side& side = pairs_[i].side.at(near);
      if (!side.outstanding.empty() && !side.outstanding.back().signaled && !side.doomed) {
        static_cast<void>(Post(i, near, Fault::kNone, true));
      }
    }
  }
  return std::ranges::all_of(pairs_, [](const Pair& pair) {
    return !pair.failing && pair.side[0].outstanding.empty() && pair.side[1].outstanding.empty();
  });
}

void RandomTraffic::Run(uint64_t bytes, uint64_t messages) {
  StepUntil("the last posts", [&] {
    for (uint64_t bursts = Below(4); bursts != 0; --bursts) Burst();
    for (size_t i = 0; i < pairs_.size() && ok(); ++i) {
      if (pairs_[i].failing) Reconnect(i);
    }
    // Unsignaled work requests may occupy all room.
    if (OneIn(30)) static_cast<void>(Settle());
    if (with_errors_ && OneIn(150) && ok()) Reconnect(Below(pairs_.size()));
    if (with_errors_ && OneIn(150) && ok()) Revoke();
    return posted_bytes_ >= bytes || posted_messages_ >= messages;
  });
  if (ok()) StepUntil("the last completions", [&] { return Settle(); });
  if (!ok()) return;
  system_.topology().RunFor(kArrival);
  Harvest();
  CompareAll();
}

}  // namespace vireo::sim
