#pragma once
// The exact block step of the sequential dual method, always on the example with the largest
// violation v_i, for Crammer-Singer and Weston-Watkins, hinge loss.
//
// The scores of all examples are stored. A step delta along x_i adds (X x_i) delta^T, a sparse
// product, to them and changes v_i of the examples that share a feature with x_i. W is not needed.
// Given: the examples by row and by feature, all scores, z and v. Returned: the same after some
// steps. Source: Crammer and Singer 2001; Keerthi et al. 2008, sec. 2.2.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>

#include "comparison/kernels.hpp"
#include "data/examples.hpp"
#include "duals/dual_lists.hpp"
#include "simd/isa.hpp"
#include "subproblem/example_subproblem.hpp"
#include "subproblem/scratch.hpp"
#include "subproblem/slacks.hpp"

namespace manyclass::MANYCLASS_ISA {

template <class T>
class MostViolating : public ExampleSubproblem<T> {
 public:
  MostViolating(const Examples<T>& examples, std::int32_t n_classes, const AllScores<T>& all,
                Scratch<T> scratch)
      : ExampleSubproblem<T>(examples, n_classes, scratch), all_(all) {}

  // Sums over the classes of example i, from its scores.
  BlockSummary summarize(std::int64_t i, std::span<const DualEntry<T>> z) {
    constexpr T kNone = -std::numeric_limits<T>::infinity();
    T* s = scratch_.scores;
    std::copy_n(all_.scores + i * all_.stride, all_.stride, s);
    const std::int32_t y = examples_.labels[i];
    const double s_y = static_cast<double>(s[y]);
    std::fill(s + n_classes_, s + all_.stride, kNone);
    s[y] = kNone;
    BlockSummary found = this->begin(s_y, 0.0);
    for (const DualEntry<T>& entry : z) {
      this->add_other(entry, static_cast<double>(s[entry.label]), examples_.costs_of(i), found);
      s[entry.label] = kNone;
    }
    this->add_rest(scratch_.scores, all_.stride, found);
    return found;
  }

  void update_violation(std::int64_t i, const DualLists<T>& z) {
    SweepResult one;
    if (examples_.norms[i] > 0) this->tally(summarize(i, z.row(i)), examples_.costs[i], one);
    all_.violations[i] = one.max_violation;
  }

  // The exact step of example i; returns the gain of D.
  double step_of(std::int64_t i, DualLists<T>& z, const Columns<T>& columns,
                 ProductScratch products) {
    const BlockSummary found = summarize(i, std::as_const(z).row(i));
    const std::span<const Coordinate> block = this->solve(i, found);
    this->keep(block, i, z);
    const BlockStep solved = this->step(i, block);
    const std::int64_t n_listed =
        list_products(examples_.x.row(i), columns, products, examples_.x.n_rows);
    for (std::int64_t p = 0; p < n_listed; ++p) {
      const std::int64_t r = products.rows[p];
      T* s = all_.scores + r * all_.stride;
      for (const Step& part : solved.step) {
        s[part.label] += static_cast<T>(products.inner[r] * part.delta);
      }
      products.inner[r] = 0;
      products.is_listed[r] = 0;
    }
    for (std::int64_t p = 0; p < n_listed; ++p) update_violation(products.rows[p], z);
    return solved.gain;
  }

 private:
  // inner = X x; lists the examples that share a feature with x and returns their number.
  static std::int64_t list_products(const Row<T>& row, const Columns<T>& columns,
                                    ProductScratch products, std::int64_t n_rows) {
    std::int64_t n_listed = 0;
    const auto add = [&](std::int64_t r, double product) {
      if (!products.is_listed[r]) {
        products.is_listed[r] = 1;
        products.rows[n_listed++] = static_cast<std::int32_t>(r);
      }
      products.inner[r] += product;
    };
    if (row.bias != 0) {
      const double square = static_cast<double>(row.bias) * static_cast<double>(row.bias);
      for (std::int64_t r = 0; r < n_rows; ++r) add(r, square);
    }
    for (std::int64_t p = 0; p < row.nnz; ++p) {
      const std::int64_t j = row.indices[p];
      const double x = static_cast<double>(row.values[p]);
      for (std::int64_t at = columns.indptr[j]; at < columns.indptr[j + 1]; ++at) {
        add(columns.rows[at], x * static_cast<double>(columns.values[at]));
      }
    }
    return n_listed;
  }

  using ExampleSubproblem<T>::examples_;
  using ExampleSubproblem<T>::n_classes_;
  using ExampleSubproblem<T>::scratch_;
  AllScores<T> all_;
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
                           Scratch<T> scratch, ProductScratch products, std::int64_t n_steps) {
  MostViolating<T> method(examples, n_classes, all, scratch);
  const std::span<const double> v(all.violations, examples.x.n_rows);
  SweepResult result;
  for (std::int64_t step = 0; step < n_steps; ++step) {
    const auto worst = std::max_element(v.begin(), v.end());
    result.max_violation = worst == v.end() ? 0.0 : *worst;
    if (result.max_violation <= 0) break;
    result.dual_gain += method.step_of(worst - v.begin(), z, columns, products);
    ++result.steps;
    result.evaluations += n_classes;
  }
  return result;
}

}  // namespace manyclass::MANYCLASS_ISA
