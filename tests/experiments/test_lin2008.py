"""The experiments of Lin 2008, on small data."""

import pytest

from experiments.lin2008 import growth, kernels, libsvm, regimes
from experiments.lin2008.machines import tuned


def test_exponent():
    points = [{"rows": n, "seconds": 1e-6 * n**1.5} for n in (100, 200, 400)]
    assert libsvm.exponent(points) == pytest.approx(1.5)


def test_every_method_has_a_cell_in_the_table_of_regimes():
    split = regimes.digits()
    assert regimes.methods_for(split) == list(regimes.METHODS)
    run = {"seconds": 1.5, "epochs": 12}
    entry = {"shape": [600, 64, 10], "methods": {"default": run, "sparse weights": run}}
    lines = regimes.table({"letter": entry}).splitlines()
    assert lines[2].endswith("| letter | 600 | 64 | 10 | 1.5 s, 12 | - | 1.5 s, 12 | - |")


@pytest.mark.slow
def test_a_machine_is_left_out_beyond_the_limit(capsys):
    found = growth.curves(kernels.small(), (200, 400), limit=0.0, tuning_rows=150)
    assert {len(points) for points in found["curves"].values()} == {1}
    assert "would exceed 0 s" in capsys.readouterr().out


@pytest.mark.slow
def test_settings_of_every_machine():
    chosen = tuned(kernels.small(), 150)
    assert set(chosen) == {"linear", "RBF", "Nystroem 500", "Nystroem 2000"}
    assert chosen["Nystroem 500"]["gamma"] == chosen["RBF"]["gamma"]
