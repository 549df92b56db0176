"""Measuring again what is old: the list, the pages, resuming, failures. No benchmark runs here."""

import json
import os
import pkgutil
import re
import runpy
import shlex
import sys

import pytest

pytest.importorskip("matplotlib")

from benchmarks import measure, page
from benchmarks.measurements import DOCS, MEASUREMENTS, Measurement, Section
from measuring import header
from measuring.results import RESULTS, read_results

END = re.compile(r"^<!-- end of (.+) -->$", re.MULTILINE)
DRAWING = (":picture", ":pictures")
MEASURED = [each for each in MEASUREMENTS if (RESULTS / each.file).exists()]


def text(result):
    """Write the section of the tiny measurement."""
    return f"code {result['code']['tiny']}"


def tiny(name="tiny", *, code="now", status=0, **changes):
    section = Section("page.md", "tiny", "tests.benchmarks.test_measure:text")
    commands = (f"tests.benchmarks.tiny_program {code} {status}",)
    return Measurement(name, commands, "tiny.json", (section,), code=("tiny",), **changes)


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder with results and a page; its code has the fingerprint "now"."""
    (tmp_path / "page.md").write_text("<!-- tiny -->\n\n<!-- end of tiny -->\n")
    monkeypatch.setattr(measure, "RESULTS", tmp_path)
    monkeypatch.setattr(page, "DOCS", tmp_path)
    monkeypatch.setattr(header, "fingerprints", lambda: {"tiny": "now"})
    return tmp_path


def write(project, code, measurement=None):
    commands = (measurement or tiny()).commands
    result = {"code": {"tiny": code}, "date": "2026-11-01", "commands": commands}
    (project / "tiny.json").write_text(json.dumps(result))


def run(monkeypatch, measurements, *words):
    monkeypatch.setattr(measure, "MEASUREMENTS", measurements)
    return measure.main(words)


def code_of(project):
    return read_results(project / "tiny.json")["code"]["tiny"]


def test_the_list_has_every_result_and_every_section_once():
    files = [each.file for each in MEASUREMENTS]
    sections = [
        (section.page, section.marker) for each in MEASUREMENTS for section in each.sections
    ]
    assert len(files) == len(set(files))
    assert {path.name for path in RESULTS.glob("*.json")} <= set(files)
    found = [
        (os.path.relpath(path, DOCS), marker)
        for path in [*DOCS.glob("*.md"), *DOCS.glob("development/*.md"), DOCS.parent / "README.md"]
        for marker in END.findall(path.read_text())
    ]
    assert sorted(sections) == sorted(found)


@pytest.mark.parametrize("measurement", MEASURED, ids=lambda each: each.name)
def test_pages_have_the_tables_of_the_results(measurement):
    result = read_results(RESULTS / measurement.file)
    for section in measurement.sections:
        shown = (DOCS / section.page).read_text()
        part = shown.split(f"<!-- {section.marker} -->")[1].split(f"<!-- end of {section.marker}")[
            0
        ]
        for writer in section.writers.split():
            if not writer.endswith(DRAWING):
                assert pkgutil.resolve_name(writer)(result) in part
        assert part.strip().endswith(header.measured_line(result))


def test_every_program_and_writer_is_there():
    for each in MEASUREMENTS:
        modules = {command.split()[0] for command in each.commands}
        assert all(
            (DOCS.parent / module.replace(".", "/")).with_suffix(".py").exists()
            for module in modules
        )
        for section in each.sections:
            assert all(callable(pkgutil.resolve_name(name)) for name in section.writers.split())


@pytest.mark.slow
@pytest.mark.parametrize("measurement", MEASUREMENTS, ids=lambda each: each.name)
def test_programs_accept_their_arguments(measurement, monkeypatch, capsys):
    for command in measurement.commands:
        module, *words = shlex.split(command)
        monkeypatch.setattr("sys.argv", [module, *words, "--help"])
        monkeypatch.delitem(sys.modules, module, raising=False)
        with pytest.raises(SystemExit) as ended:
            runpy.run_module(module, run_name="__main__")
        assert ended.value.code == 0, capsys.readouterr().err


def test_what_is_current_is_not_measured_again(project, monkeypatch, capsys):
    write(project, "now", tiny(code="other"))
    assert run(monkeypatch, [tiny(code="other")]) == 0
    assert code_of(project) == "now"
    assert capsys.readouterr().out == ""
    assert run(monkeypatch, [tiny(code="other")], "--only", "tiny") == 0
    assert code_of(project) == "other"


@pytest.mark.parametrize("code", ["before", None])
def test_what_is_old_or_was_never_measured_is(project, monkeypatch, code):
    if code:
        write(project, code)
    assert measure.state(tiny()) == ("old" if code else "never")
    assert run(monkeypatch, [tiny()]) == 0
    assert measure.state(tiny()) == "current"
    shown = (project / "page.md").read_text()
    assert "code now\n\nMeasured on 2026-11-28.\n\n<!-- end of tiny -->" in shown
    assert sorted(path.name for path in project.iterdir()) == ["page.md", "tiny.json"]


def test_results_of_other_commands_are_old(project, monkeypatch):
    assert run(monkeypatch, [tiny()]) == 0
    assert measure.state(tiny()) == "current"
    assert measure.state(tiny(status=1)) == "old"


def test_results_without_a_fingerprint_are_old(project):
    (project / "tiny.json").write_text(json.dumps({"date": "2026-11-01"}))
    assert measure.state(tiny()) == "old"


def test_damaged_results_are_measured_again(project, monkeypatch):
    (project / "tiny.json").write_text('{"code": ')
    assert measure.line(tiny()).split()[:2] == ["tiny", "damaged"]
    assert run(monkeypatch, [tiny()]) == 0
    assert measure.state(tiny()) == "current"


def test_a_failing_measurement_leaves_the_old_result_and_the_others_run(
    project, monkeypatch, capsys
):
    write(project, "before")
    failing = tiny("failing", code="half", status=3)
    assert run(monkeypatch, [failing]) == 1
    assert code_of(project) == "before"
    assert (
        "failing failed: python -m tests.benchmarks.tiny_program half 3" in capsys.readouterr().err
    )
    assert run(monkeypatch, [failing, tiny()]) == 1
    assert code_of(project) == "now"


def test_a_failing_page_keeps_the_result(project, monkeypatch, capsys):
    (project / "page.md").write_text("no section\n")
    assert run(monkeypatch, [tiny()]) == 1
    assert code_of(project) == "now"
    assert "python -m benchmarks.page --only tiny fills the pages" in capsys.readouterr().err


def test_ctrl_c_leaves_the_old_result(project, monkeypatch, capsys):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    write(project, "before")
    monkeypatch.setattr(measure.subprocess, "run", interrupt)
    assert run(monkeypatch, [tiny()]) == measure.INTERRUPTED
    assert code_of(project) == "before"
    assert "the next call begins with tiny" in capsys.readouterr().err
    assert sorted(path.name for path in project.iterdir()) == ["page.md", "tiny.json"]


def test_ctrl_c_while_pages_are_filled_says_how_to_fill_them(project, monkeypatch, capsys):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(measure.page, "fill", interrupt)
    assert run(monkeypatch, [tiny()]) == measure.INTERRUPTED
    assert code_of(project) == "now"
    assert "python -m benchmarks.page --only tiny fills its pages" in capsys.readouterr().err


def test_missing_needs_skip_a_measurement(project, monkeypatch, capsys):
    assert run(monkeypatch, [tiny(needs="json no_such_module")]) == 0
    assert capsys.readouterr().out == "tiny: skipped, needs no_such_module\n"
    assert not (project / "tiny.json").exists()
    assert run(monkeypatch, [tiny(needs="no_such_module")], "--only", "tiny") == 1


def test_missing_data_skip_a_measurement(tmp_path, monkeypatch):
    monkeypatch.setenv("MANYCLASS_DATA", str(tmp_path))
    assert (
        tiny(data="news20 text").missing().startswith("no news20.scale.bz2 and news20.t.scale.bz2;")
    )


def test_the_list_says_when_and_with_what_each_was_measured(project, monkeypatch, capsys):
    found = {"dates": ["2026-11-01", "2026-11-02"], "commit": "abc", "code": {"tiny": "now"}}
    found |= {"machine": {"cpu": "CPU"}, "commands": tiny().commands}
    (project / "tiny.json").write_text(json.dumps(found))
    assert run(monkeypatch, [tiny(duration="a minute")], "--list") == 0
    words = capsys.readouterr().out.split()
    assert words == ["tiny", "current", "2026-11-02", "abc", "CPU", "takes", "a", "minute"]
