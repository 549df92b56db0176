"""Model files: written completely or not at all, checked when they are read.

May import estimators and the layers below. Begin with model_file.py.
"""
