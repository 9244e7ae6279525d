"""Messages added without a step of the engine have the outputs, and leave the state, of such steps."""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panewise import (
    AfterCount,
    AfterWatermark,
    Always,
    Cumulating,
    Hopping,
    Session,
    Tumbling,
    WindowOperator,
)
from panewise import functions as F
from panewise.standalone import StandaloneOperator
from panewise.standalone.direct_path import DirectPath
from tests.engine.effort import examples
from tests.standalone.test_deferral import content, observed

TYPES = {"k": "string", "event_time": "bigint", "v": "bigint", "x": "double", "s": "string"}
AGGREGATES = [
    *(F.count(), F.count("v").alias("n"), F.sum("v"), F.avg("v"), F.min("v"), F.max("v")),
    *(F.first("v"), F.last("v"), F.first("s", ignorenulls=True), F.last("s", ignorenulls=True).alias("l")),
    *(F.sum("x").alias("sx"), F.avg("x").alias("ax"), F.min("x").alias("mx"), F.max("s").alias("ms")),
]
WINDOWS = [
    *(Tumbling(10), Tumbling(7, origin=3), Hopping(20, 5), Cumulating(20, step=5)),
    *(Session(6), Session(6, closed="both"), Session(6, touching="merge")),
]
TRIGGERS = [
    *(Always(), AfterWatermark(early=Always()), AfterWatermark(early=AfterCount(2))),
    *(AfterWatermark(early=Always(), late=Always()), AfterWatermark(early=AfterCount(3), late=AfterCount(2))),
]
VALUES = st.one_of(st.integers(-5, 5), st.sampled_from([None, 2**62, -(2**62), 2**63, 2.0, "x", True]))
DOUBLES = st.sampled_from([None, 0.5, -1.25, 3.0, 0.0, -0.0, float("nan"), float("inf"), 3, "x"])
TIMES = st.one_of(st.integers(-5, 40), st.integers(-5, 40), st.sampled_from([None, "x", 2**62, -(2**63)]))
MESSAGES = st.fixed_dictionaries(
    {"event_time": TIMES, "k": st.sampled_from(["a", "b", None, 1])},
    optional={"v": VALUES, "x": DOUBLES, "s": st.sampled_from(["p", "q", None, 1])},
)
CLOCKS = st.tuples(st.just("clocks"), st.integers(0, 40), st.one_of(st.none(), st.integers(-5, 45)))
BATCH = st.lists(
    st.fixed_dictionaries({"k": st.sampled_from(["a", "b"]), "event_time": st.integers(0, 40)}), max_size=3
)
EVENTS = st.one_of(
    *(MESSAGES, MESSAGES, MESSAGES, MESSAGES, st.integers(0, 40), CLOCKS),
    st.tuples(st.just("clock"), st.integers(0, 40)),
    st.tuples(st.just("batch"), BATCH),
    st.tuples(st.sampled_from(["checkpoint", "reset"]), st.just("one")),
    st.sampled_from(["look", "result", "drain", "drain", "clocks", "restart", "finish"]),
)


def stored_windows(operator: StandaloneOperator) -> Any:
    """Returns the rows of the window table, after what waits has been moved there."""
    operator.live()
    windows = operator._core.host.operator.state.windows.all()
    return repr(sorted(windows.rows(), key=repr))


def step_each(operator: StandaloneOperator) -> None:
    """Evaluates each message of an operator by a step of the engine from now on."""
    operator._core.flush_records()
    operator._core.records = DirectPath()


def restarted(operator: StandaloneOperator, spec: Any, types: Any, store: Path) -> Any:
    """Returns what a commit emits, and an operator that goes on from it."""
    emitted = [content(emission) for emission in operator.flush()]
    operator.close()
    return emitted, StandaloneOperator(spec, types, store=store)


