"""StochasticClassifier(class_offset=): its objective, rare classes, pieces, errors."""

import numpy as np
import pytest
from scipy.special import log_softmax
from sklearn.datasets import load_iris
from sklearn.metrics import recall_score

from manyclass import MulticlassSVC, StochasticClassifier
from tests.helpers.cases import each
from tests.helpers.model_files import stored

X, Y = load_iris(return_X_y=True)
OFFSETS = np.array([0.5, -1.0, 2.0])


def test_the_objective_is_that_of_the_definition():
    settings = {"class_offset": OFFSETS, "random_state": 0, "max_iter": 20, "tol": None}
    model = StochasticClassifier(loss="log_loss", compute_objective=True, **settings).fit(X, Y)
    scores = model.decision_function(X) + OFFSETS
    loss = -log_softmax(scores, axis=1)[np.arange(len(Y)), Y].mean()
    norm = np.sum(model.coef_**2) + np.sum(model.intercept_**2)
    assert model.objective_ == pytest.approx(0.5e-4 * norm + loss, rel=1e-6)


def test_it_comes_to_the_optimum_of_the_exact_machine():
    rows = (X - X.mean(axis=0)) / X.std(axis=0)
    exact = MulticlassSVC(C=1 / (150 * 1e-2), class_offset=OFFSETS, tol=1e-6).fit(rows, Y)
    steps = StochasticClassifier(
        alpha=1e-2, class_offset=OFFSETS, average=True, max_iter=500, tol=None, random_state=0,
        compute_objective=True,
    )  # fmt: skip
    optimum = exact.certificate_.primal_objective * 1e-2
    assert optimum <= steps.fit(rows, Y).objective_ <= 1.02 * optimum


def test_a_smaller_offset_finds_more_of_a_rare_class():
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 0.0], [2.2, 0.6], [0.8, 2.2]])
    y = np.repeat(np.arange(3), [500, 125, 20])
    rows = centres[y] + 0.9 * rng.standard_normal((len(y), 2))
    settings = {"loss": "log_loss", "alpha": 1e-3, "average": True, "max_iter": 50, "tol": None}
    found = []
    for offset in (None, "logit_adjustment"):
        model = StochasticClassifier(class_offset=offset, random_state=0, **settings)
        found.append(recall_score(y, model.fit(rows, y).predict(rows), average=None)[2])
    assert found[0] + 0.2 < found[1]


def test_the_logarithms_of_the_shares_can_be_given():
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
        ({7: 1.0}, "7 is no class"),
        ("balanced", "class_offset"),
    ],
)
def test_offsets_that_are_none(offset, message):
    with pytest.raises(ValueError, match=message):
        StochasticClassifier(class_offset=offset).fit(X, Y)


def test_pieces_know_no_shares():
    model = StochasticClassifier(class_offset="logit_adjustment")
    for fit in (model.partial_fit, lambda X, y, classes: model.fit_blocks([(X, y)], classes, 4)):
        with pytest.raises(ValueError, match="some rows at a time"):
            fit(X, Y, [0, 1, 2])
