// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "verif/repo/layering.h"

namespace vireo::verif {
namespace {

std::vector<std::string> ErrorsOf(const std::string& path, const std::string& text) {
  return FindLayeringErrors({{"rtl/rdma/vireo_rdma_pkg.sv", ""}, {"spec/gen/vireo_spec_pkg.sv", ""}, {path, text}});
}

TEST(Layering, NoFolderSeesWhatItMayNot) {
  const auto sources = ReadSources(VIREO_SOURCE_DIR);
  ASSERT_GT(sources.size(), 10u) << "the sources were not found";
  for (const auto& error : FindLayeringErrors(sources)) ADD_FAILURE() << error;
}

TEST(Layering, RefusesAnIncludeAgainstTheDirection) {
  EXPECT_EQ(ErrorsOf("model/rdma/a.cc", "\n#include \"sim/common/pcap.h\"\n"),
            std::vector<std::string>{"model/rdma/a.cc:2: model must not depend on sim/common (sim/common/pcap.h)"});
  EXPECT_EQ(ErrorsOf("host/driver/a.cc", "#include \"model/rdma/icrc.h\"").size(), 1u);
  EXPECT_EQ(ErrorsOf("firmware/app/a.cc", "#include \"host/driver/a.h\"").size(), 1u);
  EXPECT_EQ(ErrorsOf("fpga/boards/x/top.sv", "`include \"verif/sva/a.svh\"").size(), 1u);
  EXPECT_EQ(ErrorsOf("spec/gen/a.h", "#include \"model/rdma/icrc.h\"").size(), 1u);
  EXPECT_EQ(ErrorsOf("platform/a.cc", "#include \"host/verbs/device.h\"").size(), 1u);
  EXPECT_EQ(ErrorsOf("platform/a.cc", "#include \"sim/topology/topology.h\"").size(), 1u);
  EXPECT_EQ(ErrorsOf("platform/a.cc", "#include \"sim/topology/firmware_runner.h\"").size(), 0u);
  EXPECT_EQ(ErrorsOf("model/a.cc", "#include \"platform/vireo_nic.h\"").size(), 1u);
  EXPECT_EQ(ErrorsOf("examples/vp/a.cc", "#include \"sim/nic/nic.h\"").size(), 1u);
}

TEST(Layering, RefusesAnIncludeAgainstTheInnerOrder) {
  EXPECT_EQ(
      ErrorsOf("host/driver/a.cc", "#include \"host/verbs/device.h\""),
      std::vector<std::string>{"host/driver/a.cc:1: host/driver must not depend on host/verbs (host/verbs/device.h)"});
  EXPECT_EQ(ErrorsOf("host/verbs/a.cc", "#include \"host/service/cm/cm.h\"").size(), 1u);
  EXPECT_EQ(ErrorsOf("host/ibverbs/a.cc", "#include \"host/service/cm/cm.h\"").size(), 0u);
  EXPECT_EQ(ErrorsOf("sim/nic/a.cc", "#include \"sim/device/model_nic.h\"").size(), 1u);
  EXPECT_EQ(ErrorsOf("sim/device/a.cc", "#include \"sim/nic/nic.h\"").size(), 0u);
  EXPECT_EQ(ErrorsOf("sim/wire/a.cc", "#include \"host/driver/device.h\"").size(), 1u);
  EXPECT_EQ(ErrorsOf("sim/bench/a.cc", "#include \"verif/cosim/tenants.h\"").size(), 1u);
  EXPECT_EQ(ErrorsOf("verif/a.cc", "#include \"sim/bench/bench.h\"").size(), 0u);
}

TEST(Layering, RefusesAFolderInNoLayer) { EXPECT_EQ(ErrorsOf("sim/attic/a.cc", "").size(), 1u); }

TEST(Layering, RefusesAnImportAgainstTheDirection) {
  EXPECT_EQ(ErrorsOf("spec/gen/a.sv", "  import vireo_rdma_pkg::*;").size(), 1u);
  EXPECT_EQ(ErrorsOf("rtl/eth/a.sv", "  import vireo_rdma_pkg::*;").size(), 0u);
}

TEST(Layering, RefusesAPathThatDoesNotStartAtTheRoot) {
  EXPECT_EQ(ErrorsOf("model/rdma/a.cc", "#include \"icrc.h\"").size(), 1u);
}

TEST(Layering, AllowsTheDirection) {
  EXPECT_EQ(ErrorsOf("model/rdma/a.cc", "#include \"spec/gen/vireo_spec.h\"\n#include \"model/rdma/icrc.h\"\n").size(),
            0u);
  EXPECT_EQ(ErrorsOf("verif/rdma/a.cc", "#include \"model/rdma/icrc.h\"\n#include \"Vrx_parser_64.h\"\n").size(), 0u);
}

}  // namespace
}  // namespace vireo::verif
