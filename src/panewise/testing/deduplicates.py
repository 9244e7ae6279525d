"""Hypothesis strategies of deduplications, and of events for them (semantics 45)."""

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from panewise.spec import DeduplicateOperator, Position
from panewise.testing.over_specs import WATERMARKS, RowWriter, row_script
from panewise.testing.samples import types_of, with_types

__all__ = ["deduplicate_events", "deduplicate_specs"]

_CHOICES = [
    ("first", "arrival", "at_once"),
    ("first", "arrival", "complete"),
    ("first", "event_time", "complete"),
    ("first", "event_time", "retracting"),
    ("last", "arrival", "complete"),
    ("last", "arrival", "retracting"),
    ("last", "event_time", "complete"),
    ("last", "event_time", "retracting"),
]


@st.composite
def deduplicate_specs(draw: st.DrawFn, /, **fixed: Any) -> DeduplicateOperator:
    """Draws deduplications; each field that is not `fixed` takes every kind of its values."""
    timed = fixed.get("event_time", draw(st.sampled_from(["event_time", "event_time", "t", None])))
    keep, by, emit = draw(
        st.sampled_from([choice for choice in _CHOICES if timed is not None or choice[1] == "arrival"])
    )
    order = draw(st.sampled_from([(), (), ("order",), ("order", "v")]))
    positions = [None, None, Position(), Position(source="source"), Position(ordered=False, remember=2)]
    fields: dict[str, Any] = {
        "keys": draw(st.sampled_from([["key"], ["key"], ["level"], ["shop", "level"]])),
        "within": draw(st.sampled_from([1, 2, 5, 10, "unlimited"])) if timed else "unlimited",
        "keep": keep,
        "by": by,
        "emit": emit,
        "event_time": timed,
        "order": order,
        "position": None if fixed.get("order", order) else draw(st.sampled_from(positions)),
        "null_keys": draw(st.booleans()),
        "max_future_skew": draw(st.sampled_from([None, None, None, 3, 20])) if timed else None,
        "watermark": draw(st.sampled_from([None] * 6 + WATERMARKS)) if timed else None,
    }
    return DeduplicateOperator(**{**fields, **fixed})


@st.composite
def deduplicate_events(
    draw: st.DrawFn,
    /,
    spec: DeduplicateOperator,
    max_events: int = 9,
    max_rows: int = 6,
    types: Mapping[str, str] | None = None,
) -> list[dict[str, Any]]:
    """Draws events for a deduplication, as :func:`panewise.testing.strategies.frame_events` does for OVER."""
    return row_script(_DeduplicateWriter(draw, spec, with_types(types_of(spec), types), max_rows), max_events)


class _DeduplicateWriter(RowWriter):
    """Draws events near the ends of groups."""

    spec: DeduplicateOperator

    def reaches(self) -> list[int]:
        us = self.spec.within_us or 3
        return sorted({0, 1, us - 1, us, us + 1})
