"""Describes a specification in plain words: its windows, panes, late and invalid rows, order and state.

Each private function describes one aspect of the specification; :func:`describe` puts them in order.
"""

from datetime import UTC, datetime, timedelta

from panewise.chrono import Duration
from panewise.spec.describe.added_later import of_added
from panewise.spec.describe.inputs import of_invalid_rows, of_replays, of_watermark
from panewise.spec.describe.listing import listed
from panewise.spec.describe.membership import (
    in_hops,
    of_sliding_windows,
    of_windows_of_rows,
    progress_in_rows,
)
from panewise.spec.describe.triggers import when
from panewise.spec.evictors import CountEvictor, DeltaEvictor, TimeEvictor
from panewise.spec.operators.windows import WindowOperator, data_loss_reason
from panewise.spec.triggers.composite import AfterWatermark, finish
from panewise.spec.triggers.simple import Always, Never
from panewise.spec.windows.custom import Custom
from panewise.spec.windows.kinds import AnyWindow, Calendar, Cumulating, Global, Hopping, Session, Tumbling
from panewise.spec.windows.size_in_rows import Rows, length
from panewise.spec.windows.sliding import Sliding
from panewise.spec.windows.traits import closed_at_end, counted, gap_columns, merging


def describe(spec: WindowOperator) -> str:
    """Returns a description of what a window operator does, as lines of text, one aspect at a time.

    >>> from panewise import functions as F
    >>> print(describe(WindowOperator(window=Tumbling("1 hour"), aggregates=[F.count()])))
    Windows: each row belongs to one window of 1 hour; windows start at 1970-01-01 00:00:00 UTC and every
    1 hour from there.
    Panes: each contains count(*).
      Before the watermark reaches the end of a window nothing is emitted.
      When it reaches the end: one ON_TIME pane, if rows arrived since the last pane.
      Nothing is emitted after that: a window takes no rows after its end (allowed lateness is 0).
    Content: all rows of the window so far (accumulating).
    Late rows: a row is late for a window whose end the watermark has reached when its batch begins.
      It is emitted to the late output.
    Invalid rows: event_time is null, out of range, or in a window out of range.
    Order: rows of a batch are taken in the order of event_time, then as they stand in the batch; triggers
    are evaluated once for each batch.
    State: a window is purged when the watermark reaches its end; at the end of input all windows are purged.
    """
    parts = (_windows, _progress, _panes, _content, late_rows, _invalid, _order, _state)
    return "\n".join(text for text in (part(spec) for part in parts) if text)


def _instant(us: int) -> str:
    try:
        instant = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=us)
        return f"{instant:%Y-%m-%d %H:%M:%S.%f}".removesuffix(".000000") + " UTC"
    except OverflowError:
        return f"{us} microseconds from 1970-01-01 00:00:00 UTC"


def _windows(spec: WindowOperator) -> str:
    keys = f"; windows are separate for each {listed(spec.keys)}" if spec.keys else ""
    time = (
        "; the time of a row is the processing time at which it arrives" if spec.time == "processing" else ""
    )
    return f"Windows: {membership(spec.window)}{time}{keys}."


def membership(window: AnyWindow) -> str:
    """Returns a clause that says which windows a row belongs to."""
    text = of_sliding_windows(window) if isinstance(window, Sliding) else of_windows_of_rows(window)
    if text is not None:
        return text
    assert not isinstance(window, Sliding)
    match window:
        case Tumbling():
            return f"each row belongs to one window of {window.size}; {_starts(window.origin, window.size)}"
        case Hopping():
            return in_hops(window, "time", _starts(window.origin, window.hop))
        case Cumulating():
            return (
                f"windows that grow by {window.step} up to {window.size}; "
                f"{_starts(window.origin, window.size)}"
            )
        case Calendar():
            return f"each row belongs to one window of {_calendar(window)}"
        case Session():
            return _session(window)
        case Custom():
            return _custom(window)
        case Global():
            return "one window without start or end, complete at the end of input"


def _custom(window: Custom) -> str:
    windows = "window" if window.merge else "windows"
    returned = f"each row belongs to the {windows} that {window.name} returns for it"
    if not window.merge:
        return returned
    touching = "are merged, too" if window.merge == "touching" else "stay separate"
    return f"{returned}; windows that overlap are merged, those that only touch {touching}"


def _session(window: Session) -> str:
    ends = (
        f"{window.gap} after its last row"
        if isinstance(window.gap, Duration)
        else f"when the {window.gap} of each of its rows has passed"
    )
    if window.closed == "both":
        return f"a window ends {ends}, that instant included; windows that share an instant are merged"
    touching = "are merged, too" if window.touching == "merge" else "stay separate"
    return f"a window ends {ends}; windows that overlap are merged, those that only touch {touching}"


def _progress(spec: WindowOperator) -> str:
    """Describes the watermark; empty if it comes from outside."""
    if counted(spec.window):
        return progress_in_rows(spec)
    if spec.time == "processing":
        return "Watermark: processing time."
    return "".join(of_watermark(spec, each_row=spec.evaluate == "record"))


