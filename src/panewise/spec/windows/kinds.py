"""Window types of time and of rows, as frozen values; the runtimes assign rows to them.

Windows are half-open, [start, end), except those of Sliding by time and of Session(closed="both"), which are
closed at both ends.
"""

import re
from dataclasses import dataclass
from typing import ClassVar, Final, Literal, TypeAlias, get_args

from panewise.choices import check_choice, check_flag, is_choice
from panewise.chrono import Duration, DurationLike, InstantLike, instant_us, looks_iso, time_zone
from panewise.errors import SpecError
from panewise.spec.fields import is_count, is_whole, set_fields
from panewise.spec.windows.custom import Custom
from panewise.spec.windows.size_in_rows import Rows, length
from panewise.spec.windows.sliding import Sliding

_FURTHEST = 2**60  # limit of an origin in rows, so that the bounds of windows fit in 64 bits


def positive(value: DurationLike, name: str) -> Duration:
    """Returns the value as a Duration above zero. Errors call it `name`.

    Raises:
        SpecError: for `rows(n)`, for values that are not durations, and for durations not above zero.
    """
    if isinstance(value, Rows):
        rule = f"{name} is a duration here; only Tumbling, Hopping, Sliding and Session are measured in rows"
        raise SpecError(f"{name}={value!r}", rule, f"give a {name} such as '1 minute'")
    duration = Duration.of(value, name)
    if duration.us <= 0:
        raise SpecError(f"{name}={value!r}", f"{name} is above zero", f"give a {name} such as '1 minute'")
    return duration


def _size(value: DurationLike | Rows, name: str) -> Duration | Rows:
    """Returns a size, hop or gap: a duration above zero, or a number of rows."""
    return value if isinstance(value, Rows) else positive(value, name)


def _origin(value: InstantLike, size: Duration | Rows) -> int:
    """Returns an origin: an instant in microseconds or, for windows of rows, a row number."""
    if not isinstance(size, Rows):
        return instant_us(value, "origin")
    if not is_whole(value) or abs(value) > _FURTHEST:
        rule = f"the origin of windows of rows is a row number, a whole number of {_FURTHEST} at most"
        raise SpecError(
            f"size={size!r}, origin={value!r}", rule, "give one such as origin=0, or leave it out"
        )
    return value


def names_a_column(gap: object) -> bool:
    """Returns whether the gap of a session is the name of a column, and not a duration."""
    return isinstance(gap, str) and re.match(r"[^\W\d]", gap) is not None and not looks_iso(gap)


@dataclass(frozen=True, init=False)
class Tumbling:
    """Windows [origin + n*size, origin + (n+1)*size) for every integer n. Each row is in exactly one.

    Args:
        size: the length of a window, above zero. Or `rows(n)`: each n rows of a key form a window.
            An int is in microseconds.
        origin: an instant at which a window starts. For windows of rows, the number of a row; rows of a key
            are numbered from 0. Default: 0, which is 1970-01-01 UTC.

    Raises:
        SpecError: for a size that is not above zero, and for an origin that is not such a value.

    >>> Tumbling("1 hour")
    Tumbling(size=Duration('1 hour'), origin=0)

    >>> from panewise import WindowOperator, functions as F, rows
    >>> from panewise.testing import run
    >>> spec = WindowOperator(window=Tumbling(rows(2)), aggregates=[F.sum("v").alias("total")])
    >>> panes = run(spec, [{"op": "add", "rows": [{"v": 1}, {"v": 2}, {"v": 4}]}])[0]["panes"]
    >>> [(pane["window_start"], pane["window_end"], pane["total"]) for pane in panes]
    [(0, 2, 3)]

    Source: semantics 6, 8; S1 tumbling by time and by tuples, S4 TimeWindows; Flink's countWindow(n).
    """

    kind: ClassVar[str] = "tumbling"
    size: Duration | Rows
    origin: int

    def __init__(self, size: DurationLike | Rows, origin: InstantLike = 0) -> None:
        measured = _size(size, "size")
        set_fields(self, size=measured, origin=_origin(origin, measured))


