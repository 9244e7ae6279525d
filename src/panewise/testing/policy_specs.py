"""Hypothesis strategies of policy windows, and of events for them (semantics 10).

Counts, times and amounts are small, and so are the steps of values and clocks. So ties are common.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final, Literal

from hypothesis import strategies as st

from panewise import functions as F
from panewise.spec import Position, StreamWindow, WindowListener
from panewise.spec.operators.policy.policies import DeltaPolicy, policy_columns
from panewise.streamwindow import count, delta, partition_age, partition_count, punct, time, tuple_count
from panewise.testing.nested import misfits, values_of
from panewise.testing.samples import JOINED, KEY_VALUES, NULLS, with_types

_PLACES = {
    "key": "string",
    "level": "double",
    "shop": "bigint",
    "order": "bigint",
    "partition": "bigint",
    "offset": "bigint",
}
TYPES: Final = _PLACES | {
    "v": "double",
    "n": "bigint",
    "price": "decimal(10,2)",
    "s": "string",
    "flag": "boolean",
    "note": "bigint",
}
_PRICES = [Decimal(value) for value in ("0.00", "0.50", "1.00", "-3.50", "99999999.99")]


class CountingListener:
    """A listener that counts the events that it is called with, and their tuples."""

    def __init__(self) -> None:
        self.events: dict[str, int] = {}
        self.tuples = 0

    def handle(self, event: Any) -> Any:
        """Returns no rows for the second event of each kind, and two rows for any other.

        For FINAL and INITIAL_FULL the first of these rows is returned twice.
        """
        self.events[event.type] = self.events.get(event.type, 0) + 1
        self.tuples += len(event.tuples)
        row = {
            "seen": self.events[event.type],
            "last": str(event.tuples[-1].get("n")) if event.tuples else None,
        }
        if self.events[event.type] == 2:
            return None
        return [row] * (2 if event.type in ("FINAL", "INITIAL_FULL") else 1) + [{"all": self.tuples / 2}]


class EvictingListener(CountingListener):
    """A listener that requests evictions: sometimes of its own partition, sometimes until there is room."""

    def handle(self, event: Any) -> Any:
        """Requests evictions; adds a row with the number of listed partitions (semantics 10.26, 10.27)."""
        rows = super().handle(event) or []
        partitions = event.partitions
        if event.partition and event.type != "FINAL":
            if self.tuples % 4 == 3:
                event.evict_partition()
            if event.type == "INSERTION" and self.tuples % 2:
                while event.needs_partition_eviction:
                    largest = max(
                        event.partitions, key=lambda listed: (listed.tuples, repr(listed.partition))
                    )
                    event.evict_partition(largest.partition)
        return [
            *rows,
            {
                "seen": len(partitions),
                "all": sum(listed.tuples for listed in partitions) + event.needs_partition_eviction / 2,
            },
        ]


_OUTPUTS: Final[dict[str, Any]] = {"seen": "bigint", "last": "string", "all": "double"}
COUNTING: Final = WindowListener(CountingListener, name="gathering", outputs=_OUTPUTS)
EVICTING: Final = WindowListener(EvictingListener, name="choosing", outputs=_OUTPUTS)


def amounts(column: str) -> st.SearchStrategy[Any]:
    """Returns a strategy of the amounts of a `delta` over a column."""
    of_column: dict[str, list[Any]] = {
        "n": [0, 1, 2, 2.5],
        "v": [0, 0.25, 2, 2.5],
        "price": [0, Decimal("0.50"), 1, 2.5],
    }
    return st.sampled_from(of_column[column])


_kinds: st.SearchStrategy[Literal["tumbling", "sliding"]] = st.sampled_from(["tumbling", "sliding"])
_deltas = st.sampled_from(["n", "n", "v", "price"]).flatmap(
    lambda name: amounts(name).map(lambda amount: delta(name, amount))
)
_policies = st.one_of(st.integers(1, 4).map(count), st.integers(1, 5).map(time), _deltas)
_contents: Final[list[dict[str, Any]]] = [
    {},
    {},
    {},
    {"columns": ["n"]},
    {"columns": ["note", "v"]},
    {"listener": COUNTING},
    {"listener": EVICTING},
    {"listener": COUNTING, "columns": ["n", "s"]},
    {"aggregates": [F.count().alias("rows")]},
    {
        "aggregates": [
            F.sum("n").alias("total"),
            F.max_by("s", ["v", F.asc("n")]).alias("best"),
            F.avg("price").alias("mean"),
        ]
    },
    {
        "aggregates": [
            F.first("n").alias("first"),
            F.collect_list("s", nulls="include").alias("all"),
            F.last_n("v", 2).alias("last two"),
            F.median("v").alias("middle"),
            F.min("n").alias("least"),
        ]
    },
    {
        "aggregates": [
            NULLS("v").alias("nulls"),
            JOINED("s").alias("joined"),
            F.stddev("v").alias("spread"),
            F.count_if("flag").alias("true"),
        ]
    },
]


_arrivals: Final[list[dict[str, Any]]] = [
    {},
    {},
    {"order": ["order"]},
    {"position": Position()},
    {"position": Position(ordered=False, remember=1)},
]
_lengths = st.integers(1, 6)
_partition_evictions = st.one_of(
    st.none(),
    st.none(),
    _lengths.map(partition_age),
    _lengths.map(tuple_count),
    st.integers(1, 3).map(partition_count),
)


@st.composite
def stream_windows(
    draw: st.DrawFn, /, kind: Literal["tumbling", "sliding"] | None = None, **fixed: Any
) -> StreamWindow:
    """Draws specifications; each field takes every kind of its values.

    Args:
        kind: "tumbling" or "sliding". Default: both.
        fixed: fields that are not drawn, with their values.
    """
    chosen: Literal["tumbling", "sliding"] = draw(_kinds) if kind is None else kind
    tumbling = st.one_of(_policies, _policies, st.just(punct("flag")))
    fields: dict[str, Any] = {
        "evict": draw(tumbling if chosen == "tumbling" else _policies),
        "trigger": None if chosen == "tumbling" else draw(st.one_of(st.none(), _policies)),
        "partition_by": draw(st.sampled_from([[], ["key"], ["key"], ["shop"], ["level", "key"]])),
        **draw(st.sampled_from(_contents)),
        **draw(st.sampled_from(_arrivals)),
        **fixed,
    }
    if fields["partition_by"] and "partition_eviction" not in fields:
        fields["partition_eviction"] = draw(_partition_evictions)
    possible = StreamWindow(kind=chosen, **fields).possible
    event = draw(st.sampled_from([None, None, *possible]))
    events = fields.setdefault("events", event and _events(draw, possible, event))
    if events is not None and "TRIGGER" not in events and not isinstance(fields["trigger"], DeltaPolicy):
        fields["trigger"] = None  # without TRIGGER in events it is refused (semantics 10.2)
    flags = {
        name: draw(st.booleans()) for name in _flags(StreamWindow(kind=chosen, **fields)) if name not in fixed
    }
    return StreamWindow(kind=chosen, **{**fields, **flags})


def _flags(spec: StreamWindow) -> list[str]:
    """Returns the names of the flags that have an effect on the specification (semantics 10.2)."""
    flags = ["null_keys"] if spec.partition_by else []
    if spec.kind == "tumbling":
        return [*flags, "flush_on_final"] if {"EVICTION", "FINAL"} & set(spec.emitted_events) else flags
    if "TRIGGER" not in spec.emitted_events:
        return flags
    flags += ["only_when_full"] if spec.evict.kind != "time" else []
    return flags + (["skip_unchanged"] if spec.trigger is not None and spec.trigger.kind == "time" else [])


def _events(draw: st.DrawFn, possible: tuple[str, ...], first: str) -> list[str]:
    others = [event for event in possible if event != first]
    return [first, *draw(st.lists(st.sampled_from(others), unique=True, max_size=len(others)))]


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
        row |= {"price": self._one_of([Decimal(self.value) / 2, *_PRICES]), "note": len(self.rows)}
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
