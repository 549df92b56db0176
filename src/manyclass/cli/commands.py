"""The command line: ``manyclass train | cv | predict | evaluate | report | info | convert | ...``.

Exit codes: 0, or 2 with one line on stderr (problem, place, remedy). NumPy and scikit-learn are
imported when a command runs.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import sys
import traceback
from collections.abc import Callable, Sequence
from functools import partial

from manyclass.cli import console
from manyclass.cli.console import CommandParser, UsageError, say
from manyclass.cli.cross_validation import CV_EPILOG, cv, cv_options
from manyclass.cli.input.blocks import convert
from manyclass.cli.models import (
    EXPORTED,
    IMPORTED,
    REPORT_EPILOG,
    export,
    export_options,
    import_model,
    import_options,
    info,
    info_options,
    report,
    report_options,
)
from manyclass.cli.options import convert_options
from manyclass.cli.parameter_options import in_flags
from manyclass.cli.predict import (
    FEATURES,
    LABELS,
    calibrate,
    calibrate_options,
    evaluate,
    evaluate_options,
    predict,
    predict_options,
)
from manyclass.cli.train import train
from manyclass.cli.train_options import train_options
from manyclass.distributed import mpiexec
from manyclass.io import atomic
from manyclass.version import __version__

CONVERTED = """\
DATA is read twice, in blocks. All other commands accept OUT instead of DATA. OUT is memory-mapped,
not parsed, and processes share one copy.
"""
CALIBRATED = """\
DATA are held-out rows. The scores are divided by one number, the temperature, which minimizes the
log loss; predictions do not change. predict --probabilities and report then have probabilities.
"""
# Examples in the help of each command.
EXAMPLES = {
    "train": "manyclass train -C 1 --formulation ww train.svm topics.model\n"
    "manyclass train --text message --label topic train.csv topics.model",
    "cv": "manyclass cv --formulation logistic --folds 10 --jobs -1 train.svm",
    "predict": "manyclass predict test.svm topics.model labels.txt",
    "evaluate": "manyclass evaluate test.svm topics.model",
    "calibrate": "manyclass calibrate held_out.svm topics.model calibrated.model",
    "report": "manyclass report topics.model test.svm -o report.html",
    "info": "manyclass info topics.model",
    "export": "manyclass export topics.model topics.onnx",
    "import": "manyclass import liblinear.model topics.model",
    "convert": "manyclass convert train.svm.bz2 train.rows",
    "demo": "manyclass demo",
}
NEXT = "\n"  # example
# Modules loaded before a command begins, while Ctrl-C waits.
ALWAYS = "manyclass.persistence.model_file", "manyclass.io.svmlight"
NEEDS = {
    "evaluate": (*ALWAYS, "manyclass.reports.evaluation"),
    "report": (*ALWAYS, "manyclass.reports.report"),
    "demo": ("manyclass.cli.demo",),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command with these arguments, or those of the process.

    Returns the exit code: 0, 2 after an error, 130 after Ctrl-C, 143 after SIGTERM where it is
    handled.
    """
    try:
        return _main(argv)
    except Exception:
        if mpiexec.started() > 1:  # other ranks may wait for this one
            traceback.print_exc()
            console.exit_by_signal()
        raise


def _main(argv: Sequence[str] | None) -> int:
    """Run a command, and report the errors that users can correct."""
    words: Callable[[str], str] = str
    args: argparse.Namespace | None = None
    try:
        args = _parsed(argv)
        words = partial(in_flags, args=args)
        with console.plain_warnings(words):
            with console.interrupt_held_back():
                for name in args.needs:
                    importlib.import_module(name)
            args.run(args)
            console.flush()
    except KeyboardInterrupt as error:
        code = console.interrupted(error)
        if mpiexec.started() > 1:
            console.exit_by_signal()
        return code
    except BrokenPipeError:
        if args is not None and args.run is _train:
            console.print_error(
                "manyclass: standard output was closed: training ended, and no model is written; "
                "redirect the output to a file, or use --quiet"
            )
        console.discard_stdout()
        return console.BROKEN_PIPE
    except OSError as error:
        return console.failed(f"manyclass: error: {atomic.explain(error)}")
    except MemoryError as error:
        what = words(str(error)) or "not enough memory"
        advice = "" if ";" in what else "; use --dtype float32 or less data"
        return console.failed(f"manyclass: error: out of memory: {what}{advice}")
    except (RuntimeError, ImportError) as error:
        return console.failed(f"manyclass: error: {_lack(error)}")
    except (ValueError, FloatingPointError) as error:
        return console.failed(f"manyclass: error: {words(str(error))}")
    return 0


