// SPDX-License-Identifier: Apache-2.0
// The NIC: wiring of its blocks and nothing else, as rtl/vireo_nic.sv. docs/microarchitecture.md shows the connections.
//
// It has no clock. Inputs are reported in their cycles, before the blocks of that cycle run; Run runs the blocks.
// Outputs of a cycle are reported to the environment in that cycle, or go into the DMA ports' outputs, which the
// environment connects.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "model/common/agenda.h"
#include "model/common/arbiter.h"
#include "model/common/meters.h"
#include "model/ctrl/csr.h"
#include "model/ctrl/mailbox.h"
#include "model/dma/dma_read_port.h"
#include "model/dma/dma_write_port.h"
#include "model/eth/net_checksum.h"
#include "model/eth/net_filter.h"
#include "model/eth/net_rx.h"
#include "model/eth/net_tx.h"
#include "model/rdma/atomic.h"
#include "model/rdma/completer.h"
#include "model/rdma/memory_check.h"
#include "model/rdma/qp_control.h"
#include "model/rdma/qp_sweep.h"
#include "model/rdma/read_responder.h"
#include "model/rdma/recv_queue.h"
#include "model/rdma/requester.h"
#include "model/rdma/responder.h"
#include "model/rdma/retry_timer.h"
#include "model/rdma/rx_buffer.h"
#include "model/rdma/rx_scatter.h"
#include "model/rdma/send_queue.h"
#include "model/rdma/tx_builder.h"
#include "model/rdma/tx_gather.h"
#include "model/virtio/common_cfg.h"
#include "model/virtio/cq_writer.h"
#include "model/virtio/desc_fetch.h"
#include "model/virtio/moderation.h"
#include "model/virtio/msix.h"
#include "model/virtio/notify.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::model {

// The environment of the NIC; each call in the cycle of the output, unless noted.
class NicOutputs {
 public:
  virtual ~NicOutputs() = default;
  // A frame will be visible from `start` to `end`, which is later.
  virtual void OnFrameAhead(Cycle start, Cycle end) = 0;
  virtual void OnFrame(Cycle start, Cycle end, std::vector<uint8_t> bytes) = 0;  // in cycle `end`
  virtual void OnBarRead(Cycle now, uint64_t data) = 0;
  virtual void OnCsrRead(Cycle now, uint32_t data) = 0;
  virtual void OnMessage(Cycle now, const MsixMessage& message) = 0;
  // The level from cycle `from` on; reported in the cycle before.
  virtual void OnFirmwareInterrupt(Cycle from, bool level) = 0;
  // Device time in cycle `now`, in ns.
  virtual uint64_t TimeNs(Cycle now) = 0;
  // The first cycle whose device time is `ns` or later.
  virtual Cycle CycleAt(uint64_t ns) = 0;
};

class Nic {
 public:
  // Controls from configuration space.
  struct Controls {
    bool bus_master = false;
    bool msix_enable = false;
    bool msix_mask = false;
    spec::PcieSize max_payload_size = spec::PcieSize::kBytes128;
    spec::PcieSize max_read_request_size = spec::PcieSize::kBytes512;
  };

  // A block that takes two steps in every so many-th cycle. Those that wait for host memory have twice the room
  // instead: desc_fetch, dma_read_port, send_queue.
  struct Faster {
    std::string name;
    Cycle every = 1;
  };
  // Both must outlive the NIC. `is_metered`: it counts what blocks and streams do. `faster`: in a metered NIC; it is
  // not equal to RTL then. `is_used`: is_used() of the NIC before its reset.
  Nic(const spec::Config& config, NicOutputs& environment, bool is_metered = false,
      const std::vector<Faster>& faster = {}, bool is_used = false);
  Nic(const Nic&) = delete;
  Nic& operator=(const Nic&) = delete;

  // --- Inputs of cycle `now`
  void OnBar(Cycle now, const spec::BarAccess& access);
  void OnCsr(Cycle now, bool write, uint16_t address, uint32_t data) { csr_.OnAccess(now, write, address, data); }
  void OnFrame(Cycle start, Cycle end, std::span<const uint8_t> bytes, bool mac_error) {
    rx_buffer_.OnFrame(start, end, bytes, mac_error);
  }
  void SetControls(Cycle now, const Controls& controls);
  void SetMacLink(Cycle now, bool link) { csr_.SetMacLink(now, link); }
  void SetTransmitReady(Cycle now, bool ready) { tx_builder_.OnTransmitReady(now, ready); }

