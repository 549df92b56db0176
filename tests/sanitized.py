"""Run some tests against another build of the package: ``sanitized.py FOLDER kernels|threads``."""

import sys

import pytest

TESTS = {
    "kernels": [
        "tests/kernels/test_subproblem.py",
        "tests/kernels/test_dual.py",
        "tests/solvers/dual/test_proximal_newton.py",
        "tests/kernels/test_newton.py",
        "tests/kernels/test_pair_crammer_singer.py",
        "tests/kernels/test_class_pairs.py",
        "tests/prediction/test_scoring.py",
        "tests/solvers/distributed/test_sum_to_zero.py",
        "tests/kernels/test_pack_rows.py",
        "tests/solvers/dual/test_table_weights.py",
        "tests/prediction/test_sparse_scoring.py",
        "tests/solvers/stochastic/test_sgd.py",
        "tests/solvers/dual/test_stochastic_init.py",
        "tests/io/svmlight/test_fuzz.py",
    ],
    "threads": ["tests/estimators/test_threads.py"],
}

if __name__ == "__main__":
    # The editable install answers for the package by a finder of its own.
    sys.meta_path = [f for f in sys.meta_path if "scikitbuild" not in type(f).__name__.lower()]
    sys.path.insert(0, sys.argv[1])
    import manyclass

    if not manyclass.__file__.startswith(sys.argv[1]):
        sys.exit(f"the package under test is {manyclass.__file__}, not the one in {sys.argv[1]}")
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:doctest", "-o", "addopts="]
    sys.exit(pytest.main([*options, *TESTS[sys.argv[2]]]))
