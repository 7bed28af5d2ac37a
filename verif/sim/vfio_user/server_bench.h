// SPDX-License-Identifier: Apache-2.0
// What tests of vfio-user are made of: a probe NIC behind a server in a thread of its own, and a client that sends what
// it is told.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "sim/topology/simulated_function.h"
#include "sim/topology/topology.h"
#include "sim/vfio_user/server.h"

namespace vireo::sim {

// Two probes on a wire; the first is at socket(). Its thread is the simulation's.
class VfioUserBench {
 public:
  explicit VfioUserBench(int patience_ms = 10'000);
  VfioUserBench(const VfioUserBench&) = delete;
  VfioUserBench& operator=(const VfioUserBench&) = delete;
  ~VfioUserBench();

  const std::string& socket() const { return socket_; }
  uint64_t resets() const { return resets_; }

 private:
  void Run();

  std::string directory_, socket_;
  StandaloneScheduler scheduler_;
  std::unique_ptr<Topology> topology_;
  std::unique_ptr<SimulatedFunction> function_;
  service::EventLoop loop_;
  std::unique_ptr<VfioUserServer> server_;
  std::atomic<bool> is_stopping_ = false;
  std::atomic<uint64_t> resets_ = 0;
  std::thread thread_;
};

// A client by hand. A message that does not come in some seconds is a failure, and then empty.
class RawClient {
 public:
  using Command = host::vfio_user::Command;
  using Message = host::vfio_user::Message;
  using Bytes = std::vector<uint8_t>;

  // Negotiates with these capabilities, unless they are null.
  explicit RawClient(const std::string& socket, const char* capabilities = R"({"capabilities":{}})");

  int fd() const { return socket_.get(); }
  int twin() const { return twin_.get(); }  // what VERSION gave
  // One message of any socket.
  static Message ReceiveFrom(int socket, host::vfio_user::MessageReader& reader);
  bool Send(Command command, std::span<const uint8_t> payload, const std::vector<int>& fds = {}, uint32_t flags = 0,
            uint16_t id = 1);
  void SendBytes(std::span<const uint8_t> bytes) const;
  Message Receive() { return ReceiveFrom(socket_.get(), reader_); }
  bool IsDropped();  // waits for it
  // Errno of the answer, or 0; its payload.
  uint32_t Ask(Command command, std::span<const uint8_t> payload, const std::vector<int>& fds = {},
               Bytes* answer = nullptr);
  // The server drops nobody who still gets an answer to this.
  bool IsServed();

  uint64_t Read(uint32_t region, uint64_t offset, uint32_t bytes);
  void Write(uint32_t region, uint64_t offset, uint32_t bytes, uint64_t value);  // posted
  void EnableDma();
  // The probe copies.
  void Copy(uint64_t from, uint64_t to, uint32_t bytes);
  uint32_t MapDma(uint64_t address, uint64_t bytes, int file = -1, uint64_t offset = 0);

 private:
  host::FileDescriptor socket_, twin_;
  host::vfio_user::MessageReader reader_;
};

// Of values one after the other, without gaps.
template <typename... T>
std::vector<uint8_t> Join(const T&... values) {
  std::vector<uint8_t> bytes;
  const auto add = [&](std::span<const uint8_t> part) { bytes.insert(bytes.end(), part.begin(), part.end()); };
  (add(host::vfio_user::BytesOf(values)), ...);
  return bytes;
}

// A memory file that cannot shrink.
host::FileDescriptor MemoryFile(size_t bytes);

}  // namespace vireo::sim
