// SPDX-License-Identifier: Apache-2.0
// Faults that model and RTL have in common: they are put behind the device, where its outputs reach the seam, so that
// lockstep compares equal. Traffic still ends well and its data are right; only the monitor reports them.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/device/nic_devices.h"
#include "sim/topology/rdma_system.h"
#include "sim/traffic/forged_frame.h"

namespace vireo::sim {
namespace {

using Frame = std::vector<uint8_t>;
constexpr size_t kBth = 42;                     // of untagged RoCEv2 over IPv4
constexpr uint32_t kMessageBytes = 61;          // with padding
constexpr uint64_t kTimeoutNs = 1'000'000'000;  // a lost packet waits for the default acknowledge timeout

struct Fault {
  std::string name, rule;
  void (*change)(Frame& frame, uint64_t number) = nullptr;  // a RoCE frame that is sent, and how many were before
  bool repeats_interrupts = false;
};

bool IsRequest(const Frame& frame) { return !spec::kOpcodeInfo[frame[kBth]].is_response; }

const Fault kFaults[] = {
    {"none", ""},
    {"reserved_bit", "wire.header",
     [](Frame& frame, uint64_t) {
       frame[kBth + 8] |= 1;  // of the BTH, covered by the ICRC and ignored by receivers
       FixAll(frame);
     }},
    {"pad_not_zero", "wire.padding",
     [](Frame& frame, uint64_t) {
       if (IsRequest(frame)) frame[frame.size() - 5] = 0x55;
       FixAll(frame);
     }},
    {"one_wrong_icrc", "wire.icrc",
     [](Frame& frame, uint64_t number) {
       if (number == 0) frame.back() ^= 1;  // lost, and sent again
     }},
    {"byte_behind_datagram", "wire.length",
     [](Frame& frame, uint64_t) {
       // In the last beat, so that the train is as long as announced; receivers ignore it.
       frame.push_back(0x77);
     }},
    {"repeated_interrupt", "msix.cause", nullptr, true},
};

// A NIC behind which its outputs change.
class FaultyNic final : public Nic, public NicEnvironment {
 public:
  FaultyNic(const NicContext& context, const std::string& device, const Fault& fault)
      : environment_(context.environment), fault_(fault) {
    nic_ = NicDeviceFactory(device)(
        {context.name, context.number, context.config, context.clock, context.scheduler, *this});
  }

  void Reset(Cycle cycle) override { nic_->Reset(cycle); }
  uint32_t ReadConfig(Cycle cycle, uint16_t offset, unsigned bytes) override {
    return nic_->ReadConfig(cycle, offset, bytes);
  }
  void WriteConfig(Cycle cycle, uint16_t offset, unsigned bytes, uint32_t value) override {
    nic_->WriteConfig(cycle, offset, bytes, value);
  }
  void ReadBar(Cycle cycle, unsigned bar, uint64_t offset, unsigned bytes) override {
    nic_->ReadBar(cycle, bar, offset, bytes);
  }
  void WriteBar(Cycle cycle, unsigned bar, uint64_t offset, unsigned bytes, uint64_t value) override {
    nic_->WriteBar(cycle, bar, offset, bytes, value);
  }
  void CompleteDmaRead(Cycle cycle, const DmaCompletion& completion) override {
    nic_->CompleteDmaRead(cycle, completion);
  }
  void ReturnCredits(Cycle cycle, CreditKind kind, uint32_t beats) override { nic_->ReturnCredits(cycle, kind, beats); }
  void ReceiveFrame(Cycle start, Cycle end, std::span<const uint8_t> bytes, bool mac_error) override {
    nic_->ReceiveFrame(start, end, bytes, mac_error);
  }
  void SetLink(Cycle cycle, bool up) override { nic_->SetLink(cycle, up); }
  void ReadCsr(Cycle cycle, uint32_t offset) override { nic_->ReadCsr(cycle, offset); }
  void WriteCsr(Cycle cycle, uint32_t offset, uint32_t value) override { nic_->WriteCsr(cycle, offset, value); }
  bool IsIdle() const override { return nic_->IsIdle(); }
  Cycle NextDeadline() const override { return nic_->NextDeadline(); }

