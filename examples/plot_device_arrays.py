"""
PyTorch tensors, on a GPU if there is one
=========================================

:class:`~manyclass.MultinomialLogisticRegression` trains where X is stored: on the GPU if X is a
tensor there, otherwise on the CPU. This example chooses C for the features of a frozen network,
which are synthetic here. Without PyTorch, the same rows are a NumPy array.
"""

# %%
# Features
# --------
# Each class has a center. The rows are float16, as many networks return them; on a GPU, they are
# converted to float32 block by block during training.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.preprocessing import normalize

from manyclass import MultinomialLogisticRegression

try:
    import torch
except ImportError:
    torch = None

rng = np.random.default_rng(0)
n_rows, n_features, n_classes = 4_000, 64, 50
centers = normalize(rng.standard_normal((n_classes, n_features)))
y = rng.integers(0, n_classes, n_rows)
noise = rng.standard_normal((n_rows, n_features)) * 0.25
X = normalize(centers[y] + noise).astype(np.float16)
if torch is not None:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    X = torch.as_tensor(X, device=device)
print(type(X).__module__, getattr(X, "device", "cpu"), X.dtype)

# %%
# One model for each C
# --------------------
# With ``warm_start=True``, each fit starts from the previous one. The scores are computed where the
# rows are.

train, valid, test = (
    slice(2_000),
    slice(2_000, 3_000),
    slice(3_000, None),
)
Cs = [0.1, 0.3, 1.0, 3.0, 10.0, 30.0]
model = MultinomialLogisticRegression(
    tol=1e-3, warm_start=True, random_state=0
)
scores, gaps = [], []
for C in Cs:
    model.set_params(C=C).fit(X[train], y[train])
    scores.append(model.score(X[valid], y[valid]))
    gaps.append(model.certificate_.relative_gap)
best = Cs[int(np.argmax(scores))]
print(f"C = {best:g}, accuracy {max(scores):.3f}")
print(f"largest proven gap {max(gaps):.1e}")

# %%
# The final model
# ---------------
# Its weights and predictions are NumPy arrays, so it needs neither PyTorch nor a GPU.

model = MultinomialLogisticRegression(C=best, random_state=0)
model.fit(X[:3_000], y[:3_000])
print(type(model.coef_), model.coef_.shape)
print(
    f"accuracy {model.score(X[test], y[test]):.3f} on the test rows"
)
print(model.certificate_)

# %%
# Accuracy against C
# ------------------

figure, axes = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
axes.semilogx(Cs, scores, "o-", color="#0072B2")
axes.axvline(best, color="0.6", linestyle=":")
axes.set_xlabel("C")
axes.set_ylabel("accuracy on the validation rows")
axes.spines[["top", "right"]].set_visible(False)
plt.show()
