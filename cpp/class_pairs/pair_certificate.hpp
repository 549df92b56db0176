#pragma once
// The contribution of a pair of class blocks to the certificate (certificate/gap.hpp), in double.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "certificate/double_scores.hpp"
#include "certificate/gap.hpp"
#include "certificate/gap_sums.hpp"
#include "class_pairs/pair_kernels.hpp"
#include "data/examples.hpp"
#include "duals/dual_lists.hpp"
#include "simd/isa.hpp"
#include "subproblem/base_rows.hpp"
#include "subproblem/root_finding.hpp"
#include "subproblem/scratch.hpp"
#include "subproblem/slacks.hpp"

namespace manyclass::MANYCLASS_ISA {

// Scores of both class blocks; the columns between the blocks are -inf.
template <class T>
void double_scores(const PairView<T>& pair, const Row<T>& row, double* s) {
  double_scores(pair.w, row, 2 * pair.width, s);
}
template <class T>
void double_scores(const TablePairView<T>& pair, const Row<T>& row, double* s) {
  for (int slot = 0; slot < 2; ++slot) double_scores(*pair.slots[slot], row, s + slot * pair.width);
}
template <class T, class View>
void scores_of_classes(const View& pair, const Row<T>& row, double* s) {
  double_scores(pair, row, s);
  for (int slot = 0; slot < 2; ++slot) {
    double* const scores = s + static_cast<std::ptrdiff_t>(slot) * pair.width;
    std::fill(scores + pair.n_classes[slot], scores + pair.width, -kInfinity);
  }
}

template <class T>
double score_of(const PairView<T>& pair, const Row<T>& row, std::int32_t column) {
  return double_score(pair.w, row, column);
}
template <class T>
double score_of(const TablePairView<T>& pair, const Row<T>& row, std::int32_t column) {
  const std::int32_t slot = column / pair.width;
  return double_score(*pair.slots[slot], row, column - slot * pair.width);
}

template <class T, class View>
void own_scores(const Examples<T>& examples, const View& pair, std::span<const std::int32_t> rows,
                double* out) {
  for (const std::int32_t i : rows) {
    out[i] = score_of(pair, examples.x.row(i), examples.labels[i]);
  }
}

template <class T, class View>
GapSums inspect_pair(const Examples<T>& examples, const View& pair, const double* own_scores,
                     const DualLists<T>& z, const CertifiedWeights& at, Scratch<T> scratch,
                     std::int64_t begin, std::int64_t end) {
  const GapCertificate<T> certify(examples, at);
  double* const s = scratch.exact;
  GapSums result;
  for (std::int64_t i = begin; i < end; ++i) {
    scores_of_classes(pair, examples.x.row(i), s);
    certify.add(i, z, own_scores[i], s, 2 * pair.width, result);
  }
  return result;
}

// Slacks of all examples over the classes of the pair, given w_y . x of all: the largest xi_ic of
// the classes c != y_i, the smallest with z > 0 (-inf and inf if there is no such class), and
// z . xi. z has the classes c != y_i. Changes nothing.
template <class T, class View>
void survey_slacks(const Examples<T>& examples, const View& pair, const double* own_scores,
                   const DualLists<T>& z, Scratch<T> scratch, std::int64_t begin, std::int64_t end,
                   SlackSurvey survey) {
  double* const s = scratch.exact;
  for (std::int64_t i = begin; i < end; ++i) {
    scores_of_classes(pair, examples.x.row(i), s);
    add_base(examples.base, i, 0, 2 * pair.width, s);
    if (examples.labels[i] != kElsewhere) s[examples.labels[i]] = -kInfinity;
    const double offset = Slacks(examples.formulation, own_scores[i], 0).offset();
    survey.largest[i] = offset + largest(s, 2 * pair.width);
    double smallest = kInfinity, z_dot_xi = 0;
    for (const DualEntry<T>& entry : z.row(i)) {
      const double xi = offset + s[entry.label];
      smallest = std::min(smallest, xi);
      z_dot_xi += static_cast<double>(entry.value) * xi;
    }
    survey.smallest[i] = smallest;
    survey.z_dot_xi[i] = z_dot_xi;
  }
}

}  // namespace manyclass::MANYCLASS_ISA
