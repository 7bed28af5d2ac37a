// SPDX-License-Identifier: Apache-2.0
// What was on its way through an arbiter, of one of its inputs: vireo_passage against Passage in every cycle, and both
// against the tokens themselves.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "Vpassage_48.h"
#include "model/common/arbiter.h"
#include "model/common/passage.h"
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

// A fence of the watched input's tokens; those that wait before the arbiter are pending.
TEST(Passage, EndsWithTheLastTokenOfBeforeItsStart) {
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
          for (const CData port : {top.s_ready_o, top.m_valid_o, top.passed_o}) bytes.push_back(port);
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
          streams.back()->rate = i == 0 ? watched_rate : other_rate;
        }
        auto& out = bench.Out("out", sink, ports.m_valid_o, ports.m_ready_i, ports.m_data_o);
        out.rate = out_rate;
        uint64_t left = 0;  // watched tokens that the consumer took
        out.on_token = [&left](Cycle, const spec::CqArm& token) { left += token.cqn == 0 ? 1 : 0; };
        model::Passage passage;
        uint64_t entered = 0;             // watched tokens before this cycle
        uint64_t target = 0;              // those of before the start
        bool passed = true;               // as of the model, at the end of the cycle before
        bool waits = false;               // for the end of a fence
        uint64_t started = 0, later = 0;  // fences; those that ended with a later token on its way
        Probe fence{[&](Cycle) {
                      const bool has_passed = ports.passed_o != 0;
                      if (has_passed && left < target) return std::string("passed with a token on its way");
                      if (has_passed && waits && entered != left) ++later;
                      waits = waits && !has_passed;
                      const std::string difference = started == 0 ? "" : Same("passed_o", has_passed, passed);
                      ports.start_i = !waits && random() % 16 == 0 ? 1 : 0;
                      if (ports.start_i != 0) {
                        // A token that is offered counts, too.
                        passage.Start(arbiter, 0, valid[0] != 0 && !ready[0]);
                        target = entered + (valid[0] != 0 ? 1 : 0);
                        waits = true;
                        ++started;
                      }
                      return difference;
                    },
                    [&](Cycle) {
                      entered = streams[0]->accepted;
                      passage.Advance(arbiter, 0);
                      passed = passage.HasPassed(consumer.in.size() != 0);
                      return std::string();
                    }};
        bench.AddOther(fence);
        for (unsigned burst = 0; burst < 60; ++burst) {
          for (uint64_t n = random() % 40; n != 0; --n) streams[0]->tokens.push_back({0, 0});
          for (const uint16_t i : {uint16_t{1}, uint16_t{2}}) {
            for (unsigned n = 0; n < 30; ++n) streams[i]->tokens.push_back({i, n});
          }
          ASSERT_EQ(bench.Run(200), "");
        }
        for (auto* const stream : streams) stream->rate = 16;
        out.rate = 16;
        ASSERT_EQ(bench.RunOut(100), "");
        EXPECT_EQ(ports.passed_o, 1);
        EXPECT_GT(started, 20U);
        if (out_rate != 16) {
          EXPECT_GT(later, 5U) << "waits for tokens of after its start";
        }
      }
    }
  }
}

}  // namespace
}  // namespace vireo::verif
