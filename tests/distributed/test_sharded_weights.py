"""W spread over ranks: put together again, on all ranks or in parts on one."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from manyclass.distributed import sharded_weights as sharded
from manyclass.distributed.sharded_weights import Block, ShardedWeights
from tests.helpers.ranks import on_ranks


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(sharded, "MESSAGE_ELEMENTS", 12)
    monkeypatch.setattr(sharded, "LOOK", 30)


def spread(rank, W, owners, *, sparse, held_sparse):
    """W with its classes in blocks of three, which ranks own."""
    blocks = []
    classes = np.random.default_rng(1).permutation(W.shape[1])
    for root, some in zip(owners, np.split(classes, range(3, len(classes), 3)), strict=True):
        part = sp.csr_array(W[:, some]) if held_sparse else np.asfortranarray(W[:, some])
        blocks.append(Block(root, some, part if root == rank.rank else None))
    return ShardedWeights(rank, blocks, len(W), W.dtype, sparse)


weights = st.tuples(st.integers(1, 12), st.integers(1, 9), st.floats(0, 1), st.booleans()).map(
    lambda t: _random(*t)
)


def _random(rows, k, density, single):
    rng = np.random.default_rng(rows * 100 + k)
    W = rng.standard_normal((rows, k)) * (rng.random((rows, k)) < density)
    return W.astype(np.float32 if single else np.float64)


@settings(max_examples=40)
@given(weights, st.integers(1, 3), st.booleans(), st.booleans(), st.randoms())
def test_what_is_gathered_is_w(W, size, sparse, held_sparse, random):
    owners = [random.randrange(size) for _ in range(-(-W.shape[1] // 3))]
    options = {"sparse": sparse, "held_sparse": held_sparse}
    for found in on_ranks(size, lambda rank: spread(rank, W, owners, **options).gather()):
        assert sp.issparse(found) == sparse
        assert found.dtype == W.dtype
        if sparse:
            assert found.has_canonical_format
            assert found.nnz == np.count_nonzero(W)
        np.testing.assert_array_equal(found.toarray() if sparse else found, W)


@settings(max_examples=40)
@given(weights, st.integers(1, 3), st.booleans(), st.randoms())
def test_one_rank_is_told_w_in_parts(W, size, held_sparse, random):
    owners = [random.randrange(size) for _ in range(-(-W.shape[1] // 3))]

    def dense(rank):
        here = spread(rank, W, owners, sparse=False, held_sparse=held_sparse)
        return list(here.dense_parts(to=0))

    def sparse(rank):
        here = spread(rank, W, owners, sparse=True, held_sparse=held_sparse)
        counts = here.row_counts()
        return counts, list(here.sparse_parts(counts, to=0))

    first, *others = on_ranks(size, dense)
    np.testing.assert_array_equal(np.concatenate(first), W)
    assert all(part.size <= max(12, W.shape[1]) for part in first)
    assert not any(part.size for parts in others for part in parts)
    (counts, first), *others = on_ranks(size, sparse)
    np.testing.assert_array_equal(counts, np.count_nonzero(W, axis=1))
    np.testing.assert_array_equal(np.concatenate([part.counts for part in first]), counts)
    rows, classes = np.nonzero(W)
    np.testing.assert_array_equal(np.concatenate([part.classes for part in first]), classes)
    values = np.concatenate([part.values for part in first])
    np.testing.assert_array_equal(values, W[rows, classes])
    assert all(len(part.values) <= max(12, W.shape[1]) for part in first)
    assert not any(len(part.values) for _, parts in others for part in parts)
