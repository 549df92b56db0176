"""The methods that the papers compare the sequential dual method with, as solvers.

May import solvers/engines.py, solvers/weights and all below solvers. Begin with base.py.
"""
