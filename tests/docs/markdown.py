"""The links, headings and anchors of Markdown files, read as the site's generator reads them."""

import re
import unicodedata
from functools import cache
from pathlib import Path

FENCE = re.compile(r"^( *)(```+|~~~+).*?^\1\2\s*$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^()\s]*(?:\([^()\s]*\)[^()\s]*)*)\)")


@cache
def prose(path: Path) -> str:
    """Returns a page without its blocks of code and its code in lines."""
    text = FENCE.sub("", path.read_text(encoding="utf-8"))
    return re.sub(r"``.+?``|`[^`\n]*(?:\n[^`\n]+)?`", lambda code: "`" * bool(code), text)


def links(path: Path) -> list[str]:
    """Returns the targets of the links and pictures of a page."""
    return LINK.findall(prose(path))


def rows_without_a_table(path: Path) -> list[str]:
    """Returns the lines that look like the row of a table, but stand in none: a blank line ends a table."""
    lines, stray, inside = prose(path).split("\n"), list[str](), False
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        is_row = line.lstrip().startswith("|")
        if is_row and not inside and not re.fullmatch(r" *\|(?: *:?-+:? *\|)+ *", following):
            stray.append(line)
        inside = is_row
    return stray


@cache
def anchors(path: Path) -> frozenset[str]:
    """Returns the anchors of a page: of its headings, and those that are written as `id`."""
    text = FENCE.sub("", path.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ +(.*?) *#*$", text, re.MULTILINE)
    known: list[str] = []
    for heading in headings:
        own = re.search(r"\{ *#([\w-]+) *\}$", heading)
        known.append(own[1] if own else _unique(_slug(heading), known))
    return (
        frozenset(known)
        | set(re.findall(r'\bid="([^"]+)"', text))
        | set(re.findall(r"^::: ([\w.]+)", text, re.MULTILINE))
    )


def _slug(heading: str) -> str:
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").replace("*", "")
    ascii_text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", ascii_text).strip().lower())


def _unique(slug: str, known: list[str]) -> str:
    number = 0
    while (name := f"{slug}_{number}" if number else slug) in known:
        number += 1
    return name
