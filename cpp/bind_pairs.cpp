// Python's view of the kernels of pairs of bundles.
#include <algorithm>
#include <string>

#include "bind_examples.hpp"
#include "bindings.hpp"
#include "pairs.hpp"

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace manyclass {
namespace {

template <class T>
const PairKernels<T>& pair_kernels_for(const std::string& name) {
  require_instruction_set(name);
#ifdef MANYCLASS_X86
  if (name == "avx512") return avx512::pair_kernels<T>();
  if (name == "avx2") return avx2::pair_kernels<T>();
#endif
  return baseline::pair_kernels<T>();
}

// The examples of one bundle, to be held against the classes of any.
template <class T>
class PairTrainer : public OwnedExamples<T> {
 public:
  PairTrainer(const Formulation& formulation, Vector<const std::int64_t> indptr,
              Vector<const std::int32_t> indices, Vector<const T> values, std::int64_t n_features,
              T bias, Vector<const std::int32_t> labels, std::int32_t n_classes,
              Vector<const double> costs, const std::string& instruction_set)
      : OwnedExamples<T>(formulation, indptr, indices, values, n_features, bias, labels, n_classes,
                         costs, instruction_set),
        kernels_(pair_kernels_for<T>(instruction_set)) {
    require(formulation.relative && !formulation.maximum, "pairs are for sums of relative margins");
    for (std::size_t i = 0; i < labels.size(); ++i) {
      require(labels.data()[i] != kElsewhere, "a bundle has the classes of its examples");
    }
  }

  // One loop over `rows`, ascending, in random order; those that stay active go to `active`, which
  // may be `rows`.
  SweepResult loop(Matrix<T> own, Matrix<T> others, DualLists<T>& z,
                   Vector<const std::int32_t> rows, Vector<std::int32_t> active, bool shrunk,
                   double min_gap, std::uint64_t seed) const {
    require(active.size() >= rows.size(), "active must be as long as rows");
    for (std::size_t m = 0; m < rows.size(); ++m) {
      require(0 <= rows.data()[m] && rows.data()[m] < z.n_rows(), "rows out of range");
    }
    const PairView<T> pair = view(own, others, z);
    const auto kernel = shrunk ? kernels_.shrunk_sweep : kernels_.full_sweep;
    const nb::gil_scoped_release release;
    OwnedScratch<T> scratch(z.n_classes(), pair.others.stride);
    Random random(seed);
    Visits visits = this->new_visits();
    const auto sweep = [&](std::span<const std::int32_t> order, std::int32_t* still_active) {
      return kernel(this->examples(), pair, z, scratch.view(), order, min_gap, still_active);
    };
    return loop_over({rows.data(), rows.size()}, active.data(), visits, this->rows_at_once(),
                     random, sweep, this->poll());
  }

  SweepResult inspect(Matrix<T> own, Matrix<T> others, const DualLists<T>& z) const {
    const PairView<T> pair = view(own, others, z);
    const nb::gil_scoped_release release;
    OwnedScratch<T> scratch(z.n_classes(), pair.others.stride);
    SweepResult sum;
    in_parts([&](std::int64_t begin, std::int64_t end) {
      add(kernels_.inspect(this->examples(), pair, z, scratch.view(), begin, end), sum);
    });
    return sum;
  }

  void add_duals(Matrix<T> own, Matrix<T> others, const DualLists<T>& z) const {
    const PairView<T> pair = view(own, others, z);
    const nb::gil_scoped_release release;
    OwnedScratch<T> scratch(z.n_classes(), pair.others.stride);
    in_parts([&](std::int64_t begin, std::int64_t end) {
      kernels_.add_duals(this->examples(), pair, z, scratch.view(), begin, end);
    });
  }

 private:
  // All rows, with a look at the signals now and then.
  template <class Call>
  void in_parts(Call call) const {
    const std::int64_t n = this->examples().x.n_rows;
    const auto part = static_cast<std::int64_t>(this->rows_at_once());
    for (std::int64_t begin = 0; begin < n; begin += part) {
      call(begin, std::min(begin + part, n));
      this->poll()();
    }
  }

  PairView<T> view(const Matrix<T>& own, const Matrix<T>& others, const DualLists<T>& z) const {
    require(z.n_rows() == this->examples().x.n_rows, "z must have one list per example");
    const PairView<T> pair{view(own, this->n_classes()), view(others, z.n_classes())};
    require(!pair.one() || z.n_classes() == this->n_classes(), "z is not over the own classes");
    return pair;
  }

  WeightsView<T> view(const Matrix<T>& weights, std::int32_t n_classes) const {
    const std::int64_t n_features = this->examples().x.n_features;
    const auto stride = static_cast<std::int64_t>(weights.shape(1));
    require(static_cast<std::int64_t>(weights.shape(0)) == n_features + 1,
            "weights must have n_features + 1 rows");
    require(stride >= n_classes && stride * sizeof(T) % 64 == 0,
            "rows of weights must hold the classes in whole blocks of 64 bytes");
    require(reinterpret_cast<std::uintptr_t>(weights.data()) % 64 == 0,
            "weights must be aligned to 64 bytes");
    return {weights.data(), n_features, n_classes, stride};
  }

  const PairKernels<T>& kernels_;
};

template <class T>
void bind_pair_trainer(nb::module_& m, const char* name) {
  using Trainer = PairTrainer<T>;
  auto trainer = nb::class_<Trainer>(m, name);
  bind_examples<T>(trainer);
  trainer
      .def("loop", &Trainer::loop, "own"_a, "others"_a, "duals"_a, "rows"_a, "active"_a, "shrunk"_a,
           "min_gap"_a, "seed"_a)
      .def("inspect", &Trainer::inspect, "own"_a, "others"_a, "duals"_a)
      .def("add_duals", &Trainer::add_duals, "own"_a, "others"_a, "duals"_a);
}

}  // namespace

void bind_pairs(nb::module_& m) {
  bind_pair_trainer<float>(m, "PairTrainer32");
  bind_pair_trainer<double>(m, "PairTrainer64");
}

}  // namespace manyclass
