"""A partition of windows by policies, and its tuples."""

from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any

from panewise.oracle.listening import Listening
from panewise.spec.streampolicies import DeltaPolicy


@dataclass
class Tuple:
    """A row in a window: what is shown of it, all that is known of it, and when it came."""

    shown: dict[str, Any]
    values: dict[str, Any]
    arrived: int


@dataclass
class Partition:
    """What is known of a partition.

    acted: when its time policy last acted, or when it began.
    fed: when its last tuple came.
    untriggered: insertions since the last trigger by count.
    reference: the tuple that the trigger by delta compares with.
    full: whether INITIAL_FULL has been.
    changed: whether anything came or went since the last trigger.
    """

    key: tuple[Any, ...]
    acted: int
    fed: int = 0
    tuples: list[Tuple] = field(default_factory=list)
    untriggered: int = 0
    reference: Tuple | None = None
    full: bool = False
    changed: bool = False
    listening: Listening | None = None

    def first_while(self, test: Callable[[Tuple], bool]) -> list[Tuple]:
        """The oldest tuples, up to the first that fails the test."""
        found = []
        for one in self.tuples:
            if not test(one):
                break
            found.append(one)
        return found


def exceeds(policy: DeltaPolicy, new: Tuple, old: Tuple) -> bool:
    """Whether a tuple's value less that of an older one is more than the amount (semantics 10.4)."""
    one, other = new.values[policy.column], old.values[policy.column]
    if isinstance(one, Decimal):
        return Fraction(one) - Fraction(other) > Fraction(policy.size)
    return bool(one - other > policy.size)
