// SPDX-License-Identifier: Apache-2.0
#include "sim/device/board/pty_board.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): posix_openpt
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <span>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace vireo::sim {

PtyBoard::Opened PtyBoard::Open(std::unique_ptr<ByteLine> board) {
  const auto fail = [] { return Opened{nullptr, "no pseudo terminal: " + std::generic_category().message(errno)}; };
  const int file = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (file < 0) return fail();
  std::unique_ptr<PtyBoard> opened(new PtyBoard(std::move(board), file));
  std::array<char, 64> path{};
  if (::grantpt(file) != 0 || ::unlockpt(file) != 0 || ::ptsname_r(file, path.data(), path.size()) != 0) return fail();
  opened->path_ = path.data();
  // Raw from the start: a program that opens it may send at once.
  termios settings{};
  if (::tcgetattr(file, &settings) != 0) return fail();
  ::cfmakeraw(&settings);
  if (::tcsetattr(file, TCSANOW, &settings) != 0) return fail();
  return {std::move(opened), ""};
}

PtyBoard::~PtyBoard() { (void)::close(file_); }

void PtyBoard::Serve(const std::atomic<bool>& stop) {
  constexpr int kLookAgainMs = 20;
  constexpr int kQuietMax = 200;  // times the patience: then the board has nothing to say
  constexpr size_t kTogether = 256;
  std::array<uint8_t, 4096> part;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  std::vector<uint8_t> bytes;      // from the board
  int quiet = kQuietMax;
  while (!stop) {
    if (quiet < kQuietMax && board_->Receive(bytes) && bytes.size() < kTogether) continue;
    for (size_t sent = 0; sent < bytes.size();) {
      const ssize_t now = ::write(file_, bytes.data() + sent, bytes.size() - sent);
      if (now <= 0) break;
      sent += static_cast<size_t>(now);
    }
    quiet = bytes.empty() ? quiet + 1 : 0;
    bytes.clear();
    pollfd wanted{.fd = file_, .events = POLLIN, .revents = 0};
    if (::poll(&wanted, 1, quiet < kQuietMax ? 0 : kLookAgainMs) <= 0) continue;
    const ssize_t count = ::read(file_, part.data(), part.size());
    if (count > 0) {
      (void)board_->Send(std::span(part).first(static_cast<size_t>(count)));
      quiet = 0;
    } else {  // nobody has it open
      std::this_thread::sleep_for(std::chrono::milliseconds(kLookAgainMs));
    }
  }
}

}  // namespace vireo::sim
