"""Checkpoint files: format, schedule, and the identity of their problem.

May import problem and below. Begin with manager.py.
"""
