#pragma once
// The exact block step of the sequential dual method, always on the example with the largest
// violation v_i, for Crammer-Singer and Weston-Watkins, hinge loss.
//
// The scores of all examples are kept; a step delta along x_i changes them by (X x_i) delta^T, one
// sparse product, and the v_i of the examples that share a feature with x_i. W is not needed.
// Given: the examples by row and by feature, all scores, z and v. Returned: the same after some
// steps. Source: Crammer and Singer 2001; Keerthi et al. 2008, sec. 2.2.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "comparison/kernels.hpp"
#include "data/csr.hpp"
#include "data/examples.hpp"
#include "duals/dual_lists.hpp"
#include "simd/isa.hpp"
#include "subproblem/block_summary.hpp"
#include "subproblem/coordinate.hpp"
#include "subproblem/example_subproblem.hpp"

namespace manyclass::MANYCLASS_ISA {

template <class T>
class MostViolating : public ExampleSubproblem<T> {
 public:
  MostViolating(const Examples<T>& examples, std::int32_t n_classes, const AllScores<T>& all,
                Scratch<T> scratch)
      : ExampleSubproblem<T>(examples, n_classes, scratch), all_(all) {}

  // Sums over the classes of example i, from its scores.
  BlockSummary summarise(std::int64_t i, std::span<const DualEntry<T>> z) {
    constexpr T kNone = -std::numeric_limits<T>::infinity();
    T* s = scratch_.scores;
    std::copy_n(all_.scores + i * all_.stride, all_.stride, s);
    const std::int32_t y = examples_.labels[i];
    const double s_y = static_cast<double>(s[y]);
    std::fill(s + n_classes_, s + all_.stride, kNone);
    s[y] = kNone;
    BlockSummary found = this->begin(s_y, 0.0);
    for (const DualEntry<T>& entry : z) {
      this->add_other(entry, static_cast<double>(s[entry.label]), examples_.costs[i], found);
      s[entry.label] = kNone;
    }
    this->add_rest(static_cast<std::size_t>(all_.stride), found);
    return found;
  }

  void update_violation(std::int64_t i, const DualLists<T>& z) {
    SweepResult one;
    if (examples_.norms[i] > 0) this->tally(summarise(i, z.row(i)), examples_.costs[i], one);
    all_.violations[i] = one.max_violation;
  }

  // The exact step of example i; returns the gain of D.
  double step_of(std::int64_t i, DualLists<T>& z, const Columns<T>& columns, double* inner) {
    const BlockSummary found = summarise(i, std::as_const(z).row(i));
    const std::span<const Coordinate> block = this->solve(i, found);
    this->keep(block, i, z);
    const BlockStep solved = this->step(i, block);
    add_products(examples_.x.row(i), columns, inner);
    for (const std::int32_t r : touched_) {
      T* s = all_.scores + r * all_.stride;
      for (const Step& part : solved.step) s[part.label] += static_cast<T>(inner[r] * part.delta);
      inner[r] = 0;
    }
    for (const std::int32_t r : touched_) update_violation(r, z);
    touched_.clear();
    return solved.gain;
  }

 private:
  // inner = X x, and the examples where it may not be 0.
  void add_products(const Row<T>& row, const Columns<T>& columns, double* inner) {
    if (row.bias != 0) {
      const double square = static_cast<double>(row.bias) * static_cast<double>(row.bias);
      for (std::int64_t r = 0; r < examples_.x.n_rows; ++r) add_to(r, square, inner);
    }
    for (std::int64_t p = 0; p < row.nnz; ++p) {
      const std::int64_t j = row.indices[p];
      const double x = static_cast<double>(row.values[p]);
      for (std::int64_t at = columns.indptr[j]; at < columns.indptr[j + 1]; ++at) {
        add_to(columns.rows[at], x * static_cast<double>(columns.values[at]), inner);
      }
    }
  }

  void add_to(std::int64_t r, double product, double* inner) {
    // A sum that comes back to 0 would be listed twice, which does no harm: its products are 0.
    if (inner[r] == 0) touched_.push_back(static_cast<std::int32_t>(r));
    inner[r] += product;
  }

  using ExampleSubproblem<T>::examples_;
  using ExampleSubproblem<T>::n_classes_;
  using ExampleSubproblem<T>::scratch_;
  AllScores<T> all_;
  std::vector<std::int32_t> touched_;
};

template <class T>
void violations(const Examples<T>& examples, std::int32_t n_classes, const AllScores<T>& all,
                const DualLists<T>& z, Scratch<T> scratch, std::int64_t begin, std::int64_t end) {
  MostViolating<T> method(examples, n_classes, all, scratch);
  for (std::int64_t i = begin; i < end; ++i) method.update_violation(i, z);
}

template <class T>
SweepResult most_violating(const Examples<T>& examples, std::int32_t n_classes,
                           const AllScores<T>& all, DualLists<T>& z, const Columns<T>& columns,
                           Scratch<T> scratch, double* inner, std::int64_t n_steps) {
  MostViolating<T> method(examples, n_classes, all, scratch);
  const std::span<const double> v(all.violations, static_cast<std::size_t>(examples.x.n_rows));
  SweepResult result;
  for (std::int64_t step = 0; step < n_steps; ++step) {
    const auto worst = std::max_element(v.begin(), v.end());
    result.max_violation = worst == v.end() ? 0.0 : *worst;
    if (result.max_violation <= 0) break;
    result.dual_gain += method.step_of(worst - v.begin(), z, columns, inner);
    ++result.steps;
    result.evaluations += n_classes;
  }
  return result;
}

}  // namespace manyclass::MANYCLASS_ISA
