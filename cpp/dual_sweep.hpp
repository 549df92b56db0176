#pragma once
// One loop of the sequential dual method over given examples, for every formulation:
//
//   max_z  D(z) = sum_ic gamma_c z_ic - 1/2 ||W(z)||^2 [- sum_ic z_ic^2 / (4 C_i): squared hinge]
//   s.t.   z_ic >= 0 for c in T_i;  hinge: z_ic <= C_i (sum), or sum_c z_ic <= C_i (maximum)
//
//   relative margins:  w_c(z) = sum_i ([c = y_i] sum_m z_im - z_ic) x_i
//   absolute margins:  u_c(z) = sum_i ([c = y_i] - [c != y_i]) z_ic x_i,
//                      w_c = u_c, or u_c - mean_m u_m where W is centred
//
// Given: the examples (C_i > 0, x_i != 0), z and the weights of z. Each visit maximises D over the
// z of one example, exactly (block.hpp), and brings the weights along. Returned: sums over the
// visits (kernels.hpp). Centred weights are kept as U and, in column k, their mean, so that a step
// touches only the classes whose z moved. Sources: Keerthi et al. 2008, algorithms 2.1 and 3.1,
// shrinking in sec. 2.3; Alber et al. 2017, sec. 3 (the mean apart).
#include <limits>
#include <utility>

#include "block.hpp"
#include "kernels.hpp"
#include "weights.hpp"

namespace manyclass::MANYCLASS_ISA {

// A centred W is kept as it is up to so many classes, and a step then touches all of them. In float
// always: of U and its mean, most digits may cancel.
template <class T>
inline constexpr std::int32_t kCentredClasses =
    sizeof(T) == 4 ? std::numeric_limits<std::int32_t>::max() : 64;

// What a visit finds before it changes anything. "Others": the targets c != y with z = 0.
struct Found {
  std::size_t size = 0;           // coordinates in the block so far
  double offset = 0;              // xi_c = offset + s_c for c != y
  double sum_z = 0;               // sum_c z_c
  double sum_vz = 0;              // v^T z
  double z_dot_xi = 0;            // sum_c z_c xi_c
  double squares = 0;             // sum_c z_c^2
  double xi_others = -kInfinity;  // largest xi of the others
  double xi_max = -kInfinity;     // largest xi of the targets
  double xi_min = kInfinity;      // smallest xi with z > 0
  double losses = 0;              // sum of the targets' losses
  double violation = 0;           // largest violation of a coordinate (sum formulations)
};

// sum_c max(0, s_c + offset), or of its squares; n is a multiple of the lanes.
template <class T>
inline double sum_of_losses(const T* s, std::size_t n, T offset, bool squared) {
  Vector<T> sum = {};
  const Vector<T> zero = {};
  for (std::size_t c = 0; c < n; c += kLanes<T>) {
    const Vector<T> xi = maximum<T>(load(s + c) + offset, zero);
    sum += squared ? xi * xi : xi;
  }
  double total = 0;
  for (std::size_t lane = 0; lane < kLanes<T>; ++lane) total += static_cast<double>(sum[lane]);
  return total;
}

template <class T>
class Visitor {
 public:
  Visitor(const Examples<T>& examples, const WeightsView<T>& w, Scratch<T> scratch)
      : examples_(examples),
        f_(examples.formulation),
        w_{w.data, w.n_features, w.n_classes, w.stride},
        scratch_(scratch),
        v_others_(f_.relative ? 1 : -1),
        sigma_(f_.relative  ? 1.0
               : f_.centred ? -1.0 / w.n_classes
                            : 0.0) {}

  // All classes of example i: scores, and the block's coordinates with z > 0.
  Found look_at_all(std::int64_t i, std::span<const DualEntry<T>> z) {
    T* s = scratch_.scores;
    w_.scores(examples_.x.row(i), s);
    constexpr T kNone = -std::numeric_limits<T>::infinity();
    const std::int32_t y = examples_.labels[i];
    const double centre = f_.centred ? static_cast<double>(s[w_.n_classes]) : 0.0;
    const double s_y = y == kElsewhere ? 0 : static_cast<double>(s[y]);
    for (std::int64_t c = w_.n_classes; c < w_.stride; ++c) s[c] = kNone;
    if (y != kElsewhere) s[y] = kNone;
    const double cost = examples_.costs[i];
    Found found = begin(s_y, centre);
    double z_own = 0;
    for (const DualEntry<T>& entry : z) {
      if (entry.label == y) {
        z_own = static_cast<double>(entry.value);
      } else {
        add_other(entry, s[entry.label], cost, found);
        s[entry.label] = kNone;
      }
    }
    if (f_.own && y != kElsewhere) add_own(y, z_own, s_y - centre, cost, found);
    if (f_.others) look_at_others(found);
    return found;
  }

