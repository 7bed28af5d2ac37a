// SPDX-License-Identifier: Apache-2.0
// Random valid and invalid commands against the reference, and against a second instance that receives only the
// accepted ones: side effects of refused commands show as a difference between the two.
#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <string>

#include "sim/common/random.h"
#include "sim/common/seed.h"
#include "verif/firmware/bench.h"
#include "verif/firmware/reference.h"

namespace vireo::verif {
namespace {

using Mask = spec::IbQpAttrMask;
constexpr int kCommands = 200'000;

class Stream {
 public:
  explicit Stream(spec::Profile profile)
      : random_(sim::MakeRandom(profile == spec::Profile::kVireo ? "vireo" : "rfc-v2")),
        bench_({.profile = profile}),
        twin_({.profile = profile}),
        reference_(kFullNic1, profile, bench_.device.Register(spec::kMgmtMtuRegister)) {}

  void Run() {
    while (commands_ < kCommands && !::testing::Test::HasFatalFailure()) {
      if (Chance(2)) Disturb();
      SCOPED_TRACE("command " + std::to_string(commands_));
      Command();
    }
    EXPECT_TRUE(bench_.device.tables() == twin_.device.tables());
    EXPECT_TRUE(bench_.device.events == twin_.device.events);
    for (const auto& violation : bench_.device.violations()) ADD_FAILURE() << violation;
    std::printf("%d commands:", kCommands);
    for (const auto& [code, count] : seen_) std::printf(" %s %d", spec::ToString(code), count);
    std::printf("\nstates entered:");
    for (const auto& [state, count] : states_) std::printf(" %s %d", spec::ToString(state), count);
    std::printf("\n");
    EXPECT_EQ(states_.size(), 6u) << "all states but sqe";
    // All command error codes must occur, except those of a broken device and of features.
    for (unsigned value = 2; value < 128; ++value) {
      const RdmaError code{static_cast<uint8_t>(value)};
      if (spec::ToString(code) == nullptr || code == RdmaError::kFeatureNotNegotiated || code == RdmaError::kInternal)
        continue;
      const bool only_vireo =
          code == RdmaError::kBadVqIndex || code == RdmaError::kInvalidWindow || code == RdmaError::kInvalidVlan ||
          code == RdmaError::kUnsupportedGidType || code == RdmaError::kInvalidPageSize ||
          code == RdmaError::kBadSrqn || code == RdmaError::kNoFreeSrq || code == RdmaError::kUnsupportedCqElement ||
          code == RdmaError::kNotAUdQp || code == RdmaError::kNotAttached || code == RdmaError::kNoFreeMcast;
      if (only_vireo && !is_vireo()) continue;
      EXPECT_GT(seen_[code], 0) << spec::ToString(code);
    }
  }

 private:
  bool is_vireo() const { return bench_.options.profile == spec::Profile::kVireo; }
  uint32_t Below(uint64_t bound) { return static_cast<uint32_t>(sim::UniformBelow(random_, bound)); }
  bool Chance(uint64_t one_in) { return Below(one_in) == 0; }
  // A key of the map, or occasionally an unknown one.
  template <typename Container>
  uint32_t Pick(const Container& container) {
    if (container.empty() || Chance(40)) return Chance(4) ? static_cast<uint32_t>(random_()) : Below(70);
    auto it = container.begin();
    std::advance(it, Below(container.size()));
    if constexpr (requires { it->first; }) {
      return it->first;
    } else {
      return *it;
    }
  }
  uint32_t Number(uint32_t limit) { return Chance(30) ? static_cast<uint32_t>(random_()) : Below(uint64_t{limit} + 2); }
  void Gid(uint8_t* gid) {
    SetGid(gid, static_cast<uint8_t>(Below(6)), !Chance(4));
    if (Chance(25)) gid[12] = 0xe1;
    if (Chance(40)) gid[0] = 0xff;
    if (Chance(40)) std::fill(gid, gid + 16, 0);
  }
  spec::RdmaAhAttr Path() {
    spec::RdmaAhAttr path;
    Gid(path.grh.dgid);
    path.grh.flow_label = Number(0xfffff);
    path.grh.sgid_index = static_cast<uint8_t>(Pick(reference_.gids));
    path.grh.hop_limit = static_cast<uint8_t>(random_());
    return path;
  }

