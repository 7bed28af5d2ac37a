// SPDX-License-Identifier: Apache-2.0
// The device seam: a NIC as a PCI function and an Ethernet port. The model, the Verilated RTL, both in lockstep and the
// synthesized netlist each implement `Nic`; tests, drivers and wires use only this interface.
//
// Time
//   Every event is stamped with a cycle of the device's core clock (core_clock.h). Crossings to the PCIe and MAC clocks
//   are outside: the environment determines the core cycle in which an input enters, the device the one in which an
//   output leaves.
//   - Inputs: the environment calls the method at the simulated time CoreClock::Begin(cycle). The device's registers
//     take the input at the end of that cycle.
//   - Outputs: the device calls the environment after Begin(cycle) and before Begin(cycle + 1) (CoreClock::Middle is
//     usual), when all inputs of that cycle have arrived. An output is never reported before or after its cycle, and
//     never affects an input of the same cycle.
//   So results do not depend on the order in which a simulation kernel runs processes of one time.
//
// Beats
//   Data crosses the seam in beats of spec::Config::datapath_bits, one per cycle, in one unbroken train. DMA data
//   is in the byte lanes of its address (byte lane = address modulo beat size), frames start in lane 0. DmaBeats() and
//   FrameBeats() return the length of the train. A stamp is
//   - of an input the cycle of its first beat; the next train of that kind starts after its last,
//   - of an output the cycle of its last beat, when it is complete,
//   - of a frame both, as two stamps.
//
// Flow control
//   Credits, one per beat. After a reset the device has none; the environment grants the size of its buffers first
//   (like PCIe's InitFC) and returns credits as the buffers drain. No device has a fixed number of credits. Reads need
//   no credits: a device requests only what it has room for, with at most spec::Config::dma_tags reads outstanding.
//   Received frames have no flow control: a receiver without room drops.
//
// Errors are values on this interface: DMA statuses, refused writes, mac_error. A violation of the interface's rules is
// a defect of the violator; NicTap (nic_tap.h) detects it.
#pragma once

#include <cstdint>
#include <span>

#include "sim/time/core_clock.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::sim {

inline constexpr Cycle kResetCycles = 16;  // length of a reset; inputs come after it

// How a DMA read ended, as the PCIe requester sees it (PCIe 5.0, 2.2.9, 2.3.2, 2.7.2 and 2.8).
enum class DmaStatus : uint8_t {
  kOk,
  kUnsupportedRequest,  // no such address, or no permission; no data
  kCompleterAbort,      // host error; no data
  kPoisoned,            // data is present and corrupt
  kTimeout,             // no completion came in time; no data
};

// The request never crosses a multiple of spec::kPcieRequestBoundary, and bytes is 1 to the maximum read request size.
struct DmaRead {
  uint16_t tag = 0;  // below spec::Config::dma_tags; free again after the completion with `last`
  uint64_t address = 0;
  uint32_t bytes = 0;
};

// A part of the answer to a read. Parts of one read arrive in address order; different reads may be reordered. Parts
// start and end at multiples of the read completion boundary or at the ends of the request (PCIe 5.0, 2.3.1.1).
struct DmaCompletion {
  uint16_t tag = 0;
  uint32_t offset = 0;   // of data[0] in the request, in bytes
  uint64_t address = 0;  // of data[0]: the request's address + offset
  std::span<const uint8_t> data;
  bool last = false;                  // the tag's last completion
  DmaStatus status = DmaStatus::kOk;  // other than kOk and kPoisoned: no data, and last
};

// Never crosses a multiple of spec::kPcieRequestBoundary; 1 byte to the maximum payload size. Writes take effect in
// issue order; reads observe all earlier writes.
struct DmaWrite {
  uint64_t address = 0;
  std::span<const uint8_t> data;
};

enum class CreditKind : uint8_t {
  kDmaWrite,  // beats (DmaBeats) of the posted write buffer
  kTransmit,  // beats (FrameBeats) of the MAC's transmit buffer
};

