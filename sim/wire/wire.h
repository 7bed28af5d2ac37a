// SPDX-License-Identifier: Apache-2.0
// A full-duplex Ethernet link, and the MAC between one of its ends and a NIC's core.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/nic/nic.h"
#include "sim/time/scheduler.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::sim {

// Overhead of a frame on the line (IEEE 802.3, 3.1.1, 3.2.8, 4.4.2).
inline constexpr uint32_t kPreambleBytes = 8;  // with the start frame delimiter
inline constexpr uint32_t kFcsBytes = 4;
inline constexpr uint32_t kInterframeGapBytes = 12;
inline constexpr uint32_t kMinFrameBytes = 60;  // without FCS; the sending MAC pads shorter ones

struct WireFrame {
  std::vector<uint8_t> bytes;  // from the destination MAC address, without FCS
  bool bad_fcs = false;
  std::string comment;  // faults on its way, for the capture; usually empty
};

class FrameReceiver {
 public:
  // Called when the last bit of the FCS arrives, in order of arrival.
  virtual void OnFrame(WireFrame frame) = 0;

 protected:
  ~FrameReceiver() = default;
};

class LinkListener {
 public:
  // Called when the link changes; it is initially up.
  virtual void OnLink(bool up) = 0;

 protected:
  ~LinkListener() = default;
};

struct WireParameters {
  uint32_t rate_mbps = 100'000;  // each way
  uint32_t delay_ns = 500;       // from end to end; 500 ns are some 100 m
};

// The directions are independent, and each carries one frame at a time. While up, the wire neither loses nor changes
// anything; FaultInjector (fault.h) at a receiving end does. While down, it loses everything in flight or sent, in both
// directions, like Ethernet: a MAC that receives nothing signals a remote fault (IEEE 802.3, 46.3.4 and 81.3.4).
class Wire final : private Scheduler::Client {
 public:
  Wire(Scheduler& scheduler, const WireParameters& parameters);

  // The receiver at `end` (0 or 1); outlives the wire.
  void Connect(unsigned end, FrameReceiver& receiver) { receivers_[end] = &receiver; }
  // Called when the link changes; likewise.
  void Watch(unsigned end, LinkListener& listener) { listeners_[end] = &listener; }
  // Called for every frame lost because the link is down, with its sending end.
  void OnLost(std::function<void(unsigned end, const WireFrame&)> observer) { on_lost_ = std::move(observer); }

  // Down from now to `until`, or longer if it is already down for longer.
  void TakeDown(Picoseconds until);
  void BringUp();
  bool is_up() const { return is_up_; }
  uint64_t lost() const { return lost_; }  // frames, while down

  // Sends from `end` as soon as the line is free and the interframe gap has passed, not before `earliest`. Returns the
  // time when the last bit of the FCS leaves, which must not be in the past; it arrives delay_ns later.
  Picoseconds Send(unsigned end, Picoseconds earliest, WireFrame frame);

  // Line time of that many bytes, rounded up to a picosecond.
  Picoseconds Time(uint64_t bytes) const {
    return (bytes * 8 * 1'000'000 + parameters_.rate_mbps - 1) / parameters_.rate_mbps;
  }
  bool IsIdle() const { return in_flight_[0].empty() && in_flight_[1].empty(); }  // nothing in flight
  const WireParameters& parameters() const { return parameters_; }

 private:
  // A frame from an end arrives at the other one, or the link may come up.
  void OnTime(uint64_t cookie) override;
  void Lose(unsigned end, WireFrame frame);
  void SetLink(bool up);

  Scheduler& scheduler_;
  const WireParameters parameters_;
  const Scheduler::ClientNumber client_;
  std::array<FrameReceiver*, 2> receivers_{};
  std::array<LinkListener*, 2> listeners_{};
  std::function<void(unsigned, const WireFrame&)> on_lost_;
  bool is_up_ = true;
  uint64_t lost_ = 0;
  Picoseconds down_until_ = 0;
  std::array<std::deque<WireFrame>, 2> in_flight_;  // by sending end
  std::array<Picoseconds, 2> free_{};               // when the next preamble may start
};

struct MacParameters {
  uint32_t transmit_latency_ns = 40;  // from the core's beat to the preamble
  uint32_t receive_latency_ns = 40;   // from the last bit to the core's first beat
  uint32_t buffer_bytes =
      32'768;  // between core and line; the core gets credits for it, never less than for two frames
};

enum class Direction : uint8_t { kIn, kOut };  // seen from the NIC

// Records every frame between MAC and line: sent frames before, received frames after faults.
class FrameRecorder {
 public:
  // Called at the time of the frame's last bit there, in time order.
  virtual void OnFrame(Direction direction, const WireFrame& frame) = 0;

 protected:
  ~FrameRecorder() = default;
};

// Transmit: pads frames to kMinFrameBytes. Starts one beat after the core did if the core is at least as fast as the
// line (no underrun), else stores the whole frame first. Receive: stores the whole frame, because the FCS comes last,
// then delivers it as one unbroken train. Frames longer than max_frame_bytes are dropped. The NIC gets changes of the
// link at the start of its next cycle.
class MacPort final : public FrameEnvironment, public FrameReceiver, public LinkListener, private Scheduler::Client {
 public:
  struct Counters {
    uint64_t sent_frames = 0, sent_bytes = 0, received_frames = 0,
             received_bytes = 0;  // without padding and FCS when sent
    uint64_t oversize_drops = 0;
  };

  MacPort(Scheduler& scheduler, const CoreClock& clock, const spec::Config& config, const MacParameters& parameters);

  // Call before anything else; all outlive the port.
  void Attach(Nic& nic) { nic_ = &nic; }
  void Connect(Wire& wire, unsigned end);
  void Record(FrameRecorder& recorder) { recorder_ = &recorder; }
  // Call after a reset of the NIC: discards everything between core and line, and grants the first credits in cycle
  // `first_input`.
  void Restart(Cycle first_input);

  bool IsIdle() const { return to_core_.empty() && to_line_.empty(); }
  const Counters& counters() const { return counters_; }
  uint32_t credit_beats() const { return credit_beats_; }

  void TransmitFrame(Cycle start, Cycle end, std::span<const uint8_t> bytes) override;
  void OnFrame(WireFrame frame) override;
  void OnLink(bool up) override;

 private:
  struct ToLine {
    uint32_t beats = 0;  // credits to return when it has left
    WireFrame copy;      // for the recorder
  };
  struct ToCore {
    Cycle start = 0, end = 0;
    WireFrame frame;
  };
  enum class Event : uint8_t { kLeft, kCredit, kToCore, kLink };

  void OnTime(uint64_t cookie) override;
  void Schedule(Picoseconds time, Event event);

  Scheduler& scheduler_;
  const CoreClock clock_;
  const spec::Config& config_;
  const MacParameters parameters_;
  const uint32_t beat_bytes_;
  const uint32_t credit_beats_;
  const Scheduler::ClientNumber client_;
  Nic* nic_ = nullptr;
  Wire* wire_ = nullptr;
  unsigned end_ = 0;
  FrameRecorder* recorder_ = nullptr;
  bool cut_through_ = false;

  uint64_t epoch_ = 0;
  Cycle first_input_ = kNever;
  Cycle core_free_ = 0;
  bool reported_link_ = true;  // last state sent to the NIC
  std::deque<ToLine> to_line_;
  std::deque<uint32_t> credits_;
  std::deque<ToCore> to_core_;
  Counters counters_;
};

}  // namespace vireo::sim
