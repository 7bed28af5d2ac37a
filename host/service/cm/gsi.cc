// SPDX-License-Identifier: Apache-2.0
#include "host/service/cm/gsi.h"

#include <algorithm>
#include <utility>

namespace vireo::service::cm {
namespace {

using host::Error;
using host::ErrorCode;
using host::Result;
using host::Status;

constexpr size_t kReceiveBytes = spec::kRdmaUdGrhBytes + kMadBytes;
constexpr uint64_t kIsSend = uint64_t{1} << 32;  // flag of wr_id; the low bits are the slot
constexpr uint8_t kDscp = 0xfc;                  // of a traffic class; the other bits are ECN, set by the network

// The reverse path, from the IP header of a received datagram. None: no IP header.
std::optional<Path> ReversePath(std::span<const uint8_t, spec::kRdmaUdGrhBytes> header) {
  Path path;
  const uint8_t* const ipv4 = header.data() + spec::kRdmaUdGrhBytes - spec::Ipv4::kBytes;
  if (header[0] >> 4 == 6) {
    std::copy_n(header.data() + 8, 16, path.dgid.begin());
    std::copy_n(header.data() + 24, 16, path.sgid.begin());
    path.traffic_class = static_cast<uint8_t>((header[0] << 4 | header[1] >> 4) & kDscp);
    return path;
  }
  if (ipv4[0] >> 4 == 4) {
    path.dgid[10] = path.dgid[11] = path.sgid[10] = path.sgid[11] = 0xff;
    std::copy_n(ipv4 + 12, 4, path.dgid.begin() + 12);
    std::copy_n(ipv4 + 16, 4, path.sgid.begin() + 12);
    path.traffic_class = static_cast<uint8_t>(ipv4[1] & kDscp);
    return path;
  }
  return std::nullopt;
}

}  // namespace

Result<std::unique_ptr<Gsi>> Gsi::Create(const std::shared_ptr<verbs::Device>& device, Options options) {
  std::unique_ptr<Gsi> gsi(new Gsi(std::move(options)));
  if (Status opened = gsi->Open(device); !opened.ok()) return opened.error();
  return gsi;
}

Gsi::~Gsi() = default;

Status Gsi::Open(const std::shared_ptr<verbs::Device>& device) {
  auto pd = device->CreatePd();
  if (!pd.ok()) return pd.error();
  pd_ = std::move(pd).value();
  auto cq = device->CreateCq(options_.receives + options_.sends, options_.vector);
  if (!cq.ok()) return cq.error();
  cq_ = std::move(cq).value();
  auto memory = device->function().AllocateDma(options_.receives * kReceiveBytes + options_.sends * kMadBytes, 4096);
  if (!memory.ok()) return memory.error();
  memory_ = std::move(memory).value();
  auto region = pd_->Register(*memory_, spec::IbAccessFlags::kLocalWrite);
  if (!region.ok()) return region.error();
  region_ = std::move(region).value();
  auto qp = pd_->CreateQp({.type = spec::IbQpType::kGsi,
                           .send_cq = cq_,
                           .recv_cq = cq_,
                           .max_send_wr = options_.sends,
                           .max_recv_wr = options_.receives});
  if (!qp.ok()) return qp.error();
  qp_ = std::move(qp).value();
  if (Status started = qp_->Start({.qkey = spec::kGsiQkey}); !started.ok()) return started;
  used_.resize(options_.sends);
  for (uint32_t slot = 0; slot < options_.sends; ++slot) free_sends_.push_back(slot);
  for (uint32_t slot = 0; slot < options_.receives; ++slot) {
    if (Status posted = Receive(slot); !posted.ok()) return posted;
  }
  return options_.vector.has_value() ? cq_->Arm() : Status();
}

Status Gsi::Receive(uint32_t slot) {
  const spec::RdmaSge sge = region_->Sge(slot * kReceiveBytes, kReceiveBytes);
  return qp_->PostRecv({.wr_id = slot, .sg_list = {&sge, 1}});
}

void Gsi::SetGids(std::vector<LocalGid> gids) {
  options_.gids = std::move(gids);
  handles_.clear();  // those in use live until their send has completed
}

std::pair<const Gsi::LocalGid*, const Gsi::Receiver*> Gsi::FindOwn(const Gid& gid) const {
  if (const auto own = std::ranges::find(options_.gids, gid, &LocalGid::gid); own != options_.gids.end()) {
    return {&*own, &receiver_};
  }
  const auto other = std::ranges::find_if(attached_, [&gid](const Attached& entry) { return entry.gid.gid == gid; });
  if (other == attached_.end()) return {nullptr, nullptr};
  return {&other->gid, &other->receiver};
}

void Gsi::Attach(const LocalGid& gid, Receiver receiver) { attached_.push_back({gid, std::move(receiver)}); }

void Gsi::Detach(const Gid& gid) {
  const auto found = std::ranges::find_if(attached_, [&gid](const Attached& entry) { return entry.gid.gid == gid; });
  if (found == attached_.end()) return;
  const uint8_t index = found->gid.index;
  attached_.erase(found);
  // Another GID may get the entry. Datagrams that wait for a work request are no longer this NIC's.
  std::erase_if(handles_, [index](const auto& handle) { return std::get<0>(handle.first) == index; });
  const auto is_from = [&gid](const QueuedMad& what) { return what.path.sgid == gid; };
  dropped_ += std::erase_if(waiting_, is_from) + std::erase_if(loop_, is_from);
}

std::shared_ptr<verbs::AddressHandle> Gsi::Handle(const Path& path) {
  const auto mac = options_.neighbors(path.dgid);
  if (!mac.has_value()) return nullptr;
  const HandleKey key(path.sgid_index, path.dgid, *mac, path.traffic_class, path.hop_limit, path.flow_label);
  if (const auto found = handles_.find(key); found != handles_.end()) return found->second;
  if (handles_.size() >= options_.handles) {  // evict unused handles; the next datagram recreates them
    std::erase_if(handles_, [](const auto& handle) { return handle.second.use_count() == 1; });
  }
  spec::RdmaAhAttr attributes;
  std::ranges::copy(path.dgid, attributes.grh.dgid);
  std::ranges::copy(*mac, attributes.dmac);
  attributes.grh.sgid_index = path.sgid_index;
  attributes.grh.hop_limit = path.hop_limit;
  attributes.grh.traffic_class = path.traffic_class;
  attributes.grh.flow_label = path.flow_label;
  auto made = pd_->CreateAh(attributes);
  if (!made.ok()) return nullptr;
  return handles_[key] = std::move(made).value();
}

void Gsi::SendMad(const Path& path, MadView mad) {
  QueuedMad what{.path = path, .mad = {}};
  std::ranges::copy(mad, what.mad.begin());
  auto& queue = FindOwn(path.dgid).first != nullptr ? loop_ : waiting_;
  if (queue.size() >= kWaitingMax) {
    ++dropped_;
  } else if (&queue == &waiting_ && !free_sends_.empty() && waiting_.empty()) {
    Post(what);
  } else {
    queue.push_back(what);
  }
}

void Gsi::Post(const QueuedMad& what) {
  auto handle = Handle(what.path);
  if (handle == nullptr) {
    ++dropped_;
    return;
  }
  const uint32_t slot = free_sends_.back();
  const size_t offset = options_.receives * kReceiveBytes + slot * kMadBytes;
  std::ranges::copy(what.mad, memory_->data() + offset);
  const spec::RdmaSge sge = region_->Sge(offset, kMadBytes);
  const Status posted = qp_->PostSend({.wr_id = kIsSend | slot,
                                       .sg_list = {&sge, 1},
                                       .remote_qpn = spec::kGsiQpn,
                                       .remote_qkey = spec::kGsiQkey,
                                       .ah = handle.get()});
  if (!posted.ok()) {
    ++dropped_;
    return;
  }
  free_sends_.pop_back();
  used_[slot] = std::move(handle);
}

void Gsi::Deliver(uint32_t slot, const spec::RdmaCqReq& completion) {
  const std::span<const uint8_t, kReceiveBytes> bytes(memory_->data() + slot * kReceiveBytes, kReceiveBytes);
  auto path = ReversePath(bytes.first<spec::kRdmaUdGrhBytes>());
  const auto [own, receiver] = path.has_value() ? FindOwn(path->sgid) : std::pair<const LocalGid*, const Receiver*>();
  if (completion.status != spec::IbWcStatus::kSuccess || completion.byte_len != kReceiveBytes ||
      completion.src_qp != spec::kGsiQpn || own == nullptr) {
    ++dropped_;
    return;
  }
  path->sgid_index = own->index;
  Mad mad;  // copy: the receiver may free the slot
  std::ranges::copy(bytes.subspan<spec::kRdmaUdGrhBytes>(), mad.begin());
  if (*receiver) (*receiver)(*path, mad);
}

Status Gsi::Poll() {
  // Only those pending now: answers to them wait for the next Poll.
  for (size_t left = loop_.size(); left > 0; --left) {
    QueuedMad what = loop_.front();
    loop_.pop_front();
    Path back = what.path;
    std::swap(back.sgid, back.dgid);
    const auto [own, receiver] = FindOwn(back.sgid);
    if (own == nullptr) {  // removed or detached since
      ++dropped_;
      continue;
    }
    back.sgid_index = own->index;
    if (*receiver) (*receiver)(back, what.mad);
  }
  std::array<spec::RdmaCqReq, 16> completions;
  while (true) {
    const auto taken = cq_->Poll(completions);
    if (!taken.ok()) return taken.error();
    if (*taken == 0) break;
    for (const auto& completion : std::span(completions).first(*taken)) {
      const auto slot = static_cast<uint32_t>(completion.wr_id);
      if ((completion.wr_id & kIsSend) != 0) {
        used_[slot].reset();
        free_sends_.push_back(slot);
        if (completion.status != spec::IbWcStatus::kSuccess) ++dropped_;
        continue;
      }
      Deliver(slot, completion);
      if (completion.status == spec::IbWcStatus::kWrFlushErr) {
        return Error{ErrorCode::kBadState, "QP 1 is in the error state"};
      }
      if (Status posted = Receive(slot); !posted.ok()) return posted;
    }
    while (!waiting_.empty() && !free_sends_.empty()) {
      Post(waiting_.front());
      waiting_.pop_front();
    }
  }
  return options_.vector.has_value() ? cq_->Arm() : Status();
}

}  // namespace vireo::service::cm
