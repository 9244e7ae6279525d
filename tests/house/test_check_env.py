"""tools/check_env.py: the problems that it reports on a fresh machine."""

from pathlib import Path

import pytest

from tools import check_env


def java(folder: Path, text: str) -> Path:
    """Returns a folder like JAVA_HOME, whose java prints `text`."""
    command = folder / "bin" / "java"
    command.parent.mkdir(parents=True)
    command.write_text(f"#!/bin/sh\necho '{text}' >&2\n", encoding="utf-8")
    command.chmod(0o755)
    return folder


@pytest.mark.parametrize("version", [(3, 11, 0), (3, 13, 1)])
def test_python_is_new_enough(version: tuple[int, ...]) -> None:
    assert check_env.python_problem(version) is None


def test_python_is_too_old() -> None:
    problem = (
        "python3 is Python 3.10 | panewise needs Python 3.11 or newer | install one and put it "
        "first in PATH as python3"
    )
    assert check_env.python_problem((3, 10, 4)) == problem


@pytest.mark.parametrize("version", ["17.0.15", "21"])
def test_java_fits(tmp_path: Path, version: str) -> None:
    home = java(tmp_path, f'openjdk version "{version}" 2025-04-15')
    assert check_env.java_problem({"JAVA_HOME": str(home), "PATH": ""}) is None
    assert check_env.java_problem({"PATH": str(home / "bin")}) is None


OTHERS = [('java version "1.8.0_281"', "8"), ('openjdk version "11.0.2"', "11"), ("?", "of unknown version")]


@pytest.mark.parametrize(("text", "seen"), OTHERS)
def test_java_does_not_fit(tmp_path: Path, text: str, seen: str) -> None:
    home = java(tmp_path, text)
    given, rule, remedy = check_env.java_problem({"JAVA_HOME": str(home)}).split(" | ")
    assert given == f"{home}/bin/java is Java {seen}"
    assert rule == "Spark 4 runs on Java 17 or 21"
    assert "JAVA_HOME or PATH" in remedy


def test_there_is_no_java(tmp_path: Path) -> None:
    assert check_env.java_problem({"PATH": str(tmp_path)}).startswith("no java in PATH | ")
    assert check_env.java_problem({"JAVA_HOME": str(tmp_path)}).startswith(
        f"no java in JAVA_HOME='{tmp_path}' | "
    )
