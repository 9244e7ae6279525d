"""Tests of the oracle: cases that transcripts cannot express, and properties that hold for any input."""

import random
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from panewise import (
    AfterCount,
    AfterWatermark,
    Always,
    Every,
    Global,
    Hopping,
    Session,
    Tumbling,
    WindowOperator,
)
from panewise import functions as F
from panewise.errors import InputError, SpecWarning
from panewise.oracle import Interpreter
from panewise.spec import Cumulating
from panewise.testing import run


def spec(window: Any = None, **arguments: Any) -> WindowOperator:
    aggregates = arguments.pop("aggregates", [F.sum("v").alias("total"), F.count().alias("n")])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SpecWarning)
        return WindowOperator(
            window=window or Tumbling(10), event_time="t", aggregates=aggregates, **arguments
        )


def brief(panes: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [(pane["window_end"], pane["total"], pane["timing"], pane["op"]) for pane in panes]


def test_a_pane_is_flat_and_complete() -> None:
    oracle = Interpreter(spec(keys=["k"]))
    oracle.add([{"t": 1, "k": "a", "v": 1}])
    assert oracle.watermark(10)["panes"] == [
        {
            "k": "a",
            "window_start": 0,
            "window_end": 10,
            "total": 1,
            "n": 1,
            "timing": "ON_TIME",
            "index": 0,
            "nonspeculative_index": 0,
            "is_first": True,
            "is_last": True,
            "op": "+",
            "processing_time": 0,
        }
    ]


def test_clock_and_watermark_together_are_one_evaluation() -> None:
    trigger = AfterWatermark(early=Every(10), late=Always())
    oracle = Interpreter(spec(trigger=trigger, accumulation="retracting", allowed_lateness=5))
    oracle.add([{"t": 1, "v": 1}])
    answer = oracle.advance(10, 10)
    assert brief(answer["panes"]) == [(10, 1, "ON_TIME", "+")]
    assert answer["panes"][0]["processing_time"] == 10


def test_advance_leaves_what_is_not_given() -> None:
    """`advance` does not move a clock or watermark that is None."""
    oracle = Interpreter(spec())
    oracle.add([{"t": 1, "v": 1}])
    assert oracle.advance(5, None)["panes"] == []
    assert oracle.advance(None, 10)["panes"][0]["processing_time"] == 5


def test_windows() -> None:
    oracle = Interpreter(spec(keys=["k"], trigger=AfterCount(2)))
    oracle.add(
        [
            {"t": 11, "k": "a", "v": 1},
            {"t": 1, "k": "b", "v": 1},
            {"t": 2, "k": "b", "v": 1},
            {"t": 1, "k": "a", "v": 1},
        ]
    )
    assert oracle.windows() == [
        {"k": "a", "window_start": 0, "window_end": 10, "pending": 1, "closed": False},
        {"k": "b", "window_start": 0, "window_end": 10, "pending": 0, "closed": True},
        {"k": "a", "window_start": 10, "window_end": 20, "pending": 1, "closed": False},
    ]


def test_adding_after_finish_is_an_error() -> None:
    oracle = Interpreter(spec())
    oracle.finish()
    assert oracle.finish()["panes"] == []
    with pytest.raises(
        InputError,
        match=r"rows after finish \| nothing is added after the end of input \| add the rows before finish",
    ):
        oracle.add([])


def test_a_closed_window_of_a_global_window_names_no_bounds() -> None:
    oracle = Interpreter(spec(Global(), trigger=AfterCount(1)))
    oracle.add([{"t": 1, "v": 1}])
    late = oracle.add([{"t": 2, "v": 1}])["late"]
    assert late == [
        {
            "row": {"t": 2, "v": 1},
            "reason": "closed",
            "windows": [[None, None]],
            "late_by": None,
            "partial": False,
        }
    ]


def test_a_closed_window_sends_nothing_when_it_expires() -> None:
    oracle = Interpreter(spec(trigger=AfterCount(1), closing="always", allowed_lateness=5))
    assert brief(oracle.add([{"t": 1, "v": 1}])["panes"]) == [(10, 1, "EARLY", "+")]
    assert oracle.watermark(15)["panes"] == []
    assert oracle.windows() == []


def test_a_row_that_meets_two_closed_sessions_names_both() -> None:
    oracle = Interpreter(spec(Session(10), trigger=AfterCount(1)))
    oracle.add([{"t": 16, "v": 1}, {"t": 0, "v": 1}])
    assert oracle.add([{"t": 8, "v": 1}])["late"][0]["windows"] == [[0, 10], [16, 26]]


def test_a_missing_column_is_null() -> None:
    oracle = Interpreter(spec(keys=["k"]))
    oracle.add([{"t": 1}])
    assert oracle.finish()["panes"][0] | {"k": 0} == {**oracle_pane(), "k": 0}
    assert oracle_pane()["k"] is None


def oracle_pane() -> dict[str, Any]:
    oracle = Interpreter(spec(keys=["k"]))
    oracle.add([{"t": 1, "v": None, "k": None}])
    return dict(oracle.finish()["panes"][0])


# Properties


def random_rows(generator: random.Random, n: int) -> list[dict[str, Any]]:
    return [
        {"t": generator.randrange(-20, 40), "k": generator.choice("ab"), "v": generator.randrange(5), "o": o}
        for o in range(n)
    ]


WINDOWS = [
    Tumbling(10),
    Hopping(10, 4, 3),
    Hopping(3, 10, gaps=True),
    Cumulating(12, 4),
    Session(5),
    Session(5, "merge"),
    Global(),
]
TRIGGERS = [
    AfterWatermark(early=Always(), late=Always()),
    AfterWatermark(early=AfterCount(2)),
    AfterCount(3),
    Always(),
]


def events(generator: random.Random) -> list[tuple[str, Any]]:
    watermark, found = -20, []
    for _ in range(8):
        watermark += generator.randrange(12)
        found += [("add", random_rows(generator, generator.randrange(6))), ("watermark", watermark)]
    return found


def each_seed(count: int, check: Callable[[int], None]) -> None:
    """Calls a check with each of these seeds. A failure names its seed."""
    for seed in range(count):
        try:
            check(seed)
        except Exception as error:
            error.add_note(f"seed {seed}")
            raise


@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_evaluation_after_each_row_is_batches_of_one_row(window: Any) -> None:
    each_seed(40, partial(assert_batches_of_one_row, window))


def assert_batches_of_one_row(window: Any, seed: int) -> None:
    generator = random.Random(seed)
    arguments: dict[str, Any] = {
        "keys": ["k"],
        "trigger": generator.choice(TRIGGERS),
        "accumulation": generator.choice(["discarding", "accumulating", "retracting"]),
        "allowed_lateness": 0 if isinstance(window, Global) else generator.choice([0, 7]),
    }
    one, other = (
        Interpreter(spec(window, evaluate="record", **arguments)),
        Interpreter(spec(window, **arguments)),
    )
    for name, value in events(generator):
        if name == "watermark":
            assert one.watermark(value) == other.watermark(value)
            continue
        answer = one.add(value)
        parts = [other.add([row]) for row in sorted(value, key=lambda row: row["t"])]
        for output in ("panes", "late", "invalid"):
            assert answer[output] == [item for part in parts for item in part[output]]
        assert answer["counts"]["applied"] == sum(part["counts"]["applied"] for part in parts)
        assert one.windows() == other.windows()
    assert one.finish() == other.finish()


@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_accumulation_modes_agree(window: Any) -> None:
    """Discarding and retracting mode emit the same number of rows, retractions subtracted.

    All rows are counted, and no row remains without a firing (semantics 15.1, 16.6, 21, 21.1).
    """
    each_seed(40, partial(assert_modes_agree, window))


def assert_modes_agree(window: Any, seed: int) -> None:
    totals = []
    for accumulation in ("discarding", "retracting"):
        generator = random.Random(seed)
        trigger = generator.choice(TRIGGERS[:2])
        oracle = Interpreter(spec(window, keys=["k"], accumulation=accumulation, trigger=trigger))
        panes: list[dict[str, Any]] = []
        for name, value in events(generator):
            answer = oracle.add(value) if name == "add" else oracle.watermark(value)
            counts = answer["counts"]
            assert counts["rows_in"] == sum(
                counts[part] for part in ("applied", "replays", "late", "invalid")
            )
            panes += answer["panes"]
        panes += oracle.finish()["panes"]
        assert oracle.windows() == []
        signs = {"+": 1, "-": -1}
        totals.append(
            {key: sum(signs[pane["op"]] * pane["n"] for pane in panes if pane["k"] == key) for key in "ab"}
        )
    assert totals[0] == totals[1]


def test_sessions_do_not_depend_on_order_as_far_as_nothing_is_late() -> None:
    """Sessions do not depend on arrival order if no row is late (semantics 9)."""
    each_seed(60, assert_sessions_do_not_depend_on_order)


def assert_sessions_do_not_depend_on_order(seed: int) -> None:
    generator = random.Random(seed)
    rows = random_rows(generator, 12)
    shuffled = generator.sample(rows, len(rows))
    touching = generator.choice(["separate", "merge"])
    one, other = (Interpreter(spec(Session(5, touching), keys=["k"])) for _ in range(2))
    one.add(rows)
    for row in shuffled:
        other.add([row])
    assert one.windows() == other.windows()
    assert one.finish()["panes"] == other.finish()["panes"]


def test_panes_windowed_again_are_in_the_windows_that_hold_theirs() -> None:
    """Panes windowed again by `window_time` are in the windows that contain their own ones (semantics 22.1).

    Panes windowed again by `end` are in the next windows.
    """
    hours = {}
    for timestamp in ("end", "window_time"):
        minutes = Interpreter(spec(timestamp=timestamp, trigger=Always()))
        panes = minutes.add([{"t": 51, "v": 1}, {"t": 9, "v": 2}])["panes"]
        again = Interpreter(
            WindowOperator(
                window=Tumbling(60),
                aggregates=[F.count().alias("n")],
                event_time="timestamp",
                trigger=Always(),
            )
        )
        hours[timestamp] = [(pane["window_start"], pane["n"]) for pane in again.add(panes)["panes"]]
    assert hours == {"end": [(0, 1), (60, 1)], "window_time": [(0, 2)]}


@pytest.mark.parametrize("timestamp", [None, "end", "window_time", "earliest", "latest"])
@pytest.mark.parametrize("delta", [False, True])
@pytest.mark.parametrize("runtime", ["oracle", "engine"])
def test_the_columns_of_a_pane_have_an_order(runtime: str, delta: bool, timestamp: Any) -> None:
    """The columns of a pane have the order of semantics 20.4 in oracle and engine."""
    fields: dict[str, Any] = {
        "timestamp": timestamp,
        "delta": delta,
        "accumulation": "retracting",
        "trigger": Always(),
    }
    spec = WindowOperator(window=Tumbling(10), keys=["k"], aggregates=[F.sum("v").alias("s")], **fields)
    events = [{"op": "add", "rows": [{"event_time": 1, "k": "a", "v": v}]} for v in (1, 2)]
    stamps = [
        ["timestamp"] if timestamp in names else []
        for names in (("end", "window_time"), ("earliest", "latest"))
    ]
    own = ["timing", "index", "nonspeculative_index", "is_first", "is_last", "op", "processing_time"]
    wanted = [
        "k",
        "window_start",
        "window_end",
        *stamps[0],
        "s",
        *stamps[1],
        *(["delta"] if delta else []),
        *own,
    ]
    panes = [pane for output in run(spec, events, runtime) for pane in output["panes"]]
    assert [list(pane) for pane in panes] == [wanted] * 3
