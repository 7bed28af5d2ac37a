// SPDX-License-Identifier: Apache-2.0
// Reads tables of a TOML file strictly: a key that is not known, a value of another type or out of range is an error,
// with file, line and column, and what is allowed there. Nothing is ignored and nothing is converted.
//
// The first error counts; after it everything that is asked for is absent. So a caller reads all that it wants and then
// looks at error() once. One thread; throws nothing.
#pragma once

#include <toml++/toml.h>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vireo::sim {

// The candidate that is closest to `word`, if it may well be a slip of the same word; else empty.
std::string_view NearestName(std::string_view word, const std::vector<std::string_view>& candidates);

class TomlReader {
 public:
  // `file`: how errors call it.
  explicit TomlReader(std::string file) : file_(std::move(file)) {}

  // The whole of a file, or of its text; empty, and an error, if it is no TOML.
  toml::table ReadFile();
  toml::table Parse(std::string_view text);

  // `table`, which errors call `what`, has no other keys than these.
  void Allow(const toml::table& table, std::string_view what, const std::vector<std::string_view>& keys);

  // Of `key` in `table`; nothing if it is not there, or wrong.
  std::optional<std::string> String(const toml::table& table, std::string_view key);
  std::optional<std::string> OneOf(const toml::table& table, std::string_view key,
                                   const std::vector<std::string>& names);
  std::optional<uint64_t> Integer(const toml::table& table, std::string_view key, uint64_t least, uint64_t most);
  std::optional<bool> Boolean(const toml::table& table, std::string_view key);
  std::vector<std::string> Strings(const toml::table& table, std::string_view key);
  const toml::table* Table(const toml::table& table, std::string_view key);
  // [[key]]
  std::vector<const toml::table*> Tables(const toml::table& table, std::string_view key);

  // Says that what is there (or, without `key`, the table itself) is wrong, unless something was before.
  void Fail(const toml::table& table, std::string_view key, const std::string& text);
  // Empty: everything was right.
  const std::string& error() const { return error_; }

 private:
  void Fail(const toml::source_position& place, const std::string& text);
  // Null if it is not there, is of another type, or there was an error.
  template <typename T>
  const T* Find(const toml::table& table, std::string_view key, std::string_view type);

  const std::string file_;
  std::string error_;
};

}  // namespace vireo::sim
