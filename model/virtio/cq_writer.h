// SPDX-License-Identifier: Apache-2.0
// Returns buffers to the driver: writes used element and used index of a work request's queue, its CQE into a buffer of
// the CQ, events into buffers of the event queue; then raises interrupts. The counterpart of
// rtl/virtio/vireo_cq_writer.sv, state by state. Operations are sequential, in the order of the streams, except that a
// CQE whose CQ has no buffer yet is parked, and passed by those of other CQs. It writes used descriptors of packed
// rings at the position of the buffer's first descriptor: every queue is used in order. A batch of completions becomes
// visible to the driver only with its last one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "model/common/agenda.h"
#include "model/common/channel.h"
#include "model/common/context_table.h"
#include "model/common/cycle.h"
#include "model/common/index_set.h"
#include "model/common/level.h"
#include "model/common/output_register.h"
#include "model/common/table.h"
#include "model/virtio/queue_state.h"
#include "model/virtio/used_publish.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::model {

class CqWriter final : public Block {
 public:
  struct Sizes {
    size_t queues = 16;  // virtqueues
    size_t cqs = 4;
    size_t slots = 64;  // used indices in flight
    size_t data_bits = 512;
    bool has_elements = true;  // of completions
  };
  // Longest completion.
  static constexpr size_t kCqeBytes = spec::RdmaCqBase::kBytes + spec::RdmaCqTimestamp::kBytes;
  static_assert(kCqeBytes == spec::RdmaCqReq::kBytes);
  // Tag of dma_store: the slot, and whether it is the used index.
  static constexpr uint8_t kTagIndex = 0x80;
  // Unloaded, in cycles.
  static constexpr Cycle kCompletionToElement = 3;    // accepted to the store of the used element
  static constexpr Cycle kCyclesPerCompletion = 3;    // without a CQE
  static constexpr Cycle kCyclesPerCqe = 7;           // with a CQE, its buffer cached
  static constexpr Cycle kCyclesPerMore = 2;          // with `more`
  static constexpr Cycle kCyclesPerPackedMore = 3;    // likewise, packed ring, except for the first of a batch
  static constexpr Cycle kCyclesPerPackedEnd = 4;     // the last of a batch, packed ring
  static constexpr Cycle kCompletionToCqElement = 7;  // accepted to the last of its three stores
  static constexpr Cycle kDoneToIndex = 2;            // of the last store that it makes visible
  static constexpr Cycle kDoneToInterrupt = 3;        // of a CQ
  static constexpr Cycle kDoneToFetch = 3;            // of event suppression data; of all but CQs
  static constexpr Cycle kFetchedToInterrupt = 4;
  static constexpr Cycle kAvailEventToStore = 9;
  static constexpr Cycle kDoneToDoorbell = 3;
  static constexpr size_t kContexts = 8;                             // writes of cq_context that wait
  static constexpr unsigned kCqBuffers = 32;                         // of a CQ that are fetched ahead
  static constexpr size_t kAsks = 8;                                 // outstanding requests for buffers
  static constexpr size_t kParked = 16;                              // CQEs that wait for a buffer of their CQ
  static constexpr size_t kSuppressionReads = spec::kDmaFetchDepth;  // outstanding reads of event suppression data

  CqWriter(Agenda& agenda, const Sizes& sizes);

  // Device time in the cycle, for timestamps; to be set before the first cycle.
  std::function<uint64_t(Cycle)> time_ns = [](Cycle) { return uint64_t{0}; };

  void OnTableWrite(Cycle cycle, const spec::TableWrite& write);
  // Whether there is space for a cq_context written in this cycle or, if none is, in a later one.
  bool IsContextReady(Cycle now) const { return contexts_.CanPush(now); }
  void OnQueueRowWrite(Cycle cycle, const spec::QueueRowWrite& row);
  void OnContextFlip(Cycle now, const spec::ContextFlip& flip);
  // Row or kind of a queue, or the context of a CQ, has bad parity; it is not used. Reported ahead, with the cycle of
  // the pulse.
  std::function<void(Cycle at)> on_parity_error;
  void OnDone(Cycle cycle, const spec::DmaDone& done);
  void OnAvailEvent(Cycle cycle, const spec::AvailEvent& event);
  // Effective from cycle `from` on.
  void SetRingPacked(Cycle from, bool packed) { ring_packed_.Set(from, packed); }
  void SetEventIdx(Cycle from, bool event_idx) { event_idx_.Set(from, event_idx); }

