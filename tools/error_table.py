"""The table of error codes, src/panewise/error_codes.json, and the page of it: `make names`.

A rule keeps its code. A new rule gets the next number of its subject. If the sources no longer have a rule,
its code stays in the table, marked as removed, if it was in a release; otherwise it is deleted. To reword a
rule, change the sources and the table: otherwise it is a new rule.

`python -m tools.error_table` lists the codes of the table as released: a step of a release.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from panewise.error_codes import HOLE
from tools.error_rules import EXPLAIN, RaisedRule, raised_rules

ROOT: Final = Path(__file__).resolve().parents[1]
TABLE: Final = ROOT / "src" / "panewise" / "error_codes.json"
PAGE: Final = ROOT / "docs" / "reference" / "errors.md"
NUMBERS: Final = ROOT / "tests" / "house" / "error_codes.txt"
RELEASED: Final = ROOT / "tests" / "house" / "released_codes.txt"
MARK: Final = "<!-- `make names` writes what follows. -->"
Table = dict[str, dict[str, Any]]

# The subjects of codes, in the order of the page, with their titles.
TITLES: Final[Mapping[str, str]] = {
    "WINDOW": "Windows",
    "TRIGGER": "Triggers and evictors",
    "AGG": "Aggregates",
    "JOIN": "Joins and cogroups",
    "OVER": "OVER",
    "POLICY": "Policy windows",
    "CHAIN": "Chains",
    "DEDUP": "Deduplication",
    "TIME": "Time and watermarks",
    "SPEC": "Specifications of all kinds",
    "SQL": "SQL",
    "DATA": "Rows, values and expressions",
    "STATE": "State",
    "SPARK": "Spark",
    "SINK": "paths Sinks",
    "LOCAL": "Operators without Spark",
    "RETAINED": "Retained windows",
    "STORE": "Stores",
    "TOOL": "Commands, sizes and pictures",
    "TEST": "Tests with events",
}
# How the paths of a subject's modules begin. The longest beginning decides.
_PATHS: Final = {
    "WINDOW": "spec/windows spec/operators/windows spec/operators/panes spec/rules",
    "TRIGGER": "spec/triggers spec/evictors",
    "AGG": "spec/aggregates functions engine/aggregate oracle/aggregate",
    "JOIN": """
        spec/operators/join spec/conditions spec/matches spec/families/join spec/families/two_sides
        spec/operators/cogroup spec/operators/windowed_join spec/families/windowed_join
        spec/families/cogroup engine/join oracle/join
    """,
    "OVER": """
        spec/operators/over spec/frames spec/window_spec spec/families/over engine/over oracle/over
        spark/results/over spark/compat
    """,
    "POLICY": "spec/operators/policy spec/families/policy engine/policy oracle/policy",
    "CHAIN": "spec/operators/chain spec/families/chain",
    "DEDUP": "spec/operators/deduplicate engine/deduplicate oracle/deduplicate",
    "TIME": "chrono spec/watermarks spec/timers spec/source_position oracle/progress",
    "SPEC": "spec families matches replaced_names",
    "SQL": "sql spark/streaming_sql standalone/sql standalone/streaming_sql/streaming_sql",
    "DATA": "engine oracle calls",
    "STATE": """
        state checkpoints engine/checkpoint engine/saved_operator engine/evolution engine/exported_state
        engine/redistribution engine/run_library engine/merged_header engine/imported_shard
        engine/ingest/arrival spec/evolution engine/windowing/window_limit oracle/windows/limit
        spec/families/input_changes spec/families/window_changes spark/queries/query_record
        spark/queries/taken_over spark/queries/added_clock spark/checkpoint_reader
        spark/workers/microbatch
    """,
    "SPARK": "spark",
    "SINK": "paths spark/sinks spark/kafka_options spark/kafka_topics",
    "LOCAL": "standalone",
    "RETAINED": "standalone/retained",
    "STORE": "stores",
    "TOOL": "cli sizing observe demo",
    "TEST": "testing",
}
_BY_PATH: Final = {path: subject for subject, paths in _PATHS.items() for path in paths.split()}


def subject_of(path: str) -> str:
    """Returns the subject of a module's rules."""
    starts = [start for start in _BY_PATH if path.removesuffix(".py").startswith(start)]
    return _BY_PATH[max(starts, key=len)]


