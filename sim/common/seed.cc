// SPDX-License-Identifier: Apache-2.0
#include "sim/common/seed.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace vireo::sim {
namespace {

uint64_t ChooseSeed() {
  uint64_t seed = 0;
  if (const char* text = std::getenv("VIREO_SEED")) {
    char* end = nullptr;
    errno = 0;
    seed = std::strtoull(text, &end, 0);
    if (errno != 0 || end == text || *end != '\0') {
      std::fprintf(stderr, "VIREO_SEED=%s is not a 64-bit number\n", text);
      std::exit(2);
    }
  } else {
    std::random_device device;
    seed = static_cast<uint64_t>(device()) << 32 | device();
  }
  std::printf("seed: VIREO_SEED=%#llx\n", static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  return seed;
}

}  // namespace

uint64_t Seed() {
  static const uint64_t seed = ChooseSeed();
  return seed;
}

std::mt19937_64 MakeRandom(std::string_view consumer) {
  // FNV-1a over the consumer's name; std::hash differs between libraries and would break "same seed, same run".
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : consumer) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return std::mt19937_64(Seed() ^ hash);
}

}  // namespace vireo::sim
