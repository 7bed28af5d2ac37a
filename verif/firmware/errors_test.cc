// SPDX-License-Identifier: Apache-2.0
// Every code of errors.toml that a command can return, each reached by the test of its name, without side effects.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "verif/firmware/bench.h"

namespace vireo::verif {
namespace {

using Mask = spec::IbQpAttrMask;

class ErrorCodes : public FirmwareTest {
 protected:
  // Expects the command to be refused with this code, or with `err` in profile rfc-v2, without side effects.
  void Refused(RdmaError expected, RdmaCtrlCmd command, const std::vector<uint8_t>& request, uint32_t writable = 256,
               uint64_t fails_from = ~uint64_t{0}) {
    const auto before = device().Snapshot();
    const auto events = device().events.size();
    const Answer answer =
        bench().Send(bench().roce_class(), static_cast<uint8_t>(command), request, writable, fails_from);
    const bool has_codes = bench().options.profile == spec::Profile::kVireo;
    EXPECT_EQ(answer.bytes, std::vector<uint8_t>{static_cast<uint8_t>(has_codes ? expected : RdmaError::kErr)})
        << spec::ToString(command) << " gave " << spec::ToString(answer.error()) << ", not "
        << spec::ToString(expected);
    EXPECT_EQ(device().Snapshot(), before);
    EXPECT_EQ(device().events.size(), events);
  }
  template <typename T>
  void Refused(RdmaError expected, RdmaCtrlCmd command, const T& request) {
    Refused(expected, command, BytesOf(request));
  }
  template <typename T>
  void Accepted(RdmaCtrlCmd command, const T& request) {
    EXPECT_TRUE(bench().Roce(command, BytesOf(request)).ok()) << spec::ToString(command);
  }
  // Every test runs once for each profile.
  void ForBothProfiles(void (*body)(ErrorCodes&)) {
    for (const auto profile : {spec::Profile::kVireo, spec::Profile::kRfcV2}) {
      SCOPED_TRACE(profile == spec::Profile::kVireo ? "vireo" : "rfc-v2");
      Use({.profile = profile});
      body(*this);
    }
  }
  bool is_vireo() { return bench().options.profile == spec::Profile::kVireo; }

