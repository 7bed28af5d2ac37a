// SPDX-License-Identifier: Apache-2.0
// Access to memory that the device reads and writes at the same time, and the ordering rules of virtqueues. Each rule
// has a function of its own, named by its use: at the place of use it says why something is ordered, not how.
//
// The functions order for a real device on a coherent bus, not only for another processor (feature order_platform). On
// x86 all but the two store-before-load rules are free: they only keep the compiler in order.
//
//   driver                                            device
//   write descriptors and ring entry
//   OrderChainBeforePublish
//   write index (packed: flags of the head)  ------>  read index, then entry and descriptors
//   OrderPublishBeforeNotifyCheck
//   read "does the device want a doorbell?"  <------  write it, then look once more for work
//
//   read used index (packed: flags)          <------  write data, used entry, then index
//   OrderUsedBeforeEntry
//   read entry and data
//
//   write "interrupt me"                     ------>  after writing the used index, read it
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

// The device must not see the published index or flags before what they publish: it would follow an old descriptor.
inline void OrderChainBeforePublish() { detail::StoreBarrier(); }

// The published index must be out before we read whether the device wants a doorbell. Else both sides could miss each
// other: the device, about to sleep, sees no work; we, reading too early, see that it is awake.
inline void OrderPublishBeforeNotifyCheck() { detail::FullBarrier(); }

// The used entry and the data must be read after the index or flags that announce them: before, they may be old.
inline void OrderUsedBeforeEntry() { detail::LoadBarrier(); }

// The request for interrupts must be out before we look for used buffers a last time. Else a buffer used in between
// would neither be seen by us nor interrupt.
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
