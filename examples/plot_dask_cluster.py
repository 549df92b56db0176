"""
Rows on a Dask cluster
======================

If X does not fit on one machine, its rows can be distributed. The estimators of ``manyclass.dask``
train on a Dask collection in place: the workers receive weights and return sums, and the
certificate holds for all rows together. Here the cluster is one process with three workers;
``Client("scheduler:8786")`` would connect to a real one.
"""

# %%
# Rows in chunks
# --------------
# 1,797 images of digits in six chunks. No chunk moves to a different worker during training.

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from dask.distributed import Client
from sklearn.datasets import load_digits

from manyclass import MultinomialLogisticRegression
from manyclass.dask import (
    DaskMulticlassSVC,
    DaskMultinomialLogisticRegression,
)

images, digits = load_digits(return_X_y=True)
client = Client(
    processes=False,
    n_workers=3,
    threads_per_worker=1,
    dashboard_address=":0",
)
X = da.from_array(images / 16, chunks=(300, -1))
y = da.from_array(digits, chunks=300)
print(X.numblocks[0], "chunks of", X.chunks[0], "rows")

# %%
# Logistic regression
# -------------------
# This process makes the Newton steps; each product with the Hessian is a sum over the workers.

logistic = DaskMultinomialLogisticRegression(C=0.1, tol=1e-6).fit(
    X, y
)
products = sum(record.loops for record in logistic.history_)
print(f"{logistic.n_iter_} Newton steps, {products} products")
print(logistic.certificate_)

# %%
# One process with all rows confirms the certificate: its optimum lies between the bound from the
# cluster, D, and the objective of the weights, P.

alone = MultinomialLogisticRegression(C=0.1, tol=1e-8).fit(
    images / 16, digits
)
proven = logistic.certificate_
print(f"D on the cluster {proven.dual_objective:.6f}")
print(f"P in one process {alone.certificate_.primal_objective:.6f}")
print(f"P on the cluster {proven.primal_objective:.6f}")

# %%
# A support vector machine
# ------------------------
# Each worker trains on its own rows with exact steps; a round ends with the sum of their weights
# (consensus ADMM).

svm = DaskMulticlassSVC(C=0.01, tol=1e-3, random_state=0).fit(X, y)
print(f"{svm.n_iter_} rounds")
print(svm.certificate_)

# %%
# Predictions are lazy
# --------------------
# Predictions are collections with the same chunks as X.

probabilities = logistic.predict_proba(X)
print(probabilities)
print(np.round(probabilities[:2].compute(), 3))
print(f"accuracy: {logistic.score(X, y):.3f}, {svm.score(X, y):.3f}")

# %%
# The gap by round
# ----------------
# In a round, the workers receive weights and return sums. Each product with the Hessian is a round,
# and a Newton step needs several products.

fig, ax = plt.subplots(figsize=(6, 3.4))
for name, model in {"logistic": logistic, "SVM": svm}.items():
    rounds = np.cumsum(
        [max(1, record.loops) for record in model.history_]
        if name == "logistic"
        else [1 for _ in model.history_]
    )
    gaps = [
        record.gap_estimate / record.primal_estimate
        for record in model.history_
    ]
    ax.semilogy(rounds, gaps, marker=".", label=name)
ax.set_xlabel("rounds")
ax.set_ylabel("relative gap")
ax.set_title("Six chunks on three workers")
ax.legend()
fig.tight_layout()
client.close()
