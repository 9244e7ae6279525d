"""Describes deduplications in words."""

from panewise.spec.describe.inputs import of_invalid_rows, of_late_rows, of_replays, of_watermark
from panewise.spec.describe.listing import listed
from panewise.spec.operators.deduplicate import DeduplicateOperator


def describe(spec: DeduplicateOperator) -> str:
    """Returns a description of what the operator does, with a line for each topic.

    >>> print(describe(DeduplicateOperator(keys=["id"], within="1 hour")))
    Groups: rows with the same id that are less than 1 hour from the first row of their group that arrived.
    Rows: of each group the first row by arrival is emitted. The others are duplicates.
    Order: rows are taken as they arrive, those of a batch in the order of event_time.
    Output: a row is emitted when it arrives.
    Late rows: a row is late if its time is behind the watermark when its batch begins. It is emitted to the
    late output.
    Invalid rows: event_time is null or out of range.
    State: id and time of the first row of each group, until the watermark is 1 hour past that time.
    """
    order = spec.event_time if spec.by == "event_time" else "arrival"
    lines = [
        _groups(spec),
        f"Rows: of each group the {spec.keep} row by {order} is emitted. The others are duplicates.",
        _order(spec),
        *of_watermark(spec),
        _output(spec),
        of_late_rows(spec),
        of_invalid_rows(spec),
        _state(spec),
    ]
    return "\n".join(lines)


def _groups(spec: DeduplicateOperator) -> str:
    same = f"Groups: rows with the same {listed(spec.keys)}"
    if spec.within_us is None:
        return f"{same}, however far apart."
    first = (
        f"of their group in the order of {spec.event_time}" if spec.waits else "of their group that arrived"
    )
    return f"{same} that are less than {spec.within} from the first row {first}."


def _order(spec: DeduplicateOperator) -> str:
    columns = spec.position.columns if spec.position else spec.order or spec.time_columns
    replays = of_replays(spec.position)
    within = f"those of a batch in the order of {listed(columns)}" if columns else ""
    if spec.waits:
        ties = f", {within}" if spec.position or spec.order else ""
        return (
            f"Order: rows are taken in the order of {spec.event_time}, those of equal time as they "
            f"arrive{ties}{replays}."
        )
    return f"Order: rows are taken as they arrive{f', {within}' if within else ''}{replays}."


def _output(spec: DeduplicateOperator) -> str:
    if spec.emit == "at_once":
        return "Output: a row is emitted when it arrives."
    if spec.emit == "retracting":
        return (
            "Output: after each batch the chosen row of each group that has another one than before; the row "
            "that it replaces is retracted."
        )
    if spec.keeps_what_it_takes_first:
        return "Output: a row is emitted when the watermark has passed its time."
    if spec.within_us is None:
        return "Output: a row is emitted at the end of input."
    return f"Output: a row is emitted when the watermark is {spec.within} past the first row of its group."


def _state(spec: DeduplicateOperator) -> str:
    waiting = "rows until the watermark has passed them; " if spec.waits else ""
    keys = listed(spec.keys)
    stored = (
        f"{keys} and time of the first row of each group"
        if spec.keeps_what_it_takes_first
        else "the chosen row of each group"
    )
    if spec.within_us is None:
        return f"State: {waiting}{stored}, permanently: it grows with the number of different {keys}."
    return (
        f"State: {waiting}{stored}, until the watermark is {spec.within} past that time."
        if (spec.keeps_what_it_takes_first)
        else f"State: {waiting}{stored}, until the watermark is {spec.within} past its first row."
    )
