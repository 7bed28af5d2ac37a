// SPDX-License-Identifier: Apache-2.0
#include "sim/pvrdma/guest.h"

#include <utility>

namespace vireo::sim::pvrdma {

host::Result<std::unique_ptr<Guest>> Guest::Listen(service::EventLoop& loop, Nic& nic, const std::string& path,
                                                   const verbs::Quota& quota) {
  std::unique_ptr<Guest> guest(new Guest(nic, quota));
  const VfioUserPort port{.function = guest->function_, .memory = guest->windows_, .reset = [raw = guest.get()] {
                            raw->function_.Reset();
                          }};
  auto server = VfioUserServer::Listen(loop, port, path);
  if (!server.ok()) return server.error();
  guest->server_ = std::move(server).value();
  return guest;
}

void Guest::Progress() {
  device_.Progress();
  server_->Progress();
}

}  // namespace vireo::sim::pvrdma
