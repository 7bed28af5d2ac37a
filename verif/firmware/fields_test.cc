// SPDX-License-Identifier: Apache-2.0
// One bad value of every field of every RoCE command, in an otherwise good request, and the code that it must give. A
// field of the contract without a row here fails the test.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>
#include <string>

#include "verif/firmware/bench.h"

namespace vireo::verif {
namespace {

using Mask = spec::IbQpAttrMask;

// What a bad value of one field must give. kOk: the field has no bad value, for the reason that is written beside it.
struct FieldRow {
  RdmaCtrlCmd command;
  const char* field;
  uint64_t value;
  RdmaError expected;
  const char* why_none = "";
  // Which good request: for fields that only some transitions or types have.
  const char* base = "";
};

constexpr const char* kAnyNumber = "every number has a meaning";
constexpr const char* kIgnored = "not read by this command";

const std::vector<FieldRow> kRows = {
    {RdmaCtrlCmd::kCreateCq, "cqe", 0, RdmaError::kInvalidParameter},
    {RdmaCtrlCmd::kCreateCq, "cqe", spec::kNic1.max_queue_entries + 1, RdmaError::kCapCqeExceeded},
    {RdmaCtrlCmd::kDestroyCq, "cqn", 9, RdmaError::kBadCqn},
    {RdmaCtrlCmd::kDestroyPd, "pdn", 9, RdmaError::kBadPdn},
    {RdmaCtrlCmd::kGetDmaMr, "pdn", 9, RdmaError::kBadPdn},
    {RdmaCtrlCmd::kGetDmaMr, "access_flags", 2, RdmaError::kBadAccessFlags},
    {RdmaCtrlCmd::kGetDmaMr, "access_flags", 8, RdmaError::kBadAccessFlags},
    {RdmaCtrlCmd::kRegUserMr, "pdn", 9, RdmaError::kBadPdn},
    {RdmaCtrlCmd::kRegUserMr, "access_flags", 2, RdmaError::kBadAccessFlags},
    {RdmaCtrlCmd::kRegUserMr, "virt_addr", 0x3001, RdmaError::kPageCountMismatch},
    {RdmaCtrlCmd::kRegUserMr, "virt_addr", ~uint64_t{0}, RdmaError::kInvalidLength},
    {RdmaCtrlCmd::kRegUserMr, "length", 0, RdmaError::kInvalidLength},
    {RdmaCtrlCmd::kRegUserMr, "length", 1, RdmaError::kPageCountMismatch},
    {RdmaCtrlCmd::kRegUserMr, "npages", 3, RdmaError::kRequestTooShort},
    {RdmaCtrlCmd::kRegUserMr, "npages", 1, RdmaError::kPageCountMismatch},
    {RdmaCtrlCmd::kRegUserMr, "page_shift", 11, RdmaError::kInvalidPageSize},
    {RdmaCtrlCmd::kRegUserMr, "page_shift", 31, RdmaError::kInvalidPageSize},
    {RdmaCtrlCmd::kRegUserMr, "page_shift", 13, RdmaError::kUnalignedPage},
    {RdmaCtrlCmd::kRegUserMr, "page_shift", 15, RdmaError::kPageCountMismatch},
    {RdmaCtrlCmd::kDeregMr, "mrn", 9, RdmaError::kBadMrn},
    {RdmaCtrlCmd::kCreateQp, "pdn", 9, RdmaError::kBadPdn},
    {RdmaCtrlCmd::kCreateQp, "qp_type", 0, RdmaError::kUnsupportedQpType},
    {RdmaCtrlCmd::kCreateQp, "qp_type", 1, RdmaError::kHandleBusy},
    {RdmaCtrlCmd::kCreateQp, "qp_type", 5, RdmaError::kUnsupportedQpType},
    {RdmaCtrlCmd::kCreateQp, "sq_sig_all", 0xff, RdmaError::kOk, kAnyNumber},
    {RdmaCtrlCmd::kCreateQp, "send_cqn", 9, RdmaError::kBadCqn},
    {RdmaCtrlCmd::kCreateQp, "recv_cqn", 9, RdmaError::kBadCqn},
    {RdmaCtrlCmd::kCreateQp, "max_send_wr", 257, RdmaError::kCapWrExceeded},
    {RdmaCtrlCmd::kCreateQp, "max_recv_wr", 257, RdmaError::kCapWrExceeded},
    {RdmaCtrlCmd::kCreateQp, "max_send_sge", 5, RdmaError::kCapSgeExceeded},
    {RdmaCtrlCmd::kCreateQp, "max_recv_sge", 5, RdmaError::kCapSgeExceeded},
    {RdmaCtrlCmd::kCreateQp, "max_inline_data", 513, RdmaError::kCapInlineExceeded},
    {RdmaCtrlCmd::kModifyQp, "qpn", 9, RdmaError::kBadQpn},
    {RdmaCtrlCmd::kModifyQp, "attr_mask", 0, RdmaError::kOk, "nothing to change", "rts"},
    {RdmaCtrlCmd::kModifyQp, "attr_mask", 1, RdmaError::kMissingAttribute},
    {RdmaCtrlCmd::kModifyQp, "attr_mask", 0xffffffff, RdmaError::kAttributeNotAllowed, "", "named"},
    {RdmaCtrlCmd::kModifyQp, "qp_state", 5, RdmaError::kInvalidStateTransition},
    {RdmaCtrlCmd::kModifyQp, "qp_state", 7, RdmaError::kInvalidStateTransition},
    {RdmaCtrlCmd::kModifyQp, "cur_qp_state", 3, RdmaError::kCurStateMismatch, "", "cur_state"},
    {RdmaCtrlCmd::kModifyQp, "path_mtu", 0, RdmaError::kInvalidAttribute},
    {RdmaCtrlCmd::kModifyQp, "path_mtu", 6, RdmaError::kInvalidAttribute},
    {RdmaCtrlCmd::kModifyQp, "max_rd_atomic", 5, RdmaError::kInvalidAttribute, "", "to_rts"},
    {RdmaCtrlCmd::kModifyQp, "max_dest_rd_atomic", 5, RdmaError::kInvalidAttribute},
    {RdmaCtrlCmd::kModifyQp, "min_rnr_timer", 32, RdmaError::kInvalidAttribute},
    {RdmaCtrlCmd::kModifyQp, "timeout", 32, RdmaError::kInvalidAttribute, "", "to_rts"},
    {RdmaCtrlCmd::kModifyQp, "retry_cnt", 8, RdmaError::kInvalidAttribute, "", "to_rts"},
    {RdmaCtrlCmd::kModifyQp, "rnr_retry", 8, RdmaError::kInvalidAttribute, "", "to_rts"},
    {RdmaCtrlCmd::kModifyQp, "qkey", 0xffffffff, RdmaError::kOk, kAnyNumber, "ud"},
    {RdmaCtrlCmd::kModifyQp, "rq_psn", 0x1000000, RdmaError::kInvalidAttribute},
    {RdmaCtrlCmd::kModifyQp, "sq_psn", 0x1000000, RdmaError::kInvalidAttribute, "", "to_rts"},
    {RdmaCtrlCmd::kModifyQp, "dest_qp_num", 0x1000000, RdmaError::kInvalidAttribute},
    {RdmaCtrlCmd::kModifyQp, "qp_access_flags", 8, RdmaError::kBadAccessFlags, "", "access"},
    {RdmaCtrlCmd::kModifyQp, "rate_limit", 1, RdmaError::kInvalidAttribute, "", "rate"},
    {RdmaCtrlCmd::kModifyQp, "max_send_wr", 0xffffffff, RdmaError::kOk, kIgnored},
    {RdmaCtrlCmd::kModifyQp, "max_recv_wr", 0xffffffff, RdmaError::kOk, kIgnored},
    {RdmaCtrlCmd::kModifyQp, "max_send_sge", 0xffffffff, RdmaError::kOk, kIgnored},
    {RdmaCtrlCmd::kModifyQp, "max_recv_sge", 0xffffffff, RdmaError::kOk, kIgnored},
    {RdmaCtrlCmd::kModifyQp, "max_inline_data", 0xffffffff, RdmaError::kOk, kIgnored},
    {RdmaCtrlCmd::kModifyQp, "dgid", 0xfd, RdmaError::kInvalidAddress},
    {RdmaCtrlCmd::kModifyQp, "flow_label", 0x100000, RdmaError::kInvalidAttribute},
    {RdmaCtrlCmd::kModifyQp, "sgid_index", 3, RdmaError::kBadGidIndex},
    {RdmaCtrlCmd::kModifyQp, "hop_limit", 0, RdmaError::kOk, kAnyNumber},
    {RdmaCtrlCmd::kModifyQp, "traffic_class", 0xff, RdmaError::kOk, kAnyNumber},
    {RdmaCtrlCmd::kModifyQp, "dmac", 0xff, RdmaError::kOk, "the driver resolves it"},
    {RdmaCtrlCmd::kQueryQp, "qpn", 9, RdmaError::kBadQpn},
    {RdmaCtrlCmd::kQueryQp, "attr_mask", 0xffffffff, RdmaError::kOk, "everything is given whatever it says"},
    {RdmaCtrlCmd::kDestroyQp, "qpn", 9, RdmaError::kBadQpn},
    {RdmaCtrlCmd::kCreateAh, "pdn", 9, RdmaError::kBadPdn},
    {RdmaCtrlCmd::kCreateAh, "dgid", 0xfd, RdmaError::kInvalidAddress},
    {RdmaCtrlCmd::kCreateAh, "flow_label", 0x100000, RdmaError::kInvalidAttribute},
    {RdmaCtrlCmd::kCreateAh, "sgid_index", 3, RdmaError::kBadGidIndex},
    {RdmaCtrlCmd::kCreateAh, "hop_limit", 0, RdmaError::kOk, kAnyNumber},
    {RdmaCtrlCmd::kCreateAh, "traffic_class", 0xff, RdmaError::kOk, kAnyNumber},
    {RdmaCtrlCmd::kCreateAh, "dmac", 0xff, RdmaError::kOk, "the driver resolves it"},
    {RdmaCtrlCmd::kDestroyAh, "pdn", 9, RdmaError::kBadPdn},
    {RdmaCtrlCmd::kDestroyAh, "pdn", 1, RdmaError::kBadAh},
    {RdmaCtrlCmd::kDestroyAh, "ah", 9, RdmaError::kBadAh},
    {RdmaCtrlCmd::kAddGid, "index", 8, RdmaError::kBadGidIndex},
    {RdmaCtrlCmd::kAddGid, "index", 0, RdmaError::kGidIndexInUse},
    {RdmaCtrlCmd::kAddGid, "gid_type", 1, RdmaError::kUnsupportedGidType},
    {RdmaCtrlCmd::kAddGid, "flags", 2, RdmaError::kInvalidParameter},
    {RdmaCtrlCmd::kAddGid, "vlan", 0xfff, RdmaError::kInvalidVlan},
    {RdmaCtrlCmd::kAddGid, "gid", 0xff, RdmaError::kInvalidGid},
    {RdmaCtrlCmd::kDelGid, "index", 1, RdmaError::kBadGidIndex},
    {RdmaCtrlCmd::kReqNotifyCq, "cqn", 9, RdmaError::kBadCqn},
    {RdmaCtrlCmd::kReqNotifyCq, "flags", 0, RdmaError::kInvalidParameter},
    {RdmaCtrlCmd::kReqNotifyCq, "flags", 4, RdmaError::kInvalidParameter},
    {RdmaCtrlCmd::kSetWindow, "vq_index", 2, RdmaError::kBadVqIndex},
    {RdmaCtrlCmd::kSetWindow, "vq_index", 0xffff, RdmaError::kBadVqIndex},
    {RdmaCtrlCmd::kSetWindow, "flags", 3, RdmaError::kInvalidParameter},
    {RdmaCtrlCmd::kSetWindow, "base", ~uint64_t{0}, RdmaError::kInvalidWindow},
    {RdmaCtrlCmd::kSetWindow, "length", 0, RdmaError::kInvalidWindow},
};

// The objects that the good requests name: PD 0 and 1 with an AH in 0, CQ 0 and 1, GID 0, QP 2 (RC, INIT), the GSI QP.
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
    bench.Bring(rc, IbQpState::kInit);
  }
  Bench& bench;
  uint32_t free_pd = 0, free_cq = 0, rc = 0, ud = 0, ah = 0, mrn = 0;
};

