"""Quotes, replaced characters, and specifications that are the same after a round trip."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import panewise as pw
from panewise import functions as F
from panewise.errors import SpecError, SqlError
from panewise.spec import RowFunction
from panewise.spec.conditions.text import in_backticks
from panewise.sql import compile_sql, to_sql
from panewise.sql.parsing.syntax import TextSpan
from panewise.sql.text.pieces import replaced
from panewise.testing.strategies import aggregates, frame_specs, windows
from tests.engine.effort import examples


@given(st.text(max_size=9))
@examples(50)
def test_quotes(name: str) -> None:
    assert in_backticks(name)[1:-1].replace("``", "`") == name


def test_spans_are_replaced_from_left_to_right() -> None:
    assert replaced("a + b", TextSpan(0, 5), {TextSpan(4, 5): "y", TextSpan(0, 1): "x"}) == "x + y"


def round_trip(spec: Any) -> None:
    try:
        text = to_sql(spec)
    except SqlError as error:
        assume(False)
        raise AssertionError from error
    made = compile_sql(text).last
    assert made is not None
    assert made.spec == spec, text  # type: ignore[union-attr]
    assert to_sql(made.spec) == text  # type: ignore[union-attr]


@st.composite
def over_specs_of_sql(draw: st.DrawFn, /) -> pw.OverOperator:
    """Draws OVER operators of which SQL says each: with aggregates of one column, and without a position."""
    spec = draw(frame_specs(position=None, watermark=None).filter(lambda spec: bool(spec.columns)))
    columns = {}
    for column in spec.columns:
        plain = column.what.fn in ("count", "sum", "min", "max", "first", "last", "median")
        is_function = isinstance(column.what, RowFunction)
        what = column.what if is_function or plain else F.sum("v").alias(column.name)
        columns[replace(what, name=""), column.frame] = replace(column, what=what)
    return replace(spec, columns=tuple(columns.values()))


_LATE = st.sampled_from([None, pw.Always(), pw.AfterCount(3), pw.Every("7 seconds")])
_EARLY = st.one_of(_LATE, st.just(pw.AfterProcessingTime("1 minute")))


SPECS = st.fixed_dictionaries(
    {
        "window": st.sampled_from(
            ["tumbling", "hopping", "cumulating", "session", "calendar", "sliding"]
        ).flatmap(windows),
        "trigger": st.one_of(st.just(pw.Never()), st.builds(pw.AfterWatermark, _EARLY, _LATE)),
        "accumulation": st.sampled_from(["discarding", "accumulating", "retracting"]),
        "allowed_lateness": st.sampled_from([0, 5, "1 hour", "unlimited"]),
        "keys": st.sampled_from([(), ("k",), ("k", "a b")]),
        "aggregates": aggregates(),
    }
)


@given(SPECS)
@pytest.mark.filterwarnings("ignore::panewise.errors.SpecWarning")
@examples(200)
def test_windows_are_the_same_after_a_round_trip(fields: dict[str, Any]) -> None:
    """semantics 46.22"""
    try:
        spec = pw.WindowOperator(event_time="t", **fields)
    except SpecError:
        assume(False)
        raise
    round_trip(spec)


@given(frame_specs())
@examples(200)
def test_over_is_the_same_after_a_round_trip(spec: pw.OverOperator) -> None:
    """semantics 46.22"""
    round_trip(spec)


def test_rows_in_order_are_the_same_after_a_round_trip() -> None:
    """semantics 46.15, 46.22"""
    round_trip(pw.OverOperator(event_time="my time"))


@given(over_specs_of_sql())
@examples(200)
def test_every_over_that_sql_says_is_the_same_after_a_round_trip(spec: pw.OverOperator) -> None:
    """semantics 46.22, 46.80, 46.81, 46.83, 46.84"""
    text = to_sql(spec)
    stage = compile_sql(text).last
    assert stage is not None
    assert stage.spec == spec, text  # type: ignore[union-attr]


def test_what_sql_cannot_say() -> None:
    """semantics 46.22"""
    spec = pw.WindowOperator(window=pw.Tumbling(5), aggregates=[F.count()], closing="always")
    with pytest.raises(SqlError, match=r"closing='always' \| SQL has forms for windows"):
        to_sql(spec)
    assert (
        to_sql(pw.WindowOperator(window=pw.Global(), aggregates=[F.count().alias("n")], time="processing"))
        == ("SELECT count(*) AS `n`\nFROM t\nEMIT ") + "AFTER WATERMARK"
    )
