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
#include "verif/common/context_bench.h"
#include "verif/common/level_bench.h"
#include "verif/harness/seed.h"
#include "verif/rdma/hold_bench.h"

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
constexpr uint32_t kReads = 4;
constexpr std::array<uint8_t, 6> kMac = {0x02, 0x13, 0x24, 0x35, 0x46, 0x57};
constexpr uint32_t kQkey = 0x11223344;

uint32_t Psn(uint32_t value) { return value & 0xffffff; }

// --- Stimuli

struct Qp {
  uint32_t qpn = kQpn;
  spec::IbQpType type = spec::IbQpType::kRc;
  spec::IbMtu mtu = spec::IbMtu::kMtu1024;
  bool valid = true;
  bool remote_write = true;
  bool remote_read = true;
  uint8_t max_reads = kReads;
};

void SetPeer(uint32_t qpn, uint8_t (&gid)[16]) {
  for (unsigned i = 0; i < 16; ++i) gid[i] = static_cast<uint8_t>(16 * i + qpn);
}
// Our own address on this QP's path.
void SetOwn(uint32_t qpn, uint8_t (&gid)[16]) {
  for (unsigned i = 0; i < 16; ++i) gid[i] = static_cast<uint8_t>(0xff - 13 * i - qpn);
}

spec::TableWrite ContextOf(const Qp& qp) {
  spec::TableQpContext context;
  context.valid = qp.valid;
  context.qp_type = qp.type;
  context.path_mtu = qp.mtu;
  context.remote_write = qp.remote_write;
  context.remote_read = qp.remote_read;
  context.max_dest_rd_atomic = qp.max_reads;
  context.qkey = kQkey;
  context.pdn = kPdn;
  context.recv_cqn = kCqn;
  context.min_rnr_timer = kRnrTimer;
  SetPeer(qp.qpn, context.path.dgid);
  SetOwn(qp.qpn, context.path.sgid);
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
  uint32_t qkey = kQkey;            // DETH
  uint32_t source_qp = 0x778899;    // DETH
  bool is_ipv6 = false;
};

