// SPDX-License-Identifier: Apache-2.0
// main() of test programs that link SystemC. libgtest_main would do, but libsystemc has a main() too, and which of two
// libraries wins depends on their order at link time; an object file always wins.
#include <gtest/gtest.h>

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
