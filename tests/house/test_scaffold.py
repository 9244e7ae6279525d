"""Skeletons of all kinds import and lint. The house tests list what is to be written, and nothing else."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.sources import ROOT
from tools import scaffold

# Two of each kind: after one extension the next one begins with the scaffold, too.
NAMES = {
    "aggregate": ("value_range", "value_ratio"),
    "family": ("numbering", "sampling"),
    "match": ("same_instant", "same_digest"),
    "sink": ("json_sink", "orc_sink"),
    "trigger": ("after_two", "after_three"),
}
# A program that imports the classes of the skeletons, and the parts to which they belong.
USES = """
from panewise import AfterTwo, NumberingOperator, SameInstant, functions
from panewise.families import family_named, part
from panewise.matches import MATCHES
from panewise.spark import JsonSink
from panewise.spark.sinks.base import PathSink

assert issubclass(JsonSink, PathSink)
assert functions.value_range("v").name == "value_range(v)"
for table in (family_named("numbering"), MATCHES["same_instant"]):
    for name in ("spec", "engine", "oracle", "testing"):
        part(getattr(table, name))
import panewise.engine.numbering.operator
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Path]]:
    """Returns a copy of this folder with two skeletons of each kind, and the files that were written."""
    root = tmp_path_factory.mktemp("scaffold")
    for name in ("src", "tests", "tools", "docs"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__", "golden"))
    for path in ROOT.glob("*.*"):
        if path.is_file():
            shutil.copy(path, root)
    made = ((kind, name) for kind, names in NAMES.items() for name in names)
    return root, list(
        dict.fromkeys(path for kind, name in made for path in scaffold.scaffold(kind, name, root))
    )


def ran(root: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root / "src")},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_skeleton_imports_and_lints(copy: tuple[Path, list[Path]]) -> None:
    root, written = copy
    files = [path for path in written if path.suffix == ".py"]
    for command in (
        ["-c", USES],
        ["-m", "ruff", "check", *files],
        ["-m", "ruff", "format", "--check", *files],
    ):
        found = ran(root, *map(str, command))
        assert found.returncode == 0, found.stdout + found.stderr


@pytest.mark.nightly
def test_a_skeleton_has_types(copy: tuple[Path, list[Path]]) -> None:
    found = ran(copy[0], "-m", "mypy")
    assert found.returncode == 0, found.stdout + found.stderr


@pytest.mark.nightly
def test_the_house_tests_list_what_is_to_be_written(copy: tuple[Path, list[Path]]) -> None:
    root, files = copy
    found = ran(
        root,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "tests/house",
        "--deselect",
        "tests/house/test_scaffold.py",
    )
    failed = set(re.findall(r"^FAILED tests/house/(\w+\.py)", found.stdout, re.MULTILINE))
    of_parts = {"test_mirror.py", "test_public_api.py"}
    assert failed == of_parts | {"test_extending.py", "test_sources.py"}, found.stdout
    assert not re.search(r" has \d+ lines", found.stdout), found.stdout
    for path in files:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if "NotImplementedError" in line:
                shown = path.relative_to(root / "src" / "panewise")
                assert f"{shown}:{number}: {line.strip()}" in found.stdout


def test_a_scaffold_refuses(tmp_path: Path) -> None:
    for kind, name in (("window", "a"), ("match", "NearestKey"), ("match", "../a")):
        with pytest.raises(SystemExit, match="kinds are aggregate, family, match, sink, trigger"):
            scaffold.scaffold(kind, name, tmp_path)
    sinks = "src/panewise/spark/sinks"
    (tmp_path / sinks).mkdir(parents=True)
    shutil.copy(ROOT / sinks / "base.py", tmp_path / sinks / "base.py")
    (tmp_path / "src/panewise/spark/__init__.py").write_text("", encoding="utf-8")
    with pytest.raises(SystemExit, match=r"__init__\.py has .* 0 times .* change tools/templates"):
        scaffold.scaffold("sink", "json_sink", tmp_path)
    (tmp_path / sinks / "json_sink.py").write_text("", encoding="utf-8")
    with pytest.raises(SystemExit, match="a scaffold replaces no file"):
        scaffold.scaffold("sink", "json_sink", tmp_path)
