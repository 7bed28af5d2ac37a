// SPDX-License-Identifier: Apache-2.0
// Reads the payload of packets from host memory and buffers it until they are sent: the counterpart of
// rtl/rdma/vireo_tx_gather.sv. A packet has one job or several, all on one of two streams, which alternate per packet;
// packets leave in the order in which their last jobs were taken, each when its payload is complete (store and
// forward). It checks nothing. The handling of a message whose packet could not be read is decided elsewhere. With room
// that is taken before a packet is begun, no job waits for the wire. Packets of a queue pair that is stopped while they
// wait, or requests of one that is flushed, are marked stale: they leave in their turn, without a report, and no frame
// of them is sent.
//
// Unloaded, with p the cycle of a job's push and x that of the last beat of the packet's last train:
//
//   first request visible:   p + kRequestLatency
//   second request visible:  first one taken, + 1
//   next job taken:          last request taken, + 1
//   packet visible:          x + kPacketLatency; without payload p + kEmptyLatency; one that reports kReports later
//   sent visible:            the packet, - kSentAhead, if it is taken at once
//   drop taken:              x + kDropLatency
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "model/common/agenda.h"
#include "model/common/channel.h"
#include "model/common/cycle.h"
#include "model/common/fifo.h"
#include "model/dma/train.h"
#include "model/rdma/memory_grant.h"
#include "model/rdma/payload_source.h"
#include "model/rdma/stop_pulse.h"
#include "model/rdma/tx_room.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::model {

class TxGather final : public Block, public TrainSink, public PayloadSource {
 public:
  static constexpr uint64_t kRequestLatency = 2;
  static constexpr uint64_t kPacketLatency = 5;
  static constexpr uint64_t kEmptyLatency = 5;
  static constexpr uint64_t kDropLatency = 2;
  static constexpr uint64_t kReports = 1;
  static constexpr uint64_t kSentAhead = 2;
  // From one packet's decision to the next one's, if the packets are taken.
  static constexpr uint64_t kInterval = 3;

  // Bits of a request's tag: role of the train in its packet.
  static constexpr uint8_t kTagFurther = 1;  // not the first run
  static constexpr uint8_t kTagLast = 2;
  // From this bit on, with a job's last run: its grant.
  static constexpr unsigned kTagGrant = 2;

  // beat_bytes: DataBits/8. buffer_bytes: a power of two, 8192 or more. reserved_bytes: of the longest packet, if
  // packets are begun with room that was given for them; three times as many are not more than buffer_bytes.
  TxGather(Agenda& agenda, size_t beat_bytes, size_t buffer_bytes, std::optional<size_t> reserved_bytes = {});
  TxGather(Agenda& agenda, const spec::Config& config)
      : TxGather(agenda, config.datapath_bits / 8, config.tx_buffer_bytes, config.max_path_mtu) {}

  Channel<spec::TxJob> job_in;
  Channel<spec::TxJob> response_in;  // of the read responder
  Output<spec::DmaReadRequest> read_request_out;
  Output<spec::TxPacket> packet_out;
  Output<spec::QpFailure> failed_out;
  Output<spec::RxAck> sent_out;  // packets with `reports` that have left; failed ones of UC and UD, with a status

  // The runs of a job are read.
  OnGrantEnded on_grant_ended = [](Cycle, Cycle, const spec::MemoryGrant&) {};

  // A packet of `job_in` is read, or dropped: nothing that was taken before it reads any more. It may still wait for
  // the wire. Reported ahead, with the cycle of the pulse.
  std::function<void(Cycle at)> on_packet_read = [](Cycle) {};

  // Room for one more packet of an input, 0 job_in, 1 response_in. Called in the cycle of the pulse.
  std::function<void(Cycle, size_t input)> on_room = [](Cycle, size_t) {};
  // Pulses in cycle `at`, which may be in the future. A packet is begun: its first job, or OnRoomUnused, follows.
  void OnRoomUsed(Cycle at, size_t input);
  // A packet of `job_in` that was begun has no job.
  void OnRoomUnused(Cycle at);

