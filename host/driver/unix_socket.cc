// SPDX-License-Identifier: Apache-2.0
#include "host/driver/unix_socket.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace vireo::host {
Result<sockaddr_un> UnixAddress(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    return Error{ErrorCode::kInvalidArgument, "'" + path + "' is not a valid socket path: 1 to " +
                                                  std::to_string(sizeof address.sun_path - 1) + " characters"};
  }
  std::copy(path.begin(), path.end(), address.sun_path);
  return address;
}

Error SystemError(const std::string& what) { return {ErrorCode::kLost, what + ": " + std::strerror(errno)}; }

namespace {

Result<FileDescriptor> BindAt(const std::string& path, int type) {
  const Result<sockaddr_un> address = UnixAddress(path);
  if (!address.ok()) return address.error();
  FileDescriptor socket(::socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.is_open()) return SystemError("socket");
  ::unlink(path.c_str());
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0) {
    return SystemError("bind to " + path);
  }
  return socket;
}

}  // namespace

Result<FileDescriptor> ListenAt(const std::string& path, int type) {
  Result<FileDescriptor> socket = BindAt(path, type);
  if (socket.ok() && ::listen((*socket).get(), SOMAXCONN) != 0) return SystemError("listen at " + path);
  return socket;
}

Result<FileDescriptor> BindDatagramAt(const std::string& path) { return BindAt(path, SOCK_DGRAM); }

Result<FileDescriptor> ConnectTo(const std::string& path, int type) {
  const Result<sockaddr_un> address = UnixAddress(path);
  if (!address.ok()) return address.error();
  FileDescriptor socket(::socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
  if (!socket.is_open()) return SystemError("socket");
  int connected = 0;
  do {
    connected = ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address);
  } while (connected != 0 && errno == EINTR);
  if (connected != 0) return SystemError("connect to " + path);
  return socket;
}

void AttachFds(msghdr& message, std::span<uint8_t> control, std::span<const int> fds) {
  if (fds.empty()) return;
  message.msg_control = control.data();
  message.msg_controllen = CMSG_SPACE(fds.size_bytes());
  cmsghdr* const head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(fds.size_bytes());
  std::memcpy(CMSG_DATA(head), fds.data(), fds.size_bytes());
}

std::vector<FileDescriptor> TakeFds(msghdr& message) {
  std::vector<FileDescriptor> fds;
  for (cmsghdr* head = CMSG_FIRSTHDR(&message); head != nullptr; head = CMSG_NXTHDR(&message, head)) {
    if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(head) + i * sizeof(int), sizeof fd);
      fds.emplace_back(fd);
    }
  }
  return fds;
}

}  // namespace vireo::host
