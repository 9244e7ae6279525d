"""The strategies for window operators generate every class of edge cases.

The classes are counted over fixed samples, in the scripts and in the oracle's output.
"""

import math
from collections import Counter
from datetime import date
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

from panewise import (
    CogroupOperator,
    Inputs,
    Interval,
    JoinOperator,
    Session,
    Side,
    StreamWindow,
    Tumbling,
    Window,
    over_operator,
)
from panewise import functions as F
from panewise.spec import WindowOperator, counted, merging
from panewise.streamwindow import delta
from panewise.testing import run
from panewise.testing.compare import same
from panewise.testing.strategies import (
    ALL_KINDS,
    COUNTED_KINDS,
    events,
    frame_events,
    join_events,
    join_types,
    specs,
    stream_events,
    stream_types,
    types_of,
)
from tests.engine.effort import FEW
from tests.nightly import LIKE_ANOTHER
from tests.testing.reached import check_reached

Events = list[dict[str, Any]]


def classes(spec: WindowOperator, script: Events, outputs: list[dict[str, Any]]) -> set[str]:
    """Returns the classes of edge cases that a script reaches."""
    rows = [row for event in script for row in event.get("rows", ())]
    panes = [pane for output in outputs for pane in output["panes"]]
    found = {f"timing {pane['timing']}" for pane in panes} | {f"op {pane['op']}" for pane in panes}
    found |= {"is_last"} if any(pane["is_last"] for pane in panes) else set()
    found |= {f"late {entry['reason']}" for output in outputs for entry in output["late"]}
    found |= {
        f"invalid {_without_name(entry['reason'])}" for output in outputs for entry in output["invalid"]
    }
    found |= {
        name for name in ("replays", "partially_late") if any(output["counts"][name] for output in outputs)
    }
    found |= {
        f"{spec.evictor.kind}{' after' * spec.evictor.after}"
        for output in outputs
        if spec.evictor and output["panes"]
    }
    found |= {"delta" for output in outputs for pane in output["panes"] if pane.get("delta")}
    found |= {event["op"] for event in script} | {
        "empty batch" for event in script if event["op"] == "add" and not event["rows"]
    }
    found |= _classes_of_rows(spec, rows) | _classes_of_windows(spec, script, outputs)
    return found


def is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _without_name(reason: str) -> str:
    reason = reason.removesuffix(" (null_keys=False)")
    for end in ("is null", "is NaN", "has the wrong type"):
        if reason.endswith(end) and not reason.startswith(("event time", "position", "gap ")):
            return f"NAME {end}"
    return reason


def _classes_of_rows(spec: WindowOperator, rows: Events) -> set[str]:
    times = [row[spec.event_time] for row in rows if type(row.get(spec.event_time)) is int]
    keys = {tuple(str(row[key]) for key in spec.keys) for row in rows}
    found = {"before 1970" for time in times if time < 0} | {
        "far from now" for time in times if abs(time) > 2**60
    }
    found |= {"out of order" for one, other in pairwise(times) if other < one}
    found |= {"same time" for one, other in pairwise(times) if other == one}
    found |= {"null value" for row in rows if None in row.values()} | {
        "NaN value" for row in rows if any(is_nan(value) for value in row.values())
    }
    found |= {"negative zero key" for row in rows for key in spec.keys if str(row[key]) == "-0.0"}
    found |= {"null key" for row in rows for key in spec.keys if row[key] is None and spec.null_keys}
    found |= {"NaN key" for row in rows for key in spec.keys if is_nan(row[key]) and spec.null_keys}
    found |= {"several keys"} if len(keys) > 1 else set()
    return found


def _classes_of_windows(spec: WindowOperator, script: Events, outputs: list[dict[str, Any]]) -> set[str]:
    """Returns the classes of the windows of a script: bounds that are met, merges, and firings by the clock.

    A row or a watermark meets a bound of a window stored before it exactly, or misses it by one microsecond.
    """
    found, held = set(), []
    for event, output in zip(script, outputs, strict=True):
        bounds = [(w["window_start"], w["window_end"]) for w in held if w["window_end"] is not None]
        if event["op"] == "watermark":
            lateness = spec.lateness_us or 0
            found |= {
                f"watermark at end {event['to'] - end:+d}" for _, end in bounds if abs(event["to"] - end) <= 1
            }
            found |= {
                f"watermark at expiry {event['to'] - end - lateness:+d}"
                for _, end in bounds
                if lateness and abs(event["to"] - end - lateness) <= 1
            }
        for row in event.get("rows", ()):
            time = row.get(spec.event_time)
            found |= {"row at start" for start, _ in bounds if time == start} | {
                "row at end" for _, end in bounds if time == end
            }
            found |= {"row before end" for _, end in bounds if type(time) is int and time == end - 1}
        if merging(spec.window) and event["op"] == "add":
            now = {(w["window_start"], w["window_end"]) for w in output["windows"]}
            found |= {"merge"} if set(bounds) - now else set()
        if event["op"] == "clock" and output["panes"]:
            found.add("time firing")
        if counted(spec.window):
            found |= _classes_of_counted(spec, event, output)
        held = output["windows"]
    return found


