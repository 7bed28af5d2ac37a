// SPDX-License-Identifier: Apache-2.0
// A queue in contiguous memory that is kept: std::deque allocates and frees memory all the time while entries pass
// through it. Slots of entries that have left keep their resources until they are reused.
#pragma once

#include <cassert>
#include <cstddef>
#include <iterator>
#include <type_traits>
#include <utility>
#include <vector>

namespace vireo::model {

template <typename T>
class Ring {
 public:
  template <typename R, typename V>
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using pointer = V*;
    using reference = V&;
    Iterator() = default;
    Iterator(R* ring, size_t index) : ring_(ring), index_(index) {}
    V& operator*() const { return (*ring_)[index_]; }
    V* operator->() const { return &(*ring_)[index_]; }
    Iterator& operator++() {
      ++index_;
      return *this;
    }
    Iterator operator++(int) { return {ring_, index_++}; }
    bool operator==(const Iterator&) const = default;

   private:
    R* ring_ = nullptr;
    size_t index_ = 0;
  };

  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }
  T& operator[](size_t index) { return slots_[(first_ + index) & mask_]; }
  const T& operator[](size_t index) const { return slots_[(first_ + index) & mask_]; }
  // Throws if there is none, as std::deque does.
  T& at(size_t index) { return slots_.at(index < size_ ? (first_ + index) & mask_ : slots_.size()); }
  T& front() { return slots_[first_]; }
  const T& front() const { return slots_[first_]; }
  T& back() { return (*this)[size_ - 1]; }
  const T& back() const { return (*this)[size_ - 1]; }
  auto begin() { return Iterator<Ring, T>(this, 0); }
  auto end() { return Iterator<Ring, T>(this, size_); }
  auto begin() const { return Iterator<const Ring, const T>(this, 0); }
  auto end() const { return Iterator<const Ring, const T>(this, size_); }

  // Appends a slot with its previous contents, so that the caller can reuse its memory.
  T& Extend() {
    if (size_ > mask_ || slots_.empty()) Grow();
    return (*this)[size_++];
  }
  // `value` must not be an element of the queue.
  void push_back(const T& value) { Extend() = value; }
  void push_back(T&& value) { Extend() = std::move(value); }
  void pop_front() {
    assert(size_ != 0);
    first_ = (first_ + 1) & mask_;
    --size_;
  }
  void clear() { first_ = size_ = 0; }

 private:
  static constexpr size_t kFirstSlots = 4;

  void Grow() {
    std::vector<T> slots(slots_.empty() ? kFirstSlots : 2 * slots_.size());  // a power of two
    for (size_t i = 0; i < size_; ++i) slots[i] = std::move((*this)[i]);
    slots_ = std::move(slots);
    mask_ = slots_.size() - 1;
    first_ = 0;
  }

  std::vector<T> slots_;
  size_t mask_ = 0;  // index mask: slots less 1. Getting it from the vector would divide by the size of T
  size_t first_ = 0;
  size_t size_ = 0;
  static_assert(!std::is_same_v<T, bool>, "std::vector<bool> has no references to elements");
};

}  // namespace vireo::model
