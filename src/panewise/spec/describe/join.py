"""Describes joins in words."""

from panewise.chrono import Duration
from panewise.spec.conditions import sql_text
from panewise.spec.describe.inputs import of_replays
from panewise.spec.describe.sides import idle_sides, keys_of_sides, watermark_of
from panewise.spec.describe.window_join import firings, late_and_stored
from panewise.spec.describe.windowed_streams import in_windows, releases, stored
from panewise.spec.operators.join.columns import LEFT, OTHER, RIGHT, Selected
from panewise.spec.operators.join.match import AsOf, Interval, LastRows, Latest, Match, RowWindow
from panewise.spec.operators.join.operator import JoinOperator
from panewise.spec.operators.join.same_window import SameWindow
from panewise.spec.operators.join.side import Side
from panewise.spec.operators.join.streams import WindowedStreams
from panewise.spec.operators.policy.policies import CountPolicy, DeltaPolicy, TimePolicy

_EMITTED = {
    "inner": "each pair of a left and a right row that are partners",
    "left": "each pair of partners, and each left row without a partner",
    "right": "each pair of partners, and each right row without a partner",
    "full": "each pair of partners, and each row of both sides without a partner",
    "semi": "each left row that has a partner, once",
    "anti": "each left row without a partner",
}


def describe(spec: JoinOperator) -> str:
    """Returns a description of what the join does, with a line for each topic.

    >>> from panewise import Interval
    >>> side = Side(keys=["id"], event_time="ts")
    >>> match = Interval("-5 minutes", "1 hour")
    >>> print(describe(JoinOperator(left=side, right=side, match=match, how="left")))
    Join: emits each pair of partners, and each left row without a partner.
    Partners: rows with equal id, if the right ts is from 5 minutes before to 1 hour after the left ts.
    Rows without a partner: emitted once no partner can come; a row with a null key has no partner.
    Columns: those of both sides, op, missing and join_time, the later of both event times.
    Left watermark: comes from outside. A row behind it is late.
    Right watermark: comes from outside. A row behind it is late.
    State: a left row until the right watermark is more than 1 hour after it; a right row until the left
    watermark is more than 5 minutes after it.
    """
    of_windows = isinstance(spec.match, SameWindow)
    lines = [f"Join: emits {_EMITTED[spec.how]}.", _partners(spec)]
    lines += firings(spec) if of_windows else _unmatched(spec)
    if isinstance(spec.match, WindowedStreams):
        lines += releases(spec, spec.match)
    lines += [
        _columns(spec),
        *(_side(spec, name, side) for name, side in spec.sides.items()),
        *idle_sides(spec),
    ]
    return "\n".join([*lines, *(late_and_stored(spec) if of_windows else [_state(spec)])])


def _partners(spec: JoinOperator) -> str:
    keys = (
        f"rows with equal {keys_of_sides(spec)}"
        if spec.keys
        else "all rows (there are no keys, so one shard)"
    )
    match = _match(spec.match, spec.left.event_time or "", spec.right.event_time or "")
    condition = "" if spec.condition is None else f", and {sql_text(spec.condition)}"
    return f"Partners: {keys}, if {match}{condition}."


def _match(match: Match, left: str, right: str) -> str:
    if isinstance(match, SameWindow):
        return "they are in the same window"
    if isinstance(match, WindowedStreams):
        return in_windows(match, {LEFT: left, RIGHT: right})
    if isinstance(match, AsOf):
        return _as_of(match, left, right)
    if isinstance(match, LastRows):
        return _last_rows(match, left, right)
    if isinstance(match, Latest):
        young = "" if match.ttl is None else f", and it arrived less than {match.ttl} ago in processing time"
        return f"one is the newest of its side and key when the other arrives{young}{_deleting(match)}"
    return _in_interval(match, left, right)


def _as_of(match: AsOf, left: str, right: str) -> str:
    """Returns which row is the partner as of the time of a left row."""
    which = {
        ("backward", True): f"the latest one whose {right} is not after the left {left}",
        ("backward", False): f"the latest one whose {right} is before the left {left}",
        ("forward", True): f"the earliest one whose {right} is not before the left {left}",
        ("forward", False): f"the earliest one whose {right} is after the left {left}",
        ("nearest", True): f"the one whose {right} is nearest to the left {left}",
        ("nearest", False): f"the one whose {right} is nearest to the left {left}, but not equal to it",
    }
    near = "" if match.tolerance is None else f", and at most {match.tolerance} from it"
    return f"the right row is {which[match.strategy, match.allow_exact_matches]}{near}"