@dataclass(frozen=True, init=False)
class Hopping:
    """Windows [origin + n*hop, origin + n*hop + size) for every integer n. A row may be in several.

    Args:
        size: the length of a window, above zero. It need not be a multiple of `hop`. Both are durations, or
            both are `rows(n)`. An int is in microseconds.
        hop: the distance from the start of a window to the start of the next one, above zero.
            An int is in microseconds.
        origin: an instant at which a window starts. For windows of rows, the number of a row; rows of a key
            are numbered from 0. Default: 0, which is 1970-01-01 UTC.
        gaps: must be True if `hop` is larger than `size`, and False otherwise. Rows between two windows are
            emitted to the invalid output, with the reason `gap`.
        only_when_full: with True windows that start before row 0, and so are never full, do not exist. A row
            that is in no other window is emitted to the invalid output, with the reason `gap`. With origin 0
            and `hop` not above `size` there is no such row. Only for windows of rows. Default: False.

    Raises:
        SpecError: for lengths that are not above zero, or of two kinds; for an origin that is not such a
            value; if `gaps` does not correspond to `hop` and `size`; for only_when_full=True with windows of
            time.

    >>> Hopping("10 minutes", "2 minutes")
    Hopping(size=Duration('10 minutes'), hop=Duration('2 minutes'), origin=0, gaps=False,
    only_when_full=False)

    >>> from panewise import rows
    >>> Hopping(rows(100), rows(10), only_when_full=True)
    Hopping(size=rows(100), hop=rows(10), origin=0, gaps=False, only_when_full=True)

    Source: semantics 6.1, 8, 8.2; S1 hopping by time and by tuples, S4 SlidingTimeWindows, Beam
    SlidingWindows; Flink's countWindow(n, m).
    """

    kind: ClassVar[str] = "hopping"
    size: Duration | Rows
    hop: Duration | Rows
    origin: int
    gaps: bool
    only_when_full: bool = False

    def __init__(
        self,
        size: DurationLike | Rows,
        hop: DurationLike | Rows,
        origin: InstantLike = 0,
        gaps: bool = False,
        *,
        only_when_full: bool = False,
    ) -> None:
        measured, step = _size(size, "size"), _size(hop, "hop")
        if isinstance(measured, Rows) != isinstance(step, Rows):
            rule = "size and hop are both durations, or both numbers of rows"
            remedy = "give both of one kind: Hopping(rows(100), rows(10))"
            raise SpecError(f"size={measured!r}, hop={step!r}", rule, remedy)
        start = _origin(origin, measured)
        set_fields(self, size=measured, hop=step, origin=start, gaps=gaps, only_when_full=only_when_full)
        check_flag("only_when_full", only_when_full)
        check_flag("gaps", gaps)
        if only_when_full and not isinstance(measured, Rows):
            rule = "a window of time may contain any number of rows, and is never full"
            remedy = "leave only_when_full out, or give sizes in rows"
            raise SpecError(f"only_when_full=True, size={measured}", rule, remedy)
        if (length(step) > length(measured)) != gaps:
            rule = "hop > size requires gaps=True; otherwise leave gaps=False"
            raise SpecError(
                f"size={self.size}, hop={self.hop}, gaps={gaps}", rule, "give a smaller hop, or change gaps"
            )


