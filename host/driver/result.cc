// SPDX-License-Identifier: Apache-2.0
#include "host/driver/result.h"

namespace vireo::host {

const char* ToString(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument: return "invalid argument";
    case ErrorCode::kUnsupported: return "unsupported";
    case ErrorCode::kNoDevice: return "no device";
    case ErrorCode::kNoSpace: return "no space";
    case ErrorCode::kNoMemory: return "no memory";
    case ErrorCode::kTimeout: return "timeout";
    case ErrorCode::kRefused: return "refused";
    case ErrorCode::kMisbehaved: return "device misbehaved";
    case ErrorCode::kBadState: return "bad state";
    case ErrorCode::kLost: return "device lost";
  }
  return "unknown";
}

std::string ToString(const Error& error) {
  std::string text = std::string(ToString(error.code)) + ": " + error.text;
  if (error.rdma != spec::RdmaError::kOk) {
    const char* name = spec::ToString(error.rdma);
    text += " [" + (name != nullptr ? std::string(name) : std::to_string(static_cast<unsigned>(error.rdma))) + "]";
  }
  return text;
}

}  // namespace vireo::host
