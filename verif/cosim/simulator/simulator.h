// SPDX-License-Identifier: Apache-2.0
// NICs on a wire or switch, each with a service that processes connect to: what holds the world in which unmodified
// RDMA programs run. One thread; everything happens in Run().
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "host/service/event_loop.h"
#include "host/service/service.h"
#include "verif/cosim/rdma_system.h"
#include "verif/cosim/simulator/pacer.h"

namespace vireo::verif {

struct SimulatorOptions {
  std::string directory;  // exists; NIC k's service listens at directory/nick.sock
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
  size_t size() const { return services_.size(); }
  service::Service& service(size_t number) { return *services_[number]; }
  const std::string& socket(size_t number) const { return sockets_[number]; }

 private:
  Simulator() = default;
  void Progress();

  service::EventLoop loop_;
  std::unique_ptr<RdmaSystem> system_;
  std::vector<std::unique_ptr<service::Service>> services_;
  std::vector<std::string> sockets_;
  bool is_stopping_ = false;
};

}  // namespace vireo::verif
