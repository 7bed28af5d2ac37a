// SPDX-License-Identifier: Apache-2.0
// Prefetches receive work requests into a ring per receive queue, private or shared, and delivers them one by one;
// reads lists of elements, too: each is read at once, and kept for the frames of its message. A queue of which a
// request found fewer than it asked for is dry: nothing is fetched before its doorbell rings, and then in the
// background; a request that comes meanwhile waits for it, but no more than one part in kWaitShare of the time. A
// request with no_wait never waits for host memory: see receive_retry. The counterpart of rtl/rdma/vireo_recv_queue.sv.
// It checks a work request's format; it does not handle keys, messages or completions. Of a shared queue it counts the
// receives that are taken, and reports the limit that firmware has armed.
//
// Two machines: the reads (one cycle per read), and the rings (two cycles per event, three for a receive that is
// delivered, one more per element that was read with the first one).
#pragma once

#include <array>
#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

#include "model/common/agenda.h"
#include "model/common/channel.h"
#include "model/common/index_set.h"
#include "model/common/level.h"
#include "model/common/table.h"
#include "model/common/wait_budget.h"
#include "model/rdma/qp_queues.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::model {

class RecvQueue final : public Block {
 public:
  // Sizes outside the configuration.
  struct Sizes {
    uint32_t ahead;         // receives kept per QP; 8 or more
    uint32_t requests = 8;  // outstanding, to descriptor fetch
    uint32_t fetches = 32;  // outstanding reads, one per work request
  };

  // Unloaded, from the cycle in which one token is accepted to the one in which the next is visible.
  static constexpr Cycle kRequestToReceive = 4;        // from the ring
  static constexpr Cycle kRequestToBufferRequest = 3;  // the ring is empty
  static constexpr Cycle kRequestToPending = 3;        // with no_wait, likewise
  static constexpr Cycle kRequestToFetch = 4;          // of a list of elements
  static constexpr Cycle kRequestToElement = 3;        // of a list that was read
  static constexpr Cycle kBufferToFetch = 3;
  static constexpr Cycle kBufferToReceive = 8;   // none, or a bad one
  static constexpr Cycle kFetchedToReceive = 7;  // a work request that is waited for
  static constexpr Cycle kFetchedToElement = 6;  // one more per further element and read of the list
  static constexpr Cycle kFetchedToRetry = 4;
  // Requests for receives of dry queues may make others wait this part of the time.
  static constexpr unsigned kWaitShare = 32;
  static constexpr unsigned kWaitBits = 15;         // of the longest wait that counts, in cycles
  static constexpr uint32_t kRequestsPerQueue = 3;  // outstanding
  // Asked for at a time while receives are taken.
  static constexpr uint32_t StepOf(uint32_t ahead) { return ahead < 32 ? ahead / 2 : ahead * 5 / 16; }

  RecvQueue(Agenda& agenda, const spec::Config& config);
  RecvQueue(Agenda& agenda, const spec::Config& config, const Sizes& sizes);

  // Effective from cycle `from` on; initially 0.
  void SetMq(Cycle from, bool mq);
  // ring_packed_i, likewise.
  void SetRingPacked(Cycle from, bool packed) { ring_packed_.Set(from, packed); }
  // Pulses, in their cycle.
  void OnTableWrite(Cycle cycle, const spec::TableWrite& write);
  void OnQpStateWrite(Cycle cycle, const spec::QpStateWrite& write);
  void OnQueueRung(Cycle cycle, const spec::QueueRung& rung);

  Channel<spec::ReceiveRequest> receive_request_in = Channel<spec::ReceiveRequest>::Slice();
  Channel<spec::Buffer> buffer_in;
  Channel<spec::DmaFetched> fetched_in;
  Output<spec::Receive> receive_out;
  Output<spec::ReceiveRetry> receive_retry_out;
  Output<spec::BufferRequest> buffer_request_out;
  Output<spec::DmaReadRequest> fetch_request_out;
  Output<spec::QueueFailure> queue_failure_out;

  void Run(Cycle now) override;
  // Requests to descriptor fetch, and those of them whose receives are all stored.
  uint64_t batches_begun() const { return batches_begun_; }
  uint64_t batches_ended() const { return batches_ended_; }
  // No work in flight after the cycles that have run.
  bool IsIdle() const;

 private:
  // A QP's ring: `count` receives from index `first` on.
  struct Slot {
    uint32_t first = 0;
    uint32_t count = 0;
    uint32_t requests = 0;  // that are in flight, or their results; kRequestsPerQueue at most
    bool stale = false;     // their results are to be discarded
    bool retries = false;   // a request was answered `pending`
    bool since = false;     // after which the request in flight was made
    bool dry = false;       // the last request found fewer than it asked for
    bool again = false;     // rung since that request or the last one in flight was made
    std::array<uint8_t, kRequestsPerQueue> missing = {};  // of each, the first one in place 0: not stored yet
    uint16_t taken = 0;                                   // shared queue: receives delivered since the last clear
    bool armed = false;                                   // to report when as many are taken:
    uint16_t position = 0;

