// SPDX-License-Identifier: Apache-2.0
// Effects of every successful RoCE command except those on QPs, in responses and tables.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "verif/firmware/bench.h"

namespace vireo::verif {
namespace {

using Objects = FirmwareTest;
using Access = spec::IbAccessFlags;

TEST_F(Objects, QueryDeviceReturnsTheLimitsOfTheConfiguration) {
  Use({.config = &spec::kNic100});
  const auto device = bench().Roce(RdmaCtrlCmd::kQueryDevice).As<spec::RdmaAckQueryDevice>();
  const auto& config = spec::kNic100;
  EXPECT_EQ(device.device_cap_flags, spec::IbDeviceCap::kRcRnrNakGen);
  EXPECT_EQ(device.max_qp_wr, config.max_queue_entries);
  EXPECT_EQ(device.max_cqe, config.max_queue_entries);
  EXPECT_EQ(device.max_send_sge, config.max_send_sge);
  EXPECT_EQ(device.max_recv_sge, config.max_recv_sge);
  EXPECT_LE(device.max_sge_rd, config.max_send_sge);
  EXPECT_EQ(device.max_mr, config.num_mrs);
  EXPECT_EQ(device.max_pd, config.num_pds);
  EXPECT_EQ(device.max_ah, config.num_ahs);
  EXPECT_EQ(device.max_qp_rd_atom, config.max_rd_atomic);
  EXPECT_EQ(device.max_qp_init_rd_atom, config.max_rd_atomic);
  EXPECT_EQ(device.max_mr_pages, config.num_translations);
  EXPECT_EQ(device.atomic_cap, spec::RdmaAtomicCap::kHca);
  EXPECT_EQ(device.atomic_write, 1);
  EXPECT_EQ(device.flush, 3);
  EXPECT_EQ(device.invalidation, 1);
  EXPECT_EQ(device.max_mw, config.num_mrs);
  EXPECT_EQ(device.max_fast_mr_pages, 2 * config.max_send_sge);
  EXPECT_EQ(device.sq_version, 1);
  EXPECT_EQ(device.max_push, 64);
  EXPECT_EQ(device.cq_elements, spec::RdmaCqElement::kTimestamp);
  EXPECT_EQ(device.page_size_cap, (uint64_t{2} << spec::kRdmaPageShiftMax) - (uint64_t{1} << spec::kRdmaPageShiftMin));
  EXPECT_EQ(device.max_mr_size, uint64_t{config.num_translations} << spec::kRdmaPageShiftMax);
  EXPECT_LE(device.local_ca_ack_delay, 31);
}

TEST_F(Objects, RfcV2QueryDeviceHasOnePageSizeAndNoExtensions) {
  Use({.profile = spec::Profile::kRfcV2});
  const auto device = bench().Roce(RdmaCtrlCmd::kQueryDevice).As<spec::RdmaAckQueryDevice>();
  EXPECT_EQ(device.page_size_cap, uint64_t{1} << spec::kRdmaPageShiftDefault);
  EXPECT_EQ(device.max_mr_pages, 0u);
  EXPECT_EQ(device.atomic_cap, spec::RdmaAtomicCap::kNone);
  EXPECT_EQ(device.atomic_write, 0);
  EXPECT_EQ(device.flush, 0);
  EXPECT_EQ(device.invalidation, 0);
  EXPECT_EQ(device.max_mw, 0u);
  EXPECT_EQ(device.max_fast_mr_pages, 0u);
  EXPECT_EQ(device.sq_version, 0);
  EXPECT_EQ(device.max_push, 0);
  EXPECT_EQ(device.cq_elements, 0u);
  EXPECT_EQ(device.max_mr_size, uint64_t{spec::kNic1.num_translations} << spec::kRdmaPageShiftDefault);
}

TEST_F(Objects, QueryPort) {
  const auto port = bench().Roce(RdmaCtrlCmd::kQueryPort).As<spec::RdmaAckQueryPort>();
  EXPECT_EQ(port.gid_tbl_len, spec::kNic1.num_gids);
  EXPECT_EQ(port.max_msg_sz, 1u << 31);
}

TEST_F(Objects, CreateCqSetsItsVirtqueue) {
  const uint32_t cqn = bench().CreateCq(200);
  EXPECT_EQ(device().Get<spec::TableCqContext>(MgmtTable::kCqContext, cqn),
            (spec::TableCqContext{.valid = true, .vq_index = static_cast<uint16_t>(bench().CqQueue(cqn)), .cqe = 200}));
  const auto queue = bench().Queue(bench().CqQueue(cqn));
  EXPECT_EQ(queue.kind, spec::TableQueueKind::kCq);
  EXPECT_EQ(queue.owner, cqn);
  EXPECT_EQ(queue.limit, 200);
}

TEST_F(Objects, ExtendedCqHasItsElementsUntilItIsDestroyed) {
  const auto answer =
      bench().Roce(RdmaCtrlCmd::kCreateExtendedCq, BytesOf(spec::RdmaCmdCreateExtendedCq{.cqe = 200, .elements = 1}));
  const uint32_t cqn = answer.As<spec::RdmaAckCreateCq>().cqn;
  const auto entry = [&] { return device().Get<spec::TableCqContext>(MgmtTable::kCqContext, cqn); };
  EXPECT_EQ(entry(), (spec::TableCqContext{.valid = true,
                                           .elements = spec::RdmaCqElement::kTimestamp,
                                           .vq_index = static_cast<uint16_t>(bench().CqQueue(cqn)),
                                           .cqe = 200}));
  EXPECT_EQ(bench().Queue(bench().CqQueue(cqn)).limit, 200);
  EXPECT_TRUE(bench().Roce(RdmaCtrlCmd::kReqNotifyCq, BytesOf(spec::RdmaCmdReqNotify{.cqn = cqn, .flags = 1})).ok());
  EXPECT_EQ(entry().elements, spec::RdmaCqElement::kTimestamp);
  EXPECT_TRUE(bench().Roce(RdmaCtrlCmd::kDestroyCq, BytesOf(spec::RdmaCmdDestroyCq{.cqn = cqn})).ok());
  EXPECT_FALSE(device().tables().contains({MgmtTable::kCqContext, cqn}));
}

TEST_F(Objects, ElementsOfCompletionsAreReportedAndAllowedByABuildThatHasThemOnly) {
  spec::Config without = kFullNic1;
  without.cqe_elements = 0;
  for (const BenchOptions& options :
       {BenchOptions{}, BenchOptions{.config = &without}, BenchOptions{.profile = spec::Profile::kRfcV2}}) {
    Use(options);
    const bool has = options.config != &without && options.profile != spec::Profile::kRfcV2;
    EXPECT_EQ(bench().Roce(RdmaCtrlCmd::kQueryDevice).As<spec::RdmaAckQueryDevice>().cq_elements, has ? 1U : 0U);
    EXPECT_EQ(bench()
                  .Roce(RdmaCtrlCmd::kCreateExtendedCq, BytesOf(spec::RdmaCmdCreateExtendedCq{.cqe = 1, .elements = 1}))
                  .ok(),
              has);
  }
}

TEST_F(Objects, QueryClockReadsBothHalves) {
  device().time_ns = 0x1234'5678'9abc'def0;
  EXPECT_EQ(bench().Roce(RdmaCtrlCmd::kQueryClock).As<spec::RdmaAckQueryClock>().time_ns, 0x1234'5678'9abc'def0U);
}

TEST_F(Objects, DestroyCqStopsItsVirtqueueUntilItIsReset) {
  const uint32_t cqn = bench().CreateCq();
  device().EnableQueue(bench().CqQueue(cqn));
  EXPECT_TRUE(bench().Roce(RdmaCtrlCmd::kDestroyCq, BytesOf(spec::RdmaCmdDestroyCq{.cqn = cqn})).ok());
  EXPECT_FALSE(device().tables().contains({MgmtTable::kCqContext, cqn}));
  EXPECT_TRUE(bench().Queue(bench().CqQueue(cqn)).stopped);
  EXPECT_EQ(bench().Queue(bench().CqQueue(cqn)).kind, spec::TableQueueKind::kNone);
  device().ResetQueue(bench().CqQueue(cqn));
  bench().Settle();
  EXPECT_FALSE(bench().Queue(bench().CqQueue(cqn)).stopped);
  EXPECT_EQ(device().queue_resets_done, std::vector<uint32_t>{bench().CqQueue(cqn)});
  EXPECT_TRUE(device().events.empty());
}

TEST_F(Objects, DestroyCqWithoutRingResetClearsThePositions) {
  Use({.profile = spec::Profile::kRfcV2, .has_ring_reset = false});
  const uint32_t cqn = bench().CreateCq();
  const uint32_t index = bench().CqQueue(cqn);
  device().EnableQueue(index);
  auto queue = bench().Queue(index);
  queue.next_avail = 17;
  queue.next_used = 16;
  device().Set(MgmtTable::kVirtqueue, index, queue);
  EXPECT_TRUE(bench().Roce(RdmaCtrlCmd::kDestroyCq, BytesOf(spec::RdmaCmdDestroyCq{.cqn = cqn})).ok());
  EXPECT_EQ(bench().Queue(index).next_avail, 0);
  EXPECT_EQ(bench().Queue(index).next_used, 0);
  EXPECT_TRUE(bench().Queue(index).enabled);
  EXPECT_FALSE(bench().Queue(index).stopped);
}

TEST_F(Objects, ACqThatIsCreatedOnAStoppedVirtqueueLeavesItStopped) {
  std::vector<uint32_t> cqs;
  for (uint32_t i = 0; i < spec::kNic1.num_cqs; ++i) cqs.push_back(bench().CreateCq());
  device().EnableQueue(bench().CqQueue(cqs[3]));
  EXPECT_TRUE(bench().Roce(RdmaCtrlCmd::kDestroyCq, BytesOf(spec::RdmaCmdDestroyCq{.cqn = cqs[3]})).ok());
  EXPECT_EQ(bench().CreateCq(), cqs[3]) << "the only free one";
  EXPECT_TRUE(bench().Queue(bench().CqQueue(cqs[3])).stopped);
  // The pending reset does not affect the new CQ.
  device().ResetQueue(bench().CqQueue(cqs[3]));
  bench().Settle();
  EXPECT_FALSE(bench().Queue(bench().CqQueue(cqs[3])).stopped);
  EXPECT_FALSE(device().Get<spec::TableCqContext>(MgmtTable::kCqContext, cqs[3]).failed);
  EXPECT_TRUE(device().events.empty());
}

TEST_F(Objects, ReqNotifyArms) {
  const uint32_t cqn = bench().CreateCq();
  const auto arm = [&](uint32_t flags) {
    EXPECT_TRUE(
        bench().Roce(RdmaCtrlCmd::kReqNotifyCq, BytesOf(spec::RdmaCmdReqNotify{.cqn = cqn, .flags = flags})).ok());
    return device().Get<spec::TableCqContext>(MgmtTable::kCqContext, cqn);
  };
  EXPECT_TRUE(arm(spec::IbNotifyFlags::kSolicited).armed_solicited);
  EXPECT_FALSE(arm(spec::IbNotifyFlags::kSolicited).armed_next_completion);
  EXPECT_TRUE(arm(spec::IbNotifyFlags::kNextCompletion).armed_next_completion);
  EXPECT_TRUE(arm(spec::IbNotifyFlags::kSolicited).armed_next_completion) << "armed twice: next_completion wins";
}

TEST_F(Objects, PdsHaveDifferentNumbers) {
  std::set<uint32_t> pds;
  for (uint32_t i = 0; i < spec::kNic1.num_pds; ++i) pds.insert(bench().CreatePd());
  EXPECT_EQ(pds.size(), spec::kNic1.num_pds);
  EXPECT_LT(*pds.rbegin(), spec::kNic1.num_pds);
}

TEST_F(Objects, ADmaRegionIsTheWholeAddressSpace) {
  const uint32_t pdn = bench().CreatePd();
  const auto mr = bench().GetDmaMr(pdn, Access::kLocalWrite | Access::kRemoteRead);
  EXPECT_EQ(device().Get<spec::TableMr>(MgmtTable::kMr, mr.mrn),
            (spec::TableMr{.valid = true,
                           .dma = true,
                           .local_write = true,
                           .remote_read = true,
                           .key = spec::RdmaKey::FromWord(mr.lkey).key,
                           .pdn = static_cast<uint16_t>(pdn)}));
  EXPECT_EQ(spec::RdmaKey::FromWord(mr.lkey).index, mr.mrn);
  EXPECT_EQ(mr.rkey, mr.lkey);
}

TEST_F(Objects, RemoteAtomicIsARightOfARegion) {
  const uint32_t pdn = bench().CreatePd();
  const auto mr = bench().GetDmaMr(pdn, Access::kLocalWrite | Access::kRemoteAtomic);
  EXPECT_EQ(device().Get<spec::TableMr>(MgmtTable::kMr, mr.mrn),
            (spec::TableMr{.valid = true,
                           .dma = true,
                           .local_write = true,
                           .remote_atomic = true,
                           .key = spec::RdmaKey::FromWord(mr.lkey).key,
                           .pdn = static_cast<uint16_t>(pdn)}));
}

// A region that an invalidate may end, by its entry; its key is another one with each registration of its number, and
// never 0.
TEST_F(Objects, AnInvalidatableRegionHasTheBitAndKeysRotate) {
  const uint32_t pdn = bench().CreatePd();
  const spec::RdmaCmdRegUserMr request{.pdn = pdn,
                                       .access_flags = Access::kLocalWrite,
                                       .virt_addr = 0x3000,
                                       .length = 4096,
                                       .npages = 1,
                                       .invalidatable = 1};
  std::map<uint32_t, uint8_t> last;  // key by number
  for (unsigned i = 0; i < 300; ++i) {
    const auto mr = bench().RegUserMr(request, PageList(0x8000, 1));
    const auto key = spec::RdmaKey::FromWord(mr.lkey);
    EXPECT_TRUE(device().Get<spec::TableMr>(MgmtTable::kMr, mr.mrn).invalidatable);
    EXPECT_NE(key.key, 0);
    const auto found = last.find(key.index);
    EXPECT_TRUE(found == last.end() || key.key != found->second);
    last[key.index] = key.key;
    ASSERT_TRUE(bench().Roce(RdmaCtrlCmd::kDeregMr, BytesOf(spec::RdmaCmdDeregMr{.mrn = mr.mrn})).ok());
  }
}

// rfc-v2 does not know the right, and a device may be built without atomic operations.
TEST_F(Objects, RemoteAtomicIsRefusedWithoutAtomicOperations) {
  spec::Config without = spec::kNic1;
  without.atomics = 0;
  for (const BenchOptions& options :
       {BenchOptions{.profile = spec::Profile::kRfcV2}, BenchOptions{.config = &without}}) {
    Use(options);
    const auto query = bench().Roce(RdmaCtrlCmd::kQueryDevice).As<spec::RdmaAckQueryDevice>();
    EXPECT_EQ(query.atomic_cap, spec::RdmaAtomicCap::kNone);
    const uint32_t pdn = bench().CreatePd();
    const spec::RdmaCmdGetDmaMr request{.pdn = pdn, .access_flags = Access::kLocalWrite | Access::kRemoteAtomic};
    EXPECT_FALSE(bench().Roce(RdmaCtrlCmd::kGetDmaMr, BytesOf(request)).ok());
    const uint32_t qpn = bench().CreateQp(spec::IbQpType::kRc);
    auto modify = bench().ToInit(qpn);
    modify.qp_access_flags = Access::kRemoteAtomic;
    EXPECT_FALSE(bench().Roce(RdmaCtrlCmd::kModifyQp, BytesOf(modify)).ok());
  }
}

TEST_F(Objects, AtomicWriteIsReportedByABuildThatHasItOnly) {
  spec::Config without = spec::kNic1;
  without.atomic_write = 0;
  Use({.config = &without});
  const auto device = bench().Roce(RdmaCtrlCmd::kQueryDevice).As<spec::RdmaAckQueryDevice>();
  EXPECT_EQ(device.atomic_write, 0);
  EXPECT_EQ(device.atomic_cap, spec::RdmaAtomicCap::kHca);
}

TEST_F(Objects, FlushIsReportedAndAllowedByABuildThatHasItOnly) {
  spec::Config without = spec::kNic1;
  without.flush = 0;
  for (const BenchOptions& options :
       {BenchOptions{}, BenchOptions{.config = &without}, BenchOptions{.profile = spec::Profile::kRfcV2}}) {
    Use(options);
    const bool has = options.config != &without && options.profile != spec::Profile::kRfcV2;
    EXPECT_EQ(bench().Roce(RdmaCtrlCmd::kQueryDevice).As<spec::RdmaAckQueryDevice>().flush, has ? 3 : 0);
    const uint32_t pdn = bench().CreatePd();
    auto request = BytesOf(spec::RdmaCmdRegUserMr{
        .pdn = pdn, .access_flags = Access::kFlushGlobal, .virt_addr = 0x3000, .length = 4096, .npages = 1});
    const auto pages = PageList(0x8000, 1);
    request.insert(request.end(), pages.begin(), pages.end());
    EXPECT_EQ(bench().Roce(RdmaCtrlCmd::kRegUserMr, request).ok(), has);
    auto modify = bench().ToInit(bench().CreateQp(spec::IbQpType::kRc));
    modify.qp_access_flags = Access::kFlushGlobal;
    EXPECT_EQ(bench().Roce(RdmaCtrlCmd::kModifyQp, BytesOf(modify)).ok(), has);
  }
}

TEST_F(Objects, MemoryWindowsAreReportedAndAllowedByABuildThatHasThemOnly) {
  spec::Config without = spec::kNic1;
  without.memory_windows = 0;
  for (const BenchOptions& options :
       {BenchOptions{}, BenchOptions{.config = &without}, BenchOptions{.profile = spec::Profile::kRfcV2}}) {
    Use(options);
    const bool has = options.config != &without && options.profile != spec::Profile::kRfcV2;
    EXPECT_EQ(bench().Roce(RdmaCtrlCmd::kQueryDevice).As<spec::RdmaAckQueryDevice>().max_mw,
              has ? spec::kNic1.num_mrs : 0);
    const uint32_t pdn = bench().CreatePd();
    EXPECT_EQ(
        bench()
            .Roce(RdmaCtrlCmd::kAllocMw, BytesOf(spec::RdmaCmdAllocMw{.pdn = pdn, .mw_type = spec::RdmaMwType::kType1}))
            .ok(),
        has);
    const auto allows = [&](spec::RdmaCmdRegUserMr request) {
      request.pdn = pdn;
      request.virt_addr = 0x3000;
      request.length = 4096;
      request.npages = 1;
      auto bytes = BytesOf(request);
      const auto pages = PageList(0x8000, 1);
      bytes.insert(bytes.end(), pages.begin(), pages.end());
      return bench().Roce(RdmaCtrlCmd::kRegUserMr, bytes).ok();
    };
    EXPECT_EQ(allows({.access_flags = Access::kMwBind}), has);
    EXPECT_FALSE(allows({.access_flags = Access::kZeroBased}));
    EXPECT_FALSE(allows({.access_flags = Access::kMwBind, .invalidatable = 1}));
    const spec::RdmaCmdGetDmaMr all{.pdn = pdn, .access_flags = Access::kMwBind};
    EXPECT_FALSE(bench().Roce(RdmaCtrlCmd::kGetDmaMr, BytesOf(all)).ok());
  }
}

// The entry of a window, and what ends its binds.
TEST_F(Objects, MemoryWindowHasItsTypeAndIsUnboundWithItsQueuePair) {
  const uint32_t pdn = bench().CreatePd();
  const uint32_t qpn = bench().CreateQp(spec::IbQpType::kRc);
  const auto one = bench().AllocMw({.pdn = pdn, .mw_type = spec::RdmaMwType::kType1});
  const auto two = bench().AllocMw({.pdn = pdn, .mw_type = spec::RdmaMwType::kType2});
  const auto entry = [&](uint32_t mwn) { return device().Get<spec::TableMr>(MgmtTable::kMr, mwn); };
  EXPECT_EQ(entry(one.mwn), (spec::TableMr{.valid = true,
                                           .key = spec::RdmaKey::FromWord(one.rkey).key,
                                           .is_window = true,
                                           .pdn = static_cast<uint16_t>(pdn)}));
  EXPECT_EQ(entry(two.mwn), (spec::TableMr{.valid = true,
                                           .key = spec::RdmaKey::FromWord(two.rkey).key,
                                           .is_window = true,
                                           .is_type_2 = true,
                                           .pdn = static_cast<uint16_t>(pdn)}));
  EXPECT_EQ(spec::RdmaKey::FromWord(two.rkey).index, two.mwn);
  const auto other = bench().AllocMw({.pdn = pdn, .mw_type = spec::RdmaMwType::kType2});
  device().SetBound(one.mwn, true, 9, qpn);
  device().SetBound(two.mwn, true, 9, qpn);
  device().SetBound(other.mwn, true, 9, qpn + 1);
  ASSERT_TRUE(bench().Roce(RdmaCtrlCmd::kDestroyQp, BytesOf(spec::RdmaCmdDestroyQp{.qpn = qpn})).ok());
  EXPECT_TRUE(entry(one.mwn).is_bound) << "it is its domain's";
  EXPECT_FALSE(entry(two.mwn).is_bound);
  EXPECT_TRUE(entry(two.mwn).valid && entry(two.mwn).is_window);
  EXPECT_TRUE(entry(other.mwn).is_bound);
  ASSERT_TRUE(bench().Roce(RdmaCtrlCmd::kDeallocMw, BytesOf(spec::RdmaCmdDeallocMw{.mwn = one.mwn})).ok());
  EXPECT_EQ(entry(one.mwn), spec::TableMr{});
}

// Its pages are reserved, in pairs, until DEREG_MR; the device does the rest.
TEST_F(Objects, RegionOfWorkRequestsKeepsItsPages) {
  const uint32_t pdn = bench().CreatePd();
  const auto region = bench().AllocMr({.pdn = pdn, .max_pages = 3});
  const auto entry = [&](uint32_t mrn) { return device().Get<spec::TableMr>(MgmtTable::kMr, mrn); };
  const uint8_t key = spec::RdmaKey::FromWord(region.lkey).key;
  const uint32_t first = entry(region.mrn).first_translation;
  EXPECT_EQ(entry(region.mrn), (spec::TableMr{.invalidatable = true,
                                              .key = key,
                                              .is_fast = true,
                                              .npages = 4,
                                              .first_translation = first,
                                              .pdn = static_cast<uint16_t>(pdn)}));
  EXPECT_EQ(region.rkey, region.lkey);
  EXPECT_EQ(spec::RdmaKey::FromWord(region.rkey).index, region.mrn);
  const auto other = bench().AllocMr({.pdn = pdn, .max_pages = 2});
  const uint32_t others = entry(other.mrn).first_translation;
  EXPECT_TRUE(others + 2 <= first || first + 4 <= others) << others;
  const auto query = [&](uint32_t mrn) {
    return bench().Roce(RdmaCtrlCmd::kQueryMr, BytesOf(spec::RdmaCmdQueryMr{.mrn = mrn})).As<spec::RdmaAckQueryMr>();
  };
  spec::RdmaAckQueryMr expected{
      .lkey = region.lkey, .rkey = region.rkey, .pdn = pdn, .npages = 4, .invalidatable = 1, .is_fast = 1};
  EXPECT_EQ(query(region.mrn), expected);
  device().SetAlive(region.mrn, true, 0x77);
  expected.is_alive = 1;
  expected.lkey = expected.rkey = region.mrn << 8 | 0x77;
  EXPECT_EQ(query(region.mrn), expected);
  // It is the domain's, and its translations are free behind it.
  EXPECT_EQ(bench().Roce(RdmaCtrlCmd::kDestroyPd, BytesOf(spec::RdmaCmdDestroyPd{.pdn = pdn})).error(),
            RdmaError::kHandleBusy);
  ASSERT_TRUE(bench().Roce(RdmaCtrlCmd::kDeregMr, BytesOf(spec::RdmaCmdDeregMr{.mrn = region.mrn})).ok());
  EXPECT_EQ(entry(region.mrn), spec::TableMr{});
  EXPECT_EQ(entry(bench().AllocMr({.pdn = pdn, .max_pages = 4}).mrn).first_translation, first);
}

TEST_F(Objects, QueryTellsWhatARegionIs) {
  const uint32_t pdn = bench().CreatePd();
  const auto query = [&](uint32_t mrn) {
    return bench().Roce(RdmaCtrlCmd::kQueryMr, BytesOf(spec::RdmaCmdQueryMr{.mrn = mrn})).As<spec::RdmaAckQueryMr>();
  };
  const auto all = bench().GetDmaMr(pdn, Access::kLocalWrite);
  EXPECT_EQ(query(all.mrn),
            (spec::RdmaAckQueryMr{
                .lkey = all.lkey, .rkey = all.rkey, .pdn = pdn, .access_flags = Access::kLocalWrite, .is_alive = 1}));
  for (const uint32_t access :
       {uint32_t{Access::kLocalWrite}, Access::kLocalWrite | Access::kRemoteWrite, uint32_t{Access::kRemoteRead},
        Access::kLocalWrite | Access::kRemoteAtomic, uint32_t{Access::kFlushGlobal}, uint32_t{Access::kMwBind}, 0u}) {
    const spec::RdmaCmdRegUserMr request{
        .pdn = pdn, .access_flags = access, .virt_addr = 0x3123, .length = 8000, .npages = 3};
    const auto region = bench().RegUserMr(request, PageList(0x8000, 3));
    EXPECT_EQ(query(region.mrn), (spec::RdmaAckQueryMr{.lkey = region.lkey,
                                                       .rkey = region.rkey,
                                                       .pdn = pdn,
                                                       .access_flags = access,
                                                       .virt_addr = 0x3123,
                                                       .length = 8000,
                                                       .npages = 3,
                                                       .page_shift = 12,
                                                       .is_alive = 1}));
  }
  const spec::RdmaCmdRegUserMr request{.pdn = pdn, .virt_addr = 0x1000, .length = 1, .npages = 1, .invalidatable = 1};
  const auto region = bench().RegUserMr(request, PageList(0x8000, 1));
  EXPECT_EQ(query(region.mrn).is_alive, 1);
  device().SetAlive(region.mrn, false, 0);
  EXPECT_EQ(query(region.mrn).is_alive, 0);
  EXPECT_EQ(query(region.mrn).lkey, region.lkey) << "its last key";
  EXPECT_EQ(query(region.mrn).invalidatable, 1);
}

// A bind on its way when the command looked: the region's right is back.
TEST_F(Objects, RegionThatAWindowIsBoundToMeanwhileStays) {
  const uint32_t pdn = bench().CreatePd();
  const spec::RdmaCmdRegUserMr request{
      .pdn = pdn, .access_flags = Access::kMwBind, .virt_addr = 0x3000, .length = 4096, .npages = 1};
  const uint32_t mrn = bench().RegUserMr(request, PageList(0x8000, 1)).mrn;
  const uint32_t mwn = bench().AllocMw({.pdn = pdn, .mw_type = spec::RdmaMwType::kType2}).mwn;
  const auto before = device().Get<spec::TableMr>(MgmtTable::kMr, mrn);
  device().binds_at_write = MockDevice::LateBind{.mwn = mwn, .mrn = mrn};
  EXPECT_EQ(bench().Roce(RdmaCtrlCmd::kDeregMr, BytesOf(spec::RdmaCmdDeregMr{.mrn = mrn})).error(),
            RdmaError::kHandleBusy);
  EXPECT_EQ(device().Get<spec::TableMr>(MgmtTable::kMr, mrn), before);
  device().SetBound(mwn, false);
  EXPECT_TRUE(bench().Roce(RdmaCtrlCmd::kDeregMr, BytesOf(spec::RdmaCmdDeregMr{.mrn = mrn})).ok());
}

// The rights follow the memory: of a region that moves to other memory, what it was allowed counts, too.
TEST_F(Objects, PersistentFlushNeedsPersistentMemory) {
  using Flags = spec::RdmaReregFlags;
  const uint32_t pdn = bench().CreatePd();
  const auto mr = bench().RegUserMr({.pdn = pdn,
                                     .access_flags = Access::kFlushGlobal | Access::kFlushPersistent,
                                     .virt_addr = 0x3000,
                                     .length = 4096,
                                     .npages = 1,
                                     .is_pmem = 1},
                                    PageList(0x8000, 1));
  const auto entry = [&] { return device().Get<spec::TableMr>(MgmtTable::kMr, mr.mrn); };
  EXPECT_TRUE(entry().flush_global && entry().flush_persistent && entry().is_pmem);
  const auto change = [&](spec::RdmaCmdReregMr request) {
    request.mrn = mr.mrn;
    request.virt_addr = 0x3000;
    request.length = 4096;
    request.npages = 1;
    auto bytes = BytesOf(request);
    const auto pages = PageList(0x8000, 1);
    if ((request.flags & Flags::kTranslation) != 0) bytes.insert(bytes.end(), pages.begin(), pages.end());
    return bench().Roce(RdmaCtrlCmd::kReregMr, bytes).ok();
  };
  EXPECT_FALSE(change({.flags = Flags::kTranslation}));
  EXPECT_TRUE(entry().is_pmem && entry().flush_persistent);
  EXPECT_TRUE(change({.flags = Flags::kTranslation, .is_pmem = 1}));
  EXPECT_TRUE(change({.flags = Flags::kTranslation | Flags::kAccess, .access_flags = Access::kFlushGlobal}));
  EXPECT_FALSE(entry().is_pmem || entry().flush_persistent);
  EXPECT_FALSE(change({.flags = Flags::kAccess, .access_flags = Access::kFlushPersistent}));
  EXPECT_TRUE(
      change({.flags = Flags::kTranslation | Flags::kAccess, .access_flags = Access::kFlushPersistent, .is_pmem = 1}));
  EXPECT_TRUE(entry().is_pmem && entry().flush_persistent && !entry().flush_global);
}

TEST_F(Objects, KeysChangeWithEveryRegionAndAreNeverZero) {
  const uint32_t pdn = bench().CreatePd();
  std::map<uint32_t, uint32_t> last_key;
  for (int i = 0; i < 64 * 300; ++i) {
    const auto mr = bench().GetDmaMr(pdn);
    EXPECT_NE(spec::RdmaKey::FromWord(mr.lkey).key, 0);
    EXPECT_NE(mr.lkey, last_key[mr.mrn]) << "a stale key would give access to the next region";
    last_key[mr.mrn] = mr.lkey;
    ASSERT_TRUE(bench().Roce(RdmaCtrlCmd::kDeregMr, BytesOf(spec::RdmaCmdDeregMr{.mrn = mr.mrn})).ok());
  }
  EXPECT_EQ(last_key.size(), spec::kNic1.num_mrs);
}

TEST_F(Objects, KeysAreNotReusedAfterAReset) {
  std::set<uint32_t> keys;
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(keys.insert(bench().GetDmaMr(bench().CreatePd()).rkey).second);
    bench().Restart();
  }
}

TEST_F(Objects, AUserRegionStartsAndEndsWithinItsPages) {
  const uint32_t pdn = bench().CreatePd();
  // From 16 bytes before the end of a page to 16 bytes into another: 3 pages. (vhost-user-rdma rounded the start down.)
  const auto mr = bench().RegUserMr({.pdn = pdn,
                                     .access_flags = Access::kLocalWrite | Access::kRemoteWrite,
                                     .virt_addr = 0x7000'0000'0ff0,
                                     .length = 16 + 4096 + 16,
                                     .npages = 3},
                                    PageList(0x8000'0000, 3));
  const auto entry = device().Get<spec::TableMr>(MgmtTable::kMr, mr.mrn);
  EXPECT_EQ(entry, (spec::TableMr{.valid = true,
                                  .local_write = true,
                                  .remote_write = true,
                                  .key = spec::RdmaKey::FromWord(mr.rkey).key,
                                  .page_shift = 12,
                                  .npages = 3,
                                  .first_translation = entry.first_translation,
                                  .pdn = static_cast<uint16_t>(pdn),
                                  .virt_addr = 0x7000'0000'0ff0,
                                  .length = 16 + 4096 + 16}));
  for (uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(device().Get<spec::TableTranslation>(MgmtTable::kTranslation, entry.first_translation + i).address,
              0x8000'0000 + kPageBytes * i);
  }
}

TEST_F(Objects, ARegionMayEndAtTheEndOfTheAddressSpace) {
  const auto mr =
      bench().RegUserMr({.pdn = bench().CreatePd(), .virt_addr = ~uint64_t{0} - 8191, .length = 8192, .npages = 2},
                        PageList(0xffff'ffff'ffff'e000, 2));
  EXPECT_EQ(device().Get<spec::TableMr>(MgmtTable::kMr, mr.mrn).length, 8192u);
}

TEST_F(Objects, EveryPageSizeOfTheDeviceWorks) {
  const uint32_t pdn = bench().CreatePd();
  for (uint8_t shift = spec::kRdmaPageShiftMin; shift <= spec::kRdmaPageShiftMax; ++shift) {
    const auto mr = bench().RegUserMr(
        {.pdn = pdn, .virt_addr = (uint64_t{5} << shift) - 1, .length = 2, .npages = 2, .page_shift = shift},
        PageList(uint64_t{3} << shift, 2, shift));
    EXPECT_EQ(device().Get<spec::TableMr>(MgmtTable::kMr, mr.mrn).page_shift, shift);
  }
}

TEST_F(Objects, RfcV2PageSizeIsFixed) {
  Use({.profile = spec::Profile::kRfcV2});
  const auto mr = bench().RegUserMr({.pdn = bench().CreatePd(), .length = 8192, .npages = 2, .page_shift = 21},
                                    PageList(0x1000, 2));
  EXPECT_EQ(device().Get<spec::TableMr>(MgmtTable::kMr, mr.mrn).page_shift, 12);
}

TEST_F(Objects, DeregMrLeavesNoTranslation) {
  const auto mr =
      bench().RegUserMr({.pdn = bench().CreatePd(), .length = 100 * kPageBytes, .npages = 100}, PageList(0x1000, 100));
  EXPECT_TRUE(bench().Roce(RdmaCtrlCmd::kDeregMr, BytesOf(spec::RdmaCmdDeregMr{.mrn = mr.mrn})).ok());
  for (const auto& [key, bytes] : device().tables()) {
    EXPECT_NE(key.first, MgmtTable::kMr);
    EXPECT_NE(key.first, MgmtTable::kTranslation);
  }
}

// What is not selected stays, whatever its fields hold; so do keys.
TEST_F(Objects, ReregMrChangesWhatIsSelected) {
  using Flags = spec::RdmaReregFlags;
  const uint32_t pdn = bench().CreatePd(), other = bench().CreatePd();
  const auto mr = bench().RegUserMr(
      {.pdn = pdn, .access_flags = Access::kLocalWrite, .virt_addr = 0x3010, .length = 8192, .npages = 3},
      PageList(0x8000, 3));
  const auto entry = [&] { return device().Get<spec::TableMr>(MgmtTable::kMr, mr.mrn); };
  for (uint32_t flags = 1; flags < 8; ++flags) {
    SCOPED_TRACE(flags);
    auto expected = entry();
    const bool has_pages = (flags & Flags::kTranslation) != 0;
    spec::RdmaCmdReregMr request{.mrn = mr.mrn,
                                 .flags = flags,
                                 .pdn = (flags & Flags::kPd) == 0 ? ~0u
                                        : expected.pdn == pdn     ? other
                                                                  : pdn,
                                 .access_flags = (flags & Flags::kAccess) != 0 ? Access::kRemoteRead : ~0u,
                                 .virt_addr = has_pages ? 0x7f'0000'0fff + (uint64_t{flags} << 32) : ~uint64_t{0},
                                 .length = has_pages ? 2U : 0U,
                                 .npages = has_pages ? 2 : ~0u,
                                 .page_shift = static_cast<uint8_t>(has_pages ? 0 : 77)};
    auto bytes = BytesOf(request);
    if (has_pages) {
      const auto pages = PageList(0x10'0000 * flags, 2);
      bytes.insert(bytes.end(), pages.begin(), pages.end());
    }
    const auto ack = bench().Roce(RdmaCtrlCmd::kReregMr, bytes).As<spec::RdmaAckReregMr>();
    EXPECT_EQ(ack.lkey, mr.lkey);
    EXPECT_EQ(ack.rkey, mr.rkey);
    if (has_pages) {
      EXPECT_NE(entry().first_translation, expected.first_translation) << "the old pages are in use until the write";
      expected.first_translation = entry().first_translation;
      expected.npages = 2;
      expected.virt_addr = request.virt_addr;
      expected.length = 2;
      for (uint32_t i = 0; i < 2; ++i) {
        EXPECT_EQ(device().Get<spec::TableTranslation>(MgmtTable::kTranslation, expected.first_translation + i).address,
                  0x10'0000 * flags + kPageBytes * i);
      }
    }
    if ((flags & Flags::kPd) != 0) expected.pdn = static_cast<uint16_t>(request.pdn);
    if ((flags & Flags::kAccess) != 0) {
      expected.local_write = false;
      expected.remote_read = true;
    }
    EXPECT_EQ(entry(), expected);
    // Only its PD is in use, and only its pages.
    const uint32_t unused = expected.pdn == pdn ? other : pdn;
    EXPECT_TRUE(bench().Roce(RdmaCtrlCmd::kDestroyPd, BytesOf(spec::RdmaCmdDestroyPd{.pdn = unused})).ok());
    EXPECT_EQ(bench().Roce(RdmaCtrlCmd::kDestroyPd, BytesOf(spec::RdmaCmdDestroyPd{.pdn = expected.pdn})).error(),
              RdmaError::kHandleBusy);
    while (bench().CreatePd() != unused) continue;
    uint32_t translations = 0;
    for (const auto& [key, row] : device().tables()) translations += key.first == MgmtTable::kTranslation ? 1 : 0;
    EXPECT_EQ(translations, expected.npages);
  }
  ASSERT_TRUE(bench().Roce(RdmaCtrlCmd::kDeregMr, BytesOf(spec::RdmaCmdDeregMr{.mrn = mr.mrn})).ok());
  EXPECT_FALSE(device().tables().contains({MgmtTable::kMr, mr.mrn}));
}

// The device may have ended the region, which firmware does not see: its old key must not be valid again.
TEST_F(Objects, ReregMrOfAnInvalidatableRegionTakesAnotherKey) {
  const uint32_t pdn = bench().CreatePd();
  const auto mr = bench().RegUserMr(
      {.pdn = pdn, .access_flags = Access::kLocalWrite, .length = 4096, .npages = 1, .invalidatable = 1},
      PageList(0x8000, 1));
  std::set<uint32_t> keys = {mr.lkey};
  for (int i = 0; i < 300; ++i) {
    const auto ack =
        bench()
            .Roce(RdmaCtrlCmd::kReregMr,
                  BytesOf(spec::RdmaCmdReregMr{
                      .mrn = mr.mrn, .flags = spec::RdmaReregFlags::kAccess, .access_flags = Access::kRemoteRead}))
            .As<spec::RdmaAckReregMr>();
    EXPECT_EQ(ack.lkey, ack.rkey);
    const auto key = spec::RdmaKey::FromWord(ack.rkey);
    EXPECT_EQ(key.index, mr.mrn);
    EXPECT_NE(key.key, 0);
    if (i < 254) {
      EXPECT_TRUE(keys.insert(ack.rkey).second) << i;
    }
    const auto entry = device().Get<spec::TableMr>(MgmtTable::kMr, mr.mrn);
    EXPECT_EQ(entry.key, key.key);
    EXPECT_TRUE(entry.invalidatable && entry.valid && entry.remote_read && !entry.local_write);
  }
  // A refused one takes none.
  const auto before = device().Get<spec::TableMr>(MgmtTable::kMr, mr.mrn);
  EXPECT_FALSE(bench().Roce(RdmaCtrlCmd::kReregMr, BytesOf(spec::RdmaCmdReregMr{.mrn = mr.mrn, .flags = 8})).ok());
  EXPECT_EQ(device().Get<spec::TableMr>(MgmtTable::kMr, mr.mrn), before);
}

TEST_F(Objects, ReregMrMakesPagesOfADmaRegion) {
  const uint32_t pdn = bench().CreatePd();
  const auto mr = bench().GetDmaMr(pdn, Access::kLocalWrite);
  auto bytes = BytesOf(spec::RdmaCmdReregMr{
      .mrn = mr.mrn, .flags = spec::RdmaReregFlags::kTranslation, .virt_addr = 0x1000, .length = 4096, .npages = 1});
  const auto pages = PageList(0x9000, 1);
  bytes.insert(bytes.end(), pages.begin(), pages.end());
  EXPECT_EQ(bench().Roce(RdmaCtrlCmd::kReregMr, bytes).As<spec::RdmaAckReregMr>().rkey, mr.rkey);
  const auto entry = device().Get<spec::TableMr>(MgmtTable::kMr, mr.mrn);
  EXPECT_FALSE(entry.dma);
  EXPECT_TRUE(entry.local_write);
  EXPECT_EQ(entry.length, 4096u);
  EXPECT_EQ(entry.page_shift, spec::kRdmaPageShiftDefault);
}

TEST_F(Objects, AnAddressHandleCopiesItsGid) {
  spec::RdmaCmdAddGid gid{.index = 5, .flags = spec::RdmaGidFlags::kVlanPresent, .vlan = 0x6123};
  SetGid(gid.gid, 9, false);
  EXPECT_TRUE(bench().Roce(RdmaCtrlCmd::kAddGid, BytesOf(gid)).ok());
  const uint32_t pdn = bench().CreatePd();
  spec::RdmaCmdCreateAh request{.pdn = pdn};
  SetGid(request.ah_attr.grh.dgid, 44, false);
  request.ah_attr.grh.flow_label = 0xfffff;
  request.ah_attr.grh.sgid_index = 5;
  request.ah_attr.grh.hop_limit = 3;
  request.ah_attr.grh.traffic_class = 7;
  for (uint8_t i = 0; i < 6; ++i) request.ah_attr.dmac[i] = i;
  const uint32_t ah = bench().Roce(RdmaCtrlCmd::kCreateAh, BytesOf(request)).As<spec::RdmaAckCreateAh>().ah;
  const auto check = [&] {
    const auto entry = device().Get<spec::TableAh>(MgmtTable::kAh, ah);
    spec::TableAh expected{.valid = true,
                           .pdn = static_cast<uint16_t>(pdn),
                           .path = {.vlan = 0x6123,
                                    .flow_label = 0xfffff,
                                    .vlan_present = true,
                                    .traffic_class = 7,
                                    .hop_limit = 3,
                                    .sgid_index = 5}};
    SetGid(expected.path.dgid, 44, false);
    SetGid(expected.path.sgid, 9, false);
    for (uint8_t i = 0; i < 6; ++i) expected.path.dmac[i] = i;
    EXPECT_EQ(entry, expected);
  };
  check();
  EXPECT_TRUE(bench().Roce(RdmaCtrlCmd::kDelGid, BytesOf(spec::RdmaCmdDelGid{.index = 5})).ok());
  check();
  EXPECT_TRUE(bench().Roce(RdmaCtrlCmd::kDestroyAh, BytesOf(spec::RdmaCmdDestroyAh{.pdn = pdn, .ah = ah})).ok());
  EXPECT_FALSE(device().tables().contains({MgmtTable::kAh, ah}));
}

TEST_F(Objects, AddGidAndDelGid) {
  spec::RdmaCmdAddGid request{.index = 7, .gid_type = spec::RdmaGidType::kRoceV2, .flags = 1, .vlan = 0xeffe};
  SetGid(request.gid, 1);
  EXPECT_TRUE(bench().Roce(RdmaCtrlCmd::kAddGid, BytesOf(request)).ok());
  spec::TableGid expected{.valid = true, .vlan_present = true, .ipv4 = true, .vlan = 0xeffe};
  SetGid(expected.gid, 1);
  EXPECT_EQ(device().Get<spec::TableGid>(MgmtTable::kGid, 7), expected);
  // The same address in another VLAN, and without a VLAN.
  request.index = 6;
  request.vlan = 5;
  EXPECT_TRUE(bench().Roce(RdmaCtrlCmd::kAddGid, BytesOf(request)).ok());
  request = {.index = 0};
  SetGid(request.gid, 1);
  EXPECT_TRUE(bench().Roce(RdmaCtrlCmd::kAddGid, BytesOf(request)).ok());
  EXPECT_TRUE(bench().Roce(RdmaCtrlCmd::kDelGid, BytesOf(spec::RdmaCmdDelGid{.index = 7})).ok());
  EXPECT_FALSE(device().tables().contains({MgmtTable::kGid, 7}));
}

TEST_F(Objects, RfcV2GidHasNoTypeAndNoVlan) {
  Use({.profile = spec::Profile::kRfcV2});
  spec::RdmaCmdAddGid request{.index = 0, .gid_type = spec::RdmaGidType::kIbRoceV1, .flags = 0xff, .vlan = 0xfff};
  SetGid(request.gid, 1);
  EXPECT_TRUE(bench().Roce(RdmaCtrlCmd::kAddGid, BytesOf(request)).ok());
  const auto entry = device().Get<spec::TableGid>(MgmtTable::kGid, 0);
  EXPECT_FALSE(entry.vlan_present);
  EXPECT_EQ(entry.vlan, 0);
}

TEST_F(Objects, WindowIsSetAndRemoved) {
  const uint32_t index = bench().EventQueue();
  const auto set = [&](uint64_t base, uint64_t length, uint8_t flags) {
    EXPECT_TRUE(
        bench()
            .Roce(RdmaCtrlCmd::kSetWindow,
                  BytesOf(spec::RdmaCmdSetWindow{
                      .vq_index = static_cast<uint16_t>(index), .flags = flags, .base = base, .length = length}))
            .ok());
    return device().Get<spec::TableWindow>(MgmtTable::kWindow, index);
  };
  EXPECT_EQ(set(0x1000, 0x2000, 1), (spec::TableWindow{.enable = true, .base = 0x1000, .last = 0x2fff}));
  EXPECT_EQ(set(0, ~uint64_t{0}, 1), (spec::TableWindow{.enable = true, .base = 0, .last = ~uint64_t{1}}));
  EXPECT_EQ(set(~uint64_t{0}, 1, 1), (spec::TableWindow{.enable = true, .base = ~uint64_t{0}, .last = ~uint64_t{0}}));
  EXPECT_EQ(set(5, 0, 0), spec::TableWindow{}) << "base and length are ignored";
  set(1, 1, 1);
  device().ResetQueue(index);
  bench().Settle();
  EXPECT_FALSE(device().tables().contains({MgmtTable::kWindow, index}));
}

TEST_F(Objects, VirtqueueIndicesDependOnNegotiatedPairs) {
  Use({.config = &spec::kNic100, .features = {Bit(spec::NetFeature::kMq)}});
  EXPECT_EQ(bench().pairs(), 16u);
  const uint32_t qpn = bench().CreateQp(IbQpType::kRc);
  EXPECT_EQ(bench().Queue(bench().SendQueue(qpn)).kind, spec::TableQueueKind::kSq);
  EXPECT_EQ(bench().Queue(bench().ReceiveQueue(qpn)).kind, spec::TableQueueKind::kRq);
  EXPECT_EQ(bench().Queue(bench().ReceiveQueue(qpn)).owner, qpn);
  EXPECT_EQ(bench().Queue(bench().ControlQueue()).kind, spec::TableQueueKind::kControl);
  EXPECT_EQ(bench().Queue(bench().EventQueue()).kind, spec::TableQueueKind::kEvent);
}

}  // namespace
}  // namespace vireo::verif
