// The kernels of the sequential dual method. CMakeLists.txt compiles this file once per
// instruction set.
#include "dual/kernels.hpp"

#include "certificate/gap.hpp"
#include "dual/column_sweep.hpp"
#include "dual/dense_sweep.hpp"
#include "dual/lane_sweep.hpp"
#include "duals/dual_lanes.hpp"
#include "duals/dual_lists.hpp"
#include "simd/isa.hpp"
#include "simd/kernel_table.hpp"

namespace manyclass::MANYCLASS_ISA {

// q_i = ||x_i||^2 of every row, in double, including the appended constant feature.
template <class T>
void squared_norms(const Csr<T>& x, double* norms) {
  for (std::int64_t i = 0; i < x.n_rows; ++i) {
    const Row<T> row = x.row(i);
    double q = static_cast<double>(row.bias) * static_cast<double>(row.bias);
    for (std::int64_t p = 0; p < row.nnz; ++p) {
      q += static_cast<double>(row.values[p]) * static_cast<double>(row.values[p]);
    }
    norms[i] = q;
  }
}

template <class T>
struct TableOf<Kernels<T, DualLists<T>>> {
  static constexpr Kernels<T, DualLists<T>> value{dual_sweep<false, T>, dual_sweep<true, T>,
                                                  inspect<T, DualLists<T>>, squared_norms<T>};
};

template <class T>
struct TableOf<Kernels<T, DualLanes<T>>> {
  static constexpr Kernels<T, DualLanes<T>> value{lane_sweep<T>, lane_sweep<T>,
                                                  inspect<T, DualLanes<T>>, squared_norms<T>};
};

template <class T>
struct TableOf<ColumnKernels<T>> {
  static constexpr ColumnKernels<T> value{column_sweep<T>};
};

template const ColumnKernels<float>& kernel_table();
template const ColumnKernels<double>& kernel_table();
template const Kernels<float, DualLists<float>>& kernel_table();
template const Kernels<float, DualLanes<float>>& kernel_table();
template const Kernels<double, DualLists<double>>& kernel_table();
template const Kernels<double, DualLanes<double>>& kernel_table();

}  // namespace manyclass::MANYCLASS_ISA
