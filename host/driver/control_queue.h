// SPDX-License-Identifier: Apache-2.0
// The control queue: one command at a time, carried out before the call returns.
//
// Waiting is PciFunction::Wait with a deadline in the function's time. If the device does not answer in time, the
// command stays with it: nobody knows whether it took effect. The next call fails with kBadState as long as the late
// answer has not come, and discards it when it has. The buffers stay alive for the device until the queue is reset.
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

// Where control commands go: the control queue of a device that this process owns, or the service that owns it.
class CommandChannel {
 public:
  virtual ~CommandChannel() = default;

  virtual spec::Profile profile() const = 0;

  // One command: header, request and tail out; ack and response in. `ctrl_class` is a spec::NetCtrlClass or the
  // profile's net_ctrl_class_roce. Errors:
  //   kRefused     the ack was not ok. Error::rdma is the ack byte of a RoCE command in profile vireo, else kErr
  //   kTimeout     no answer
  //   kBadState    an earlier command is still with the device
  //   kMisbehaved  an answer without ack, or with less than the response; or the ring broke
  //   kNoMemory    for the buffers; kLost
  template <typename Request, typename Response>
  Result<Response> Command(uint8_t ctrl_class, uint8_t command, const Request& request,
                           std::span<const uint8_t> tail = {}) {
    uint8_t request_bytes[Request::kBytes + 1]{};  // + 1: an array of nothing is not allowed
    uint8_t response_bytes[Response::kBytes + 1]{};
    request.Encode(request_bytes);
    Status status =
        Execute(ctrl_class, command, {request_bytes, Request::kBytes}, tail, {response_bytes, Response::kBytes});
    if (!status.ok()) return status.error();
    return Response::Decode(response_bytes);
  }

  // The same without types.
  virtual Status Execute(uint8_t ctrl_class, uint8_t command, std::span<const uint8_t> request,
                         std::span<const uint8_t> tail, std::span<uint8_t> response) = 0;
};

class ControlQueue final : public CommandChannel {
 public:
  // `queue` has at least 2 entries. Both must outlive the object, and the device must be stopped before it goes.
  ControlQueue(PciFunction& function, Queue& queue, spec::Profile profile)
      : function_(&function), queue_(&queue), profile_(profile) {}

  // How long a command may take; 1 s at first.
  void set_timeout_ns(uint64_t timeout_ns) { timeout_ns_ = timeout_ns; }
  spec::Profile profile() const override { return profile_; }

  Status Execute(uint8_t ctrl_class, uint8_t command, std::span<const uint8_t> request, std::span<const uint8_t> tail,
                 std::span<uint8_t> response) override;

  // After the queue or device was reset: no command is with the device any more.
  void Forget() { stuck_ = false; }

 private:
  Status Reserve(size_t bytes);
  Result<uint32_t> WaitForAnswer(const std::string& name);

  PciFunction* function_;
  Queue* queue_;
  spec::Profile profile_;
  uint64_t timeout_ns_ = 1'000'000'000;
  DmaBuffer buffer_;
  bool stuck_ = false;  // a command is with the device, and its caller has given up
};

}  // namespace vireo::host
