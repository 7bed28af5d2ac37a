// SPDX-License-Identifier: Apache-2.0
#include "sim/common/run_in_child.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "sim/common/seed.h"

namespace vireo::sim {
namespace {

bool WriteAll(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

[[noreturn]] void RunChild(int reply_to, const std::function<std::optional<std::string>()>& fn,
                           const ChildOptions& options) {
  alarm(options.timeout_seconds);
  if (options.seed) {
    setenv("VIREO_SEED", std::to_string(*options.seed).c_str(), 1);
    if (Seed() != *options.seed) {
      std::fflush(nullptr);
      WriteAll(reply_to, "-the parent has already used its seed");
      _exit(0);
    }
  }
  const std::optional<std::string> reply = fn();
  std::fflush(nullptr);
  // The first byte distinguishes a reply from a child that died.
  const bool sent = WriteAll(reply_to, reply ? "+" + *reply : "-");
  _exit(sent ? 0 : 1);
}

}  // namespace

ChildResult RunInChild(const std::function<std::optional<std::string>()>& fn, const ChildOptions& options) {
  ChildResult result;
  int ends[2];
  if (pipe(ends) != 0) {
    result.error = std::string("pipe: ") + std::strerror(errno);
    return result;
  }
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) {
    result.error = std::string("fork: ") + std::strerror(errno);
    close(ends[0]);
    close(ends[1]);
    return result;
  }
  if (child == 0) {
    close(ends[0]);
    RunChild(ends[1], fn, options);
  }
  close(ends[1]);
  std::string reply;
  std::array<char, 4096> buffer;
  for (;;) {
    const ssize_t got = read(ends[0], buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    reply.append(buffer.data(), static_cast<size_t>(got));
  }
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    result.error = "signal " + std::to_string(signal) + " (" + strsignal(signal) + ")";
  } else if (WEXITSTATUS(status) != 0 || reply.empty()) {
    result.error = "exit status " + std::to_string(WEXITSTATUS(status));
  } else if (reply[0] != '+') {
    result.error = reply.size() > 1 ? reply.substr(1) : "failed";
  } else {
    result.ok = true;
    result.reply = reply.substr(1);
  }
  return result;
}

}  // namespace vireo::sim
