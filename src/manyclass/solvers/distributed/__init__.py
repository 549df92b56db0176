"""Solvers whose classes are partitioned over MPI ranks.

May import solvers and below. Begin with base.py.
"""
