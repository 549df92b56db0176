"""Multinomial logistic regression to a proven gap: descent in the dual, Newton in the primal."""