@dataclass(frozen=True, init=False)
class Cumulating:
    """Windows that grow by `step` up to `size`, from the same start.

    The windows are [c, c + k*step) for k = 1 .. size/step and every c = origin + n*size with an integer n. A
    row is in all of these windows that contain its event time.

    Args:
        size: the length of the longest window, above zero and a multiple of `step`.
            An int is in microseconds.
        step: the growth from one window to the next, above zero. An int is in microseconds.
        origin: an instant at which windows start. Default: 0, which is 1970-01-01 UTC.

    Raises:
        SpecError: for lengths that are not above zero, and for a size that is not a multiple of `step`.

    >>> Cumulating("1 day", step="1 hour").step
    Duration('1 hour')

    Source: semantics 6.2; Flink CUMULATE.
    """

    kind: ClassVar[str] = "cumulating"
    size: Duration
    step: Duration
    origin: int

    def __init__(self, size: DurationLike, step: DurationLike, origin: InstantLike = 0) -> None:
        set_fields(self, size=positive(size, "size"), step=positive(step, "step"))
        set_fields(self, origin=instant_us(origin, "origin"))
        if self.size.us % self.step.us:
            rule = "size is a multiple of step"
            raise SpecError(f"size={self.size}, step={self.step}", rule, "give a step that divides size")


CalendarUnit: TypeAlias = Literal["day", "week", "month", "quarter", "year"]
Weekday: TypeAlias = Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
WEEKDAYS: Final[tuple[str, ...]] = get_args(Weekday)
LONGEST_DAYS: Final = {"day": 1, "week": 7, "month": 31, "quarter": 92, "year": 366}  # of each unit


@dataclass(frozen=True, init=False)
class Calendar:
    """Windows of n days, weeks, months, quarters or years in the local time of a zone.

    Windows are half-open, [start, end). Each row is in exactly one. A window starts with the first instant of
    a local date, which is usually midnight. So a day on which clocks change by an hour has 23 or 25 hours.
    With n > 1 units are counted from 1970-01-01 (weeks from the week that contains it).

    Args:
        unit: "day", "week", "month", "quarter" or "year".
        n: the number of units in a window, 1 or more. Default: 1.
        zone: the name of the time zone in the IANA database, such as "Europe/Berlin". Default: "UTC".
        week_start: the day on which weeks start, such as "sunday". Only for weeks. Default: "monday".

    Raises:
        SpecError: for another unit or day, for n below 1, for `week_start` with another unit than weeks, and
            for an unknown zone.

    >>> Calendar("month", zone="Europe/Berlin")
    Calendar(unit='month', n=1, zone='Europe/Berlin', week_start='monday')

    >>> from panewise import WindowOperator, functions as F
    >>> from panewise.testing import run
    >>> daily = WindowOperator(window=Calendar("day", zone="Europe/Berlin"),
    ...     aggregates=[F.count().alias("rows")])
    >>> noon = 1711882800_000_000  # 2024-03-31 11:00 UTC; clocks went forward that night
    >>> window = run(daily, [{"op": "add", "rows": [{"event_time": noon}]}], windows=True)[0]["windows"][0]
    >>> (window["window_end"] - window["window_start"]) / 3600e6
    23.0

    Source: semantics 6.4, 6.5; Beam CalendarWindows.
    """

    kind: ClassVar[str] = "calendar"
    unit: CalendarUnit
    n: int
    zone: str
    week_start: Weekday

    def __init__(
        self, unit: CalendarUnit, n: int = 1, zone: str = "UTC", week_start: Weekday = "monday"
    ) -> None:
        check_choice("unit", unit, get_args(CalendarUnit))
        check_choice("week_start", week_start, WEEKDAYS)
        if not is_count(n):
            raise SpecError(f"n={n!r}", "a window is a whole number of units above zero", "give n=1 or more")
        if week_start != "monday" and unit != "week":
            fields = f"unit={unit!r}, week_start={week_start!r}"
            raise SpecError(fields, "week_start belongs to weeks", "leave week_start out")
        time_zone(zone)
        set_fields(self, unit=unit, n=n, zone=zone, week_start=week_start)


