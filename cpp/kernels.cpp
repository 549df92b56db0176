// One instruction set's copy of the kernels; compiled once for each (CMakeLists.txt).
#include "kernels.hpp"

#include "certificate.hpp"

namespace manyclass::MANYCLASS_ISA {

template <class T>
const Kernels<T>& kernels() {
  static constexpr Kernels<T> table{dual_sweep<false, T>, dual_sweep<true, T>, inspect<T>,
                                    add_duals<T>, squared_norms<T>};
  return table;
}

template const Kernels<float>& kernels<float>();
template const Kernels<double>& kernels<double>();

}  // namespace manyclass::MANYCLASS_ISA