def load() -> Table:
    """Returns the table as it is stored."""
    table: Table = json.loads(TABLE.read_text(encoding="utf-8")) if TABLE.is_file() else {}
    return table


def released() -> frozenset[str]:
    """Returns the codes that were in a release."""
    return frozenset(RELEASED.read_text(encoding="utf-8").split())


def stored_numbers() -> dict[str, int]:
    """Returns the highest number that each subject has had, also of codes that are deleted."""
    lines = NUMBERS.read_text(encoding="utf-8").splitlines()
    return {subject: int(last) for subject, last in map(str.split, lines)}


def updated(table: Table, rules: Iterable[RaisedRule]) -> Table:
    """Returns the table with all rules: new ones have new codes.

    A code without a rule is removed if it was in a release, and else deleted.
    """
    raised: dict[str, list[RaisedRule]] = defaultdict(list)
    for rule in rules:
        raised[rule.rule].append(rule)
    codes = {entry["rule"]: code for code, entry in table.items()}
    last = last_numbers(table, stored_numbers())
    result: Table = {}
    for text, sites in raised.items():
        if text not in codes:
            subject = subject_of(sites[0].path)
            last[subject] = last.get(subject, 0) + 1
            codes[text] = f"PW-{subject}-{last[subject]:03}"
        result[codes[text]] = _entry(text, sites)
    unused = released() & (table.keys() - result.keys())
    removed = {code: {"rule": table[code]["rule"], "removed": True} for code in unused}
    return dict(sorted((result | removed).items()))


def _entry(text: str, sites: list[RaisedRule]) -> dict[str, Any]:
    best = max(sites, key=lambda site: bool(site.given) + bool(site.remedy))
    entry: dict[str, Any] = {"rule": text, "given": best.given, "remedy": best.remedy}
    entry["errors"] = sorted({"a warning" if site.error == EXPLAIN else site.error for site in sites})
    return entry | {"source": best.path}


def last_numbers(table: Mapping[str, Any], stored: Mapping[str, int]) -> dict[str, int]:
    """Returns the highest number of each subject, in the table or stored."""
    last = dict(stored)
    for code in table:
        _, subject, number = code.split("-")
        last[subject] = max(last.get(subject, 0), int(number))
    return last


def written(table: Table) -> str:
    """Returns the text of the table's file."""
    return json.dumps(table, indent=1, ensure_ascii=False) + "\n"


def pages() -> Iterator[tuple[Path, str]]:
    """Yields the table and its page, each with its text."""
    table = updated(load(), raised_rules())
    yield TABLE, written(table)
    numbers = last_numbers(table, stored_numbers())
    yield NUMBERS, "".join(f"{subject} {last}\n" for subject, last in sorted(numbers.items()))
    text = PAGE.read_text(encoding="utf-8").partition(MARK)[0].rstrip()
    yield PAGE, "\n".join([text, "", MARK, *_lines(table)])


def _lines(table: Table) -> Iterator[str]:
    """Yields the lines of the page: a heading for each subject, with a table of its codes."""
    by_subject = {key: [*codes] for key, codes in groupby(table, lambda code: code.split("-")[1])}
    for subject, title in TITLES.items():
        yield from ("", f"## PW-{subject}: {title}", "")
        yield "| Code | Rule | For example | Remedy | Raised as, rule in |"
        yield "|---|---|---|---|---|"
        for code in by_subject.get(subject, []):
            yield _row(code, table[code])
    yield ""


def _row(code: str, entry: Mapping[str, Any]) -> str:
    anchor = f'<a id="{code.lower()}"></a>{code}'
    rule = _plain(entry["rule"].replace(HOLE, "…"))
    if entry.get("removed"):
        return f"| {anchor} | {rule} | | | removed |"
    given = f"`{_in_cell(entry['given'])}`" if entry["given"] else ""
    source = f"{', '.join(entry['errors'])}, `{entry['source']}`"
    return f"| {anchor} | {rule} | {given} | {_plain(entry['remedy'])} | {source} |"


def _in_cell(text: str) -> str:
    """Returns a text for code in a cell of a table, where a bar would end the cell."""
    return " ".join(text.replace("|", "¦").replace("`", "'").split())


def _plain(text: str) -> str:
    return re.sub(r"([\\`*_<>\[\]{}#~$|])", r"\\\1", " ".join(text.split()))


if __name__ == "__main__":
    RELEASED.write_text("".join(f"{code}\n" for code in sorted({*released(), *load()})), encoding="utf-8")
