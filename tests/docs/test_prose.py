"""All that people write for readers is short enough to be read: it has at most 110,000 words.

Words of code, of the records of decisions and of pages that `make names` writes do not count.
"""

import json
import re
from collections.abc import Iterator

from tests.docs.markdown import FENCE
from tests.house.sources import ROOT
from tools.reference_pages import MARK
from tools.site_pages import DOCS

MOST = 110_000
WRITTEN = {
    DOCS / "reference" / f"{name}.md" for name in ("cli", "errors", "features", "sql-forms", "state-tables")
}
PAGES = [
    path
    for path in (
        *sorted(DOCS.rglob("*.md")),
        *sorted((ROOT / "src").rglob("*.md")),
        *sorted(ROOT.glob("*.md")),
    )
    if path not in WRITTEN and path.parent != DOCS / "decisions"
]


def texts() -> Iterator[str]:
    for page in PAGES:
        yield FENCE.sub("", page.read_text(encoding="utf-8").partition(MARK)[0])
    for notebook in sorted((DOCS / "notebooks").glob("*.ipynb")):
        cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
        yield from ("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")


def words(text: str) -> int:
    """Returns how many words a text has. The lines of tables and the marks of lists are none."""
    return sum(re.search(r"\w", word) is not None for word in text.split())


def test_there_are_not_too_many_words() -> None:
    assert sum(map(words, texts())) <= MOST


def test_what_a_word_is() -> None:
    assert words("| `a` | b-c |\n|---|---|\n- d\n\n# e") == 4


def test_written_pages_are_not_counted() -> None:
    assert all(page.is_file() for page in WRITTEN)
    assert WRITTEN.isdisjoint(PAGES)
