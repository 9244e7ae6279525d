"""Functions are short, and some words, imports and file names are forbidden."""

import re
from pathlib import Path

import pytest

from tests.house.sources import files, functions, imported, lines_of, shown

FUNCTION_STOP = 60
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


def test_no_file_is_called_utils() -> None:
    assert [
        shown(path) for path in files() if re.search(r"(^|_)(utils?|helpers?|common|misc)$", path.stem)
    ] == []
