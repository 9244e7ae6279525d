"""The reference has each public name, with an example that runs, each setting and each command."""

import inspect
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from panewise import errors
from panewise.cli import main
from panewise.cli.program import COMMANDS
from panewise.spark import configure
from panewise.sql.script.script_settings import _OF_SESSION, OWN_SETTINGS
from tests.house.sources import ROOT, check_each, files
from tools import docstrings
from tools.reference_pages import FOLDER, PublicName, public_names

EXAMPLE: Final = re.compile(r"^ *>>> .*?(?=\n *\n|\Z)", re.DOTALL | re.MULTILINE)
CALL: Final = re.compile(r"(?<![.\w])(\w+)\(|\b(?:pw|F|CF|st|policies)\.(\w+)")
REFERENCE: Final = ROOT / "docs" / "reference"


@cache
def examples() -> str:
    """Returns all examples that tests run, and what they print."""
    paths = [*files(), *(ROOT / "docs").rglob("*.md")]
    return "\n".join(
        example for path in paths for example in EXAMPLE.findall(path.read_text(encoding="utf-8"))
    )


@cache
def called() -> frozenset[str]:
    """Returns the names that the code of examples calls, or takes from a module of panewise."""
    code = "\n".join(line for line in examples().splitlines() if re.match(r" *(>>>|\.\.\.) ", line))
    return frozenset(name for names in CALL.findall(code) for name in names if name)


@cache
def words() -> frozenset[str]:
    return frozenset(re.findall(r"\w+", examples()))


@cache
def names_by_value() -> dict[int, set[str]]:
    """Returns the names of values by the values' identities: `mean` is `avg`."""
    names = defaultdict[int, set[str]](set)
    for name in public_names():
        names[id(name.value)].add(name.name)
    return names


def faults(name: PublicName) -> Iterator[str]:
    page = FOLDER / f"{name.page}.md"
    if not re.search(rf"^(:::|##) {re.escape(name.full)}$", page.read_text(encoding="utf-8"), re.MULTILINE):
        yield f"{name.full} is not on {page.name}"
    is_error = inspect.isclass(name.value) and issubclass(name.value, Exception)
    # The word of a function may also be a column or a method of PySpark, so it has to be called.
    shown = called() if inspect.isfunction(name.value) else words()
    if not is_error and shown.isdisjoint(names_by_value()[id(name.value)]):
        yield f"{name.full} has no example: write one in its docstring, or on docs/reference/api/{page.name}"


def test_each_public_name_is_there_with_an_example() -> None:
    """Errors are raised by examples of what raises them."""
    check_each([*public_names()], faults)


def named(page: str, heading: str) -> set[str]:
    """Returns the first column of the table below a heading."""
    text = (REFERENCE / page).read_text(encoding="utf-8")
    section = text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return set(re.findall(r"^\| `([\w.]+)", section, re.MULTILINE))


def test_the_settings_of_a_session() -> None:
    parameters = set(inspect.signature(configure).parameters) - {"spark"}
    assert named("settings.md", "Of a session: `configure`") == parameters


def test_the_settings_of_scripts() -> None:
    assert named("settings.md", "Of a script: `SET`") == {*OWN_SETTINGS, *_OF_SESSION}


@pytest.mark.parametrize("command", COMMANDS)
def test_the_arguments_of_commands(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The page has what `--help` prints."""
    assert main([*command.split(), "--help", "-"]) == 0
    options = set(re.findall(r"--[\w-]+", capsys.readouterr().out)) - {"--help"}
    shown = named_options(Path("cli.md"), f"panewise {command}")
    assert options == shown


def test_examples_of_docstrings_become_blocks() -> None:
    text = "See :func:`run` of n*size.\n\n>>> 2*3\n6\n\nSource: S1."
    assert docstrings.markdown(text) == "See `run` of n\\*size.\n\n```pycon\n>>> 2*3\n6\n```\n\nSource: S1."


def test_each_error_is_in_a_table() -> None:
    text = (REFERENCE / "errors.md").read_text(encoding="utf-8")
    tables = set(re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE))
    assert tables == set(errors.__all__) - {"PanewiseError", "SpecWarning", "SetupWarning"}


def named_options(page: Path, heading: str) -> set[str]:
    text = (REFERENCE / page).read_text(encoding="utf-8")
    section = text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return set(re.findall(r"^\| `.*?(--[\w-]+)", section, re.MULTILINE))
