"""``manyclass info``, ``export``, ``import`` and ``report``: commands on model files."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from manyclass.cli.console import (
    CommandParser,
    Say,
    UsageError,
    count,
    jobs,
    positive_int,
    proven,
    say,
    silent,
)
from manyclass.cli.input.data import is_multilabel, load_for, read_for
from manyclass.cli.input.text import text_option
from manyclass.cli.multilabel import read_known
from manyclass.cli.options import data_option, force_option, reader_options, swap_data_and_model
from manyclass.cli.parameter_options import add_parameter
from manyclass.cli.predict import LABELS, warn_of_unseen
from manyclass.io import atomic

if TYPE_CHECKING:
    from manyclass.multilabel.label_sets import LabelSets
    from manyclass.persistence.composites import Model
    from manyclass.persistence.model_schema import Estimator
    from manyclass.utils.types import Array, Rows, Settings

EXPORTED = """\
liblinear: a text file for LIBLINEAR's predict; labels must be integers. With two classes,
probabilities are the same (-b 1); with more classes there are none, because LIBLINEAR's
probabilities are for one-vs-rest models.
onnx: a graph for onnxruntime, with dense rows as input, or text for models of train --text; needs
skl2onnx (pip install skl2onnx).
"""
IMPORTED = """\
MODEL is a classifier trained by LIBLINEAR, with any of the solvers -s 0 to 7. OUT is a model for
predict, evaluate and info; it has no certificate.
"""
REPORT_EPILOG = f"""\
The report is one HTML file that works offline. With DATA, it shows precision, recall and F1 of
every class, confusions, and calibration if the model has probabilities. It shows the features with
the largest weights if they have names or --top-features is given.

