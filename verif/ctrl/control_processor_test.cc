// SPDX-License-Identifier: Apache-2.0
// The control processor in RTL with short programs: each kind of access, each failure and the start after it, console,
// watchdog. The firmware itself runs on it in verif/cosim/control_processor_test.cc.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "Vcontrol_processor_small.h"
#include "sim/device/rtl_coverage.h"
#include "spec/gen/vireo_spec.h"

namespace vireo {
namespace {

constexpr uint32_t kMemoryBytes = 16384;
constexpr unsigned kWatchdogCycles = 1 << 10, kCyclesPerBit = 4;
constexpr unsigned kReadLatency = 3;  // of vireo_csr

// --- Instructions. [RISC-V unprivileged ISA, 2 and 24]
enum Register : uint32_t { kZero = 0, kSp = 2, kA = 5, kB = 6, kC = 7 };

constexpr uint32_t Lui(uint32_t to, uint32_t upper) { return upper << 12 | to << 7 | 0x37; }
constexpr uint32_t Addi(uint32_t to, uint32_t from, uint32_t value) {
  return value << 20 | from << 15 | to << 7 | 0x13;
}
// `width`: 0 byte, 1 half, 2 word; 4 and 5 are loads without sign.
constexpr uint32_t Load(uint32_t width, uint32_t to, uint32_t base, uint32_t offset = 0) {
  return offset << 20 | base << 15 | width << 12 | to << 7 | 0x03;
}
constexpr uint32_t Store(uint32_t width, uint32_t from, uint32_t base, uint32_t offset = 0) {
  return (offset >> 5) << 25 | from << 20 | base << 15 | width << 12 | (offset & 31) << 7 | 0x23;
}
constexpr uint32_t kStay = 0x0000006f;  // jal zero, 0

class Program {
 public:
  Program& Add(uint32_t instruction) {
    words_.push_back(instruction);
    return *this;
  }
  Program& Set(uint32_t to, uint32_t value) {  // two instructions
    return Add(Lui(to, (value + 0x800) >> 12)).Add(Addi(to, to, value & 0xfff));
  }
  // Registers A and B change.
  Program& Write(uint32_t address, uint32_t value, uint32_t width = 2) {
    return Set(kA, address).Set(kB, value).Add(Store(width, kB, kA));
  }
  Program& Read(uint32_t address, uint32_t to, uint32_t width = 2) { return Set(kA, address).Add(Load(width, to, kA)); }
  Program& Stay() { return Add(kStay); }
  const std::vector<uint32_t>& words() const { return words_; }

 private:
  std::vector<uint32_t> words_;
};

constexpr uint32_t Own(uint32_t offset) { return spec::kProcessorRegistersBase + offset; }
constexpr uint32_t Device(uint32_t offset) { return spec::kProcessorManagementBase + offset; }

struct Access {
  bool is_write;
  uint32_t offset, value;
  bool operator==(const Access&) const = default;
};

class ControlProcessor : public testing::Test {
 protected:
  ~ControlProcessor() override { sim::KeepCoverage(context_); }

