// SPDX-License-Identifier: Apache-2.0
// What is on its way through an arbiter, of some of its inputs: vireo_passage against Arbiter::HavePassed in every
// cycle, and both against the tokens themselves.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "Vpassage_48.h"
#include "model/common/arbiter.h"
#include "sim/common/seed.h"
#include "spec/gen/vireo_spec.h"
#include "verif/common/block_bench.h"
#include "verif/common/level_bench.h"

namespace vireo::verif {
namespace {

using model::Channel;
using model::Cycle;
using Top = Vpassage_48;

constexpr size_t kInputs = 3;
constexpr uint64_t kWatched = 0b101;
constexpr size_t kBytes = 6;  // of a token

// One input of packed ports.
struct Pin {
  CData* all;
  unsigned bit;
  Pin& operator=(bool level) {
    *all = static_cast<CData>((*all & ~(1U << bit)) | static_cast<unsigned>(level) << bit);
    return *this;
  }
  explicit operator bool() const { return (*all >> bit & 1) != 0; }
  friend bool operator!=(const Pin& pin, int zero) { return static_cast<int>(static_cast<bool>(pin)) != zero; }
};

// The consumer: a slice, and what it takes.
class Consumer final : public model::Block {
 public:
  explicit Consumer(model::Agenda& agenda) : Block(agenda) { in.SetConsumer(this); }
  void Run(Cycle now) override {
    if (in.CanPop(now) && out.CanPush(now)) out.Push(now, in.Pop(now));
  }
  Channel<spec::CqArm> in = Channel<spec::CqArm>::Slice();
  model::Output<spec::CqArm> out;
};

TEST(Passage, EndsWithTheLastTokenOfTheWatchedInputs) {
  for (const unsigned watched_rate : {16U, 2U}) {
    for (const unsigned other_rate : {16U, 4U, 0U}) {
      for (const unsigned out_rate : {16U, 7U, 1U}) {
        auto random = sim::MakeRandom("passage");
        model::Agenda agenda;
        model::Arbiter<spec::CqArm> arbiter(agenda, kInputs);
        Consumer consumer(agenda);
        auto sink = Channel<spec::CqArm>::Sink();
        arbiter.out.Connect(consumer.in, arbiter);
        consumer.out.Connect(sink, consumer);
        RtlTop<Top> rtl([](const Top& top, std::vector<uint8_t>& bytes) {
          for (const CData port : {top.s_ready_o, top.m_valid_o, top.idle_o}) bytes.push_back(port);
          const auto data = BytesOf(top.m_data_o);
          bytes.insert(bytes.end(), data.begin(), data.end());
        });
        auto& ports = rtl.ports();
        BlockBench<Top> bench(rtl, agenda, random);
        std::array<Pin, kInputs> valid{}, ready{};
        using Data = std::array<uint8_t, kBytes>;
        std::vector<InStream<spec::CqArm, Pin, Pin, Data>*> streams;
        for (unsigned i = 0; i < kInputs; ++i) {
          auto* const data = reinterpret_cast<Data*>(BytesOf(ports.s_data_i).data() + i * kBytes);
          valid[i] = {&ports.s_valid_i, i};
          ready[i] = {&ports.s_ready_o, i};
          streams.push_back(&bench.In("in", arbiter.in[i], valid[i], ready[i], *data));
          streams.back()->rate = (kWatched >> i & 1) != 0 ? watched_rate : other_rate;
        }
        auto& out = bench.Out("out", sink, ports.m_valid_o, ports.m_ready_i, ports.m_data_o);
        out.rate = out_rate;
        uint64_t left = 0;  // watched tokens that the consumer took
        out.on_token = [&left](Cycle, const spec::CqArm& token) { left += kWatched >> token.cqn & 1; };
        uint64_t idle_beside_others = 0;
        uint64_t entered = 0, others = 0;  // tokens of watched inputs before this cycle, and of others
        bool passed = true;                // as of the model, at the end of the cycle before
        Probe idle{[&](Cycle) {
                     const bool is_idle = ports.idle_o != 0;
                     if (is_idle && entered != left) return std::string("idle with a token on its way");
                     if (is_idle && out.count != entered + others) ++idle_beside_others;
                     return Same("idle_o", is_idle, passed);
                   },
                   [&](Cycle) {
                     entered = streams[0]->accepted + streams[2]->accepted;
                     others = streams[1]->accepted;
                     passed = arbiter.HavePassed(kWatched, consumer.in.size() != 0);
                     return std::string();
                   }};
        bench.AddOther(idle);
        for (unsigned burst = 0; burst < 60; ++burst) {
          for (const size_t i : {size_t{0}, size_t{2}}) {
            for (uint64_t n = random() % 8; n != 0; --n) streams[i]->tokens.push_back({static_cast<uint16_t>(i), 0});
          }
          for (unsigned n = 0; n < 30; ++n) streams[1]->tokens.push_back({1, n});
          ASSERT_EQ(bench.Run(200), "");
        }
        streams[1]->rate = 16;
        out.rate = 16;
        ASSERT_EQ(bench.RunOut(100), "");
        EXPECT_EQ(ports.idle_o, 1);
        if (other_rate != 0) {
          EXPECT_GT(idle_beside_others, 100U) << "waits for inputs that are not watched";
        }
      }
    }
  }
}

}  // namespace
}  // namespace vireo::verif
