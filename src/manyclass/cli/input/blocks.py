"""Data of a command in blocks of rows: ``manyclass convert``, and training out of core."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from manyclass.cli.console import Say, UsageError, count, say, shows_progress, silent
from manyclass.cli.input.data import check_converted, explain_bus_errors, format_options
from manyclass.cli.input.tables import convert_table, is_table, refuse_table
from manyclass.io import atomic

if TYPE_CHECKING:
    from manyclass.io.stored_rows import StoredBlocks
    from manyclass.io.svmlight_stream import SvmlightBlocks

B = TypeVar("B", bound="SvmlightBlocks | StoredBlocks")
# Bytes of text per compressed byte, and the share of the memory above which data are read in
# blocks.
EXPANSION = 6
SHARE_OF_MEMORY = 0.2
# Bytes of text in a block: enough rows to shuffle, small enough for any memory.
BLOCK_BYTES = 1 << 24
BLOCK_VALUES = BLOCK_BYTES >> 3  # values in a block of converted data


def convert(args: argparse.Namespace) -> None:
    """Run ``manyclass convert``: convert a text file to one that is memory-mapped."""
    from manyclass.cli.input.file_kinds import DATA, check_output
    from manyclass.io.dataset_writer import save_blocks
    from manyclass.io.file_signatures import looks_like_data

    log = silent if args.quiet else say
    if args.data == "-":
        raise UsageError(
            "argument DATA: convert reads DATA twice, so it must be a file, not standard input"
        )
    check_output(args.out, [args.data], DATA, force=args.force)
    if is_table(args):
        convert_table(args, log)
        return
    if looks_like_data(args.data):
        raise ValueError(f"{args.data}: is not text; converted files need no second conversion")
    blocks = _inspected(args, log, _text_blocks)
    began = time.perf_counter()
    save_blocks(args.out, blocks, shows_progress(args))
    size = Path(args.out).stat().st_size
    log(f"saved {args.out} in {time.perf_counter() - began:.2f} s: {size / 1e6:,.3g} MB")


def may_not_fit(path: str) -> bool:
    """Whether the rows of a file may need more than a large part of the memory."""
    from manyclass.utils.machine import available_memory

    file = Path(path)
    if not file.is_file():
        return False
    with file.open("rb") as opened:
        packed = opened.read(3) in (b"\x1f\x8b\x08", b"BZh", b"\xfd7z")
    size = file.stat().st_size * (EXPANSION if packed else 1)
    return size > SHARE_OF_MEMORY * available_memory()


def read_in_blocks(args: argparse.Namespace, log: Say) -> SvmlightBlocks | StoredBlocks:
    """Return the data file of a command in blocks."""
    refuse_table(args)
    return _inspected(args, log, _blocks)


def _inspected(
    args: argparse.Namespace, log: Say, blocks_of: Callable[[argparse.Namespace], B]
) -> B:
    """Return the data file of a command in blocks, and log its size."""
    began = time.perf_counter()
    with atomic.naming(args.data):
        blocks = blocks_of(args)
    seconds = time.perf_counter() - began
    kind = "labels" if getattr(args, "multilabel", False) else "classes"
    log(
        f"looked through {args.data} in {seconds:.2f} s: {count(blocks.n_rows, 'row')}, "
        f"{count(blocks.n_features, 'feature')}, {len(blocks.classes)} {kind}, "
        f"{count(blocks.n_nonzero, 'value')}; reading blocks of up to "
        f"{count(blocks.largest_block, 'row')}"
    )
    return blocks


def _blocks(args: argparse.Namespace) -> SvmlightBlocks | StoredBlocks:
    from manyclass.io.dataset_file import open_data
    from manyclass.io.file_signatures import looks_like_data
    from manyclass.io.stored_rows import StoredBlocks

    if looks_like_data(args.data):
        check_converted(args)
        explain_bus_errors(args.data)
        rows = open_data(args.data).wanted(args.data, args.n_features, None)
        return StoredBlocks(rows, BLOCK_VALUES)
    return _text_blocks(args)


def _text_blocks(args: argparse.Namespace) -> SvmlightBlocks:
    from manyclass.io.svmlight_stream import SvmlightBlocks

    return SvmlightBlocks(
        args.data,
        args.n_features,
        args.dtype,
        args.jobs,
        block_bytes=BLOCK_BYTES,
        verbose=shows_progress(args),
        multilabel=getattr(args, "multilabel", False),
        **format_options(args),
    )
