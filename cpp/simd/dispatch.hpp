#pragma once
// Dynamic dispatch: which instruction set's copy of a kernel table runs. All kernels go this way;
// simd/kernel_table.hpp is the half that is compiled once per instruction set. The idea is that of
// HWY_EXPORT in Google's Highway.
#include <string>

#include "simd/cpu_features.hpp"

namespace manyclass {

namespace baseline {
template <class Table>
const Table& kernel_table();
}
namespace avx2 {
template <class Table>
const Table& kernel_table();
}
namespace avx512 {
template <class Table>
const Table& kernel_table();
}

// The copy of the named instruction set. Throws if this machine cannot run it.
template <class Table>
const Table& kernels_for(const std::string& name) {
  require_instruction_set(name);
#ifdef MANYCLASS_AVX512
  if (name == "avx512") return avx512::kernel_table<Table>();
#endif
#ifdef MANYCLASS_AVX2
  if (name == "avx2") return avx2::kernel_table<Table>();
#endif
  return baseline::kernel_table<Table>();
}

}  // namespace manyclass
