// SPDX-License-Identifier: Apache-2.0
// Two hosts with a NIC each, with driver and verbs: traffic on the sockets, its order, and failures of the bus. The
// hosts are those of examples/vp.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "host/verbs/completion_queue.h"
#include "host/verbs/device.h"
#include "host/verbs/protection_domain.h"
#include "host/verbs/queue_pair.h"
#include "verif/platform/platform_bench.h"
#include "vp/host.h"

namespace vireo::sim {
namespace {

using platform::Frame;
using platform::VireoNic;

constexpr size_t kMemoryBytes = 65536;
constexpr uint64_t kTimeoutNs = 2'000'000;
constexpr uint64_t kMessageAddress = 0xfee0'0000;  // of the example's hosts

// A cable with a monitor at one end.
class Tap final : public platform::FrameInterface {
 public:
  explicit Tap(platform::FrameInterface& to) : to_(to) {}
  void TakeFrame(const Frame& frame) override {
    sizes.push_back(frame.bytes.size());
    times.push_back(sc_core::sc_time_stamp().value());
    to_.TakeFrame(frame);
  }
  std::vector<size_t> sizes;
  std::vector<uint64_t> times;  // of the last bits, in ps

 private:
  platform::FrameInterface& to_;
};

std::array<uint8_t, 6> Mac(size_t number) { return {2, 0, 0, 0, 0, static_cast<uint8_t>(number + 1)}; }
std::array<uint8_t, 16> Gid(size_t number) {
  return {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, static_cast<uint8_t>(number + 1)};
}

struct Side {
  Side(size_t side, const spec::Config& config)
      : number(side),
        host(("host" + std::to_string(side)).c_str()),
        bus(("bus" + std::to_string(side)).c_str()),
        nic(("nic" + std::to_string(side)).c_str(), Options(side, config)) {
    host.config_socket.bind(nic.config_socket);
    host.memory_socket.bind(nic.memory_socket);
    nic.dma_socket.bind(bus.from_nic);
    bus.to_host.bind(host.dma_socket);
  }
  static VireoNic::Options Options(size_t side, const spec::Config& config) {
    VireoNic::Options options;
    options.config = &config;
    options.firmware.has_mac = true;
    std::ranges::copy(Mac(side), options.firmware.mac);
    options.firmware.mtu = config.max_path_mtu + 100;
    return options;
  }
  // Returns an error message, empty if none.
  std::string Open() {
    auto opened = verbs::Device::Open(host, {.wanted = host::DefaultFeatures()});
    if (!opened.ok()) return ToString(opened.error());
    device = *opened;
    uint8_t gid[16];
    std::ranges::copy(Gid(number), gid);
    if (!device->AddGid(0, gid).ok()) return "GID";
    auto made_pd = device->CreatePd();
    if (!made_pd.ok()) return "PD";
    pd = *made_pd;
    auto made_cq = device->CreateCq(64, uint16_t{1});
    if (!made_cq.ok()) return ToString(made_cq.error());
    cq = *made_cq;
    auto made_qp = pd->CreateQp({.send_cq = cq, .recv_cq = cq});
    if (!made_qp.ok()) return ToString(made_qp.error());
    qp = *made_qp;
    auto allocated = host.AllocateDma(kMemoryBytes, 4096);
    if (!allocated.ok()) return "memory";
    memory = std::move(allocated).value();
    auto registered = pd->Register(*memory, spec::IbAccessFlags::kLocalWrite | spec::IbAccessFlags::kRemoteWrite);
    if (!registered.ok()) return ToString(registered.error());
    region = *registered;
    return "";
  }
  std::string Connect(const Side& peer) {
    verbs::QueuePair::Connection connection{.dest_qpn = peer.qp->qpn(), .path_mtu = spec::IbMtu::kMtu4096};
    std::ranges::copy(Gid(peer.number), connection.path.grh.dgid);
    std::ranges::copy(Mac(peer.number), connection.path.dmac);
    connection.path.grh.hop_limit = 64;
    const verbs::Status connected = qp->Connect(connection);
    return connected.ok() ? "" : ToString(connected.error());
  }
  void Close() {
    region.reset();
    memory.reset();
    qp.reset();
    cq.reset();
    pd.reset();
    device.reset();
  }

