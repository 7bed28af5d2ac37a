// SPDX-License-Identifier: Apache-2.0
// The responder: each rule by hand, a reference that knows nothing of cycles, and RTL against model in every cycle.
#include "model/rdma/responder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "Vresponder_16.h"
#include "spec/gen/vireo_spec.h"
#include "verif/common/block_bench.h"
#include "verif/harness/seed.h"

namespace vireo::verif {
namespace {

using model::Agenda;
using model::Channel;
using model::Cycle;
using model::Responder;
using model::RxToken;
using spec::AethSyndrome;
using spec::BthOpcode;
using spec::IbQpState;
using spec::MemoryStatus;
using spec::RdmaEventType;

constexpr uint32_t kQps = 16;
constexpr uint32_t kQpn = 5;
constexpr uint32_t kFirstPsn = 0xffffee;  // wraps soon
constexpr uint16_t kMtu = 1024;
constexpr uint32_t kRkey = 0x1234501;
constexpr uint32_t kBadRkey = 0x1234502;
constexpr uint16_t kPdn = 77;

uint32_t Psn(uint32_t value) { return value & 0xffffff; }

// --- Stimuli

struct Qp {
  uint32_t qpn = kQpn;
  spec::IbQpType type = spec::IbQpType::kRc;
  spec::IbMtu mtu = spec::IbMtu::kMtu1024;
  bool valid = true;
  bool remote_write = true;
};

void SetPeer(uint32_t qpn, uint8_t (&gid)[16]) {
  for (unsigned i = 0; i < 16; ++i) gid[i] = static_cast<uint8_t>(16 * i + qpn);
}

spec::TableWrite ContextOf(const Qp& qp) {
  spec::TableQpContext context;
  context.valid = qp.valid;
  context.qp_type = qp.type;
  context.path_mtu = qp.mtu;
  context.remote_write = qp.remote_write;
  context.pdn = kPdn;
  SetPeer(qp.qpn, context.path.dgid);
  spec::TableWrite write{.table_id = spec::MgmtTable::kQpContext, .index = qp.qpn};
  context.Encode(write.data);
  return write;
}

struct Packet {
  BthOpcode opcode = BthOpcode::kRcRdmaWriteOnly;
  uint32_t psn = kFirstPsn;
  uint16_t bytes = 64;
  bool ack_req = true;
  uint32_t qpn = kQpn;
  uint64_t address = 0x10000;  // RETH
  uint32_t rkey = kRkey;
  std::optional<uint32_t> dma_length = std::nullopt;  // RETH; otherwise as many as payload
};

RxToken TokenOf(const Packet& packet) {
  RxToken token;
  token.verdict = spec::RxVerdict::kRoce;
  token.info = spec::kOpcodeInfo[static_cast<uint8_t>(packet.opcode)];
  token.bth_offset = 42;
  token.payload_offset = static_cast<uint8_t>(54 + token.info.extension_bytes);
  token.payload_bytes = packet.bytes;
  SetPeer(packet.qpn, token.ip_source);
  token.bth.opcode = packet.opcode;
  token.bth.pkey = spec::kPkeyDefault;
  token.bth.dest_qp = packet.qpn;
  token.bth.ack_req = packet.ack_req;
  token.bth.psn = Psn(packet.psn);
  if (token.info.has_reth) {
    spec::Reth reth;
    reth.virtual_address = packet.address;
    reth.rkey = packet.rkey;
    reth.dma_length = packet.dma_length.value_or(packet.bytes);
    // RDMA WRITE's RETH follows the BTH.
    reth.Encode(token.extension);
  }
  return token;
}

RxToken AckOf(uint32_t psn, uint8_t syndrome, uint32_t msn) {
  RxToken token = TokenOf({.opcode = BthOpcode::kRcAcknowledge, .psn = psn, .bytes = 0, .ack_req = false});
  spec::Aeth aeth;
  aeth.msn = msn;
  aeth.Encode(token.extension);
  token.extension[0] = syndrome;
  return token;
}

// What the key check says: two runs for odd addresses, and one key that does not exist.
spec::MemoryPlace Check(const spec::MemoryCheck& check) {
  if (check.key != kRkey) return {.status = MemoryStatus::kKey};
  spec::MemoryPlace place{.status = MemoryStatus::kOk, .address0 = ~check.address, .bytes0 = check.bytes};
  if (check.address % 2 != 0 && check.bytes > 1) {
    place.bytes0 = static_cast<uint16_t>(check.bytes / 2);
    place.address1 = check.address + 0x1000;
    place.bytes1 = static_cast<uint16_t>(check.bytes - place.bytes0);
  }
  return place;
}

spec::RxPlace Answer(uint32_t psn, AethSyndrome syndrome, uint32_t msn, uint32_t qpn = kQpn) {
  spec::RxPlace place;
  place.has_answer = true;
  place.answer.qpn = qpn;
  place.answer.opcode = BthOpcode::kRcAcknowledge;
  place.answer.psn = Psn(psn);
  place.answer.extension[0] = static_cast<uint8_t>(syndrome);
  place.answer.extension[1] = static_cast<uint8_t>(msn >> 16);
  place.answer.extension[2] = static_cast<uint8_t>(msn >> 8);
  place.answer.extension[3] = static_cast<uint8_t>(msn);
  return place;
}
spec::RxPlace Ack(uint32_t psn, uint32_t msn) { return Answer(psn, AethSyndrome::kAckNoCredits, msn); }

// A place that writes the packet's payload.
spec::RxPlace Write(const RxToken& token, uint64_t address, spec::RxPlace answer = {}) {
  const auto to =
      Check({.key = kRkey, .pdn = kPdn, .remote_write = true, .address = address, .bytes = token.payload_bytes});
  answer.offset = token.payload_offset;
  answer.address0 = to.address0;
  answer.bytes0 = to.bytes0;
  answer.address1 = to.address1;
  answer.bytes1 = to.bytes1;
  return answer;
}

// --- Bench

// enable_i: a level.
class Enable final : public BenchStream {
 public:
  Enable(CData& port, Responder& model, std::mt19937_64& random) : port_(port), model_(model), random_(random) {
    port_ = 0;
  }
  void Begin(Cycle cycle) override {
    const bool next = rate == 16 || random_() % 16 < rate;
    if (next != (port_ != 0) || cycle == 0) model_.SetEnable(cycle, next);
    port_ = next;
  }
  void End(Cycle) override {}
  bool IsEmpty() const override { return true; }
  unsigned rate = 16;

