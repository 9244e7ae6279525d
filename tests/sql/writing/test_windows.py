"""Chains and Top-N are the same after a round trip through SQL."""

import pytest
from hypothesis import assume, given

import panewise as pw
from panewise import functions as F
from panewise.errors import SqlError
from panewise.sql import compile_sql, to_sql
from panewise.testing.chains import chains
from panewise.testing.window_specs import windows
from tests.engine.effort import examples

SAYABLE = {
    "drop_by": "window",
    "closing": "if_pending",
    "only_updated": False,
    "timestamp": None,
    "evaluate": "batch",
    "evictor": None,
    "watermark": None,
    "position": None,
    "trigger": pw.AfterWatermark(early=pw.AfterCount(2), late=pw.Always()),
}


@given(
    windows("tumbling").flatmap(
        lambda window: chains(window=window, time="event", aggregates=[F.count().alias("n")], **SAYABLE)
    )
)
@pytest.mark.filterwarnings("ignore::panewise.errors.SpecWarning")
@examples(40)
def test_a_chain_is_the_same_after_a_round_trip(spec: pw.Chain) -> None:
    """semantics 46.22, 46.72"""
    try:
        text = to_sql(spec)
    except SqlError:
        assume(False)
        return
    last = compile_sql(text).last
    assert last is not None
    assert last.spec == spec  # type: ignore[union-attr]
    assert to_sql(last.spec) == text  # type: ignore[union-attr]


def test_a_chain() -> None:
    """semantics 46.72"""
    first = pw.WindowOperator(
        keys=["k", "j"], window=pw.Tumbling("1 hour"), event_time="ts", aggregates=[F.sum("v").alias("s")]
    )
    spec = first.then(keys=["k"], aggregates=[F.max("s").alias("most")])
    assert to_sql(spec, "orders") == (
        "SELECT `k`, window_start, window_end, max(`s`) AS `most`\nFROM (\n"
        "  SELECT `k`, `j`, window_start, window_end, sum(`v`) AS `s`\n"
        "  FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(`ts`), SIZE => INTERVAL '1 hour'))\n"
        "  GROUP BY `k`, `j`, window_start, window_end\n)\nGROUP BY `k`, window_start, window_end"
    )


@pytest.mark.parametrize(
    ("window", "arguments"),
    [
        (pw.Calendar("month"), "SIZE => INTERVAL '1' MONTH"),
        (pw.Calendar("year", 2, "Europe/Berlin"), "SIZE => INTERVAL '2' YEAR, ZONE => 'Europe/Berlin'"),
        (pw.Calendar("day"), "SIZE => INTERVAL '1' DAY, ZONE => 'UTC'"),
        (
            pw.Calendar("week", 1, "Asia/Tokyo", "sunday"),
            "SIZE => INTERVAL '1' WEEK, ZONE => 'Asia/Tokyo', WEEK_START => 'sunday'",
        ),
    ],
)
def test_windows_of_a_calendar(window: pw.Calendar, arguments: str) -> None:
    """semantics 46.104"""
    spec = pw.WindowOperator(window=window, event_time="ts", keys=["k"], aggregates=[F.count().alias("n")])
    text = to_sql(spec)
    assert f"TUMBLE(TABLE t, DESCRIPTOR(`ts`), {arguments})" in text
    last = compile_sql(text).last
    assert last is not None
    assert last.spec == spec  # type: ignore[union-attr]
    assert to_sql(last.spec) == text  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "window",
    [pw.Sliding("1 hour"), pw.Session("gap"), pw.Hopping(pw.rows(5), pw.rows(2), only_when_full=True)],
)
def test_windows_that_to_sql_does_not_write(window: pw.Sliding) -> None:
    """semantics 46.104"""
    spec = pw.WindowOperator(window=window, event_time="ts", keys=["k"], aggregates=[F.count()])
    with pytest.raises(SqlError, match="window="):
        to_sql(spec)


@pytest.mark.parametrize(
    ("window", "text"),
    [
        (pw.Sliding("1 hour", "both"), "[RANGE INTERVAL '1 hour' ON `my ts`]"),
        (pw.Sliding(0), "[NOW ON `my ts`]"),
    ],
)
@pytest.mark.parametrize("keys", [[], ["k"]])
def test_sliding_windows_are_those_of_cql(window: pw.Sliding, text: str, keys: list[str]) -> None:
    """semantics 46.23, 46.104"""
    late = pw.AfterWatermark(pw.AfterCount(3), late=pw.Always())
    spec = pw.WindowOperator(
        window=window, event_time="my ts", keys=keys, aggregates=[F.sum("v").alias("s")], trigger=late
    )
    written = to_sql(spec)
    assert f"FROM t {text}" in written
    assert compile_sql(written).last.spec == spec  # type: ignore[union-attr]


TOP = "SELECT v, ROW_NUMBER() OVER (PARTITION BY k{} ORDER BY v DESC, w NULLS LAST) AS n FROM {}"


@pytest.mark.parametrize(
    ("partition", "source", "emit"),
    [
        ("", "t", ""),
        ("", "t", "EMIT FINAL"),
        ("", "t", "EMIT EVERY INTERVAL 5 SECONDS ACCUMULATING"),
        (", window_start", "TUMBLE(t, ts, INTERVAL '1' HOUR)", "EMIT UPDATE RETRACTING"),
        (", window_end", "TUMBLE(t, ts, INTERVAL '1' QUARTER)", "EMIT EARLY EVERY 5 ROWS"),
        (", window_start, window_end", "CUMULATE(t, ts, INTERVAL '1' HOUR, INTERVAL '1' DAY)", ""),
    ],
)
def test_a_top_n_is_the_same_after_a_round_trip(partition: str, source: str, emit: str) -> None:
    """semantics 46.19, 46.73"""
    spec = compile_sql(f"SELECT v FROM ({TOP.format(partition, source)}) WHERE n <= 3 {emit}").last.spec  # type: ignore[union-attr]
    text = to_sql(spec)
    last = compile_sql(text).last
    assert last is not None
    assert last.spec == spec  # type: ignore[union-attr]
    assert to_sql(last.spec) == text  # type: ignore[union-attr]
