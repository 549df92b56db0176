"""Solvers whose classes are partitioned over MPI ranks.

May import solvers.dual, solvers.weights and below. Begin with base.py.
"""
