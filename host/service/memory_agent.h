// SPDX-License-Identifier: Apache-2.0
// The client's thread that reads and writes this process's memory for the service, where the service may not do it
// itself. An address that is not mapped is answered with "no": the system copies, so nothing faults here.
#pragma once

#include <memory>
#include <thread>

#include "host/driver/file_descriptor.h"
#include "host/driver/result.h"

namespace vireo::service {

class MemoryAgent {
 public:
  // All signals are blocked in the thread. kNoMemory: the system gives no thread.
  static host::Result<std::unique_ptr<MemoryAgent>> Start(host::FileDescriptor socket);
  ~MemoryAgent();
  // In a child of fork(), which has no such thread.
  void Abandon();

 private:
  explicit MemoryAgent(host::FileDescriptor socket) : socket_(std::move(socket)) {}
  void Serve();

  host::FileDescriptor socket_;
  std::thread thread_;
};

}  // namespace vireo::service