def _classes_of_counted(spec: WindowOperator, event: dict[str, Any], output: dict[str, Any]) -> set[str]:
    """Returns the classes of windows of rows: complete after a batch, or incomplete at the end of input."""
    complete = Counter(
        tuple(str(pane[key]) for key in spec.keys)
        for pane in output["panes"]
        if pane["is_last"] and pane["op"] == "+"
    )
    found = {"complete"} if complete and event["op"] == "add" else set()
    found |= (
        {"several complete"}
        if event["op"] == "add" and any(number > 1 for number in complete.values())
        else set()
    )
    found |= {"incomplete at the end"} if complete and event["op"] == "finish" else set()
    return found | {"before row 0" for pane in output["panes"] if pane["window_start"] < 0}


COMMON_CLASSES = {
    "timing EARLY", "timing ON_TIME", "timing LATE", "op +", "op -", "is_last", "late expired", "late closed",
    "late behind",
    "invalid event time is null", "invalid event time is not a timestamp", "invalid event time out of range",
    "invalid NAME is null",
    "invalid NAME is NaN", "invalid position is null", "invalid NAME has the wrong type",
    "invalid event time is too far ahead",
    "replays", "add", "clock", "watermark", "restart", "finish", "empty batch", "before 1970", "far from now",
    "out of order", "same time",
    "null value", "NaN value", "negative zero key", "null key", "NaN key", "several keys", "row at start",
    "row at end", "row before end",
    "watermark at end -1", "watermark at end +0", "watermark at end +1", "watermark at expiry -1",
    "watermark at expiry +0",
    "watermark at expiry +1", "time firing", "delta", "count_evictor", "count_evictor after", "time_evictor",
    "time_evictor after",
    "delta_evictor", "delta_evictor after",
}  # fmt: skip
CLASSES_OF_KINDS = {
    "tumbling": {"invalid window out of range"},
    "hopping": {"invalid window out of range", "invalid gap", "partially_late"},
    "cumulating": {"invalid window out of range", "partially_late"},
    "calendar": {"invalid window out of range"},
    "session": {
        "invalid window out of range",
        "merge",
        "invalid gap gap is null",
        "invalid gap gap is not above zero",
    },
    "sliding": {"invalid window out of range", "partially_late"},
    "custom": {
        "invalid window out of range",
        "invalid gap",
        "invalid holds gave a bad window",
        "invalid shifts gave a bad window",
    }
    | {"invalid shifts gave several windows", "partially_late", "merge"},
    "global": set[str](),
    "rows": {"complete", "several complete", "incomplete at the end", "before row 0"},
    "hopping_rows": {
        "complete",
        "several complete",
        "incomplete at the end",
        "before row 0",
        "invalid gap",
        "partially_late",
    },
    "session_of_rows": {"complete", "several complete", "incomplete at the end", "merge"},
    "sliding_rows": {"complete", "several complete", "before row 0"},
}
NOT_OF_GLOBAL = {
    name for name in COMMON_CLASSES if name.startswith(("row at", "row before", "watermark at"))
} | {
    "late expired",
    "timing LATE",
}
NOT_OF_SLIDING = {name for name in COMMON_CLASSES if "evictor" in name} | {
    "delta",
    "late closed",
}  # refused (semantics 7.8)
NOT_OF_COUNTED = NOT_OF_GLOBAL | {"watermark", "late behind"}
NOT_OF_SLIDING_ROWS = (
    NOT_OF_COUNTED | NOT_OF_SLIDING | {"timing EARLY", "op -", "time firing", "row at start", "row at end"}
)

# As a check takes minutes, only the soak run makes it for kinds that are like another.
KINDS = [pytest.param(kind, marks=pytest.mark.soak) if kind in LIKE_ANOTHER else kind for kind in ALL_KINDS]


