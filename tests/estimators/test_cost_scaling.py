"""MulticlassSVC(cost_scaling="slack"): its problem by definition, folds, files, what is refused."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris

from manyclass import (
    MulticlassSVC,
    MulticlassSVCCV,
    Taxonomy,
    c_path,
    loo_error_bounds,
)
from manyclass.reports.report import write_report
from tests.helpers.cases import each
from tests.helpers.model_files import stored

X, Y = load_iris(return_X_y=True)
NAMES = load_iris().target_names[Y]
COSTS = np.array([[0.0, 1.0, 0.2], [3.0, 0.0, 1.5], [0.0, 5.0, 0.0]])
SLACK = {"formulation": "ww", "costs": COSTS, "cost_scaling": "slack", "random_state": 0}
losses = pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])


def objective(model, C, power, X=X, y=Y, costs=COSTS, weights=1.0):
    """The objective by its definition, with the scores of ``decision_function``."""
    s, W = model.decision_function(X), np.vstack([model.coef_.T, model.intercept_])
    xi = np.maximum(0, 1 - (s[np.arange(len(y)), y][:, None] - s))
    return 0.5 * np.sum(W * W) + C * np.sum(weights * (costs[y] * xi**power).sum(axis=1))


@losses
@each(
    ("weights", "dtype", "n_jobs"),
    [("dense", np.float64, 1), ("sparse", np.float32, 2), ("dense", np.float32, 2)],
)
def test_the_objective_is_that_of_the_definition(loss, weights, dtype, n_jobs):
    settings = {**SLACK, "loss": loss, "weights": weights, "n_jobs": n_jobs, "tol": 1e-4}
    model = MulticlassSVC(C=0.1, **settings).fit(X.astype(dtype), Y)
    if weights == "sparse":
        model.densify()
    primal = objective(model, 0.1, 1 if loss == "hinge" else 2, X.astype(dtype))
    digits = 1e-10 if dtype == np.float64 else 1e-5
    assert model.certificate_.primal_objective == pytest.approx(primal, rel=digits)
    assert model.certificate_.relative_gap <= 1e-4


def test_it_is_another_problem_than_margins():
    slack = MulticlassSVC(**SLACK).fit(X, Y)
    margin = MulticlassSVC(**{**SLACK, "cost_scaling": "margin"}).fit(X, Y)
    assert slack.certificate_.primal_objective != margin.certificate_.primal_objective
    assert clone(slack).cost_scaling == "slack"
    again = pickle.loads(pickle.dumps(slack))
    np.testing.assert_array_equal(again.fit(X, Y).coef_, slack.coef_)


def test_a_tree_gives_a_table():
    tree = Taxonomy({"setosa": None, "versicolor": "other", "virginica": "other", "other": None})
    table = tree.costs_of(["setosa", "versicolor", "virginica"])
    first, second = (MulticlassSVC(**{**SLACK, "costs": c}).fit(X, NAMES) for c in (tree, table))
    np.testing.assert_array_equal(first.coef_, second.coef_)


@losses
def test_weights_offsets_and_base_scores_go_with_it(loss):
    weights = np.where(Y == 1, 2.0, 1.0)
    base = np.random.default_rng(0).normal(size=(len(Y), 3))
    settings = {**SLACK, "loss": loss, "tol": 1e-6}
    first = MulticlassSVC(class_weight={1: 2.0}, **settings).fit(X, Y, base_scores=base)
    second = MulticlassSVC(class_offset=[0.5, 0, -1], **settings)
    second.fit(X, Y, weights, base_scores=base - [0.5, 0, -1])
    assert first.certificate_.primal_objective == pytest.approx(
        second.certificate_.primal_objective, rel=2e-6
    )


def test_the_newton_phase_trains_it():
    """Many rows of few features, whose descent is slow."""
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(400, 4)), rng.integers(0, 3, 400)
    for loss, power in (("hinge", 1), ("squared_hinge", 2)):
        settings = {**SLACK, "loss": loss, "C": 100.0}
        model = MulticlassSVC(**settings, tol=1e-5).fit(rows, labels)
        assert model.certificate_.relative_gap <= 1e-5
        primal = objective(model, 100.0, power, rows, labels)
        assert model.certificate_.primal_objective == pytest.approx(primal, rel=1e-9)
        only = MulticlassSVC(**settings, tol=1e-3, solver="sequential_dual").fit(rows, labels)
        assert only.certificate_.dual_objective <= primal * (1 + 1e-12)


def test_files_and_reports_hold_it(tmp_path):
    model = MulticlassSVC(**SLACK).fit(X, NAMES)
    loaded = stored(model)
    assert loaded.cost_scaling == "slack"
    np.testing.assert_array_equal(loaded.fit(X, NAMES).coef_, model.coef_)
    write_report(tmp_path / "report.html", model, X, NAMES)
    formula = "<i>Δ</i>(<i>y</i>, <i>c</i>) [1 −"
    assert formula in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_folds_and_paths_train_it():
    search = MulticlassSVCCV(Cs=[0.1, 1.0], scoring="cost", cv=3, tol=1e-6, **SLACK).fit(X, NAMES)
    plain = MulticlassSVC(C=search.C_, tol=1e-6, **SLACK).fit(X, NAMES)
    np.testing.assert_allclose(search.coef_, plain.coef_, atol=1e-3)
    path = c_path(X, Y, C_min=0.01, C_max=1.0, epsilon=0.05, **SLACK)
    one = path.model_at(0.5)
    exact = MulticlassSVC(C=0.5, tol=1e-8, **SLACK).fit(X, Y).certificate_.primal_objective
    assert exact <= objective(one, 0.5, 1) <= exact * 1.0501


def test_bounds_of_leave_one_out_hold_with_it():
    settings = {**SLACK, "C": 0.5}
    bounds = loo_error_bounds(X, Y, tol=1e-8, **settings)
    for i in range(0, 150, 15):
        kept = np.arange(150) != i
        model = MulticlassSVC(**settings, tol=1e-8).fit(X[kept], Y[kept])
        right = model.predict(X[i : i + 1])[0] == Y[i]
        assert bounds.verdicts[i] in (0, 1 if right else -1)


@each(
    ("changes", "message"),
    [
        ({"formulation": "cs"}, "use that, or cost_scaling='margin'"),
        ({"formulation": "one_vs_rest"}, "use that, or cost_scaling='margin'"),
        ({"cost_scaling": "both"}, "must be a str among"),
        ({"costs": np.zeros((3, 3))}, "at least one mistake must have a positive cost"),
        ({"costs": COSTS * 1e12}, "scale them to about 1"),
        ({"costs": np.where(COSTS == 0.2, 1e-12, COSTS)}, "scale them to about 1"),
        ({"costs": -COSTS}, "costs are finite and at least 0"),
        ({"solver": "cutting_plane"}, "trains without costs of mistakes"),
        ({"C": 1e305, "costs": COSTS * 1e8}, "overflows or vanishes"),
    ],
)
def test_what_does_not_go_with_it_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        MulticlassSVC(**{**SLACK, **changes}).fit(X, Y)


def test_too_many_classes_are_refused():
    y = np.arange(4100)
    tree = Taxonomy({int(c): None for c in y})
    with pytest.raises(ValueError, match="for up to 4096 classes, but there are 4100"):
        MulticlassSVC(**{**SLACK, "costs": tree}).fit(np.ones((4100, 1)), y)
