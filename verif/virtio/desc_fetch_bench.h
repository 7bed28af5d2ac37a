// SPDX-License-Identifier: Apache-2.0
// Test bench of descriptor fetch: drivers that make buffers available rightly and wrongly, clients that request them,
// and the bench that runs RTL and model in step.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "Vdesc_fetch.h"
#include "model/virtio/desc_fetch.h"
#include "sim/common/random.h"
#include "sim/common/seed.h"
#include "spec/gen/vireo_spec.h"
#include "verif/common/block_bench.h"
#include "verif/common/context_bench.h"

namespace vireo::verif {

using model::Agenda;
using model::Channel;
using model::Cycle;
using model::DescFetch;
using spec::Buffer;
using spec::BufferRequest;
using spec::BufferStatus;
using spec::DmaFetched;
using spec::DmaReadRequest;
using spec::PvirtqDesc;
using spec::QueueFailure;
using spec::QueueRowWrite;
using spec::RdmaError;
using spec::TableWrite;
using spec::VirtqDesc;
using spec::VirtqDescFlags;

inline constexpr size_t kQueues = 16;
inline constexpr size_t kClients = DescFetch::kClients;
static_assert(kClients == static_cast<size_t>(spec::BufferClient::kNetReceive) + 1);
inline constexpr uint8_t kSlverr = 2;  // [AMBA AXI, A3.4.4]

inline void CopyBits(std::span<const uint8_t> from, size_t from_bit, std::span<uint8_t> to, size_t to_bit,
                     size_t bits) {
  for (size_t i = 0; i < bits; ++i) {
    const bool bit = (from[(from_bit + i) / 8] >> (from_bit + i) % 8 & 1) != 0;
    uint8_t& byte = to[(to_bit + i) / 8];
    const auto mask = static_cast<uint8_t>(1u << (to_bit + i) % 8);
    byte = static_cast<uint8_t>(bit ? byte | mask : byte & ~mask);
  }
}

// The clients' streams one by one: ports of the block are packed arrays.
struct ClientPorts {
  std::array<uint8_t, kClients> request_valid{}, request_ready{}, buffer_valid{}, buffer_ready{};
  std::array<std::array<uint8_t, (BufferRequest::kBits + 7) / 8>, kClients> request{};
  std::array<std::array<uint8_t, (Buffer::kBits + 7) / 8>, kClients> buffer{};
};
// Before all streams: outputs of the block to the clients' ports.
class FromBlock final : public BenchStream {
 public:
  FromBlock(Vdesc_fetch& p, ClientPorts& ports) : p_(p), ports_(ports) {}
  void Begin(Cycle) override { Copy(); }
  void End(Cycle) override { Copy(); }
  bool IsEmpty() const override { return true; }

 private:
  void Copy() {
    for (size_t i = 0; i < kClients; ++i) {
      ports_.request_ready[i] = p_.buffer_request_ready_o >> i & 1;
      ports_.buffer_valid[i] = p_.buffer_valid_o >> i & 1;
      CopyBits(BytesOf(std::as_const(p_.buffer_o)), i * Buffer::kBits, ports_.buffer[i], 0, Buffer::kBits);
    }
  }
  Vdesc_fetch& p_;
  ClientPorts& ports_;
};
// After all: the clients' ports to inputs; also compares ports that are no stream.
class ToBlock final : public BenchStream {
 public:
  ToBlock(Vdesc_fetch& p, ClientPorts& ports, DescFetch& block) : p_(p), ports_(ports), block_(block) {}
  void Begin(Cycle) override {
    p_.buffer_request_valid_i = 0;
    p_.buffer_ready_i = 0;
    for (size_t i = 0; i < kClients; ++i) {
      p_.buffer_request_valid_i |= static_cast<uint8_t>(ports_.request_valid[i] << i);
      p_.buffer_ready_i |= static_cast<uint8_t>(ports_.buffer_ready[i] << i);
      CopyBits(ports_.request[i], 0, BytesOf(p_.buffer_request_i), i * BufferRequest::kBits, BufferRequest::kBits);
    }
  }
  void End(Cycle cycle) override {
    const std::string at = "cycle " + std::to_string(cycle) + ": ";
    if ((p_.idle_o != 0) != idle_) difference = at + "idle_o is " + std::to_string(p_.idle_o) + " in RTL only";
    if ((p_.fence_o != 0) != block_.IsFencing(cycle)) {
      difference = at + "fence_o is " + std::to_string(p_.fence_o) + " in RTL only";
    }
    if ((p_.window_violation_o != 0) != (violation == cycle)) difference = at + "window_violation_o differs";
    violations += p_.window_violation_o;
    const bool adds = !avail_events.empty() && avail_events.front().first == cycle;
    if ((p_.avail_event_valid_o != 0) != adds) {
      difference = at + "avail_event_valid_o differs";
    } else if (adds) {
      const auto expected = TokenBytes(avail_events.front().second);
      const auto port = BytesOf(std::as_const(p_.avail_event_o));
      if (!std::equal(expected.begin(), expected.end(), port.begin())) difference = at + "avail_event_o differs";
      avail_events.pop_front();
    }
    idle_ = block_.IsIdle();
  }
  bool IsEmpty() const override { return true; }
  bool idle() const { return idle_; }

  Cycle violation = model::kUnknown;
  uint64_t violations = 0;
  std::deque<std::pair<Cycle, spec::AvailEvent>> avail_events;  // from the model

