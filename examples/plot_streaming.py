"""
Training from a file, block by block
====================================

:class:`~manyclass.StochasticClassifier` trains on data that do not fit into memory.
``SvmlightBlocks`` reads a file in svmlight / LIBSVM format in blocks of rows, as often as training
needs them.
"""

# %%
# A file
# ------
# Most rows of a synthetic corpus are written to a temporary file; the others are for the test. For
# files larger than memory, ``iter_text_corpus`` generates such rows in blocks.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import dump_svmlight_file

from manyclass import (
    MulticlassSVC,
    StochasticClassifier,
    load_svmlight,
)
from manyclass.datasets import make_text_corpus
from manyclass.io import SvmlightBlocks

X, y = make_text_corpus(
    12_000,
    20_000,
    50,
    topic_share=0.2,
    label_noise=0.1,
    random_state=0,
)
X_test, y_test = X[8_000:], y[8_000:]
folder = tempfile.TemporaryDirectory()
path = Path(folder.name, "train.txt")
dump_svmlight_file(X[:8_000], y[:8_000], str(path), zero_based=False)
print(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB of text")
print(path.read_text()[:60], "...")

# %%
# Blocks
# ------
# ``SvmlightBlocks`` first reads the file once: it checks every line and counts rows, features and
# classes. About two blocks are in memory at a time, for files of any size.

blocks = SvmlightBlocks(
    path, n_features=X.shape[1], block_bytes=3_000_000
)
print(blocks.n_rows, "rows,", len(blocks.classes), "classes")
for rows, labels in blocks.labelled():
    print(rows.shape, "first labels:", labels[:5].tolist())

# %%
# Training
# --------
# ``fit_blocks`` reads the blocks once in every epoch. With ``warm_start=True`` the next call
# continues from the last one, so you can measure the accuracy after each epoch.

accuracy = {}
for average in (False, True):
    model = StochasticClassifier(
        alpha=1e-4,
        average=average,
        max_iter=1,
        tol=None,
        warm_start=True,
        random_state=0,
    )
    accuracy[average] = []
    for _ in range(6):
        model.fit_blocks(
            blocks.labelled(), blocks.classes, blocks.n_features
        )
        accuracy[average].append(model.score(X_test, y_test))
    print(
        f"average={average}:", np.round(accuracy[average], 4).tolist()
    )

# %%
# Comparison with the exact solver
# --------------------------------
# The hinge loss with ``alpha`` has the same optimum as Crammer-Singer at C = 1 / (n alpha). These
# data fit into memory, so :class:`~manyclass.MulticlassSVC` can show the accuracy near the optimum.

X_train, y_train = load_svmlight(path, n_features=X.shape[1])
exact = MulticlassSVC(
    C=1 / (len(y_train) * 1e-4), intercept_scaling=0.1, random_state=0
)
best = exact.fit(X_train, y_train).score(X_test, y_test)
print(f"exact: {best:.4f}")
print(f"proven gap: {exact.certificate_.relative_gap:.1e}")
folder.cleanup()

# %%
# With averaging, one or two passes over the file are about as good as the optimum here.

epochs = np.arange(1, 7)
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
axes.axhline(
    best, color="0.4", linestyle="--", label="exact (MulticlassSVC)"
)
axes.plot(
    epochs,
    accuracy[True],
    "o-",
    color="#0072B2",
    label="average=True",
)
axes.plot(
    epochs,
    accuracy[False],
    "s-",
    color="#D55E00",
    label="average=False",
)
axes.set_xlabel("passes over the file")
axes.set_ylabel("accuracy on the test rows")
axes.spines[["top", "right"]].set_visible(False)
axes.legend(frameon=False, loc="lower right")
plt.show()
