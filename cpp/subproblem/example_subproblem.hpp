#pragma once
// The subproblem of one example, for every formulation, once its scores are known: its coordinates,
// the new z, the gain of the dual objective, and the step of W. Formulas and sources:
// subproblem/root_finding.hpp.
#include <limits>
#include <utility>

#include "data/examples.hpp"
#include "data/formulation.hpp"
#include "duals/dual_lists.hpp"
#include "simd/isa.hpp"
#include "simd/vector.hpp"
#include "subproblem/block_summary.hpp"
#include "subproblem/coordinate.hpp"
#include "subproblem/root_finding.hpp"

namespace manyclass::MANYCLASS_ISA {

// Up to so many classes a centred W itself is stored, and a step changes all classes; beyond, U and
// its mean are stored apart. In float W itself is always stored: U less its mean may lose most
// digits to cancellation.
template <class T>
inline constexpr std::int32_t kCentredClasses =
    sizeof(T) == 4 ? std::numeric_limits<std::int32_t>::max() : 64;

// The gain of the dual objective by a solved block, and the step of W along x_i.
struct BlockStep {
  double gain = 0;
  std::span<const Step> step;
};

template <class T>
class ExampleSubproblem {
 public:
  // `mean_apart`: the step of a centred W tells the change of the mean, in column k.
  ExampleSubproblem(const Examples<T>& examples, std::int32_t n_classes, Scratch<T> scratch,
                    bool mean_apart = false)
      : examples_(examples),
        f_(examples.formulation),
        n_classes_(n_classes),
        scratch_(scratch),
        mean_apart_(mean_apart),
        v_others_(f_.relative ? 1 : -1),
        sigma_(f_.relative  ? 1.0
               : f_.centred ? -1.0 / n_classes
                            : -f_.drift) {}

  BlockSummary begin(double s_y, double centre) const {
    BlockSummary found;
    found.offset = f_.gamma - (f_.relative ? s_y : centre);
    return found;
  }

  void add_other(const DualEntry<T>& entry, double score, double cost, BlockSummary& found) {
    const double xi = found.offset + score;
    add_coordinate({entry.label, static_cast<double>(entry.value), xi, v_others_, 0, 0}, cost,
                   found);
  }

  void add_own(std::int32_t y, double z, double score, double cost, BlockSummary& found) {
    add_coordinate({y, z, f_.gamma_own - score, 1, 0, 0}, cost, found);
  }

  // The block of example i from the scores of all classes, which scratch.scores has: `stride`
  // numbers, those that are no class's -inf. `centre` is taken off all. Sets scores that are used
  // up to -inf.
  BlockSummary summarise(std::int64_t i, std::span<const DualEntry<T>> z, double centre,
                         std::int64_t stride) {
    constexpr T kNone = -std::numeric_limits<T>::infinity();
    T* s = scratch_.scores;
    const std::int32_t y = examples_.labels[i];
    const double s_y = y == kElsewhere ? 0 : static_cast<double>(s[y]);
    for (std::int64_t c = n_classes_; c < stride; ++c) s[c] = kNone;
    if (y != kElsewhere) s[y] = kNone;
    const double cost = examples_.costs[i];
    BlockSummary found = begin(s_y, centre);
    double z_own = 0;
    for (const DualEntry<T>& entry : z) {
      if (entry.label == y) {
        z_own = static_cast<double>(entry.value);
      } else {
        add_other(entry, static_cast<double>(s[entry.label]), cost, found);
        s[entry.label] = kNone;
      }
    }
    if (f_.own && y != kElsewhere) add_own(y, z_own, s_y - centre, cost, found);
    if (f_.others) add_rest(static_cast<std::size_t>(stride), found);
    return found;
  }

  // The classes with z > 0, and y, for summarise_support; returns their number.
  std::size_t list_support(std::int64_t i, std::span<const DualEntry<T>> z) const {
    const std::int32_t y = examples_.labels[i];
    std::size_t size = 0;
    for (const DualEntry<T>& entry : z) scratch_.labels[size++] = entry.label;
    scratch_.labels[size] = y == kElsewhere ? 0 : y;
    return size + 1;
  }

  // The block of the classes with z > 0 alone; scratch.scores has their scores, then that of y.
  BlockSummary summarise_support(std::int64_t i, std::span<const DualEntry<T>> z, double centre) {
    const T* s = scratch_.scores;
    const std::int32_t y = examples_.labels[i];
    const double s_y = static_cast<double>(s[z.size()]), cost = examples_.costs[i];
    BlockSummary found = begin(s_y, centre);
    double z_own = 0;
    for (std::size_t m = 0; m < z.size(); ++m) {
      if (z[m].label == y) {
        z_own = static_cast<double>(z[m].value);
      } else {
        add_other(z[m], static_cast<double>(s[m]), cost, found);
      }
    }
    if (f_.own && y != kElsewhere) add_own(y, z_own, s_y - centre, cost, found);
    return found;
  }

  // The classes with z = 0, whose scores are those among the first n that are not -inf; n is a
  // multiple of the lanes.
  void add_rest(std::size_t n, BlockSummary& found) const { add_rest(scratch_.scores, n, found); }

