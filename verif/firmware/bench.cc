// SPDX-License-Identifier: Apache-2.0
#include "verif/firmware/bench.h"

#include <algorithm>

namespace vireo::verif {

using Mask = spec::IbQpAttrMask;

std::vector<uint8_t> PageList(uint64_t first, uint64_t count, uint8_t shift) {
  std::vector<uint8_t> bytes;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t page = first + (i << shift);
    for (int byte = 0; byte < 8; ++byte) bytes.push_back(static_cast<uint8_t>(page >> (8 * byte)));
  }
  return bytes;
}

void SetGid(uint8_t* gid, uint8_t last, bool ipv4) {
  std::fill(gid, gid + 16, 0);
  if (ipv4) {
    gid[10] = gid[11] = 0xff;
    gid[12] = 10;
  } else {
    gid[0] = 0xfd;
  }
  gid[15] = last;
}

Bench::Bench(const BenchOptions& given) : options(given), device(*given.config, given.profile) {
  control = std::make_unique<firmware::Firmware>(device.MakeCsr(), firmware::Options{.max_polls = given.max_polls});
  EXPECT_TRUE(control->Start());
  if (options.brings_up) BringUp();
}

void Bench::BringUp() {
  std::set<uint32_t> features = options.features;
  features.insert(Bit(spec::VirtioFeature::kVersion1));
  features.insert(Bit(spec::NetFeature::kCtrlVq));
  if (options.has_ring_reset) features.insert(Bit(spec::VirtioFeature::kRingReset));
  if (options.has_roce) features.insert(constants().net_f_roce);
  device.SetFeatures(features);
  device.SetDriverOk();
  Settle();
}

void Bench::Settle() {
  for (int i = 0; i < 10'000; ++i) {
    if (!control->Poll()) return;
  }
  ADD_FAILURE() << "the firmware does not become idle";
}

void Bench::Restart() {
  device.ResetDevice();
  Settle();
  EXPECT_FALSE(device.IsResetPending());
  BringUp();
}

Answer Bench::Send(uint8_t ctrl_class, uint8_t command, const std::vector<uint8_t>& request, uint32_t writable,
                   uint64_t fails_from) {
  std::vector<uint8_t> readable{ctrl_class, command};
  readable.insert(readable.end(), request.begin(), request.end());
  const size_t before = device.answers.size();
  device.Post({.readable = readable, .writable = writable, .fails_from = fails_from});
  Settle();
  if (device.answers.size() != before + 1) {
    EXPECT_TRUE(control->fatal()) << "a command was not answered";
    return {};
  }
  return {device.answers.back()};
}

uint32_t Bench::CreatePd() { return Roce(RdmaCtrlCmd::kCreatePd).As<spec::RdmaAckCreatePd>().pdn; }

uint32_t Bench::CreateCq(uint32_t cqe) {
  return Roce(RdmaCtrlCmd::kCreateCq, BytesOf(spec::RdmaCmdCreateCq{.cqe = cqe})).As<spec::RdmaAckCreateCq>().cqn;
}

spec::RdmaAckGetDmaMr Bench::GetDmaMr(uint32_t pdn, uint32_t access) {
  return Roce(RdmaCtrlCmd::kGetDmaMr, BytesOf(spec::RdmaCmdGetDmaMr{.pdn = pdn, .access_flags = access}))
      .As<spec::RdmaAckGetDmaMr>();
}

spec::RdmaAckAllocMw Bench::AllocMw(const spec::RdmaCmdAllocMw& request) {
  return Roce(RdmaCtrlCmd::kAllocMw, BytesOf(request)).As<spec::RdmaAckAllocMw>();
}

spec::RdmaAckAllocMr Bench::AllocMr(const spec::RdmaCmdAllocMr& request) {
  return Roce(RdmaCtrlCmd::kAllocMr, BytesOf(request)).As<spec::RdmaAckAllocMr>();
}

spec::RdmaAckRegUserMr Bench::RegUserMr(const spec::RdmaCmdRegUserMr& request, const std::vector<uint8_t>& pages) {
  auto bytes = BytesOf(request);
  bytes.insert(bytes.end(), pages.begin(), pages.end());
  return Roce(RdmaCtrlCmd::kRegUserMr, bytes).As<spec::RdmaAckRegUserMr>();
}

uint32_t Bench::CreateQp(const spec::RdmaCmdCreateQp& request) {
  return Roce(RdmaCtrlCmd::kCreateQp, BytesOf(request)).As<spec::RdmaAckCreateQp>().qpn;
}

uint32_t Bench::CreateQp(IbQpType type) {
  const uint32_t cqn = CreateCq();
  return CreateQp(
      {.pdn = CreatePd(),
       .qp_type = type,
       .send_cqn = cqn,
       .recv_cqn = cqn,
       .cap = {.max_send_wr = 8, .max_recv_wr = 16, .max_send_sge = 2, .max_recv_sge = 3, .max_inline_data = 64}});
}

uint32_t Bench::CreateSrq(const spec::RdmaCmdCreateSrq& request) {
  return Roce(RdmaCtrlCmd::kCreateSrq, BytesOf(request)).As<spec::RdmaAckCreateSrq>().srqn;
}

