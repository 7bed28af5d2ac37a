// SPDX-License-Identifier: Apache-2.0
// Decides on every received frame, in order, one at a time: what of it goes to memory, what it completes and what is
// answered: the counterpart of rtl/rdma/vireo_responder.sv. Owner of the receive half of every QP. Of requests it
// carries out SEND and RDMA WRITE, with or without immediate data, on RC; acknowledges go on. In ERR it flushes the
// QP's receives, one per turn. A frame leaves as one rx_place or as several, a flushed receive as one without frame.
//
// With r the cycle in which a frame's turn comes (its tables are read): it is decided on in r + 2 or when the outputs
// of the frame before have been taken, + 1. The outputs are visible one cycle after the decision; with a key check,
// that asks one cycle after the decision and the outputs are visible one cycle after its answer is. What a receive or
// an element brings is known one cycle after it is visible.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

#include "model/common/agenda.h"
#include "model/common/channel.h"
#include "model/common/cycle.h"
#include "model/common/table.h"
#include "model/rdma/qp_queues.h"
#include "model/rdma/qp_set.h"
#include "model/rdma/rx_parser.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::model {

class Responder final : public Block {
 public:
  // From a frame's turn to the decision.
  static constexpr uint64_t kDecisionLatency = 2;

  // From a flush's turn to the question for a receive, or to the decision if a message holds one.
  static constexpr uint64_t kFlushLatency = 1;

  Responder(Agenda& agenda, uint32_t net_queue_pairs, uint32_t num_cqs, uint32_t num_qps);
  Responder(Agenda& agenda, const spec::Config& config)
      : Responder(agenda, config.net_queue_pairs, config.num_cqs, config.num_qps) {}

  Channel<spec::QpLoad> load_in = Channel<spec::QpLoad>::Slice();
  Channel<RxToken> frame_in = Channel<RxToken>::Slice();
  Channel<spec::MemoryPlace> memory_place_in = Channel<spec::MemoryPlace>::Slice();
  Channel<spec::Doorbell> doorbell_in = Channel<spec::Doorbell>::Slice();  // of receive queues
  Channel<spec::Receive> receive_in = Channel<spec::Receive>::Slice();
  Output<spec::MemoryCheck> memory_check_out;
  Output<spec::ReceiveRequest> receive_request_out;
  Output<spec::RxPlace> place_out;
  Output<spec::RxAck> ack_out;
  Output<spec::QpFailure> failure_out;

  // Pulses, in their cycle.
  void OnTableWrite(Cycle now, const spec::TableWrite& write);
  void OnQpStateWrite(Cycle now, const spec::QpStateWrite& write);
  // enable_i from cycle `from` on, which is not over; 0 before the first call.
  void SetEnable(Cycle from, bool enable);
  // mq_i, likewise.
  void SetMq(Cycle from, bool mq);

  void Run(Cycle now) override;
  bool IsIdle() const;

 private:
  enum class State : uint8_t { kIdle, kAct, kMemory, kReceive, kNext, kFlush };
  enum class Action : uint8_t {
    kDrop,
    kAcknowledge,
    kRepeat,
    kSequence,
    kInvalid,
    kAccess,
    kAccept,
    kWrite,
    kReceive,     // asks for a receive
    kContinue,    // a SEND goes on
    kNotReady,    // no receive
    kOperation,   // the receive or one of its elements could not be read
    kProtection,  // an element's key does not allow it
    kLength       // the elements are too short
  };

  struct Attributes {
    bool rc = false;  // exists and has this service
    bool remote_write = false;
    unsigned path_mtu = 0;
    uint16_t pdn = 0;
    uint16_t recv_cqn = 0;
    uint8_t min_rnr_timer = 0;
    uint8_t peer[16]{};
  };
  // Where a message goes on. WRITE has the second group only.
  struct Position {
    uint16_t head = 0;  // of the receive that the message holds
    uint64_t wr_id = 0;
    uint64_t next_element = 0;  // where it is in host memory
    uint8_t elements = 0;       // that are left there

    uint64_t address = 0;
    uint32_t key = 0;
    uint32_t bytes_left = 0;  // WRITE: of the message; SEND: of the element
  };
  // The receive half of a QP; the second group belongs to the message under way. One of a SEND holds a receive.
  struct Half {
    bool failed = false;    // ERR by our own will; a load ends it
    bool nak_sent = false;  // NAK of sequence or RNR
    uint32_t expected_psn = 0;
    uint32_t msn = 0;
    bool in_message = false;
    bool send = false;  // else WRITE
    uint32_t received = 0;
    Position position{};
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

  void Begin(Cycle now);
  Action Decide() const;
  bool IsTaken() const;
  bool IsRequestValid() const;
  bool IsSend() const { return frame_in.front().info.operation == spec::BthOperation::kSend; }
  void Act(Cycle now);
  void OnMemory(Cycle now);
  void OnReceive(Cycle now);
  void Next(Cycle now, bool again);
  void Flush(Cycle now);
  void Ask(Cycle now, const spec::ReceiveRequest& request);
  void AskForReceive(Cycle now) { Ask(now, {.qpn = qpn_}); }
  void Go(Cycle now, State state);
  bool HasSpace(Cycle now);
  void Complete(Cycle now, spec::RxPlace& place, spec::RdmaCqReq cqe, bool solicited);
  void SetRuns(spec::RxPlace& place, const spec::MemoryPlace& memory) const;
  uint32_t Chunk() const { return std::min(position_.bytes_left, left_); }
  void Finish(Cycle now, Action action, const spec::MemoryPlace& memory);
  void RunRings(Cycle now, bool again);
  bool Enabled(Cycle now) const { return enable_from_ <= now ? next_enable_ : enable_; }

  QpQueues queues_;

  Table<Attributes> attributes_table_;
  Table<spec::IbQpState> state_table_;
  Table<Half> half_table_;

  bool enable_ = false;
  bool next_enable_ = false;
  Cycle enable_from_ = 0;

  // QPs to flush, and what is about to be added to them, in this order.
  QpSet flush_;
  std::deque<std::pair<Cycle, uint32_t>> changes_;  // by qp_state_write, seen one cycle later
  std::optional<uint32_t> again_;
  std::optional<uint32_t> ring_;  // of a QP in ERR or not
  bool ring_in_error_ = false;

  State state_ = State::kIdle;
  Cycle begins_ = 0;  // of the state
  // Of the turn.
  bool is_flush_ = false;
  bool turn_ = false;  // the last one was a flush: a frame goes before the next one
  uint32_t qpn_ = 0;
  bool enabled_ = false;
  Attributes attributes_;
  spec::IbQpState qp_state_{};
  Half half_;
  // WRITE: of this packet's first byte, and of the message, this packet included.
  uint64_t address_ = 0;
  uint32_t rkey_ = 0;
  uint32_t bytes_left_ = 0;
  // The receive, and payload that has no place yet.
  bool is_element_ = false;  // what is waited for, or came last
  spec::BufferStatus status_{};
  spec::RdmaError code_{};
  Position position_;
  uint32_t left_ = 0;
  uint32_t offset_ = 0;  // in the frame

  Register<spec::MemoryCheck> check_;
  Register<spec::ReceiveRequest> request_;
  Register<spec::RxPlace> place_;
  Register<spec::RxAck> ack_;
  Register<spec::QpFailure> failure_;
};

}  // namespace vireo::model
