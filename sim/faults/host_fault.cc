// SPDX-License-Identifier: Apache-2.0
#include "sim/faults/host_fault.h"

#include <array>

#include "sim/common/fault_words.h"

namespace vireo::sim {
namespace {

// By HostFault::Kind.
constexpr std::array<std::string_view, 10> kNames = {"loop",           "zero_length", "oversize",    "outside",
                                                     "index_jump",     "doorbells",   "queue_reset", "no_poll",
                                                     "function_reset", "flip"};

std::string ParseWord(std::string_view word, HostFault& fault) {
  constexpr std::string_view kAfter = "after=";
  const std::string quoted = "'" + std::string(word) + "'";
  if (word.starts_with(kAfter)) {
    return ParseNumber(word.substr(kAfter.size()), fault.after) ? "" : quoted + ": not a number";
  }
  if (word.find('=') != std::string_view::npos) return quoted + ": there is no such condition";
  uint64_t number = 0;
  if (!ParseNumber(word, number) || number == 0) return quoted + " is neither a number from 1 nor a condition";
  if (fault.amount != 0) return "there are two amounts";
  fault.amount = number;
  return "";
}

}  // namespace

HostScript ParseHostScript(std::string_view text) {
  HostScript script;
  HostFault& fault = script.fault;
  size_t rules = 0;
  script.error = ParseRules(text, [&](std::string_view part) -> std::string {
    if (rules++ != 0) return "a host script has one rule";
    std::string error =
        ParseWords(part, kNames, fault.kind, [&](std::string_view word) { return ParseWord(word, fault); });
    if (!error.empty()) return error;
    const bool needs_amount = fault.kind == HostFault::Kind::kDoorbells || fault.kind == HostFault::Kind::kNoPoll;
    const std::string name(kNames.at(static_cast<size_t>(fault.kind)));
    if (needs_amount != (fault.amount != 0)) return name + (needs_amount ? " needs an amount" : " has no amount");
    return "";
  });
  if (script.error.empty() && rules == 0) script.error = "fault script: there is no rule";
  return script;
}

}  // namespace vireo::sim
