"""Listeners of policy windows (semantics 10.19, 10.26, 10.27).

The tests cover the rows that a listener returns, its state, its requests for evictions, and its events.
"""

import math
from collections import Counter, OrderedDict
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from enum import IntEnum, StrEnum
from typing import Any

import polars as pl
import pytest

from panewise import SpecError, StreamWindow, WindowListener
from panewise.engine.policy.operator import PolicyEngine
from panewise.errors import InputError
from panewise.spec import StoredPartition
from panewise.streamwindow import count, partition_count, time, tuple_count
from panewise.testing import run

NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)
RUNTIMES = pytest.mark.parametrize("runtime", ["oracle", "engine"])
ADD: list[dict[str, Any]] = [{"op": "add", "rows": [{"v": 1}]}]


def refusal(make: Callable[[], Any], runtime: str, error: type[Exception] = InputError) -> str:
    """Returns the message of the error that the first event of a listener raises."""
    listener = WindowListener(make, name="wrong", outputs={"x": "bigint"})
    with pytest.raises(error) as caught:
        run(StreamWindow.tumbling(count(2), listener=listener), ADD, runtime)
    return str(caught.value.args[0])


class Wrong:
    """A listener that returns `given`, and has `kept` in its state."""

    def __init__(self, given: Any = None, kept: Any = None) -> None:
        self.kept, self.given = kept, given

    def handle(self, event: Any) -> Any:
        return self.given


ROWS = "wrong returns dicts of its outputs {'x': 'bigint'} | return such dicts, or change outputs"
HANDLE = (
    "handle of wrong returns dicts, in a list or an iterator, or None | return a list of dicts, or yield them"
)
GIVEN = [
    ([{"y": 1}], f"wrong returned {{'y': 1}} | {ROWS}"),
    ([{"x": 1.5}], f"wrong returned {{'x': 1.5}} | {ROWS}"),
    ([{"x": True}], f"wrong returned {{'x': True}} | {ROWS}"),
    ([{"x": 2**63}], f"wrong returned {{'x': 9223372036854775808}} | {ROWS}"),
    ([7], f"wrong returned 7 | {ROWS}"),
    (3, f"wrong returned 3 | {HANDLE}"),
    ("x", f"wrong returned 'x' | {HANDLE}"),
    ({"x": 1}, f"wrong returned {{'x': 1}} | {HANDLE}"),
]  # fmt: skip


@RUNTIMES
@pytest.mark.parametrize(("given", "message"), GIVEN)
def test_results_that_a_listener_may_not_return(runtime: str, given: Any, message: str) -> None:
    assert refusal(lambda: Wrong(given), runtime) == message


class Letter(StrEnum):
    A = "a"


class Number(IntEnum):
    ONE = 1


STATE = (
    "the attributes of a listener are its state, and are JSON values, of exactly these types | use "
    "None, bool, int, float that is finite, "
    "str, list and dict with string keys, such as dict(counter) and list(a_tuple)"
)
KEPT = [
    {1: 2}, (1, 2), {1, 2}, Counter("a"), OrderedDict(a=1), Letter.A, {Letter.A: 1}, Number.ONE, Decimal(1),
    NOON, math.inf, math.nan,
    "\ud83d", [[{"a": (1,)}]], 10**5000,
]  # fmt: skip


@RUNTIMES
@pytest.mark.parametrize("kept", KEPT, ids=lambda kept: type(kept).__name__)
def test_state_that_would_come_back_as_something_else(runtime: str, kept: Any) -> None:
    """State that JSON would restore as something else is an error (semantics 10.19).

    Otherwise the output would depend on batch cuts and restarts (10.1, 33).
    """
    assert refusal(lambda: Wrong(kept=kept), runtime).endswith(f" in the state of wrong | {STATE}")


