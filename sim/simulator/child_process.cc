// SPDX-License-Identifier: Apache-2.0
#include "sim/simulator/child_process.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string_view>
#include <thread>

namespace vireo::sim {
namespace {

constexpr auto kPollInterval = std::chrono::milliseconds(5);

// Gives this process the lowest scheduling priority. No effect if the system does not permit it.
void Yield(bool own_session) {
  const sched_param parameters{};
  sched_setscheduler(0, SCHED_IDLE, &parameters);
  // With autogrouping the policy applies within one session only; the session itself has a nice value. [sched(7), The
  // autogroup feature] 5 gives about a third of a normal share; 19 would starve the process beside a build.
  if (!own_session) return;
  constexpr std::string_view kNice = "5";
  const int group = open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);
  if (group < 0) return;
  static_cast<void>(!write(group, kNice.data(), kNice.size()));
  close(group);
}

// Runs in the child, between fork and exec.
[[noreturn]] void Exec(const std::vector<std::string>& command, const ChildOptions& options, int report) {
  if (options.own_session) setsid();
  if (options.ends_with_parent) prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (options.output >= 0) {
    dup2(options.output, STDOUT_FILENO);
    dup2(options.output, STDERR_FILENO);
  }
  for (const int fd : options.inherited) fcntl(fd, F_SETFD, 0);
  if (options.yields) Yield(options.own_session);
  // If not permitted, runs differ by some nanoseconds.
  if (options.fixed_addresses) personality(ADDR_NO_RANDOMIZE);
  for (const auto& [name, value] : options.environment) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  const int reason = errno;
  static_cast<void>(!write(report, &reason, sizeof reason));
  _exit(127);
}

// Inodes of listening TCP sockets in the network namespace of `pid`.
std::set<std::string> ListeningInodes(pid_t pid) {
  std::set<std::string> inodes;
  for (const char* table : {"tcp", "tcp6"}) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/net/" + table);
    std::string line;
    std::getline(file, line);  // the heading
    while (std::getline(file, line)) {
      std::istringstream fields(line);
      std::string slot, local, remote, state, queues, timer, retransmit, uid, timeout, inode;
      fields >> slot >> local >> remote >> state >> queues >> timer >> retransmit >> uid >> timeout >> inode;
      if (state == "0A") inodes.insert(inode);  // TCP_LISTEN
    }
  }
  return inodes;
}

std::vector<pid_t> ChildrenOf(pid_t pid) {
  std::vector<pid_t> children;
  std::ifstream file("/proc/" + std::to_string(pid) + "/task/" + std::to_string(pid) + "/children");
  for (pid_t child = 0; file >> child;) children.push_back(child);
  return children;
}

bool HoldsOneOf(pid_t pid, const std::set<std::string>& inodes) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/fd", error)) {
    const std::string target = std::filesystem::read_symlink(entry.path(), error).string();
    constexpr std::string_view kPrefix = "socket:[";
    if (target.starts_with(kPrefix) &&
        inodes.contains(target.substr(kPrefix.size(), target.size() - kPrefix.size() - 1))) {
      return true;
    }
  }
  for (const pid_t child : ChildrenOf(pid)) {
    if (HoldsOneOf(child, inodes)) return true;
  }
  return false;
}

// The state follows the name, which is in parentheses and may itself contain some. [proc(5), /proc/pid/stat]
bool Waits(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  std::getline(file, line);
  const size_t name_end = line.rfind(')');
  if (name_end != std::string::npos && line.compare(name_end, 3, ") S") != 0) return false;
  const std::vector<pid_t> children = ChildrenOf(pid);
  return std::ranges::all_of(children, Waits);
}

}  // namespace

std::optional<ChildProcess> ChildProcess::Start(const std::vector<std::string>& command, const ChildOptions& options,
                                                std::string* error) {
  // A successful exec closes the pipe; a failed one writes errno.
  int report[2];
  if (pipe2(report, O_CLOEXEC) != 0) {
    *error = std::strerror(errno);
    return std::nullopt;
  }
  const pid_t pid = fork();
  if (pid == 0) Exec(command, options, report[1]);
  const int fork_error = errno;
  close(report[1]);
  int reason = 0;
  ssize_t got = 0;
  do got = pid < 0 ? 0 : read(report[0], &reason, sizeof reason);
  while (got < 0 && errno == EINTR);
  const bool failed = pid < 0 || got == sizeof reason;
  close(report[0]);
  if (!failed) {
    if (options.on_start) options.on_start(pid);
    return ChildProcess(pid, options.own_session);
  }
  if (pid > 0) waitpid(pid, nullptr, 0);
  *error = command[0] + ": " + std::strerror(pid < 0 ? fork_error : reason);
  return std::nullopt;
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), own_session_(other.own_session_), ended_(other.ended_) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(own_session_, other.own_session_);
  std::swap(ended_, other.ended_);
  return *this;
}

ChildProcess::~ChildProcess() { Stop(std::chrono::seconds(2)); }

std::optional<int> ChildProcess::Wait(std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while (!ended_.has_value() && pid_ > 0) {
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) == pid_) {
      ended_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
      break;
    }
    if (std::chrono::steady_clock::now() >= deadline) break;
    std::this_thread::sleep_for(kPollInterval);
  }
  return ended_;
}

void ChildProcess::Stop(std::chrono::milliseconds timeout) {
  if (pid_ <= 0 || ended_.has_value()) return;
  const pid_t target = own_session_ ? -pid_ : pid_;
  kill(target, SIGTERM);
  if (!Wait(timeout).has_value()) {
    kill(target, SIGKILL);
    Wait(std::chrono::seconds(10));
  }
  // Descendants that are still running.
  if (own_session_) kill(target, SIGKILL);
}

bool ChildProcess::IsWaiting() const { return pid_ > 0 && Waits(pid_); }

bool ChildProcess::IsListening() const {
  if (pid_ <= 0) return false;
  const std::set<std::string> inodes = ListeningInodes(pid_);
  return !inodes.empty() && HoldsOneOf(pid_, inodes);
}

}  // namespace vireo::sim
