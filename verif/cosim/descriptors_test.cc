// SPDX-License-Identifier: Apache-2.0
// Malformed descriptors and rings, as a buggy or hostile driver writes them, in the send, receive, completion, event
// and control queues of one NIC at a time, while other queue pairs work: those must not be affected; a broken queue
// reports its error and works again after it is recreated. Model, RTL, and both in lockstep. VIREO_DESCRIPTORS=N
// injects N descriptors.
//
// An injection replaces entries of a ring that the driver has set up, without the driver's knowledge. Queues are
// confined by SET_WINDOW, so that no descriptor can cause a DMA outside of the memory that the host mapped. The control
// queue cannot be confined: its device may access exactly the addresses in its descriptors, and nothing else.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/common/random.h"
#include "sim/common/seed.h"
#include "sim/topology/rdma_system.h"
#include "sim/traffic/raw_queue.h"
#include "verif/cosim/every_device.h"

namespace vireo::sim {
namespace {

using DescFlags = spec::VirtqDescFlags;
using Event = spec::RdmaEventType;

constexpr uint64_t kDefaultDescriptors = 12;
constexpr Picoseconds kMicrosecond = 1000 * kPicosecondsPerNanosecond;
constexpr Picoseconds kSecond = 1'000'000 * kMicrosecond;
constexpr Picoseconds kFirmwareTime = 200 * kMicrosecond;  // longer than a command
constexpr uint64_t kTimeoutNs = 20'000'000;
constexpr uint32_t kEntries = 16;  // of the victims' rings
constexpr size_t kArenaSlots = kEntries, kSlotBytes = 1024;
constexpr uint64_t kMaxPerInjection = 8;
constexpr uint64_t kGoodBytes = 16'384, kLargestWrite = 1500;
// Of a class without commands. [virtio 1.3, 5.1.6.5]
constexpr uint8_t kNoClass = 0xee;

enum class Target : uint8_t { kSend, kReceive, kCompletion, kEvents, kControl };
constexpr std::array<const char*, 5> kTargetNames = {"send", "receive", "completion", "events", "control"};

enum class Defect : uint8_t {
  kHead,   // split: no such descriptor; packed: an unused id
  kIndex,  // split: more entries than the ring has; packed: flags of neither state
  kZeroLength,
  kShort,        // shorter than the queue's buffers
  kHuge,         // from a valid address to far beyond
  kPastEnd,      // over the end of all addresses
  kOutside,      // any address
  kIndirect,     // feature not offered
  kDirection,    // device-writable where the device reads, or vice versa
  kNext,         // chained to itself
  kRandom,       // all fields random
  kBits,         // a few bits flipped
  kContent,      // valid descriptor, random buffer contents
  kWorkRequest,  // likewise, a work request with a few bits flipped
};
constexpr std::array<const char*, 14> kDefectNames = {"head",     "index",   "zero length", "short",       "huge",
                                                      "past end", "outside", "indirect",    "direction",   "next",
                                                      "random",   "bits",    "content",     "work request"};

class Descriptors : public testing::TestWithParam<EveryDeviceAndRing> {
 protected:
  // Events that a host received.
  using Events = std::map<std::pair<Event, uint32_t>, std::vector<uint32_t>>;  // type and element -> codes

  void SetUp() override {
    const auto& [device, config, packed] = GetParam();
    packed_ = packed;
    random_ = MakeRandom(fmt::format("descriptors.{}.{}", config->name, packed));  // the same for every device
    if (const char* text = std::getenv("VIREO_DESCRIPTORS"); text != nullptr) {
      wanted_ = std::strtoull(text, nullptr, 10);
      ASSERT_NE(wanted_, 0U) << "VIREO_DESCRIPTORS is a number from 1";
    }
    // The monitor expects drivers that leave descriptors alone which the device may have read.
    auto built = RdmaSystem::Build({.device = device,
                                    .config = config,
                                    .driver = {.wanted = packed ? host::DefaultFeatures() : SplitRings()},
                                    .is_monitored = false});
    ASSERT_NE(built.system, nullptr) << built.error;
    system_ = std::move(built.system);
    for (size_t i = 0; i < 2; ++i) {
      auto arena = system_->host(i).function().AllocateDma(kArenaSlots * kSlotBytes, HostMemory::kPageBytes);
      ASSERT_TRUE(arena.ok());
      arena_.at(i) = std::move(arena).value();
      // Read-only memory.
      ASSERT_TRUE(memory(i).Protect(arena_.at(i)->address(), Permission::kRead));
    }
    ASSERT_NO_FATAL_FAILURE(MakeGood());
  }
  void TearDown() override {
    bad_.reset();
    good_.reset();
    if (system_ != nullptr) {
      EXPECT_TRUE(system_->topology().RunUntilQuiet(system_->scheduler().now() + kSecond)) << Recent();
      EXPECT_EQ(system_->Violations(), "") << Recent();
    }
    for (auto& arena : arena_) arena.reset();
  }

