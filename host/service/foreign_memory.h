// SPDX-License-Identifier: Apache-2.0
// Memory of a client's process, reached in one of two ways: by the system's calls for it, or by a thread of the client
// that is asked through a socket. Offsets of the memory objects count from an address of the client.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <span>

#include "host/driver/file_descriptor.h"
#include "host/driver/pci_function.h"

namespace vireo::service {

// The way to one client's memory. False: it could not be done; part of a write may have been.
class MemoryAccess {
 public:
  virtual ~MemoryAccess() = default;
  virtual bool Read(uint64_t address, std::span<uint8_t> data) = 0;
  virtual bool Write(uint64_t address, std::span<const uint8_t> data) = 0;
};

// process_vm_readv and process_vm_writev: needs the rights of a debugger (ptrace(2), access mode). For a `pid` that is
// known to live: the number of a process that ended may be another's.
std::unique_ptr<MemoryAccess> MakeProcessMemory(pid_t pid);

// The client's thread at the other end of `socket` (protocol.h, AgentRequest). An agent that does not answer for
// kAgentTimeoutMs, or breaks the protocol, is asked no more.
inline constexpr int kAgentTimeoutMs = 10'000;
std::unique_ptr<MemoryAccess> MakeAgentMemory(host::FileDescriptor socket, int timeout_ms = kAgentTimeoutMs);

// The memory from `address` on, for PciFunction::MapForeign.
std::unique_ptr<host::ForeignMemory> MakeForeignMemory(std::shared_ptr<MemoryAccess> access, uint64_t address);

}  // namespace vireo::service