  // Only the classes of example i with z > 0, and its own.
  Found look_at_support(std::int64_t i, std::span<const DualEntry<T>> z) {
    const std::int32_t y = examples_.labels[i];
    std::size_t size = 0;
    for (const DualEntry<T>& entry : z) scratch_.labels[size++] = entry.label;
    scratch_.labels[size] = y == kElsewhere ? 0 : y;
    scratch_.labels[size + 1] = w_.n_classes;
    T* s = scratch_.scores;
    w_.scores_of(examples_.x.row(i),
                 std::span<const std::int32_t>(scratch_.labels, size + (f_.centred ? 2 : 1)), s);
    const double s_y = static_cast<double>(s[size]);
    const double centre = f_.centred ? static_cast<double>(s[size + 1]) : 0.0;
    const double cost = examples_.costs[i];
    Found found = begin(s_y, centre);
    double z_own = 0;
    for (std::size_t m = 0; m < size; ++m) {
      if (z[m].label == y) {
        z_own = static_cast<double>(z[m].value);
      } else {
        add_other(z[m], s[m], cost, found);
      }
    }
    if (f_.own && y != kElsewhere) add_own(y, z_own, s_y - centre, cost, found);
    return found;
  }

  // Solve the block of example i, move z and W. Returns the gain of the dual objective.
  double solve(std::int64_t i, const Found& found, DualLists<T>& z) {
    const double q = examples_.norms[i];
    const double cost = examples_.costs[i];
    std::span<Coordinate> block;
    if (f_.relative && f_.maximum) {
      block = solve_crammer_singer(found, q, cost);
    } else {
      block = solve_box(found, q, cost);
      if (f_.maximum) cap_sum(block, found.sum_vz, sigma_, q, cost);
    }
    return move(i, block, z);
  }

