// SPDX-License-Identifier: Apache-2.0
// Receive buffer, responder and scatter block connected as in the device, with frames that Linux sent: host memory gets
// their payload, and the peer the answers that Linux gave. All other frames on the wire leave for the net path.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "Vreception_512.h"
#include "Vreception_64.h"
#include "model/rdma/responder.h"
#include "model/rdma/rx_buffer.h"
#include "model/rdma/rx_parser.h"
#include "model/rdma/rx_scatter.h"
#include "sim/common/pcap.h"
#include "sim/common/seed.h"
#include "spec/gen/vireo_spec.h"
#include "verif/common/block_bench.h"
#include "verif/rdma/frames.h"
#include "verif/rdma/hold_bench.h"
#include "verif/rdma/reception_bench.h"

namespace vireo::verif {
namespace {

using model::Agenda;
using model::Channel;
using model::Cycle;
using spec::BthOpcode;

constexpr size_t kBthOffset = spec::Ethernet::kBytes + spec::Ipv4::kBytes + spec::Udp::kBytes;
constexpr uint64_t kBusOffset = 0x1000'0000;  // of the peer's addresses on the bus
constexpr uint64_t kPageBytes = 4096;

spec::Bth BthOf(const Bytes& frame) { return spec::Bth::Decode(frame.data() + kBthOffset); }
bool IsAnswer(const Bytes& frame) { return BthOf(frame).opcode == BthOpcode::kRcAcknowledge; }

// The capture's frames as they were recorded: of one peer that writes and one that answers.
std::vector<Bytes> FramesOf(const std::string& name) {
  const sim::Capture capture = sim::ReadPcap(std::string(VIREO_VECTORS_DIR) + "/" + name);
  EXPECT_EQ(capture.error, "");
  std::vector<Bytes> frames;
  for (const auto& frame : capture.frames) frames.push_back(frame.bytes);
  return frames;
}

// One region over all addresses with one key, pages one after the other on the bus.
spec::MemoryPlace Place(const spec::MemoryCheck& check, uint32_t rkey) {
  if (check.key != rkey) return {.status = spec::MemoryStatus::kKey};
  const auto first = static_cast<uint16_t>(std::min<uint64_t>(check.bytes, kPageBytes - check.address % kPageBytes));
  spec::MemoryPlace place{.address0 = check.address + kBusOffset, .bytes0 = first};
  if (first == check.bytes) return place;
  place.address1 = place.address0 + first;
  place.bytes1 = static_cast<uint16_t>(check.bytes - first);
  return place;
}

// The QP of the first frame, as configured by firmware.
spec::TableWrite ContextFor(const Bytes& first) {
  spec::TableQpContext context;
  context.valid = true;
  context.qp_type = spec::IbQpType::kRc;
  context.path_mtu = spec::IbMtu::kMtu1024;
  context.remote_write = true;
  const auto token = model::RxParser::Parse(first, false);
  std::copy(std::begin(token.ip_source), std::end(token.ip_source), context.path.dgid);
  std::copy(std::begin(token.ip_destination), std::end(token.ip_destination), context.path.sgid);
  spec::TableWrite write{.table_id = spec::MgmtTable::kQpContext, .index = BthOf(first).dest_qp};
  context.Encode(write.data);
  return write;
}

// The device's own address: the frame's destination.
std::array<uint8_t, 6> MacOf(const Bytes& frame) {
  std::array<uint8_t, 6> mac{};
  std::copy_n(frame.begin(), mac.size(), mac.begin());
  return mac;
}

// The model alone.
struct Reception {
  explicit Reception(const spec::Config& config)
      : beat_bytes(config.datapath_bits / 8),
        buffer(agenda, config),
        responder(agenda, config),
        scatter(agenda, config, buffer) {
    buffer.frame_out.Connect(responder.frame_in, buffer);
    responder.memory_check_out.Connect(checks, responder);
    responder.place_out.Connect(scatter.place_in, responder);
    scatter.ack_out.Connect(acks, scatter);
    responder.failure_out.Connect(failures, responder);
    scatter.write_out.Connect(writes, scatter);
    scatter.completion_out.Connect(completions, scatter);
    scatter.answer_out.Connect(answers, scatter);
    buffer.SetEnable(0, true);
    buffer.SetRoce(0, true);
    responder.SetEnable(0, true);
  }

