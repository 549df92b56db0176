// Python's view of the kernels of pairs of class blocks.
#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "bindings/bindings.hpp"
#include "bindings/examples.hpp"
#include "certificate/rebuild.hpp"
#include "class_pairs/pair_kernels.hpp"
#include "class_pairs/pair_tables.hpp"

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace manyclass {
namespace {

// Two class blocks that meet: the columns of a slot, the classes in each, the column of every y_i
// (-1 where y_i is in neither), and whether examples look at all classes of their own class block,
// too.
struct ClassPair {
  ClassPair(std::int32_t width_, std::int32_t n_first, std::int32_t n_second,
            Vector<const std::int32_t> labels_, bool own_too_)
      : width(width_), n_classes{n_first, n_second}, labels(std::move(labels_)), own_too(own_too_) {
    require(width > 0 && width < (1 << 30), "a slot must have a column");
    for (const std::int32_t n : n_classes) {
      require(0 <= n && n <= width, "a slot has too few columns for its classes");
    }
    for (std::size_t i = 0; i < labels.size(); ++i) {
      require(kElsewhere <= labels.data()[i] && labels.data()[i] < 2 * width, "label out of range");
    }
  }
  std::int32_t width;
  std::int32_t n_classes[2];
  Vector<const std::int32_t> labels;
  bool own_too;
};

template <class T, class View>
const PairKernels<T, View>& pair_kernels_for(const std::string& name) {
  require_instruction_set(name);
#ifdef MANYCLASS_X86
  if (name == "avx512") return avx512::pair_kernels<T, View>();
  if (name == "avx2") return avx2::pair_kernels<T, View>();
#endif
  return baseline::pair_kernels<T, View>();
}

// What the kernels see of W: an array of two slots side by side, or tables.
template <class T>
class DensePair {
 public:
  using View = PairView<T>;
  DensePair(const ClassPair& class_pair, const Matrix<T>& weights, std::int64_t n_features) {
    const auto stride = static_cast<std::int64_t>(weights.shape(1));
    require(static_cast<std::int64_t>(weights.shape(0)) == n_features + 1,
            "weights must have n_features + 1 rows");
    require(stride == 2 * class_pair.width && stride * sizeof(T) % 128 == 0,
            "rows of weights must be two slots, in whole blocks of 64 bytes");
    require(reinterpret_cast<std::uintptr_t>(weights.data()) % 64 == 0,
            "weights must be aligned to 64 bytes");
    view = {{weights.data(), n_features, static_cast<std::int32_t>(stride), stride},
            class_pair.width,
            {class_pair.n_classes[0], class_pair.n_classes[1]},
            class_pair.own_too};
  }
  View view;
};

template <class T>
class TablePair {
 public:
  using View = TablePairView<T>;
  TablePair(const ClassPair& class_pair, PairTables<T>& weights, std::int64_t n_features)
      : best_(2 * static_cast<std::size_t>(weights.width())) {
    require(weights.n_rows() == n_features + 1, "weights must have n_features + 1 rows");
    require(weights.width() == class_pair.width,
            "slots of weights must be as wide as the meeting's");
    view = {{&weights.slot(0), &weights.slot(1)},
            class_pair.width,
            {class_pair.n_classes[0], class_pair.n_classes[1]},
            class_pair.own_too,
            best_.data()};
  }
  View view;

 private:
  std::vector<Scored<T>> best_;
};

// All examples, of which those of two class blocks are visited where these meet. `Pair` is one of
// the two above, `Weights` what it is made of.
template <class T>
class PairTrainer : public TrainingSet<T> {
 public:
  PairTrainer(const Formulation& formulation, Vector<const std::int64_t> indptr,
              Vector<const std::int32_t> indices, Vector<const T> values, std::int64_t n_features,
              T bias, Vector<const std::int32_t> labels, std::int32_t n_classes,
              Vector<const double> costs, const std::string& instruction_set)
      : TrainingSet<T>(formulation, indptr, indices, values, n_features, bias, labels, n_classes,
                       costs, instruction_set),
        kernels_{pair_kernels_for<T, PairView<T>>(instruction_set),
                 pair_kernels_for<T, TablePairView<T>>(instruction_set)},
        rebuild_kernels_(rebuild_kernels_for<T>(instruction_set)) {
    require(formulation.relative, "pairs are for relative margins");
  }

  // One loop over `rows`, ascending, in random order; those that stay active go to `active`, which
  // may be `rows`.
  template <class Pair, class Weights>
  SweepResult loop(const ClassPair& class_pair, Weights weights, DualLists<T>& z,
                   Vector<const std::int32_t> rows, Vector<std::int32_t> active, bool shrunk,
                   double min_gap, std::uint64_t seed) const {
    require(!this->examples().formulation.maximum, "loops are for sums of losses");
    require(active.size() >= rows.size(), "active must be as long as rows");
    const Pair pair = pair_of<Pair>(class_pair, weights);
    check_lists(z, class_pair);
    check_rows_of(class_pair, rows);
    const Examples<T> examples = labelled(class_pair);
    const auto kernel = shrunk ? kernels<Pair>().shrunk_sweep : kernels<Pair>().full_sweep;
    const nb::gil_scoped_release release;
    OwnedScratch<T> scratch(2 * class_pair.width, 2 * class_pair.width);
    Random random(seed);
    VisitOrder visits = this->new_visit_order();
    const auto sweep = [&](std::span<const std::int32_t> order, std::int32_t* still_active) {
      return kernel(examples, pair.view, z, scratch.view(), order, min_gap, still_active);
    };
    return loop_over({rows.data(), rows.size()}, active.data(), visits, this->rows_at_once(),
                     random, sweep, this->poll());
  }

  // The same for shares of budgets (class_pairs/crammer_singer.hpp), which examples of any class
  // block may have. `scored` has for every example the slots whose classes are all looked at;
  // empty: none.
  template <class Pair, class Weights>
  SweepResult trade(const ClassPair& class_pair, Weights weights, DualLists<T>& shares,
                    Vector<const std::int32_t> rows, Vector<std::int32_t> active,
                    Vector<const std::uint8_t> scored, std::uint64_t seed) const {
    require(this->examples().formulation.maximum, "shares are traded for the largest loss");
    require(active.size() >= rows.size(), "active must be as long as rows");
    const Pair pair = pair_of<Pair>(class_pair, weights);
    check_lists(shares, class_pair);
    this->check_rows(rows);
    require(scored.size() == 0 || scored.size() == class_pair.labels.size(),
            "scored must have a number for every example");
    const Examples<T> examples = labelled(class_pair);
    const nb::gil_scoped_release release;
    OwnedScratch<T> scratch(2 * class_pair.width, 2 * class_pair.width);
    Random random(seed);
    VisitOrder visits = this->new_visit_order();
    const std::uint8_t* slots = scored.size() == 0 ? nullptr : scored.data();
    const auto sweep = [&](std::span<const std::int32_t> order, std::int32_t* still_active) {
      return kernels<Pair>().trade(examples, pair.view, shares, scratch.view(), order, slots,
                                   still_active);
    };
    return loop_over({rows.data(), rows.size()}, active.data(), visits, this->rows_at_once(),
                     random, sweep, this->poll());
  }

  // Largest and smallest slacks and z . xi of every example, as far as these classes go.
  template <class Pair, class Weights>
  void survey(const ClassPair& class_pair, Weights weights, const DualLists<T>& z,
              Vector<const double> own_scores, Vector<double> largest, Vector<double> smallest,
              Vector<double> z_dot_xi) const {
    const std::size_t n = class_pair.labels.size();
    require(own_scores.size() == n && largest.size() == n && smallest.size() == n &&
                z_dot_xi.size() == n,
            "there must be one number per example");
    const Pair pair = pair_of<Pair>(class_pair, weights);
    check_lists(z, class_pair);
    const Examples<T> examples = labelled(class_pair);
    const SlackSurvey out{largest.data(), smallest.data(), z_dot_xi.data()};
    const nb::gil_scoped_release release;
    OwnedScratch<T> scratch(2 * class_pair.width, 2 * class_pair.width);
    in_chunks([&](std::int64_t begin, std::int64_t end) {
      kernels<Pair>().survey(examples, pair.view, own_scores.data(), z, scratch.view(), begin, end,
                             out);
    });
  }

  // w_y . x of the examples of the two class blocks, to their places in `out`.
  template <class Pair, class Weights>
  void own_scores(const ClassPair& class_pair, Weights weights, Vector<const std::int32_t> rows,
                  Vector<double> out) const {
    require(out.size() == class_pair.labels.size(), "there must be one score per example");
    const Pair pair = pair_of<Pair>(class_pair, weights);
    check_rows_of(class_pair, rows);
    const Examples<T> examples = labelled(class_pair);
    const nb::gil_scoped_release release;
    kernels<Pair>().own_scores(examples, pair.view, {rows.data(), rows.size()}, out.data());
  }

  template <class Pair, class Weights>
  SweepResult inspect(const ClassPair& class_pair, Weights weights, const DualLists<T>& z,
                      Vector<const double> own_scores, double norm) const {
    require(own_scores.size() == class_pair.labels.size(), "there must be one score per example");
    const Pair pair = pair_of<Pair>(class_pair, weights);
    check_lists(z, class_pair);
    const Examples<T> examples = labelled(class_pair);
    const nb::gil_scoped_release release;
    OwnedScratch<T> scratch(2 * class_pair.width, 2 * class_pair.width);
    SweepResult sum;
    in_chunks([&](std::int64_t begin, std::int64_t end) {
      add(kernels<Pair>().inspect(examples, pair.view, own_scores.data(), z, {nullptr, norm},
                                  scratch.view(), begin, end),
          sum);
    });
    return sum;
  }

  // W <- W(z) of the classes that are held: z counts scale_i times, within its bound, and w_{y_i}
  // gains totals_i x_i. Returns an upper bound of the distance between them.
  template <class Pair, class Weights>
  double rebuild(const ClassPair& class_pair, Weights weights, const DualLists<T>& z,
                 Vector<const double> totals, Vector<const double> scale) const {
    const std::size_t n = class_pair.labels.size();
    require(totals.size() == n && scale.size() == n, "there must be one number per example");
    const Pair pair = pair_of<Pair>(class_pair, weights);
    check_lists(z, class_pair);
    const Examples<T> examples = labelled(class_pair);
    const bool capped = !examples.formulation.squared && !examples.formulation.maximum;
    const auto each = [&](std::int64_t i, auto f) {
      z.each(i, [&](std::int32_t c, T value) {
        const double a = scale.data()[i] * static_cast<double>(value);
        f(c, -(capped ? std::min(a, examples.costs[i]) : a));
      });
      const std::int32_t y = examples.labels[i];
      if (y != kElsewhere && totals.data()[i] > 0) f(y, totals.data()[i]);
    };
    const nb::gil_scoped_release release;
    return rebuild_slots(pair.view, examples, each).bound(examples.x.n_rows);
  }

 private:
  template <class Pair>
  const auto& kernels() const {
    return std::get<const PairKernels<T, typename Pair::View>&>(kernels_);
  }

  template <class Pair, class Weights>
  Pair pair_of(const ClassPair& class_pair, Weights& weights) const {
    require(static_cast<std::int64_t>(class_pair.labels.size()) == this->examples().x.n_rows,
            "there must be one label per example");
    return {class_pair, weights, this->examples().x.n_features};
  }

  template <class Each>
  RebuildError rebuild_slots(const PairView<T>& pair, const Examples<T>& examples,
                             Each each) const {
    return rebuild_dense(rebuild_kernels_, examples, pair.w, nullptr, each, this->poll());
  }
  template <class Each>
  RebuildError rebuild_slots(const TablePairView<T>& pair, const Examples<T>& examples,
                             Each each) const {
    RebuildError error;
    ClassSums<T> sums(examples.x);
    for (HashTables<T>* slot : pair.slots) slot->clear();
    each_range(examples.x.n_rows, 2 * pair.width, 1, each, [&](const CoefficientBlocks& blocks) {
      for (int slot = 0; slot < 2; ++slot) {
        error.add(rebuild_tables(examples, *pair.slots[slot], slot * pair.width, blocks, sums));
      }
      this->poll()();
    });
    return error;
  }

  // All examples, with a look at the signals now and then.
  template <class Call>
  void in_chunks(Call call) const {
    const std::int64_t n = this->examples().x.n_rows;
    const auto size = static_cast<std::int64_t>(this->rows_at_once());
    for (std::int64_t begin = 0; begin < n; begin += size) {
      call(begin, std::min(begin + size, n));
      this->poll()();
    }
  }

  Examples<T> labelled(const ClassPair& class_pair) const {
    Examples<T> examples = this->examples();
    examples.labels = class_pair.labels.data();
    return examples;
  }

  void check_lists(const DualLists<T>& z, const ClassPair& class_pair) const {
    require(z.n_rows() == this->examples().x.n_rows && z.n_classes() == 2 * class_pair.width,
            "z must have one list per example, over the columns of the weights");
  }

  void check_rows_of(const ClassPair& class_pair, const Vector<const std::int32_t>& rows) const {
    this->check_rows(rows);
    for (std::size_t m = 0; m < rows.size(); ++m) {
      const std::int32_t i = rows.data()[m];
      require(class_pair.labels.data()[i] != kElsewhere, "a row belongs to another bundle");
    }
  }

  std::tuple<const PairKernels<T, PairView<T>>&, const PairKernels<T, TablePairView<T>>&> kernels_;
  const RebuildKernels<T>& rebuild_kernels_;
};

// The verbs of a trainer for W of one kind.
template <class Pair, class Weights, class T>
void bind_verbs(nb::class_<PairTrainer<T>>& trainer) {
  using Trainer = PairTrainer<T>;
  trainer
      .def("loop", &Trainer::template loop<Pair, Weights>, "meeting"_a, "weights"_a.noconvert(),
           "duals"_a, "rows"_a, "active"_a, "shrunk"_a, "min_gap"_a, "seed"_a)
      .def("own_scores", &Trainer::template own_scores<Pair, Weights>, "meeting"_a,
           "weights"_a.noconvert(), "rows"_a, "out"_a)
      .def("inspect", &Trainer::template inspect<Pair, Weights>, "meeting"_a,
           "weights"_a.noconvert(), "duals"_a, "own_scores"_a, "norm"_a)
      .def("trade", &Trainer::template trade<Pair, Weights>, "meeting"_a, "weights"_a.noconvert(),
           "shares"_a, "rows"_a, "active"_a, "scored"_a, "seed"_a)
      .def("survey", &Trainer::template survey<Pair, Weights>, "meeting"_a, "weights"_a.noconvert(),
           "duals"_a, "own_scores"_a, "largest"_a, "smallest"_a, "z_dot_xi"_a)
      .def("rebuild", &Trainer::template rebuild<Pair, Weights>, "meeting"_a,
           "weights"_a.noconvert(), "duals"_a, "totals"_a, "scale"_a);
}

template <class T>
void bind_pair_trainer(nb::module_& m, const char* name) {
  auto trainer = nb::class_<PairTrainer<T>>(m, name);
  bind_examples<T>(trainer);
  bind_verbs<DensePair<T>, Matrix<T>>(trainer);
  bind_verbs<TablePair<T>, PairTables<T>&>(trainer);
}

}  // namespace

void bind_pairs(nb::module_& m) {
  nb::class_<ClassPair>(m, "Meeting")
      .def(nb::init<std::int32_t, std::int32_t, std::int32_t, Vector<const std::int32_t>, bool>(),
           "width"_a, "n_first"_a, "n_second"_a, "labels"_a, "own_too"_a = true);
  bind_slot_rows(m);
  bind_pair_trainer<float>(m, "PairTrainer32");
  bind_pair_trainer<double>(m, "PairTrainer64");
}

}  // namespace manyclass
