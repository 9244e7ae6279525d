"""The operators that are run and killed: every kind of window with every accumulation, and a few with something special.

None asks for processing time (Every, max_future_skew), which no two runs have in common.
"""

import panewise as pw
from panewise import functions as F
from panewise.spec import Trigger, Window

WINDOWS: dict[str, Window] = {
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
# Floats are multiples of a quarter (stream_files.py), so that sums do not depend on the order in which partial sums meet.
AGGREGATES = (
    F.count().alias("n"),
    F.sum("v").alias("s"),
    F.avg("x").alias("mean"),
    F.max("x").alias("most"),
    F.collect_list("id").alias("ids"),
    F.last("v").alias("latest"),
)


def _operator(window: str, accumulation: str, **fields: object) -> pw.WindowOperator:
    given: dict[str, object] = {
        "window": WINDOWS[window],
        "accumulation": accumulation,
        "trigger": TRIGGERS[accumulation],
        "aggregates": AGGREGATES,
        "keys": ["k"],
        "event_time": "ts",
        "allowed_lateness": 0 if window == "global" else "45 seconds",
    }
    return pw.WindowOperator(**(given | fields))  # type: ignore[arg-type]


# Windows times accumulations, and what is not seen by them: positions with replays, row by row, panes on request, rows
# combined where they are read, windows that close.
SPECS: dict[str, pw.WindowOperator] = {
    **{f"{window}-{mode}": _operator(window, mode) for window in WINDOWS for mode in TRIGGERS},
    "replays": _operator("tumbling", "retracting", position=pw.Position("part", "off")),
    "by-record": _operator("hopping", "accumulating", evaluate="record", order=["id"]),
    "on-request": _operator("cumulating", "retracting", on_time="always", closing="always", drop_by="row"),
    "combined": _operator("hopping", "retracting", aggregates=[F.count().alias("n"), F.sum("v").alias("s"), F.avg("x").alias("mean")]),
    "closing-sessions": _operator("session", "accumulating", trigger=pw.AfterWatermark(early=pw.Always()), allowed_lateness=0),
}
WITHOUT_LATE_ROWS = {"combined"}  # then rows are combined where they are read