 private:
  CData& port_;
  Responder& model_;
  std::mt19937_64& random_;
};

// idle_o says in each cycle what the model says after the cycle before.
class Idle final : public BenchStream {
 public:
  Idle(const CData& port, const Responder& model) : port_(port), model_(model) {}
  void Begin(Cycle cycle) override {
    if ((port_ != 0) != idle_) difference = "idle: cycle " + std::to_string(cycle);
    count += port_;
  }
  void End(Cycle) override { idle_ = model_.IsIdle(); }
  bool IsEmpty() const override { return true; }
  uint64_t count = 0;

 private:
  const CData& port_;
  const Responder& model_;
  bool idle_ = true;
};

struct Bench {
  static std::shared_ptr<RtlTop<Vresponder_16>> MakeRtl() {
    return std::make_shared<RtlTop<Vresponder_16>>([](const Vresponder_16& top, std::vector<uint8_t>& bytes) {
      const auto add = [&](const auto& port) {
        const auto data = BytesOf(port);
        bytes.insert(bytes.end(), data.begin(), data.end());
      };
      add(top.load_ready_o);
      add(top.frame_ready_o);
      add(top.memory_place_ready_o);
      add(top.memory_check_valid_o);
      add(top.memory_check_o);
      add(top.place_valid_o);
      add(top.place_o);
      add(top.ack_valid_o);
      add(top.ack_o);
      add(top.failure_valid_o);
      add(top.failure_o);
      add(top.idle_o);
    });
  }

  // `again`: a simulation that is under way, to be reset.
  explicit Bench(std::shared_ptr<RtlTop<Vresponder_16>> again = nullptr) : owner(again ? again : MakeRtl()) {
    if (again) rtl.Reset();
    block.memory_check_out.Connect(checks, block);
    block.place_out.Connect(places, block);
    block.ack_out.Connect(acks, block);
    block.failure_out.Connect(failures, block);
    bench.AddOther(enable);
    bench.AddOther(idle);
    check.on_token = [this](Cycle, const spec::MemoryCheck& asked) {
      EXPECT_TRUE(asked.remote_write && !asked.remote_read && !asked.local_write);
      EXPECT_EQ(asked.pdn, kPdn);
      memory.tokens.push_back(Check(asked));
    };
  }

  void Configure(const Qp& qp, IbQpState state, uint32_t psn = kFirstPsn) {
    table.tokens.push_back(ContextOf(qp));
    qp_state.tokens.push_back({.qpn = qp.qpn, .state = state});
    load.tokens.push_back({.qpn = qp.qpn, .psn = psn});
    ASSERT_EQ(bench.RunOut(10), "");
  }
  void Send(const Packet& packet) { frame.tokens.push_back(TokenOf(packet)); }
  void RunOut() { ASSERT_EQ(bench.RunOut(40), ""); }

  // What came out since the last call.
  template <typename T>
  static std::vector<T> Take(Channel<T>& sink) {
    std::vector<T> result;
    for (const auto& sent : sink.sent()) result.push_back(sent.token);
    sink.sent().clear();
    return result;
  }

  std::mt19937_64 random = MakeRandom("responder");
  Agenda agenda;
  Responder block{agenda, kQps};
  Channel<spec::MemoryCheck> checks = Channel<spec::MemoryCheck>::Sink();
  Channel<spec::RxPlace> places = Channel<spec::RxPlace>::Sink();
  Channel<spec::RxAck> acks = Channel<spec::RxAck>::Sink();
  Channel<spec::QpFailure> failures = Channel<spec::QpFailure>::Sink();
  std::shared_ptr<RtlTop<Vresponder_16>> owner;
  RtlTop<Vresponder_16>& rtl = *owner;
  Vresponder_16& p = rtl.ports();
  BlockBench<Vresponder_16> bench{rtl, agenda, random};
  Enable enable{p.enable_i, block, random};
  Idle idle{p.idle_o, block};

  decltype(bench.In("load", block.load_in, p.load_valid_i, p.load_ready_o, p.load_i)) load =
      bench.In("load", block.load_in, p.load_valid_i, p.load_ready_o, p.load_i);
  decltype(bench.In("frame", block.frame_in, p.frame_valid_i, p.frame_ready_o, p.frame_i)) frame =
      bench.In("frame", block.frame_in, p.frame_valid_i, p.frame_ready_o, p.frame_i);
  decltype(bench.In("memory_place", block.memory_place_in, p.memory_place_valid_i, p.memory_place_ready_o,
                    p.memory_place_i)) memory =
      bench.In("memory_place", block.memory_place_in, p.memory_place_valid_i, p.memory_place_ready_o, p.memory_place_i);
  decltype(bench.Out("memory_check", checks, p.memory_check_valid_o, p.memory_check_ready_i, p.memory_check_o)) check =
      bench.Out("memory_check", checks, p.memory_check_valid_o, p.memory_check_ready_i, p.memory_check_o);
  decltype(bench.Out("place", places, p.place_valid_o, p.place_ready_i, p.place_o)) place =
      bench.Out("place", places, p.place_valid_o, p.place_ready_i, p.place_o);
  decltype(bench.Out("ack", acks, p.ack_valid_o, p.ack_ready_i, p.ack_o)) ack =
      bench.Out("ack", acks, p.ack_valid_o, p.ack_ready_i, p.ack_o);
  decltype(bench.Out("failure", failures, p.failure_valid_o, p.failure_ready_i, p.failure_o)) failure =
      bench.Out("failure", failures, p.failure_valid_o, p.failure_ready_i, p.failure_o);
  decltype(bench.Pulse<spec::TableWrite>(p.table_write_valid_i, p.table_write_i, nullptr)) table =
      bench.Pulse<spec::TableWrite>(p.table_write_valid_i, p.table_write_i,
                                    [this](Cycle now, const auto& write) { block.OnTableWrite(now, write); });
  decltype(bench.Pulse<spec::QpStateWrite>(p.qp_state_write_valid_i, p.qp_state_write_i, nullptr)) qp_state =
      bench.Pulse<spec::QpStateWrite>(p.qp_state_write_valid_i, p.qp_state_write_i,
                                      [this](Cycle now, const auto& write) { block.OnQpStateWrite(now, write); });
};

// A QP that can receive.
struct Ready : Bench {
  explicit Ready(const Qp& qp = {}, IbQpState state = IbQpState::kRts) { Configure(qp, state); }

