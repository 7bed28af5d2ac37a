// SPDX-License-Identifier: Apache-2.0
// Writes requests with their trains of data to host memory in bursts: the counterpart of rtl/dma/vireo_dma_writer.sv.
// It has no clock: inputs are reported with their cycles, and it computes the cycles of all resulting events.
//
// Calls come in cycle order; within a cycle, in any order. State visible in cycle n depends only on calls for cycles
// before n. With q the cycle of a request, p that of its train's last beat:
//
//   burst k cut:      request's q + 1;  cut k-1, + 1;  issue k-2, + 1
//   burst k issued:   cut k, + 1;  issue k-1, + 1;  taken k-2, + 1;  last step of burst k-2, + 1;
//                     response k - writes, + 1;  if first of its request:  p + 1;  with after_all_b:  response k-1, + 1
//   burst k visible:  issue k, + 1;  taken k-1, + 1
//   step 0 of burst:  issue, + 1;  last step of the previous burst, + 1;  space in the output queue
//   step s:           step s-1, + 1;  space in the output queue
//   beat visible:     its step, + 3;  previous beat taken, + 1
//   completion:       response of the request's last burst, + 2
//
// Each event is in the latest of these cycles. On a data path of less than 64 bytes k-1 stands for k-2: see
// wide_slice.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/common/credits.h"
#include "model/common/cycle.h"
#include "model/common/fifo.h"
#include "model/common/ring.h"
#include "model/dma/dma_split.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::model {

class DmaWriter {
 public:
  struct Config {
    uint32_t data_bits = spec::kNic100.datapath_bits;
    uint32_t writes = 256;         // outstanding bursts
    uint32_t buffer_bytes = 8192;  // for trains; a power of two, 4096 or more
  };

  static constexpr uint32_t kMaxRequestBytes = 4096;

  struct Request {
    uint64_t address;
    uint32_t bytes;  // 1 to kMaxRequestBytes
    uint32_t tag;    // the client's
    bool notify;     // report completion on success, too
    bool after_all_b;
    spec::PcieSize max_payload_size;
  };

  struct Burst {
    uint64_t address;
    uint32_t bytes;
    uint32_t beats;
  };

  struct WriteBeat {
    uint32_t lane;                  // of the first byte; all bytes of `data` are written
    std::span<const uint8_t> data;  // valid until the beat is accepted
    bool last;                      // of its burst
  };

  struct Completion {
    Cycle cycle;
    uint32_t tag;
    AxiResp resp;  // the first error by address
  };

  // Last constraint of each burst's issue, other than the burst order.
  struct Waits {
    uint64_t train = 0;
    uint64_t fence = 0;
    uint64_t answers = 0;
    uint64_t bus = 0;
    uint64_t beats = 0;
  };

  // Unloaded: from a request (from the last beat of its train, if that is later) to its first burst, from there to its
  // first beat, and from the last response to the completion.
  static constexpr uint64_t kBurstLatency = 3;
  static constexpr uint64_t kTrainLatency = 2;
  static constexpr uint64_t kBeatLatency = 3;
  static constexpr uint64_t kDoneLatency = 2;

  explicit DmaWriter(const Config& config);

  // A request, or a beat of a train, is accepted from this cycle on; kUnknown while that depends on an input that was
  // not reported yet.
  Cycle RequestReady() const { return split_.RequestReady(); }
  void OnRequest(Cycle cycle, const Request& request);
  Cycle TrainReady() const { return data_timing_.PushReady(); }
  // A full beat, or the rest in the last one. Trains come in the order of their requests, before or after them.
  void OnTrainBeat(Cycle cycle, std::span<const uint8_t> data, bool last);
  // The same for a whole train whose beats come one per cycle from `first` on, where there must be space for them.
  Cycle TrainReady(uint32_t beats) const { return data_timing_.PushReady(beats); }
  void OnTrain(Cycle first, std::span<const uint8_t> data);

  // The oldest burst that was not accepted is visible from this cycle on; kUnknown if there is none.
  Cycle BurstCycle() const { return bursts_timing_.PopReady(); }
  bool has_burst() const { return !bursts_.empty(); }
  const Burst& burst() const { return bursts_.front(); }
  void OnBurstTaken(Cycle cycle);

  // The oldest beat that was not accepted is visible from this cycle on; kUnknown if there is none.
  Cycle WriteCycle() const { return write_timing_.PopReady(); }
  WriteBeat write_beat() const;
  void OnWriteBeatTaken(Cycle cycle);
  // The same for all beats of the oldest burst, none of which was accepted: its bytes, until its response; and its
  // beats, each as soon as it is visible, but not before `from`. Returns the cycle of the last one.
  std::span<const uint8_t> burst_data() const;
  Cycle TakeBurstData(Cycle from);

  // Responses come in the order of the bursts. True if anything but a completion followed from it.
  bool OnAnswer(Cycle cycle, AxiResp resp);
  // Changes the last response, kOkay, to another one, up to its cycle. Only for requests with `notify`.
  void AmendAnswer(AxiResp resp);

  // In order; the caller removes them.
  Ring<Completion>& completions() { return completions_; }

  const Waits& waits() const { return waits_; }

 private:
  // A request, or a train without its request, until the last response.
  struct Flight {
    Request request{};
    std::vector<uint8_t> data{};
    Cycle complete = kUnknown;  // the cycle of the train's last beat
    AxiResp resp = AxiResp::kOkay;
  };
  // A burst from its issue to its response.
  struct Write {
    uint64_t flight;  // its number
    uint64_t address;
    uint32_t bytes;
    uint32_t beats;
    bool last;  // of its request
  };

  Flight& PlaceOf(uint64_t number);  // creates it if it is new
  const Flight& FlightOf(uint64_t number) const { return flights_[static_cast<size_t>(number - first_flight_)]; }
  const Write& WriteOf(uint64_t number) const { return writes_[static_cast<size_t>(number - answered_)]; }
  // Each computes one event if all its dependencies are known, and returns whether it did.
  bool Issue();
  bool Step();
  bool StepAll();
  void Advance();

  const Config config_;
  const uint32_t beat_bytes_;
  DmaSplit split_;
  FifoTiming data_timing_;
  Credits room_for_answers_;
  FifoTiming bursts_timing_ = WideTiming(size_t{8} * beat_bytes_);
  Ring<Burst> bursts_;
  FifoTiming jobs_timing_ = FifoTiming::Slice();
  FifoTiming write_timing_ = FifoTiming::Fifo(kStreamDepth);
  Credits write_room_{kStreamDepth};
  Ring<Write> writes_;     // issued, without response
  uint64_t answered_ = 0;  // number of writes_.front()
  uint64_t issued_ = 0;
  uint64_t stepping_ = 0;    // number of the burst that makes the next step
  uint64_t leaving_ = 0;     // number of the burst whose beat is accepted next
  uint32_t step_ = 0;        // of the burst
  uint32_t beats_left_ = 0;  // of the request's train, for later steps
  uint32_t beat_ = 0;        // next beat of its burst to be accepted
  Cycle next_step_ = 0;
  Cycle last_answer_ = 0;
  bool ended_ = false;             // the last response was to the last burst of its request
  bool waits_for_answer_ = false;  // the burst that is issued next
  Ring<Flight> flights_;
  uint64_t first_flight_ = 0;  // number of flights_.front()
  uint64_t next_request_ = 0;
  uint64_t next_train_ = 0;
  uint64_t issue_flight_ = 0;  // whose burst is issued next
  Ring<Completion> completions_;
  Waits waits_;
};

}  // namespace vireo::model
