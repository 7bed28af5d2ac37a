// SPDX-License-Identifier: Apache-2.0
// The CQ writer as RTL and as model side by side, between drivers that post buffers, arm CQs and read what is written.
// Every store is compared with what must be next in its queue, every interrupt with what its driver asked for.
#include "model/virtio/cq_writer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "Vcq_writer.h"
#include "spec/gen/vireo_spec.h"
#include "verif/common/block_bench.h"
#include "verif/harness/seed.h"

namespace vireo::verif {
namespace {

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

constexpr size_t kQueues = 16, kCqs = 4, kSlots = 16;
constexpr size_t kNetQueue = 0, kControlQueue = 2, kFirstCq = 3, kFirstWork = 7, kEventQueue = 15;
constexpr uint16_t kFirstVector = 100;
constexpr uint8_t kSlverr = 2;  // [AMBA AXI, A3.4.4]
constexpr uint64_t kBufferArea = uint64_t{1} << 36;
constexpr uint64_t kDriverArea = uint64_t{1} << 38;

TableQueueKind KindOf(size_t vq) {
  if (vq < kControlQueue) return vq % 2 == 0 ? TableQueueKind::kReceive : TableQueueKind::kTransmit;
  if (vq == kControlQueue) return TableQueueKind::kControl;
  if (vq < kFirstWork) return TableQueueKind::kCq;
  if (vq == kEventQueue) return TableQueueKind::kEvent;
  return vq % 2 == 0 ? TableQueueKind::kSq : TableQueueKind::kRq;
}
bool MayHaveChains(size_t vq) { return vq <= kControlQueue; }
constexpr uint16_t kWrap = 0x8000;
bool InterruptsByItself(size_t vq) { return vq <= kControlQueue || vq == kEventQueue; }
bool IsCq(size_t vq) { return vq >= kFirstCq && vq < kFirstWork; }
uint64_t DeviceOf(size_t vq) { return (uint64_t{vq} + 1) << 40; }
uint64_t Little(const uint8_t* bytes, size_t count) {
  uint64_t value = 0;
  for (size_t i = 0; i < count; ++i) value |= uint64_t{bytes[i]} << 8 * i;
  return value;
}

// A used buffer, or a batch of them: split: their numbers; packed: where they lie; and what is behind.
struct Span {
  uint16_t first, behind;
  uint64_t number;
};
enum class Store { kOther, kIndex, kAvailEvent };
uint16_t NextPlace(uint16_t place, unsigned size) {
  return static_cast<uint16_t>((place & ~kWrap) + 1u == size ? (place & kWrap) ^ kWrap : place + 1u);
}

// One queue as its driver sees it.
struct Queue {
  QueueRowWrite row;
  // Packed: where the next buffer lies, as tokens name it.
  uint16_t place = kWrap;
  uint16_t TakePlace(unsigned descriptors = 1) {
    const uint16_t taken = place;
    const unsigned at = (place & ~kWrap) + descriptors;
    place = static_cast<uint16_t>(at < row.queue_size ? at | (place & kWrap)
                                                      : (at - row.queue_size) | ((place & kWrap) ^ kWrap));
    return taken;
  }
  // Behind so many single descriptors.
  uint16_t PlaceAt(uint64_t count) const {
    return static_cast<uint16_t>(count % row.queue_size | (count / row.queue_size % 2 == 0 ? kWrap : 0));
  }
  std::deque<Span> spans;  // of used buffers of which the driver was not asked
  uint64_t questions = 0, wished = 0;
  uint64_t indices = 0;             // used indices that were stored, of packed rings flags: what the driver sees
  uint64_t unasked = ~uint64_t{0};  // the number of the used buffer whose writes failed: nobody asks about it
  std::deque<uint16_t> avail_told;  // avail_event that may be written next: the last one, or one before it
  unsigned avail_stores = 0;
  std::deque<Completion> work;    // whose used elements are to come
  std::vector<Completion> batch;  // whose elements were written, and which the driver may not see yet
  std::deque<Completion> cqes;    // that are to come
  std::deque<Buffer> posted;      // and not fetched
  std::deque<Buffer> fetched;     // and not used
  unsigned step = 0;              // of the writes of one buffer
  uint16_t head = 0;              // of that
  uint32_t head_bytes = 0;
  uint16_t used = 0;                // used.idx in memory
  std::vector<bool> solicited;      // of each CQE in memory
  std::deque<uint16_t> completing;  // used indices whose completion is on its way
  uint64_t written = 0;             // used indices that are complete
  uint64_t interrupts = 0;
  bool dead = false;   // must not be written any more
  bool error = false;  // a write of it has failed
  unsigned failures = 0;
  RdmaError code = RdmaError::kOk;
  // Of a CQ.
  bool armed = false, arm_solicited = false, arm_next = false;
  uint64_t arm_seen = 0;
  unsigned arms = 0;
};

class IdleCheck final : public BenchStream {
 public:
  IdleCheck(Vcq_writer& p, const CqWriter& block) : idle(block.IsIdle()), p_(p), block_(block) {}
  void Begin(Cycle) override {}
  void End(Cycle cycle) override {
    if ((p_.idle_o != 0) != idle) {
      difference = "cycle " + std::to_string(cycle) + ": idle_o is " + std::to_string(p_.idle_o) + " in RTL only";
    }
    idle = block_.IsIdle();
  }
  bool IsEmpty() const override { return true; }
  bool idle;

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
    bench.AddOther(idle);
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
    entry.Encode(write.data);
    table_in.tokens.push_back(write);
  }
  // A new life of a queue that nobody uses.
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
  // Descriptor fetch has found so many entries in the ring.
  void TellAvail(size_t vq, uint16_t index) {
    avail_in.tokens.push_back({.vq_index = static_cast<uint16_t>(vq), .idx = index});
    queues[vq].avail_told.push_back(index);
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
  // `count` buffers of which the driver may see none before the last; those of `hold` and behind are not sent yet.
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
                          .behind = queue.place,
                          .has_cqe = cqn >= 0,
                          .cqn = static_cast<uint16_t>(cqn >= 0 ? cqn : random() % kCqs),
                          .solicited = solicited};
    for (uint8_t& byte : completion.cqe) byte = static_cast<uint8_t>(random());
    completion.cqe[spec::RdmaCqReq::kStatusOffset] = success ? 0 : static_cast<uint8_t>(1 + random() % 15);
    if (packed && !completion.has_id) completion.behind = static_cast<uint16_t>(random());
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
  // With what the driver has seen; the reference takes one arm at a time.
  void ArmCq(size_t cqn, bool solicited, bool next, uint16_t behind = 0) {
    Queue& queue = queues[kFirstCq + cqn];
    const auto seen =
        packed ? queue.PlaceAt(queue.solicited.size() - behind) : static_cast<uint16_t>(queue.used - behind);
    arm_in.tokens.push_back(
        {.cqn = static_cast<uint16_t>(cqn),
         .value = spec::RdmaCqArm{.seen_used_idx = seen, .solicited = solicited, .next_completion = next}.ToWord()});
    queue.armed = solicited || next;
    queue.arm_solicited = solicited;
    queue.arm_next = next;
    queue.arm_seen = queue.solicited.size() - behind;
    ++queue.arms;
  }
  // A place in a packed ring tells what was seen only up to a ring's length back: an arm that came later than that may
  // notify for nothing.
  bool IsOvertaken(const Queue& queue) const {
    return packed && queue.solicited.size() - queue.arm_seen > queue.row.queue_size;
  }
  bool IsWanted(const Queue& queue) const {
    for (uint64_t i = queue.arm_seen; i < queue.written; ++i) {
      if (queue.arm_next || (queue.arm_solicited && queue.solicited[i])) return true;
    }
    return false;
  }

