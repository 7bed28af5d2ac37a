// SPDX-License-Identifier: Apache-2.0
#include "verif/host/driver/mock_ring.h"

#include <cstring>

namespace vireo::sim {
namespace {

using spec::PvirtqDesc;
using spec::PvirtqEventSuppress;
using spec::RingEventFlags;
using spec::VirtqAvail;
using spec::VirtqDesc;
using spec::VirtqUsed;
using spec::VirtqUsedElem;
using Flags = spec::VirtqDescFlags;

// --- Split -----------------------------------------------------------------------------------------------------------

class MockSplitRing final : public MockRing {
 public:
  using MockRing::MockRing;

  std::optional<MockChain> Fetch() override {
    const uint64_t end = AvailableEnd();
    if (end - fetched_ > setup_.size) {
      Violation("available index runs ahead by " + std::to_string(end - fetched_));
      return std::nullopt;
    }
    if (end == fetched_) return std::nullopt;
    const uint16_t head = Load16(setup_.driver + VirtqAvail::kBytes + sizeof(uint16_t) * (fetched_ % setup_.size));
    ++fetched_;
    MockChain chain;
    chain.id = head;
    bool indirect = false;
    for (uint16_t at = head;;) {
      if (at >= setup_.size) {
        Violation("descriptor index " + std::to_string(at));
        return std::nullopt;
      }
      if (!in_use_.insert(at).second) {
        Violation("descriptor " + std::to_string(at) + " is in two chains");
        return std::nullopt;
      }
      chain_of_[at] = head;
      ++chain.descriptors;
      const VirtqDesc descriptor =
          VirtqDesc::Decode(memory_.At(setup_.descriptors + at * VirtqDesc::kBytes, VirtqDesc::kBytes));
      if ((descriptor.flags & Flags::kIndirect) != 0) {
        if ((descriptor.flags & (Flags::kNext | Flags::kWrite)) != 0 || chain.descriptors != 1)
          Violation("flags with indirect");
        indirect = true;
        ReadTable(descriptor, chain);
        break;
      }
      chain.segments.push_back({descriptor.addr, descriptor.len, (descriptor.flags & Flags::kWrite) != 0});
      if ((descriptor.flags & Flags::kNext) == 0) break;
      at = descriptor.next;
    }
    if (indirect && !setup_.indirect) Violation("indirect table without the feature");
    CheckSegments(chain.segments);
    return chain;
  }

  uint64_t AvailableEnd() override {
    const uint16_t index = Load16(setup_.driver + VirtqAvail::kIdxOffset);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return fetched_ + static_cast<uint16_t>(index - static_cast<uint16_t>(fetched_));
  }

  void Use(const MockChain& chain, uint32_t written) override {
    for (auto it = in_use_.begin(); it != in_use_.end();) {
      it = chain_of_[*it] == chain.id ? in_use_.erase(it) : std::next(it);
    }
    Write(chain.id, written);
  }

  bool PublishUsed() override {
    __atomic_thread_fence(__ATOMIC_RELEASE);
    Store16(setup_.device + VirtqUsed::kIdxOffset, static_cast<uint16_t>(used_));
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    bool wanted = false;
    if (setup_.event_idx) {
      if (Load16(setup_.driver + VirtqAvail::kFlagsOffset) != 0) Violation("avail.flags is not 0 with event_idx");
      const uint16_t event = Load16(setup_.driver + VirtqAvail::kBytes + sizeof(uint16_t) * uint64_t{setup_.size});
      for (uint64_t entry = published_; entry < used_; ++entry) wanted |= static_cast<uint16_t>(entry) == event;
    } else if (published_ < used_) {
      wanted = (Load16(setup_.driver + VirtqAvail::kFlagsOffset) & spec::VirtqAvailFlags::kNoInterrupt) == 0;
    }
    published_ = used_;
    return wanted;
  }

  void DisableDoorbell() override {
    if (setup_.event_idx) {
      EnableDoorbellAt(fetched_ + 65535);
    } else {
      Store16(setup_.device + VirtqUsed::kFlagsOffset, spec::VirtqUsedFlags::kNoNotify);
    }
  }

  void EnableDoorbell() override {
    if (setup_.event_idx) {
      EnableDoorbellAt(fetched_);
    } else {
      Store16(setup_.device + VirtqUsed::kFlagsOffset, 0);
      __atomic_thread_fence(__ATOMIC_SEQ_CST);
    }
  }

  void EnableDoorbellAt(uint64_t at) override {
    Store16(setup_.device + VirtqUsed::kBytes + VirtqUsedElem::kBytes * uint64_t{setup_.size},
            static_cast<uint16_t>(at));
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
  }

  void UseRaw(uint32_t id, uint32_t written, uint16_t entries) override {
    Write(id, written);
    used_ += entries - 1U;
    PublishUsed();
  }

