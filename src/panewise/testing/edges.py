"""Instants at which off-by-one errors show: bounds of windows, and one microsecond before and after them."""

from collections.abc import Iterable
from typing import Final

from panewise.chrono import MAX_INSTANT, MIN_INSTANT
from panewise.oracle.windowing.assign import finite, windows_of
from panewise.spec import (
    AfterEventTime,
    AfterEventTimeDelay,
    AfterProcessingTime,
    AfterSilence,
    AnyWindow,
    Calendar,
    Cumulating,
    Custom,
    Every,
    FixedLag,
    Global,
    Hopping,
    Inputs,
    Session,
    Sliding,
    StreamTime,
    Tumbling,
    WindowOperator,
    counted,
    length,
)
from panewise.spec.triggers.composite import walk

EXTREMES: Final = (
    MIN_INSTANT,
    MIN_INSTANT + 1,
    MIN_INSTANT + 8,
    MAX_INSTANT - 8,
    MAX_INSTANT - 1,
    MAX_INSTANT,
    MAX_INSTANT,
)
CHANGES: Final = {  # the zones that the strategies draw, each (except UTC) with a change of its clocks
    "UTC": 0,
    "Europe/Berlin": 1_711_846_800_000_000,  # 2024-03-31, forward within a day
    "America/Sao_Paulo": 1_541_300_400_000_000,  # 2018-11-04, forward over midnight
    "America/St_Johns": 1_162_089_060_000_000,  # 2006-10-29, back over midnight one minute after it
    "Africa/Cairo": 1_285_880_400_000_000,  # 2010-09-30, back to 23:00 at midnight
    "Pacific/Apia": 1_325_239_200_000_000,  # 2011-12-30, a date that is skipped
    "America/Toronto": -1_601_753_400_000_000,  # 1919-03-30, forward at 23:30
}
GAPS: Final = (1, 2, 3, 6)  # gaps of rows with their own gap (semantics 9.3)
_NUMBERS: Final = range(-2, 3)  # the numbers of windows on both sides of 1970
_BESIDE: Final = range(2)  # one element for each window on either side of a change of clocks
_NEAR: Final = (0, -1, 1)


def bounds(spec: WindowOperator) -> list[int]:
    """Returns starts and ends of windows around 1970, or around the change of clocks of a calendar's zone.

    For windows whose bounds depend on rows, for windows of rows and for the global window, these are fixed
    instants near 1970.

    >>> from panewise import functions as F
    >>> bounds(WindowOperator(window=Tumbling(10), aggregates=[F.count()]))
    [0, 10, -10, 20, -20, 30]
    """
    if counted(spec.window):
        return _simplest_first(n * 3 for n in _NUMBERS)
    match spec.window:
        case Tumbling(size=size, origin=origin):
            windows = [(origin + n * length(size), origin + (n + 1) * length(size)) for n in _NUMBERS]
        case Hopping(size=size, hop=hop, origin=origin):
            windows = [(origin + n * length(hop), origin + n * length(hop) + length(size)) for n in _NUMBERS]
        case Cumulating(size=size, step=step, origin=origin):
            steps = range(step.us, size.us + 1, step.us)
            windows = [
                (origin + n * size.us, origin + n * size.us + length) for n in _NUMBERS for length in steps
            ]
        case Calendar():
            windows = _of_calendar(spec.window)
        case Session() | Sliding() | Custom() | Global():
            windows = [(n * 3, n * 3) for n in _NUMBERS]
    return _simplest_first((bound for pair in windows for bound in pair), focus(spec.window))


def _of_calendar(window: Calendar) -> list[tuple[int, int]]:
    """Returns the windows around the change of clocks in the calendar's zone."""
    windows = [finite(bounds) for bounds in windows_of(window, focus(window), {})]
    for _ in _BESIDE:
        windows = [
            finite(windows_of(window, windows[0][0] - 1, {})[0]),
            *windows,
            finite(windows_of(window, windows[-1][1], {})[0]),
        ]
    return windows


def focus(window: AnyWindow) -> int:
    """Returns the instant around which bounds are taken: 0, or the change of clocks of a calendar's zone."""
    return CHANGES.get(window.zone, 0) if isinstance(window, Calendar) else 0


def times(spec: WindowOperator, seen: Iterable[int]) -> list[int]:
    """Returns event times for rows: the bounds and their neighbours.

    For windows whose bounds depend on rows, these are also the times at which the window of a row seen before
    touches or overlaps. For calendars, they are also times around the change of clocks.
    """
    reach = _gaps(spec.window) if isinstance(spec.window, (Session, Sliding, Custom)) else []
    near = [bound + off for bound in bounds(spec) for off in _NEAR]
    overlapping = [t + sign * gap + off for t in seen for gap in reach for sign in (1, -1) for off in _NEAR]
    change = focus(spec.window)
    changes = (
        [change + off * length for off in _NEAR for length in (1, 1_800_000_000)]
        if isinstance(spec.window, Calendar)
        else []
    )
    return [*_simplest_first([*near, *overlapping], change), *changes]


