// SPDX-License-Identifier: Apache-2.0
// Control commands into the firmware on a mock device, interleaved with actions of driver and datapath. Every RoCE
// command must return the code of the reference (independent of the firmware's code); a refused one must not change the
// device's tables; and no device access may violate the contract.
//
// Input: a byte of Flags, then steps: a byte Step and its operands. Handles and indices in seeds are those that the
// firmware returns; both refuse unknown numbers.
#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <set>

#include "verif/firmware/bench.h"
#include "verif/firmware/reference.h"
#include "verif/fuzz/target.h"

namespace vireo::sim {
namespace {

using verif::Answer;
using verif::Bench;
using verif::BenchOptions;
using verif::Bit;
using verif::BytesOf;
using verif::IbQpState;
using verif::IbQpType;
using verif::kPageBytes;
using verif::MockDevice;
using verif::PageList;
using verif::RdmaCtrlCmd;
using verif::RdmaError;
using verif::Reference;
using verif::ReferenceQp;
using verif::SetGid;

enum Flags : uint8_t {
  kRfcV2 = 1,
  kNet = 2,  // with all features of net commands; no reference check, because the reference has one network queue pair
};
// The kind of step is the byte modulo their number.
enum class Step : uint8_t {
  kRoce,         // command, Shape, request
  kEnableQueue,  // index (2)
  kResetQueue,   // index (2)
  kDatapath,     // queue pair, state, outstanding
  kNetCommand,   // class, command, length, request
  kRestart,
  kCount,
};
// How a request differs from one with the right length and room for its response.
enum Shape : uint8_t { kOwnLength = 1, kOwnRoom = 2, kReadFails = 4 };
constexpr size_t kMostSteps = 200;
constexpr size_t kMostPages = 24;
constexpr uint32_t kRoom = 200;

class Run {
 public:
  Run(InputReader input, uint8_t flags)
      : input_(input),
        has_reference_((flags & kNet) == 0),
        bench_({.profile = (flags & kRfcV2) != 0 ? spec::Profile::kRfcV2 : spec::Profile::kVireo,
                .features = has_reference_ ? std::set<uint32_t>() : NetFeatures()}),
        reference_(MakeReference()) {}

  void Go() {
    for (size_t i = 0; i < kMostSteps && !input_.is_empty() && !bench_.control->fatal(); ++i) {
      switch (static_cast<Step>(input_.Byte() % static_cast<unsigned>(Step::kCount))) {
        case Step::kRoce: Roce(); break;
        case Step::kEnableQueue: EnableQueue(); break;
        case Step::kResetQueue: ResetQueue(); break;
        case Step::kDatapath: Datapath(); break;
        case Step::kNetCommand: NetCommand(); break;
        case Step::kRestart:
        case Step::kCount:
          reference_ = MakeReference();
          bench_.Restart();
          break;
      }
    }
    EXPECT_FALSE(bench_.control->fatal());
    for (const auto& violation : bench_.device.violations()) ADD_FAILURE() << violation;
  }

 private:
  static std::set<uint32_t> NetFeatures() {
    std::set<uint32_t> bits;
    for (const auto feature :
         {spec::NetFeature::kCtrlRx, spec::NetFeature::kCtrlRxExtra, spec::NetFeature::kCtrlVlan,
          spec::NetFeature::kCtrlMacAddr, spec::NetFeature::kMq, spec::NetFeature::kRss, spec::NetFeature::kHashReport,
          spec::NetFeature::kCtrlGuestOffloads, spec::NetFeature::kNotfCoal, spec::NetFeature::kVqNotfCoal,
          spec::NetFeature::kGuestAnnounce}) {
      bits.insert(Bit(feature));
    }
    return bits;
  }
  Reference MakeReference() const {
    return {verif::kFullNic1, bench_.options.profile, bench_.device.Register(spec::kMgmtMtuRegister)};
  }
  bool is_vireo() const { return bench_.options.profile == spec::Profile::kVireo; }

