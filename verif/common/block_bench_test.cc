// SPDX-License-Identifier: Apache-2.0
// The block bench, on the smallest block: a slice. It must agree with its model, and a wrong model must be detected.
#include "verif/common/block_bench.h"

#include <gtest/gtest.h>

#include "Vslice_48.h"
#include "sim/common/seed.h"
#include "spec/gen/vireo_spec.h"

namespace vireo::verif {
namespace {

using model::Agenda;
using model::Block;
using model::Channel;
using model::Cycle;
using spec::CqArm;

// A slice's model: an input queue whose tokens leave as soon as they are visible.
class SliceModel final : public Block {
 public:
  explicit SliceModel(Agenda& agenda, Cycle late) : Block(agenda), late_(late) {
    in.SetConsumer(this);
    out.SetProducer(this);
  }
  void Run(Cycle now) override {
    if (!in.CanPop(now) || !out.CanPush(now)) return;
    if (now < late_) return WakeAt(late_);
    CqArm token = in.Pop(now);
    if (late_ != 0) token.value ^= wrong;
    out.Push(now, token);
  }
  Channel<CqArm> in = Channel<CqArm>::Slice();
  Channel<CqArm> out = Channel<CqArm>::Sink();
  uint32_t wrong = 0;

 private:
  Cycle late_;
};

struct Bench {
  explicit Bench(Cycle late = 0) : block(agenda, late), bench(rtl, agenda, random) {
    for (uint32_t i = 0; i < 2000; ++i) {
      in.tokens.push_back({.cqn = static_cast<uint16_t>(random()), .value = static_cast<uint32_t>(random())});
    }
  }
  std::mt19937_64 random = sim::MakeRandom("block_bench");
  Agenda agenda;
  SliceModel block;
  RtlTop<Vslice_48> rtl{[](const Vslice_48& top, std::vector<uint8_t>& bytes) {
    bytes.push_back(top.s_ready_o);
    bytes.push_back(top.m_valid_o);
    const auto data = BytesOf(top.m_data_o);
    bytes.insert(bytes.end(), data.begin(), data.end());
  }};
  BlockBench<Vslice_48> bench;
  Vslice_48& p = rtl.ports();
  decltype(bench.In("in", block.in, p.s_valid_i, p.s_ready_o, p.s_data_i)) in =
      bench.In("in", block.in, p.s_valid_i, p.s_ready_o, p.s_data_i);
  decltype(bench.Out("out", block.out, p.m_valid_o, p.m_ready_i, p.m_data_o)) out =
      bench.Out("out", block.out, p.m_valid_o, p.m_ready_i, p.m_data_o);
};

TEST(BlockBench, MatchesModelAtEveryRate) {
  for (const unsigned in_rate : {16u, 9u, 2u}) {
    for (const unsigned out_rate : {16u, 9u, 2u}) {
      Bench bench;
      bench.in.rate = in_rate;
      bench.out.rate = out_rate;
      const auto sent = bench.in.tokens;
      ASSERT_EQ(bench.bench.RunOut(100), "");
      ASSERT_EQ(bench.out.count, sent.size());
      for (size_t i = 0; i < sent.size(); ++i) ASSERT_EQ(bench.block.out.sent()[i].token, sent[i]);
    }
  }
}

TEST(BlockBench, DetectsATokenInTheWrongCycle) {
  Bench bench(50);
  EXPECT_NE(bench.bench.Run(100).find("leaves the RTL only"), std::string::npos);
}

TEST(BlockBench, DetectsAWrongToken) {
  Bench bench(1);
  bench.in.rate = 2;
  ASSERT_EQ(bench.bench.Run(100), "");
  bench.block.wrong = 1u << 31;
  EXPECT_NE(bench.bench.Run(200).find("model: cqn"), std::string::npos);
}

TEST(BlockBench, TokensKeepTheirBits) {
  auto random = sim::MakeRandom("tokens");
  spec::RxPlace token{};
  spec::RxPlace::Visit(token, [&](const char*, auto& field, unsigned bits) {
    field = static_cast<std::remove_reference_t<decltype(field)>>(random() & (~uint64_t{0} >> (64 - bits)));
  });
  EXPECT_EQ(TokenBytes(token).size(), (spec::RxPlace::kBits + 7) / 8);
  EXPECT_EQ(TokenFrom<spec::RxPlace>(TokenBytes(token)), token);
}

}  // namespace
}  // namespace vireo::verif