@RUNTIMES
def test_state_that_stands_in_two_places(runtime: str) -> None:
    """A list in two places of the state is an error: it would be restored as two lists (semantics 10.19)."""
    seen: list[int] = []
    rule = "the attributes of a listener are its state, a JSON value, in which no list or dict occurs twice"
    wanted = f"[] twice in the state of wrong | {rule} | store it once, or store a copy: list(it), dict(it)"
    assert refusal(lambda: Wrong(given=seen, kept=seen), runtime) == wanted
    assert refusal(lambda: Wrong(kept=[{"a": seen}, seen]), runtime) == wanted
    loop: list[Any] = []
    loop.append(loop)
    assert refusal(lambda: Wrong(kept=loop), runtime).startswith("[[...]] twice in the state of wrong | ")


class Slots:
    __slots__ = ("kept",)

    def handle(self, event: Any) -> Any: ...


class MoreThanSlots(Slots):
    """A listener with both slots and a __dict__, so not all of its attributes are in the __dict__."""


MADE = [
    (object, "", "a listener has a method handle(event) | give it one, or another class"),
    (Slots, ", with __slots__",
    "the attributes of a listener are its state, and are found in its __dict__ | leave __slots__ out"),
    (MoreThanSlots, ", with __slots__",
    "the attributes of a listener are its state, and are found in its __dict__ | leave __slots__ out"),
]  # fmt: skip


@RUNTIMES
@pytest.mark.parametrize(("make", "what", "message"), MADE)
def test_objects_that_are_no_listeners(runtime: str, make: Any, what: str, message: str) -> None:
    made = make()
    assert refusal(lambda: made, runtime, SpecError) == f"wrong makes {made!r}{what} | {message}"


def giving(given: Any) -> Any:
    """Returns a class of listeners without state that return the given rows."""
    return type("Giving", (), {"handle": lambda self, event: given})


EXACT = [
    ("double", 2**130, float(2**130)),
    ("double", Number.ONE, 1.0),
    ("bigint", Number.ONE, 1),
    ("string", Letter.A, "a"),
    ("boolean", False, False),
]  # fmt: skip


@RUNTIMES
@pytest.mark.parametrize(("kind", "given", "wanted"), EXACT)
def test_results_have_the_types_of_the_outputs(runtime: str, kind: Any, given: Any, wanted: Any) -> None:
    listener = WindowListener(giving([{"x": given}]), name="right", outputs={"x": kind})
    [pane] = run(StreamWindow.tumbling(count(2), listener=listener), ADD, runtime)[0]["panes"]
    assert (pane["x"], type(pane["x"])) == (wanted, type(wanted))


UNFIT = [("double", 10**400), ("string", "\ud800")]


@RUNTIMES
@pytest.mark.parametrize(("kind", "given"), UNFIT)
def test_values_that_do_not_fit_a_column(runtime: str, kind: Any, given: Any) -> None:
    """A whole number beyond the range of doubles, and half of a surrogate pair, are refused."""
    listener = WindowListener(giving([{"x": given}]), name="wrong", outputs={"x": kind})
    with pytest.raises(InputError, match="wrong returns dicts of its outputs"):
        run(StreamWindow.tumbling(count(2), listener=listener), ADD, runtime)


class Reusing:
    """A listener that yields the same dict several times, each time with another value."""

    def __init__(self) -> None:
        self.row = {"x": 0}

    def handle(self, event: Any) -> Any:
        for _ in range(2):
            self.row["x"] += 1
            yield self.row


@RUNTIMES
def test_a_later_change_of_a_yielded_dict_has_no_effect(runtime: str) -> None:
    """A later change of a yielded dict does not change the row, wherever batches are cut (semantics 10.1)."""
    listener = WindowListener(Reusing, name="reusing", outputs={"x": "bigint"})
    spec = StreamWindow.tumbling(count(9), listener=listener)
    output = run(spec, [{"op": "add", "rows": [{"v": 1}, {"v": 2}]}], runtime)[0]
    assert [pane["x"] for pane in output["panes"]] == [1, 2, 3, 4]


class Asking:
    """A listener that requests the eviction of a partition, by default of its own."""

    def __init__(self, named: Any = None) -> None:
        self.named = named

    def handle(self, event: Any) -> Any:
        event.evict_partition(self.named)


