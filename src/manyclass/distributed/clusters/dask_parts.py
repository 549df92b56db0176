"""Parts of the rows on the workers of Dask.

Parts are futures, each on one worker. If a worker dies, Dask loads its parts again from the task
graph. W is scattered; sums are added in a tree of tasks. Parts that exceed the memory of a worker
are memory-mapped from its disk (mapped.py).
"""

from __future__ import annotations

import functools
import inspect
import math
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import dataclass
from threading import Semaphore
from typing import TYPE_CHECKING
from zlib import crc32

import distributed
from dask import delayed
from distributed.comm import CommClosedError

from manyclass.arrays.input_arrays import numbered
from manyclass.distributed.clusters.mapped import on_disk
from manyclass.distributed.clusters.part import Answers, ArraySpec, Part, added, answer, called
from manyclass.utils.types import Array, Settings

if TYPE_CHECKING:
    from dask.delayed import Delayed
    from distributed import Client, Future

WAIT, LONGEST_WAIT = 2.0, 64.0  # seconds without a result after which lost workers are searched for
MOST_LOSSES = 10  # lost workers, during one call
SHARE_OF_MEMORY = 0.2  # share of a worker's memory, for parts that compute at the same time
SHARE_IN_MEMORY = 0.3  # of a worker's memory, for the rows of its parts; more are mapped


class Scattered:
    """A value that was scattered to the workers."""

    def __init__(self, value: object) -> None:
        self.value: object = value
        self.future: Future | None = None


@dataclass(frozen=True, slots=True)
class Where:
    """The device of training, and the numbers of the workers of each machine.

    Workers are known by their names, which they keep when they restart. Workers that join later
    have no number; a hash of their names spreads them over the devices.
    """

    device: str
    numbers: dict[object, int]

    def device_of(self, worker: object) -> str:
        """Return the device of a worker, given its name."""
        number = self.numbers.get(worker)
        return numbered(self.device, crc32(str(worker).encode()) if number is None else number)


