// SPDX-License-Identifier: Apache-2.0
// Decides on every received frame, in order, one at a time: what of it goes to memory and what is answered: the
// counterpart of rtl/rdma/vireo_responder.sv. Owner of the receive half of every QP. Of requests it carries out RDMA
// WRITE without immediate data on RC; acknowledges go on. Each frame leaves as exactly one rx_place.
//
// With r the cycle in which a frame's turn comes (its tables are read): it is decided on in r + 2 or when the outputs
// of the frame before have been taken, + 1. The outputs are visible one cycle after the decision; with a key check,
// that asks one cycle after the decision and the outputs are visible one cycle after its answer is.
#pragma once

#include <cstdint>
#include <optional>

#include "model/common/agenda.h"
#include "model/common/channel.h"
#include "model/common/cycle.h"
#include "model/common/table.h"
#include "model/rdma/rx_parser.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::model {

class Responder final : public Block {
 public:
  // From a frame's turn to the decision.
  static constexpr uint64_t kDecisionLatency = 2;

  Responder(Agenda& agenda, uint32_t num_qps);
  Responder(Agenda& agenda, const spec::Config& config) : Responder(agenda, config.num_qps) {}

  Channel<spec::QpLoad> load_in = Channel<spec::QpLoad>::Slice();
  Channel<RxToken> frame_in = Channel<RxToken>::Slice();
  Channel<spec::MemoryPlace> memory_place_in = Channel<spec::MemoryPlace>::Slice();
  Output<spec::MemoryCheck> memory_check_out;
  Output<spec::RxPlace> place_out;
  Output<spec::RxAck> ack_out;
  Output<spec::QpFailure> failure_out;

  // Pulses, in their cycle.
  void OnTableWrite(Cycle now, const spec::TableWrite& write);
  void OnQpStateWrite(Cycle now, const spec::QpStateWrite& write);
  // enable_i from cycle `from` on, which is not over; 0 before the first call.
  void SetEnable(Cycle from, bool enable);

  void Run(Cycle now) override;
  bool IsIdle() const;

 private:
  enum class State : uint8_t { kIdle, kAct, kMemory };
  enum class Action : uint8_t { kDrop, kAcknowledge, kRepeat, kSequence, kInvalid, kAccess, kAccept, kWrite };

  struct Attributes {
    bool rc = false;  // exists and has this service
    bool remote_write = false;
    unsigned path_mtu = 0;
    uint16_t pdn = 0;
    uint8_t peer[16]{};
  };
  // The receive half of a QP; the second group belongs to the message under way.
  struct Half {
    bool failed = false;  // ERR by our own will; a load ends it
    bool nak_sent = false;
    uint32_t expected_psn = 0;
    uint32_t msn = 0;
    bool in_message = false;
    uint64_t address = 0;
    uint32_t rkey = 0;
    uint32_t bytes_left = 0;
  };
  // A token in an output register.
  template <typename T>
  struct Register {
    std::optional<T> token;
    Cycle since = 0;  // when it was set, or taken
    void Set(Cycle now, const T& value) {
      token = value;
      since = now;
    }
    void Offer(Cycle now, Output<T>& output) {
      if (!token || since >= now || !output.CanPush(now)) return;
      output.Push(now, *token);
      token.reset();
      since = now;
    }
    // Empty in cycle `now`, as the block sees it.
    bool IsFree(Cycle now) const { return !token && (since < now || since == 0); }
  };

  Action Decide() const;
  bool IsTaken() const;
  bool IsRequestValid() const;
  void Act(Cycle now);
  void Finish(Cycle now, Action action, const spec::MemoryPlace& memory);
  bool Enabled(Cycle now) const { return enable_from_ <= now ? next_enable_ : enable_; }

  Table<Attributes> attributes_table_;
  Table<spec::IbQpState> state_table_;
  Table<Half> half_table_;

  bool enable_ = false;
  bool next_enable_ = false;
  Cycle enable_from_ = 0;

  State state_ = State::kIdle;
  Cycle begins_ = 0;  // of the state
  // Of the frame whose turn it is.
  bool enabled_ = false;
  Attributes attributes_;
  spec::IbQpState qp_state_{};
  Half half_;
  // Of this packet's first byte, and of the message, this packet included.
  uint64_t address_ = 0;
  uint32_t rkey_ = 0;
  uint32_t bytes_left_ = 0;

  Register<spec::MemoryCheck> check_;
  Register<spec::RxPlace> place_;
  Register<spec::RxAck> ack_;
  Register<spec::QpFailure> failure_;
};

}  // namespace vireo::model
