"""Builds for one instruction set, or for several: what CMake is told, and what it refuses."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from manyclass import _core

ROOT = Path(__file__).parents[2]
CMAKE = shutil.which("cmake", path=Path(sys.executable).parent) or shutil.which("cmake")


@pytest.fixture(scope="module", name="configured")
def configured_fixture(tmp_path_factory):
    """A function that configures a build in one folder; it returns the exit status and the text."""
    asked = [sys.executable, "-m", "nanobind", "--cmake_dir"]
    nanobind = subprocess.run(asked, capture_output=True, text=True, check=False)
    if nanobind.returncode or not (CMAKE and shutil.which("c++")):
        pytest.skip("needs nanobind, CMake and a C++ compiler")
    folder = tmp_path_factory.mktemp("build")

    def configure(instruction_sets):
        settings = {
            "MANYCLASS_INSTRUCTION_SETS": instruction_sets,
            "Python_EXECUTABLE": sys.executable,
            "nanobind_DIR": nanobind.stdout.strip(),
        }
        words = [f"-D{name}={value}" for name, value in settings.items()]
        done = subprocess.run(
            [CMAKE, "-S", str(ROOT), "-B", str(folder), *words],
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, " ".join((done.stdout + done.stderr).split())

    return configure


def test_the_native_build_is_for_the_best_instruction_set_of_the_machine(configured):
    best = _core.instruction_sets()[-1]
    status, text = configured("native")
    assert status == 0
    assert f"Compiling for {best} only" in text
    assert configured(f"{best};{best}")[0] == 0


@pytest.mark.parametrize("wrong", ["avx1024", "", "native;avx2"])
def test_unknown_instruction_sets_are_one_error(configured, wrong):
    status, text = configured(wrong)
    assert status != 0
    assert f"MANYCLASS_INSTRUCTION_SETS is '{wrong}'; it must be native, or a list of" in text
