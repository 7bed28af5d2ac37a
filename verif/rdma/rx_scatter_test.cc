// SPDX-License-Identifier: Apache-2.0
// The scatter block: the writes equal the places, and RTL and model agree in every cycle.
#include "model/rdma/rx_scatter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "Vrx_scatter_512.h"
#include "Vrx_scatter_64.h"
#include "sim/common/seed.h"
#include "spec/gen/vireo_spec.h"
#include "verif/common/block_bench.h"
#include "verif/common/store_bench.h"
#include "verif/rdma/grant_bench.h"
#include "verif/rdma/key_fence_bench.h"
#include "verif/rdma/reception_bench.h"

namespace vireo::verif {
namespace {

using model::Agenda;
using model::Channel;
using model::Cycle;
using model::RxScatter;
using model::WriteBeat;

template <typename Top>
class Idle final : public BenchStream {
 public:
  Idle(const Top& ports, const RxScatter& model) : p_(ports), model_(model) {}
  void Begin(Cycle cycle) override {
    if ((p_.idle_o != 0) != idle_) difference = "idle: cycle " + std::to_string(cycle);
  }
  void End(Cycle) override { idle_ = model_.IsIdle(); }
  bool IsEmpty() const override { return true; }

 private:
  const Top& p_;
  const RxScatter& model_;
  bool idle_ = true;
};

template <typename Top>
struct Bench {
  static constexpr size_t kBeatBytes = sizeof(Top::oldest_data_i);
  static constexpr size_t kPlaces = kBeatBytes < spec::kDmaFetchBytes ? 16 : 64;      // that wait, at most
  static constexpr Cycle kPlaceInterval = kBeatBytes < spec::kDmaFetchBytes ? 2 : 1;  // at most

  static std::shared_ptr<RtlTop<Top>> MakeRtl() {
    return std::make_shared<RtlTop<Top>>([](const Top& top, std::vector<uint8_t>& bytes) {
      const auto add = [&](const auto& port) {
        const auto data = BytesOf(port);
        bytes.insert(bytes.end(), data.begin(), data.end());
      };
      add(top.place_ready_o);
      add(top.oldest_read_o);
      add(top.oldest_beat_o);
      add(top.oldest_free_o);
      add(top.write_valid_o);
      add(top.write_request_o);
      add(top.write_data_o);
      add(top.write_last_o);
      add(top.completion_valid_o);
      add(top.completion_o);
      add(top.answer_valid_o);
      add(top.answer_o);
      add(top.ack_valid_o);
      add(top.ack_o);
      add(top.failure_valid_o);
      add(top.failure_o);
      add(top.net_valid_o);
      add(top.net_data_o);
      add(top.net_last_o);
      add(top.net_bytes_o);
      add(top.grant_ended_o);
      add(top.fence_waits_o);
      add(top.idle_o);
    });
  }

  // `again`: a running simulation, to be reset.
  explicit Bench(std::shared_ptr<RtlTop<Top>> again = nullptr) : owner(again ? again : MakeRtl()) {
    if (again) rtl.Reset();
    block.write_out.Connect(beats, block);
    block.completion_out.Connect(completions, block);
    block.ack_out.Connect(acks, block);
    block.answer_out.Connect(answers, block);
    block.failure_out.Connect(failures, block);
    bench.AddOther(store);
    bench.AddOther(port);
    bench.AddOther(idle);
    bench.AddOther(net);
    bench.AddOther(ends);
    bench.AddOther(key_fence);
    block.net_sink = &net;
    completion.on_token = [this](Cycle, const spec::Completion& token) {
      Leaves(Part::kCompletion, token, &Outputs::completion);
    };
    ack.on_token = [this](Cycle, const spec::RxAck& token) { Leaves(Part::kAck, token, &Outputs::ack); };
    answer.on_token = [this](Cycle, const spec::RxAnswer& token) { Leaves(Part::kAnswer, token, &Outputs::answer); };
    failure.on_token = [this](Cycle, const spec::QpFailure& token) {
      Leaves(Part::kFailure, token, &Outputs::failure);
    };
    qp_state.spacing = 4;
  }

  // The outputs of a place, in this order; all of one place before the next one's, none before its data.
  enum class Part : size_t { kCompletion, kAck, kAnswer, kFailure };
  struct Outputs {
    std::optional<spec::Completion> completion;
    std::optional<spec::RxAck> ack;
    std::optional<spec::RxAnswer> answer;
    std::optional<spec::QpFailure> failure;
    bool fails = false;    // its QP fails with it
    bool refused = false;  // a write of it, or of the frame's places before it
    std::array<bool, 4> has() const {
      return {completion.has_value(), ack.has_value(), answer.has_value(), failure.has_value()};
    }
  };
  // A QP that a refused write has failed.
  struct Qp {
    bool failed = false;
    bool receives = false;  // the receive of its message is still to complete
  };
  template <typename T>
  void Leaves(Part part, const T& token, std::optional<T> Outputs::*field) {
    SkipSilent();
    ASSERT_FALSE(expected.empty());
    const Outputs outputs = OutputsOf(expected.front().place);
    const std::array<bool, 4> has = outputs.has();
    const auto index = static_cast<size_t>(part);
    EXPECT_TRUE(has[index] && !left[index]);
    for (size_t i = 0; i < index; ++i) EXPECT_EQ(left[i], has[i]);
    EXPECT_EQ(token, outputs.*field);
    // Whoever learns of the data finds it in memory.
    EXPECT_GE(port.done, needed + Writes(expected.front().place));
    left[index] = true;
    if (left == has) Settle();
  }