  void Run(Cycle now) override;
  // Every operation ends with what it writes, and the next one reads first.
  bool CanRunTwice() const override { return state_ != State::kIdle; }
  bool IsIdle() const;  // in the cycle after the last one that ran
  // fence_o: accesses to queues from before the last write of a virtqueue's entry have not ended.
  bool IsFencing(Cycle now) const {
    return (entry_written_ && *entry_written_ < now) || fence_ != Fence::kNone || now < fence_end_;
  }

  Channel<spec::Completion> completion_in;
  Channel<spec::HostEvent> host_event_in;
  Channel<spec::CqArm> cq_arm_in;
  Channel<spec::Buffer> buffer_in = Channel<spec::Buffer>::Fifo(8);

  Channel<spec::DmaFetched> fetched_in = Channel<spec::DmaFetched>::Fifo(kSuppressionReads);

  Output<spec::DmaReadRequest> fetch_request_out;
  Output<spec::Doorbell> doorbell_out;  // of queues whose avail_event was written
  Output<spec::BufferRequest> buffer_request_out;
  Output<spec::DmaStore> store_out;
  Output<spec::QueueInterrupt> queue_interrupt_out;
  Output<spec::QueueFailure> queue_failure_out;
  // The same, in the cycle in which it is offered first, whether it is taken or not. Reported ahead, with that cycle.
  std::function<void(Cycle at, const spec::QueueFailure&)> on_queue_stopped;

 private:
  static constexpr unsigned kWrap = 0x8000;  // in a head of a packed ring: the wrap counter [virtio 1.3, 2.8.14]

  // Positions count modulo 2^16, so they are compared by their distance to the device's.
  static uint16_t Distance(uint16_t from, uint16_t to) { return static_cast<uint16_t>(to - from); }

  enum class State {
    kIdle,
    kElement,
    kIndex,
    kFirst,  // of a batch in a packed ring: the flags of its first buffer
    kCq,
    kCqRead,  // of a parked CQE
    kFilled,  // a request of a CQ is answered
    kEvent,
    kData,
    kTargetElement,
    kTargetIndex,
    kFail,
    kArmRead,
    kArm,
    kDone,
    kSuppression,  // event suppression: interrupt or not
    kAvail,        // avail_event
  };
  struct Kind {
    bool served = false;
    bool notifies = false;
  };
  struct Position {
    bool failed = false;
    uint16_t used = 0;
    unsigned cached = 0;   // buffers of a CQ that are fetched and unused
    unsigned first = 0;    // the next one to use
    bool asked = false;    // more of them are requested
    unsigned parked = 0;   // CQEs of a CQ that are parked
    bool wrapped = false;  // packed ring: complement of the wrap counter at `place`
    unsigned place = 0;    // position after the last used descriptor of a CQ or shared receive queue
  };
  struct CqContext {
    bool known = false;
    uint16_t vq_index = 0;
    uint8_t elements = 0;  // of its completions: bits of RdmaCqElement
  };
  struct CqState {
    bool failed = false;
    bool armed_solicited = false;
    bool armed_next = false;
    bool passed = false;         // a CQE after arm_position is complete
    uint16_t arm_position = 0;   // the driver's position when it armed
    uint16_t written = 0;        // position after the last CQE whose used index is in memory
    bool has_solicited = false;  // `solicited` is valid
    uint16_t solicited = 0;      // position after the last solicited CQE of these
  };
  struct Context {
    uint32_t cqn;
    spec::TableCqContext entry;
  };
  struct EventQueue {
    bool known = false;
    uint16_t vq_index = 0;
  };
  struct Cached {
    bool bad = false;
    uint16_t head = 0;
    uint64_t address = 0;
  };
  // A request for buffers, and its answer.
  struct Asked {
    bool is_event = false;
    bool sure = false;  // a CQE waited for it: without a buffer the CQ is overrun
    uint32_t cqn = 0;
    uint16_t vq_index = 0;
    unsigned base = 0;  // where the first buffer goes
  };
  struct Filled {
    Asked asked;
    bool is_empty = false;  // the last of the answer was `empty`
    unsigned count = 0;
  };
  struct Parked {
    uint32_t cqn = 0;
    bool solicited = false;
    std::array<uint8_t, spec::RdmaCqReq::kBytes> cqe = {};
  };
  // The buffer for the next event.
  enum class EventBuffer { kNone, kAsked, kVoid, kReady };
  // Range of used positions: entries of a split ring, positions of a packed one.
  struct Span {
    uint16_t first = 0;
    uint16_t next_position = 0;
  };
  // The open batch: its queue as of the start of the batch, and its progress.
  struct Batch {
    bool usable;
    Kind kind;
    spec::QueueRowWrite row;
    uint16_t first;  // entry of its first buffer; packed ring: its position
    bool written;    // data was written to it
    uint16_t used;   // next used
  };
  struct SuppressionRead {
    Span span;
    uint16_t vq_index;
    uint16_t msix;
  };
  struct Slot {
    bool is_avail = false;  // avail_event instead of a used index
    bool is_cq = false;
    Span span;  // of a queue that interrupts by itself
    uint16_t vq_index = 0;
    uint32_t cqn = 0;
    bool solicited = false;
    uint16_t position = 0;
    uint16_t msix = 0;
    bool no_interrupt = false;
    bool done = false;
    bool error = false;
  };
  struct Done {
    Cycle cycle;
    spec::DmaDone done;
  };

