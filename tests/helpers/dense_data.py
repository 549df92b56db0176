"""The rows of a data set as a dense array."""

import numpy as np
import scipy.sparse as sp


def rows_with_bias(data):
    """Return X with the appended feature, shape (n, d + 1), in float64."""
    X = sp.csr_array(data.matrix()).toarray().astype(np.float64)
    return np.hstack([X, np.full((data.n_examples, 1), data.bias)])