@dataclass(frozen=True, init=False)
class Session:
    """Sessions of a key: a row at t opens the window [t, t + gap), and windows that overlap are merged.

    Args:
        gap: the inactivity that ends a session, above zero. It is one of three:
            A duration; an int is in microseconds.
            The name of a column with a gap for each row, in whole microseconds or, on Spark, as INTERVAL DAY
            TO SECOND. A string that starts with a letter or an underscore is such a name, unless it is an ISO
            8601 duration such as "PT5M".
            `rows(n)`: a session ends when n rows of other keys have arrived since its last row. On Spark this
            needs one shard.
        touching: whether two sessions are merged if one ends where the other starts: "separate", the default
            (S4, Beam), or "merge" (Flink, Spark). `rows(n)` needs "separate".
        closed: "left", the default: a row opens [t, t + gap). "both" (S1, Kafka): it opens [t, t + gap],
            closed at both ends. Sessions that share an instant are then merged, a session is complete when
            the watermark is above its end, and panes show the last instant as the end. Not with `rows(n)` or
            `touching="merge"`.

    Raises:
        SpecError: for a gap that is not above zero, for other values of `touching` and `closed`, and for
            combinations that are excluded above.

    >>> Session("30 minutes")
    Session(gap=Duration('30 minutes'), touching='separate', closed='left')

    >>> from panewise import WindowOperator, functions as F
    >>> from panewise.testing import run
    >>> spec = WindowOperator(window=Session("timeout"), aggregates=[F.count().alias("rows")])
    >>> rows = [{"event_time": 0, "timeout": 10}, {"event_time": 8, "timeout": 1}]
    >>> run(spec, [{"op": "add", "rows": rows}], windows=True)[0]["windows"]
    [{'window_start': 0, 'window_end': 10, 'pending': 2, 'closed': False}]

    Source: semantics 9 to 9.7; S1 session window by time and by tuples, S4 SessionWindows; Flink's dynamic
    gap.
    """

    kind: ClassVar[str] = "session"
    gap: Duration | Rows | str
    touching: Literal["separate", "merge"] = "separate"
    closed: Literal["left", "both"] = "left"

    def __init__(
        self,
        gap: DurationLike | Rows,
        touching: Literal["separate", "merge"] = "separate",
        closed: Literal["left", "both"] = "left",
    ) -> None:
        if not is_choice(touching, ("separate", "merge")):
            rule = "touching sessions are separate or merged"
            raise SpecError(f"touching={touching!r}", rule, "give 'separate' or 'merge'")
        if isinstance(gap, Rows) and touching == "merge":
            rule = f"{gap.n} rows of other keys end the session, so the next row of its key starts a new one"
            remedy = f"leave touching out; to include that row, give rows({gap.n + 1})"
            raise SpecError(f"gap={gap!r}, touching='merge'", rule, remedy)
        if not is_choice(closed, ("left", "both")):
            rule = "a session is closed at its start, or at both ends"
            raise SpecError(f"closed={closed!r}", rule, "give 'left' or 'both'")
        if closed == "both" and touching == "merge":
            rule = "with closed='both' sessions that share an instant are merged, and no others touch"
            raise SpecError("closed='both', touching='merge'", rule, "leave touching out")
        if closed == "both" and isinstance(gap, Rows):
            rule = "a session of rows does not contain the row that ends it"
            remedy = f"leave closed out; to include that row, give rows({gap.n + 1})"
            raise SpecError(f"gap={gap!r}, closed='both'", rule, remedy)
        length = gap if isinstance(gap, str) and names_a_column(gap) else _size(gap, "gap")
        set_fields(self, gap=length, touching=touching, closed=closed)


@dataclass(frozen=True)
class Global:
    """One window for each key, without start and end (null in panes). It is complete at the end of input.

    >>> Global()
    Global()

    Source: semantics 11; S4 GlobalWindow.
    """

    kind: ClassVar[str] = "global"


AnyWindow: TypeAlias = Tumbling | Hopping | Cumulating | Calendar | Session | Sliding | Custom | Global
