// Tests of the core without Python. The program prints each failed check and returns 1 if there
// is one.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "data/examples.hpp"
#include "data/loss.hpp"
#include "data/visit_order.hpp"
#include "dense_rows/batch_loop.hpp"
#include "dual/problem.hpp"
#include "duals/dual_lists.hpp"
#include "engines/engine.hpp"
#include "engines/weight_array.hpp"
#include "logistic/by_feature.hpp"
#include "logistic/pass_team.hpp"
#include "simd/dispatch.hpp"
#include "weights/hash_tables.hpp"

namespace manyclass {
namespace {

int n_failed = 0;

void check(bool condition, const char* what) {
  if (condition) return;
  std::printf("failed: %s\n", what);
  ++n_failed;
}

// Hash tables contain the same weights as a map, before and after they become plain rows.
void test_hash_tables() {
  constexpr std::int32_t kClasses = 300;
  HashTables<float> tables(2, kClasses, 2);
  std::map<std::uint32_t, float> expected;
  Random random(0);
  while (expected.size() < 250) {
    const std::uint32_t c = random.below(kClasses);
    if (expected.contains(c)) continue;
    expected[c] = static_cast<float>(c + 1);
    *tables.insert(1, c) = expected[c];
    std::map<std::uint32_t, float> found;
    tables.for_each(1, [&](std::uint32_t label, float weight) { found[label] = weight; });
    if (found != expected) return check(false, "a table holds the weights that were inserted");
  }
  check(tables.row(1).is_dense(), "a feature with many classes becomes a plain row");
  check(tables.row(0).size == 0, "other features stay empty");
  tables.clear();
  check(tables.squared_norm() == 0, "clear sets W = 0");
}

// Lists keep their entries while other lists grow and shrink.
void test_dual_lists() {
  constexpr std::int32_t kRows = 20, kClasses = 50;
  DualLists<double> z(kRows, kClasses);
  std::vector<std::vector<DualEntry<double>>> expected(kRows);
  Random random(1);
  for (int change = 0; change < 500; ++change) {
    const std::uint32_t i = random.below(kRows);
    expected[i].clear();
    const std::uint32_t size = random.below(kClasses + 1);
    for (std::uint32_t c = 0; c < size; ++c) {
      expected[i].push_back({static_cast<std::int32_t>(c), change + 1.0});
    }
    z.set(i, expected[i]);
  }
  std::int64_t count = 0;
  bool equal = true;
  for (std::int32_t i = 0; i < kRows; ++i) {
    std::size_t next = 0;
    const auto& list = expected[static_cast<std::size_t>(i)];
    z.each(i, [&](std::int32_t label, double value) {
      equal = equal && next < list.size() && list[next].label == label && list[next].value == value;
      ++next;
    });
    equal = equal && next == list.size();
    count += static_cast<std::int64_t>(list.size());
  }
  check(equal, "lists hold the entries that were set last");
  check(z.count() == count, "count is that of all entries");
}

// Two features and three classes; the last two rows are equal.
struct SmallProblem {
  std::vector<std::int64_t> indptr{0, 1, 2, 4, 6};
  std::vector<std::int32_t> indices{0, 1, 0, 1, 0, 1};
  std::vector<double> values{1, 1, -1, -1, -1, -1};
  std::vector<std::int32_t> labels{0, 1, 2, 2};
  std::vector<double> costs{1, 2, 1, 0.5};

