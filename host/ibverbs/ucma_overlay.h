// SPDX-License-Identifier: Apache-2.0
// What the overlay's rdma_cm (ucma_overlay.cc, ucma_file.h) needs of the rest of it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "host/driver/file_descriptor.h"

namespace vireo::ibverbs {

// A NIC, by a new channel to its connection manager (host/service/ucma_protocol.h): a SOCK_SEQPACKET socket that is
// closed on exec.
struct UcmaNic {
  size_t number = 0;  // of the NIC: the same each time, as long as the process lives
  host::FileDescriptor socket;
  uint32_t ifindex = 0;
  std::vector<std::array<uint8_t, 16>> gids;
};

// All that this process sees, in its order. None, and errno: there is none.
std::vector<UcmaNic> OpenUcmaNics();
// Whether the overlay works in this process.
bool IsUcmaActive();
// One line for who looks for it (VIREO_LOG).
void LogUcma(const char* text);

}  // namespace vireo::ibverbs