ASKED = [
    (
        [],
        None,
        (
            "evict_partition() | without partition_by there is one partition, which cannot "
            "be evicted (semantics 10.23) | give partition_by, or"
        ),
    ),
    (
        ["k"],
        {"x": 1},
        (
            "evict_partition({'x': 1}) | a partition is named by the columns ['k'] | give a dict of these "
            "and no others"
        ),
    ),
    (
        ["k"],
        "a",
        (
            "evict_partition('a') | a partition is named by the columns ['k'] | give a dict of these and no "
            "others"
        ),
    ),
    (
        ["k"],
        {"k": ["a"]},
        (
            "evict_partition({'k': ['a']}) | a partition is named by values of its columns (unhashable "
            "type: 'list') | give"
        ),
    ),
    (
        ["k"],
        {"k": "b"},
        (
            "evict_partition({'k': 'b'}) in an event of {'k': 'a'} | a listener can evict its own "
            "partition, and others only with"
        ),
    ),
]


@RUNTIMES
@pytest.mark.parametrize(("keys", "named", "message"), ASKED)
def test_partitions_that_a_listener_cannot_request(
    runtime: str, keys: list[str], named: Any, message: str
) -> None:
    """Requests for partitions that a listener cannot name are errors (semantics 10.26)."""
    listener = WindowListener(lambda: Asking(named), name="asking", outputs={"x": "bigint"})
    with pytest.raises(InputError) as caught:
        run(
            StreamWindow.tumbling(count(2), partition_by=keys, listener=listener),
            [{"op": "add", "rows": [{"k": "a"}]}],
            runtime,
        )
    assert str(caught.value).startswith(message)


@RUNTIMES
def test_partitions_are_requested_at_a_reading_of_the_clock(runtime: str) -> None:
    """Requests at a reading of the clock are fulfilled between two partitions (semantics 10.10, 10.26).

    They come after everything that is due in the event's partition, and before what is due in the next one.
    Another requested partition is evicted even if nothing is due in it.
    """
    listener = WindowListener(lambda: Emptying(), name="emptying", outputs={"held": "bigint"})
    spec = StreamWindow.sliding(
        time(5), time(9), partition_by=["k"], partition_eviction=partition_count(9), listener=listener
    )
    events = [
        {"op": "add", "rows": [{"k": "a"}, {"k": "b"}]},
        {"op": "clock", "to": 4},
        {"op": "add", "rows": [{"k": "c"}]},
    ]
    *_, output = run(spec, [*events, {"op": "clock", "to": 9}], runtime, windows=True)
    assert [(pane["k"], pane["event"]) for pane in output["panes"]] == [
        ("a", "EVICTION"), ("a", "TRIGGER"), ("a", "PARTITION_EVICTION"), ("c", "PARTITION_EVICTION"),
        ("b", "EVICTION"), ("b", "TRIGGER"),
        ("b", "PARTITION_EVICTION"),
    ]  # fmt: skip
    assert output["windows"] == []


class Emptying:
    """A listener that requests its own partition when it raises EVICTION, and then the partition c."""

    def handle(self, event: Any) -> Any:
        if event.type == "EVICTION":
            event.evict_partition()
            event.evict_partition({"k": "c"})
        return [{"held": len(event.tuples)}]


class Looking:
    """A listener that returns the existing partitions in the last event of its partition."""

    def handle(self, event: Any) -> Any:
        if event.type in ("PARTITION_EVICTION", "FINAL"):
            yield {
                "held": "".join(f"{one.partition['k']}{one.tuples}" for one in event.partitions),
                "needs": event.needs_partition_eviction,
            }


LOOKING = WindowListener(Looking, name="looking", outputs={"held": "string", "needs": "boolean"})


