// SPDX-License-Identifier: Apache-2.0
// The memory of a vfio-user client as its device sees it: files that are mapped here, and memory that only the client
// can reach, by DMA_READ and DMA_WRITE messages.
//
// Messages and simulated time: a device's write is sent and not waited for; interrupts and (where possible) answers to
// register reads wait until the client has confirmed all of them. A device's read stops simulated time until the client
// answers; unless the client itself waits for an answer on the same socket, and might not answer before it has it: then
// simulated time goes on and the read takes longer.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "host/driver/vfio_user_protocol.h"
#include "sim/topology/topology.h"

namespace vireo::sim {

class VfioUserMemory {
 public:
  static constexpr uint32_t kMaxWindows = 8192;

  class Peer {
   public:
    virtual void SendDma(const host::vfio_user::Header& header, std::span<const uint8_t> first,
                         std::span<const uint8_t> second) = 0;
    // The client can answer now.
    virtual bool MayWait() const = 0;
    // Waits until something came from the client, and took it in. False: it is over.
    virtual bool WaitForReply(uint64_t deadline_ns) = 0;
    virtual uint64_t ReplyDeadlineNs() const = 0;

   protected:
    ~Peer() = default;
  };

  // Both outlive it. It is the only user of the station's memory and of PcieLink::OnDmaRead.
  VfioUserMemory(Station& station, Peer& peer);
  ~VfioUserMemory();
  VfioUserMemory(const VfioUserMemory&) = delete;
  VfioUserMemory& operator=(const VfioUserMemory&) = delete;

  // Bytes in one message, as the client wants it.
  void SetTransfer(uint32_t bytes) { transfer_ = bytes; }

  // 0, or an errno; then nothing has changed. A file that its owner could take pages from is not mapped: that memory
  // is reached by messages. kEveryWindow: all, with address and size 0.
  uint32_t Map(const host::vfio_user::DmaMap& map, std::vector<host::FileDescriptor> files);
  uint32_t Unmap(const host::vfio_user::DmaUnmap& unmap);
  // The device was reset: what it read is nobody's any more.
  void ForgetReads();

  // False: no answer to anything.
  bool OnReply(const host::vfio_user::Message& message);
  size_t writes_under_way() const { return writes_; }

 private:
  class RemoteWindow;
  struct Window {
    uint64_t bytes = 0;
    uint8_t* mapped = nullptr;  // null: remote
  };
  struct Request {
    host::vfio_user::Command command;
    uint64_t address = 0, bytes = 0;
    std::pair<uint64_t, uint64_t> fetch;
    uint64_t generation = 0;
  };
  struct Fetch {
    std::vector<uint8_t> data;
    uint64_t missing = 0;
    bool is_failed = false;
  };

  bool IsReady(uint64_t address, uint64_t bytes);
  bool FetchNow(uint64_t address, uint64_t bytes);
  bool ReadRemote(uint64_t address, std::span<uint8_t> data);
  bool WriteRemote(uint64_t address, std::span<const uint8_t> data);
  void Ask(host::vfio_user::Command command, uint64_t address, uint64_t bytes, std::span<const uint8_t> data,
           std::pair<uint64_t, uint64_t> fetch);
  void Remove(std::map<uint64_t, Window>::iterator window);

  Station& station_;
  Peer& peer_;
  uint32_t transfer_ = host::vfio_user::kDefaultTransfer;
  std::map<uint64_t, Window> windows_;                      // by address
  std::map<uint64_t, uint64_t> remote_;                     // last byte of those without a file, by address
  std::map<std::pair<uint64_t, uint64_t>, Fetch> fetches_;  // by address and bytes
  std::unordered_map<uint16_t, Request> requests_;          // by message ID
  uint64_t generation_ = 0;
  uint16_t next_id_ = 0;
  size_t writes_ = 0;
};

}  // namespace vireo::sim
