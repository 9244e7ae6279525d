"""Checks the joined flights: Polars joins the whole inputs again with `join_asof`, without the engine."""

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import polars as pl

from panewise.demo.check import TOLERANCE, Finding, accounting, read_output
from panewise.demo.join.inputs import FLIGHTS, WEATHER

MAX_AGE = timedelta(hours=2)  # of the weather that a flight gets
JOINED, LATE, INVALID, COUNTS = "joined", "late", "invalid", "counts"
OUTPUTS = (JOINED, *(f"{side}_{kind}" for side in (FLIGHTS, WEATHER) for kind in (LATE, INVALID, COUNTS)))
VALUES = ("visibility", "wind", "rain")


@dataclass(frozen=True)
class SideOutputs:
    """What the join did not take of a side, and the counts of the side."""

    late: pl.DataFrame
    invalid: pl.DataFrame
    counts: pl.DataFrame


@dataclass(frozen=True)
class JoinOutputs:
    """The outputs of the join as frames."""

    joined: pl.DataFrame
    flights: SideOutputs
    weather: SideOutputs


def read(folder: Path) -> JoinOutputs:
    """Reads the outputs of the join below `folder`."""
    sides = (
        SideOutputs(*(read_output(folder / f"{side}_{kind}") for kind in (LATE, INVALID, COUNTS)))
        for side in (FLIGHTS, WEATHER)
    )
    return JoinOutputs(read_output(folder / JOINED), *sides)


def joined_at_once(flights: pl.DataFrame, weather: pl.DataFrame) -> pl.DataFrame:
    """Returns the join of the whole inputs, as Polars makes it: a row for each flight."""
    return flights.sort("scheduled").join_asof(
        weather.select("origin", "observed", *VALUES).sort("observed"),
        left_on="scheduled",
        right_on="observed",
        by="origin",
        tolerance=MAX_AGE,
        coalesce=False,
        check_sortedness=False,  # Polars cannot check it with `by`
    )


def verify(flights: pl.DataFrame, weather: pl.DataFrame, outputs: JoinOutputs) -> list[Finding]:
    """Checks the outputs against the inputs, and returns one finding for each check."""
    expected = joined_at_once(flights, weather)
    return [
        accounting(outputs.flights.counts, flights.height, FLIGHTS),
        accounting(outputs.weather.counts, weather.height, WEATHER),
        _rejected_match_counts(outputs),
        _each_flight_once(flights, outputs.joined),
        _without_weather(expected, outputs.joined),
        _same_weather(expected, outputs.joined),
        _same_sums(expected, outputs.joined),
    ]


def _rejected_match_counts(outputs: JoinOutputs) -> Finding:
    sides = {FLIGHTS: outputs.flights, WEATHER: outputs.weather}
    passed, figures = True, []
    for name, side in sides.items():
        for kind, rows in ((LATE, side.late), (INVALID, side.invalid)):
            passed = passed and rows.height == int(side.counts[kind].sum())
            figures.append(f"{rows.height:,} {kind} {name}")
    return Finding("late and invalid rows are in their outputs", passed, ", ".join(figures))


def _each_flight_once(flights: pl.DataFrame, joined: pl.DataFrame) -> Finding:
    passed = joined["id"].sort().equals(flights["id"].sort()) and (joined["op"] == "+").all()
    return Finding(
        "each flight is emitted once, and none is retracted",
        passed,
        f"{joined.height:,} rows, {joined['id'].n_unique():,} of {flights.height:,} flights",
    )


def _without_weather(expected: pl.DataFrame, joined: pl.DataFrame) -> Finding:
    alone = expected.filter(pl.col("observed").is_null())["id"]
    seen = joined.filter(pl.col("missing") == "right")["id"]
    return Finding(
        "the flights without weather are those of the batch join",
        seen.sort().equals(alone.sort()),
        f"{seen.len():,}, the batch join has {alone.len():,}",
    )


def _same_weather(expected: pl.DataFrame, joined: pl.DataFrame) -> Finding:
    """Checks row by row. The values are copied, so they are equal to the last bit."""
    columns = ("observed", *VALUES)
    both = expected.join(joined.select("id", *columns), on="id", how="full", coalesce=True, suffix="_seen")
    same = pl.all_horizontal(pl.col(name).eq_missing(pl.col(f"{name}_seen")) for name in columns)
    wrong = both.filter(~same).height
    return Finding(
        "each flight has the weather that it has in the batch join",
        wrong == 0,
        f"{both.height:,} flights, {wrong:,} differ",
    )


def _same_sums(expected: pl.DataFrame, joined: pl.DataFrame) -> Finding:
    """Checks the sums relative to their size. The same doubles are added in another order."""
    figures, passed = [], True
    for name in ("dep_delay", *VALUES):
        batch, seen = float(expected[name].sum()), float(joined[name].sum())
        passed = passed and abs(batch - seen) <= TOLERANCE * max(1.0, abs(batch))
        figures.append(f"{name} {seen:,.1f}")
    return Finding("the sums are those of the batch join", passed, ", ".join(figures))