 private:
  Vdesc_fetch& p_;
  ClientPorts& ports_;
  DescFetch& block_;
  bool idle_ = true;
};

// A driver's error with a queue in this lifetime, and the expected report.
enum class Defect { kNone, kIndex, kHead, kNoLength, kWraps, kIndirect, kBelow, kAbove, kStraddles, kDmaError };
inline constexpr std::array kDefects{Defect::kIndex, Defect::kHead,      Defect::kNoLength,
                                     Defect::kWraps, Defect::kIndirect,  Defect::kBelow,
                                     Defect::kAbove, Defect::kStraddles, Defect::kDmaError};
inline RdmaError CodeOf(Defect defect) {
  switch (defect) {
    case Defect::kBelow:
    case Defect::kAbove:
    case Defect::kStraddles: return RdmaError::kWindowViolation;
    case Defect::kDmaError: return RdmaError::kQueueDmaError;
    default: return RdmaError::kBadDescriptor;
  }
}

inline constexpr uint16_t kWrap = 0x8000;
// A place in a packed ring as in tokens, and the one behind it.
inline uint16_t NextPlace(uint16_t place, unsigned size) {
  const unsigned at = (place & ~kWrap) + 1u;
  return static_cast<uint16_t>(at == size ? (place & kWrap) ^ kWrap : at | (place & kWrap));
}
struct PackedBuffer {
  uint16_t head;
  unsigned descriptors;
  uint16_t id;
  bool table = false;
};

// One queue as its driver sees it.
struct Ring {
  spec::TableQueueKind kind = spec::TableQueueKind::kNone;
  uint16_t size = 0;
  bool served = false;
  QueueRowWrite row;
  spec::TableWindow window;
  std::vector<VirtqDesc> table;
  std::vector<uint16_t> entries;
  uint16_t index = 0;              // avail.idx
  std::deque<uint16_t> available;  // heads not yet answered
  std::vector<bool> head_used;
  uint64_t added = 0, taken = 0;
  Defect defect = Defect::kNone;
  uint64_t defect_at = 0;  // the entry, or the read, with the defect
  bool defective = false;  // it has happened
  uint64_t reads = 0;
  unsigned failures = 0;
  // Packed.
  std::vector<PvirtqDesc> memory;
  uint16_t next_place = kWrap;
  unsigned in_ring = 0;              // descriptors that are not free
  std::deque<PackedBuffer> buffers;  // not answered yet
  std::deque<PackedBuffer> given;    // not used yet
  struct End {
    uint16_t id;
    uint16_t next_position;
  };
  std::map<uint16_t, End> ends;  // of chains being followed, by the place of the last descriptor
  bool chains = false;
  unsigned tables = 0;
  std::optional<uint16_t> avail_event;  // last one sent
  bool retires = false;                 // no more requests, then reset
  unsigned outstanding = 0;             // requests
};

struct Asked {
  BufferRequest request;
  uint64_t added;  // available at that time, at least
  bool served;
  unsigned got = 0;
};

struct Bench {
  Bench() {
    for (size_t i = 0; i < kClients; ++i) block.buffer_out[i].Connect(buffers[i], block);
    block.index_request_out.Connect(index_sink, block);
    block.ring_request_out.Connect(ring_sink, block);
    block.descriptor_request_out.Connect(descriptor_sink, block);
    block.table_request_out.Connect(table_sink, block);
    block.queue_failure_out.Connect(failure_sink, block);
    block.on_window_violation = [this](Cycle cycle) { to.violation = cycle; };
    block.on_avail_event = [this](Cycle cycle, const spec::AvailEvent& event) {
      to.avail_events.emplace_back(cycle, event);
      EXPECT_TRUE(event_idx && !packed);
      std::optional<uint16_t>& before = rings[event.vq_index].avail_event;
      EXPECT_TRUE(!before || *before != event.idx) << "reported twice";
      before = event.idx;
      ++avail_events;
    };

    bench.AddOther(contexts);
    bench.AddOther(from);
    for (size_t i = 0; i < kClients; ++i) {
      requests[i] = &bench.In("buffer_request", block.buffer_request_in[i], clients.request_valid[i],
                              clients.request_ready[i], clients.request[i]);
      auto& out = bench.Out("buffer", buffers[i], clients.buffer_valid[i], clients.buffer_ready[i], clients.buffer[i]);
      out.keep = false;
      out.on_token = [this, i](Cycle cycle, const Buffer& buffer) { OnBuffer(cycle, i, buffer); };
      outs.push_back(&out.rate);
    }
    const auto read = [this](auto& out, auto& fetched) {
      out.keep = false;
      out.on_token = [this, &fetched](Cycle cycle, const DmaReadRequest& request) {
        last_read = cycle;
        reads.push_back(request);
        fetched.tokens.push_back(Fetch(request));
      };
      outs.push_back(&out.rate);
    };
    read(index_out, index_in);
    read(ring_out, ring_in);
    read(descriptor_out, descriptor_in);
    read(table_out, table_in_memory);
    failure_out.keep = false;
    failure_out.on_token = [this](Cycle, const QueueFailure& failure) { OnFailure(failure); };
    outs.push_back(&failure_out.rate);
    bench.AddOther(to);
  }

  // In the first cycle.
  void UsePackedRings() {
    packed = true;
    p.ring_packed_i = 1;
    block.SetRingPacked(0, true);
  }

  void AcceptTables() {
    tables = true;
    p.indirect_i = 1;
    block.SetIndirect(0, true);
  }
  void AcceptEventIdx() {
    event_idx = true;
    p.event_idx_i = 1;
    block.SetEventIdx(0, true);
  }

