// SPDX-License-Identifier: Apache-2.0
// Packets that become frames: the RTL against the model, byte for byte and cycle for cycle; and the receive parser's
// reading of the frames against packet and row.
#include "model/rdma/tx_builder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "Vtx_builder_512.h"
#include "Vtx_builder_64.h"
#include "model/eth/net_frames.h"
#include "model/rdma/rx_parser.h"
#include "sim/common/seed.h"
#include "spec/gen/vireo_spec.h"
#include "verif/common/block_bench.h"
#include "verif/common/context_bench.h"
#include "verif/common/table_reset.h"
#include "verif/rdma/frames.h"
#include "verif/rdma/tx_bench.h"

namespace vireo::verif {
namespace {

using model::Cycle;
using model::RxParser;
using model::RxToken;
using model::TxBuilder;
using spec::BthOpcode;
using spec::TableAh;
using spec::TablePath;
using spec::TableQpContext;
using spec::TxPacket;
using Random = std::mt19937_64;
using Mac = std::array<uint8_t, 6>;

constexpr uint32_t kQps = 16;
constexpr uint32_t kAhs = 8;
constexpr Mac kMac = {0x02, 0x11, 0x22, 0x33, 0x44, 0x55};

template <typename Top>
typename RtlTop<Top>::Outputs Outputs() {
  return [](const Top& top, std::vector<uint8_t>& bytes) {
    const auto add = [&](const auto& port) {
      const auto more = BytesOf(port);
      bytes.insert(bytes.end(), more.begin(), more.end());
    };
    add(top.packet_ready_o);
    add(top.answer_ready_o);
    add(top.payload_ready_o);
    add(top.net_ready_o);
    add(top.m_axis_tvalid_o);
    add(top.m_axis_tdata_o);
    add(top.m_axis_tkeep_o);
    add(top.m_axis_tlast_o);
    add(top.response_taken_o);
    add(top.qp_sent_valid_o);
    add(top.qp_sent_o);
    add(top.tx_frame_o);
    add(top.idle_o);
  };
}

// The payload of packets passed to the block, as the model takes it.
class Payloads final : public model::PayloadSource {
 public:
  Bytes TakePayload(Cycle first) override {
    taken.push_back(first);
    Bytes payload = std::move(waiting.front());
    waiting.pop_front();
    return payload;
  }
  std::deque<Bytes> waiting;
  std::deque<Cycle> taken;
};

// EtherType of the test's net frames, unused by packets. [IEEE 802, 9.2.4: local experimental]
constexpr std::array<uint8_t, 2> kNetType = {0x88, 0xb5};
bool IsNet(const Bytes& frame) { return std::equal(kNetType.begin(), kNetType.end(), frame.begin() + 12); }

// Net frames, one after the other, for both sides; fields that are not valid are random.
template <typename Top>
class Net final : public BenchStream, public model::NetFrameSource {
 public:
  Net(Top& top, Random& random) : top_(top), random_(random) { top_.net_valid_i = 0; }

  void Begin(Cycle cycle) override {
    const std::string at = "net: cycle " + std::to_string(cycle) + ": ";
    if (!valid_ && !frames.empty() && random_() % 16 < rate) {
      valid_ = true;
      frame_ = std::move(frames.front());
      frames.pop_front();
      at_ = 0;
      since_ = cycle;
      taken_.reset();
      offered.push_back(cycle);
      reader_->WakeAt(cycle);
    }
    top_.net_valid_i = valid_;
    Scramble(top_.net_bytes_i, random_, 14);
    Scramble(top_.net_data_i, random_);
    const bool ready = top_.net_ready_o != 0;
    if (!valid_) {
      if (ready) difference = at + "asked for too much";
      return;
    }
    top_.net_bytes_i = static_cast<SData>(frame_.size());
    const auto beat = BytesOf(top_.net_data_i);
    const size_t size = std::min(beat.size(), frame_.size() - at_);
    std::fill(beat.begin(), beat.end(), uint8_t{0});
    std::copy_n(frame_.begin() + static_cast<ptrdiff_t>(at_), size, beat.begin());
    if (at_ == 0 && ready != (taken_ == cycle)) difference = at + "begins in another cycle than in the model";
    if (at_ != 0 && !ready) difference = at + "a gap";
    if (!ready) return;
    at_ += size;
    valid_ = at_ < frame_.size();
  }
  void End(Cycle) override {}
  bool IsEmpty() const override { return frames.empty() && !valid_; }

  bool HasFrame(Cycle now) const override { return valid_ && !taken_ && now >= since_; }
  Bytes TakeFrame(Cycle first) override {
    taken_ = first;
    return frame_;
  }

  std::deque<Bytes> frames;
  std::vector<Cycle> offered;  // first beats
  unsigned rate = 16;          // how often the next frame is available, in 16ths

 private:
  Top& top_;
  Random& random_;
  bool valid_ = false;  // there is a frame whose last beat is not taken
  Bytes frame_;
  size_t at_ = 0;
  Cycle since_ = 0;
  std::optional<Cycle> taken_;  // its first beat, by the model
};

// All outputs of the block that are neither stream nor pulse.
template <typename Top>
class Outside final : public BenchStream {
 public:
  Outside(Top& top, TxBuilder& block, Payloads& payloads, const SentFrames& frames, Random& random)
      : top_(top), block_(block), payloads_(payloads), watch_(top, frames), random_(random) {
    top_.enable_i = 0;
    top_.m_axis_tready_i = 0;
    block_.on_response_taken = [this](Cycle cycle) { taken_ = cycle; };
    block_.on_qp_sent = [this](Cycle cycle, const spec::QpSent& sent) {
      sent_ = cycle;
      sent_token_ = sent;
    };
  }

