"""The object of a user's that is told of a partition's events (semantics 10.19)."""

import json
from typing import Any

from panewise.errors import InputError
from panewise.oracle.columns import as_type, fits
from panewise.spec.streamlistener import WindowEvent, WindowListener


class Listening:
    """A listener and its state, which is kept as JSON text between events."""

    def __init__(self, listener: WindowListener) -> None:
        self._listener = listener
        self._state: str | None = None

    def told(self, event: str, partition: dict[str, Any], tuples: list[dict[str, Any]], now: int) -> list[dict[str, Any]]:
        """What the listener gives for an event, with all its outputs.

        Raises:
            InputError: if it gives something else than its outputs, or has a state that is not JSON.
        """
        made = self._listener.make()
        if self._state is not None:
            vars(made).clear()
            vars(made).update(json.loads(self._state))
        given = made.handle(WindowEvent(event, dict(partition), tuple(dict(one) for one in tuples), now))
        rows = [self._checked(row) for row in given or ()]
        self._state = self._as_text(vars(made))
        return rows

    def _checked(self, row: Any) -> dict[str, Any]:
        outputs = dict(self._listener.outputs)
        if not isinstance(row, dict) or not set(row) <= set(outputs) or not all(fits(row[name], outputs[name]) for name in row):
            rule = f"what {self._listener.name} gives are dicts of its outputs {outputs}"
            raise InputError(f"{self._listener.name} gave {row!r}", rule, "give such dicts, or change outputs")
        return {name: as_type(row.get(name), kind) for name, kind in outputs.items()}

    def _as_text(self, state: dict[str, Any]) -> str:
        try:
            text = json.dumps(state)
            if json.loads(text) == state:
                return text
        except (TypeError, ValueError):
            pass
        rule = "the attributes of a listener are its state, and are JSON values"
        raise InputError(f"the state {state!r} of {self._listener.name}", rule, "use numbers, strings, lists and dicts with string keys")
