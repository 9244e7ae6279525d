"""The site: each page is in its nav, each link leads somewhere, and it builds without a warning."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.docs.markdown import anchors, links
from tests.house.sources import ROOT, check_each
from tools import site_pages

DOCS = ROOT / "docs"
# Pages of the site, and documents beside it.
PAGES = sorted(DOCS.rglob("*.md"))
DOCUMENTS = [*PAGES, *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md"))]
GENERATOR = ROOT / ".venv-docs" / "bin" / "zensical"


def in_nav(entries: Any) -> Iterator[str]:
    """Yields the pages of the nav."""
    if isinstance(entries, str):
        yield entries
    else:
        for entry in entries.values() if isinstance(entries, dict) else entries:
            yield from in_nav(entry)


def test_every_page_is_in_the_nav() -> None:
    """Records of decisions are in their list instead."""
    nav = list(in_nav(yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]))
    names = {str(page.relative_to(DOCS)) for page in PAGES}
    assert len(nav) == len(set(nav))
    assert set(nav) == {name for name in names if not re.match(r"decisions/\d", name)}


def broken_links(page: Path) -> Iterator[str]:
    for link in links(page):
        path, _, anchor = link.partition("#")
        if re.match(r"\w+:", link):
            continue
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (page in PAGES and not target.is_relative_to(DOCS)):
            yield f"{page.relative_to(ROOT)}: {link} is not a page"
        elif anchor and target.suffix == ".md" and anchor not in anchors(target):
            yield f"{page.relative_to(ROOT)}: {link} has no such heading"


def test_every_link_resolves() -> None:
    check_each(DOCUMENTS, broken_links)


def test_broken_links_are_found(tmp_path: Path) -> None:
    page = tmp_path / "a.md"
    page.write_text("# A `b` & c\n\n[1](#a-b-c) [2](#d) `[3](#e)`\n\n```\n[4](f.md)\n```\n", encoding="utf-8")
    assert links(page) == ["#a-b-c", "#d"]
    assert anchors(page) == {"a-b-c"}


def test_written_pages_are_those_of_the_project() -> None:
    """`make names` writes them."""
    pages = dict(site_pages.pages())
    assert {path: path.read_text(encoding="utf-8") for path in pages} == pages


@pytest.mark.nightly
def test_the_site_builds_and_loads_nothing_from_elsewhere() -> None:
    """`make docs` makes the environment of the generator."""
    build = [str(GENERATOR), "build", "--clean", "--strict"]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, text=True)
    pages = sorted((ROOT / "out" / "site").rglob("*.html"))
    assert len(pages) > len(PAGES)
    loaded = re.compile(r'(<script[^>]* src|<link[^>]* rel="stylesheet"[^>]* href|<img[^>]* src)="(\w+:)?//')
    assert not [page for page in pages if loaded.search(page.read_text(encoding="utf-8"))]
