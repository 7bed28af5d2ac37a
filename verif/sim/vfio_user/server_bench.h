// SPDX-License-Identifier: Apache-2.0
// Test bench for vfio-user: a probe NIC behind a server in its own thread, and a client that sends arbitrary messages.
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

// Two probe NICs on a wire; the first is exported at socket(). Its thread runs the simulation.
class VfioUserBench {
 public:
  explicit VfioUserBench(int timeout_ms = 10'000);
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
  std::unique_ptr<StationWindows> windows_;
  service::EventLoop loop_;
  std::unique_ptr<VfioUserServer> server_;
  std::atomic<bool> is_stopping_ = false;
  std::atomic<uint64_t> resets_ = 0;
  std::thread thread_;
};

// A raw client. A missing message is a test failure after some seconds, and returned empty.
class RawClient {
 public:
  using Command = host::vfio_user::Command;
  using Message = host::vfio_user::Message;
  using Bytes = std::vector<uint8_t>;

  // Negotiates with these capabilities, unless they are null.
  explicit RawClient(const std::string& socket, const char* capabilities = R"({"capabilities":{}})");

  int fd() const { return socket_.get(); }
  int twin() const { return twin_.get(); }  // from VERSION
  // Receives one message from any socket.
  static Message ReceiveFrom(int socket, host::vfio_user::MessageReader& reader);
  bool Send(Command command, std::span<const uint8_t> payload, const std::vector<int>& fds = {}, uint32_t flags = 0,
            uint16_t id = 1);
  void SendBytes(std::span<const uint8_t> bytes) const;
  Message Receive() { return ReceiveFrom(socket_.get(), reader_); }
  bool IsDropped();  // waits for the end of the connection
  // Sends a command. Returns the reply's errno, or 0, and its payload.
  uint32_t Ask(Command command, std::span<const uint8_t> payload, const std::vector<int>& fds = {},
               Bytes* answer = nullptr);
  // The server still replies to this client.
  bool IsServed();

  uint64_t Read(uint32_t region, uint64_t offset, uint32_t bytes);
  void Write(uint32_t region, uint64_t offset, uint32_t bytes, uint64_t value);  // posted
  void EnableDma();
  // Makes the probe copy memory.
  void Copy(uint64_t from, uint64_t to, uint32_t bytes);
  uint32_t MapDma(uint64_t address, uint64_t bytes, int file = -1, uint64_t offset = 0);

 private:
  host::FileDescriptor socket_, twin_;
  host::vfio_user::MessageReader reader_;
};

// Concatenates the bytes of values.
template <typename... T>
std::vector<uint8_t> Join(const T&... values) {
  std::vector<uint8_t> bytes;
  const auto add = [&](std::span<const uint8_t> part) { bytes.insert(bytes.end(), part.begin(), part.end()); };
  (add(host::vfio_user::BytesOf(values)), ...);
  return bytes;
}

// A memory file sealed against shrinking.
host::FileDescriptor MemoryFile(size_t bytes);

}  // namespace vireo::sim
