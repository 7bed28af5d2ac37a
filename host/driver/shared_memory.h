// SPDX-License-Identifier: Apache-2.0
// Access to memory that the device reads and writes concurrently, and the memory barriers of virtqueues. Each ordering
// rule is a function, named by its reason and not by the barrier type.
//
// They order accesses for a real device on a coherent bus, not only for another processor (feature order_platform). On
// x86 all but the two store-before-load rules are compiler barriers only.
//
//   driver                                            device
//   write descriptors and ring entry
//   OrderChainBeforePublish
//   write index (packed: flags of the head)  ------>  read index, then entry and descriptors
//   OrderPublishBeforeNotifyCheck
//   read doorbell suppression                <------  write it, then poll the ring once more
//
//   read used index (packed: flags)          <------  write data, used entry, then index
//   OrderUsedBeforeEntry
//   read entry and data
//
//   enable interrupts                        ------>  after writing the used index, read it
//   OrderEnableBeforeRecheck
//   read used index once more
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>

namespace vireo::host {

namespace detail {

inline void StoreBarrier() {
#if defined(__aarch64__)
  __asm__ volatile("dmb oshst" ::: "memory");
#else
  std::atomic_thread_fence(std::memory_order_release);
#endif
}

inline void LoadBarrier() {
#if defined(__aarch64__)
  __asm__ volatile("dmb oshld" ::: "memory");
#else
  std::atomic_thread_fence(std::memory_order_acquire);
#endif
}

inline void FullBarrier() {
#if defined(__aarch64__)
  __asm__ volatile("dmb osh" ::: "memory");
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

constexpr uint16_t LittleEndian(uint16_t value) {
  if constexpr (std::endian::native == std::endian::little) return value;
  return static_cast<uint16_t>(value << 8 | value >> 8);
}
constexpr uint32_t LittleEndian(uint32_t value) {
  if constexpr (std::endian::native == std::endian::little) return value;
  return static_cast<uint32_t>(LittleEndian(static_cast<uint16_t>(value))) << 16 |
         LittleEndian(static_cast<uint16_t>(value >> 16));
}

}  // namespace detail

// The device must not see the published index or flags before the entries that they publish: it would follow a stale
// descriptor.
inline void OrderChainBeforePublish() { detail::StoreBarrier(); }

// The published index must be visible before the driver reads doorbell suppression. Else both sides could miss each
// other: the device, about to sleep, sees no work; the driver, reading too early, sees doorbells suppressed.
inline void OrderPublishBeforeNotifyCheck() { detail::FullBarrier(); }

// The used entry and the data must be read after the index or flags that publish them: before, they may be stale.
inline void OrderUsedBeforeEntry() { detail::LoadBarrier(); }

// The interrupt enable must be visible before the driver polls the used ring a last time. Else a buffer used in between
// would be neither found nor signalled by an interrupt.
inline void OrderEnableBeforeRecheck() { detail::FullBarrier(); }

// One access each, little-endian, atomic; ordered only by the functions above. Pointers are aligned to the size of the
// access.
inline uint16_t LoadShared16(uint8_t* at) {
  return detail::LittleEndian(
      std::atomic_ref<uint16_t>(*reinterpret_cast<uint16_t*>(at)).load(std::memory_order_relaxed));
}
inline uint32_t LoadShared32(uint8_t* at) {
  return detail::LittleEndian(
      std::atomic_ref<uint32_t>(*reinterpret_cast<uint32_t*>(at)).load(std::memory_order_relaxed));
}
inline void StoreShared16(uint8_t* at, uint16_t value) {
  std::atomic_ref<uint16_t>(*reinterpret_cast<uint16_t*>(at))
      .store(detail::LittleEndian(value), std::memory_order_relaxed);
}
inline void StoreShared32(uint8_t* at, uint32_t value) {
  std::atomic_ref<uint32_t>(*reinterpret_cast<uint32_t*>(at))
      .store(detail::LittleEndian(value), std::memory_order_relaxed);
}

}  // namespace vireo::host
