// SPDX-License-Identifier: Apache-2.0
// Library functions that the compiler calls implicitly.
#include <stddef.h>

extern "C" {

void* memset(void* to, int value, size_t count) {
  for (size_t i = 0; i < count; ++i) static_cast<unsigned char*>(to)[i] = static_cast<unsigned char>(value);
  return to;
}

void* memcpy(void* to, const void* from, size_t count) {
  for (size_t i = 0; i < count; ++i) static_cast<unsigned char*>(to)[i] = static_cast<const unsigned char*>(from)[i];
  return to;
}

void* memmove(void* to, const void* from, size_t count) {
  auto* target = static_cast<unsigned char*>(to);
  auto* source = static_cast<const unsigned char*>(from);
  if (target < source) return memcpy(to, from, count);
  while (count-- > 0) target[count] = source[count];
  return to;
}

int memcmp(const void* a, const void* b, size_t count) {
  auto* left = static_cast<const unsigned char*>(a);
  auto* right = static_cast<const unsigned char*>(b);
  for (size_t i = 0; i < count; ++i) {
    if (left[i] != right[i]) return left[i] < right[i] ? -1 : 1;
  }
  return 0;
}

}  // extern "C"
