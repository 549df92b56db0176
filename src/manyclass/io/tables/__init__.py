"""Tables of other programs, read in batches of rows.

May import utils and the lower modules of io/. Begin with open_table.py.
"""
