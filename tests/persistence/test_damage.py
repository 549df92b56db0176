"""Model files of every kind that are cut off, or have a flipped bit: one clear error each."""

import numpy as np
import pytest

from manyclass import MulticlassSVCCV, load_model, save_model
from tests.helpers.damaged_files import check_flipped_bits, check_truncations
from tests.helpers.model_files import X, Y, fitted
from tests.helpers.pipelines import text_pipeline

MODELS = {
    "dense": fitted,
    "sparse": lambda: fitted().sparsify(0.3),
    "search": lambda: MulticlassSVCCV(Cs=[0.1, 1.0], cv=2, random_state=0).fit(X, Y),
    "pipeline": text_pipeline,
}


@pytest.mark.parametrize("kind", MODELS)
def test_truncations_and_flipped_bits(kind, path):
    if kind == "pipeline":
        pytest.importorskip("skops")
    save_model(path, MODELS[kind]())
    check_truncations(path)
    check_flipped_bits(path)


def test_damaged_weights_are_noticed(path):
    save_model(path, fitted())
    content = np.fromfile(path, np.uint8)
    content[-1] ^= 1
    content.tofile(path)
    with pytest.raises(ValueError, match="checksum differs"):
        load_model(path)
