"""The solvers with classes partitioned over ranks, each with its certificate."""
