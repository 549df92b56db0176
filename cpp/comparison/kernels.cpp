// The kernels of the methods that the papers compare with. CMakeLists.txt compiles this file once
// per instruction set.
#include "comparison/kernels.hpp"

#include "comparison/exponentiated_gradient.hpp"
#include "comparison/most_violating.hpp"
#include "comparison/separation.hpp"
#include "simd/isa.hpp"
#include "simd/kernel_table.hpp"

namespace manyclass::MANYCLASS_ISA {

template <class T>
struct TableOf<ComparisonKernels<T>> {
  static constexpr ComparisonKernels<T> value{exponentiated_gradient<T>, separate<T>, all_scores<T>,
                                              violations<T>, most_violating<T>};
};

template const ComparisonKernels<float>& kernel_table();
template const ComparisonKernels<double>& kernel_table();

}  // namespace manyclass::MANYCLASS_ISA
