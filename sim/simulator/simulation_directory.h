// SPDX-License-Identifier: Apache-2.0
// The directory of a running simulation: the sockets of its NICs, its log and its state. Commands in different
// terminals find the simulation there.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vireo::sim {

// The contents of status.json, which the simulator writes when it is ready; documented in docs/programs.md.
struct SimulationStatus {
  pid_t pid = 0;
  bool virtual_time = false;  // programs see simulated time
  struct Nic {
    std::string name{};  // "vireo0"
    std::string device{}, config{}, profile{}, preset{};
    std::string socket{};      // of its service, or of vfio-user if exported
    bool is_exported = false;  // no service: programs cannot use it
  };
  std::vector<Nic> nics;  // by number
  struct Guest {          // with a PVRDMA function
    std::string name{}, socket{};
    std::string nic{};  // name of its NIC
  };
  std::vector<Guest> guests{};

  // By its number or its name.
  std::optional<size_t> FindNic(const std::string& text) const;
};

// Of each line of the log that is a violation.
inline constexpr std::string_view kMonitorPrefix = "monitor: ";

class SimulationDirectory {
 public:
  explicit SimulationDirectory(std::filesystem::path path) : path_(std::move(path)) {}
  // The directory of commands without --directory, one per user.
  static SimulationDirectory Default();

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path status_file() const { return path_ / "status.json"; }
  std::filesystem::path log_file() const { return path_ / "log"; }
  std::filesystem::path control_socket() const { return path_ / "control.sock"; }  // control_socket.h

  // Writes status.json atomically; false: failed. The directory must exist.
  bool Write(const SimulationStatus& status) const;
  // The simulation in this directory; nullopt if there is none or its process has exited.
  std::optional<SimulationStatus> Find() const;
  // What the monitor found, at the end of the simulation: lines of the log, in order.
  std::vector<std::string> Violations() const;
  // The last `lines` lines of the log, indented, for error messages.
  std::string LogTail(size_t lines) const;

 private:
  std::filesystem::path path_;
};

}  // namespace vireo::sim
