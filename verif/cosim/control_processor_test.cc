// SPDX-License-Identifier: Apache-2.0
// The firmware on the control processor in RTL, beside whole NICs: it starts, serves commands, and recovers from a
// failure with the driver's reset, while connections go on. docs/blocks/control_processor.md. Other tests run on it
// with VIREO_FIRMWARE=rv32.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "sim/topology/riscv_runner.h"
#include "verif/cosim/system_test.h"

namespace vireo::sim {
namespace {

constexpr uint64_t kMicrosecond = 1'000;
constexpr uint64_t kMillisecond = 1'000'000;

class ControlProcessorTest : public SystemTestWith<ConnectedPair> {
 protected:
  void SetUp() override {
    if (const std::string why = ProcessorRtl::WhyUnavailable(); !why.empty()) GTEST_SKIP() << why;
    RdmaSystemOptions options;
    options.firmware = "rv32";
    ASSERT_NO_FATAL_FAILURE(Build(options));
    ASSERT_NO_FATAL_FAILURE(Connect());
  }
  void Connect() {
    std::string error;
    pair_ = MakeConnectedPair(system_->host(0), system_->host(1), {}, &error);
    ASSERT_NE(pair_, nullptr) << error;
  }
  RiscvRunner& processor(size_t host) { return dynamic_cast<RiscvRunner&>(system_->host(host).firmware()); }
  bool NeedsReset(size_t host) {
    return (system_->host(host).device().net().pci().ReadStatus() & spec::VirtioDeviceStatus::kDeviceNeedsReset) != 0;
  }
  void ExpectWorks() {
    Fill(*near().memory, random_);
    const spec::RdmaSge sge = near().region->Sge(0, 3000);
    PostSend({.wr_id = 7,
              .opcode = spec::IbWrOpcode::kRdmaWrite,
              .sg_list = std::span(&sge, 1),
              .remote_addr = far().region->address(),
              .rkey = far().region->rkey()});
    ExpectNext(0, 7, spec::IbWcStatus::kSuccess);
    RunFor(50 * kMicrosecond);
    EXPECT_EQ(std::memcmp(near().memory->data(), far().memory->data(), 3000), 0);
  }
  // Overwrites the program behind its settings, with `instruction` of 16 bits or with what it was.
  void WriteProgram(std::optional<uint32_t> instruction) {
    const std::vector<uint8_t>& image = ProcessorRtl::Image();
    constexpr uint32_t kBegin = spec::kProcessorSettingsOffset + spec::ProcessorSettings::kBytes;
    for (uint32_t at = kBegin; at + 4 <= image.size(); at += 4) {
      uint32_t word = 0;
      std::memcpy(&word, &image[at], sizeof word);
      if (instruction.has_value()) word = *instruction << 16 | *instruction;
      processor(0).WriteMemory(spec::kProcessorStackBytes + at, word);
    }
  }
  // The next command makes the processor fail; what it wrote on its console since.
  std::string FailAndRecover(uint32_t instruction, uint64_t timeout_ns) {
    EXPECT_TRUE(processor(0).is_sleeping());
    WriteProgram(instruction);
    uint8_t gid[16] = {0xfe, 0x80};
    EXPECT_FALSE(system_->host(0).device().AddGid(2, gid).ok()) << "nobody serves it";
    RunFor(timeout_ns);
    EXPECT_TRUE(NeedsReset(0));
    EXPECT_FALSE(NeedsReset(1));
    EXPECT_FALSE(processor(0).is_started());
    ExpectWorks();  // a connection does not need the firmware
    WriteProgram({});
    const size_t before = processor(0).console().size();
    const verbs::Status reset = system_->host(0).device().net().pci().Reset(1000 * kMillisecond);
    EXPECT_TRUE(reset.ok()) << host::ToString(reset.error());
    pair_.reset();
    for (size_t i = 0; i < 2; ++i) {
      system_->host(i).Close();
      EXPECT_EQ(system_->host(i).Open(), "");
    }
    Connect();
    if (!HasFatalFailure()) ExpectWorks();
    return processor(0).console().substr(before);
  }
  static constexpr const char* kReady = "vireo: ready\n";

  std::mt19937_64 random_ = MakeRandom("control_processor");
};

TEST_P(ControlProcessorTest, StartsWithTheSettingsOfItsImage) {
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(processor(i).console(), kReady);
    EXPECT_EQ(processor(i).failure(), spec::ProcessorFailure::kNone);
  }
  ExpectWorks();
}

// 0 is no instruction. [RISC-V unprivileged ISA, 1.5]
TEST_P(ControlProcessorTest, TrapIsReportedAndRepairedByAReset) {
  const std::string console = FailAndRecover(0, 100 * kMicrosecond);
  EXPECT_EQ(console.find("vireo: restart after trap at "), 0U) << console;
  EXPECT_EQ(console.substr(console.find('\n') + 1), kReady);
}

// A hardware reset starts it from scratch, whatever it was doing.
TEST_P(ControlProcessorTest, HardwareResetStartsItAgain) {
  pair_.reset();
  system_->host(0).Close();
  system_->Reset(0);
  ASSERT_EQ(system_->host(0).Open(), "");
  ASSERT_NO_FATAL_FAILURE(Connect());
  ExpectWorks();
  EXPECT_EQ(processor(0).console(), kReady);
}

// The processor is the same beside every device, and resets of nic100 take long.
INSTANTIATE_TEST_SUITE_P(Devices, ControlProcessorTest,
                         testing::Values(EveryDeviceAndRing("model", &spec::kNic100, true),
                                         EveryDeviceAndRing("rtl", &spec::kNic1, true),
                                         EveryDeviceAndRing("lockstep", &spec::kNic1, false)),
                         NameOfWithRing);

}  // namespace
}  // namespace vireo::sim
