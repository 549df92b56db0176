// The memory and the growth of hash tables.
#include "weights/hash_tables.hpp"

#include <algorithm>
#include <bit>
#include <new>

#include "data/examples.hpp"
#include "weights/dense_weights.hpp"

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace manyclass {
namespace {

// A new chunk is as large as all previous chunks, within these limits. The C library returns chunks
// of the largest size to the system; it keeps smaller chunks.
constexpr std::int64_t kSmallestChunk = std::int64_t{1} << 21;
constexpr std::int64_t kLargestChunk = std::int64_t{1} << 26;
constexpr std::align_val_t kPage{std::size_t{1} << 21};
constexpr std::size_t kBlockBytes = 64;

// Capacities 2, 3, 4, 6, 8, 12, ...: two for each power of two. Small tables fill up; larger tables
// keep a quarter vacant, so that searches are short.
constexpr std::uint32_t kFullUpTo = 8;

int size_class_of(std::uint32_t capacity) {
  const int log = std::bit_width(capacity) - 1;
  return 2 * log + (std::has_single_bit(capacity) ? 0 : 1);
}

std::uint32_t capacity_after(std::uint32_t capacity) {
  if (capacity == 0) return 2;
  return std::has_single_bit(capacity) ? capacity + capacity / 2 : capacity / 3 * 4;
}

bool is_full(std::uint32_t size, std::uint32_t capacity) {
  return size >= (capacity <= kFullUpTo ? capacity : capacity - capacity / 4);
}

constexpr int kDenseClass = Arena::kSizeClasses - 1;

}  // namespace

void Arena::Free::operator()(std::byte* p) const { ::operator delete(p, kPage); }

void* Arena::take(std::size_t n_bytes, int size_class) {
  auto& free = free_[size_class];
  if (!free.empty()) {
    void* block = free.back();
    free.pop_back();
    return block;
  }
  if (n_bytes >= kBlockBytes) {  // whole cache lines, aligned to a cache line
    const std::size_t skip = left_ % kBlockBytes;
    next_ += skip;
    left_ -= skip;
    n_bytes = (n_bytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
  }
  if (left_ < n_bytes) {
    const auto usual = std::clamp(n_bytes_, kSmallestChunk, kLargestChunk);
    const auto wanted = std::max<std::size_t>(usual, n_bytes);
    chunks_.emplace_back(static_cast<std::byte*>(::operator new(wanted, kPage)));
#ifdef MADV_HUGEPAGE
    madvise(chunks_.back().get(), wanted, MADV_HUGEPAGE);  // fewer pages to look up; may fail
#endif
    next_ = chunks_.back().get();
    left_ = wanted;
    n_bytes_ += static_cast<std::int64_t>(wanted);
  }
  void* block = next_;
  next_ += n_bytes;
  left_ -= n_bytes;
  return block;
}

void Arena::clear() {
  chunks_.clear();
  for (auto& free : free_) free.clear();
  next_ = nullptr;
  left_ = 0;
  n_bytes_ = 0;
}

template <class T>
T* HashTables<T>::insert(std::int64_t j, std::uint32_t label) {
  Row& row = rows_[j];
  if (is_full(row.size, row.capacity)) grow(row);
  if (row.is_dense()) return row.weights() + label;
  WeightEntry<T>* entries = static_cast<WeightEntry<T>*>(row.data);
  std::uint32_t slot = home(label, row.capacity);
  while (!(entries[slot].label & kVacant)) slot = slot + 1 == row.capacity ? 0 : slot + 1;
  entries[slot] = {label, 0};
  ++row.size;
  return &entries[slot].weight;
}

template <class T>
WeightEntry<T>* HashTables<T>::new_table(std::uint32_t capacity) {
  auto* entries = static_cast<WeightEntry<T>*>(
      arena_.take(capacity * sizeof(WeightEntry<T>), size_class_of(capacity)));
  const auto n = static_cast<std::uint64_t>(n_classes_);
  for (std::uint32_t slot = 0; slot < capacity; ++slot) {
    entries[slot] = {kVacant | static_cast<std::uint32_t>(slot * n / capacity), 0};
  }
  return entries;
}

template <class T>
void HashTables<T>::reserve(std::int64_t j, std::size_t n) {
  std::uint32_t capacity = 0;
  while (capacity < stride() && n > 0 && is_full(static_cast<std::uint32_t>(n - 1), capacity)) {
    capacity = capacity_after(capacity);
  }
  if (capacity > 0) grow_to(rows_[j], capacity);
}

template <class T>
void HashTables<T>::drop(std::int64_t j) {
  Row& row = rows_[j];
  give_back(row);
  row = {};
}

template <class T>
void HashTables<T>::give_back(const Row& row) {
  if (row.data)
    arena_.give_back(row.data, row.is_dense() ? kDenseClass : size_class_of(row.capacity));
}

template <class T>
void HashTables<T>::grow(Row& row) {
  grow_to(row, capacity_after(row.capacity));
}

template <class T>
void HashTables<T>::grow_to(Row& row, std::uint32_t capacity) {
  if (capacity * dense_from_ >= stride()) return to_dense(row);
  WeightEntry<T>* entries = new_table(capacity);
  for (const WeightEntry<T>& entry : row.entries()) {
    if (entry.label & kVacant) continue;
    std::uint32_t slot = home(entry.label, capacity);
    while (!(entries[slot].label & kVacant)) slot = slot + 1 == capacity ? 0 : slot + 1;
    entries[slot] = entry;
  }
  give_back(row);
  row.data = entries;
  row.capacity = capacity;
}

template <class T>
void HashTables<T>::to_dense(Row& row) {
  T* weights = static_cast<T*>(arena_.take(stride() * sizeof(T), kDenseClass));
  std::fill_n(weights, stride(), T{0});
  for (const WeightEntry<T>& entry : row.entries()) {
    if (!(entry.label & kVacant)) weights[entry.label] = entry.weight;
  }
  give_back(row);
  row = {weights, static_cast<std::uint32_t>(n_classes_), kDense};
}

template <class T>
void HashTables<T>::clear() {
  std::fill(rows_.begin(), rows_.end(), Row{});
  arena_.clear();
}

template <class T>
std::int64_t HashTables<T>::n_slots() const {
  std::int64_t total = 0;
  for (const Row& row : rows_) total += row.is_dense() ? n_classes_ : row.capacity;
  return total;
}

template <class T>
std::int64_t HashTables<T>::n_bytes() const {
  return arena_.n_bytes() + n_rows() * static_cast<std::int64_t>(sizeof(Row));
}

template <class T>
void HashTables<T>::add_squares(CompensatedSum& sum) const {
  for (std::int64_t j = 0; j < n_rows(); ++j) {
    double row = 0;
    for_each(j, [&](std::uint32_t, T weight) {
      row += static_cast<double>(weight) * static_cast<double>(weight);
    });
    sum.add(row);
  }
}

template class HashTables<float>;
template class HashTables<double>;

}  // namespace manyclass
