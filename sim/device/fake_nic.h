// SPDX-License-Identifier: Apache-2.0
// The smallest device behind the seam, for tests of the simulation: sends buffers as frames and writes received frames
// into slots of a ring. It follows every rule of nic.h and is clocked like RTL: one evaluation per cycle while busy,
// none while idle.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "sim/nic/nic.h"
#include "sim/time/scheduler.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::sim {

class FakeNic final : public Nic, private Scheduler::Client {
 public:
  // Registers in BAR 0, specific to this device: it is not a virtio device.
  static constexpr uint64_t kSendAddress = 0x00;  // write 8: address of the next frame in host memory
  static constexpr uint64_t kSendBytes = 0x08;    // write 4: its length; sends it. Message 0 when it has left the core
  static constexpr uint64_t kReceiveAddress = 0x10;  // write 8: start of the receive ring
  static constexpr uint64_t kReceiveSlots = 0x18;  // write 4: slots of kSlotBytes; 0 (after reset): frames are dropped
  static constexpr uint64_t kTimer = 0x20;         // write 4: message 2 after that many cycles
  static constexpr uint64_t kSent = 0x28;          // read 8: frames sent
  static constexpr uint64_t kReceived = 0x30;      // read 8: frames written to the ring
  static constexpr uint64_t kDropped = 0x38;       // read 8: frames dropped: no ring, mac_error, or a failed DMA read
  static constexpr uint64_t kScratch = 0x40;       // read and write 8

  // A slot has the frame's length (4 bytes, little-endian), and the frame from kSlotHeader on. The length is written
  // last, followed by message 1.
  static constexpr uint64_t kSlotBytes = 16384;
  static constexpr uint64_t kSlotHeader = 64;

  static constexpr uint16_t kSendVector = 0, kReceiveVector = 1, kTimerVector = 2;

  // `environment` and `config` outlive the NIC.
  FakeNic(Scheduler& scheduler, const CoreClock& clock, const spec::Config& config, NicEnvironment& environment);

  void Reset(Cycle cycle) override;
  uint32_t ReadConfig(Cycle cycle, uint16_t offset, unsigned bytes) override;
  void WriteConfig(Cycle cycle, uint16_t offset, unsigned bytes, uint32_t value) override;
  void ReadBar(Cycle cycle, unsigned bar, uint64_t offset, unsigned bytes) override;
  void WriteBar(Cycle cycle, unsigned bar, uint64_t offset, unsigned bytes, uint64_t value) override;
  void CompleteDmaRead(Cycle cycle, const DmaCompletion& completion) override;
  void RefuseDmaWrite(Cycle) override {}  // its writes are not answered
  void ReturnCredits(Cycle cycle, CreditKind kind, uint32_t beats) override;
  void ReceiveFrame(Cycle start, Cycle end, std::span<const uint8_t> bytes, bool mac_error) override;
  void SetLink(Cycle cycle, bool up) override;
  void ReadCsr(Cycle cycle, uint32_t offset) override;
  void WriteCsr(Cycle cycle, uint32_t offset, uint32_t value) override;
  bool IsIdle() const override;
  Cycle NextDeadline() const override { return timer_; }

  uint64_t evaluated_cycles() const { return evaluated_cycles_; }

 private:
  struct SendJob {
    uint64_t address = 0;
    std::vector<uint8_t> bytes;
    uint32_t requested = 0, arrived = 0;
    Cycle ready = 0;  // of its last data
    bool failed = false;
  };
  struct Tag {
    uint64_t job = 0;  // number of its SendJob
    uint32_t offset = 0, bytes = 0;
  };
  struct Write {
    uint64_t address = 0;
    std::vector<uint8_t> data;
    std::optional<uint16_t> then;  // message after it
    Cycle not_before = 0;          // its first beat
  };

  struct Input {
    Cycle cycle = 0;
    std::function<void()> apply;
  };

  void OnTime(uint64_t) override;
  // Registers take an input at the end of its cycle: it is visible from the next evaluation on.
  void Take(Cycle cycle, std::function<void()> apply);
  void Wake(Cycle cycle);
  void Evaluate(Cycle cycle);
  void WriteRegister(Cycle cycle, uint64_t offset, uint64_t value);
  uint64_t ReadRegister(uint64_t offset) const;
  void TakeCompletion(Cycle cycle, const DmaCompletion& completion, std::span<const uint8_t> data);
  void QueueFrame(Cycle end, std::span<const uint8_t> bytes);

  Scheduler& scheduler_;
  const CoreClock clock_;
  const spec::Config& config_;
  NicEnvironment& environment_;
  const uint32_t beat_bytes_;
  const Scheduler::ClientNumber client_;

  Cycle next_evaluation_ = kNever;
  uint64_t evaluated_cycles_ = 0;

  std::array<uint8_t, spec::kPciConfigBytes> config_space_{};
  uint64_t send_address_ = 0, receive_address_ = 0, receive_slots_ = 0, scratch_ = 0;
  uint64_t sent_ = 0, received_ = 0, dropped_ = 0;
  uint32_t csr_ = 0;
  bool interrupt_ = false, interrupt_shown_ = false;
  Cycle timer_ = kNever;

  std::deque<Input> inputs_;
  std::deque<uint64_t> bar_answers_;
  std::optional<uint32_t> csr_answer_;
  std::deque<uint16_t> messages_;
  std::deque<SendJob> jobs_;
  uint64_t first_job_ = 0;       // number of jobs_.front()
  uint64_t requesting_job_ = 0;  // number of the oldest job with reads left to issue
  std::vector<Tag> tags_;
  std::vector<uint16_t> free_tags_;
  std::deque<Write> writes_;
  Cycle write_end_ = kNever;  // last beat of the write in progress
  Cycle frame_end_ = kNever;  // last beat of the frame in progress
  Cycle frame_start_ = 0;
  uint32_t write_credits_ = 0, transmit_credits_ = 0;
};

}  // namespace vireo::sim
