// SPDX-License-Identifier: Apache-2.0
// The wire between a simulator and a guest, for FLUSH: Linux' Soft-RoCE gives such a request another ICRC than the
// standard does (SoftRoceFlushIcrc), which a Linux accepts and no others do.
//
// In a datagram with such a request the relay replaces exactly the sender's ICRC by the receiver's; all other
// datagrams, and requests with another ICRC, pass unchanged. From the first request of Linux with the standard's ICRC
// on it changes nothing.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "host/driver/file_descriptor.h"

namespace vireo::sim {

class FlushIcrcRelay {
 public:
  // `simulator`: path of vireo_simulator's end of its wire; `guest`: of the simulator's end, as the guest knows it. The
  // sockets of the relay are `simulator`.peer and `guest`.
  FlushIcrcRelay(const std::string& simulator, const std::string& guest);
  ~FlushIcrcRelay();
  FlushIcrcRelay(const FlushIcrcRelay&) = delete;
  FlushIcrcRelay& operator=(const FlushIcrcRelay&) = delete;

  bool is_open() const { return thread_.joinable(); }
  // Without it nothing is replaced.
  void SetActive(bool is_active) { is_active_ = is_active; }
  struct Counts {
    uint64_t linux_own = 0, linux_right = 0, linux_other = 0;  // FLUSH requests of Linux by their ICRC
    uint64_t ours_right = 0, ours_other = 0;                   // of the simulator
  };
  Counts counts() const;

 private:
  void Run();
  void Translate(std::vector<uint8_t>& frame, bool is_from_linux);

  std::string simulator_, guest_;
  host::FileDescriptor to_simulator_, to_guest_, stop_;
  std::atomic<bool> is_active_ = true;
  std::atomic<uint64_t> linux_own_ = 0, linux_right_ = 0, linux_other_ = 0, ours_right_ = 0, ours_other_ = 0;
  std::thread thread_;
};

}  // namespace vireo::sim
