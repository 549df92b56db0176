#pragma once
// Spinning before a thread sleeps.
#include <atomic>

namespace manyclass {

// Long enough for the differences between threads that run, some ten microseconds; a thread that
// waits for one that is not scheduled should give way soon.
inline constexpr int kSpins = 1000;

// Spin until `value` is no longer `seen`, then sleep.
template <class T>
void wait_for_change(const std::atomic<T>& value, T seen) {
  for (int spin = 0; spin < kSpins; ++spin) {
    if (value.load(std::memory_order_acquire) != seen) return;
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
  }
  value.wait(seen, std::memory_order_acquire);
}

}  // namespace manyclass
