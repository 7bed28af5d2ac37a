// SPDX-License-Identifier: Apache-2.0
// When the simulator looks before it sleeps, and where it moves those who stand in its way.
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

constexpr std::chrono::seconds kPatience(60);

class ProgramWaitTest : public testing::Test {
 protected:
  ProgramWaitTest() {
    loop_.Watch(event_.get(), [] {});
  }
  void Speak() { ASSERT_EQ(::eventfd_write(event_.get(), 1), 0); }
  void Hear() {
    eventfd_t value = 0;
    ASSERT_EQ(::eventfd_read(event_.get(), &value), 0);
  }

  service::EventLoop loop_;
  const host::FileDescriptor event_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  ProgramWait wait_{loop_, [] { return std::vector<pid_t>{}; }};
};

TEST_F(ProgramWaitTest, EndsForWhatIsThere) {
  Speak();
  wait_.Wait(service::EventLoop::kForeverNs);
  EXPECT_EQ(loop_.Poll(0), 1);  // it is left to its watcher
  Hear();
  EXPECT_EQ(loop_.Poll(0), 0);
  EXPECT_FALSE(loop_.Find());
}

TEST_F(ProgramWaitTest, EndsWhenItsTimeIsOver) {
  for (const uint64_t ns : {uint64_t{1}, ProgramWait::kLookNs, 10 * ProgramWait::kLookNs}) {
    const uint64_t begin_ns = service::MonotonicNs();
    wait_.Wait(ns);
    EXPECT_GE(service::MonotonicNs() - begin_ns, ns);
  }
}

// Who never hears anything looks ever more seldom; who hears something looks each time.
TEST_F(ProgramWaitTest, LooksAgainAndAgainOnlyWhereItHelps) {
  for (int i = 0; i < 1000; ++i) wait_.Wait(1);
  EXPECT_LE(wait_.looks(), 1000 / ProgramWait::kSkipMost + 10);
  const uint64_t before = wait_.looks();
  Speak();
  for (unsigned i = 0; i <= ProgramWait::kSkipMost; ++i) wait_.Wait(service::EventLoop::kForeverNs);
  EXPECT_GT(wait_.looks(), before);
  const uint64_t helped = wait_.looks();
  for (int i = 0; i < 100; ++i) wait_.Wait(service::EventLoop::kForeverNs);
  EXPECT_EQ(wait_.looks(), helped + 100);
}

// The processor that the process ran on last. [proc(5), /proc/pid/stat: field 39, the 37th behind the name]
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
  // This thread stays where it is.
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

TEST_F(MoveAwayTest, AProgramThatSpinsGoesToAnotherProcessorAndMayComeBack) {
  if (CPU_COUNT(&before_) < 2) GTEST_SKIP() << "there is one processor";
  auto child = Spin();
  ASSERT_TRUE(child.has_value());
  const pid_t pid = child->pid();
  bool is_away = false;
  for (const auto end = std::chrono::steady_clock::now() + kPatience;
       !is_away && std::chrono::steady_clock::now() < end;) {
    ASSERT_EQ(::sched_setaffinity(pid, sizeof only_here_, &only_here_), 0);
    if (ProcessorOf(pid) != here_) continue;  // it has not begun to spin, and comes when it wakes
    ASSERT_EQ(::sched_setaffinity(pid, sizeof before_, &before_), 0);
    MoveAway(pid);
    is_away = ProcessorOf(pid) != here_;
  }
  EXPECT_TRUE(is_away);
  const cpu_set_t after = AllowedTo(pid);
  EXPECT_TRUE(CPU_EQUAL(&after, &before_));
}

TEST_F(MoveAwayTest, AProgramThatMayBeNowhereElseStays) {
  auto child = Spin();
  ASSERT_TRUE(child.has_value());
  ASSERT_EQ(::sched_setaffinity(child->pid(), sizeof only_here_, &only_here_), 0);
  MoveAway(child->pid());
  const cpu_set_t after = AllowedTo(child->pid());
  EXPECT_TRUE(CPU_EQUAL(&after, &only_here_));
}

TEST_F(MoveAwayTest, AProgramThatIsNotThereIsNoMatter) {
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
