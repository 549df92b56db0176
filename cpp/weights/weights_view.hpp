#pragma once
// Dense W as memory, without the kernels that read it.
#include <cstddef>
#include <cstdint>

namespace manyclass {

// Rows of W are padded to whole blocks of this many bytes: a cache line, and the widest vector.
inline constexpr std::size_t kRowBlockBytes = 64;

// weights/dense_weights.hpp describes the layout.
template <class T>
struct WeightsView {
  T* data;
  std::int64_t n_features;
  std::int32_t n_classes;
  std::int64_t stride;
};

}  // namespace manyclass
