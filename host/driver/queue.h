// SPDX-License-Identifier: Apache-2.0
// One virtqueue in use: ring, doorbell and interrupt vector together.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "host/driver/virtio_pci.h"
#include "host/driver/virtqueue.h"

namespace vireo::host {

// Destroying it does not stop the device: stop the queue or reset the device first, else the device uses freed memory.
struct Queue {
  uint16_t index = 0;
  std::unique_ptr<Virtqueue> ring;
  Doorbell doorbell;
  std::optional<uint16_t> vector;  // none: the device never interrupts for it

  // Publishes what was added, and rings if the device wants to know.
  void Kick() {
    if (ring->Publish()) doorbell.Ring(*ring);
  }
};

}  // namespace vireo::host
