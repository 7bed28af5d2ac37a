// SPDX-License-Identifier: Apache-2.0
// The reader of host memory and its clients: the counterpart of rtl/dma/vireo_dma_read_port.sv. Small clients ask by
// stream and get tokens; whole clients get trains. It checks no address, no right and no length.
//
// Unloaded, with t the cycle of a request's push, r that of the last beat of the bus, l = 1 if the train needs a step
// before its first beat (DmaReader::TrainSteps), n its beats:
//
//   burst visible:         t + kBurstLatency
//   train's first beat:    r + DmaReader::kTrainLatency + l
//   small answer visible:  r + kFetchedLatency + l + n - 1
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "model/common/agenda.h"
#include "model/common/arb_rr.h"
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
    size_t fetch_clients = 5;                   // small ones
    size_t fetch_depth = spec::kDmaFetchDepth;  // answers per small client; a power of two, 4 or more
    size_t read_clients = 1;                    // whole ones
  };

  static constexpr uint64_t kBurstLatency = 6;
  static constexpr uint64_t kFetchedLatency = 11;
  // A place for the answer of a small aligned read of one beat is taken for so long, beside the memory's latency, if
  // the answer is taken at once.
  static constexpr uint64_t kPlaceCycles = 17;

  DmaReadPort(Agenda& agenda, const Config& config);

  // Whose addresses others keep: never longer than they are made.
  std::vector<Channel<spec::DmaReadRequest>> fetch_request_in;  // per small client; 1 to kDmaFetchBytes bytes
  std::vector<Output<spec::DmaFetched>> fetched_out;            // per small client
  std::vector<Channel<spec::DmaReadRequest>> read_request_in;   // per whole client; 1 to kPcieRequestBoundary bytes
  Output<DmaReader::Burst> ar_out;                              // or nobody: then TakeBurst
  std::vector<TrainSink*> train_sink;                           // per whole client; must be there if it asks
  std::function<void(Cycle)> on_dma_error;  // a train that failed begins in this cycle; may be empty
  // Counts for requests that leave the arbiter; to be set before the blocks of a cycle run.
  spec::PcieSize max_read_request_size = spec::PcieSize::kBytes128;

  void Run(Cycle now) override;

  // For a bus whose arready is always 1: the oldest burst, which it takes in cycle reader().BurstCycle(), if that is
  // known; at any time up to then.
  DmaReader::Burst TakeBurst();

  // A beat of the bus, as DmaReader takes it. A burst's beats come after it was taken.
  void OnReadBeat(Cycle cycle, uint32_t id, std::span<const uint8_t> data, AxiResp resp, bool last);
  // Or more than a beat, as DmaReader takes it; the end as soon as its cycle is known.
  void OnReadData(uint32_t id, std::span<const uint8_t> data) { reader_.OnReadData(id, data); }
  void OnReadEnd(Cycle cycle, uint32_t id, AxiResp resp);

  // What idle_o and outstanding_o show in a cycle before anything of that cycle was told.
  bool IsIdle() const;
  uint32_t outstanding(Cycle now);
  const DmaReader& reader() const { return reader_; }

 private:
  // The answers of a small client, and its places for them.
  struct Answers {
    explicit Answers(size_t depth) : timing(FifoTiming::Fifo(depth)), places(depth) {}
    FifoTiming timing;
    Ring<spec::DmaFetched> tokens{};
    Credits places;
  };

  size_t whole() const { return fetch_request_in.size(); }  // index of the first whole client
  bool Admit(Cycle now, size_t client, Channel<spec::DmaReadRequest>& in);
  void TakeTrain(Cycle now);
  void EndRead(Cycle cycle);
  void Wake(Cycle now);

  const uint32_t beat_bytes_;
  DmaReader reader_;
  ArbRr arb_;
  std::vector<Ring<spec::DmaReadRequest>> requests_;  // per client: in the arbiter
  std::vector<Answers> answers_;                      // per small client
  uint64_t answering_ = 0;                            // those with answers, a bit for each
  Ring<Cycle> train_ends_;                            // last beats of whole clients' trains that are leaving
  uint64_t waiting_ = 0;                              // clients with requests at the inputs, a bit for each
  uint64_t reads_ = 0;                                // requests of whole clients under way
  // Bursts that are taken and have not ended, but for those beginnings and ends that are later than what was asked for.
  uint32_t outstanding_ = 0;
  Ring<Cycle> begins_, ends_;
};

}  // namespace vireo::model
