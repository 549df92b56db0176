"""The data of training: data set, formulation, problem, objective, solution.

May import io and below. Begin with problem.py and formulations.py.
"""
