// SPDX-License-Identifier: Apache-2.0
// The control queue for firmware: takes one command (a chain of descriptors) at a time, copies its readable bytes into
// a window of 512 bytes and the window's bytes into its writable ones, as firmware requests, and returns the chain as
// used. It does not interpret commands. One read is outstanding at a time; writes are awaited only before completion.
//
// A chain that violates virtio, or a response that cannot be written, breaks the control queue: a queue_failure, unless
// descriptor fetch has reported one, and no further work until the queue or the device is reset. Likewise a used
// element or index that the bus refuses, which cq_writer reports; a command that was fetched behind it is discarded.
//
// Counterpart of rtl/ctrl/vireo_mailbox.sv; docs/blocks/mailbox.md has the latencies.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "model/common/agenda.h"
#include "model/common/channel.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::model {

// The mailbox's part of registers mailbox_status, mailbox_request_bytes and mailbox_response_bytes.
struct MailboxStatus {
  bool request = false;
  bool busy = false;
  bool dma_error = false;
  uint32_t request_bytes = 0;
  uint32_t response_bytes = 0;
  friend bool operator==(const MailboxStatus&, const MailboxStatus&) = default;
};

class Mailbox final : public Block {
 public:
  static constexpr size_t kWindowBytes = 512;  // mgmt.mailbox_data
  static constexpr size_t kChainEntries = 64;  // descriptors of the longest chain
  // From a doorbell accepted to the first buffer_request; from the last buffer to `request`; from a fetch to the first
  // read; from a complete to the first write, plus its bytes; from the last answer to the end of busy, plus its bytes,
  // if it ends a row; from the last write's end to the completion, or to the failure if it was refused. Unloaded.
  static constexpr Cycle kDoorbellLatency = 2;
  static constexpr Cycle kRequestLatency = 2;
  static constexpr Cycle kFetchLatency = 3;
  static constexpr Cycle kStoreLatency = 4;
  static constexpr Cycle kFetchDoneLatency = 4;
  static constexpr Cycle kCompletionLatency = 2;

  explicit Mailbox(Agenda& agenda, size_t chain_entries = kChainEntries);

  Channel<spec::Doorbell> control_doorbell_in = Channel<spec::Doorbell>::Slice();
  Channel<spec::Buffer> buffer_in = Channel<spec::Buffer>::Slice();
  Channel<spec::DmaFetched> fetched_in = Channel<spec::DmaFetched>::Slice();
  Output<spec::BufferRequest> buffer_request_out;
  Output<spec::DmaReadRequest> fetch_request_out;
  Output<spec::DmaStore> store_out;
  Output<spec::Completion> completion_out;
  Output<spec::QueueFailure> queue_failure_out;

  // Called in the first cycle of a new status.
  std::function<void(Cycle, const MailboxStatus&)> on_status = [](Cycle, const MailboxStatus&) {};

  // Pulses.
  void OnStoreDone(Cycle now, const spec::DmaDone& done);
  void OnDeviceReset(Cycle now);
  void OnQueueRowWrite(Cycle now, const spec::QueueRowWrite& row);
  // cq_writer has stopped a queue, of any kind; `at` is this cycle or a later one, and the last call's at the earliest.
  void OnQueueStopped(Cycle at, const spec::QueueFailure& failure);
  // From csr. At most one of them in a cycle.
  void OnFetch(Cycle now, uint32_t offset);
  void OnComplete(Cycle now, uint32_t bytes);
  // Window accesses are valid only while not busy: otherwise reads return 0 and writes are ignored.
  void OnWindowWrite(Cycle now, uint32_t word, uint32_t data);
  uint32_t ReadWindow(Cycle now, uint32_t word);  // in RTL the word is there one cycle later

  void Run(Cycle now) override;
  // A command waits for firmware.
  bool IsWaitingForFirmware() const { return last_status_.request && !last_status_.busy; }
  // idle_o in the next cycle, when all blocks of this one have run.
  bool IsIdle() const {
    return (state_ == State::kIdle || state_ == State::kBroken) && control_doorbell_in.size() == 0;
  }

 private:
  enum class State {
    kIdle,
    kRequest,
    kBuffer,
    kWait,
    kWalk,
    kPiece,
    kFetch,
    kFetched,
    kFill,
    kRead,
    kStore,
    kDrain,
    kUsed,
    kReport,
    kBroken
  };
  struct Entry {
    uint64_t address;
    uint32_t bytes;
  };

  static bool IsActive(State state);
  State StateAt(Cycle cycle) const { return since_ <= cycle ? state_ : before_; }  // of this cycle or the last one
  void TakePulses(Cycle now);
  void Step(Cycle now);
  void SetState(Cycle now, State state);  // takes effect in the next cycle
  void Begin();                           // starts the next command
  void TakeBuffer(Cycle now);
  void Piece(Cycle now);
  void CountByte();  // one of the piece was copied
  void ReportStatus(Cycle now);
  bool IsBusy(Cycle now);

  const size_t chain_entries_;

  State state_ = State::kIdle;
  State before_ = State::kIdle;  // the state before since_
  Cycle since_ = 0;              // state_ holds from this cycle on
  bool abort_ = true;            // the device or the queue was reset since the doorbell that began the queue's lifetime
  Cycle begun_at_ = 0;           // of that doorbell
  bool stopped_ = false;         // cq_writer has stopped the queue in this lifetime
  bool dma_error_ = false;

  // Pulses of the last cycle, not yet applied.
  struct Order {
    Cycle cycle;
    bool complete;
    uint32_t value;
  };
  std::optional<Order> order_;
  std::optional<Cycle> reset_at_;
  std::vector<Cycle> stops_;  // of this queue
  std::vector<std::pair<Cycle, uint8_t>> dones_;

  uint16_t vq_index_ = 0;
  spec::BufferRequest next_;  // for the next descriptor
  uint16_t head_ = 0;
  bool has_id_ = false;  // of the last descriptor; the position after it is next_.index
  uint16_t id_ = 0;
  std::vector<Entry> chain_;
  size_t readable_ = 0;
  uint32_t request_bytes_ = 0;
  uint32_t response_bytes_ = 0;

  bool completing_ = false;
  size_t entry_ = 0;
  uint32_t skip_ = 0;
  size_t pos_ = 0;
  size_t end_ = 0;
  uint64_t address_ = 0;
  size_t piece_ = 0;
  size_t copied_ = 0;  // bytes of the piece
  spec::DmaStore store_;
  size_t outstanding_ = 0;
  bool store_failed_ = false;

  std::array<uint8_t, kWindowBytes> window_{};
  MailboxStatus last_status_;
};

}  // namespace vireo::model
