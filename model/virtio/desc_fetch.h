// SPDX-License-Identifier: Apache-2.0
// Fetches buffers of virtqueues for everybody: available index, ring entries, descriptors, from split rings. The
// counterpart of rtl/virtio/vireo_desc_fetch.sv, stage by stage. Answers come in the order in which requests left the
// arbiter. It follows no chain by itself and knows neither packed rings nor indirect tables.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>

#include "model/common/agenda.h"
#include "model/common/channel.h"
#include "model/common/cycle.h"
#include "model/common/output_register.h"
#include "model/common/table.h"
#include "model/virtio/queue_state.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::model {

class DescFetch final : public Block {
 public:
  static constexpr size_t kClients = 5;  // spec::BufferClient
  struct Sizes {
    size_t queues = 16;       // virtqueues
    size_t requests = 8;      // reads of index, and of ring, under way
    size_t descriptors = 32;  // reads of descriptors under way
  };
  // Unloaded, in cycles: from the acceptance of what is named first to the token of what is named last.
  static constexpr Cycle kRequestToIndexRead = 4;
  static constexpr Cycle kIndexToRingRead = 5;
  static constexpr Cycle kRingToDescriptorRead = 4;
  static constexpr Cycle kDescriptorToBuffer = 5;
  static constexpr Cycle kCyclesPerBuffer = 3;

  DescFetch(Agenda& agenda, const Sizes& sizes);

  void OnTableWrite(Cycle cycle, const spec::TableWrite& write);
  void OnQueueRowWrite(Cycle cycle, const spec::QueueRowWrite& row);

  void Run(Cycle now) override;
  bool IsIdle() const;  // in the cycle after the one that ran

  std::array<Channel<spec::BufferRequest>, kClients> buffer_request_in;
  Channel<spec::DmaFetched> index_fetched_in;
  Channel<spec::DmaFetched> ring_fetched_in;
  Channel<spec::DmaFetched> descriptor_fetched_in;

  std::array<Output<spec::Buffer>, kClients> buffer_out;
  Output<spec::DmaReadRequest> index_request_out;
  Output<spec::DmaReadRequest> ring_request_out;
  Output<spec::DmaReadRequest> descriptor_request_out;
  Output<spec::QueueFailure> queue_failure_out;
  std::function<void(Cycle)> on_window_violation;  // the pulse; may be empty

 private:
  enum class Kind { kRead, kByIndex, kEmpty, kFailed, kBroken };
  struct Request {
    size_t client;
    spec::BufferRequest request;
  };
  struct IndexJob {
    Kind kind;
    Request from;
    uint64_t driver;
  };
  struct RingJob {
    Kind kind;
    Request from;
    unsigned count;
    spec::RdmaError code;
  };
  struct DescriptorJob {
    Kind kind;
    size_t client;
    uint16_t vq_index;
    uint16_t head;
    spec::RdmaError code;
    bool last;
  };

  void Arbitrate(Cycle now);
  void Accept(Cycle now);
  void Ring(Cycle now);
  void List(Cycle now);
  void Answer(Cycle now);

  Table<spec::QueueRowWrite> rows_;
  Table<uint8_t> served_;
  Table<spec::TableWindow> windows_;
  QueueState<uint16_t> positions_;
  QueueState<uint8_t> failed_;

  size_t winner_ = kClients - 1;
  Channel<Request> requests_ = Channel<Request>::Slice();
  Channel<IndexJob> index_jobs_;
  Channel<RingJob> ring_jobs_;
  Channel<DescriptorJob> descriptor_jobs_;
  OutputRegister<spec::DmaReadRequest> index_request_{index_request_out, *this};
  OutputRegister<spec::DmaReadRequest> ring_request_{ring_request_out, *this};
  OutputRegister<spec::DmaReadRequest> descriptor_request_{descriptor_request_out, *this};
  std::array<OutputRegister<spec::Buffer>, kClients> buffer_;
  OutputRegister<spec::QueueFailure> queue_failure_{queue_failure_out, *this};

  // Stage 1
  enum class AcceptState { kTake, kLook };
  AcceptState accept_ = AcceptState::kTake;
  Kind accept_kind_ = Kind::kRead;
  uint64_t accept_driver_ = 0;
  std::deque<uint16_t> reading_;  // queues whose index is being read
  // Stage 2
  enum class RingState { kTake, kLook, kIssue };
  RingState ring_ = RingState::kTake;
  spec::QueueRowWrite ring_row_;
  uint16_t position_ = 0;
  // Stage 3
  enum class ListState { kTake, kNext };
  ListState list_ = ListState::kTake;
  spec::QueueRowWrite list_row_;
  unsigned entry_ = 0;
  // Stage 4
  enum class AnswerState { kTake, kLook, kSay };
  AnswerState answer_ = AnswerState::kTake;
  spec::TableWindow window_;
  bool answer_failed_ = false;
  bool drop_ = false;  // the rest of a request that was answered `failed`
};

}  // namespace vireo::model
