// SPDX-License-Identifier: Apache-2.0
// Checks docs/testplan.toml against the tests that ctest lists: every requirement names at least one test, every name
// or pattern matches a test, no name is redundant in its requirement, and every line of the error table
// (spec/errors.toml) has a requirement.
//
// Pattern: `*` matches any run of characters, also none and also `.` and `/`; every other character matches itself. One
// pattern stands for the devices and configurations of one test:
//   verif.cosim.write.Devices/Write.GoesOverIpv6/*     every device, configuration and ring
//   verif.cosim.write.Devices/Write.*/lockstep_*       every case of the suite in lockstep
//
// usage: vireo_testplan PLAN CTEST BUILD_FOLDER
#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "spec/gen/vireo_spec.h"

namespace {

// Names of all tests listed by `ctest -N`; empty if it failed.
std::set<std::string> ListTests(const std::string& ctest, const std::string& build) {
  const std::string command = fmt::format("'{}' --test-dir '{}' -N", ctest, build);
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"),
                                                   [](FILE* file) { return pclose(file); });
  std::set<std::string> names;
  std::array<char, 1024> line{};
  while (pipe && std::fgets(line.data(), line.size(), pipe.get()) != nullptr) {
    const std::string text(line.data());
    const auto colon = text.find(": ");
    if (text.find("Test") == std::string::npos || text.find('#') == std::string::npos || colon == std::string::npos)
      continue;
    names.insert(text.substr(colon + 2, text.find_last_not_of('\n') - colon - 1));
  }
  return names;
}

// Whether `name` matches `pattern`, in which `*` is any run of characters.
bool Matches(std::string_view pattern, std::string_view name) {
  size_t p = 0, n = 0, star = std::string_view::npos,
         resume = 0;  // star: the last `*`; resume: where it ends in `name`
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = n;
    } else if (p < pattern.size() && pattern[p] == name[n]) {
      ++p, ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++resume;
    } else {
      return false;
    }
  }
  return std::ranges::all_of(pattern.substr(p), [](char rest) { return rest == '*'; });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    fmt::print(stderr, "usage: vireo_testplan PLAN CTEST BUILD_FOLDER\n");
    return 2;
  }
  toml::table plan;
  try {
    plan = toml::parse_file(argv[1]);
  } catch (const toml::parse_error& error) {
    fmt::print(stderr, "{}:{}: {}\n", argv[1], error.source().begin.line, error.description());
    return 1;
  }
  const std::set<std::string> known = ListTests(argv[2], argv[3]);
  if (known.empty()) {
    fmt::print(stderr, "ctest lists no tests in {}\n", argv[3]);
    return 1;
  }
  std::set<std::string> codes;  // without a requirement so far
  constexpr unsigned kCodes = 1U << 8 * sizeof(vireo::spec::RdmaError);
  for (unsigned value = 1; value < kCodes; ++value) {  // 0 is no error
    const char* name = vireo::spec::ToString(static_cast<vireo::spec::RdmaError>(value));
    if (name != nullptr) codes.insert(name);
  }
  int errors = 0, requirements = 0, entries = 0;
  std::set<std::string> covered;
  const toml::array* rows = plan["requirement"].as_array();
  for (size_t i = 0; rows != nullptr && i < rows->size(); ++i) {
    const toml::table* row = (*rows)[i].as_table();
    const std::string text = row == nullptr ? "" : (*row)["text"].value_or(std::string());
    const toml::array* named = row == nullptr ? nullptr : (*row)["tests"].as_array();
    ++requirements;
    if (text.empty() || named == nullptr || named->empty()) {
      fmt::print(stderr, "{}: requirement {} needs `text` and at least one entry in `tests`\n", argv[1], i + 1);
      ++errors;
      continue;
    }
    if (const std::string code = (*row)["error"].value_or(std::string()); !code.empty() && codes.erase(code) == 0) {
      fmt::print(stderr, "{}: \"{}\": error {} does not exist, or has a requirement already\n", argv[1], text, code);
      ++errors;
    }
    std::set<std::string> own;  // of this requirement
    for (const auto& node : *named) {
      const std::string name = node.value_or(std::string());
      ++entries;
      std::vector<std::string> matches;
      std::ranges::copy_if(known, std::back_inserter(matches),
                           [&name](const std::string& test) { return Matches(name, test); });
      const size_t before = own.size();
      own.insert(matches.begin(), matches.end());
      if (matches.empty()) {
        const bool pattern = name.find('*') != std::string::npos;
        fmt::print(stderr, "{}: \"{}\" names {} '{}', which {}\n", argv[1], text, pattern ? "the pattern" : "the test",
                   name, pattern ? "matches no test" : "does not exist");
        ++errors;
      } else if (own.size() == before) {
        fmt::print(stderr, "{}: \"{}\" names '{}', whose tests the entries before it match already\n", argv[1], text,
                   name);
        ++errors;
      }
    }
    covered.insert(own.begin(), own.end());
  }
  if (requirements == 0) {
    fmt::print(stderr, "{}: no [[requirement]]\n", argv[1]);
    return 1;
  }
  for (const std::string& code : codes) {
    fmt::print(stderr, "{}: no requirement has error = \"{}\"\n", argv[1], code);
    ++errors;
  }
  fmt::print("{} requirements, {} names and patterns, {} of {} tests, {} errors\n", requirements, entries,
             covered.size(), known.size(), errors);
  return errors == 0 ? 0 : 1;
}
