// SPDX-License-Identifier: Apache-2.0
// Follows the virtqueues of one NIC by what crosses its seam: the driver's writes to common configuration say where
// rings lie, firmware's table writes whose they are, DMA reads and writes what happens in them. Knows split and packed
// rings and indirect tables, work requests of send queues, and CQEs; of other queues only that they are there.
//
// Nothing is read from memory: what is known was seen. So it must see the NIC from before its driver opens it; the ring
// format of a device that was open already is taken for split.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "sim/nic/nic.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::sim {

// When an event was, in cycles of the NIC where it was; and the how manieth of its kind there, from 0, so that two
// devices' events can be paired.
struct EventMark {
  Cycle cycle = kNever;
  uint64_t number = 0;

  bool is_set() const { return cycle != kNever; }
};

// A send work request as the device read it for the first time.
struct WorkRequest {
  uint32_t qpn = 0;
  uint16_t queue = 0;
  uint64_t wr_id = 0;
  spec::IbWrOpcode opcode{};
  uint8_t send_flags = 0;
  uint32_t rkey = 0, remote_qpn = 0;
  uint64_t remote_addr = 0;
  uint32_t bytes = 0;
  bool knows_bytes = false;  // false: a list of several elements, of which only the packets tell
  // The last ring of the queue before the device looked; then what it read. No ring, no mark: the device looked by
  // itself. Packed rings have no index.
  EventMark doorbell, index_read, ring_read, descriptor_read, read, completed;
};

class RingWatch {
 public:
  class Listener {
   public:
    // In the order of the ring.
    virtual void OnWorkRequest(const WorkRequest& request) = 0;
    // The oldest buffer of a QP's queue came back; `was_read` false: its work request was never (wholly) read.
    virtual void OnSendUsed(uint32_t qpn, EventMark mark, bool was_read) = 0;
    virtual void OnReceiveUsed(uint32_t qpn, EventMark mark) = 0;
    virtual void OnCompletion(uint16_t queue, const spec::RdmaCqReq& cqe, EventMark mark) = 0;
    // The driver can see what was written to that completion queue.
    virtual void OnCompletionVisible(uint16_t queue, EventMark mark) = 0;

   protected:
    ~Listener() = default;
  };
  // Things that do not fit what is known, which are left out of everything else.
  struct Counters {
    uint64_t doorbells = 0;    // of no queue that is enabled
    uint64_t used = 0;         // buffers that came back and were not given
    uint64_t completions = 0;  // CQEs that could not be read
    friend bool operator==(const Counters&, const Counters&) = default;
  };

  explicit RingWatch(Listener& listener) : listener_(listener) {}

  // What an access was about.
  enum class Place : uint8_t { kOther, kRing, kBuffer };
  void OnReset();
  void OnBarWrite(const BoundaryEvent& event, EventMark mark);
  // Only table_virtqueue; others are ignored.
  void OnTableWrite(spec::MgmtTable table, uint32_t index, std::span<const uint8_t> entry);
  Place OnRead(const BoundaryEvent& event, EventMark mark);
  void OnReadData(const BoundaryEvent& event, EventMark mark);
  Place OnWrite(const BoundaryEvent& event, EventMark mark);

  // Nothing if it has none.
  uint16_t VectorOf(uint16_t queue) const { return queue < queues_.size() ? queues_[queue].vector : kNoVector; }
  static constexpr uint16_t kNoVector = spec::kVirtioMsiNoVector;
  const Counters& counters() const { return counters_; }

 private:
  // What the device reads of a work request at first: its head, and its end with one element.
  static constexpr size_t kHeadBytes = spec::RdmaSqReq::kInlineDataOffset;
  static constexpr size_t kTailAt = spec::RdmaSqReq::kSizeOffset;
  static constexpr size_t kTailBytes = spec::RdmaSqReq::kBytes - kTailAt + spec::RdmaSge::kBytes;

  // A buffer that the device took from a ring and has not given back.
  struct Buffer {
    uint32_t head = 0;
    bool has_head = false, has_place = false, is_table = false;
    bool is_read = false;  // wholly, that is what is read of it at first
    bool is_told = false;  // the listener knows it
    uint64_t address = 0;
    uint32_t bytes = 0;
    std::array<uint8_t, kHeadBytes + kTailBytes> content{};  // of a CQE: its bytes
    uint32_t have = 0;                                       // bytes of it
    WorkRequest request;
  };
  // A read of descriptors of a packed ring.
  struct PackedRead {
    uint64_t address = 0;
    EventMark mark;
    std::vector<uint8_t> data;
    bool is_complete = false;
  };
  struct Queue {
    // As written to common configuration.
    uint16_t size = 0, vector = kNoVector;
    uint64_t desc = 0, driver = 0, device = 0;
    bool enabled = false;
    spec::TableQueueKind kind{};
    uint32_t owner = 0;
    // Since it was enabled.
    EventMark doorbell, index_read;
    std::deque<Buffer> buffers;
    uint64_t first = 0;             // number of the front one
    uint64_t told = 0;              // number of the first that the listener does not know
    std::deque<PackedRead> packed;  // that have not been walked
    uint64_t first_packed = 0;      // number of the front one
    uint16_t next_place = 0;
    bool wrap = true, in_chain = false;
  };
  enum class Part : uint8_t { kDescriptors, kDriver, kDevice };
  struct Region {
    uint64_t end = 0;
    uint16_t queue = 0;
    Part part{};
  };
  struct BufferName {
    uint16_t queue = 0;
    uint64_t number = 0;
  };
  enum class Use : uint8_t { kNone, kRingEntries, kDescriptor, kPacked, kTable, kBufferData };
  struct Read {
    Use use{};
    BufferName buffer;  // of kRingEntries: the first one; of kPacked: the number of the read
    uint64_t address = 0;
    EventMark mark;
  };

  void WriteCommon(uint64_t offset, uint64_t value, unsigned bytes);
  void Enable(uint16_t index);
  void Disable(uint16_t index);
  Buffer* Find(const BufferName& name);
  const Region* RegionAt(uint64_t address, uint64_t* begin) const;
  // The buffer in which the address lies; null if in none.
  Buffer* BufferAt(uint64_t address, BufferName* name);
  Buffer& Take(uint16_t queue, EventMark ring_read);
  void SetPlace(const BufferName& name, uint64_t address, uint32_t bytes, uint16_t flags);
  void ReadPacked(const BufferName& name, std::span<const uint8_t> data, bool is_last);
  void WalkPacked(uint16_t queue, const PackedRead& read);
  void ReadBufferData(const BufferName& name, uint64_t address, std::span<const uint8_t> data, EventMark mark);
  void Parse(Queue& queue, Buffer& buffer, EventMark mark);
  void Tell(Queue& queue);
  void Used(uint16_t queue, EventMark mark, uint32_t head, bool has_head);

  Listener& listener_;
  Counters counters_;
  uint16_t selected_ = 0;
  uint32_t feature_window_ = 0;
  bool is_packed_ = false;
  std::vector<Queue> queues_;
  std::map<uint64_t, Region> regions_;         // by begin
  std::map<uint64_t, BufferName> by_address_;  // buffers of send and completion queues, and tables
  std::unordered_map<uint32_t, Read> reads_;   // by tag
};

}  // namespace vireo::sim
