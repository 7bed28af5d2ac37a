// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "verif/repo/layering.h"

namespace vireo::verif {
namespace {

std::vector<std::string> ErrorsOf(const std::string& path, const std::string& text) {
  return FindLayeringErrors({{"rtl/rdma/vireo_rdma_pkg.sv", ""}, {"spec/gen/vireo_spec_pkg.sv", ""}, {path, text}});
}

TEST(Layering, NoForbiddenDependencies) {
  const auto sources = ReadSources(VIREO_SOURCE_DIR);
  ASSERT_GT(sources.size(), 10u) << "the sources were not found";
  for (const auto& error : FindLayeringErrors(sources)) ADD_FAILURE() << error;
}

TEST(Layering, RefusesAnIncludeAgainstTheDirection) {
  EXPECT_EQ(ErrorsOf("model/rdma/a.cc", "\n#include \"verif/harness/pcap.h\"\n"),
            std::vector<std::string>{"model/rdma/a.cc:2: model must not depend on verif (verif/harness/pcap.h)"});
  EXPECT_EQ(ErrorsOf("host/driver/a.cc", "#include \"model/rdma/icrc.h\"").size(), 1u);
  EXPECT_EQ(ErrorsOf("firmware/app/a.cc", "#include \"host/driver/a.h\"").size(), 1u);
  EXPECT_EQ(ErrorsOf("fpga/boards/x/top.sv", "`include \"verif/sva/a.svh\"").size(), 1u);
  EXPECT_EQ(ErrorsOf("spec/gen/a.h", "#include \"model/rdma/icrc.h\"").size(), 1u);
  EXPECT_EQ(ErrorsOf("platform/a.cc", "#include \"host/verbs/device.h\"").size(), 1u);
  EXPECT_EQ(ErrorsOf("platform/a.cc", "#include \"verif/harness/nic.h\"").size(), 1u);
  EXPECT_EQ(ErrorsOf("model/a.cc", "#include \"platform/vireo_nic.h\"").size(), 1u);
  EXPECT_EQ(ErrorsOf("examples/vp/a.cc", "#include \"verif/harness/nic.h\"").size(), 1u);
}

TEST(Layering, RefusesAnImportAgainstTheDirection) {
  EXPECT_EQ(ErrorsOf("spec/gen/a.sv", "  import vireo_rdma_pkg::*;").size(), 1u);
  EXPECT_EQ(ErrorsOf("rtl/eth/a.sv", "  import vireo_rdma_pkg::*;").size(), 0u);
}

TEST(Layering, RefusesAPathThatDoesNotStartAtTheRoot) {
  EXPECT_EQ(ErrorsOf("model/rdma/a.cc", "#include \"icrc.h\"").size(), 1u);
}

TEST(Layering, AllowsPermittedDependencies) {
  EXPECT_EQ(ErrorsOf("model/rdma/a.cc", "#include \"spec/gen/vireo_spec.h\"\n#include \"model/rdma/icrc.h\"\n").size(),
            0u);
  EXPECT_EQ(ErrorsOf("verif/rdma/a.cc", "#include \"model/rdma/icrc.h\"\n#include \"Vrx_parser_64.h\"\n").size(), 0u);
}

}  // namespace
}  // namespace vireo::verif
