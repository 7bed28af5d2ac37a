// SPDX-License-Identifier: Apache-2.0
// The CQ writer as RTL and as model side by side, between drivers that post buffers, arm CQs and read the writes. Every
// store is compared with the next expected one of its queue, every interrupt with its driver's request.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "Vcq_writer.h"
#include "model/virtio/cq_writer.h"
#include "sim/common/seed.h"
#include "spec/gen/vireo_spec.h"
#include "verif/common/block_bench.h"
#include "verif/common/context_bench.h"
#include "verif/common/device_time.h"
#include "verif/common/level_bench.h"

namespace vireo::verif {

using model::Agenda;
using model::Channel;
using model::CqWriter;
using model::Cycle;
using spec::Buffer;
using spec::BufferRequest;
using spec::BufferStatus;
using spec::Completion;
using spec::CqArm;
using spec::DmaDone;
using spec::DmaStore;
using spec::HostEvent;
using spec::QueueFailure;
using spec::QueueInterrupt;
using spec::QueueRowWrite;
using spec::RdmaError;
using spec::TableQueueKind;
using spec::TableWrite;

inline constexpr size_t kQueues = 16, kCqs = 4, kSlots = 16;
inline constexpr size_t kNetQueue = 0, kControlQueue = 2, kFirstCq = 3, kFirstWork = 7, kEventQueue = 15;
inline constexpr uint16_t kFirstVector = 100;
inline constexpr uint8_t kSlverr = 2;  // [AMBA AXI, A3.4.4]
inline constexpr uint64_t kBufferArea = uint64_t{1} << 36;
inline constexpr uint64_t kDriverArea = uint64_t{1} << 38;

inline TableQueueKind KindOf(size_t vq) {
  if (vq < kControlQueue) return vq % 2 == 0 ? TableQueueKind::kReceive : TableQueueKind::kTransmit;
  if (vq == kControlQueue) return TableQueueKind::kControl;
  if (vq < kFirstWork) return TableQueueKind::kCq;
  if (vq == kEventQueue) return TableQueueKind::kEvent;
  return vq % 2 == 0 ? TableQueueKind::kSq : TableQueueKind::kRq;
}
inline bool MayHaveChains(size_t vq) { return vq <= kControlQueue; }
inline constexpr uint16_t kWrap = 0x8000;
inline bool InterruptsByItself(size_t vq) { return vq <= kControlQueue || vq == kEventQueue; }
inline bool IsCq(size_t vq) { return vq >= kFirstCq && vq < kFirstWork; }
inline uint64_t DeviceOf(size_t vq) { return (uint64_t{vq} + 1) << 40; }
inline uint64_t Little(const uint8_t* bytes, size_t count) {
  uint64_t value = 0;
  for (size_t i = 0; i < count; ++i) value |= uint64_t{bytes[i]} << 8 * i;
  return value;
}

// A used buffer, or a batch of them: split: their numbers; packed: their places; and the place behind.
struct Span {
  uint16_t first, next_position;
  uint64_t number;
};
enum class Store { kOther, kIndex, kAvailEvent };
inline uint16_t NextPlace(uint16_t place, unsigned size) {
  return static_cast<uint16_t>((place & ~kWrap) + 1u == size ? (place & kWrap) ^ kWrap : place + 1u);
}

// One queue as its driver sees it.
struct Queue {
  QueueRowWrite row;
  // Packed: the place of the next buffer, as in tokens.
  uint16_t place = kWrap;
  uint16_t TakePlace(unsigned descriptors = 1) {
    const uint16_t taken = place;
    const unsigned at = (place & ~kWrap) + descriptors;
    place = static_cast<uint16_t>(at < row.queue_size ? at | (place & kWrap)
                                                      : (at - row.queue_size) | ((place & kWrap) ^ kWrap));
    return taken;
  }
  // This many single descriptors further.
  uint16_t PlaceAt(uint64_t count) const {
    return static_cast<uint16_t>(count % row.queue_size | (count / row.queue_size % 2 == 0 ? kWrap : 0));
  }
  std::deque<Span> spans;  // of used buffers whose event suppression was not read
  uint64_t questions = 0, requested = 0;
  uint64_t indices = 0;             // stored used indices, of packed rings flags: visible to the driver
  uint64_t unasked = ~uint64_t{0};  // the number of the used buffer whose writes failed: event suppression is not read
  std::deque<uint16_t> avail_reported;  // avail_event that may be written next: the last one, or one before it
  unsigned avail_stores = 0;
  std::deque<Completion> work;  // with used elements still due
  // Elements written, not yet visible to the driver: a buffer, or a batch.
  struct Unit {
    std::vector<Completion> batch;
    uint16_t head = 0;        // of the last buffer
    uint32_t head_bytes = 0;  // likewise
    bool solicited = false;   // the CQE
    bool refused = false;     // one of its writes
    uint64_t writes = 0;      // of all queues, up to the last one of it
  };
  Unit unit;                        // being written
  std::deque<Unit> units;           // whose used index is still due
  std::deque<Completion> cqes;      // still due
  std::deque<Buffer> posted;        // and not fetched
  std::deque<Buffer> fetched;       // and not used
  unsigned step = 0;                // of the writes of one buffer
  uint16_t placed = 0;              // elements written
  uint16_t used = 0;                // used.idx in memory
  std::vector<bool> solicited;      // of each CQE in memory
  std::deque<uint16_t> completing;  // used indices whose completion is in flight
  uint64_t written = 0;             // used indices that are complete
  uint64_t interrupts = 0;
  bool dead = false;   // must not be written any more
  bool error = false;  // a write of it has failed
  unsigned failures = 0;
  RdmaError code = RdmaError::kOk;
  // Of a CQ.
  uint64_t timestamp = 0;  // of the last CQE
  bool armed = false, arm_solicited = false, arm_next = false;
  uint64_t arm_seen = 0;
  unsigned arms = 0;
};

// Before all others, so that cq_context_ready_o is compared before a context of the cycle is passed to the model.
class ContextReadyCheck final : public BenchStream {
 public:
  ContextReadyCheck(Vcq_writer& p, const CqWriter& block) : p_(p), block_(block) {}
  void Begin(Cycle cycle) override {
    if ((p_.cq_context_ready_o != 0) != block_.IsContextReady(cycle)) {
      difference = "cycle " + std::to_string(cycle) + ": cq_context_ready_o is " +
                   std::to_string(p_.cq_context_ready_o) + " in RTL only";
    }
  }
  void End(Cycle) override {}
  bool IsEmpty() const override { return true; }

