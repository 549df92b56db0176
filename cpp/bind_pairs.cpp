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

// Two bundles that meet: the columns of a slot, the classes in each, and the column of every y_i
// (-1 where y_i is in neither).
struct Meeting {
  Meeting(std::int32_t width_, std::int32_t n_first_, std::int32_t n_second_,
          Vector<const std::int32_t> labels_)
      : width(width_), n_first(n_first_), n_second(n_second_), labels(std::move(labels_)) {
    require(width > 0 && width < (1 << 30), "a slot must have a column");
    require(0 <= n_first && n_first <= width && 0 <= n_second && n_second <= width,
            "a slot has too few columns for its classes");
    for (std::size_t i = 0; i < labels.size(); ++i) {
      require(kElsewhere <= labels.data()[i] && labels.data()[i] < 2 * width, "label out of range");
    }
  }
  std::int32_t width;
  std::int32_t n_first;
  std::int32_t n_second;
  Vector<const std::int32_t> labels;
};

template <class T>
const PairKernels<T>& pair_kernels_for(const std::string& name) {
  require_instruction_set(name);
#ifdef MANYCLASS_X86
  if (name == "avx512") return avx512::pair_kernels<T>();
  if (name == "avx2") return avx2::pair_kernels<T>();
#endif
  return baseline::pair_kernels<T>();
}

// All examples, of which those of two bundles are visited where these meet.
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
    require(formulation.relative, "pairs are for relative margins");
  }

  // One loop over `rows`, ascending, in random order; those that stay active go to `active`, which
  // may be `rows`.
  SweepResult loop(const Meeting& meeting, Matrix<T> weights, DualLists<T>& z,
                   Vector<const std::int32_t> rows, Vector<std::int32_t> active, bool shrunk,
                   double min_gap, std::uint64_t seed) const {
    require(!this->examples().formulation.maximum, "loops are for sums of losses");
    require(active.size() >= rows.size(), "active must be as long as rows");
    const PairView<T> pair = view(meeting, weights);
    check_lists(z, pair);
    check_rows_of(meeting, rows);
    const Examples<T> examples = labelled(meeting);
    const auto kernel = shrunk ? kernels_.shrunk_sweep : kernels_.full_sweep;
    const nb::gil_scoped_release release;
    OwnedScratch<T> scratch(pair.w.n_classes, pair.w.stride);
    Random random(seed);
    Visits visits = this->new_visits();
    const auto sweep = [&](std::span<const std::int32_t> order, std::int32_t* still_active) {
      return kernel(examples, pair, z, scratch.view(), order, min_gap, still_active);
    };
    return loop_over({rows.data(), rows.size()}, active.data(), visits, this->rows_at_once(),
                     random, sweep, this->poll());
  }

  // The same for shares of budgets (pair_simplex.hpp), which examples of any bundle may have.
  // `scored` has for every example the slots whose classes are all looked at; empty: none.
  SweepResult trade(const Meeting& meeting, Matrix<T> weights, DualLists<T>& shares,
                    Vector<const std::int32_t> rows, Vector<std::int32_t> active,
                    Vector<const std::uint8_t> scored, std::uint64_t seed) const {
    require(this->examples().formulation.maximum, "shares are traded for the largest loss");
    require(active.size() >= rows.size(), "active must be as long as rows");
    const PairView<T> pair = view(meeting, weights);
    check_lists(shares, pair);
    check_rows(rows);
    require(scored.size() == 0 || scored.size() == meeting.labels.size(),
            "scored must have a number for every example");
    const Examples<T> examples = labelled(meeting);
    const nb::gil_scoped_release release;
    OwnedScratch<T> scratch(pair.w.n_classes, pair.w.stride);
    Random random(seed);
    Visits visits = this->new_visits();
    const std::uint8_t* slots = scored.size() == 0 ? nullptr : scored.data();
    const auto sweep = [&](std::span<const std::int32_t> order, std::int32_t* still_active) {
      return kernels_.trade(examples, pair, shares, scratch.view(), order, slots, still_active);
    };
    return loop_over({rows.data(), rows.size()}, active.data(), visits, this->rows_at_once(),
                     random, sweep, this->poll());
  }

  // Largest and smallest slacks and z . xi of every example, as far as these classes go.
  void survey(const Meeting& meeting, Matrix<T> weights, const DualLists<T>& z,
              Vector<const T> own_scores, Vector<double> largest, Vector<double> smallest,
              Vector<double> z_dot_xi) const {
    const std::size_t n = meeting.labels.size();
    require(own_scores.size() == n && largest.size() == n && smallest.size() == n &&
                z_dot_xi.size() == n,
            "there must be one number per example");
    const PairView<T> pair = view(meeting, weights);
    check_lists(z, pair);
    const Examples<T> examples = labelled(meeting);
    const SlackSurvey out{largest.data(), smallest.data(), z_dot_xi.data()};
    const nb::gil_scoped_release release;
    OwnedScratch<T> scratch(pair.w.n_classes, pair.w.stride);
    in_parts([&](std::int64_t begin, std::int64_t end) {
      kernels_.survey(examples, pair, own_scores.data(), z, scratch.view(), begin, end, out);
    });
  }

  // w_y . x of the examples of the two bundles, to their places in `out`.
  void own_scores(const Meeting& meeting, Matrix<T> weights, Vector<const std::int32_t> rows,
                  Vector<T> out) const {
    require(out.size() == meeting.labels.size(), "there must be one score per example");
    const PairView<T> pair = view(meeting, weights);
    check_rows_of(meeting, rows);
    const Examples<T> examples = labelled(meeting);
    const nb::gil_scoped_release release;
    kernels_.own_scores(examples, pair, {rows.data(), rows.size()}, out.data());
  }

  SweepResult inspect(const Meeting& meeting, Matrix<T> weights, const DualLists<T>& z,
                      Vector<const T> own_scores) const {
    require(own_scores.size() == meeting.labels.size(), "there must be one score per example");
    const PairView<T> pair = view(meeting, weights);
    check_lists(z, pair);
    const Examples<T> examples = labelled(meeting);
    const nb::gil_scoped_release release;
    OwnedScratch<T> scratch(pair.w.n_classes, pair.w.stride);
    SweepResult sum;
    in_parts([&](std::int64_t begin, std::int64_t end) {
      add(kernels_.inspect(examples, pair, own_scores.data(), z, scratch.view(), begin, end), sum);
    });
    return sum;
  }

  // w_c += a_ic x_i.
  void add_rows(const Meeting& meeting, Matrix<T> weights, const DualLists<T>& a) const {
    const PairView<T> pair = view(meeting, weights);
    check_lists(a, pair);
    const nb::gil_scoped_release release;
    OwnedScratch<T> scratch(pair.w.n_classes, pair.w.stride);
    in_parts([&](std::int64_t begin, std::int64_t end) {
      kernels_.add(this->examples(), pair, a, scratch.view(), begin, end);
    });
  }

 private:
  // All examples, with a look at the signals now and then.
  template <class Call>
  void in_parts(Call call) const {
    const std::int64_t n = this->examples().x.n_rows;
    const auto size = static_cast<std::int64_t>(this->rows_at_once());
    for (std::int64_t begin = 0; begin < n; begin += size) {
      call(begin, std::min(begin + size, n));
      this->poll()();
    }
  }

  Examples<T> labelled(const Meeting& meeting) const {
    Examples<T> examples = this->examples();
    examples.labels = meeting.labels.data();
    return examples;
  }

  void check_lists(const DualLists<T>& z, const PairView<T>& pair) const {
    require(z.n_rows() == this->examples().x.n_rows && z.n_classes() == pair.w.stride,
            "z must have one list per example, over the columns of the weights");
  }

  void check_rows(const Vector<const std::int32_t>& rows) const {
    for (std::size_t m = 0; m < rows.size(); ++m) {
      require(0 <= rows.data()[m] && rows.data()[m] < this->examples().x.n_rows,
              "rows out of range");
    }
  }

  void check_rows_of(const Meeting& meeting, const Vector<const std::int32_t>& rows) const {
    check_rows(rows);
    for (std::size_t m = 0; m < rows.size(); ++m) {
      const std::int32_t i = rows.data()[m];
      require(meeting.labels.data()[i] != kElsewhere, "a row belongs to another bundle");
    }
  }

  PairView<T> view(const Meeting& meeting, const Matrix<T>& weights) const {
    const auto& x = this->examples().x;
    const auto stride = static_cast<std::int64_t>(weights.shape(1));
    require(static_cast<std::int64_t>(weights.shape(0)) == x.n_features + 1,
            "weights must have n_features + 1 rows");
    require(stride == 2 * meeting.width && stride * sizeof(T) % 64 == 0,
            "rows of weights must be two slots, in whole blocks of 64 bytes");
    require(reinterpret_cast<std::uintptr_t>(weights.data()) % 64 == 0,
            "weights must be aligned to 64 bytes");
    require(static_cast<std::int64_t>(meeting.labels.size()) == x.n_rows,
            "there must be one label per example");
    return {{weights.data(), x.n_features, static_cast<std::int32_t>(stride), stride},
            meeting.width,
            {meeting.n_first, meeting.n_second}};
  }

  const PairKernels<T>& kernels_;
};

