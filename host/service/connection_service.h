// SPDX-License-Identifier: Apache-2.0
// The connection manager of one NIC for the service's clients: QP 1, the state machines of cm/, and a channel per
// client that opened one.
#pragma once

#include <memory>

#include "host/service/cm/gsi.h"
#include "host/service/service.h"

namespace vireo::service {

class ConnectionServer : public UcmaServer {
 public:
  virtual cm::Gsi& gsi() = 0;  // which guests share; it lives as long as this
};

// Takes QP 1 of the service's device. `seed`: for connection IDs, first PSNs and ports. For Service::SetUcmaServer; the
// service outlives it.
host::Result<std::unique_ptr<ConnectionServer>> MakeUcmaServer(Service& service, uint64_t seed);

}  // namespace vireo::service
