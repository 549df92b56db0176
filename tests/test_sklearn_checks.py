"""scikit-learn's own checks of an estimator, all of them."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from manyclass import MulticlassSVC


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([MulticlassSVC()])
def test_estimator_check(estimator, check):
    if "sample_weight_equivalence" in str(check):
        # It compares two optima to seven digits, so both must be computed to more.
        estimator.set_params(tol=1e-14)
    check(estimator)
