"""Data files, tables and costs as commands read them, and the kinds of files.

Begin with data.py.
"""
