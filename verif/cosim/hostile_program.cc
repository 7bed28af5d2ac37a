// SPDX-License-Identifier: Apache-2.0
#include "verif/cosim/hostile_program.h"

#include <algorithm>
#include <utility>

#include "sim/common/random.h"

namespace vireo::sim {
namespace {

using DescFlags = spec::VirtqDescFlags;

}  // namespace

HostileProgram::HostileProgram(Attack attack, OthersThings others, std::mt19937_64 random)
    : attack_(attack), others_(std::move(others)), random_(random) {}

uint64_t HostileProgram::Below(uint64_t bound) { return UniformBelow(random_, bound); }

void HostileProgram::Step(Own& own, host::PciFunction& function) {
  const Attack attack = attack_ == Attack::kEverything ? static_cast<Attack>(Below(5)) : attack_;
  const bool any_queue = attack == Attack::kDoorbells || attack == Attack::kDescriptors;
  Queue& queue = own.queues.at(any_queue ? Below(own.queues.size()) : 0);
  if (attack != Attack::kDoorbells) Scribble(own, queue, attack);
  Ring(queue, any_queue, function);
}

void HostileProgram::Scribble(Own& own, Queue& queue, Attack attack) {
  if (queue.is_completion) {  // it is full: replaces in place
    PutDescriptor(queue.ring, Below(queue.ring.size), AnyDescriptor(own, Below(kSlots)));
    ++counts_.entries;
    return;
  }
  uint64_t count = 1 + Below(8);
  if (attack != Attack::kDescriptors && !queue.ring.packed) {
    // More entries than the ring holds would stop the queue; refused work continues without end.
    const auto used = Get16(queue.ring.used + spec::VirtqUsed::kIdxOffset);
    const uint64_t taken = static_cast<uint16_t>(queue.position - used);
    count = std::min(count, queue.ring.size - std::min<uint64_t>(taken, queue.ring.size));
  }
  for (uint64_t i = 0; i < count; ++i) {
    const size_t place = (queue.position + i) % queue.ring.size;
    const size_t slot = place % kSlots;
    const bool lap = ((queue.position + i) / queue.ring.size) % 2 != 0;
    RawDescriptor one{own.address + slot * kSlotBytes, kSlotBytes,
                      static_cast<uint16_t>(!queue.ring.packed ? 0
                                            : lap              ? DescFlags::kUsed
                                                               : DescFlags::kAvail),
                      static_cast<uint16_t>(queue.ring.packed ? place : 0)};
    if (attack == Attack::kDescriptors && OneIn(2)) one = AnyDescriptor(own, slot);
    PutDescriptor(queue.ring, place, one);
    if (!queue.ring.packed) {
      Put16(AvailableEntry(queue.ring, queue.position + i),
            attack == Attack::kDescriptors && OneIn(8) ? Below(1 << 16) : place);
    }
    MakeRequest(own, slot, attack);
  }
  const bool jumps = attack == Attack::kDescriptors && OneIn(16);
  queue.position += jumps ? Below(1 << 16) : count;
  // Packed rings: in the descriptors.
  if (!queue.ring.packed) Put16(queue.ring.available + spec::VirtqAvail::kIdxOffset, queue.position);
  counts_.entries += count;
}

RawDescriptor HostileProgram::AnyDescriptor(const Own& own, size_t slot) {
  RawDescriptor one{own.address + slot * kSlotBytes, kSlotBytes, 0, static_cast<uint16_t>(slot)};
  if (OneIn(2)) one.address = OneIn(4) ? random_() : OneOf(others_.addresses) + Below(1 << 16);
  if (OneIn(4)) one.bytes = static_cast<uint32_t>(random_() >> Below(32));
  one.flags = static_cast<uint16_t>(OneIn(4) ? random_() : OneIn(2) ? DescFlags::kAvail : DescFlags::kUsed);
  if (OneIn(4)) one.link = static_cast<uint16_t>(random_());
  return one;
}

void HostileProgram::MakeRequest(const Own& own, size_t slot, Attack attack) {
  const bool is_foreign = attack == Attack::kForeignPeers;
  uint8_t* at = own.memory.data() + slot * kSlotBytes;
  spec::RdmaSge sge = own.region;
  if (attack == Attack::kSends) {
    sge.length = 64;
    EncodeWrite(at, slot, sge, 0, 0);
    at[spec::RdmaSqReq::kOpcodeOffset] = static_cast<uint8_t>(spec::IbWrOpcode::kSend);
    return;
  }
  sge.length = static_cast<uint32_t>(1 + Below(kMemoryBytes));
  uint64_t address = own.remote_address;
  uint32_t key = own.remote_key;
  if (is_foreign) {
    if (OneIn(2)) address = OneIn(2) ? OneOf(others_.addresses) : random_();
    key = OneIn(4) ? static_cast<uint32_t>(random_()) : OneOf(others_.keys);
  } else {
    if (OneIn(2)) sge.lkey = OneOf(others_.keys);
    if (OneIn(2)) sge.addr = OneIn(2) ? OneOf(others_.addresses) : random_();
    if (OneIn(4)) sge.length = static_cast<uint32_t>(random_());
    // At least one must be invalid.
    if (sge.lkey == own.region.lkey && sge.addr == own.region.addr) sge.addr -= 1 + Below(1 << 20);
  }
  EncodeWrite(at, slot, sge, address, key);
  if (is_foreign && OneIn(4)) at[spec::RdmaSqReq::kOpcodeOffset] = static_cast<uint8_t>(spec::IbWrOpcode::kRdmaRead);
  if (is_foreign) return;
  if (OneIn(4)) {
    for (size_t i = 0; i < kSlotBytes; ++i) at[i] = static_cast<uint8_t>(random_() >> 32);
  } else if (OneIn(2)) {
    for (uint64_t flips = 1 + Below(4); flips != 0; --flips) {
      const uint64_t bit = Below(8 * 64);
      at[bit / 8] = static_cast<uint8_t>(at[bit / 8] ^ 1U << bit % 8);
    }
  }
}

// `is_wild`: any address and width in the queue's page. The page is all that it can access.
void HostileProgram::Ring(const Queue& queue, bool is_wild, host::PciFunction& function) {
  uint64_t offset = queue.doorbell;
  unsigned bytes = queue.doorbell_bytes;
  uint64_t value = queue.ring.index | Below(1 << 16) << 16;  // an untrusted position
  if (is_wild && OneIn(4)) {
    bytes = 1U << Below(4);
    offset += Below(spec::kNotifyOffMultiplier / 8) * 8;
    value = random_();
  }
  if (queue.is_completion && OneIn(2)) {
    offset = queue.doorbell + spec::kRdmaCqArmOffset;
    bytes = spec::RdmaCqArm::kBytes;
    value = random_();
  }
  function.WriteBar(queue.bar, offset, bytes, value);
  ++counts_.doorbells;
}

}  // namespace vireo::sim
