"""LIBLINEAR's own predictions from its model files."""

import numpy as np
import pytest


def liblinear():
    """LIBLINEAR's Python module; the test is skipped where it is absent."""
    return pytest.importorskip("liblinear.liblinearutil")


def predicted(path, X, options="-q"):
    """Labels and decision values (or probabilities, with -b 1) by LIBLINEAR, and its labels."""
    module = liblinear()
    model = module.load_model(str(path))
    labels, _, values = module.predict([], np.ascontiguousarray(X, float), model, options)
    return np.array(labels), np.array(values), model.get_labels()


def trained(path, X, y, options):
    """Write a model that LIBLINEAR trains."""
    module = liblinear()
    model = module.train(np.ascontiguousarray(y, float), np.ascontiguousarray(X), f"-q {options}")
    module.save_model(str(path), model)
