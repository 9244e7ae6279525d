"""Every aggregate, trigger, match and family has what docs/extending.md asks for besides its code."""

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any, get_args

import panewise
from panewise import functions
from panewise.families import FAMILIES, Family, part
from panewise.matches import MATCHES
from panewise.spec.aggregates.aggregate import FUNCTIONS
from panewise.spec.codec import to_dict
from panewise.spec.operators.join.match import Match
from panewise.spec.triggers.composite import Composite
from panewise.spec.triggers.simple import Leaf
from panewise.testing.aggregates import _in_order, _plain, _ranked
from tests.drawn import FAMILIES as DRAWN
from tests.faults import specs as killed
from tests.house.sources import ROOT, SRC, check_each
from tests.state.make_golden import CASES
from tests.transcripts.documents import DOCUMENTS


@cache
def document(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


@cache
def kinds_in_transcripts() -> set[str]:
    """Returns the kinds of all values in the specifications of transcripts."""
    return set(kinds([one["spec"] for _, one in DOCUMENTS]))


@cache
def kinds_in_states() -> set[str]:
    """Returns the kinds of all values in the specifications of the stored states."""
    return set(kinds([json.loads(json.dumps(to_dict(case.spec))) for case in CASES.values()]))


@cache
def kinds_in_killed_queries() -> set[str]:
    """Returns the kinds of all values in the joins of the queries that are killed."""
    return set(kinds([json.loads(json.dumps(to_dict(spec))) for spec in killed.JOINS.values()]))


def kinds(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from (value[name] for name in ("kind", "fn") if name in value)
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from kinds(inner)


def kind_in_documents(kind: Any) -> str:
    name: str = getattr(kind, "_document_kind", kind.kind)
    return name


def without(name: str, found: dict[str, bool]) -> list[str]:
    return [f"{name} is not {place}" for place, there in found.items() if not there]


def of_aggregate(fn: str) -> list[str]:
    drawn = {one.fn for one in (*_plain(), *_ranked(), *_in_order())}
    exported = fn == "user" or fn in functions.__all__
    return without(fn, {"in panewise.functions": exported, "in testing/aggregates.py": fn in drawn})


def of_value(kind: Any, page: str) -> dict[str, bool]:
    """Returns what triggers and matches have in common."""
    name = kind.__name__
    return {
        "a public name": name in panewise.__all__,
        f"in docs/{page}": name in document(page),
        "in docs/semantics.md": name in document("semantics.md"),
        "in a transcript": kind_in_documents(kind) in kinds_in_transcripts(),
    }


def of_trigger(kind: Any) -> list[str]:
    return without(kind.__name__, of_value(kind, "triggers.md"))


def of_match(kind: Any) -> list[str]:
    name = kind_in_documents(kind)
    of_states = {"in a stored state": name in kinds_in_states()}
    of_queries = {"in tests/faults/specs.py": name in kinds_in_killed_queries()}
    return without(kind.__name__, of_value(kind, "joins.md") | of_states | of_queries)


@cache
def families_in_transcripts() -> set[str]:
    """Returns the names of the families of the specifications in transcripts."""
    return {
        next(family.name for family in FAMILIES if part(family.spec).reads(one["spec"]))
        for _, one in DOCUMENTS
    }


def of_family(name: str) -> list[str]:
    stored = {case.spec.family.name for case in CASES.values()}
    public = {getattr(getattr(panewise, one), "family", None) for one in panewise.__all__}
    exported = name in {family.name for family in public if isinstance(family, Family)}
    found = {
        "a public name": exported,
        "in a stored state": name in stored,
        "in a transcript": name in families_in_transcripts(),
        "in FAMILIES of tests/drawn.py": name.replace("_", " ") in DRAWN,
    }
    return without(name, found)


def test_stored_columns_are_described() -> None:
    """Those of the leaves of triggers, as `NODE:WHAT`, and partial columns of aggregates, as `__NAME:C`."""
    folders = (SRC / "engine" / "windowing" / "trigger", SRC / "engine" / "aggregate")
    code = "".join(path.read_text(encoding="utf-8") for folder in folders for path in folder.glob("*.py"))
    columns = {f":{what}" for what in re.findall(r"\{self\.name\}:(\w+)", code)}
    columns |= {f"{name}:C" for name in re.findall(r"f\"(__\w+):\{column\}\"", code)}
    assert {":done", "__sum:C"} <= columns
    assert [name for name in sorted(columns) if f"`{name}`" not in document("state-format.md")] == []


def test_aggregates() -> None:
    check_each(sorted(FUNCTIONS), of_aggregate)


def test_triggers() -> None:
    check_each((*get_args(Leaf), *get_args(Composite)), of_trigger)


def test_matches() -> None:
    assert {kind.kind for kind in get_args(Match)} == set(MATCHES)
    check_each(get_args(Match), of_match)


def test_families() -> None:
    check_each([family.name for family in FAMILIES], of_family)


def test_faults_are_found() -> None:
    class Unknown:
        kind = "unknown"

    assert of_aggregate("entropy") == [
        "entropy is not in panewise.functions",
        "entropy is not in testing/aggregates.py",
    ]
    assert len(of_match(Unknown)) == 6
    assert len(of_family("unknown")) == 4
    assert set(kinds({"a": [{"kind": "x", "of": {"fn": "y"}}]})) == {"x", "y"}
