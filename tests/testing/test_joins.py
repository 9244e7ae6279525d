"""The strategies for joins reach every cell of the matrix, and every class of edge cases."""

import math
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panewise.matches import MATCHES as KINDS
from panewise.spec import FixedLag, StreamTime
from panewise.spec.operators.join.as_of import STRATEGIES, AsOf
from panewise.spec.operators.join.columns import HOWS, ONE_SIDED
from panewise.spec.operators.join.interval import CLOSED, Interval
from panewise.spec.operators.join.last_rows import LastRows
from panewise.spec.operators.join.latest import Latest
from panewise.spec.operators.join.match import Match
from panewise.spec.operators.join.match_parts import parts_of_kind
from panewise.spec.operators.join.operator import JoinOperator
from panewise.testing import run
from panewise.testing.join_events import join_events, join_types
from panewise.testing.joins import join_specs, window_join_specs
from panewise.testing.matches.as_of import as_ofs
from panewise.testing.matches.interval import intervals
from panewise.testing.matches.last_rows import last_rows
from panewise.testing.matches.latest import latests
from panewise.testing.matches.streams import windowed_streams
from tests.testing.reached import check_reached

Events = list[dict[str, Any]]
SIDES = ("left", "right")
MATCHES = (intervals, as_ofs, last_rows, latests, intervals, as_ofs)


def of_spec(spec: JoinOperator) -> set[str]:
    """Returns the classes of a specification."""
    marks = [side.watermark for side in spec.sides.values()]
    cell = {Interval: "", AsOf: "as of ", LastRows: "last rows ", Latest: "latest "}[type(spec.match)]
    found = {f"{cell}{spec.how} {spec.unmatched} {spec.timestamp}", spec.evaluate} | _of_match(spec)
    found |= {"select"} if spec.select else set()
    found |= {f"selected {one.side}" for one in spec.select or ()}
    found |= {f"prefix {side}" for side, one in spec.sides.items() if one.prefix}
    found |= {f"{len(spec.keys)} keys", "other names" if spec.left.keys != spec.right.keys else "same names"}
    found |= {"idle"} if spec.idle_after else set()
    found |= {f"watermark {type(mark).__name__}" for mark in marks} | {"of both"} if spec.watermark else set()
    found |= {f"watermark {type(mark).__name__} {side}" for side, mark in zip(SIDES, marks, strict=True)}
    found |= {"delay"} if any(isinstance(mark, StreamTime) and mark.delay.us for mark in marks) else set()
    found |= {f"lag {mark.lag.us > 0}" for mark in marks if isinstance(mark, FixedLag)}
    for side, one in spec.sides.items():
        found |= {f"{name} {side}" for name in ("order", "position", "max_future_skew") if getattr(one, name)}
        found |= {f"lateness {side}"} if one.allowed_lateness.us else set()
        found |= {f"null_keys {one.null_keys} {side}"}
    orders = [len(side.order) for side in spec.sides.values()]
    found |= set() if spec.has_event_times else {f"no event time {type(spec.match).__name__}"}
    return found | {f"orders {orders}"}


def _of_match(spec: JoinOperator) -> set[str]:
    match = spec.match
    if isinstance(match, AsOf):
        far = "no" if match.tolerance is None else "zero" if match.tolerance.us == 0 else "a"
        condition = "no condition" if spec.condition is None else "condition"
        exact = "exact" if match.allow_exact_matches else "not exact"
        return {
            f"{match.strategy} {far} tolerance",
            f"{match.strategy} {condition}",
            f"{match.strategy} {exact}",
        }
    if isinstance(match, Latest):
        deletes = " ".join(side for side, column in match.deletes_by_side.items() if column)
        return {f"latest {'no ' if match.ttl is None else ''}ttl", f"deletes {deletes}"}
    if isinstance(match, LastRows):
        condition = "no condition" if spec.condition is None else "condition"
        kinds = {side: "none" if one is None else one.kind for side, one in match.windows.items()}
        pair = f"windows {kinds['left']} {kinds['right']}"
        return {f"{match.order} {condition}", pair if match.order == "arrival" else "event_time"}
    sign = {-1: "negative", 0: "zero", 1: "positive"}
    found = {
        f"closed {match.closed}",
        f"late {match.late}",
        "interval condition" if spec.condition is not None else "",
    }
    found |= {f"lower {sign[(match.lower.us > 0) - (match.lower.us < 0)]}"}
    found |= {f"upper {sign[(match.upper.us > 0) - (match.upper.us < 0)]}"}
    return found | ({"equal bounds"} if match.lower == match.upper else set())


