#pragma once
// Arrays with the size of W for the Newton method: T in kernels, double for sums of the steps of
// many examples.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "data/examples.hpp"
#include "newton/kernel_table.hpp"
#include "simd/aligned_array.hpp"
#include "weights/weights_view.hpp"

namespace manyclass {

template <class T>
class NewtonArrays {
 public:
  using Array = AlignedArray<T>;
  using Total = AlignedArray<double>;  // sums of many steps

  NewtonArrays(const Examples<T>& examples, const NewtonKernels<T>& kernels, std::int32_t n_classes,
               std::int64_t stride)
      : examples_(examples),
        kernels_(kernels),
        n_classes_(n_classes),
        stride_(stride),
        size_((examples.x.n_features + 1 + kPanel - 1) / kPanel * kPanel),
        numbers_(size_ * stride),
        zeros_(numbers()) {}

  std::int64_t size() const { return size_; }  // d + 1 in whole panels
  std::size_t numbers() const { return numbers_; }

  WeightsView<T> view(const Array& w) const {
    return {w.data(), examples_.x.n_features, n_classes_, stride_};
  }
  double dot(const Array& a, const Array& b) const {
    return kernels_.dot(a.data(), b.data(), numbers_);
  }
  // b += factor a
  void axpy(double factor, const Array& a, const Array& b) const {
    kernels_.axpy(factor, a.data(), b.data(), numbers_);
  }
  void add(double factor, const Array& a, const Total& total) const {
    kernels_.add_to_total(factor, a.data(), total.data(), numbers_);
  }
  // to <- a - b
  void subtract(const Total& a, const Total& b, const Array& to) const {
    kernels_.subtract(a.data(), b.data(), to.data(), numbers_);
  }
  void round(const Total& a, const Array& to) const { subtract(a, zeros_, to); }
  template <class V>
  void copy(const AlignedArray<V>& from, const AlignedArray<V>& to) const {
    std::copy_n(from.data(), numbers_, to.data());
  }
  template <class V>
  void clear(const AlignedArray<V>& w) const {
    std::fill_n(w.data(), numbers_, V{0});
  }
  // Restore the zero sum over the classes: all examples have the same rounding error; it adds up.
  void centre(const Array& w) const {
    if (examples_.formulation.relative || examples_.formulation.centred) kernels_.centre(view(w));
  }

 private:
  const Examples<T>& examples_;
  const NewtonKernels<T>& kernels_;
  std::int32_t n_classes_;
  std::int64_t stride_;
  std::int64_t size_;
  std::int64_t numbers_;
  Total zeros_;
};

}  // namespace manyclass
