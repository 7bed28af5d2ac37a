// SPDX-License-Identifier: Apache-2.0
// Additions to libFuzzer's main(): a failed expectation aborts the program, as libFuzzer requires, and `--write-seeds
// FOLDER` writes the target's seeds into an existing folder and exits.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

#include "verif/fuzz/target.h"

// Referenced by SystemC libraries, but never called: see systemc_test_main.cc.
extern "C" [[gnu::weak]] int sc_main(int /*argc*/, char* /*argv*/[]);
extern "C" [[gnu::weak]] int sc_main(int /*argc*/, char* /*argv*/[]) { return 0; }

namespace vireo::sim {
namespace {

class AbortAtFailure final : public testing::EmptyTestEventListener {
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.failed()) return;
    std::fprintf(stderr, "%s:%d: %s\n", result.file_name() == nullptr ? "?" : result.file_name(), result.line_number(),
                 result.message());
    std::abort();
  }
};

int WriteSeeds(const std::string& folder) {
  size_t number = 0;
  for (const Bytes& seed : Seeds()) {
    const std::string path = folder + "/seed-" + std::to_string(number++);
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(seed.data()), static_cast<std::streamsize>(seed.size()));
    if (!file.flush()) {
      std::fprintf(stderr, "cannot write %s\n", path.c_str());
      return 1;
    }
  }
  return 0;
}

}  // namespace
}  // namespace vireo::sim

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv);
extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  int gtest_argc = 1;
  testing::InitGoogleTest(&gtest_argc, *argv);
  auto& listeners = testing::UnitTest::GetInstance()->listeners();
  delete listeners.Release(listeners.default_result_printer());
  listeners.Append(new vireo::sim::AbortAtFailure);
  if (*argc == 3 && std::string_view((*argv)[1]) == "--write-seeds") std::exit(vireo::sim::WriteSeeds((*argv)[2]));
  return 0;
}