  void ReadQueue(Cycle now, uint16_t vq_index);
  void ReadCq(Cycle now, uint32_t cqn, bool uses_context = true);
  bool IsUsable() const { return row_.enabled && kind_.served && !position_.failed; }
  bool IsPackedBatch() const { return batch_ && packed_; }
  uint16_t UsedNext() const { return static_cast<uint16_t>(position_.used + 1); }
  void Load(Cycle now, const spec::DmaStore& store);  // a write that a used index makes visible
  void Store(Cycle now, uint64_t address, const uint8_t* data, size_t bytes);
  void StoreElement(Cycle now, uint16_t head, uint32_t bytes, std::optional<uint16_t> id);
  spec::DmaStore IndexStore(uint16_t head, bool written) const;
  void PublishIndex(Cycle now, uint16_t vq_index, uint16_t head, bool written);
  void WriteIndex(Cycle now);        // or withholds it
  Span SpanOf(uint16_t head) const;  // of a single descriptor
  // Packed ring: the descriptor of the completion's buffer that is written as used.
  uint16_t PlaceOf(const spec::Completion& completion) const;
  bool IsById(const spec::Completion& completion) const { return packed_ && completion.by_id; }
  uint64_t DescriptorAt(uint16_t head) const;
  uint32_t TargetBytes() const;
  // One request is always left for an event.
  bool CanAsk() const { return asks_ < kAsks - 1 && buffer_request_.IsFree(); }
  void Ask(Cycle now, const Asked& asked, unsigned count);
  void TakeBuffer(Cycle now);
  void DropEventBuffer();
  void ClearLostAfter(Cycle cycle);
  void DropEventBufferAfter(Cycle cycle);
  void PopCqe(Cycle now);
  void PushSlot(Cycle now, Slot slot);
  void PopSlot(Cycle now);
  void LoadSlot(Cycle now);
  // Its writes are complete, and nothing follows.
  bool IsFree(const Slot& slot) const { return slot.done && slot.no_interrupt && !slot.error; }
  void CountLost() { lost_ += lost_ != ~uint32_t{0}; }
  void LoadFailure(Cycle now, const spec::QueueFailure& failure);
  void Fail(bool report, spec::RdmaError code);
  void Publish(Cycle now);  // makes it visible to the driver
  void FinishCompletion(Cycle now);

  // Each makes the transition of its state and returns whether there was one.
  bool Step(Cycle now);
  bool Idle(Cycle now);
  bool WriteCqe(Cycle now);
  void StoreCqe(Cycle now);
  bool WriteEvent(Cycle now);
  bool FinishFill(Cycle now);
  bool TargetIndex(Cycle now);
  bool Arm(Cycle now);
  bool FinishSlot(Cycle now);
  bool ReadSuppression(Cycle now);  // reads event suppression data
  bool IsInterruptDue(Cycle now, const SuppressionRead& question, const spec::DmaFetched& fetched);
  bool FinishQuestion(Cycle now);
  bool WriteAvailEvent(Cycle now);
  void TakeAvailEvents(Cycle now);

