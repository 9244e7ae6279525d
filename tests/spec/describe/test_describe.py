"""Descriptions: every specification has a complete one, and given fields give given lines."""

from typing import Any

import pytest
from hypothesis import given

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
from panewise.spec.describe import describe
from panewise.testing.strategies import specs
from tests.engine.effort import examples

pytestmark = pytest.mark.filterwarnings("ignore::panewise.errors.SpecWarning")


def words(**fields: Any) -> str:
    return describe(
        WindowOperator(**{"window": Tumbling("1 hour"), "aggregates": [F.sum("v").alias("total")], **fields})
    )


@examples(300)
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
            (
                "Windows: windows of 2 seconds; a row belongs to every window that contains its "
                "time; windows start at"
            ),
        ),
        (
            {"window": Hopping("1 s", "2 s", gaps=True)},
            ("Windows: windows of 1 second; rows in a gap between windows belong to none; windows start at"),
        ),
        (
            {"window": Cumulating("1 day", "1 hour")},
            "Windows: windows that grow by 1 hour up to 1 day; windows start at",
        ),
        (
            {"window": Calendar("day", zone="Europe/Berlin")},
            (
                "each row belongs to one window of a day in the local time of Europe/Berlin; "
                "windows start when a day starts there."
            ),
        ),
        (
            {"window": Calendar("week", 2, week_start="sunday")},
            (
                "2 weeks in the local time of UTC; windows start when a Sunday starts there, "
                "counted from the week of 1970-01-01."
            ),
        ),
        (
            {"window": Calendar("quarter")},
            (
                "a quarter in the local time of UTC; windows start when the first day of a "
                "quarter starts there."
            ),
        ),
        (
            {"window": Session("1 s"), "keys": ["k", "shop"]},
            (
                "a window ends 1 second after its last row; windows that overlap are merged, "
                "those that only touch stay separate; windows are separate for each k and "
                "shop."
            ),
        ),
        (
            {"window": Session("timeout")},
            (
                "a window ends when the timeout of each of its rows has passed; windows that "
                "overlap are merged"
            ),
        ),
        ({"window": Session("timeout")}, "in a window out of range; timeout is null or not above zero."),
        ({"window": Session("1 s", "merge")}, "those that only touch are merged, too."),
        (
            {"aggregates": [F.max_by("v", "b"), F.top_n("v", 2), F.top_n_by("v", "b", 3)]},
            "Panes: each contains max_by(v, b), top_n(v, 2) and top_n_by(v, b, 3).",
        ),
        (
            {"window": Custom(len, name="f")},
            ("Windows: each row belongs to the windows that f returns for it."),
        ),
        (
            {"window": Custom(len, name="f", merge=True)},
            (
                "each row belongs to the window that f returns for it; windows that overlap "
                "are merged, those that only touch stay separate."
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
            "its window is first merged with those that it joins",
        ),
        (
            {"window": Custom(len, name="f")},
            "out of range; f returns no window for it, or one that does not end after its start.",
        ),
        (
            {"window": Custom(len, name="f", merge=True)},
            "f returns no window for it, or several, or one that does not end after its start.",
        ),
        (
            {"window": Tumbling(rows(3), -1)},
            (
                "Windows: each row belongs to one window of 3 rows; windows start at row -1 "
                "and every 3 rows from there, in both directions"
            ),
        ),
        (
            {"window": Hopping(rows(3), rows(1))},
            (
                "windows of 3 rows; a row belongs to every window that contains its number; "
                "windows start at row 0 and every 1 row"
            ),
        ),
        (
            {"window": Hopping(rows(1), rows(2), gaps=True)},
            "windows of 1 row; rows in a gap between windows belong to none; windows start",
        ),
        (
            {"window": Hopping(rows(1), rows(2), gaps=True)},
            "Invalid rows: its number is in a gap between windows.",
        ),
        (
            {"window": Session(rows(1))},
            (
                "Windows: a window ends when 1 row of other keys has arrived since its last "
                "row.\nWatermark: the number of rows received"
            ),
        ),
        (
            {"window": Session(rows(2)), "keys": ["k"]},
            "2 rows of other keys have arrived since its last row; windows are separate for each k.\n",
        ),
        ({"window": Session(rows(2))}, "\nWatermark: the number of rows received of all keys.\n"),
        (
            {"window": Tumbling(rows(2)), "keys": ["k"]},
            "\nWatermark: the number of rows received of each key.\n",
        ),
        ({"window": Tumbling(rows(2))}, "Late rows: no row is late before the end of input.\n"),
        (
            {"window": Tumbling(rows(2))},
            ("Invalid rows: none.\nOrder: rows of a batch are taken as they stand in the batch; triggers"),
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
            "\nWatermark: processing time less 1 second, or that from outside if it is higher.\nPanes:",
        ),
        (
            {"window": Session(5, closed="both")},
            "a window ends 5 microseconds after its last row, that instant included; windows that share",
        ),
        (
            {"window": Hopping(rows(4), rows(2), only_when_full=True)},
            "windows start at row 0 and every 2 rows from there; no window starts before row 0.",
        ),
        ({"timestamp": "window_time"}, "its timestamp is the last instant of its window."),
        (
            {"watermark": StreamTime()},
            "\nWatermark: for each key the highest event_time of its rows so far.\n",
        ),
        (
            {"watermark": StreamTime(per="all")},
            "\nWatermark: after each batch the highest event_time of all rows so far.\n",
        ),
        (
            {"watermark": StreamTime("1 s", per="all"), "evaluate": "record"},
            "after each row the highest event_time of all rows so far, less 1 second",
        ),
        (
            {"watermark": StreamTime(per="all", idle_after="5 s")},
            "of all rows so far; once there was no row for 5 seconds, it moves with processing time.\n",
        ),
        ({"watermark": StreamTime("1 s")}, "the highest event_time of its rows so far, less 1 second.\n"),
        ({"watermark": Inputs(["a", "b"])}, "\nWatermark: the least of those of the inputs a and b.\n"),
        (
            {"watermark": Inputs(["a", "b"], "1 s")},
            (
                "of the inputs a and b; an input that has reported none for 1 second of "
                "processing time is left out.\n"
            ),
        ),
        (
            {"watermark": Inputs(["a", "b"], column="s")},
            (
                "e of the inputs a and b, named by s; after each batch the watermark of an "
                "input is the highest event_time of its rows.\n"
            ),
        ),
        (
            {"watermark": Inputs(["a", "b"], "1 s", "s", {"a": "2 s", "b": 0}), "evaluate": "record"},
            (
                "after each row the watermark of an input is the highest event_time of its "
                "rows, less 2 seconds (a), 0 seconds (b); an input without a row for 1 s"
            ),
        ),
        ({"watermark": Inputs(["a", "b"], column="s", delay="2 s")}, "of its rows, less 2 seconds.\n"),
        ({"watermark": Inputs(["a", "b"], column="s")}, "; s is null or names no input."),
        (
            {"time": "processing"},
            (
                "every 1 hour from there; the time of a row is the processing time at which it "
                "arrives.\nWatermark: processing time.\nPanes:"
            ),
        ),
        ({"time": "processing"}, "Late rows: no row is late before the end of input."),
        (
            {"time": "processing"},
            ("Invalid rows: none.\nOrder: rows of a batch are taken as they stand in the batch; triggers"),
        ),
        (
            {"time": "processing", "window": Hopping(1, 2, gaps=True)},
            "Invalid rows: processing time is in a gap between windows.",
        ),
        ({"trigger": Always()}, "A pane is emitted for each batch with rows."),
        ({"trigger": Always(), "evaluate": "record"}, "A pane is emitted for each row."),
        ({"trigger": Never()}, "No pane is emitted before a window expires."),
        (
            {"trigger": AfterCount(3)},
            (
                "A pane is emitted when 3 rows or more have arrived since the last firing.\n  "
                "This closes the window"
            ),
        ),
        (
            {"trigger": Every("1 s")},
            (
                "A pane is emitted at multiples of 1 second of processing time after the "
                "last firing (at first: after the first row), if rows are pending."
            ),
        ),
        (
            {"trigger": AfterWatermark(early=AfterCount(1))},
            (
                "Before the watermark reaches the end of a window: an EARLY pane when a row "
                "has arrived since the last firing."
            ),
        ),
        ({"on_time": "always"}, "one ON_TIME pane, even if no rows arrived since the last pane."),
        (
            {"allowed_lateness": 5},
            "After that, until the window expires: a LATE pane for each batch with rows.",
        ),
        (
            {"allowed_lateness": 5, "trigger": AfterWatermark(late=Never())},
            (
                "Rows that arrive after that are not emitted before the window expires.\n  A "
                "window that a row opens after its end emits its first rows at once, in a "
                "LATE pane.\n  When a window expires with pending rows,"
            ),
        ),
        (
            {"allowed_lateness": 5, "trigger": AfterWatermark(late=AfterCount(9))},
            (
                "After that, until the window expires: a LATE pane when 9 rows or more have "
                "arrived since the last firing.\n  A window that a row opens after its end "
                "emits its first rows at once, in a LATE pane.\n"
            ),
        ),
        (
            {"trigger": AfterWatermark(early=AfterCount(2))},
            "one ON_TIME pane, even if no rows arrived since the last pane.",
        ),
        (
            {"trigger": OrFinally(Repeatedly(AfterCount(2)), AfterWatermark())},
            (
                "  If the trigger fires when the watermark reaches the end: one ON_TIME "
                "pane, even if no rows arrived since the last pane.\n"
            ),
        ),
        (
            {"trigger": AfterAll(AfterCount(3), AfterWatermark()), "on_time": "always"},
            (
                "  If the trigger fires when the watermark reaches the end: one ON_TIME "
                "pane, even if no rows arrived since the last pane.\n"
            ),
        ),
        (
            {"allowed_lateness": 5, "trigger": AfterWatermark()},
            (
                "This closes the window. A window that a row opens after its end emits one "
                "LATE pane and is closed."
            ),
        ),
        (
            {"closing": "always"},
            (
                "When a window expires or closes, a last pane is emitted, even if no rows "
                "arrived since the previous pane."
            ),
        ),
        ({"accumulation": "accumulating"}, "Content: all rows of the window so far (accumulating)."),
        ({}, "Content: all rows of the window so far (accumulating).\n"),
        ({"accumulation": "discarding"}, "Content: only the rows since the last pane (discarding).\n"),
        ({"window": Sliding(rows(3))}, "Content: all rows of the window.\n"),
        (
            {"evictor": CountEvictor(3), "accumulation": "discarding"},
            (
                "(discarding).\n  Before each pane, all rows but the last 3 are evicted from "
                "the window.\nLate rows:"
            ),
        ),
        (
            {"evictor": CountEvictor(1)},
            "  Before each pane, all rows but the last one are evicted from the window.",
        ),
        (
            {"evictor": TimeEvictor("1 s", after=True), "accumulation": "accumulating"},
            (
                "  After each pane, rows that are 1 second or more before the latest one are "
                "evicted from the window."
            ),
        ),
        (
            {"evictor": DeltaEvictor("v", 0.5)},
            (
                "  Before each pane, rows whose v is 0.5 or more below that of the last row "
                "are evicted from the window."
            ),
        ),
        (
            {"delta": True},
            (
                "  Its delta lists the rows that are new since the previous pane, with all "
                "their columns; a pane with new rows"
            ),
        ),
        (
            {"delta": ["v", "w"]},
            (
                "the rows that are new since the previous pane, with their v and w; a pane "
                "with new rows is always emitted."
            ),
        ),
        ({"accumulation": "retracting"}, "the previous pane is retracted first, with op '-'"),
        (
            {"allowed_lateness": "1 s"},
            (
                "a row is late for a window whose end the watermark has passed by 1 second or more when its "
                "batch begins."
            ),
        ),
        ({"allowed_lateness": "unlimited"}, "Late rows: no row is late before the end of input."),
        ({"trigger": AfterCount(2)}, "A row is also late for a window that its trigger has closed."),
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
            ("has reached when its batch begins; its window is first merged with those that it joins."),
        ),
        ({"window": Hopping(4, 2)}, "a row that is late for some of its windows is applied to the others."),
        (
            {"keys": ["k"], "event_time": "t"},
            "Invalid rows: t is null, out of range, or in a window out of range.",
        ),
        ({"keys": ["k"], "null_keys": False}, "window out of range; k is null or NaN."),
        ({"max_future_skew": "1 s"}, "event_time is more than 1 second ahead of processing time."),
        ({"window": Hopping(1, 2, gaps=True)}, "event_time is in a gap between windows."),
        (
            {"position": Position(source="topic")},
            (
                "in the order of topic, partition and offset, then as they stand in the batch; a "
                "row at or below the highest"
            ),
        ),
        (
            {"order": ["a", "b"]},
            (
                "in the order of a and b, then as they stand in the batch; triggers are "
                "evaluated once for each batch."
            ),
        ),
        ({"evaluate": "record"}, "triggers are evaluated after each row."),
        (
            {"allowed_lateness": 1_000},
            (
                "State: a window is purged when the watermark is 1 millisecond past its end; "
                "at the end of input all windows are purged."
            ),
        ),
        ({"window": Global(), "trigger": Always()}, "State: a window is stored until the end of input."),
        ({"trigger": AfterCount(2)}, "; when its trigger closes it, its rows are purged at once."),
    ],
)
def test_words(fields: dict[str, Any], line: str) -> None:
    assert line in words(**fields)