  uint64_t Below(uint64_t bound) { return UniformBelow(random_, bound); }
  bool OneIn(uint64_t n) { return Below(n) == 0; }
  void Fill(std::span<uint8_t> bytes) {
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random_() >> 32);
  }
  void FlipBits(std::span<uint8_t> bytes, uint64_t count) {
    for (; count != 0; --count) {
      const uint64_t bit = Below(8 * bytes.size());
      bytes[bit / 8] = static_cast<uint8_t>(bytes[bit / 8] ^ 1U << bit % 8);
    }
  }
  HostMemory& memory(size_t host) { return system_->host(host).station().memory(); }
  host::VirtioNetDevice& net(size_t host) { return system_->host(host).device().net(); }
  std::string Recent() const {
    std::string text = "the last injections, oldest first:\n";
    for (const std::string& line : recent_) text += "  " + line + "\n";
    return text;
  }

  // --- Unaffected traffic

  void MakeGood() {
    std::string error;
    good_ = MakeConnectedPair(system_->host(0), system_->host(1), {.memory_bytes = 2 * kGoodBytes, .interrupts = false},
                              &error);
    ASSERT_NE(good_, nullptr) << error << "\n" << Recent();
    for (size_t i = 0; i < 2; ++i) {
      const auto& side = good_->side.at(i);
      Fill({side.memory->data(), side.memory->size()});
      expected_.at(i).assign(side.memory->data(), side.memory->data() + side.memory->size());
    }
    outstanding_ = {};
  }
  // From the first half of one memory into the second half of the other's.
  void PostGood() {
    for (size_t from = 0; from < 2; ++from) {
      const uint64_t bytes = 1 + Below(kLargestWrite);
      const uint64_t source = Below(kGoodBytes - bytes), target = kGoodBytes + Below(kGoodBytes - bytes);
      const spec::RdmaSge sge = good_->side.at(from).region->Sge(source, static_cast<uint32_t>(bytes));
      const verbs::Status posted =
          good_->side.at(from).qp->PostSend({.wr_id = ++next_wr_id_,
                                             .opcode = spec::IbWrOpcode::kRdmaWrite,
                                             .sg_list = std::span(&sge, 1),
                                             .remote_addr = good_->side.at(1 - from).region->address() + target,
                                             .rkey = good_->side.at(1 - from).region->rkey()});
      ASSERT_TRUE(posted.ok()) << host::ToString(posted.error()) << "\n" << Recent();
      outstanding_.at(from).push_back(next_wr_id_);
      std::memcpy(expected_.at(1 - from).data() + target, expected_.at(from).data() + source, bytes);
    }
  }
  void ExpectGood() {
    for (size_t from = 0; from < 2; ++from) {
      for (; !outstanding_.at(from).empty(); outstanding_.at(from).pop_front(), ++good_messages_) {
        const auto completion = good_->side.at(from).cq->Wait(system_->host(from).function().NowNs() + kTimeoutNs);
        ASSERT_TRUE(completion.ok()) << host::ToString(completion.error()) << "\n" << Recent();
        ASSERT_TRUE(completion->has_value())
            << "no completion of the unaffected pair at host " << from << "; the attacked device's status is "
            << fmt::format("{:#x}\n", net(attacked_).pci().ReadStatus()) << Recent();
        ASSERT_EQ((*completion)->wr_id, outstanding_.at(from).front()) << Recent();
        ASSERT_EQ((*completion)->status, spec::IbWcStatus::kSuccess) << spec::ToString((*completion)->status) << "\n"
                                                                     << Recent();
      }
    }
  }
  void CompareGood() {
    for (size_t i = 0; i < 2; ++i) {
      const auto& side = good_->side.at(i);
      ASSERT_EQ(std::memcmp(side.memory->data(), expected_.at(i).data(), expected_.at(i).size()), 0)
          << "the unaffected pair's memory at host " << i << "\n"
          << Recent();
    }
  }

