"""The choice of C: the certified path, cross-validation."""