 private:
  Vcq_writer& p_;
  const CqWriter& block_;
};

// The ends of writes, in their order. At rate 0 those of used indices are held back, and the others come.
class DoneStream final : public BenchStream {
 public:
  struct Token {
    DmaDone done;
    size_t vq = 0;
    Store kind = Store::kOther;
  };
  using Tell = std::function<void(Cycle, const Token&)>;
  DoneStream(Vcq_writer& p, std::mt19937_64& random, Tell tell) : p_(p), random_(random), tell_(std::move(tell)) {
    p_.done_valid_i = 0;
  }
  void Begin(Cycle cycle) override {
    Scramble(p_.done_i, random_, TokenBits(DmaDone{}));
    auto next = tokens.begin();
    if (rate == 0 && !holds_all) {
      next = std::find_if(next, tokens.end(),
                          [](const Token& token) { return (token.done.tag & CqWriter::kTagIndex) == 0; });
    } else if (random_() % 16 >= rate) {
      next = tokens.end();
    }
    p_.done_valid_i = next != tokens.end();
    if (!p_.done_valid_i) return;
    SetPort(p_.done_i, next->done);
    const Token token = *next;
    tokens.erase(next);
    tell_(cycle, token);
  }
  void End(Cycle) override {}
  bool IsEmpty() const override { return tokens.empty(); }

  std::deque<Token> tokens;
  unsigned rate = 16;
  bool holds_all = false;  // at rate 0, none comes

 private:
  Vcq_writer& p_;
  std::mt19937_64& random_;
  Tell tell_;
};

class IdleCheck final : public BenchStream {
 public:
  IdleCheck(Vcq_writer& p, const CqWriter& block) : idle(block.IsIdle()), p_(p), block_(block) {}
  void Begin(Cycle) override {}
  void End(Cycle cycle) override {
    if ((p_.completion_waits_o != 0) != waits) {
      difference = "cycle " + std::to_string(cycle) + ": completion_waits_o differs";
    }
    if ((p_.idle_o != 0) != idle) {
      difference = "cycle " + std::to_string(cycle) + ": idle_o is " + std::to_string(p_.idle_o) + " in RTL only";
    }
    if ((p_.fence_o != 0) != block_.IsFencing(cycle)) {
      difference = "cycle " + std::to_string(cycle) + ": fence_o is " + std::to_string(p_.fence_o) + " in RTL only";
    }
    idle = block_.IsIdle();
    waits = block_.completion_in.size() != 0;
  }
  bool IsEmpty() const override { return true; }
  bool idle;
  bool waits = false;

 private:
  Vcq_writer& p_;
  const CqWriter& block_;
};

struct Features {
  bool packed = false;
  bool event_idx = false;
};

struct Bench {
  explicit Bench(const Features& features = {}) : packed(features.packed), event_idx(features.event_idx) {
    p.ring_packed_i = packed;
    p.event_idx_i = event_idx;
    block.SetRingPacked(0, packed);
    block.SetEventIdx(0, event_idx);
    block.fetch_request_out.Connect(fetch_sink, block);
    block.doorbell_out.Connect(doorbell_sink, block);
    block.buffer_request_out.Connect(request_sink, block);
    block.store_out.Connect(store_sink, block);
    block.queue_interrupt_out.Connect(interrupt_sink, block);
    block.queue_failure_out.Connect(failure_sink, block);
    bench.AddOther(stopped_out);
    block.on_queue_stopped = [this](Cycle at, const QueueFailure& failure) { stopped_out.Tell(at, failure); };
    request_out.keep = store_out.keep = interrupt_out.keep = failure_out.keep = false;
    fetch_out.keep = doorbell_out.keep = false;
    fetch_out.on_token = [this](Cycle cycle, const spec::DmaReadRequest& request) { OnFetch(cycle, request); };
    doorbell_out.on_token = [this](Cycle cycle, const spec::Doorbell& doorbell) { OnDoorbell(cycle, doorbell); };
    request_out.on_token = [this](Cycle, const BufferRequest& request) { OnRequest(request); };
    store_out.on_token = [this](Cycle cycle, const DmaStore& store) { OnStore(cycle, store); };
    interrupt_out.on_token = [this](Cycle cycle, const QueueInterrupt& interrupt) { OnInterrupt(cycle, interrupt); };
    failure_out.on_token = [this](Cycle, const QueueFailure& failure) {
      Queue& queue = queues[failure.vq_index];
      ++queue.failures;
      queue.code = failure.code;
    };
    bench.AddOther(done_in);
    bench.AddOther(idle);
    bench.AddOther(time_input);
    block.time_ns = [this](Cycle cycle) { return time.At(cycle); };
    for (uint8_t& bits : elements) bits = static_cast<uint8_t>(random());
    elements[0] |= spec::RdmaCqElement::kTimestamp;  // whatever the seed
    table_in.allowed = [this](Cycle, const TableWrite& write) {
      return write.table_id != spec::MgmtTable::kCqContext || p.cq_context_ready_o != 0;
    };
  }

