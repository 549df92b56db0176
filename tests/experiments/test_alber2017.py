"""The experiments of Alber et al. 2017, on made-up data."""

from experiments.alber2017 import sweep


def test_tables_have_a_row_for_every_run_and_both_f1():
    run = {"error": 60.0, "f1_macro": 20.0, "density": 75.0, "alpha_density": 99.9}
    table = sweep.table5({f"LLW {power}": run for power in sweep.TABLE5})
    assert table.count("| 60.00 | 40.00 | 20.00 | 75.00 | 99.90 |") == 3
    run = {"error": 50.0, "f1_macro": 40.0, "density": 3.0, "seconds": 1.0, "gap": 1e-2}
    table = sweep.tables({"made up": {"CS -1": run, "CS 0": run}})
    assert table.count("| CS |") == 2
