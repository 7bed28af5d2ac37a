// SPDX-License-Identifier: Apache-2.0
// Common parser of fault scripts: rules separated by newlines or semicolons, words, numbers and rates.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

namespace vireo::sim {

// Parses all of `text` as a decimal or 0x… number. False: not a number, or more than 64 bits.
inline bool ParseNumber(std::string_view text, uint64_t& value) {
  int base = 10;
  if (text.starts_with("0x")) {
    text.remove_prefix(2);
    base = 16;
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

inline bool IsDecimal(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// Parses a rate from 0 to 1: "0.001" is 1000 per million.
inline bool ParseRate(std::string_view text, uint32_t& per_million) {
  uint64_t whole = 0, fraction = 0;
  const size_t point = text.find('.');
  if (!IsDecimal(text.substr(0, point)) || !ParseNumber(text.substr(0, point), whole)) return false;
  if (point != std::string_view::npos) {
    std::string decimals(text.substr(point + 1));
    if (!IsDecimal(decimals) || decimals.size() > 6) return false;
    decimals.resize(6, '0');
    if (!ParseNumber(decimals, fraction)) return false;
  }
  if (whole > 1 || whole * 1'000'000 + fraction > 1'000'000) return false;
  per_million = static_cast<uint32_t>(whole * 1'000'000 + fraction);
  return true;
}

// The first word must be one of `names` and selects `kind`, an enumeration in the same order; the others go to
// parse_word. Returns an error message, empty if none.
template <typename Names, typename Kind, typename ParseWord>
std::string ParseWords(std::string_view text, const Names& names, Kind& kind, const ParseWord& parse_word) {
  constexpr std::string_view kBlanks = " \t\r";
  for (bool has_kind = false;; has_kind = true) {
    text.remove_prefix(std::min(text.size(), text.find_first_not_of(kBlanks)));
    if (text.empty()) return "";
    const std::string_view word = text.substr(0, text.find_first_of(kBlanks));
    text.remove_prefix(word.size());
    if (has_kind) {
      if (std::string error = parse_word(word); !error.empty()) return error;
      continue;
    }
    const auto name = std::ranges::find(names, word);
    if (name == names.end()) return "'" + std::string(word) + "' is not a fault";
    kind = static_cast<Kind>(name - names.begin());
  }
}

// Calls parse_rule for each rule of `text`. Returns an error message with its line, empty if none.
template <typename ParseRule>
std::string ParseRules(std::string_view text, const ParseRule& parse_rule) {
  for (size_t line = 1; !text.empty(); ++line) {
    std::string_view rest = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), rest.size() + 1));
    rest = rest.substr(0, rest.find('#'));
    while (!rest.empty()) {
      const std::string_view part = rest.substr(0, rest.find(';'));
      rest.remove_prefix(std::min(rest.size(), part.size() + 1));
      if (part.find_first_not_of(" \t\r") == std::string_view::npos) continue;
      if (const std::string error = parse_rule(part); !error.empty()) {
        return "fault script, line " + std::to_string(line) + ": " + error;
      }
    }
  }
  return "";
}

}  // namespace vireo::sim