def of_script(spec: JoinOperator, script: Events) -> set[str]:
    """Returns the classes of the events."""
    found, seen = set[str](), dict[str, list[int]](left=[], right=[])
    for event in script:
        named = f" {event['input']}" if "input" in event else ""
        both = event["op"] == "add" and not named
        found |= {f"add both {sum(map(bool, event['rows'].values()))}"} if both else {event["op"] + named}
        rows = event.get("rows", {}) if both else {event.get("input", ""): event.get("rows", ())}
        for side, batch in rows.items():
            found |= {f"empty batch {side}"} if event["op"] == "add" and not batch else set()
            for row in batch:
                found |= _of_row(spec, side, row, seen)
    for times in seen.values():
        found |= {"out of order" for one, other in pairwise(times) if other < one}
        found |= {"same time" for one, other in pairwise(times) if other == one}
    return found | ({"several keys"} if len(_keys(spec, script)) > 1 else {"one key"})


def _of_row(spec: JoinOperator, side: str, row: dict[str, Any], seen: dict[str, list[int]]) -> set[str]:
    entry = spec.sides[side]
    time, keys = row.get(entry.event_time), [row[name] for name in entry.keys]
    found = {f"null key {side}" for key in keys if key is None}
    found |= {f"NaN key {side}" for key in keys if _is_nan(key)}
    found |= {f"negative zero key {side}" for key in keys if str(key) == "-0.0"}
    if type(time) is not int:
        return found
    found |= {"before 1970"} if time < 0 else set()
    found |= {"far future"} if time > 2**60 else set()
    sign, other = (1, "left") if side == "right" else (-1, "right")
    for there in seen[other]:
        apart = sign * (time - there)
        for name, bound in _ends(spec.match):
            found |= {f"at {side} {name} {apart - bound:+d}"} if abs(apart - bound) <= 1 else set()
        found |= {"tie across sides"} if time == there else set()
    seen[side].append(time)
    return found


def _ends(match: Match) -> list[tuple[str, int]]:
    """Returns the names of the ends of a match, and the differences, right less left, that they are."""
    if isinstance(match, Interval):
        return [("lower", match.lower.us), ("upper", match.upper.us)]
    if isinstance(match, (LastRows, Latest)):
        return []
    far = 0 if match.tolerance is None else match.tolerance.us
    before = [(f"{match.strategy} before", -far)] if match.strategy != "forward" and far else []
    return before + ([(f"{match.strategy} after", far)] if match.strategy != "backward" and far else [])


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _keys(spec: JoinOperator, script: Events) -> set[tuple[str, ...]]:
    found = set()
    for event in script:
        rows = event.get("rows", {})
        by_side = rows if isinstance(rows, dict) else {event["input"]: rows}
        found |= {
            tuple(str(row[name]) for name in spec.sides[side].keys)
            for side in by_side
            for row in by_side[side]
        }
    return found


def of_outputs(spec: JoinOperator, script: Events, outputs: Events) -> set[str]:
    """Returns the classes of the outputs."""
    found = set[str]()
    for event, output in zip(script, outputs, strict=True):
        found |= {f"{spec.how} {pane['op']} missing {pane.get('missing')}" for pane in output["panes"]}
        found |= {f"emitted by {event['op']}" for _ in output["panes"]}
        found |= {f"late {entry['input']}" for entry in output["late"]}
        found |= {f"invalid {entry['input']}" for entry in output["invalid"]}
        found |= {f"replays {side}" for side, counts in output["counts"].items() if counts["replays"]}
        found |= {"far ahead"} if any("ahead" in entry["reason"] for entry in output["invalid"]) else set()
    found |= {"stored"} if outputs[-1]["windows"] else set()
    if isinstance(spec.match, LastRows):
        return found | _of_last_rows(spec, script, outputs)
    if isinstance(spec.match, Latest):
        for event, output in zip(script, outputs, strict=True):
            found |= {f"latest {pane['op']} {pane['missing']} by {event['op']}" for pane in output["panes"]}
    return found | (_of_partners(spec, script, outputs) if isinstance(spec.match, AsOf) else set())


def _of_last_rows(spec: JoinOperator, script: Events, outputs: Events) -> set[str]:
    """Returns the classes of the rows of a join with the last rows: by what they are emitted."""
    assert isinstance(spec.match, LastRows)
    left = "none" if spec.match.left is None else spec.match.left.kind
    found = set[str]()
    for event, output in zip(script, outputs, strict=True):
        for pane in output["panes"]:
            shape = "pair" if pane.get("missing", "right") is None else "row"
            found |= {f"{spec.match.order} {spec.how} {shape}"}
            found |= {f"left {left} {pane['op']} {shape} by {event['op']}"}
    found |= {f"{entry['reason'][:5]} {entry['reason'][-4:]}" for out in outputs for entry in out["invalid"]}
    return found


