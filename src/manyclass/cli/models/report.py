"""``manyclass report``: write an HTML report of a model, and of its predictions on data."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from manyclass.cli.console import Parser, UsageError, be_quiet, positive_int, say
from manyclass.cli.data import load_for, read_for
from manyclass.cli.models.evaluate import LABELS, warn_of_unseen
from manyclass.cli.options import file_or_stdin, force_option, reader_options
from manyclass.io import atomic

if TYPE_CHECKING:
    from manyclass.persistence.model_schema import Estimator
    from manyclass.utils.types import Array

REPORT_EPILOG = f"""\
The page is one HTML file, which needs no network. With DATA it tells precision, recall and F1 of
every class, confusions, and calibration where the model has probabilities. It shows the features of
the largest weights where they have names, or where --top-features asks for them.

{LABELS}"""


def report_options(parser: Parser) -> None:
    """Add the options of ``manyclass report``."""
    add = parser.add_argument
    add("model", metavar="MODEL", help="model file")
    add(
        "data",
        metavar="DATA",
        nargs="?",
        type=file_or_stdin,
        help="labelled rows: svmlight file, plain or compressed, or one of convert; - for standard "
        "input",
    )
    add("-o", "--output", metavar="OUT", required=True, help="HTML file to write; - for stdout")
    add(
        "--feature-names",
        metavar="FILE",
        help="names of the features in their order, one per line, in UTF-8",
    )
    add(
        "--top-features",
        type=positive_int,
        metavar="N",
        help="features to show for each class (default 10 where they have names, else none)",
    )
    reader_options(parser)
    force_option(parser)


def report(args: argparse.Namespace) -> None:
    """Run ``manyclass report``."""
    from manyclass.cli.file_kinds import REPORT, check_output
    from manyclass.reports.report import report_page

    inputs = [name for name in (args.model, args.data, args.feature_names) if name]
    check_output(args.output, inputs, REPORT, force=args.force, special=True)
    tell = be_quiet if atomic.is_stdout(args.output) else say
    model = load_for(args)
    names = _feature_names(args, model)
    X, y = (None, None) if args.data is None else read_for(args, model, tell)
    page, found = report_page(
        model,
        X,
        y,
        feature_names=names,
        top_features=args.top_features,
        title=f"Model report: {Path(args.model).name}",
        origin=_origin(args),
        steps=args.steps,
    )
    if found is not None:
        warn_of_unseen(args.data, found.codes.n_unseen)
    with atomic.output(args.output) as file:
        file.write(page)
    tell(f"wrote {args.output}")


def _origin(args: argparse.Namespace) -> str:
    """Tell the files, and what wrote the model."""
    from manyclass.io.tensors import read_about

    with Path(args.model).open("rb") as file:
        metadata = read_about(file).metadata
    by = f"format {metadata['format_version']}, by manyclass {metadata.get('version', '?')}"
    judged = f"; judged on {args.data}" if args.data else ""
    return f"Model file {args.model} ({by}){judged}"


def _feature_names(args: argparse.Namespace, model: Estimator) -> Array | list[str] | None:
    """Return names from a file or from steps, or the numbers of data files if none are known."""
    from manyclass.reports.report import names_out
    from manyclass.reports.sections import numbered_names

    if args.feature_names is not None:
        return _names_in(args.feature_names, model.n_features_in_)
    named = None if args.steps is None else names_out(args.steps)
    if named is not None or args.top_features is None or hasattr(model, "feature_names_in_"):
        return named
    return numbered_names(model.n_features_in_, first=0 if args.zero_based else 1)


def _names_in(path: str, n_features: int) -> list[str]:
    try:
        with atomic.naming(path):
            names = Path(path).read_text("utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: is not in UTF-8 (byte {error.start}); convert it") from None
    if len(names) < n_features:
        raise UsageError(
            f"argument --feature-names: {path} has {len(names)} lines, and the model "
            f"{n_features} features; give one name per line"
        )
    return names[:n_features]  # further ones are of features that training has not seen
