// SPDX-License-Identifier: Apache-2.0
// The model NIC with its firmware as one SystemC module, for any virtual platform: TLM-2.0 sockets for the PCI
// Express function, frames for the wire. See docs/model.md.
//
// A wrapper: the device is the simulator's model backend (sim/device/model_nic.h), the control processor its firmware
// runner, the MAC its MAC. The module decodes base addresses and turns what crosses the device seam (sim/nic/nic.h)
// into transactions and back. The latency of PCI Express and memory is the platform's, waited or annotated.
//
// Nothing here is clocked: a process runs in the cycles in which something happens, and an idle NIC has no event
// pending. Time resolution must be SystemC's default of 1 ps.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "firmware/app/firmware.h"
#include "model/pci/pci_config.h"
#include "platform/dma_extension.h"
#include "platform/systemc.h"
#include "sim/nic/nic.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::platform {

struct Frame {
  std::vector<uint8_t> bytes;  // from the destination MAC address on, without FCS
  bool bad_fcs = false;
};

// Receiver of frames from a line.
class FrameInterface : public virtual sc_core::sc_interface {
 public:
  // At the time of the frame's last bit, that of its FCS. Does not wait.
  virtual void TakeFrame(const Frame& frame) = 0;
};

// Inputs at the edge of the core, for a platform with its own MAC or posted-write buffer (Options). As in sim::Nic, in
// the core cycle that starts now; a call at any other time is a fatal report.
class EdgeInterface : public virtual sc_core::sc_interface {
 public:
  virtual void ReturnCredits(sim::CreditKind kind, uint32_t beats) = 0;
  // Of the DMA write whose last beat was in the cycle before.
  virtual void RefuseDmaWrite() = 0;
  virtual void ReceiveFrame(std::span<const uint8_t> bytes, bool mac_error) = 0;
  virtual void SetLink(bool up) = 0;
};

// Outputs there, within their cycle. Must not wait.
class EdgeOutputInterface : public virtual sc_core::sc_interface {
 public:
  virtual void TransmitFrame(sim::Cycle start, sim::Cycle end, std::span<const uint8_t> bytes) = 0;
  // False after reset. In its cycle, after a register read that returns in that cycle.
  virtual void SetFirmwareInterrupt(bool level) = 0;
};

class VireoNic final : public sc_core::sc_module {
 public:
  struct Options {
    const spec::Config* config = &spec::kNic100;  // outlives the NIC
    model::PciConfig::Options pci{};
    firmware::Options firmware{};        // MAC address and MTU
    uint32_t access_cycles = 12;         // of the control processor between two register accesses; 1 or more
    uint32_t write_buffer_bytes = 8192;  // of outstanding posted writes; 4096 or more. 0: the platform returns
                                         // credits by edge_in
    bool has_mac = true;                 // false: the platform's, at edge_in and edge_out
    bool runs_firmware = true;           // false: the platform's, at management_socket and edge_out
  };

  struct Counters {
    uint64_t dma_reads = 0, dma_writes = 0, messages = 0;  // that were sent
    uint64_t failed_reads = 0, failed_writes = 0;          // that the platform refused; writes: messages too
    uint64_t refused_accesses = 0;                         // of the platform
    uint64_t sent_frames = 0, received_frames = 0;
    uint64_t dropped_frames = 0;  // empty, or longer than max_frame_bytes
  };

  explicit VireoNic(const sc_core::sc_module_name& name) : VireoNic(name, Options{}) {}
  VireoNic(const sc_core::sc_module_name& name, const Options& options);
  ~VireoNic() override;

  // --- PCI Express. Blocking transport; a caller that may have to wait is in a thread.
  // Configuration space of the function, from address 0: 1, 2 or 4 bytes at a multiple of that. Debug transport too.
  // Takes no time, but for the window of virtio_pci_cfg.
  tlm_utils::simple_target_socket<VireoNic> config_socket;
  // Memory requests, by bus addresses: those that the base address registers hold. 1, 2, 4 or 8 bytes at a multiple of
  // that. A write returns when the device has it; a read, when all that the device wrote before has been carried out.
  tlm_utils::simple_target_socket<VireoNic> memory_socket;
  // What the device reads and writes, messages of MSI-X as writes of 4 bytes, each with a DmaExtension. Blocking
  // transport, started in the order and in the cycle in which the device issues them; writes are serialized, reads run
  // concurrently.
  tlm_utils::simple_initiator_socket<VireoNic> dma_socket;

  // --- The wire. Line rate is kept by the sender.
  sc_core::sc_port<FrameInterface, 1, sc_core::SC_ZERO_OR_MORE_BOUND> frame_out;
  sc_core::sc_export<FrameInterface> frame_in;

  // --- For a platform with parts of its own (Options).
  // Management registers: 4 bytes at a multiple of that. A write returns when the device has it.
  tlm_utils::simple_target_socket_optional<VireoNic> management_socket;
  sc_core::sc_port<EdgeOutputInterface, 1, sc_core::SC_ZERO_OR_MORE_BOUND> edge_out;
  sc_core::sc_export<EdgeInterface> edge_in;

  // Hardware reset (PERST#) from the next start of a cycle on, for sim::kResetCycles. Everything in flight is lost:
  // outstanding reads of the platform return all ones, late answers of its DMA targets are ignored. Accesses during the
  // reset wait.
  void Reset();

  // Firmware has started and serves commands: a driver that starts earlier waits.
  bool is_ready() const;
  // Nothing is in flight and no timer runs: no event until the next input.
  bool IsIdle() const;
  // As sim::Nic::IsIdle() and NextDeadline(): the device alone, but for its timers.
  bool IsIdleUntilDeadline() const;
  sim::Cycle NextDeadline() const;
  uint64_t run_cycles() const;  // simulated cycles, since the last reset
  const Counters& counters() const;

 private:
  class Impl;

  void AccessConfig(tlm::tlm_generic_payload& transaction, sc_core::sc_time& delay);
  unsigned DebugConfig(tlm::tlm_generic_payload& transaction);
  void AccessMemory(tlm::tlm_generic_payload& transaction, sc_core::sc_time& delay);
  void AccessManagement(tlm::tlm_generic_payload& transaction, sc_core::sc_time& delay);

  std::unique_ptr<Impl> impl_;
};

}  // namespace vireo::platform
