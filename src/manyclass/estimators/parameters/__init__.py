"""The parameters of the estimators: one table, and what is derived from it.

May import problem and utils. Begin with table.py.
"""
