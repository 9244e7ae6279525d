"""Windows over time or over numbers of rows: which rows belong together.

All windows but those of Sliding are half-open, [start, end). Values only: frozen, comparable, printable; no behaviour.
"""

import re
from dataclasses import dataclass
from typing import ClassVar, Final, Literal, TypeAlias, get_args

from panewise.chrono import Duration, DurationLike, InstantLike, instant_us, looks_iso, time_zone
from panewise.errors import SpecError
from panewise.spec.custom import Custom
from panewise.spec.measures import Rows, length
from panewise.spec.sliding import Sliding

_FURTHEST = 2**60  # numbers of rows: so that no window's bound leaves 64 bits


def positive(value: DurationLike, name: str) -> Duration:
    """The duration, checked to be above zero."""
    if isinstance(value, Rows):
        rule = f"{name} is a duration here; rows measure the windows of Tumbling, Hopping, Sliding and Session"
        raise SpecError(f"{name}={value!r}", rule, f"give a {name} such as '1 minute'")
    duration = Duration.of(value, name)
    if duration.us <= 0:
        raise SpecError(f"{name}={value!r}", f"{name} is above zero", f"give a {name} such as '1 minute'")
    return duration


def _measure(value: DurationLike | Rows, name: str) -> Duration | Rows:
    """A size, hop or gap: a duration above zero, or a number of rows."""
    return value if isinstance(value, Rows) else positive(value, name)


def _origin(value: InstantLike, size: Duration | Rows) -> int:
    """An instant, or of windows of rows the number of a row."""
    if not isinstance(size, Rows):
        return instant_us(value, "origin")
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > _FURTHEST:
        rule = f"windows of rows start at the number of a row, a whole number of {_FURTHEST} at most"
        raise SpecError(f"size={size!r}, origin={value!r}", rule, "give such as origin=0, or leave it out")
    return value


def names_a_column(gap: object) -> bool:
    """Whether the gap of a session is the name of a column, and not a duration."""
    return isinstance(gap, str) and re.match(r"[^\W\d]", gap) is not None and not looks_iso(gap)


def _freeze(spec: object, **values: object) -> None:
    for name, value in values.items():
        object.__setattr__(spec, name, value)


@dataclass(frozen=True, init=False)
class Tumbling:
    """Windows [origin + n*size, origin + (n+1)*size), for every integer n: each row is in exactly one.

    Args:
        size: length of a window, above zero; or `rows(n)`: each n rows of a key.
        origin: an instant at which a window starts; of windows of rows the number of a row.

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
        measured = _measure(size, "size")
        _freeze(self, size=measured, origin=_origin(origin, measured))


@dataclass(frozen=True, init=False)
class Hopping:
    """Windows [origin + n*hop, origin + n*hop + size), for every integer n.

    Args:
        size: length of a window, above zero; need not be a multiple of `hop`. Both are durations, or both `rows(n)`.
        hop: distance from one window's start to the next one's, above zero.
        origin: an instant at which a window starts; of windows of rows the number of a row.
        gaps: must be True if `hop` is larger than `size`: rows between two windows then go to the invalid output.
        only_when_full: of windows of rows only: windows that start before row 0, and so can never be full, do not exist. A row that
            is in no other window goes to the invalid output, reason `gap`; with origin 0 there is none.

    Raises:
        SpecError: for lengths that are not above zero, or of two kinds; for gaps that hop and size do not say; and for
            only_when_full=True with windows of time.

    >>> Hopping("10 minutes", "2 minutes")
    Hopping(size=Duration('10 minutes'), hop=Duration('2 minutes'), origin=0, gaps=False, only_when_full=False)

    >>> from panewise import rows
    >>> Hopping(rows(100), rows(10), only_when_full=True)
    Hopping(size=rows(100), hop=rows(10), origin=0, gaps=False, only_when_full=True)

    Source: semantics 6.1, 8, 8.2; S1 hopping by time and by tuples, S4 SlidingTimeWindows, Beam SlidingWindows; Flink's countWindow(n, m).
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
        measured, step = _measure(size, "size"), _measure(hop, "hop")
        if isinstance(measured, Rows) != isinstance(step, Rows):
            rule = "size and hop are both durations, or both numbers of rows"
            raise SpecError(f"size={measured!r}, hop={step!r}", rule, "give both of one kind: Hopping(rows(100), rows(10))")
        _freeze(self, size=measured, hop=step, origin=_origin(origin, measured), gaps=gaps, only_when_full=only_when_full)
        if not isinstance(only_when_full, bool):
            raise SpecError(f"only_when_full={only_when_full!r}", "only_when_full is True or False", "give one of these")
        if only_when_full and not isinstance(measured, Rows):
            rule = "a window of time holds any number of rows, and is never full"
            raise SpecError(f"only_when_full=True, size={measured}", rule, "leave only_when_full out, or give sizes in rows")
        if (length(step) > length(measured)) != gaps:
            rule = "hop > size leaves gaps between windows, and only then gaps=True is given"
            raise SpecError(f"size={self.size}, hop={self.hop}, gaps={gaps}", rule, "give a smaller hop, or change gaps")


