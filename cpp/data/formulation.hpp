#pragma once
// A formulation of the multi-class SVM (Dogan, Glasmachers, Igel 2016) as the kernels see it;
// src/manyclass/problem/formulations.py is the catalogue.
#include "data/loss.hpp"

namespace manyclass {

struct Formulation {
  bool relative;         // margins: relative (w_y - w_c) . x; else absolute, -w_c . x and +w_y . x
  bool others;           // targets: the classes c != y
  bool own;              // targets: the class y (absolute margins only)
  bool maximum;          // the largest loss of the targets counts; else their sum
  bool centred;          // sum_c w_c = 0 is enforced: W = U - mean_c u_c, U kept un-centred
  Loss loss;             // of a slack
  double gamma;          // margin asked of the others
  double gamma_own;      // margin asked of y
  bool shifted = false;  // W's column k is subtracted every w_c
  double drift = 0;      // a visit moves that column by so much of the sum of its step
};

}  // namespace manyclass
