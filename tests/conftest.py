"""Fixtures shared by all tests."""

import os
import signal
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from manyclass import _core
from manyclass.utils.machine import VARIABLE
from tests.helpers.command_line import Cli

# No example fails because the machine is busy. The same examples in every run; new ones with
# --hypothesis-profile=explore.
patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("repeatable", patient, derandomize=True, database=None)
settings.register_profile("explore", patient, max_examples=1000)
settings.load_profile("repeatable")

# A shell's background jobs ignore Ctrl-C, and so would the tests of it, for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# By default, Ray starts its workers with low priority, and they wait for all other tests.
os.environ.setdefault("RAY_worker_niceness", "0")

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(params=_core.instruction_sets())
def instruction_set(request, monkeypatch):
    """Each instruction set of this machine in turn, in use."""
    monkeypatch.setenv(VARIABLE, request.param)
    return str(request.param)


@pytest.fixture
def shared_data():
    """A real data set by name; the test is skipped where it is absent."""

    def find(name):
        path = SHARED_DATA / f"{name}.bz2"
        if not path.exists():
            pytest.skip(f"the real data set {name} is not beside this checkout")
        return path

    return find


@pytest.fixture
def ctrl_c_in(monkeypatch):
    """Send SIGINT while a method runs; return the objects of its calls, then SIGINT."""
    objects = []

    def send():
        objects.append(signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(0.3, send)

    def watch(owner, name):
        original = getattr(owner, name)

        def watched(self, *arguments, **options):
            objects.append(self)
            if not timer.ident:
                timer.start()
            return original(self, *arguments, **options)

        monkeypatch.setattr(owner, name, watched)
        return objects

    yield watch
    if timer.ident:
        timer.join()


@pytest.fixture(name="run")
def run_fixture(capsys):
    """Run a command of the command line in this process."""
    return Cli(capsys)