RxToken TokenOf(const Packet& packet) {
  RxToken token;
  token.verdict = spec::RxVerdict::kRoce;
  token.info = spec::kOpcodeInfo[static_cast<uint8_t>(packet.opcode)];
  std::copy(kMac.begin(), kMac.end(), token.destination_mac);
  token.is_ipv6 = packet.is_ipv6;
  token.l3_offset = spec::Ethernet::kBytes;
  token.bth_offset = 42;
  token.payload_offset = static_cast<uint8_t>(54 + token.info.extension_bytes);
  token.payload_bytes = packet.bytes;
  SetPeer(packet.qpn, token.ip_source);
  SetOwn(packet.qpn, token.ip_destination);
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
  if (token.info.has_deth) {
    spec::Deth deth;
    deth.qkey = packet.qkey;
    deth.source_qp = packet.source_qp;
    deth.Encode(token.extension);
  }
  if (token.info.has_immdt) {
    uint8_t* at = token.extension + (token.info.extension_bytes - spec::Immdt::kBytes);
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

// A frame of the net path; the rest of the token says nothing, whatever it is.
RxToken NetOf(uint16_t bytes) {
  RxToken token = TokenOf({});
  token.verdict = spec::RxVerdict::kNet;
  token.frame_bytes = bytes;
  return token;
}

// What the key check says: two runs for odd addresses, and keys that do not exist.
spec::MemoryPlace Check(const spec::MemoryCheck& check) {
  if (check.key != kRkey && check.key != kLkey) return {.status = MemoryStatus::kKey};
  spec::MemoryPlace place{.status = MemoryStatus::kOk, .address0 = ~check.address};
  if (check.bytes > 4096) return {.status = MemoryStatus::kOk};
  place.bytes0 = static_cast<uint16_t>(check.bytes);
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
  spec::TxPacket& packet = place.answer.packet;
  packet.qpn = qpn;
  packet.opcode = BthOpcode::kRcAcknowledge;
  packet.psn = Psn(psn);
  packet.extension[0] = static_cast<uint8_t>(syndrome);
  packet.extension[1] = static_cast<uint8_t>(msn >> 16);
  packet.extension[2] = static_cast<uint8_t>(msn >> 8);
  packet.extension[3] = static_cast<uint8_t>(msn);
  return place;
}
spec::RxPlace Ack(uint32_t psn, uint32_t msn) { return Answer(psn, AethSyndrome::kAckNoCredits, msn); }

// A READ that goes to the read responder.
spec::RxPlace Given(const Packet& packet, uint32_t msn) {
  spec::RxPlace place = Answer(packet.psn, AethSyndrome::kAckNoCredits, msn, packet.qpn);
  place.answer.packet.opcode = {};
  place.answer.is_read = true;
  place.answer.address = packet.address;
  place.answer.rkey = packet.rkey;
  place.answer.bytes = packet.dma_length.value_or(packet.bytes);
  return place;
}
// News for the completer, behind what `place` writes.
spec::RxPlace News(const spec::RxAck& ack, spec::RxPlace place = {}) {
  place.has_ack = true;
  place.ack = ack;
  return place;
}

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
    // A UC message that starts over reads the first one, too.
    for (size_t i = 0; i < posted.elements.size(); ++i) {
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

spec::ReadRecord RecordOf(Host& host, uint32_t qpn, uint32_t psn, uint32_t bytes,
                          const std::vector<spec::RdmaSge>& elements) {
  spec::ReadRecord record{.qpn = qpn,
                          .first_psn = Psn(psn),
                          .last_psn = Psn(psn + (bytes == 0 ? 0 : (bytes - 1) / kMtu)),
                          .bytes = bytes,
                          .elements = host.next,
                          .num_sge = static_cast<uint8_t>(elements.size())};
  host.next += 0x1000;
  if (!elements.empty()) elements[0].Encode(record.sge);
  for (size_t i = 1; i < elements.size(); ++i) {
    host.elements[record.elements + spec::RdmaSge::kBytes * i] = elements[i];
  }
  return record;
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

// mac_i: a level.
class Mac final : public BenchStream {
 public:
  Mac(QData& port, Responder& model) : port_(port), model_(model) { port_ = 0; }
  void Begin(Cycle cycle) override {
    if (cycle == 0 || address != last_) model_.SetMac(cycle, address);
    last_ = address;
    std::copy(address.begin(), address.end(), BytesOf(port_).begin());
  }
  void End(Cycle) override {}
  bool IsEmpty() const override { return true; }
  std::array<uint8_t, 6> address = kMac;

 private:
  QData& port_;
  Responder& model_;
  std::array<uint8_t, 6> last_{};
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
      add(top.read_record_ready_o);
      add(top.failure_valid_o);
      add(top.failure_o);
      add(top.expected_psn_valid_o);
      add(top.expected_psn_o);
      add(top.idle_o);
    });
  }

  // `again`: a simulation that is under way, to be reset.
  explicit Bench(std::shared_ptr<RtlTop<Vresponder_16>> again = nullptr) : owner(again ? again : MakeRtl()) {
    if (again) {
      rtl.Reset();
      // A reset leaves tables as they are; the model's are new.
      for (uint32_t qpn = 0; qpn < kQps; ++qpn) ended.tokens.push_back({.qpn = qpn});
    }
    block.memory_check_out.Connect(checks, block);
    block.place_out.Connect(places, block);
    block.failure_out.Connect(failures, block);
    block.receive_request_out.Connect(requests, block);
    bench.AddOther(expected_psn);
    block.on_expected_psn = [this](Cycle now, const spec::QpPsn& psn) { expected_psn.Tell(now, psn); };
    bench.AddOther(enable);
    bench.AddOther(mq);
    bench.AddOther(mac);
    bench.AddOther(idle);
    bench.AddOther(hold);
    bench.AddOther(contexts);
    check.on_token = [this](Cycle, const spec::MemoryCheck& asked) {
      EXPECT_EQ(asked.remote_write + asked.local_write + asked.remote_read, 1);
      EXPECT_EQ(asked.pdn, kPdn);
      EXPECT_GT(asked.bytes, 0u);
      EXPECT_LE(asked.bytes, asked.remote_read ? 1u << 31 : 4096u);
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
  Responder block{agenda,
                  Responder::Sizes{
                      .net_queue_pairs = kNetQueuePairs, .num_cqs = kNumCqs, .num_qps = kQps, .max_rd_atomic = kReads}};
  Channel<spec::ReceiveRequest> requests = Channel<spec::ReceiveRequest>::Sink();
  Channel<spec::MemoryCheck> checks = Channel<spec::MemoryCheck>::Sink();
  Channel<spec::RxPlace> places = Channel<spec::RxPlace>::Sink();
  Channel<spec::QpFailure> failures = Channel<spec::QpFailure>::Sink();
  std::shared_ptr<RtlTop<Vresponder_16>> owner;
  RtlTop<Vresponder_16>& rtl = *owner;
  Vresponder_16& p = rtl.ports();
  BlockBench<Vresponder_16> bench{rtl, agenda, random};
  Enable enable{p.enable_i, block, random};
  Mq mq{p.mq_i, block};
  Mac mac{p.mac_i, block};
  Idle idle{p.idle_o, block};
  ContextBench<Vresponder_16, Responder> contexts{p, block};
  Hold<Responder> hold{p.hold_i, block, random};
  OutPulse<spec::QpPsn, decltype(p.expected_psn_valid_o), decltype(p.expected_psn_o)> expected_psn{
      "expected_psn", p.expected_psn_valid_o, p.expected_psn_o};

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
  decltype(bench.In("read_record", block.read_record_in, p.read_record_valid_i, p.read_record_ready_o,
                    p.read_record_i)) record =
      bench.In("read_record", block.read_record_in, p.read_record_valid_i, p.read_record_ready_o, p.read_record_i);
  decltype(bench.Pulse<spec::QpReads>(p.qp_reads_valid_i, p.qp_reads_i, nullptr)) ended = bench.Pulse<spec::QpReads>(
      p.qp_reads_valid_i, p.qp_reads_i, [this](Cycle now, const auto& reads) { block.OnQpReads(now, reads); });
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

TEST(Responder, APacketForAQpWithBadParityIsDropped) {
  Ready bench;
  bench.Configure({.qpn = kQpn + 1}, IbQpState::kRts);
  for (const uint32_t bit : {0u, 100u, 1023u}) {
    bench.contexts.Flip(spec::ContextRam::kResponderQp, kQpn, bit);
    bench.Send({.qpn = kQpn + 1});
    bench.RunOut();
    EXPECT_TRUE(bench.contexts.errors.empty());
    bench.Take(bench.places);
    bench.Expect(TokenOf({}), kDropped);
    EXPECT_EQ(bench.contexts.errors.size(), 1u);
    bench.Configure({}, IbQpState::kRts);
    bench.contexts.errors.clear();
    bench.Send({});
    bench.RunOut();
    EXPECT_TRUE(bench.contexts.errors.empty());
    EXPECT_NE(bench.Take(bench.places).at(0), kDropped);
    bench.Configure({.qpn = kQpn + 1}, IbQpState::kRts);
  }
}

// Nobody knows to which completion queue.
TEST(Responder, AQpWithBadParityFlushesNothing) {
  for (const bool corrupt : {false, true}) {
    Ready bench;
    bench.host.Post(kQpn, {});
    if (corrupt) bench.contexts.Flip(spec::ContextRam::kResponderQp, kQpn, 1);
    bench.RunOut();
    bench.SetState(IbQpState::kErr);
    bench.RunOut();
    EXPECT_EQ(bench.contexts.errors.empty(), !corrupt);
    EXPECT_EQ(bench.host.asked.empty(), corrupt);
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
      {"no such QP", [](RxToken& t) { t.bth.dest_qp = 7; }},
      {"QP number too large", [](RxToken& t) { t.bth.dest_qp = kQpn + kQps; }},
      {"UC", [](RxToken& t) { t.bth.opcode = BthOpcode::kUcRdmaWriteOnly; }},
      {"CNP", [](RxToken& t) { t.bth.opcode = BthOpcode::kCnp; }},
      {"other partition", [](RxToken& t) { t.bth.pkey = 0xfffe; }},
      {"other peer, first byte", [](RxToken& t) { t.ip_source[0] ^= 0x80; }},
      {"other peer, last byte", [](RxToken& t) { t.ip_source[15] ^= 1; }},
      {"other address of ours, first byte", [](RxToken& t) { t.ip_destination[0] ^= 0x80; }},
      {"other address of ours, last byte", [](RxToken& t) { t.ip_destination[15] ^= 1; }},
      {"other station, first byte", [](RxToken& t) { t.destination_mac[0] ^= 0x80; }},
      {"other station, last byte", [](RxToken& t) { t.destination_mac[5] ^= 1; }},
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
  bench.Expect(NetOf(60), kDropped);
  bench.enable.rate = 16;
  bench.Expect(TokenOf({.bytes = 0}), Ack(kFirstPsn, 1));
}

// --- Net frames

TEST(Responder, ANetFrameGoesOnWithItsLengthAndTouchesNoQp) {
  for (const auto state : {IbQpState::kReset, IbQpState::kRts, IbQpState::kErr}) {
    Ready bench({}, state);
    for (const auto bytes : std::to_array<uint16_t>({1, 2, 59, 60, 64, 1514, 4096, 9018, 0x3fff})) {
      RxToken token = NetOf(bytes);
      // Neither its destination nor what would be a queue pair matters.
      token.destination_mac[bytes % 6] ^= static_cast<uint8_t>(bytes % 4);
      if (bytes % 2 != 0) token.bth.dest_qp = 0xffffff;
      bench.Expect(token, spec::RxPlace{.net_bytes = bytes});
    }
    bench.ExpectFailures({});
    EXPECT_EQ(bench.check.count, 0u);
    EXPECT_EQ(bench.request.count, state == IbQpState::kErr ? 1u : 0u) << "that of the flush";
    // Not even the PSN has moved.
    if (state == IbQpState::kRts) bench.Expect(TokenOf({.bytes = 0}), Ack(kFirstPsn, 1));
  }
}

TEST(Responder, NetFramesKeepTheirPlaceAmongOthers) {
  Ready bench;
  std::vector<spec::RxPlace> expected;
  for (uint32_t i = 0; i < 40; ++i) {
    const RxToken write = TokenOf({.psn = kFirstPsn + i});
    bench.frame.tokens.push_back(write);
    expected.push_back(Write(write, 0x10000, Ack(kFirstPsn + i, i + 1)));
    for (uint32_t n = 0; n < i % 3; ++n) {
      const auto bytes = static_cast<uint16_t>(60 + i + n);
      bench.frame.tokens.push_back(NetOf(bytes));
      expected.push_back({.net_bytes = bytes});
    }
  }
  bench.ExpectPlaces(expected);
}

// --- Hold

TEST(Responder, WhileItIsHeldFramesWaitAndAllElseGoesOn) {
  constexpr uint32_t kFlushed = 3;
  Ready bench;
  bench.Configure({.qpn = kFlushed}, IbQpState::kRts);
  std::vector<spec::RxPlace> flushed;
  for (unsigned i = 0; i < 4; ++i) flushed.push_back(Flushed(bench.host.Post(kFlushed, {}), kFlushed));
  bench.hold.on = true;
  ASSERT_EQ(bench.bench.Run(2), "");
  std::vector<spec::RxPlace> expected;
  for (uint32_t i = 0; i < 6; ++i) {
    if (i == 3) bench.frame.tokens.push_back(NetOf(99));
    if (i == 3) expected.push_back({.net_bytes = 99});
    bench.Send({.psn = kFirstPsn + i, .bytes = 0});
    expected.push_back(Ack(kFirstPsn + i, i + 1));
  }
  bench.qp_state.tokens.push_back({.qpn = kFlushed, .state = IbQpState::kErr});
  for (uint32_t i = 0; i < kReads; ++i) bench.record.tokens.push_back(RecordOf(bench.host, 2, i, 8, {}));
  bench.load.tokens.push_back({.qpn = 2, .psn = 77});
  ASSERT_EQ(bench.bench.Run(100), "");
  EXPECT_TRUE(bench.p.idle_o);
  EXPECT_EQ(Bench::Take(bench.places), flushed);
  EXPECT_TRUE(bench.load.IsEmpty() && bench.record.IsEmpty() && bench.qp_state.IsEmpty());
  EXPECT_FALSE(bench.frame.IsEmpty());
  EXPECT_EQ(bench.expected_psn.sent.back().second.qpn, kFlushed);
  // A ring, too.
  const auto more = Flushed(bench.host.Post(kFlushed, {}), kFlushed);
  bench.Ring(kFlushed);
  ASSERT_EQ(bench.bench.Run(40), "");
  EXPECT_EQ(Bench::Take(bench.places), (std::vector<spec::RxPlace>{more}));
  EXPECT_TRUE(bench.p.idle_o);

  bench.hold.on = false;
  ASSERT_EQ(bench.bench.Run(2), "");
  EXPECT_FALSE(bench.p.idle_o);
  bench.ExpectPlaces(expected);
}

// In whatever cycle it is held: a frame that has had its turn ends, and no other one begins.
TEST(Responder, AFrameUnderWayEndsWhenItIsHeld) {
  unsigned waited = 0, ended = 0;
  for (unsigned when = 0; when < 60; ++when) {
    Ready bench;
    bench.receive.rate = bench.memory.rate = 8;
    const Posted first = bench.host.Post(kQpn, {Host::Element(0x9000, 500), Host::Element(0xa000, 5000)});
    const Posted second = bench.host.Post(kQpn, {Host::Element(0xb000, 2000)});
    const RxToken a = TokenOf({.opcode = BthOpcode::kRcSendOnly, .bytes = kMtu});
    const RxToken b = TokenOf({.opcode = BthOpcode::kRcSendOnly, .psn = kFirstPsn + 1, .bytes = kMtu});
    bench.frame.tokens = {a, NetOf(64), b};
    ASSERT_EQ(bench.bench.Run(when), "");
    bench.hold.on = true;
    // At most one turn begins, in the cycle in which the hold comes.
    ASSERT_EQ(bench.bench.Run(120), "");
    EXPECT_TRUE(bench.p.idle_o);
    const auto held = Bench::Take(bench.places);
    ++(held.size() < 4 ? waited : ended);
    bench.hold.on = false;
    ASSERT_EQ(bench.bench.Run(2), "");
    bench.RunOut();
    ASSERT_EQ(bench.bench.Run(100), "");
    auto places = held;
    for (const auto& place : Bench::Take(bench.places)) places.push_back(place);
    const std::vector<spec::RxPlace> expected = {
        Scatter(a, 0, 0x9000, 500, kMore),
        Success(first, kMtu, Scatter(a, 500, 0xa000, kMtu - 500, Ack(kFirstPsn, 1))),
        {.net_bytes = 64},
        Success(second, kMtu, Scatter(b, 0, 0xb000, kMtu, Ack(kFirstPsn + 1, 2)))};
    EXPECT_EQ(places, expected) << when;
  }
  EXPECT_GT(waited, 10u);
  EXPECT_GT(ended, 5u);
}

TEST(Responder, AFrameThatWaitedHasItsTurnInTheCycleAfterTheHold) {
  Ready bench;
  bench.hold.on = true;
  ASSERT_EQ(bench.bench.Run(2), "");
  bench.frame.tokens.push_back(NetOf(64));
  ASSERT_EQ(bench.bench.Run(20), "");
  EXPECT_EQ(bench.place.count, 0u);
  bench.hold.on = false;
  constexpr uint64_t kLatency = 1 + Responder::kDecisionLatency + 1;
  ASSERT_EQ(bench.bench.Run(kLatency), "");
  EXPECT_EQ(bench.place.count, 0u);
  ASSERT_EQ(bench.bench.Run(1), "");
  EXPECT_EQ(bench.place.count, 1u);
  // A hold in the cycle of the push is in time, one cycle later it is not.
  for (const unsigned late : {0u, 1u}) {
    const auto before = bench.place.count;
    bench.frame.tokens.push_back(NetOf(64));
    ASSERT_EQ(bench.bench.Run(late), "");
    bench.hold.on = true;
    ASSERT_EQ(bench.bench.Run(20), "");
    EXPECT_EQ(bench.place.count, before + late);
    bench.hold.on = false;
    ASSERT_EQ(bench.bench.Run(20), "");
    EXPECT_EQ(bench.place.count, before + 1);
  }
}

// --- Acknowledges

TEST(Responder, AcknowledgesGoOnWhateverTheySay) {
  Ready bench;
  for (const auto syndrome : std::to_array<uint8_t>({0x1f, 0x05, 0x2c, 0x60, 0x61, 0x62, 0x63, 0xff})) {
    bench.Expect(AckOf(0x123456, syndrome, 0xabcdef),
                 News({.qpn = kQpn, .psn = 0x123456, .syndrome = syndrome, .msn = 0xabcdef}));
  }
  // They are not the peer's requests: no PSN of its was used.
  bench.Expect(TokenOf({.bytes = 0}), Ack(kFirstPsn, 1));
}

TEST(Responder, OtherResponsesAndAcknowledgesWithPayloadAreDropped) {
  Ready bench;
  bench.Expect(TokenOf({.opcode = BthOpcode::kRcAtomicAcknowledge, .bytes = 0}), kDropped);
  RxToken ack = AckOf(1, 0x1f, 1);
  ack.payload_bytes = 4;
  bench.Expect(ack, kDropped);
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
  bench.Expect(TokenOf({.opcode = BthOpcode::kRcFetchAdd, .psn = kFirstPsn}), kDropped);
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
      {"read with payload", {.opcode = O::kRcRdmaReadRequest, .bytes = 4}},
      {"read longer than a message may be",
       {.opcode = O::kRcRdmaReadRequest, .bytes = 0, .dma_length = (1u << 31) + 1}},
      {"read inside a message", {.opcode = O::kRcRdmaReadRequest, .psn = after, .bytes = 0}, true},
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

// --- The first packet in RTR [IBTA vol. 1, 11.6.3.1]

const spec::QpFailure kEstablished{.qpn = kQpn, .event_type = RdmaEventType::kCommEst};

TEST(Responder, TheFirstPacketInRtrIsToldOnceUntilTheNextLoad) {
  Ready bench({}, IbQpState::kRtr);
  for (int life = 0; life < 2; ++life) {
    bench.Expect(TokenOf({.bytes = 0}), Ack(kFirstPsn, 1));
    bench.ExpectFailures({kEstablished});
    const RxToken next = TokenOf({.psn = kFirstPsn + 1});
    bench.Expect(next, Write(next, 0x10000, Ack(kFirstPsn + 1, 2)));
    bench.SetState(IbQpState::kRts);
    bench.RunOut();
    bench.Expect(TokenOf({.psn = kFirstPsn + 2, .bytes = 0}), Ack(kFirstPsn + 2, 3));
    bench.ExpectFailures({});
    bench.Configure({}, IbQpState::kRtr);
  }
}

TEST(Responder, AFirstPacketInAnotherStateIsNotTold) {
  for (const auto state : {IbQpState::kRts, IbQpState::kSqd, IbQpState::kSqe}) {
    Ready bench({}, state);
    bench.Expect(TokenOf({.bytes = 0}), Ack(kFirstPsn, 1));
    bench.ExpectFailures({});
  }
}

TEST(Responder, WhateverTheFirstPacketIsItIsTold) {
  {
    Ready bench({}, IbQpState::kRtr);  // a gap
    bench.Expect(TokenOf({.psn = kFirstPsn + 1, .bytes = 0}), Answer(kFirstPsn, AethSyndrome::kNakPsnSequenceError, 0));
    bench.ExpectFailures({kEstablished});
    bench.Expect(TokenOf({.psn = kFirstPsn + 1, .bytes = 0}), kDropped);  // which is told once, too
    bench.Expect(TokenOf({.bytes = 0}), Ack(kFirstPsn, 1));
    bench.ExpectFailures({});
  }
  {
    Ready bench({}, IbQpState::kRtr);  // without a receive
    bench.Expect(TokenOf({.opcode = BthOpcode::kRcSendOnly}), NotReady(kFirstPsn, 0));
    bench.ExpectFailures({kEstablished});
    bench.Expect(TokenOf({.opcode = BthOpcode::kRcSendOnly}), NotReady(kFirstPsn, 0));
    bench.ExpectFailures({});
  }
  {
    Ready bench({}, IbQpState::kRtr);  // a response says nothing: nobody has asked
    bench.frame.tokens.push_back(TokenOf({.opcode = BthOpcode::kRcAcknowledge, .bytes = 0}));
    bench.RunOut();
    EXPECT_EQ(Bench::Take(bench.places).size(), 1u);
    bench.ExpectFailures({});
    bench.Expect(TokenOf({.bytes = 0}), Ack(kFirstPsn, 1));
    bench.ExpectFailures({kEstablished});
  }
}

TEST(Responder, AFirstPacketThatEndsTheConnectionIsToldBeforeItsEnd) {
  Ready bench({}, IbQpState::kRtr);
  bench.Expect(TokenOf({.opcode = BthOpcode::kRcFetchAdd, .bytes = 0}),
               Answer(kFirstPsn, AethSyndrome::kNakInvalidRequest, 0));
  bench.ExpectFailures({kEstablished, Failure(RdmaEventType::kQpReqErr, AethSyndrome::kNakInvalidRequest)});
}

TEST(Responder, WhatIsNotForTheQpDoesNotEstablishIt) {
  Ready bench({}, IbQpState::kRtr);
  RxToken stranger = TokenOf({.bytes = 0});
  stranger.ip_source[0] ^= 1;
  bench.Expect(stranger, kDropped);
  bench.Expect(TokenOf({.opcode = BthOpcode::kUcRdmaWriteOnly, .bytes = 0}), kDropped);
  bench.ExpectFailures({});
  bench.Expect(TokenOf({.bytes = 0}), Ack(kFirstPsn, 1));
  bench.ExpectFailures({kEstablished});
}

TEST(Responder, AFirstPacketInRtrIsDecidedTwoCyclesLaterAndWaitsForItsWord) {
  Ready bench({}, IbQpState::kRtr);
  constexpr uint64_t kLatency = 1 + Responder::kDecisionLatency + Responder::kAnnounceLatency + 1;
  bench.frame.tokens.push_back(TokenOf({.bytes = 0}));
  ASSERT_EQ(bench.bench.Run(kLatency), "");
  EXPECT_EQ(bench.place.count, 0u);
  ASSERT_EQ(bench.bench.Run(1), "");
  EXPECT_EQ(bench.place.count, 1u);
  bench.Configure({}, IbQpState::kRtr);
  bench.failure.rate = 0;
  bench.frame.tokens.push_back(TokenOf({.bytes = 0}));
  ASSERT_EQ(bench.bench.Run(50), "");
  EXPECT_EQ(bench.place.count, 1u);
  bench.failure.rate = 16;
  bench.RunOut();
  EXPECT_EQ(bench.place.count, 2u);
  EXPECT_EQ(bench.failure.count, 2u);
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

// --- READs of ours

constexpr uint8_t kAcked = static_cast<uint8_t>(AethSyndrome::kAckNoCredits);
constexpr uint32_t kReadPsn = 0xfffffe;  // wraps soon

enum class At { kFirst, kMiddle, kLast, kOnly };

RxToken ResponseOf(uint32_t psn, At at, uint16_t bytes, uint8_t syndrome = 0x07, uint32_t msn = 0xabcdef) {
  const auto base = static_cast<unsigned>(BthOpcode::kRcRdmaReadResponseFirst);
  RxToken token = TokenOf({.opcode = static_cast<BthOpcode>(base + static_cast<unsigned>(at)),
                           .psn = psn,
                           .bytes = bytes,
                           .ack_req = false});
  if (!token.info.has_aeth) return token;
  spec::Aeth aeth;
  aeth.msn = msn;
  aeth.Encode(token.extension);
  token.extension[0] = syndrome;
  return token;
}
spec::RxPlace Got(uint32_t psn, const spec::RxPlace& place = {}, uint8_t syndrome = 0x07, uint32_t msn = 0xabcdef) {
  return News({.qpn = kQpn, .psn = Psn(psn), .syndrome = syndrome, .msn = msn, .is_read = true}, place);
}
// Of a middle packet, which has no AETH.
spec::RxPlace GotMiddle(uint32_t psn, const spec::RxPlace& place) { return Got(psn, place, kAcked, 0); }
spec::RxPlace GapAt(uint32_t psn) { return Got(psn, {}, static_cast<uint8_t>(AethSyndrome::kNakPsnSequenceError), 0); }
spec::RxPlace ReadFailed(uint32_t psn, IbWcStatus status, RdmaError code) {
  auto place = Got(psn, {}, static_cast<uint8_t>(code), 0);
  place.ack.status = status;
  return place;
}

struct Reader : Ready {
  using Ready::Ready;
  void Read(uint32_t psn, uint32_t bytes, const std::vector<spec::RdmaSge>& elements) {
    record.tokens.push_back(RecordOf(host, kQpn, psn, bytes, elements));
    RunOut();
  }
};

TEST(ResponderRead, AResponseGoesToTheReadsElementsAndTheCompleterHearsOfItBehind) {
  Reader bench;
  bench.Read(kReadPsn, 100, {Host::Element(0x9001, 100)});
  const auto only = ResponseOf(kReadPsn, At::kOnly, 100);
  bench.Expect(only, Got(kReadPsn, Scatter(only, 0, 0x9001, 100)));
  // It is complete: what comes again is dropped, and the peer's own requests went on meanwhile.
  bench.Expect(only, kDropped);
  bench.Expect(TokenOf({.bytes = 0}), Ack(kFirstPsn, 1));
  bench.ExpectFailures({});
}

TEST(ResponderRead, AResponseOfSeveralPacketsFillsTheElementsInOrder) {
  Reader bench;
  bench.Read(kReadPsn, 3 * kMtu + 5,
             {Host::Element(0, 0, kBadLkey), Host::Element(0x1000, 10), Host::Element(0x3000, 2 * kMtu - 10),
              Host::Element(0x7001, 5000)});
  const auto first = ResponseOf(kReadPsn, At::kFirst, kMtu, 0x03, 5);
  bench.Expect(first,
               {Scatter(first, 0, 0x1000, 10, kMore), Got(kReadPsn, Scatter(first, 10, 0x3000, kMtu - 10), 0x03, 5)});
  const auto second = ResponseOf(kReadPsn + 1, At::kMiddle, kMtu);
  bench.Expect(second, GotMiddle(kReadPsn + 1, Scatter(second, 0, 0x3000 + kMtu - 10, kMtu)));
  const auto third = ResponseOf(kReadPsn + 2, At::kMiddle, kMtu);
  bench.Expect(third, GotMiddle(kReadPsn + 2, Scatter(third, 0, 0x7001, kMtu)));
  const auto last = ResponseOf(kReadPsn + 3, At::kLast, 5);
  bench.Expect(last, Got(kReadPsn + 3, Scatter(last, 0, 0x7001 + kMtu, 5)));
  EXPECT_EQ(bench.request.count, 3u);  // every element behind the first
}

TEST(ResponderRead, AReadOfNothingHasOneResponseAndNeedsNoElement) {
  Reader bench;
  bench.Read(kReadPsn, 0, {});
  bench.Expect(ResponseOf(kReadPsn, At::kOnly, 0), Got(kReadPsn));
  bench.Read(kReadPsn + 1, 0, {Host::Element(0, 10, kBadLkey)});
  bench.Expect(ResponseOf(kReadPsn + 1, At::kOnly, 0), Got(kReadPsn + 1));
  EXPECT_EQ(bench.check.count, 0u);
}

TEST(ResponderRead, WhereARetryBeginsDoesNotMatterButWhereTheMessageEndsDoes) {
  Reader bench;
  bench.Read(kReadPsn, 4 * kMtu, {Host::Element(0x9000, 4 * kMtu)});
  // All as if each were the first one of a new response.
  for (uint32_t i = 0; i < 3; ++i) {
    const auto first = ResponseOf(kReadPsn + i, At::kFirst, kMtu);
    bench.Expect(first, Got(kReadPsn + i, Scatter(first, 0, 0x9000 + uint64_t{i} * kMtu, kMtu)));
  }
  const auto only = ResponseOf(kReadPsn + 3, At::kOnly, kMtu);
  bench.Expect(only, Got(kReadPsn + 3, Scatter(only, 0, 0x9000 + uint64_t{3} * kMtu, kMtu)));
}

TEST(ResponderRead, AGapIsToldWithThePsnThatIsMissingAndWhatIsBehindItIsDropped) {
  Reader bench;
  bench.Read(kReadPsn, 3 * kMtu, {Host::Element(0x9000, 5000)});
  bench.Read(kReadPsn + 5, 10, {Host::Element(0x19000, 5000)});
  bench.Expect(ResponseOf(kReadPsn + 1, At::kMiddle, kMtu), GapAt(kReadPsn));
  bench.Expect(ResponseOf(kReadPsn + 5, At::kOnly, 10), GapAt(kReadPsn));
  bench.Expect(ResponseOf(kReadPsn + 0x7fffff, At::kMiddle, kMtu), GapAt(kReadPsn));
  bench.Expect(ResponseOf(kReadPsn - 1, At::kMiddle, kMtu), kDropped);
  bench.Expect(ResponseOf(kReadPsn + 0x800000, At::kMiddle, kMtu), kDropped);
  const auto first = ResponseOf(kReadPsn, At::kFirst, kMtu);
  bench.Expect(first, Got(kReadPsn, Scatter(first, 0, 0x9000, kMtu)));
  bench.Expect(first, kDropped);
  bench.Expect(ResponseOf(kReadPsn + 2, At::kLast, kMtu), GapAt(kReadPsn + 1));
  const auto second = ResponseOf(kReadPsn + 1, At::kMiddle, kMtu);
  bench.Expect(second, GotMiddle(kReadPsn + 1, Scatter(second, 0, 0x9000 + kMtu, kMtu)));
  const auto last = ResponseOf(kReadPsn + 2, At::kLast, kMtu);
  bench.Expect(last, Got(kReadPsn + 2, Scatter(last, 0, 0x9000 + 2 * kMtu, kMtu)));
  // Now the next one is the oldest.
  bench.Expect(ResponseOf(kReadPsn + 6, At::kOnly, 10), GapAt(kReadPsn + 5));
  const auto only = ResponseOf(kReadPsn + 5, At::kOnly, 10);
  bench.Expect(only, Got(kReadPsn + 5, Scatter(only, 0, 0x19000, 10)));
  bench.Expect(ResponseOf(kReadPsn + 6, At::kOnly, 10), kDropped);
}

TEST(ResponderRead, AResponseThatIsNoneToWhatWasAskedEndsTheRead) {
  struct Bad {
    const char* name;
    RxToken token;
    RdmaError code = RdmaError::kInvalidLength;
  };
  const std::vector<Bad> cases = {
      {"shorter than the MTU", ResponseOf(kReadPsn, At::kFirst, kMtu - 1)},
      {"longer than the MTU", ResponseOf(kReadPsn, At::kFirst, kMtu + 1)},
      {"ends too early", ResponseOf(kReadPsn, At::kLast, kMtu)},
      {"ends too early, all at once", ResponseOf(kReadPsn, At::kOnly, kMtu)},
      {"nothing", ResponseOf(kReadPsn, At::kMiddle, 0)},
      {"NAK", ResponseOf(kReadPsn, At::kFirst, kMtu, 0x60), RdmaError::kInvalidParameter},
      {"RNR NAK", ResponseOf(kReadPsn, At::kFirst, kMtu, 0x20), RdmaError::kInvalidParameter},
      {"reserved", ResponseOf(kReadPsn, At::kFirst, kMtu, 0x40), RdmaError::kInvalidParameter},
  };
  for (const Bad& bad : cases) {
    SCOPED_TRACE(bad.name);
    Reader bench;
    bench.Read(kReadPsn, kMtu + 8, {Host::Element(0x9000, 5000)});
    bench.Expect(bad.token, ReadFailed(kReadPsn, IbWcStatus::kBadRespErr, bad.code));
    EXPECT_EQ(bench.check.count, 0u);
    // No READ of the QP has responses any more; all else goes on until the completer has spoken.
    bench.Expect(ResponseOf(kReadPsn, At::kFirst, kMtu), kDropped);
    bench.Expect(TokenOf({.bytes = 0}), Ack(kFirstPsn, 1));
    bench.ExpectFailures({});
    // Until the load.
    bench.load.tokens.push_back({.qpn = kQpn, .psn = kFirstPsn});
    bench.Read(77, 8, {Host::Element(0x9000, 8)});
    const auto only = ResponseOf(77, At::kOnly, 8);
    bench.Expect(only, Got(77, Scatter(only, 0, 0x9000, 8)));
  }
  // The last packet: not exactly what is left, or not the end.
  for (const auto& token : {ResponseOf(kReadPsn + 1, At::kLast, 7), ResponseOf(kReadPsn + 1, At::kLast, 9),
                            ResponseOf(kReadPsn + 1, At::kMiddle, 8), ResponseOf(kReadPsn + 1, At::kMiddle, kMtu)}) {
    Reader bench;
    bench.Read(kReadPsn, kMtu + 8, {Host::Element(0x9000, 5000)});
    const auto first = ResponseOf(kReadPsn, At::kFirst, kMtu);
    bench.Expect(first, Got(kReadPsn, Scatter(first, 0, 0x9000, kMtu)));
    bench.Expect(token, ReadFailed(kReadPsn + 1, IbWcStatus::kBadRespErr, RdmaError::kInvalidLength));
  }
}

TEST(ResponderRead, ElementsThatAreTooShortOrNotAllowedOrUnreadableEndTheRead) {
  const auto first = ResponseOf(kReadPsn, At::kFirst, kMtu);
  {
    Reader bench;
    bench.Read(kReadPsn, 2 * kMtu, {Host::Element(0x9000, kMtu - 1)});
    bench.Expect(first, {Scatter(first, 0, 0x9000, kMtu - 1, kMore),
                         ReadFailed(kReadPsn, IbWcStatus::kLocLenErr, RdmaError::kInvalidLength)});
    bench.Expect(ResponseOf(kReadPsn + 1, At::kLast, kMtu), kDropped);
    bench.ExpectFailures({});
  }
  {
    Reader bench;
    bench.Read(kReadPsn, 2 * kMtu, {});
    bench.Expect(first, ReadFailed(kReadPsn, IbWcStatus::kLocLenErr, RdmaError::kInvalidLength));
  }
  const std::pair<MemoryStatus, RdmaError> refusals[] = {{MemoryStatus::kKey, RdmaError::kBadMrn},
                                                         {MemoryStatus::kPd, RdmaError::kBadPdn},
                                                         {MemoryStatus::kRights, RdmaError::kBadAccessFlags},
                                                         {MemoryStatus::kBounds, RdmaError::kInvalidLength}};
  for (const auto& [status, code] : refusals) {
    Reader bench;
    bench.check.on_token = [&, status = status](Cycle, const spec::MemoryCheck& asked) {
      EXPECT_TRUE(asked.local_write);
      bench.memory.tokens.push_back({.status = status});
    };
    bench.Read(kReadPsn, 2 * kMtu, {Host::Element(0x9000, 5000)});
    bench.Expect(first, ReadFailed(kReadPsn, IbWcStatus::kLocProtErr, code));
    bench.Expect(first, kDropped);
  }
  Reader bench;
  bench.Read(kReadPsn, 2 * kMtu, {Host::Element(0x9000, 8), Host::Element(0xa000, 5000)});
  bench.host.elements.clear();
  bench.Expect(first, {Scatter(first, 0, 0x9000, 8, kMore),
                       ReadFailed(kReadPsn, IbWcStatus::kLocQpOpErr, RdmaError::kQueueDmaError)});
  bench.Expect(first, kDropped);
}

TEST(ResponderRead, ResponsesToNoReadAreDropped) {
  Reader bench;
  bench.Expect(ResponseOf(kReadPsn, At::kOnly, 8), kDropped);
  bench.Expect(ResponseOf(0, At::kOnly, 0), kDropped);
  // A READ of another QP is none.
  bench.Configure({.qpn = 6}, IbQpState::kRts, 0);
  bench.record.tokens.push_back(RecordOf(bench.host, 6, kReadPsn, 8, {Host::Element(0x9000, 8)}));
  bench.RunOut();
  bench.Expect(ResponseOf(kReadPsn, At::kOnly, 8), kDropped);
  // After the load, those before it are forgotten.
  bench.Read(kReadPsn, 8, {Host::Element(0x9000, 8)});
  bench.load.tokens.push_back({.qpn = kQpn, .psn = kFirstPsn});
  bench.RunOut();
  bench.Expect(ResponseOf(kReadPsn, At::kOnly, 8), kDropped);
}

TEST(ResponderRead, AReadThatIsSaidAgainIsKnown) {
  Reader bench;
  const auto elements = std::vector{Host::Element(0x9000, 5000)};
  const auto other = std::vector{Host::Element(0x19000, 5000)};
  bench.Read(kReadPsn, 8, elements);
  bench.Read(kReadPsn + 1, kMtu + 8, elements);
  bench.Read(kReadPsn, 8, other);
  bench.Read(kReadPsn + 1, kMtu + 8, other);
  auto only = ResponseOf(kReadPsn, At::kOnly, 8);
  bench.Expect(only, Got(kReadPsn, Scatter(only, 0, 0x9000, 8)));
  const auto first = ResponseOf(kReadPsn + 1, At::kFirst, kMtu);
  bench.Expect(first, Got(kReadPsn + 1, Scatter(first, 0, 0x9000, kMtu)));
  bench.Read(kReadPsn + 1, kMtu + 8, other);
  const auto last = ResponseOf(kReadPsn + 2, At::kLast, 8);
  bench.Expect(last, Got(kReadPsn + 2, Scatter(last, 0, 0x9000 + kMtu, 8)));
  // Also when it is complete, and no other one is under way.
  bench.Read(kReadPsn + 1, kMtu + 8, other);
  bench.Expect(first, kDropped);
  bench.Read(kReadPsn + 3, 8, other);
  only = ResponseOf(kReadPsn + 3, At::kOnly, 8);
  bench.Expect(only, Got(kReadPsn + 3, Scatter(only, 0, 0x19000, 8)));
}

TEST(ResponderRead, ReadsAreTakenHoweverManyPacketsLieBetweenThem) {
  Reader bench;
  const auto elements = std::vector{Host::Element(0x9000, 5000)};
  uint32_t psn = kReadPsn;
  for (unsigned round = 0; round < 3; ++round) {
    bench.Read(psn, 8, elements);
    const auto only = ResponseOf(psn, At::kOnly, 8);
    bench.Expect(only, Got(psn, Scatter(only, 0, 0x9000, 8)));
    const uint32_t known = psn;
    // The peer acknowledges what is sent meanwhile, also more than once.
    for (const uint32_t step : {0x700000u, 0x0u, 0x600000u}) {
      psn = Psn(psn + step);
      bench.Expect(AckOf(psn, kAcked, 0), News({.qpn = kQpn, .psn = psn, .syndrome = kAcked}));
      // One that was late changes nothing, nor does a NAK.
      bench.frame.tokens.push_back(AckOf(psn - 9, kAcked, 0));
      bench.frame.tokens.push_back(AckOf(psn + 9, 0x60, 0));
      bench.RunOut();
      Bench::Take(bench.places);
      bench.Read(psn, 8, elements);
      bench.Expect(ResponseOf(psn, At::kOnly, 8), kDropped);
    }
    EXPECT_NE(known, psn);
    psn = Psn(psn + 1);
  }
}

TEST(ResponderRead, AnAcknowledgeBeyondAReadDoesNotMakeItKnown) {
  Reader bench;
  bench.Read(kReadPsn, 8, {Host::Element(0x9000, 8)});
  bench.frame.tokens.push_back(AckOf(kReadPsn + 100, kAcked, 0));
  bench.RunOut();
  Bench::Take(bench.places);
  const auto only = ResponseOf(kReadPsn, At::kOnly, 8);
  bench.Expect(only, Got(kReadPsn, Scatter(only, 0, 0x9000, 8)));
  bench.Read(kReadPsn + 50, 8, {Host::Element(0x9000, 8)});
  const auto next = ResponseOf(kReadPsn + 50, At::kOnly, 8);
  bench.Expect(next, Got(kReadPsn + 50, Scatter(next, 0, 0x9000, 8)));
}

TEST(ResponderRead, MoreReadsThanThereArePlacesAreNotTaken) {
  Reader bench;
  for (uint32_t i = 0; i < kReads + 1; ++i) bench.Read(kReadPsn + i, 8, {Host::Element(0x1000 * i, 8)});
  for (uint32_t i = 0; i < kReads; ++i) {
    const auto only = ResponseOf(kReadPsn + i, At::kOnly, 8);
    bench.Expect(only, Got(kReadPsn + i, Scatter(only, 0, 0x1000 * i, 8)));
  }
  bench.Expect(ResponseOf(kReadPsn + kReads, At::kOnly, 8), kDropped);
  // Said once more, it is taken; and the places go round.
  for (uint32_t i = kReads; i < 5 * kReads; ++i) {
    bench.Read(kReadPsn + i, 8, {Host::Element(0x1000 * i, 8)});
    const auto only = ResponseOf(kReadPsn + i, At::kOnly, 8);
    bench.Expect(only, Got(kReadPsn + i, Scatter(only, 0, 0x1000 * i, 8)));
  }
}

TEST(ResponderRead, RecordsAreTakenWhileAllElseStands) {
  Reader bench;
  bench.place.rate = 0;
  for (uint32_t i = 0; i < 5; ++i) bench.Send({.psn = kFirstPsn + i, .bytes = 0});
  ASSERT_EQ(bench.bench.Run(40), "");
  const auto before = bench.record.accepted;
  for (uint32_t i = 0; i < 100; ++i) {
    bench.record.tokens.push_back(RecordOf(bench.host, i % kQps, kReadPsn + i, 8, {}));
  }
  // One in two cycles.
  ASSERT_EQ(bench.bench.Run(200), "");
  EXPECT_EQ(bench.record.accepted - before, 100u);
  EXPECT_EQ(bench.place.count, 0u);
}

TEST(ResponderRead, LoadsAndRecordsInEveryCycle) {
  Reader bench;
  for (uint32_t i = 0; i < 2000; ++i) {
    bench.record.tokens.push_back(
        RecordOf(bench.host, i % 3, static_cast<uint32_t>(bench.random() % 3), 8, {Host::Element(0x9000, 8)}));
    if (bench.random() % 8 == 0) {
      bench.load.tokens.push_back({.qpn = static_cast<uint32_t>(bench.random() % 3), .psn = kFirstPsn});
    }
    auto token = ResponseOf(static_cast<uint32_t>(bench.random() % 3), At::kOnly, 8);
    token.bth.dest_qp = i % 3;
    SetPeer(i % 3, token.ip_source);
    SetOwn(i % 3, token.ip_destination);
    bench.frame.tokens.push_back(token);
  }
  for (uint32_t qpn = 0; qpn < 3; ++qpn) {
    bench.table.tokens.push_back(ContextOf({.qpn = qpn}));
    bench.qp_state.tokens.push_back({.qpn = qpn, .state = IbQpState::kRts});
  }
  bench.load.rate = 1;
  bench.record.rate = 8;
  ASSERT_EQ(bench.bench.RunOut(100), "");
  const auto places = Bench::Take(bench.places);
  EXPECT_GT(std::count_if(places.begin(), places.end(), [](const auto& place) { return place.bytes0 != 0; }), 50);
}

TEST(ResponderRead, AResponseIsDecidedOnOneCycleLaterThanOthers) {
  Reader bench;
  bench.Read(kReadPsn, 0, {});
  const Cycle pushed = bench.bench.cycle();
  bench.frame.tokens.push_back(ResponseOf(kReadPsn, At::kOnly, 0));
  // In its slice, its turn, two cycles to decide, one for its place, one for its elements, in the register.
  constexpr uint64_t kLatency = 1 + Responder::kDecisionLatency + Responder::kResponseLatency + 1 + 1;
  ASSERT_EQ(bench.bench.Run(kLatency), "");
  EXPECT_EQ(bench.place.count, 0u);
  ASSERT_EQ(bench.bench.Run(1), "");
  ASSERT_EQ(bench.place.count, 1u);
  EXPECT_EQ(bench.places.sent().back().cycle, pushed + kLatency);

  bench.check.on_token = nullptr;
  bench.Read(kReadPsn + 1, 8, {Host::Element(0x9000, 8)});
  bench.frame.tokens.push_back(ResponseOf(kReadPsn + 1, At::kOnly, 8));
  ASSERT_EQ(bench.bench.Run(kLatency), "");
  EXPECT_EQ(bench.check.count, 0u);
  ASSERT_EQ(bench.bench.Run(1), "");
  EXPECT_EQ(bench.check.count, 1u);
  bench.memory.tokens.push_back({.status = MemoryStatus::kOk, .address0 = 1, .bytes0 = 8});
  ASSERT_EQ(bench.bench.Run(2), "");
  EXPECT_EQ(bench.place.count, 1u);
  ASSERT_EQ(bench.bench.Run(1), "");
  EXPECT_EQ(bench.place.count, 2u);
  // What is dropped, and what is none.
  bench.frame.tokens.push_back(ResponseOf(kReadPsn + 1, At::kOnly, 8));
  ASSERT_EQ(bench.bench.Run(kLatency - 1), "");
  EXPECT_EQ(bench.place.count, 2u);
  ASSERT_EQ(bench.bench.Run(1), "");
  EXPECT_EQ(bench.place.count, 3u);
}

// --- READs of the peer

Packet ReadRequest(uint32_t psn, uint32_t bytes) {
  return {.opcode = BthOpcode::kRcRdmaReadRequest, .psn = psn, .bytes = 0, .ack_req = false, .dma_length = bytes};
}

TEST(ResponderRead, AReadIsGivenAwayAndTakesAsManyPsnsAsItsResponse) {
  Ready bench({.max_reads = 255});
  uint32_t psn = kFirstPsn, msn = 0;
  const std::pair<uint32_t, uint32_t> sizes[] = {{0, 1},
                                                 {1, 1},
                                                 {kMtu - 1, 1},
                                                 {kMtu, 1},
                                                 {kMtu + 1, 2},
                                                 {4096, 4},
                                                 {4097, 5},
                                                 {5 * kMtu, 5},
                                                 {1u << 31, 1u << 21},
                                                 {0x7fffffff, 1u << 21}};
  for (const auto& [bytes, packets] : sizes) {
    const auto request = ReadRequest(psn, bytes);
    const auto checks = bench.check.count;
    bench.Expect(TokenOf(request), Given(request, ++msn));
    EXPECT_EQ(bench.check.count, checks + (bytes != 0));
    psn = Psn(psn + packets);
  }
  bench.Expect(TokenOf({.psn = psn, .bytes = 0}), Ack(psn, msn + 1));
  bench.ExpectFailures({});
}

TEST(ResponderRead, EveryMtuCountsItsPackets) {
  for (const auto mtu : {spec::IbMtu::kMtu256, spec::IbMtu::kMtu512, spec::IbMtu::kMtu2048, spec::IbMtu::kMtu4096}) {
    const uint32_t bytes = 128u << static_cast<unsigned>(mtu);
    Ready bench({.mtu = mtu});
    bench.Expect(TokenOf(ReadRequest(kFirstPsn, 3 * bytes + 1)), Given(ReadRequest(kFirstPsn, 3 * bytes + 1), 1));
    bench.Expect(TokenOf(ReadRequest(kFirstPsn + 4, 1u << 31)), Given(ReadRequest(kFirstPsn + 4, 1u << 31), 2));
    const uint32_t next = kFirstPsn + 4 + (1u << 31) / bytes;
    bench.Expect(TokenOf({.psn = next, .bytes = 0}), Ack(next, 3));
  }
}

TEST(ResponderRead, AKeyIsAskedForTheWholeMessage) {
  Ready bench;
  bench.check.on_token = [&](Cycle, const spec::MemoryCheck& asked) {
    EXPECT_EQ(asked, (spec::MemoryCheck{
                         .key = kRkey, .pdn = kPdn, .remote_read = true, .address = 0x10000, .bytes = 0x12345678}));
    bench.memory.tokens.push_back({.status = MemoryStatus::kOk});
  };
  bench.Expect(TokenOf(ReadRequest(kFirstPsn, 0x12345678)), Given(ReadRequest(kFirstPsn, 0x12345678), 1));
  EXPECT_EQ(bench.check.count, 1u);
}

TEST(ResponderRead, AReadThatIsNotAllowedEndsTheConnection) {
  {
    Ready bench({.remote_read = false});
    bench.Expect(TokenOf(ReadRequest(kFirstPsn, 0)), Answer(kFirstPsn, AethSyndrome::kNakRemoteAccessError, 0));
    EXPECT_EQ(bench.check.count, 0u);
    bench.ExpectFailures({Failure(RdmaEventType::kQpAccessErr, AethSyndrome::kNakRemoteAccessError)});
    bench.Expect(TokenOf({.bytes = 0}), kDropped);
  }
  for (const uint32_t key : {kBadRkey, kLkey}) {
    Ready bench;
    auto request = ReadRequest(kFirstPsn, 8);
    request.rkey = key;
    bench.Expect(TokenOf(request), Answer(kFirstPsn, AethSyndrome::kNakRemoteAccessError, 0));
    bench.ExpectFailures({Failure(RdmaEventType::kQpAccessErr, AethSyndrome::kNakRemoteAccessError)});
  }
  Ready bench;
  auto request = ReadRequest(kFirstPsn, 0);
  request.rkey = kBadRkey;
  bench.Expect(TokenOf(request), Given(request, 1));
}

TEST(ResponderRead, MoreReadsThanThePeerMayHaveUnderWayEndTheConnection) {
  for (const auto most : std::to_array<uint8_t>({0, 1, 3})) {
    Ready bench({.max_reads = most});
    for (uint32_t i = 0; i < most; ++i) {
      bench.Expect(TokenOf(ReadRequest(kFirstPsn + i, 8)), Given(ReadRequest(kFirstPsn + i, 8), i + 1));
    }
    bench.Expect(TokenOf(ReadRequest(kFirstPsn + most, 8)),
                 Answer(kFirstPsn + most, AethSyndrome::kNakInvalidRequest, most));
    bench.ExpectFailures({Failure(RdmaEventType::kQpReqErr, AethSyndrome::kNakInvalidRequest)});
  }
}

TEST(ResponderRead, ANewOneIsDroppedWhileDuplicatesHaveTheRoom) {
  Ready bench({.max_reads = 2});
  const auto first = ReadRequest(kFirstPsn, 8), second = ReadRequest(kFirstPsn + 1, 8);
  bench.Expect(TokenOf(first), Given(first, 1));
  bench.ended.tokens.push_back({.qpn = kQpn, .ended = 1});
  bench.RunOut();
  // Twice more, though the peer has all of it by now.
  bench.Expect(TokenOf(first), Given(first, 1));
  bench.Expect(TokenOf(first), Given(first, 1));
  bench.Expect(TokenOf(second), kDropped);
  bench.ended.tokens.push_back({.qpn = kQpn, .ended = 2});
  bench.RunOut();
  bench.Expect(TokenOf(second), Given(second, 2));
  // No duplicate is behind the one that is under way now: more is too much.
  bench.ended.tokens.push_back({.qpn = kQpn, .ended = 3});
  bench.RunOut();
  const auto third = ReadRequest(kFirstPsn + 2, 8), fourth = ReadRequest(kFirstPsn + 3, 8);
  bench.Expect(TokenOf(third), Given(third, 3));
  bench.Expect(TokenOf(fourth), Answer(kFirstPsn + 3, AethSyndrome::kNakInvalidRequest, 3));
}

TEST(ResponderRead, ReadsThatHaveEndedMakeRoomAndTheCountsWrapAndNothingIsUnderWayAfterALoad) {
  Ready bench({.max_reads = 2});
  uint32_t psn = kFirstPsn, msn = 0;
  for (uint32_t i = 0; i < 600; ++i) {
    bench.Expect(TokenOf(ReadRequest(psn, 0)), Given(ReadRequest(psn, 0), ++msn));
    psn = Psn(psn + 1);
    if (i != 0) bench.ended.tokens.push_back({.qpn = kQpn, .ended = static_cast<uint8_t>(i)});
    if (i % 100 != 50) continue;
    // All of them, before a load.
    bench.ended.tokens.push_back({.qpn = kQpn, .ended = static_cast<uint8_t>(i + 1)});
    bench.RunOut();
    bench.load.tokens.push_back({.qpn = kQpn, .psn = psn});
    msn = 0;
  }
  // Of two, one is still under way.
  bench.Expect(TokenOf(ReadRequest(psn, 0)), Given(ReadRequest(psn, 0), msn + 1));
  bench.Expect(TokenOf(ReadRequest(psn + 1, 0)), Answer(psn + 1, AethSyndrome::kNakInvalidRequest, msn + 1));
}

TEST(ResponderRead, TheCountsBeginAnewWithAReset) {
  std::shared_ptr<RtlTop<Vresponder_16>> rtl;
  for (unsigned i = 0; i < 3; ++i) {
    Bench bench(rtl);
    rtl = bench.owner;
    bench.Configure({.max_reads = 2}, IbQpState::kRts);
    bench.Send(ReadRequest(kFirstPsn, 8));
    bench.Send(ReadRequest(kFirstPsn + 1, 8));
    bench.RunOut();
    bench.ended.tokens.push_back({.qpn = kQpn, .ended = 2});
    bench.RunOut();
    bench.Send(ReadRequest(kFirstPsn + 2, 8));
    bench.RunOut();
    const auto places = Bench::Take(bench.places);
    ASSERT_EQ(places.size(), 3u);
    for (const auto& place : places) EXPECT_TRUE(place.answer.is_read);
  }
}

TEST(ResponderRead, ADuplicateIsGivenAwayAgainIfAllOfItIsBehindAndAllowed) {
  Ready bench;
  bench.Expect(TokenOf(ReadRequest(kFirstPsn, 3 * kMtu)), Given(ReadRequest(kFirstPsn, 3 * kMtu), 1));
  const uint32_t psn = kFirstPsn + 3;
  bench.ended.tokens.push_back({.qpn = kQpn, .ended = 1});
  // All of it, its end, and one that reaches up to the expected PSN.
  for (const auto& request :
       {ReadRequest(kFirstPsn, 3 * kMtu), ReadRequest(kFirstPsn + 2, kMtu), ReadRequest(psn - 1, 0)}) {
    bench.Expect(TokenOf(request), Given(request, 1));
    bench.ended.tokens.push_back({.qpn = kQpn, .ended = static_cast<uint8_t>(bench.place.count)});
  }
  // One that reaches beyond it, one that is too long, one that may not, one with payload.
  auto bad = ReadRequest(kFirstPsn, kMtu);
  bad.rkey = kBadRkey;
  auto payload = ReadRequest(kFirstPsn, kMtu);
  payload.bytes = 4;
  for (const auto& request : {ReadRequest(kFirstPsn, 3 * kMtu + 1), ReadRequest(psn - 0x800000, (1u << 31) + 1),
                              ReadRequest(psn - 1, kMtu + 1), bad, payload}) {
    bench.Expect(TokenOf(request), kDropped);
  }
  // Far behind there is room for much.
  bench.Expect(TokenOf(ReadRequest(psn - 0x800000, 1u << 31)), Given(ReadRequest(psn - 0x800000, 1u << 31), 1));
  // Nothing of it has moved what is expected, nor does it fill a gap.
  bench.Expect(TokenOf({.psn = psn + 1, .bytes = 0}), Answer(psn, AethSyndrome::kNakPsnSequenceError, 1));
  bench.Expect(TokenOf(ReadRequest(kFirstPsn, 8)), Given(ReadRequest(kFirstPsn, 8), 1));
  bench.Expect(TokenOf({.psn = psn + 1, .bytes = 0}), kDropped);
  bench.Expect(TokenOf({.psn = psn, .bytes = 0}), Ack(psn, 2));
  bench.ExpectFailures({});
}

TEST(ResponderRead, ADuplicateForWhichThereIsNoRoomOrNoRightIsDropped) {
  Ready bench({.max_reads = 1});
  bench.Expect(TokenOf(ReadRequest(kFirstPsn, 8)), Given(ReadRequest(kFirstPsn, 8), 1));
  bench.Expect(TokenOf(ReadRequest(kFirstPsn, 8)), kDropped);
  bench.ended.tokens.push_back({.qpn = kQpn, .ended = 1});
  bench.RunOut();
  bench.Expect(TokenOf(ReadRequest(kFirstPsn, 8)), Given(ReadRequest(kFirstPsn, 8), 1));
  bench.ended.tokens.push_back({.qpn = kQpn, .ended = 2});
  bench.table.tokens.push_back(ContextOf({.remote_read = false}));
  bench.RunOut();
  bench.Expect(TokenOf(ReadRequest(kFirstPsn, 8)), kDropped);
  bench.ExpectFailures({});
}

TEST(ResponderRead, ADuplicateInsideAMessageKeepsTheMessage) {
  Ready bench;
  bench.Expect(TokenOf(ReadRequest(kFirstPsn, 8)), Given(ReadRequest(kFirstPsn, 8), 1));
  const Posted posted = bench.host.Post(kQpn, {Host::Element(0x9000, 5000)});
  const auto first =
      TokenOf({.opcode = BthOpcode::kRcSendFirst, .psn = kFirstPsn + 1, .bytes = kMtu, .ack_req = false});
  bench.Expect(first, Scatter(first, 0, 0x9000, kMtu));
  bench.Expect(TokenOf(ReadRequest(kFirstPsn, 8)), Given(ReadRequest(kFirstPsn, 8), 1));
  const auto last = TokenOf({.opcode = BthOpcode::kRcSendLast, .psn = kFirstPsn + 2, .bytes = 8});
  bench.Expect(last, Scatter(last, 0, 0x9000 + kMtu, 8, Success(posted, kMtu + 8, Ack(kFirstPsn + 2, 2))));
}

// --- UC

constexpr Qp kUc{.type = spec::IbQpType::kUc};

TEST(ResponderUc, MessagesBeginWithAnyPsnAndAreNotAnswered) {
  Ready bench(kUc);
  const Posted posted = bench.host.Post(kQpn, {Host::Element(0x9000, 5000)});
  const auto only = TokenOf({.opcode = BthOpcode::kUcSendOnly, .psn = 0x4711, .bytes = 100});
  bench.Expect(only, Scatter(only, 0, 0x9000, 100, Success(posted, 100)));
  const auto first =
      TokenOf({.opcode = BthOpcode::kUcRdmaWriteFirst, .psn = 0xffffff, .bytes = kMtu, .dma_length = 2 * kMtu + 5});
  bench.Expect(first, Write(first, 0x10000));
  const auto middle = TokenOf({.opcode = BthOpcode::kUcRdmaWriteMiddle, .psn = 0, .bytes = kMtu});
  bench.Expect(middle, Write(middle, 0x10000 + kMtu));
  const auto last = TokenOf({.opcode = BthOpcode::kUcRdmaWriteLast, .psn = 1, .bytes = 5});
  bench.Expect(last, Write(last, 0x10000 + 2 * kMtu));
  bench.ExpectFailures({});
}

TEST(ResponderUc, TheFirstPacketInRtrIsToldOnce) {
  Ready bench(kUc, IbQpState::kRtr);
  const auto middle = TokenOf({.opcode = BthOpcode::kUcRdmaWriteMiddle, .bytes = kMtu});
  bench.Expect(middle, kDropped);  // of no message
  bench.ExpectFailures({kEstablished});
  const auto only = TokenOf({.opcode = BthOpcode::kUcRdmaWriteOnly, .bytes = 10});
  bench.Expect(only, Write(only, 0x10000));
  bench.ExpectFailures({});
}

TEST(ResponderUc, ImmediateDataComesWithTheCompletion) {
  Ready bench(kUc);
  spec::RdmaCqReq cqe{.opcode = IbWcOpcode::kRecvRdmaWithImm,
                      .byte_len = 64,
                      .imm_data = {0x11, 0x22, 0x33, 0x44},
                      .wc_flags = spec::IbWcFlags::kWithImm};
  Posted posted = bench.host.Post(kQpn, {});
  const auto write = TokenOf({.opcode = BthOpcode::kUcRdmaWriteOnlyWithImmediate});
  bench.Expect(write, With(Write(write, 0x10000), CompletionOf(posted, cqe, false)));
  cqe.opcode = IbWcOpcode::kRecv;
  posted = bench.host.Post(kQpn, {Host::Element(0x9000, 64)});
  const auto send = TokenOf({.opcode = BthOpcode::kUcSendOnlyWithImmediate, .solicited = true});
  bench.Expect(send, With(Scatter(send, 0, 0x9000, 64), CompletionOf(posted, cqe, true)));
}

TEST(ResponderUc, AMessageWithAGapIsDroppedAndTheNextOneStartsOverInItsReceive) {
  Ready bench(kUc);
  const Posted posted =
      bench.host.Post(kQpn, {Host::Element(0x1000, 600), Host::Element(0x3000, 600), Host::Element(0x5000, 5000)});
  const Posted next = bench.host.Post(kQpn, {Host::Element(0x9000, 5000)});
  const std::vector<RxToken> rest = {TokenOf({.opcode = BthOpcode::kUcSendMiddle, .psn = 2, .bytes = kMtu}),
                                     TokenOf({.opcode = BthOpcode::kUcSendLast, .psn = 3, .bytes = 8}),
                                     TokenOf({.opcode = BthOpcode::kUcSendLast, .psn = 1, .bytes = 8})};
  const auto first = TokenOf({.opcode = BthOpcode::kUcSendFirst, .psn = 0, .bytes = kMtu});
  for (unsigned i = 0; i < 3; ++i) {
    bench.Expect(first, {Scatter(first, 0, 0x1000, 600, kMore), Scatter(first, 600, 0x3000, kMtu - 600)});
    for (const auto& token : rest) bench.Expect(token, kDropped);
  }
  // Of another message, whole.
  bench.Expect(first, {Scatter(first, 0, 0x1000, 600, kMore), Scatter(first, 600, 0x3000, kMtu - 600)});
  const auto last = TokenOf({.opcode = BthOpcode::kUcSendLast, .psn = 1, .bytes = 200});
  bench.Expect(last, {Scatter(last, 0, 0x3000 + kMtu - 600, 1200 - kMtu, kMore),
                      Scatter(last, 1200 - kMtu, 0x5000, kMtu - 1000, Success(posted, kMtu + 200))});
  const auto only = TokenOf({.opcode = BthOpcode::kUcSendOnly, .bytes = 9});
  bench.Expect(only, Scatter(only, 0, 0x9000, 9, Success(next, 9)));
  bench.ExpectFailures({});
}

TEST(ResponderUc, AMessageThatBeginsInsideAnotherTakesItsReceive) {
  for (const bool write : {false, true}) {
    Ready bench(kUc);
    const Posted posted = bench.host.Post(kQpn, {Host::Element(0x9000, 5000)});
    const auto first = TokenOf({.opcode = BthOpcode::kUcSendFirst, .bytes = kMtu});
    bench.Expect(first, Scatter(first, 0, 0x9000, kMtu));
    // A WRITE without immediate data leaves it where it is.
    const auto other = TokenOf({.opcode = BthOpcode::kUcRdmaWriteOnly});
    bench.Expect(other, Write(other, 0x10000));
    if (write) {
      const auto only = TokenOf({.opcode = BthOpcode::kUcRdmaWriteOnlyWithImmediate});
      bench.Expect(only, With(Write(only, 0x10000), CompletionOf(posted,
                                                                 {.opcode = IbWcOpcode::kRecvRdmaWithImm,
                                                                  .byte_len = 64,
                                                                  .imm_data = {0x11, 0x22, 0x33, 0x44},
                                                                  .wc_flags = spec::IbWcFlags::kWithImm},
                                                                 false)));
    } else {
      const auto only = TokenOf({.opcode = BthOpcode::kUcSendOnly, .bytes = 10});
      bench.Expect(only, Scatter(only, 0, 0x9000, 10, Success(posted, 10)));
    }
    // It is not held any more.
    bench.SetState(IbQpState::kErr);
    bench.ExpectPlaces({});
  }
}

TEST(ResponderUc, AReceiveWithoutElementsStartsOver) {
  Ready bench(kUc);
  const Posted posted = bench.host.Post(kQpn, {Host::Element(0x9000, kMtu)});
  const auto first = TokenOf({.opcode = BthOpcode::kUcSendFirst, .bytes = kMtu});
  bench.Expect(first, Scatter(first, 0, 0x9000, kMtu));
  bench.Expect(TokenOf({.opcode = BthOpcode::kUcSendOnly, .bytes = 0}), Success(posted, 0));
}

TEST(ResponderUc, WhatAnIncompleteMessageHoldsIsFlushed) {
  Ready bench(kUc);
  const Posted posted = bench.host.Post(kQpn, {Host::Element(0x9000, 5000)});
  const Posted next = bench.host.Post(kQpn, {});
  const auto first = TokenOf({.opcode = BthOpcode::kUcSendFirst, .bytes = kMtu});
  bench.Expect(first, Scatter(first, 0, 0x9000, kMtu));
  bench.Expect(TokenOf({.opcode = BthOpcode::kUcSendLast, .psn = kFirstPsn + 7}), kDropped);
  bench.SetState(IbQpState::kErr);
  bench.ExpectPlaces({Flushed(posted), Flushed(next)});
}

TEST(ResponderUc, WhatIsNotAsItMustBeIsDroppedInSilence) {
  using O = BthOpcode;
  const std::vector<Packet> cases = {
      {.opcode = O::kUcSendMiddle, .bytes = kMtu},
      {.opcode = O::kUcSendLast},
      {.opcode = O::kUcRdmaWriteLast},
      {.opcode = O::kUcSendFirst, .bytes = kMtu - 1},
      {.opcode = O::kUcSendOnly, .bytes = kMtu + 1},
      {.opcode = O::kUcRdmaWriteOnly, .dma_length = 63},
      {.opcode = O::kUcRdmaWriteOnly, .dma_length = 65},
      {.opcode = O::kUcRdmaWriteFirst, .bytes = kMtu, .dma_length = kMtu},
      {.opcode = O::kUcRdmaWriteOnly, .rkey = kBadRkey},
      {.opcode = O::kUcRdmaWriteOnlyWithImmediate, .rkey = kBadRkey},
  };
  Ready bench(kUc);
  const Posted posted = bench.host.Post(kQpn, {Host::Element(0x9000, 64)});
  for (const Packet& packet : cases) bench.Expect(TokenOf(packet), kDropped);
  EXPECT_EQ(bench.request.count, 0u);
  bench.table.tokens.push_back(ContextOf({.type = spec::IbQpType::kUc, .remote_write = false}));
  bench.RunOut();
  bench.Expect(TokenOf({.opcode = O::kUcRdmaWriteOnly}), kDropped);
  EXPECT_EQ(bench.check.count, 2u);
  // A message that was refused in its middle is over.
  bench.table.tokens.push_back(ContextOf(kUc));
  bench.RunOut();
  const auto first = TokenOf({.opcode = O::kUcRdmaWriteFirst, .psn = 0, .bytes = kMtu, .dma_length = 2 * kMtu + 1});
  bench.Expect(first, Write(first, 0x10000));
  bench.Expect(TokenOf({.opcode = O::kUcRdmaWriteMiddle, .psn = 1, .bytes = kMtu - 1}), kDropped);
  bench.Expect(TokenOf({.opcode = O::kUcRdmaWriteMiddle, .psn = 1, .bytes = kMtu}), kDropped);
  // So is one to which a packet of another operation comes.
  bench.Expect(first, Write(first, 0x10000));
  bench.Expect(TokenOf({.opcode = O::kUcSendMiddle, .psn = 1, .bytes = kMtu}), kDropped);
  bench.Expect(TokenOf({.opcode = O::kUcRdmaWriteMiddle, .psn = 1, .bytes = kMtu}), kDropped);
  const auto only = TokenOf({.opcode = O::kUcSendOnly});
  bench.Expect(only, Scatter(only, 0, 0x9000, 64, Success(posted, 64)));
  bench.ExpectFailures({});
}

TEST(ResponderUc, WithoutAReceiveAMessageIsDropped) {
  for (const bool broken : {false, true}) {
    Ready bench(kUc);
    bench.host.broken[kQpn] = broken;
    bench.Expect(TokenOf({.opcode = BthOpcode::kUcSendFirst, .psn = 0, .bytes = kMtu}), kDropped);
    bench.Expect(TokenOf({.opcode = BthOpcode::kUcRdmaWriteOnlyWithImmediate}), kDropped);
    bench.host.broken[kQpn] = false;
    const Posted posted = bench.host.Post(kQpn, {Host::Element(0x9000, 5000)});
    bench.Expect(TokenOf({.opcode = BthOpcode::kUcSendLast, .psn = 1}), kDropped);
    const auto only = TokenOf({.opcode = BthOpcode::kUcSendOnly});
    bench.Expect(only, Scatter(only, 0, 0x9000, 64, Success(posted, 64)));
    bench.ExpectFailures({});
  }
}

TEST(ResponderUc, WhatAReceiveDoesNotAllowEndsTheConnectionWithoutAnAnswer) {
  const auto token = TokenOf({.opcode = BthOpcode::kUcSendOnly});
  const auto expect = [&](const std::vector<spec::RdmaSge>& list, IbWcStatus status, RdmaError code, RdmaError posted) {
    Ready bench(kUc);
    const Posted receive = bench.host.Post(kQpn, list, posted);
    bench.Expect(token, Failed(receive, status, static_cast<uint32_t>(code)));
    bench.ExpectFailures({Failure(RdmaEventType::kQpFatal, code)});
    bench.Expect(token, kDropped);
    bench.SetState(IbQpState::kErr);
    bench.ExpectPlaces({});
  };
  expect({}, IbWcStatus::kLocLenErr, RdmaError::kInvalidLength, RdmaError::kOk);
  expect({Host::Element(0x9000, 64, kBadLkey)}, IbWcStatus::kLocProtErr, RdmaError::kBadMrn, RdmaError::kOk);
  expect({Host::Element(0x9000, 64, kRkey)}, IbWcStatus::kLocProtErr, RdmaError::kBadAccessFlags, RdmaError::kOk);
  expect({}, IbWcStatus::kLocQpOpErr, RdmaError::kBadWqe, RdmaError::kBadWqe);
}

// --- Datagrams

struct Datagrams : Ready {
  explicit Datagrams(spec::IbQpType type = spec::IbQpType::kUd) : Ready({.type = type}) {}
  static Packet Datagram(uint16_t bytes, bool is_ipv6 = false) {
    return {.opcode = BthOpcode::kUdSendOnly, .psn = 0x123, .bytes = bytes, .is_ipv6 = is_ipv6};
  }
  // A run of the header, in front of more.
  static spec::RxPlace Header(const RxToken& token, uint32_t from, uint64_t address, uint32_t bytes) {
    auto place = Scatter(token, 0, address, bytes, kMore);
    place.offset = static_cast<uint16_t>(token.l3_offset + from);
    return place;
  }
  static spec::RxPlace Zeros(const RxToken& token, uint32_t from, uint64_t address, uint32_t bytes) {
    auto place = Header(token, 0, address, bytes);
    place.offset = static_cast<uint16_t>(from);
    place.zeros = true;
    return place;
  }
  static spec::RxPlace Received(const Posted& posted, uint32_t bytes, spec::RxPlace place = {},
                                bool immediate = false) {
    spec::RdmaCqReq cqe{.opcode = IbWcOpcode::kRecv,
                        .byte_len = bytes + spec::kRdmaUdGrhBytes,
                        .src_qp = 0x778899,
                        .wc_flags = spec::IbWcFlags::kGrh};
    if (immediate) {
      cqe.wc_flags |= spec::IbWcFlags::kWithImm;
      for (unsigned i = 0; i < 4; ++i) cqe.imm_data[i] = static_cast<uint8_t>(0x11 * (i + 1));
    }
    return With(place, CompletionOf(posted, cqe, false));
  }
};

TEST(ResponderUd, TheHeaderOfIpLiesInFrontOfThePayload) {
  for (const auto type : {spec::IbQpType::kUd, spec::IbQpType::kGsi}) {
    for (const uint16_t bytes : std::to_array<uint16_t>({1, 100, kMtu})) {
      Datagrams bench(type);
      const Posted first = bench.host.Post(kQpn, {Host::Element(0x9000, 5000)});
      const auto v4 = TokenOf(Datagrams::Datagram(bytes));
      bench.Expect(v4, {Datagrams::Zeros(v4, 0, 0x9000, 20), Datagrams::Header(v4, 0, 0x9014, 20),
                        Datagrams::Received(first, bytes, Scatter(v4, 0, 0x9028, bytes))});
      const Posted second = bench.host.Post(kQpn, {Host::Element(0x9000, 5000)});
      const auto v6 = TokenOf(Datagrams::Datagram(bytes, true));
      bench.Expect(v6, {Datagrams::Header(v6, 0, 0x9000, 40),
                        Datagrams::Received(second, bytes, Scatter(v6, 0, 0x9028, bytes))});
      bench.ExpectFailures({});
    }
  }
}

TEST(ResponderUd, NoDatagramEstablishesAnything) {
  for (const auto type : {spec::IbQpType::kUd, spec::IbQpType::kGsi}) {
    Ready bench({.type = type}, IbQpState::kRtr);
    bench.host.Post(kQpn, {Host::Element(0x9000, 5000)});
    bench.frame.tokens.push_back(TokenOf({.opcode = BthOpcode::kUdSendOnly}));
    ASSERT_EQ(bench.bench.RunOut(100), "");
    EXPECT_FALSE(Bench::Take(bench.places).empty());
    bench.ExpectFailures({});
  }
}

TEST(ResponderUd, ADatagramOfNothingHasAHeader) {
  Datagrams bench;
  const Posted posted = bench.host.Post(kQpn, {Host::Element(0x9000, 40)});
  const auto token = TokenOf(Datagrams::Datagram(0));
  bench.Expect(token, {Datagrams::Zeros(token, 0, 0x9000, 20), Datagrams::Header(token, 0, 0x9014, 20),
                       Datagrams::Received(posted, 0)});
}

TEST(ResponderUd, ImmediateDataLiesBehindTheDeth) {
  Datagrams bench;
  const Posted posted = bench.host.Post(kQpn, {Host::Element(0x9000, 64)});
  auto packet = Datagrams::Datagram(8, true);
  packet.opcode = BthOpcode::kUdSendOnlyWithImmediate;
  const auto token = TokenOf(packet);
  bench.Expect(token, {Datagrams::Header(token, 0, 0x9000, 40),
                       Datagrams::Received(posted, 8, Scatter(token, 0, 0x9028, 8), true)});
}

TEST(ResponderUd, ElementsMayEndAnywhere) {
  Datagrams bench;
  const Posted posted =
      bench.host.Post(kQpn, {Host::Element(0x1000, 15), Host::Element(0x2000, 15), Host::Element(0, 0, kBadLkey),
                             Host::Element(0x3000, 10), Host::Element(0x4000, 3), Host::Element(0x5000, 50)});
  const auto token = TokenOf(Datagrams::Datagram(50));
  bench.Expect(token,
               {Datagrams::Zeros(token, 0, 0x1000, 15), Datagrams::Zeros(token, 15, 0x2000, 5),
                Datagrams::Header(token, 0, 0x2005, 10), Datagrams::Header(token, 10, 0x3000, 10),
                Scatter(token, 0, 0x4000, 3, kMore), Datagrams::Received(posted, 50, Scatter(token, 3, 0x5000, 47))});
}

TEST(ResponderUd, OnlyTheQKeyDecidesWhoIsHeard) {
  Datagrams bench;
  const std::vector<std::function<void(RxToken&)>> dropped = {
      [](RxToken& t) { t.extension[0] ^= 0x80; },
      [](RxToken& t) { t.extension[3] ^= 1; },
      [](RxToken& t) { t.bth.pkey = 0x1234; },
      [](RxToken& t) { t.destination_mac[2] ^= 4; },
  };
  const Posted posted = bench.host.Post(kQpn, {Host::Element(0x9000, 5000)});
  for (const auto& change : dropped) {
    auto token = TokenOf(Datagrams::Datagram(8, true));
    change(token);
    bench.Expect(token, kDropped);
  }
  bench.Expect(TokenOf(Datagrams::Datagram(kMtu + 1, true)), kDropped);
  bench.Expect(TokenOf({.bytes = 0}), kDropped);  // of RC
  EXPECT_EQ(bench.request.count, 0u);
  auto token = TokenOf(Datagrams::Datagram(8, true));
  token.ip_source[3] ^= 1;
  token.ip_destination[3] ^= 1;
  token.bth.psn ^= 0xabcdef;
  bench.Expect(token,
               {Datagrams::Header(token, 0, 0x9000, 40), Datagrams::Received(posted, 8, Scatter(token, 0, 0x9028, 8))});
  bench.ExpectFailures({});
}

TEST(ResponderUd, EachPartOfADatagramTakesAKeyCheck) {
  // With answers one cycle after their questions, and one element: p + 12 + 1 + 2 and p + 15 + 1 + 3.
  for (const auto& [is_ipv6, latency] : {std::pair{true, 15u}, std::pair{false, 19u}}) {
    Datagrams bench;
    bench.host.Post(kQpn, {Host::Element(0x9000, 5000)});
    bench.frame.tokens.push_back(TokenOf(Datagrams::Datagram(8, is_ipv6)));
    const unsigned places = is_ipv6 ? 2 : 3;
    ASSERT_EQ(bench.bench.Run(latency), "");
    EXPECT_EQ(bench.place.count, places - 1);
    ASSERT_EQ(bench.bench.Run(1), "");
    EXPECT_EQ(bench.place.count, places);
  }
}

TEST(ResponderUd, WithoutAReceiveADatagramIsDropped) {
  Datagrams bench;
  const auto token = TokenOf(Datagrams::Datagram(8));
  bench.Expect(token, kDropped);
  bench.host.broken[kQpn] = true;
  bench.Expect(token, kDropped);
  bench.ExpectFailures({});
}

TEST(ResponderUd, WhatAReceiveDoesNotAllowTakesTheQpToErr) {
  const auto token = TokenOf(Datagrams::Datagram(8));
  const auto expect = [&](const std::vector<spec::RdmaSge>& list, const std::vector<spec::RxPlace>& before,
                          IbWcStatus status, RdmaError code, RdmaError posted = RdmaError::kOk) {
    Datagrams bench;
    const Posted receive = bench.host.Post(kQpn, list, posted);
    auto places = before;
    places.push_back(Failed(receive, status, static_cast<uint32_t>(code)));
    bench.Expect(token, places);
    bench.ExpectFailures({Failure(RdmaEventType::kQpFatal, code)});
    bench.Expect(token, kDropped);
    bench.SetState(IbQpState::kErr);
    bench.ExpectPlaces({});
  };
  const auto zeros = Datagrams::Zeros(token, 0, 0x9000, 20);
  const auto header = Datagrams::Header(token, 0, 0x9014, 20);
  expect({}, {}, IbWcStatus::kLocLenErr, RdmaError::kInvalidLength);
  expect({Host::Element(0x9000, 20)}, {zeros}, IbWcStatus::kLocLenErr, RdmaError::kInvalidLength);
  expect({Host::Element(0x9000, 47)}, {zeros, header, Scatter(token, 0, 0x9028, 7, kMore)}, IbWcStatus::kLocLenErr,
         RdmaError::kInvalidLength);
  expect({Host::Element(0x9000, 5000, kBadLkey)}, {}, IbWcStatus::kLocProtErr, RdmaError::kBadMrn);
  expect({Host::Element(0x9000, 40), Host::Element(0xa000, 8, kRkey)}, {zeros, header}, IbWcStatus::kLocProtErr,
         RdmaError::kBadAccessFlags);
  expect({}, {}, IbWcStatus::kLocQpOpErr, RdmaError::kQueueDmaError, RdmaError::kQueueDmaError);
}

// --- At random

// One of our own READs, and where its elements are.
struct OurRead {
  spec::ReadRecord record;
  std::vector<spec::RdmaSge> elements;
};

// What a responder does, frame by frame, as IBTA tells it.
struct Reference {
  struct Half {
    bool dead = false, gap = false, inside = false, send = false, holds = false, dead_reads = false;
    uint32_t psn = 0, msn = 0, rkey = 0, received = 0;
    uint64_t at = 0, left = 0;
    Posted held{};
    size_t element = 0;
    uint32_t used = 0;  // of the element
    // Of our oldest READ.
    uint32_t read_psn = 0, read_bytes = 0;
    size_t read_element = 0;
    uint32_t read_used = 0;
  };
  std::array<spec::IbQpType, kQps> type{};
  std::array<Half, kQps> halves{};
  std::array<bool, kQps> may_write{}, may_read{};
  std::array<unsigned, kQps> max_reads{}, given{};  // given: since the load, none of which has ended
  std::array<bool, kQps> repeated{};                // duplicates are among them
  std::array<std::deque<Posted>, kQps> posted{};
  std::array<std::deque<OurRead>, kQps> reads{};
  std::array<bool, kQps> broken{};
  std::vector<spec::RxPlace> places{};
  std::vector<spec::QpFailure> failures{};

  void Frame(const RxToken& t) {
    if (const auto last = Decide(t)) places.push_back(*last);
  }
  // What ERR flushes.
  std::vector<spec::RxPlace> Flush(uint32_t qpn) {
    std::vector<spec::RxPlace> result;
    const Half& h = halves[qpn];
    if (h.holds) result.push_back(Flushed(h.held, qpn));
    if (!broken[qpn]) {
      for (const auto& one : posted[qpn]) result.push_back(Flushed(one, qpn));
    }
    posted[qpn].clear();
    return result;
  }

 private:
  enum class Scattered { kAll, kShort, kKey };
  struct Part {
    bool zeros;
    uint32_t offset, bytes;
  };

  bool IsRc(uint32_t qpn) const { return type[qpn] == spec::IbQpType::kRc; }
  bool IsUd(uint32_t qpn) const { return !IsRc(qpn) && type[qpn] != spec::IbQpType::kUc; }
  // All but the last piece is said at once.
  Scattered Scatter(const std::vector<Part>& parts, const std::vector<spec::RdmaSge>& elements, size_t& element,
                    uint32_t& used, spec::RxPlace& place) {
    for (const Part& part : parts) {
      for (uint32_t done = 0; done < part.bytes;) {
        if (element == elements.size()) return Scattered::kShort;
        const auto& to = elements[element];
        const uint32_t bytes = std::min(part.bytes - done, to.length - used);
        if (bytes != 0 && to.lkey != kLkey) return Scattered::kKey;
        if (bytes != 0) {
          const auto where = Check({.key = kLkey, .address = to.addr + used, .bytes = bytes});
          place = {.zeros = part.zeros,
                   .offset = static_cast<uint16_t>(part.offset + done),
                   .address0 = where.address0,
                   .bytes0 = where.bytes0,
                   .address1 = where.address1,
                   .bytes1 = where.bytes1};
          if (&part != &parts.back() || done + bytes != part.bytes) {
            place.more = true;
            places.push_back(place);
            place = {};
          }
        }
        done += bytes;
        used += bytes;
        if (used == to.length && done < part.bytes) {
          ++element;
          used = 0;
        }
      }
    }
    return Scattered::kAll;
  }
  spec::RxPlace Refuse(const RxToken& t, RdmaEventType event, AethSyndrome syndrome,
                       std::optional<RdmaError> own = {}) {
    Half& h = halves[t.bth.dest_qp];
    h.dead = true;
    const bool rc = IsRc(t.bth.dest_qp);
    failures.push_back({.qpn = t.bth.dest_qp,
                        .event_type = rc ? event : RdmaEventType::kQpFatal,
                        .code = own ? static_cast<uint32_t>(*own) : static_cast<uint32_t>(syndrome)});
    return rc ? Answer(t.bth.psn, syndrome, h.msn, t.bth.dest_qp) : kDropped;
  }
  // Likewise, and the receive completes. `own`: what is told of it here; on RC what the peer is told, if `if_rc` is
  // not.
  spec::RxPlace Fail(const RxToken& t, const Posted& receive, IbWcStatus status, RdmaEventType event,
                     AethSyndrome syndrome, RdmaError own, bool if_rc) {
    halves[t.bth.dest_qp].inside = halves[t.bth.dest_qp].holds = false;
    const bool is_own = if_rc || !IsRc(t.bth.dest_qp);
    const auto place = Refuse(t, event, syndrome, is_own ? std::optional(own) : std::nullopt);
    return Failed(receive, status, is_own ? static_cast<uint32_t>(own) : static_cast<uint32_t>(syndrome), place,
                  t.bth.dest_qp);
  }
  // The next receive; none, and the place that says so.
  std::optional<Posted> Receive(const RxToken& t, spec::RxPlace& place) {
    const uint32_t qpn = t.bth.dest_qp;
    Half& h = halves[qpn];
    if (h.holds) return h.held;
    if (!IsRc(qpn) && (broken[qpn] || posted[qpn].empty())) {
      h.inside = false;
      place = kDropped;
      return {};
    }
    if (broken[qpn]) {
      place = Refuse(t, RdmaEventType::kQpFatal, AethSyndrome::kNakRemoteOperationalError);
      return {};
    }
    if (posted[qpn].empty()) {
      h.gap = true;
      place = NotReady(t.bth.psn, h.msn);
      place.answer.packet.qpn = qpn;
      return {};
    }
    const Posted receive = posted[qpn].front();
    posted[qpn].pop_front();
    if (receive.code == RdmaError::kOk) return receive;
    place = Fail(t, receive, IbWcStatus::kLocQpOpErr, RdmaEventType::kQpFatal, AethSyndrome::kNakRemoteOperationalError,
                 receive.code, true);
    return {};
  }
  // A response to one of our READs.
  spec::RxPlace Response(const RxToken& t) {
    Half& h = halves[t.bth.dest_qp];
    auto& queue = reads[t.bth.dest_qp];
    if (queue.empty() || h.dead_reads) return kDropped;
    const OurRead& read = queue.front();
    const uint32_t distance = Psn(t.bth.psn - read.record.first_psn - h.read_psn);
    if (distance >= 0x800000) return kDropped;
    spec::RxAck ack{.qpn = t.bth.dest_qp, .psn = t.bth.psn, .syndrome = 0x1f, .is_read = true};
    if (distance != 0) {
      ack.psn = Psn(read.record.first_psn + h.read_psn);
      ack.syndrome = static_cast<uint8_t>(AethSyndrome::kNakPsnSequenceError);
      return News(ack);
    }
    const auto fail = [&](IbWcStatus status, RdmaError code) {
      h.dead_reads = true;
      ack.msn = 0;
      ack.status = status;
      ack.syndrome = static_cast<uint8_t>(code);
      return News(ack);
    };
    const auto op = t.bth.opcode;
    const bool ends = op == BthOpcode::kRcRdmaReadResponseLast || op == BthOpcode::kRcRdmaReadResponseOnly;
    if (op != BthOpcode::kRcRdmaReadResponseMiddle) {
      if ((t.extension[0] & 0x60) != 0) return fail(IbWcStatus::kBadRespErr, RdmaError::kInvalidParameter);
      ack.syndrome = t.extension[0];
      ack.msn = static_cast<uint32_t>(t.extension[1] << 16 | t.extension[2] << 8 | t.extension[3]);
    }
    const uint32_t left = read.record.bytes - h.read_bytes;
    if (t.payload_bytes != std::min<uint32_t>(left, kMtu) || ends != (left <= kMtu)) {
      return fail(IbWcStatus::kBadRespErr, RdmaError::kInvalidLength);
    }
    spec::RxPlace place;
    switch (Scatter({{false, t.payload_offset, t.payload_bytes}}, read.elements, h.read_element, h.read_used, place)) {
      case Scattered::kShort: return fail(IbWcStatus::kLocLenErr, RdmaError::kInvalidLength);
      case Scattered::kKey: return fail(IbWcStatus::kLocProtErr, RdmaError::kBadMrn);
      case Scattered::kAll: break;
    }
    h.read_bytes += t.payload_bytes;
    ++h.read_psn;
    if (ends) {
      queue.pop_front();
      h.read_psn = h.read_bytes = h.read_used = 0;
      h.read_element = 0;
    }
    return News(ack, place);
  }
  // A READ of the peer. `expected`: no duplicate.
  spec::RxPlace Request(const RxToken& t, bool expected) {
    const uint32_t qpn = t.bth.dest_qp;
    Half& h = halves[qpn];
    const auto reth = spec::Reth::Decode(t.extension);
    const uint32_t packets =
        reth.dma_length == 0 ? 1 : static_cast<uint32_t>((uint64_t{reth.dma_length} + kMtu - 1) / kMtu);
    const bool legal = (!expected || !h.inside) && t.payload_bytes == 0 && reth.dma_length <= 1u << 31 &&
                       given[qpn] < max_reads[qpn] && (expected || packets <= Psn(h.psn - t.bth.psn));
    if (expected && given[qpn] >= max_reads[qpn] && repeated[qpn]) return kDropped;
    const bool allowed = may_read[qpn] && (reth.dma_length == 0 || reth.rkey == kRkey);
    if (!expected && (!legal || !allowed)) return kDropped;
    if (!legal) return Refuse(t, RdmaEventType::kQpReqErr, AethSyndrome::kNakInvalidRequest);
    if (!allowed) return Refuse(t, RdmaEventType::kQpAccessErr, AethSyndrome::kNakRemoteAccessError);
    ++given[qpn];
    if (!expected) repeated[qpn] = true;
    if (expected) {
      h.gap = false;
      h.psn = Psn(h.psn + packets);
      h.msn = Psn(h.msn + 1);
    }
    return Given({.psn = t.bth.psn,
                  .qpn = qpn,
                  .address = reth.virtual_address,
                  .rkey = reth.rkey,
                  .dma_length = reth.dma_length},
                 h.msn);
  }

  std::optional<spec::RxPlace> Decide(const RxToken& t) {
    const uint32_t qpn = t.bth.dest_qp;
    uint8_t peer[16];
    SetPeer(qpn, peer);
    uint8_t own[16];
    SetOwn(qpn, own);
    if (t.verdict == spec::RxVerdict::kNet) return spec::RxPlace{.net_bytes = t.frame_bytes};
    if (qpn >= kQps) return kDropped;
    Half& h = halves[qpn];
    const auto op = t.bth.opcode;
    const bool rc = IsRc(qpn), ud = IsUd(qpn);
    const auto service = static_cast<unsigned>(op) / 32;
    const auto code = static_cast<unsigned>(op) % 32;
    if (h.dead || service != (rc ? 0u : ud ? 3u : 1u) || t.bth.pkey != spec::kPkeyDefault) return kDropped;
    if (!std::equal(kMac.begin(), kMac.end(), t.destination_mac)) return kDropped;
    if (ud && spec::Deth::Decode(t.extension).qkey != kQkey) return kDropped;
    if (!ud && (!std::equal(peer, peer + 16, t.ip_source) || !std::equal(own, own + 16, t.ip_destination))) {
      return kDropped;
    }
    if (op == BthOpcode::kRcAcknowledge) {
      if (t.payload_bytes != 0) return kDropped;
      return News({.qpn = qpn,
                   .psn = t.bth.psn,
                   .syndrome = t.extension[0],
                   .msn = static_cast<uint32_t>(t.extension[1] << 16 | t.extension[2] << 8 | t.extension[3])});
    }
    if (rc && code >= 0x0d && code <= 0x10) return Response(t);
    if (op == BthOpcode::kRcAtomicAcknowledge) return kDropped;
    const uint32_t distance = Psn(t.bth.psn - h.psn);
    if (rc && distance >= 0x800000) {
      if (op == BthOpcode::kRcRdmaReadRequest) return Request(t, false);
      const bool write_or_send =
          code <= 0x0b || op == BthOpcode::kRcSendLastWithInvalidate || op == BthOpcode::kRcSendOnlyWithInvalidate;
      return write_or_send ? Answer(h.psn - 1, AethSyndrome::kAckNoCredits, h.msn, qpn) : kDropped;
    }
    if (rc && distance != 0) {
      if (std::exchange(h.gap, true)) return kDropped;
      return Answer(h.psn, AethSyndrome::kNakPsnSequenceError, h.msn, qpn);
    }
    if (op == BthOpcode::kRcRdmaReadRequest) return Request(t, true);
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
    const bool begins = first || only;
    bool order = h.inside ? !begins && send == h.send : begins;
    if (!rc) order = begins || (h.inside && send == h.send && distance == 0);
    if (!order || !fits) {
      h.inside = false;
      if (!rc) return kDropped;
      h.inside = h.holds;  // an ERR that follows completes the receive
      return Refuse(t, RdmaEventType::kQpReqErr, AethSyndrome::kNakInvalidRequest);
    }

    spec::RxPlace place;
    Posted receive;
    if (send) {
      if (begins) {
        const auto got = Receive(t, place);
        if (!got) return place;
        h.held = *got;
        h.element = h.used = 0;
        h.holds = true;
      }
      receive = h.held;
      std::vector<Part> parts;
      if (ud && !t.is_ipv6) parts.push_back({true, 0, 20});
      if (ud) parts.push_back({false, t.l3_offset, t.is_ipv6 ? 40u : 20u});
      parts.push_back({false, t.payload_offset, t.payload_bytes});
      switch (Scatter(parts, receive.elements, h.element, h.used, place)) {
        case Scattered::kShort:
          return Fail(t, receive, IbWcStatus::kLocLenErr, RdmaEventType::kQpReqErr, AethSyndrome::kNakInvalidRequest,
                      RdmaError::kInvalidLength, false);
        case Scattered::kKey:
          return Fail(t, receive, IbWcStatus::kLocProtErr, RdmaEventType::kQpFatal,
                      AethSyndrome::kNakRemoteOperationalError, RdmaError::kBadMrn, false);
        case Scattered::kAll: break;
      }
      // A zero's offset says nothing.
    } else {
      if (t.payload_bytes != 0 && (!may_write[qpn] || rkey != kRkey)) {
        h.inside = false;
        if (!rc) return kDropped;
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
    h.received = (begins ? 0 : h.received) + t.payload_bytes + (ud ? 40 : 0);
    h.send = send;
    h.inside = !ends;
    h.gap = false;
    h.msn = Psn(h.msn + ends);
    h.psn = Psn(t.bth.psn + 1);
    if (t.bth.ack_req && rc) {
      const auto answer = Answer(t.bth.psn, AethSyndrome::kAckNoCredits, h.msn, qpn);
      place.has_answer = true;
      place.answer = answer.answer;
    }
    if (ends && (send || immediate)) {
      spec::RdmaCqReq cqe{.opcode = send ? IbWcOpcode::kRecv : IbWcOpcode::kRecvRdmaWithImm, .byte_len = h.received};
      if (ud) {
        cqe.src_qp = spec::Deth::Decode(t.extension).source_qp;
        cqe.wc_flags = 1;
      }
      if (immediate) {
        std::copy_n(t.extension + (ud ? 8 : only && !send ? 16 : 0), 4, cqe.imm_data);
        cqe.wc_flags |= 2;
      }
      h.holds = false;
      place = With(place, CompletionOf(receive, cqe, t.bth.solicited_event, qpn));
    }
    return place;
  }
};

// Of so many elements one has a wrong key, of so many lists one is likely to be too short.
std::vector<spec::RdmaSge> SomeElements(std::mt19937_64& random, unsigned bad = 60, unsigned few = 24) {
  std::vector<spec::RdmaSge> elements;
  for (auto count = random() % 5; count != 0; --count) {
    const auto length = static_cast<uint32_t>(random() % 4 == 0 ? 0 : random() % (random() % 2 ? 40 : 2 * kMtu));
    elements.push_back(Host::Element(random(), length, random() % bad == 0 ? kBadLkey : kLkey));
  }
  if (random() % few != 0) elements.push_back(Host::Element(random(), 8 * kMtu));
  return elements;
}

// A host's receives: nearly always right and long enough.
void PostOne(std::mt19937_64& random, Host& host, uint32_t qpn) {
  host.Post(qpn, SomeElements(random), random() % 60 == 0 ? RdmaError::kBadWqe : RdmaError::kOk);
}

// Peers that are nearly always right.
class Peers {
 public:
  // What they answer: may be changed at any time.
  std::array<std::deque<spec::ReadRecord>, kQps> reads{};

  Peers(std::mt19937_64& random, std::array<uint32_t, kQps> psn, std::array<spec::IbQpType, kQps> type = AllRc())
      : random_(random), psn_(psn), type_(type) {}

  static std::array<spec::IbQpType, kQps> AllRc() {
    std::array<spec::IbQpType, kQps> type{};
    type.fill(spec::IbQpType::kRc);
    return type;
  }
  static std::array<spec::IbQpType, kQps> Mixed(std::mt19937_64& random) {
    auto type = AllRc();
    for (auto& one : type) {
      const auto pick = random() % 8;
      if (pick == 0) one = spec::IbQpType::kUd;
      if (pick == 1) one = spec::IbQpType::kGsi;
      if (pick == 2 || pick == 3) one = spec::IbQpType::kUc;
    }
    return type;
  }

  RxToken Next() {
    const auto qpn = static_cast<uint32_t>(random_() % kQps);
    const bool rc = type_[qpn] == spec::IbQpType::kRc;
    if (rc && !reads[qpn].empty() && One(3)) return Response(qpn);
    if (rc && One(5)) {
      RxToken ack = AckOf(static_cast<uint32_t>(random_()), static_cast<uint8_t>(random_()),
                          static_cast<uint32_t>(random_() & 0xffffff));
      ack.bth.dest_qp = qpn;
      SetPeer(qpn, ack.ip_source);
      SetOwn(qpn, ack.ip_destination);
      return ack;
    }
    Packet packet{.psn = psn_[qpn],
                  .ack_req = One(2),
                  .qpn = qpn,
                  .address = random_(),
                  .solicited = One(3),
                  .immediate = static_cast<uint32_t>(random_()),
                  .source_qp = static_cast<uint32_t>(random_() & 0xffffff),
                  .is_ipv6 = One(2)};
    uint32_t left = left_[qpn];
    uint32_t packets = 1;
    const bool begins = left == 0;
    if (begins && rc && One(5)) {
      packet.opcode = BthOpcode::kRcRdmaReadRequest;
      packet.bytes = 0;
      packet.dma_length = static_cast<uint32_t>(One(4) ? random_() % 3 : random_() % (10 * kMtu));
      if (One(20)) packet.dma_length = static_cast<uint32_t>(random_());
      packets = *packet.dma_length == 0 ? 1 : (*packet.dma_length - 1) / kMtu + 1;
    } else {
      if (begins) {
        left = static_cast<uint32_t>(random_() % (One(2) ? kMtu + 1 : 6 * kMtu));
        packet.dma_length = left;
        send_[qpn] = One(2);
      }
      const bool ud = !rc && type_[qpn] != spec::IbQpType::kUc;
      const bool ends = left <= kMtu || ud;
      const unsigned position = ends ? (begins ? 4 : 2) + (One(3) ? 1 : 0) : begins ? 0 : 1;
      const unsigned service = rc ? 0 : ud ? 0x60 : 0x20;
      packet.opcode = static_cast<BthOpcode>(service + position + (send_[qpn] || ud ? 0 : 6));
      packet.bytes = static_cast<uint16_t>(std::min<uint32_t>(left, kMtu));
      left = ud ? 0 : left - packet.bytes;
    }

    bool wrong = false;
    const auto sometimes = [&](unsigned of) {
      const bool now = One(of);
      wrong |= now;
      return now;
    };
    if (sometimes(12)) packet.psn -= static_cast<uint32_t>(random_() % (One(2) ? 20 : 0x800000));
    if (sometimes(40)) packet.psn += static_cast<uint32_t>(random_() % 0x800000);
    if (sometimes(60)) packet.opcode = static_cast<BthOpcode>(random_() % (One(4) ? 256 : 32));
    if (sometimes(200)) packet.bytes = static_cast<uint16_t>(random_() % 9000);
    if (sometimes(60)) packet.rkey = kBadRkey;
    if (sometimes(60)) packet.qkey ^= 1u << random_() % 32;
    return Send(packet, wrong, sometimes, [&] {
      psn_[qpn] = Psn(psn_[qpn] + packets);
      left_[qpn] = left;
    });
  }

 private:
  bool One(unsigned of) { return random_() % of == 0; }

  template <typename Sometimes, typename Done>
  RxToken Send(const Packet& packet, const bool& wrong, const Sometimes& sometimes, const Done& done) {
    RxToken token = TokenOf(packet);
    // The parser lets unknown opcodes pass only if they are of RC.
    if (!token.info.valid && static_cast<uint8_t>(packet.opcode) >= 0x20) token = TokenOf({});
    token.frame_bytes = static_cast<uint16_t>(1 + random_() % 0x3fff);
    if (sometimes(30)) token.verdict = spec::RxVerdict::kNet;
    if (sometimes(50)) token.ip_source[random_() % 16] ^= static_cast<uint8_t>(1u << random_() % 8);
    if (sometimes(100)) token.ip_destination[random_() % 16] ^= static_cast<uint8_t>(1u << random_() % 8);
    if (sometimes(100)) token.destination_mac[random_() % 6] ^= static_cast<uint8_t>(1u << random_() % 8);
    if (sometimes(100)) token.bth.pkey = static_cast<uint16_t>(random_() & 0x7ffe);
    if (sometimes(100)) token.bth.dest_qp = static_cast<uint32_t>(random_() % (uint64_t{2} * kQps));
    // Most of what is wrong comes beside the right packet, the rest instead of it.
    if (wrong && !One(4)) return token;
    done();
    return token;
  }
  RxToken Response(uint32_t qpn) {
    const spec::ReadRecord& read = reads[qpn].front();
    uint32_t& at = read_[qpn];
    const uint32_t left = read.bytes - std::min(at * kMtu, read.bytes);
    const bool begins = at == 0, ends = left <= kMtu;
    const auto base = static_cast<unsigned>(BthOpcode::kRcRdmaReadResponseFirst);
    Packet packet{.opcode = static_cast<BthOpcode>(base + (ends     ? (begins ? 3 : 2)
                                                           : begins ? 0
                                                                    : 1)),
                  .psn = read.first_psn + at,
                  .bytes = static_cast<uint16_t>(std::min<uint32_t>(left, kMtu)),
                  .ack_req = false,
                  .qpn = qpn};
    bool wrong = false;
    const auto sometimes = [&](unsigned of) {
      const bool now = One(of);
      wrong |= now;
      return now;
    };
    if (sometimes(12)) packet.psn -= static_cast<uint32_t>(random_() % (One(2) ? 5 : 0x800000));
    if (sometimes(12)) packet.psn += static_cast<uint32_t>(random_() % (One(2) ? 5 : 0x800000));
    if (sometimes(60)) packet.opcode = static_cast<BthOpcode>(base + random_() % 4);
    if (sometimes(100)) packet.bytes = static_cast<uint16_t>(random_() % 9000);
    uint8_t syndrome = static_cast<uint8_t>(random_() % 32);
    if (sometimes(60)) syndrome = static_cast<uint8_t>(random_());
    RxToken token = Send(packet, wrong, sometimes, [&] {
      ++at;
      if (!ends) return;
      at = 0;
      reads[qpn].pop_front();
    });
    if (token.info.has_aeth) {
      token.extension[0] = syndrome;
      for (unsigned i = 1; i < 4; ++i) token.extension[i] = static_cast<uint8_t>(random_());
    }
    return token;
  }

  std::mt19937_64& random_;
  std::array<uint32_t, kQps> psn_;
  std::array<spec::IbQpType, kQps> type_;
  std::array<uint32_t, kQps> left_{};
  std::array<bool, kQps> send_{};
  std::array<uint32_t, kQps> read_{};  // packets of its first READ that were sent
};

struct Rates {
  unsigned frame, memory, check, place, record, failure, receive = 16, request = 16;
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
  bench.record.rate = rates.record;
  bench.failure.rate = rates.failure;
  bench.receive.rate = rates.receive;
  bench.request.rate = rates.request;
}

// With frames held now and then, and not any more at the end.
std::string RunHeld(Bench& bench, uint64_t cycles) {
  bench.hold.toggles = 1 + static_cast<unsigned>(bench.random() % 8);
  if (std::string difference = bench.bench.Run(cycles); !difference.empty()) return difference;
  bench.hold.toggles = 0;
  bench.hold.on = false;
  return bench.bench.Run(2);
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
    std::array<unsigned, kQps> ended{};  // READs of the peers, of all rounds
    for (unsigned round = 0; round < 14; ++round) {
      std::array<uint32_t, kQps> psn{};
      reference.type = Peers::Mixed(bench.random);
      for (uint32_t qpn = 0; qpn < kQps; ++qpn) {
        psn[qpn] = static_cast<uint32_t>(bench.random() & 0xffffff);
        reference.halves[qpn] = {.psn = psn[qpn]};
        reference.may_write[qpn] = bench.random() % 8 != 0;
        bench.host.queues[qpn].clear();
        for (auto count = bench.random() % 12; count != 0; --count) PostOne(bench.random, bench.host, qpn);
        bench.host.broken[qpn] = bench.random() % 32 == 0;
        reference.posted[qpn] = bench.host.queues[qpn];
        reference.broken[qpn] = bench.host.broken[qpn];
        reference.may_read[qpn] = bench.random() % 8 != 0;
        reference.max_reads[qpn] = bench.random() % 3 == 0 ? static_cast<unsigned>(bench.random() % 5) : 200;
        ended[qpn] += reference.given[qpn];
        reference.given[qpn] = 0;
        reference.repeated[qpn] = false;
        bench.ended.tokens.push_back({.qpn = qpn, .ended = static_cast<uint8_t>(ended[qpn])});
        bench.Configure({.qpn = qpn,
                         .type = reference.type[qpn],
                         .remote_write = reference.may_write[qpn],
                         .remote_read = reference.may_read[qpn],
                         .max_reads = static_cast<uint8_t>(reference.max_reads[qpn])},
                        IbQpState::kRts, psn[qpn]);
      }
      bench.host.elements.clear();
      Peers peers(bench.random, psn, reference.type);
      for (uint32_t qpn = 0; qpn < kQps; ++qpn) {
        reference.reads[qpn].clear();
        auto at = static_cast<uint32_t>(bench.random());
        for (auto count = bench.random() % (kReads + 1); count != 0; --count) {
          const auto elements = SomeElements(bench.random, 20, 8);
          const auto bytes = static_cast<uint32_t>(bench.random() % (bench.random() % 2 ? kMtu + 1 : 6 * kMtu));
          const auto record = RecordOf(bench.host, qpn, at, bytes, elements);
          reference.reads[qpn].push_back({record, elements});
          bench.record.tokens.push_back(record);
          peers.reads[qpn].push_back(record);
          at = record.last_psn + 1 + static_cast<uint32_t>(bench.random() % 3);
        }
      }
      ASSERT_EQ(RunUntilIdle(bench), "");
      for (unsigned i = 0; i < 250; ++i) {
        bench.frame.tokens.push_back(peers.Next());
        reference.Frame(bench.frame.tokens.back());
      }
      ASSERT_EQ(RunHeld(bench, 1500), "");
      ASSERT_EQ(RunUntilIdle(bench), "");
      const auto places = Bench::Take(bench.places);
      for (size_t i = 0; i < std::min(places.size(), reference.places.size()); ++i) {
        ASSERT_EQ(places[i], reference.places[i])
            << i << "\ngot      " << TokenText(places[i]) << "\nexpected " << TokenText(reference.places[i]);
        if (places[i].has_answer) ++seen["syndrome " + std::to_string(places[i].answer.packet.extension[0])];
        acks += places[i].has_ack && !places[i].ack.is_read;
        if (places[i].has_ack && places[i].ack.is_read) {
          ++seen["response " + std::string(spec::ToString(places[i].ack.status))];
          seen["gap"] += places[i].ack.syndrome == static_cast<uint8_t>(AethSyndrome::kNakPsnSequenceError);
        }
        seen["read"] += places[i].has_answer && places[i].answer.is_read;
        seen["zeros"] += places[i].zeros;
        seen["net"] += places[i].net_bytes != 0;
        if (places[i].has_completion) {
          const auto cqe = spec::RdmaCqReq::Decode(places[i].completion.cqe);
          ++seen["status " + std::string(spec::ToString(cqe.status))];
          ++seen["opcode " + std::string(spec::ToString(cqe.opcode))];
        }
        seen["more"] += places[i].more;
        seen["write"] += places[i].bytes0 != 0;
        seen["dropped"] += places[i] == kDropped;
      }
      ASSERT_EQ(places.size(), reference.places.size());
      reference.places.clear();
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
  for (const auto* const what : {"response success", "response loc_len_err", "response loc_prot_err",
                                 "response bad_resp_err", "gap", "read", "zeros", "net"}) {
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
    const auto type = Peers::Mixed(bench.random);
    for (uint32_t qpn = 0; qpn < kQps; ++qpn) bench.Configure({.qpn = qpn, .type = type[qpn]}, IbQpState::kRts, 0);
    Peers peers(bench.random, {}, type);
    for (unsigned i = 0; i < 300; ++i) {
      const auto qpn = static_cast<uint32_t>(bench.random() % kQps);
      if (bench.random() % 4 == 0) {
        PostOne(bench.random, bench.host, qpn);
        heads[qpn].push_back(bench.host.queues[qpn].back().head);
        bench.doorbell.tokens.push_back({.vq_index = static_cast<uint16_t>(kFirstReceiveQueue + 2 * qpn)});
      }
      for (unsigned n = 0; n < 3; ++n) bench.frame.tokens.push_back(peers.Next());
      if (bench.random() % 40 == 0) bench.qp_state.tokens.push_back({.qpn = qpn, .state = IbQpState::kErr});
      bench.hold.on = bench.random() % 8 == 0;
      ASSERT_EQ(bench.bench.Run(bench.random() % 60), "");
    }
    bench.hold.on = false;
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
    auto type = Peers::Mixed(bench.random);
    for (uint32_t qpn = 0; qpn < kQps; ++qpn) {
      bench.table.tokens.push_front(ContextOf({.qpn = qpn, .type = type[qpn]}));
      bench.qp_state.tokens.push_front({.qpn = qpn, .state = IbQpState::kRts});
    }
    Peers peers(bench.random, {}, type);
    std::array<uint32_t, kQps> read_psn{};
    bench.record.rate = rates.record == 16 ? 2 : 16;
    bench.ended.rate = 1;
    for (unsigned i = 0; i < 3000; ++i) {
      const auto qpn = static_cast<uint32_t>(bench.random() % kQps);
      if (bench.random() % 8 == 0) {
        const auto bytes = static_cast<uint32_t>(bench.random() % (4 * kMtu));
        const auto record = RecordOf(bench.host, qpn, read_psn[qpn], bytes, SomeElements(bench.random));
        bench.record.tokens.push_back(record);
        peers.reads[qpn].push_back(record);
        read_psn[qpn] = Psn(record.last_psn + 1 + static_cast<uint32_t>(bench.random() % 3));
        // Once more, as a retry says it.
        if (bench.random() % 8 == 0) bench.record.tokens.push_back(record);
      }
      if (bench.random() % 8 == 0) {
        bench.ended.tokens.push_back({.qpn = qpn, .ended = static_cast<uint8_t>(bench.random() % 40)});
      }
      bench.frame.tokens.push_back(peers.Next());
    }
    for (unsigned i = 0; i < 800; ++i) {
      const auto qpn = static_cast<uint32_t>(bench.random() % kQps);
      bench.load.tokens.push_back({.qpn = qpn, .psn = static_cast<uint32_t>(bench.random() % 200)});
      bench.doorbell.tokens.push_back({.vq_index = static_cast<uint16_t>(bench.random() % 64)});
      auto write =
          ContextOf({.qpn = qpn,
                     .type = bench.random() % 8 == 0 ? static_cast<spec::IbQpType>(bench.random() % 5) : type[qpn],
                     .valid = bench.random() % 8 != 0,
                     .remote_write = bench.random() % 4 != 0,
                     .remote_read = bench.random() % 4 != 0,
                     .max_reads = static_cast<uint8_t>(bench.random() % 64)});
      if (bench.random() % 4 == 0) write.table_id = spec::MgmtTable::kMr;
      bench.table.tokens.push_back(write);
      bench.qp_state.tokens.push_back(
          {.qpn = qpn,
           .state = static_cast<IbQpState>(bench.random() % 3 == 0 ? bench.random() % 7 : 2 + bench.random() % 2),
           .clear = bench.random() % 4 == 0});
    }
    bench.qp_state.rate = 2;
    bench.contexts.period = 97;
    for (unsigned i = 0; i < 100; ++i) {
      bench.contexts.Flip(spec::ContextRam::kResponderQp, static_cast<uint32_t>(bench.random() % kQps),
                          static_cast<uint32_t>(bench.random() % 1024));
    }
    ASSERT_EQ(RunHeld(bench, 20'000), "");
    ASSERT_EQ(bench.bench.RunOut(200), "");
    ASSERT_EQ(RunUntilIdle(bench), "");
    uint64_t frames = 0, flushed = 0;
    for (const auto& place : Bench::Take(bench.places)) {
      frames += !place.no_frame && !place.more;
      flushed += place.no_frame;
    }
    EXPECT_EQ(frames, 3000u);
    EXPECT_GT(flushed, 20u);
    EXPECT_GT(bench.contexts.errors.size(), 20u);
    uint64_t established = 0;
    for (const auto& failure : Bench::Take(bench.failures)) {
      established += failure.event_type == RdmaEventType::kCommEst;
    }
    EXPECT_GT(established, 5u);
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
    for (uint32_t qpn = 0; qpn < kQps; ++qpn) {
      const auto record = RecordOf(bench.host, qpn, 0, 3 * kMtu, SomeElements(bench.random));
      bench.record.tokens.push_back(record);
      peers.reads[qpn].push_back(record);
    }
    for (unsigned n = 0; n < 200; ++n) bench.frame.tokens.push_back(peers.Next());
    for (uint32_t qpn = 0; qpn < kQps; ++qpn) bench.qp_state.tokens.push_back({.qpn = qpn, .state = IbQpState::kErr});
    bench.qp_state.rate = 1;
    bench.hold.toggles = 2;
    ASSERT_EQ(bench.bench.Run(50 + bench.random() % 200), "");
  }
}

}  // namespace
}  // namespace vireo::verif
