// SPDX-License-Identifier: Apache-2.0
#include "sim/pcie/pcie_fault.h"

#include <array>
#include <optional>

#include "sim/common/fault_words.h"

namespace vireo::sim {
namespace {

// By DmaFault::Kind.
constexpr std::array<std::string_view, 8> kNames = {"unsupported", "abort",  "poison", "missing",
                                                    "delay",       "spread", "split",  "refuse"};

using Places = std::map<std::string, AddressRange, std::less<>>;

std::string ParseWord(std::string_view word, const Places& places, DmaFault& fault, std::optional<uint32_t>& amount,
                      bool& has_count) {
  const std::string quoted = "'" + std::string(word) + "'";
  const size_t equals = word.find('=');
  const std::string_view key = word.substr(0, equals);
  uint64_t number = 0;
  if (equals == std::string_view::npos) {
    if (!ParseNumber(word, number)) return quoted + " is neither a number nor a condition";
    if (amount) return "two amounts";
    if (number >> 32 != 0) return quoted + ": more than 32 bits";
    amount = static_cast<uint32_t>(number);
    return "";
  }
  const std::string_view value = word.substr(equals + 1);
  if (key == "on") {
    const auto place = places.find(value);
    if (place == places.end()) return quoted + ": unknown place";
    fault.address = place->second.address;
    fault.bytes = place->second.bytes;
    return "";
  }
  if (key == "rate")
    return ParseRate(value, fault.per_million) ? "" : quoted + ": a rate is 0 to 1 with up to six decimals";
  if (key != "nth" && key != "count") return quoted + ": unknown condition";
  if (!ParseNumber(value, number)) return quoted + ": not a number";
  if (number == 0) return quoted + ": counts from 1";
  (key == "nth" ? fault.nth : fault.count) = number;
  has_count = has_count || key == "count";
  return "";
}

std::string ParseFault(std::string_view text, const Places& places, DmaFault& fault) {
  using Kind = DmaFault::Kind;
  std::optional<uint32_t> amount;
  bool has_count = false;
  std::string error = ParseWords(text, kNames, fault.kind, [&](std::string_view word) {
    return ParseWord(word, places, fault, amount, has_count);
  });
  if (!error.empty()) return error;
  const std::string name(kNames.at(static_cast<size_t>(fault.kind)));
  const bool is_late = fault.kind == Kind::kDelay || fault.kind == Kind::kSpread;
  if (is_late && !amount) return name + " needs an amount";
  if (amount && (fault.kind == Kind::kSplit || fault.kind == Kind::kPoisoned || fault.kind == Kind::kRefused)) {
    return name + " has no amount";
  }
  if (has_count && fault.nth == 0) return "count needs nth";
  (is_late ? fault.delay_ns : fault.after_bytes) = amount.value_or(0);
  return "";
}

}  // namespace

PcieScript ParsePcieScript(std::string_view text, const Places& places) {
  PcieScript script;
  script.error = ParseRules(text, [&](std::string_view part) {
    DmaFault fault;
    std::string error = ParseFault(part, places, fault);
    script.faults.push_back(fault);
    return error;
  });
  if (!script.error.empty()) script.faults.clear();
  return script;
}

}  // namespace vireo::sim
