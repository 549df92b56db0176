"""Picture and table of the front page: manyclass beside the estimators of scikit-learn.

They show the seconds to (P - P*)/P* <= 1e-3 from the results of ``benchmarks.peers.run``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes

from benchmarks.peers.tables import OURS, SHORT_LEVEL
from measuring.results import FIGURES, markdown, place
from measuring.style import STYLE, plt

# The rows of each panel: problem and data set.
PANELS = {
    "Text: MulticlassSVC and LinearSVC": (
        ("crammer_singer", "news20"),
        ("one_vs_rest_squared", "news20"),
        ("crammer_singer", "sector"),
        ("one_vs_rest_squared", "sector"),
    ),
    "Sentence embeddings: SVMs and logistic regression": (
        ("crammer_singer", "banking"),
        ("one_vs_rest_squared", "banking"),
        ("logistic", "banking"),
    ),
    "Logistic regression; several labels per row": (
        ("logistic", "news20"),
        ("logistic", "letter"),
        ("multilabel_squared", "bibtex"),
    ),
}
_MODELS = {
    "crammer_singer": "Crammer-Singer",
    "one_vs_rest_squared": "one-vs-rest",
    "logistic": "logistic",
    "multilabel_squared": "multi-label",
}
_SVC, _LOGISTIC = "sklearn_linear_svc", "sklearn_logistic_"
_LOOKS = {
    "manyclass": ("#0072B2", "o"),
    "LinearSVC": ("#D55E00", "s"),
    "LogisticRegression": ("#009E73", "D"),
}
_FIGURE = "speed.png"
_ALT = "Seconds to an objective within 0.1 % of the optimum, for manyclass and scikit-learn"


@dataclass(frozen=True)
class Pair:
    """The seconds of manyclass and of the fastest setting of the other estimator.

    Attributes
    ----------
    data, model : str
        What is trained.
    sizes : str
        Rows, features and classes.
    estimator : str
        ``LinearSVC`` or ``LogisticRegression``.
    call : str
        The constructor, with the parameter that makes it fastest.
    ours, theirs : float
        Seconds.
    """

    data: str
    model: str
    sizes: str
    estimator: str
    call: str
    ours: float
    theirs: float

    @property
    def ratio(self) -> str:
        """How many times as long the other one takes."""
        ratio = self.theirs / self.ours
        return f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.1f}"


def pairs(result: dict[str, Any]) -> dict[str, list[Pair]]:
    """Return the pairs of each panel in which both reach the level; no empty panels."""
    entries = {(entry["problem"], entry["data"]): entry for entry in result["entries"]}
    found = {
        title: [_pair(entries[row]) for row in rows if row in entries]
        for title, rows in PANELS.items()
    }
    complete = {title: [pair for pair in row if pair] for title, row in found.items()}
    return {title: row for title, row in complete.items() if row}


def table(result: dict[str, Any]) -> str:
    """Return a line for each pair, with the setting in which the other estimator is fastest."""
    rows = []
    for pair in (each for row in pairs(result).values() for each in row):
        theirs = f"`{pair.call}` {_seconds(pair.theirs)}"
        data = f"{pair.data} ({pair.sizes})"
        rows.append([data, pair.model, _seconds(pair.ours), theirs, pair.ratio])
    header = ["data (rows x features x classes)", "model", "manyclass", "scikit-learn", "ratio"]
    return markdown(header, rows, 2)


def link(_result: dict[str, Any]) -> str:
    """Return the link of the picture, for pages of docs."""
    return f"![{_ALT}](figures/{_FIGURE})"


def link_in_readme(result: dict[str, Any]) -> str:
    """Return the link of the picture, for README.md."""
    return link(result).replace("(figures", "(docs/figures")


def picture(result: dict[str, Any]) -> str:
    """Draw the pairs, one panel below the other; return the link of the picture."""
    panels = pairs(result)
    n_rows = sum(map(len, panels.values()))
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(
            len(panels),
            figsize=(4.6, 0.27 * n_rows + 0.3 * len(panels) + 0.8),
            sharex=True,
            squeeze=False,
            layout="constrained",
            height_ratios=[len(row) for row in panels.values()],
        )
        for axis, (title, row) in zip(axes[:, 0], panels.items(), strict=True):
            _draw(axis, title, row)
        _finish(axes[-1, 0], [pair for row in panels.values() for pair in row])
        figure.savefig(place(FIGURES / _FIGURE), dpi=140)
        plt.close(figure)
    return link(result)


def _pair(entry: dict[str, Any]) -> Pair | None:
    """Return the pair of an entry; None if one of the two does not reach the level."""
    levels = {solver["name"]: solver["levels"].get(SHORT_LEVEL) for solver in entry["solvers"]}
    seconds = {name: level["seconds"] for name, level in levels.items() if level}
    theirs = {name: s for name, s in seconds.items() if name.startswith((_SVC, _LOGISTIC))}
    if OURS not in seconds or not theirs:
        return None
    best = min(theirs, key=lambda name: theirs[name])
    sizes = f"{entry['n']:,} x {entry['d']:,} x {entry['k']:,}"
    model = _MODELS[entry["problem"]]
    estimator = _estimator(best, entry["problem"])
    return Pair(entry["data"], model, sizes, *estimator, seconds[OURS], theirs[best])


def _estimator(name: str, problem: str) -> tuple[str, str]:
    """Return the class that a name of the benchmark stands for, and the call that makes it."""
    if name.startswith(_LOGISTIC):
        solver = name.removeprefix(_LOGISTIC)
        return "LogisticRegression", f'LogisticRegression(solver="{solver}")'
    if problem == "crammer_singer":
        return "LinearSVC", 'LinearSVC(multi_class="crammer_singer")'
    call = f"LinearSVC(dual={name == _SVC})"
    return "LinearSVC", f"OneVsRestClassifier({call})" if "multilabel" in problem else call


def _seconds(seconds: float) -> str:
    return f"{seconds:#.3g} s".replace(". ", " ")


def _draw(axis: Axes, title: str, row: Sequence[Pair]) -> None:
    """Draw a line between the two times of each pair, and the ratio."""
    for place_of, pair in enumerate(row):
        axis.hlines(place_of, pair.ours, pair.theirs, color="0.8", lw=3, zorder=1)
        for name, seconds in (("manyclass", pair.ours), (pair.estimator, pair.theirs)):
            color, marker = _LOOKS[name]
            axis.scatter(seconds, place_of, 40, color=color, marker=marker, zorder=2)
        right = 1.3 * max(pair.ours, pair.theirs)
        axis.text(right, place_of, f"{pair.ratio} times", va="center")
    axis.set_yticks(range(len(row)), [f"{pair.data}, {pair.model}" for pair in row])
    axis.set_ylim(len(row) - 0.4, -0.6)
    axis.annotate(
        title,
        (0.02, 1),
        xycoords=("figure fraction", "axes fraction"),
        xytext=(0, 5),
        textcoords="offset points",
        fontweight="bold",
    )
    axis.tick_params(axis="y", length=0)


def _finish(axis: Axes, row: Sequence[Pair]) -> None:
    """Set the common axis of seconds, and explain the markers."""
    axis.set_xscale("log")
    axis.set_xlim(right=9 * max(max(pair.ours, pair.theirs) for pair in row))
    axis.xaxis.set_major_formatter("{x:g}")
    used = ["manyclass", *dict.fromkeys(pair.estimator for pair in row)]
    for name in used:
        color, marker = _LOOKS[name]
        axis.scatter([], [], 40, color=color, marker=marker, label=name)
    figure = axis.get_figure()
    assert figure is not None
    figure.legend(loc="outside upper left", ncols=len(used), handletextpad=0.2, columnspacing=1)
    figure.supxlabel(
        "seconds to within 0.1 % of the optimum, one thread", x=0.98, ha="right", size=9
    )
