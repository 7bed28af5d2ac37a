// SPDX-License-Identifier: Apache-2.0
// Descriptor fetch as RTL and as model side by side, in front of drivers that fill split or packed rings, break their
// rules and reset their queues. What comes out is compared with what the drivers made available, which knows nothing of
// either.
#include "model/virtio/desc_fetch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "Vdesc_fetch.h"
#include "spec/gen/vireo_spec.h"
#include "verif/common/block_bench.h"
#include "verif/common/context_bench.h"
#include "verif/harness/random.h"
#include "verif/harness/seed.h"

namespace vireo::verif {
namespace {

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

constexpr size_t kQueues = 16;
constexpr size_t kClients = DescFetch::kClients;
static_assert(kClients == static_cast<size_t>(spec::BufferClient::kNetReceive) + 1);
constexpr uint8_t kSlverr = 2;  // [AMBA AXI, A3.4.4]

void CopyBits(std::span<const uint8_t> from, size_t from_bit, std::span<uint8_t> to, size_t to_bit, size_t bits) {
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
// First of all streams: outputs of the block to the clients' ports.
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
// Last of all: the clients' ports to inputs; also compares what is no stream.
class ToBlock final : public BenchStream {
 public:
  ToBlock(Vdesc_fetch& p, ClientPorts& ports, const DescFetch& block) : p_(p), ports_(ports), block_(block) {}
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
  std::deque<std::pair<Cycle, spec::AvailEvent>> avail_events;  // that the model says

 private:
  Vdesc_fetch& p_;
  ClientPorts& ports_;
  const DescFetch& block_;
  bool idle_ = true;
};

// What a driver does wrong with a queue in this life of it, and what it must be told.
enum class Defect { kNone, kIndex, kHead, kNoLength, kWraps, kIndirect, kBelow, kAbove, kStraddles, kDmaError };
constexpr std::array kDefects{Defect::kIndex, Defect::kHead,  Defect::kNoLength,  Defect::kWraps,   Defect::kIndirect,
                              Defect::kBelow, Defect::kAbove, Defect::kStraddles, Defect::kDmaError};
RdmaError CodeOf(Defect defect) {
  switch (defect) {
    case Defect::kBelow:
    case Defect::kAbove:
    case Defect::kStraddles: return RdmaError::kWindowViolation;
    case Defect::kDmaError: return RdmaError::kQueueDmaError;
    default: return RdmaError::kBadDescriptor;
  }
}

constexpr uint16_t kWrap = 0x8000;
// A place in a packed ring as tokens name it, and the one behind it.
uint16_t NextPlace(uint16_t place, unsigned size) {
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
  uint16_t size = 0;
  bool served = false;
  QueueRowWrite row;
  spec::TableWindow window;
  std::vector<VirtqDesc> table;
  std::vector<uint16_t> entries;
  uint16_t index = 0;              // avail.idx
  std::deque<uint16_t> available;  // heads that were not answered yet
  std::vector<bool> head_used;
  uint64_t added = 0, taken = 0;
  Defect defect = Defect::kNone;
  uint64_t defect_at = 0;  // the entry, or the read, that is wrong
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
    uint16_t behind;
  };
  std::map<uint16_t, End> ends;  // of chains that are followed, by the place of the last descriptor
  bool chains = false;
  unsigned tables = 0;
  std::optional<uint16_t> avail_event;  // that was said last
  bool retires = false;                 // asked for no more, then reset
  unsigned outstanding = 0;             // requests
};

struct Asked {
  BufferRequest request;
  uint64_t added;  // what was available then, at least
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
      EXPECT_TRUE(!before || *before != event.idx) << "said twice";
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

  // --- Host memory: the ring of queue q begins at (q + 1) << 40, its available ring 2^32 later.
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
      EXPECT_LE(request.bytes, 2 * spec::kBuffersPerRequest);
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
  }
  void SetWindow(size_t vq, const spec::TableWindow& window) {
    rings[vq].window = window;
    TableWrite write{.table_id = spec::MgmtTable::kWindow, .index = static_cast<uint32_t>(vq)};
    window.Encode(write.data);
    table_in.tokens.push_back(write);
  }
  // A new life of a queue that nobody uses.
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
    for (PvirtqDesc& descriptor : ring.memory) {  // zero, or used in a lap with the other wrap counter
      if (random() % 2 == 0) continue;
      descriptor = {.addr = random(), .len = 5, .id = static_cast<uint16_t>(random()), .flags = VirtqDescFlags::kNext};
    }
    SetKind(vq, ring.chains ? kChainKinds[random() % kChainKinds.size()] : spec::TableQueueKind::kSq);
    const uint64_t base = (vq + 1) << 16 | random() % 4096;  // tables are there, too
    SetWindow(vq, {.enable = defect == Defect::kBelow || defect == Defect::kAbove || defect == Defect::kStraddles ||
                             random() % 2 == 0,
                   .base = base,
                   .last = base + 9999});
    for (VirtqDesc& descriptor : ring.table) descriptor = Random(vq);
  }
  // A descriptor without fault: inside every window.
  VirtqDesc Random(size_t vq) {
    const spec::TableWindow& window = rings[vq].window;
    VirtqDesc result{.addr = window.base + random() % 5000,
                     .len = static_cast<uint32_t>(1 + random() % 5000),
                     .flags = static_cast<uint16_t>(random() & ~uint64_t{VirtqDescFlags::kIndirect}),
                     .next = static_cast<uint16_t>(random())};
    if (window.enable && random() % 4 == 0) {  // all of it
      result.addr = window.base;
      result.len = static_cast<uint32_t>(window.last - window.base + 1);
    } else if (!window.enable && random() % 4 == 0) {  // the last bytes there are
      result.addr = ~uint64_t{0} - (result.len - 1);
    }
    return result;
  }
  // A table in memory, with a descriptor for it. The first descriptor of it is given.
  static constexpr size_t kTableBytes = 8 * VirtqDesc::kBytes;
  VirtqDesc Table(size_t vq, const VirtqDesc& first) {
    Ring& ring = rings[vq];
    const uint64_t address = ring.window.base + ring.tables++ % 70 * kTableBytes;
    const auto entries = static_cast<unsigned>(1 + random() % (kTableBytes / VirtqDesc::kBytes));
    // In a split ring's table the order is that of `next`; here it jumps.
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
          case Defect::kWraps: descriptor.addr = ~uint64_t{0} - descriptor.len + 2; break;
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

  // Buffers of a packed ring, as many as fit. What the driver writes last, it writes with the next call.
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
            case Defect::kWraps: descriptor.addr = ~uint64_t{0} - descriptor.len + 2; break;
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
        // A chain of a queue without chains; one that runs into what is not available.
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
  // Gives buffers back to the driver, as the CQ writer does.
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
  void OnBuffer(Cycle cycle, size_t client, const Buffer& buffer) {
    last_buffer = cycle;
    answers.push_back(buffer);
    ASSERT_FALSE(asked[client].empty()) << "an answer too many";
    Asked asking = asked[client].front();
    asked[client].front().got += buffer.status == BufferStatus::kOk;
    Ring& ring = rings[asking.request.vq_index];
    ASSERT_EQ(buffer.vq_index, asking.request.vq_index);
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
          ASSERT_LE(ring.taken, ring.defect_at) << "the wrong buffer was given out";
        }
      } else {
        ASSERT_FALSE(ring.available.empty());
        ASSERT_EQ(buffer.head, ring.available.front());
        ring.available.pop_front();
        ++ring.taken;
        if (ring.defect != Defect::kNone && ring.defect != Defect::kDmaError) {
          ASSERT_LE(ring.taken, ring.defect_at) << "the wrong entry was given out";
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
        ASSERT_EQ(buffer.next_index, end->second.behind);
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
        ASSERT_GE(ring.taken, asking.added) << "the answer ends before the ring";
      }
    } else {
      ASSERT_TRUE(buffer.last);
      if (buffer.status == BufferStatus::kEmpty) {
        ASSERT_EQ(asking.got, 0u);
        if (asking.served) {
          ASSERT_GE(ring.taken, asking.added) << "a buffer was overlooked";
        }
        ++empties;
      } else {
        ASSERT_TRUE(ring.defective);
        ++faileds;
      }
    }
    // Who is told that there is no more waits for a doorbell: the driver must be told of this position, or a later one.
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
    EXPECT_EQ(++ring.failures, 1u) << "told twice";
    EXPECT_EQ(failure.code, CodeOf(ring.defect));
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

