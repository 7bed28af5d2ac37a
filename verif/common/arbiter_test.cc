// SPDX-License-Identifier: Apache-2.0
// The arbiter of single tokens, model against vireo_arb_rr: every ready and every token in its cycle.
#include "model/common/arbiter.h"

#include <gtest/gtest.h>

#include <array>

#include "Varb_rr_48.h"
#include "Varb_rr_half_48.h"
#include "sim/common/seed.h"
#include "spec/gen/vireo_spec.h"
#include "verif/common/block_bench.h"

namespace vireo::verif {
namespace {

constexpr size_t kInputs = 3;
constexpr size_t kBytes = 6;  // of a token

void SetBit(CData& all, unsigned bit, bool value) {
  all = static_cast<CData>((all & ~(1u << bit)) | static_cast<unsigned>(value) << bit);
}

// One input of the arbiter's packed ports, as a stream of its own for the bench. The last token of a transaction has an
// even value.
struct Pin {
  CData* all;
  unsigned bit;
  CData* last = nullptr;           // of valid: set together with it
  const uint8_t* value = nullptr;  // the token's lowest byte
  Pin& operator=(bool level) {
    SetBit(*all, bit, level);
    if (last != nullptr) SetBit(*last, bit, *value % 2 == 0);
    return *this;
  }
  explicit operator bool() const { return (*all >> bit & 1) != 0; }
  friend bool operator!=(const Pin& pin, int zero) { return static_cast<int>(static_cast<bool>(pin)) != zero; }
};

// `half_rate`: of the class. `transactions`: one or more tokens each, else always one.
template <typename Top>
void ExpectServiceAsOfTheRtl(bool transactions, bool half_rate = false) {
  for (const unsigned in_rate : {16u, 6u, 1u}) {
    for (const unsigned out_rate : {16u, 7u}) {
      auto random = sim::MakeRandom("arbiter");
      model::Agenda agenda;
      model::Arbiter<spec::CqArm> arbiter(agenda, kInputs, half_rate,
                                          [](const spec::CqArm& token) { return token.value % 2 == 0; });
      auto sink = model::Channel<spec::CqArm>::Sink();
      arbiter.out.Connect(sink, arbiter);
      RtlTop<Top> rtl([](const Top& top, std::vector<uint8_t>& bytes) {
        for (const CData port : {top.s_ready_o, top.m_valid_o, top.m_last_o, top.m_index_o}) bytes.push_back(port);
        const auto data = BytesOf(top.m_data_o);
        bytes.insert(bytes.end(), data.begin(), data.end());
      });
      auto& ports = rtl.ports();
      std::array<Pin, kInputs> valid{}, ready{};
      using Data = std::array<uint8_t, kBytes>;
      std::array<Data*, kInputs> data{};
      BlockBench<Top> bench(rtl, agenda, random);
      std::vector<InStream<spec::CqArm, Pin, Pin, Data>*> streams;
      for (unsigned i = 0; i < kInputs; ++i) {
        data[i] = reinterpret_cast<Data*>(BytesOf(ports.s_data_i).data() + i * kBytes);
        valid[i] = {&ports.s_valid_i, i, &ports.s_last_i, data[i]->data()};
        ready[i] = {&ports.s_ready_o, i};
        streams.push_back(&bench.In("in", arbiter.in[i], valid[i], ready[i], *data[i]));
        streams.back()->rate = in_rate;
        for (uint32_t n = 0; n < 1000; ++n) {
          const bool goes_on = transactions && n != 999 && random() % 3 != 0;
          streams.back()->tokens.push_back({static_cast<uint16_t>(i), n * 2 + (goes_on ? 1 : 0)});
        }
      }
      auto& out = bench.Out("out", sink, ports.m_valid_o, ports.m_ready_i, ports.m_data_o);
      out.rate = out_rate;
      ASSERT_EQ(bench.RunOut(100), "") << "rates " << in_rate << ", " << out_rate;
      ASSERT_EQ(out.count, kInputs * 1000);
      EXPECT_TRUE(arbiter.IsIdle());
      std::array<uint32_t, kInputs> next{};
      bool goes_on = false;  // a transaction is not complete
      uint16_t owner = 0;    // and its owner
      for (const auto& sent : sink.sent()) {
        EXPECT_EQ(sent.token.value / 2, next.at(sent.token.cqn)++);
        EXPECT_TRUE(!goes_on || sent.token.cqn == owner);
        goes_on = sent.token.value % 2 != 0;
        owner = sent.token.cqn;
      }
    }
  }
}

TEST(Arbiter, MatchesRtlForSingleTokensAtEveryRate) { ExpectServiceAsOfTheRtl<Varb_rr_48>(false); }
TEST(Arbiter, MatchesRtlForTransactionsAtEveryRate) { ExpectServiceAsOfTheRtl<Varb_rr_48>(true); }
TEST(Arbiter, MatchesRtlAtHalfRate) {
  ExpectServiceAsOfTheRtl<Varb_rr_half_48>(false, true);
  ExpectServiceAsOfTheRtl<Varb_rr_half_48>(true, true);
}

}  // namespace
}  // namespace vireo::verif
