// SPDX-License-Identifier: Apache-2.0
// Fetches buffers of virtqueues for all clients: available index, ring entries and descriptors of split rings,
// descriptors of packed ones. The counterpart of rtl/virtio/vireo_desc_fetch.sv, stage by stage. Responses come in the
// order in which requests left the arbiter. It does not follow chains of split rings by itself; of an indirect table it
// returns the first descriptor.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>

#include "model/common/agenda.h"
#include "model/common/channel.h"
#include "model/common/context_table.h"
#include "model/common/cycle.h"
#include "model/common/level.h"
#include "model/common/order_fence.h"
#include "model/common/output_register.h"
#include "model/common/table.h"
#include "model/virtio/queue_state.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::model {

class DescFetch final : public Block {
 public:
  static constexpr size_t kClients = 6;  // spec::BufferClient
  struct Sizes {
    size_t queues = 16;         // virtqueues
    size_t requests = 8;        // outstanding reads of index, and of ring
    size_t descriptors = 32;    // outstanding reads of descriptors
    bool knows_entries = true;  // reads no index for entries that are known to be available
    size_t data_bits = 512;
  };
  // Unloaded, in cycles: from acceptance of the first-named token to the second-named one.
  static constexpr Cycle kRequestToIndexRead = 4;
  static constexpr Cycle kRequestToKnownRingRead = 8;  // so many are known to be available
  static constexpr Cycle kIndexToRingRead = 4;
  static constexpr Cycle kRingToDescriptorRead = 3;
  static constexpr Cycle kDescriptorToBuffer = 4;
  static constexpr Cycle kCyclesPerBuffer = 3;
  static constexpr Cycle kPushedToBuffer = 14;  // request to buffer, of one that was pushed
  // Of packed rings.
  static constexpr Cycle kRequestToPackedRead = 8;
  static constexpr Cycle kPackedToBuffer = 9;
  static constexpr unsigned kChainMost = 64;  // descriptors of a packed chain
  // Of indirect tables.
  static constexpr Cycle kDescriptorToTableRead = 4;
  static constexpr Cycle kTableToBuffer = 4;
  static constexpr uint32_t kTableBytesMost = uint32_t{spec::kVirtqSizeMax} * spec::VirtqDesc::kBytes;

  DescFetch(Agenda& agenda, const Sizes& sizes);

  void OnTableWrite(Cycle cycle, const spec::TableWrite& write);
  void OnQueueRowWrite(Cycle cycle, const spec::QueueRowWrite& row);
  // Any memory; those of others are ignored.
  void OnContextFlip(Cycle now, const spec::ContextFlip& flip);
  // The stored state of a requested queue has bad parity. Reported ahead, with the cycle of the pulse.
  std::function<void(Cycle at)> on_parity_error;
  // Effective from cycle `from` on.
  void SetRingPacked(Cycle from, bool packed) { ring_packed_.Set(from, packed); }
  void SetEventIdx(Cycle from, bool event_idx) { event_idx_.Set(from, event_idx); }
  void SetIndirect(Cycle from, bool indirect) { indirect_.Set(from, indirect); }

  void Run(Cycle now) override;
  bool IsIdle() const;  // in the cycle after the last one that ran
  // fence_o: requests accepted before the last write of a virtqueue's entry have not ended, or still read.
  bool IsFencing(Cycle now) { return accepted_.IsUp(now) || drains_.At(now); }

  std::array<Channel<spec::BufferRequest>, kClients> buffer_request_in;
  Channel<spec::DmaFetched> index_fetched_in = Channel<spec::DmaFetched>::HalfSlice();
  Channel<spec::DmaFetched> ring_fetched_in = Channel<spec::DmaFetched>::HalfSlice();
  Channel<spec::DmaFetched> descriptor_fetched_in = Channel<spec::DmaFetched>::Slice();
  Channel<spec::DmaFetched> table_fetched_in = Channel<spec::DmaFetched>::HalfSlice();

