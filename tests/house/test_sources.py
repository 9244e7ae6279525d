"""Functions are short, operators read no clock, and some words, imports and file names are forbidden."""

import ast
import re
from pathlib import Path

import pytest

from tests.house.sources import files, functions, imported, lines_of, part, shown, tree

FUNCTION_STOP = 60
WITHOUT_CLOCK = {"chrono", "spec", "oracle", "state", "engine"}
FORBIDDEN_WORDS = re.compile(r"pickle|time\.sleep|NotImplementedError|\bTODO\b|\bFIXME\b|\bXXX\b")


@pytest.mark.parametrize("path", files(), ids=shown)
def test_length_of_functions(path: Path) -> None:
    long = {
        function.name: lines_of(function)
        for function in functions(path)
        if lines_of(function) > FUNCTION_STOP
    }
    assert long == {}


@pytest.mark.parametrize("path", files(), ids=shown)
def test_words_that_stay_out(path: Path) -> None:
    found = [line for line in path.read_text(encoding="utf-8").splitlines() if FORBIDDEN_WORDS.search(line)]
    assert found == []


@pytest.mark.parametrize("path", files(), ids=shown)
def test_nothing_sleeps_or_pickles(path: Path) -> None:
    assert {"pickle", "cloudpickle", "marshal", "shelve"}.isdisjoint(imported(path))


@pytest.mark.parametrize("path", [path for path in files() if part(path) in WITHOUT_CLOCK], ids=shown)
def test_operators_read_no_system_clock(path: Path) -> None:
    """Operators get the processing time (semantics 2)."""
    assert "time" not in imported(path)
    used = {ast.unparse(node) for node in ast.walk(tree(path)) if isinstance(node, ast.Attribute)}
    assert used.isdisjoint({"datetime.now", "datetime.utcnow", "datetime.today", "date.today"})


def test_no_file_is_called_utils() -> None:
    assert [
        shown(path) for path in files() if re.search(r"(^|_)(utils?|helpers?|common|misc)$", path.stem)
    ] == []