  void Start(const Program& program) {
    rtl_.rst_ni = 0;
    Cycle();
    rtl_.rst_ni = 1;
    rtl_.load_valid_i = 1;
    uint32_t at = spec::kProcessorStackBytes;
    for (const uint32_t word : program.words()) Load32(at, word), at += 4;
    rtl_.load_valid_i = 0;
    rtl_.run_i = 1;
    cycle_ = 0;
    line.clear();
  }
  void Load32(uint32_t address, uint32_t word) {
    rtl_.load_valid_i = 1;
    rtl_.load_address_i = address;
    rtl_.load_data_i = word;
    Cycle();
    rtl_.load_valid_i = 0;
  }
  // One cycle: the device answers reads by `register_`.
  void Cycle() {
    ++cycle_;
    const bool is_answered = !answers_.empty() && answers_.front().first == cycle_;
    rtl_.csr_read_valid_i = is_answered;
    rtl_.csr_read_data_i = is_answered ? answers_.front().second : 0x5a5a5a5a;
    if (is_answered) answers_.erase(answers_.begin());
    rtl_.eval();
    if (rtl_.csr_valid_o != 0) {
      accesses.push_back({rtl_.csr_write_o != 0, rtl_.csr_address_o, rtl_.csr_write_o != 0 ? rtl_.csr_data_o : 0});
      if (rtl_.csr_write_o == 0) answers_.emplace_back(cycle_ + kReadLatency, read_value);
    }
    if (rtl_.console_valid_o != 0) console += static_cast<char>(rtl_.console_data_o);
    line += rtl_.console_tx_o != 0 ? '1' : '0';
    rtl_.clk_i = 1;
    rtl_.eval();
    rtl_.clk_i = 0;
    rtl_.eval();
  }
  // False: not within `most` cycles.
  bool RunUntil(const std::function<bool()>& is_done, unsigned most = 3000) {
    for (unsigned i = 0; i < most; ++i) {
      if (is_done()) return true;
      Cycle();
    }
    return is_done();
  }
  bool Waits() const { return rtl_.waiting_o != 0; }
  spec::ProcessorFailure Failure() const { return spec::ProcessorFailure{rtl_.failure_o}; }

  // The processor stops with this cause, takes the firmware's readiness away and nothing else, starts again with the
  // driver's reset of the device, and tells the program.
  void ExpectFailure(const Program& program, spec::ProcessorFailure cause, std::optional<uint32_t> address = {}) {
    // Its first instructions report the last failure, and wait if there was one.
    Program all;
    all.Read(Own(spec::kProcessorLastFailureRegister), kC).Set(kA, Device(spec::kMgmtScratchRegister));
    all.Add(Store(2, kC, kA)).Read(Own(spec::kProcessorFailureAddressRegister), kC);
    all.Set(kA, Device(spec::kMgmtScratchRegister)).Add(Store(2, kC, kA));
    for (const uint32_t word : program.words()) all.Add(word);
    read_value = spec::MgmtControl{.firmware_ready = true, .datapath_enable = true, .link_up = true}.ToWord();
    Start(all);
    ASSERT_TRUE(RunUntil([&] { return accesses.size() >= 2; }));
    EXPECT_EQ(accesses[0].value, 0U);
    accesses.clear();
    ASSERT_TRUE(RunUntil([&] { return Failure() != spec::ProcessorFailure::kNone; }));
    EXPECT_EQ(Failure(), cause);
    ASSERT_TRUE(RunUntil([&] { return Waits(); }));
    const std::vector<Access> expected = {
        {false, spec::kMgmtControlRegister, 0},
        {true, spec::kMgmtControlRegister, spec::MgmtControl{.datapath_enable = true, .link_up = true}.ToWord()},
        {true, spec::kMgmtInterruptEnableRegister, spec::MgmtInterruptCause{.device_reset = true}.ToWord()}};
    EXPECT_EQ(accesses, expected);
    for (int i = 0; i < 100; ++i) Cycle();
    EXPECT_EQ(accesses.size(), expected.size());
    EXPECT_EQ(Failure(), cause);
    accesses.clear();
    rtl_.firmware_interrupt_i = 1;
    Cycle();
    rtl_.firmware_interrupt_i = 0;
    EXPECT_EQ(Failure(), spec::ProcessorFailure::kNone);
    ASSERT_TRUE(RunUntil([&] { return accesses.size() >= 2; }));
    EXPECT_EQ(spec::ProcessorLastFailure::FromWord(accesses[0].value).cause, cause);
    if (address.has_value()) {
      EXPECT_EQ(accesses[1].value, *address);
    }
  }

  VerilatedContext context_;
  Vcontrol_processor_small rtl_{&context_};
  std::vector<Access> accesses;
  std::string console, line;
  uint32_t read_value = 0;

