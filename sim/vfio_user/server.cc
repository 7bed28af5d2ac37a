// SPDX-License-Identifier: Apache-2.0
#include "sim/vfio_user/server.h"

#include <sys/socket.h>

#include "host/driver/unix_socket.h"

namespace vireo::sim {

host::Result<std::unique_ptr<VfioUserServer>> VfioUserServer::Listen(service::EventLoop& loop, const VfioUserPort& port,
                                                                     const std::string& path) {
  auto listener = host::ListenAt(path, SOCK_STREAM);
  if (!listener.ok()) return listener.error();
  std::unique_ptr<VfioUserServer> server(new VfioUserServer(loop, port));
  server->listener_ = std::move(listener).value();
  loop.Watch(server->listener_.get(), [raw = server.get()] { raw->Accept(); });
  return server;
}

VfioUserServer::~VfioUserServer() { loop_.Unwatch(listener_.get()); }

void VfioUserServer::Accept() {
  host::FileDescriptor socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket.is_open()) return;
  // The end of the previous client may not have been processed yet.
  if (connection_ != nullptr && (connection_->is_over() || connection_->IsHungUp())) Drop();
  if (connection_ != nullptr) return;
  connection_ = std::make_unique<VfioUserConnection>(loop_, port_, std::move(socket));
}

void VfioUserServer::Drop() {
  const bool is_used = connection_->is_negotiated();
  connection_.reset();
  if (is_used) port_.reset();
}

void VfioUserServer::Progress() {
  if (connection_ == nullptr) return;
  connection_->Progress();
  if (connection_->is_over()) Drop();
}

}  // namespace vireo::sim
