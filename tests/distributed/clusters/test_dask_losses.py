"""Workers of Dask that are lost cost their parts only, which are loaded again."""

from __future__ import annotations

import os
import signal

import pytest

from manyclass import MulticlassSVC
from tests.helpers.parts import X, Y, at_question, check_certificate

pytest.importorskip(
    "distributed", reason="needs Dask: pip install 'dask[array,dataframe]' distributed"
)

import dask.array as da
from dask.distributed import wait

from manyclass.dask import DaskMultinomialLogisticRegression
from manyclass.distributed.clusters import dask_parts
from tests.helpers.dask import fit, fit_svm, processes

# Warnings are of Dask's own threads, at the end of a cluster.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::ResourceWarning")]


@pytest.fixture(name="three")
def three_fixture(monkeypatch):
    """Three workers, which are missed early."""
    monkeypatch.setattr(dask_parts, "WAIT", 0.25)
    yield from processes(3)


def kill_one(client):
    os.kill(min(client.run(os.getpid).values()), signal.SIGKILL)


@pytest.mark.parametrize(("how", "question"), [("killed", 2), ("restarted", 6)])
def test_a_worker_that_is_lost_costs_its_parts_only(three, monkeypatch, question, how):
    def lose(_):
        if how == "restarted":
            three.restart(wait_for_workers=False)
        else:
            kill_one(three)

    asked = at_question(monkeypatch, question, lose)
    model = fit(X, Y, size=7, tol=1e-6)
    assert len(asked) > question
    assert model.certificate_.relative_gap <= 1e-6
    check_certificate(model, X, Y)


def test_parts_in_memory_are_loaded_again(three, monkeypatch):
    rows, y = da.from_array(X, chunks=(20, -1)).persist(), da.from_array(Y, chunks=20).persist()
    wait([rows, y])
    at_question(monkeypatch, 6, lambda _: kill_one(three))
    check_certificate(DaskMultinomialLogisticRegression(tol=1e-5).fit(rows, y), X, Y)


@pytest.mark.parametrize(("question", "tol"), [(9, 1e-3), (25, 1e-6)])
def test_a_worker_that_is_lost_while_it_visits_rows(three, monkeypatch, question, tol):
    """Or, for the smaller gap, during Newton's method."""
    asked = at_question(monkeypatch, question, lambda _: kill_one(three))
    model = fit_svm(X, Y, size=7, tol=tol)
    assert len(asked) > question
    alone = MulticlassSVC(C=0.1, tol=1e-6).fit(X, Y).certificate_
    assert model.certificate_.relative_gap <= tol
    assert model.certificate_.dual_objective <= alone.primal_objective
