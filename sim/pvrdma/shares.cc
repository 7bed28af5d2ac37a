// SPDX-License-Identifier: Apache-2.0
#include "sim/pvrdma/shares.h"

#include <algorithm>
#include <optional>
#include <string>

#include "sim/pvrdma/commands.h"

namespace vireo::sim::pvrdma {
namespace {

std::optional<uint32_t> Asked(const Limits& limits, uint32_t verbs::Quota::*kind) {
  const auto found = std::ranges::find(limits, kind, &Limits::value_type::first);
  return found == limits.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace

host::Result<Shares> Divide(const verbs::Quota& capacity, std::span<const Limits> guests) {
  Shares shares{.guests = std::vector<verbs::Quota>(guests.size()), .programs = capacity};
  for (const auto& [name, count] : verbs::kQuotaKinds) {
    uint64_t asked = 0;
    uint32_t sharers = count == &verbs::Quota::gids ? 0 : 1;  // programs
    for (const Limits& limits : guests) {
      const std::optional<uint32_t> number = Asked(limits, count);
      asked += number.value_or(0);
      if (!number.has_value()) ++sharers;
    }
    if (asked > capacity.*count) {
      return host::Error{host::ErrorCode::kInvalidArgument, std::string(name) + ": the guests have " +
                                                                std::to_string(asked) + " together, the NIC has " +
                                                                std::to_string(capacity.*count) + " for them"};
    }
    uint32_t equal = (capacity.*count - static_cast<uint32_t>(asked)) / std::max(sharers, 1U);
    if (count == &verbs::Quota::gids) equal = std::min(equal, Commands::kGids);
    for (size_t i = 0; i < guests.size(); ++i) {
      const uint32_t has = Asked(guests[i], count).value_or(equal);
      shares.guests[i].*count = has;
      shares.programs.*count -= has;
    }
  }
  return shares;
}

}  // namespace vireo::sim::pvrdma
