// SPDX-License-Identifier: Apache-2.0
// Gather and builder connected: jobs in, frames out. Payload is valid whenever the framer takes it, and RTL and model
// agree in every cycle.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "Vtx_path_512.h"
#include "Vtx_path_64.h"
#include "model/rdma/rx_parser.h"
#include "model/rdma/tx_builder.h"
#include "model/rdma/tx_gather.h"
#include "sim/common/seed.h"
#include "spec/gen/vireo_spec.h"
#include "verif/common/block_bench.h"
#include "verif/common/table_reset.h"
#include "verif/rdma/tx_bench.h"

namespace vireo::verif {
namespace {

using model::Channel;
using model::Cycle;
using model::RxParser;
using spec::BthOpcode;
using spec::TxJob;
using spec::TxPacket;

constexpr size_t kBufferBytes = 8192;
constexpr uint32_t kQps = 16;
constexpr uint32_t kAhs = 8;

template <typename Top>
typename RtlTop<Top>::Outputs Outputs() {
  return [](const Top& top, std::vector<uint8_t>& bytes) {
    const auto add = [&](const auto& port) {
      const auto more = BytesOf(port);
      bytes.insert(bytes.end(), more.begin(), more.end());
    };
    add(top.job_ready_o);
    add(top.response_ready_o);
    add(top.read_request_valid_o);
    add(top.failed_valid_o);
    add(top.sent_valid_o);
    add(top.response_taken_o);
    add(top.answer_ready_o);
    add(top.m_axis_tvalid_o);
    add(top.m_axis_tdata_o);
    add(top.idle_o);
  };
}

template <typename Top>
class Mac final : public BenchStream {
 public:
  Mac(Top& top, model::TxGather& gather, model::TxBuilder& builder, const SentFrames& frames, std::mt19937_64& random)
      : top_(top), gather_(gather), builder_(builder), watch_(top, frames), random_(random) {
    top_.m_axis_tready_i = 0;
    top_.enable_i = 1;
    builder_.OnEnable(0, true);
    std::fill_n(BytesOf(top_.mac_i).begin(), 6, uint8_t{2});
    builder_.OnMac(0, {2, 2, 2, 2, 2, 2});
    builder_.on_response_taken = [this](Cycle cycle) { taken_ = cycle; };
  }
  void Begin(Cycle cycle) override {
    const unsigned idle = unsigned{gather_.IsIdle()} | unsigned{builder_.IsIdle()} << 1;
    if (top_.idle_o != idle) difference = "idle: cycle " + std::to_string(cycle);
    const bool ready = random_() % 16 < rate;
    if (ready != (top_.m_axis_tready_i != 0)) builder_.OnTransmitReady(cycle, ready);
    top_.m_axis_tready_i = ready;
    rtl_taken_ = top_.response_taken_o != 0;
    responses += rtl_taken_ ? 1 : 0;
  }
  void End(Cycle cycle) override {
    if (rtl_taken_ != (taken_ == cycle)) difference = "response_taken: cycle " + std::to_string(cycle);
    difference += watch_.Compare(cycle);
  }
  bool IsEmpty() const override { return true; }
  unsigned rate = 16;
  size_t responses = 0;  // taken

 private:
  std::optional<Cycle> taken_;  // last in the model
  bool rtl_taken_ = false;
  Top& top_;
  model::TxGather& gather_;
  model::TxBuilder& builder_;
  FrameWatch<Top> watch_;
  std::mt19937_64& random_;
};

template <typename Top>
struct Bench {
  static constexpr size_t kBeatBytes = sizeof(Top::m_axis_tdata_o);
  static constexpr bool kCarriesInline = kBeatBytes >= spec::kTxInlineBytes;  // a packet, as one beat

  explicit Bench(RtlTop<Top>& rtl) : p(rtl.ports()), bench(rtl, agenda, random) {
    gather.read_request_out.Connect(read_request_sink, gather);
    gather.failed_out.Connect(failed_sink, gather);
    gather.sent_out.Connect(sent_sink, gather);
    gather.packet_out.Connect(builder.packet_in, gather);
    read_request.on_token = [this](Cycle, const spec::DmaReadRequest& request) { memory.Ask(request); };
  }

