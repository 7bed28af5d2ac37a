// SPDX-License-Identifier: Apache-2.0
// A host of the example: a processor that runs a program natively, memory, and a root port with one NIC. Implements
// PciFunction for Vireo's driver; every access is a TLM transaction.
//
// The program runs in a SystemC thread and may call the driver and verbs only there.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "host/driver/pci_function.h"
#include "platform/systemc.h"

namespace vireo::examples {

class Host final : public sc_core::sc_module, public host::PciFunction {
 public:
  explicit Host(const sc_core::sc_module_name& name);
  VIREO_SC_MODULE(Host)

  // Initiators to the NIC; target for the NIC's DMA and MSI-X messages.
  tlm_utils::simple_initiator_socket<Host> config_socket, memory_socket;
  tlm_utils::simple_target_socket<Host> dma_socket;

  std::function<void()> program;  // set it before the simulation starts

  // --- host::PciFunction
  host::Status health() const override;
  uint32_t ReadConfig(uint32_t offset, unsigned bytes) override;
  void WriteConfig(uint32_t offset, unsigned bytes, uint32_t value) override;
  uint64_t BarBytes(unsigned bar) const override { return bar_bytes_[bar]; }
  uint64_t ReadBar(unsigned bar, uint64_t offset, unsigned bytes) override;
  void WriteBar(unsigned bar, uint64_t offset, unsigned bytes, uint64_t value) override;
  host::Result<host::DmaBuffer> AllocateDma(size_t bytes, size_t alignment) override;
  host::Result<host::DmaBuffer> MapDma(uint8_t* memory, size_t bytes) override;
  unsigned MsixVectors() const override { return static_cast<unsigned>(arrived_.size()); }
  host::Status EnableMsix(unsigned count) override;
  bool TakeInterrupt(unsigned vector) override;
  uint64_t NowNs() override;
  void Wait(uint64_t deadline_ns) override;

 private:
  class Memory;

  void Run();
  void Enumerate();
  void ServeDma(tlm::tlm_generic_payload& transaction, sc_core::sc_time& delay);
  template <typename Socket>
  uint64_t Access(Socket& socket, bool write, uint64_t address, unsigned bytes, uint64_t value);

  std::vector<uint8_t> memory_;
  std::map<size_t, size_t> allocated_;  // offset in memory -> bytes
  std::vector<uint64_t> bar_bytes_;
  std::vector<bool> arrived_;  // by vector
  bool is_signaled_ = false;
  sc_core::sc_event message_;
  std::string lost_;
};

}  // namespace vireo::examples
