// SPDX-License-Identifier: Apache-2.0
// One process's share of a NIC that a service owns: a RoCE device for host/verbs. Commands are messages to the service;
// rings and work requests lie in memory that both see, so posting and polling say nothing to it but doorbells.
//
// It belongs to the process that connected: in a child of fork() every call fails with kBadState, and destroying it
// there disturbs nothing. Threads: as host::RoceDevice.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/driver/file_descriptor.h"
#include "host/driver/roce_device.h"
#include "host/service/protocol.h"

namespace vireo::service {

class ClientClock;
class ContextFunction;
class MemoryAgent;
template <typename T>
using Result = host::Result<T>;
using host::Status;

// The connection to the service: requests, one at a time, from any thread.
class Connection {
 public:
  Connection(host::FileDescriptor socket, pid_t owner) : socket_(std::move(socket)), owner_(owner) {}

  // Sends `message` (its header is filled in) with `more` behind it and `fd` along, and waits for the answer; its
  // payload has `payload_bytes`. Descriptors that came with it go to `fds`. What the service refused is its error;
  // kLost: it is gone.
  template <typename Message>
  Result<std::vector<uint8_t>> Call(Message message, size_t payload_bytes, std::span<const uint8_t> more = {},
                                    int fd = -1, std::vector<host::FileDescriptor>* fds = nullptr) {
    return CallBytes({reinterpret_cast<uint8_t*>(&message), sizeof message}, payload_bytes, more, fd, fds);
  }
  // From now on the process's time is simulated: each request waits until the process has its turn.
  void SetClock(ClientClock& clock) { clock_ = &clock; }
  // See service::Await. With a clock only.
  Status Await(uint64_t from_ns, uint64_t until_ns, bool ends_at_write);
  // No answer comes.
  void Ring(DoorbellWrite doorbell);

  bool is_owner() const;
  Status health() const;
  int socket() const { return socket_.get(); }

 private:
  Result<std::vector<uint8_t>> CallBytes(std::span<uint8_t> message, size_t payload_bytes,
                                         std::span<const uint8_t> more, int fd, std::vector<host::FileDescriptor>* fds);
  Result<std::vector<uint8_t>> Exchange(std::span<uint8_t> message, size_t payload_bytes, std::span<const uint8_t> more,
                                        int fd, std::vector<host::FileDescriptor>* fds);
  Status AwaitLocked(uint64_t from_ns, uint64_t until_ns, bool ends_at_write);
  host::Error Lose(const std::string& why);

  host::FileDescriptor socket_;
  const pid_t owner_;
  std::mutex mutex_;
  uint64_t serial_ = 0;
  std::atomic<bool> is_lost_ = false;
  ClientClock* clock_ = nullptr;
};

class SharedDevice final : public host::RoceDevice {
 public:
  struct Info {
    std::string name;    // "vireo0"
    std::string netdev;  // "vnet0"; for information, there is no such interface
    uint32_t ifindex = 0;
    uint8_t mac[6]{};
    struct Gid {
      uint16_t index = 0;
      uint8_t gid[16]{};
      spec::RdmaGidType type = spec::RdmaGidType::kRoceV2;
    };
    std::vector<Gid> gids;   // entries in use
    uint64_t node_guid = 0;  // as a number; network order has its most significant byte first
    spec::IbMtu active_mtu = spec::IbMtu::kMtu1024;
    uint32_t link_mbps = 0;
    bool link_up = false;
    uint32_t max_cqs = 0;
    uint32_t max_qps = 0;     // the device's, QP 0 and QP 1 included
    bool uses_agent = false;  // a thread of this process serves the device's memory accesses
    bool has_clock = false;   // this process's time is simulated (client_clock.h)
    uint32_t call_cost_ns = 0;
  };

  // kLost: nobody listens there; kUnsupported: another version of the protocol. VIREO_DMA=agent in the environment: see
  // Info::uses_agent; else that is chosen only where the service may not read this process's memory.
  static Result<std::unique_ptr<SharedDevice>> Connect(const std::string& socket_path);
  ~SharedDevice() override;
  SharedDevice(const SharedDevice&) = delete;
  SharedDevice& operator=(const SharedDevice&) = delete;

  const Info& info() const { return info_; }
  // The vector's eventfd: non-blocking, readable when an interrupt came. An interrupt may come without cause. The
  // device keeps it; -1: there is no such vector, or the service is gone.
  int vector_fd(uint16_t vector);
  // Readable while an event waits (or the service is gone): PollEvent takes it. The device keeps it.
  int event_fd() const { return events_.get(); }
  // A call that reaches the data path takes its time; without a clock, none. Returns when the simulation is there.
  void SpendCall();
  // With a clock: after a look at a queue that found nothing. Until the device has written, but a microsecond at most:
  // a program may look at something else than queues.
  void AwaitWrite();
  // A new channel to the service's connection manager (ucma_protocol.h); the caller owns the descriptor.
  Result<int> OpenUcma();

  const spec::ProfileConstants& constants() const override;
  host::RoceCommands& roce() override { return *commands_; }
  // AllocateDma: from one memory file, all of which queues may name in their descriptors. MapDma: any memory of this
  // process. Wait sleeps until an interrupt of a vector whose vector_fd() was asked for, or that a queue uses; it takes
  // it from the eventfd and keeps it for TakeInterrupt. Registers: there are none.
  host::PciFunction& function() override;

  Result<uint16_t> CompletionQueueIndex(uint32_t cqn) const override;
  Result<uint16_t> SendQueueIndex(uint32_t qpn) const override;
  Result<uint16_t> ReceiveQueueIndex(uint32_t qpn) const override;
  Result<uint16_t> MaxQueueSize(uint16_t index) override;
  Result<host::Queue> OpenQueue(uint16_t index, uint16_t size, std::optional<uint16_t> vector,
                                uint16_t indirect_segments) override;
  Result<std::vector<host::Token>> StopQueue(host::Queue& queue, bool destroyed) override;
  uint16_t vectors() const override { return vectors_; }
  Result<std::optional<host::DeviceEvent>> PollEvent() override;

 private:
  class Commands;
  SharedDevice();
  Status Greet();

  std::shared_ptr<Connection> connection_;
  host::FileDescriptor events_;
  Info info_;
  spec::Profile profile_ = spec::Profile::kVireo;
  uint16_t vectors_ = 0;
  uint16_t first_queue_ = 0;
  bool ring_packed_ = false, ring_event_idx_ = false, ring_indirect_ = false, sends_position_ = false;
  std::unique_ptr<MemoryAgent> agent_;
  std::unique_ptr<ContextFunction> function_;
  std::unique_ptr<Commands> channel_;
  std::unique_ptr<host::RoceCommands> commands_;
};

}  // namespace vireo::service
