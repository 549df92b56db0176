#pragma once
// The table of the kernels of the methods that the papers compare with: exponentiated gradient,
// cutting plane, most violating example. W is dense, z are lists. Each instruction set has a copy.
#include <cstdint>
#include <span>

#include "data/examples.hpp"
#include "duals/dual_lists.hpp"
#include "subproblem/scratch.hpp"
#include "weights/weights_view.hpp"

namespace manyclass {

// The examples by feature: entry p of feature j, indptr[j] <= p < indptr[j + 1], is example
// rows[p] with value values[p].
template <class T>
struct Columns {
  const std::int64_t* indptr;
  const std::int32_t* rows;
  const T* values;
};

// Data of all examples for the method of the most violating example.
template <class T>
struct AllScores {
  T* scores;            // n x stride, aligned: w_c . x_i
  std::int64_t stride;  // stride of W
  double* violations;   // n: v_i
};

// Memory for X x for one example x: n numbers per array, all zero before and after a step.
struct ProductScratch {
  double* inner;       // x_r . x
  std::int32_t* rows;  // the listed r
  std::uint8_t* is_listed;
};

template <class T>
struct ComparisonKernels {
  // Exponentiated-gradient steps on the examples `order`; `log_u` is n x stride, aligned, `rates`
  // has the step length of every example, `old_u` is scratch of stride numbers, aligned.
  SweepResult (*exponentiated_gradient)(const Examples<T>&, const WeightsView<T>&, T* log_u,
                                        double* rates, Scratch<T>, T* old_u,
                                        std::span<const std::int32_t> order);
  // z of the most violated constraint at W, for rows [begin, end).
  SweepResult (*separate)(const Examples<T>&, const WeightsView<T>&, DualLists<T>&, Scratch<T>,
                          std::int64_t begin, std::int64_t end);
  // w_c . x_i of rows [begin, end), stride numbers each.
  void (*scores)(const Examples<T>&, const WeightsView<T>&, T* out, std::int64_t begin,
                 std::int64_t end);
  // v_i of rows [begin, end), from their scores.
  void (*violations)(const Examples<T>&, std::int32_t n_classes, const AllScores<T>&,
                     const DualLists<T>&, Scratch<T>, std::int64_t begin, std::int64_t end);
  // At most `n_steps` exact visits to the example with the largest v_i.
  SweepResult (*most_violating)(const Examples<T>&, std::int32_t n_classes, const AllScores<T>&,
                                DualLists<T>&, const Columns<T>&, Scratch<T>, ProductScratch,
                                std::int64_t n_steps);
};

}  // namespace manyclass