  // Sends one frame; it makes exactly this place.
  void Expect(const RxToken& token, const spec::RxPlace& expected) {
    frame.tokens.push_back(token);
    RunOut();
    const auto out = Take(places);
    ASSERT_EQ(out.size(), 1u);
    EXPECT_EQ(out[0], expected) << "got      " << TokenText(out[0]) << "\nexpected " << TokenText(expected);
  }
  void ExpectFailures(const std::vector<spec::QpFailure>& expected) { EXPECT_EQ(Take(failures), expected); }
};

const spec::RxPlace kDropped{};

spec::QpFailure Failure(RdmaEventType event, AethSyndrome code) {
  return {.qpn = kQpn, .event_type = event, .code = static_cast<uint32_t>(code)};
}

// --- Writes

TEST(Responder, AWriteGoesWhereTheKeyCheckSaysAndIsAcknowledged) {
  Ready bench;
  for (const uint64_t address : {0x10000ull, 0x20001ull, 0xfffffffffff0ull}) {
    const auto n = static_cast<uint32_t>(bench.place.count);
    const RxToken token = TokenOf({.psn = kFirstPsn + n, .bytes = 64, .address = address});
    bench.Expect(token, Write(token, address, Ack(kFirstPsn + n, n + 1)));
  }
  bench.ExpectFailures({});
}

TEST(Responder, AnAcknowledgeIsSentOnlyOnRequest) {
  Ready bench;
  const RxToken token = TokenOf({.bytes = 1, .ack_req = false});
  bench.Expect(token, Write(token, 0x10000));
  // The message has been counted all the same.
  const RxToken next = TokenOf({.psn = kFirstPsn + 1, .bytes = kMtu});
  bench.Expect(next, Write(next, 0x10000, Ack(kFirstPsn + 1, 2)));
}

TEST(Responder, AMessageOfSeveralPacketsContinuesWhereItsPacketBeforeEnded) {
  Ready bench;
  for (uint32_t message = 0; message < 2; ++message) {
    const uint32_t psn = kFirstPsn + 4 * message;
    const uint64_t address = 0x5003 + message;
    const uint32_t length = 3 * kMtu + 17;
    const auto first = TokenOf({.opcode = BthOpcode::kRcRdmaWriteFirst,
                                .psn = psn,
                                .bytes = kMtu,
                                .ack_req = false,
                                .address = address,
                                .dma_length = length});
    bench.Expect(first, Write(first, address));
    for (uint32_t i = 1; i < 3; ++i) {
      const auto middle =
          TokenOf({.opcode = BthOpcode::kRcRdmaWriteMiddle, .psn = psn + i, .bytes = kMtu, .ack_req = i == 2});
      // A message that is not complete is not counted.
      bench.Expect(middle,
                   Write(middle, address + uint64_t{i} * kMtu, i == 2 ? Ack(psn + i, message) : spec::RxPlace{}));
    }
    const auto last = TokenOf({.opcode = BthOpcode::kRcRdmaWriteLast, .psn = psn + 3, .bytes = 17});
    bench.Expect(last, Write(last, address + uint64_t{3} * kMtu, Ack(psn + 3, message + 1)));
  }
}

TEST(Responder, AWriteOfNothingNeedsNeitherKeyNorRight) {
  Ready bench({.remote_write = false});
  bench.Expect(TokenOf({.bytes = 0, .rkey = kBadRkey}), Ack(kFirstPsn, 1));
  EXPECT_EQ(bench.check.count, 0u);
}

TEST(Responder, ReceivesInEveryStateThatDoes) {
  for (const auto state : {IbQpState::kRtr, IbQpState::kRts, IbQpState::kSqd, IbQpState::kSqe}) {
    Ready bench({}, state);
    bench.Expect(TokenOf({.bytes = 0}), Ack(kFirstPsn, 1));
  }
  for (const auto state : {IbQpState::kReset, IbQpState::kInit, IbQpState::kErr}) {
    Ready bench({}, state);
    bench.Expect(TokenOf({.bytes = 0}), kDropped);
  }
}

TEST(Responder, EveryPathMtuIsKept) {
  for (const auto mtu : {spec::IbMtu::kMtu256, spec::IbMtu::kMtu512, spec::IbMtu::kMtu1024, spec::IbMtu::kMtu2048,
                         spec::IbMtu::kMtu4096}) {
    const auto bytes = static_cast<uint16_t>(128u << static_cast<unsigned>(mtu));
    Ready bench({.mtu = mtu});
    const RxToken token = TokenOf({.bytes = bytes});
    bench.Expect(token, Write(token, 0x10000, Ack(kFirstPsn, 1)));
    const uint16_t more = static_cast<uint16_t>(bytes + 1);
    bench.Expect(TokenOf({.psn = kFirstPsn + 1, .bytes = more}),
                 Answer(kFirstPsn + 1, AethSyndrome::kNakInvalidRequest, 1));
  }
}

// --- Silence

TEST(Responder, PacketsThatAreNotForItLeaveNoTrace) {
  const std::vector<std::pair<const char*, std::function<void(RxToken&)>>> cases = {
      {"net", [](RxToken& t) { t.verdict = spec::RxVerdict::kNet; }},
      {"no such QP", [](RxToken& t) { t.bth.dest_qp = 7; }},
      {"QP number too large", [](RxToken& t) { t.bth.dest_qp = kQpn + kQps; }},
      {"UC", [](RxToken& t) { t.bth.opcode = BthOpcode::kUcRdmaWriteOnly; }},
      {"CNP", [](RxToken& t) { t.bth.opcode = BthOpcode::kCnp; }},
      {"other partition", [](RxToken& t) { t.bth.pkey = 0xfffe; }},
      {"other peer, first byte", [](RxToken& t) { t.ip_source[0] ^= 0x80; }},
      {"other peer, last byte", [](RxToken& t) { t.ip_source[15] ^= 1; }},
  };
  for (const auto& [name, change] : cases) {
    SCOPED_TRACE(name);
    Ready bench;
    RxToken token = TokenOf({.bytes = 0});
    change(token);
    token.info = spec::kOpcodeInfo[static_cast<uint8_t>(token.bth.opcode)];
    bench.Expect(token, kDropped);
    // Not even the PSN has moved.
    bench.Expect(TokenOf({.bytes = 0}), Ack(kFirstPsn, 1));
    bench.ExpectFailures({});
  }
}

TEST(Responder, AMemberOfThePartitionWithFewerRightsIsHeard) {
  Ready bench;
  RxToken token = TokenOf({.bytes = 0});
  token.bth.pkey = 0x7fff;
  bench.Expect(token, Ack(kFirstPsn, 1));
}

TEST(Responder, QpsOfOtherServicesAndThoseThatDoNotExistAreSilent) {
  for (const Qp& qp : {Qp{.type = spec::IbQpType::kUc}, Qp{.type = spec::IbQpType::kUd}, Qp{.valid = false}}) {
    Ready bench(qp);
    bench.Expect(TokenOf({.bytes = 0}), kDropped);
  }
}

TEST(Responder, DropsEverythingWhileItIsNotEnabled) {
  Ready bench;
  bench.enable.rate = 0;
  bench.Expect(TokenOf({.bytes = 0}), kDropped);
  bench.enable.rate = 16;
  bench.Expect(TokenOf({.bytes = 0}), Ack(kFirstPsn, 1));
}

// --- Acknowledges

TEST(Responder, AcknowledgesGoOnWhateverTheySay) {
  Ready bench;
  for (const auto syndrome : std::to_array<uint8_t>({0x1f, 0x05, 0x2c, 0x60, 0x61, 0x62, 0x63, 0xff})) {
    bench.Expect(AckOf(0x123456, syndrome, 0xabcdef), kDropped);
    EXPECT_EQ(Bench::Take(bench.acks),
              (std::vector<spec::RxAck>{{.qpn = kQpn, .psn = 0x123456, .syndrome = syndrome, .msn = 0xabcdef}}));
  }
  // They are not the peer's requests: no PSN of its was used.
  bench.Expect(TokenOf({.bytes = 0}), Ack(kFirstPsn, 1));
}

TEST(Responder, OtherResponsesAndAcknowledgesWithPayloadAreDropped) {
  Ready bench;
  for (const auto opcode : {BthOpcode::kRcRdmaReadResponseOnly, BthOpcode::kRcAtomicAcknowledge}) {
    bench.Expect(TokenOf({.opcode = opcode, .bytes = 0}), kDropped);
  }
  RxToken ack = AckOf(1, 0x1f, 1);
  ack.payload_bytes = 4;
  bench.Expect(ack, kDropped);
  EXPECT_EQ(bench.ack.count, 0u);
  bench.ExpectFailures({});
}

// --- PSN

TEST(Responder, ADuplicateIsAcknowledgedAgainAndNotWrittenAgain) {
  Ready bench;
  for (uint32_t i = 0; i < 3; ++i) {
    const RxToken token = TokenOf({.psn = kFirstPsn + i});
    bench.Expect(token, Write(token, 0x10000, Ack(kFirstPsn + i, i + 1)));
  }
  const auto checks = bench.check.count;
  for (const uint32_t behind : {1u, 3u, 4u, 0x800000u}) {
    bench.Expect(TokenOf({.psn = kFirstPsn + 3 - behind, .ack_req = false, .rkey = kBadRkey}), Ack(kFirstPsn + 2, 3));
  }
  // A duplicate that would not be answered by an acknowledge has no answer here.
  bench.Expect(TokenOf({.opcode = BthOpcode::kRcRdmaReadRequest, .psn = kFirstPsn}), kDropped);
  bench.Expect(TokenOf({.opcode = BthOpcode{0x1f}, .psn = kFirstPsn}), kDropped);
  EXPECT_EQ(bench.check.count, checks);
  bench.ExpectFailures({});
}

TEST(Responder, AGapIsToldOnceUntilThePacketThatIsMissingComes) {
  Ready bench;
  const auto nak = Answer(kFirstPsn, AethSyndrome::kNakPsnSequenceError, 0);
  bench.Expect(TokenOf({.psn = kFirstPsn + 1}), nak);
  bench.Expect(TokenOf({.psn = kFirstPsn + 2}), kDropped);
  bench.Expect(TokenOf({.psn = kFirstPsn + 0x7fffff}), kDropped);
  // A duplicate does not fill it.
  bench.Expect(TokenOf({.psn = kFirstPsn - 1}), Ack(kFirstPsn - 1, 0));
  bench.Expect(TokenOf({.psn = kFirstPsn + 1}), kDropped);
  bench.Expect(TokenOf({.bytes = 0}), Ack(kFirstPsn, 1));
  bench.Expect(TokenOf({.psn = kFirstPsn + 2}), Answer(kFirstPsn + 1, AethSyndrome::kNakPsnSequenceError, 1));
  bench.ExpectFailures({});
}

TEST(Responder, AGapInsideAMessageKeepsTheMessage) {
  Ready bench;
  const auto first = TokenOf({.opcode = BthOpcode::kRcRdmaWriteFirst, .bytes = kMtu, .dma_length = kMtu + 8});
  bench.Expect(first, Write(first, 0x10000, Ack(kFirstPsn, 0)));
  bench.Expect(TokenOf({.psn = kFirstPsn + 2}), Answer(kFirstPsn + 1, AethSyndrome::kNakPsnSequenceError, 0));
  const auto last = TokenOf({.opcode = BthOpcode::kRcRdmaWriteLast, .psn = kFirstPsn + 1, .bytes = 8});
  bench.Expect(last, Write(last, 0x10000 + kMtu, Ack(kFirstPsn + 1, 1)));
}

TEST(Responder, PsnsWrap) {
  Ready bench;
  for (uint32_t i = 0; i < 40; ++i)
    bench.Expect(TokenOf({.psn = kFirstPsn + i, .bytes = 0}), Ack(kFirstPsn + i, i + 1));
}

// --- Requests that are refused

struct Refusal {
  const char* name;
  Packet packet;
  bool in_message = false;  // after the first packet of a message of two path MTUs
};

std::vector<Refusal> InvalidRequests() {
  using O = BthOpcode;
  const uint32_t after = kFirstPsn + 1;
  return {
      {"middle outside a message", {.opcode = O::kRcRdmaWriteMiddle, .bytes = kMtu}},
      {"last outside a message", {.opcode = O::kRcRdmaWriteLast}},
      {"only inside a message", {.psn = after, .bytes = 0}, true},
      {"first inside a message",
       {.opcode = O::kRcRdmaWriteFirst, .psn = after, .bytes = kMtu, .dma_length = 5000},
       true},
      {"other operation inside a message", {.opcode = O::kRcSendLast, .psn = after}, true},
      {"send", {.opcode = O::kRcSendOnly}},
      {"read", {.opcode = O::kRcRdmaReadRequest, .bytes = 0}},
      {"atomic", {.opcode = O::kRcFetchAdd, .bytes = 0}},
      {"flush", {.opcode = O::kRcFlush, .bytes = 0}},
      {"atomic write", {.opcode = O::kRcAtomicWrite, .bytes = 8}},
      {"write with immediate", {.opcode = O::kRcRdmaWriteOnlyWithImmediate}},
      {"reserved opcode", {.opcode = O{0x15}}},
      {"first shorter than the MTU", {.opcode = O::kRcRdmaWriteFirst, .bytes = kMtu - 1, .dma_length = 5000}},
      {"first longer than the MTU", {.opcode = O::kRcRdmaWriteFirst, .bytes = kMtu + 1, .dma_length = 5000}},
      {"first that is all", {.opcode = O::kRcRdmaWriteFirst, .bytes = kMtu, .dma_length = kMtu}},
      {"first that is more than all", {.opcode = O::kRcRdmaWriteFirst, .bytes = kMtu, .dma_length = 5}},
      {"only longer than the MTU", {.bytes = kMtu + 1}},
      {"only shorter than it says", {.bytes = 64, .dma_length = 65}},
      {"only longer than it says", {.bytes = 64, .dma_length = 63}},
      {"nothing, but it says something", {.bytes = 0, .dma_length = 1}},
      {"middle shorter than the MTU", {.opcode = O::kRcRdmaWriteMiddle, .psn = after, .bytes = kMtu - 1}, true},
      {"middle that is all", {.opcode = O::kRcRdmaWriteMiddle, .psn = after, .bytes = kMtu}, true},
      {"last of nothing", {.opcode = O::kRcRdmaWriteLast, .psn = after, .bytes = 0}, true},
      {"last that is not all", {.opcode = O::kRcRdmaWriteLast, .psn = after, .bytes = kMtu - 1}, true},
      {"last longer than the MTU", {.opcode = O::kRcRdmaWriteLast, .psn = after, .bytes = kMtu + 1}, true},
  };
}

TEST(Responder, EveryInvalidRequestIsRefusedAndEndsTheConnection) {
  for (const Refusal& refusal : InvalidRequests()) {
    SCOPED_TRACE(refusal.name);
    Ready bench;
    if (refusal.in_message) {
      const auto first = TokenOf({.opcode = BthOpcode::kRcRdmaWriteFirst, .bytes = kMtu, .dma_length = 2 * kMtu});
      bench.Expect(first, Write(first, 0x10000, Ack(kFirstPsn, 0)));
    }
    const auto checks = bench.check.count;
    bench.Expect(TokenOf(refusal.packet), Answer(refusal.packet.psn, AethSyndrome::kNakInvalidRequest, 0));
    EXPECT_EQ(bench.check.count, checks);
    bench.ExpectFailures({Failure(RdmaEventType::kQpReqErr, AethSyndrome::kNakInvalidRequest)});
    // The QP is dead, before anybody else has heard of it; acknowledges do not reach it either.
    bench.Expect(TokenOf({.psn = refusal.packet.psn, .bytes = 0}), kDropped);
    bench.Expect(AckOf(1, 0x1f, 1), kDropped);
    EXPECT_EQ(bench.ack.count, 0u);
    bench.ExpectFailures({});
  }
}

TEST(Responder, ARefusedKeyEndsTheConnection) {
  Ready bench;
  bench.Expect(TokenOf({.rkey = kBadRkey}), Answer(kFirstPsn, AethSyndrome::kNakRemoteAccessError, 0));
  EXPECT_EQ(bench.check.count, 1u);
  bench.ExpectFailures({Failure(RdmaEventType::kQpAccessErr, AethSyndrome::kNakRemoteAccessError)});
  bench.Expect(TokenOf({.bytes = 0}), kDropped);
}

TEST(Responder, AKeyIsCheckedWithEveryPacket) {
  Ready bench;
  const auto first = TokenOf({.opcode = BthOpcode::kRcRdmaWriteFirst, .bytes = kMtu, .dma_length = kMtu + 8});
  bench.Expect(first, Write(first, 0x10000, Ack(kFirstPsn, 0)));
  bench.check.on_token = [&](Cycle, const spec::MemoryCheck& asked) {
    EXPECT_EQ(asked.key, kRkey);
    EXPECT_EQ(asked.address, 0x10000u + kMtu);
    EXPECT_EQ(asked.bytes, 8u);
    bench.memory.tokens.push_back({.status = MemoryStatus::kBounds});
  };
  bench.Expect(TokenOf({.opcode = BthOpcode::kRcRdmaWriteLast, .psn = kFirstPsn + 1, .bytes = 8}),
               Answer(kFirstPsn + 1, AethSyndrome::kNakRemoteAccessError, 0));
}

TEST(Responder, AWriteWithoutTheQpsRightIsRefusedWithoutAKeyCheck) {
  Ready bench({.remote_write = false});
  bench.Expect(TokenOf({}), Answer(kFirstPsn, AethSyndrome::kNakRemoteAccessError, 0));
  EXPECT_EQ(bench.check.count, 0u);
  bench.ExpectFailures({Failure(RdmaEventType::kQpAccessErr, AethSyndrome::kNakRemoteAccessError)});
}

TEST(Responder, ALoadBeginsAnew) {
  Ready bench;
  const auto first = TokenOf({.opcode = BthOpcode::kRcRdmaWriteFirst, .bytes = kMtu, .dma_length = 5 * kMtu});
  bench.Expect(first, Write(first, 0x10000, Ack(kFirstPsn, 0)));
  bench.Expect(TokenOf({.psn = kFirstPsn + 1}), Answer(kFirstPsn + 1, AethSyndrome::kNakInvalidRequest, 0));
  bench.load.tokens.push_back({.qpn = kQpn, .psn = 0x4711});
  bench.RunOut();
  bench.Expect(TokenOf({.psn = 0x4711, .bytes = 0}), Ack(0x4711, 1));
}

TEST(Responder, OneQpsErrorIsNobodyElses) {
  Ready bench;
  bench.Configure({.qpn = 6}, IbQpState::kRtr, 100);
  bench.Expect(TokenOf({.opcode = BthOpcode::kRcSendOnly}), Answer(kFirstPsn, AethSyndrome::kNakInvalidRequest, 0));
  bench.Expect(TokenOf({.psn = 100, .bytes = 0, .qpn = 6}), Answer(100, AethSyndrome::kAckNoCredits, 1, 6));
}

// --- Timing

TEST(Responder, DecidesThreeCyclesAfterTheFrameAndTwoAfterTheKeyCheck) {
  Ready bench;
  bench.frame.tokens.push_back(TokenOf({.bytes = 0}));
  const Cycle pushed = bench.bench.cycle();
  // In its slice, its turn, two cycles to decide, in the register.
  constexpr uint64_t kLatency = 1 + Responder::kDecisionLatency + 1;
  ASSERT_EQ(bench.bench.Run(kLatency), "");
  EXPECT_EQ(bench.place.count, 0u);
  EXPECT_FALSE(bench.block.IsIdle());
  ASSERT_EQ(bench.bench.Run(1), "");
  ASSERT_EQ(bench.place.count, 1u);
  EXPECT_EQ(bench.places.sent().back().cycle, pushed + kLatency);
  EXPECT_TRUE(bench.block.IsIdle());

  bench.check.on_token = nullptr;
  bench.frame.tokens.push_back(TokenOf({.psn = kFirstPsn + 1}));
  ASSERT_EQ(bench.bench.Run(kLatency), "");
  EXPECT_EQ(bench.check.count, 0u);
  ASSERT_EQ(bench.bench.Run(1), "");
  EXPECT_EQ(bench.check.count, 1u);
  ASSERT_EQ(bench.bench.Run(10), "");
  bench.memory.tokens.push_back({.status = MemoryStatus::kOk, .address0 = 1, .bytes0 = 64});
  ASSERT_EQ(bench.bench.Run(2), "");
  EXPECT_EQ(bench.place.count, 1u);
  ASSERT_EQ(bench.bench.Run(1), "");
  EXPECT_EQ(bench.place.count, 2u);
}

TEST(Responder, AFrameTakesThreeCyclesWithoutAKeyCheck) {
  Ready bench;
  constexpr uint32_t kFrames = 20;
  for (uint32_t i = 0; i < kFrames; ++i) bench.Send({.psn = kFirstPsn + i, .bytes = 0});
  bench.RunOut();
  const auto& sent = bench.places.sent();
  ASSERT_EQ(sent.size(), kFrames);
  EXPECT_EQ(sent.back().cycle - sent.front().cycle, uint64_t{3} * (kFrames - 1));
}

// --- At random

// What a responder does, frame by frame, as IBTA tells it.
struct Reference {
  struct Half {
    bool dead = false, gap = false, inside = false;
    uint32_t psn = 0, msn = 0, rkey = 0;
    uint64_t at = 0, left = 0;
  };
  std::array<Half, kQps> halves{};
  std::array<bool, kQps> may_write{};
  std::vector<spec::RxPlace> places{};
  std::vector<spec::RxAck> acks{};
  std::vector<spec::QpFailure> failures{};

