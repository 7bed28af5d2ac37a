// SPDX-License-Identifier: Apache-2.0
#include "host/driver/vfio_user_function.h"

#include <fcntl.h>
#include <linux/vfio.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "host/driver/unix_socket.h"

namespace vireo::host {
namespace {

using vfio_user::BytesOf;
using vfio_user::Command;
using vfio_user::Get;
using vfio_user::Header;
using vfio_user::Message;
using vfio_user::MessageReader;

constexpr uint64_t kPageBytes = 4096;
// Device addresses: above 4 GiB, each used once, so that a late access fails.
constexpr uint64_t kFirstAddress = 0x20'0000'0000;
constexpr uint64_t kSecond = 1'000'000'000;

constexpr uint64_t RoundUp(uint64_t value, uint64_t to) { return (value + to - 1) / to * to; }
constexpr uint64_t Ones(unsigned bytes) { return bytes >= 8 ? ~uint64_t{0} : (uint64_t{1} << 8 * bytes) - 1; }

Error SystemError(ErrorCode code, const std::string& what) { return {code, what + ": " + std::strerror(errno)}; }

}  // namespace

// --- Connection

Result<std::unique_ptr<VfioUserFunction>> VfioUserFunction::Connect(const std::string& socket_path) {
  return Connect(socket_path, Options{});
}

Result<std::unique_ptr<VfioUserFunction>> VfioUserFunction::Connect(const std::string& socket_path,
                                                                    const Options& options) {
  Result<FileDescriptor> socket = ConnectTo(socket_path, SOCK_STREAM);
  if (!socket.ok()) return socket.error();
  std::unique_ptr<VfioUserFunction> function(new VfioUserFunction(options));
  function->next_address_ = kFirstAddress;
  function->socket_ = std::move(socket).value();
  if (Status done = function->Negotiate(); !done.ok()) return done.error();
  if (Status done = function->ReadDeviceInfo(); !done.ok()) return done.error();
  return function;
}

Status VfioUserFunction::Negotiate() {
  const std::string capabilities =
      R"({"capabilities":{"max_msg_fds":16,"max_data_xfer_size":1048576,"twin_socket":{"supported":true}}})";
  static_assert(vfio_user::kMaxFds == 16 && vfio_user::kDefaultTransfer == 1'048'576);
  std::vector<FileDescriptor> fds;
  auto answer = Call(Command::kVersion, BytesOf(vfio_user::Version{}),
                     {reinterpret_cast<const uint8_t*>(capabilities.c_str()), capabilities.size() + 1},
                     sizeof(vfio_user::Version), &fds);
  if (!answer.ok()) return answer.error();
  if (Get<vfio_user::Version>(*answer).major != 0)
    return Error{ErrorCode::kUnsupported, "unsupported vfio-user protocol version"};
  const auto* const text = reinterpret_cast<const char*>(answer->data()) + sizeof(vfio_user::Version);
  const size_t length = ::strnlen(text, answer->size() - sizeof(vfio_user::Version));
  nlohmann::json version = nlohmann::json::object();
  if (length != 0) version = nlohmann::json::parse(text, text + length, nullptr, /*allow_exceptions=*/false);
  const Error malformed{ErrorCode::kMisbehaved, "the vfio-user server's capabilities are invalid"};
  if (!version.is_object()) return malformed;
  const auto capability = version.find("capabilities");
  if (capability == version.end()) return {};
  if (!capability->is_object()) return malformed;
  if (const auto fd = capability->find("max_msg_fds"); fd != capability->end()) {
    if (!fd->is_number_unsigned() || fd->get<uint64_t>() == 0) return malformed;
    max_fds_ = std::min<uint64_t>(fd->get<uint64_t>(), vfio_user::kMaxFds);
  }
  const auto twin = capability->find("twin_socket");
  if (twin == capability->end()) return {};
  if (!twin->is_object()) return malformed;
  const auto supported = twin->find("supported");
  if (supported == twin->end() || !supported->is_boolean() || !supported->get<bool>()) return {};
  const auto index = twin->find("fd_index");
  if (index == twin->end() || !index->is_number_unsigned() || index->get<uint64_t>() >= fds.size()) return malformed;
  twin_ = std::move(fds[index->get<size_t>()]);
  // Block signals: they are for the program's own threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  bool is_started = true;
  try {  // std::thread reports failure only by exception
    agent_ = std::thread([this] { ServeMemory(); });
  } catch (const std::system_error&) {
    is_started = false;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!is_started) return Error{ErrorCode::kNoMemory, "no thread for the device's memory accesses"};
  return {};
}

Status VfioUserFunction::ReadDeviceInfo() {
  auto info = Call(Command::kGetInfo, BytesOf(vfio_user::DeviceInfo{}), {}, sizeof(vfio_user::DeviceInfo));
  if (!info.ok()) return info.error();
  const auto device = Get<vfio_user::DeviceInfo>(*info);
  if ((device.flags & VFIO_DEVICE_FLAGS_PCI) == 0 || device.regions <= VFIO_PCI_CONFIG_REGION_INDEX ||
      device.irqs <= VFIO_PCI_MSIX_IRQ_INDEX) {
    return Error{ErrorCode::kUnsupported, "the vfio-user server's device is not a PCI function"};
  }
  for (unsigned bar = 0; bar < kBars; ++bar) {
    vfio_user::RegionInfo ask;
    ask.index = VFIO_PCI_BAR0_REGION_INDEX + bar;
    auto region = Call(Command::kGetRegionInfo, BytesOf(ask), {}, sizeof ask);
    if (!region.ok()) return region.error();
    bar_bytes_[bar] = Get<vfio_user::RegionInfo>(*region).size;
  }
  vfio_user::IrqInfo ask;
  ask.index = VFIO_PCI_MSIX_IRQ_INDEX;
  auto irq = Call(Command::kGetIrqInfo, BytesOf(ask), {}, sizeof ask);
  if (!irq.ok()) return irq.error();
  const auto msix = Get<vfio_user::IrqInfo>(*irq);
  // Limit of an MSI-X table [PCIe 5.0, 7.7.2.2]; a larger count from the server is invalid.
  constexpr unsigned kMaxVectors = 2048;
  if (msix.count <= kMaxVectors && (msix.flags & VFIO_IRQ_INFO_EVENTFD) != 0) max_vectors_ = msix.count;
  return {};
}

VfioUserFunction::~VfioUserFunction() {
  if (!agent_.joinable()) return;
  ::shutdown(twin_.get(), SHUT_RDWR);
  agent_.join();
}

void VfioUserFunction::MarkLost(const std::string& why) {
  const std::lock_guard lock(state_mutex_);
  if (lost_.empty()) lost_ = why;
  is_lost_ = true;
}

Status VfioUserFunction::health() const {
  if (!is_lost_) return {};
  const std::lock_guard lock(state_mutex_);
  return Error{ErrorCode::kLost, lost_};
}

Result<std::vector<uint8_t>> VfioUserFunction::Call(Command command, std::span<const uint8_t> first,
                                                    std::span<const uint8_t> second, size_t answer_bytes,
                                                    std::vector<FileDescriptor>* got, std::span<const int> fds) {
  const std::lock_guard call_lock(call_mutex_);
  if (Status healthy = health(); !healthy.ok()) return healthy.error();
  Header header;
  header.command = static_cast<uint16_t>(command);
  header.id = ++next_id_;
  bool is_sent = false;
  {
    const std::lock_guard lock(send_mutex_);
    is_sent = vfio_user::SendMessage(socket_.get(), header, first, second, fds);
  }
  const uint64_t deadline = NowNs() + static_cast<uint64_t>(options_.timeout_ms) * (kSecond / 1000);
  while (is_sent) {
    Message message;
    const MessageReader::Got state = reader_.Read(socket_.get(), false, message);
    if (state == MessageReader::Got::kNothing) {
      const uint64_t now = NowNs();
      pollfd readable{.fd = socket_.get(), .events = POLLIN, .revents = 0};
      const int left_ms = now >= deadline ? 0 : static_cast<int>((deadline - now) / (kSecond / 1000)) + 1;
      if (now < deadline && (::poll(&readable, 1, left_ms) >= 0 || errno == EINTR)) continue;
      MarkLost("the vfio-user server did not answer in " + std::to_string(options_.timeout_ms) + " ms");
      return health().error();
    }
    if (state != MessageReader::Got::kMessage) break;
    if (!message.is_reply()) {  // a server without a twin socket
      if (!Serve(socket_.get(), message)) break;
      continue;
    }
    if (message.header.id != header.id || message.header.command != header.command) break;
    if ((message.header.flags & Header::kError) != 0) {
      return Error{ErrorCode::kRefused, "the vfio-user server refuses message " + std::to_string(header.command) +
                                            ": " + std::strerror(static_cast<int>(message.header.error))};
    }
    if (message.payload.size() < answer_bytes) break;
    if (got != nullptr) *got = std::move(message.fds);
    return std::move(message.payload);
  }
  MarkLost("the vfio-user server closed the connection");
  return health().error();
}

// --- Registers

uint64_t VfioUserFunction::ReadRegion(uint32_t region, uint64_t offset, unsigned bytes) {
  if (bytes == 0 || bytes > sizeof(uint64_t)) return ~uint64_t{0};
  const vfio_user::RegionAccess access{.offset = offset, .region = region, .count = bytes};
  const auto answer = Call(Command::kRegionRead, BytesOf(access), {}, sizeof access + bytes);
  if (!answer.ok()) return Ones(bytes);
  uint64_t value = 0;
  std::memcpy(&value, answer->data() + sizeof access, bytes);
  return value;
}

uint32_t VfioUserFunction::ReadConfig(uint32_t offset, unsigned bytes) {
  return static_cast<uint32_t>(ReadRegion(VFIO_PCI_CONFIG_REGION_INDEX, offset, bytes));
}

void VfioUserFunction::WriteConfig(uint32_t offset, unsigned bytes, uint32_t value) {
  if (bytes == 0 || bytes > sizeof value) return;
  const vfio_user::RegionAccess access{.offset = offset, .region = VFIO_PCI_CONFIG_REGION_INDEX, .count = bytes};
  // A refused write is dropped, as on the bus.
  static_cast<void>(Call(Command::kRegionWrite, BytesOf(access), BytesOf(value).first(bytes), sizeof access));
}

uint64_t VfioUserFunction::ReadBar(unsigned bar, uint64_t offset, unsigned bytes) {
  return ReadRegion(VFIO_PCI_BAR0_REGION_INDEX + bar, offset, bytes);
}

void VfioUserFunction::WriteBar(unsigned bar, uint64_t offset, unsigned bytes, uint64_t value) {
  if (is_lost_ || bytes == 0 || bytes > sizeof value) return;
  const vfio_user::RegionAccess access{.offset = offset, .region = VFIO_PCI_BAR0_REGION_INDEX + bar, .count = bytes};
  Header header;
  header.command = static_cast<uint16_t>(Command::kRegionWrite);
  header.flags = Header::kNoReply;
  bool is_sent = false;
  {
    const std::lock_guard lock(send_mutex_);
    is_sent = vfio_user::SendMessage(socket_.get(), header, BytesOf(access), BytesOf(value).first(bytes));
  }
  if (!is_sent) MarkLost("the vfio-user server closed the connection");
}

Status VfioUserFunction::Reset() {
  const auto answer = Call(Command::kReset, {}, {}, 0);
  if (!answer.ok()) return answer.error();
  return {};
}

// --- Memory

class VfioUserFunction::Memory final : public DmaMemory {
 public:
  // `mapped`: bytes mapped for the device and, with `is_owner`, in this process.
  Memory(VfioUserFunction& function, uint8_t* data, uint64_t address, size_t bytes, size_t mapped, bool is_owner)
      : DmaMemory(data, address, bytes), function_(function), mapped_(mapped), is_owner_(is_owner) {}
  ~Memory() override {
    function_.Unmap(address(), mapped_);
    if (is_owner_) ::munmap(data(), mapped_);
  }