  // --- Rings

  std::optional<RawRing> RingOf(size_t host, uint16_t index) {
    auto ring = FindRing(system_->host(host), index);
    EXPECT_TRUE(ring.has_value()) << "queue " << index;
    return ring;
  }
  void RingDoorbell(size_t host, uint16_t index) {
    // With notification_data the upper half is a position, which the device must not trust.
    const bool sends_position = DoorbellBytes(system_->host(host)) == spec::VirtqNotificationData::kBytes;
    ASSERT_TRUE(RingRawDoorbell(system_->host(host), index, sends_position ? Below(1 << 16) : 0));
  }
  uint16_t ControlQueueIndex(size_t host) {
    return static_cast<uint16_t>(net(host).CompletionQueueIndex(0).value() - spec::kRdmaCompleteqOffset);
  }
  uint16_t EventQueueIndex(size_t host) {
    const spec::NetConfigRdma rdma = net(host).rdma_config();
    return static_cast<uint16_t>(ControlQueueIndex(host) + rdma.max_rdma_cqs + 2 * rdma.max_rdma_qps +
                                 spec::kRdmaEventqOffset);
  }
  void Bound(const verbs::Status& bounded) {
    ASSERT_TRUE(bounded.ok()) << host::ToString(bounded.error()) << "\n" << Recent();
  }

  // --- Injection

