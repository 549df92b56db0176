"""
16,000 classes with sparse weights
==================================

With thousands of classes and sparse rows, most weights of the optimum are zero.
:class:`~manyclass.MulticlassSVC` then stores W as a table of classes for every feature. The
objective and the certificate are the same as with a dense W.
"""

# %%
# Data
# ----
# A synthetic catalog of 16,000 products. Each product has six own words, which it shares with other
# products; a description has four of them and four common words.

import time

import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse
from sklearn.preprocessing import normalize

from manyclass import MulticlassSVC

rng = np.random.default_rng(0)
n_classes, n_words = 16_000, 30_000
own_words = rng.integers(0, n_words, (n_classes, 6))


def descriptions(products):
    """Return one row of unit length for each product number."""
    own = rng.permuted(own_words[products], axis=1)[:, :4]
    other = (n_words * rng.random((len(products), 4)) ** 3).astype(
        int
    )
    columns = np.hstack([own, other]).ravel()
    ends = np.arange(0, len(columns) + 1, 8)
    values = np.ones(len(columns), np.float32)
    X = sparse.csr_array(
        (values, columns, ends), shape=(len(products), n_words)
    )
    X.sum_duplicates()
    return normalize(X)


y_train = np.concatenate(
    [np.arange(n_classes), rng.integers(0, n_classes, 8_000)]
)
y_test = rng.integers(0, n_classes, 4_000)
X_train, X_test = descriptions(y_train), descriptions(y_test)
print("rows and words:", X_train.shape)
print("classes:", n_classes)

# %%
# Training
# --------
# ``weights="auto"``, the default, chooses sparse weights here; ``verbose=1`` shows the choice.

began = time.perf_counter()
model = MulticlassSVC(
    C=0.1, tol=1e-2, fit_intercept=False, verbose=1, random_state=0
)
model.fit(X_train, y_train)
print(f"seconds, here: {time.perf_counter() - began:.1f}")
print(f"proven gap: {model.certificate_.relative_gap:.2%}")
print(f"accuracy on the test rows: {model.score(X_test, y_test):.1%}")

# %%
# Memory
# ------
# ``coef_`` is a SciPy CSR array. A dense W of the same type would store every word for every class.


def n_bytes(array):
    """Return the bytes of a CSR array."""
    return (
        array.data.nbytes + array.indices.nbytes + array.indptr.nbytes
    )


held = model.coef_
megabytes = {
    "X": n_bytes(X_train) / 1e6,
    "W, sparse": n_bytes(held) / 1e6,
    "W, if dense": n_classes * n_words * held.dtype.itemsize / 1e6,
}
for name, size in megabytes.items():
    print(f"{name:12} {size:8.1f} MB")
share = held.nnz / (n_classes * n_words)
print(f"{share:.2%} of the weights are non-zero")

# %%
# The three sizes, on a log scale:

figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
bars = axes.barh(
    list(megabytes),
    list(megabytes.values()),
    color=["0.6", "#0072B2", "#D55E00"],
)
axes.bar_label(bars, fmt="%.0f MB", padding=3)
axes.set_xscale("log")
axes.set_xlim(1, 10 * max(megabytes.values()))
axes.set_xlabel("MB")
axes.invert_yaxis()
axes.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# Weights per class
# -----------------
# A product has weights for its own words and for the words of products that it is confused with,
# not for all others.

figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
axes.hist(np.diff(held.indptr), bins=60, color="#0072B2")
axes.set_xlabel(f"weights of a class (of {n_words:,} words)")
axes.set_ylabel("classes")
axes.spines[["top", "right"]].set_visible(False)
plt.show()
