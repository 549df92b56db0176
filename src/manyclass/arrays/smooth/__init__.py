"""Smooth losses of rows on a device, and their sums."""