  // Pulse in cycle `now`: packets of this queue pair that are here are stale, or its requests.
  void OnStopped(Cycle now, const QpStop& stop);
  // Packets of response_in that were taken whole.
  uint64_t responses_ended() const { return responses_ended_; }

  void OnTrain(Cycle first, const Train& train) override;
  std::vector<uint8_t> TakePayload(Cycle first) override;

  void Run(Cycle now) override;
  bool IsIdle() const;  // at the end of the last cycle that ran

 private:
  enum class Fetch : uint8_t { kTake, kFirst, kSecond };
  enum class Send : uint8_t { kWait, kSent, kSend, kFail, kFailSent };

  struct Done {
    Cycle visible;
    bool bad;
    std::vector<uint8_t> data;
  };
  struct Payload {
    std::vector<uint8_t> data;
    Cycle released;          // decided on
    Cycle taken = kUnknown;  // the last beat
  };
  struct Return {
    Cycle first;  // of a return of one beat; the others follow, one per cycle, or all at once
    size_t beats;
    bool at_once;
  };

  size_t Beats(size_t bytes) const { return (bytes + beat_bytes_ - 1) / beat_bytes_; }
  // Of the buffer. A packet that carries its payload with it passes like one without payload.
  size_t BeatsOf(const spec::TxPacket& packet) const { return packet.has_inline ? 0 : Beats(packet.payload_bytes); }
  void ReturnBeats(Return room);
  size_t Free(Cycle now);
  void RunRoom(Cycle now);
  void RunFetch(Cycle now);
  Channel<spec::TxJob>& Input(size_t index) { return index == 0 ? job_in : response_in; }
  bool HasJobs() const { return job_in.size() != 0 || response_in.size() != 0; }
  bool TakeJob(Cycle now, Channel<spec::TxJob>& input);
  bool TakeDrop(Cycle now, Channel<spec::TxJob>& input);
  void CountReads();
  void RunSend(Cycle now);
  void Decide(Cycle now, bool bad);

  size_t beat_bytes_;
  std::optional<TxRoom> room_;
  std::optional<size_t> room_to_;  // the pulse of the next cycle

  Fetch fetch_ = Fetch::kTake;
  Cycle fetch_from_ = 0;   // start of the state
  size_t winner_ = 1;      // input of the last packet: 0 job_in, 1 response_in
  spec::TxJob job_{};      // being requested
  bool further_ = false;   // not the first one of its packet
  bool part_ = false;      // the next job continues the packet
  size_t part_beats_ = 0;  // of the whole packet in progress
  size_t runs_ = 0;        // requested and not yet arrived
  Cycle runs_end_ = 0;     // all arrived runs are in the buffer from then on
  size_t free_;            // beats of the buffer that belong to no packet, nor to room that was given
  std::deque<Return> returns_;

  FifoTiming waiting_timing_;  // packets between job and output
  std::deque<spec::TxPacket> waiting_;
  std::deque<Done> done_;
  Done arriving_{};  // the packet whose runs are arriving

  // Packets that are not known to be read, in order.
  struct Unread {
    Cycle taken;
    bool has_payload;
    bool is_response;
  };
  std::deque<Unread> unread_;
  std::deque<Cycle> complete_;  // of those with payload: from when on it is all there
  Cycle next_read_ = 0;         // one per cycle

  StopPulse stopped_;
  uint64_t responses_ended_ = 0;

  Send send_ = Send::kWait;
  Cycle send_from_ = 0;
  spec::TxPacket packet_{};
  std::deque<Payload> payloads_;  // of packets that left, until the last beat is taken
  size_t unsent_ = 0;             // of these, the ones not requested yet: the last ones
  Cycle last_taken_ = 0;          // last beat of all payloads requested
};

}  // namespace vireo::model
