"""Descriptions: every specification has a complete one, and given fields give given lines."""

from typing import Any

import pytest
from hypothesis import given, settings

from panewise import (
    AfterAll,
    AfterCount,
    AfterWatermark,
    Always,
    Calendar,
    CountEvictor,
    Cumulating,
    Custom,
    DeltaEvictor,
    Every,
    FixedLag,
    Global,
    Hopping,
    Inputs,
    Never,
    OrFinally,
    Position,
    Repeatedly,
    Session,
    Sliding,
    StreamTime,
    TimeEvictor,
    Tumbling,
    WindowOperator,
    rows,
)
from panewise import functions as F
from panewise.spec import counted
from panewise.spec.describe.specification import describe
from panewise.testing.strategies import specs

pytestmark = pytest.mark.filterwarnings("ignore::panewise.errors.SpecWarning")


def words(**fields: Any) -> str:
    return describe(
        WindowOperator(**{"window": Tumbling("1 hour"), "aggregates": [F.sum("v").alias("total")], **fields})
    )


@settings(max_examples=300, derandomize=True, database=None, deadline=None)
@given(spec=specs())
def test_every_specification_has_words(spec: WindowOperator) -> None:
    lines = describe(spec).splitlines()
    heads = [line.split(":")[0] for line in lines if not line.startswith(" ")]
    told = (
        ["Watermark"]
        if spec.watermark is not None or spec.time == "processing" or counted(spec.window)
        else []
    )
    assert heads == ["Windows", *told, "Panes", "Content", "Late rows", "Invalid rows", "Order", "State"]
    assert all(line.endswith(".") for line in lines)
    assert not any("None" in line or "Duration" in line or "  ." in line for line in lines)


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        (
            {"window": Hopping("2 s", "1 s")},
            "Windows: windows of 2 seconds, a row is in every window that holds its time; windows start at",
        ),
        (
            {"window": Hopping("1 s", "2 s", gaps=True)},
            "Windows: windows of 1 second, rows between two windows are in none; windows start at",
        ),
        (
            {"window": Cumulating("1 day", "1 hour")},
            "Windows: windows that grow by 1 hour up to 1 day; windows start at",
        ),
        (
            {"window": Calendar("day", zone="Europe/Berlin")},
            (
                "each row is in one window of a day in the time of Europe/Berlin; windows start when a day "
                "starts there."
            ),
        ),
        (
            {"window": Calendar("week", 2, week_start="sunday")},
            (
                "2 weeks in the time of UTC; windows start when a Sunday starts there, counted from the "
                "week of 1970-01-01."
            ),
        ),
        (
            {"window": Calendar("quarter")},
            "a quarter in the time of UTC; windows start when the first day of a quarter starts there.",
        ),
        (
            {"window": Session("1 s"), "keys": ["k", "shop"]},
            (
                "a window ends 1 second after its last row; windows that overlap are merged, those that "
                "only touch stay apart, "
                "apart for each k and shop."
            ),
        ),
        (
            {"window": Session("timeout")},
            "a window ends when the timeout of all its rows is over; windows that overlap are merged",
        ),
        ({"window": Session("timeout")}, "in a window out of range; timeout is null or not above zero."),
        ({"window": Session("1 s", "merge")}, "those that only touch are merged."),
        (
            {"aggregates": [F.max_by("v", "b"), F.top_n("v", 2), F.top_n_by("v", "b", 3)]},
            "Panes: each holds max_by(v, b), top_n(v, 2) and top_n_by(v, b, 3).",
        ),
        ({"window": Custom(len, name="f")}, "Windows: each row is in the windows that f gives it."),
        (
            {"window": Custom(len, name="f", merge=True)},
            (
                "each row is in the window that f gives it; windows that overlap are merged, those that "
                "only touch are kept apart."
            ),
        ),
        (
            {"window": Custom(len, name="f", merge="touching")},
            "windows that overlap are merged, those that only touch are merged, too.",
        ),
        (
            {"window": Custom(len, name="f")},
            "a row that is late for some of its windows is applied to the others.",
        ),
        (
            {"window": Custom(len, name="f", merge=True)},
            "a row is late if its session, merged with those it meets",
        ),
        (
            {"window": Custom(len, name="f")},
            "out of range; f gives it no window, or one that does not end after its start.",
        ),
        (
            {"window": Custom(len, name="f", merge=True)},
            "f gives it no window, or several, or one that does not end after its start.",
        ),
        (
            {"window": Tumbling(rows(3), -1)},
            (
                "Windows: each row is in one window of 3 rows; windows start at row -1 and every 3 rows "
                "from there, backwards"
            ),
        ),
        (
            {"window": Hopping(rows(3), rows(1))},
            (
                "windows of 3 rows, a row is in every window that holds its number; windows start at row 0 "
                "and every 1 row"
            ),
        ),
        (
            {"window": Hopping(rows(1), rows(2), gaps=True)},
            "windows of 1 row, rows between two windows are in none; windows start",
        ),
        (
            {"window": Hopping(rows(1), rows(2), gaps=True)},
            "Invalid rows: its number is between two windows.",
        ),
        (
            {"window": Session(rows(1))},
            (
                "Windows: a window ends when 1 row of other keys has come since its last row.\nWatermark: "
                "the number of rows that"
            ),
        ),
        (
            {"window": Session(rows(2)), "keys": ["k"]},
            "2 rows of other keys have come since its last row, apart for each k.\n",
        ),
        ({"window": Session(rows(2))}, "\nWatermark: the number of rows that have come of all keys.\n"),
        (
            {"window": Tumbling(rows(2)), "keys": ["k"]},
            "\nWatermark: the number of rows that have come, of each key its own.\n",
        ),
        ({"window": Tumbling(rows(2))}, "Late rows: no row is late before the end of input.\n"),
        (
            {"window": Tumbling(rows(2))},
            "Invalid rows: none.\nOrder: rows of a batch are taken as they stand; triggers",
        ),
        (
            {"window": Tumbling(rows(2)), "event_time": "t"},
            "Invalid rows: t is null or out of range.\nOrder: rows of a batch are taken in the order of t,",
        ),
        ({"window": Global()}, "Windows: one window without start or end, complete at the end of input."),
        ({"window": Tumbling(1, -1)}, "windows start at 1969-12-31 23:59:59.999999 UTC"),
        (
            {"window": Tumbling(1, 2**62)},
            "windows start at 4611686018427387904 microseconds from 1970-01-01 00:00:00 UTC",
        ),
        (
            {"watermark": FixedLag("1 s")},
            "\nWatermark: 1 second behind processing time, or that from outside if it is further.\nPanes:",
        ),
        (
            {"window": Session(5, closed="both")},
            "a window ends 5 microseconds after its last row, that instant included; windows that share",
        ),
        (
            {"window": Hopping(rows(4), rows(2), only_when_full=True)},
            "windows start at row 0 and every 2 rows from there; those that start before row 0 do not exist.",
        ),
        ({"timestamp": "window_time"}, "its timestamp is the last instant of its window."),
        (
            {"watermark": StreamTime()},
            "\nWatermark: of each key its own: the highest event_time that it has seen.\n",
        ),
        (
            {"watermark": StreamTime(per="all")},
            "\nWatermark: after each batch the highest event_time of the rows so far.\n",
        ),
        (
            {"watermark": StreamTime("1 s", per="all"), "evaluate": "record"},
            "after each row the highest event_time of the rows so far, less 1 second",
        ),
        ({"watermark": StreamTime("1 s")}, "the highest event_time that it has seen, less 1 second.\n"),
        ({"watermark": Inputs(["a", "b"])}, "\nWatermark: the least of those of a and b.\n"),
        (
            {"watermark": Inputs(["a", "b"], "1 s")},
            "of a and b; an input that has told none for 1 second of processing time is left out.\n",
        ),
        (
            {"watermark": Inputs(["a", "b"], column="s")},
            (
                "e of the inputs a and b, which s names; that of each moves after each batch to the highest "
                "event_time of its rows there.\n"
            ),
        ),
        (
            {"watermark": Inputs(["a", "b"], "1 s", "s", {"a": "2 s", "b": 0}), "evaluate": "record"},
            (
                "after each row to the highest event_time of its rows there, less 2 seconds (a), 0 seconds "
                "(b); an input without a row for 1 s"
            ),
        ),
        ({"watermark": Inputs(["a", "b"], column="s", delay="2 s")}, "of its rows there, less 2 seconds.\n"),
        ({"watermark": Inputs(["a", "b"], column="s")}, "; s is null or names no input."),
        (
            {"time": "processing"},
            "every 1 hour from there; its time is when it arrives.\nWatermark: processing time.\nPanes:",
        ),
        ({"time": "processing"}, "Late rows: no row is late before the end of input."),
        (
            {"time": "processing"},
            "Invalid rows: none.\nOrder: rows of a batch are taken as they stand; triggers",
        ),
        (
            {"time": "processing", "window": Hopping(1, 2, gaps=True)},
            "Invalid rows: processing time is between two windows.",
        ),
        ({"trigger": Always()}, "A pane is sent for each batch with rows."),
        ({"trigger": Always(), "evaluate": "record"}, "A pane is sent for each row."),
        ({"trigger": Never()}, "No pane is sent before a window expires."),
        (
            {"trigger": AfterCount(3)},
            "A pane is sent when 3 rows or more have come since the last one.\n  That closes the window",
        ),
        (
            {"trigger": Every("1 s")},
            (
                "A pane is sent at multiples of 1 second of processing time after the last one (at first: "
                "after the first row), if rows came."
            ),
        ),
        (
            {"trigger": AfterWatermark(early=AfterCount(1))},
            (
                "Before the watermark reaches the end of a window: an EARLY pane when a row has come since "
                "the last one."
            ),
        ),
        ({"on_time": "always"}, "one ON_TIME pane, even if no rows came since the last pane."),
        (
            {"allowed_lateness": 5},
            "After that, until the window expires: a LATE pane for each batch with rows.",
        ),
        (
            {"allowed_lateness": 5, "trigger": AfterWatermark(late=Never())},
            (
                "Rows that come after that are not sent before the window expires.\n"
                "  A window that a late row opens after its end emits its first rows at once, LATE.\n"
                "  When a window expires with rows not sent yet,"
            ),
        ),
        (
            {"allowed_lateness": 5, "trigger": AfterWatermark(late=AfterCount(9))},
            (
                "After that, until the window expires: a LATE pane when 9 rows or more have come since "
                "the last one.\n"
                "  A window that a late row opens after its end emits its first rows at once, LATE.\n"
            ),
        ),
        (
            {"trigger": AfterWatermark(early=AfterCount(2))},
            "one ON_TIME pane, even if no rows came since the last pane.",
        ),
        (
            {"trigger": OrFinally(Repeatedly(AfterCount(2)), AfterWatermark())},
            (
                "  If the trigger fires when the watermark reaches the end: one ON_TIME pane, even if no "
                "rows came since the last pane.\n"
            ),
        ),
        (
            {"trigger": AfterAll(AfterCount(3), AfterWatermark()), "on_time": "always"},
            (
                "  If the trigger fires when the watermark reaches the end: one ON_TIME pane, even if no "
                "rows came since the last pane.\n"
            ),
        ),
        (
            {"allowed_lateness": 5, "trigger": AfterWatermark()},
            (
                "That closes the window. One that is opened after its end by a late row sends one LATE pane "
                "and is closed."
            ),
        ),
        (
            {"closing": "always"},
            (
                "When a window expires or closes a last pane is sent, even if no rows came since the pane "
                "before."
            ),
        ),
        ({"accumulation": "accumulating"}, "Content: all rows of the window so far (accumulating)."),
        ({}, "Content: all rows of the window so far (accumulating).\n"),
        ({"accumulation": "discarding"}, "Content: only the rows since the last pane (discarding).\n"),
        ({"window": Sliding(rows(3))}, "Content: all rows of the window.\n"),
        (
            {"evictor": CountEvictor(3), "accumulation": "discarding"},
            (
                "(discarding).\n  Before each pane all rows but the last 3 go from the window, for "
                "good.\nLate rows:"
            ),
        ),
        (
            {"evictor": CountEvictor(1)},
            "  Before each pane all rows but the last one go from the window, for good.",
        ),
        (
            {"evictor": TimeEvictor("1 s", after=True), "accumulation": "accumulating"},
            (
                "  After each pane rows that are 1 second or more before the latest one go from the window, "
                "for good."
            ),
        ),
        (
            {"evictor": DeltaEvictor("v", 0.5)},
            (
                "  Before each pane rows whose v is 0.5 or more below that of the last one go from the "
                "window, for good."
            ),
        ),
        (
            {"delta": True},
            (
                "  Its delta lists the rows that are new since the pane before, with all their columns; a "
                "pane with new rows"
            ),
        ),
        (
            {"delta": ["v", "w"]},
            (
                "the rows that are new since the pane before, with their v and w; a pane with new rows is "
                "always sent."
            ),
        ),
        ({"accumulation": "retracting"}, "the pane before is withdrawn first, with op '-'"),
        (
            {"allowed_lateness": "1 s"},
            (
                "a row is late for a window whose end the watermark has passed by 1 second or more when its "
                "batch begins."
            ),
        ),
        ({"allowed_lateness": "unlimited"}, "Late rows: no row is late before the end of input."),
        ({"trigger": AfterCount(2)}, "A row is late, too, for a window that its trigger has closed."),
        (
            {"drop_by": "row"},
            "Late rows: a row is late if its time is behind the watermark when its batch begins.",
        ),
        (
            {"drop_by": "row", "allowed_lateness": "1 s"},
            "a row is late if its time is behind the watermark by more than 1 second when",
        ),
        (
            {"window": Session(5)},
            (
                "a row is late if its session, merged with those it meets, is one whose end the watermark "
                "has reached"
            ),
        ),
        ({"window": Hopping(4, 2)}, "a row that is late for some of its windows is applied to the others."),
        (
            {"keys": ["k"], "event_time": "t"},
            "Invalid rows: t is null, out of range, or in a window out of range.",
        ),
        ({"keys": ["k"], "null_keys": False}, "window out of range; k is null or NaN."),
        ({"max_future_skew": "1 s"}, "event_time is more than 1 second ahead of processing time."),
        ({"window": Hopping(1, 2, gaps=True)}, "event_time is between two windows."),
        (
            {"position": Position(source="topic")},
            "in the order of topic, partition and offset, then as they stand; a row at or below the highest",
        ),
        (
            {"order": ["a", "b"]},
            "in the order of a and b, then as they stand; triggers are asked once for each batch.",
        ),
        ({"evaluate": "record"}, "triggers are asked after each row."),
        (
            {"allowed_lateness": 1_000},
            (
                "State: a window goes when the watermark is 1 millisecond past its end; at the end of input "
                "all go."
            ),
        ),
        ({"window": Global(), "trigger": Always()}, "State: a window is kept until the end of input."),
        ({"trigger": AfterCount(2)}, "; when its trigger closes it, its contents go at once."),
    ],
)
def test_words(fields: dict[str, Any], line: str) -> None:
    assert line in words(**fields)
