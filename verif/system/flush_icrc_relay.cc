// SPDX-License-Identifier: Apache-2.0
#include "verif/system/flush_icrc_relay.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "sim/replay/roce_frame.h"

namespace vireo::sim {
namespace {

constexpr size_t kMostBytes = 16'384;

sockaddr_un AddressOf(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  return address;
}

host::FileDescriptor Bind(const std::string& path) {
  host::FileDescriptor fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ::unlink(path.c_str());
  const sockaddr_un address = AddressOf(path);
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return {};
  return fd;
}

uint32_t LittleEndian(std::span<const uint8_t> bytes) {
  return static_cast<uint32_t>(bytes[0] | bytes[1] << 8 | bytes[2] << 16) | static_cast<uint32_t>(bytes[3]) << 24;
}

}  // namespace

FlushIcrcRelay::FlushIcrcRelay(const std::string& simulator, const std::string& guest)
    : simulator_(simulator),
      guest_(guest),
      to_simulator_(Bind(simulator + ".peer")),
      to_guest_(Bind(guest)),
      stop_(::eventfd(0, EFD_CLOEXEC)) {
  if (to_simulator_.is_open() && to_guest_.is_open() && stop_.is_open()) thread_ = std::thread([this] { Run(); });
}

FlushIcrcRelay::~FlushIcrcRelay() {
  if (!thread_.joinable()) return;
  const uint64_t one = 1;
  EXPECT_EQ(::write(stop_.get(), &one, sizeof one), static_cast<ssize_t>(sizeof one));
  thread_.join();
}

FlushIcrcRelay::Counts FlushIcrcRelay::counts() const {
  return {linux_own_, linux_right_, linux_other_, ours_right_, ours_other_};
}

void FlushIcrcRelay::Run() {
  struct Way {
    const host::FileDescriptor& from;
    const host::FileDescriptor& by;
    sockaddr_un to;
    bool is_from_linux;
  };
  const std::array<Way, 2> ways = {Way{to_guest_, to_simulator_, AddressOf(simulator_), true},
                                   Way{to_simulator_, to_guest_, AddressOf(guest_ + ".peer"), false}};
  for (;;) {
    std::array<pollfd, 3> entries{};
    for (size_t i = 0; i < ways.size(); ++i)
      entries.at(i) = {.fd = ways.at(i).from.get(), .events = POLLIN, .revents = 0};
    entries[2] = {.fd = stop_.get(), .events = POLLIN, .revents = 0};
    if (::poll(entries.data(), entries.size(), -1) < 0 || entries[2].revents != 0) return;
    for (size_t i = 0; i < ways.size(); ++i) {
      if (entries.at(i).revents == 0) continue;
      std::vector<uint8_t> frame(kMostBytes);
      const ssize_t got = ::recv(ways.at(i).from.get(), frame.data(), frame.size(), 0);
      if (got <= 0) continue;
      frame.resize(static_cast<size_t>(got));
      Translate(frame, ways.at(i).is_from_linux);
      // A receiver that is not there, or restarts, loses it.
      ::sendto(ways.at(i).by.get(), frame.data(), frame.size(), 0, reinterpret_cast<const sockaddr*>(&ways.at(i).to),
               sizeof ways.at(i).to);
    }
  }
}

void FlushIcrcRelay::Translate(std::vector<uint8_t>& frame, bool is_from_linux) {
  const ParsedFrame parsed = ParseRoceFrame(frame);
  if (parsed.kind != ParsedFrame::Kind::kRoce || parsed.frame.bth.opcode != spec::BthOpcode::kRcFlush) return;
  const std::vector<uint8_t> right_frame = Encode(parsed.frame);  // with the standard's ICRC
  const size_t end = right_frame.size() - parsed.frame.trailer.size(), icrc_at = end - spec::kIcrcBytes;
  const uint32_t right = LittleEndian(std::span(right_frame).subspan(icrc_at));
  const uint32_t own = SoftRoceFlushIcrc(parsed.frame);
  const bool is_right = parsed.frame.icrc == right;
  if (is_from_linux) {
    ++(is_right ? linux_right_ : parsed.frame.icrc == own ? linux_own_ : linux_other_);
    if (is_right || parsed.frame.icrc != own) return;
  } else {
    ++(is_right ? ours_right_ : ours_other_);
    if (!is_right || linux_right_ != 0) return;
  }
  if (!is_active_) return;
  const uint32_t wanted = is_from_linux ? right : own;
  for (size_t i = 0; i < spec::kIcrcBytes; ++i) frame.at(icrc_at + i) = static_cast<uint8_t>(wanted >> (8 * i));
}

}  // namespace vireo::sim
