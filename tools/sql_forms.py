"""The page docs/reference/sql-forms.md: each form of SQL with its output. `make names` writes it.

The queries are the transcripts of tests/sql/transcripts. Tests run each of them, and compare its rows with
those that stand here: on the engine, the oracle and in process, and on batches of Spark.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

ROOT: Final = Path(__file__).resolve().parents[1]
FOLDER: Final = ROOT / "tests" / "sql" / "transcripts"
PAGE: Final = ROOT / "docs" / "reference" / "sql-forms.md"
TITLES: Final = {
    "windows": "Windows",
    "rows_of_windows": "Windows of an inner query",
    "grouping_sets": "Grouping sets",
    "aggregates": "Keys and aggregates",
    "emit": "EMIT",
    "emit_words": "Other words of EMIT",
    "over": "Functions over windows",
    "deduplicate": "Deduplications",
    "top_n": "First rows",
    "joins": "Joins",
    "window_joins": "Window joins",
    "stages": "Queries over windows",
    "cql": "Windows of CQL",
    "pipes": "Pipes",
    "synonyms": "Other words",
    "dialects": "Forms of other dialects",
}
HEAD: Final = """\
# Forms of SQL with their output

Each query stands with its input and with the rows that it emits. Tests run all of them on the engine, the
oracle and in process, and the queries over a whole input also on Spark. [SQL](../sql.md) has the grammar.
Numbers are sentences of the [semantics](../semantics.md#sql).

- Times are of 2024-01-01, in UTC. A name before rows is that of their table.
- `watermark` and `clock` move the watermark and the processing time. `finish` is the end of the input.
- `=>` is what the query emits then. Without it the query emits nothing. In an input without these steps all
  rows come in one batch, and then the input ends.
"""


def page() -> str:
    """Returns the text of the page."""
    lines = [HEAD]
    for name, title in TITLES.items():
        lines += [f"## {title}", ""]
        for document in yaml.safe_load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8")):
            lines += _document(document)
    return "\n".join(lines).rstrip() + "\n"


def _document(document: Mapping[str, Any]) -> Iterator[str]:
    name, cites = document["name"], document.get("cites", ())
    yield f"### {name[0].upper()}{name[1:]}"
    yield ""
    if cites:
        yield f"{', '.join(map(str, cites))}"
        yield ""
    yield "```sql"
    yield from document["sql"].rstrip().split("\n")
    yield "```"
    yield ""
    yield "```text"
    if "update" in document:
        yield f"update={document['update']!r}"
    yield from _steps(document)
    yield "```"
    yield ""


def _steps(document: Mapping[str, Any]) -> Iterator[str]:
    """Yields the lines of the input, and of what is emitted."""
    if "events" not in document:
        tables = {"": document["rows"]} if "rows" in document else document.get("tables", {})
        yield from _input(tables)
        yield from _emitted(document.get("expect", []))
    for event in document.get("events", ()):
        others = {name: rows for name, rows in event.items() if isinstance(rows, list) and name != "expect"}
        yield from _input({"" if name == "rows" else name: rows for name, rows in others.items()})
        yield from (f"{word} {event[word]}" for word in ("watermark", "clock") if word in event)
        yield from ["finish"] if event.get("finish") else []
        yield from _emitted(event.get("expect", []))


def _input(tables: Mapping[str, list[dict[str, Any]]]) -> Iterator[str]:
    for table, rows in tables.items():
        yield from (f"{table}{': ' if table else ''}{_row(row)}" for row in rows)


def _emitted(rows: list[dict[str, Any]]) -> Iterator[str]:
    yield from (f"=> {_row(row)}" for row in rows)


def _row(row: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {_value(value)}" for name, value in row.items())


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{{{_row(value)}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    constant = value is None or isinstance(value, bool)
    return {None: "null", True: "true", False: "false"}[value] if constant else str(value)
