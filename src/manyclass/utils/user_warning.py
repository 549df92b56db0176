"""Warnings with the line of the user's code, for any number of calls within this package.

Python 3.12 has ``skip_file_prefixes`` of ``warnings.warn`` for this, but this package supports
3.11.
"""

from __future__ import annotations

import sys
import warnings

# scikit-learn wraps methods, and calls fit in its own estimators through joblib.
PACKAGES = "joblib", "manyclass", "sklearn"


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn with the line that called this package or scikit-learn.

    Parameters
    ----------
    message : str
    category : type of Warning, default=UserWarning
    """
    level, frame = 1, sys._getframe(1)
    while frame.f_back and str(frame.f_globals.get("__name__")).partition(".")[0] in PACKAGES:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level + 1)
