"""Solvers: one file per peer, each with a class Solver."""