@dataclass(frozen=True, init=False)
class Cumulating:
    """Windows that grow by `step` up to `size`: [c, c + k*step), k = 1 .. size/step, with c a multiple of size from origin.

    Args:
        size: length of the longest window, a multiple of `step`.
        step: growth from one window to the next, above zero.
        origin: an instant at which windows start.

    >>> Cumulating("1 day", step="1 hour").step
    Duration('1 hour')

    Source: semantics 6.2; Flink CUMULATE.
    """

    kind: ClassVar[str] = "cumulating"
    size: Duration
    step: Duration
    origin: int

    def __init__(self, size: DurationLike, step: DurationLike, origin: InstantLike = 0) -> None:
        _freeze(self, size=positive(size, "size"), step=positive(step, "step"), origin=instant_us(origin, "origin"))
        if self.size.us % self.step.us:
            rule = "size is a multiple of step"
            raise SpecError(f"size={self.size}, step={self.step}", rule, "give a step that divides size")


CalendarUnit: TypeAlias = Literal["day", "week", "month", "quarter", "year"]
Weekday: TypeAlias = Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
WEEKDAYS: Final[tuple[str, ...]] = get_args(Weekday)


@dataclass(frozen=True, init=False)
class Calendar:
    """Windows of n days, weeks, months, quarters or years in the local time of a zone: each row is in exactly one.

    A window starts with the first instant of a local date, mostly midnight; so a day in which clocks change is 23 or 25
    hours long. Starts are closed, ends are open. Where n > 1, units are counted from 1970-01-01.

    Args:
        unit: "day", "week", "month", "quarter" or "year".
        n: how many of them make a window, above zero.
        zone: the zone's name in the IANA database, such as "Europe/Berlin".
        week_start: the day on which weeks start; for weeks only.

    >>> Calendar("month", zone="Europe/Berlin")
    Calendar(unit='month', n=1, zone='Europe/Berlin', week_start='monday')

    >>> from panewise import WindowOperator, functions as F
    >>> from panewise.testing import run
    >>> daily = WindowOperator(window=Calendar("day", zone="Europe/Berlin"), aggregates=[F.count().alias("rows")])
    >>> noon = 1711882800_000_000  # 2024-03-31 11:00 UTC; clocks went forward that night
    >>> held = run(daily, [{"op": "add", "rows": [{"event_time": noon}]}], windows=True)[0]["windows"][0]
    >>> (held["window_end"] - held["window_start"]) / 3600e6
    23.0

    Source: semantics 6.4, 6.5; Beam CalendarWindows.
    """

    kind: ClassVar[str] = "calendar"
    unit: CalendarUnit
    n: int
    zone: str
    week_start: Weekday

    def __init__(self, unit: CalendarUnit, n: int = 1, zone: str = "UTC", week_start: Weekday = "monday") -> None:
        for name, value, known in (("unit", unit, get_args(CalendarUnit)), ("week_start", week_start, WEEKDAYS)):
            if value not in known:
                raise SpecError(f"{name}={value!r}", f"{name} is one of {known}", "give one of these")
        if isinstance(n, bool) or not isinstance(n, int) or n < 1:
            raise SpecError(f"n={n!r}", "a window is a whole number of units above zero", "give n=1 or more")
        if week_start != "monday" and unit != "week":
            raise SpecError(f"unit={unit!r}, week_start={week_start!r}", "week_start belongs to weeks", "leave week_start out")
        time_zone(zone)
        _freeze(self, unit=unit, n=n, zone=zone, week_start=week_start)


