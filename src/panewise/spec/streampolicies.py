"""Policies of S5's windows: what evicts tuples, what triggers, and which partitions go (semantics 10.2 to 10.5, 10.14). Values only."""

import math
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import ClassVar, TypeAlias

from panewise.chrono import Duration, DurationLike
from panewise.errors import SpecError
from panewise.spec.windows import positive

Amount: TypeAlias = int | float | Decimal


@dataclass(frozen=True)
class CountPolicy:
    """A number of tuples. Made by :func:`count`."""

    kind: ClassVar[str] = "count"
    n: int

    def __post_init__(self) -> None:
        _check_number("count", self.n, "tuples")


@dataclass(frozen=True)
class TimePolicy:
    """A length of processing time. Made by :func:`time`."""

    kind: ClassVar[str] = "time"
    duration: Duration

    def __post_init__(self) -> None:
        object.__setattr__(self, "duration", positive(self.duration, "duration"))


@dataclass(frozen=True)
class DeltaPolicy:
    """A difference of values of a column. Made by :func:`delta`."""

    kind: ClassVar[str] = "delta"
    column: str
    amount: Amount | Duration

    def __post_init__(self) -> None:
        _check_column("delta", self.column)
        amount = self.size
        if isinstance(amount, bool) or not isinstance(amount, (int, float, Decimal)) or not _is_finite(amount) or amount < 0:
            rule = "an amount is a number, 0 or more, or a duration"
            raise SpecError(f"delta({self.column!r}, {amount!r})", rule, "give one such as 5, 0.5, Decimal('0.05') or '1 minute'")

    @property
    def size(self) -> Amount:
        """The amount in the column's unit."""
        return self.amount.us if isinstance(self.amount, Duration) else self.amount


@dataclass(frozen=True)
class PunctPolicy:
    """Marker rows. Made by :func:`punct`."""

    kind: ClassVar[str] = "punct"
    column: str

    def __post_init__(self) -> None:
        _check_column("punct", self.column)


@dataclass(frozen=True)
class PartitionAge:
    """Partitions go that have had no tuple for so long. Made by :func:`partition_age`."""

    kind: ClassVar[str] = "partition_age"
    duration: Duration

    def __post_init__(self) -> None:
        object.__setattr__(self, "duration", positive(self.duration, "duration"))


@dataclass(frozen=True)
class PartitionCount:
    """Partitions go while there are more than so many. Made by :func:`partition_count`."""

    kind: ClassVar[str] = "partition_count"
    n: int

    def __post_init__(self) -> None:
        _check_number("partition_count", self.n, "partitions")


@dataclass(frozen=True)
class TupleCount:
    """Partitions go while they hold more than so many tuples. Made by :func:`tuple_count`."""

    kind: ClassVar[str] = "tuple_count"
    n: int

    def __post_init__(self) -> None:
        _check_number("tuple_count", self.n, "tuples")


Policy: TypeAlias = CountPolicy | TimePolicy | DeltaPolicy | PunctPolicy
PartitionEviction: TypeAlias = PartitionAge | PartitionCount | TupleCount


def count(n: int) -> CountPolicy:
    """A policy of so many tuples, 1 or more.

    >>> count(3)
    CountPolicy(n=3)

    Source: semantics 10.3; S5 count(n).
    """
    return CountPolicy(n)


def time(duration: DurationLike) -> TimePolicy:
    """A policy of so much processing time, above zero.

    >>> time("5 seconds").duration.us
    5000000

    Source: semantics 10.3; S5 time(s).
    """
    return TimePolicy(positive(duration, "duration"))


def delta(column: str, amount: Amount | str | timedelta | Duration) -> DeltaPolicy:
    """A policy of a difference: the value of a tuple less that of an earlier one, with its sign, is more than the amount.

    Over a timestamp this is a policy of event time, which gives the same whenever rows are replayed.

    Args:
        column: whole numbers, doubles, decimals or timestamps; a row without a value is invalid.
        amount: 0 or more, in the column's unit; of a timestamp microseconds, or a duration such as "5 minutes", which is refused where the
            column has doubles or decimals.

    >>> delta("age", 2)
    DeltaPolicy(column='age', amount=2)
    >>> delta("seen_at", "1 second").amount
    Duration('1 second')

    Source: semantics 10.4; S5 delta(attribute, size).
    """
    return DeltaPolicy(column, Duration.of(amount, "amount") if isinstance(amount, (str, timedelta)) else amount)


def punct(column: str) -> PunctPolicy:
    """A policy of markers: a row whose Boolean column is true is one. It is no tuple, and concerns every partition.

    >>> punct("is_marker")
    PunctPolicy(column='is_marker')

    Source: semantics 10.5; S5 punct().
    """
    return PunctPolicy(column)


def partition_age(duration: DurationLike) -> PartitionAge:
    """A partition goes when no tuple has come for so much processing time.

    >>> partition_age("10 minutes").duration
    Duration('10 minutes')

    Source: semantics 10.14; S5 partitionAge.
    """
    return PartitionAge(positive(duration, "duration"))


def partition_count(n: int) -> PartitionCount:
    """At most so many partitions: those go that have waited longest for a tuple.

    >>> partition_count(1000)
    PartitionCount(n=1000)

    Source: semantics 10.14; S5 partitionCount.
    """
    return PartitionCount(n)


def tuple_count(n: int) -> TupleCount:
    """At most so many tuples in all partitions together: those go that have waited longest for one.

    >>> tuple_count(1_000_000)
    TupleCount(n=1000000)

    Source: semantics 10.14; S5 tupleCount.
    """
    return TupleCount(n)


def policy_columns(*policies: Policy | None) -> tuple[str, ...]:
    """The columns that policies read, each once."""
    return tuple(dict.fromkeys(policy.column for policy in policies if isinstance(policy, (DeltaPolicy, PunctPolicy))))


def _check_number(name: str, n: object, what: str) -> None:
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise SpecError(f"{name}({n!r})", f"{name} is a whole number of {what}, one or more", f"give {name}(1) or more")


def _is_finite(amount: Amount) -> bool:
    """Asked before a comparison: a decimal that is no number cannot be compared."""
    return amount.is_finite() if isinstance(amount, Decimal) else isinstance(amount, int) or math.isfinite(amount)


def _check_column(name: str, column: object) -> None:
    if not isinstance(column, str) or not column:
        raise SpecError(f"{name}({column!r})", f"{name} reads a column by its name", "give a non-empty string")
