// SPDX-License-Identifier: Apache-2.0
// Memory of a client's process, accessed by system calls or by a thread of the client (agent) over a socket. Offsets of
// the memory objects count from an address of the client.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <span>

#include "host/driver/file_descriptor.h"
#include "host/driver/pci_function.h"

namespace vireo::service {

// Access to one client's memory. False: it failed; a write may be partly done.
class MemoryAccess {
 public:
  virtual ~MemoryAccess() = default;
  virtual bool Read(uint64_t address, std::span<uint8_t> data) = 0;
  virtual bool Write(uint64_t address, std::span<const uint8_t> data) = 0;
};

// process_vm_readv and process_vm_writev: requires ptrace permission (ptrace(2), access mode). `pid` must be a running
// process: the pid of an ended process may be reused.
std::unique_ptr<MemoryAccess> MakeProcessMemory(pid_t pid);

// The client's agent at the other end of `socket` (protocol.h, AgentRequest). After a timeout or a protocol violation
// the agent is not used any more.
inline constexpr int kAgentTimeoutMs = 10'000;
std::unique_ptr<MemoryAccess> MakeAgentMemory(host::FileDescriptor socket, int timeout_ms = kAgentTimeoutMs);

// The memory from `address`, for PciFunction::MapForeign.
std::unique_ptr<host::ForeignMemory> MakeForeignMemory(std::shared_ptr<MemoryAccess> access, uint64_t address);

}  // namespace vireo::service
