// SPDX-License-Identifier: Apache-2.0
// The SystemC module from outside: valid and invalid accesses of its sockets, their latency, and no events while idle.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "verif/platform/platform_bench.h"

namespace vireo::sim {
namespace {

using platform::VireoNic;

constexpr uint64_t kBar0 = 0x12'3400'0000, kBar2 = 0x7000'0000;

// One NIC, no host, no wire.
class Alone final : public sc_core::sc_module {
 public:
  explicit Alone(const sc_core::sc_module_name& name, const VireoNic::Options& options = {})
      : sc_core::sc_module(name), nic("nic", options), sink("sink") {
    config.bind(nic.config_socket);
    memory.bind(nic.memory_socket);
    nic.dma_socket.bind(sink);
    sink.register_b_transport(this, &Alone::Refuse);
  }

  Answer Config(const Access& access) { return Do(config, access); }
  Answer Memory(const Access& access) { return Do(memory, access); }
  void Enable(bool enable = true) {
    const auto put = [&](uint64_t offset, uint64_t value, unsigned bytes = 4) {
      const Answer answer =
          Config({.command = tlm::TLM_WRITE_COMMAND, .address = offset, .bytes = bytes, .value = value});
      EXPECT_EQ(answer.status, tlm::TLM_OK_RESPONSE);
    };
    put(spec::PciHeader::kBaseAddressOffset, static_cast<uint32_t>(kBar0));
    put(spec::PciHeader::kBaseAddressOffset + 4, kBar0 >> 32);
    put(spec::PciHeader::kBaseAddressOffset + 8, static_cast<uint32_t>(kBar2));
    put(spec::PciHeader::kBaseAddressOffset + 12, kBar2 >> 32);
    put(spec::PciHeader::kCommandOffset, enable ? uint64_t{spec::PciCommand::kMemorySpace} : 0, 2);
  }

  tlm_utils::simple_initiator_socket<Alone> config{"config"}, memory{"memory"};
  VireoNic nic;
  tlm_utils::simple_target_socket<Alone> sink;

