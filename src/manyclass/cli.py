"""The command line: ``manyclass train | predict | evaluate | info | demo``.

Every command ends with exit code 0, or 2 and one line on stderr that says what is wrong, where, and
what to do. What needs NumPy or scikit-learn is imported inside the commands.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import json
import math
import os
import re
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NoReturn

from manyclass.version import __version__

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from manyclass.estimators import MulticlassSVC

FAILED, INTERRUPTED, BROKEN_PIPE = 2, 130, 141  # the latter two as shells count signals
# Lines of predictions put together at a time.
LINES_AT_A_TIME = 1 << 16
FEATURES = "Features that the model was not trained on are ignored."
LABELS = f"""\
{FEATURES}
How labels are compared: when the file's labels and the model's classes are both numbers, or both
text, as they are (1 equals 1.0, 'cat' equals 'cat'). When one side is text, what reads as a number
there counts as that number. A label that equals no class of the model counts as an error.
"""
ADVICE = {
    errno.ENOENT: "check the name",
    errno.ENOTDIR: "check the name",
    errno.EISDIR: "give the name of a file",
    errno.EACCES: "check its permissions",
    errno.EPERM: "check its permissions",
    errno.EROFS: "choose another folder",
    errno.ENOSPC: "make room or choose another folder",
    errno.EDQUOT: "make room or choose another folder",
    errno.EFBIG: "raise the limit of file sizes (ulimit -f)",
    errno.ENAMETOOLONG: "choose a shorter name",
}


class UsageError(ValueError):
    """The command line asks for something that does not exist."""


class Parser(argparse.ArgumentParser):
    """Leaves it to ``main`` to report errors, in one line and without the usage."""

    def error(self, message: str) -> NoReturn:
        """Raise instead of printing and exiting."""
        raise UsageError(f"{message}; see {self.prog} --help")


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command.

    Parameters
    ----------
    argv : sequence of str, default=None
        Arguments; those of the process when None.

    Returns
    -------
    int
        Exit code: 0, 2 after an error, 130 after Ctrl-C.
    """
    try:
        with _plain_warnings():
            args = _parser().parse_args(argv)
            args.run(args)
            _flush()
    except KeyboardInterrupt:
        return _failed("manyclass: interrupted; nothing was written", INTERRUPTED)
    except BrokenPipeError:
        _give_up_stdout()
        return BROKEN_PIPE
    except OSError as error:
        return _failed(f"manyclass: error: {_explain(error)}")
    except MemoryError as error:
        what = str(error) or "the memory does not suffice"
        advice = "" if ";" in what else "; use --dtype float32 or less data"
        return _failed(f"manyclass: error: out of memory: {what}{advice}")
    except (ValueError, FloatingPointError) as error:
        return _failed(f"manyclass: error: {error}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="manyclass",
        description="Train linear classifiers for many classes to a proven distance from their "
        "optimum. Data files are in svmlight / LIBSVM format: LABEL INDEX:VALUE ...",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"manyclass {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    def command(name: str, run: Callable[[Any], None], text: str, epilog: str = "") -> Parser:
        sub: Parser = commands.add_parser(
            name,
            help=text,
            description=f"{text[0].upper()}{text[1:]}.",
            epilog=epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        sub.set_defaults(run=run)
        return sub

    _train_options(command("train", _train, "train a model on a data file"))
    predict = command("predict", _predict, "write the predicted label of every row", FEATURES)
    _data_options(predict)
    predict.add_argument("out", metavar="OUT", help="file to write, one line per row; - for stdout")
    predict.add_argument(
        "--top-k",
        type=_positive_int,
        metavar="K",
        help="write the K best labels, the best first, separated by tabs",
    )
    evaluate = command("evaluate", _evaluate, "compare predictions with a file's labels", LABELS)
    _data_options(evaluate)
    evaluate.add_argument("--json", action="store_true", help="print JSON, shares as fractions")
    info = command("info", _info, "describe a model file")
    info.add_argument("model", metavar="MODEL")
    info.add_argument("--json", action="store_true", help="print JSON")
    command("demo", _demo, "train on digits and on made-up text, beside LinearSVC")
    return parser


def _data_options(parser: Parser) -> None:
    parser.add_argument("data", metavar="DATA", help="svmlight file, plain or compressed")
    parser.add_argument("model", metavar="MODEL", help="model file")
    parser.add_argument("--jobs", type=_jobs, default=1, metavar="N", help="threads; -1: all cores")
    parser.add_argument("--zero-based", action="store_true", help="feature numbers count from 0")


def _train_options(parser: Parser) -> None:
    add = parser.add_argument
    _data_options(parser)
    add("--formulation", default="crammer_singer", metavar="F", help="crammer_singer (default)")
    add("-C", type=_positive, default=1.0, help="cost of a unit of loss (default 1)")
    add("--loss", default="hinge", metavar="L", help="hinge (default)")
    add("--tol", type=_positive, default=1e-3, metavar="T", help="when to stop (default 0.001)")
    add(
        "--stopping",
        choices=["gap", "kkt"],
        default="gap",
        help="what T means: relative duality gap (default), or violation of the conditions",
    )
    add("--no-intercept", action="store_true", help="leave out the constant feature")
    add("--class-weight", choices=["balanced"], help="give every class the same total weight")
    add("--max-iter", type=_positive_int, default=1000, metavar="N", help="epochs at most (1000)")
    add("--seed", type=_seed, default=0, metavar="S", help="orders the visits (default 0)")
    add("--dtype", choices=["float32", "float64"], default="float32", help="type of the weights")
    add("--n-features", type=_positive_int, metavar="N", help="columns, if more than DATA uses")
    add("--quiet", action="store_true", help="print nothing but warnings and errors")


def _number(
    text: str, convert: Callable[[str], Any], wanted: str, ok: Callable[[Any], bool]
) -> Any:
    try:
        value = convert(text)
    except ValueError:
        value = None
    if value is None or not ok(value):
        raise argparse.ArgumentTypeError(f"must be {wanted}, not {text!r}")
    return value


_positive = partial(
    _number, convert=float, wanted="a positive number", ok=lambda v: 0 < v < math.inf
)
_positive_int = partial(
    _number, convert=int, wanted="a positive integer", ok=lambda v: 0 < v < 2**63
)
_jobs = partial(
    _number,
    convert=int,
    wanted="a number of threads up to 1024, or -1 for all cores",
    ok=lambda v: 0 < abs(v) <= 1024,
)
_seed = partial(
    _number, convert=int, wanted="an integer from 0 to 2^32 - 1", ok=lambda v: 0 <= v < 2**32
)


def _train(args: argparse.Namespace) -> None:
    import numpy as np

    from manyclass.estimators import MulticlassSVC
    from manyclass.model_file import save_model

    say = _nothing if args.quiet else _say
    model = MulticlassSVC(
        formulation=args.formulation,
        C=args.C,
        loss=args.loss,
        tol=args.tol,
        stopping=args.stopping,
        fit_intercept=not args.no_intercept,
        class_weight=args.class_weight,
        max_iter=args.max_iter,
        n_jobs=args.jobs,
        random_state=args.seed,
        verbose=0 if args.quiet else 1,
    )
    _check_parameters(model)
    target = _target(args.model, [args.data])
    if target.exists() and not target.is_file():
        raise UsageError(f"{args.model}: not a regular file; choose another name for the model")
    X, y = _read(args, np.dtype(args.dtype), say, args.n_features)
    _check_labels(args.data, y)
    began = time.perf_counter()
    try:
        model.fit(X, y)
    except (ValueError, FloatingPointError) as error:
        raise type(error)(f"{args.data}: {error}") from error
    seconds = time.perf_counter() - began
    with _naming(args.model):
        save_model(target, model)
    proof = model.certificate_
    say(
        f"trained {_count(model.n_iter_, 'epoch')} in {seconds:.2f} s: "
        f"objective {proof.primal_objective:.6g}, "
        f"proven within {100 * proof.relative_gap:.2g} % of the optimum"
    )
    say(f"saved {args.model}")


def _predict(args: argparse.Namespace) -> None:
    model = _load(args)
    n_classes = len(model.classes_)
    if args.top_k is not None and args.top_k > n_classes:
        raise UsageError(
            f"argument --top-k: must be from 1 to {n_classes}, the number of classes in "
            f"{args.model}, not {args.top_k}"
        )
    if any(mark in str(name) for name in model.classes_.tolist() for mark in "\t\n\r"):
        raise ValueError(
            f"{args.model}: class names with a tab or line break cannot be written one row per "
            "line; predict in Python, with load_model"
        )
    if args.out != "-":
        _target(args.out, [args.data, args.model])
    X, _ = _read_for(args, model, _nothing)
    best = model.predict(X) if args.top_k is None else model.predict_top_k(X, args.top_k)
    rows = best.reshape(len(best), -1)
    with _naming("standard output" if args.out == "-" else args.out), _output(args.out) as file:
        for begin in range(0, len(rows), LINES_AT_A_TIME):
            part = rows[begin : begin + LINES_AT_A_TIME].tolist()
            file.write("".join("\t".join(map(str, row)) + "\n" for row in part).encode())


def _evaluate(args: argparse.Namespace) -> None:
    model = _load(args)
    X, y = _read_for(args, model, _nothing if args.json else _say)
    truth, predicted, n_known = _codes(model.classes_, y, model.predict(X))
    scores = _scores(truth, predicted)
    unseen = truth[truth >= n_known]
    if len(unseen):
        warnings.warn(
            f"{args.data}: {_count(len(unseen), 'row')} with a label that is no class of the "
            "model; counted as errors",
            stacklevel=2,
        )
    if args.json:
        _say(json.dumps(scores))
        return
    _say(f"accuracy  {100 * scores['accuracy']:6.2f} %  (and micro F1: one label per row)")
    _say(f"macro F1  {100 * scores['macro_f1']:6.2f} %")


def _info(args: argparse.Namespace) -> None:
    from manyclass.model_file import describe_model

    about = describe_model(args.model)
    if args.json:
        _say(json.dumps(about))
        return
    proof = about["certificate"]
    _say(f"model        {args.model} (format {about['format_version']}, by {about['version']})")
    _say(f"formulation  {about['formulation']}, C = {about['C']:g}")
    _say(f"classes      {about['n_classes']}")
    _say(f"features     {about['n_features']}")
    _say(f"weights      {about['dtype']}, {100 * about['density']:.3g} % of them not zero")
    _say(f"training     {_count(about['n_iter'], 'epoch')}")
    _say(f"objective    {proof['primal_objective']:.6g}")
    _say(f"certificate  within {100 * proof['relative_gap']:.2g} % of the optimum")
    _say(f"violation    {proof['max_violation']:.2g} at most, of the optimality conditions")


def _demo(_: argparse.Namespace) -> None:
    from manyclass.demo import run_demo

    run_demo(_say)


def _check_parameters(model: MulticlassSVC) -> None:
    """Refuse what the estimator would refuse, before the data are read."""
    try:
        model._validate_params()
    except ValueError as error:
        found = re.match(r"The '(\w+)' parameter of \w+ (.+)\. Got (.+) instead", str(error))
        if found is None:
            raise
        name, wanted, got = found.groups()
        raise UsageError(f"argument --{name}: {wanted}, not {got}") from None


def _check_labels(path: str, y: NDArray[Any]) -> None:
    import numpy as np

    classes = np.unique(y)
    if len(classes) < 2:
        raise ValueError(
            f"{path}: every row has the label {classes[0]}; training needs at least two classes"
        )
    if y.dtype.kind == "f" and (classes != np.rint(classes)).any():
        raise ValueError(
            f"{path}: the label {classes[classes != np.rint(classes)][0]} is not a whole number, "
            "as in a regression; name classes by whole numbers or words"
        )


def _load(args: argparse.Namespace) -> MulticlassSVC:
    from manyclass.model_file import load_model

    model = load_model(args.model)
    model.n_jobs = args.jobs
    return model


def _read(
    args: argparse.Namespace, dtype: Any, say: Callable[[str], None], n_features: int | None = None
) -> tuple[csr_array[Any], NDArray[Any]]:
    import numpy as np

    from manyclass.svmlight import load_svmlight

    began = time.perf_counter()
    with _naming(args.data):
        X, y = load_svmlight(args.data, n_features, dtype, args.jobs, zero_based=args.zero_based)
    seconds = time.perf_counter() - began
    say(
        f"read {args.data} in {seconds:.2f} s: {_count(len(y), 'row')}, "
        f"{_count(X.shape[1], 'feature')}, {len(np.unique(y))} classes, "
        f"{_count(X.nnz, 'non-zero')}"
    )
    return X, y


def _read_for(
    args: argparse.Namespace, model: MulticlassSVC, say: Callable[[str], None]
) -> tuple[csr_array[Any], NDArray[Any]]:
    """Read data with the columns of a model; it knows nothing about any other."""
    X, y = _read(args, model.coef_.dtype, say)
    X.resize((len(y), model.n_features_in_))
    return X, y


def _codes(
    classes: NDArray[Any], truth: NDArray[Any], predicted: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any], int]:
    """Give every label a number, equal labels the same one; those of the classes come first.

    Returns the numbers of ``truth``, of ``predicted``, and how many belong to the classes. LABELS
    says which labels are equal.
    """
    import numpy as np

    alike = (classes.dtype.kind in "UO") == (truth.dtype.kind in "UO")
    codes: dict[Any, int] = {}

    def number(labels: NDArray[Any]) -> NDArray[Any]:
        names, positions = np.unique(labels, return_inverse=True)
        keys = names.tolist() if alike else map(_number_or_text, names.tolist())
        return np.array([codes.setdefault(key, len(codes)) for key in keys])[positions]

    number(classes)
    n_known = len(codes)
    return number(truth), number(predicted), n_known


def _number_or_text(label: Any) -> Any:
    if isinstance(label, str) and "_" not in label:  # Python reads 1_000 as a number
        for convert in (int, float):
            with contextlib.suppress(ValueError):
                return convert(label)
    return label


def _scores(truth: NDArray[Any], predicted: NDArray[Any]) -> dict[str, float]:
    """Accuracy and F1, over the labels that occur in either."""
    import numpy as np

    size = 1 + max(int(truth.max()), int(predicted.max()))
    hits = np.bincount(truth[truth == predicted], minlength=size)
    uses = np.bincount(truth, minlength=size) + np.bincount(predicted, minlength=size)
    accuracy = float(np.mean(truth == predicted))
    return {
        "accuracy": accuracy,
        "micro_f1": accuracy,  # the same, as every row has one label and gets one
        "macro_f1": float(np.mean(2 * hits[uses > 0] / uses[uses > 0])),
        "n": len(truth),
    }


def _target(name: str, inputs: Sequence[str]) -> Path:
    """Check, before any work, that a file can be written; return it with its links resolved."""
    path = Path(name)
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "is a directory", name)
    if any(path.exists() and Path(other).exists() and path.samefile(other) for other in inputs):
        raise UsageError(f"{name}: is an input too and would be overwritten; choose another name")
    if path.exists() and not path.is_file():  # a device or a pipe: nothing to create
        return path
    target = Path(os.path.realpath(path))
    with (
        _naming(f"cannot write {name}"),
        tempfile.NamedTemporaryFile(prefix=f".{target.name}.", dir=target.parent),
    ):
        return target


