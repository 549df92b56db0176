#pragma once
// The table of the kernels of the proximal Newton method, and their arguments. The formulas are in
// newton/proximal_kernels.hpp.
#include <cstdint>
#include <span>

#include "data/examples.hpp"
#include "duals/dual_lanes.hpp"
#include "weights/weights_view.hpp"

namespace manyclass {

// The proximal problem: each array has one row for every example, as long as a row of W.
template <class T>
struct Proximal {
  const Examples<T>& examples;
  const DualLanes<T>& centre;  // zbar
  double epsilon;
  const T* scores;  // S, the scores of W
  const T* along;   // scores of the direction: the scores at t are S + t times these
};

// z(W), the change of W(z) by its moves, and the examples in the Newton system.
template <class T>
struct Response {
  DualLanes<T>& z;
  WeightsView<T> moves;
  std::int32_t* zone;  // the examples with a free z, ascending
  T* share;  // for each example: 1 / (number of its free z) if their sum is at its bound, else 0
};

// Sums over the examples, delta = z - zbar; r_i = 1 / (2 C_i) for the squared hinge, else 0.
struct ResponseResult {
  double ascent = 0;    // sum delta . (xi(W) - r_i zbar)
  double distance = 0;  // ||delta||^2
  double ridge = 0;     // sum r_i ||delta||^2
  std::int64_t moved = 0;
  std::int64_t n_zone = 0;
  double pairs = 0;  // entries b <= c of all B^T J B

  void add(const ResponseResult& part) {
    ascent += part.ascent;
    distance += part.distance;
    ridge += part.ridge;
    moved += part.moved;
    n_zone += part.n_zone;
    pairs += part.pairs;
  }
};

// A matrix over all features and classes: the upper triangles of the blocks of the classes b <= c,
// row by row; if the classes are independent, only the blocks b = c.
struct ClassBlocks {
  double* sums;
  std::int64_t length;  // length of a block
  bool separable;

  double* at(std::int64_t b, std::int64_t c) const {
    return sums + (separable ? c : c * (c + 1) / 2 + b) * length;
  }
};

// Rows with 1 / kNearlyDense of all features are treated as dense because vectors are faster.
inline constexpr std::int64_t kNearlyDense = 3;

// Memory for x x^T, for one of several threads, which share the blocks.
struct SquareOfRow {
  double* row;  // x
  double* values;
  std::int32_t* places;
  int member;
  int n_members;

  bool has_turn(std::int32_t c) const { return c % n_members == member; }
};

struct SlopeResult {
  double slope = 0;  // sum z . d xi / dt
  std::int64_t n_near = 0;
};

// Every kernel processes [begin, end) of the examples or of `zone`; `rows` lists examples.
template <class T>
struct NewtonKernels {
  void (*scores)(const Examples<T>&, const WeightsView<T>&, const DualLanes<T>&, T* scores,
                 std::int64_t begin, std::int64_t end);
  // w += W(z) of these examples.
  void (*add_duals)(const Examples<T>&, const WeightsView<T>& w, const DualLanes<T>&,
                    std::int64_t begin, std::int64_t end);
  // z <- z(W). The zone of the part is written to zone[0], share[0] and the following entries.
  ResponseResult (*respond)(const Proximal<T>&, const Response<T>&, std::int64_t begin,
                            std::int64_t end);
  // out += sum_zone (B^T J B) (x) x x^T p
  void (*product)(const Proximal<T>&, const Response<T>&, const WeightsView<T>& p,
                  const WeightsView<T>& out, std::int64_t begin, std::int64_t end);
  // The slope at t. Examples with a z > 0 at 0 or at t are written to `near` (may be `rows`).
  SlopeResult (*slope)(const Proximal<T>&, double t, std::span<const std::int32_t> rows,
                       std::int32_t* near);
  // Gap, loss and violation of zbar at the scores.
  SweepResult (*estimate)(const Proximal<T>&, std::int64_t begin, std::int64_t end);
  // a += 1/k sum_zone tr(B^T J B) x x^T, upper triangle; `panel` is memory for kPanel rows of a.
  void (*gram)(const Proximal<T>&, const Response<T>&, T* a, std::int64_t size, T* panel,
               std::int64_t begin, std::int64_t end);
  // Rows [begin, begin + kPanel) of the upper Cholesky factor, in place; earlier rows are done.
  void (*factor)(T* a, std::int64_t size, std::int64_t begin);
  // x <- A^-1 x by the factor, for all columns of x.
  void (*solve)(const T* a, std::int64_t size, T* x);
  // Blocks of the thread += sum_zone (B^T J B) (x) x x^T.
  void (*whole_hessian)(const Proximal<T>&, const Response<T>&, const ClassBlocks&,
                        const SquareOfRow&, std::int64_t begin, std::int64_t end);
  // `factor` in double, and x <- A^-1 x for one vector.
  void (*factor_double)(double* a, std::int64_t size, std::int64_t begin);
  void (*solve_whole)(const double* a, std::int64_t size, double* x);
  // Subtract from every row of w its mean over the classes.
  void (*centre)(const WeightsView<T>& w);
  double (*dot)(const T* a, const T* b, std::int64_t n);
  void (*axpy)(double factor, const T* a, T* b, std::int64_t n);  // b += factor a
  void (*add_to_total)(double factor, const T* a, double* total, std::int64_t n);
  void (*subtract)(const double* a, const double* b, T* out, std::int64_t n);  // out <- a - b
};
inline constexpr std::int64_t kPanel = 32;  // sizes are multiples of kPanel

// The tables for rows of W of 1, 2, ... blocks of 64 bytes.
template <class T>
struct NewtonKernelsByBlocks {
  NewtonKernels<T> tables[DualLanes<T>::kMaxBlocks];

  const NewtonKernels<T>& of(std::int64_t n_blocks) const { return tables[n_blocks - 1]; }
};

}  // namespace manyclass
