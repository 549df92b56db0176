"""Stochastic training of one estimator over blocks, streams and epochs.

May import the other files of estimators and below. Begin with classifier.py.
"""
