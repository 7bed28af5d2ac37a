// SPDX-License-Identifier: Apache-2.0
// libc's functions that list a directory, where the directory is one of sysfs.h, glob, realpath, chdir and getcwd. A
// listing is of the moment of opendir. Not intercepted: fts() and nftw(), which call libc's own, and descriptors of
// directories.
#include <dirent.h>
#include <glob.h>
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): realpath
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "host/ibverbs/next.h"
#include "host/ibverbs/sysfs.h"

#define VIREO_FILE_API extern "C" __attribute__((visibility("default")))

namespace vireo::ibverbs {
namespace {

static_assert(sizeof(dirent) == sizeof(dirent64) && offsetof(dirent, d_name) == offsetof(dirent64, d_name));

struct Listing {
  std::vector<dirent> entries;
  size_t next = 0;
};

// Listings that are open, by the pointer that stands for their DIR. Never destroyed: programs close in static
// destructors.
struct Listings {
  std::mutex lock;
  std::map<DIR*, std::unique_ptr<Listing>> open;
  std::atomic<size_t> count = 0;  // read without the lock: most programs have none
};
Listings& TheListings() {
  static Listings* const listings = new Listings;
  return *listings;
}

// Null: the directory is libc's.
Listing* Find(DIR* directory) {
  Listings& listings = TheListings();
  if (listings.count.load(std::memory_order_acquire) == 0) return nullptr;
  const std::lock_guard guard(listings.lock);
  const auto found = listings.open.find(directory);
  return found == listings.open.end() ? nullptr : found->second.get();
}

dirent Entry(const std::string& name, unsigned char type, ino_t number) {
  dirent entry{};
  entry.d_ino = number;
  entry.d_reclen = sizeof entry;
  entry.d_type = type;
  std::memcpy(entry.d_name, name.c_str(), std::min(name.size(), sizeof entry.d_name - 1));
  return entry;
}

std::vector<dirent> EntriesOf(const SysfsNode& node) {
  std::vector<dirent> entries{Entry(".", DT_DIR, 1), Entry("..", DT_DIR, 2)};
  for (const SysfsNode::Entry& entry : node.entries) {
    const unsigned char type = entry.kind == SysfsNode::Kind::kFile        ? DT_REG
                               : entry.kind == SysfsNode::Kind::kDirectory ? DT_DIR
                                                                           : DT_CHR;
    entries.push_back(Entry(entry.name, type, entries.size() + 1));
  }
  return entries;
}

std::optional<SysfsNode> FindNode(const char* path) { return path == nullptr ? std::nullopt : FindSysfsNode(path); }

DIR* Open(const SysfsNode& node) {
  if (node.kind != SysfsNode::Kind::kDirectory) {
    errno = ENOTDIR;
    return nullptr;
  }
  auto listing = std::make_unique<Listing>(Listing{.entries = EntriesOf(node)});
  auto* const directory = reinterpret_cast<DIR*>(listing.get());
  Listings& listings = TheListings();
  const std::lock_guard guard(listings.lock);
  listings.open[directory] = std::move(listing);
  listings.count.store(listings.open.size(), std::memory_order_release);
  return directory;
}

bool Close(DIR* directory) {
  Listings& listings = TheListings();
  const std::lock_guard guard(listings.lock);
  const bool is_ours = listings.open.erase(directory) != 0;
  listings.count.store(listings.open.size(), std::memory_order_release);
  return is_ours;
}

dirent* Read(Listing& listing) {
  return listing.next == listing.entries.size() ? nullptr : &listing.entries[listing.next++];
}

// As scandir().
template <typename Dirent>
int Scan(const SysfsNode& node, Dirent*** names, int (*filter)(const Dirent*),
         int (*compare)(const Dirent**, const Dirent**)) {
  if (node.kind != SysfsNode::Kind::kDirectory) {
    errno = ENOTDIR;
    return -1;
  }
  std::vector<Dirent*> found;
  for (const dirent& entry : EntriesOf(node)) {
    const auto* const candidate = reinterpret_cast<const Dirent*>(&entry);
    if (filter != nullptr && filter(candidate) == 0) continue;
    auto* const copy = static_cast<Dirent*>(std::malloc(sizeof(Dirent)));
    if (copy == nullptr) continue;
    std::memcpy(static_cast<void*>(copy), candidate, sizeof *copy);
    found.push_back(copy);
  }
  if (compare != nullptr) {
    std::ranges::sort(found, [compare](const Dirent* a, const Dirent* b) { return compare(&a, &b) < 0; });
  }
  *names = static_cast<Dirent**>(std::malloc(std::max<size_t>(found.size(), 1) * sizeof(Dirent*)));
  if (*names == nullptr) return -1;
  std::ranges::copy(found, *names);
  return static_cast<int>(found.size());
}

// As realpath(), for a path without links.
char* Write(const std::string& path, char* out) {
  if (path.size() >= PATH_MAX) {
    errno = ENAMETOOLONG;
    return nullptr;
  }
  if (out == nullptr) return strdup(path.c_str());
  std::memcpy(out, path.c_str(), path.size() + 1);
  return out;
}

std::string Text(const char* path) { return path == nullptr ? "" : path; }

std::optional<std::string> Resolve(const char* path) { return path == nullptr ? std::nullopt : ResolveSysfsPath(path); }

}  // namespace
}  // namespace vireo::ibverbs

