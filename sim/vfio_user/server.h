// SPDX-License-Identifier: Apache-2.0
// Offers one NIC's PCI function at a Unix socket, by the vfio-user protocol: to QEMU as a device of a guest, and to
// host::VfioUserFunction. One client at a time has it, whole; who connects meanwhile is turned away. When a client
// goes, however it goes, the function is reset and its memory is forgotten.
//
// Commands: VERSION, DMA_MAP, DMA_UNMAP, DEVICE_GET_INFO, DEVICE_GET_REGION_INFO, DEVICE_GET_IRQ_INFO,
// DEVICE_SET_IRQS, REGION_READ, REGION_WRITE, REGION_WRITE_MULTI, DEVICE_RESET; DMA_READ and DMA_WRITE to the client,
// on a socket of their own if it has twin-socket mode. All else is ENOTSUP. Regions cannot be mapped.
//
// One thread: that of the loop and of the simulation.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "sim/vfio_user/connection.h"

namespace vireo::sim {

class VfioUserServer {
 public:
  // `loop` and what `port` names outlive it. kInvalidArgument, kLost.
  static host::Result<std::unique_ptr<VfioUserServer>> Listen(service::EventLoop& loop, const VfioUserPort& port,
                                                              const std::string& path);
  ~VfioUserServer();
  VfioUserServer(const VfioUserServer&) = delete;
  VfioUserServer& operator=(const VfioUserServer&) = delete;

  // After every round of the loop and every slice of the simulation. It may run the simulation.
  void Progress();
  // Progress has something to do though no descriptor says so.
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