  // Concurrent actions of driver and datapath, equal for both instances.
  void Disturb() {
    if (Chance(20'000)) {
      reference_ = Reference(kFullNic1, bench_.options.profile, bench_.device.Register(spec::kMgmtMtuRegister));
      bench_.Restart();
      twin_.Restart();
      return;
    }
    if (Chance(6) && !reference_.mws.empty() && !reference_.mrs.empty()) {
      // A work request binds a window, or ends that.
      auto& [mwn, mw] = *std::next(reference_.mws.begin(), Below(reference_.mws.size()));
      const auto& [mrn, mr] = *std::next(reference_.mrs.begin(), Below(reference_.mrs.size()));
      const bool binds = !mw.bound_to.has_value() && mr.may_bind && mr.pdn == mw.pdn;
      mw.bound_to = binds ? std::optional(mrn) : std::nullopt;
      mw.bound_by = binds ? Below(spec::kNic1.num_qps) : 0;
      for (Bench* bench : {&bench_, &twin_}) bench->device.SetBound(mwn, binds, mrn, mw.bound_by);
      return;
    }
    if (Chance(12) && !reference_.qps.empty()) {
      const uint32_t qpn = Pick(reference_.qps);
      const auto found = reference_.qps.find(qpn);
      if (found == reference_.qps.end()) return;
      auto& qp = found->second;
      if (qp.state == IbQpState::kRts && Chance(3))
        qp.state = qp.type == IbQpType::kRc || Chance(2) ? IbQpState::kErr : IbQpState::kSqe;
      qp.has_send_outstanding = (qp.state == IbQpState::kRts || qp.state == IbQpState::kSqd) && Chance(3);
      for (Bench* bench : {&bench_, &twin_}) {
        bench->device.SetEngineState(qpn, qp.state);
        bench->device.SetSendOutstanding(qpn, qp.has_send_outstanding ? 3 : 0);
        bench->Settle();
      }
      return;
    }
    uint32_t index = Below(reference_.QueueCount());
    if (!reference_.qps.empty() && !Chance(4)) {
      const auto& [qpn, qp] = *std::next(reference_.qps.begin(), Below(reference_.qps.size()));
      const uint32_t queues[] = {reference_.SendQueue(qpn), reference_.ReceiveQueue(qp.srq.value_or(qpn)),
                                 reference_.CqQueue(qp.send_cqn), reference_.CqQueue(qp.recv_cqn)};
      index = queues[Below(4)];
    }
    const auto& queue = reference_.queues[index];
    if (!queue.enabled) {
      reference_.EnableQueue(index);
      for (Bench* bench : {&bench_, &twin_}) bench->device.EnableQueue(index);
    } else if (queue.stopped || Chance(100)) {
      reference_.ResetQueue(index);
      for (Bench* bench : {&bench_, &twin_}) {
        bench->device.ResetQueue(index);
        bench->Settle();
      }
    }
  }

  spec::RdmaCmdModifyQp Modify() {
    spec::RdmaCmdModifyQp request{.qpn = Pick(reference_.qps)};
    const auto found = reference_.qps.find(request.qpn);
    const ReferenceQp qp = found == reference_.qps.end() ? ReferenceQp{} : found->second;
    // Mostly the usual next state.
    static constexpr IbQpState next[] = {IbQpState::kInit, IbQpState::kRtr, IbQpState::kRts,  IbQpState::kSqd,
                                         IbQpState::kRts,  IbQpState::kRts, IbQpState::kReset};
    request.qp_state = Chance(4) ? IbQpState{static_cast<uint8_t>(Below(8))} : next[static_cast<unsigned>(qp.state)];
    request.cur_qp_state = Chance(10) ? IbQpState{static_cast<uint8_t>(Below(8))} : qp.state;
    request.attr_mask = Chance(12) ? 0u : Mask::kState;
    const auto to = request.attr_mask != 0 ? request.qp_state : qp.state;
    if (const QpRule* rule = QpRuleOf(qp.type, qp.state, to)) {
      request.attr_mask |= rule->required | (rule->allowed & static_cast<uint32_t>(random_()));
    }
    if (Chance(6)) request.attr_mask |= Mask::kCurState;
    if (Chance(15)) request.attr_mask ^= uint32_t{1} << Below(20);
    request.path_mtu = spec::IbMtu{static_cast<uint8_t>(1 + Below(5))};
    request.max_rd_atomic = static_cast<uint8_t>(Below(spec::kNic1.max_rd_atomic + 1));
    request.max_dest_rd_atomic = static_cast<uint8_t>(Below(spec::kNic1.max_rd_atomic + 1));
    request.min_rnr_timer = static_cast<uint8_t>(Below(32));
    request.timeout = static_cast<uint8_t>(Below(32));
    request.retry_cnt = static_cast<uint8_t>(Below(8));
    request.rnr_retry = static_cast<uint8_t>(Below(8));
    request.qkey = static_cast<uint32_t>(random_());
    request.rq_psn = Below(1u << 24);
    request.sq_psn = Below(1u << 24);
    request.dest_qp_num = Below(1u << 24);
    request.qp_access_flags = Chance(30) ? Below(32) : Below(16);
    request.ah_attr = Path();
    if (Chance(10)) {  // out of range
      switch (Below(8)) {
        case 0: request.path_mtu = spec::IbMtu{static_cast<uint8_t>(6 * Below(2))}; break;
        case 1: request.max_rd_atomic = 200; break;
        case 2: request.max_dest_rd_atomic = 5; break;
        case 3: request.min_rnr_timer = 32; break;
        case 4: request.timeout = 0xff; break;
        case 5: request.rq_psn = 0x1000000; break;
        case 6: request.sq_psn = ~0u; break;
        case 7: request.rate_limit = 1; break;
      }
    }
    return request;
  }

  std::vector<uint8_t> Region() {
    const uint32_t pages = Chance(5) ? 1 + Below(400) : 1 + Below(20);
    const uint8_t shift = Chance(6) ? static_cast<uint8_t>(Below(34)) : uint8_t{0};
    const unsigned used_shift = is_vireo() && shift != 0 ? shift : 12;
    spec::RdmaCmdRegUserMr request{.pdn = Pick(reference_.pds),
                                   .access_flags = Chance(30)                ? Below(64)
                                                   : is_vireo() && Chance(2) ? Below(8) * 2 + 17
                                                                             : Below(8) * 2 + 1,
                                   .npages = pages,
                                   .page_shift = shift,
                                   .invalidatable = static_cast<uint8_t>(Chance(4) ? 1 : 0),
                                   .is_pmem = static_cast<uint8_t>(Chance(3)    ? 1
                                                                   : Chance(50) ? 2
                                                                                : 0)};
    if (is_vireo() && Chance(3)) request.access_flags |= (Chance(2) ? 1U : 1 + Below(3)) << 8;
    const uint64_t page = uint64_t{1} << used_shift;
    request.virt_addr = (random_() >> 8 & ~(page - 1)) + Below(page);
    request.length = pages * page - request.virt_addr % page;
    if (pages > 1 && Chance(2)) request.length -= Below(page);
    if (Chance(30)) request.length = Chance(2) ? 0 : random_();
    if (Chance(60)) request.virt_addr = ~uint64_t{0} - Below(3);
    if (Chance(30)) request.npages += 1;
    if (Chance(200)) request.npages = spec::kNic1.num_translations + 1;
    auto bytes = BytesOf(request);
    auto list = PageList((random_() >> 16) << used_shift, std::max(pages, Chance(30) ? pages : request.npages),
                         static_cast<uint8_t>(used_shift));
    if (Chance(10)) list[size_t{8} * Below(pages)] = 1;
    bytes.insert(bytes.end(), list.begin(), list.end());
    return bytes;
  }

  // Any change of a region: of what, mostly valid.
  std::vector<uint8_t> RegionChange() {
    const auto region = Region();
    const auto like = spec::RdmaCmdRegUserMr::Decode(region.data());
    auto bytes = BytesOf(spec::RdmaCmdReregMr{.mrn = Pick(reference_.mrs),
                                              .flags = Chance(20) ? Below(16) : 1 + Below(7),
                                              .pdn = like.pdn,
                                              .access_flags = like.access_flags,
                                              .virt_addr = like.virt_addr,
                                              .length = like.length,
                                              .npages = like.npages,
                                              .page_shift = like.page_shift,
                                              .is_pmem = like.is_pmem});
    bytes.insert(bytes.end(), region.begin() + spec::RdmaCmdRegUserMr::kBytes, region.end());
    return bytes;
  }

  std::vector<uint8_t> Request(RdmaCtrlCmd command) {
    switch (command) {
      case RdmaCtrlCmd::kCreateCq: return BytesOf(spec::RdmaCmdCreateCq{.cqe = Number(spec::kNic1.max_queue_entries)});
      case RdmaCtrlCmd::kCreateExtendedCq:
        return BytesOf(spec::RdmaCmdCreateExtendedCq{.cqe = Number(spec::kNic1.max_queue_entries),
                                                     .elements = Chance(20) ? Below(4) : 1});
      case RdmaCtrlCmd::kDestroyCq: return BytesOf(spec::RdmaCmdDestroyCq{.cqn = Pick(reference_.cqs)});
      case RdmaCtrlCmd::kDestroyPd: return BytesOf(spec::RdmaCmdDestroyPd{.pdn = Pick(reference_.pds)});
      case RdmaCtrlCmd::kGetDmaMr:
        return BytesOf(spec::RdmaCmdGetDmaMr{.pdn = Pick(reference_.pds), .access_flags = Below(17)});
      case RdmaCtrlCmd::kRegUserMr: return Region();
      case RdmaCtrlCmd::kReregMr: return RegionChange();
      case RdmaCtrlCmd::kDeregMr:
        return BytesOf(spec::RdmaCmdDeregMr{.mrn = Chance(20) ? Pick(reference_.mws) : Pick(reference_.mrs)});
      case RdmaCtrlCmd::kAllocMw:
        return BytesOf(spec::RdmaCmdAllocMw{
            .pdn = Pick(reference_.pds),
            .mw_type = spec::RdmaMwType{static_cast<uint8_t>(Chance(10) ? Below(4) : 1 + Below(2))}});
      case RdmaCtrlCmd::kAllocMr:
        return BytesOf(
            spec::RdmaCmdAllocMr{.pdn = Pick(reference_.pds), .max_pages = Chance(10) ? Number(9) : Below(9)});
      case RdmaCtrlCmd::kQueryMr:
        return BytesOf(spec::RdmaCmdQueryMr{.mrn = Chance(20) ? Pick(reference_.mws) : Pick(reference_.mrs)});
      case RdmaCtrlCmd::kDeallocMw:
        return BytesOf(spec::RdmaCmdDeallocMw{.mwn = Chance(20) ? Pick(reference_.mrs) : Pick(reference_.mws)});
      case RdmaCtrlCmd::kCreateQp:
        return BytesOf(
            spec::RdmaCmdCreateQp{.pdn = Pick(reference_.pds),
                                  .qp_type = IbQpType{static_cast<uint8_t>(Chance(10) ? Below(7) : 1 + Below(4))},
                                  .sq_sig_all = static_cast<uint8_t>(Below(2)),
                                  .has_srq = static_cast<uint8_t>(Chance(4) ? 1 : 0),
                                  .send_cqn = Pick(reference_.cqs),
                                  .recv_cqn = Pick(reference_.cqs),
                                  .cap = {.max_send_wr = Number(spec::kNic1.max_queue_entries),
                                          .max_recv_wr = Chance(4) ? 0 : Number(spec::kNic1.max_queue_entries),
                                          .max_send_sge = Chance(20) ? Number(4) : Below(5),
                                          .max_recv_sge = Chance(20) ? Number(4) : Below(5),
                                          .max_inline_data = Number(512)},
                                  .srqn = Pick(reference_.srqs)});
      case RdmaCtrlCmd::kModifyQp: return BytesOf(Modify());
      case RdmaCtrlCmd::kQueryQp: return BytesOf(spec::RdmaCmdQueryQp{.qpn = Pick(reference_.qps)});
      case RdmaCtrlCmd::kDestroyQp: return BytesOf(spec::RdmaCmdDestroyQp{.qpn = Pick(reference_.qps)});
      case RdmaCtrlCmd::kCreateAh:
        return BytesOf(spec::RdmaCmdCreateAh{.pdn = Pick(reference_.pds), .ah_attr = Path()});
      case RdmaCtrlCmd::kDestroyAh: {
        const uint32_t ah = Pick(reference_.ahs);
        const auto found = reference_.ahs.find(ah);
        const uint32_t pdn = found == reference_.ahs.end() || Chance(10) ? Pick(reference_.pds) : found->second;
        return BytesOf(spec::RdmaCmdDestroyAh{.pdn = pdn, .ah = ah});
      }
      case RdmaCtrlCmd::kAddGid: {
        spec::RdmaCmdAddGid request{
            .index = static_cast<uint16_t>(Number(spec::kNic1.num_gids)),
            .gid_type = spec::RdmaGidType{static_cast<uint8_t>(Chance(10) ? Below(4) : 2 * Below(2))},
            .flags = static_cast<uint8_t>(Chance(20) ? Below(4) : Below(2))};
        request.vlan = static_cast<uint16_t>(Chance(20)           ? random_()
                                             : request.flags == 0 ? 0
                                                                  : Below(3) + 0x1000 * Below(2));
        if (Chance(30)) request.vlan = 0xfff;
        Gid(request.gid);
        return BytesOf(request);
      }
      case RdmaCtrlCmd::kDelGid:
        return BytesOf(spec::RdmaCmdDelGid{.index = static_cast<uint16_t>(Pick(reference_.gids))});
      case RdmaCtrlCmd::kReqNotifyCq:
        return BytesOf(spec::RdmaCmdReqNotify{.cqn = Pick(reference_.cqs), .flags = Below(5)});
      case RdmaCtrlCmd::kSetWindow:
        return BytesOf(spec::RdmaCmdSetWindow{.vq_index = static_cast<uint16_t>(Number(reference_.QueueCount())),
                                              .flags = static_cast<uint8_t>(Chance(10) ? random_() : 1),
                                              .base = random_() >> Below(64),
                                              .length = Chance(10) ? 0 : random_() >> Below(64)});
      case RdmaCtrlCmd::kCreateSrq:
        return BytesOf(spec::RdmaCmdCreateSrq{.pdn = Pick(reference_.pds),
                                              .max_wr = Number(spec::kNic1.max_queue_entries),
                                              .max_sge = Chance(20) ? Number(4) : Below(5)});
      case RdmaCtrlCmd::kModifySrq:
        return BytesOf(spec::RdmaCmdModifySrq{
            .srqn = Pick(reference_.srqs), .srq_limit = Below(200), .posted = static_cast<uint32_t>(random_())});
      case RdmaCtrlCmd::kQuerySrq: return BytesOf(spec::RdmaCmdQuerySrq{.srqn = Pick(reference_.srqs)});
      case RdmaCtrlCmd::kDestroySrq: return BytesOf(spec::RdmaCmdDestroySrq{.srqn = Pick(reference_.srqs)});
      case RdmaCtrlCmd::kAttachMcast: {
        spec::RdmaCmdAttachMcast request{.qpn = Pick(reference_.qps)};
        SetGid(request.mgid, static_cast<uint8_t>(Below(3)), false);
        request.mgid[0] = Chance(10) ? 0xfe : 0xff;
        return BytesOf(request);
      }
      case RdmaCtrlCmd::kDetachMcast: {
        spec::RdmaCmdDetachMcast request{.qpn = Pick(reference_.attachments)};
        SetGid(request.mgid, static_cast<uint8_t>(Below(3)), false);
        request.mgid[0] = 0xff;
        return BytesOf(request);
      }
      default: return {};
    }
  }

  void Command() {
    // More creations than destructions, so that tables fill; the ratio is reversed occasionally.
    if (Chance(400)) grows_ = !grows_;
    RdmaCtrlCmd command{static_cast<uint8_t>(Below(Chance(100) ? 256 : 32))};
    if (Chance(3)) command = RdmaCtrlCmd::kModifyQp;
    const bool ends = command == RdmaCtrlCmd::kDestroyCq || command == RdmaCtrlCmd::kDestroyPd ||
                      command == RdmaCtrlCmd::kDeregMr || command == RdmaCtrlCmd::kDestroyQp ||
                      command == RdmaCtrlCmd::kDestroyAh || command == RdmaCtrlCmd::kDelGid ||
                      command == RdmaCtrlCmd::kDestroySrq || command == RdmaCtrlCmd::kDeallocMw ||
                      command == RdmaCtrlCmd::kDetachMcast;
    if (grows_ && ends && !Chance(6)) return;
    auto request = Request(command);
    if (Chance(100)) request.resize(Below(request.size() + 20));
    uint32_t writable = Chance(100) ? Below(140) : 200;
    if (writable == 0) writable = 1;
    // An otherwise valid list whose last chunk cannot be read.
    uint64_t fails_from = ~uint64_t{0};
    RdmaError expected = reference_.Expect(command, request, writable);
    if (command == RdmaCtrlCmd::kRegUserMr && expected == RdmaError::kOk && request.size() > 600 && Chance(3)) {
      fails_from = 512 + Below(8 * uint64_t{spec::RdmaCmdRegUserMr::Decode(request.data()).npages} - 512 + 34);
      expected = RdmaError::kDmaError;
    }
    ++seen_[expected];
    ++commands_;
    const Answer answer =
        bench_.Send(bench_.roce_class(), static_cast<uint8_t>(command), request, writable, fails_from);
    ASSERT_FALSE(answer.is_empty());
    const RdmaError ack = expected == RdmaError::kOk || is_vireo() ? expected : RdmaError::kErr;
    ASSERT_EQ(answer.error(), ack) << "command " << static_cast<int>(command) << " gave "
                                   << static_cast<int>(answer.bytes[0]) << ", the reference expects "
                                   << spec::ToString(expected);
    if (expected != RdmaError::kOk) {
      ASSERT_EQ(answer.bytes.size(), 1u);
      if (Chance(64)) {
        ASSERT_TRUE(bench_.device.tables() == twin_.device.tables());
      }
      return;
    }
    if (command == RdmaCtrlCmd::kModifyQp) {
      const auto modify = spec::RdmaCmdModifyQp::Decode(request.data());
      if ((modify.attr_mask & Mask::kState) != 0) ++states_[modify.qp_state];
    }
    const std::string defect = reference_.Accept(command, request, {answer.bytes.begin() + 1, answer.bytes.end()});
    ASSERT_EQ(defect, "");
    const Answer twin = twin_.Send(bench_.roce_class(), static_cast<uint8_t>(command), request, writable);
    ASSERT_EQ(twin.bytes, answer.bytes) << "an earlier refused command had side effects";
    bench_.device.answers.clear();
    twin_.device.answers.clear();
    bench_.device.qp_operations.clear();
  }

  std::mt19937_64 random_;
  Bench bench_;
  Bench twin_;
  Reference reference_;
  int commands_ = 0;
  std::map<RdmaError, int> seen_;
  std::map<IbQpState, int> states_;
  bool grows_ = true;
};

TEST(FirmwareRandom, CommandsOfProfileVireo) { Stream(spec::Profile::kVireo).Run(); }
TEST(FirmwareRandom, CommandsOfProfileRfcV2) { Stream(spec::Profile::kRfcV2).Run(); }

}  // namespace
}  // namespace vireo::verif