constexpr uint32_t BeatBytes(const spec::Config& config) { return config.datapath_bits / 8; }
constexpr uint32_t FrameBeats(uint64_t bytes, uint32_t beat_bytes) {
  return static_cast<uint32_t>((bytes + beat_bytes - 1) / beat_bytes);
}
// At least 1: a completion without data takes a beat too.
constexpr uint32_t DmaBeats(uint64_t address, uint64_t bytes, uint32_t beat_bytes) {
  return FrameBeats(address % beat_bytes + (bytes == 0 ? 1 : bytes), beat_bytes);
}

// Implemented by the environment, called by the device. The three parts have different implementations.
class PcieEnvironment {
 public:
  // Answers the oldest outstanding BAR read. Bits above the read's width are 0.
  virtual void CompleteBarRead(Cycle cycle, uint64_t value) = 0;
  // At most one request per cycle.
  virtual void ReadDma(Cycle cycle, const DmaRead& read) = 0;
  // `cycle` is that of the last beat. Starts only with DmaBeats(address, data.size()) credits available, and consumes
  // them at the start.
  virtual void WriteDma(Cycle cycle, const DmaWrite& write) = 0;
  // One message; at most one per cycle. The host observes it after the data of all earlier writes, including those of
  // this cycle. The device handles masking, moderation and pending bits. `vector` is below spec::kMsixVectorsMax.
  virtual void SendMsix(Cycle cycle, uint16_t vector) = 0;

 protected:
  ~PcieEnvironment() = default;
};

class FrameEnvironment {
 public:
  // Called in cycle `end` = start + FrameBeats(bytes) - 1. From the destination MAC address on, without padding to 60
  // bytes and without FCS, at most spec::Config::max_frame_bytes. Starts only with FrameBeats credits available, and
  // consumes them at the start.
  virtual void TransmitFrame(Cycle start, Cycle end, std::span<const uint8_t> bytes) = 0;

 protected:
  ~FrameEnvironment() = default;
};

class ManagementEnvironment {
 public:
  virtual void CompleteCsrRead(Cycle cycle, uint32_t value) = 0;   // of the one outstanding read
  virtual void SetFirmwareInterrupt(Cycle cycle, bool level) = 0;  // called at changes only; false after reset

 protected:
  ~ManagementEnvironment() = default;
};

class NicEnvironment : public PcieEnvironment, public FrameEnvironment, public ManagementEnvironment {
 protected:
  ~NicEnvironment() = default;
};

// Offsets are multiples of the access width. The environment stays within BARs, registers and configuration space.
class Nic {
 public:
  virtual ~Nic() = default;

  // Like power-on (PERST#), for kResetCycles cycles from `cycle` on. Everything in flight is discarded: the device
  // emits none of it, and the environment sends no earlier completion, credit or answer. Called once before
  // anything else, also before the start of a SystemC simulation.
  virtual void Reset(Cycle cycle) = 0;

  // Configuration space, in zero simulated time: `bytes` is 1, 2 or 4, at an offset below spec::kPcieConfigBytes. Does
  // not implement the data window of the virtio_pci_cfg capability: the caller converts such an access into an access
  // of the BAR that the capability's fields name.
  virtual uint32_t ReadConfig(Cycle cycle, uint16_t offset, unsigned bytes) = 0;
  virtual void WriteConfig(Cycle cycle, uint16_t offset, unsigned bytes, uint32_t value) = 0;

  // `bytes` is 1, 2, 4 or 8. At most one BAR access per cycle. Accesses take effect in call order. CompleteBarRead
  // answers reads in order; any number may be outstanding.
  virtual void ReadBar(Cycle cycle, unsigned bar, uint64_t offset, unsigned bytes) = 0;
  virtual void WriteBar(Cycle cycle, unsigned bar, uint64_t offset, unsigned bytes, uint64_t value) = 0;

  virtual void CompleteDmaRead(Cycle cycle, const DmaCompletion& completion) = 0;
  // The bus refuses the write whose last beat was in the cycle before: it answers it with an error in this cycle, and
  // none of its bytes is written. Every other write is answered as accepted in the cycle after its last beat.
  virtual void RefuseDmaWrite(Cycle cycle) = 0;
  // May be called several times in one cycle; the credits add up.
  virtual void ReturnCredits(Cycle cycle, CreditKind kind, uint32_t beats) = 0;

  // Called in cycle `start`; end = start + FrameBeats(bytes) - 1. 1 byte or more, without FCS. mac_error: bad FCS.
  virtual void ReceiveFrame(Cycle start, Cycle end, std::span<const uint8_t> bytes, bool mac_error) = 0;