 private:
  void ReadTable(const VirtqDesc& table, MockChain& chain) {
    if (table.len == 0 || table.len % VirtqDesc::kBytes != 0) {
      Violation("indirect table of " + std::to_string(table.len) + " bytes");
      return;
    }
    const uint8_t* bytes = memory_.At(table.addr, table.len);
    if (bytes == nullptr) {
      Violation("indirect table outside DMA memory");
      return;
    }
    const uint32_t entries = table.len / static_cast<uint32_t>(VirtqDesc::kBytes);
    uint32_t at = 0;
    for (uint32_t count = 0; count < entries; ++count) {
      const VirtqDesc descriptor = VirtqDesc::Decode(bytes + at * VirtqDesc::kBytes);
      if ((descriptor.flags & Flags::kIndirect) != 0) Violation("indirect inside a table");
      chain.segments.push_back({descriptor.addr, descriptor.len, (descriptor.flags & Flags::kWrite) != 0});
      if ((descriptor.flags & Flags::kNext) == 0) {
        if (count + 1 != entries) Violation("table longer than its chain");
        return;
      }
      if (descriptor.next >= entries) {
        Violation("next outside the table");
        return;
      }
      at = descriptor.next;
    }
    Violation("endless indirect table");
  }

  void Write(uint32_t id, uint32_t written) {
    const uint64_t at = setup_.device + VirtqUsed::kBytes + VirtqUsedElem::kBytes * (used_ % setup_.size);
    VirtqUsedElem{.id = id, .len = written}.Encode(memory_.At(at, VirtqUsedElem::kBytes));
    ++used_;
  }

  uint64_t used_ = 0;
  uint64_t published_ = 0;
  std::set<uint16_t> in_use_;
  std::map<uint16_t, uint16_t> chain_of_;
};

// --- Packed ----------------------------------------------------------------------------------------------------------

class MockPackedRing final : public MockRing {
 public:
  using MockRing::MockRing;

  std::optional<MockChain> Fetch() override {
    if (!IsAvailable(fetched_)) return std::nullopt;
    MockChain chain;
    for (;; ++fetched_) {
      if (!IsAvailable(fetched_)) {
        Violation("a chain runs into a descriptor that is not available");
        return std::nullopt;
      }
      const PvirtqDesc descriptor = Read(fetched_);
      if (++chain.descriptors > setup_.size) {
        Violation("a chain longer than the ring");
        return std::nullopt;
      }
      if ((descriptor.flags & Flags::kIndirect) != 0) {
        if ((descriptor.flags & (Flags::kNext | Flags::kWrite)) != 0 || chain.descriptors != 1)
          Violation("flags with indirect");
        if (!setup_.indirect) Violation("indirect table without the feature");
        ReadTable(descriptor, chain);
      } else {
        chain.segments.push_back({descriptor.addr, descriptor.len, (descriptor.flags & Flags::kWrite) != 0});
      }
      chain.id = descriptor.id;
      if ((descriptor.flags & Flags::kNext) == 0) break;
    }
    ++fetched_;
    if (chain.id >= setup_.size) Violation("buffer id " + std::to_string(chain.id));
    if (!in_use_.insert(chain.id).second) Violation("buffer id " + std::to_string(chain.id) + " is used twice");
    CheckSegments(chain.segments);
    return chain;
  }

  uint64_t AvailableEnd() override {
    uint64_t end = fetched_;
    while (end < fetched_ + setup_.size && IsAvailable(end)) ++end;
    return end;
  }

  void Use(const MockChain& chain, uint32_t written) override {
    in_use_.erase(chain.id);
    Write(chain.id, written, chain.Room() > 0, chain.descriptors);
  }

  bool PublishUsed() override {
    if (hidden_flags_.has_value()) {
      __atomic_thread_fence(__ATOMIC_RELEASE);
      Store16(Address(published_) + PvirtqDesc::kFlagsOffset, *hidden_flags_);
      hidden_flags_.reset();
    }
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    const PvirtqEventSuppress event = PvirtqEventSuppress::FromWord(Load32(setup_.driver));
    bool wanted = false;
    switch (event.desc_event_flags) {
      case RingEventFlags::kEnable: wanted = used_ > published_; break;
      case RingEventFlags::kDisable: break;
      case RingEventFlags::kDesc:
        if (!setup_.event_idx) Violation("event flag desc without event_idx");
        for (uint64_t at = published_; at < used_; ++at) {
          wanted |= at % setup_.size == event.desc_event_off && Wrap(at) == event.desc_event_wrap;
        }
        break;
      default: Violation("reserved event flags");
    }
    published_ = used_;
    return wanted;
  }

  void DisableDoorbell() override { Want({.desc_event_flags = RingEventFlags::kDisable}); }
  void EnableDoorbell() override {
    if (setup_.event_idx) {
      EnableDoorbellAt(fetched_);
    } else {
      Want({.desc_event_flags = RingEventFlags::kEnable});
    }
  }
  void EnableDoorbellAt(uint64_t at) override {
    Want({.desc_event_off = static_cast<uint16_t>(at % setup_.size),
          .desc_event_wrap = Wrap(at),
          .desc_event_flags = RingEventFlags::kDesc});
  }

