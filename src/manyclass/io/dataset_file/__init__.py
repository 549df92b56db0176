"""Converted data files: format, schema, memory-mapped rows.

May import io.tensors, io.svmlight and below. Begin with format.py.
"""
