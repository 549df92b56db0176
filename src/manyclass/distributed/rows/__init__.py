"""Training with rows in parts: each part computes sums over its own rows.

Begin with fit.py (``fit`` with ``split="rows"``) and svm_rows.py.
"""
