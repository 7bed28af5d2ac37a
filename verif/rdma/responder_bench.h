// SPDX-License-Identifier: Apache-2.0
// Test bench of the responder: packets, receives and key checks to feed it, its outputs in the tests' notation, and the
// bench that runs model and RTL in step.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "Vresponder_16.h"
#include "model/rdma/responder.h"
#include "sim/common/seed.h"
#include "spec/gen/vireo_spec.h"
#include "verif/common/block_bench.h"
#include "verif/common/context_bench.h"
#include "verif/common/level_bench.h"
#include "verif/rdma/grant_bench.h"
#include "verif/rdma/hold_bench.h"

namespace vireo::verif {

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

inline constexpr uint32_t kQps = 16;
inline constexpr uint32_t kQpn = 5;
inline constexpr uint32_t kFirstPsn = 0xffffee;  // wraps soon
inline constexpr uint16_t kMtu = 1024;
inline constexpr uint32_t kRkey = 0x1234501;
inline constexpr uint32_t kBadRkey = 0x1234502;
inline constexpr uint32_t kLkey = 0x2345601;
inline constexpr uint32_t kBadLkey = 0x2345602;
inline constexpr uint16_t kPdn = 77;
inline constexpr uint16_t kCqn = 9;
inline constexpr uint8_t kRnrTimer = 13;
// As the Verilated class was built.
inline constexpr uint32_t kNetQueuePairs = 3;
inline constexpr uint32_t kNumCqs = 16;
// Without net_feature.mq.
inline constexpr uint16_t kFirstReceiveQueue = 2 + kNumCqs + spec::kRdmaReceiveqOffset;
inline constexpr uint32_t kReads = 4;
inline constexpr std::array<uint8_t, 6> kMac = {0x02, 0x13, 0x24, 0x35, 0x46, 0x57};
inline constexpr uint32_t kQkey = 0x11223344;

inline uint32_t Psn(uint32_t value) { return value & 0xffffff; }

// --- Stimuli

struct Qp {
  uint32_t qpn = kQpn;
  spec::IbQpType type = spec::IbQpType::kRc;
  spec::IbMtu mtu = spec::IbMtu::kMtu1024;
  bool valid = true;
  bool remote_write = true;
  bool remote_read = true;
  bool remote_atomic = true;
  bool flush_global = true;
  bool flush_persistent = true;
  uint8_t max_reads = kReads;
  std::optional<uint16_t> srq = {};
};

inline void SetPeer(uint32_t qpn, uint8_t (&gid)[16]) {
  for (unsigned i = 0; i < 16; ++i) gid[i] = static_cast<uint8_t>(16 * i + qpn);
}
// Our own address on this QP's path.
inline void SetOwn(uint32_t qpn, uint8_t (&gid)[16]) {
  for (unsigned i = 0; i < 16; ++i) gid[i] = static_cast<uint8_t>(0xff - 13 * i - qpn);
}

inline spec::TableWrite ContextOf(const Qp& qp) {
  spec::TableQpContext context;
  context.valid = qp.valid;
  context.qp_type = qp.type;
  context.path_mtu = qp.mtu;
  context.remote_write = qp.remote_write;
  context.remote_read = qp.remote_read;
  context.remote_atomic = qp.remote_atomic;
  context.flush_global = qp.flush_global;
  context.flush_persistent = qp.flush_persistent;
  context.max_dest_rd_atomic = qp.max_reads;
  context.qkey = kQkey;
  context.pdn = kPdn;
  context.recv_cqn = kCqn;
  context.min_rnr_timer = kRnrTimer;
  context.has_srq = qp.srq.has_value();
  context.srq = qp.srq.value_or(0);
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
  std::optional<uint32_t> dma_length = std::nullopt;  // RETH; otherwise the payload's length
  bool solicited = false;
  uint32_t immediate = 0x11223344;  // first byte most significant
  uint32_t qkey = kQkey;            // DETH
  uint32_t source_qp = 0x778899;    // DETH
  bool is_ipv6 = false;
  uint64_t swap_add = 0x1122334455667788;  // AtomicETH; of an atomic acknowledge the original value; of FLUSH the FETH
  uint64_t compare = 0x99aabbccddeeff00;
};

inline bool IsAtomic(BthOpcode opcode) {
  return opcode == BthOpcode::kRcCompareSwap || opcode == BthOpcode::kRcFetchAdd;
}

inline RxToken TokenOf(const Packet& packet) {
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
  if (packet.opcode == BthOpcode::kRcFlush) {
    token.extension[spec::Reth::kBytes + 3] = static_cast<uint8_t>(packet.swap_add);
  }
  if (packet.opcode == BthOpcode::kRcAtomicWrite && packet.bytes == 8) {
    for (unsigned i = 0; i < 8; ++i) {
      token.extension[spec::Reth::kBytes + i] = static_cast<uint8_t>(packet.swap_add >> 8 * i);
    }
  }
  if (token.info.has_atomic_eth) {
    spec::AtomicEth{.virtual_address = packet.address,
                    .rkey = packet.rkey,
                    .swap_add_data = packet.swap_add,
                    .compare_data = packet.compare}
        .Encode(token.extension);
  }
  if (token.info.has_atomic_ack_eth) {
    spec::AtomicAckEth{.original_data = packet.swap_add}.Encode(token.extension + spec::Aeth::kBytes);
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

inline RxToken AckOf(uint32_t psn, uint8_t syndrome, uint32_t msn) {
  RxToken token = TokenOf({.opcode = BthOpcode::kRcAcknowledge, .psn = psn, .bytes = 0, .ack_req = false});
  spec::Aeth aeth;
  aeth.msn = msn;
  aeth.Encode(token.extension);
  token.extension[0] = syndrome;
  return token;
}

// A frame of the net path; the other fields of the token are ignored.
inline RxToken NetOf(uint16_t bytes) {
  RxToken token = TokenOf({});
  token.verdict = spec::RxVerdict::kNet;
  token.frame_bytes = bytes;
  return token;
}

// The key check's answer: two runs for odd addresses, and keys that do not exist.
inline spec::MemoryPlace Check(const spec::MemoryCheck& check) {
  if (check.key != kRkey && check.key != kLkey) return {.status = MemoryStatus::kKey};
  spec::MemoryPlace place{.status = MemoryStatus::kOk, .address0 = ~check.address};
  if (check.bytes > 4096 || check.invalidate) return {.status = MemoryStatus::kOk};
  place.bytes0 = static_cast<uint16_t>(check.bytes);
  if (check.bytes != 0) place.grant = GrantOf(check.address);
  if (check.address % 2 != 0 && check.bytes > 1) {
    place.bytes0 = static_cast<uint16_t>(check.bytes / 2);
    place.address1 = check.address + 0x1000;
    place.bytes1 = static_cast<uint16_t>(check.bytes - place.bytes0);
  }
  return place;
}

inline spec::RxPlace Answer(uint32_t psn, AethSyndrome syndrome, uint32_t msn, uint32_t qpn = kQpn) {
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
inline spec::RxPlace Ack(uint32_t psn, uint32_t msn) { return Answer(psn, AethSyndrome::kAckNoCredits, msn); }

// A READ that goes to the read responder.
inline spec::RxPlace Given(const Packet& packet, uint32_t msn) {
  spec::RxPlace place = Answer(packet.psn, AethSyndrome::kAckNoCredits, msn, packet.qpn);
  place.answer.packet.opcode = {};
  place.answer.is_read = true;
  place.answer.address = packet.address;
  place.answer.rkey = packet.rkey;
  place.answer.bytes = packet.dma_length.value_or(packet.bytes);
  return place;
}
// Likewise, an atomic operation.
inline spec::RxPlace GivenAtomic(const Packet& packet, uint32_t msn, bool is_duplicate = false) {
  spec::RxPlace place = Given(packet, msn);
  place.answer.packet.opcode = packet.opcode;
  place.answer.bytes = 8;
  place.answer.is_duplicate = is_duplicate;
  uint8_t* at = place.answer.packet.extension + spec::Aeth::kBytes;
  for (unsigned i = 0; i < 8; ++i) at[i] = static_cast<uint8_t>(packet.swap_add >> (56 - 8 * i));
  for (unsigned i = 0; i < 8; ++i) at[8 + i] = static_cast<uint8_t>(packet.compare >> (56 - 8 * i));
  return place;
}
// Likewise, an ATOMIC WRITE: length and value, which has the order of memory.
inline spec::RxPlace GivenStore(const Packet& packet, uint32_t msn, bool is_duplicate = false) {
  spec::RxPlace place = GivenAtomic(packet, msn, is_duplicate);
  uint8_t* at = place.answer.packet.extension + spec::Aeth::kBytes;
  std::fill_n(at, 16, uint8_t{0});
  at[3] = 8;
  for (unsigned i = 0; i < 8; ++i) at[4 + i] = static_cast<uint8_t>(packet.swap_add >> 8 * i);
  return place;
}
// Likewise, a FLUSH: length and FETH. One of no bytes is a READ of none.
inline spec::RxPlace GivenFlush(const Packet& packet, uint32_t msn, bool is_duplicate = false) {
  const bool whole = (packet.swap_add & 0x30) == 0x10;
  const uint32_t length = packet.dma_length.value_or(packet.bytes);
  if (!whole && length == 0) return Given(packet, msn);
  spec::RxPlace place = GivenAtomic(packet, msn, is_duplicate);
  place.answer.bytes = 1;
  uint8_t* at = place.answer.packet.extension + spec::Aeth::kBytes;
  std::fill_n(at, 16, uint8_t{0});
  for (unsigned i = 0; i < 4; ++i) at[i] = static_cast<uint8_t>(length >> (24 - 8 * i));
  at[7] = static_cast<uint8_t>(packet.swap_add);
  return place;
}
// An acknowledge for the completer, behind what `place` writes.
inline spec::RxPlace News(const spec::RxAck& ack, spec::RxPlace place = {}) {
  place.has_ack = true;
  place.ack = ack;
  return place;
}

// A place that writes the packet's payload.
inline spec::RxPlace Write(const RxToken& token, uint64_t address, spec::RxPlace answer = {}) {
  const auto to =
      Check({.key = kRkey, .pdn = kPdn, .remote_write = true, .address = address, .bytes = token.payload_bytes});
  answer.offset = token.payload_offset;
  answer.address0 = to.address0;
  answer.bytes0 = to.bytes0;
  answer.address1 = to.address1;
  answer.bytes1 = to.bytes1;
  answer.grant = to.grant;
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

// recv_queue from the responder's view.
struct Host {
  std::array<std::deque<Posted>, kQps> queues{};
  std::array<bool, kQps> broken{};
  std::map<uint64_t, spec::RdmaSge> elements{};  // by their address
  std::vector<spec::ReceiveRequest> asked{};
  uint64_t next = 0x7000'0000;
  uint16_t posts = 0;
  std::map<uint32_t, uint8_t> reads{};  // outgoing, by QP

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
    // A UC message that reuses a receive reads the first one, too.
    for (size_t i = 0; i < posted.elements.size(); ++i) {
      elements[receive.elements + spec::RdmaSge::kBytes * i] = posted.elements[i];
    }
    return receive;
  }
};

// The completion of a receive: with the common fields.
inline spec::Completion CompletionOf(const Posted& posted, spec::RdmaCqReq cqe, bool solicited, uint32_t qpn = kQpn) {
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
inline spec::RxPlace With(spec::RxPlace place, const spec::Completion& completion) {
  place.has_completion = true;
  place.completion = completion;
  place.answer.packet.qpn = spec::RdmaCqReq::Decode(completion.cqe).qp_num;
  return place;
}
// What becomes of a place whose writes the host takes: the rest is for refused ones.
inline spec::RxPlace Taken(spec::RxPlace place) {
  place.request = place.acknowledged = place.uses_receive = place.ends_message = false;
  if (!place.has_answer) place.answer = {};
  return place;
}
inline std::vector<spec::RxPlace> Taken(std::vector<spec::RxPlace> places) {
  for (auto& place : places) place = Taken(place);
  return places;
}
inline spec::RxPlace Success(const Posted& posted, uint32_t bytes, spec::RxPlace place = {}, bool solicited = false) {
  return With(place, CompletionOf(posted, {.opcode = IbWcOpcode::kRecv, .byte_len = bytes}, solicited));
}
inline spec::RxPlace Failed(const Posted& posted, IbWcStatus status, uint32_t vendor_err,
                            const spec::RxPlace& place = {}, uint32_t qpn = kQpn) {
  return With(place, CompletionOf(posted, {.status = status, .opcode = IbWcOpcode::kRecv, .vendor_err = vendor_err},
                                  true, qpn));
}
inline spec::RxPlace Flushed(const Posted& posted, uint32_t qpn = kQpn) {
  return Failed(posted, IbWcStatus::kWrFlushErr, 0, {.no_frame = true}, qpn);
}
// A run of a frame that goes to an element.
inline spec::RxPlace Scatter(const RxToken& token, uint32_t from, uint64_t address, uint32_t bytes,
                             spec::RxPlace place = {}) {
  const auto to = Check({.key = kLkey, .address = address, .bytes = static_cast<uint16_t>(bytes)});
  place.offset = static_cast<uint16_t>(token.payload_offset + from);
  place.address0 = to.address0;
  place.bytes0 = to.bytes0;
  place.address1 = to.address1;
  place.bytes1 = to.bytes1;
  place.grant = to.grant;
  return place;
}
inline const spec::RxPlace kMore{.more = true};

inline spec::ReadRecord RecordOf(Host& host, uint32_t qpn, uint32_t psn, uint32_t bytes,
                                 const std::vector<spec::RdmaSge>& elements) {
  spec::ReadRecord record{.qpn = qpn,
                          .number = host.reads[qpn]++,
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

// idle_o in each cycle equals the model's state after the cycle before.
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
      add(top.receive_retry_ready_o);
      add(top.receive_request_valid_o);
      add(top.receive_request_o);
      add(top.memory_check_valid_o);
      add(top.memory_check_o);
      add(top.place_valid_o);
      add(top.place_o);
      add(top.read_record_ready_o);
      add(top.failure_valid_o);
      add(top.failure_o);
      add(top.queue_rung_valid_o);
      add(top.queue_rung_o);
      add(top.expected_psn_valid_o);
      add(top.expected_psn_o);
      add(top.grant_ended_o);
      add(top.idle_o);
    });
  }

  // `again`: a running simulation, to be reset.
  explicit Bench(std::shared_ptr<RtlTop<Vresponder_16>> again = nullptr) : owner(again ? again : MakeRtl()) {
    if (again) {
      rtl.Reset();
      // A reset does not change tables; the model's are new.
      for (uint32_t qpn = 0; qpn < kQps; ++qpn) ended.tokens.push_back({.qpn = qpn});
    }
    block.memory_check_out.Connect(checks, block);
    block.place_out.Connect(places, block);
    block.failure_out.Connect(failures, block);
    block.receive_request_out.Connect(requests, block);
    bench.AddOther(expected_psn);
    bench.AddOther(rung);
    block.on_queue_rung = [this](Cycle now, const spec::QueueRung& token) { rung.Tell(now, token); };
    block.on_expected_psn = [this](Cycle now, const spec::QpPsn& psn) { expected_psn.Tell(now, psn); };
    bench.AddOther(enable);
    bench.AddOther(mq);
    bench.AddOther(mac);
    bench.AddOther(idle);
    bench.AddOther(ends);
    bench.AddOther(hold);
    bench.AddOther(contexts);
    check.on_token = [this](Cycle, const spec::MemoryCheck& asked) {
      const bool flushes = asked.flush_global || asked.flush_persistent;
      EXPECT_EQ(
          asked.remote_write + asked.local_write + asked.remote_read + asked.remote_atomic + asked.invalidate + flushes,
          1);
      if (asked.remote_atomic) {
        EXPECT_EQ(asked.bytes, 8u);
      }
      EXPECT_EQ(asked.pdn, kPdn);
      EXPECT_TRUE((asked.bytes == 0) == asked.invalidate || flushes);
      EXPECT_LE(asked.bytes, asked.remote_read || flushes ? 1u << 31 : 4096u);
      memory.tokens.push_back(Check(asked));
      // A key that is valid for the other kind of access does not help.
      if (asked.key == (asked.local_write ? kRkey : kLkey)) memory.tokens.back() = {.status = MemoryStatus::kRights};
    };
    request.on_token = [this](Cycle, const spec::ReceiveRequest& asked) {
      if (asked.no_wait && pending != 0 && random() % 16 < pending) {
        receive.tokens.push_back({.status = BufferStatus::kPending});
        retry.tokens.push_back({.qpn = asked.qpn});
      } else {
        receive.tokens.push_back(host.Answer(asked));
      }
    };
    EXPECT_EQ(bench.Run(kQps), "");  // the sets of QPs are cleared
  }

  void Configure(const Qp& qp, IbQpState state, uint32_t psn = kFirstPsn) {
    table.tokens.push_back(ContextOf(qp));
    qp_state.tokens.push_back({.qpn = qp.qpn, .state = state});
    load.tokens.push_back({.qpn = qp.qpn, .psn = psn});
    ASSERT_EQ(bench.RunOut(10), "");
  }
  void Send(const Packet& packet) { frame.tokens.push_back(TokenOf(packet)); }
  void RunOut() { ASSERT_EQ(bench.RunOut(40), ""); }

  // The outputs since the last call.
  template <typename T>
  static std::vector<T> Take(Channel<T>& sink) {
    std::vector<T> result;
    for (const auto& sent : sink.sent()) result.push_back(sent.token);
    sink.sent().clear();
    return result;
  }

  std::mt19937_64 random = sim::MakeRandom("responder");
  Agenda agenda;
  Host host{};
  unsigned pending = 0;  // of 16 requests with no_wait that are retried
  Responder block{agenda, Responder::Sizes{.net_queue_pairs = kNetQueuePairs,
                                           .num_cqs = kNumCqs,
                                           .num_qps = kQps,
                                           .max_rd_atomic = kReads,
                                           .max_mcast_attach = spec::kNic1.max_mcast_attach}};
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
  GrantEnds<CData, Responder> ends{p.grant_ended_o, block};
  ContextBench<Vresponder_16, Responder> contexts{p, block};
  Hold<Responder> hold{p.hold_i, block, random};
  OutPulse<spec::QueueRung, decltype(p.queue_rung_valid_o), decltype(p.queue_rung_o)> rung{
      "queue_rung", p.queue_rung_valid_o, p.queue_rung_o};
  OutPulse<spec::QpPsn, decltype(p.expected_psn_valid_o), decltype(p.expected_psn_o)> expected_psn{
      "expected_psn", p.expected_psn_valid_o, p.expected_psn_o};

  decltype(bench.In("doorbell", block.doorbell_in, p.doorbell_valid_i, p.doorbell_ready_o, p.doorbell_i)) doorbell =
      bench.In("doorbell", block.doorbell_in, p.doorbell_valid_i, p.doorbell_ready_o, p.doorbell_i);
  decltype(bench.In("receive", block.receive_in, p.receive_valid_i, p.receive_ready_o, p.receive_i)) receive =
      bench.In("receive", block.receive_in, p.receive_valid_i, p.receive_ready_o, p.receive_i);
  decltype(bench.In("receive_retry", block.receive_retry_in, p.receive_retry_valid_i, p.receive_retry_ready_o,
                    p.receive_retry_i)) retry =
      bench.In("receive_retry", block.receive_retry_in, p.receive_retry_valid_i, p.receive_retry_ready_o,
               p.receive_retry_i);
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

  // Sends one frame and expects exactly this place.
  void Expect(const RxToken& token, const spec::RxPlace& expected) {
    frame.tokens.push_back(token);
    RunOut();
    const auto out = Take(places);
    ASSERT_EQ(out.size(), 1u);
    EXPECT_EQ(Taken(out[0]), Taken(expected))
        << "got      " << TokenText(out[0]) << "\nexpected " << TokenText(expected);
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
      EXPECT_EQ(Taken(out[i]), Taken(expected[i]))
          << i << "\ngot      " << TokenText(out[i]) << "\nexpected " << TokenText(expected[i]);
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

inline const spec::RxPlace kDropped{};
inline const spec::QpFailure kEstablished{.qpn = kQpn, .event_type = RdmaEventType::kCommEst};

// `reported`: by the receive's completion.
inline spec::QpFailure Failure(RdmaEventType event, AethSyndrome code, bool reported = false) {
  return {.qpn = kQpn, .event_type = event, .code = static_cast<uint32_t>(code), .reported = reported};
}
inline spec::QpFailure Failure(RdmaEventType event, RdmaError code, bool reported = true) {
  return {.qpn = kQpn, .event_type = event, .code = static_cast<uint32_t>(code), .reported = reported};
}
inline spec::RxPlace NotReady(uint32_t psn, uint32_t msn) {
  return Answer(psn, static_cast<AethSyndrome>(static_cast<uint8_t>(AethSyndrome::kRnrNak) | kRnrTimer), msn);
}

// --- Outgoing READs

inline constexpr uint8_t kAcked = static_cast<uint8_t>(AethSyndrome::kAckNoCredits);
inline constexpr uint32_t kReadPsn = 0xfffffe;  // wraps soon

enum class At { kFirst, kMiddle, kLast, kOnly };

inline RxToken ResponseOf(uint32_t psn, At at, uint16_t bytes, uint8_t syndrome = 0x07, uint32_t msn = 0xabcdef) {
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
inline spec::RxPlace Got(uint32_t psn, const spec::RxPlace& place = {}, uint8_t syndrome = 0x07,
                         uint32_t msn = 0xabcdef) {
  return News({.qpn = kQpn, .psn = Psn(psn), .syndrome = syndrome, .msn = msn, .is_read = true}, place);
}
// Of a middle packet, which has no AETH.
inline spec::RxPlace GotMiddle(uint32_t psn, const spec::RxPlace& place) { return Got(psn, place, kAcked, 0); }
inline spec::RxPlace GapAt(uint32_t psn) {
  return Got(psn, {}, static_cast<uint8_t>(AethSyndrome::kNakPsnSequenceError), 0);
}
inline spec::RxPlace ReadFailed(uint32_t psn, IbWcStatus status, RdmaError code) {
  auto place = Got(psn, {}, static_cast<uint8_t>(code), 0);
  place.ack.status = status;
  return place;
}

// Part of the result of an atomic operation of ours that goes to an element.
inline spec::RxPlace ScatterValue(uint64_t value, uint64_t address, uint32_t bytes, spec::RxPlace place = {}) {
  place = Scatter({}, 0, address, bytes, place);
  place.offset = 0;
  place.has_value = true;
  place.value = value;
  return place;
}

struct Reader : Ready {
  using Ready::Ready;
  void Atomic(uint32_t psn, const std::vector<spec::RdmaSge>& elements) {
    spec::ReadRecord one = RecordOf(host, kQpn, psn, 8, elements);
    one.is_atomic = true;
    record.tokens.push_back(one);
    RunOut();
  }
  void Read(uint32_t psn, uint32_t bytes, const std::vector<spec::RdmaSge>& elements) {
    record.tokens.push_back(RecordOf(host, kQpn, psn, bytes, elements));
    RunOut();
  }
  // Of this number.
  void Read(uint8_t number, uint32_t psn, uint32_t bytes, const std::vector<spec::RdmaSge>& elements) {
    host.reads[kQpn] = number;
    Read(psn, bytes, elements);
  }
};

// --- Incoming READs

inline Packet ReadRequest(uint32_t psn, uint32_t bytes) {
  return {.opcode = BthOpcode::kRcRdmaReadRequest, .psn = psn, .bytes = 0, .ack_req = false, .dma_length = bytes};
}

}  // namespace vireo::verif
