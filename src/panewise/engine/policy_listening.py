"""The objects of a user's that are told of partitions' events; their attributes travel as JSON text (semantics 10.19)."""

from typing import Any

from panewise.spec import WindowEvent, WindowListener


class Listeners:
    """The listeners of the partitions of a step, by their numbers; `states` are their attributes."""

    def __init__(self, listener: WindowListener, states: dict[int, str]) -> None:
        self._listener = listener
        self._living: dict[int, Any] = {}
        self.states = states

    def tell(self, number: int, event: WindowEvent) -> list[dict[str, Any]]:
        """What a listener gives for an event.

        Raises:
            InputError: if it gives something else than its outputs, or has a state that is not JSON.
        """
        if number not in self._living:
            self._living[number] = self._listener.restored(self.states.get(number))
        rows = self._listener.told(self._living[number], event)
        self.states[number] = self._listener.state_of(self._living[number])
        return rows

    def end(self, number: int) -> None:
        """The partition is gone, and the listener with it."""
        self._living.pop(number, None)
        self.states.pop(number, None)
