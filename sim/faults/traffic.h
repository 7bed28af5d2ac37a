// SPDX-License-Identifier: Apache-2.0
// Messages both ways between two hosts, each with contents of its own, that may be lost or end with an error: who sent
// what, how it ended, and what arrived, in which order and how often.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "sim/faults/catalogue.h"
#include "sim/pcie/pcie_fault.h"
#include "sim/topology/rdma_system.h"
#include "sim/traffic/raw_queue.h"

namespace vireo::sim {

// Messages that went as they must, that got lost, and that have no end.
struct Account {
  uint64_t recovered = 0, lost = 0, hung = 0;
  uint64_t missing = 0, repeated = 0;  // as their receivers see it
};

// Between host 0, near, and host 1, far. Whoever runs it lets simulated time pass between the calls.
class Traffic {
 public:
  struct Options {
    Transport transport = Transport::kRc;
    uint64_t messages = 24;  // each way
    uint32_t cqe = 128;      // of the near side's completion queue
  };
  struct Made {
    std::unique_ptr<Traffic> traffic;  // null if there is an error
    std::string error;
  };
  // `system` outlives it.
  static Made Make(RdmaSystem& system, const Options& options, std::mt19937_64& random);
  virtual ~Traffic() = default;
  Traffic(const Traffic&) = delete;
  Traffic& operator=(const Traffic&) = delete;

  // As many as may be outstanding at once.
  void Post(size_t from);
  virtual void Harvest(size_t at) = 0;
  void Pause(size_t side, bool is_paused) { is_paused_.at(side) = is_paused; }
  // Nobody looks at this side's completions until it is let again.
  void Ignore(size_t side, bool is_ignored) { is_ignored_.at(side) = is_ignored; }
  // What has no end yet at this side has one now: its device was reset, or said that it ended the queue pair.
  void End(size_t side) { has_ended_.at(side) = true; }
  bool has_ended(size_t side) const { return has_ended_.at(side); }

  // Every message has an end, or will get none because its side ended.
  bool IsDone() const;
  uint64_t ended(size_t from) const { return ended_.at(from); }
  bool has_outstanding(size_t from) const { return ended_.at(from) < posted_.at(from); }
  uint64_t arrived() const { return arrived_; }

  // After the last Harvest, when nothing is under way: compares with `outcome`, of `acted` faults. What must not be
  // goes to `complaints`.
  Account Judge(const Outcome& outcome, uint64_t acted, std::vector<std::string>& complaints);
  // "near status retry_exc_err": of what did not end with success, flushed ones left out.
  const std::set<std::string>& statuses() const { return statuses_; }
  uint64_t failures(size_t side) const { return failures_.at(side); }  // so many work requests of either kind

  // Of the near side's send queue.
  virtual uint16_t SendQueue() = 0;
  // "source": what the near side sends; "read_source": what the far side READs there (rc); "ring": descriptors of the
  // near side's send queue.
  virtual std::map<std::string, AddressRange, std::less<>> Places() = 0;
  // An event of this element is about this traffic's side.
  virtual bool Owns(size_t side, const spec::RdmaEvent& event) = 0;

 protected:
  static constexpr uint32_t kSlotBytes = 2048;  // a message has at most so many

  struct Message {
    bool has_ended = false, has_failed = false, needs_receive = true;
    uint64_t arrivals = 0;
  };

  Traffic(RdmaSystem& system, const Options& options);

  // Sends message `number`; false: not now.
  virtual bool Send(size_t from, uint64_t number) = 0;
  // Looks at what no completion shows.
  virtual void LookAtMemory() {}
  void Ended(size_t from, uint64_t number, spec::IbWcStatus status);
  void Failed(size_t side, spec::IbWcStatus status);  // a work request of either kind
  void Arrived(size_t from, uint64_t number) { ++arrived_, ++messages_.at(from).at(number).arrivals; }
  void Complain(const std::string& what) { complaints_.push_back(what); }
  // What came to the other side of `from` and says that it is message `number`; `is_right`: it has its contents.
  void Received(size_t from, uint64_t number, bool is_right);

  RdmaSystem& system_;
  const Options options_;
  std::array<std::vector<Message>, 2> messages_;  // by who sent them
  std::array<bool, 2> is_ignored_{};

 private:
  std::array<bool, 2> is_paused_{}, has_ended_{};
  std::array<uint64_t, 2> posted_{}, ended_{};
  uint64_t arrived_ = 0;
  std::array<uint64_t, 2> failures_{};
  std::array<std::vector<uint64_t>, 2> order_;  // of those that took a receive, when they first came
  std::set<std::string> statuses_;
  std::vector<std::string> complaints_;
};

inline constexpr std::array<const char*, 2> kSideNames = {"near", "far"};

}  // namespace vireo::sim
