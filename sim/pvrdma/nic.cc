// SPDX-License-Identifier: Apache-2.0
#include "sim/pvrdma/nic.h"

#include <algorithm>
#include <utility>

namespace vireo::sim::pvrdma {

std::optional<Mac> GidDirectory::Find(const Gid& gid) const {
  const auto found = macs_.find(gid);
  return found == macs_.end() ? std::nullopt : std::optional(found->second);
}

Nic::Nic(verbs::Device& device, GidDirectory& directory, Options options)
    : device_(device),
      directory_(directory),
      options_(std::move(options)),
      capacity_(verbs::CapacityOf(device, options_.gsi != nullptr, static_cast<uint32_t>(options_.own_gids.size()))) {
  const auto port = device.QueryPort();
  gids_ = port.ok() ? port->gid_tbl_len : 0;
  if (!device.base().constants().rdma_has_cq_arm) return;
  for (uint16_t i = 0; i < options_.vectors; ++i) {
    free_vectors_.insert(static_cast<uint16_t>(options_.first_vector + i));
  }
}

NicVector::~NicVector() { nic_.free_vectors_.insert(number_); }

bool NicVector::TakeInterrupt() const { return nic_.device_.function().TakeInterrupt(number_); }

std::unique_ptr<NicVector> Nic::TakeVector() {
  if (free_vectors_.empty()) return nullptr;
  return std::unique_ptr<NicVector>(new NicVector(*this, free_vectors_.extract(free_vectors_.begin()).value()));
}

host::Result<uint16_t> Nic::Bind(const Gid& gid, std::optional<uint16_t> vlan, service::cm::Gsi::Receiver receiver) {
  const bool is_own = std::ranges::find(options_.own_gids, gid, &OwnGid::gid) != options_.own_gids.end();
  if (is_own || directory_.Find(gid).has_value() || (options_.neighbors && options_.neighbors(gid).has_value())) {
    return host::Error{host::ErrorCode::kRefused, "the GID is in use", spec::RdmaError::kGidDuplicate};
  }
  for (uint32_t i = 0; i < gids_; ++i) {
    const auto index = static_cast<uint16_t>(i);
    if (bound_.contains(index) ||
        std::ranges::find(options_.own_gids, index, &OwnGid::index) != options_.own_gids.end())
      continue;
    uint8_t bytes[sizeof gid];
    std::ranges::copy(gid, bytes);
    if (host::Status added = device_.AddGid(index, bytes, vlan); !added.ok()) return added.error();
    bound_[index] = gid;
    directory_.macs_[gid] = options_.mac;
    ++directory_.version_;
    if (options_.gsi != nullptr) {
      options_.gsi->Attach({.index = static_cast<uint8_t>(index), .gid = gid}, std::move(receiver));
    }
    Publish();
    return index;
  }
  return host::Error{host::ErrorCode::kNoMemory, "the NIC's GID table is full"};
}

void Nic::Unbind(uint16_t index) {
  const auto bound = bound_.find(index);
  if (bound == bound_.end()) return;
  if (options_.gsi != nullptr) options_.gsi->Detach(bound->second);
  static_cast<void>(device_.DelGid(index));  // fails only if the NIC is lost
  directory_.macs_.erase(bound->second);
  ++directory_.version_;
  bound_.erase(bound);
  Publish();
}

void Nic::Publish() const {
  if (!options_.on_gids) return;
  std::vector<Gid> gids;
  gids.reserve(bound_.size());
  for (const auto& [index, gid] : bound_) gids.push_back(gid);
  options_.on_gids(std::move(gids));
}

std::optional<Gid> Nic::GidAt(uint16_t index) const {
  const auto bound = bound_.find(index);
  return bound == bound_.end() ? std::nullopt : std::optional(bound->second);
}

Mac Nic::MacFor(const Gid& gid, const Mac& known) const {
  if (const auto mac = directory_.Find(gid); mac.has_value()) return *mac;
  if (options_.neighbors) {
    if (const auto mac = options_.neighbors(gid); mac.has_value()) return *mac;
  }
  return known;
}

}  // namespace vireo::sim::pvrdma