  void Frame(const RxToken& t) { places.push_back(Decide(t)); }
  spec::RxPlace Refuse(const RxToken& t, RdmaEventType event, AethSyndrome code) {
    Half& h = halves[t.bth.dest_qp];
    h.dead = true;
    failures.push_back({.qpn = t.bth.dest_qp, .event_type = event, .code = static_cast<uint32_t>(code)});
    return Answer(t.bth.psn, code, h.msn, t.bth.dest_qp);
  }
  spec::RxPlace Decide(const RxToken& t) {
    const uint32_t qpn = t.bth.dest_qp;
    uint8_t peer[16];
    SetPeer(qpn, peer);
    if (t.verdict != spec::RxVerdict::kRoce || qpn >= kQps) return {};
    Half& h = halves[qpn];
    const auto op = t.bth.opcode;
    if (h.dead || static_cast<uint8_t>(op) >= 0x20 || t.bth.pkey != spec::kPkeyDefault) return {};
    if (!std::equal(peer, peer + 16, t.ip_source)) return {};
    if (op == BthOpcode::kRcAcknowledge) {
      if (t.payload_bytes == 0) {
        acks.push_back({.qpn = qpn,
                        .psn = t.bth.psn,
                        .syndrome = t.extension[0],
                        .msn = static_cast<uint32_t>(t.extension[1] << 16 | t.extension[2] << 8 | t.extension[3])});
      }
      return {};
    }
    const auto code = static_cast<uint8_t>(op);
    if ((code >= 0x0d && code <= 0x10) || op == BthOpcode::kRcAtomicAcknowledge) return {};
    const uint32_t distance = Psn(t.bth.psn - h.psn);
    if (distance >= 0x800000) {
      const bool write_or_send = static_cast<uint8_t>(op) <= 0x0b || op == BthOpcode::kRcSendLastWithInvalidate ||
                                 op == BthOpcode::kRcSendOnlyWithInvalidate;
      return write_or_send ? Answer(h.psn - 1, AethSyndrome::kAckNoCredits, h.msn, qpn) : spec::RxPlace{};
    }
    if (distance != 0) {
      if (std::exchange(h.gap, true)) return {};
      return Answer(h.psn, AethSyndrome::kNakPsnSequenceError, h.msn, qpn);
    }
    const bool first = op == BthOpcode::kRcRdmaWriteFirst, only = op == BthOpcode::kRcRdmaWriteOnly;
    const bool middle = op == BthOpcode::kRcRdmaWriteMiddle, last = op == BthOpcode::kRcRdmaWriteLast;
    Half next = h;
    if (first || only) {
      const auto reth = spec::Reth::Decode(t.extension);
      next.at = reth.virtual_address;
      next.rkey = reth.rkey;
      next.left = reth.dma_length;
    }
    const bool fits = (first || middle) ? t.payload_bytes == kMtu && next.left > kMtu
                                        : t.payload_bytes <= kMtu && next.left == t.payload_bytes;
    const bool order = h.inside ? middle || last : first || only;
    if (!order || !fits || (last && t.payload_bytes == 0)) {
      return Refuse(t, RdmaEventType::kQpReqErr, AethSyndrome::kNakInvalidRequest);
    }
    if (t.payload_bytes != 0 && (!may_write[qpn] || next.rkey != kRkey)) {
      return Refuse(t, RdmaEventType::kQpAccessErr, AethSyndrome::kNakRemoteAccessError);
    }
    const uint64_t at = next.at;
    next.at += t.payload_bytes;
    next.left -= t.payload_bytes;
    next.inside = first || middle;
    next.gap = false;
    next.msn = Psn(h.msn + (only || last));
    next.psn = Psn(h.psn + 1);
    h = next;
    spec::RxPlace answer;
    if (t.bth.ack_req) answer = Answer(t.bth.psn, AethSyndrome::kAckNoCredits, h.msn, qpn);
    return t.payload_bytes != 0 ? Write(t, at, answer) : answer;
  }
};

// Peers that are nearly always right.
class Peers {
 public:
  Peers(std::mt19937_64& random, std::array<uint32_t, kQps> psn) : random_(random), psn_(psn) {}

