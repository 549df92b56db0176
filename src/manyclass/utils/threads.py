"""Number of threads that ``n_jobs`` stands for."""

from __future__ import annotations

import os

import joblib
from joblib.parallel import get_active_backend

MOST_THREADS = 1024


def effective_n_jobs(n_jobs: int | None) -> int:
    """Threads as joblib counts them (None = 1, -1 = all cores), in its workers only their share.

    joblib itself lets each of its workers take all cores again; what it leaves a worker's libraries
    is in OMP_NUM_THREADS, which holds for our threads as well.
    """
    wanted = min(int(joblib.effective_n_jobs(n_jobs)), MOST_THREADS)
    backend, _ = get_active_backend()
    share = os.environ.get("OMP_NUM_THREADS", "")
    if backend.nesting_level and share.isdecimal():
        return max(1, min(wanted, int(share)))
    return wanted
