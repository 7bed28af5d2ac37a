// SPDX-License-Identifier: Apache-2.0
// An open virtqueue: ring, doorbell and interrupt vector.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "host/driver/virtio_pci.h"
#include "host/driver/virtqueue.h"

namespace vireo::host {

// Destroying it does not stop the device. Stop the queue or reset the device first, else the device accesses freed
// memory.
struct Queue {
  uint16_t index = 0;
  std::unique_ptr<Virtqueue> ring;
  Doorbell doorbell;
  std::optional<uint16_t> vector;  // none: the device never interrupts for it

  // Publishes added buffers, and rings the doorbell unless the device suppresses it.
  void Kick() {
    if (ring->Publish()) doorbell.Ring(*ring);
  }
};

}  // namespace vireo::host
