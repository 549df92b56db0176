#pragma once
// The preconditioner if W has few numbers: the Cholesky factor of the Hessian itself,
// I + sum_zone (B^T J B) (x) x x^T (newton/preconditioner_kernels.hpp). Independent classes have
// one factor each. The factor is rebuilt when its use took more work than its construction.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "data/examples.hpp"
#include "newton/kernel_table.hpp"
#include "simd/aligned_array.hpp"
#include "threads/interrupt_poll.hpp"

namespace manyclass {

template <class T>
class WholeHessian {
 public:
  WholeHessian(const NewtonKernels<T>& kernels, const Examples<T>& examples, std::int32_t n_classes)
      : kernels_(kernels),
        centred_(examples.formulation.centred),
        width_(examples.x.n_features + (examples.x.bias != 0 ? 1 : 0)),
        n_classes_(n_classes) {
    const Formulation& f = examples.formulation;
    separable_ = !f.relative && !f.centred && !f.maximum;
    size_ = ((separable_ ? width_ : width_ * n_classes) + kPanel - 1) / kPanel * kPanel;
  }

  // Whether the memory limit allows it.
  bool is_small() const { return 4 * n_blocks() * length() <= kMostNumbers * kMostNumbers; }
  // Work of a build, in units of a multiply-add in a product with H: for rows with `features`
  // features on average and `pairs` pairs of classes in total; `cost` adds the factorization.
  double rows_cost(double pairs, double features) const {
    const auto width = static_cast<double>(width_);
    const bool is_dense = kNearlyDense * features >= width;
    return pairs / 2 * (is_dense ? kDenseCost * width * width : kSparseCost * features * features);
  }
  double cost(double pairs, double features) const {
    const auto size = static_cast<double>(size_);
    const double cubes = static_cast<double>(n_factors()) * size * size * size;
    return rows_cost(pairs, features) + kFactorCost * cubes;
  }

  bool is_due() const { return !built_ || spent_ > cost_; }
  void spend(double multiply_adds) { spent_ += multiply_adds; }

  // add() adds the examples of the zone to the blocks.
  template <class Add>
  void build(double pairs, double features, std::size_t n_threads, InterruptPoll& work, Add add) {
    allocate(n_threads);
    built_ = false;
    std::fill_n(sums_.data(), sums_.size(), 0.0);
    add();
    if (centred_) centre();
    for (std::int64_t f = 0; f < n_factors(); ++f) factor(f, work);
    built_ = true;
    spent_ = 0;
    cost_ = cost(pairs, features);
  }
  ClassBlocks blocks() const { return {sums_.data(), length(), separable_}; }
  SquareOfRow square(int member) const {
    const auto at = static_cast<std::size_t>(member);
    return {rows_[at].data(), values_[at].data(), places_[at].data(), member,
            static_cast<int>(rows_.size())};
  }

  // x <- A^-1 x, rows of `stride` numbers.
  void solve(T* x, std::int64_t stride, InterruptPoll& work) {
    for (std::int64_t f = 0; f < n_factors(); ++f) {
      exchange(x + f, stride, [](T from, double& to) { to = static_cast<double>(from); });
      kernels_.solve_whole(factor_of(f), size_, x_.data());
      exchange(x + f, stride, [](T& to, double from) { to = static_cast<T>(from); });
    }
    const auto done = static_cast<double>(n_factors() * size_ * size_);
    spend(done);
    work.spend(done);
  }

 private:
  static constexpr std::int64_t kMostNumbers = 2560;
  // Measured on letter, satimage and covtype.
  static constexpr double kDenseCost = 2, kSparseCost = 4, kFactorCost = 0.2;

  std::int64_t n_factors() const { return separable_ ? n_classes_ : 1; }
  std::int64_t n_blocks() const {
    const std::int64_t k = n_classes_;
    return separable_ ? k : k * (k + 1) / 2;
  }
  std::int32_t classes_of_factor() const { return separable_ ? 1 : n_classes_; }
  double* factor_of(std::int64_t f) const { return factors_.data() + f * size_ * size_; }
  // The upper triangle of a block, in whole vectors.
  std::int64_t length() const { return (width_ * (width_ + 1) / 2 + 7) / 8 * 8; }

