"""Evaluation on labelled data: confused pairs, scores of classes, calibration; and an HTML report.

May import persistence and the layers below. Begin with report.py and evaluation.py.
"""
