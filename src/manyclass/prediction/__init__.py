"""Scores and labels of rows by dense or sparse coefficients.

May import io and below. Begin with scoring.py.
"""
