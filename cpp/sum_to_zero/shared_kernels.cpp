// The visits of the sequential dual method (dual/dense_sweep.hpp, dual/lane_sweep.hpp) if column k
// of W has a mean that ranks share. With the drift r, a visit minimizes over a step
//
//   u_c += v_c delta_c x_i,   m += r (v^T delta) x_i,   w_c = u_c - m,
//
// whose block has the matrix a I - r v v^T. CMakeLists.txt compiles this file once per
// instruction set.
#include "sum_to_zero/shared_kernels.hpp"

#include <cstdint>
#include <span>
#include <utility>

#include "dual/dense_sweep.hpp"
#include "dual/lane_sweep.hpp"
#include "duals/dual_lanes.hpp"
#include "duals/dual_lists.hpp"
#include "simd/isa.hpp"
#include "simd/kernel_table.hpp"

namespace manyclass::MANYCLASS_ISA {

template <class T>
class SharedVisitor : public DenseVisitor<T> {
 public:
  SharedVisitor(const Examples<T>& examples, const WeightsView<T>& w, double drift,
                Scratch<T> scratch)
      : DenseVisitor<T>(examples, w, scratch), drift_(drift) {
    this->has_mean_ = true;
    this->sigma_ = -drift;
  }

  double move(std::int64_t i, const BlockSummary& found, DualLists<T>& z) {
    const std::span<const Coordinate> block = this->solve(i, found);
    this->keep(block, i, z);
    const BlockStep solved = this->step(i, block);
    if (solved.step.empty()) return solved.gain;
    Step* const step = this->scratch_.step;
    std::size_t n_steps = solved.step.size();
    if (drift_ > 0) step[n_steps++] = {this->w_.n_classes, drift_ * solved.sum_v};
    this->w_.add(this->examples_.x.row(i), {step, n_steps}, this->scratch_.dense_step);
    return solved.gain;
  }

 private:
  double drift_;
};

template <bool kShrunk, class T>
SweepResult shared_sweep(const Examples<T>& examples, const WeightsView<T>& w, double drift,
                         DualLists<T>& z, Scratch<T> scratch, std::span<const std::int32_t> order,
                         double min_gap, std::int32_t* active) {
  SharedVisitor<T> visitor(examples, w, drift, scratch);
  return sweep_by<kShrunk>(visitor, examples, w, z, order, min_gap, active);
}

template <class T, int B>
class SharedLaneVisitor : public LaneVisitor<T, B, false> {
 public:
  using typename LaneVisitor<T, B, false>::View;
  using typename LaneVisitor<T, B, false>::Lanes;
  using typename LaneVisitor<T, B, false>::Mask;

  SharedLaneVisitor(const Examples<T>& examples, const WeightsView<T>& w, double drift,
                    const DualLanes<T>& z, T* carry)
      : LaneVisitor<T, B, false>(examples, w, z, carry, -drift),
        drift_(drift),
        mean_(this->numbers_ == Lanes::all(static_cast<T>(w.n_classes))) {}

  View score(std::int64_t i) const {
    const Lanes s = this->scores(this->examples_.x.row(i));
    return this->view_less(i, s, [&](const Mask&) { return select(mean_, s, this->zero()).sum(); });
  }

  std::pair<double, bool> solve(std::int64_t i, const View& e) const {
    return this->solve_by(i, e, [&](const Lanes& delta, double sum_v) {
      const Lanes moved = e.v * delta;
      if (drift_ == 0) return moved;
      return select(mean_, Lanes::all(static_cast<T>(drift_ * sum_v)), moved);
    });
  }

 private:
  double drift_;
  Mask mean_;  // the lane after the classes
};

template <class T, int B>
SweepResult sweep_shared_blocks(const Examples<T>& examples, const WeightsView<T>& w, double drift,
                                DualLanes<T>& z, Scratch<T> scratch,
                                std::span<const std::int32_t> order, double min_gap,
                                std::int32_t* active) {
  const SharedLaneVisitor<T, B> visitor(examples, w, drift, z, scratch.carry);
  return sweep_lanes(visitor, w.n_classes, order, min_gap, active);
}

// The sweep for as many blocks as the rows of z have.
template <class T>
SweepResult shared_lane_sweep(const Examples<T>& examples, const WeightsView<T>& w, double drift,
                              DualLanes<T>& z, Scratch<T> scratch,
                              std::span<const std::int32_t> order, double min_gap,
                              std::int32_t* active) {
  static constexpr typename SharedKernels<T, DualLanes<T>>::Sweep kByBlocks[] = {
      sweep_shared_blocks<T, 1>, sweep_shared_blocks<T, 2>, sweep_shared_blocks<T, 3>,
      sweep_shared_blocks<T, 4>};
  return kByBlocks[z.stride() / z.kBlock - 1](examples, w, drift, z, scratch, order, min_gap,
                                              active);
}

template <class T>
struct TableOf<SharedKernels<T, DualLists<T>>> {
  static constexpr SharedKernels<T, DualLists<T>> value{shared_sweep<false, T>,
                                                        shared_sweep<true, T>};
};
template <class T>
struct TableOf<SharedKernels<T, DualLanes<T>>> {
  static constexpr SharedKernels<T, DualLanes<T>> value{shared_lane_sweep<T>, shared_lane_sweep<T>};
};

template const SharedKernels<float, DualLists<float>>& kernel_table();
template const SharedKernels<float, DualLanes<float>>& kernel_table();
template const SharedKernels<double, DualLists<double>>& kernel_table();
template const SharedKernels<double, DualLanes<double>>& kernel_table();

}  // namespace manyclass::MANYCLASS_ISA
