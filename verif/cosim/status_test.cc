// SPDX-License-Identifier: Apache-2.0
// Reaches every completion status on whole systems, each in the simplest way; the statuses that no device returns are
// those with a reason in docs/testplan.toml. The tests of the operations check everything else about them.
#include <gtest/gtest.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "model/rdma/icrc.h"
#include "sim/traffic/frame_log.h"
#include "verif/cosim/pair_test.h"

namespace vireo::sim {
namespace {

using spec::IbWcStatus;
using spec::IbWrOpcode;

constexpr uint32_t kBytes = 64;
constexpr uint64_t kFirst = 1;                 // wr_id
constexpr uint64_t kTimeoutNs = 20'000'000;    // enough for all retries
constexpr uint8_t kReservedNak = 0x7f;         // AETH: a NAK whose code IBTA vol. 1, 9.7.5.2.6 reserves
constexpr const char* kEnum = "ib_wc_status";  // name in the contract, and in docs/testplan.toml
constexpr unsigned kStatuses = 1U << (8 * sizeof(IbWcStatus));

struct Case {
  IbWcStatus status;
  size_t side;  // side of the work request: 0 sends, 1 receives
};
constexpr Case kCases[] = {
    {IbWcStatus::kBadRespErr, 0},  // first: the link loses its first acknowledge, and no other one
    {IbWcStatus::kSuccess, 0},        {IbWcStatus::kLocLenErr, 1},  {IbWcStatus::kLocQpOpErr, 0},
    {IbWcStatus::kLocProtErr, 0},     {IbWcStatus::kWrFlushErr, 1}, {IbWcStatus::kRemInvReqErr, 0},
    {IbWcStatus::kRemAccessErr, 0},   {IbWcStatus::kRemOpErr, 0},   {IbWcStatus::kRetryExcErr, 0},
    {IbWcStatus::kRnrRetryExcErr, 0}, {IbWcStatus::kMwBindErr, 0},
};

class Status : public PairTest {
 protected:
  Elements Source() { return {near().region->Sge(0, kBytes)}; }
  void PostWrite(const Elements& list, uint64_t offset = 0) {
    PostSend(Remote(IbWrOpcode::kRdmaWrite, kFirst, list, offset));
  }
  void PostMessage(const Elements& list) { PostSend({.wr_id = kFirst, .opcode = IbWrOpcode::kSend, .sg_list = list}); }

  // Makes work request kFirst of a side complete with this status.
  void Cause(IbWcStatus status) {
    ConnectedPairOptions options;
    options.connection.timeout = 4;  // 65 us
    options.connection.retry_cnt = options.connection.rnr_retry = 1;
    options.connection.min_rnr_timer = 1;                                   // 10 us
    if (status == IbWcStatus::kBadRespErr) options.connection.timeout = 0;  // no timeout for the lost answer
    ASSERT_NO_FATAL_FAILURE(Connect(options));
    spec::RdmaSge foreign = near().region->Sge(0, kBytes), target = far().region->Sge(0, kBytes);
    switch (status) {
      case IbWcStatus::kSuccess: PostWrite(Source()); break;
      case IbWcStatus::kLocLenErr:
      case IbWcStatus::kRemInvReqErr:
        target.length = kBytes - 1;
        PostRecv(1, kFirst, {target});
        PostMessage(Source());
        break;
      case IbWcStatus::kLocQpOpErr:
        PostSend({.wr_id = kFirst, .opcode = static_cast<IbWrOpcode>(0xff), .sg_list = {}});
        break;
      case IbWcStatus::kLocProtErr:
        foreign.lkey ^= 1;
        PostWrite({foreign});
        break;
      case IbWcStatus::kWrFlushErr:
        PostRecv(1, kFirst, {target});
        ASSERT_TRUE(far().qp->Modify({.qp_state = spec::IbQpState::kErr}, spec::IbQpAttrMask::kState).ok());
        break;
      case IbWcStatus::kBadRespErr:
        PostWrite(Source());
        ASSERT_NO_FATAL_FAILURE(ForgeAcknowledge());
        break;
      case IbWcStatus::kRemAccessErr: PostWrite(Source(), far().memory->size()); break;
      case IbWcStatus::kRemOpErr:
        target.lkey ^= 1;
        PostRecv(1, kFirst, {target});
        PostMessage(Source());
        break;
      case IbWcStatus::kRetryExcErr:
        far().qp.reset();
        PostWrite(Source());
        break;
      case IbWcStatus::kRnrRetryExcErr: PostMessage(Source()); break;
      case IbWcStatus::kMwBindErr:
        // Its region is no window.
        PostSend({.wr_id = kFirst,
                  .opcode = IbWrOpcode::kBindMw,
                  .sg_list = {},
                  .rkey = near().region->rkey(),
                  .bind_address = near().region->address(),
                  .bind_length = kBytes,
                  .bind_access = spec::IbAccessFlags::kRemoteRead,
                  .bind_lkey = near().region->lkey()});
        break;
      default: FAIL() << "no case for " << spec::ToString(status);
    }
  }
  // The peer's lost acknowledge, forged with a reserved syndrome.
  void ForgeAcknowledge() {
    Settle();
    const auto& entries = log_.entries();
    const auto acknowledge = std::ranges::find_if(entries, [](const FrameLog::Entry& entry) {
      return entry.is_sent && entry.opcode() == spec::BthOpcode::kRcAcknowledge;
    });
    ASSERT_NE(acknowledge, entries.end());
    Bytes frame = acknowledge->frame;
    const RoceHeaders& headers = acknowledge->headers;
    const size_t end = headers.bth_offset + spec::Bth::kBytes + spec::Aeth::kBytes;  // no payload
    ASSERT_EQ(frame.size(), end + spec::kIcrcBytes);
    frame[headers.bth_offset + acknowledge->info().aeth_offset] = kReservedNak;
    const uint32_t icrc =
        model::IcrcCompute(std::span(frame).subspan(headers.ip_offset, end - headers.ip_offset), headers.is_ipv6);
    for (unsigned i = 0; i < spec::kIcrcBytes; ++i) frame[end + i] = static_cast<uint8_t>(icrc >> 8 * i);
    system_->topology().station(0).mac().OnFrame({std::move(frame), false, "forged"});
  }

