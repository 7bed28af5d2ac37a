// SPDX-License-Identifier: Apache-2.0
// SystemC's library contains a main() that needs this symbol; these tests have their own main() and need it only to
// link.
#include <cstdio>

#include "platform/systemc.h"

int sc_main(int, char**) {
  std::fprintf(stderr, "This program has a main() of its own.\n");
  return 2;
}
