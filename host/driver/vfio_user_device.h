// SPDX-License-Identifier: Apache-2.0
// A PCI device behind a vfio-user socket: in another process. Works with any server of protocol 0.0.
//
// Memory in files is mapped by the server. Ordinary memory cannot be: a thread of this object reads and writes it for
// the server, at tens of microseconds per access. That requires a server with twin-socket mode. A register write costs
// a message, a read a round trip. The server resets the device when the connection ends.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "host/driver/vfio_device.h"
#include "host/driver/vfio_function.h"
#include "host/driver/vfio_user_protocol.h"

namespace vireo::host {

class VfioUserDevice final : public VfioDevice {
 public:
  struct Options {
    int timeout_ms = 60'000;  // for a reply; after that the device is lost
  };

  // kLost: connection refused, or closed by the server (it already has a client). kUnsupported: another protocol
  // version.
  static Result<std::unique_ptr<VfioDevice>> Connect(const std::string& socket_path, const Options& options);
  ~VfioUserDevice() override;

  Status health() const override;
  Result<Info> GetInfo() override;
  Result<uint64_t> RegionBytes(uint32_t region) override;
  Result<Irq> GetIrq(uint32_t index) override;
  uint64_t Read(uint32_t region, uint64_t offset, unsigned bytes) override;
  // To a BAR: posted.
  void Write(uint32_t region, uint64_t offset, unsigned bytes, uint64_t value) override;
  std::vector<Range> AddressRanges() const override { return {{0, ~uint64_t{0}}}; }
  bool MapsOrdinaryMemory() const override { return twin_.is_open(); }
  Status Map(uint64_t address, std::span<uint8_t> memory, int file) override;
  void Unmap(uint64_t address, size_t bytes) override;
  Status EnableMsix(uint32_t start, std::span<const int> fds) override;
  Status DisableMsix() override;
  size_t MostVectors() const override { return max_fds_; }
  Status Reset() override;
  int hang_up() const override { return socket_.get(); }
  void OnHangUp() override;

 private:
  explicit VfioUserDevice(const Options& options) : options_(options) {}
  Status Negotiate();
  // Returns the reply's payload, of at least `answer_bytes`. kRefused: the server replied with an error.
  Result<std::vector<uint8_t>> Call(vfio_user::Command command, std::span<const uint8_t> first,
                                    std::span<const uint8_t> second, size_t answer_bytes,
                                    std::vector<FileDescriptor>* got = nullptr, std::span<const int> fds = {});
  void MarkLost(const std::string& why);

  // The server's accesses to memory that it cannot map.
  void ServeMemory();
  bool Serve(int socket, const vfio_user::Message& message);

  const Options options_;
  FileDescriptor socket_, twin_;
  vfio_user::MessageReader reader_;
  std::mutex call_mutex_, send_mutex_;
  uint16_t next_id_ = 0;
  size_t max_fds_ = vfio_user::kDefaultFds;

  mutable std::mutex state_mutex_;  // of what follows
  std::string lost_;
  std::atomic<bool> is_lost_ = false;
  std::map<uint64_t, std::span<uint8_t>> unmappable_;  // ordinary memory, by device address

  std::thread agent_;
};

// The function of the device behind the socket.
Result<std::unique_ptr<VfioFunction>> ConnectVfioUser(const std::string& socket_path,
                                                      const VfioUserDevice::Options& options = {});

}  // namespace vireo::host
