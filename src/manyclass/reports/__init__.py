"""What models do on data, to look at: confused pairs, scores of classes, calibration, a page.

May import persistence and below. Begin with report.py.
"""
