// SPDX-License-Identifier: Apache-2.0
// Rings, descriptors, work requests and doorbells of a hostile program in the send, receive and completion queue of its
// own queue pair, while a background connection is active: see NicWorld. Each queue is confined to the program's
// memory, as by the service. No hang, no DMA outside that memory, no change of other memory, and all resources are
// freed with the queue pair. In lockstep, model and RTL must match in every cycle.
//
// Input: a byte, whose lowest bit selects packed rings; then steps: a byte Step and its operands. Addresses, keys and
// numbers chosen by host and NIC are filled in, so that inputs do not depend on them.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>

#include "sim/traffic/raw_queue.h"
#include "verif/fuzz/nic_world.h"
#include "verif/fuzz/target.h"

namespace vireo::sim {
namespace {

using DescFlags = spec::VirtqDescFlags;

// The kind of step is the byte modulo their number.
enum class Step : uint8_t {
  kDescriptor,  // queue, place, Place, offset (2), length (4), flags (2), link (2)
  kGood,        // queue, slot, a Request: makes a descriptor of a work request available
  kAvailable,   // split: queue, place, entry (2)
  kIndex,       // split: queue, what is added (2)
  kContent,     // slot, offset, length, bytes
  kDoorbell,    // queue, Doorbell, and for a wild one offset (2), width, value (8)
  kPeer,        // the far end posts: opcode, bytes (2)
  kTime,        // 0.1 us times the byte
  kCount,
};
enum class Place : uint8_t { kArena, kVault, kOthers, kRings, kEnd, kAnywhere, kCount };
// Deviations of a work request.
enum Request : uint8_t {
  kForeignLocal = 1,
  kForeignKey = 2,
  kForeignRemote = 4,
  kLong = 8,
  kOpcodes = 0x70,
  kTwoElements = 0x80,
};
enum Doorbell : uint8_t { kWild = 1, kArm = 2 };

constexpr size_t kMostSteps = 40;
constexpr size_t kSlots = 16, kSlotBytes = 1024, kArenaBytes = kSlots * kSlotBytes;
constexpr uint32_t kEntries = 16;
constexpr Picoseconds kTimeout = 1'000'000 * NicWorld::kMicrosecond;

class Run {
 public:
  Run(NicWorld& world, InputReader input) : world_(world), input_(input) {}

  void Go() {
    ASSERT_NO_FATAL_FAILURE(MakeQueues());
    const HostMemory::Traffic before = world_.good_traffic(), posted = world_.posted();
    ASSERT_NO_FATAL_FAILURE(world_.PostGood());
    for (size_t i = 0; i < kMostSteps && !input_.is_empty(); ++i) {
      Do(static_cast<Step>(input_.Byte() % static_cast<unsigned>(Step::kCount)));
      ASSERT_FALSE(world_.system().is_mismatched());
    }
    ASSERT_NO_FATAL_FAILURE(world_.ExpectGood());
    // The background connection's memory was accessed only by that connection.
    const HostMemory::Traffic after = world_.good_traffic(), all = world_.posted();
    EXPECT_EQ(after.read_bytes - before.read_bytes, all.read_bytes - posted.read_bytes);
    EXPECT_EQ(after.written_bytes - before.written_bytes, all.written_bytes - posted.written_bytes);
    Topology& topology = world_.system().topology();
    ASSERT_TRUE(topology.RunUntilQuiet(world_.system().scheduler().now() + kTimeout)) << "not idle";
    ExpectStatuses();
    ASSERT_NO_FATAL_FAILURE(world_.PollVictims());
    // The queue pair must be destroyed with all its outstanding work: the next input checks it.
    queues_.clear();
    pair_.reset();
    ASSERT_TRUE(topology.RunUntilQuiet(world_.system().scheduler().now() + kTimeout)) << "not idle at the end";
    EXPECT_EQ(world_.system().Violations(), "");
  }

 private:
  struct Queue {
    RawRing ring;
    uint8_t bar = 0;
    uint64_t doorbell = 0;
    uint64_t position = 0;  // of the next valid entry
  };

