// SPDX-License-Identifier: Apache-2.0
#include "sim/simulator/toml_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>

namespace vireo::sim {
namespace {

// The Damerau-Levenshtein distance (optimal string alignment): insertions, deletions, substitutions and swaps of
// adjacent letters.
size_t Distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> best(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        best[i][j] = i + j;
        continue;
      }
      const size_t cost = a[i - 1] == b[j - 1] ? 0 : 1;
      best[i][j] = std::min({best[i - 1][j] + 1, best[i][j - 1] + 1, best[i - 1][j - 1] + cost});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        best[i][j] = std::min(best[i][j], best[i - 2][j - 2] + 1);
      }
    }
  }
  return best[a.size()][b.size()];
}

std::string NotKnown(std::string_view word, const std::vector<std::string_view>& candidates) {
  const std::string_view nearest = NearestName(word, candidates);
  const std::string all = fmt::format("{}", fmt::join(candidates, ", "));
  return nearest.empty() ? "known: " + all : fmt::format("did you mean '{}'? Known: {}", nearest, all);
}

const char* TypeOf(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table: return "a table";
    case toml::node_type::array: return "an array";
    case toml::node_type::string: return "a string";
    case toml::node_type::integer: return "an integer";
    case toml::node_type::floating_point: return "a floating-point number";
    case toml::node_type::boolean: return "true or false";
    default: return "a date or time";
  }
}

}  // namespace

std::string_view NearestName(std::string_view word, const std::vector<std::string_view>& candidates) {
  std::string_view nearest;
  // A third of the letters may differ.
  size_t least = std::max<size_t>(1, word.size() / 3) + 1;
  for (const std::string_view candidate : candidates) {
    if (const size_t distance = Distance(word, candidate); distance < least) {
      least = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

void TomlReader::Fail(const toml::source_position& place, const std::string& text) {
  if (error_.empty()) error_ = fmt::format("{}:{}:{}: {}", file_, place.line, place.column, text);
}

void TomlReader::Fail(const toml::table& table, std::string_view key, const std::string& text) {
  const toml::node* const node = key.empty() ? nullptr : table.get(key);
  Fail(node == nullptr ? table.source().begin : node->source().begin, text);
}

toml::table TomlReader::ReadFile() {
  std::error_code error;
  std::ifstream file(file_, std::ios::binary);
  // Opening a directory succeeds, reading it fails.
  if (std::filesystem::is_directory(file_, error) || !file.is_open()) {
    error_ = file_ + ": cannot be read";
    return {};
  }
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return Parse(text);
}

toml::table TomlReader::Parse(std::string_view text) {
  try {
    return toml::parse(text);
  } catch (const toml::parse_error& error) {  // Debian's build of the library reports errors only by exceptions
    Fail(error.source().begin, std::string(error.description()));
    return {};
  }
}

void TomlReader::Allow(const toml::table& table, std::string_view what, const std::vector<std::string_view>& keys) {
  // Reports the first unknown key in file order, not in alphabetical order.
  const toml::key* first = nullptr;
  for (const auto& [key, value] : table) {
    if (std::ranges::find(keys, key.str()) != keys.end()) continue;
    const auto place = [](const toml::key& at) { return at.source().begin; };
    if (first == nullptr || place(key) < place(*first)) first = &key;
  }
  if (first == nullptr) return;
  Fail(first->source().begin, fmt::format("{} has no '{}'; {}", what, first->str(), NotKnown(first->str(), keys)));
}

template <typename T>
const T* TomlReader::Find(const toml::table& table, std::string_view key, std::string_view type) {
  const toml::node* const node = table.get(key);
  if (node == nullptr || !error_.empty()) return nullptr;
  const T* const found = node->as<T>();
  if (found == nullptr) Fail(table, key, fmt::format("'{}' must be {}, not {}", key, type, TypeOf(*node)));
  return found;
}

std::optional<std::string> TomlReader::String(const toml::table& table, std::string_view key) {
  const auto* const found = Find<toml::value<std::string>>(table, key, "a string");
  return found == nullptr ? std::nullopt : std::optional(found->get());
}

std::optional<std::string> TomlReader::OneOf(const toml::table& table, std::string_view key,
                                             const std::vector<std::string>& names) {
  std::optional<std::string> found = String(table, key);
  if (found.has_value() && std::ranges::find(names, *found) == names.end()) {
    Fail(table, key,
         fmt::format("there is no {} '{}'; {}", key, *found, NotKnown(*found, {names.begin(), names.end()})));
    found.reset();
  }
  return found;
}

std::optional<uint64_t> TomlReader::Integer(const toml::table& table, std::string_view key, uint64_t least,
                                            uint64_t most) {
  const auto* const found = Find<toml::value<int64_t>>(table, key, "an integer");
  if (found == nullptr) return std::nullopt;
  const int64_t value = found->get();
  if (value < 0 || static_cast<uint64_t>(value) < least || static_cast<uint64_t>(value) > most) {
    // TOML's integers have 63 bits and a sign.
    const uint64_t end = std::min(most, static_cast<uint64_t>(std::numeric_limits<int64_t>::max()));
    Fail(table, key, fmt::format("'{}' must be from {} to {}, not {}", key, least, end, value));
    return std::nullopt;
  }
  return static_cast<uint64_t>(value);
}

std::optional<bool> TomlReader::Boolean(const toml::table& table, std::string_view key) {
  const auto* const found = Find<toml::value<bool>>(table, key, "true or false");
  return found == nullptr ? std::nullopt : std::optional(found->get());
}

std::vector<std::string> TomlReader::Strings(const toml::table& table, std::string_view key) {
  std::vector<std::string> strings;
  const auto* const found = Find<toml::array>(table, key, "an array of strings");
  for (size_t i = 0; found != nullptr && i < found->size(); ++i) {
    const toml::node& node = (*found)[i];
    if (const auto* text = node.as_string()) {
      strings.push_back(text->get());
    } else {
      Fail(node.source().begin, fmt::format("'{}' must be an array of strings; this element is {}", key, TypeOf(node)));
    }
  }
  return strings;
}

const toml::table* TomlReader::Table(const toml::table& table, std::string_view key) {
  return Find<toml::table>(table, key, fmt::format("a table, [{}]", key));
}

std::vector<const toml::table*> TomlReader::Tables(const toml::table& table, std::string_view key) {
  std::vector<const toml::table*> tables;
  const auto* const found = Find<toml::array>(table, key, fmt::format("an array of tables, [[{}]]", key));
  for (size_t i = 0; found != nullptr && i < found->size(); ++i) {
    const toml::node& node = (*found)[i];
    if (const auto* one = node.as_table()) {
      tables.push_back(one);
    } else {
      Fail(node.source().begin,
           fmt::format("'{}' must be an array of tables, [[{}]]; this element is {}", key, key, TypeOf(node)));
    }
  }
  return tables;
}

}  // namespace vireo::sim