namespace overlay = vireo::ibverbs;

VIREO_FILE_API DIR* opendir(const char* path) {
  if (const auto node = overlay::FindNode(path)) return overlay::Open(*node);
  static auto* const next = overlay::Next<DIR*(const char*)>("opendir");
  return next(path);
}

VIREO_FILE_API int closedir(DIR* directory) {
  if (overlay::Find(directory) != nullptr && overlay::Close(directory)) return 0;
  static auto* const next = overlay::Next<int(DIR*)>("closedir");
  return next(directory);
}

VIREO_FILE_API dirent* readdir(DIR* directory) {
  if (overlay::Listing* const listing = overlay::Find(directory)) return overlay::Read(*listing);
  static auto* const next = overlay::Next<dirent*(DIR*)>("readdir");
  return next(directory);
}

VIREO_FILE_API dirent64* readdir64(DIR* directory) {
  if (overlay::Listing* const listing = overlay::Find(directory)) {
    return reinterpret_cast<dirent64*>(overlay::Read(*listing));
  }
  static auto* const next = overlay::Next<dirent64*(DIR*)>("readdir64");
  return next(directory);
}

VIREO_FILE_API void rewinddir(DIR* directory) noexcept {
  if (overlay::Listing* const listing = overlay::Find(directory)) {
    listing->next = 0;
    return;
  }
  static auto* const next = overlay::Next<void(DIR*)>("rewinddir");
  next(directory);
}

VIREO_FILE_API long telldir(DIR* directory) noexcept {
  if (const overlay::Listing* const listing = overlay::Find(directory)) return static_cast<long>(listing->next);
  static auto* const next = overlay::Next<long(DIR*)>("telldir");
  return next(directory);
}

VIREO_FILE_API void seekdir(DIR* directory, long position) noexcept {
  if (overlay::Listing* const listing = overlay::Find(directory)) {
    listing->next = std::min(static_cast<size_t>(position), listing->entries.size());
    return;
  }
  static auto* const next = overlay::Next<void(DIR*, long)>("seekdir");
  next(directory, position);
}

// POSIX allows a directory without a descriptor.
VIREO_FILE_API int dirfd(DIR* directory) noexcept {
  if (overlay::Find(directory) != nullptr) {
    errno = ENOTSUP;
    return -1;
  }
  static auto* const next = overlay::Next<int(DIR*)>("dirfd");
  return next(directory);
}

