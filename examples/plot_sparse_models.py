"""
Sparse models and top features
==============================

Most weights of a text classifier are small. ``sparsify`` removes them, reports the effect, and
proves a new gap. The largest weights show what the model has learned.
"""

# %%
# Documents
# ---------
# Synthetic notes for five sections of a newspaper: some words of the section, common words, and
# numbers such as prices and results, most of which occur once.

import copy
import tempfile
import textwrap
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import train_test_split

from manyclass import MulticlassSVC, save_model

WORDS = {
    "sport": "goal match team coach league referee final season",
    "weather": "rain storm wind cloud sunshine forecast fog thunder",
    "money": "shares bank profit market budget loss tax inflation",
    "kitchen": "butter flour oven onion recipe sauce garlic dough",
    "travel": "hotel beach flight island museum ticket tour ferry",
}
COMMON = "the of a to in for with on was is at from by today new more"


def note(section, rng):
    """Return a note of about 20 words."""
    own = rng.choice(WORDS[section].split(), rng.integers(1, 5))
    other = rng.choice(" ".join(WORDS.values()).split(), 2)
    numbers = rng.integers(1000, 99_999, 4).astype(str)
    return " ".join(
        rng.permutation(
            np.concatenate(
                [own, other, numbers, rng.choice(COMMON.split(), 10)]
            )
        )
    )


rng = np.random.default_rng(0)
sections = rng.choice(list(WORDS), 3000)
notes = [note(section, rng) for section in sections]
train, test, y_train, y_test = train_test_split(
    notes, sections, test_size=0.5, random_state=0
)
vectorizer = TfidfVectorizer(dtype=np.float32)
X_train, X_test = (
    vectorizer.fit_transform(train),
    vectorizer.transform(test),
)
print(textwrap.fill(notes[0], 70))
print(f"{X_train.shape[0]} notes, {X_train.shape[1]} features")

# %%
# Training, and removing small weights
# ------------------------------------
# If you pass the training data, ``sparsify`` computes the objective again: the dual objective is
# still a lower bound of the optimum, so the gap to it is proven. Here each threshold starts from
# the same model.

model = MulticlassSVC(C=1.0, tol=1e-3, random_state=0).fit(
    X_train, y_train
)
thresholds = [0.0, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8]
sizes, accuracies = [], []


def file_size(model):
    """Return the kilobytes of the model's file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "notes.model")
        save_model(path, model)
        return path.stat().st_size / 1000


dense = file_size(model)
print(f"dense file: {dense:.1f} kB")
print("threshold  weights left   file, kB  accuracy  proven gap")
for threshold in thresholds:
    smaller = copy.deepcopy(model)
    smaller.sparsify(threshold, X_train, y_train)
    sizes.append(file_size(smaller))
    accuracies.append(smaller.score(X_test, y_test))
    gap = smaller.sparsity_report_.relative_gap
    print(f"{threshold:9g}  {smaller.coef_.nnz:12,}", end="")
    print(f"  {sizes[-1]:9.1f}  {accuracies[-1]:8.4f}  {gap:10.2%}")

# %%
# The numbers in the notes get small weights that help to fit the training rows only. Without them
# the model is much smaller. Its objective is worse, as the gap shows; its accuracy on the test
# rows hardly changes here. A file of sparse weights has 8 bytes for each weight and 8 for
# each feature, so it is smaller if most weights are zero.
#
# Size against accuracy
# ---------------------

figure, axes = plt.subplots(figsize=(6.4, 4), layout="constrained")
axes.semilogx(
    sizes, accuracies, "o-", color="#0072B2", label="sparsified"
)
axes.plot(
    dense,
    model.score(X_test, y_test),
    "D",
    color="#D55E00",
    label="dense",
)
for index in (0, 3, 4, 6):
    axes.annotate(
        f"threshold {thresholds[index]:g}",
        (sizes[index], accuracies[index]),
        xytext=(5, 8 if index != 4 else -14),
        textcoords="offset points",
        fontsize=8,
    )
axes.set_xlabel("model file, kB")
axes.set_ylabel("accuracy on the test rows")
axes.set_xticks([50, 100, 150], ["50", "100", "150"])
axes.minorticks_off()
axes.margins(0.12)
axes.set_ylim(0.8, 0.9)
axes.spines[["top", "right"]].set_visible(False)
axes.legend(frameon=False, loc="lower left")
plt.show()

# %%
# Top features
# ------------
# The features with the largest weights of each class:

words = vectorizer.get_feature_names_out()
top = model.top_features(7, words)
for section, features in top.items():
    print(f"{section:8}", *(name for name, _ in features))

# %%
# The weights of these features in all classes: words of one section have negative weights for
# others.

shown = [
    vectorizer.vocabulary_[name]
    for best in top.values()
    for name, _ in best[:3]
]
limit = np.abs(model.coef_[:, shown]).max()
figure, axes = plt.subplots(figsize=(6.8, 4), layout="constrained")
image = axes.imshow(
    model.coef_[:, shown],
    cmap="PuOr_r",
    vmin=-limit,
    vmax=limit,
    aspect="auto",
)
axes.set_yticks(range(len(top)), top)
axes.set_xticks(
    range(len(shown)), words[shown], rotation=45, ha="right"
)
axes.set_title("weights of the top three words of each class")
figure.colorbar(image, ax=axes)
plt.show()
# sphinx_gallery_thumbnail_number = 2