  void Roce() {
    const uint8_t number = input_.Byte();
    const uint8_t shape = input_.Byte();
    const auto command = static_cast<RdmaCtrlCmd>(number);
    size_t length =
        number < std::size(spec::kNetCtrlRoceCommands) ? spec::kNetCtrlRoceCommands[number].request_bytes : 0;
    if ((shape & kOwnLength) != 0) length = input_.Byte();
    Bytes request = input_.Fill(length);
    if (command == RdmaCtrlCmd::kRegUserMr && request.size() == spec::RdmaCmdRegUserMr::kBytes) {
      const uint64_t pages = spec::RdmaCmdRegUserMr::Decode(request.data()).npages;
      Append(request, input_.Fill(8 * std::min<uint64_t>(pages, kMostPages)));
    }
    if (command == RdmaCtrlCmd::kReregMr && request.size() == spec::RdmaCmdReregMr::kBytes) {
      const uint64_t pages = spec::RdmaCmdReregMr::Decode(request.data()).npages;
      Append(request, input_.Fill(8 * std::min<uint64_t>(pages, kMostPages)));
    }
    const uint32_t room = (shape & kOwnRoom) != 0 ? 1 + input_.Byte() % 0x90U : kRoom;
    // An unreadable request is always refused; the code depends on the failing offset.
    const uint64_t fails_from = (shape & kReadFails) != 0 ? input_.Byte() : ~uint64_t{0};
    const MockDevice::Tables before = bench_.device.tables();
    const Answer answer = bench_.Send(bench_.roce_class(), number, request, room, fails_from);
    ASSERT_FALSE(answer.is_empty());
    if (!answer.ok()) {
      EXPECT_EQ(answer.bytes.size(), 1U);
      EXPECT_NE(spec::ToString(answer.error()), nullptr);
      EXPECT_TRUE(bench_.device.tables() == before) << "command " << unsigned{number} << " changed the tables";
    }
    bench_.device.answers.clear();
    bench_.device.qp_operations.clear();
    if (!has_reference_) return;
    const RdmaError expected = reference_.Expect(command, request, room);
    if (fails_from < 2 + request.size()) {
      // If the failing offset was not read, only commands that do not need it may succeed.
      if (!answer.ok()) return;
    }
    const RdmaError ack = expected == RdmaError::kOk || is_vireo() ? expected : RdmaError::kErr;
    ASSERT_EQ(answer.error(), ack) << "command " << unsigned{number} << "; the reference expects "
                                   << spec::ToString(expected);
    if (!answer.ok()) return;
    ASSERT_EQ(reference_.Accept(command, request, {answer.bytes.begin() + 1, answer.bytes.end()}), "");
  }
  void EnableQueue() {
    const uint32_t index = input_.U16() % reference_.QueueCount();
    auto& queue = reference_.queues[index];
    // A driver enables a queue once until its reset.
    if (queue.enabled || bench_.Queue(index).enabled) return;
    reference_.EnableQueue(index);
    bench_.device.EnableQueue(index);
  }
  void ResetQueue() {
    const uint32_t index = input_.U16() % reference_.QueueCount();
    if (!reference_.queues[index].enabled) return;
    reference_.ResetQueue(index);
    bench_.device.ResetQueue(index);
    bench_.Settle();
  }
  // Possible actions of the engines on an active queue pair.
  void Datapath() {
    const uint32_t qpn = input_.Byte();
    const uint8_t what = input_.Byte();
    const auto found = reference_.qps.find(qpn);
    if (!has_reference_ || found == reference_.qps.end()) return;
    ReferenceQp& qp = found->second;
    if (qp.state == IbQpState::kRts && (what & 1) != 0) {
      qp.state = qp.type == IbQpType::kRc || (what & 2) != 0 ? IbQpState::kErr : IbQpState::kSqe;
    }
    qp.has_send_outstanding = (qp.state == IbQpState::kRts || qp.state == IbQpState::kSqd) && (what & 4) != 0;
    bench_.device.SetEngineState(qpn, qp.state);
    bench_.device.SetSendOutstanding(qpn, qp.has_send_outstanding ? 3 : 0);
    bench_.Settle();
  }
  void NetCommand() {
    const uint8_t ctrl_class = input_.Byte();
    const uint8_t command = input_.Byte();
    const Bytes request = input_.Fill(input_.Byte());
    if (ctrl_class == bench_.roce_class()) return;
    const Answer answer = bench_.Send(ctrl_class, command, request, 1 + input_.Byte());
    ASSERT_FALSE(answer.is_empty());
    EXPECT_LE(answer.bytes.back(), static_cast<uint8_t>(spec::NetCtrlAck::kErr));
    bench_.device.answers.clear();
  }

