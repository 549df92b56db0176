"""Rows on the workers of Dask, Ray and Spark: one base, and a file for each engine.

May import distributed.rows and below. Begin with cluster.py.
"""
