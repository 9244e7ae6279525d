"""Columns whose names begin with `__`: what comes out is what comes out with other names."""

from collections.abc import Callable
from typing import Any

import pytest

import panewise as pw
from panewise import StreamWindow, WindowOperator
from panewise import functions as F
from panewise.errors import SpecError
from panewise.spec import Specification
from panewise.streamwindow import count, delta
from panewise.testing import run
from tests.reserved import NAMES

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


FAMILIES: dict[str, Specification] = {
    "windows": WindowOperator(
        window=pw.Tumbling(10), keys=["k"], aggregates=[F.count().alias("n")], delta=True, null_keys=False
    ),
    "windows of rows": WindowOperator(
        window=pw.Tumbling(pw.rows(1)), keys=["k"], aggregates=[F.count().alias("n")], delta=True
    ),
    "over": pw.OverOperator(
        keys=["k"],
        event_time="event_time",
        columns=[pw.OverColumn(F.count().alias("n"), pw.Frame("rows", -1, 0))],
    ),
    "policies": StreamWindow.tumbling(count(1)),
    "join": pw.JoinOperator(
        left=pw.Side(keys=["k"], prefix="l_"),
        right=pw.Side(keys=["k"], prefix="r_"),
        match=pw.Interval(0, 0),
        how="left",
    ),
    "cogroup": pw.CogroupOperator(
        left=pw.Side(keys=["k"]),
        right=pw.Side(keys=["k"]),
        window=pw.Tumbling(10),
        left_aggregates=[F.first(name).alias(f"l_{name}") for name in NAMES],
    ),
}


@pytest.mark.parametrize("runtime", ["oracle", "engine"])
@pytest.mark.parametrize("family", FAMILIES)
def test_every_name_of_the_operator_passes_through(family: str, runtime: str) -> None:
    """All of them are columns of the user at once, in emitted, late and invalid rows (semantics 35.4)."""
    spec = FAMILIES[family]
    timed = family not in ("policies", "windows of rows")
    values = {name: place for place, name in enumerate(NAMES)}
    side = {"input": "left"} if len(spec.ports) > 1 else {}
    row, invalid = {"event_time": 1, "k": "a", **values}, {"event_time": None, "k": "a", **values}
    events: list[dict[str, Any]] = [{"op": "add", "rows": [row], **side}]
    if side:
        events += [{"op": "add", "rows": [{**row, "event_time": 2}], "input": "right"}]
    if timed:
        events += [{"op": "watermark", "to": 30}, {"op": "add", "rows": [row, invalid], **side}]
    outputs = run(spec, [*events, {"op": "finish"}], runtime)
    panes = [pane for output in outputs for pane in output["panes"]]
    rows = panes[0].get("delta", panes[0].get("tuples"))
    emitted = rows[0] if isinstance(rows, list) else panes[0]
    prefix = "l_" if side else ""
    assert {name: emitted.get(f"{prefix}{name}") for name in NAMES} == values
    kinds = ("late", "invalid") if timed else ()
    for kind in kinds:
        (one,) = [one for output in outputs for one in output[kind]]
        assert {name: one["row"][name] for name in NAMES} == values


def keyed(name: str) -> WindowOperator:
    return WindowOperator(window=pw.Tumbling(10), keys=[name], aggregates=[F.count().alias("n")], delta=True)


OF_PANES = {"window_start", "window_end", "timing", "index", "op", "processing_time", "delta"}


@pytest.mark.parametrize("name", sorted(OF_PANES))
def test_a_key_with_the_name_of_another_column_of_panes_is_refused(name: str) -> None:
    """It is an error (semantics 20)."""
    with pytest.raises(SpecError, match=f"'{name}' twice"):
        keyed(name)


def test_every_other_name_may_be_that_of_a_key() -> None:
    """Keys have the names of the user (semantics 35.4)."""
    for name in set(NAMES) - OF_PANES:
        outputs = run(
            keyed(name), [{"op": "add", "rows": [{"event_time": 1, name: 7}]}, {"op": "finish"}], "engine"
        )
        assert [pane[name] for pane in outputs[1]["panes"]] == [7]