  // --- Firmware and driver
  void SetKind(size_t vq, TableQueueKind kind, bool stopped = false, bool reset = false) {
    TableWrite write{.table_id = spec::MgmtTable::kVirtqueue, .index = static_cast<uint32_t>(vq)};
    spec::TableVirtqueue{.kind = kind, .stopped = stopped, .reset_positions = reset}.Encode(write.data);
    table_in.tokens.push_back(write);
  }
  void SetCq(size_t cqn, spec::TableCqContext entry) {
    TableWrite write{.table_id = spec::MgmtTable::kCqContext, .index = static_cast<uint32_t>(cqn)};
    entry.vq_index = static_cast<uint16_t>(entry.valid ? kFirstCq + cqn : 0);
    entry.elements = entry.valid ? elements[cqn] : uint8_t{0};
    entry.Encode(write.data);
    table_in.tokens.push_back(write);
  }
  // A new lifetime of an idle queue.
  void Enable(size_t vq, uint16_t size, bool has_vector = true) {
    Queue& queue = queues[vq];
    row_in.tokens.push_back({.vq_index = static_cast<uint16_t>(vq)});
    queue = {};
    queue.row = {.vq_index = static_cast<uint16_t>(vq),
                 .enabled = true,
                 .queue_size = size,
                 .msix_vector = has_vector ? static_cast<uint16_t>(kFirstVector + vq) : spec::kVirtioMsiNoVector,
                 .queue_desc = packed ? DeviceOf(vq) : random(),
                 .queue_driver = DeviceOf(vq) + kDriverArea,
                 .queue_device = packed ? random() : DeviceOf(vq)};
    row_in.tokens.push_back(queue.row);
    SetKind(vq, KindOf(vq));
    if (IsCq(vq)) {
      SetCq(vq - kFirstCq, {});
      SetCq(vq - kFirstCq, {.valid = true});
    }
  }
  uint16_t AnySize() { return static_cast<uint16_t>(packed ? 2 + random() % 40 : 2u << random() % 5); }
  void EnableAll() {
    for (size_t vq = 0; vq < kQueues; ++vq) Enable(vq, AnySize(), vq != 1 && vq != 4);
    ASSERT_EQ(bench.RunOut(30), "");
  }
  // Descriptor fetch has found this many entries in the ring.
  void TellAvail(size_t vq, uint16_t index) {
    avail_in.tokens.push_back({.vq_index = static_cast<uint16_t>(vq), .idx = index});
    queues[vq].avail_reported.push_back(index);
  }
  void Post(size_t vq, unsigned count, bool writable = true, uint32_t bytes = 0) {
    for (; count > 0; --count) {
      Queue& queue = queues[vq];
      const uint32_t least = IsCq(vq) ? spec::RdmaCqReq::kBytes : spec::RdmaEvent::kBytes;
      queue.posted.push_back({.status = BufferStatus::kOk,
                              .vq_index = static_cast<uint16_t>(vq),
                              .head = packed ? queue.TakePlace() : static_cast<uint16_t>(random()),
                              .address = DeviceOf(vq) + kBufferArea + (random() & 0xffff'ffff),
                              .bytes = bytes != 0 ? bytes : static_cast<uint32_t>(least + random() % 3),
                              .writable = writable,
                              .more = random() % 2 == 0,
                              .next_index = static_cast<uint16_t>(random())});
    }
  }
  Completion Complete(size_t vq, int cqn = -1, bool solicited = false, bool success = true) {
    return CompleteChain(vq, 0, false, cqn, solicited, success);
  }
  // `count` buffers, none visible before the last; those of `hold` and later are not sent yet.
  void CompleteBatch(size_t vq, unsigned count, unsigned hold = ~0u, unsigned room = ~0u) {
    unsigned left = std::min<unsigned>(room, queues[vq].row.queue_size);  // no more than fit into the ring
    for (unsigned i = 0; i < count; ++i) {
      if (i == hold) held.emplace();
      const unsigned longest = std::clamp((left - (count - 1 - i)) / 2, 1u, 4u);
      const auto descriptors = static_cast<unsigned>(1 + random() % longest);
      left -= descriptors;
      CompleteChain(vq, descriptors, i + 1 < count);
    }
  }
  void SendHeld() {
    completion_in.tokens.insert(completion_in.tokens.end(), held->begin(), held->end());
    held.reset();
  }
  // 0 descriptors: any number of them.
  Completion CompleteChain(size_t vq, unsigned descriptors, bool more, int cqn = -1, bool solicited = false,
                           bool success = true) {
    Queue& queue = queues[vq];
    // No more than fit into the ring at a time.
    const unsigned longest = std::clamp((queue.row.queue_size - 1u) / 2, 1u, 4u);
    if (descriptors == 0) descriptors = MayHaveChains(vq) ? static_cast<unsigned>(1 + random() % longest) : 1;
    Completion completion{.vq_index = static_cast<uint16_t>(vq),
                          .head = packed ? queue.TakePlace(descriptors) : static_cast<uint16_t>(random()),
                          .used_bytes = random() % 4 == 0 ? 0 : static_cast<uint32_t>(random()),
                          .more = more,
                          .has_id = packed && MayHaveChains(vq) && (descriptors > 1 || random() % 2 == 0),
                          .id = static_cast<uint16_t>(random()),
                          .next_position = queue.place,
                          .has_cqe = cqn >= 0,
                          .cqn = static_cast<uint16_t>(cqn >= 0 ? cqn : random() % kCqs),
                          .solicited = solicited};
    for (uint8_t& byte : completion.cqe) byte = static_cast<uint8_t>(random());
    completion.cqe[spec::RdmaCqReq::kStatusOffset] = success ? 0 : static_cast<uint8_t>(1 + random() % 15);
    if (packed && !completion.has_id) completion.next_position = static_cast<uint16_t>(random());
    (held ? *held : completion_in.tokens).push_back(completion);
    if (!queues[vq].dead) queues[vq].work.push_back(completion);
    if (cqn >= 0) queues[kFirstCq + static_cast<size_t>(cqn)].cqes.push_back(completion);
    return completion;
  }
  void Happen() {
    events.push_back({.event_type = static_cast<spec::RdmaEventType>(random() % 20),
                      .element = static_cast<uint32_t>(random()),
                      .code = static_cast<uint32_t>(random())});
    event_in.tokens.push_back(events.back());
  }
  // With the position that the driver has seen; the reference takes one arm at a time.
  void ArmCq(size_t cqn, bool solicited, bool next, uint16_t next_position = 0) {
    Queue& queue = queues[kFirstCq + cqn];
    const auto seen = packed ? queue.PlaceAt(queue.solicited.size() - next_position)
                             : static_cast<uint16_t>(queue.used - next_position);
    arm_in.tokens.push_back(
        {.cqn = static_cast<uint16_t>(cqn),
         .value = spec::RdmaCqArm{.seen_used_idx = seen, .solicited = solicited, .next_completion = next}.ToWord()});
    queue.armed = solicited || next;
    queue.arm_solicited = solicited;
    queue.arm_next = next;
    queue.arm_seen = queue.solicited.size() - next_position;
    ++queue.arms;
  }
  // A place in a packed ring identifies the seen position only up to a ring's length back: a later arm may cause a
  // spurious notification. The CQEs that count are those in memory, also if their used index is not yet.
  bool IsOvertaken(const Queue& queue) const {
    return packed && queue.solicited.size() + queue.units.size() - queue.arm_seen > queue.row.queue_size;
  }
  bool IsWanted(const Queue& queue) const {
    for (uint64_t i = queue.arm_seen; i < queue.written; ++i) {
      if (queue.arm_next || (queue.arm_solicited && queue.solicited[i])) return true;
    }
    return false;
  }

  // --- Outputs
  void OnRequest(const BufferRequest& request) {
    ASSERT_EQ(request.client, spec::BufferClient::kCompletion);
    ASSERT_FALSE(request.by_index);
    ASSERT_GE(request.count, 1);
    Queue& queue = queues[request.vq_index];
    ASSERT_FALSE(queue.dead);
    const size_t in_use = queue.step == 1;  // its element is still at the output
    ASSERT_LE(queue.fetched.size() - in_use + request.count, IsCq(request.vq_index) ? CqWriter::kCqBuffers : 1);
    ++requests;
    if (queue.posted.empty()) {
      buffer_in.tokens.push_back({.status = none, .last = true, .vq_index = request.vq_index});
    }
    for (unsigned i = 0; i < request.count && !queue.posted.empty(); ++i) {
      Buffer buffer = queue.posted.front();
      queue.posted.pop_front();
      buffer.last = i + 1u == request.count || queue.posted.empty();
      buffer_in.tokens.push_back(buffer);
      queue.fetched.push_back(buffer);
    }
  }
  // Random event suppression of a driver, now and then near the checked position.
  uint32_t EventSuppression(const Span& span, uint16_t size) {
    if (fixed_suppression) return *fixed_suppression;
    if (!fickle && !(event_idx && !packed)) return 0;
    const auto value = static_cast<uint16_t>(random());
    if (!packed) {
      const bool here = !fickle || random() % 2 == 0;
      return event_idx && here ? static_cast<uint16_t>(span.first + value % (span.next_position - span.first)) : value;
    }
    uint16_t place = span.first;
    unsigned length = 1;
    for (uint16_t i = NextPlace(place, size); i != span.next_position; i = NextPlace(i, size)) ++length;
    for (uint64_t steps = random() % (length + 6) + 2 * size - 2; steps > 0; --steps) place = NextPlace(place, size);
    return uint32_t{value} << 16 | (random() % 8 == 0 ? static_cast<uint16_t>(random()) : place);
  }
  bool IsInterruptWanted(const Span& span, uint16_t size, uint32_t suppression) const {
    if (!packed && !event_idx) return (suppression & spec::VirtqAvailFlags::kNoInterrupt) == 0;
    if (!packed) {
      for (uint16_t i = span.first; i != span.next_position; ++i) {
        if (i == suppression) return true;
      }
      return false;
    }
    const auto flags = static_cast<spec::RingEventFlags>(suppression >> 16 & 3);
    if (flags == spec::RingEventFlags::kDisable) return false;
    if (flags != spec::RingEventFlags::kDesc || !event_idx) return true;
    uint16_t place = span.first;
    do {
      if (place == static_cast<uint16_t>(suppression)) return true;
      place = NextPlace(place, size);
    } while (place != span.next_position);
    return false;
  }
  void OnFetch(Cycle cycle, const spec::DmaReadRequest& request) {
    last_fetch = cycle;
    const size_t vq = (request.address >> 40) - 1;
    ASSERT_LT(vq, kQueues);
    ASSERT_TRUE(InterruptsByItself(vq));
    Queue& queue = queues[vq];
    ASSERT_LE(++queue.questions, queue.written) << "reads before the used index is in memory";
    const uint16_t size = queue.row.queue_size;
    const uint64_t offset = !packed && event_idx ? spec::VirtqAvail::kBytes + 2u * size : 0;
    ASSERT_EQ(request.address, DeviceOf(vq) + kDriverArea + offset);
    ASSERT_EQ(request.bytes, packed ? 4 : 2);
    ASSERT_FALSE(queue.spans.empty());
    if (queue.spans.front().number == queue.unasked) queue.spans.pop_front();
    ASSERT_FALSE(queue.spans.empty());
    const Span span = queue.spans.front();
    queue.spans.pop_front();
    const uint32_t suppression = EventSuppression(span, size);
    spec::DmaFetched fetched{.tag = request.tag};
    for (unsigned i = 0; i < request.bytes; ++i) fetched.data[i] = static_cast<uint8_t>(suppression >> 8 * i);
    if (fail_fetch == vq) {
      fail_fetch = kQueues;
      queue.error = true;
      fetched.resp = kSlverr;
    } else if (IsInterruptWanted(span, size, suppression)) {
      ++queue.requested;
      wanted.push_back(vq);
    }
    fetched_in.tokens.push_back(fetched);
  }
  void OnDoorbell(Cycle cycle, const spec::Doorbell& doorbell) {
    last_doorbell = cycle;
    ++doorbells;
    ASSERT_FALSE(rings.empty()) << "rings before avail_event is in memory";
    ASSERT_EQ(doorbell.vq_index, rings.front());
    rings.pop_front();
  }
  static int FlagsOf(uint16_t head, uint32_t bytes) {
    using Flags = spec::VirtqDescFlags;
    return ((head & kWrap) != 0 ? Flags::kAvail | Flags::kUsed : 0) | (bytes != 0 ? Flags::kWrite : 0);
  }
  // The last value sent, unless an earlier one was written first.
  void OnAvailStore(size_t vq, const DmaStore& store) {
    Queue& queue = queues[vq];
    ASSERT_TRUE(event_idx && !packed);
    ASSERT_EQ(store.bytes, 2);
    ASSERT_TRUE(store.notify);
    ASSERT_NE(store.tag & CqWriter::kTagIndex, 0);
    for (size_t i = store.bytes; i < sizeof store.data; ++i) ASSERT_EQ(store.data[i], 0);
    const auto value = static_cast<uint16_t>(Little(store.data, 2));
    while (!queue.avail_reported.empty() && queue.avail_reported.front() != value) queue.avail_reported.pop_front();
    ASSERT_FALSE(queue.avail_reported.empty());
    queue.avail_reported.pop_front();
    ++queue.avail_stores;
    const bool fails = fail_queue == vq && fail_after-- == 0;
    if (fails) {
      queue.error = true;
      fail_queue = kQueues;
    }
    done_in.tokens.push_back(
        {{.tag = store.tag, .resp = fails ? kSlverr : uint8_t{0}}, vq, fails ? Store::kOther : Store::kAvailEvent});
  }
  void OnStore(Cycle cycle, const DmaStore& store) {
    last_store = cycle;
    ++stores;
    if (on_store) on_store(store);
    const size_t vq = (store.address >> 40) - 1;
    ASSERT_LT(vq, kQueues);
    Queue& queue = queues[vq];
    if (store.address ==
        DeviceOf(vq) + spec::VirtqUsed::kBytes + spec::VirtqUsedElem::kBytes * uint64_t{queue.row.queue_size}) {
      if (!packed) return OnAvailStore(vq, store);
    }
    ASSERT_FALSE(queue.dead) << "queue " << vq << " is written";
    const bool is_index = (store.tag & CqWriter::kTagIndex) != 0;
    ASSERT_TRUE(store.notify);
    for (size_t i = store.bytes; i < sizeof store.data; ++i) ASSERT_EQ(store.data[i], 0);
    const bool fails = fail_queue == vq && fail_after-- == 0;
    if (fails) {
      queue.error = true;
      fail_queue = kQueues;
      if (is_index) {
        queue.unasked = queue.indices;
      } else {
        queue.unit.refused = true;
      }
    }
    done_in.tokens.push_back(
        {{.tag = store.tag, .resp = fails ? kSlverr : uint8_t{0}}, vq, is_index ? Store::kIndex : Store::kOther});
    if (is_index) return OnIndexStore(vq, store);
    ++writes;
    OnWrite(cycle, vq, store);
  }
  // A CQE, as it came or with the elements that both its CQ and the device have. Its timestamp is that of a cycle since
  // the CQE before it in this CQ, and before the store.
  void CheckCqe(Cycle cycle, size_t vq, const DmaStore& store, const Completion& completion) {
    std::array<uint8_t, spec::RdmaCqReq::kBytes> expected{};
    std::copy_n(completion.cqe, expected.size(), expected.begin());
    if ((elements[vq - kFirstCq] & spec::RdmaCqElement::kTimestamp) != 0) {
      auto base = spec::RdmaCqBase::Decode(completion.cqe);
      base.version = 1;
      base.base_bytes = 40;
      base.elements = spec::RdmaCqElement::kTimestamp;
      base.Encode(expected.data());
      std::copy_n(store.data + 40, 8, expected.begin() + 40);
      const uint64_t timestamp = Little(store.data + 40, 8);
      ASSERT_GT(timestamp, queues[vq].timestamp);
      ASSERT_LT(timestamp, time.At(cycle));
      queues[vq].timestamp = timestamp;
      ++timestamps;
    }
    ASSERT_EQ(std::memcmp(store.data, expected.data(), expected.size()), 0);
  }
  // A buffer's data, its used element, or flags of a later buffer of a packed batch: step 0, 1, 3.
  void OnWrite(Cycle cycle, size_t vq, const DmaStore& store) {
    Queue& queue = queues[vq];
    Queue::Unit& unit = queue.unit;
    const uint64_t offset = store.address - DeviceOf(vq);
    const bool has_data = IsCq(vq) || vq == kEventQueue;
    constexpr unsigned kWritten = 2;
    if (has_data && queue.step == 0) {
      ASSERT_FALSE(queue.fetched.empty());
      ASSERT_EQ(store.address, queue.fetched.front().address);
      if (IsCq(vq)) {
        ASSERT_FALSE(queue.cqes.empty());
        const Completion& completion = queue.cqes.front();
        ASSERT_EQ(store.bytes, spec::RdmaCqReq::kBytes);
        CheckCqe(cycle, vq, store, completion);
        if (testing::Test::HasFatalFailure()) return;
        unit.solicited = completion.solicited || completion.cqe[spec::RdmaCqReq::kStatusOffset] != 0;
        queue.cqes.pop_front();
      } else {
        ASSERT_EQ(store.bytes, spec::RdmaEvent::kBytes);
        const auto event = spec::RdmaEvent::Decode(store.data);
        lost += event.lost;
        ASSERT_LT(event.lost, events.size());
        for (uint32_t i = 0; i < event.lost; ++i) events.pop_front();
        ASSERT_EQ(event.event_type, events.front().event_type);
        ASSERT_EQ(event.element, events.front().element);
        ASSERT_EQ(event.code, events.front().code);
        events.pop_front();
      }
      queue.step = 1;
    } else if (queue.step == 3) {
      ASSERT_EQ(store.bytes, 2);
      ASSERT_EQ(offset, spec::PvirtqDesc::kBytes * (unit.head & ~kWrap) + spec::PvirtqDesc::kFlagsOffset);
      ASSERT_EQ(Little(store.data, 2), FlagsOf(unit.head, unit.head_bytes));
      queue.step = unit.batch.back().more ? 0 : kWritten;
    } else {
      bool has_id = false;
      if (has_data) {
        unit.head = queue.fetched.front().head;
        unit.head_bytes = IsCq(vq) ? spec::RdmaCqReq::kBytes : spec::RdmaEvent::kBytes;
        queue.fetched.pop_front();
      } else {
        ASSERT_FALSE(queue.work.empty());
        const Completion& completion = queue.work.front();
        unit.head = completion.head;
        unit.head_bytes = completion.used_bytes;
        has_id = completion.has_id;
        if (packed && has_id) {
          ASSERT_EQ(Little(store.data + 4, 2), completion.id);
        }
        unit.batch.push_back(completion);
        queue.work.pop_front();
      }
      const bool more = !has_data && unit.batch.back().more;
      if (packed) {
        ASSERT_EQ(offset, spec::PvirtqDesc::kBytes * (unit.head & ~kWrap) + spec::PvirtqDesc::kLenOffset);
        ASSERT_EQ(store.bytes, has_id ? 6 : 4);
        ASSERT_EQ(Little(store.data, 4), unit.head_bytes);
        queue.step = unit.batch.size() > 1 ? 3 : more ? 0 : kWritten;
      } else {
        ASSERT_EQ(offset,
                  spec::VirtqUsed::kBytes + spec::VirtqUsedElem::kBytes * (queue.placed++ % queue.row.queue_size));
        ASSERT_EQ(store.bytes, spec::VirtqUsedElem::kBytes);
        const auto element = spec::VirtqUsedElem::Decode(store.data);
        ASSERT_EQ(element.id, unit.head);
        ASSERT_EQ(element.len, unit.head_bytes);
        queue.step = more ? 0 : kWritten;
      }
    }
    if (queue.step != kWritten) return;
    unit.writes = writes;
    queue.units.push_back(std::exchange(unit, {}));
    queue.step = 0;
  }
  // The index, or the flags of the first buffer.
  void OnIndexStore(size_t vq, const DmaStore& store) {
    Queue& queue = queues[vq];
    ASSERT_FALSE(queue.units.empty());
    const Queue::Unit unit = queue.units.front();
    queue.units.pop_front();
    ASSERT_LE(unit.writes, ended) << "visible before it is in memory";
    ASSERT_FALSE(unit.refused) << "visible, but the bus refused a write";
    const bool has_data = IsCq(vq) || vq == kEventQueue;
    const uint64_t offset = store.address - DeviceOf(vq);
    ASSERT_EQ(store.bytes, 2);
    const uint16_t before = queue.used;
    queue.used = static_cast<uint16_t>(queue.used + (has_data ? 1 : unit.batch.size()));
    const uint16_t next_position = has_data || !unit.batch.back().has_id ? NextPlace(unit.head, queue.row.queue_size)
                                                                         : unit.batch.back().next_position;
    batches += unit.batch.size() > 1;
    const uint16_t head = has_data ? unit.head : unit.batch.front().head;
    if (packed) {
      ASSERT_EQ(offset, spec::PvirtqDesc::kBytes * (head & ~kWrap) + spec::PvirtqDesc::kFlagsOffset);
      ASSERT_EQ(Little(store.data, 2), FlagsOf(head, has_data ? unit.head_bytes : unit.batch.front().used_bytes));
    } else {
      ASSERT_EQ(offset, spec::VirtqUsed::kIdxOffset);
      ASSERT_EQ(Little(store.data, 2), queue.used);
    }
    if (IsCq(vq)) queue.solicited.push_back(unit.solicited);
    queue.spans.push_back(packed ? Span{head, next_position, queue.indices} : Span{before, queue.used, queue.indices});
    ++queue.indices;
  }
  void OnDone(Cycle cycle, const DoneStream::Token& token) {
    block.OnDone(cycle, token.done);
    last_done = cycle;
    ended += (token.done.tag & CqWriter::kTagIndex) == 0;
    if (token.kind == Store::kIndex) ++queues[token.vq].written;
    if (token.kind == Store::kAvailEvent) rings.push_back(static_cast<uint16_t>(token.vq));
  }
  void OnInterrupt(Cycle cycle, const QueueInterrupt& interrupt) {
    last_interrupt = cycle;
    const size_t vq = interrupt.vq_index;
    ASSERT_LT(vq, kQueues);
    ASSERT_EQ(interrupt.msix_vector, vq + kFirstVector);
    Queue& queue = queues[vq];
    ++queue.interrupts;
    ASSERT_TRUE(IsCq(vq) || vq <= kControlQueue || vq == kEventQueue);
    if (IsCq(vq)) {
      ASSERT_TRUE(queue.armed) << "CQ notifies without being armed";
      ASSERT_TRUE(IsWanted(queue) || IsOvertaken(queue)) << "CQ notifies without a new CQE";
      queue.armed = false;
    } else {
      ASSERT_FALSE(wanted.empty()) << "unexpected interrupt";
      ASSERT_EQ(wanted.front(), vq);
      wanted.pop_front();
    }
  }
  void SetRates(unsigned in, unsigned memory, unsigned out) {
    completion_in.rate = event_in.rate = arm_in.rate = in;
    buffer_in.rate = done_in.rate = fetched_in.rate = memory;
    avail_in.rate = in;
    fetch_out.rate = doorbell_out.rate = out;
    request_out.rate = store_out.rate = interrupt_out.rate = failure_out.rate = out;
  }
  void Settle() {
    ASSERT_EQ(bench.RunOut(20), "");
    for (int i = 0; i < 400 && !idle.idle; ++i) ASSERT_EQ(bench.Run(100), "");
    ASSERT_EQ(bench.Run(3), "");
    ASSERT_TRUE(idle.idle);
    ASSERT_TRUE(wanted.empty()) << "interrupt lost";
    ASSERT_TRUE(rings.empty()) << "doorbell lost";
    for (size_t vq = 0; vq < kQueues; ++vq) {
      const Queue& queue = queues[vq];
      SCOPED_TRACE("queue " + std::to_string(vq));
      if (queue.error || queue.dead) continue;
      ASSERT_TRUE(queue.work.empty());
      ASSERT_EQ(queue.step, 0u);
      ASSERT_TRUE(queue.unit.batch.empty() && queue.units.empty());
      ASSERT_TRUE(queue.avail_reported.empty());
      if (IsCq(vq)) {
        if (queue.failures == 0) {
          ASSERT_TRUE(queue.cqes.empty()) << "CQE lost";
        }
        if (queue.armed && !IsOvertaken(queue) && queue.row.msix_vector != spec::kVirtioMsiNoVector) {
          ASSERT_FALSE(IsWanted(queue)) << "notification lost";
        }
      } else if (InterruptsByItself(vq) && queue.row.msix_vector != spec::kVirtioMsiNoVector) {
        ASSERT_EQ(queue.questions, queue.written);
        ASSERT_EQ(queue.interrupts, queue.requested);
      } else {
        ASSERT_EQ(queue.interrupts, 0u);
      }
    }
  }

  const bool packed, event_idx;
  std::mt19937_64 random = sim::MakeRandom("cq_writer");
  Agenda agenda;
  CqWriter block{agenda, {.queues = kQueues, .cqs = kCqs, .slots = kSlots}};
  DeviceTime time{4};
  std::array<uint8_t, kCqs> elements{};  // of the completions of each CQ, also some that no device has
  RtlTop<Vcq_writer> rtl{[](const Vcq_writer& top, std::vector<uint8_t>& bytes) {
    const auto add = [&](const auto& port) {
      const auto all = BytesOf(port);
      bytes.insert(bytes.end(), all.begin(), all.end());
    };
    add(top.completion_ready_o), add(top.host_event_ready_o), add(top.cq_arm_ready_o), add(top.buffer_ready_o);
    add(top.buffer_request_valid_o), add(top.buffer_request_o), add(top.store_valid_o), add(top.store_o);
    add(top.queue_interrupt_valid_o), add(top.queue_interrupt_o), add(top.queue_failure_valid_o),
        add(top.queue_failure_o), add(top.queue_stopped_valid_o);
    add(top.fetch_request_valid_o), add(top.fetch_request_o), add(top.fetched_ready_o);
    add(top.doorbell_valid_o), add(top.doorbell_o), add(top.completion_waits_o), add(top.idle_o), add(top.fence_o),
        add(top.cq_context_ready_o);
  }};
  BlockBench<Vcq_writer> bench{rtl, agenda, random};
  Vcq_writer& p = rtl.ports();
  IdleCheck idle{p, block};
  DeviceTimeInput<decltype(p.time_ns_i)> time_input{p.time_ns_i, time};
  ContextReadyCheck context_ready{p, block};
  ContextBench<Vcq_writer, CqWriter> contexts{p, block};
  bool added = (bench.AddOther(context_ready), bench.AddOther(contexts), true);
  Channel<BufferRequest> request_sink = Channel<BufferRequest>::Sink();
  Channel<DmaStore> store_sink = Channel<DmaStore>::Sink();
  Channel<QueueInterrupt> interrupt_sink = Channel<QueueInterrupt>::Sink();
  Channel<QueueFailure> failure_sink = Channel<QueueFailure>::Sink();
  decltype(bench.In("", block.completion_in, p.completion_valid_i, p.completion_ready_o,
                    p.completion_i)) completion_in =
      bench.In("completion", block.completion_in, p.completion_valid_i, p.completion_ready_o, p.completion_i);
  decltype(bench.In("", block.host_event_in, p.host_event_valid_i, p.host_event_ready_o, p.host_event_i)) event_in =
      bench.In("host_event", block.host_event_in, p.host_event_valid_i, p.host_event_ready_o, p.host_event_i);
  decltype(bench.In("", block.cq_arm_in, p.cq_arm_valid_i, p.cq_arm_ready_o, p.cq_arm_i)) arm_in =
      bench.In("cq_arm", block.cq_arm_in, p.cq_arm_valid_i, p.cq_arm_ready_o, p.cq_arm_i);
  decltype(bench.In("", block.buffer_in, p.buffer_valid_i, p.buffer_ready_o, p.buffer_i)) buffer_in =
      bench.In("buffer", block.buffer_in, p.buffer_valid_i, p.buffer_ready_o, p.buffer_i);
  decltype(bench.Out("", request_sink, p.buffer_request_valid_o, p.buffer_request_ready_i,
                     p.buffer_request_o)) request_out =
      bench.Out("buffer_request", request_sink, p.buffer_request_valid_o, p.buffer_request_ready_i, p.buffer_request_o);
  decltype(bench.Out("", store_sink, p.store_valid_o, p.store_ready_i, p.store_o)) store_out =
      bench.Out("store", store_sink, p.store_valid_o, p.store_ready_i, p.store_o);
  decltype(bench.Out("", interrupt_sink, p.queue_interrupt_valid_o, p.queue_interrupt_ready_i,
                     p.queue_interrupt_o)) interrupt_out =
      bench.Out("queue_interrupt", interrupt_sink, p.queue_interrupt_valid_o, p.queue_interrupt_ready_i,
                p.queue_interrupt_o);
  decltype(bench.Out("", failure_sink, p.queue_failure_valid_o, p.queue_failure_ready_i,
                     p.queue_failure_o)) failure_out =
      bench.Out("queue_failure", failure_sink, p.queue_failure_valid_o, p.queue_failure_ready_i, p.queue_failure_o);
  OutPulse<QueueFailure, decltype(p.queue_stopped_valid_o), decltype(p.queue_failure_o)> stopped_out{
      "queue_stopped", p.queue_stopped_valid_o, p.queue_failure_o};
  Channel<spec::DmaReadRequest> fetch_sink = Channel<spec::DmaReadRequest>::Sink();
  Channel<spec::Doorbell> doorbell_sink = Channel<spec::Doorbell>::Sink();
  decltype(bench.Out("", fetch_sink, p.fetch_request_valid_o, p.fetch_request_ready_i, p.fetch_request_o)) fetch_out =
      bench.Out("fetch_request", fetch_sink, p.fetch_request_valid_o, p.fetch_request_ready_i, p.fetch_request_o);
  decltype(bench.In("", block.fetched_in, p.fetched_valid_i, p.fetched_ready_o, p.fetched_i)) fetched_in =
      bench.In("fetched", block.fetched_in, p.fetched_valid_i, p.fetched_ready_o, p.fetched_i);
  decltype(bench.Out("", doorbell_sink, p.doorbell_valid_o, p.doorbell_ready_i, p.doorbell_o)) doorbell_out =
      bench.Out("doorbell", doorbell_sink, p.doorbell_valid_o, p.doorbell_ready_i, p.doorbell_o);
  decltype(bench.Pulse<spec::AvailEvent>(p.avail_event_valid_i, p.avail_event_i, {})) avail_in =
      bench.Pulse<spec::AvailEvent>(
          p.avail_event_valid_i, p.avail_event_i,
          [this](Cycle cycle, const spec::AvailEvent& token) { block.OnAvailEvent(cycle, token); });
  decltype(bench.Pulse<TableWrite>(p.table_write_valid_i, p.table_write_i, {})) table_in =
      bench.Pulse<TableWrite>(p.table_write_valid_i, p.table_write_i,
                              [this](Cycle cycle, const TableWrite& token) { block.OnTableWrite(cycle, token); });
  decltype(bench.Pulse<QueueRowWrite>(p.queue_row_write_valid_i, p.queue_row_write_i, {})) row_in =
      bench.Pulse<QueueRowWrite>(
          p.queue_row_write_valid_i, p.queue_row_write_i,
          [this](Cycle cycle, const QueueRowWrite& token) { block.OnQueueRowWrite(cycle, token); });
  DoneStream done_in{p, random, [this](Cycle cycle, const DoneStream::Token& token) { OnDone(cycle, token); }};
  std::array<Queue, kQueues> queues;
  std::deque<HostEvent> events;                // not yet written
  std::optional<std::deque<Completion>> held;  // not sent yet
  std::function<void(const DmaStore&)> on_store;
  unsigned batches = 0;
  uint64_t writes = 0, ended = 0;  // stores that a used index makes visible, and their ends
  std::deque<size_t> wanted;       // interrupts due
  std::deque<uint16_t> rings;      // doorbells due
  bool fickle = false;             // drivers suppress some interrupts
  std::optional<uint32_t> fixed_suppression;
  size_t fail_fetch = kQueues;  // whose event suppression cannot be read
  Cycle last_fetch = 0, last_doorbell = 0;
  unsigned doorbells = 0;
  BufferStatus none = BufferStatus::kEmpty;  // answer of a queue without buffers
  size_t fail_queue = kQueues;               // whose write fails
  unsigned fail_after = 0;
  uint64_t lost = 0, timestamps = 0;
  unsigned requests = 0, stores = 0;
  Cycle last_store = 0, last_interrupt = 0, last_done = 0;
};

// Split and packed, without event_idx and with.
class CqWriterRings : public testing::TestWithParam<std::tuple<bool, bool>> {
 protected:
  static Features Param() { return {.packed = std::get<0>(GetParam()), .event_idx = std::get<1>(GetParam())}; }
};

}  // namespace vireo::verif
