// SPDX-License-Identifier: Apache-2.0
// Reads tables of a TOML file strictly: an unknown key, or a value of another type or out of range, is an error with
// file, line, column and the allowed values. Nothing is ignored and nothing is converted.
//
// Only the first error is kept; after it every getter returns nothing. So a caller reads all values and then checks
// error() once. One thread; throws nothing.
#pragma once

#include <toml++/toml.h>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vireo::sim {

// The candidate closest to `word` if it is a likely misspelling (a third of the letters may differ); else empty.
std::string_view NearestName(std::string_view word, const std::vector<std::string_view>& candidates);

class TomlReader {
 public:
  // `file`: its path, also the name in errors.
  explicit TomlReader(std::string file) : file_(std::move(file)) {}

  // Parses the file, or a text; empty and an error if it is not TOML.
  toml::table ReadFile();
  toml::table Parse(std::string_view text);

  // Fails if `table` has a key not in `keys`. `what`: the table's name in errors.
  void Allow(const toml::table& table, std::string_view what, const std::vector<std::string_view>& keys);

  // The value of `key` in `table`; nothing if absent or wrong. Integer: `least` and `most` are inclusive.
  std::optional<std::string> String(const toml::table& table, std::string_view key);
  std::optional<std::string> OneOf(const toml::table& table, std::string_view key,
                                   const std::vector<std::string>& names);
  std::optional<uint64_t> Integer(const toml::table& table, std::string_view key, uint64_t least, uint64_t most);
  std::optional<bool> Boolean(const toml::table& table, std::string_view key);
  std::vector<std::string> Strings(const toml::table& table, std::string_view key);
  const toml::table* Table(const toml::table& table, std::string_view key);
  // Array of tables, [[key]].
  std::vector<const toml::table*> Tables(const toml::table& table, std::string_view key);

  // Reports an error at `key` (empty or absent: at the table itself), unless there was one before.
  void Fail(const toml::table& table, std::string_view key, const std::string& text);
  // Empty: no error.
  const std::string& error() const { return error_; }

 private:
  void Fail(const toml::source_position& place, const std::string& text);
  // Null if absent, of another type, or after an error.
  template <typename T>
  const T* Find(const toml::table& table, std::string_view key, std::string_view type);

  const std::string file_;
  std::string error_;
};

}  // namespace vireo::sim
