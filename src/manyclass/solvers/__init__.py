"""The solvers, each with its certificate; train.py chooses one.

May import checkpoints, problem, prediction and all below. Begin with train.py (the choice) and
training_loop.py (the loop).
"""
