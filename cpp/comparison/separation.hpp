#pragma once
// The most violated constraint of the one-slack problem at W, as the z that generates it:
//
//   z_ic = dl_i / dxi_ic at W:  C_i if xi_ic > 0 (sum), only at the largest xi_ic > 0
//   (maximum), 2 C_i xi_ic for the squared hinge.
//
// Its cut is R(V) >= sum_ic gamma_c z_ic [- z_ic^2 / (4 C_i)] - <W(z), V> for the sum of losses R.
// z is feasible. The objective of the master problem is D at a convex combination of such z.
// Given: the examples and W. Returned: z, and the sum of losses at W.
// Sources: Joachims et al. 2009 (one slack); Teo et al. 2010 (BMRM).
#include <algorithm>
#include <cstdint>

#include "data/examples.hpp"
#include "duals/dual_lists.hpp"
#include "simd/isa.hpp"
#include "subproblem/scratch.hpp"
#include "subproblem/slacks.hpp"
#include "weights/dense_weights.hpp"
#include "weights/weights_view.hpp"

namespace manyclass::MANYCLASS_ISA {

template <class T>
class Separation {
 public:
  Separation(const Examples<T>& examples, std::int32_t n_classes, const T* scores)
      : examples_(examples), n_classes_(n_classes), s_(scores) {}

  // z of example i; adds its loss.
  void add(std::int64_t i, DualLists<T>& z, SweepResult& result) const {
    const double cost = examples_.costs[i];
    std::size_t size = 0;
    const Loss loss = examples_.formulation.loss;
    each_positive(i, [&](std::int32_t, double xi) {
      ++size;
      result.loss += cost * loss.of_positive(xi);
    });
    DualEntry<T>* entry = z.resize(i, size).data();
    each_positive(i, [&](std::int32_t c, double xi) {
      *entry++ = {c, static_cast<T>(loss.slope(xi, cost))};
    });
    result.evaluations += n_classes_;
  }

 private:
  // Call f(c, xi_c) for the classes with z_c > 0.
  template <class F>
  void each_positive(std::int64_t i, F f) const {
    const Formulation& form = examples_.formulation;
    const std::int32_t y = examples_.labels[i];
    const Slacks slacks(form, static_cast<double>(s_[y]), 0);
    std::int32_t best = -1;
    double best_xi = 0;
    const auto look = [&](std::int32_t c, double xi) {
      if (xi <= 0) return;
      if (!form.maximum) return f(c, xi);
      if (xi > best_xi) {
        best = c;
        best_xi = xi;
      }
    };
    for (std::int32_t c = 0; c < n_classes_; ++c) {
      const double xi = slacks.other(static_cast<double>(s_[c]));
      if (c == y ? form.own : form.others) look(c, c == y ? slacks.own() : xi);
    }
    if (best >= 0) f(best, best_xi);
  }

  const Examples<T>& examples_;
  std::int32_t n_classes_;
  const T* s_;
};

template <class T>
SweepResult separate(const Examples<T>& examples, const WeightsView<T>& w, DualLists<T>& z,
                     Scratch<T> scratch, std::int64_t begin, std::int64_t end) {
  const DenseWeights<T> weights{w.data, w.n_features, w.n_classes, w.stride, w.stride};
  const Separation<T> separation(examples, w.n_classes, scratch.scores);
  SweepResult result;
  for (std::int64_t i = begin; i < end; ++i) {
    weights.scores(examples.x.row(i), scratch.scores);
    separation.add(i, z, result);
  }
  return result;
}

template <class T>
void all_scores(const Examples<T>& examples, const WeightsView<T>& w, T* out, std::int64_t begin,
                std::int64_t end) {
  const DenseWeights<T> weights{w.data, w.n_features, w.n_classes, w.stride, w.stride};
  for (std::int64_t i = begin; i < end; ++i) {
    weights.scores(examples.x.row(i), out + (i - begin) * w.stride);
  }
}

}  // namespace manyclass::MANYCLASS_ISA
