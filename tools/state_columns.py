"""The page docs/reference/state-columns.md: the columns that operators add to stored rows.

`make names` writes it. Names and meanings are those of engine/columns.py, types those of the
stored states of tests/state/golden. A name that no stored state has is not on the page.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
NAMES: Final = ROOT / "src" / "panewise" / "engine" / "columns.py"
GOLDEN: Final = ROOT / "tests" / "state" / "golden"
PAGE: Final = ROOT / "docs" / "reference" / "state-columns.md"
CONSTANT: Final = re.compile(r'^_?[A-Z_]+: Final = "([^"]+)"(?:  # (.*))?$')
HEAD: Final = """\
# Columns of the state

The columns that operators add to the rows of their [tables](../state-format.md#tables), with the types of
Polars. `make names` writes this page from `engine/columns.py` and the stored states of the tests. Numbers are
sentences of the [semantics](../semantics.md).
"""


def meanings() -> Iterator[tuple[str, str, str]]:
    """Yields section, name and meaning of each column. A comment after a blank line begins a section."""
    section, above, previous = "", list[str](), "\n"
    for line in NAMES.read_text(encoding="utf-8").splitlines():
        constant = CONSTANT.match(line)
        if line.startswith("# ") and not previous:
            section = line[2:]
        elif line.startswith("# "):
            above.append(line[2:])
        elif constant:
            yield section, constant[1], constant[2] or " ".join(above)
            above = []
        previous = line


def stored_types() -> dict[str, set[str]]:
    """Returns the columns of all stored states without the names of users' columns, each with its types."""
    types = defaultdict[str, set[str]](set)
    for manifest in sorted(GOLDEN.glob("*/manifest*")):
        header = json.loads(manifest.read_text(encoding="utf-8"))["header"]
        for name, dtype in header.get("types", {}).items():
            column = re.sub(r"^\d+:", "", name)
            parts = re.findall(r"^__trigger.*(:\w+)$", column)
            for key in {column, re.sub(r"(?<=.):.*", ":", column), *parts}:
                types[key].add(re.sub(r"\(.*", "", dtype))
    return types


def page() -> str:
    """Returns the text of the page."""
    types, lines, previous = stored_types(), [HEAD], ""
    for section, name, meaning in meanings():
        if name not in types:
            continue
        if section != previous:
            title = "Several operators" if section.startswith("Rows on") else section
            lines += [f"## {title}", "", "| column | type | meaning |", "|---|---|---|"]
        shown = "as the input" if len(types[name]) > 2 else " or ".join(sorted(types[name]))
        lines.append(f"| `{name}` | {shown} | {meaning[:1].lower()}{meaning[1:].rstrip('.')} |")
        previous = section
    return re.sub(r"\n(?=## )", "\n\n", "\n".join(lines)).replace("\n\n\n", "\n\n") + "\n"
