#pragma once
// The preconditioner: a d x d matrix for all classes, I + 1/k sum_zone tr(B^T J B) x x^T, with its
// Cholesky factor (newton/preconditioner_kernels.hpp), rebuilt if its use took longer than a build.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "newton/kernel_table.hpp"
#include "simd/aligned_array.hpp"
#include "threads/interrupt_poll.hpp"
#include "threads/thread_team.hpp"

namespace manyclass {

template <class T>
class Preconditioner {
 public:
  Preconditioner(const NewtonKernels<T>& kernels, std::int64_t size)
      : kernels_(kernels), size_(size), factor_(size * size) {}

  // Whether it was never built, or its use took more work than its construction.
  bool is_due() const { return !built_ || spent_ > cost_; }
  void spend(double multiply_adds) { spent_ += multiply_adds; }

  // gram(a, panel, begin, end) adds examples of the zone, with `features` features on
  // average.
  template <class Gram>
  void build(double features, std::int64_t n_zone, ThreadTeam& team, InterruptPoll& work,
             Gram gram) {
    const double size = static_cast<double>(size_);
    T* a = factor_.data();
    std::fill_n(a, factor_.size(), T{0});
    for (std::int64_t j = 0; j < size_; ++j) a[j * size_ + j] = 1;
    const double each = std::min(size * size, features * features * kSparseCost) / 2;
    // One copy per thread with enough work; with one copy, only the caller computes.
    const std::int64_t wanted = std::clamp<std::int64_t>(
        static_cast<std::int64_t>(features * static_cast<double>(n_zone) / (size * size)), 1,
        team.size());
    while (std::ssize(sums_) < wanted) sums_.emplace_back(size_);
    const auto members = std::ssize(sums_);
    work.in_chunks(n_zone, each, [&](std::int64_t begin, std::int64_t end) {
      team.run([&](int member) {
        if (member >= members) return;
        const std::int64_t n = end - begin;
        Sum& sum = sums_[member];
        gram(sum.a.data(), sum.panel.data(), begin + n * member / members,
             begin + n * (member + 1) / members);
      });
    });
    for (Sum& sum : sums_) {
      kernels_.axpy(1, sum.a.data(), a, size_ * size_);
      std::fill_n(sum.a.data(), sum.a.size(), T{0});
    }
    for (std::int64_t begin = 0; begin < size_; begin += kPanel) {
      kernels_.factor(a, size_, begin);
      work.spend(size * size * kPanel / 2);
    }
    built_ = true;
    spent_ = 0;
    cost_ = each * static_cast<double>(n_zone) + size * size * size / 6;
  }

  // x <- A^-1 x, rows of `stride` numbers.
  void solve(T* x, std::int64_t stride, InterruptPoll& work) {
    kernels_.solve(factor_.data(), size_, x);
    const double done = static_cast<double>(size_ * size_ * stride);
    spend(done);
    work.spend(done);
  }

 private:
  static constexpr double kSparseCost = 25;  // time of a single number, relative to one in a vector
  const NewtonKernels<T>& kernels_;
  std::int64_t size_;
  // Partial sums of one thread.
  struct Sum {
    explicit Sum(std::int64_t size) : a(size * size), panel(size * kPanel) {}
    AlignedArray<T> a, panel;
  };
  std::vector<Sum> sums_;
  AlignedArray<T> factor_;
  bool built_ = false;
  double spent_ = 0;
  double cost_ = 0;
};

}  // namespace manyclass
