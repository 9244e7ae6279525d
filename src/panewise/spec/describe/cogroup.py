"""Describes cogroups in words."""

from typing import Final

from panewise.spec.aggregates.functions import count
from panewise.spec.describe import windows
from panewise.spec.describe.added_later import of_added
from panewise.spec.describe.inputs import of_replays
from panewise.spec.describe.listing import listed, without_paragraphs
from panewise.spec.describe.sides import idle_sides, keys_of_sides, watermark_of
from panewise.spec.fields import silently
from panewise.spec.operators.cogroup.operator import FIELDS_OF_WINDOWS, CogroupOperator
from panewise.spec.operators.windows import WindowOperator

_OF_ONE_INPUT: Final = ("Invalid rows:", "Order:")  # paragraphs that do not apply to two sides


def describe(spec: CogroupOperator) -> str:
    """Returns a description of what the cogroup does, with a line for each topic.

    >>> from panewise import Side, Tumbling
    >>> from panewise import functions as F
    >>> print(describe(CogroupOperator(left=Side(keys=["id"]), right=Side(keys=["order_id"]),
    ...     window=Tumbling("1 hour"), left_aggregates=[F.count().alias("orders")],
    ...     right_aggregates=[F.sum("weight").alias("weight")])))
    Cogroup: emits a pane for each id (right: order_id) and window, which has rows of either side or of both.
    Left aggregates: orders, over the rows of the left side.
    Right aggregates: weight, over the rows of the right side.
    Windows: each row belongs to one window of 1 hour; windows start at 1970-01-01 00:00:00 UTC and every
    1 hour from there. They are made from the rows of both sides, and their watermark is the lower one.
    Panes:
      Before the watermark reaches the end of a window nothing is emitted.
      When it reaches the end: one ON_TIME pane, if rows arrived since the last pane.
      Nothing is emitted after that: a window takes no rows after its end (allowed lateness is 0).
    Content: all rows of the window so far (accumulating).
    Left watermark: comes from outside.
    Right watermark: comes from outside.
    Late rows: a row is late for a window whose end the watermark has reached when its batch begins.
      It is emitted to the late output.
    State: a window is purged when the watermark reaches its end; at the end of input all windows are purged.
    """
    return "\n".join([_cogroup(spec), *_aggregates(spec), *_windows(spec)])


def _cogroup(spec: CogroupOperator) -> str:
    each = f"each {keys_of_sides(spec)} and window" if spec.keys else "each window (no keys, so one shard)"
    return f"Cogroup: emits a pane for {each}, which has rows of either side or of both."


def _aggregates(spec: CogroupOperator) -> list[str]:
    lines = list[str]()
    for side in spec.sides:
        if spec.aggregates_of(side):
            rows = f"over the rows of the {side} side."
            lines.append(f"{side.capitalize()} aggregates: {_names(spec, side)}, {rows}")
            lines += of_added(spec.aggregates_of(side))
    if spec.both_aggregates:
        names = listed(tuple(what.name for what in spec.both_aggregates))
        lines.append(f"Aggregates of both: {names}, over the rows of both sides.")
        lines += of_added(spec.both_aggregates)
    return lines


def _names(spec: CogroupOperator, side: str) -> str:
    return listed(tuple(what.name for what in spec.aggregates_of(side)))


def _windows(spec: CogroupOperator) -> list[str]:
    """Returns the lines on windows, panes, watermarks, late rows and state."""
    with silently():
        fields = {name: getattr(spec, name) for name in FIELDS_OF_WINDOWS}
        operator = WindowOperator(**fields, aggregates=[count()])
    lines = without_paragraphs(windows.describe(operator), _OF_ONE_INPUT)
    lines[0] += " They are made from the rows of both sides, and their watermark is the lower one."
    lines[lines.index("Panes: each contains count(*).")] = "Panes:"
    late = next(number for number, line in enumerate(lines) if line.startswith("Late rows:"))
    return [*lines[:late], *_watermarks(spec), *lines[late:]]


def _watermarks(spec: CogroupOperator) -> list[str]:
    lines = [
        f"{name.capitalize()} watermark: {watermark_of(spec, spec.watermark or side.watermark)}"
        f"{of_replays(side.position)}."
        for name, side in spec.sides.items()
    ]
    return [*lines, *idle_sides(spec)]
