"""Synthetic text corpora.

May import utils. Begin with synthetic.py.
"""

from typing import TYPE_CHECKING

from manyclass.utils.lazy import lazy_names

if TYPE_CHECKING:
    from manyclass.datasets.synthetic import corpus_shape as corpus_shape
    from manyclass.datasets.synthetic import iter_text_corpus as iter_text_corpus
    from manyclass.datasets.synthetic import make_text_corpus as make_text_corpus
    from manyclass.datasets.tree_corpus import make_tree_corpus as make_tree_corpus

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "corpus_shape": "manyclass.datasets.synthetic",
        "iter_text_corpus": "manyclass.datasets.synthetic",
        "make_text_corpus": "manyclass.datasets.synthetic",
        "make_tree_corpus": "manyclass.datasets.tree_corpus",
    },
)
