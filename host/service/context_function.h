// SPDX-License-Identifier: Apache-2.0
// The PciFunction of a service's client: DMA memory, doorbells, time and interrupts, through the service. No registers:
// reads return all ones, writes to configuration space are dropped.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "host/driver/file_descriptor.h"
#include "host/driver/pci_function.h"
#include "host/service/client.h"

namespace vireo::service {

class ContextFunction final : public host::PciFunction {
 public:
  // AllocateDma allocates from one memory file of this size, so that one address window bounds the descriptors of a
  // context's queues. Only used pages take memory.
  static constexpr uint64_t kArenaBytes = uint64_t{1} << 30;

  // kNoMemory, kLost. DMA memory may outlive it.
  static Result<std::unique_ptr<ContextFunction>> Create(std::shared_ptr<Connection> connection, uint16_t vectors);

  Status health() const override { return connection_->health(); }
  uint32_t ReadConfig(uint32_t offset, unsigned bytes) override;
  void WriteConfig(uint32_t /*offset*/, unsigned /*bytes*/, uint32_t /*value*/) override {}
  uint64_t BarBytes(unsigned /*bar*/) const override { return 0; }
  uint64_t ReadBar(unsigned bar, uint64_t offset, unsigned bytes) override;
  void WriteBar(unsigned bar, uint64_t offset, unsigned bytes, uint64_t value) override;
  // Any thread.
  Result<host::DmaBuffer> AllocateDma(size_t bytes, size_t alignment) override;
  Result<host::DmaBuffer> MapDma(uint8_t* memory, size_t bytes) override;
  unsigned MsixVectors() const override { return static_cast<unsigned>(vectors_.size()); }
  // No effect: the service has enabled MSI-X.
  Status EnableMsix(unsigned count) override;
  bool TakeInterrupt(unsigned vector) override;
  uint64_t NowNs() override;
  void Wait(uint64_t deadline_ns) override;

  Result<int> VectorFd(uint16_t vector);

 private:
  class Arena;
  class Block;
  class UserMemory;
  struct Vector {
    host::FileDescriptor fd;
    bool has_arrived = false;
  };
  ContextFunction(std::shared_ptr<Connection> connection, uint16_t vectors)
      : connection_(std::move(connection)), vectors_(vectors) {}
  bool Harvest(Vector& vector);

  std::shared_ptr<Connection> connection_;
  std::vector<Vector> vectors_;
  std::shared_ptr<Arena> arena_;
};

}  // namespace vireo::service
