"""Solvers: each has init, epoch, certify and finish; ``base.solve`` is their only loop."""