 private:
  uint64_t cycle_ = 0;
  std::vector<std::pair<uint64_t, uint32_t>> answers_;
};

TEST_F(ControlProcessor, AccessesManagementRegistersOnce) {
  Program program;
  program.Write(Device(spec::kMgmtScratchRegister), 0x12345678);
  program.Read(Device(spec::kMgmtVersionRegister), kC).Set(kA, Device(spec::kMgmtMtuRegister));
  program.Add(Store(2, kC, kA)).Read(Own(spec::kProcessorWaitRegister), kC);
  read_value = 0xcafe1234;
  Start(program);
  ASSERT_TRUE(RunUntil([&] { return Waits(); }));
  const std::vector<Access> expected = {{true, spec::kMgmtScratchRegister, 0x12345678},
                                        {false, spec::kMgmtVersionRegister, 0},
                                        {true, spec::kMgmtMtuRegister, read_value}};
  EXPECT_EQ(accesses, expected);
}

TEST_F(ControlProcessor, WaitIsAnsweredByTheInterruptOnly) {
  Program program;
  for (uint32_t i = 1; i <= 2; ++i) {
    program.Read(Own(spec::kProcessorWaitRegister), kC).Write(Device(spec::kMgmtScratchRegister), i);
  }
  Start(program.Stay());
  ASSERT_TRUE(RunUntil([&] { return Waits(); }));
  // The watchdog does not expire.
  for (unsigned i = 0; i < 3 * kWatchdogCycles; ++i) Cycle();
  EXPECT_TRUE(Waits());
  EXPECT_TRUE(accesses.empty());
  rtl_.firmware_interrupt_i = 1;
  Cycle();
  rtl_.firmware_interrupt_i = 0;
  EXPECT_FALSE(Waits());
  ASSERT_TRUE(RunUntil([&] { return Waits(); }));
  ASSERT_EQ(accesses.size(), 1U);
  // A level that is there already does not let it wait.
  rtl_.firmware_interrupt_i = 1;
  ASSERT_TRUE(RunUntil([&] { return accesses.size() == 2; }, 100));
  EXPECT_EQ(Failure(), spec::ProcessorFailure::kNone);
}

TEST_F(ControlProcessor, MemoryHasBytesHalvesAndWords) {
  constexpr uint32_t kAt = kMemoryBytes - 8;
  Program program;
  program.Write(kAt, 0x80838281).Write(kAt + 1, 0x17, 0).Write(kAt + 2, 0x9abc, 1);
  for (const auto& [width, offset] : {std::pair{2u, 0u}, {4u, 0u}, {4u, 1u}, {5u, 2u}, {0u, 3u}, {1u, 2u}}) {
    program.Read(kAt + offset, kC, width).Set(kA, Device(spec::kMgmtScratchRegister)).Add(Store(2, kC, kA));
  }
  Start(program.Stay());
  ASSERT_TRUE(RunUntil([&] { return accesses.size() == 6; }));
  const uint32_t expected[] = {0x9abc1781, 0x81, 0x17, 0x9abc, 0xffffff9a, 0xffff9abc};
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(accesses[i].value, expected[i]) << i;
}

TEST_F(ControlProcessor, ConsoleSendsEachByteInTenBits) {
  Program program;
  for (const char c : {'V', '\x80', '\n'}) {
    program.Write(Own(spec::kProcessorConsoleRegister), static_cast<uint8_t>(c));
  }
  Start(program.Stay());
  ASSERT_TRUE(RunUntil([&] { return console.size() == 3; }));
  for (unsigned i = 0; i < 11 * kCyclesPerBit; ++i) Cycle();
  EXPECT_EQ(console, "V\x80\n");
  // From each start bit on, one bit per kCyclesPerBit cycles, exactly.
  std::string received;
  for (size_t at = line.find('0'); at != std::string::npos; at = line.find('0', at)) {
    unsigned bits = 0;
    for (unsigned bit = 0; bit < 10; ++bit, at += kCyclesPerBit) {
      const std::string cycles = line.substr(at, kCyclesPerBit);
      ASSERT_EQ(cycles.find_first_not_of(cycles[0]), std::string::npos) << cycles;
      bits |= static_cast<unsigned>(cycles[0] == '1') << bit;
    }
    EXPECT_EQ(bits & 0x201, 0x200U);
    received += static_cast<char>(bits >> 1 & 0xff);
  }
  EXPECT_EQ(received, console);
}

TEST_F(ControlProcessor, MemoryIsLoadedWhileTheCoreRuns) {
  Program loop;
  loop.Write(Own(spec::kProcessorAliveRegister), 0);
  loop.Read(kMemoryBytes - 4, kC).Set(kA, Device(spec::kMgmtScratchRegister)).Add(Store(2, kC, kA));
  const auto back = static_cast<uint32_t>(-4 * static_cast<int>(loop.words().size()));
  // jal zero, back
  loop.Add((back >> 20 & 1) << 31 | (back >> 1 & 0x3ff) << 21 | (back >> 11 & 1) << 20 | (back >> 12 & 0xff) << 12 |
           0x6f);
  Start(loop);
  for (uint32_t value = 1; value < 200; ++value) {
    Load32(kMemoryBytes - 4, value);
    const size_t before = accesses.size();
    ASSERT_TRUE(RunUntil([&] { return accesses.size() >= before + 2; }, 300)) << value;
    EXPECT_EQ(accesses.back().value, value);
  }
}

TEST_F(ControlProcessor, FailsAtAnIllegalInstruction) {
  ExpectFailure(Program().Add(0), spec::ProcessorFailure::kTrap);
}
TEST_F(ControlProcessor, FailsAtAnAddressThatIsNotAligned) {
  ExpectFailure(Program().Read(spec::kProcessorStackBytes + 2, kC), spec::ProcessorFailure::kTrap);
}
TEST_F(ControlProcessor, FailsOutsideOfTheMap) {
  for (const uint32_t address :
       {kMemoryBytes, spec::kProcessorRegistersBase - 4, spec::kProcessorRegistersBase + spec::kProcessorBytes,
        spec::kProcessorManagementBase - 4, spec::kProcessorManagementBase + spec::kMgmtBytes, 0xfffffffcu}) {
    SCOPED_TRACE(address);
    accesses.clear();
    ExpectFailure(Program().Read(address, kC), spec::ProcessorFailure::kBus, address);
    accesses.clear();
    ExpectFailure(Program().Write(address, 1), spec::ProcessorFailure::kBus, address);
  }
}
TEST_F(ControlProcessor, FailsWhenTheStackOverflows) {
  ExpectFailure(Program().Set(kSp, 0).Add(Addi(kSp, kSp, 0xff0)).Add(Store(2, kA, kSp)), spec::ProcessorFailure::kBus,
                0xfffffff0);
}
TEST_F(ControlProcessor, FailsAtAPartOfAManagementRegister) {
  ExpectFailure(Program().Write(Device(spec::kMgmtScratchRegister), 1, 0), spec::ProcessorFailure::kBus,
                Device(spec::kMgmtScratchRegister));
}
TEST_F(ControlProcessor, FailsWhenTheFirmwareGivesUp) {
  ExpectFailure(Program().Write(Own(spec::kProcessorStopRegister), 0), spec::ProcessorFailure::kFirmware);
}
TEST_F(ControlProcessor, FailsWhenNobodyReportsThatItIsAlive) {
  ExpectFailure(Program().Stay(), spec::ProcessorFailure::kWatchdog);
}

TEST_F(ControlProcessor, WatchdogExpiresInItsCycleAndIsRestarted) {
  Program program;
  program.Write(Own(spec::kProcessorAliveRegister), 0).Stay();
  Start(program);
  // The write is the last access of data: after it come fetches only.
  unsigned cycles = 0;
  while (Failure() == spec::ProcessorFailure::kNone && cycles < 3 * kWatchdogCycles) Cycle(), ++cycles;
  EXPECT_EQ(Failure(), spec::ProcessorFailure::kWatchdog);
  EXPECT_GE(cycles, kWatchdogCycles);
  EXPECT_LE(cycles, kWatchdogCycles + 60) << "start and first instructions";

  // Reported in time, again and again, it does not expire.
  Program alive;
  alive.Set(kA, Own(spec::kProcessorAliveRegister)).Add(Store(2, kB, kA)).Add(0xffdff06f);  // jal zero, -4
  Start(alive);
  for (unsigned i = 0; i < 5 * kWatchdogCycles; ++i) Cycle();
  EXPECT_EQ(Failure(), spec::ProcessorFailure::kNone);
}

}  // namespace
}  // namespace vireo
