"""``manyclass train --formulation logistic``."""

import json

import numpy as np
import pytest

from manyclass import MultinomialLogisticRegression, load_model, load_svmlight
from tests.helpers.command_line import TINY


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data"
    path.write_text(TINY)
    return path


def test_trains_predicts_and_describes(run, data, tmp_path):
    model, out = tmp_path / "model", tmp_path / "out"
    lines = run.works("train", data, model, "--formulation", "logistic", "-C", "2", "--tol", "1e-6")
    assert "proven" in lines[-2]
    found = load_model(model)
    X, y = load_svmlight(data)
    same = MultinomialLogisticRegression(C=2, tol=1e-6, random_state=0).fit(X, y)
    np.testing.assert_allclose(found.coef_, same.coef_, rtol=1e-6)
    run.works("predict", data, model, out, "--probabilities")
    shares = np.array([line.split("\t")[1] for line in out.read_text().splitlines()], float)
    np.testing.assert_allclose(shares, same.predict_proba(X).max(axis=1), rtol=1e-3)
    about = json.loads("\n".join(run.works("info", model, "--json")))
    assert (about["formulation"], about["loss"], about["C"]) == ("logistic", "log_loss", 2)
    assert run.works("info", model)[1] == "formulation  logistic, log_loss loss, C = 2"


def test_intercepts_may_be_regularized(run, data, tmp_path):
    model = tmp_path / "model"
    run.works("train", data, model, "--formulation", "logistic", "--regularize-intercept")
    assert load_model(model).regularize_intercept


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--loss", "hinge"], "argument --loss: hinge does not go with --formulation logistic"),
        (
            ["--solver", "cutting_plane"],
            "argument --solver: cutting_plane does not go with --formulation logistic",
        ),
        (["--stopping", "kkt"], "argument --stopping: logistic stops at a gap"),
        (["--weights", "sparse"], "argument --weights: logistic holds W dense"),
        (["--solver", "stochastic"], "argument --formulation: goes with --solver dual"),
    ],
)
def test_refuses_what_it_does_not_have(run, data, tmp_path, options, message):
    given = ["train", data, tmp_path / "model", "--formulation", "logistic", *options]
    assert run.fails(*given).startswith(message)
    assert not (tmp_path / "model").exists()


def test_the_others_do_not_regularize_on_request(run, data, tmp_path):
    told = run.fails("train", data, tmp_path / "model", "--regularize-intercept")
    assert told == "argument --regularize-intercept: goes with --formulation logistic"


def test_goes_on_from_a_checkpoint(run, data, tmp_path):
    folder, model = tmp_path / "folder", tmp_path / "model"
    logistic = ["train", data, model, "--formulation", "logistic"]
    run.works(*logistic, "--checkpoint", folder, "--tol", "0.5")
    told = run.fails(*logistic, "--force", "--checkpoint", folder)
    assert told.endswith(f"continue it with --resume {folder}, or choose another folder")
    lines = run.works(*logistic, "--force", "--resume", folder)
    assert any(line.startswith("continuing after epoch ") for line in lines)
    assert "proven" in lines[-2]
