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

// Folder -> folders, or single headers without ".h", that it may see besides itself. Inside host/ and sim/ every folder
// has a row of its own; a row that names "sim" or "host" sees all of it.
const std::map<std::string, std::set<std::string>>& AllowedDependencies() {
  static const std::map<std::string, std::set<std::string>> allowed = {
      {"spec", {}},
      {"rtl", {"spec"}},
      {"model", {"spec"}},
      {"firmware", {"spec"}},
      {"host/driver", {"spec"}},
      {"host/verbs", {"spec", "host/driver"}},
      {"host/service", {"spec", "host/driver", "host/verbs"}},
      {"host/ibverbs", {"spec", "host/driver", "host/verbs", "host/service"}},
      {"sim/common", {"spec"}},
      {"sim/time", {"model"}},
      {"sim/nic", {"spec", "sim/time"}},
      // A judge: it must not depend on what it judges.
      {"sim/monitor", {"spec", "sim/nic"}},
      {"sim/pcie", {"spec", "sim/common", "sim/time", "sim/nic"}},
      {"sim/wire", {"spec", "model", "sim/common", "sim/time", "sim/nic"}},
      {"sim/device", {"spec", "rtl", "model", "sim/common", "sim/time", "sim/nic", "sim/pcie"}},
      {"sim/topology",
       {"spec", "firmware", "host/driver", "host/verbs", "sim/common", "sim/time", "sim/nic", "sim/monitor", "sim/pcie",
        "sim/wire", "sim/device"}},
      {"sim/traffic", {"spec", "model", "host/driver", "sim/common", "sim/nic", "sim/wire", "sim/topology"}},
      {"sim/report", {"spec", "model", "sim/time", "sim/nic", "sim/wire", "sim/device"}},
      {"sim/vfio_user", {"spec", "host/driver", "host/service", "sim/topology"}},
      {"sim/pvrdma", {"spec", "host/driver", "host/verbs", "host/service", "sim/vfio_user"}},
      {"sim/bench", {"spec", "model", "firmware", "sim/common", "sim/device", "sim/topology", "sim/traffic"}},
      {"sim/faults", {"spec", "sim/common", "sim/pcie", "sim/wire", "sim/device", "sim/topology", "sim/traffic"}},
      {"sim/replay",
       {"spec", "model", "sim/common", "sim/time", "sim/wire", "sim/device", "sim/topology", "sim/traffic"}},
      {"sim/simulator",
       {"spec", "host/driver", "host/service", "sim/common", "sim/time", "sim/nic", "sim/pcie", "sim/wire",
        "sim/device", "sim/topology", "sim/report", "sim/vfio_user", "sim/pvrdma"}},
      {"platform",
       {"spec", "model", "firmware", "sim/time", "sim/nic", "sim/device/model_nic", "sim/topology/firmware_runner",
        "sim/wire/wire"}},
      {"verif", {"spec", "rtl", "model", "firmware", "host", "sim", "platform", "vp"}},
      {"fpga", {"spec", "rtl", "firmware"}},
      // Examples are projects of their own, with paths from examples/.
      {"examples", {"spec", "host", "platform", "vp"}},
  };
  return allowed;
}

std::string TopFolder(const std::string& path) { return path.substr(0, path.find('/')); }

// The row of AllowedDependencies() that a path belongs to: its two outer folders where those have one, else its
// outermost.
std::string Layer(const std::string& path) {
  const std::string top = TopFolder(path);
  if (AllowedDependencies().contains(top) || (top != "host" && top != "sim")) return top;
  return path.substr(0, path.find('/', top.size() + 1));
}

}  // namespace

std::vector<SourceFile> ReadSources(const std::string& root) {
  static const std::set<std::string> suffixes = {".h", ".cc", ".sv", ".svh", ".c", ".S"};
  std::vector<SourceFile> sources;
  std::set<std::string> folders;
  for (const auto& [layer, ignored] : AllowedDependencies()) folders.insert(TopFolder(layer));
  for (const auto& folder : folders) {
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
  // A package's folder is where it is declared.
  std::map<std::string, std::string> package_home;
  for (const auto& source : sources) {
    const auto slash = source.path.rfind('/') + 1;
    if (source.path.ends_with("_pkg.sv"))
      package_home[source.path.substr(slash, source.path.size() - slash - 3)] = source.path;
  }
  std::vector<std::string> errors;
  for (const auto& source : sources) {
    const std::string folder = Layer(source.path);
    const auto row = AllowedDependencies().find(folder);
    if (row == AllowedDependencies().end()) {
      errors.push_back(source.path + ": " + folder + " is in no layer; give it a row in verif/repo/layering.cc");
      continue;
    }
    const auto& allowed = row->second;
    std::istringstream lines(source.text);
    std::string line;
    for (int number = 1; std::getline(lines, line); ++number) {
      std::smatch match;
      std::string target;
      if (std::regex_search(line, match, include)) {
        target = match[1];
        // Quoted includes are written from the root; generated Verilator classes have no folder.
        if (target.find('/') == std::string::npos) {
          if (target[0] == 'V' && (folder == "verif" || folder == "sim/device")) continue;
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
      const std::string other = Layer(target);
      const std::string header = target.substr(0, target.rfind('.'));
      if (other != folder && !allowed.contains(other) && !allowed.contains(TopFolder(target)) &&
          !allowed.contains(header)) {
        errors.push_back(source.path + ":" + std::to_string(number) + ": " + folder + " must not depend on " + other +
                         " (" + target + ")");
      }
    }
  }
  return errors;
}

}  // namespace vireo::verif