  struct Expected {
    spec::RxPlace place;
    Bytes frame;
  };
  static unsigned Writes(const spec::RxPlace& place) {
    if (place.no_frame || place.bytes0 == 0) return 0;
    return place.bytes1 == 0 ? 1 : 2;
  }
  // Of the first expected place.
  Outputs OutputsOf(const spec::RxPlace& place) {
    const Qp& qp = qps[place.answer.packet.qpn % kQps];
    Outputs outputs;
    outputs.refused = frame_refused && !place.no_frame;
    for (unsigned i = 0; i < Writes(place); ++i) {
      if (needed + i < port.refused.size() && port.refused[needed + i]) outputs.refused = true;
    }
    const bool whole = outputs.refused && !place.no_frame && !place.more;  // the frame is complete, and was refused
    outputs.fails = whole && place.request && !qp.failed;
    if (place.has_completion) {
      outputs.completion = place.completion;
      auto cqe = spec::RdmaCqReq::Decode(place.completion.cqe);
      if (outputs.fails || (qp.failed && qp.receives)) {
        cqe.status = spec::IbWcStatus::kLocQpOpErr;
        cqe.vendor_err = static_cast<uint32_t>(spec::RdmaError::kQueueDmaError);
        cqe.Encode(outputs.completion->cqe);
      } else if (qp.failed) {
        cqe.status = spec::IbWcStatus::kWrFlushErr;
        cqe.vendor_err = 0;
        cqe.Encode(outputs.completion->cqe);
      }
    }
    if (place.has_ack) {
      outputs.ack = place.ack;
      if (whole && place.ack.is_read && place.ack.status == spec::IbWcStatus::kSuccess) {
        outputs.ack->status = spec::IbWcStatus::kLocQpOpErr;
        outputs.ack->syndrome = static_cast<uint8_t>(spec::RdmaError::kQueueDmaError);
      }
    }
    if (outputs.fails) {
      if (place.acknowledged) {
        outputs.answer = place.answer;
        auto aeth = spec::Aeth::Decode(place.answer.packet.extension);
        aeth.msn = (aeth.msn - place.ends_message) & 0xff'ffff;
        aeth.Encode(outputs.answer->packet.extension);
        outputs.answer->packet.extension[0] = static_cast<uint8_t>(spec::AethSyndrome::kNakRemoteOperationalError);
      }
      outputs.failure = {.qpn = place.answer.packet.qpn,
                         .event_type = spec::RdmaEventType::kQpFatal,
                         .code = static_cast<uint32_t>(spec::RdmaError::kQueueDmaError),
                         .reported = place.uses_receive || place.has_completion};
    } else if (place.has_answer && !qp.failed) {
      outputs.answer = place.answer;
    }
    return outputs;
  }
  void SkipSilent() {
    while (!expected.empty() && OutputsOf(expected.front().place).has() == std::array<bool, 4>{}) Settle();
  }
  void Settle() {
    const spec::RxPlace& place = expected.front().place;
    const Outputs outputs = OutputsOf(place);
    Qp& qp = qps[place.answer.packet.qpn % kQps];
    if (outputs.fails) {
      qp = {.failed = true, .receives = place.uses_receive && !place.has_completion};
      ++failed;
    } else if (place.has_completion) {
      qp.receives = false;
    }
    if (!place.no_frame) frame_refused = outputs.refused && place.more;
    needed += Writes(place);
    // Those of this cycle do not count yet, but the port's last pulse may be of this cycle.
    EXPECT_GE(port.done, needed);
    expected.pop_front();
    left = {};
  }

  // Places of one frame: all but the last have `more`, or `copied` if they end a copy of it. Those without a frame may
  // stand between them.
  void Places(std::vector<spec::RxPlace> places, size_t frame_bytes) {
    Bytes frame(frame_bytes);
    for (auto& byte : frame) byte = static_cast<uint8_t>(random());
    store.Add(bench.cycle(), frame);
    bool more = false;
    for (auto place = places.rbegin(); place != places.rend(); ++place) {
      if (place->no_frame) continue;
      if (!more) place->copied = false;
      place->more = more && !place->copied;
      more = true;
    }
    for (const spec::RxPlace& place : places) {
      place_in.tokens.push_back(place);
      expected.push_back({place, frame});
      all.push_back({place, frame});
    }
  }
  void Place(const spec::RxPlace& place, size_t frame_bytes) { Places({place}, frame_bytes); }
  spec::RxPlace RandomPlace(size_t most) {
    spec::RxPlace place;
    spec::RxPlace::Visit(place, [&](const char*, auto& field, unsigned bits) {
      const uint64_t value = random() & (~uint64_t{0} >> (64 - bits));
      field = static_cast<std::remove_reference_t<decltype(field)>>(value);
    });
    place.net_bytes = 0;
    const spec::TxPacket& any = place.answer.packet;
    spec::TxPacket packet{.qpn = static_cast<uint32_t>(random() % 3), .opcode = any.opcode, .psn = any.psn};
    std::copy_n(any.extension, spec::Aeth::kBytes + spec::AtomicEth::kBytes - spec::AtomicEth::kSwapAddDataOffset,
                packet.extension);
    place.answer.packet = packet;
    if (random() % 2 == 0) place.ack.status = spec::IbWcStatus::kSuccess;
    place.no_frame = random() % 8 == 0;
    place.zeros = random() % 4 == 0;
    place.has_value = random() % 6 == 0;
    if (place.no_frame) return place;
    place.offset = static_cast<uint16_t>(random() % 122);
    place.bytes0 = random() % 5 == 0 ? uint16_t{0} : static_cast<uint16_t>(1 + random() % most);
    place.bytes1 = place.bytes0 == 0 || random() % 2 != 0 ? uint16_t{0} : static_cast<uint16_t>(1 + random() % most);
    if (!place.has_value) return place;
    place.bytes0 = static_cast<uint16_t>(1 + random() % 8);
    place.bytes1 = static_cast<uint16_t>(random() % (9 - place.bytes0));
    return place;
  }
  // A frame of the net path.
  void Net(size_t bytes) { Place({.net_bytes = static_cast<uint16_t>(bytes)}, bytes); }
  // A frame, of the net path or of one place in most cases; several lie one behind the other, as a message over its
  // elements.
  void RandomFrame(size_t most) {
    if (random() % 4 == 0) return Net(1 + random() % most);
    std::vector<spec::RxPlace> places;
    size_t end = 0;
    for (size_t left = random() % 3 == 0 ? 1 + random() % 5 : 1; left > 0;) {
      places.push_back(RandomPlace(most));
      spec::RxPlace& place = places.back();
      if (place.no_frame) continue;
      if (end != 0) place.offset = static_cast<uint16_t>(end);
      end = size_t{place.offset} + place.bytes0 + place.bytes1;
      --left;
    }
    Places(places, end + random() % 5 + 1);
  }

  // All writes equal the places.
  void CheckWrites() {
    size_t next = 0, next_net = 0;
    for (const Expected& one : all) {
      const spec::RxPlace& place = one.place;
      if (place.no_frame) continue;
      const Bytes& frame = one.frame;
      if (place.net_bytes != 0) {
        ASSERT_LT(next_net, net.frames.size());
        EXPECT_EQ(net.frames[next_net++].bytes, frame);
      }
      const auto check = [&](size_t from, uint64_t address, size_t bytes) {
        ASSERT_LT(next, port.writes.size());
        const auto& write = port.writes[next++];
        EXPECT_EQ(write.request, (spec::DmaWriteRequest{address, static_cast<uint16_t>(bytes), true, 0}));
        Bytes data(bytes);
        for (size_t i = 0; i < bytes && !place.zeros; ++i) {
          data[i] =
              place.has_value ? static_cast<uint8_t>(place.value >> 8 * (from - place.offset + i)) : frame[from + i];
        }
        data.resize((bytes + kBeatBytes - 1) / kBeatBytes * kBeatBytes);
        EXPECT_EQ(write.data, data);
      };
      if (place.bytes0 != 0) check(place.offset, place.address0, place.bytes0);
      if (place.bytes0 != 0 && place.bytes1 != 0)
        check(size_t{place.offset} + place.bytes0, place.address1, place.bytes1);
    }
    EXPECT_EQ(next, port.writes.size());
    EXPECT_EQ(next_net, net.frames.size());
    EXPECT_EQ(store.size(), 0u);
    while (!expected.empty()) Settle();
  }

