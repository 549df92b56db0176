// One instruction set's copy of the kernels; compiled once for each (CMakeLists.txt).
#include "dual/kernels.hpp"

#include "certificate/gap.hpp"
#include "certificate/rebuild_loops.hpp"
#include "data/squared_norms.hpp"
#include "dual/dense_sweep.hpp"
#include "dual/lane_sweep.hpp"

namespace manyclass::MANYCLASS_ISA {
namespace {

template <class T>
constexpr Kernels<T, DualLists<T>> table_of(const DualLists<T>*) {
  return {dual_sweep<false, T>, dual_sweep<true, T>, inspect<T, DualLists<T>>, squared_norms<T>};
}

template <class T>
constexpr Kernels<T, DualLanes<T>> table_of(const DualLanes<T>*) {
  return {lane_sweep<T>, lane_sweep<T>, inspect<T, DualLanes<T>>, squared_norms<T>};
}

}  // namespace

template <class T, class Duals>
const Kernels<T, Duals>& kernels() {
  static constexpr Kernels<T, Duals> table = table_of(static_cast<const Duals*>(nullptr));
  return table;
}

template <class T>
const RebuildKernels<T>& rebuild_kernels() {
  static constexpr RebuildKernels<T> table{add_block<T>, store_block<T>};
  return table;
}

template const RebuildKernels<float>& rebuild_kernels<float>();
template const RebuildKernels<double>& rebuild_kernels<double>();
template const Kernels<float, DualLists<float>>& kernels<float, DualLists<float>>();
template const Kernels<float, DualLanes<float>>& kernels<float, DualLanes<float>>();
template const Kernels<double, DualLists<double>>& kernels<double, DualLists<double>>();
template const Kernels<double, DualLanes<double>>& kernels<double, DualLanes<double>>();

}  // namespace manyclass::MANYCLASS_ISA