@RUNTIMES
@pytest.mark.parametrize("gone", [None, partition_count(9), tuple_count(9)], ids=repr)
def test_a_partition_does_not_exist_in_its_last_event(runtime: str, gone: Any) -> None:
    """In its last event a partition no longer exists (semantics 10.12, 10.14, 10.27)."""
    spec = StreamWindow.tumbling(
        count(9), partition_by=["k"], partition_eviction=gone, listener=LOOKING, flush_on_final=True
    )
    events = [
        {"op": "add", "rows": [{"k": key} for key in "aabc"]},
        {"op": "evict", "partition": {"k": "b"}},
        {"op": "finish"},
    ]
    panes = [pane for output in run(spec, events, runtime) for pane in output["panes"]]
    assert [(pane["k"], pane["event"], pane["held"]) for pane in panes] == [
        ("b", "PARTITION_EVICTION", "a2c1" if gone else ""), ("a", "FINAL", "c1" if gone else ""),
        ("c", "FINAL", ""),
    ]  # fmt: skip
    assert not any(pane["needs"] for pane in panes)


class Scribbling:
    """A listener that changes the objects of its event."""

    def handle(self, event: Any) -> Any:
        yield {
            "seen": f"{event.partition['k']} {[one.partition['k'] for one in event.partitions]} "
            f"{event.tuples[0]}"
        }
        event.partition["k"] = "zzz"
        event.tuples[0]["k"] = "zzz"
        for one in event.partitions:
            one.partition["k"] = "zzz"


SCRIBBLING = WindowListener(Scribbling, name="scribbling", outputs={"seen": "string"})


@RUNTIMES
def test_changes_to_an_event_are_not_in_the_next_one(runtime: str) -> None:
    """Changes that a listener makes to an event are not in the next one (semantics 10.1)."""
    spec = StreamWindow.sliding(
        count(2), partition_by=["k"], partition_eviction=partition_count(9), listener=SCRIBBLING
    )
    output = run(spec, [{"op": "add", "rows": [{"k": "a"}, {"k": "b"}, {"k": "a"}]}], runtime)[0]
    assert [pane["seen"] for pane in output["panes"] if pane["event"] == "TRIGGER"] == [
        "a ['a'] {'k': 'a'}", "b ['a', 'b'] {'k': 'b'}", "a ['b', 'a'] {'k': 'a'}",
    ]  # fmt: skip


class Growing:
    """A listener that appends to a list in its first tuple."""

    def handle(self, event: Any) -> Any:
        event.tuples[0]["l"].append(0)
        yield {"seen": str(event.tuples[0]["l"])}


def test_changes_to_lists_in_tuples_are_not_in_the_next_event() -> None:
    """A listener gets copies of nested values, so its changes are not in the next event."""
    listener = WindowListener(Growing, name="growing", outputs={"seen": "string"})
    operator = PolicyEngine(
        StreamWindow.sliding(count(2), listener=listener, events=["INSERTION", "TRIGGER"]),
        {"l": pl.List(pl.Int64())},
    )
    assert operator.add(pl.DataFrame({"l": [[1]]})).panes["seen"].to_list() == ["[1, 0]", "[1, 0]"]


class Choosing:
    """A listener that requests its own partition while there are too many."""

    def handle(self, event: Any) -> Any:
        if event.needs_partition_eviction:
            event.evict_partition()


def test_needs_partition_eviction_does_not_list_the_partitions(monkeypatch: pytest.MonkeyPatch) -> None:
    """`needs_partition_eviction` does not list all partitions, because it may be read for each tuple."""
    shown = []
    whole = StoredPartition.__init__

    def noted(self: StoredPartition, *args: Any) -> None:
        shown.append(self)
        whole(self, *args)

    monkeypatch.setattr(StoredPartition, "__init__", noted)
    listener = WindowListener(Choosing, name="choosing", outputs={"x": "bigint"})
    spec = StreamWindow.tumbling(
        count(9), partition_by=["k"], partition_eviction=partition_count(95), listener=listener
    )
    run(spec, [{"op": "add", "rows": [{"k": f"{n}"} for n in range(100)]}], "engine")
    assert len(shown) <= 10
