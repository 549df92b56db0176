"""The cost model: what training on ranks takes, before it runs.

May import solvers and all below. Begin with plan.py.
"""
