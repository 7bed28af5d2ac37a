// SPDX-License-Identifier: Apache-2.0
// getifaddrs() with the NICs' addresses: on Linux a RoCE device has a network interface with the addresses of its GIDs,
// and programs look there for those that rdma_cm can be bound to (libfabric). The interfaces, "vnet0", come behind the
// system's. They exist in this list only: there are no sockets on them.
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "host/ibverbs/next.h"
#include "host/ibverbs/objects.h"

#define VIREO_FILE_API extern "C" __attribute__((visibility("default")))

namespace vireo::ibverbs {
namespace {

// An entry and what it points to.
struct Interface {
  std::string name;
  sockaddr_storage address{}, mask{};
  ifaddrs entry{};
};
using Interfaces = std::vector<std::unique_ptr<Interface>>;

// By the first entry of the list that the program has; with the system's own list, which comes first if it has entries.
struct Lists {
  std::mutex lock;
  std::map<ifaddrs*, std::pair<ifaddrs*, Interfaces>> given;
};
Lists& TheLists() {
  static Lists* const lists = new Lists;
  return *lists;
}

constexpr uint8_t kMapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
// The networks by which the service selects a NIC, too: /24 and /64.
constexpr uint32_t kIpv4Mask = 0xffffff00;
constexpr size_t kIpv6MaskBytes = 8;

std::unique_ptr<Interface> MakeInterface(const Device& device, const service::Gid& gid) {
  auto made = std::make_unique<Interface>();
  made->name = device.info.netdev;
  if (std::equal(std::begin(kMapped), std::end(kMapped), gid.gid)) {
    sockaddr_in in{};
    in.sin_family = AF_INET;
    std::memcpy(&in.sin_addr, gid.gid + sizeof kMapped, sizeof in.sin_addr);
    std::memcpy(&made->address, &in, sizeof in);
    in.sin_addr.s_addr = htonl(kIpv4Mask);
    std::memcpy(&made->mask, &in, sizeof in);
  } else {
    sockaddr_in6 in{};
    in.sin6_family = AF_INET6;
    std::copy_n(gid.gid, sizeof gid.gid, in.sin6_addr.s6_addr);
    if (IN6_IS_ADDR_LINKLOCAL(&in.sin6_addr)) in.sin6_scope_id = device.info.ifindex;
    std::memcpy(&made->address, &in, sizeof in);
    in.sin6_scope_id = 0;
    std::fill_n(in.sin6_addr.s6_addr, sizeof gid.gid, uint8_t{0});
    std::fill_n(in.sin6_addr.s6_addr, kIpv6MaskBytes, uint8_t{0xff});
    std::memcpy(&made->mask, &in, sizeof in);
  }
  made->entry.ifa_name = made->name.data();
  made->entry.ifa_flags = IFF_UP | IFF_RUNNING | IFF_MULTICAST;
  made->entry.ifa_addr = reinterpret_cast<sockaddr*>(&made->address);
  made->entry.ifa_netmask = reinterpret_cast<sockaddr*>(&made->mask);
  return made;
}

Interfaces MakeInterfaces() {
  Interfaces interfaces;
  for (const Device* device : VisibleDevices()) {
    for (const service::Gid& gid : device->gids->Read()) {
      interfaces.push_back(MakeInterface(*device, gid));
      if (interfaces.size() == 1) continue;
      interfaces[interfaces.size() - 2]->entry.ifa_next = &interfaces.back()->entry;
    }
  }
  return interfaces;
}

// Puts them behind the system's.
void Append(ifaddrs** list, Interfaces interfaces) {
  if (interfaces.empty()) return;
  ifaddrs* const systems = *list;
  ifaddrs** end = list;
  while (*end != nullptr) end = &(*end)->ifa_next;
  *end = &interfaces.front()->entry;
  Lists& lists = TheLists();
  const std::lock_guard guard(lists.lock);
  lists.given[*list] = {systems, std::move(interfaces)};
}

// The system's own part of a list.
ifaddrs* Take(ifaddrs* list) {
  Lists& lists = TheLists();
  const std::lock_guard guard(lists.lock);
  const auto given = lists.given.extract(list);
  return given.empty() ? list : given.mapped().first;
}

}  // namespace
}  // namespace vireo::ibverbs

namespace overlay = vireo::ibverbs;

VIREO_FILE_API int getifaddrs(ifaddrs** list) noexcept {
  static auto* const next = overlay::Next<int(ifaddrs**)>("getifaddrs");
  const int result = next(list);
  if (result == 0 && overlay::IsActive()) overlay::Append(list, overlay::MakeInterfaces());
  return result;
}

// libc frees its part as a whole, whatever follows its last entry.
VIREO_FILE_API void freeifaddrs(ifaddrs* list) noexcept {
  static auto* const next = overlay::Next<void(ifaddrs*)>("freeifaddrs");
  if (ifaddrs* const systems = overlay::IsActive() ? overlay::Take(list) : list; systems != nullptr) next(systems);
}
