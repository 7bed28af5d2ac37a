// SPDX-License-Identifier: Apache-2.0
#include "sim/replay/peer_nic.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/replay/frame_text.h"

namespace vireo::sim {
namespace {

constexpr Picoseconds kSecond = 1'000'000'000 * kPicosecondsPerNanosecond;
constexpr uint64_t kPage = uint64_t{1} << spec::kRdmaPageShiftDefault;
constexpr uint64_t kMaxMemory = uint64_t{64} << 20;  // bytes of one region
// A request with a Q_Key from here on is sent with the QP's own Q_Key instead. [IBTA vol. 1, 10.2.5]
constexpr uint32_t kOwnQkey = 0x8000'0000;

}  // namespace

PeerNic::Built PeerNic::Build(const std::string& device, const spec::Config& config, const std::string& capture_path) {
  RdmaSystemOptions options;
  options.device = device;
  options.config = &config;
  options.nics = 1;
  options.fabric = Fabric::kSwitch;  // with no other port: frames of the NIC are dropped
  options.capture_path = capture_path;
  options.is_monitored = false;  // the frames of a recorded peer
  auto built = RdmaSystem::Build(options);
  if (built.system == nullptr) return {nullptr, built.error};
  std::unique_ptr<PeerNic> nic(new PeerNic());
  nic->system_ = std::move(built.system);
  auto pd = nic->device().CreatePd();
  if (!pd.ok()) return {nullptr, host::ToString(pd.error())};
  nic->pd_ = *pd;
  nic->link_mbps_ = config.link_mbps;
  nic->gids_[nic->system_->host(0).gid()] = RdmaHost::kIpv4Gid;
  nic->system_->topology().station(0).tap().AddSink(*nic);
  return {std::move(nic), ""};
}

PeerNic::~PeerNic() { pd_.reset(); }

host::Result<uint8_t> PeerNic::GidIndex(const GidBytes& gid) {
  const auto known = gids_.find(gid);
  if (known != gids_.end()) return known->second;
  uint8_t bytes[16];
  std::ranges::copy(gid, bytes);
  const auto index = static_cast<uint8_t>(gids_.size());
  const verbs::Status added = device().AddGid(index, bytes);
  if (!added.ok()) return added.error();
  return gids_[gid] = index;
}

host::Result<spec::RdmaAhAttr> PeerNic::PathTo(const GidBytes& from, const GidBytes& to, const RoceFrame& like) {
  auto index = GidIndex(from);
  if (!index.ok()) return index.error();
  spec::RdmaAhAttr path;
  std::ranges::copy(to, path.grh.dgid);
  path.grh.sgid_index = *index;
  path.grh.hop_limit = like.hop_limit();
  path.grh.traffic_class = like.traffic_class();
  path.grh.flow_label = like.is_ipv6 ? like.ipv6.flow_label : 0;
  const auto station = stations_.find(to);
  if (station != stations_.end()) std::ranges::copy(station->second, path.dmac);
  return path;
}

host::Result<PeerNic::QueuePair> PeerNic::Connect(const Flow& flow, bool as_responder,
                                                  verbs::QueuePair::Connection attributes, const RoceFrame& like,
                                                  uint32_t work_requests) {
  // `like` is a frame of this side: it has the MAC addresses of both stations.
  std::ranges::copy(like.ethernet.source, stations_[like.source()].begin());
  std::ranges::copy(like.ethernet.destination, stations_[like.destination()].begin());
  verbs::QueuePairOptions options;
  options.type = flow.service == spec::BthService::kRc   ? spec::IbQpType::kRc
                 : flow.service == spec::BthService::kUc ? spec::IbQpType::kUc
                                                         : spec::IbQpType::kUd;
  options.max_send_wr = options.max_recv_wr = work_requests;
  QueuePair pair;
  auto cq = device().CreateCq(2 * work_requests);
  if (!cq.ok()) return cq.error();
  pair.cq = options.send_cq = options.recv_cq = *cq;
  auto qp = pd_->CreateQp(options);
  if (!qp.ok()) return qp.error();
  pair.qp = *qp;
  const auto psn = static_cast<uint32_t>(flow.first_psn % kPsnModulus);
  verbs::Status status;
  if (flow.service == spec::BthService::kUd) {
    // The Q_Key of the recorded requests is that of the responder, or the requester's own one.
    uint32_t qkey = flow.messages.front().deth.qkey;
    if (!as_responder && qkey < kOwnQkey) qkey = 0;
    status = pair.qp->Start({.qkey = qkey, .local_psn = psn});
  } else {
    auto path =
        as_responder ? PathTo(flow.responder, flow.requester, like) : PathTo(flow.requester, flow.responder, like);
    if (!path.ok()) return path.error();
    attributes.path = *path;
    attributes.dest_qpn = as_responder ? flow.requester_qpn.value_or(0) : flow.responder_qpn;
    attributes.local_psn = attributes.remote_psn = psn;
    attributes.path_mtu = flow.path_mtu;
    attributes.access = device().all_access();
    if (device().has_flush(spec::FlushPlacement::kPersistence)) {
      attributes.access |= spec::IbAccessFlags::kFlushPersistent;
    }
    attributes.max_rd_atomic = static_cast<uint8_t>(device().attributes().max_qp_init_rd_atom);
    attributes.max_dest_rd_atomic = static_cast<uint8_t>(max_reads());
    status = pair.qp->Connect(attributes);
  }
  if (!status.ok()) return status.error();
  return pair;
}

host::Result<std::shared_ptr<verbs::AddressHandle>> PeerNic::CreateAh(const Flow& flow, const RoceFrame& like) {
  auto path = PathTo(flow.requester, flow.responder, like);
  if (!path.ok()) return path.error();
  return pd_->CreateAh(*path);
}

host::Result<PeerNic::Memory> PeerNic::Allocate(uint64_t first, uint64_t bytes, uint32_t access, bool invalidatable) {
  if (bytes > kMaxMemory) {
    return host::Error{
        host::ErrorCode::kNoMemory,
        fmt::format("{} bytes from {:#x} on exceed the limit of {} bytes per R_Key", bytes, first, kMaxMemory)};
  }
  bytes = std::max<uint64_t>(bytes, 1);
  Memory memory;
  memory.base = first / kPage * kPage;
  const uint64_t pages = (first + bytes - memory.base + kPage - 1) / kPage;
  auto buffer = system_->host(0).function().AllocateDma(pages * kPage, kPage);
  if (!buffer.ok()) return buffer.error();
  memory.buffer = std::move(buffer).value();
  std::vector<uint64_t> addresses;
  for (uint64_t page = 0; page < pages; ++page) addresses.push_back(memory.buffer->address() + page * kPage);
  const bool is_pmem = (access & spec::IbAccessFlags::kFlushPersistent) != 0;
  auto region = pd_->Register(first, bytes, access, 0, addresses, invalidatable, is_pmem);
  if (!region.ok()) return region.error();
  memory.region = *region;
  return memory;
}

void PeerNic::Feed(RoceFrame frame) {
  std::ranges::copy(system_->host(0).mac(), frame.ethernet.destination);
  Complete(frame);
  std::vector<uint8_t> bytes = Encode(frame);
  ++fed_;
  const uint64_t line_bits =
      8 * (std::max<uint64_t>(bytes.size(), kMinFrameBytes) + kPreambleBytes + kFcsBytes + kInterframeGapBytes);
  system_->topology().station(0).mac().OnFrame({std::move(bytes), false, ""});
  system_->topology().RunFor(line_bits * 1'000'000 / link_mbps_);
}

bool PeerNic::RunUntil(const std::function<bool()>& done, uint64_t ns) {
  return system_->topology().RunUntil(done, system_->scheduler().now() + ns * kPicosecondsPerNanosecond);
}
void PeerNic::RunUntilIdle() {
  static_cast<void>(system_->topology().RunUntilQuiet(system_->scheduler().now() + kSecond));
}

void PeerNic::OnEvent(const BoundaryEvent& event) {
  if (event.kind != EventKind::kTransmitEnd) return;
  ParsedFrame parsed = ParseRoceFrame(event.payload);
  if (parsed.kind != ParsedFrame::Kind::kRoce) {
    malformed_ += "the NIC sent a frame that is not RoCEv2: " + parsed.what + "\n";
    return;
  }
  if (!IsIcrcRight(parsed.frame)) malformed_ += "ICRC wrong: " + FrameText(parsed.frame) + "\n";
  if (!IsChecksumRight(parsed.frame)) malformed_ += "IPv4 checksum wrong: " + FrameText(parsed.frame) + "\n";
  const auto station = stations_.find(parsed.frame.source());
  if (station != stations_.end()) std::ranges::copy(station->second, parsed.frame.ethernet.source);
  sent_.push_back({std::move(parsed.frame), fed_});
}

std::string PeerNic::Violations() { return malformed_ + system_->Violations(); }

}  // namespace vireo::sim
