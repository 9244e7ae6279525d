"""The objects of a user's that are told of partitions' events; their attributes travel as JSON text (semantics 10.19)."""

import json
from typing import Any

from panewise.errors import InputError
from panewise.spec import WindowEvent, WindowListener

_WHOLE = range(-(2**63), 2**63)


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
            self._living[number] = self._made(self.states.get(number))
        rows = [self._checked(row) for row in self._living[number].handle(event) or ()]
        self.states[number] = self._as_text(vars(self._living[number]))
        return rows

    def end(self, number: int) -> None:
        """The partition is gone, and the listener with it."""
        self._living.pop(number, None)
        self.states.pop(number, None)

    def _made(self, state: str | None) -> Any:
        """The object, as it was."""
        made = self._listener.make()
        if state is not None:
            vars(made).clear()
            vars(made).update(json.loads(state))
        return made

    def _checked(self, row: Any) -> dict[str, Any]:
        outputs = dict(self._listener.outputs)
        if not isinstance(row, dict) or not set(row) <= set(outputs) or not all(_fits(row[name], outputs[name]) for name in row):
            rule = f"what {self._listener.name} gives are dicts of its outputs {outputs}"
            raise InputError(f"{self._listener.name} gave {row!r}", rule, "give such dicts, or change outputs")
        return row

    def _as_text(self, state: dict[str, Any]) -> str:
        try:
            text = json.dumps(state)
            if json.loads(text) == state:
                return text
        except (TypeError, ValueError):
            pass
        rule = "the attributes of a listener are its state, and are JSON values"
        given = f"the state {state!r} of {self._listener.name}"
        raise InputError(given, rule, "use numbers, strings, lists and dicts with string keys")


def _fits(value: Any, kind: str) -> bool:
    """Whether a value is one of the type; null is one of every type."""
    if value is None:
        return True
    if kind in ("string", "boolean"):
        return isinstance(value, str if kind == "string" else bool)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return kind == "double" or (isinstance(value, int) and value in _WHOLE)