  void CompleteBarRead(Cycle cycle, uint64_t value) override { environment_.CompleteBarRead(cycle, value); }
  void ReadDma(Cycle cycle, const DmaRead& read) override { environment_.ReadDma(cycle, read); }
  void WriteDma(Cycle cycle, const DmaWrite& write) override { environment_.WriteDma(cycle, write); }
  void SendMsix(Cycle cycle, uint16_t vector) override {
    environment_.SendMsix(cycle, vector);
    if (fault_.repeats_interrupts) repeated_ = {cycle, vector};
  }
  void TransmitFrame(Cycle start, Cycle end, std::span<const uint8_t> bytes) override {
    Frame frame(bytes.begin(), bytes.end());
    const bool is_roce = frame.size() > kBth + 12 && frame[36] == spec::kUdpPortRocev2 >> 8 &&
                         frame[37] == (spec::kUdpPortRocev2 & 0xff);
    if (is_roce && fault_.change != nullptr) fault_.change(frame, frames_++);
    Repeat(end);
    environment_.TransmitFrame(start, end, frame);
  }
  void CompleteCsrRead(Cycle cycle, uint32_t value) override { environment_.CompleteCsrRead(cycle, value); }
  void SetFirmwareInterrupt(Cycle cycle, bool level) override { environment_.SetFirmwareInterrupt(cycle, level); }

 private:
  // In the cycle of the next frame: there is at most one message per cycle, and no completion is due then.
  void Repeat(Cycle cycle) {
    if (!repeated_.has_value() || cycle <= repeated_->first + 1) return;
    environment_.SendMsix(cycle, repeated_->second);
    repeated_.reset();
  }

  NicEnvironment& environment_;
  const Fault& fault_;
  std::unique_ptr<Nic> nic_;
  uint64_t frames_ = 0;
  std::optional<std::pair<Cycle, uint16_t>> repeated_;
};

class CommonFault : public testing::TestWithParam<std::tuple<Fault, std::string>> {};

TEST_P(CommonFault, IsReportedByTheMonitorAlone) {
  const auto& [fault, device] = GetParam();
  RdmaSystemOptions options;
  options.devices = [&fault = fault, &device = device](std::string_view, const LockstepOptions&) -> NicFactory {
    return [&](const NicContext& context) { return std::make_unique<FaultyNic>(context, device, fault); };
  };
  options.config = &spec::kNic1;
  auto built = RdmaSystem::Build(options);
  ASSERT_NE(built.system, nullptr) << built.error;
  RdmaSystem& system = *built.system;
  {
    std::string error;
    const auto pair = MakeConnectedPair(system.host(0), system.host(1), {}, &error);
    ASSERT_NE(pair, nullptr) << error;
    auto& [near, far] = pair->side;
    for (uint32_t i = 0; i < kMessageBytes; ++i) near.memory->data()[i] = static_cast<uint8_t>(i * 7 + 1);
    for (uint64_t wr_id = 1; wr_id <= 4; ++wr_id) {
      const spec::RdmaSge sge = near.region->Sge(0, kMessageBytes);
      const verbs::Status posted = near.qp->PostSend({.wr_id = wr_id,
                                                      .opcode = spec::IbWrOpcode::kRdmaWrite,
                                                      .sg_list = std::span(&sge, 1),
                                                      .remote_addr = far.region->address(),
                                                      .rkey = far.region->rkey()});
      ASSERT_TRUE(posted.ok());
      const auto completion = near.cq->Wait(system.host(0).function().NowNs() + kTimeoutNs);
      ASSERT_TRUE(completion.ok() && completion->has_value());
      EXPECT_EQ((*completion)->wr_id, wr_id);
      EXPECT_EQ((*completion)->status, spec::IbWcStatus::kSuccess);
    }
    EXPECT_EQ(std::memcmp(near.memory->data(), far.memory->data(), kMessageBytes), 0);
  }
  const std::string violations = system.Violations();
  if (fault.rule.empty()) {
    EXPECT_EQ(violations, "");
    return;
  }
  // Every line is of that rule.
  EXPECT_NE(violations, "");
  for (size_t at = 0; at < violations.size(); at = violations.find('\n', at) + 1) {
    const std::string line = violations.substr(at, violations.find('\n', at) - at);
    EXPECT_NE(line.find("monitor: " + fault.rule), std::string::npos) << line;
  }
}

INSTANTIATE_TEST_SUITE_P(Every, CommonFault,
                         testing::Combine(testing::ValuesIn(kFaults), testing::Values("model", "lockstep")),
                         [](const auto& info) { return std::get<0>(info.param).name + "_" + std::get<1>(info.param); });

}  // namespace
}  // namespace vireo::sim
