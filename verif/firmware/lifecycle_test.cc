// SPDX-License-Identifier: Apache-2.0
// Start, negotiation, resets, link, and a misbehaving device: the firmware stops, it never hangs.
#include <gtest/gtest.h>

#include <algorithm>

#include "verif/firmware/bench.h"

namespace vireo::verif {
namespace {

using Lifecycle = FirmwareTest;
using Mask = spec::IbQpAttrMask;
using spec::QpOperation;

spec::MgmtControl ControlOf(const MockDevice& device) {
  return device.RegisterAs<spec::MgmtControl>(spec::kMgmtControlRegister);
}

// --- Start -----------------------------------------------------------------------------------------------------------

TEST_F(Lifecycle, StartInitializesTheDevice) {
  Use({.brings_up = false});
  EXPECT_EQ(ControlOf(device()), (spec::MgmtControl{.firmware_ready = true, .link_up = true}));
  const auto enable = device().RegisterAs<spec::MgmtInterruptCause>(spec::kMgmtInterruptEnableRegister);
  EXPECT_TRUE(enable.mailbox_request && enable.device_reset && enable.queue_reset && enable.qp_done && enable.fatal);
  EXPECT_FALSE(bench().control->Poll()) << "idle";
}

TEST_F(Lifecycle, OptionsAreWrittenToRegisters) {
  Use({.brings_up = false});
  firmware::Firmware other(device().MakeCsr(), {.has_mac = true, .mac = {2, 0, 0, 0, 0xab, 0xcd}, .mtu = 4200});
  ASSERT_TRUE(other.Start());
  EXPECT_EQ(device().Register(spec::kMgmtMacLowRegister), 2u);
  EXPECT_EQ(device().Register(spec::kMgmtMacHighRegister), 0xcdabu);
  EXPECT_EQ(device().Register(spec::kMgmtMtuRegister), 4200u);
}

TEST_F(Lifecycle, IncompatibleDeviceIsRefused) {
  MockDevice mock(spec::kNic1, spec::Profile::kVireo);
  const auto start_with = [&](uint32_t offset, uint32_t value) {
    const uint32_t old = mock.Register(offset);
    mock.Force(offset, value);
    firmware::Firmware control(mock.MakeCsr());
    const bool started = control.Start();
    if (!started) {
      EXPECT_FALSE(control.Poll());
      EXPECT_FALSE(ControlOf(mock).firmware_ready);
    }
    mock.Force(offset, old);
    return started;
  };
  EXPECT_FALSE(start_with(spec::kMgmtIdRegister, 0));
  EXPECT_FALSE(start_with(spec::kMgmtIdRegister, ~0u));
  EXPECT_FALSE(start_with(spec::kMgmtVersionRegister, 0x00010000));
  // Parameters 3 to 10 of configs.toml beyond the firmware's limits.
  for (uint32_t parameter = 3; parameter <= 10; ++parameter) {
    EXPECT_FALSE(start_with(spec::kMgmtParameterRegister + 4 * parameter, 70000)) << parameter;
  }
  EXPECT_TRUE(start_with(spec::kMgmtVersionRegister, 0x00020005)) << "compatible additions";
}

TEST_F(Lifecycle, DriverOkStartsTheDatapath) {
  Use({.brings_up = false});
  EXPECT_FALSE(ControlOf(device()).datapath_enable);
  bench().BringUp();
  EXPECT_TRUE(ControlOf(device()).datapath_enable);
  EXPECT_EQ(bench().Queue(0).kind, spec::TableQueueKind::kReceive);
  EXPECT_EQ(bench().Queue(1).kind, spec::TableQueueKind::kTransmit);
  EXPECT_EQ(bench().Queue(2).kind, spec::TableQueueKind::kControl);
  EXPECT_EQ(bench().Queue(bench().EventQueue()).kind, spec::TableQueueKind::kEvent);
}

TEST_F(Lifecycle, CommandsAreServedInOrder) {
  for (int i = 0; i < 5; ++i) {
    device().Post({.readable = {bench().roce_class(), static_cast<uint8_t>(RdmaCtrlCmd::kCreatePd)}, .writable = 5});
  }
  EXPECT_TRUE(device().IsInterruptRaised());
  bench().Settle();
  EXPECT_FALSE(device().IsInterruptRaised());
  ASSERT_EQ(device().answers.size(), 5u);
  for (uint32_t i = 0; i < 5; ++i) EXPECT_EQ(spec::RdmaAckCreatePd::Decode(device().answers[i].data() + 1).pdn, i);
}

TEST_F(Lifecycle, StateFitsTheControlProcessorsMemory) {
  std::printf("state of the firmware: %zu bytes natively\n", firmware::kFirmwareBytes);
  EXPECT_LE(firmware::kFirmwareBytes, 32u * 1024);
}

// --- Device reset ----------------------------------------------------------------------------------------------------

TEST_F(Lifecycle, ResetClearsAllState) {
  for (const auto profile : {spec::Profile::kVireo, spec::Profile::kRfcV2}) {
    Use({.profile = profile,
         .features = {Bit(spec::NetFeature::kCtrlVlan), Bit(spec::NetFeature::kCtrlRx), Bit(spec::NetFeature::kRss),
                      Bit(spec::NetFeature::kMq)}});
    bench().AddGid(0, 1);
    for (auto state : {IbQpState::kInit, IbQpState::kRts, IbQpState::kSqd, IbQpState::kErr}) {
      bench().Bring(bench().CreateQp(IbQpType::kRc), state);
    }
    bench().CreateQp(IbQpType::kGsi);
    const uint32_t pdn = bench().CreatePd();
    bench().GetDmaMr(pdn);
    bench().RegUserMr({.pdn = pdn, .length = 70 * kPageBytes, .npages = 70}, PageList(0, 70));
    bench().CreateAh(pdn);
    EXPECT_TRUE(bench().Net(spec::NetCtrlClass::kRx, spec::NetCtrlRxCmd::kPromisc, {1}));
    EXPECT_TRUE(bench().Net(spec::NetCtrlClass::kVlan, spec::NetCtrlVlanCmd::kAdd, {7, 0}));
    EXPECT_TRUE(bench().Net(spec::NetCtrlClass::kMac, spec::NetCtrlMacCmd::kTableSet,
                            {1, 0, 0, 0, 2, 0, 0, 0, 0, 1, 0, 0, 0, 0}));
    if (profile == spec::Profile::kVireo) {
      EXPECT_TRUE(
          bench()
              .Roce(RdmaCtrlCmd::kSetWindow, BytesOf(spec::RdmaCmdSetWindow{.vq_index = 5, .flags = 1, .length = 9}))
              .ok());
    }
    bench().Roce(RdmaCtrlCmd::kDestroyCq, BytesOf(spec::RdmaCmdDestroyCq{.cqn = bench().CreateCq()}));
    device().idle_delay = 50;
    device().ResetDevice();
    bench().Settle();
    EXPECT_FALSE(device().IsResetPending());
    EXPECT_TRUE(device().tables().empty());
    EXPECT_EQ(device().Register(spec::kMgmtRxModeRegister), 0u);
    EXPECT_EQ(ControlOf(device()), (spec::MgmtControl{.firmware_ready = true, .link_up = true}));
    bench().BringUp();
    // As after start: numbers start again.
    EXPECT_EQ(bench().CreatePd(), 0u);
    EXPECT_EQ(bench().CreateCq(), 0u);
    EXPECT_EQ(bench().CreateQp({.qp_type = IbQpType::kRc}), spec::kRdmaFirstQpn);
  }
}

TEST_F(Lifecycle, ResetDoesNotWaitForADrain) {
  bench().AddGid(0, 1);
  const uint32_t qpn = bench().CreateQp(IbQpType::kRc);
  bench().Bring(qpn, IbQpState::kRts);
  device().SetSendOutstanding(qpn, 3);
  EXPECT_EQ(bench().Modify(bench().ToState(qpn, IbQpState::kSqd)), RdmaError::kOk);
  bench().Restart();
  EXPECT_TRUE(device().events.empty());
  EXPECT_FALSE(bench().control->fatal());
}

TEST_F(Lifecycle, TheProfileMayChangeAcrossAReset) {
  device().ResetDevice();
  device().Force(spec::kMgmtAbiProfileRegister, static_cast<uint32_t>(spec::Profile::kRfcV2));
  bench().Settle();
  device().SetFeatures({Bit(spec::NetFeature::kCtrlVq), spec::ConstantsOf(spec::Profile::kRfcV2).net_f_roce});
  device().SetDriverOk();
  bench().Settle();
  const uint8_t ctrl_class = spec::ConstantsOf(spec::Profile::kRfcV2).net_ctrl_class_roce;
  EXPECT_TRUE(bench().Send(ctrl_class, static_cast<uint8_t>(RdmaCtrlCmd::kQueryPort), {}).ok());
  EXPECT_EQ(bench().Send(ctrl_class, static_cast<uint8_t>(RdmaCtrlCmd::kSetWindow), std::vector<uint8_t>(24)).error(),
            RdmaError::kErr);
}

// --- Queue reset -----------------------------------------------------------------------------------------------------

spec::RdmaEvent QpFatal(uint32_t qpn, RdmaError code) {
  return {.event_type = spec::RdmaEventType::kQpFatal, .element = qpn, .code = static_cast<uint8_t>(code)};
}
spec::RdmaEvent CqErr(uint32_t cqn, RdmaError code) {
  return {.event_type = spec::RdmaEventType::kCqErr, .element = cqn, .code = static_cast<uint8_t>(code)};
}

TEST_F(Lifecycle, QueueResetOfAnActiveQpMovesItToErr) {
  bench().AddGid(0, 1);
  for (const bool send : {true, false}) {
    for (const auto state : {IbQpState::kInit, IbQpState::kRtr, IbQpState::kRts, IbQpState::kSqd, IbQpState::kSqe}) {
      const uint32_t qpn = bench().CreateQp(IbQpType::kRc);
      bench().Bring(qpn, state);
      device().events.clear();
      device().qp_operations.clear();
      device().queue_resets_done.clear();
      const uint32_t index = send ? bench().SendQueue(qpn) : bench().ReceiveQueue(qpn);
      device().ResetQueue(index);
      bench().Settle();
      EXPECT_EQ(device().Qp(qpn).engine_state, IbQpState::kErr);
      EXPECT_EQ(device().events, std::vector<spec::RdmaEvent>{QpFatal(qpn, RdmaError::kQueueReset)});
      EXPECT_EQ(device().qp_operations, (std::vector<QpOperationRecord>{{qpn, QpOperation::kFlush}}));
      EXPECT_EQ(device().queue_resets_done, std::vector<uint32_t>{index});
      bench().Roce(RdmaCtrlCmd::kDestroyQp, BytesOf(spec::RdmaCmdDestroyQp{.qpn = qpn}));
    }
  }
}

TEST_F(Lifecycle, QueueResetOfAQpInResetOrErrChangesNothing) {
  for (const auto state : {IbQpState::kReset, IbQpState::kErr}) {
    const uint32_t qpn = bench().CreateQp(IbQpType::kRc);
    bench().Bring(qpn, state);
    device().ResetQueue(bench().SendQueue(qpn));
    bench().Settle();
    EXPECT_EQ(device().Qp(qpn).engine_state, state);
  }
  EXPECT_TRUE(device().events.empty());
  EXPECT_EQ(device().queue_resets_done.size(), 2u);
}

TEST_F(Lifecycle, QueueResetOfAnActiveCqFailsItAndItsQps) {
  bench().AddGid(0, 1);
  const uint32_t cqn = bench().CreateCq(), other = bench().CreateCq(), pdn = bench().CreatePd();
  const auto create = [&](uint32_t send_cqn, uint32_t recv_cqn) {
    return bench().CreateQp({.pdn = pdn,
                             .qp_type = IbQpType::kRc,
                             .send_cqn = send_cqn,
                             .recv_cqn = recv_cqn,
                             .cap = {.max_send_wr = 1, .max_recv_wr = 1}});
  };
  const uint32_t sends = create(cqn, other), receives = create(other, cqn), neither = create(other, other),
                 idle = create(cqn, cqn);
  for (uint32_t qpn : {sends, receives, neither}) bench().Bring(qpn, IbQpState::kRts);
  device().ResetQueue(bench().CqQueue(cqn));
  bench().Settle();
  EXPECT_EQ(device().events,
            (std::vector<spec::RdmaEvent>{CqErr(cqn, RdmaError::kQueueReset), QpFatal(sends, RdmaError::kCqFailed),
                                          QpFatal(receives, RdmaError::kCqFailed)}));
  EXPECT_TRUE(device().Get<spec::TableCqContext>(MgmtTable::kCqContext, cqn).failed);
  EXPECT_EQ(device().Qp(neither).engine_state, IbQpState::kRts);
  EXPECT_EQ(device().Qp(idle).engine_state, IbQpState::kReset);
  // Again: it has already failed.
  device().ResetQueue(bench().CqQueue(cqn));
  bench().Settle();
  EXPECT_EQ(device().events.size(), 3u);
  // It stays failed, whatever is enabled.
  device().EnableQueue(bench().CqQueue(cqn));
  bench().EnableQueues(idle);
  EXPECT_EQ(bench().Modify(bench().ToInit(idle)), RdmaError::kOk);
  EXPECT_EQ(bench().Modify(bench().ToRtr(idle)), RdmaError::kQueueNotReady);
  for (uint32_t qpn : {sends, receives, idle}) {
    EXPECT_TRUE(bench().Roce(RdmaCtrlCmd::kDestroyQp, BytesOf(spec::RdmaCmdDestroyQp{.qpn = qpn})).ok());
  }
  EXPECT_TRUE(bench().Roce(RdmaCtrlCmd::kDestroyCq, BytesOf(spec::RdmaCmdDestroyCq{.cqn = cqn})).ok());
}

// More events than the device has room for, and it takes them slowly.
TEST_F(Lifecycle, EveryEventWaitsForRoom) {
  device().event_delay = 20;
  const uint32_t cqn = bench().CreateCq(), pdn = bench().CreatePd();
  bench().AddGid(0, 1);
  std::vector<spec::RdmaEvent> expected = {CqErr(cqn, RdmaError::kQueueReset)};
  for (uint32_t i = 0; i + spec::kRdmaFirstQpn < spec::kNic1.num_qps; ++i) {
    const uint32_t qpn = bench().CreateQp({.pdn = pdn,
                                           .qp_type = IbQpType::kRc,
                                           .send_cqn = cqn,
                                           .recv_cqn = cqn,
                                           .cap = {.max_send_wr = 1, .max_recv_wr = 1}});
    bench().Bring(qpn, IbQpState::kRts);
    expected.push_back(QpFatal(qpn, RdmaError::kCqFailed));
  }
  device().ResetQueue(bench().CqQueue(cqn));
  bench().Settle();
  EXPECT_EQ(device().events, expected);
  EXPECT_EQ(device().violations(), std::vector<std::string>{});
}

TEST_F(Lifecycle, SeveralQueueResetsAreAllAcknowledged) {
  const std::vector<uint32_t> queues = {0, 1, 2, bench().EventQueue(), bench().CqQueue(3), bench().SendQueue(7)};
  for (uint32_t index : queues) device().ResetQueue(index);
  bench().Settle();
  EXPECT_EQ(device().queue_resets_done, queues);
}

TEST_F(Lifecycle, QueueResetCompletesWhenTheDeviceIsQuiet) {
  device().quiet_delay = 50;
  const uint64_t before = device().accesses;
  device().ResetQueue(0);
  bench().Settle();
  EXPECT_EQ(device().queue_resets_done, std::vector<uint32_t>{0});
  EXPECT_GT(device().accesses, before + device().quiet_delay);
  EXPECT_FALSE(ControlOf(device()).pause);
}

// Only blocks that keep buffers beyond the ring have to be waited for; all other tenants would wait, too.
TEST_F(Lifecycle, ResetOfAQueueWithoutWorkOfItsOwnPausesNobody) {
  const uint32_t cqn = bench().CreateCq();
  const uint32_t unused = bench().CreateCq();
  const uint32_t qpn = bench().CreateQp({.pdn = bench().CreatePd(),
                                         .qp_type = IbQpType::kRc,
                                         .send_cqn = cqn,
                                         .recv_cqn = cqn,
                                         .cap = {.max_send_wr = 1, .max_recv_wr = 1}});
  bench().EnableQueues(qpn);
  EXPECT_EQ(bench().Modify(bench().ToInit(qpn)), RdmaError::kOk);
  EXPECT_TRUE(bench().Roce(RdmaCtrlCmd::kDestroyQp, BytesOf(spec::RdmaCmdDestroyQp{.qpn = qpn})).ok());
  ASSERT_TRUE(bench().Queue(bench().SendQueue(qpn)).stopped);
  device().is_never_quiet = true;
  const std::vector<uint32_t> queues = {bench().EventQueue(),      bench().CqQueue(unused),   bench().CqQueue(cqn),
                                        bench().SendQueue(qpn),    bench().ReceiveQueue(qpn), bench().ControlQueue(),
                                        bench().SendQueue(qpn + 1)};
  for (uint32_t index : queues) device().ResetQueue(index);
  bench().Settle();
  EXPECT_EQ(device().queue_resets_done, queues);
  EXPECT_FALSE(bench().control->fatal());
}

TEST_F(Lifecycle, CommandThatIsDiscardedWhileItIsReadHasNoEffect) {
  device().discards_at_fetch = true;
  device().Post({.readable = {bench().roce_class(), static_cast<uint8_t>(RdmaCtrlCmd::kCreatePd)}, .writable = 5});
  bench().Settle();
  EXPECT_TRUE(device().answers.empty());
  EXPECT_EQ(bench().CreatePd(), 0u);
}

TEST_F(Lifecycle, ConcurrentRequestsAreAllServed) {
  const uint32_t cqn = bench().CreateCq();
  device().answers.clear();
  device().ResetQueue(bench().CqQueue(cqn));
  device().SetLink(false);
  for (int i = 0; i < 2; ++i) {
    device().Post({.readable = {bench().roce_class(), static_cast<uint8_t>(RdmaCtrlCmd::kCreatePd)}, .writable = 5});
  }
  bench().Settle();
  EXPECT_EQ(device().queue_resets_done, std::vector<uint32_t>{bench().CqQueue(cqn)});
  EXPECT_EQ(device().answers.size(), 2u);
  EXPECT_EQ(device().events.size(), 2u);
  EXPECT_FALSE(device().IsInterruptRaised());
}

TEST_F(Lifecycle, RfcV2SendsNoEventsOfStateChanges) {
  Use({.profile = spec::Profile::kRfcV2});
  bench().AddGid(0, 1);
  const uint32_t qpn = bench().CreateQp(IbQpType::kRc);
  bench().Bring(qpn, IbQpState::kSqd);
  device().ResetQueue(bench().SendQueue(qpn));
  device().SetLink(false);
  bench().Settle();
  EXPECT_EQ(device().Qp(qpn).engine_state, IbQpState::kErr);
  EXPECT_TRUE(device().events.empty());
}

// --- Link ------------------------------------------------------------------------------------------------------------

TEST_F(Lifecycle, LinkChangesAreReported) {
  device().SetLink(false);
  bench().Settle();
  EXPECT_FALSE(ControlOf(device()).link_up);
  device().SetLink(true);
  bench().Settle();
  EXPECT_TRUE(ControlOf(device()).link_up);
  device().SetLink(true);
  bench().Settle();
  const auto event = [](spec::RdmaEventType type) {
    return spec::RdmaEvent{.event_type = type, .element = spec::kRdmaPortNum};
  };
  EXPECT_EQ(device().events, (std::vector<spec::RdmaEvent>{event(spec::RdmaEventType::kPortErr),
                                                           event(spec::RdmaEventType::kPortActive)}));
}

TEST_F(Lifecycle, NoEventBeforeDriverOk) {
  Use({.brings_up = false});
  device().SetLink(false);
  bench().Settle();
  EXPECT_FALSE(ControlOf(device()).link_up);
  EXPECT_TRUE(device().events.empty());
}

// --- A device that misbehaves ----------------------------------------------------------------------------------------

class MisbehavingDevice : public FirmwareTest {
 protected:
  void SetUp() override {
    bench().AddGid(0, 1);
    qpn_ = bench().CreateQp(IbQpType::kRc);
    bench().Bring(qpn_, IbQpState::kRts);
    device().events.clear();
  }
  void ExpectFatal() {
    EXPECT_TRUE(bench().control->fatal());
    EXPECT_FALSE(ControlOf(device()).firmware_ready);
    EXPECT_FALSE(ControlOf(device()).datapath_enable);
    const spec::RdmaEvent event{.event_type = spec::RdmaEventType::kDeviceFatal,
                                .code = static_cast<uint8_t>(RdmaError::kInternal)};
    EXPECT_EQ(device().events, std::vector<spec::RdmaEvent>{event});
    // Commands are no longer served, and nothing hangs.
    const size_t answers = device().answers.size();
    const uint64_t accesses = device().accesses;
    device().Post({.readable = {bench().roce_class(), static_cast<uint8_t>(RdmaCtrlCmd::kQueryPort)}, .writable = 64});
    EXPECT_FALSE(bench().control->Poll());
    EXPECT_EQ(device().answers.size(), answers);
    EXPECT_LT(device().accesses - accesses, 10u);
  }
  void ExpectRecovery() {
    device().is_table_stuck = device().is_qp_stuck = device().is_fetch_stuck = device().is_complete_stuck = false;
    device().tables_stick_after.reset();
    device().missing_tables.clear();
    // The state of a broken device is undefined.
    device().Set(MgmtTable::kTranslation, 1000, spec::TableTranslation{.address = 0x1000});
    device().Set(MgmtTable::kMr, 63, spec::TableMr{.valid = true});
    device().Set(MgmtTable::kQpContext, 15, spec::TableQpContext{.valid = true, .engine_state = IbQpState::kRts});
    bench().Restart();
    EXPECT_FALSE(bench().control->fatal());
    EXPECT_EQ(bench().CreatePd(), 0u);
  }
  uint32_t qpn_ = 0;
};

TEST_F(MisbehavingDevice, TableThatStaysBusyIsFatal) {
  device().is_table_stuck = true;
  const uint64_t accesses = device().accesses;
  EXPECT_EQ(bench().Roce(RdmaCtrlCmd::kQueryQp, BytesOf(spec::RdmaCmdQueryQp{.qpn = qpn_})).error(),
            RdmaError::kInternal);
  EXPECT_LT(device().accesses - accesses, 2000u) << "one bounded wait in total, not one per access";
  ExpectFatal();
  ExpectRecovery();
}

TEST_F(MisbehavingDevice, MissingTableIsFatal) {
  device().missing_tables = {MgmtTable::kCqContext};
  EXPECT_EQ(bench().Roce(RdmaCtrlCmd::kCreateCq, BytesOf(spec::RdmaCmdCreateCq{.cqe = 1})).error(),
            RdmaError::kInternal);
  ExpectFatal();
  ExpectRecovery();
}

TEST_F(MisbehavingDevice, HangingQpOperationIsFatal) {
  for (const auto state : {IbQpState::kErr, IbQpState::kReset}) {
    device().is_qp_stuck = true;
    EXPECT_EQ(bench().Modify(bench().ToState(qpn_, state)), RdmaError::kInternal);
    ExpectFatal();
    ExpectRecovery();
    bench().AddGid(0, 1);
    qpn_ = bench().CreateQp(IbQpType::kRc);
    bench().Bring(qpn_, IbQpState::kRts);
    device().events.clear();
  }
  device().is_qp_stuck = true;
  EXPECT_EQ(bench().Roce(RdmaCtrlCmd::kDestroyQp, BytesOf(spec::RdmaCmdDestroyQp{.qpn = qpn_})).error(),
            RdmaError::kInternal);
  ExpectFatal();
}

TEST_F(MisbehavingDevice, HangingFetchIsFatal) {
  device().is_fetch_stuck = true;
  EXPECT_EQ(bench().Roce(RdmaCtrlCmd::kQueryPort).error(), RdmaError::kInternal);
  ExpectFatal();
  ExpectRecovery();
}

TEST_F(MisbehavingDevice, HangingCompletionIsFatal) {
  device().is_complete_stuck = true;
  bench().Roce(RdmaCtrlCmd::kQueryPort);
  ExpectFatal();
}

TEST_F(MisbehavingDevice, BusyDeviceDoesNotCompleteItsReset) {
  device().is_never_idle = true;
  device().ResetDevice();
  bench().Settle();
  EXPECT_TRUE(bench().control->fatal());
  EXPECT_TRUE(device().IsResetPending());
  EXPECT_FALSE(bench().control->Poll());
  device().is_never_idle = false;
  bench().Settle();
  EXPECT_FALSE(device().IsResetPending());
  EXPECT_FALSE(bench().control->fatal());
}

TEST_F(MisbehavingDevice, FailedResetIsRestarted) {
  const uint32_t all = spec::kNic1.num_translations;
  const uint32_t pdn = bench().CreatePd();
  bench().RegUserMr({.pdn = pdn, .length = all * kPageBytes, .npages = all}, PageList(0, all));
  device().is_table_stuck = true;
  device().ResetDevice();
  bench().Settle();
  EXPECT_TRUE(device().IsResetPending());
  device().is_table_stuck = false;
  bench().Settle();
  EXPECT_FALSE(device().IsResetPending());
  bench().BringUp();
  EXPECT_EQ(bench().CreatePd(), 0u);
  bench().RegUserMr({.pdn = 0, .length = all * kPageBytes, .npages = all}, PageList(0, all));
}

TEST_F(MisbehavingDevice, QueueResetAfterFatalErrorIsNotAcknowledged) {
  device().is_table_stuck = true;
  device().ResetQueue(bench().SendQueue(qpn_));
  bench().Settle();
  EXPECT_TRUE(bench().control->fatal());
  EXPECT_TRUE(device().queue_resets_done.empty());
}

TEST_F(MisbehavingDevice, QueueResetOfABusyDeviceIsNotAcknowledged) {
  device().is_never_quiet = true;
  device().ResetQueue(0);
  bench().Settle();
  EXPECT_TRUE(bench().control->fatal());
  EXPECT_TRUE(device().queue_resets_done.empty());
  EXPECT_FALSE(ControlOf(device()).pause);
}

TEST_F(MisbehavingDevice, EventsThatAreNeverTakenStopTheFirmware) {
  device().is_event_stuck = true;
  device().ResetQueue(bench().SendQueue(qpn_));
  bench().Settle();
  EXPECT_TRUE(bench().control->fatal());
  EXPECT_TRUE(device().queue_resets_done.empty());
  device().is_event_stuck = false;
  device().ResetDevice();
  bench().Settle();
  EXPECT_FALSE(bench().control->fatal());
}

TEST_F(MisbehavingDevice, DeviceFatalErrorStopsTheFirmware) {
  device().RaiseFatal(spec::FatalCause::kBus);
  bench().Settle();
  ExpectFatal();
}

TEST_F(MisbehavingDevice, ParityErrorRefusesTheCommandAndResetRewritesTheEntry) {
  device().corrupt_entries = {{MgmtTable::kQpContext, qpn_}};
  EXPECT_EQ(bench().Roce(RdmaCtrlCmd::kQueryQp, BytesOf(spec::RdmaCmdQueryQp{.qpn = qpn_})).error(),
            RdmaError::kInternal);
  bench().Settle();
  ExpectFatal();
  device().corrupt_entries.insert({MgmtTable::kQpContext, 15});  // of an unused QP
  device().corrupt_entries.insert({MgmtTable::kTranslation, 7});
  device().qp_operations.clear();
  ExpectRecovery();
  EXPECT_TRUE(device().corrupt_entries.empty());
  // A QP whose entry cannot be read is stopped.
  EXPECT_NE(std::ranges::find(device().qp_operations, QpOperationRecord{15, spec::QpOperation::kStop}),
            device().qp_operations.end());
}

TEST_F(MisbehavingDevice, ResetBeforeFatalErrorIsHandledClearsTheTables) {
  device().RaiseFatal(spec::FatalCause::kMemory);
  device().corrupt_entries = {{MgmtTable::kVirtqueue, 3}, {MgmtTable::kMr, 60}};
  ExpectRecovery();
  EXPECT_TRUE(device().corrupt_entries.empty());
}

// At whatever access of a command the tables fail: one answer, `internal`, and the firmware stops.
TEST_F(MisbehavingDevice, TablesFailAtEveryAccessOfACommand) {
  int tried = 0;
  for (uint64_t after = 0;; ++after, ++tried) {
    Use({});
    bench().AddGid(0, 1);
    const uint32_t pdn = bench().CreatePd();
    auto request = BytesOf(spec::RdmaCmdRegUserMr{.pdn = pdn, .length = 80 * kPageBytes, .npages = 80});
    auto pages = PageList(0, 80);
    pages[size_t{8} * 79] = 1;  // causes a rollback at the end
    request.insert(request.end(), pages.begin(), pages.end());
    device().tables_stick_after = after;
    const auto error = bench().Roce(RdmaCtrlCmd::kRegUserMr, request).error();
    if (error == RdmaError::kUnalignedPage) break;
    ASSERT_EQ(error, RdmaError::kInternal) << after;
    ASSERT_TRUE(bench().control->fatal());
  }
  EXPECT_EQ(tried, 79 + 79) << "each write and each clear of the rollback";
}

}  // namespace
}  // namespace vireo::verif
