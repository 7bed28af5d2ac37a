// SPDX-License-Identifier: Apache-2.0
// Commands on multicast groups: which UD queue pairs are attached to which. A row of the table is one attachment.
#include "firmware/app/firmware.h"
#include "firmware/app/gid.h"

namespace vireo::firmware {

uint32_t Firmware::FindAttachment(uint32_t qpn, const uint8_t* mgid) const {
  for (uint32_t row = 0; row < config_.max_mcast_attach; ++row) {
    const Attachment& attachment = attachments_[row];
    bool same = attachment.is_valid && attachment.qpn == qpn;
    for (size_t i = 0; i < kGidBytes; ++i) same = same && attachment.mgid[i] == mgid[i];
    if (same) return row;
  }
  return kNone;
}

bool Firmware::IsAttached(uint32_t qpn) const {
  for (uint32_t row = 0; row < config_.max_mcast_attach; ++row) {
    if (attachments_[row].is_valid && attachments_[row].qpn == qpn) return true;
  }
  return false;
}

Firmware::Error Firmware::AttachMcast(const spec::RdmaCmdAttachMcast& request, Empty&) {
  if (!HasQp(request.qpn)) return Error::kBadQpn;
  constexpr Words type = WordAt(spec::TableQpContext::kQpTypeOffset);
  if (device_.ReadEntry<spec::TableQpContext>(request.qpn, type).qp_type != spec::IbQpType::kUd)
    return Error::kNotAUdQp;
  if (!IsMulticast(request.mgid)) return Error::kInvalidGid;
  if (FindAttachment(request.qpn, request.mgid) != kNone) return Error::kOk;
  uint32_t row = 0;
  while (row < config_.max_mcast_attach && attachments_[row].is_valid) ++row;
  if (row == config_.max_mcast_attach) return Error::kNoFreeMcast;

  Attachment& attachment = attachments_[row];
  spec::TableMcast entry{.valid = true, .qpn = request.qpn};
  for (size_t i = 0; i < kGidBytes; ++i) attachment.mgid[i] = entry.mgid[i] = request.mgid[i];
  attachment.qpn = static_cast<uint16_t>(request.qpn);
  attachment.is_valid = true;
  device_.WriteEntry(row, entry);
  return Error::kOk;
}

Firmware::Error Firmware::DetachMcast(const spec::RdmaCmdDetachMcast& request, Empty&) {
  if (!HasQp(request.qpn)) return Error::kBadQpn;
  const uint32_t row = FindAttachment(request.qpn, request.mgid);
  if (row == kNone) return Error::kNotAttached;
  RemoveAttachment(row);
  return Error::kOk;
}

void Firmware::RemoveAttachment(uint32_t row) {
  device_.ClearEntry<spec::TableMcast>(row);
  attachments_[row].is_valid = false;
}

}  // namespace vireo::firmware
