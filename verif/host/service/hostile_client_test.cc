// SPDX-License-Identifier: Apache-2.0
// A hostile client process of a NIC's service that writes random data into its rings and work requests, and floods
// doorbells, while two others communicate over the same NICs. They are not affected, and when the client is killed all
// its resources are freed. The simulator exits with an error if a NIC accesses memory outside its mappings, or if model
// and RTL differ.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "sim/common/seed.h"
#include "verif/cosim/hostile_program.h"
#include "verif/host/service/service_bench.h"

namespace vireo::sim {
namespace {

// A client's device that records the addresses of its queues.
class WatchedDevice final : public host::RoceDevice {
 public:
  explicit WatchedDevice(std::unique_ptr<service::SharedDevice> base) : base_(std::move(base)) {}

  const spec::ProfileConstants& constants() const override { return base_->constants(); }
  host::RoceCommands& roce() override { return base_->roce(); }
  host::PciFunction& function() override { return base_->function(); }
  host::Result<uint16_t> CompletionQueueIndex(uint32_t cqn) const override { return base_->CompletionQueueIndex(cqn); }
  host::Result<uint16_t> SendQueueIndex(uint32_t qpn) const override { return base_->SendQueueIndex(qpn); }
  host::Result<uint16_t> ReceiveQueueIndex(uint32_t qpn) const override { return base_->ReceiveQueueIndex(qpn); }
  host::Result<uint16_t> MaxQueueSize(uint16_t index) override { return base_->MaxQueueSize(index); }
  host::Result<host::Queue> OpenQueue(uint16_t index, uint16_t size, std::optional<uint16_t> vector,
                                      uint16_t indirect_segments) override {
    auto queue = base_->OpenQueue(index, size, vector, indirect_segments);
    if (!queue.ok()) return queue;
    opened.push_back({.index = index,
                      .addresses = queue->ring->addresses(),
                      .size = size,
                      .bar = queue->doorbell.bar(),
                      .doorbell = queue->doorbell.offset()});
    return queue;
  }
  host::Result<std::vector<host::Token>> StopQueue(host::Queue& queue, bool destroyed) override {
    return base_->StopQueue(queue, destroyed);
  }
  uint16_t vectors() const override { return base_->vectors(); }
  host::Result<std::optional<host::DeviceEvent>> PollEvent() override { return base_->PollEvent(); }
  service::SharedDevice& base() { return *base_; }

  struct Opened {
    uint16_t index = 0;
    host::RingAddresses addresses;
    uint16_t size = 0;
    uint8_t bar = 0;
    uint64_t doorbell = 0;
  };
  std::vector<Opened> opened;

 private:
  std::unique_ptr<service::SharedDevice> base_;
};

// Creates queue pairs one after the other, each connected to itself, and attacks each several times. False: one was
// refused.
bool Attack(const std::string& socket, Pipe& pipe, uint64_t number) {
  constexpr uint64_t kStepsPerLife = 400, kFirstSteps = 1200;
  auto shared = service::SharedDevice::Connect(socket);
  if (!shared.ok()) return false;
  auto watched = std::make_unique<WatchedDevice>(std::move(shared).value());
  WatchedDevice& device = *watched;
  const service::SharedDevice::Info info = device.base().info();
  const auto opened = verbs::Device::Attach(std::move(watched));
  if (!opened.ok()) return false;
  auto pd = (*opened)->CreatePd();
  // Queues and all other memory of a client are one file, so this locates all of it.
  auto memory = device.function().AllocateDma(HostileProgram::kMemoryBytes, 4096);
  if (!pd.ok() || !memory.ok()) return false;
  const auto at = [&](uint64_t address) { return (*memory)->data() + (address - (*memory)->address()); };
  using Access = spec::IbAccessFlags;
  const auto region = (*pd)->Register(**memory, Access::kLocalWrite | Access::kRemoteWrite | Access::kRemoteRead);
  if (!region.ok()) return false;
  auto random = MakeRandom("hostile client " + std::to_string(number));
  // Device addresses start there and keys are small numbers, so those of other clients are close.
  OthersThings others{
      .addresses = {(*memory)->address() - (uint64_t{1} << 30), (*memory)->address() + (uint64_t{1} << 30)},
      .keys = {}};
  for (uint32_t i = 0; i < 64; ++i) others.keys.push_back((*region)->lkey() ^ i << 8);
  HostileProgram program(HostileProgram::Attack::kEverything, others, random);
  for (uint64_t steps = 0;;) {
    device.opened.clear();
    const auto cq = (*opened)->CreateCq(64, std::nullopt);
    if (!cq.ok()) return false;
    auto qp = (*pd)->CreateQp({.send_cq = *cq, .recv_cq = *cq});
    if (!qp.ok() || device.opened.size() != 3) return false;
    verbs::QueuePair::Connection connection{.dest_qpn = (*qp)->qpn(), .timeout = 5, .retry_cnt = 1, .rnr_retry = 1};
    std::ranges::copy(device.base().gids().at(1).gid, connection.path.grh.dgid);
    std::ranges::copy(info.mac, connection.path.dmac);
    connection.path.grh.sgid_index = 1;
    if (!(*qp)->Connect(connection).ok()) return false;
    HostileProgram::Own own{.queues = {},
                            .memory = {(*memory)->data(), (*memory)->size()},
                            .address = (*memory)->address(),
                            .region = (*region)->Sge(0, HostileProgram::kMemoryBytes),
                            .remote_address = (*region)->address(),
                            .remote_key = (*region)->rkey()};
    for (const size_t queue : {1, 2, 0}) {  // the completion queue was opened first
      const WatchedDevice::Opened& one = device.opened.at(queue);
      own.queues.push_back({.ring = {.index = one.index,
                                     .size = one.size,
                                     .packed = false,
                                     .address = one.addresses.descriptors,
                                     .descriptors = at(one.addresses.descriptors),
                                     .available = at(one.addresses.driver),
                                     .used = at(one.addresses.device)},
                            .bar = one.bar,
                            .doorbell = one.doorbell,
                            .is_completion = queue == 0});
    }
    for (uint64_t step = 0; step < kStepsPerLife; ++step) {
      program.Step(own, device.function());
      if (!device.function().health().ok()) return false;
      if (++steps == kFirstSteps && !pipe.Send(0, steps)) return false;
    }
  }
}

class HostileClient : public testing::TestWithParam<const char*> {};

TEST_P(HostileClient, DoesNotAffectOtherClients) {
  SimulatorProcess simulator({"--device", GetParam()});
  ASSERT_TRUE(simulator.is_ready());
  Pipe started;
  ClientProcess first([&] { return Attack(simulator.socket(0), started, 0); });
  ClientProcess second([&] { return Attack(simulator.socket(1), started, 1); });
  started.Close(0);
  uint64_t steps = 0;
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(started.Receive(1, steps)) << "a hostile client was refused";
  for (int i = 0; i < 2; ++i) {
    Pipe pipe;
    ClientProcess passive([&] { return ServeTraffic(simulator.socket(0), pipe, false); });
    ClientProcess active([&] { return TalkTraffic(simulator.socket(1), pipe, false); });
    for (size_t end = 0; end < 2; ++end) pipe.Close(end);
    EXPECT_TRUE(active.Succeeds());
    EXPECT_TRUE(passive.Succeeds());
    first.Kill();  // in the middle of an attack
    second.Kill();
  }
  EXPECT_EQ(simulator.Stop(), 0);
}

INSTANTIATE_TEST_SUITE_P(Devices, HostileClient, testing::Values("model", "rtl", "lockstep"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace vireo::sim
