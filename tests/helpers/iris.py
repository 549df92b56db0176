"""Models of the iris data, trained to a small gap."""

from sklearn.datasets import load_iris

from manyclass import MulticlassSVC

IRIS = load_iris(return_X_y=True)


def tight(**params):
    return MulticlassSVC(**({"tol": 1e-10, "random_state": 0, "max_iter": 10_000} | params))


def fitted(**params):
    return tight(**params).fit(*IRIS)
