// SPDX-License-Identifier: Apache-2.0
// The send half of a QP: checks a work request, reads the elements of its list, cuts its message into packets, has the
// memory of each checked, and issues them as jobs: the counterpart of rtl/rdma/vireo_requester.sv. An RDMA READ is one
// packet with one PSN per response; before its job the responder gets a record of the destination. It does not process
// acknowledges. The completer decides on retransmission: a hold stops the QP's new packets, replays bring work requests
// again, a resume ends the hold. A QP whose next work request must wait for READs holds itself. So does one whose
// message is longer than a burst: it sends the burst, and replays request the rest burst by burst, so that other QPs
// get their turns in between. After an error an RC QP sends nothing until it is loaded again; UC and UD until a work
// request arrives that was checked after SQE.
//
// A work request is an rdma_sq_req, or shorter than that and extensible: then its elements are found by walking its
// mask. Inline data of an extensible one goes with the job if it was read with the work request and is one beat; other
// is read.
//
// Two machines with a queue between them: the front checks, cuts and issues memory checks (2 cycles per work request
// and one per run of an element in a packet), the back decides on the responses, in order (3 cycles per run, 4 per
// READ).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "model/common/agenda.h"
#include "model/common/channel.h"
#include "model/common/context_table.h"
#include "model/common/event_count.h"
#include "model/common/table.h"
#include "model/rdma/memory_grant.h"
#include "model/rdma/work_fence.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::model {

class Requester final : public Block {
 public:
  // Between front and back.
  static constexpr uint32_t kPackets = 16;

  // Unloaded, from the cycle in which one token is accepted to the one in which the next is visible.
  static constexpr Cycle kWorkRequestToCheck = 4;
  static constexpr Cycle kPlaceToRecord = 4;
  static constexpr Cycle kPlaceToJob = 5;
  static constexpr Cycle kWorkRequestToFlush = 7;  // of a work request without memory check, to its record
  static constexpr Cycle kRecordToReadRecord = 1;
  static constexpr Cycle kReadRecordToJob = 1;
  static constexpr Cycle kReplayToCheck = kWorkRequestToCheck + 1;
  static constexpr Cycle kWorkRequestToFetch = 4;
  // To the first check of a list, from its last response, which has this many elements.
  static constexpr Cycle FetchedToCheck(uint32_t elements) { return elements + 4; }
  // From a hold to the first packet decision that it affects.
  static constexpr Cycle kHoldToDecision = 3;

  Requester(Agenda& agenda, const spec::Config& config, uint32_t packets = kPackets);

  void OnTableWrite(Cycle cycle, const spec::TableWrite& write);
  // Any memory; those of others are ignored.
  void OnContextFlip(Cycle now, const spec::ContextFlip& flip) {
    attributes_.OnFlip(now, flip);
    handles_.OnFlip(now, flip);
  }
  // The context used to check a work request has bad parity. Reported ahead, with the cycle of the pulse.
  std::function<void(Cycle at)> on_parity_error;
  void OnQpStateWrite(Cycle cycle, const spec::QpStateWrite& write);
  void OnQpHold(Cycle cycle, const spec::QpHold& hold);
  void OnQpReads(Cycle cycle, const spec::QpReads& reads);
  // Room for one more packet, by a pulse in cycle `cycle`.
  void OnRoom(Cycle cycle);

  Channel<spec::WorkRequest> work_request_in;
  Channel<spec::QpLoad> load_in;
  Channel<spec::MemoryPlace> memory_place_in;
  Channel<spec::DmaFetched> fetched_in;
  Output<spec::DmaReadRequest> fetch_request_out;
  Output<spec::MemoryCheck> memory_check_out;
  Output<spec::TxJob> job_out;
  Output<spec::SendRecord> record_out;
  Output<spec::ReadRecord> read_record_out;  // taken before the job of its request is visible
  Output<spec::QpFailure> failure_out;

  // Called in the cycle of the pulse.
  std::function<void(Cycle)> on_resent = [](Cycle) {};
  // Likewise; one cycle after a change.
  // A granted access is not made.
  OnGrantEnded on_grant_ended = [](Cycle, Cycle, const spec::MemoryGrant&) {};
  // A packet is begun, with room in tx_gather; one that was begun has no job. Reported ahead, with the cycle of the
  // pulse.
  std::function<void(Cycle at)> on_room_used = [](Cycle) {};
  std::function<void(Cycle at)> on_room_unused = [](Cycle) {};
  // Packets that were issued, work requests and replays that have ended: the completer counts them.
  std::function<void(Cycle, const WorkEnds&)> on_work_ends = [](Cycle, const WorkEnds&) {};
  std::function<void(Cycle, const spec::QpPsn&)> on_next_psn = [](Cycle, const spec::QpPsn&) {};