 private:
  VfioUserFunction& function_;
  const size_t mapped_;
  const bool is_owner_;
};

Result<uint64_t> VfioUserFunction::MapAt(size_t bytes, int file) {
  vfio_user::DmaMap map;
  {
    const std::lock_guard lock(state_mutex_);
    map.address = next_address_;
    next_address_ += bytes + kPageBytes;  // plus an unmapped guard page
  }
  map.size = bytes;
  const auto answer = Call(Command::kDmaMap, BytesOf(map), {}, 0, nullptr, {&file, file < 0 ? size_t{0} : size_t{1}});
  if (answer.ok()) return map.address;
  if (answer.error().code == ErrorCode::kRefused) return Error{ErrorCode::kNoMemory, answer.error().text};
  return answer.error();
}

void VfioUserFunction::Unmap(uint64_t address, size_t bytes) {
  vfio_user::DmaUnmap unmap;
  unmap.address = address;
  unmap.size = bytes;
  static_cast<void>(Call(Command::kDmaUnmap, BytesOf(unmap), {}, 0));  // fails only if the function is lost
  const std::lock_guard lock(state_mutex_);
  unmappable_.erase(address);
}

Result<DmaBuffer> VfioUserFunction::AllocateDma(size_t bytes, size_t alignment) {
  if (bytes == 0 || bytes > size_t{1} << 46 || !std::has_single_bit(alignment) || alignment > kPageBytes) {
    return Error{ErrorCode::kInvalidArgument,
                 std::to_string(bytes) + " bytes of DMA memory, aligned to " + std::to_string(alignment)};
  }
  if (Status healthy = health(); !healthy.ok()) return healthy.error();
  const size_t mapped = RoundUp(bytes, kPageBytes);
  // The mappings keep the file; its descriptor is closed.
  const FileDescriptor file(::memfd_create("vireo-dma", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file.is_open() || ::ftruncate(file.get(), static_cast<off_t>(mapped)) != 0 ||
      ::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK) != 0) {
    return SystemError(ErrorCode::kNoMemory, "memory file");
  }
  void* const memory = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file.get(), 0);
  if (memory == MAP_FAILED) return SystemError(ErrorCode::kNoMemory, "mapping of a memory file");
  auto address = MapAt(mapped, file.get());
  if (!address.ok()) {
    ::munmap(memory, mapped);
    return address.error();
  }
  return DmaBuffer(std::make_unique<Memory>(*this, static_cast<uint8_t*>(memory), *address, bytes, mapped, true));
}

