"""Columns whose names begin with `__`: what comes out is what comes out with other names."""

from collections.abc import Callable
from typing import Any

import pytest

import panewise as pw
from panewise import StreamWindow, WindowOperator
from panewise import functions as F
from panewise.spec import Specification
from panewise.streamwindow import count, delta
from panewise.testing import run

Name = Callable[[str], str]


def whole(n: Name) -> Specification:
    return WindowOperator(
        window=pw.Session(n("row")),
        event_time=n("time"),
        keys=[n("end")],
        null_keys=False,
        order=[n("start")],
        aggregates=[F.sum(n("index")).alias(n("hash")), F.max_by(n("start"), n("index")), F.count()],
        delta=True,
        trigger=pw.AfterWatermark(early=pw.OnDelta(n("index"), 1), late=pw.Always()),
        allowed_lateness=2,
    )


def custom(n: Name) -> Specification:
    def windows(row: dict[str, Any]) -> list[tuple[int, int]]:
        return [(row[n("start")], row[n("start")] + 20)]

    window = pw.Custom.each(windows, name="mine", columns=[n("start")], merge=True)
    return WindowOperator(
        window=window, event_time=n("time"), keys=[n("end")], aggregates=[F.sum(n("index"))]
    )


def chain(n: Name) -> Specification:
    first = WindowOperator(
        window=pw.Tumbling(20),
        event_time=n("time"),
        keys=[n("end"), n("start")],
        aggregates=[F.sum(n("index")).alias(n("sum"))],
    )
    return first.then(keys=[n("end")], aggregates=[F.max(n("sum")).alias(n("live"))])


def over(n: Name) -> Specification:
    columns = [
        pw.OverColumn(F.sum(n("index")).alias(n("count")), pw.Frame("rows", -1, 0)),
        pw.OverColumn(F.lag(n("start")).alias(n("at_time"))),
    ]
    return pw.OverOperator(keys=[n("end")], event_time=n("time"), order=[n("start")], columns=columns)


def policies(n: Name) -> Specification:
    return StreamWindow.sliding(delta(n("index"), 3), count(1), partition_by=[n("end")], order=[n("time")])


@pytest.mark.parametrize("runtime", ["oracle", "engine"])
@pytest.mark.parametrize("describe", [whole, custom, chain, over, policies])
def test_the_output_is_that_with_other_names(describe: Callable[[Name], Specification], runtime: str) -> None:
    """The names are those of columns that operators add, in panes, late and invalid rows (semantics 35.4)."""

    def outputs(prefix: str) -> list[dict[str, Any]]:
        rows = [
            {"time": t, "end": k, "start": 5 * i, "index": i, "row": 4, "place": "x", "hash": None}
            for i, (t, k) in enumerate([(1, "a"), (3, "b"), (4, "a"), (9, "a"), (None, "a"), (5, None)])
        ]
        given = [{prefix + name: value for name, value in row.items()} for row in rows]
        events: list[dict[str, Any]] = [{"op": "add", "rows": given[:4]}]
        if describe is not policies:
            events += [{"op": "watermark", "to": 30}]
        events += [{"op": "restart"}, {"op": "add", "rows": given}, {"op": "finish"}]
        return run(describe(lambda name: prefix + name), events, runtime, windows=describe is whole)

    found, wanted = outputs("__"), outputs("xy")
    assert repr(found).replace("__", "xy") == repr(wanted)
    assert "'__end'" in repr([output["panes"] for output in found])
