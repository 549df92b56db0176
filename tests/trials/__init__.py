"""Bounded trials, run by ``make trials``: longer than tests, each ends with its figures."""
