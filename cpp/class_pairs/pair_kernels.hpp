#pragma once
// The table of the kernels of class-partitioned training, and their arguments. A class block is a
// subset of the classes, with the examples of these classes.
#include <cstdint>
#include <span>

#include "certificate/gap_sums.hpp"
#include "data/examples.hpp"
#include "duals/dual_lists.hpp"
#include "subproblem/entering_classes.hpp"
#include "subproblem/scratch.hpp"
#include "weights/hash_tables.hpp"
#include "weights/weights_view.hpp"

namespace manyclass {

// W of a pair of class blocks, next to each other: slot s has the columns
// [s width, s width + n_classes[s]); the columns between the slots are zero. Labels of examples and
// of z are column numbers, or kElsewhere for the examples of other class blocks.
template <class T>
struct PairView {
  WeightsView<T> w;  // with 2 width columns
  std::int32_t width;
  std::int32_t n_classes[2];
  // Whether a full sweep also scores all classes of an example's own block. Otherwise it scores
  // only the own classes with z > 0, and excludes them from its sums.
  bool own_too = true;
};

// A pair with W in tables, one for each slot.
template <class T>
struct TablePairView {
  HashTables<T>* slots[2];  // with `width` classes each
  std::int32_t width;
  std::int32_t n_classes[2];
  bool own_too;
  Scored<T>* best;  // room for 2 width entries
};

// Slacks of the examples over some classes (Crammer-Singer), n numbers each.
struct SlackSurvey {
  double* largest;   // xi_ic of the classes c != y_i
  double* smallest;  // the smallest xi_ic with z_ic > 0
  double* z_dot_xi;  // sum_c z_ic xi_ic
};

// `View` is PairView or TablePairView.
template <class T, class View>
struct PairKernels {
  using Sweep = SweepResult (*)(const Examples<T>&, const View&, DualLists<T>&, Scratch<T>,
                                std::span<const std::int32_t> order, double min_gap,
                                std::int32_t* active);
  Sweep full_sweep;    // examples of the two class blocks, over all classes of the other block, or
                       // of both blocks
  Sweep shrunk_sweep;  // over the non-zero z of each example, if that is cheaper
  // Write w_y . x of the examples of the two class blocks to their positions in `out`.
  void (*own_scores)(const Examples<T>&, const View&, std::span<const std::int32_t> rows,
                     double* out);
  // Gap, loss and violation of examples of any class block over the classes of these two, given
  // w_y . x of all examples; changes nothing.
  GapSums (*inspect)(const Examples<T>&, const View&, const double* own_scores, const DualLists<T>&,
                     const CertifiedWeights&, Scratch<T>, std::int64_t begin, std::int64_t end);
  // Crammer-Singer (class_pairs/crammer_singer.hpp).
  SweepResult (*trade)(const Examples<T>&, const View&, DualLists<T>& shares, Scratch<T>,
                       std::span<const std::int32_t> order, const std::uint8_t* scored,
                       std::int32_t* active);
  void (*survey)(const Examples<T>&, const View&, const double* own_scores, const DualLists<T>&,
                 Scratch<T>, std::int64_t begin, std::int64_t end, SlackSurvey);
};

}  // namespace manyclass
