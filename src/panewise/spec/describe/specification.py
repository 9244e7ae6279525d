"""Describes a specification in plain words: its windows, panes, late and invalid rows, order and state.

Each private function describes one aspect of the specification; :func:`describe` puts them in order.
"""

from datetime import UTC, datetime, timedelta

from panewise.chrono import Duration
from panewise.spec.describe import row_numbering, sliding
from panewise.spec.describe.inputs import bad_inputs, of_inputs, of_replays, of_stream
from panewise.spec.describe.listing import listed
from panewise.spec.describe.over import describe_frames
from panewise.spec.describe.policy import describe_policies
from panewise.spec.describe.triggers import when
from panewise.spec.evictors import CountEvictor, DeltaEvictor, TimeEvictor
from panewise.spec.operators.chain import Chain, Specification, Stage
from panewise.spec.operators.over.operator import FrameOperator
from panewise.spec.operators.policy.operator import StreamWindow
from panewise.spec.operators.windows import WindowOperator, data_loss_reason
from panewise.spec.triggers.composite import AfterWatermark, finish
from panewise.spec.triggers.simple import Always, Never
from panewise.spec.watermarks import FixedLag, Inputs, StreamTime
from panewise.spec.windows.custom import Custom
from panewise.spec.windows.kinds import (
    AnyWindow,
    Calendar,
    Cumulating,
    Global,
    Hopping,
    Session,
    Tumbling,
    closed_at_end,
    counted,
    gap_columns,
    merging,
)
from panewise.spec.windows.measure import Rows, length
from panewise.spec.windows.sliding import Sliding


def describe(spec: Specification) -> str:
    """Returns a description of what a specification of any kind does, as lines of text, one aspect at a time.

    >>> from panewise import functions as F
    >>> print(describe(WindowOperator(window=Tumbling("1 hour"), aggregates=[F.count()])))
    Windows: each row is in one window of 1 hour; windows start at 1970-01-01 00:00:00 UTC and every 1 hour
    from there. Panes: each holds count(*).
      Before the watermark reaches the end of a window nothing is sent.
      When it reaches the end: one ON_TIME pane, if rows came since the last pane.
      Nothing is sent after that, as a window takes no rows after its end (allowed lateness is 0).
    Content: all rows of the window so far (accumulating).
    Late rows: a row is late for a window whose end the watermark has reached when its batch begins.
      It goes to the late output.
    Invalid rows: event_time is null, out of range, or in a window out of range.
    Order: rows of a batch are taken in the order of event_time, then as they stand; triggers are asked once
    for each batch. State: a window goes when the watermark reaches its end; at the end of input all go.
    """
    if isinstance(spec, FrameOperator):
        return describe_frames(spec)
    if isinstance(spec, StreamWindow):
        return describe_policies(spec)
    if isinstance(spec, Chain):
        return "\n".join(
            [describe(spec.first), *(_stage(spec, stage) for stage in spec.stages), _sharing(spec)]
        )
    parts = (_windows, _progress, _panes, _content, _late, _invalid, _order, _state)
    return "\n".join(told for told in (part(spec) for part in parts) if told)


def _instant(us: int) -> str:
    try:
        instant = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=us)
        return f"{instant:%Y-%m-%d %H:%M:%S.%f}".removesuffix(".000000") + " UTC"
    except OverflowError:
        return f"{us} microseconds from 1970-01-01 00:00:00 UTC"


def _windows(spec: WindowOperator) -> str:
    keys = f", apart for each {listed(spec.keys)}" if spec.keys else ""
    time = "; its time is when it arrives" if spec.time == "processing" else ""
    return f"Windows: {_membership(spec.window)}{keys}{time}."