  // --- Host memory: outputs to connect, responses to report
  DmaReadPort& read_port() { return read_port_; }
  DmaWritePort& write_port() { return write_port_; }

  // A table was written since power-on, which a reset is not.
  bool is_used() const { return csr_.is_used(); }

  // --- Time
  Cycle next() { return agenda_.next(); }
  // One cycle, no later than next().
  void Run(Cycle cycle);
  // deadline_ns_o after the blocks of the last cycle have run; all ones: none.
  uint64_t deadline_ns() const { return std::min(retry_timer_.deadline_ns(), moderation_.deadline_ns()); }
  // Null if it is not metered. Blocks have the names of their files or instances in RTL.
  const Meters* meters() const { return meters_.get(); }
  // Work in cycle `now` + 1, after the blocks of `now` have run: idle_o of the RTL follows at the latest ten cycles
  // after an input and five after the last work. A command that waits for firmware is none.
  bool HasWork(Cycle now) {
    return !AreOthersIdle(now) || !(mailbox_.IsIdle() || mailbox_.IsWaitingForFirmware()) || !csr_.IsIdle(now);
  }

 private:
  void AddMeters(const std::vector<Faster>& faster);
  void ConnectHost(NicOutputs& environment);
  void ConnectManagement(NicOutputs& environment);
  void ConnectQueues();
  void ConnectQueuePairs();
  void ConnectNet();
  void ApplySettings(Cycle from, const CsrSettings& settings);
  void ApplyLevels(Cycle from, const CommonCfg::Levels& levels);
  void ApplyEnable(Cycle from);
  void ApplyHold(Cycle from);
  bool IsQuiet() const;
  void ConnectSweep();
  QpSweep::State SweepState(Cycle now);  // at its end
  void CountPacketReads(Cycle now);      // up to its end
  bool AreOthersIdle(Cycle now);         // all blocks but mailbox and management registers
  bool IsDatapathIdle(Cycle now) { return AreOthersIdle(now) && mailbox_.IsIdle(); }

  // Frames of the builder: counted and passed to the environment.
  class Frames final : public FrameSink {
   public:
    Frames(NicOutputs& environment, Csr& csr) : environment_(environment), csr_(csr) {}
    void OnFrameAhead(Cycle start, Cycle end) override { environment_.OnFrameAhead(start, end); }
    void OnFrame(Cycle start, Cycle end, std::vector<uint8_t> bytes) override {
      csr_.OnTxFrame(end);
      environment_.OnFrame(start, end, std::move(bytes));
    }

   private:
    NicOutputs& environment_;
    Csr& csr_;
  };
  std::unique_ptr<Meters> meters_;
  Agenda agenda_;
  Cycle now_ = 0;  // the last one that ran
  // Levels with several sources, effective from the cycle of their last report.
  bool datapath_enable_ = false;
  bool resetting_ = false;
  bool pause_ = false;

  DmaReadPort read_port_;
  DmaWritePort write_port_;
  CommonCfg common_cfg_;
  Notify notify_;
  Msix msix_;
  DescFetch desc_fetch_;
  CqWriter cq_writer_;
  Moderation moderation_;
  Csr csr_;
  Mailbox mailbox_;
  QpControl qp_control_;
  QpSweep qp_sweep_;
  MemoryCheck memory_check_;
  SendQueue send_queue_;
  Requester requester_;
  Completer completer_;
  RetryTimer retry_timer_;
  TxGather tx_gather_;
  NetTx net_tx_;
  TxGather net_gather_;
  NetChecksum net_checksum_;
  Frames frames_;
  TxBuilder tx_builder_;
  RxBuffer rx_buffer_;
  RecvQueue recv_queue_;
  Responder responder_;
  RxScatter rx_scatter_;
  ReadResponder read_responder_;
  Atomic atomic_;
  NetFilter net_filter_;
  NetRx net_rx_;
  Arbiter<spec::Interrupt> interrupts_;
  Arbiter<spec::Completion> completions_;
  Arbiter<spec::QueueFailure> queue_failures_;
  Arbiter<spec::QueueFailure> work_failures_;
  Arbiter<spec::QpFailure> send_failures_;
  Arbiter<spec::QpFailure> request_failures_;
  Arbiter<spec::RxAck> acks_;
  // Pulses of the transmit gather, whose cycles may be in the future, and those that were.
  std::vector<Cycle> packet_reads_;
  uint64_t packets_read_ = 0;
};

}  // namespace vireo::model
