"""The synthetic text corpus: its promises, and that it resembles text."""

import numpy as np
import pytest
from sklearn.model_selection import train_test_split

from manyclass import MulticlassSVC
from manyclass.datasets import documents as module
from manyclass.datasets.synthetic import iter_text_corpus, make_text_corpus
from tests.helpers.memory import peak_of


@pytest.fixture(scope="module")
def corpus():
    return make_text_corpus(3000, 4000, 50, random_state=0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, "float64"])
def test_shapes_and_types(dtype):
    X, y = make_text_corpus(200, 300, 7, random_state=0, dtype=dtype)
    assert X.shape == (200, 300)
    assert X.dtype == dtype
    assert X.format == "csr"
    assert X.indices.dtype == X.indptr.dtype == np.int32
    assert y.shape == (200,)
    assert y.dtype == np.int64


def test_rows_are_canonical_and_of_length_one(corpus):
    X, _ = corpus
    claimed, X.has_canonical_format = X.has_canonical_format, False
    assert claimed
    for begin, end in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        assert (np.diff(X.indices[begin:end]) > 0).all()
    X.has_canonical_format = True
    assert X.data.min() > 0
    assert X.indices.max() < 4000
    np.testing.assert_allclose(X.power(2).sum(axis=1), 1, rtol=1e-5)


def test_seeds_generators_and_types():
    first, second, third = (make_text_corpus(100, 200, 5, random_state=s) for s in (1, 1, 2))
    assert (first[0] != second[0]).nnz == 0
    assert (first[1] == second[1]).all()
    assert (first[0] != third[0]).nnz > 0
    rng = np.random.default_rng(1)
    first = make_text_corpus(100, 200, 5, random_state=rng)
    second = make_text_corpus(100, 200, 5, random_state=rng)
    seeded = make_text_corpus(100, 200, 5, random_state=1)
    assert (first[0] != seeded[0]).nnz == 0
    assert (first[0] != second[0]).nnz > 0
    single, _ = make_text_corpus(100, 200, 5, random_state=1)
    double, _ = make_text_corpus(100, 200, 5, random_state=1, dtype=np.float64)
    np.testing.assert_array_equal(single.indices, double.indices)
    np.testing.assert_allclose(single.data, double.data, rtol=1e-5)


@pytest.mark.parametrize(
    ("n", "k", "least"), [(1000, 10, 2), (20, 10, 2), (19, 10, 1), (10, 10, 1), (2, 2, 1)]
)
def test_every_class_occurs(n, k, least):
    _, y = make_text_corpus(n, 50, k, random_state=0)
    sizes = np.bincount(y, minlength=k)
    assert len(sizes) == k
    assert sizes.sum() == n
    assert sizes.min() >= least


def test_class_sizes_follow_zipf():
    _, y = make_text_corpus(20_000, 100, 100, words_per_example=2, random_state=0)
    sizes = np.bincount(y)
    assert (np.diff(sizes) <= 1).all()
    assert sizes[0] / sizes[9] == pytest.approx(10, rel=0.1)


def test_labels_are_in_random_order_and_word_frequencies_follow_zipf(corpus):
    _, y = corpus
    assert abs(np.corrcoef(np.arange(len(y)), y)[0, 1]) < 0.1
    X, _ = corpus
    documents = np.sort(np.bincount(X.indices, minlength=X.shape[1]))[::-1]
    # Between ranks 30 and 1000 the slope of log frequency over log rank is about -1.
    slope = np.log(documents[1000] / documents[30]) / np.log(1001 / 31)
    assert -1.4 < slope < -0.6


def test_lengths_have_the_mean_asked_for():
    X, _ = make_text_corpus(500, 10**6, 5, words_per_example=40, random_state=0)
    # Words repeat, so that fewer are distinct.
    assert 0.5 * 40 < X.nnz / 500 < 40
    assert np.diff(X.indptr).min() >= 1


def test_one_word_per_example_and_a_vocabulary_of_one():
    X, _ = make_text_corpus(50, 30, 5, words_per_example=1, random_state=0)
    assert np.diff(X.indptr).min() == 1
    assert np.isfinite(X.data).all()
    X, _ = make_text_corpus(10, 1, 2, random_state=0)
    np.testing.assert_allclose(X.toarray(), 1)


def _accuracy(label_noise):
    X, y = make_text_corpus(2000, 3000, 30, label_noise=label_noise, random_state=0)
    A, B, a, b = train_test_split(X, y, random_state=0)
    model = MulticlassSVC(random_state=0).fit(A, a)
    return model, model.score(B, b), B, b


