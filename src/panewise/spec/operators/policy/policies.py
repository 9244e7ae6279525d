"""Policies of policy windows, as values (semantics 10.2 to 10.5, 10.14).

There are policies for the eviction of tuples, for triggers, and for the eviction of partitions.
"""

import math
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import ClassVar, TypeAlias

from panewise.chrono import Duration, DurationLike
from panewise.errors import SpecError
from panewise.spec.fields import is_count, is_name, set_fields
from panewise.spec.windows.kinds import positive

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
    _clock_fields: ClassVar[tuple[str, ...]] = ("duration",)
    duration: Duration

    def __post_init__(self) -> None:
        set_fields(self, duration=positive(self.duration, "duration"))


@dataclass(frozen=True)
class DeltaPolicy:
    """A difference of values of a column. Made by :func:`delta`."""

    kind: ClassVar[str] = "delta"
    column: str
    amount: Amount | Duration

    def __post_init__(self) -> None:
        _check_column("delta", self.column)
        amount = self.size
        if (
            isinstance(amount, bool)
            or not isinstance(amount, (int, float, Decimal))
            or not _is_finite(amount)
            or amount < 0
        ):
            rule = "an amount is a number, 0 or more, or a duration"
            raise SpecError(
                f"delta({self.column!r}, {amount!r})",
                rule,
                "give one such as 5, 0.5, Decimal('0.05') or '1 minute'",
            )

    @property
    def size(self) -> Amount:
        """The amount in the column's unit; a duration in microseconds."""
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
    """Evicts partitions that have received no tuple for a duration. Made by :func:`partition_age`."""

    kind: ClassVar[str] = "partition_age"
    _clock_fields: ClassVar[tuple[str, ...]] = ("duration",)
    duration: Duration

    def __post_init__(self) -> None:
        set_fields(self, duration=positive(self.duration, "duration"))


@dataclass(frozen=True)
class PartitionCount:
    """Evicts partitions while there are more than n. Made by :func:`partition_count`."""

    kind: ClassVar[str] = "partition_count"
    n: int

    def __post_init__(self) -> None:
        _check_number("partition_count", self.n, "partitions")


@dataclass(frozen=True)
class TupleCount:
    """Evicts partitions while all of them together have more than n tuples. Made by :func:`tuple_count`."""

    kind: ClassVar[str] = "tuple_count"
    n: int

    def __post_init__(self) -> None:
        _check_number("tuple_count", self.n, "tuples")


Policy: TypeAlias = CountPolicy | TimePolicy | DeltaPolicy | PunctPolicy
PartitionEviction: TypeAlias = PartitionAge | PartitionCount | TupleCount


def count(n: int) -> CountPolicy:
    """Returns a policy of a number of tuples, 1 or more.

    As an eviction policy it is the size of the window. As a trigger policy it is the number of insertions
    from one TRIGGER to the next.

    >>> count(3)
    CountPolicy(n=3)

    Source: semantics 10.3; S5 count(n).
    """
    return CountPolicy(n)


def time(duration: DurationLike) -> TimePolicy:
    """Returns a policy of a length of processing time, above zero. An int is in microseconds.

    A sliding window evicts tuples that have been in it for more than the duration. Tumbling eviction and
    triggers act when the duration has passed since they last acted, with or without tuples.

    >>> time("5 seconds").duration.us
    5000000

    Source: semantics 10.3; S5 time(s).
    """
    return TimePolicy(positive(duration, "duration"))


def delta(column: str, amount: Amount | str | timedelta | Duration) -> DeltaPolicy:
    """Returns a policy that acts when a value exceeds that of an earlier tuple by more than the amount.

    The difference has a sign, so falling values cause nothing. Over a timestamp this is a policy of event
    time, so the result does not depend on the processing time at which rows arrive.

    Args:
        column: a column of whole numbers, doubles, decimals or timestamps. A row without a value is invalid.
        amount: 0 or more, in the unit of the column. For timestamps it is a number of microseconds, or a
            duration such as "5 minutes". A duration is also allowed for whole numbers, which are then
            microseconds. It is refused for doubles and decimals.

    Raises:
        SpecError: for an empty column name; for an amount that is negative, not finite or not a number.

    >>> delta("age", 2)
    DeltaPolicy(column='age', amount=2)
    >>> delta("seen_at", "1 second").amount
    Duration('1 second')

    Source: semantics 10.4; S5 delta(attribute, size).
    """
    return DeltaPolicy(
        column, Duration.of(amount, "amount") if isinstance(amount, (str, timedelta)) else amount
    )


def punct(column: str) -> PunctPolicy:
    """Returns a policy that evicts at markers: rows whose Boolean column is true.

    A marker is not a tuple. It causes an eviction in every existing partition. Only tumbling windows accept
    this policy.

    >>> punct("is_marker")
    PunctPolicy(column='is_marker')

    Source: semantics 10.5; S5 punct().
    """
    return PunctPolicy(column)


def partition_age(duration: DurationLike) -> PartitionAge:
    """Returns a policy that evicts a partition when it has received no tuple for a length of processing time.

    The duration is above zero. An int is in microseconds.

    >>> partition_age("10 minutes").duration
    Duration('10 minutes')

    Source: semantics 10.14; S5 partitionAge.
    """
    return PartitionAge(positive(duration, "duration"))


def partition_count(n: int) -> PartitionCount:
    """Returns a policy that keeps at most n partitions, and evicts those with the least recent insertions.

    n is 1 or more.

    >>> partition_count(1000)
    PartitionCount(n=1000)

    Source: semantics 10.14; S5 partitionCount.
    """
    return PartitionCount(n)


def tuple_count(n: int) -> TupleCount:
    """Returns a policy that keeps at most n tuples in all partitions together.

    It evicts the partitions with the least recent insertions. n is 1 or more.

    >>> tuple_count(1_000_000)
    TupleCount(n=1000000)

    Source: semantics 10.14; S5 tupleCount.
    """
    return TupleCount(n)


def policy_columns(*policies: Policy | None) -> tuple[str, ...]:
    """Returns the columns that policies read, each once."""
    return tuple(
        dict.fromkeys(policy.column for policy in policies if isinstance(policy, (DeltaPolicy, PunctPolicy)))
    )


def _check_number(name: str, n: object, what: str) -> None:
    if not is_count(n):
        raise SpecError(
            f"{name}({n!r})", f"{name} is a whole number of {what}, one or more", f"give {name}(1) or more"
        )


def _is_finite(amount: Amount) -> bool:
    """Returns whether an amount is finite. Call it before a comparison, which fails for a decimal NaN."""
    return (
        amount.is_finite()
        if isinstance(amount, Decimal)
        else isinstance(amount, int) or math.isfinite(amount)
    )


def _check_column(name: str, column: object) -> None:
    if not is_name(column):
        raise SpecError(
            f"{name}({column!r})", f"{name} reads a column by its name", "give a non-empty string"
        )
