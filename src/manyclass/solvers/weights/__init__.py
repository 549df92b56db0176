"""Storage of W: dense rows, hash tables; the choice between them.

May import problem and below. Begin with storage.py.
"""
