// SPDX-License-Identifier: Apache-2.0
// Timed callbacks for everything around the devices: PCIe, wires, switch. One queue instead of a process per
// transaction, so that a packet costs a handful of events; the order of callbacks depends on nothing but the calls that
// asked for them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "verif/harness/core_clock.h"

namespace vireo::verif {

// Ordering: callbacks run in the order of their times; at one time in the order of their clients' numbers (the order in
// which the clients were added), and for one client in the order of the calls. So two sources that meet at one time
// never depend on which of them a simulation kernel happened to run first.
//
// Not for several threads. A client outlives every run of the scheduler in which it has a callback pending.
class Scheduler {
 public:
  class Client {
   public:
    virtual void OnTime(uint64_t cookie) = 0;

   protected:
    ~Client() = default;
  };
  using ClientNumber = uint32_t;

  Scheduler() = default;
  virtual ~Scheduler() = default;
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  ClientNumber AddClient(Client& client);

  // Calls client.OnTime(cookie) at `time`. A time that is over ends the program with a message: it is a defect of the
  // caller that no later result could be trusted after.
  void At(Picoseconds time, ClientNumber client, uint64_t cookie = 0);
  // The same for a function, for what happens seldom. Such functions run after all clients of that time.
  void Call(Picoseconds time, std::function<void()> function);

  virtual Picoseconds now() const = 0;
  // Of the earliest callback.
  Picoseconds next() {
    if (due_.empty()) Refill();
    return due_.empty() ? kForever : due_.back().time;
  }
  bool empty() const { return pending_ == 0; }
  uint64_t callbacks() const { return callbacks_; }  // that have run

  // Runs what is due before `deadline`. Ends with true, at that time, as soon as done() says true; it is asked first
  // and then after every time at which callbacks ran. Else ends with false and now() == deadline (kForever: when
  // nothing is pending, at the time of the last event).
  virtual bool RunUntil(const std::function<bool()>& done, Picoseconds deadline) = 0;

 protected:
  // Runs everything that is due at `time`, including what is added for `time` meanwhile.
  void RunDue(Picoseconds time);
  // A callback was added that is earlier than all others, and not by a callback.
  virtual void OnEarlier() = 0;

 private:
  struct Entry {
    Picoseconds time;
    uint64_t order;  // client number << 40 | running number
    uint64_t cookie;
    bool operator>(const Entry& other) const { return time != other.time ? time > other.time : order > other.order; }
  };
  static constexpr ClientNumber kFunctions = 0xff'ffff;
  // Time in slots. Nearly everything is asked for less than kSlots slots ahead.
  static constexpr unsigned kSlotBits = 12;  // 4,096 ps, about a cycle
  static constexpr size_t kSlots = 1024;     // a power of two

  static uint64_t SlotOf(Picoseconds time) { return time >> kSlotBits; }
  void Insert(const Entry& entry);
  void Store(const Entry& entry);
  void Refill();

  std::vector<Entry> due_;  // of all slots up to due_slot_, latest first
  uint64_t due_slot_ = 0;
  uint64_t first_slot_ = 0;                        // of the time that ran last
  std::vector<std::vector<Entry>> slots_{kSlots};  // those from first_slot_ on behind due_slot_, by slot modulo kSlots
  std::array<uint64_t, kSlots / 64> used_{};       // a bit for each of them that is not empty
  std::vector<Entry> far_;                         // what was too far ahead; earliest first
  size_t pending_ = 0;
  bool is_running_ = false;
  std::vector<Client*> clients_;
  std::vector<std::function<void()>> functions_;
  std::vector<uint64_t> free_functions_;
  uint64_t added_ = 0;
  uint64_t callbacks_ = 0;
};

// Without a simulation kernel: for tests of the harness, and for devices that need none. Any number of them in one
// process.
class StandaloneScheduler final : public Scheduler {
 public:
  Picoseconds now() const override { return now_; }
  bool RunUntil(const std::function<bool()>& done, Picoseconds deadline) override;

 private:
  void OnEarlier() override {}
  Picoseconds now_ = 0;
};

}  // namespace vireo::verif