  // The same for n scores of some classes, after others.
  void add_rest(const T* s, std::size_t n, BlockSummary& found) const {
    const double best = found.offset + static_cast<double>(largest(s, n));
    found.xi_others = std::max(found.xi_others, best);
    found.xi_max = std::max(found.xi_max, best);
    if (f_.maximum || best <= 0) return;
    found.losses += sum_of_losses(s, n, static_cast<T>(found.offset), f_.squared);
    found.violation = std::max(found.violation, best);
  }

  void add_coordinate(const Coordinate& c, double cost, BlockSummary& found) {
    scratch_.block[found.size++] = c;
    found.sum_z += c.z;
    found.sum_vz += c.v * c.z;
    found.z_dot_xi += c.z * c.xi;
    found.xi_max = std::max(found.xi_max, c.xi);
    if (c.z > 0) found.xi_min = std::min(found.xi_min, c.xi);
    if (f_.maximum) return;
    const double loss = std::max(0.0, c.xi);
    found.losses += f_.squared ? loss * loss : loss;
    found.squares += c.z * c.z;
    found.violation = std::max(found.violation, violation(c, cost));
  }

  // Of one coordinate of a sum formulation (Keerthi et al. 2008, eq. 18).
  double violation(const Coordinate& c, double cost) const {
    const double gradient = f_.squared ? c.xi - c.z / (2 * cost) : c.xi;
    if (c.z <= 0) return std::max(0.0, gradient);
    if (!f_.squared && c.z >= cost * kAtBound<T>) return std::max(0.0, -gradient);
    return std::abs(gradient);
  }

  // The best z of example i: its block, with z_new as it will be stored.
  std::span<const Coordinate> solve(std::int64_t i, const BlockSummary& found) {
    const double q = examples_.norms[i];
    const double cost = examples_.costs[i];
    std::span<Coordinate> block;
    if (f_.relative && f_.maximum) {
      block = solve_crammer_singer(found, q, cost);
    } else {
      block = solve_box(found, q, cost);
      if (f_.maximum) cap_sum(block, found.sum_vz, sigma_, q, cost);
    }
    round(block);
    return block;
  }

  // Store a solved block as the z of example i.
  static void keep(std::span<const Coordinate> block, std::int64_t i, DualLists<T>& z) {
    std::size_t n_kept = 0;
    for (const Coordinate& c : block) n_kept += c.z_new > 0 ? 1 : 0;
    DualEntry<T>* kept = z.resize(i, n_kept).data();
    for (const Coordinate& c : block) {
      if (c.z_new > 0) *kept++ = {c.label, static_cast<T>(c.z_new)};
    }
  }

  // What a solved block of example i changes.
  BlockStep step(std::int64_t i, std::span<const Coordinate> block) const {
    double gain = 0, squares = 0, sum_v = 0, sum_z2 = 0;
    std::size_t n_steps = 0;
    for (const Coordinate& c : block) {
      const double delta = c.z_new - c.z;
      if (delta == 0) continue;
      scratch_.step[n_steps++] = {c.label, f_.relative ? -delta : c.v * delta};
      gain += delta * c.xi;
      squares += delta * delta;
      sum_v += c.v * delta;
      sum_z2 += c.z_new * c.z_new - c.z * c.z;
    }
    if (n_steps == 0) return {};
    n_steps = close_step(examples_.labels[i], sum_v, n_steps);
    const double ridge = f_.squared ? sum_z2 / (4 * examples_.costs[i]) : 0;
    gain -= 0.5 * examples_.norms[i] * (squares + sigma_ * sum_v * sum_v) + ridge;
    return {gain, {scratch_.step, n_steps}};
  }

  // Add an example to the sums; returns its violation v_i.
  double tally(const BlockSummary& found, double cost, SweepResult& result) const {
    const double loss = cost * (f_.maximum ? std::max(0.0, found.xi_max) : found.losses);
    double v = found.violation;
    if (f_.maximum) {
      const double low =
          found.sum_z >= cost * kAtBound<T> ? found.xi_min : std::min(found.xi_min, 0.0);
      v = std::max(0.0, std::max(found.xi_max, 0.0) - low);
    }
    result.loss += loss;
    result.gap += loss - found.z_dot_xi + (f_.squared ? found.squares / (4 * cost) : 0.0);
    result.max_violation = std::max(result.max_violation, v);
    return v;
  }

  // An example stays active while its z could still move within its non-zero entries.
  bool is_active(std::span<const DualEntry<T>> z, double cost) const {
    if (f_.squared || (f_.maximum && z.size() != 1)) return !z.empty();
    for (const DualEntry<T>& entry : z) {
      if (static_cast<double>(entry.value) < cost * kAtBound<T>) return true;
    }
    return false;
  }

 private:
  static constexpr auto kL = static_cast<std::int32_t>(kLanes<T>);
  static constexpr std::int32_t kClassesAtOnce = 4 * kL;

