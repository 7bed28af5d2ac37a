// SPDX-License-Identifier: Apache-2.0
// When the simulator polls before it sleeps, and that it moves programs off its processor.
#include "sim/simulator/program_wait.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "sim/simulator/child_process.h"

namespace vireo::sim {
namespace {

constexpr std::chrono::seconds kTimeout(60);

class ProgramWaitTest : public testing::Test {
 protected:
  ProgramWaitTest() {
    loop_.Watch(event_.get(), [] {});
  }
  void Signal() { ASSERT_EQ(::eventfd_write(event_.get(), 1), 0); }
  void Clear() {
    eventfd_t value = 0;
    ASSERT_EQ(::eventfd_read(event_.get(), &value), 0);
  }

  service::EventLoop loop_;
  const host::FileDescriptor event_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  ProgramWait wait_{loop_, [] { return std::vector<pid_t>{}; }};
};

TEST_F(ProgramWaitTest, ReturnsForPendingEvent) {
  Signal();
  wait_.Wait(service::EventLoop::kForeverNs);
  EXPECT_EQ(loop_.Poll(0), 1);  // the event is left to its watcher
  Clear();
  EXPECT_EQ(loop_.Poll(0), 0);
  EXPECT_FALSE(loop_.Find());
}

TEST_F(ProgramWaitTest, ReturnsAfterTimeout) {
  for (const uint64_t ns : {uint64_t{1}, ProgramWait::kPollNs, 10 * ProgramWait::kPollNs}) {
    const uint64_t begin_ns = service::MonotonicNs();
    wait_.Wait(ns);
    EXPECT_GE(service::MonotonicNs() - begin_ns, ns);
  }
}

// Unsuccessful polls become rare; after a successful one every wait polls.
TEST_F(ProgramWaitTest, PollsBackOffUntilSuccessful) {
  for (int i = 0; i < 1000; ++i) wait_.Wait(1);
  EXPECT_LE(wait_.polls(), 1000 / ProgramWait::kSkipMax + 10);
  const uint64_t before = wait_.polls();
  Signal();
  for (unsigned i = 0; i <= ProgramWait::kSkipMax; ++i) wait_.Wait(service::EventLoop::kForeverNs);
  EXPECT_GT(wait_.polls(), before);
  const uint64_t successful = wait_.polls();
  for (int i = 0; i < 100; ++i) wait_.Wait(service::EventLoop::kForeverNs);
  EXPECT_EQ(wait_.polls(), successful + 100);
}

// The processor on which the process ran last. [proc(5), /proc/pid/stat: field 39, the 37th after the name]
int ProcessorOf(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string line;
  std::getline(file, line);
  const size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return -1;
  std::istringstream fields(line.substr(name_end + 1));
  std::string field;
  for (int i = 0; i < 37; ++i) fields >> field;
  return std::stoi(field);
}

cpu_set_t AllowedTo(pid_t process) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  EXPECT_EQ(::sched_getaffinity(process, sizeof allowed, &allowed), 0);
  return allowed;
}

std::optional<ChildProcess> Spin() {
  std::string error;
  auto child = ChildProcess::Start({"/bin/sh", "-c", "while :; do :; done"}, {.ends_with_parent = true}, &error);
  EXPECT_TRUE(child.has_value()) << error;
  return child;
}

class MoveAwayTest : public testing::Test {
 protected:
  // Pins this thread.
  void SetUp() override {
    before_ = AllowedTo(0);
    here_ = ::sched_getcpu();
    CPU_ZERO(&only_here_);
    CPU_SET(static_cast<size_t>(here_), &only_here_);
    ASSERT_EQ(::sched_setaffinity(0, sizeof only_here_, &only_here_), 0);
  }
  void TearDown() override { ::sched_setaffinity(0, sizeof before_, &before_); }

  cpu_set_t before_{}, only_here_{};
  int here_ = -1;
};

TEST_F(MoveAwayTest, MovesSpinningProgramAndRestoresAffinity) {
  if (CPU_COUNT(&before_) < 2) GTEST_SKIP() << "needs two processors";
  auto child = Spin();
  ASSERT_TRUE(child.has_value());
  const pid_t pid = child->pid();
  bool is_away = false;
  for (const auto end = std::chrono::steady_clock::now() + kTimeout;
       !is_away && std::chrono::steady_clock::now() < end;) {
    ASSERT_EQ(::sched_setaffinity(pid, sizeof only_here_, &only_here_), 0);
    if (ProcessorOf(pid) != here_) continue;  // not spinning yet; it migrates at its next wake-up
    ASSERT_EQ(::sched_setaffinity(pid, sizeof before_, &before_), 0);
    MoveAway(pid);
    is_away = ProcessorOf(pid) != here_;
  }
  EXPECT_TRUE(is_away);
  const cpu_set_t after = AllowedTo(pid);
  EXPECT_TRUE(CPU_EQUAL(&after, &before_));
}

TEST_F(MoveAwayTest, PinnedProgramStays) {
  auto child = Spin();
  ASSERT_TRUE(child.has_value());
  ASSERT_EQ(::sched_setaffinity(child->pid(), sizeof only_here_, &only_here_), 0);
  MoveAway(child->pid());
  const cpu_set_t after = AllowedTo(child->pid());
  EXPECT_TRUE(CPU_EQUAL(&after, &only_here_));
}

TEST_F(MoveAwayTest, ExitedProgramIsIgnored) {
  auto child = Spin();
  ASSERT_TRUE(child.has_value());
  const pid_t pid = child->pid();
  child->Stop(std::chrono::seconds(1));
  MoveAway(pid);
  const cpu_set_t after = AllowedTo(0);
  EXPECT_TRUE(CPU_EQUAL(&after, &only_here_));
}

}  // namespace
}  // namespace vireo::sim
