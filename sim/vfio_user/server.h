// SPDX-License-Identifier: Apache-2.0
// Exports a PCI function at a Unix socket by the vfio-user protocol: to QEMU as a device of a guest, and to
// host::VfioUserDevice. One client at a time; further connections are rejected. When a client disconnects, for any
// reason, the function is reset and its memory is unmapped.
//
// Commands: VERSION, DMA_MAP, DMA_UNMAP, DEVICE_GET_INFO, DEVICE_GET_REGION_INFO, DEVICE_GET_IRQ_INFO,
// DEVICE_SET_IRQS, REGION_READ, REGION_WRITE, REGION_WRITE_MULTI, DEVICE_RESET; DMA_READ and DMA_WRITE to the client,
// on a second socket in twin-socket mode. Other commands: ENOTSUP. Regions cannot be mapped.
//
// One thread: that of the loop and the simulation.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "sim/vfio_user/connection.h"

namespace vireo::sim {

class VfioUserServer {
 public:
  // `loop` and the objects of `port` must outlive the result. kInvalidArgument: invalid path; kLost: a system call
  // failed.
  static host::Result<std::unique_ptr<VfioUserServer>> Listen(service::EventLoop& loop, const VfioUserPort& port,
                                                              const std::string& path);
  ~VfioUserServer();
  VfioUserServer(const VfioUserServer&) = delete;
  VfioUserServer& operator=(const VfioUserServer&) = delete;

  // Call after every round of the loop and every slice of the simulation. May run the simulation.
  void Progress();
  // Work is pending that no descriptor signals.
  bool has_work() const { return connection_ != nullptr && connection_->has_work(); }
  bool has_client() const { return connection_ != nullptr; }

 private:
  VfioUserServer(service::EventLoop& loop, VfioUserPort port) : loop_(loop), port_(std::move(port)) {}
  void Accept();
  void Drop();

  service::EventLoop& loop_;
  const VfioUserPort port_;
  host::FileDescriptor listener_;
  std::unique_ptr<VfioUserConnection> connection_;
};

}  // namespace vireo::sim