  // The work request in a slot of the arena: a WRITE to the victim's peer, or a receive into its own memory.
  void MakeWorkRequest(Target target, size_t slot) {
    uint8_t* at = arena_.at(attacked_)->data() + slot * kSlotBytes;
    std::fill_n(at, kSlotBytes, uint8_t{0});
    const auto& near = bad_->side.at(attacked_);
    const auto& far = bad_->side.at(1 - attacked_);
    if (target == Target::kReceive) {
      spec::RdmaRqReq{.wr_id = slot, .num_sge = 1}.Encode(at);
      near.region->Sge(0, 512).Encode(at + spec::RdmaRqReq::kBytes);
      return;
    }
    EncodeWrite(at, slot, near.region->Sge(0, 512), far.region->address(), far.region->rkey());
  }
  static uint32_t LeastBytes(Target target) {
    switch (target) {
      case Target::kSend: return spec::RdmaSqReq::kBytes;
      case Target::kReceive: return spec::RdmaRqReq::kBytes;
      case Target::kCompletion: return spec::RdmaCqReq::kBytes;
      default: return spec::RdmaEvent::kBytes;
    }
  }
  // Of a work request of any form.
  static uint32_t LeastSendBytes() {
    return std::get<1>(GetParam())->extensible_requests != 0 ? spec::RdmaSqBase::kBytes : spec::RdmaSqReq::kBytes;
  }
  Defect ChooseDefect(Target target) {
    const bool is_work = target == Target::kSend || target == Target::kReceive;
    for (;;) {
      const auto defect = static_cast<Defect>(Below(kDefectNames.size()));
      if (defect >= Defect::kContent && !is_work) continue;
      return defect;
    }
  }
  // Makes `one` invalid. True: the device must not treat it as valid.
  bool Corrupt(RawDescriptor& one, Defect defect, Target target, uint64_t place) {
    const bool is_work = target == Target::kSend || target == Target::kReceive;
    const bool has_window = target != Target::kControl;
    switch (defect) {
      case Defect::kHead:
        if (packed_) one.link = static_cast<uint16_t>(Below(1 << 16));
        return false;
      case Defect::kIndex:
        if (packed_) one.flags = static_cast<uint16_t>(one.flags ^ (OneIn(2) ? DescFlags::kAvail : DescFlags::kUsed));
        return false;
      case Defect::kZeroLength: one.bytes = 0; return true;
      case Defect::kShort:
        one.bytes = static_cast<uint32_t>(1 + Below(LeastBytes(target) - 1));
        // A work request with elements may be that short.
        return has_window && (target != Target::kSend || one.bytes < LeastSendBytes());
      case Defect::kHuge: one.bytes = ~uint32_t{0} - static_cast<uint32_t>(Below(16)); return has_window;
      case Defect::kPastEnd: one.address = ~uint64_t{0} - Below(one.bytes - 1); return true;
      case Defect::kOutside: one.address = random_() >> Below(32); return has_window;
      case Defect::kIndirect: one.flags |= DescFlags::kIndirect; return true;
      case Defect::kDirection: one.flags ^= DescFlags::kWrite; return has_window;
      case Defect::kNext:
        one.flags |= DescFlags::kNext;
        if (!packed_) one.link = static_cast<uint16_t>(OneIn(2) ? place : Below(1 << 16));
        return is_work;
      case Defect::kRandom:
        one = {random_(), static_cast<uint32_t>(random_()), static_cast<uint16_t>(random_()),
               static_cast<uint16_t>(random_())};
        return false;
      case Defect::kBits: {
        std::array<uint8_t, spec::VirtqDesc::kBytes> bytes{};
        spec::VirtqDesc{.addr = one.address, .len = one.bytes, .flags = one.flags, .next = one.link}.Encode(
            bytes.data());
        FlipBits(bytes, 1 + Below(4));
        const auto raw = spec::VirtqDesc::Decode(bytes.data());
        one = {raw.addr, raw.len, raw.flags, raw.next};
        return false;
      }
      case Defect::kContent: Fill({arena_.at(attacked_)->data() + place * kSlotBytes, kSlotBytes}); return false;
      case Defect::kWorkRequest:
        // The bits with a meaning.
        FlipBits({arena_.at(attacked_)->data() + place * kSlotBytes, OneIn(2) ? size_t{48} : kSlotBytes}, 1 + Below(4));
        return false;
    }
    return false;
  }
  // Replaces entries of a ring from the device's current position. The control queue has been used, and its position
  // follows from the driver's own entries; the others' is 0. True: the device must report an error.
  bool Inject(Target target, const RawRing& ring, uint64_t count) {
    const bool is_work = target == Target::kSend || target == Target::kReceive;
    bool is_sure = false, is_hidden = false;
    const auto [position, free_flags] =
        target == Target::kControl ? NextPosition(ring) : RingPosition{0, packed_ ? DescFlags::kAvail : uint16_t{0}};
    std::string what = fmt::format("{} us, host {}, {}:", system_->scheduler().now() / kMicrosecond, attacked_,
                                   kTargetNames.at(static_cast<size_t>(target)));
    uint64_t jump = 0;
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t place = packed_ ? (position + i) % ring.size : i % ring.size;
      RawDescriptor one;
      if (is_work || target == Target::kControl) {
        one = {arena_.at(attacked_)->address() + i * kSlotBytes, kSlotBytes, free_flags, static_cast<uint16_t>(place)};
        if (is_work) MakeWorkRequest(target, i);
      } else {
        one = GetDescriptor(ring, place);
      }
      const Defect defect = ChooseDefect(target);
      const bool is_first = i == 0;
      const bool fault = Corrupt(one, defect, target, i);
      PutDescriptor(ring, place, one);
      uint64_t head = place;
      if (!packed_ && defect == Defect::kHead) head = ring.size + Below((1 << 16) - ring.size);
      if (!packed_) Put16(AvailableEntry(ring, position + i), head);
      if (!packed_ && defect == Defect::kIndex) jump = ring.size + 1 + Below((1 << 15) - kMaxPerInjection);
      const bool is_bad = fault || (!packed_ && (defect == Defect::kHead || defect == Defect::kIndex));
      // The device reads all of a send queue, of others perhaps only the first. It may not read entries after one that
      // is not available, or in a chain.
      if (is_bad && !is_hidden && (is_first || target == Target::kSend)) is_sure = true;
      if (packed_ && (defect == Defect::kIndex || defect == Defect::kRandom || defect == Defect::kBits))
        is_hidden = true;
      if (!packed_ && (defect == Defect::kRandom || defect == Defect::kBits)) is_hidden = true;
      what += fmt::format(" {}", kDefectNames.at(static_cast<size_t>(defect)));
      ++defects_[kDefectNames.at(static_cast<size_t>(defect))];
      injected_.push_back(one);
    }
    if (!packed_) {
      const bool is_filled = target == Target::kCompletion || target == Target::kEvents;
      uint8_t* idx = ring.available + spec::VirtqAvail::kIdxOffset;
      if (!is_filled || jump != 0) Put16(idx, (is_filled ? Get16(idx) : position + count) + jump);
    }
    recent_.push_back(what);
    if (recent_.size() > 12) recent_.pop_front();
    injected_count_ += count;
    by_target_.at(static_cast<size_t>(target)) += count;
    return is_sure;
  }

