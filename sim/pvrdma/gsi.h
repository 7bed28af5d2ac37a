// SPDX-License-Identifier: Apache-2.0
// A guest's queue pair 1, for the management datagrams (MADs) of its kernel's connection manager. The NIC has one queue
// pair 1, which the service and the guests share (service::cm::Gsi): so this one has rings, but no queue pair of the
// NIC, and the function copies each datagram.
//
// A guest sends from its own GIDs, and receives what is sent to them. A request that is wrong completes with its error,
// and the later ones go on.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "host/service/cm/gsi.h"
#include "sim/pvrdma/guest_memory.h"
#include "sim/pvrdma/nic.h"
#include "sim/pvrdma/objects.h"
#include "sim/pvrdma/translate.h"

namespace vireo::sim::pvrdma {

class GuestGsi {
 public:
  // All outlive it.
  GuestGsi(Nic& nic, const GuestMemory& memory, Objects& objects) : nic_(nic), memory_(memory), objects_(objects) {}

  // A change of state and other attributes. An errno, or 0.
  int Modify(const ModifyQp& request);
  QpAttributes Query() const;
  // A received datagram; waits for Serve().
  void OnMad(const service::cm::Path& path, service::cm::MadView mad);
  // Sends, and delivers what has been received. Completions wait in their queues (Cq::own).
  void Serve();

 private:
  using Bytes = std::vector<uint8_t>;
  // A completion status of this ABI; 0: success.
  uint32_t Send(const SendWqe& wqe, const uint8_t* elements);
  uint32_t Place(const RecvWqe& wqe, const uint8_t* elements, const Bytes& datagram);
  // The places of a list of elements: none may be outside of the guest's memory.
  std::optional<std::vector<GuestMemory::Place>> Places(const uint8_t* elements, uint32_t count,
                                                        std::vector<uint32_t>& lengths) const;
  void Flush(WorkRing& ring, bool is_send);
  void Complete(uint32_t cq, const Cqe& cqe);
  bool HasRoom(uint32_t cq) const;

  Nic& nic_;
  const GuestMemory& memory_;
  Objects& objects_;
};

}  // namespace vireo::sim::pvrdma
