#pragma once
// Fingerprints of rows: 128 bits of the content of each, by which it is known again in other data,
// wherever it stands there. Zeros do not count, so that a row has one fingerprint dense and sparse,
// in float and double where both hold its numbers, and with columns of zeros appended.
//
// Fingerprints are sums of a function of every column and number, modulo 2^64 twice. Two rows that
// differ agree by chance, in one of 2^128 pairs.
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

  [[gnu::always_inline]] void add(std::int32_t column, double value) {
    // A step of the counter of SplitMix64 for each column, two finalizers with other constants.
    const std::uint64_t place = (static_cast<std::uint64_t>(column) + 1) * 0x9e3779b97f4a7c15u;
    const auto bits = std::bit_cast<std::uint64_t>(value);
    first += finished(bits + place, 0xbf58476d1ce4e5b9u, 0x94d049bb133111ebu);
    second += finished(std::rotl(bits, 31) ^ place, 0xff51afd7ed558ccdu, 0xc4ceb9fe1a85ec53u);
  }
  bool operator==(const RowPrint&) const = default;

 private:
  [[gnu::always_inline]] static std::uint64_t finished(std::uint64_t bits, std::uint64_t by,
                                                       std::uint64_t then) {
    bits = (bits ^ (bits >> 32)) * by;
    bits = (bits ^ (bits >> 29)) * then;
    return bits ^ (bits >> 32);
  }
};

// The fingerprints of all rows, from `n_threads` threads.
template <class T>
std::vector<std::uint64_t> row_prints(const Csr<T>& x, int n_threads) {
  constexpr std::int64_t kRowsOfThread = 1024;  // fewer are not worth a thread
  std::vector<std::uint64_t> prints(2 * x.n_rows);
  const auto most = static_cast<int>(1 + x.n_rows / kRowsOfThread);
  ThreadTeam team(std::min(n_threads, most));
  team.run([&](int member) {
    const std::int64_t begin = x.n_rows * member / team.size();
    const std::int64_t end = x.n_rows * (member + 1) / team.size();
    for (std::int64_t i = begin; i < end; ++i) {
      const Row<T> row = x.row(i);
      RowPrint print;
      for (std::int64_t p = 0; p < row.nnz; ++p) {
        if (row.values[p] != 0) print.add(row.indices[p], static_cast<double>(row.values[p]));
      }
      prints[2 * i] = print.first;
      prints[2 * i + 1] = print.second;
    }
  });
  return prints;
}

// For each row after, one of the rows before with the same fingerprint, or -1. Of equal rows, the
// first one goes with the first one, and so on: each row before is given once.
inline std::vector<std::int32_t> match_prints(std::span<const std::uint64_t> before,
                                              std::span<const std::uint64_t> after) {
  const auto at = [](std::span<const std::uint64_t> prints, std::size_t i) {
    return RowPrint{prints[2 * i], prints[2 * i + 1]};
  };
  const std::size_t n_before = before.size() / 2, n_after = after.size() / 2;
  // A hash table of fingerprints, with linear probing: the first row of each that is left.
  std::vector<std::int32_t> slots(std::bit_ceil(2 * n_before + 1), -1), next(n_before, -1);
  const auto slot_of = [&](const RowPrint& print) {
    std::size_t slot = print.first & (slots.size() - 1);
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
  // Rows that were given stay in the table, as other fingerprints may lie behind theirs.
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