def _parsed(argv: Sequence[str] | None) -> argparse.Namespace:
    """Return the arguments; under mpiexec only one rank reports an error."""
    try:
        argv = sys.argv[1:] if argv is None else argv
        only = argv[0] if argv and argv[0] in EXAMPLES else None
        args, others = build_parser(only).parse_known_args(argv)
        if others:
            args.parser.refuse(others)
        if args.run is not _train and mpiexec.started() > 1:
            raise UsageError(
                f"manyclass {args.command} runs in one process, and mpiexec started "
                f"{mpiexec.started()}; leave out mpiexec"
            )
    except UsageError as error:
        if not _reports(error):
            raise SystemExit(console.FAILED) from error
        raise
    return args


def _reports(error: UsageError) -> bool:
    """Whether this rank reports an error that is raised on all ranks."""
    if mpiexec.started() == 1:
        return True
    from manyclass.distributed.consensus import agreed, world

    def fail() -> None:
        raise error

    try:
        ranks = world()
    except ValueError:
        return mpiexec.is_first()
    with contextlib.suppress(UsageError):
        agreed(ranks, fail)
    return ranks.rank == getattr(error, "reported_by", 0)


def _lack(error: RuntimeError | ImportError) -> str:
    """Describe an error of missing memory or a missing package; raise other errors."""
    signs = ("new thread", "failed to map", "cannot allocate", "Cannot allocate")
    if any(sign in str(error) for sign in signs):
        return f"out of memory: {error}; raise the limit on it"
    if isinstance(error, ImportError):
        return str(error)
    raise error


def build_parser(only: str | None = None) -> CommandParser:
    """Return the parser of all commands, with the options of one alone or, by default, of all."""
    parser = CommandParser(
        prog="manyclass",
        description="Train linear classifiers for many classes to a proven distance from their "
        "optimum. Data files are tables (CSV, Parquet, Arrow) of numbers or text, or in svmlight / "
        "LIBSVM format: LABEL INDEX:VALUE ...",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"manyclass {__version__}")
    parser.add_argument(
        "--print-completion",
        choices=["bash", "zsh", "tcsh"],
        action=_Completion,
        help="print a script that completes commands and options in this shell",
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    def command(
        name: str,
        run: Callable[[argparse.Namespace], None],
        options: Callable[[CommandParser], None],
        text: str,
        epilog: str = "",
    ) -> None:
        sub: CommandParser = commands.add_parser(
            name,
            help=text,
            description=f"{text[0].upper()}{text[1:]}.",
            epilog=f"example: {EXAMPLES[name].replace(NEXT, NEXT + ' ' * 9)}\n\n{epilog}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        sub.set_defaults(command=name, run=run, needs=NEEDS.get(name, ALWAYS), parser=sub)
        if only in (None, name):
            options(sub)

    command("train", _train, train_options, "train a model on a data file")
    command("cv", cv, cv_options, "compare values of C by cross-validation", CV_EPILOG)
    command("predict", predict, predict_options, "write the predicted label of every row", FEATURES)
    compared = "compare predictions with the labels of a file"
    command("evaluate", evaluate, evaluate_options, compared, LABELS)
    command(
        "calibrate",
        calibrate,
        calibrate_options,
        "calibrate an SVM, so that it predicts probabilities",
        CALIBRATED,
    )
    command("report", report, report_options, "write an HTML report of a model", REPORT_EPILOG)
    command("info", info, info_options, "describe a model file")
    command("export", export, export_options, "write a model for other programs", EXPORTED)
    command("import", import_model, import_options, "import a LIBLINEAR model", IMPORTED)
    converted = "convert a data file to one that is memory-mapped"
    command("convert", convert, convert_options, converted, CONVERTED)
    shown = "train on digits and synthetic text, and compare with LinearSVC"
    command("demo", _demo, lambda _: None, shown)
    return parser


class _Completion(argparse.Action):
    """Print a completion script, written by shtab, and exit."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        _namespace: argparse.Namespace,
        values: str | Sequence[object] | None,
        _option: str | None = None,
    ) -> None:
        try:
            shtab = importlib.import_module("shtab")
        except ImportError:
            raise UsageError(
                f"argument --print-completion: {values} needs a package: pip install shtab"
            ) from None
        say(shtab.complete(parser, values))
        console.flush()
        parser.exit()


def _train(args: argparse.Namespace) -> None:
    """Train in this process, or on all processes started by mpiexec."""
    if mpiexec.started() == 1:
        train(args)
        return
    from manyclass.cli.train_ranks import train_on_ranks

    train_on_ranks(args)


def _demo(_: argparse.Namespace) -> None:
    from manyclass.cli.demo import run_demo

    run_demo(say)
