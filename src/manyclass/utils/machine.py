"""Resources of the machine that a process may use: memory, threads, instruction set."""

from __future__ import annotations

import contextlib
import os
import resource
import threading
from collections.abc import Iterator
from pathlib import Path

import joblib
from joblib.parallel import get_active_backend
from threadpoolctl import threadpool_limits

from manyclass import _core

CGROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
MOST_THREADS = 1024
VARIABLE = "MANYCLASS_INSTRUCTION_SET"


def available_memory(sharing: int = 1) -> int:
    """Return the bytes that the machine has, or that this process may still take if it is limited.

    Limits are those of containers (cgroups), which so many processes share evenly, and of address
    space (``ulimit -v``), which each has to itself.
    """
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for path in CGROUP_LIMITS:
        try:
            limits.append(int(Path(path).read_text()))
        except (OSError, ValueError):  # there is none, or it is "max"
            continue
    limits = [limit // sharing for limit in limits]
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    if soft != resource.RLIM_INFINITY:
        limits.append(max(0, soft - _address_space()))
    return min(limits)


def _address_space() -> int:
    """Bytes of address space that this process has taken."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except (OSError, ValueError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


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


def instruction_set() -> str:
    """Return the instruction set to use: the fastest one, or what the environment asks for.

    Returns
    -------
    str
        A name of ``_core.instruction_sets()``.

    Raises
    ------
    ValueError
        If the environment variable ``MANYCLASS_INSTRUCTION_SET`` names one that this machine
        does not have.

    Examples
    --------
    >>> from manyclass.utils.machine import instruction_set
    >>> instruction_set() in ("baseline", "avx2", "avx512")
    True
    """
    available = _core.instruction_sets()
    wanted = os.environ.get(VARIABLE, available[-1])
    if wanted not in available:
        raise ValueError(
            f"{VARIABLE}={wanted!r}: this machine has {', '.join(available)}; unset it or name one"
        )
    return wanted


class _BlasLimit:
    """Limit of the threads of BLAS, which the whole process shares."""

    def __init__(self) -> None:
        self._lock, self._n_users = threading.Lock(), 0
        self._limits: threadpool_limits | None = None

    @contextlib.contextmanager
    def __call__(self) -> Iterator[None]:
        """Let BLAS use one thread, until the last block that wants that has ended.

        Results then do not depend on other threads of this process; BLAS's own threads would
        compete with ours.
        """
        with self._lock:
            if self._n_users == 0:
                self._limits = threadpool_limits(1, "blas")
            self._n_users += 1
        try:
            yield
        finally:
            with self._lock:
                self._n_users -= 1
                if self._n_users == 0 and self._limits is not None:
                    self._limits.restore_original_limits()


one_blas_thread = _BlasLimit()