  void Begin(Cycle cycle) override {
    if ((top_.idle_o != 0) != block_.IsIdle()) {
      difference =
          "idle: cycle " + std::to_string(cycle) + ": " + (top_.idle_o != 0 ? "only the RTL" : "only the model");
    }
    response_taken_ = top_.response_taken_o != 0;
    qp_sent_.reset();
    if (top_.qp_sent_valid_o != 0) qp_sent_ = TokenFrom<spec::QpSent>(BytesOf(std::as_const(top_.qp_sent_o)));
    const bool ready = random_() % 16 < ready_rate;
    if (ready != (top_.m_axis_tready_i != 0)) block_.OnTransmitReady(cycle, ready);
    top_.m_axis_tready_i = ready;
    if (random_() % 64 >= 64 - toggle_rate) enable = !enable;
    if (enable != (top_.enable_i != 0)) block_.OnEnable(cycle, enable);
    top_.enable_i = enable;
    if (random_() % 64 >= 64 - toggle_rate) mac[random_() % 6] ^= static_cast<uint8_t>(1u << random_() % 8);
    if (mac != told_mac_) block_.OnMac(cycle, told_mac_ = mac);
    std::copy(mac.begin(), mac.end(), BytesOf(top_.mac_i).begin());

    // Requested payload is valid; otherwise the port is random.
    Scramble(top_.payload_data_i, random_);
    top_.payload_valid_i = random_() & 1;
    asked_ = top_.payload_ready_o != 0;
    if (!asked_) return;
    if (at_ == now_.size()) {
      if (for_rtl.empty()) {
        difference = "payload: cycle " + std::to_string(cycle) + ": asked for too much";
        return;
      }
      now_ = std::move(for_rtl.front());
      for_rtl.pop_front();
      at_ = 0;
      first_ = cycle;
      starts_ = true;
    }
    top_.payload_valid_i = 1;
    const auto beat = BytesOf(top_.payload_data_i);
    const size_t size = std::min(beat.size(), now_.size() - at_);
    std::copy_n(now_.begin() + static_cast<ptrdiff_t>(at_), size, beat.begin());
    at_ += size;
  }

  void End(Cycle cycle) override {
    if (std::exchange(starts_, false)) {
      if (payloads_.taken.empty() || payloads_.taken.front() != first_)
        difference = "payload: cycle " + std::to_string(cycle) + ": not in the model's cycle";
      if (!payloads_.taken.empty()) payloads_.taken.pop_front();
    }
    if (response_taken_ != (taken_ == cycle)) {
      difference = "response_taken: cycle " + std::to_string(cycle) + ": not in the model's cycle";
    }
    if (response_taken_) responses.push_back(cycle);
    if (qp_sent_.has_value() != (sent_ == cycle) || (qp_sent_.has_value() && *qp_sent_ != sent_token_)) {
      difference = "qp_sent: cycle " + std::to_string(cycle) + ": not as in the model";
    }
    if (qp_sent_) sent.emplace_back(cycle, *qp_sent_);
    difference += watch_.Compare(cycle);
  }
  bool IsEmpty() const override { return true; }

  std::vector<Cycle> responses;  // taken
  std::vector<std::pair<Cycle, spec::QpSent>> sent;
  unsigned ready_rate = 16;
  unsigned toggle_rate = 0;  // of enable and MAC, in 64ths
  bool enable = true;
  Mac mac = kMac;
  std::deque<Bytes> for_rtl;

 private:
  Top& top_;
  TxBuilder& block_;
  Payloads& payloads_;
  FrameWatch<Top> watch_;
  Random& random_;
  Mac told_mac_{};
  Bytes now_;  // payload being passed
  size_t at_ = 0;
  Cycle first_ = 0;
  std::optional<Cycle> taken_;  // the last response, in the model
  bool response_taken_ = false;
  std::optional<Cycle> sent_;  // the last one, in the model
  spec::QpSent sent_token_;
  std::optional<spec::QpSent> qp_sent_;  // of the RTL, in this cycle
  bool asked_ = false;
  bool starts_ = false;
};

TablePath RandomPath(Random& random) {
  TablePath path{};
  for (auto& byte : path.dgid) byte = static_cast<uint8_t>(random());
  for (auto& byte : path.sgid) byte = static_cast<uint8_t>(random());
  for (auto& byte : path.dmac) byte = static_cast<uint8_t>(random());
  path.ipv4 = random() % 2 != 0;
  if (path.ipv4) {  // ::ffff:a.b.c.d
    for (auto* gid : {&path.dgid, &path.sgid}) {
      std::fill_n(*gid, 10, uint8_t{0});
      std::fill_n(*gid + 10, 2, uint8_t{0xff});
    }
  }
  path.vlan = static_cast<uint16_t>(random());
  path.vlan_present = random() % 2 != 0;
  path.flow_label = static_cast<uint32_t>(random() % 2 == 0 ? 0 : random() & 0xfffff);
  path.traffic_class = static_cast<uint8_t>(random());
  path.hop_limit = static_cast<uint8_t>(random());
  path.sgid_index = static_cast<uint8_t>(random());
  return path;
}
TableQpContext RandomQp(Random& random) {
  TableQpContext qp{};
  qp.path = RandomPath(random);
  qp.dest_qpn = static_cast<uint32_t>(random() & 0xffffff);
  qp.qkey = static_cast<uint32_t>(random());
  qp.next_psn = static_cast<uint32_t>(random() & 0xffffff);
  return qp;
}

template <typename Top>
struct Bench {
  static constexpr size_t kBeatBytes = sizeof(Top::m_axis_tdata_o);
  static constexpr bool kCarriesInline = kBeatBytes >= spec::kTxInlineBytes;  // a packet, as one beat

  explicit Bench(RtlTop<Top>& rtl) : p(rtl.ports()), bench(rtl, agenda, random) {}

