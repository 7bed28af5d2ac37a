// SPDX-License-Identifier: Apache-2.0
// Helpers of service tests: client processes, and an endpoint of a connection.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "host/driver/file_descriptor.h"
#include "host/service/client.h"
#include "host/verbs/completion_queue.h"
#include "host/verbs/device.h"
#include "host/verbs/protection_domain.h"
#include "host/verbs/queue_pair.h"
#include "sim/simulator/simulator_process.h"

namespace vireo::sim {

// Messages of fixed size between processes.
class Pipe {
 public:
  Pipe();  // both ends
  template <typename Message>
  bool Send(size_t end, const Message& message) {
    return Write(end, &message, sizeof message);
  }
  template <typename Message>
  bool Receive(size_t end, Message& message) {
    return Read(end, &message, sizeof message);
  }
  // Call it in a process that does not use this end, so that the other end detects the exit of its user.
  void Close(size_t end) { ends_[end].Close(); }

 private:
  bool Write(size_t end, const void* data, size_t bytes);
  bool Read(size_t end, void* data, size_t bytes);
  host::FileDescriptor ends_[2];
};

// Runs `body` in a forked process, whose exit code is 0 if it returns true.
class ClientProcess {
 public:
  explicit ClientProcess(const std::function<bool()>& body);
  ~ClientProcess();  // kills it if it is still running
  ClientProcess(const ClientProcess&) = delete;
  ClientProcess& operator=(const ClientProcess&) = delete;
  void Kill();
  bool Succeeds();  // waits

 private:
  pid_t pid_ = -1;
};

// Parameters for the other side.
struct PeerInfo {
  uint8_t gid[16]{};
  uint8_t mac[6]{};
  uint32_t qpn = 0;
  uint32_t rkey = 0;
  uint64_t address = 0;
};

// One side of an RC connection, with a region of ordinary memory.
struct Endpoint {
  // Null, with a message on standard error, on any failure.
  static std::unique_ptr<Endpoint> Open(const std::string& socket, size_t memory_bytes);
  ~Endpoint();

  PeerInfo info() const;
  bool Connect(const PeerInfo& peer, uint8_t timeout = 14, uint8_t retries = 7);
  // Waits for the next completion; it must arrive in time and be successful.
  bool Complete(spec::RdmaCqReq* completion = nullptr);
  spec::RdmaSge Sge(size_t offset, size_t bytes) const { return region->Sge(offset, static_cast<uint32_t>(bytes)); }

  service::SharedDevice* shared = nullptr;  // device's
  std::shared_ptr<verbs::Device> device;
  std::shared_ptr<verbs::ProtectionDomain> pd;
  std::shared_ptr<verbs::CompletionQueue> cq;
  std::shared_ptr<verbs::QueuePair> qp;
  std::vector<uint8_t> memory;  // from malloc, not aligned
  host::DmaBuffer mapping;
  std::shared_ptr<verbs::MemoryRegion> region;
};

// Traffic between two clients; both sides check it. `is_agent`: whether memory must be accessed through the client's
// agent. The passive side receives a SEND, and checks a WRITE into the other half of its memory, for several sizes.
inline constexpr size_t kTrafficBytes = 65'536;  // the largest
bool ServeTraffic(const std::string& socket, Pipe& pipe, bool is_agent);
// The active side: a WRITE and a SEND for each size, and a READ of what it wrote.
bool TalkTraffic(const std::string& socket, Pipe& pipe, bool is_agent);

// A data byte that depends on offset and round.
constexpr uint8_t Pattern(size_t place, size_t round) {
  return static_cast<uint8_t>(place * 7 + place / 251 + round * 13 + 1);
}

}  // namespace vireo::sim
