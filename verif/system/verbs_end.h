// SPDX-License-Identifier: Apache-2.0
// One end of an RC connection between a NIC of a simulation and Linux' Soft-RoCE, of either kind by the same functions:
// a test that has two exchanges the roles of requester and responder. Regions and queue pairs are named by their order
// of creation; work requests have at most one element. Nothing is destroyed before the end is.
//
// Errors: a missing value or false, after a test failure with the reason, but for what a comment excepts.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "spec/gen/vireo_spec.h"

namespace vireo::sim {

using GidOfEnd = std::array<uint8_t, 16>;

struct EndRegion {
  size_t number = 0;
  uint64_t address = 0;
  uint32_t rkey = 0;
};
struct EndQp {
  size_t number = 0;
  uint32_t qpn = 0;
  GidOfEnd gid{};
};
struct EndWindow {
  size_t number = 0;
  uint32_t rkey = 0;
};
struct EndConnection {
  EndQp peer{};
  uint32_t psn = 0, peer_psn = 0;
  uint32_t access = 0;   // spec::IbAccessFlags
  uint8_t timeout = 20;  // of an acknowledge: 4.096 us times 2^n; a guest is slow
  uint8_t retries = 6;
};
struct EndWork {
  uint64_t wr_id = 0;
  spec::IbWrOpcode opcode{};
  uint8_t flags = spec::IbSendFlags::kSignaled;
  size_t region = 0;  // the element; of bind_mw: the window's range
  uint64_t offset = 0;
  uint32_t length = 0;
  uint64_t remote = 0;  // address
  uint32_t rkey = 0;    // of the peer; of send_with_inv and local_inv: to invalidate; of bind_mw: the new one
  uint64_t value = 0;   // compare_add of verbs::SendRequest
  uint64_t swap = 0;
  uint32_t flush_length = 0;
  uint8_t placement = spec::FlushPlacement::kGlobalVisibility;
  spec::FlushSelectivity selectivity{};
  size_t window = 0;    // bind_mw
  uint32_t access = 0;  // bind_mw
};
struct EndCompletion {
  uint64_t wr_id = 0;
  spec::IbWcStatus status{};
  spec::IbWcOpcode opcode{};  // of a successful one
  uint32_t byte_len = 0;
};

class VerbsEnd {
 public:
  virtual ~VerbsEnd() = default;
  virtual const char* name() const = 0;
  // Without `file` ordinary memory, zeros. Missing, without a test failure: it is refused.
  virtual std::optional<EndRegion> Register(uint64_t length, uint32_t access, const std::string& file = "") = 0;
  virtual bool Poke(size_t region, uint64_t offset, std::span<const uint8_t> bytes) = 0;
  virtual std::optional<std::vector<uint8_t>> Peek(size_t region, uint64_t offset, size_t length) = 0;
  virtual std::optional<EndQp> CreateQp() = 0;
  virtual bool Connect(size_t qp, const EndConnection& connection) = 0;
  virtual std::optional<EndWindow> AllocateWindow() = 0;  // of type 2
  // Missing, without a test failure: refused.
  virtual bool Post(size_t qp, const EndWork& work) = 0;
  virtual bool PostReceive(size_t qp, uint64_t wr_id, size_t region, uint64_t offset, uint32_t length) = 0;
  // Of all queue pairs. Missing, without a test failure: none in time.
  virtual std::optional<EndCompletion> Poll(unsigned timeout_ms) = 0;
};

// Path MTU of all connections.
inline constexpr spec::IbMtu kEndMtu = spec::IbMtu::kMtu1024;
inline constexpr uint8_t kEndReads = 4;  // READs, atomic operations, ATOMIC WRITEs, FLUSHes of a connection

// Through the service of a simulator, which must outlive it. A region of a file is persistent memory.
std::unique_ptr<VerbsEnd> OpenVireoEnd(const std::string& socket);
// verbs_peer of a guest (guest/verbs_peer.cc), which must run, at this TCP port of this machine.
std::unique_ptr<VerbsEnd> OpenLinuxEnd(unsigned port);

}  // namespace vireo::sim
