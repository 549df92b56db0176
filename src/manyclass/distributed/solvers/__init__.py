"""The solvers whose classes are spread over ranks, each with its certificate."""