  FrameLog log_;  // of host 1
};

TEST_P(Status, EveryReachableStatusIsReturned) {
  ASSERT_NO_FATAL_FAILURE(BuildWith({"", "drop opcode=rc_acknowledge nth=1"}));
  log_.Watch(system_->topology().station(1));
  for (const Case& one : kCases) {
    SCOPED_TRACE(spec::ToString(one.status));
    ASSERT_NO_FATAL_FAILURE(Cause(one.status));
    ExpectNext(one.side, kFirst, one.status, kTimeoutNs);
    // Any error ends the queue pair.
    if (one.status != IbWcStatus::kSuccess) {
      const auto attributes = side(one.side).qp->Query();
      ASSERT_TRUE(attributes.ok());
      EXPECT_EQ(attributes->qp_state, spec::IbQpState::kErr);
    }
    ASSERT_FALSE(HasFailure());
  }
}

// A status does not depend on the kind of ring; lockstep includes the RTL.
INSTANTIATE_TEST_SUITE_P(Devices, Status,
                         testing::Combine(testing::Values("model", "lockstep"),
                                          testing::Values(&spec::kNic100, &spec::kNic1), testing::Values(false)),
                         NameOfWithRing);

// --- Statuses that no device returns

std::set<std::string> StatusesOfTheContract() {
  std::set<std::string> names;
  for (unsigned value = 0; value < kStatuses; ++value) {
    if (const char* name = spec::ToString(static_cast<IbWcStatus>(value)); name != nullptr) names.insert(name);
  }
  return names;
}

TEST(ContractStatusCodes, ReachedOrHasAReason) {
  std::map<std::string, std::string> never;  // name, reason
  try {
    const toml::table plan = toml::parse_file(VIREO_TESTPLAN);
    const toml::array* rows = plan["never"].as_array();
    ASSERT_NE(rows, nullptr);
    for (const toml::node& node : *rows) {
      const toml::table* row = node.as_table();
      ASSERT_NE(row, nullptr);
      if ((*row)["enum"].value_or(std::string()) != kEnum) continue;
      const std::string name = (*row)["value"].value_or(std::string());
      EXPECT_TRUE(never.emplace(name, (*row)["reason"].value_or(std::string())).second) << name << " is listed twice";
    }
  } catch (const toml::parse_error& error) {
    FAIL() << error.description();
  }
  std::set<std::string> named;
  for (const Case& one : kCases) {
    EXPECT_TRUE(named.insert(spec::ToString(one.status)).second) << spec::ToString(one.status) << " is listed twice";
  }
  for (const auto& [name, reason] : never) {
    EXPECT_FALSE(reason.empty()) << name << " needs a reason";
    EXPECT_TRUE(named.insert(name).second) << name << " is reached, but listed as never returned";
  }
  EXPECT_EQ(named, StatusesOfTheContract());
}

}  // namespace
}  // namespace vireo::sim
