// SPDX-License-Identifier: Apache-2.0
#include "sim/pvrdma/gsi.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <utility>

namespace vireo::sim::pvrdma {
namespace {

using service::cm::kMadBytes;
using State = spec::IbQpState;

constexpr size_t kGrhBytes = spec::kRdmaUdGrhBytes;
constexpr size_t kMostWaiting = 64;      // received datagrams between two calls of Serve()
constexpr size_t kMostCompletions = 64;  // that wait in a completion queue

// vmw_pvrdma-abi.h, pvrdma_wc_status and pvrdma_wc_opcode
constexpr uint32_t kLocLenErr = 1, kLocQpOpErr = 2, kLocProtErr = 4, kWrFlushErr = 5;
constexpr uint32_t kWcSend = 0, kWcRecv = 128;

bool IsIpv4(const service::cm::Gid& gid) {
  constexpr std::array<uint8_t, 12> kPrefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return std::equal(kPrefix.begin(), kPrefix.end(), gid.begin());
}

// The first 40 bytes of a received datagram, by its path, which is the receiver's: an IPv6 header, or an IPv4 one in
// the last 20 [IBTA A17, 4.3.2]. Linux checks the checksum [ib_get_rdma_header_version].
std::array<uint8_t, kGrhBytes> HeaderOf(const service::cm::Path& path) {
  constexpr uint8_t kUdp = 17;
  constexpr size_t kUdpBytes = 8 + 12 + 8 + kMadBytes + 4;  // with BTH, DETH and ICRC
  std::array<uint8_t, kGrhBytes> header{};
  if (!IsIpv4(path.sgid)) {
    header[0] = static_cast<uint8_t>(0x60 | path.traffic_class >> 4);
    header[1] = static_cast<uint8_t>(path.traffic_class << 4 | (path.flow_label >> 16 & 0xf));
    header[2] = static_cast<uint8_t>(path.flow_label >> 8);
    header[3] = static_cast<uint8_t>(path.flow_label);
    header[4] = static_cast<uint8_t>(kUdpBytes >> 8);
    header[5] = static_cast<uint8_t>(kUdpBytes & 0xff);
    header[6] = kUdp;
    header[7] = path.hop_limit;
    std::ranges::copy(path.dgid, header.begin() + 8);
    std::ranges::copy(path.sgid, header.begin() + 24);
    return header;
  }
  uint8_t* const ip = header.data() + kGrhBytes - spec::Ipv4::kBytes;
  constexpr size_t kLength = spec::Ipv4::kBytes + kUdpBytes;
  ip[0] = 0x45;
  ip[1] = path.traffic_class;
  ip[2] = static_cast<uint8_t>(kLength >> 8);
  ip[3] = static_cast<uint8_t>(kLength & 0xff);
  ip[6] = 0x40;  // do not fragment
  ip[8] = path.hop_limit;
  ip[9] = kUdp;
  std::copy_n(path.dgid.begin() + 12, 4, ip + 12);
  std::copy_n(path.sgid.begin() + 12, 4, ip + 16);
  uint32_t sum = 0;
  for (size_t i = 0; i < spec::Ipv4::kBytes; i += 2) sum += uint32_t{ip[i]} << 8 | ip[i + 1];
  sum = (sum & 0xffff) + (sum >> 16);
  sum = ~(sum + (sum >> 16));
  ip[10] = static_cast<uint8_t>(sum >> 8);
  ip[11] = static_cast<uint8_t>(sum);
  return header;
}

bool MayFollow(State from, State to) {
  switch (to) {
    case State::kReset:
    case State::kErr: return true;
    case State::kInit: return from == State::kReset || from == State::kInit;
    case State::kRtr: return from == State::kInit;
    case State::kRts: return from == State::kRtr || from == State::kRts;
    default: return false;
  }
}

}  // namespace

int GuestGsi::Modify(const ModifyQp& request) {
  GsiQp& qp = *objects_.gsi;
  constexpr uint32_t kKnown = kMaskState | kMaskCurState | kMaskPkeyIndex | kMaskPort | kMaskQkey | kMaskSqPsn;
  const QpAttributes& to = request.attributes;
  if ((request.mask & ~kKnown) != 0) return EINVAL;
  if ((request.mask & kMaskPkeyIndex) != 0 && to.pkey_index != 0) return EINVAL;
  if ((request.mask & kMaskPort) != 0 && to.port != kPort) return EINVAL;
  // IBTA vol. 1, 10.2.5: the Q_Key of QP 1 is fixed.
  if ((request.mask & kMaskQkey) != 0 && to.qkey != spec::kGsiQkey) return EINVAL;
  if ((request.mask & kMaskState) == 0) return 0;
  if (to.qp_state > static_cast<uint32_t>(State::kErr)) return EINVAL;
  const auto state = static_cast<State>(to.qp_state);
  if (!MayFollow(qp.state, state)) return EINVAL;
  qp.state = state;
  if (state == State::kReset) {
    qp.send.ring.Restart();
    qp.recv.ring.Restart();
    qp.received.clear();
    qp.is_reported = false;
    for (const uint32_t cq : {qp.send_cq, qp.recv_cq}) objects_.cqs.at(cq).own.clear();
  }
  return 0;
}

QpAttributes GuestGsi::Query() const {
  const GsiQp& qp = *objects_.gsi;
  QpAttributes to;
  to.qp_state = to.cur_qp_state = static_cast<uint32_t>(qp.state);
  to.qkey = spec::kGsiQkey;
  to.port = kPort;
  to.cap = {.max_send_wr = qp.send.ring.entries(),
            .max_recv_wr = qp.recv.ring.entries(),
            .max_send_sge = qp.send.max_sge,
            .max_recv_sge = qp.recv.max_sge};
  return to;
}

void GuestGsi::OnMad(const service::cm::Path& path, service::cm::MadView mad) {
  if (!objects_.gsi.has_value()) return;
  GsiQp& qp = *objects_.gsi;
  if ((qp.state != State::kRtr && qp.state != State::kRts) || qp.received.size() >= kMostWaiting) return;
  std::vector<uint8_t>& datagram = qp.received.emplace_back();
  std::ranges::copy(HeaderOf(path), std::back_inserter(datagram));
  std::ranges::copy(mad, std::back_inserter(datagram));
}

bool GuestGsi::HasRoom(uint32_t cq) const { return objects_.cqs.at(cq).own.size() < kMostCompletions; }

void GuestGsi::Complete(uint32_t cq, const Cqe& cqe) { objects_.cqs.at(cq).own.push_back(cqe); }

void GuestGsi::Serve() {
  if (!objects_.gsi.has_value()) return;
  GsiQp& qp = *objects_.gsi;
  if (qp.state == State::kErr) {
    Flush(qp.send, true);
    Flush(qp.recv, false);
  }
  while (qp.state == State::kRts && HasRoom(qp.send_cq) && qp.send.ring.Available().value_or(0) != 0) {
    const uint8_t* const at = qp.pages.At(qp.send.next());
    const auto wqe = Load<SendWqe>(at);
    const uint32_t status = Send(wqe, at + sizeof wqe);
    if (status != 0 || qp.signal_all || (wqe.flags & kSendSignaled) != 0) {
      Complete(qp.send_cq, {.wr_id = wqe.wr_id, .qp = kGsiHandle, .opcode = kWcSend, .status = status, .port = kPort});
    }
    qp.send.ring.Advance();
  }
  for (; !qp.received.empty() && HasRoom(qp.recv_cq); qp.received.pop_front()) {
    // Without a receive request a datagram is lost.
    if (qp.recv.ring.Available().value_or(0) == 0) continue;
    const uint8_t* const at = qp.pages.At(qp.recv.next());
    const auto wqe = Load<RecvWqe>(at);
    const uint32_t status = Place(wqe, at + sizeof wqe, qp.received.front());
    Complete(qp.recv_cq, {.wr_id = wqe.wr_id,
                          .qp = kGsiHandle,
                          .opcode = kWcRecv,
                          .status = status,
                          .byte_len = static_cast<uint32_t>(qp.received.front().size()),
                          .src_qp = spec::kGsiQpn,
                          .wc_flags = kWcGrh,
                          .port = kPort});
    qp.recv.ring.Advance();
  }
}

void GuestGsi::Flush(WorkRing& ring, bool is_send) {
  GsiQp& qp = *objects_.gsi;
  const uint32_t cq = is_send ? qp.send_cq : qp.recv_cq;
  while (HasRoom(cq) && ring.ring.Available().value_or(0) != 0) {
    Complete(cq, {.wr_id = Load<uint64_t>(qp.pages.At(ring.next())),
                  .qp = kGsiHandle,
                  .opcode = is_send ? kWcSend : kWcRecv,
                  .status = kWrFlushErr,
                  .port = kPort});
    ring.ring.Advance();
  }
}

std::optional<std::vector<GuestMemory::Place>> GuestGsi::Places(const uint8_t* elements, uint32_t count,
                                                                std::vector<uint32_t>& lengths) const {
  std::vector<GuestMemory::Place> places;
  for (uint32_t i = 0; i < count; ++i) {
    const auto sge = Load<Sge>(elements + i * sizeof(Sge));
    if (sge.length == 0) continue;
    const auto region = objects_.dma_regions.find(sge.lkey);
    if (region == objects_.dma_regions.end() || region->second != objects_.gsi->pd) return std::nullopt;
    auto place = memory_.Find(sge.addr, sge.length);
    if (!place.has_value()) return std::nullopt;
    places.push_back(std::move(*place));
    lengths.push_back(sge.length);
  }
  return places;
}

uint32_t GuestGsi::Send(const SendWqe& wqe, const uint8_t* elements) {
  if (wqe.opcode != WrOpcode::kSend || (wqe.flags & kSendInline) != 0 || wqe.num_sge > objects_.gsi->send.max_sge) {
    return kLocQpOpErr;
  }
  const auto part = Load<DatagramPart>(wqe.part);
  const auto gid = objects_.gids.find(part.av.gid_index);
  if (part.remote_qpn != spec::kGsiQpn || gid == objects_.gids.end()) return kLocQpOpErr;
  std::vector<uint32_t> lengths;
  const auto places = Places(elements, wqe.num_sge, lengths);
  if (!places.has_value()) return kLocProtErr;
  service::cm::Mad mad{};
  size_t at = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] > mad.size() - at) return kLocLenErr;
    std::copy_n((*places)[i].data, lengths[i], mad.begin() + static_cast<ptrdiff_t>(at));
    at += lengths[i];
  }
  if (at != mad.size()) return kLocLenErr;
  service::cm::Path path;
  path.sgid_index = static_cast<uint8_t>(gid->second);
  path.sgid = *nic_.GidAt(gid->second);
  std::ranges::copy(part.av.dgid, path.dgid.begin());
  path.flow_label = part.av.sl_tclass_flowlabel & 0xf'ffff;
  path.traffic_class = static_cast<uint8_t>(part.av.sl_tclass_flowlabel >> 20);
  path.hop_limit = part.av.hop_limit;
  nic_.options().gsi->SendMad(path, mad);
  return 0;
}

uint32_t GuestGsi::Place(const RecvWqe& wqe, const uint8_t* elements, const Bytes& datagram) {
  if (wqe.num_sge > objects_.gsi->recv.max_sge) return kLocProtErr;
  std::vector<uint32_t> lengths;
  const auto places = Places(elements, wqe.num_sge, lengths);
  if (!places.has_value()) return kLocProtErr;
  size_t at = 0;
  for (size_t i = 0; i < lengths.size() && at < datagram.size(); ++i) {
    const size_t count = std::min<size_t>(lengths[i], datagram.size() - at);
    std::copy_n(datagram.begin() + static_cast<ptrdiff_t>(at), count, (*places)[i].data);
    at += count;
  }
  return at == datagram.size() ? 0 : kLocLenErr;
}

}  // namespace vireo::sim::pvrdma
