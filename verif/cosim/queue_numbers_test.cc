// SPDX-License-Identifier: Apache-2.0
// The virtqueue numbers of CQs and QPs depend on the accepted features: after all net queue pairs with feature mq,
// after the first one without. [virtio 1.3, 5.1.2] Both must carry an RDMA WRITE, and a device must follow a change of
// the driver. The number of MSI-X vectors depends on the configuration only.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <tuple>

#include "sim/common/seed.h"
#include "sim/topology/rdma_system.h"
#include "verif/cosim/every_device.h"

namespace vireo::sim {
namespace {

constexpr uint64_t kMillisecond = 1'000'000;
constexpr Picoseconds kArrival = 20'000 * kPicosecondsPerNanosecond;

host::FeatureSet WithoutMq() { return host::DefaultFeatures() - host::FeatureSet{spec::NetFeature::kMq}; }

class QueueNumbers : public testing::TestWithParam<EveryDevice> {
 protected:
  void Build(const host::FeatureSet& wanted) {
    auto built = RdmaSystem::Build(
        {.device = std::get<0>(GetParam()), .config = std::get<1>(GetParam()), .driver = {.wanted = wanted}});
    ASSERT_NE(built.system, nullptr) << built.error;
    system_ = std::move(built.system);
  }
  void TearDown() override {
    if (system_ == nullptr) return;
    EXPECT_TRUE(system_->topology().RunUntilQuiet(system_->scheduler().now() +
                                                  1000 * kMillisecond * kPicosecondsPerNanosecond));
    EXPECT_EQ(system_->Violations(), "");
  }
  // More than a send queue has records, in both directions.
  void ExpectWritesWork(bool mq) {
    for (size_t i = 0; i < 2; ++i) {
      host::VirtioNetDevice& net = system_->host(i).device().net();
      ASSERT_EQ(net.features().Has(spec::NetFeature::kMq), mq);
      const uint32_t pairs = mq ? std::get<1>(GetParam())->net_queue_pairs : 1;
      const auto index = net.SendQueueIndex(3);
      ASSERT_TRUE(index.ok());
      EXPECT_EQ(*index, 2 * pairs + std::get<1>(GetParam())->num_cqs + spec::kRdmaTransmitqOffset + 2 * 3);
    }
    std::string error;
    const auto pair = MakeConnectedPair(system_->host(0), system_->host(1), {}, &error);
    ASSERT_NE(pair, nullptr) << error;
    auto random = MakeRandom("queue_numbers");
    for (uint64_t i = 0; i < 40; ++i) {
      const size_t from = i % 2;
      auto& near = pair->side.at(from);
      auto& far = pair->side.at(1 - from);
      uint8_t* data = near.memory->data() + 64 * i;
      for (size_t k = 0; k < 64; ++k) data[k] = static_cast<uint8_t>(random());
      const spec::RdmaSge sge = near.region->Sge(64 * i, 64);
      ASSERT_TRUE(near.qp
                      ->PostSend({.wr_id = i,
                                  .opcode = spec::IbWrOpcode::kRdmaWrite,
                                  .sg_list = std::span(&sge, 1),
                                  .remote_addr = far.region->address() + 32768 + 64 * i,
                                  .rkey = far.region->rkey()})
                      .ok());
      const auto completion = near.cq->Wait(system_->host(from).function().NowNs() + kMillisecond);
      ASSERT_TRUE(completion.ok() && completion->has_value()) << "WRITE " << i;
      ASSERT_EQ((*completion)->status, spec::IbWcStatus::kSuccess) << spec::ToString((*completion)->status);
      ASSERT_EQ((*completion)->wr_id, i);
      system_->topology().RunFor(kArrival);
      ASSERT_EQ(std::memcmp(data, far.memory->data() + 32768 + 64 * i, 64), 0) << "WRITE " << i;
    }
  }

  std::unique_ptr<RdmaSystem> system_;
};

TEST_P(QueueNumbers, WritesWorkWithoutMq) {
  ASSERT_NO_FATAL_FAILURE(Build(WithoutMq()));
  ExpectWritesWork(false);
}

TEST_P(QueueNumbers, WritesWorkWhenDriversWithAndWithoutMqAlternate) {
  ASSERT_NO_FATAL_FAILURE(Build(WithoutMq()));
  for (const bool mq : {false, true, false}) {
    for (size_t i = 0; i < 2; ++i) {
      system_->host(i).Close();
      ASSERT_EQ(system_->host(i).Open(mq ? host::DefaultFeatures() : WithoutMq()), "");
    }
    ASSERT_NO_FATAL_FAILURE(ExpectWritesWork(mq));
  }
}

// The function announces num_msix_vectors; no vector behind them can be chosen, and the table ends with them.
TEST_P(QueueNumbers, VectorsAreThoseOfTheConfiguration) {
  ASSERT_NO_FATAL_FAILURE(Build(host::DefaultFeatures()));
  const uint32_t vectors = std::get<1>(GetParam())->num_msix_vectors;
  SimulatedFunction& function = system_->host(0).function();
  EXPECT_EQ(function.MsixVectors(), vectors);
  constexpr uint64_t kConfigVector = spec::kBarVirtioCommonCfg + spec::VirtioPciCommonCfg::kConfigMsixVectorOffset;
  const auto before = function.ReadBar(spec::kBarVirtio, kConfigVector, 2);
  const auto chosen = [&](uint64_t vector) {
    function.WriteBar(spec::kBarVirtio, kConfigVector, 2, vector);
    return function.ReadBar(spec::kBarVirtio, kConfigVector, 2);
  };
  EXPECT_EQ(chosen(vectors - 1), vectors - 1);
  for (const uint32_t none : {vectors, vectors + 1, uint32_t{spec::kMsixVectorsMax}}) {
    EXPECT_EQ(chosen(none), spec::kVirtioMsiNoVector) << none;
  }
  EXPECT_EQ(chosen(before), before);
  const auto data_of = [](uint64_t vector) {
    return spec::kBarMsixTable + vector * spec::MsixTableEntry::kBytes + spec::MsixTableEntry::kMessageDataOffset;
  };
  const auto last = function.ReadBar(spec::kBarMsix, data_of(vectors - 1), 4);
  for (const uint32_t vector : {vectors - 1, vectors}) {
    function.WriteBar(spec::kBarMsix, data_of(vector), 4, 0x12345678);
    EXPECT_EQ(function.ReadBar(spec::kBarMsix, data_of(vector), 4), vector < vectors ? 0x12345678 : 0) << vector;
  }
  function.WriteBar(spec::kBarMsix, data_of(vectors - 1), 4, last);
}

VIREO_ON_EVERY_DEVICE_ONCE(QueueNumbers);

}  // namespace
}  // namespace vireo::sim