@pytest.mark.nightly
@pytest.mark.parametrize("kind", KINDS)
def test_every_edge_class_is_generated(kind: str) -> None:
    wanted = COMMON_CLASSES | CLASSES_OF_KINDS[kind]
    left_out = {"global": NOT_OF_GLOBAL, "sliding": NOT_OF_SLIDING, "sliding_rows": NOT_OF_SLIDING_ROWS}
    wanted -= left_out.get(kind, NOT_OF_COUNTED if kind in COUNTED_KINDS else set())

    def drawn(data: st.DataObject, _: int) -> set[str]:
        spec = data.draw(specs(kind))
        script = data.draw(events(spec))
        return classes(spec, script, run(spec, script, types=types_of(spec), windows=True))

    check_reached(wanted, drawn, rounds=96, samples=50)


DAYS = {"airport": "string", "day": "date", "cost": "decimal(4,1)"}
W = Window.partitionBy("airport").orderBy("at")
OF_USERS: dict[str, tuple[Any, Any, Any]] = {
    "windows": (
        WindowOperator(
            keys=["airport"],
            event_time="at",
            window=Session("timeout"),
            watermark=Inputs(["x", "y"], column="source"),
            aggregates=[F.max("day").alias("last"), F.sum("cost").alias("costs")],
        ),
        events,
        DAYS,
    ),
    "over": (
        over_operator({"last": F.max("day").over(W), "costs": F.sum("cost").over(W)}),
        frame_events,
        DAYS,
    ),
    "policy": (
        StreamWindow.sliding(delta("cost", 3), partition_by=["airport"], columns=["day"]),
        stream_events,
        DAYS | {"note": "string"},
    ),
    "join": (
        JoinOperator(
            left=Side(keys=["airport"]), right=Side(keys=["port"], prefix="r_"), match=Interval(0, 5)
        ),
        join_events,
        {"left": {"airport": "date", "note": "string"}, "right": {"port": "date", "day": "timestamp_ntz"}},
    ),
    "cogroup": (
        CogroupOperator(
            left=Side(keys=["airport"], event_time="at"),
            right=Side(keys=["port"]),
            window=Tumbling(10),
            left_aggregates=[F.sum("cost").alias("costs")],
            right_aggregates=[F.collect_list("day").alias("days")],
        ),
        join_events,
        {"left": {"cost": "decimal(4,1)"}, "right": {"day": "map<string,int>"}},
    ),
}


def types_for(spec: Any, types: Any) -> Any:
    """Returns the types of all columns, with those that the user gives."""
    if "left" in types:
        return {side: of | types[side] for side, of in join_types(spec).items()}
    return (stream_types(spec) if isinstance(spec, StreamWindow) else types_of(spec)) | types


@FEW
@given(data=st.data())
@pytest.mark.parametrize("family", OF_USERS)
def test_events_are_drawn_for_specifications_of_users(family: str, data: st.DataObject) -> None:
    """Their columns have other names and types than the samples."""
    spec, draw, types = OF_USERS[family]
    script = data.draw(draw(spec, types=types))
    given_types = types_for(spec, types)
    wanted = run(spec, script, types=given_types, windows=True)
    assert same(run(spec, script, "engine", types=given_types, windows=True), wanted)


@pytest.mark.parametrize("family", OF_USERS)
@pytest.mark.parametrize("kind", ["panes", "invalid"])
def test_columns_of_users_have_values_of_their_types(family: str, kind: str) -> None:
    """Rows of them reach panes, and some have a value of a wrong type."""
    spec, draw, types = OF_USERS[family]
    given_types = types_for(spec, types)

    def is_reached(script: Events) -> bool:
        outputs = run(spec, script, types=given_types)
        if kind == "panes":
            return any(isinstance(value, date | Decimal) for value in values_in(outputs))
        return any("has the wrong type" in one["reason"] for output in outputs for one in output["invalid"])

    first = settings(max_examples=5_000, database=None, phases=[Phase.generate])
    find(draw(spec, types=types), is_reached, settings=first)


def values_in(outputs: list[dict[str, Any]]) -> list[Any]:
    """Returns the values of all panes, also those in lists of tuples."""
    panes = [pane for output in outputs for pane in output["panes"]]
    tuples = [row for pane in panes for row in pane.get("tuples") or ()]
    return [value for row in [*panes, *tuples] for value in row.values()]
