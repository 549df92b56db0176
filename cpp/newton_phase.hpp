#pragma once
// Rounds of the proximal Newton phase: semismooth Newton steps on phi (newton.hpp), by conjugate
// gradients with one d x d Cholesky factor as preconditioner for all classes, then a step of zbar
// that never lowers D. The passes over examples are kernels.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "aligned.hpp"
#include "newton_kernels.hpp"
#include "preconditioner.hpp"
#include "team.hpp"

namespace manyclass {

// What a round did; gap, loss and violation are of W and zbar as it leaves them.
struct NewtonRound {
  double primal = 0;  // P, without the examples x_i = 0
  double gap = 0;
  double max_violation = 0;
  std::int64_t steps = 0;        // of Newton's method
  std::int64_t n_zone = 0;       // examples that its last system saw
  std::int64_t evaluations = 0;  // scores computed
};

template <class T>
class NewtonPhase {
 public:
  // `poll` is called now and then and may throw; zbar and its W stay true if it does.
  // The same number of threads gives the same result.
  NewtonPhase(const Examples<T>& examples, const NewtonKernels<T>& kernels, LaneDuals<T>& centre,
              int n_threads, std::function<void()> poll)
      : examples_(examples),
        kernels_(kernels),
        team_(n_threads),
        work_(std::move(poll)),
        centre_(centre),
        z_(centre.n_rows(), centre.n_classes()),
        n_(centre.n_rows()),
        size_((examples.x.n_features + 1 + kPanel - 1) / kPanel * kPanel),
        numbers_(size_ * centre.stride()),
        scores_(numbers_of_rows()),
        along_(numbers_of_rows()),
        factor_(kernels, size_),
        zone_(static_cast<std::size_t>(n_)),
        near_(static_cast<std::size_t>(n_)),
        scrap_(static_cast<std::size_t>(n_)),
        share_(static_cast<std::size_t>(n_)) {
    for (int member = 0; member < team_.size(); ++member) mine_.emplace_back(numbers_);
    for (std::int64_t i = 0; i < n_; ++i) {
      if (examples.norms[i] > 0) rows_.push_back(static_cast<std::int32_t>(i));
    }
    features_ = static_cast<double>(examples.x.indptr[n_]) / static_cast<double>(n_) + 1;
  }

  // W(zbar) and the scores free of the rounding of many steps; `anew`: W begins at W(zbar).
  void rebuild(bool anew) {
    std::fill_n(at_centre_.data(), numbers_, 0.0);
    in_parts(n_, row_work(), [&](int member, std::int64_t begin, std::int64_t end) {
      in_small_parts(member, begin, end, [&](std::int64_t from, std::int64_t to) {
        kernels_.add_duals(examples_, view(mine(member).moves), centre_, from, to);
        return true;
      });
    });
    gather(at_centre_);
    copy(at_centre_, response_);
    if (anew) copy(at_centre_, w_);
    std::copy_n(centre_.lanes(0), n_ * centre_.stride(), z_.lanes(0));
    subtract(w_, zeros_, step_);
    score(step_, scores_);
  }

  // Newton steps until W is close to the minimiser of phi, or so many scores were computed; then
  // the step of zbar, which does not need W to be close.
  NewtonRound round(double epsilon, std::int64_t budget) {
    epsilon_ = epsilon;
    budget_ = budget;
    NewtonRound result;
    evaluations_ = 0;
    ResponseResult found;
    for (;; ++result.steps) {
      found = respond();
      if (is_close(found) || result.steps == kMaxSteps || is_spent() || !newton_step()) break;
    }
    move_centre(found);
    judge(result);
    result.n_zone = n_zone_;
    result.evaluations = evaluations_;
    return result;
  }