  void Write(uint32_t index, const TableQpContext& qp) {
    spec::TableWrite write{.table_id = spec::MgmtTable::kQpContext, .index = index};
    qp.Encode(write.data);
    writes.tokens.push_back(write);
    qps[index] = qp;
  }
  // Of a handle only the path counts, valid or not.
  void WriteAh(uint32_t index, const TablePath& path) {
    const TableAh ah{.valid = random() % 2 != 0, .pdn = static_cast<uint16_t>(random()), .path = path};
    spec::TableWrite write{.table_id = spec::MgmtTable::kAh, .index = index};
    ah.Encode(write.data);
    writes.tokens.push_back(write);
    ahs[index] = path;
  }
  void Setup() {
    for (uint32_t i = 0; i < kQps; ++i) Write(i, RandomQp(random));
    for (uint32_t i = 0; i < kAhs; ++i) WriteAh(i, RandomPath(random));
    ASSERT_EQ(bench.Run(kQps + kAhs + 2), "");
  }
  void AddPacket(TxPacket token) {
    Bytes payload(token.payload_bytes);
    for (auto& byte : payload) byte = static_cast<uint8_t>(random());
    // Some tests give a random packet their own length.
    token.has_inline &= kCarriesInline && !payload.empty() && payload.size() <= spec::kTxInlineBytes;
    if (token.has_inline) {
      std::ranges::fill(token.inline_data, uint8_t{0});
      std::ranges::copy(payload, token.inline_data);
    }
    packet.tokens.push_back(token);
    if (!payload.empty() && !token.has_inline) {
      payloads.waiting.push_back(payload);
      outside.for_rtl.push_back(payload);
    }
    packets.push_back({token, std::move(payload)});
  }
  void AddAnswer(TxPacket token) {
    answer.tokens.push_back(token);
    answers.push_back({token, {}});
  }
  void AddNet(size_t bytes) {
    Bytes frame(bytes);
    for (auto& byte : frame) byte = static_cast<uint8_t>(random());
    std::copy(kNetType.begin(), kNetType.end(), frame.begin() + 12);
    net.frames.push_back(frame);
    nets.push_back(std::move(frame));
  }
  size_t RandomNetBytes() { return 60 + (random() % 8 == 0 ? random() % (9728 - 59) : random() % 200); }
  TxPacket RandomPacket(bool is_answer) {
    static constexpr std::array kOpcodes = {BthOpcode::kRcRdmaWriteOnly,
                                            BthOpcode::kRcRdmaWriteFirst,
                                            BthOpcode::kRcRdmaWriteMiddle,
                                            BthOpcode::kRcRdmaWriteLast,
                                            BthOpcode::kRcRdmaWriteOnlyWithImmediate,
                                            BthOpcode::kRcSendOnly,
                                            BthOpcode::kUcSendOnly,
                                            BthOpcode::kUdSendOnly,
                                            BthOpcode::kUdSendOnlyWithImmediate,
                                            BthOpcode::kRcRdmaReadResponseFirst,
                                            BthOpcode::kRcRdmaReadResponseMiddle};
    TxPacket token{};
    // Datagrams among packets; the opcode does not matter to the path.
    token.has_ah = random() % 3 == 0;
    token.ah = static_cast<uint16_t>(random() % kAhs);
    token.dest_qpn = static_cast<uint32_t>(random() & 0xffffff);
    token.reports = random() % 2 != 0;
    token.is_response = random() % 3 == 0;
    // No QP has a number beyond the table, but the source port uses all of it.
    token.qpn = static_cast<uint32_t>(random() & 0xffffff);
    token.opcode = is_answer ? BthOpcode::kRcAcknowledge : kOpcodes[random() % kOpcodes.size()];
    token.solicited_event = random() % 2 != 0;
    token.ack_req = random() % 2 != 0;
    token.psn = static_cast<uint32_t>(random() & 0xffffff);
    token.last_psn = static_cast<uint32_t>(random() & 0xffffff);
    token.epoch = epochs[token.qpn % kQps];
    const auto& info = spec::kOpcodeInfo[static_cast<uint8_t>(token.opcode)];
    for (size_t i = 0; i < info.extension_bytes; ++i) token.extension[i] = static_cast<uint8_t>(random());
    if (is_answer) {  // an acknowledge has no more
      TxPacket answer{.qpn = token.qpn, .opcode = token.opcode, .psn = token.psn};
      std::ranges::copy(token.extension, answer.extension);
      return answer;
    }
    token.payload_bytes = static_cast<uint16_t>(random() % 4 == 0 ? random() % 4097 : random() % 130);
    if (random() % 4 == 0) {
      token.has_inline = true;
      token.payload_bytes = static_cast<uint16_t>(1 + random() % spec::kTxInlineBytes);
    }
    return token;
  }
  void Finish(size_t unsent = 0) {
    ASSERT_EQ(bench.RunOut(0), "");
    for (unsigned i = 0; i < 100 && !block.IsIdle(); ++i) ASSERT_EQ(bench.Run(500), "");
    ASSERT_EQ(bench.Run(50), "");
    EXPECT_TRUE(block.IsIdle());
    if (!marks) {
      EXPECT_EQ(frames.sent.size() + unsent, packets.size() + answers.size() + nets.size());
    }
    EXPECT_TRUE(outside.for_rtl.empty());
    const auto is_response = [](const auto& sent) { return sent.first.is_response; };
    const auto responses = std::count_if(packets.begin(), packets.end(), is_response) +
                           std::count_if(answers.begin(), answers.end(), is_response);
    EXPECT_EQ(outside.responses.size(), static_cast<size_t>(responses));
    if (marks) return;
    const auto asks = [](const auto& sent) { return sent.first.ack_req && !sent.first.stale; };
    EXPECT_EQ(outside.sent.size(), static_cast<size_t>(std::count_if(packets.begin(), packets.end(), asks) +
                                                       std::count_if(answers.begin(), answers.end(), asks)));
  }

  // The frame's fields by an independent reader: the receive parser.
  void Check(const Bytes& frame, const TxPacket& token, const Bytes& payload) const {
    const TableQpContext& qp = qps.at(token.qpn % kQps);
    const TablePath& path = token.has_ah ? ahs.at(token.ah) : qp.path;
    const uint32_t dest_qpn = token.has_ah ? token.dest_qpn : qp.dest_qpn;
    const RxToken read = RxParser::Parse(frame, false);
    ASSERT_TRUE(std::equal(path.dmac, path.dmac + 6, frame.begin()));
    ASSERT_TRUE(std::equal(kMac.begin(), kMac.end(), frame.begin() + 6));
    ASSERT_EQ(read.vlan_present, path.vlan_present);
    if (read.vlan_present) {
      ASSERT_EQ(read.vlan_pcp << 13 | int{read.vlan_dei} << 12 | read.vlan_vid, path.vlan);
    }
    ASSERT_EQ(read.is_ipv6, !path.ipv4);
    ASSERT_EQ(read.verdict, spec::RxVerdict::kRoce);
    ASSERT_EQ(read.dscp << 2 | static_cast<int>(read.ecn), path.traffic_class);
    ASSERT_EQ(read.hop_limit, path.hop_limit);
    ASSERT_TRUE(std::equal(path.sgid, path.sgid + 16, read.ip_source));
    ASSERT_TRUE(std::equal(path.dgid, path.dgid + 16, read.ip_destination));
    if (read.is_ipv6) {
      const uint8_t* ip = frame.data() + read.l3_offset;
      ASSERT_EQ((ip[1] & 0xfu) << 16 | uint32_t{ip[2]} << 8 | ip[3], path.flow_label);
    }
    ASSERT_EQ(read.udp_source_port, TxBuilder::SourcePort(path.flow_label, token.qpn, dest_qpn));
    spec::Bth bth{};
    bth.opcode = token.opcode;
    bth.solicited_event = token.solicited_event;
    bth.pad_count = static_cast<uint8_t>(-token.payload_bytes & 3);
    bth.pkey = 0xffff;
    bth.dest_qp = dest_qpn;
    bth.ack_req = token.ack_req;
    bth.psn = token.psn;
    ASSERT_EQ(read.bth, bth);
    ASSERT_TRUE(std::equal(std::begin(token.extension), std::end(token.extension), read.extension));
    ASSERT_EQ(read.payload_bytes, payload.size());
    ASSERT_TRUE(std::equal(payload.begin(), payload.end(), frame.begin() + read.payload_offset));
  }
  // Every frame is the next packet, the next answer, or the next net frame unchanged.
  void CheckAll() const {
    size_t packet_at = 0;
    size_t answer_at = 0;
    size_t net_at = 0;
    for (const SentFrame& frame : frames.sent) {
      if (IsNet(frame.bytes)) {
        ASSERT_EQ(frame.bytes, nets.at(net_at++));
        continue;
      }
      const RxToken read = RxParser::Parse(frame.bytes, false);
      const bool is_answer = read.bth.opcode == BthOpcode::kRcAcknowledge;
      const auto& [token, payload] = is_answer ? answers.at(answer_at++) : packets.at(packet_at++);
      Check(frame.bytes, token, payload);
      if (testing::Test::HasFatalFailure()) return;
    }
  }

