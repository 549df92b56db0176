#pragma once
// The largest weight of each feature, which bounds the rounding of scores (logistic/kernels.hpp).
#include <algorithm>
#include <cstdint>
#include <vector>

#include "logistic/kernels.hpp"
#include "weights/weights_view.hpp"

namespace manyclass {

// max_c |w_jc| of the d + 1 features of a W with a row of whole blocks for each.
template <class T>
std::vector<double> feature_sizes(const LogisticWeights<T>& w) {
  constexpr std::int64_t kBlock = kRowBlockBytes / sizeof(T);
  std::vector<double> sizes(w.n_features + 1);
  for (std::int64_t j = 0; j <= w.n_features; ++j) {
    T lanes[kBlock] = {};
    for (const T *p = w.data + j * w.stride, *end = p + w.stride; p < end; p += kBlock) {
      for (std::int64_t lane = 0; lane < kBlock; ++lane) {
        const T size = p[lane] < 0 ? -p[lane] : p[lane];
        lanes[lane] = lanes[lane] < size ? size : lanes[lane];
      }
    }
    sizes[j] = static_cast<double>(*std::max_element(lanes, lanes + kBlock));
  }
  return sizes;
}

}  // namespace manyclass