  void allocate(std::size_t n_threads) {
    if (x_.size() > 0) return;
    for (std::size_t member = 0; member < n_threads; ++member) {
      rows_.emplace_back(static_cast<std::size_t>(width_));
      values_.emplace_back(static_cast<std::size_t>(length()));
      places_.emplace_back(static_cast<std::size_t>(length()));
    }
    sums_ = AlignedArray<double>(static_cast<std::size_t>(n_blocks() * length()));
    factors_ = AlignedArray<double>(static_cast<std::size_t>(n_factors() * size_ * size_));
    x_ = AlignedArray<double>(static_cast<std::size_t>(size_));
  }

  void factor(std::int64_t f, InterruptPoll& work) const {
    double* const a = factor_of(f);
    std::fill_n(a, size_ * size_, 0.0);
    for (std::int32_t c = 0; c < classes_of_factor(); ++c) {
      for (std::int32_t b = 0; b <= c; ++b) {
        spread(blocks().at(b, c + f), a + b * width_ * size_ + c * width_);
      }
    }
    for (std::int64_t j = 0; j < size_; ++j) a[j * size_ + j] += 1;
    for (std::int64_t begin = 0; begin < size_; begin += kPanel) {
      kernels_.factor_double(a, size_, begin);
      work.spend(static_cast<double>(size_ * size_) * kPanel / 2);
    }
  }
  // Expand a symmetric block from its upper triangle.
  void spread(const double* from, double* to) const {
    for (std::int64_t i = 0; i < width_; ++i) {
      for (std::int64_t j = i; j < width_; ++j) {
        to[i * size_ + j] = to[j * size_ + i] = *from++;
      }
    }
  }

  // copy(index in x, index in the vector of the factor) for all numbers of a factor.
  template <class Copy>
  void exchange(T* x, std::int64_t stride, Copy copy) const {
    for (std::int32_t c = 0; c < classes_of_factor(); ++c) {
      for (std::int64_t j = 0; j < width_; ++j) copy(x[j * stride + c], x_.data()[c * width_ + j]);
    }
  }

  // If W sums to zero over the classes: P A P with P = I - 1 1^T / k in the classes.
  void centre() const {
    std::vector<double> means(static_cast<std::size_t>(n_classes_));
    for (std::int64_t m = 0; m < length(); ++m) centre_at(m, means);
  }
  void centre_at(std::int64_t m, std::vector<double>& means) const {
    double mean = 0;
    for (std::int32_t b = 0; b < n_classes_; ++b) {
      double sum = 0;
      for (std::int32_t c = 0; c < n_classes_; ++c) {
        sum += blocks().at(std::min(b, c), std::max(b, c))[m];
      }
      means[static_cast<std::size_t>(b)] = sum / n_classes_;
      mean += sum / n_classes_ / n_classes_;
    }
    for (std::int32_t c = 0; c < n_classes_; ++c) {
      for (std::int32_t b = 0; b <= c; ++b) {
        blocks().at(b, c)[m] +=
            mean - means[static_cast<std::size_t>(b)] - means[static_cast<std::size_t>(c)];
      }
    }
  }

  const NewtonKernels<T>& kernels_;
  bool centred_;
  bool separable_;      // whether classes are independent
  std::int64_t width_;  // features, including the constant one
  std::int32_t n_classes_;
  std::int64_t size_;  // size of a factor, in whole panels
  AlignedArray<double> sums_{0}, factors_{0}, x_{0};
  std::vector<AlignedArray<double>> rows_, values_;  // x, x x^T, of each thread
  std::vector<AlignedArray<std::int32_t>> places_;
  bool built_ = false;
  double spent_ = 0;
  double cost_ = 0;
};

}  // namespace manyclass
