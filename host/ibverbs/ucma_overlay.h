// SPDX-License-Identifier: Apache-2.0
// Functions of the overlay that its rdma_cm (ucma_overlay.cc, ucma_file.h) uses.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "host/driver/file_descriptor.h"

namespace vireo::ibverbs {

// A NIC and a new channel to its connection manager (host/service/ucma_protocol.h): a close-on-exec SOCK_SEQPACKET
// socket.
struct UcmaNic {
  size_t number = 0;  // of the NIC: constant within the process
  host::FileDescriptor socket;
  uint32_t ifindex = 0;
  std::function<std::vector<std::array<uint8_t, 16>>()> gids;  // of now
};

// All NICs of this process, in device order. Empty, and errno: there is none.
std::vector<UcmaNic> OpenUcmaNics();
// The overlay is active in this process.
bool IsUcmaActive();
// Logs one line (VIREO_LOG).
void LogUcma(const char* text);

}  // namespace vireo::ibverbs
