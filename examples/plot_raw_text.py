"""
From raw text to a certified model
==================================

A pipeline of scikit-learn's ``TfidfVectorizer`` and :class:`~manyclass.MulticlassSVC` learns to
sort letters to a customer service. The model has a certificate of its distance from the optimum. It
is then saved to a file without code, loaded and evaluated.
"""

# %%
# Documents
# ---------
# The letters are synthetic. Most are about one subject; some mention a second one, which makes them
# harder to sort.

import tempfile
import textwrap
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import (
    ConfusionMatrixDisplay,
    classification_report,
)
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from manyclass import MulticlassSVC, load_model, save_model

SUBJECTS = {
    "delivery": (
        "the parcel; my order; the courier; the package",
        "has not come; is late; went to a neighbor; is lost",
    ),
    "invoice": (
        "the bill; the invoice; the amount; the receipt",
        "shows a wrong total; was charged twice; is too high",
    ),
    "defect": (
        "the screen; the battery; the device; the hinge",
        "is broken; does not charge; stopped at once; has a crack",
    ),
    "account": (
        "my password; the login; my address; the newsletter",
        "cannot be changed; is rejected; should be deleted; is wrong",
    ),
    "return": (
        "the shirt; one item; the second chair; the gift",
        "should go back; is too small; does not fit; is not wanted",
    ),
}
COMMON = (
    "good morning; I bought it last month; please help me with this; "
    "what should I do now; thanks in advance; I have written before; "
    "your web site did not help; kind regards"
)


def one_of(phrases, rng):
    """Return one of some phrases."""
    return str(rng.choice(phrases.split("; ")))


def letter(subject, rng):
    """Return one letter: common phrases, and a sentence or two."""
    named = [subject]
    if rng.random() < 0.3:
        named.append(
            rng.choice([name for name in SUBJECTS if name != subject])
        )
    sentences = [
        " ".join(one_of(part, rng) for part in SUBJECTS[name])
        for name in named
    ]
    sentences += [one_of(COMMON, rng), one_of(COMMON, rng)]
    return ". ".join(rng.permutation(sentences).tolist())


rng = np.random.default_rng(0)
labels = rng.choice(
    list(SUBJECTS), 1500, p=[0.35, 0.25, 0.2, 0.12, 0.08]
)
texts = [letter(label, rng) for label in labels]
for label, text in zip(labels[:3], texts[:3], strict=True):
    print(
        textwrap.fill(f"{label}: {text}", 70, subsequent_indent="  ")
    )

# %%
# Training
# --------
# ``dtype=np.float32`` halves the memory of the tf-idf matrix, and training then uses float32 too.
# String labels need no encoding.

train_texts, test_texts, y_train, y_test = train_test_split(
    texts, labels, test_size=0.3, random_state=0, stratify=labels
)
pipeline = make_pipeline(
    TfidfVectorizer(ngram_range=(1, 2), dtype=np.float32),
    MulticlassSVC(C=1.0, tol=1e-3, random_state=0),
).fit(train_texts, y_train)

# %%
# Certificate
# -----------
# The optimum lies between the dual and the primal objective.

model = pipeline[-1]
proof = model.certificate_
print(
    len(model.classes_), "classes,", model.n_features_in_, "features"
)
print(f"primal objective {proof.primal_objective:.4f}")
print(f"dual objective   {proof.dual_objective:.4f}")
print(f"the model is within {proof.relative_gap:.3%} of the optimum")

# %%
# Saving and loading
# ------------------
# :func:`~manyclass.save_model` writes the whole pipeline into one file in the safetensors format,
# which cannot run code.

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder, "letters.model")
    save_model(path, pipeline)
    print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")
    loaded = load_model(path)

predicted = loaded.predict(test_texts)
print(
    "same:", np.array_equal(predicted, pipeline.predict(test_texts))
)
print(*loaded.predict(["hello, the hinge is broken again"]))

# %%
# Evaluation
# ----------
# The model is evaluated on held-out letters. The certificate is about the training objective; only
# these figures measure the predictions.

print(classification_report(y_test, predicted))

# %%
# Rows are the true subjects, columns the predicted ones:

figure, axes = plt.subplots(figsize=(6.4, 4.8), layout="constrained")
ConfusionMatrixDisplay.from_predictions(
    y_test,
    predicted,
    ax=axes,
    cmap="Blues",
    colorbar=False,
    xticks_rotation=30,
)
axes.set_xlabel("predicted")
axes.set_ylabel("true subject")
axes.set_title("letters of the test part")
plt.show()
