"""What all stores share: the order of arguments, and what is given by name (semantics 34.25)."""

import inspect
from typing import Any

import pytest

from panewise import stores
from panewise.errors import InputError
from panewise.stores import (
    KeyedWindowedStorage,
    MessageStore,
    SessionStore,
    SessionWindowedStorage,
    TimeSeriesStore,
    WindowedStorage,
    WindowStore,
)

KINDS = [
    WindowStore,
    SessionStore,
    TimeSeriesStore,
    MessageStore,
    WindowedStorage,
    KeyedWindowedStorage,
    SessionWindowedStorage,
]
ORDER = ["topic", "key", "first_key", "last_key", "value"]  # of what is given by position


@pytest.mark.parametrize("kind", KINDS)
def test_the_key_comes_first_then_the_value_and_the_rest_has_names(kind: type) -> None:
    for name, method in inspect.getmembers(kind, inspect.isfunction):
        given = [one for one in inspect.signature(method).parameters.values() if one.name != "self"]
        if name.startswith("_") or len(given) < 2:
            continue
        placed = [
            one.name for one in given if one.kind is one.POSITIONAL_OR_KEYWORD and one.default is one.empty
        ]
        if placed in (["window"], ["layout"], ["end"], ["session_key", "join_keys"]):
            continue  # nothing else is needed, or no two have one type
        assert placed == [one for one in ORDER if one in placed], (name, placed)


def test_all_stores_are_tested() -> None:
    found = {one for one in vars(stores).values() if inspect.isclass(one) and hasattr(one, "commit")}
    maps = {stores.MemoryMap, stores.DurableMap, stores.OrderedMap, stores.Snapshot, stores.Scan}
    assert found - maps == set(KINDS)


def test_two_numbers_cannot_be_swapped_in_silence() -> None:
    """semantics 34.25"""
    calls: list[Any] = [
        lambda: WindowStore(10, 1).put(1, 2, 3),  # type: ignore[misc]
        lambda: WindowStore(10, 1).fetch(1, 2),  # type: ignore[call-overload]
        lambda: SessionStore(10).put(1, 2, 3, 4),  # type: ignore[misc]
        lambda: TimeSeriesStore().put(1, 2, 3),  # type: ignore[misc]
        lambda: KeyedWindowedStorage().put((0, 1), 2, 3),  # type: ignore[misc]
        lambda: MessageStore(("offset",)).get_messages(1, 2),  # type: ignore[misc]
        lambda: WindowStore(10, 1).advance_position("orders", 1, 2),  # type: ignore[misc]
    ]
    for call in calls:
        with pytest.raises(TypeError, match="positional argument"):
            call()


@pytest.mark.parametrize(
    "entry", [(1, 2, 3), {"key": 1, "value": 2}, {"key": 1, "value": 2, "time": 3, "end": 4}]
)
def test_entries_to_restore_have_names(entry: Any) -> None:
    with pytest.raises(
        InputError,
        match=r"an entry to restore is a dict of key, value and time \| give \{'key': \.\.\., 'value': ",
    ):
        WindowStore(10, 1).restore([entry])
    with pytest.raises(InputError, match="an entry to restore is a dict of key, value, start and end"):
        SessionStore(10).restore([entry])


@pytest.mark.parametrize("times", [{}, {"first": 1}, {"last": 1}, {"time": 1, "first": 1}])
def test_a_fetch_has_one_time_or_a_range(times: dict[str, int]) -> None:
    with pytest.raises(InputError, match=r"\| give time=\.\.\., or first=\.\.\. and last=\.\.\. \[PW-"):
        WindowStore(10, 1).fetch("a", **times)  # type: ignore[call-overload]
