"""
Embeddings: dense rows of unit length
=====================================

Embeddings are dense float32 rows of unit length. This example trains
:class:`~manyclass.MulticlassSVC`, :class:`~manyclass.MultinomialLogisticRegression` and
scikit-learn's ``LogisticRegression``, which solves the same problem as the second one, on synthetic
embeddings of 100 classes.
"""

# %%
# Data
# ----
# Each class has a center; a row is its center plus noise, scaled to length 1.

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import normalize
from threadpoolctl import threadpool_limits

from manyclass import MulticlassSVC, MultinomialLogisticRegression

rng = np.random.default_rng(0)
n_rows, n_dimensions, n_classes = 6_000, 96, 100
centers = normalize(rng.standard_normal((n_classes, n_dimensions)))
y = rng.integers(0, n_classes, n_rows)
noise = rng.standard_normal((n_rows, n_dimensions)) * 0.2
X = normalize(centers[y] + noise).astype(np.float32)
X_train, X_test, y_train, y_test = train_test_split(
    X, y, test_size=0.25, random_state=0
)
print(X_train.shape, X_train.dtype, f"{X_train.nbytes / 1e6:.1f} MB")

# %%
# Training
# --------
# A float32 array in C order is not copied, even if it is memory-mapped by
# ``np.load(..., mmap_mode="r")``. With more than 64 classes in float32, examples are processed in
# batches: the scores of a batch are one matrix product, and the updates within it are corrected
# exactly. So batches only change the speed.
#
# ``LogisticRegression`` stops when its gradient is small, without a bound on the distance from the
# optimum. C weighs different losses in SVMs and logistic regression, so it has different values.
# All models use one thread here.

models = {
    "MulticlassSVC": MulticlassSVC(C=1.0, tol=1e-2, random_state=0),
    "Multinomial-\nLogisticRegression": MultinomialLogisticRegression(
        C=10.0, random_state=0
    ),
    "LogisticRegression\n(scikit-learn)": LogisticRegression(
        C=10.0, max_iter=1000
    ),
}
seconds, accuracy = {}, {}
for name, model in models.items():
    began = time.perf_counter()
    with threadpool_limits(1):
        model.fit(X_train, y_train)
    seconds[name] = time.perf_counter() - began
    accuracy[name] = model.score(X_test, y_test)
    print(f"{type(model).__name__:30} accuracy {accuracy[name]:.3f}")
    if hasattr(model, "certificate_"):
        print(f"  proven gap {model.certificate_.relative_gap:.1e}")

# %%
# A bound for scikit-learn
# ------------------------
# Both logistic models minimize the same objective, and the dual objective of the certificate is a
# lower bound for all weights. So it bounds the gap of ``LogisticRegression``, too.

ours, theirs = list(models.values())[1:]
probabilities = theirs.predict_proba(X_train).astype(np.float64)
losses = -np.log(probabilities[np.arange(len(y_train)), y_train])
objective = (
    0.5 * np.sum(theirs.coef_.astype(np.float64) ** 2)
    + theirs.C * losses.sum()
)
proof = ours.certificate_
bound = proof.dual_objective
gap = (objective - bound) / objective
print(f"no weights have an objective below {bound:.2f}")
print(f"manyclass:    {proof.primal_objective:.2f}", end="")
print(f", gap {proof.relative_gap:.1e}")
print(f"scikit-learn: {objective:.2f}, gap {gap:.1e}")

# %%
# Seconds and accuracy
# --------------------
# The times depend on the machine and its load.

figure, (top, bottom) = plt.subplots(
    2, 1, figsize=(6.4, 5), layout="constrained"
)
colors = ["#0072B2", "#009E73", "0.6"]
for axes, values, label in (
    (top, seconds, "seconds of training, here"),
    (bottom, accuracy, "accuracy on the test rows"),
):
    bars = axes.barh(
        list(models), list(values.values()), color=colors
    )
    axes.bar_label(bars, fmt="%.3g", padding=3)
    axes.set_xlabel(label)
    axes.set_xlim(right=1.2 * max(values.values()))
    axes.invert_yaxis()
    axes.spines[["top", "right"]].set_visible(False)
plt.show()
