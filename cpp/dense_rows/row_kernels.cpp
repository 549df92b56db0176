// The kernels for dense rows. CMakeLists.txt compiles this file once per instruction set.
#include "dense_rows/row_kernels.hpp"

#include "dense_rows/batched_visits.hpp"
#include "dense_rows/class_certificate.hpp"
#include "dense_rows/round_visits.hpp"
#include "dense_rows/single_visits.hpp"
#include "simd/isa.hpp"
#include "simd/kernel_table.hpp"

namespace manyclass::MANYCLASS_ISA {

template <class T>
struct TableOf<RowKernels<T>> {
  static constexpr RowKernels<T> value{copy_rows<T>,    multiply_rows<T>,  score_batch<T>,
                                       visit_batch<T>,  update_classes<T>, single_visits<T>,
                                       visit_apart<T>,  single_apart<T>,   add_round<T>,
                                       inspect_rows<T>, rebuild_class<T>};
};

template const RowKernels<float>& kernel_table();
template const RowKernels<double>& kernel_table();

}  // namespace manyclass::MANYCLASS_ISA
