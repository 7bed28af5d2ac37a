// SPDX-License-Identifier: Apache-2.0
#include "host/service/foreign_memory.h"

#include <poll.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "host/service/packet_socket.h"
#include "host/service/protocol.h"

namespace vireo::service {
namespace {

class ProcessMemory final : public MemoryAccess {
 public:
  explicit ProcessMemory(pid_t pid) : pid_(pid) {}
  bool Read(uint64_t address, std::span<uint8_t> data) override {
    return Copy(::process_vm_readv, address, data.data(), data.size());
  }
  bool Write(uint64_t address, std::span<const uint8_t> data) override {
    return Copy(::process_vm_writev, address, const_cast<uint8_t*>(data.data()), data.size());
  }

 private:
  template <typename Call>
  bool Copy(Call call, uint64_t address, uint8_t* data, size_t bytes) {
    const iovec local{data, bytes};
    const iovec remote{reinterpret_cast<void*>(address), bytes};  // NOLINT(performance-no-int-to-ptr): the client's
    for (;;) {
      const ssize_t done = call(pid_, &local, 1, &remote, 1, 0);
      // A short transfer means an unmapped page: fail.
      if (done >= 0) return static_cast<size_t>(done) == bytes;
      if (errno != EINTR) return false;
    }
  }

  const pid_t pid_;
};

class AgentMemory final : public MemoryAccess {
 public:
  AgentMemory(host::FileDescriptor socket, int timeout_ms) : socket_(std::move(socket)), timeout_ms_(timeout_ms) {}

  bool Read(uint64_t address, std::span<uint8_t> data) override {
    while (!data.empty()) {
      const std::span<uint8_t> part = data.first(std::min(data.size(), kAgentChunkBytes));
      const AgentRequest request{.address = address, .bytes = static_cast<uint32_t>(part.size()), .is_write = 0};
      if (!Request(request, {}, part.size())) return false;
      std::copy_n(buffer_.begin() + sizeof(AgentAnswer), part.size(), part.begin());
      data = data.subspan(part.size());
      address += part.size();
    }
    return true;
  }
  bool Write(uint64_t address, std::span<const uint8_t> data) override {
    while (!data.empty()) {
      const std::span<const uint8_t> part = data.first(std::min(data.size(), kAgentChunkBytes));
      const AgentRequest request{.address = address, .bytes = static_cast<uint32_t>(part.size()), .is_write = 1};
      if (!Request(request, part, 0)) return false;
      data = data.subspan(part.size());
      address += part.size();
    }
    return true;
  }

 private:
  bool Request(const AgentRequest& request, std::span<const uint8_t> data, size_t answer_bytes) {
    if (!socket_.is_open()) return false;
    pollfd readable{.fd = socket_.get(), .events = POLLIN, .revents = 0};
    int ready = -1;
    if (SendPacket(socket_.get(), BytesOf(request), data, {}, false)) {
      do {
        ready = ::poll(&readable, 1, timeout_ms_);
      } while (ready < 0 && errno == EINTR);
    }
    Packet packet;
    if (ready == 1) packet = ReceivePacket(socket_.get(), buffer_, false);
    if (packet.received == Received::kPacket && packet.bytes >= sizeof(AgentAnswer)) {
      const bool is_done = Get<AgentAnswer>(buffer_).is_done != 0;
      if (!is_done && packet.bytes == sizeof(AgentAnswer)) return false;
      if (is_done && packet.bytes == sizeof(AgentAnswer) + answer_bytes) return true;
    }
    socket_.Close();
    return false;
  }

  host::FileDescriptor socket_;
  const int timeout_ms_;
  std::array<uint8_t, sizeof(AgentAnswer) + kAgentChunkBytes> buffer_{};
};

class ClientMemory final : public host::ForeignMemory {
 public:
  ClientMemory(std::shared_ptr<MemoryAccess> access, uint64_t address)
      : access_(std::move(access)), address_(address) {}
  bool Read(uint64_t offset, std::span<uint8_t> data) override { return access_->Read(address_ + offset, data); }
  bool Write(uint64_t offset, std::span<const uint8_t> data) override {
    return access_->Write(address_ + offset, data);
  }

 private:
  std::shared_ptr<MemoryAccess> access_;
  const uint64_t address_;
};

}  // namespace

std::unique_ptr<MemoryAccess> MakeProcessMemory(pid_t pid) { return std::make_unique<ProcessMemory>(pid); }

std::unique_ptr<MemoryAccess> MakeAgentMemory(host::FileDescriptor socket, int timeout_ms) {
  return std::make_unique<AgentMemory>(std::move(socket), timeout_ms);
}

std::unique_ptr<host::ForeignMemory> MakeForeignMemory(std::shared_ptr<MemoryAccess> access, uint64_t address) {
  return std::make_unique<ClientMemory>(std::move(access), address);
}

}  // namespace vireo::service
