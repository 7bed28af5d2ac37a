// SPDX-License-Identifier: Apache-2.0
// Timed callbacks for everything around the devices: PCIe, wires, switch. One queue instead of a process per
// transaction, so that a packet costs few events. The order of callbacks depends only on the calls that scheduled them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "sim/time/core_clock.h"

namespace vireo::sim {

// Callbacks run in order of time; at one time in order of client number (the order of AddClient), and for one client in
// order of the calls, its alarm last. The order of simultaneous events therefore never depends on the simulation
// kernel.
//
// Not thread-safe. A client must outlive every run of the scheduler in which it has a callback pending.
class Scheduler {
 public:
  class Client {
   public:
    virtual void OnTime(uint64_t cookie) = 0;

   protected:
    ~Client() = default;
  };
  using ClientNumber = uint32_t;

  Scheduler() { slots_.fill(kNone); }
  virtual ~Scheduler() = default;
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  ClientNumber AddClient(Client& client);

  // Calls client.OnTime(cookie) at `time`. A time in the past aborts the program with a message: no later result could
  // be trusted.
  void At(Picoseconds time, ClientNumber client, uint64_t cookie = 0);
  // Sets the client's alarm: one callback with cookie 0, at `time`; replaces the previous alarm; kForever cancels it.
  // For a client that runs repeatedly with at most one callback pending, such as a device that runs cycle by cycle.
  void SetAlarm(Picoseconds time, ClientNumber client);
  // Like At, for a function; for rare events. Functions run after all clients of that time.
  void Call(Picoseconds time, std::function<void()> function);

  // Only in a client's alarm callback: advances time to `time`, so that the client continues there without another
  // callback. Returns false, with no effect, if another callback is due first or RunUntil ends before. Saves most of
  // the cost of a client that runs at many consecutive times. Only for effects that are invisible outside the client:
  // RunUntil does not evaluate done() in between.
  bool Proceed(Picoseconds time) {
    if (time >= proceed_limit_ || time >= next()) return false;
    now_ = time;
    first_slot_ = SlotOf(time);
    ++callbacks_;
    return true;
  }

  // In a callback: until this time nothing happens, and RunUntil() does not end, unless by what this callback causes,
  // or because of what other callbacks of now() have caused already.
  Picoseconds Horizon() { return std::min(next(), proceed_limit_); }

  virtual Picoseconds now() const = 0;
  // Time of the earliest callback.
  Picoseconds next() {
    if (due_.empty()) Refill();
    if (alarms_changed_) FindAlarm();
    return due_.empty() ? alarm_.time : std::min(due_.back().time, alarm_.time);
  }
  bool empty() { return next() == kForever; }
  uint64_t callbacks() const { return callbacks_; }  // run so far, plus successful Proceed() calls

  // Runs all callbacks due before `deadline`. Returns true, at that time, as soon as done() returns true; done() is
  // evaluated first and then after each time at which callbacks ran. Else returns false with now() == deadline
  // (kForever: when nothing is pending, at the time of the last event).
  virtual bool RunUntil(const std::function<bool()>& done, Picoseconds deadline) = 0;

 protected:
  // Runs everything due at `time`, including what is scheduled for `time` meanwhile.
  void RunDue(Picoseconds time);
  // Called when a callback earlier than all others is scheduled from outside a callback.
  virtual void OnEarlier() = 0;

  Picoseconds now_ = 0;            // of a scheduler without a simulation kernel
  Picoseconds proceed_limit_ = 0;  // Proceed() stops before it

 private:
  struct Entry {
    Picoseconds time;
    uint64_t order;  // client number << 40 | running number
    uint64_t cookie;
    bool operator>(const Entry& other) const { return time != other.time ? time > other.time : order > other.order; }
  };
  struct Alarm {
    Picoseconds time = kForever;
    ClientNumber client = 0;
    bool operator<(const Alarm& other) const { return time != other.time ? time < other.time : client < other.client; }
  };
  // An entry in a slot. All nodes are in one array with a free list: few cache lines.
  struct Node {
    Entry entry;
    uint32_t next;  // in its slot, or in the free list
  };
  static constexpr uint32_t kNone = ~uint32_t{0};
  static constexpr ClientNumber kFunctions = 0xff'ffff;
  // Time slots. Nearly all callbacks are scheduled less than kSlots slots ahead.
  static constexpr unsigned kSlotBits = 12;  // 4,096 ps, about a cycle
  static constexpr size_t kSlots = 1024;     // a power of two
  static constexpr size_t kDueMany = 16;     // size of due_ from which entries move back to slots

  static uint64_t SlotOf(Picoseconds time) { return time >> kSlotBits; }
  void Insert(const Entry& entry);
  void Store(const Entry& entry);
  void Refill();
  void FindAlarm();
  void CheckTime(Picoseconds time, ClientNumber client) const;

  std::vector<Entry> due_;  // of all slots up to due_slot_, latest first
  uint64_t due_slot_ = 0;
  uint64_t first_slot_ = 0;                   // of the last time that ran
  std::array<uint32_t, kSlots> slots_;        // heads of the slots after due_slot_, by slot modulo kSlots
  std::array<uint64_t, kSlots / 64> used_{};  // bitmap of non-empty slots
  std::vector<Node> nodes_;
  uint32_t free_node_ = kNone;
  std::vector<Entry> far_;  // kSlots or more ahead: a heap, earliest first
  size_t pending_ = 0;      // entries
  std::vector<Alarm> alarms_;
  Alarm alarm_;             // the earliest one, unless alarms_changed_
  size_t first_alarm_ = 0;  // its index
  bool alarms_changed_ = false;
  bool is_running_ = false;
  std::vector<Client*> clients_;
  std::vector<std::function<void()>> functions_;
  std::vector<uint64_t> free_functions_;
  uint64_t added_ = 0;
  uint64_t callbacks_ = 0;
};

// Without a simulation kernel: for tests of the simulation, and for devices that need none. A process may have several.
class StandaloneScheduler final : public Scheduler {
 public:
  Picoseconds now() const override { return now_; }
  bool RunUntil(const std::function<bool()>& done, Picoseconds deadline) override;

 private:
  void OnEarlier() override {}
};

}  // namespace vireo::sim
