// SPDX-License-Identifier: Apache-2.0
// What tests of reliable connections between two hosts start from: every device, configuration and kind of ring, a pair
// of connected queue pairs, random memory. At the end nothing is under way and no seam has a complaint.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "verif/cosim/rdma_system.h"
#include "verif/harness/seed.h"

namespace vireo::verif {

inline constexpr uint64_t kSecondNs = 1'000'000'000;
// By when the slowest device has written to memory what its acknowledge told of.
inline constexpr Picoseconds kArrivalTime = 20'000 * kPicosecondsPerNanosecond;

class RcTest : public testing::TestWithParam<std::tuple<std::string, const spec::Config*, bool>> {
 protected:
  // `options` but for device, configuration and rings.
  void Build(RdmaSystemOptions options = {}) {
    options.device = std::get<0>(GetParam());
    options.config = std::get<1>(GetParam());
    const bool packed = std::get<2>(GetParam());
    options.wanted = packed ? host::DefaultFeatures() : SplitRings();
    auto built = RdmaSystem::Build(options);
    ASSERT_NE(built.system, nullptr) << built.error;
    system_ = std::move(built.system);
    for (size_t i = 0; i < 2; ++i) {
      ASSERT_EQ(system_->host(i).device().net().features().Has(spec::VirtioFeature::kRingPacked), packed);
    }
  }
  void TearDown() override {
    pair_.reset();
    if (system_ == nullptr) return;
    EXPECT_TRUE(system_->topology().RunUntilQuiet(system_->scheduler().now() + kSecondNs * kPicosecondsPerNanosecond));
    EXPECT_EQ(system_->Complaints(), "");
  }
  void Connect(const RcPairOptions& options = {}) {
    std::string error;
    pair_ = MakeRcPair(system_->host(0), system_->host(1), options, &error);
    ASSERT_NE(pair_, nullptr) << error;
    auto random = MakeRandom("rc_test");
    for (auto& side : pair_->side) {
      for (size_t i = 0; i < side.memory->size(); ++i) side.memory->data()[i] = static_cast<uint8_t>(random());
    }
  }
  const spec::Config& config() const { return *std::get<1>(GetParam()); }
  RcPair::Side& near() { return pair_->side[0]; }
  RcPair::Side& far() { return pair_->side[1]; }

  // The next completion of a side; a failure of the test if none comes in time.
  std::optional<spec::RdmaCqReq> Next(size_t side, uint64_t patience_ns = kSecondNs / 1000) {
    auto completion = pair_->side.at(side).cq->Wait(system_->host(side).function().NowNs() + patience_ns);
    if (!completion.ok() || !completion->has_value()) {
      ADD_FAILURE() << "no completion at host " << side;
      return std::nullopt;
    }
    return **completion;
  }
  void ExpectNext(size_t side, uint64_t wr_id, spec::IbWcStatus status, uint64_t patience_ns = kSecondNs / 1000) {
    const auto completion = Next(side, patience_ns);
    if (!completion.has_value()) return;
    EXPECT_EQ(completion->wr_id, wr_id);
    EXPECT_EQ(completion->status, status) << spec::ToString(completion->status);
    EXPECT_EQ(completion->qp_num, pair_->side.at(side).qp->qpn());
  }
  // That nothing comes for a while.
  void ExpectNone(size_t side, uint64_t ns = 50'000) {
    auto completion = pair_->side.at(side).cq->Wait(system_->host(side).function().NowNs() + ns);
    ASSERT_TRUE(completion.ok());
    EXPECT_FALSE(completion->has_value());
  }
  void PostRecv(size_t side, uint64_t wr_id, std::vector<spec::RdmaSge> elements) {
    const verbs::Status posted = pair_->side.at(side).qp->PostRecv({.wr_id = wr_id, .sg_list = elements});
    EXPECT_TRUE(posted.ok()) << host::ToString(posted.error());
  }
  void PostSend(const verbs::SendRequest& request) {
    const verbs::Status posted = near().qp->PostSend(request);
    EXPECT_TRUE(posted.ok()) << host::ToString(posted.error());
  }

  std::unique_ptr<RdmaSystem> system_;
  std::unique_ptr<RcPair> pair_;
};

inline std::string NameOf(const testing::TestParamInfo<RcTest::ParamType>& info) {
  return std::get<0>(info.param) + "_" + std::get<1>(info.param)->name +
         (std::get<2>(info.param) ? "_packed" : "_split");
}
#define VIREO_ON_EVERY_DEVICE(Suite)                                                                         \
  INSTANTIATE_TEST_SUITE_P(Devices, Suite,                                                                   \
                           testing::Combine(testing::Values("model", "rtl", "lockstep"),                     \
                                            testing::Values(&spec::kNic100, &spec::kNic1), testing::Bool()), \
                           NameOf)

}  // namespace vireo::verif
