"""Digits for the tests of stochastic training: a first part to train on, the rest to judge by."""

import pickle

import pytest
from sklearn.datasets import load_digits

from manyclass import StochasticClassifier

DIGITS, LABELS = load_digits(return_X_y=True)
DIGITS = DIGITS / 16
FIRST = DIGITS[:600], LABELS[:600]
REST = DIGITS[600:], LABELS[600:]


def fitted(X=FIRST[0], y=FIRST[1], **params):
    return StochasticClassifier(**{"random_state": 0, **params}).fit(X, y)


def contents(model):
    """All that a model holds."""
    return {name: pickle.dumps(value) for name, value in vars(model).items()}


def refused(error, match, call):
    with pytest.raises(error, match=match):
        call()