def _in_interval(match: Interval, left: str, right: str) -> str:
    """Returns which rows an interval matches."""
    if match.lower is None or match.upper is None:
        return _without_bound(match, left, right)
    span = f"from {_bound(match.lower)} to {_bound(match.upper)} the left {left}"
    if match.lower == match.upper:
        span = f"{_bound(match.lower)} the left {left}"
    open_ends = {
        "both": "",
        "left": ", the latter excluded",
        "right": ", the former excluded",
        "neither": ", both excluded",
    }
    return f"the right {right} is {span}{open_ends[match.closed]}"


def _without_bound(match: Interval, left: str, right: str) -> str:
    """Returns which rows an interval without a bound matches."""
    bound, beyond = (match.lower, "later") if match.lower is not None else (match.upper, "earlier")
    if bound is None:
        return f"their keys are equal, at any distance of the right {right} from the left {left}"
    if match.closed == "both":
        return f"the right {right} is {_bound(bound)} the left {left} or {beyond}"
    than = "" if bound.us == 0 else f"{_bound(bound)} "
    return f"the right {right} is {beyond} than {than}the left {left}"


def _deleting(match: Latest) -> str:
    """Returns which rows delete others."""
    found = [
        f"a {side} row whose {column} is null deletes the {side} row of its key"
        for side, column in match.deletes_by_side.items()
        if column is not None
    ]
    return "".join(f"; {one}" for one in found)


def _last_rows(match: LastRows, left: str, right: str) -> str:
    if match.order == "event_time" and isinstance(match.right, CountPolicy):
        latest = "the latest one" if match.right.n == 1 else f"one of the {match.right.n} latest ones"
        return f"the right row is {latest} whose {right} is not after the left {left}"
    found = [
        f"the {side} row is {_contained(match.windows[side])} when the {OTHER[side]} row arrives"
        for side in (RIGHT, LEFT)
        if match.windows[side] is not None
    ]
    return ", or ".join(found)


def _contained(window: RowWindow | None) -> str:
    """Returns which rows a window contains."""
    match window:
        case CountPolicy(n=1):
            return "the last one of the key"
        case CountPolicy(n=n):
            return f"one of the last {n} of the key"
        case TimePolicy(duration=duration):
            return f"at most {duration} old in processing time"
        case DeltaPolicy(column=column, amount=amount):
            return f"one after which {column} has risen by at most {amount}"
    raise AssertionError("a window of no rows")


def _bound(bound: Duration) -> str:
    if bound.us == 0:
        return "the same as"
    return f"{Duration(abs(bound.us))} {'before' if bound.us < 0 else 'after'}"


def _unmatched(spec: JoinOperator) -> list[str]:
    if spec.unmatched is None:
        return []
    when = {
        "final": "emitted once no partner can come",
        "early": "emitted at once, and retracted if a partner comes",
    }
    if isinstance(spec.match, LastRows) and spec.match.left is None:
        when["final"] = "emitted at once"
        if spec.match.order == "event_time":
            when["final"] = "emitted once no right row can come that is not after it"
    null = "; a row with a null key has no partner" if spec.keys else ""
    return [f"Rows without a partner: {when[spec.unmatched]}{null}."]


def _columns(spec: JoinOperator) -> str:
    times = {
        "left": "the left event time",
        "right": "the right event time",
        "later": "the later of both event times",
        "earlier": "the earlier of both event times",
        "window": "the last instant of the window",
        None: "the event time",
    }
    own = "those of both sides" if RIGHT in spec.emitted_sides else "those of the left side"
    if spec.select is not None:
        own = ", ".join(map(_selected, spec.select))
    *added, last = spec.added_columns
    time = f", {times[spec.timestamp]}" if spec.has_event_times else ""
    return f"Columns: {', '.join([own, *added])} and {last}{time}."


def _selected(one: Selected) -> str:
    name = "" if one.name == one.column else f" as {one.name}"
    return f"{one.side}.{one.column}{name}"


