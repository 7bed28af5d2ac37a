// SPDX-License-Identifier: Apache-2.0
// Limits on the objects that one of several users of a device may have. The device does not know its users: who shares
// it among them counts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace vireo::verbs {

class Device;

// By kind of object: how many, or the most.
struct Quota {
  uint32_t pds = 0;
  uint32_t mrs = 0;
  uint32_t pages = 0;  // of all regions together, of 4096 bytes or more
  uint32_t ahs = 0;
  uint32_t cqs = 0;
  uint32_t qps = 0;  // and shared receive queues, which take their numbers
  uint32_t srqs = 0;
  uint32_t gids = 0;
  bool operator==(const Quota&) const = default;
};

inline constexpr struct {
  const char* name;
  uint32_t Quota::*count;
} kQuotaKinds[] = {{"pds", &Quota::pds}, {"mrs", &Quota::mrs}, {"pages", &Quota::pages}, {"ahs", &Quota::ahs},
                   {"cqs", &Quota::cqs}, {"qps", &Quota::qps}, {"srqs", &Quota::srqs},   {"gids", &Quota::gids}};

// `function` of each kind of both.
template <typename Function>
constexpr Quota Each(const Quota& a, const Quota& b, Function function) {
  Quota made;
  for (const auto& kind : kQuotaKinds) made.*kind.count = function(a.*kind.count, b.*kind.count);
  return made;
}
constexpr Quota Least(const Quota& a, const Quota& b) {
  return Each(a, b, [](uint32_t x, uint32_t y) { return std::min(x, y); });
}
// Nothing is less than 0.
constexpr Quota Less(const Quota& all, const Quota& part) {
  return Each(all, part, [](uint32_t x, uint32_t y) { return x - std::min(x, y); });
}
constexpr Quota Sum(const Quota& a, const Quota& b) {
  return Each(a, b, [](uint32_t x, uint32_t y) { return x + y; });
}
constexpr Quota Unlimited() {
  return Each({}, {}, [](uint32_t, uint32_t) { return std::numeric_limits<uint32_t>::max(); });
}

// What all users of a device together can have. `has_gsi`: who shares it has objects of its own for queue pair 1
// (host/service/cm/gsi.h). `own_gids`: entries of the GID table that are for none of the users.
Quota CapacityOf(Device& device, bool has_gsi, uint32_t own_gids);

}  // namespace vireo::verbs