  const size_t number;
  examples::Host host;
  Bus bus;
  VireoNic nic;
  std::shared_ptr<verbs::Device> device;
  std::shared_ptr<verbs::ProtectionDomain> pd;
  std::shared_ptr<verbs::CompletionQueue> cq;
  std::shared_ptr<verbs::QueuePair> qp;
  host::DmaBuffer memory;
  std::shared_ptr<verbs::MemoryRegion> region;
};

class Pair final {
 public:
  explicit Pair(const spec::Config& config) : near(0, config), far(1, config), tap(*far.nic.frame_in.operator->()) {
    near.nic.frame_out.bind(tap);
    far.nic.frame_out.bind(near.nic.frame_in);
  }
  // Called in the program.
  void Open() {
    for (Side* side : {&near, &far}) {
      ASSERT_EQ(side->Open(), "");
      for (size_t i = 0; i < kMemoryBytes; ++i) side->memory->data()[i] = Pattern(side->number, i);
    }
    ASSERT_EQ(near.Connect(far), "");
    ASSERT_EQ(far.Connect(near), "");
  }
  std::optional<spec::RdmaCqReq> Write(uint32_t bytes) {
    const spec::RdmaSge element = near.region->Sge(0, bytes);
    EXPECT_TRUE(near.qp
                    ->PostSend({.wr_id = bytes,
                                .opcode = spec::IbWrOpcode::kRdmaWrite,
                                .sg_list = std::span(&element, 1),
                                .remote_addr = far.region->address(),
                                .rkey = far.region->rkey()})
                    .ok());
    auto completion = near.cq->Wait(near.host.NowNs() + kTimeoutNs);
    EXPECT_TRUE(completion.ok());
    // The acknowledge means that the peer has the data, not that it is already visible in memory.
    sc_core::wait(sc_core::sc_time(20, sc_core::SC_US));
    return completion.ok() ? *completion : std::nullopt;
  }
  bool HasWritten(uint32_t bytes) const {
    for (size_t i = 0; i < kMemoryBytes; ++i) {
      if (far.memory->data()[i] != Pattern(i < bytes ? 0 : 1, i)) return false;
    }
    return true;
  }
  void Close() {
    near.Close();
    far.Close();
    for (const Side* side : {&near, &far}) {
      EXPECT_EQ(side->bus.broken, std::vector<std::string>{});
      EXPECT_EQ(side->nic.counters().refused_accesses, 0u);
    }
  }
  static uint8_t Pattern(size_t side, size_t i) { return static_cast<uint8_t>(3 * i + i / 256 + 77 * side); }

