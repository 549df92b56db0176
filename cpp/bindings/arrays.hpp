#pragma once
// What the bindings take from Python, and refuse.
#include <nanobind/ndarray.h>

#include <stdexcept>

namespace manyclass {

inline constexpr int kMaxThreads = 1 << 16;

template <class T>
using Vector = nanobind::ndarray<T, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;
template <class T>
using Matrix = nanobind::ndarray<T, nanobind::ndim<2>, nanobind::c_contig, nanobind::device::cpu>;

inline void require(bool condition, const char* what) {
  if (!condition) throw std::invalid_argument(what);
}

// Refuse what has a flaw.
inline void require_none(const char* flaw) {
  if (flaw != nullptr) throw std::invalid_argument(flaw);
}

}  // namespace manyclass
