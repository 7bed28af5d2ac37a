// SPDX-License-Identifier: Apache-2.0
// Faults on a link: what happens to which frame, by script or by chance. The same script means the same for every
// device.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/time/scheduler.h"
#include "sim/wire/wire.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::sim {

// Where the headers of a RoCEv2 frame begin, and its BTH.
struct RoceHeaders {
  size_t ip_offset = 0;
  bool is_ipv6 = false;
  size_t bth_offset = 0;
  spec::Bth bth;
};
// Looks through one VLAN tag and IPv4 options. Checks only what it needs to find the BTH: no lengths, checksums, ICRC.
std::optional<RoceHeaders> FindRoce(std::span<const uint8_t> frame);

enum class FaultKind : uint8_t {
  kDrop,
  kDuplicate,  // the frame and, right behind it, `amount` copies
  kReorder,    // comes after `amount` later frames; at the latest kMaxHoldNs later
  kDelay,      // comes `amount` ns later; others may overtake it
  kCorrupt,  // bit `amount` (8 * byte + bit, bit 0 the least significant) flips; with no amount a random one behind the
             // Ethernet header
  kTruncate,  // only the first `amount` bytes are left
  kEcnMark,  // the congestion field becomes `ce` if it was ECN-capable; the IPv4 checksum is kept right. `amount` 1: in
             // any case
  kOversize,  // zeros behind it, until it has `amount` bytes
  kPause,     // in front of it `amount` MAC control frames that ask for the longest pause [IEEE 802.3, 31B.2]
  kPsnGap,    // its PSN is `amount` higher; its ICRC is made right again
  kGhost,     // behind it a copy whose PSN is `amount` higher, with a right ICRC: of an acknowledge, one of what was
              // never sent
  kStale,     // behind it once more the frame that matched `amount` matches ago, as it was; none: nothing
  kLinkDown,  // it is lost, and the link is down for `amount` ns, both ways (Wire)
};

// What kCorrupt with no amount may hit. Of a frame that is no RoCEv2 packet all are kAny.
enum class FramePart : uint8_t {
  kAny,      // all behind the Ethernet header
  kHeader,   // IP to BTH
  kPayload,  // behind the BTH, further transport headers included, up to the ICRC
  kIcrc,
};

// One line of a script.
struct FaultRule {
  FaultKind kind = FaultKind::kDrop;
  std::optional<uint64_t> amount;
  bool bad_fcs = false;  // kCorrupt, kTruncate: the MAC notices; else the FCS is made right again
  FramePart part = FramePart::kAny;
  // Which frames: all of these must hold.
  std::optional<spec::BthOpcode> opcode;
  std::optional<uint32_t> psn;
  std::optional<uint32_t> dest_qp;
  uint32_t per_million = 1'000'000;  // chance, by the injector's random numbers
  uint64_t nth = 0;                  // of the frames for which all of the above hold, from 1; 0: every one
  uint64_t count = 0;                // and the ones after it, so many in all; 0: one if there is nth, else no limit
};

struct FaultScript {
  std::vector<FaultRule> rules;
  std::string error;  // empty: the text was understood; else what is wrong, with its line. Then there are no rules
};

// Of a script: a rule may not keep a simulation busy, nor a frame on the line, for ever.
inline constexpr uint64_t kMostCopies = 1000;  // of duplicate and pause
inline constexpr uint64_t kMostDelayNs = 1'000'000'000;
inline constexpr uint64_t kMostFrameBytes = 1'000'000;  // of oversize

// One rule per line or between semicolons, `#` begins a comment:
//   KIND [amount] [bad_fcs] [part=PART] [opcode=NAME] [psn=N] [qp=N] [nth=N] [count=N] [rate=R]
// KIND is drop, duplicate, reorder, delay, corrupt, truncate, ecn_mark, oversize, pause, psn_gap, ghost, stale or
// link_down; PART (of corrupt without amount) is header, payload or icrc; NAME is the contract's name of an opcode
// (rc_send_only); N is decimal or 0x…; R is from 0 to 1 with up to six decimals. drop and ecn_mark need no amount,
// duplicate, corrupt, pause, psn_gap, ghost and stale have one (1; of corrupt: a random bit), the others need theirs.
// Above kMost…, an amount is an error.
//   drop opcode=rc_rdma_write_middle nth=2
//   corrupt rate=0.001
FaultScript ParseFaultScript(std::string_view text);

// Stands in front of the receiver at one end of a wire: connect it to the wire, and it gives to the receiver what is
// left. Of the rules that match a frame the first one acts (later rules still count it). A frame that something
// happened to carries a comment.
class FaultInjector final : public FrameReceiver, private Scheduler::Client {
 public:
  static constexpr uint32_t kMaxHoldNs = 100'000;

  // `wire` tells how long a duplicate takes on the line, and is what kLinkDown takes down. All outlive the injector.
  // `random` is the injector's alone.
  FaultInjector(Scheduler& scheduler, Wire& wire, FrameReceiver& receiver, std::vector<FaultRule> rules,
                std::mt19937_64 random);

  // Called for every frame that was dropped, with its comment.
  void OnDrop(std::function<void(const WireFrame&)> observer) { on_drop_ = std::move(observer); }

  void OnFrame(WireFrame frame) override;

  // From now on rules do nothing, and the link is up; what is held or late still comes.
  void Disarm() { is_armed_ = false, wire_.BringUp(); }

  uint64_t injected() const { return injected_; }  // frames that something happened to
  // How often each rule acted, in the order of the script.
  const std::vector<uint64_t>& acted() const { return acted_; }
  bool IsIdle() const { return held_.empty() && later_frames_ == 0; }

 private:
  struct Held {
    WireFrame frame;
    uint64_t after = 0;   // so many more frames
    uint64_t number = 0;  // for the time limit
  };

  std::optional<size_t> Choose(const WireFrame& frame);
  uint64_t RandomBit(FramePart part, std::span<const uint8_t> frame);
  void Drop(WireFrame frame);
  Picoseconds LineTime(const WireFrame& frame) const;
  void Apply(size_t rule, WireFrame frame);
  void Pass(WireFrame frame);  // to the receiver, now, and what was waiting for it
  void PassLater(Picoseconds time, WireFrame frame);
  void OnTime(uint64_t cookie) override;

  Scheduler& scheduler_;
  Wire& wire_;
  FrameReceiver& receiver_;
  const std::vector<FaultRule> rules_;
  std::mt19937_64 random_;
  const Scheduler::ClientNumber client_;
  std::function<void(const WireFrame&)> on_drop_;

  bool is_armed_ = true;
  std::vector<uint64_t> matched_, acted_;    // by rule
  std::vector<std::deque<WireFrame>> past_;  // likewise: what kStale may bring again
  std::vector<WireFrame> later_;             // by slot
  std::vector<size_t> free_later_;
  uint64_t later_frames_ = 0;
  std::deque<Held> held_;
  uint64_t held_number_ = 0;
  uint64_t frames_ = 0, injected_ = 0;
};

}  // namespace vireo::sim
