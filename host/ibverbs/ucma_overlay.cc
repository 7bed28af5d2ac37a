// SPDX-License-Identifier: Apache-2.0
// Emulates /dev/infiniband/rdma_cm for an unmodified librdmacm: opening it returns a descriptor that behaves like the
// device (ucma_file.h). poll(), select() and fcntl() are not intercepted: the descriptor is readable when an event is
// pending (or, briefly, another thread's answer; reading the event then blocks or fails with EAGAIN, as after any
// race).
//
// Intercepted: open, open64, openat, openat64, __open_2, __open64_2 (that path, and those of sysfs.h); fstat, fstat64
// (a character device); write (commands); close. dup is not, because librdmacm does not use it. socket(AF_NETLINK, .,
// NETLINK_RDMA) is netlink_overlay.h's, which refuses librdmacm's query for the node of rdma_cm, so that it takes the
// usual name. Everything else goes to libc. A file is found by its descriptor: a table under a lock that a command
// holds only to find it. A command in progress when another thread closes the descriptor continues, as in the kernel
// (rping exits while its thread waits for an event).
#include "host/ibverbs/ucma_overlay.h"

#include <fcntl.h>
#include <linux/netlink.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

// After libc's headers.
#include <netinet/in.h>
#include <rdma/rdma_user_cm.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "host/ibverbs/netlink_overlay.h"
#include "host/ibverbs/next.h"
#include "host/ibverbs/sysfs.h"
#include "host/ibverbs/ucma_file.h"
#include "host/service/ucma_protocol.h"

#define VIREO_UCMA_API extern "C" __attribute__((visibility("default")))

namespace vireo::ibverbs {
namespace {

constexpr std::string_view kPath = "/dev/infiniband/rdma_cm";

// Never destroyed: programs close descriptors in static destructors.
struct Files {
  std::mutex lock;
  std::map<int, std::shared_ptr<UcmaFile>> open;
  std::atomic<size_t> count = 0;  // read without the lock: most programs have none
};
Files& TheFiles() {
  static Files* const files = new Files;
  return *files;
}

std::shared_ptr<UcmaFile> Find(int fd) {
  Files& files = TheFiles();
  if (files.count.load(std::memory_order_acquire) == 0) return nullptr;
  const std::lock_guard guard(files.lock);
  const auto found = files.open.find(fd);
  return found == files.open.end() ? nullptr : found->second;
}

bool IsDevice(const char* path) { return path != nullptr && kPath == path && IsUcmaActive(); }

std::optional<SysfsNode> FindNode(const char* path) { return path == nullptr ? std::nullopt : FindSysfsNode(path); }

int OpenDevice(int flags) {
  std::vector<UcmaNic> nics = OpenUcmaNics();
  if (nics.empty()) return -1;
  auto file = std::make_shared<UcmaFile>(std::move(nics));
  const int fd = file->Duplicate();
  if (fd < 0) return -1;
  fcntl(fd, F_SETFL, (fcntl(fd, F_GETFL) & ~O_NONBLOCK) | (flags & O_NONBLOCK));
  if ((flags & O_CLOEXEC) == 0) fcntl(fd, F_SETFD, 0);
  Files& files = TheFiles();
  const std::lock_guard guard(files.lock);
  files.open[fd] = std::move(file);
  files.count.store(files.open.size(), std::memory_order_release);
  return fd;
}

void RemoveFile(int fd) {
  Files& files = TheFiles();
  if (files.count.load(std::memory_order_acquire) == 0) return;
  decltype(files.open)::node_type gone;  // destroyed without the lock, because that closes descriptors
  const std::lock_guard guard(files.lock);
  gone = files.open.extract(fd);
  files.count.store(files.open.size(), std::memory_order_release);
}

template <typename T>
T Field(const std::vector<uint8_t>& command, size_t offset) {
  T value{};
  if (command.size() >= offset + sizeof value) std::memcpy(&value, command.data() + offset, sizeof value);
  return value;
}

int Command(const std::shared_ptr<UcmaFile>& file, const void* buffer, size_t bytes) {
  rdma_ucm_cmd_hdr header;
  constexpr size_t kBody = sizeof header;
  if (bytes < kBody || bytes > service::kUcmaCommandBytesMax) return -EINVAL;
  std::vector<uint8_t> command(static_cast<const uint8_t*>(buffer), static_cast<const uint8_t*>(buffer) + bytes);
  std::memcpy(&header, command.data(), sizeof header);
  // Data that the kernel would read by address.
  if (header.cmd == RDMA_USER_CM_CMD_SET_OPTION) {
    const auto address = Field<uint64_t>(command, kBody + offsetof(rdma_ucm_set_option, optval));
    const auto length = Field<uint32_t>(command, kBody + offsetof(rdma_ucm_set_option, optlen));
    if (length > 4096) return -EINVAL;
    const auto* const option = reinterpret_cast<const uint8_t*>(address);  // NOLINT(performance-no-int-to-ptr)
    if (option != nullptr) command.insert(command.end(), option, option + length);
  }
  std::shared_ptr<UcmaFile> from;
  if (header.cmd == RDMA_USER_CM_CMD_MIGRATE_ID)
    from = Find(Field<int>(command, kBody + offsetof(rdma_ucm_migrate_id, fd)));
  std::vector<uint8_t> response;
  const int result = file->Command(command, from.get(), response);
  // Logged because nothing else in the system shows that a program is listening.
  if (result == 0 && header.cmd == RDMA_USER_CM_CMD_LISTEN) LogUcma("rdma_cm listens");
  if (result == 0 && !response.empty()) {
    // Every structure with a response starts with its address, except the first.
    const size_t at = header.cmd == RDMA_USER_CM_CMD_CREATE_ID ? offsetof(rdma_ucm_create_id, response) : 0;
    auto* const to =
        reinterpret_cast<void*>(Field<uint64_t>(command, kBody + at));  // NOLINT(performance-no-int-to-ptr)
    if (to == nullptr) return -EFAULT;
    std::memcpy(to, response.data(), std::min<size_t>(response.size(), header.out));
  }
  return result;
}

ssize_t WriteDevice(const std::shared_ptr<UcmaFile>& file, const void* buffer, size_t bytes) {
  const bool is_event = bytes >= sizeof(rdma_ucm_cmd_hdr) &&
                        Field<uint32_t>({static_cast<const uint8_t*>(buffer), static_cast<const uint8_t*>(buffer) + 4},
                                        0) == RDMA_USER_CM_CMD_GET_EVENT;
  while (true) {
    const int result = Command(file, buffer, bytes);
    if (result == 0) return static_cast<ssize_t>(bytes);
    const bool must_wait = is_event && result == -EAGAIN && (fcntl(file->fd(), F_GETFL) & O_NONBLOCK) == 0;
    if (!must_wait) {
      errno = -result;
      return -1;
    }
    if (!file->AwaitEvent()) return -1;  // EINTR, like a blocking read
  }
}

// librdmacm recognizes the device by its type, a character device. It checks the device number only if sysfs has one.
void FakeCharacterDevice(auto* status) {
  status->st_mode = S_IFCHR | 0666;
  status->st_rdev = 0;
}

// The caller passed a mode.
bool HasMode(int flags) { return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE; }

}  // namespace
}  // namespace vireo::ibverbs

