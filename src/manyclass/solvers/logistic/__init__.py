"""Multinomial logistic regression: descent in the dual, then Newton's method in the primal.

May import solvers' stopping and weights, problem and below. Begin with multinomial.py.
"""