Result<DmaBuffer> VfioUserFunction::MapDma(uint8_t* memory, size_t bytes) {
  if (bytes == 0 || bytes % kPageBytes != 0 || reinterpret_cast<uintptr_t>(memory) % kPageBytes != 0) {
    return Error{ErrorCode::kInvalidArgument, "memory to map must be page-aligned"};
  }
  if (!twin_.is_open()) {
    return Error{ErrorCode::kUnsupported, "the vfio-user server does not support twin-socket mode"};
  }
  auto address = MapAt(bytes, -1);
  if (!address.ok()) return address.error();
  {
    const std::lock_guard lock(state_mutex_);
    unmappable_[*address] = {memory, bytes};
  }
  return DmaBuffer(std::make_unique<Memory>(*this, memory, *address, bytes, bytes, false));
}

void VfioUserFunction::ServeMemory() {
  MessageReader reader;
  Message message;
  while (reader.Read(twin_.get(), true, message) == MessageReader::Got::kMessage && Serve(twin_.get(), message)) {
  }
}

// False: the socket is closed or broken.
bool VfioUserFunction::Serve(int socket, const Message& message) {
  if (message.is_reply()) return false;
  const bool is_read = message.command() == Command::kDmaRead, is_write = message.command() == Command::kDmaWrite;
  uint32_t error = is_read || is_write ? 0 : ENOTSUP;
  vfio_user::DmaAccess access;
  std::vector<uint8_t> data;
  if (error == 0 && message.payload.size() < sizeof access) error = EINVAL;
  if (error == 0) {
    access = Get<vfio_user::DmaAccess>(message.payload);
    if (access.count > vfio_user::kDefaultTransfer ||
        message.payload.size() != sizeof access + (is_write ? access.count : 0)) {
      error = EINVAL;
    }
  }
  if (error == 0) {
    // Hold the lock, so that the memory is not unmapped meanwhile.
    const std::lock_guard lock(state_mutex_);
    auto window = unmappable_.upper_bound(access.address);
    const bool is_below = window != unmappable_.begin();
    if (is_below) --window;
    const uint64_t offset = is_below ? access.address - window->first : 0;
    if (!is_below || offset > window->second.size() || access.count > window->second.size() - offset) {
      error = EFAULT;
    } else if (is_write) {
      std::memcpy(window->second.data() + offset, message.payload.data() + sizeof access, access.count);
    } else {
      const auto part = window->second.subspan(offset, access.count);
      data.assign(part.begin(), part.end());
    }
  }
  if (!message.wants_reply()) return true;
  Header header = message.header;
  header.flags = Header::kReply | (error != 0 ? Header::kError : 0);
  header.error = error;
  std::unique_lock<std::mutex> lock;
  if (socket == socket_.get()) lock = std::unique_lock(send_mutex_);
  return error != 0 ? vfio_user::SendMessage(socket, header, {})
                    : vfio_user::SendMessage(socket, header, BytesOf(access), data);
}

