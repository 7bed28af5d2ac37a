// SPDX-License-Identifier: Apache-2.0
#include "verif/system/guest.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <iterator>
#include <utility>
#include <vector>

#include "host/driver/unix_socket.h"
#include "verif/host/ibverbs/processes.h"

namespace vireo::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int kUnavailable = 77;  // build_guest.py
constexpr auto kBuildTimeout = std::chrono::minutes(10);
constexpr auto kBootTimeout = std::chrono::minutes(3);  // takes seconds on an idle machine

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

Guest::Booted Guest::Boot(const std::string& directory, const std::string& wire) {
  Program build({"python3", VIREO_BUILD_GUEST, VIREO_GUEST_DIRECTORY}, {}, /*yields=*/false);
  if (!build.HasEnded(static_cast<int>(milliseconds(kBuildTimeout).count()))) {
    return {.guest = nullptr, .reason = "building the guest timed out:\n" + build.Output()};
  }
  if (const int status = build.Wait(); status != 0) {
    return {.guest = nullptr, .is_unavailable = status == kUnavailable, .reason = build.Output()};
  }

  std::unique_ptr<Guest> guest(new Guest());
  guest->log_ = directory + "/guest.log";
  guest->tcp_port_ = FreePort();
  const std::string console = directory + "/guest.console";
  host::Result<host::FileDescriptor> listener = host::ListenAt(console, SOCK_STREAM);
  if (!listener.ok()) return {.guest = nullptr, .reason = host::ToString(listener.error())};
  const std::string port = std::to_string(guest->tcp_port_);
  const std::string files = VIREO_GUEST_DIRECTORY;
  // no_timer_check: on a busy machine the kernel's timer interrupt check fails on a late interrupt and panics. A kernel
  // with a PVH entry needs no BIOS. TCG needs no privileges and no hardware support; -cpu max has SSE 4.2, for
  // checksums.
  const std::vector<std::string> command = {
      "qemu-system-x86_64",
      "-M",
      "q35",
      "-accel",
      "tcg",
      "-cpu",
      "max",
      "-m",
      "256",
      "-nodefaults",
      "-no-user-config",
      "-display",
      "none",
      "-no-reboot",
      "-kernel",
      files + "/vmlinux",
      "-initrd",
      files + "/initramfs",
      "-append",
      "console=ttyS0 quiet panic=-1 no_timer_check net.ifnames=0 random.trust_cpu=on tsc=reliable mitigations=off",
      "-serial",
      "file:" + guest->log_,
      "-chardev",
      "socket,id=console,path=" + console,
      "-device",
      "virtio-serial-pci",
      "-device",
      "virtserialport,chardev=console",
      "-netdev",
      "dgram,id=wire,local.type=unix,local.path=" + wire + ".peer,remote.type=unix,remote.path=" + wire,
      "-device",
      "virtio-net-pci,netdev=wire,mac=02:56:49:52:ff:01,romfile=",
      "-netdev",
      "user,id=user,hostfwd=tcp:127.0.0.1:" + port + "-:" + port,
      "-device",
      "virtio-net-pci,netdev=user,romfile="};
  const auto begin = steady_clock::now();
  std::string error;
  guest->qemu_ = ChildProcess::Start(command, {.ends_with_parent = true}, &error);
  if (!guest->qemu_.has_value()) return {.guest = nullptr, .reason = error};
  const auto deadline = begin + kBootTimeout;
  if (IsReadable(listener->get(), deadline)) {
    guest->console_ = host::FileDescriptor(accept4(listener->get(), nullptr, nullptr, SOCK_CLOEXEC));
  }
  const auto left = std::chrono::duration_cast<milliseconds>(deadline - steady_clock::now());
  if (!guest->console_.is_open() || !guest->ReadAnswer(left).has_value()) {
    return {.guest = nullptr, .reason = "the guest does not start: " + guest->Log()};
  }
  guest->boot_time_ = std::chrono::duration_cast<milliseconds>(steady_clock::now() - begin);
  return {.guest = std::move(guest), .reason = ""};
}

std::string Guest::Log() const { return TextOf(log_); }

Guest::~Guest() {
  if (qemu_.has_value()) qemu_->Stop(milliseconds(0));
}

std::optional<Guest::Answer> Guest::Run(const std::string& line, milliseconds timeout) {
  const std::string text = line + "\n";
  if (write(console_.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) return std::nullopt;
  return ReadAnswer(timeout);
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
        answer.status = std::atoi(line.c_str() + 2);  // "ready" is 0
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