def _calendar(window: Calendar) -> str:
    first = {"day": "a day", "week": f"a {window.week_start.capitalize()}"}.get(
        window.unit, f"the first day of a {window.unit}"
    )
    size = f"a {window.unit}" if window.n == 1 else f"{window.n} {window.unit}s"
    counted = "" if window.n == 1 else f", counted from the {window.unit} of 1970-01-01"
    return f"{size} in the local time of {window.zone}; windows start when {first} starts there{counted}"


def _starts(origin: int, every: Duration | Rows) -> str:
    return f"windows start at {_instant(origin)} and every {every} from there"


def _panes(spec: WindowOperator) -> str:
    """Describes the panes of a window in the order in which they are emitted."""
    lines = [f"Panes: each contains {listed(tuple(a.name for a in spec.aggregates))}."]
    lines += [*of_added(spec.aggregates), *_firings(spec)]
    if spec.closing == "always":
        lines.append(
            "  When a window expires or closes, a last pane is emitted, even if no rows arrived since the "
            "previous pane."
        )
    elif _expires_with_pending_rows(spec):
        lines.append("  When a window expires with pending rows, a last pane is emitted.")
    return "\n".join(lines)


def _firings(spec: WindowOperator) -> list[str]:
    if isinstance(spec.trigger, AfterWatermark):
        return [_early(spec, spec.trigger), _on_time(spec), *_after_end(spec, spec.trigger)]
    lines = [
        f"  A pane is emitted {when(spec.trigger, spec.evaluate)}."
        if not isinstance(spec.trigger, Never)
        else "  No pane is emitted before a window expires."
    ]
    if spec.on_time == "always":
        fires = f"  If the trigger fires when the watermark {_reaches(spec)} the end: one ON_TIME pane"
        lines.append(f"{fires}, even if no rows arrived since the last pane.")
    if finish(spec.trigger) != "never":
        lines.append("  This closes the window: it takes no more rows.")
    return lines


def _reaches(spec: WindowOperator) -> str:
    """Returns the verb for a complete window. If it contains its end, the watermark has to pass the end."""
    return "passes" if closed_at_end(spec.window) else "reaches"


def _early(spec: WindowOperator, trigger: AfterWatermark) -> str:
    if trigger.early is None or isinstance(trigger.early, Never):
        return f"  Before the watermark {_reaches(spec)} the end of a window nothing is emitted."
    return (
        f"  Before the watermark {_reaches(spec)} the end of a window: an EARLY pane "
        f"{when(trigger.early, spec.evaluate)}."
    )


def _on_time(spec: WindowOperator) -> str:
    condition = (
        "even if no rows arrived since the last pane"
        if spec.on_time == "always"
        else "if rows arrived since the last pane"
    )
    return f"  When it {_reaches(spec)} the end: one ON_TIME pane, {condition}."


def _after_end(spec: WindowOperator, trigger: AfterWatermark) -> list[str]:
    if isinstance(spec.window, Global):
        return []
    if spec.lateness_us == 0:
        return [
            "  Nothing is emitted after that: a window takes no rows after its end (allowed lateness is 0)."
        ]
    if trigger.late is None:
        return [
            (
                "  This closes the window. A window that a row opens after its end emits one LATE pane and "
                "is closed."
            )
        ]
    opened_late = "  A window that a row opens after its end emits its first rows at once, in a LATE pane."
    if isinstance(trigger.late, Never):
        return ["  Rows that arrive after that are not emitted before the window expires.", opened_late]
    after = f"  After that, until the window expires: a LATE pane {when(trigger.late, spec.evaluate)}."
    return [after] if isinstance(trigger.late, Always) else [after, opened_late]


def _expires_with_pending_rows(spec: WindowOperator) -> bool:
    """Returns whether a window can expire with pending rows that its trigger has not fired by then."""
    if not isinstance(spec.trigger, AfterWatermark):
        return not isinstance(spec.trigger, Always)
    return (
        spec.trigger.late is not None and not isinstance(spec.trigger.late, Always) and spec.lateness_us != 0
    )


def _content(spec: WindowOperator) -> str:
    contents = {
        "discarding": "only the rows since the last pane (discarding)",
        "accumulating": "all rows of the window so far (accumulating)",
        "retracting": "all rows of the window so far; the previous pane is retracted first, with op '-', "
        "and a pane equal to it is not emitted (retracting)",
    }
    content = contents[spec.accumulation]
    if isinstance(spec.window, Sliding) and counted(spec.window):
        content = "all rows of the window"
    updated = "; a pane equal to the previous one is not emitted" if spec.only_updated else ""
    times = {
        "end": "the end of its window",
        "window_time": "the last instant of its window",
        "earliest": "the earliest event time in it",
        "latest": "the latest event time in it",
    }
    stamped = f"; its timestamp is {times[spec.timestamp]}" if spec.timestamp else ""
    return "\n".join([f"Content: {content}{updated}{stamped}.", *_evicted(spec), *_delta(spec)])


