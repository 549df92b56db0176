"""The proximal Newton method of support vector machines over sums of rows, in NumPy.

May import solvers' engines, stopping and weights, problem and below. Begin with newton_phase.py.
"""
