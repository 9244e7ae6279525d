"""Every sentence of docs/semantics.md is cited by a test, and every citation names a sentence.

A citation is in the `cites` of a transcript, or in a comment or the docstring of a function or class in a
test file: `semantics 13.2`, `semantics 12.5, 12.6` or `semantics 9 to 9.2`, which cites 9, 9.1 and 9.2. A
section does not cite its sentences: `semantics 29` is not 29.3. The docstring of a file cites nothing.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.house.sources import ROOT, check_each

THIS = Path(__file__).resolve()
TESTS = ROOT / "tests"
SENTENCES = re.findall(
    r"^- \*\*([\d.]+)\*\*", (ROOT / "docs" / "semantics.md").read_text(encoding="utf-8"), re.MULTILINE
)
NUMBER = r"\d+(?:\.\d+)?"
CITATION = re.compile(rf"semantics ({NUMBER}(?:(?:,| and|, and| to) {NUMBER})*)")
CITES = re.compile(r"^  cites: \[([^\]]*)\]", re.MULTILINE)
SPAN = re.compile(rf"({NUMBER})(?: to ({NUMBER}))?")


def place(number: str) -> tuple[int, ...]:
    return tuple(map(int, number.split(".")))


def sentences(text: str) -> set[str]:
    """Returns the numbers that a text cites."""
    found: set[str] = set()
    for citation in CITATION.finditer(" ".join(text.split())):
        for first, last in SPAN.findall(citation[1]):
            found |= {first, *([last] if last else ())}
            found |= {number for number in SENTENCES if last and place(first) <= place(number) <= place(last)}
    return found


def texts(source: str) -> Iterator[str]:
    """Yields the docstrings of functions and classes, and the comments. A comment may have several lines."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield ast.get_docstring(node) or ""
    block, following = "", 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            if token.start[0] != following:
                yield block
                block = ""
            block, following = f"{block} {token.string.lstrip('#')}", token.start[0] + 1
    yield block


@cache
def citations(path: Path) -> set[str]:
    """Returns the sentences that a test file or a file of transcripts cites."""
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".yaml":
        return set(re.findall(NUMBER, " ".join(CITES.findall(source))))
    return set().union(*map(sentences, texts(source)))


FILES = [path for kind in ("test_*.py", "*.yaml") for path in sorted(TESTS.rglob(kind)) if path != THIS]


def test_every_sentence_is_cited_by_a_test() -> None:
    cited = set().union(*map(citations, FILES))
    assert [number for number in SENTENCES if number not in cited] == []


def citations_of_nothing(path: Path) -> list[str]:
    missing = sorted(citations(path) - set(SENTENCES))
    return [f"{path.relative_to(TESTS)}: there is no sentence {number}" for number in missing]


def test_every_citation_names_a_sentence() -> None:
    check_each(FILES, citations_of_nothing)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("Late rows (semantics 13.2).", {"13.2"}),
        ("semantics 12.5, 12.6, and 13: rows", {"12.5", "12.6", "13"}),
        ("semantics 33\n    and 35", {"33", "35"}),
        ("semantics 9 to 9.2, 13.2", {"9", "9.1", "9.2", "13.2"}),
        ("semantics 29", {"29"}),
        ("semantics 7 rows, 3 of them late", {"7"}),
        ("docs/semantics.md, 13.2", set()),
    ],
)
def test_forms_of_citations(text: str, numbers: set[str]) -> None:
    assert sentences(text) == numbers


def test_where_citations_are_found() -> None:
    source = '''"""semantics 1"""
# semantics 2,
# 2.1
def test_one():
    """semantics 3"""
    x = "semantics 4"  # semantics 5
# semantics 6
'''
    assert set().union(*map(sentences, texts(source))) == {"2", "2.1", "3", "5", "6"}