  // --- Host memory: the ring of queue q starts at (q + 1) << 40, its available ring 2^32 later.
  static uint64_t DescOf(size_t vq) { return (uint64_t{vq} + 1) << 40; }
  static uint64_t DriverOf(size_t vq) { return DescOf(vq) + (uint64_t{1} << 32); }
  DmaFetched Fetch(const DmaReadRequest& request) {
    DmaFetched answer{.tag = request.tag};
    const bool is_table = request.address < DescOf(0);
    const size_t vq = (request.address >> (is_table ? 16 : 40)) - 1;
    EXPECT_LT(vq, kQueues);
    if (vq >= kQueues) return answer;
    Ring& ring = rings[vq];
    EXPECT_TRUE(ring.row.enabled);
    if (ring.defect == Defect::kDmaError && ring.reads++ >= ring.defect_at) {
      ring.defective = true;
      answer.resp = static_cast<uint8_t>(kSlverr + random() % 2);
      for (uint8_t& byte : answer.data) byte = static_cast<uint8_t>(random());
      return answer;
    }
    const uint64_t offset = request.address - DescOf(vq);
    if (is_table) {
      EXPECT_EQ(request.bytes, VirtqDesc::kBytes);
      const auto entry = table_memory.find(request.address);
      EXPECT_NE(entry, table_memory.end()) << "reads outside of tables";
      if (entry != table_memory.end()) std::copy(entry->second.begin(), entry->second.end(), answer.data);
    } else if (packed) {
      EXPECT_EQ(offset % PvirtqDesc::kBytes, 0u);
      EXPECT_EQ(request.bytes % PvirtqDesc::kBytes, 0u);
      const size_t first = offset / PvirtqDesc::kBytes, count = request.bytes / PvirtqDesc::kBytes;
      EXPECT_GE(count, 1u);
      EXPECT_LE(request.bytes, spec::kDmaFetchBytes);
      EXPECT_LE(first + count, ring.size) << "reads past the end of the ring";
      for (size_t i = 0; i < count && first + i < ring.size; ++i) {
        ring.memory[first + i].Encode(answer.data + i * PvirtqDesc::kBytes);
      }
    } else if (offset < uint64_t{1} << 32) {
      EXPECT_EQ(request.bytes, VirtqDesc::kBytes);
      EXPECT_EQ(offset % VirtqDesc::kBytes, 0u);
      EXPECT_LT(offset / VirtqDesc::kBytes, ring.size);
      ring.table[offset / VirtqDesc::kBytes % ring.size].Encode(answer.data);
    } else if (request.address == DriverOf(vq) + spec::VirtqAvail::kIdxOffset) {
      EXPECT_EQ(request.bytes, 2);
      answer.data[0] = static_cast<uint8_t>(ring.index);
      answer.data[1] = static_cast<uint8_t>(ring.index >> 8);
    } else {
      const uint64_t first = (request.address - DriverOf(vq) - spec::VirtqAvail::kBytes) / 2;
      EXPECT_LE(first + request.bytes / 2, ring.size) << "reads past the end of the ring";
      EXPECT_GE(request.bytes, 2);
      EXPECT_LE(request.bytes, 2 * spec::kNetBuffersPerRequest);
      for (size_t i = 0; i < request.bytes / 2u; ++i) {
        const uint16_t head = ring.entries[(first + i) % ring.size];
        answer.data[2 * i] = static_cast<uint8_t>(head);
        answer.data[2 * i + 1] = static_cast<uint8_t>(head >> 8);
      }
    }
    return answer;
  }

