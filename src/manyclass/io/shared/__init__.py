"""One copy of the data per machine, read by the ranks together.

May import io.dataset_file, io.svmlight, parallel and below. Begin with dataset.py.
"""
