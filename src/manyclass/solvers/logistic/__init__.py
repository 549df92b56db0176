"""Multinomial logistic regression: descent in the dual, then Newton's method in the primal.

May import stopping and weights of solvers, problem and the layers below. Begin with multinomial.py.
"""
