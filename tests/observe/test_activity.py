"""Tests of what the shards of an operator report of windows, merged."""

import json
from typing import Any

from panewise.observe.activity import MOST_SHARDS, MOST_WINDOWS, as_json, from_json, merged_activity


def text(**fields: Any) -> str:
    return json.dumps({"family": "windows", **fields})


def test_counts_of_a_window_are_added_up() -> None:
    """A window may have panes in several shards (semantics 15.18)."""
    activity = merged_activity(
        [
            text(windows=[[0, 60, 1, 0, 0, 0, 0, 2, 0]], horizon=50, shards=[[0, 5, 1, 2, 30, 70]]),
            text(windows=[[0, 60, 0, 2, 0, 0, 1, 1, 0], [60, 120, 1, 0, 0, 0, 0, 1, 0]], horizon=40),
        ]
    )
    assert activity is not None
    assert activity.windows == {(0, 60): (1, 2, 0, 0, 1, 3, 0), (60, 120): (1, 0, 0, 0, 0, 1, 0)}
    assert (activity.horizon, activity.windows_left_out) == (40, 0)
    assert activity.shards == {0: (5, 1, 2, 30, 70)}


def test_the_windows_with_most_panes_are_reported() -> None:
    """Others are counted, also those that shards have left out (semantics 15.18)."""
    windows = [[n, n + 1, n + 1, 0, 0, 0, 0, 0, 0] for n in range(MOST_WINDOWS + 5)]
    activity = merged_activity([text(windows=windows, left_out=[3, 4])])
    assert activity is not None
    assert activity.windows is not None
    assert set(activity.windows) == {(n, n + 1) for n in range(5, MOST_WINDOWS + 5)}
    assert (activity.windows_left_out, activity.panes_left_out) == (5 + 3, 1 + 2 + 3 + 4 + 5 + 4)


def test_keys_of_a_window_are_added_up() -> None:
    """Each key is in one shard (semantics 15.28)."""
    window = [0, 60, 0, 0, 0, 0, 0, 1, 0]
    activity = merged_activity(
        [text(windows=[window], stored=[[0, 60, -2]]), text(stored=[[0, 60, 1], [60, 120, 1]])]
    )
    assert activity is not None
    assert activity.stored == {(0, 60): -1}, "of a window that is left out nothing is known"
    assert from_json(json.loads(json.dumps(as_json(activity)))) == activity


def test_rows_without_windows_are_counted_by_stretches() -> None:
    """Shards may have stretches of different lengths: the longest one is used (semantics 15.18)."""
    activity = merged_activity(
        [
            text(windows=[[1000, 2000, 0, 0, 0, 3, 0, 0, 0]], width=1000),
            text(windows=[[0, 10_000, 0, 0, 0, 4, 1, 0, 0], [None, None, 0, 0, 0, 2, 0, 0, 0]], width=10_000),
        ]
    )
    assert activity is not None
    assert activity.windows == {(0, 10_000): (0, 0, 0, 7, 1, 0, 0), (None, None): (0, 0, 0, 2, 0, 0, 0)}


def test_the_shards_with_most_state_are_reported() -> None:
    """Others are counted (semantics 15.19)."""
    activity = merged_activity([text(shards=[[n, 0, 0, 0, n, None]]) for n in range(MOST_SHARDS + 2)])
    assert activity is not None
    assert activity.shards is not None
    assert list(activity.shards) == list(range(2, MOST_SHARDS + 2))
    assert activity.shards_left_out == 2


def test_the_keys_with_most_rows_are_reported() -> None:
    """A key is in one shard, but a query may read it on two sides (semantics 15.19)."""
    texts = [
        text(keys=[["a", 5], ["b", 2]], most_keys=2),
        text(keys=[["c", 4], ["d", 3]], most_keys=2),
        text(keys=[["a", 1]], most_keys=2),
    ]
    activity = merged_activity(texts)
    assert activity is not None
    assert activity.keys == {"a": 6, "c": 4}


def test_a_shard_may_have_fewer_keys() -> None:
    """The number is that of the whole operator (semantics 15.19)."""
    activity = merged_activity([text(keys=[["a", 5]], most_keys=3), text(keys=[["b", 2]], most_keys=3)])
    assert activity is not None
    assert activity.keys == {"a": 5, "b": 2}


def test_without_texts_there_is_no_activity() -> None:
    assert merged_activity([]) is None


def test_json() -> None:
    """A journal has the same activity (semantics 15.16)."""
    activity = merged_activity(
        [
            text(
                windows=[[None, None, 1, 0, 0, 0, 0, 2, 0]],
                by_row_number=True,
                horizon=0,
                shards=[[0, 5, 1, 2, 30, None]],
                keys=[["a", 5]],
                most_keys=3,
                left_out=[1, 1],
            )
        ]
    )
    assert activity is not None
    assert from_json(json.loads(json.dumps(as_json(activity)))) == activity