 private:
  void Refuse(tlm::tlm_generic_payload& transaction, sc_core::sc_time&) {
    transaction.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
  }
};

// A platform with one NIC and a program on it.
void WithOne(const std::function<void(Alone&)>& body, const VireoNic::Options& options = {}) {
  Simulate([&] {
    const auto alone = std::make_shared<Alone>("alone", options);
    return [alone, &body](std::string&) { body(*alone); };
  });
}

uint64_t CommonCfg(size_t offset) { return kBar0 + spec::kBarVirtioCommonCfg + offset; }

TEST(VireoNic, ShowsItsConfigurationSpace) {
  WithOne([](Alone& alone) {
    EXPECT_EQ(alone.Config({.address = 0}).value, uint32_t{spec::kPciVendorId} | uint32_t{spec::kPciDeviceId} << 16);
    EXPECT_EQ(alone.Config({.address = spec::PciHeader::kDeviceIdOffset, .bytes = 2}).value, spec::kPciDeviceId);
    EXPECT_EQ(alone.Config({.address = spec::PciHeader::kDeviceIdOffset + 1, .bytes = 1}).value,
              spec::kPciDeviceId >> 8);
    const Answer last = alone.Config({.address = spec::kPcieConfigBytes - 4});
    EXPECT_EQ(last.status, tlm::TLM_OK_RESPONSE);
    EXPECT_EQ(last.value, 0u);
    // Sizing of BAR 0.
    const Access ones{
        .command = tlm::TLM_WRITE_COMMAND, .address = spec::PciHeader::kBaseAddressOffset, .value = ~uint32_t{0}};
    EXPECT_EQ(alone.Config(ones).status, tlm::TLM_OK_RESPONSE);
    EXPECT_EQ(alone.Config({.address = ones.address}).value & ~uint64_t{0xf},
              static_cast<uint32_t>(~(uint64_t{spec::kBarVirtioBytes} - 1)));
  });
}

TEST(VireoNic, GivesDebuggersConfigurationSpaceAndNothingWithSideEffects) {
  WithOne([](Alone& alone) {
    std::array<uint8_t, 64> header{};
    tlm::tlm_generic_payload transaction;
    transaction.set_read();
    transaction.set_address(0);
    transaction.set_data_ptr(header.data());
    transaction.set_data_length(header.size());
    EXPECT_EQ(alone.config->transport_dbg(transaction), header.size());
    EXPECT_EQ(header[0] | header[1] << 8, spec::kPciVendorId);
    transaction.set_address(spec::kPcieConfigBytes - 8);
    EXPECT_EQ(alone.config->transport_dbg(transaction), 0u);
    alone.Enable();
    transaction.set_address(kBar0);
    EXPECT_EQ(alone.memory->transport_dbg(transaction), 0u);
    tlm::tlm_dmi dmi;
    EXPECT_FALSE(alone.memory->get_direct_mem_ptr(transaction, dmi));
  });
}

TEST(VireoNic, RefusesBadConfigurationAccessesAndStaysAsItWas) {
  WithOne([](Alone& alone) {
    alone.Enable();
    const auto image = [&] {
      std::vector<uint64_t> words;
      for (uint64_t at = 0; at < spec::kPciConfigBytes; at += 4) {
        // Reading the window's data is an access to a BAR.
        if (at < spec::kPciCapAtPciCfg || at >= spec::kPciCapAtPciCfg + spec::VirtioPciCfgCap::kBytes) {
          words.push_back(alone.Config({.address = at}).value);
        }
      }
      return words;
    };
    const auto before = image();
    uint64_t refused = 0;
    for (const tlm::tlm_command command : {tlm::TLM_READ_COMMAND, tlm::TLM_WRITE_COMMAND}) {
      const auto expect = [&](Access access, tlm::tlm_response_status status) {
        access.command = command;
        access.value = 0x5555'5555;
        EXPECT_EQ(alone.Config(access).status, status) << access.address << " " << access.bytes;
        EXPECT_EQ(alone.nic.counters().refused_accesses, ++refused);
      };
      expect({.address = spec::kPcieConfigBytes}, tlm::TLM_ADDRESS_ERROR_RESPONSE);
      expect({.address = uint64_t{1} << 32}, tlm::TLM_ADDRESS_ERROR_RESPONSE);
      expect({.address = 4, .bytes = 0}, tlm::TLM_BURST_ERROR_RESPONSE);
      expect({.address = 4, .bytes = 3}, tlm::TLM_BURST_ERROR_RESPONSE);
      expect({.address = 8, .bytes = 8}, tlm::TLM_BURST_ERROR_RESPONSE);
      expect({.address = 6, .bytes = 4}, tlm::TLM_BURST_ERROR_RESPONSE);
      expect({.address = 5, .bytes = 2}, tlm::TLM_BURST_ERROR_RESPONSE);
      expect({.address = 4, .bytes = 4, .streaming_width = 2}, tlm::TLM_BURST_ERROR_RESPONSE);
      expect({.address = 4, .has_byte_enables = true}, tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE);
    }
    EXPECT_EQ(alone.Config({.command = tlm::TLM_IGNORE_COMMAND}).status, tlm::TLM_COMMAND_ERROR_RESPONSE);
    EXPECT_EQ(image(), before);
  });
}

TEST(VireoNic, ClaimsItsBarsByBusAddressOnceMemorySpaceIsEnabled) {
  WithOne([](Alone& alone) {
    const Access access{.address = CommonCfg(spec::VirtioPciCommonCfg::kNumQueuesOffset), .bytes = 2};
    alone.Enable(false);
    Answer answer = alone.Memory(access);
    EXPECT_EQ(answer.status, tlm::TLM_ADDRESS_ERROR_RESPONSE);
    EXPECT_EQ(answer.value, 0xffffu);  // like a bus without a responder
    alone.Enable();
    answer = alone.Memory(access);
    EXPECT_EQ(answer.status, tlm::TLM_OK_RESPONSE);
    EXPECT_NE(answer.value, 0u);
    EXPECT_NE(answer.value, 0xffffu);
    // An MSI-X entry through BAR 2: written in words, read as a double word.
    while (!alone.nic.IsIdle()) sc_core::wait(sc_core::sc_time(1, sc_core::SC_US));
    const uint64_t entry = kBar2 + spec::kBarMsixTable + 3 * spec::MsixTableEntry::kBytes;
    alone.Memory({.command = tlm::TLM_WRITE_COMMAND, .address = entry, .value = 0xfee0'1230});
    alone.Memory({.command = tlm::TLM_WRITE_COMMAND, .address = entry + 4, .value = 0x77});
    EXPECT_EQ(alone.Memory({.address = entry, .bytes = 8}).value, 0x77'fee0'1230u);
    // The last bytes of a BAR belong to it, the next one does not.
    for (const auto& [base, size] :
         {std::pair{kBar0, uint64_t{spec::kBarVirtioBytes}}, std::pair{kBar2, uint64_t{spec::kBarMsixBytes}}}) {
      EXPECT_EQ(alone.Memory({.address = base + size - 4}).status, tlm::TLM_OK_RESPONSE);
      EXPECT_EQ(alone.Memory({.address = base + size}).status, tlm::TLM_ADDRESS_ERROR_RESPONSE);
      EXPECT_EQ(alone.Memory({.address = base - 4}).status, tlm::TLM_ADDRESS_ERROR_RESPONSE);
    }
  });
}

TEST(VireoNic, RefusesBadMemoryAccessesWithoutTellingTheDevice) {
  WithOne([](Alone& alone) {
    alone.Enable();
    while (!alone.nic.IsIdle()) sc_core::wait(sc_core::sc_time(1, sc_core::SC_US));
    const uint64_t cycles = alone.nic.run_cycles();
    const uint64_t at = CommonCfg(0);
    uint64_t refused = 0;
    for (const tlm::tlm_command command : {tlm::TLM_READ_COMMAND, tlm::TLM_WRITE_COMMAND}) {
      const auto expect = [&](Access access, tlm::tlm_response_status status) {
        access.command = command;
        EXPECT_EQ(alone.Memory(access).status, status) << access.address << " " << access.bytes;
        EXPECT_EQ(alone.nic.counters().refused_accesses, ++refused);
      };
      expect({.address = 0}, tlm::TLM_ADDRESS_ERROR_RESPONSE);
      expect({.address = ~uint64_t{7}, .bytes = 8}, tlm::TLM_ADDRESS_ERROR_RESPONSE);
      expect({.address = at, .bytes = 0}, tlm::TLM_BURST_ERROR_RESPONSE);
      expect({.address = at, .bytes = 3}, tlm::TLM_BURST_ERROR_RESPONSE);
      expect({.address = at, .bytes = 16}, tlm::TLM_BURST_ERROR_RESPONSE);
      expect({.address = at + 4, .bytes = 8}, tlm::TLM_BURST_ERROR_RESPONSE);
      expect({.address = at, .bytes = 4, .streaming_width = 1}, tlm::TLM_BURST_ERROR_RESPONSE);
      expect({.address = at, .has_byte_enables = true}, tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE);
    }
    EXPECT_EQ(alone.Memory({.command = tlm::TLM_IGNORE_COMMAND, .address = at}).status,
              tlm::TLM_COMMAND_ERROR_RESPONSE);
    EXPECT_EQ(alone.nic.run_cycles(), cycles);
  });
}

TEST(VireoNic, ServesTheWindowOfConfigurationSpace) {
  WithOne([](Alone& alone) {
    alone.Enable();
    while (!alone.nic.IsIdle()) sc_core::wait(sc_core::sc_time(1, sc_core::SC_US));
    const uint64_t cap = spec::kPciCapAtPciCfg;
    const auto choose = [&](uint64_t bar, uint64_t offset, uint64_t length) {
      const auto put = [&](uint64_t field, unsigned bytes, uint64_t value) {
        alone.Config({.command = tlm::TLM_WRITE_COMMAND, .address = cap + field, .bytes = bytes, .value = value});
      };
      put(spec::VirtioPciCap::kBarOffset, 1, bar);
      put(spec::VirtioPciCap::kOffsetOffset, 4, offset);
      put(spec::VirtioPciCap::kLengthOffset, 4, length);
    };
    const uint64_t data = cap + spec::VirtioPciCfgCap::kPciCfgDataOffset;
    const size_t queues = spec::VirtioPciCommonCfg::kNumQueuesOffset;
    const uint64_t expected = alone.Memory({.address = CommonCfg(queues), .bytes = 2}).value;
    choose(spec::kBarVirtio, queues, 2);
    EXPECT_EQ(alone.Config({.address = data, .bytes = 2}).value, expected);
    EXPECT_EQ(alone.Config({.address = data + 1, .bytes = 1}).value, expected >> 8);
    const size_t select = spec::VirtioPciCommonCfg::kQueueSelectOffset;
    choose(spec::kBarVirtio, select, 2);
    alone.Config({.command = tlm::TLM_WRITE_COMMAND, .address = data, .bytes = 2, .value = 3});
    EXPECT_EQ(alone.Memory({.address = CommonCfg(select), .bytes = 2}).value, 3u);
    for (const uint64_t length : {0, 3, 8}) {
      choose(spec::kBarVirtio, select, length);
      EXPECT_EQ(alone.Config({.address = data}).value, 0u) << length;
    }
    choose(1, select, 2);  // no such BAR
    EXPECT_EQ(alone.Config({.address = data}).value, 0u);
    choose(spec::kBarVirtio, spec::kBarVirtioBytes, 2);
    EXPECT_EQ(alone.Config({.address = data}).value, 0u);
  });
}

TEST(VireoNic, AnswersAReadInTheCyclesOfTheCoreAndAWriteInOne) {
  WithOne([](Alone& alone) {
    const model::CoreClock clock(spec::kNic100.core_clock_khz);
    alone.Enable();
    sc_core::wait(sc_core::sc_time::from_value(clock.Begin(kResetCycles)));
    const auto cycles = [&](const Access& access) {
      // At the start of a cycle: an input of that cycle.
      const auto begin = clock.AtOrAfter(sc_core::sc_time_stamp().value()) + 5;
      sc_core::wait(sc_core::sc_time::from_value(clock.Begin(begin) - sc_core::sc_time_stamp().value()));
      EXPECT_EQ(alone.Memory(access).status, tlm::TLM_OK_RESPONSE);
      return clock.Containing(sc_core::sc_time_stamp().value()) - begin;
    };
    EXPECT_EQ(cycles({.address = CommonCfg(0)}), spec::kBarReadLatency);
    EXPECT_EQ(cycles({.command = tlm::TLM_WRITE_COMMAND, .address = CommonCfg(0)}), 0u);
  });
}

TEST(VireoNic, BringsItsInitiatorToItsOwnTimeFirst) {
  WithOne([](Alone& alone) {
    alone.Enable();
    const sc_core::sc_time ahead(1, sc_core::SC_US);
    const sc_core::sc_time before = sc_core::sc_time_stamp();
    Answer answer = alone.Memory({.address = CommonCfg(0), .delay = ahead});
    EXPECT_EQ(answer.delay, sc_core::SC_ZERO_TIME);
    EXPECT_GT(sc_core::sc_time_stamp(), before + ahead);
    EXPECT_LT(sc_core::sc_time_stamp(), before + ahead + sc_core::sc_time(100, sc_core::SC_NS));
    answer = alone.Config({.address = 0, .delay = ahead});
    EXPECT_EQ(answer.delay, sc_core::SC_ZERO_TIME);
  });
}

TEST(VireoNic, CostsNothingWhenIdle) {
  const ChildResult child = RunInChild([]() -> std::optional<std::string> {
    const Alone alone("alone");
    EXPECT_FALSE(alone.nic.IsIdle());
    EXPECT_FALSE(alone.nic.is_ready());
    sc_core::sc_start();  // until nothing is pending
    EXPECT_TRUE(alone.nic.is_ready());
    EXPECT_TRUE(alone.nic.IsIdle());
    const uint64_t cycles = alone.nic.run_cycles();
    EXPECT_GT(cycles, 0u);
    sc_core::sc_start(sc_core::sc_time(1000, sc_core::SC_SEC));
    EXPECT_EQ(alone.nic.run_cycles(), cycles);
    EXPECT_FALSE(sc_core::sc_pending_activity());
    return testing::Test::HasFailure() ? std::nullopt : std::optional<std::string>("ok");
  });
  EXPECT_TRUE(child.ok) << child.error;
}

TEST(VireoNic, DropsFramesThatCannotBeOnes) {
  WithOne([](Alone& alone) {
    while (!alone.nic.IsIdle()) sc_core::wait(sc_core::sc_time(1, sc_core::SC_US));
    const uint64_t cycles = alone.nic.run_cycles();
    alone.nic.frame_in->TakeFrame({});
    alone.nic.frame_in->TakeFrame({.bytes = std::vector<uint8_t>(spec::kNic100.max_frame_bytes + 1)});
    sc_core::wait(sc_core::sc_time(10, sc_core::SC_US));
    EXPECT_EQ(alone.nic.counters().dropped_frames, 2u);
    EXPECT_EQ(alone.nic.counters().received_frames, 0u);
    EXPECT_EQ(alone.nic.run_cycles(), cycles);
    // The device drops well-formed frames of unknown protocols; several at once queue up.
    for (int i = 0; i < 10; ++i) {
      alone.nic.frame_in->TakeFrame({.bytes = std::vector<uint8_t>(spec::kNic100.max_frame_bytes), .bad_fcs = i == 3});
    }
    sc_core::wait(sc_core::sc_time(100, sc_core::SC_US));
    EXPECT_EQ(alone.nic.counters().received_frames, 10u);
    EXPECT_TRUE(alone.nic.IsIdle());
  });
}

TEST(VireoNic, WithUnusableOptionsIsNotBuilt) {
  for (const bool small_buffer : {false, true}) {
    VireoNic::Options options;
    if (small_buffer) {
      options.write_buffer_bytes = 4095;
    } else {
      options.access_cycles = 0;
    }
    const ChildResult child = RunInChild([&]() -> std::optional<std::string> {
      sc_core::sc_report_handler::set_actions(sc_core::SC_FATAL, sc_core::SC_THROW);
      try {
        const Alone alone("alone", options);
      } catch (const sc_core::sc_report& report) {
        return report.get_msg();
      }
      return std::nullopt;
    });
    EXPECT_NE(child.reply.find("too small"), std::string::npos) << child.reply << child.error;
  }
}

}  // namespace
}  // namespace vireo::sim
