"""Small helpers: memory, threads, instruction sets, fingerprints, prefetch, checks of sparse input.

May import nothing of manyclass but the compiled core.
"""
