// SPDX-License-Identifier: Apache-2.0
// What Linux shows of an RDMA device as files, for programs that read them beside the verbs: attributes in
// /sys/class/infiniband and /sys/class/infiniband_verbs, the device nodes in /dev/infiniband. Only of the devices that
// this process sees; nothing while the overlay is inactive. Formats: Linux,
// Documentation/ABI/stable/sysfs-class-infiniband.
#pragma once

#include <sys/types.h>

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
  std::string path{};            // from the root
};

// The node of a path, absolute or relative to the working directory of below; none if it is not one of these, so that
// the system answers. Any thread.
std::optional<SysfsNode> FindSysfsNode(std::string_view path);
// The same for functions with a directory's descriptor.
std::optional<SysfsNode> FindSysfsNodeAt(int folder, const char* path);
// Could be one of these, or a pattern of them: for a quick check.
bool MayBeSysfsPath(std::string_view path);

// The working directory, if it is one of these: a process has none there for the system, which stays in the one before.
// Children of fork() have it, programs that they start do not.
std::optional<std::string> SysfsWorkingDirectory();
// As chdir(). 0; none: not one of these, go to `path` as it is now.
std::optional<int> EnterSysfsDirectory(std::string& path);
void LeaveSysfsDirectory();

// The same path without links, as realpath() gives it: those of the class directories lead to /sys/devices. None: as
// above.
std::optional<std::string> ResolveSysfsPath(std::string_view path);

// As open(), for such a path: a descriptor, or -1 and errno. A device node is /dev/null. No commands can be sent to it.
int OpenSysfsNode(const SysfsNode& node, int flags);
// Before a read from such a descriptor's start: as in sysfs, the text is that of this moment. No effect on others.
// `offset`: none, where it stands.
void RereadSysfsFile(int fd, std::optional<off_t> offset = std::nullopt);
// Before close().
void ForgetSysfsFile(int fd);

}  // namespace vireo::ibverbs
