// SPDX-License-Identifier: Apache-2.0
// Fault injection on a link, by script or at random. A script means the same for every device.
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

// Offsets of the headers of a RoCEv2 frame, and its BTH.
struct RoceHeaders {
  size_t ip_offset = 0;
  bool is_ipv6 = false;
  size_t bth_offset = 0;
  spec::Bth bth;
};
// Skips one VLAN tag and IPv4 options. Checks only what is needed to find the BTH: no lengths, checksums, ICRC.
std::optional<RoceHeaders> FindRoce(std::span<const uint8_t> frame);

enum class FaultKind : uint8_t {
  kDrop,
  kDuplicate,  // the frame, followed by `amount` copies
  kReorder,    // delivered after `amount` later frames, at most kMaxHoldNs later
  kDelay,      // delivered `amount` ns later; others may overtake it
  kCorrupt,   // bit `amount` (8 * byte + bit, bit 0 the least significant) flips; without amount a random one after the
              // Ethernet header
  kTruncate,  // only the first `amount` bytes are left
  kEcnMark,   // the ECN field becomes `ce` if it was ECN-capable; the IPv4 checksum is updated. `amount` 1: in
              // any case
  kOversize,  // padded with zeros to `amount` bytes
  kPause,     // preceded by `amount` MAC control frames that request the longest pause [IEEE 802.3, 31B.2]
  kPsnGap,    // its PSN is `amount` higher; its ICRC is updated
  kGhost,     // followed by a copy whose PSN is `amount` higher, with a valid ICRC: of an acknowledge, one for a packet
              // never sent
  kStale,     // followed by an unchanged copy of the frame that matched `amount` matches ago, if any
  kLinkDown,  // lost, and the link is down for `amount` ns in both directions (Wire)
};

// The part that kCorrupt without amount hits. In a frame that is not a RoCEv2 packet, always kAny.
enum class FramePart : uint8_t {
  kAny,      // everything after the Ethernet header
  kHeader,   // IP to BTH
  kPayload,  // after the BTH, with further transport headers, up to the ICRC
  kIcrc,
};

// One rule of a script.
struct FaultRule {
  FaultKind kind = FaultKind::kDrop;
  std::optional<uint64_t> amount;
  bool bad_fcs = false;  // kCorrupt, kTruncate: the MAC detects it; else the FCS is updated
  FramePart part = FramePart::kAny;
  // Conditions: all of these must hold.
  std::optional<spec::BthOpcode> opcode;
  std::optional<uint32_t> psn;
  std::optional<uint32_t> dest_qp;
  uint32_t per_million = 1'000'000;  // probability, by the injector's random numbers
  uint64_t nth = 0;                  // of the frames for which all of the above hold, from 1; 0: all
  uint64_t count = 0;                // number of frames from there on; 0: one with nth, else unlimited
};

struct FaultScript {
  std::vector<FaultRule> rules;
  std::string error;  // empty: no error; else the error, with its line, and no rules
};

// Limits of a script: no rule may block a simulation or the line indefinitely.
inline constexpr uint64_t kMostCopies = 1000;  // of duplicate and pause
inline constexpr uint64_t kMostDelayNs = 1'000'000'000;
inline constexpr uint64_t kMostFrameBytes = 1'000'000;  // of oversize

// One rule per line or between semicolons, `#` starts a comment:
//   KIND [amount] [bad_fcs] [part=PART] [opcode=NAME] [psn=N] [qp=N] [nth=N] [count=N] [rate=R]
// KIND is drop, duplicate, reorder, delay, corrupt, truncate, ecn_mark, oversize, pause, psn_gap, ghost, stale or
// link_down; PART (of corrupt without amount) is header, payload or icrc; NAME is the contract's name of an opcode
// (rc_send_only); N is decimal or 0x…; R is from 0 to 1 with up to six decimals. drop and ecn_mark need no amount;
// duplicate, corrupt, pause, psn_gap, ghost and stale have a default (1; of corrupt: a random bit); the others require
// one. An amount above kMost… is an error.
//   drop opcode=rc_rdma_write_middle nth=2
//   corrupt rate=0.001
FaultScript ParseFaultScript(std::string_view text);

// Between a wire and the receiver at one end: connect it to the wire; it forwards what is left to the receiver. The
// first rule that matches a frame acts (later rules still count it). A modified frame carries a comment.
class FaultInjector final : public FrameReceiver, private Scheduler::Client {
 public:
  static constexpr uint32_t kMaxHoldNs = 100'000;

  // `wire` determines the line time of a duplicate, and is the link of kLinkDown. All outlive the injector. `random` is
  // used by the injector only.
  FaultInjector(Scheduler& scheduler, Wire& wire, FrameReceiver& receiver, std::vector<FaultRule> rules,
                std::mt19937_64 random);

  // Called for every dropped frame, with its comment.
  void OnDrop(std::function<void(const WireFrame&)> observer) { on_drop_ = std::move(observer); }

  void OnFrame(WireFrame frame) override;

  // Rules have no effect from now on, and the link is up; held and delayed frames are still delivered.
  void Disarm() { is_armed_ = false, wire_.BringUp(); }

  uint64_t injected() const { return injected_; }  // frames that a rule acted on
  // Hits of each rule, in the order of the script.
  const std::vector<uint64_t>& hits() const { return hits_; }
  bool IsIdle() const { return held_.empty() && later_frames_ == 0; }

 private:
  struct Held {
    WireFrame frame;
    uint64_t after = 0;   // frames left until its release
    uint64_t number = 0;  // for the time limit
  };

  std::optional<size_t> Choose(const WireFrame& frame);
  uint64_t RandomBit(FramePart part, std::span<const uint8_t> frame);
  void Drop(WireFrame frame);
  Picoseconds LineTime(const WireFrame& frame) const;
  void Apply(size_t rule, WireFrame frame);
  void Pass(WireFrame frame);  // delivers it now, then the held frames that waited for it
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
  std::vector<uint64_t> matched_, hits_;     // by rule
  std::vector<std::deque<WireFrame>> past_;  // likewise: frames that kStale may repeat
  std::vector<WireFrame> later_;             // by slot
  std::vector<size_t> free_later_;
  uint64_t later_frames_ = 0;
  std::deque<Held> held_;
  uint64_t held_number_ = 0;
  uint64_t frames_ = 0, injected_ = 0;
};

}  // namespace vireo::sim
