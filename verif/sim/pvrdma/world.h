// SPDX-License-Identifier: Apache-2.0
// Guests with PVRDMA functions in this process, on the NICs of a simulation.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/pvrdma/device.h"
#include "sim/pvrdma/function.h"
#include "sim/pvrdma/nic.h"
#include "sim/topology/rdma_system.h"
#include "verif/sim/pvrdma/driver.h"

namespace vireo::sim::pvrdma {

// A PVRDMA function whose guest is this process: DMA memory is allocated here and is the guest's memory.
class LocalGuest final : public host::PciFunction {
 public:
  explicit LocalGuest(Nic& nic, const verbs::Quota& quota = verbs::Unlimited());
  ~LocalGuest() override = default;

  Device& device() { return device_; }
  GuestMemory& memory() { return memory_; }
  Function& pci() { return function_; }
  // The next allocation is this far from the previous one.
  static constexpr uint64_t kGapBytes = kPageBytes;

  host::Status health() const override { return {}; }
  uint32_t ReadConfig(uint32_t offset, unsigned bytes) override { return function_.ReadConfig(offset, bytes); }
  void WriteConfig(uint32_t offset, unsigned bytes, uint32_t value) override {
    function_.WriteConfig(offset, bytes, value);
  }
  uint64_t BarBytes(unsigned bar) const override { return function_.BarBytes(bar); }
  uint64_t ReadBar(unsigned bar, uint64_t offset, unsigned bytes) override {
    return function_.ReadBar(bar, offset, bytes);
  }
  void WriteBar(unsigned bar, uint64_t offset, unsigned bytes, uint64_t value) override {
    function_.WriteBar(bar, offset, bytes, value);
  }
  host::Result<host::DmaBuffer> AllocateDma(size_t bytes, size_t alignment) override;
  host::Result<host::DmaBuffer> MapDma(uint8_t* memory, size_t bytes) override;
  unsigned MsixVectors() const override { return function_.MsixVectors(); }
  host::Status EnableMsix(unsigned count) override { return function_.EnableMsix(count); }
  bool TakeInterrupt(unsigned vector) override { return function_.TakeInterrupt(vector); }
  uint64_t NowNs() override { return function_.NowNs(); }
  // All guests of the world make progress.
  void Wait(uint64_t deadline_ns) override;

 private:
  friend class World;
  class Pages;

  GuestMemory memory_;
  Device device_;
  Function function_;
  uint64_t next_ = 0x1'0000'0000 - 0x8000;  // around the end of 32-bit addresses
  std::function<void()> progress_;          // of the world
};

// NICs on a switch, with guests.
class World {
 public:
  struct Options {
    std::string device = "model";
    const spec::Config* config = &spec::kNic100;
    spec::Profile profile = spec::Profile{spec::kProfileDefault};
    std::vector<size_t> guests = {0, 1};    // the NIC of each
    std::vector<verbs::Quota> quotas = {};  // of each; missing: all that the NIC has
    bool is_monitored = true;
    bool is_traced = true;  // see TopologyParameters
    uint16_t vectors = 16;  // of each NIC, for completion queues
    Cycle firmware_access_cycles = RdmaSystemOptions{}.firmware_access_cycles;
    bool has_gsi = false;  // guests have a queue pair 1, as with a service
  };
  explicit World(const Options& options);
  ~World();

  LocalGuest& guest(size_t number) { return *guests_[number]; }
  Driver& driver(size_t number) { return *drivers_[number]; }
  // A GID of this guest: an IPv4 address.
  static std::array<uint8_t, 16> GidOf(size_t number, uint8_t which = 0);
  RdmaSystem& system() { return *system_; }
  Nic& nic(size_t number) { return *nics_[number]; }
  service::cm::Gsi& gsi(size_t nic) { return *gsis_[nic]; }
  GidDirectory& directory() { return directory_; }
  // Starts every driver and binds GidOf(n) as GID 0.
  void Start();

 private:
  void DrainEvents(size_t nic);
  void Progress();
  std::unique_ptr<service::cm::Gsi> OpenGsi(size_t nic);

  std::unique_ptr<RdmaSystem> system_;
  GidDirectory directory_;
  std::vector<std::unique_ptr<service::cm::Gsi>> gsis_;  // of the NICs; empty: none
  std::vector<std::unique_ptr<Nic>> nics_;
  std::vector<std::unique_ptr<LocalGuest>> guests_;
  std::vector<std::unique_ptr<Driver>> drivers_;
  std::vector<size_t> nic_of_;
};

}  // namespace vireo::sim::pvrdma
