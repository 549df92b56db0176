"""Rows on the workers of Dask, Ray and Spark: a common base, and a module for each engine.

May import distributed.rows and the layers below. Begin with cluster.py.
"""
