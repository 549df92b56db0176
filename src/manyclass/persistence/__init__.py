"""Model files: written completely or not at all, checked when they are read.

May import estimators and all below. Begin with model_file.py.
"""
