"""Deduplication emits one row of each group of rows with equal keys (semantics 45). Values only."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias, get_args

from panewise.choices import check_choice, is_choice
from panewise.chrono import Duration, DurationLike
from panewise.errors import SpecError
from panewise.families import DEDUPLICATE, Family
from panewise.spec.fields import set_fields, several, skew_of
from panewise.spec.operators.row_operator import RowOperator, check_input
from panewise.spec.operators.windows import UNLIMITED
from panewise.spec.source_position import Position
from panewise.spec.watermarks import Watermark
from panewise.spec.windows.kinds import positive

Keep: TypeAlias = Literal["first", "last"]
By: TypeAlias = Literal["arrival", "event_time"]
Emit: TypeAlias = Literal["at_once", "complete", "retracting"]


@dataclass(frozen=True, kw_only=True)
class DeduplicateOperator(RowOperator):
    """A deduplication. It puts rows with equal keys and close event times into groups, and emits one of each.

    A row opens a group if there is none that it can join. Further rows of the same keys join the group if
    their event time is less than `within` from that of the first one, before or after it.

    Args:
        keys: the columns in which duplicates are equal, one or more.
        within: the limit of the distance, above 0. A row exactly this far away does not join. With
            "unlimited" all rows of the same keys are one group, and state is never deleted.
            An int is in microseconds.
        keep: which row of a group is emitted: the "first" or the "last".
        by: the order in which rows are first or last: "arrival" or "event_time". Rows of equal event time are
            in arrival order.
        emit: when the row is emitted.

            - "at_once": when it arrives. Only with keep="first" and by="arrival", where this is the default.
            - "complete": when no other row can replace it. This is the default otherwise.
            - "retracting": after the batch in which it arrives. It is retracted if another row replaces it.
              The emitted rows have a further column `op`, "+" or "-". Not with keep="first" and by="arrival".
        event_time: the column of the event time. None: there is no event time, which requires
            within="unlimited" and by="arrival".
        order: columns that define the arrival order within a batch.
        position: the columns of the source position, which identifies replays and defines the arrival order
            within a batch.
        null_keys: whether null and NaN are keys like any other value. With False such rows are invalid.
        max_future_skew: how far event time may be ahead of processing time. Default: no limit.
            An int is in microseconds.
        watermark: the source of the watermark: None (from outside), FixedLag, Inputs or
            StreamTime(per="all").

    Raises:
        SpecError: if a value breaks a rule. The message names it.

    >>> spec = DeduplicateOperator(keys=["event_id"], within="1 hour")
    >>> spec.emit, DeduplicateOperator(keys=["event_id"], within="1 hour", keep="last").emit
    ('at_once', 'complete')

    Source: semantics 45; Spark's dropDuplicatesWithinWatermark, Flink's deduplication.
    """

    family: ClassVar[Family] = DEDUPLICATE

    keys: tuple[str, ...]
    within: Duration | Literal["unlimited"]
    keep: Keep = "first"
    by: By = "arrival"
    emit: Emit = "at_once"
    event_time: str | None = "event_time"
    order: tuple[str, ...] = ()
    position: Position | None = None
    null_keys: bool = True
    max_future_skew: Duration | None = None
    watermark: Watermark | None = None

    def __init__(  # noqa: PLR0913 - each is a field
        self,
        *,
        keys: Iterable[str],
        within: DurationLike | Literal["unlimited"],
        keep: Keep = "first",
        by: By = "arrival",
        emit: Emit | None = None,
        event_time: str | None = "event_time",
        order: Iterable[str] = (),
        position: Position | None = None,
        null_keys: bool = True,
        max_future_skew: DurationLike | None = None,
        watermark: Watermark | None = None,
    ) -> None:
        values = dict(locals())
        del values["self"]
        for name in ("keys", "order"):
            values[name] = several(name, values[name])
        values["within"] = _within(within)
        values["emit"] = _default_emit(keep, by) if emit is None else emit
        values["max_future_skew"] = skew_of(max_future_skew)
        set_fields(self, **values)
        _check_choices(self)
        check_input(self, "a deduplication")
        _check_time(self)
        _check_emit(self)

    @property
    def within_us(self) -> int | None:
        """`within` in microseconds, None if it is unlimited."""
        return None if isinstance(self.within, str) else self.within.us

    @property
    def waits(self) -> bool:
        """Whether rows wait for the watermark, and are then taken in the order of event time."""
        return self.emit == "complete" and self.event_time is not None

    @property
    def keeps_what_it_takes_first(self) -> bool:
        """Whether the row that opens a group is its final chosen row. It is then emitted when it is taken."""
        return self.keep == "first" and (self.emit == "at_once" or (self.waits and self.by == "event_time"))


def _within(value: Any) -> Duration | Literal["unlimited"]:
    if value is None:
        rule = "within limits how long the state is stored, so it has no default"
        raise SpecError("within=None", rule, "give a duration, or within='unlimited'")
    return UNLIMITED if isinstance(value, str) and value == UNLIMITED else positive(value, "within")


def _default_emit(keep: Any, by: Any) -> Emit:
    return "at_once" if is_choice(keep, ("first",)) and is_choice(by, ("arrival",)) else "complete"


def _check_choices(spec: DeduplicateOperator) -> None:
    for name, choices in (("keep", Keep), ("by", By), ("emit", Emit)):
        check_choice(name, getattr(spec, name), get_args(choices))
    if not spec.keys:
        rule = "rows are duplicates if they are equal in the keys"
        raise SpecError("keys=()", rule, "name one column or more")


def _check_time(spec: DeduplicateOperator) -> None:
    if spec.event_time is not None:
        return
    if spec.within != UNLIMITED:
        rule, remedy = "within is a length of event time", "name the event time, or give 'unlimited'"
        raise SpecError(f"event_time=None, within={spec.within!r}", rule, remedy)
    if spec.by == "event_time":
        rule, remedy = "by='event_time' compares event times", "name the event time, or use by='arrival'"
        raise SpecError("event_time=None, by='event_time'", rule, remedy)


def _check_emit(spec: DeduplicateOperator) -> None:
    if spec.emit == "at_once" and (spec.keep, spec.by) != ("first", "arrival"):
        rule = "only the first row by arrival is certain to be chosen when it arrives (semantics 45.6)"
        problem = f"keep={spec.keep!r}, by={spec.by!r}, emit='at_once'"
        raise SpecError(problem, rule, "use emit='complete' or emit='retracting'")
    if spec.emit == "retracting" and (spec.keep, spec.by) == ("first", "arrival"):
        rule = "the first row by arrival is never replaced, so nothing is retracted"
        raise SpecError("keep='first', by='arrival', emit='retracting'", rule, "use emit='at_once'")
