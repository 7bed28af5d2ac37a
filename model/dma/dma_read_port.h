// SPDX-License-Identifier: Apache-2.0
// The reader of host memory and its clients: the counterpart of rtl/dma/vireo_dma_read_port.sv. Fetch clients (short
// reads) use token streams; train clients get trains. It checks no address, right or length.
//
// Unloaded, with t the cycle of a request's push, r that of the last beat of the bus, l = 1 if the train needs a step
// before its first beat (DmaReader::TrainSteps), n its beats:
//
//   burst visible:         t + kBurstLatency
//   train's first beat:    r + DmaReader::kTrainLatency + l
//   small response visible:  r + kFetchedLatency + l + n - 1, and kStoreLatency where 64 bytes are several beats
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "model/common/agenda.h"
#include "model/common/channel.h"
#include "model/common/credits.h"
#include "model/common/cycle.h"
#include "model/common/fifo.h"
#include "model/common/ring.h"
#include "model/dma/dma_reader.h"
#include "model/dma/train.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::model {

class DmaReadPort final : public Block {
 public:
  struct Config {
    DmaReader::Config reader{};
    size_t fetch_clients = 5;                   // small reads; 2 or more
    size_t fetch_depth = spec::kDmaFetchDepth;  // responses per fetch client; a power of two, 4 or more
    size_t read_clients = 1;                    // trains
  };

  static constexpr uint64_t kBurstLatency = 5;
  static constexpr uint64_t kFetchedLatency = 11;
  static constexpr uint64_t kStoreLatency = 1;
  // Cycles for which a small aligned read of one beat occupies a response slot, in addition to the memory's latency, if
  // the response is accepted at once; and kStoreLatency where 64 bytes are several beats.
  static constexpr uint64_t kPlaceCycles = 16;

  DmaReadPort(Agenda& agenda, const Config& config);

  // Fixed sizes: others keep the addresses of the elements.
  std::vector<Channel<spec::DmaReadRequest>> fetch_request_in;  // per fetch client; 1 to kDmaFetchBytes bytes
  std::vector<Output<spec::DmaFetched>> fetched_out;            // per fetch client
  std::vector<Channel<spec::DmaReadRequest>> read_request_in;   // per train client; 1 to kPcieRequestBoundary bytes
  Output<DmaReader::Burst> ar_out;                              // or unconnected: then TakeBurst
  std::vector<TrainSink*> train_sink;                           // per train client; required if it makes requests
  std::function<void(Cycle)> on_dma_error;                      // start of a train that failed; may be empty
  // Applies to requests that the reader takes; to be set before the blocks of a cycle run.
  spec::PcieSize max_read_request_size = spec::PcieSize::kBytes128;

  void Run(Cycle now) override;

  // For a bus whose arready is always 1: accepts the oldest burst, in cycle reader().BurstCycle(), which must be known;
  // may be called at any time up to then.
  DmaReader::Burst TakeBurst();

  // A beat of the bus, as for DmaReader. The beats of a burst come after the burst was accepted.
  void OnReadBeat(Cycle cycle, uint32_t id, std::span<const uint8_t> data, AxiResp resp, bool last);
  // Or more than a beat, as for DmaReader; the end as soon as its cycle is known.
  void OnReadData(uint32_t id, std::span<const uint8_t> data) { reader_.OnReadData(id, data); }
  void OnReadEnd(Cycle cycle, uint32_t id, AxiResp resp);

  // idle_o and outstanding_o in a cycle before any input of that cycle was reported.
  bool IsIdle() const;
  uint32_t outstanding(Cycle now);
  const DmaReader& reader() const { return reader_; }

 private:
  // The responses of a fetch client, and its response slots. Where a beat is a response, they wait in a queue of the
  // client. Else all beats lie in one store, and one per cycle is moved to the output register of its client.
  struct Responses {
    explicit Responses(size_t depth) : queue(FifoTiming::Fifo(depth)), places(depth) {}
    FifoTiming queue;
    Ring<spec::DmaFetched> tokens{};
    Credits places;
    // In the store, and not yet chosen: its first beat's cycle, and its beats.
    struct Stored {
      Cycle begin;
      uint32_t beats;
    };
    Ring<Stored> stored{};
    Cycle shown = kUnknown;  // visible from then on; kUnknown if the register is empty
    Cycle free_from = 0;     // if it is, since then
  };

  size_t fetch_count() const { return fetch_request_in.size(); }  // index of the first train client
  struct Request {
    size_t client;
    spec::DmaReadRequest request;
  };
  bool TakeRequest(Cycle now);
  // Where an answer takes several beats, a client makes a request in every second cycle at most.
  Channel<spec::DmaReadRequest> RequestSlice() const {
    return HasStore() ? Channel<spec::DmaReadRequest>::HalfSlice() : Channel<spec::DmaReadRequest>::Slice();
  }
  void TakeTrain(Cycle now);
  bool HasStore() const { return beat_bytes_ < spec::kDmaFetchBytes; }
  void ChooseStored(Cycle now);
  Cycle ShownAt(const Responses& responses) const { return HasStore() ? responses.shown : responses.queue.PopReady(); }
  Cycle ChosenAt(const Responses& responses) const;
  void EndRead(Cycle cycle);
  void Wake(Cycle now);

  const uint32_t beat_bytes_;
  DmaReader reader_;
  FifoTiming chosen_slice_ = WideTiming(size_t{8} * beat_bytes_);  // in front of the reader
  Ring<Request> chosen_requests_;                                  // in it
  size_t turn_;                                                    // client of the last one
  std::vector<Responses> responses_;                               // per fetch client
  uint64_t answering_ = 0;                                         // bit per fetch client: has responses
  Cycle read_from_ = 0;     // the store is read for the next response from then on
  size_t chosen_;           // fetch client of the last one
  Ring<Cycle> train_ends_;  // last beats of train clients' trains that are leaving
  uint64_t waiting_ = 0;    // bit per client: requests at the inputs
  uint64_t reads_ = 0;      // outstanding requests of train clients
  // Accepted bursts that have not ended, as of the last query: later starts and ends are not included.
  uint32_t outstanding_ = 0;
  Ring<Cycle> begins_, ends_;
};

}  // namespace vireo::model
