"""A Hypothesis strategy of events for policy windows (semantics 10)."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final

from hypothesis import strategies as st

from panewise.spec import StreamWindow
from panewise.spec.operators.policy.policies import policy_columns
from panewise.testing.drawn_types import misfits, values_of
from panewise.testing.policy_specs import PRICES, TYPES
from panewise.testing.samples import KEY_VALUES, with_types

_PLAIN = (
    [("add",)] * 6
    + [("clock",)] * 5
    + [(op,) for op in ("restart", "drain", "checkpoint", "reset", "reset_to_initial", "evict")]
)
_AWAY = [
    ("checkpoint", "clock", "reset"),
    ("add", "checkpoint", "add", "clock", "reset"),
    ("add", "clock", "clock", "clock"),
]
MOVES: Final[tuple[tuple[str, ...], ...]] = (*_PLAIN, *_AWAY, *_AWAY)


def stream_types(spec: StreamWindow) -> dict[str, str]:
    """Returns the types of the columns of the rows that :func:`stream_events` draws.

    These are the columns of the samples, and bigint for the others that the specification reads.

    >>> from panewise.streamwindow import count
    >>> stream_types(StreamWindow.tumbling(count(2), partition_by=["airport"]))["airport"]
    'bigint'
    """
    return {**dict.fromkeys(spec.columns_read, "bigint"), **TYPES}


@st.composite
def stream_events(
    draw: st.DrawFn,
    /,
    spec: StreamWindow,
    max_moves: int = 8,
    max_rows: int = 7,
    moves: tuple[tuple[str, ...], ...] | None = None,
    types: Mapping[str, str] | None = None,
) -> list[dict[str, Any]]:
    """Draws events for a specification, as :func:`panewise.testing.run` takes them.

    Args:
        spec: the policy window.
        max_moves: the most moves, without the end of input.
        max_rows: the most rows of a batch.
        moves: what to draw from. Each is a sequence of ops that stay together. Default: `MOVES`.
        types: the types of columns that differ from those of :func:`stream_types`.
    """
    writer = _PolicyWriter(draw, spec, max_rows, with_types(stream_types(spec), types))
    chosen = draw(st.lists(st.sampled_from(moves or MOVES), min_size=1, max_size=max_moves))
    script = [writer.event(op) for move in chosen for op in move]
    after = [{"op": "finish"}, *([writer.event("clock")] if draw(st.booleans()) else [])]
    return [event for event in script if event is not None] + (after if draw(st.booleans()) else [])


@dataclass
class _PolicyWriter:
    """Draws events one after the other."""

    draw: st.DrawFn
    spec: StreamWindow
    max_rows: int
    types: Mapping[str, str]
    now: int = 0
    has_checkpoint: bool = False
    offset: int = 0
    value: int = 0
    rows: list[dict[str, Any]] = field(default_factory=list)

    def event(self, op: str) -> Any:
        """Draws an event with this op; returns None if the op is not possible now."""
        if op == "add":
            return {"op": op, "rows": [self._row() for _ in range(self.draw(st.integers(0, self.max_rows)))]}
        if op == "clock":
            to = self.now + self._one_of([0, 1, 1, 1, 2, 3, 5, 6, 17, -1])
            self.now = max(self.now, to)
            return {"op": op, "to": to}
        if op == "evict":
            named = {name: self._key(name) for name in self.spec.partition_by}
            return {"op": op, "partition": named} if named else None
        if op == "reset" and not self.has_checkpoint:
            return None
        self.has_checkpoint = self.has_checkpoint or op == "checkpoint"
        return {"op": op}

    def _one_of(self, values: Any) -> Any:
        return self.draw(st.sampled_from(values))

    def _unusual(self, name: str) -> list[Any]:
        """Returns null and NaN for a key column, unless they make a row invalid (semantics 15)."""
        if not self.spec.null_keys or name not in self.spec.partition_by:
            return []
        return [None, math.nan] if self.types[name] == "double" else [None]

    def _key(self, name: str) -> Any:
        """Draws a value of a key column."""
        if self._is_other(name):
            nulls = bool(self._unusual(name)) and self._one_of(range(4)) == 3
            return self.draw(values_of(self.types[name], nulls=nulls))
        return self._one_of([*KEY_VALUES[name], *self._unusual(name)])

    def _is_other(self, name: str) -> bool:
        """Returns whether a column is not one of the samples."""
        return self.types[name] != TYPES.get(name)

    def _cell(self, name: str) -> Any:
        """Draws a value of another column than those of the samples; numbers grow as `n` and `v` do."""
        if name in self.spec.partition_by:
            return self._key(name)
        growing = {"bigint": self.value, "double": self.value / 4}
        kind = self.types[name]
        return growing[kind] if kind in growing else self.draw(values_of(kind))

    def _row(self) -> dict[str, Any]:
        if self.rows and self._one_of(range(12)) == 11:
            return dict(self._one_of(self.rows))  # a duplicate, and a replay if it has a position
        self.value += self._one_of([0, 0, 1, 1, 2, 3, 3, -1, -4])  # mostly upwards, in steps near the amounts
        self.offset += self._one_of([1, 1, 1, 1, 1, 3, 0, -1])
        row: dict[str, Any] = {name: self._key(name) for name in KEY_VALUES}
        row |= {
            "n": self.value,
            "v": self.value / 4,
            "s": self._one_of(["a", "b", None]),
            "flag": self._one_of([False, False, None, True]),
        }
        row |= {"price": self._one_of([Decimal(self.value) / 2, *PRICES]), "note": len(self.rows)}
        row |= {"order": self._one_of([0, 1, 2]), "partition": self._one_of([0, 0, 1]), "offset": self.offset}
        row |= {name: self._cell(name) for name in self.types if self._is_other(name)}
        if self._one_of(range(5)) == 4:
            self._spoil(row)
        self.rows.append(row)
        return row

    def _spoil(self, row: dict[str, Any]) -> None:
        """Makes one cell of a row null, not finite or of a wrong type."""
        name = self._one_of(
            [*self.spec.columns_read, "n", *policy_columns(self.spec.evict, self.spec.trigger) * 3]
        )
        kind = self.types[name]
        odd = [math.nan, math.inf, -math.inf] if kind == "double" else []
        row[name] = self._one_of([None, None, *odd, *misfits(kind)[:3]])
