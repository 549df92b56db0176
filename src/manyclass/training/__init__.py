"""One training for every estimator: solver, loop, hooks, checkpoints, warm starts.

May import solvers and all below. Begin with train.py and epoch_loop.py.
"""
