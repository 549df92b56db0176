"""Helpers: memory, threads, instruction sets, fingerprints, labels, checks of input, progress.

May import only the compiled core of manyclass.
"""
