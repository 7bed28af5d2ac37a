// SPDX-License-Identifier: Apache-2.0
// Splits a DMA request into AXI4 bursts, with timing: the counterpart of rtl/dma/vireo_dma_split.sv, and of the
// definitions of vireo_dma_pkg that model and RTL share.
#pragma once

#include <algorithm>
#include <cstdint>

#include "model/common/cycle.h"
#include "model/common/fifo.h"
#include "model/common/ring.h"
#include "model/common/wide_slice.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::model {

// Response of an AXI4 read beat or write burst. kExokay is an error here: Vireo makes no exclusive accesses.
enum class AxiResp : uint8_t { kOkay = 0, kExokay = 1, kSlverr = 2, kDecerr = 3 };

// Depth of the queues at the end of the shift pipelines.
inline constexpr size_t kStreamDepth = 8;

// No burst crosses a multiple of this many bytes or is longer: the maximum size, at most 256 beats and 4 KiB. Reserved
// codes count as the smallest size.
uint32_t BurstLimit(spec::PcieSize max_size, uint32_t beat_bytes);

// Beats of the bus that hold `bytes` bytes from `address` on.
constexpr uint32_t BusBeats(uint64_t address, uint32_t bytes, uint32_t beat_bytes) {
  return (static_cast<uint32_t>(address % beat_bytes) + bytes + beat_bytes - 1) / beat_bytes;
}

class DmaSplit {
 public:
  struct Burst {
    uint64_t address;
    uint32_t bytes;
    uint32_t beats;
    bool first;  // of its request
    bool last;
  };

  explicit DmaSplit(uint32_t beat_bytes)
      : beat_bytes_(beat_bytes),
        requests_timing_(WideTiming(size_t{8} * beat_bytes)),
        bursts_timing_(WideTiming(size_t{8} * beat_bytes)) {}

  Cycle RequestReady() const { return requests_timing_.PushReady(); }
  void OnRequest(Cycle cycle, uint64_t address, uint32_t bytes, spec::PcieSize max_size);

  // Cuts the next burst if its cycle is known. True: it did.
  bool Advance() {
    const Cycle cycle = std::max(requests_timing_.PopReady(), bursts_timing_.PushReady());
    if (cycle == kUnknown) return false;
    Cut(cycle);
    return true;
  }

  // The oldest burst that was not accepted is visible from this cycle on; kUnknown if there is none.
  Cycle BurstCycle() const { return bursts_timing_.PopReady(); }
  const Burst& burst() const { return bursts_.front(); }
  void TakeBurst(Cycle cycle);

 private:
  void Cut(Cycle cycle);

  struct Request {
    uint64_t address;  // of the rest of the request
    uint32_t bytes;
    uint32_t limit;
    bool started;
  };

  uint32_t beat_bytes_;
  FifoTiming requests_timing_;
  Ring<Request> requests_;
  FifoTiming bursts_timing_;
  Ring<Burst> bursts_;
};

}  // namespace vireo::model
