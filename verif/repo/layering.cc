// SPDX-License-Identifier: Apache-2.0
#include "verif/repo/layering.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

namespace vireo::verif {
namespace {

// Folder -> folders that it may depend on, besides itself.
const std::map<std::string, std::set<std::string>>& AllowedDependencies() {
  static const std::map<std::string, std::set<std::string>> allowed = {
      {"spec", {}},
      {"rtl", {"spec"}},
      {"model", {"spec"}},
      {"firmware", {"spec"}},
      {"host", {"spec"}},
      {"platform", {"spec", "model", "firmware"}},
      {"verif", {"spec", "rtl", "model", "firmware", "host", "platform", "vp"}},
      {"fpga", {"spec", "rtl", "firmware"}},
      // Examples are projects of their own, with paths from examples/.
      {"examples", {"spec", "host", "platform", "vp"}},
  };
  return allowed;
}

std::string TopFolder(const std::string& path) { return path.substr(0, path.find('/')); }

}  // namespace

std::vector<SourceFile> ReadSources(const std::string& root) {
  static const std::set<std::string> suffixes = {".h", ".cc", ".sv", ".svh", ".c", ".S"};
  std::vector<SourceFile> sources;
  for (const auto& [folder, ignored] : AllowedDependencies()) {
    const std::filesystem::path base = std::filesystem::path(root) / folder;
    if (!std::filesystem::exists(base)) continue;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(base)) {
      if (!suffixes.contains(entry.path().extension().string())) continue;
      std::stringstream text;
      text << std::ifstream(entry.path()).rdbuf();
      sources.push_back({std::filesystem::relative(entry.path(), root).string(), text.str()});
    }
  }
  std::sort(sources.begin(), sources.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  return sources;
}

std::vector<std::string> FindLayeringErrors(const std::vector<SourceFile>& sources) {
  static const std::regex include(R"re(^\s*[#`]include\s+"([^"]+)")re");
  static const std::regex import(R"re(\b(vireo_\w+_pkg)\s*::)re");
  // A package belongs to the folder that declares it.
  std::map<std::string, std::string> package_home;
  for (const auto& source : sources) {
    const auto slash = source.path.rfind('/') + 1;
    if (source.path.ends_with("_pkg.sv"))
      package_home[source.path.substr(slash, source.path.size() - slash - 3)] = source.path;
  }
  std::vector<std::string> errors;
  for (const auto& source : sources) {
    const std::string folder = TopFolder(source.path);
    const auto& allowed = AllowedDependencies().at(folder);
    std::istringstream lines(source.text);
    std::string line;
    for (int number = 1; std::getline(lines, line); ++number) {
      std::smatch match;
      std::string target;
      if (std::regex_search(line, match, include)) {
        target = match[1];
        // Quoted includes are relative to the repository's root; generated Verilator classes have no folder.
        if (target.find('/') == std::string::npos) {
          if (target[0] == 'V' && folder == "verif") continue;
          errors.push_back(source.path + ":" + std::to_string(number) + ": \"" + target +
                           "\" is not a path from the repository's root");
          continue;
        }
      } else if (std::regex_search(line, match, import)) {
        const auto home = package_home.find(match[1]);
        if (home == package_home.end()) continue;
        target = home->second;
      } else {
        continue;
      }
      const std::string other = TopFolder(target);
      if (other != folder && !allowed.contains(other)) {
        errors.push_back(source.path + ":" + std::to_string(number) + ": " + folder + " must not depend on " + other +
                         " (" + target + ")");
      }
    }
  }
  return errors;
}

}  // namespace vireo::verif
