"""The operators that are run and killed: every window with every accumulation mode, and special cases.

None uses processing time (Every, max_future_skew), because no two runs have the same one.
"""

from dataclasses import replace
from typing import Any

import panewise as pw
from panewise import functions as F
from panewise import rows
from panewise.spec import AnyWindow, Frame, OverColumn, OverOperator, Specification, Trigger
from panewise.streamwindow import StreamWindow, WindowListener, count, delta, partition_count

WINDOWS: dict[str, AnyWindow] = {
    "tumbling": pw.Tumbling("1 minute"),
    "hopping": pw.Hopping("90 seconds", "30 seconds"),
    "cumulating": pw.Cumulating("2 minutes", "30 seconds"),
    "session": pw.Session("4 seconds", touching="merge"),
    "global": pw.Global(),
}
TRIGGERS: dict[str, Trigger] = {
    "discarding": pw.AfterWatermark(early=pw.AfterCount(3), late=pw.Always()),
    "accumulating": pw.AfterWatermark(early=pw.Always(), late=pw.AfterCount(2)),
    "retracting": pw.AfterWatermark(early=pw.AfterCount(2), late=pw.Always()),
}
# Floats are multiples of a quarter (stream_files.py), so that sums do not depend on the order in which
# partial sums are merged.
AGGREGATES = (
    F.count().alias("n"),
    F.sum("v").alias("s"),
    F.avg("x").alias("mean"),
    F.max("x").alias("most"),
    F.collect_list("id").alias("ids"),
    F.last("v").alias("latest"),
)


def _operator(kind: str, accumulation: str, **fields: object) -> pw.WindowOperator:
    given: dict[str, object] = {
        "window": WINDOWS[kind],
        "accumulation": accumulation,
        "trigger": TRIGGERS[accumulation],
        "aggregates": AGGREGATES,
        "keys": ["k"],
        "null_keys": False,
        "event_time": "ts",
        "allowed_lateness": 0 if kind == "global" else "45 seconds",
    }
    return pw.WindowOperator(**(given | fields))  # type: ignore[arg-type]


# Every window with every accumulation mode, and features that these do not use: source positions with
# replays, an evaluation after each row, panes on request, pre-aggregation where rows are read, windows that
# close.
SPECS: dict[str, pw.WindowOperator] = {
    **{f"{window}-{mode}": _operator(window, mode) for window in WINDOWS for mode in TRIGGERS},
    "replays": _operator("tumbling", "retracting", position=pw.Position("part", "off")),
    "by-record": _operator("hopping", "accumulating", evaluate="record", order=["id"]),
    "on-request": _operator("cumulating", "retracting", on_time="always", closing="always", drop_by="row"),
    "combined": _operator(
        "hopping",
        "retracting",
        aggregates=[F.count().alias("n"), F.sum("v").alias("s"), F.avg("x").alias("mean")],
    ),
    "closing-sessions": _operator(
        "session", "accumulating", trigger=pw.AfterWatermark(early=pw.Always()), allowed_lateness=0
    ),
}
WITHOUT_LATE_ROWS = {"combined", "cogroup-combined"}  # only then are rows pre-aggregated where they are read


def _counted(window: AnyWindow, accumulation: str) -> pw.WindowOperator:
    return _operator("global", accumulation, window=window, trigger=pw.AfterWatermark(early=pw.AfterCount(2)))


def _taken(self: Any, event: Any) -> Any:
    """Handles the events of a listener: sums the inserted tuples, and yields the sum so far at each event."""
    self.total = getattr(self, "total", 0) + (
        sum(row["v"] for row in event.tuples) if event.type == "INSERTION" else 0
    )
    yield {"total": self.total}