  // The QP of the first frame, ready to receive it and the following ones.
  void Connect(const Bytes& first) {
    const auto bth = BthOf(first);
    responder.SetMac(now, MacOf(first));
    responder.OnTableWrite(now, ContextFor(first));
    responder.OnQpStateWrite(now, {.qpn = bth.dest_qp, .state = spec::IbQpState::kRtr});
    responder.load_in.Push(now, {.qpn = bth.dest_qp, .psn = bth.psn});
    Run(5);
  }

  void Send(const Bytes& frame) {
    const Cycle beats = (frame.size() + beat_bytes - 1) / beat_bytes;
    buffer.OnFrame(now, now + beats - 1, frame, false);
    Run(beats);
  }

  void Run(Cycle cycles) {
    for (const Cycle end = now + cycles; now < end; ++now) {
      if (accept && *accept == now) {
        scatter.OnWriteDone(now, false);
        accept.reset();
      }
      agenda.RunThrough(now);
      while (!checks.sent().empty()) {
        const auto check = checks.sent().front().token;
        checks.sent().pop_front();
        places.push_back({now + 6, check});
      }
      if (!places.empty() && places.front().first <= now && responder.memory_place_in.CanPush(now)) {
        responder.memory_place_in.Push(now, Place(places.front().second, rkey));
        places.pop_front();
      }
      if (writes.sent().empty()) continue;
      const auto beat = writes.sent().front().token;
      writes.sent().clear();
      const size_t left = beat.request.bytes - written;
      for (size_t i = 0; i < std::min(left, beat.data.size()); ++i) {
        memory[beat.request.address + written + i] = beat.data[i];
      }
      EXPECT_EQ(beat.last, left <= beat.data.size());
      written = beat.last ? 0 : written + beat.data.size();
      if (beat.last) accept = now + 1;
    }
  }

