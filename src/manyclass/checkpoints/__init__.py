"""Checkpoint files: format, schedule, and what identifies the problem they belong to.

May import problem and below. Begin with manager.py.
"""
