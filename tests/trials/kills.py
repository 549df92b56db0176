"""Trial: commands are killed (SIGKILL) at random moments, and begun again.

Checks that what was finished before a kill is whole after it, and that after the next success
nothing is left behind. Prints one line, and ends with 1 if a check failed.

    python -m tests.trials.kills --kills 50 --seconds 240 --seed 0
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.datasets import dump_svmlight_file

from manyclass import MulticlassSVC, load_model, save_model
from manyclass.cli import commands as cli
from manyclass.datasets.synthetic import make_text_corpus
from manyclass.training.checkpoint_file import read_checkpoint
from manyclass.training.checkpoints import found_in

STARTED = "started"
# Works again and again until it is killed, so that a random moment hits the work, not the imports.
WORKER = """
import sys, time
from manyclass import cli, load_model, save_model
from manyclass.io import atomic
if sys.argv[1] == "named":
    atomic._unnamed = lambda *_: None
what, arguments = sys.argv[2], sys.argv[3:]
model = load_model("big") if what == "save" else None
print("started", flush=True)
while True:
    if what == "save":
        save_model(*arguments, model)
    elif cli.main(arguments):
        sys.exit(1)
    if what == "once":
        time.sleep(60)
"""
MOST_SECONDS = 1.0  # until a kill
TRAIN = ["train", "text", "model", "--quiet", "--dtype", "float64", "--tol"]
CONVERT = ["convert", "text", "data", "--quiet"]
PREDICT = ["predict", "data", "judge", "labels", "--top-k", "20"]
SAVES_ALWAYS = ["--checkpoint-minutes", "1e-9"]


class FailedError(Exception):
    """A check failed."""


def expect(ok: bool, what: str) -> None:
    if not ok:
        raise FailedError(what)


class Trial:
    """One folder in which work is killed."""

    def __init__(self, rng: random.Random) -> None:
        self.rng, self.kills, self.left = rng, 0, 0

    def kill(self, what: str, *arguments: str) -> None:
        """Start work, kill it at a random moment."""
        mode = self.rng.choice(["unnamed", "named"])
        command = [sys.executable, "-c", WORKER, mode, what, *arguments]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        with subprocess.Popen(command, **pipes) as process:
            expect(process.stdout.readline().strip() == STARTED, "the work does not start")
            time.sleep(MOST_SECONDS * self.rng.random() ** 2)
            process.kill()
            _, told = process.communicate()
        expect(process.returncode == -9, f"{what} {arguments} ended by itself: {told}")
        self.kills += 1
        self.left += len(hidden("."))

    def replaced(self, what: str, target: str, again: Callable[[], int], *arguments: str) -> None:
        """Kill what replaces a file by its equal, then let it succeed."""
        before = Path(target).read_bytes()
        self.kill(what, *arguments)
        expect(Path(target).read_bytes() == before, f"{target} is damaged by a kill")
        expect(not again(), f"{what} fails after a kill")
        expect(Path(target).read_bytes() == before, f"{target} is another after a kill")
        expect(not hidden("."), f"{what} leaves {hidden('.')}")

    def commands(self, command: list[str], target: str) -> None:
        self.replaced("command", target, lambda: cli.main(command), *command)

    def saves(self) -> None:
        model = load_model("big")
        self.replaced("save", "saved", lambda: save_model("saved", model) or 0, "saved")

    def trainings(self) -> None:
        """Kill a training several times, each time from its last checkpoint on; then finish it."""
        folder, epochs = Path(f"checkpoints-{self.kills}"), -1
        before = Path("model").read_bytes()
        for _ in range(3):
            place = "--resume" if folder.is_dir() and found_in(folder) else "--checkpoint"
            self.kill("once", *TRAIN, "1e-10", place, str(folder), *SAVES_ALWAYS)
            self.left += len(hidden(folder)) if folder.is_dir() else 0
            reached = n_epochs(folder)
            expect(reached >= epochs, f"{epochs} epochs were saved, {reached} are left")
            epochs = reached
        same = Path("model").read_bytes() == before
        expect(same or load_model("model").certificate_ is not None, "the model is damaged")
        place = "--resume" if found_in(folder) else "--checkpoint"
        expect(not cli.main([*TRAIN, "1e-3", place, str(folder)]), "training does not go on")
        expect(load_model("model").certificate_.relative_gap <= 1e-3, "the proof is lost")
        expect(len(found_in(folder)) <= 2, "old checkpoints stay")
        others = {path.name for path in folder.iterdir()} - {p.name for p in found_in(folder)}
        expect(not others | set(hidden(".")), f"training leaves {others} {hidden('.')}")


def hidden(folder: str | Path) -> list[str]:
    return [path.name for path in Path(folder).iterdir() if path.name.startswith(".")]


def n_epochs(folder: Path) -> int:
    """Epochs in the newest checkpoint, which must be whole, as all others; -1 if there is none."""
    if not folder.is_dir():
        return -1
    found = [read_checkpoint(path)[0] for path in found_in(folder)]
    return len(found[0]["history"]) if found else -1


def prepare() -> None:
    X, y = make_text_corpus(3000, 3000, 50, label_noise=0.3, random_state=0)
    dump_svmlight_file(X, y, "text", zero_based=False)
    big = MulticlassSVC(tol=1.0, random_state=0).fit(np.eye(100, 20_000), np.arange(100))
    save_model("big", big)
    save_model("saved", big)
    judge = [word.replace("model", "judge") for word in TRAIN]
    for command in ([*TRAIN, "1e-2"], [*judge, "1e-2"], CONVERT, PREDICT):
        expect(not cli.main(command), f"{command} fails")


def run(kills: int, seconds: float, seed: int) -> Trial:
    trial, began = Trial(random.Random(seed)), time.monotonic()
    prepare()
    turns = itertools.cycle(
        [
            trial.saves,
            lambda: trial.commands(CONVERT, "data"),
            trial.trainings,
            lambda: trial.commands(PREDICT, "labels"),
        ]
    )
    while trial.kills < kills and time.monotonic() - began < seconds:
        next(turns)()
    return trial


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=240.0, help="at most, roughly")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            trial = run(args.kills, args.seconds, args.seed)
        except FailedError as error:
            print(f"kills: FAILED (seed {args.seed}): {error}")
            return 1
        finally:
            os.chdir("/")
    print(
        f"kills: {trial.kills} kills in {time.monotonic() - began:.0f} s (seed {args.seed}): "
        f"nothing finished was lost; {trial.left} unfinished files lay there after a kill, "
        "0 after the next success"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
