"""Parts of the rows in actors of Ray.

An actor holds the parts of some objects, on the node that has them. If an actor dies, Ray creates
it again from the same objects, and repeats the call. W is an object in the store of each node; sums
are added in a tree of calls.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from manyclass.distributed.clusters.part import (
    Answers,
    ArraySpec,
    Part,
    Plan,
    Read,
    added,
    answer,
    called,
)
from manyclass.utils.machine import effective_n_jobs
from manyclass.utils.types import Array

MOST_LOSSES = 10  # of an actor
OF_GPUS = ("cuda", "xpu")  # devices that Ray counts as GPUs, and reserves for actors


class PartServer:
    """The parts of one actor, with as many objects for each, which ``read`` turns into rows."""

    def __init__(
        self, numbers: list[int], read: Read, device: str | None, *objects: object
    ) -> None:
        size = len(objects) // len(numbers)
        cut = [objects[i * size : (i + 1) * size] for i in range(len(numbers))]
        self.parts = [
            Part(n, *own, read=read, device=device) for n, own in zip(numbers, cut, strict=True)
        ]

    def call(self, method: str, *arguments: object) -> Answers:
        """Call a method of its parts."""
        return [called(part, method, *arguments) for part in self.parts]

    def answer(
        self, question: str, like: Sequence[ArraySpec], plan: Plan, *given: object
    ) -> list[Array]:
        """Return the sums of its parts."""
        return answer(self.parts, question, like, plan, *given)

    def added(self, left: list[Array], right: list[Array]) -> list[Array]:
        """Return the sums of more parts."""
        return added(left, right)


class RayParts:
    """Parts in actors, each of which reserves a GPU if ``device`` is one.

    ``blocks`` are the objects of each part, which ``read`` turns into X, y and perhaps weights.
    """

    asks_slowly = False

    def __init__(
        self,
        blocks: list[tuple[ray.ObjectRef, ...]],
        read: Read,
        n_jobs: int | None,
        device: str | None = None,
    ) -> None:
        self.blocks, self.read, self.n_parts = blocks, read, len(blocks)
        self.n_jobs, self.device = n_jobs, device
        if device is not None and device.startswith(OF_GPUS) and ":" in device:
            kind = device.partition(":")[0]
            raise ValueError(
                f"device={device!r}: Ray shows each actor only the GPU that it reserves; give "
                f"device={kind!r}"
            )
        self.n_gpus = int(device is not None and device.startswith(OF_GPUS))  # of an actor
        self.groups: list[list[int]] = []  # parts of each actor
        self.actors: list[ray.actor.ActorHandle] = []

    def load(self) -> None:
        """Create the actors, each on the node that has its objects."""
        make = ray.remote(PartServer)
        for node, numbers in self._groups():
            where = NodeAffinitySchedulingStrategy(node_id=node, soft=True)
            again = {"max_restarts": MOST_LOSSES, "max_task_retries": MOST_LOSSES}
            needs = {"num_cpus": 0, "num_gpus": self.n_gpus}
            options = make.options(scheduling_strategy=where, **needs, **again)
            objects = [one for number in numbers for one in self.blocks[number]]
            self.actors.append(options.remote(numbers, self.read, self.device, *objects))
            self.groups.append(numbers)

    def call(self, method: str, *arguments: object) -> Answers:
        """Call a method of every part."""
        found: Answers = [None] * self.n_parts
        answers = ray.get([actor.call.remote(method, *arguments) for actor in self.actors])
        for numbers, results in zip(self.groups, answers, strict=True):
            for number, result in zip(numbers, results, strict=True):
                found[number] = result
        return found

    def send(self, value: object) -> object:
        """Put a value into the object store."""
        return ray.put(value)

    def drop(self, sent: object) -> None:
        """Do nothing, as Ray counts references."""

    def total(
        self, question: str, plan: object, like: Sequence[ArraySpec], given: Sequence[object]
    ) -> list[Array]:
        """Add the sums of two actors on one of them, and so on."""
        actors = self.actors
        sums = [actor.answer.remote(question, like, plan, *given) for actor in actors]
        while len(sums) > 1:
            pairs = zip(actors[::2], sums[::2], sums[1::2], strict=False)
            rest = sums[len(sums) // 2 * 2 :]
            sums = [actor.added.remote(left, right) for actor, left, right in pairs] + rest
            actors = actors[::2]
        total: list[Array] = ray.get(sums[0])
        return total

    def close(self) -> None:
        """End the actors."""
        for actor in self.actors:
            ray.kill(actor)
        self.actors, self.groups = [], []

    def _groups(self) -> list[tuple[str, list[int]]]:
        """Return the parts of each actor, and its node, where the first object of its parts is."""
        kind, each = ("GPU", 1) if self.n_gpus else ("CPU", effective_n_jobs(self.n_jobs))
        slots = {
            node["NodeID"]: max(1, int(node["Resources"][kind]) // each)
            for node in sorted(ray.nodes(), key=lambda node: str(node["NodeID"]))
            if node["Alive"] and node["Resources"].get(kind, 0) >= 1
        }
        if not slots:
            raise RuntimeError(f"no node of the Ray cluster has a {kind}")
        spread = [node for node, n in slots.items() for _ in range(n)]
        ray.wait([block[0] for block in self.blocks], num_returns=self.n_parts, fetch_local=False)
        where = ray.experimental.get_object_locations([block[0] for block in self.blocks])
        at: dict[str, list[int]] = {}
        for number, block in enumerate(self.blocks):
            held = [n for n in where[block[0]]["node_ids"] if n in slots]
            home = held[0] if held else spread[number * len(spread) // self.n_parts]
            at.setdefault(home, []).append(number)
        groups = []
        for node, numbers in at.items():
            n = min(slots[node], len(numbers))
            ends = [i * len(numbers) // n for i in range(n + 1)]
            groups += [(node, numbers[a:b]) for a, b in itertools.pairwise(ends)]
        return sorted(groups, key=lambda group: group[1])
