// SPDX-License-Identifier: Apache-2.0
// A PVRDMA function for one guest, at a vfio-user socket. When the client disconnects, for any reason, all its objects
// are destroyed and its memory is released.
#pragma once

#include <memory>
#include <string>

#include "sim/pvrdma/device.h"
#include "sim/pvrdma/function.h"
#include "sim/vfio_user/server.h"

namespace vireo::sim::pvrdma {

// The memory of a vfio-user client as a guest's. Memory that the device may only read, or that has no file, is
// acknowledged but is none of the guest's memory for the function: firmware images, which QEMU maps too.
class GuestWindows final : public DmaWindows {
 public:
  explicit GuestWindows(GuestMemory& memory) : memory_(memory) {}
  bool Map(uint64_t address, std::span<uint8_t> memory, Permission permission) override {
    return permission != Permission::kReadWrite || memory_.Map(address, memory);
  }
  bool MapExternal(uint64_t, uint64_t, std::unique_ptr<MemoryBackend>, Permission) override { return true; }
  void Remove(uint64_t address) override { memory_.Unmap(address); }
  void OnDmaRead(std::function<bool(uint64_t address, uint32_t bytes)>) override {}
  size_t WritesInFlight() const override { return 0; }

 private:
  GuestMemory& memory_;
};

class Guest {
 public:
  // Both outlive it. `quota`: the most that it may have of the NIC. Errors as VfioUserServer::Listen.
  static host::Result<std::unique_ptr<Guest>> Listen(service::EventLoop& loop, Nic& nic, const std::string& path,
                                                     const verbs::Quota& quota = verbs::Unlimited());
  Guest(const Guest&) = delete;
  Guest& operator=(const Guest&) = delete;

  // Call after every round of the loop and every slice of the simulation. May run the simulation.
  void Progress();
  // Work is pending that no descriptor signals.
  bool has_work() const { return server_->has_work(); }
  void OnEvent(const host::DeviceEvent& event) { device_.OnEvent(event); }
  // What it has of the NIC.
  const Objects& objects() const { return device_.objects(); }
  const verbs::Quota& quota() const { return device_.quota(); }

 private:
  Guest(Nic& nic, const verbs::Quota& quota)
      : memory_(nic.device().function()), device_(nic, memory_, quota), function_(device_, nic.device().function()) {}

  GuestMemory memory_;
  Device device_;
  Function function_;
  GuestWindows windows_{memory_};
  std::unique_ptr<VfioUserServer> server_;
};

}  // namespace vireo::sim::pvrdma