namespace overlay = vireo::ibverbs;

// `mode`: behind `flags`, if there is one.
#define VIREO_TAKE_MODE          \
  mode_t mode = 0;               \
  if (overlay::HasMode(flags)) { \
    va_list rest;                \
    va_start(rest, flags);       \
    mode = va_arg(rest, mode_t); \
    va_end(rest);                \
  }
#define VIREO_OPEN(name)                                                                        \
  VIREO_UCMA_API int name(const char* path, int flags, ...) {                                   \
    if (overlay::IsDevice(path)) return overlay::OpenDevice(flags);                             \
    if (const auto node = overlay::FindNode(path)) return overlay::OpenSysfsNode(*node, flags); \
    VIREO_TAKE_MODE                                                                             \
    static auto* const next = overlay::Next<int(const char*, int, ...)>(#name);                 \
    return next(path, flags, mode);                                                             \
  }
#define VIREO_OPENAT(name)                                                           \
  VIREO_UCMA_API int name(int folder, const char* path, int flags, ...) {            \
    if (overlay::IsDevice(path)) return overlay::OpenDevice(flags);                  \
    if (const auto node = overlay::FindSysfsNodeAt(folder, path)) {                  \
      return overlay::OpenSysfsNode(*node, flags);                                   \
    }                                                                                \
    VIREO_TAKE_MODE                                                                  \
    static auto* const next = overlay::Next<int(int, const char*, int, ...)>(#name); \
    return next(folder, path, flags, mode);                                          \
  }
// open() in programs built with _FORTIFY_SOURCE.
#define VIREO_OPEN_2(name)                                                                      \
  VIREO_UCMA_API int name(const char* path, int flags) {                                        \
    if (overlay::IsDevice(path)) return overlay::OpenDevice(flags);                             \
    if (const auto node = overlay::FindNode(path)) return overlay::OpenSysfsNode(*node, flags); \
    static auto* const next = overlay::Next<int(const char*, int)>(#name);                      \
    return next(path, flags);                                                                   \
  }

// clang 14's analyzer misses va_start in an expanded macro.
// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl50-cpp,clang-analyzer-valist.Uninitialized)
VIREO_OPEN(open)
VIREO_OPEN(open64)
VIREO_OPENAT(openat)
VIREO_OPENAT(openat64)
VIREO_OPEN_2(__open_2)
VIREO_OPEN_2(__open64_2)
// NOLINTEND(bugprone-reserved-identifier,cert-dcl50-cpp,clang-analyzer-valist.Uninitialized)

VIREO_UCMA_API int fstat(int fd, struct stat* status) {
  static auto* const next = overlay::Next<int(int, struct stat*)>("fstat");
  const int result = next(fd, status);
  if (result == 0 && overlay::Find(fd) != nullptr) overlay::FakeCharacterDevice(status);
  return result;
}

VIREO_UCMA_API int fstat64(int fd, struct stat64* status) {
  static auto* const next = overlay::Next<int(int, struct stat64*)>("fstat64");
  const int result = next(fd, status);
  if (result == 0 && overlay::Find(fd) != nullptr) overlay::FakeCharacterDevice(status);
  return result;
}

VIREO_UCMA_API ssize_t write(int fd, const void* buffer, size_t bytes) {
  if (const auto file = overlay::Find(fd); file != nullptr) return overlay::WriteDevice(file, buffer, bytes);
  static auto* const next = overlay::Next<ssize_t(int, const void*, size_t)>("write");
  return next(fd, buffer, bytes);
}

VIREO_UCMA_API int close(int fd) {
  overlay::RemoveFile(fd);
  overlay::ForgetNetlinkSocket(fd);
  overlay::ForgetSysfsFile(fd);
  static auto* const next = overlay::Next<int(int)>("close");
  return next(fd);
}

VIREO_UCMA_API int socket(int domain, int type, int protocol) {
  if (domain == AF_NETLINK && protocol == NETLINK_RDMA && overlay::IsUcmaActive()) {
    return overlay::OpenNetlinkSocket(type);
  }
  static auto* const next = overlay::Next<int(int, int, int)>("socket");
  return next(domain, type, protocol);
}
