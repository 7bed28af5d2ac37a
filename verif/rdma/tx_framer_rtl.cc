// SPDX-License-Identifier: Apache-2.0
#include "verif/rdma/tx_framer_rtl.h"

#include <verilated.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <stdexcept>
#include <utility>

#include "Vtx_framer_512.h"
#include "Vtx_framer_64.h"
#include "sim/device/rtl_coverage.h"

namespace vireo::verif {
namespace {

static_assert(sizeof(EData) == sizeof(uint32_t));

// A Verilated port's bytes. Ports are integers or arrays of 32-bit words, least significant first; the host is
// little-endian.
template <typename Port>
uint8_t* BytesOf(Port& port) {
  return reinterpret_cast<uint8_t*>(&port);
}

// The flat bits of token_i from the fields of a token, by the token's own list of fields.
template <typename Port>
void Pack(const model::TxToken& token, Port& port) {
  size_t bits_left = 0;
  model::TxToken::Visit(token, [&](const char*, const auto&, unsigned bits) { bits_left += bits; });
  if ((bits_left + 31) / 32 != sizeof(Port) / sizeof(EData)) {
    throw std::logic_error("TxToken and tx_token_t differ in width");
  }
  std::memset(BytesOf(port), 0, sizeof(Port));
  model::TxToken::Visit(token, [&](const char*, const auto& field, unsigned bits) {
    const auto value = static_cast<uint64_t>(field);
    for (unsigned i = bits; i-- > 0;) {
      --bits_left;
      port[bits_left / 32] |= static_cast<EData>(value >> i & 1) << bits_left % 32;
    }
  });
}

template <typename Top>
class TxFramerRtlOf final : public TxFramerRtl {
 public:
  explicit TxFramerRtlOf(std::mt19937_64& random) : top_(&context_), random_(random) {
    context_.fatalOnError(false);
    top_.clk_i = 0;
    top_.rst_ni = 1;
    top_.eval();
    top_.rst_ni = 0;  // the edge that an asynchronous reset needs
    Idle(2);
    top_.rst_ni = 1;
    cycle_ = 0;
  }
  ~TxFramerRtlOf() override {
    top_.final();
    sim::KeepCoverage(context_);
  }

  size_t beat_bytes() const override { return kBeatBytes; }
  uint64_t cycle() const override { return cycle_; }
  void SetReady(std::function<bool()> ready) override { ready_ = std::move(ready); }
  void WithholdPayload() override { withhold_ = true; }
  bool busy() const override { return !packets_.empty(); }

  bool Send(const model::TxToken& token, std::span<const uint8_t> payload, uint64_t timeout) override {
    for (; timeout > 0; --timeout) {
      Scramble();
      Pack(token, top_.token_i);
      top_.token_valid_i = 1;
      if (Clock()) {
        packets_.push_back({{payload.begin(), payload.end()}, {}});
        return true;
      }
    }
    return false;
  }

  void Idle(uint64_t cycles) override {
    for (uint64_t i = 0; i < cycles; ++i) {
      Scramble();
      top_.token_valid_i = 0;
      Clock();
    }
  }

  std::vector<TimedFrame> TakeFrames() override { return std::exchange(frames_, {}); }

 private:
  static constexpr size_t kBeatBytes = sizeof(Top::m_axis_tdata_o);

  struct Packet {
    std::vector<uint8_t> payload;  // not yet passed
    TimedFrame frame;              // as far as it has left
  };

  template <typename Port>
  void ScramblePort(Port& port) {
    for (size_t i = 0; i < sizeof(Port); i += sizeof(uint64_t)) {
      const uint64_t word = random_();
      std::memcpy(BytesOf(port) + i, &word, std::min(sizeof(word), sizeof(Port) - i));
    }
  }

  void Scramble() {
    ScramblePort(top_.token_i);
    ScramblePort(top_.payload_data_i);
    top_.payload_valid_i = random_() & 1;
  }

  // One cycle; returns whether a token was accepted.
  bool Clock() {
    const bool token_ready = top_.token_ready_o;
    if (top_.payload_ready_o) GivePayload();
    top_.m_axis_tready_i = ready_();
    top_.clk_i = 0;
    top_.eval();
    if (top_.token_ready_o != token_ready) throw std::logic_error("token_ready_o depends on this cycle's inputs");
    top_.clk_i = 1;
    top_.eval();
    if (context_.gotError()) throw AssertionFailed("an assertion of vireo_tx_framer failed");
    ++cycle_;
    if (top_.m_axis_tvalid_o) {
      TakeBeat();
    } else if (in_frame_) {
      throw std::logic_error("a frame has a bubble");
    }
    return token_ready && top_.token_valid_i;
  }

  void GivePayload() {
    const auto packet =
        std::find_if(packets_.begin(), packets_.end(), [](const Packet& p) { return !p.payload.empty(); });
    if (packet == packets_.end()) throw std::logic_error("payload is requested that is not due");
    auto& train = packet->frame.train;
    if (train.payload_beats == 0) train.first_payload_cycle = cycle_;
    if (train.first_payload_cycle + train.payload_beats++ != cycle_) throw std::logic_error("payload is not one train");
    const auto end = packet->payload.begin() + static_cast<ptrdiff_t>(std::min(packet->payload.size(), kBeatBytes));
    std::copy(packet->payload.begin(), end, BytesOf(top_.payload_data_i));
    packet->payload.erase(packet->payload.begin(), end);
    top_.payload_valid_i = !withhold_;
  }

  void TakeBeat() {
    if (packets_.empty()) throw std::logic_error("an unexpected frame");
    auto& frame = packets_.front().frame;
    if (!in_frame_) frame.train.first_beat_cycle = cycle_;
    const uint8_t* const keep = BytesOf(top_.m_axis_tkeep_o);
    const uint8_t* const data = BytesOf(top_.m_axis_tdata_o);
    size_t kept = 0;
    while (kept < kBeatBytes && keep[kept / 8] >> kept % 8 & 1) ++kept;
    for (size_t i = kept; i < kBeatBytes; ++i) {
      if (keep[i / 8] >> i % 8 & 1) throw std::logic_error("tkeep has a hole");
      if (data[i] != 0) throw std::logic_error("a byte that is not kept is not zero");
    }
    if (kept == 0 || (kept != kBeatBytes && !top_.m_axis_tlast_o)) throw std::logic_error("not a legal beat");
    frame.bytes.insert(frame.bytes.end(), data, data + kept);
    in_frame_ = !top_.m_axis_tlast_o;
    if (in_frame_) return;
    frame.train.last_beat_cycle = cycle_;
    frames_.push_back(std::move(frame));
    packets_.pop_front();
  }

  VerilatedContext context_;
  Top top_;
  std::mt19937_64& random_;
  std::function<bool()> ready_ = [] { return true; };
  bool withhold_ = false;
  uint64_t cycle_ = 0;
  bool in_frame_ = false;
  std::deque<Packet> packets_;  // accepted and not out
  std::vector<TimedFrame> frames_;
};

}  // namespace

std::unique_ptr<TxFramerRtl> TxFramerRtl::Make(unsigned data_bits, std::mt19937_64& random) {
  switch (data_bits) {
    case 64: return std::make_unique<TxFramerRtlOf<Vtx_framer_64>>(random);
    case 512: return std::make_unique<TxFramerRtlOf<Vtx_framer_512>>(random);
    default: return nullptr;
  }
}

}  // namespace vireo::verif
