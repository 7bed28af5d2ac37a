// SPDX-License-Identifier: Apache-2.0
#include "sim/device/rx_parser_rtl.h"

#include <verilated.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "Vrx_parser_512.h"
#include "Vrx_parser_64.h"
#include "sim/device/rtl_coverage.h"

namespace vireo::sim {
namespace {

static_assert(sizeof(EData) == sizeof(uint32_t));

// A Verilated port's bytes. Ports are integers or arrays of 32-bit words, least significant first; the host is
// little-endian.
template <typename Port>
uint8_t* BytesOf(Port& port) {
  return reinterpret_cast<uint8_t*>(&port);
}

// Fields of the token from the flat bits of token_o, by the token's own list of fields.
template <typename Port>
model::RxToken Unpack(const Port& port) {
  constexpr size_t kWords = sizeof(Port) / sizeof(EData);
  model::RxToken token;
  size_t bits_left = 0;
  model::RxToken::Visit(token, [&](const char*, const auto&, unsigned bits) { bits_left += bits; });
  if ((bits_left + 31) / 32 != kWords) throw std::logic_error("RxToken and rx_token_t differ in width");
  model::RxToken::Visit(token, [&](const char*, auto& field, unsigned bits) {
    uint32_t value = 0;
    for (unsigned i = 0; i < bits; ++i) {
      --bits_left;
      value = value << 1 | (port[bits_left / 32] >> (bits_left % 32) & 1);
    }
    field = static_cast<std::remove_reference_t<decltype(field)>>(value);
  });
  return token;
}

template <typename Top>
class RxParserRtlOf final : public RxParserRtl {
 public:
  explicit RxParserRtlOf(std::mt19937_64& random) : top_(&context_), random_(random) {
    top_.clk_i = 0;
    top_.rst_ni = 1;
    top_.eval();
    top_.rst_ni = 0;  // the edge for an asynchronous reset
    Idle(2);
    top_.rst_ni = 1;
    cycle_ = 0;
    tokens_.clear();
  }
  ~RxParserRtlOf() override {
    top_.final();
    KeepCoverage(context_);
  }

  size_t beat_bytes() const override { return kBeatBytes; }
  uint64_t cycle() const override { return cycle_; }

  void Beat(std::span<const uint8_t> bytes, bool last, bool mac_error, bool roce) override {
    if (bytes.empty() || bytes.size() > kBeatBytes || (!last && bytes.size() != kBeatBytes)) {
      throw std::logic_error("not a legal beat");
    }
    Scramble();
    std::copy(bytes.begin(), bytes.end(), BytesOf(top_.s_axis_tdata_i));
    uint8_t* const keep = BytesOf(top_.s_axis_tkeep_i);
    for (size_t i = 0; i < kBeatBytes; ++i) {
      if (i % 8 == 0) keep[i / 8] = 0;
      keep[i / 8] = static_cast<uint8_t>(keep[i / 8] | (i < bytes.size()) << i % 8);
    }
    top_.s_axis_tvalid_i = 1;
    top_.s_axis_tlast_i = last;
    if (last) {
      top_.s_axis_tuser_i = mac_error;
      top_.roce_i = roce;
    }
    Clock();
  }

  void Idle(uint64_t cycles) override {
    for (uint64_t i = 0; i < cycles; ++i) {
      Scramble();
      top_.s_axis_tvalid_i = 0;
      Clock();
    }
  }

 private:
  static constexpr size_t kBeatBytes = sizeof(Top::s_axis_tdata_i);

  void Scramble() {
    for (size_t i = 0; i < kBeatBytes; i += sizeof(uint64_t)) {
      const uint64_t word = random_();
      std::memcpy(BytesOf(top_.s_axis_tdata_i) + i, &word, sizeof(word));
    }
    const uint64_t word = random_();
    std::memcpy(BytesOf(top_.s_axis_tkeep_i), &word, std::min(sizeof(word), sizeof(top_.s_axis_tkeep_i)));
    top_.s_axis_tlast_i = word & 1;
    top_.s_axis_tuser_i = word >> 1 & 1;
    top_.roce_i = word >> 2 & 1;
  }

  void Clock() {
    top_.clk_i = 0;
    top_.eval();
    if (!top_.s_axis_tready_o) throw std::logic_error("the parser stalls");
    top_.clk_i = 1;
    top_.eval();
    ++cycle_;
    if (top_.token_valid_o) tokens_.push_back({cycle_, Unpack(top_.token_o)});
  }

  VerilatedContext context_;
  Top top_;
  std::mt19937_64& random_;
  uint64_t cycle_ = 0;
};

}  // namespace

std::unique_ptr<RxParserRtl> RxParserRtl::Make(unsigned data_bits, std::mt19937_64& random) {
  switch (data_bits) {
    case 64: return std::make_unique<RxParserRtlOf<Vrx_parser_64>>(random);
    case 512: return std::make_unique<RxParserRtlOf<Vrx_parser_512>>(random);
    default: return nullptr;
  }
}

uint64_t RxParserRtl::Send(std::span<const uint8_t> frame, bool mac_error, const std::function<unsigned()>& idle_before,
                           bool roce) {
  for (;;) {
    const size_t size = std::min(frame.size(), beat_bytes());
    const bool last = size == frame.size();
    Idle(idle_before());
    Beat(frame.first(size), last, mac_error, roce);
    if (last) return cycle() - 1;
    frame = frame.subspan(size);
  }
}

std::vector<TimedToken> RxParserRtl::TakeTokens() { return std::exchange(tokens_, {}); }

std::string Difference(const model::RxToken& expected, const model::RxToken& actual) {
  std::vector<uint64_t> wanted;
  model::RxToken::Visit(
      expected, [&](const char*, const auto& field, unsigned) { wanted.push_back(static_cast<uint64_t>(field)); });
  std::string result;
  size_t index = 0;
  model::RxToken::Visit(actual, [&](const char* name, const auto& field, unsigned) {
    const uint64_t want = wanted[index++];
    const auto got = static_cast<uint64_t>(field);
    if (want == got) return;
    char line[128];
    std::snprintf(line, sizeof(line), "  %s: expected %#llx, got %#llx\n", name, static_cast<unsigned long long>(want),
                  static_cast<unsigned long long>(got));
    result += line;
  });
  return result;
}

}  // namespace vireo::sim
