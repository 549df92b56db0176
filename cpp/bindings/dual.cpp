// Python's view of the training kernels.
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bindings/bindings.hpp"
#include "bindings/examples.hpp"
#include "certificate/rebuild.hpp"
#include "dual/kernels.hpp"
#include "dual/shrinking_loops.hpp"
#include "newton/proximal_newton.hpp"
#include "simd/aligned_array.hpp"
#include "sum_to_zero/mean_follower.hpp"

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace manyclass {
namespace {

template <class T>
const NewtonKernels<T>& newton_kernels_for(const std::string& name, std::int64_t blocks) {
#ifdef MANYCLASS_X86
  if (name == "avx512") return avx512::newton_kernels<T>(blocks);
  if (name == "avx2") return avx2::newton_kernels<T>(blocks);
#endif
  return baseline::newton_kernels<T>(blocks);
}

// The examples with the kernels of one instruction set.
template <class T, class Duals>
class Trainer : public TrainingSet<T> {
 public:
  Trainer(const Formulation& formulation, Vector<const std::int64_t> indptr,
          Vector<const std::int32_t> indices, Vector<const T> values, std::int64_t n_features,
          T bias, Vector<const std::int32_t> labels, std::int32_t n_classes,
          Vector<const double> costs, const std::string& instruction_set)
      : TrainingSet<T>(formulation, indptr, indices, values, n_features, bias, labels, n_classes,
                       costs, instruction_set),
        kernels_(kernels_for<T, Duals>(instruction_set)),
        rebuild_kernels_(rebuild_kernels_for<T>(instruction_set)),
        instruction_set_(instruction_set) {
    if (formulation.relative) this->check_all_labelled();
    if constexpr (std::is_same_v<Duals, DualLanes<T>>) {
      require(formulation.relative || !formulation.maximum,
              "lanes are for sums of losses and for relative margins");
    }
  }

  // One loop over `rows`, ascending, in random order; those that stay active go to `active`.
  SweepResult full_loop(Matrix<T> weights, Duals& z, Vector<const std::int32_t> rows,
                        Vector<std::int32_t> active, double min_gap, std::uint64_t seed) const {
    require(active.size() >= rows.size(), "active must be as long as rows");
    this->check_rows(rows);
    const WeightsView<T> w = view(weights, z);
    const nb::gil_scoped_release release;
    OwnedScratch<T> scratch(this->n_classes(), w.stride);
    Random random(seed);
    VisitOrder visits = this->new_visit_order();
    return loop_over({rows.data(), rows.size()}, active.data(), visits, this->rows_at_once(),
                     random, sweep(kernels_.full_sweep, w, z, scratch, min_gap), this->poll());
  }

  ShrunkResult shrunk_loops(Matrix<T> weights, Duals& z, Vector<std::int32_t> active,
                            std::int64_t n_active, const ShrunkGoal& goal,
                            std::uint64_t seed) const {
    require(0 <= n_active && n_active <= static_cast<std::int64_t>(active.size()),
            "n_active is out of range");
    this->check_rows(std::span(active.data(), static_cast<std::size_t>(n_active)));
    const WeightsView<T> w = view(weights, z);
    const nb::gil_scoped_release release;
    OwnedScratch<T> scratch(this->n_classes(), w.stride);
    Random random(seed);
    VisitOrder visits = this->new_visit_order();
    return manyclass::shrunk_loops(
        {active.data(), static_cast<std::size_t>(n_active)}, goal, visits, this->rows_at_once(),
        random, sweep(kernels_.shrunk_sweep, w, z, scratch, goal.min_gap), this->poll());
  }

  // The rows (ascending) in a random order that spares the memory.
  nb::ndarray<nb::numpy, std::int32_t, nb::ndim<1>> order(Vector<const std::int32_t> rows,
                                                          std::uint64_t seed) const {
    this->check_rows(rows);
    Random random(seed);
    VisitOrder visits = this->new_visit_order();
    const auto found = visits.of({rows.data(), rows.size()}, random);
    return to_numpy(std::vector<std::int32_t>(found.begin(), found.end()));
  }

  // Visit those of `rows` that are active, in their order; of all rows, sigma's change goes to
  // `moved`. Kept along, of every example: whether it is active, and sigma.
  SweepResult visit(Matrix<T> weights, Duals& z, Vector<const std::int32_t> rows, bool shrunk,
                    Vector<std::uint8_t> active, Vector<double> sigma, Vector<double> moved) const {
    check_sums(rows, sigma);
    require(active.size() == sigma.size() && moved.size() == rows.size(),
            "there must be an entry of active for every example, and of moved for every row");
    const WeightsView<T> w = view(weights, z);
    const nb::gil_scoped_release release;
    OwnedScratch<T> scratch(this->n_classes(), w.stride);
    std::vector<std::int32_t> some;
    for (std::size_t m = 0; m < rows.size(); ++m) {
      if (active.data()[rows.data()[m]]) some.push_back(rows.data()[m]);
    }
    std::vector<std::int32_t> stay(some.size());
    const auto kernel = shrunk ? kernels_.shrunk_sweep : kernels_.full_sweep;
    const SweepResult found = sweep(kernel, w, z, scratch, kEvery)(some, stay.data());
    for (std::size_t m = 0; m < rows.size(); ++m) moved.data()[m] = -sigma.data()[rows.data()[m]];
    if (found.steps > 0) put_sums(z, some, sigma.data());
    for (std::size_t m = 0; m < rows.size(); ++m) moved.data()[m] += sigma.data()[rows.data()[m]];
    for (const std::int32_t i : some) active.data()[i] = 0;
    for (std::int64_t m = 0; m < found.n_active; ++m) active.data()[stay[m]] = 1;
    return found;
  }

  // sigma of every row.
  void row_sums(const Duals& z, Vector<const std::int32_t> rows, Vector<double> sigma) const {
    check_sums(rows, sigma);
    const nb::gil_scoped_release release;
    put_sums(z, {rows.data(), rows.size()}, sigma.data());
  }

  // After visits, let m follow the mean of all u_c (sum_to_zero/mean_follower.hpp).
  double follow_mean(Matrix<T> weights, const Duals& z, Vector<const std::int32_t> rows,
                     Vector<const double> moved, Vector<const double> steps, double relaxation,
                     MeanFollower& mean) const {
    require(steps.size() == rows.size() && moved.size() == rows.size(),
            "moved and steps must be as long as rows");
    this->check_rows(rows);
    const WeightsView<T> w = view(weights, z, mean);
    const nb::gil_scoped_release release;
    return manyclass::follow_mean(this->examples(), w, {rows.data(), rows.size()}, moved.data(),
                                  steps.data(), relaxation, mean);
  }

  double settle_mean(Matrix<T> weights, const Duals& z, MeanFollower& mean) const {
    const WeightsView<T> w = view(weights, z, mean);
    const nb::gil_scoped_release release;
    return manyclass::settle_mean(w, mean);
  }

  // W as it is judged: less `common` for every class, which rounding leaves of a mean; `norm` is
  // ||W||.
  SweepResult inspect(Matrix<T> weights, const Duals& z, Vector<const double> common, double norm,
                      std::int64_t begin, std::int64_t end) const {
    this->check_rows(begin, end);
    const WeightsView<T> w = view(weights, z);
    const CertifiedWeights at{common_of(common, w.n_features), norm};
    const nb::gil_scoped_release release;
    OwnedScratch<T> scratch(this->n_classes(), w.stride);
    return kernels_.inspect(this->examples(), w, z, at, scratch.view(), begin, end);
  }

  // W <- W(z), less `common` for every class; returns an upper bound of the distance between them.
  double rebuild(Matrix<T> weights, const Duals& z, Vector<const double> common) const {
    const WeightsView<T> w = view(weights, z);
    const double* const off = common_of(common, w.n_features);
    const nb::gil_scoped_release release;
    return manyclass::rebuild(rebuild_kernels_, this->examples(), w, z, off, this->poll())
        .bound(this->examples().x.n_rows);
  }

  // sum_i factors_i x_i, shape (d + 1,), in double.
  nb::ndarray<nb::numpy, double, nb::ndim<1>> sum_of_rows(Vector<const double> factors) const {
    require(factors.size() == this->norms().size(), "there must be a factor for every example");
    const Csr<T>& x = this->examples().x;
    std::vector<double> sum(static_cast<std::size_t>(x.n_features) + 1);
    for (std::int64_t i = 0; i < x.n_rows; ++i) {
      const double factor = factors.data()[i];
      if (factor == 0) continue;
      const Row<T> row = x.row(i);
      for (std::int64_t p = 0; p < row.nnz; ++p) {
        sum[row.indices[p]] += factor * static_cast<double>(row.values[p]);
      }
      sum.back() += factor * static_cast<double>(row.bias);
    }
    return to_numpy(std::move(sum));
  }

  // The Newton phase around `z`.
  std::unique_ptr<ProximalNewton<T>> newton(DualLanes<T>& z, int n_threads) const {
    require(1 <= n_threads && n_threads <= kMaxThreads, "n_threads is out of range");
    require(z.n_rows() == this->examples().x.n_rows && z.n_classes() == this->n_classes(),
            "z must have one list per example, over the same classes");
    require(z.fits(z.stride(), this->examples().formulation), "there are too many classes");
    const auto& kernels = newton_kernels_for<T>(instruction_set_, z.stride() / z.kBlock);
    return std::make_unique<ProximalNewton<T>>(this->examples(), kernels, z, n_threads,
                                               this->poll());
  }

 private:
  static constexpr double kEvery = -std::numeric_limits<double>::infinity();  // no gap is too small

  void check_sums(const Vector<const std::int32_t>& rows, const Vector<double>& sigma) const {
    require(sigma.size() == this->norms().size(), "sigma must have an entry for every example");
    this->check_rows(rows);
  }
  void put_sums(const Duals& z, std::span<const std::int32_t> rows, double* sigma) const {
    for (const std::int32_t i : rows) sigma[i] = sigma_of(this->examples(), z, i);
  }

  auto sweep(typename Kernels<T, Duals>::Sweep kernel, const WeightsView<T>& w, Duals& z,
             OwnedScratch<T>& scratch, double min_gap) const {
    return [this, kernel, &w, &z, &scratch, min_gap](std::span<const std::int32_t> order,
                                                     std::int32_t* active) {
      return kernel(this->examples(), w, z, scratch.view(), order, min_gap, active);
    };
  }

  WeightsView<T> view(const Matrix<T>& weights, const Duals& z) const {
    const auto stride = static_cast<std::int64_t>(weights.shape(1));
    require(static_cast<std::int64_t>(weights.shape(0)) == this->examples().x.n_features + 1,
            "weights must have n_features + 1 rows");
    require(z.fits(stride, this->examples().formulation) && stride * sizeof(T) % 64 == 0,
            "rows of weights must hold the classes, and their mean, in whole blocks of 64 bytes");
    require(reinterpret_cast<std::uintptr_t>(weights.data()) % 64 == 0,
            "weights must be aligned to 64 bytes");
    require(z.n_rows() == this->examples().x.n_rows && z.n_classes() == this->n_classes(),
            "z must have one list per example, over the same classes");
    return {weights.data(), this->examples().x.n_features, this->n_classes(), stride};
  }

  WeightsView<T> view(const Matrix<T>& weights, const Duals& z, const MeanFollower& mean) const {
    require(this->examples().formulation.shifted, "there is no column for the mean");
    require(mean.n_features() == this->examples().x.n_features,
            "mean must be of as many features as X");
    return view(weights, z);
  }

  const Kernels<T, Duals>& kernels_;
  const RebuildKernels<T>& rebuild_kernels_;
  std::string instruction_set_;
};

template <class T>
void bind_newton(nb::module_& m, const char* name) {
  using Newton = ProximalNewton<T>;
  const auto at = [](const Newton& newton, const Matrix<T>& weights) {
    require(static_cast<std::int64_t>(weights.size()) == newton.n_weights(),
            "weights must be as many as the trainer's");
    return weights.data();
  };
  nb::class_<Newton>(m, name)
      .def("rebuild", &Newton::rebuild, "anew"_a, nb::call_guard<nb::gil_scoped_release>())
      .def("round", &Newton::round, "epsilon"_a, "budget"_a,
           nb::call_guard<nb::gil_scoped_release>())
      .def(
          "read_weights",
          [at](const Newton& newton, Matrix<T> out) { newton.read_weights(at(newton, out)); },
          "out"_a)
      .def(
          "write_weights",
          [at](Newton& newton, Matrix<T> weights) { newton.write_weights(at(newton, weights)); },
          "weights"_a)
      .def_prop_ro("squared_duals", &Newton::squared_duals)
      .def(
          "gradient_at",
          [at](Newton& newton, Matrix<T> weights, double epsilon, Matrix<T> out) {
            newton.gradient_at(at(newton, weights), epsilon, at(newton, out));
          },
          "weights"_a, "epsilon"_a, "out"_a)
      .def(
          "hessian_times",
          [at](Newton& newton, Matrix<T> p, Matrix<T> out) {
            newton.hessian_times(at(newton, p), at(newton, out));
          },
          "p"_a, "out"_a)
      .def(
          "preconditioned",
          [at](Newton& newton, Matrix<T> p, Matrix<T> out) {
            newton.preconditioned(at(newton, p), at(newton, out));
          },
          "p"_a, "out"_a)
      .def_prop_ro("response", &Newton::response_duals, nb::rv_policy::reference_internal);
}

template <class Duals>
Duals* new_duals(std::int64_t n_rows, std::int32_t n_classes, bool shifted) {
  require(0 <= n_rows && n_rows <= kMaxCount, "n_rows is out of range");
  require(1 <= n_classes && n_classes <= kMaxCount, "n_classes is out of range");
  if constexpr (requires { Duals::kMaxBlocks; }) {
    require(n_classes + shifted <= Duals::kMaxBlocks * Duals::kBlock, "there are too many classes");
  }
  return new Duals(n_rows, n_classes, shifted);
}

Formulation* new_formulation(bool relative, bool others, bool own, bool maximum, bool centred,
                             bool squared, double gamma, double gamma_own, bool shifted,
                             double drift) {
  const Formulation f{relative, others, own,       maximum, centred,
                      squared,  gamma,  gamma_own, shifted, drift};
  require_none(flaw_of(f));
  return new Formulation(f);
}

template <class T, class Duals>
void bind_trainer(nb::module_& m, const char* duals_name, const char* trainer_name) {
  auto duals = nb::class_<Duals>(m, duals_name);
  duals.def(nb::new_(&new_duals<Duals>), "n_rows"_a, "n_classes"_a, "shifted"_a = false)
      .def("to_csr", &export_duals<T, Duals>)
      .def("from_csr", &import_duals<T, Duals>, "indptr"_a, "labels"_a, "values"_a)
      .def_prop_ro("count", &Duals::count)
      .def_prop_ro("n_bytes", &Duals::n_bytes);
  if constexpr (std::is_same_v<Duals, DualLists<T>>) {
    duals.def("add_entries", &import_entries<T>, "rows"_a, "labels"_a, "values"_a, "columns"_a);
  }
  auto trainer = nb::class_<Trainer<T, Duals>>(m, trainer_name);
  bind_examples<T>(trainer);
  if constexpr (std::is_same_v<Duals, DualLanes<T>>) {
    trainer.def("newton", &Trainer<T, Duals>::newton, "duals"_a, "n_threads"_a,
                nb::keep_alive<0, 1>(), nb::keep_alive<0, 2>());
  }
  trainer
      .def("full_loop", &Trainer<T, Duals>::full_loop, "weights"_a, "duals"_a, "rows"_a, "active"_a,
           "min_gap"_a, "seed"_a)
      .def("shrunk_loops", &Trainer<T, Duals>::shrunk_loops, "weights"_a, "duals"_a, "active"_a,
           "n_active"_a, "goal"_a, "seed"_a)
      .def("order", &Trainer<T, Duals>::order, "rows"_a, "seed"_a)
      .def("visit", &Trainer<T, Duals>::visit, "weights"_a, "duals"_a, "rows"_a, "shrunk"_a,
           "active"_a, "sigma"_a, "moved"_a)
      .def("row_sums", &Trainer<T, Duals>::row_sums, "duals"_a, "rows"_a, "sigma"_a)
      .def("follow_mean", &Trainer<T, Duals>::follow_mean, "weights"_a, "duals"_a, "rows"_a,
           "moved"_a, "steps"_a, "relaxation"_a, "mean"_a)
      .def("settle_mean", &Trainer<T, Duals>::settle_mean, "weights"_a, "duals"_a, "mean"_a)
      .def("inspect", &Trainer<T, Duals>::inspect, "weights"_a, "duals"_a, "common"_a, "norm"_a,
           "begin"_a, "end"_a)
      .def("rebuild", &Trainer<T, Duals>::rebuild, "weights"_a, "duals"_a, "common"_a)
      .def("sum_of_rows", &Trainer<T, Duals>::sum_of_rows, "factors"_a);
}

}  // namespace

void bind_training(nb::module_& m) {
  m.def("instruction_sets", &instruction_sets,
        "Instruction sets that this build and this machine share, the fastest last.");
  nb::class_<Formulation>(m, "Formulation")
      .def(nb::new_(&new_formulation), "relative"_a, "others"_a, "own"_a, "maximum"_a, "centred"_a,
           "squared"_a, "gamma"_a, "gamma_own"_a, "shifted"_a = false, "drift"_a = 0.0);
  nb::class_<MeanFollower>(m, "MeanFollower")
      .def(nb::new_([](std::int64_t n_features) {
             require(0 <= n_features && n_features <= kMaxCount, "n_features is out of range");
             return new MeanFollower(static_cast<std::size_t>(n_features));
           }),
           "n_features"_a)
      .def(
          "restart",
          [](MeanFollower& mean, Vector<const double> sum) {
            require(static_cast<std::int64_t>(sum.size()) == mean.n_features() + 1,
                    "sum must have n_features + 1 numbers");
            mean.restart({sum.data(), sum.size()});
          },
          "sum"_a)
      .def_prop_ro(
          "sum",
          [](const MeanFollower& mean) {
            std::vector<double> sum;
            for (std::int64_t j = 0; j <= mean.n_features(); ++j) sum.push_back(mean.sum(j));
            return to_numpy(std::move(sum));
          },
          nb::rv_policy::move);
  nb::class_<SweepResult>(m, "SweepResult")
      .def(nb::init<>())
      .def_ro("gap", &SweepResult::gap)
      .def_ro("loss", &SweepResult::loss)
      .def_ro("dual_gain", &SweepResult::dual_gain)
      .def_ro("max_violation", &SweepResult::max_violation)
      .def_ro("evaluations", &SweepResult::evaluations)
      .def_ro("steps", &SweepResult::steps)
      .def_ro("n_active", &SweepResult::n_active);
  nb::class_<ShrunkGoal>(m, "ShrunkGoal")
      .def(nb::init<double, double, std::int64_t, double>(), "gap"_a, "violation"_a,
           "evaluations"_a, "min_gap"_a);
  nb::class_<ShrunkResult>(m, "ShrunkResult")
      .def_ro("dual_gain", &ShrunkResult::dual_gain)
      .def_ro("evaluations", &ShrunkResult::evaluations)
      .def_ro("n_active", &ShrunkResult::n_active)
      .def_ro("loops", &ShrunkResult::loops);
  nb::class_<NewtonRound>(m, "NewtonRound")
      .def_ro("primal", &NewtonRound::primal)
      .def_ro("gap", &NewtonRound::gap)
      .def_ro("max_violation", &NewtonRound::max_violation)
      .def_ro("steps", &NewtonRound::steps)
      .def_ro("n_zone", &NewtonRound::n_zone)
      .def_ro("evaluations", &NewtonRound::evaluations);
  bind_newton<float>(m, "Newton32");
  bind_newton<double>(m, "Newton64");
  bind_trainer<float, DualLists<float>>(m, "Duals32", "Trainer32");
  bind_trainer<double, DualLists<double>>(m, "Duals64", "Trainer64");
  bind_trainer<float, DualLanes<float>>(m, "LaneDuals32", "LaneTrainer32");
  bind_trainer<double, DualLanes<double>>(m, "LaneDuals64", "LaneTrainer64");
}

}  // namespace manyclass
