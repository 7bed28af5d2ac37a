// SPDX-License-Identifier: Apache-2.0
// A PVRDMA device: registers, shared region, doorbells, events. Its work takes no simulated time; what it asks of the
// NIC does. The guest is not trusted: what it does wrong ends in an error number, a stopped ring of its own, or
// nothing.
//
// One thread: that of the simulation, and not from within it.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>

#include "sim/pvrdma/commands.h"
#include "sim/pvrdma/data_path.h"
#include "sim/pvrdma/gsi.h"
#include "sim/pvrdma/guest_memory.h"
#include "sim/pvrdma/nic.h"
#include "sim/pvrdma/objects.h"

namespace vireo::sim::pvrdma {

class Device {
 public:
  // Both outlive it. It is the only user of GuestMemory::OnUnmap: a guest that takes memory away that the device uses
  // resets the device. `quota`: the most that it may have of the NIC.
  Device(Nic& nic, GuestMemory& memory, const verbs::Quota& quota = verbs::Unlimited());
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  // Registers of BAR 1; `offset` is a multiple of 4. Writes may run the simulation.
  uint32_t ReadRegister(uint32_t offset);
  void WriteRegister(uint32_t offset, uint32_t value);
  // A write to doorbell page `page`. May run the simulation.
  void WriteDoorbell(uint32_t page, uint32_t offset, uint32_t value);

  // Moves completions and notifications, and requests that waited for room. Call it after activity of the NIC.
  void Progress();
  // An event of the NIC; those of other owners' objects are ignored.
  void OnEvent(const host::DeviceEvent& event);
  // To the state after power-on, without objects.
  void Reset();

  // An interrupt since the last call that returned true.
  bool TakeInterrupt(unsigned vector);

  const Objects& objects() const { return objects_; }
  const verbs::Quota& quota() const { return quota_; }

 private:
  // A ring of the shared region, to the guest.
  struct EventRing {
    GuestPages pages;
    RingEnd ring;
  };
  struct Region {
    GuestMemory::Place shared, command, response;
    EventRing events, notifications;
  };

  int SetSharedRegion();
  int Control(uint32_t value);
  int Request();
  std::optional<EventRing> MakeRing(const RingPages& pages, uint32_t entry_bytes) const;
  // False: no room.
  template <typename T>
  bool Push(EventRing& to, const T& entry);
  void ServeGsi();
  void ServeQp(uint32_t handle, Qp& qp);
  void ServeSrq(uint32_t handle, Srq& srq);
  void ServeCq(uint32_t handle, Cq& cq);
  void Report(EventType type, uint32_t info);
  // Pushes what waits for room in the two rings.
  void Flush();
  void Raise(Vector vector);

  Nic& nic_;
  GuestMemory& memory_;
  const verbs::Quota quota_;
  Objects objects_;
  DataPath data_path_;
  GuestGsi gsi_;
  Commands commands_;
  std::optional<Region> region_;
  bool is_active_ = false;
  uint32_t dsr_low_ = 0, dsr_high_ = 0, error_ = 0;
  uint32_t causes_ = 0, masked_ = ~uint32_t{0}, held_ = 0;  // interrupts, by vector: ICR, IMR, raised while masked
  std::array<bool, kVectors> arrived_{};
  std::deque<Event> events_;  // not yet in the rings
  std::deque<uint32_t> notifications_;
};

}  // namespace vireo::sim::pvrdma
