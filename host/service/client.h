// SPDX-License-Identifier: Apache-2.0
// One process's share of a NIC that a service owns: a RoCE device for host/verbs. Commands are messages to the service.
// Rings and work requests lie in shared memory, so posting sends only doorbells to the service, and polling sends
// nothing.
//
// Belongs to the process that connected: in a child of fork() every call fails with kBadState, and destroying it there
// has no effect on the parent. Threads: as host::RoceDevice.
#pragma once

#include <sys/types.h>

#include <array>
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
#include "host/service/counter.h"
#include "host/service/gid_table.h"
#include "host/service/protocol.h"

namespace vireo::service {

class ClientClock;
class ContextFunction;
class MemoryAgent;
template <typename T>
using Result = host::Result<T>;
using host::Status;

// The connection to the service. Thread-safe; one request at a time.
class Connection {
 public:
  Connection(host::FileDescriptor socket, pid_t owner) : socket_(std::move(socket)), owner_(owner) {}

  // Sends `message` (its header is filled in) followed by `more`, with `fd` attached, and waits for the answer with a
  // payload of at least `payload_bytes`. Descriptors of the answer go to `fds`. Returns the service's error if it
  // refused; kLost: the connection is closed.
  template <typename Message>
  Result<std::vector<uint8_t>> Call(Message message, size_t payload_bytes, std::span<const uint8_t> more = {},
                                    int fd = -1, std::vector<host::FileDescriptor>* fds = nullptr) {
    return CallBytes({reinterpret_cast<uint8_t*>(&message), sizeof message}, payload_bytes, more, fd, fds);
  }
  // From now on the process's time is simulated: each request waits until simulated time has reached the process's
  // time.
  void SetClock(ClientClock& clock) { clock_ = &clock; }
  // See service::Await. With a clock only.
  Status Await(uint64_t from_ns, uint64_t until_ns, bool ends_at_write);
  // Sends a doorbell; there is no answer.
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
  host::Error MarkLost(const std::string& why);

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
    std::string netdev;  // "vnet0"; informational, no such interface exists
    uint32_t ifindex = 0;
    uint8_t mac[6]{};
    uint64_t node_guid = 0;  // host byte order
    spec::IbMtu active_mtu = spec::IbMtu::kMtu1024;
    uint32_t link_mbps = 0;
    bool link_up = false;
    uint32_t max_cqs = 0;
    uint32_t max_qps = 0;               // of the device, QP 0 and QP 1 included
    uint32_t own_cqs = 0, own_qps = 0;  // that this process can have
    bool uses_agent = false;            // a thread of this process serves the device's memory accesses
    bool has_clock = false;             // this process's time is simulated (client_clock.h)
    uint32_t call_cost_ns = 0;
    std::string pmem;  // directory: what is mapped shared from files in it is persistent memory; empty: there is none
  };

  // kLost: connection refused; kUnsupported: another version of the protocol. The agent (Info::uses_agent) is used if
  // the service may not access this process's memory, or with VIREO_DMA=agent in the environment.
  static Result<std::unique_ptr<SharedDevice>> Connect(const std::string& socket_path);
  ~SharedDevice() override;
  SharedDevice(const SharedDevice&) = delete;
  SharedDevice& operator=(const SharedDevice&) = delete;

  const Info& info() const { return info_; }
  // The NIC's GIDs, by index, as of now; kGidTableChanged events tell of changes.
  std::vector<Gid> gids() const { return gid_table_->Read(); }
  // For use after the connection's end, too.
  const std::shared_ptr<const GidTable>& gid_table() const { return gid_table_; }
  // The vector's eventfd: non-blocking, readable after an interrupt. Spurious interrupts are possible. The device owns
  // it; -1: no such vector, or the connection is lost.
  int vector_fd(uint16_t vector);
  // Readable while an event is pending (or the connection is lost): PollEvent returns it. The device owns it.
  int event_fd() const { return events_.get(); }
  // Charges the simulated cost of a data path call and returns when the simulation has reached that time. No effect
  // without a clock.
  void CountCall();
  // With a clock: call it after an empty poll. Waits until the device writes, at most one microsecond, because the
  // program may poll other things than queues.
  void AwaitWrite();
  // A descriptor that stands for this context, for Join in another process; the caller owns it.
  Result<int> OpenContextFile();
  // Shares protection domains and regions with the context of this descriptor. Before any object is created.
  // kInvalidArgument: no context of this NIC has this descriptor.
  Status Join(int context_file);
  // What this context shares. kRefused: there is none of this number.
  struct Region {
    uint32_t lkey = 0, rkey = 0;
    uint64_t address = 0, length = 0;
  };
  Status FindPd(uint32_t pdn);
  Result<Region> FindRegion(uint32_t mrn);
  // Those of the NIC's port, as of now.
  Result<std::vector<Counter>> Counters();
  // Those of a kind that the service's other clients have, as of now, by number. `with_state`: of queue pairs, with
  // what the device knows of them.
  Result<std::vector<ObjectBytes>> Objects(ObjectKind kind, bool with_state = false);
  // A NIC of the same simulation has this address. False if the service does not answer, too.
  bool IsNeighbor(const std::array<uint8_t, 16>& gid);
  // A new channel to the service's connection manager (ucma_protocol.h); the caller owns the descriptor.
  Result<int> OpenUcma();

  const spec::ProfileConstants& constants() const override;
  host::RoceCommands& roce() override { return *commands_; }
  // AllocateDma allocates from one memory file, all of which queues may reference in their descriptors. MapDma maps any
  // memory of this process. Wait sleeps until an interrupt of a vector whose vector_fd() was requested, or that a queue
  // uses; it clears the eventfd and records the interrupt for TakeInterrupt. No registers.
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
  Status Handshake();

  std::shared_ptr<Connection> connection_;
  host::FileDescriptor events_;
  std::shared_ptr<const GidTable> gid_table_;
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
