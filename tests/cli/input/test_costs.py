"""Costs of mistakes on the command line: a table with labels, and the mean cost."""

import json

import numpy as np
import pytest

from manyclass import MulticlassSVC, load_model, load_svmlight


def test_costs_of_labels(run, tiny, here):
    X, y = load_svmlight("tiny")
    names = sorted(set(y.tolist()))
    costs = np.arange(len(names) ** 2, dtype=float).reshape(len(names), -1)
    np.fill_diagonal(costs, 0)
    rows = [[a, *map(str, row[::-1])] for a, row in zip(names, costs, strict=True)]
    (here / "costs.csv").write_text("\n".join(map(",".join, [["", *names[::-1]], *rows])))
    run.works("train", "tiny", "m", "--costs", "costs.csv", "--dtype", "float64")
    model = load_model("m")
    np.testing.assert_array_equal(model.costs, costs)
    same = MulticlassSVC(costs=costs, random_state=0).fit(X.astype(np.float64), y)
    np.testing.assert_array_equal(model.coef_, same.coef_)
    places = np.searchsorted(names, y), np.searchsorted(names, model.predict(X))
    found = json.loads(run.works("evaluate", "tiny", "m", "--json")[0])
    assert found["mean_cost"] == pytest.approx(costs[places].mean())
    assert f"mean cost {costs[places].mean():7.3f}" in run.works("evaluate", "tiny", "m")
    assert "costs        a table, at most 7; cost_scaling margin" in run.works("info", "m")


def test_numbers_as_labels(run, corpus, here):
    data = corpus / "train.txt"
    labels = np.unique(load_svmlight(data)[1])
    rows = [[f"{label:g}", *("0" if a == label else "2" for a in labels)] for label in labels]
    header = ["", *(f"{label:.1f}" for label in labels)]
    (here / "costs.csv").write_text("\n".join(",".join(row) for row in [header, *rows]))
    run.works("train", data, "m", "--costs", "costs.csv")
    assert load_model("m").costs.max() == 2
    given = "-C", "0.1,1", "--folds", "2", "--costs", "costs.csv", "--scoring", "cost", "--json"
    assert 0 < json.loads(run.works("cv", data, *given)[-1])["score"] < 2
    run.works("train", data, "chosen", "-C", "auto", "--costs", "costs.csv")
    assert load_model("chosen").costs.max() == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: the file is empty"),
        (",a,b,c\na,0,1,1", "the label b is missing"),
        (",a,b,b\na,0,1,1", "line 1: the label b is given twice"),
        (",a,b,z\na,0,1,1", "line 1: no row of tiny has the label 'z'"),
        (",a,b,c\na,0,1\n", "line 2: 2 costs for 3 labels"),
        (",a,b,c\na,0,1,many\n", "line 2: 'many' is not a number"),
        (",a,b,c\na,0,1,1\nb,1,0,-1\nc,1,1,0", "line 3: costs are finite and at least 0, not -1"),
        (",a,b,c\na,0,0,0\nb,0,0,0\nc,0,0,0", "costs.csv: at least one mistake must have"),
        (",a,b,c\na,1,1,1\nb,1,0,1\nc,1,1,0", "line 2: predicting a where it is true must cost 0"),
    ],
)
def test_files_that_hold_no_costs(run, tiny, here, text, message):
    (here / "costs.csv").write_text(text)
    assert message in run.fails("train", "tiny", "m", "--costs", "costs.csv")


def test_costs_that_multiply_losses(run, here):
    (here / "costs.csv").write_text(",a,b\na,0,1\nb,3,0\n")
    flags = ["--costs", "costs.csv", "--cost-scaling", "slack", "--formulation", "ww"]
    (here / "two").write_text("a 1:1\nb 1:-1\na 2:1\nb 1:0.5 2:-1\n")
    run.works("train", "two", "m", *flags)
    assert load_model("m").cost_scaling == "slack"
    run.works("cv", "two", "--folds", "2", "-C", "1", "--scoring", "cost", *flags)
    run.works("train", "two", "other", *flags[:2])
    assert load_model("other").cost_scaling == "margin"
