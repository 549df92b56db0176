#pragma once
// The table of the kernels for dense rows (dense_rows/batched_visits.hpp, single_visits.hpp,
// round_visits.hpp, class_certificate.hpp).
#include <cstdint>
#include <span>

#include "certificate/coefficient_blocks.hpp"
#include "certificate/gap_sums.hpp"
#include "certificate/rebuild_kernels.hpp"
#include "data/examples.hpp"
#include "dense_rows/class_major.hpp"
#include "duals/dual_lists.hpp"
#include "subproblem/scratch.hpp"

namespace manyclass {

// The number of examples whose certificate is computed together.
inline constexpr std::int64_t kInspectedRows = 64;
// Memory of a certificate, aligned to 64 bytes.
struct InspectMemory {
  double* rows;     // kInspectedRows x stride
  double* weights;  // kWidened x stride
  double* scores;   // kInspectedRows x score_stride
};
// The number of classes of W that are converted to double at a time.
inline constexpr std::int64_t kWidened = 12;

template <class T>
struct RowKernels {
  void (*copy)(const Csr<T>&, const RowBatch<T>&, std::int64_t stride, std::int64_t first,
               std::int64_t last);
  void (*multiply)(const RowBatch<T>&, std::int64_t stride, std::int64_t first, std::int64_t last);
  void (*score)(const RowBatch<T>&, const ClassMajorView<T>&, std::int64_t first,
                std::int64_t last);
  SweepResult (*visit)(const Examples<T>&, const ClassMajorView<T>&, const RowBatch<T>&,
                       DualLists<T>&, Scratch<T>, double min_gap, std::int32_t* active);
  void (*update)(const RowBatch<T>&, const ClassMajorView<T>&, std::int64_t first,
                 std::int64_t last, bool centred);
  SweepResult (*single)(const Examples<T>&, const ClassMajorView<T>&, DualLists<T>&, Scratch<T>,
                        T* row, std::span<const std::int32_t> order, double min_gap,
                        std::int32_t* active);
  // For a batch of a round (dense_rows/round_visits.hpp).
  SweepResult (*visit_apart)(const Examples<T>&, const ClassMajorView<T>&, const RowBatch<T>&,
                             const RoundNotes<T>&, DualLists<T>&, Scratch<T>, double min_gap,
                             std::int32_t* active);
  SweepResult (*single_apart)(const Examples<T>&, const ClassMajorView<T>&, const RowBatch<T>&,
                              const RoundNotes<T>&, DualLists<T>&, Scratch<T>, double min_gap,
                              std::int32_t* active);
  double (*add_round)(std::span<const RowBatch<T>>, const ClassMajorView<T>&, const Tile&,
                      double factor, bool centred);
  GapSums (*inspect)(const Examples<T>&, const ClassMajorView<T>&, const DualLists<T>&,
                     const CertifiedWeights&, const InspectMemory&, std::int64_t begin,
                     std::int64_t end);
  RebuildError (*rebuild_class)(const Examples<T>&, std::span<const Coefficient>,
                                const double* common, const ClassMajorView<T>&, std::int32_t c,
                                double* sums);
};

}  // namespace manyclass
