"""Describes what joins and cogroups have in common: keys, and the watermarks of sides."""

from panewise.chrono import Duration
from panewise.spec.describe.listing import listed
from panewise.spec.operators.join.side import Side
from panewise.spec.operators.join.side_entry import TwoSided
from panewise.spec.watermarks import FixedLag, StreamTime


def keys_of_sides(spec: TwoSided) -> str:
    """Returns the names of the keys, with those of the right side where they differ."""
    pairs = zip(*(side.keys for side in spec.sides.values()), strict=True)
    return listed(tuple(left if left == right else f"{left} (right: {right})" for left, right in pairs))


def watermark_of(spec: TwoSided, watermark: StreamTime | FixedLag | None) -> str:
    """Returns in words where the watermark of a side comes from."""
    if watermark is None:
        return "comes from outside"
    if isinstance(watermark, FixedLag):
        return f"processing time less {watermark.lag}"
    rows = "both sides" if spec.watermark is not None else "the side"
    behind = f", less {watermark.delay}" if watermark.delay.us else ""
    each = "row" if spec.evaluate == "record" else "batch"
    return f"after each {each} the highest event time of the rows of {rows}{behind}"


def idle_sides(spec: TwoSided) -> list[str]:
    """Returns the line on silent sides, if there is one."""
    if spec.idle_after is None:
        return []
    return [
        f"Idle sides: the watermark of a side that is silent for {spec.idle_after} follows the other one."
    ]


def passed(us: int, other: Side) -> str:
    """Returns in words where, relative to a row, the watermark of the other side must be.

    The horizon of that side has then passed `us` microseconds after the row.

    >>> passed(0, Side()), passed(-5, Side())
    ('after', 'less than 5 microseconds before')
    """
    beyond = us + other.allowed_lateness.us
    if beyond == 0:
        return "after"
    if beyond > 0:
        return f"more than {Duration(beyond)} after"
    return f"less than {Duration(-beyond)} before"
