// SPDX-License-Identifier: Apache-2.0
// One client of the service: its connection and all its resources, which are freed when it disconnects. Used by Service
// only.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "host/driver/file_descriptor.h"
#include "host/driver/roce_device.h"
#include "host/service/context_memory.h"
#include "host/service/context_objects.h"
#include "host/service/event_loop.h"
#include "host/service/packet_socket.h"
#include "host/service/program_clock.h"
#include "host/service/protocol.h"

namespace vireo::service {

class Service;

class Context {
 public:
  Context(Service& service, uint32_t number, host::FileDescriptor socket);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  bool is_ended() const { return is_ended_; }
  pid_t process() const { return pid_; }       // 0: not known (yet)
  uint32_t number() const { return number_; }  // of no other context of the service
  const ContextObjects& objects() const { return objects_; }

  // Handles an interrupt of a device vector, counted from the first one for contexts.
  void OnInterrupt(uint16_t device_vector);
  // Handles an event of an object of this context, or of the device.
  void OnEvent(const host::DeviceEvent& event);
  // Continues the request that waits for address resolution, if there is one and the search has ended.
  void Resume();

 private:
  struct Queue {
    ContextMemory::Use memory;
    uint8_t bar = 0;
    uint64_t doorbell = 0;
  };
  struct Vector {
    host::FileDescriptor fd;
    std::optional<uint16_t> device_vector;
  };
  // A request that waits for the resolution of its destination's MAC address. No other request is read until it is
  // answered.
  struct PendingRequest {
    std::array<uint8_t, 16> gid{};
    std::vector<uint8_t> message;
    std::vector<host::FileDescriptor> fds;
  };
  struct Reply {
    std::vector<uint8_t> payload;
    std::vector<int> fds;
  };

  void Receive();
  // False: malformed message.
  bool Take(std::span<const uint8_t> message, std::vector<host::FileDescriptor> fds);
  bool Answer(uint64_t serial, const host::Result<Reply>& reply);
  bool OnAwait(const Await& message);
  host::Result<Reply> Serve(std::span<const uint8_t> message, std::span<const host::FileDescriptor> fds);
  host::Result<Reply> OnHello(const Hello& message);
  host::Result<Reply> OnExecute(std::span<const uint8_t> message, std::span<const host::FileDescriptor> fds);
  host::Result<Reply> OnMap(const Map& message, std::span<const host::FileDescriptor> fds);
  host::Result<Reply> OnMapUser(const MapUser& message);
  host::Result<Reply> OnUnmap(const Unmap& message);
  host::Result<Reply> OnMaxQueueSize(const MaxQueueSize& message);
  host::Result<Reply> OnEnableQueue(const EnableQueue& message);
  host::Result<Reply> OnResetQueue(const ResetQueue& message);
  host::Result<Reply> OnVectorFd(const VectorFd& message);
  host::Result<Reply> OnOpenUcma();
  host::Result<Reply> OnContextFile();
  host::Result<Reply> OnJoin(std::span<const host::FileDescriptor> fds);
  host::Result<Reply> OnFindPd(const FindPd& message) const;
  host::Result<Reply> OnFindRegion(const FindRegion& message) const;
  host::Result<Reply> OnCounters() const;
  host::Result<Reply> OnIsNeighbor(const IsNeighbor& message) const;
  host::Result<Reply> OnObjects(const Objects& message) const;
  void OnDoorbell(const DoorbellWrite& message);
  bool FindMemory(const Hello& message);
  void ReportQuota(std::span<uint8_t> answer) const;
  host::Result<uint16_t> OwnQueue(uint32_t index) const;
  bool StopQueuesOf(spec::RdmaCtrlCmd command, std::span<const uint8_t> request);
  bool StopQueue(uint16_t index);
  host::Status MakeVector(Vector& vector);
  // Marks the context for removal: the service destroys it later.
  void End();

  Service& service_;
  const uint32_t number_;
  host::FileDescriptor socket_;
  host::FileDescriptor process_;  // readable when the client's process has ended
  host::FileDescriptor events_;
  host::FileDescriptor sent_;  // client's ends of socket pairs, sent with the answer
  host::FileDescriptor sent_agent_;
  bool has_hello_ = false;
  bool is_ended_ = false;
  pid_t pid_ = 0;
  std::optional<ProgramClock::Client> clock_client_;
  std::shared_ptr<MemoryAccess> access_;
  uint32_t lost_events_ = 0;
  ContextMemory memory_;
  ContextObjects objects_;
  std::map<uint16_t, Queue> queues_;  // enabled
  std::vector<Vector> vectors_;
  std::optional<std::array<uint8_t, 16>> searched_;  // GID that the last command failed for, resolution in progress
  std::optional<PendingRequest> pending_request_;
  bool has_search_ended_ = false;  // of pending_request_: do not start another search
};

}  // namespace vireo::service