  spec::RdmaCmdCreateQp GoodQp() {
    const uint32_t cqn = bench().CreateCq();
    return {.pdn = bench().CreatePd(), .qp_type = IbQpType::kRc, .send_cqn = cqn, .recv_cqn = cqn};
  }
  spec::RdmaCmdCreateAh GoodAh() {
    if (!device().tables().contains({MgmtTable::kGid, 0})) bench().AddGid(0, 1);
    spec::RdmaCmdCreateAh request{.pdn = bench().CreatePd()};
    SetGid(request.ah_attr.grh.dgid, 5);
    return request;
  }
  static std::vector<uint8_t> WithPages(const spec::RdmaCmdRegUserMr& request, const std::vector<uint8_t>& pages) {
    auto bytes = BytesOf(request);
    bytes.insert(bytes.end(), pages.begin(), pages.end());
    return bytes;
  }
};

#define VIREO_ERROR_TEST(name)                                                                \
  class ErrorCodesOf##name : public ErrorCodes {                                              \
   public:                                                                                    \
    void Body();                                                                              \
  };                                                                                          \
  TEST_F(ErrorCodesOf##name, Reached) {                                                       \
    ForBothProfiles([](ErrorCodes& self) { static_cast<ErrorCodesOf##name&>(self).Body(); }); \
  }                                                                                           \
  void ErrorCodesOf##name::Body()

// --- Any command -----------------------------------------------------------------------------------------------------

VIREO_ERROR_TEST(UnsupportedCommand) {
  for (unsigned command = bench().constants().rdma_last_command + 1u; command < 256; ++command) {
    Refused(RdmaError::kUnsupportedCommand, RdmaCtrlCmd{static_cast<uint8_t>(command)}, std::vector<uint8_t>(256));
  }
}

VIREO_ERROR_TEST(FeatureNotNegotiated) {
  Use({.profile = bench().options.profile, .has_roce = false});
  for (unsigned command = 0; command <= bench().constants().rdma_last_command; ++command) {
    Refused(RdmaError::kFeatureNotNegotiated, RdmaCtrlCmd{static_cast<uint8_t>(command)}, std::vector<uint8_t>(256));
    Refused(RdmaError::kFeatureNotNegotiated, RdmaCtrlCmd{static_cast<uint8_t>(command)}, {}, 1);
  }
}

VIREO_ERROR_TEST(RequestTooShort) {
  for (const auto& info : spec::kNetCtrlRoceCommands) {
    if (info.command > bench().constants().rdma_last_command) continue;
    for (uint32_t bytes = 0; bytes < info.request_bytes; ++bytes) {
      Refused(RdmaError::kRequestTooShort, RdmaCtrlCmd{info.command}, std::vector<uint8_t>(bytes), 1);
    }
  }
  // The page list (omitted by the RFC's kernel driver).
  const spec::RdmaCmdRegUserMr request{.pdn = bench().CreatePd(), .length = 3 * kPageBytes, .npages = 3};
  for (size_t bytes = 0; bytes < 24; ++bytes) {
    auto pages = PageList(0x1000, 3);
    pages.resize(bytes);
    Refused(RdmaError::kRequestTooShort, RdmaCtrlCmd::kRegUserMr, WithPages(request, pages));
  }
  auto endless = request;
  for (uint32_t npages : {101u, 0x20000000u, 0x20000001u, 0x80000000u, 0xffffffffu}) {
    endless.npages = npages;
    Refused(RdmaError::kRequestTooShort, RdmaCtrlCmd::kRegUserMr, WithPages(endless, PageList(0x1000, 100)));
  }
}

VIREO_ERROR_TEST(ResponseTooShort) {
  for (const auto& info : spec::kNetCtrlRoceCommands) {
    if (info.command > bench().constants().rdma_last_command) continue;
    const std::vector<uint8_t> request(info.request_bytes);
    for (uint32_t writable = 1; writable < 1u + info.response_bytes; ++writable) {
      Refused(RdmaError::kResponseTooShort, RdmaCtrlCmd{info.command}, request, writable);
    }
    // No room for an ack: used with length 0, and not executed.
    const auto before = device().Snapshot();
    EXPECT_TRUE(bench().Send(bench().roce_class(), info.command, request, 0).is_empty());
    EXPECT_EQ(device().Snapshot(), before);
  }
  EXPECT_EQ(bench().CreatePd(), 0u) << "a PD was leaked";
}

VIREO_ERROR_TEST(DmaError) {
  // The header cannot be read: the command is unknown.
  for (const auto& info : spec::kNetCtrlRoceCommands) {
    if (info.command > bench().constants().rdma_last_command) continue;
    Refused(RdmaError::kDmaError, RdmaCtrlCmd{info.command}, std::vector<uint8_t>(info.request_bytes), 256, 0);
  }
  // Every chunk of a page list.
  const spec::RdmaCmdRegUserMr request{.pdn = bench().CreatePd(), .length = 200 * kPageBytes, .npages = 200};
  const auto bytes = WithPages(request, PageList(0x1000, 200));
  for (uint64_t fails_from : {512u, 513u, 1000u, 1024u, 1600u}) {
    Refused(RdmaError::kDmaError, RdmaCtrlCmd::kRegUserMr, bytes, 256, fails_from);
  }
  EXPECT_TRUE(bench().Roce(RdmaCtrlCmd::kRegUserMr, bytes).ok());
}

// Only a broken device causes this, and the firmware then stops: see lifecycle_test.cc.
VIREO_ERROR_TEST(Internal) {
  device().is_table_stuck = true;
  const Answer answer = bench().Roce(RdmaCtrlCmd::kCreateCq, BytesOf(spec::RdmaCmdCreateCq{.cqe = 1}));
  EXPECT_EQ(answer.error(), is_vireo() ? RdmaError::kInternal : RdmaError::kErr);
  EXPECT_TRUE(bench().control->fatal());
}

// --- Handles ---------------------------------------------------------------------------------------------------------

constexpr uint32_t kStrangers[] = {1, spec::kNic1.num_pds, 64, 0x10000, 0x1000000, 0xffffffff};

VIREO_ERROR_TEST(BadPdn) {
  EXPECT_EQ(bench().CreatePd(), 0u);
  const uint32_t cqn = bench().CreateCq();
  for (uint32_t pdn : kStrangers) {
    Refused(RdmaError::kBadPdn, RdmaCtrlCmd::kDestroyPd, spec::RdmaCmdDestroyPd{.pdn = pdn});
    Refused(RdmaError::kBadPdn, RdmaCtrlCmd::kGetDmaMr, spec::RdmaCmdGetDmaMr{.pdn = pdn, .access_flags = 2});
    Refused(RdmaError::kBadPdn, RdmaCtrlCmd::kRegUserMr, spec::RdmaCmdRegUserMr{.pdn = pdn});
    Refused(RdmaError::kBadPdn, RdmaCtrlCmd::kCreateQp,
            spec::RdmaCmdCreateQp{.pdn = pdn, .send_cqn = cqn, .recv_cqn = cqn + 1});
    Refused(RdmaError::kBadPdn, RdmaCtrlCmd::kCreateAh, spec::RdmaCmdCreateAh{.pdn = pdn});
    Refused(RdmaError::kBadPdn, RdmaCtrlCmd::kDestroyAh, spec::RdmaCmdDestroyAh{.pdn = pdn, .ah = 0});
  }
  Accepted(RdmaCtrlCmd::kDestroyPd, spec::RdmaCmdDestroyPd{.pdn = 0});
  Refused(RdmaError::kBadPdn, RdmaCtrlCmd::kDestroyPd, spec::RdmaCmdDestroyPd{.pdn = 0});
}

VIREO_ERROR_TEST(BadCqn) {
  const auto good = GoodQp();
  EXPECT_EQ(good.send_cqn, 0u);
  for (uint32_t cqn : kStrangers) {
    Refused(RdmaError::kBadCqn, RdmaCtrlCmd::kDestroyCq, spec::RdmaCmdDestroyCq{.cqn = cqn});
    Refused(RdmaError::kBadCqn, RdmaCtrlCmd::kReqNotifyCq, spec::RdmaCmdReqNotify{.cqn = cqn});
    auto request = good;
    request.send_cqn = cqn;
    Refused(RdmaError::kBadCqn, RdmaCtrlCmd::kCreateQp, request);
    request = good;
    request.recv_cqn = cqn;
    Refused(RdmaError::kBadCqn, RdmaCtrlCmd::kCreateQp, request);
  }
  Accepted(RdmaCtrlCmd::kDestroyCq, spec::RdmaCmdDestroyCq{.cqn = 0});
  Refused(RdmaError::kBadCqn, RdmaCtrlCmd::kDestroyCq, spec::RdmaCmdDestroyCq{.cqn = 0});
}

VIREO_ERROR_TEST(BadQpn) {
  const uint32_t qpn = bench().CreateQp(IbQpType::kRc);
  for (uint32_t stranger : {0u, 1u, qpn + 1, spec::kNic1.num_qps, 0x10000u + qpn, 0x1000000u + qpn, 0xffffffffu}) {
    Refused(RdmaError::kBadQpn, RdmaCtrlCmd::kModifyQp, spec::RdmaCmdModifyQp{.qpn = stranger});
    Refused(RdmaError::kBadQpn, RdmaCtrlCmd::kQueryQp, spec::RdmaCmdQueryQp{.qpn = stranger});
    Refused(RdmaError::kBadQpn, RdmaCtrlCmd::kDestroyQp, spec::RdmaCmdDestroyQp{.qpn = stranger});
  }
  Accepted(RdmaCtrlCmd::kDestroyQp, spec::RdmaCmdDestroyQp{.qpn = qpn});
  Refused(RdmaError::kBadQpn, RdmaCtrlCmd::kDestroyQp, spec::RdmaCmdDestroyQp{.qpn = qpn});
}

VIREO_ERROR_TEST(BadMrn) {
  const auto mr = bench().GetDmaMr(bench().CreatePd());
  for (uint32_t stranger : {mr.mrn + 1, spec::kNic1.num_mrs, mr.lkey, 0x1000000u, 0xffffffffu}) {
    Refused(RdmaError::kBadMrn, RdmaCtrlCmd::kDeregMr, spec::RdmaCmdDeregMr{.mrn = stranger});
  }
  Accepted(RdmaCtrlCmd::kDeregMr, spec::RdmaCmdDeregMr{.mrn = mr.mrn});
  Refused(RdmaError::kBadMrn, RdmaCtrlCmd::kDeregMr, spec::RdmaCmdDeregMr{.mrn = mr.mrn});
  if (!is_vireo()) return;
  // A region is no window, and a window no region.
  const auto region = bench().GetDmaMr(bench().CreatePd());
  const uint32_t mwn = bench().AllocMw({.pdn = bench().CreatePd(), .mw_type = spec::RdmaMwType::kType1}).mwn;
  for (uint32_t stranger : {region.mrn, mwn + 1, spec::kNic1.num_mrs, 0x1000000u, 0xffffffffu}) {
    Refused(RdmaError::kBadMrn, RdmaCtrlCmd::kDeallocMw, spec::RdmaCmdDeallocMw{.mwn = stranger});
  }
  Refused(RdmaError::kBadMrn, RdmaCtrlCmd::kDeregMr, spec::RdmaCmdDeregMr{.mrn = mwn});
  Refused(RdmaError::kBadMrn, RdmaCtrlCmd::kReregMr, spec::RdmaCmdReregMr{.mrn = mwn, .flags = 4});
  for (uint32_t stranger : {mwn, mwn + 1, spec::kNic1.num_mrs, 0x1000000u, 0xffffffffu}) {
    Refused(RdmaError::kBadMrn, RdmaCtrlCmd::kQueryMr, spec::RdmaCmdQueryMr{.mrn = stranger});
  }
  Accepted(RdmaCtrlCmd::kDeallocMw, spec::RdmaCmdDeallocMw{.mwn = mwn});
  Refused(RdmaError::kBadMrn, RdmaCtrlCmd::kDeallocMw, spec::RdmaCmdDeallocMw{.mwn = mwn});
}

VIREO_ERROR_TEST(BadAh) {
  const auto good = GoodAh();
  const uint32_t other_pd = bench().CreatePd();
  const uint32_t ah = bench().Roce(RdmaCtrlCmd::kCreateAh, BytesOf(good)).As<spec::RdmaAckCreateAh>().ah;
  for (uint32_t stranger : {ah + 1, spec::kNic1.num_ahs, 0x10000u + ah, 0xffffffffu}) {
    Refused(RdmaError::kBadAh, RdmaCtrlCmd::kDestroyAh, spec::RdmaCmdDestroyAh{.pdn = good.pdn, .ah = stranger});
  }
  Refused(RdmaError::kBadAh, RdmaCtrlCmd::kDestroyAh, spec::RdmaCmdDestroyAh{.pdn = other_pd, .ah = ah});
  Accepted(RdmaCtrlCmd::kDestroyAh, spec::RdmaCmdDestroyAh{.pdn = good.pdn, .ah = ah});
  Refused(RdmaError::kBadAh, RdmaCtrlCmd::kDestroyAh, spec::RdmaCmdDestroyAh{.pdn = good.pdn, .ah = ah});
}

VIREO_ERROR_TEST(BadGidIndex) {
  auto good = GoodAh();
  for (unsigned index : {1u, spec::kNic1.num_gids, 255u}) {
    good.ah_attr.grh.sgid_index = static_cast<uint8_t>(index);
    Refused(RdmaError::kBadGidIndex, RdmaCtrlCmd::kCreateAh, good);
    Refused(RdmaError::kBadGidIndex, RdmaCtrlCmd::kDelGid, spec::RdmaCmdDelGid{.index = static_cast<uint16_t>(index)});
  }
  spec::RdmaCmdAddGid gid{.index = spec::kNic1.num_gids};
  SetGid(gid.gid, 4);
  Refused(RdmaError::kBadGidIndex, RdmaCtrlCmd::kAddGid, gid);
  gid.index = 0xffff;
  Refused(RdmaError::kBadGidIndex, RdmaCtrlCmd::kAddGid, gid);
  const uint32_t qpn = bench().CreateQp(IbQpType::kRc);
  bench().Bring(qpn, IbQpState::kInit);
  auto modify = bench().ToRtr(qpn);
  modify.ah_attr.grh.sgid_index = 3;
  Refused(RdmaError::kBadGidIndex, RdmaCtrlCmd::kModifyQp, modify);
}

VIREO_ERROR_TEST(BadVqIndex) {
  if (!is_vireo()) return;  // rfc-v2 has no windows
  const uint32_t end = bench().EventQueue() + 1;
  for (unsigned index = 0; index < 0x10000; index += index < 2 * end ? 1 : 97) {
    const spec::RdmaCmdSetWindow request{.vq_index = static_cast<uint16_t>(index), .flags = 1, .length = 1};
    if (index == bench().ControlQueue() || index >= end) {
      Refused(RdmaError::kBadVqIndex, RdmaCtrlCmd::kSetWindow, request);
    } else {
      Accepted(RdmaCtrlCmd::kSetWindow, request);
    }
  }
}

VIREO_ERROR_TEST(HandleBusy) {
  // A CQ used by a QP, as send or receive CQ.
  auto qp = GoodQp();
  qp.recv_cqn = bench().CreateCq();
  const uint32_t qpn = bench().CreateQp(qp);
  Refused(RdmaError::kHandleBusy, RdmaCtrlCmd::kDestroyCq, spec::RdmaCmdDestroyCq{.cqn = qp.send_cqn});
  Refused(RdmaError::kHandleBusy, RdmaCtrlCmd::kDestroyCq, spec::RdmaCmdDestroyCq{.cqn = qp.recv_cqn});
  // A PD used by a QP, a memory region, an address handle.
  Refused(RdmaError::kHandleBusy, RdmaCtrlCmd::kDestroyPd, spec::RdmaCmdDestroyPd{.pdn = qp.pdn});
  const uint32_t mr_pd = bench().CreatePd();
  const auto mr = bench().GetDmaMr(mr_pd);
  Refused(RdmaError::kHandleBusy, RdmaCtrlCmd::kDestroyPd, spec::RdmaCmdDestroyPd{.pdn = mr_pd});
  const auto good_ah = GoodAh();
  const uint32_t ah = bench().Roce(RdmaCtrlCmd::kCreateAh, BytesOf(good_ah)).As<spec::RdmaAckCreateAh>().ah;
  Refused(RdmaError::kHandleBusy, RdmaCtrlCmd::kDestroyPd, spec::RdmaCmdDestroyPd{.pdn = good_ah.pdn});
  Accepted(RdmaCtrlCmd::kDestroyQp, spec::RdmaCmdDestroyQp{.qpn = qpn});
  Accepted(RdmaCtrlCmd::kDeregMr, spec::RdmaCmdDeregMr{.mrn = mr.mrn});
  Accepted(RdmaCtrlCmd::kDestroyAh, spec::RdmaCmdDestroyAh{.pdn = good_ah.pdn, .ah = ah});
  for (uint32_t pdn : {qp.pdn, mr_pd, good_ah.pdn}) {
    Accepted(RdmaCtrlCmd::kDestroyPd, spec::RdmaCmdDestroyPd{.pdn = pdn});
  }
  for (uint32_t cqn : {qp.send_cqn, qp.recv_cqn}) {
    Accepted(RdmaCtrlCmd::kDestroyCq, spec::RdmaCmdDestroyCq{.cqn = cqn});
  }
  // The only GSI QP.
  auto gsi = GoodQp();
  gsi.qp_type = IbQpType::kGsi;
  EXPECT_EQ(bench().CreateQp(gsi), spec::kGsiQpn);
  Refused(RdmaError::kHandleBusy, RdmaCtrlCmd::kCreateQp, gsi);
  Accepted(RdmaCtrlCmd::kDestroyQp, spec::RdmaCmdDestroyQp{.qpn = spec::kGsiQpn});
  EXPECT_EQ(bench().CreateQp(gsi), spec::kGsiQpn);
  if (!is_vireo()) return;
  // A region that a memory window is bound to, and the domain of a window.
  const uint32_t pdn = bench().CreatePd();
  const spec::RdmaCmdRegUserMr request{
      .pdn = pdn, .access_flags = spec::IbAccessFlags::kMwBind, .virt_addr = 0, .length = 4096, .npages = 1};
  const uint32_t mrn = bench().RegUserMr(request, PageList(0x1000, 1)).mrn;
  const uint32_t other = bench().RegUserMr(request, PageList(0x2000, 1)).mrn;
  const uint32_t mwn = bench().AllocMw({.pdn = pdn, .mw_type = spec::RdmaMwType::kType2}).mwn;
  device().SetBound(mwn, true, mrn, 5);
  const spec::RdmaCmdReregMr change{.mrn = mrn, .flags = 4, .access_flags = 1};
  Refused(RdmaError::kHandleBusy, RdmaCtrlCmd::kDeregMr, spec::RdmaCmdDeregMr{.mrn = mrn});
  Refused(RdmaError::kHandleBusy, RdmaCtrlCmd::kReregMr, change);
  Accepted(RdmaCtrlCmd::kDeregMr, spec::RdmaCmdDeregMr{.mrn = other});
  device().SetBound(mwn, false);
  Accepted(RdmaCtrlCmd::kReregMr, change);
  Accepted(RdmaCtrlCmd::kDeregMr, spec::RdmaCmdDeregMr{.mrn = mrn});
  Refused(RdmaError::kHandleBusy, RdmaCtrlCmd::kDestroyPd, spec::RdmaCmdDestroyPd{.pdn = pdn});
  Accepted(RdmaCtrlCmd::kDeallocMw, spec::RdmaCmdDeallocMw{.mwn = mwn});
  Accepted(RdmaCtrlCmd::kDestroyPd, spec::RdmaCmdDestroyPd{.pdn = pdn});
}

// --- Parameters ------------------------------------------------------------------------------------------------------

VIREO_ERROR_TEST(InvalidParameter) {
  Refused(RdmaError::kInvalidParameter, RdmaCtrlCmd::kCreateCq, spec::RdmaCmdCreateCq{.cqe = 0});
  const uint32_t cqn = bench().CreateCq();
  for (uint32_t flags : {0u, 4u, 5u, 0x80000001u}) {
    Refused(RdmaError::kInvalidParameter, RdmaCtrlCmd::kReqNotifyCq,
            spec::RdmaCmdReqNotify{.cqn = cqn, .flags = flags});
  }
  if (!is_vireo()) return;
  for (const uint32_t cqe : {0U, 1U}) {
    Refused(RdmaError::kInvalidParameter, RdmaCtrlCmd::kCreateExtendedCq,
            spec::RdmaCmdCreateExtendedCq{.cqe = cqe, .elements = 1 - cqe});
  }
  const uint32_t pdn = bench().CreatePd();
  Refused(RdmaError::kInvalidParameter, RdmaCtrlCmd::kAllocMr, spec::RdmaCmdAllocMr{.pdn = pdn, .max_pages = 0});
  // It is registered by work requests only.
  const uint32_t fast = bench().AllocMr({.pdn = pdn, .max_pages = 1}).mrn;
  Refused(RdmaError::kInvalidParameter, RdmaCtrlCmd::kReregMr,
          spec::RdmaCmdReregMr{.mrn = fast, .flags = 4, .access_flags = 1});
  Refused(RdmaError::kInvalidParameter, RdmaCtrlCmd::kRegUserMr,
          WithPages({.pdn = bench().CreatePd(), .length = kPageBytes, .npages = 1, .invalidatable = 2},
                    PageList(0x1000, 1)));
  Refused(RdmaError::kInvalidParameter, RdmaCtrlCmd::kRegUserMr,
          WithPages({.pdn = bench().CreatePd(), .length = kPageBytes, .npages = 1, .is_pmem = 2}, PageList(0x1000, 1)));
  for (unsigned flags = 2; flags < 256; ++flags) {
    spec::RdmaCmdAddGid gid{.gid_type = spec::RdmaGidType::kIbRoceV1, .flags = static_cast<uint8_t>(flags)};
    Refused(RdmaError::kInvalidParameter, RdmaCtrlCmd::kAddGid, gid);
    Refused(RdmaError::kInvalidParameter, RdmaCtrlCmd::kSetWindow,
            spec::RdmaCmdSetWindow{.vq_index = 0, .flags = static_cast<uint8_t>(flags)});
  }
}

VIREO_ERROR_TEST(UnsupportedQpType) {
  auto request = GoodQp();
  for (unsigned type : {0u, 5u, 6u, 8u, 0xffu}) {
    request.qp_type = IbQpType{static_cast<uint8_t>(type)};
    Refused(RdmaError::kUnsupportedQpType, RdmaCtrlCmd::kCreateQp, request);
  }
}

VIREO_ERROR_TEST(BadAccessFlags) {
  const uint32_t pdn = bench().CreatePd();
  // 8 is remote_atomic, which needs local_write.
  for (uint32_t flags : {2u, 6u, 8u, 10u, 12u, 16u, 17u, 32u, 33u, 0x80000000u, 0xffffffffu}) {
    Refused(RdmaError::kBadAccessFlags, RdmaCtrlCmd::kGetDmaMr,
            spec::RdmaCmdGetDmaMr{.pdn = pdn, .access_flags = flags});
    // 16 is mw_bind, which an invalidatable region does not have.
    const bool is_bind = is_vireo() && (flags & ~17u) == 0;
    Refused(RdmaError::kBadAccessFlags, RdmaCtrlCmd::kRegUserMr,
            spec::RdmaCmdRegUserMr{.pdn = pdn, .access_flags = flags, .invalidatable = is_bind});
  }
  // No FLUSH of a DMA MR, for persistence of persistent memory only, and in rfc-v2 none.
  for (uint32_t flags : {0x100u, 0x200u, 0x300u, 0x400u}) {
    Refused(RdmaError::kBadAccessFlags, RdmaCtrlCmd::kGetDmaMr,
            spec::RdmaCmdGetDmaMr{.pdn = pdn, .access_flags = flags});
    if (flags == 0x100 && is_vireo()) continue;
    Refused(RdmaError::kBadAccessFlags, RdmaCtrlCmd::kRegUserMr,
            spec::RdmaCmdRegUserMr{.pdn = pdn, .access_flags = flags});
  }
  const uint32_t qpn = bench().CreateQp(IbQpType::kRc);
  auto modify = bench().ToInit(qpn);
  for (uint32_t flags : {0x10u, 0x18u, 0x80000000u}) {
    modify.qp_access_flags = flags;
    Refused(RdmaError::kBadAccessFlags, RdmaCtrlCmd::kModifyQp, modify);
  }
  modify.qp_access_flags = spec::IbAccessFlags::kRemoteWrite | spec::IbAccessFlags::kRemoteAtomic;
  if (!is_vireo()) {
    Refused(RdmaError::kBadAccessFlags, RdmaCtrlCmd::kModifyQp, modify);
    modify.qp_access_flags = spec::IbAccessFlags::kRemoteWrite;
  }
  Accepted(RdmaCtrlCmd::kModifyQp, modify);
}

VIREO_ERROR_TEST(CapCqeExceeded) {
  const uint32_t limit = spec::kNic1.max_queue_entries;
  for (uint32_t cqe : {limit + 1, 0x10000u, 0xffffffffu}) {
    Refused(RdmaError::kCapCqeExceeded, RdmaCtrlCmd::kCreateCq, spec::RdmaCmdCreateCq{.cqe = cqe});
  }
  bench().CreateCq(limit);
}

VIREO_ERROR_TEST(UnsupportedCqElement) {
  if (!is_vireo()) return;
  for (unsigned bit = 1; bit < 32; ++bit) {
    for (const uint32_t known : {0U, 1U}) {
      Refused(RdmaError::kUnsupportedCqElement, RdmaCtrlCmd::kCreateExtendedCq,
              spec::RdmaCmdCreateExtendedCq{.cqe = 1, .elements = 1U << bit | known});
    }
  }
  Accepted(RdmaCtrlCmd::kCreateExtendedCq, spec::RdmaCmdCreateExtendedCq{.cqe = 1, .elements = 1});
}

VIREO_ERROR_TEST(CapWrExceeded) {
  const auto good = GoodQp();
  for (uint32_t wr : {spec::kNic1.max_queue_entries + 1, 0x10000u, 0xffffffffu}) {
    auto request = good;
    request.cap.max_send_wr = wr;
    Refused(RdmaError::kCapWrExceeded, RdmaCtrlCmd::kCreateQp, request);
    request = good;
    request.cap.max_recv_wr = wr;
    Refused(RdmaError::kCapWrExceeded, RdmaCtrlCmd::kCreateQp, request);
  }
}

VIREO_ERROR_TEST(CapSgeExceeded) {
  const auto good = GoodQp();
  for (uint32_t extra : {1u, 0x100u, 0xfffffff0u}) {
    auto request = good;
    request.cap.max_send_sge = spec::kNic1.max_send_sge + extra;
    Refused(RdmaError::kCapSgeExceeded, RdmaCtrlCmd::kCreateQp, request);
    request = good;
    request.cap.max_recv_sge = spec::kNic1.max_recv_sge + extra;
    Refused(RdmaError::kCapSgeExceeded, RdmaCtrlCmd::kCreateQp, request);
  }
}

VIREO_ERROR_TEST(CapInlineExceeded) {
  auto request = GoodQp();
  for (uint32_t bytes : {spec::kRdmaInlineBytes + 1u, 0x10000u, 0xffffffffu}) {
    request.cap.max_inline_data = bytes;
    Refused(RdmaError::kCapInlineExceeded, RdmaCtrlCmd::kCreateQp, request);
  }
}

// --- Attributes ------------------------------------------------------------------------------------------------------

VIREO_ERROR_TEST(CurStateMismatch) {
  const uint32_t qpn = bench().CreateQp(IbQpType::kRc);
  auto request = bench().ToInit(qpn);
  request.attr_mask |= Mask::kCurState;
  for (unsigned state : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 255u}) {
    request.cur_qp_state = IbQpState{static_cast<uint8_t>(state)};
    Refused(RdmaError::kCurStateMismatch, RdmaCtrlCmd::kModifyQp, request);
  }
  request.cur_qp_state = IbQpState::kReset;
  Accepted(RdmaCtrlCmd::kModifyQp, request);
}

VIREO_ERROR_TEST(InvalidStateTransition) {
  const uint32_t qpn = bench().CreateQp(IbQpType::kRc);
  for (unsigned state : {2u, 3u, 4u, 5u, 7u, 255u}) {
    Refused(RdmaError::kInvalidStateTransition, RdmaCtrlCmd::kModifyQp,
            bench().ToState(qpn, IbQpState{static_cast<uint8_t>(state)}));
  }
}

VIREO_ERROR_TEST(MissingAttribute) {
  const uint32_t qpn = bench().CreateQp(IbQpType::kRc);
  Refused(RdmaError::kMissingAttribute, RdmaCtrlCmd::kModifyQp, bench().ToState(qpn, IbQpState::kInit));
}

VIREO_ERROR_TEST(AttributeNotAllowed) {
  const uint32_t qpn = bench().CreateQp(IbQpType::kRc);
  auto request = bench().ToInit(qpn);
  for (uint32_t attribute : {Mask::kCap, Mask::kQkey, Mask::kRateLimit, uint32_t{1} << 17, uint32_t{1} << 31}) {
    request.attr_mask = bench().ToInit(qpn).attr_mask | attribute;
    Refused(RdmaError::kAttributeNotAllowed, RdmaCtrlCmd::kModifyQp, request);
  }
}

VIREO_ERROR_TEST(InvalidAttribute) {
  bench().AddGid(0, 1);
  const uint32_t qpn = bench().CreateQp(IbQpType::kRc);
  bench().Bring(qpn, IbQpState::kInit);
  auto request = bench().ToRtr(qpn);
  request.rq_psn = 0x1000000;
  Refused(RdmaError::kInvalidAttribute, RdmaCtrlCmd::kModifyQp, request);
  auto ah = GoodAh();
  for (uint32_t label : {0x100000u, 0xffffffffu}) {
    ah.ah_attr.grh.flow_label = label;
    Refused(RdmaError::kInvalidAttribute, RdmaCtrlCmd::kCreateAh, ah);
  }
}

VIREO_ERROR_TEST(InvalidAddress) {
  auto ah = GoodAh();  // from an IPv4 address
  bench().AddGid(1, 2, false);
  const auto refuse = [&](uint8_t sgid_index) {
    ah.ah_attr.grh.sgid_index = sgid_index;
    Refused(RdmaError::kInvalidAddress, RdmaCtrlCmd::kCreateAh, ah);
  };
  std::fill(ah.ah_attr.grh.dgid, ah.ah_attr.grh.dgid + 16, 0);
  refuse(0);
  refuse(1);
  ah.ah_attr.grh.dgid[10] = ah.ah_attr.grh.dgid[11] = 0xff;  // 0.0.0.0
  refuse(0);
  refuse(1);
  SetGid(ah.ah_attr.grh.dgid, 3, false);
  refuse(0);
  SetGid(ah.ah_attr.grh.dgid, 3, true);
  refuse(1);
  const uint32_t qpn = bench().CreateQp(IbQpType::kRc);
  bench().Bring(qpn, IbQpState::kInit);
  auto request = bench().ToRtr(qpn);
  request.ah_attr.grh.sgid_index = 1;
  Refused(RdmaError::kInvalidAddress, RdmaCtrlCmd::kModifyQp, request);
}

VIREO_ERROR_TEST(QueueNotReady) {
  bench().AddGid(0, 1);
  const uint32_t qpn = bench().CreateQp(IbQpType::kRc);
  Accepted(RdmaCtrlCmd::kModifyQp, bench().ToInit(qpn));
  Refused(RdmaError::kQueueNotReady, RdmaCtrlCmd::kModifyQp, bench().ToRtr(qpn));
  bench().EnableQueues(qpn);
  Accepted(RdmaCtrlCmd::kModifyQp, bench().ToRtr(qpn));
}

// --- Memory regions --------------------------------------------------------------------------------------------------

VIREO_ERROR_TEST(InvalidLength) {
  const uint32_t pdn = bench().CreatePd();
  const uint64_t longest = bench().Roce(RdmaCtrlCmd::kQueryDevice).As<spec::RdmaAckQueryDevice>().max_mr_size;
  const auto refuse = [&](uint64_t address, uint64_t length) {
    Refused(RdmaError::kInvalidLength, RdmaCtrlCmd::kRegUserMr,
            WithPages({.pdn = pdn, .virt_addr = address, .length = length, .npages = 1}, PageList(0x1000, 1)));
  };
  refuse(0, 0);
  refuse(0, longest + 1);
  refuse(0, ~uint64_t{0});
  refuse(~uint64_t{0}, 2);
  refuse(~uint64_t{0} - 4094, 4096);
}

VIREO_ERROR_TEST(InvalidPageSize) {
  if (!is_vireo()) return;  // rfc-v2 has a single page size
  const uint32_t pdn = bench().CreatePd();
  for (unsigned shift = 1; shift < 256; ++shift) {
    if (shift >= spec::kRdmaPageShiftMin && shift <= spec::kRdmaPageShiftMax) continue;
    Refused(
        RdmaError::kInvalidPageSize, RdmaCtrlCmd::kRegUserMr,
        WithPages({.pdn = pdn, .length = 1, .npages = 1, .page_shift = static_cast<uint8_t>(shift)}, PageList(0, 1)));
  }
}

VIREO_ERROR_TEST(PageListTooLong) {
  const uint32_t npages = spec::kNic1.num_translations + 1;
  Refused(RdmaError::kPageListTooLong, RdmaCtrlCmd::kRegUserMr,
          WithPages({.pdn = bench().CreatePd(), .length = 4096, .npages = npages}, PageList(0, npages)));
  if (!is_vireo()) return;
  const uint32_t most = 2 * spec::kNic1.max_send_sge;
  for (const uint32_t pages : {most + 1, 0x10000u, 0xffffffffu}) {
    Refused(RdmaError::kPageListTooLong, RdmaCtrlCmd::kAllocMr, spec::RdmaCmdAllocMr{.pdn = 0, .max_pages = pages});
  }
  Accepted(RdmaCtrlCmd::kAllocMr, spec::RdmaCmdAllocMr{.pdn = 0, .max_pages = most});
}

VIREO_ERROR_TEST(PageCountMismatch) {
  const uint32_t pdn = bench().CreatePd();
  const auto refuse = [&](uint64_t address, uint64_t length, uint32_t npages) {
    Refused(RdmaError::kPageCountMismatch, RdmaCtrlCmd::kRegUserMr,
            WithPages({.pdn = pdn, .virt_addr = address, .length = length, .npages = npages}, PageList(0, npages)));
  };
  refuse(0, 1, 0);
  refuse(0, 1, 2);
  refuse(0, 4097, 1);
  refuse(0, 8192, 3);
  refuse(4095, 2, 1);
  refuse(4095, 4098, 2);
  refuse(0x1800, 4096, 1);
}

VIREO_ERROR_TEST(UnalignedPage) {
  const uint32_t pdn = bench().CreatePd();
  for (uint32_t bad : {0u, 1u, 57u, 58u, 59u, 60u, 122u, 149u}) {
    for (uint64_t offset : {1u, 8u, 2048u, 4095u}) {
      auto pages = PageList(0x1000'0000, 150);
      pages[size_t{8} * bad] = static_cast<uint8_t>(offset);
      pages[size_t{8} * bad + 1] = static_cast<uint8_t>(pages[size_t{8} * bad + 1] | offset >> 8);
      Refused(RdmaError::kUnalignedPage, RdmaCtrlCmd::kRegUserMr,
              WithPages({.pdn = pdn, .length = 150 * kPageBytes, .npages = 150}, pages));
    }
  }
  if (!is_vireo()) return;
  Refused(RdmaError::kUnalignedPage, RdmaCtrlCmd::kRegUserMr,
          WithPages({.pdn = pdn, .length = 1, .npages = 1, .page_shift = 21}, PageList(0x1000, 1)));
}

// Every code of REREG_MR, on a region whose entry, pages and key must be as before.
VIREO_ERROR_TEST(ChangeOfARegion) {
  if (!is_vireo()) return;  // an unsupported command
  using Flags = spec::RdmaReregFlags;
  const uint32_t pdn = bench().CreatePd();
  const auto mr =
      bench().RegUserMr({.pdn = pdn, .access_flags = 1, .length = 2 * kPageBytes, .npages = 2}, PageList(0x1000, 2));
  const spec::RdmaCmdReregMr good{.mrn = mr.mrn,
                                  .flags = Flags::kTranslation | Flags::kPd | Flags::kAccess,
                                  .pdn = pdn,
                                  .access_flags = 7,
                                  .virt_addr = 0x5000,
                                  .length = 70 * kPageBytes,
                                  .npages = 70};
  const auto with = [](const spec::RdmaCmdReregMr& request, const std::vector<uint8_t>& pages) {
    auto bytes = BytesOf(request);
    bytes.insert(bytes.end(), pages.begin(), pages.end());
    return bytes;
  };
  const auto list = PageList(0x80'0000, 70);
  const auto refuse = [&](RdmaError expected, auto change) {
    auto request = good;
    change(request);
    Refused(expected, RdmaCtrlCmd::kReregMr, with(request, list));
  };
  // Also a number that other objects have had, and the lowest code if several apply.
  for (uint32_t other : {pdn + 1, spec::kNic1.num_pds, 0x10000u, ~0u}) {
    refuse(RdmaError::kBadPdn, [&](auto& r) { r.pdn = other; });
  }
  for (uint32_t other : {mr.mrn + 1, spec::kNic1.num_mrs, 0x1000000u + mr.mrn, ~0u}) {
    refuse(RdmaError::kBadMrn, [&](auto& r) { r.mrn = other; });
  }
  refuse(RdmaError::kBadPdn, [](auto& r) { r = {.mrn = ~0u, .flags = ~0u, .pdn = ~0u}; });
  refuse(RdmaError::kBadMrn, [](auto& r) { r = {.mrn = ~0u, .flags = 8, .pdn = ~0u}; });
  for (uint32_t flags : {0u, 8u, 15u, 0x80000000u}) {
    refuse(RdmaError::kInvalidParameter, [&](auto& r) { r.flags = flags; });
  }
  // Remote write and remote atomic need local write. [IBTA 10.6.3.1]
  for (uint32_t access : {2u, 8u, 10u, 14u, 32u, 0x100001u}) {
    refuse(RdmaError::kBadAccessFlags, [&](auto& r) { r.access_flags = access; });
  }
  refuse(RdmaError::kInvalidLength, [](auto& r) { r.length = 0; });
  refuse(RdmaError::kInvalidLength, [](auto& r) { r.virt_addr = ~uint64_t{0}; });
  refuse(RdmaError::kInvalidPageSize, [](auto& r) { r.page_shift = 11; });
  refuse(RdmaError::kPageCountMismatch, [](auto& r) { r.virt_addr += 1; });
  refuse(RdmaError::kRequestTooShort, [](auto& r) { r.npages = 71; });
  const uint32_t too_many = spec::kNic1.num_translations + 1;
  auto request = good;
  request.npages = too_many;
  Refused(RdmaError::kPageListTooLong, RdmaCtrlCmd::kReregMr, with(request, PageList(0, too_many)));
  for (uint32_t bad : {0u, 1u, 58u, 69u}) {
    auto pages = list;
    pages[size_t{8} * bad] = 1;
    Refused(RdmaError::kUnalignedPage, RdmaCtrlCmd::kReregMr, with(good, pages));
  }
  for (const uint64_t fails_from : {2u, 20u, 42u, 300u, 600u}) {
    Refused(RdmaError::kDmaError, RdmaCtrlCmd::kReregMr, with(good, list), 256, fails_from);
  }
  // Both lists must fit.
  const uint32_t most = spec::kNic1.num_translations - 2;
  request.npages = most + 1;
  request.length = uint64_t{request.npages} * kPageBytes;
  Refused(RdmaError::kNoFreePages, RdmaCtrlCmd::kReregMr, with(request, PageList(0, request.npages)));
  request.npages = most;
  request.length = uint64_t{most} * kPageBytes;
  EXPECT_TRUE(bench().Roce(RdmaCtrlCmd::kReregMr, with(request, PageList(0, most))).ok());
  EXPECT_TRUE(bench().Roce(RdmaCtrlCmd::kDestroyPd, BytesOf(spec::RdmaCmdDestroyPd{.pdn = pdn})).error() ==
              RdmaError::kHandleBusy);
}

// --- GIDs and windows ------------------------------------------------------------------------------------------------

VIREO_ERROR_TEST(UnsupportedGidType) {
  if (!is_vireo()) return;
  for (unsigned type : {1u, 3u, 255u}) {
    spec::RdmaCmdAddGid request{.gid_type = spec::RdmaGidType{static_cast<uint8_t>(type)}, .vlan = 0xfff};
    Refused(RdmaError::kUnsupportedGidType, RdmaCtrlCmd::kAddGid, request);
  }
}

VIREO_ERROR_TEST(InvalidVlan) {
  if (!is_vireo()) return;
  Refused(RdmaError::kInvalidVlan, RdmaCtrlCmd::kAddGid, spec::RdmaCmdAddGid{.flags = 1, .vlan = 0xfff});
  Refused(RdmaError::kInvalidVlan, RdmaCtrlCmd::kAddGid, spec::RdmaCmdAddGid{.flags = 1, .vlan = 0x3fff});
  Refused(RdmaError::kInvalidVlan, RdmaCtrlCmd::kAddGid, spec::RdmaCmdAddGid{.flags = 0, .vlan = 1});
  Refused(RdmaError::kInvalidVlan, RdmaCtrlCmd::kAddGid, spec::RdmaCmdAddGid{.flags = 0, .vlan = 0x2000});
}

VIREO_ERROR_TEST(InvalidGid) {
  spec::RdmaCmdAddGid request;
  Refused(RdmaError::kInvalidGid, RdmaCtrlCmd::kAddGid, request);
  request.gid[10] = request.gid[11] = 0xff;
  Refused(RdmaError::kInvalidGid, RdmaCtrlCmd::kAddGid, request);
  for (unsigned first : {224u, 239u}) {
    SetGid(request.gid, 1);
    request.gid[12] = static_cast<uint8_t>(first);
    Refused(RdmaError::kInvalidGid, RdmaCtrlCmd::kAddGid, request);
  }
  SetGid(request.gid, 1, false);
  request.gid[0] = 0xff;
  Refused(RdmaError::kInvalidGid, RdmaCtrlCmd::kAddGid, request);
  if (!is_vireo()) return;
  // Of a multicast group it is the other way round.
  spec::RdmaCmdAttachMcast attach{.qpn = bench().CreateQp(IbQpType::kUd)};
  Refused(RdmaError::kInvalidGid, RdmaCtrlCmd::kAttachMcast, attach);
  for (unsigned first : {223u, 240u}) {
    SetGid(attach.mgid, 1);
    attach.mgid[12] = static_cast<uint8_t>(first);
    Refused(RdmaError::kInvalidGid, RdmaCtrlCmd::kAttachMcast, attach);
  }
}

VIREO_ERROR_TEST(GidIndexInUse) {
  bench().AddGid(0, 1);
  spec::RdmaCmdAddGid request;
  SetGid(request.gid, 1);
  Refused(RdmaError::kGidIndexInUse, RdmaCtrlCmd::kAddGid, request);
  SetGid(request.gid, 2);
  Refused(RdmaError::kGidIndexInUse, RdmaCtrlCmd::kAddGid, request);
}

VIREO_ERROR_TEST(GidDuplicate) {
  bench().AddGid(2, 1);
  spec::RdmaCmdAddGid request{.index = 0};
  SetGid(request.gid, 1);
  Refused(RdmaError::kGidDuplicate, RdmaCtrlCmd::kAddGid, request);
  if (!is_vireo()) return;
  request.gid_type = spec::RdmaGidType::kRoceV2;  // the default type
  Refused(RdmaError::kGidDuplicate, RdmaCtrlCmd::kAddGid, request);
  request.flags = 1;
  request.vlan = 7;
  Accepted(RdmaCtrlCmd::kAddGid, request);
  request.index = 1;
  request.vlan = 0x2007;  // the same VLAN with another priority
  Refused(RdmaError::kGidDuplicate, RdmaCtrlCmd::kAddGid, request);
}

VIREO_ERROR_TEST(InvalidWindow) {
  if (!is_vireo()) return;
  const auto refuse = [&](uint64_t base, uint64_t length) {
    Refused(RdmaError::kInvalidWindow, RdmaCtrlCmd::kSetWindow,
            spec::RdmaCmdSetWindow{.vq_index = 0, .flags = 1, .base = base, .length = length});
  };
  refuse(0, 0);
  refuse(0x1000, 0);
  refuse(~uint64_t{0}, 2);
  refuse(2, ~uint64_t{0});
}

// --- Resources: the last one is allocated, the next refused, and a freed one is reused -------------------------------

VIREO_ERROR_TEST(NoFreePd) {
  for (uint32_t i = 0; i < spec::kNic1.num_pds; ++i) bench().CreatePd();
  Refused(RdmaError::kNoFreePd, RdmaCtrlCmd::kCreatePd, std::vector<uint8_t>{});
  Accepted(RdmaCtrlCmd::kDestroyPd, spec::RdmaCmdDestroyPd{.pdn = 5});
  EXPECT_EQ(bench().CreatePd(), 5u);
}

VIREO_ERROR_TEST(NoFreeCq) {
  for (uint32_t i = 0; i < spec::kNic1.num_cqs; ++i) bench().CreateCq();
  Refused(RdmaError::kNoFreeCq, RdmaCtrlCmd::kCreateCq, spec::RdmaCmdCreateCq{.cqe = 1});
  if (is_vireo()) {
    Refused(RdmaError::kNoFreeCq, RdmaCtrlCmd::kCreateExtendedCq,
            spec::RdmaCmdCreateExtendedCq{.cqe = 1, .elements = 1});
  }
  Accepted(RdmaCtrlCmd::kDestroyCq, spec::RdmaCmdDestroyCq{.cqn = 15});
  EXPECT_EQ(bench().CreateCq(), 15u);
}

VIREO_ERROR_TEST(NoFreeQp) {
  const auto request = GoodQp();
  std::set<uint32_t> qpns;
  for (uint32_t i = spec::kRdmaFirstQpn; i < spec::kNic1.num_qps; ++i) qpns.insert(bench().CreateQp(request));
  EXPECT_EQ(qpns.size(), spec::kNic1.num_qps - spec::kRdmaFirstQpn);
  EXPECT_EQ(*qpns.begin(), spec::kRdmaFirstQpn);
  Refused(RdmaError::kNoFreeQp, RdmaCtrlCmd::kCreateQp, request);
  auto gsi = request;
  gsi.qp_type = IbQpType::kGsi;
  EXPECT_EQ(bench().CreateQp(gsi), spec::kGsiQpn) << "its number is reserved";
  Accepted(RdmaCtrlCmd::kDestroyQp, spec::RdmaCmdDestroyQp{.qpn = 9});
  EXPECT_EQ(bench().CreateQp(request), 9u);
}

VIREO_ERROR_TEST(NoFreeMr) {
  const uint32_t pdn = bench().CreatePd();
  for (uint32_t i = 0; i < spec::kNic1.num_mrs; ++i) bench().GetDmaMr(pdn);
  Refused(RdmaError::kNoFreeMr, RdmaCtrlCmd::kGetDmaMr, spec::RdmaCmdGetDmaMr{.pdn = pdn});
  const spec::RdmaCmdRegUserMr request{.pdn = pdn, .length = 200 * kPageBytes, .npages = 200};
  Refused(RdmaError::kNoFreeMr, RdmaCtrlCmd::kRegUserMr, WithPages(request, PageList(0x1000, 200)));
  // An unaligned page has the lower code.
  Refused(RdmaError::kUnalignedPage, RdmaCtrlCmd::kRegUserMr, WithPages(request, PageList(0x1001, 200)));
  if (is_vireo()) {
    Refused(RdmaError::kNoFreeMr, RdmaCtrlCmd::kAllocMw,
            spec::RdmaCmdAllocMw{.pdn = pdn, .mw_type = spec::RdmaMwType::kType1});
    Refused(RdmaError::kNoFreeMr, RdmaCtrlCmd::kAllocMr, spec::RdmaCmdAllocMr{.pdn = pdn, .max_pages = 1});
  }
  Accepted(RdmaCtrlCmd::kDeregMr, spec::RdmaCmdDeregMr{.mrn = 63});
  bench().RegUserMr(request, PageList(0x1000, 200));
}

VIREO_ERROR_TEST(BadSrqn) {
  if (!is_vireo()) return;  // there are none
  auto request = GoodQp();
  request.has_srq = 1;
  const uint32_t srqn = bench().CreateSrq({.pdn = request.pdn, .max_wr = 1});
  const uint32_t qpn = bench().CreateQp(IbQpType::kRc);
  for (const uint32_t stranger : {0u, 1u, srqn + 20, qpn, ~0u}) {
    request.srqn = stranger;
    Refused(RdmaError::kBadSrqn, RdmaCtrlCmd::kCreateQp, request);
    Refused(RdmaError::kBadSrqn, RdmaCtrlCmd::kModifySrq, spec::RdmaCmdModifySrq{.srqn = stranger});
    Refused(RdmaError::kBadSrqn, RdmaCtrlCmd::kQuerySrq, spec::RdmaCmdQuerySrq{.srqn = stranger});
    Refused(RdmaError::kBadSrqn, RdmaCtrlCmd::kDestroySrq, spec::RdmaCmdDestroySrq{.srqn = stranger});
  }
  // Of another protection domain.
  request.srqn = srqn;
  request.pdn = bench().CreatePd();
  Refused(RdmaError::kBadSrqn, RdmaCtrlCmd::kCreateQp, request);
  // Its number is no queue pair's.
  Refused(RdmaError::kBadQpn, RdmaCtrlCmd::kDestroyQp, spec::RdmaCmdDestroyQp{.qpn = srqn});
  Accepted(RdmaCtrlCmd::kDestroySrq, spec::RdmaCmdDestroySrq{.srqn = srqn});
  Refused(RdmaError::kBadSrqn, RdmaCtrlCmd::kDestroySrq, spec::RdmaCmdDestroySrq{.srqn = srqn});
}

VIREO_ERROR_TEST(NoFreeSrq) {
  if (!is_vireo()) return;
  const spec::RdmaCmdCreateSrq request{.pdn = bench().CreatePd(), .max_wr = 1};
  const uint32_t first = bench().CreateSrq(request);
  for (uint32_t i = 1; i < spec::kNic1.max_srqs; ++i) Accepted(RdmaCtrlCmd::kCreateSrq, request);
  Refused(RdmaError::kNoFreeSrq, RdmaCtrlCmd::kCreateSrq, request);
  Accepted(RdmaCtrlCmd::kDestroySrq, spec::RdmaCmdDestroySrq{.srqn = first});
  // Every number is taken.
  const auto qp = GoodQp();
  while (bench().Roce(RdmaCtrlCmd::kCreateQp, BytesOf(qp)).ok()) continue;
  Refused(RdmaError::kNoFreeSrq, RdmaCtrlCmd::kCreateSrq, request);
}

VIREO_ERROR_TEST(NotAUdQp) {
  if (!is_vireo()) return;
  for (const auto type : {IbQpType::kRc, IbQpType::kUc, IbQpType::kGsi}) {
    Refused(RdmaError::kNotAUdQp, RdmaCtrlCmd::kAttachMcast, spec::RdmaCmdAttachMcast{.qpn = bench().CreateQp(type)});
  }
}

VIREO_ERROR_TEST(NotAttached) {
  if (!is_vireo()) return;
  const uint32_t qpn = bench().CreateQp(IbQpType::kUd), other = bench().CreateQp(IbQpType::kUd);
  spec::RdmaCmdAttachMcast attach{.qpn = qpn};
  attach.mgid[0] = 0xff;
  spec::RdmaCmdDetachMcast detach{.qpn = qpn};
  detach.mgid[0] = 0xff;
  Refused(RdmaError::kNotAttached, RdmaCtrlCmd::kDetachMcast, detach);
  Accepted(RdmaCtrlCmd::kAttachMcast, attach);
  Accepted(RdmaCtrlCmd::kAttachMcast, attach);
  detach.qpn = other;
  Refused(RdmaError::kNotAttached, RdmaCtrlCmd::kDetachMcast, detach);
  detach.qpn = qpn;
  detach.mgid[15] = 1;
  Refused(RdmaError::kNotAttached, RdmaCtrlCmd::kDetachMcast, detach);
  detach.mgid[15] = 0;
  Refused(RdmaError::kHandleBusy, RdmaCtrlCmd::kDestroyQp, spec::RdmaCmdDestroyQp{.qpn = qpn});
  Accepted(RdmaCtrlCmd::kDetachMcast, detach);
  // Attached twice counts once.
  Refused(RdmaError::kNotAttached, RdmaCtrlCmd::kDetachMcast, detach);
  Accepted(RdmaCtrlCmd::kDestroyQp, spec::RdmaCmdDestroyQp{.qpn = qpn});
}

VIREO_ERROR_TEST(NoFreeMcast) {
  if (!is_vireo()) return;
  const uint32_t qpn = bench().CreateQp(IbQpType::kUd), other = bench().CreateQp(IbQpType::kUd);
  spec::RdmaCmdAttachMcast attach;
  attach.mgid[0] = 0xff;
  for (uint32_t i = 0; i < spec::kNic1.max_mcast_attach; ++i) {
    attach.qpn = i % 2 == 0 ? qpn : other;
    attach.mgid[15] = static_cast<uint8_t>(i / 2);
    Accepted(RdmaCtrlCmd::kAttachMcast, attach);
  }
  Accepted(RdmaCtrlCmd::kAttachMcast, attach);  // which is attached
  attach.mgid[15] = 99;
  Refused(RdmaError::kNoFreeMcast, RdmaCtrlCmd::kAttachMcast, attach);
  spec::RdmaCmdDetachMcast detach{.qpn = qpn};
  detach.mgid[0] = 0xff;
  Accepted(RdmaCtrlCmd::kDetachMcast, detach);
  Accepted(RdmaCtrlCmd::kAttachMcast, attach);
  EXPECT_EQ(device().Get<spec::TableMcast>(MgmtTable::kMcast, 0).mgid[15], 99);
}

VIREO_ERROR_TEST(NoFreeAh) {
  const auto request = GoodAh();
  for (uint32_t i = 0; i < spec::kNic1.num_ahs; ++i) Accepted(RdmaCtrlCmd::kCreateAh, request);
  Refused(RdmaError::kNoFreeAh, RdmaCtrlCmd::kCreateAh, request);
  Accepted(RdmaCtrlCmd::kDestroyAh, spec::RdmaCmdDestroyAh{.pdn = request.pdn, .ah = 0});
  Accepted(RdmaCtrlCmd::kCreateAh, request);
}

VIREO_ERROR_TEST(NoFreePages) {
  const uint32_t pdn = bench().CreatePd();
  const uint32_t all = spec::kNic1.num_translations;
  const auto request = [&](uint32_t npages) {
    return WithPages({.pdn = pdn, .length = npages * kPageBytes, .npages = npages}, PageList(0x1000, npages));
  };
  const auto mrn = [&](uint32_t npages) {
    return bench().Roce(RdmaCtrlCmd::kRegUserMr, request(npages)).As<spec::RdmaAckRegUserMr>().mrn;
  };
  const uint32_t a = mrn(100), b = mrn(300), c = mrn(all - 400);
  Refused(RdmaError::kNoFreePages, RdmaCtrlCmd::kRegUserMr, request(1));
  if (is_vireo()) {
    Refused(RdmaError::kNoFreePages, RdmaCtrlCmd::kAllocMr, spec::RdmaCmdAllocMr{.pdn = pdn, .max_pages = 1});
  }
  Refused(RdmaError::kUnalignedPage, RdmaCtrlCmd::kRegUserMr,
          WithPages({.pdn = pdn, .length = 4096, .npages = 1}, PageList(0x1001, 1)));
  Accepted(RdmaCtrlCmd::kDeregMr, spec::RdmaCmdDeregMr{.mrn = a});
  Accepted(RdmaCtrlCmd::kDeregMr, spec::RdmaCmdDeregMr{.mrn = c});
  // Enough free pages, but not contiguous.
  Refused(RdmaError::kNoFreePages, RdmaCtrlCmd::kRegUserMr, request(all - 399));
  mrn(all - 400);
  mrn(100);
  Refused(RdmaError::kNoFreePages, RdmaCtrlCmd::kRegUserMr, request(1));
  Accepted(RdmaCtrlCmd::kDeregMr, spec::RdmaCmdDeregMr{.mrn = b});
  mrn(1);
}

// --- Precedence of several errors ------------------------------------------------------------------------------------

VIREO_ERROR_TEST(TheLowestOfSeveral) {
  const spec::RdmaCmdCreateQp everything{.pdn = 99,
                                         .qp_type = IbQpType::kSmi,
                                         .send_cqn = 99,
                                         .recv_cqn = 99,
                                         .cap = {.max_send_wr = ~0u, .max_send_sge = ~0u, .max_inline_data = ~0u}};
  auto request = everything;
  Refused(RdmaError::kBadPdn, RdmaCtrlCmd::kCreateQp, request);
  request.pdn = bench().CreatePd();
  Refused(RdmaError::kBadCqn, RdmaCtrlCmd::kCreateQp, request);
  request.send_cqn = request.recv_cqn = bench().CreateCq();
  bench().CreateQp({.pdn = request.pdn, .qp_type = IbQpType::kGsi});
  request.qp_type = IbQpType::kGsi;
  Refused(RdmaError::kHandleBusy, RdmaCtrlCmd::kCreateQp, request);
  request.qp_type = IbQpType::kSmi;
  Refused(RdmaError::kUnsupportedQpType, RdmaCtrlCmd::kCreateQp, request);
  request.qp_type = IbQpType::kRc;
  Refused(RdmaError::kCapWrExceeded, RdmaCtrlCmd::kCreateQp, request);
  request.cap.max_send_wr = 1;
  Refused(RdmaError::kCapSgeExceeded, RdmaCtrlCmd::kCreateQp, request);
  request.cap.max_send_sge = 1;
  Refused(RdmaError::kCapInlineExceeded, RdmaCtrlCmd::kCreateQp, request);

  bench().AddGid(0, 1);
  const uint32_t qpn = bench().CreateQp(IbQpType::kRc);
  Accepted(RdmaCtrlCmd::kModifyQp, bench().ToInit(qpn));
  auto modify = bench().ToRtr(qpn);
  modify.attr_mask = (modify.attr_mask & ~Mask::kMinRnrTimer) | Mask::kAccessFlags | Mask::kCurState | Mask::kQkey;
  modify.qp_state = IbQpState::kRts;
  modify.cur_qp_state = IbQpState::kErr;
  modify.qp_access_flags = 16;
  modify.ah_attr.grh.sgid_index = 7;
  modify.rq_psn = ~0u;
  modify.ah_attr.grh.dgid[0] = 1;
  Refused(RdmaError::kBadGidIndex, RdmaCtrlCmd::kModifyQp, modify);
  modify.ah_attr.grh.sgid_index = 0;
  Refused(RdmaError::kBadAccessFlags, RdmaCtrlCmd::kModifyQp, modify);
  modify.qp_access_flags = 0;
  Refused(RdmaError::kCurStateMismatch, RdmaCtrlCmd::kModifyQp, modify);
  modify.cur_qp_state = IbQpState::kInit;
  Refused(RdmaError::kInvalidStateTransition, RdmaCtrlCmd::kModifyQp, modify);
  modify.qp_state = IbQpState::kRtr;
  Refused(RdmaError::kMissingAttribute, RdmaCtrlCmd::kModifyQp, modify);
  modify.attr_mask |= Mask::kMinRnrTimer;
  Refused(RdmaError::kAttributeNotAllowed, RdmaCtrlCmd::kModifyQp, modify);
  modify.attr_mask &= ~Mask::kQkey;
  Refused(RdmaError::kInvalidAttribute, RdmaCtrlCmd::kModifyQp, modify);
  modify.rq_psn = 0;
  Refused(RdmaError::kInvalidAddress, RdmaCtrlCmd::kModifyQp, modify);
  modify.ah_attr.grh.dgid[0] = 0;
  Refused(RdmaError::kQueueNotReady, RdmaCtrlCmd::kModifyQp, modify);
  bench().EnableQueues(qpn);
  Accepted(RdmaCtrlCmd::kModifyQp, modify);
}

// --- The list is complete --------------------------------------------------------------------------------------------

TEST(ErrorCodes, EveryCommandErrorHasATest) {
  std::set<std::string> tests;
  const auto& unit = *::testing::UnitTest::GetInstance();
  for (int i = 0; i < unit.total_test_suite_count(); ++i) tests.insert(unit.GetTestSuite(i)->name());
  int codes = 0;
  for (unsigned value = 2; value < 128; ++value) {
    const char* found = spec::ToString(RdmaError{static_cast<uint8_t>(value)});
    if (found == nullptr) continue;
    const std::string name = found;
    std::string camel;
    bool upper = true;
    for (char c : name) {
      if (c == '_') {
        upper = true;
      } else {
        camel += upper ? static_cast<char>(std::toupper(c)) : c;
        upper = false;
      }
    }
    ++codes;
    EXPECT_TRUE(tests.contains("ErrorCodesOf" + camel)) << name;
  }
  EXPECT_EQ(codes, 6 + 9 + 9 + 7 + 5 + 7 + 8);
}

}  // namespace
}  // namespace vireo::verif
