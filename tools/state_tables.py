"""The page docs/reference/state-tables.md: the tables of a state, and the columns that operators add to them.

`make names` writes it. What a table contains is in the docstring of the module of its family, behind the line
that begins with "Stored tables." Names and meanings of columns are those of engine/columns.py, types those of
the stored states of tests/state/golden. A name that no stored state has is not on the page.
"""

import ast
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
ENGINE: Final = ROOT / "src" / "panewise" / "engine"
NAMES: Final = ENGINE / "columns.py"
GOLDEN: Final = ROOT / "tests" / "state" / "golden"
PAGE: Final = ROOT / "docs" / "reference" / "state-tables.md"
CONSTANT: Final = re.compile(r'^_?[A-Z_]+: Final = "([^"]+)"(?:  # (.*))?$')
FAMILIES: Final = {
    "policy": "Partitions of policy windows",
    "chain": "Tables of a chain",
    "windows": "Tables of sliding windows",
    "deduplicate": "Tables of a deduplication",
    "over": "Tables of an OVER operator",
    "join": "Tables of a join",
    "cogroup": "Tables of a cogroup",
}
STORED: Final = re.compile(r"^Stored tables\. .*$", re.MULTILINE)
HEAD: Final = """\
# Tables and columns of the state

What the [tables](../state-format.md#tables) of a state contain, and the columns that operators add to their
rows, with the types of Polars. `make names` writes this page from the code. Numbers in parentheses are
sentences of the [semantics](../semantics.md).
"""


def tables() -> Iterator[str]:
    """Yields the sections of the families, from the docstrings of their modules."""
    for folder, title in FAMILIES.items():
        tree = ast.parse((ENGINE / folder / "family.py").read_text(encoding="utf-8"))
        yield f"## {title}\n\n{STORED.split(ast.get_docstring(tree) or '')[1].strip()}\n"


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
    types, lines, previous = stored_types(), [HEAD, *tables()], ""
    for section, name, meaning in meanings():
        if name not in types:
            continue
        if section != previous:
            title = "Several operators" if section.startswith("Rows on") else section
            lines += [f"## Columns: {title}", "", "| column | type | meaning |", "|---|---|---|"]
        shown = "as the input" if len(types[name]) > 2 else " or ".join(sorted(types[name]))
        lines.append(f"| `{name}` | {shown} | {meaning[:1].lower()}{meaning[1:].rstrip('.')} |")
        previous = section
    return re.sub(r"\n(?=## )", "\n\n", "\n".join(lines)).replace("\n\n\n", "\n\n") + "\n"
