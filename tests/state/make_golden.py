"""Cases of small states, and the command that writes them to files: ``python -m tests.state.make_golden``.

The files under ``golden`` are never rewritten: they are what the queries of a release left behind. A new
format adds new files beside them. A new case has files from the current format on.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

import panewise as pw
from panewise import functions as F
from panewise.engine.checkpoint import StoredOperator
from panewise.engine.run_library import Cache, RunLibrary
from panewise.spec import AnyWindow, Specification
from panewise.spec.operators.join.columns import Selected
from panewise.state import Manifest, MemoryRunStore
from panewise.state.manifest import FORMAT, READABLE
from panewise.streamwindow import count, delta, partition_age, time

FOLDER = Path(__file__).parent / "golden"
SECOND = 1_000_000

SCHEMA: dict[str, pl.DataType] = {
    "ts": pl.Datetime("us", "UTC"),
    "k": pl.String(),
    "v": pl.Int64(),
    "partition": pl.Int32(),
    "offset": pl.Int64(),
}


class Seeing:
    """A listener that counts the events of each type that it is called with."""

    def __init__(self) -> None:
        self.events: dict[str, int] = {}

    def handle(self, event: pw.WindowEvent) -> Iterator[dict[str, int]]:
        """Yields how many events of this type there were, and how many tuples this event has."""
        self.events[event.type] = self.events.get(event.type, 0) + 1
        yield {"seen": self.events[event.type], "tuples": len(event.tuples)}


SEEING = pw.WindowListener(Seeing, name="seeing", outputs={"seen": "bigint", "tuples": "bigint"})


@dataclass(frozen=True)
class Step:
    """One micro-batch: processing time and watermark in seconds, and rows of (seconds, key, value).

    In a join these are the left rows, and the watermark is that of both sides.
    """

    now: int
    watermark: int | None
    rows: tuple[tuple[int, str, int | None], ...]
    right: tuple[tuple[int, str, int], ...] = ()


@dataclass(frozen=True)
class Case:
    """A specification, and the steps that lead to a state."""

    spec: Specification
    steps: tuple[Step, ...]
    more: Mapping[str, Any] | None = None  # what the runtime stores beside the header of the operator

    @property
    def schemas(self) -> dict[str, dict[str, pl.DataType]]:
        """The columns of each input."""
        return dict.fromkeys(self.spec.ports, SCHEMA)


def _windows(**fields: Any) -> pw.WindowOperator:
    """Returns windows by the key `k`, which is not null, and the event time `ts`, but for these fields."""
    return pw.WindowOperator(**{"keys": ["k"], "null_keys": False, "event_time": "ts", **fields})


def _join(match: Any, **fields: Any) -> pw.JoinOperator:
    """Returns a join of rows that have positions, by default a left join."""
    fields.setdefault("how", "left")
    side = pw.Side(keys=["k"], event_time="ts", position=pw.Position("partition", "offset"))
    columns = [Selected("either", "k"), Selected("left", "v"), Selected("right", "v", "w")]
    return pw.JoinOperator(left=side, right=side, match=match, select=columns, **fields)


def _join_by_arrival(match: Any) -> pw.JoinOperator:
    """Returns a left join of rows that have no event times."""
    made = _join(match)
    side = replace(made.left, event_time=None)
    return replace(made, left=side, right=side, timestamp=None)


def _cogroup(window: AnyWindow, **fields: Any) -> pw.CogroupOperator:
    """Returns a cogroup of rows that have positions."""
    side = pw.Side(keys=["k"], event_time="ts", position=pw.Position("partition", "offset"))
    return pw.CogroupOperator(left=side, right=side, window=window, **fields)


JOINED = (
    Step(1, None, ((1, "a", 1), (2, "b", 2), (3, "c", 3)), ((5, "a", 10), (0, "b", 20))),
    Step(2, 4, ((14, "a", 4),), ((9, "b", 30), (6, "a", 40))),
)
RETAINED = (
    Step(1, None, ((1, "a", 1), (2, "b", 2)), ()),
    Step(2, None, ((4, "a", 4),), ((9, "b", 30),)),
)
AWAITED = (
    Step(1, None, ((1, "a", 1), (3, "c", 3), (3, "e", 9)), ((5, "a", 10),)),
    Step(2, 4, ((14, "a", 4),), ((6, "a", 40), (7, "c", 50))),
    Step(3, 8, (), ((20, "a", 60),)),
)
WINDOWED = (
    Step(1, None, ((1, "a", 1), (12, "b", 2)), ((3, "a", 10), (4, "c", 20))),
    Step(2, 11, ((6, "a", 3),), ((14, "b", 30), (21, "a", 40))),
)


CASES = {
    # Three runs. The third has the newest row of [10, 20). The windows [0, 10) of the first two have expired.
    "tumbling": Case(
        _windows(
            window=pw.Tumbling("10 seconds"),
            aggregates=[F.count().alias("n"), F.sum("v").alias("s"), F.avg("v").alias("m")],
            trigger=pw.AfterWatermark(early=pw.AfterCount(2), late=pw.Always()),
            on_time="if_pending",
            accumulation="retracting",
            allowed_lateness="20 seconds",
            position=pw.Position("partition", "offset"),
        ),
        (
            Step(1, None, ((1, "a", 1), (2, "b", 2), (12, "a", 3), (13, "a", 4), (25, "d", 9))),
            Step(2, 12, ((3, "a", 5), (14, "a", 10))),
            Step(3, 31, ((33, "c", 7), (26, "d", 1))),
        ),
    ),
    # Offsets as intervals. The rows with the offsets 1, 4, 6 and 8 are invalid. So two intervals remain above
    # the floor, which is 3.
    "positions": Case(
        _windows(
            window=pw.Tumbling("10 seconds"),
            aggregates=[F.count().alias("n")],
            accumulation="accumulating",
            position=pw.Position("partition", "offset", ordered=False, remember=2),
        ),
        (
            Step(1, None, ((1, "a", 1), (1, None, 2), (12, "a", 3), (13, "a", 4), (25, None, 9))),  # type: ignore[arg-type]
            Step(2, None, ((3, "a", 5), (14, None, 10), (15, "b", 1), (15, None, 1))),  # type: ignore[arg-type]
        ),
    ),
    # The second run has a tombstone for the session [0, 10) of a, which was merged into [0, 18).
    "session": Case(
        _windows(
            window=pw.Session("10 seconds"),
            aggregates=[F.count().alias("n"), F.collect_list("v").alias("l"), F.min("v").alias("least")],
            accumulation="accumulating",
        ),
        (
            Step(1, None, ((0, "a", 1), (30, "a", 2), (5, "b", 3))),
            Step(2, 5, ((8, "a", 4),)),
            Step(3, 6, ((40, "a", 6),)),
        ),
    ),
    # Windows with a row buffer. The session [0, 13) of a fired, and its evictor left the last three rows.
    # Then it was merged into [0, 22), in which all rows are new.
    "contents": Case(
        _windows(
            window=pw.Session("10 seconds"),
            aggregates=[F.sum("v").alias("s")],
            trigger=pw.AfterWatermark(early=pw.AfterCount(2), late=pw.Always()),
            on_time="if_pending",
            accumulation="retracting",
            evictor=pw.CountEvictor(3, after=True),
            delta=["v"],
        ),
        (
            Step(1, None, ((0, "a", 1), (1, "a", 2), (2, "a", 3), (3, "a", 4), (5, "b", 8))),
            Step(2, None, ((25, "a", 5),)),
            Step(3, None, ((12, "a", 6),)),
        ),
    ),
    # Each stage has two tables. In the second step c moves from the window of n = 1 to that of n = 2, and the
    # window of a expires.
    "chain": Case(
        _windows(
            window=pw.Tumbling("10 seconds"),
            aggregates=[F.count().alias("n"), F.sum("v").alias("s")],
            trigger=pw.Always(),
            accumulation="retracting",
        )
        .then(keys=["n"], aggregates=[F.collect_list("k").alias("ks"), F.sum("s").alias("s")])
        .then(aggregates=[F.sum("s").alias("s"), F.count().alias("groups")]),
        (
            Step(1, None, ((1, "a", 1), (12, "b", 2), (13, "c", 4))),
            Step(2, 10, ((14, "c", 8),)),
        ),
    ),
    # The trigger holds back a row that arrived before the window was complete. So the on-time firing of a is
    # still to come.
    "held_back": Case(
        _windows(
            window=pw.Tumbling("10 seconds"),
            aggregates=[F.sum("v").alias("s")],
            trigger=pw.Never(),
            accumulation="discarding",
            allowed_lateness="20 seconds",
        ),
        (Step(1, None, ((1, "a", 1),)), Step(2, 12, ((2, "a", 2), (3, "b", 4)))),
    ),
    # Windows of the null key. The second step adds a row to one of them.
    "null_key": Case(
        _windows(
            window=pw.Tumbling("10 seconds"),
            aggregates=[F.count().alias("n"), F.sum("v").alias("s")],
            null_keys=True,
        ),
        (
            Step(1, None, ((1, None, 1), (2, "a", 2), (12, None, 3))),  # type: ignore[arg-type]
            Step(2, 5, ((3, None, 4),)),  # type: ignore[arg-type]
        ),
    ),
    # Deadlines in processing time (12 s of a and c, 7 s of b) and in event time (31 s and 41 s of a, 22 s and
    # 32 s of b, 40 s of c, whose rows have been fired). The processing time has reached that of b.
    "delays": Case(
        _windows(
            window=pw.Tumbling("1 minute"),
            aggregates=[F.sum("v").alias("s")],
            trigger=pw.Repeatedly(
                pw.OrFinally(
                    pw.Repeatedly(pw.AfterAny(pw.AfterCount(4), pw.AfterEventTimeDelay("30 seconds"))),
                    until=pw.AfterAll(pw.AfterSilence("5 seconds"), pw.AfterEventTimeDelay("20 seconds")),
                )
            ),
            accumulation="discarding",
            null_keys=True,
        ),
        (
            Step(2, None, ((11, "a", 1), (2, "b", 2))),
            Step(7, 5, ((8, "a", 4), *((20, "c", number) for number in range(4)))),
        ),
    ),
    # A window without keys and without bounds.
    "global": Case(
        pw.WindowOperator(
            window=pw.Global(),
            event_time="ts",
            accumulation="discarding",
            aggregates=[F.max("v").alias("most"), F.first("k").alias("k")],
            trigger=pw.AfterWatermark(early=pw.Every("10 seconds")),
            on_time="if_pending",
        ),
        (Step(1, None, ((0, "a", 1), (1, "b", 5))), Step(2, None, ((-5, "c", 3),))),
    ),
    # A watermark for each key. That of a is at 23 s, and its first window has expired. That of b is at 3 s.
    # The last run has the watermark of a again.
    "stream_time": Case(
        _windows(
            window=pw.Tumbling("10 seconds"),
            accumulation="discarding",
            aggregates=[F.count().alias("n"), F.sum("v").alias("s")],
            allowed_lateness="5 seconds",
            watermark=pw.StreamTime("2 seconds"),
        ),
        (
            Step(1, None, ((1, "a", 1), (5, "b", 2), (12, "a", 3))),
            Step(2, None, ((25, "a", 4),)),
        ),
    ),
    # Windows of rows. The key a has four rows, which complete [-2, 2) and [0, 4). The key b has one row.
    "rows": Case(
        _windows(
            window=pw.Hopping(pw.rows(4), pw.rows(2)),
            accumulation="discarding",
            aggregates=[F.count().alias("n"), F.sum("v").alias("s")],
            order=["offset"],
            event_time=None,
        ),
        (Step(1, None, ((0, "a", 1), (0, "a", 2), (0, "a", 3), (0, "b", 9))), Step(2, None, ((0, "a", 4),))),
    ),
    # Sessions that end with rows of other keys. That of a will end with the third row of b.
    "session_of_rows": Case(
        _windows(
            window=pw.Session(pw.rows(3)),
            aggregates=[F.count().alias("n")],
            accumulation="discarding",
            order=["offset"],
            event_time=None,
        ),
        (Step(1, None, ((0, "a", 1), (0, "a", 2), (0, "b", 3))), Step(2, None, ((0, "b", 4),))),
    ),
    # The watermarks of two inputs. Neither has reported one since the first reading of the clock.
    "inputs": Case(
        _windows(
            window=pw.Tumbling("10 seconds"),
            accumulation="discarding",
            aggregates=[F.count().alias("n")],
            watermark=pw.Inputs(["one", "other"], idle_after="1 minute"),
        ),
        (Step(1, None, ((1, "a", 1),)), Step(2, None, ((12, "a", 2),))),
    ),
    # All five tables of an OVER operator. The third row of a waits for the watermark. The second row of a has
    # taken the slot of the first.
    "frames": Case(
        pw.OverOperator(
            keys=["k"],
            null_keys=False,
            event_time="ts",
            columns=[
                pw.OverColumn(F.lag("v").alias("before")),
                pw.OverColumn(F.sum("v").alias("total"), pw.Frame("rows", None, 0)),
                pw.OverColumn(F.max("v").alias("most"), pw.Frame("range", -20 * SECOND, 0)),
                pw.OverColumn(F.nth_value("v", 2).alias("second"), pw.Frame("rows", None, 0)),
            ],
        ),
        (
            Step(1, None, ((3, "a", 4), (1, "a", 1), (2, "b", 2))),
            Step(2, 5, ((12, "a", 8), (9, "b", 16))),
            Step(3, 10, ((11, "c", 32),)),
        ),
    ),
    # Rows that wait for a row after them are stored with all columns and their ranks. The rows that their
    # ranges look back to are stored, too.
    "frames_ahead": Case(
        pw.OverOperator(
            keys=["k"],
            null_keys=False,
            event_time="ts",
            columns=[
                pw.OverColumn(F.lead("v").alias("next")),
                pw.OverColumn(F.rank().alias("rank")),
                pw.OverColumn(F.count().alias("near"), pw.Frame("range", -2 * SECOND, 0)),
            ],
        ),
        (
            Step(1, None, ((1, "a", 1), (3, "a", 2), (3, "a", 4), (2, "b", 8))),
            Step(2, 5, ((12, "a", 16),)),
        ),
    ),
    # Lists of values, and the number of rows that wait for one. The rows of b wait, and the last one of a.
    "frames_values": Case(
        pw.OverOperator(
            keys=["k"],
            null_keys=False,
            event_time="ts",
            order=["v"],
            descending=["v"],
            columns=[
                pw.OverColumn(F.lead("v", 1, None, True).alias("next")),
                pw.OverColumn(F.lag("v", 1, None, True).alias("before")),
                pw.OverColumn(F.nth_value("v", 2, True).alias("second"), pw.Frame("rows", None, 0)),
                pw.OverColumn(F.sum("v").alias("others"), pw.Frame("rows", None, 0, "group")),
            ],
        ),
        (
            Step(1, None, ((1, "a", 1), (3, "a", None), (3, "a", 4), (2, "b", 8), (4, "b", None))),
            Step(2, 5, ((12, "a", 16),)),
        ),
    ),
    # Descending event time: rows wait for the next row. Partials are merged from the last row to the first.
    "frames_descending": Case(
        pw.OverOperator(
            keys=["k"],
            null_keys=False,
            event_time="ts",
            descending=["ts"],
            columns=[
                pw.OverColumn(F.lag("v").alias("next")),
                pw.OverColumn(F.collect_list("v").alias("all"), pw.Frame("rows", 0, None)),
                pw.OverColumn(F.nth_value("v", 2).alias("second"), pw.Frame("rows", 0, None)),
            ],
        ),
        (
            Step(1, None, ((1, "a", 1), (3, "a", 2), (3, "a", 4), (2, "b", 8))),
            Step(2, 5, ((12, "a", 16),)),
        ),
    ),
    # Groups by their first rows: keys and anchors. That of a has expired.
    "deduplicate": Case(
        pw.DeduplicateOperator(keys=["k"], within="10 seconds", event_time="ts", order=["offset"]),
        (
            Step(1, None, ((3, "a", 1), (1, "a", 2), (12, "b", 4))),
            Step(2, 13, ((22, "b", 8), (15, "c", 16))),
        ),
    ),
    # Groups with their last rows, and rows that wait.
    "deduplicate_last": Case(
        pw.DeduplicateOperator(
            keys=["k"], within="10 seconds", keep="last", event_time="ts", order=["offset"]
        ),
        (
            Step(1, None, ((3, "a", 1), (1, "a", 2), (12, "b", 4))),
            Step(2, 4, ((8, "a", 8), (11, "a", 16))),
        ),
    ),
    # Slices. A window is created when it is complete. The slices of a at 1 s and 4 s are stored until the
    # windows that begin right after them are created.
    "sliding": Case(
        _windows(
            window=pw.Sliding("10 seconds", "both"),
            accumulation="discarding",
            aggregates=[
                F.count().alias("n"),
                F.sum("v").alias("s"),
                F.last("v").alias("latest"),
                F.collect_list("v").alias("values"),
            ],
        ),
        (
            Step(1, None, ((4, "a", 1), (1, "a", 2), (4, "a", 4), (2, "b", 8))),
            Step(2, 5, ((9, "a", 16), (4, "a", 32))),
        ),
    ),
    # Windows are created with their first rows, and stored beside the slices. Each key has its own watermark:
    # that of b is at 2 s, that of a at 9 s.
    "sliding_updates": Case(
        _windows(
            window=pw.Sliding("5 seconds"),
            aggregates=[F.sum("v").alias("s")],
            trigger=pw.Always(),
            accumulation="retracting",
            watermark=pw.StreamTime(),
            allowed_lateness="3 seconds",
        ),
        (
            Step(1, None, ((1, "a", 1), (2, "b", 2), (4, "a", 4))),
            Step(2, None, ((9, "a", 8),)),
        ),
    ),
    # The last two rows of each key.
    "sliding_rows": Case(
        _windows(
            window=pw.Sliding(pw.rows(3)),
            aggregates=[F.sum("v").alias("s")],
            order=["offset"],
            event_time=None,
        ),
        (Step(1, None, ((0, "a", 1), (0, "a", 2), (0, "a", 4), (0, "b", 8))), Step(2, None, ((0, "a", 16),))),
    ),
    # Policy windows with a reference of a delta trigger, and with listeners.
    "listeners": Case(
        pw.StreamWindow.sliding(
            count(3), delta("v", 4), partition_by=["k"], null_keys=False, listener=SEEING, order=["offset"]
        ),
        (
            Step(1, None, ((0, "a", 1), (0, "b", 2), (0, "a", 3))),
            Step(2, None, ((0, "a", 7), (0, "a", 8))),
        ),
    ),
    # Policy windows. At 6 s the tuples of a are overdue, and at 10 s its trigger is due. The second run has
    # b again, but not a.
    "policies": Case(
        pw.StreamWindow.sliding(
            time("5 seconds"),
            time("10 seconds"),
            partition_by=["k"],
            null_keys=False,
            partition_eviction=partition_age("20 seconds"),
            columns=["v"],
            position=pw.Position("partition", "offset"),
        ),
        (
            Step(0, None, ((0, "a", 1), (0, "b", 2), (0, "a", 3))),
            Step(3, None, ((0, "b", 4),)),
        ),
    ),
    # The left row of b got its partner in the second step, and is in the table of matches. Those of b and c,
    # and the second one of a, had none when they arrived, and are in the queue.
    "join": Case(_join(pw.Interval(0, "10 seconds")), JOINED),
    # The same without a queue. The left rows of b and c were emitted at once, and that of b was retracted.
    "join_early": Case(_join(pw.Interval(0, "10 seconds"), unmatched="early"), JOINED),
    # The first three left rows are decided: the queue still has the last one.
    "join_as_of": Case(_join(pw.AsOf()), JOINED),
    # The third step decided the left rows of a at 1, and of c. That of e is overdue, and the last one is in
    # the queue.
    "join_awaited": Case(_join(pw.AsOf("nearest")), AWAITED),
    # Left rows are retained. The second row of a evicted the first one, which was emitted without a partner.
    "join_retained": Case(_join(pw.Interval(0, None, retain_for="20 seconds", retain_rows=1)), RETAINED),
    # Windows of both sides. The window [0, 10) fired once, and waits for late rows.
    "join_windows": Case(
        _join(pw.SameWindow(pw.Tumbling("10 seconds"), allowed_lateness="5 seconds"), how="full"), WINDOWED
    ),
    # A session of both sides that grew after it had emitted its pairs.
    "join_sessions": Case(
        _join(
            pw.SameWindow(
                pw.Session("4 seconds"),
                trigger=pw.AfterWatermark(early=pw.Always()),
                accumulation="retracting",
            ),
            how="full",
        ),
        WINDOWED,
    ),
    # Windows that have emitted their whole content, with the numbers of these firings.
    "join_windows_accumulating": Case(
        _join(
            pw.SameWindow(
                pw.Tumbling("10 seconds"),
                trigger=pw.AfterWatermark(early=pw.Always()),
                accumulation="accumulating",
            ),
        ),
        WINDOWED,
    ),
    # A session that grew after it had emitted a row without a partner. The pane that emitted it is stored.
    "join_sessions_early": Case(
        _join(
            pw.SameWindow(pw.Session("4 seconds"), trigger=pw.AfterWatermark(early=pw.Always())),
            how="full",
            unmatched="early",
        ),
        WINDOWED,
    ),
    # Windows of rows on both sides: the last row, and the rows that are not too far below the highest value.
    "join_last_rows": Case(_join(pw.LastRows(delta("v", 25), left=1), unmatched="early"), JOINED),
    # The newest rows. The second step replaced those of a and the right row of b.
    "join_latest": Case(_join(pw.Latest("5 seconds", deletes=(None, "v")), how="full"), JOINED),
    # The newest rows, without event times.
    "join_without_event_times": Case(_join_by_arrival(pw.Latest()), JOINED),
    # The rows of the first step are released. Of the second one the left row waits for the end of its window,
    # and the right rows for second 10 of the clock. Released rows are in the order of event time. Only the
    # last one of each key is stored of the right side.
    "join_streams": Case(
        _join(
            pw.WindowedStreams(
                pw.JoinWindow(pw.Tumbling("10 seconds"), early=None),
                pw.JoinWindow(early="5 seconds", retention="20 seconds", retention_rows=1),
            ),
            how="inner",
        ),
        (
            Step(1, None, JOINED[0].rows, JOINED[0].right),
            Step(6, 10, ((14, "a", 4),), ((13, "b", 30), (12, "a", 40))),
        ),
    ),
    # Released rows in the order of their release: the last two of each key on the left, and the last one on
    # the right. The right rows of the second step wait for second 10 of the clock.
    "join_streams_of_rows": Case(
        _join(
            pw.WindowedStreams(pw.JoinWindow(pw.rows(2)), pw.JoinWindow(pw.rows(1), early="5 seconds")),
            how="inner",
        ),
        (
            Step(1, None, JOINED[0].rows, JOINED[0].right),
            Step(6, None, JOINED[1].rows, JOINED[1].right),
        ),
    ),
    # Aggregates of each side. With `last` a window has the highest number of a row of that side. The window
    # [0, 10) fired once, and waits for late rows. The key c has rows of the right side only.
    "cogroup": Case(
        _cogroup(
            pw.Tumbling("10 seconds"),
            left_aggregates=[F.count().alias("n"), F.last("v").alias("latest")],
            right_aggregates=[F.sum("v").alias("s"), F.collect_list("v").alias("values")],
            accumulation="retracting",
            allowed_lateness="5 seconds",
        ),
        WINDOWED,
    ),
    # Sessions of both sides. That of b fired with the left row, and grew by the right one.
    "cogroup_sessions": Case(
        _cogroup(
            pw.Session("4 seconds"),
            left_aggregates=[F.count().alias("n")],
            right_aggregates=[F.max("v").alias("most")],
            trigger=pw.AfterWatermark(early=pw.AfterCount(1)),
            accumulation="accumulating",
        ),
        WINDOWED,
    ),
    # Windows over a join. They have the pairs that the join has emitted, and the join the rows that wait.
    "windowed_join": Case(
        _join(pw.Interval(0, "10 seconds")).then(
            keys=["k"],
            window=pw.Tumbling("10 seconds"),
            aggregates=[F.count().alias("n"), F.sum("w").alias("s")],
        ),
        JOINED,
    ),
    # A second operator: it stores the output watermarks that the shards of the first one have reported.
    "second_operator": Case(
        _windows(
            window=pw.Tumbling("10 seconds"),
            aggregates=[F.sum("v").alias("s")],
            null_keys=True,
        ),
        (Step(1, None, ((1, "a", 1), (12, "b", 2))), Step(2, 5, ((3, "a", 4),))),
        {"feeds": {"input": {"0": 5 * SECOND, "3": 12 * SECOND}}},
    ),
}


def rows(given: tuple[tuple[int, str, int | None], ...], offset: int = 0) -> pl.DataFrame:
    """Returns rows of partition 0, with offsets from the given one on."""
    whole = [(s * SECOND, k, v, 0, offset + place) for place, (s, k, v) in enumerate(given)]
    return pl.DataFrame(whole, schema={**SCHEMA, "ts": pl.Int64()}, orient="row").cast(SCHEMA)  # type: ignore[arg-type]


def store_of(case: Case) -> MemoryRunStore:
    """Returns the state after the steps of a case."""
    store, offset = MemoryRunStore(), 0
    for step in case.steps:
        stored = StoredOperator.load(case.spec, case.schemas, RunLibrary(store, Cache()))
        stored.operator.advance(
            step.now * SECOND, None if step.watermark is None else step.watermark * SECOND
        )
        if len(case.spec.ports) > 1:
            batch = {"left": rows(step.rows, offset), "right": rows(step.right, offset)}
            stored.operator.add_batch(batch)  # type: ignore[attr-defined]
        else:
            stored.operator.add(rows(step.rows, offset))
        stored.commit(more=case.more)
        offset += max(len(step.rows), len(step.right))
    return store


def formats_of(name: str) -> list[int]:
    """Returns the formats in which there are files of a case."""
    return [number for number in READABLE if folder_of(name, number).exists()]


def folder_of(name: str, number: int) -> Path:
    """Returns the folder of the files of a case in a format."""
    return FOLDER / f"{name}-format-{number}"


def write(name: str, say: Callable[[str], object]) -> None:
    """Writes the manifest and the runs of a case in the current format, unless its folder exists."""
    folder, store = folder_of(name, FORMAT), store_of(CASES[name])
    if folder.exists():
        say(f"{folder} is there\n")
        return
    folder.mkdir()
    (folder / "manifest.json").write_text(store.manifest() or "", encoding="utf-8")
    for run in store.names:
        (folder / f"{run}.run").write_bytes(store.run(run))
    say(f"{folder}: {len(store.names)} runs\n")


def read(name: str, number: int = FORMAT) -> MemoryRunStore:
    """Returns the state of a case from its files in a format."""
    folder, store = folder_of(name, number), MemoryRunStore()
    store.put_manifest((folder / "manifest.json").read_text(encoding="utf-8"))
    for run in Manifest.decode(store.manifest() or "").runs:
        store.put_run(run.name, (folder / f"{run.name}.run").read_bytes())
    return store


if __name__ == "__main__":
    for case in CASES:
        write(case, sys.stdout.write)
