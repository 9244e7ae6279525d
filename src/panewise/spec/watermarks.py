"""Watermarks that do not come from outside, as values (semantics 12.4 to 12.10)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

from panewise.choices import check_choice
from panewise.chrono import Duration, DurationLike
from panewise.errors import SpecError
from panewise.spec.fields import check_columns, is_name, not_negative, set_fields
from panewise.spec.windows.kinds import positive


@dataclass(frozen=True, init=False)
class FixedLag:
    """A watermark that follows processing time at a fixed distance, whatever the event times are.

    A watermark from outside counts, too: the larger one wins.

    Args:
        lag: how far the watermark is behind processing time, 0 or more. An int is in microseconds.

    Raises:
        SpecError: for a negative lag.

    >>> FixedLag("10 seconds")
    FixedLag(lag=Duration('10 seconds'))

    Source: semantics 12.4; S4 setFixedWatermark, FixedDiffProcessingTimeWatermarkGen.
    """

    kind: ClassVar[str] = "fixed_lag"
    lag: Duration

    def __init__(self, lag: DurationLike) -> None:
        set_fields(self, lag=not_negative(lag, "lag"))


@dataclass(frozen=True, init=False)
class Inputs:
    """A watermark that is the least of the watermarks of several inputs. Idle inputs can be left out.

    There are two ways to report the watermark of an input:

    - Without `column` it comes from outside, as in `{"op": "watermark", "to": t, "input": "orders"}`. This is
      not possible on Spark.
    - With `column` rows drive it. After each batch with valid rows of an input, the input reports the highest
      event time of these rows, less the delay. With evaluate="record" it does so after each row.

    Args:
        names: the names of two inputs or more; with `column` also of one. If all rows are of one input,
            StreamTime(per="all") needs no column.
        idle_after: a length of processing time, above zero. An input that has reported no watermark for this
            long is left out until it reports one. Default: no input is left out. An int is in microseconds.
        column: the column, of strings, that names the input of a row. A row that names none of `names` is
            invalid.
        delay: how far the watermark of an input is behind its rows, 0 or more. One for all, or a mapping with
            one for each name. Only with `column`. Default: 0. An int is in microseconds.

    Raises:
        SpecError: for too few names or equal ones, for a delay without `column`, for a mapping whose keys are
            not `names`, and for other values that are not valid.

    >>> Inputs(["orders", "payments"], idle_after="1 minute", column="source",
    ...     delay={"orders": 0, "payments": "10 seconds"})
    Inputs(names=('orders', 'payments'), idle_after=Duration('1 minute'), column='source', \
delay=(('orders', Duration('0 seconds')), ('payments', Duration('10 seconds'))))

    Source: semantics 12.5, 12.6, 12.9; S4 WindowedMergeOperator, Flink withIdleness.
    """

    kind: ClassVar[str] = "inputs"
    _clock_fields: ClassVar[tuple[str, ...]] = ("idle_after",)
    moves_while_idle: ClassVar[bool] = False
    names: tuple[str, ...]
    idle_after: Duration | None
    column: str | None
    delay: Duration | tuple[tuple[str, Duration], ...] | None

    def __init__(
        self,
        names: Iterable[str],
        idle_after: DurationLike | None = None,
        column: str | None = None,
        delay: DurationLike | Mapping[str, DurationLike] | None = None,
    ) -> None:
        inputs = tuple(names) if isinstance(names, Iterable) and not isinstance(names, str) else ()
        least = 2 if column is None else 1
        if not all(map(is_name, inputs)) or len(set(inputs)) < max(least, len(inputs)):
            rule = "inputs are two or more (with a column one or more), with different names"
            raise SpecError(f"names={list(inputs) or names!r}", rule, "give a list: Inputs(['a', 'b'])")
        idle = None if idle_after is None else positive(idle_after, "idle_after")
        check_columns(() if column is None else (column,))
        set_fields(self, names=inputs, idle_after=idle, column=column, delay=_delays(inputs, column, delay))

    def delay_of(self, name: str) -> int:
        """Returns how far the watermark of an input is behind its rows, in microseconds."""
        delay = dict(self.delay).get(name) if isinstance(self.delay, tuple) else self.delay
        return 0 if delay is None else delay.us


def _delays(names: tuple[str, ...], column: str | None, delay: Any) -> Any:
    """Returns the delay as it is stored: one Duration, or a (name, Duration) pair for each name in order."""
    if column is None:
        if delay is not None:
            rule = (
                "a delay is for watermarks driven by rows, and these need the column that "
                "names the input of a row"
            )
            remedy = "give column='...', or leave delay out"
            raise SpecError(f"delay={delay!r} without a column", rule, remedy)
        return None
    if not isinstance(delay, (Mapping, tuple)):
        return not_negative(0 if delay is None else delay, "delay")
    pairs = delay.items() if isinstance(delay, Mapping) else delay  # pairs: the stored form
    each = dict(pair if isinstance(pair, tuple) and len(pair) == 2 else (pair, None) for pair in pairs)
    if set(each) != set(names):
        rule = f"a mapping has a delay for each of the inputs {list(names)}"
        raise SpecError(f"delay={each!r}", rule, "name all of them, and no others, or give one delay")
    return tuple((name, not_negative(each[name], "delay")) for name in names)


@dataclass(frozen=True, init=False)
class StreamTime:
    """A watermark, of each key or of all keys: the highest event time of the rows so far, less a delay.

    Args:
        delay: how far the watermark is behind that event time, 0 or more. Default: 0.
            An int is in microseconds.
        per: "key", the default: each key has its own watermark, so no key makes rows of another key late. The
            windows and the watermark of a key that falls silent are stored until the end of input. "all": one
            watermark for all keys, as in a task of Kafka Streams, or with Flink's bounded out-of-orderness.
            With evaluate="record" there is then one shard.
        idle_after: a length of processing time, above zero. Once there has been no valid row for this long,
            the watermark moves on with the clock, as if event time went on since the last row. So the last
            windows complete without further rows. Only with per="all". Default: only rows move the watermark.
            An int is in microseconds.

    Raises:
        SpecError: for a negative delay, for another value of `per`, and for `idle_after` with per="key".

    >>> StreamTime("10 seconds")
    StreamTime(delay=Duration('10 seconds'), per='key', idle_after=None)
    >>> StreamTime(per="all", idle_after="5 minutes")
    StreamTime(delay=Duration('0 seconds'), per='all', idle_after=Duration('5 minutes'))

    Source: semantics 12.8, 12.10, 12.12; S2 and Kafka Streams' stream time, with its grace period; the
    EventClock of Bytewax.
    """

    kind: ClassVar[str] = "stream_time"
    names: ClassVar[tuple[str, ...]] = ("all",)  # per="all" is Inputs with one input that has all rows
    column: ClassVar[None] = None
    moves_while_idle: ClassVar[bool] = True
    delay: Duration
    per: Literal["key", "all"]
    idle_after: Duration | None = None

    def __init__(
        self,
        delay: DurationLike = 0,
        per: Literal["key", "all"] = "key",
        idle_after: DurationLike | None = None,
    ) -> None:
        idle = None if idle_after is None else positive(idle_after, "idle_after")
        set_fields(self, delay=not_negative(delay, "delay"), per=per, idle_after=idle)
        check_choice("per", per, ("key", "all"))
        if idle is not None and per == "key":
            rule = "a stream is idle as a whole: keys may fall silent at any time"
            raise SpecError(f"idle_after={str(idle)!r} with per='key'", rule, "give per='all'")

    def delay_of(self, name: str) -> int:
        """Returns how far the watermark is behind the rows, in microseconds, whatever the name."""
        return self.delay.us


Watermark: TypeAlias = FixedLag | StreamTime | Inputs
RowInputs: TypeAlias = StreamTime | Inputs


def row_driven(watermark: Watermark | None) -> RowInputs | None:
    """Returns the watermark if rows drive one watermark for all keys, else None (semantics 12.9, 12.10).

    >>> row_driven(Inputs(["a", "b"])), row_driven(Inputs(["a", "b"], column="source")).column
    (None, 'source')
    >>> row_driven(StreamTime()), row_driven(StreamTime(per="all")).names
    (None, ('all',))
    """
    if isinstance(watermark, StreamTime):
        return None if watermark.per == "key" else watermark
    return watermark if isinstance(watermark, Inputs) and watermark.column is not None else None


def follows_clock(watermark: Any) -> bool:
    """Returns whether reading the clock can move the watermark to any instant (semantics 12.4, 12.12).

    >>> follows_clock(FixedLag(0)), follows_clock(StreamTime(per="all"))
    (True, False)
    >>> follows_clock(StreamTime(per="all", idle_after=5))
    True
    """
    return isinstance(watermark, FixedLag) or (
        isinstance(watermark, StreamTime) and watermark.idle_after is not None
    )


def has_key_watermarks(watermark: Watermark | None) -> bool:
    """Returns whether each key has its own watermark, driven by its rows (semantics 12.8).

    >>> has_key_watermarks(StreamTime()), has_key_watermarks(StreamTime(per="all"))
    (True, False)
    """
    return isinstance(watermark, StreamTime) and watermark.per == "key"


def input_columns(watermark: Watermark | None) -> tuple[str, ...]:
    """Returns the column that names the input of a row, as a tuple; empty if there is none."""
    return (watermark.column,) if isinstance(watermark, Inputs) and watermark.column is not None else ()


def check_input_column(watermark: Watermark | None, event_time: str | None) -> None:
    """Checks that the event time is not also the column that names the inputs of rows."""
    if event_time in input_columns(watermark):
        rule = "the column that names the input of a row contains strings, and the event time is a timestamp"
        remedy = "give the column that names the input"
        raise SpecError(f"Inputs(column={event_time!r}), event_time={event_time!r}", rule, remedy)
