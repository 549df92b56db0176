"""Evaluation on labelled data: confused pairs, scores of classes, calibration; and an HTML page.

May import persistence and below. Begin with report.py and evaluation.py.
"""