  // --- One round

  void MakeBad() {
    std::string error;
    ConnectedPairOptions options{.memory_bytes = 4096, .cqe = kEntries, .interrupts = false};
    options.qp = {.max_send_wr = kEntries, .max_recv_wr = kEntries, .push = false};
    options.connection.timeout = 5;
    options.connection.retry_cnt = 1;
    options.connection.rnr_retry = 1;
    options.connection.min_rnr_timer = 1;
    bad_ = MakeConnectedPair(system_->host(0), system_->host(1), options, &error);
    ASSERT_NE(bad_, nullptr) << error << "\n" << Recent();
  }
  // The driver's own errors on its queue are ignored.
  void PostBad(size_t from, spec::IbWrOpcode opcode) {
    auto& near = bad_->side.at(from);
    auto& far = bad_->side.at(1 - from);
    const spec::RdmaSge sge = near.region->Sge(0, 256);
    (void)near.qp->PostSend({.wr_id = ++next_wr_id_,
                             .opcode = opcode,
                             .sg_list = std::span(&sge, 1),
                             .remote_addr = far.region->address() + 1024,
                             .rkey = far.region->rkey()});
  }
  Events TakeEvents(size_t host, bool may_lose) {
    Events events;
    for (;;) {
      const auto event = system_->host(host).device().PollEvent();
      if (!event.ok()) {
        EXPECT_TRUE(may_lose) << host::ToString(event.error()) << "\n" << Recent();
        return events;
      }
      if (!event->has_value()) return events;
      EXPECT_NE((*event)->kind, host::DeviceEvent::Kind::kNeedsReset) << Recent();
      if ((*event)->kind != host::DeviceEvent::Kind::kRdma) continue;
      const spec::RdmaEvent& rdma = (*event)->rdma;
      EXPECT_TRUE(rdma.lost == 0 || may_lose) << "host " << host << " lost " << rdma.lost << " events\n" << Recent();
      events[{rdma.event_type, rdma.element}].push_back(rdma.code);
      ++events_;
    }
  }
  // Events may concern only the victims, each with a valid code.
  void ExpectVictims(size_t host, const Events& events) {
    const auto& side = bad_->side.at(host);
    for (const auto& [what, codes] : events) {
      const auto [type, element] = what;
      bool is_victim = false;
      switch (type) {
        case Event::kVqErr:
          is_victim = element == net(host).SendQueueIndex(side.qp->qpn()).value() ||
                      element == net(host).ReceiveQueueIndex(side.qp->qpn()).value() ||
                      element == net(host).CompletionQueueIndex(side.cq->cqn()).value() ||
                      (host == attacked_ && target_ == Target::kControl && element == ControlQueueIndex(host)) ||
                      (host == attacked_ && target_ == Target::kEvents && element == EventQueueIndex(host));
          for (const uint32_t code : codes) {
            const auto error = static_cast<spec::RdmaError>(code);
            EXPECT_TRUE(error == spec::RdmaError::kBadDescriptor || error == spec::RdmaError::kWindowViolation ||
                        error == spec::RdmaError::kBadWqe || error == spec::RdmaError::kQueueDmaError)
                << "code " << code << "\n"
                << Recent();
            ++refused_;
          }
          break;
        case Event::kCqErr: is_victim = element == side.cq->cqn(); break;
        case Event::kQpFatal:
        case Event::kQpReqErr:
        case Event::kQpAccessErr:
        case Event::kCommEst: is_victim = element == side.qp->qpn(); break;
        default: break;
      }
      const char* name = spec::ToString(type);
      EXPECT_TRUE(is_victim) << "host " << host << ": " << (name == nullptr ? "?" : name) << " of " << element << "\n"
                             << Recent();
    }
  }
  // An unmapped DMA must be to an address in a descriptor of the unconfined queue.
  void ExpectOnlyWildDma() {
    for (size_t host = 0; host < 2; ++host) {
      for (const HostMemory::Violation& violation : memory(host).violations()) {
        const bool is_in_descriptor = host == attacked_ && target_ == Target::kControl &&
                                      std::ranges::any_of(injected_, [&](const RawDescriptor& one) {
                                        return violation.address - one.address < one.bytes;
                                      });
        EXPECT_TRUE(is_in_descriptor) << fmt::format("host {}: DMA of {} bytes at {:#x}\n", host, violation.bytes,
                                                     violation.address)
                                      << Recent();
        outside_ += is_in_descriptor;
      }
      memory(host).ClearViolations();
    }
  }