  std::span<Coordinate> solve_crammer_singer(const BlockSummary& found, double q, double cost) {
    const Reference from = largest_b({scratch_.block, found.size}, found.xi_others, q);
    const double b_max = from.z + found.sum_z + from.xi / q;
    const double lowest = simplex_root_of(0, 1, b_max, cost);
    const double xi_wanted = from.xi + q * (lowest + from.z);
    const std::size_t size = add_others(found, xi_wanted);
    const std::span<Coordinate> block(scratch_.block, size);
    set_b(block, from, q);
    project(block, simplex_root(block, b_max, cost));
    return block;
  }

  // Sum formulations; also the maximum ones as long as their sum stays free.
  std::span<Coordinate> solve_box(const BlockSummary& found, double q, double cost) {
    const double ridge = f_.squared ? 1 / (2 * cost * q) : 0;
    const Box box{sigma_, 1 + ridge, f_.squared ? kInfinity : cost};
    const auto set_b = [&](std::span<Coordinate> block) {
      for (Coordinate& c : block) c.b = c.z + sigma_ * c.v * found.sum_vz + c.xi / q;
    };
    double t = found.sum_vz;
    double xi_wanted = sigma_ < 0 ? -kInfinity : 0;
    if (sigma_ > 0 && found.xi_others > -q * t) {
      // The root of some coordinates is a lower bound: the classes below it stay at zero.
      scratch_.block[found.size] = {0, 0, found.xi_others, 1, 0, 0};
      const std::span<Coordinate> some(scratch_.block, found.size + 1);
      set_b(some);
      t = box_root(some, box, t);
      xi_wanted = q * (t - found.sum_vz);
    }
    const std::size_t size = add_others(found, xi_wanted);
    const std::span<Coordinate> block(scratch_.block, size);
    set_b(block);
    if (sigma_ != 0) t = box_root(block, box, t);
    for (Coordinate& c : block) c.z_new = box.z(c, t);
    return block;
  }

  // Append the classes c != y with z = 0 and xi >= xi_wanted.
  std::size_t add_others(const BlockSummary& found, double xi_wanted) {
    std::size_t size = found.size;
    if (found.xi_others == -kInfinity || !(found.xi_others >= xi_wanted)) return size;
    const T* s = scratch_.scores;
    for (std::int32_t first = 0; first < n_classes_; first += kClassesAtOnce) {
      // Most blocks have no class that matters; padding is -inf.
      const std::int32_t end = std::min(first + kClassesAtOnce, n_classes_);
      const auto padded = static_cast<std::size_t>(end - first + kL - 1) / kL * kL;
      if (found.offset + static_cast<double>(largest(s + first, padded)) < xi_wanted) continue;
      for (std::int32_t c = first; c < end; ++c) {
        // In double, as xi_others was: where x is tiny, scores differ by less than T shows next
        // to 1.
        const double xi = found.offset + static_cast<double>(s[c]);
        if (xi >= xi_wanted && xi != -kInfinity) {
          scratch_.block[size++] = {c, 0, xi, v_others_, 0, 0};
        }
      }
    }
    return size;
  }

  // Round to T. A z that is tiny beside the largest one is noise of the scores and becomes 0;
  // otherwise it would count as a violation.
  static void round(std::span<Coordinate> block) {
    double largest_z = 0;
    for (const Coordinate& c : block) largest_z = std::max(largest_z, c.z_new);
    const double noise = largest_z * static_cast<double>(std::numeric_limits<T>::epsilon());
    for (Coordinate& c : block) {
      const T rounded = static_cast<T>(c.z_new);
      c.z_new = static_cast<double>(rounded > noise ? rounded : T{0});
    }
  }

  // Append the part of a step that does not belong to one coordinate; `sum_v` is v^T delta.
  std::size_t close_step(std::int32_t y, double sum_v, std::size_t n_steps) const {
    if (f_.relative) scratch_.step[n_steps++] = {y, sum_v};
    if (f_.drift > 0) scratch_.step[n_steps++] = {n_classes_, f_.drift * sum_v};
    if (!f_.centred) return n_steps;
    const double mean = sum_v / n_classes_;
    if (mean_apart_) {
      scratch_.step[n_steps++] = {n_classes_, mean};
      return n_steps;
    }
    return centre_step(mean, n_steps);
  }

  // Every class moves by minus the mean.
  std::size_t centre_step(double mean, std::size_t n_steps) const {
    for (std::size_t m = 0; m < n_steps; ++m) {
      scratch_.dense_step[scratch_.step[m].label] = 1;
      scratch_.step[m].delta -= mean;
    }
    for (std::int32_t c = 0; c < n_classes_; ++c) {
      if (scratch_.dense_step[c] == 0) scratch_.step[n_steps++] = {c, -mean};
      scratch_.dense_step[c] = 0;
    }
    return n_steps;
  }

 protected:
  const Examples<T>& examples_;
  const Formulation& f_;
  std::int32_t n_classes_;
  Scratch<T> scratch_;
  bool mean_apart_;
  double v_others_;
  double sigma_;
};

}  // namespace manyclass::MANYCLASS_ISA
