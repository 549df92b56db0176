"""Kinds of output files: a command overwrites its own kind and empty files, others with --force."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from manyclass.cli import console
from manyclass.cli.console import UsageError
from manyclass.io import atomic
from manyclass.io.tensors import read_header

LONGEST_LINE = 1 << 24  # bytes
INTEGER = re.compile(rb"[+-]?[0-9]+")
SHARE = re.compile(rb"[0-9]*\.?[0-9]+(e-[0-9]+)?")


class FileKind(NamedTuple):
    """A kind of file, with a test for files that are not empty."""

    name: str
    matches: Callable[[Path], bool]


def check_output(
    name: str, inputs: Sequence[str], kind: FileKind, *, force: bool, special: bool = False
) -> None:
    """Refuse an output that cannot be written or would overwrite a different kind of file.

    `inputs` must not be overwritten, and a file of a different kind only with `force`. With
    `special`, the output may be a device or a pipe.
    """
    if special and atomic.is_stdout(name):
        return
    if name == "-":
        raise UsageError(f"-: a {kind.name} goes to a file, not to standard output; give a name")
    console.check_target(name, inputs, special=special)
    path = Path(name)
    if force or not path.is_file() or path.stat().st_size == 0:
        return
    with atomic.naming(f"cannot check whether {name} may be overwritten"):
        same = kind.matches(path)
    if not same:
        raise UsageError(
            f"{name}: is not a {kind.name} and would be overwritten; choose another name, or give "
            "--force"
        )


def labels_of(classes: Iterable[object]) -> FileKind:
    """Return the kind of files that predictions of these classes are, or of numbered classes."""
    names = {str(name).encode() for name in classes}
    return FileKind("file of predicted labels", partial(_all_lines, partial(_is_of_labels, names)))


def label_sets_of(names: Iterable[str], separator: str) -> FileKind:
    """Return the kind of files that predictions of sets of these labels are."""
    known, mark = {name.encode() for name in names}, separator.encode()
    return FileKind("file of predicted sets", partial(_all_lines, partial(_is_set, known, mark)))


def _all_lines(test: Callable[[bytes], bool], path: Path) -> bool:
    with path.open("rb") as file:
        return all(map(test, iter(partial(file.readline, LONGEST_LINE), b"")))


def _is_set(names: set[bytes], separator: bytes, line: bytes) -> bool:
    return line == b"\n" or names.issuperset(line.rstrip(b"\n").split(separator))


def _has_format(format_: str, path: Path) -> bool:
    with path.open("rb") as file:
        try:
            return read_header(file).metadata.get("format") == format_
        except ValueError:
            return False


MODEL = FileKind("manyclass model", partial(_has_format, "manyclass"))
STATE = FileKind("state file", partial(_has_format, "manyclass state"))
DATA = FileKind("converted data file", partial(_has_format, "manyclass-data"))


def _begins(pattern: re.Pattern[bytes], path: Path) -> bool:
    with path.open("rb") as file:
        return pattern.match(file.read(64)) is not None


LIBLINEAR = FileKind("LIBLINEAR model", partial(_begins, re.compile(rb"solver_type [A-Z]")))
# Protocol buffers: the version (field 1), the producer (field 2).
ONNX = FileKind(
    "model in ONNX format", partial(_begins, re.compile(rb"\x08[\x01-\x7f]\x12", re.DOTALL))
)


def _is_report(path: Path) -> bool:
    from manyclass.reports.html import BEGINNING

    with path.open("rb") as file:
        return file.read(len(BEGINNING)) == BEGINNING.encode()


REPORT = FileKind("report of manyclass", _is_report)


def _is_of_labels(classes: set[bytes], line: bytes) -> bool:
    """Whether a line holds labels; INDEX:VALUE is not a label."""
    fields = line.removesuffix(b"\n").split(b"\t")
    if classes.issuperset(fields):
        return True
    if len(fields) == 1:  # labels of a different model
        return INTEGER.fullmatch(fields[0]) is not None
    return classes.issuperset(fields[::2]) and all(map(SHARE.fullmatch, fields[1::2]))
