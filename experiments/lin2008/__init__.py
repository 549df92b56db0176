"""Lin 2008: what kernels buy, and what they cost."""
