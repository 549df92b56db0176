"""The experiments of Alber et al. 2017, on made-up data."""

from __future__ import annotations

import sys

from experiments.alber2017 import sweep


def test_quick_form(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["experiment", "--quick"])
    sweep.main()
    assert "| LLW | 0 |" in capsys.readouterr().out


def test_table_has_a_row_for_every_run():
    run = {"error": 50.0, "macro_f1": 40.0, "density": 3.0, "seconds": 1.0, "gap": 1e-2}
    table = sweep.tables({"made up": {"CS -1": run, "CS 0": run}})
    assert table.count("| CS |") == 2