  // --- Driver and firmware
  void SetKind(size_t vq, spec::TableQueueKind kind, bool stopped = false, bool reset = false) {
    TableWrite write{.table_id = spec::MgmtTable::kVirtqueue, .index = static_cast<uint32_t>(vq)};
    spec::TableVirtqueue{.kind = kind, .stopped = stopped, .reset_positions = reset}.Encode(write.data);
    table_in.tokens.push_back(write);
    rings[vq].kind = kind;
  }
  // As firmware does before another lifetime: what began in this one has ended when the fence falls.
  void Stop(size_t vq) {
    SetKind(vq, rings[vq].kind, true);
    do {
      ASSERT_EQ(bench.Run(4), "");
    } while (!table_in.tokens.empty() || p.fence_o != 0);
  }
  void SetWindow(size_t vq, const spec::TableWindow& window) {
    rings[vq].window = window;
    TableWrite write{.table_id = spec::MgmtTable::kWindow, .index = static_cast<uint32_t>(vq)};
    window.Encode(write.data);
    table_in.tokens.push_back(write);
  }
  // A new lifetime of an idle queue.
  void Enable(size_t vq, uint16_t size, Defect defect = Defect::kNone, uint64_t defect_at = 0) {
    Ring& ring = rings[vq];
    row_in.tokens.push_back({.vq_index = static_cast<uint16_t>(vq)});
    ring = {};
    ring.size = size;
    ring.served = true;
    ring.defect = defect;
    ring.defect_at = defect_at;
    ring.row = {.vq_index = static_cast<uint16_t>(vq),
                .enabled = true,
                .queue_size = size,
                .msix_vector = static_cast<uint16_t>(random()),
                .queue_desc = DescOf(vq),
                .queue_driver = DriverOf(vq),
                .queue_device = random()};
    ring.table.resize(size);
    ring.entries.resize(size);
    ring.head_used.resize(size);
    row_in.tokens.push_back(ring.row);
    ring.chains = packed && vq % 3 == 0;
    ring.memory.resize(size);
    for (PvirtqDesc& descriptor : ring.memory) {  // zero, or used in a pass with the other wrap counter
      if (random() % 2 == 0) continue;
      descriptor = {.addr = random(), .len = 5, .id = static_cast<uint16_t>(random()), .flags = VirtqDescFlags::kNext};
    }
    SetKind(vq, ring.chains ? kChainKinds[random() % kChainKinds.size()] : spec::TableQueueKind::kSq);
    const uint64_t base = (vq + 1) << 16 | random() % 4096;  // tables lie there, too
    SetWindow(vq, {.enable = defect == Defect::kBelow || defect == Defect::kAbove || defect == Defect::kStraddles ||
                             random() % 2 == 0,
                   .base = base,
                   .last = base + 9999});
    for (VirtqDesc& descriptor : ring.table) descriptor = Random(vq);
  }
  // Its last byte is the first one of memory; one of a single byte cannot wrap.
  template <typename Descriptor>
  static void MakeWrap(Descriptor& descriptor) {
    descriptor.len = std::max<uint32_t>(descriptor.len, 2);
    descriptor.addr = ~uint64_t{0} - descriptor.len + 2;
  }
  // A valid descriptor: inside every window.
  VirtqDesc Random(size_t vq) {
    const spec::TableWindow& window = rings[vq].window;
    VirtqDesc result{.addr = window.base + random() % 5000,
                     .len = static_cast<uint32_t>(1 + random() % 5000),
                     .flags = static_cast<uint16_t>(random() & ~uint64_t{VirtqDescFlags::kIndirect}),
                     .next = static_cast<uint16_t>(random())};
    if (window.enable && random() % 4 == 0) {  // all of it
      result.addr = window.base;
      result.len = static_cast<uint32_t>(window.last - window.base + 1);
    } else if (!window.enable && random() % 4 == 0) {  // the last bytes of the address space
      result.addr = ~uint64_t{0} - (result.len - 1);
    }
    return result;
  }
  // A table in memory, with a descriptor for it. Returns its first descriptor.
  static constexpr size_t kTableBytes = 8 * VirtqDesc::kBytes;
  VirtqDesc Table(size_t vq, const VirtqDesc& first) {
    Ring& ring = rings[vq];
    const uint64_t address = ring.window.base + ring.tables++ % 70 * kTableBytes;
    const auto entries = static_cast<unsigned>(1 + random() % (kTableBytes / VirtqDesc::kBytes));
    // In a split ring's table the order is that of `next`; here it is not sequential.
    const unsigned middle = entries / 2;
    for (unsigned i = 0; i < entries; ++i) {
      VirtqDesc entry = i == 0 ? first : Random(vq);
      std::array<uint8_t, VirtqDesc::kBytes> bytes{};
      if (packed) {
        PvirtqDesc{.addr = entry.addr,
                   .len = entry.len,
                   .id = static_cast<uint16_t>(random()),
                   .flags = static_cast<uint16_t>((random() & ~uint64_t{VirtqDescFlags::kWrite}) |
                                                  (entry.flags & VirtqDescFlags::kWrite))}
            .Encode(bytes.data());
      } else {
        entry.flags &= static_cast<uint16_t>(~VirtqDescFlags::kNext);
        if (i == 0 ? entries > 1 : i != middle) {
          entry.flags |= VirtqDescFlags::kNext;
          entry.next = static_cast<uint16_t>(i == 0 ? entries - 1 : i - 1);
          if (entry.next == 0) entry.flags &= static_cast<uint16_t>(~VirtqDescFlags::kNext);
        }
        entry.Encode(bytes.data());
      }
      table_memory[address + i * VirtqDesc::kBytes] = bytes;
    }
    ++tables_made;
    return {.addr = address,
            .len = static_cast<uint32_t>(entries * VirtqDesc::kBytes),
            .flags = static_cast<uint16_t>(VirtqDescFlags::kIndirect | (random() & VirtqDescFlags::kWrite)),
            .next = static_cast<uint16_t>(random())};
  }
  bool WantsTable() { return tables && random() % 3 == 0; }
  void MakeAvailable(size_t vq, unsigned count = 1) {
    Ring& ring = rings[vq];
    for (; count > 0 && ring.available.size() < ring.size && !ring.defective; --count) {
      auto head = static_cast<uint16_t>(random() % ring.size);
      while (ring.head_used[head]) head = static_cast<uint16_t>((head + 1) % ring.size);
      VirtqDesc descriptor = Random(vq);
      const bool defective =
          ring.added == ring.defect_at && ring.defect != Defect::kNone && ring.defect != Defect::kDmaError;
      if (!defective && WantsTable()) descriptor = Table(vq, descriptor);
      if (ring.added == ring.defect_at && ring.defect != Defect::kNone && ring.defect != Defect::kDmaError) {
        ring.defective = true;
        switch (ring.defect) {
          case Defect::kIndex:
            ring.index = static_cast<uint16_t>(ring.taken + ring.size + 1 + ring.available.size());
            return;
          case Defect::kHead: head = ring.size; break;
          case Defect::kNoLength: descriptor.len = 0; break;
          case Defect::kWraps: MakeWrap(descriptor); break;
          case Defect::kIndirect:
            descriptor.flags |= VirtqDescFlags::kIndirect;
            if (tables) descriptor.flags |= VirtqDescFlags::kNext;
            break;
          case Defect::kBelow: descriptor.addr = ring.window.base - 1; break;
          case Defect::kAbove: descriptor.addr = ring.window.last + 1; break;
          case Defect::kStraddles: descriptor.addr = ring.window.last - descriptor.len + 2; break;
          default: break;
        }
      }
      if (head < ring.size) {
        ring.table[head] = descriptor;
        ring.head_used[head] = true;
      }
      ring.entries[ring.index % ring.size] = head;
      ring.available.push_back(head);
      ++ring.index;
      ++ring.added;
    }
  }