  RxToken Next() {
    const auto qpn = static_cast<uint32_t>(random_() % kQps);
    if (One(8)) {
      RxToken ack = AckOf(static_cast<uint32_t>(random_()), static_cast<uint8_t>(random_()),
                          static_cast<uint32_t>(random_() & 0xffffff));
      ack.bth.dest_qp = qpn;
      SetPeer(qpn, ack.ip_source);
      return ack;
    }
    Packet packet{.psn = psn_[qpn], .ack_req = One(2), .qpn = qpn, .address = random_()};
    uint32_t left = left_[qpn];
    if (left == 0) {
      left = static_cast<uint32_t>(random_() % (One(2) ? kMtu + 1 : 6 * kMtu));
      packet.dma_length = left;
      packet.opcode = left > kMtu ? BthOpcode::kRcRdmaWriteFirst : BthOpcode::kRcRdmaWriteOnly;
    } else {
      packet.opcode = left > kMtu ? BthOpcode::kRcRdmaWriteMiddle : BthOpcode::kRcRdmaWriteLast;
    }
    packet.bytes = static_cast<uint16_t>(std::min<uint32_t>(left, kMtu));
    left -= packet.bytes;

    bool wrong = false;
    const auto sometimes = [&](unsigned of) {
      const bool now = One(of);
      wrong |= now;
      return now;
    };
    if (sometimes(12)) packet.psn -= static_cast<uint32_t>(random_() % 0x800000);
    if (sometimes(40)) packet.psn += static_cast<uint32_t>(random_() % 0x800000);
    if (sometimes(60)) packet.opcode = static_cast<BthOpcode>(random_() % (One(4) ? 256 : 32));
    if (sometimes(200)) packet.bytes = static_cast<uint16_t>(random_() % 9000);
    if (sometimes(60)) packet.rkey = kBadRkey;
    RxToken token = TokenOf(packet);
    // The parser lets unknown opcodes pass only if they are of RC.
    if (!token.info.valid && static_cast<uint8_t>(packet.opcode) >= 0x20) token = TokenOf({});
    if (sometimes(30)) token.verdict = spec::RxVerdict::kNet;
    if (sometimes(50)) token.ip_source[random_() % 16] ^= static_cast<uint8_t>(1u << random_() % 8);
    if (sometimes(100)) token.bth.pkey = static_cast<uint16_t>(random_() & 0x7ffe);
    if (sometimes(100)) token.bth.dest_qp = static_cast<uint32_t>(random_() % (uint64_t{2} * kQps));
    // Most of what is wrong comes beside the right packet, the rest instead of it.
    if (wrong && !One(4)) return token;
    psn_[qpn] = Psn(psn_[qpn] + 1);
    left_[qpn] = left;
    return token;
  }

