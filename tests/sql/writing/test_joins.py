"""Joins of every match are the same after a round trip through SQL, or are refused by a field's name."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given

import panewise as pw
from panewise.errors import SpecError, SqlError
from panewise.spec import (
    AsOf,
    Interval,
    JoinOperator,
    JoinWindow,
    LastRows,
    Latest,
    SameWindow,
    Selected,
    Side,
    WindowedStreams,
)
from panewise.spec.conditions import left, right
from panewise.sql import compile_sql, to_sql
from panewise.sql.joins import resolved
from panewise.sql.stages import JoinStage
from panewise.streamwindow import time
from panewise.testing.joins import join_specs
from tests.engine.effort import examples


def specification(text: str, spec: JoinOperator) -> JoinOperator:
    """Returns the join of a text, over tables that have the columns which another join reads."""
    stage = compile_sql(text).stage
    assert isinstance(stage, JoinStage), text
    columns = {side: list(dict.fromkeys(entry.columns_read)) for side, entry in spec.ports.items()}
    times = [
        column if column is not None else side.event_time
        for column, side in zip(stage.times, (spec.left, spec.right), strict=True)
    ]
    return resolved(stage, columns, (times[0], times[1])).spec


def plain(spec: JoinOperator) -> JoinOperator:
    """Returns a join without fields that SQL refuses most often; the test needs others, too."""
    fields = {"watermark": None, "prefix": ""}
    sides: dict[str, Any] = {
        name: replace(side, **fields) for name, side in (("left", spec.left), ("right", spec.right))
    }
    late = {"match": replace_late(spec.match)} if isinstance(spec.match, Interval) else {}
    return replace(spec, **sides, **late, evaluate="batch", timestamp=None)


def replace_late(match: Interval) -> Interval:
    return replace(match, late="output")


@given(join_specs(watermark=None, idle_after=None))
@pytest.mark.filterwarnings("ignore::panewise.errors.SpecWarning")
@examples(300)
def test_a_join_is_the_same_after_a_round_trip(drawn: JoinOperator) -> None:
    """semantics 46.22, 46.70"""
    try:
        spec = plain(drawn)
        text = to_sql(spec)
    except SpecError:  # SQL refuses it, or it is none without these fields
        assume(False)
        return
    again = specification(text, spec)
    assert to_sql(again) == text
    assert again == spec


SAME_TIME: Any = {
    "left": Side(keys=["id"], event_time="t", allowed_lateness="1 minute"),
    "right": Side(keys=["key"], event_time="t", allowed_lateness="1 minute"),
}
EACH_MINUTE: Any = pw.Every("1 minute", aligned=True)


@pytest.mark.parametrize(
    ("match", "text"),
    [
        (Interval("-1 hour", None, retain_for="unlimited"), "[UNBOUNDED ON `t`] a JOIN u"),
        (Interval(None, 0, retain_for="unlimited"), "[NOW ON `t`] a JOIN u"),
        (
            WindowedStreams(JoinWindow(pw.rows(3)), JoinWindow(pw.Tumbling("1 hour"))),
            "[PARTITION BY `id` ROWS 3] a JOIN u",
        ),
        (
            WindowedStreams(JoinWindow(early=EACH_MINUTE), JoinWindow(pw.rows(3), early=EACH_MINUTE)),
            "b OVER (ROWS 3 PRECEDING)\nON a.`id` = b.`key`\nEMIT EVERY INTERVAL '1 minute'",
        ),
        (
            WindowedStreams(
                JoinWindow(early=EACH_MINUTE),
                JoinWindow(pw.Tumbling("1 hour"), early=EACH_MINUTE, late=EACH_MINUTE),
            ),
            "EMIT EVERY INTERVAL '1 minute', WITH LATENESS INTERVAL '1 minute'",
        ),
        (WindowedStreams(JoinWindow(), JoinWindow(pw.Tumbling("1 hour"))), "EMIT CHANGES"),
        (AsOf("backward", "1 minute"), "t WITH (allowed_lateness = '1 minute') a ASOF JOIN u"),
    ],
)
def test_each_match_of_streams(match: Any, text: str) -> None:
    """semantics 46.24, 46.25, 46.70, 46.182"""
    spec = JoinOperator(**SAME_TIME, match=match, select=[Selected("left", "v", "x")])
    assert text in to_sql(spec)
    assert specification(to_sql(spec), spec) == spec


SIDES: Any = {"left": Side(keys=["id"], event_time="t"), "right": Side(keys=["key"], event_time="s")}


@pytest.mark.parametrize(
    ("match", "more", "text"),
    [
        (
            Interval("-5 minutes", "1 hour", "left"),
            {"how": "left", "condition": left("v") > 3},
            (
                "t a LEFT JOIN u b\nON a.`id` = b.`key` AND b.`s` >= a.`t` - INTERVAL '5 minutes'"
                " AND b.`s` < a.`t` + INTERVAL '1 hour' AND (a.`v` > 3)"
            ),
        ),
        (
            AsOf("forward", "1 minute"),
            {"condition": (left("v") == right("w")) | right("w").is_null()},
            (
                "t a ASOF JOIN u b"
                " MATCH_CONDITION (a.`t` <= b.`s` AND b.`s` <= a.`t` + INTERVAL '1 minute')\n"
                "ON a.`id` = b.`key` AND ((a.`v` = b.`w`) OR (b.`w` IS NULL))"
            ),
        ),
        (LastRows(3), {"how": "left"}, "t a LEFT JOIN u b OVER (ROWS 3 PRECEDING)\nON a.`id` = b.`key`"),
        (LastRows(1), {}, "t a JOIN u FOR SYSTEM_TIME AS OF PROCTIME() b\nON a.`id` = b.`key`"),
        (
            LastRows(3, 2),
            {},
            "t [PARTITION BY `id` ROWS 2] a JOIN u [PARTITION BY `key` ROWS 3] b\nON a.`id` = b.`key`",
        ),
        (
            Latest("1 day"),
            {"how": "full"},
            "t a FULL JOIN u b OVER (LATEST INTERVAL '1 day')\nON a.`id` = b.`key`",
        ),
        (
            Latest(deletes=("v", "w")),
            {},
            "t WITH (deletes = 'v') a JOIN u WITH (deletes = 'w') b OVER (LATEST)\nON a.`id` = b.`key`",
        ),
        (
            SameWindow(pw.Hopping("1 hour", "5 minutes"), accumulation="retracting"),
            {"how": "anti"},
            (
                "HOP(TABLE t, DESCRIPTOR(`t`), SLIDE => INTERVAL '5 minutes', SIZE => INTERVAL '1 hour') a"
                " LEFT ANTI JOIN HOP(TABLE u, DESCRIPTOR(`s`), SLIDE => INTERVAL '5 minutes',"
                " SIZE => INTERVAL '1 hour') b\nON a.`id` = b.`key` AND a.window_start = b.window_start"
                " AND a.window_end = b.window_end\nEMIT RETRACTING"
            ),
        ),
    ],
    ids=["interval", "as of", "last rows", "version", "windows of rows", "latest", "deletes", "same window"],
)
def test_each_match(match: Any, more: dict[str, Any], text: str) -> None:
    """semantics 46.70"""
    spec = JoinOperator(**SIDES, match=match, select=[Selected("left", "v", "x")], **more)
    assert to_sql(spec) == f"SELECT a.`v` AS `x`\nFROM {text}"
    assert specification(to_sql(spec), spec) == spec


@pytest.mark.parametrize(
    ("fields", "given"),
    [
        ({"match": AsOf("nearest")}, "match=AsOf"),
        (
            {"match": WindowedStreams(JoinWindow(pw.Hopping("2 hours", "1 hour")), JoinWindow(pw.rows(3)))},
            "match=WindowedStreams",
        ),
        ({"match": LastRows(time("1 hour"))}, "match=LastRows"),
        ({"match": Interval(None, 5, retain_rows=3)}, "match=Interval"),
        ({"match": Interval(0, 5, late="join")}, "match.late='join'"),
        ({"match": Interval(0, 5), "condition": left("v") > 1}, "condition of an inner join"),
        ({"match": Interval(0, 5), "evaluate": "record"}, "evaluate='record'"),
        (
            {"match": Interval(0, 5), "select": [Selected("left", "v", "x"), Selected("left", "v", "y")]},
            "select",
        ),
        ({"match": SameWindow(pw.Session("5 minutes"))}, "match=SameWindow"),
        ({"match": Interval("1 hour", None, retain_for="unlimited")}, "match=Interval"),
        ({"match": WindowedStreams()}, "match=WindowedStreams"),
        ({"match": WindowedStreams(right=JoinWindow(pw.Tumbling("1 hour")))}, "match=WindowedStreams"),
        (
            {"match": WindowedStreams(right=JoinWindow(pw.rows(3), early="1 minute"))},
            "match=WindowedStreams",
        ),
    ],
)
def test_what_sql_cannot_say_of_a_join(fields: dict[str, Any], given: str) -> None:
    """semantics 46.71"""
    with pytest.raises(SqlError) as caught:
        to_sql(JoinOperator(**SIDES, **fields))
    assert caught.value.given.startswith(given)
