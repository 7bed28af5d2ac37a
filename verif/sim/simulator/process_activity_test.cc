// SPDX-License-Identifier: Apache-2.0
#include "sim/simulator/process_activity.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <future>
#include <thread>

#include "sim/simulator/child_process.h"

namespace vireo::sim {
namespace {

constexpr std::chrono::seconds kTimeout(60);

std::optional<ChildProcess> Start(const std::string& shell) {
  std::string error;
  auto child = ChildProcess::Start({"/bin/sh", "-c", shell}, {.ends_with_parent = true}, &error);
  EXPECT_TRUE(child.has_value()) << error;
  return child;
}

// Waits until IsRunning(pid) is `wanted`.
bool Becomes(bool wanted, pid_t pid) {
  for (const auto end = std::chrono::steady_clock::now() + kTimeout; std::chrono::steady_clock::now() < end;) {
    if (IsRunning(pid, {}) == wanted) return true;
    std::this_thread::yield();
  }
  return false;
}

TEST(ProcessActivity, SpinningProgramRunsAndUsesCpuTime) {
  auto child = Start("while :; do :; done");
  ASSERT_TRUE(child.has_value());
  EXPECT_TRUE(Becomes(true, child->pid()));
  const uint64_t before = ProcessorNs(child->pid());
  const auto end = std::chrono::steady_clock::now() + kTimeout;
  while (ProcessorNs(child->pid()) < before + 1'000'000 && std::chrono::steady_clock::now() < end) {
    std::this_thread::yield();
  }
  EXPECT_GE(ProcessorNs(child->pid()), before + 1'000'000);
}

TEST(ProcessActivity, SleepingProgramDoesNotRun) {
  auto child = Start("exec sleep 1000");
  ASSERT_TRUE(child.has_value());
  EXPECT_TRUE(Becomes(false, child->pid()));
  const uint64_t before = ProcessorNs(child->pid());
  EXPECT_EQ(ProcessorNs(child->pid()), before);
}

TEST(ProcessActivity, ExceptedThreadsAreIgnored) {
  std::promise<pid_t> started;
  std::atomic<bool> ends = false;
  std::thread spinning([&] {
    started.set_value(static_cast<pid_t>(::syscall(SYS_gettid)));
    while (!ends) {
    }
  });
  const pid_t self = ::getpid();
  const pid_t thread = started.get_future().get();
  const std::array<pid_t, 1> asking{self};
  EXPECT_TRUE(IsRunning(self, asking));
  const std::array<pid_t, 2> both{self, thread};
  EXPECT_FALSE(IsRunning(self, both));
  ends = true;
  spinning.join();
}

TEST(ProcessActivity, ExitedProcessDoesNotRun) {
  auto child = Start("exit 0");
  ASSERT_TRUE(child.has_value());
  const pid_t pid = child->pid();
  ASSERT_TRUE(child->Wait(kTimeout).has_value());
  EXPECT_FALSE(IsRunning(pid, {}));
  EXPECT_EQ(ProcessorNs(pid), 0u);
}

}  // namespace
}  // namespace vireo::sim
