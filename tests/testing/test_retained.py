"""The test kit plays retained windows: S1's examples, restarts, resets, and malformed events."""

from typing import Any

import pytest

from panewise import InputError, SpecError
from panewise import functions as F
from panewise.standalone import AggregatorSettings, JoinWindowSettings
from panewise.testing import run_retained

MINUTE = 60_000_000
WHOLE: dict[str, Any] = {"measure": "time", "retention_size": 1000, "retention_time": "1 hour"}
SETTINGS = AggregatorSettings(**WHOLE, size="1 minute", advance="1 minute", late="1 minute")
NINE = 540 * MINUTE


def at(minutes: int, seconds: int) -> int:
    return NINE + minutes * MINUTE + seconds * 1_000_000


def row(time: int, value: int, **more: Any) -> dict[str, Any]:
    return {"event_time": time, "value": value, **more}


def test_the_example_of_a_windowed_aggregator() -> None:
    """S1, case 1: a late message corrects its window a minute later."""
    events = [
        {"op": "clock", "to": at(0, 0)},
        {"op": "add", "rows": [row(at(-1, 10), 0, offset=1)]},
        {"op": "clock", "to": at(0, 59)},
        {"op": "add", "rows": [row(at(0, 1), 5, offset=2)]},
        {"op": "flush"},
        {"op": "restart"},
        {"op": "clock", "to": at(2, 1)},
        {"op": "add", "rows": [row(at(-1, 30), 9, offset=3)]},
        {"op": "clock", "to": at(3, 1)},
    ]
    outputs = run_retained(SETTINGS, events, [F.max("value").alias("highest")])
    assert [one["outputs"] for one in outputs if one["outputs"]] == [
        [{"start": at(-1, 0), "session_key": None, "firing": "full", "sequence": 1, "value": {"highest": 0}}],
        [{"start": at(-1, 0), "session_key": None, "firing": "late", "sequence": 2, "value": {"highest": 9}}],
    ]
    assert [one["kinds"] for one in outputs if one["kinds"]] == [["in_time"], ["future"], ["past"]]
    assert outputs[-1]["counts"]["applied"] == 3


def test_messages_of_a_join_window_carry_their_offset() -> None:
    settings = JoinWindowSettings(**WHOLE, size=10, advance=10)
    rows = [row(1, 2, offset=70), row(2, 3), row(None, 4)]  # type: ignore[arg-type]
    [output] = run_retained(settings, [{"op": "add", "rows": rows}])
    assert [one["messages"] for one in output["outputs"]] == [[rows[0]], [{**rows[1], "offset": 71}]]
    assert output["rejected"] == [
        {"row": {"event_time": None, "value": 4}, "offset": 72, "reason": "event time is null"}
    ]


def test_what_was_not_flushed_is_repeated_after_a_restart() -> None:
    """semantics 26.10: with the same numbers."""
    settings = AggregatorSettings(**WHOLE, size=10, advance=10)
    events: list[Any] = [
        {"op": "add", "rows": [row(1, 1)]},
        {"op": "flush"},
        {"op": "add", "rows": [row(12, 2)]},
        {"op": "restart"},
        {"op": "add", "rows": [row(12, 2)]},
    ]
    outputs = [one["outputs"] for one in run_retained(settings, events, [F.sum("value").alias("s")])]
    assert outputs[2] == outputs[4] != []


def test_a_reset_returns_to_the_checkpoint() -> None:
    settings = AggregatorSettings(**WHOLE, size=10, session_key="k")
    first, second = row(1, 1, k="a"), row(2, 5, k="a")
    events: list[Any] = [
        {"op": "add", "rows": [first]},
        {"op": "checkpoint"},
        {"op": "add", "rows": [second]},
        {"op": "reset"},
        {"op": "add", "rows": [row(90, 1, k="b")]},
    ]
    [*_, last] = run_retained(settings, events, [F.sum("value").alias("s")], types={"value": "double"})
    assert [(one["session_key"], one["value"]) for one in last["outputs"]] == [("a", {"s": 1.0})]


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ({"op": "watermark", "to": 1}, r"an event is one of \{'op': 'add', 'rows': Ellipsis\}"),
        ({"op": "add"}, "an event is one of"),
        ({"op": "clock", "to": 1, "side": "left"}, "an event is one of"),
        ("add", "an event is one of"),
        ({"op": "add", "rows": {"event_time": 1}}, r"events\[0\]\.rows=.* rows are a list of dicts"),
        ({"op": "add", "rows": [1]}, "rows are a list of dicts"),
    ],
)
def test_malformed_events_are_refused(event: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        run_retained(SETTINGS, [event], [F.max("value").alias("m")])


def test_settings_are_checked() -> None:
    with pytest.raises(SpecError):
        run_retained(SETTINGS, [{"op": "add", "rows": [{"event_time": 1}]}], [F.max("value").alias("m")])
