// SPDX-License-Identifier: Apache-2.0
// Unix sockets bound to paths, and passing of file descriptors (SCM_RIGHTS). Message formats are defined by the
// protocols above. Thread-safe.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "host/driver/file_descriptor.h"
#include "host/driver/result.h"

namespace vireo::host {

// `type`: SOCK_STREAM or SOCK_SEQPACKET. kInvalidArgument: the path is empty or too long; kLost: the system refused. A
// non-blocking listening socket at `path`; replaces a stale socket there.
Result<FileDescriptor> ListenAt(const std::string& path, int type);
// A non-blocking datagram socket at `path`, likewise; not connected.
Result<FileDescriptor> BindDatagramAt(const std::string& path);
Result<sockaddr_un> UnixAddress(const std::string& path);
Result<FileDescriptor> ConnectTo(const std::string& path, int type);

// kLost with the text of errno.
Error SystemError(const std::string& what);

// Attaches `fds` to the message; no effect if empty. `control` has CMSG_SPACE for them, is aligned as cmsghdr and
// outlives the sendmsg call.
void AttachFds(msghdr& message, std::span<uint8_t> control, std::span<const int> fds);
// The descriptors of a received message.
std::vector<FileDescriptor> TakeFds(msghdr& message);

}  // namespace vireo::host
