"""What fits nothing is refused before compiled code, SciPy's or our own, trusts it."""

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp

from manyclass import MulticlassSVC, StochasticClassifier, _core, save_data
from manyclass.solvers.weights.storage import allocate_weights
from manyclass.utils.machine import instruction_set
from tests.helpers.cases import each
from tests.trials import hostile_calls

Y = np.array([0, 1, 2, 0, 1, 2])
FAR = 10**8  # reading so far from an array ends the process


def rows(kind):
    X = sp.random_array((6, 4), density=0.6, random_state=np.random.default_rng(0), format=kind)
    return sp.coo_array(X) if kind == "coo" else X


def broken(what):
    """A sparse matrix that SciPy would read outside of its arrays."""
    X = rows("csr" if what in ("indptr", "indices", "short") else what)
    if what in ("indptr", "csc"):
        X.indptr[2] = FAR
    elif what in ("indices", "bsr"):
        X.indices[1] = FAR
    elif what == "short":
        X.indptr = X.indptr[:3]
    else:
        X.coords[0][1] = FAR
    X.has_canonical_format = False
    return X


WAYS = {
    "fit": lambda X, _: MulticlassSVC().fit(X, Y),
    "stochastic": lambda X, _: StochasticClassifier(early_stopping=True).fit(X, Y),
    "partial_fit": lambda X, _: StochasticClassifier().partial_fit(X, Y, [0, 1, 2]),
    "fit_blocks": lambda X, _: StochasticClassifier().fit_blocks([(X, Y)], [0, 1, 2], 4),
    "save_data": lambda X, folder: save_data(folder / "data", X, Y),
    "predict": lambda X, _: MulticlassSVC().fit(rows("csr"), Y).predict(X),
    "sparsify": lambda X, _: MulticlassSVC().fit(rows("csr"), Y).sparsify(0.1, X, Y),
}


@pytest.mark.parametrize("way", WAYS)
@each("what", ["indptr", "indices", "short", "csc", "coo", "bsr"])
def test_invalid_sparse_input_is_an_error(what, way, tmp_path):
    with pytest.raises(ValueError, match=r"not a valid (CSR|CSC|COO|BSR) matrix: "):
        WAYS[way](broken(what), tmp_path)
    assert not list(tmp_path.iterdir())


def test_lists_of_lists_with_a_column_too_far():
    X = rows("lil")
    X.rows[0], X.data[0] = [FAR], [1.0]
    with pytest.raises(ValueError, match=r"not a valid CSR|exceeds"):
        MulticlassSVC().fit(X, Y)


ARGUMENTS = {
    "indptr": np.array([0, 1, 2, 3]),
    "indices": np.array([0, 1, 1], np.int32),
    "values": np.ones(3),
    "n_features": 2,
    "bias": 1.0,
    "labels": np.array([0, 1, 2], np.int32),
    "n_classes": 3,
    "costs": np.ones(3),
    "instruction_set": instruction_set(),
}
HINGE = {"relative": True, "others": True, "own": False, "maximum": False, "centred": False}


def formulation(**changes):
    rest = {"loss": "hinge", "gamma": 1.0, "gamma_own": 1.0}
    return _core.Formulation(**{**HINGE, **rest, **changes})


def checked(**changes):
    return _core.Problem64(**{"formulation": formulation(), **ARGUMENTS, **changes})


