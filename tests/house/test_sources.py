"""Functions are short, operators read no clock, and some words, imports and file names are forbidden."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.house.sources import (
    check_each,
    files,
    functions,
    imported,
    lines_of,
    nodes,
    part,
    shown,
    text,
)

FUNCTION_STOP = 60
WITHOUT_CLOCK = {"chrono", "spec", "oracle", "state", "engine"}
FORBIDDEN_WORDS = re.compile(r"pickle|time\.sleep|NotImplementedError|\bTODO\b|\bFIXME\b|\bXXX\b")


def long_functions(path: Path) -> list[str]:
    return [
        f"{shown(path)}:{function.lineno}: {function.name} has {lines_of(function)} lines"
        for function in functions(path)
        if lines_of(function) > FUNCTION_STOP
    ]


def test_length_of_functions() -> None:
    check_each(files(), long_functions)


def forbidden_words(path: Path) -> list[str]:
    return [
        f"{shown(path)}:{number}: {line.strip()}"
        for number, line in enumerate(text(path).splitlines(), 1)
        if FORBIDDEN_WORDS.search(line)
    ]


def test_words_that_stay_out() -> None:
    check_each(files(), forbidden_words)


def picklers(path: Path) -> list[str]:
    found = sorted({"pickle", "cloudpickle", "marshal", "shelve"} & set(imported(path)))
    return [f"{shown(path)}: imports {name}" for name in found]


def test_nothing_sleeps_or_pickles() -> None:
    check_each(files(), picklers)


def clocks(path: Path) -> Iterator[str]:
    if "time" in imported(path):
        yield f"{shown(path)}: imports time"
    used = {ast.unparse(node) for node in nodes(path) if isinstance(node, ast.Attribute)}
    for name in sorted(used & {"datetime.now", "datetime.utcnow", "datetime.today", "date.today"}):
        yield f"{shown(path)}: uses {name}"


def test_operators_read_no_system_clock() -> None:
    """Operators get the processing time (semantics 2)."""
    check_each([path for path in files() if part(path) in WITHOUT_CLOCK], clocks)


def test_no_file_is_called_utils() -> None:
    assert [
        shown(path) for path in files() if re.search(r"(^|_)(utils?|helpers?|common|misc)$", path.stem)
    ] == []