def _gaps(window: Session | Sliding | Custom) -> Iterable[int]:
    """Returns distances at which rows are just in one window, such as the gaps of sessions."""
    if isinstance(window, Sliding):
        return (length(window.size), length(window.size) + 1)
    if isinstance(window, Custom):
        return GAPS[1:3]  # about the lengths of the custom windows that the strategies draw
    return GAPS if isinstance(window.gap, str) else (length(window.gap),)


def watermarks(spec: WindowOperator, seen: Iterable[int]) -> list[int]:
    """Returns watermarks at and next to edges.

    At these a window is complete or expires, a row seen before falls behind (semantics 13.3), or an
    AfterEventTime or AfterEventTimeDelay is ready.
    """
    instants = [*bounds(spec), *seen, *_ends(spec, seen), *_watermarks(spec, seen)]
    return _simplest_first(
        instant + length + off
        for instant in instants
        for length in (0, spec.lateness_us or 0)
        for off in _NEAR
    )


def expiries(spec: WindowOperator, seen: Iterable[int]) -> list[int]:
    """Returns those watermarks at which a window of the rows seen is complete or expires.

    Without such windows they are taken around 0.
    """
    ends = _ends(spec, seen) or [0]
    return _simplest_first(
        end + length + off for end in ends for length in (0, spec.lateness_us or 0) for off in _NEAR
    )


def _ends(spec: WindowOperator, seen: Iterable[int]) -> list[int]:
    """Returns ends of windows of the rows seen; none for a row after the last of the bounds."""
    if isinstance(spec.window, Sliding):
        size = length(spec.window.size)
        return [t + after for t in seen for after in (1, 2, size + 1, size + 2)]
    if isinstance(spec.window, (Session, Custom)):
        return [t + gap for t in seen for gap in _gaps(spec.window)]
    beyond = ([bound for bound in bounds(spec) if bound > t] for t in seen)
    return [min(later) for later in beyond if later]


def clocks(spec: WindowOperator, now: int, firsts: Iterable[int], seen: Iterable[int] = ()) -> list[int]:
    """Returns clock readings: the deadlines of the trigger, counted from now and from earlier readings.

    They include the neighbours of deadlines, and a reading that is earlier than the one before. If the
    watermark follows the clock, they include readings that move it to the end of a window of the rows seen.
    """
    if spec.time == "processing":
        return [at for at in times(spec, seen) if at >= now] + _deadlines(spec, now, firsts)
    if isinstance(spec.watermark, FixedLag):
        reached = [
            end + spec.watermark.lag.us for end in expiries(spec, seen) if end + spec.watermark.lag.us >= now
        ]
        return [at for at in reached if at <= MAX_INSTANT] + _deadlines(spec, now, firsts)
    return _deadlines(spec, now, firsts)


def _deadlines(spec: WindowOperator, now: int, firsts: Iterable[int]) -> list[int]:
    deadlines = [
        now + d
        for period in periods(spec)
        for start in (now, *firsts)
        for d in (start - now + period + off for off in _NEAR)
    ]
    return [*deadlines, now + 1, now + 7, now, now - 1]


def periods(spec: WindowOperator) -> list[int]:
    """Returns the durations of processing time in a specification, in microseconds.

    These are the periods and delays in its trigger, and the time after which an input is idle.
    """
    lengths = []
    for node in walk(spec.trigger):
        if isinstance(node, Every):
            lengths.append(node.period.us)
        elif isinstance(node, AfterProcessingTime):
            lengths.append(node.delay.us)
        elif isinstance(node, AfterSilence):
            lengths.append(node.duration.us)
    if isinstance(spec.watermark, Inputs | StreamTime) and spec.watermark.idle_after is not None:
        lengths.append(spec.watermark.idle_after.us)
    return lengths


def _watermarks(spec: WindowOperator, seen: Iterable[int]) -> list[int]:
    """Returns the deadlines in event time that the rows seen give the trigger (semantics 16.8, 16.17)."""
    nodes, seen = list(walk(spec.trigger)), list(seen)
    periods_ = [node.period.us for node in nodes if isinstance(node, AfterEventTime)]
    delays = [node.delay.us for node in nodes if isinstance(node, AfterEventTimeDelay)]
    multiples = [(t // period + 1) * period for t in seen for period in periods_]
    return [*multiples, *(t + delay for t in seen for delay in delays)]


def _simplest_first(instants: Iterable[int], place: int = 0) -> list[int]:
    """Returns each instant that fits in 64 bits once, in the order of the distance to `place`.

    Hypothesis shrinks towards the first element.
    """
    return sorted(
        {t for t in instants if MIN_INSTANT <= t <= MAX_INSTANT}, key=lambda t: (abs(t - place), t < place)
    )
