// SPDX-License-Identifier: Apache-2.0
// Out-of-band exchange between programs, in place of TCP: put once, read by each waiting program.
#pragma once

#include <optional>

#include "platform/systemc.h"

namespace vireo::examples {

template <typename T>
class OutOfBand {
 public:
  void Put(T value) {
    value_ = value;
    put_.notify(sc_core::SC_ZERO_TIME);
  }
  T Take() {
    while (!value_) sc_core::wait(put_);
    return *value_;
  }

 private:
  std::optional<T> value_;
  sc_core::sc_event put_;
};

}  // namespace vireo::examples