// Sets `field` of a structure and calls `send` with its bytes.
template <typename T>
std::vector<uint8_t> Changed(T request, const std::string& field, uint64_t value) {
  bool done = field.empty();
  T::Visit(request, [&](const char* name, auto& member, int) {
    if (done || name != field) return;  // of an array: its first element
    member = static_cast<std::remove_reference_t<decltype(member)>>(value);
    done = true;
  });
  EXPECT_TRUE(done) << field;
  return BytesOf(request);
}

class Fields : public FirmwareTest {
 protected:
  // The good request of a row, with its field changed.
  std::vector<uint8_t> Request(World& world, const FieldRow& row, const std::string& field) {
    const std::string base = row.base;
    switch (row.command) {
      case RdmaCtrlCmd::kCreateCq: return Changed(spec::RdmaCmdCreateCq{.cqe = 1}, field, row.value);
      case RdmaCtrlCmd::kDestroyCq: return Changed(spec::RdmaCmdDestroyCq{.cqn = world.free_cq}, field, row.value);
      case RdmaCtrlCmd::kDestroyPd: return Changed(spec::RdmaCmdDestroyPd{.pdn = world.free_pd}, field, row.value);
      case RdmaCtrlCmd::kGetDmaMr: return Changed(spec::RdmaCmdGetDmaMr{}, field, row.value);
      case RdmaCtrlCmd::kRegUserMr: {
        auto bytes =
            Changed(spec::RdmaCmdRegUserMr{.virt_addr = 0x3000, .length = 8192, .npages = 2}, field, row.value);
        const auto pages = PageList(0x8000, 2);
        bytes.insert(bytes.end(), pages.begin(), pages.end());
        return bytes;
      }
      case RdmaCtrlCmd::kDeregMr: return Changed(spec::RdmaCmdDeregMr{.mrn = world.mrn}, field, row.value);
      case RdmaCtrlCmd::kCreateQp: return Changed(spec::RdmaCmdCreateQp{.qp_type = IbQpType::kRc}, field, row.value);
      case RdmaCtrlCmd::kModifyQp: {
        auto request = world.bench.ToRtr(world.rc);
        if (base == "cur_state") {
          request.attr_mask |= Mask::kCurState;
          request.cur_qp_state = IbQpState::kInit;
        } else if (base == "named") {
          request.cur_qp_state = IbQpState::kInit;
        } else if (base == "access") {
          request.attr_mask |= Mask::kAccessFlags;
        } else if (base == "ud") {
          request = world.bench.ToInit(world.ud);
        } else if (base == "to_rts" || base == "rts" || base == "rate") {
          EXPECT_EQ(world.bench.Modify(request), RdmaError::kOk);
          request = world.bench.ToRts(world.rc);
          if (base == "rate") request.attr_mask |= Mask::kRateLimit;
          if (base == "rts") {
            EXPECT_EQ(world.bench.Modify(request), RdmaError::kOk);
            request.attr_mask = Mask::kMinRnrTimer;
          }
        }
        return Changed(request, field, row.value);
      }
      case RdmaCtrlCmd::kQueryQp: return Changed(spec::RdmaCmdQueryQp{.qpn = world.rc}, field, row.value);
      case RdmaCtrlCmd::kDestroyQp: return Changed(spec::RdmaCmdDestroyQp{.qpn = world.rc}, field, row.value);
      case RdmaCtrlCmd::kCreateAh: {
        spec::RdmaCmdCreateAh request;
        SetGid(request.ah_attr.grh.dgid, 5);
        return Changed(request, field, row.value);
      }
      case RdmaCtrlCmd::kDestroyAh: return Changed(spec::RdmaCmdDestroyAh{.pdn = 0, .ah = world.ah}, field, row.value);
      case RdmaCtrlCmd::kAddGid: {
        spec::RdmaCmdAddGid request{.index = 1, .flags = 1, .vlan = 1};
        SetGid(request.gid, 2, false);
        return Changed(request, field, row.value);
      }
      case RdmaCtrlCmd::kDelGid: return Changed(spec::RdmaCmdDelGid{.index = 0}, field, row.value);
      case RdmaCtrlCmd::kReqNotifyCq: return Changed(spec::RdmaCmdReqNotify{.cqn = 0, .flags = 1}, field, row.value);
      case RdmaCtrlCmd::kSetWindow:
        return Changed(spec::RdmaCmdSetWindow{.vq_index = 1, .flags = 1, .base = 0x1000, .length = 0x1000}, field,
                       row.value);
      default: ADD_FAILURE(); return {};
    }
  }
};

