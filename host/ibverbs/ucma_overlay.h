// SPDX-License-Identifier: Apache-2.0
// What ucma_overlay.cc needs of the rest of the overlay.
#pragma once

namespace vireo::ibverbs {

// A new channel to the service's connection manager (host/service/ucma_protocol.h): a SOCK_SEQPACKET socket that is
// closed on exec. -1, and errno, if there is none.
int OpenUcmaSocket();
// Whether the overlay works in this process.
bool IsUcmaActive();
// One line for who looks for it (VIREO_LOG).
void LogUcma(const char* text);

}  // namespace vireo::ibverbs
