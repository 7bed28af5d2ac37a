// SPDX-License-Identifier: Apache-2.0
// Work requests from the guest's rings to the NIC, completions back. A request is copied once and then checked.
#pragma once

#include <cstdint>
#include <utility>

#include "sim/pvrdma/nic.h"
#include "sim/pvrdma/objects.h"

namespace vireo::sim::pvrdma {

class DataPath {
 public:
  // Both outlive it.
  // `most_handles`: address handles of all queue pairs together.
  DataPath(Nic& nic, Objects& objects, uint32_t most_handles)
      : nic_(nic), objects_(objects), most_handles_(most_handles) {}

  // Moves requests, as many as the NIC has room for and the queue pair's state permits. May run the simulation.
  void MoveSends(Qp& qp);
  void MoveReceives(Qp& qp);
  void MoveReceives(Srq& srq);
  // Moves completions, the function's own before the NIC's, as many as the guest's ring has room for, and marks the
  // queue if it was armed for one of them.
  void MoveCompletions(Cq& cq);
  // For solicited completions, unless it is armed already. Call it after MoveCompletions().
  static void ArmSolicited(Cq& cq);
  // Releases the address handles of a datagram queue pair. False: a request that may name one is outstanding.
  bool ReleaseHandles(Qp& qp);

 private:
  enum class Posted : uint8_t { kYes, kLater };
  bool IsOffered(WrOpcode opcode) const;
  Posted PostSend(Qp& qp, const uint8_t* wqe);
  // To a verbs::QueuePair or verbs::SharedReceiveQueue.
  template <typename Queue>
  static Posted PostRecv(Queue& queue, const WorkRing& from, const uint8_t* wqe);
  // The handle for a datagram's path. Null: with kYes the path is invalid; with kLater old handles are still in use.
  std::pair<Posted, const verbs::AddressHandle*> HandleFor(Qp& qp, const AddressVector& vector);
  void Fail(Qp& qp);
  // There is room. `is_own`: of the function, not of the NIC.
  static void Complete(Cq& cq, const Cqe& cqe, bool is_own);

  // There is room for one more address handle, after queue pairs without requests have released theirs.
  bool HasRoomForHandle();

  Nic& nic_;
  Objects& objects_;
  const uint32_t most_handles_;
};

}  // namespace vireo::sim::pvrdma