TEST_F(Fields, ABadValueGivesItsCodeAndChangesNothing) {
  for (const auto& row : kRows) {
    SCOPED_TRACE(std::string(spec::ToString(row.command)) + "." + row.field + " = " + std::to_string(row.value));
    for (const bool changed : {false, true}) {
      Use({});
      World world(bench());
      const auto request = Request(world, row, changed ? row.field : "");
      const auto before = device().Snapshot();
      const auto error = bench().Roce(row.command, request).error();
      EXPECT_EQ(error, changed ? row.expected : RdmaError::kOk) << (changed ? "changed" : "the good request");
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
  size_t with_request = 0;
  for (const auto& info : spec::kNetCtrlRoceCommands) with_request += info.request_bytes != 0;
  EXPECT_EQ(names.size(), with_request);
  for (const auto& row : kRows) {
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
  for (const auto& row : kRows) {
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
    if (row.command == RdmaCtrlCmd::kCreateQp) fill(spec::RdmaCmdCreateQp{});
    if (row.command == RdmaCtrlCmd::kModifyQp) fill(spec::RdmaCmdModifyQp{});
    if (row.command == RdmaCtrlCmd::kCreateAh) fill(spec::RdmaCmdCreateAh{});
    if (row.command == RdmaCtrlCmd::kAddGid) fill(spec::RdmaCmdAddGid{});
    if (row.command == RdmaCtrlCmd::kSetWindow) fill(spec::RdmaCmdSetWindow{});
    request.resize(request.size() + 700, 0xff);  // longer is fine
    EXPECT_EQ(bench().Roce(row.command, request).error(), RdmaError::kOk) << spec::ToString(row.command);
  }
  EXPECT_EQ(done.size(), 16u);
}

}  // namespace
}  // namespace vireo::verif
