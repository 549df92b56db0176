"""Documented names of manyclass.datasets.synthetic."""

from manyclass.datasets.synthetic import corpus_shape, iter_text_corpus, make_text_corpus

__all__ = ["corpus_shape", "iter_text_corpus", "make_text_corpus"]
