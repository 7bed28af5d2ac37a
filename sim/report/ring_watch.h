// SPDX-License-Identifier: Apache-2.0
// Tracks the virtqueues of one NIC from the events at its seam: writes to common configuration give ring addresses,
// firmware's table writes their owners, DMA reads and writes their contents. Decodes split and packed rings, indirect
// tables, work requests of send queues, and CQEs; contents of other queues are not decoded.
//
// It reads no memory. So it must observe the NIC from before its driver opens it; for a device that is already open it
// assumes split rings.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "sim/nic/nic.h"
#include "sim/nic/push_places.h"
#include "sim/nic/table_window.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::sim {

// The cycle of an event, in the clock of its NIC, and its index among events of its kind there, from 0, by which events
// of two devices are paired.
struct EventMark {
  Cycle cycle = kNever;
  uint64_t number = 0;

  bool is_set() const { return cycle != kNever; }
};

// A send work request, as first read by the device.
struct WorkRequest {
  uint32_t qpn = 0;
  uint16_t queue = 0;
  uint64_t wr_id = 0;
  spec::IbWrOpcode opcode{};
  uint8_t send_flags = 0;
  uint32_t rkey = 0, remote_qpn = 0;
  uint64_t remote_addr = 0;
  uint32_t bytes = 0;
  bool knows_bytes = false;  // false: several SGEs, so the length is known only from the packets
  // The queue's last doorbell before the device read the ring (unset: it read without one), then the reads. Packed
  // rings have no index. Of one that was pushed as the next there are none.
  EventMark doorbell, index_read, ring_read, descriptor_read, read, completed;
};

class RingWatch {
 public:
  class Listener {
   public:
    // Called in ring order.
    virtual void OnWorkRequest(const WorkRequest& request) = 0;
    // The oldest buffer of a QP's queue was used; `was_read` false: its work request was not read completely.
    virtual void OnSendUsed(uint32_t qpn, EventMark mark, bool was_read) = 0;
    virtual void OnReceiveUsed(uint32_t qpn, EventMark mark) = 0;
    virtual void OnCompletion(uint16_t queue, const spec::RdmaCqReq& cqe, EventMark mark) = 0;
    // CQEs written to this completion queue are now visible to the driver.
    virtual void OnCompletionVisible(uint16_t queue, EventMark mark) = 0;

   protected:
    ~Listener() = default;
  };
  // Unattributed events, which are otherwise ignored.
  struct Counters {
    uint64_t doorbells = 0;    // of queues that are not enabled
    uint64_t used = 0;         // used elements without an available buffer
    uint64_t completions = 0;  // CQEs that could not be decoded
    friend bool operator==(const Counters&, const Counters&) = default;
  };

  explicit RingWatch(Listener& listener) : listener_(listener) {}

  // The target of an access.
  enum class Target : uint8_t { kOther, kRing, kBuffer };
  void OnReset();
  void OnBarWrite(const BoundaryEvent& event, EventMark mark);
  // Only table_virtqueue; others are ignored.
  void OnTableWrite(const TableWindow::Write& write);
  Target OnRead(const BoundaryEvent& event, EventMark mark);
  void OnReadData(const BoundaryEvent& event, EventMark mark);
  Target OnWrite(const BoundaryEvent& event, EventMark mark);

  // kNoVector if it has none.
  uint16_t VectorOf(uint16_t queue) const { return queue < queues_.size() ? queues_[queue].vector : kNoVector; }
  static constexpr uint16_t kNoVector = spec::kVirtioMsiNoVector;
  const Counters& counters() const { return counters_; }

 private:
  // The parts of a work request that the device reads first: its head, and its tail with one SGE; of an extensible one,
  // which is shorter, the start.
  static constexpr size_t kHeadBytes = spec::RdmaSqReq::kInlineDataOffset;
  static constexpr size_t kTailAt = spec::RdmaSqReq::kSizeOffset;
  static constexpr size_t kTailBytes = spec::RdmaSqReq::kBytes - kTailAt + spec::RdmaSge::kBytes;
  static constexpr size_t kStartBytes = spec::kDmaFetchBytes;
  static_assert(kStartBytes <= kHeadBytes + kTailBytes);

  // A buffer that the device took from a ring and has not returned.
  struct Buffer {
    uint32_t head = 0;
    bool has_head = false, has_address = false, is_table = false;
    bool is_read = false;      // the parts below completely
    bool is_reported = false;  // passed to the listener
    uint64_t address = 0;
    uint32_t bytes = 0;
    std::array<uint8_t, kHeadBytes + kTailBytes> content{};  // or the bytes of a CQE
    uint32_t have = 0;                                       // valid bytes of `content`
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
    uint64_t first = 0;             // number of the front buffer
    uint64_t reported = 0;          // number of the first buffer not passed to the listener
    std::deque<PackedRead> packed;  // reads not yet walked
    uint64_t first_packed = 0;      // number of the front read
    uint16_t next_index = 0;        // split: position
    bool wrap = true, in_chain = false;
    // Send queues: what is pushed; what was, until the device may have taken it or has passed it; and how many of the
    // newest buffers are such.
    PushPlaces places;
    std::optional<PushPlaces::Pushed> pushed;
    EventMark push_end;
    uint32_t newest_pushed = 0;
  };
  enum class Part : uint8_t { kDescriptors, kDriver, kDevice };
  struct Region {
    uint64_t end = 0;
    uint16_t queue = 0;
    Part part{};
  };
  struct BufferId {
    uint16_t queue = 0;
    uint64_t number = 0;
  };
  enum class Use : uint8_t { kNone, kRingEntries, kDescriptor, kPacked, kTable, kBufferData };
  struct Read {
    Use use{};
    BufferId buffer;  // of kRingEntries: the first one; of kPacked: the number of the read
    uint64_t address = 0;
    EventMark mark;
  };

  void WriteCommon(uint64_t offset, uint64_t value, unsigned bytes);
  void Enable(uint16_t index);
  void TakePushed(uint16_t index);
  void Advance(Queue& queue);
  void Disable(uint16_t index);
  Buffer* Find(const BufferId& id);
  const Region* RegionAt(uint64_t address, uint64_t* begin) const;
  // The buffer that contains the address; null if none does.
  Buffer* BufferAt(uint64_t address, BufferId* id);
  Buffer& Take(uint16_t queue, EventMark ring_read);
  void SetAddress(const BufferId& id, uint64_t address, uint32_t bytes, uint16_t flags);
  void ReadPacked(const BufferId& id, std::span<const uint8_t> data, bool is_last);
  void WalkPacked(uint16_t queue, const PackedRead& read);
  void ReadBufferData(const BufferId& id, uint64_t address, std::span<const uint8_t> data, EventMark mark);
  static void Parse(Buffer& buffer);
  static void ParseExtensible(Buffer& buffer);
  void ReportRequests(Queue& queue);
  void Used(uint16_t queue, EventMark mark, uint32_t head, bool has_head);

  Listener& listener_;
  Counters counters_;
  uint16_t selected_ = 0;
  uint32_t feature_window_ = 0;
  bool is_packed_ = false;
  std::vector<Queue> queues_;
  std::map<uint64_t, Region> regions_;        // by begin
  std::map<uint64_t, BufferId> by_address_;   // buffers of send and completion queues, and indirect tables
  std::unordered_map<uint32_t, Read> reads_;  // by tag
};

}  // namespace vireo::sim