  size_t beat_bytes;
  Cycle now = 1;
  Agenda agenda;
  model::RxBuffer buffer;
  model::Responder responder;
  model::RxScatter scatter;
  Channel<spec::MemoryCheck> checks = Channel<spec::MemoryCheck>::Sink();
  Channel<spec::RxAck> acks = Channel<spec::RxAck>::Sink();
  Channel<spec::QpFailure> failures = Channel<spec::QpFailure>::Sink();
  Channel<model::WriteBeat> writes = Channel<model::WriteBeat>::Sink();
  Channel<spec::Completion> completions = Channel<spec::Completion>::Sink();
  Channel<spec::RxAnswer> answers = Channel<spec::RxAnswer>::Sink();
  std::deque<std::pair<Cycle, spec::MemoryCheck>> places;
  std::optional<Cycle> accept;
  size_t written = 0;  // of the current write
  uint32_t rkey = 0;
  std::map<uint64_t, uint8_t> memory;
};

// The fields of an acknowledge, from the BTH's opcode and PSN and from the AETH.
struct Said {
  BthOpcode opcode;
  uint32_t psn;
  Bytes aeth;
  bool operator==(const Said&) const = default;
};

std::vector<Said> WhatLinuxSaid(const std::vector<Bytes>& frames) {
  std::vector<Said> result;
  for (const auto& frame : frames) {
    if (!IsAnswer(frame)) continue;
    const auto aeth = frame.begin() + kBthOffset + spec::Bth::kBytes;
    result.push_back({BthOf(frame).opcode, BthOf(frame).psn, {aeth, aeth + spec::Aeth::kBytes}});
  }
  return result;
}
std::vector<Said> WhatWasSaid(Channel<spec::RxAnswer>& answers) {
  std::vector<Said> result;
  for (const auto& sent : answers.sent()) {
    const auto& packet = sent.token.packet;
    result.push_back({packet.opcode, packet.psn, {packet.extension, packet.extension + spec::Aeth::kBytes}});
  }
  return result;
}

TEST(Reception, LinuxWritesReachMemoryAndAreAnsweredAsByLinux) {
  spec::Config nic1 = spec::kNic1;
  nic1.num_qps = 32;  // Linux numbers its QPs from 17 on
  for (const spec::Config& config : {nic1, spec::kNic100}) {
    const auto frames = FramesOf("rc_write.pcap");
    Reception nic(config);
    nic.Connect(frames.front());
    uint64_t address = 0;
    uint32_t length = 0;
    Bytes message;
    size_t messages = 0;
    for (const auto& frame : frames) {
      if (IsAnswer(frame)) continue;
      const auto bth = BthOf(frame);
      size_t payload = kBthOffset + spec::Bth::kBytes;
      if (bth.opcode == BthOpcode::kRcRdmaWriteFirst) {
        const auto reth = spec::Reth::Decode(frame.data() + payload);
        address = reth.virtual_address;
        length = reth.dma_length;
        nic.rkey = reth.rkey;
        payload += spec::Reth::kBytes;
        message.clear();
        nic.memory.clear();
      }
      const auto end = frame.end() - bth.pad_count - spec::kIcrcBytes;
      message.insert(message.end(), frame.begin() + static_cast<ptrdiff_t>(payload), end);
      nic.Send(frame);
      if (bth.opcode != BthOpcode::kRcRdmaWriteLast) continue;
      ++messages;
      nic.Run(300);
      ASSERT_EQ(message.size(), length);
      ASSERT_EQ(nic.memory.size(), length);
      for (size_t i = 0; i < length; ++i) ASSERT_EQ(nic.memory.at(address + kBusOffset + i), message[i]) << i;
    }
    EXPECT_EQ(messages, 5u);
    EXPECT_EQ(WhatWasSaid(nic.answers), WhatLinuxSaid(frames));
    EXPECT_TRUE(nic.buffer.IsIdle() && nic.responder.IsIdle() && nic.scatter.IsIdle());
  }
}

TEST(Reception, WrongKeyIsAnsweredAsByLinux) {
  const auto frames = FramesOf("v_bad_rkey.pcap");
  Reception nic(spec::kNic100);
  nic.Connect(frames.front());
  for (const auto& frame : frames) {
    if (!IsAnswer(frame)) nic.Send(frame);
  }
  nic.Run(300);
  EXPECT_EQ(WhatWasSaid(nic.answers), WhatLinuxSaid(frames));
  EXPECT_TRUE(nic.memory.empty());
  // The peer is found, and its key is wrong.
  ASSERT_EQ(nic.failures.sent().size(), 2u);
  EXPECT_EQ(nic.failures.sent()[0].token.event_type, spec::RdmaEventType::kCommEst);
  EXPECT_EQ(nic.failures.sent()[1].token.event_type, spec::RdmaEventType::kQpAccessErr);
  EXPECT_TRUE(nic.buffer.IsIdle() && nic.responder.IsIdle() && nic.scatter.IsIdle());
}

// --- RTL and model, connected in the same way

template <typename Top>
struct Bench {
  Bench() {
    buffer.frame_out.Connect(responder.frame_in, buffer);
    responder.memory_check_out.Connect(checks, responder);
    responder.place_out.Connect(scatter.place_in, responder);
    scatter.ack_out.Connect(acks, scatter);
    responder.failure_out.Connect(failures, responder);
    scatter.write_out.Connect(writes, scatter);
    scatter.completion_out.Connect(completions, scatter);
    scatter.answer_out.Connect(answers, scatter);
    scatter.failure_out.Connect(write_failures, scatter);
    responder.SetEnable(0, true);
    bench.AddOther(wire);
    bench.AddOther(port);
    bench.AddOther(net);
    bench.AddOther(hold);
    scatter.net_sink = &net;
    check.on_token = [this](Cycle, const spec::MemoryCheck& asked) { memory.tokens.push_back(Place(asked, rkey)); };
  }

  void SetMac(const std::array<uint8_t, 6>& mac) {
    responder.SetMac(0, mac);
    std::copy(mac.begin(), mac.end(), BytesOf(p.mac_i).begin());
  }

