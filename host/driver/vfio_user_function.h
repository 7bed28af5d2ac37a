// SPDX-License-Identifier: Apache-2.0
// A PCI function behind a vfio-user socket: a device in another process. Works with any server of protocol 0.0. NowNs
// is real time, not simulated time.
//
// AllocateDma memory lies in files that the server maps. MapDma memory cannot be mapped by the server: a thread of this
// object reads and writes it for the server, at tens of microseconds per access. That requires a server with
// twin-socket mode, else MapDma fails with kUnsupported. A register write costs a message, a read a round trip.
//
// Must not be used in a child of fork().
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "host/driver/pci_function.h"
#include "host/driver/vfio_user_protocol.h"

namespace vireo::host {

class VfioUserFunction final : public PciFunction {
 public:
  struct Options {
    int timeout_ms = 60'000;  // for a reply; after that the function is lost
  };

  // kLost: connection refused, or closed by the server (it already has a client). kUnsupported: another protocol
  // version, or the device is not PCI.
  static Result<std::unique_ptr<VfioUserFunction>> Connect(const std::string& socket_path);
  static Result<std::unique_ptr<VfioUserFunction>> Connect(const std::string& socket_path, const Options& options);
  // The server resets the device.
  ~VfioUserFunction() override;

  Status health() const override;
  uint32_t ReadConfig(uint32_t offset, unsigned bytes) override;
  void WriteConfig(uint32_t offset, unsigned bytes, uint32_t value) override;
  uint64_t BarBytes(unsigned bar) const override { return bar < kBars ? bar_bytes_[bar] : 0; }
  uint64_t ReadBar(unsigned bar, uint64_t offset, unsigned bytes) override;
  // Posted.
  void WriteBar(unsigned bar, uint64_t offset, unsigned bytes, uint64_t value) override;
  Result<DmaBuffer> AllocateDma(size_t bytes, size_t alignment) override;
  Result<DmaBuffer> MapDma(uint8_t* memory, size_t bytes) override;
  unsigned MsixVectors() const override { return max_vectors_; }
  Status EnableMsix(unsigned count) override;
  bool TakeInterrupt(unsigned vector) override;
  uint64_t NowNs() override;
  void Wait(uint64_t deadline_ns) override;

  // Function-level reset. Keeps memory mappings and vectors.
  Status Reset();

 private:
  static constexpr unsigned kBars = 6;
  class Memory;
  struct Vector {
    FileDescriptor fd;
    bool has_arrived = false;
  };

  explicit VfioUserFunction(const Options& options) : options_(options) {}
  Status Negotiate();
  Status ReadDeviceInfo();
  // Returns the reply's payload, of at least `answer_bytes`. kRefused: the server replied with an error.
  Result<std::vector<uint8_t>> Call(vfio_user::Command command, std::span<const uint8_t> first,
                                    std::span<const uint8_t> second, size_t answer_bytes,
                                    std::vector<FileDescriptor>* got = nullptr, std::span<const int> fds = {});
  uint64_t ReadRegion(uint32_t region, uint64_t offset, unsigned bytes);
  void MarkLost(const std::string& why);
  Result<uint64_t> MapAt(size_t bytes, int file);
  void Unmap(uint64_t address, size_t bytes);
  bool Harvest(Vector& vector);

  // The server's accesses to memory that it cannot map.
  void ServeMemory();
  bool Serve(int socket, const vfio_user::Message& message);

  const Options options_;
  FileDescriptor socket_, twin_;
  vfio_user::MessageReader reader_;
  std::mutex call_mutex_, send_mutex_;
  uint16_t next_id_ = 0;
  size_t max_fds_ = vfio_user::kDefaultFds;
  uint64_t bar_bytes_[kBars]{};
  unsigned max_vectors_ = 0;
  std::vector<Vector> vectors_;  // enabled

  mutable std::mutex state_mutex_;  // of what follows
  std::string lost_;
  std::atomic<bool> is_lost_ = false;
  uint64_t next_address_ = 0;
  std::map<uint64_t, std::span<uint8_t>> unmappable_;  // MapDma memory, by device address

  std::thread agent_;
};

}  // namespace vireo::host
