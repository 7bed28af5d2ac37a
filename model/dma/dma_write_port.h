// SPDX-License-Identifier: Apache-2.0
// The writer of host memory and its clients: the counterpart of rtl/dma/vireo_dma_write_port.sv. Store clients send a
// small write as one token, train clients a train of beats. It checks no address, right or length.
//
// Unloaded, with t the cycle in which a small write, or the first beat of a train without pauses, was pushed, and n its
// beats:
//
//   accepted:       t + kAcceptedLatency + n - 1
//   burst visible:  t + kBurstLatency, but not before accepted + DmaWriter::kTrainLatency
//   done:           last response + DmaWriter::kDoneLatency
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "model/common/agenda.h"
#include "model/common/arb_rr.h"
#include "model/common/channel.h"
#include "model/common/cycle.h"
#include "model/common/fifo.h"
#include "model/common/ring.h"
#include "model/dma/dma_writer.h"
#include "model/dma/write_beat.h"
#include "model/dma/write_stream.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::model {

class DmaWritePort final : public Block {
 public:
  struct Config {
    DmaWriter::Config writer{};
    size_t store_clients = 2;  // small writes
    size_t write_clients = 1;  // trains
  };

  using WriteBeat = model::WriteBeat;  // of a train client
  using OnDone = std::function<void(Cycle, const spec::DmaDone&)>;

  static constexpr uint64_t kAcceptedLatency = 3;
  static constexpr uint64_t kBurstLatency = 8;
  static constexpr size_t kRequestDepth = 8;  // requests between the arbiter and the writer

  DmaWritePort(Agenda& agenda, const Config& config);

  // Fixed sizes: others keep the addresses of the elements.
  std::vector<Channel<spec::DmaStore>> store_in;  // per store client; 1 to kDmaFetchBytes bytes
  std::vector<Channel<WriteBeat>> write_in;       // per train client
  Output<DmaWriter::Burst> aw_out;                // or unconnected: then TakeBurst
  // Called in the cycle of the pulse; may be empty.
  std::vector<OnDone> on_done;        // per store client
  std::vector<OnDone> on_write_done;  // per train client
  // Per train client; may be reported ahead.
  std::vector<std::function<void(Cycle)>> on_accepted;
  // Per train client: source of the rest of a train without back-pressure, taken at once. Null: beat by beat.
  std::vector<BeatSource*> beat_source;
  std::function<void(Cycle)> on_dma_error;
  // Applies to requests that enter the writer; to be set before the blocks of a cycle run.
  spec::PcieSize max_payload_size = spec::PcieSize::kBytes128;

  void Run(Cycle now) override;

  // For a bus that knows in advance in which cycle it accepts the oldest burst, writer().burst(); not before
  // writer().BurstCycle(). It must be ready for the beats from the next cycle on; they are writer().burst_data(), which
  // is to be read before this call. Returns the cycle of the last one.
  Cycle TakeBurst(Cycle cycle);

  // The beats of the bus are writer().write_beat(), from writer().WriteCycle() on. Reports in cycle `now` that the bus
  // accepts one.
  void OnWriteBeatTaken(Cycle now);
  // For a bus that is always ready from cycle `from` on: it accepts all beats of a burst at once,
  // writer().burst_data(). Returns the cycle of the last one.
  Cycle TakeBurstData(Cycle now, Cycle from);

  // Responses come in the order of the bursts, each after its burst's last beat was accepted; reported in their cycle
  // or before.
  void OnAnswer(Cycle cycle, AxiResp resp);
  // Changes the last response, reported ahead, in its cycle.
  void AmendAnswer(AxiResp resp) { writer_.AmendAnswer(resp); }

  // idle_o in a cycle before any input of that cycle was reported.
  bool IsIdle() const;
  const DmaWriter& writer() const { return writer_; }

 private:
  size_t fetch_count() const { return store_in.size(); }  // index of the first train client
  bool IntoArbiter(Cycle now);
  bool OutOfArbiter(Cycle now);
  bool TakeRest(Cycle now, size_t client);
  bool IntoWriter(Cycle now);
  void Wake(Cycle now);

  const uint32_t beat_bytes_;
  DmaWriter writer_;
  ArbRr arb_;
  std::vector<Ring<WriteBeat>> beats_;  // per client: in the arbiter
  std::vector<uint32_t> part_;          // per store client: the token's next beat
  std::vector<size_t> write_beats_;     // per train client: beats of its current train that have entered the arbiter
  uint32_t bytes_left_ = 0;             // of the transaction that leaves the arbiter; 0: its first beat is next
  FifoTiming requests_timing_ = FifoTiming::Fifo(kRequestDepth);
  Ring<DmaWriter::Request> requests_;  // between the arbiter and the writer
  uint64_t waiting_ = 0;               // bit per client: tokens at the inputs
  std::vector<uint64_t> writes_;       // per client: outstanding transactions
};

}  // namespace vireo::model
