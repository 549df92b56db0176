#pragma once
// The instruction sets that this build has and this machine supports.
#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

namespace manyclass {

// The fastest last.
inline std::vector<std::string> instruction_sets() {
  std::vector<std::string> names{"baseline"};
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

}  // namespace manyclass
