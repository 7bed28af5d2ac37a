// SPDX-License-Identifier: Apache-2.0
// One vfio-user client of a PCI function. Serves its commands one by one in order. An invalid command gets an error
// reply; an invalid message stream ends the connection. Neither affects later clients or other NICs.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "host/driver/pci_function.h"
#include "host/service/event_loop.h"
#include "sim/vfio_user/channel.h"
#include "sim/vfio_user/guest_memory.h"
#include "sim/vfio_user/interrupts.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::sim {

// The function offered to clients.
struct VfioUserPort {
  host::PciFunction& function;
  DmaWindows& memory;  // that the function accesses
  // Resets to the state after power-on, ready for a driver. Runs the simulation.
  std::function<void()> reset;
  // Timeout of a client's reply to a DMA message. Simulated time of all NICs stops meanwhile.
  int timeout_ms = 10'000;
  // Virtio feature bits that clients do not see, 32 to a word, so that their driver works without them.
  std::array<uint32_t, spec::kVirtioFeatureBits / 32> hidden_features{};
};

class VfioUserConnection final : private VfioUserMemory::Peer {
 public:
  // Most bytes of one region access, as announced by the server.
  static constexpr uint32_t kMaxAccess = 4096;

  VfioUserConnection(service::EventLoop& loop, const VfioUserPort& port, host::FileDescriptor socket);
  ~VfioUserConnection();
  VfioUserConnection(const VfioUserConnection&) = delete;
  VfioUserConnection& operator=(const VfioUserConnection&) = delete;

  // The owner must destroy it, but not from within the simulation.
  bool is_over() const { return main_.is_over() || (twin_.has_value() && twin_->is_over()); }
  bool is_negotiated() const { return is_negotiated_; }
  // The client has closed its end, even if that has not been read yet.
  bool IsHungUp() const;
  // Work is pending that no descriptor signals.
  bool has_work() const { return is_over() || !commands_.empty() || main_.has_kept() || (twin_ && twin_->has_kept()); }
  // Call in every round, not from within the simulation; may run the simulation.
  void Progress();

 private:
  struct Answer {
    uint32_t error = 0;
    std::vector<uint8_t> payload{};
    host::FileDescriptor fd{};
  };
  using Message = host::vfio_user::Message;

  void ReadMain();
  void ReadTwin();
  void OnMessage(Message message);
  void ServeCommands();
  Answer Serve(Message& message);
  Answer Negotiate(const Message& message);
  Answer GetInfo(const Message& message) const;
  Answer GetRegionInfo(const Message& message) const;
  Answer GetIrqInfo(const Message& message) const;
  Answer ReadRegion(const Message& message);
  Answer WriteRegion(const Message& message);
  Answer WriteMulti(const Message& message);
  uint64_t RegionBytes(uint32_t region) const;
  bool IsInside(const host::vfio_user::RegionAccess& access) const;
  // A value read from the function, without the hidden features.
  uint64_t Shown(uint32_t region, uint64_t at, uint32_t bytes, uint64_t value) const;
  void Write(const host::vfio_user::RegionAccess& access, std::span<const uint8_t> data);
  bool IsTransportOwned(const host::vfio_user::RegionAccess& piece) const;

  // VfioUserMemory::Peer
  void SendDma(const host::vfio_user::Header& header, std::span<const uint8_t> first,
               std::span<const uint8_t> second) override;
  bool MayWait() const override { return twin_.has_value() || (commands_.empty() && !is_serving_); }
  bool WaitForReply(uint64_t deadline_ns) override;
  uint64_t ReplyDeadlineNs() const override;

  service::EventLoop& loop_;
  const VfioUserPort& port_;
  VfioUserChannel main_;
  std::optional<VfioUserChannel> twin_;  // for the server's commands
  std::deque<Message> commands_;
  bool is_negotiated_ = false;
  bool is_serving_ = false;
  // Registers in configuration space and BARs owned by the transport.
  uint32_t msix_at_ = 0, pcie_at_ = 0;
  uint32_t table_region_ = 0;
  uint64_t table_first_ = 0, table_bytes_ = 0;
  // Virtio's common configuration.
  std::optional<uint32_t> common_region_;
  uint64_t common_at_ = 0;
  VfioUserInterrupts interrupts_;
  VfioUserMemory memory_;
};

}  // namespace vireo::sim
