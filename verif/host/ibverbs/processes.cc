// SPDX-License-Identifier: Apache-2.0
#include "verif/host/ibverbs/processes.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace vireo::verif {

Program::Program(const std::vector<std::string>& command, const std::map<std::string, std::string>& environment)
    : output_(memfd_create("output", MFD_CLOEXEC)) {
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_ = fork();
  if (pid_ == 0) {
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    dup2(output_, STDOUT_FILENO);
    dup2(output_, STDERR_FILENO);
    execvp(arguments[0], arguments.data());
    std::perror(arguments[0]);
    _exit(127);
  }
  pidfd_ = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
}

Program::~Program() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  close(pidfd_);
  close(output_);
}

bool Program::HasEnded(int milliseconds) const {
  pollfd waits{.fd = pidfd_, .events = POLLIN, .revents = 0};
  return poll(&waits, 1, milliseconds) == 1;
}

int Program::Wait() {
  if (!HasEnded(kPatienceSeconds * 1000)) return -1;
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::string Program::Output() const {
  std::string text(static_cast<size_t>(lseek(output_, 0, SEEK_END)), '\0');
  const ssize_t count = pread(output_, text.data(), text.size(), 0);
  text.resize(count < 0 ? 0 : static_cast<size_t>(count));
  return text;
}

SimulatorProcess::SimulatorProcess(const std::vector<std::string>& options) {
  std::string name = std::filesystem::temp_directory_path() / "vireo_ibverbs_XXXXXX";
  directory_ = mkdtemp(name.data());
  int ready[2];
  int lifeline[2];
  EXPECT_EQ(pipe(ready), 0);
  EXPECT_EQ(pipe(lifeline), 0);
  lifeline_ = lifeline[1];
  // The simulator's copy of this end would keep it alive.
  fcntl(lifeline_, F_SETFD, FD_CLOEXEC);
  std::vector<std::string> command = {VIREO_SIMULATOR,
                                      "--directory",
                                      directory_,
                                      "--ready",
                                      std::to_string(ready[1]),
                                      "--lifeline",
                                      std::to_string(lifeline[0])};
  command.insert(command.end(), options.begin(), options.end());
  program_ = std::make_unique<Program>(command, std::map<std::string, std::string>());
  close(ready[1]);
  close(lifeline[0]);
  char byte = 0;
  is_ready_ = read(ready[0], &byte, 1) == 1;
  close(ready[0]);
  if (!is_ready_) ADD_FAILURE() << program_->Output();
}

SimulatorProcess::~SimulatorProcess() {
  close(lifeline_);
  EXPECT_EQ(program_->Wait(), 0) << program_->Output();
  std::filesystem::remove_all(directory_);
}

unsigned FreePort() {
  const int socket_fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {}, .sin_zero = {}};
  socklen_t size = sizeof address;
  EXPECT_EQ(bind(socket_fd, reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(getsockname(socket_fd, reinterpret_cast<sockaddr*>(&address), &size), 0);
  close(socket_fd);
  return ntohs(address.sin_port);
}

bool AwaitListener(unsigned port, const Program& program) {
  constexpr int kLookMs = 10;  // the kernel tells nobody that somebody listens
  char wanted[16];
  static_cast<void>(std::snprintf(wanted, sizeof wanted, ":%04X ", port));
  for (int looks = 0; looks < kPatienceSeconds * 1000 / kLookMs; ++looks) {
    for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
      std::ifstream file(table);
      for (std::string line; std::getline(file, line);) {
        const size_t local = line.find(wanted);
        if (local != std::string::npos && line.find(" 0A ", local) != std::string::npos) return true;
      }
    }
    if (program.HasEnded(kLookMs)) return false;
  }
  return false;
}

}  // namespace vireo::verif
