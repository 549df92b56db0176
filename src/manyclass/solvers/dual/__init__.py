"""The sequential dual method (coordinate ascent) and its proximal Newton phase, in one process.

May import solvers.weights and below. Begin with coordinate_ascent.py.
"""
