// SPDX-License-Identifier: Apache-2.0
// The responder: each rule by hand, a reference that knows nothing of cycles, and RTL against model in every cycle.
#include "model/rdma/responder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <iterator>
#include <map>
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
using spec::BufferStatus;
using spec::IbQpState;
using spec::IbWcOpcode;
using spec::IbWcStatus;
using spec::MemoryStatus;
using spec::RdmaError;
using spec::RdmaEventType;

constexpr uint32_t kQps = 16;
constexpr uint32_t kQpn = 5;
constexpr uint32_t kFirstPsn = 0xffffee;  // wraps soon
constexpr uint16_t kMtu = 1024;
constexpr uint32_t kRkey = 0x1234501;
constexpr uint32_t kBadRkey = 0x1234502;
constexpr uint32_t kLkey = 0x2345601;
constexpr uint32_t kBadLkey = 0x2345602;
constexpr uint16_t kPdn = 77;
constexpr uint16_t kCqn = 9;
constexpr uint8_t kRnrTimer = 13;
// As the Verilated class was built.
constexpr uint32_t kNetQueuePairs = 3;
constexpr uint32_t kNumCqs = 16;
// Without net_feature.mq.
constexpr uint16_t kFirstReceiveQueue = 2 + kNumCqs + spec::kRdmaReceiveqOffset;

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
  context.recv_cqn = kCqn;
  context.min_rnr_timer = kRnrTimer;
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
  bool solicited = false;
  uint32_t immediate = 0x11223344;  // first byte most significant
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
  token.bth.solicited_event = packet.solicited;
  token.bth.psn = Psn(packet.psn);
  if (token.info.has_reth) {
    spec::Reth reth;
    reth.virtual_address = packet.address;
    reth.rkey = packet.rkey;
    reth.dma_length = packet.dma_length.value_or(packet.bytes);
    // RDMA WRITE's RETH follows the BTH.
    reth.Encode(token.extension);
  }
  if (token.info.has_immdt) {
    uint8_t* at = token.extension + (token.info.has_reth ? spec::Reth::kBytes : 0);
    for (unsigned i = 0; i < 4; ++i) at[i] = static_cast<uint8_t>(packet.immediate >> (24 - 8 * i));
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

// What the key check says: two runs for odd addresses, and keys that do not exist.
spec::MemoryPlace Check(const spec::MemoryCheck& check) {
  if (check.key != kRkey && check.key != kLkey) return {.status = MemoryStatus::kKey};
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

// --- Receives

// A receive work request of the host. One with a code cannot be read.
struct Posted {
  uint16_t head = 0;
  uint64_t wr_id = 0;
  std::vector<spec::RdmaSge> elements;
  RdmaError code = RdmaError::kOk;
};

// What recv_queue does, as the responder sees it.
struct Host {
  std::array<std::deque<Posted>, kQps> queues{};
  std::array<bool, kQps> broken{};
  std::map<uint64_t, spec::RdmaSge> elements{};  // by their address
  std::vector<spec::ReceiveRequest> asked{};
  uint64_t next = 0x7000'0000;
  uint16_t posts = 0;

  static spec::RdmaSge Element(uint64_t address, uint32_t length, uint32_t lkey = kLkey) {
    return {.addr = address, .length = length, .lkey = lkey};
  }
  // Head and wr_id are new ones.
  const Posted& Post(uint32_t qpn, const std::vector<spec::RdmaSge>& list, RdmaError code = RdmaError::kOk) {
    const uint16_t number = ++posts;
    queues[qpn].push_back({number, 0xabcd'0000'0000'0000 + number, list, code});
    return queues[qpn].back();
  }
  spec::Receive Answer(const spec::ReceiveRequest& request) {
    asked.push_back(request);
    spec::Receive receive;
    if (request.is_element) {
      const auto found = elements.find(request.address);
      if (found == elements.end()) return {.status = BufferStatus::kFailed, .code = RdmaError::kQueueDmaError};
      found->second.Encode(receive.sge);
      return receive;
    }
    if (broken[request.qpn]) return {.status = BufferStatus::kFailed};
    auto& queue = queues[request.qpn];
    if (queue.empty()) return {.status = BufferStatus::kEmpty};
    const Posted posted = queue.front();
    queue.pop_front();
    receive.head = posted.head;
    receive.wr_id = posted.wr_id;
    if (posted.code != RdmaError::kOk) {
      receive.status = BufferStatus::kFailed;
      receive.code = posted.code;
      return receive;
    }
    receive.elements = next;
    next += 0x1000;
    receive.num_sge = static_cast<uint8_t>(posted.elements.size());
    if (!posted.elements.empty()) posted.elements[0].Encode(receive.sge);
    for (size_t i = 1; i < posted.elements.size(); ++i) {
      elements[receive.elements + spec::RdmaSge::kBytes * i] = posted.elements[i];
    }
    return receive;
  }
};

// The completion of a receive: with what every one has.
spec::Completion CompletionOf(const Posted& posted, spec::RdmaCqReq cqe, bool solicited, uint32_t qpn = kQpn) {
  cqe.wr_id = posted.wr_id;
  cqe.qp_num = qpn;
  spec::Completion completion{.vq_index = static_cast<uint16_t>(kFirstReceiveQueue + 2 * qpn),
                              .head = posted.head,
                              .has_cqe = true,
                              .cqn = kCqn,
                              .solicited = solicited};
  cqe.Encode(completion.cqe);
  return completion;
}
spec::RxPlace With(spec::RxPlace place, const spec::Completion& completion) {
  place.has_completion = true;
  place.completion = completion;
  return place;
}
spec::RxPlace Success(const Posted& posted, uint32_t bytes, spec::RxPlace place = {}, bool solicited = false) {
  return With(place, CompletionOf(posted, {.opcode = IbWcOpcode::kRecv, .byte_len = bytes}, solicited));
}
spec::RxPlace Failed(const Posted& posted, IbWcStatus status, uint32_t vendor_err, const spec::RxPlace& place = {},
                     uint32_t qpn = kQpn) {
  return With(place, CompletionOf(posted, {.status = status, .opcode = IbWcOpcode::kRecv, .vendor_err = vendor_err},
                                  true, qpn));
}
spec::RxPlace Flushed(const Posted& posted, uint32_t qpn = kQpn) {
  return Failed(posted, IbWcStatus::kWrFlushErr, 0, {.no_frame = true}, qpn);
}
// A run of a frame that goes to an element.
spec::RxPlace Scatter(const RxToken& token, uint32_t from, uint64_t address, uint32_t bytes, spec::RxPlace place = {}) {
  const auto to = Check({.key = kLkey, .address = address, .bytes = static_cast<uint16_t>(bytes)});
  place.offset = static_cast<uint16_t>(token.payload_offset + from);
  place.address0 = to.address0;
  place.bytes0 = to.bytes0;
  place.address1 = to.address1;
  place.bytes1 = to.bytes1;
  return place;
}
const spec::RxPlace kMore{.more = true};

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

// mq_i: a level.
class Mq final : public BenchStream {
 public:
  Mq(CData& port, Responder& model) : port_(port), model_(model) { port_ = 0; }
  void Begin(Cycle cycle) override {
    if (on != (port_ != 0) || cycle == 0) model_.SetMq(cycle, on);
    port_ = on;
  }
  void End(Cycle) override {}
  bool IsEmpty() const override { return true; }
  bool on = false;

 private:
  CData& port_;
  Responder& model_;
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
      add(top.doorbell_ready_o);
      add(top.receive_ready_o);
      add(top.receive_request_valid_o);
      add(top.receive_request_o);
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
    block.receive_request_out.Connect(requests, block);
    bench.AddOther(enable);
    bench.AddOther(mq);
    bench.AddOther(idle);
    check.on_token = [this](Cycle, const spec::MemoryCheck& asked) {
      EXPECT_TRUE(asked.remote_write != asked.local_write && !asked.remote_read);
      EXPECT_EQ(asked.pdn, kPdn);
      EXPECT_GT(asked.bytes, 0u);
      EXPECT_LE(asked.bytes, 4096u);
      memory.tokens.push_back(Check(asked));
      // A key that is good for the other kind of access does not help.
      if (asked.key == (asked.local_write ? kRkey : kLkey)) memory.tokens.back() = {.status = MemoryStatus::kRights};
    };
    request.on_token = [this](Cycle, const spec::ReceiveRequest& asked) {
      receive.tokens.push_back(host.Answer(asked));
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
  Host host{};
  Responder block{agenda, kNetQueuePairs, kNumCqs, kQps};
  Channel<spec::ReceiveRequest> requests = Channel<spec::ReceiveRequest>::Sink();
  Channel<spec::MemoryCheck> checks = Channel<spec::MemoryCheck>::Sink();
  Channel<spec::RxPlace> places = Channel<spec::RxPlace>::Sink();
  Channel<spec::RxAck> acks = Channel<spec::RxAck>::Sink();
  Channel<spec::QpFailure> failures = Channel<spec::QpFailure>::Sink();
  std::shared_ptr<RtlTop<Vresponder_16>> owner;
  RtlTop<Vresponder_16>& rtl = *owner;
  Vresponder_16& p = rtl.ports();
  BlockBench<Vresponder_16> bench{rtl, agenda, random};
  Enable enable{p.enable_i, block, random};
  Mq mq{p.mq_i, block};
  Idle idle{p.idle_o, block};

  decltype(bench.In("doorbell", block.doorbell_in, p.doorbell_valid_i, p.doorbell_ready_o, p.doorbell_i)) doorbell =
      bench.In("doorbell", block.doorbell_in, p.doorbell_valid_i, p.doorbell_ready_o, p.doorbell_i);
  decltype(bench.In("receive", block.receive_in, p.receive_valid_i, p.receive_ready_o, p.receive_i)) receive =
      bench.In("receive", block.receive_in, p.receive_valid_i, p.receive_ready_o, p.receive_i);
  decltype(bench.Out("receive_request", requests, p.receive_request_valid_o, p.receive_request_ready_i,
                     p.receive_request_o)) request =
      bench.Out("receive_request", requests, p.receive_request_valid_o, p.receive_request_ready_i, p.receive_request_o);
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
  void Expect(const RxToken& token, const std::vector<spec::RxPlace>& expected) {
    frame.tokens.push_back(token);
    ExpectPlaces(expected);
  }
  void ExpectPlaces(const std::vector<spec::RxPlace>& expected) {
    RunOut();
    ASSERT_EQ(bench.RunOut(40 + 40 * expected.size()), "");
    const auto out = Take(places);
    EXPECT_EQ(out.size(), expected.size());
    for (size_t i = 0; i < std::min(out.size(), expected.size()); ++i) {
      EXPECT_EQ(out[i], expected[i]) << i << "\ngot      " << TokenText(out[i]) << "\nexpected "
                                     << TokenText(expected[i]);
    }
    EXPECT_TRUE(block.IsIdle());
  }
  void SetState(IbQpState state, bool clear = false) {
    qp_state.tokens.push_back({.qpn = kQpn, .state = state, .clear = clear});
  }
  void Ring(uint32_t qpn = kQpn) {
    doorbell.tokens.push_back({.vq_index = static_cast<uint16_t>(kFirstReceiveQueue + 2 * qpn)});
  }
  void ExpectFailures(const std::vector<spec::QpFailure>& expected) { EXPECT_EQ(Take(failures), expected); }
};

const spec::RxPlace kDropped{};

spec::QpFailure Failure(RdmaEventType event, AethSyndrome code) {
  return {.qpn = kQpn, .event_type = event, .code = static_cast<uint32_t>(code)};
}
spec::QpFailure Failure(RdmaEventType event, RdmaError code) {
  return {.qpn = kQpn, .event_type = event, .code = static_cast<uint32_t>(code)};
}
spec::RxPlace NotReady(uint32_t psn, uint32_t msn) {
  return Answer(psn, static_cast<AethSyndrome>(static_cast<uint8_t>(AethSyndrome::kRnrNak) | kRnrTimer), msn);
}
constexpr auto kOperational = static_cast<uint32_t>(AethSyndrome::kNakRemoteOperationalError);

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
      {"send with invalidate", {.opcode = O::kRcSendOnlyWithInvalidate}},
      {"send's middle outside a message", {.opcode = O::kRcSendMiddle, .bytes = kMtu}},
      {"send's last outside a message", {.opcode = O::kRcSendLast}},
      {"send's last with immediate outside a message", {.opcode = O::kRcSendLastWithImmediate}},
      {"send's first inside a write", {.opcode = O::kRcSendFirst, .psn = after, .bytes = kMtu}, true},
      {"send's middle inside a write", {.opcode = O::kRcSendMiddle, .psn = after, .bytes = kMtu}, true},
      {"send's first shorter than the MTU", {.opcode = O::kRcSendFirst, .bytes = kMtu - 1}},
      {"send longer than the MTU", {.opcode = O::kRcSendOnly, .bytes = kMtu + 1}},
      {"read", {.opcode = O::kRcRdmaReadRequest, .bytes = 0}},
      {"atomic", {.opcode = O::kRcFetchAdd, .bytes = 0}},
      {"flush", {.opcode = O::kRcFlush, .bytes = 0}},
      {"atomic write", {.opcode = O::kRcAtomicWrite, .bytes = 8}},
      {"write with immediate shorter than it says",
       {.opcode = O::kRcRdmaWriteOnlyWithImmediate, .bytes = 64, .dma_length = 65}},
      {"last with immediate of nothing", {.opcode = O::kRcRdmaWriteLastWithImmediate, .psn = after, .bytes = 0}, true},
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
    bench.host.Post(kQpn, {Host::Element(0x9000, 5000)});
    bench.Expect(TokenOf(refusal.packet), Answer(refusal.packet.psn, AethSyndrome::kNakInvalidRequest, 0));
    EXPECT_EQ(bench.check.count, checks);
    EXPECT_EQ(bench.request.count, 0u);
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
  bench.Expect(TokenOf({.opcode = BthOpcode::kRcFetchAdd, .bytes = 0}),
               Answer(kFirstPsn, AethSyndrome::kNakInvalidRequest, 0));
  bench.Expect(TokenOf({.psn = 100, .bytes = 0, .qpn = 6}), Answer(100, AethSyndrome::kAckNoCredits, 1, 6));
}

// --- Receives

TEST(Responder, ASendGoesToTheReceivesElementAndCompletesIt) {
  Ready bench;
  for (uint32_t i = 0; i < 3; ++i) {
    const Posted posted = bench.host.Post(kQpn, {Host::Element(0x9001 + i, 100)});
    const auto token = TokenOf({.opcode = BthOpcode::kRcSendOnly,
                                .psn = kFirstPsn + i,
                                .bytes = static_cast<uint16_t>(99 + i % 2),
                                .solicited = i == 1});
    bench.Expect(token, Scatter(token, 0, 0x9001 + i, 99 + i % 2,
                                Success(posted, 99 + i % 2, Ack(kFirstPsn + i, i + 1), i == 1)));
  }
  bench.ExpectFailures({});
}

TEST(Responder, ImmediateDataComesWithTheCompletion) {
  Ready bench;
  const spec::RdmaCqReq with{.imm_data = {0x11, 0x22, 0x33, 0x44}, .wc_flags = spec::IbWcFlags::kWithImm};
  auto cqe = with;
  cqe.opcode = IbWcOpcode::kRecv;
  cqe.byte_len = 5;
  Posted posted = bench.host.Post(kQpn, {Host::Element(0x9000, 64)});
  const auto send = TokenOf({.opcode = BthOpcode::kRcSendOnlyWithImmediate, .bytes = 5});
  bench.Expect(send, With(Scatter(send, 0, 0x9000, 5, Ack(kFirstPsn, 1)), CompletionOf(posted, cqe, false)));

  // A WRITE writes where its RETH says; of the receive it takes nothing but the work request.
  cqe.opcode = IbWcOpcode::kRecvRdmaWithImm;
  cqe.byte_len = 64;
  posted = bench.host.Post(kQpn, {});
  const auto only = TokenOf({.opcode = BthOpcode::kRcRdmaWriteOnlyWithImmediate, .psn = kFirstPsn + 1});
  bench.Expect(only, With(Write(only, 0x10000, Ack(kFirstPsn + 1, 2)), CompletionOf(posted, cqe, false)));

  const auto first =
      TokenOf({.opcode = BthOpcode::kRcRdmaWriteFirst, .psn = kFirstPsn + 2, .bytes = kMtu, .dma_length = kMtu + 8});
  bench.Expect(first, Write(first, 0x10000, Ack(kFirstPsn + 2, 2)));
  cqe.byte_len = kMtu + 8;
  posted = bench.host.Post(kQpn, {Host::Element(0x9000, 64, kBadLkey)});
  const auto last = TokenOf({.opcode = BthOpcode::kRcRdmaWriteLastWithImmediate,
                             .psn = kFirstPsn + 3,
                             .bytes = 8,
                             .ack_req = false,
                             .solicited = true});
  bench.Expect(last, With(Write(last, 0x10000 + kMtu), CompletionOf(posted, cqe, true)));
}

TEST(Responder, AWriteOfNothingWithImmediateNeedsAReceiveAndNoRight) {
  Ready bench({.remote_write = false});
  const auto token = TokenOf({.opcode = BthOpcode::kRcRdmaWriteOnlyWithImmediate, .bytes = 0, .rkey = kBadRkey});
  bench.Expect(token, NotReady(kFirstPsn, 0));
  const Posted posted = bench.host.Post(kQpn, {});
  bench.Expect(token, With(Ack(kFirstPsn, 1), CompletionOf(posted,
                                                           {.opcode = IbWcOpcode::kRecvRdmaWithImm,
                                                            .imm_data = {0x11, 0x22, 0x33, 0x44},
                                                            .wc_flags = spec::IbWcFlags::kWithImm},
                                                           false)));
  EXPECT_EQ(bench.check.count, 0u);
}

TEST(Responder, ASendOfNothingTakesAReceive) {
  Ready bench;
  const Posted first = bench.host.Post(kQpn, {});
  const Posted second = bench.host.Post(kQpn, {Host::Element(0, 10, kBadLkey)});
  bench.Expect(TokenOf({.opcode = BthOpcode::kRcSendOnly, .bytes = 0}), Success(first, 0, Ack(kFirstPsn, 1)));
  bench.Expect(TokenOf({.opcode = BthOpcode::kRcSendOnly, .psn = kFirstPsn + 1, .bytes = 0}),
               Success(second, 0, Ack(kFirstPsn + 1, 2)));
  EXPECT_EQ(bench.check.count, 0u);
}

TEST(Responder, AMessageFillsTheElementsInOrder) {
  Ready bench;
  // Borders inside of packets, at their end, and elements of nothing, whose key nobody looks at.
  const Posted posted =
      bench.host.Post(kQpn, {Host::Element(0, 0, kBadLkey), Host::Element(0x1000, 10), Host::Element(0x3001, kMtu - 20),
                             Host::Element(0, 0, kBadLkey), Host::Element(0x5000, 10), Host::Element(0, 0, kBadLkey),
                             Host::Element(0x7000, 3 * kMtu), Host::Element(0, 1, kBadLkey)});
  const auto first = TokenOf({.opcode = BthOpcode::kRcSendFirst, .bytes = kMtu, .ack_req = false});
  bench.Expect(first, {Scatter(first, 0, 0x1000, 10, kMore), Scatter(first, 10, 0x3001, kMtu - 20, kMore),
                       Scatter(first, kMtu - 10, 0x5000, 10)});
  const auto middle = TokenOf({.opcode = BthOpcode::kRcSendMiddle, .psn = kFirstPsn + 1, .bytes = kMtu});
  bench.Expect(middle, Scatter(middle, 0, 0x7000, kMtu, Ack(kFirstPsn + 1, 0)));
  const auto last = TokenOf({.opcode = BthOpcode::kRcSendLast, .psn = kFirstPsn + 2, .bytes = 33});
  bench.Expect(last, Scatter(last, 0, 0x7000 + kMtu, 33, Success(posted, 2 * kMtu + 33, Ack(kFirstPsn + 2, 1))));
  // One question for the receive, one for each element behind the first that was needed.
  ASSERT_EQ(bench.host.asked.size(), 7u);
  for (size_t i = 1; i < 7; ++i) {
    EXPECT_EQ(bench.host.asked[i],
              (spec::ReceiveRequest{.qpn = kQpn, .is_element = true, .address = 0x7000'0000 + 16 * i}));
  }
}

TEST(Responder, AMessageEndsWhereItsElementsDo) {
  Ready bench;
  const Posted posted = bench.host.Post(kQpn, {Host::Element(0x1000, 3), Host::Element(0x2000, kMtu)});
  const auto first = TokenOf({.opcode = BthOpcode::kRcSendFirst, .bytes = kMtu, .ack_req = false});
  bench.Expect(first, {Scatter(first, 0, 0x1000, 3, kMore), Scatter(first, 3, 0x2000, kMtu - 3)});
  const auto last = TokenOf({.opcode = BthOpcode::kRcSendLast, .psn = kFirstPsn + 1, .bytes = 3});
  bench.Expect(last, Scatter(last, 0, 0x2000 + kMtu - 3, 3, Success(posted, kMtu + 3, Ack(kFirstPsn + 1, 1))));
}

TEST(Responder, MessagesOfTwoQpsDoNotMix) {
  Ready bench;
  bench.Configure({.qpn = 6}, IbQpState::kRts, 100);
  const Posted five = bench.host.Post(5, {Host::Element(0x1000, kMtu + 5), Host::Element(0x3000, 5)});
  bench.host.Post(6, {Host::Element(0x8000, kMtu), Host::Element(0xa000, 100)});
  const auto first5 = TokenOf({.opcode = BthOpcode::kRcSendFirst, .bytes = kMtu, .ack_req = false});
  bench.Expect(first5, Scatter(first5, 0, 0x1000, kMtu));
  const auto first6 =
      TokenOf({.opcode = BthOpcode::kRcSendFirst, .psn = 100, .bytes = kMtu, .ack_req = false, .qpn = 6});
  bench.Expect(first6, Scatter(first6, 0, 0x8000, kMtu));
  const auto last5 = TokenOf({.opcode = BthOpcode::kRcSendLast, .psn = kFirstPsn + 1, .bytes = 10});
  bench.Expect(last5, {Scatter(last5, 0, 0x1000 + kMtu, 5, kMore),
                       Scatter(last5, 5, 0x3000, 5, Success(five, kMtu + 10, Ack(kFirstPsn + 1, 1)))});
  const auto middle6 =
      TokenOf({.opcode = BthOpcode::kRcSendMiddle, .psn = 101, .bytes = kMtu, .ack_req = false, .qpn = 6});
  bench.frame.tokens.push_back(middle6);
  ASSERT_EQ(bench.bench.RunOut(100), "");
  const auto out = Bench::Take(bench.places);
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[0], Scatter(middle6, 0, 0xa000, 100, kMore));
}

TEST(Responder, WithoutAReceiveThePeerIsToldToComeAgain) {
  for (const auto opcode : {BthOpcode::kRcSendOnly, BthOpcode::kRcRdmaWriteOnlyWithImmediate}) {
    Ready bench;
    const auto token = TokenOf({.opcode = opcode, .ack_req = false});
    bench.Expect(token, NotReady(kFirstPsn, 0));
    // What is behind it is dropped in silence, until it comes again.
    bench.Expect(TokenOf({.psn = kFirstPsn + 1}), kDropped);
    bench.Expect(TokenOf({.psn = kFirstPsn - 1}), Ack(kFirstPsn - 1, 0));
    bench.Expect(token, NotReady(kFirstPsn, 0));
    bench.Expect(TokenOf({.psn = kFirstPsn + 1}), kDropped);
    const Posted posted = bench.host.Post(kQpn, {Host::Element(0x9000, 64)});
    bench.frame.tokens.push_back(token);
    bench.RunOut();
    const auto out = Bench::Take(bench.places);
    ASSERT_EQ(out.size(), 1u);
    EXPECT_EQ(out[0].completion.head, posted.head);
    EXPECT_NE(out[0].bytes0, 0u);
    EXPECT_FALSE(out[0].has_answer);
    bench.Expect(TokenOf({.psn = kFirstPsn + 1, .bytes = 0}), Ack(kFirstPsn + 1, 2));
    bench.Expect(TokenOf({.psn = kFirstPsn + 3}), Answer(kFirstPsn + 2, AethSyndrome::kNakPsnSequenceError, 2));
    bench.ExpectFailures({});
  }
}

TEST(Responder, AWriteWithImmediateWithoutAReceiveKeepsItsMessage) {
  Ready bench;
  const auto first = TokenOf({.opcode = BthOpcode::kRcRdmaWriteFirst, .bytes = kMtu, .dma_length = kMtu + 8});
  bench.Expect(first, Write(first, 0x10000, Ack(kFirstPsn, 0)));
  const auto last = TokenOf({.opcode = BthOpcode::kRcRdmaWriteLastWithImmediate, .psn = kFirstPsn + 1, .bytes = 8});
  bench.Expect(last, NotReady(kFirstPsn + 1, 0));
  bench.host.Post(kQpn, {});
  bench.frame.tokens.push_back(last);
  bench.RunOut();
  const auto out = Bench::Take(bench.places);
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].address0, Write(last, 0x10000 + kMtu).address0);
  EXPECT_EQ(out[0].answer, Ack(kFirstPsn + 1, 1).answer);
}

TEST(Responder, AWriteWithImmediateThatIsRefusedTakesNoReceive) {
  Ready bench;
  bench.host.Post(kQpn, {});
  bench.Expect(TokenOf({.opcode = BthOpcode::kRcRdmaWriteOnlyWithImmediate, .rkey = kBadRkey}),
               Answer(kFirstPsn, AethSyndrome::kNakRemoteAccessError, 0));
  EXPECT_EQ(bench.request.count, 0u);
  bench.ExpectFailures({Failure(RdmaEventType::kQpAccessErr, AethSyndrome::kNakRemoteAccessError)});
}

TEST(Responder, AReceiveThatCannotBeReadEndsTheConnection) {
  for (const auto opcode : {BthOpcode::kRcSendOnly, BthOpcode::kRcRdmaWriteOnlyWithImmediate}) {
    for (const auto code : {RdmaError::kBadWqe, RdmaError::kBadDescriptor, RdmaError::kQueueDmaError}) {
      Ready bench;
      const Posted posted = bench.host.Post(kQpn, {}, code);
      bench.Expect(TokenOf({.opcode = opcode}), Failed(posted, IbWcStatus::kLocQpOpErr, static_cast<uint32_t>(code),
                                                       Answer(kFirstPsn, AethSyndrome::kNakRemoteOperationalError, 0)));
      bench.ExpectFailures({Failure(RdmaEventType::kQpFatal, code)});
      bench.Expect(TokenOf({.bytes = 0}), kDropped);
    }
    // A queue that is broken has no work request that could complete.
    Ready bench;
    bench.host.broken[kQpn] = true;
    bench.Expect(TokenOf({.opcode = opcode}), Answer(kFirstPsn, AethSyndrome::kNakRemoteOperationalError, 0));
    bench.ExpectFailures({Failure(RdmaEventType::kQpFatal, AethSyndrome::kNakRemoteOperationalError)});
  }
}

TEST(Responder, AnElementThatCannotBeReadEndsTheConnection) {
  Ready bench;
  const Posted posted = bench.host.Post(kQpn, {Host::Element(0x9000, 60), Host::Element(0xa000, 60)});
  bench.request.on_token = [&](Cycle, const spec::ReceiveRequest& asked) {
    bench.host.elements.clear();
    bench.receive.tokens.push_back(bench.host.Answer(asked));
    if (!asked.is_element) bench.host.elements.clear();
  };
  const auto token = TokenOf({.opcode = BthOpcode::kRcSendOnly});
  bench.Expect(token, {Scatter(token, 0, 0x9000, 60, kMore),
                       Failed(posted, IbWcStatus::kLocQpOpErr, static_cast<uint32_t>(RdmaError::kQueueDmaError),
                              Answer(kFirstPsn, AethSyndrome::kNakRemoteOperationalError, 0))});
  bench.ExpectFailures({Failure(RdmaEventType::kQpFatal, RdmaError::kQueueDmaError)});
}

TEST(Responder, AnElementsKeyIsCheckedForEveryPieceOfAMessage) {
  const auto nak = Answer(kFirstPsn, AethSyndrome::kNakRemoteOperationalError, 0);
  for (const uint32_t key : {kBadLkey, kRkey}) {
    Ready bench;
    const Posted posted = bench.host.Post(kQpn, {Host::Element(0x9000, 64, key)});
    bench.Expect(TokenOf({.opcode = BthOpcode::kRcSendOnly}),
                 Failed(posted, IbWcStatus::kLocProtErr, kOperational, nak));
    bench.ExpectFailures({Failure(RdmaEventType::kQpFatal, AethSyndrome::kNakRemoteOperationalError)});
  }
  Ready bench;
  const Posted posted = bench.host.Post(kQpn, {Host::Element(0x9000, 60), Host::Element(0xa000, 60, kBadLkey)});
  const auto token = TokenOf({.opcode = BthOpcode::kRcSendOnly});
  bench.Expect(token,
               {Scatter(token, 0, 0x9000, 60, kMore), Failed(posted, IbWcStatus::kLocProtErr, kOperational, nak)});
  bench.ExpectFailures({Failure(RdmaEventType::kQpFatal, AethSyndrome::kNakRemoteOperationalError)});
  bench.Expect(TokenOf({.bytes = 0}), kDropped);
  // The receive is gone: ERR has nothing left to flush.
  bench.SetState(IbQpState::kErr);
  bench.ExpectPlaces({});
}

TEST(Responder, AnElementsKeyIsCheckedWithEveryPacket) {
  Ready later;
  const Posted posted = later.host.Post(kQpn, {Host::Element(0x9000, 2 * kMtu)});
  const auto first = TokenOf({.opcode = BthOpcode::kRcSendFirst, .bytes = kMtu, .ack_req = false});
  later.Expect(first, Scatter(first, 0, 0x9000, kMtu));
  later.check.on_token = [&](Cycle, const spec::MemoryCheck& asked) {
    EXPECT_EQ(asked.key, kLkey);
    EXPECT_EQ(asked.address, 0x9000u + kMtu);
    EXPECT_EQ(asked.bytes, 8u);
    later.memory.tokens.push_back({.status = MemoryStatus::kBounds});
  };
  later.Expect(TokenOf({.opcode = BthOpcode::kRcSendLast, .psn = kFirstPsn + 1, .bytes = 8}),
               Failed(posted, IbWcStatus::kLocProtErr, kOperational,
                      Answer(kFirstPsn + 1, AethSyndrome::kNakRemoteOperationalError, 0)));
}

TEST(Responder, AMessageThatIsLongerThanItsElementsEndsTheConnection) {
  constexpr auto kInvalid = static_cast<uint32_t>(AethSyndrome::kNakInvalidRequest);
  Ready bench;
  const Posted posted = bench.host.Post(kQpn, {Host::Element(0x9000, 32), Host::Element(0xa000, 31)});
  const auto token = TokenOf({.opcode = BthOpcode::kRcSendOnly});
  bench.Expect(token, {Scatter(token, 0, 0x9000, 32, kMore), Scatter(token, 32, 0xa000, 31, kMore),
                       Failed(posted, IbWcStatus::kLocLenErr, kInvalid,
                              Answer(kFirstPsn, AethSyndrome::kNakInvalidRequest, 0))});
  bench.ExpectFailures({Failure(RdmaEventType::kQpReqErr, AethSyndrome::kNakInvalidRequest)});
  bench.Expect(TokenOf({.bytes = 0}), kDropped);
}

TEST(Responder, AReceiveWithoutElementsHoldsNothing) {
  constexpr auto kInvalid = static_cast<uint32_t>(AethSyndrome::kNakInvalidRequest);
  const auto token = TokenOf({.opcode = BthOpcode::kRcSendOnly});
  Ready none;
  const Posted posted = none.host.Post(kQpn, {});
  none.Expect(token,
              Failed(posted, IbWcStatus::kLocLenErr, kInvalid, Answer(kFirstPsn, AethSyndrome::kNakInvalidRequest, 0)));
}

TEST(Responder, ASecondPacketThatIsTooMuchEndsTheConnection) {
  constexpr auto kInvalid = static_cast<uint32_t>(AethSyndrome::kNakInvalidRequest);
  Ready later;
  const Posted posted = later.host.Post(kQpn, {Host::Element(0x9000, kMtu), Host::Element(0, 0)});
  const auto first = TokenOf({.opcode = BthOpcode::kRcSendFirst, .bytes = kMtu, .ack_req = false});
  later.Expect(first, Scatter(first, 0, 0x9000, kMtu));
  later.Expect(
      TokenOf({.opcode = BthOpcode::kRcSendLast, .psn = kFirstPsn + 1, .bytes = 1}),
      Failed(posted, IbWcStatus::kLocLenErr, kInvalid, Answer(kFirstPsn + 1, AethSyndrome::kNakInvalidRequest, 0)));
  later.SetState(IbQpState::kErr);
  later.ExpectPlaces({});
}

TEST(Responder, AGapOrADuplicateInsideASendKeepsTheReceive) {
  Ready bench;
  const Posted posted = bench.host.Post(kQpn, {Host::Element(0x9000, 5000)});
  const auto first = TokenOf({.opcode = BthOpcode::kRcSendFirst, .bytes = kMtu, .ack_req = false});
  bench.Expect(first, Scatter(first, 0, 0x9000, kMtu));
  bench.Expect(first, Ack(kFirstPsn, 0));
  bench.Expect(TokenOf({.opcode = BthOpcode::kRcSendOnly, .psn = kFirstPsn + 2}),
               Answer(kFirstPsn + 1, AethSyndrome::kNakPsnSequenceError, 0));
  const auto last = TokenOf({.opcode = BthOpcode::kRcSendLast, .psn = kFirstPsn + 1, .bytes = 8});
  bench.Expect(last, Scatter(last, 0, 0x9000 + kMtu, 8, Success(posted, kMtu + 8, Ack(kFirstPsn + 1, 1))));
}

// --- Flush

TEST(Responder, ErrFlushesWhatAMessageHoldsAndThenEveryReceive) {
  Ready bench;
  std::vector<spec::RxPlace> flushed;
  for (unsigned i = 0; i < 5; ++i) flushed.push_back(Flushed(bench.host.Post(kQpn, {Host::Element(0x9000, 5000)})));
  const auto first = TokenOf({.opcode = BthOpcode::kRcSendFirst, .bytes = kMtu, .ack_req = false});
  bench.Expect(first, Scatter(first, 0, 0x9000, kMtu));
  bench.SetState(IbQpState::kErr);
  bench.ExpectPlaces(flushed);
  // What is posted later, when it is rung.
  const Posted later = bench.host.Post(kQpn, {});
  bench.ExpectPlaces({});
  bench.Ring();
  bench.ExpectPlaces({Flushed(later)});
  bench.ExpectFailures({});
  // Said once more, it finds nothing.
  bench.SetState(IbQpState::kErr);
  bench.ExpectPlaces({});
}

TEST(Responder, AnInvalidRequestInsideASendFlushesTheReceiveWhenErrComes) {
  Ready bench;
  const Posted held = bench.host.Post(kQpn, {Host::Element(0x9000, 5000)});
  const Posted next = bench.host.Post(kQpn, {});
  const auto first = TokenOf({.opcode = BthOpcode::kRcSendFirst, .bytes = kMtu, .ack_req = false});
  bench.Expect(first, Scatter(first, 0, 0x9000, kMtu));
  bench.Expect(TokenOf({.opcode = BthOpcode::kRcRdmaWriteLast, .psn = kFirstPsn + 1}),
               Answer(kFirstPsn + 1, AethSyndrome::kNakInvalidRequest, 0));
  bench.ExpectFailures({Failure(RdmaEventType::kQpReqErr, AethSyndrome::kNakInvalidRequest)});
  bench.Ring();
  bench.ExpectPlaces({});  // not yet in force
  bench.SetState(IbQpState::kErr);
  bench.ExpectPlaces({Flushed(held), Flushed(next)});
}

TEST(Responder, AWriteUnderWayHoldsNothing) {
  Ready bench;
  const auto first = TokenOf({.opcode = BthOpcode::kRcRdmaWriteFirst, .bytes = kMtu, .dma_length = 2 * kMtu});
  bench.Expect(first, Write(first, 0x10000, Ack(kFirstPsn, 0)));
  bench.SetState(IbQpState::kErr);
  bench.ExpectPlaces({});
}

TEST(Responder, AFlushPassesBadWorkRequestsAndEndsAtABrokenQueue) {
  Ready bench;
  const Posted bad = bench.host.Post(kQpn, {}, RdmaError::kBadWqe);
  const Posted good = bench.host.Post(kQpn, {});
  bench.SetState(IbQpState::kErr);
  bench.ExpectPlaces({Flushed(bad), Flushed(good)});
  bench.host.broken[kQpn] = true;
  bench.Ring();
  bench.ExpectPlaces({});
}

TEST(Responder, ResetForgetsTheReceiveThatAMessageHolds) {
  Ready bench;
  bench.host.Post(kQpn, {Host::Element(0x9000, 5000)});
  const auto first = TokenOf({.opcode = BthOpcode::kRcSendFirst, .bytes = kMtu, .ack_req = false});
  bench.Expect(first, Scatter(first, 0, 0x9000, kMtu));
  bench.SetState(IbQpState::kReset, true);
  bench.ExpectPlaces({});
  EXPECT_EQ(bench.request.count, 1u);
  // Without a load before it.
  bench.SetState(IbQpState::kErr);
  bench.ExpectPlaces({});
  EXPECT_EQ(bench.request.count, 2u);
}

TEST(Responder, OnlyRingsOfReceiveQueuesInErrAreLookedAt) {
  Ready bench;
  bench.host.Post(kQpn, {});
  for (unsigned vq_index = 0; vq_index < 64; ++vq_index) {
    bench.doorbell.tokens.push_back({.vq_index = static_cast<uint16_t>(vq_index)});
  }
  bench.ExpectPlaces({});
  EXPECT_EQ(bench.request.count, 0u);
  bench.SetState(IbQpState::kErr);
  bench.RunOut();
  Bench::Take(bench.places);
  bench.RunOut();
  const auto asked = bench.request.count;
  for (unsigned vq_index = 0; vq_index < 64; ++vq_index) {
    if (vq_index != kFirstReceiveQueue + 2 * kQpn) {
      bench.doorbell.tokens.push_back({.vq_index = static_cast<uint16_t>(vq_index)});
    }
  }
  bench.ExpectPlaces({});
  EXPECT_EQ(bench.request.count, asked);
}

TEST(Responder, QueueNumbersFollowTheNegotiatedPairs) {
  Ready bench;
  bench.mq.on = true;
  bench.SetState(IbQpState::kErr);
  bench.RunOut();
  Posted posted = bench.host.Post(kQpn, {});
  constexpr uint16_t kMore = 2 * (kNetQueuePairs - 1);
  bench.doorbell.tokens.push_back({.vq_index = static_cast<uint16_t>(kFirstReceiveQueue + kMore + 2 * kQpn)});
  auto expected = Flushed(posted);
  expected.completion.vq_index = static_cast<uint16_t>(expected.completion.vq_index + kMore);
  bench.ExpectPlaces({expected});
}

TEST(Responder, FramesOfOthersAreServedBetweenFlushes) {
  Ready bench;
  bench.Configure({.qpn = 6}, IbQpState::kRts, 100);
  for (unsigned i = 0; i < 10; ++i) bench.host.Post(kQpn, {});
  for (uint32_t i = 0; i < 10; ++i) bench.Send({.psn = 100 + i, .bytes = 0, .qpn = 6});
  bench.SetState(IbQpState::kErr);
  bench.RunOut();
  bench.RunOut();
  bench.RunOut();
  bench.RunOut();
  const auto out = Bench::Take(bench.places);
  ASSERT_EQ(out.size(), 20u);
  // From the first flush on, in turn.
  const auto first = std::find_if(out.begin(), out.end(), [](const auto& place) { return place.no_frame; });
  ASSERT_LT(first - out.begin(), 3);
  for (auto place = first; place < first + 14; ++place) EXPECT_EQ(place->no_frame, (place - first) % 2 == 0);
}

TEST(Responder, ErrWhileAFrameWaitsCompletesItsReceiveOnce) {
  // ERR comes in any cycle of a frame that takes a receive, and of one that goes on with it.
  for (unsigned when = 0; when < 30; ++when) {
    for (const auto opcode : {BthOpcode::kRcSendFirst, BthOpcode::kRcSendOnly}) {
      Ready bench;
      bench.receive.rate = bench.memory.rate = 5;
      bench.host.Post(kQpn, {Host::Element(0x9000, 500), Host::Element(0xa000, 5000)});
      bench.host.Post(kQpn, {});
      bench.Send({.opcode = opcode, .bytes = kMtu});
      ASSERT_EQ(bench.bench.Run(when), "");
      bench.SetState(IbQpState::kErr);
      ASSERT_EQ(bench.bench.Run(400), "");
      std::vector<spec::Completion> completions;
      for (const auto& place : Bench::Take(bench.places)) {
        if (place.has_completion) completions.push_back(place.completion);
      }
      ASSERT_EQ(completions.size(), 2u);
      EXPECT_EQ(completions[0].head, 1u);
      EXPECT_EQ(completions[1].head, 2u);
      EXPECT_TRUE(bench.block.IsIdle());
    }
  }
}

TEST(Responder, ASendAsksTwoCyclesAfterItsTurnAndAgainTwoAfterTheReceive) {
  Ready bench;
  bench.request.on_token = nullptr;
  bench.check.on_token = nullptr;
  constexpr uint64_t kLatency = 1 + Responder::kDecisionLatency + 1;
  bench.Send({.opcode = BthOpcode::kRcSendOnly});
  ASSERT_EQ(bench.bench.Run(kLatency), "");
  EXPECT_EQ(bench.request.count, 0u);
  ASSERT_EQ(bench.bench.Run(1), "");
  EXPECT_EQ(bench.request.count, 1u);
  ASSERT_EQ(bench.bench.Run(10), "");
  spec::Receive receive{.num_sge = 1};
  Host::Element(0x9000, 64).Encode(receive.sge);
  bench.receive.tokens.push_back(receive);
  // In its slice, taken, looked at, in the register.
  ASSERT_EQ(bench.bench.Run(3), "");
  EXPECT_EQ(bench.check.count, 0u);
  ASSERT_EQ(bench.bench.Run(1), "");
  EXPECT_EQ(bench.check.count, 1u);
  bench.memory.tokens.push_back({.status = MemoryStatus::kOk, .address0 = 1, .bytes0 = 64});
  ASSERT_EQ(bench.bench.Run(2), "");
  EXPECT_EQ(bench.place.count, 0u);
  ASSERT_EQ(bench.bench.Run(1), "");
  EXPECT_EQ(bench.place.count, 1u);

  // A flush: the pulse's register, the set (2), the turn, the tables.
  bench.SetState(IbQpState::kErr);
  ASSERT_EQ(bench.bench.Run(1 + 2 + 1 + Responder::kFlushLatency), "");
  EXPECT_EQ(bench.request.count, 1u);
  ASSERT_EQ(bench.bench.Run(1), "");
  EXPECT_EQ(bench.request.count, 2u);
  bench.receive.tokens.push_back(receive);
  ASSERT_EQ(bench.bench.Run(3), "");
  EXPECT_EQ(bench.place.count, 1u);
  ASSERT_EQ(bench.bench.Run(1), "");
  EXPECT_EQ(bench.place.count, 2u);
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
    bool dead = false, gap = false, inside = false, send = false;
    uint32_t psn = 0, msn = 0, rkey = 0, received = 0;
    uint64_t at = 0, left = 0;
    Posted held{};  // of a SEND under way
    size_t element = 0;
    uint32_t used = 0;  // of the element
  };
  std::array<Half, kQps> halves{};
  std::array<bool, kQps> may_write{};
  std::array<std::deque<Posted>, kQps> posted{};
  std::array<bool, kQps> broken{};
  std::vector<spec::RxPlace> places{};
  std::vector<spec::RxAck> acks{};
  std::vector<spec::QpFailure> failures{};

  void Frame(const RxToken& t) {
    if (const auto last = Decide(t)) places.push_back(*last);
  }
  // What ERR flushes.
  std::vector<spec::RxPlace> Flush(uint32_t qpn) {
    std::vector<spec::RxPlace> result;
    const Half& h = halves[qpn];
    if (h.inside && h.send) result.push_back(Flushed(h.held, qpn));
    if (!broken[qpn]) {
      for (const auto& one : posted[qpn]) result.push_back(Flushed(one, qpn));
    }
    posted[qpn].clear();
    return result;
  }

 private:
  spec::RxPlace Refuse(const RxToken& t, RdmaEventType event, AethSyndrome syndrome,
                       std::optional<uint32_t> code = {}) {
    Half& h = halves[t.bth.dest_qp];
    h.dead = true;
    failures.push_back(
        {.qpn = t.bth.dest_qp, .event_type = event, .code = code.value_or(static_cast<uint32_t>(syndrome))});
    return Answer(t.bth.psn, syndrome, h.msn, t.bth.dest_qp);
  }
  // Likewise, and the receive completes.
  spec::RxPlace Fail(const RxToken& t, const Posted& receive, IbWcStatus status, RdmaEventType event,
                     AethSyndrome syndrome, std::optional<uint32_t> code = {}) {
    halves[t.bth.dest_qp].inside = false;
    const auto place = Refuse(t, event, syndrome, code);
    return Failed(receive, status, code.value_or(static_cast<uint32_t>(syndrome)), place, t.bth.dest_qp);
  }
  // The next receive; none, and the place that says so.
  std::optional<Posted> Receive(const RxToken& t, spec::RxPlace& place) {
    const uint32_t qpn = t.bth.dest_qp;
    if (broken[qpn]) {
      place = Refuse(t, RdmaEventType::kQpFatal, AethSyndrome::kNakRemoteOperationalError);
      return {};
    }
    if (posted[qpn].empty()) {
      halves[qpn].gap = true;
      place = NotReady(t.bth.psn, halves[qpn].msn);
      place.answer.qpn = qpn;
      return {};
    }
    const Posted receive = posted[qpn].front();
    posted[qpn].pop_front();
    if (receive.code == RdmaError::kOk) return receive;
    place = Fail(t, receive, IbWcStatus::kLocQpOpErr, RdmaEventType::kQpFatal, AethSyndrome::kNakRemoteOperationalError,
                 static_cast<uint32_t>(receive.code));
    return {};
  }
  std::optional<spec::RxPlace> Decide(const RxToken& t) {
    const uint32_t qpn = t.bth.dest_qp;
    uint8_t peer[16];
    SetPeer(qpn, peer);
    if (t.verdict != spec::RxVerdict::kRoce || qpn >= kQps) return kDropped;
    Half& h = halves[qpn];
    const auto op = t.bth.opcode;
    const auto code = static_cast<uint8_t>(op);
    if (h.dead || code >= 0x20 || t.bth.pkey != spec::kPkeyDefault) return kDropped;
    if (!std::equal(peer, peer + 16, t.ip_source)) return kDropped;
    if (op == BthOpcode::kRcAcknowledge) {
      if (t.payload_bytes == 0) {
        acks.push_back({.qpn = qpn,
                        .psn = t.bth.psn,
                        .syndrome = t.extension[0],
                        .msn = static_cast<uint32_t>(t.extension[1] << 16 | t.extension[2] << 8 | t.extension[3])});
      }
      return kDropped;
    }
    if ((code >= 0x0d && code <= 0x10) || op == BthOpcode::kRcAtomicAcknowledge) return kDropped;
    const uint32_t distance = Psn(t.bth.psn - h.psn);
    if (distance >= 0x800000) {
      const bool write_or_send =
          code <= 0x0b || op == BthOpcode::kRcSendLastWithInvalidate || op == BthOpcode::kRcSendOnlyWithInvalidate;
      return write_or_send ? Answer(h.psn - 1, AethSyndrome::kAckNoCredits, h.msn, qpn) : kDropped;
    }
    if (distance != 0) {
      if (std::exchange(h.gap, true)) return kDropped;
      return Answer(h.psn, AethSyndrome::kNakPsnSequenceError, h.msn, qpn);
    }
    if (code > 0x0b) return Refuse(t, RdmaEventType::kQpReqErr, AethSyndrome::kNakInvalidRequest);
    // Of both operations: first, middle, last, last with immediate, only, only with immediate.
    const bool send = code < 6;
    const bool first = code % 6 == 0, middle = code % 6 == 1, only = code % 6 >= 4, ends = code % 6 >= 2;
    const bool immediate = code % 6 == 3 || code % 6 == 5;
    bool fits = (first || middle) ? t.payload_bytes == kMtu : t.payload_bytes <= kMtu;
    fits = fits && (only || t.payload_bytes != 0);
    uint64_t at = h.at, left = h.left;
    uint32_t rkey = h.rkey;
    if (!send && (first || only)) {
      const auto reth = spec::Reth::Decode(t.extension);
      at = reth.virtual_address;
      rkey = reth.rkey;
      left = reth.dma_length;
    }
    if (!send) fits = fits && (ends ? left == t.payload_bytes : left > t.payload_bytes);
    const bool order = h.inside ? !first && !only && send == h.send : first || only;
    if (!order || !fits) return Refuse(t, RdmaEventType::kQpReqErr, AethSyndrome::kNakInvalidRequest);

    spec::RxPlace place;
    Posted receive;
    if (send) {
      if (first || only) {
        const auto got = Receive(t, place);
        if (!got) return place;
        h.held = *got;
        h.element = h.used = 0;
        h.inside = h.send = true;
      }
      receive = h.held;
      for (uint32_t done = 0; done < t.payload_bytes;) {
        if (h.element == receive.elements.size()) {
          return Fail(t, receive, IbWcStatus::kLocLenErr, RdmaEventType::kQpReqErr, AethSyndrome::kNakInvalidRequest);
        }
        const auto& element = receive.elements[h.element];
        const uint32_t bytes = std::min(t.payload_bytes - done, element.length - h.used);
        if (bytes != 0 && element.lkey != kLkey) {
          return Fail(t, receive, IbWcStatus::kLocProtErr, RdmaEventType::kQpFatal,
                      AethSyndrome::kNakRemoteOperationalError);
        }
        if (bytes != 0) {
          place = Scatter(t, done, element.addr + h.used, bytes);
          if (done + bytes != t.payload_bytes) {
            place.more = true;
            places.push_back(place);
          }
        }
        done += bytes;
        h.used += bytes;
        if (done < t.payload_bytes) {
          ++h.element;
          h.used = 0;
        }
      }
    } else {
      if (t.payload_bytes != 0 && (!may_write[qpn] || rkey != kRkey)) {
        return Refuse(t, RdmaEventType::kQpAccessErr, AethSyndrome::kNakRemoteAccessError);
      }
      if (immediate) {
        const auto got = Receive(t, place);
        if (!got) return place;
        receive = *got;
      }
      if (t.payload_bytes != 0) place = Write(t, at);
      h.at = at + t.payload_bytes;
      h.left = left - t.payload_bytes;
      h.rkey = rkey;
    }
    h.received = (first || only ? 0 : h.received) + t.payload_bytes;
    h.send = send;
    h.inside = !ends;
    h.gap = false;
    h.msn = Psn(h.msn + ends);
    h.psn = Psn(h.psn + 1);
    if (t.bth.ack_req) {
      const auto answer = Answer(t.bth.psn, AethSyndrome::kAckNoCredits, h.msn, qpn);
      place.has_answer = true;
      place.answer = answer.answer;
    }
    if (ends && (send || immediate)) {
      spec::RdmaCqReq cqe{.opcode = send ? IbWcOpcode::kRecv : IbWcOpcode::kRecvRdmaWithImm, .byte_len = h.received};
      if (immediate) {
        std::copy_n(t.extension + (only && !send ? 16 : 0), 4, cqe.imm_data);
        cqe.wc_flags = 2;
      }
      place = With(place, CompletionOf(receive, cqe, t.bth.solicited_event, qpn));
    }
    return place;
  }
};

// A host's receives: nearly always right and long enough.
void PostOne(std::mt19937_64& random, Host& host, uint32_t qpn) {
  std::vector<spec::RdmaSge> elements;
  for (auto count = random() % 5; count != 0; --count) {
    const auto length = static_cast<uint32_t>(random() % 4 == 0 ? 0 : random() % (random() % 2 ? 40 : 2 * kMtu));
    elements.push_back(Host::Element(random(), length, random() % 60 == 0 ? kBadLkey : kLkey));
  }
  if (random() % 24 != 0) elements.push_back(Host::Element(random(), 8 * kMtu));
  host.Post(qpn, elements, random() % 60 == 0 ? RdmaError::kBadWqe : RdmaError::kOk);
}

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
    Packet packet{.psn = psn_[qpn],
                  .ack_req = One(2),
                  .qpn = qpn,
                  .address = random_(),
                  .solicited = One(3),
                  .immediate = static_cast<uint32_t>(random_())};
    uint32_t left = left_[qpn];
    const bool begins = left == 0;
    if (begins) {
      left = static_cast<uint32_t>(random_() % (One(2) ? kMtu + 1 : 6 * kMtu));
      packet.dma_length = left;
      send_[qpn] = One(2);
    }
    const bool ends = left <= kMtu;
    const unsigned position = ends ? (begins ? 4 : 2) + (One(3) ? 1 : 0) : begins ? 0 : 1;
    packet.opcode = static_cast<BthOpcode>(position + (send_[qpn] ? 0 : 6));
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
  std::array<bool, kQps> send_{};
};

struct Rates {
  unsigned frame, memory, check, place, ack, failure, receive = 16, request = 16;
};
constexpr Rates kRates[] = {
    {16, 16, 16, 16, 16, 16},    {16, 16, 16, 3, 16, 16},         {16, 2, 16, 16, 16, 16}, {3, 16, 16, 16, 16, 16},
    {16, 16, 3, 16, 16, 16},     {16, 16, 16, 16, 1, 16},         {16, 16, 16, 16, 16, 1}, {9, 9, 9, 9, 9, 9, 9, 9},
    {16, 16, 16, 16, 16, 16, 1}, {16, 16, 16, 16, 16, 16, 16, 2},
};

void SetRates(Bench& bench, const Rates& rates) {
  bench.frame.rate = rates.frame;
  bench.memory.rate = rates.memory;
  bench.check.rate = rates.check;
  bench.place.rate = rates.place;
  bench.ack.rate = rates.ack;
  bench.failure.rate = rates.failure;
  bench.receive.rate = rates.receive;
  bench.request.rate = rates.request;
}

// Until nothing moves any more.
std::string RunUntilIdle(Bench& bench) {
  for (unsigned quiet = 0; quiet < 4;) {
    if (std::string difference = bench.bench.RunOut(100); !difference.empty()) return difference;
    quiet = bench.block.IsIdle() ? quiet + 1 : 0;
  }
  return {};
}

TEST(Responder, DoesWhatTheReferenceDoesAtEveryRate) {
  std::map<std::string, uint64_t> seen;
  for (const Rates& rates : kRates) {
    Bench bench;
    SetRates(bench, rates);
    bench.load.rate = bench.table.rate = 16;
    Reference reference;
    uint64_t acks = 0;
    for (unsigned round = 0; round < 14; ++round) {
      std::array<uint32_t, kQps> psn{};
      for (uint32_t qpn = 0; qpn < kQps; ++qpn) {
        psn[qpn] = static_cast<uint32_t>(bench.random() & 0xffffff);
        reference.halves[qpn] = {.psn = psn[qpn]};
        reference.may_write[qpn] = bench.random() % 8 != 0;
        bench.host.queues[qpn].clear();
        for (auto count = bench.random() % 12; count != 0; --count) PostOne(bench.random, bench.host, qpn);
        bench.host.broken[qpn] = bench.random() % 32 == 0;
        reference.posted[qpn] = bench.host.queues[qpn];
        reference.broken[qpn] = bench.host.broken[qpn];
        bench.Configure({.qpn = qpn, .remote_write = reference.may_write[qpn]}, IbQpState::kRts, psn[qpn]);
      }
      bench.host.elements.clear();
      Peers peers(bench.random, psn);
      for (unsigned i = 0; i < 250; ++i) {
        bench.frame.tokens.push_back(peers.Next());
        reference.Frame(bench.frame.tokens.back());
      }
      ASSERT_EQ(RunUntilIdle(bench), "");
      const auto places = Bench::Take(bench.places);
      ASSERT_EQ(places.size(), reference.places.size());
      for (size_t i = 0; i < places.size(); ++i) {
        ASSERT_EQ(places[i], reference.places[i])
            << i << "\ngot      " << TokenText(places[i]) << "\nexpected " << TokenText(reference.places[i]);
        if (places[i].has_answer) ++seen["syndrome " + std::to_string(places[i].answer.extension[0])];
        if (places[i].has_completion) {
          const auto cqe = spec::RdmaCqReq::Decode(places[i].completion.cqe);
          ++seen["status " + std::string(spec::ToString(cqe.status))];
          ++seen["opcode " + std::string(spec::ToString(cqe.opcode))];
        }
        seen["more"] += places[i].more;
        seen["write"] += places[i].bytes0 != 0;
        seen["dropped"] += places[i] == kDropped;
      }
      acks += reference.acks.size();
      reference.places.clear();
      ASSERT_EQ(Bench::Take(bench.acks), std::exchange(reference.acks, {}));
      ASSERT_EQ(Bench::Take(bench.failures), std::exchange(reference.failures, {}));

      for (uint32_t qpn = 0; qpn < kQps; ++qpn) bench.qp_state.tokens.push_back({.qpn = qpn, .state = IbQpState::kErr});
      ASSERT_EQ(RunUntilIdle(bench), "");
      std::array<std::vector<spec::RxPlace>, kQps> flushed;
      for (const auto& place : Bench::Take(bench.places)) {
        flushed.at((place.completion.vq_index - kFirstReceiveQueue) / 2).push_back(place);
        ++seen["flush"];
      }
      for (uint32_t qpn = 0; qpn < kQps; ++qpn) ASSERT_EQ(flushed[qpn], reference.Flush(qpn)) << qpn;
    }
    EXPECT_GT(acks, 100u);
    EXPECT_GT(bench.idle.count, 0u);
  }
  // Nothing was left out.
  for (const unsigned syndrome : {0x1fu, 0x60u, 0x61u, 0x62u, 0x63u, 0x20u + kRnrTimer}) {
    EXPECT_GT(seen["syndrome " + std::to_string(syndrome)], 20u) << syndrome;
  }
  for (const auto* const what : {"status success", "status loc_len_err", "status loc_qp_op_err", "status loc_prot_err",
                                 "opcode recv", "opcode recv_rdma_with_imm"}) {
    EXPECT_GT(seen[what], 20u) << what;
  }
  for (const auto* const what : {"more", "write", "dropped", "flush"}) EXPECT_GT(seen[what], 1000u) << what;
}

TEST(Responder, EveryReceiveCompletesOnceAndInOrder) {
  for (const Rates& rates : kRates) {
    Bench bench;
    SetRates(bench, rates);
    bench.doorbell.rate = 8;
    std::array<std::vector<uint16_t>, kQps> heads;
    for (uint32_t qpn = 0; qpn < kQps; ++qpn) bench.Configure({.qpn = qpn}, IbQpState::kRts, 0);
    Peers peers(bench.random, {});
    for (unsigned i = 0; i < 300; ++i) {
      const auto qpn = static_cast<uint32_t>(bench.random() % kQps);
      if (bench.random() % 4 == 0) {
        PostOne(bench.random, bench.host, qpn);
        heads[qpn].push_back(bench.host.queues[qpn].back().head);
        bench.doorbell.tokens.push_back({.vq_index = static_cast<uint16_t>(kFirstReceiveQueue + 2 * qpn)});
      }
      for (unsigned n = 0; n < 3; ++n) bench.frame.tokens.push_back(peers.Next());
      if (bench.random() % 40 == 0) bench.qp_state.tokens.push_back({.qpn = qpn, .state = IbQpState::kErr});
      ASSERT_EQ(bench.bench.Run(bench.random() % 60), "");
    }
    for (uint32_t qpn = 0; qpn < kQps; ++qpn) bench.qp_state.tokens.push_back({.qpn = qpn, .state = IbQpState::kErr});
    ASSERT_EQ(RunUntilIdle(bench), "");
    std::array<std::vector<uint16_t>, kQps> completed;
    for (const auto& place : Bench::Take(bench.places)) {
      if (!place.has_completion) continue;
      completed.at((place.completion.vq_index - kFirstReceiveQueue) / 2).push_back(place.completion.head);
    }
    EXPECT_EQ(completed, heads);
  }
}

TEST(Responder, AgreesWithTheModelWhileEverythingChanges) {
  for (const Rates& rates : kRates) {
    Bench bench;
    SetRates(bench, rates);
    bench.table.rate = bench.qp_state.rate = bench.load.rate = bench.doorbell.rate = 1;
    bench.enable.rate = 15;
    // Whatever recv_queue says.
    bench.request.on_token = [&](Cycle, const spec::ReceiveRequest&) {
      spec::Receive receive;
      const auto what = bench.random() % 16;
      if (what < 3) receive.status = BufferStatus::kEmpty;
      if (what == 3) receive.status = BufferStatus::kFailed;
      if (what == 4) receive = {.status = BufferStatus::kFailed, .code = RdmaError::kBadWqe};
      if (what > 4) {
        receive.elements = bench.random();
        receive.num_sge = static_cast<uint8_t>(bench.random() % 4);
        Host::Element(bench.random(), static_cast<uint32_t>(bench.random() % (bench.random() % 2 ? 20 : 5000)))
            .Encode(receive.sge);
      }
      receive.head = static_cast<uint16_t>(bench.random());
      receive.wr_id = bench.random();
      bench.receive.tokens.push_back(receive);
    };
    for (uint32_t qpn = 0; qpn < kQps; ++qpn) {
      bench.table.tokens.push_front(ContextOf({.qpn = qpn}));
      bench.qp_state.tokens.push_front({.qpn = qpn, .state = IbQpState::kRts});
    }
    Peers peers(bench.random, {});
    for (unsigned i = 0; i < 3000; ++i) bench.frame.tokens.push_back(peers.Next());
    for (unsigned i = 0; i < 800; ++i) {
      const auto qpn = static_cast<uint32_t>(bench.random() % kQps);
      bench.load.tokens.push_back({.qpn = qpn, .psn = static_cast<uint32_t>(bench.random() % 200)});
      bench.doorbell.tokens.push_back({.vq_index = static_cast<uint16_t>(bench.random() % 64)});
      auto write = ContextOf({.qpn = qpn,
                              .type = bench.random() % 8 == 0 ? spec::IbQpType::kUc : spec::IbQpType::kRc,
                              .valid = bench.random() % 8 != 0,
                              .remote_write = bench.random() % 4 != 0});
      if (bench.random() % 4 == 0) write.table_id = spec::MgmtTable::kMr;
      bench.table.tokens.push_back(write);
      bench.qp_state.tokens.push_back(
          {.qpn = qpn,
           .state = static_cast<IbQpState>(bench.random() % 3 == 0 ? bench.random() % 7 : 3),
           .clear = bench.random() % 4 == 0});
    }
    bench.qp_state.rate = 2;
    ASSERT_EQ(bench.bench.RunOut(200), "");
    ASSERT_EQ(RunUntilIdle(bench), "");
    uint64_t frames = 0, flushed = 0;
    for (const auto& place : Bench::Take(bench.places)) {
      frames += !place.no_frame && !place.more;
      flushed += place.no_frame;
    }
    EXPECT_EQ(frames, 3000u);
    EXPECT_GT(flushed, 20u);
  }
}

TEST(Responder, EveryRingAndChangeOfStateInEveryCycle) {
  Bench bench;
  for (uint32_t qpn = 0; qpn < kQps; ++qpn) bench.Configure({.qpn = qpn}, IbQpState::kRts, 0);
  for (unsigned i = 0; i < 3000; ++i) {
    const auto qpn = static_cast<uint32_t>(bench.random() % 3);
    if (bench.random() % 4 == 0) bench.host.Post(qpn, {});
    bench.doorbell.tokens.push_back({.vq_index = static_cast<uint16_t>(kFirstReceiveQueue + 2 * qpn)});
    bench.qp_state.tokens.push_back({.qpn = qpn,
                                     .state = bench.random() % 2 ? IbQpState::kErr : IbQpState::kRts,
                                     .clear = bench.random() % 8 == 0});
    if (i % 3 == 0) bench.Send({.psn = 0, .bytes = 0, .qpn = qpn});
  }
  ASSERT_EQ(RunUntilIdle(bench), "");
  EXPECT_GT(bench.place.count, 1000u);
}

TEST(Responder, AResetInTrafficForgetsWhatIsUnderWay) {
  std::shared_ptr<RtlTop<Vresponder_16>> rtl;
  for (unsigned i = 0; i < 20; ++i) {
    Bench bench(rtl);
    rtl = bench.owner;
    bench.place.rate = bench.memory.rate = bench.receive.rate = 4;
    // Tables keep their contents; what firmware does anew is all that counts.
    for (uint32_t qpn = 0; qpn < kQps; ++qpn) {
      bench.Configure({.qpn = qpn}, IbQpState::kRts, 0);
      for (unsigned n = 0; n < 5; ++n) PostOne(bench.random, bench.host, qpn);
    }
    Peers peers(bench.random, {});
    for (unsigned n = 0; n < 200; ++n) bench.frame.tokens.push_back(peers.Next());
    for (uint32_t qpn = 0; qpn < kQps; ++qpn) bench.qp_state.tokens.push_back({.qpn = qpn, .state = IbQpState::kErr});
    bench.qp_state.rate = 1;
    ASSERT_EQ(bench.bench.Run(50 + bench.random() % 200), "");
  }
}

}  // namespace
}  // namespace vireo::verif
