#pragma once
// The name of the instruction set that this translation unit is compiled for. Everything that
// holds vector code lives in namespace manyclass::MANYCLASS_ISA: one copy per instruction set,
// with distinct symbols.
#ifndef MANYCLASS_ISA
#define MANYCLASS_ISA baseline
#endif

namespace manyclass::MANYCLASS_ISA {

// Whether a kernel has a faster variant for a common special case. The x86 baseline, for processors
// of before 2013, does without: half the time to compile it.
#if defined(__x86_64__) && !defined(__AVX2__)
inline constexpr bool kSpecialCases = false;
#else
inline constexpr bool kSpecialCases = true;
#endif

}  // namespace manyclass::MANYCLASS_ISA
