// SPDX-License-Identifier: Apache-2.0
// The read responder: RTL against model in every cycle, and both against the definition of READs and answers.
#include "model/rdma/read_responder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "Vread_responder_16.h"
#include "sim/common/seed.h"
#include "verif/common/block_bench.h"
#include "verif/common/context_bench.h"
#include "verif/common/level_bench.h"
#include "verif/rdma/grant_bench.h"
#include "verif/rdma/hold_bench.h"
#include "verif/rdma/room_bench.h"
#include "verif/rdma/tx_bench.h"

namespace vireo::verif {
namespace {

using model::Agenda;
using model::Channel;
using model::Cycle;
using model::ReadResponder;
using spec::AethSyndrome;
using spec::BthOpcode;
using spec::IbMtu;
using spec::IbQpState;
using spec::MemoryStatus;
using Top = Vread_responder_16;
using Rtl = RtlTop<Top>;

constexpr uint32_t kQps = 16;  // as the Verilated class was made
constexpr uint32_t kReads = 4;
constexpr uint32_t kMaxMessageBytes = uint32_t{1} << 31;

// In ERR no new ones arrive, but those taken before are answered.
constexpr std::array kAnswering = {IbQpState::kRtr, IbQpState::kRts, IbQpState::kSqd, IbQpState::kSqe, IbQpState::kErr};
constexpr std::array kMute = {IbQpState::kReset, IbQpState::kInit};
constexpr std::array kMtus = {IbMtu::kMtu256, IbMtu::kMtu512, IbMtu::kMtu1024, IbMtu::kMtu2048, IbMtu::kMtu4096};

uint32_t Bytes(IbMtu mtu) { return 128u << static_cast<uint32_t>(mtu); }
uint32_t Psn(uint32_t value) { return value & 0xff'ffff; }
uint32_t Packets(uint32_t bytes, uint32_t mtu) { return bytes == 0 ? 1 : (bytes - 1) / mtu + 1; }
uint8_t Ack() { return static_cast<uint8_t>(AethSyndrome::kAckNoCredits); }
uint8_t Nak(AethSyndrome syndrome) { return static_cast<uint8_t>(syndrome); }

// Syndrome and MSN as in a packet.
void SetAeth(spec::TxPacket& packet, uint8_t syndrome, uint32_t msn) {
  packet.extension[0] = syndrome;
  for (unsigned i = 0; i < 3; ++i) packet.extension[1 + i] = static_cast<uint8_t>(msn >> (16 - 8 * i));
}
uint32_t MsnOf(const spec::TxPacket& packet) {
  return uint32_t{packet.extension[1]} << 16 | uint32_t{packet.extension[2]} << 8 | packet.extension[3];
}

spec::RxAnswer Answer(uint32_t qpn, uint32_t psn, uint8_t syndrome = Ack(), uint32_t msn = 0) {
  spec::RxAnswer answer{.packet = {.qpn = qpn, .opcode = BthOpcode::kRcAcknowledge, .psn = Psn(psn)}};
  SetAeth(answer.packet, syndrome, msn);
  return answer;
}
spec::RxAnswer Read(uint32_t qpn, uint32_t psn, uint32_t bytes, uint32_t msn = 0, uint64_t address = 0x1000) {
  spec::RxAnswer read{.is_read = true,
                      .packet = {.qpn = qpn, .psn = Psn(psn)},
                      .address = address,
                      .rkey = qpn << 8 | 0x5a,
                      .bytes = bytes};
  SetAeth(read.packet, Ack(), msn);
  return read;
}
spec::RxAnswer AtomicOf(uint32_t qpn, uint32_t psn, bool is_swap, uint32_t msn = 0, bool is_duplicate = false,
                        uint64_t address = 0x1000) {
  spec::RxAnswer answer = Read(qpn, psn, 8, msn, address);
  answer.packet.opcode = is_swap ? BthOpcode::kRcCompareSwap : BthOpcode::kRcFetchAdd;
  for (unsigned i = 0; i < 16; ++i) answer.packet.extension[4 + i] = static_cast<uint8_t>(0xa0 + i + psn);
  answer.is_duplicate = is_duplicate;
  return answer;
}
// ATOMIC WRITE: length and value, lowest byte first, as in its packet.
spec::RxAnswer StoreOf(uint32_t qpn, uint32_t psn, uint32_t msn = 0, bool is_duplicate = false,
                       uint64_t address = 0x1000) {
  spec::RxAnswer answer = AtomicOf(qpn, psn, false, msn, is_duplicate, address);
  answer.packet.opcode = BthOpcode::kRcAtomicWrite;
  return answer;
}
// FLUSH: length and FETH.
spec::RxAnswer FlushOf(uint32_t qpn, uint32_t psn, bool whole, uint8_t placement, uint32_t msn = 0,
                       bool is_duplicate = false, uint64_t address = 0x1000) {
  spec::RxAnswer answer = AtomicOf(qpn, psn, false, msn, is_duplicate, address);
  answer.packet.opcode = BthOpcode::kRcFlush;
  answer.bytes = 1;
  spec::Feth{.selectivity = static_cast<spec::FlushSelectivity>(whole), .placement = placement}.Encode(
      answer.packet.extension + 8);
  return answer;
}
uint64_t ValueOf(const spec::RxAnswer& store) {
  uint64_t value = 0;
  for (unsigned i = 8; i-- != 0;) value = value << 8 | store.packet.extension[8 + i];
  return value;
}
uint64_t Operand(const spec::RxAnswer& answer, unsigned first) {
  uint64_t value = 0;
  for (unsigned i = 0; i < 8; ++i) value = value << 8 | answer.packet.extension[4 + first + i];
  return value;
}
// What the operation finds.
uint64_t OriginalOf(uint32_t qpn, uint32_t psn) {
  return 0x0102'0304'0506'0708 * (psn + 1) ^ uint64_t { qpn } << 60;
}
// A duplicate's is not kept always.
bool IsKept(uint32_t psn) { return psn % 5 != 0; }
spec::AtomicResult ResultOf(const spec::AtomicRequest& request) {
  if (request.is_duplicate && !IsKept(request.psn)) return {.qpn = request.qpn, .status = spec::AtomicStatus::kUnknown};
  return {.qpn = request.qpn, .value = OriginalOf(request.qpn, request.psn)};
}
spec::TxJob AtomicJob(const spec::RxAnswer& answer) {
  spec::TxJob job{.packet = {.qpn = answer.packet.qpn,
                             .opcode = BthOpcode::kRcAtomicAcknowledge,
                             .psn = answer.packet.psn,
                             .is_response = true}};
  std::copy_n(answer.packet.extension, spec::Aeth::kBytes, job.packet.extension);
  if (answer.packet.opcode == BthOpcode::kRcAtomicWrite || answer.packet.opcode == BthOpcode::kRcFlush) {
    job.packet.opcode = BthOpcode::kRcRdmaReadResponseOnly;
    return job;
  }
  const uint64_t value = OriginalOf(answer.packet.qpn, answer.packet.psn);
  for (unsigned i = 0; i < 8; ++i) job.packet.extension[4 + i] = static_cast<uint8_t>(value >> (56 - 8 * i));
  return job;
}
spec::TxJob AnswerJob(const spec::RxAnswer& answer) {
  spec::TxJob job{.packet = answer.packet};
  job.packet.is_response = true;
  return job;
}

// A place for every access: in two runs where it crosses a page.
spec::MemoryPlace PlaceOf(const spec::MemoryCheck& check) {
  const uint64_t base = check.address ^ 0x5500'0000'0000'0000u ^ uint64_t { check.key } << 32;
  const auto first = static_cast<uint32_t>(std::min<uint64_t>(check.bytes, 4096 - base % 4096));
  spec::MemoryPlace place{.address0 = base, .bytes0 = static_cast<uint16_t>(first), .grant = GrantOf(check.address)};
  if (first != check.bytes) {
    place.address1 = base + 0x10'0000;
    place.bytes1 = static_cast<uint16_t>(check.bytes - first);
  }
  return place;
}

// The expected packets of a READ, by definition. [IBTA vol. 1, table 38]
std::vector<spec::TxJob> Responses(const spec::RxAnswer& read, IbMtu path_mtu, uint16_t pdn) {
  if (read.packet.opcode != BthOpcode{}) {
    if (read.is_duplicate && !IsKept(read.packet.psn)) return {};
    return {AtomicJob(read)};
  }
  const uint32_t mtu = Bytes(path_mtu);
  const uint32_t packets = Packets(read.bytes, mtu);
  std::vector<spec::TxJob> jobs;
  for (uint32_t i = 0; i < packets; ++i) {
    const uint32_t bytes = std::min(mtu, read.bytes - i * mtu);
    spec::TxJob job{.packet = {.qpn = read.packet.qpn,
                               .psn = Psn(read.packet.psn + i),
                               .payload_bytes = static_cast<uint16_t>(bytes),
                               .is_response = true}};
    job.packet.opcode = packets == 1       ? BthOpcode::kRcRdmaReadResponseOnly
                        : i == 0           ? BthOpcode::kRcRdmaReadResponseFirst
                        : i == packets - 1 ? BthOpcode::kRcRdmaReadResponseLast
                                           : BthOpcode::kRcRdmaReadResponseMiddle;
    std::copy_n(read.packet.extension, spec::Aeth::kBytes, job.packet.extension);
    if (bytes != 0) {
      const auto place = PlaceOf({.key = read.rkey,
                                  .pdn = pdn,
                                  .remote_read = true,
                                  .address = read.address + uint64_t{i} * mtu,
                                  .bytes = bytes});
      job.address0 = place.address0;
      job.bytes0 = place.bytes0;
      job.address1 = place.address1;
      job.bytes1 = place.bytes1;
      job.grant = place.grant;
    }
    jobs.push_back(job);
  }
  return jobs;
}

uint16_t PdnOf(uint32_t qpn) { return static_cast<uint16_t>(0x300 + qpn); }

Rtl::Outputs Outputs() {
  return [](const Top& top, std::vector<uint8_t>& bytes) {
    for (const auto bit : {top.answer_ready_o, top.memory_place_ready_o, top.packet_valid_o, top.memory_check_valid_o,
                           top.job_valid_o, top.atomic_valid_o, top.result_ready_o, top.failure_valid_o,
                           top.qp_reads_valid_o, top.room_used_o, top.idle_o}) {
      bytes.push_back(bit);
    }
    const auto add = [&](const auto& port) {
      const auto data = BytesOf(port);
      bytes.insert(bytes.end(), data.begin(), data.end());
    };
    add(top.packet_o);
    add(top.memory_check_o);
    add(top.job_o);
    add(top.atomic_o);
    add(top.failure_o);
    add(top.qp_reads_o);
  };
}

// The block with its environment: a memory that returns a place for every check, and tx_gather with tx_builder, which
// take the jobs in order.
struct Bench {
  explicit Bench(Rtl& rtl) : p(rtl.ports()), bench(rtl, agenda, random) {
    block.packet_out.Connect(packet_sink, block);
    block.memory_check_out.Connect(check_sink, block);
    block.job_out.Connect(job_sink, block);
    block.atomic_out.Connect(atomic_sink, block);
    block.failure_out.Connect(failure_sink, block);
    atomic.on_token = [this](Cycle, const spec::AtomicRequest& token) {
      if (executes) result.tokens.push_back(execute(token));
    };
    block.on_qp_reads = [this](Cycle cycle, const spec::QpReads& token) {
      reads.Tell(cycle, token);
      ended[token.qpn] = token.ended;
    };
    check.on_token = [this](Cycle, const spec::MemoryCheck& token) {
      EXPECT_FALSE(token.local_write);
      EXPECT_EQ(
          token.remote_read + token.remote_atomic + token.remote_write + (token.flush_global || token.flush_persistent),
          1);
      if (answers_checks) place.tokens.push_back(memory(token));
    };
    packet.on_token = [this](Cycle cycle, const spec::TxPacket& token) {
      if (on_straight) on_straight(cycle, token);
    };
    job.on_token = [this](Cycle, const spec::TxJob& token) { on_way.push_back(token); };
    p.response_taken_i = 0;
    bench.AddOther(reads);
    bench.AddOther(surroundings);
    bench.AddOther(hold);
    bench.AddOther(room);
    bench.AddOther(stops);
    bench.AddOther(contexts);
    EXPECT_EQ(bench.Run(kQps), "");  // the sets of QPs are cleared
  }

  std::string Begin(Cycle cycle) {
    const bool takes = !on_way.empty() && random() % 16 < take_rate;
    if (takes) {
      if (on_taken) on_taken(cycle, on_way.front());
      on_way.pop_front();
      block.OnResponseTaken(cycle);
    }
    p.response_taken_i = takes;
    return Same("idle", p.idle_o, idle);
  }
  std::string End(Cycle cycle) {
    if (answer.accepted != accepted_before && on_accepted) on_accepted(cycle);
    accepted_before = answer.accepted;
    idle = block.IsIdle();
    return {};
  }

  // Until nothing is in flight.
  std::string Settle() {
    for (int i = 0; i < 20'000; ++i) {
      if (std::string difference = bench.Run(1); !difference.empty()) return difference;
      if (answer.IsEmpty() && place.IsEmpty() && result.IsEmpty() && states.IsEmpty() && tables.IsEmpty() &&
          block.IsIdle() && on_way.empty()) {
        return {};
      }
    }
    return "the block does not become idle";
  }
  void SetState(uint32_t qpn, IbQpState state) {
    states.tokens.push_back({.qpn = qpn, .state = state, .clear = state == IbQpState::kReset});
  }
  void SetMtu(uint32_t qpn, IbMtu mtu) {
    spec::TableWrite write{.table_id = spec::MgmtTable::kQpContext, .index = qpn};
    spec::TableQpContext{.path_mtu = mtu, .pdn = PdnOf(qpn)}.Encode(write.data);
    tables.tokens.push_back(write);
    // Other tables are ignored.
    write.table_id = spec::MgmtTable::kMr;
    for (auto& byte : write.data) byte = static_cast<uint8_t>(random());
    tables.tokens.push_back(write);
  }
  // Every QP in RTS.
  void Setup(IbMtu mtu = IbMtu::kMtu1024, uint32_t first = 0) {
    for (uint32_t qpn = first; qpn < kQps; ++qpn) {
      SetMtu(qpn, mtu);
      SetState(qpn, IbQpState::kRts);
    }
    ASSERT_EQ(Settle(), "");
  }
  void Rates(unsigned in, unsigned out) {
    answer.rate = place.rate = result.rate = in;
    atomic.rate = packet.rate = job.rate = check.rate = failure.rate = take_rate = room.rate = out;
  }

  template <typename T>
  static std::vector<T> Taken(Channel<T>& sink) {
    std::vector<T> tokens;
    for (const auto& sent : sink.sent()) tokens.push_back(sent.token);
    sink.sent().clear();
    return tokens;
  }
  std::vector<spec::TxJob> Jobs() {
    EXPECT_EQ(Settle(), "");
    return Taken(job_sink);
  }
  std::vector<spec::TxPacket> StraightPackets() {
    EXPECT_EQ(Settle(), "");
    return Taken(packet_sink);
  }
  std::vector<spec::QpReads> Reads() {
    EXPECT_EQ(Settle(), "");
    std::vector<spec::QpReads> tokens;
    for (const auto& [cycle, token] : reads.sent) tokens.push_back(token);
    reads.sent.clear();
    return tokens;
  }

  std::mt19937_64 random = sim::MakeRandom("read_responder");
  Top& p;
  Agenda agenda;
  ReadResponder block{agenda, kQps, kReads, 512};
  Channel<spec::TxPacket> packet_sink = Channel<spec::TxPacket>::Sink();
  Channel<spec::MemoryCheck> check_sink = Channel<spec::MemoryCheck>::Sink();
  Channel<spec::TxJob> job_sink = Channel<spec::TxJob>::Sink();
  Channel<spec::QpFailure> failure_sink = Channel<spec::QpFailure>::Sink();
  Channel<spec::AtomicRequest> atomic_sink = Channel<spec::AtomicRequest>::Sink();

  unsigned take_rate = 16;
  bool answers_checks = true;
  bool executes = true;  // atomic operations
  std::function<spec::AtomicResult(const spec::AtomicRequest&)> execute = ResultOf;
  std::function<spec::MemoryPlace(const spec::MemoryCheck&)> memory = PlaceOf;
  std::function<void(Cycle)> on_accepted;                         // an answer was
  std::function<void(Cycle, const spec::TxPacket&)> on_straight;  // left
  std::function<void(Cycle, const spec::TxJob&)> on_taken;
  std::deque<spec::TxJob> on_way;     // issued, not taken
  std::array<uint8_t, kQps> ended{};  // as reported
  uint64_t accepted_before = 0;
  bool idle = true;  // of the model, at the end of the cycle before

  BlockBench<Top> bench;
  decltype(bench.In("", block.answer_in, p.answer_valid_i, p.answer_ready_o, p.answer_i)) answer =
      bench.In("answer", block.answer_in, p.answer_valid_i, p.answer_ready_o, p.answer_i);
  decltype(bench.In("", block.memory_place_in, p.memory_place_valid_i, p.memory_place_ready_o,
                    p.memory_place_i)) place =
      bench.In("memory_place", block.memory_place_in, p.memory_place_valid_i, p.memory_place_ready_o, p.memory_place_i);
  decltype(bench.In("", block.result_in, p.result_valid_i, p.result_ready_o, p.result_i)) result =
      bench.In("result", block.result_in, p.result_valid_i, p.result_ready_o, p.result_i);
  decltype(bench.Out("", atomic_sink, p.atomic_valid_o, p.atomic_ready_i, p.atomic_o)) atomic =
      bench.Out("atomic", atomic_sink, p.atomic_valid_o, p.atomic_ready_i, p.atomic_o);
  decltype(bench.Pulse<spec::TableWrite>(p.table_write_valid_i, p.table_write_i, {})) tables =
      bench.Pulse<spec::TableWrite>(p.table_write_valid_i, p.table_write_i,
                                    [this](Cycle cycle, const auto& token) { block.OnTableWrite(cycle, token); });
  decltype(bench.Pulse<spec::QpStateWrite>(p.qp_state_write_valid_i, p.qp_state_write_i, {})) states =
      bench.Pulse<spec::QpStateWrite>(p.qp_state_write_valid_i, p.qp_state_write_i,
                                      [this](Cycle cycle, const auto& token) { block.OnQpStateWrite(cycle, token); });
  decltype(bench.Out("", packet_sink, p.packet_valid_o, p.packet_ready_i, p.packet_o)) packet =
      bench.Out("packet", packet_sink, p.packet_valid_o, p.packet_ready_i, p.packet_o);
  decltype(bench.Out("", check_sink, p.memory_check_valid_o, p.memory_check_ready_i, p.memory_check_o)) check =
      bench.Out("memory_check", check_sink, p.memory_check_valid_o, p.memory_check_ready_i, p.memory_check_o);
  decltype(bench.Out("", job_sink, p.job_valid_o, p.job_ready_i, p.job_o)) job =
      bench.Out("job", job_sink, p.job_valid_o, p.job_ready_i, p.job_o);
  decltype(bench.Out("", failure_sink, p.failure_valid_o, p.failure_ready_i, p.failure_o)) failure =
      bench.Out("failure", failure_sink, p.failure_valid_o, p.failure_ready_i, p.failure_o);
  OutPulse<spec::QpReads, decltype(p.qp_reads_valid_o), decltype(p.qp_reads_o)> reads{"qp_reads", p.qp_reads_valid_o,
                                                                                      p.qp_reads_o};
  Hold<ReadResponder> hold{p.hold_i, block, random};
  Room<ReadResponder> room{p.room_i, p.room_used_o, nullptr, block, random};
  Stops<Top, ReadResponder> stops{p, block, random};
  ContextBench<Top, ReadResponder> contexts{p, block};
  Probe surroundings{[this](Cycle cycle) { return Begin(cycle); }, [this](Cycle cycle) { return End(cycle); }};
};

class ReadResponderTest : public testing::Test {
 protected:
  Rtl rtl{Outputs()};
  Bench b{rtl};
};
constexpr uint32_t kQp = 5;

// --- Room
// --------------------------------------------------------------------------------------------------------------

// Nothing is granted that would wait for the wire afterwards.
TEST_F(ReadResponderTest, ChecksNoMemoryOfAResponseWithoutRoom) {
  b.Setup();
  b.room.rate = 0;
  b.answer.tokens = {Read(kQp, 0, 5000), Read(3, 0, 5000)};
  ASSERT_EQ(b.bench.Run(300), "");
  EXPECT_EQ(b.check.count, model::TxRoom::kAhead);
  EXPECT_EQ(b.job.count, model::TxRoom::kAhead);
  // Neither answers that go straight to the transmitter, nor the end of a queue pair's READs need room.
  b.answer.tokens = {Answer(7, 1)};
  b.SetState(3, IbQpState::kReset);
  ASSERT_EQ(b.bench.Run(300), "");
  EXPECT_EQ(b.packet.count, 1u);
  EXPECT_EQ(b.ended[3], 1);
  b.room.rate = 16;
  EXPECT_EQ(b.Jobs().size(), b.room.used);
  EXPECT_EQ(b.ended[kQp], 1);
}

// --- Answers ---------------------------------------------------------------------------------------------------------

TEST_F(ReadResponderTest, AnswerOfAnIdleQpIsForwarded) {
  b.Setup();
  std::vector<spec::TxPacket> expected;
  for (uint32_t i = 0; i < 20; ++i) {
    b.answer.tokens.push_back(Answer(i % kQps, i, i % 2 == 0 ? Ack() : Nak(AethSyndrome::kNakPsnSequenceError), i));
    expected.push_back(b.answer.tokens.back().packet);
  }
  EXPECT_EQ(b.StraightPackets(), expected);
  EXPECT_TRUE(b.Jobs().empty());
}

TEST_F(ReadResponderTest, AnswerIsForwardedInEveryState) {
  for (const auto state : kMute) {
    b.SetState(kQp, state);
    ASSERT_EQ(b.Settle(), "");
    b.answer.tokens.push_back(Answer(kQp, 7));
    EXPECT_EQ(b.StraightPackets().size(), 1u);
  }
}

TEST_F(ReadResponderTest, AnswerBehindReadsFollowsTheirResponses) {
  b.Setup();
  const auto read0 = Read(kQp, 10, 2500, 1);
  const auto read1 = Read(kQp, 13, 1, 2);
  const auto ack = Answer(kQp, 14, Ack(), 3);
  b.answer.tokens = {read0, read1, ack};
  auto expected = Responses(read0, IbMtu::kMtu1024, PdnOf(kQp));
  const auto more = Responses(read1, IbMtu::kMtu1024, PdnOf(kQp));
  expected.insert(expected.end(), more.begin(), more.end());
  expected.push_back(AnswerJob(ack));
  EXPECT_EQ(b.Jobs(), expected);
  EXPECT_TRUE(b.StraightPackets().empty());
}

TEST_F(ReadResponderTest, NewestOfSeveralAnswersIsSent) {
  b.Setup();
  const auto read = Read(kQp, 0xff'fffe, 5000);  // five packets
  b.answer.tokens = {read, Answer(kQp, 3), Answer(kQp, 4), Answer(kQp, 5, Nak(AethSyndrome::kNakPsnSequenceError))};
  auto expected = Responses(read, IbMtu::kMtu1024, PdnOf(kQp));
  expected.push_back(AnswerJob(b.answer.tokens.back()));
  EXPECT_EQ(b.Jobs(), expected);
}

// A duplicate request is answered with the expected PSN less one: a NAK of the expected PSN acknowledges more.
TEST_F(ReadResponderTest, AnswerOfAnEarlierPsnIsNotKept) {
  b.Setup();
  const auto read = Read(kQp, 0, 5000);
  const auto nak = Answer(kQp, 6, Nak(AethSyndrome::kNakPsnSequenceError));
  b.answer.tokens = {read, nak, Answer(kQp, 5)};
  auto expected = Responses(read, IbMtu::kMtu1024, PdnOf(kQp));
  expected.push_back(AnswerJob(nak));
  EXPECT_EQ(b.Jobs(), expected);
}

TEST_F(ReadResponderTest, ReadReplacesAKeptAnswer) {
  b.Setup();
  const auto read0 = Read(kQp, 0, 5000);
  const auto read1 = Read(kQp, 6, 100);
  b.answer.tokens = {read0, Answer(kQp, 5), Answer(kQp, 6, Nak(AethSyndrome::kRnrNak)), read1};
  auto expected = Responses(read0, IbMtu::kMtu1024, PdnOf(kQp));
  expected.push_back(Responses(read1, IbMtu::kMtu1024, PdnOf(kQp))[0]);
  EXPECT_EQ(b.Jobs(), expected);
}

// Its responses do not cover the later PSN.
TEST_F(ReadResponderTest, DuplicateReadDoesNotReplaceAKeptAnswer) {
  b.Setup();
  const auto read = Read(kQp, 0xff'ffff, 2000);
  const auto ack = Answer(kQp, 4);
  b.answer.tokens = {read, ack, read};
  auto expected = Responses(read, IbMtu::kMtu1024, PdnOf(kQp));
  expected.insert(expected.end(), expected.begin(), expected.begin() + 2);
  expected.push_back(AnswerJob(ack));
  EXPECT_EQ(b.Jobs(), expected);
}

TEST_F(ReadResponderTest, AnswerFollowsAJobInFlightAsAJob) {
  b.Setup();
  b.take_rate = 0;
  b.answer.tokens = {Read(kQp, 0, 10), Read(3, 0, 10)};
  ASSERT_EQ(b.bench.Run(100), "");
  ASSERT_EQ(b.on_way.size(), 2u);

  for (const auto& answer : {Answer(kQp, 1), Answer(kQp, 2), Answer(7, 9)}) {
    b.answer.tokens.push_back(answer);
    ASSERT_EQ(b.bench.Run(50), "");
  }
  ASSERT_EQ(b.packet_sink.sent().size(), 1u);  // others do not wait
  EXPECT_EQ(b.packet_sink.sent()[0].token, Answer(7, 9).packet);
  ASSERT_EQ(b.on_way.size(), 4u);
  EXPECT_EQ(b.on_way[2], AnswerJob(Answer(kQp, 1)));
  EXPECT_EQ(b.on_way[3], AnswerJob(Answer(kQp, 2)));

  // Until the last of them has gone.
  b.take_rate = 16;
  ASSERT_EQ(b.bench.Run(2), "");
  b.take_rate = 0;
  ASSERT_EQ(b.on_way.size(), 2u);
  b.answer.tokens = {Answer(3, 4)};
  ASSERT_EQ(b.bench.Run(100), "");
  ASSERT_EQ(b.packet_sink.sent().size(), 2u);
  b.answer.tokens = {Answer(kQp, 3)};
  ASSERT_EQ(b.bench.Run(100), "");
  ASSERT_EQ(b.packet_sink.sent().size(), 2u);
  ASSERT_EQ(b.on_way.size(), 3u);
  b.take_rate = 16;
  ASSERT_EQ(b.Settle(), "");
  b.answer.tokens = {Answer(kQp, 4)};
  ASSERT_EQ(b.Settle(), "");
  ASSERT_EQ(b.packet_sink.sent().size(), 3u);
}

// The number of its last job lies ahead again when the others have issued half of all numbers.
TEST_F(ReadResponderTest, JobNumberWrapMakesOneAnswerAJob) {
  b.Setup();
  b.job.keep = false;
  b.answer.tokens = {Read(kQp, 0, 0)};
  ASSERT_EQ(b.Settle(), "");
  for (uint32_t i = 0; i < 33'000; ++i) {
    const uint32_t qpn = 8 + i % 8;  // all but one
    b.answer.tokens.push_back(Read(qpn, i, 0));
  }
  while (!b.answer.IsEmpty()) ASSERT_EQ(b.bench.Run(100), "");
  ASSERT_EQ(b.Settle(), "");
  b.job.keep = true;
  b.answer.tokens = {Answer(kQp, 1)};
  EXPECT_EQ(b.Jobs(), std::vector{AnswerJob(Answer(kQp, 1))});
  EXPECT_TRUE(b.StraightPackets().empty());
  b.answer.tokens = {Answer(kQp, 2)};
  EXPECT_EQ(b.StraightPackets(), std::vector{Answer(kQp, 2).packet});
}

// --- Answers that wait for the transmitter ---------------------------------------------------------------------------

TEST_F(ReadResponderTest, AcknowledgesThatWaitForTheTransmitterAreCoalesced) {
  b.Setup();
  b.packet.rate = 0;
  for (uint32_t i = 0; i < 100; ++i) b.answer.tokens.push_back(Answer(kQp, 0xff'ffd0 + i, Ack(), i));
  const auto first = b.answer.tokens.front();
  const auto last = b.answer.tokens.back();
  const Cycle begin = b.bench.cycle();
  while (!b.answer.IsEmpty()) ASSERT_EQ(b.bench.Run(1), "");
  EXPECT_LE(b.bench.cycle() - begin, 210u);  // no stall: one in two cycles
  ASSERT_EQ(b.bench.Run(20), "");
  EXPECT_FALSE(b.p.idle_o);
  b.packet.rate = 16;
  EXPECT_EQ(b.StraightPackets(), (std::vector{first.packet, last.packet}));
  EXPECT_TRUE(b.Jobs().empty());
}

TEST_F(ReadResponderTest, QpsWithAWaitingAcknowledgeTakeTurns) {
  b.Setup();
  b.packet.rate = 0;
  b.answer.tokens = {Answer(kQp, 0)};
  std::vector<spec::TxPacket> expected = {b.answer.tokens.front().packet};
  ASSERT_EQ(b.bench.Run(20), "");
  for (uint32_t i = 1; i <= 10; ++i) {
    for (uint32_t qpn = 0; qpn < kQps; ++qpn) {
      b.answer.tokens.push_back(Answer(qpn, i, Ack(), i));
      if (i == 10) expected.push_back(b.answer.tokens.back().packet);
    }
  }
  ASSERT_EQ(b.bench.Run(500), "");
  ASSERT_TRUE(b.answer.IsEmpty());
  b.packet.rate = 16;
  EXPECT_EQ(b.StraightPackets(), expected);
}

// A duplicate request is acknowledged with the last PSN; an older one has no new information.
TEST_F(ReadResponderTest, AcknowledgeOfAnEarlierPsnDoesNotReplaceAWaitingOne) {
  b.Setup();
  b.packet.rate = 0;
  const auto repeated = Answer(kQp, 1, Ack(), 9);
  b.answer.tokens = {Answer(3, 0), Answer(kQp, 0xff'fffe), Answer(kQp, 1), Answer(kQp, 0xff'ffff), repeated};
  ASSERT_EQ(b.bench.Run(50), "");
  b.packet.rate = 16;
  EXPECT_EQ(b.StraightPackets(), (std::vector{Answer(3, 0).packet, repeated.packet}));
}

// So the receive side never waits for the transmitter. What replaces a NAK answers a retransmission.
TEST_F(ReadResponderTest, NakThatWaitsForTheTransmitterStallsNoAnswer) {
  for (const auto syndrome : {AethSyndrome::kNakPsnSequenceError, AethSyndrome::kRnrNak,
                              AethSyndrome::kNakRemoteAccessError, AethSyndrome::kNakInvalidRequest}) {
    b.Setup();
    b.packet.rate = 0;
    const std::vector answers = {Answer(kQp, 1), Answer(kQp, 2), Answer(kQp, 3), Answer(kQp, 4, Nak(syndrome)),
                                 Answer(kQp, 4), Answer(kQp, 5), Answer(kQp, 6)};
    b.answer.tokens.assign(answers.begin(), answers.end());
    ASSERT_EQ(b.bench.Run(100), "");
    EXPECT_TRUE(b.answer.IsEmpty());
    b.packet.rate = 16;
    EXPECT_EQ(b.StraightPackets(), (std::vector{answers[0].packet, answers[6].packet}));
  }
}

TEST_F(ReadResponderTest, WaitingNakReplacesTheAcknowledgeBeforeItAndNoDuplicateReplacesIt) {
  for (const auto syndrome : {AethSyndrome::kNakPsnSequenceError, AethSyndrome::kRnrNak,
                              AethSyndrome::kNakRemoteAccessError, AethSyndrome::kNakInvalidRequest}) {
    b.Setup();
    b.packet.rate = 0;
    const std::vector answers = {Answer(3, 1), Answer(kQp, 3), Answer(kQp, 4, Nak(syndrome), 7), Answer(kQp, 3),
                                 Answer(kQp, 2)};
    b.answer.tokens.assign(answers.begin(), answers.end());
    ASSERT_EQ(b.bench.Run(100), "");
    EXPECT_TRUE(b.answer.IsEmpty());
    b.packet.rate = 16;
    EXPECT_EQ(b.StraightPackets(), (std::vector{answers[0].packet, answers[2].packet}));
  }
}

// A NAK that arrives when the register becomes free acknowledges what the acknowledge before it would have.
TEST_F(ReadResponderTest, NakLeavesOnceAndInOrderWheneverTheRegisterBecomesFree) {
  unsigned replaced = 0;
  for (uint64_t at = 0; at < 30; ++at) {
    b.Setup();
    b.packet.rate = 0;
    const std::vector answers = {Answer(3, 1), Answer(kQp, 2), Answer(kQp, 3, Nak(AethSyndrome::kNakPsnSequenceError)),
                                 Answer(kQp, 2, Ack(), 5), Answer(7, 4)};
    b.answer.tokens.assign(answers.begin(), answers.end());
    ASSERT_EQ(b.bench.Run(at), "");
    b.packet.rate = 16;
    auto packets = b.StraightPackets();
    ASSERT_EQ(std::ranges::count(packets, answers[2].packet), 1) << at;
    ASSERT_EQ(std::ranges::count(packets, answers[4].packet), 1) << at;
    std::erase(packets, answers[4].packet);  // of another queue pair
    size_t last = 0;
    for (const auto& packet : packets) {
      const auto found = std::ranges::find(answers, packet, &spec::RxAnswer::packet);
      ASSERT_NE(found, answers.end());
      const auto index = static_cast<size_t>(found - answers.begin());
      EXPECT_GE(index, last) << at;
      last = index + 1;
    }
    replaced += std::ranges::count(packets, answers[1].packet) == 0;
  }
  EXPECT_GT(replaced, 0u);
}

TEST_F(ReadResponderTest, ReadReplacesAWaitingAcknowledge) {
  b.Setup();
  b.packet.rate = 0;
  const auto read = Read(kQp, 6, 2000);
  b.answer.tokens = {Answer(3, 4), Answer(kQp, 5), read};
  ASSERT_EQ(b.bench.Run(100), "");
  EXPECT_EQ(Bench::Taken(b.job_sink), Responses(read, IbMtu::kMtu1024, PdnOf(kQp)));
  b.packet.rate = 16;
  EXPECT_EQ(b.StraightPackets(), (std::vector{Answer(3, 4).packet}));
}

// The QP's own responses do not pass an answer issued before, while it is here.
TEST_F(ReadResponderTest, ReadWaitsUntilTheEarlierAnswerIsTaken) {
  for (const auto& answer : {Answer(kQp, 4), Answer(kQp, 5, Nak(AethSyndrome::kNakPsnSequenceError))}) {
    b.Setup();
    b.packet.rate = 0;
    const auto read = Read(kQp, 5, 2000);
    b.answer.tokens = {answer, read, Answer(kQp, 7), Answer(3, 1)};
    ASSERT_EQ(b.bench.Run(100), "");
    EXPECT_TRUE(b.answer.IsEmpty());
    EXPECT_TRUE(b.job_sink.sent().empty());
    b.packet.rate = 16;
    auto expected = Responses(read, IbMtu::kMtu1024, PdnOf(kQp));
    expected.push_back(AnswerJob(Answer(kQp, 7)));
    EXPECT_EQ(b.Jobs(), expected);
    EXPECT_EQ(b.StraightPackets(), (std::vector{answer.packet, Answer(3, 1).packet}));
  }
}

TEST_F(ReadResponderTest, WaitingAcknowledgeLeavesAsAJobBehindADuplicateRead) {
  b.Setup();
  b.packet.rate = 0;
  const auto read = Read(kQp, 2, 2000);
  b.answer.tokens = {Answer(3, 4), Answer(kQp, 5), read};
  ASSERT_EQ(b.bench.Run(100), "");
  auto expected = Responses(read, IbMtu::kMtu1024, PdnOf(kQp));
  expected.push_back(AnswerJob(Answer(kQp, 5)));
  EXPECT_EQ(Bench::Taken(b.job_sink), expected);
  b.packet.rate = 16;
  EXPECT_EQ(b.StraightPackets(), (std::vector{Answer(3, 4).packet}));
}

TEST_F(ReadResponderTest, WaitingAcknowledgeLeavesAsAJobWhenJobNumbersWrap) {
  b.Setup();
  b.job.keep = false;
  b.answer.tokens = {Read(kQp, 0, 0)};
  ASSERT_EQ(b.Settle(), "");
  b.packet.rate = 0;
  b.answer.tokens = {Answer(3, 4), Answer(kQp, 1)};
  ASSERT_EQ(b.bench.Run(50), "");
  for (uint32_t i = 0; i < 33'000; ++i) b.answer.tokens.push_back(Read(8 + i % 8, i, 0));
  while (!b.answer.IsEmpty()) ASSERT_EQ(b.bench.Run(100), "");
  ASSERT_EQ(b.bench.Run(100), "");
  b.job.keep = true;
  b.packet.rate = 16;
  EXPECT_EQ(b.Jobs(), std::vector{AnswerJob(Answer(kQp, 1))});
  EXPECT_EQ(b.StraightPackets(), (std::vector{Answer(3, 4).packet}));
}

TEST_F(ReadResponderTest, StateWithoutAnswersDiscardsAWaitingAcknowledge) {
  for (const auto state : kMute) {
    b.Setup();
    b.packet.rate = 0;
    b.answer.tokens = {Answer(3, 4), Answer(kQp, 1)};
    ASSERT_EQ(b.bench.Run(50), "");
    b.SetState(kQp, state);
    b.SetState(kQp, IbQpState::kRts);  // in the next lifetime it does not exist
    ASSERT_EQ(b.bench.Run(50), "");
    b.packet.rate = 16;
    EXPECT_EQ(b.StraightPackets(), (std::vector{Answer(3, 4).packet}));
    b.answer.tokens = {Answer(kQp, 7)};
    EXPECT_EQ(b.StraightPackets(), (std::vector{Answer(kQp, 7).packet}));
  }
}

// READs and their answers continue while `packet` is not free.
TEST_F(ReadResponderTest, WaitingAcknowledgesDoNotStallReads) {
  b.Setup();
  b.packet.rate = 0;
  for (uint32_t qpn = 0; qpn < 8; ++qpn) b.answer.tokens.push_back(Answer(qpn, 1));
  const auto read = Read(9, 0, 5000);
  b.answer.tokens.push_back(read);
  b.answer.tokens.push_back(Answer(9, 5));
  auto expected = Responses(read, IbMtu::kMtu1024, PdnOf(9));
  expected.push_back(AnswerJob(Answer(9, 5)));
  ASSERT_EQ(b.bench.Run(200), "");
  EXPECT_EQ(Bench::Taken(b.job_sink), expected);
  b.packet.rate = 16;
  EXPECT_EQ(b.StraightPackets().size(), 8u);
}

// However many come of one QP: another QP's answer leaves behind those that wait, which is one of each.
TEST_F(ReadResponderTest, BusyQpDoesNotStarveOthers) {
  b.Setup();
  b.packet.rate = 4;
  std::vector<uint32_t> all;  // whose answers came
  size_t accepted = 0, left = 0, longest = 0;
  std::array<std::optional<size_t>, kQps> since;  // packets that had left when an answer of the QP started to wait
  b.on_accepted = [&](Cycle) {
    const uint32_t qpn = all[accepted++];
    if (!since[qpn]) since[qpn] = left;
  };
  b.on_straight = [&](Cycle, const spec::TxPacket& packet) {
    auto& begin = since[packet.qpn];
    if (begin) longest = std::max(longest, left - *begin);
    begin.reset();
    ++left;
  };
  for (uint32_t i = 0; i < 4000; ++i) {
    while (b.answer.tokens.size() < 3) {
      all.push_back(static_cast<uint32_t>(b.random() % 4 == 0 ? b.random() % kQps : kQp));
      b.answer.tokens.push_back(Answer(all.back(), i));
    }
    ASSERT_EQ(b.bench.Run(1), "");
  }
  EXPECT_GT(left, 500u);
  EXPECT_LT(left * 3 / 2, accepted);
  // One of each QP, the register, and those in the slice.
  EXPECT_LE(longest, kQps + 3);
}

TEST_F(ReadResponderTest, WaitingAcknowledgesLeaveDuringHoldBeforeIdle) {
  b.Setup();
  b.packet.rate = 0;
  b.hold.on = true;
  ASSERT_EQ(b.bench.Run(2), "");
  b.answer.tokens = {Answer(3, 4), Answer(kQp, 1), Answer(kQp, 2), Read(6, 0, 100)};
  ASSERT_EQ(b.bench.Run(50), "");
  EXPECT_FALSE(b.p.idle_o);
  b.packet.rate = 16;
  EXPECT_EQ(b.StraightPackets(), (std::vector{Answer(3, 4).packet, Answer(kQp, 2).packet}));
  EXPECT_TRUE(b.p.idle_o);
  EXPECT_EQ(b.job.count, 0u);
  b.hold.on = false;
  ASSERT_EQ(b.bench.Run(2), "");
  EXPECT_EQ(b.Jobs().size(), 1u);
}

// --- READs -----------------------------------------------------------------------------------------------------------

TEST_F(ReadResponderTest, ReadIsCutByThePathMtu) {
  uint32_t psn = 0xff'fff0;
  for (const auto mtu : kMtus) {
    b.Setup(mtu);
    for (const uint32_t bytes : {1u, Bytes(mtu) - 1, Bytes(mtu), Bytes(mtu) + 1, 2 * Bytes(mtu), 3 * Bytes(mtu) + 5}) {
      const auto read = Read(kQp, psn, bytes, bytes, 0xffff'fff0'1234'5678);
      b.answer.tokens = {read};
      const auto expected = Responses(read, mtu, PdnOf(kQp));
      EXPECT_EQ(b.Jobs(), expected) << bytes;
      psn = Psn(psn + Packets(bytes, Bytes(mtu)));
      // And it requested what it sends, for its own domain.
      const auto checks = Bench::Taken(b.check_sink);
      ASSERT_EQ(checks.size(), expected.size());
      for (size_t i = 0; i < checks.size(); ++i) {
        EXPECT_EQ(checks[i], (spec::MemoryCheck{.key = read.rkey,
                                                .pdn = PdnOf(kQp),
                                                .remote_read = true,
                                                .address = read.address + i * Bytes(mtu),
                                                .bytes = expected[i].packet.payload_bytes,
                                                .qpn = kQp}));
      }
    }
  }
}

TEST_F(ReadResponderTest, ReadOfAQpWithBadParityEndsWithTheQp) {
  b.Setup();
  uint8_t ended = 0;
  for (const uint32_t bit : {0u, 19u, 1000u}) {
    b.contexts.Flip(spec::ContextRam::kReadResponderQp, kQp, bit);
    const auto other = Read(kQp + 1, 5, 3000);
    b.answer.tokens = {Answer(kQp, 3, Ack()), other};
    EXPECT_EQ(b.Jobs(), Responses(other, IbMtu::kMtu1024, PdnOf(kQp + 1)));
    EXPECT_EQ(b.StraightPackets().size(), 1u);
    EXPECT_TRUE(b.contexts.errors.empty());
    b.check_sink.sent().clear();
    b.Reads();

    b.answer.tokens = {Read(kQp, 77, 3000)};
    const Cycle offered = b.bench.cycle();
    EXPECT_TRUE(b.Jobs().empty());
    EXPECT_TRUE(Bench::Taken(b.check_sink).empty());
    EXPECT_TRUE(b.Reads().empty());
    EXPECT_EQ(b.contexts.errors, std::vector<Cycle>{offered + ReadResponder::kReadToCheck - 1});
    // A response behind it waits, too.
    b.answer.tokens = {Answer(kQp, 90, Ack())};
    EXPECT_TRUE(b.Jobs().empty());
    EXPECT_TRUE(b.StraightPackets().empty());
    b.contexts.errors.clear();

    b.SetState(kQp, IbQpState::kReset);
    EXPECT_EQ(b.Reads(), (std::vector<spec::QpReads>{{.qpn = kQp, .ended = ++ended}}));
    b.SetMtu(kQp, IbMtu::kMtu1024);
    b.SetState(kQp, IbQpState::kRts);
    const auto read = Read(kQp, 77, 3000);
    b.answer.tokens = {read};
    EXPECT_EQ(b.Jobs(), Responses(read, IbMtu::kMtu1024, PdnOf(kQp)));
    EXPECT_TRUE(b.contexts.errors.empty());
    b.check_sink.sent().clear();
    b.Reads();
    ++ended;
  }
}

TEST_F(ReadResponderTest, ReadWithoutBytesIsOnePacketWithoutCheck) {
  b.Setup();
  const auto read = Read(kQp, 77, 0, 0x12'3456);
  b.answer.tokens = {read};
  const auto jobs = b.Jobs();
  EXPECT_EQ(jobs, Responses(read, IbMtu::kMtu1024, PdnOf(kQp)));
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_EQ(jobs[0].packet.opcode, BthOpcode::kRcRdmaReadResponseOnly);
  EXPECT_EQ(MsnOf(jobs[0].packet), 0x12'3456u);
  EXPECT_EQ(b.check.count, 0u);
  EXPECT_EQ(b.Reads(), (std::vector<spec::QpReads>{{.qpn = kQp, .ended = 1}}));
}

TEST_F(ReadResponderTest, LongestReadStarts) {
  b.Setup(IbMtu::kMtu4096);
  b.take_rate = 16;
  b.answer.tokens = {Read(kQp, 0, kMaxMessageBytes)};
  ASSERT_EQ(b.bench.Run(500), "");
  ASSERT_GT(b.job.count, 10u);
  for (size_t i = 0; i < b.job_sink.sent().size(); ++i) {
    const auto& packet = b.job_sink.sent()[i].token.packet;
    EXPECT_EQ(packet.psn, i);
    EXPECT_EQ(packet.opcode, i == 0 ? BthOpcode::kRcRdmaReadResponseFirst : BthOpcode::kRcRdmaReadResponseMiddle);
    EXPECT_EQ(packet.payload_bytes, 4096u);
  }
  b.SetState(kQp, IbQpState::kReset);
  EXPECT_EQ(b.Reads().size(), 1u);
}

TEST_F(ReadResponderTest, QpsTakeTurnsPacketByPacket) {
  b.Setup(IbMtu::kMtu256);
  b.answer.tokens = {Read(1, 0, 256 * 20), Read(2, 0, 256 * 20), Read(3, 0, 256 * 20)};
  const auto jobs = b.Jobs();
  ASSERT_EQ(jobs.size(), 60u);
  for (size_t i = 3; i < jobs.size() - 6; ++i) {
    EXPECT_NE(jobs[i].packet.qpn, jobs[i - 1].packet.qpn);
    EXPECT_NE(jobs[i].packet.qpn, jobs[i - 2].packet.qpn);
  }
}

TEST_F(ReadResponderTest, AllQpsCanHaveAllTheirReads) {
  b.Setup(IbMtu::kMtu256);
  b.job.rate = 0;
  std::array<std::vector<spec::TxJob>, kQps> expected;
  for (uint32_t i = 0; i < kReads; ++i) {
    for (uint32_t qpn = 0; qpn < kQps; ++qpn) {
      const auto read = Read(qpn, 100 * i, 100 * (1 + qpn + i), i, uint64_t{i} << 32);
      b.answer.tokens.push_back(read);
      const auto jobs = Responses(read, IbMtu::kMtu256, PdnOf(qpn));
      expected[qpn].insert(expected[qpn].end(), jobs.begin(), jobs.end());
    }
  }
  ASSERT_EQ(b.bench.Run(1000), "");
  ASSERT_TRUE(b.answer.IsEmpty());
  b.job.rate = 16;
  std::array<std::vector<spec::TxJob>, kQps> jobs;
  for (const auto& job : b.Jobs()) jobs[job.packet.qpn].push_back(job);
  EXPECT_EQ(jobs, expected);
  for (uint32_t qpn = 0; qpn < kQps; ++qpn) EXPECT_EQ(b.ended[qpn], kReads);
}

TEST_F(ReadResponderTest, QpReadsCountsModulo256AcrossLifetimes) {
  b.Setup();
  for (uint32_t i = 1; i <= 600; ++i) {
    b.answer.tokens = {Read(kQp, i, i % 3)};
    ASSERT_EQ(b.Reads(), (std::vector<spec::QpReads>{{.qpn = kQp, .ended = static_cast<uint8_t>(i)}}));
    if (i % 100 != 0) continue;
    b.SetState(kQp, IbQpState::kReset);
    b.SetState(kQp, IbQpState::kRts);
    ASSERT_EQ(b.Settle(), "");
  }
}

TEST_F(ReadResponderTest, StalledJobsDoNotStallAnswers) {
  b.Setup();
  b.job.rate = 0;
  b.answer.tokens = {Read(1, 0, 5000), Read(2, 0, 0)};
  ASSERT_EQ(b.bench.Run(100), "");
  for (uint32_t i = 0; i < 20; ++i) b.answer.tokens.push_back(Answer(kQp, i));
  ASSERT_EQ(b.bench.Run(100), "");
  EXPECT_EQ(b.packet.count, 20u);
}

// --- Errors ----------------------------------------------------------------------------------------------------------

TEST_F(ReadResponderTest, FailedKeySendsNakAndEndsTheReads) {
  uint8_t ended = 0;
  for (const auto status : {MemoryStatus::kKey, MemoryStatus::kPd, MemoryStatus::kRights, MemoryStatus::kBounds}) {
    for (const uint32_t good : {0u, 1u, 3u}) {  // packets before
      b.Setup();
      const auto read = Read(kQp, 0xff'fffe, 4000, 0x45'6789);
      uint32_t left = good;
      b.memory = [&](const spec::MemoryCheck& check) {
        return left-- != 0 ? PlaceOf(check) : spec::MemoryPlace{.status = status};
      };
      b.answer.tokens = {read, Read(kQp, 2, 10), Answer(kQp, 3)};
      auto expected = Responses(read, IbMtu::kMtu1024, PdnOf(kQp));
      expected.resize(good);
      expected.push_back(AnswerJob(Answer(kQp, 0xff'fffe + good, Nak(AethSyndrome::kNakRemoteAccessError), 0x45'6789)));
      EXPECT_EQ(b.Jobs(), expected);
      EXPECT_EQ(Bench::Taken(b.failure_sink),
                (std::vector<spec::QpFailure>{{.qpn = kQp,
                                               .event_type = spec::RdmaEventType::kQpAccessErr,
                                               .code = static_cast<uint32_t>(AethSyndrome::kNakRemoteAccessError)}}));
      // Nothing more is sent until the QP restarts, but READs are counted.
      b.memory = PlaceOf;
      b.answer.tokens = {Answer(kQp, 3), Read(kQp, 4, 10), Read(kQp, 5, 0), Answer(kQp, 5)};
      EXPECT_TRUE(b.Jobs().empty());
      EXPECT_TRUE(b.StraightPackets().empty());
      ended = static_cast<uint8_t>(ended + 4);
      EXPECT_EQ(b.ended[kQp], ended);
      EXPECT_TRUE(Bench::Taken(b.failure_sink).empty());
      b.SetState(kQp, IbQpState::kErr);
      b.SetState(kQp, IbQpState::kReset);
      b.SetState(kQp, IbQpState::kRts);
      ASSERT_EQ(b.Settle(), "");
      b.answer.tokens = {read};
      EXPECT_EQ(b.Jobs(), Responses(read, IbMtu::kMtu1024, PdnOf(kQp)));
      ++ended;
      b.answer.tokens = {Answer(kQp, 9)};
      EXPECT_EQ(b.StraightPackets().size(), 1u);
    }
  }
}

TEST_F(ReadResponderTest, ReadsAreExecutedInResponderStates) {
  for (const auto state : kAnswering) {
    b.SetMtu(kQp, IbMtu::kMtu512);
    b.SetState(kQp, state);
    ASSERT_EQ(b.Settle(), "");
    const auto read = Read(kQp, 9, 1000);
    b.answer.tokens = {read};
    EXPECT_EQ(b.Jobs(), Responses(read, IbMtu::kMtu512, PdnOf(kQp)));
  }
}

TEST_F(ReadResponderTest, OtherStatesDropReadsAndTheAnswerBehindThem) {
  uint8_t ended = 0;
  for (const auto state : kMute) {
    // In progress when the state comes, in each cycle of a turn.
    for (uint64_t cycles = 0; cycles < 40; ++cycles) {
      b.Setup(IbMtu::kMtu256);
      b.answer.tokens = {Read(kQp, 0, 256 * 50), Read(kQp, 50, 1), Answer(kQp, 51)};
      ASSERT_EQ(b.bench.Run(20 + cycles), "");
      b.SetState(kQp, state);
      const auto jobs = b.Jobs();
      ASSERT_LT(jobs.size(), 10u);
      for (const auto& job : jobs) EXPECT_NE(job.packet.opcode, BthOpcode::kRcAcknowledge);
      ended = static_cast<uint8_t>(ended + 2);
      EXPECT_EQ(b.Reads(), (std::vector<spec::QpReads>{{.qpn = kQp, .ended = ended}}));
    }
    // Or later.
    b.answer.tokens = {Read(kQp, 0, 10), Answer(kQp, 51)};
    EXPECT_TRUE(b.Jobs().empty());
    ++ended;
    EXPECT_EQ(b.Reads(), (std::vector<spec::QpReads>{{.qpn = kQp, .ended = ended}}));
    EXPECT_LE(b.StraightPackets().size(), 1u);
  }
}

// A NAK takes its QP to ERR, often before the responses of earlier READs have left.
TEST_F(ReadResponderTest, ErrAnswersTheReadsBeforeANakAndThenTheNak) {
  for (uint64_t cycles = 0; cycles < 60; ++cycles) {
    b.Setup(IbMtu::kMtu256);
    const auto read = Read(kQp, 0, 256 * 5);
    const auto nak = Answer(kQp, 5, Nak(AethSyndrome::kNakInvalidRequest));
    b.answer.tokens = {read, nak};
    ASSERT_EQ(b.bench.Run(cycles), "");
    b.SetState(kQp, IbQpState::kErr);
    auto expected = Responses(read, IbMtu::kMtu256, PdnOf(kQp));
    expected.push_back(AnswerJob(nak));
    auto jobs = b.Jobs();
    const auto straight = b.StraightPackets();
    // It may also come when all has left.
    if (!straight.empty()) expected.pop_back();
    EXPECT_EQ(jobs, expected);
    EXPECT_LE(straight.size(), 1u);
  }
}

TEST_F(ReadResponderTest, ClearDiscardsTheKeptAnswer) {
  b.Setup();
  b.take_rate = 0;
  b.answer.tokens = {Read(kQp, 0, 0)};
  ASSERT_EQ(b.bench.Run(50), "");
  b.job.rate = 0;
  b.answer.tokens = {Read(1, 0, 0), Read(2, 0, 0), Answer(kQp, 1)};
  ASSERT_EQ(b.bench.Run(50), "");
  b.SetState(kQp, IbQpState::kReset);
  b.SetState(kQp, IbQpState::kRts);  // before the clear's turn
  ASSERT_EQ(b.bench.Run(50), "");
  b.job.rate = b.take_rate = 16;
  EXPECT_EQ(b.Jobs().size(), 3u);
  EXPECT_EQ(b.packet.count, 0u);
}

// --- Hold ------------------------------------------------------------------------------------------------------------

TEST_F(ReadResponderTest, HoldDefersResponsesButNotForwardedAnswers) {
  b.Setup();
  b.hold.on = true;
  ASSERT_EQ(b.bench.Run(2), "");
  const auto read0 = Read(kQp, 10, 2500, 1);
  const auto read1 = Read(3, 0, 0);
  const auto ack = Answer(kQp, 13, Ack(), 2);
  b.answer.tokens = {read0, ack, read1, Answer(7, 9)};
  const Cycle begin = b.bench.cycle();
  ASSERT_EQ(b.Settle(), "");
  EXPECT_LE(b.bench.cycle() - begin, 20u);
  EXPECT_TRUE(b.p.idle_o);
  EXPECT_EQ(b.job.count + b.check.count, 0u);
  EXPECT_EQ(b.StraightPackets(), (std::vector<spec::TxPacket>{Answer(7, 9).packet}));
  // READs of a QP that stops end during the hold, too.
  EXPECT_TRUE(b.Reads().empty());
  b.SetState(3, IbQpState::kReset);
  EXPECT_EQ(b.Reads(), (std::vector<spec::QpReads>{{.qpn = 3, .ended = 1}}));

  b.hold.on = false;
  ASSERT_EQ(b.bench.Run(2), "");
  EXPECT_FALSE(b.p.idle_o);
  auto expected = Responses(read0, IbMtu::kMtu1024, PdnOf(kQp));
  expected.push_back(AnswerJob(ack));
  EXPECT_EQ(b.Jobs(), expected);
}

// However many turns wait: answers are still forwarded.
TEST_F(ReadResponderTest, TakesAnAnswerEverySecondCycleDuringHold) {
  b.Setup();
  b.hold.on = true;
  for (uint32_t qpn = 0; qpn < 8; ++qpn) b.answer.tokens.push_back(Read(qpn, 0, 100));
  ASSERT_EQ(b.Settle(), "");
  for (uint32_t i = 0; i < 100; ++i) b.answer.tokens.push_back(Answer(8 + i % 8, i));
  const Cycle begin = b.bench.cycle();
  EXPECT_EQ(b.StraightPackets().size(), 100u);
  EXPECT_LE(b.bench.cycle() - begin, 210u);
  b.hold.on = false;
  ASSERT_EQ(b.bench.Run(2), "");
  EXPECT_EQ(b.Jobs().size(), 8u);
}

// In any cycle of a hold, a started packet leaves and no other one starts.
TEST_F(ReadResponderTest, PacketInProgressEndsDuringHold) {
  b.Setup();
  unsigned waited = 0;
  for (uint32_t at = 0; at < 60; ++at) {
    b.job.rate = b.check.rate = 8;
    const auto read = Read(kQp, 7 * at, 3000, at);
    b.answer.tokens = {read};
    const uint64_t before = b.job.count;
    ASSERT_EQ(b.bench.Run(at), "");
    const uint64_t jobs = b.job.count;
    b.hold.on = true;
    const Cycle begin = b.bench.cycle();
    ASSERT_EQ(b.Settle(), "");
    EXPECT_LE(b.bench.cycle() - begin, 60u);
    // One in the register, and one more if it was started beside it.
    EXPECT_LE(b.job.count, jobs + 2);
    EXPECT_TRUE(b.p.idle_o);
    waited += b.job.count < before + 3;
    b.hold.on = false;
    ASSERT_EQ(b.bench.Run(2), "");
    EXPECT_EQ(b.Jobs(), Responses(read, IbMtu::kMtu1024, PdnOf(kQp)));
  }
  EXPECT_GT(waited, 10u);
}

TEST_F(ReadResponderTest, DeferredResponseIsCheckedFourCyclesAfterTheHold) {
  b.Setup();
  b.hold.on = true;
  b.answer.tokens = {Read(kQp, 2, 10)};
  ASSERT_EQ(b.Settle(), "");
  b.hold.on = false;
  ASSERT_EQ(b.bench.Run(ReadResponder::kReleaseToCheck - 1), "");
  EXPECT_EQ(b.p.memory_check_valid_o, 0);
  ASSERT_EQ(b.bench.Run(1), "");
  EXPECT_EQ(b.p.memory_check_valid_o, 1);
  EXPECT_EQ(b.Jobs().size(), 1u);
}

// --- Latency ---------------------------------------------------------------------------------------------------------

TEST_F(ReadResponderTest, MeetsDocumentedLatencies) {
  b.Setup();
  // The cycle in which an output is visible, from the one in which the answer is accepted.
  const auto after = [&](const spec::RxAnswer& answer, const auto& valid) {
    EXPECT_EQ(b.Settle(), "");
    b.answer.tokens = {answer};
    const Cycle accepted = b.bench.cycle();
    std::string difference;
    do {
      difference = b.bench.Run(1);
    } while (difference.empty() && valid == 0 && b.bench.cycle() < accepted + 100);
    EXPECT_EQ(difference, "");
    return b.bench.cycle() - accepted;
  };
  EXPECT_EQ(after(Answer(kQp, 1), b.p.packet_valid_o), ReadResponder::kAnswerToPacket);
  EXPECT_EQ(after(Read(kQp, 2, 0), b.p.job_valid_o), ReadResponder::kReadToJob);
  b.take_rate = 0;
  EXPECT_EQ(b.bench.Run(10), "");

  // Held back, because the previous job is in flight.
  b.answer.tokens = {Read(kQp, 2, 0)};
  EXPECT_EQ(b.bench.Run(50), "");
  b.answer.tokens = {Answer(kQp, 3)};
  const Cycle accepted = b.bench.cycle();
  EXPECT_EQ(b.bench.Run(ReadResponder::kAnswerToJob - 1), "");
  EXPECT_EQ(b.p.job_valid_o, 0);
  EXPECT_EQ(b.bench.Run(1), "");
  EXPECT_EQ(b.p.job_valid_o, 1);
  EXPECT_EQ(b.bench.cycle() - accepted, ReadResponder::kAnswerToJob);
  b.take_rate = 16;

  // Behind a packet that is not taken: an acknowledge, then a NAK.
  EXPECT_EQ(b.Settle(), "");
  for (const auto& second : {Answer(6, 8), Answer(6, 9, Nak(AethSyndrome::kRnrNak))}) {
    b.packet.rate = 0;
    b.answer.tokens = {Answer(7, 1), second};
    EXPECT_EQ(b.bench.Run(30), "");
    b.packet_sink.sent().clear();
    b.packet.rate = 16;
    EXPECT_EQ(b.Settle(), "");
    const auto& sent = b.packet_sink.sent();
    ASSERT_EQ(sent.size(), 2u);
    // It is taken in the first cycle in which it is visible.
    EXPECT_EQ(sent[1].cycle - sent[0].cycle, ReadResponder::kTakenToPacket);
    EXPECT_EQ(sent[1].token, second.packet);
  }
  // The register becomes free in the cycle in which the answer is checked, which is too late for it.
  b.packet.rate = 0;
  b.answer.tokens = {Answer(7, 2)};
  EXPECT_EQ(b.bench.Run(30), "");
  b.packet_sink.sent().clear();
  b.answer.tokens = {Answer(6, 10)};
  const Cycle late = b.bench.cycle();
  EXPECT_EQ(b.bench.Run(2), "");
  b.packet.rate = 16;
  EXPECT_EQ(b.bench.Run(ReadResponder::kAnswerToLate - 3), "");
  EXPECT_EQ(b.packet_sink.sent().size(), 1u);
  EXPECT_EQ(b.p.packet_valid_o, 0);
  EXPECT_EQ(b.bench.Run(1), "");
  EXPECT_EQ(b.p.packet_valid_o, 1);
  EXPECT_EQ(b.bench.cycle() - late, ReadResponder::kAnswerToLate);
  EXPECT_EQ(b.Settle(), "");

  // Of bytes: check, place, job, next check.
  b.answers_checks = false;
  EXPECT_EQ(after(Read(kQp, 4, 3000), b.p.memory_check_valid_o), ReadResponder::kReadToCheck);
  EXPECT_EQ(b.bench.Run(20), "");
  b.place.tokens = {PlaceOf(b.check_sink.sent().back().token)};
  EXPECT_EQ(b.bench.Run(ReadResponder::kPlaceToJob - 1), "");
  EXPECT_EQ(b.p.job_valid_o, 0);
  EXPECT_EQ(b.bench.Run(1), "");
  EXPECT_EQ(b.p.job_valid_o, 1);
  EXPECT_EQ(b.bench.Run(ReadResponder::kPlaceToCheck - ReadResponder::kPlaceToJob - 1), "");
  EXPECT_EQ(b.p.memory_check_valid_o, 0);
  EXPECT_EQ(b.bench.Run(1), "");
  EXPECT_EQ(b.p.memory_check_valid_o, 1);

  // Dropped, between turns.
  b.place.tokens = {spec::MemoryPlace{.address0 = 1, .bytes0 = 1024}};
  b.job.rate = 0;
  EXPECT_EQ(b.bench.Run(20), "");
  b.SetState(kQp, IbQpState::kReset);
  EXPECT_EQ(b.bench.Run(ReadResponder::kStateToReads - 1), "");
  EXPECT_EQ(b.p.qp_reads_valid_o, 0);
  EXPECT_EQ(b.bench.Run(1), "");
  EXPECT_EQ(b.p.qp_reads_valid_o, 1);
}

// With the latency of an idle memory_check a READ of 1024-byte packets exceeds 64 bytes per cycle.
TEST_F(ReadResponderTest, PacketTakesTwelveCyclesWithItsCheck) {
  b.Setup();
  b.answers_checks = false;
  std::deque<std::pair<Cycle, spec::MemoryPlace>> places;
  b.check.on_token = [&](Cycle cycle, const spec::MemoryCheck& check) {
    places.push_back({cycle + 6, PlaceOf(check)});  // MemoryCheck::kLatency
  };
  b.answer.tokens = {Read(kQp, 0, 1024 * 100)};
  while (b.job.count < 100 && b.bench.cycle() < 10'000) {
    if (!places.empty() && places.front().first == b.bench.cycle()) {
      b.place.tokens.push_back(places.front().second);
      places.pop_front();
    }
    ASSERT_EQ(b.bench.Run(1), "");
  }
  const auto& sent = b.job_sink.sent();
  ASSERT_EQ(sent.size(), 100u);
  for (size_t i = 1; i < sent.size(); ++i) EXPECT_EQ(sent[i].cycle - sent[i - 1].cycle, 12u);
}

// --- At random -------------------------------------------------------------------------------------------------------

// READs and answers of every QP, as the responder issues them.
struct Traffic {
  explicit Traffic(Bench& bench, uint32_t first_qpn = 0) : b(bench), first(first_qpn) {
    for (auto& value : psn) value = Psn(static_cast<uint32_t>(b.random()));
  }
  bool MayRead(uint32_t qpn) const { return static_cast<uint8_t>(started[qpn] - b.ended[qpn]) < kReads; }
  spec::RxAnswer Next() {
    const auto qpn = first + static_cast<uint32_t>(b.random() % (kQps - first));
    const auto msn = static_cast<uint32_t>(all.size());  // so that each is identifiable
    if (reads && b.random() % 6 == 0 && MayRead(qpn)) {
      const bool is_duplicate = b.random() % 3 == 0;
      const uint32_t at = is_duplicate ? psn[qpn] - 1 - static_cast<uint32_t>(b.random() % 10) : psn[qpn]++;
      ++started[qpn];
      const uint64_t address = b.random() & ~uint64_t{7};
      const auto placement = static_cast<uint8_t>(1 + b.random() % 3);
      all.push_back(b.random() % 3 == 0   ? StoreOf(qpn, at, msn, is_duplicate, address)
                    : b.random() % 4 == 0 ? FlushOf(qpn, at, b.random() % 2 != 0, placement, msn, is_duplicate, address)
                                          : AtomicOf(qpn, at, b.random() % 2 != 0, msn, is_duplicate, address));
    } else if (reads && b.random() % 3 == 0 && MayRead(qpn)) {
      const uint32_t mtu = Bytes(mtus[qpn]);
      static constexpr uint32_t kPackets = 5;
      uint32_t bytes = 0;
      if (b.random() % 4 != 0) bytes = static_cast<uint32_t>(b.random() % (kPackets * mtu));
      if (b.random() % 4 == 0) bytes = bytes / mtu * mtu;
      const uint32_t packets = Packets(bytes, mtu);
      const bool is_repeated = b.random() % 8 == 0;
      const uint32_t at = is_repeated ? psn[qpn] - packets - static_cast<uint32_t>(b.random() % 10) : psn[qpn];
      if (!is_repeated) psn[qpn] += packets;
      ++started[qpn];
      all.push_back(Read(qpn, at, bytes, msn, b.random() % 4 == 0 ? 0 - b.random() % 20'000 : b.random()));
    } else if (b.random() % 4 == 0) {
      all.push_back(Answer(qpn, psn[qpn], Nak(AethSyndrome::kNakPsnSequenceError), msn));
    } else {
      if (b.random() % 2 == 0) ++psn[qpn];
      all.push_back(Answer(qpn, psn[qpn] - 1, Ack(), msn));
    }
    return all.back();
  }
  // As many cycles with work in each.
  std::string Run(uint64_t cycles) {
    for (; cycles != 0; --cycles) {
      while (b.answer.tokens.size() < 3) b.answer.tokens.push_back(Next());
      if (std::string difference = b.bench.Run(1); !difference.empty()) return difference;
      if (testing::Test::HasFailure()) return "out of order";
    }
    return {};
  }

  Bench& b;
  uint32_t first;
  bool reads = true;  // READs come, too
  std::array<uint32_t, kQps> psn{};
  std::array<uint8_t, kQps> started{};
  std::array<IbMtu, kQps> mtus{};
  std::vector<spec::RxAnswer> all;  // in order
};

// READs arrive, too
struct Order {
  struct Qp {
    std::deque<std::pair<size_t, spec::TxJob>> responses;  // expected, with the number of their READ
    std::optional<size_t> due;                             // answer that must still leave
    std::optional<size_t> last_response;                   // last answer that left
  };

  Order(Bench& bench, Traffic& traffic) : b(bench), t(traffic) {
    b.on_accepted = [this](Cycle) { Accept(); };
    b.on_straight = [this](Cycle cycle, const spec::TxPacket& packet) {
      for (const auto& job : b.on_way) EXPECT_NE(job.packet.qpn, packet.qpn) << "overtakes a job, cycle " << cycle;
      EXPECT_FALSE(packet.is_response);
      Leave(packet);
    };
    b.on_taken = [this](Cycle, const spec::TxJob& job) {
      EXPECT_TRUE(job.packet.is_response);
      EXPECT_FALSE(job.more || job.drop);
      if (job.packet.opcode == BthOpcode::kRcAcknowledge) {
        EXPECT_EQ(job.bytes0, 0u);
        Leave(job.packet);
        return;
      }
      auto& expected = qps[job.packet.qpn].responses;
      ASSERT_FALSE(expected.empty());
      EXPECT_EQ(job, expected.front().second) << TokenText(job) << "\n" << TokenText(expected.front().second);
      expected.pop_front();
    };
  }
  static bool IsAhead(uint32_t psn, uint32_t of) { return Psn(psn - of - 1) < 0x7f'ffff; }
  void Accept() {
    const size_t number = accepted++;
    const auto& answer = t.all[number];
    const uint32_t qpn = answer.packet.qpn;
    Qp& qp = qps[qpn];
    const bool stays = qp.due && IsAhead(t.all[*qp.due].packet.psn, answer.packet.psn);
    if (answer.is_read) {
      for (auto& job : Responses(answer, t.mtus[qpn], PdnOf(qpn))) qp.responses.push_back({number, job});
      if (!stays) qp.due.reset();
    } else if (!stays) {
      qp.due = number;
    }
  }
  void Leave(const spec::TxPacket& packet) {
    const size_t number = MsnOf(packet);
    Qp& qp = qps[packet.qpn];
    ASSERT_LT(number, accepted);
    spec::TxPacket expected = t.all[number].packet;
    expected.is_response = packet.is_response;
    EXPECT_EQ(packet, expected);
    EXPECT_TRUE(qp.responses.empty() || qp.responses.front().first > number) << "overtakes a response";
    EXPECT_TRUE(!qp.last_response || *qp.last_response < number) << "overtakes a response";
    qp.last_response = number;
    if (qp.due == number) qp.due.reset();
  }
  void ExpectAllSaid() const {
    for (uint32_t qpn = 0; qpn < kQps; ++qpn) {
      EXPECT_TRUE(qps[qpn].responses.empty()) << qpn;
      EXPECT_FALSE(qps[qpn].due) << qpn;
      EXPECT_EQ(b.ended[qpn], t.started[qpn]) << qpn;
    }
  }

  Bench& b;
  Traffic& t;
  std::array<Qp, kQps> qps;
  size_t accepted = 0;
};

// --- Atomic operations -----------------------------------------------------------------------------------------------

TEST_F(ReadResponderTest, AtomicIsExecutedAndItsResultSent) {
  b.Setup();
  for (const bool is_swap : {false, true}) {
    const auto answer = AtomicOf(kQp, 10, is_swap, 7);
    b.answer.tokens.push_back(answer);
    EXPECT_EQ(b.Jobs(), std::vector{AtomicJob(answer)});
    const auto check = Bench::Taken(b.check_sink);
    ASSERT_EQ(check.size(), 1u);
    EXPECT_EQ(check[0], (spec::MemoryCheck{.key = answer.rkey,
                                           .pdn = PdnOf(kQp),
                                           .remote_atomic = true,
                                           .address = answer.address,
                                           .bytes = 8,
                                           .qpn = kQp}));
    const auto requests = Bench::Taken(b.atomic_sink);
    ASSERT_EQ(requests.size(), 1u);
    const auto place = PlaceOf(check[0]);
    EXPECT_EQ(requests[0], (spec::AtomicRequest{.qpn = kQp,
                                                .psn = 10,
                                                .is_swap = is_swap,
                                                .address = place.address0,
                                                .grant = place.grant,
                                                .swap_add = Operand(answer, 0),
                                                .compare = Operand(answer, 8)}))
        << TokenText(requests[0]);
  }
  const auto reads = b.Reads();
  ASSERT_EQ(reads.size(), 2u);
  EXPECT_EQ(reads.back().ended, 2);
}

// Its response is that of a READ of no bytes, when it was executed.
TEST_F(ReadResponderTest, AtomicWriteIsExecutedAndAcknowledged) {
  b.Setup();
  const auto answer = StoreOf(kQp, 10, 7), again = StoreOf(kQp, 11, 8, true), lost = StoreOf(kQp, 15, 9, true);
  b.executes = false;
  b.answer.tokens = {answer};
  ASSERT_EQ(b.bench.Run(200), "");
  EXPECT_EQ(b.job.count, 0u);
  const auto check = Bench::Taken(b.check_sink);
  ASSERT_EQ(check.size(), 1u);
  EXPECT_EQ(check[0], (spec::MemoryCheck{.key = answer.rkey,
                                         .pdn = PdnOf(kQp),
                                         .remote_write = true,
                                         .address = answer.address,
                                         .bytes = 8,
                                         .qpn = kQp}));
  const auto requests = Bench::Taken(b.atomic_sink);
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_TRUE(requests[0].is_write);
  EXPECT_FALSE(requests[0].is_swap);
  EXPECT_EQ(requests[0].swap_add, ValueOf(answer));
  EXPECT_EQ(requests[0].address, PlaceOf(check[0]).address0);
  b.executes = true;
  b.result.tokens.push_back({.qpn = kQp});
  b.answer.tokens = {again, lost};
  EXPECT_EQ(b.Jobs(), (std::vector{AtomicJob(answer), AtomicJob(again)}));
  EXPECT_EQ(b.check.count, 1u);
}

// A byte is read, and the response is that of a READ of no bytes.
TEST_F(ReadResponderTest, FlushIsExecutedAndAcknowledged) {
  b.Setup();
  uint32_t psn = 20;
  for (const bool whole : {false, true}) {
    for (uint8_t placement = 1; placement <= 3; ++placement) {
      const auto answer = FlushOf(kQp, psn, whole, placement, 7, false, 0x1235),
                 again = FlushOf(kQp, psn + 1, whole, placement, 8, true);
      psn += 5;
      b.executes = false;
      b.answer.tokens = {answer};
      const auto jobs = b.job.count;
      ASSERT_EQ(b.bench.Run(200), "");
      EXPECT_EQ(b.job.count, jobs);
      const auto check = Bench::Taken(b.check_sink);
      ASSERT_EQ(check.size(), 1u);
      EXPECT_EQ(check[0], (spec::MemoryCheck{.key = answer.rkey,
                                             .pdn = PdnOf(kQp),
                                             .flush_global = (placement & 1) != 0,
                                             .flush_persistent = (placement & 2) != 0,
                                             .whole = whole,
                                             .address = answer.address,
                                             .bytes = 1,
                                             .qpn = kQp}));
      const auto requests = Bench::Taken(b.atomic_sink);
      ASSERT_EQ(requests.size(), 1u);
      EXPECT_TRUE(requests[0].is_flush);
      EXPECT_FALSE(requests[0].is_swap || requests[0].is_write);
      EXPECT_EQ(requests[0].address, PlaceOf(check[0]).address0);
      b.executes = true;
      b.result.tokens.push_back({.qpn = kQp});
      b.answer.tokens = {again};
      EXPECT_EQ(b.Jobs(), (std::vector{AtomicJob(answer), AtomicJob(again)}));
      EXPECT_TRUE(Bench::Taken(b.check_sink).empty());
      Bench::Taken(b.atomic_sink);
    }
  }
}

TEST_F(ReadResponderTest, OthersGoOnWhileAnAtomicIsExecuted) {
  b.Setup();
  b.executes = false;
  const auto atomic = AtomicOf(kQp, 10, false);
  const auto behind = Read(kQp, 11, 100);
  b.answer.tokens = {atomic, behind, Answer(kQp, 12), Read(kQp + 1, 5, 100), Answer(kQp + 2, 5)};
  ASSERT_EQ(b.bench.Run(200), "");
  // Of the QP nothing has left, not even its acknowledge.
  EXPECT_EQ(Bench::Taken(b.job_sink), Responses(Read(kQp + 1, 5, 100), IbMtu::kMtu1024, PdnOf(kQp + 1)));
  EXPECT_EQ(b.packet_sink.sent().size(), 1u);
  EXPECT_EQ(b.atomic.count, 1u);
  b.result.tokens = {ResultOf(b.atomic_sink.sent().front().token)};
  std::vector<spec::TxJob> expected = {AtomicJob(atomic)};
  for (const auto& job : Responses(behind, IbMtu::kMtu1024, PdnOf(kQp))) expected.push_back(job);
  expected.push_back(AnswerJob(Answer(kQp, 12)));
  EXPECT_EQ(b.Jobs(), expected);
}

TEST_F(ReadResponderTest, AtomicsOfOneQueuePairAreExecutedOneByOne) {
  b.Setup();
  b.executes = false;
  b.answer.tokens = {AtomicOf(kQp, 10, false), AtomicOf(kQp, 11, true), AtomicOf(kQp + 1, 3, true)};
  ASSERT_EQ(b.bench.Run(200), "");
  EXPECT_EQ(b.atomic.count, 2u);
  for (const uint32_t qpn : {kQp, kQp + 1}) b.result.tokens.push_back({.qpn = qpn});
  ASSERT_EQ(b.bench.Run(200), "");
  EXPECT_EQ(b.atomic.count, 3u);
  EXPECT_EQ(b.atomic_sink.sent().back().token.psn, 11u);
}

TEST_F(ReadResponderTest, DuplicateAtomicIsSentAgainOrDropped) {
  b.Setup();
  b.answer.tokens = {AtomicOf(kQp, 11, true, 0, true), AtomicOf(kQp, 10, true, 0, true), Answer(kQp, 12)};
  EXPECT_EQ(b.Jobs(), (std::vector{AtomicJob(AtomicOf(kQp, 11, true)), AnswerJob(Answer(kQp, 12))}));
  EXPECT_EQ(b.check.count, 0u);
  const auto requests = Bench::Taken(b.atomic_sink);
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_TRUE(requests[0].is_duplicate);
  EXPECT_FALSE(requests[0].grant.valid);
  EXPECT_EQ(b.Reads().back().ended, 2);
}

TEST_F(ReadResponderTest, AtomicThatFailsEndsTheConnection) {
  b.Setup();
  const auto nak = [](AethSyndrome syndrome) {
    spec::RxAnswer answer = Answer(kQp, 10, Nak(syndrome), 3);
    return AnswerJob(answer);
  };
  b.execute = [](const spec::AtomicRequest& request) {
    return spec::AtomicResult{.qpn = request.qpn, .status = spec::AtomicStatus::kFailed};
  };
  b.answer.tokens = {AtomicOf(kQp, 10, false, 3), Read(kQp, 11, 100), Answer(kQp, 12)};
  EXPECT_EQ(b.Jobs(), std::vector{nak(AethSyndrome::kNakRemoteOperationalError)});
  EXPECT_EQ(Bench::Taken(b.failure_sink),
            (std::vector{spec::QpFailure{.qpn = kQp,
                                         .event_type = spec::RdmaEventType::kQpFatal,
                                         .code = static_cast<uint32_t>(spec::RdmaError::kQueueDmaError)}}));
  EXPECT_EQ(b.Reads().back().ended, 2);
  EXPECT_EQ(b.atomic.count, 1u);
  // Its key may have become invalid, too.
  b.SetState(kQp, IbQpState::kReset);
  b.SetState(kQp, IbQpState::kRts);
  ASSERT_EQ(b.Settle(), "");
  b.memory = [](const spec::MemoryCheck&) { return spec::MemoryPlace{.status = MemoryStatus::kKey}; };
  b.answer.tokens = {AtomicOf(kQp, 10, false, 3)};
  EXPECT_EQ(b.Jobs(), std::vector{nak(AethSyndrome::kNakRemoteAccessError)});
  EXPECT_EQ(b.failure_sink.sent().back().token.event_type, spec::RdmaEventType::kQpAccessErr);
  EXPECT_EQ(b.atomic.count, 1u);
}

TEST_F(ReadResponderTest, ResultEndsDuringAHold) {
  b.Setup();
  b.executes = false;
  b.answer.tokens = {AtomicOf(kQp, 10, false), AtomicOf(kQp, 11, false)};
  ASSERT_EQ(b.bench.Run(100), "");
  b.hold.on = true;
  ASSERT_EQ(b.bench.Run(100), "");
  b.result.tokens = {{.qpn = kQp}};
  ASSERT_EQ(b.bench.Run(100), "");
  EXPECT_EQ(b.job.count, 1u);
  EXPECT_EQ(b.atomic.count, 1u) << "the next one does not start";
  EXPECT_TRUE(b.block.IsIdle());
  b.hold.on = false;
  ASSERT_EQ(b.bench.Run(100), "");
  EXPECT_EQ(b.atomic.count, 2u);
}

TEST_F(ReadResponderTest, ResultOfAnEarlierLifetimeIsDiscarded) {
  b.Setup();
  b.executes = false;
  b.answer.tokens = {AtomicOf(kQp, 10, false)};
  ASSERT_EQ(b.bench.Run(100), "");
  b.SetState(kQp, IbQpState::kReset);
  b.SetState(kQp, IbQpState::kRts);
  ASSERT_EQ(b.bench.Run(50), "");
  b.answer.tokens = {Read(kQp, 20, 8)};
  ASSERT_EQ(b.bench.Run(100), "");
  b.result.tokens = {{.qpn = kQp, .value = 1}};
  EXPECT_EQ(b.Jobs(), Responses(Read(kQp, 20, 8), IbMtu::kMtu1024, PdnOf(kQp)));
  EXPECT_EQ(b.Reads().back().ended, 2);
}

// The next lifetime has an operation of its own by then, and the old result goes before it.
TEST_F(ReadResponderTest, ResultOfAStoppedQpIsNotThatOfItsNextLifetime) {
  b.Setup();
  b.executes = false;
  b.answer.tokens = {AtomicOf(kQp, 10, false)};
  ASSERT_EQ(b.bench.Run(100), "");
  b.SetState(kQp, IbQpState::kReset);
  ASSERT_EQ(b.bench.Run(30), "");
  b.stops.next = model::QpStop{.qpn = kQp, .all = true};
  ASSERT_EQ(b.bench.Run(5), "");
  b.SetState(kQp, IbQpState::kRts);
  const auto answer = AtomicOf(kQp, 20, false);
  b.answer.tokens = {answer};
  ASSERT_EQ(b.bench.Run(100), "");
  EXPECT_EQ(b.atomic.count, 2U);
  b.room.rate = 0;
  b.result.tokens = {{.qpn = kQp, .value = 1}, {.qpn = kQp, .value = OriginalOf(kQp, 20)}};
  EXPECT_EQ(b.Jobs(), std::vector{AtomicJob(answer)});
}

// So no operation that was granted waits for the wire: all results are taken without room in tx_gather.
TEST_F(ReadResponderTest, ResultsWaitForNothing) {
  b.Setup();
  b.executes = false;
  b.job.rate = 0;
  for (uint32_t qpn = 0; qpn < kQps; ++qpn) b.answer.tokens.push_back(AtomicOf(qpn, 10, false));
  ASSERT_EQ(b.bench.Run(500), "");
  ASSERT_EQ(b.atomic.count, kQps);
  for (uint32_t qpn = 0; qpn < kQps; ++qpn) b.result.tokens.push_back({.qpn = qpn, .value = OriginalOf(qpn, 10)});
  ASSERT_EQ(b.bench.Run(200), "");
  EXPECT_EQ(b.result.accepted, kQps);
  EXPECT_EQ(b.job.count, 0U);
  b.job.rate = 16;
  EXPECT_EQ(b.Jobs().size(), kQps);
}

TEST_F(ReadResponderTest, StopMarksTheAnswerThatWaits) {
  for (const bool is_its : {false, true}) {
    b.Setup();
    b.packet.rate = 0;
    b.answer.tokens = {Answer(kQp, 10)};
    ASSERT_EQ(b.bench.Run(50), "");
    b.stops.next = model::QpStop{.qpn = is_its ? kQp : kQp + 1, .all = true};
    ASSERT_EQ(b.bench.Run(5), "");
    b.packet.rate = 16;
    const auto packets = b.StraightPackets();
    ASSERT_EQ(packets.size(), 1U);
    EXPECT_EQ(packets[0].stale, is_its);
  }
}

TEST_F(ReadResponderTest, AtomicMeetsDocumentedLatencies) {
  b.Setup();
  b.executes = b.answers_checks = false;
  b.answer.tokens = {AtomicOf(kQp, 10, false)};
  ASSERT_EQ(b.bench.Run(50), "");
  b.place.tokens = {PlaceOf(b.check_sink.sent().back().token)};
  ASSERT_EQ(b.bench.Run(ReadResponder::kPlaceToJob - 1), "");
  EXPECT_EQ(b.p.atomic_valid_o, 0);
  ASSERT_EQ(b.bench.Run(1), "");
  EXPECT_EQ(b.p.atomic_valid_o, 1);
  ASSERT_EQ(b.bench.Run(50), "");
  b.result.tokens = {{.qpn = kQp}};
  ASSERT_EQ(b.bench.Run(ReadResponder::kResultToJob - 1), "");
  EXPECT_EQ(b.p.job_valid_o, 0);
  ASSERT_EQ(b.bench.Run(1), "");
  EXPECT_EQ(b.p.job_valid_o, 1);
  EXPECT_EQ(b.Settle(), "");
}

struct Rates {
  unsigned in, out;
  unsigned hold = 0;  // toggles
};
class ReadResponderRandomTest : public testing::TestWithParam<Rates> {
 protected:
  Rtl rtl{Outputs()};
};

TEST_P(ReadResponderRandomTest, MatchesModelWithoutLossOrReordering) {
  Bench b(rtl);
  Traffic traffic(b);
  for (uint32_t qpn = 0; qpn < kQps; ++qpn) {
    traffic.mtus[qpn] = kMtus[qpn % kMtus.size()];
    b.SetMtu(qpn, traffic.mtus[qpn]);
    b.SetState(qpn, kAnswering[b.random() % kAnswering.size()]);
  }
  ASSERT_EQ(b.Settle(), "");
  Order order(b, traffic);
  b.Rates(GetParam().in, GetParam().out);
  b.packet.keep = b.job.keep = b.check.keep = b.atomic.keep = false;
  b.hold.toggles = GetParam().hold;
  ASSERT_EQ(traffic.Run(30'000), "");
  // With a slow output the responses of later READs replace nearly all acknowledges.
  traffic.reads = false;
  for (unsigned round = 0; round < 10 && b.packet.count <= 10; ++round) ASSERT_EQ(traffic.Run(1000), "");
  b.hold.toggles = 0;
  b.hold.on = false;
  ASSERT_EQ(b.bench.Run(2), "");
  ASSERT_EQ(b.Settle(), "");
  order.ExpectAllSaid();
  EXPECT_GT(b.packet.count, 10u);
  EXPECT_GT(b.job.count, 500u);
  EXPECT_EQ(b.failure.count, 0u);
}

// Unless an answer that is not of an earlier PSN comes before it has left.
TEST_P(ReadResponderRandomTest, EveryNakLeavesInOrderWithoutReads) {
  Bench b(rtl);
  Traffic traffic(b);
  traffic.reads = false;
  traffic.mtus.fill(IbMtu::kMtu1024);
  b.Setup();
  Order order(b, traffic);
  std::array<std::deque<size_t>, kQps> naks;  // that came and must leave
  uint64_t nak_count = 0;
  const auto accept = std::exchange(b.on_accepted, {});
  b.on_accepted = [&](Cycle cycle) {
    const auto& packet = traffic.all[order.accepted].packet;
    const auto& due = order.qps[packet.qpn].due;
    const bool stays = due && Order::IsAhead(traffic.all[*due].packet.psn, packet.psn);
    if (!stays) naks[packet.qpn].clear();
    if (!stays && packet.extension[0] != Ack()) naks[packet.qpn].push_back(order.accepted);
    accept(cycle);
  };
  const auto straight = std::exchange(b.on_straight, {});
  b.on_straight = [&](Cycle cycle, const spec::TxPacket& packet) {
    straight(cycle, packet);
    auto& left = naks[packet.qpn];
    if (!left.empty() && left.front() == MsnOf(packet)) {
      EXPECT_NE(packet.extension[0], Ack());
      left.pop_front();
      ++nak_count;
    }
    EXPECT_TRUE(left.empty() || left.front() > MsnOf(packet)) << "passes a NAK, cycle " << cycle;
  };
  b.Rates(GetParam().in, GetParam().out);
  b.packet.keep = false;
  b.hold.toggles = GetParam().hold;
  ASSERT_EQ(traffic.Run(10'000), "");
  b.hold.toggles = 0;
  b.hold.on = false;
  ASSERT_EQ(b.bench.Run(2), "");
  ASSERT_EQ(b.Settle(), "");
  order.ExpectAllSaid();
  for (const auto& left : naks) EXPECT_TRUE(left.empty());
  EXPECT_GT(nak_count, 100u);
  EXPECT_EQ(b.job.count, 0u);
  if (GetParam().out < 8) {
    EXPECT_LT(b.packet.count, order.accepted);
  }
}

TEST_P(ReadResponderRandomTest, MatchesModelWithErrorsAndEveryReadEnds) {
  Bench b(rtl);
  Traffic traffic(b);
  b.memory = [&b](const spec::MemoryCheck& check) {
    if (b.random() % 32 != 0) return PlaceOf(check);
    return spec::MemoryPlace{.status = static_cast<MemoryStatus>(1 + b.random() % 4)};
  };
  b.execute = [&b](const spec::AtomicRequest& request) {
    if (b.random() % 16 != 0) return ResultOf(request);
    return spec::AtomicResult{.qpn = request.qpn, .status = spec::AtomicStatus::kFailed};
  };
  b.Rates(GetParam().in, GetParam().out);
  b.states.rate = b.tables.rate = 4;
  b.packet.keep = b.job.keep = b.check.keep = b.failure.keep = b.atomic.keep = false;
  b.stops.rate = 2;
  for (uint32_t qpn = 0; qpn < kQps; ++qpn) {
    traffic.mtus[qpn] = kMtus[qpn % kMtus.size()];
    b.SetMtu(qpn, traffic.mtus[qpn]);
  }
  b.hold.toggles = GetParam().hold;
  // Slow jobs make few checks, of which one in 32 must fail.
  const int rounds = GetParam().out < 4 ? 2400 : 600;
  for (int round = 0; round < rounds; ++round) {
    const auto qpn = static_cast<uint32_t>(b.random() % kQps);
    if (b.random() % 8 == 0) {
      traffic.mtus[qpn] = kMtus[b.random() % kMtus.size()];
      b.SetMtu(qpn, traffic.mtus[qpn]);
    }
    if (round % 4 == 0) {
      b.contexts.Flip(spec::ContextRam::kReadResponderQp, static_cast<uint32_t>(b.random() % kQps),
                      static_cast<uint32_t>(b.random() % 1024));
    }
    b.SetState(qpn,
               b.random() % 3 == 0 ? kMute[b.random() % kMute.size()] : kAnswering[b.random() % kAnswering.size()]);
    ASSERT_EQ(traffic.Run(1 + b.random() % 100), "");
  }
  b.hold.toggles = 0;
  b.hold.on = false;
  ASSERT_EQ(b.bench.Run(2), "");
  ASSERT_EQ(b.Settle(), "");
  for (uint32_t qpn = 0; qpn < kQps; ++qpn) b.SetState(qpn, IbQpState::kReset);
  ASSERT_EQ(b.Settle(), "");
  EXPECT_EQ(b.ended, traffic.started);
  EXPECT_GT(b.failure.count, 10u);
  EXPECT_GT(b.contexts.errors.size(), 5u);
}

INSTANTIATE_TEST_SUITE_P(Stalls, ReadResponderRandomTest,
                         testing::Values(Rates{16, 16}, Rates{16, 4}, Rates{4, 16}, Rates{8, 8}, Rates{16, 1},
                                         Rates{16, 16, 1}, Rates{8, 8, 8}, Rates{16, 16, 32}),
                         [](const auto& info) {
                           return "In" + std::to_string(info.param.in) + "Out" + std::to_string(info.param.out) +
                                  "Hold" + std::to_string(info.param.hold);
                         });

// The cycle of the reset.
class ReadResponderResetTest : public testing::TestWithParam<uint32_t> {
 protected:
  Rtl rtl{Outputs()};
};

// Tables survive a reset, so later traffic uses other queue pairs here.
TEST_P(ReadResponderResetTest, ResetClearsAllState) {
  {
    Bench before(rtl);
    before.Setup();
    before.job.rate = before.packet.rate = 8;
    for (uint32_t i = 0; i < 60 + GetParam(); ++i) {
      before.answer.tokens.push_back(Answer(i % (kQps / 2), i));
      if (i % 20 == 0) before.answer.tokens.push_back(Read(i / 20, 0, 3000));
      ASSERT_EQ(before.bench.Run(1), "");
    }
  }
  rtl.Reset();
  ASSERT_EQ(rtl.ports().idle_o, 1);
  Bench after(rtl);
  after.Setup(IbMtu::kMtu512, kQps / 2);
  Traffic traffic(after, kQps / 2);
  traffic.mtus.fill(IbMtu::kMtu512);
  Order order(after, traffic);
  ASSERT_EQ(traffic.Run(300), "");
  ASSERT_EQ(after.Settle(), "");
  order.ExpectAllSaid();
}

INSTANTIATE_TEST_SUITE_P(Cycles, ReadResponderResetTest, testing::Range(0u, 20u));

}  // namespace
}  // namespace vireo::verif