def _of_partners(spec: JoinOperator, script: Events, outputs: Events) -> set[str]:
    """Returns the classes of the rows of an as-of join, and of partners that both have a column `note`."""
    assert isinstance(spec.match, AsOf)
    arrived = _arrivals(script)
    prefixes = {side: one.prefix for side, one in spec.sides.items()}
    found, times = set[str](), [entry.event_time for entry in spec.sides.values()]
    for event, output in enumerate(outputs):
        for pane in output["panes"]:
            shape = "pair" if pane.get("missing", "right") is None else "row"
            found |= {f"{spec.match.strategy} {spec.how} {shape}"}
            if shape == "row" or spec.select:
                continue
            rows = [arrived[side][pane[f"{prefixes[side]}note"]] for side in SIDES]
            (at, one), (before, other) = rows
            found |= {f"{spec.match.strategy} later partner"} if before > at else set()
            found |= {f"{spec.match.strategy} long ago"} if event > max(at, before) + 1 else set()
            near = [row[times[1]] - one[times[0]] for row in _alike(spec, one, arrived)]
            distance = other[times[1]] - one[times[0]]
            found |= {f"{spec.match.strategy} same time"} if near.count(distance) > 1 else set()
            tie = -distance in near
            found |= {"equally near"} if tie and distance < 0 and spec.match.strategy == "nearest" else set()
    return found


def _arrivals(script: Events) -> dict[str, dict[int, tuple[int, dict[str, Any]]]]:
    """Returns the rows of each side by their `note`, each with the number of the event that adds it."""
    found: dict[str, dict[int, tuple[int, dict[str, Any]]]] = {side: {} for side in SIDES}
    for number, event in enumerate(script):
        rows = event.get("rows", {})
        for side, batch in (rows if isinstance(rows, dict) else {event["input"]: rows}).items():
            for row in batch:
                found[side].setdefault(row["note"], (number, row))
    return found


def _alike(
    spec: JoinOperator, left: dict[str, Any], arrived: dict[str, dict[int, tuple[int, dict[str, Any]]]]
) -> Events:
    """Returns the right rows with the keys of a left row, and with an event time."""
    pairs = list(zip(spec.left.keys, spec.right.keys, strict=True))
    rows = [row for _, row in arrived["right"].values()]
    return [
        row
        for row in rows
        if type(row[spec.right.event_time]) is int
        and all(str(row[other]) == str(left[one]) for one, other in pairs)
    ]


