// SPDX-License-Identifier: Apache-2.0
// The memory of a vfio-user client: files mapped into this process, and memory that is accessed by DMA_READ and
// DMA_WRITE messages.
//
// Messages and simulated time: device writes are posted; interrupts and (where possible) replies to register reads wait
// until the client has confirmed all writes. A device read stops simulated time until the client replies. Exception: if
// the client waits for a reply on the same socket, it may not reply first; then simulated time continues and the read
// takes longer.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "host/driver/vfio_user_protocol.h"
#include "sim/topology/topology.h"

namespace vireo::sim {

// The device's view of a client's memory.
class DmaWindows {
 public:
  virtual ~DmaWindows() = default;
  // False: it overlaps another window, or the device has no room. `memory` outlives the window.
  virtual bool Map(uint64_t address, std::span<uint8_t> memory, Permission permission) = 0;
  // Memory that only messages reach. False as above.
  virtual bool MapExternal(uint64_t address, uint64_t bytes, std::unique_ptr<MemoryBackend> memory,
                           Permission permission) = 0;
  virtual void Remove(uint64_t address) = 0;
  // `is_ready` is asked before the device reads memory; it reads later if the answer is false. Empty: no longer.
  virtual void OnDmaRead(std::function<bool(uint64_t address, uint32_t bytes)> is_ready) = 0;
  // Posted register writes that have not taken effect yet.
  virtual size_t WritesInFlight() const = 0;
};

// Of a NIC. It is the only user of the station's memory and of PcieLink::OnDmaRead; the station outlives it.
class StationWindows final : public DmaWindows {
 public:
  explicit StationWindows(Station& station) : station_(station) {}
  bool Map(uint64_t address, std::span<uint8_t> memory, Permission permission) override;
  bool MapExternal(uint64_t address, uint64_t bytes, std::unique_ptr<MemoryBackend> memory,
                   Permission permission) override;
  void Remove(uint64_t address) override;
  void OnDmaRead(std::function<bool(uint64_t address, uint32_t bytes)> is_ready) override;
  size_t WritesInFlight() const override;

 private:
  Station& station_;
};

class VfioUserMemory {
 public:
  // A guest with an emulated IOMMU maps each page by itself: 128 MiB.
  static constexpr uint32_t kMaxWindows = 32'768;

  class Peer {
   public:
    virtual void SendDma(const host::vfio_user::Header& header, std::span<const uint8_t> first,
                         std::span<const uint8_t> second) = 0;
    // The client can reply now.
    virtual bool MayWait() const = 0;
    // Waits for data from the client and processes it. False: the connection is over.
    virtual bool WaitForReply(uint64_t deadline_ns) = 0;
    virtual uint64_t ReplyDeadlineNs() const = 0;

   protected:
    ~Peer() = default;
  };

  // Both must outlive this. It is the only user of the windows.
  VfioUserMemory(DmaWindows& device, Peer& peer);
  ~VfioUserMemory();
  VfioUserMemory(const VfioUserMemory&) = delete;
  VfioUserMemory& operator=(const VfioUserMemory&) = delete;

  // Most bytes of one message, as negotiated.
  void SetTransfer(uint32_t bytes) { transfer_ = bytes; }

  // 0, or an errno and nothing has changed. A file that its owner could truncate (not sealed against shrinking) is not
  // mapped; that memory is accessed by messages. Unmap ends all windows in a range, none of them in part, as Linux'
  // type 1 (version 2): a client with an emulated IOMMU unmaps what a table of pages covered, or all of an address
  // space, whether or not something is mapped there. With VFIO_DMA_UNMAP_FLAG_ALL, address and size 0: all windows.
  uint32_t Map(const host::vfio_user::DmaMap& map, std::vector<host::FileDescriptor> files);
  uint32_t Unmap(const host::vfio_user::DmaUnmap& unmap);
  // After a device reset: data of outstanding reads is discarded.
  void ForgetReads();

  // False: the message is not a valid reply to an outstanding request.
  bool OnReply(const host::vfio_user::Message& message);
  size_t writes_in_flight() const { return writes_; }

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
    uint64_t epoch = 0;
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
  void SendRequest(host::vfio_user::Command command, uint64_t address, uint64_t bytes, std::span<const uint8_t> data,
                   std::pair<uint64_t, uint64_t> fetch);
  void Remove(std::map<uint64_t, Window>::iterator window);

  DmaWindows& device_;
  Peer& peer_;
  uint32_t transfer_ = host::vfio_user::kDefaultTransfer;
  std::map<uint64_t, Window> windows_;                      // by address
  std::map<uint64_t, uint64_t> remote_;                     // last byte of windows without a mapped file, by address
  std::map<std::pair<uint64_t, uint64_t>, Fetch> fetches_;  // by address and bytes
  std::unordered_map<uint16_t, Request> requests_;          // by message ID
  uint64_t epoch_ = 0;
  uint16_t next_id_ = 0;
  size_t writes_ = 0;
};

}  // namespace vireo::sim
