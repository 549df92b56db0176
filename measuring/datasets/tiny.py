"""Synthetic text for the quick form of a measurement: some hundred rows."""

from __future__ import annotations

from measuring.datasets.shaped_text import ShapedText

NAME = "tiny"
_SHAPE = {"n_examples": 300, "n_features": 200, "n_classes": 5, "words_per_example": 20}
TINY = ShapedText(NAME, _SHAPE, n_test=100)
TINY.default = False
DATASETS = [TINY]
