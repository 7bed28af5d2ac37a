// SPDX-License-Identifier: Apache-2.0
// Traffic in both directions between two hosts. Each message has unique contents and may be lost or fail. Records how
// each message ended, and which arrived, in which order and how often.
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

// Messages that ended as required, were lost, and never ended.
struct Account {
  uint64_t recovered = 0, lost = 0, hung = 0;
  uint64_t missing = 0, repeated = 0;  // at their receivers
};

// Between host 0 (near) and host 1 (far). The caller advances simulated time between the calls.
class Traffic {
 public:
  struct Options {
    Transport transport = Transport::kRc;
    uint64_t messages = 24;  // per direction
    uint32_t cqe = 128;      // of the near side's completion queue
  };
  struct Made {
    std::unique_ptr<Traffic> traffic;  // null if there is an error
    std::string error;
  };
  // `system` must outlive the result.
  static Made Make(RdmaSystem& system, const Options& options, std::mt19937_64& random);
  virtual ~Traffic() = default;
  Traffic(const Traffic&) = delete;
  Traffic& operator=(const Traffic&) = delete;

  // Posts messages of side `from`, up to the limit of outstanding ones.
  void Post(size_t from);
  // Takes completions and received messages of side `at`.
  virtual void Harvest(size_t at) = 0;
  void Pause(size_t side, bool is_paused) { is_paused_.at(side) = is_paused; }
  // While set, this side's completions are not polled.
  void Ignore(size_t side, bool is_ignored) { is_ignored_.at(side) = is_ignored; }
  // Ends all outstanding messages of this side: its device was reset, or reported that the queue pair stopped.
  void End(size_t side) { has_ended_.at(side) = true; }
  // Ends what an event of this traffic's queues stops.
  virtual void Stop(size_t side, const spec::RdmaEvent&) { End(side); }
  bool has_ended(size_t side) const { return has_ended_.at(side); }

  // Every message has ended, or its side has.
  bool IsDone() const;
  uint64_t ended(size_t from) const { return ended_.at(from); }
  bool has_outstanding(size_t from) const { return ended_.at(from) < posted_.at(from); }
  uint64_t arrived() const { return arrived_; }

  // After the last Harvest, when the system is idle: compares with `outcome` for `injected` faults. Deviations
  // are added to `violations`.
  Account Check(const Outcome& outcome, uint64_t injected, std::vector<std::string>& violations);
  // Statuses other than success and flush: "near status retry_exc_err".
  const std::set<std::string>& statuses() const { return statuses_; }
  uint64_t failures(size_t side) const { return failures_.at(side); }  // failed work requests, sends and receives

  // Index of the near side's send queue.
  virtual uint16_t SendQueue() = 0;
  // Address ranges on the near side. "source": payload that it sends; "read_source": payload that the far side READs
  // (rc); "ring": descriptors of its send queue; "receives": buffers of its receives; "targets", "read_targets": where
  // the far side's WRITEs and its own READs write; "cqes": buffers of its completion queue; "used": where the device
  // returns buffers of its send queue (net: of its receive queue).
  virtual std::map<std::string, AddressRange, std::less<>> Places() = 0;
  // The event concerns this traffic's queues on that side.
  virtual bool Owns(size_t side, const spec::RdmaEvent& event) = 0;

 protected:
  static constexpr uint32_t kSlotBytes = 2048;  // longest message

  struct Message {
    bool has_ended = false, has_failed = false, needs_receive = true;
    uint64_t arrivals = 0;
  };

  Traffic(RdmaSystem& system, const Options& options);

  // Sends message `number`; false: try again later.
  virtual bool Send(size_t from, uint64_t number) = 0;
  // Records messages that have no completion at the receiver (plain WRITEs).
  virtual void CheckMemory() {}
  void Ended(size_t from, uint64_t number, spec::IbWcStatus status);
  void Failed(size_t side, spec::IbWcStatus status);  // a send or receive
  void EndReceives(size_t side) { receives_ended_.at(side) = true; }
  void Arrived(size_t from, uint64_t number) { ++arrived_, ++messages_.at(from).at(number).arrivals; }
  void AddViolation(const std::string& what) { violations_.push_back(what); }
  // The peer of `from` received message `number`; `is_right`: with correct contents.
  void Received(size_t from, uint64_t number, bool is_right);

  RdmaSystem& system_;
  const Options options_;
  std::array<std::vector<Message>, 2> messages_;  // by sender
  std::array<bool, 2> is_ignored_{};

 private:
  std::array<bool, 2> is_paused_{}, has_ended_{}, receives_ended_{};
  std::array<uint64_t, 2> posted_{}, ended_{};
  uint64_t arrived_ = 0;
  std::array<uint64_t, 2> failures_{};
  std::array<std::vector<uint64_t>, 2> order_;  // of messages that consumed a receive, by first arrival
  std::set<std::string> statuses_;
  std::vector<std::string> violations_;
};

inline constexpr std::array<const char*, 2> kSideNames = {"near", "far"};

}  // namespace vireo::sim