@each(
    ("changes", "message"),
    [
        ({"indptr": np.array([0, 1, FAR, 3])}, "indptr is inconsistent"),
        ({"indptr": np.array([0, 2, 1, 3])}, "indptr is inconsistent"),
        ({"indptr": np.array([-1, 1, 2, 3])}, "indptr is inconsistent"),
        ({"indptr": np.array([0, 1, 2, 4])}, "indptr is inconsistent"),
        ({"indptr": np.array([0, 1, 3])}, "one entry more than labels"),
        ({"indices": np.array([0, FAR, 1], np.int32)}, "an index is out of range"),
        ({"indices": np.array([0, -1, 1], np.int32)}, "an index is out of range"),
        ({"indices": np.array([0, 1], np.int32)}, "one length"),
        ({"labels": np.array([0, 1, 3], np.int32)}, "label out of range"),
        ({"labels": np.array([0, 1, -2], np.int32)}, "label out of range"),
        ({"n_classes": 0}, "n_classes is out of range"),
        ({"n_features": -1}, "n_features is out of range"),
        ({"n_features": 2**31}, "n_features is out of range"),
        ({"n_features": 1}, "an index is out of range"),
        ({"bias": np.nan}, "bias must be finite"),
        ({"costs": np.array([1.0, np.inf, 1.0])}, "costs must be positive and finite"),
        ({"costs": np.array([1.0, -1.0, 1.0])}, "costs must be positive and finite"),
        ({"costs": np.ones(2)}, "one length"),
    ],
)
def test_problems_check_what_they_are_given(changes, message):
    checked()
    with pytest.raises(ValueError, match=message):
        checked(**changes)


@pytest.mark.parametrize(
    "of_core",
    [
        partial(_core.Engine, storage="dense", n_threads=1),
        partial(_core.Engine, storage="dense", n_threads=1, lists=True),
        _core.StochasticTrainer64,
        partial(_core.Engine, storage="class_major", n_threads=1),
        partial(_core.Engine, storage="tables", n_threads=1, order=np.arange(3, dtype=np.int32)),
    ],
)
def test_relative_margins_need_the_class_of_every_row(of_core):
    with pytest.raises(ValueError, match="every example must have its class"):
        of_core(checked(labels=np.array([0, -1, 2], np.int32)))


@pytest.mark.parametrize(
    "changes",
    [
        {"relative": False, "others": False},  # no targets
        {"own": True},
        {"centred": True},
        {"maximum": True, "loss": "squared_hinge"},
        {"loss": "log_loss"},
        {"relative": False, "others": False, "own": True, "maximum": True},
        {"gamma": np.nan},
    ],
)
def test_formulations_that_no_kernel_knows(changes):
    with pytest.raises(ValueError, match=r"targets|margins|loss"):
        formulation(**changes)


@pytest.mark.parametrize("odd", [-1, 3, FAR])
def test_rows_out_of_range_are_refused(odd):
    core = checked()
    engine = _core.Engine(core, "dense", 1)
    some = np.array([0, odd], np.int32)
    goal = _core.ShrunkGoal(0.0, 0.0, 100, 0.0)
    for call in (
        lambda: engine.full_loop(some, some.copy(), 0.0, 0),
        lambda: engine.shrunk_loops(some, 2, goal, 0),
        lambda: core.order(some, 0),
    ):
        with pytest.raises(ValueError, match="row out of range"):
            call()
    engine.shrunk_loops(some, 1, goal, 0)  # what lies behind is not looked at


@each("shape", [(-1, 3), (2**40, 3), (3, 0), (3, -(2**31)), (3, 2**31 - 1)])
def test_duals_of_no_size(shape):
    with pytest.raises(ValueError, match="out of range"):
        _core.Duals64(*shape)


def test_duals_with_a_class_twice_are_refused():
    arrays = np.array([0, 0, 2]), np.array([1, 1], np.int32), np.ones(2)
    with pytest.raises(ValueError, match="z has a class twice"):
        _core.Duals64(2, 3).from_csr(*arrays)


def test_sums_and_averages_of_different_widths():
    W, U = (allocate_weights(3, k, np.dtype(float))[1] for k in (64, 8))
    clock = _core.StochasticClock()
    clock.alpha = 1.0
    passage = _core.Passage(_core.StochasticLoss.hinge, 1, 1)
    some = np.array([0, 1], np.int32)
    with pytest.raises(ValueError, match="rows of one length"):
        _core.StochasticTrainer64(checked()).steps(W, U, clock, passage, some)


@pytest.mark.slow
def test_the_trial_runs(capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["hostile_calls", "--calls", "3"])
    assert hostile_calls.main() == 0
    assert capsys.readouterr().out.startswith("hostile calls: 3, ")