  void MakeQueues() {
    std::string error;
    ConnectedPairOptions options{.memory_bytes = kArenaBytes, .cqe = kEntries, .interrupts = false};
    options.qp = {.max_send_wr = kEntries, .max_recv_wr = kEntries, .push = false};
    options.connection.timeout = 1;
    options.connection.retry_cnt = 1;
    options.connection.rnr_retry = 1;
    options.connection.min_rnr_timer = 1;
    RdmaHost& host = world_.attacked();
    pair_ = MakeConnectedPair(host, world_.system().host(1), options, &error);
    ASSERT_NE(pair_, nullptr) << error;
    const auto& side = near();
    const host::VirtioNetDevice& net = host.device().net();
    for (const uint16_t index :
         {net.SendQueueIndex(side.qp->qpn()).value(), net.ReceiveQueueIndex(side.qp->qpn()).value(),
          net.CompletionQueueIndex(side.cq->cqn()).value()}) {
      const auto ring = FindRing(host, index);
      ASSERT_TRUE(ring.has_value());
      const auto doorbell = host.device().net().pci().DoorbellOf(index);
      ASSERT_TRUE(doorbell.ok());
      const verbs::Status bounded = queues_.size() == 2
                                        ? SetWindowAroundBuffers(host, *ring)
                                        : SetWindow(host, index, side.memory->address(), side.memory->size());
      ASSERT_TRUE(bounded.ok()) << host::ToString(bounded.error());
      queues_.push_back({.ring = *ring, .bar = doorbell->bar(), .doorbell = doorbell->offset()});
    }
  }

  void Do(Step step) {
    switch (step) {
      case Step::kDescriptor: return AnyDescriptor();
      case Step::kGood: return GoodEntry();
      case Step::kAvailable: {
        const Queue& queue = NextQueue();
        const uint8_t place = input_.Byte();
        const uint16_t entry = input_.U16();
        if (!queue.ring.packed) Put16(AvailableEntry(queue.ring, place), entry);
        return;
      }
      case Step::kIndex: {
        Queue& queue = NextQueue();
        queue.position += input_.U16();
        Publish(queue);
        return;
      }
      case Step::kContent: {
        uint8_t* slot = Slot(input_.Byte());
        const size_t offset = input_.Byte();
        std::ranges::copy(input_.Take(input_.Byte()), slot + offset);
        return;
      }
      case Step::kDoorbell: return Ring();
      case Step::kPeer: return PostAtPeer();
      case Step::kTime:
      case Step::kCount: world_.system().topology().RunFor(input_.Byte() * NicWorld::kMicrosecond / 10);
    }
  }

  const ConnectedPair::Side& near() const { return pair_->side[0]; }
  const ConnectedPair::Side& far() const { return pair_->side[1]; }
  Queue& NextQueue() { return queues_[input_.Byte() % queues_.size()]; }
  uint8_t* Slot(size_t number) { return near().memory->data() + number % kSlots * kSlotBytes; }
  uint64_t AddressAt(Place place, uint64_t offset) {
    switch (place) {
      case Place::kVault: return world_.vault() + offset;
      case Place::kOthers: return world_.good_address() + offset;
      case Place::kRings: return queues_[offset % queues_.size()].ring.address + offset / 4;
      case Place::kEnd: return near().memory->address() + kArenaBytes - offset % 64;
      case Place::kAnywhere: return offset << 48 | input_.U32();
      default: return near().memory->address() + offset;
    }
  }

