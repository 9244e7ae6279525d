"""The reference has each public name, with an example that runs, each setting and each command."""

import inspect
import re
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
REFERENCE: Final = ROOT / "docs" / "reference"
# Names that only a running query or a service shows, with the page that uses them.
RUNNING: Final = {
    "DataFrameStream": "how-to/test.md",
    "Observer": "reference/api/spark.md",
    "QueryError": "how-to/watch.md",
    "WindowQuery": "how-to/watch.md",
    "disable": "how-to/window-functions.md",
    "enable": "how-to/window-functions.md",
    "kafka_source": "sinks.md",
}


@cache
def words_of_examples() -> frozenset[str]:
    """Returns the words of all examples that tests run, and of what they print."""
    paths = [*files(), *(ROOT / "docs").rglob("*.md")]
    examples = (EXAMPLE.findall(path.read_text(encoding="utf-8")) for path in paths)
    return frozenset(re.findall(r"\w+", " ".join(map(" ".join, examples))))


def faults(name: PublicName) -> Iterator[str]:
    page = FOLDER / f"{name.page}.md"
    if not re.search(rf"^(:::|##) {re.escape(name.full)}$", page.read_text(encoding="utf-8"), re.MULTILINE):
        yield f"{name.full} is not on {page.name}"
    is_error = inspect.isclass(name.value) and issubclass(name.value, Exception)
    if not is_error and name.name not in RUNNING and name.name not in words_of_examples():
        yield f"{name.full} has no example: write one in its docstring, or on docs/reference/api/{page.name}"


def test_each_public_name_is_there_with_an_example() -> None:
    """Errors are raised by examples of what raises them."""
    check_each([*public_names()], faults)


@pytest.mark.parametrize("name", sorted(RUNNING))
def test_names_of_running_queries_are_on_their_page(name: str) -> None:
    assert name in (ROOT / "docs" / RUNNING[name]).read_text(encoding="utf-8")


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