  Side near, far;
  Tap tap;
};

std::string WithTwo(const std::function<void(Pair&, std::string&)>& body, const spec::Config& config = spec::kNic100) {
  return Simulate([&] {
    const auto pair = std::make_shared<Pair>(config);
    return [pair, &body](std::string& reply) {
      pair->Open();
      if (testing::Test::HasFailure()) return;
      body(*pair, reply);
      pair->Close();
    };
  });
}

void ExpectSuccess(const std::optional<spec::RdmaCqReq>& completion) {
  ASSERT_TRUE(completion.has_value());
  EXPECT_EQ(completion->status, spec::IbWcStatus::kSuccess) << spec::ToString(completion->status);
}

TEST(TwoHosts, WriteIntoEachOthersMemoryOnEveryConfiguration) {
  for (const spec::Config* config : {&spec::kNic100, &spec::kNic1}) {
    WithTwo(
        [](Pair& pair, std::string&) {
          for (const uint32_t bytes : {1U, 63U, 4096U, 4097U, 65536U}) {
            ExpectSuccess(pair.Write(bytes));
            EXPECT_TRUE(pair.HasWritten(bytes)) << bytes;
          }
          for (const Side* side : {&pair.near, &pair.far}) {
            EXPECT_EQ(side->nic.counters().failed_reads + side->nic.counters().failed_writes, 0u);
            EXPECT_EQ(side->nic.counters().dropped_frames, 0u);
            EXPECT_GT(side->nic.counters().messages, 0u);
            EXPECT_TRUE(side->nic.IsIdle());
          }
        },
        *config);
  }
}

TEST(TwoHosts, KeepTheBusInOrderWhoeverWaits) {
  for (const bool waits : {false, true}) {
    WithTwo([&](Pair& pair, std::string&) {
      pair.near.bus.waits = pair.far.bus.waits = waits;
      ExpectSuccess(pair.Write(65536));
      EXPECT_TRUE(pair.HasWritten(65536));
      // Reads are concurrent where the target has latency.
      EXPECT_TRUE(!waits || pair.near.bus.most_reads > 8u) << pair.near.bus.most_reads;
      // A message follows the writes that it announces.
      const auto& log = pair.near.bus.write_log;
      EXPECT_NE(std::ranges::find(log, kMessageAddress), log.end());
      EXPECT_NE(log.front(), kMessageAddress);
    });
  }
}

TEST(TwoHosts, SendAtTheRateOfTheLineAndNotFaster) {
  WithTwo([](Pair& pair, std::string&) {
    pair.tap.sizes.clear();
    pair.tap.times.clear();
    ExpectSuccess(pair.Write(65536));
    ASSERT_EQ(pair.tap.sizes.size(), 16u);
    size_t exact = 0;
    for (size_t i = 1; i < pair.tap.times.size(); ++i) {
      // IEEE 802.3: 8 bytes of preamble, 4 of FCS, an interframe gap of 12; at 100 Gb/s a byte takes 80 ps.
      const uint64_t least = (pair.tap.sizes[i] + 24) * 80;
      const uint64_t distance = pair.tap.times[i] - pair.tap.times[i - 1];
      EXPECT_GE(distance, least) << i;
      if (distance == least) ++exact;
    }
    EXPECT_GE(exact, 8u);
  });
}

TEST(TwoHosts, DoTheSameInEveryRun) {
  const auto run = [] {
    return WithTwo([](Pair& pair, std::string& reply) {
      ExpectSuccess(pair.Write(10'000));
      for (const uint64_t time : pair.tap.times) reply += std::to_string(time) + " ";
      reply += sc_core::sc_time_stamp().to_string() + " " + std::to_string(pair.near.nic.run_cycles());
    });
  };
  const std::string first = run();
  EXPECT_GT(first.size(), 20u);
  EXPECT_EQ(first, run());
}

TEST(TwoHosts, APayloadThatTheBusRefusesToReadFailsItsWorkRequestOnly) {
  for (const tlm::tlm_response_status status :
       {tlm::TLM_ADDRESS_ERROR_RESPONSE, tlm::TLM_GENERIC_ERROR_RESPONSE, tlm::TLM_INCOMPLETE_RESPONSE}) {
    WithTwo([&](Pair& pair, std::string&) {
      const uint64_t payload = pair.near.memory->address();
      pair.near.bus.fault = [&](const tlm::tlm_generic_payload& transaction) {
        const bool hits = transaction.is_read() && transaction.get_address() - payload < kMemoryBytes;
        return hits ? std::optional(status) : std::nullopt;
      };
      const auto completion = pair.Write(1000);
      ASSERT_TRUE(completion.has_value());
      EXPECT_NE(completion->status, spec::IbWcStatus::kSuccess);
      EXPECT_TRUE(pair.HasWritten(0));
      EXPECT_GE(pair.near.nic.counters().failed_reads, 1u);
      EXPECT_EQ(pair.near.nic.counters().failed_reads, pair.near.bus.failed);
      // The device continues: a new queue pair works.
      pair.near.bus.fault = {};
      pair.near.qp = *pair.near.pd->CreateQp({.send_cq = pair.near.cq, .recv_cq = pair.near.cq});
      pair.far.qp = *pair.far.pd->CreateQp({.send_cq = pair.far.cq, .recv_cq = pair.far.cq});
      ASSERT_EQ(pair.near.Connect(pair.far), "");
      ASSERT_EQ(pair.far.Connect(pair.near), "");
      ExpectSuccess(pair.Write(1000));
      EXPECT_TRUE(pair.HasWritten(1000));
    });
  }
}

TEST(TwoHosts, AWriteThatTheBusRefusesIsCountedAndUnseenByTheDevice) {
  WithTwo([](Pair& pair, std::string&) {
    const uint64_t target = pair.far.memory->address();
    pair.far.bus.fault = [&](const tlm::tlm_generic_payload& transaction) {
      const bool hits = transaction.is_write() && transaction.get_address() - target < kMemoryBytes;
      return hits ? std::optional(tlm::TLM_ADDRESS_ERROR_RESPONSE) : std::nullopt;
    };
    ExpectSuccess(pair.Write(1000));  // PCI Express writes are posted: no completion
    EXPECT_TRUE(pair.HasWritten(0));
    EXPECT_GT(pair.far.nic.counters().failed_writes, 0u);
    EXPECT_EQ(pair.far.nic.counters().failed_writes, pair.far.bus.failed);
    pair.far.bus.fault = {};
    ExpectSuccess(pair.Write(1000));
    EXPECT_TRUE(pair.HasWritten(1000));
  });
}

TEST(TwoHosts, ALostMessageOnlyCostsTime) {
  WithTwo([](Pair& pair, std::string&) {
    pair.near.bus.fault = [](const tlm::tlm_generic_payload& transaction) {
      const bool hits = transaction.is_write() && transaction.get_address() == kMessageAddress;
      return hits ? std::optional(tlm::TLM_GENERIC_ERROR_RESPONSE) : std::nullopt;
    };
    const auto completion = pair.Write(64);
    EXPECT_TRUE(pair.HasWritten(64));
    EXPECT_GT(pair.near.nic.counters().failed_writes, 0u);
    // It is in the queue, whether the driver polled it at its deadline or not.
    pair.near.bus.fault = {};
    if (!completion) {
      spec::RdmaCqReq late;
      auto count = pair.near.cq->Poll(std::span(&late, 1));
      ASSERT_TRUE(count.ok());
      EXPECT_EQ(*count, 1u);
    }
  });
}

}  // namespace
}  // namespace vireo::sim