  void read_weights(T* to) const {
    for (std::int64_t j = 0; j < n_weights(); ++j) to[j] = static_cast<T>(w_.data()[j]);
  }
  // `rebuild` must follow.
  void write_weights(const T* from) { std::copy_n(from, n_weights(), w_.data()); }
  // For the tests: the gradient of phi at W; there, products with its Hessian and with the inverse
  // of the preconditioner.
  void gradient_at(const T* weights, double epsilon, T* out) {
    epsilon_ = epsilon;
    std::copy_n(weights, n_weights(), w_.data());
    std::copy_n(weights, n_weights(), step_.data());
    score(step_, scores_);
    respond();
    std::copy_n(gradient_.data(), n_weights(), out);
  }
  void hessian_times(const T* p, T* out) {
    std::copy_n(p, n_weights(), direction_.data());
    multiply();
    std::copy_n(product_.data(), n_weights(), out);
  }
  void preconditioned(const T* p, T* out) {
    build();
    std::copy_n(p, n_weights(), residual_.data());
    precondition();
    std::copy_n(solved_.data(), n_weights(), out);
  }
  const LaneDuals<T>& response_duals() const { return z_; }

  // ||z||^2
  double squared_duals() const { return kernels_.dot(z_.lanes(0), z_.lanes(0), n_ * z_.stride()); }

  std::int64_t n_weights() const { return (examples_.x.n_features + 1) * centre_.stride(); }

  static constexpr std::int64_t kMaxSteps = 10;

 private:
  using Array = AlignedArray<T>;
  using Total = AlignedArray<double>;           // sums of many steps
  static constexpr double kForcing = 0.5;       // CG ends at this part of the gradient
  static constexpr int kMaxRounds = 200;        // of CG
  static constexpr double kSlope = 0.1;         // the line search ends at this part of the slope
  static constexpr double kNearlyWhole = 0.75;  // a step of zbar from here on is made whole

  std::size_t numbers_of_rows() const { return static_cast<std::size_t>(n_ * centre_.stride()); }
  WeightsView<T> view(const Array& w) const {
    return {w.data(), examples_.x.n_features, centre_.n_classes(), centre_.stride()};
  }
  Proximal<T> proximal() const {
    return {examples_, centre_, epsilon_, scores_.data(), along_.data()};
  }
  Response<T> response(int member) {
    return {z_, view(mine(member).moves), zone_.data(), share_.data()};
  }
  double dot(const Array& a, const Array& b) const {
    return kernels_.dot(a.data(), b.data(), numbers_);
  }
  void axpy(double factor, const Array& a, const Array& b) const {
    kernels_.axpy(factor, a.data(), b.data(), numbers_);
  }
  template <class V>
  void copy(const AlignedArray<V>& from, const AlignedArray<V>& to) const {
    std::copy_n(from.data(), numbers_, to.data());
  }
  // to <- a - b
  void subtract(const Total& a, const Total& b, const Array& to) const {
    kernels_.subtract(a.data(), b.data(), to.data(), numbers_);
  }
  // Where the sum over the classes is zero: the same rounding for every example would add up.
  void centre(const Array& w) const {
    if (examples_.formulation.relative || examples_.formulation.centred) kernels_.centre(view(w));
  }
  void add(double factor, const Array& a, const Total& total) const {
    kernels_.add_to_total(factor, a.data(), total.data(), numbers_);
  }

  // What a thread of the team adds up for itself.
  struct Mine {
    explicit Mine(std::int64_t numbers)
        : moves(static_cast<std::size_t>(numbers)),
          total(static_cast<std::size_t>(numbers)),
          product(static_cast<std::size_t>(numbers)) {}
    Array moves;    // steps of W(z), ...
    Total total;    // ... and those of more rows
    Array product;  // a share of H direction
  };
  Mine& mine(int member) { return mine_[static_cast<std::size_t>(member)]; }

