#pragma once
// Loops over the examples of multinomial logistic regression (logistic/kernels.hpp): checks,
// memory, polls between batches.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "data/array_views.hpp"
#include "data/examples.hpp"
#include "data/require.hpp"
#include "dense_rows/class_major.hpp"
#include "dual/training_set.hpp"
#include "logistic/kernels.hpp"
#include "simd/aligned_array.hpp"
#include "simd/dispatch.hpp"
#include "threads/interrupt_poll.hpp"

namespace manyclass {

// The memory that LogisticMemory points to.
template <class U>
class OwnedLogisticMemory {
 public:
  OwnedLogisticMemory(const LogisticWeights<U>& w, std::size_t longest_row)
      : rows_(w.class_major ? kRows * static_cast<std::size_t>(w.stride) : 0),
        gram_(kRows * kRows),
        scores_(kRows * static_cast<std::size_t>(score_stride<U>(w.n_classes))),
        other_(kRows * static_cast<std::size_t>(score_stride<U>(w.n_classes))),
        values_(longest_row) {}
  LogisticMemory<U> view() const {
    return {rows_.data(), gram_.data(), scores_.data(), other_.data(), values_.data()};
  }

 private:
  static constexpr auto kRows = static_cast<std::size_t>(kBatchRows);
  AlignedArray<U> rows_, gram_, scores_, other_, values_;
};

template <class T>
class LogisticTrainer : public TrainingSet<T> {
 public:
  LogisticTrainer(const ExampleArrays<T>& arrays, const std::string& instruction_set,
                  Poll check_signals)
      : TrainingSet<T>(arrays, instruction_set, std::move(check_signals)),
        kernels_(kernels_for<LogisticKernels<T>>(instruction_set)) {
    require(arrays.n_classes >= 2, "there must be two classes");
    this->check_all_labelled();
  }

  // One loop over all examples in random order.
  SweepResult visit(MatrixView<T> weights, MatrixView<T> v, bool fresh, bool class_major,
                    std::uint64_t seed) const {
    const LogisticWeights<T> w = view<T>(weights, class_major);
    check_duals(v);
    const OwnedLogisticMemory<T> memory(w, 0);
    std::vector<std::int32_t> rows(static_cast<std::size_t>(this->n_rows()));
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::int32_t>(i);
    const std::vector<std::int32_t> order = this->order(rows, seed);
    SweepResult result;
    in_parts([&](std::int64_t begin, std::int64_t end) {
      const auto part = std::span(order).subspan(static_cast<std::size_t>(begin),
                                                 static_cast<std::size_t>(end - begin));
      result.add(kernels_.visit(this->examples(), w, v.data, fresh, memory.view(), part));
    });
    return result;
  }

  double gradient(MatrixView<T> weights, MatrixView<T> gradient, bool class_major) const {
    const LogisticWeights<T> w = view<T>(weights, class_major);
    const LogisticWeights<T> out = view<T>(gradient, class_major);
    const OwnedLogisticMemory<T> memory(w, 0);
    double loss = 0;
    in_parts([&](std::int64_t begin, std::int64_t end) {
      loss += kernels_.gradient(this->examples(), w, out, memory.view(), begin, end);
    });
    return loss;
  }

  void curvature(MatrixView<T> weights, MatrixView<T> direction, MatrixView<T> product,
                 bool class_major) const {
    const LogisticWeights<T> w = view<T>(weights, class_major);
    const LogisticWeights<T> along = view<T>(direction, class_major);
    const LogisticWeights<T> out = view<T>(product, class_major);
    const OwnedLogisticMemory<T> memory(w, 0);
    in_parts([&](std::int64_t begin, std::int64_t end) {
      kernels_.curvature(this->examples(), w, along, out, memory.view(), begin, end);
    });
  }

