// SPDX-License-Identifier: Apache-2.0
#include "host/driver/error_number.h"

#include <cerrno>
#include <string_view>
#include <utility>

namespace vireo::host {

int ErrorNumber(const Error& error) {
  switch (error.code) {
    case ErrorCode::kInvalidArgument: return EINVAL;
    case ErrorCode::kUnsupported: return EOPNOTSUPP;
    case ErrorCode::kNoDevice: return ENODEV;
    case ErrorCode::kNoSpace:
    case ErrorCode::kNoMemory: return ENOMEM;
    case ErrorCode::kTimeout: return ETIMEDOUT;
    case ErrorCode::kRefused: break;
    default: return EIO;
  }
  const char* const name = spec::ErrnoOf(error.rdma);
  if (name == nullptr) return EIO;
  constexpr std::pair<std::string_view, int> kNumbers[] = {
      {"EINVAL", EINVAL}, {"EBUSY", EBUSY}, {"ENOMEM", ENOMEM}, {"EOPNOTSUPP", EOPNOTSUPP},
      {"EEXIST", EEXIST}, {"EIO", EIO},     {"EFAULT", EFAULT}};
  for (const auto& [text, number] : kNumbers) {
    if (text == name) return number;
  }
  return EIO;
}

}  // namespace vireo::host
