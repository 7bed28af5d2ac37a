// SPDX-License-Identifier: Apache-2.0
// The board's end of the link in RTL against the host's in C++, over a line that loses, doubles and damages bytes. What
// stands behind the RTL answers every command with bytes that depend on all commands before it: a command that was
// lost, executed twice or changed changes all later answers.
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "Vlink.h"
#include "sim/common/random.h"
#include "sim/common/seed.h"
#include "sim/device/board/board_link.h"
#include "sim/device/rtl_coverage.h"
#include "verif/board/faulty_line.h"

namespace vireo::sim {
namespace {

constexpr uint8_t kLongCommand = 0xff;  // its answer does not fit into a frame
constexpr size_t kLongAnswer = 3000;

// What the commands of a session so far make of the next one.
class Device {
 public:
  std::vector<uint8_t> Answer(uint8_t command) {
    state_ = state_ * 1'664'525 + command + 1;
    std::vector<uint8_t> bytes(command == kLongCommand ? kLongAnswer : command % 4);
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>((state_ >> 8) + i);
    return bytes;
  }

 private:
  uint32_t state_ = 0;
};

std::vector<uint8_t> Hello() {
  const spec::BoardHello hello{.magic = spec::kBoardMagic,
                               .version = spec::kBoardVersion,
                               .has_processor = 0,
                               .config_hash = BoardConfigHash(spec::kNic1)};
  std::vector<uint8_t> bytes(spec::BoardHello::kBytes);
  hello.Encode(bytes.data());
  return bytes;
}

class RtlLink final : public ByteLine {
 public:
  // `is_impatient`: often says that there is no answer while the board still executes or answers.
  explicit RtlLink(std::mt19937_64 random, bool is_impatient = false) : random_(random), is_impatient_(is_impatient) {
    rtl_.rst_ni = 0;
    Clock();
    rtl_.rst_ni = 1;
  }
  ~RtlLink() override {
    rtl_.final();
    KeepCoverage(context_);
    Verilated::threadContextp(&context_);
  }
  bool Send(std::span<const uint8_t> bytes) override {
    to_board_.insert(to_board_.end(), bytes.begin(), bytes.end());
    return true;
  }
  bool Receive(std::vector<uint8_t>& bytes) override {
    constexpr unsigned kPatience = 20'000, kImpatience = 300;
    while (!to_board_.empty()) Clock();
    const unsigned patience = is_impatient_ && UniformBelow(random_, 4) != 0 ? kImpatience : kPatience;
    for (unsigned i = 0; i < patience && from_board_.empty(); ++i) Clock();
    bytes.insert(bytes.end(), from_board_.begin(), from_board_.end());
    return !std::exchange(from_board_, {}).empty();
  }

 private:
  bool Maybe() { return UniformBelow(random_, 4) != 0; }
  void Clock() {
    rtl_.rx_valid_i = !to_board_.empty() && Maybe();
    rtl_.rx_data_i = to_board_.empty() ? 0 : to_board_.front();
    rtl_.tx_ready_i = Maybe();
    // A command is taken only when the one before is answered.
    rtl_.event_valid_i = !events_.empty() && Maybe();
    rtl_.event_data_i = events_.empty() ? 0 : events_.front();
    rtl_.command_ready_i = events_.empty();
    rtl_.eval();
    if (rtl_.rx_valid_i != 0) to_board_.pop_front();
    if (rtl_.tx_valid_o != 0 && rtl_.tx_ready_i != 0) from_board_.push_back(rtl_.tx_data_o);
    if (rtl_.event_valid_i != 0 && rtl_.event_ready_o != 0) events_.pop_front();
    if (rtl_.command_valid_o != 0 && rtl_.command_ready_i != 0) Put(device_.Answer(rtl_.command_data_o));
    if (rtl_.hello_o != 0) {
      device_ = {};
      events_.clear();
      Put(Hello());
    }
    rtl_.clk_i = 1;
    rtl_.eval();
    rtl_.clk_i = 0;
    rtl_.eval();
  }
  void Put(const std::vector<uint8_t>& bytes) { events_.insert(events_.end(), bytes.begin(), bytes.end()); }

