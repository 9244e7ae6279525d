"""The user's listener object of one partition of a policy window (semantics 10.19)."""

from typing import Any

from panewise.oracle.columns import as_type
from panewise.spec.operators.policy.events import Evictions, WindowEvent
from panewise.spec.operators.policy.listener import WindowListener


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
        made = self._listener.restored(self._state)
        rows = self._listener.notify(
            made, WindowEvent(event, dict(partition), tuple(dict(one) for one in tuples), now, evictions)
        )
        self._state = self._listener.state_of(made)
        return [{name: as_type(row.get(name), kind) for name, kind in self._listener.outputs} for row in rows]
