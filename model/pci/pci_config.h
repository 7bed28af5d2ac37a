// SPDX-License-Identifier: Apache-2.0
// The configuration space of the function, the same for every simulated device: header, capabilities as placed by
// spec/pci.toml, BAR sizing, and the registers that control the device. On a board the PCI Express hard block
// implements this; the class provides the outputs of such a block.
//
// Not implemented: extended capabilities (reads above spec::kPciConfigBytes return 0), function-level reset (not
// announced), the data window of virtio_pci_cfg (implemented where accesses are issued; here it reads 0), and error
// reporting.
#pragma once

#include <array>
#include <cstdint>

#include "spec/gen/vireo_spec.h"

namespace vireo::model {

class PciConfig {
 public:
  struct Options {
    uint32_t msix_vectors = spec::kMsixVectorsMax;  // 1 to that
    // The device's capabilities; device control sets what the host permits.
    spec::PcieSize max_payload_size = spec::PcieSize::kBytes4096;
    spec::PcieLinkSpeed link_speed = spec::PcieLinkSpeed::kGen3;
    uint8_t link_width = 16;
  };

  // The controls for the device.
  struct Controls {
    bool memory_space = false;
    bool bus_master = false;
    bool msix_enable = false;
    bool msix_mask = false;  // function mask
    spec::PcieSize max_payload_size = spec::PcieSize::kBytes128;
    spec::PcieSize max_read_request_size = spec::PcieSize::kBytes512;
    friend bool operator==(const Controls&, const Controls&) = default;
  };

  PciConfig() : PciConfig(Options{}) {}
  explicit PciConfig(const Options& options);
  // Of a device of this configuration: announces no more vectors than it has.
  PciConfig(Options options, const spec::Config& config);

  void Reset();

  // `bytes` is 1, 2 or 4, `offset` below spec::kPcieConfigBytes. Writes do not change read-only bits.
  uint32_t Read(uint16_t offset, unsigned bytes) const;
  void Write(uint16_t offset, unsigned bytes, uint32_t value);

  Controls controls() const;

  // Size of the BAR that begins at this register; 0: none.
  static uint64_t BarBytes(unsigned bar);

 private:
  using Image = std::array<uint8_t, spec::kPciConfigBytes>;

  Image reset_{};     // after a reset
  Image writable_{};  // bits that a write sets and clears
  Image bytes_{};
};

}  // namespace vireo::model
