"""The benchmark's yardstick, and that its solvers solve what they are said to solve."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris

from benchmarks.peers import measure, report, tables
from benchmarks.peers.objective import accuracy, primal
from benchmarks.peers.problems import PROBLEMS
from benchmarks.peers.reference import Reference
from benchmarks.peers.solvers.base import find_solvers
from benchmarks.peers.solvers.manyclass import estimator
from measuring.datasets.base import Data, find_datasets

C = 0.5
PAIRS = [(solver, PROBLEMS[name]) for solver in find_solvers().values() for name in solver.problems]


@pytest.fixture(scope="module")
def data():
    X, y = load_iris(return_X_y=True)
    rows = sp.csr_array(X - X.mean(axis=0))
    one = Data.from_parts((rows[::2], y[::2]), (rows[1::2], y[1::2]))
    sets = [{label, 7} if label < 2 else set() for label in y]
    many = Data.from_label_sets((rows[::2], sets[::2]), (rows[1::2], sets[1::2]))
    return {False: one, True: many}


@pytest.fixture(scope="module")
def optima(data):
    def reference(problem):
        part = data[problem.multilabel]
        model = estimator(problem, C=C, tol=1e-8).fit(part.X.astype(np.float64), part.labels)
        proof = model.certificate_
        assert primal(problem, part.X, part.labels, model.coef_.T, C) == pytest.approx(
            proof.primal_objective, rel=1e-12
        )
        return Reference(proof.primal_objective, proof.dual_objective)

    return {name: reference(problem) for name, problem in PROBLEMS.items()}


@pytest.mark.parametrize(
    ("solver", "problem"), PAIRS, ids=[f"{solver.name}-{problem.name}" for solver, problem in PAIRS]
)
def test_a_solver_reaches_the_optimum_of_its_problems(data, optima, solver, problem):
    skipped, reason = solver.skip()
    if skipped:
        pytest.skip(reason)
    task = measure.Task(data[problem.multilabel], problem, C)
    solver.prepare(task.data.X, task.data.labels, problem, C)
    run = measure.Run(1e-4 if solver.tolerances[0] > solver.tolerances[-1] else 1000)
    measure.measure(solver, run, task)
    assert abs(run.excess(optima[problem.name].primal)) < 0.02
    assert run.accuracies[0] > (0.7 if problem.multilabel else 0.8)


def test_a_race_ends_and_makes_a_table(data, optima):
    solvers = [find_solvers()[name] for name in ("manyclass", "sklearn_linear_svc", "sklearn_sgd")]
    task = measure.Task(data[False], PROBLEMS["crammer_singer"], C)
    limits = measure.Limits((1e-1, 1e-2), repeats=2, seconds=60.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a peer may warn of what it does not reach
        sweeps, best = measure.race(solvers, task, limits, optima["crammer_singer"])
    entry = report.record("iris", task, sweeps, best, limits)
    assert [solver["minimizes"] for solver in entry["solvers"]] == [True, True, False]
    assert all(entry["solvers"][0]["levels"].values())
    rows = tables.seconds_table([entry], {}).splitlines()
    assert len(rows) == 4
    assert "iris" in tables.accuracy_table([entry])


def entry_of(problem, **seconds):
    solvers = [
        {"name": name, "package": name, "threads": 1, "minimizes": True, "levels": {"0.01": found}}
        for name, found in seconds.items()
    ]
    return {"problem": problem, "data": "iris", "levels": ["0.01"], "solvers": solvers}


def test_slower_cases_are_named():
    ours, other = {"seconds": 2.0}, {"seconds": 1.0}
    entries = [
        entry_of("crammer_singer", manyclass=other, liblinear=ours),
        entry_of("weston_watkins", manyclass=ours),
        entry_of("one_vs_rest", manyclass=ours, liblinear=other, other=None),
    ]
    notes = tables.short_notes({"entries": entries})
    assert "at the given excess): one-vs-rest, hinge on iris (0.5 at 0.01)." in notes
    assert "manyclass takes 2.0 to 2.0 times as long as for Crammer-Singer" in notes
    notes = tables.short_notes({"entries": entries[:1]})
    assert notes == "No other solver is as fast at any of the levels."
    missed = entry_of("one_vs_rest", manyclass=None, liblinear=other)
    assert "(not reached by manyclass at 0.01)." in tables.short_notes({"entries": [missed]})


def test_label_sets_have_a_column_for_each_label_of_the_training_part():
    X = sp.csr_array(np.eye(2))
    data = Data.from_label_sets((X, [{3, 1}, set()]), (X[:1, :1], [{1, 2}]))
    assert data.multilabel
    assert data.labels.tolist() == [[True, True], [False, False]]
    assert data.labels_test.tolist() == [[True, False]]
    assert data.X_test.shape == (1, 2)
    W = np.array([[1.0, -1.0], [0.0, 0.0]])
    problem = PROBLEMS["multilabel_squared"]
    assert primal(problem, data.X, data.labels, W, C=2.0) == 1 + 2 * (4 + 2)
    assert accuracy(data.X, data.labels, W) == 2 / 3  # micro F1


def test_data_sets_with_label_sets_are_found_if_asked_for():
    names = {"bibtex", "delicious"}
    assert not names & set(find_datasets())
    assert names <= set(find_datasets(multilabel=True))


def test_entries_are_replaced_and_read_again(tmp_path):
    old = [{"problem": "a", "data": "x", "solvers": [1]}, {"problem": "a", "data": "y"}]
    new = [{"problem": "a", "data": "x", "solvers": [2]}]
    assert report.merged(old, new) == [new[0], old[1]]
    path = tmp_path / "folder" / "latest.json"
    result = {"machine": {}, "skipped": [], "entries": [{"problem": "a", "solvers": [{"name": 1}]}]}
    report.write(path, result)
    assert report.read(path) == result
