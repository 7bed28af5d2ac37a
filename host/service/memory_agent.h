// SPDX-License-Identifier: Apache-2.0
// The client's thread that reads and writes this process's memory for the service, if the service may not access it. An
// unmapped address is reported as a failure: the kernel copies, so there is no page fault here.
#pragma once

#include <memory>
#include <thread>

#include "host/driver/file_descriptor.h"
#include "host/driver/result.h"

namespace vireo::service {

class MemoryAgent {
 public:
  // All signals are blocked in the thread. kNoMemory: no thread could be started.
  static host::Result<std::unique_ptr<MemoryAgent>> Start(host::FileDescriptor socket);
  ~MemoryAgent();
  // For a child of fork(), which does not have the thread.
  void Abandon();

 private:
  explicit MemoryAgent(host::FileDescriptor socket) : socket_(std::move(socket)) {}
  void Serve();

  host::FileDescriptor socket_;
  std::thread thread_;
};

}  // namespace vireo::service
