// SPDX-License-Identifier: Apache-2.0
#include "verif/system/guest.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "host/driver/unix_socket.h"
#include "verif/host/ibverbs/processes.h"

namespace vireo::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int kUnavailable = 77;  // guest/qemu.py
constexpr auto kBuildTimeout = std::chrono::minutes(15);
constexpr auto kBootTimeout = std::chrono::minutes(10);  // takes seconds on an idle machine
constexpr auto kSleep = std::chrono::seconds(1);         // before each press of the power button

bool IsReadable(int fd, steady_clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<milliseconds>(deadline - steady_clock::now()).count();
  pollfd entry{.fd = fd, .events = POLLIN, .revents = 0};
  return left > 0 && poll(&entry, 1, static_cast<int>(left)) == 1;
}

std::string TextOf(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

bool IsFullSystemTest() {
  const char* const value = std::getenv("VIREO_SYSTEM");
  return value != nullptr && std::string_view(value) == "full";
}

Guest::Booted Guest::Start(const GuestSetup& setup) {
  const bool has_nic = !setup.nic.empty(), has_vfio = !setup.vfio.empty(), has_pvrdma = !setup.pvrdma.empty();
  const std::string role = has_nic          ? "driver"
                           : has_vfio       ? "vfio"
                           : has_pvrdma     ? "pvrdma"
                           : setup.has_peer ? "peer"
                                            : "softroce";
  std::vector<std::string> prepare = {"python3", VIREO_GUEST_QEMU, VIREO_GUEST_DIRECTORY, "--only-build", role};
  if (!setup.kernel.empty()) prepare.insert(prepare.end(), {"--kernel", setup.kernel});
  Program build(prepare, {}, /*yields=*/false);
  if (!build.HasEnded(static_cast<int>(milliseconds(kBuildTimeout).count()))) {
    return {.guest = nullptr, .reason = "building the guest timed out:\n" + build.Output()};
  }
  if (const int status = build.Wait(); status != 0) {
    return {.guest = nullptr, .is_unavailable = status == kUnavailable, .reason = build.Output()};
  }

  std::unique_ptr<Guest> guest(new Guest());
  guest->log_ = setup.directory + "/" + setup.name + ".log";
  const std::string console = setup.directory + "/" + setup.name + ".console";
  host::Result<host::FileDescriptor> listener = host::ListenAt(console, SOCK_STREAM);
  if (!listener.ok()) return {.guest = nullptr, .reason = host::ToString(listener.error())};
  guest->listener_ = std::move(listener).value();
  std::vector<std::string> command = {"python3",
                                      VIREO_GUEST_QEMU,
                                      VIREO_GUEST_DIRECTORY,
                                      "--serial",
                                      "file:" + guest->log_,
                                      "--console",
                                      console,
                                      "--host",
                                      std::to_string(setup.host),
                                      "--cpus",
                                      std::to_string(setup.cpus),
                                      "--memory",
                                      std::to_string(setup.memory_mib)};
  if (has_nic) {
    guest->monitor_ = setup.directory + "/" + setup.name + ".monitor";
    command.insert(command.end(), {"--nic", setup.nic, "--reboots", "--monitor", guest->monitor_});
  } else if (has_vfio) {
    for (const std::string& socket : setup.vfio) command.insert(command.end(), {"--vfio", socket});
  } else {
    guest->tcp_port_ = FreePort();
    command.insert(command.end(), {"--tcp-port", std::to_string(guest->tcp_port_)});
    if (has_pvrdma) {
      command.insert(command.end(), {"--pvrdma", setup.pvrdma, "--link", setup.link, "--reboots"});
      if (setup.has_root) command.emplace_back("--root");
    } else {
      command.insert(command.end(), {"--wire", setup.wire});
      if (setup.has_peer) command.emplace_back("--peer");
    }
  }
  if (!setup.kernel.empty()) command.insert(command.end(), {"--kernel", setup.kernel});
  if (!setup.program.empty()) command.insert(command.end(), {"--program", setup.program});
  guest->begin_ = steady_clock::now();
  std::string error;
  guest->qemu_ = ChildProcess::Start(command, {.ends_with_parent = true}, &error);
  if (!guest->qemu_.has_value()) return {.guest = nullptr, .reason = error};
  return {.guest = std::move(guest), .reason = ""};
}

std::optional<std::string> Guest::AwaitBoot() {
  const auto deadline = begin_ + kBootTimeout;
  if (IsReadable(listener_.get(), deadline)) {
    console_ = host::FileDescriptor(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  }
  const auto left = std::chrono::duration_cast<milliseconds>(deadline - steady_clock::now());
  if (!console_.is_open() || !ReadAnswer(left).has_value()) return "the guest does not start: " + Log();
  boot_time_ = std::chrono::duration_cast<milliseconds>(steady_clock::now() - begin_);
  return std::nullopt;
}

std::string Guest::Log() const { return TextOf(log_); }

Guest::~Guest() {
  if (qemu_.has_value()) qemu_->Stop(milliseconds(0));
}

bool Guest::Write(const std::string& line) {
  const std::string text = line + "\n";
  return write(console_.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

std::optional<Guest::Answer> Guest::Run(const std::string& line, milliseconds timeout) {
  if (!Write(line)) return std::nullopt;
  std::optional<Answer> answer = ReadAnswer(timeout);
  if (answer.has_value() && answer->status == kReady) return std::nullopt;  // it has started again instead
  return answer;
}

// A button that is pressed before the machine sleeps has no effect, so it is pressed again.
std::optional<Guest::Answer> Guest::RunAndWake(const std::string& line, milliseconds timeout) {
  const auto deadline = steady_clock::now() + timeout;
  if (!Write(line) || IsReadable(console_.get(), steady_clock::now() + kSleep)) return std::nullopt;
  do {
    if (steady_clock::now() > deadline || !PressPowerButton()) return std::nullopt;
  } while (!IsReadable(console_.get(), steady_clock::now() + kSleep));
  return ReadAnswer(timeout);
}

bool Guest::PressPowerButton() {
  const host::Result<host::FileDescriptor> monitor = host::ConnectTo(monitor_, SOCK_STREAM);
  if (!monitor.ok()) return false;
  constexpr std::string_view kCommand = "system_powerdown\n";
  if (write(monitor.value().get(), kCommand.data(), kCommand.size()) != static_cast<ssize_t>(kCommand.size())) {
    return false;
  }
  // It prompts when it is connected, and when the command has been executed.
  constexpr std::string_view kPrompt = "(qemu) ";
  std::string output;
  for (size_t prompts = 0, from = 0; prompts < 2;) {
    if (const size_t at = output.find(kPrompt, from); at != std::string::npos) {
      ++prompts;
      from = at + kPrompt.size();
      continue;
    }
    std::array<char, 4096> buffer;  // NOLINT: only received bytes are read
    if (!IsReadable(monitor.value().get(), steady_clock::now() + kBootTimeout)) return false;
    const ssize_t got = read(monitor.value().get(), buffer.data(), buffer.size());
    if (got <= 0) return false;
    output.append(buffer.data(), static_cast<size_t>(got));
  }
  return true;
}

bool Guest::Reboot(const std::string& line) {
  if (!Write(line)) return false;
  const std::optional<Answer> answer = ReadAnswer(kBootTimeout);
  return answer.has_value() && answer->status == kReady;
}

// Output lines, each with a leading blank, followed by "= STATUS".
std::optional<Guest::Answer> Guest::ReadAnswer(milliseconds timeout) {
  const auto deadline = steady_clock::now() + timeout;
  Answer answer;
  for (;;) {
    for (size_t end = unread_.find('\n'); end != std::string::npos; end = unread_.find('\n')) {
      const std::string line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      if (line.starts_with("= ")) {
        answer.status = line == "= ready" ? kReady : std::atoi(line.c_str() + 2);
        return answer;
      }
      answer.output += line.substr(line.empty() ? 0 : 1) + "\n";
    }
    std::array<char, 4096> buffer;  // NOLINT: only received bytes are read
    if (!IsReadable(console_.get(), deadline)) return std::nullopt;
    const ssize_t got = read(console_.get(), buffer.data(), buffer.size());
    if (got <= 0) return std::nullopt;
    unread_.append(buffer.data(), static_cast<size_t>(got));
  }
}

}  // namespace vireo::sim
