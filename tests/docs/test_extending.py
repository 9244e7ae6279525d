"""The files and names of docs/extending.md exist, and functions have the parameters that it shows."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.house.sources import ROOT, SRC, check_each

TEXT = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
CODE = re.compile(r"`([^`\n]+)`")
PATH = re.compile(r"(\w[\w.-]*/)*(\w[\w.-]*/|\w[\w-]*\.(md|py|yaml|txt))")
NAME = re.compile(r"([A-Za-z_]\w{2,})(?:\(([\w, ]*)\))?")
IN_ROOT = ("docs", "src", "tests", "tools", "CONTRIBUTING.md", "README.md")


def file_of(path: str) -> Path:
    """Returns the file or folder that the page means. Of a file with a new name it is the folder."""
    there = (ROOT if path.split("/", maxsplit=1)[0] in IN_ROOT else SRC) / path
    return (
        next((parent for parent in there.parents if "NAME" not in str(parent)), there)
        if "NAME" in path
        else there
    )


@cache
def files_of(path: str) -> tuple[Path, ...]:
    """Returns a file, or the files of a folder; none if there is neither."""
    there = file_of(path)
    return tuple(one for one in ([there] if there.is_file() else sorted(there.glob("*"))) if one.is_file())


@cache
def text(file: Path) -> str:
    return file.read_text(encoding="utf-8")


def rows() -> Iterator[tuple[str, list[str]]]:
    """Yields the rows of tables, each with the existing files that it names, or else the text above names."""
    above: list[str] = []
    for line in TEXT.splitlines():
        named = [path for path in CODE.findall(line) if PATH.fullmatch(path) and "NAME" not in path]
        if line.startswith(("| `", "| | `")):
            yield line, named or above
        elif line and not line.startswith("|"):
            above = named or above


def parameters(files: list[Path], name: str) -> list[list[str]]:
    """Returns the parameters of the functions of a name, without `self`."""
    found = []
    for node in (node for file in files if file.suffix == ".py" for node in ast.walk(ast.parse(text(file)))):
        if isinstance(node, ast.FunctionDef) and node.name == name:
            args = node.args
            every = [*args.posonlyargs, *args.args, *([args.vararg] if args.vararg else []), *args.kwonlyargs]
            found.append([one.arg for one in every if one.arg != "self"])
    return found


def faults(row: tuple[str, list[str]]) -> Iterator[str]:
    line, paths = row
    # What is in files of the reader is in the templates of the scaffold.
    of_reader = ["tools/templates/"] if "NAME" in line else []
    files = [file for path in (*paths, *of_reader) for file in files_of(path)]
    for code in CODE.findall(line):
        name = NAME.fullmatch(code)
        if name is None or PATH.fullmatch(code) or "NAME" in code:
            continue
        if not any(re.search(rf"\b{name[1]}\b", text(file)) for file in files):
            yield f"{code} is not in {paths}"
        elif name[2]:
            shown, known = name[2].split(", "), parameters(files, name[1])
            if not any(one[: len(shown)] == shown for one in known):
                yield f"{code} has the parameters {known}"


@pytest.mark.parametrize("path", sorted({path for path in CODE.findall(TEXT) if PATH.fullmatch(path)}))
def test_files_exist(path: str) -> None:
    assert file_of(path).exists()


def test_names_exist() -> None:
    check_each([*rows()], faults)


def test_faults_are_found() -> None:
    row = "| `families.py` | `FAMILIES`, `FRIENDS` | `part(reference)`, `family_named(kind)` |"
    assert list(faults((row, ["families.py"]))) == [
        "FRIENDS is not in ['families.py']",
        "family_named(kind) has the parameters [['name']]",
    ]