  // call(member, begin, end) for shares of parts of n items, of so many multiply-adds each;
  // after(part's begin, part's end) once all have done theirs.
  template <class Call, class After>
  void in_parts(std::int64_t n, double each, Call call, After after) {
    work_.in_parts(n, each, [&](std::int64_t begin, std::int64_t end) {
      const auto share_of = [&](int member) {
        call(member, cut(begin, end, member), cut(begin, end, member + 1));
      };
      if (each * static_cast<double>(end - begin) < kTooLittle) {
        for (int member = 0; member < team_.size(); ++member) share_of(member);
      } else {
        team_.run(share_of);
      }
      after(begin, end);
    });
  }
  template <class Call>
  void in_parts(std::int64_t n, double each, Call call) {
    in_parts(n, each, call, [](std::int64_t, std::int64_t) {});
  }
  static constexpr double kTooLittle = 1 << 18;  // multiply-adds that are not worth waking a thread
  std::int64_t cut(std::int64_t begin, std::int64_t end, int member) const {
    return begin + (end - begin) * member / team_.size();
  }
  // Rows whose steps go to the member's moves, and from there to its total before they are so many
  // that rounding tells; `call` says whether there were any.
  template <class Call>
  void in_small_parts(int member, std::int64_t begin, std::int64_t end, Call call) {
    Mine& own = mine(member);
    for (; begin < end; begin += kFewRows) {
      if (!call(begin, std::min(begin + kFewRows, end))) continue;
      centre(own.moves);
      add(1, own.moves, own.total);
      std::fill_n(own.moves.data(), numbers_, T{0});
    }
  }
  // The totals of all members, to `total`.
  void gather(const Total& total) {
    for (Mine& own : mine_) {
      for (std::int64_t j = 0; j < numbers_; ++j) total.data()[j] += own.total.data()[j];
      std::fill_n(own.total.data(), numbers_, 0.0);
    }
  }
  static constexpr std::int64_t kFewRows = 256;
  double row_work() const { return features_ * static_cast<double>(centre_.stride()); }

  void score(const Array& w, const Array& scores) {
    in_parts(n_, row_work(), [&](int, std::int64_t begin, std::int64_t end) {
      kernels_.scores(examples_, view(w), centre_, scores.data(), begin, end);
    });
    evaluations_ += n_ * centre_.n_classes();
  }

  // z and W(z) for W, the gradient.
  ResponseResult respond() {
    ResponseResult sum;
    std::vector<ResponseResult> parts(mine_.size());
    in_parts(
        n_, row_work(),
        [&](int member, std::int64_t begin, std::int64_t end) {
          ResponseResult& own = parts[static_cast<std::size_t>(member)] = {};
          in_small_parts(member, begin, end, [&](std::int64_t from, std::int64_t to) {
            return respond(member, begin, from, to, own);
          });
        },
        [&](std::int64_t begin, std::int64_t end) { collect(parts, begin, end, sum); });
    gather(response_);
    subtract(w_, response_, gradient_);
    n_zone_ = sum.n_zone;
    return sum;
  }

  // The zone of a member's share is kept from `first`, the share's beginning, on.
  bool respond(int member, std::int64_t first, std::int64_t begin, std::int64_t end,
               ResponseResult& sum) {
    Response<T> to = response(member);
    to.zone += first + sum.n_zone;
    to.share += first + sum.n_zone;
    const ResponseResult part = kernels_.respond(proximal(), to, begin, end);
    add_up(part, sum);
    sum.n_zone += part.n_zone;
    return part.moved > 0;
  }
  static void add_up(const ResponseResult& part, ResponseResult& sum) {
    sum.ascent += part.ascent;
    sum.distance += part.distance;
    sum.ridge += part.ridge;
  }
  // Bring the members' zones together.
  void collect(const std::vector<ResponseResult>& parts, std::int64_t begin, std::int64_t end,
               ResponseResult& sum) {
    for (int member = 0; member < team_.size(); ++member) {
      const ResponseResult& part = parts[static_cast<std::size_t>(member)];
      const std::int64_t from = cut(begin, end, member);
      std::copy_n(zone_.data() + from, part.n_zone, zone_.data() + sum.n_zone);
      std::copy_n(share_.data() + from, part.n_zone, share_.data() + sum.n_zone);
      add_up(part, sum);
      sum.n_zone += part.n_zone;
    }
  }

  // D along zbar + t (z - zbar) is D + slope t - curvature t^2 / 2.
  std::pair<double, double> dual_parabola(const ResponseResult& found) {
    subtract(response_, at_centre_, step_);
    subtract(w_, at_centre_, residual_);
    return {found.ascent + dot(residual_, step_), dot(step_, step_) + found.ridge};
  }

  // Whether z is as near to the proximal point as it needs to be, and better than zbar.
  bool is_close(const ResponseResult& found) {
    const double size = std::sqrt(dot(gradient_, gradient_));
    if (!(size <= 2 * std::sqrt(epsilon_ * found.distance))) return false;
    const auto [slope, curvature] = dual_parabola(found);
    return slope > 0.5 * curvature;
  }

