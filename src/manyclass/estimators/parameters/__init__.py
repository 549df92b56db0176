"""The parameters of the estimators: one table, and the docstrings and checks derived from it.

May import problem and utils. Begin with table.py.
"""