  InputReader input_;
  const bool has_reference_;
  Bench bench_;
  Reference reference_;
};

// --- Seeds

void Command(Bytes& seed, RdmaCtrlCmd command, const Bytes& request = {}) {
  seed.push_back(static_cast<uint8_t>(Step::kRoce));
  seed.push_back(static_cast<uint8_t>(command));
  seed.push_back(0);
  Append(seed, request);
}
void Queue(Bytes& seed, Step step, uint32_t index) {
  seed.push_back(static_cast<uint8_t>(step));
  Put(seed, index, 2);
}

// A queue pair from creation to RTS and back, with all required objects.
Bytes LifecycleOf(IbQpType type, uint8_t flags) {
  Bytes seed = {flags};
  // Handle numbers as after start.
  Bench bench(BenchOptions{});
  bench.AddGid(0, 1);
  const uint32_t qpn = bench.CreateQp(type);
  const auto context = bench.device.Qp(qpn);
  spec::RdmaCmdAddGid gid{.index = 0};
  SetGid(gid.gid, 1);
  Command(seed, RdmaCtrlCmd::kAddGid, BytesOf(gid));
  Command(seed, RdmaCtrlCmd::kCreateCq, BytesOf(spec::RdmaCmdCreateCq{.cqe = 16}));
  Command(seed, RdmaCtrlCmd::kCreatePd);
  Command(
      seed, RdmaCtrlCmd::kCreateQp,
      BytesOf(spec::RdmaCmdCreateQp{
          .pdn = 0,
          .qp_type = type,
          .send_cqn = context.send_cqn,
          .recv_cqn = context.recv_cqn,
          .cap = {.max_send_wr = 8, .max_recv_wr = 16, .max_send_sge = 2, .max_recv_sge = 3, .max_inline_data = 64}}));
  for (const uint32_t index : {bench.SendQueue(qpn), bench.ReceiveQueue(qpn), bench.CqQueue(context.send_cqn)}) {
    Queue(seed, Step::kEnableQueue, index);
  }
  bench.EnableQueues(qpn);
  const auto modify = [&](const spec::RdmaCmdModifyQp& request) {
    EXPECT_EQ(bench.Modify(request), RdmaError::kOk);
    Command(seed, RdmaCtrlCmd::kModifyQp, BytesOf(request));
  };
  modify(bench.ToInit(qpn));
  modify(bench.ToRtr(qpn));
  modify(bench.ToRts(qpn));
  Command(seed, RdmaCtrlCmd::kQueryQp, BytesOf(spec::RdmaCmdQueryQp{.qpn = qpn}));
  for (const uint8_t byte : {static_cast<uint8_t>(Step::kDatapath), static_cast<uint8_t>(qpn), uint8_t{4}}) {
    seed.push_back(byte);
  }
  modify(bench.ToState(qpn, IbQpState::kSqd));
  Queue(seed, Step::kResetQueue, bench.SendQueue(qpn));
  modify(bench.ToState(qpn, IbQpState::kReset));
  Command(seed, RdmaCtrlCmd::kDestroyQp, BytesOf(spec::RdmaCmdDestroyQp{.qpn = qpn}));
  Command(seed, RdmaCtrlCmd::kDestroyPd, BytesOf(spec::RdmaCmdDestroyPd{}));
  Command(seed, RdmaCtrlCmd::kDestroyCq, BytesOf(spec::RdmaCmdDestroyCq{.cqn = context.send_cqn}));
  return seed;
}

Bytes Objects(uint8_t flags) {
  Bytes seed = {flags};
  Command(seed, RdmaCtrlCmd::kQueryDevice);
  Command(seed, RdmaCtrlCmd::kQueryPort);
  Command(seed, RdmaCtrlCmd::kCreatePd);
  Command(seed, RdmaCtrlCmd::kGetDmaMr, BytesOf(spec::RdmaCmdGetDmaMr{.pdn = 0, .access_flags = 1}));
  Bytes region = BytesOf(spec::RdmaCmdRegUserMr{
      .pdn = 0, .access_flags = 7, .virt_addr = 0x7f00'0000'0123, .length = 3 * kPageBytes - 0x123, .npages = 3});
  Append(region, PageList(0x10'0000, 3));
  Command(seed, RdmaCtrlCmd::kRegUserMr, region);
  Bytes change = BytesOf(spec::RdmaCmdReregMr{
      .mrn = 1, .flags = 7, .pdn = 0, .access_flags = 1, .virt_addr = 0x10fff, .length = 2, .npages = 2});
  Append(change, PageList(0x20'0000, 2));
  Command(seed, RdmaCtrlCmd::kReregMr, change);
  Command(seed, RdmaCtrlCmd::kDeregMr, BytesOf(spec::RdmaCmdDeregMr{.mrn = 1}));
  Command(seed, RdmaCtrlCmd::kAllocMw, BytesOf(spec::RdmaCmdAllocMw{.pdn = 0, .mw_type = spec::RdmaMwType::kType2}));
  Command(seed, RdmaCtrlCmd::kDeallocMw, BytesOf(spec::RdmaCmdDeallocMw{.mwn = 2}));
  Command(seed, RdmaCtrlCmd::kAllocMr, BytesOf(spec::RdmaCmdAllocMr{.pdn = 0, .max_pages = 3}));
  Command(seed, RdmaCtrlCmd::kQueryMr, BytesOf(spec::RdmaCmdQueryMr{.mrn = 3}));
  Command(seed, RdmaCtrlCmd::kCreateExtendedCq, BytesOf(spec::RdmaCmdCreateExtendedCq{.cqe = 4, .elements = 1}));
  Command(seed, RdmaCtrlCmd::kQueryClock, {});
  spec::RdmaCmdAttachMcast attach{.qpn = 3};
  attach.mgid[0] = 0xff;
  Command(seed, RdmaCtrlCmd::kAttachMcast, BytesOf(attach));
  Command(seed, RdmaCtrlCmd::kDetachMcast, BytesOf(attach));
  spec::RdmaCmdAddGid gid{.index = 1, .gid_type = spec::RdmaGidType::kRoceV2};
  SetGid(gid.gid, 3, false);
  Command(seed, RdmaCtrlCmd::kAddGid, BytesOf(gid));
  spec::RdmaCmdCreateAh address{.pdn = 0};
  SetGid(address.ah_attr.grh.dgid, 99, false);
  address.ah_attr.grh.sgid_index = 1;
  Command(seed, RdmaCtrlCmd::kCreateAh, BytesOf(address));
  Command(seed, RdmaCtrlCmd::kDestroyAh, BytesOf(spec::RdmaCmdDestroyAh{}));
  Command(seed, RdmaCtrlCmd::kDelGid, BytesOf(spec::RdmaCmdDelGid{.index = 1}));
  Command(seed, RdmaCtrlCmd::kCreateCq, BytesOf(spec::RdmaCmdCreateCq{.cqe = 100}));
  Command(seed, RdmaCtrlCmd::kReqNotifyCq, BytesOf(spec::RdmaCmdReqNotify{.cqn = 0, .flags = 2}));
  Command(seed, RdmaCtrlCmd::kSetWindow,
          BytesOf(spec::RdmaCmdSetWindow{.vq_index = 3, .flags = 1, .base = 0x1000, .length = 0x2000}));
  seed.push_back(static_cast<uint8_t>(Step::kRestart));
  return seed;
}

// One of every net command, with virtio's length.
Bytes NetCommands() {
  Bytes seed = {kNet};
  const auto add = [&](uint8_t ctrl_class, uint8_t command, const Bytes& request) {
    for (const size_t byte :
         {static_cast<size_t>(Step::kNetCommand), size_t{ctrl_class}, size_t{command}, request.size()}) {
      seed.push_back(static_cast<uint8_t>(byte));
    }
    Append(seed, request);
    seed.push_back(63);  // room
  };
  for (uint8_t command = 0; command < 6; ++command) add(static_cast<uint8_t>(spec::NetCtrlClass::kRx), command, {1});
  add(static_cast<uint8_t>(spec::NetCtrlClass::kMac), 0, {1, 0, 0, 0, 2, 0, 0, 0, 0, 7, 0, 0, 0, 0});
  add(static_cast<uint8_t>(spec::NetCtrlClass::kMac), 1, {2, 0, 0, 0, 0, 9});
  for (uint8_t command = 0; command < 2; ++command)
    add(static_cast<uint8_t>(spec::NetCtrlClass::kVlan), command, {5, 0});
  add(static_cast<uint8_t>(spec::NetCtrlClass::kAnnounce), 0, {});
  add(static_cast<uint8_t>(spec::NetCtrlClass::kMq), 0, {1, 0});
  Bytes rss(8 + 4 + 2 + 40);
  rss[0] = 0x3f, rss[4] = 1, rss[12] = 2, rss[14] = 40;
  add(static_cast<uint8_t>(spec::NetCtrlClass::kMq), 1, rss);
  add(static_cast<uint8_t>(spec::NetCtrlClass::kMq), 2, rss);
  add(static_cast<uint8_t>(spec::NetCtrlClass::kGuestOffloads), 0, {3, 0, 0, 0, 0, 0, 0, 0});
  for (uint8_t command = 0; command < 4; ++command) {
    add(static_cast<uint8_t>(spec::NetCtrlClass::kNotfCoal), command, {1, 0, 0, 0, 8, 0, 0, 0, 10, 0, 0, 0});
  }
  return seed;
}

}  // namespace

std::vector<Bytes> Seeds() {
  std::vector<Bytes> seeds;
  for (const uint8_t flags : std::initializer_list<uint8_t>{0, 1}) {
    for (const auto type : {IbQpType::kRc, IbQpType::kUc, IbQpType::kUd}) seeds.push_back(LifecycleOf(type, flags));
    seeds.push_back(Objects(flags));
  }
  seeds.push_back(NetCommands());
  return seeds;
}

}  // namespace vireo::sim

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace vireo::sim;  // NOLINT(google-build-using-namespace)
  InputReader input({data, size});
  const uint8_t flags = input.Byte();
  Run(input, flags).Go();
  return 0;
}
