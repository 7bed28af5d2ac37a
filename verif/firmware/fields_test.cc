// SPDX-License-Identifier: Apache-2.0
// One invalid value of every field of every RoCE command, in an otherwise valid request, and the expected code. A field
// of the contract without a row fails the test.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "verif/firmware/field_rows.h"

namespace vireo::verif {
namespace {

// Objects of the valid requests: PD 0 and 1 with an AH in 0, CQ 0 and 1, GID 0, QP 2 (RC, INIT), the GSI QP.
struct World {
  explicit World(Bench& given) : bench(given) {
    bench.AddGid(0, 1);
    bench.CreatePd();
    bench.CreatePd();
    free_pd = bench.CreatePd();
    bench.CreateCq();
    free_cq = bench.CreateCq();
    rc = bench.CreateQp({.pdn = 0, .qp_type = IbQpType::kRc, .send_cqn = 0, .recv_cqn = 0, .cap = {.max_send_wr = 1}});
    ud = bench.CreateQp({.pdn = 0, .qp_type = IbQpType::kUd, .send_cqn = 0, .recv_cqn = 0});
    bench.CreateQp({.pdn = 0, .qp_type = IbQpType::kGsi, .send_cqn = 0, .recv_cqn = 0});
    ah = bench.CreateAh(0);
    mrn = bench.GetDmaMr(1).mrn;
    mwn = bench.AllocMw({.pdn = 1, .mw_type = spec::RdmaMwType::kType1}).mwn;
    srq = bench.CreateSrq({.pdn = 1, .max_wr = 16});
    bench.Bring(rc, IbQpState::kInit);
    bench.Roce(RdmaCtrlCmd::kAttachMcast, BytesOf(FieldGroup<spec::RdmaCmdAttachMcast>(ud, 1)));
  }
  Bench& bench;
  uint32_t free_pd = 0, free_cq = 0, rc = 0, ud = 0, ah = 0, mrn = 0, mwn = 0, srq = 0;
};

class Fields : public FirmwareTest {
 protected:
  // The valid request of a row, with its field changed.
  std::vector<uint8_t> Request(World& world, const FieldRow& row, const std::string& field) {
    const FieldHandles handles = {.free_pd = world.free_pd,
                                  .free_cq = world.free_cq,
                                  .rc = world.rc,
                                  .ud = world.ud,
                                  .ah = world.ah,
                                  .mrn = world.mrn,
                                  .mwn = world.mwn,
                                  .srq = world.srq,
                                  .to_rtr = world.bench.ToRtr(world.rc),
                                  .to_rts = world.bench.ToRts(world.rc),
                                  .ud_to_init = world.bench.ToInit(world.ud)};
    if (row.command == RdmaCtrlCmd::kModifyQp && row.state() != IbQpState::kInit) {
      EXPECT_EQ(world.bench.Modify(handles.to_rtr), RdmaError::kOk);
      if (row.state() == IbQpState::kRts) {
        EXPECT_EQ(world.bench.Modify(handles.to_rts), RdmaError::kOk);
      }
    }
    return FieldRequest(handles, row, field);
  }
};

TEST_F(Fields, BadValueReturnsItsCodeAndChangesNothing) {
  for (const auto& row : kFieldRows) {
    SCOPED_TRACE(std::string(spec::ToString(row.command)) + "." + row.field + " = " + std::to_string(row.value));
    for (const bool changed : {false, true}) {
      Use({});
      World world(bench());
      const auto request = Request(world, row, changed ? row.field : "");
      const auto before = device().Snapshot();
      const auto error = bench().Roce(row.command, request).error();
      EXPECT_EQ(error, changed ? row.expected : RdmaError::kOk) << (changed ? "changed" : "the valid request");
      if (error != RdmaError::kOk) {
        EXPECT_EQ(device().Snapshot(), before);
      }
    }
  }
}

template <typename T>
void NamesOf(RdmaCtrlCmd command, std::map<RdmaCtrlCmd, std::set<std::string>>& names) {
  T value{};
  T::Visit(value, [&](const char* name, auto&, int) {
    if (std::string(name).rfind("reserved", 0) != 0) names[command].insert(name);
  });
}

TEST_F(Fields, EveryFieldOfEveryRequestHasARow) {
  std::map<RdmaCtrlCmd, std::set<std::string>> names;
  NamesOf<spec::RdmaCmdCreateCq>(RdmaCtrlCmd::kCreateCq, names);
  NamesOf<spec::RdmaCmdDestroyCq>(RdmaCtrlCmd::kDestroyCq, names);
  NamesOf<spec::RdmaCmdDestroyPd>(RdmaCtrlCmd::kDestroyPd, names);
  NamesOf<spec::RdmaCmdGetDmaMr>(RdmaCtrlCmd::kGetDmaMr, names);
  NamesOf<spec::RdmaCmdRegUserMr>(RdmaCtrlCmd::kRegUserMr, names);
  NamesOf<spec::RdmaCmdDeregMr>(RdmaCtrlCmd::kDeregMr, names);
  NamesOf<spec::RdmaCmdCreateQp>(RdmaCtrlCmd::kCreateQp, names);
  NamesOf<spec::RdmaCmdModifyQp>(RdmaCtrlCmd::kModifyQp, names);
  NamesOf<spec::RdmaCmdQueryQp>(RdmaCtrlCmd::kQueryQp, names);
  NamesOf<spec::RdmaCmdDestroyQp>(RdmaCtrlCmd::kDestroyQp, names);
  NamesOf<spec::RdmaCmdCreateAh>(RdmaCtrlCmd::kCreateAh, names);
  NamesOf<spec::RdmaCmdDestroyAh>(RdmaCtrlCmd::kDestroyAh, names);
  NamesOf<spec::RdmaCmdAddGid>(RdmaCtrlCmd::kAddGid, names);
  NamesOf<spec::RdmaCmdDelGid>(RdmaCtrlCmd::kDelGid, names);
  NamesOf<spec::RdmaCmdReqNotify>(RdmaCtrlCmd::kReqNotifyCq, names);
  NamesOf<spec::RdmaCmdSetWindow>(RdmaCtrlCmd::kSetWindow, names);
  NamesOf<spec::RdmaCmdCreateSrq>(RdmaCtrlCmd::kCreateSrq, names);
  NamesOf<spec::RdmaCmdModifySrq>(RdmaCtrlCmd::kModifySrq, names);
  NamesOf<spec::RdmaCmdQuerySrq>(RdmaCtrlCmd::kQuerySrq, names);
  NamesOf<spec::RdmaCmdDestroySrq>(RdmaCtrlCmd::kDestroySrq, names);
  NamesOf<spec::RdmaCmdReregMr>(RdmaCtrlCmd::kReregMr, names);
  NamesOf<spec::RdmaCmdAllocMw>(RdmaCtrlCmd::kAllocMw, names);
  NamesOf<spec::RdmaCmdDeallocMw>(RdmaCtrlCmd::kDeallocMw, names);
  NamesOf<spec::RdmaCmdAllocMr>(RdmaCtrlCmd::kAllocMr, names);
  NamesOf<spec::RdmaCmdQueryMr>(RdmaCtrlCmd::kQueryMr, names);
  NamesOf<spec::RdmaCmdCreateExtendedCq>(RdmaCtrlCmd::kCreateExtendedCq, names);
  NamesOf<spec::RdmaCmdAttachMcast>(RdmaCtrlCmd::kAttachMcast, names);
  NamesOf<spec::RdmaCmdDetachMcast>(RdmaCtrlCmd::kDetachMcast, names);
  size_t with_request = 0;
  for (const auto& info : spec::kNetCtrlRoceCommands) with_request += info.request_bytes != 0;
  EXPECT_EQ(names.size(), with_request);
  for (const auto& row : kFieldRows) {
    names[row.command].erase(row.field);
    EXPECT_EQ(row.expected == RdmaError::kOk, std::string(row.why_none) != "") << row.field;
  }
  for (const auto& [command, left] : names) {
    for (const auto& name : left) ADD_FAILURE() << spec::ToString(command) << "." << name << " has no row";
  }
}

// Reserved bytes are ignored (roce.toml), whatever they hold.
TEST_F(Fields, ReservedBytesAreIgnored) {
  std::set<RdmaCtrlCmd> done;
  for (const auto& row : kFieldRows) {
    if (std::string(row.base) != "" || !done.insert(row.command).second) continue;
    Use({});
    World world(bench());
    auto request = Request(world, row, "");
    const auto fill = [&]<typename T>(T) {
      auto decoded = T::Decode(request.data());
      T::Visit(decoded, [](const char* name, auto& member, int) {
        using Member = std::remove_reference_t<decltype(member)>;
        if constexpr (std::is_integral_v<Member>) {
          if (std::string(name).rfind("reserved", 0) == 0) member = static_cast<Member>(~Member{0});
        }
      });
      decoded.Encode(request.data());
    };
    if (row.command == RdmaCtrlCmd::kRegUserMr) fill(spec::RdmaCmdRegUserMr{});
    if (row.command == RdmaCtrlCmd::kReregMr) fill(spec::RdmaCmdReregMr{});
    if (row.command == RdmaCtrlCmd::kAllocMw) fill(spec::RdmaCmdAllocMw{});
    if (row.command == RdmaCtrlCmd::kCreateQp) fill(spec::RdmaCmdCreateQp{});
    if (row.command == RdmaCtrlCmd::kModifyQp) fill(spec::RdmaCmdModifyQp{});
    if (row.command == RdmaCtrlCmd::kCreateAh) fill(spec::RdmaCmdCreateAh{});
    if (row.command == RdmaCtrlCmd::kAddGid) fill(spec::RdmaCmdAddGid{});
    if (row.command == RdmaCtrlCmd::kSetWindow) fill(spec::RdmaCmdSetWindow{});
    if (row.command == RdmaCtrlCmd::kCreateSrq) fill(spec::RdmaCmdCreateSrq{});
    if (row.command == RdmaCtrlCmd::kModifySrq) fill(spec::RdmaCmdModifySrq{});
    request.resize(request.size() + 700, 0xff);  // longer requests are valid
    EXPECT_EQ(bench().Roce(row.command, request).error(), RdmaError::kOk) << spec::ToString(row.command);
  }
  EXPECT_EQ(done.size(), 28u);
}

}  // namespace
}  // namespace vireo::verif
