"""scikit-learn's callback protocol, where it is present."""

import subprocess
import sys

import pytest
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from manyclass import MulticlassSVC, StochasticClassifier

callback = pytest.importorskip("sklearn.callback", reason="scikit-learn before 1.9")
IRIS = load_iris(return_X_y=True)


class Recorder:
    """Notes what it is told; may stop training after some epochs."""

    def __init__(self, stop_after=None):
        self.stop_after = stop_after
        self.events = []

    def setup(self, estimator, context):
        self.events.append("setup")

    def teardown(self, estimator, context):
        self.events.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.events.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, fitted_estimator=None):
        self.events.append(f"end {context.task_name}")
        if context.task_name == "epoch":
            assert fitted_estimator.predict(X).shape == y.shape
            epochs = self.events.count("end epoch")
            return self.stop_after is not None and epochs >= self.stop_after
        return None


def test_every_epoch_is_a_task_and_nothing_changes():
    recorder = Recorder()
    model = MulticlassSVC(random_state=0).set_callbacks(recorder).fit(*IRIS)
    assert recorder.events[:2] == ["setup", "begin fit"]
    assert recorder.events[-2:] == ["end fit", "teardown"]
    assert recorder.events.count("begin epoch") == model.n_iter_
    assert recorder.events.count("end epoch") == model.n_iter_
    plain = MulticlassSVC(random_state=0).fit(*IRIS)
    watched = MulticlassSVC(random_state=0).set_callbacks(Recorder()).fit(*IRIS)
    assert (plain.coef_ == watched.coef_).all()


def test_a_callback_can_stop_training():
    model = MulticlassSVC(random_state=0, tol=1e-9).set_callbacks(Recorder(stop_after=3))
    assert model.fit(*IRIS).n_iter_ == 3
    assert model.certificate_.relative_gap > 1e-9
    assert model.predict(IRIS[0]).shape == (150,)


def test_teardown_after_an_error():
    recorder = Recorder()
    model = MulticlassSVC().set_callbacks(recorder)
    with pytest.raises(FloatingPointError):
        model.set_params(C=1e300).fit(*IRIS)
    assert recorder.events[-1] == "teardown"


def test_scoring_monitor():
    monitor = callback.ScoringMonitor(scoring="accuracy")
    model = MulticlassSVC(random_state=0).set_callbacks(monitor).fit(*IRIS)
    log = monitor.get_logs().data
    epochs = [row for row in log if row["task_name"] == "epoch"]
    assert len(epochs) == model.n_iter_
    assert epochs[-1]["accuracy"] == pytest.approx(model.score(*IRIS), abs=0.05)


def test_progress_bar_alone_and_in_a_pipeline():
    pytest.importorskip("rich")
    for model in (
        MulticlassSVC(random_state=0),
        make_pipeline(StandardScaler(), MulticlassSVC(random_state=0)),
    ):
        model.set_callbacks(callback.ProgressBar()).fit(*IRIS)
        assert model.score(*IRIS) > 0.9


@pytest.mark.slow
def test_the_stand_ins_of_older_versions():
    """The names that older versions of scikit-learn lack are replaced by harmless ones."""
    code = """
import builtins, sys
real = builtins.__import__
def fake(name, globals=None, locals=None, fromlist=(), level=0):
    who = (globals or {}).get("__name__", "")
    if name == "sklearn.callback" and who.startswith("manyclass"):
        raise ImportError(name)
    return real(name, globals, locals, fromlist, level)
builtins.__import__ = fake
from sklearn.datasets import load_iris
from manyclass import MulticlassSVC, StochasticClassifier
from manyclass.estimators.coefficients import CallbackSupportMixin
assert CallbackSupportMixin.__module__ == "manyclass.estimators.coefficients"
print(MulticlassSVC(random_state=0).fit(*load_iris(return_X_y=True)).n_iter_ > 0)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "True\n"


def test_stochastic_epochs_are_tasks():
    recorder = Recorder()
    model = StochasticClassifier(random_state=0).set_callbacks(recorder).fit(*IRIS)
    assert recorder.events.count("end epoch") == model.n_iter_
    plain = StochasticClassifier(random_state=0).fit(*IRIS)
    assert (plain.coef_ == model.coef_).all()
    stopped = StochasticClassifier(random_state=0).set_callbacks(Recorder(stop_after=3))
    assert stopped.fit(*IRIS).n_iter_ == 3