  std::array<Output<spec::Buffer>, kClients> buffer_out;
  Output<spec::DmaReadRequest> index_request_out;
  Output<spec::DmaReadRequest> ring_request_out;
  Output<spec::DmaReadRequest> descriptor_request_out;
  Output<spec::DmaReadRequest> table_request_out;
  Output<spec::QueueFailure> queue_failure_out;
  std::function<void(Cycle)> on_window_violation;                      // the pulse; may be empty
  std::function<void(Cycle, const spec::AvailEvent&)> on_avail_event;  // likewise, reported in the cycle before

 private:
  // kKnown: as kRead, but so many entries are known to be available that no index is read.
  enum class Kind { kRead, kByIndex, kEmpty, kFailed, kBroken, kWalked, kPushed, kKnown };
  struct Request {
    size_t client;
    spec::BufferRequest request;
  };
  struct IndexJob {
    Kind kind;
    Request from;
    bool chains;     // the queue's buffers may be chains of a packed ring
    uint64_t area;   // available ring, or packed ring
    uint16_t known;  // entries known to be available
  };
  struct RingJob {
    Kind kind;
    Request from;
    unsigned count;
    spec::RdmaError code;
    bool chains = false;
    bool held = false;   // blocks other requests of the queue until this job has ended
    unsigned place = 0;  // of the first entry
    bool wrapped = false;
    unsigned reads = 0;
  };
  struct DescriptorJob {
    Kind kind;
    size_t client;
    uint16_t vq_index;
    uint16_t head;
    spec::RdmaError code;
    bool last;
    uint16_t next = 0;             // of a packed ring
    spec::PvirtqDesc walked = {};  // kWalked, kPushed
    bool replay = false;           // the buffer may have been used since: errors are reported to its client only
    bool in_table = false;
    spec::BufferRequest table = {};  // in_table
  };
  // The table that the descriptor being checked points to, or is in.
  struct IndirectTable {
    uint64_t address = 0;
    uint16_t entries = 0;
    uint16_t index = 0;  // of the descriptor
  };
  // A position in a packed ring, and the complement of the wrap counter there.
  struct Place {
    unsigned at = 0;
    bool wrapped = false;

    Place Next(unsigned size) const { return at + 1 == size ? Place{0, !wrapped} : Place{at + 1, wrapped}; }
    uint16_t Index() const { return static_cast<uint16_t>(at | (wrapped ? 0 : kWrap)); }
  };
  static constexpr unsigned kWrap = 0x8000;  // in an index: the wrap counter [virtio 1.3, 2.8.14]

  void Drain(Cycle now);
  bool IsEligible(size_t client) const;
  void Arbitrate(Cycle now);
  void Accept(Cycle now);
  void Ring(Cycle now);
  void RingPushed(Cycle now);
  // Stage 3 writes a position in cycle `now`.
  bool WritesPosition(Cycle now) { return list_ == ListState::kLeave && reads_ == 0 && positions_.CanWrite(now); }
  bool ReadsIndex(const IndexJob& job) const { return !packed_ && job.kind == Kind::kRead; }
  unsigned IssueRingRead(Cycle now);
  void PopRing(Cycle now);
  void List(Cycle now);
  void ListNext(Cycle now);
  void Walk(Cycle now);
  void WalkChain(Cycle now);
  void EndWalk(Cycle now);
  void LeaveWalk(Cycle now);
  void Break(spec::RdmaError code);
  void ReportAvailEvent(Cycle now, uint16_t vq_index, unsigned requested, uint16_t available);
  void Answer(Cycle now);
  void Respond(Cycle now);
  DescriptorJob PopJob(Cycle now);
  // Ok: a buffer, or a table to read.
  spec::RdmaError Check(const spec::VirtqDesc& descriptor, bool in_table, bool more, uint8_t resp) const;

