"""One training for every estimator: solver, loop, hooks, checkpoints, warm starts.

May import solvers and all below. Begin with run.py (``train``) and loop.py.
"""
