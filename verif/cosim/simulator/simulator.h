// SPDX-License-Identifier: Apache-2.0
// NICs on a wire or switch, each with a service that processes connect to: what holds the world in which unmodified
// RDMA programs run. Or each whole, as a PCI function for a driver or a guest. One thread; everything happens in Run().
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "host/service/event_loop.h"
#include "host/service/service.h"
#include "verif/cosim/rdma_system.h"
#include "verif/cosim/simulator/pacer.h"
#include "verif/cosim/vfio_user/server.h"
#include "verif/report/message_tracker.h"

namespace vireo::verif {

enum class Export : uint8_t {
  kService,   // NIC k's service listens at directory/nick.sock
  kVfioUser,  // NIC k's PCI function is at directory/nick.vfio, and nobody has opened it
};

struct SimulatorOptions {
  std::string directory;  // exists
  Export export_as = Export::kService;
  // Follows the messages from the start; outlives the simulator. Null: nobody does, and it costs nothing.
  MessageTracker* tracker = nullptr;
  RdmaSystemOptions system{.nics = 2, .fabric = Fabric::kSwitch, .network_switch = {.hairpin = true}};
};

// NIC n is device vireo<n>. GID 0 is the link-local address of its MAC, GID 1 is ::ffff:10.0.0.<n + 1>.
class Simulator {
 public:
  struct Built {
    std::unique_ptr<Simulator> simulator;  // null if there is an error
    std::string error;
  };
  static Built Build(const SimulatorOptions& options);
  ~Simulator();

  // Until Stop(), from a watcher of loop().
  void Run();
  void Stop() { is_stopping_ = true; }

  service::EventLoop& loop() { return loop_; }
  RdmaSystem& system() { return *system_; }
  size_t size() const { return sockets_.size(); }
  static std::string NicName(size_t number) { return "vireo" + std::to_string(number); }
  const std::string& socket(size_t number) const { return sockets_[number]; }

 private:
  Simulator() = default;
  std::string OpenService(const SimulatorOptions& options, size_t number);
  std::string OpenVfioUser(const SimulatorOptions& options, size_t number);
  void Reset(size_t number);
  void Progress();
  uint64_t NextDeadlineNs(uint64_t now_ns) const;

  service::EventLoop loop_;
  std::unique_ptr<RdmaSystem> system_;
  std::vector<std::unique_ptr<service::Service>> services_;
  std::vector<std::unique_ptr<VfioUserServer>> vfio_users_;
  std::vector<std::string> sockets_;
  bool is_stopping_ = false;
};

}  // namespace vireo::verif
