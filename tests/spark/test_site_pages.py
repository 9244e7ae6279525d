"""The examples of the pages that need a Spark session run, and print what the pages show."""

import doctest
import shutil
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.docs.test_markdown import DOCS, ROOT, SPARK_PAGES

FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL
TUTORIAL = sorted((DOCS / "tutorial").glob("[0-9]*.md"))
# These two are a part of `make test`; `make nightly` runs all.
SMOKE = ("how-to/sessions.md", "how-to/stages.md")


def failures(page: Path, names: dict[str, Any]) -> int:
    """Runs the examples of a page, which may use and define names, and returns how many fail."""
    text = page.read_text(encoding="utf-8")
    test = doctest.DocTestParser().get_doctest(text, names, page.name, str(page), 0)
    test.globs = names  # the parser has made a copy
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    assert test.examples
    return runner.run(test, clear_globs=False).failed


@pytest.fixture(autouse=True)
def in_an_empty_folder(restored_settings: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pages write below `out`, relative to the folder of the JVM, which is that of the project.

    They may change settings of the session, as the session of the demo does.
    """
    monkeypatch.chdir(ROOT)
    for name in ("tutorial", "how-to"):
        shutil.rmtree(ROOT / "out" / name, ignore_errors=True)


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(name, marks=() if name in SMOKE else pytest.mark.nightly)
        for name in (str(page.relative_to(DOCS)) for page in SPARK_PAGES)
        if not name.startswith("tutorial/")
    ],
)
def test_a_page(spark: SparkSession, page: str) -> None:
    assert failures(DOCS / page, {"spark": spark, "__name__": "__main__"}) == 0


@pytest.mark.nightly
def test_the_tutorial(spark: SparkSession) -> None:
    """Its parts are read one after the other, so they share their names."""
    names: dict[str, Any] = {"spark": spark, "__name__": "__main__"}
    assert {page.name: failures(page, names) for page in TUTORIAL} == {page.name: 0 for page in TUTORIAL}
