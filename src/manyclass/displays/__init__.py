"""Plots, by the conventions of scikit-learn's Display classes; they need matplotlib."""
