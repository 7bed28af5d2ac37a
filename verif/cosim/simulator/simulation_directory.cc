// SPDX-License-Identifier: Apache-2.0
#include "verif/cosim/simulator/simulation_directory.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <nlohmann/json.hpp>

namespace vireo::verif {

SimulationDirectory SimulationDirectory::Default() {
  const char* const runtime = std::getenv("XDG_RUNTIME_DIR");
  if (runtime != nullptr && *runtime != '\0') return SimulationDirectory(std::filesystem::path(runtime) / "vireo");
  return SimulationDirectory(std::filesystem::temp_directory_path() / fmt::format("vireo-{}", getuid()));
}

std::optional<SimulationStatus> SimulationDirectory::Find() const {
  std::ifstream file(status_file());
  if (!file) return std::nullopt;
  const nlohmann::json json = nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
  // A file that was cut off, or that somebody else wrote: nothing lives here.
  if (!json.is_object() || !json.contains("pid") || !json["pid"].is_number_integer()) return std::nullopt;
  SimulationStatus status{.pid = json["pid"].get<pid_t>(),
                          .device = json.value("device", ""),
                          .config = json.value("config", ""),
                          .preset = json.value("preset", ""),
                          .nics = {}};
  if (json.contains("nics") && json["nics"].is_array()) {
    for (const nlohmann::json& nic : json["nics"]) {
      if (!nic.is_object()) return std::nullopt;
      status.nics.push_back({.name = nic.value("name", ""), .socket = nic.value("socket", "")});
    }
  }
  if (status.pid <= 0 || (kill(status.pid, 0) != 0 && errno == ESRCH)) return std::nullopt;
  return status;
}

std::string SimulationDirectory::LogTail(size_t lines) const {
  std::ifstream file(log_file());
  std::deque<std::string> last;
  for (std::string line; std::getline(file, line);) {
    last.push_back(std::move(line));
    if (last.size() > lines) last.pop_front();
  }
  std::string text;
  for (const std::string& line : last) text += "  " + line + "\n";
  return text;
}

}  // namespace vireo::verif
