"""Presents the joined flights: tables and a picture of delays and cancellations by the weather."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import polars as pl

from panewise.demo.check import PARTS
from panewise.demo.join import picture
from panewise.demo.join.check import MAX_AGE, JoinOutputs
from panewise.demo.join.inputs import FLIGHTS, WEATHER
from panewise.demo.page import Table
from panewise.demo.picture import write_page

TITLE = "Departures from New York in 2013, by the weather at their airport"
TEXT = f"""
Two streams are joined: flights, and the hourly weather at the three airports. Each flight gets the latest
observation of its airport at or before its scheduled departure, if that is at most {MAX_AGE.seconds // 3600}
hours old. This is an as-of join: no two times have to be equal.

A flight is emitted, once, when the watermark of the weather has passed its scheduled departure, because no
better observation can come then. A flight that leaves a day late still gets the weather of its scheduled
hour: an observation is stored as long as the watermark of the flights says that such a flight may come. A
flight without an observation is emitted, too, with nulls.
"""


@dataclass(frozen=True)
class WeatherMeasure:
    """A measure of the weather, and the bounds between its classes.

    >>> WeatherMeasure("wind", "mph", (10, 20)).classes
    ['under 10', '10 to 20', '20 and more', 'unknown']
    """

    column: str
    unit: str
    bounds: tuple[float, ...]

    @property
    def classes(self) -> list[str]:
        """The names of the classes. The last one is that of flights without a value."""
        bounds = [f"{bound:g}" for bound in self.bounds]
        between = [f"{low} to {high}" for low, high in pairwise(bounds)]
        return [f"under {bounds[0]}", *between, f"{bounds[-1]} and more", "unknown"]


MEASURES = (
    WeatherMeasure("visibility", "miles", (1, 3, 6, 10)),
    WeatherMeasure("wind", "miles an hour", (10, 20, 30)),
    WeatherMeasure("rain", "inches in the hour", (0.01, 0.05, 0.1)),
)


def by_class(joined: pl.DataFrame, measure: WeatherMeasure) -> pl.DataFrame:
    """Returns the flights, their mean delay and the share of cancelled ones, for each class that has flights.

    The columns are `name`, `flights`, `mean_delay` (minutes, of the flights that left; null if none did) and
    `cancelled` (percent).
    """
    value = pl.col(measure.column)
    place = pl.sum_horizontal(value >= bound for bound in measure.bounds)
    unknown = len(measure.bounds) + 1
    names = pl.Series(measure.classes)
    return (
        joined.group_by(place=pl.when(value.is_null()).then(unknown).otherwise(place))
        .agg(
            flights=pl.len().cast(pl.Int64),
            mean_delay=pl.col("dep_delay").mean(),
            cancelled=100 * pl.col("dep_delay").is_null().mean(),
        )
        .sort("place")
        .select(pl.col("place").map_elements(names.__getitem__, pl.String).alias("name"), pl.exclude("place"))
    )


def tables(outputs: JoinOutputs) -> list[Table]:
    """Returns a table for each measure, and one of the rows of both sides."""
    header = ["", "flights", "mean delay (minutes)", "cancelled (%)"]
    by_measure = []
    for measure in MEASURES:
        rows = by_class(outputs.joined, measure).rows()
        by_measure.append(Table(f"Departures by {measure.column} ({measure.unit})", header, rows))
    return [*by_measure, _sides(outputs)]


def _sides(outputs: JoinOutputs) -> Table:
    counts = (outputs.flights.counts, outputs.weather.counts)
    rows = [[part, *(int(side[part].sum()) for side in counts)] for part in ("rows_in", *PARTS)]
    return Table("Rows", ["", FLIGHTS, WEATHER], rows)


def write(outputs: JoinOutputs, folder: Path, listed: Sequence[Table]) -> None:
    """Writes delays.png and index.html, which has the tables `listed`, into the folder."""
    figure = picture.draw(TITLE, [_panel(outputs.joined, measure) for measure in MEASURES])
    write_page(figure, folder / "delays.png", TITLE, TEXT, listed)


def _panel(joined: pl.DataFrame, measure: WeatherMeasure) -> picture.Panel:
    """Returns the panel of a measure. Flights without a value are left out."""
    known = by_class(joined.drop_nulls(measure.column), measure)
    return picture.Panel(f"{measure.column} ({measure.unit})", known)
