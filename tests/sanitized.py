"""Run some tests against another build of the package: ``sanitized.py FOLDER kernels|threads``."""

import sys

import pytest

TESTS = {
    "kernels": [
        "tests/test_block.py",
        "tests/test_kernels.py",
        "tests/test_newton.py",
        "tests/test_newton_kernels.py",
        "tests/test_pair_simplex.py",
        "tests/test_pairs.py",
        "tests/test_prediction.py",
        "tests/test_shared_mean.py",
        "tests/test_slot_rows.py",
        "tests/test_sparse_dual.py",
        "tests/test_sparse_prediction.py",
        "tests/test_stochastic.py",
        "tests/test_stochastic_start.py",
        "tests/test_svmlight_fuzz.py",
    ],
    "threads": ["tests/test_threads.py"],
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
