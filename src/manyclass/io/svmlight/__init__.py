"""The svmlight / LIBSVM reader: a file at once, or in blocks.

May import utils and io.atomic. Begin with reader.py.
"""