  VerilatedContext context_;
  Vlink rtl_{&context_};
  std::mt19937_64 random_;
  const bool is_impatient_;
  std::deque<uint8_t> to_board_, events_;
  std::vector<uint8_t> from_board_;
  Device device_;
};

std::vector<uint8_t> RandomCommands(std::mt19937_64& random) {
  // Often those that must be stuffed.
  std::vector<uint8_t> commands(UniformBelow(random, 2 * spec::kBoardPayloadMax));
  if (UniformBelow(random, 2) != 0) commands.resize(UniformBelow(random, 20));
  for (uint8_t& command : commands) {
    const uint64_t kind = UniformBelow(random, 8);
    command = kind == 0   ? spec::kBoardFlag
              : kind == 1 ? spec::kBoardEscape
                          : static_cast<uint8_t>(UniformBelow(random, kLongCommand));
  }
  if (!commands.empty() && UniformBelow(random, 4) == 0) commands.back() = kLongCommand;
  return commands;
}

// Questions and answers with this chance of each fault of a byte, per million.
BoardLink::Counters Talk(uint32_t per_million, int questions, bool is_impatient = false) {
  std::mt19937_64 random = MakeRandom("link");
  BoardLink link(std::make_unique<FaultyLine>(std::make_unique<RtlLink>(std::mt19937_64(random()), is_impatient),
                                              per_million, std::mt19937_64(random())));
  EXPECT_EQ(link.Open(spec::kNic1), "");
  Device device;
  for (int i = 0; i < questions; ++i) {
    const std::vector<uint8_t> commands = RandomCommands(random);
    std::vector<uint8_t> expected;
    for (const uint8_t command : commands) {
      const std::vector<uint8_t> answer = device.Answer(command);
      expected.insert(expected.end(), answer.begin(), answer.end());
    }
    const auto events = link.Execute(commands);
    EXPECT_EQ(link.error(), "");
    if (!events.has_value()) break;
    EXPECT_EQ(*events, expected) << "question " << i;
    if (*events != expected) break;
  }
  return link.counters();
}

TEST(Link, CarriesCommandsAndEvents) {
  const BoardLink::Counters counters = Talk(0, 100);
  EXPECT_EQ(counters.repeated, 0u);
  EXPECT_EQ(counters.damaged, 0u);
}

TEST(Link, RecoversFromLostDoubledAndDamagedBytes) {
  const BoardLink::Counters counters = Talk(50, 100);
  EXPECT_GT(counters.repeated, 0u);
  EXPECT_GT(counters.damaged, 0u);
}

// Most long questions are asked several times.
TEST(Link, RecoversOnABadLine) { EXPECT_GT(Talk(250, 20).repeated, 5u); }

// Questions are repeated while they are executed, and while they are answered.
TEST(Link, ExecutesOnceWhateverIsRepeated) { EXPECT_GT(Talk(0, 60, /*is_impatient=*/true).repeated, 5u); }

TEST(Link, HelloStartsAgainInTheMiddleOfAnAnswer) {
  std::mt19937_64 random = MakeRandom("link hello");
  BoardLink link(std::make_unique<RtlLink>(std::mt19937_64(random())));
  for (int i = 0; i < 10; ++i) {
    ASSERT_EQ(link.Open(spec::kNic1), "");
    Device device;
    const std::vector<uint8_t> commands = {1, 2, kLongCommand};
    std::vector<uint8_t> expected;
    for (const uint8_t command : commands) {
      const std::vector<uint8_t> answer = device.Answer(command);
      expected.insert(expected.end(), answer.begin(), answer.end());
    }
    EXPECT_EQ(link.Execute(commands), expected);
  }
}

TEST(Link, ABoardWithoutASessionSaysSo) {
  BoardLink link(std::make_unique<RtlLink>(MakeRandom("link stray")));
  EXPECT_FALSE(link.Execute(std::vector<uint8_t>{1, 2, 3}).has_value());
  EXPECT_EQ(link.error(), "the board has lost its state: its power failed, or it was reset");
}

TEST(Link, RefusesAnotherConfiguration) {
  BoardLink link(std::make_unique<RtlLink>(MakeRandom("link config")));
  EXPECT_EQ(link.Open(spec::kNic100), "the board has another configuration than nic100");
  EXPECT_FALSE(link.Execute(std::vector<uint8_t>{1}).has_value());
}

class NoBoard final : public ByteLine {
 public:
  bool Send(std::span<const uint8_t>) override { return true; }
  bool Receive(std::vector<uint8_t>&) override { return false; }
};

TEST(Link, ALineWithoutABoardIsAnError) {
  BoardLink link(std::make_unique<NoBoard>());
  EXPECT_EQ(link.Open(spec::kNic1), "the board does not answer");
}

TEST(BoardFrame, DamageIsNeverTakenForAFrame) {
  std::mt19937_64 random = MakeRandom("frames");
  for (int i = 0; i < 2000; ++i) {
    std::vector<uint8_t> payload(UniformBelow(random, 40));
    for (uint8_t& byte : payload) byte = static_cast<uint8_t>(random());
    const spec::BoardHeader header{.kind = spec::BoardFrame::kData, .serial = static_cast<uint8_t>(i)};
    std::vector<uint8_t> line = EncodeBoardFrame(header, payload);
    const bool is_damaged = i % 2 != 0;
    // Within the frame: flags around it may be lost.
    const size_t at = 1 + UniformBelow(random, line.size() - 2);
    if (is_damaged) line[at] = static_cast<uint8_t>(line[at] ^ 1u << UniformBelow(random, 8));
    BoardFrameDecoder decoder;
    std::vector<BoardFrame> frames;
    for (const uint8_t byte : line) {
      if (auto frame = decoder.Take(byte)) frames.push_back(*std::move(frame));
    }
    ASSERT_EQ(frames.size(), is_damaged ? 0u : 1u);
    if (!is_damaged) {
      EXPECT_EQ(frames[0].payload, payload);
    }
  }
}

}  // namespace
}  // namespace vireo::sim
