// SPDX-License-Identifier: Apache-2.0
// What Linux shows of an RDMA device as files, for programs that read them beside the verbs: attributes in
// /sys/class/infiniband and /sys/class/infiniband_verbs, the device nodes in /dev/infiniband. Only of the devices that
// this process sees; nothing while the overlay is inactive. Formats: Linux,
// Documentation/ABI/stable/sysfs-class-infiniband.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vireo::ibverbs {

struct SysfsNode {
  enum class Kind : char { kFile, kDirectory, kCharacterDevice };
  struct Entry {
    std::string name;
    Kind kind = Kind::kFile;
  };
  Kind kind = Kind::kFile;
  std::string text{};  // of a file, as of this moment
  int error = 0;       // of opening a file: EINVAL for an attribute of an unused GID, which Linux refuses to read
  std::vector<Entry> entries{};  // of a directory
};

// The node of an absolute path; none if it is not one of these, so that the system answers. Any thread.
std::optional<SysfsNode> FindSysfsNode(std::string_view path);

// The same path without links, as realpath() gives it: those of the class directories lead to /sys/devices. None: as
// above.
std::optional<std::string> ResolveSysfsPath(std::string_view path);

// As open(), for such a path: a descriptor, or -1 and errno. A device node is /dev/null. No commands can be sent to it.
int OpenSysfsNode(const SysfsNode& node, int flags);

}  // namespace vireo::ibverbs
