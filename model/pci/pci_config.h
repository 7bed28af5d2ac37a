// SPDX-License-Identifier: Apache-2.0
// The configuration space of the function, the same for every simulated device: header, the capabilities where
// spec/pci.toml places them, BAR sizing, and the registers that the device obeys. On a board the PCI Express hard block
// does this; a device takes from here what such a block would give it as wires.
//
// Not here: extended capabilities (reads above spec::kPciConfigBytes give 0), function-level reset (not announced), the
// data window of virtio_pci_cfg (who drives the accesses serves it; here it reads 0), and error reporting.
#pragma once

#include <array>
#include <cstdint>

#include "spec/gen/vireo_spec.h"

namespace vireo::model {

class PciConfig {
 public:
  struct Options {
    uint32_t msix_vectors = spec::kMsixVectorsMax;  // 1 to that
    // What the device can do; what the host allows it comes from device control.
    spec::PcieSize max_payload_size = spec::PcieSize::kBytes4096;
    spec::PcieLinkSpeed link_speed = spec::PcieLinkSpeed::kGen3;
    uint8_t link_width = 16;
  };

  // What a device sees of it.
  struct Controls {
    bool memory_space = false;
    bool bus_master = false;
    bool msix_enable = false;
    bool msix_mask = false;  // of the function
    spec::PcieSize max_payload_size = spec::PcieSize::kBytes128;
    spec::PcieSize max_read_request_size = spec::PcieSize::kBytes512;
    friend bool operator==(const Controls&, const Controls&) = default;
  };

  PciConfig() : PciConfig(Options{}) {}
  explicit PciConfig(const Options& options);

  void Reset();

  // `bytes` is 1, 2 or 4, `offset` below spec::kPcieConfigBytes. Bits that nobody can write keep their value.
  uint32_t Read(uint16_t offset, unsigned bytes) const;
  void Write(uint16_t offset, unsigned bytes, uint32_t value);

  Controls controls() const;

  // Bytes of the BAR that begins at this register; 0: none does.
  static uint64_t BarBytes(unsigned bar);

 private:
  using Image = std::array<uint8_t, spec::kPciConfigBytes>;

  Image reset_{};     // after a reset
  Image writable_{};  // bits that a write sets and clears
  Image bytes_{};
};

}  // namespace vireo::model