{LABELS}"""


def info_options(parser: CommandParser) -> None:
    """Add the options of ``manyclass info``."""
    parser.add_argument("model", metavar="MODEL", help="model file")
    parser.add_argument("--json", action="store_true", help="print JSON")


def info(args: argparse.Namespace) -> None:
    """Run ``manyclass info``."""
    from manyclass.persistence.model_file import describe_model

    about = describe_model(args.model)
    if args.json:
        say(json.dumps(about))
        return
    say(f"model        {args.model} (format {about['format_version']}, by {about['version']})")
    if about["composite"]:
        say(f"composite    {about['composite']}; what follows is of the first:")
    for step in about["steps"]:
        say(f"step         {_shown(step)}")
    if about["formulation"]:
        say(f"formulation  {about['formulation']}, {about['loss']} loss, C = {about['C']:g}")
    else:
        say(f"loss         {about['loss']}, stochastic steps, alpha = {about['alpha']:g}")
    if about["costs"]:
        say(f"costs        {_shown_costs(about['costs'])}")
    say(f"classes      {about['n_classes']}")
    say(f"features     {about['n_features']}")
    kind = f"sparse {about['dtype']}" if about["sparse"] else about["dtype"]
    share = f"{100 * about['density']:.3g} % non-zero ({about['n_nonzero']})"
    say(f"weights      {kind}, {share}")
    steps = f", {count(about['n_steps'], 'step')}" if "n_steps" in about else ""
    seconds = "" if about["seconds"] is None else f", {about['seconds']:.2f} s"
    say(f"training     {count(about['n_iter'], 'epoch')}{steps}{seconds}")
    proof = about["certificate"]
    if about["temperature"] is not None:
        say(f"temperature  {about['temperature']:.4g}, for probabilities")
    if not about["formulation"]:
        say("certificate  none: stochastic training has no certificate")
        return
    if proof is None:
        imported = "the model was not trained by manyclass"
        why = "small weights were removed after training" if about["n_iter"] else imported
        say(f"certificate  none: {why}")
        return
    say(f"objective    {proof['primal_objective']:.6g}")
    say(f"certificate  {proven(proof['relative_gap'])}")
    say(f"violation    {proof['max_violation']:.2g} at most, of the optimality conditions")


def _shown_costs(costs: Settings) -> str:
    """Return the costs of mistakes in words."""
    if costs["form"] == "table":
        return f"a table, at most {costs['largest']:g}; cost_scaling {costs['scaling']}"
    tree = f"{costs['n_nodes']} nodes, depth {costs['depth']}"
    return f"distances in a taxonomy of {tree}; cost_scaling {costs['scaling']}"


def _shown(step: Settings) -> str:
    """Return a step of a pipeline as one line; it may come from a hostile file."""
    from manyclass.io.tensors import one_line

    params = ", ".join(f"{name}={value!r}" for name, value in step["params"].items())
    columns = step.get("columns", ())
    taken = ", ".join(map(str, columns if isinstance(columns, list) else [columns]))
    return one_line(f"{step['kind']}({params})" + (f" of {taken}" if "columns" in step else ""))


def export_options(parser: CommandParser) -> None:
    """Add the options of ``manyclass export``."""
    add = parser.add_argument
    add("model", metavar="MODEL", help="model file")
    add("out", metavar="OUT", help="file to write; - for stdout")
    add(
        "--format",
        choices=["liblinear", "onnx"],
        help="format of OUT (default: onnx for names that end in .onnx)",
    )
    add(
        "--encode-labels",
        action="store_true",
        help="with liblinear: write the classes as 0, 1, ... in ascending order",
    )
    add(
        "--dtype",
        choices=["float32", "float64"],
        help="with onnx: type of the rows and weights (default float32)",
    )
    force_option(parser)


def import_options(parser: CommandParser) -> None:
    """Add the options of ``manyclass import``."""
    parser.add_argument("model", metavar="MODEL", help="model file of LIBLINEAR")
    parser.add_argument("out", metavar="OUT", help="model file to write")
    force_option(parser)


def export(args: argparse.Namespace) -> None:
    """Run ``manyclass export``."""
    from manyclass.persistence.composites import classifier_of, describe_composite, unwrapped
    from manyclass.persistence.model_file import load_model

    if args.format is None:
        if not args.out.lower().endswith(".onnx"):
            raise UsageError("--format is required unless OUT ends in .onnx")
        args.format = "onnx"
    if args.dtype and args.format != "onnx":
        raise UsageError("argument --dtype: requires --format onnx")
    if args.encode_labels and args.format != "liblinear":
        raise UsageError("argument --encode-labels: requires --format liblinear")
    model = unwrapped(load_model(args.model))
    if composite := describe_composite(model):
        raise UsageError(f"{args.model}: is a {composite}, and only classifiers can be exported")
    if is_multilabel(classifier_of(model)) and args.format == "liblinear":
        raise UsageError(
            f"{args.model}: is a model of label sets, which LIBLINEAR files do not support; use "
            "--format onnx"
        )
    (_export_liblinear if args.format == "liblinear" else _export_onnx)(args, model)
    if Path(args.out).is_file() and not atomic.is_stdout(args.out):
        say(f"saved {args.out}: {Path(args.out).stat().st_size / 1e6:,.3g} MB")


def import_model(args: argparse.Namespace) -> None:
    """Run ``manyclass import``."""
    from manyclass.cli.input.file_kinds import MODEL, check_output
    from manyclass.persistence.liblinear import load_liblinear
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

    from manyclass.cli.input.file_kinds import LIBLINEAR, check_output
    from manyclass.persistence.liblinear import liblinear_text

    if isinstance(model, Pipeline):
        raise UsageError(
            f"{args.model}: is a pipeline, and a LIBLINEAR model is only a classifier; in Python, "
            "transform the rows and export its last step (save_liblinear)"
        )
    check_output(args.out, [args.model], LIBLINEAR, force=args.force, special=True)
    try:
        parts = liblinear_text(model, encode_labels=args.encode_labels)
        with atomic.output(args.out) as file:
            file.writelines(parts)
    except ValueError as error:
        raise ValueError(f"{args.model}: {error}") from error
    log = silent if atomic.is_stdout(args.out) else say
    if model.loss == "log_loss" and len(model.classes_) > 2:
        log("probabilities are left out: LIBLINEAR's are of one-vs-rest models")


def _export_onnx(args: argparse.Namespace, model: Model) -> None:
    from manyclass.cli.input.file_kinds import ONNX, check_output

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


def report_options(parser: CommandParser) -> None:
    """Add the options of ``manyclass report``."""
    add = parser.add_argument
    add("model", metavar="MODEL", help="model file")
    data_option(parser, "labelled rows: ", nargs="?")
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
        help="features to show for each class (default 10 if they have names, else none)",
    )
    add_parameter(parser, "n_jobs", type=jobs, default=1)
    reader_options(parser)
    text_option(parser)
    force_option(parser)


def report(args: argparse.Namespace) -> None:
    """Run ``manyclass report``."""
    from manyclass.cli.input.file_kinds import REPORT, check_output
    from manyclass.reports.report import report_page

    swap_data_and_model(args)
    inputs = [name for name in (args.model, args.data, args.feature_names) if name]
    check_output(args.output, inputs, REPORT, force=args.force, special=True)
    log = silent if atomic.is_stdout(args.output) else say
    model = load_for(args, may_be_multilabel=True)
    names = _feature_names(args, model)
    rows = (None, None) if args.data is None else _read(args, model, log)
    page, found = report_page(
        model,
        *rows,
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
    log(f"wrote {args.output}")


def _read(args: argparse.Namespace, model: Estimator, log: Say) -> tuple[Rows, LabelSets]:
    """Return rows and labels, or label sets."""
    return read_known(args, model, log) if is_multilabel(model) else read_for(args, model, log)


def _origin(args: argparse.Namespace) -> str:
    """Return the names of the files, and the version of the program that wrote the model."""
    from manyclass.io.tensors import read_header

    with Path(args.model).open("rb") as file:
        metadata = read_header(file).metadata
    by = f"format {metadata['format_version']}, by manyclass {metadata.get('version', '?')}"
    judged = f"; evaluated on {args.data}" if args.data else ""
    return f"Model file {args.model} ({by}){judged}"


def _feature_names(args: argparse.Namespace, model: Estimator) -> Array | list[str] | None:
    """Return names from a file or from steps, or the numbers of data files if none are known."""
    from manyclass.reports.report import names_out

    if args.feature_names is not None:
        return _names_in(args.feature_names, model.n_features_in_)
    named = None if args.steps is None else names_out(args.steps)
    if named is not None or args.top_features is None or hasattr(model, "feature_names_in_"):
        return named
    first = 0 if args.zero_based else 1
    return [str(first + i) for i in range(model.n_features_in_)]


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
    return names[:n_features]  # the rest are features that did not occur in training