  // What is waited for after a write of a virtqueue's entry. All of it ends in order.
  enum class Fence {
    kNone,
    kOperation,  // the one in progress, and an open batch
    kBuffers,    // the CQEs parked after that, and the requests for buffers
    kSlots,      // those in use after that
    kQuestions   // the reads of event suppression outstanding after that
  };
  struct InUse {
    size_t slots, questions, asks, parked;
  };
  InUse CountInUse() const { return {slots_used_, questions_.size(), asks_, parked_.size()}; }
  void StartFence(Cycle now);
  void AdvanceFence(Cycle now, bool between_operations, const InUse& in_use);

  ContextTable<spec::QueueRowWrite> rows_;
  ContextTable<Kind> kinds_;
  QueueState<Position> positions_;
  ContextTable<CqContext> cq_contexts_;
  Table<CqState> cq_states_;
  Table<EventQueue> event_queue_{1};
  std::vector<std::array<Cached, kCqBuffers>> cached_;
  Channel<Context> contexts_ = Channel<Context>::Fifo(kContexts);

  OutputRegister<spec::DmaStore> store_{store_out, *this};
  OutputRegister<spec::BufferRequest> buffer_request_{buffer_request_out, *this};
  OutputRegister<spec::QueueInterrupt> interrupt_{queue_interrupt_out, *this};
  OutputRegister<spec::QueueFailure> queue_failure_{queue_failure_out, *this};
  OutputRegister<spec::DmaReadRequest> fetch_request_{fetch_request_out, *this};
  OutputRegister<spec::Doorbell> doorbell_{doorbell_out, *this};

  State state_ = State::kIdle;
  bool is_event_ = false;
  bool from_context_ = false;
  bool report_ = false;
  spec::RdmaError code_ = spec::RdmaError::kOk;
  uint16_t vq_ = 0;  // CQ or event queue
  std::optional<Batch> batch_;
  uint32_t lost_ = 0;
  Cycle lost_clear_ = kUnknown;
  Cached target_;  // the buffer in use

  // Requests whose answer is not complete; of the first of them, the number of buffers that have come.
  std::deque<Asked> asked_;
  unsigned fill_ = 0;
  Channel<Filled> filled_ = Channel<Filled>::Fifo(kAsks);
  size_t asks_ = 0;  // of both
  Channel<Parked> parked_ = Channel<Parked>::Fifo(kParked);
  bool from_park_ = false;  // the current, or the previous, operation is of a parked CQE
  bool park_try_ = false;   // the first parked one may have a buffer
  EventBuffer event_buffer_ = EventBuffer::kNone;
  Cached event_target_;
  bool event_ok_ = false;        // it came
  Cycle event_drop_ = kUnknown;  // not yet applied by Run

  // As read last.
  spec::QueueRowWrite row_;
  bool row_corrupt_ = false;
  bool queue_corrupt_ = false;  // row or kind
  Kind kind_;
  Position position_;
  CqContext cq_context_;
  CqState cq_state_;

  UsedPublish publish_;
  std::vector<Slot> slots_;
  size_t slot_tail_ = 0, slot_head_ = 0, slots_used_ = 0;
  Cycle slot_loaded_ = 0;   // the oldest can be used from then on
  std::deque<Done> dones_;  // of the current and later cycles

  std::deque<SuppressionRead> questions_;

  struct ReportedAvail {
    Cycle cycle;
    spec::AvailEvent event;
  };
  std::deque<ReportedAvail> reported_avails_;  // not pushed yet
  Table<uint16_t> avail_values_;
  Channel<spec::AvailEvent> avail_in_ = Channel<spec::AvailEvent>::Slice();
  LookupIndexSet<spec::AvailEvent> avail_pending_;
  const bool has_elements_;
  const Cycle swept_;  // end of the initial sweep; pushes are accepted from then on
  bool is_swept_ = false;

  Level<bool> ring_packed_{false}, event_idx_{false};
  bool packed_ = false;  // in this cycle

  Fence fence_ = Fence::kNone;
  size_t fenced_ = 0;                                   // slots or questions before the fence
  Cycle fence_end_ = 0;                                 // the first cycle after the last fence
  std::optional<Cycle> entry_written_;                  // not yet applied by Run
  size_t fenced_asks_ = 0, fenced_parked_ = 0;          // likewise
  bool popped_slot_ = false, popped_question_ = false;  // in this cycle
  bool popped_ask_ = false, popped_parked_ = false;     // likewise
};

}  // namespace vireo::model
