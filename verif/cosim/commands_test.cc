// SPDX-License-Identifier: Apache-2.0
// Control commands with one invalid field each, from the real driver to whole NICs: each is refused with its code,
// without an effect on the device's traffic. The rows are the firmware's own (verif/firmware/field_rows.h), whose test
// fails for a field without a row; requests that the driver cannot send (too short) are tested only there.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "verif/cosim/pair_test.h"
#include "verif/firmware/field_rows.h"

namespace vireo::sim {
namespace {

using spec::IbQpState;
using spec::IbWcStatus;
using spec::IbWrOpcode;
using spec::RdmaCtrlCmd;
using spec::RdmaError;
using verif::BytesOf;
using verif::FieldHandles;
using verif::FieldRow;
using verif::kFieldRows;
using Mask = spec::IbQpAttrMask;

class Commands : public PairTest {
 protected:
  host::RoceCommands& roce() { return system_->host(0).device().net().roce(); }

  static std::vector<uint64_t> PagesBehind(size_t at, size_t most, const std::vector<uint8_t>& request) {
    std::vector<uint64_t> pages;
    while (at < request.size() && pages.size() < most) {
      uint64_t page = 0;
      for (unsigned i = 0; i < sizeof page; ++i) page |= uint64_t{request[at++]} << 8 * i;
      pages.push_back(page);
    }
    return pages;
  }
  // The request as the driver sends it.
  host::Status Send(RdmaCtrlCmd command, const std::vector<uint8_t>& request) {
    const uint8_t* bytes = request.data();
    const auto status = [](const auto& result) { return result.ok() ? host::Status() : host::Status(result.error()); };
    switch (command) {
      case RdmaCtrlCmd::kCreateCq: return status(roce().CreateCq(spec::RdmaCmdCreateCq::Decode(bytes).cqe));
      case RdmaCtrlCmd::kCreateExtendedCq: {
        const auto decoded = spec::RdmaCmdCreateExtendedCq::Decode(bytes);
        return status(roce().CreateExtendedCq(decoded.cqe, decoded.elements));
      }
      case RdmaCtrlCmd::kDestroyCq: return roce().DestroyCq(spec::RdmaCmdDestroyCq::Decode(bytes).cqn);
      case RdmaCtrlCmd::kDestroyPd: return roce().DestroyPd(spec::RdmaCmdDestroyPd::Decode(bytes).pdn);
      case RdmaCtrlCmd::kGetDmaMr: {
        const auto decoded = spec::RdmaCmdGetDmaMr::Decode(bytes);
        return status(roce().GetDmaMr(decoded.pdn, decoded.access_flags));
      }
      case RdmaCtrlCmd::kRegUserMr: {
        const auto decoded = spec::RdmaCmdRegUserMr::Decode(bytes);
        return status(roce().RegUserMr(decoded, PagesBehind(spec::RdmaCmdRegUserMr::kBytes, decoded.npages, request)));
      }
      case RdmaCtrlCmd::kReregMr: {
        const auto decoded = spec::RdmaCmdReregMr::Decode(bytes);
        return status(roce().ReregMr(decoded, PagesBehind(spec::RdmaCmdReregMr::kBytes, decoded.npages, request)));
      }
      case RdmaCtrlCmd::kDeregMr: return roce().DeregMr(spec::RdmaCmdDeregMr::Decode(bytes).mrn);
      case RdmaCtrlCmd::kAllocMw: {
        const auto decoded = spec::RdmaCmdAllocMw::Decode(bytes);
        return status(roce().AllocMw(decoded.pdn, decoded.mw_type));
      }
      case RdmaCtrlCmd::kAllocMr: {
        const auto decoded = spec::RdmaCmdAllocMr::Decode(bytes);
        return status(roce().AllocMr(decoded.pdn, decoded.max_pages));
      }
      case RdmaCtrlCmd::kQueryMr: return status(roce().QueryMr(spec::RdmaCmdQueryMr::Decode(bytes).mrn));
      case RdmaCtrlCmd::kDeallocMw: return roce().DeallocMw(spec::RdmaCmdDeallocMw::Decode(bytes).mwn);
      case RdmaCtrlCmd::kCreateQp: return status(roce().CreateQp(spec::RdmaCmdCreateQp::Decode(bytes)));
      case RdmaCtrlCmd::kModifyQp: return roce().ModifyQp(spec::RdmaCmdModifyQp::Decode(bytes));
      case RdmaCtrlCmd::kQueryQp: return status(roce().QueryQp(spec::RdmaCmdQueryQp::Decode(bytes).qpn, 0));
      case RdmaCtrlCmd::kDestroyQp: return roce().DestroyQp(spec::RdmaCmdDestroyQp::Decode(bytes).qpn);
      case RdmaCtrlCmd::kCreateAh: {
        const auto decoded = spec::RdmaCmdCreateAh::Decode(bytes);
        return status(roce().CreateAh(decoded.pdn, decoded.ah_attr));
      }
      case RdmaCtrlCmd::kDestroyAh: {
        const auto decoded = spec::RdmaCmdDestroyAh::Decode(bytes);
        return roce().DestroyAh(decoded.pdn, decoded.ah);
      }
      case RdmaCtrlCmd::kAddGid: return roce().AddGid(spec::RdmaCmdAddGid::Decode(bytes));
      case RdmaCtrlCmd::kDelGid: return roce().DelGid(spec::RdmaCmdDelGid::Decode(bytes).index);
      case RdmaCtrlCmd::kReqNotifyCq: {
        const auto decoded = spec::RdmaCmdReqNotify::Decode(bytes);
        return roce().ReqNotifyCq(decoded.cqn, decoded.flags);
      }
      case RdmaCtrlCmd::kSetWindow: return roce().SetWindow(spec::RdmaCmdSetWindow::Decode(bytes));
      case RdmaCtrlCmd::kCreateSrq: return status(roce().CreateSrq(spec::RdmaCmdCreateSrq::Decode(bytes)));
      case RdmaCtrlCmd::kModifySrq: return roce().ModifySrq(spec::RdmaCmdModifySrq::Decode(bytes));
      case RdmaCtrlCmd::kQuerySrq: return status(roce().QuerySrq(spec::RdmaCmdQuerySrq::Decode(bytes).srqn));
      case RdmaCtrlCmd::kDestroySrq: return roce().DestroySrq(spec::RdmaCmdDestroySrq::Decode(bytes).srqn);
      case RdmaCtrlCmd::kAttachMcast: {
        const auto request = spec::RdmaCmdAttachMcast::Decode(bytes);
        return roce().AttachMcast(request.qpn, request.mgid);
      }
      case RdmaCtrlCmd::kDetachMcast: {
        const auto request = spec::RdmaCmdDetachMcast::Decode(bytes);
        return roce().DetachMcast(request.qpn, request.mgid);
      }
      default: ADD_FAILURE() << spec::ToString(command); return {};
    }
  }
  // Creates an RC QP of host 0 in this state; `handles` gets its number.
  std::shared_ptr<verbs::QueuePair> MakeQp(IbQpState state, FieldHandles& handles) {
    auto made = near().pd->CreateQp({.send_cq = near().cq, .recv_cq = near().cq, .max_send_wr = 2, .max_recv_wr = 2});
    EXPECT_TRUE(made.ok());
    if (!made.ok()) return nullptr;
    handles.rc = (*made)->qpn();
    spec::RdmaCmdModifyQp to_init = {.qpn = handles.rc, .attr_mask = Mask::kState | Mask::kAccessFlags};
    to_init.qp_state = IbQpState::kInit;
    to_init.qp_access_flags = spec::IbAccessFlags::kRemoteWrite;
    EXPECT_TRUE(roce().ModifyQp(to_init).ok());
    auto& to_rtr = handles.to_rtr = {.qpn = handles.rc};
    to_rtr.attr_mask = Mask::kState | Mask::kAv | Mask::kPathMtu | Mask::kDestQpn | Mask::kRqPsn |
                       Mask::kMaxDestRdAtomic | Mask::kMinRnrTimer;
    to_rtr.qp_state = IbQpState::kRtr;
    to_rtr.path_mtu = spec::IbMtu::kMtu1024;
    to_rtr.dest_qp_num = far().qp->qpn();
    to_rtr.max_dest_rd_atomic = 1;
    to_rtr.ah_attr = system_->host(0).PathTo(system_->host(1));
    auto& to_rts = handles.to_rts = {.qpn = handles.rc};
    to_rts.attr_mask =
        Mask::kState | Mask::kSqPsn | Mask::kTimeout | Mask::kRetryCnt | Mask::kRnrRetry | Mask::kMaxQpRdAtomic;
    to_rts.qp_state = IbQpState::kRts;
    to_rts.max_rd_atomic = 1;
    if (state == IbQpState::kRtr) {
      EXPECT_TRUE(roce().ModifyQp(to_rtr).ok());
    }
    return *made;
  }
  static std::vector<uint8_t> StateOf(verbs::QueuePair& qp) {
    const auto attributes = qp.Query();
    EXPECT_TRUE(attributes.ok());
    return attributes.ok() ? BytesOf(*attributes) : std::vector<uint8_t>();
  }
};

TEST_P(Commands, InvalidFieldIsRefusedWithItsCodeAndNoSideEffect) {
  // The monitor counts a QP's messages anew whenever its context is written, here with messages outstanding.
  Build({.is_monitored = false});
  ASSERT_FALSE(HasFatalFailure());
  Connect();
  ASSERT_FALSE(HasFatalFailure());
  ASSERT_EQ(near().pd->pdn(), 0U);  // as in the rows
  ASSERT_EQ(near().cq->cqn(), 0U);
  auto second_pd = system_->host(0).device().CreatePd();
  auto free_pd = system_->host(0).device().CreatePd();
  auto free_cq = system_->host(0).device().CreateCq(2, std::nullopt);
  ASSERT_TRUE(second_pd.ok() && free_pd.ok() && free_cq.ok());
  auto gsi = near().pd->CreateQp({.type = spec::IbQpType::kGsi, .send_cq = near().cq, .recv_cq = near().cq});
  ASSERT_TRUE(gsi.ok());
  auto srq = (*second_pd)->CreateSrq({.max_wr = 16});
  ASSERT_TRUE(srq.ok());
  FieldHandles handles = {.free_pd = (*free_pd)->pdn(), .free_cq = (*free_cq)->cqn(), .srq = (*srq)->srqn()};
  const auto ah = roce().CreateAh(near().pd->pdn(), system_->host(0).PathTo(system_->host(1)));
  const auto region = roce().GetDmaMr((*second_pd)->pdn(), 0);
  const auto window = roce().AllocMw((*second_pd)->pdn(), spec::RdmaMwType::kType1);
  ASSERT_TRUE(ah.ok() && region.ok() && window.ok());
  handles.ah = *ah;
  handles.mrn = region->mrn;
  handles.mwn = window->mwn;
  auto ud = near().pd->CreateQp({.type = spec::IbQpType::kUd, .send_cq = near().cq, .recv_cq = near().cq});
  ASSERT_TRUE(ud.ok());
  handles.ud = (*ud)->qpn();
  const auto group = verif::FieldGroup<spec::RdmaCmdAttachMcast>(handles.ud, 1);
  ASSERT_TRUE((*ud)->Attach(std::to_array(group.mgid)).ok());
  FieldHandles advanced = handles;  // whose QP is in RTR
  const auto in_init = MakeQp(IbQpState::kInit, handles), in_rtr = MakeQp(IbQpState::kRtr, advanced);
  ASSERT_FALSE(HasFailure());
  const auto before = {StateOf(*in_init), StateOf(*in_rtr)};

  auto expected = Memory();
  size_t refused = 0;
  for (const FieldRow& row : kFieldRows) {
    if (row.expected == RdmaError::kOk) continue;
    // A page list shorter than its own count; the driver computes the count itself.
    if (row.expected == RdmaError::kRequestTooShort) continue;
    SCOPED_TRACE(std::string(spec::ToString(row.command)) + "." + row.field + " = " + std::to_string(row.value));
    const bool is_advanced = row.command == RdmaCtrlCmd::kModifyQp && row.state() == IbQpState::kRtr;
    const host::Status status = Send(row.command, FieldRequest(is_advanced ? advanced : handles, row, row.field));
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, host::ErrorCode::kRefused) << host::ToString(status.error());
    EXPECT_EQ(status.error().rdma, row.expected) << host::ToString(status.error());
    ++refused;
    // Traffic in between.
    if (refused % 16 != 0) continue;
    const Elements source = {near().region->Sge(refused, 500)};
    Scatter(far(), {far().region->Sge(8192, 500)}, Gather(near(), source), expected[1]);
    PostSend(Remote(IbWrOpcode::kRdmaWrite, refused, source, 8192));
    ExpectNext(0, refused, IbWcStatus::kSuccess);
  }
  EXPECT_GT(refused, 60U);
  const auto after = {StateOf(*in_init), StateOf(*in_rtr)};
  EXPECT_TRUE(std::ranges::equal(before, after));
  // The valid requests succeed: the invalid field caused the refusal.
  EXPECT_TRUE(roce().ModifyQp(handles.to_rtr).ok());
  EXPECT_TRUE(roce().ModifyQp(advanced.to_rts).ok());
  EXPECT_TRUE(roce().DestroyAh(near().pd->pdn(), *ah).ok());
  EXPECT_TRUE(roce().DeregMr(region->mrn).ok());
  Settle();
  ExpectMemory(expected);
}

INSTANTIATE_TEST_SUITE_P(Devices, Commands,
                         testing::Combine(testing::Values("model", "lockstep"), testing::Values(&spec::kNic1),
                                          testing::Values(false)),
                         NameOfWithRing);

}  // namespace
}  // namespace vireo::sim
