// SPDX-License-Identifier: Apache-2.0
#include "sim/simulator/process_activity.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>

#include "host/driver/file_descriptor.h"

namespace vireo::sim {
namespace {

// The third field of /proc/<process>/task/<thread>/stat (proc(5)); 0 if the thread has exited. The name before it, in
// parentheses, may contain any character.
char StateOf(int tasks, const char* thread) {
  const host::FileDescriptor file(::openat(tasks, (std::string(thread) + "/stat").c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 256> text{};
  const ssize_t bytes = file.is_open() ? ::read(file.get(), text.data(), text.size()) : 0;
  const std::string_view line(text.data(), bytes > 0 ? static_cast<size_t>(bytes) : 0);
  const size_t name_end = line.rfind(") ");
  return name_end == std::string_view::npos || name_end + 2 >= line.size() ? '\0' : line[name_end + 2];
}

}  // namespace

bool IsRunning(pid_t process, std::span<const pid_t> except) {
  struct Close {
    void operator()(DIR* folder) const { ::closedir(folder); }
  };
  const std::unique_ptr<DIR, Close> tasks(::opendir(("/proc/" + std::to_string(process) + "/task").c_str()));
  if (tasks == nullptr) return false;
  while (const dirent* const entry = ::readdir(tasks.get())) {  // NOLINT(concurrency-mt-unsafe)
    const auto thread = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
    if (thread <= 0 || std::ranges::find(except, thread) != except.end()) continue;
    const char state = StateOf(::dirfd(tasks.get()), entry->d_name);
    if (state == 'R' || state == 'D') return true;
  }
  return false;
}

uint64_t ProcessorNs(pid_t process) {
  clockid_t clock{};
  timespec time{};
  if (::clock_getcpuclockid(process, &clock) != 0 || ::clock_gettime(clock, &time) != 0) return 0;
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

}  // namespace vireo::sim