  void Run(Cycle now) override;
  // At no packet that was begun, and reading no list of elements: what follows depends on the QP's state.
  bool IsSettled() const {
    return front_ != Front::kList && front_ != Front::kSum && front_ != Front::kMap && message_.cut_bytes == 0;
  }
  // Entries of the queue between the machines, and those of them that have ended.
  uint64_t entries_begun() const { return entries_ended_ + entries_.size(); }
  uint64_t entries_ended() const { return entries_ended_; }
  // Packets, or drops of one, that went to the jobs.
  uint64_t packets_begun() const { return packets_begun_; }
  // No work in flight after the cycles that have run.
  bool IsIdle() const;

 private:
  struct Attributes {
    spec::IbQpType qp_type{};
    spec::IbMtu path_mtu{};
    bool sq_sig_all = false;
    uint16_t pdn = 0;
    uint8_t max_send_sge = 0;
    uint16_t max_inline_data = 0;
    uint8_t max_rd_atomic = 0;
    uint32_t qkey = 0;
  };
  // The fields of an address handle that are used here.
  struct Handle {
    bool valid = false;
    uint16_t pdn = 0;
  };
  // Epoch of a QP's last hold, and of the last that ended; the QP is held while they differ. A load sets both to 0, and
  // the first hold after it is 1. Holds by the requester itself are known to the front only.
  struct Resumed {
    bool by_itself = false;
    uint8_t epoch = 0;
  };
  // Nothing is sent after an error that this block detected.
  struct Halted {
    bool until_load = false;  // until the next load
    bool send_only = false;   // until SQE has ended, as shown by a work request checked after it
  };
  // Properties of a work request's opcode.
  struct Operation {
    spec::BthService service{};
    spec::IbWrOpcode opcode{};
    spec::IbWcOpcode wc_opcode{};
    spec::BthOpcode bth[4]{};  // by packet_position
  };
  static const Operation kOperations[];
  static const Operation* OperationOf(spec::BthService service, spec::IbWrOpcode opcode);
  struct PendingHold {
    Cycle cycle;  // of the tables' write
    spec::QpHold hold;
  };
  struct PendingSqe {
    Cycle cycle;  // likewise
    uint32_t qpn;
  };
  // Entry of the queue from front to back: one run of a packet, a failure, a load or a resume.
  struct Entry {
    bool load = false;
    bool resume = false;
    bool first = false;               // of its message, or of no message
    bool start = false;               // of its packet
    bool room = false;                // with it, for which room is taken
    bool ends = false;                // the last one of its work request
    bool mark = false;                // nothing else; with `placed` the answer to a check of pages
    bool more = false;                // the packet continues in the next one
    bool placed = false;              // has a memory_place
    bool direct = false;              // inline data: the payload is at `address`, unless the packet has it
    bool unsent = false;              // of a held QP: a record and no packet
    bool recovers = false;            // with `first`: the QP's first work request since SQE ended
    bool send_only = false;           // a failure stops only the send half
    bool first_transmission = false;  // of a replay: first transmission
    uint16_t packets = 0;             // with `first`, not 0: this many are sent now
    uint8_t epoch = 0;
    uint8_t serial = 0;  // of a replay
    uint64_t address = 0;
    spec::SendRecord record{};
    spec::TxPacket packet{};
    bool is_local = false;  // the memory_place answers its invalidate, bind or registration; there is no packet
    bool is_bind = false;   // one of the latter
    bool read = false;      // RDMA READ
    spec::ReadRecord read_record{};
  };
  // The message that the front is cutting.
  struct Message {
    spec::RdmaSqReq request{};
    spec::SendRecord record{};
    spec::BthService service{};
    const Operation* operation = nullptr;  // null: there is none
    bool is_atomic = false;
    bool is_store = false;     // ATOMIC WRITE or FLUSH: its operands are in the work request
    bool is_flush = false;     // the latter
    bool is_read = false;      // or atomic: that is treated as a READ, a store as one of no bytes
    bool is_bind = false;      // bind of a memory window
    bool is_register = false;  // registration of a memory region, whose elements are pages
    bool is_local = false;     // one of these, or a local invalidate
    uint32_t qkey = 0;
    uint8_t max_reads = 0;
    bool is_inline = false;
    bool is_carried = false;               // the inline data goes with the packet:
    uint8_t data[spec::kTxInlineBytes]{};  //   this
    bool first = true;
    bool recovers = false;
    uint8_t epoch = 0;  // of a replay; with `recovers` of the QP's last hold
    uint32_t length = 0;
    uint32_t left = 0;       // bytes from the packet on
    uint32_t cut_bytes = 0;  // of the packet
    size_t element = 0;      // with `address` and `element_left`
    uint64_t address = 0;
    uint32_t element_left = 0;
    uint64_t list = 0;  // address of the elements
    uint64_t total = 0;
    uint32_t count = 0;  // elements
    uint32_t elements_requested = 0;
    bool bad = false;   // an element could not be read
    uint32_t skip = 0;  // bytes that are not retransmitted
    uint32_t psn = 0;
    uint16_t packets = 0;  // not 0: other QPs get their turn after this many,
    uint32_t end_psn = 0;  //   of which this is the last one
    uint32_t shift = 0;    // log2 of the path MTU
    uint16_t pdn = 0;
  };
  enum class Front { kIdle, kCheck, kList, kSum, kSkip, kPacket, kLeave, kMap };
  enum class Back { kIdle, kDecide, kRead, kJob, kFail };

