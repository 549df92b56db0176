"""Alber et al. 2017: distributed optimization of multi-class SVMs."""
