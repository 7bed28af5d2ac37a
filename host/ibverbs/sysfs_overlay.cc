// SPDX-License-Identifier: Apache-2.0
// libc's functions for files by name, where the name is one of sysfs.h: fopen, stat, access, lseek, pread and their
// variants. open and its variants are in ucma_overlay.cc, directories in directory_overlay.cc. Not intercepted: names
// relative to a directory's descriptor, readlink, and programs that call the kernel without libc.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>

#include "host/ibverbs/next.h"
#include "host/ibverbs/sysfs.h"

#define VIREO_FILE_API extern "C" __attribute__((visibility("default")))

namespace vireo::ibverbs {
namespace {

std::optional<SysfsNode> Find(const char* path) { return path == nullptr ? std::nullopt : FindSysfsNode(path); }

mode_t ModeOf(const SysfsNode& node) {
  switch (node.kind) {
    case SysfsNode::Kind::kFile: return S_IFREG | 0444;
    case SysfsNode::Kind::kDirectory: return S_IFDIR | 0555;
    default: return S_IFCHR | 0666;
  }
}

constexpr off_t kPage = 4096;  // size of every file in sysfs

template <typename Stat>
int Describe(const SysfsNode& node, Stat* out) {
  *out = {};
  out->st_mode = ModeOf(node);
  out->st_nlink = 1;
  out->st_size = node.kind == SysfsNode::Kind::kFile ? kPage : 0;
  out->st_blksize = kPage;
  return 0;
}

int Access(const SysfsNode& node, int wanted) {
  const mode_t mode = ModeOf(node);
  const bool is_allowed = ((wanted & R_OK) == 0 || (mode & S_IROTH) != 0) &&
                          ((wanted & W_OK) == 0 || (mode & S_IWOTH) != 0) &&
                          ((wanted & X_OK) == 0 || (mode & S_IXOTH) != 0);
  if (is_allowed) return 0;
  errno = EACCES;
  return -1;
}

FILE* Open(const SysfsNode& node, const char* mode) {
  const bool is_both = std::strchr(mode, '+') != nullptr;
  const int access = mode[0] == 'r' && !is_both ? O_RDONLY : is_both ? O_RDWR : O_WRONLY;
  const int fd = OpenSysfsNode(node, access | (std::strchr(mode, 'e') != nullptr ? O_CLOEXEC : 0));
  if (fd < 0) return nullptr;
  FILE* const file = fdopen(fd, mode);
  if (file == nullptr) close(fd);
  return file;
}

}  // namespace
}  // namespace vireo::ibverbs

namespace overlay = vireo::ibverbs;

#define VIREO_FOPEN(name)                                                            \
  VIREO_FILE_API FILE* name(const char* path, const char* mode) {                    \
    if (const auto node = overlay::Find(path)) return overlay::Open(*node, mode);    \
    static auto* const next = overlay::Next<FILE*(const char*, const char*)>(#name); \
    return next(path, mode);                                                         \
  }
VIREO_FOPEN(fopen)
VIREO_FOPEN(fopen64)

#define VIREO_STAT(name, type)                                                       \
  VIREO_FILE_API int name(const char* path, struct type* out) noexcept {             \
    if (const auto node = overlay::Find(path)) return overlay::Describe(*node, out); \
    static auto* const next = overlay::Next<int(const char*, struct type*)>(#name);  \
    return next(path, out);                                                          \
  }
VIREO_STAT(stat, stat)
VIREO_STAT(stat64, stat64)
VIREO_STAT(lstat, stat)
VIREO_STAT(lstat64, stat64)

#define VIREO_FSTATAT(name, type)                                                               \
  VIREO_FILE_API int name(int folder, const char* path, struct type* out, int flags) noexcept { \
    if (const auto node = overlay::FindSysfsNodeAt(folder, path)) {                             \
      return overlay::Describe(*node, out);                                                     \
    }                                                                                           \
    static auto* const next = overlay::Next<int(int, const char*, struct type*, int)>(#name);   \
    return next(folder, path, out, flags);                                                      \
  }
VIREO_FSTATAT(fstatat, stat)
VIREO_FSTATAT(fstatat64, stat64)

VIREO_FILE_API int statx(int folder, const char* path, int flags, unsigned mask, struct statx* out) noexcept {
  if (const auto node = overlay::FindSysfsNodeAt(folder, path)) {
    *out = {};
    out->stx_mask = STATX_TYPE | STATX_MODE | STATX_NLINK | STATX_SIZE;
    out->stx_mode = static_cast<uint16_t>(overlay::ModeOf(*node));
    out->stx_nlink = 1;
    out->stx_size = node->kind == overlay::SysfsNode::Kind::kFile ? overlay::kPage : 0;
    out->stx_blksize = overlay::kPage;
    return 0;
  }
  static auto* const next = overlay::Next<int(int, const char*, int, unsigned, struct statx*)>("statx");
  return next(folder, path, flags, mask, out);
}

#define VIREO_ACCESS(name)                                                          \
  VIREO_FILE_API int name(const char* path, int mode) noexcept {                    \
    if (const auto node = overlay::Find(path)) return overlay::Access(*node, mode); \
    static auto* const next = overlay::Next<int(const char*, int)>(#name);          \
    return next(path, mode);                                                        \
  }
VIREO_ACCESS(access)
VIREO_ACCESS(eaccess)
VIREO_ACCESS(euidaccess)

VIREO_FILE_API int faccessat(int folder, const char* path, int mode, int flags) noexcept {
  if (const auto node = overlay::FindSysfsNodeAt(folder, path)) return overlay::Access(*node, mode);
  static auto* const next = overlay::Next<int(int, const char*, int, int)>("faccessat");
  return next(folder, path, mode, flags);
}

// A program keeps an attribute open to read it again (perftest, counters).
VIREO_FILE_API ssize_t read(int fd, void* buffer, size_t bytes) {
  overlay::RereadSysfsFile(fd);
  static auto* const next = overlay::Next<ssize_t(int, void*, size_t)>("read");
  return next(fd, buffer, bytes);
}

#define VIREO_PREAD(name, type)                                                        \
  VIREO_FILE_API ssize_t name(int fd, void* buffer, size_t bytes, type offset) {       \
    overlay::RereadSysfsFile(fd, static_cast<off_t>(offset));                          \
    static auto* const next = overlay::Next<ssize_t(int, void*, size_t, type)>(#name); \
    return next(fd, buffer, bytes, offset);                                            \
  }
VIREO_PREAD(pread, off_t)
VIREO_PREAD(pread64, off64_t)
