"""Synthetic text corpora.

May import nothing of manyclass. Begin with synthetic.py.
"""
