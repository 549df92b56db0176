"""Training whose rows are in parts: each part answers with sums over its own rows.

Begin with fit.py (``fit`` with ``split="rows"``) and svm_rows.py.
"""
