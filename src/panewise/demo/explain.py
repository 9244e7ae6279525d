"""Presents the demo's output: a picture of one airport on the day of the storm, tables of the whole year."""

from collections.abc import Sequence
from datetime import UTC, datetime, time
from pathlib import Path
from typing import Any

import polars as pl

from panewise.demo import picture
from panewise.demo.check import LATENESS, PaneOutputs, late_ids, watermarks
from panewise.demo.flights import STORM, ZONE
from panewise.demo.page import Table

AIRPORT = "EWR"
EVENTS = (time(11), time(18))  # bounds of windows, so that the picture cuts none of them off
ARRIVALS = (time(10, 50), time(21, 40))
_EXAMPLES = 8  # late rows that are shown
TIMINGS = ("EARLY", "ON_TIME", "LATE")

TITLE = f"Departures from {AIRPORT} on {STORM.day} {STORM:%B %Y}, by scheduled hour"
TEXT = f"""
On {STORM.day} {STORM:%B %Y} a snow storm delayed New York's flights. Each point is a flight.
The horizontal axis shows its scheduled departure, the vertical axis the time at which it left and so
became known.
A flight on the dotted line left on time; the higher above the line, the later.

Flights are counted by scheduled hour. A window (a vertical band) emits early panes while flights arrive, an
on-time pane when the watermark (the blue line) reaches its end, and late panes for flights that arrive after
that. Each pane replaces the one before, which is retracted (−) when the new one is emitted (+). So the sum of
all emitted panes less the retracted ones is right at any time.

A window stays live for {LATENESS.seconds // 3600} hours more (the allowed lateness), until the dashed line
reaches its end. Flights that arrive later still (red crosses) are not lost: they are emitted
to the late output, with the reason.
"""


def write(arrived: pl.DataFrame, outputs: PaneOutputs, folder: Path, listed: Sequence[Table]) -> None:
    """Writes panes.png and index.html, which has the tables `listed`, into the folder."""
    figure = picture.draw(scene(arrived, outputs))
    picture.write_page(figure, folder / "panes.png", TITLE, TEXT, [*listed, late_examples(outputs)])


def scene(arrived: pl.DataFrame, outputs: PaneOutputs) -> picture.Scene:
    """Returns the scene of the picture: one airport, some hours of the day of the storm."""
    first, last = _range(EVENTS)
    clock = _clock(arrived, outputs)
    panes = outputs.panes.filter(
        (pl.col("origin") == AIRPORT) & pl.col("window_start").is_between(first, last, closed="left")
    )
    rows = arrived.filter(
        (pl.col("origin") == AIRPORT) & pl.col("scheduled").is_between(first, last, closed="left")
    )
    return picture.Scene(
        rows=rows.select(
            event_time="scheduled", arrival="known", late=pl.col("id").is_in(late_ids(outputs).implode())
        ),
        watermarks=clock.select("since", until="arrival", watermark="watermark"),
        panes=_fired(panes, clock).with_columns(value=pl.col("flights").cast(pl.String)),
        lateness=LATENESS,
        events=(first, last),
        arrivals=_range(ARRIVALS),
        zone=ZONE.key,
        title=TITLE,
        value_name="flights",
    )


def _range(times: tuple[time, time]) -> tuple[datetime, datetime]:
    first, last = (datetime.combine(STORM, each, ZONE).astimezone(UTC) for each in times)
    return first, last


def _clock(arrived: pl.DataFrame, outputs: PaneOutputs) -> pl.DataFrame:
    """Returns for each micro-batch with rows its arrival times, `since` to `arrival`, and its watermark."""
    ends = arrived.group_by("batch").agg(pl.col("arrival").first()).sort("batch")
    ends = ends.with_columns(since=pl.col("arrival").shift(1).fill_null(arrived["known"].min()))
    return ends.join(watermarks(outputs), on="batch").sort("batch")


def _fired(panes: pl.DataFrame, clock: pl.DataFrame) -> pl.DataFrame:
    """Returns the panes with the arrival time at which they were emitted.

    In a micro-batch rows arrive, and then the watermark moves (semantics 18.3). So all panes are emitted at
    the end of their micro-batch.
    """
    return panes.join(clock.select("batch_id", "arrival"), on="batch_id")


def tables(outputs: PaneOutputs) -> list[Table]:
    """Returns two tables: the number of panes by timing, and the number of rows by what happened to them."""
    panes = outputs.panes.group_by("timing", "op").len()
    number = {(timing, op): count for timing, op, count in panes.iter_rows()}
    by_timing = [[timing, number.get((timing, "+"), 0), number.get((timing, "-"), 0)] for timing in TIMINGS]
    total = ["all", *(int(sum(number.get((timing, op), 0) for timing in TIMINGS)) for op in "+-")]
    counts = outputs.counts
    parts = {
        "applied": "counted in a window",
        "late": "late output: their window had expired",
        "invalid": "invalid output: cancelled, no event time",
    }
    rows: list[list[object]] = [["rows in", int(counts["rows_in"].sum()), "read from the files"]]
    rows += [
        [part, int(counts[part].sum()), text] for part, text in (parts | {"replays": "seen before"}).items()
    ]
    return [
        Table("Panes", ["timing", "emitted +", "retracted −"], [*by_timing, total]),
        Table("Rows", ["", "rows", ""], rows),
    ]


def late_examples(outputs: PaneOutputs) -> Table:
    """Returns a table of the late rows with the largest `late_by`."""
    latest = outputs.late.sort("late_by", descending=True).head(_EXAMPLES)
    rows = [
        [_flight(row), _local(row["scheduled"]), _local(row["known"]), reason]
        for row, reason in latest.select("row", "reason").iter_rows()
    ]
    return Table(
        "Late output: the flights that arrived longest after the watermark",
        ["flight", "scheduled", "left", "reason"],
        rows,
    )


def _flight(row: dict[str, Any]) -> str:
    return f"{row['carrier']} {row['flight']} {row['origin']}–{row['dest']}"


def _local(at: datetime) -> str:
    # The files contain UTC. Inside a struct the column type may have no time zone.
    return f"{at.replace(tzinfo=at.tzinfo or UTC).astimezone(ZONE):%d %B %H:%M}"
