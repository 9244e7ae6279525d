"""Hypothesis strategies of policy windows (semantics 10).

Counts, times and amounts are small, and so are the steps of values and clocks. So ties are common.
"""

from decimal import Decimal
from typing import Any, Final, Literal

from hypothesis import strategies as st

from panewise import functions as F
from panewise.spec import Position, StreamWindow, WindowListener
from panewise.spec.operators.policy.policies import DeltaPolicy
from panewise.streamwindow import count, delta, partition_age, partition_count, punct, time, tuple_count
from panewise.testing.samples import NULLS, TEXTS

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
PRICES = [Decimal(value) for value in ("0.00", "0.50", "1.00", "-3.50", "99999999.99")]


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
            TEXTS("s").alias("joined"),
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
