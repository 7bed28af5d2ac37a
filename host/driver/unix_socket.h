// SPDX-License-Identifier: Apache-2.0
// Unix sockets at paths, and the file descriptors that travel with messages. What a message is, is its protocol's
// matter. For any thread.
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

// `type`: SOCK_STREAM or SOCK_SEQPACKET. kInvalidArgument: the path is empty or too long; kLost: the system refused.
// A listening socket at `path`, in place of what was left there. Non-blocking.
Result<FileDescriptor> ListenAt(const std::string& path, int type);
// A datagram socket at `path`, likewise. Connects nobody.
Result<FileDescriptor> BindDatagramAt(const std::string& path);
Result<sockaddr_un> UnixAddress(const std::string& path);
Result<FileDescriptor> ConnectTo(const std::string& path, int type);

// What errno says of a system call that failed.
Error SystemError(const std::string& what);

// `fds` go with the message; none: nothing changes. `control` has CMSG_SPACE for them, is aligned as cmsghdr and
// outlives the call that sends.
void AttachFds(msghdr& message, std::span<uint8_t> control, std::span<const int> fds);
// Those that came with a message that was received.
std::vector<FileDescriptor> TakeFds(msghdr& message);

}  // namespace vireo::host
