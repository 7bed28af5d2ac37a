// SPDX-License-Identifier: Apache-2.0
// The control processor in RTL (rtl/ctrl/vireo_control_processor.sv), Verilated: its ports, cycle by cycle.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "spec/gen/vireo_spec.h"

namespace vireo::sim {

class ProcessorRtl {
 public:
  // Why this build has none, for a person; empty if it has one. Then the functions below abort.
  static std::string WhyUnavailable();
  // The firmware's image, without settings; it belongs at kProcessorStackBytes of the memory.
  static const std::vector<uint8_t>& Image();

  // Out of reset, its memory unknown. It stands still until Start().
  ProcessorRtl();
  ~ProcessorRtl();
  ProcessorRtl(const ProcessorRtl&) = delete;
  ProcessorRtl& operator=(const ProcessorRtl&) = delete;

  // Writes a word of the memory, which takes a cycle: `address` is a multiple of 4 within it.
  void Load(uint32_t address, uint32_t value);
  void Start();

  // Outputs of the current cycle.
  struct Access {
    bool is_write;
    uint32_t offset;
    uint32_t value;
  };
  std::optional<Access> access() const;    // at the management port
  std::optional<char> console() const;     // a character is sent
  bool is_waiting() const;                 // nothing changes before the interrupt
  spec::ProcessorFailure failure() const;  // while it is stopped: why
  // Ends the current cycle, with these inputs: the answer of a register that was read, and the interrupt.
  void Clock(std::optional<uint32_t> answer = {}, bool interrupt = false);

 private:
  struct Class;
  std::unique_ptr<Class> class_;
};

}  // namespace vireo::sim
