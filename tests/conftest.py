"""Fixtures shared by all tests."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

from manyclass import _core
from manyclass.utils.instruction_sets import VARIABLE
from tests.helpers.command_line import Cli

# The same examples in every run; new ones with --hypothesis-profile=explore.
settings.register_profile("repeatable", derandomize=True, database=None)
settings.register_profile("explore", max_examples=1000)
settings.load_profile("repeatable")

# A shell's background jobs ignore Ctrl-C, and so would the tests of it, for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(params=_core.instruction_sets())
def instruction_set(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each instruction set of this machine in turn, in use."""
    monkeypatch.setenv(VARIABLE, request.param)
    return str(request.param)


@pytest.fixture
def shared_data() -> Callable[[str], Path]:
    """A real data set by name; the test is skipped where it is absent."""

    def find(name: str) -> Path:
        path = SHARED_DATA / f"{name}.bz2"
        if not path.exists():
            pytest.skip(f"the real data set {name} is not beside this checkout")
        return path

    return find


@pytest.fixture(name="run")
def run_fixture(capsys: pytest.CaptureFixture[str]) -> Cli:
    """Run a command of the command line in this process."""
    return Cli(capsys)
