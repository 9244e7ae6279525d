"""Window joins in real queries (semantics 37.10 to 37.13)."""

import random

import polars as pl
import pytest

import panewise as pw
from panewise.errors import SpecError
from panewise.spark import joined
from tests.spark.conftest import Feed, write

DELAY = "10 minutes"
NAMES = ["ts", "k", "v", "r_ts", "r_v", "window_start", "window_end"]


@pytest.fixture
def filled(feed: Feed, other: Feed) -> tuple[Feed, Feed]:
    """Both sides with rows in two files, of which none is late."""
    sides, chosen = (feed, other), random.Random(5)
    for side in sides:
        for _ in range(2):
            side.put(*((chosen.randrange(60), chosen.choice("abc"), chosen.randrange(9)) for _ in range(20)))
    return sides


@pytest.mark.parametrize("live", [False, pytest.param(True, marks=pytest.mark.nightly)])
def test_spark_joins_the_same_rows_of_each_window(filled: tuple[Feed, Feed], *, live: bool) -> None:
    """The stream, the batch, and Spark's join of windows agree; an event time is that of its window."""
    left, right = filled
    sides = (one.stream().withWatermark("ts", DELAY) if live else one.batch() for one in filled)
    made = joined(*sides, "ts").on("k").window(pw.Hopping("10 seconds", "5 seconds")).prefix(right="r_")
    result = made.finish("at_end").how("full")
    if live:
        write(left, result, outputs=["rows"])
    found = left.read("rows") if live else pl.DataFrame(result.rows.toArrow())
    left.batch().createOrReplaceTempView("l")
    right.batch().createOrReplaceTempView("r")
    windows = "(SELECT *, window(ts, '10 seconds', '5 seconds') AS w FROM {})"
    expected = left.spark.sql(
        f"""SELECT l.ts, coalesce(l.k, r.k) AS k, l.v, r.ts AS r_ts, r.v AS r_v,
        coalesce(l.w, r.w).start AS window_start, coalesce(l.w, r.w).end AS window_end
        FROM {windows.format("l")} l FULL JOIN {windows.format("r")} r ON l.k = r.k AND l.w = r.w"""
    )
    wanted = pl.DataFrame(expected.toArrow()).sort(pl.all())
    assert wanted.equals(found.select(NAMES).sort(pl.all()))
    last = pl.col("window_end") - pl.duration(microseconds=1)
    assert found.select((pl.col("join_time") == last).all()).item()
    assert found["missing"].null_count() < found.height


def test_what_is_refused(feed: Feed) -> None:
    began = joined(feed.batch(), feed.batch(), "ts").on("k").prefix(right="r_")
    with pytest.raises(SpecError, match=r"Sliding.* not made for each row"):
        began.window(pw.Sliding("5 seconds"))
    with pytest.raises(SpecError, match="allowed_lateness=5 seconds on the left"):
        began.allowed_lateness("5 seconds").window(pw.Tumbling("1 minute")).how("inner")
    with pytest.raises(SpecError, match=r"no match .* \.window\(\.\.\.\)"):
        began.how("inner")
