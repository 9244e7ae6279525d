"""As-of joins and conditions in real queries (semantics 37.2, 37.3, 38)."""

import random

import polars as pl
import pytest

import panewise as pw
from panewise.errors import SpecError
from panewise.spark import JoinResult, joined
from tests.nightly import first_here
from tests.spark.conftest import Feed, write

TOLERANCE = 4
DELAY = "10 minutes"


@pytest.fixture
def filled(feed: Feed, other: Feed) -> tuple[Feed, Feed]:
    """Both sides with rows in three files, of which none is late. Event times of the right side differ."""
    chosen = random.Random(3)
    times = chosen.sample(range(60), 60)
    for n in range(3):
        feed.put(*((chosen.randrange(60), chosen.choice("ab"), chosen.randrange(9)) for _ in range(20)))
        other.put(*((time, chosen.choice("ab"), chosen.randrange(9)) for time in times[n * 20 : n * 20 + 20]))
    return feed, other


def rows_of(result: JoinResult, feed: Feed) -> pl.DataFrame:
    if result.dataflow.df.isStreaming:
        write(feed, result, outputs=["rows"])
        found = feed.read("rows")
    else:
        found = pl.DataFrame(result.rows.toArrow())
    return found.select("ts", "k", "v", "r_ts", "r_v").sort(pl.all())


@pytest.mark.parametrize(
    ("strategy", "far", "exact"),
    first_here(
        [
            ("backward", TOLERANCE, True),
            ("forward", None, False),
            ("backward", TOLERANCE, False),
            ("forward", TOLERANCE, True),
            ("nearest", TOLERANCE, True),
        ],
        2,
    ),
)
@pytest.mark.parametrize("live", [False, pytest.param(True, marks=pytest.mark.nightly)])
def test_polars_finds_the_same_rows(
    filled: tuple[Feed, Feed], strategy: str, far: int | None, exact: bool, live: bool
) -> None:
    """The stream, the batch and join_asof of Polars agree (semantics 37.2, 37.22, 37.23)."""
    left, right = filled
    tolerance = None if far is None else f"{far} seconds"
    frames = [pl.DataFrame(one.batch().toArrow()).sort("ts") for one in filled]
    expected = frames[0].join_asof(
        frames[1].rename({"ts": "r_ts", "v": "r_v"}),
        left_on="ts",
        right_on="r_ts",
        by="k",
        strategy=strategy,  # type: ignore[arg-type]
        tolerance=None if far is None else f"{far}s",
        allow_exact_matches=exact,
        coalesce=False,
        check_sortedness=False,
    )
    if strategy == "nearest":  # of two rows that are equally near Polars may take the later one
        expected = expected.with_columns(distance=(pl.col("ts") - pl.col("r_ts")).abs())
    sides = (one.stream().withWatermark("ts", DELAY) if live else one.batch() for one in (left, right))
    made = joined(*sides, "ts").on("k").prefix(right="r_").finish("at_end")
    result = made.as_of(strategy, tolerance, allow_exact_matches=exact).how("left")  # type: ignore[arg-type]
    found = rows_of(result, left)
    if strategy == "nearest":
        found = found.with_columns(distance=(pl.col("ts") - pl.col("r_ts")).abs()).drop("r_ts", "r_v")
        expected = expected.drop("r_ts", "r_v")
    assert expected.select(found.columns).sort(pl.all()).equals(found.sort(pl.all()))


@pytest.mark.nightly
def test_a_condition_is_part_of_the_match(filled: tuple[Feed, Feed]) -> None:
    """Rows for which it is not true are emitted without a partner, by the stream as by Spark's join."""
    left, right = filled
    streams = (one.stream().withWatermark("ts", DELAY) for one in filled)
    made = joined(*streams).on("k").within(f"-{TOLERANCE} seconds", 0).prefix(right="r_")
    made = made.where((pw.left("v") > pw.right("v")) & ~pw.right("v").is_in([0, 1]))
    found = rows_of(made.finish("at_end").how("left"), left)
    left.batch().createOrReplaceTempView("l")
    right.batch().createOrReplaceTempView("r")
    expected = left.spark.sql(
        f"""SELECT l.ts, l.k, l.v, r.ts AS r_ts, r.v AS r_v FROM l LEFT JOIN r
        ON l.k = r.k AND r.ts BETWEEN l.ts - INTERVAL {TOLERANCE} SECONDS AND l.ts
        AND l.v > r.v AND r.v NOT IN (0, 1)"""
    )
    assert pl.DataFrame(expected.toArrow()).sort(pl.all()).equals(found)
    assert 0 < found["r_ts"].null_count() < found.height


def test_what_is_refused(feed: Feed, other: Feed) -> None:
    began = joined(feed.batch(), other.batch(), "ts").on("k").prefix(right="r_")
    with pytest.raises(SpecError, match=r"a condition .* without a tolerance .* give a tolerance"):
        began.as_of("forward").where(pw.left("v") > pw.right("v")).how("left")
    with pytest.raises(SpecError, match=r"how='full', AsOf.* exchange the sides"):
        began.as_of().how("full")
    with pytest.raises(SpecError, match="cast"):
        began.within(0, 1).where(pw.left("k") > pw.right("v")).how("inner")
    with pytest.raises(SpecError, match="column 'w'"):
        began.within(0, 1).where(pw.left("w") > 1).how("inner")
    with pytest.raises(SpecError, match=r"no match .* \.as_of\(\)"):
        began.how("inner")
