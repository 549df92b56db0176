"""``manyclass export`` and ``manyclass import``: models of other programs."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from manyclass.cli.console import Parser, UsageError, be_quiet, count, say
from manyclass.cli.options import force_option
from manyclass.io import atomic

if TYPE_CHECKING:
    from manyclass.persistence.pipeline_schema import Model

EXPORTED = """\
liblinear: text that LIBLINEAR's predict reads; labels must be integers. With two classes it gives
the same probabilities (-b 1), with more it gives none, as its own are of one-vs-rest models.
onnx: a graph for onnxruntime, of dense rows; needs pip install 'manyclass[onnx]'.
"""
IMPORTED = """\
MODEL is a classifier of LIBLINEAR (train), of any of its solvers -s 0 to 7. OUT takes the place of
any other model, in predict, evaluate and info; nothing is proven about it.
"""


def export_options(parser: Parser) -> None:
    """Add the options of ``manyclass export``."""
    add = parser.add_argument
    add("model", metavar="MODEL", help="model file")
    add("out", metavar="OUT", help="file to write; - for stdout")
    add("--format", choices=["liblinear", "onnx"], required=True, help="what OUT is to be")
    add(
        "--number-labels",
        action="store_true",
        help="with liblinear: write the classes as 0, 1, ... in ascending order",
    )
    add(
        "--dtype",
        choices=["float32", "float64"],
        help="with onnx: type of the rows and weights (default float32)",
    )
    force_option(parser)


def import_options(parser: Parser) -> None:
    """Add the options of ``manyclass import``."""
    parser.add_argument("model", metavar="MODEL", help="model file of LIBLINEAR")
    parser.add_argument("out", metavar="OUT", help="model file to write")
    force_option(parser)


def export(args: argparse.Namespace) -> None:
    """Run ``manyclass export``."""
    from manyclass.persistence.model_file import load_model

    if args.dtype and args.format != "onnx":
        raise UsageError("argument --dtype: goes with --format onnx")
    if args.number_labels and args.format != "liblinear":
        raise UsageError("argument --number-labels: goes with --format liblinear")
    model = load_model(args.model)
    (_export_liblinear if args.format == "liblinear" else _export_onnx)(args, model)
    if Path(args.out).is_file() and not atomic.is_stdout(args.out):
        say(f"saved {args.out}: {Path(args.out).stat().st_size / 1e6:,.3g} MB")


def import_model(args: argparse.Namespace) -> None:
    """Run ``manyclass import``."""
    from manyclass.cli.file_kinds import MODEL, check_output
    from manyclass.persistence.liblinear_format import load_liblinear
    from manyclass.persistence.model_file import save_model

    if args.model == "-":
        raise UsageError("argument MODEL: import reads a file, not standard input; give its name")
    check_output(args.out, [args.model], MODEL, force=args.force)
    model = load_liblinear(args.model)
    save_model(args.out, model)
    shape = f"{len(model.classes_)} classes, {count(model.n_features_in_, 'feature')}"
    say(f"saved {args.out}: {type(model).__name__}, {shape}")


def _export_liblinear(args: argparse.Namespace, model: Model) -> None:
    from sklearn.pipeline import Pipeline

    from manyclass.cli.file_kinds import LIBLINEAR, check_output
    from manyclass.persistence.liblinear_format import liblinear_text

    if isinstance(model, Pipeline):
        raise UsageError(
            f"{args.model}: is a pipeline, and a LIBLINEAR model is a classifier alone; in Python, "
            "transform the rows and export its last step (save_liblinear)"
        )
    check_output(args.out, [args.model], LIBLINEAR, force=args.force, special=True)
    try:
        parts = liblinear_text(model, number_labels=args.number_labels)
        with atomic.output(args.out) as file:
            file.writelines(parts)
    except ValueError as error:
        raise ValueError(f"{args.model}: {error}") from error
    tell = be_quiet if atomic.is_stdout(args.out) else say
    if model.loss == "log_loss" and len(model.classes_) > 2:
        tell("probabilities are left out: LIBLINEAR's are of one-vs-rest models")


def _export_onnx(args: argparse.Namespace, model: Model) -> None:
    from manyclass.cli.file_kinds import ONNX, check_output

    check_output(args.out, [args.model], ONNX, force=args.force, special=True)
    try:
        from manyclass.onnx import to_onnx
    except ImportError as error:
        raise UsageError(f"argument --format onnx: {error}") from error
    try:
        content = to_onnx(model, args.dtype or "float32").SerializeToString()
    except ValueError as error:
        raise ValueError(f"{args.model}: {error}") from error
    with atomic.output(args.out) as file:
        file.write(content)
