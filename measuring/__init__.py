"""Helpers of benchmarks and experiments: data sets, processes, results, pictures."""