@contextlib.contextmanager
def _output(name: str) -> Iterator[IO[bytes]]:
    """Open a file that appears under its name when it is complete; or stdout, or a device."""
    path = Path(name)
    if name == "-":
        if sys.stdout is None:
            raise OSError(errno.EBADF, "is closed")
        yield sys.stdout.buffer
        return
    if path.exists() and not path.is_file():
        with path.open("wb") as file:
            yield file
        return
    target = Path(os.path.realpath(path))
    handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        umask = os.umask(0)
        os.umask(umask)
        Path(temporary).chmod(0o666 & ~umask)
        Path(temporary).replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(temporary).unlink()
        raise


@contextlib.contextmanager
def _naming(name: str) -> Iterator[None]:
    """Make errors of the system tell the file as the user knows it."""
    try:
        yield
    except OSError as error:
        error.filename, error.filename2 = name, None
        raise


@contextlib.contextmanager
def _plain_warnings() -> Iterator[None]:
    """Show each warning for users as one line on stderr."""

    def show(message: Warning | str, *_: object, **__: object) -> None:
        _complain(f"manyclass: warning: {message}")

    with warnings.catch_warnings():
        for category in (UserWarning, RuntimeWarning):
            warnings.simplefilter("always", category)
        warnings.showwarning = show
        yield


def _count(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def _nothing(text: str) -> None:
    """Be quiet."""


def _say(text: str) -> None:
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    with _naming("standard output"):
        print(text.encode(encoding, "backslashreplace").decode(encoding), flush=True)


def _complain(text: str) -> None:
    """Write one line to stderr, whatever the message holds."""
    line = " ".join(text.splitlines())
    line = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line)
    with contextlib.suppress(OSError):
        print(line, file=sys.stderr, flush=True)


def _failed(text: str, code: int = FAILED) -> int:
    _complain(text)
    try:
        _flush()
    except OSError:
        _give_up_stdout()
    return code


def _flush() -> None:
    if sys.stdout is not None:
        sys.stdout.flush()


def _give_up_stdout() -> None:
    """Let Python's own flush at exit succeed, though nobody can read stdout."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)


def _explain(error: OSError) -> str:
    where = os.fsdecode(error.filename) if error.filename else ""
    what = error.strerror or str(error) or type(error).__name__
    advice = ADVICE.get(error.errno or 0)
    text = f"{where}: {what[0].lower()}{what[1:]}" if where else what
    return f"{text}; {advice}" if advice else text