template <class T>
void bind_pair_trainer(nb::module_& m, const char* name) {
  using Trainer = PairTrainer<T>;
  auto trainer = nb::class_<Trainer>(m, name);
  bind_examples<T>(trainer);
  trainer
      .def("loop", &Trainer::loop, "meeting"_a, "weights"_a, "duals"_a, "rows"_a, "active"_a,
           "shrunk"_a, "min_gap"_a, "seed"_a)
      .def("own_scores", &Trainer::own_scores, "meeting"_a, "weights"_a, "rows"_a, "out"_a)
      .def("inspect", &Trainer::inspect, "meeting"_a, "weights"_a, "duals"_a, "own_scores"_a)
      .def("trade", &Trainer::trade, "meeting"_a, "weights"_a, "shares"_a, "rows"_a, "active"_a,
           "scored"_a, "seed"_a)
      .def("survey", &Trainer::survey, "meeting"_a, "weights"_a, "duals"_a, "own_scores"_a,
           "largest"_a, "smallest"_a, "z_dot_xi"_a)
      .def("add_rows", &Trainer::add_rows, "meeting"_a, "weights"_a, "coefficients"_a);
}

}  // namespace

void bind_pairs(nb::module_& m) {
  nb::class_<Meeting>(m, "Meeting")
      .def(nb::init<std::int32_t, std::int32_t, std::int32_t, Vector<const std::int32_t>>(),
           "width"_a, "n_first"_a, "n_second"_a, "labels"_a);
  bind_pair_trainer<float>(m, "PairTrainer32");
  bind_pair_trainer<double>(m, "PairTrainer64");
}

}  // namespace manyclass