CELLS = {
    f"{how} {unmatched} {timestamp}"
    for how in HOWS
    for unmatched in (("final", "early") if how not in ("inner", "semi") else (None,))
    for timestamp in ((None,) if how in ONE_SIDED else ("left", "right", "later", "earlier"))
}
AS_OF_CELLS = {
    f"as of {how} {'final' if how in ('left', 'anti') else None} {timestamp}"
    for how in parts_of_kind("as_of").hows
    for timestamp in ((None,) if how in ONE_SIDED else ("left", "right", "later", "earlier"))
}
LAST_ROWS_CELLS = {
    f"last rows {how} {unmatched} {timestamp}"
    for how in parts_of_kind("last_rows").hows
    for unmatched in (("final", "early") if how in ("left", "anti") else (None,))
    for timestamp in ((None,) if how in ONE_SIDED else ("left", "right", "later", "earlier"))
}
LATEST_CELLS = {
    f"latest {how} {unmatched} {timestamp}"
    for how in parts_of_kind("latest").hows
    for unmatched in (("final", "early") if how != "inner" else (None,))
    for timestamp in ("left", "right", "later", "earlier")
}
ORDERS = ("arrival", "event_time")
WINDOWS = ("none", "count", "time", "delta")
OF_SPECS = {
    *LAST_ROWS_CELLS, "event_time",
    *LATEST_CELLS, "latest ttl", "latest no ttl", *(f"deletes {one}" for one in ("", *SIDES, "left right")),
    *(f"windows {one} {other}" for one in WINDOWS for other in WINDOWS if (one, other) != ("none", "none")),
    *(f"{order} {condition}" for order in ORDERS for condition in ("condition", "no condition")),
    *CELLS, *AS_OF_CELLS, "interval condition",
    *(f"{strategy} {far} tolerance" for strategy in STRATEGIES for far in ("no", "zero", "a")),
    *(f"{strategy} {condition}" for strategy in STRATEGIES for condition in ("condition", "no condition")),
    *(f"{strategy} {exact}" for strategy in STRATEGIES for exact in ("exact", "not exact")),
    *(f"closed {closed}" for closed in CLOSED),
    "no event time LastRows", "no event time Latest",
    "late output", "late join", "batch", "record", "equal bounds", "select",
    "selected left", "selected right", "selected either", "prefix left", "prefix right",
    "0 keys", "1 keys", "2 keys", "other names", "same names",
    "idle", "of both", "delay", "lag False", "lag True", "orders [1, 0]", "orders [1, 1]", "orders [1, 2]",
    *(f"{bound} {sign}" for bound in ("lower", "upper") for sign in ("negative", "zero", "positive")),
    *(f"watermark {kind} {side}" for kind in ("NoneType", "StreamTime", "FixedLag") for side in SIDES),
    *(f"{name} {side}" for name in ("position", "max_future_skew", "lateness") for side in SIDES),
    *(f"null_keys {allowed} {side}" for allowed in (True, False) for side in SIDES),
}  # fmt: skip
OF_SCRIPTS = {
    "add left", "add right", "add both 0", "add both 1", "add both 2",
    "watermark", "watermark left", "watermark right", "clock", "restart", "finish", "finish left",
    "finish right", "out of order", "same time", "tie across sides", "before 1970", "far future",
    "one key", "several keys",
    *(f"{name} {side}" for side in SIDES for name in ("empty batch", "null key", "NaN key")),
    *(f"negative zero key {side}" for side in SIDES),
    *(f"at {side} {end} {off:+d}" for side in SIDES for end in ("lower", "upper") for off in (-1, 0, 1)),
    *(
        f"at {side} {end} {off:+d}"
        for side in SIDES
        for end in ("backward before", "forward after", "nearest before", "nearest after")
        for off in (-1, 0, 1)
    ),
}  # fmt: skip
OF_OUTPUTS = {
    *(f"{how} + missing None" for how in ("inner", "left", "right", "full", "semi")),
    *(f"{how} {op} missing right" for how in ("left", "full") for op in "+-"),
    *(f"{how} {op} missing left" for how in ("right", "full") for op in "+-"),
    "anti + missing None", "anti - missing None", "far ahead", "stored",
    *(f"emitted by {op}" for op in ("add", "watermark", "clock", "finish")),
    *(f"{name} {side}" for name in ("late", "invalid", "replays") for side in SIDES),
    *(f"{strategy} {how} pair" for strategy in STRATEGIES for how in ("inner", "left")),
    *(f"{strategy} {how} row" for strategy in STRATEGIES for how in ("left", "semi", "anti")),
    *(f"{strategy} {what}" for strategy in STRATEGIES for what in ("later partner", "long ago", "same time")),
    "equally near",
    *(f"{order} {how} pair" for order in ORDERS for how in ("inner", "left")),
    *(f"{order} {how} row" for order in ORDERS for how in ("left", "semi", "anti")),
    *(f"left {kind} + row by {op}" for kind in ("count", "delta") for op in ("add", "finish")),
    *(f"left time + row by {op}" for op in ("clock", "finish")),
    *(f"left {kind} - row by add" for kind in ("count", "time", "delta")),
    "delta null", "delta  NaN", "latest + None by add",
    *(f"latest + {side} by {op}" for side in SIDES for op in ("add", "clock", "finish")),
    *(f"latest - {side} by add" for side in SIDES),
}  # fmt: skip


def test_each_match_is_drawn() -> None:
    """Semantics 27.2. Window joins and windowed stream joins have strategies of their own."""
    seen = set()

    @settings(max_examples=300, database=None, derandomize=True, deadline=None)
    @given(join_specs() | window_join_specs() | windowed_streams().flatmap(lambda one: join_specs(match=one)))
    def collect(spec: JoinOperator) -> None:
        assert spec.how in parts_of_kind(spec.match.kind).hows
        seen.add(spec.match.kind)

    collect()
    assert seen == set(KINDS)


@pytest.mark.nightly
@pytest.mark.soak
def test_every_edge_class_is_generated() -> None:
    """Each class is reached, in every cell of semantics 27.2. A sample is of one kind of match.

    An as-of match has each of its partners (37.2), also rows of equal times, equally near ones, and rows that
    come later than their left row (37.3).
    """

    def drawn(data: st.DataObject, number: int) -> set[str]:
        spec = data.draw(join_specs(match=data.draw(MATCHES[number % len(MATCHES)]())))
        script = data.draw(join_events(spec))
        outputs = run(spec, script, types=join_types(spec), windows=True)
        return of_spec(spec) | of_script(spec, script) | of_outputs(spec, script, outputs)

    check_reached(OF_SPECS | OF_SCRIPTS | OF_OUTPUTS, drawn, rounds=120, samples=25)
