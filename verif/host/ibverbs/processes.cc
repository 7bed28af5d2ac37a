// SPDX-License-Identifier: Apache-2.0
#include "verif/host/ibverbs/processes.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <fstream>

namespace vireo::verif {
namespace {

constexpr int kLookMs = 10;  // nobody is told that somebody listens, or that a file grew

}  // namespace

Program::Program(const std::vector<std::string>& command, const std::map<std::string, std::string>& environment,
                 bool yields)
    : output_(memfd_create("output", MFD_CLOEXEC)) {
  std::string error;
  process_ = ChildProcess::Start(command,
                                 {.environment = {environment.begin(), environment.end()},
                                  .output = output_,
                                  .own_session = true,
                                  .ends_with_parent = true,
                                  .yields = yields},
                                 &error);
  if (!process_.has_value()) ADD_FAILURE() << error;
}

Program::~Program() {
  if (process_.has_value()) process_->Stop(std::chrono::milliseconds(0));
  close(output_);
}

bool Program::HasEnded(int milliseconds) {
  return !process_.has_value() || process_->Wait(std::chrono::milliseconds(milliseconds)).has_value();
}

int Program::Wait() {
  if (!process_.has_value()) return -1;
  return process_->Wait(std::chrono::seconds(kPatienceSeconds)).value_or(-1);
}

std::string Program::Output() const {
  std::string text(static_cast<size_t>(lseek(output_, 0, SEEK_END)), '\0');
  const ssize_t count = pread(output_, text.data(), text.size(), 0);
  text.resize(count < 0 ? 0 : static_cast<size_t>(count));
  return text;
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

bool AwaitListener(unsigned port, Program& program) {
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

bool AwaitOutput(const std::string& text, Program& program) {
  for (int looks = 0; looks < kPatienceSeconds * 1000 / kLookMs; ++looks) {
    const bool has_ended = program.HasEnded(kLookMs);
    if (program.Output().find(text) != std::string::npos) return true;
    if (has_ended) return false;
  }
  return false;
}

}  // namespace vireo::verif