#define VIREO_SCANDIR(name, type)                                                                           \
  VIREO_FILE_API int name(const char* path, struct type*** names, int (*filter)(const struct type*),        \
                          int (*compare)(const struct type**, const struct type**)) {                       \
    if (const auto node = overlay::FindNode(path)) return overlay::Scan(*node, names, filter, compare);     \
    static auto* const next = overlay::Next<int(const char*, struct type***, int (*)(const struct type*),   \
                                                int (*)(const struct type**, const struct type**))>(#name); \
    return next(path, names, filter, compare);                                                              \
  }
VIREO_SCANDIR(scandir, dirent)
VIREO_SCANDIR(scandir64, dirent64)

VIREO_FILE_API char* realpath(const char* path, char* out) noexcept {
  if (const auto resolved = overlay::Resolve(path)) return overlay::Write(*resolved, out);
  static auto* const next = overlay::Next<char*(const char*, char*)>("realpath");
  return next(path, out);
}

// realpath() in programs built with _FORTIFY_SOURCE.
// NOLINTNEXTLINE(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp)
VIREO_FILE_API char* __realpath_chk(const char* path, char* out, size_t bytes) noexcept {
  if (const auto resolved = overlay::Resolve(path); resolved.has_value() && resolved->size() < bytes) {
    return overlay::Write(*resolved, out);
  }
  static auto* const next = overlay::Next<char*(const char*, char*, size_t)>("__realpath_chk");
  return next(path, out, bytes);
}

VIREO_FILE_API char* canonicalize_file_name(const char* path) noexcept {
  if (const auto resolved = overlay::Resolve(path)) return overlay::Write(*resolved, nullptr);
  static auto* const next = overlay::Next<char*(const char*)>("canonicalize_file_name");
  return next(path);
}

// libc's own glob(), with the functions above where the pattern may lead to one of these.
// NOLINTBEGIN(bugprone-macro-parentheses): types
#define VIREO_GLOB(name, type, dirent_type, read, stat_type)                                                       \
  VIREO_FILE_API int name(const char* pattern, int flags, int (*on_error)(const char*, int), type* found) {        \
    static auto* const next = overlay::Next<int(const char*, int, int (*)(const char*, int), type*)>(#name);       \
    if (!overlay::MayBeSysfsPath(pattern) || (flags & GLOB_ALTDIRFUNC) != 0) {                                     \
      return next(pattern, flags, on_error, found);                                                                \
    }                                                                                                              \
    found->gl_opendir = [](const char* path) { return static_cast<void*>(opendir(path)); };                        \
    found->gl_readdir = [](void* directory) -> struct dirent_type* { return read(static_cast<DIR*>(directory)); }; \
    found->gl_closedir = [](void* directory) { closedir(static_cast<DIR*>(directory)); };                          \
    found->gl_stat = [](const char* path, struct stat_type* out) { return stat_type(path, out); };                 \
    found->gl_lstat = [](const char* path, struct stat_type* out) { return l##stat_type(path, out); };             \
    return next(pattern, flags | GLOB_ALTDIRFUNC, on_error, found);                                                \
  }
VIREO_GLOB(glob, glob_t, dirent, readdir, stat)
VIREO_GLOB(glob64, glob64_t, dirent64, readdir64, stat64)
// NOLINTEND(bugprone-macro-parentheses)

VIREO_FILE_API int chdir(const char* path) noexcept {
  static auto* const next = overlay::Next<int(const char*)>("chdir");
  std::string there = overlay::Text(path);
  if (there.empty()) return next(path);
  if (const auto entered = overlay::EnterSysfsDirectory(there)) return *entered;
  const int result = next(there.c_str());
  if (result == 0) overlay::LeaveSysfsDirectory();
  return result;
}

VIREO_FILE_API int fchdir(int fd) noexcept {
  static auto* const next = overlay::Next<int(int)>("fchdir");
  const int result = next(fd);
  if (result == 0) overlay::LeaveSysfsDirectory();
  return result;
}

VIREO_FILE_API char* getcwd(char* out, size_t bytes) noexcept {
  static auto* const next = overlay::Next<char*(char*, size_t)>("getcwd");
  const auto path = overlay::SysfsWorkingDirectory();
  if (!path.has_value()) return next(out, bytes);
  if (out == nullptr && bytes == 0) return strdup(path->c_str());
  if (bytes <= path->size()) {
    errno = bytes == 0 ? EINVAL : ERANGE;
    return nullptr;
  }
  if (out == nullptr) out = static_cast<char*>(std::malloc(bytes));
  return out == nullptr ? nullptr : overlay::Write(*path, out);
}
