"""``class_offset=`` of exact training and of steps: definition, labels, folds, files, errors."""

import numpy as np
import pytest
from scipy.special import log_softmax
from sklearn.datasets import load_iris
from sklearn.metrics import recall_score

from manyclass import MulticlassSVC, MulticlassSVCCV, StochasticClassifier
from tests.helpers.cases import each
from tests.helpers.model_files import stored

X, Y = load_iris(return_X_y=True)
NAMES = load_iris().target_names[Y]
OFFSETS = np.array([0.5, -1.0, 2.0])


def loss_by_definition(scores, y, offsets):
    """Crammer-Singer's loss of scores with offsets."""
    shifted = scores + offsets
    rivals = [1 - (shifted[y] - shifted[c]) for c in range(len(scores)) if c != y]
    return max(0.0, *rivals)


def test_the_objective_is_that_of_the_definition():
    model = MulticlassSVC(class_offset=OFFSETS, C=0.1, tol=1e-6, random_state=0).fit(X, Y)
    W = np.vstack([model.coef_.T, model.intercept_])
    scores = model.decision_function(X)
    losses = [loss_by_definition(s, y, OFFSETS) for s, y in zip(scores, Y, strict=True)]
    primal = 0.5 * np.sum(W * W) + 0.1 * np.sum(losses)
    assert model.certificate_.primal_objective == pytest.approx(primal, rel=1e-10)
    assert model.certificate_.relative_gap <= 1e-6


@each("weights", ["dense", "sparse"])
def test_one_number_for_all_classes_changes_nothing_of_relative_margins(weights):
    settings = {"weights": weights, "tol": 1e-6, "random_state": 0}
    plain = MulticlassSVC(**settings).fit(X, Y)
    shifted = MulticlassSVC(class_offset=[3.0] * 3, **settings).fit(X, Y)
    found, expected = shifted.decision_function(X), plain.decision_function(X)
    np.testing.assert_allclose(found, expected, atol=0.05)


def test_logit_adjustment_is_the_logarithm_of_the_shares():
    weight = np.where(Y == 1, 0.2, 1.0)
    class_weight = {2: 3.0}
    shares = np.array([50, 10, 150]) / 210
    settings = {"class_weight": class_weight, "random_state": 0}
    models = [
        MulticlassSVC(class_offset=offset, **settings).fit(X, Y, weight)
        for offset in ("logit_adjustment", np.log(shares), dict(enumerate(np.log(shares))))
    ]
    for model in models[1:]:
        np.testing.assert_allclose(model.coef_, models[0].coef_, rtol=1e-6)


def rare():
    """Rows of a class that is rare, and of two that are not."""
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 0.0], [2.2, 0.6], [0.8, 2.2]])
    y = np.repeat(np.arange(3), [500, 125, 20])
    return centres[y] + 0.9 * rng.standard_normal((len(y), 2)), y


def test_a_smaller_offset_finds_more_of_a_rare_class():
    rows, y = rare()
    found = []
    for offset in (None, {2: -1.0}, {2: -2.0}):
        model = MulticlassSVC(formulation="ww", class_offset=offset, random_state=0)
        found.append(recall_score(y, model.fit(rows, y).predict(rows), average=None)[2])
    assert found[0] < found[1] < found[2]


def test_offsets_go_with_costs_and_files_hold_both():
    costs = {"setosa": {"virginica": 4.0}}
    offset = {"virginica": -0.5}
    model = MulticlassSVC(costs=costs, class_offset=offset, random_state=0).fit(X, NAMES)
    for given in (model, MulticlassSVC(class_offset=OFFSETS, random_state=0).fit(X, NAMES)):
        again = stored(given).fit(X, NAMES)
        np.testing.assert_array_equal(again.coef_, given.fit(X, NAMES).coef_)
    assert stored(model).class_offset == offset


@each("offset", ["logit_adjustment", [0.0, 1.0, -1.0, 0.5], {"rare": 1.0}])
def test_folds_take_offsets_by_label(offset):
    y = NAMES.copy()
    y[:2] = "rare"
    halves = np.arange(0, 150, 2), np.arange(1, 150, 2)
    folds = [(np.arange(2, 150), np.arange(2)), halves, halves[::-1]]
    search = MulticlassSVCCV(Cs=[0.1, 1.0], class_offset=offset, cv=folds, random_state=0)
    assert np.isfinite(search.fit(X, y).scores_).all()
    assert stored(search).score(X, y) == search.score(X, y)


def test_checkpoints_are_of_their_offsets(tmp_path):
    MulticlassSVC(class_offset=OFFSETS, checkpoint=tmp_path / "run").fit(X, Y)
    with pytest.raises(ValueError, match="costs and offsets of classes"):
        MulticlassSVC(checkpoint=tmp_path / "run", resume=True).fit(X, Y)


