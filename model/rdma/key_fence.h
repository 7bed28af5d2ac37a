// SPDX-License-Identifier: Apache-2.0
// Orders changes of the table of memory regions against the accesses that were granted before: the counterpart of
// rtl/rdma/vireo_key_fence.sv. It counts granted accesses until they end, by side and generation; a next generation of
// a side begins when somebody waits for the current one and the one before has ended.
//
// Events are reported with their cycle; ends also ahead. Any method first makes the steps that are due, so the cycles
// of calls must not decrease, but for State and IsFencing: these may be one cycle ahead of the others.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/common/cycle.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::model {

class KeyFence {
 public:
  static constexpr size_t kSides = 2;

  // Pulses. A check is granted, as far as is known: its epoch.
  bool Take(Cycle now, spec::KeySide side);
  // It has ended, or granted nothing.
  void End(spec::KeySide side, bool epoch, Cycle at);
  // Somebody waits in cycle `at` for the generation that is current then.
  void Wait(spec::KeySide side, Cycle at);
  // IsFencing is for what was granted up to now.
  void Close(Cycle now);

  bool IsFencing(Cycle now);
  spec::KeyFence State(Cycle now);

 private:
  struct Side {
    // Accesses of an epoch: not ended as far as is known, and the known ends that may not have passed.
    struct Granted {
      size_t count = 0;
      Cycle last_end = 0;  // with `has_ended`
      bool has_ended = false;
    };
    std::array<Granted, 2> granted;  // by epoch
    uint32_t generation = 0;         // from the cycle after `advanced` on
    Cycle advanced = 0;
    bool has_advanced = false;
    std::vector<Cycle> waits;  // cycles, for the current generation or later ones

    // In cycle `now`, which is `advanced` or later.
    uint32_t At(Cycle now) const;
    bool IsOpen(Cycle now) const;
    void Advance(Cycle now);
    bool HasPassed(Cycle now, uint32_t ticket) const;
  };

  std::array<Side, kSides> sides_;
  // Generations to wait for, and when that was said: it counts from the next cycle on, the one before up to then.
  std::array<uint32_t, kSides> closing_{}, closed_{};
  bool closes_ = false, has_closed_ = false;
  Cycle close_ = 0;
};

// Whether the accesses that were granted up to generation `ticket` have ended.
inline bool HasPassed(uint8_t ticket, uint8_t generation, bool is_open) {
  const auto before = static_cast<uint8_t>((generation + spec::kKeyGenerations - 1) % spec::kKeyGenerations);
  return ticket != generation && !(is_open && ticket == before);
}

}  // namespace vireo::model
