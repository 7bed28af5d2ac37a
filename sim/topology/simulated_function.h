// SPDX-License-Identifier: Apache-2.0
// The driver's PciFunction on a NIC of a simulation: a blocking call runs the simulation until the answer arrives.
//
// It acts as the host: it assigns BAR addresses and sets the device's payload and read request sizes for its link (as
// system software does before a driver starts), serves the window of virtio_pci_cfg, and owns the MSI-X table. Two of
// them on different stations of one topology are two hosts: while one waits, the other's interrupts are recorded.
//
// Only for the thread that runs the simulation, and never from a callback of it. (PciFunction allows doorbells from
// several threads; a simulation has one.)
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "host/driver/pci_function.h"
#include "sim/topology/topology.h"

namespace vireo::sim {

class SimulatedFunction final : public host::PciFunction {
 public:
  struct Options {
    // Simulated time that a Wait with an expired deadline advances, so that a polling loop ends.
    uint64_t progress_ns = 100;
    unsigned max_vectors = spec::kMsixVectorsMax;  // supported by this host
  };

  // Both outlive the function. It is the station's only user of OnMsix and of BAR accesses.
  SimulatedFunction(Scheduler& scheduler, Station& station);
  SimulatedFunction(Scheduler& scheduler, Station& station, const Options& options);
  ~SimulatedFunction() override;

  // Programs base addresses, and max payload and read request size for the station's link. The constructor calls it;
  // call it again after a hardware reset of the NIC. MSI-X is off afterwards.
  void Enumerate();

  // kLost after a BAR read was not answered within the link's completion timeout.
  host::Status health() const override;
  uint32_t ReadConfig(uint32_t offset, unsigned bytes) override;
  void WriteConfig(uint32_t offset, unsigned bytes, uint32_t value) override;
  uint64_t BarBytes(unsigned bar) const override;
  uint64_t ReadBar(unsigned bar, uint64_t offset, unsigned bytes) override;
  void WriteBar(unsigned bar, uint64_t offset, unsigned bytes, uint64_t value) override;
  host::Result<host::DmaBuffer> AllocateDma(size_t bytes, size_t alignment) override;
  host::Result<host::DmaBuffer> MapDma(uint8_t* memory, size_t bytes) override;
  host::Result<host::DmaBuffer> MapForeign(std::unique_ptr<host::ForeignMemory> memory, uint64_t like,
                                           size_t bytes) override;
  unsigned MsixVectors() const override { return vectors_; }
  // kRefused if the device does not accept the table or the enable bit.
  host::Status EnableMsix(unsigned count) override;
  bool TakeInterrupt(unsigned vector) override;
  uint64_t NowNs() override { return scheduler_.now() / kPicosecondsPerNanosecond; }
  void Wait(uint64_t deadline_ns) override;

  uint64_t messages() const { return messages_; }  // of enabled vectors

 private:
  class Memory;
  struct Window {                 // of virtio_pci_cfg, selected by its fields
    unsigned bar = 0, bytes = 0;  // 0: invalid selection
    uint32_t offset = 0;
  };

  uint32_t Config(uint32_t offset, unsigned bytes);
  uint32_t FindCapability(spec::PciCapabilityId id, int virtio_type = -1);
  Window ReadWindow();
  void OnMsix(uint16_t vector);

  Scheduler& scheduler_;
  Station& station_;
  const Options options_;
  std::vector<uint64_t> bar_bytes_;
  uint32_t window_at_ = 0;  // of its data in configuration space; 0: none
  uint32_t msix_at_ = 0;
  unsigned vectors_ = 0;
  unsigned enabled_ = 0;
  std::vector<bool> arrived_;  // by vector, not taken
  bool is_signaled_ = false;   // since the last Wait returned
  uint64_t messages_ = 0;
  std::string lost_;
};

}  // namespace vireo::sim
