"""Listeners: objects of the user that are called with the events of policy windows (semantics 10.19).

The state of a listener is its attributes. It is stored with the partition as JSON text, and a restored object
gets the attributes of that text and no others.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from panewise.errors import InputError, SpecError
from panewise.spec.aggregates.user_functions import SIMPLE, ResultType
from panewise.spec.column_values import MISFIT, ColumnType
from panewise.spec.fields import is_name, set_fields
from panewise.spec.operators.policy.events import WindowEvent
from panewise.spec.operators.policy.listener_state import written


@dataclass(frozen=True, init=False)
class WindowListener:
    """Computes panes from the events of policy windows, with an object of the user for each partition.

    The object has a method `handle(event)`. It takes a :class:`WindowEvent` and returns dicts of outputs, as
    a list or one after the other, or None for no panes. An output that a dict leaves out is null. Through the
    event it can request the eviction of partitions.

    The attributes of the object are its state, which is stored with the partition. They are JSON values:
    None, bool, int, finite float, str, list, and dict with string keys, of exactly these types. No list or
    dict may occur in two places.

    Args:
        make: the class of the object, or another function without arguments that returns a new object.
        name: the name by which JSON and checkpoints identify the listener. A different listener under the
            same name is not detected.
        outputs: the columns that the listener returns, one or more, and their types: "bigint", "double",
            "string" or "boolean".

    Raises:
        SpecError: if `make` cannot be called, for an empty name, and for outputs of other types.

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
            raise SpecError(
                f"make={make!r}", "a listener is made by a class, or a function without arguments", "give one"
            )
        if not is_name(name):
            raise SpecError(f"name={name!r}", "a listener has a name", "give a non-empty string")
        rule = f"a listener's outputs are columns by name, one or more, of the types {list(SIMPLE)}"
        named = isinstance(outputs, Mapping) and all(map(is_name, outputs))
        if not named or not outputs or not all(kind in SIMPLE for kind in outputs.values()):
            raise SpecError(f"outputs={outputs!r}", rule, "give some such as {'total': 'bigint'}")
        set_fields(self, make=make, name=name, outputs=tuple(outputs.items()))

    def restored(self, state: str | None) -> Any:
        """Returns a new object with this state, or with its initial state if `state` is None.

        Raises:
            SpecError: if the object has no method `handle`, or has `__slots__`.
        """
        listening = self.make()
        if not callable(getattr(listening, "handle", None)):
            rule = "a listener has a method handle(event)"
            raise SpecError(f"{self.name} makes {listening!r}", rule, "give it one, or another class")
        kinds = type(listening).__mro__
        if not hasattr(listening, "__dict__") or any(kind.__dict__.get("__slots__") for kind in kinds):
            rule = "the attributes of a listener are its state, and are found in its __dict__"
            raise SpecError(f"{self.name} makes {listening!r}, with __slots__", rule, "leave __slots__ out")
        if state is not None:
            vars(listening).clear()
            vars(listening).update(json.loads(state))
        return listening

    def notify(self, listening: Any, event: WindowEvent) -> list[dict[str, Any]]:
        """Calls an object with an event, and returns the rows that it makes of it.

        A row has only the outputs that the object gave, as values of their types.

        Raises:
            InputError: if the object returns anything but dicts of its outputs.
        """
        rows = listening.handle(event)
        if rows is None:
            return []
        if not isinstance(rows, Iterable) or isinstance(rows, (str, Mapping)):
            rule = f"handle of {self.name} returns dicts, in a list or an iterator, or None"
            raise InputError(f"{self.name} returned {rows!r}", rule, "return a list of dicts, or yield them")
        return [self._row(row) for row in rows]

    def state_of(self, listening: Any) -> str:
        """Returns the state of an object as JSON text.

        Raises:
            InputError: if an attribute is not a JSON value.
        """
        return written(vars(listening), self.name)

    def _row(self, row: Any) -> dict[str, Any]:
        """Returns a copy of a row, as the listener may change the dict that it returned."""
        outputs = dict(self.outputs)
        if (
            not isinstance(row, dict)
            or not set(row) <= set(outputs)
            or any(_KINDS[outputs[name]].fit(value) is MISFIT for name, value in row.items())
        ):
            rule = f"{self.name} returns dicts of its outputs {outputs}"
            raise InputError(f"{self.name} returned {row!r}", rule, "return such dicts, or change outputs")
        own = {name: row[name] for name in outputs if name in row}
        return {
            name: None if value is None else _EXACTLY[outputs[name]](value) for name, value in own.items()
        }


_KINDS = {kind: ColumnType(kind) for kind in SIMPLE}
_EXACTLY: dict[str, Callable[[Any], Any]] = {
    "bigint": int,
    "double": float,
    "string": str.__str__,
    "boolean": bool,
}
