// SPDX-License-Identifier: Apache-2.0
#include "sim/wire/switch.h"

#include <algorithm>
#include <utility>

#include "spec/gen/vireo_spec.h"

namespace vireo::sim {
namespace {

constexpr uint64_t kForward = ~uint64_t{0};  // cookie; others are the number of a port that has sent a frame

uint64_t MacNumber(const uint8_t* mac) {
  uint64_t number = 0;
  for (int i = 0; i < 6; ++i) number = number << 8 | mac[i];
  return number;
}

bool IsGroup(uint64_t mac) { return (mac >> 40 & 1) != 0; }
bool IsReserved(uint64_t mac) { return mac >> 4 == 0x0180c200000; }

}  // namespace

Switch::Switch(Scheduler& scheduler, const SwitchParameters& parameters)
    : scheduler_(scheduler), parameters_(parameters), client_(scheduler.AddClient(*this)) {}

unsigned Switch::AddPort(Wire& wire, unsigned end) {
  const auto number = static_cast<unsigned>(ports_.size());
  ports_.push_back(std::make_unique<Port>(*this, number, wire, end));
  wire.Connect(end, *ports_.back());
  return number;
}

std::optional<unsigned> Switch::PortOf(const std::array<uint8_t, 6>& mac) const {
  const auto found = learned_.find(MacNumber(mac.data()));
  if (found == learned_.end()) return std::nullopt;
  return found->second;
}

void Switch::Receive(unsigned number, WireFrame frame) {
  Port& port = *ports_[number];
  ++port.counters.received;
  if (frame.bad_fcs || frame.bytes.size() < spec::Ethernet::kBytes ||
      IsReserved(MacNumber(frame.bytes.data() + spec::Ethernet::kDestinationOffset))) {
    ++port.counters.bad_drops;
    return;
  }
  forwarding_.push_back({number, std::move(frame)});
  scheduler_.At(scheduler_.now() + parameters_.latency_ns * kPicosecondsPerNanosecond, client_, kForward);
}

void Switch::OnTime(uint64_t cookie) {
  if (cookie == kForward) {
    Forwarding forwarding = std::move(forwarding_.front());
    forwarding_.pop_front();
    return Forward(std::move(forwarding));
  }
  Port& port = *ports_[cookie];
  port.queue_bytes -= port.queue.front();
  port.queue.pop_front();
  --queued_frames_;
}

void Switch::Forward(Forwarding forwarding) {
  const uint8_t* header = forwarding.frame.bytes.data();
  const uint64_t source = MacNumber(header + spec::Ethernet::kSourceOffset);
  const uint64_t destination = MacNumber(header + spec::Ethernet::kDestinationOffset);
  if (!IsGroup(source)) learned_[source] = forwarding.port;
  const auto known = IsGroup(destination) ? learned_.end() : learned_.find(destination);
  if (known != learned_.end()) {
    if (known->second != forwarding.port || parameters_.hairpin)
      Enqueue(*ports_[known->second], std::move(forwarding.frame));
    return;
  }
  for (const auto& port : ports_) {
    if (port->number != forwarding.port) Enqueue(*port, forwarding.frame);
  }
}

void Switch::Enqueue(Port& port, WireFrame frame) {
  const uint64_t bytes = frame.bytes.size();
  if (port.queue_bytes + bytes > parameters_.queue_bytes) {
    ++port.counters.overflow_drops;
    return;
  }
  port.queue_bytes += bytes;
  port.counters.max_queue_bytes = std::max(port.counters.max_queue_bytes, port.queue_bytes);
  port.queue.push_back(bytes);
  ++queued_frames_;
  ++port.counters.sent;
  scheduler_.At(port.wire.Send(port.end, scheduler_.now(), std::move(frame)), client_, port.number);
}

}  // namespace vireo::sim
