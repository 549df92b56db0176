"""Storage of W: dense rows, hash tables, shards on ranks; the choice between them.

May import problem and below. Begin with storage_choice.py.
"""
