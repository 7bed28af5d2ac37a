// SPDX-License-Identifier: Apache-2.0
// main() of test programs that link SystemC. libgtest_main would do, but libsystemc has a main() too, and which of two
// libraries wins depends on their order at link time; an object file always wins.
#include <gtest/gtest.h>

// The library's main() calls it. It is never called here, but with sanitizers the linker needs a definition, also in
// programs without the scheduler, which defines it.
extern "C" [[gnu::weak]] int sc_main(int /*argc*/, char* /*argv*/[]);
extern "C" [[gnu::weak]] int sc_main(int /*argc*/, char* /*argv*/[]) { return 0; }

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
