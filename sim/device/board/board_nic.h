// SPDX-License-Identifier: Apache-2.0
// A NIC on a board behind a link as a Nic.
//
// Time: the NIC's clock on the board runs while this object lets it, for the cycles in which something may happen, and
// stands still otherwise, as in a simulation; its time input is the simulated time. So a run has the same cycles as
// with the Verilated RTL, however slow the link is, and no timer expires because of it.
//
// A cycle is run when all its inputs are known (at its middle). Several are run at once up to the scheduler's horizon,
// and the board stops by itself after a cycle with an output; the output is reported when the simulation gets there.
//
// If the board does not answer, a message is printed, and from then on it is as if the NIC had been unplugged: nothing
// comes from it any more, so that the driver's next BAR read times out.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/device/axi_bridge.h"
#include "sim/device/board/board_link.h"
#include "sim/device/pci_config.h"
#include "sim/nic/nic.h"
#include "sim/nic/nic_context.h"
#include "sim/time/scheduler.h"

namespace vireo::sim {

// What a NIC tells the owner of the control processor on its board.
class BoardProcessor {
 public:
  // The processor accesses this register in this cycle, the next one: the owner makes the access at the NIC, at the
  // cycle's begin, which the board takes as its own processor's.
  virtual void OnAccess(Cycle cycle, const spec::BoardCsr& access) = 0;
  virtual void OnConsole(char character) = 0;
  virtual void OnRan(Cycle cycle, const spec::BoardRan& ran) = 0;  // up to and including this cycle

 protected:
  ~BoardProcessor() = default;
};

class BoardNic final : public Nic, private Scheduler::Client {
 public:
  // `context` as for a factory: its references outlive the NIC. The link is open.
  BoardNic(const NicContext& context, std::unique_ptr<BoardLink> link, const PciConfig::Options& options = {});

  void Reset(Cycle cycle) override;
  uint32_t ReadConfig(Cycle cycle, uint16_t offset, unsigned bytes) override;
  void WriteConfig(Cycle cycle, uint16_t offset, unsigned bytes, uint32_t value) override;
  void ReadBar(Cycle cycle, unsigned bar, uint64_t offset, unsigned bytes) override;
  void WriteBar(Cycle cycle, unsigned bar, uint64_t offset, unsigned bytes, uint64_t value) override;
  void CompleteDmaRead(Cycle cycle, const DmaCompletion& completion) override;
  void RefuseDmaWrite(Cycle cycle) override;
  void ReturnCredits(Cycle cycle, CreditKind kind, uint32_t beats) override;
  void ReceiveFrame(Cycle start, Cycle end, std::span<const uint8_t> bytes, bool mac_error) override;
  void SetLink(Cycle cycle, bool up) override;
  void ReadCsr(Cycle cycle, uint32_t offset) override;
  void WriteCsr(Cycle cycle, uint32_t offset, uint32_t value) override;
  bool IsIdle() const override { return !busy_; }
  Cycle NextDeadline() const override { return deadline_; }

  // From its next cycle on, and after every reset, the board's processor runs this image, which belongs at
  // kProcessorStackBytes of its memory. Without a call, none runs.
  void LoadProcessor(BoardProcessor& owner, std::vector<uint8_t> image);
  bool has_processor() const { return link_->hello().has_processor != 0; }

  const BoardLink& link() const { return *link_; }
  uint64_t runs() const { return runs_; }  // since the last reset

 private:
  struct BarAccess {
    Cycle cycle = 0;
    spec::BoardBar access;
  };
  struct CsrAccess {
    Cycle cycle = 0;
    spec::BoardCsr access;
  };
  struct FrameBeat {
    Cycle cycle = 0;
    std::vector<uint8_t> bytes;
    bool last = false, error = false;
  };
  struct ControlsChange {
    Cycle cycle = 0;  // the first one with them
    spec::BoardControls controls;
  };
  struct Credits {
    Cycle cycle = 0;  // when they arrived: they count from the next one on
    spec::BoardCredits credits;
  };
  struct Write {
    spec::BoardWrite start;
    std::vector<uint8_t> beats;
  };

  void OnTime(uint64_t) override;
  void Enter(Cycle cycle);  // an input arrives in `cycle`
  void Wake(Cycle cycle);
  void Run(Cycle cycle);
  // Appends what enters in the cycles from `cycle` on, and lowers `limit` to the first one in which more will.
  void PutInputs(Cycle cycle, Cycle& limit);
  void PutProcessor();
  void PutReadBeats(Cycle cycle, Cycle& limit);
  void PutFrameBeats(Cycle cycle, Cycle& limit);
  template <typename T>
  void Put(spec::BoardCommand command, const T& structure);
  void Report(Cycle cycle);  // the events of this cycle
  void FinishWrite(Cycle cycle);
  void Fail(const std::string& what);

  Scheduler& scheduler_;
  const CoreClock clock_;
  NicEnvironment& environment_;
  const std::string name_;
  const std::unique_ptr<BoardLink> link_;
  PciConfig config_space_;
  AxiBridge bridge_;  // for the beats of DMA reads
  const Scheduler::ClientNumber client_;

  Cycle position_ = 0;            // the board's next cycle
  Cycle alarm_ = kNever;          // the cycle of the alarm
  std::optional<Cycle> pending_;  // the last cycle that was run, if it is not over: its events are to be reported then
  std::vector<uint8_t> events_;
  spec::BoardRan ran_;
  bool busy_ = false;
  bool is_gone_ = false;
  Cycle deadline_ = kNever;
  uint64_t runs_ = 0;

  BoardProcessor* processor_ = nullptr;
  std::vector<uint8_t> image_;
  bool is_loaded_ = false;                   // since the last reset
  std::optional<spec::BoardCsr> announced_;  // the processor's access in the board's next cycle

  std::vector<uint8_t> commands_;
  spec::BoardControls controls_;
  std::deque<BarAccess> bar_accesses_;
  std::deque<CsrAccess> csr_accesses_;
  Cycle read_beats_until_ = 0;  // the board has a beat for every cycle from its next one to this one, exclusive
  std::deque<FrameBeat> frame_beats_;
  Cycle frame_beats_until_ = 0;  // likewise
  std::deque<ControlsChange> controls_changes_;
  std::deque<Credits> credits_;
  std::optional<Cycle> refused_;
  std::deque<Write> writes_;
  std::vector<uint8_t> transmitting_;
  bool is_time_known_ = false;  // to the board: position_ begins at its time
};

}  // namespace vireo::sim