  // Buffers of a packed ring, as many as fit. The driver's last write is deferred to the next call.
  void MakePacked(size_t vq, unsigned count = 1, unsigned descriptors = 0) {
    Ring& ring = rings[vq];
    for (; count > 0 && !ring.defective; --count) {
      unsigned parts = descriptors != 0 ? descriptors : ring.chains ? static_cast<unsigned>(1 + random() % 4) : 1;
      if (descriptors == 0) parts = std::min<unsigned>(parts, ring.size);
      if (ring.in_ring + parts > ring.size) return;
      const Defect defect = ring.added == ring.defect_at ? ring.defect : Defect::kNone;
      const bool table = parts == 1 && defect == Defect::kNone && WantsTable();
      const PackedBuffer buffer{ring.next_place, parts, static_cast<uint16_t>(random()), table};
      PvirtqDesc head;
      for (unsigned i = 0; i < parts; ++i) {
        VirtqDesc fields = Random(vq);
        if (table) fields = Table(vq, fields);
        PvirtqDesc descriptor{.addr = fields.addr, .len = fields.len, .id = static_cast<uint16_t>(random())};
        constexpr auto kRing = static_cast<uint16_t>(VirtqDescFlags::kAvail | VirtqDescFlags::kUsed |
                                                     VirtqDescFlags::kNext | VirtqDescFlags::kIndirect);
        descriptor.flags = static_cast<uint16_t>(random() & ~uint64_t{kRing});
        if (table) descriptor.flags |= VirtqDescFlags::kIndirect;
        descriptor.flags |= (ring.next_place & kWrap) != 0 ? VirtqDescFlags::kAvail : VirtqDescFlags::kUsed;
        if (i + 1 < parts) {
          descriptor.flags |= VirtqDescFlags::kNext;
        } else {
          descriptor.id = buffer.id;
        }
        if (i == 0 && defect != Defect::kNone && defect != Defect::kDmaError) {
          ring.defective = true;
          switch (defect) {
            case Defect::kNoLength: descriptor.len = 0; break;
            case Defect::kWraps: MakeWrap(descriptor); break;
            case Defect::kIndirect:
              descriptor.flags |= VirtqDescFlags::kIndirect;
              if (tables) descriptor.flags |= VirtqDescFlags::kNext;
              break;
            case Defect::kBelow: descriptor.addr = ring.window.base - 1; break;
            case Defect::kAbove: descriptor.addr = ring.window.last + 1; break;
            case Defect::kStraddles: descriptor.addr = ring.window.last - descriptor.len + 2; break;
            default: break;
          }
        }
        // A chain of a queue without chains; one that runs into an unavailable descriptor.
        if (defect == Defect::kHead || defect == Defect::kIndex) {
          if (!ring.chains || (i + 1 == parts && ring.in_ring + parts < ring.size)) {
            descriptor.flags |= VirtqDescFlags::kNext;
          } else if (i + 1 == parts && parts > 1) {
            descriptor.flags ^= VirtqDescFlags::kAvail;
          } else if (i + 1 == parts) {
            descriptor.len = 0;
          }
        }
        PvirtqDesc& place = ring.memory[ring.next_place & ~kWrap];
        if (i == 0) {
          head = descriptor;
          descriptor.flags = place.flags;
        }
        place = descriptor;
        ring.next_place = NextPlace(ring.next_place, ring.size);
      }
      ring.memory[buffer.head & ~kWrap].flags = head.flags;
      ring.in_ring += parts;
      ring.buffers.push_back(buffer);
      ++ring.added;
    }
  }
  // Returns buffers to the driver, as the CQ writer does.
  void UsePacked(size_t vq, size_t keep = 0) {
    Ring& ring = rings[vq];
    while (ring.outstanding == 0 && ring.given.size() > keep) {
      const PackedBuffer& buffer = ring.given.front();
      PvirtqDesc& descriptor = ring.memory[buffer.head & ~kWrap];
      descriptor.addr = random();
      descriptor.flags = (buffer.head & kWrap) != 0 ? VirtqDescFlags::kAvail | VirtqDescFlags::kUsed : 0;
      ring.in_ring -= buffer.descriptors;
      ring.given.pop_front();
    }
  }