  std::shared_ptr<const Problem<double>> checked(const Formulation& f,
                                                 const std::string& instruction_set) const {
    const ExampleArrays<double> arrays{f, indptr, indices, values, 2, 1.0, labels, 3, costs};
    return std::make_shared<const Problem<double>>(arrays, instruction_set, [] {});
  }
};

// The numbers of W, row by row, without zeros.
std::vector<double> numbers_of(const AnyWeights& weights) {
  if (const auto* csr = std::get_if<AnyCsr>(&weights)) {
    return std::get<CsrArrays<double>>(*csr).values;
  }
  const auto& W = std::get<OwnedMatrix<double>>(std::get<AnyMatrix>(weights));
  std::vector<double> found;
  for (std::int64_t j = 0; j < W.n_rows; ++j) {
    for (std::int64_t c = 0; c < W.n_columns; ++c) {
      const double w = W.data[j * W.row_stride + c * W.column_stride];
      if (w != 0) found.push_back(w);
    }
  }
  return found;
}

constexpr Formulation kCrammerSinger{true, true, false, true, false, Loss{}, 1, 0};
constexpr Formulation kWestonWatkins{true, true, false, false, false, Loss{}, 1, 0};

// An engine of any layout trains, computes its certificate, and returns its W and z.
void test_engine(const EngineOptions& options, const Formulation& f,
                 const std::string& instruction_set) {
  const SmallProblem problem;
  const auto engine = make_engine(problem.checked(f, instruction_set), options);
  std::vector<std::int32_t> rows(4), active(4);
  std::iota(rows.begin(), rows.end(), 0);
  double dual = engine->constant_loss();
  for (std::uint64_t loop = 0; loop < 200; ++loop) {
    dual += engine->full_loop(rows, active, -1.0, loop).dual_gain;
  }
  check(engine->rebuild() < 1e-12, "W(z) is rebuilt to the rounding");
  GapSums found;
  for (const GapSums& part : engine->gap_sums(nullptr, {}, 1.0)) found.add(part);
  check(found.gap.value() < 1e-9, "the gap closes");

  const auto z = std::get<CsrArrays<double>>(engine->duals());
  const auto other = make_engine(problem.checked(f, instruction_set), options);
  other->set_duals(z.indptr, z.labels, z.values);
  other->rebuild();
  const std::vector<double> W = numbers_of(other->copy_weights());
  check(W == numbers_of(engine->release_weights()), "W(z) is that of the z that was taken over");
  const double square = std::inner_product(W.begin(), W.end(), W.begin(), 0.0);
  check(std::abs(0.5 * square + found.loss.value() - dual) < 1e-9 * dual, "P = D");
}

// C loss(xi) - z xi + R(z) >= 0 for every feasible z, and 0 at the best z; its derivative in z is
// minus the gradient of D.
void test_loss(const Loss& loss) {
  bool holds = true, is_tight = true, has_gradient = true;
  for (const double cost : {0.25, 1.0, 4.0}) {
    for (double xi = -2; xi <= 2; xi += 0.25) {
      const double best = xi > 0 ? loss.slope(xi, cost) : 0.0;
      is_tight = is_tight && std::abs(loss.term(best, xi, cost)) < 1e-12;
      for (double z = 0; z <= std::min(loss.upper(cost), 8.0); z += 0.125) {
        const double term = loss.term(z, xi, cost);
        const double direct = cost * loss(xi) - z * xi + loss.regularizer(z * z, cost);
        holds = holds && term >= 0 && std::abs(term - direct) < 1e-12;
        const double slope = (loss.term(z + 1e-6, xi, cost) - term) / 1e-6;
        has_gradient = has_gradient && std::abs(slope + loss.gradient(z, xi, cost)) < 1e-5;
      }
    }
  }
  check(holds, "the Fenchel-Young inequality holds");
  check(is_tight, "it is tight at the best z");
  check(has_gradient, "the gradient is that of D");
}

template <class Call>
bool refused(Call call) {
  try {
    call();
  } catch (const std::invalid_argument&) {
    return true;
  }
  return false;
}

void test_threads_of_visits() {
  check(threads_worth_visits(6412, 256, 105) == 3, "a thread has 2^18 multiply-adds of a batch");
  check(threads_worth_visits(25000, 1000, 30) == 3, "a thread has a block of classes");
  check(threads_worth_visits(500, 256, 284) == 1, "few rows are visited by one thread");
  check(threads_worth_visits(50000, 64, 100) == 1, "small products are computed by one thread");
  check(threads_worth_visits(0, 0, 2) == 1, "without rows there is one");
}

// Ranges for rows with the features 0, 1, 9 in ascending or descending order, and an intercept.
std::vector<Range> shares_of(bool ascending, int size) {
  const std::vector<std::int64_t> indptr{0, 3, 6};
  const std::vector<std::int32_t> up{0, 1, 9, 0, 1, 9}, down{9, 1, 0, 9, 1, 0};
  const std::vector<float> values(6, 1.0F);
  const FeatureShares shares(
      Csr<float>{indptr.data(), (ascending ? up : down).data(), values.data(), 2, 20, 1.0F});
  std::vector<Range> found;
  for (int m = 0; m < size; ++m) found.push_back(shares.of(m, size));
  return found;
}

void test_features_of_threads() {
  const auto are = [](const std::vector<Range>& found, const std::vector<std::int64_t>& ends) {
    bool same = found.front().first == 0;
    for (std::size_t m = 0; m < found.size(); ++m) {
      same = same && found[m].last == ends[m] && (m == 0 || found[m].first == ends[m - 1]);
    }
    return same;
  };
  check(are(shares_of(true, 1), {21}), "one thread has all features");
  check(are(shares_of(true, 2), {9, 21}), "threads have about equally many numbers of X");
  check(are(shares_of(true, 4), {1, 9, 20, 21}), "the intercept is a feature");
  check(are(shares_of(false, 2), {21, 21}), "one thread has all where features do not ascend");
  const Range columns = columns_of<float>(1, 2, 48);
  check(columns.first == 16 && columns.last == 48, "columns are whole blocks of 64 bytes");
}

void test_refusals() {
  const auto check_of = [](const SmallProblem& problem) {
    return [&problem] { problem.checked(kCrammerSinger, instruction_sets().back()); };
  };
  SmallProblem problem;
  check(!refused(check_of(problem)), "a valid problem is taken");
  problem.indices[3] = 2;
  check(refused(check_of(problem)), "a feature out of range is refused");
  problem = {};
  problem.labels[0] = 3;
  check(refused(check_of(problem)), "a label out of range is refused");
  problem = {};
  problem.costs[1] = 0;
  check(refused(check_of(problem)), "a cost of 0 is refused");
  check(refused([] { Loss::named("log_loss"); }), "a loss that is not of slacks is refused");
}

}  // namespace
}  // namespace manyclass

int main() {
  using namespace manyclass;
  test_hash_tables();
  test_dual_lists();
  test_loss(Loss::named("hinge"));
  test_loss(Loss::named("squared_hinge"));
  const std::vector<std::int32_t> order{2, 0, 1};
  for (const std::string& instruction_set : instruction_sets()) {
    for (const Storage storage : {Storage::kByFeature, Storage::kByClass, Storage::kTables}) {
      for (const bool lists : {false, true}) {
        const EngineOptions options{storage, 2, lists, order, 4};
        test_engine(options, kCrammerSinger, instruction_set);
        test_engine(options, kWestonWatkins, instruction_set);
      }
    }
  }
  test_threads_of_visits();
  test_features_of_threads();
  test_refusals();
  return n_failed == 0 ? 0 : 1;
}
