#pragma once
// One coordinate of the subproblem of an example, and the memory that a visit needs.
#include <cstdint>

#include "data/examples.hpp"

namespace manyclass {

// One dual variable of the block subproblem (subproblem/root_finding.hpp).
struct Coordinate {
  std::int32_t label;  // the class c
  double z;            // before the step
  double xi;           // gamma_c - mu_c(x, y)
  double v;            // +1 or -1
  double b;
  double z_new;  // after it
};

// Memory for one visit at a time; k is the number of classes.
template <class T>
struct Scratch {
  T* scores;                // stride, aligned to 64 bytes
  T* dense_step;            // stride zeros, aligned to 64 bytes
  Coordinate* block;        // k + 1
  Step* step;               // k + 2
  std::int32_t* labels;     // k + 2
  double* exact = nullptr;  // stride, aligned to 64 bytes; what certificates are computed in
  T* carry = nullptr;  // stride; low digits of the intercepts (weights/dense_weights.hpp), or null
};

}  // namespace manyclass
