// SPDX-License-Identifier: Apache-2.0
// Virtual time shared by all programs. It stops while a program computes, so that a program measures the device's time
// plus the configured cost of its own calls, independent of the speed of the simulation and the load of the machine.
//
// A program (a process with contexts) is quiet when none of its threads is runnable, or when it spins: it has used
// kSpinNs of CPU time since its last message or sleep, or kAfterWriteNs since the device last wrote to its memory. The
// simulation advances only when all programs are quiet, and at most to
//   - the due time of the earliest waiting call; that call alone is answered, and its program becomes quiet again
//     before anything else,
//   - the next event that a program may observe: an interrupt; a write to the queues of a NIC on which a call waits for
//     one; a write to the memory of a spinning program.
// So one program at a time accesses the device, in an order that does not depend on real time: by due time of the call,
// then by NIC, then by order of connection.
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
  static constexpr uint64_t kAfterWriteNs = 200'000;
  static constexpr Picoseconds kSettlePs = 20'000'000;
  // Real time after which a runnable program counts as quiet even if it got no processor.
  static constexpr uint64_t kStarvedNs = 5'000'000'000;

  // kNoMemory: no memory file. `scheduler` must outlive the result.
  static host::Result<std::unique_ptr<VirtualTime>> Create(Scheduler& scheduler, size_t nics, uint32_t call_cost_ns);
  ~VirtualTime();
  VirtualTime(const VirtualTime&) = delete;
  VirtualTime& operator=(const VirtualTime&) = delete;

  // For the service of a NIC; valid as long as this.
  service::ProgramClock& clock(size_t nic);

  // Writes the scheduler's time to the page that programs read.
  void Publish();
  // 0: all programs are quiet. Else call again after the next message, or after this many ns.
  uint64_t BusyNs();
  // Answers the earliest call if it is due; false: none is.
  bool AnswerDue();
  // Due time of the earliest waiting call, possibly in the past; kForever if none waits.
  Picoseconds NextDue() const;

  // The device has written to memory of this process, or (`elsewhere`) of another one.
  void OnWrite(size_t nic, bool elsewhere);
  // Time by which the work of the last exchange between programs and device is done. Virtual time stops here rather
  // than at the device's last internal event, which differs between model and RTL.
  Picoseconds Settled() const { return last_exchange_ + kSettlePs; }
  // Returns and clears whether a write that a program may observe has occurred.
  bool TakeObservable();

 private:
  class NicClock;
  using Client = service::ProgramClock::Client;
  struct Wait {
    Client client = 0;
    service::Await message;
    service::ProgramClock::OnAnswer answer;
    std::optional<Picoseconds> written;  // time of the write that ends it early
  };
  struct Process {
    unsigned clients = 0;
    bool is_spinning = false;
    uint64_t mark_ns = 0;       // CPU time at the start of its allowance
    uint64_t allowed_ns = 0;    // allowance of CPU time
    uint64_t mark_real_ns = 0;  // real time at the start of its allowance
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
  bool is_observable_ = false;
  Picoseconds last_exchange_ = 0;  // a message of a program, a write of a device
};

}  // namespace vireo::sim
