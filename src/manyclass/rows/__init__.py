"""Rows that answer with sums: what solvers ask, and where the rows are.

May import problem and utils. Begin with questions.py: a place where rows are is one class with
these methods, and a solver never knows which.
"""
