"""Memory limits of cgroups, of files as the kernel writes them and of a real group; BLAS."""

import os
import subprocess
import sys
import threading
import types
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from threadpoolctl import ThreadpoolController, threadpool_limits

from manyclass.utils import machine
from manyclass.utils.machine import (
    available_memory,
    left_in_cgroups,
    limiting_folders,
    one_blas_thread,
)

V1 = "35 31 0:32 {root} {mount} rw,relatime - cgroup cgroup rw,memory\n"
V2 = "30 23 0:26 {root} {mount} rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
OTHER = "33 31 0:30 / /nowhere rw - cgroup cgroup rw,cpuacct\n31 23 0:28 / /x rw - tmpfs tmpfs rw\n"
UNLIMITED = 9223372036854771712


@pytest.fixture(name="process")
def process_fixture(tmp_path):
    """Write what a process reads; returns the folder of its cgroups and a function."""
    proc, mount = tmp_path / "proc", tmp_path / "cgroup fs"
    proc.mkdir()

    def left(cgroup, mounts, files, root="/"):
        (proc / "cgroup").write_text(cgroup)
        where = str(mount).replace(" ", "\\040")
        (proc / "mountinfo").write_text(OTHER + mounts.format(root=root, mount=where))
        for name, text in files.items():
            path = mount / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        limiting_folders.cache_clear()
        return sorted(left_in_cgroups(proc))

    return left


def test_the_limits_of_all_groups_above_count(process):
    files = {
        "memory.max": "max\n",
        "jobs/memory.max": "5000\n",
        "jobs/memory.stat": "anon 700\nfile 90000\nshmem 300\n",
        "jobs/mine/memory.max": "max\n",
        "jobs/mine/memory.high": "600\n",
    }
    assert process("0::/jobs/mine\n", V2, files) == [600, 4000]


def test_version_1_counts_what_cannot_be_reclaimed(process):
    files = {
        "memory.limit_in_bytes": f"{UNLIMITED}\n",
        "slurm/job/memory.limit_in_bytes": "1000\n",
        "slurm/job/memory.stat": "cache 800\nrss 1\ntotal_cache 800\ntotal_rss 400\n",
    }
    assert process("5:cpuacct,cpu:/\n4:memory:/slurm/job\n", V1, files) == [600, UNLIMITED]


@pytest.mark.parametrize("own", ["/docker/abc", "/docker/abc/inner", "/elsewhere"])
def test_a_container_sees_its_group_as_the_root(process, own):
    found = process(
        f"4:memory:{own}\n", V1, {"memory.limit_in_bytes": "1000\n"}, root="/docker/abc"
    )
    assert found == [1000]


def test_more_in_use_than_the_limit_and_a_limit_of_many_digits(process):
    files = {"memory.max": "1000\n", "memory.stat": "anon 1500\n"}
    assert process("0::/\n", V2, files) == [0]
    assert process("0::/\n", V2, {"memory.max": "9" * 5000})[0] > 1e18


@pytest.mark.parametrize(
    ("cgroup", "mounts", "files"),
    [
        (b"0::/\xff\n", V2, {"\udcff/memory.max": "1000"}),
        (b"\ngarbage\n0::/\n", "\nno mount\n" + V2, {"memory.max": "1000"}),
        (b"0::/\n", V2, {"memory.max": "1000", "memory.stat": "anon\nanon x\n\n"}),
    ],
)
def test_odd_lines(tmp_path, process, cgroup, mounts, files):
    process("", mounts, files)
    (tmp_path / "proc" / "cgroup").write_bytes(cgroup)
    limiting_folders.cache_clear()
    assert list(left_in_cgroups(tmp_path / "proc")) == [1000]


def test_systems_without_cgroups(tmp_path):
    assert list(left_in_cgroups(tmp_path)) == []


def limited_group():
    """Make a real group of version 1 below this process's own, limited to 600 MB."""
    lines = Path("/proc/self/cgroup").read_text().splitlines()
    own = next((line.split(":")[2] for line in lines if line.split(":")[1] == "memory"), None)
    if own is None:
        pytest.skip("memory is not in cgroups of version 1 here")
    group = Path(f"/sys/fs/cgroup/memory{own}") / f"manyclass-test-{os.getpid()}"
    try:
        group.mkdir()
        (group / "memory.limit_in_bytes").write_text("600000000")
    except OSError as error:
        pytest.skip(f"no cgroup can be made here: {error}")
    return group


