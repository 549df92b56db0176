#pragma once
// The name of the instruction set that this translation unit is compiled for. Everything that
// holds vector code lives in namespace manyclass::MANYCLASS_ISA: one copy per instruction set,
// with distinct symbols.
#ifndef MANYCLASS_ISA
#define MANYCLASS_ISA baseline
#endif