  // zbar towards z as far as D rises; z and W(z) stay.
  void move_centre(const ResponseResult& found) {
    const auto [slope, curvature] = dual_parabola(found);
    double t = curvature > 0 ? slope / curvature : 1;
    if (!(slope > 0) || !std::isfinite(t)) return;
    if (t >= kNearlyWhole) t = 1;
    if (t == 1) {
      std::copy_n(z_.lanes(0), n_ * z_.stride(), centre_.lanes(0));
      copy(response_, at_centre_);
    } else {
      mix(t);
      add(t, step_, at_centre_);
    }
  }
  // zbar += t (z - zbar)
  void mix(double t) {
    const T by = static_cast<T>(t);
    T* to = centre_.lanes(0);
    const T* from = z_.lanes(0);
    for (std::int64_t p = 0; p < n_ * z_.stride(); ++p) to[p] = (1 - by) * to[p] + by * from[p];
  }

  // P(W) - D(zbar), as a sum of non-negative terms: those of the examples, 1/2 ||W - W(zbar)||^2.
  void judge(NewtonRound& result) {
    std::vector<SweepResult> parts(mine_.size());
    in_parts(
        n_, row_work(),
        [&](int member, std::int64_t begin, std::int64_t end) {
          parts[static_cast<std::size_t>(member)] = kernels_.judge(proximal(), begin, end);
        },
        [&](std::int64_t, std::int64_t) {
          for (const SweepResult& part : parts) {
            result.gap += part.gap;
            result.primal += part.loss;
            result.max_violation = std::max(result.max_violation, part.max_violation);
          }
        });
    subtract(w_, at_centre_, step_);
    result.gap += 0.5 * dot(step_, step_);
    subtract(w_, zeros_, step_);
    result.primal += 0.5 * dot(step_, step_);
  }

  // One step of W; false if rounding leaves nothing to be gained.
  bool newton_step() {
    if (factor_.is_due()) build();
    if (!conjugate_gradients()) return false;
    centre(step_);
    score(step_, along_);
    const double t = line_search();
    if (!(t > 0)) return false;
    add(t, step_, w_);
    kernels_.axpy(t, along_.data(), scores_.data(), n_ * centre_.stride());
    return true;
  }

  void build() {
    factor_.build(features_, n_zone_, team_, work_, [&](T* a, T* panel, auto begin, auto end) {
      kernels_.gram(proximal(), response(0), a, size_, panel, begin, end);
    });
  }

  bool is_spent() const { return evaluations_ >= budget_; }

  // step <- about -H^-1 gradient.
  bool conjugate_gradients() {
    std::fill_n(step_.data(), numbers_, T{0});
    std::fill_n(residual_.data(), numbers_, T{0});
    axpy(-1, gradient_, residual_);
    const double goal = kForcing * std::sqrt(dot(residual_, residual_));
    precondition();
    copy(solved_, direction_);
    double rho = dot(residual_, solved_);
    for (int turn = 0; turn < kMaxRounds; ++turn) {
      multiply();
      const double curvature = dot(direction_, product_);
      if (!(curvature > 0) || !std::isfinite(curvature)) return turn > 0;
      axpy(rho / curvature, direction_, step_);
      axpy(-rho / curvature, product_, residual_);
      if (!(std::sqrt(dot(residual_, residual_)) > goal) || is_spent()) return true;
      precondition();
      const double next = dot(residual_, solved_);
      axpy(next / rho, direction_, solved_);
      copy(solved_, direction_);
      rho = next;
    }
    return true;
  }
  void precondition() {
    copy(residual_, solved_);
    factor_.solve(solved_.data(), centre_.stride(), work_);
  }
  // product <- H direction
  void multiply() {
    copy(direction_, product_);
    in_parts(n_zone_, 2 * row_work(), [&](int member, std::int64_t begin, std::int64_t end) {
      const WeightsView<T> to = view(mine(member).product);
      kernels_.product(proximal(), response(member), view(direction_), to, begin, end);
    });
    for (Mine& own : mine_) {
      axpy(1, own.product, product_);
      std::fill_n(own.product.data(), numbers_, T{0});
    }
    factor_.spend(2 * row_work() * static_cast<double>(n_zone_));
    evaluations_ += n_zone_ * centre_.n_classes();
  }

