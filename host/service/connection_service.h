// SPDX-License-Identifier: Apache-2.0
// The connection manager of one NIC for the service's clients: QP 1, the state machines of cm/, and a channel per
// client that opened one.
#pragma once

#include <memory>

#include "host/service/service.h"

namespace vireo::service {

// Takes QP 1 of the service's device. `seed`: for connection IDs, first PSNs and ports. For Service::SetUcmaServer; the
// service outlives it.
host::Result<std::unique_ptr<UcmaServer>> MakeUcmaServer(Service& service, uint64_t seed);

}  // namespace vireo::service