  bool NeedsReset() { return (net(attacked_).pci().ReadStatus() & spec::VirtioDeviceStatus::kDeviceNeedsReset) != 0; }
  // Firmware is unobservable between two of its register accesses: give it time.
  void ExpectQuiet() {
    for (int i = 0; i < 2; ++i) {
      ASSERT_TRUE(system_->topology().RunUntilQuiet(system_->scheduler().now() + kSecond)) << "not quiet\n" << Recent();
      if (i == 0) system_->topology().RunFor(kFirmwareTime);
    }
  }

  void ResetAttacked() {
    const verbs::Status reset = net(attacked_).pci().Reset(kTimeoutNs);
    ASSERT_TRUE(reset.ok()) << host::ToString(reset.error()) << "\n" << Recent();
    bad_.reset();
    good_.reset();
    system_->host(attacked_).Close();
    ASSERT_EQ(system_->host(attacked_).Open(), "") << Recent();
    ASSERT_NO_FATAL_FAILURE(MakeGood());
    for (size_t host = 0; host < 2; ++host) TakeEvents(host, true);  // of earlier rounds
    ++resets_;
  }

  void Round() {
    attacked_ = Below(2);
    target_ = OneIn(16) ? (OneIn(2) ? Target::kControl : Target::kEvents) : static_cast<Target>(Below(3));
    const bool ends_device = target_ == Target::kControl || target_ == Target::kEvents;
    const uint64_t count = 1 + Below(OneIn(2) ? 2 : kMaxPerInjection);
    injected_.clear();
    ASSERT_NO_FATAL_FAILURE(MakeBad());
    const auto& side = bad_->side.at(attacked_);
    const host::DmaMemory& arena = *arena_.at(attacked_);
    ASSERT_NO_FATAL_FAILURE(PostGood());

    uint16_t index = 0;
    switch (target_) {
      case Target::kSend: index = net(attacked_).SendQueueIndex(side.qp->qpn()).value(); break;
      case Target::kReceive: index = net(attacked_).ReceiveQueueIndex(side.qp->qpn()).value(); break;
      case Target::kCompletion: index = net(attacked_).CompletionQueueIndex(side.cq->cqn()).value(); break;
      case Target::kEvents: index = EventQueueIndex(attacked_); break;
      case Target::kControl: index = ControlQueueIndex(attacked_); break;
    }
    const auto ring = RingOf(attacked_, index);
    ASSERT_TRUE(ring.has_value()) << Recent();
    if (target_ == Target::kSend || target_ == Target::kReceive) {
      ASSERT_NO_FATAL_FAILURE(Bound(SetWindow(system_->host(attacked_), index, arena.address(), arena.size())));
    } else if (target_ != Target::kControl) {
      ASSERT_NO_FATAL_FAILURE(Bound(SetWindowAroundBuffers(system_->host(attacked_), *ring)));
    } else {
      std::fill_n(arena.data(), arena.size(), kNoClass);
    }
    const bool is_sure = Inject(target_, *ring, std::min<uint64_t>(count, ring->size));
    // A chain may lead to descriptors that the driver left in the ring.
    for (size_t i = 0; target_ == Target::kControl && i < ring->size; ++i) injected_.push_back(GetDescriptor(*ring, i));
    switch (target_) {
      case Target::kSend: RingDoorbell(attacked_, index); break;
      case Target::kReceive:
        if (OneIn(2)) RingDoorbell(attacked_, index);
        for (uint64_t sends = 1 + Below(3); sends != 0; --sends) PostBad(1 - attacked_, spec::IbWrOpcode::kSend);
        break;
      case Target::kCompletion:
        for (uint64_t writes = 1 + Below(4); writes != 0; --writes) PostBad(attacked_, spec::IbWrOpcode::kRdmaWrite);
        break;
      case Target::kEvents: {
        // Expected events.
        const auto send = RingOf(attacked_, net(attacked_).SendQueueIndex(side.qp->qpn()).value());
        ASSERT_TRUE(send.has_value());
        PutDescriptor(*send, 0, {arena.address(), 0, static_cast<uint16_t>(packed_ ? DescFlags::kAvail : 0), 0});
        if (!packed_) PutAvailableIndex(*send, 1);
        RingDoorbell(attacked_, send->index);
        break;
      }
      case Target::kControl: RingDoorbell(attacked_, index); break;
    }

    // No hang, and no queue stops the device, not even the control queue (decision 0003).
    ASSERT_NO_FATAL_FAILURE(ExpectQuiet());
    ASSERT_FALSE(NeedsReset()) << Recent();
    ASSERT_FALSE(system_->is_mismatched()) << Recent();
    // The unaffected pair: outstanding messages and one more.
    ASSERT_NO_FATAL_FAILURE(ExpectGood());
    ASSERT_NO_FATAL_FAILURE(PostGood());
    ASSERT_NO_FATAL_FAILURE(ExpectGood());
    ASSERT_NO_FATAL_FAILURE(ExpectQuiet());
    ASSERT_NO_FATAL_FAILURE(CompareGood());
    ExpectOnlyWildDma();

    // Reported events.
    const Events events = TakeEvents(attacked_, target_ == Target::kEvents);
    const Events others = TakeEvents(1 - attacked_, false);
    // The driver may read unwritten entries of a broken event ring.
    if (target_ != Target::kEvents) ExpectVictims(attacked_, events);
    ExpectVictims(1 - attacked_, others);
    broken_controls_ += events.contains({Event::kVqErr, ControlQueueIndex(attacked_)});
    if (is_sure && (target_ == Target::kSend || target_ == Target::kReceive)) {
      EXPECT_TRUE(events.contains({Event::kVqErr, index})) << "no event of queue " << index << "\n" << Recent();
      EXPECT_TRUE(events.contains({Event::kQpFatal, side.qp->qpn()})) << Recent();
      const auto attributes = side.qp->Query();
      ASSERT_TRUE(attributes.ok()) << Recent();
      EXPECT_EQ(attributes->qp_state, spec::IbQpState::kErr) << Recent();
      ++sure_;
    } else if (is_sure && target_ == Target::kCompletion) {
      EXPECT_TRUE(events.contains({Event::kCqErr, side.cq->cqn()}) || events.contains({Event::kVqErr, index}))
          << "no event of CQ " << side.cq->cqn() << "\n"
          << Recent();
      ++sure_;
    }
    for (auto& one : bad_->side) {
      std::array<spec::RdmaCqReq, 2 * kEntries> completions;
      const auto polled = one.cq->Poll(completions);
      if (!polled.ok()) continue;                              // the driver detects a broken ring, too
      const bool is_corrupt = target_ == Target::kCompletion;  // it may hold anything
      for (size_t k = 0; k < *polled && !is_corrupt; ++k) {
        EXPECT_NE(spec::ToString(completions.at(k).status), nullptr) << Recent();
        ++completions_;
      }
    }

    // Everything recovers.
    if (ends_device || OneIn(64)) {
      ASSERT_NO_FATAL_FAILURE(ResetAttacked());
    }
    bad_.reset();
    ASSERT_EQ(system_->Violations(), "") << Recent();
    ++rounds_;
  }

