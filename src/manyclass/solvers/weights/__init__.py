"""Storage of W: dense rows, hash tables; the choice between them.

May import problem and the layers below. Begin with storage.py.
"""