  // --- What comes out
  void OnRequest(const BufferRequest& request) {
    ASSERT_EQ(request.client, spec::BufferClient::kCompletion);
    ASSERT_FALSE(request.by_index);
    ASSERT_GE(request.count, 1);
    Queue& queue = queues[request.vq_index];
    ASSERT_FALSE(queue.dead);
    ASSERT_TRUE(queue.fetched.empty());
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
  // Of a driver that wants anything, and now and then something that concerns what is asked.
  uint32_t Wish(const Span& span, uint16_t size) {
    if (fixed_wish) return *fixed_wish;
    if (!fickle && !(event_idx && !packed)) return 0;
    const auto value = static_cast<uint16_t>(random());
    if (!packed) {
      const bool here = !fickle || random() % 2 == 0;
      return event_idx && here ? static_cast<uint16_t>(span.first + value % (span.behind - span.first)) : value;
    }
    uint16_t place = span.first;
    unsigned length = 1;
    for (uint16_t i = NextPlace(place, size); i != span.behind; i = NextPlace(i, size)) ++length;
    for (uint64_t steps = random() % (length + 6) + 2 * size - 2; steps > 0; --steps) place = NextPlace(place, size);
    return uint32_t{value} << 16 | (random() % 8 == 0 ? static_cast<uint16_t>(random()) : place);
  }
  bool IsInterruptWanted(const Span& span, uint16_t size, uint32_t wish) const {
    if (!packed && !event_idx) return (wish & spec::VirtqAvailFlags::kNoInterrupt) == 0;
    if (!packed) {
      for (uint16_t i = span.first; i != span.behind; ++i) {
        if (i == wish) return true;
      }
      return false;
    }
    const auto flags = static_cast<spec::RingEventFlags>(wish >> 16 & 3);
    if (flags == spec::RingEventFlags::kDisable) return false;
    if (flags != spec::RingEventFlags::kDesc || !event_idx) return true;
    uint16_t place = span.first;
    do {
      if (place == static_cast<uint16_t>(wish)) return true;
      place = NextPlace(place, size);
    } while (place != span.behind);
    return false;
  }
  void OnFetch(Cycle cycle, const spec::DmaReadRequest& request) {
    last_fetch = cycle;
    const size_t vq = (request.address >> 40) - 1;
    ASSERT_LT(vq, kQueues);
    ASSERT_TRUE(InterruptsByItself(vq));
    Queue& queue = queues[vq];
    ASSERT_LE(++queue.questions, queue.written) << "asks before the used index is in memory";
    const uint16_t size = queue.row.queue_size;
    const uint64_t offset = !packed && event_idx ? spec::VirtqAvail::kBytes + 2u * size : 0;
    ASSERT_EQ(request.address, DeviceOf(vq) + kDriverArea + offset);
    ASSERT_EQ(request.bytes, packed ? 4 : 2);
    ASSERT_FALSE(queue.spans.empty());
    if (queue.spans.front().number == queue.unasked) queue.spans.pop_front();
    ASSERT_FALSE(queue.spans.empty());
    const Span span = queue.spans.front();
    queue.spans.pop_front();
    const uint32_t wish = Wish(span, size);
    spec::DmaFetched fetched{.tag = request.tag};
    for (unsigned i = 0; i < request.bytes; ++i) fetched.data[i] = static_cast<uint8_t>(wish >> 8 * i);
    if (fail_fetch == vq) {
      fail_fetch = kQueues;
      queue.error = true;
      fetched.resp = kSlverr;
    } else if (IsInterruptWanted(span, size, wish)) {
      ++queue.wished;
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
  // What was told last, unless what was told before it was written first.
  void OnAvailStore(size_t vq, const DmaStore& store) {
    Queue& queue = queues[vq];
    ASSERT_TRUE(event_idx && !packed);
    ASSERT_EQ(store.bytes, 2);
    ASSERT_TRUE(store.notify);
    ASSERT_NE(store.tag & CqWriter::kTagIndex, 0);
    for (size_t i = store.bytes; i < sizeof store.data; ++i) ASSERT_EQ(store.data[i], 0);
    const auto value = static_cast<uint16_t>(Little(store.data, 2));
    while (!queue.avail_told.empty() && queue.avail_told.front() != value) queue.avail_told.pop_front();
    ASSERT_FALSE(queue.avail_told.empty());
    queue.avail_told.pop_front();
    ++queue.avail_stores;
    const bool fails = fail_queue == vq && fail_after-- == 0;
    if (fails) {
      queue.error = true;
      fail_queue = kQueues;
    }
    done_in.tokens.push_back({.tag = store.tag, .resp = fails ? kSlverr : uint8_t{0}});
    done_queues.emplace_back(vq, fails ? Store::kOther : Store::kAvailEvent);
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
    const uint64_t offset = store.address - DeviceOf(vq);
    const bool has_data = IsCq(vq) || vq == kEventQueue;
    // Element 0 or 1, index 2, flags of a later buffer of a packed batch 3.
    const bool is_index = queue.step == 2;
    ASSERT_EQ(store.notify, is_index);
    ASSERT_EQ((store.tag & CqWriter::kTagIndex) != 0, is_index);
    for (size_t i = store.bytes; i < sizeof store.data; ++i) ASSERT_EQ(store.data[i], 0);
    if (has_data && queue.step == 0) {
      ASSERT_FALSE(queue.fetched.empty());
      ASSERT_EQ(store.address, queue.fetched.front().address);
      if (IsCq(vq)) {
        ASSERT_FALSE(queue.cqes.empty());
        ASSERT_EQ(store.bytes, spec::RdmaCqReq::kBytes);
        ASSERT_EQ(std::memcmp(store.data, queue.cqes.front().cqe, spec::RdmaCqReq::kBytes), 0);
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
    } else if (queue.step <= 1 && packed) {
      bool has_id = false;
      if (has_data) {
        queue.head = queue.fetched.front().head;
        queue.head_bytes = IsCq(vq) ? spec::RdmaCqReq::kBytes : spec::RdmaEvent::kBytes;
        queue.fetched.pop_front();
      } else {
        ASSERT_FALSE(queue.work.empty());
        const Completion& completion = queue.work.front();
        queue.head = completion.head;
        queue.head_bytes = completion.used_bytes;
        has_id = completion.has_id;
        if (has_id) {
          ASSERT_EQ(Little(store.data + 4, 2), completion.id);
        }
        queue.batch.push_back(completion);
        queue.work.pop_front();
      }
      ASSERT_EQ(offset, spec::PvirtqDesc::kBytes * (queue.head & ~kWrap) + spec::PvirtqDesc::kLenOffset);
      ASSERT_EQ(store.bytes, has_id ? 6 : 4);
      ASSERT_EQ(Little(store.data, 4), queue.head_bytes);
      queue.step = queue.batch.size() > 1 ? 3 : !has_data && queue.batch.back().more ? 0 : 2;
    } else if (queue.step <= 1) {
      const auto entry = static_cast<uint16_t>(queue.used + queue.batch.size());
      ASSERT_EQ(offset, spec::VirtqUsed::kBytes + spec::VirtqUsedElem::kBytes * (entry % queue.row.queue_size));
      ASSERT_EQ(store.bytes, spec::VirtqUsedElem::kBytes);
      const auto element = spec::VirtqUsedElem::Decode(store.data);
      if (has_data) {
        ASSERT_EQ(element.id, queue.fetched.front().head);
        ASSERT_EQ(element.len, IsCq(vq) ? spec::RdmaCqReq::kBytes : spec::RdmaEvent::kBytes);
        queue.fetched.pop_front();
      } else {
        ASSERT_FALSE(queue.work.empty());
        ASSERT_EQ(element.id, queue.work.front().head);
        ASSERT_EQ(element.len, queue.work.front().used_bytes);
        queue.batch.push_back(queue.work.front());
        queue.work.pop_front();
      }
      queue.step = !has_data && queue.batch.back().more ? 0 : 2;
    } else if (queue.step == 3) {
      ASSERT_EQ(store.bytes, 2);
      ASSERT_EQ(offset, spec::PvirtqDesc::kBytes * (queue.head & ~kWrap) + spec::PvirtqDesc::kFlagsOffset);
      ASSERT_EQ(Little(store.data, 2), FlagsOf(queue.head, queue.head_bytes));
      queue.step = queue.batch.back().more ? 0 : 2;
    } else {
      ASSERT_EQ(store.bytes, 2);
      const uint16_t before = queue.used;
      queue.used = static_cast<uint16_t>(queue.used + (has_data ? 1 : queue.batch.size()));
      uint16_t behind = has_data || !queue.batch.back().has_id ? NextPlace(queue.head, queue.row.queue_size)
                                                               : queue.batch.back().behind;
      if (queue.batch.size() > 1) {
        ++batches;
        queue.head = queue.batch.front().head;
        queue.head_bytes = queue.batch.front().used_bytes;
      }
      if (packed) {
        ASSERT_EQ(offset, spec::PvirtqDesc::kBytes * (queue.head & ~kWrap) + spec::PvirtqDesc::kFlagsOffset);
        ASSERT_EQ(Little(store.data, 2), FlagsOf(queue.head, queue.head_bytes));
      } else {
        ASSERT_EQ(offset, spec::VirtqUsed::kIdxOffset);
        ASSERT_EQ(Little(store.data, 2), queue.used);
      }
      if (IsCq(vq)) {
        const Completion& completion = queue.cqes.front();
        queue.solicited.push_back(completion.solicited || completion.cqe[spec::RdmaCqReq::kStatusOffset] != 0);
        queue.cqes.pop_front();
      }
      queue.step = 0;
      queue.spans.push_back(packed ? Span{queue.head, behind, queue.indices} : Span{before, queue.used, queue.indices});
      queue.batch.clear();
      ++queue.indices;
    }
    const bool fails = fail_queue == vq && fail_after-- == 0;
    if (fails) {
      queue.error = true;
      queue.unasked = is_index ? queue.indices - 1 : queue.indices;
      fail_queue = kQueues;
    }
    if (fails || is_index) {
      done_in.tokens.push_back({.tag = store.tag, .resp = fails ? kSlverr : uint8_t{0}});
      done_queues.emplace_back(vq, is_index ? Store::kIndex : Store::kOther);
    }
  }
  void OnDone(Cycle cycle, const DmaDone& done) {
    block.OnDone(cycle, done);
    last_done = cycle;
    const auto [vq, kind] = done_queues.front();
    done_queues.pop_front();
    if (kind == Store::kIndex) ++queues[vq].written;
    if (kind == Store::kAvailEvent) rings.push_back(static_cast<uint16_t>(vq));
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
      ASSERT_TRUE(IsWanted(queue) || IsOvertaken(queue)) << "CQ notifies of nothing new";
      queue.armed = false;
    } else {
      ASSERT_FALSE(wanted.empty()) << "interrupt that nobody wants";
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
      ASSERT_TRUE(queue.batch.empty());
      ASSERT_TRUE(queue.avail_told.empty());
      if (IsCq(vq)) {
        if (queue.failures == 0) {
          ASSERT_TRUE(queue.cqes.empty()) << "CQE lost";
        }
        if (queue.armed && !IsOvertaken(queue) && queue.row.msix_vector != spec::kVirtioMsiNoVector) {
          ASSERT_FALSE(IsWanted(queue)) << "notification lost";
        }
      } else if (InterruptsByItself(vq) && queue.row.msix_vector != spec::kVirtioMsiNoVector) {
        ASSERT_EQ(queue.questions, queue.written);
        ASSERT_EQ(queue.interrupts, queue.wished);
      } else {
        ASSERT_EQ(queue.interrupts, 0u);
      }
    }
  }

  const bool packed, event_idx;
  std::mt19937_64 random = MakeRandom("cq_writer");
  Agenda agenda;
  CqWriter block{agenda, {.queues = kQueues, .cqs = kCqs, .slots = kSlots}};
  RtlTop<Vcq_writer> rtl{[](const Vcq_writer& top, std::vector<uint8_t>& bytes) {
    const auto add = [&](const auto& port) {
      const auto all = BytesOf(port);
      bytes.insert(bytes.end(), all.begin(), all.end());
    };
    add(top.completion_ready_o), add(top.host_event_ready_o), add(top.cq_arm_ready_o), add(top.buffer_ready_o);
    add(top.buffer_request_valid_o), add(top.buffer_request_o), add(top.store_valid_o), add(top.store_o);
    add(top.queue_interrupt_valid_o), add(top.queue_interrupt_o), add(top.queue_failure_valid_o),
        add(top.queue_failure_o);
    add(top.fetch_request_valid_o), add(top.fetch_request_o), add(top.fetched_ready_o);
    add(top.doorbell_valid_o), add(top.doorbell_o), add(top.idle_o);
  }};
  BlockBench<Vcq_writer> bench{rtl, agenda, random};
  Vcq_writer& p = rtl.ports();
  IdleCheck idle{p, block};
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
  decltype(bench.Pulse<DmaDone>(p.done_valid_i, p.done_i, {})) done_in = bench.Pulse<DmaDone>(
      p.done_valid_i, p.done_i, [this](Cycle cycle, const DmaDone& token) { OnDone(cycle, token); });
  std::array<Queue, kQueues> queues;
  std::deque<HostEvent> events;                // that were not written
  std::optional<std::deque<Completion>> held;  // not sent yet
  std::function<void(const DmaStore&)> on_store;
  unsigned batches = 0;
  std::deque<std::pair<size_t, Store>> done_queues;
  std::deque<size_t> wanted;   // interrupts
  std::deque<uint16_t> rings;  // doorbells to come
  bool fickle = false;         // drivers do not want every interrupt
  std::optional<uint32_t> fixed_wish;
  size_t fail_fetch = kQueues;  // whose driver's wish cannot be read
  Cycle last_fetch = 0, last_doorbell = 0;
  unsigned doorbells = 0;
  BufferStatus none = BufferStatus::kEmpty;  // what a queue without buffers answers
  size_t fail_queue = kQueues;               // whose write fails
  unsigned fail_after = 0;
  uint64_t lost = 0;
  unsigned requests = 0, stores = 0;
  Cycle last_store = 0, last_interrupt = 0, last_done = 0;
};

// Split and packed, without event_idx and with.
class CqWriterRings : public testing::TestWithParam<std::tuple<bool, bool>> {
 protected:
  static Features Param() { return {.packed = std::get<0>(GetParam()), .event_idx = std::get<1>(GetParam())}; }
};
INSTANTIATE_TEST_SUITE_P(Formats, CqWriterRings, testing::Combine(testing::Bool(), testing::Bool()),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param) ? "packed" : "split") +
                                  (std::get<1>(info.param) ? "_event_idx" : "");
                         });

TEST_P(CqWriterRings, WritesEverythingInOrderAndNotifiesThoseWhoAskedAtEveryRate) {
  uint64_t lost = 0, interrupts = 0, overruns = 0, errors = 0, arms = 0, wished = 0, questions = 0, doorbells = 0,
           batches = 0;
  for (const unsigned in : {16u, 3u}) {
    for (const unsigned memory : {16u, 2u}) {
      for (const unsigned out : {16u, 6u}) {
        SCOPED_TRACE("rates " + std::to_string(in) + " " + std::to_string(memory) + " " + std::to_string(out));
        auto b = std::make_unique<Bench>(Param());
        b->EnableAll();
        ASSERT_FALSE(HasFatalFailure());
        b->SetRates(in, memory, out);
        b->fickle = true;
        for (int round = 0; round < 30; ++round) {
          if (round % 3 == 2) {
            b->fail_queue = b->random() % kQueues;
            b->fail_after = static_cast<unsigned>(b->random() % 8);
          }
          if (round % 8 == 3) b->fail_fetch = b->random() % (kControlQueue + 1);
          const size_t starved = b->random() % (3 * kCqs);  // a CQ, or none
          for (int step = 0; step < 60; ++step) {
            switch (b->random() % 4) {
              case 0: {
                const size_t vq = b->random() % (kControlQueue + 1);
                b->CompleteBatch(
                    vq, static_cast<unsigned>(1 + b->random() % std::min<size_t>(8, b->queues[vq].row.queue_size)));
                break;
              }
              case 1: b->Complete(kFirstWork + b->random() % (kEventQueue - kFirstWork)); break;
              default:
                b->Complete(kFirstWork + b->random() % (kEventQueue - kFirstWork), static_cast<int>(b->random() % kCqs),
                            b->random() % 4 == 0, b->random() % 8 != 0);
            }
            for (size_t cqn = 0; cqn < kCqs; ++cqn) {
              Queue& queue = b->queues[kFirstCq + cqn];
              if (cqn != starved && queue.posted.size() < queue.cqes.size() + 4) {
                b->Post(kFirstCq + cqn, static_cast<unsigned>(1 + b->random() % 3));
              }
              if (!queue.armed && b->random() % 4 == 0) {
                const bool next = b->random() % 2 == 0;
                b->ArmCq(cqn, !next || b->random() % 2 == 0, next,
                         static_cast<uint16_t>(b->random() % 3 % (queue.solicited.size() + 1)));
              }
            }
            if (b->event_idx && !b->packed && b->random() % 4 == 0) {
              b->TellAvail(b->random() % 2 == 0 ? b->random() % (kControlQueue + 1)
                                                : kFirstWork + b->random() % (kEventQueue - kFirstWork),
                           static_cast<uint16_t>(b->random()));
            }
            if (b->random() % 8 == 0) b->Happen();
            if (b->random() % 10 == 0) b->Post(kEventQueue, 1);
            ASSERT_EQ(b->bench.Run(b->random() % 40), "");
            ASSERT_FALSE(HasFatalFailure());
          }
          b->Settle();
          ASSERT_FALSE(HasFatalFailure());
          for (size_t vq = 0; vq < kQueues; ++vq) {
            Queue& queue = b->queues[vq];
            interrupts += queue.interrupts;
            arms += queue.arms;
            questions += queue.questions;
            wished += queue.wished;
            doorbells += queue.avail_stores;
            queue.avail_stores = 0;
            if (queue.error) {
              ASSERT_EQ(queue.failures, 1u) << vq;
              ASSERT_TRUE(queue.code == RdmaError::kQueueDmaError || (IsCq(vq) && queue.code == RdmaError::kCqOverrun));
              ++errors;
            } else if (queue.failures != 0) {
              ASSERT_TRUE(IsCq(vq)) << vq;
              ASSERT_EQ(queue.failures, 1u);
              ASSERT_EQ(queue.code, RdmaError::kCqOverrun);
              ASSERT_TRUE(queue.fetched.empty());
              ++overruns;
            }
            if (queue.failures != 0) {
              // Nothing may come any more; then it begins anew.
              queue.dead = true;
              queue.work.clear();
              queue.batch.clear();
              queue.avail_told.clear();
              queue.cqes.clear();
              if (IsCq(vq)) {
                b->Complete(kFirstWork, static_cast<int>(vq - kFirstCq));
              } else if (vq != kEventQueue) {
                b->Complete(vq);
              } else {
                b->Happen();
              }
              b->Settle();
              ASSERT_FALSE(HasFatalFailure());
              if (vq == kEventQueue) b->events.clear();
              b->Enable(vq, b->AnySize());
              ASSERT_EQ(b->bench.RunOut(30), "");
            } else {
              queue.interrupts = queue.questions = queue.wished = 0;
              queue.written = IsCq(vq) ? queue.written : 0;
              queue.arms = 0;
            }
          }
        }
        lost += b->lost;
        batches += b->batches;
      }
    }
  }
  EXPECT_GT(lost, 10u);
  EXPECT_GT(interrupts, 1000u);
  EXPECT_GT(arms, 1000u);
  EXPECT_GT(wished, 500u);
  EXPECT_GT(questions - wished, 500u);
  EXPECT_EQ(doorbells > 1000, Param().event_idx && !Param().packed);
  EXPECT_GT(batches, 500u);
  EXPECT_GT(overruns, 5u);
  EXPECT_GT(errors, 10u);
}

TEST_P(CqWriterRings, HasTheLatenciesOfItsPage) {
  Bench b(Param());
  b.EnableAll();
  b.done_in.rate = 0;
  b.Complete(kNetQueue);
  ASSERT_EQ(b.bench.Run(CqWriter::kCompletionToElement), "");
  EXPECT_EQ(b.stores, 0u);
  ASSERT_EQ(b.bench.Run(1), "");
  EXPECT_EQ(b.stores, 1u);
  ASSERT_EQ(b.bench.Run(1), "");
  EXPECT_EQ(b.stores, 2u);
  ASSERT_EQ(b.bench.Run(10), "");

  b.done_in.rate = 16;
  b.fetched_in.rate = 0;
  ASSERT_EQ(b.bench.Run(CqWriter::kDoneToFetch), "");
  EXPECT_EQ(b.queues[kNetQueue].questions, 0u);
  ASSERT_EQ(b.bench.Run(1), "");
  EXPECT_EQ(b.queues[kNetQueue].questions, 1u);
  EXPECT_EQ(b.last_fetch, b.last_done + CqWriter::kDoneToFetch);
  ASSERT_EQ(b.bench.Run(10), "");
  b.fetched_in.rate = 16;
  ASSERT_EQ(b.bench.Run(CqWriter::kFetchedToInterrupt), "");
  EXPECT_EQ(b.queues[kNetQueue].interrupts, 0u);
  ASSERT_EQ(b.bench.Run(1), "");
  EXPECT_EQ(b.queues[kNetQueue].interrupts, 1u);

  b.ArmCq(0, false, true);
  b.Settle();
  b.Post(kFirstCq, 1);
  b.done_in.rate = 0;
  b.Complete(kFirstWork, 0);
  ASSERT_EQ(b.bench.Run(60), "");
  b.done_in.rate = 16;
  b.Settle();
  EXPECT_EQ(b.queues[kFirstCq].interrupts, 1u);
  EXPECT_EQ(b.last_interrupt, b.last_done + CqWriter::kDoneToInterrupt);

  b.Post(kFirstCq, 8);
  b.Complete(kFirstWork, 0);
  b.Settle();
  b.stores = 0;
  b.done_in.rate = 0;
  for (int i = 0; i < 3; ++i) b.Complete(kFirstWork, 0);
  ASSERT_EQ(b.bench.Run(CqWriter::kCompletionToCqIndex), "");
  EXPECT_EQ(b.stores, 4u);
  ASSERT_EQ(b.bench.Run(1), "");
  EXPECT_EQ(b.stores, 5u);
  ASSERT_EQ(b.bench.Run(2 * CqWriter::kCyclesPerCqe - 1), "");
  EXPECT_EQ(b.stores, 14u);
  ASSERT_EQ(b.bench.Run(1), "");
  EXPECT_EQ(b.stores, 15u);

  b.done_in.rate = 16;
  b.Settle();
  b.stores = 0;
  b.done_in.rate = 0;
  for (int i = 0; i < 3; ++i) b.Complete(kNetQueue);
  ASSERT_EQ(b.bench.Run(CqWriter::kCompletionToElement + 2 * CqWriter::kCyclesPerCompletion + 1), "");
  EXPECT_EQ(b.stores, 5u);
  ASSERT_EQ(b.bench.Run(1), "");
  EXPECT_EQ(b.stores, 6u);
}

TEST_P(CqWriterRings, WaitsOnlyWhenEverySlotHasAnUnansweredUsedIndex) {
  Bench b(Param());
  b.EnableAll();
  b.done_in.rate = 0;
  for (size_t i = 0; i < kSlots + 3; ++i) b.Complete(kNetQueue);
  ASSERT_EQ(b.bench.Run(400), "");
  // A completion needs two at most.
  EXPECT_EQ(b.queues[kNetQueue].used, kSlots - 1);
  b.done_in.rate = 16;
  b.Settle();
  EXPECT_EQ(b.queues[kNetQueue].used, kSlots + 3);
}

struct ArmCase {
  const char* text;
  bool solicited, next;   // flags of the arm
  bool before_solicited;  // the CQE before the arm
  uint16_t behind;        // 1: the driver has not seen that
  bool at_once;
  bool after_solicited;  // the CQE after the arm
  bool after;            // notifies then
};

TEST_P(CqWriterRings, NotifiesOnceAtOnceOrLaterAsTheArmSays) {
  constexpr ArmCase kCases[] = {
      {"next, all seen", false, true, false, 0, false, false, true},
      {"next, one unseen", false, true, false, 1, true, false, false},
      {"solicited, all seen, then another", true, false, true, 0, false, false, false},
      {"solicited, all seen, then solicited", true, false, true, 0, false, true, true},
      {"solicited, unseen is not", true, false, false, 1, false, true, true},
      {"solicited, unseen is", true, false, true, 1, true, true, false},
      {"both, unseen is not solicited", true, true, false, 1, true, false, false},
      {"no flag", false, false, true, 1, false, true, false},
  };
  for (const ArmCase& c : kCases) {
    SCOPED_TRACE(c.text);
    auto b = std::make_unique<Bench>(Param());
    b->EnableAll();
    Queue& cq = b->queues[kFirstCq];
    b->Post(kFirstCq, 8);
    b->Complete(kFirstWork, 0);
    b->Complete(kFirstWork, 0, c.before_solicited);
    b->Settle();
    EXPECT_EQ(cq.interrupts, 0u);
    b->ArmCq(0, c.solicited, c.next, c.behind);
    b->Settle();
    EXPECT_EQ(cq.interrupts, c.at_once);
    b->Complete(kFirstWork, 0, c.after_solicited);
    b->Settle();
    EXPECT_EQ(cq.interrupts, unsigned{c.at_once} + unsigned{c.after});
    b->Complete(kFirstWork, 0, true);
    b->Settle();
    if (c.at_once || c.after) {
      EXPECT_EQ(cq.interrupts, 1u) << "once only";
    }
  }
}

TEST_P(CqWriterRings, ErrorsAreSolicited) {
  Bench b(Param());
  b.EnableAll();
  b.Post(kFirstCq, 8);
  b.ArmCq(0, true, false);
  b.Complete(kFirstWork, 0);
  b.Settle();
  EXPECT_EQ(b.queues[kFirstCq].interrupts, 0u);
  b.Complete(kFirstWork, 0, false, false);
  b.Settle();
  EXPECT_EQ(b.queues[kFirstCq].interrupts, 1u);
}

TEST_P(CqWriterRings, DoesNotNotifyOfACqeWhoseWriteIsNotAnsweredBeforeItIs) {
  Bench b(Param());
  b.EnableAll();
  Queue& cq = b.queues[kFirstCq];
  b.Post(kFirstCq, 8);
  b.done_in.rate = 0;
  b.Complete(kFirstWork, 0);
  ASSERT_EQ(b.bench.Run(50), "");
  EXPECT_EQ(cq.used, 1);
  b.ArmCq(0, false, true, 1);  // has not seen it
  ASSERT_EQ(b.bench.Run(50), "");
  EXPECT_EQ(cq.interrupts, 0u);
  b.done_in.rate = 16;
  b.Settle();
  EXPECT_EQ(cq.interrupts, 1u);

  // One that the driver saw before the device knew it to be written is no news.
  b.done_in.rate = 0;
  b.Complete(kFirstWork, 0);
  ASSERT_EQ(b.bench.Run(50), "");
  b.ArmCq(0, false, true);
  ASSERT_EQ(b.bench.Run(50), "");
  b.done_in.rate = 16;
  b.Settle();
  EXPECT_EQ(cq.interrupts, 1u);
  b.Complete(kFirstWork, 0);
  b.Settle();
  EXPECT_EQ(cq.interrupts, 2u);
}

TEST(CqWriter, ArmsAndSolicitedCqesKeepTheirMeaningWhileTheUsedIndexGoesAllTheWayAround) {
  Bench b;
  b.EnableAll();
  // Both begin with a solicited CQE; then the first is armed for the next of those, the other not at all.
  constexpr size_t kOther = 2;
  Queue& cq = b.queues[kFirstCq];
  Queue& other = b.queues[kFirstCq + kOther];
  const auto write = [&b](unsigned count, bool solicited) {
    for (const size_t cqn : {size_t{0}, kOther}) {
      b.Post(kFirstCq + cqn, count);
      for (unsigned i = 0; i < count; ++i) b.Complete(kFirstWork, static_cast<int>(cqn), solicited);
    }
  };
  write(1, true);
  b.Settle();
  b.ArmCq(0, true, false);
  for (int i = 0; i < 65'536 / 8; ++i) {
    write(i == 0 ? 7 : 8, false);
    ASSERT_EQ(b.bench.RunOut(100), "");
    ASSERT_FALSE(HasFatalFailure());
  }
  b.Settle();
  ASSERT_EQ(cq.used, 0);
  ASSERT_EQ(cq.interrupts, 0u);
  // The device's position is the one at which it was armed.
  b.Post(kFirstCq, 1);
  b.Complete(kFirstWork, 0, true);
  b.Settle();
  EXPECT_EQ(cq.interrupts, 1u);
  // What was solicited a whole turn ago is not behind what the driver saw last.
  b.Post(kFirstCq + kOther, 1);
  b.Complete(kFirstWork, kOther);
  b.Settle();
  b.ArmCq(kOther, true, false, 1);
  b.Settle();
  EXPECT_EQ(other.interrupts, 0u);
}

TEST_P(CqWriterRings, FirmwareArmsForWhatComesAfterAndFailsACq) {
  Bench b(Param());
  b.EnableAll();
  Queue& cq = b.queues[kFirstCq];
  b.Post(kFirstCq, 8);
  b.Complete(kFirstWork, 0, true);
  b.Settle();
  for (const bool next : {false, true}) {
    b.SetCq(0, {.valid = true, .set_solicited = !next, .set_next_completion = next});
    cq.armed = true;
    cq.arm_solicited = !next;
    cq.arm_next = next;
    cq.arm_seen = cq.solicited.size();
    b.Settle();
    const uint64_t before = cq.interrupts;
    b.Complete(kFirstWork, 0, false);
    b.Settle();
    EXPECT_EQ(cq.interrupts, before + next);
    b.Complete(kFirstWork, 0, true);
    b.Settle();
    EXPECT_EQ(cq.interrupts, before + 1);
  }
  b.SetCq(0, {.valid = true, .set_failed = true});
  b.Settle();
  cq.dead = true;
  b.Complete(kFirstWork, 0);
  ASSERT_EQ(b.bench.RunOut(50), "");
  EXPECT_EQ(b.queues[kFirstWork].used, 6);
  EXPECT_EQ(cq.failures, 0u) << "who sets it knows";
  cq.cqes.clear();
  const uint64_t before = cq.interrupts;
  b.ArmCq(0, false, true, 1);  // what was written before is still there to be seen
  b.Settle();
  EXPECT_EQ(cq.interrupts, before + 1);
}

TEST_P(CqWriterRings, ACqWithoutAFreeBufferFailsAndStaysFailed) {
  Bench b(Param());
  b.EnableAll();
  Queue& cq = b.queues[kFirstCq];
  b.Post(kFirstCq, 9);
  for (int i = 0; i < 10; ++i) b.Complete(kFirstWork, 0);
  b.Settle();
  EXPECT_EQ(cq.used, 9);
  EXPECT_EQ(cq.failures, 1u);
  EXPECT_EQ(cq.code, RdmaError::kCqOverrun);
  EXPECT_EQ(b.requests, 3u);
  cq.dead = true;
  b.Post(kFirstCq, 5);
  b.Complete(kFirstWork, 0);
  b.Settle();
  EXPECT_EQ(cq.failures, 1u);
  EXPECT_EQ(b.queues[kFirstWork].used, 11) << "the work request's buffer comes back all the same";

  b.Enable(kFirstCq, 8);
  ASSERT_EQ(b.bench.RunOut(30), "");
  b.Post(kFirstCq, 1);
  b.Complete(kFirstWork, 0);
  b.Settle();
  EXPECT_EQ(cq.used, 1);
}

TEST_P(CqWriterRings, ACqWhoseQueueBrokeFailsWithoutTellingItTwice) {
  Bench b(Param());
  b.EnableAll();
  b.none = BufferStatus::kFailed;
  b.Complete(kFirstWork, 0);
  b.Complete(kFirstWork, 0);
  ASSERT_EQ(b.bench.RunOut(50), "");
  EXPECT_EQ(b.queues[kFirstCq].failures, 0u);
  EXPECT_EQ(b.requests, 1u);
  b.queues[kFirstCq].cqes.clear();
  b.Settle();
  EXPECT_EQ(b.queues[kFirstWork].used, 2);
}

TEST_P(CqWriterRings, ABufferThatCannotHoldACqeStopsTheCqWhenItsTurnComes) {
  for (const bool writable : {true, false}) {
    Bench b(Param());
    b.EnableAll();
    Queue& cq = b.queues[kFirstCq];
    b.Post(kFirstCq, 2);
    b.Post(kFirstCq, 1, writable, writable ? spec::RdmaCqReq::kBytes - 1 : spec::RdmaCqReq::kBytes);
    b.Post(kFirstCq, 2);
    for (int i = 0; i < 4; ++i) b.Complete(kFirstWork, 0);
    b.Settle();
    EXPECT_EQ(cq.used, 2);
    EXPECT_EQ(cq.failures, 1u);
    EXPECT_EQ(cq.code, RdmaError::kBadDescriptor);
    EXPECT_EQ(b.queues[kFirstWork].used, 4);
  }
}

TEST_P(CqWriterRings, ABadEventBufferStopsTheEventQueueAndEventsAreCounted) {
  for (const bool writable : {true, false}) {
    Bench b(Param());
    b.EnableAll();
    Queue& queue = b.queues[kEventQueue];
    b.Happen();  // no buffer
    b.Settle();
    b.Post(kEventQueue, 1);
    b.Happen();
    b.Settle();
    EXPECT_EQ(b.lost, 1u);
    EXPECT_EQ(queue.used, 1);
    b.Post(kEventQueue, 1, writable, writable ? spec::RdmaEvent::kBytes - 1 : spec::RdmaEvent::kBytes);
    b.Happen();
    b.Settle();
    EXPECT_EQ(queue.failures, 1u);
    EXPECT_EQ(queue.code, RdmaError::kBadDescriptor);
    queue.dead = true;
    b.Happen();
    b.Settle();
    // No event of before a reset exists after it.
    b.events.clear();
    b.Enable(kEventQueue, 4);
    ASSERT_EQ(b.bench.RunOut(30), "");
    b.Post(kEventQueue, 1);
    b.Happen();
    b.Settle();
    EXPECT_EQ(b.lost, 1u);
    EXPECT_EQ(b.queues[kEventQueue].used, 1);
  }
}

TEST_P(CqWriterRings, DoesNotTouchQueuesThatAreNotServed) {
  Bench b(Param());
  b.EnableAll();
  b.SetKind(kFirstWork, KindOf(kFirstWork), true);
  b.SetKind(kFirstCq + 1, TableQueueKind::kCq, true);
  b.SetKind(kControlQueue, TableQueueKind::kNone);
  b.SetKind(kEventQueue, TableQueueKind::kNone);
  b.row_in.tokens.push_back({.vq_index = kNetQueue});
  b.SetCq(2, {});
  ASSERT_EQ(b.bench.RunOut(30), "");
  for (const size_t vq : {kFirstWork, kFirstCq + 1, kFirstCq + 2, kControlQueue, kEventQueue, kNetQueue}) {
    b.queues[vq].dead = true;
  }
  b.Post(kFirstCq, 3);
  b.Complete(kFirstWork, 0);  // its CQE is written
  b.Complete(kFirstWork + 1, 1);
  b.Complete(kFirstWork + 1, 2);
  b.Complete(kControlQueue);
  b.Complete(kNetQueue);
  b.Happen();
  b.Settle();
  EXPECT_EQ(b.queues[kFirstCq].used, 1);
  EXPECT_EQ(b.queues[kFirstWork + 1].used, 2);
  EXPECT_EQ(b.stores, 3u + 4u);
}

TEST_P(CqWriterRings, StartsAgainAtTheFirstEntryAfterResetOfPositions) {
  Bench b(Param());
  b.EnableAll();
  b.Complete(kNetQueue);
  b.Complete(kNetQueue);
  b.Settle();
  b.SetKind(kNetQueue, KindOf(kNetQueue), false, true);
  ASSERT_EQ(b.bench.RunOut(5), "");
  b.queues[kNetQueue].used = 0;
  b.Complete(kNetQueue);
  b.Settle();
  EXPECT_EQ(b.queues[kNetQueue].used, 1);
}

struct WishCase {
  const char* text;
  bool packed, event_idx;
  uint32_t wish;  // what the driver's area says
  bool interrupts;
};

// A control queue of 8 entries. Split: its third used buffer. Packed: a chain of 3 from place 6 on, in the first lap.
TEST(CqWriter, InterruptsByTheDriversFlagsAndEvents) {
  constexpr uint32_t kEnable = 0, kDisable = 1u << 16, kDesc = 2u << 16, kReserved = 3u << 16;
  constexpr WishCase kCases[] = {
      {"split: flags 0", false, false, 0, true},
      {"split: no_interrupt", false, false, 1, false},
      {"split: another flag", false, false, 2, true},
      {"split: used_event before", false, true, 1, false},
      {"split: used_event here; flags do not count", false, true, 2, true},
      {"split: used_event behind", false, true, 3, false},
      {"packed: always", true, false, kEnable | 0x1234, true},
      {"packed: never", true, false, kDisable | 0x8006, false},
      {"packed: at a descriptor, without the feature", true, false, kDesc, true},
      {"packed: reserved", true, true, kReserved, true},
      {"packed: always, with the feature", true, true, kEnable | 0x8005, true},
      {"packed: never, with the feature", true, true, kDisable | 0x8006, false},
      {"packed: just before", true, true, kDesc | 0x8005, false},
      {"packed: first of the chain", true, true, kDesc | 0x8006, true},
      {"packed: middle of the chain", true, true, kDesc | 0x8007, true},
      {"packed: end of the chain, in the next lap", true, true, kDesc | 0x0000, true},
      {"packed: just behind", true, true, kDesc | 0x0001, false},
      {"packed: here, but in the next lap", true, true, kDesc | 0x0006, false},
      {"packed: end of the chain, but in this lap", true, true, kDesc | 0x8000, false},
      {"packed: reserved bits set", true, true, 0xfffc'0000 | kDesc | 0x8007, true},
      {"packed: no such place", true, true, kDesc | 0xffff, false},
  };
  for (const WishCase& c : kCases) {
    SCOPED_TRACE(c.text);
    auto b = std::make_unique<Bench>(Features{.packed = c.packed, .event_idx = c.event_idx});
    b->Enable(kControlQueue, 8);
    ASSERT_EQ(b->bench.RunOut(30), "");
    Queue& queue = b->queues[kControlQueue];
    const auto complete = [&](unsigned descriptors) { b->CompleteChain(kControlQueue, descriptors, false); };
    complete(5);
    b->Settle();
    complete(1);
    b->Settle();
    EXPECT_EQ(queue.interrupts, 2u);
    b->fixed_wish = c.wish;
    complete(3);
    b->Settle();
    EXPECT_EQ(queue.interrupts, c.interrupts ? 3u : 2u);
  }
}

TEST(CqWriter, WhoseWishCannotBeReadIsStoppedAndTellsIt) {
  for (const bool packed : {false, true}) {
    Bench b({.packed = packed, .event_idx = true});
    b.EnableAll();
    b.fail_fetch = kControlQueue;
    b.Complete(kControlQueue);
    b.Settle();
    Queue& queue = b.queues[kControlQueue];
    EXPECT_EQ(queue.failures, 1u);
    EXPECT_EQ(queue.code, RdmaError::kQueueDmaError);
    EXPECT_EQ(queue.interrupts, 0u);
    queue.dead = true;
    b.Complete(kControlQueue);
    b.Settle();
    EXPECT_EQ(queue.failures, 1u);
  }
}

TEST(CqWriter, AQueueThatWasResetIsNotAskedAbout) {
  Bench b;
  b.EnableAll();
  b.done_in.rate = 0;
  b.Complete(kNetQueue);
  ASSERT_EQ(b.bench.Run(30), "");
  b.row_in.tokens.push_back({.vq_index = kNetQueue});
  ASSERT_EQ(b.bench.Run(10), "");
  b.done_in.rate = 16;
  ASSERT_EQ(b.bench.Run(50), "");
  EXPECT_EQ(b.fetch_out.count, 0u);
  EXPECT_TRUE(b.idle.idle);
}

TEST(CqWriter, NoMoreWishesAreReadAtATimeThanThereIsRoomFor) {
  Bench b;
  b.EnableAll();
  b.fetched_in.rate = 0;
  for (size_t i = 0; i < CqWriter::kQuestions + 5; ++i) b.Complete(kNetQueue);
  ASSERT_EQ(b.bench.Run(2000), "");
  EXPECT_EQ(b.fetch_out.count, CqWriter::kQuestions);
  b.fetched_in.rate = 16;
  b.Settle();
  EXPECT_EQ(b.queues[kNetQueue].interrupts, CqWriter::kQuestions + 5);
}

TEST(CqWriter, WritesTheLastAvailEventAndRingsWhenItIsInMemory) {
  Bench b({.packed = false, .event_idx = true});
  b.EnableAll();
  b.done_in.rate = 0;
  b.TellAvail(kFirstWork, 0x1234);
  ASSERT_EQ(b.bench.Run(CqWriter::kAvailEventToStore), "");
  EXPECT_EQ(b.stores, 0u);
  ASSERT_EQ(b.bench.Run(1), "");
  EXPECT_EQ(b.stores, 1u);
  ASSERT_EQ(b.bench.Run(50), "");
  EXPECT_EQ(b.doorbells, 0u);
  EXPECT_FALSE(b.idle.idle);
  b.done_in.rate = 16;
  ASSERT_EQ(b.bench.Run(CqWriter::kDoneToDoorbell), "");
  EXPECT_EQ(b.doorbells, 0u);
  ASSERT_EQ(b.bench.Run(1), "");
  EXPECT_EQ(b.doorbells, 1u);
  EXPECT_EQ(b.last_doorbell, b.last_done + CqWriter::kDoneToDoorbell);
  b.Settle();

  // While nothing can be written the last value takes the place of those before.
  b.store_out.rate = 0;
  for (uint16_t i = 0; i < 100; ++i) {
    b.TellAvail(kFirstWork, i);
    b.TellAvail(kControlQueue, i);
  }
  ASSERT_EQ(b.bench.Run(300), "");
  b.store_out.rate = 16;
  b.Settle();
  EXPECT_LT(b.doorbells, 10u);
  EXPECT_GE(b.doorbells, 3u);
}

TEST(CqWriter, WritesNoAvailEventOfAQueueThatIsNotServedOrCannotBeWritten) {
  Bench b({.packed = false, .event_idx = true});
  b.EnableAll();
  b.SetKind(kFirstWork, KindOf(kFirstWork), true);
  ASSERT_EQ(b.bench.RunOut(10), "");
  b.queues[kFirstWork].dead = true;
  b.TellAvail(kFirstWork, 3);
  b.Settle();
  EXPECT_EQ(b.stores, 0u);
  EXPECT_EQ(b.doorbells, 0u);
  b.fail_queue = kControlQueue;
  b.fail_after = 0;
  b.TellAvail(kControlQueue, 3);
  b.Settle();
  EXPECT_EQ(b.stores, 1u);
  EXPECT_EQ(b.doorbells, 0u);
  EXPECT_EQ(b.queues[kControlQueue].failures, 1u);
  EXPECT_EQ(b.queues[kControlQueue].code, RdmaError::kQueueDmaError);
}

TEST(CqWriter, AnArmOfAPackedCqKeepsItsMeaningAllTheWayAround) {
  for (const uint16_t size : std::initializer_list<uint16_t>{2, 3, 8, 13}) {
    Bench b({.packed = true});
    b.EnableAll();
    b.Enable(kFirstCq, size);
    ASSERT_EQ(b.bench.RunOut(30), "");
    Queue& cq = b.queues[kFirstCq];
    for (unsigned i = 0; i < 5u * size; ++i) {
      const uint64_t before = cq.interrupts;
      b.Post(kFirstCq, 1);
      b.ArmCq(0, false, true);  // all seen
      b.Settle();
      ASSERT_EQ(cq.interrupts, before) << i;
      b.Complete(kFirstWork, 0);
      b.Settle();
      ASSERT_EQ(cq.interrupts, before + 1) << i;
      b.ArmCq(0, false, true, 1);  // the last one was not seen
      b.Settle();
      ASSERT_EQ(cq.interrupts, before + 2) << i;
      // None of a whole ring was seen.
      if (i + 1 >= size) {
        b.ArmCq(0, false, true, size);
        b.Settle();
        ASSERT_EQ(cq.interrupts, before + 3) << i;
      }
    }
  }
}

TEST(CqWriter, ABufferWithoutAnIdKeepsTheOneThatTheDriverWrote) {
  Bench b({.packed = true});
  b.EnableAll();
  b.queues[kControlQueue].dead = true;  // it is looked at here
  const Completion completion{.vq_index = kControlQueue, .head = kWrap | 1, .used_bytes = 9};
  std::vector<DmaStore> stores;
  b.store_out.on_token = [&](Cycle, const DmaStore& store) {
    stores.push_back(store);
    if (store.notify)
      b.done_queues.emplace_back(kControlQueue, Store::kIndex), b.done_in.tokens.push_back({.tag = store.tag});
  };
  b.fetch_out.on_token = [&](Cycle, const spec::DmaReadRequest& request) {
    b.wanted.push_back(kControlQueue);
    b.fetched_in.tokens.push_back({.tag = request.tag});
  };
  b.completion_in.tokens.push_back(completion);
  ASSERT_EQ(b.bench.RunOut(20), "");
  ASSERT_EQ(stores.size(), 2u);
  EXPECT_EQ(stores[0].address, DeviceOf(kControlQueue) + 16 + spec::PvirtqDesc::kLenOffset);
  EXPECT_EQ(stores[0].bytes, 4);
  EXPECT_EQ(stores[1].address, DeviceOf(kControlQueue) + 16 + spec::PvirtqDesc::kFlagsOffset);
}

// --- Batches

// A driver that looks at its ring after every single store. Then it finds what it had found before, or a whole batch
// more: every buffer with its id and length, in order.
class Looker {
 public:
  Looker(Bench& b, size_t vq) : b_(b), vq_(vq) { Begin(); }
  // The queue was enabled.
  void Begin() {
    memory_.assign(std::max<size_t>(spec::PvirtqDesc::kBytes, spec::VirtqUsedElem::kBytes) * size() + 8, 0);
    outstanding_.clear();
    seen_ = 0;
    place_ = kWrap;
  }
  unsigned Room() const {
    unsigned room = size();
    for (const Buffer& buffer : outstanding_) room -= buffer.descriptors;
    return room;
  }
  // Makes buffers available, which come back as a batch.
  void CompleteBatch(unsigned count, unsigned hold = ~0u) {
    Queue& queue = b_.queues[vq_];
    b_.CompleteBatch(vq_, count, hold, Room());
    ASSERT_GE(queue.work.size(), count);
    for (auto next = queue.work.end() - count; next != queue.work.end(); ++next) {
      const uint16_t behind = next + 1 == queue.work.end() ? queue.place : (next + 1)->head;
      Buffer buffer{*next, 1};
      if (b_.packed) {
        for (uint16_t at = next->head;; ++buffer.descriptors) {
          const uint16_t following = NextPlace(at, size());
          const bool last = following == behind;
          uint8_t* descriptor = At(at);
          const auto flags = (at & kWrap) != 0 ? spec::VirtqDescFlags::kAvail : spec::VirtqDescFlags::kUsed;
          spec::PvirtqDesc{.id = static_cast<uint16_t>(last ? next->id : ~next->id), .flags = flags}.Encode(descriptor);
          if (last) break;
          at = following;
        }
      }
      outstanding_.push_back(buffer);
    }
  }
  void OnStore(const DmaStore& store) {
    const uint64_t offset = store.address - DeviceOf(vq_);
    if (store.address < DeviceOf(vq_) || offset + store.bytes > memory_.size()) return;
    std::copy_n(store.data, store.bytes, memory_.begin() + static_cast<ptrdiff_t>(offset));
    unsigned found = 0;
    bool ended = true;
    while (IsUsed()) {
      ASSERT_FALSE(outstanding_.empty()) << "a buffer that the device does not have comes back";
      const Completion completion = outstanding_.front().completion;
      ASSERT_TRUE(found == 0 || !ended) << "more than a batch at once";
      Take(completion);
      ended = !completion.more;
      outstanding_.pop_front();
      ++found;
    }
    ASSERT_TRUE(ended) << "part of a batch is seen, queue " << vq_;
    all_ += found;
  }
  bool IsWaiting() const { return !outstanding_.empty(); }
  unsigned all() const { return all_; }

 private:
  struct Buffer {
    Completion completion;
    unsigned descriptors;
  };
  unsigned size() const { return b_.queues[vq_].row.queue_size; }
  uint8_t* At(uint16_t place) { return memory_.data() + spec::PvirtqDesc::kBytes * size_t{place & 0x7fffu}; }
  bool IsUsed() {
    if (!b_.packed) return Little(memory_.data() + spec::VirtqUsed::kIdxOffset, 2) != seen_;
    const auto flags = spec::PvirtqDesc::Decode(At(place_)).flags;
    const bool wrap = (place_ & kWrap) != 0;
    return ((flags & spec::VirtqDescFlags::kAvail) != 0) == wrap &&
           ((flags & spec::VirtqDescFlags::kUsed) != 0) == wrap;
  }
  void Take(const Completion& completion) {
    if (!b_.packed) {
      const auto element = spec::VirtqUsedElem::Decode(memory_.data() + spec::VirtqUsed::kBytes +
                                                       spec::VirtqUsedElem::kBytes * (seen_++ % size()));
      ASSERT_EQ(element.id, completion.head);
      ASSERT_EQ(element.len, completion.used_bytes);
      return;
    }
    const auto descriptor = spec::PvirtqDesc::Decode(At(place_));
    ASSERT_EQ(place_, completion.head);
    ASSERT_EQ(descriptor.id, completion.id);
    ASSERT_EQ((descriptor.flags & spec::VirtqDescFlags::kWrite) != 0, completion.used_bytes != 0);
    ASSERT_EQ(descriptor.len, completion.used_bytes);
    for (unsigned i = outstanding_.front().descriptors; i > 0; --i) place_ = NextPlace(place_, size());
  }

  Bench& b_;
  const size_t vq_;
  std::vector<uint8_t> memory_;
  std::deque<Buffer> outstanding_;
  uint16_t seen_ = 0;
  uint16_t place_ = kWrap;
  unsigned all_ = 0;
};

struct BatchBench : Bench {
  explicit BatchBench(const Features& features, uint16_t size = 0) : Bench(features) {
    EnableAll();
    if (size != 0) {
      for (size_t vq = 0; vq <= kControlQueue; ++vq) Enable(vq, size);
    }
    EXPECT_EQ(bench.RunOut(30), "");
    for (size_t vq = 0; vq <= kControlQueue; ++vq) lookers.push_back(std::make_unique<Looker>(*this, vq));
    on_store = [this](const DmaStore& store) {
      for (const auto& looker : lookers) looker->OnStore(store);
    };
  }
  Looker& net() { return *lookers[kNetQueue]; }
  std::vector<std::unique_ptr<Looker>> lookers;
};

TEST_P(CqWriterRings, ADriverThatLooksAfterEveryStoreSeesABatchWholeOrNotAtAll) {
  for (uint16_t size : std::initializer_list<uint16_t>{8, 11, 16, 32}) {
    if (!Param().packed && size == 11) size = 64;
    auto b = std::make_unique<BatchBench>(Param(), size);
    for (unsigned lap = 0; lap < 6; ++lap) {
      for (unsigned count = 1; count <= 8; ++count) {
        SCOPED_TRACE(std::to_string(size) + " " + std::to_string(count));
        b->net().CompleteBatch(count);
        b->Settle();
        ASSERT_FALSE(HasFatalFailure());
        ASSERT_FALSE(b->net().IsWaiting());
      }
    }
    EXPECT_EQ(b->net().all(), 6u * 36u);
    EXPECT_EQ(b->queues[kNetQueue].interrupts, 6u * 8u) << "one for each batch";
  }
}

TEST_P(CqWriterRings, ADriverSeesBatchesWholeAmongEverythingElseAtEveryRate) {
  for (const unsigned in : {16u, 4u}) {
    for (const unsigned memory : {16u, 2u}) {
      SCOPED_TRACE("rates " + std::to_string(in) + " " + std::to_string(memory));
      auto b = std::make_unique<BatchBench>(Param());
      b->SetRates(in, memory, in == 16 ? 6 : 16);
      b->fickle = true;
      for (unsigned step = 0; step < 800; ++step) {
        Looker& looker = *b->lookers[b->random() % b->lookers.size()];
        const auto count = static_cast<unsigned>(1 + b->random() % 8);
        if (looker.Room() >= count) looker.CompleteBatch(count);
        if (b->random() % 3 == 0) {
          const auto cqn = static_cast<int>(b->random() % kCqs);
          b->Post(kFirstCq + static_cast<size_t>(cqn), 1);
          b->Complete(kFirstWork + b->random() % 4, cqn);
          if (!b->queues[kFirstCq + static_cast<size_t>(cqn)].armed) b->ArmCq(static_cast<size_t>(cqn), false, true);
        }
        if (b->random() % 8 == 0) b->Post(kEventQueue, 1), b->Happen();
        if (b->event_idx && !b->packed && b->random() % 4 == 0) {
          b->TellAvail(b->random() % (kControlQueue + 1), static_cast<uint16_t>(b->random()));
        }
        ASSERT_EQ(b->bench.Run(b->random() % 40), "");
        ASSERT_FALSE(HasFatalFailure());
      }
      b->Settle();
      ASSERT_FALSE(HasFatalFailure());
      unsigned all = 0;
      for (const auto& looker : b->lookers) {
        EXPECT_FALSE(looker->IsWaiting());
        all += looker->all();
      }
      EXPECT_GT(all, 300u);
      EXPECT_GT(b->batches, 60u);
    }
  }
}

TEST(CqWriter, AnEventAnywhereInABatchInterruptsOnceAndOneBesideItDoesNot) {
  for (const bool packed : {false, true}) {
    constexpr uint16_t kSplitSize = 16, kPackedSize = 13;
    constexpr uint32_t kDesc = 2u << 16;
    const uint16_t size = packed ? kPackedSize : kSplitSize;
    auto b = std::make_unique<BatchBench>(Features{.packed = packed, .event_idx = true}, size);
    Queue& queue = b->queues[kNetQueue];
    for (unsigned count = 1; count <= 8; ++count) {
      uint64_t wished = 0, asked = 0;
      for (unsigned i = 0; i < (packed ? 2u * size : count + 4); ++i, ++asked) {
        SCOPED_TRACE(std::to_string(packed) + " " + std::to_string(count) + " " + std::to_string(i));
        const uint16_t first = queue.used;
        b->fixed_wish = packed ? kDesc | (i < size ? i : kWrap | (i - size)) : static_cast<uint16_t>(first + i - 2);
        const uint64_t before = queue.interrupts;
        b->net().CompleteBatch(count);
        b->Settle();
        ASSERT_FALSE(HasFatalFailure());
        if (!packed) {
          EXPECT_EQ(queue.interrupts, before + (i >= 2 && i < 2 + count));
        }
        ASSERT_LE(queue.interrupts, before + 1);
        wished += queue.interrupts - before;
      }
      if (!packed) {
        EXPECT_EQ(wished, count);
      }
      EXPECT_GT(wished, 0u);
      EXPECT_LT(wished, asked);
    }
  }
}

TEST(CqWriter, AnEventInABatchThatGoesPastTheEndOfTheUsedIndexInterrupts) {
  Bench b({.packed = false, .event_idx = true});
  b.Enable(kNetQueue, 16);
  ASSERT_EQ(b.bench.RunOut(30), "");
  Queue& queue = b.queues[kNetQueue];
  b.fixed_wish = 2;
  b.CompleteBatch(kNetQueue, 3);
  b.Settle();
  EXPECT_EQ(queue.interrupts, 1u);
  while (queue.used < 0xfffb) {
    b.CompleteBatch(kNetQueue, 8);
    ASSERT_EQ(b.bench.RunOut(30), "");
  }
  ASSERT_EQ(queue.used, 0xfffb);
  EXPECT_EQ(queue.interrupts, 1u);
  b.CompleteBatch(kNetQueue, 8);  // 2 is the last of them
  b.Settle();
  EXPECT_EQ(queue.used, 3);
  EXPECT_EQ(queue.interrupts, 2u);
}

TEST_P(CqWriterRings, ABatchThatHasBegunWhenItsQueueIsResetIsWrittenToWhereItBeganAndNoneAfterIt) {
  for (unsigned count = 2; count <= 5; ++count) {
    for (unsigned sent = 1; sent < count; ++sent) {
      SCOPED_TRACE(std::to_string(count) + " " + std::to_string(sent));
      auto b = std::make_unique<BatchBench>(Param(), uint16_t{16});
      Queue& queue = b->queues[kNetQueue];
      b->net().CompleteBatch(3);
      b->Settle();
      b->net().CompleteBatch(count, sent);
      ASSERT_EQ(b->bench.RunOut(100), "");
      EXPECT_EQ(b->stores, 3u + 1 + (b->packed ? 2 + 2 * sent - 1 : sent));
      EXPECT_EQ(b->net().all(), 3u);
      EXPECT_FALSE(b->idle.idle);
      b->row_in.tokens.push_back({.vq_index = kNetQueue,
                                  .queue_size = 4,
                                  .queue_desc = b->random(),
                                  .queue_driver = b->random(),
                                  .queue_device = b->random()});
      ASSERT_EQ(b->bench.RunOut(100), "");
      EXPECT_FALSE(b->idle.idle);
      b->SendHeld();
      ASSERT_EQ(b->bench.RunOut(100), "");
      ASSERT_FALSE(HasFatalFailure());
      EXPECT_TRUE(b->idle.idle);
      EXPECT_EQ(b->net().all(), 3u + count);
      EXPECT_EQ(queue.interrupts, 1u);
      EXPECT_EQ(queue.questions, 1u) << "nobody is there to be asked";
      queue.dead = true;
      b->CompleteBatch(kNetQueue, count);
      ASSERT_EQ(b->bench.RunOut(100), "");
      ASSERT_FALSE(HasFatalFailure());
      EXPECT_TRUE(b->idle.idle);

      b->Enable(kNetQueue, 8);
      ASSERT_EQ(b->bench.RunOut(30), "");
      b->net().Begin();
      b->net().CompleteBatch(count);
      b->Settle();
      ASSERT_FALSE(HasFatalFailure());
      EXPECT_EQ(b->net().all(), 3u + 2 * count);
    }
  }
}

TEST_P(CqWriterRings, ABatchInterruptsAsItsQueueWasWhenItBegan) {
  for (const bool is_row : {false, true}) {
    auto b = std::make_unique<BatchBench>(Param(), uint16_t{16});
    b->net().CompleteBatch(4, 2);
    ASSERT_EQ(b->bench.RunOut(50), "");
    if (is_row) {
      QueueRowWrite row = b->queues[kNetQueue].row;
      row.msix_vector = spec::kVirtioMsiNoVector;
      b->row_in.tokens.push_back(row);
    } else {
      b->SetKind(kNetQueue, TableQueueKind::kNone);
    }
    ASSERT_EQ(b->bench.RunOut(50), "");
    b->SendHeld();
    b->Settle();
    ASSERT_FALSE(HasFatalFailure());
    EXPECT_FALSE(b->net().IsWaiting());
    EXPECT_EQ(b->queues[kNetQueue].interrupts, 1u);
  }
}

TEST_P(CqWriterRings, ABatchThatBeganWhileItsQueueWasNotServedIsDroppedWhole) {
  for (unsigned sent = 1; sent < 4; ++sent) {
    auto b = std::make_unique<Bench>(Param());
    b->EnableAll();
    b->Enable(kNetQueue, 8);
    b->SetKind(kNetQueue, KindOf(kNetQueue), true);
    ASSERT_EQ(b->bench.RunOut(30), "");
    Queue& queue = b->queues[kNetQueue];
    queue.dead = true;
    b->CompleteBatch(kNetQueue, 4, sent);
    ASSERT_EQ(b->bench.RunOut(50), "");
    EXPECT_FALSE(b->idle.idle);
    b->SetKind(kNetQueue, KindOf(kNetQueue));
    ASSERT_EQ(b->bench.RunOut(50), "");
    b->SendHeld();
    b->Settle();
    EXPECT_EQ(b->stores, 0u);
    queue.dead = false;
    b->CompleteBatch(kNetQueue, 4);
    b->Settle();
    EXPECT_EQ(queue.used, 4);
    // One that has begun when it is stopped is written.
    b->CompleteBatch(kNetQueue, 4, sent);
    ASSERT_EQ(b->bench.RunOut(50), "");
    b->SetKind(kNetQueue, KindOf(kNetQueue), true);
    ASSERT_EQ(b->bench.RunOut(50), "");
    b->SendHeld();
    b->Settle();
    EXPECT_EQ(queue.used, 8);
  }
}

TEST_P(CqWriterRings, ABatchWhoseQueueFailsInTheMiddleIsWholeAndTheLast) {
  for (unsigned sent = 1; sent < 5; ++sent) {
    SCOPED_TRACE(sent);
    auto b = std::make_unique<BatchBench>(Param(), uint16_t{16});
    Queue& queue = b->queues[kNetQueue];
    b->fail_queue = kNetQueue;
    b->fail_after = 1;
    b->done_in.rate = 0;
    b->net().CompleteBatch(1);
    b->net().CompleteBatch(5, sent);
    ASSERT_EQ(b->bench.Run(100), "");
    EXPECT_EQ(queue.failures, 0u);
    b->done_in.rate = 16;
    ASSERT_EQ(b->bench.Run(100), "");
    EXPECT_EQ(queue.failures, 1u);
    EXPECT_EQ(queue.code, RdmaError::kQueueDmaError);
    EXPECT_EQ(b->net().all(), 1u);
    b->SendHeld();
    b->Settle();
    ASSERT_FALSE(HasFatalFailure());
    EXPECT_EQ(b->net().all(), 6u);
    queue.dead = true;
    b->CompleteBatch(kNetQueue, 5);
    b->Settle();
    EXPECT_EQ(queue.failures, 1u);
    EXPECT_EQ(queue.interrupts, 1u) << "of the batch that is in memory";
  }
}

TEST_P(CqWriterRings, AnyWriteOfABatchThatFailsStopsTheQueueOnceWithoutAskingItsDriver) {
  constexpr unsigned kCount = 4;
  const unsigned stores = Param().packed ? 2 * kCount : kCount + 1;
  for (unsigned at = 0; at < stores; ++at) {
    SCOPED_TRACE(at);
    auto b = std::make_unique<BatchBench>(Param(), uint16_t{16});
    Queue& queue = b->queues[kNetQueue];
    b->fail_queue = kNetQueue;
    b->fail_after = at;
    b->net().CompleteBatch(kCount);
    b->Settle();
    ASSERT_FALSE(HasFatalFailure());
    EXPECT_EQ(b->stores, stores);
    EXPECT_EQ(queue.failures, 1u);
    EXPECT_EQ(queue.code, RdmaError::kQueueDmaError);
    EXPECT_EQ(queue.questions, 0u);
    queue.dead = true;
    b->CompleteBatch(kNetQueue, kCount);
    b->lookers[kControlQueue]->CompleteBatch(1);  // the next slot knows nothing of it
    b->Settle();
    EXPECT_EQ(queue.failures, 1u);
    EXPECT_EQ(b->queues[kControlQueue].interrupts, 1u);
  }
}

TEST_P(CqWriterRings, WhileABatchIsOpenWhatNeedsNoSlotGoesOnAndTheRestWaits) {
  auto b = std::make_unique<BatchBench>(Param(), uint16_t{16});
  Queue& cq = b->queues[kFirstCq];
  b->Post(kFirstCq, 8);
  b->Complete(kFirstWork, 0);
  b->Settle();
  b->done_in.rate = 0;
  b->lookers[kControlQueue]->CompleteBatch(1);
  b->net().CompleteBatch(3, 2);
  ASSERT_EQ(b->bench.Run(100), "");
  const unsigned before = b->stores;
  b->done_in.rate = 16;
  b->Post(kEventQueue, 1);
  b->Happen();
  if (b->event_idx && !b->packed) b->TellAvail(kFirstWork, 77);
  b->ArmCq(0, false, true, 1);
  ASSERT_EQ(b->bench.Run(200), "");
  EXPECT_EQ(b->stores, before);
  EXPECT_EQ(b->requests, 1u) << "no buffer is fetched for the event";
  EXPECT_EQ(cq.interrupts, 1u);
  EXPECT_EQ(b->queues[kControlQueue].interrupts, 1u);
  b->SendHeld();
  b->Complete(kFirstWork, 0);
  b->Settle();
  ASSERT_FALSE(HasFatalFailure());
  EXPECT_FALSE(b->net().IsWaiting());
  EXPECT_EQ(b->queues[kEventQueue].used, 1);
  EXPECT_EQ(cq.used, 2);
  EXPECT_EQ(b->doorbells, b->event_idx && !b->packed ? 1u : 0u);
}

TEST_P(CqWriterRings, ABatchTakesOneSlot) {
  auto b = std::make_unique<BatchBench>(Param());
  b->done_in.rate = 0;
  b->Enable(kNetQueue, 16);
  ASSERT_EQ(b->bench.RunOut(30), "");
  for (size_t i = 0; i < kSlots + 3; ++i) b->CompleteBatch(kNetQueue, 3);
  b->on_store = nullptr;  // more than the ring has room for
  ASSERT_EQ(b->bench.Run(1000), "");
  EXPECT_EQ(b->queues[kNetQueue].used, 3 * (kSlots - 1));
  b->done_in.rate = 16;
  b->Settle();
  EXPECT_EQ(b->queues[kNetQueue].used, 3 * (kSlots + 3));
  EXPECT_EQ(b->queues[kNetQueue].interrupts, kSlots + 3);
}

TEST_P(CqWriterRings, ABatchHasTheLatenciesOfItsPage) {
  Bench b(Param());
  b.EnableAll();
  b.Enable(kNetQueue, 16);
  ASSERT_EQ(b.bench.RunOut(30), "");
  b.CompleteBatch(kNetQueue, 4);
  b.Complete(kNetQueue);
  // Visible: the last store of the batch, and the first one of what follows.
  const Cycle last =
      b.packed ? CqWriter::kCompletionToElement + CqWriter::kCyclesPerMore + 2 * CqWriter::kCyclesPerPackedMore + 2
               : CqWriter::kCompletionToElement + 3 * CqWriter::kCyclesPerMore + 1;
  const Cycle next = b.packed ? last - 2 + CqWriter::kCyclesPerPackedEnd : last - 1 + CqWriter::kCyclesPerCompletion;
  const unsigned stores = b.packed ? 8 : 5;
  ASSERT_EQ(b.bench.Run(last), "");
  EXPECT_EQ(b.stores, stores - 1);
  EXPECT_EQ(b.batches, 0u);
  ASSERT_EQ(b.bench.Run(1), "");
  EXPECT_EQ(b.stores, stores);
  EXPECT_EQ(b.batches, 1u);
  ASSERT_EQ(b.bench.Run(next - last - 1), "");
  EXPECT_EQ(b.stores, stores);
  ASSERT_EQ(b.bench.Run(1), "");
  EXPECT_EQ(b.stores, stores + 1);
  b.Settle();
}

}  // namespace
}  // namespace vireo::verif
