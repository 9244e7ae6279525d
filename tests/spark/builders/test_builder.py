"""Every method of every builder: what was set before stays, or the call is refused."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import panewise as pw
from panewise import left, right
from panewise.errors import SpecError
from panewise.spark import (
    CogroupBuilder,
    DeduplicateBuilder,
    JoinBuilder,
    OverBuilder,
    PolicyBuilder,
    WindowBuilder,
)
from panewise.spark.builders.builder import Builder
from panewise.streamwindow import count, partition_count

SIDES: Any = {"left": {"event_time": "ts"}, "right": {"event_time": "ts"}}
BUILDERS: dict[str, Any] = {
    "windows": WindowBuilder({}, {"event_time": "ts"}),
    "over": OverBuilder({}, {"event_time": "ts"}),
    "policies": PolicyBuilder({}, {}),
    "join": JoinBuilder({}, {}, sides=SIDES),
    "cogroup": CogroupBuilder({}, {}, sides=SIDES),
    "deduplicate": DeduplicateBuilder({}, {"event_time": "ts"}),
}
# These end a description.
ENDS = {"agg", "how", "ordered", "tuples", "listen", "withColumn", "withColumns", "df"}
Call = Callable[[Any], Any]
# Of each method two calls that set the same value, or name columns.
NAMING = {"groupBy", "partition_by", "delta", "events", "on", "select", "order_by"}
TWICE: dict[str, tuple[Call, Call]] = {
    "finish": (lambda b: b.finish("never"), lambda b: b.finish("at_end")),
    "clock": (lambda b: b.clock("1 second"), lambda b: b.clock("2 seconds")),
    "shards": (lambda b: b.shards(2), lambda b: b.shards(3)),
    "options": (lambda b: b.options(null_keys=True), lambda b: b.options(null_keys=False)),
    "groupBy": (lambda b: b.groupBy("a"), lambda b: b.groupBy("b")),
    "partition_by": (lambda b: b.partition_by("a"), lambda b: b.partition_by("b")),
    "window": (lambda b: b.window(pw.Tumbling(5)), lambda b: b.window(pw.Tumbling(6))),
    "trigger": (lambda b: b.trigger(pw.Never()), lambda b: b.trigger(pw.Always())),
    "accumulation": (lambda b: b.accumulation("discarding"), lambda b: b.accumulation("retracting")),
    "evictor": (lambda b: b.evictor(pw.CountEvictor(1)), lambda b: b.evictor(pw.CountEvictor(2))),
    "delta": (lambda b: b.delta("a"), lambda b: b.delta("b")),
    "tumbling": (lambda b: b.tumbling(count(1)), lambda b: b.sliding(count(1))),
    "sliding": (lambda b: b.sliding(count(1)), lambda b: b.tumbling(count(1))),
    "partition_eviction": (
        lambda b: b.partition_eviction(partition_count(1)),
        lambda b: b.partition_eviction(partition_count(2)),
    ),
    "events": (lambda b: b.events("FINAL"), lambda b: b.events("TRIGGER")),
    "on": (lambda b: b.on("a"), lambda b: b.on("b")),
    "idle_after": (lambda b: b.idle_after("1 second"), lambda b: b.idle_after("2 seconds")),
    "within": (lambda b: b.within(0, 1), lambda b: b.as_of()),
    "as_of": (lambda b: b.as_of(), lambda b: b.latest()),
    "latest": (lambda b: b.latest(), lambda b: b.rows(3)),
    "rows": (lambda b: b.rows(3), lambda b: b.streams()),
    "streams": (lambda b: b.streams(), lambda b: b.within(0, 1)),
    "select": (lambda b: b.select("a"), lambda b: b.select("b")),
}
# The same for methods whose arguments differ.
OF_ONE_INPUT = {
    "order_by": (lambda b: b.order_by("a"), lambda b: b.order_by("b")),
    "position": (lambda b: b.position("p", "o"), lambda b: b.position("q", "o")),
    "watermark": (lambda b: b.watermark(pw.FixedLag(1)), lambda b: b.watermark(pw.FixedLag(2))),
    "allowed_lateness": (lambda b: b.allowed_lateness(1), lambda b: b.allowed_lateness(2)),
}
OF_SIDES = {
    "order_by": (lambda b: b.order_by(left="a"), lambda b: b.order_by(left="b")),
    "position": (
        lambda b: b.position(left=pw.Position("p", "o")),
        lambda b: b.position(left=pw.Position("q", "o")),
    ),
    "watermark": (lambda b: b.watermark(left=pw.FixedLag(1)), lambda b: b.watermark(left=pw.FixedLag(2))),
    "allowed_lateness": (lambda b: b.allowed_lateness(left=1), lambda b: b.allowed_lateness(2)),
    "prefix": (lambda b: b.prefix(left="l"), lambda b: b.prefix(left="m", right="r")),
}
# Calls that add up, by builder: what both together set.
ADDING: dict[str, tuple[str, list[Call]]] = {
    "options": ("windows", [lambda b: b.options(strict=True), lambda b: b.options(on_time=True)]),
    "options of joins": (
        "join",
        [lambda b: b.options(evaluate="record"), lambda b: b.options(null_keys=(True, False))],
    ),
    "order_by": ("join", [lambda b: b.order_by(left="a"), lambda b: b.order_by(right="b")]),
    "position": (
        "cogroup",
        [
            lambda b: b.position(left=pw.Position("p", "o")),
            lambda b: b.position(right=pw.Position("q", "o")),
        ],
    ),
    "watermark": (
        "join",
        [lambda b: b.watermark(left=pw.FixedLag(1)), lambda b: b.watermark(right=pw.FixedLag(2))],
    ),
    "lateness": ("join", [lambda b: b.allowed_lateness(left=1), lambda b: b.allowed_lateness(right=2)]),
    "prefix": ("join", [lambda b: b.prefix(left="l"), lambda b: b.prefix(right="r")]),
    "where": ("join", [lambda b: b.where(left("a") > 1), lambda b: b.where(right("b") > 2)]),
    "methods": (
        "windows",
        [lambda b: b.groupBy("a").window(pw.Tumbling(5)), lambda b: b.shards(3).finish("never")],
    ),
}


def methods(builder: Builder) -> Iterator[str]:
    names = [name for name in dir(type(builder)) if not name.startswith("_") and not name.isupper()]
    return (name for name in names if name not in ENDS and callable(getattr(type(builder), name)))


@pytest.mark.parametrize("family", BUILDERS)
def test_nothing_that_was_set_is_lost(family: str) -> None:
    """Each method is in a table. Columns named again are refused, others replace (semantics 35.8)."""
    builder = BUILDERS[family]
    several = isinstance(builder, (JoinBuilder, CogroupBuilder))
    of_cogroup = {"allowed_lateness": OF_ONE_INPUT["allowed_lateness"]} if family == "cogroup" else {}
    table = {**TWICE, **(OF_SIDES if several else OF_ONE_INPUT), **of_cogroup}
    for name in methods(builder):
        if name == "where" or (family, name) == ("deduplicate", "within"):  # adds a condition; ends
            continue
        first, second = table[name]
        once = first(builder)
        assert once != builder
        if name in NAMING:
            with pytest.raises(SpecError, match=r"after .* names these columns once"):
                second(once)
        else:
            assert second(once) == second(builder)
        assert first(builder) == once
        assert second(builder) != once


@pytest.mark.parametrize("name", ADDING)
def test_calls_for_different_fields_add_up(name: str) -> None:
    """Their order makes no difference, except in the order of conditions."""
    family, (first, second) = ADDING[name]
    both, turned = second(first(BUILDERS[family])), first(second(BUILDERS[family]))
    if name == "where":
        assert both.fields["condition"].parts == turned.fields["condition"].parts[::-1]
        assert len(both.fields["condition"].parts) == 2
    else:
        assert both == turned
    assert both != first(BUILDERS[family])
    assert both != second(BUILDERS[family])