def _membership(window: AnyWindow) -> str:
    told = sliding.membership(window) if isinstance(window, Sliding) else row_numbering.membership(window)
    if told is not None:
        return told
    assert not isinstance(window, Sliding), "told"
    match window:
        case Tumbling():
            return f"each row is in one window of {window.size}; {_starts(window.origin, window.size)}"
        case Hopping():
            rows = (
                "rows between two windows are in none"
                if window.gaps
                else "a row is in every window that holds its time"
            )
            return f"windows of {window.size}, {rows}; {_starts(window.origin, window.hop)}"
        case Cumulating():
            return (
                f"windows that grow by {window.step} up to {window.size}; "
                f"{_starts(window.origin, window.size)}"
            )
        case Calendar():
            return f"each row is in one window of {_calendar(window)}"
        case Session():
            return _session(window)
        case Custom():
            given = (
                f"each row is in the {'window' if window.merge else 'windows'} that {window.name} gives it"
            )
            touching = "are merged, too" if window.merge == "touching" else "are kept apart"
            return (
                f"{given}; windows that overlap are merged, those that only touch {touching}"
                if window.merge
                else given
            )
        case Global():
            return "one window without start or end, complete at the end of input"


def _session(window: Session) -> str:
    ends = (
        f"{window.gap} after its last row"
        if isinstance(window.gap, Duration)
        else f"when the {window.gap} of all its rows is over"
    )
    if window.closed == "both":
        return f"a window ends {ends}, that instant included; windows that share an instant are merged"
    touching = "are merged" if window.touching == "merge" else "stay apart"
    return f"a window ends {ends}; windows that overlap are merged, those that only touch {touching}"


def _progress(spec: WindowOperator) -> str:
    """Describes the watermark; empty if it comes from outside."""
    if counted(spec.window):
        return row_numbering.progress(spec)
    if spec.time == "processing":
        return "Watermark: processing time."
    match spec.watermark:
        case FixedLag(lag=lag):
            return f"Watermark: {lag} behind processing time, or that from outside if it is further."
        case StreamTime() as stream:
            return f"Watermark: {of_stream(stream, spec.event_time, each_row=spec.evaluate == 'record')}."
        case Inputs() as inputs:
            return f"Watermark: {of_inputs(inputs, spec.event_time, each_row=spec.evaluate == 'record')}."
    return ""


def _calendar(window: Calendar) -> str:
    first = {"day": "a day", "week": f"a {window.week_start.capitalize()}"}.get(
        window.unit, f"the first day of a {window.unit}"
    )
    size = f"a {window.unit}" if window.n == 1 else f"{window.n} {window.unit}s"
    counted = "" if window.n == 1 else f", counted from the {window.unit} of 1970-01-01"
    return f"{size} in the time of {window.zone}; windows start when {first} starts there{counted}"


def _starts(origin: int, every: Duration | Rows) -> str:
    return f"windows start at {_instant(origin)} and every {every} from there"


def _panes(spec: WindowOperator) -> str:
    """Describes the panes of a window in the order in which they are emitted."""
    lines = [f"Panes: each holds {listed(tuple(a.name for a in spec.aggregates))}.", *_firings(spec)]
    if spec.closing == "always":
        lines.append(
            "  When a window expires or closes a last pane is sent, even if no rows came since the pane "
            "before."
        )
    elif _keeps_rows_back(spec):
        lines.append("  When a window expires with rows not sent yet, a last pane holds them.")
    return "\n".join(lines)


def _firings(spec: WindowOperator) -> list[str]:
    if isinstance(spec.trigger, AfterWatermark):
        return [_early(spec, spec.trigger), _on_time(spec), *_after_end(spec, spec.trigger)]
    lines = [
        f"  A pane is sent {when(spec.trigger, spec.evaluate)}."
        if not isinstance(spec.trigger, Never)
        else "  No pane is sent before a window expires."
    ]
    if spec.on_time == "always":
        fires = f"  If the trigger fires when the watermark {_reaches(spec)} the end: one ON_TIME pane"
        lines.append(f"{fires}, even if no rows came since the last pane.")
    if finish(spec.trigger) != "never":
        lines.append("  That closes the window: it takes no more rows.")
    return lines