  // --- Clients
  // Net clients request more at once.
  unsigned AnyCount(size_t client) {
    const bool is_net = client >= static_cast<size_t>(spec::BufferClient::kNetTransmit);
    return static_cast<unsigned>(1 + random() % (is_net ? spec::kNetBuffersPerRequest : spec::kBuffersPerRequest));
  }
  void Ask(size_t client, size_t vq, unsigned count, std::optional<uint16_t> by_index = {},
           const Buffer* table = nullptr) {
    Ring& ring = rings[vq];
    BufferRequest request{.client = static_cast<spec::BufferClient>(client),
                          .vq_index = static_cast<uint16_t>(vq),
                          .by_index = by_index.has_value(),
                          .index = by_index.value_or(static_cast<uint16_t>(random())),
                          .count = static_cast<uint8_t>(count)};
    if (table != nullptr) {
      request.indirect = table->indirect;
      request.table_address = table->table_address;
      request.table_entries = table->table_entries;
    }
    requests[client]->tokens.push_back(request);
    const bool sane = !ring.defective;
    asked[client].push_back({request, sane ? ring.added : 0, ring.served});
    ++ring.outstanding;
  }
  void AskPushed(size_t vq, uint16_t position, uint16_t head, uint64_t address, uint8_t bytes) {
    const BufferRequest request{.client = spec::BufferClient::kSend,
                                .vq_index = static_cast<uint16_t>(vq),
                                .index = position,
                                .count = 1,
                                .table_address = address,
                                .table_entries = head,
                                .pushed = true,
                                .bytes = bytes};
    requests[0]->tokens.push_back(request);
    asked[0].push_back({request, 0, rings[vq].served});
    ++rings[vq].outstanding;
  }
  // Says what the next buffer is, or something else. Only if nothing is requested of the queue.
  void AskPushedOrNot(size_t vq) {
    Ring& ring = rings[vq];
    const auto other = static_cast<uint16_t>(random() % 3 == 0 ? 1 + random() % 0xffff : 0);
    if (packed) {
      if (ring.buffers.empty() || ring.buffers.front().descriptors != 1 || ring.buffers.front().table) return;
      const uint16_t head = ring.buffers.front().head;
      const PvirtqDesc& place = ring.memory[head & ~kWrap];
      const auto bytes = static_cast<uint8_t>(std::min<uint32_t>(place.len, 1 + random() % 64));
      AskPushed(vq, head ^ other, static_cast<uint16_t>(random()), place.addr, bytes);
    } else if (!ring.available.empty()) {
      const uint16_t head = ring.available.front();
      if ((ring.table[head].flags & VirtqDescFlags::kIndirect) != 0) return;
      const auto bytes = static_cast<uint8_t>(std::min<uint32_t>(ring.table[head].len, 1 + random() % 64));
      const uint16_t bad_head = other == 0 && random() % 8 == 0 ? ring.size : uint16_t{0};
      AskPushed(vq, static_cast<uint16_t>(ring.taken) ^ other, head + bad_head, ring.table[head].addr, bytes);
    }
  }
  void OnPushed(const Buffer& buffer, const BufferRequest& request, Ring& ring) {
    ASSERT_TRUE(buffer.last);
    if (buffer.status == BufferStatus::kEmpty) {
      ++pushed_empties;
    } else if (buffer.status == BufferStatus::kFailed) {
      ASSERT_TRUE(ring.defective);
    } else {
      ++pushed;
      const uint16_t head = packed ? request.index : request.table_entries;
      EXPECT_EQ(buffer, (Buffer{.status = BufferStatus::kOk,
                                .last = true,
                                .vq_index = request.vq_index,
                                .head = head,
                                .address = request.table_address,
                                .bytes = request.bytes}));
      if (packed) {
        ASSERT_FALSE(ring.buffers.empty());
        ASSERT_EQ(ring.buffers.front().head, head);
        ring.given.push_back(ring.buffers.front());
        ring.buffers.pop_front();
      } else {
        ASSERT_FALSE(ring.available.empty());
        ASSERT_EQ(ring.available.front(), head);
        ring.available.pop_front();
        ring.head_used[head] = false;
      }
      ++ring.taken;
    }
    --ring.outstanding;
    asked[0].pop_front();
  }
  void OnBuffer(Cycle cycle, size_t client, const Buffer& buffer) {
    last_buffer = cycle;
    answers.push_back(buffer);
    ASSERT_FALSE(asked[client].empty()) << "an unexpected response";
    Asked asking = asked[client].front();
    asked[client].front().got += buffer.status == BufferStatus::kOk;
    Ring& ring = rings[asking.request.vq_index];
    ASSERT_EQ(buffer.vq_index, asking.request.vq_index);
    if (asking.request.pushed) return OnPushed(buffer, asking.request, ring);
    if (buffer.status == BufferStatus::kOk) {
      ASSERT_TRUE(asking.served);
      ASSERT_LE(++asking.got, asking.request.count);
      if (asking.request.by_index) {
        ASSERT_EQ(buffer.head, asking.request.index);
        ASSERT_TRUE(buffer.last);
      } else if (packed) {
        ASSERT_FALSE(ring.buffers.empty());
        const PackedBuffer expected = ring.buffers.front();
        ASSERT_EQ(buffer.head, expected.head);
        ASSERT_TRUE(expected.table || buffer.more == (expected.descriptors > 1));
        if (!expected.table) {
          uint16_t end = buffer.head;
          for (unsigned i = 1; i < expected.descriptors; ++i) end = NextPlace(end, ring.size);
          ring.ends[end] = {expected.id, NextPlace(end, ring.size)};
        }
        ring.given.push_back(expected);
        ring.buffers.pop_front();
        ++ring.taken;
        if (ring.defect != Defect::kNone && ring.defect != Defect::kDmaError) {
          ASSERT_LE(ring.taken, ring.defect_at) << "the wrong buffer was delivered";
        }
      } else {
        ASSERT_FALSE(ring.available.empty());
        ASSERT_EQ(buffer.head, ring.available.front());
        ring.available.pop_front();
        ++ring.taken;
        if (ring.defect != Defect::kNone && ring.defect != Defect::kDmaError) {
          ASSERT_LE(ring.taken, ring.defect_at) << "the wrong entry was delivered";
        }
      }
      VirtqDesc descriptor;
      uint64_t table = asking.request.table_address;
      unsigned entries = asking.request.table_entries;
      bool in_table = asking.request.indirect;
      if (in_table) {
        ASSERT_LT(buffer.head, entries);
      } else if (packed) {
        ASSERT_LT(buffer.head & ~kWrap, ring.size);
        const PvirtqDesc& place = ring.memory[buffer.head & ~kWrap];
        descriptor = {
            .addr = place.addr, .len = place.len, .flags = place.flags, .next = NextPlace(buffer.head, ring.size)};
      } else {
        ASSERT_LT(buffer.head, ring.size);
        descriptor = ring.table[buffer.head];
      }
      if (!in_table && (descriptor.flags & VirtqDescFlags::kIndirect) != 0) {
        in_table = true;
        table = descriptor.addr;
        entries = descriptor.len / VirtqDesc::kBytes;
      }
      bool more = (descriptor.flags & VirtqDescFlags::kNext) != 0;
      if (in_table) {
        const unsigned index = asking.request.indirect ? buffer.head : 0;
        ASSERT_EQ(table_memory.count(table + index * VirtqDesc::kBytes), 1u);
        const uint8_t* bytes = table_memory[table + index * VirtqDesc::kBytes].data();
        descriptor = VirtqDesc::Decode(bytes);
        more = (descriptor.flags & VirtqDescFlags::kNext) != 0;
        if (packed) {
          const auto fields = PvirtqDesc::Decode(bytes);
          descriptor = {.addr = fields.addr, .len = fields.len, .flags = fields.flags};
          descriptor.next = static_cast<uint16_t>(index + 1);
          more = index + 1 < entries;
        }
        ++from_tables;
      }
      ASSERT_EQ(buffer.address, descriptor.addr);
      ASSERT_EQ(buffer.bytes, descriptor.len);
      ASSERT_EQ(buffer.writable, (descriptor.flags & VirtqDescFlags::kWrite) != 0);
      ASSERT_EQ(buffer.more, more);
      ASSERT_EQ(buffer.has_id, packed && !in_table);
      ASSERT_EQ(buffer.id, buffer.has_id ? ring.memory[buffer.head & ~kWrap].id : 0);
      ASSERT_EQ(buffer.next_index, buffer.more || buffer.has_id ? descriptor.next : 0);
      if (const auto end = ring.ends.find(buffer.head); buffer.has_id && !buffer.more && end != ring.ends.end()) {
        ASSERT_EQ(buffer.id, end->second.id);
        ASSERT_EQ(buffer.next_index, end->second.next_position);
        ring.ends.erase(end);
        ++ids;
      }
      ASSERT_EQ(buffer.indirect, in_table && more);
      ASSERT_EQ(buffer.table_address, buffer.indirect ? table : 0);
      ASSERT_EQ(buffer.table_entries, buffer.indirect ? entries : 0);
      if (!asking.request.by_index && !packed) ring.head_used[buffer.head] = false;
      if ((packed || in_table) && buffer.more && follow) {
        Ask(client, asking.request.vq_index, 1, buffer.next_index, &buffer);
        ++followed;
      }
      if (!buffer.last) return;
      if (!asking.request.by_index && asking.got < asking.request.count) {
        ASSERT_GE(ring.taken, asking.added) << "the response ends before the ring";
      }
    } else {
      ASSERT_TRUE(buffer.last);
      if (buffer.status == BufferStatus::kEmpty) {
        ASSERT_EQ(asking.got, 0u);
        if (asking.served) {
          ASSERT_GE(ring.taken, asking.added) << "a buffer was missed";
        }
        ++empties;
      } else {
        ASSERT_TRUE(ring.defective);
        ++faileds;
      }
    }
    // A client that finds no more waits for a doorbell: the driver must be notified of this position, or a later one.
    if (event_idx && !packed && asking.served && !asking.request.by_index && buffer.status != BufferStatus::kFailed &&
        asking.got < asking.request.count) {
      ASSERT_TRUE(ring.avail_event.has_value());
      ASSERT_LE(static_cast<uint16_t>(*ring.avail_event - static_cast<uint16_t>(ring.taken)), ring.size);
    }
    --ring.outstanding;
    asked[client].pop_front();
  }
  void OnFailure(const QueueFailure& failure) {
    Ring& ring = rings[failure.vq_index];
    EXPECT_TRUE(ring.defective);
    EXPECT_EQ(++ring.failures, 1u) << "reported twice";
    EXPECT_EQ(failure.code, CodeOf(ring.defect))
        << "defect " << static_cast<int>(ring.defect) << " of entry " << ring.defect_at << ", size " << ring.size
        << (ring.chains ? ", chains" : "") << (ring.window.enable ? ", window" : "");
    codes[failure.code]++;
  }
  void SetRates(unsigned in, unsigned memory, unsigned out) {
    for (auto* request : requests) request->rate = in;
    index_in.rate = ring_in.rate = descriptor_in.rate = table_in_memory.rate = memory;
    for (unsigned* rate : outs) *rate = out;
  }
  // Until everything is answered.
  void Settle(uint64_t then = 400) {
    ASSERT_EQ(bench.RunOut(then), "");
    const auto is_open = [](const std::deque<Asked>& waiting) { return !waiting.empty(); };
    for (int i = 0; i < 200 && (!to.idle() || std::any_of(asked.begin(), asked.end(), is_open)); ++i) {
      ASSERT_EQ(bench.Run(100), "");
    }
    ASSERT_TRUE(to.idle());
    for (const auto& waiting : asked) ASSERT_TRUE(waiting.empty());
  }

