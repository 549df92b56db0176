#pragma once
// The copy of a kernel table for one instruction set: the part of the dispatch (simd/dispatch.hpp)
// that is compiled once per instruction set.
//
// A source file with kernels specializes TableOf for its tables of function pointers and
// instantiates kernel_table for each. CMakeLists.txt compiles the file for every instruction set.
#include "simd/isa.hpp"

namespace manyclass::MANYCLASS_ISA {

// `value` is the table, a constant.
template <class Table>
struct TableOf;

template <class Table>
const Table& kernel_table() {
  return TableOf<Table>::value;
}

}  // namespace manyclass::MANYCLASS_ISA
