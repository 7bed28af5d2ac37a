// SPDX-License-Identifier: Apache-2.0
#include "host/driver/vfio_user_device.h"

#include <linux/vfio.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
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

using std::chrono::milliseconds;
using std::chrono::steady_clock;

}  // namespace

// --- Connection

Result<std::unique_ptr<VfioDevice>> VfioUserDevice::Connect(const std::string& socket_path, const Options& options) {
  Result<FileDescriptor> socket = ConnectTo(socket_path, SOCK_STREAM);
  if (!socket.ok()) return socket.error();
  std::unique_ptr<VfioUserDevice> device(new VfioUserDevice(options));
  device->socket_ = std::move(socket).value();
  if (Status done = device->Negotiate(); !done.ok()) return done.error();
  return std::unique_ptr<VfioDevice>(std::move(device));
}

Result<std::unique_ptr<VfioFunction>> ConnectVfioUser(const std::string& socket_path,
                                                      const VfioUserDevice::Options& options) {
  auto device = VfioUserDevice::Connect(socket_path, options);
  if (!device.ok()) return device.error();
  return VfioFunction::Open(std::move(device).value());
}

Status VfioUserDevice::Negotiate() {
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

Result<VfioDevice::Info> VfioUserDevice::GetInfo() {
  const auto answer = Call(Command::kGetInfo, BytesOf(vfio_user::DeviceInfo{}), {}, sizeof(vfio_user::DeviceInfo));
  if (!answer.ok()) return answer.error();
  const auto info = Get<vfio_user::DeviceInfo>(*answer);
  return Info{.flags = info.flags, .regions = info.regions, .irqs = info.irqs};
}

Result<uint64_t> VfioUserDevice::RegionBytes(uint32_t region) {
  vfio_user::RegionInfo ask;
  ask.index = region;
  const auto answer = Call(Command::kGetRegionInfo, BytesOf(ask), {}, sizeof ask);
  if (!answer.ok()) return answer.error();
  return Get<vfio_user::RegionInfo>(*answer).size;
}

Result<VfioDevice::Irq> VfioUserDevice::GetIrq(uint32_t index) {
  vfio_user::IrqInfo ask;
  ask.index = index;
  const auto answer = Call(Command::kGetIrqInfo, BytesOf(ask), {}, sizeof ask);
  if (!answer.ok()) return answer.error();
  const auto irq = Get<vfio_user::IrqInfo>(*answer);
  return Irq{.flags = irq.flags, .count = irq.count};
}

VfioUserDevice::~VfioUserDevice() {
  if (!agent_.joinable()) return;
  ::shutdown(twin_.get(), SHUT_RDWR);
  agent_.join();
}

void VfioUserDevice::MarkLost(const std::string& why) {
  const std::lock_guard lock(state_mutex_);
  if (lost_.empty()) lost_ = why;
  is_lost_ = true;
}

Status VfioUserDevice::health() const {
  if (!is_lost_) return {};
  const std::lock_guard lock(state_mutex_);
  return Error{ErrorCode::kLost, lost_};
}

Result<std::vector<uint8_t>> VfioUserDevice::Call(Command command, std::span<const uint8_t> first,
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
  const auto deadline = steady_clock::now() + milliseconds(options_.timeout_ms);
  while (is_sent) {
    Message message;
    const MessageReader::Got state = reader_.Read(socket_.get(), false, message);
    if (state == MessageReader::Got::kNothing) {
      const auto now = steady_clock::now();
      pollfd readable{.fd = socket_.get(), .events = POLLIN, .revents = 0};
      const int left_ms = static_cast<int>(std::chrono::ceil<milliseconds>(deadline - now).count());
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

uint64_t VfioUserDevice::Read(uint32_t region, uint64_t offset, unsigned bytes) {
  if (bytes == 0 || bytes > sizeof(uint64_t)) return ~uint64_t{0};
  const vfio_user::RegionAccess access{.offset = offset, .region = region, .count = bytes};
  const auto answer = Call(Command::kRegionRead, BytesOf(access), {}, sizeof access + bytes);
  if (!answer.ok()) return Ones(bytes);
  uint64_t value = 0;
  std::memcpy(&value, answer->data() + sizeof access, bytes);
  return value;
}

void VfioUserDevice::Write(uint32_t region, uint64_t offset, unsigned bytes, uint64_t value) {
  if (is_lost_ || bytes == 0 || bytes > sizeof value) return;
  const vfio_user::RegionAccess access{.offset = offset, .region = region, .count = bytes};
  if (region == VFIO_PCI_CONFIG_REGION_INDEX) {
    static_cast<void>(Call(Command::kRegionWrite, BytesOf(access), BytesOf(value).first(bytes), sizeof access));
    return;
  }
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

Status VfioUserDevice::Reset() {
  const auto answer = Call(Command::kReset, {}, {}, 0);
  if (!answer.ok()) return answer.error();
  return {};
}

// --- Memory

Status VfioUserDevice::Map(uint64_t address, std::span<uint8_t> memory, int file) {
  vfio_user::DmaMap map;
  map.address = address;
  map.size = memory.size();
  const auto answer = Call(Command::kDmaMap, BytesOf(map), {}, 0, nullptr, {&file, file < 0 ? size_t{0} : size_t{1}});
  if (!answer.ok()) {
    if (answer.error().code == ErrorCode::kRefused) return Error{ErrorCode::kNoMemory, answer.error().text};
    return answer.error();
  }
  if (file >= 0) return {};
  const std::lock_guard lock(state_mutex_);
  unmappable_[address] = memory;
  return {};
}

void VfioUserDevice::Unmap(uint64_t address, size_t bytes) {
  vfio_user::DmaUnmap unmap;
  unmap.address = address;
  unmap.size = bytes;
  static_cast<void>(Call(Command::kDmaUnmap, BytesOf(unmap), {}, 0));  // fails only if the device is lost
  const std::lock_guard lock(state_mutex_);
  unmappable_.erase(address);
}

void VfioUserDevice::ServeMemory() {
  MessageReader reader;
  Message message;
  while (reader.Read(twin_.get(), true, message) == MessageReader::Got::kMessage && Serve(twin_.get(), message)) {
  }
}

// False: the socket is closed or broken.
bool VfioUserDevice::Serve(int socket, const Message& message) {
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

// --- Interrupts

Status VfioUserDevice::EnableMsix(uint32_t start, std::span<const int> fds) {
  vfio_user::IrqSet on;
  on.flags = VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER;
  on.index = VFIO_PCI_MSIX_IRQ_INDEX;
  on.start = start;
  on.count = static_cast<uint32_t>(fds.size());
  const auto answer = Call(Command::kSetIrqs, BytesOf(on), {}, 0, nullptr, fds);
  if (!answer.ok()) return answer.error();
  return {};
}

Status VfioUserDevice::DisableMsix() {
  vfio_user::IrqSet off;
  off.flags = VFIO_IRQ_SET_DATA_NONE | VFIO_IRQ_SET_ACTION_TRIGGER;
  off.index = VFIO_PCI_MSIX_IRQ_INDEX;
  const auto answer = Call(Command::kSetIrqs, BytesOf(off), {}, 0);
  if (!answer.ok()) return answer.error();
  return {};
}

void VfioUserDevice::OnHangUp() { MarkLost("the vfio-user server closed the connection"); }

}  // namespace vireo::host
