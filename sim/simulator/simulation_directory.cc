// SPDX-License-Identifier: Apache-2.0
#include "sim/simulator/simulation_directory.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <nlohmann/json.hpp>

namespace vireo::sim {

std::optional<size_t> SimulationStatus::FindNic(const std::string& text) const {
  for (size_t i = 0; i < nics.size(); ++i) {
    if (text == nics[i].name || text == std::to_string(i)) return i;
  }
  return std::nullopt;
}

SimulationDirectory SimulationDirectory::Default() {
  const char* const runtime = std::getenv("XDG_RUNTIME_DIR");
  if (runtime != nullptr && *runtime != '\0') return SimulationDirectory(std::filesystem::path(runtime) / "vireo");
  return SimulationDirectory(std::filesystem::temp_directory_path() / fmt::format("vireo-{}", getuid()));
}

namespace {

// A zombie has exited, and only its parent has not noticed. [proc(5), /proc/pid/stat: the state follows the name]
bool IsRunning(pid_t pid) {
  if (kill(pid, 0) != 0 && errno == ESRCH) return false;
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string line;
  std::getline(file, line);
  const size_t name_end = line.rfind(')');
  if (name_end == std::string::npos || name_end + 2 >= line.size()) return true;  // not readable
  return line[name_end + 2] != 'Z' && line[name_end + 2] != 'X';
}

// Empty: missing, or of another type.
std::string Text(const nlohmann::ordered_json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
}

}  // namespace

std::optional<SimulationStatus> SimulationDirectory::Find() const {
  std::ifstream file(status_file());
  if (!file) return std::nullopt;
  const auto json = nlohmann::ordered_json::parse(file, nullptr, /*allow_exceptions=*/false);
  // A truncated or foreign file counts as no simulation.
  if (!json.is_object() || !json.contains("pid") || !json["pid"].is_number_integer()) return std::nullopt;
  SimulationStatus status{
      .pid = json["pid"].get<pid_t>(), .virtual_time = json.value("virtual_time", false), .nics = {}};
  if (json.contains("nics") && json["nics"].is_array()) {
    for (const auto& nic : json["nics"]) {
      if (!nic.is_object()) return std::nullopt;
      const auto exported = nic.find("exported");
      status.nics.push_back({.name = Text(nic, "name"),
                             .device = Text(nic, "device"),
                             .config = Text(nic, "config"),
                             .profile = Text(nic, "profile"),
                             .preset = Text(nic, "preset"),
                             .socket = Text(nic, "socket"),
                             .is_exported = exported != nic.end() && *exported == true});
    }
  }
  if (json.contains("guests") && json["guests"].is_array()) {
    for (const auto& guest : json["guests"]) {
      if (!guest.is_object()) return std::nullopt;
      status.guests.push_back(
          {.name = Text(guest, "name"), .socket = Text(guest, "socket"), .nic = Text(guest, "nic")});
    }
  }
  if (status.pid <= 0 || !IsRunning(status.pid)) return std::nullopt;
  return status;
}

bool SimulationDirectory::Write(const SimulationStatus& status) const {
  nlohmann::ordered_json json = {
      {"pid", status.pid}, {"virtual_time", status.virtual_time}, {"nics", nlohmann::json::array()}};
  for (const SimulationStatus::Nic& nic : status.nics) {
    json["nics"].push_back({{"name", nic.name},
                            {"device", nic.device},
                            {"config", nic.config},
                            {"profile", nic.profile},
                            {"preset", nic.preset},
                            {"socket", nic.socket},
                            {"exported", nic.is_exported}});
  }
  if (!status.guests.empty()) json["guests"] = nlohmann::json::array();
  for (const SimulationStatus::Guest& guest : status.guests) {
    json["guests"].push_back({{"name", guest.name}, {"socket", guest.socket}, {"nic", guest.nic}});
  }
  const std::filesystem::path temporary = status_file().string() + ".new";
  std::ofstream file(temporary);
  file << json.dump(2) << "\n";
  file.close();
  std::error_code error;
  std::filesystem::rename(temporary, status_file(), error);
  return file.good() && !error;
}

std::vector<std::string> SimulationDirectory::Violations() const {
  std::ifstream file(log_file());
  std::vector<std::string> all;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(kMonitorPrefix)) all.push_back(std::move(line));
  }
  return all;
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

}  // namespace vireo::sim