  static constexpr size_t kQps = kBeatBytes == 8 ? spec::kNic1.num_qps : spec::kNic100.num_qps;
  std::mt19937_64 random = sim::MakeRandom("rx_scatter");
  Agenda agenda;
  std::shared_ptr<RtlTop<Top>> owner;
  RtlTop<Top>& rtl = *owner;
  Top& p = rtl.ports();
  StoreBench<Top> store{p, random};
  RxScatter block{agenda, 8 * kBeatBytes, kQps, store};
  Channel<WriteBeat> beats = Channel<WriteBeat>::Sink();
  Channel<spec::Completion> completions = Channel<spec::Completion>::Sink();
  Channel<spec::RxAck> acks = Channel<spec::RxAck>::Sink();
  Channel<spec::RxAnswer> answers = Channel<spec::RxAnswer>::Sink();
  Channel<spec::QpFailure> failures = Channel<spec::QpFailure>::Sink();
  BlockBench<Top> bench{rtl, agenda, random};
  WritePort<Top> port{p, block, beats, random};
  Idle<Top> idle{p, block};
  NetOut<Top> net{p};
  GrantEnds<CData, RxScatter> ends{p.grant_ended_o, block};
  KeyFenceBench<decltype(p.key_fence_i), decltype(p.fence_waits_o), RxScatter> key_fence{p.key_fence_i, p.fence_waits_o,
                                                                                         block, random};
  decltype(bench.In("place", block.place_in, p.place_valid_i, p.place_ready_o, p.place_i)) place_in =
      bench.In("place", block.place_in, p.place_valid_i, p.place_ready_o, p.place_i);
  decltype(bench.Out("completion", completions, p.completion_valid_o, p.completion_ready_i,
                     p.completion_o)) completion =
      bench.Out("completion", completions, p.completion_valid_o, p.completion_ready_i, p.completion_o);
  decltype(bench.Out("ack", acks, p.ack_valid_o, p.ack_ready_i, p.ack_o)) ack =
      bench.Out("ack", acks, p.ack_valid_o, p.ack_ready_i, p.ack_o);
  decltype(bench.Out("answer", answers, p.answer_valid_o, p.answer_ready_i, p.answer_o)) answer =
      bench.Out("answer", answers, p.answer_valid_o, p.answer_ready_i, p.answer_o);
  decltype(bench.Out("failure", failures, p.failure_valid_o, p.failure_ready_i, p.failure_o)) failure =
      bench.Out("failure", failures, p.failure_valid_o, p.failure_ready_i, p.failure_o);
  decltype(bench.template Pulse<spec::QpStateWrite>(p.qp_state_write_valid_i, p.qp_state_write_i, nullptr)) qp_state =
      bench.template Pulse<spec::QpStateWrite>(
          p.qp_state_write_valid_i, p.qp_state_write_i,
          [this](Cycle now, const auto& write) { block.OnQpStateWrite(now, write); });
  std::deque<Expected> expected;
  std::vector<Expected> all;
  uint64_t needed = 0;
  std::array<bool, 4> left{};  // of the first expected one, by Part
  std::array<Qp, kQps> qps{};
  bool frame_refused = false;
  uint64_t failed = 0;  // QPs
};

template <typename Top>
class RxScatterTest : public ::testing::Test {};
using Tops = ::testing::Types<Vrx_scatter_64, Vrx_scatter_512>;
TYPED_TEST_SUITE(RxScatterTest, Tops);

spec::RxPlace Run(size_t offset, size_t bytes) {
  spec::RxPlace place{
      .offset = static_cast<uint16_t>(offset), .address0 = 0x1000, .bytes0 = static_cast<uint16_t>(bytes)};
  if (bytes != 0) place.grant = GrantOf(offset);
  place.has_answer = true;
  place.answer.packet.psn = static_cast<uint32_t>(bytes);
  return place;
}

TYPED_TEST(RxScatterTest, EveryLaneAndLengthAroundBeats) {
  Bench<TypeParam> bench;
  const size_t beat = bench.kBeatBytes;
  for (size_t offset = 0; offset < 2 * beat; offset += beat > 8 ? 7 : 1) {
    for (const size_t bytes : {size_t{1}, beat - 1, beat, beat + 1, 2 * beat - 1, 2 * beat, 2 * beat + 1, 5 * beat}) {
      bench.Place(Run(offset, bytes), offset + bytes);
      auto two = Run(offset, bytes);
      two.address1 = 0x77000;
      two.bytes1 = static_cast<uint16_t>(1 + (bytes * 7 + offset) % (2 * beat));
      bench.Place(two, offset + bytes + two.bytes1);
    }
  }
  ASSERT_EQ(bench.bench.RunOut(100), "");
  bench.CheckWrites();
}

TYPED_TEST(RxScatterTest, ScattersFourKilobytes) {
  Bench<TypeParam> bench;
  for (const size_t offset : {54u, 70u, 127u, 255u}) bench.Place(Run(offset, 4096), offset + 4096);
  ASSERT_EQ(bench.bench.RunOut(20 + 4 * 4400 / bench.kBeatBytes), "");
  bench.CheckWrites();
}

TYPED_TEST(RxScatterTest, MatchesModelAtEveryRate) {
  struct Rates {
    unsigned place, write, completion, ack, answer, late_accept, late_frame;
  };
  for (const Rates& rates :
       {Rates{16, 16, 16, 16, 16, 0, 0}, Rates{16, 4, 16, 16, 16, 0, 0}, Rates{16, 16, 16, 16, 1, 0, 0},
        Rates{16, 16, 16, 1, 16, 0, 0}, Rates{16, 16, 1, 16, 16, 0, 0}, Rates{16, 16, 16, 16, 16, 60, 0},
        Rates{16, 16, 16, 16, 16, 0, 20}, Rates{3, 16, 16, 16, 16, 5, 5}, Rates{9, 9, 9, 9, 9, 9, 9}}) {
    for (const size_t most : {40u, 600u}) {
      Bench<TypeParam> bench;
      bench.place_in.rate = rates.place;
      bench.port.rate = rates.write;
      bench.completion.rate = rates.completion;
      bench.ack.rate = rates.ack;
      bench.answer.rate = rates.answer;
      bench.port.late = rates.late_accept;
      bench.store.late = rates.late_frame;
      for (unsigned i = 0; i < 150; ++i) bench.RandomFrame(most);
      std::string difference;
      while (difference.empty() && !(bench.place_in.IsEmpty() && bench.block.IsIdle())) difference = bench.bench.Run(1);
      ASSERT_EQ(difference, "");
      ASSERT_EQ(bench.bench.Run(50), "");
      bench.CheckWrites();
    }
  }
}

TYPED_TEST(RxScatterTest, MeetsDocumentedLatencies) {
  for (const bool lag : {false, true}) {
    Bench<TypeParam> bench;
    const size_t beat = bench.kBeatBytes;
    ASSERT_EQ(bench.bench.Run(5), "");
    bench.Place(Run(lag ? 5 : 0, 2 * beat), 3 * beat);
    const Cycle pushed = bench.bench.cycle();
    // In its slice, taken, its first step, and one more if two beats of the frame make one.
    const uint64_t latency = 1 + 1 + (lag ? 1 : 0) + RxScatter::kBeatLatency;
    ASSERT_EQ(bench.bench.Run(latency), "");
    EXPECT_TRUE(bench.port.writes.empty());
    ASSERT_EQ(bench.bench.Run(1), "");
    ASSERT_EQ(bench.port.writes.size(), 1u);
    EXPECT_EQ(bench.port.writes[0].first, pushed + latency);
    ASSERT_EQ(bench.bench.Run(1), "");
    // The second beat left in this cycle, so it is in memory in the next and the answer leaves in the one after.
    EXPECT_EQ(bench.port.writes[0].last, pushed + latency + 1);
    ASSERT_EQ(bench.bench.Run(1), "");
    EXPECT_EQ(bench.answer.count, 0u);
    EXPECT_FALSE(bench.block.IsIdle());
    ASSERT_EQ(bench.bench.Run(1), "");
    EXPECT_EQ(bench.answer.count, 1u);
    EXPECT_TRUE(bench.block.IsIdle());
  }
}

TYPED_TEST(RxScatterTest, AnswerWithoutWritesComesThreeCyclesAfterItsPlace) {
  Bench<TypeParam> bench;
  bench.Place(Run(0, 0), 60);
  ASSERT_EQ(bench.bench.Run(3), "");
  EXPECT_EQ(bench.answer.count, 0u);
  ASSERT_EQ(bench.bench.Run(1), "");
  EXPECT_EQ(bench.answer.count, 1u);
}

spec::RxPlace Completes(size_t offset, size_t bytes, bool has_answer) {
  spec::RxPlace place = Run(offset, bytes);
  place.has_answer = has_answer;
  place.has_completion = true;
  place.completion.used_bytes = static_cast<uint32_t>(bytes);
  place.completion.cqe[47] = 0xaa;
  return place;
}

// A message over many elements: each byte of the frame goes to its destination, from any offset of it.
TYPED_TEST(RxScatterTest, FrameIsScatteredOverManyPlaces) {
  Bench<TypeParam> bench;
  for (const size_t piece : {size_t{1}, size_t{13}, bench.kBeatBytes, size_t{512}, size_t{1365}}) {
    std::vector<spec::RxPlace> places;
    size_t offset = 54;
    for (; offset + 3 * piece <= 54 + 4096; offset += 3 * piece) {
      // Single bytes at both ends only, for the test's speed.
      if (piece == 1 && offset > 200) offset = std::max<size_t>(offset, 4000);
      places.push_back(Run(offset, piece));
      places.back().address1 = 0x10000 * offset;
      places.back().bytes1 = static_cast<uint16_t>(2 * piece);
      places.back().has_answer = false;
    }
    bench.Places(places, offset);
  }
  ASSERT_EQ(bench.bench.RunOut(2000), "");
  EXPECT_TRUE(bench.block.IsIdle());
  bench.CheckWrites();
}

TYPED_TEST(RxScatterTest, FrameStaysUntilItsLastPlace) {
  Bench<TypeParam> bench;
  spec::RxPlace none;
  spec::RxPlace some = Run(100, 30);
  none.more = some.more = true;
  bench.Place(Run(0, 0), 60);
  bench.Places({none, some, none, Run(54, 5)}, 200);
  auto last = std::move(bench.place_in.tokens.back());
  bench.place_in.tokens.pop_back();
  ASSERT_EQ(bench.bench.Run(100), "");
  EXPECT_EQ(bench.store.size(), 1u);
  EXPECT_EQ(bench.port.writes.size(), 1u);
  EXPECT_TRUE(bench.block.IsIdle());
  bench.place_in.tokens.push_back(last);
  ASSERT_EQ(bench.bench.Run(100), "");
  bench.CheckWrites();
}

TYPED_TEST(RxScatterTest, FrameStaysForItsNextCopy) {
  Bench<TypeParam> bench;
  spec::RxPlace none;
  spec::RxPlace some = Run(100, 30);
  none.copied = some.copied = true;
  bench.Places({Run(20, 40), some, none, some, {}}, 200);
  auto last = std::move(bench.place_in.tokens.back());
  bench.place_in.tokens.pop_back();
  ASSERT_EQ(bench.bench.Run(100), "");
  EXPECT_EQ(bench.store.size(), 1u);
  EXPECT_EQ(bench.port.writes.size(), 3u);
  bench.place_in.tokens.push_back(last);
  ASSERT_EQ(bench.bench.Run(100), "");
  EXPECT_EQ(bench.store.size(), 0u);
  EXPECT_TRUE(bench.block.IsIdle());
  bench.CheckWrites();
}

TYPED_TEST(RxScatterTest, PlaceWithoutAFrameNeedsNone) {
  Bench<TypeParam> bench;
  for (unsigned i = 0; i < 20; ++i) {
    auto place = Completes(0, i, i % 3 == 0);
    place.no_frame = true;
    bench.place_in.tokens.push_back(place);
    bench.expected.push_back({place, {}});
  }
  ASSERT_EQ(bench.bench.RunOut(50), "");
  EXPECT_EQ(bench.completion.count, 20u);
  EXPECT_EQ(bench.answer.count, 7u);
  EXPECT_TRUE(bench.port.writes.empty());
  EXPECT_TRUE(bench.block.IsIdle());
  // And leaves the present frame unchanged.
  auto place = Completes(0, 5, true);
  place.no_frame = true;
  bench.Places({place, place, Run(7, 20), place}, 100);
  bench.store.Add(bench.bench.cycle(), Bytes(60));
  ASSERT_EQ(bench.bench.RunOut(50), "");
  EXPECT_EQ(bench.store.size(), 1u);
  EXPECT_EQ(bench.completion.count, 23u);
}

TYPED_TEST(RxScatterTest, CompletionPrecedesItsAnswer) {
  // Without writes: three cycles after the place, and the answer in the next; then every two cycles.
  {
    Bench<TypeParam> bench;
    auto place = Completes(0, 0, true);
    for (const bool no_frame : {false, true}) {
      place.no_frame = no_frame;
      bench.Place(place, 60);
      ASSERT_EQ(bench.bench.Run(3), "");
      EXPECT_EQ(bench.completion.count, no_frame ? 1u : 0u);
      ASSERT_EQ(bench.bench.Run(1), "");
      EXPECT_EQ(bench.completion.count, no_frame ? 2u : 1u);
      EXPECT_EQ(bench.answer.count, no_frame ? 1u : 0u);
      EXPECT_FALSE(bench.block.IsIdle());
      ASSERT_EQ(bench.bench.Run(1), "");
      EXPECT_EQ(bench.answer.count, no_frame ? 2u : 1u);
      EXPECT_TRUE(bench.block.IsIdle());
    }
  }
  // With writes: one cycle after they are in memory, here in the cycle after their last beat.
  Bench<TypeParam> bench;
  bench.Place(Completes(3, 100, true), 200);
  while (bench.port.writes.empty() || bench.port.writes[0].last == 0) ASSERT_EQ(bench.bench.Run(1), "");
  ASSERT_EQ(bench.bench.Run(1), "");
  EXPECT_EQ(bench.port.done, 1u);
  EXPECT_EQ(bench.completion.count, 0u);
  ASSERT_EQ(bench.bench.Run(1), "");
  EXPECT_EQ(bench.completion.count, 1u);
  EXPECT_EQ(bench.answer.count, 0u);
  ASSERT_EQ(bench.bench.Run(1), "");
  EXPECT_EQ(bench.answer.count, 1u);
}

TYPED_TEST(RxScatterTest, AcknowledgeComesBetweenCompletionAndAnswer) {
  for (const bool completes : {false, true}) {
    for (const bool answers : {false, true}) {
      Bench<TypeParam> bench;
      auto place = Completes(0, 0, answers);
      place.has_completion = completes;
      place.has_ack = true;
      place.ack.psn = 0x123456;
      place.no_frame = true;
      const Cycle pushed = bench.bench.cycle();
      for (unsigned i = 0; i < 2; ++i) {
        bench.place_in.tokens.push_back(place);
        bench.expected.push_back({place, {}});
      }
      // Three cycles after the place, or one after the output before it.
      const Cycle first = pushed + 3 + (completes ? 1 : 0);
      ASSERT_EQ(bench.bench.Run(first - pushed), "");
      EXPECT_EQ(bench.ack.count, 0u);
      ASSERT_EQ(bench.bench.Run(1), "");
      EXPECT_EQ(bench.ack.count, 1u);
      ASSERT_EQ(bench.bench.Run(20), "");
      ASSERT_EQ(bench.acks.sent().size(), 2u);
      EXPECT_EQ(bench.acks.sent()[1].cycle,
                first + std::max<Cycle>(bench.kPlaceInterval, 1 + (completes ? 1 : 0) + (answers ? 1 : 0)));
      ASSERT_EQ(bench.answers.sent().size(), answers ? 2u : 0u);
      if (answers) {
        EXPECT_EQ(bench.answers.sent()[0].cycle, first + 1);
      }
      EXPECT_TRUE(bench.block.IsIdle());
    }
  }
  // With writes, one cycle after they are in memory, and the next output waits for it.
  Bench<TypeParam> bench;
  spec::RxPlace place = Run(3, 100);
  place.has_ack = true;
  bench.Place(place, 200);
  bench.Place(Completes(0, 0, false), 60);
  bench.ack.rate = 0;
  ASSERT_EQ(bench.bench.Run(100), "");
  EXPECT_EQ(bench.port.done, 1u);
  EXPECT_EQ(bench.answer.count + bench.completion.count, 0u);
  bench.ack.rate = 16;
  ASSERT_EQ(bench.bench.Run(20), "");
  EXPECT_EQ(bench.answer.count + bench.completion.count, 2u);
  EXPECT_TRUE(bench.block.IsIdle());
}

TYPED_TEST(RxScatterTest, AcknowledgeComesInTheCycleAfterItsWritesAreInMemory) {
  Bench<TypeParam> bench;
  spec::RxPlace place = Run(3, 100);
  place.has_ack = true;
  bench.Place(place, 200);
  while (bench.port.done == 0) ASSERT_EQ(bench.bench.Run(1), "");
  EXPECT_EQ(bench.ack.count, 0u);
  ASSERT_EQ(bench.bench.Run(1), "");
  EXPECT_EQ(bench.ack.count, 1u);
  EXPECT_EQ(bench.answer.count, 0u);
}

// Zeros in front of other bytes of the frame, as in front of a datagram over IPv4; no byte of the frame passes through.
TYPED_TEST(RxScatterTest, ZerosReplaceTheFramesBytes) {
  Bench<TypeParam> bench;
  for (size_t bytes = 1; bytes <= 40; ++bytes) {
    spec::RxPlace zeros = Run(bytes, bytes);
    zeros.zeros = true;
    zeros.address1 = 0x5555;
    zeros.bytes1 = static_cast<uint16_t>(bytes % 3 * 7);
    spec::RxPlace rest = Run(14, 20 + bytes);
    rest.address0 = 0x1000 + bytes;
    bench.Places({rest, zeros, rest, zeros, zeros, rest}, 100);
  }
  ASSERT_EQ(bench.bench.RunOut(200), "");
  bench.CheckWrites();
}

// From the low byte on; the second run has what the first has left.
TYPED_TEST(RxScatterTest, ValueReplacesTheFramesBytes) {
  Bench<TypeParam> bench;
  for (uint16_t first = 1; first <= 8; ++first) {
    for (uint16_t second = 0; second <= 8 - first; ++second) {
      spec::RxPlace value = Run(0, first);
      value.has_value = true;
      value.value = 0x8877'6655'4433'2211;
      value.address1 = 0x5555;
      value.bytes1 = second;
      bench.Places({Run(14, 20), value, Run(34, 9)}, 66);
    }
  }
  ASSERT_EQ(bench.bench.RunOut(200), "");
  bench.CheckWrites();
}

TYPED_TEST(RxScatterTest, ZerosTakeAsLongAsFromTheStartOfTheFrame) {
  for (const bool zeros : {false, true}) {
    Bench<TypeParam> bench;
    ASSERT_EQ(bench.bench.Run(5), "");
    spec::RxPlace place = Run(zeros ? 5 : 0, 2 * bench.kBeatBytes);
    place.zeros = zeros;
    bench.Place(place, 3 * bench.kBeatBytes);
    const Cycle pushed = bench.bench.cycle();
    ASSERT_EQ(bench.bench.Run(2 + RxScatter::kBeatLatency), "");
    EXPECT_TRUE(bench.port.writes.empty());
    ASSERT_EQ(bench.bench.Run(2), "");
    ASSERT_EQ(bench.port.writes.size(), 1u);
    EXPECT_EQ(bench.port.writes[0].first, pushed + 2 + RxScatter::kBeatLatency);
    EXPECT_EQ(bench.port.writes[0].last, pushed + 3 + RxScatter::kBeatLatency);
  }
}

TYPED_TEST(RxScatterTest, OutputsOfAPlaceDoNotPassEarlierWrites) {
  Bench<TypeParam> bench;
  bench.port.hold = true;
  bench.Places({Run(3, 100), Completes(103, 50, false)}, 200);
  bench.Place(Completes(0, 0, true), 60);
  auto flushed = Completes(0, 0, false);
  flushed.no_frame = true;
  bench.place_in.tokens.push_back(flushed);
  bench.expected.push_back({flushed, {}});
  ASSERT_EQ(bench.bench.Run(200), "");
  EXPECT_EQ(bench.completion.count + bench.answer.count, 0u);
  bench.port.hold = false;
  bench.completion.rate = 0;
  ASSERT_EQ(bench.bench.Run(20), "");
  EXPECT_EQ(bench.answer.count, 1u) << "that of the first place; the others stand behind a completion";
  bench.completion.rate = 16;
  ASSERT_EQ(bench.bench.Run(20), "");
  EXPECT_EQ(bench.answer.count, 2u);
  EXPECT_EQ(bench.completion.count, 3u);
  EXPECT_TRUE(bench.block.IsIdle());
}

TYPED_TEST(RxScatterTest, PlacesThatFreeAndWriteNothingAreTakenAsFastAsTheyCome) {
  Bench<TypeParam> bench;
  auto flushed = Completes(0, 0, false);
  flushed.no_frame = true;
  for (unsigned i = 0; i < 10; ++i) {
    bench.place_in.tokens.push_back(flushed);
    bench.expected.push_back({flushed, {}});
  }
  ASSERT_EQ(bench.bench.Run(30), "");
  ASSERT_EQ(bench.completion.count, 10u);
  for (unsigned i = 0; i < 10; ++i) {
    EXPECT_EQ(bench.completions.sent()[i].cycle, 3 + bench.kPlaceInterval * i);
  }
}

TYPED_TEST(RxScatterTest, AnswersWaitForEarlierWrites) {
  Bench<TypeParam> bench;
  bench.port.hold = true;
  bench.Place(Run(3, 100), 200);
  bench.Place(Run(0, 0), 60);
  ASSERT_EQ(bench.bench.Run(200), "");
  EXPECT_EQ(bench.answer.count, 0u);
  bench.port.hold = false;
  ASSERT_EQ(bench.bench.Run(3), "");
  EXPECT_EQ(bench.answer.count, 2u);
}

TYPED_TEST(RxScatterTest, AllPlacesMayWaitForTheirWrites) {
  Bench<TypeParam> bench;
  bench.port.hold = true;
  for (unsigned i = 0; i < Bench<TypeParam>::kPlaces + 4; ++i) bench.Place(Run(1, 1), 60);
  ASSERT_EQ(bench.bench.Run(800), "");
  EXPECT_EQ(bench.port.writes.size(), Bench<TypeParam>::kPlaces);
  bench.port.hold = false;
  ASSERT_EQ(bench.bench.RunOut(300), "");
  EXPECT_EQ(bench.answer.count, Bench<TypeParam>::kPlaces + 4);
  bench.CheckWrites();
}

TYPED_TEST(RxScatterTest, AllPlacesMayWaitForTheirCompletions) {
  Bench<TypeParam> bench;
  bench.completion.rate = 0;
  for (unsigned i = 0; i < Bench<TypeParam>::kPlaces + 4; ++i) bench.Place(Completes(1, 1, i % 2 != 0), 60);
  ASSERT_EQ(bench.bench.Run(800), "");
  EXPECT_EQ(bench.port.writes.size(), Bench<TypeParam>::kPlaces);
  bench.completion.rate = 16;
  ASSERT_EQ(bench.bench.RunOut(300), "");
  EXPECT_EQ(bench.completion.count, Bench<TypeParam>::kPlaces + 4);
  EXPECT_EQ(bench.answer.count, Bench<TypeParam>::kPlaces / 2 + 2);
  bench.CheckWrites();
}

// --- Writes that the bus refuses

TYPED_TEST(RxScatterTest, RefusedWritesMatchModelAtEveryRate) {
  struct Rates {
    unsigned place, write, completion, ack, answer, failure, late_accept;
  };
  uint64_t failed = 0;
  for (const Rates& rates :
       {Rates{16, 16, 16, 16, 16, 16, 0}, Rates{16, 16, 16, 16, 2, 16, 0}, Rates{16, 16, 16, 16, 16, 1, 20},
        Rates{16, 16, 1, 16, 16, 16, 60}, Rates{9, 9, 9, 9, 9, 9, 9}}) {
    Bench<TypeParam> bench;
    bench.place_in.rate = rates.place;
    bench.port.rate = rates.write;
    bench.completion.rate = rates.completion;
    bench.ack.rate = rates.ack;
    bench.answer.rate = rates.answer;
    bench.failure.rate = rates.failure;
    bench.port.late = rates.late_accept;
    bench.port.refuse_rate = 40;
    for (unsigned round = 0; round < 12; ++round) {
      // All start anew; others, of which nothing is in progress, during the traffic, too.
      bench.qps = {};
      for (uint32_t qpn = 0; qpn < 3; ++qpn)
        bench.qp_state.tokens.push_back({.qpn = qpn, .state = spec::IbQpState::kInit});
      ASSERT_EQ(bench.bench.RunOut(3), "");
      for (unsigned i = 0; i < 40; ++i) bench.RandomFrame(100);
      for (unsigned i = 0; i < 60; ++i) {
        bench.qp_state.tokens.push_back(
            {.qpn = static_cast<uint32_t>(bench.random() % (i % 4 == 0 ? 3 : 2) + (i % 4 == 0 ? 0 : 3)),
             .state = i % 4 == 0 ? spec::IbQpState::kRts : spec::IbQpState::kInit});
      }
      std::string difference;
      while (difference.empty() && !(bench.place_in.IsEmpty() && bench.block.IsIdle())) difference = bench.bench.Run(1);
      ASSERT_EQ(difference, "");
      ASSERT_EQ(bench.bench.RunOut(5), "");
      while (!bench.expected.empty()) bench.Settle();
    }
    bench.CheckWrites();
    EXPECT_GT(bench.failed, 2u);
    EXPECT_EQ(bench.failure.count, bench.failed);
    failed += bench.failed;
  }
  EXPECT_GT(failed, 30u);
}

// A packet of a SEND of RC with its receive, or of a WRITE without.
spec::RxPlace Request(uint32_t qpn, bool send, bool ends) {
  spec::RxPlace place{.address0 = 0x1000, .bytes0 = 10, .request = true, .acknowledged = true, .uses_receive = send};
  place.ends_message = ends;
  place.answer.packet.qpn = qpn;
  place.answer.packet.psn = 0x765432;
  spec::Aeth aeth{.msn = 5};
  aeth.Encode(place.answer.packet.extension);
  place.has_completion = send && ends;
  if (place.has_completion) {
    spec::RdmaCqReq{.wr_id = 7, .byte_len = 10, .qp_num = qpn}.Encode(place.completion.cqe);
  }
  return place;
}

TYPED_TEST(RxScatterTest, RefusedRequestFailsItsQueuePairOnly) {
  for (const bool send : {false, true}) {
    for (const bool ends : {false, true}) {
      for (const bool acknowledged : {false, true}) {
        Bench<TypeParam> bench;
        bench.port.refuses = [](uint64_t number) { return number == 1; };
        spec::RxPlace request = Request(2, send, ends);
        request.acknowledged = acknowledged;
        spec::RxPlace before = Request(2, false, true), other = Request(1, true, true), later = Request(2, true, true);
        before.has_answer = other.has_answer = later.has_answer = true;
        for (const auto& place : {before, request, other, later, later}) bench.Place(place, 60);
        spec::RxPlace flushed = Request(2, true, true);
        flushed.request = flushed.uses_receive = false;
        flushed.no_frame = true;
        bench.Place(flushed, 0);
        ASSERT_EQ(bench.bench.RunOut(100), "");
        // Before and beside it all is as always; behind it nothing is acknowledged.
        ASSERT_EQ(bench.answers.sent().size(), acknowledged ? 3u : 2u);
        EXPECT_EQ(bench.answers.sent()[0].token, before.answer);
        EXPECT_EQ(bench.answers.sent().back().token, other.answer);
        if (acknowledged) {
          const auto& nak = bench.answers.sent()[1].token;
          EXPECT_EQ(nak.packet.psn, 0x765432u);
          const auto aeth = spec::Aeth::Decode(nak.packet.extension);
          EXPECT_EQ(nak.packet.extension[0], static_cast<uint8_t>(spec::AethSyndrome::kNakRemoteOperationalError));
          EXPECT_EQ(aeth.msn, ends ? 4u : 5u) << "a message that was refused does not count";
        }
        ASSERT_EQ(bench.failure.count, 1u);
        EXPECT_EQ(bench.failures.sent()[0].token.qpn, 2u);
        std::vector<spec::IbWcStatus> statuses;
        for (const auto& sent : bench.completions.sent()) {
          const auto cqe = spec::RdmaCqReq::Decode(sent.token.cqe);
          if (cqe.qp_num == 1) {
            EXPECT_EQ(cqe.status, spec::IbWcStatus::kSuccess);
            continue;
          }
          EXPECT_EQ(cqe.wr_id, 7u);
          statuses.push_back(cqe.status);
        }
        // The receive of the message fails, also if another place completes it; the others are flushed.
        std::vector<spec::IbWcStatus> wanted(send && ends ? 4 : 3, spec::IbWcStatus::kWrFlushErr);
        if (send) wanted[0] = spec::IbWcStatus::kLocQpOpErr;
        EXPECT_EQ(statuses, wanted);
      }
    }
  }
}

TYPED_TEST(RxScatterTest, AnyRefusedWriteOfAFrameRefusesTheFrame) {
  for (uint64_t refused = 0; refused < 6; ++refused) {
    Bench<TypeParam> bench;
    bench.port.refuses = [&](uint64_t number) { return number == refused; };
    spec::RxPlace piece{.address0 = 0x2000, .bytes0 = 5, .address1 = 0x3000, .bytes1 = 5};
    spec::RxPlace none{.no_frame = true};
    bench.Places({piece, none, piece, none, Request(2, true, true)}, 60);
    bench.Place(Request(1, true, true), 60);
    ASSERT_EQ(bench.bench.RunOut(200), "");
    EXPECT_EQ(bench.failure.count, 1u);
    EXPECT_EQ(bench.failures.sent()[0].token.qpn, refused < 5 ? 2u : 1u);
  }
}

TYPED_TEST(RxScatterTest, RefusedReadResponseFailsTheRead) {
  for (const bool in_first_piece : {false, true}) {
    Bench<TypeParam> bench;
    bench.port.refuses = [&](uint64_t number) { return number == (in_first_piece ? 0 : 1); };
    spec::RxPlace piece{.address0 = 0x2000, .bytes0 = 5};
    spec::RxPlace last = piece;
    last.has_ack = true;
    last.ack = {.qpn = 2, .psn = 9, .syndrome = 0x1f, .msn = 3, .is_read = true};
    bench.Places({piece, last}, 60);
    bench.Place(last, 60);
    spec::RxPlace ack = last;
    ack.bytes0 = 0;
    ack.ack.is_read = false;
    bench.Place(ack, 60);
    ASSERT_EQ(bench.bench.RunOut(100), "");
    ASSERT_EQ(bench.ack.count, 3u);
    EXPECT_EQ(bench.acks.sent()[0].token,
              (spec::RxAck{.qpn = 2,
                           .psn = 9,
                           .syndrome = static_cast<uint8_t>(spec::RdmaError::kQueueDmaError),
                           .msn = 3,
                           .is_read = true,
                           .status = spec::IbWcStatus::kLocQpOpErr}));
    EXPECT_EQ(bench.acks.sent()[1].token, last.ack);
    EXPECT_EQ(bench.acks.sent()[2].token, ack.ack);
    EXPECT_EQ(bench.failure.count, 0u) << "the completer reports it";
  }
}

TYPED_TEST(RxScatterTest, QueuePairStartsAnewInInit) {
  for (const auto state : {spec::IbQpState::kReset, spec::IbQpState::kInit, spec::IbQpState::kRtr}) {
    Bench<TypeParam> bench;
    bench.port.refuses = [](uint64_t number) { return number == 0; };
    spec::RxPlace place = Request(2, false, true);
    place.has_answer = true;
    bench.Place(place, 60);
    ASSERT_EQ(bench.bench.RunOut(100), "");
    EXPECT_EQ(bench.answer.count, 1u);
    bench.qp_state.tokens.push_back({.qpn = 2, .state = state});
    if (state == spec::IbQpState::kInit) bench.qps = {};
    ASSERT_EQ(bench.bench.RunOut(5), "");
    bench.Place(place, 60);
    ASSERT_EQ(bench.bench.RunOut(100), "");
    EXPECT_EQ(bench.answer.count, state == spec::IbQpState::kInit ? 2u : 1u);
  }
}

TYPED_TEST(RxScatterTest, RefusedRequestMeetsDocumentedLatencies) {
  Bench<TypeParam> bench;
  bench.port.refuses = [](uint64_t number) { return number == 0; };
  bench.Place(Request(2, true, true), 60);
  while (bench.port.done == 0) ASSERT_EQ(bench.bench.Run(1), "");
  const Cycle done = bench.bench.cycle() - 1;
  ASSERT_EQ(bench.bench.Run(10), "");
  EXPECT_EQ(bench.completions.sent().front().cycle, done + 1);
  EXPECT_EQ(bench.answers.sent().front().cycle, done + 2);
  EXPECT_EQ(bench.failures.sent().front().cycle, done + 3);
  EXPECT_TRUE(bench.block.IsIdle());
  // From then on the QP of each place is looked up.
  bench.Place(Run(0, 0), 60);
  ASSERT_EQ(bench.bench.Run(4), "");
  EXPECT_EQ(bench.answer.count, 1u);
  ASSERT_EQ(bench.bench.Run(1), "");
  EXPECT_EQ(bench.answer.count, 2u);
}

// --- The net path

TYPED_TEST(RxScatterTest, NetFrameOfAnyLengthLeavesWhole) {
  Bench<TypeParam> bench;
  const size_t beat = bench.kBeatBytes;
  for (size_t bytes = 1; bytes <= 4 * beat + 1; ++bytes) bench.Net(bytes);
  for (const size_t bytes : {size_t{1514}, size_t{1518}, size_t{4096}, size_t{8191}}) bench.Net(bytes);
  ASSERT_EQ(bench.bench.RunOut(20'000 / beat + 8 * beat), "");
  EXPECT_TRUE(bench.block.IsIdle());
  EXPECT_TRUE(bench.net.IsEmpty());
  bench.CheckWrites();
}

TYPED_TEST(RxScatterTest, NetFramesMeetDocumentedLatencyAndInterval) {
  for (const size_t beats : {size_t{1}, size_t{2}, size_t{5}}) {
    Bench<TypeParam> bench;
    ASSERT_EQ(bench.bench.Run(5), "");
    for (unsigned i = 0; i < 3; ++i) bench.Net(beats * bench.kBeatBytes - i);
    const Cycle pushed = bench.bench.cycle();
    constexpr uint64_t kLatency = 1 + RxScatter::kNetLatency;
    ASSERT_EQ(bench.bench.Run(kLatency - 1), "");
    EXPECT_FALSE(bench.p.net_valid_o);
    ASSERT_EQ(bench.bench.Run(1), "");
    EXPECT_TRUE(bench.p.net_valid_o);
    ASSERT_EQ(bench.bench.Run(3 * beats + 10), "");
    ASSERT_EQ(bench.net.frames.size(), 3u);
    for (unsigned i = 0; i < 3; ++i) {
      EXPECT_EQ(bench.net.frames[i].first, pushed + kLatency + i * (beats + 1));
    }
  }
}

TYPED_TEST(RxScatterTest, IsNotIdleWhileANetBeatIsVisible) {
  for (const size_t beats : {size_t{1}, size_t{3}}) {
    Bench<TypeParam> bench;
    bench.Net(beats * bench.kBeatBytes);
    ASSERT_EQ(bench.bench.Run(RxScatter::kNetLatency + beats), "");
    EXPECT_TRUE(bench.p.net_valid_o && bench.p.net_last_o);
    EXPECT_FALSE(bench.p.idle_o);
    ASSERT_EQ(bench.bench.Run(1), "");
    EXPECT_FALSE(bench.p.net_valid_o);
    EXPECT_TRUE(bench.p.idle_o);
  }
}

// Other writes, and outputs that wait behind it, do not stall it.
TYPED_TEST(RxScatterTest, NetFrameWaitsForNoWritesOrAnswersOfEarlierPlaces) {
  Bench<TypeParam> bench;
  bench.port.hold = true;
  bench.answer.rate = 0;
  for (size_t i = 0; i < Bench<TypeParam>::kPlaces; ++i) bench.Place(Run(i % 60, 40), 100);
  for (unsigned i = 0; i < 5; ++i) bench.Net(60 + i);
  ASSERT_EQ(bench.bench.Run(600), "");
  EXPECT_EQ(bench.net.frames.size(), 5u);
  EXPECT_EQ(bench.answer.count, 0u);
  EXPECT_FALSE(bench.block.IsIdle());
  bench.port.hold = false;
  bench.answer.rate = 16;
  ASSERT_EQ(bench.bench.RunOut(200), "");
  EXPECT_TRUE(bench.block.IsIdle());
  bench.CheckWrites();
}

TYPED_TEST(RxScatterTest, NetFramesKeepTheirOrderAmongWrittenFrames) {
  Bench<TypeParam> bench;
  bench.port.rate = 5;
  for (unsigned i = 0; i < 60; ++i) {
    bench.Place(Run(i, 1 + 7 * i), 500);
    bench.Net(1 + 5 * i);
  }
  ASSERT_EQ(bench.bench.RunOut(200'000 / bench.kBeatBytes), "");
  EXPECT_TRUE(bench.block.IsIdle());
  bench.CheckWrites();
  // The previous frame is read to its end, though it may not have left yet.
  for (unsigned i = 1; i < 60; ++i) EXPECT_GT(bench.net.frames[i].first, bench.net.frames[i - 1].first);
}

TYPED_TEST(RxScatterTest, SustainsABeatPerCycleWithinAPlace) {
  Bench<TypeParam> bench;
  const size_t beats = 4096 / bench.kBeatBytes;
  bench.Place(Run(54, 4096), 4200);
  ASSERT_EQ(bench.bench.Run(beats + 100), "");
  ASSERT_EQ(bench.port.writes.size(), 1u);
  EXPECT_EQ(bench.port.writes[0].last - bench.port.writes[0].first, beats - 1);
}

TYPED_TEST(RxScatterTest, ResetClearsAllState) {
  std::shared_ptr<RtlTop<TypeParam>> rtl;
  for (unsigned i = 0; i < 10; ++i) {
    Bench<TypeParam> bench(rtl);
    rtl = bench.owner;
    bench.port.rate = 5;
    for (unsigned n = 0; n < 60; ++n) bench.RandomFrame(300);
    ASSERT_EQ(bench.bench.Run(20 + bench.random() % 400), "");
  }
  Bench<TypeParam> bench(rtl);
  for (unsigned n = 0; n < 60; ++n) bench.RandomFrame(300);
  ASSERT_EQ(bench.bench.RunOut(80000 / bench.kBeatBytes), "");
  EXPECT_TRUE(bench.block.IsIdle());
  bench.CheckWrites();
}

}  // namespace
}  // namespace vireo::verif