def _side(spec: JoinOperator, name: str, side: Side) -> str:
    if side.event_time is None:
        replays = of_replays(side.position)
        return f"{name.capitalize()} rows: no event time; none is late before the end of input{replays}."
    mark = watermark_of(spec, spec.watermark or side.watermark)
    if isinstance(spec.match, SameWindow):
        return f"{name.capitalize()} watermark: {mark}{of_replays(side.position)}."
    lateness = f" by more than {side.allowed_lateness}" if side.allowed_lateness.us else ""
    late = f"A row behind it{lateness} is late{of_replays(side.position)}."
    if isinstance(spec.match, Interval) and spec.match.late == "join":
        behind = f"A row behind it{lateness} is joined with what is stored"
        late = f"{behind}, and late if it can have no partner{of_replays(side.position)}."
    return f"{name.capitalize()} watermark: {mark}. {late}"


def _state(spec: JoinOperator) -> str:
    if isinstance(spec.match, AsOf):
        return _state_of_as_of(spec.match, spec.right)
    if isinstance(spec.match, LastRows):
        return _state_of_last_rows(spec.match, spec.right)
    if isinstance(spec.match, Latest):
        good = "for good" if spec.match.ttl is None else f"for {spec.match.ttl} after its arrival"
        return f"State: the newest row of each side and key, {good} if no other follows."
    if isinstance(spec.match, WindowedStreams):
        return stored(spec, spec.match)
    assert isinstance(spec.match, Interval)
    parts = [_stored(spec, spec.match, name) for name in (LEFT, RIGHT)]
    return f"State: {'; '.join(parts)}."


def _stored(spec: JoinOperator, match: Interval, side: str) -> str:
    """Returns how long a row of a side is stored."""
    us, count = match.waits[side], match.retain_rows if side in match.retained else None
    rows = f"a {side} row" if count is None else f"the last {count} {side} rows of each key, by arrival"
    if count == 1:
        rows = f"the last {side} row of each key, by arrival"
    if us is None and count is None:
        return f"each {side} row until the {OTHER[side]} input ends"
    if us is None:
        return f"{rows}, for good if no other follows"
    each = "it" if count is None or count == 1 else "them"
    comma = "" if count is None else ","
    return f"{rows}{comma} until the {OTHER[side]} watermark is {_past(us, spec.sides[OTHER[side]])} {each}"


def _state_of_as_of(match: AsOf, right: Side) -> str:
    lasting = "the latest right row of each key for good, and later ones"
    if match.waits_for_partner:
        return _state_of_awaited(match, lasting)
    if match.tolerance is not None:
        lasting = "a right row as long as it can be the partner of a left row"
    return f"State: a left row until the right watermark is {_decides(match, right)} it; {lasting}."


def _state_of_awaited(match: AsOf, lasting: str) -> str:
    """Returns how long rows are stored if a left row waits for its partner."""
    if match.strategy == "nearest":
        waits = "until no nearer right row can come, for good if there is no right row of its key"
        return f"State: a left row {waits}; {lasting}."
    waits = "until the right watermark has passed its partner, for good if none comes"
    return f"State: a left row {waits}; a right row until both watermarks have passed it."


def _decides(match: AsOf, right: Side) -> str:
    """Returns where the right watermark is when a left row is decided."""
    if match.waits >= 0:
        return _past(match.waits, right)
    lateness = right.allowed_lateness
    return f"{lateness} or more after" if lateness.us else "at or after"


def _state_of_last_rows(match: LastRows, right: Side) -> str:
    if match.order == "event_time" and isinstance(match.right, CountPolicy):
        latest = "the latest right row" if match.right.n == 1 else f"the {match.right.n} latest right rows"
        waits = f"a left row until the right watermark is {_past(0, right)} it"
        return f"State: {waits}; {latest} of each key for good, and later ones."
    found = [
        f"the {side} rows of each key in their window{_for_good(window)}"
        for side, window in match.windows.items()
        if window is not None
    ]
    return f"State: {'; '.join(found)}."


def _for_good(window: RowWindow) -> str:
    """Returns how long a window stays that gets no more rows."""
    return "" if isinstance(window, TimePolicy) else ", for good if no row follows"


def _past(us: int, other: Side) -> str:
    beyond = us + other.allowed_lateness.us
    if beyond == 0:
        return "after"
    if beyond > 0:
        return f"more than {Duration(beyond)} after"
    return f"less than {Duration(-beyond)} before"
