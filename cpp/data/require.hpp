#pragma once
// Checks of arguments. The kernels check nothing, so the engines check before they call them.
#include <stdexcept>

namespace manyclass {

inline constexpr int kMaxThreads = 1 << 16;

inline void require(bool condition, const char* what) {
  if (!condition) throw std::invalid_argument(what);
}

// Throws if there is a flaw; `flaw` is its description, or null.
inline void require_none(const char* flaw) {
  if (flaw != nullptr) throw std::invalid_argument(flaw);
}

}  // namespace manyclass