  // Frames on the wire with that parser verdict for which there was room, in order.
  void ExpectNetFrames() {
    size_t next = 0;
    for (const auto& frame : wire.sent) {
      if (frame.dropped || model::RxParser::Parse(frame.bytes, frame.mac_error).verdict != spec::RxVerdict::kNet)
        continue;
      ASSERT_LT(next, net.frames.size());
      ASSERT_EQ(net.frames[next++].bytes, frame.bytes);
    }
    EXPECT_EQ(next, net.frames.size());
  }

  std::mt19937_64 random = sim::MakeRandom("reception");
  uint32_t rkey = 0;
  Agenda agenda;
  model::RxBuffer buffer{agenda, model::RxBuffer::Sizes{.data_bits = 8 * sizeof(Top::s_axis_tdata_i),
                                                        .buffer_bytes = 8192,
                                                        .max_frame_bytes = 1500,
                                                        .bytes_per_frame = 512}};
  model::Responder responder{agenda, model::Responder::Sizes{.net_queue_pairs = 16,
                                                             .num_cqs = 1024,
                                                             .num_qps = 32,
                                                             .max_rd_atomic = 16,
                                                             .data_bits = 8 * sizeof(Top::s_axis_tdata_i)}};
  model::RxScatter scatter{agenda, 8 * sizeof(Top::s_axis_tdata_i), 32, buffer};
  Channel<spec::MemoryCheck> checks = Channel<spec::MemoryCheck>::Sink();
  Channel<spec::RxAck> acks = Channel<spec::RxAck>::Sink();
  Channel<spec::QpFailure> failures = Channel<spec::QpFailure>::Sink();
  Channel<spec::QpFailure> write_failures = Channel<spec::QpFailure>::Sink();
  Channel<model::WriteBeat> writes = Channel<model::WriteBeat>::Sink();
  Channel<spec::Completion> completions = Channel<spec::Completion>::Sink();
  Channel<spec::RxAnswer> answers = Channel<spec::RxAnswer>::Sink();
  RtlTop<Top> rtl{[](const Top& top, std::vector<uint8_t>& bytes) {
    const auto add = [&](const auto& port) {
      const auto data = BytesOf(port);
      bytes.insert(bytes.end(), data.begin(), data.end());
    };
    add(top.rx_drop_o);
    add(top.memory_check_valid_o);
    add(top.ack_valid_o);
    add(top.failure_valid_o);
    add(top.write_failure_valid_o);
    add(top.write_valid_o);
    add(top.write_data_o);
    add(top.completion_valid_o);
    add(top.completion_o);
    add(top.answer_valid_o);
    add(top.answer_o);
    add(top.net_valid_o);
    add(top.net_data_o);
    add(top.net_last_o);
    add(top.net_bytes_o);
    add(top.quiet_o);
    add(top.idle_o);
  }};
  Top& p = rtl.ports();
  BlockBench<Top> bench{rtl, agenda, random};
  WireIn<Top> wire{p, buffer, random};
  WritePort<Top> port{p, scatter, writes, random};
  NetOut<Top> net{p};
  Hold<model::Responder> hold{p.hold_i, responder, random};

