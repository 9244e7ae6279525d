"""What the families of joins and cogroups have in common: their sides."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

from panewise.chrono import Duration
from panewise.errors import SpecError
from panewise.spec.codec.documents import DocumentedParts
from panewise.spec.fields import silently_replaced
from panewise.spec.operators.join.checks import check_comparable
from panewise.spec.operators.join.side_entry import TwoSided
from panewise.spec.protocol import Types
from panewise.spec.source_position import Position
from panewise.spec.type_checks import check_entry
from panewise.spec.watermarks import StreamTime, row_driven


def driven_by_rows(spec: TwoSided, delays: Mapping[str, Duration | None]) -> dict[str, Any]:
    """Returns the sides to replace, so that rows drive the watermarks of streams (semantics 36.1).

    `delays` are those of the streams by side. A watermark that is given stays. The watermark of a side whose
    delay is None is that of the query (semantics 36.9).

    Raises:
        SpecError: if there is such a side, and `idle_after`.
    """
    if spec.watermark is not None:
        return {}
    mine = {
        name: delays[name]
        for name, side in spec.sides.items()
        if side.watermark is None and side.event_time is not None and name in delays
    }
    following = [name for name, delay in mine.items() if delay is None]
    if following and spec.idle_after is not None:
        rule = (
            f"the {following[0]} side reads what Spark's own stateful operators or a union of streams emit, "
            "so its watermark is that of the query (semantics 36.9, 36.10), and Spark knows no idle streams"
        )
        remedy = "leave idle_after out, or give the side a watermark such as StreamTime(delay, per='all')"
        raise SpecError(f"idle_after={spec.idle_after}", rule, remedy)
    return {
        name: replace(spec.sides[name], watermark=StreamTime(delay, per="all"))
        for name, delay in mine.items()
        if delay is not None
    }


T = TypeVar("T", bound=TwoSided)


class SideParts(DocumentedParts[T]):
    """The parts that joins and cogroups have in common."""

    def for_delays(self, spec: T, delays: Mapping[str, Duration | None]) -> T:
        """Returns the specification, in which the rows of each side drive its watermark (36.1, 36.13)."""
        return silently_replaced(spec, **driven_by_rows(spec, delays))

    def with_position(self, spec: T, position: Position) -> T:
        """Returns the specification with a source position of both sides."""
        sides = {name: replace(side, position=position) for name, side in spec.sides.items()}
        return silently_replaced(spec, **sides)

    def with_skews(self, spec: T, skews: Mapping[str, Duration]) -> T:
        """Returns the specification with a `max_future_skew` of some sides."""
        sides = {name: replace(spec.sides[name], max_future_skew=skew) for name, skew in skews.items()}
        return silently_replaced(spec, **sides)

    def one_shard(self, spec: T) -> tuple[str, str] | None:
        """Returns why the rows of all keys are combined, if they are."""
        if not all(side.keys for side in spec.sides.values()):
            return "without keys all rows have equal keys, so there is one shard (semantics 28)", "give keys"
        driven = any(row_driven(entry.watermark) is not None for entry in spec.ports.values())
        if driven and spec.evaluate == "record":
            rule = (
                "with evaluate='record' each row moves the watermark for the next row of any "
                "key, so there is one shard (semantics 36.7)"
            )
            return rule, "leave shards out, or use evaluate='batch'"
        return None


def check_types_of_sides(spec: TwoSided, types: Mapping[str, Types]) -> None:
    """Checks the columns of each side. Keys that are compared have one type."""
    for name, entry in spec.ports.items():
        check_entry(entry, types[name])
    for left, right in zip(spec.left.keys, spec.right.keys, strict=True):
        check_comparable(left, types["left"].get(left), right, types["right"].get(right))
