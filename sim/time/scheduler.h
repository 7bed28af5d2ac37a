// SPDX-License-Identifier: Apache-2.0
// Timed callbacks for everything around the devices: PCIe, wires, switch. One queue instead of a process per
// transaction, so that a packet costs a handful of events; the order of callbacks depends on nothing but the calls that
// asked for them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "sim/time/core_clock.h"

namespace vireo::sim {

// Ordering: callbacks run in the order of their times; at one time in the order of their clients' numbers (the order in
// which the clients were added), and for one client in the order of the calls, its alarm last. So two sources that meet
// at one time never depend on which of them a simulation kernel happened to run first.
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

  Scheduler() { slots_.fill(kNone); }
  virtual ~Scheduler() = default;
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  ClientNumber AddClient(Client& client);

  // Calls client.OnTime(cookie) at `time`. A time that is over ends the program with a message: it is a defect of the
  // caller that no later result could be trusted after.
  void At(Picoseconds time, ClientNumber client, uint64_t cookie = 0);
  // The client's alarm: one callback, with cookie 0, at `time` and no longer when it was set to before; kForever: none.
  // For who wants to be called again and again, but never twice ahead, as a device that runs cycle by cycle.
  void SetAlarm(Picoseconds time, ClientNumber client);
  // As At, for a function and for what happens seldom. Such functions run after all clients of that time.
  void Call(Picoseconds time, std::function<void()> function);

  // For a client in its alarm's callback: time goes on to `time`, and what it would do in a callback then it does now.
  // False, and nothing has happened: something else comes first, or RunUntil ends before. A client that is called at
  // many times in a row saves most of their cost so. Only for what nobody outside of the client can see: RunUntil asks
  // nobody whether it is done between.
  bool Proceed(Picoseconds time) {
    if (time >= proceed_limit_ || time >= next()) return false;
    now_ = time;
    first_slot_ = SlotOf(time);
    ++callbacks_;
    return true;
  }

  virtual Picoseconds now() const = 0;
  // Of the earliest callback.
  Picoseconds next() {
    if (due_.empty()) Refill();
    if (alarms_changed_) FindAlarm();
    return due_.empty() ? alarm_.time : std::min(due_.back().time, alarm_.time);
  }
  bool empty() { return next() == kForever; }
  uint64_t callbacks() const { return callbacks_; }  // that have run, and how often somebody proceeded

  // Runs what is due before `deadline`. Ends with true, at that time, as soon as done() says true; it is asked first
  // and then after every time at which callbacks ran. Else ends with false and now() == deadline (kForever: when
  // nothing is pending, at the time of the last event).
  virtual bool RunUntil(const std::function<bool()>& done, Picoseconds deadline) = 0;

 protected:
  // Runs everything that is due at `time`, including what is added for `time` meanwhile.
  void RunDue(Picoseconds time);
  // A callback was added that is earlier than all others, and not by a callback.
  virtual void OnEarlier() = 0;

  Picoseconds now_ = 0;            // of a scheduler that has no kernel to ask
  Picoseconds proceed_limit_ = 0;  // time does not proceed beyond

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
  // An entry in a slot. All of them are in one array, and who leaves makes room for who comes next: few lines of cache.
  struct Node {
    Entry entry;
    uint32_t next;  // in its slot, or of those that are free
  };
  static constexpr uint32_t kNone = ~uint32_t{0};
  static constexpr ClientNumber kFunctions = 0xff'ffff;
  // Time in slots. Nearly everything is asked for less than kSlots slots ahead.
  static constexpr unsigned kSlotBits = 12;  // 4,096 ps, about a cycle
  static constexpr size_t kSlots = 1024;     // a power of two
  static constexpr size_t kDueMany = 16;     // entries of due_ that are better moved away than kept in order

  static uint64_t SlotOf(Picoseconds time) { return time >> kSlotBits; }
  void Insert(const Entry& entry);
  void Store(const Entry& entry);
  void Refill();
  void FindAlarm();
  void CheckTime(Picoseconds time, ClientNumber client) const;

  std::vector<Entry> due_;  // of all slots up to due_slot_, latest first
  uint64_t due_slot_ = 0;
  uint64_t first_slot_ = 0;                   // of the time that ran last
  std::array<uint32_t, kSlots> slots_;        // first nodes of those behind due_slot_, by slot modulo kSlots
  std::array<uint64_t, kSlots / 64> used_{};  // a bit for each of them that is not empty
  std::vector<Node> nodes_;
  uint32_t free_node_ = kNone;
  std::vector<Entry> far_;  // what was too far ahead; earliest first
  size_t pending_ = 0;      // entries
  std::vector<Alarm> alarms_;
  Alarm alarm_;             // the earliest one, unless they have changed
  size_t first_alarm_ = 0;  // its place
  bool alarms_changed_ = false;
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
};

}  // namespace vireo::sim