 private:
  bool One(unsigned of) { return random_() % of == 0; }

  std::mt19937_64& random_;
  std::array<uint32_t, kQps> psn_;
  std::array<uint32_t, kQps> left_{};
};

struct Rates {
  unsigned frame, memory, check, place, ack, failure;
};
constexpr Rates kRates[] = {
    {16, 16, 16, 16, 16, 16}, {16, 16, 16, 3, 16, 16}, {16, 2, 16, 16, 16, 16}, {3, 16, 16, 16, 16, 16},
    {16, 16, 3, 16, 16, 16},  {16, 16, 16, 16, 1, 16}, {16, 16, 16, 16, 16, 1}, {9, 9, 9, 9, 9, 9},
};

void SetRates(Bench& bench, const Rates& rates) {
  bench.frame.rate = rates.frame;
  bench.memory.rate = rates.memory;
  bench.check.rate = rates.check;
  bench.place.rate = rates.place;
  bench.ack.rate = rates.ack;
  bench.failure.rate = rates.failure;
}

TEST(Responder, DoesWhatTheReferenceDoesAtEveryRate) {
  for (const Rates& rates : kRates) {
    Bench bench;
    SetRates(bench, rates);
    bench.load.rate = bench.table.rate = 16;
    Reference reference;
    std::array<uint64_t, 256> answers{};  // by syndrome
    uint64_t writes = 0, dropped = 0, acks = 0;
    for (unsigned round = 0; round < 20; ++round) {
      std::array<uint32_t, kQps> psn{};
      for (uint32_t qpn = 0; qpn < kQps; ++qpn) {
        psn[qpn] = static_cast<uint32_t>(bench.random() & 0xffffff);
        reference.halves[qpn] = {.psn = psn[qpn]};
        reference.may_write[qpn] = bench.random() % 8 != 0;
        bench.Configure({.qpn = qpn, .remote_write = reference.may_write[qpn]}, IbQpState::kRts, psn[qpn]);
      }
      Peers peers(bench.random, psn);
      for (unsigned i = 0; i < 200; ++i) {
        bench.frame.tokens.push_back(peers.Next());
        reference.Frame(bench.frame.tokens.back());
      }
      ASSERT_EQ(bench.bench.RunOut(400), "");
      const auto places = Bench::Take(bench.places);
      ASSERT_EQ(places.size(), reference.places.size());
      for (size_t i = 0; i < places.size(); ++i) {
        ASSERT_EQ(places[i], reference.places[i])
            << i << "\ngot      " << TokenText(places[i]) << "\nexpected " << TokenText(reference.places[i]);
        if (places[i].has_answer) ++answers[places[i].answer.extension[0]];
        writes += places[i].bytes0 != 0;
        dropped += places[i] == kDropped;
      }
      acks += reference.acks.size();
      reference.places.clear();
      ASSERT_EQ(Bench::Take(bench.acks), std::exchange(reference.acks, {}));
      ASSERT_EQ(Bench::Take(bench.failures), std::exchange(reference.failures, {}));
      EXPECT_TRUE(bench.block.IsIdle());
    }
    // Nothing was left out.
    for (const auto syndrome : {AethSyndrome::kAckNoCredits, AethSyndrome::kNakPsnSequenceError,
                                AethSyndrome::kNakInvalidRequest, AethSyndrome::kNakRemoteAccessError}) {
      EXPECT_GT(answers[static_cast<uint8_t>(syndrome)], 0u) << spec::ToString(syndrome);
    }
    EXPECT_GT(writes, 100u);
    EXPECT_GT(dropped, 100u);
    EXPECT_GT(acks, 100u);
    EXPECT_GT(bench.idle.count, 0u);
  }
}

TEST(Responder, AgreesWithTheModelWhileEverythingChanges) {
  for (const Rates& rates : kRates) {
    Bench bench;
    SetRates(bench, rates);
    bench.table.rate = bench.qp_state.rate = bench.load.rate = 1;
    bench.enable.rate = 15;
    for (uint32_t qpn = 0; qpn < kQps; ++qpn) {
      bench.table.tokens.push_front(ContextOf({.qpn = qpn}));
      bench.qp_state.tokens.push_front({.qpn = qpn, .state = IbQpState::kRts});
    }
    Peers peers(bench.random, {});
    for (unsigned i = 0; i < 3000; ++i) bench.frame.tokens.push_back(peers.Next());
    for (unsigned i = 0; i < 400; ++i) {
      const auto qpn = static_cast<uint32_t>(bench.random() % kQps);
      bench.load.tokens.push_back({.qpn = qpn, .psn = static_cast<uint32_t>(bench.random() % 200)});
      auto write = ContextOf({.qpn = qpn,
                              .type = bench.random() % 8 == 0 ? spec::IbQpType::kUc : spec::IbQpType::kRc,
                              .valid = bench.random() % 8 != 0,
                              .remote_write = bench.random() % 4 != 0});
      if (bench.random() % 4 == 0) write.table_id = spec::MgmtTable::kMr;
      bench.table.tokens.push_back(write);
      bench.qp_state.tokens.push_back(
          {.qpn = qpn,
           .state = static_cast<IbQpState>(bench.random() % 3 == 0 ? bench.random() % 7 : 3),
           .clear = bench.random() % 2 == 0});
    }
    ASSERT_EQ(bench.bench.RunOut(200), "");
    EXPECT_EQ(bench.place.count, 3000u);
  }
}

TEST(Responder, AResetInTrafficForgetsWhatIsUnderWay) {
  std::shared_ptr<RtlTop<Vresponder_16>> rtl;
  for (unsigned i = 0; i < 20; ++i) {
    Bench bench(rtl);
    rtl = bench.owner;
    bench.place.rate = bench.memory.rate = 4;
    // Tables keep their contents; what firmware does anew is all that counts.
    for (uint32_t qpn = 0; qpn < kQps; ++qpn) bench.Configure({.qpn = qpn}, IbQpState::kRts, 0);
    Peers peers(bench.random, {});
    for (unsigned n = 0; n < 200; ++n) bench.frame.tokens.push_back(peers.Next());
    ASSERT_EQ(bench.bench.Run(50 + bench.random() % 200), "");
  }
}

}  // namespace
}  // namespace vireo::verif