  bool Waits(Cycle now);
  spec::MemoryCheck BindCheck() const;
  spec::MemoryCheck RegistrationCheck() const;
  void CountRead(Cycle now);
  spec::TxPacket PacketOf(uint32_t payload, bool last, bool ends) const;
  spec::ReadRecord ReadRecordOf(Cycle now);
  // A work request, whichever format it has.
  struct Parsed {
    spec::RdmaSqReq request{};
    bool is_known = true;      // of this version
    bool has_elements = true;  // those of its operation
    bool has_length = true;    // its descriptor ends where they do
    uint32_t num_sge = 0;
    uint16_t inline_len = 0;
    spec::RdmaSge sge{};  // the first one
    uint64_t list = 0;    // addresses
    uint64_t data = 0;
    bool is_carried = false;  // the inline data came with the work request:
    uint8_t carried[spec::kTxInlineBytes]{};
  };
  Parsed Parse(const spec::WorkRequest& work, spec::BthService service) const;
  const Operation* FindOperation(spec::BthService service, spec::IbWrOpcode opcode) const;
  void WriteHolds(Cycle now);
  void WriteSqes(Cycle now);
  bool RunFront(Cycle now);
  void SetNextPsn(Cycle now, uint32_t qpn, uint32_t psn);
  bool Load(Cycle now);
  bool Check(Cycle now);
  bool Resume(Cycle now);
  bool ReadList(Cycle now);
  void EndCheck();
  bool SendPacket(Cycle now);
  bool MapPages(Cycle now);
  void Advance();
  void EndMessage(Cycle now, uint32_t next_psn);
  void PushMark(Cycle now);
  bool EndEarly(Cycle now);
  bool RunBack(Cycle now);
  bool Decide(Cycle now);
  void PopEntry(Cycle now);

  const uint32_t max_send_sge_;
  const bool has_atomics_;
  const bool has_atomic_write_;
  const bool has_flush_;
  const bool has_invalidation_;
  const bool has_windows_;
  const bool has_fast_registration_;
  const bool has_extensible_;
  const bool carries_inline_;         // where it is one beat
  const uint32_t most_read_packets_;  // of a READ that does not wait for the completer
  const uint32_t burst_bytes_;
  ContextTable<Attributes> attributes_;
  Table<spec::IbQpState> front_state_;
  Table<spec::IbQpState> back_state_;
  Table<uint32_t> half_;   // next PSN
  Table<uint8_t> number_;  // records, in total
  Table<Halted> halted_;
  Table<uint8_t> was_sqe_;  // and no work request has been checked in a sending state since then
  ContextTable<Handle> handles_;
  Table<uint8_t> reads_started_;  // READs with a record, and those that ended: never reset by a load
  Table<uint8_t> ended_;
  Table<uint8_t> front_hold_;
  Table<Resumed> front_resumed_;
  Table<uint8_t> back_hold_;
  Table<uint8_t> back_resumed_;
  std::deque<PendingHold> holds_;
  bool hold_now_ = false;  // a hold takes the tables' write ports
  std::deque<PendingSqe> sqes_;
  bool sqe_now_ = false;  // likewise
  Channel<Entry> entries_;

  EventCount room_;           // for packets: given
  uint16_t room_used_ = 0;    //   and used
  bool room_unused_ = false;  // the pulse of the next cycle

  Front front_ = Front::kIdle;
  Message message_;
  std::vector<spec::RdmaSge> elements_;  // of the message; inline data is one
  Back back_ = Back::kIdle;
  uint64_t entries_ended_ = 0;
  uint64_t packets_begun_ = 0;
  bool stop_ = false;       // the rest of the message is skipped
  bool drop_ = false;       // the next job ends a packet that was started
  uint32_t code_ = 0;       // of the failure to report
  uint8_t generation_ = 0;  // epoch of the last hold of the packet's QP

  std::optional<spec::MemoryCheck> check_;
  std::optional<spec::DmaReadRequest> fetch_;
  std::optional<spec::TxJob> job_;
  std::optional<spec::SendRecord> record_;
  std::optional<spec::ReadRecord> read_;
  std::optional<spec::QpFailure> failure_;
  bool has_packets_ = false;             // the work request
  bool resent_ = false;                  // the pulse of the next cycle
  std::optional<WorkEnds> ends_;         // likewise
  std::optional<spec::QpPsn> next_psn_;  // likewise
};

}  // namespace vireo::model