  bool packed_ = false;
  uint64_t wanted_ = kDefaultDescriptors;
  std::mt19937_64 random_;
  std::unique_ptr<RdmaSystem> system_;
  std::array<host::DmaBuffer, 2> arena_;  // where the victims' descriptors may point
  std::unique_ptr<ConnectedPair> good_, bad_;
  std::array<std::vector<uint8_t>, 2> expected_;
  std::array<std::deque<uint64_t>, 2> outstanding_;
  size_t attacked_ = 0;  // host
  Target target_ = Target::kSend;
  std::vector<RawDescriptor> injected_;  // of this round
  std::deque<std::string> recent_;
  std::map<std::string, uint64_t> defects_;
  std::array<uint64_t, kTargetNames.size()> by_target_{};
  uint64_t next_wr_id_ = 0, injected_count_ = 0, rounds_ = 0, sure_ = 0, refused_ = 0, events_ = 0, completions_ = 0,
           resets_ = 0, broken_controls_ = 0, outside_ = 0, good_messages_ = 0;
};

TEST_P(Descriptors, MalformedDescriptorsStopOnlyTheirQueue) {
  const std::clock_t begin = std::clock();
  while (injected_count_ < wanted_) {
    ASSERT_NO_FATAL_FAILURE(Round());
    if (HasFailure()) return;
  }
  if (wanted_ >= 20 * kDefaultDescriptors) {
    EXPECT_GT(refused_, 0U);
    EXPECT_GT(sure_, 0U);
  }
  if (std::getenv("VIREO_DESCRIPTORS") == nullptr) return;
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  std::string targets, defects;
  for (size_t i = 0; i < kTargetNames.size(); ++i)
    targets += fmt::format(" {} {},", kTargetNames.at(i), by_target_.at(i));
  for (const auto& [name, times] : defects_) defects += fmt::format(" {} {},", name, times);
  fmt::print(
      "{} malformed descriptors in {} rounds survived, {:.1f} s of CPU:{}\n {}\n  {} queues stopped (vq_err), {} "
      "events, "
      "{} completions of victims, {} device resets, {} broken control queues, {} unmapped DMAs by that "
      "queue; {} valid writes intact\n",
      injected_count_, rounds_, seconds, targets, defects, refused_, events_, completions_, resets_, broken_controls_,
      outside_, good_messages_);
}

