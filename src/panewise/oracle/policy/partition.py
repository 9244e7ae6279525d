"""A partition of a policy window, its tuples, and which rows are tuples (semantics 10)."""

from dataclasses import dataclass, field
from typing import Any

from panewise.oracle.columns import as_type
from panewise.oracle.rows import Row, invalid_delta_reason, invalid_key_reason
from panewise.spec import StreamWindow
from panewise.spec.operators.policy.events import Evictions, WindowEvent
from panewise.spec.operators.policy.listener import WindowListener
from panewise.spec.operators.policy.policies import DeltaPolicy, PunctPolicy


class PartitionListener:
    """A listener and its state, which is stored as JSON text between events."""

    def __init__(self, listener: WindowListener) -> None:
        self._listener = listener
        self._state: str | None = None

    def notify(
        self,
        event: str,
        partition: dict[str, Any],
        tuples: list[dict[str, Any]],
        now: int,
        evictions: Evictions,
    ) -> list[dict[str, Any]]:
        """Calls the listener with an event; returns its rows, each with all outputs.

        `evictions` records the evictions that the listener requests (semantics 10.26).

        Raises:
            InputError: if the listener returns anything but rows of its outputs, or its state is not JSON.
        """
        listening = self._listener.restored(self._state)
        raised = WindowEvent(event, dict(partition), tuple(map(dict, tuples)), now, evictions)
        rows = self._listener.notify(listening, raised)
        self._state = self._listener.state_of(listening)
        return [{name: as_type(row.get(name), kind) for name, kind in self._listener.outputs} for row in rows]


@dataclass
class Tuple:
    """A row in a window.

    Attributes:
        columns: the columns that events contain (semantics 10.16).
        values: all columns that are read.
        arrived: the processing time at which the row arrived.
    """

    columns: dict[str, Any]
    values: dict[str, Any]
    arrived: int


@dataclass
class Partition:
    """The state of a partition.

    Attributes:
        key: the values of the columns of `partition_by`.
        acted: when its time policy last acted, or when the partition began (F of semantics 10.10).
        fed: when its last tuple arrived (A of semantics 10.14).
        tuples: its tuples, in arrival order.
        untriggered: the number of insertions since the last TRIGGER by `count`.
        reference: the tuple that a trigger by `delta` compares with (semantics 10.8).
        full: whether INITIAL_FULL has occurred.
        changed: whether there was an insertion or an eviction since the last TRIGGER (semantics 10.18).
        listener: its listener object, once an event has called it.
    """

    key: tuple[Any, ...]
    acted: int
    fed: int = 0
    tuples: list[Tuple] = field(default_factory=list)
    untriggered: int = 0
    reference: Tuple | None = None
    full: bool = False
    changed: bool = False
    listener: PartitionListener | None = None


def is_marker(spec: StreamWindow, row: Row) -> bool:
    """Returns whether the row is a marker; null is not true (semantics 10.5)."""
    return isinstance(spec.evict, PunctPolicy) and row.values[spec.evict.column] is True


def invalid_tuple_reason(spec: StreamWindow, row: Row) -> str | None:
    """Returns the reason why a row that passed all other tests is invalid as a tuple.

    Tests the keys and the values of `delta` columns (semantics 10.1, 10.4). Returns None for a marker and
    for a valid row.
    """
    if is_marker(spec, row):
        return None
    deltas = [policy.column for policy in (spec.evict, spec.trigger) if isinstance(policy, DeltaPolicy)]
    return invalid_key_reason(spec, row.values) or invalid_delta_reason(deltas, row)
