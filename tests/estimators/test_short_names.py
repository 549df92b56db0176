"""Formulations by their short names."""

import numpy as np
import pytest

from manyclass import MulticlassSVC, MulticlassSVCCV, load_model, save_model
from manyclass.problem.formulations import SHORT_NAMES
from tests.helpers.iris import IRIS


@pytest.mark.parametrize(("short", "full"), SHORT_NAMES.items())
def test_they_train_the_same(short, full, tmp_path):
    models = [
        MulticlassSVC(formulation=name, random_state=0, warm_start=True).fit(*IRIS)
        for name in (short, full)
    ]
    np.testing.assert_array_equal(models[0].coef_, models[1].coef_)
    assert models[0].get_params()["formulation"] == short
    save_model(tmp_path / "model", models[0])
    np.testing.assert_array_equal(load_model(tmp_path / "model").coef_, models[0].coef_)
    assert models[0].fit(*IRIS).certificate_.relative_gap <= 1e-3
    assert MulticlassSVCCV(formulation=short, Cs=[0.1], cv=2).fit(*IRIS).C_ == 0.1
