"""Run some tests against another build of the package: ``sanitized.py FOLDER GROUP``."""

import sys

import pytest

# Of the sum to zero on ranks, those that pass through every kernel; the others train for long.
SUM_TO_ZERO = "tests/distributed/solvers/test_sum_to_zero.py"
TESTS = {
    "quick": [
        "tests/kernels/test_newton.py",
        "tests/kernels/test_class_pairs.py",
        "tests/kernels/test_lower_root.py",
        "tests/kernels/test_pack_rows.py",
        "tests/kernels/test_merged_columns.py",
        "tests/io/svmlight/test_errors.py::test_malformed",
    ],
    "kernels": [
        "tests/kernels/test_subproblem.py",
        "tests/kernels/test_dual.py",
        "tests/kernels/test_newton.py",
        "tests/kernels/test_pair_crammer_singer.py",
        "tests/kernels/test_class_pairs.py",
        "tests/kernels/test_comparison.py",
        "tests/kernels/test_dense_rows.py",
        "tests/kernels/test_logistic.py",
        "tests/kernels/test_lower_root.py",
        "tests/kernels/test_pack_rows.py",
        "tests/kernels/test_merged_columns.py",
        "tests/prediction/test_scoring.py",
    ],
    "solvers": [
        "tests/prediction/test_sparse_scoring.py",
        "tests/solvers/test_newton_phase.py",
        "tests/solvers/test_stochastic_init.py",
        "tests/solvers/test_tables.py",
        f"{SUM_TO_ZERO}::test_w_is_kept_along_with_z",
        f"{SUM_TO_ZERO}::test_the_sum_of_w_is_kept_along",
        f"{SUM_TO_ZERO}::test_intercepts_are_built_anew_to_their_last_digit",
        "tests/solvers/test_sgd.py",
        "tests/solvers/test_sgd_objective.py",
        "tests/io/svmlight/test_fuzz.py",
    ],
    "threads": [
        "tests/estimators/test_threads.py",
        "tests/kernels/test_dense_rows.py::test_same_result_with_any_number_of_threads",
        "tests/solvers/test_rounds.py::test_costs_and_offsets[offsets]",
        "tests/solvers/test_rounds.py::test_rounds_are_for_four_threads",
        "tests/kernels/test_logistic.py::test_visits_do_not_depend_on_threads",
        "tests/kernels/test_logistic.py::test_passes_do_not_depend_on_threads",
        "tests/kernels/test_logistic.py::test_rows_whose_features_do_not_ascend",
    ],
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
