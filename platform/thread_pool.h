// SPDX-License-Identifier: Apache-2.0
// SystemC threads for blocking calls that run side by side.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "platform/systemc.h"

namespace vireo::platform {

class ThreadPool {
 public:
  explicit ThreadPool(std::string name) : name_(std::move(name)) {}

  // Runs `work` in a thread of its own, in the current evaluation phase. Threads are reused.
  void Run(std::function<void()> work) {
    if (idle_.empty()) {
      Worker& made = *workers_.emplace_back(std::make_unique<Worker>());
      made.work = std::move(work);
      sc_core::sc_spawn_options options;
      options.set_stack_size(kStackBytes);
      sc_core::sc_spawn([this, &made] { Loop(made); }, sc_core::sc_gen_unique_name(name_.c_str()), &options);
      return;
    }
    Worker& worker = *idle_.back();
    idle_.pop_back();
    worker.work = std::move(work);
    worker.start.notify();
  }
  bool IsIdle() const { return idle_.size() == workers_.size(); }

  static constexpr int kStackBytes = 256 * 1024;

 private:
  struct Worker {
    std::function<void()> work;  // empty: idle
    sc_core::sc_event start;
  };
  void Loop(Worker& worker) {
    for (;;) {
      while (!worker.work) sc_core::wait(worker.start);
      worker.work();
      worker.work = nullptr;
      idle_.push_back(&worker);
    }
  }

  const std::string name_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<Worker*> idle_;
};

}  // namespace vireo::platform