  std::mt19937_64 random = sim::MakeRandom("tx_path");
  Top& p;
  model::Agenda agenda;
  SentFrames frames;
  model::TxGather gather{agenda, kBeatBytes, kBufferBytes};
  model::TxBuilder builder{agenda, kBeatBytes, kQps, kAhs, gather, frames};
  Channel<spec::DmaReadRequest> read_request_sink = Channel<spec::DmaReadRequest>::Sink();
  Channel<spec::QpFailure> failed_sink = Channel<spec::QpFailure>::Sink();
  Channel<spec::RxAck> sent_sink = Channel<spec::RxAck>::Sink();
  Mac<Top> mac{p, gather, builder, frames, random};
  Memory<Top> memory{p, gather, random};
  BlockBench<Top> bench;
  // Before all streams: compares the state before the cycle.
  const bool others_ = (bench.AddOther(mac), bench.AddOther(memory), true);
  decltype(bench.In("job", gather.job_in, p.job_valid_i, p.job_ready_o, p.job_i)) job =
      bench.In("job", gather.job_in, p.job_valid_i, p.job_ready_o, p.job_i);
  decltype(bench.In("response", gather.response_in, p.response_valid_i, p.response_ready_o, p.response_i)) response =
      bench.In("response", gather.response_in, p.response_valid_i, p.response_ready_o, p.response_i);
  decltype(bench.In("answer", builder.answer_in, p.answer_valid_i, p.answer_ready_o, p.answer_i)) answer =
      bench.In("answer", builder.answer_in, p.answer_valid_i, p.answer_ready_o, p.answer_i);
  decltype(bench.Out("read_request", read_request_sink, p.read_request_valid_o, p.read_request_ready_i,
                     p.read_request_o)) read_request =
      bench.Out("read_request", read_request_sink, p.read_request_valid_o, p.read_request_ready_i, p.read_request_o);
  decltype(bench.Out("failed", failed_sink, p.failed_valid_o, p.failed_ready_i, p.failed_o)) failed =
      bench.Out("failed", failed_sink, p.failed_valid_o, p.failed_ready_i, p.failed_o);
  decltype(bench.Out("sent", sent_sink, p.sent_valid_o, p.sent_ready_i, p.sent_o)) sent =
      bench.Out("sent", sent_sink, p.sent_valid_o, p.sent_ready_i, p.sent_o);
  decltype(bench.template Pulse<spec::TableWrite>(p.table_write_valid_i, p.table_write_i, nullptr)) writes =
      bench.template Pulse<spec::TableWrite>(
          p.table_write_valid_i, p.table_write_i,
          [this](Cycle now, const spec::TableWrite& write) { builder.OnTableWrite(now, write); });
};

template <typename Top>
class TxPathTest : public testing::Test {
 protected:
  RtlTop<Top> rtl{Outputs<Top>()};
};
struct WidthNames {
  template <typename Top>
  static std::string GetName(int) {
    return "Bits" + std::to_string(8 * sizeof(Top::m_axis_tdata_o));
  }
};
using Tops = testing::Types<Vtx_path_64, Vtx_path_512>;
TYPED_TEST_SUITE(TxPathTest, Tops, WidthNames);

TYPED_TEST(TxPathTest, FramesCarryTheMemoryOfTheirJobs) {
  struct Rates {
    unsigned job, answer, memory, mac, sent;
  };
  for (const Rates rates : {Rates{16, 16, 16, 16, 16}, Rates{16, 1, 2, 16, 16}, Rates{16, 4, 16, 2, 16},
                            Rates{2, 2, 16, 16, 16}, Rates{16, 16, 16, 16, 1}}) {
    Bench<TypeParam> b(this->rtl);
    for (uint32_t i = 0; i < kQps; ++i) {
      spec::TableQpContext qp{.dest_qpn = i * 0x1234, .path = {.ipv4 = i % 2 == 0, .vlan_present = i % 3 == 0}};
      spec::TableWrite write{.table_id = spec::MgmtTable::kQpContext, .index = i};
      qp.Encode(write.data);
      b.writes.tokens.push_back(write);
    }
    for (uint32_t i = 0; i < kAhs; ++i) {
      const spec::TableAh ah{.valid = true, .path = {.hop_limit = static_cast<uint8_t>(100 + i)}};
      spec::TableWrite write{.table_id = spec::MgmtTable::kAh, .index = i};
      ah.Encode(write.data);
      b.writes.tokens.push_back(write);
    }
    ASSERT_EQ(b.bench.Run(kQps + kAhs + 2), "");
    struct Sent {
      TxPacket packet;
      Bytes payload;
      bool fails = false;
    };
    std::array<std::deque<Sent>, 2> good;  // jobs, responses
    size_t failed = 0;
    size_t failed_responses = 0;
    size_t reports = 0;
    for (unsigned i = 0; i < 400; ++i) {
      // One job in most cases, and up to six; sometimes they are dropped.
      const unsigned jobs = b.random() % 3 == 0 ? 1 + static_cast<unsigned>(b.random() % 6) : 1;
      std::vector<TxJob> added;
      Sent sent{};
      bool bad = false;
      for (unsigned part = 0; part < jobs; ++part) {
        TxJob job{.address0 = b.random() & ~kBadBit, .address1 = b.random() & ~kBadBit, .more = part + 1 < jobs};
        job.bytes0 = static_cast<uint16_t>(b.random() % (jobs == 1 && b.random() % 4 == 0 ? 3000 : 140));
        if (jobs != 1) ++job.bytes0;
        if (job.bytes0 != 0) job.bytes1 = static_cast<uint16_t>(b.random() % 3 * (b.random() % 250));
        AppendMemory(job.address0, job.bytes0, sent.payload);
        AppendMemory(job.address1, job.bytes1, sent.payload);
        if (job.bytes0 != 0 && b.random() % (32 * jobs) == 0) {
          job.address0 |= kBadBit;
          bad = true;
        }
        added.push_back(job);
      }
      sent.packet.qpn = static_cast<uint32_t>(b.random() % kQps);
      sent.packet.psn = i;
      const bool is_response = b.random() % 2 != 0;
      sent.packet.opcode = is_response ? BthOpcode::kRcRdmaReadResponseMiddle : BthOpcode::kRcRdmaWriteMiddle;
      sent.packet.is_response = is_response;
      sent.packet.has_ah = !is_response && b.random() % 2 != 0;
      sent.packet.ah = static_cast<uint16_t>(b.random() % kAhs);
      sent.packet.dest_qpn = static_cast<uint32_t>(b.random() & 0xffffff);
      sent.packet.reports = !is_response && b.random() % 2 != 0;
      sent.packet.payload_bytes = static_cast<uint16_t>(sent.payload.size());
      if (b.kCarriesInline && !is_response && b.random() % 6 == 0) {
        // It carries its payload.
        bad = false;
        added.assign(1, TxJob{});
        sent.payload.assign(1 + b.random() % spec::kTxInlineBytes, static_cast<uint8_t>(i));
        sent.packet.has_inline = true;
        sent.packet.payload_bytes = static_cast<uint16_t>(sent.payload.size());
        std::ranges::copy(sent.payload, sent.packet.inline_data);
      }
      const bool drop = b.random() % 16 == 0;
      if (drop) added.back() = {.drop = true};
      for (TxJob& job : added) {
        job.packet = sent.packet;
        (is_response ? b.response : b.job).tokens.push_back(job);
      }
      failed += bad && !drop ? 1 : 0;
      failed_responses += bad && !drop && is_response ? 1 : 0;
      reports += !bad && !drop && sent.packet.reports ? 1 : 0;
      if (bad && is_response && !drop) sent = {.packet = sent.packet, .payload = {}, .fails = true};
      if ((!bad || is_response) && !drop) good[is_response ? 1 : 0].push_back(std::move(sent));
      b.answer.tokens.push_back(
          {.qpn = static_cast<uint32_t>(b.random() % kQps), .opcode = BthOpcode::kRcAcknowledge, .psn = i});
    }
    b.job.rate = rates.job;
    b.response.rate = rates.job;
    b.sent.rate = rates.sent;
    b.answer.rate = rates.answer;
    b.memory.rate = rates.memory;
    b.mac.rate = rates.mac;
    ASSERT_EQ(b.bench.RunOut(0), "");
    for (unsigned i = 0; i < 100 && !(b.gather.IsIdle() && b.builder.IsIdle()); ++i) {
      ASSERT_EQ(b.bench.Run(500), "");
    }
    EXPECT_EQ(b.frames.sent.size(), good[0].size() + good[1].size() + 400);
    EXPECT_EQ(b.failed.count, failed);
    EXPECT_EQ(b.sent.count, reports);
    EXPECT_EQ(b.mac.responses, good[1].size());
    size_t naks = 0;
    for (const SentFrame& frame : b.frames.sent) {
      const model::RxToken read = RxParser::Parse(frame.bytes, false);
      if (read.bth.opcode == BthOpcode::kRcAcknowledge && read.extension[0] == 0) continue;
      const bool is_nak = read.bth.opcode == BthOpcode::kRcAcknowledge;
      auto& expected = good[is_nak || read.bth.opcode == BthOpcode::kRcRdmaReadResponseMiddle ? 1 : 0];
      ASSERT_FALSE(expected.empty());
      const Sent sent = std::move(expected.front());
      expected.pop_front();
      ASSERT_EQ(read.bth.psn, sent.packet.psn) << "out of order";
      ASSERT_EQ(is_nak, sent.fails);
      naks += is_nak ? 1 : 0;
      ASSERT_EQ(read.bth.dest_qp, sent.packet.has_ah ? sent.packet.dest_qpn : sent.packet.qpn * 0x1234);
      ASSERT_EQ(read.hop_limit, sent.packet.has_ah ? 100 + sent.packet.ah : 0);
      ASSERT_EQ(Bytes(frame.bytes.begin() + read.payload_offset,
                      frame.bytes.begin() + read.payload_offset + read.payload_bytes),
                sent.payload);
    }
    EXPECT_EQ(naks, failed_responses);
    ResetAndClear(this->rtl, 256);
  }
}

}  // namespace
}  // namespace vireo::verif