SCRIPT = """
import numpy as np, scipy.sparse as sp
from manyclass import MulticlassSVC
from manyclass.utils.machine import available_memory
assert 4e8 < available_memory() < 6e8
columns = np.random.default_rng(0).integers(0, 500_000, 40_000)
X = sp.csr_array((np.ones(40_000, np.float32), columns, np.arange(0, 40_001, 20)), (2000, 500_000))
model = MulticlassSVC(tol=0.1).fit(X, np.arange(2000) % 400)
print(type(model._coefficients).__name__)
"""


def test_a_job_of_600_mb_trains_with_sparse_weights():
    """Dense ones would take 800 MB; the kernel would kill the job."""
    group = limited_group()
    try:
        join = f"open({str(group / 'cgroup.procs')!r}, 'w').write('0')\n"
        done = subprocess.run(
            [sys.executable, "-c", join + SCRIPT], capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stdout) == (0, "SparseCoefficients\n"), done.stderr
    finally:
        group.rmdir()


def test_processes_share_limits():
    assert available_memory(4) <= available_memory() // 4 + 1


def blas_threads():
    libraries = ThreadpoolController().select(user_api="blas").info()
    return {library["num_threads"] for library in libraries}


def test_blas_has_one_thread_until_the_last_block_ends():
    with threadpool_limits(2, "blas"):
        assert blas_threads() == {2}
        with one_blas_thread():
            with one_blas_thread():
                assert blas_threads() == {1}
            assert blas_threads() == {1}
        assert blas_threads() == {2}


def test_blas_has_one_thread_in_blocks_of_different_threads():
    both_inside, first_ended = threading.Barrier(2, timeout=60), threading.Event()

    def first():
        with one_blas_thread():
            both_inside.wait()
        first_ended.set()

    with threadpool_limits(2, "blas"), ThreadPoolExecutor(1) as pool:
        done = pool.submit(first)
        with one_blas_thread():
            both_inside.wait()
            assert first_ended.wait(60)
            assert blas_threads() == {1}
        done.result()
        assert blas_threads() == {2}


def test_a_limit_of_one_by_others_is_left_to_them():
    with threadpool_limits(2, "blas"):
        others = threadpool_limits(1, "blas")
        with one_blas_thread():
            others.restore_original_limits()
        assert blas_threads() == {2}


def test_libraries_with_a_limit_for_each_thread():
    class Library:
        """Numbers of threads, as MKL keeps them."""

        internal_api, user_api = "mkl", "blas"

        def __init__(self):
            self.numbers = {}

        def get_num_threads(self):
            return self.numbers.get(threading.get_ident(), 4)

        def set_num_threads(self, number):
            self.numbers[threading.get_ident()] = number

    library, limit = Library(), machine._BlasLimit()
    limit._found = lambda: [library]

    def limited():
        with limit():
            inside = library.get_num_threads()
        return inside, library.get_num_threads()

    with limit(), ThreadPoolExecutor(1) as pool:
        assert library.get_num_threads() == 1
        assert pool.submit(library.get_num_threads).result() == 4
        assert pool.submit(limited).result() == (1, 4)
        assert library.get_num_threads() == 1
    assert library.get_num_threads() == 4


def test_libraries_are_searched_again_after_imports(monkeypatch):
    searches = []

    class Counted(ThreadpoolController):
        def __init__(self):
            searches.append(len(sys.modules))
            super().__init__()

    monkeypatch.setattr(machine, "ThreadpoolController", Counted)
    limit = machine._BlasLimit()
    for _ in range(3):
        with limit():
            assert blas_threads() == {1}
    assert len(searches) == 1
    monkeypatch.setitem(sys.modules, "a_new_module", types.ModuleType("a_new_module"))
    with limit():
        assert len(searches) == 2


def test_libraries_are_searched_once_if_there_are_none(monkeypatch):
    searches = []

    class NoLibraries:
        lib_controllers = ()

        def __init__(self):
            searches.append(len(sys.modules))

        def select(self, **_):
            return self

    monkeypatch.setattr(machine, "ThreadpoolController", NoLibraries)
    limit = machine._BlasLimit()
    for _ in range(3):
        with limit():
            pass
    assert len(searches) == 1
