// SPDX-License-Identifier: Apache-2.0
// The control queue: one command at a time; the call returns when the command has completed.
//
// Waits with PciFunction::Wait and a deadline in the function's time. After a timeout the command is still outstanding,
// and whether it took effect is unknown. Later calls fail with kBadState until the late answer arrives, which is then
// discarded. The buffers stay mapped for the device until the queue is reset.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "host/driver/queue.h"

namespace vireo::host {

// The request or response of a command that has none.
struct NoPayload {
  static constexpr size_t kBytes = 0;
  static NoPayload Decode(const uint8_t*) { return {}; }
  void Encode(uint8_t*) const {}
};

// Transport of control commands: the control queue of a device that this process owns, or the service that owns the
// device.
class CommandChannel {
 public:
  virtual ~CommandChannel() = default;

  virtual spec::Profile profile() const = 0;

  // Executes one command. Sends header, request and tail; receives ack and response. `ctrl_class` is a
  // spec::NetCtrlClass or the profile's net_ctrl_class_roce. Errors:
  //   kRefused     the ack was not ok. Error::rdma is the ack byte of a RoCE command in profile vireo, else kErr
  //   kTimeout     no answer
  //   kBadState    an earlier command is still outstanding
  //   kMisbehaved  an answer without ack, or shorter than the response; or the ring is broken
  //   kNoMemory    no memory for the buffers
  template <typename Request, typename Response>
  Result<Response> Command(uint8_t ctrl_class, uint8_t command, const Request& request,
                           std::span<const uint8_t> tail = {}) {
    uint8_t request_bytes[Request::kBytes + 1]{};  // + 1: C++ has no arrays of size 0
    uint8_t response_bytes[Response::kBytes + 1]{};
    request.Encode(request_bytes);
    Status status =
        Execute(ctrl_class, command, {request_bytes, Request::kBytes}, tail, {response_bytes, Response::kBytes});
    if (!status.ok()) return status.error();
    return Response::Decode(response_bytes);
  }

  // Untyped form of Command.
  virtual Status Execute(uint8_t ctrl_class, uint8_t command, std::span<const uint8_t> request,
                         std::span<const uint8_t> tail, std::span<uint8_t> response) = 0;
};

class ControlQueue final : public CommandChannel {
 public:
  // `queue` has at least 2 entries. Both must outlive the object; the device must be stopped before it is destroyed.
  ControlQueue(PciFunction& function, Queue& queue, spec::Profile profile)
      : function_(&function), queue_(&queue), profile_(profile) {}

  // Timeout of a command. Default: 1 s.
  void set_timeout_ns(uint64_t timeout_ns) { timeout_ns_ = timeout_ns; }
  spec::Profile profile() const override { return profile_; }

  Status Execute(uint8_t ctrl_class, uint8_t command, std::span<const uint8_t> request, std::span<const uint8_t> tail,
                 std::span<uint8_t> response) override;

  // Call after the queue or device was reset: no command is outstanding any more.
  void OnReset() { timed_out_ = false; }

 private:
  Status Reserve(size_t bytes);
  Result<uint32_t> WaitForAnswer(const std::string& name);

  PciFunction* function_;
  Queue* queue_;
  spec::Profile profile_;
  uint64_t timeout_ns_ = 1'000'000'000;
  DmaBuffer buffer_;
  bool timed_out_ = false;  // a command timed out and is still outstanding
};

}  // namespace vireo::host