uint32_t Bench::CreateAh(uint32_t pdn) {
  spec::RdmaCmdCreateAh request{.pdn = pdn};
  SetGid(request.ah_attr.grh.dgid, 99);
  return Roce(RdmaCtrlCmd::kCreateAh, BytesOf(request)).As<spec::RdmaAckCreateAh>().ah;
}

void Bench::AddGid(uint16_t index, uint8_t last_byte, bool ipv4) {
  spec::RdmaCmdAddGid request{.index = index};
  SetGid(request.gid, last_byte, ipv4);
  EXPECT_EQ(Roce(RdmaCtrlCmd::kAddGid, BytesOf(request)).error(), RdmaError::kOk);
}

void Bench::EnableQueues(uint32_t qpn) {
  const auto context = device.Qp(qpn);
  for (uint32_t index : {SendQueue(qpn), ReceiveQueue(qpn), CqQueue(context.send_cqn), CqQueue(context.recv_cqn)}) {
    if (!Queue(index).enabled) device.EnableQueue(index);
  }
}

spec::RdmaCmdModifyQp Bench::ToState(uint32_t qpn, IbQpState state) const {
  return {.qpn = qpn, .attr_mask = Mask::kState, .qp_state = state};
}

spec::RdmaCmdModifyQp Bench::ToInit(uint32_t qpn) const {
  auto request = ToState(qpn, IbQpState::kInit);
  const auto type = device.Qp(qpn).qp_type;
  if (type == IbQpType::kUd || type == IbQpType::kGsi) {
    request.attr_mask |= Mask::kQkey;
    request.qkey = 0x11111111;
  } else {
    request.attr_mask |= Mask::kAccessFlags;
    request.qp_access_flags = spec::IbAccessFlags::kRemoteWrite | spec::IbAccessFlags::kRemoteRead;
  }
  return request;
}

spec::RdmaCmdModifyQp Bench::ToRtr(uint32_t qpn) const {
  auto request = ToState(qpn, IbQpState::kRtr);
  const auto type = device.Qp(qpn).qp_type;
  if (type == IbQpType::kUd || type == IbQpType::kGsi) return request;
  request.attr_mask |= Mask::kAv | Mask::kPathMtu | Mask::kDestQpn | Mask::kRqPsn;
  request.path_mtu = spec::IbMtu::kMtu1024;
  request.dest_qp_num = 0x123456;
  request.rq_psn = 0xabcdef;
  request.ah_attr.grh.flow_label = 0xfedcb;
  request.ah_attr.grh.hop_limit = 64;
  request.ah_attr.grh.traffic_class = 0x92;
  SetGid(request.ah_attr.grh.dgid, 77);
  for (uint8_t i = 0; i < 6; ++i) request.ah_attr.dmac[i] = static_cast<uint8_t>(0x60 + i);
  if (type == IbQpType::kRc) {
    request.attr_mask |= Mask::kMaxDestRdAtomic | Mask::kMinRnrTimer;
    request.max_dest_rd_atomic = 4;
    request.min_rnr_timer = 12;
  }
  return request;
}

spec::RdmaCmdModifyQp Bench::ToRts(uint32_t qpn) const {
  auto request = ToState(qpn, IbQpState::kRts);
  request.attr_mask |= Mask::kSqPsn;
  request.sq_psn = 0x654321;
  if (device.Qp(qpn).qp_type == IbQpType::kRc) {
    request.attr_mask |= Mask::kTimeout | Mask::kRetryCnt | Mask::kRnrRetry | Mask::kMaxQpRdAtomic;
    request.timeout = 14;
    request.retry_cnt = 5;
    request.rnr_retry = 6;
    request.max_rd_atomic = 3;
  }
  return request;
}

void Bench::Bring(uint32_t qpn, IbQpState state) {
  EnableQueues(qpn);
  if (state == IbQpState::kReset) return;
  if (state == IbQpState::kErr) {
    EXPECT_EQ(Modify(ToState(qpn, state)), RdmaError::kOk);
    return;
  }
  EXPECT_EQ(Modify(ToInit(qpn)), RdmaError::kOk);
  if (state == IbQpState::kInit) return;
  EXPECT_EQ(Modify(ToRtr(qpn)), RdmaError::kOk);
  if (state == IbQpState::kRtr) return;
  EXPECT_EQ(Modify(ToRts(qpn)), RdmaError::kOk);
  if (state == IbQpState::kSqd) {
    EXPECT_EQ(Modify(ToState(qpn, state)), RdmaError::kOk);
  }
  if (state == IbQpState::kSqe) device.SetEngineState(qpn, state);
  Settle();
}

spec::RdmaAckQueryQp Bench::QueryQp(uint32_t qpn) {
  return Roce(RdmaCtrlCmd::kQueryQp, BytesOf(spec::RdmaCmdQueryQp{.qpn = qpn})).As<spec::RdmaAckQueryQp>();
}

uint32_t Bench::pairs() const {
  const bool many =
      options.features.contains(Bit(spec::NetFeature::kMq)) || options.features.contains(Bit(spec::NetFeature::kRss));
  return many ? options.config->net_queue_pairs : 1;
}

}  // namespace vireo::verif
