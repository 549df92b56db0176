#pragma once
// Dynamic dispatch: the instruction sets of both this build and this computer, and the selection of
// the copy of a kernel table. All kernels are called this way; simd/kernel_table.hpp is compiled
// once per instruction set. The method follows HWY_EXPORT in Google's Highway.
#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

namespace manyclass {

// The fastest instruction set is the last one. None if the build is for other processors.
inline std::vector<std::string> instruction_sets() {
  std::vector<std::string> names;
#ifdef MANYCLASS_BASELINE
  names.push_back("baseline");
#endif
#ifdef MANYCLASS_AVX2
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) names.push_back("avx2");
#endif
#ifdef MANYCLASS_AVX512
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")) {
    names.push_back("avx512");
  }
#endif
  return names;
}

inline void require_instruction_set(const std::string& name) {
  const std::vector<std::string> names = instruction_sets();
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    throw std::invalid_argument("this machine has no instruction set '" + name + "'");
  }
}

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

// The copy for the named instruction set. Throws if this computer does not support it.
template <class Table>
const Table& kernels_for(const std::string& name) {
  require_instruction_set(name);
#ifdef MANYCLASS_AVX512
  if (name == "avx512") return avx512::kernel_table<Table>();
#endif
#ifdef MANYCLASS_AVX2
  if (name == "avx2") return avx2::kernel_table<Table>();
#endif
#ifdef MANYCLASS_BASELINE
  if (name == "baseline") return baseline::kernel_table<Table>();
#endif
  throw std::logic_error("an instruction set without kernels");
}

}  // namespace manyclass
