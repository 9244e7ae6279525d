"""Every example in the documents runs, and prints the output that the document shows; tables are whole."""

import doctest
import re
from pathlib import Path

import pytest

from tests.docs.markdown import rows_without_a_table

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def _takes_a_session(page: Path) -> bool:
    text = page.read_text(encoding="utf-8")
    uses = re.search(r"^ *>>> .*\bspark\.", text, re.MULTILINE)
    return uses is not None and not re.search(r"^ *>>> spark = ", text, re.MULTILINE)


PAGES = [
    path
    for path in (ROOT / "README.md", *sorted(DOCS.rglob("*.md")))
    if path != DOCS / "reference" / "api" / "spark.md"  # tests/spark/test_reference.py runs it
    and re.search(r"^ *>>> ", path.read_text(encoding="utf-8"), re.MULTILINE)
]
# Those that need a session are run by tests/spark/test_site_pages.py, and so are the parts of the tutorial.
SPARK_PAGES = [page for page in PAGES if _takes_a_session(page) or page.parent.name == "tutorial"]


@pytest.mark.parametrize(
    "page", sorted({*PAGES} - {*SPARK_PAGES}), ids=lambda page: str(page.relative_to(ROOT))
)
def test_examples(page: Path) -> None:
    flags = doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL
    failed, tried = doctest.testfile(str(page), module_relative=False, optionflags=flags)
    assert tried > 0
    assert failed == 0


def test_each_row_is_in_a_table() -> None:
    pages = (ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md")))
    assert {page.name: stray for page in pages if (stray := rows_without_a_table(page))} == {}


MODULE = re.compile(r"`(?:src/panewise/)?((?:[a-z_]+/)+[a-z_]+\.py)`")


def test_modules_that_pages_name_are_there() -> None:
    """By their paths below `src/panewise`, or from the root."""
    missing = [
        f"{page.relative_to(ROOT)}: {path}"
        for page in DOCS.rglob("*.md")
        for path in MODULE.findall(page.read_text(encoding="utf-8"))
        if not any((folder / path).is_file() for folder in (ROOT / "src" / "panewise", ROOT))
    ]
    assert missing == []