  void AnyDescriptor() {
    const Queue& queue = NextQueue();
    const size_t at = input_.Byte() % queue.ring.size;
    const auto place = static_cast<Place>(input_.Byte() % static_cast<unsigned>(Place::kCount));
    RawDescriptor one;
    one.address = AddressAt(place, input_.U16());
    one.bytes = input_.U32();
    one.flags = input_.U16();
    one.link = input_.U16();
    PutDescriptor(queue.ring, at, one);
  }
  // Of the send and receive queue; the completion queue is full of valid entries.
  void GoodEntry() {
    const size_t number = input_.Byte() % 2;
    Queue& queue = queues_[number];
    const size_t slot = input_.Byte() % kSlots;
    const uint8_t request = input_.Byte();
    MakeRequest(slot, request, number == 0);
    const size_t place = queue.position % queue.ring.size;
    const bool lap = queue.position / queue.ring.size % 2 != 0;
    RawDescriptor one{.address = near().memory->address() + slot * kSlotBytes, .bytes = kSlotBytes};
    if (queue.ring.packed) {
      one.flags = lap ? DescFlags::kUsed : DescFlags::kAvail;
      one.link = static_cast<uint16_t>(place);
    } else {
      Put16(AvailableEntry(queue.ring, queue.position), place);
    }
    PutDescriptor(queue.ring, place, one);
    ++queue.position;
    Publish(queue);
  }
  void MakeRequest(size_t slot, uint8_t request, bool is_send) {
    spec::RdmaSge sge = near().region->Sge(kArenaBytes / 2, (request & kLong) != 0 ? 5000 : 700);
    if ((request & kForeignLocal) != 0) sge.addr = world_.good_address();
    if ((request & kForeignKey) != 0) sge.lkey = world_.region().lkey();
    uint8_t* at = Slot(slot);
    if (!is_send) {
      spec::RdmaRqReq{.wr_id = slot, .num_sge = 1}.Encode(at);
      sge.Encode(at + spec::RdmaRqReq::kBytes);
      return;
    }
    const bool is_foreign = (request & kForeignRemote) != 0;
    EncodeWrite(at, slot, sge, is_foreign ? world_.good_address() : far().region->address(),
                is_foreign ? world_.region().rkey() : far().region->rkey());
    at[spec::RdmaSqReq::kOpcodeOffset] = static_cast<uint8_t>((request & kOpcodes) >> 4);
    if ((request & kTwoElements) != 0) {
      spec::RdmaSqReqNumSge{.num_sge = 2}.Encode(at + spec::RdmaSqReq::kSizeOffset);
      near().region->Sge(0, 33).Encode(at + spec::RdmaSqReq::kBytes + spec::RdmaSge::kBytes);
    }
  }
  static void Publish(const Queue& queue) {
    if (!queue.ring.packed) Put16(queue.ring.available + spec::VirtqAvail::kIdxOffset, queue.position);
  }
  // Only its doorbell page is accessible.
  void Ring() {
    const Queue& queue = NextQueue();
    const uint8_t kind = input_.Byte();
    uint64_t offset = queue.doorbell, value = queue.ring.index;
    unsigned bytes = DoorbellBytes(world_.attacked());
    if ((kind & kArm) != 0) {
      offset += spec::kRdmaCqArmOffset;
      bytes = spec::RdmaCqArm::kBytes;
      value = input_.U32();
    } else if ((kind & kWild) != 0) {
      const uint16_t at = input_.U16();
      bytes = 1U << input_.Byte() % 4;
      offset += at % spec::kNotifyOffMultiplier / bytes * bytes;
      value = input_.U64();
    }
    world_.attacked().function().WriteBar(queue.bar, offset, bytes, value);
  }
  void PostAtPeer() {
    const auto opcode = static_cast<spec::IbWrOpcode>(input_.Byte() % 5);
    const uint32_t bytes = input_.U16() % 3000;
    const spec::RdmaSge sge = far().region->Sge(0, bytes);
    // May be full, or in ERR.
    static_cast<void>(far().qp->PostSend({.wr_id = 3,
                                          .opcode = opcode,
                                          .sg_list = std::span(&sge, 1),
                                          .remote_addr = near().region->address() + kArenaBytes / 2,
                                          .rkey = near().region->rkey()}));
  }
  // The far end's completions must be valid; the near end's ring may be corrupted by the attack.
  void ExpectStatuses() {
    std::array<spec::RdmaCqReq, kEntries> completions;
    const auto polled = far().cq->Poll(completions);
    ASSERT_TRUE(polled.ok()) << host::ToString(polled.error());
    for (size_t i = 0; i < *polled; ++i) EXPECT_NE(spec::ToString(completions.at(i).status), nullptr);
  }

