"""The fields and checks of operators that emit the rows of their input, and of sides of joins."""

from typing import Any, ClassVar, Literal, Self

from panewise.choices import check_choice
from panewise.errors import SpecError
from panewise.families import INPUT
from panewise.spec.fields import check_columns, check_once, refuse_fields
from panewise.spec.protocol import Shown
from panewise.spec.source_position import Position, check_position
from panewise.spec.watermarks import Watermark, check_input_column, has_key_watermarks, input_columns


class InputFields:
    """The fields that say what an operator without windows, or a side, reads of its rows.

    Attributes:
        keys: the columns of the key.
        event_time: the column of the event time, None if there is none.
        order: columns that define the arrival order within a batch.
        position: the columns of the source position.
        null_keys: whether null and NaN are keys like any other value.
        watermark: where the watermark comes from, None for outside.
    """

    window: ClassVar[None] = None

    keys: tuple[str, ...]
    event_time: str | None
    order: tuple[str, ...]
    position: Position | None
    null_keys: bool
    watermark: Watermark | None

    @property
    def time(self) -> Literal["event", "processing"]:
        """The clock: "event", or "processing" if there is no event time."""
        return "processing" if self.event_time is None else "event"

    @property
    def time_columns(self) -> tuple[str, ...]:
        """The column of the event time, if there is one."""
        return () if self.event_time is None else (self.event_time,)

    @property
    def columns_read(self) -> tuple[str, ...]:
        """The columns that are read by name, each once."""
        position = self.position.columns if self.position else ()
        inputs = input_columns(self.watermark)
        return tuple(dict.fromkeys((*self.keys, *self.time_columns, *self.order, *position, *inputs)))


class RowOperator(InputFields, Shown):
    """An operator that emits each row of its input once, or none, with all its columns."""

    whole_rows: ClassVar[bool] = True

    @property
    def ports(self) -> dict[str, Self]:
        """The input port."""
        return {INPUT: self}


def check_input(spec: RowOperator, what: str) -> None:
    """Checks the fields that say what is read of the input. `what` names the operator."""
    watermark: Any = spec.watermark
    check_choice("null_keys", spec.null_keys, (True, False))
    if watermark is not None and (not isinstance(watermark, Watermark) or has_key_watermarks(watermark)):
        rule = f"the watermark of {what} comes from outside, or is FixedLag, Inputs or StreamTime(per='all')"
        remedy = "give one such as FixedLag('10 seconds'), or leave it out"
        raise SpecError(f"watermark={watermark!r}", rule, remedy)
    check_columns((*spec.keys, *spec.order, *spec.time_columns))
    check_once(spec.keys)
    check_position(spec.position, spec.order)
    if spec.event_time is None:
        rule, names = "max_future_skew and watermark need an event time", ("max_future_skew", "watermark")
        refused = {name: (getattr(spec, name) is not None, rule) for name in names}
        refuse_fields(spec, refused, "leave {name} out, or name the event time", before="event_time=None, ")
    check_input_column(spec.watermark, spec.event_time)
