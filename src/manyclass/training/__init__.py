"""Training for all estimators: solver, loop, hooks, checkpoints, warm starts.

May import solvers and the layers below. Begin with train.py and epoch_loop.py.
"""