@each(
    ("offset", "settings", "message"),
    [
        ([1.0, 2.0], {}, "one number for each of the 3"),
        ([1.0, 2.0, np.nan], {}, "finite"),
        ([1.0, 2.0, -1e10], {}, "up to"),
        (["a", "b", "c"], {}, "must hold a number"),
        ({7: 1.0}, {}, "7 is not a class"),
        ({"0": 1.0}, {}, "'0' is not a class; did you mean 0?"),
        ({0: "x"}, {}, "must hold a number"),
        ("balanced", {}, "class_offset"),
        (OFFSETS, {"solver": "most_violating"}, "without costs of mistakes, class_offset"),
    ],
)
def test_offsets_that_are_none(offset, settings, message):
    with pytest.raises(ValueError, match=message):
        MulticlassSVC(class_offset=offset, **settings).fit(X, Y)


def test_two_machines_of_two_classes_are_refused():
    two = Y < 2
    with pytest.raises(ValueError, match="binary model has one"):
        MulticlassSVC(formulation="ovr", class_offset=[0, 1]).fit(X[two], Y[two])


def test_the_objective_of_steps_is_that_of_the_definition():
    settings = {"class_offset": OFFSETS, "random_state": 0, "max_iter": 20, "tol": None}
    model = StochasticClassifier(loss="log_loss", compute_objective=True, **settings).fit(X, Y)
    scores = model.decision_function(X) + OFFSETS
    loss = -log_softmax(scores, axis=1)[np.arange(len(Y)), Y].mean()
    norm = np.sum(model.coef_**2) + np.sum(model.intercept_**2)
    assert model.objective_ == pytest.approx(0.5e-4 * norm + loss, rel=1e-6)


def test_steps_come_to_the_optimum_of_the_exact_machine():
    rows = (X - X.mean(axis=0)) / X.std(axis=0)
    exact = MulticlassSVC(C=1 / (150 * 1e-2), class_offset=OFFSETS, tol=1e-6).fit(rows, Y)
    steps = StochasticClassifier(
        alpha=1e-2, class_offset=OFFSETS, average=True, max_iter=500, tol=None, random_state=0,
        compute_objective=True,
    )  # fmt: skip
    optimum = exact.certificate_.primal_objective * 1e-2
    assert optimum <= steps.fit(rows, Y).objective_ <= 1.02 * optimum


def test_logit_adjustment_of_steps_finds_more_of_a_rare_class():
    rows, y = rare()
    settings = {"loss": "log_loss", "alpha": 1e-3, "average": True, "max_iter": 50, "tol": None}
    found = []
    for offset in (None, "logit_adjustment"):
        model = StochasticClassifier(class_offset=offset, random_state=0, **settings)
        found.append(recall_score(y, model.fit(rows, y).predict(rows), average=None)[2])
    assert found[0] + 0.2 < found[1]


def test_steps_take_the_logarithms_of_the_shares():
    weight = np.where(Y == 1, 0.2, 1.0)
    shares = np.log(np.array([50, 10, 50]) / 110)
    settings = {"random_state": 0, "max_iter": 5, "tol": None}
    models = [
        StochasticClassifier(class_offset=offset, **settings).fit(X, Y, weight)
        for offset in ("logit_adjustment", shares, dict(enumerate(shares)))
    ]
    for model in models[1:]:
        np.testing.assert_allclose(model.coef_, models[0].coef_, rtol=1e-9)
    pieces = StochasticClassifier(class_offset=shares, shuffle=False)
    for part in np.split(np.random.default_rng(0).permutation(150), 5):
        pieces.partial_fit(X[part], Y[part], classes=[0, 1, 2], sample_weight=weight[part])
    blocks = StochasticClassifier(class_offset=shares, **settings)
    assert blocks.fit_blocks([(X, Y)], [0, 1, 2], 4).score(X, Y) > 0.5
    assert stored(models[2]).class_offset == models[2].class_offset


@each(
    ("offset", "message"),
    [
        ([1.0, 2.0], "one number for each of the 3"),
        ([1.0, np.nan, 2.0], "finite"),
        ({7: 1.0}, "7 is not a class"),
        ("balanced", "class_offset"),
    ],
)
def test_offsets_of_steps_that_are_none(offset, message):
    with pytest.raises(ValueError, match=message):
        StochasticClassifier(class_offset=offset).fit(X, Y)


def test_pieces_know_no_shares():
    model = StochasticClassifier(class_offset="logit_adjustment")
    for fit in (model.partial_fit, lambda X, y, classes: model.fit_blocks([(X, y)], classes, 4)):
        with pytest.raises(ValueError, match="some rows at a time"):
            fit(X, Y, [0, 1, 2])
