// SPDX-License-Identifier: Apache-2.0
// The model NIC with its firmware as one SystemC module, for anybody's virtual platform: TLM-2.0 sockets for the PCI
// Express function, frames for the wire. docs/model.md shows how to use it.
//
// It adds what is around the core on a board: configuration space and the decoding of base addresses (hard block), the
// line side of the MAC, and a control processor that runs the firmware natively. The latency of PCI Express and memory
// is the platform's: what it waits, or annotates, is what the NIC sees.
//
// Nothing here is clocked: a process runs in the cycles in which something happens, and an idle NIC has no event
// pending. Time resolution must be SystemC's default of 1 ps.
//
// Not here: a hardware reset after the start (the driver's device reset works), a link that goes down, extended
// capabilities, pauses of the wire.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "firmware/app/firmware.h"
#include "model/common/core_clock.h"
#include "model/nic.h"
#include "model/pci/pci_config.h"
#include "platform/systemc.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::platform {

struct Frame {
  std::vector<uint8_t> bytes;  // from the destination MAC address on, without FCS
  bool bad_fcs = false;
};

// Whoever takes frames from a line.
class FrameInterface : public virtual sc_core::sc_interface {
 public:
  // At the time of the frame's last bit, that of its FCS. Does not wait.
  virtual void TakeFrame(const Frame& frame) = 0;
};

class VireoNic final : public sc_core::sc_module, private model::NicOutputs {
 public:
  struct Options {
    const spec::Config* config = &spec::kNic100;  // outlives the NIC
    model::PciConfig::Options pci{};
    firmware::Options firmware{};        // MAC address and MTU
    uint32_t access_cycles = 12;         // of the control processor between two register accesses; 1 or more
    uint32_t write_buffer_bytes = 8192;  // of writes that the platform has not carried out; 4096 or more
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
  VIREO_SC_PROCESSES(VireoNic);

  // --- PCI Express. Blocking transport; who calls it is in a thread.
  // Configuration space of the function, from address 0: 1, 2 or 4 bytes at a multiple of that. Debug transport too.
  tlm_utils::simple_target_socket<VireoNic> config_socket;
  // Memory requests, by bus addresses: those that the base address registers hold. 1, 2, 4 or 8 bytes at a multiple of
  // that. A write returns when the device has it; a read, when all that the device wrote before has been carried out.
  tlm_utils::simple_target_socket<VireoNic> memory_socket;
  // What the device reads and writes, messages of MSI-X as writes of 4 bytes. Blocking transport, begun in the order in
  // which the device asks; writes one after the other, reads side by side.
  tlm_utils::simple_initiator_socket<VireoNic> dma_socket;

  // --- The wire. Line rate is kept by the sender.
  sc_core::sc_port<FrameInterface, 1, sc_core::SC_ZERO_OR_MORE_BOUND> frame_out;
  sc_core::sc_export<FrameInterface> frame_in;

  // Firmware has started and serves commands: a driver may come (before that, it would wait).
  bool is_ready() const { return is_ready_; }
  // Nothing is under way, nor will be without an input. A retransmission timer that runs is under way.
  bool IsIdle() const;
  uint64_t run_cycles() const { return run_cycles_; }  // in which something happened
  const Counters& counters() const { return counters_; }

 private:
  using Cycle = model::Cycle;
  using Picoseconds = model::Picoseconds;

  struct BarAccess {
    spec::BarAccess access;
    Cycle cycle = 0;  // not before
    uint64_t value = 0;
    bool is_done = false;
    sc_core::sc_event done;
  };
  struct CsrAccess {
    Cycle cycle = 0;
    bool write = false;
    uint16_t address = 0;
    uint32_t data = 0;
  };
  struct Timed {
    Cycle cycle = 0;
    Frame frame;
  };
  struct Leaving {
    Picoseconds time = 0;
    Frame frame;
    uint32_t bytes = 0;  // that its place in the buffer takes
  };
  struct ReadBeat {
    Cycle cycle = 0;
    uint32_t id = 0;
    std::vector<uint8_t> data;
    model::AxiResp resp{};
    bool last = false;
  };
  struct Completion {
    model::DmaReader::Burst burst{};
    std::vector<uint8_t> data;  // none: it failed
  };
  struct OpenWrite {
    Cycle taken = 0;
    uint64_t address = 0;
    uint32_t bytes = 0;
    std::vector<uint8_t> data;
  };
  // What leaves for the bus, in order.
  struct BusItem {
    enum class Kind : uint8_t { kRead, kWrite, kMessage, kBarAnswer } kind{};
    uint64_t address = 0, value = 0;
    std::vector<uint8_t> data{};
    model::DmaReader::Burst burst{};
    uint32_t beats = 0;  // of the write buffer
  };
  struct Reader {
    bool has_work = false;
    model::DmaReader::Burst burst{};
    sc_core::sc_event work;
  };
  class FrameInput;

