"""Solvers for comparison: the methods that the papers compare with the sequential dual method.

May import solvers/engines.py, solvers/weights and the layers below solvers. Begin with base.py.
"""
