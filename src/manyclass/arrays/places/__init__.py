"""Storage of X and of numbers per row: on the device, or in host memory by blocks."""
