"""The programs of `examples/` run, and print what they say."""

import ast
import contextlib
import io
import runpy
import textwrap
from pathlib import Path

import pytest

from tests.house.sources import ROOT

PROGRAMS = sorted((ROOT / "examples").glob("*.py"))


def output_of(program: Path) -> str:
    """Returns the output that the docstring of a program shows."""
    text = ast.get_docstring(ast.parse(program.read_text(encoding="utf-8")))
    assert text is not None
    return textwrap.dedent(text.partition("Output:\n")[2]).strip()


def printed(program: Path) -> str:
    lines = io.StringIO()
    with contextlib.redirect_stdout(lines):
        runpy.run_path(str(program), run_name="__main__")
    return lines.getvalue().strip()


def test_there_are_ten() -> None:
    assert len(PROGRAMS) == 10


@pytest.mark.parametrize(
    "program",
    [
        pytest.param(path, id=path.stem, marks=pytest.mark.nightly if "spark" in path.stem else ())
        for path in PROGRAMS
    ],
)
def test_a_program(program: Path) -> None:
    assert printed(program) == output_of(program)
