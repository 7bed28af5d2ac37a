// SPDX-License-Identifier: Apache-2.0
// What Linux shows of an RDMA device as files, for programs that read them beside the verbs: attributes in
// /sys/class/infiniband and /sys/class/infiniband_verbs, the device nodes in /dev/infiniband. Only of the devices that
// this process sees; nothing while the overlay is inactive. Formats: Linux,
// Documentation/ABI/stable/sysfs-class-infiniband.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace vireo::ibverbs {

struct SysfsNode {
  enum class Kind : char { kFile, kDirectory, kCharacterDevice };
  Kind kind = Kind::kFile;
  std::string text{};  // of a file, as of this moment
  int error = 0;       // of opening a file: EINVAL for an attribute of an unused GID, which Linux refuses to read
};

// The node of an absolute path; none if it is not one of these, so that the system answers. Any thread.
std::optional<SysfsNode> FindSysfsNode(std::string_view path);

// As open(), for such a path: a descriptor, or -1 and errno. A device node is /dev/null. No commands can be sent to it.
int OpenSysfsNode(const SysfsNode& node, int flags);

}  // namespace vireo::ibverbs
