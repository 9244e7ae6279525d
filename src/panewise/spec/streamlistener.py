"""Listeners: objects of the user that are told of a window's events, and what is asked of them (semantics 10.19)."""

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

from panewise.errors import InputError, SpecError
from panewise.spec.streamevent import WindowEvent
from panewise.spec.useraggregate import ResultType

RESULT_TYPES: tuple[str, ...] = get_args(ResultType)
_WHOLE = range(-(2**63), 2**63)


@dataclass(frozen=True, init=False)
class WindowListener:
    """What is made of a window's events: an object of your own for each partition.

    Args:
        make: gives the object, mostly its class. It has a method `handle(event)` that takes a :class:`WindowEvent` and gives dicts of
            outputs; the event can be asked to let partitions go. The object's attributes are its state, and are JSON values: null,
            true, false, numbers, strings, lists, dicts with string keys.
        name: the name by which JSON and checkpoints refer to it. Another listener under the same name is not noticed.
        outputs: the columns of what it gives, and their types: "bigint", "double", "string" or "boolean".

    >>> class Highest:
    ...     def __init__(self):
    ...         self.seen = None
    ...
    ...     def handle(self, event):
    ...         best = max((row["v"] for row in event.tuples), default=None)
    ...         if best is not None and (self.seen is None or best > self.seen):
    ...             self.seen = best
    ...             yield {"highest": best}
    >>> from panewise.streamwindow import StreamWindow, count
    >>> from panewise.testing import run
    >>> highest = WindowListener(Highest, name="highest", outputs={"highest": "bigint"})
    >>> spec = StreamWindow.sliding(count(2), listener=highest, events=["INSERTION"])
    >>> output = run(spec, [{"op": "add", "rows": [{"v": 3}, {"v": 1}, {"v": 5}]}])[0]
    >>> [pane["highest"] for pane in output["panes"]]
    [3, 5]

    Source: semantics 10.19; S5 StreamWindowListener and StateHandler.
    """

    make: Callable[[], Any] = field(compare=False, repr=False)
    name: str
    outputs: tuple[tuple[str, str], ...]

    def __init__(self, make: Callable[[], Any], *, name: str, outputs: Mapping[str, ResultType]) -> None:
        if not callable(make):
            raise SpecError(f"make={make!r}", "a listener is made by a class, or a function without arguments", "give one")
        if not isinstance(name, str) or not name:
            raise SpecError(f"name={name!r}", "a listener is known by its name", "give a non-empty string")
        rule = f"a listener's outputs are columns by name, one or more, of the types {list(RESULT_TYPES)}"
        named = isinstance(outputs, Mapping) and all(isinstance(column, str) and column for column in outputs)
        if not named or not outputs or not all(kind in RESULT_TYPES for kind in outputs.values()):
            raise SpecError(f"outputs={outputs!r}", rule, "give such as {'total': 'bigint'}")
        object.__setattr__(self, "make", make)
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "outputs", tuple(outputs.items()))

    def restored(self, state: str | None) -> Any:
        """An object with this state; without one as it is made."""
        made = self.make()
        if state is not None:
            vars(made).clear()
            vars(made).update(json.loads(state))
        return made

    def told(self, listening: Any, event: WindowEvent) -> list[dict[str, Any]]:
        """What an object gives for an event.

        Raises:
            InputError: if that is something else than its outputs.
        """
        return [self._checked(row) for row in listening.handle(event) or ()]

    def state_of(self, listening: Any) -> str:
        """The state of an object.

        Raises:
            InputError: if it is not JSON.
        """
        state = vars(listening)
        try:
            text = json.dumps(state)
            if json.loads(text) == state:
                return text
        except (TypeError, ValueError):
            pass
        rule = "the attributes of a listener are its state, and are JSON values"
        raise InputError(f"the state {state!r} of {self.name}", rule, "use numbers, strings, lists and dicts with string keys")

    def _checked(self, row: Any) -> dict[str, Any]:
        outputs = dict(self.outputs)
        if not isinstance(row, dict) or not set(row) <= set(outputs) or not all(_fits(row[name], outputs[name]) for name in row):
            rule = f"what {self.name} gives are dicts of its outputs {outputs}"
            raise InputError(f"{self.name} gave {row!r}", rule, "give such dicts, or change outputs")
        return row


def _fits(value: Any, kind: str) -> bool:
    """Whether a value is one of the type; null is one of every type."""
    if value is None:
        return True
    if kind in ("string", "boolean"):
        return isinstance(value, str if kind == "string" else bool)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    if isinstance(value, float):
        return kind == "double"
    return abs(value) <= sys.float_info.max if kind == "double" else value in _WHOLE
