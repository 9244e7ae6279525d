"""Writes the pages of the site that list something in the project: `make names`. A test compares them.

- docs/decisions/index.md: the records of decisions;
- docs/reference/api: the public names, by their subjects;
- docs/reference/cli.md: the commands with their arguments;
- docs/pictures/panes.svg, which is drawn from a run;
- src/panewise/error_codes.json, the codes of errors, and docs/reference/errors.md, which lists them;
- docs/reference/features.md: what became of each feature of the five systems (docs/reference/features.yaml);
- docs/reference/sql-forms.md: the forms of SQL with their output;
- docs/reference/state-tables.md: the tables of a state, and the columns that operators add to them;
- the other pictures in docs/pictures, which are drawn from the runs of the explanations.
"""

import re
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from tools import (
    command_line,
    error_table,
    features,
    panes_picture,
    reference_pages,
    sql_forms,
    state_tables,
)
from tools.pictures import explained

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"


def pages() -> Iterator[tuple[Path, str]]:
    """Yields the written pages, each with its text."""
    yield DOCS / "decisions" / "index.md", _decisions()
    yield DOCS / "reference" / "cli.md", command_line.page()
    yield from reference_pages.pages()
    yield panes_picture.PICTURE, panes_picture.picture()
    yield from error_table.pages()
    yield features.PAGE, features.page(features.load())
    yield sql_forms.PAGE, sql_forms.page()
    yield state_tables.PAGE, state_tables.page()


def _decisions() -> str:
    lines = [
        "# Decisions",
        "",
        "Each record says what was decided, and why. A later record may replace an earlier one.",
        "",
    ]
    for path in sorted((DOCS / "decisions").glob("[0-9]*.md")):
        heading = re.match(r"# (\d{4} .*)", path.read_text(encoding="utf-8"))
        if heading is None:
            raise SystemExit(f"{path} does not begin with a heading such as '# 0001 A title'")
        lines.append(f"- [{heading[1]}]({path.name})")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Writes the pages that have changed, and their names to standard output."""
    for path, text in chain(pages(), explained.pictures()):
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            sys.stdout.write(f"{path.relative_to(ROOT)}\n")


if __name__ == "__main__":
    main()