@dataclass(frozen=True, init=False)
class Session:
    """Windows of activity, per key: a row opens [t, t + gap), and windows that overlap are merged.

    Args:
        gap: silence that ends a session, above zero: a duration; or the name of a column that has one for each row, in whole
            microseconds or, on Spark, as INTERVAL DAY TO SECOND. A string that starts with a letter or an underscore is a column,
            unless it reads as a duration of ISO 8601, such as "PT5M".
            Or `rows(n)`: a session is over when n rows of other keys have come since its last row. On Spark that needs one shard.
        touching: what becomes of two sessions where one ends exactly when the other starts:
            "separate" (S4, Beam) or "merge" (Flink, Spark). Not with `rows(n)`.
        closed: "left": a row opens [t, t + gap). "both" (S1, Kafka): it opens [t, t + gap] with both ends, sessions that share an
            instant are merged, one is complete when the watermark is above its end, and panes show t + gap as its end. Not with
            `rows(n)` or `touching="merge"`.

    Raises:
        SpecError: for a gap that is not above zero, for other values of `touching` and `closed`, and for both of them together.

    >>> Session("30 minutes")
    Session(gap=Duration('30 minutes'), touching='separate', closed='left')

    >>> from panewise import WindowOperator, functions as F
    >>> from panewise.testing import run
    >>> spec = WindowOperator(window=Session("timeout"), aggregates=[F.count().alias("rows")])
    >>> rows = [{"event_time": 0, "timeout": 10}, {"event_time": 8, "timeout": 1}]
    >>> run(spec, [{"op": "add", "rows": rows}], windows=True)[0]["windows"]
    [{'window_start': 0, 'window_end': 10, 'pending': 2, 'closed': False}]

    Source: semantics 9 to 9.7; S1 session window by time and by tuples, S4 SessionWindows; Flink's dynamic gap.
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
        if touching not in ("separate", "merge"):
            raise SpecError(f"touching={touching!r}", "touching sessions are separate or merged", "give 'separate' or 'merge'")
        if isinstance(gap, Rows) and touching == "merge":
            rule = f"{gap.n} rows of other keys end the session, so the next row of its key finds it gone"
            raise SpecError(f"gap={gap!r}, touching='merge'", rule, f"leave touching out; to take that row in, give rows({gap.n + 1})")
        if closed not in ("left", "both"):
            raise SpecError(f"closed={closed!r}", "a session is closed at its start, or at both ends", "give 'left' or 'both'")
        if closed == "both" and touching == "merge":
            rule = "closed sessions that share an instant are merged, and others do not touch"
            raise SpecError("closed='both', touching='merge'", rule, "leave touching out")
        if closed == "both" and isinstance(gap, Rows):
            rule = "a session of rows is over with the row that ends it"
            raise SpecError(f"gap={gap!r}, closed='both'", rule, f"leave closed out; to take that row in, give rows({gap.n + 1})")
        measure = gap if isinstance(gap, str) and names_a_column(gap) else _measure(gap, "gap")
        _freeze(self, gap=measure, touching=touching, closed=closed)


@dataclass(frozen=True)
class Global:
    """One window for each key, without start or end; complete at the end of input.

    >>> Global()
    Global()

    Source: semantics 11; S4 GlobalWindow.
    """

    kind: ClassVar[str] = "global"


Window: TypeAlias = Tumbling | Hopping | Cumulating | Calendar | Session | Sliding | Custom | Global


def columns_of(window: Window | None) -> tuple[str, ...]:
    """The columns, besides the event time, that say which windows a row belongs to.

    >>> columns_of(Session("timeout"))
    ('timeout',)
    """
    return window.columns if isinstance(window, Custom) else gap_columns(window)


def gap_columns(window: Window | None) -> tuple[str, ...]:
    """The column of the gaps of a session, if each row has its own.

    >>> gap_columns(Session("timeout")), gap_columns(Session("5 minutes"))
    (('timeout',), ())
    """
    return (window.gap,) if isinstance(window, Session) and isinstance(window.gap, str) else ()


def merging(window: Window | None) -> bool:
    """Whether windows of a key are merged where they overlap.

    >>> merging(Session(10)), merging(Tumbling(10))
    (True, False)
    """
    return isinstance(window, Session) or (isinstance(window, Custom) and window.merge is not False)


def closed_at_end(window: Window) -> bool:
    """Whether the end that is told of a window is its last instant, and not the first one after it (semantics 7.2, 9.9).

    >>> closed_at_end(Sliding(10)), closed_at_end(Session(10, closed="both")), closed_at_end(Tumbling(10))
    (True, True, False)
    """
    closed_session = isinstance(window, Session) and window.closed == "both"
    return closed_session or (isinstance(window, Sliding) and not isinstance(window.size, Rows))


def merging_at_touch(window: Window) -> bool:
    """Whether they are merged, too, where one ends as the other starts.

    >>> merging_at_touch(Session(10))
    False
    """
    return (isinstance(window, Session) and window.touching == "merge") or (isinstance(window, Custom) and window.merge == "touching")


def counted_by_key(window: object) -> bool:
    """Whether windows are measured in rows of their key (semantics 8).

    >>> from panewise import rows
    >>> counted_by_key(Tumbling(rows(3))), counted_by_key(Session(rows(3))), counted_by_key(Tumbling(3))
    (True, False, False)
    """
    return isinstance(window, Tumbling | Hopping | Sliding) and isinstance(window.size, Rows)


def counted(window: object) -> bool:
    """Whether windows are measured in rows, of their key or, sessions, of all (semantics 8, 9.5).

    >>> from panewise import rows
    >>> counted(Tumbling(rows(3))), counted(Session(rows(3))), counted(Tumbling(3))
    (True, True, False)
    """
    return counted_by_key(window) or (isinstance(window, Session) and isinstance(window.gap, Rows))
