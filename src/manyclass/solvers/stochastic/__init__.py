"""Stochastic gradient descent, and the objective that it minimises.

May import solvers.weights and below. Begin with sgd.py.
"""
