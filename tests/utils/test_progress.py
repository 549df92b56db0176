"""What verbose shows, in a terminal and elsewhere."""

import io
import re

import numpy as np
import pytest

from manyclass import (
    MulticlassSVC,
    MultinomialLogisticRegression,
    StochasticClassifier,
    load_svmlight,
    save_data,
)
from manyclass.io import SvmlightBlocks, save_blocks
from manyclass.utils.progress import GapScale, counted, progress, reading
from tests.helpers.iris import IRIS


class Terminal(io.StringIO):
    def isatty(self):
        return True


ESTIMATORS = [MulticlassSVC, MultinomialLogisticRegression, StochasticClassifier]


def test_the_scale_is_that_of_the_logarithm():
    scale = GapScale(1e-3)
    assert scale.done(None) is None
    assert scale.done(np.nan) is None
    assert scale.done(1.0) == 0
    assert scale.done(0.1) == pytest.approx(1 / 3)
    assert scale.done(0.0) == 1
    assert scale.done(10.0) == 0
    assert GapScale(None).done(0.1) is None


@pytest.mark.parametrize("kind", ESTIMATORS)
@pytest.mark.parametrize(("verbose", "isatty"), [(1, False), (2, True)])
def test_lines(kind, verbose, isatty, monkeypatch):
    out = Terminal() if isatty else io.StringIO()
    monkeypatch.setattr("sys.stdout", out)
    model = kind(verbose=verbose, random_state=0).fit(*IRIS)
    lines = out.getvalue().splitlines()
    assert len(lines) == model.n_iter_
    assert all("epoch" in line for line in lines)


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_a_bar_leaves_the_last_line(kind, monkeypatch):
    out = Terminal()
    monkeypatch.setattr("sys.stdout", out)
    monkeypatch.setenv("TERM", "xterm")
    model = kind(verbose=1, random_state=0).fit(*IRIS)
    assert f"epoch {model.n_iter_:4d}" in out.getvalue().splitlines()[-1]
    assert "\x1b" in out.getvalue()


@pytest.mark.parametrize("columns", [40, 59, 60, 80, 100])
@pytest.mark.parametrize("gap", [0.01, None])
def test_no_line_is_too_long(columns, gap, monkeypatch):
    """It leaves room for the ^C that a terminal shows."""
    out = Terminal()
    monkeypatch.setattr("sys.stdout", out)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", str(columns))
    seconds = 0.0
    with progress(1, 1e-4, clock=lambda: seconds) as show:
        show("epoch 1", 1.0, "")
        for epoch in range(2, 1001):
            seconds += 0.03
            show(f"epoch {epoch} " + "x" * 200, gap, "proving" if epoch % 2 else "")
    lines = re.sub(r"\x1b\[[0-9?;]*[A-Za-z]", "", out.getvalue()).replace("\r", "\n").splitlines()
    drawn = [line for line in lines[:-1] if line]
    assert max(map(len, drawn)) <= columns - 3
    if gap:
        assert drawn[-1].rstrip().endswith("30 s left")  # half of the way took 29.97 s
    if gap and columns == 100:
        assert "epoch 1000, gap 1.0e-02, to go to 0.0001, about 30 s left" in drawn[-1]
    assert lines[-1].startswith("epoch 1000")


def test_an_error_ends_the_bar(monkeypatch):
    out = Terminal()
    monkeypatch.setattr("sys.stdout", out)
    monkeypatch.setenv("TERM", "xterm")
    with pytest.raises(ValueError, match="stop"), progress(1, 1e-3) as show:  # noqa: PT012
        show("epoch 1", 0.1, "")
        raise ValueError("stop")
    assert out.getvalue().endswith("\x1b[?25h\r\x1b[1A\x1b[2K")


def test_nothing_without_verbose(capsys):
    with progress(0) as show:
        show("epoch 1", 0.1, "")
    assert capsys.readouterr().out == ""


def shown(monkeypatch, steps, *, isatty=True, **kwargs):
    """Return what reading writes for steps (seconds, amount, share)."""
    err = Terminal() if isatty else io.StringIO()
    monkeypatch.setattr("sys.stderr", err)
    now = iter([0.0, *(seconds for seconds, _, _ in steps)])
    with reading(1, "data", clock=lambda: next(now), **kwargs) as see:
        for _, amount, share in steps:
            see(amount, share)
    return [line.strip() for line in err.getvalue().split("\r") if line]


def test_reading_is_one_line_that_is_wiped_off_or_silent(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    steps = [(0.9, 1, 0.1), (2.0, 10**7, 0.25), (2.1, 10**7, 0.3), (3.0, 2 * 10**9, 0.5)]
    lines = (
        "reading data: 10 MB, 25 %, about 6 s left",
        "reading data: 2,000 MB, 50 %, about 3 s left",
    )
    assert shown(monkeypatch, steps) == [*lines, ""]
    assert shown(monkeypatch, [(1.5, 1234, None)], unit="rows") == ["reading data: 1,234 rows", ""]
    monkeypatch.setenv("COLUMNS", "20")
    assert shown(monkeypatch, [(1.5, 1234, None)], unit="rows") == ["reading data: 1,234", ""]
    assert shown(monkeypatch, [(0.9, 1, 0.1)]) == []
    assert shown(monkeypatch, [(2.0, 1, 0.1)], isatty=False) == []


def test_counted():
    seen = []
    assert list(counted(["ab", "c"], lambda *what: seen.append(what), len, 4)) == ["ab", "c"]
    assert seen == [(2, 0.5), (3, 0.75)]


def test_readers_say_how_much_they_have_read(tmp_path, monkeypatch):
    """Of each kind of file, in a terminal; the clock runs fast."""
    pytest.importorskip("pyarrow")
    (tmp_path / "text").write_text("1 1:2\n2 1:3\n")
    (tmp_path / "t.csv").write_text("a,y\n1,u\n2,v\n")
    err = Terminal()
    monkeypatch.setattr("sys.stderr", err)
    for name in ("QUICK", "REFRESH"):
        monkeypatch.setattr(f"manyclass.utils.progress.{name}", 0.0)
    load_svmlight(tmp_path / "text", verbose=1)
    blocks = SvmlightBlocks(tmp_path / "text", verbose=1)
    save_blocks(tmp_path / "out", blocks, verbose=1)
    save_data(tmp_path / "out", tmp_path / "t.csv", label="y", verbose=1)
    counts = re.findall(r"reading (\S+): (\d+ \w+)", err.getvalue())
    assert counts == [("text", "0 MB")] * 2 + [("text", "2 rows"), ("t.csv", "2 rows")]
