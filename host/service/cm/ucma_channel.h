// SPDX-License-Identifier: Apache-2.0
// Connects one client's socket (ucma_protocol.h) to its UcmaFile. For an event loop; not thread-safe.
#pragma once

#include <memory>

#include "host/service/cm/ucma.h"

namespace vireo::service {

class UcmaChannel {
 public:
  // Takes ownership of the SOCK_SEQPACKET socket. `ucma` must outlive it.
  UcmaChannel(Ucma& ucma, int socket);
  ~UcmaChannel();
  UcmaChannel(const UcmaChannel&) = delete;
  UcmaChannel& operator=(const UcmaChannel&) = delete;

  int socket() const { return socket_; }
  // Call it when the socket is readable; does not block. False: the client closed the socket or violated the protocol;
  // destroy the channel.
  bool Serve();

 private:
  bool Answer(std::span<const uint8_t> command);
  void OnEvent();

  const int socket_;
  bool token_sent_ = false;  // since the last answer
  bool is_answering_ = false;
  std::unique_ptr<UcmaFile> file_;
};

}  // namespace vireo::service