  // Add what was found at example i to the sums; returns the violation v_i.
  double tally(const Found& found, double cost, SweepResult& result) const {
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
  Found begin(double s_y, double centre) const {
    Found found;
    found.offset = f_.gamma - (f_.relative ? s_y : centre);
    return found;
  }

  void add_other(const DualEntry<T>& entry, T score, double cost, Found& found) {
    const double xi = found.offset + static_cast<double>(score);
    add_coordinate({entry.label, static_cast<double>(entry.value), xi, v_others_, 0, 0}, cost,
                   found);
  }

  void add_own(std::int32_t y, double z, double score, double cost, Found& found) {
    add_coordinate({y, z, f_.gamma_own - score, 1, 0, 0}, cost, found);
  }

  void add_coordinate(const Coordinate& c, double cost, Found& found) {
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

  void look_at_others(Found& found) {
    const auto n = static_cast<std::size_t>(w_.stride);
    found.xi_others = found.offset + static_cast<double>(largest(scratch_.scores, n));
    found.xi_max = std::max(found.xi_max, found.xi_others);
    if (f_.maximum || found.xi_others <= 0) return;
    found.losses += sum_of_losses(scratch_.scores, n, static_cast<T>(found.offset), f_.squared);
    found.violation = std::max(found.violation, found.xi_others);
  }

  std::span<Coordinate> solve_crammer_singer(const Found& found, double q, double cost) {
    const auto [z_ref, xi_ref] = reference(found, q);
    const double b_max = z_ref + found.sum_z + xi_ref / q;
    const double lowest = simplex_root_of(0, 1, b_max, cost);
    const double xi_wanted = xi_ref + q * (lowest + z_ref);
    const std::size_t size = add_others(found, xi_wanted);
    const std::span<Coordinate> block(scratch_.block, size);
    for (Coordinate& c : block) c.b = (c.z - z_ref) + (c.xi - xi_ref) / q;
    const double theta = simplex_root(block, b_max, cost);
    for (Coordinate& c : block) c.z_new = std::max(0.0, c.b - theta);
    return block;
  }

  // z and xi of the coordinate with the largest b (Crammer-Singer).
  std::pair<double, double> reference(const Found& found, double q) const {
    double z_ref = 0;
    double xi_ref = found.xi_others;
    for (std::size_t m = 0; m < found.size; ++m) {
      const Coordinate& c = scratch_.block[m];
      if (!((c.z - z_ref) + (c.xi - xi_ref) / q <= 0)) {
        z_ref = c.z;
        xi_ref = c.xi;
      }
    }
    return {z_ref, xi_ref};
  }

  // Sum formulations; also the maximum ones as long as their sum stays free.
  std::span<Coordinate> solve_box(const Found& found, double q, double cost) {
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
  std::size_t add_others(const Found& found, double xi_wanted) {
    std::size_t size = found.size;
    if (found.xi_others == -kInfinity || !(found.xi_others >= xi_wanted)) return size;
    for (std::int32_t c = 0; c < w_.n_classes; ++c) {
      // In double, as xi_others was: where x is tiny, scores differ by less than T shows next to 1.
      const double xi = found.offset + static_cast<double>(scratch_.scores[c]);
      if (xi >= xi_wanted && xi != -kInfinity) {
        scratch_.block[size++] = {c, 0, xi, v_others_, 0, 0};
      }
    }
    return size;
  }

  double move(std::int64_t i, std::span<const Coordinate> block, DualLists<T>& z) {
    // What is lost beside the largest z is noise of the scores, and would look like a violation.
    double largest_z = 0;
    for (const Coordinate& c : block) largest_z = std::max(largest_z, c.z_new);
    const double noise = largest_z * static_cast<double>(std::numeric_limits<T>::epsilon());
    std::size_t n_kept = 0;
    for (const Coordinate& c : block) n_kept += static_cast<T>(c.z_new) > noise ? 1 : 0;
    DualEntry<T>* kept = z.resize(i, n_kept).data();
    double gain = 0, squares = 0, sum_v = 0, sum_z2 = 0;
    std::size_t n_steps = 0;
    for (const Coordinate& c : block) {
      const T rounded = static_cast<T>(c.z_new) > noise ? static_cast<T>(c.z_new) : T{0};
      if (rounded > 0) *kept++ = {c.label, rounded};
      const double z_new = static_cast<double>(rounded);
      const double delta = z_new - c.z;
      if (delta == 0) continue;
      scratch_.step[n_steps++] = {c.label, f_.relative ? -delta : c.v * delta};
      gain += delta * c.xi;
      squares += delta * delta;
      sum_v += c.v * delta;
      sum_z2 += z_new * z_new - c.z * c.z;
    }
    if (n_steps == 0) return 0;
    n_steps = close_step(examples_.labels[i], sum_v, n_steps);
    w_.add(examples_.x.row(i), {scratch_.step, n_steps}, scratch_.dense_step);
    const double ridge = f_.squared ? sum_z2 / (4 * examples_.costs[i]) : 0;
    return gain - 0.5 * examples_.norms[i] * (squares + sigma_ * sum_v * sum_v) - ridge;
  }

  // The part of a step that all its coordinates share; `sum_v` is v^T delta.
  std::size_t close_step(std::int32_t y, double sum_v, std::size_t n_steps) const {
    if (f_.relative) scratch_.step[n_steps++] = {y, sum_v};
    if (!f_.centred) return n_steps;
    const double mean = sum_v / w_.n_classes;
    if (w_.n_classes > kCentredClasses<T>) {
      scratch_.step[n_steps++] = {w_.n_classes, mean};
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
    for (std::int32_t c = 0; c < w_.n_classes; ++c) {
      if (scratch_.dense_step[c] == 0) scratch_.step[n_steps++] = {c, -mean};
      scratch_.dense_step[c] = 0;
    }
    return n_steps;
  }

 public:
  // The step that brings the weights of z = 0 to those of the z of example i.
  std::span<const Step> step_of(std::int64_t i, std::span<const DualEntry<T>> z) const {
    const std::int32_t y = examples_.labels[i];
    std::size_t n_steps = 0;
    double sum_v = 0;
    for (const DualEntry<T>& entry : z) {
      const double value = static_cast<double>(entry.value);
      const double v = entry.label == y ? 1 : v_others_;
      scratch_.step[n_steps++] = {entry.label, f_.relative ? -value : v * value};
      sum_v += v * value;
    }
    return {scratch_.step, n_steps == 0 ? 0 : close_step(y, sum_v, n_steps)};
  }

 private:
  const Examples<T>& examples_;
  const Formulation& f_;
  DenseWeights<T> w_;
  Scratch<T> scratch_;
  double v_others_;
  double sigma_;
};

// kShrunk: visit the non-zero z of each example only, where that is cheaper than all classes. An
// example whose own gap is below `min_gap` is left as it is, and is active no more.
template <bool kShrunk, class T>
SweepResult dual_sweep(const Examples<T>& examples, const WeightsView<T>& w, DualLists<T>& z,
                       Scratch<T> scratch, std::span<const std::int32_t> order, double min_gap,
                       std::int32_t* active) {
  Visitor<T> visitor(examples, w, scratch);
  // Gathering the weights of some classes pays while they number no more than the vectors of a
  // row; their scores, those of y and of the mean must fit into the scratch.
  const std::int64_t vectors = w.stride / static_cast<std::int64_t>(kLanes<T>);
  const std::int64_t few = std::min(std::max<std::int64_t>(vectors, 4), w.stride);
  SweepResult result;
  for (const std::int32_t i : order) {
    const std::span<const DualEntry<T>> list = std::as_const(z).row(i);
    const bool gather = kShrunk && static_cast<std::int64_t>(list.size()) + 2 <= few;
    const Found found = gather ? visitor.look_at_support(i, list) : visitor.look_at_all(i, list);
    result.evaluations += gather ? static_cast<std::int64_t>(list.size()) + 1 : w.n_classes;
    const double cost = examples.costs[i];
    const double gap_before = result.gap;
    const double violation = visitor.tally(found, cost, result);
    if (result.gap - gap_before < min_gap) continue;
    if (violation > 0) {
      result.dual_gain += visitor.solve(i, found, z);
      ++result.steps;
    }
    if (visitor.is_active(std::as_const(z).row(i), cost)) active[result.n_active++] = i;
  }
  return result;
}

}  // namespace manyclass::MANYCLASS_ISA
