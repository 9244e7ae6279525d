"""Pictures of recorded panes, for notebooks: windows over event time and arrival."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from panewise.errors import InputError, SpecError
from panewise.observe.activity import Bounds, fitting_width
from panewise.observe.scene import ArrivalRow, Cell, PaneScene
from panewise.observe.scene_svg import scene_svg
from panewise.observe.time_axis import instant_text

_BOUNDS: Final = ("window_start", "window_end")
_MARKS: Final = {"EARLY": "early", "ON_TIME": "on_time", "LATE": "late"}
_MOST_ROWS = 60
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NUMBERS_END = 1_000_000_000  # below it are numbers of rows or micro-batches, above it instants
_REMEDY = "give a Polars, Arrow or pandas frame, or a list of dicts"


@dataclass(frozen=True)
class Picture:
    """A picture as SVG. Notebooks show it, and it can be saved.

    Attributes:
        svg: the <svg> element, which needs no other file.
    """

    svg: str = field(repr=False)

    def save(self, path: str | Path) -> None:
        """Writes the picture to a file, whose name ends in `.svg` or `.html`.

        Raises:
            SpecError: if it ends in something else.
        """
        path = Path(path)
        if path.suffix not in (".svg", ".html"):
            rule = "a picture is SVG, alone or in an HTML page"
            raise SpecError(f"save({str(path)!r})", rule, "end the name in .svg or .html")
        path.write_text(self.svg if path.suffix == ".svg" else self._page(), encoding="utf-8")

    def _page(self) -> str:
        head = '<meta charset="utf-8"><meta name="color-scheme" content="light dark"><title>panes</title>'
        return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>{self.svg}</body></html>\n'

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_html_(self) -> str:
        return self.svg


def picture(
    panes: Any,
    *,
    late: Any = None,
    counts: Any = None,
    event_time: str = "timestamp",
    arrival: str = "processing_time",
    zone: str = "UTC",
    title: str = "",
    width: int = 960,
) -> Picture:
    """Draws recorded panes: their windows over event time, in rows by arrival, the newest on top.

    It is the picture of `panewise watch`, of an output that was collected or that an operator in this process
    has emitted. A mark in a row is the panes that a window emitted at that time. Its colour is their timing,
    and its number how many they are; retractions have marks of their own. Above 60 different arrivals, rows
    are stretches of arrival.

    Args:
        panes: the panes of any number of operators and keys: a Polars, Arrow or pandas frame, or a list of
            dicts, with the columns `window_start` (the first instant) and `window_end` (the first one after
            it), and if they exist `timing` and `op`. Rows without windows need `event_time`. Instants are
            timestamps, or integers in microseconds since 1970 UTC.
        late: the late rows, which are crosses: a frame with the column `event_time`, or with a column `row`
            of structs that have it, as the output `late`. Without the column `arrival` they are in a row of
            their own at the bottom.
        counts: the output `counts`, or another frame with `watermark` and the column `arrival`, for the line
            of the watermark. It is the lowest one of each arrival.
        event_time: the column with the event time of rows without windows, and of late rows.
        arrival: the column with the time at which a row was emitted, or with the number of its micro-batch,
            as `batch_id` of a `ParquetSink`. If the panes do not have it, all are in one row.
        zone: the time zone of the axis and of the labels, by its IANA name.
        title: a text above the picture.
        width: the width in pixels, 480 or more.

    Returns:
        The picture.

    Raises:
        InputError: if something is not a frame, or a column is missing or has no instants.
        SpecError: if the zone is unknown, or the width too small.

    Example::

        picture(output.panes, late=output.late, event_time="ts").save("panes.svg")
    """
    if width < 480:
        raise SpecError(f"width={width}", "a picture is 480 pixels wide or more", "give 960")
    frames = {"panes": panes, "late": late, "counts": counts}
    records = (_records(frame, name) for name, frame in frames.items())
    rows = _rows_by_arrival(event_time, arrival, *records)
    scene = PaneScene(
        [row.arrival_in(_zone(zone)) for row in rows],
        by_row_number=_is_by_row_number(rows),
        zone=_zone(zone),
        title=title,
        arrival_name=arrival.replace("_", " "),
        windowed=False,
    )
    return Picture(scene_svg(scene, width=width))


@dataclass
class _Row:
    """The panes, late rows and watermark of one arrival; `at` is None if it was not recorded."""

    at: int | None
    until: int | None = None
    marks: dict[Bounds, Counter[str]] = field(default_factory=dict)
    watermark: int | None = None
    late: Counter[str] = field(default_factory=Counter)
    late_times: list[int] = field(default_factory=list)

    def note_watermark(self, watermark: int | None) -> None:
        """Lowers the watermark to another one of the same arrival, if there is one."""
        if watermark is not None:
            self.watermark = watermark if self.watermark is None else min(watermark, self.watermark)

    def arrival_in(self, zone: tzinfo) -> ArrivalRow:
        """Returns the row of the scene."""
        return ArrivalRow(
            self._label(zone),
            {bounds: Cell(marks) for bounds, marks in self.marks.items()},
            watermark=self.watermark,
            emitted=sum(marks.total() for marks in self.marks.values()),
            late=self.late,
            late_times=self.late_times,
        )

    def _label(self, zone: tzinfo) -> str:
        if self.at is None:
            return "not recorded"
        return f"{self.at:,}" if self.at < _NUMBERS_END else instant_text(self.at, zone)[5:19]


def _rows_by_arrival(
    event_time: str,
    arrival: str,
    panes: Sequence[Mapping[str, Any]],
    late: Sequence[Mapping[str, Any]],
    counts: Sequence[Mapping[str, Any]],
) -> list[_Row]:
    """Returns the rows of the picture, the oldest first."""
    times = {_time(row.get(arrival), arrival) for row in (*panes, *late, *counts)}
    known = sorted(time for time in times if time is not None)
    width = 1 if len(known) <= _MOST_ROWS else -(-(known[-1] - known[0] + 1) // _MOST_ROWS)
    rows: dict[int | None, _Row] = {}

    def row_of(record: Mapping[str, Any]) -> _Row:
        time = _time(record.get(arrival), arrival)
        at = None if time is None else known[0] + (time - known[0]) // width * width
        return rows.setdefault(at, _Row(at))

    for record, bounds in zip(panes, _bounds_of(event_time, panes), strict=True):
        retracted = record.get("op") == "-"
        mark = "retracted" if retracted else _MARKS.get(str(record.get("timing")), "rows")
        row_of(record).marks.setdefault(bounds, Counter())[mark] += 1
    for record in late:
        row = row_of(record)
        row.late[str(record.get("reason") or "late")] += 1
        time = _time(_of_late(record, event_time), event_time)
        row.late_times += [] if time is None else [time]
    for record in counts:
        row_of(record).note_watermark(_time(record.get("watermark"), "watermark"))
    _continue_watermarks(rows)
    return [rows[at] for at in sorted(rows, key=lambda at: (at is not None, at or 0))]


def _continue_watermarks(rows: Mapping[int | None, _Row]) -> None:
    """Gives each row without a recorded watermark that of the row before."""
    last = None
    for at in sorted(at for at in rows if at is not None):
        last = rows[at].watermark = last if rows[at].watermark is None else rows[at].watermark


def _bounds_of(event_time: str, panes: Sequence[Mapping[str, Any]]) -> list[Bounds]:
    """Returns the bounds of the window of each pane, or of a stretch of event time."""
    if not panes:
        return []
    names = set(panes[0])
    if {*_BOUNDS} <= names:
        return [(_time(row[_BOUNDS[0]], _BOUNDS[0]), _time(row[_BOUNDS[1]], _BOUNDS[1])) for row in panes]
    if event_time not in names:
        rule = f"panes have window_start and window_end, or the column event_time={event_time!r}"
        raise InputError(f"panes with the columns {sorted(names)}", rule, "name the column of the event time")
    times = [_time(row[event_time], event_time) for row in panes]
    known = [time for time in times if time is not None]
    width = fitting_width(min(known), max(known)) if known else 1
    starts = [None if time is None else time - time % width for time in times]
    return [(start, None if start is None else start + width) for start in starts]


def _is_by_row_number(rows: Iterable[_Row]) -> bool:
    """Returns whether the bounds are row numbers: they are far below any instant."""
    ends = [end for row in rows for _, end in row.marks if end is not None]
    arrivals = [row.at for row in rows if row.at is not None]
    return bool(ends and arrivals) and max(ends) < _NUMBERS_END


def _of_late(record: Mapping[str, Any], name: str) -> Any:
    """Returns a column of a late row, which may be in the struct `row`."""
    inner = record.get("row")
    if name in record:
        return record[name]
    if isinstance(inner, Mapping) and name in inner:
        return inner[name]
    columns = sorted(inner) if isinstance(inner, Mapping) else sorted(record)
    rule = f"late rows have the column event_time={name!r}"
    raise InputError(f"late rows with the columns {columns}", rule, "name the column of the event time")


def _time(value: Any, name: str) -> int | None:
    """Returns an instant in microseconds."""
    if value is None or value != value:  # noqa: PLR0124 - NaN and NaT, which pandas has in place of null
        return None
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, datetime):
        at = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
        return (at - _EPOCH) // timedelta(microseconds=1)
    rule = f"the column {name} has timestamps, or integers in microseconds"
    raise InputError(f"{name}={value!r}", rule, "cast the column")


def _records(frame: Any, name: str) -> list[dict[str, Any]]:
    """Returns the rows of a frame of any library as dicts."""
    if frame is None and name != "panes":
        return []
    if isinstance(frame, list):
        if all(isinstance(row, Mapping) for row in frame):
            return frame
        raise InputError(f"{name}: a list of {type(frame[0]).__name__}", f"{name} is a frame", _REMEDY)
    if not hasattr(frame, "__arrow_c_stream__"):
        raise InputError(f"{name}: {type(frame).__name__}", f"{name} is a frame", _REMEDY)
    import pyarrow as pa  # noqa: PLC0415 - lists of dicts need no Arrow

    records: list[dict[str, Any]] = pa.table(frame).to_pylist()
    return records


def _zone(name: str) -> tzinfo:
    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        raise SpecError(f"zone={name!r}", "a time zone has a IANA name", "give 'Europe/Berlin'") from None