  decltype(bench.In("load", responder.load_in, p.load_valid_i, p.load_ready_o, p.load_i)) load =
      bench.In("load", responder.load_in, p.load_valid_i, p.load_ready_o, p.load_i);
  decltype(bench.In("memory_place", responder.memory_place_in, p.memory_place_valid_i, p.memory_place_ready_o,
                    p.memory_place_i)) memory =
      bench.In("memory_place", responder.memory_place_in, p.memory_place_valid_i, p.memory_place_ready_o,
               p.memory_place_i);
  decltype(bench.Out("memory_check", checks, p.memory_check_valid_o, p.memory_check_ready_i, p.memory_check_o)) check =
      bench.Out("memory_check", checks, p.memory_check_valid_o, p.memory_check_ready_i, p.memory_check_o);
  decltype(bench.Out("ack", acks, p.ack_valid_o, p.ack_ready_i, p.ack_o)) ack =
      bench.Out("ack", acks, p.ack_valid_o, p.ack_ready_i, p.ack_o);
  decltype(bench.Out("failure", failures, p.failure_valid_o, p.failure_ready_i, p.failure_o)) failure =
      bench.Out("failure", failures, p.failure_valid_o, p.failure_ready_i, p.failure_o);
  decltype(bench.Out("write_failure", write_failures, p.write_failure_valid_o, p.write_failure_ready_i,
                     p.write_failure_o)) write_failure =
      bench.Out("write_failure", write_failures, p.write_failure_valid_o, p.write_failure_ready_i, p.write_failure_o);
  decltype(bench.Out("completion", completions, p.completion_valid_o, p.completion_ready_i,
                     p.completion_o)) completion =
      bench.Out("completion", completions, p.completion_valid_o, p.completion_ready_i, p.completion_o);
  decltype(bench.Out("answer", answers, p.answer_valid_o, p.answer_ready_i, p.answer_o)) answer =
      bench.Out("answer", answers, p.answer_valid_o, p.answer_ready_i, p.answer_o);
  decltype(bench.template Pulse<spec::TableWrite>(p.table_write_valid_i, p.table_write_i, nullptr)) table =
      bench.template Pulse<spec::TableWrite>(
          p.table_write_valid_i, p.table_write_i,
          [this](Cycle now, const auto& write) { responder.OnTableWrite(now, write); });
  decltype(bench.template Pulse<spec::QpStateWrite>(p.qp_state_write_valid_i, p.qp_state_write_i, nullptr)) qp_state =
      bench.template Pulse<spec::QpStateWrite>(p.qp_state_write_valid_i, p.qp_state_write_i,
                                               [this](Cycle now, const auto& write) {
                                                 responder.OnQpStateWrite(now, write);
                                                 scatter.OnQpStateWrite(now, write);
                                               });
};

template <typename Top>
class ReceptionTest : public ::testing::Test {};
using Tops = ::testing::Types<Vreception_64, Vreception_512>;
TYPED_TEST_SUITE(ReceptionTest, Tops);

TYPED_TEST(ReceptionTest, MatchesModelWithLostDamagedAndDuplicatedFrames) {
  struct Rates {
    unsigned wire, memory, write, answer;
  };
  const auto frames = FramesOf("rc_write.pcap");
  const uint32_t qpn = BthOf(frames.front()).dest_qp;
  for (const Rates& rates :
       {Rates{16, 16, 16, 16}, Rates{2, 16, 16, 16}, Rates{16, 16, 5, 16}, Rates{16, 2, 16, 1}, Rates{8, 8, 12, 8}}) {
    Bench<TypeParam> bench;
    bench.SetMac(MacOf(frames.front()));
    bench.wire.rate = rates.wire;
    bench.memory.rate = rates.memory;
    bench.port.rate = rates.write;
    bench.answer.rate = rates.answer;
    bench.port.late = 5;
    bench.rkey = spec::Reth::Decode(frames.front().data() + kBthOffset + spec::Bth::kBytes).rkey;
    bench.table.tokens.push_back(ContextFor(frames.front()));
    bench.qp_state.tokens.push_back({.qpn = qpn, .state = spec::IbQpState::kRts});
    for (unsigned round = 0; round < 15; ++round) {
      bench.load.tokens.push_back({.qpn = qpn, .psn = BthOf(frames.front()).psn});
      ASSERT_EQ(bench.bench.RunOut(20), "");
      for (const auto& frame : frames) {
        if (bench.random() % 20 == 0) continue;
        bench.wire.frames.push_back({frame});
        if (bench.random() % 8 == 0) bench.wire.frames.push_back({frame});
        if (bench.random() % 20 == 0) bench.wire.frames.push_back({frame, true});
        if (bench.random() % 20 == 0) bench.wire.frames.back().bytes[100 % frame.size()] ^= 1;
        if (bench.random() % 10 == 0) bench.wire.frames.push_back({Bytes(60 + bench.random() % 500, 0xa5)});
      }
      ASSERT_EQ(bench.bench.RunOut(round % 4 == 0 ? 4000 : 0), "");
    }
    ASSERT_EQ(bench.bench.RunOut(6000), "");
    EXPECT_NE(bench.p.idle_o, 0);
    EXPECT_GT(bench.port.writes.size(), 20u);
    EXPECT_GT(bench.answer.count, 20u);
    bench.ExpectNetFrames();
    EXPECT_GT(bench.net.frames.size(), 5u);
  }
}

// Linux writes; the bus refuses one of the writes of its frames. The peer is told so, and of nothing behind it.
TYPED_TEST(ReceptionTest, RefusedWriteIsAnsweredWithANak) {
  const auto frames = FramesOf("rc_write.pcap");
  const uint32_t qpn = BthOf(frames.front()).dest_qp;
  std::vector<Bytes> requests;
  for (const auto& frame : frames) {
    if (!IsAnswer(frame)) requests.push_back(frame);
  }
  for (size_t refused = 0; refused < 8; ++refused) {
    Bench<TypeParam> bench;
    bench.SetMac(MacOf(frames.front()));
    bench.wire.rate = 2;
    bench.rkey = spec::Reth::Decode(frames.front().data() + kBthOffset + spec::Bth::kBytes).rkey;
    bench.port.refuses = [&](uint64_t number) { return number == refused; };
    bench.table.tokens.push_back(ContextFor(frames.front()));
    bench.qp_state.spacing = 4;
    bench.qp_state.tokens.push_back({.qpn = qpn, .state = spec::IbQpState::kInit});
    bench.qp_state.tokens.push_back({.qpn = qpn, .state = spec::IbQpState::kRts});
    bench.load.tokens.push_back({.qpn = qpn, .psn = BthOf(frames.front()).psn});
    ASSERT_EQ(bench.bench.RunOut(20), "");
    std::vector<uint32_t> psn_of_write;  // a frame whose pages are not contiguous makes two
    bench.check.on_token = [&, answer = bench.check.on_token](Cycle cycle, const spec::MemoryCheck& asked) {
      const auto place = Place(asked, bench.rkey);
      const uint32_t psn = BthOf(requests.at(bench.check.count - 1)).psn;
      for (unsigned i = 0; i < (place.bytes1 == 0 ? 1u : 2u); ++i) psn_of_write.push_back(psn);
      answer(cycle, asked);
    };
    for (const auto& frame : requests) bench.wire.frames.push_back({frame});
    ASSERT_EQ(bench.bench.RunOut(6000), "");
    EXPECT_NE(bench.p.idle_o, 0);
    ASSERT_LT(refused, psn_of_write.size());
    ASSERT_EQ(bench.write_failures.sent().size(), 1u);
    EXPECT_EQ(bench.write_failures.sent()[0].token,
              (spec::QpFailure{.qpn = qpn,
                               .event_type = spec::RdmaEventType::kQpFatal,
                               .code = static_cast<uint32_t>(spec::RdmaError::kQueueDmaError)}));
    const auto said = WhatWasSaid(bench.answers);
    ASSERT_FALSE(said.empty());
    EXPECT_EQ(said.back().psn, psn_of_write[refused]);
    for (const Said& one : said) {
      const auto syndrome =
          one == said.back() ? spec::AethSyndrome::kNakRemoteOperationalError : spec::AethSyndrome::kAckNoCredits;
      EXPECT_EQ(one.aeth[0], static_cast<uint8_t>(syndrome));
    }
  }
}

// From one byte on, between the frames of a peer that writes, with holds now and then.
TYPED_TEST(ReceptionTest, NetFramesOfEveryLengthPassUnchangedBetweenOthers) {
  const auto frames = FramesOf("rc_write.pcap");
  const uint32_t qpn = BthOf(frames.front()).dest_qp;
  for (const unsigned toggles : {0u, 1u, 8u}) {
    Bench<TypeParam> bench;
    bench.SetMac(MacOf(frames.front()));
    bench.hold.toggles = toggles;
    bench.wire.rate = 2;
    bench.port.late = 5;
    bench.rkey = spec::Reth::Decode(frames.front().data() + kBthOffset + spec::Bth::kBytes).rkey;
    bench.table.tokens.push_back(ContextFor(frames.front()));
    bench.qp_state.tokens.push_back({.qpn = qpn, .state = spec::IbQpState::kRts});
    bench.load.tokens.push_back({.qpn = qpn, .psn = BthOf(frames.front()).psn});
    ASSERT_EQ(bench.bench.RunOut(20), "");
    size_t next = 0;
    for (size_t bytes = 1; bytes <= 1500; bytes += bytes < 200 ? 1 : 1 + bench.random() % 40) {
      // Neither an EtherType of IP nor of a tag; shorter than a header, too.
      bench.wire.frames.push_back({Bytes(bytes, static_cast<uint8_t>(bytes))});
      for (auto& byte : bench.wire.frames.back().bytes) byte = static_cast<uint8_t>(byte ^ bench.random() % 8 << 4);
      if (bytes % 7 == 0 && next != frames.size()) bench.wire.frames.push_back({frames[next++]});
    }
    ASSERT_EQ(bench.bench.RunOut(200), "");
    bench.hold.toggles = 0;
    bench.hold.on = false;
    ASSERT_EQ(bench.bench.Run(6000), "");
    EXPECT_NE(bench.p.idle_o, 0);
    EXPECT_TRUE(bench.net.IsEmpty());
    bench.ExpectNetFrames();
    EXPECT_GT(bench.net.frames.size(), 150u);
    // During a long hold the buffer loses frames of this peer, too.
    if (toggles == 0) {
      EXPECT_GT(bench.port.writes.size(), 2u);
    }
  }
}

// Under traffic that never ends: during a hold nothing leaves, frames wait in the buffer, and continue afterwards.
TYPED_TEST(ReceptionTest, HoldMakesItQuietInBoundedTimeUnderTraffic) {
  const auto frames = FramesOf("rc_write.pcap");
  const uint32_t qpn = BthOf(frames.front()).dest_qp;
  Bench<TypeParam> bench;
  bench.SetMac(MacOf(frames.front()));
  bench.rkey = spec::Reth::Decode(frames.front().data() + kBthOffset + spec::Bth::kBytes).rkey;
  bench.table.tokens.push_back(ContextFor(frames.front()));
  bench.qp_state.tokens.push_back({.qpn = qpn, .state = spec::IbQpState::kRts});
  bench.load.tokens.push_back({.qpn = qpn, .psn = BthOf(frames.front()).psn});
  ASSERT_EQ(bench.bench.RunOut(20), "");
  // Five of the longest frames (one in its turn, three places in flight, one being written), and the port's latency.
  constexpr Cycle kBound = 5 * (1500 / sizeof(TypeParam::s_axis_tdata_i) + 20);
  for (unsigned round = 0; round < 60; ++round) {
    while (bench.wire.frames.size() < 20) {
      bench.wire.frames.push_back({frames[bench.random() % frames.size()]});
      bench.wire.frames.push_back({Bytes(1 + bench.random() % 1500, 0xa5)});
    }
    ASSERT_EQ(bench.bench.Run(bench.random() % 200), "");
    bench.hold.on = true;
    ASSERT_EQ(bench.bench.Run(2), "");
    Cycle waited = 2;
    for (; bench.p.quiet_o == 0 && waited < kBound; ++waited) ASSERT_EQ(bench.bench.Run(1), "");
    EXPECT_NE(bench.p.quiet_o, 0);
    const auto writes = bench.port.writes.size();
    const auto net = bench.net.frames.size();
    for (unsigned i = 0; i < 100; ++i) {
      ASSERT_EQ(bench.bench.Run(1), "");
      ASSERT_NE(bench.p.quiet_o, 0);
    }
    EXPECT_EQ(bench.port.writes.size(), writes);
    EXPECT_EQ(bench.net.frames.size(), net);
    bench.hold.on = false;
  }
  ASSERT_EQ(bench.bench.RunOut(20'000), "");
  EXPECT_NE(bench.p.idle_o, 0);
  bench.ExpectNetFrames();
  EXPECT_GT(bench.net.frames.size(), 60u);
}

}  // namespace
}  // namespace vireo::verif