  struct Served {
    bool served = false;
    bool chains = false;
  };
  // The last avail_event reported since the queue was enabled.
  struct ReportedEvent {
    bool known = false;
    uint16_t idx = 0;
  };
  ContextTable<spec::QueueRowWrite> areas_, ring_rows_, list_rows_;  // of stage 1, 2, 3
  ContextTable<Served> served_;
  Table<uint8_t> rings_;  // queues whose driver rings the doorbell
  ContextTable<spec::TableWindow> windows_;
  QueueState<uint16_t> positions_;
  QueueState<uint16_t>
      known_;  // entries behind the position known to be available; written by stage 2, read by stage 1
  QueueState<ReportedEvent> reported_;
  QueueState<uint8_t> failed_;

  uint64_t waiting_ = 0;  // bit per client: requests at the inputs
  uint64_t loaded_ = 0;   // bit per output register: holds a token; the clients' buffers first
  static constexpr uint64_t kLoadedBuffers = (uint64_t{1} << kClients) - 1;

  size_t winner_ = kClients - 1;
  uint64_t accepting_ = 0;  // bit per client: a request between its input and stage 1
  Channel<Request> requests_;
  Channel<IndexJob> index_jobs_;
  Channel<RingJob> ring_jobs_;
  Channel<DescriptorJob> descriptor_jobs_;
  OutputRegister<spec::DmaReadRequest> index_request_{index_request_out, *this};
  OutputRegister<spec::DmaReadRequest> ring_request_{ring_request_out, *this};
  OutputRegister<spec::DmaReadRequest> descriptor_request_{descriptor_request_out, *this};
  OutputRegister<spec::DmaReadRequest> table_request_{table_request_out, *this};
  std::array<OutputRegister<spec::Buffer>, kClients> buffer_;
  OutputRegister<spec::QueueFailure> queue_failure_{queue_failure_out, *this};

  // Stage 1
  enum class AcceptState { kTake, kLookup };
  AcceptState accept_ = AcceptState::kTake;
  Kind accept_kind_ = Kind::kRead;
  uint64_t accept_area_ = 0;
  bool accept_chains_ = false;
  uint16_t accept_known_ = 0;
  struct Hold {
    uint16_t vq_index;
    bool pushed;
  };
  std::deque<Hold> held_;  // queues of requests in front of stage 2, or whose walk is not finished
  const size_t requests_most_;
  const bool knows_entries_;
  Level<bool> ring_packed_{false}, event_idx_{false}, indirect_{false};
  bool packed_ = false;  // in this cycle
  bool accepts_tables_ = false;
  // Stage 2
  enum class RingState { kTake, kLookup, kIssue, kMore };
  RingState ring_ = RingState::kTake;
  spec::QueueRowWrite ring_row_;
  uint16_t position_ = 0;
  ReportedEvent ring_reported_;
  bool ring_rings_ = false;
  uint64_t ring_area_ = 0;
  unsigned ring_at_ = 0, ring_left_ = 0;
  size_t ring_slots_;  // reads that have space for their data
  // Stage 3
  enum class ListState { kTake, kNext, kDrain, kWalk, kRequest, kChain, kEnd, kLeave };
  ListState list_ = ListState::kTake;
  spec::QueueRowWrite list_row_;
  unsigned entry_ = 0;
  unsigned part_entry_ = 0;  // position in the data of one read
  unsigned reads_ = 0;       // outstanding or not used up
  Place place_;
  bool by_itself_ = false;  // after a chain: the data that stage 2 has fetched is elsewhere in the ring
  bool in_chain_ = false;
  unsigned chain_ = 0;
  unsigned returned_ = 0;
  std::optional<DescriptorJob> deferred_;  // not yet known whether it is the last
  std::optional<spec::RdmaError> broken_;
  // Stage 4
  enum class AnswerState { kTake, kLookup, kRespond, kTable };
  AnswerState answer_ = AnswerState::kTake;
  spec::TableWindow window_;
  bool answer_failed_ = false;
  std::optional<spec::DmaFetched> from_table_;  // the descriptor is the first of table_
  IndirectTable table_;
  bool drop_ = false;  // skips the rest of a request that failed
  // Fence
  OrderFence accepted_;
  Level<bool> drains_{false};  // stage 3 takes entries that the request does not need
  bool drains_last_ = false;
};

}  // namespace vireo::model
