"""Sums over rows for solvers, independent of where the rows are stored.

May import problem and utils. Begin with questions.py: there is a class with these methods for each
place of the rows, and solvers do not depend on the place.
"""
