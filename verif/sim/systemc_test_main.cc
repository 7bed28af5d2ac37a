// SPDX-License-Identifier: Apache-2.0
// main() of test programs that link SystemC. libgtest_main would do, but libsystemc has a main() too, and which of two
// libraries wins depends on their order at link time; an object file always wins.
#include <gtest/gtest.h>

// What the library's main() would call: nobody does, but with sanitizers the linker wants all of its references, also
// in programs without the scheduler that defines it.
extern "C" [[gnu::weak]] int sc_main(int /*argc*/, char* /*argv*/[]);
extern "C" [[gnu::weak]] int sc_main(int /*argc*/, char* /*argv*/[]) { return 0; }

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
