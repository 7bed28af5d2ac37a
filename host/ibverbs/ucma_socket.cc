// SPDX-License-Identifier: Apache-2.0
// Opens rdma_cm channels, one per service in VIREO_SOCKET.
#include <algorithm>
#include <cerrno>
#include <iterator>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "host/ibverbs/objects.h"
#include "host/ibverbs/ucma_overlay.h"
#include "host/service/client.h"

namespace vireo::ibverbs {
namespace {

size_t NumberOf(const std::string& socket) {
  static std::mutex lock;
  static std::vector<std::string>& known = *new std::vector<std::string>;
  const std::lock_guard guard(lock);
  const auto found = std::ranges::find(known, socket);
  const auto number = static_cast<size_t>(std::distance(known.begin(), found));
  if (found == known.end()) known.push_back(socket);
  return number;
}

}  // namespace

bool IsUcmaActive() { return IsActive(); }
void LogUcma(const char* text) { Log(text); }

std::vector<UcmaNic> OpenUcmaNics() {
  std::vector<UcmaNic> nics;
  int error = ENODEV;
  for (const std::string& socket : Sockets()) {
    const size_t number = NumberOf(socket);
    if (std::ranges::find(nics, number, &UcmaNic::number) != nics.end()) continue;  // duplicate
    // The channel stays open without the connection that requested it.
    auto shared = service::SharedDevice::Connect(socket);
    if (!shared.ok()) {
      error = ErrnoOf(shared.error());
      continue;
    }
    auto channel = (*shared)->OpenUcma();
    if (!channel.ok()) {
      error = ErrnoOf(channel.error());
      continue;
    }
    UcmaNic& nic = nics.emplace_back();
    nic.number = number;
    nic.socket = host::FileDescriptor(*channel);
    nic.ifindex = (*shared)->info().ifindex;
    nic.gids = [table = (*shared)->gid_table()] {
      std::vector<std::array<uint8_t, 16>> gids;
      for (const service::Gid& entry : table->Read()) std::ranges::copy(entry.gid, gids.emplace_back().begin());
      return gids;
    };
  }
  if (nics.empty()) errno = error;
  return nics;
}

}  // namespace vireo::ibverbs
