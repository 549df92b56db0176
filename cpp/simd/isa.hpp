#pragma once
// The name of the instruction set for which this translation unit is compiled. All vector code is
// in the namespace manyclass::MANYCLASS_ISA: one copy per instruction set,
// with distinct symbols.
#ifndef MANYCLASS_ISA
#define MANYCLASS_ISA baseline
#endif

namespace manyclass::MANYCLASS_ISA {

// Whether kernels have faster variants for common special cases. The x86 baseline, for processors
// before 2013, does not have them, which halves its compile time.
#if defined(__x86_64__) && !defined(__AVX2__)
inline constexpr bool kSpecialCases = false;
#else
inline constexpr bool kSpecialCases = true;
#endif

}  // namespace manyclass::MANYCLASS_ISA