// Traffic goes on, and a reset brings the commands back.
class BrokenControlQueue : public Descriptors {};
TEST_P(BrokenControlQueue, StopsNothingElseUntilReset) {
  target_ = Target::kControl;
  for (attacked_ = 0; attacked_ < 2; ++attacked_) {
    for (int i = 0; i < 4; ++i) ASSERT_NO_FATAL_FAILURE(PostGood());
    const auto ring = RingOf(attacked_, ControlQueueIndex(attacked_));
    ASSERT_TRUE(ring.has_value());
    const auto [position, flags] = NextPosition(*ring);
    if (packed_) {
      PutDescriptor(*ring, position, {arena_.at(attacked_)->address(), 0, flags, 0});
    } else {
      PutAvailableIndex(*ring, position + ring->size + 1U);
    }
    RingDoorbell(attacked_, ring->index);
    system_->topology().RunFor(kFirmwareTime);
    EXPECT_FALSE(NeedsReset());
    const Events events = TakeEvents(attacked_, false);
    EXPECT_EQ(events.size(), 1U);
    EXPECT_TRUE(events.contains({Event::kVqErr, ring->index}));
    ASSERT_NO_FATAL_FAILURE(ExpectGood());
    ASSERT_NO_FATAL_FAILURE(PostGood());
    ASSERT_NO_FATAL_FAILURE(ResetAttacked());
    ASSERT_NO_FATAL_FAILURE(PostGood());
    ASSERT_NO_FATAL_FAILURE(ExpectGood());
  }
}

VIREO_ON_EVERY_DEVICE(Descriptors);
INSTANTIATE_TEST_SUITE_P(Devices, BrokenControlQueue,
                         testing::Combine(testing::Values("model", "rtl", "lockstep"), testing::Values(&spec::kNic1),
                                          testing::Bool()),
                         NameOfWithRing);

}  // namespace
}  // namespace vireo::sim