  void log_softmax(MatrixView<T> weights, MatrixView<T> v, bool class_major) const {
    const LogisticWeights<T> w = view<T>(weights, class_major);
    check_duals(v);
    const OwnedLogisticMemory<T> memory(w, 0);
    in_parts([&](std::int64_t begin, std::int64_t end) {
      kernels_.log_softmax(this->examples(), w, v.data, memory.view(), begin, end);
    });
  }

  // At W in double and u = exp(v), or the softmax where v is null; `sums`, if it is not null, and
  // `class_sums`, if it is not empty, are added to.
  LogisticSums inspect(MatrixView<double> weights, const MatrixView<T>* v, const ClassShift& by,
                       const MatrixView<double>* sums, std::span<double> class_sums,
                       bool class_major) const {
    const LogisticWeights<double> w = view<double>(weights, class_major);
    if (v) check_duals(*v);
    return totals(w, sums, class_sums, class_major, [&](const auto&... rest) {
      return kernels_.inspect(this->examples(), w, v ? v->data : nullptr, by, rest...);
    });
  }

  LogisticSums dual_sums(MatrixView<T> v, const ClassShift& by, MatrixView<double> sums,
                         std::span<double> class_sums, bool class_major) const {
    const LogisticWeights<double> w = view<double>(sums, class_major);
    check_duals(v);
    return totals(w, &sums, class_sums, class_major, [&](const auto&... rest) {
      return kernels_.dual_sums(this->examples(), w, v.data, by, rest...);
    });
  }

 private:
  template <class Pass>
  LogisticSums totals(const LogisticWeights<double>& w, const MatrixView<double>* sums,
                      std::span<double> class_sums, bool class_major, Pass pass) const {
    require(class_sums.empty() || length(class_sums) == this->n_classes(),
            "class_sums must have a number for every class");
    LogisticWeights<double> out{};
    if (sums) out = view<double>(*sums, class_major);
    const LogisticTotals into{sums ? &out : nullptr,
                              class_sums.empty() ? nullptr : class_sums.data()};
    const OwnedLogisticMemory<double> memory(w, longest_row());
    LogisticSums found;
    in_parts([&](std::int64_t begin, std::int64_t end) {
      found.add(pass(into, memory.view(), begin, end));
    });
    return found;
  }

  std::size_t longest_row() const {
    const Csr<T>& x = this->examples().x;
    std::int64_t longest = 0;
    for (std::int64_t i = 0; i < x.n_rows; ++i) longest = std::max(longest, x.row(i).nnz);
    return static_cast<std::size_t>(longest);
  }

  template <class F>
  void in_parts(F f) const {
    const Poll poll = this->poll();
    const auto size =
        (static_cast<std::int64_t>(this->rows_at_once()) / kBatchRows + 1) * kBatchRows;
    for (std::int64_t begin = 0; begin < this->n_rows(); begin += size) {
      f(begin, std::min(begin + size, this->n_rows()));
      poll();
    }
  }

  template <class U>
  LogisticWeights<U> view(const MatrixView<U>& weights, bool class_major) const {
    constexpr auto kBlock = static_cast<std::int64_t>(64 / sizeof(U));
    const std::int64_t features = this->n_features() + 1, classes = this->n_classes();
    const std::int64_t rows = class_major ? classes : features;
    const std::int64_t columns = class_major ? features : classes;
    require(weights.n_rows == rows && weights.n_columns == (columns + kBlock - 1) / kBlock * kBlock,
            "weights must have a row for each feature (or class), in whole blocks of 64 bytes");
    require(weights.is_aligned(), "weights must be aligned to 64 bytes");
    return {weights.data, this->n_features(), this->n_classes(), weights.n_columns, class_major};
  }

  void check_duals(const MatrixView<T>& v) const {
    require(v.n_rows == this->n_rows() && v.n_columns == score_stride<T>(this->n_classes()),
            "v must have a row for each example, of the classes in whole blocks of 64 bytes");
    require(v.is_aligned(), "v must be aligned to 64 bytes");
  }

  const LogisticKernels<T>& kernels_;
};

}  // namespace manyclass