# Made here, so that Spark's workers need not import this module.
_ADDING = WindowListener(type("Adding", (), {"handle": _taken}), name="adding", outputs={"total": "bigint"})
_SUMS = F.sum("v").alias("sum")
_COUNTS = _operator("tumbling", "retracting", aggregates=[F.count().alias("n"), F.sum("v").alias("s")])
# Chains, evictors, sliding windows, windows of rows, OVER operators, deduplications and policy windows.
OF_ROWS: dict[str, Specification] = {
    "chain": _COUNTS.then(keys=["n"], aggregates=[F.count().alias("keys"), F.sum("s").alias("of_all")]),
    "deduplicate": pw.DeduplicateOperator(keys=["k"], within="20 seconds", event_time="ts", order=["id"]),
    "deduplicate-complete": pw.DeduplicateOperator(
        keys=["k"], within="20 seconds", keep="last", event_time="ts", order=["id"]
    ),
    "deduplicate-retracting": pw.DeduplicateOperator(
        keys=["k", "v"], within="2 minutes", keep="last", by="event_time", emit="retracting", event_time="ts"
    ),
    "deduplicate-unlimited": pw.DeduplicateOperator(
        keys=["k", "part"], within="unlimited", position=pw.Position("part", "off"), event_time="ts"
    ),
    "evictor": _operator("tumbling", "accumulating", evictor=pw.CountEvictor(3)),
    "frames": OverOperator(
        columns=[
            OverColumn(_SUMS, Frame("rows", -2, 0)),
            OverColumn(F.avg("x").alias("mean"), Frame("range", -60_000_000, 0)),
            OverColumn(F.lead("v").alias("next")),
        ],
        keys=["k"],
        event_time="ts",
    ),
    "policies": StreamWindow.sliding(
        count(4), delta("v", 100), partition_by=["k"], order=["id"], listener=_ADDING
    ),
    "policies-partitions": StreamWindow.tumbling(
        delta("ts", "20 seconds"),
        partition_by=["k"],
        order=["id"],
        aggregates=AGGREGATES,
        events=["EVICTION", "PARTITION_EVICTION"],
        partition_eviction=partition_count(5),
    ),
    "rows-hopping": _counted(pw.Hopping(rows(6), rows(2)), "accumulating"),
    "rows-sliding": pw.WindowOperator(
        window=pw.Sliding(rows(3)), keys=["k"], event_time="ts", aggregates=AGGREGATES
    ),
    "rows-tumbling": _counted(pw.Tumbling(rows(5)), "retracting"),
    "sliding-accumulating": _operator("tumbling", "accumulating", window=pw.Sliding("40 seconds")),
    "sliding-retracting": _operator("tumbling", "retracting", window=pw.Sliding("40 seconds", anchor="both")),
}


def _join(match: Any, how: Any, **fields: Any) -> pw.JoinOperator:
    given = {"allowed_lateness": "30 seconds", **fields.pop("side", {})}
    side = pw.Side(keys=["k"], event_time="ts", **given)
    right = side if how in ("semi", "anti") else replace(side, prefix="r_")
    return pw.JoinOperator(left=side, right=right, match=match, how=how, **fields)


def _cogroup(window: AnyWindow, accumulation: Any, **fields: Any) -> pw.CogroupOperator:
    given = {
        "left_aggregates": [F.count().alias("n"), F.collect_list("id").alias("ids")],
        "right_aggregates": [F.sum("v").alias("s"), F.last("v").alias("latest")],
        "trigger": TRIGGERS[accumulation],
        "allowed_lateness": "45 seconds",
    }
    side = pw.Side(keys=["k"], event_time="ts")
    return pw.CogroupOperator(
        left=side, right=side, window=window, accumulation=accumulation, **(given | fields)
    )


