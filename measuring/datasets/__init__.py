"""Data sets: one file per source, each with a list DATASETS."""