  NicWorld& world_;
  InputReader input_;
  std::unique_ptr<ConnectedPair> pair_;
  std::vector<Queue> queues_;  // send, receive, completion
};

void AddStep(Bytes& seed, Step step, std::initializer_list<uint8_t> more) {
  seed.push_back(static_cast<uint8_t>(step));
  seed.insert(seed.end(), more.begin(), more.end());
}
void AddDescriptor(Bytes& seed, uint8_t queue, uint8_t at, Place place, uint16_t offset, uint32_t length,
                   uint16_t flags, uint16_t link) {
  AddStep(seed, Step::kDescriptor, {queue, at, static_cast<uint8_t>(place)});
  Put(seed, offset, 2);
  if (place == Place::kAnywhere) Put(seed, 0x1234, 4);
  Put(seed, length, 4);
  Put(seed, flags, 2);
  Put(seed, link, 2);
}

}  // namespace

std::vector<Bytes> Seeds() {
  std::vector<Bytes> seeds;
  for (const uint8_t packed : std::initializer_list<uint8_t>{0, 1}) {
    const auto begin = [&]() -> Bytes& { return seeds.emplace_back(Bytes{packed}); };
    // Valid traffic: every operation, receives, arms.
    Bytes& good = begin();
    for (const uint8_t opcode : std::initializer_list<uint8_t>{0, 1, 4, 0x80}) {
      AddStep(good, Step::kGood, {0, opcode, static_cast<uint8_t>(opcode < 8 ? opcode << 4 : opcode)});
    }
    for (const uint8_t slot : std::initializer_list<uint8_t>{8, 9}) AddStep(good, Step::kGood, {1, slot, 0});
    AddStep(good, Step::kDoorbell, {0, 0});
    AddStep(good, Step::kDoorbell, {1, 0});
    AddStep(good, Step::kDoorbell, {2, kArm, 1, 0, 0, 0});
    AddStep(good, Step::kPeer, {2, 100, 0});
    AddStep(good, Step::kTime, {100});
    AddStep(good, Step::kPeer, {0, 100, 0});
    // Work requests that fail, locally and at the peer.
    for (const uint8_t wrong : std::initializer_list<uint8_t>{kForeignLocal, kForeignKey, kForeignRemote, kLong, 0x70,
                                                              kForeignLocal | 0x40}) {
      Bytes& bad = begin();
      AddStep(bad, Step::kGood, {0, 0, wrong});
      AddStep(bad, Step::kGood, {0, 1, 0});
      AddStep(bad, Step::kDoorbell, {0, 0});
      AddStep(bad, Step::kTime, {80});
      AddStep(bad, Step::kGood, {0, 2, wrong});
      AddStep(bad, Step::kDoorbell, {0, 0});
    }
    // Descriptors to every place.
    for (uint8_t place = 0; place < static_cast<uint8_t>(Place::kCount); ++place) {
      Bytes& wild = begin();
      for (const uint8_t queue : std::initializer_list<uint8_t>{0, 1, 2}) {
        AddDescriptor(wild, queue, 0, static_cast<Place>(place), 48, 700, packed != 0 ? DescFlags::kAvail : 0, 0);
        AddStep(wild, Step::kAvailable, {queue, 0, 0, 0});
        if (queue != 2) AddStep(wild, Step::kIndex, {queue, 1, 0});
        AddStep(wild, Step::kDoorbell, {queue, 0});
      }
      AddStep(wild, Step::kPeer, {2, 64, 0});
      AddStep(wild, Step::kPeer, {1, 64, 0});
    }
    Bytes& chains = begin();
    AddDescriptor(chains, 0, 0, Place::kArena, 0, 576, DescFlags::kNext | DescFlags::kAvail, 0);
    AddDescriptor(chains, 0, 1, Place::kArena, 64, 32, DescFlags::kIndirect | DescFlags::kAvail, 1);
    AddDescriptor(chains, 1, 0, Place::kArena, 64, 16, DescFlags::kIndirect | DescFlags::kAvail, 1);
    AddStep(chains, Step::kContent, {0, 64, 16, 0, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0, 4, 0, 0, 0});
    AddStep(chains, Step::kIndex, {0, 2, 0});
    AddStep(chains, Step::kIndex, {1, 1, 0});
    for (const uint8_t queue : std::initializer_list<uint8_t>{0, 1}) AddStep(chains, Step::kDoorbell, {queue, 0});
    AddStep(chains, Step::kPeer, {2, 64, 0});
    Bytes& numbers = begin();
    AddStep(numbers, Step::kAvailable, {0, 0, 0xff, 0xff});
    AddStep(numbers, Step::kIndex, {0, 0, 0x80});
    AddStep(numbers, Step::kIndex, {1, 17, 0});
    AddStep(numbers, Step::kDoorbell, {0, kWild, 0, 0, 3, 1, 2, 3, 4, 5, 6, 7, 8});
    AddStep(numbers, Step::kDoorbell, {1, kWild, 9, 1, 2, 1, 2, 3, 4, 5, 6, 7, 8});
    AddStep(numbers, Step::kDoorbell, {2, kArm, 0xff, 0xff, 0xff, 0xff});
    AddStep(numbers, Step::kDoorbell, {0, 0});
    AddStep(numbers, Step::kDoorbell, {1, 0});
    AddStep(numbers, Step::kPeer, {0, 10, 0});
  }
  return seeds;
}

}  // namespace vireo::sim

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace vireo::sim;  // NOLINT(google-build-using-namespace)
  InputReader input({data, size});
  NicWorld& world = NicWorld::Next((input.Byte() & 1) != 0);
  if (testing::Test::HasFatalFailure()) return 0;
  Run(world, input).Go();
  return 0;
}
