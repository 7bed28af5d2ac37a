// SPDX-License-Identifier: Apache-2.0
// rdma_cm's channels come from the first service that VIREO_SOCKET names: rdma_cm of one process is on one NIC.
#include <cerrno>
#include <cstdlib>
#include <string>
#include <string_view>

#include "host/ibverbs/objects.h"
#include "host/ibverbs/ucma_overlay.h"
#include "host/service/client.h"

namespace vireo::ibverbs {

bool IsUcmaActive() { return IsActive(); }
void LogUcma(const char* text) { Log(text); }

int OpenUcmaSocket() {
  const char* const variable = std::getenv("VIREO_SOCKET");
  const std::string_view sockets = variable == nullptr ? "" : variable;
  // The channel lives on without the connection over which it was asked for.
  auto shared = service::SharedDevice::Connect(std::string(sockets.substr(0, sockets.find(':'))));
  if (!shared.ok()) return Minus(ErrnoOf(shared.error()));
  auto channel = (*shared)->OpenUcma();
  if (!channel.ok()) return Minus(ErrnoOf(channel.error()));
  return *channel;
}

}  // namespace vireo::ibverbs