  // --- Sockets
  void AccessConfig(tlm::tlm_generic_payload& transaction, sc_core::sc_time& delay);
  unsigned DebugConfig(tlm::tlm_generic_payload& transaction);
  void AccessMemory(tlm::tlm_generic_payload& transaction, sc_core::sc_time& delay);
  tlm::tlm_response_status Serve(tlm::tlm_generic_payload& transaction, bool is_config);
  bool AccessWindow(uint32_t offset, unsigned bytes, bool write, uint64_t* value);
  void WriteConfig(uint16_t offset, unsigned bytes, uint32_t value);
  uint64_t AccessBar(const spec::BarAccess& access);
  bool TransportDma(tlm::tlm_command command, uint64_t address, uint8_t* data, size_t bytes, sc_core::sc_time* delay);

  // --- Processes
  void Step();         // a cycle of the core
  void RunBus();       // carries out what leaves for the bus
  void RunLine();      // frames leave
  void RunFirmware();  // the control processor
  void RunReader(Reader& reader);

  void TakeFrame(const Frame& frame);
  static uint32_t ReadCsr(void* self, uint32_t offset);
  static void WriteCsr(void* self, uint32_t offset, uint32_t value);
  void Pause(Cycle cycles);

  // --- model::NicOutputs
  void OnFrameAhead(Cycle, Cycle) override {}
  void OnFrame(Cycle start, Cycle end, std::vector<uint8_t> bytes) override;
  void OnBarRead(Cycle now, uint64_t data) override;
  void OnCsrRead(Cycle now, uint32_t data) override;
  void OnMessage(Cycle now, const model::MsixMessage& message) override;
  void OnFirmwareInterrupt(Cycle from, bool level) override;
  uint64_t TimeNs(Cycle now) override { return clock_.Begin(now) / model::kPicosecondsPerNanosecond; }
  Cycle CycleAt(uint64_t ns) override { return clock_.AtOrAfterNs(ns); }

  // --- One cycle
  void Wake(Cycle cycle);
  void Plan(Cycle next);
  void RunCycle(Cycle cycle);
  void TakeInputs(Cycle cycle);
  void MakeReadBeats(Cycle cycle);
  void OpenBus(Cycle cycle);
  void TakeBus(Cycle cycle);
  void PutOnBus(BusItem item);
  void SetControls(Cycle cycle, const model::PciConfig::Controls& controls);
  bool IsTransmitReady() const { return transmit_bytes_ < transmit_limit_; }
  bool HasTransmitChange() const { return IsTransmitReady() != transmit_ready_; }

  static Picoseconds Now() { return sc_core::sc_time_stamp().value(); }
  Cycle InputCycle() const { return clock_.AtOrAfter(Now()); }
  uint32_t Beats(uint64_t address, uint64_t bytes) const;

  const Options options_;
  const model::CoreClock clock_;
  const uint32_t beat_bytes_;
  const uint32_t transmit_limit_;
  model::PciConfig config_space_;
  std::unique_ptr<FrameInput> frame_input_;
  model::Nic model_;
  model::Channel<model::DmaReader::Burst> read_bursts_ = model::Channel<model::DmaReader::Burst>::Sink();
  model::Channel<model::DmaWriter::Burst> write_bursts_ = model::Channel<model::DmaWriter::Burst>::Sink();

  sc_core::sc_event wake_, bus_event_, line_event_, csr_event_, interrupt_event_;
  bool is_started_ = false;
  Cycle next_run_ = model::kUnknown;
  uint64_t run_cycles_ = 0;
  Counters counters_;

  // --- Into the core
  std::deque<std::pair<Cycle, model::PciConfig::Controls>> control_changes_;
  std::deque<std::shared_ptr<BarAccess>> bar_accesses_;  // not given yet
  std::deque<std::shared_ptr<BarAccess>> bar_reads_;     // given, not answered
  std::deque<CsrAccess> csr_accesses_;
  std::deque<Timed> frames_;
  Cycle frame_free_ = 0;
  std::multimap<Cycle, Completion> completions_;
  std::deque<ReadBeat> read_beats_;
  Cycle read_free_ = 0;
  std::multimap<Cycle, uint32_t> returned_beats_;  // of the write buffer

  // --- Out of it
  std::deque<BusItem> bus_;
  bool bus_is_busy_ = false;
  std::vector<std::unique_ptr<Reader>> readers_;
  std::vector<Reader*> idle_readers_;
  uint32_t write_room_;
  std::deque<OpenWrite> writes_;
  std::vector<model::MsixMessage> messages_;  // of the cycle that runs
  Cycle answer_cycle_ = model::kUnknown;
  std::deque<Leaving> leaving_;
  Picoseconds line_free_ = 0;
  uint32_t transmit_bytes_ = 0;
  bool transmit_ready_ = false;

  // --- The control processor
  std::unique_ptr<firmware::Firmware> firmware_;
  std::deque<std::pair<Cycle, bool>> interrupts_;
  bool interrupt_ = false;
  bool is_ready_ = false;
  bool is_asleep_ = false;
  bool is_csr_answered_ = false;
  uint32_t csr_answer_ = 0;
};

}  // namespace vireo::platform
