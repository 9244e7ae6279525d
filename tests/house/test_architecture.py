"""The tables in src/panewise/README.md have all parts of the source tree and their imports, and no others."""

import re
from collections.abc import Mapping

import pytest

from tests.house.sources import SRC, imported
from tests.house.test_folders import PLACES, place
from tests.house.test_imports import parts_imported

Imports = Mapping[str, set[str]]
TABLES = re.split(r"\| Part of `\w+` \|", (SRC / "README.md").read_text(encoding="utf-8"))
NAMES = re.compile(r"`(\w+)(?:\.py)?`")


def drawn(table: str) -> dict[str, set[str]]:
    """Returns the parts of a table, each with its direct imports."""
    rows = re.findall(r"^\| (`[^|]+) \|[^|]+\|([^|]+)\|$", table, re.MULTILINE)
    return {part: set(NAMES.findall(imports)) for parts, imports in rows for part in NAMES.findall(parts)}


def reached(imports: Imports, part: str) -> set[str]:
    found, left = set[str](), [*imports[part]]
    while left:
        one = left.pop()
        left += imports[one] - found
        found.add(one)
    return found


def faults(table: str, actual: Imports) -> list[str]:
    shown = drawn(table)
    if set(shown) != set(actual):
        return [f"other parts: {sorted(set(shown) ^ set(actual))}"]
    missing = [f"{part} imports {one}" for part in shown for one in actual[part] - reached(shown, part)]
    return missing + [f"{part} does not import {one}" for part in shown for one in shown[part] - actual[part]]


def test_the_parts() -> None:
    actual = {part or "__init__": {one or "__init__" for one in of} for part, of in parts_imported().items()}
    assert faults(TABLES[0], actual) == []


@pytest.mark.parametrize(("table", "part"), [(1, "engine"), (2, "spark")])
def test_the_folders_of_a_part(table: int, part: str) -> None:
    actual: dict[str, set[str]] = {}
    for path in PLACES:
        within, here = place(path)
        if within == part and here != "__init__":
            names = {name.split(".")[2] for name in imported(path) if name.startswith(f"panewise.{part}.")}
            actual[here] = actual.get(here, set()) | (names - {here})
    assert faults(TABLES[table], actual) == []


def test_faults_are_found() -> None:
    table = "| `a.py` | one | |\n| `b`, `c` | two | `a` |\n"
    assert faults(table, {"a": set(), "b": {"a"}, "c": {"a"}}) == []
    assert faults(table, {"a": {"c"}, "b": {"a"}, "c": set()}) == ["a imports c", "c does not import a"]
    assert faults(table, {"a": set()}) == ["other parts: ['b', 'c']"]


def test_the_page_is_short() -> None:
    assert len((SRC / "README.md").read_text(encoding="utf-8").splitlines()) <= 125
