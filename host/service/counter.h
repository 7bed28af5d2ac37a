// SPDX-License-Identifier: Apache-2.0
// A counter of a NIC's port, as programs see it: a file below /sys/class/infiniband/NAME/ports/1.
#pragma once

#include <cstdint>
#include <string>

namespace vireo::service {

struct Counter {
  std::string name;  // with its directory: "counters/port_xmit_packets"; up to 55 characters
  uint64_t value = 0;
};

}  // namespace vireo::service
