// SPDX-License-Identifier: Apache-2.0
// Where a running simulation is found: a directory with the sockets of its NICs, its log and its state. Commands that
// run in different terminals meet there.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace vireo::sim {

// What the simulator writes into status.json when it is ready; docs/programs.md tells it to others.
struct SimulationStatus {
  pid_t pid = 0;
  bool virtual_time = false;  // programs see simulated time
  struct Nic {
    std::string name{};  // "vireo0"
    std::string device{}, config{}, preset{};
    std::string socket{};      // of its service; or, if it is exported, of vfio-user
    bool is_exported = false;  // there is no service: programs cannot use it
  };
  std::vector<Nic> nics;  // by number

  // By its number or its name.
  std::optional<size_t> FindNic(const std::string& text) const;
};

class SimulationDirectory {
 public:
  // Without a name: the one that commands without --directory use, of this user.
  explicit SimulationDirectory(std::filesystem::path path) : path_(std::move(path)) {}
  static SimulationDirectory Default();

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path status_file() const { return path_ / "status.json"; }
  std::filesystem::path log_file() const { return path_ / "log"; }

  // Says what lives here: all of it at once, or (false) nothing. The directory exists.
  bool Write(const SimulationStatus& status) const;
  // The simulation that lives here; none if there is none, or its process is gone.
  std::optional<SimulationStatus> Find() const;
  // The last lines of the log, for a message that says why something failed.
  std::string LogTail(size_t lines) const;

 private:
  std::filesystem::path path_;
};

}  // namespace vireo::sim
