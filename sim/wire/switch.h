// SPDX-License-Identifier: Apache-2.0
// A learning Ethernet switch: store and forward, one output queue per port. No VLANs, no spanning tree, no priorities,
// no ageing.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "sim/time/scheduler.h"
#include "sim/wire/wire.h"

namespace vireo::sim {

struct SwitchParameters {
  uint32_t latency_ns = 400;          // from a frame's last bit to the output queue
  uint32_t queue_bytes = 256 * 1024;  // per output port, including the frame being sent
  // Reflective relay (IEEE 802.1Q, 5.23): a frame for a host behind its ingress port is sent back there. Required by a
  // NIC whose functions or queue pairs communicate with each other.
  bool hairpin = false;
};

// A frame goes to the port where its destination was last seen as a source; to all others if that is unknown or a group
// address; nowhere if it is the ingress port (but see hairpin). Frames with a bad FCS, shorter than an Ethernet header,
// or to 01-80-c2-00-00-0x (IEEE 802.1Q, 8.6.3; for example pause frames) are dropped. A frame that does not fit into
// the output queue is dropped there. Frames that arrive at one time are served in the order of the ports' wires.
class Switch final : private Scheduler::Client {
 public:
  struct PortCounters {
    uint64_t received = 0;
    uint64_t sent = 0;            // put into the output queue
    uint64_t overflow_drops = 0;  // did not fit into it
    uint64_t bad_drops = 0;       // bad FCS, too short or reserved
    uint64_t max_queue_bytes = 0;
  };

  Switch(Scheduler& scheduler, const SwitchParameters& parameters);

  // Adds a port at this end of a wire, which outlives the switch; returns its number, from 0. A fault injector in front
  // of it is connected to the wire instead, and forwards to port(number).
  unsigned AddPort(Wire& wire, unsigned end);
  FrameReceiver& port(unsigned number) { return *ports_[number]; }

  const PortCounters& counters(unsigned number) const { return ports_[number]->counters; }
  std::optional<unsigned> PortOf(const std::array<uint8_t, 6>& mac) const;  // as learned
  bool IsIdle() const { return forwarding_.empty() && queued_frames_ == 0; }

 private:
  struct Port final : FrameReceiver {
    Port(Switch& owner_, unsigned number_, Wire& wire_, unsigned end_)
        : owner(owner_), number(number_), wire(wire_), end(end_) {}
    void OnFrame(WireFrame frame) override { owner.Receive(number, std::move(frame)); }

    Switch& owner;
    const unsigned number;
    Wire& wire;
    const unsigned end;
    uint64_t queue_bytes = 0;
    std::deque<uint64_t> queue;  // bytes of the frames whose last bit has not left
    PortCounters counters;
  };
  struct Forwarding {
    unsigned port = 0;
    WireFrame frame;
  };

  void Receive(unsigned number, WireFrame frame);
  void Forward(Forwarding forwarding);
  void Enqueue(Port& port, WireFrame frame);
  void OnTime(uint64_t cookie) override;

  Scheduler& scheduler_;
  const SwitchParameters parameters_;
  const Scheduler::ClientNumber client_;
  std::vector<std::unique_ptr<Port>> ports_;
  std::deque<Forwarding> forwarding_;  // in the order of their arrival
  std::unordered_map<uint64_t, unsigned> learned_;
  uint64_t queued_frames_ = 0;
};

}  // namespace vireo::sim
