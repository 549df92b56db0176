"""Tests of the core that need no Python: core_tests.cpp, which developers' builds compile."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAMS = sorted(ROOT.glob("build/*/core_tests"), key=lambda path: path.stat().st_mtime)


@pytest.mark.skipif(not PROGRAMS, reason="the core's own tests are not compiled (make unit)")
def test_core() -> None:
    done = subprocess.run([PROGRAMS[-1]], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout
