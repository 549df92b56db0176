#pragma once
// The dual variables z as one short list of (class, value) per example: at the optimum, few of the
// n x k variables are non-zero. Lists are stored in blocks of 2, 4, 8, ... up to k entries. A block
// that a list outgrows is reused; only the growing list moves.
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "data/examples.hpp"

namespace manyclass {

template <class T>
struct DualEntry {
  std::int32_t label;  // the class c
  T value;             // z_{i,c} > 0
};

template <class T>
class DualLists {
 public:
  DualLists(std::int64_t n_rows, std::int32_t n_classes, bool /*mean_apart*/ = false)
      : slots_(n_rows), n_classes_(n_classes) {}
  DualLists(const DualLists&) = delete;
  DualLists& operator=(const DualLists&) = delete;

  std::int64_t n_rows() const { return std::ssize(slots_); }
  std::int32_t n_classes() const { return n_classes_; }
  std::span<DualEntry<T>> row(std::int64_t i) {
    Slot& slot = slots_[i];
    return {slot.entries, slot.size};
  }
  std::span<const DualEntry<T>> row(std::int64_t i) const {
    const Slot& slot = slots_[i];
    return {slot.entries, slot.size};
  }
  // Prefetch the location of the list of a row, and later the list.
  [[gnu::always_inline]] void fetch_slot(std::int64_t i) const { __builtin_prefetch(&slots_[i]); }
  [[gnu::always_inline]] void fetch_entries(std::int64_t i) const {
    __builtin_prefetch(slots_[i].entries);
  }
  // Resize row i. Its entries are lost if it had to grow. Threads may resize different rows.
  std::span<DualEntry<T>> resize(std::int64_t i, std::size_t size) {
    Slot& slot = slots_[i];
    if (size > capacity_of(slot)) grow(slot, size);
    slot.size = static_cast<std::uint32_t>(size);
    return {slot.entries, size};
  }

  void set(std::int64_t i, std::span<const DualEntry<T>> entries) {
    std::copy(entries.begin(), entries.end(), resize(i, entries.size()).begin());
  }

  // Call f(c, z_ic) for the z of row i.
  template <class F>
  void each(std::int64_t i, F f) const {
    for (const DualEntry<T>& entry : row(i)) f(entry.label, entry.value);
  }

  std::int64_t count() const;    // entries in all rows
  std::int64_t n_bytes() const;  // allocated memory

 private:
  struct Slot {
    DualEntry<T>* entries = nullptr;
    std::uint32_t size = 0;
    std::uint32_t log_capacity = 0;  // 0: no block yet
  };
  static constexpr int kSizes = 33;
  static constexpr std::size_t kChunk = std::size_t{1} << 16;  // entries that are allocated at once

  // Number of entries of a block: a power of two, or one entry for every class.
  std::size_t block(std::uint32_t log_capacity) const {
    return std::min<std::size_t>(std::size_t{1} << log_capacity, n_classes_);
  }
  std::size_t capacity_of(const Slot& slot) const {
    return slot.entries ? block(slot.log_capacity) : 0;
  }
  void grow(Slot& slot, std::size_t size);
  DualEntry<T>* take(std::uint32_t log_capacity);

  std::vector<Slot> slots_;
  std::int32_t n_classes_;
  std::vector<std::unique_ptr<DualEntry<T>[]>> chunks_;
  std::array<std::vector<DualEntry<T>*>, kSizes> free_;
  DualEntry<T>* next_ = nullptr;
  std::size_t left_ = 0;
  std::int64_t allocated_ = 0;
  std::mutex growing_;
};

}  // namespace manyclass