  // Link state of the MAC from `cycle` on. Up after every reset.
  virtual void SetLink(Cycle cycle, bool up) = 0;

  // Management registers (spec::kMgmt…Register), for firmware: 32 bits at a multiple of 4. At most one access per
  // cycle, at most one read outstanding.
  virtual void ReadCsr(Cycle cycle, uint32_t offset) = 0;
  virtual void WriteCsr(Cycle cycle, uint32_t offset, uint32_t value) = 0;

  // True: no work is left; no output and no state change occurs before the next input or NextDeadline().
  virtual bool IsIdle() const = 0;
  // The cycle in which the earliest running timer expires; kNever if none runs. The device wakes by itself then.
  virtual Cycle NextDeadline() const = 0;
};

// Everything that crosses the seam, for comparison, counting and tracing. Events of one stream are ordered; events of
// different streams in one cycle are not.
enum class Stream : uint8_t {
  kConfig,
  kBar,
  kBarCompletion,
  kDmaRead,
  kDmaCompletion,
  kDmaWrite,
  kTransmit,
  kReceive,
  kCsr,
  kFirmware,
  kCredit
};
inline constexpr unsigned kStreams = 11;

// What the fields of BoundaryEvent hold. `bytes` is the length of the access or of the payload, `payload` the data (of
// values too, little-endian).
enum class EventKind : uint8_t {
  kReset,          // cycle: the first of the reset. Stream kConfig
  kConfigRead,     // cycle: that of the call; address: offset; payload: the value read. Stream kConfig
  kConfigWrite,    // likewise
  kBarRead,        // cycle: accepted; id: BAR; address: offset. Stream kBar
  kBarWrite,       // cycle: accepted; id: BAR; address: offset; payload. Stream kBar
  kBarCompletion,  // cycle: the answer is valid; payload: 8 bytes
  kDmaRead,        // cycle: the request is made; id: tag; address; bytes
  kDmaCompletion,  // cycle: first beat; id: tag; address: that of the first byte; status: DmaStatus, + 0x80 if last;
                   // payload
  kDmaWrite,       // cycle: last beat; address; payload. Stream kDmaWrite
  kMsix,           // cycle: the message is made; id: vector. Stream kDmaWrite, because writes push it
  kTransmitStart,  // cycle: first beat. Reported together with its end
  kTransmitEnd,    // cycle: last beat; payload
  kReceiveStart,   // cycle: first beat. Reported together with its end
  kReceiveEnd,     // cycle: last beat; status: 1 if mac_error; payload
  kCsrRead,        // cycle: accepted; address: offset. Stream kCsr
  kCsrWrite,       // cycle: accepted; address: offset; payload: 4 bytes. Stream kCsr
  kCsrCompletion,  // cycle: the answer is valid; payload: 4 bytes. Stream kFirmware
  kFirmwareInterrupt,  // cycle: the level changes; status: the new level. Stream kFirmware
  kCredits,            // cycle: they enter; id: CreditKind; bytes: how many beats
  kLink,               // cycle: the MAC's link changes; status: 1 if up. Stream kReceive
  kDmaRefusal,         // cycle: the answer to a refused write. Stream kDmaCompletion
};
inline constexpr unsigned kEventKinds = 21;

// "dma_write": for reports.
const char* ToString(EventKind kind);
Stream StreamOf(EventKind kind);

struct BoundaryEvent {
  EventKind kind{};
  Stream stream{};
  uint8_t status = 0;
  uint16_t nic = 0;  // its number in the topology
  Cycle cycle = 0;   // of that NIC's clock
  uint64_t address = 0;
  uint32_t id = 0;
  uint32_t bytes = 0;
  std::span<const uint8_t> payload;  // valid during the call
};

class EventSink {
 public:
  // Called in event order per stream. The sink must not call the device.
  virtual void OnEvent(const BoundaryEvent& event) = 0;
  // The device says in this cycle that it is idle, up to `deadline` (Nic::NextDeadline): once between two events, and
  // only if it is asked.
  virtual void OnIdle(Cycle /*cycle*/, Cycle /*deadline*/) {}

 protected:
  ~EventSink() = default;
};

}  // namespace vireo::sim
