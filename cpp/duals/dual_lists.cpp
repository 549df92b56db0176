// The memory and the growth of the lists of z.
#include "duals/dual_lists.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <utility>

namespace manyclass {

template <class T>
std::int64_t DualLists<T>::count() const {
  std::int64_t total = 0;
  for (const Slot& slot : slots_) total += slot.size;
  return total;
}

template <class T>
std::int64_t DualLists<T>::n_bytes() const {
  return allocated_ * static_cast<std::int64_t>(sizeof(DualEntry<T>)) +
         n_rows() * static_cast<std::int64_t>(sizeof(Slot));
}

template <class T>
void DualLists<T>::grow(Slot& slot, std::size_t size) {
  if (std::cmp_greater(size, n_classes_)) {
    throw std::length_error("a row of z has more entries than classes");
  }
  const std::lock_guard lock(growing_);
  const auto log_capacity = std::max(1U, static_cast<std::uint32_t>(std::bit_width(size - 1)));
  DualEntry<T>* entries = take(log_capacity);
  if (slot.entries) free_[slot.log_capacity].push_back(slot.entries);
  slot.entries = entries;
  slot.log_capacity = log_capacity;
}

template <class T>
DualEntry<T>* DualLists<T>::take(std::uint32_t log_capacity) {
  auto& free = free_[log_capacity];
  if (!free.empty()) {
    DualEntry<T>* entries = free.back();
    free.pop_back();
    return entries;
  }
  const std::size_t capacity = block(log_capacity);
  if (left_ < capacity) {
    const std::size_t wanted = std::max<std::size_t>(kChunk / capacity, 1) * capacity;
    chunks_.push_back(std::make_unique_for_overwrite<DualEntry<T>[]>(wanted));
    next_ = chunks_.back().get();
    left_ = wanted;
    allocated_ += static_cast<std::int64_t>(wanted);
  }
  DualEntry<T>* entries = next_;
  next_ += capacity;
  left_ -= capacity;
  return entries;
}

template class DualLists<float>;
template class DualLists<double>;

}  // namespace manyclass