  Random random = sim::MakeRandom("tx_builder");
  Top& p;
  model::Agenda agenda;
  Payloads payloads;
  SentFrames frames;
  Net<Top> net{p, random};
  TxBuilder block{agenda, kBeatBytes, kQps, kAhs, payloads, frames, &net};
  Outside<Top> outside{p, block, payloads, frames, random};
  BlockBench<Top> bench;
  ContextBench<Top, TxBuilder> contexts{p, block};
  Stops<Top, TxBuilder> stops{p, block, random};
  bool marks = false;  // queue pairs are stopped
  // Before all streams: compares the state before the cycle.
  const bool others_ =
      (bench.AddOther(outside), bench.AddOther(net), bench.AddOther(contexts), bench.AddOther(stops), true);
  decltype(bench.In("packet", block.packet_in, p.packet_valid_i, p.packet_ready_o, p.packet_i)) packet =
      bench.In("packet", block.packet_in, p.packet_valid_i, p.packet_ready_o, p.packet_i);
  decltype(bench.In("answer", block.answer_in, p.answer_valid_i, p.answer_ready_o, p.answer_i)) answer =
      bench.In("answer", block.answer_in, p.answer_valid_i, p.answer_ready_o, p.answer_i);
  decltype(bench.template Pulse<spec::TableWrite>(p.table_write_valid_i, p.table_write_i, nullptr)) writes =
      bench.template Pulse<spec::TableWrite>(
          p.table_write_valid_i, p.table_write_i,
          [this](Cycle now, const spec::TableWrite& write) { block.OnTableWrite(now, write); });
  decltype(bench.template Pulse<spec::QpHold>(p.qp_hold_valid_i, p.qp_hold_i, nullptr)) holds =
      bench.template Pulse<spec::QpHold>(p.qp_hold_valid_i, p.qp_hold_i,
                                         [this](Cycle now, const spec::QpHold& hold) { block.OnQpHold(now, hold); });
  decltype(bench.template Pulse<spec::QpStateWrite>(p.qp_state_write_valid_i, p.qp_state_write_i, nullptr)) states =
      bench.template Pulse<spec::QpStateWrite>(
          p.qp_state_write_valid_i, p.qp_state_write_i,
          [this](Cycle now, const spec::QpStateWrite& write) { block.OnQpStateWrite(now, write); });
  void Hold(uint32_t qpn, uint8_t epoch) {
    holds.tokens.push_back({.qpn = qpn, .epoch = epoch});
    epochs[qpn] = epoch;
  }
  void Clear(uint32_t qpn) {
    states.tokens.push_back({.qpn = qpn, .clear = true});
    epochs[qpn] = 0;
  }
  uint8_t epochs[kQps]{};  // of the last hold
  std::map<uint32_t, TableQpContext> qps;
  std::map<uint32_t, TablePath> ahs;
  std::vector<std::pair<TxPacket, Bytes>> packets, answers;
  std::vector<Bytes> nets;
};

template <typename Top>
class TxBuilderTest : public testing::Test {
 protected:
  RtlTop<Top> rtl{Outputs<Top>()};
};
struct WidthNames {
  template <typename Top>
  static std::string GetName(int) {
    return "Bits" + std::to_string(8 * sizeof(Top::m_axis_tdata_o));
  }
};
using Tops = testing::Types<Vtx_builder_64, Vtx_builder_512>;
TYPED_TEST_SUITE(TxBuilderTest, Tops, WidthNames);

TYPED_TEST(TxBuilderTest, FramesCarryThePacketAndPathFields) {
  Bench<TypeParam> b(this->rtl);
  b.Setup();
  for (unsigned i = 0; i < 300; ++i) {
    b.AddPacket(b.RandomPacket(false));
    b.AddAnswer(b.RandomPacket(true));
    b.AddNet(b.RandomNetBytes());
  }
  b.packet.rate = 12;
  b.answer.rate = 3;
  b.net.rate = 2;
  b.Finish();
  b.CheckAll();
}

// Between packets whose payload comes from gather, of each length, back to back.
TYPED_TEST(TxBuilderTest, PacketsCarryTheirPayload) {
  if (!Bench<TypeParam>::kCarriesInline) GTEST_SKIP() << "a packet carries one beat at most";
  Bench<TypeParam> b(this->rtl);
  b.Setup();
  for (uint16_t bytes = 1; bytes <= spec::kTxInlineBytes; ++bytes) {
    for (const bool carries : {true, true, false}) {
      TxPacket token = b.RandomPacket(false);
      token.has_inline = carries;
      token.payload_bytes = bytes;
      b.AddPacket(token);
    }
  }
  b.Finish();
  b.CheckAll();
}

TYPED_TEST(TxBuilderTest, MatchesModelAtEveryRate) {
  struct Rates {
    unsigned packet, answer, net, ready, toggle;
  };
  for (const Rates rates :
       {Rates{16, 16, 16, 16, 0}, Rates{16, 16, 0, 16, 0}, Rates{16, 2, 1, 16, 1}, Rates{2, 16, 16, 16, 1},
        Rates{16, 16, 16, 3, 0}, Rates{8, 8, 8, 8, 4}, Rates{1, 1, 1, 16, 0}, Rates{1, 1, 16, 8, 1}}) {
    Bench<TypeParam> b(this->rtl);
    b.Setup();
    if (testing::Test::HasFatalFailure()) return;
    for (unsigned i = 0; i < 150; ++i) {
      b.AddPacket(b.RandomPacket(false));
      b.AddAnswer(b.RandomPacket(true));
      if (rates.net != 0) b.AddNet(b.RandomNetBytes());
    }
    // Rows change meanwhile; those of other tables are ignored.
    for (unsigned i = 0; i < 2000; ++i) {
      b.Write(static_cast<uint32_t>(b.random() % kQps), RandomQp(b.random));
      if (i % 3 == 0) b.writes.tokens.back().table_id = spec::MgmtTable::kMr;
      if (i % 2 == 0) b.WriteAh(static_cast<uint32_t>(b.random() % kAhs), RandomPath(b.random));
    }
    b.writes.rate = 5;
    b.packet.rate = rates.packet;
    b.answer.rate = rates.answer;
    b.net.rate = rates.net;
    b.outside.ready_rate = rates.ready;
    b.outside.toggle_rate = rates.toggle;
    ASSERT_EQ(b.bench.RunOut(0), "");
    b.outside.toggle_rate = 0;
    b.outside.enable = true;
    b.Finish();
    if (testing::Test::HasFatalFailure()) return;
    ResetAndClear(this->rtl, 256);
  }
}

TYPED_TEST(TxBuilderTest, PacketWhoseRowHasBadParityIsNotSent) {
  Bench<TypeParam> b(this->rtl);
  b.Setup();
  size_t unsent = 0;
  for (const bool has_ah : {false, true}) {
    for (const uint32_t bit : {0u, 200u, 1000u}) {
      b.contexts.Flip(has_ah ? spec::ContextRam::kTxBuilderAh : spec::ContextRam::kTxBuilderQp, 1, bit);
      ASSERT_EQ(b.bench.Run(3), "");
      const auto packet = [&](uint32_t index, uint16_t bytes) {
        TxPacket token = b.RandomPacket(false);
        token.has_ah = has_ah;
        token.qpn = has_ah ? 1 - index : index;
        token.ah = static_cast<uint16_t>(has_ah ? index : 1);
        token.payload_bytes = bytes;
        return token;
      };
      for (const uint16_t bytes : {uint16_t{0}, uint16_t{700}}) {  // between others, with a net frame behind
        b.AddPacket(packet(0, 900));
        b.AddPacket(packet(1, bytes));
        b.AddPacket(packet(0, 100));
        b.AddNet(300);
        b.Finish(++unsent);
        EXPECT_EQ(b.contexts.errors.size(), 1u);
        b.contexts.errors.clear();
      }
      const Cycle offered = b.bench.cycle();
      b.AddPacket(packet(1, 1000));
      b.Finish(++unsent);
      EXPECT_EQ(b.contexts.errors, std::vector<Cycle>{offered + TxBuilder::kTokenLatency - 1});
      b.contexts.errors.clear();
      if (has_ah) {
        b.WriteAh(1, RandomPath(b.random));
      } else {
        b.Write(1, RandomQp(b.random));
      }
      ASSERT_EQ(b.bench.RunOut(2), "");
      const TxPacket clean = packet(1, 50);
      b.AddPacket(clean);
      b.Finish(unsent);
      b.Check(b.frames.sent.back().bytes, clean, b.packets.back().second);
      EXPECT_TRUE(b.contexts.errors.empty());
    }
  }
}

TYPED_TEST(TxBuilderTest, MatchesModelWhileBitsFlip) {
  for (const unsigned ready : {16u, 6u}) {
    Bench<TypeParam> b(this->rtl);
    b.Setup();
    for (unsigned i = 0; i < 300; ++i) {
      b.AddPacket(b.RandomPacket(false));
      b.AddAnswer(b.RandomPacket(true));
      if (i % 4 == 0) b.AddNet(b.RandomNetBytes());
    }
    for (unsigned i = 0; i < 400; ++i) {
      b.Write(static_cast<uint32_t>(b.random() % kQps), RandomQp(b.random));
      b.WriteAh(static_cast<uint32_t>(b.random() % kAhs), RandomPath(b.random));
      const bool is_ah = b.random() % 2 == 0;
      b.contexts.Flip(is_ah ? spec::ContextRam::kTxBuilderAh : spec::ContextRam::kTxBuilderQp,
                      static_cast<uint32_t>(b.random() % (is_ah ? kAhs : kQps)),
                      static_cast<uint32_t>(b.random() % 1024));
    }
    b.contexts.period = 41;
    b.writes.rate = 1;
    b.packet.rate = b.answer.rate = b.net.rate = 8;
    b.outside.ready_rate = ready;
    ASSERT_EQ(b.bench.RunOut(0), "");
    while (!b.block.IsIdle()) ASSERT_EQ(b.bench.Run(500), "");
    ASSERT_EQ(b.bench.Run(5), "");
    b.Finish(b.contexts.errors.size());
    EXPECT_GT(b.contexts.errors.size(), 10u);
    EXPECT_GT(b.frames.sent.size(), 300u);
    ResetAndClear(this->rtl, 256);
  }
}

TYPED_TEST(TxBuilderTest, StalePacketIsNotSent) {
  Bench<TypeParam> b(this->rtl);
  b.Setup();
  for (unsigned i = 0; i < 60; ++i) {
    TxPacket token = b.RandomPacket(false);
    token.stale = i % 3 == 1;
    b.AddPacket(token);
    if (i % 4 == 0) b.AddNet(300);
  }
  b.Finish(20);
  std::erase_if(b.packets, [](const auto& packet) { return packet.first.stale; });
  b.CheckAll();
  EXPECT_TRUE(b.contexts.errors.empty());
}

// One is made into a frame, one waits behind it, and an answer; all wait for the MAC. Those of a QP that is
// stopped do not leave, of one that is flushed no request, whatever its row is by then.
TYPED_TEST(TxBuilderTest, StopMarksWhatWaitsForTheMac) {
  constexpr uint32_t kStopped = 1;
  for (const bool all : {false, true}) {
    for (const unsigned cycles : {2U, 3U, 4U, 5U, 60U}) {
      for (size_t place = 0; place < 6; ++place) {
        SCOPED_TRACE(testing::Message() << "place " << place << ", after " << cycles << " cycles, " << all);
        Bench<TypeParam> b(this->rtl);
        b.Setup();
        b.outside.ready_rate = 0;
        ASSERT_EQ(b.bench.Run(2), "");
        for (size_t i = 0; i < 2; ++i) {
          TxPacket token = b.RandomPacket(false);
          token.has_ah = false;
          token.qpn = i == place % 3 ? kStopped : 0;
          token.is_response = place >= 3;
          b.AddPacket(token);
          if (i == 1) continue;
          token = b.RandomPacket(true);
          token.has_ah = false;
          token.qpn = place % 3 == 2 ? kStopped : 0;
          b.AddAnswer(token);
        }
        ASSERT_EQ(b.bench.Run(cycles), "");
        const bool are_here = cycles == 60;
        b.stops.next = model::QpStop{.qpn = kStopped, .all = all};
        ASSERT_EQ(b.bench.Run(3), "");
        b.Write(kStopped, RandomQp(b.random));
        ASSERT_EQ(b.bench.Run(5), "");
        b.marks = true;
        b.outside.ready_rate = 16;
        b.Finish();
        const bool is_request = place < 2;
        if (are_here) {
          EXPECT_EQ(b.frames.sent.size(), all || is_request ? 2U : 3U);
        } else {
          EXPECT_GE(b.frames.sent.size(), 2U);
        }
        ResetAndClear(this->rtl, 256);
      }
    }
  }
}

// Of those that wait for the MAC no request of RC from before its queue pair's last hold is sent; all else is.
TYPED_TEST(TxBuilderTest, RequestsFromBeforeTheLastHoldAreNotSent) {
  constexpr std::array kRequests = {BthOpcode::kRcRdmaWriteMiddle, BthOpcode::kRcSendOnly,
                                    BthOpcode::kRcRdmaWriteFirst};
  constexpr std::array kOthers = {BthOpcode::kUcSendOnly, BthOpcode::kUdSendOnly};
  for (const bool clears : {false, true}) {
    Bench<TypeParam> b(this->rtl);
    b.Setup();
    b.Hold(1, 7);
    ASSERT_EQ(b.bench.Run(5), "");
    std::vector<std::pair<TxPacket, Bytes>> sent;
    const auto add = [&](uint32_t qpn, BthOpcode opcode, uint8_t epoch, bool is_response, bool is_sent) {
      TxPacket token = b.RandomPacket(false);
      while (token.opcode != opcode) token = b.RandomPacket(false);
      token.has_ah = false;
      token.qpn = qpn;
      token.epoch = epoch;
      token.is_response = is_response;
      b.AddPacket(token);
      if (is_sent) sent.push_back(b.packets.back());
    };
    const uint8_t last = clears ? 0 : 7;
    if (clears) b.Clear(1);
    ASSERT_EQ(b.bench.Run(5), "");
    for (const uint8_t epoch : {uint8_t{7}, uint8_t{6}, uint8_t{0}, uint8_t{8}}) {
      for (const BthOpcode opcode : kRequests) add(1, opcode, epoch, false, epoch == last);
      for (const BthOpcode opcode : kOthers) add(1, opcode, epoch, false, true);
      add(1, BthOpcode::kRcRdmaReadResponseMiddle, epoch, true, true);
      add(2, BthOpcode::kRcSendOnly, epoch, false, epoch == 0);
    }
    const size_t unsent = b.packets.size() - sent.size();
    b.Finish(unsent);
    b.packets = sent;
    b.CheckAll();
    ResetAndClear(this->rtl, 256);
  }
}

// A clear in the cycle of another queue pair's hold is not lost.
TYPED_TEST(TxBuilderTest, HoldsAndClearsOfOneCycleBothCount) {
  Bench<TypeParam> b(this->rtl);
  b.Setup();
  b.marks = true;
  for (unsigned i = 0; i < 400; ++i) {
    const auto qpn = static_cast<uint32_t>(b.random() % kQps);
    if (b.random() % 2 == 0) b.Hold(qpn, static_cast<uint8_t>(b.random() % 4));
    if (b.random() % 2 == 0) b.Clear((qpn + 1) % kQps);
    for (unsigned packet = 0; packet < 2; ++packet) {
      TxPacket token = b.RandomPacket(false);
      token.qpn = (qpn + packet) % kQps;
      if (b.random() % 4 == 0) token.epoch = static_cast<uint8_t>(b.random() % 4);
      b.AddPacket(token);
    }
    ASSERT_EQ(b.bench.Run(2 + b.random() % 40), "");
  }
  b.Finish();
  EXPECT_LT(b.frames.sent.size(), b.packets.size());
  EXPECT_GT(b.frames.sent.size(), b.packets.size() / 2);
}

TYPED_TEST(TxBuilderTest, MatchesModelWhileQueuePairsStop) {
  for (const unsigned ready : {16U, 6U, 1U}) {
    Bench<TypeParam> b(this->rtl);
    b.Setup();
    b.marks = true;
    for (unsigned i = 0; i < 300; ++i) {
      for (const bool is_answer : {false, true}) {
        TxPacket token = b.RandomPacket(is_answer);
        token.qpn %= 4;
        is_answer ? b.AddAnswer(token) : b.AddPacket(token);
      }
      if (i % 4 == 0) b.AddNet(b.RandomNetBytes());
      b.Write(static_cast<uint32_t>(b.random() % kQps), RandomQp(b.random));
    }
    b.writes.rate = 1;
    b.packet.rate = b.answer.rate = b.net.rate = 8;
    b.outside.ready_rate = ready;
    b.stops.rate = 3;
    b.Finish();
    if (testing::Test::HasFatalFailure()) return;
    EXPECT_LT(b.frames.sent.size(), b.packets.size() + b.answers.size() + b.nets.size());
    EXPECT_GT(b.frames.sent.size(), b.nets.size() + 100);
    ResetAndClear(this->rtl, 256);
  }
}

TYPED_TEST(TxBuilderTest, PacketsAndAnswersAlternate) {
  Bench<TypeParam> b(this->rtl);
  b.Setup();
  b.outside.ready_rate = 0;
  for (unsigned i = 0; i < 10; ++i) {
    b.AddPacket(b.RandomPacket(false));
    b.AddAnswer(b.RandomPacket(true));
  }
  ASSERT_EQ(b.bench.Run(20), "");
  b.outside.ready_rate = 16;
  b.Finish();
  for (size_t i = 0; i < b.frames.sent.size(); ++i) {
    EXPECT_EQ(RxParser::Parse(b.frames.sent[i].bytes, false).bth.opcode == BthOpcode::kRcAcknowledge, i % 2 != 0);
  }
}

TYPED_TEST(TxBuilderTest, PacketsAnswersAndNetFramesAlternate) {
  Bench<TypeParam> b(this->rtl);
  b.outside.enable = false;
  b.Setup();
  for (unsigned i = 0; i < 10; ++i) {
    b.AddPacket(b.RandomPacket(false));
    b.AddAnswer(b.RandomPacket(true));
    b.AddNet(60 + 100 * i);
  }
  ASSERT_EQ(b.bench.Run(20), "");
  b.outside.enable = true;
  b.Finish();
  for (size_t i = 0; i < b.frames.sent.size(); ++i) {
    const Bytes& frame = b.frames.sent[i].bytes;
    ASSERT_EQ(IsNet(frame), i % 3 == 2);
    if (!IsNet(frame)) {
      ASSERT_EQ(RxParser::Parse(frame, false).bth.opcode == BthOpcode::kRcAcknowledge, i % 3 == 1);
    }
  }
  b.CheckAll();
}

TYPED_TEST(TxBuilderTest, NetFrameOfAnyLengthLeavesUnchanged) {
  Bench<TypeParam> b(this->rtl);
  b.Setup();
  // Every end of the last beat, alone and behind whole ones.
  for (size_t bytes = 60; bytes <= 60 + 2 * b.kBeatBytes; ++bytes) b.AddNet(bytes);
  for (const size_t bytes : {1514u, 9000u, 9727u, 9728u}) b.AddNet(bytes);
  b.Finish();
  b.CheckAll();
}

TYPED_TEST(TxBuilderTest, StartsNoNetFrameWhileDisabledOrMacNotReady) {
  Bench<TypeParam> b(this->rtl);
  b.outside.enable = false;
  b.Setup();
  b.AddNet(100);
  ASSERT_EQ(b.bench.Run(100), "");
  EXPECT_TRUE(b.block.IsIdle()) << "the source owns it until it is selected";
  b.outside.enable = true;
  b.outside.ready_rate = 0;
  ASSERT_EQ(b.bench.Run(100), "");
  EXPECT_EQ(b.p.net_ready_o, 0);
  EXPECT_FALSE(b.block.IsIdle());
  EXPECT_EQ(b.frames.sent.size(), 0u);
  b.outside.ready_rate = 16;
  const Cycle ready = b.bench.cycle();
  b.Finish();
  EXPECT_EQ(b.frames.sent.at(0).start, ready + TxBuilder::kNetReady);
}

TYPED_TEST(TxBuilderTest, NetFramesMeetDocumentedLatencies) {
  Bench<TypeParam> b(this->rtl);
  b.Setup();
  ASSERT_EQ(b.bench.Run(5), "");
  // Not one cycle earlier, and in it.
  const Cycle start = b.bench.cycle();
  for (unsigned i = 0; i < 3; ++i) b.AddNet(300);
  ASSERT_EQ(b.bench.Run(TxBuilder::kNetLatency - 1), "");
  EXPECT_EQ(b.p.m_axis_tvalid_o, 0) << "not visible in the cycle that comes";
  ASSERT_EQ(b.bench.Run(1), "");
  EXPECT_EQ(b.p.m_axis_tvalid_o, 1) << "visible in the cycle that comes";
  b.Finish();
  const auto& sent = b.frames.sent;
  const uint64_t beats = (300 + b.kBeatBytes - 1) / b.kBeatBytes;
  EXPECT_EQ(sent[0].start, start + TxBuilder::kNetLatency);
  EXPECT_EQ(b.net.offered[0], start);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(sent[i].end, sent[i].start + beats - 1);
  for (size_t i = 1; i < 3; ++i) EXPECT_EQ(sent[i].start, sent[i - 1].end + TxBuilder::kNetInterval);

  // Behind a packet, and before one.
  b.outside.enable = false;
  ASSERT_EQ(b.bench.Run(2), "");
  for (unsigned i = 0; i < 2; ++i) {
    b.AddPacket(b.RandomPacket(false));
    b.AddNet(300);
  }
  ASSERT_EQ(b.bench.Run(10), "");
  b.outside.enable = true;
  b.Finish();
  ASSERT_EQ(sent.size(), 7u);
  EXPECT_EQ(sent[4].start, sent[3].end + TxBuilder::kNetGap);
  EXPECT_EQ(sent[5].start, sent[4].end + TxBuilder::kPacketGap);
  EXPECT_EQ(sent[6].start, sent[5].end + TxBuilder::kNetGap);
}

TYPED_TEST(TxBuilderTest, StartsNoFrameWhileDisabledOrMacNotReady) {
  Bench<TypeParam> b(this->rtl);
  b.outside.enable = false;
  b.Setup();
  b.AddAnswer(b.RandomPacket(true));
  ASSERT_EQ(b.bench.Run(100), "");
  EXPECT_EQ(b.frames.sent.size(), 0u);
  EXPECT_FALSE(b.block.IsIdle());
  b.outside.enable = true;
  b.outside.ready_rate = 0;
  ASSERT_EQ(b.bench.Run(100), "");
  EXPECT_EQ(b.frames.sent.size(), 0u);
  b.outside.ready_rate = 16;
  b.Finish();
}

TYPED_TEST(TxBuilderTest, DatagramUsesItsHandlesPathAndItsOwnPeer) {
  Bench<TypeParam> b(this->rtl);
  b.Setup();
  // The same QP sends to two handles and two peers, and between them to its own peer.
  for (unsigned i = 0; i < 4; ++i) {
    TxPacket packet = b.RandomPacket(false);
    packet.qpn = 3;
    packet.has_ah = i != 2;
    packet.ah = static_cast<uint16_t>(5 + i % 2);
    packet.dest_qpn = 0x100 + i;
    b.AddPacket(packet);
  }
  b.Finish();
  b.CheckAll();
  // Packets taken later use a handle's new row.
  TablePath path = RandomPath(b.random);
  path.ipv4 = false;
  path.hop_limit = 77;
  b.WriteAh(5, path);
  ASSERT_EQ(b.bench.Run(2), "");
  TxPacket packet = b.RandomPacket(false);
  packet.has_ah = true;
  packet.ah = 5;
  b.AddPacket(packet);
  b.Finish();
  b.Check(b.frames.sent.back().bytes, packet, b.packets.back().second);
}

TYPED_TEST(TxBuilderTest, ReportsEveryTakenResponseOnce) {
  Bench<TypeParam> b(this->rtl);
  b.Setup();
  TxPacket packet = b.RandomPacket(true);
  b.AddAnswer(packet);  // an acknowledge is not reported
  packet.is_response = true;
  const Cycle start = b.bench.cycle();
  b.AddPacket(packet);
  packet.is_response = false;
  b.AddPacket(packet);
  packet.is_response = true;
  b.AddPacket(packet);
  b.outside.ready_rate = 0;
  ASSERT_EQ(b.bench.Run(100), "");
  EXPECT_EQ(b.outside.responses, (std::vector<Cycle>{start + 1})) << "in the cycle after its push";
  b.outside.ready_rate = 16;
  b.Finish();
  EXPECT_EQ(b.outside.responses.size(), 2u);
}

TYPED_TEST(TxBuilderTest, ReportsEverySentAckRequestOnce) {
  Bench<TypeParam> b(this->rtl);
  b.Setup();
  TxPacket packet = b.RandomPacket(false);
  packet.ack_req = true;
  packet.is_response = false;
  const Cycle start = b.bench.cycle();
  b.AddPacket(packet);
  packet.ack_req = false;
  b.AddPacket(packet);
  packet.ack_req = true;
  packet.last_psn ^= 5;
  b.AddPacket(packet);
  b.outside.ready_rate = 0;
  ASSERT_EQ(b.bench.Run(100), "");
  ASSERT_EQ(b.outside.sent.size(), 1U);
  EXPECT_EQ(b.outside.sent[0].first, start + 1) << "in the cycle after its push";
  EXPECT_EQ(b.outside.sent[0].second,
            (spec::QpSent{.qpn = packet.qpn, .psn = packet.last_psn ^ 5, .epoch = packet.epoch}));
  b.outside.ready_rate = 16;
  b.Finish();
  EXPECT_EQ(b.outside.sent.size(), 2U);
}

TYPED_TEST(TxBuilderTest, MeetsDocumentedLatencies) {
  Bench<TypeParam> b(this->rtl);
  b.Setup();
  const Cycle start = b.bench.cycle();
  TxPacket ack = b.RandomPacket(true);
  for (unsigned i = 0; i < 3; ++i) b.AddAnswer(ack);
  // Not one cycle earlier, and in it.
  ASSERT_EQ(b.bench.Run(TxBuilder::kLatency), "");
  EXPECT_EQ(b.p.m_axis_tvalid_o, 1) << "visible in the cycle that comes";
  b.Finish();
  const uint64_t beats = (b.frames.sent[0].bytes.size() + b.kBeatBytes - 1) / b.kBeatBytes;
  for (unsigned i = 0; i < 3; ++i) {
    EXPECT_EQ(b.frames.sent[i].start, start + TxBuilder::kLatency + i * std::max(beats, TxBuilder::kInterval));
    EXPECT_EQ(b.frames.sent[i].end, b.frames.sent[i].start + beats - 1);
  }
}

TYPED_TEST(TxBuilderTest, LongFramesFollowEachOtherWithoutABubble) {
  Bench<TypeParam> b(this->rtl);
  b.Setup();
  for (unsigned i = 0; i < 8; ++i) {
    TxPacket packet = b.RandomPacket(false);
    packet.payload_bytes = 1024;
    b.AddPacket(packet);
  }
  b.Finish();
  for (size_t i = 1; i < b.frames.sent.size(); ++i) EXPECT_EQ(b.frames.sent[i].start, b.frames.sent[i - 1].end + 1);
}

TYPED_TEST(TxBuilderTest, RestartsAfterReset) {
  for (unsigned round = 0; round < 5; ++round) {
    Bench<TypeParam> b(this->rtl);
    b.Setup();
    for (unsigned i = 0; i < 40; ++i) {
      b.AddPacket(b.RandomPacket(false));
      b.AddAnswer(b.RandomPacket(true));
      b.AddNet(b.RandomNetBytes());
    }
    ASSERT_EQ(b.bench.Run(100 + 13 * round), "");
    b.p.packet_valid_i = 0;
    b.p.net_valid_i = 0;
    b.p.answer_valid_i = 0;
    b.p.enable_i = 0;
    b.p.m_axis_tready_i = 0;
    ResetAndClear(this->rtl, 256);
    ASSERT_EQ(b.p.idle_o, 1);
    ASSERT_EQ(b.p.m_axis_tvalid_o, 0);
  }
}

// --- Source ports
// ------------------------------------------------------------------------------------------------------

TEST(SourcePort, MatchesLinux) {
  // Captured: both QPs 17; 17 and 19; 18 and 20 (srq.pcap), with flow label 0.
  EXPECT_EQ(TxBuilder::SourcePort(0, 0x11, 0x11), 0xc121);
  EXPECT_EQ(TxBuilder::SourcePort(0, 0x11, 0x13), 0xc143);
  EXPECT_EQ(TxBuilder::SourcePort(0, 0x14, 0x12), 0xc168);
  // Calculated: 0xabcdef * 0x123456 = 0xc379a'59ba4a; folded at 20 and at 40 bits 0xac3e3.
  EXPECT_EQ(TxBuilder::SourcePort(0, 0xabcdef, 0x123456), 0xc3c8);
  EXPECT_EQ(TxBuilder::SourcePort(0, 0x123456, 0xabcdef), 0xc3c8) << "the same in both directions";
  EXPECT_EQ(TxBuilder::SourcePort(0x12345, 0x11, 0x11), 0xc000 | (0x2345 ^ 0x4)) << "the label decides if there is one";
  EXPECT_EQ(TxBuilder::SourcePort(0xfffff, 1, 2), 0xc000 | (0x3fff ^ 0x3f));
}

// Linux's RC and UC connections without a flow label. Frames of a connection have the same port in both directions.
TEST(SourcePort, MatchesCapturedConnections) {
  size_t count = 0;
  for (const auto& path : sim::ListCaptures(VIREO_VECTORS_DIR)) {
    const std::string name = std::string(path).substr(std::string(path).rfind('/') + 1);
    if (!name.starts_with("rc_") && !name.starts_with("uc_") && !name.starts_with("v_")) continue;
    std::map<uint16_t, std::vector<uint32_t>> connections;  // destinations of the frames from each port
    for (const auto& frame : sim::ReadPcap(path).frames) {
      const RxToken read = RxParser::Parse(frame.bytes, false);
      const auto service = static_cast<uint8_t>(read.bth.opcode) >> 5;
      if (read.verdict != spec::RxVerdict::kRoce || service > 1) continue;  // [IBTA vol. 1, 9.2.1: 0 RC, 1 UC]
      connections[read.udp_source_port].push_back(read.bth.dest_qp);
    }
    EXPECT_LE(connections.size(), name == "v_flush_k612.pcap" ? 3u : 1u) << name;
    for (const auto& [port, numbers] : connections) {
      const std::set<uint32_t> ends(numbers.begin(), numbers.end());
      ASSERT_LE(ends.size(), 2u) << name;
      EXPECT_EQ(TxBuilder::SourcePort(0, *ends.begin(), *ends.rbegin()), port) << name;
      count += numbers.size();
    }
  }
  EXPECT_GT(count, 100u);
}

}  // namespace
}  // namespace vireo::verif
