// SPDX-License-Identifier: Apache-2.0
// Sends and receives management datagrams (MADs) on queue pair 1 of a NIC. MADs to one of the NIC's own GIDs are looped
// back in software, because the device does not loop back.
//
// A NIC has one queue pair 1, so others share this one: guests, each with GIDs of its own (Attach). A MAD goes to the
// receiver of its destination's GID.
//
// A datagram is dropped, and counted, if its destination's MAC address is unknown, more than kWaitingMax wait for a
// work request, or it is not a valid MAD: wrong length, not from QP 1, not to one of this NIC's GIDs.
//
// Not thread-safe. Call Poll() on the interrupt of `vector`, or periodically.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "host/service/cm/cm.h"
#include "host/verbs/completion_queue.h"
#include "host/verbs/device.h"
#include "host/verbs/protection_domain.h"
#include "host/verbs/queue_pair.h"

namespace vireo::service::cm {

class Gsi final : public MadTransport {
 public:
  struct LocalGid {
    uint8_t index = 0;
    Gid gid{};
  };
  struct Options {
    std::vector<LocalGid> gids;
    // The MAC address of the host with a GID, if there is one.
    std::function<std::optional<std::array<uint8_t, 6>>(const Gid&)> neighbors;
    std::optional<uint16_t> vector;  // for its completion queue
    uint32_t receives = 128;
    uint32_t sends = 32;
    size_t handles = 32;  // cached address handles
  };
  static constexpr size_t kWaitingMax = 1024;
  using Receiver = std::function<void(const Path&, MadView)>;

  // Takes QP 1 of the device. Must be destroyed before the device.
  static host::Result<std::unique_ptr<Gsi>> Create(const std::shared_ptr<verbs::Device>& device, Options options);
  ~Gsi() override;
  void SetReceiver(Receiver receiver) { receiver_ = std::move(receiver); }
  // Replaces Options::gids. An index may have another GID now.
  void SetGids(std::vector<LocalGid> gids);
  // Adds a GID with a receiver of its own. Its users send with its index as the path's. Not from within a receiver.
  void Attach(const LocalGid& gid, Receiver receiver);
  void Detach(const Gid& gid);

  void SendMad(const Path& path, MadView mad) override;
  // Delivers received MADs, sends waiting ones, and arms the next interrupt. An error is a fatal device error.
  host::Status Poll();
  // Looped-back MADs are pending, for which there is no interrupt: call Poll() again.
  bool IsPending() const { return !loop_.empty(); }
  uint64_t dropped() const { return dropped_; }
  const verbs::QueuePair& qp() const { return *qp_; }

 private:
  struct QueuedMad {
    Path path;
    Mad mad;
  };
  struct Attached {
    LocalGid gid;
    Receiver receiver;
  };
  using Mac = std::array<uint8_t, 6>;
  using HandleKey = std::tuple<uint8_t, Gid, Mac, uint8_t, uint8_t, uint32_t>;  // all attributes of a handle
  explicit Gsi(Options options) : options_(std::move(options)) {}
  host::Status Open(const std::shared_ptr<verbs::Device>& device);
  host::Status Receive(uint32_t slot);
  std::shared_ptr<verbs::AddressHandle> Handle(const Path& path);
  void Post(const QueuedMad& what);
  void Deliver(uint32_t slot, const spec::RdmaCqReq& completion);
  // Of this GID, and who receives its MADs; null: not one of this NIC's.
  std::pair<const LocalGid*, const Receiver*> FindOwn(const Gid& gid) const;

  Options options_;
  Receiver receiver_;
  std::vector<Attached> attached_;
  std::shared_ptr<verbs::ProtectionDomain> pd_;
  std::shared_ptr<verbs::CompletionQueue> cq_;
  host::DmaBuffer memory_;
  std::shared_ptr<verbs::MemoryRegion> region_;
  std::map<HandleKey, std::shared_ptr<verbs::AddressHandle>> handles_;
  std::vector<std::shared_ptr<verbs::AddressHandle>> used_;  // by send slot, while the send is outstanding
  std::vector<uint32_t> free_sends_;
  std::deque<QueuedMad> waiting_, loop_;
  uint64_t dropped_ = 0;
  std::shared_ptr<verbs::QueuePair> qp_;  // destroyed first
};

}  // namespace vireo::service::cm
