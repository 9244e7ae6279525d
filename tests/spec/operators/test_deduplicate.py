"""Deduplications as values: rules, defaults, JSON, words (semantics 45)."""

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from panewise import DeduplicateOperator, FixedLag, Inputs, Position, StreamTime
from panewise.engine.registry import operator_for
from panewise.errors import SpecError
from panewise.spec.codec import changed_fields, complete, from_dict, to_dict
from panewise.spec.describe import describe
from panewise.spec.families.deduplicate import PARTS
from panewise.spec.family_parts import parts


def made(**fields: Any) -> DeduplicateOperator:
    return DeduplicateOperator(**{"keys": ["id"], "within": "1 hour", **fields})


SPECS = [
    made(),
    made(keep="last", by="event_time", emit="retracting", keys=["a", "b"], null_keys=False),
    made(by="event_time", event_time="ts", position=Position("p", "o", "s"), max_future_skew="1 hour"),
    made(keep="last", order=["seq"], watermark=FixedLag(5)),
    made(watermark=Inputs(["a", "b"], "1 minute"), emit="complete"),
    made(watermark=StreamTime("1 second", per="all")),
    made(within="unlimited", event_time=None, keep="last"),
    made(within="unlimited", keep="last", by="event_time", emit="retracting"),
]


def test_json_has_defaults() -> None:
    least = {"keys": ["id"], "within": 5, "keep": "last"}
    assert complete(least) == to_dict(made(within=5, keep="last"))
    assert changed_fields(to_dict(made()), to_dict(made(within="2 hours"))) == ["within"]


def test_defaults_emit_rows_that_are_final() -> None:
    """The default of `emit` is the first that needs no retraction (semantics 45.9)."""
    assert made().emit == "at_once"
    assert made(by="event_time").emit == made(keep="last").emit == "complete"
    assert (made().keep, made().by, made().null_keys) == ("first", "arrival", True)


WORDS = {
    "from the first row of their group in the order of ts": made(by="event_time", event_time="ts"),
    "a row is emitted when the watermark has passed its time": made(by="event_time"),
    "a row is emitted when the watermark is 1 hour past the first row of its group": made(keep="last"),
    "the row that it replaces is retracted": made(keep="last", emit="retracting"),
    "State: id and time of the first row of each group, until the watermark is 1 hour past": made(),
    "State: rows until the watermark has passed them; the chosen row of each group, until": made(keep="last"),
    "permanently: it grows with the number of different id": made(within="unlimited"),
    "a row is emitted at the end of input": made(within="unlimited", keep="last"),
    "no row is late before the end of input": made(within="unlimited", event_time=None),
    "Watermark: processing time less 5 microseconds": made(watermark=FixedLag(5)),
    "those of a batch in the order of seq": made(order=["seq"]),
    "those of equal time as they arrive, those of a batch in the order of seq": made(
        order=["seq"], emit="complete"
    ),
}


@pytest.mark.parametrize("words", WORDS)
def test_words(words: str) -> None:
    """The words say how state is bounded, and when it is not (semantics 45.13)."""
    assert words in describe(WORDS[words])


@pytest.mark.parametrize("spec", SPECS)
def test_every_deduplication_has_words(spec: DeduplicateOperator) -> None:
    lines = describe(spec).splitlines()
    assert [line.split(":")[0] for line in lines if not line.startswith("Watermark")] == [
        "Groups",
        "Rows",
        "Order",
        "Output",
        "Late rows",
        "Invalid rows",
        "State",
    ]


REFUSED: list[tuple[Callable[[], Any], str]] = [
    (lambda: made(keys=[]), "keys=() | rows are duplicates if they are equal in the keys"),
    (lambda: made(keys="id"), "keys='id' | keys is a list"),
    (lambda: made(keys=["id", "id"]), "keys=['id', 'id'] | a key is named once"),
    (lambda: made(keys=[""]), "column '' | columns are named by non-empty strings"),
    (lambda: made(within=None), "within=None | within limits how long the state is stored"),
    (lambda: made(within=0), "within=0 |"),
    (lambda: made(within="for ever"), "within='for ever' |"),
    (lambda: made(keep="any"), "keep='any' | keep is one of ('first', 'last')"),
    (lambda: made(by="time"), "by='time' | by is one of ('arrival', 'event_time')"),
    (lambda: made(emit="now"), "emit='now' | emit is one of"),
    (lambda: made(emit="at_once", keep="last"), "keep='last', by='arrival', emit='at_once' | only the first"),
    (lambda: made(emit="at_once", by="event_time"), "keep='first', by='event_time', emit='at_once' |"),
    (lambda: made(emit="retracting"), "keep='first', by='arrival', emit='retracting' | the first row"),
    (lambda: made(event_time=None), "event_time=None, within=Duration('1 hour') | within is a length"),
    (
        lambda: made(event_time=None, within="unlimited", by="event_time"),
        "event_time=None, by='event_time' | by='event_time' compares event times",
    ),
    (
        lambda: made(event_time=None, within="unlimited", watermark=FixedLag(1)),
        "event_time=None, watermark=FixedLag(",
    ),
    (lambda: made(watermark=StreamTime()), "watermark=StreamTime("),
    (lambda: made(position="p"), "position='p' | a position is a Position"),
    (lambda: made(order=["a"], position=Position()), "order=('a',) and a position"),
    (lambda: made(null_keys=1), "null_keys=1 |"),
    (lambda: made(max_future_skew=-1), "max_future_skew=-1 | max_future_skew is not negative"),
    (lambda: from_dict({"keep": "first", "keys": ["id"]}), "within is missing"),
    (lambda: from_dict({**to_dict(made()), "hop": 1}), "hop=1 | the known fields are"),
]


@pytest.mark.parametrize(("make", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_what_is_refused(make: Callable[[], Any], message: str) -> None:
    """Each rule is refused by an error that names the field (semantics 45.3, 45.6, 45.8, 45.16, 45.17)."""
    with pytest.raises(SpecError) as caught:
        make()
    assert str(caught.value).startswith(message)


def test_event_times_of_emitted_rows() -> None:
    """Rows that are emitted when they arrive are never behind the watermark (semantics 45.18)."""
    facts = parts(made())
    assert [facts.output_time(spec) for spec in (made(), made(event_time="ts", keep="last"))] == [
        "event_time",
        "ts",
    ]
    assert PARTS.timely_column(made()) == "event_time"
    assert PARTS.timely_column(made(keep="last")) is PARTS.timely_column(made(emit="complete")) is None


SCHEMA = {"id": pl.Int64(), "event_time": pl.Int64(), "op": pl.String()}


def test_columns_are_checked() -> None:
    assert operator_for(made(), SCHEMA).plan.pane_schema == SCHEMA
    retracting = made(keep="last", emit="retracting")
    for spec, schema, message in (
        (retracting, SCHEMA, "'op' twice"),
        (made(keys=["no"]), SCHEMA, "column 'no'"),
        (made(), SCHEMA | {"id": pl.List(pl.Int64())}, "key id: array<bigint>"),
        (made(), SCHEMA | {"event_time": pl.String()}, "event time event_time: string"),
        (made(order=["x"]), SCHEMA | {"x": pl.Struct({"a": pl.Int64()})}, "order x: struct"),
    ):
        with pytest.raises(SpecError, match=message):
            operator_for(spec, schema)
