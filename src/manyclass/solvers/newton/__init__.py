"""The proximal Newton method of support vector machines over sums of rows, in NumPy.

May import engines, stopping and weights of solvers, problem and the layers below. Begin with
proximal_newton.py.
"""
