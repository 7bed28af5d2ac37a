// SPDX-License-Identifier: Apache-2.0
// The send half of a QP: checks a work request, cuts its message into packets, has the memory of each checked, and
// gives them away as jobs: the counterpart of rtl/rdma/vireo_requester.sv. It sees no acknowledge and sends nothing
// twice.
//
// Two machines with a queue between them: the front checks, cuts and asks for memory (2 cycles per work request and one
// per packet), the back decides with the answer, in order (3 cycles per packet).
#pragma once

#include <cstdint>
#include <optional>

#include "model/common/agenda.h"
#include "model/common/channel.h"
#include "model/common/table.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::model {

class Requester final : public Block {
 public:
  // Between front and back.
  static constexpr uint32_t kPackets = 16;

  // RETH.dma_length and every message: at most 2^31 bytes. [IBTA vol. 1, 9.3.3]
  static constexpr uint32_t kMaxMessageBytes = 0x8000'0000;

  // Unloaded, from the cycle in which one token is accepted to the one in which the next is visible.
  static constexpr Cycle kWorkRequestToCheck = 4;
  static constexpr Cycle kPlaceToRecord = 4;
  static constexpr Cycle kPlaceToJob = 5;
  static constexpr Cycle kWorkRequestToFlush = 7;  // of a work request that asks for no memory, to its record

  Requester(Agenda& agenda, const spec::Config& config, uint32_t packets = kPackets);

  void OnTableWrite(Cycle cycle, const spec::TableWrite& write);
  void OnQpStateWrite(Cycle cycle, const spec::QpStateWrite& write);

  Channel<spec::WorkRequest> work_request_in = Channel<spec::WorkRequest>::Slice();
  Channel<spec::QpLoad> load_in = Channel<spec::QpLoad>::Slice();
  Channel<spec::MemoryPlace> memory_place_in;
  Output<spec::MemoryCheck> memory_check_out;
  Output<spec::TxJob> job_out;
  Output<spec::SendRecord> record_out;
  Output<spec::QpFailure> failure_out;

  void Run(Cycle now) override;
  // Nothing is under way after the cycles that have run.
  bool IsIdle() const;

 private:
  struct Attributes {
    spec::IbQpType qp_type{};
    spec::IbMtu path_mtu{};
    bool sq_sig_all = false;
    uint16_t pdn = 0;
    uint8_t max_send_sge = 0;
  };
  // What goes from the front to the back: a packet, a failure, or a load.
  struct Entry {
    bool load = false;
    bool first = false;   // of its message, or of no message
    bool placed = false;  // a memory_place belongs to it
    spec::SendRecord record{};
    spec::TxPacket packet{};
  };
  // The message that the front is cutting.
  struct Message {
    spec::RdmaSqReq request{};
    spec::RdmaSge sge{};
    spec::SendRecord record{};
    bool first = true;
    uint32_t length = 0;
    uint32_t left = 0;
    uint64_t address = 0;
    uint32_t psn = 0;
    uint32_t mtu = 0;
    uint16_t pdn = 0;
  };
  enum class Front { kIdle, kCheck, kPacket };
  enum class Back { kIdle, kDecide, kJob, kFail };

  bool RunFront(Cycle now);
  void Check(Cycle now);
  bool SendPacket(Cycle now);
  bool RunBack(Cycle now);
  bool Decide(Cycle now);
  void PopEntry(Cycle now);

  Table<Attributes> attributes_;
  Table<spec::IbQpState> front_state_;
  Table<spec::IbQpState> back_state_;
  Table<uint32_t> half_;  // next PSN
  Table<uint8_t> dead_;   // an error of its own: nothing is sent until the next load
  Channel<Entry> entries_;

  Front front_ = Front::kIdle;
  Message message_;
  Back back_ = Back::kIdle;
  uint32_t code_ = 0;  // of the failure to be told

  std::optional<spec::MemoryCheck> check_;
  std::optional<spec::TxJob> job_;
  std::optional<spec::SendRecord> record_;
  std::optional<spec::QpFailure> failure_;
};

}  // namespace vireo::model
