#pragma once
// W of a pair of class blocks in hash tables, one set per block: a block is sent without the other.
#include <cstdint>
#include <utility>
#include <vector>

#include "simd/compensated_sum.hpp"
#include "weights/hash_tables.hpp"

namespace manyclass {

template <class T>
class PairTables {
 public:
  PairTables(std::int64_t n_rows, std::int32_t width, std::size_t dense_from)
      : slots_{{n_rows, width, dense_from}, {n_rows, width, dense_from}} {}

  PairTables(const PairTables&) = delete;
  PairTables& operator=(const PairTables&) = delete;

  std::int64_t n_rows() const { return slots_[0].n_rows(); }
  std::int32_t width() const { return slots_[0].n_classes(); }
  HashTables<T>& slot(int s) { return slots_[s]; }
  const HashTables<T>& slot(int s) const { return slots_[s]; }

  void clear() {
    for (HashTables<T>& slot : slots_) slot.clear();
  }
  double squared_norm() const {
    CompensatedSum sum;
    for (const HashTables<T>& slot : slots_) slot.add_squares(sum);
    return sum.value();
  }
  // The last row's weights that are not 0, in any order.
  std::vector<T> intercepts() const {
    std::vector<T> found;
    for (const HashTables<T>& slot : slots_) {
      slot.for_each(n_rows() - 1, [&](std::uint32_t, T weight) { found.push_back(weight); });
    }
    return found;
  }
  std::int64_t n_slots() const { return slots_[0].n_slots() + slots_[1].n_slots(); }
  std::int64_t n_bytes() const { return slots_[0].n_bytes() + slots_[1].n_bytes(); }

 private:
  HashTables<T> slots_[2];
};

}  // namespace manyclass
