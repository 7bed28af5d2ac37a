// SPDX-License-Identifier: Apache-2.0
// Joins one client's socket (ucma_protocol.h) and its UcmaFile. One thread; for an event loop.
#pragma once

#include <memory>

#include "host/service/cm/ucma.h"

namespace vireo::service {

class UcmaChannel {
 public:
  // Takes the socket over: SOCK_SEQPACKET. `ucma` outlives it.
  UcmaChannel(Ucma& ucma, int socket);
  ~UcmaChannel();
  UcmaChannel(const UcmaChannel&) = delete;
  UcmaChannel& operator=(const UcmaChannel&) = delete;

  int socket() const { return socket_; }
  // For when the socket is readable; does not wait. False: the client is gone, or sent what no client sends; destroy
  // the channel.
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