// --- Interrupts and time

Status VfioUserFunction::EnableMsix(unsigned count) {
  if (count > max_vectors_) {
    return Error{ErrorCode::kInvalidArgument, std::to_string(count) + " vectors of " + std::to_string(max_vectors_)};
  }
  if (Status healthy = health(); !healthy.ok()) return healthy;
  if (max_vectors_ == 0) return {};
  vfio_user::IrqSet off;
  off.flags = VFIO_IRQ_SET_DATA_NONE | VFIO_IRQ_SET_ACTION_TRIGGER;
  off.index = VFIO_PCI_MSIX_IRQ_INDEX;
  auto answer = Call(Command::kSetIrqs, BytesOf(off), {}, 0);
  if (!answer.ok()) return answer.error();
  vectors_.clear();
  std::vector<Vector> vectors(count);
  for (Vector& vector : vectors) {
    vector.fd = FileDescriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!vector.fd.is_open()) return SystemError(ErrorCode::kNoMemory, "eventfd");
  }
  for (unsigned start = 0; start < count;) {
    std::vector<int> fds;
    while (start + fds.size() < count && fds.size() < max_fds_) fds.push_back(vectors[start + fds.size()].fd.get());
    vfio_user::IrqSet on;
    on.flags = VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER;
    on.index = VFIO_PCI_MSIX_IRQ_INDEX;
    on.start = start;
    on.count = static_cast<uint32_t>(fds.size());
    answer = Call(Command::kSetIrqs, BytesOf(on), {}, 0, nullptr, fds);
    if (!answer.ok()) {
      static_cast<void>(Call(Command::kSetIrqs, BytesOf(off), {}, 0));
      return answer.error();
    }
    start += on.count;
  }
  vectors_ = std::move(vectors);
  return {};
}

