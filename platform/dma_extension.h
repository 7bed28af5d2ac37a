// SPDX-License-Identifier: Apache-2.0
// PCI Express attributes of a transaction on VireoNic::dma_socket: an ignorable TLM-2.0 extension, attached to each.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "platform/systemc.h"
#include "sim/nic/nic.h"

namespace vireo::platform {

class DmaExtension final : public tlm::tlm_extension<DmaExtension> {
 public:
  enum class Kind : uint8_t { kRead, kWrite, kMessage };
  // Takes the next bytes of a read, the first of them in the core cycle that starts now.
  using Complete = std::function<void(std::span<const uint8_t> data, sim::DmaStatus status, bool last)>;

  Kind kind{};
  uint16_t tag = 0;     // kRead; in use until the last part
  uint16_t vector = 0;  // kMessage
  // kRead, for a target that answers as a PCI Express completer does: in parts, each in its own cycle, poisoned, or
  // with an error after good data. It calls this at the start of a core cycle, with `last` for the last part, before
  // b_transport returns. Data of the payload and the response status are then ignored. Rules of parts: see
  // sim::DmaCompletion.
  Complete complete;

  tlm::tlm_extension_base* clone() const override { return new DmaExtension(*this); }
  void copy_from(const tlm::tlm_extension_base& other) override { *this = static_cast<const DmaExtension&>(other); }
};

}  // namespace vireo::platform
