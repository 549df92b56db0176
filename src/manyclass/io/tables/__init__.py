"""Tables of other programs in batches of rows: open_table.py and what it reads them by.

May import utils and the files of io/ below. Begin with open_table.py.
"""
