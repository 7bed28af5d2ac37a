// SPDX-License-Identifier: Apache-2.0
// The rules of the monitor and the list of their violations. docs/monitor.md explains each rule and names the test that
// shows it failing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/nic/nic.h"

namespace vireo::sim::monitor {

struct Rule {
  const char* name;
  const char* source;
};

// Frames that the device's transport sends.
inline constexpr Rule kWireLength = {"wire.length", "IBTA vol. 1, A17.4.3; RFC 791, 3.1; RFC 8200, 3; RFC 768"};
inline constexpr Rule kWireHeader = {"wire.header", "IBTA vol. 1, 9.2 and A17.4; RFC 791, 3.1"};
inline constexpr Rule kWirePadding = {"wire.padding", "IBTA vol. 1, 9.2 (PadCnt)"};
inline constexpr Rule kWireIcrc = {"wire.icrc", "IBTA vol. 1, 7.8.1 and A17.3.3"};
inline constexpr Rule kWirePayload = {"wire.payload", "IBTA vol. 1, 9.4 and table 38; spec/opcodes.toml"};
inline constexpr Rule kWirePath = {"wire.path", "IBTA vol. 1, A17.4; spec/tables.toml table_path"};
inline constexpr Rule kMessage = {"message.packets", "IBTA vol. 1, 9.3.3 and 9.4"};
inline constexpr Rule kWorkRequest = {"message.work_request",
                                      "IBTA vol. 1, 10.8 and 11.4.1.1; spec/roce.toml rdma_sq_req"};
inline constexpr Rule kMessagePayload = {"message.payload", "IBTA vol. 1, 9.4, 10.6.3 and 11.4.1.1"};
// Packet sequence numbers.
inline constexpr Rule kPsnContiguous = {"psn.contiguous", "IBTA vol. 1, 9.7.1 and 9.8"};
inline constexpr Rule kPsnWindow = {"psn.window", "IBTA vol. 1, 9.7.1"};
inline constexpr Rule kStopped = {"qp.stopped", "IBTA vol. 1, 10.3.1; docs/microarchitecture.md, Stopping"};
inline constexpr Rule kRetransmission = {"psn.retransmission", "IBTA vol. 1, 9.7.1"};
inline constexpr Rule kAcknowledge = {"ack.received", "IBTA vol. 1, 9.7.5.1"};
inline constexpr Rule kAckWritten = {"ack.written", "IBTA vol. 1, 9.7.5.1; docs/architecture.md"};
inline constexpr Rule kAckRefused = {"ack.refused", "IBTA vol. 1, 9.7.4.1 and 10.6.3"};
inline constexpr Rule kAckMsn = {"ack.msn", "IBTA vol. 1, 9.7.7"};
inline constexpr Rule kAckNakOnce = {"ack.nak_once", "IBTA vol. 1, 9.7.5"};
inline constexpr Rule kAckRnrTimer = {"ack.rnr_timer", "IBTA vol. 1, 9.7.5.2.8"};
inline constexpr Rule kReadOnce = {"read.once", "IBTA vol. 1, 9.4.4 and 9.7.5.1.4"};
inline constexpr Rule kAtomicOnce = {"atomic.once", "IBTA vol. 1, 9.4.5 and 9.7.5.1.4"};
// Rings.
inline constexpr Rule kUsedElement = {"used.element", "virtio 1.3, 2.7.8 and 2.8.1"};
inline constexpr Rule kUsedIndex = {"used.index", "virtio 1.3, 2.7.8"};
inline constexpr Rule kUsedAvailable = {"used.available", "virtio 1.3, 2.7.8 and 2.8.1"};
inline constexpr Rule kUsedOrder = {"used.order", "IBTA vol. 1, 10.8"};
inline constexpr Rule kCqeWritten = {"cqe.before_used", "virtio 1.3, 2.7.8; spec/roce.toml rdma_cq_req"};
inline constexpr Rule kCqeElements = {"cqe.elements", "spec/roce.toml rdma_cq_base and table_cq_context"};
inline constexpr Rule kUsedLength = {"used.length", "virtio 1.3, 2.7.8.2; spec/roce.toml rdma_cq_req"};
inline constexpr Rule kArmNotifies = {"arm.notifies", "IBTA vol. 1, 11.4.2.2; spec/roce.toml rdma_cq_arm"};
inline constexpr Rule kMsixCause = {"msix.cause", "virtio 1.3, 2.7.7 and 4.1.5.1; spec/roce.toml rdma_cq_arm"};
// Memory.
inline constexpr Rule kAccess = {"dma.inside", "virtio 1.3, 2.6.1 and 2.7; IBTA vol. 1, 10.6; spec/tables.toml"};
// What the device says of itself.
inline constexpr Rule kIdleSilent = {"idle.silent", "sim/nic/nic.h, Nic::IsIdle"};
inline constexpr Rule kIdleOwed = {"idle.owed", "sim/nic/nic.h, Nic::IsIdle; spec/csr.toml status"};
// Completions.
inline constexpr Rule kCompletionOnce = {"completion.once", "IBTA vol. 1, 10.8"};
inline constexpr Rule kCompletionReceive = {"completion.receive", "IBTA vol. 1, 11.4.2.1; spec/roce.toml rdma_cq_req"};
inline constexpr Rule kCompletionData = {"completion.data",
                                         "IBTA vol. 1, 10.8 and 11.4.2.1; spec/roce.toml rdma_rq_req"};
inline constexpr Rule kCompletionRead = {"completion.read", "IBTA vol. 1, 9.4.4 and 11.4.1.1"};
inline constexpr Rule kCompletion = {"completion.acknowledged", "IBTA vol. 1, 9.7.5.1.2 and 10.8"};

// The first kMax violations of one NIC, in time order.
class Findings {
 public:
  static constexpr size_t kMax = 100;

  explicit Findings(uint16_t nic) : nic_(nic) {}
  [[gnu::cold]] void Add(const Rule& rule, Cycle cycle, const std::string& seen, const std::string& expected);
  const std::vector<std::string>& list() const { return list_; }

 private:
  const uint16_t nic_;
  std::vector<std::string> list_;
};

std::string Hex(uint64_t value);

}  // namespace vireo::sim::monitor