def _evicted(spec: WindowOperator) -> list[str]:
    match spec.evictor:
        case None:
            return []
        case CountEvictor(n):
            evicted = "all rows but the last one" if n == 1 else f"all rows but the last {n}"
        case TimeEvictor(duration):
            evicted = f"rows that are {duration} or more before the latest one"
        case DeltaEvictor(column, threshold):
            evicted = f"rows whose {column} is {threshold} or more below that of the last row"
    return [
        f"  {'After' if spec.evictor.after else 'Before'} each pane, {evicted} are evicted from the window."
    ]


def _delta(spec: WindowOperator) -> list[str]:
    if spec.delta is False:
        return []
    columns = "all their columns" if spec.delta is True else f"their {listed(spec.delta)}"
    return [
        (
            f"  Its delta lists the rows that are new since the previous pane, with {columns}; a pane with "
            "new rows is always emitted."
        )
    ]


def late_rows(spec: WindowOperator) -> str:
    """Returns the lines that say which rows are late, and what becomes of them."""
    lines = [f"Late rows: {_lateness(spec)}."]
    if data_loss_reason(spec) is not None:
        lines.append("  A row is also late for a window that its trigger has closed.")
    if spec.max_windows is not None and spec.max_windows.when_full == "emit_oldest":
        lines.append(f"  A row is also late for a window that is older than {spec.max_windows.n} live ones.")
    overlapping = isinstance(spec.window, (Cumulating, Sliding)) or (
        isinstance(spec.window, Hopping) and length(spec.window.hop) < length(spec.window.size)
    )
    overlapping |= isinstance(spec.window, Custom) and not merging(spec.window)
    several = overlapping and spec.drop_by == "window"
    lines.append(
        "  It is emitted to the late "
        f"output{'; a row that is late for some of its windows is applied to the others' if several else ''}."
    )
    return "\n".join(lines)


def _lateness(spec: WindowOperator) -> str:
    if spec.drop_by == "row":
        behind = "" if spec.lateness_us == 0 else f" by more than {spec.allowed_lateness}"
        return f"a row is late if its time is behind the watermark{behind} when its batch begins"
    never = counted(spec.window) or (spec.time == "processing" and not isinstance(spec.window, Custom))
    if isinstance(spec.window, Global) or spec.lateness_us is None or never:
        return (
            "no row is late before the end of input"
            if data_loss_reason(spec) is None
            else "no row is late because of its time"
        )
    if closed_at_end(spec.window):
        past = "has passed" if spec.lateness_us == 0 else f"has passed by more than {spec.allowed_lateness}"
    else:
        past = "has reached" if spec.lateness_us == 0 else f"has passed by {spec.allowed_lateness} or more"
    merged = "; its window is first merged with those that it joins" if merging(spec.window) else ""
    return f"a row is late for a window whose end the watermark {past} when its batch begins{merged}"


def _invalid(spec: WindowOperator) -> str:
    time, times = spec.event_time, None
    if counted(spec.window):
        time = "its number"
    elif spec.time == "processing":
        time = "processing time"
    elif not isinstance(spec.window, Global):
        times = [f"{time} is null, out of range, or in a window out of range"]
    more = [f"{gap} is null or not above zero" for gap in gap_columns(spec.window)]
    if isinstance(spec.window, Custom):
        several = ", or several" if spec.window.merge else ""
        more = [
            f"{spec.window.name} returns no window for it{several}, or one that does not end after its start"
        ]
    if isinstance(spec.window, Hopping) and spec.window.gaps:
        more = [f"{time} is in a gap between windows"]
    return of_invalid_rows(spec, times, more)


def _order(spec: WindowOperator) -> str:
    evaluated = "after each row" if spec.evaluate == "record" else "once for each batch"
    columns = spec.position.columns if spec.position else spec.order or spec.time_columns
    stand = "as they stand in the batch"
    order = f"in the order of {listed(columns)}, then {stand}" if columns else stand
    replays = of_replays(spec.position)
    return f"Order: rows of a batch are taken {order}{replays}; triggers are evaluated {evaluated}."


def _state(spec: WindowOperator) -> str:
    closed = (
        "" if data_loss_reason(spec) is None else "; when its trigger closes it, its rows are purged at once"
    )
    if isinstance(spec.window, Global) or spec.lateness_us is None:
        return f"State: a window is stored until the end of input{closed}.{_limit(spec)}"
    more = "more than " if closed_at_end(spec.window) else ""
    past = (
        f"{_reaches(spec)} its end"
        if spec.lateness_us == 0
        else f"is {more}{spec.allowed_lateness} past its end"
    )
    end = "at the end of input all windows are purged"
    return f"State: a window is purged when the watermark {past}; {end}{closed}.{_limit(spec)}"


def _limit(spec: WindowOperator) -> str:
    """Describes the limit of windows; empty if there is none."""
    if spec.max_windows is None:
        return ""
    each = "each key has" if spec.keys else "there are"
    most = f"\n  At most {spec.max_windows.n} windows: {each} no more after a batch"
    if spec.max_windows.when_full == "stop":
        return f"{most}, or the batch fails."
    return f"{most}. The oldest ones expire early, with their last pane."