  uint64_t pushed = 0, pushed_empties = 0;
  std::mt19937_64 random = sim::MakeRandom("desc_fetch");
  Agenda agenda;
  DescFetch block{agenda, {.queues = kQueues, .requests = 8, .descriptors = 32, .data_bits = 64}};
  RtlTop<Vdesc_fetch> rtl{[](const Vdesc_fetch& top, std::vector<uint8_t>& bytes) {
    const auto add = [&](const auto& port) {
      const auto all = BytesOf(port);
      bytes.insert(bytes.end(), all.begin(), all.end());
    };
    add(top.buffer_request_ready_o), add(top.buffer_valid_o), add(top.buffer_o), add(top.idle_o), add(top.fence_o);
    add(top.index_request_valid_o), add(top.index_request_o), add(top.index_fetched_ready_o);
    add(top.ring_request_valid_o), add(top.ring_request_o), add(top.ring_fetched_ready_o);
    add(top.descriptor_request_valid_o), add(top.descriptor_request_o), add(top.descriptor_fetched_ready_o);
    add(top.table_request_valid_o), add(top.table_request_o), add(top.table_fetched_ready_o);
    add(top.avail_event_valid_o), add(top.avail_event_o);
    add(top.queue_failure_valid_o), add(top.queue_failure_o), add(top.window_violation_o);
  }};
  BlockBench<Vdesc_fetch> bench{rtl, agenda, random};
  Vdesc_fetch& p = rtl.ports();
  ClientPorts clients;
  ContextBench<Vdesc_fetch, DescFetch> contexts{p, block};
  FromBlock from{p, clients};
  ToBlock to{p, clients, block};
  std::array<Channel<Buffer>, kClients> buffers{Channel<Buffer>::Sink(), Channel<Buffer>::Sink(),
                                                Channel<Buffer>::Sink(), Channel<Buffer>::Sink(),
                                                Channel<Buffer>::Sink(), Channel<Buffer>::Sink()};
  Channel<DmaReadRequest> index_sink = Channel<DmaReadRequest>::Sink();
  Channel<DmaReadRequest> ring_sink = Channel<DmaReadRequest>::Sink();
  Channel<DmaReadRequest> descriptor_sink = Channel<DmaReadRequest>::Sink();
  Channel<DmaReadRequest> table_sink = Channel<DmaReadRequest>::Sink();
  Channel<QueueFailure> failure_sink = Channel<QueueFailure>::Sink();
  using Requests = InStream<BufferRequest, uint8_t, uint8_t, std::array<uint8_t, (BufferRequest::kBits + 7) / 8>>;
  std::array<Requests*, kClients> requests{};
  decltype(bench.In("", block.index_fetched_in, p.index_fetched_valid_i, p.index_fetched_ready_o,
                    p.index_fetched_i)) index_in =
      bench.In("index_fetched", block.index_fetched_in, p.index_fetched_valid_i, p.index_fetched_ready_o,
               p.index_fetched_i);
  decltype(index_in) ring_in =
      bench.In("ring_fetched", block.ring_fetched_in, p.ring_fetched_valid_i, p.ring_fetched_ready_o, p.ring_fetched_i);
  decltype(index_in) descriptor_in =
      bench.In("descriptor_fetched", block.descriptor_fetched_in, p.descriptor_fetched_valid_i,
               p.descriptor_fetched_ready_o, p.descriptor_fetched_i);
  decltype(index_in) table_in_memory = bench.In("table_fetched", block.table_fetched_in, p.table_fetched_valid_i,
                                                p.table_fetched_ready_o, p.table_fetched_i);
  decltype(bench.Out("", index_sink, p.index_request_valid_o, p.index_request_ready_i, p.index_request_o)) index_out =
      bench.Out("index_request", index_sink, p.index_request_valid_o, p.index_request_ready_i, p.index_request_o);
  decltype(index_out) ring_out =
      bench.Out("ring_request", ring_sink, p.ring_request_valid_o, p.ring_request_ready_i, p.ring_request_o);
  decltype(index_out) descriptor_out = bench.Out("descriptor_request", descriptor_sink, p.descriptor_request_valid_o,
                                                 p.descriptor_request_ready_i, p.descriptor_request_o);
  decltype(index_out) table_out =
      bench.Out("table_request", table_sink, p.table_request_valid_o, p.table_request_ready_i, p.table_request_o);
  decltype(bench.Out("", failure_sink, p.queue_failure_valid_o, p.queue_failure_ready_i,
                     p.queue_failure_o)) failure_out =
      bench.Out("queue_failure", failure_sink, p.queue_failure_valid_o, p.queue_failure_ready_i, p.queue_failure_o);
  InPulse<TableWrite, std::remove_reference_t<decltype(p.table_write_valid_i)>,
          std::remove_reference_t<decltype(p.table_write_i)>>& table_in =
      bench.Pulse<TableWrite>(p.table_write_valid_i, p.table_write_i,
                              [this](Cycle cycle, const TableWrite& write) { block.OnTableWrite(cycle, write); });
  InPulse<QueueRowWrite, std::remove_reference_t<decltype(p.queue_row_write_valid_i)>,
          std::remove_reference_t<decltype(p.queue_row_write_i)>>& row_in =
      bench.Pulse<QueueRowWrite>(p.queue_row_write_valid_i, p.queue_row_write_i,
                                 [this](Cycle cycle, const QueueRowWrite& row) { block.OnQueueRowWrite(cycle, row); });
  std::vector<unsigned*> outs;
  std::array<Ring, kQueues> rings;
  std::array<std::deque<Asked>, kClients> asked;
  std::vector<DmaReadRequest> reads;
  std::vector<Buffer> answers;
  std::map<RdmaError, unsigned> codes;
  std::map<uint64_t, std::array<uint8_t, VirtqDesc::kBytes>> table_memory;
  unsigned tables_made = 0, from_tables = 0, avail_events = 0;
  unsigned ids = 0;  // of whole buffers of packed rings
  bool packed = false, tables = false, event_idx = false;
  bool follow = true;  // chains of packed rings
  unsigned followed = 0;
  static constexpr std::array kChainKinds{spec::TableQueueKind::kControl, spec::TableQueueKind::kReceive,
                                          spec::TableQueueKind::kTransmit};
  Cycle last_read = 0, last_buffer = 0;
  unsigned empties = 0, faileds = 0;
};

}  // namespace vireo::verif
