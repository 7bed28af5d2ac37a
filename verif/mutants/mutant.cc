// SPDX-License-Identifier: Apache-2.0
// Number of the fault that the mutated RTL has in this run: VIREO_MUTANT, or 0 for none. See mutants.py. Its nic1 has
// all features.
#include <cstdlib>

namespace {

[[maybe_unused]] const int kConfiguration = setenv("VIREO_NIC1", "nic1_full", 1);

}  // namespace

extern "C" int vireo_mutant() {
  static const int number = [] {
    const char* text = std::getenv("VIREO_MUTANT");
    return text == nullptr ? 0 : std::atoi(text);
  }();
  return number;
}