    uint32_t Coming() const { return std::accumulate(missing.begin(), missing.end(), 0u); }
  };
  // What firmware has written of a shared queue.
  struct Limit {
    bool is_shared = false;
    bool armed = false;
    uint16_t position = 0;
  };
  // Requests to descriptor fetch and element reads, in processing order.
  struct Info {
    uint32_t qpn = 0;
    bool element = false;  // of a list, else of a buffer_request
    bool receive = false;  // there is a work request
    bool reads = false;    // its bytes (or the element's) come as `fetched`
    bool broken = false;   // no work request, because the queue is broken
    bool last = false;     // of the buffer_request
    uint16_t head = 0;
    std::optional<uint16_t> id = {};  // packed ring
    uint64_t address = 0;
    uint32_t bytes = 0;
    spec::RdmaError failed = spec::RdmaError::kOk;  // no read is made
  };
  // The list of elements that a QP's message goes to, as far as it was read. Its elements are counted from its end: the
  // last one is 1.
  struct List {
    uint64_t end = 0;   // address behind the last one
    uint8_t first = 0;  // the first one that was read; 0: none was
  };
  enum class Op { kClear, kServe, kStore, kLimit, kRung, kElement };
  struct Event {
    Op op;
    uint32_t qpn;
  };
  // What the responder waits for: nothing, processing of its QP's ring, space for a request, receives in flight to the
  // ring, an element, the reads of its list.
  enum class Wait { kNone, kServe, kRoom, kBatch, kElement, kList };

  // Each performs the work of a cycle and returns whether there was any.
  bool RunFetch(Cycle now);
  bool RunRings(Cycle now);
  bool Choose(Cycle now);
  void Decide(Cycle now);
  void Serve(Cycle now, uint32_t qpn, Slot& slot);
  void Store(Cycle now, uint32_t qpn, Slot& slot);
  void StoreElement(Cycle now);
  void ServeElement(Cycle now);
  bool CanRequest() const { return !request_ && requests_ != sizes_.requests; }
  void RequestBatch(Cycle now, uint32_t qpn, Slot& slot);
  void CheckLimit(uint32_t qpn, Slot& slot);
  spec::Receive ReceiveOf(const Info& info, const spec::DmaFetched& fetched, bool is_shared, bool packed) const;

  const bool has_shared_queues_;
  const uint32_t max_recv_sge_;
  const Sizes sizes_;
  const uint32_t read_elements_;
  const uint32_t list_elements_;  // room for those of a QP

  QpQueues queues_;
  Level<bool> ring_packed_{false};
  IndexSet clear_;
  IndexSet armed_;  // queues whose limit was armed or disarmed
  IndexSet rung_;
  Table<Limit> limits_;
  std::optional<uint32_t> due_;  // the limit of this queue is reached
  Channel<Info> infos_;          // as many as reads, so that there is space for all responses
  Table<Slot> slots_;
  std::vector<spec::Receive> ring_;  // that of QP q from q * ahead on
  // The QP's list and its elements, that of QP q from q * list_elements_ on.
  Table<List> lists_;
  struct Element {
    bool failed = false;  // its read
    uint8_t sge[spec::RdmaSge::kBytes] = {};
  };
  std::vector<Element> elements_;
  // The rest of a list, to be read.
  struct Rest {
    uint64_t address;
    uint8_t elements;
  };
  std::optional<Rest> rest_;
  uint32_t stored_ = 0;         // elements of the read that is being stored
  std::optional<Event> event_;  // chosen, to be decided
  struct Delivery {
    uint32_t qpn;
    size_t place;
  };
  std::optional<Delivery> delivery_;  // decided, to be read from the ring
  Wait wait_ = Wait::kNone;
  WaitBudget dry_waits_{kWaitShare, kWaitBits};  // Wait::kBatch, of a dry queue
  uint32_t wait_qpn_ = 0;
  bool requested_since_ = false;  // a request was made after it wanted one
  bool broken_ = false;           // that request failed
  bool no_wait_ = false;          // of the responder's request
  uint64_t element_address_ = 0;
  uint8_t element_ = 0;          // its number
  bool element_is_new_ = false;  // none of its list was requested before
  uint32_t requests_ = 0;        // whose last buffer has not been taken
  uint64_t batches_begun_ = 0;
  uint64_t batches_ended_ = 0;

  std::optional<spec::DmaReadRequest> fetch_;
  std::optional<spec::BufferRequest> request_;
  std::optional<spec::Receive> receive_;
  std::optional<spec::ReceiveRetry> retry_;
  std::optional<spec::QueueFailure> failure_;
};

}  // namespace vireo::model
