"""Tables of the programs of benchmarks/runs, from results as they write them."""

import pytest

from benchmarks.peers.tables import short_table as short_table_of_peers
from benchmarks.runs import changing_rows, choosing_c, leave_one_out, profile
from benchmarks.stochastic.tables import short_table as short_table_of_steps
from measuring import results


def rows_of(table):
    return [line[2:-2].split(" | ") for line in table.splitlines() if line.startswith("|")][2:]


def test_tables_of_the_profile():
    shares = {"full loops": 0.25, "shrunk loops": 0.5, "Newton": 0.125, "certificate": 0.0625}
    run = {"sizes": [15935, 62061, 20], "seconds": 0.1234, "epochs": 10, "shares": shares}
    run |= {"look": 198.4, "visit": 2925.0, "rate": 52.0}
    names = [*profile.SHORT, ("satimage", "one_vs_rest")]
    runs = [{"data": data, "formulation": name, **run} for data, name in names]
    found = {"runs": runs, "scalar_product": 138.6}
    table = profile.table(found)
    assert table.endswith("\n\nA scalar product reaches 139 GB/s.")
    expected = ["satimage", "one_vs_rest", "0.123", "10", "25 %", "50 %", "12 %", "6 %"]
    assert rows_of(table)[-1] == [*expected, "198", "2925", "52"]
    short = rows_of(profile.short_table(found))
    assert len(short) == len(profile.SHORT)
    expected = ["news20 (15,935 x 62,061 x 20)", "Crammer-Singer", "0.123", "10", "75 %", "12 %"]
    assert short[0] == [*expected, "6 %", "198", "2,925"]


def test_the_table_of_changed_rows():
    found = {"1 % added": [0.561, 3, 10], "nothing": [0.1, 0, 10]}
    run = {"data": "news20", "model": "logistic", "cold": 0.494, "changes": found}
    table = changing_rows.table({"runs": [run]})
    assert table.splitlines()[0] == "| data | model | cold, s | 1 % added | nothing |"
    assert rows_of(table) == [["news20", "logistic", "0.49", "0.56 (3/10)", "0.10 (0/10)"]]


def test_tables_of_choosing_c():
    ours = {"seconds": 2.0, "scores": [0.5, 0.84784]}
    slow = {"data": "news20", "problem": "crammer_singer", "ours": ours, "theirs": None}
    quick = slow | {"problem": "one_vs_rest_squared", "theirs": {"seconds": 10.0, "scores": [0.8]}}
    other = {"liblinear": {"seconds": 5.0, "C": 1.0, "score": 0.8}}
    runs = [slow | {"limit": 240.0}, quick | {"limit": 240.0} | other]
    over, reached = rows_of(choosing_c.searches_table({"searches": runs}))
    assert over[2:7] == ["2.0 s", "84.78 %", "over 240 s", "", "over 120"]
    assert reached[4:] == ["10.0 s", "80.00 %", "5.0", "5.0 s", "2.5"]
    path = {"data": "letter", "fits": 13, "seconds": 0.614, "one_fit": 0.25, "gap": 0.01}
    assert rows_of(choosing_c.paths_table({"paths": [path]})) == [
        ["letter", "13", "0.61", "2.5 times"]
    ]


def test_the_table_of_leave_one_out():
    run = {"data": "letter", "C": 0.1, "lower": 0.2655, "upper": 0.7369, "seconds": 0.31}
    row = ["letter", "0.1", "26.6 to 73.7 %", "52.9 %", "0.3"]
    assert rows_of(leave_one_out.table({"runs": [run]})) == [row]


def test_the_table_and_the_picture_of_calibration(monkeypatch):
    pytest.importorskip("matplotlib")
    from benchmarks.runs import calibration

    found = {"log_loss": 0.5504, "accuracy": 0.845, "ece": 0.05, "seconds": 6.04}
    found["curve"] = [[0.2, 0.8], [0.3, 0.9]]
    result = {"data": {"news20": dict.fromkeys(calibration.DRAWN, found)}}
    rows = rows_of(calibration.table(result))
    assert rows[0] == ["news20", "logistic, C = 10", "0.550", "84.5 %", "0.050", "6.0"]
    monkeypatch.setattr(results, "_scratch", None)
    results.write_to_scratch()
    assert calibration.picture(result).endswith("on news20](figures/calibration.png)")
    assert results.place(results.FIGURES / "calibration.png").stat().st_size > 1000


def solver(name, seconds, threads=1):
    found = {"name": name, "package": name, "threads": threads, "minimizes": True}
    return found | {"levels": {"0.001": seconds and {"seconds": seconds}}}


def test_the_table_of_peers_for_users():
    ours = solver("manyclass", 0.1071)
    entry = {"problem": "crammer_singer", "data": "news20", "solvers": [ours, solver("peer", 0.44)]}
    two = entry | {"data": "mnist", "solvers": [solver("manyclass", 3.92), solver("peer", 1.0, 2)]}
    other = entry | {"problem": "logistic", "solvers": [ours, solver("peer", None)]}
    alone = entry | {"problem": "weston_watkins", "solvers": [ours]}
    table = short_table_of_peers({"entries": [entry, two, other, alone]})
    assert "Weston-Watkins" not in table
    assert rows_of(table) == [["news20", "0.107 (4.1)", "0.107"], ["mnist", "3.92", ""]]


def test_the_table_of_stochastic_training_for_users():
    def timed(epochs, seconds):
        runs = {str(epochs): {"cpu_seconds": [seconds], "seconds": [2 * seconds]}}
        return {"levels": {"sgd": {"epochs": epochs}}, "runs": runs}

    found = {
        "manyclass_average_hinge": timed(2, 0.02),
        "manyclass_hinge": timed(2, 0.02),
        "sklearn_sgd_hinge": timed(3, 0.2),
        "sklearn_sgd_average_hinge": timed(1, 0.1),
        "manyclass_svc": timed(3, 0.03),
        "manyclass_log_loss": timed(None, 0.0),
    }
    result = {"data": {"news20": {"sizes": {"k": 1139}, "seconds": found}}}
    assert rows_of(short_table_of_steps(result)) == [
        ["news20 (1,139 classes)", "hinge", "2", "0.02", "5", "1.5"],
        ["news20 (1,139 classes)", "log_loss", "not reached", "", "", ""],
    ]