  // d phi / dt at W + t step, from the examples near, or all where `anew`, which finds those near:
  // slacks are linear in t, so what has no z > 0 at 0 nor at the far end has none between.
  double slope_at(double t, double constant, double linear, bool anew) {
    const std::vector<std::int32_t>& rows = anew ? rows_ : near_;
    const std::int64_t n = anew ? static_cast<std::int64_t>(rows_.size()) : n_near_;
    double slope = constant + t * linear;
    std::vector<std::int32_t>& found = anew ? near_ : scrap_;
    if (anew) n_near_ = 0;
    std::vector<SlopeResult> parts(mine_.size());
    in_parts(
        n, row_work(),
        [&](int member, std::int64_t begin, std::int64_t end) {
          parts[static_cast<std::size_t>(member)] = kernels_.slope(
              proximal(), t, {rows.data() + begin, rows.data() + end}, found.data() + begin);
        },
        [&](std::int64_t begin, std::int64_t end) {
          for (int member = 0; member < team_.size(); ++member) {
            const SlopeResult& part = parts[static_cast<std::size_t>(member)];
            slope += part.slope;
            if (!anew) continue;
            std::copy_n(near_.data() + cut(begin, end, member), part.n_near,
                        near_.data() + n_near_);
            n_near_ += part.n_near;
          }
        });
    return slope;
  }

  // <W, step>
  double along_weights() const {
    subtract(w_, zeros_, residual_);
    return dot(residual_, step_);
  }

  // t with a small slope of phi, by secants inside a bracket; 0 if step is no descent.
  double line_search() {
    const double at_0 = dot(gradient_, step_);
    const double constant = along_weights(), linear = dot(step_, step_);
    if (!(at_0 < 0)) return 0;
    double low = 0, low_slope = at_0, high = 0, high_slope = 0, t = 1;
    for (int turn = 0; turn < 12; ++turn) {
      const double slope = slope_at(t, constant, linear, high == 0);
      if (!std::isfinite(slope)) return 0;
      if (std::abs(slope) <= kSlope * -at_0) break;
      (slope > 0 ? high : low) = t;
      (slope > 0 ? high_slope : low_slope) = slope;
      if (high == 0) {
        t *= 2;
        continue;
      }
      const double width = high - low;
      const double secant = low - width * low_slope / (high_slope - low_slope);
      t = std::clamp(secant, low + 0.1 * width, high - 0.1 * width);
    }
    return t;
  }

  const Examples<T>& examples_;
  const NewtonKernels<T>& kernels_;
  Team team_;
  Work work_;
  LaneDuals<T>& centre_;  // zbar
  LaneDuals<T> z_;        // z(W)
  std::int64_t n_;
  std::int64_t size_;     // d + 1 in whole panels
  std::int64_t numbers_;  // of a row of weights for each
  Array scores_, along_;
  Preconditioner<T> factor_;
  std::vector<std::int32_t> zone_, near_, scrap_, rows_;
  std::vector<T> share_;
  std::vector<Mine> mine_;
  Total w_{static_cast<std::size_t>(numbers_)};
  Total at_centre_{static_cast<std::size_t>(numbers_)};  // W(zbar)
  Total response_{static_cast<std::size_t>(numbers_)};   // W(z), but for what members hold
  Total zeros_{static_cast<std::size_t>(numbers_)};
  Array gradient_{static_cast<std::size_t>(numbers_)};
  Array step_{static_cast<std::size_t>(numbers_)};
  Array residual_{static_cast<std::size_t>(numbers_)};
  Array solved_{static_cast<std::size_t>(numbers_)};
  Array direction_{static_cast<std::size_t>(numbers_)};
  Array product_{static_cast<std::size_t>(numbers_)};
  double epsilon_ = 1;
  double features_ = 0;  // of an example, on average
  std::int64_t n_zone_ = 0;
  std::int64_t n_near_ = 0;
  std::int64_t evaluations_ = 0;
  std::int64_t budget_ = 0;
};

}  // namespace manyclass
