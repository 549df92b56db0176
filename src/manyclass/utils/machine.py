"""Resources of the machine: memory, threads, instruction set, and the core's classes by dtype.

Control groups (cgroups) limit the memory of containers and of jobs of Slurm, systemd and
Kubernetes: version 2 in ``memory.max`` and ``memory.high``, version 1 in
``memory.limit_in_bytes``, for the process's own group and all its parents.
Source: Linux kernel documentation, admin-guide/cgroup-v2 and cgroup-v1/memory; proc(5).
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal, overload

import joblib
import numpy as np
import psutil
from joblib.parallel import get_active_backend
from threadpoolctl import LibController, OpenBLASController, ThreadpoolController

from manyclass import _core
from manyclass.utils.types import Array, DType, Numbers

try:
    import resource

    OWN_LIMITS = [(resource.RLIMIT_AS, "vms"), (resource.RLIMIT_DATA, "data")]
except ImportError:  # not on Windows
    OWN_LIMITS = []

MOST_THREADS = 1024
VARIABLE = "MANYCLASS_INSTRUCTION_SET"


def effective_n_jobs(n_jobs: int | None) -> int:
    """Return a number of threads as in joblib (None = 1, -1 = all cores); a share in its workers.

    joblib itself lets each of its workers use all cores. The share of the libraries in a worker is
    in OMP_NUM_THREADS, which also limits our threads.
    """
    wanted = min(int(joblib.effective_n_jobs(n_jobs)), MOST_THREADS)
    backend, _ = get_active_backend()
    share = os.environ.get("OMP_NUM_THREADS", "")
    if backend.nesting_level and share.isdecimal():
        return max(1, min(wanted, int(share)))
    return wanted


def instruction_set() -> str:
    """Return the instruction set to use: the fastest one, or the one in the environment variable.

    Returns
    -------
    str
        A name of ``_core.instruction_sets()``.

    Raises
    ------
    ValueError
        If the environment variable ``MANYCLASS_INSTRUCTION_SET`` names one that this machine
        does not have.
    ImportError
        If the core was compiled for different processors only.

    Examples
    --------
    >>> from manyclass.utils.machine import instruction_set
    >>> instruction_set() in ("baseline", "avx2", "avx512")
    True
    """
    available = _core.instruction_sets()
    if not available:
        raise ImportError(
            "manyclass was compiled for a different processor; install it again on this machine"
        )
    wanted = os.environ.get(VARIABLE, available[-1])
    if wanted not in available:
        raise ValueError(
            f"{VARIABLE}={wanted!r}: this machine has {', '.join(available)}; unset it or name one"
        )
    return wanted


class _BlasLimit:
    """Limit of the threads of BLAS: once for the libraries of the process, or for each thread."""

    def __init__(self) -> None:
        self._lock, self._n_users = threading.Lock(), 0
        self._before: list[tuple[LibController, int]] = []  # libraries and their numbers of threads
        self._libraries: list[LibController] | None = None
        self._n_modules = 0  # modules that were imported when the libraries were searched

    @contextlib.contextmanager
    def __call__(self) -> Iterator[None]:
        """Let BLAS use one thread, until the last block with this limit has ended.

        Results then do not depend on other threads of this process, and threads of BLAS do not
        compete with ours.
        """
        with self._lock:
            libraries = self._found()
            if self._n_users == 0:
                self._before = _limited(each for each in libraries if not _is_of_thread(each))
            self._n_users += 1
        of_thread: list[tuple[LibController, int]] = []
        try:
            of_thread = _limited(each for each in libraries if _is_of_thread(each))
            yield
        finally:
            _set(of_thread)
            with self._lock:
                self._n_users -= 1
                if self._n_users == 0:
                    _set(self._before)

    def _found(self) -> list[LibController]:
        """Return the libraries of this process; searching for them takes milliseconds."""
        if self._libraries is None or self._n_modules != len(sys.modules):
            self._n_modules = len(sys.modules)  # before: another thread may import meanwhile
            self._libraries = ThreadpoolController().select(user_api="blas").lib_controllers
        return self._libraries


def _is_of_thread(library: LibController) -> bool:
    """Return whether each thread has a limit of its own."""
    name: str = library.internal_api
    return name == "mkl" or (name == "openblas" and library.threading_layer == "openmp")


def _limited(libraries: Iterable[LibController]) -> list[tuple[LibController, int]]:
    """Let libraries use one thread; return how many threads the changed ones had."""
    numbers = [(each, each.get_num_threads()) for each in libraries]
    before = [(each, number) for each, number in numbers if number is not None and number > 1]
    _set([(each, 1) for each, _ in before])
    return before


def _set(numbers: Sequence[tuple[LibController, int]]) -> None:
    """Set the numbers of threads of libraries.

    Without a call of ``clear_controlling_thread``, threadpoolctl ignores all threads but the first.
    """
    for library, number in numbers:
        OpenBLASController.clear_controlling_thread(force=True)
        library.set_num_threads(number)
        OpenBLASController.clear_controlling_thread(force=True)


one_blas_thread = _BlasLimit()


def weighted_sum(weights: Numbers, values: Array) -> float:
    """Return the scalar product of two arrays of shape (n,), the same for any number of threads.

    BLAS would start threads for 10,000 numbers. Its threads wait for work for a tenth of a second
    on cores that other processes could use, and the order of the sum depends on their number.
    """
    return float((weights * values).sum())


PROC = Path("/proc/self")
ESCAPED = re.compile(r"\\([0-7]{3})")  # escapes of mountinfo
LONGEST = 20  # largest number of digits of a limit


@dataclass(frozen=True, slots=True)
class CgroupFiles:
    """Names of the files of a version of cgroups.

    Attributes
    ----------
    limits : tuple of str
    used : tuple of str
        Entries of memory.stat that cannot be reclaimed, unlike cached pages of files.
    """

    limits: tuple[str, ...]
    used: tuple[str, ...]


CGROUP_FILES = {
    "cgroup2": CgroupFiles(("memory.max", "memory.high"), ("anon", "shmem")),
    "cgroup": CgroupFiles(("memory.limit_in_bytes",), ("total_rss", "total_shmem")),
}


def available_memory(sharing: int = 1) -> int:
    """Return the memory of the machine in bytes, or what limits leave to this process.

    Limits are cgroups, which `sharing` processes share evenly, and address space and data
    (``ulimit -v`` and ``-d``) of each process.
    """
    left = [min([machine_memory(), *left_in_cgroups()]) // sharing]
    for kind, name in OWN_LIMITS:
        soft = resource.getrlimit(kind)[0]
        if soft != resource.RLIM_INFINITY:
            used = psutil.Process().memory_info()
            left.append(max(0, soft - int(getattr(used, name, used.vms))))
    return min(left)


@functools.cache
def machine_memory() -> int:
    """Return the memory of the machine in bytes."""
    return int(psutil.virtual_memory().total)


def left_in_cgroups(proc: Path = PROC) -> Iterator[int]:
    """Yield the bytes that each limited cgroup of this process may still allocate.

    Parameters
    ----------
    proc : Path
        Folder with the files ``cgroup`` and ``mountinfo``.
    """
    for folder, kind in limiting_folders(proc, "\n".join(_lines(proc / "cgroup"))):
        files = CGROUP_FILES[kind]
        for name in files.limits:
            text = "".join(_lines(folder / name))
            if text.isdecimal():  # not "max"
                stat = (line.partition(" ") for line in _lines(folder / "memory.stat"))
                used = sum(int(n) for entry, _, n in stat if entry in files.used and n.isdecimal())
                yield max(0, int(text[:LONGEST]) - used)


@functools.cache
def limiting_folders(proc: Path, own_groups: str) -> tuple[tuple[Path, str], ...]:
    """Return the folders of this process's cgroups that may limit memory, each with its version.

    They are cached by the text of the file ``cgroup``, because a fit needs them several times.
    """
    groups, folders = {}, []
    for line in own_groups.split("\n"):
        number, controllers, path = [*line.split(":", 2), "", ""][:3]
        if "memory" in controllers.split(",") or (number == "0" and not controllers):
            groups["cgroup" if controllers else "cgroup2"] = PurePosixPath(path)
    for kind, mount, root in _mounts(proc):
        own = groups.get(kind, root)
        inside = own.relative_to(root) if own.is_relative_to(root) else PurePosixPath()
        folders += [(mount / part, kind) for part in (inside, *inside.parents)]
    return tuple(folders)


def _mounts(proc: Path) -> Iterator[tuple[str, Path, PurePosixPath]]:
    """Yield version, mount point and root of the cgroup file systems that limit memory."""
    for line in _lines(proc / "mountinfo"):
        about, _, rest = line.partition(" - ")
        kind, _, options = [*rest.split(" ", 2), "", ""][:3]
        if kind == "cgroup2" or (kind == "cgroup" and "memory" in options.split(",")):
            root, mount = (
                ESCAPED.sub(lambda found: chr(int(found[1], 8)), part)
                for part in about.split(" ")[3:5]
            )
            yield kind, Path(mount), PurePosixPath(root)


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return []


@overload
def core_class(name: Literal["Problem"], dtype: DType) -> type[_core.Problem64]: ...
@overload
def core_class(name: Literal["PairTrainer"], dtype: DType) -> type[_core.PairTrainer64]: ...
@overload
def core_class(
    name: Literal["StochasticTrainer"], dtype: DType
) -> type[_core.StochasticTrainer64]: ...
@overload
def core_class(
    name: Literal["ComparisonTrainer"], dtype: DType
) -> type[_core.ComparisonTrainer64]: ...
@overload
def core_class(name: Literal["LogisticTrainer"], dtype: DType) -> type[_core.LogisticTrainer64]: ...
@overload
def core_class(name: Literal["Duals"], dtype: DType) -> type[_core.Duals64]: ...
@overload
def core_class(name: Literal["ShardedWeights"], dtype: DType) -> type[_core.ShardedWeights64]: ...
@overload
def core_class(name: Literal["PairTables"], dtype: DType) -> type[_core.PairTables64]: ...
@overload
def core_class(name: Literal["SparseWeights"], dtype: DType) -> type[_core.SparseWeights64]: ...
@overload
def core_class(name: Literal["Predictor"], dtype: DType) -> type[_core.Predictor64]: ...
def core_class(name: str, dtype: DType) -> type:
    """Return the class for float32 or float64; type hints use the class for float64.

    Parameters
    ----------
    name : str
        Name without suffix: ``"Problem"`` for ``Problem32`` and ``Problem64``.
    dtype : dtype
        float32 or float64.
    """
    found: type = getattr(_core, f"{name}{8 * np.dtype(dtype).itemsize}")
    return found
