"""What the fluent APIs of joins and cogroups have in common: two inputs, and the fields of each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Self

from pyspark.sql import DataFrame

from panewise.chrono import DurationLike
from panewise.errors import SpecError
from panewise.spark.builders.builder import Builder, ColumnLike, check_unset
from panewise.spark.builders.upstream_inputs import Source, default_time
from panewise.spark.inputs.checks import watermark_columns
from panewise.spec import FixedLag, Position, StreamTime
from panewise.spec.column_expressions import name_of
from panewise.spec.operators.join.columns import LEFT, RIGHT, SIDES

OF_EACH_SIDE: Final = frozenset({"null_keys", "max_future_skew"})  # the options that each side has


def inputs_of_sides(
    function: str,
    what: str,
    left: Source,
    right: Source,
    event_time: ColumnLike | tuple[ColumnLike | None, ColumnLike | None] | None,
) -> tuple[dict[str, Source], dict[str, Mapping[str, Any]]]:
    """Returns the inputs by side, and the column of the event time of each.

    `function` is what the user has called, and `what` the operator, for errors. None in a pair says that the
    side has no event time.
    """
    inputs = {LEFT: left, RIGHT: right}
    for side, df in inputs.items():
        source: Any = df
        if not isinstance(source, Source):
            rule = f"the sides of {what} are DataFrames, or results of operators"
            raise SpecError(f"{function}({side}=...), of {type(source).__name__}", rule, "give a DataFrame")
    times = _pair(event_time, "event_time") if event_time is not None else map(_watermarked, inputs.values())
    names = (None if time is None else name_of(time) for time in times)
    return inputs, {side: {"event_time": name} for side, name in zip(SIDES, names, strict=True)}


@dataclass(frozen=True)
class SidesBuilder(Builder):
    """The description of an operator over two DataFrames. Every method returns a new description.

    Attributes:
        sides: the fields of each side that were set.
    """

    sides: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def on(self, *columns: ColumnLike | tuple[ColumnLike, ColumnLike]) -> Self:
        """Sets the key columns, which are equal in partners. Without keys all rows have equal keys.

        Args:
            columns: none, one or several names or Columns, one by one or as a list, as in PySpark. A pair has
                the column of the left side and that of the right side, if their names differ.

        Example::

            joined(orders, shipments).on("shop", ("id", "order_id"))
        """
        items: Any = columns[0] if len(columns) == 1 and isinstance(columns[0], list) else columns
        pairs = [tuple(map(name_of, _pair(item, "on"))) for item in items]
        left, right = zip(*pairs, strict=True) if pairs else ((), ())
        check_unset("on", self.sides[LEFT].get("keys"), tuple(pairs))
        return self._of_sides(keys=(left, right))

    def order_by(self, *, left: str | Sequence[str] = (), right: str | Sequence[str] = ()) -> Self:
        """Sets the columns that define the arrival order of the rows of each side within a micro-batch.

        Default: the event time. If both sides have them, as many and of the same types, they define the order
        across the sides, too. If one side alone has them, and an aggregate of both sides, a match by arrival
        or `evaluate="record"` needs that order, results depend on the number of shards (semantics 36.6).
        """
        columns = ((names,) if isinstance(names, str) else tuple(names) for names in (left, right))
        by_side = dict(zip(SIDES, (names or None for names in columns), strict=True))
        for side, named in by_side.items():
            if named is not None:
                check_unset(f"order_by {side}", self.sides[side].get("order"), named)
        return self._of_sides(order=tuple(by_side.values()))

    def position(self, *, left: Position | None = None, right: Position | None = None) -> Self:
        """Sets the columns of the source position of each side, by which replays are recognised."""
        return self._of_sides(position=(left, right))

    def watermark(
        self,
        both: StreamTime | None = None,
        *,
        left: StreamTime | FixedLag | None = None,
        right: StreamTime | FixedLag | None = None,
    ) -> Self:
        """Sets the source of the watermarks, if that is not `withWatermark` on each side.

        Args:
            both: StreamTime(delay, per="all"): one watermark, from the rows of both sides.
            left: the watermark of the left side: StreamTime(delay, per="all") or FixedLag.
            right: that of the right side.
        """
        described = self if both is None else self._with(watermark=both)
        return described._of_sides(watermark=(left, right))

    def idle_after(self, silence: DurationLike) -> Self:
        """Sets after which silence, in processing time, a side does not delay the other one.

        The watermark of such a side follows that of the other side. With :meth:`clock` that takes effect even
        while both sides are silent. An int is in microseconds.
        """
        return self._with(idle_after=silence)

    def options(self, **fields: Any) -> Self:
        """Sets other fields of the specification; `null_keys` and `max_future_skew` of both sides, or a pair.

        Raises:
            SpecError: for any other name, and a tuple that is no pair.
        """
        of_sides = {name: _pair(fields.pop(name), name) for name in OF_EACH_SIDE & fields.keys()}
        return super().options(**fields)._of_sides(**of_sides)

    def _of_sides(self, **pairs: tuple[Any, ...]) -> Self:
        """Returns the description with other fields of the sides.

        Each has a value for left and right. None keeps what was set.
        """
        sides = {side: dict(self.sides[side]) for side in SIDES}
        for name, pair in pairs.items():
            for side, value in zip(SIDES, pair, strict=True):
                if value is not None:
                    sides[side][name] = value
        return replace(self, sides=sides)


def _pair(value: Any, name: str) -> tuple[Any, Any]:
    """Returns the values for the left and the right side: those of a pair, else one value for both."""
    if not isinstance(value, (tuple, list)):
        return value, value
    if len(value) != 2:
        rule = "a tuple has a value for the left side and one for the right side"
        raise SpecError(f"{name}={value!r}", rule, "give one value for both sides, or a pair")
    return value[0], value[1]


def _watermarked(df: Source) -> str:
    """Returns the column that has the watermark of an input, "event_time" if there is none or several."""
    if not isinstance(df, DataFrame):
        return default_time(df) or "event_time"
    columns = watermark_columns(df)
    return columns[0] if len(columns) == 1 else "event_time"
