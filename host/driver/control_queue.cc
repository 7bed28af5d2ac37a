// SPDX-License-Identifier: Apache-2.0
#include "host/driver/control_queue.h"

#include <algorithm>
#include <array>
#include <string>

namespace vireo::host {
namespace {

using spec::NetCtrlAck;
using spec::NetCtrlHdr;

// Poll interval of the ring without an interrupt vector.
constexpr uint64_t kPollIntervalNs = 1000;
// Enough for most commands; a long page list gets a larger buffer.
constexpr size_t kBufferBytes = 4096;
constexpr size_t kBufferAlign = 64;
constexpr size_t kAckBytes = 1;

}  // namespace

Status ControlQueue::Reserve(size_t bytes) {
  if (buffer_ != nullptr && buffer_->size() >= bytes) return {};
  Result<DmaBuffer> larger = function_->AllocateDma(std::max(bytes, kBufferBytes), kBufferAlign);
  if (!larger.ok()) return larger.error();
  buffer_ = std::move(larger).value();
  return {};
}

Result<uint32_t> ControlQueue::WaitForAnswer(const std::string& name) {
  const uint64_t deadline = function_->NowNs() + timeout_ns_;
  for (;;) {
    // Read the time first, so that an answer that arrived just before the deadline is still found.
    const uint64_t now = function_->NowNs();
    // Enable the interrupt before polling: an answer in between is found by the poll, a later one interrupts.
    if (queue_->vector.has_value()) static_cast<void>(queue_->ring->EnableInterrupts());
    Result<std::optional<UsedBuffer>> used = queue_->ring->Harvest();
    if (!used.ok()) return used.error();
    if (used->has_value()) return (*used)->written;
    if (Status health = function_->health(); !health.ok()) return health.error();
    if (now >= deadline) {
      return Error{ErrorCode::kTimeout, name + ": no answer after " + std::to_string(timeout_ns_) +
                                            " ns. It may still take effect; reset the device if none comes"};
    }
    function_->Wait(queue_->vector.has_value() ? deadline : std::min(deadline, now + kPollIntervalNs));
  }
}

Status ControlQueue::Execute(uint8_t ctrl_class, uint8_t command, std::span<const uint8_t> request,
                             std::span<const uint8_t> tail, std::span<uint8_t> response) {
  const std::string name = "control command " + std::to_string(ctrl_class) + "." + std::to_string(command);
  if (timed_out_) {
    Result<std::optional<UsedBuffer>> late = queue_->ring->Harvest();
    if (!late.ok()) return late.error();
    if (!late->has_value()) {
      return Error{ErrorCode::kBadState, name + ": an earlier command is still outstanding; reset the device"};
    }
    timed_out_ = false;
  }
  const size_t readable = NetCtrlHdr::kBytes + request.size() + tail.size();
  const size_t writable = kAckBytes + response.size();
  if (Status reserved = Reserve(readable + writable); !reserved.ok()) return reserved;

  uint8_t* const out = buffer_->data();
  NetCtrlHdr{.ctrl_class = static_cast<spec::NetCtrlClass>(ctrl_class), .command = command}.Encode(out);
  std::copy(request.begin(), request.end(), out + NetCtrlHdr::kBytes);
  std::copy(tail.begin(), tail.end(), out + NetCtrlHdr::kBytes + request.size());
  uint8_t* const in = out + readable;
  // Clear the answer: a device that completes the command without writing must not look like success.
  std::fill_n(in, writable, uint8_t{0});
  in[0] = static_cast<uint8_t>(NetCtrlAck::kErr);

  const std::array<Segment, 1> readable_part{{{buffer_->address(), static_cast<uint32_t>(readable)}}};
  const std::array<Segment, 1> writable_part{{{buffer_->address() + readable, static_cast<uint32_t>(writable)}}};
  if (Status added = queue_->ring->Add(readable_part, writable_part, 0); !added.ok()) return added;
  queue_->Kick();
  Result<uint32_t> written = WaitForAnswer(name);
  if (!written.ok()) {
    timed_out_ = true;
    return written.error();
  }

  if (*written < kAckBytes) return Error{ErrorCode::kMisbehaved, name + ": answer without an ack byte"};
  const uint8_t ack = in[0];
  if (ack != static_cast<uint8_t>(NetCtrlAck::kOk)) {
    const spec::ProfileConstants& constants = spec::ConstantsOf(profile_);
    const bool has_code = ctrl_class == constants.net_ctrl_class_roce && constants.rdma_has_error_codes;
    return Error{ErrorCode::kRefused, name + ": refused by the device",
                 has_code ? static_cast<spec::RdmaError>(ack) : spec::RdmaError::kErr};
  }
  if (*written < writable) {
    return Error{ErrorCode::kMisbehaved, name + ": answered with " + std::to_string(*written - kAckBytes) +
                                             " bytes instead of " + std::to_string(response.size())};
  }
  std::copy_n(in + kAckBytes, response.size(), response.begin());
  return {};
}

}  // namespace vireo::host
