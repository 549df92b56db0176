"""Workers of Dask in their own processes: what passes between them, errors, Ctrl-C."""

from __future__ import annotations

import itertools
import os
import signal

import numpy as np
import pytest

from tests.helpers.parts import DATA, D, K, X, Y, at_question, check_certificate, ends, primal

pytest.importorskip(
    "distributed", reason="needs Dask: pip install 'dask[array,dataframe]' distributed"
)

import dask
import dask.array as da
import dask.dataframe as dd
from dask.distributed import wait

from manyclass.dask import DaskMultinomialLogisticRegression
from tests.helpers.dask import fit, fit_svm, is_free, processes

# Of Dask's own threads, at the end of a cluster.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


@pytest.fixture(scope="module", name="client")
def client_fixture():
    yield from processes(2)


@pytest.mark.parametrize(
    ("size", "rows"), [(2, "dense"), (3, "sparse"), (7, "float32"), (7, "wide")]
)
def test_parts_reach_the_optimum_of_one_process(client, size, rows):
    model = fit(DATA[rows], Y, size=size)
    assert model.certificate_.relative_gap <= 1e-5
    assert model.n_features_in_ == DATA[rows].shape[1]
    assert model.coef_.dtype == DATA[rows].dtype
    check_certificate(model, DATA[rows], Y)


def test_support_vector_machines(client):
    """Parts keep their z between the rounds."""
    model = fit_svm(X, Y, size=3, formulation="lee_lin_wahba")
    assert model.certificate_.relative_gap <= 1e-3
    found = primal(model.to_local(), X, Y)
    assert model.certificate_.primal_objective == pytest.approx(found, rel=1e-12)


def received(dask_worker):
    """Keys of what a worker has been sent by others."""
    return [key for event in dask_worker.transfer_incoming_log for key in event["keys"]]


@pytest.fixture
def no_stealing(client):
    """On a busy machine, Dask may move the tasks of a worker to an idle one."""
    client.run_on_scheduler(stop_stealing)
    yield
    client.run_on_scheduler(start_stealing)


async def stop_stealing(dask_scheduler):
    await dask_scheduler.extensions["stealing"].stop()


async def start_stealing(dask_scheduler):
    await dask_scheduler.extensions["stealing"].start()


@pytest.mark.usefixtures("no_stealing")
def test_data_frames_keep_names_and_rows_stay_where_they_are(client):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(D)])
    names = list(frame.columns)
    whole = dd.from_pandas(frame.assign(y=Y.astype(str)), npartitions=4).persist()
    wait(whole)
    model = DaskMultinomialLogisticRegression(tol=1e-5).fit(whole[names], whole["y"])
    moved = [str(key) for keys in client.run(received).values() for key in keys]
    assert not [key for key in moved if "frompandas" in key or "manyclass_part" in key]
    assert list(model.feature_names_in_) == names
    predicted = model.predict(whole[names])
    assert isinstance(predicted, da.Array)
    np.testing.assert_array_equal(predicted.compute(), model.to_local().predict(frame))
    assert model.predict_proba(whole[names]).compute().shape == (len(X), K)
    check_certificate(model, X, Y.astype(str))


def test_a_part_that_cannot_be_loaded_is_named(client):
    def fail():
        raise FileNotFoundError("rows.npy")

    bad = da.from_delayed(dask.delayed(fail)(), (20, D), X.dtype)
    rows = da.concatenate([da.from_array(X[:20], chunks=(20, -1)), bad])
    with pytest.raises(FileNotFoundError, match="rows") as caught:
        DaskMultinomialLogisticRegression().fit(rows, da.from_array(Y[:40], chunks=20))
    assert caught.value.__notes__ == ["part 1 could not be loaded"]


def with_part(change, at=1):
    """A fit on three parts, of which one has other rows."""
    cuts = ends(3)
    parts = [[X[a:b], Y[a:b]] for a, b in itertools.pairwise(cuts)]
    parts[at] = change(*parts[at])
    rows, y = (
        da.concatenate(
            [da.from_delayed(dask.delayed(p[i]), (np.nan, D)[: 2 - i], all_of.dtype) for p in parts]
        )
        for i, all_of in enumerate((X, Y))
    )
    return DaskMultinomialLogisticRegression().fit(rows, y)


HOSTILE = {
    "features": (lambda X, y: (X[:, 1:], y), "X of part 1 has 6 features, but X of part 0 has 7"),
    "dtype": (lambda X, y: (X.astype(np.float32), y), "X of part 1 is float32, .* float64"),
    "classes": (lambda X, y: (X, y.astype(str)), "y of part 1 holds text, .* whole numbers"),
    "NaN": (lambda X, y: (X * np.nan, y), "part 1: Input X contains NaN"),
    "lengths": (lambda X, y: (X, y[1:]), "part 1: Found input variables with inconsistent"),
    "sizes": (lambda X, y: (X * 1e200, y), "part 1: X holds a value of size"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_parts_that_do_not_fit_are_one_error(client, case):
    change, words = HOSTILE[case]
    with pytest.raises((ValueError, FloatingPointError), match=words):
        with_part(change)
    assert is_free(client)


def test_ctrl_c_frees_the_cluster(client, monkeypatch):
    at_question(monkeypatch, 5, lambda _: os.kill(os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        fit(X, Y)
    assert is_free(client)
    assert fit(X, Y).certificate_.relative_gap <= 1e-5
