// SPDX-License-Identifier: Apache-2.0
// Reads host memory in bursts and delivers each request's data as one train of beats: the counterpart of
// rtl/dma/vireo_dma_reader.sv. It has no clock: inputs are reported with their cycles, and it computes the cycles of
// all resulting events.
//
// Calls come in cycle order; within a cycle, in any order. State visible in cycle n depends only on calls for cycles
// before n. With q the cycle of a request, r of the last beat of a burst, l = 1 if the train needs a step before its
// first beat:
//
//   burst k cut:      request's q + 1;  cut k-1, + 1;  issue k-2, + 1
//   burst k issued:   cut k, + 1;  issue k-1, + 1;  retire k - tags, + 1;  room in the buffer;  taken k-2, + 1
//   burst k visible:  issue k, + 1;  taken k-1, + 1
//   burst k retired:  r + 2;  retire k-1, + 1
//   step 0 of train:  retire of its request's last burst, + 3;  last step of the previous train, + 1
//   step s:           step s-1, + 1; space in the output queue
//   beat j visible:   step j + l, + 4;  beat j-1 taken, + 1
//
// Each event is in the latest of these cycles. On a data path of less than 64 bytes k-1 stands for k-2: see
// wide_slice.h.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "model/common/credits.h"
#include "model/common/cycle.h"
#include "model/common/fifo.h"
#include "model/common/ring.h"
#include "model/dma/dma_split.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::model {

class DmaReader {
 public:
  struct Config {
    uint32_t data_bits = spec::kNic100.datapath_bits;
    uint32_t tags = spec::kNic100.dma_tags;
    uint32_t buffer_bytes = 32768;  // a power of two, 8192 or more
  };

  struct Request {
    uint64_t address;
    uint32_t bytes;  // 1 to max_request_bytes()
    uint32_t tag;    // the client's
    spec::PcieSize max_read_request_size;
  };

  struct Burst {
    uint32_t id;
    uint64_t address;
    uint32_t bytes;
    uint32_t beats;
  };

  struct TrainBeat {
    uint32_t tag;
    uint32_t bytes;  // of the train
    AxiResp resp;    // not kOkay: data is undefined
    bool last;
    std::span<const uint8_t> data;  // a full beat, or the rest in the last one; valid until the beat is accepted
  };

  // Last constraint of each burst's issue, other than the burst order.
  struct Waits {
    uint64_t tag = 0;
    uint64_t buffer = 0;
    uint64_t bus = 0;
  };

  // Unloaded: from the request to its first burst, and from the last beat to the train's first; one more for a train
  // that needs a step before its first beat.
  static constexpr uint64_t kBurstLatency = 3;
  static constexpr uint64_t kTrainLatency = 9;

  explicit DmaReader(const Config& config);

  uint32_t max_request_bytes() const { return config_.buffer_bytes - beat_bytes_; }
  // Steps of a request's train: the cycles for which it delays the next train.
  uint32_t TrainSteps(uint64_t address, uint32_t bytes) const;

  // A request is accepted from this cycle on; kUnknown while that depends on an input that was not reported yet.
  Cycle RequestReady() const { return split_.RequestReady(); }
  void OnRequest(Cycle cycle, const Request& request);

  // The oldest burst that was not accepted is visible from this cycle on; kUnknown if there is none.
  Cycle BurstCycle() const { return bursts_timing_.PopReady(); }
  bool has_burst() const { return !bursts_.empty(); }
  const Burst& burst() const { return bursts_.front(); }
  void OnBurstTaken(Cycle cycle);

  // A beat of the bus, its bytes in the lanes of their addresses. The beats of a burst come in order; bursts may
  // interleave.
  void OnReadBeat(Cycle cycle, uint32_t id, std::span<const uint8_t> data, AxiResp resp, bool last);
  // The same for a caller that has more than a beat: the burst's next bytes, at any time before its end; and the cycle
  // of its last beat. Data missing because of an error is zero.
  void OnReadData(uint32_t id, std::span<const uint8_t> data);
  void OnReadEnd(Cycle cycle, uint32_t id, AxiResp resp);

  // The oldest beat that was not accepted is visible from this cycle on; kUnknown if there is none.
  Cycle TrainCycle() const { return train_timing_.PopReady(); }
  TrainBeat train_beat() const;
  void OnTrainBeatTaken(Cycle cycle);
  // The whole oldest train, for a consumer without back-pressure: beat k in cycle `first` + k. The data is valid until
  // the next request.
  std::span<const uint8_t> TakeTrain(Cycle first);

  const Waits& waits() const { return waits_; }

 private:
  // A request from its acceptance until the last beat of its train was accepted.
  struct Flight {
    uint32_t tag;
    std::vector<uint8_t> data;
    AxiResp resp;
    uint32_t issued_bytes;
    uint32_t bus_beats;
    uint32_t steps;
    uint32_t train_beats;
  };
  // A burst from its issue until it is retired.
  struct Read {
    uint64_t flight;  // its number
    uint64_t address;
    uint32_t offset;  // in the request
    uint32_t bytes;
    uint32_t bytes_received;
    bool last;  // of its request
    AxiResp resp;
    Cycle done;  // cycle of its last beat
  };

  Flight& FlightOf(uint64_t number) { return flights_[static_cast<size_t>(number - first_flight_)]; }
  // Each computes one event if all its dependencies are known, and returns whether it did.
  bool Issue();
  bool Retire();
  bool Step();
  void Advance();
  void PopTrain();
  void TakeSteps(Cycle first);

  const Config config_;
  const uint32_t beat_bytes_;
  DmaSplit split_;
  Credits tags_;
  Credits places_;  // beats of free buffer space
  FifoTiming bursts_timing_ = WideTiming(size_t{8} * beat_bytes_);
  Ring<Burst> bursts_;
  std::vector<Read> reads_;  // by tag
  uint64_t issued_ = 0;      // bursts
  uint64_t retired_ = 0;
  Cycle next_retire_ = 0;
  FifoTiming done_timing_;  // complete requests that wait for their train
  FifoTiming train_timing_ = FifoTiming::Fifo(kStreamDepth);
  Credits train_room_{kStreamDepth};
  Cycle next_step_ = 0;
  uint32_t step_ = 0;  // next step of its train
  uint32_t beat_ = 0;  // next beat of its train to be accepted
  Ring<Flight> flights_;
  uint64_t first_flight_ = 0;  // number of flights_.front(), whose train leaves next
  uint64_t issue_flight_ = 0;  // whose burst is issued next
  uint64_t step_flight_ = 0;   // whose train makes the next step
  Waits waits_;
};

}  // namespace vireo::model