def test_classes_can_be_told_apart_and_noise_hurts():
    _, clean, _, _ = _accuracy(0.0)
    _, noisy, _, _ = _accuracy(0.4)
    assert 0.8 < clean < 1
    assert 0.4 < noisy < clean - 0.2


def test_siblings_are_confused_more_often_than_strangers():
    model, _, B, b = _accuracy(0.2)
    # The groups, as the corpus drew them.
    rng = np.random.default_rng(0)
    module._labels(rng, 2000, 30)
    group = module.Topics.draw(rng, 3000, 30).group_of_class
    predicted = model.predict(B)
    wrong = predicted != b
    within = np.mean(group[predicted[wrong]] == group[b[wrong]])
    assert within > 2 * np.mean(group[:, None] == group)


def test_noise_stays_in_the_group_and_leaves_groups_of_one_class():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(9), 100)
    group = np.arange(9) % 3
    about = module._about(rng, y, group, 1.0)
    assert (about != y).all()
    assert (group[about] == group[y]).all()
    assert len(set(zip(y.tolist(), about.tolist(), strict=True))) == 18  # both siblings of each
    about = module._about(np.random.default_rng(0), np.array([0, 1, 2]), np.array([0, 1, 1]), 1.0)
    assert about[0] in (1, 2)
    assert about[1:].tolist() == [2, 1]


def test_blocks_cover_all_rows_once_and_make_a_valid_corpus(monkeypatch):
    monkeypatch.setattr(module, "WORDS_AT_A_TIME", 10)
    lengths = np.random.default_rng(0).integers(1, 40, 100)
    blocks = module.row_blocks(np.cumsum(lengths))
    rows = np.concatenate([np.arange(b.start, b.stop) for b in blocks])
    assert rows.tolist() == list(range(100))
    monkeypatch.setattr(module, "WORDS_AT_A_TIME", 100)
    X, _ = make_text_corpus(50, 100, 5, random_state=0)
    X.check_format(full_check=True)
    np.testing.assert_allclose(X.power(2).sum(axis=1), 1, rtol=1e-5)


def test_a_smaller_share_of_topical_words_is_harder():
    def accuracy(topic_share):
        X, y = make_text_corpus(1500, 3000, 30, topic_share=topic_share, random_state=0)
        return MulticlassSVC(random_state=0).fit(X[:1000], y[:1000]).score(X[1000:], y[1000:])

    assert accuracy(0.1) < accuracy(0.5) - 0.2


@pytest.mark.slow
def test_a_large_corpus_takes_seconds_and_little_more_memory_than_the_result():
    (X, _), peak = peak_of(lambda: make_text_corpus(100_000, 50_000, 1000, random_state=0))
    assert X.nnz > 4e6
    assert peak < 2 * (X.data.nbytes + X.indices.nbytes + X.indptr.nbytes) + 1e8


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_classes": 1}, "n_classes must be at least 2, got 1"),
        ({"n_examples": 4}, "n_examples must be from n_classes, 5, .* got 4"),
        ({"n_examples": 2**31}, "n_examples must be"),
        ({"n_features": 0}, "n_features must be from 1 .* got 0"),
        ({"n_features": 2**31}, "n_features must be"),
        ({"words_per_example": 0.5}, "words_per_example must be from 1 .* got 0.5"),
        ({"words_per_example": np.nan}, "words_per_example must be"),
        ({"words_per_example": np.inf}, "words_per_example must be"),
        ({"topic_share": 0}, "topic_share must be above 0 and below 1, got 0"),
        ({"topic_share": 1}, "topic_share must be"),
        ({"topic_share": np.nan}, "topic_share must be"),
        ({"label_noise": -0.1}, "label_noise must be from 0 to 1, got -0.1"),
        ({"label_noise": 1.1}, "label_noise must be"),
        ({"label_noise": np.nan}, "label_noise must be"),
        ({"dtype": np.int32}, "dtype must be float32 or float64, got int32"),
        ({"random_state": -1}, "non-negative"),
    ],
)
def test_arguments_out_of_range(change, message):
    arguments = {"n_examples": 20, "n_features": 30, "n_classes": 5} | change
    for make in (make_text_corpus, iter_text_corpus):
        with pytest.raises(ValueError, match=message):
            make(**arguments)


@pytest.mark.parametrize("name", ["n_examples", "n_features", "n_classes"])
def test_sizes_are_integers(name):
    arguments = {"n_examples": 20, "n_features": 30, "n_classes": 5} | {name: 10.0}
    for make in (make_text_corpus, iter_text_corpus):
        with pytest.raises(TypeError, match="integer"):
            make(**arguments)
