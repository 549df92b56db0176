"""Input of commands: data files, tables, costs, and the kinds of files.

Begin with data.py.
"""
