// SPDX-License-Identifier: Apache-2.0
// The comparison of the SystemC module with the other devices: it reports an access that comes a cycle late, every
// kind of event is compared, a hardware reset included; and the firmware that runs inside the module accesses its
// registers in the cycles in which that of the suite does.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <string>

#include "sim/common/run_in_child.h"
#include "sim/topology/rdma_system.h"
#include "verif/platform/platform_bench.h"
#include "verif/platform/systemc_nic.h"

namespace vireo::sim {
namespace {

// One WRITE from host 0 to host 1. Empty, or what went wrong.
std::string Write(RdmaSystem& system, uint32_t bytes) {
  std::string error;
  const auto pair = MakeConnectedPair(system.host(0), system.host(1), {}, &error);
  if (pair == nullptr) return error;
  auto& [near, far] = pair->side;
  for (uint32_t i = 0; i < bytes; ++i) near.memory->data()[i] = static_cast<uint8_t>(i * 7 + 1);
  const spec::RdmaSge sge = near.region->Sge(0, bytes);
  const verbs::Status posted = near.qp->PostSend({.wr_id = 1,
                                                  .opcode = spec::IbWrOpcode::kRdmaWrite,
                                                  .sg_list = std::span(&sge, 1),
                                                  .remote_addr = far.region->address(),
                                                  .rkey = far.region->rkey()});
  if (!posted.ok()) return host::ToString(posted.error());
  const auto completion = near.cq->Wait(system.host(0).function().NowNs() + 1'000'000);
  if (!completion.ok() || !completion->has_value()) return "no completion";
  if ((*completion)->status != spec::IbWcStatus::kSuccess) return spec::ToString((*completion)->status);
  system.topology().RunFor(20'000 * kPicosecondsPerNanosecond);
  return std::memcmp(near.memory->data(), far.memory->data(), bytes) == 0 ? "" : "other data";
}

bool Settle(RdmaSystem& system) {
  return system.topology().RunUntilQuiet(system.scheduler().now() + 1'000'000'000'000);
}

// Builds a system of a device in a child process and runs `body` in it. Its violations at the end: "none", or text.
std::string ViolationsOf(const std::string& device, const spec::Config& config, const SystemcNicFaults& faults,
                         const std::function<void(RdmaSystem&)>& body) {
  const ChildResult child = RunInChild([&]() -> std::optional<std::string> {
    RdmaSystemOptions options;
    options.device = device;
    options.config = &config;
    UseSystemcDevices(options, faults);
    auto built = RdmaSystem::Build(options);
    if (built.system == nullptr) return built.error;
    body(*built.system);
    if (testing::Test::HasFailure()) return std::nullopt;
    const std::string violations = built.system->Violations();
    return violations.empty() ? "none" : violations;
  });
  EXPECT_TRUE(child.ok) << child.error;
  return child.reply;
}

TEST(SystemcLockstep, EveryKindOfEventIsComparedAndDiffersInNoCycle) {
  for (const char* device : {"systemc_model", "systemc_rtl"}) {
    EXPECT_EQ(ViolationsOf(device, spec::kNic1, {},
                           [](RdmaSystem& system) {
                             EXPECT_EQ(Write(system, 5000), "");
                             EXPECT_TRUE(Settle(system));
                             for (size_t i = 0; i < 2; ++i) {
                               const LockstepNic& nic = *system.lockstep(i);
                               for (const EventKind kind :
                                    {EventKind::kBarCompletion, EventKind::kDmaRead, EventKind::kDmaWrite,
                                     EventKind::kMsix, EventKind::kTransmitStart, EventKind::kTransmitEnd,
                                     EventKind::kCsrCompletion, EventKind::kFirmwareInterrupt}) {
                                 EXPECT_GT(nic.Differences(kind).count, 0u) << ToString(kind);
                               }
                               EXPECT_EQ(nic.TotalDifferences().exact, nic.TotalDifferences().count);
                             }
                           }),
              "none")
        << device;
  }
}

TEST(SystemcLockstep, AHardwareResetIsComparedToo) {
  EXPECT_EQ(ViolationsOf("systemc_model", spec::kNic100, {},
                         [](RdmaSystem& system) {
                           EXPECT_EQ(Write(system, 5000), "");
                           for (size_t i = 0; i < 2; ++i) system.host(i).Close();
                           EXPECT_TRUE(Settle(system));
                           for (size_t i = 0; i < 2; ++i) system.Reset(i);
                           for (size_t i = 0; i < 2; ++i) EXPECT_EQ(system.host(i).Open(), "");
                           EXPECT_EQ(Write(system, 5000), "");
                           EXPECT_TRUE(Settle(system));
                         }),
            "none");
}

// Mutants of the comparison: its driver accesses the module one cycle late.
TEST(SystemcLockstep, AnAccessThatIsACycleLateIsReported) {
  for (const SystemcNicFaults& faults : {SystemcNicFaults{.bar_access_delay = 1}, {.csr_access_delay = 1}}) {
    for (const char* device : {"systemc_model", "systemc_rtl"}) {
      const std::string violations = ViolationsOf(device, spec::kNic1, faults, [](RdmaSystem&) {});
      EXPECT_NE(violations.find(" late "), std::string::npos)  // the table of differences
          << device << ": " << violations;
    }
  }
}

// Firmware inside the module and that of the suite: as many accesses, and ready in the same cycle.
TEST(SystemcLockstep, FirmwareInsideTheModuleIsReadyInTheCycleOfTheSuites) {
  const std::string inside = Simulate([] {
    struct Board final : sc_core::sc_module {
      explicit Board(const sc_core::sc_module_name& name) : sc_core::sc_module(name) {
        config.bind(nic.config_socket);
        memory.bind(nic.memory_socket);
        nic.dma_socket.bind(sink);
        sink.register_b_transport(this, &Board::Refuse);
      }
      static platform::VireoNic::Options Options() {
        platform::VireoNic::Options options;
        options.firmware.has_mac = true;
        std::ranges::copy(RdmaHost::DefaultMac(0), options.firmware.mac);
        options.firmware.mtu = spec::kNic100.max_frame_bytes - spec::Ethernet::kBytes - spec::VlanTag::kBytes;
        return options;
      }
      void Refuse(tlm::tlm_generic_payload& transaction, sc_core::sc_time&) {
        transaction.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
      }
      tlm_utils::simple_initiator_socket<Board> config{"config"}, memory{"memory"};
      platform::VireoNic nic{"nic", Options()};
      tlm_utils::simple_target_socket<Board> sink{"sink"};
    };
    const auto board = std::make_shared<Board>("board");
    return [board](std::string& reply) {
      const CoreClock clock(spec::kNic100.core_clock_khz);
      // In the middle of each cycle.
      for (Cycle cycle = 0; !board->nic.is_ready() && cycle < 100'000; ++cycle) {
        sc_core::wait(sc_core::sc_time::from_value(clock.Middle(cycle) - sc_core::sc_time_stamp().value()));
      }
      reply = std::to_string(clock.Containing(sc_core::sc_time_stamp().value()));
    };
  });
  RdmaSystemOptions options;
  options.open = false;
  auto built = RdmaSystem::Build(options);
  ASSERT_NE(built.system, nullptr) << built.error;
  RdmaHost& host = built.system->host(0);
  EXPECT_TRUE(built.system->topology().RunUntil([&] { return host.firmware().is_started(); }, 1'000'000'000));
  EXPECT_EQ(inside, std::to_string(host.station().clock().Containing(built.system->scheduler().now())));
}

}  // namespace
}  // namespace vireo::sim
