// SPDX-License-Identifier: Apache-2.0
// Simulated time that programs share: it stands still while a program computes, so that what a program measures is the
// device's time and the stated cost of its own calls, whatever the simulation or the machine's load takes.
//
// A program (a process with contexts) is quiet when no thread of it runs, or when it spins: it has used kSpinNs of
// processor time since it last said something, since it last slept, or kLookNs since the device last wrote to its
// memory. The simulation goes on only when all programs are quiet, and not beyond
//   - the time at which the earliest of the calls that wait is due; it is answered alone, and what the program does
//     then is awaited before anything else,
//   - the next event that a program may notice: an interrupt; a write to the queues of a NIC on which a call waits for
//     one; a write to the memory of a program that spins.
// So one program at a time meets the device, in an order that does not depend on real time: by the time at which its
// call is due, by NIC, by the order of the connections.
//
// One thread, the simulator's.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/driver/file_descriptor.h"
#include "host/driver/result.h"
#include "host/service/program_clock.h"
#include "sim/time/scheduler.h"

namespace vireo::sim {

class VirtualTime {
 public:
  static constexpr uint64_t kSpinNs = 1'000'000;
  static constexpr uint64_t kLookNs = 200'000;
  static constexpr Picoseconds kSettlePs = 20'000'000;
  // A program that wants a processor for so long and gets none does not hold up time any more.
  static constexpr uint64_t kPatienceNs = 5'000'000'000;

  // kNoMemory: no memory file. `scheduler` outlives it.
  static host::Result<std::unique_ptr<VirtualTime>> Create(Scheduler& scheduler, size_t nics, uint32_t call_cost_ns);
  ~VirtualTime();
  VirtualTime(const VirtualTime&) = delete;
  VirtualTime& operator=(const VirtualTime&) = delete;

  // For the service of a NIC; lives as long as this.
  service::ProgramClock& clock(size_t nic);

  // Shows programs the scheduler's time.
  void Publish();
  // 0: all programs are quiet. Else: look again when one has said something, or after so many nanoseconds.
  uint64_t BusyNs();
  // Answers the call that is due first; false: none is.
  bool AnswerDue();
  // When the next call is due, kForever if none waits. May be over.
  Picoseconds NextDue() const;

  // The device has written to memory that is in this process, or elsewhere.
  void OnWrite(size_t nic, bool elsewhere);
  // Until then the device may have work of what programs and it said to each other last. The same for every device,
  // while the events inside of one are its own matter: time stands still here, not where the last of those was.
  Picoseconds Settled() const { return last_exchange_ + kSettlePs; }
  // Something that a program may notice was written since the last call that said so.
  bool TakeNoticed();

 private:
  class NicClock;
  using Client = service::ProgramClock::Client;
  struct Wait {
    Client client = 0;
    service::Await message;
    service::ProgramClock::OnAnswer answer;
    std::optional<Picoseconds> written;  // when what ends it early came
  };
  struct Process {
    unsigned clients = 0;
    bool is_spinning = false;
    uint64_t mark_ns = 0;       // of its processor time, from which on it may compute
    uint64_t allowed_ns = 0;    // so long
    uint64_t mark_real_ns = 0;  // likewise in real time
  };
  struct Attached {
    size_t nic = 0;
    pid_t process = 0;
  };

  VirtualTime(Scheduler& scheduler, size_t nics, uint32_t call_cost_ns);
  void Allow(pid_t process, uint64_t processor_ns);
  bool IsQuiet(pid_t number, Process& process);
  static Picoseconds DueOf(const Wait& wait);

  Scheduler& scheduler_;
  const uint32_t call_cost_ns_;
  host::FileDescriptor file_;
  service::ClockPage* page_ = nullptr;
  std::vector<std::unique_ptr<NicClock>> clocks_;
  Client next_client_ = 1;
  std::map<Client, Attached> clients_;
  std::map<pid_t, Process> processes_;
  std::list<Wait> waits_;
  bool is_noticed_ = false;
  Picoseconds last_exchange_ = 0;  // a message of a program, a write of a device
};

}  // namespace vireo::sim
