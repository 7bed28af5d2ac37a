// SPDX-License-Identifier: Apache-2.0
#include "host/verbs/device.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "host/verbs/completion_queue.h"
#include "host/verbs/protection_domain.h"

namespace vireo::verbs {

Result<std::shared_ptr<Device>> Device::Open(host::PciFunction& function, host::DeviceOptions options) {
  options.roce = host::DeviceOptions::Roce::kRequired;
  Result<std::unique_ptr<host::VirtioNetDevice>> net = host::VirtioNetDevice::Open(function, options);
  if (!net.ok()) return net.error();
  host::VirtioNetDevice* const owned = net->get();
  Result<std::shared_ptr<Device>> device = Attach(std::move(net).value());
  if (device.ok()) (*device)->net_ = owned;
  return device;
}

Result<std::shared_ptr<Device>> Device::Attach(std::unique_ptr<host::RoceDevice> base) {
  Result<spec::RdmaAckQueryDevice> attributes = base->roce().QueryDevice();
  if (!attributes.ok()) return attributes.error();
  return std::shared_ptr<Device>(new Device(std::move(base), *attributes));
}

Status Device::AddGid(uint16_t index, const uint8_t (&gid)[16], std::optional<uint16_t> vlan) {
  spec::RdmaCmdAddGid request{.index = index, .gid_type = spec::RdmaGidType::kRoceV2};
  std::copy(std::begin(gid), std::end(gid), std::begin(request.gid));
  if (vlan.has_value()) {
    request.flags = spec::RdmaGidFlags::kVlanPresent;
    request.vlan = *vlan;
  }
  return base_->roce().AddGid(request);
}

Result<std::shared_ptr<ProtectionDomain>> Device::CreatePd() {
  Result<uint32_t> pdn = base_->roce().CreatePd();
  if (!pdn.ok()) return pdn.error();
  return std::shared_ptr<ProtectionDomain>(new ProtectionDomain(shared_from_this(), *pdn));
}

std::shared_ptr<ProtectionDomain> Device::ImportPd(uint32_t pdn) {
  return std::shared_ptr<ProtectionDomain>(new ProtectionDomain(shared_from_this(), pdn));
}

Result<std::shared_ptr<CompletionQueue>> Device::CreateCq(uint32_t cqe, std::optional<uint16_t> vector, uint32_t room,
                                                          uint32_t elements) {
  return CompletionQueue::Create(shared_from_this(), cqe, vector, room, elements);
}

Result<host::Queue> Device::OpenQueue(uint16_t index, uint32_t entries, std::optional<uint16_t> vector) {
  Result<uint16_t> max_size = base_->MaxQueueSize(index);
  if (!max_size.ok()) return max_size.error();
  const uint32_t size = std::bit_ceil(std::max(entries, uint32_t{1}));
  if (size > *max_size) {
    return Error{ErrorCode::kUnsupported, std::to_string(entries) + " entries, but virtqueue " + std::to_string(index) +
                                              " holds at most " + std::to_string(*max_size)};
  }
  return base_->OpenQueue(index, static_cast<uint16_t>(size), vector, 0);
}

void Device::Close(std::optional<WorkQueue> queue, const Status& status) {
  if (!queue.has_value()) return;
  if (status.ok() && base_->StopQueue(queue->queue, true).ok()) return;
  retained_.push_back(std::move(*queue));
}

}  // namespace vireo::verbs
