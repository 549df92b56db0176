"""``solver=`` of MulticlassSVC: results, refusals, interruption, checkpoints, files."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from manyclass import MulticlassSVC, load_model, save_model
from manyclass.solvers.comparison.base import ComparisonSolver
from manyclass.training import train
from manyclass.training.train import COMPARISON, SOLVERS

comparison = pytest.mark.parametrize("solver", COMPARISON)
rng = np.random.default_rng(0)
Y = rng.integers(0, 4, 80)
X = rng.normal(size=(80, 6)) + 2 * np.eye(4, 6)[Y]


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_all_solvers_prove_one_optimum(solver, dtype, kind):
    rows = kind(X.astype(dtype))
    model = MulticlassSVC(solver=solver, C=0.1, tol=1e-3, max_iter=5000, random_state=0)
    model.fit(rows, Y)
    best = MulticlassSVC(C=0.1, tol=1e-6, random_state=0).fit(X, Y).certificate_
    proof = model.certificate_
    assert proof.relative_gap <= 1e-3
    assert proof.dual_objective <= best.primal_objective * (1 + 1e-7)
    assert proof.primal_objective >= best.dual_objective * (1 - 1e-7)
    assert model.coef_.dtype == dtype
    assert model.score(rows, Y) > 0.8


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (
            {"solver": "exponentiated_gradient", "formulation": "lee_lin_wahba"},
            "trains formulation='crammer_singer' or 'weston_watkins'",
        ),
        ({"solver": "cutting_plane", "formulation": "adm"}, "'weston_watkins' or 'one_vs_rest'"),
        (
            {"solver": "most_violating", "formulation": "weston_watkins", "loss": "squared_hinge"},
            "trains loss='hinge'",
        ),
        ({"solver": "cutting_plane", "stopping": "kkt"}, "use stopping='gap'"),
        ({"solver": "exponentiated_gradient", "weights": "sparse"}, "use weights='dense'"),
    ],
)
def test_what_does_not_go_together(params, message):
    model = MulticlassSVC(**params)
    with pytest.raises(ValueError, match=message):
        model.fit(X, Y)
    assert not hasattr(model, "coef_")


@comparison
def test_refused_with_bytes_when_memory_is_short(monkeypatch, solver):
    monkeypatch.setattr(train, "available_memory", lambda: 10_000)
    with pytest.raises(MemoryError, match=r"80 examples and 4 classes: 0\.0 GB, and 0\.0 GB"):
        MulticlassSVC(solver=solver).fit(X, Y)


@comparison
def test_ctrl_c_ends_training_and_warm_start_goes_on(solver, ctrl_c_in):
    large = np.random.default_rng(1)
    rows = large.normal(size=(2000, 60))
    labels = (rows @ large.normal(size=(60, 30)) + 3 * large.normal(size=(2000, 30))).argmax(axis=1)
    model = MulticlassSVC(solver=solver, tol=1e-12, max_iter=10**6, warm_start=True, random_state=0)
    ctrl_c_in(ComparisonSolver, "epoch")
    with pytest.raises(KeyboardInterrupt):
        model.fit(rows, labels)
    assert not hasattr(model, "coef_")
    with pytest.warns(ConvergenceWarning):
        model.set_params(max_iter=1).fit(rows, labels)
    assert model.certificate_.gap < np.inf


@comparison
def test_checkpoints(tmp_path, solver):
    first = MulticlassSVC(solver=solver, tol=1e-4, max_iter=3, checkpoint=tmp_path, C=0.1)
    with pytest.warns(ConvergenceWarning):
        first.fit(X, Y)
    again = MulticlassSVC(
        solver=solver, tol=1e-2, max_iter=3000, checkpoint=tmp_path, resume=True, C=0.1
    ).fit(X, Y)
    assert len(again.history_) > 3
    assert again.certificate_.relative_gap <= 1e-2


@comparison
def test_model_files_do_not_depend_on_the_solver(tmp_path, solver):
    model = MulticlassSVC(solver=solver, tol=1e-2, C=0.1, max_iter=3000).fit(X, Y)
    save_model(tmp_path / "m", model)
    loaded = load_model(tmp_path / "m")
    assert loaded.solver == "auto"
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


@comparison
def test_weights_of_examples_count_as_copies(solver):
    counts = np.random.default_rng(2).integers(0, 3, len(Y))
    weighted = MulticlassSVC(solver=solver, tol=1e-3, C=0.1, max_iter=5000, random_state=0)
    weighted.fit(X, Y, sample_weight=counts)
    copies = MulticlassSVC(tol=1e-6, C=0.1).fit(np.repeat(X, counts, axis=0), np.repeat(Y, counts))
    found, best = weighted.certificate_, copies.certificate_
    assert found.dual_objective <= best.primal_objective * (1 + 1e-9)
    assert found.primal_objective == pytest.approx(best.primal_objective, rel=2e-3)


@comparison
def test_two_classes_are_one_row(solver):
    model = MulticlassSVC(solver=solver, tol=1e-3, C=0.1, max_iter=5000).fit(X, Y > 1)
    best = MulticlassSVC(tol=1e-8, C=0.1).fit(X, Y > 1)
    assert model.coef_.shape == (1, 6)
    np.testing.assert_allclose(model.coef_, best.coef_, atol=0.1)
