"""docs/warnings_and_errors.md quotes every warning of the package, and errors, word by word."""

import ast
import pickle
import re
import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, load_iris
from sklearn.model_selection import KFold

from manyclass import (
    MulticlassSVC,
    MulticlassSVCCV,
    MultilabelSVC,
    MultinomialLogisticRegressionCV,
    StochasticClassifier,
    c_path,
    load_model,
    load_svmlight,
    save_model,
)
from manyclass.cli import commands
from manyclass.training.checkpoints import Checkpoints, found_in
from tests.docs.markdown_examples import BLOCK, NUMBER

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "warnings_and_errors.md"
PIXELS, Y = load_digits(return_X_y=True)
X = PIXELS / 16
IRIS, KINDS = load_iris(return_X_y=True)
SETS = [{"news", "sport"}, {"news"}, {"news", "music"}, {"news"}] * 10
NOISE = np.random.default_rng(0).normal(size=(400, 3))
UNEQUAL = (np.arange(400) % 6 == 0).astype(int)
RARE = np.append(np.arange(57) % 3, [3, 3, 3])
WIDE = sp.csr_array((np.ones(3000), (range(3000), range(3000))), shape=(3000, 10**8))
REQUESTS = ["billing", "delivery", "billing"]
FAST = {"max_iter": 1, "random_state": 0}


def svc(**params):
    return MulticlassSVC(random_state=0, **params)


def calibrate():
    svc(C=100).fit([[-1.0], [0.0], [1.0]], [0, 1, 2]).calibrate([[-9.0], [9.0]], [0, 2])


def lose_checkpoints():
    def vanish(self, start):
        shutil.rmtree("run", ignore_errors=True)
        write(self, start)

    write = Checkpoints.write
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Checkpoints, "write", vanish)
        svc(checkpoint="run").fit(IRIS, KINDS)


def damage_checkpoint():
    model = svc(checkpoint="run", tol=0.5).fit(IRIS, KINDS)
    newest = found_in(Path("run"))[0]
    newest.write_bytes(newest.read_bytes()[:-9])
    model.set_params(resume=True).fit(IRIS, KINDS)


def resume_another():
    model = svc(checkpoint="run", C=0.1).fit(IRIS, KINDS)
    model.set_params(C=0.2, resume=True).fit(IRIS, KINDS)


def train_in_used_folder():
    svc(checkpoint="run").fit(IRIS, KINDS)
    svc(checkpoint="run").fit(IRIS, KINDS)


def evaluate_unknown():
    save_model("model", svc().fit(IRIS, KINDS))
    Path("test.txt").write_text("7 1:1\n7 2:1\n0 3:1\n")
    commands.main(["evaluate", "test.txt", "model"])


def read_letters():
    Path("train.txt").write_text("1 1:2\n2 3:x\n")
    load_svmlight("train.txt")


def train_on_no_gpu():
    pytest.importorskip("torch")
    svc(device="cuda:99").fit(X, Y)


def load_pickle():
    Path("model.pkl").write_bytes(pickle.dumps(svc()))
    load_model("model.pkl")


WARNED = {
    "max_iter": lambda: svc(C=10, max_iter=3).fit(PIXELS, Y),
    "multilabel max_iter": lambda: MultilabelSVC(**FAST).fit(PIXELS, [{int(c)} for c in Y]),
    "rounding": lambda: svc(C=1e3, tol=1e-15).fit(PIXELS, Y),
    "stochastic": lambda: StochasticClassifier(max_iter=2, random_state=0).fit(X, Y),
    "folds": lambda: MulticlassSVCCV(Cs=[0.1, 1], cv=3, refit=False, **FAST).fit(PIXELS, Y),
    "path": lambda: c_path(X, Y, C_min=0.01, C_max=10, max_fits=2, random_state=0),
    "folds' paths": lambda: MulticlassSVCCV(Cs="path", cv=3, **FAST).fit(IRIS, KINDS),
    "one class": lambda: svc().fit(NOISE, UNEQUAL),
    "scores": lambda: MulticlassSVCCV(Cs=[1e-3, 2e-3, 1e-2], cv=2).fit(NOISE, UNEQUAL),
    "weights": lambda: svc().fit(X, Y, np.where(Y == 0, 1e-20, 1)),
    "labels": lambda: MultilabelSVC(random_state=0).fit(X[:40], SETS),
    "rare": lambda: MultinomialLogisticRegressionCV(cv=KFold(3)).fit(IRIS[:60], RARE),
    "temperature": calibrate,
    "lost": lose_checkpoints,
    "damaged": damage_checkpoint,
}
RAISED = {
    "text": lambda: svc().fit(["card charged twice", "late parcel"], REQUESTS[:2]),
    "NaN": lambda: svc().fit(np.where(X == 1, np.nan, X), Y),
    "missing label": lambda: svc().fit(X[:3], ["a", None, "b"]),
    "sets": lambda: svc().fit(X[:40], SETS),
    "one-hot": lambda: svc().fit(X, np.eye(10)[Y]),
    "continuous": lambda: svc().fit(X, Y + 0.5),
    "types": lambda: svc().fit(X[:3], ["a", 1, "b"]),
    "one class": lambda: svc().fit(X[:5], np.ones(5)),
    "features": lambda: svc().fit(X, Y).predict(X[:, :60]),
    "probabilities": lambda: svc().fit(X, Y).predict_proba(X),
    "large": lambda: svc().fit((X * 1e20).astype(np.float32), Y),
    "parameter": lambda: svc(formulation="cramer_singer").fit(X, Y),
    "class_weight": lambda: svc(class_weight={"bilings": 2}).fit(X[:3], REQUESTS),
    "memory": lambda: svc(weights="dense").fit(WIDE, np.arange(3000) % 1500),
    "device": train_on_no_gpu,
    "used folder": train_in_used_folder,
    "another problem": resume_another,
    "line": read_letters,
    "pickle": load_pickle,
}


def quoted():
    """Return the messages of the page, without line breaks."""
    return [" ".join(m[2].split()) for m in BLOCK.finditer(PAGE.read_text()) if not m[1]]


def plain(message):
    """Return a message without its numbers and line breaks."""
    return NUMBER.sub("#", " ".join(message.split()))


def assert_quoted(error):
    message = plain(f"{type(error).__name__}: {error}")
    begins = [plain(quote.removesuffix("...")) for quote in quoted()]
    assert any(message.startswith(begin) for begin in begins), message


@pytest.mark.parametrize("provoke", WARNED.values(), ids=WARNED)
def test_warnings_are_quoted(provoke, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        provoke()
    assert seen
    for warning in seen:
        assert_quoted(warning.message)


@pytest.mark.parametrize("provoke", RAISED.values(), ids=RAISED)
def test_errors_are_quoted(provoke, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Exception) as raised:
        provoke()
    assert_quoted(raised.value)


def test_a_warning_of_the_command_line_is_quoted(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    evaluate_unknown()
    assert capsys.readouterr().err.strip() in quoted()


def calls_of_warn_user():
    for path in sorted((ROOT / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "warn_user":
                yield pytest.param(node.args[0], id=f"{path.stem}-{node.lineno}")


@pytest.mark.parametrize("message", list(calls_of_warn_user()))
def test_every_warning_has_its_place_on_the_page(message):
    parts = getattr(message, "values", [message])
    words = [re.escape(p.value) if isinstance(p, ast.Constant) else ".+" for p in parts]
    assert any(re.search(": " + "".join(words) + "$", quote) for quote in quoted())
