// Prints the best instruction set of this machine, for a build that is used nowhere else
// (CMakeLists.txt).
#include <cstdio>

#include "simd/dispatch.hpp"

int main() { std::fputs(manyclass::instruction_sets().back().c_str(), stdout); }
