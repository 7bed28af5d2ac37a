// SPDX-License-Identifier: Apache-2.0
#include "sim/device/board/serial_line.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

namespace vireo::sim {
namespace {

// Linux's rates that a board may have. [termios(3)]
constexpr std::array<std::pair<unsigned, speed_t>, 7> kRates = {{{115'200, B115200},
                                                                 {921'600, B921600},
                                                                 {1'000'000, B1000000},
                                                                 {2'000'000, B2000000},
                                                                 {2'500'000, B2500000},
                                                                 {3'000'000, B3000000},
                                                                 {4'000'000, B4000000}}};

std::string Reason() { return std::generic_category().message(errno); }

}  // namespace

SerialLine::Opened SerialLine::Open(const std::string& path, unsigned bit_rate) {
  speed_t speed = B0;
  for (const auto& [rate, code] : kRates) {
    if (rate == bit_rate) speed = code;
  }
  if (speed == B0) return {nullptr, path + ": serial ports do not have " + std::to_string(bit_rate) + " bit/s"};
  const int file = ::open(path.c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (file < 0) return {nullptr, path + ": " + Reason()};
  std::unique_ptr<SerialLine> line(new SerialLine(file));
  termios settings{};
  if (::tcgetattr(file, &settings) != 0) return {nullptr, path + ": no serial port: " + Reason()};
  if (::ioctl(file, TIOCEXCL) != 0) return {nullptr, path + ": " + Reason()};
  ::cfmakeraw(&settings);
  settings.c_cflag |= CLOCAL | CREAD;
  settings.c_cflag &= ~static_cast<tcflag_t>(CSTOPB | CRTSCTS);
  settings.c_cc[VMIN] = 0;
  settings.c_cc[VTIME] = 0;
  ::cfsetispeed(&settings, speed);
  ::cfsetospeed(&settings, speed);
  if (::tcsetattr(file, TCSANOW, &settings) != 0) return {nullptr, path + ": " + Reason()};
  (void)::tcflush(file, TCIOFLUSH);
  return {std::move(line), ""};
}

SerialLine::~SerialLine() { (void)::close(file_); }

bool SerialLine::Send(std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::write(file_, bytes.data(), bytes.size());
    if (sent > 0) {
      bytes = bytes.subspan(static_cast<size_t>(sent));
    } else if (sent < 0 && errno != EINTR && errno != EAGAIN) {
      return false;
    }
  }
  return true;
}

bool SerialLine::Receive(std::vector<uint8_t>& bytes) {
  pollfd wanted{.fd = file_, .events = POLLIN, .revents = 0};
  if (::poll(&wanted, 1, kPatienceMs) <= 0 || (wanted.revents & POLLIN) == 0) return false;
  std::array<uint8_t, 4096> part;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  const ssize_t count = ::read(file_, part.data(), part.size());
  if (count <= 0) return false;
  bytes.insert(bytes.end(), part.begin(), part.begin() + count);
  return true;
}

}  // namespace vireo::sim