# Joins and cogroups of the rows with even ids and those with odd ids.
JOINS: dict[str, Specification] = {
    "cogroup": _cogroup(pw.Session("4 seconds"), "retracting"),
    "cogroup-combined": _cogroup(
        pw.Hopping("90 seconds", "30 seconds"),
        "accumulating",
        left_aggregates=[F.count().alias("n"), F.avg("x").alias("mean")],
        right_aggregates=[F.sum("v").alias("s")],
    ),
    "join-anti": _join(pw.Interval("-5 seconds", "5 seconds", closed="left"), "anti"),
    "join-as-of": _join(pw.AsOf("nearest", "20 seconds"), "left"),
    "join-early": _join(pw.Interval("-10 seconds", "5 seconds"), "full", unmatched="early"),
    "join-final": _join(pw.Interval("-10 seconds", "20 seconds"), "full"),
    "join-semi": _join(pw.Interval(0, "1 minute"), "semi", side={"position": pw.Position("part", "off")}),
    "join-last-rows": _join(pw.LastRows(delta("v", 100), left=3), "left", unmatched="early"),
    "join-latest": _join(pw.Latest(deletes=("x", None)), "full"),
    "join-retained": _join(pw.Interval(None, 0, retain_for="2 minutes", retain_rows=5), "full"),
    "join-second": _join(pw.Interval("-5 seconds", "10 seconds"), "left"),
    "join-sessions": _join(
        pw.SameWindow(
            pw.Session("4 seconds"),
            trigger=pw.AfterWatermark(early=pw.AfterCount(3), late=pw.Always()),
            accumulation="retracting",
            allowed_lateness="30 seconds",
        ),
        "full",
        side={"allowed_lateness": 0},
    ),
    "join-static": _join(pw.AsOf("nearest", "20 seconds"), "left", side={"allowed_lateness": 0}),
    "join-streams": _join(
        pw.WindowedStreams(
            pw.JoinWindow(pw.Tumbling("20 seconds"), early=None),
            pw.JoinWindow(retention="1 minute", retention_rows=20),
        ),
        "inner",
    ),
    "join-streams-rows": _join(
        pw.WindowedStreams(
            pw.JoinWindow(pw.rows(4)), pw.JoinWindow(pw.Hopping("40 seconds", "20 seconds"), early=None)
        ),
        "inner",
    ),
    "join-then": _join(pw.Interval("-5 seconds", "10 seconds"), "left").then(
        keys=["k"], window=pw.Tumbling("1 minute"), aggregates=[F.count().alias("n"), F.sum("v").alias("s")]
    ),
    "join-windows": _join(
        pw.SameWindow(pw.Tumbling("20 seconds"), allowed_lateness="30 seconds"),
        "full",
        unmatched="early",
        side={"allowed_lateness": 0},
    ),
}
# The second operator over the rows of a join.
SECOND: dict[str, pw.WindowOperator] = {
    "join-second": pw.WindowOperator(
        window=pw.Hopping("1 minute", "30 seconds"),
        keys=["r_part"],
        event_time="join_time",
        aggregates=[F.count().alias("n"), F.sum("v").alias("s"), F.max("x").alias("most")],
    )
}


def _skewed(name: str) -> Any:
    """Returns a join whose sides validate event times. None of them is in the future."""
    spec: Any = JOINS[name]
    left, right = (replace(side, max_future_skew="1 day") for side in (spec.left, spec.right))
    return replace(spec, left=left, right=right)


# What specifications are changed to, while a query over them is stopped (semantics 47.2).
CHANGED: dict[str, Specification] = {
    "chain": replace(_COUNTS, allowed_lateness="90 seconds").then(
        keys=["n"], aggregates=[F.count().alias("keys"), F.sum("s").alias("of_all")]
    ),
    "cogroup": _skewed("cogroup"),
    "cumulating-retracting": replace(SPECS["cumulating-retracting"], accumulation="accumulating"),
    "deduplicate-retracting": replace(OF_ROWS["deduplicate-retracting"], max_future_skew="1 day"),
    "frames": replace(OF_ROWS["frames"], max_future_skew="1 day"),
    "global-accumulating": replace(
        SPECS["global-accumulating"], trigger=pw.AfterWatermark(early=pw.AfterCount(5), late=pw.Always())
    ),
    "hopping-discarding": replace(SPECS["hopping-discarding"], aggregates=AGGREGATES[:4]),
    "join-final": _skewed("join-final"),
    "rows-tumbling": replace(
        OF_ROWS["rows-tumbling"], aggregates=[*AGGREGATES[1:], F.min("x").alias("least")]
    ),
    "session-retracting": replace(
        SPECS["session-retracting"],
        trigger=pw.AfterWatermark(early=pw.Always(), late=pw.AfterCount(2)),
        aggregates=[*AGGREGATES, F.min("v").alias("least")],
    ),
    "sliding-retracting": replace(
        OF_ROWS["sliding-retracting"], aggregates=[AGGREGATES[0].alias("rows"), *AGGREGATES[1:]]
    ),
    "tumbling-accumulating": replace(
        SPECS["tumbling-accumulating"], allowed_lateness="90 seconds", aggregates=AGGREGATES[:2]
    ),
}
STATIC = {"join-static"}  # the right side is a batch DataFrame
ALL = SPECS | OF_ROWS | JOINS