def _reaches(spec: WindowOperator) -> str:
    """Returns the verb for a complete window. If it contains its end, the watermark has to pass the end."""
    return "passes" if closed_at_end(spec.window) else "reaches"


def _early(spec: WindowOperator, trigger: AfterWatermark) -> str:
    if trigger.early is None or isinstance(trigger.early, Never):
        return f"  Before the watermark {_reaches(spec)} the end of a window nothing is sent."
    return (
        f"  Before the watermark {_reaches(spec)} the end of a window: an EARLY pane "
        f"{when(trigger.early, spec.evaluate)}."
    )


def _on_time(spec: WindowOperator) -> str:
    condition = (
        "even if no rows came since the last pane"
        if spec.on_time == "always"
        else "if rows came since the last pane"
    )
    return f"  When it {_reaches(spec)} the end: one ON_TIME pane, {condition}."


def _after_end(spec: WindowOperator, trigger: AfterWatermark) -> list[str]:
    if isinstance(spec.window, Global):
        return []
    if spec.lateness_us == 0:
        return [
            "  Nothing is sent after that, as a window takes no rows after its end (allowed lateness is 0)."
        ]
    if trigger.late is None:
        return [
            (
                "  That closes the window. One that is opened after its end by a late row sends one LATE "
                "pane and is closed."
            )
        ]
    opened_late = "  A window that a late row opens after its end emits its first rows at once, LATE."
    if isinstance(trigger.late, Never):
        return ["  Rows that come after that are not sent before the window expires.", opened_late]
    after = f"  After that, until the window expires: a LATE pane {when(trigger.late, spec.evaluate)}."
    return [after] if isinstance(trigger.late, Always) else [after, opened_late]


def _keeps_rows_back(spec: WindowOperator) -> bool:
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
        "retracting": "all rows of the window so far; the pane before is withdrawn first, with op '-', "
        "and a pane equal to it is not sent (retracting)",
    }
    held = contents[spec.accumulation]
    if isinstance(spec.window, Sliding) and counted(spec.window):
        held = "all rows of the window"
    updated = "; a pane equal to the one before is not sent" if spec.only_updated else ""
    times = {
        "end": "the end of its window",
        "window_time": "the last instant of its window",
        "earliest": "the earliest event time in it",
        "latest": "the latest event time in it",
    }
    stamped = f"; its timestamp is {times[spec.timestamp]}" if spec.timestamp else ""
    return "\n".join([f"Content: {held}{updated}{stamped}.", *_evicted(spec), *_delta(spec)])


def _evicted(spec: WindowOperator) -> list[str]:
    match spec.evictor:
        case None:
            return []
        case CountEvictor(n):
            gone = "all rows but the last one" if n == 1 else f"all rows but the last {n}"
        case TimeEvictor(duration):
            gone = f"rows that are {duration} or more before the latest one"
        case DeltaEvictor(column, threshold):
            gone = f"rows whose {column} is {threshold} or more below that of the last one"
    return [f"  {'After' if spec.evictor.after else 'Before'} each pane {gone} go from the window, for good."]


def _delta(spec: WindowOperator) -> list[str]:
    if spec.delta is False:
        return []
    columns = "all their columns" if spec.delta is True else f"their {listed(spec.delta)}"
    return [
        (
            f"  Its delta lists the rows that are new since the pane before, with {columns}; a pane with "
            "new rows is always sent."
        )
    ]


def _late(spec: WindowOperator) -> str:
    lines = [f"Late rows: {_lateness(spec)}."]
    if data_loss_reason(spec) is not None:
        lines.append("  A row is late, too, for a window that its trigger has closed.")
    overlapping = isinstance(spec.window, (Cumulating, Sliding)) or (
        isinstance(spec.window, Hopping) and length(spec.window.hop) < length(spec.window.size)
    )
    overlapping |= isinstance(spec.window, Custom) and not merging(spec.window)
    several = overlapping and spec.drop_by == "window"
    lines.append(
        "  It goes to the late "
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
            else "no row is late by its time"
        )
    if closed_at_end(spec.window):
        past = "has passed" if spec.lateness_us == 0 else f"has passed by more than {spec.allowed_lateness}"
    else:
        past = "has reached" if spec.lateness_us == 0 else f"has passed by {spec.allowed_lateness} or more"
    what = "if its session, merged with those it meets, is one" if merging(spec.window) else "for a window"
    return f"a row is late {what} whose end the watermark {past} when its batch begins"


