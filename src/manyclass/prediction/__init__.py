"""Scores and labels of rows by dense or sparse coefficients.

May import io and the layers below. Begin with scoring.py.
"""