def agree(
    spec: Any,
    types: Any,
    script: Sequence[Any],
    shown_by: Callable[[StandaloneOperator, Any], Any] = observed,
    stored: Callable[[StandaloneOperator], Any] = stored_windows,
) -> None:
    """Asserts that an operator shows the same after each event as one that makes a step of each message."""
    with tempfile.TemporaryDirectory() as folder:
        stores = [Path(folder) / name for name in ("direct", "stepping")]
        operators = [StandaloneOperator(spec, types, store=store) for store in stores]
        assert operators[0].evaluation == "direct"
        for event in [("checkpoint", "one"), *script, "look", "restart", "look", "result", "clocks"]:
            step_each(operators[1])
            if event == "restart":
                pairs = [
                    restarted(operator, spec, types, store)
                    for operator, store in zip(operators, stores, strict=True)
                ]
                shown, operators = [emitted for emitted, _ in pairs], [operator for _, operator in pairs]
                step_each(operators[1])
            else:
                shown = [shown_by(operator, event) for operator in operators]
            assert repr(shown[0]) == repr(shown[1]), event  # NaN equals NaN
            if event in ("look", "restart"):
                assert stored(operators[0]) == stored(operators[1])
        for operator in operators:
            operator.close()


@pytest.mark.filterwarnings("ignore::panewise.errors.SpecWarning")
@pytest.mark.parametrize("window", WINDOWS)
@examples(20)
@given(
    trigger=st.sampled_from(TRIGGERS),
    keys=st.sampled_from([["k"], []]),
    few=st.one_of(st.none(), st.integers(0, len(AGGREGATES) - 2)),  # of few, results are often the same
    options=st.fixed_dictionaries(
        {
            "accumulation": st.sampled_from(["accumulating", "only_updated", "discarding", "retracting"]),
            "evaluate": st.sampled_from(["batch", "record"]),
            "allowed_lateness": st.sampled_from([0, 8]),
        },
        optional={
            "null_keys": st.booleans(),
            "timestamp": st.sampled_from(["end", "window_time"]),
            "on_time": st.sampled_from(["always", "if_pending"]),
        },
    ),
    script=st.lists(EVENTS, max_size=16),
)
def test_outputs_and_states_are_the_same(
    window: Any, trigger: Any, keys: list[str], few: int | None, options: dict[str, Any], script: list[Any]
) -> None:
    """semantics 31.31: outputs, numbers, counts, clocks, live windows and stored windows, with restarts."""
    if not isinstance(trigger, AfterWatermark):
        options.pop("on_time", None)
    compares = options["accumulation"] in ("only_updated", "retracting")
    if compares and isinstance(window, Session):
        options["accumulation"] = "accumulating"  # of such sessions each message is a step
    if options["accumulation"] == "only_updated":
        options |= {"accumulation": "accumulating", "only_updated": True}
    aggregates = AGGREGATES if few is None else AGGREGATES[few : few + 2]
    spec = WindowOperator(window=window, keys=keys, aggregates=aggregates, trigger=trigger, **options)
    agree(spec, TYPES, script)


def test_extremes_after_a_nan() -> None:
    """A step has stored a NaN, which Python's comparisons would keep."""
    of_doubles = [F.min("x").alias("low"), F.max("x").alias("high")]
    spec = WindowOperator(window=Tumbling(10), keys=["k"], aggregates=of_doubles, trigger=Always())
    operator = StandaloneOperator(spec, TYPES)
    for x in (float("nan"), 3.0, -1.0):
        operator.add_message({"k": "a", "event_time": 3, "x": x})
    panes = [pane for emission in operator.drain() for pane in emission.dicts()]
    assert [pane["low"] for pane in panes[1:]] == [3.0, -1.0]
    assert [str(pane["high"]) for pane in panes] == ["nan"] * 3


def test_a_message_makes_no_step_of_the_engine() -> None:
    """semantics 31.30, 31.31"""
    spec = WindowOperator(
        window=Tumbling(10), keys=["k"], aggregates=[F.sum("v").alias("total")], trigger=TRIGGERS[1]
    )
    operator = StandaloneOperator(spec, TYPES)
    before = operator._core.host.operator.state
    for v in (1, 2):
        operator.add_message({"k": "a", "event_time": 3, "v": v})
    operator.advance(watermark=5, clock=7)
    first, second = operator.drain()
    assert operator._core.host.operator.state is before
    assert first.dicts() == first.rows.to_dicts()
    assert [pane["total"] for pane in second.dicts()] == [3]
    assert (second.step, second.first_row, operator.watermark, operator.clock) == (2, 2, 5, 7)
    assert operator.counts["input"].applied == 2
    operator.advance(watermark=10)
    (last,) = operator.drain()
    assert last.dicts() == last.rows.to_dicts()
    assert (last.step, last.first_row) == (4, 3)