  std::mt19937_64 random = MakeRandom("desc_fetch");
  Agenda agenda;
  DescFetch block{agenda, {.queues = kQueues, .requests = 8, .descriptors = 32}};
  RtlTop<Vdesc_fetch> rtl{[](const Vdesc_fetch& top, std::vector<uint8_t>& bytes) {
    const auto add = [&](const auto& port) {
      const auto all = BytesOf(port);
      bytes.insert(bytes.end(), all.begin(), all.end());
    };
    add(top.buffer_request_ready_o), add(top.buffer_valid_o), add(top.buffer_o), add(top.idle_o);
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

void GiveWhatDriversMadeAvailable(bool packed, bool features) {
  using testing::Test;
  std::map<RdmaError, unsigned> codes;
  unsigned empties = 0, faileds = 0, followed = 0, from_tables = 0, avail_events = 0, ids = 0;
  for (const unsigned in : {16u, 3u}) {
    for (const unsigned memory : {16u, 4u}) {
      for (const unsigned out : {16u, 6u}) {
        auto b = std::make_unique<Bench>();
        SCOPED_TRACE("rates " + std::to_string(in) + " " + std::to_string(memory) + " " + std::to_string(out));
        if (packed) b->UsePackedRings();
        if (features) b->AcceptTables(), b->AcceptEventIdx();
        b->SetRates(in, memory, out);
        const auto any_size = [&] {  // packed: not only powers of two
          return static_cast<uint16_t>(packed ? 1 + b->random() % 40 : 2u << b->random() % 5);
        };
        const auto any_defect = [&] {
          return b->random() % 3 == 0 ? kDefects[b->random() % kDefects.size()] : Defect::kNone;
        };
        for (size_t vq = 0; vq < kQueues; ++vq) {
          b->Enable(vq, any_size(), any_defect(), b->random() % 20);
        }
        ASSERT_EQ(b->bench.Run(200), "");
        for (int step = 0; step < 4000; ++step) {
          const size_t vq = b->random() % kQueues;
          Ring& ring = b->rings[vq];
          if (packed) {
            b->UsePacked(vq, b->random() % 4);
            b->MakePacked(vq, static_cast<unsigned>(b->random() % 9));
          } else {
            b->MakeAvailable(vq, static_cast<unsigned>(b->random() % 9));
          }
          // Every queue belongs to one client, as in a device.
          if (b->random() % 64 == 0) ring.retires = true;
          if (b->asked[vq % kClients].size() < 6 && !ring.retires && (ring.failures == 0 || b->random() % 4 == 0)) {
            b->Ask(vq % kClients, vq, static_cast<unsigned>(1 + b->random() % 8));
          } else if (ring.outstanding == 0 && (ring.retires || ring.failures != 0)) {
            // What the life before has to tell of comes before the next one begins.
            while (b->p.queue_failure_valid_o != 0) ASSERT_EQ(b->bench.Run(1), "");
            b->Enable(vq, any_size(), any_defect(), b->random() % 20);
            ASSERT_EQ(b->bench.Run(40), "");
          }
          ASSERT_EQ(b->bench.Run(b->random() % 12), "");
          ASSERT_FALSE(Test::HasFatalFailure());
        }
        b->Settle();
        ASSERT_FALSE(Test::HasFatalFailure());
        followed += b->followed;
        from_tables += b->from_tables;
        avail_events += b->avail_events;
        ids += b->ids;
        for (const auto& [code, count] : b->codes) codes[code] += count;
        EXPECT_EQ(b->to.violations, b->codes[RdmaError::kWindowViolation]);
        empties += b->empties;
        faileds += b->faileds;
      }
    }
  }
  EXPECT_GT(codes[RdmaError::kBadDescriptor], 10u);
  EXPECT_GT(codes[RdmaError::kWindowViolation], 10u);
  EXPECT_GT(codes[RdmaError::kQueueDmaError], 10u);
  EXPECT_GT(empties, 100u);
  EXPECT_GT(faileds, 30u);
  EXPECT_EQ(followed > 100, packed || features);
  EXPECT_EQ(from_tables > 1000, features);
  EXPECT_EQ(avail_events > 1000, features && !packed);
  EXPECT_EQ(ids > 1000, packed);
}
TEST(DescFetch, GivesWhatDriversMadeAvailableAndStopsBrokenQueuesAtEveryRate) {
  GiveWhatDriversMadeAvailable(false, false);
}
TEST(DescFetch, GivesWhatDriversOfPackedRingsMadeAvailableAndStopsBrokenOnesAtEveryRate) {
  GiveWhatDriversMadeAvailable(true, false);
}
TEST(DescFetch, GivesWhatDriversMadeAvailableWithTablesAndSaysWhereTheyAreToRing) {
  GiveWhatDriversMadeAvailable(false, true);
}
TEST(DescFetch, GivesWhatDriversOfPackedRingsMadeAvailableWithTables) { GiveWhatDriversMadeAvailable(true, true); }

TEST(DescFetch, TellsWhyAQueueBreaksOnceAndAnswersFailedUntilItsReset) {
  for (const Defect defect : kDefects) {
    for (const uint64_t at : {0u, 3u}) {
      SCOPED_TRACE("defect " + std::to_string(static_cast<int>(defect)) + " at " + std::to_string(at));
      auto b = std::make_unique<Bench>();
      b->Enable(5, 8, defect, at);
      ASSERT_EQ(b->bench.Run(50), "");
      b->MakeAvailable(5, 8);
      b->Ask(0, 5, 8);
      b->Settle();
      b->Ask(0, 5, 8);
      b->Settle();
      // DMA errors count reads, not entries: index, ring, then descriptors.
      const size_t good = defect == Defect::kIndex ? 0 : defect == Defect::kDmaError ? (at == 0 ? 0 : 1) : at;
      ASSERT_EQ(b->answers.size(), good + 2);
      for (size_t i = 0; i < good; ++i) EXPECT_EQ(b->answers[i].status, BufferStatus::kOk);
      EXPECT_EQ(b->answers[good].status, BufferStatus::kFailed);
      EXPECT_EQ(b->answers[good + 1].status, BufferStatus::kFailed);
      EXPECT_EQ(b->rings[5].failures, 1u);

      const size_t reads = b->reads.size();
      b->Ask(1, 5, 1);
      b->Ask(2, 5, 1, uint16_t{0});
      b->Settle();
      EXPECT_EQ(b->faileds, 4u);
      EXPECT_EQ(b->reads.size(), reads) << "a broken queue is read";

      b->Enable(5, 8);
      ASSERT_EQ(b->bench.Run(50), "");
      b->MakeAvailable(5, 2);
      b->answers.clear();
      b->Ask(0, 5, 8);
      b->Settle();
      ASSERT_EQ(b->answers.size(), 2u);
      EXPECT_EQ(b->answers[1].status, BufferStatus::kOk);
      EXPECT_TRUE(b->answers[1].last);
    }
  }
}

TEST(DescFetch, OfAQueueWhoseEntryHasBadParityNothingIsGivenUntilItIsWritten) {
  using spec::ContextRam;
  unsigned empty = 0, failed = 0;
  for (const bool packed : {false, true}) {
    for (const ContextRam ram : {ContextRam::kDescFetchServed, ContextRam::kDescFetchArea, ContextRam::kDescFetchSize,
                                 ContextRam::kDescFetchDescriptors, ContextRam::kDescFetchWindow}) {
      SCOPED_TRACE(std::string(spec::ToString(ram)) + (packed ? " packed" : " split"));
      Bench b;
      if (packed) b.UsePackedRings();
      const auto enable = [&] {
        for (const size_t vq : {4u, 5u}) b.Enable(vq, 8);
        ASSERT_EQ(b.bench.Run(50), "");
        for (const size_t vq : {4u, 5u}) packed ? b.MakePacked(vq, 3) : b.MakeAvailable(vq, 3);
      };
      ASSERT_NO_FATAL_FAILURE(enable());
      for (const uint32_t bit : {0u, 1u, 1000u}) {
        b.contexts.Flip(ram, 5, bit);
        ASSERT_EQ(b.bench.Run(2), "");
        EXPECT_TRUE(b.contexts.errors.empty());
        b.Ask(0, 4, 1);
        b.Settle();
        EXPECT_EQ(b.answers.back().status, BufferStatus::kOk);
        EXPECT_TRUE(b.contexts.errors.empty());
        b.rings[5].defective = true;  // of answers `failed`, and of what is overlooked
        const size_t answers = b.answers.size();
        b.Ask(0, 5, 3);
        b.Settle();
        ASSERT_EQ(b.answers.size(), answers + 1);
        EXPECT_NE(b.answers.back().status, BufferStatus::kOk);
        empty += b.answers.back().status == BufferStatus::kEmpty;
        failed += b.answers.back().status == BufferStatus::kFailed;
        EXPECT_EQ(b.rings[5].failures, 0u);
        EXPECT_EQ(b.contexts.errors.size(), 1u);
        b.contexts.errors.clear();
        b.rings[5].defective = false;
        ASSERT_NO_FATAL_FAILURE(enable());
        b.Ask(0, 5, 1);
        b.Settle();
        EXPECT_EQ(b.answers.back().status, BufferStatus::kOk);
        EXPECT_TRUE(b.contexts.errors.empty());
      }
    }
  }
  EXPECT_EQ(empty, 2 * 4 * 3u);
  EXPECT_EQ(failed, 2 * 3u);
}

TEST(DescFetch, AFlipAtAnyTimeEndsInAnErrorAndNoWrongBuffer) {
  unsigned errors = 0;
  for (const bool packed : {false, true}) {
    Bench b;
    if (packed) b.UsePackedRings();
    for (int round = 0; round < 300; ++round) {
      const auto ram =
          static_cast<spec::ContextRam>(static_cast<unsigned>(spec::ContextRam::kDescFetchServed) + b.random() % 5);
      b.Enable(5, 16);
      ASSERT_EQ(b.bench.Run(50), "");
      packed ? b.MakePacked(5, 16) : b.MakeAvailable(5, 16);
      b.rings[5].defective = true;
      for (unsigned i = 0; i < 4; ++i) b.Ask(b.random() % kClients, 5, 1 + b.random() % 4);
      ASSERT_EQ(b.bench.Run(b.random() % 100), "");
      b.contexts.Flip(ram, 5, b.random() % 1024);
      b.Ask(0, 5, 1);
      b.Settle(10);
      b.rings[5].defective = false;
      errors += !b.contexts.errors.empty();
      b.contexts.errors.clear();
    }
  }
  EXPECT_GT(errors, 500u);
}

TEST(DescFetch, ReadsADescriptorByIndexWithoutLookingAtTheRing) {
  Bench b;
  b.Enable(3, 16);
  ASSERT_EQ(b.bench.Run(50), "");
  b.Ask(3, 3, 1, uint16_t{15});
  b.Settle();
  ASSERT_EQ(b.answers.size(), 1u);
  EXPECT_EQ(b.answers[0].status, BufferStatus::kOk);
  EXPECT_EQ(b.reads.size(), 1u);

  b.rings[3].defect = Defect::kHead;  // the code
  b.rings[3].defective = true;
  b.Ask(3, 3, 1, uint16_t{16});
  b.Settle();
  ASSERT_EQ(b.answers.size(), 2u);
  EXPECT_EQ(b.answers[1].status, BufferStatus::kFailed);
  EXPECT_EQ(b.codes[RdmaError::kBadDescriptor], 1u);
  EXPECT_EQ(b.reads.size(), 1u);
}

// What a replay reads may be used since, or another's by now: that is no fault of the queue.
TEST(DescFetch, AReplayThatFindsNoBufferLeavesTheQueueAlone) {
  Bench b;
  b.Enable(3, 16);
  ASSERT_EQ(b.bench.Run(50), "");
  b.rings[3].defective = true;  // of an answer `failed`
  constexpr auto kSend = static_cast<size_t>(spec::BufferClient::kSend);
  b.Ask(kSend, 3, 1, uint16_t{16});
  b.Settle();
  b.rings[3].table[5].len = 0;
  b.Ask(kSend, 3, 1, uint16_t{5});
  b.Settle();
  ASSERT_EQ(b.answers.size(), 2u);
  EXPECT_EQ(b.answers[0].status, BufferStatus::kFailed);
  EXPECT_EQ(b.answers[1].status, BufferStatus::kFailed);
  EXPECT_TRUE(b.codes.empty());
  b.rings[3].defective = false;
  b.rings[3].table[5].len = 1;
  b.Ask(kSend, 3, 1, uint16_t{5});
  b.Settle();
  EXPECT_EQ(b.answers.back().status, BufferStatus::kOk);
}

TEST(DescFetch, DoesNotTouchQueuesThatAreNotServed) {
  Bench b;
  b.SetKind(1, spec::TableQueueKind::kSq);  // not enabled
  b.Enable(2, 4);
  b.SetKind(2, spec::TableQueueKind::kSq, true);  // stopped
  b.Enable(3, 4);
  b.SetKind(3, spec::TableQueueKind::kNone);  // nobody's
  ASSERT_EQ(b.bench.Run(50), "");
  for (const size_t vq : {1u, 2u, 3u}) {
    b.rings[vq].served = false;
    b.Ask(0, vq, 4);
    b.Ask(1, vq, 1, uint16_t{0});
  }
  b.Settle();
  EXPECT_EQ(b.empties, 6u);
  EXPECT_EQ(b.reads.size(), 0u);
}

TEST(DescFetch, StartsAgainAtTheFirstEntryAfterResetOfPositions) {
  for (const bool by_kind_none : {false, true}) {
    Bench b;
    b.Enable(4, 8);
    ASSERT_EQ(b.bench.Run(50), "");
    b.MakeAvailable(4, 5);
    b.Ask(0, 4, 8);
    b.Settle();
    ASSERT_EQ(b.answers.size(), 5u);
    b.SetKind(4, by_kind_none ? spec::TableQueueKind::kNone : spec::TableQueueKind::kSq, false, !by_kind_none);
    b.SetKind(4, spec::TableQueueKind::kSq);
    Ring& ring = b.rings[4];
    ring.index = 0;
    b.MakeAvailable(4, 3);
    ASSERT_EQ(b.bench.Run(20), "");
    b.Ask(0, 4, 8);
    b.Settle();
    EXPECT_EQ(b.answers.size(), 8u);
  }
}

TEST(DescFetch, TakesAFullRingAgainAndAgain) {
  Bench b;
  b.Enable(7, 16);
  ASSERT_EQ(b.bench.Run(50), "");
  uint64_t given = 0;
  // 65536 and more entries: the index wraps, too.
  for (int i = 0; i < 6500; ++i) {
    b.MakeAvailable(7, i % 100 == 0 ? 16 : static_cast<unsigned>(13 + b.random() % 4));
    b.Ask(2, 7, 8);
    b.Ask(2, 7, 8);
    ASSERT_EQ(b.bench.RunOut(40), "");
    given = b.rings[7].taken;
    ASSERT_FALSE(HasFatalFailure());
  }
  b.Settle();
  EXPECT_GT(given, 66'000u);
}

TEST(DescFetch, AnAnswerGoesOnWhereTheRingBeginsAnew) {
  for (uint16_t before = 0; before <= 8; ++before) {
    SCOPED_TRACE(before);
    Bench b;
    b.Enable(7, 8);
    ASSERT_EQ(b.bench.Run(50), "");
    b.MakeAvailable(7, before);
    if (before != 0) b.Ask(2, 7, 8);
    b.Settle();
    b.MakeAvailable(7, 8);
    b.answers.clear();
    b.reads.clear();
    b.Ask(2, 7, 8);
    b.Settle();
    ASSERT_EQ(b.answers.size(), 8u);
    for (size_t i = 0; i < 8; ++i) EXPECT_EQ(b.answers[i].last, i == 7);
    EXPECT_EQ(b.reads.size(), 1u + (before % 8 == 0 ? 1 : 2) + 8);
  }
}

TEST(DescFetch, AFailureBeforeTheRingBeginsAnewSparesTheNextRequest) {
  for (const uint64_t at : {5u, 7u}) {
    Bench b;
    b.Enable(7, 8, Defect::kHead, at);
    b.Enable(3, 8);
    ASSERT_EQ(b.bench.Run(50), "");
    b.MakeAvailable(7, 4);
    b.Ask(2, 7, 4);
    b.Settle();
    b.MakeAvailable(7, 8);
    b.MakeAvailable(3, 8);
    b.answers.clear();
    b.Ask(2, 7, 8);
    b.Ask(3, 3, 8);
    b.Settle();
    EXPECT_EQ(b.rings[7].failures, 1u);
    EXPECT_EQ(b.answers.size(), at - 4 + 1 + 8);
  }
}

// --- Packed rings

TEST(DescFetch, TakesAPackedRingOfEverySizeAllTheWayAround) {
  for (const uint16_t size : std::initializer_list<uint16_t>{1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 100}) {
    for (const size_t vq : {3u, 4u}) {  // with chains and without
      SCOPED_TRACE(std::to_string(size) + " " + std::to_string(vq));
      auto b = std::make_unique<Bench>();
      b->UsePackedRings();
      b->Enable(vq, size);
      ASSERT_EQ(b->bench.Run(50), "");
      for (int i = 0; i < 3 * size + 20; ++i) {
        b->MakePacked(vq, static_cast<unsigned>(1 + b->random() % 12));
        b->Ask(2, vq, static_cast<unsigned>(1 + b->random() % 8));
        b->Ask(2, vq, 8);
        b->Settle(20);
        ASSERT_FALSE(HasFatalFailure());
        b->UsePacked(vq, b->random() % 2);
      }
      EXPECT_EQ(b->rings[vq].failures, 0u);
      EXPECT_GT(b->rings[vq].taken, 3u * size / 4);
    }
  }
}

TEST(DescFetch, ReadsAPackedRingNoFurtherThanItWasAskedFor) {
  for (unsigned count = 1; count <= 8; ++count) {
    for (uint16_t before = 0; before < 11; ++before) {
      SCOPED_TRACE(std::to_string(count) + " " + std::to_string(before));
      Bench b;
      b.UsePackedRings();
      b.Enable(4, 11);
      ASSERT_EQ(b.bench.Run(50), "");
      for (uint16_t i = 0; i < before; ++i) {
        b.MakePacked(4);
        b.Ask(0, 4, 1);
        b.Settle(10);
        b.UsePacked(4);
      }
      b.MakePacked(4, 11);
      b.answers.clear();
      b.reads.clear();
      b.Ask(0, 4, count);
      b.Settle(10);
      ASSERT_EQ(b.answers.size(), count);
      EXPECT_TRUE(b.answers.back().last);
      size_t descriptors = 0;
      for (const DmaReadRequest& read : b.reads) descriptors += read.bytes / PvirtqDesc::kBytes;
      EXPECT_EQ(descriptors, count);
    }
  }
}

TEST(DescFetch, FindsTheEndOfAPackedChainAndGoesOnBehindIt) {
  Bench b;
  b.UsePackedRings();
  b.Enable(3, 100);
  ASSERT_EQ(b.bench.Run(50), "");
  b.follow = false;
  b.MakePacked(3, 1, 1);
  b.MakePacked(3, 1, DescFetch::kChainMost);
  b.MakePacked(3, 1, 3);
  b.MakePacked(3, 1, 1);
  b.Ask(3, 3, 8);
  b.Settle();
  ASSERT_EQ(b.answers.size(), 4u);
  EXPECT_EQ(b.answers[1].head, kWrap | 1);
  EXPECT_EQ(b.answers[1].next_index, kWrap | 2);
  EXPECT_EQ(b.answers[2].head, kWrap | 65);
  EXPECT_EQ(b.answers[3].head, kWrap | 68);
  EXPECT_TRUE(b.answers[3].last);
  // Each part by its index, with either wrap counter.
  for (uint16_t place = 1; place < 4; ++place) {
    b.Ask(3, 3, 1, static_cast<uint16_t>(place | kWrap));
    b.Ask(3, 3, 1, place);
  }
  b.Settle();
  EXPECT_EQ(b.answers.size(), 10u);
}

TEST(DescFetch, EveryDescriptorOfAPackedRingComesWithItsIdAndThePlaceBehindIt) {
  constexpr uint16_t kSize = 5;
  for (const spec::BufferClient client :
       {spec::BufferClient::kControl, spec::BufferClient::kNetTransmit, spec::BufferClient::kNetReceive}) {
    for (unsigned descriptors = 1; descriptors <= kSize; ++descriptors) {
      SCOPED_TRACE(descriptors);
      Bench b;
      b.UsePackedRings();
      b.Enable(3, kSize);
      ASSERT_EQ(b.bench.Run(50), "");
      uint16_t place = kWrap;
      for (unsigned lap = 0; lap < 4 * kSize; ++lap) {
        b.MakePacked(3, 1, descriptors);
        const uint16_t id = b.rings[3].buffers.front().id;
        b.answers.clear();
        b.Ask(static_cast<size_t>(client), 3, 1);
        b.Settle(20);  // follows the chain
        ASSERT_EQ(b.answers.size(), descriptors);
        for (const Buffer& buffer : b.answers) {
          EXPECT_EQ(buffer.head, place);
          EXPECT_TRUE(buffer.has_id);
          place = NextPlace(place, kSize);
          EXPECT_EQ(buffer.next_index, place);
        }
        EXPECT_EQ(b.answers.back().id, id);
        b.UsePacked(3);
      }
      EXPECT_EQ(b.ids, 4u * kSize);
    }
  }
}

TEST(DescFetch, ABufferInATableOrOfASplitRingHasNoId) {
  for (const bool packed : {false, true}) {
    Bench b;
    if (packed) b.UsePackedRings();
    b.AcceptTables();
    b.Enable(3, 8);
    ASSERT_EQ(b.bench.Run(50), "");
    unsigned with_id = 0, in_ring = 0;
    for (unsigned i = 0; i < 100; ++i) {
      const unsigned made = b.tables_made;
      if (packed) {
        b.MakePacked(3, 1, 1);
      } else {
        b.MakeAvailable(3);
      }
      in_ring += packed && made == b.tables_made;
      b.Ask(5, 3, 1);
      b.Settle(20);
      b.UsePacked(3);
    }
    for (const Buffer& buffer : b.answers) with_id += buffer.has_id;
    EXPECT_GT(b.tables_made, 10u);
    EXPECT_EQ(with_id, in_ring);
    EXPECT_EQ(in_ring > 10, packed);
  }
}

TEST(DescFetch, APackedChainThatIsTooLongOrNeverEndsStopsTheQueue) {
  struct Case {
    uint16_t size;
    unsigned descriptors;
    bool endless;
    bool chains;
  };
  for (const Case& c : {Case{100, DescFetch::kChainMost + 1, false, true}, Case{5, 5, true, true},
                        Case{64, 64, true, true}, Case{1, 1, true, true}, Case{8, 2, false, false}}) {
    SCOPED_TRACE(c.size);
    Bench b;
    b.UsePackedRings();
    const size_t vq = c.chains ? 3 : 4;
    b.Enable(vq, c.size);
    ASSERT_EQ(b.bench.Run(50), "");
    Ring& ring = b.rings[vq];
    b.MakePacked(vq, 1, c.descriptors);
    if (c.endless) {
      for (PvirtqDesc& descriptor : ring.memory) descriptor.flags |= VirtqDescFlags::kNext;
    }
    ring.defect = Defect::kIndex;  // the code
    ring.defective = true;
    b.Ask(1, vq, 8);
    b.Ask(1, vq, 8);
    b.Settle();
    ASSERT_EQ(b.answers.size(), 2u);
    EXPECT_EQ(b.answers[0].status, BufferStatus::kFailed);
    EXPECT_EQ(b.answers[1].status, BufferStatus::kFailed);
    EXPECT_EQ(b.codes[RdmaError::kBadDescriptor], 1u);
  }
}

TEST(DescFetch, TellsWhyAPackedQueueBreaksOnceAndAnswersFailedUntilItsReset) {
  for (const Defect defect : kDefects) {
    for (const size_t vq : {3u, 5u}) {
      for (const uint64_t at : {0u, 3u}) {
        SCOPED_TRACE("defect " + std::to_string(static_cast<int>(defect)) + " at " + std::to_string(at));
        auto b = std::make_unique<Bench>();
        b->UsePackedRings();
        b->follow = false;
        b->Enable(vq, 30, defect, defect == Defect::kDmaError ? 0 : at);
        ASSERT_EQ(b->bench.Run(50), "");
        b->MakePacked(vq, 5);
        b->Ask(0, vq, 8);
        b->Settle();
        b->Ask(0, vq, 8);
        b->Settle();
        const size_t good = defect == Defect::kDmaError ? 0 : at;
        ASSERT_EQ(b->answers.size(), good + 2);
        for (size_t i = 0; i < good; ++i) EXPECT_EQ(b->answers[i].status, BufferStatus::kOk);
        EXPECT_EQ(b->answers[good].status, BufferStatus::kFailed);
        EXPECT_EQ(b->rings[vq].failures, 1u);
        const size_t reads = b->reads.size();
        b->Ask(1, vq, 1);
        b->Ask(2, vq, 1, uint16_t{0});
        b->Settle();
        EXPECT_EQ(b->reads.size(), reads) << "a broken queue is read";

        b->Enable(vq, 7);
        ASSERT_EQ(b->bench.Run(50), "");
        b->MakePacked(vq, 1);
        b->MakePacked(vq, 1);
        b->answers.clear();
        b->Ask(0, vq, 8);
        b->Settle();
        ASSERT_GE(b->answers.size(), 1u);
        EXPECT_EQ(b->answers[0].status, BufferStatus::kOk);
        EXPECT_EQ(b->answers[0].head, kWrap);
      }
    }
  }
}

// --- Indirect tables

TEST(DescFetch, ATableThatBreaksARuleStopsTheQueue) {
  struct Case {
    const char* text;
    RdmaError code;
    std::function<void(Bench&, const spec::TableWindow&, VirtqDesc&)> spoil;
    bool split_only = false;
  };
  const auto entry = [](Bench& b, const VirtqDesc& named, const std::function<void(VirtqDesc&)>& change) {
    // Address and length lie at the same place in both formats.
    auto& bytes = b.table_memory[named.addr];
    VirtqDesc first = VirtqDesc::Decode(bytes.data());
    change(first);
    first.Encode(bytes.data());
  };
  using Window = spec::TableWindow;
  const Case cases[] = {
      {"goes on", RdmaError::kBadDescriptor,
       [](Bench&, const Window&, VirtqDesc& d) { d.flags |= VirtqDescFlags::kNext; }},
      {"is empty", RdmaError::kBadDescriptor, [](Bench&, const Window&, VirtqDesc& d) { d.len = 0; }},
      {"is half a descriptor", RdmaError::kBadDescriptor, [](Bench&, const Window&, VirtqDesc& d) { d.len = 8; }},
      {"has no whole descriptors", RdmaError::kBadDescriptor, [](Bench&, const Window&, VirtqDesc& d) { d.len = 20; }},
      {"is too long", RdmaError::kBadDescriptor,
       [](Bench&, const Window&, VirtqDesc& d) { d.len = DescFetch::kTableBytesMost + VirtqDesc::kBytes; }},
      {"wraps", RdmaError::kBadDescriptor,
       [](Bench&, const Window&, VirtqDesc& d) { d.addr = ~uint64_t{0} - d.len + 2; }},
      {"begins outside", RdmaError::kWindowViolation,
       [](Bench&, const Window& w, VirtqDesc& d) { d.addr = w.base - VirtqDesc::kBytes; }},
      {"ends outside", RdmaError::kWindowViolation,
       [](Bench&, const Window& w, VirtqDesc& d) { d.addr = w.last + 2 - d.len; }},
      {"names what is outside", RdmaError::kWindowViolation,
       [&](Bench& b, const Window& w, VirtqDesc& d) {
         entry(b, d, [&](VirtqDesc& e) { e.addr = w.last, e.len = 2; });
       }},
      {"names nothing", RdmaError::kBadDescriptor,
       [&](Bench& b, const Window&, VirtqDesc& d) { entry(b, d, [](VirtqDesc& e) { e.len = 0; }); }},
      {"names what wraps", RdmaError::kBadDescriptor,
       [&](Bench& b, const Window&, VirtqDesc& d) {
         entry(b, d, [](VirtqDesc& e) { e.addr = ~uint64_t{0}, e.len = 2; });
       }},
      {"is nested", RdmaError::kBadDescriptor,
       [&](Bench& b, const Window&, VirtqDesc& d) {
         entry(b, d, [](VirtqDesc& e) { e.flags = VirtqDescFlags::kIndirect, e.len = VirtqDesc::kBytes; });
       },
       true},
  };
  for (const bool packed : {false, true}) {
    for (const Case& c : cases) {
      for (const size_t vq : {3u, 4u}) {
        if (packed && c.split_only) continue;
        SCOPED_TRACE(std::string(packed ? "packed: " : "split: ") + c.text);
        auto b = std::make_unique<Bench>();
        if (packed) b->UsePackedRings();
        b->AcceptTables();
        b->Enable(vq, 8);
        Ring& ring = b->rings[vq];
        b->SetWindow(vq, {.enable = true, .base = ring.window.base, .last = ring.window.base + 9999});
        ASSERT_EQ(b->bench.Run(50), "");
        VirtqDesc named = b->Table(vq, b->Random(vq));
        c.spoil(*b, ring.window, named);
        b->tables = false;  // made here
        if (packed) {
          b->MakePacked(vq, 1, 1);
          PvirtqDesc& place = ring.memory[0];
          place.addr = named.addr;
          place.len = named.len;
          place.flags |= named.flags & (VirtqDescFlags::kIndirect | VirtqDescFlags::kNext);
        } else {
          b->MakeAvailable(vq);
          ring.table[ring.available.front()] = named;
        }
        ring.defective = true;
        ring.defect = c.code == RdmaError::kWindowViolation ? Defect::kBelow : Defect::kIndirect;  // the code
        b->Ask(0, vq, 8);
        b->Ask(0, vq, 8);
        b->Settle();
        ASSERT_EQ(b->answers.size(), 2u);
        for (const Buffer& answer : b->answers) EXPECT_EQ(answer.status, BufferStatus::kFailed);
        EXPECT_EQ(b->codes[c.code], 1u);
        EXPECT_EQ(ring.failures, 1u);
      }
    }
  }
}

TEST(DescFetch, ATableWithoutTheFeatureOrWhoseReadFailsStopsTheQueue) {
  for (const bool packed : {false, true}) {
    for (const bool has_feature : {false, true}) {
      Bench b;
      if (packed) b.UsePackedRings();
      if (has_feature) b.AcceptTables();
      // The reads before that of the table.
      b.Enable(4, 8, has_feature ? Defect::kDmaError : Defect::kIndirect, has_feature ? (packed ? 1 : 3) : 0);
      ASSERT_EQ(b.bench.Run(50), "");
      if (packed) {
        b.MakePacked(4, 1);
        if (has_feature && (b.rings[4].memory[0].flags & VirtqDescFlags::kIndirect) == 0) {
          const VirtqDesc named = b.Table(4, b.Random(4));
          b.rings[4].memory[0].addr = named.addr;
          b.rings[4].memory[0].len = named.len;
          b.rings[4].memory[0].flags |= VirtqDescFlags::kIndirect;
        }
      } else {
        b.MakeAvailable(4);
        if (has_feature) b.rings[4].table[b.rings[4].available.front()] = b.Table(4, b.Random(4));
      }
      b.rings[4].defective = true;
      b.Ask(0, 4, 1);
      b.Settle();
      ASSERT_EQ(b.answers.size(), 1u);
      EXPECT_EQ(b.answers[0].status, BufferStatus::kFailed);
      EXPECT_EQ(b.codes[has_feature ? RdmaError::kQueueDmaError : RdmaError::kBadDescriptor], 1u);
      EXPECT_EQ(b.table_out.count, has_feature ? 1u : 0u);
    }
  }
}

TEST(DescFetch, AnIndexBehindATableStopsTheQueue) {
  for (const bool packed : {false, true}) {
    Bench b;
    if (packed) b.UsePackedRings();
    b.AcceptTables();
    b.Enable(3, 8);
    ASSERT_EQ(b.bench.Run(50), "");
    const VirtqDesc named = b.Table(3, b.Random(3));
    const Buffer table{.indirect = true,
                       .table_address = named.addr,
                       .table_entries = static_cast<uint16_t>(named.len / VirtqDesc::kBytes)};
    b.follow = false;
    for (uint16_t i = 0; i < table.table_entries; ++i) b.Ask(3, 3, 1, i, &table);
    b.Settle();
    EXPECT_EQ(b.answers.size(), table.table_entries);
    b.rings[3].defective = true;
    b.rings[3].defect = Defect::kIndirect;  // the code
    b.Ask(3, 3, 1, table.table_entries, &table);
    b.Settle();
    EXPECT_EQ(b.codes[RdmaError::kBadDescriptor], 1u);
  }
}

TEST(DescFetch, OfAPackedTableAFlagThatIsNotWriteMeansNothing) {
  Bench b;
  b.UsePackedRings();
  b.AcceptTables();
  b.Enable(3, 8);
  ASSERT_EQ(b.bench.Run(50), "");
  b.tables = false;
  b.MakePacked(3, 1, 1);
  const uint64_t address = b.rings[3].window.base;
  for (unsigned i = 0; i < 3; ++i) {
    PvirtqDesc{
        .addr = address + 1000, .len = 1 + i, .id = 0xffff, .flags = static_cast<uint16_t>(i == 1 ? 0xffff : 0xfffd)}
        .Encode(b.table_memory[address + i * PvirtqDesc::kBytes].data());
  }
  b.rings[3].memory[0].addr = address;
  b.rings[3].memory[0].len = 3 * PvirtqDesc::kBytes;
  b.rings[3].memory[0].flags |= VirtqDescFlags::kIndirect;
  b.rings[3].buffers.front().table = true;
  b.Ask(3, 3, 8);
  b.Settle();
  ASSERT_EQ(b.answers.size(), 3u);
  for (unsigned i = 0; i < 3; ++i) {
    EXPECT_EQ(b.answers[i].status, BufferStatus::kOk);
    EXPECT_EQ(b.answers[i].bytes, 1 + i);
    EXPECT_EQ(b.answers[i].writable, i == 1);
    EXPECT_EQ(b.answers[i].more, i < 2);
  }
}

// [virtio 1.3, 2.7.5.3.2]
TEST(DescFetch, ASplitChainMayEndInATable) {
  Bench b;
  b.AcceptTables();
  b.Enable(3, 8);
  ASSERT_EQ(b.bench.Run(50), "");
  Ring& ring = b.rings[3];
  ring.table[2].flags |= VirtqDescFlags::kNext;
  ring.table[2].next = 5;
  VirtqDesc last = b.Random(3);
  ring.table[5] = b.Table(3, last);
  b.Ask(3, 3, 1, uint16_t{2});
  b.Settle();
  b.Ask(3, 3, 1, uint16_t{5});
  b.Settle();
  const unsigned entries = ring.table[5].len / VirtqDesc::kBytes;
  EXPECT_EQ(b.answers.size(), 2 + b.followed);
  EXPECT_EQ(b.followed > 0, entries > 1);
  EXPECT_EQ(b.answers[1].address, last.addr);
  EXPECT_EQ(b.table_out.count, 1u);
}

TEST(DescFetch, APackedChainWithATableStopsTheQueue) {
  for (const unsigned at : {0u, 1u, 2u}) {
    Bench b;
    b.UsePackedRings();
    b.AcceptTables();
    b.Enable(3, 8);
    ASSERT_EQ(b.bench.Run(50), "");
    b.MakePacked(3, 1, 3);
    const VirtqDesc named = b.Table(3, b.Random(3));
    b.rings[3].memory[at].addr = named.addr;
    b.rings[3].memory[at].len = named.len;
    b.rings[3].memory[at].flags |= VirtqDescFlags::kIndirect;
    b.rings[3].defective = true;
    b.rings[3].defect = Defect::kIndirect;  // the code
    b.Ask(3, 3, 1);
    b.Settle();
    ASSERT_EQ(b.answers.size(), 1u);
    EXPECT_EQ(b.codes[RdmaError::kBadDescriptor], 1u);
    EXPECT_EQ(b.table_out.count, 0u);
  }
}

TEST(DescFetch, HasTheLatenciesOfItsPageWithTables) {
  for (const bool packed : {false, true}) {
    Bench b;
    if (packed) b.UsePackedRings();
    b.AcceptTables();
    b.Enable(4, 8);
    ASSERT_EQ(b.bench.Run(50), "");
    b.rings[4].table[2] = b.Table(4, b.Random(4));
    b.rings[4].memory[2].addr = b.rings[4].table[2].addr;
    b.rings[4].memory[2].len = b.rings[4].table[2].len;
    b.rings[4].memory[2].flags = VirtqDescFlags::kIndirect;
    b.follow = false;
    b.descriptor_in.rate = b.table_in_memory.rate = 0;
    b.Ask(0, 4, 1, uint16_t{2});
    ASSERT_EQ(b.bench.Run(30), "");
    b.descriptor_in.rate = 16;
    ASSERT_EQ(b.bench.Run(DescFetch::kDescriptorToTableRead), "");
    EXPECT_EQ(b.table_out.count, 0u);
    ASSERT_EQ(b.bench.Run(1), "");
    EXPECT_EQ(b.table_out.count, 1u);
    ASSERT_EQ(b.bench.Run(30), "");
    b.table_in_memory.rate = 16;
    ASSERT_EQ(b.bench.Run(DescFetch::kTableToBuffer), "");
    EXPECT_EQ(b.answers.size(), 0u);
    ASSERT_EQ(b.bench.Run(1), "");
    EXPECT_EQ(b.answers.size(), 1u);
  }
}

// --- avail_event

TEST(DescFetch, SaysOnceWhatARingHoldsWhenAnAnswerIsShort) {
  Bench b;
  b.AcceptEventIdx();
  b.Enable(4, 8);
  ASSERT_EQ(b.bench.Run(50), "");
  b.MakeAvailable(4, 4);
  b.Ask(0, 4, 3);
  b.Settle();
  EXPECT_EQ(b.avail_events, 0u);
  b.MakeAvailable(4, 1);
  b.Ask(0, 4, 2);  // there are two: who asks must ask again
  b.Settle();
  EXPECT_EQ(b.avail_events, 0u);
  b.Ask(0, 4, 2);
  b.Settle();
  EXPECT_EQ(b.avail_events, 1u);
  EXPECT_EQ(b.rings[4].avail_event, 5);
  b.Ask(0, 4, 8);
  b.Settle();
  EXPECT_EQ(b.avail_events, 1u);
  b.MakeAvailable(4, 2);
  b.Ask(0, 4, 8);
  b.Settle();
  EXPECT_EQ(b.avail_events, 2u);
  EXPECT_EQ(b.rings[4].avail_event, 7);

  // A new life begins at 0, which a driver need not have written: it is said, too.
  for (const bool by_row : {false, true}) {
    if (by_row) {
      b.Enable(4, 8);
    } else {
      b.SetKind(4, spec::TableQueueKind::kSq, false, true);
      b.rings[4].index = 0;
      b.rings[4].taken = b.rings[4].added = 0;
    }
    ASSERT_EQ(b.bench.Run(50), "");
    const unsigned before = b.avail_events;
    b.rings[4].avail_event.reset();
    b.Ask(0, 4, 8);
    b.Ask(0, 4, 8);
    b.Settle();
    EXPECT_EQ(b.avail_events, before + 1);
    EXPECT_EQ(b.rings[4].avail_event, 0);
  }
}

TEST(DescFetch, SaysNothingOfQueuesThatNobodyRingsFor) {
  for (const auto kind : {spec::TableQueueKind::kCq, spec::TableQueueKind::kEvent}) {
    Bench b;
    b.AcceptEventIdx();
    b.Enable(4, 8);
    b.SetKind(4, kind);
    ASSERT_EQ(b.bench.Run(50), "");
    b.MakeAvailable(4, 1);
    b.rings[4].avail_event = 1;  // for the bench, which knows no kinds
    b.Ask(0, 4, 8);
    b.Settle();
    EXPECT_EQ(b.avail_events, 0u);
  }
}

// Driver and device as they are with ring_event_idx: the driver rings only when it adds the entry that avail_event
// names; a pulse of descriptor fetch becomes avail_event some time later, and a ring of the device's own. Whatever was
// made available is found.
TEST(DescFetch, ADriverThatRingsOnlyWhereAvailEventSaysIsNeverOverlooked) {
  Bench b;
  b.AcceptEventIdx();
  b.Enable(4, 16);
  ASSERT_EQ(b.bench.Run(50), "");
  Ring& ring = b.rings[4];
  uint16_t avail_event = 0x8000;  // in memory: far away
  bool rung = true;               // when the queue is enabled
  bool full = false;              // the last answer was as long as asked for
  std::deque<std::pair<Cycle, uint16_t>> writes;
  unsigned told = 0, rings = 0, additions = 0;
  for (int step = 0; step < 20'000; ++step) {
    if (b.random() % 16 < (step / 1000 % 2 == 0 ? 1u : 8u)) {
      const uint16_t before = ring.index;
      b.MakeAvailable(4, static_cast<unsigned>(1 + b.random() % 3));
      const auto added = static_cast<uint16_t>(ring.index - before);
      additions += added != 0;
      // [virtio 1.3, 2.7.10]
      if (static_cast<uint16_t>(avail_event - before) < added) {
        rung = true;
        ++rings;
      }
    }
    if (b.avail_events != told) {
      told = b.avail_events;
      writes.emplace_back(b.bench.cycle() + b.random() % 60, *ring.avail_event);
    }
    if (!writes.empty() && writes.front().first <= b.bench.cycle()) {
      avail_event = writes.front().second;
      writes.pop_front();
      rung = true;
    }
    if (ring.outstanding == 0 && (rung || full)) {
      rung = full = false;
      b.answers.clear();
      b.Ask(0, 4, 4);
    }
    ASSERT_EQ(b.bench.Run(1 + b.random() % 20), "");
    ASSERT_FALSE(HasFatalFailure());
    if (ring.outstanding == 0 && b.answers.size() == 4) full = true;
  }
  for (int i = 0; i < 2000; ++i) {
    if (b.avail_events != told) {
      told = b.avail_events;
      writes.emplace_back(b.bench.cycle(), *ring.avail_event);
    }
    if (!writes.empty()) rung = true, writes.pop_front();
    if (ring.outstanding == 0 && b.answers.size() == 4) full = true;
    if (ring.outstanding == 0 && (rung || full)) {
      rung = full = false;
      b.answers.clear();
      b.Ask(0, 4, 4);
    }
    ASSERT_EQ(b.bench.Run(10), "");
  }
  EXPECT_TRUE(ring.available.empty()) << "overlooked";
  EXPECT_GT(additions, 1000u);
  EXPECT_GT(rings, 100u);
  EXPECT_LT(rings, additions);
}

TEST(DescFetch, WalksAPackedQueueOnceAtATimeAndThoseOfOthersMeanwhile) {
  Bench b;
  b.UsePackedRings();
  b.Enable(1, 8);
  b.Enable(2, 8);
  ASSERT_EQ(b.bench.Run(50), "");
  b.MakePacked(1, 8);
  b.MakePacked(2, 8);
  b.ring_in.rate = 0;
  b.Ask(0, 1, 1);
  b.Ask(1, 2, 1);
  b.Ask(0, 1, 1);
  ASSERT_EQ(b.bench.Run(60), "");
  EXPECT_EQ(b.reads.size(), 2u);
  b.ring_in.rate = 16;
  b.Settle();
  EXPECT_EQ(b.answers.size(), 3u);
}

TEST(DescFetch, HasTheLatenciesOfItsPageWithPackedRings) {
  for (const bool one : {true, false}) {  // buffer
    Bench b;
    b.UsePackedRings();
    b.Enable(1, 8);
    ASSERT_EQ(b.bench.Run(50), "");
    b.MakePacked(1, one ? 1 : 4);
    b.ring_in.rate = 0;
    b.Ask(0, 1, 4);
    ASSERT_EQ(b.bench.Run(DescFetch::kRequestToPackedRead), "");
    EXPECT_EQ(b.reads.size(), 0u);
    ASSERT_EQ(b.bench.Run(1), "");
    EXPECT_EQ(b.reads.size(), 1u);
    ASSERT_EQ(b.bench.Run(10), "");
    b.ring_in.rate = 16;
    // Whether one is the last is known when the next descriptor was looked at.
    ASSERT_EQ(b.bench.Run(DescFetch::kPackedToBuffer - (one ? 0 : 1)), "");
    EXPECT_EQ(b.answers.size(), 0u);
    ASSERT_EQ(b.bench.Run(1), "");
    EXPECT_EQ(b.answers.size(), 1u);
    if (one) continue;
    ASSERT_EQ(b.bench.Run(3 * DescFetch::kCyclesPerBuffer - 1), "");
    EXPECT_EQ(b.answers.size(), 3u);
    ASSERT_EQ(b.bench.Run(1), "");
    EXPECT_EQ(b.answers.size(), 4u);
  }
}

TEST(DescFetch, ReadsTheIndexOfAQueueOnceAtATimeAndThoseOfOthersMeanwhile) {
  Bench b;
  b.Enable(1, 8);
  b.Enable(2, 8);
  ASSERT_EQ(b.bench.Run(50), "");
  b.MakeAvailable(1, 8);
  b.MakeAvailable(2, 8);
  b.index_in.rate = 0;
  b.Ask(0, 1, 1);
  b.Ask(1, 2, 1);
  b.Ask(0, 1, 1);
  ASSERT_EQ(b.bench.Run(60), "");
  EXPECT_EQ(b.reads.size(), 2u);
  b.index_in.rate = 16;
  b.Settle();
  EXPECT_EQ(b.answers.size(), 3u);
}

TEST(DescFetch, HasTheLatenciesOfItsPage) {
  Bench b;
  b.Enable(1, 8);
  ASSERT_EQ(b.bench.Run(50), "");
  b.MakeAvailable(1, 8);
  b.index_in.rate = b.ring_in.rate = b.descriptor_in.rate = 0;
  const auto until_read = [&](Cycle latency, size_t reads) {
    const Cycle begin = b.bench.cycle();
    EXPECT_EQ(b.bench.Run(latency), "");
    EXPECT_EQ(b.reads.size(), reads - 1) << "too early";
    EXPECT_EQ(b.bench.Run(1), "");
    EXPECT_EQ(b.reads.size(), reads) << "too late";
    EXPECT_EQ(b.last_read, begin + latency);
  };
  b.Ask(0, 1, 3);
  until_read(DescFetch::kRequestToIndexRead, 1);
  b.index_in.rate = 16;
  until_read(DescFetch::kIndexToRingRead, 2);
  b.ring_in.rate = 16;
  until_read(DescFetch::kRingToDescriptorRead, 3);
  ASSERT_EQ(b.bench.Run(10), "");
  b.descriptor_in.rate = 16;
  const Cycle begin = b.bench.cycle();
  ASSERT_EQ(b.bench.Run(DescFetch::kDescriptorToBuffer), "");
  EXPECT_EQ(b.answers.size(), 0u);
  ASSERT_EQ(b.bench.Run(1), "");
  EXPECT_EQ(b.answers.size(), 1u);
  ASSERT_EQ(b.bench.Run(2 * DescFetch::kCyclesPerBuffer - 1), "");
  EXPECT_EQ(b.answers.size(), 2u);
  ASSERT_EQ(b.bench.Run(1), "");
  EXPECT_EQ(b.answers.size(), 3u);
  EXPECT_EQ(b.last_buffer, begin + DescFetch::kDescriptorToBuffer + 2 * DescFetch::kCyclesPerBuffer);
}

TEST(DescFetch, ClearsOfEveryQueueAtOnceDisturbNoOtherWrite) {
  Bench b;
  for (size_t vq = 0; vq < kQueues; ++vq) b.Enable(vq, 16);
  ASSERT_EQ(b.bench.Run(200), "");
  for (int round = 0; round < 200; ++round) {
    for (size_t vq = 0; vq < kClients; ++vq) {
      b.MakeAvailable(vq, 3);
      b.Ask(vq, vq, 8);
    }
    // Queues 8 to 15 are reset in a row, one in every cycle, with a table write now and then.
    for (size_t vq = 8; vq < kQueues; ++vq) b.row_in.tokens.push_back(b.rings[vq].row);
    b.SetKind(15, spec::TableQueueKind::kSq, false, true);
    ASSERT_EQ(b.bench.Run(30 + b.random() % 8), "");
    ASSERT_FALSE(HasFatalFailure());
  }
  b.Settle();
}

}  // namespace
}  // namespace vireo::verif
