"""Every example in the documents runs, and prints the output that the document shows."""

import doctest
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "path",
    [
        "README.md",
        "docs/how-it-works.md",
        "docs/triggers.md",
        "docs/stream-windows.md",
        "docs/joins.md",
        "docs/deduplicate.md",
        "docs/evolution.md",
        "docs/retained-windows.md",
        "docs/standalone.md",
        "docs/stores.md",
        "docs/sinks.md",
        "docs/sql.md",
        "docs/operations/watch.md",
    ],
)
def test_examples(path: str) -> None:
    flags = doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL
    failed, tried = doctest.testfile(str(ROOT / path), module_relative=False, optionflags=flags)
    assert tried > 0
    assert failed == 0
