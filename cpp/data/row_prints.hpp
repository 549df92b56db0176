#pragma once
// Fingerprints of rows: 128 bits of the content of each row, which identify the row at any position
// of other data. Zeros do not count. A row therefore has the same fingerprint dense and sparse, in
// float and double if both represent its numbers, and with columns of zeros appended.
//
// Fingerprints are sums of a function of every column and number, modulo 2^128. Two different
// rows have equal fingerprints by chance in one of 2^128 pairs.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "data/examples.hpp"
#include "threads/thread_team.hpp"

namespace manyclass {

struct RowPrint {
  std::uint64_t first = 0, second = 0;

  bool operator==(const RowPrint&) const = default;
};

// The sum over the non-zero numbers of a row.
class RowSum {
 public:
  // A step of SplitMix64.
  [[gnu::always_inline]] static std::uint64_t key_of(std::int64_t column) {
    std::uint64_t key = (static_cast<std::uint64_t>(column) + 1) * 0x9e3779b97f4a7c15u;
    key = (key ^ (key >> 30)) * 0xbf58476d1ce4e5b9u;
    key = (key ^ (key >> 27)) * 0x94d049bb133111ebu;
    return key ^ (key >> 31);
  }

  // All 128 bits of one product of the number and the key, each in both factors.
  [[gnu::always_inline]] void add(std::uint64_t key, double value) {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    const auto product = static_cast<Wide>(bits ^ key) * (std::rotl(bits, 31) + key);
    sum_ += value != 0 ? product : 0;
  }

  RowPrint print() const {
    return {static_cast<std::uint64_t>(sum_), static_cast<std::uint64_t>(sum_ >> 64)};
  }

 private:
  __extension__ using Wide = unsigned __int128;
  Wide sum_ = 0;
};

// The fingerprints of all rows, computed by `n_threads` threads.
template <class T>
std::vector<std::uint64_t> row_prints(const Csr<T>& x, int n_threads) {
  constexpr std::int64_t kRowsOfThread = 1024;  // one thread is faster for fewer rows
  std::vector<std::uint64_t> prints(2 * x.n_rows);
  const bool has_table = x.n_features <= x.indptr[x.n_rows] - x.indptr[0];
  std::vector<std::uint64_t> keys(has_table ? x.n_features : 0);
  for (std::size_t j = 0; j < keys.size(); ++j) keys[j] = RowSum::key_of(j);
  const auto most = static_cast<int>(1 + x.n_rows / kRowsOfThread);
  ThreadTeam team(std::min(n_threads, most));
  team.run([&](int member) {
    const std::int64_t begin = x.n_rows * member / team.size();
    const std::int64_t end = x.n_rows * (member + 1) / team.size();
    for (std::int64_t i = begin; i < end; ++i) {
      const Row<T> row = x.row(i);
      RowSum sum;
      for (std::int64_t p = 0; p < row.nnz; ++p) {
        const std::int64_t column = x.is_dense ? p : row.indices[p];
        const std::uint64_t key = has_table ? keys[column] : RowSum::key_of(column);
        sum.add(key, static_cast<double>(row.values[p]));
      }
      const RowPrint print = sum.print();
      prints[2 * i] = print.first;
      prints[2 * i + 1] = print.second;
    }
  });
  return prints;
}

// For each row after, a row before with the same fingerprint, or -1. Equal rows are matched in
// order: the first one with the first one, and so on. Each row before is matched at most once.
inline std::vector<std::int32_t> match_prints(std::span<const std::uint64_t> before,
                                              std::span<const std::uint64_t> after) {
  const auto at = [](std::span<const std::uint64_t> prints, std::size_t i) {
    return RowPrint{prints[2 * i], prints[2 * i + 1]};
  };
  const std::size_t n_before = before.size() / 2, n_after = after.size() / 2;
  // A hash table of fingerprints, with linear probing: the first unmatched row of each.
  std::vector<std::int32_t> slots(std::bit_ceil(2 * n_before + 1), -1), next(n_before, -1);
  const auto slot_of = [&](const RowPrint& print) {
    std::size_t slot = print.second & (slots.size() - 1);
    while (slots[slot] >= 0 && at(before, slots[slot]) != print) {
      slot = (slot + 1) & (slots.size() - 1);
    }
    return slot;
  };
  for (std::size_t i = n_before; i-- > 0;) {
    std::int32_t& head = slots[slot_of(at(before, i))];
    next[i] = head;
    head = static_cast<std::int32_t>(i);
  }
  // Matched rows stay in the table because linear probing may need to pass them.
  std::vector<std::int32_t> given(n_before, -1), found(n_after, -1);
  for (std::size_t i = 0; i < n_after; ++i) {
    const std::int32_t head = slots[slot_of(at(after, i))];
    if (head < 0) continue;
    const std::int32_t last = given[head];
    const std::int32_t row = last == -1 ? head : next[last];
    if (row < 0) continue;
    found[i] = given[head] = row;
  }
  return found;
}

}  // namespace manyclass
