"""Synthetic text corpora.

May import utils. Begin with synthetic.py.
"""

from manyclass.utils.lazy import lazy_names

__all__ = [
    "corpus_shape",
    "iter_text_corpus",
    "make_text_corpus",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "corpus_shape": "manyclass.datasets.synthetic",
        "iter_text_corpus": "manyclass.datasets.synthetic",
        "make_text_corpus": "manyclass.datasets.synthetic",
    },
)
