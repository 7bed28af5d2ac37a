// SPDX-License-Identifier: Apache-2.0
// Errors as values: return types of the driver's functions. Nothing here throws. value() of a failed Result aborts the
// program: that is a bug in the caller.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "spec/gen/vireo_spec.h"

namespace vireo::host {

// Error classes by what the caller can do. Error::text names the failure and the object.
enum class ErrorCode : uint8_t {
  kInvalidArgument,  // permanent: fix the call
  kUnsupported,      // not in this device, profile or set of accepted features
  kNoDevice,         // the PCI function is not a usable virtio-net device
  kNoSpace,          // the ring is full: harvest, then try again
  kNoMemory,         // no (more) DMA memory
  kTimeout,          // the device did not answer in time; it may still do so
  kRefused,          // the device refused; for a control command Error::rdma is the reason
  kMisbehaved,       // the device violated the protocol; the driver stopped the queue: reset queue or device
  kBadState,         // called in the wrong order, or on a stopped object
  kLost,             // the transport is lost: reopen the function
};

const char* ToString(ErrorCode code);

struct Error {
  ErrorCode code = ErrorCode::kBadState;
  std::string text;
  // The device's ack of a refused command. In profile rfc-v2, and of commands outside the RoCE class, only kErr; kOk if
  // the error is not the answer to a command.
  spec::RdmaError rdma = spec::RdmaError::kOk;
};

// "code: text", and the ack code's name in brackets if there is one.
std::string ToString(const Error& error);

// Either a value or an Error. Result<void>, which is Status, is success or an Error.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return state_.index() == 0; }
  T& value() & { return Checked(std::get_if<0>(&state_)); }
  const T& value() const& { return Checked(std::get_if<0>(&state_)); }
  T&& value() && { return std::move(Checked(std::get_if<0>(&state_))); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  const Error& error() const { return Checked(std::get_if<1>(&state_)); }

 private:
  template <typename U>
  static U& Checked(U* pointer) {
    if (pointer == nullptr) std::abort();
    return *pointer;
  }

  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return !error_.has_value(); }
  const Error& error() const {
    if (!error_.has_value()) std::abort();
    return *error_;
  }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;

}  // namespace vireo::host
