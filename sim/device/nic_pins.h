// SPDX-License-Identifier: Apache-2.0
// The pins of vireo_nic as C++ values, and the interface of a device behind them. Independent of Verilated classes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace vireo::sim {

inline constexpr size_t kMaxBeatBytes = 128;  // 1,024 bits, the maximum in configs.toml
using BeatData = std::array<uint8_t, kMaxBeatBytes>;
using BeatLanes = std::array<uint8_t, kMaxBeatBytes / 8>;  // one bit per byte

struct NicInputs {
  uint64_t time_ns = 0;
  bool bus_master = false, msix_enable = false, msix_mask = false;
  uint8_t max_payload_size = 0, max_read_request_size = 0;  // codes of spec::PcieSize
  bool mac_link = true;

  bool bar_valid = false, bar_write = false;
  uint8_t bar_index = 0, bar_bytes = 0;
  uint32_t bar_offset = 0;
  uint64_t bar_data = 0;

  bool csr_valid = false, csr_write = false;
  uint16_t csr_address = 0;
  uint32_t csr_data = 0;

  bool arready = true;
  bool rvalid = false, rlast = false;
  uint16_t rid = 0;
  uint8_t rresp = 0;
  BeatData rdata{};

  bool awready = false, wready = false, bvalid = false;
  uint8_t bresp = 0;

  bool tx_ready = false;
  bool rx_valid = false, rx_last = false, rx_error = false;
  BeatData rx_data{};
  BeatLanes rx_keep{};
};

struct NicOutputs {
  bool bar_read_valid = false;
  uint64_t bar_read_data = 0;
  bool csr_read_valid = false;
  uint32_t csr_read_data = 0;
  bool firmware_interrupt = false;

  bool arvalid = false;
  uint16_t arid = 0;
  uint64_t araddr = 0;
  uint8_t arlen = 0;
  uint32_t aruser = 0;

  bool awvalid = false;
  uint64_t awaddr = 0;
  uint8_t awlen = 0;
  uint32_t awuser = 0;
  bool wvalid = false, wlast = false;
  BeatData wdata{};
  BeatLanes wstrb{};

  bool msix_valid = false;
  uint16_t msix_vector = 0;

  bool tx_valid = false, tx_last = false;
  BeatData tx_data{};
  BeatLanes tx_keep{};

  bool idle = true;
  uint64_t deadline_ns = 0;  // 0 or all ones: none

  bool HasValid() const {
    return bar_read_valid || csr_read_valid || arvalid || awvalid || wvalid || msix_valid || tx_valid;
  }
  friend bool operator==(const NicOutputs&, const NicOutputs&) = default;
};

// A clocked device behind its pins. Outputs come from registers only: outputs() of a cycle are valid before its inputs
// are set.
class NicPins {
 public:
  virtual ~NicPins() = default;
  // Clock edges with reset asserted and all inputs idle; then reset is released.
  virtual void Reset(unsigned cycles) = 0;
  // One cycle with these inputs. False: an output depended combinationally on an input.
  virtual bool Clock(const NicInputs& inputs) = 0;
  virtual const NicOutputs& outputs() const = 0;  // of the next cycle

  // Writes a waveform of everything inside to this file from the next cycle on. False: not supported, or the file
  // cannot be created.
  virtual bool StartTrace(const std::string&) { return false; }
  virtual void StopTrace() {}  // closes the file
};

}  // namespace vireo::sim