class DaskParts:
    """Parts as futures on the workers of a client.

    ``blocks`` are X, y and perhaps the weights of each part; ``held`` are rows that workers have
    already; each worker trains on ``device``.
    """

    asks_slowly = False

    def __init__(
        self,
        client: Client,
        blocks: list[tuple[Delayed, ...]],
        held: list[Future],
        device: str | None = None,
    ) -> None:
        self.device = device
        self.client, self.blocks, self.n_parts, self.held = client, blocks, len(blocks), held
        self.parts: list[Future] = []
        self.groups: dict[str, list[int]] = {}  # parts on each worker
        self.sizes: dict[object, int] = {}  # bytes of the parts, by their keys
        self.most: dict[str, float] = {}  # bytes of parts at once on each worker; 0: any
        self.sent: list[Scattered] = []
        self.asked: list[Future] = []  # of the last call

    def load(self) -> None:
        """Load each part on the worker that holds its rows, or evenly on the workers."""
        self._submit()
        self._recover()

    def call(self, method: str, *arguments: object) -> Answers:
        """Call a method of every part."""

        def ask() -> list[Future]:
            at = {number: home for home, group in self.groups.items() for number in group}
            return [
                self.client.submit(called, part, method, *arguments, workers=[at[n]], pure=False)
                for n, part in enumerate(self.parts)
            ]

        return self._answers(ask)

    def send(self, value: object) -> Scattered:
        """Keep a value, which is scattered with the next call."""
        self.sent.append(Scattered(value))
        return self.sent[-1]

    def drop(self, sent: object) -> None:
        """Release a scattered value."""
        assert isinstance(sent, Scattered)
        sent.future = None
        self.sent = [one for one in self.sent if one is not sent]

    def total(
        self, question: str, plan: object, like: Sequence[ArraySpec], given: Sequence[object]
    ) -> list[Array]:
        """Add the results of the parts on each worker, then of pairs of workers, and so on."""

        def ask() -> list[Future]:
            self._scatter()
            told = [one.future if isinstance(one, Scattered) else one for one in (plan, *given)]
            sums = [self._sum_at(home, question, like, told) for home in self.groups]
            homes = list(self.groups)
            while len(sums) > 1:
                pairs = zip(homes[::2], sums[::2], sums[1::2], strict=False)
                rest = sums[len(sums) // 2 * 2 :]
                sums = [self._at(home, added, left, right) for home, left, right in pairs] + rest
                homes = homes[::2]
            return sums

        total: list[Array] = self._answers(ask)[0]
        return total

    def close(self) -> None:
        """Cancel the remaining tasks of this training, and release the parts."""
        futures = self.parts + self.asked
        for sent in self.sent:
            sent.future = None  # a solver that Python has not collected yet may refer to it
        self.parts, self.asked, self.sent = [], [], []
        if futures and self.client.status == "running":
            self.client.cancel(futures, force=True)

    def _submit(self) -> None:
        token = uuid.uuid4().hex
        beside = -(-self.n_parts // max(1, len(self.client.nthreads())))
        where = None if self.device is None else Where(self.device, self._numbers())
        for number, (block, home) in enumerate(zip(self.blocks, self._homes(), strict=True)):
            name = f"manyclass_part-{token}-{number}"
            part = delayed(loaded, pure=False)(beside, where, number, *block, dask_key_name=name)
            loose = {"workers": [home], "allow_other_workers": True} if home else {}
            self.parts.append(self.client.compute(part, **loose))

    def _numbers(self) -> dict[object, int]:
        """Return the number of each worker on its machine, by its name."""
        numbers: dict[object, int] = {}
        hosts: Counter[str] = Counter()
        for _, worker in sorted(workers_of(self.client).items()):
            numbers[worker["name"]] = hosts[worker["host"]]
            hosts[worker["host"]] += 1
        return numbers

    def _homes(self) -> list[str]:
        """Return the worker of each part: the worker with its rows, or else an even distribution.

        "" if there are no workers yet: an adaptive cluster starts them when it has tasks.
        """
        workers = sorted(self.client.nthreads()) or [""]
        homes = [workers[i * len(workers) // self.n_parts] for i in range(self.n_parts)]
        # Keys of chunks and partitions are (name, number, ...).
        numbers = {future.key[1]: future.key for future in self.held if len(future.key) > 1}
        if len(self.held) == len(numbers) == self.n_parts:
            where = self.client.who_has(self.held)
            homes = [min(where.get(numbers.get(i)) or [home]) for i, home in enumerate(homes)]
        return homes

    def _find(self) -> None:
        """Wait until all parts are loaded, and find their workers."""
        distributed.wait(self.parts)
        where = self.client.who_has(self.parts)
        self.groups = {}
        for number, part in enumerate(self.parts):
            if part.status == "error":
                error = part.exception()
                error.add_note(f"part {number} could not be loaded")
                raise error
            if part.status != "finished":
                part.result()
            homes = where.get(part.key)
            if not homes:
                raise CancelledError(f"part {number} is lost")
            self.groups.setdefault(min(homes), []).append(number)
        self.sizes = self.client.nbytes([part.key for part in self.parts], summary=False)
        about = workers_of(self.client)
        limits = {home: about.get(home, {}).get("memory_limit") or 0 for home in self.groups}
        self.most = {home: SHARE_OF_MEMORY * limit for home, limit in limits.items()}

    def _answers(self, ask: Callable[[], list[Future]]) -> Answers:
        """Submit tasks and return their results; submit them again if workers are lost."""
        for _ in range(MOST_LOSSES):
            try:
                self.asked = ask()
                return self._results(self.asked)
            except (CancelledError, OSError):  # OSError: no answer from a worker
                self.client.cancel(self.asked, force=True)
                self._recover()
        raise RuntimeError(
            f"workers were lost {MOST_LOSSES} times while they computed one sum; "
            "they may lack memory: use smaller chunks or more workers"
        )

    def _results(self, futures: list[Future]) -> Answers:
        """Wait for tasks; raise CancelledError if a worker that has parts is lost."""
        # distributed.wait raises where time is up: its traceback keeps what callers refer to.
        ended, n_left, patience = Semaphore(0), len(futures), WAIT
        for future in futures:
            future.add_done_callback(lambda _: ended.release())
        while True:
            while n_left and ended.acquire(timeout=patience):
                n_left -= 1
            if not n_left:
                with suppress(distributed.TimeoutError):
                    return [future.result(timeout=patience) for future in futures]
            patience = min(2 * patience, LONGEST_WAIT)
            workers = self.client.nthreads()
            if not all(home in workers for home in self.groups):
                raise CancelledError("a worker is lost")

    def _recover(self) -> None:
        """Find the parts; Dask loads lost parts again from their task graph."""
        cause: Exception | None = None
        for _ in range(MOST_LOSSES):
            try:
                if any(part.status in ("cancelled", "lost") for part in self.parts):
                    self.parts, self.held = [], []  # the scheduler has restarted: no graph
                    self._submit()
                self._find()
            except (CancelledError, CommClosedError) as error:
                cause = error
                continue
            for sent in self.sent:
                sent.future = None
            return
        raise RuntimeError(
            "a worker died, and its chunks cannot be loaded again, because they were scattered; "
            "make X from files (dask.array.from_zarr, dask.dataframe.read_parquet)"
        ) from cause

    def _sum_at(
        self, home: str, question: str, like: Sequence[ArraySpec], told: Sequence[object]
    ) -> Future:
        """Submit the tasks that add the parts of a worker, as many at once as its memory allows."""
        sums = [
            self._at(home, answer, [self.parts[n] for n in some], question, like, *told)
            for some in self._held_at_once(home)
        ]
        return functools.reduce(lambda one, other: self._at(home, added, one, other), sums)

    def _held_at_once(self, home: str) -> list[list[int]]:
        """Divide the parts of a worker into lists that fit into its share of the memory."""
        most = self.most.get(home) or math.inf
        pieces: list[list[int]] = []
        size = 0
        for number in self.groups[home]:
            more = self.sizes.get(self.parts[number].key, 0)
            if not pieces or size + more > most:
                pieces.append([])
                size = 0
            pieces[-1].append(number)
            size += more
        return pieces

    def _at(self, home: str, function: Callable[..., object], *arguments: object) -> Future:
        """Submit a task to the worker that holds its arguments."""
        return self.client.submit(function, *arguments, workers=[home], pure=False)

    def _scatter(self) -> None:
        """Scatter values to the workers with parts that do not have them yet."""
        homes = list(self.groups)
        for sent in self.sent:
            if sent.future is None:
                at = {"workers": homes, "broadcast": True, "hash": False}
                sent.future = self.client.scatter(sent.value, **at)


def workers_of(client: Client) -> Settings:
    """Return the facts of all workers; some versions of Dask list only five by default."""
    asks = "n_workers" in inspect.signature(client.scheduler_info).parameters
    about = client.scheduler_info(n_workers=-1) if asks else client.scheduler_info()
    workers: Settings = about["workers"]
    return workers


def loaded(n_beside: int, where: Where | None, number: int, *rows: object) -> Part:
    """Return a part; memory-mapped from disk if all parts of this worker exceed its memory."""
    worker = distributed.get_worker()
    part = Part(number, *rows, device=None if where is None else where.device_of(worker.name))
    limit = worker.memory_manager.memory_limit
    if limit and n_beside * part.__sizeof__() > SHARE_IN_MEMORY * limit:
        return on_disk(part, worker.local_directory)
    return part
