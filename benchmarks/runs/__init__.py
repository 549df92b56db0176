"""Measurements of manyclass: one script each."""
