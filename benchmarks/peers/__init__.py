"""Solvers of the same problem beside manyclass, at equal quality."""
