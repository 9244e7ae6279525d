"""Checks that the operators share which emit the rows of one input: OVER and deduplication."""

from collections.abc import Iterable
from typing import Any, Protocol

from panewise.chrono import Duration, DurationLike
from panewise.errors import SpecError
from panewise.spec.position import Position
from panewise.spec.watermarks import Watermark, has_key_watermarks


class RowOperator(Protocol):
    """The fields that are checked."""

    @property
    def keys(self) -> tuple[str, ...]: ...  # noqa: D102 - fields of a specification
    @property
    def event_time(self) -> str | None: ...  # noqa: D102
    @property
    def order(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def position(self) -> Position | None: ...  # noqa: D102
    @property
    def null_keys(self) -> bool: ...  # noqa: D102
    @property
    def watermark(self) -> Watermark | None: ...  # noqa: D102


def skew_of(value: DurationLike | None) -> Duration | None:
    """Returns `max_future_skew` as a duration.

    Raises:
        SpecError: if it is negative.
    """
    if value is None:
        return None
    duration = Duration.of(value, "max_future_skew")
    if duration.us < 0:
        raise SpecError(f"max_future_skew={value!r}", "max_future_skew is not negative", "give 0 or more")
    return duration


def check_source(spec: RowOperator, what: str) -> None:
    """Checks position, `null_keys` and watermark. `what` names the operator.

    Raises:
        SpecError: if one of them is of another type, or the watermark is one of each key.
    """
    if spec.position is not None and not isinstance(spec.position, Position):
        raise SpecError(
            f"position={spec.position!r}",
            "a position is a Position",
            "give Position(partition=..., offset=...)",
        )
    if not isinstance(spec.null_keys, bool):
        raise SpecError(
            f"null_keys={spec.null_keys!r}", "null_keys is one of (True, False)", "give one of these"
        )
    if spec.watermark is not None and (
        not isinstance(spec.watermark, Watermark) or has_key_watermarks(spec.watermark)
    ):
        rule = f"the watermark of {what} comes from outside, or is FixedLag, Inputs or StreamTime(per='all')"
        raise SpecError(
            f"watermark={spec.watermark!r}", rule, "give one such as FixedLag('10 seconds'), or leave it out"
        )


def check_names(keys: tuple[str, ...], others: Iterable[Any]) -> None:
    """Checks the names of columns.

    Raises:
        SpecError: if one is no name, or a key is named twice.
    """
    for name in (*keys, *others):
        if not isinstance(name, str) or not name:
            raise SpecError(
                f"column {name!r}", "columns are named by non-empty strings", "give the column's name"
            )
    for name in keys:
        if keys.count(name) > 1:
            raise SpecError(f"keys={list(keys)!r}", "a key is named once", f"name {name!r} once")


def check_arrival(spec: RowOperator) -> None:
    """Checks that order, skew and watermark have a meaning.

    Raises:
        SpecError: with order columns and a position, and with a skew or a watermark but no event time.
    """
    if spec.order and spec.position is not None:
        raise SpecError(
            f"order={spec.order!r} and a position",
            "a position is the arrival order (semantics 3)",
            "leave one of them out",
        )
    for name in ("max_future_skew", "watermark"):
        if spec.event_time is None and getattr(spec, name) is not None:
            rule = "max_future_skew and watermark need an event time"
            raise SpecError(
                f"event_time=None, {name}={getattr(spec, name)!r}",
                rule,
                f"leave {name} out, or name the event time",
            )