  void UseRaw(uint32_t id, uint32_t written, uint16_t entries) override {
    Write(static_cast<uint16_t>(id), written, true, entries);
    PublishUsed();
  }

 private:
  bool Wrap(uint64_t at) const { return at / setup_.size % 2 == 0; }
  uint64_t Address(uint64_t at) const { return setup_.descriptors + at % setup_.size * PvirtqDesc::kBytes; }
  PvirtqDesc Read(uint64_t at) { return PvirtqDesc::Decode(memory_.At(Address(at), PvirtqDesc::kBytes)); }

  bool IsAvailable(uint64_t at) {
    const uint16_t flags = Load16(Address(at) + PvirtqDesc::kFlagsOffset);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    const bool avail = (flags & Flags::kAvail) != 0;
    const bool used = (flags & Flags::kUsed) != 0;
    return avail == Wrap(at) && used != Wrap(at);
  }

  void Want(const PvirtqEventSuppress& event) {
    Store32(setup_.device, event.ToWord());
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
  }

  void ReadTable(const PvirtqDesc& table, MockChain& chain) {
    if (table.len == 0 || table.len % PvirtqDesc::kBytes != 0) {
      Violation("indirect table of " + std::to_string(table.len) + " bytes");
      return;
    }
    const uint8_t* bytes = memory_.At(table.addr, table.len);
    if (bytes == nullptr) {
      Violation("indirect table outside DMA memory");
      return;
    }
    for (uint32_t i = 0; i < table.len / PvirtqDesc::kBytes; ++i) {
      const PvirtqDesc descriptor = PvirtqDesc::Decode(bytes + i * PvirtqDesc::kBytes);
      if ((descriptor.flags & ~Flags::kWrite) != 0) Violation("flags other than write in a table");
      chain.segments.push_back({descriptor.addr, descriptor.len, (descriptor.flags & Flags::kWrite) != 0});
    }
  }

  void Write(uint16_t id, uint32_t written, bool has_room, uint16_t descriptors) {
    const bool wrap = Wrap(used_);
    auto flags = static_cast<uint16_t>(wrap ? Flags::kAvail | Flags::kUsed : 0);
    if (has_room) flags |= Flags::kWrite;
    uint8_t* to = memory_.At(Address(used_), PvirtqDesc::kBytes);
    uint8_t bytes[PvirtqDesc::kBytes];
    PvirtqDesc{.addr = 0, .len = written, .id = id, .flags = flags}.Encode(bytes);
    std::memcpy(to, bytes, PvirtqDesc::kFlagsOffset);
    if (used_ == published_) {
      hidden_flags_ = flags;
    } else {
      Store16(Address(used_) + PvirtqDesc::kFlagsOffset, flags);
    }
    used_ += descriptors;
  }

  uint64_t used_ = 0;
  uint64_t published_ = 0;
  std::optional<uint16_t> hidden_flags_;  // of the element at published_
  std::set<uint16_t> in_use_;
};

}  // namespace

uint64_t MockChain::Room() const {
  uint64_t room = 0;
  for (const MockSegment& segment : segments) room += segment.writable ? segment.bytes : 0;
  return room;
}

uint16_t MockRing::Load16(uint64_t address) {
  return __atomic_load_n(reinterpret_cast<uint16_t*>(memory_.At(address, 2)), __ATOMIC_RELAXED);
}
uint32_t MockRing::Load32(uint64_t address) {
  return __atomic_load_n(reinterpret_cast<uint32_t*>(memory_.At(address, 4)), __ATOMIC_RELAXED);
}
void MockRing::Store16(uint64_t address, uint16_t value) {
  __atomic_store_n(reinterpret_cast<uint16_t*>(memory_.At(address, 2)), value, __ATOMIC_RELAXED);
}
void MockRing::Store32(uint64_t address, uint32_t value) {
  __atomic_store_n(reinterpret_cast<uint32_t*>(memory_.At(address, 4)), value, __ATOMIC_RELAXED);
}

void MockRing::CheckSegments(const std::vector<MockSegment>& segments) {
  bool writable = false;
  for (const MockSegment& segment : segments) {
    if (writable && !segment.writable) Violation("a readable segment after a writable one");
    writable |= segment.writable;
    if (segment.bytes == 0) Violation("an empty segment");
    if (memory_.At(segment.address, segment.bytes) == nullptr) Violation("a segment outside DMA memory");
  }
}

std::unique_ptr<MockRing> MakeMockSplitRing(DeviceMemory& memory, const MockRingSetup& setup) {
  return std::make_unique<MockSplitRing>(memory, setup);
}
std::unique_ptr<MockRing> MakeMockPackedRing(DeviceMemory& memory, const MockRingSetup& setup) {
  return std::make_unique<MockPackedRing>(memory, setup);
}

}  // namespace vireo::sim
