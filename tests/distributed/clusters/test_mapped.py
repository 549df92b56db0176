"""Parts whose rows are mapped from a file: they answer as others, and take no memory."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from manyclass import MulticlassSVC, MultinomialLogisticRegression
from manyclass.distributed.clusters.mapped import on_disk
from manyclass.distributed.clusters.part import ArraySpec, Part, Plan, answer
from manyclass.distributed.rows.data import global_info
from manyclass.distributed.rows.svm_rows import COUNTS
from manyclass.problem.dataset import is_mapped
from tests.helpers.parts import D, K, X, Y

LIKE = [ArraySpec((D + 1, K), np.dtype(float))] * 2 + [ArraySpec((1, COUNTS), np.dtype(float))]
FIRST = 1, np.zeros((D + 1, K)), np.ones((D + 1, 1)), 4.0, 1.7, 0


def planned(model, *parts):
    return Plan(global_info([part.known()[0] for part in parts], None, 1.0), model)


@pytest.mark.parametrize("rows", [X, sp.csr_array(X), X[:1]], ids=["dense", "sparse", "one row"])
def test_mapped_parts_know_what_others_know(tmp_path, rows):
    part = Part(0, rows, Y[: rows.shape[0]])
    mapped = on_disk(part, str(tmp_path))
    assert mapped.known()[0] == part.known()[0]
    assert mapped.__sizeof__() == 0 < part.__sizeof__()
    assert not list(tmp_path.iterdir())  # the file has no name


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_mapped_parts_answer_as_others_and_copy_no_rows(tmp_path, kind):
    part = Part(0, kind(X), Y)
    mapped = on_disk(part, str(tmp_path))
    plan = planned(MulticlassSVC(C=0.1), part)
    answers = [answer([one], "round", LIKE, plan, *FIRST) for one in (part, mapped)]
    for one, other in zip(*answers, strict=True):
        np.testing.assert_array_equal(one[..., : COUNTS - 1], other[..., : COUNTS - 1])
    assert is_mapped(mapped.planned(plan).problem.dataset.values)
    assert part.__sizeof__() > mapped.__sizeof__() > 0  # of U and z


def test_a_mapped_part_that_moves_to_another_process_is_in_memory(tmp_path):
    mapped = on_disk(Part(0, X, Y), str(tmp_path))
    plan = planned(MultinomialLogisticRegression(), mapped)
    mapped.ready(plan)
    moved = pickle.loads(pickle.dumps(mapped))
    like = [ArraySpec((D + 1,), np.dtype(float))]
    found = [answer([one], "squares", like, plan)[0] for one in (mapped, moved)]
    np.testing.assert_array_equal(*found)
    np.testing.assert_allclose(found[0], [*(X**2).sum(axis=0), len(X)])
    assert moved.__sizeof__() > 0