// Clear the eventfd counter, so that a message that is never taken does not wake the next Wait.
bool VfioUserFunction::Harvest(Vector& vector) {
  uint64_t count = 0;
  if (::read(vector.fd.get(), &count, sizeof count) != sizeof count) return false;
  vector.has_arrived = true;
  return true;
}

bool VfioUserFunction::TakeInterrupt(unsigned vector) {
  if (vector >= vectors_.size()) return false;
  Harvest(vectors_[vector]);
  return std::exchange(vectors_[vector].has_arrived, false);
}

uint64_t VfioUserFunction::NowNs() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * kSecond + static_cast<uint64_t>(now.tv_nsec);
}

void VfioUserFunction::Wait(uint64_t deadline_ns) {
  const uint64_t now = NowNs();
  if (deadline_ns <= now) ::sched_yield();  // the device runs in another process, perhaps on this processor
  std::vector<pollfd> fds{
      {.fd = is_lost_ ? -1 : socket_.get(), .events = 0, .revents = 0}};  // reports when it is closed
  for (const Vector& vector : vectors_) fds.push_back({.fd = vector.fd.get(), .events = POLLIN, .revents = 0});
  const uint64_t left = deadline_ns > now ? deadline_ns - now : 0;
  const timespec timeout{.tv_sec = static_cast<time_t>(std::min<uint64_t>(left / kSecond, 1U << 30)),
                         .tv_nsec = static_cast<long>(left % kSecond)};
  if (::ppoll(fds.data(), fds.size(), &timeout, nullptr) <= 0) return;
  if ((fds[0].revents & (POLLHUP | POLLERR)) != 0) MarkLost("the vfio-user server closed the connection");
  for (size_t i = 0; i < vectors_.size(); ++i) {
    if (fds[i + 1].revents != 0) Harvest(vectors_[i]);
  }
}

}  // namespace vireo::host
