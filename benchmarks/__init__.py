"""Benchmarks: manyclass against other solvers of the same problem, at equal quality."""
