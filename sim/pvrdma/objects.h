// SPDX-License-Identifier: Apache-2.0
// The objects of one function, by handle. Those of protection domains are the NIC's numbers, those of regions its keys.
// Completion queues, queue pairs and shared receive queues have the lowest free handle, because drivers keep tables of
// as many entries as the function reports objects. A handle of another guest, or of a destroyed object, is in no table.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "host/verbs/completion_queue.h"
#include "host/verbs/protection_domain.h"
#include "host/verbs/queue_pair.h"
#include "host/verbs/shared_receive_queue.h"
#include "sim/pvrdma/guest_memory.h"
#include "sim/pvrdma/nic.h"
#include "sim/pvrdma/ring.h"

namespace vireo::sim::pvrdma {

// Pages of a ring: the first one has the indices, the entries begin in the next one.
inline constexpr uint64_t kFirstEntry = kPageBytes;

// The objects made by one process of the guest, and its doorbell page; context 0 is the guest's kernel. The handle is
// the page's number.
inline constexpr uint32_t kKernelContext = 0;
struct Context {
  uint32_t objects = 0;  // protection domains and completion queues
};

struct Pd {
  std::shared_ptr<verbs::ProtectionDomain> pd;
  uint32_t context = kKernelContext;
  uint32_t objects = 0;  // memory regions, queue pairs and shared receive queues
};

struct Mr {
  GuestPages pages;  // released after the region
  std::shared_ptr<verbs::MemoryRegion> region;
  uint32_t pd = 0;
};

struct Cq {
  GuestPages pages;
  std::unique_ptr<NicVector> vector;  // may be null; given back after the queue
  std::shared_ptr<verbs::CompletionQueue> queue;
  uint32_t context = kKernelContext;
  uint32_t objects = 0;  // uses by queue pairs
  RingEnd ring{};
  // kSolicited: the NIC interrupts at a solicited completion. kReceived: at any received message, in its place.
  enum class Arm : uint8_t { kOff, kSolicited, kReceived, kAny } arm = Arm::kOff;
  bool must_notify = false;  // not yet in the notification ring
  bool is_reported = false;  // that the ring has stopped
  std::deque<Cqe> own{};     // of a queue pair 1, not yet in the ring
};

// A work queue's ring: entries of one size.
struct WorkRing {
  RingEnd ring{};
  uint64_t first = 0;  // offset of entry 0
  uint32_t entry_bytes = 0;
  uint32_t max_sge = 0;
  uint64_t next() const { return first + uint64_t{ring.slot()} * entry_bytes; }
};

// A shared receive queue.
struct Srq {
  GuestPages pages;  // released after the queue
  std::shared_ptr<verbs::SharedReceiveQueue> queue;
  uint32_t pd = 0;
  uint32_t objects = 0;  // queue pairs that use it
  WorkRing recv{};
  bool is_reported = false;   // that the ring has stopped
  bool is_limit_due = false;  // the NIC reported the limit: to be confirmed
};

// What a datagram says of its path.
using AddressKey = std::array<uint8_t, sizeof(AddressVector)>;

struct Qp {
  GuestPages pages;
  std::shared_ptr<verbs::QueuePair> qp;
  uint32_t pd = 0, send_cq = 0, recv_cq = 0;
  std::optional<uint32_t> srq{};  // its receives come from this one: `recv` is not used
  uint32_t max_send_wr = 0;
  spec::IbQpState state = spec::IbQpState::kReset;  // that the guest asked for
  WorkRing send{}, recv{};
  bool is_reported = false;
  std::optional<uint32_t> gid{};  // of its path, the guest's index
  // Datagrams carry their path; the NIC wants a handle for each. Those made so far, valid for one version of the GID
  // directory.
  std::map<AddressKey, std::shared_ptr<verbs::AddressHandle>> handles{};
  uint64_t handles_version = 0;
};

// Queue pair 1, which has no counterpart in the NIC, and the handle 0 in the table of queue pairs.
inline constexpr uint32_t kGsiHandle = 0, kFirstQpHandle = 1;
struct GsiQp {
  GuestPages pages;
  uint32_t pd = 0, send_cq = 0, recv_cq = 0;
  spec::IbQpState state = spec::IbQpState::kReset;
  WorkRing send{}, recv{};
  bool signal_all = false;
  bool is_reported = false;
  std::deque<std::vector<uint8_t>> received{};  // not yet in the guest's memory
};

struct Objects {
  std::map<uint32_t, Context> contexts{};
  std::map<uint32_t, Pd> pds{};
  std::map<uint32_t, Mr> mrs{};
  std::map<uint32_t, Cq> cqs{};
  std::map<uint32_t, Srq> srqs{};
  std::map<uint32_t, Qp> qps{};
  std::unordered_map<uint32_t, uint32_t> qp_handles{};  // by the NIC's number
  std::optional<GsiQp> gsi{};
  std::map<uint32_t, uint32_t> dma_regions{};  // all of the guest's memory, for queue pair 1 only: the PD, by key
  std::map<uint32_t, uint16_t> gids{};         // the NIC's index, by the guest's

  // What it has of the NIC.
  verbs::Quota Count() const {
    verbs::Quota count{.pds = Size(pds),
                       .mrs = Size(mrs),
                       .cqs = Size(cqs),
                       .qps = Size(qps) + Size(srqs),
                       .srqs = Size(srqs),
                       .gids = Size(gids)};
    for (const auto& [handle, mr] : mrs) count.pages += Size(mr.pages.device_addresses());
    for (const auto& [handle, qp] : qps) count.ahs += Size(qp.handles);
    return count;
  }

  // Users before what they use.
  void Clear() {
    qps.clear();
    qp_handles.clear();
    gsi.reset();
    srqs.clear();
    cqs.clear();
    mrs.clear();
    dma_regions.clear();
    pds.clear();
    contexts.clear();
  }

 private:
  static uint32_t Size(const auto& objects) { return static_cast<uint32_t>(objects.size()); }
};

// The lowest handle, from `first` on, that no object has.
template <typename T>
uint32_t FreeHandle(const std::map<uint32_t, T>& objects, uint32_t first = 0) {
  for (const auto& [handle, object] : objects) {
    if (handle != first) break;
    ++first;
  }
  return first;
}

template <typename T>
T* Find(std::map<uint32_t, T>& objects, uint32_t handle) {
  const auto found = objects.find(handle);
  return found == objects.end() ? nullptr : &found->second;
}

}  // namespace vireo::sim::pvrdma
