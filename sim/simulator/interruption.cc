// SPDX-License-Identifier: Apache-2.0
#include "sim/simulator/interruption.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <system_error>
#include <thread>
#include <vector>

namespace vireo::sim {
namespace {

volatile sig_atomic_t first_signal = 0;

void OnSignal(int signal) {
  if (first_signal == 0) first_signal = signal;
}

// In the guard. A number is the leader of one more group; 0: the command has ended by itself.
[[noreturn]] void Guard(int pipe, const std::filesystem::path& directory) {
  setsid();
  prctl(PR_SET_NAME, "vireo-guard");
  std::vector<pid_t> leaders;
  for (;;) {
    pid_t leader = 0;
    const ssize_t got = read(pipe, &leader, sizeof leader);
    if (got < 0 && errno == EINTR) continue;
    if (got != sizeof leader) break;
    if (leader == 0) _exit(0);
    leaders.push_back(leader);
  }
  for (const int signal : {SIGTERM, SIGKILL}) {
    for (const pid_t leader : leaders) kill(-leader, signal);
    if (signal == SIGTERM) std::this_thread::sleep_for(std::chrono::seconds(1));
  }
  std::error_code failed;
  // A process that is still exiting may create a file once more.
  for (int attempt = 0; attempt < 10; ++attempt) {
    std::filesystem::remove_all(directory, failed);
    if (!failed) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  _exit(0);
}

}  // namespace

void CatchInterruptions() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    if (sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_IGN) continue;
    struct sigaction action {};
    action.sa_handler = OnSignal;  // without SA_RESTART: blocking calls return
    sigaction(signal, &action, nullptr);
  }
}

int Interruption() { return first_signal; }

void EndByInterruption() {
  const int signal = Interruption();
  ::signal(signal, SIG_DFL);
  raise(signal);
  std::exit(128 + signal);  // the signal is blocked
}

OrphanGuard::OrphanGuard(const std::filesystem::path& directory) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return;
  const host::FileDescriptor theirs(ends[0]);
  pipe_ = host::FileDescriptor(ends[1]);
  pid_ = fork();
  if (pid_ == 0) {
    pipe_.Close();  // or it would keep the pipe open itself
    Guard(theirs.get(), directory);
  }
  if (pid_ < 0) pipe_.Close();
}

void OrphanGuard::Add(pid_t leader) {
  if (pipe_.is_open()) static_cast<void>(!write(pipe_.get(), &leader, sizeof leader));
}

OrphanGuard::~OrphanGuard() {
  if (pid_ <= 0) return;
  Add(0);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace vireo::sim