def _invalid(spec: WindowOperator) -> str:
    time = "processing time" if spec.time == "processing" else spec.event_time
    reasons = (
        [] if spec.time == "processing" else [f"{time} is null, out of range, or in a window out of range"]
    )
    if counted(spec.window):
        time, reasons = "its number", [f"{name} is null or out of range" for name in spec.time_columns]
    if isinstance(spec.window, Global) and spec.time == "event":
        reasons = [f"{time} is null or out of range"]
    reasons += [f"{key} is null or NaN" for key in (() if spec.null_keys else spec.keys)]
    if spec.position is not None:
        reasons.append(f"{spec.position.partition} or {spec.position.offset} is null")
    if spec.max_future_skew is not None:
        reasons.append(f"{spec.event_time} is more than {spec.max_future_skew} ahead of processing time")
    reasons += bad_inputs(spec.watermark)
    reasons += [f"{gap} is null or not above zero" for gap in gap_columns(spec.window)]
    if isinstance(spec.window, Custom):
        reasons.append(
            f"{spec.window.name} gives it no window{', or several' if spec.window.merge else ''}, or "
            "one that does not end after its start"
        )
    if isinstance(spec.window, Hopping) and spec.window.gaps:
        reasons.append(f"{time} is between two windows")
    return f"Invalid rows: {'; '.join(reasons) or 'none'}."


def _order(spec: WindowOperator) -> str:
    asked = "after each row" if spec.evaluate == "record" else "once for each batch"
    columns = spec.position.columns if spec.position else spec.order or spec.time_columns
    taken = f"in the order of {listed(columns)}, then as they stand" if columns else "as they stand"
    replays = of_replays(spec.position)
    return f"Order: rows of a batch are taken {taken}{replays}; triggers are asked {asked}."


def _state(spec: WindowOperator) -> str:
    closed = "" if data_loss_reason(spec) is None else "; when its trigger closes it, its contents go at once"
    if isinstance(spec.window, Global) or spec.lateness_us is None:
        return f"State: a window is kept until the end of input{closed}."
    more = "more than " if closed_at_end(spec.window) else ""
    past = (
        f"{_reaches(spec)} its end"
        if spec.lateness_us == 0
        else f"is {more}{spec.allowed_lateness} past its end"
    )
    return f"State: a window goes when the watermark {past}; at the end of input all go{closed}."


def _stage(chain: Chain, stage: Stage) -> str:
    """Describes a stage: the panes that it takes, and those that it emits."""
    apart = f" and each {listed(stage.keys)}" if stage.keys else ""
    contents = {
        "discarding": "the panes that came together",
        "accumulating": "the latest pane of every key of the stage before",
        "retracting": "every pane of the stage before that is not withdrawn; its own pane before is "
        "withdrawn first, and "
        "a pane equal to it is not sent",
    }
    updated = "; a pane equal to the one before is not sent" if chain.first.only_updated else ""
    held = (
        f"It holds {listed(tuple(a.name for a in stage.aggregates))} of "
        f"{contents[chain.first.accumulation]}{updated}."
    )
    return (
        "Then: whenever panes come out, one pane with their timing for each of their "
        f"windows{apart}.\n  {held}"
    )


def _sharing(chain: Chain) -> str:
    if chain.shared_keys:
        return (
            f"Shards: panes that differ in {listed(chain.shared_keys, 'or')} never meet, so shards "
            "are made by this."
        )
    return (
        "Shards: all panes meet, so there is one; a key that is kept through all stages would let "
        "there be several."
    )
