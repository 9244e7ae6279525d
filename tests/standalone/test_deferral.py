"""Messages and readings of clocks that are evaluated later have the outputs of those evaluated at once."""

import tempfile
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panewise import (
    AfterAll,
    AfterEventTime,
    AfterEventTimeDelay,
    AfterProcessingTime,
    AfterSilence,
    AfterWatermark,
    Always,
    Cumulating,
    Every,
    Hopping,
    Session,
    StreamTime,
    Tumbling,
    WindowOperator,
    rows,
)
from panewise import functions as F
from panewise.errors import AggregateOverflowError, InputError
from panewise.standalone import AsyncOperator, Callbacks, Emission, StandaloneOperator
from panewise.stores import WindowStore
from panewise.testing.strategies import events, specs, types_of
from tests.engine.effort import examples
from tests.standalone.test_operator import SPEC, TYPES, message, totals

AGGREGATES = [F.sum("v"), F.count(), F.count("v").alias("n"), F.min("v"), F.max("v"), F.max("k").alias("m")]
# Of these no result depends on the order or the grouping of the rows, as the values are small quarters.
OF_DOUBLES = [F.sum("x"), F.avg("x"), F.max("x"), F.median("x"), F.count_distinct("x"), F.top_n("x", 2)]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def content(emission: Emission) -> Any:
    tables = (emission.rows, emission.late, emission.invalid)
    numbers = (emission.step, emission.first_row, emission.first_late, emission.first_invalid)
    return [repr(table.rows()) for table in tables], numbers, emission.input, emission.misfits


def observed(operator: StandaloneOperator, event: Any) -> Any:
    """Does what an event says; returns what can be seen of it, or the error."""
    try:
        return seen(operator, event)
    except (AggregateOverflowError, InputError) as error:
        return repr(error)


def seen(operator: StandaloneOperator, event: Any) -> Any:
    match event:
        case int():
            operator.advance(watermark=event)
        case ("clocks", now, watermark):
            operator.advance(clock=now, watermark=watermark)
        case ("batch", rows):
            operator.add_batch(pl.DataFrame(rows, operator._core.schemas["input"]))
        case ("checkpoint" | "reset" as action, name):
            getattr(operator.life_cycle, action)(name)
        case "clocks":
            return operator.watermark, operator.clock
        case ("clock", now):
            operator.timeout(now)
        case "finish":
            operator.finish()
        case "look":
            return operator.counts, operator.live().rows(), operator.positions()
        case "result":
            return [content(one) for one in operator.get_result()]
        case "drain":
            return [content(one) for one in operator.drain()]
        case _:
            try:
                operator.add_message(event, position=("p", 0, event.get("v") if event.get("v") == 1 else 0))
            except Exception as error:
                return repr(error)
    return None


def agree(spec: Any, types: Any, script: Sequence[Any], **options: Any) -> StandaloneOperator:
    """Asserts that an operator shows the same after each event as one that defers nothing."""
    deferring, plain = (StandaloneOperator(spec, types, **options) for _ in range(2))
    plain._core.deferral._ends = None  # each message is evaluated at once
    for event in [*script, "result", "clocks", "look"]:
        assert repr(observed(deferring, event)) == repr(observed(plain, event)), event  # NaN equals NaN
    assert observed(deferring, "finish") == observed(plain, "finish")
    assert repr([*map(content, deferring.drain())]) == repr([*map(content, plain.drain())])
    return deferring


VALUES = st.one_of(
    st.integers(-5, 5), st.sampled_from([None, 2**62, -(2**62), 2**63 - 1, 2**63, 2.0, "x", True, -(2**63)])
)
MESSAGES = st.fixed_dictionaries(
    {"event_time": st.one_of(st.integers(-5, 40), st.sampled_from([None, "x", 2**63, 2**62, -(2**63)]))},
    optional={"k": st.sampled_from(["a", "b", None, 1]), "v": VALUES},
)
CLOCKS = st.tuples(st.just("clocks"), st.integers(0, 40), st.one_of(st.none(), st.integers(-5, 45)))
EVENTS = st.one_of(
    MESSAGES,
    MESSAGES,
    MESSAGES,
    st.integers(0, 40),
    CLOCKS,
    st.tuples(st.just("clock"), st.integers(0, 40)),
    st.sampled_from(["look", "result", "drain", "look", "drain", "clocks", "finish"]),
)
WINDOWS = [
    Tumbling(10),
    Hopping(20, 5),
    Hopping(7, 3, origin=2),
    Tumbling(7, origin=3),
    Cumulating(20, step=5),
    Session(6),
    Session(6, closed="both"),
    Session(6, touching="merge"),
]


@pytest.mark.filterwarnings("ignore::panewise.errors.SpecWarning")
@pytest.mark.parametrize("window", WINDOWS)
@examples(25)
@given(late=st.sampled_from([None, Always()]), null_keys=st.booleans(), script=st.lists(EVENTS, max_size=14))
def test_outputs_are_the_same(window: Any, late: Any, null_keys: bool, script: list[Any]) -> None:
    """semantics 31.1, 31.2, 31.7: outputs, numbers, counts, clocks, live windows and errors."""
    spec = WindowOperator(
        window=window,
        keys=["k"],
        aggregates=AGGREGATES,
        null_keys=null_keys,
        trigger=AfterWatermark(late=late),
        allowed_lateness=8,
    )
    assert StandaloneOperator(spec, TYPES).evaluation == "deferred"
    agree(spec, TYPES, script)


TIMED = {"k": "string", "event_time": "timestamp", "x": "double", "other": "array<int>"}
TIMES = st.one_of(st.integers(-5, 40), st.integers(-5, 40).map(lambda us: EPOCH + timedelta(microseconds=us)))
OF_TIMED = st.fixed_dictionaries(
    {
        "event_time": st.one_of(TIMES, st.sampled_from([None, "1970-01-01", datetime(1970, 1, 1), True])),  # noqa: DTZ001
        "k": st.sampled_from(["a", "b"]),
        "x": st.one_of(
            st.integers(-9, 9).map(lambda n: n / 4), st.sampled_from([None, float("nan"), 3, "x"])
        ),
    },
    optional={"other": st.sampled_from([[1, None], [], None, ["x"]])},
)
BATCHES = st.lists(
    st.fixed_dictionaries({"k": st.sampled_from(["a", "b"]), "event_time": st.integers(0, 40)}), max_size=3
)
STEPS = st.one_of(
    OF_TIMED,
    OF_TIMED,
    OF_TIMED,
    st.integers(0, 40),
    CLOCKS,
    st.tuples(st.just("batch"), BATCHES),
    st.tuples(st.sampled_from(["checkpoint", "reset"]), st.just("one")),
    st.sampled_from(["look", "drain", "clocks"]),
)
LATE = [
    *(Always(), Every(7), AfterProcessingTime(5), AfterEventTime(4), AfterSilence(5), AfterEventTimeDelay(6)),
    AfterAll(AfterEventTime(4), AfterEventTime(3)),
    AfterAll(AfterSilence(3), AfterEventTimeDelay(9)),
]


@pytest.mark.filterwarnings("ignore::panewise.errors.SpecWarning")
@pytest.mark.parametrize("window", [Hopping(20, 5), Cumulating(20, step=5), Session(6)])
@pytest.mark.parametrize("stored", [False, True])
@examples(20)
@given(
    late=st.sampled_from(LATE),
    watermark=st.sampled_from([None, StreamTime(5, per="all")]),
    script=st.lists(STEPS, max_size=14),
)
def test_other_columns_triggers_and_steps(
    window: Any, late: Any, watermark: Any, stored: bool, script: list[Any]
) -> None:
    """semantics 12.10, 31.1, 31.2, 33.2, 33.3: doubles, instants, stores, batches, checkpoints, resets."""
    spec = WindowOperator(
        window=window,
        keys=["k"],
        aggregates=OF_DOUBLES,
        watermark=watermark,
        trigger=AfterWatermark(late=late),
        allowed_lateness=8,
        accumulation="retracting",
    )
    assert StandaloneOperator(spec, TIMED).evaluation == "deferred"
    script = [("checkpoint", "one"), *script]
    if not stored:
        agree(spec, TIMED, script)
        return
    with tempfile.TemporaryDirectory() as folder:
        deferring, plain = (StandaloneOperator(spec, TIMED, store=Path(folder) / name) for name in "ab")
        plain._core.deferral._ends = None  # each message is evaluated at once
        for event in [*script, "look"]:
            assert repr(observed(deferring, event)) == repr(observed(plain, event)), event
        assert [*map(repr, map(content, deferring.flush()))] == [*map(repr, map(content, plain.flush()))]
        for operator in (deferring, plain):
            operator.close()
        found, wanted = (StandaloneOperator(spec, TIMED, store=Path(folder) / name) for name in "ab")
        assert found.live().rows() == wanted.live().rows()
        assert (found.watermark, found.clock) == (wanted.watermark, wanted.clock)
        for operator in (found, wanted):
            operator.close()


@pytest.mark.filterwarnings("ignore::panewise.errors.SpecWarning")
@examples(40)
@given(data=st.data())
def test_other_operators_are_the_same(data: st.DataObject) -> None:
    spec = data.draw(specs(data.draw(st.sampled_from(["tumbling", "hopping"]))))
    spec = replace(spec, position=None) if spec.position else spec
    rows = [row for event in data.draw(events(spec)) for row in event.get("rows", ())]
    types = types_of(spec)
    agree(
        spec, types, [{name: value for name, value in row.items() if name != "position"} for row in rows[:12]]
    )


EACH = WindowStore(1_000, 10)


@pytest.mark.parametrize(
    ("spec", "options", "evaluation"),
    [
        (SPEC, {}, "deferred"),
        (SPEC, {"buffer": 2}, "batched"),
        (SPEC, {"buffer": None, "materialize": EACH}, "batched"),
        (SPEC, {"materialize": EACH}, "each"),
        (replace(SPEC, trigger=AfterWatermark(early=Always())), {}, "direct"),
        (replace(SPEC, trigger=AfterWatermark(early=Every(3))), {}, "each"),
        (replace(SPEC, aggregates=[F.first("v")]), {}, "each"),
        (replace(SPEC, window=Tumbling(rows(2))), {}, "each"),
    ],
)
def test_an_operator_says_how_it_evaluates(spec: Any, options: Any, evaluation: str) -> None:
    """semantics 31.30"""
    assert StandaloneOperator(spec, TYPES, **options).evaluation == evaluation
    assert AsyncOperator(spec, TYPES, **options).evaluation == evaluation


def test_messages_wait_until_something_needs_them() -> None:
    operator = StandaloneOperator(SPEC, TYPES)
    buffer = operator._core.buffer
    for _ in range(3):
        operator.add_message(message(1))
    operator.advance(watermark=5, clock=3)
    assert (operator.drain(), operator.watermark, operator.clock) == ([], 5, 3)
    assert buffer.steps == 4
    assert operator.counts["input"].applied == 3
    assert buffer.steps == 0
    operator.add_message(message(6))
    operator.add_batch(pl.DataFrame([message(6)]))
    assert buffer.steps == 0
    operator.add_message(message(6))
    operator.advance(watermark=10)
    assert buffer.steps == 0
    assert [emission.step for emission in operator.drain()] == [8]


def test_rows_that_move_the_watermark_wait_until_it_completes_a_window() -> None:
    """semantics 12.10"""
    operator = StandaloneOperator(replace(SPEC, watermark=StreamTime(2, per="all")), TYPES)
    for time in (1, 9, 11, 3):
        operator.add_message(message(time))
    assert (operator._core.buffer.steps, operator.watermark, operator.drain()) == (4, 9, [])
    operator.advance(watermark=100, clock=7)
    assert (operator._core.buffer.steps, operator.watermark, operator.clock) == (5, 9, 7)
    operator.add_message(message(12))
    assert (operator._core.buffer.steps, operator.watermark) == (0, 10)
    assert totals(operator.drain()) == [3]


def test_rows_wait_for_nothing_if_the_stream_may_be_idle() -> None:
    """The clock completes windows there (semantics 12.12)."""
    operator = StandaloneOperator(replace(SPEC, watermark=StreamTime(2, per="all", idle_after=5)), TYPES)
    operator.advance(clock=0)
    operator.add_message(message(1))
    operator.advance(clock=20)
    assert totals(operator.drain()) == [1]


def test_a_row_behind_the_watermark_waits_if_its_windows_are_open() -> None:
    operator = StandaloneOperator(SPEC, TYPES)
    operator.advance(watermark=5)
    operator.add_message(message(1))
    assert operator._core.buffer.steps == 2
    operator.advance(watermark=9)
    operator.add_message(message(9))
    assert operator._core.buffer.steps == 4
    operator.advance(watermark=10)
    operator.add_message(message(9))
    assert operator._core.buffer.steps == 0


@pytest.mark.parametrize(("rows", "commits"), [(1, 6), (4, 2)])
def test_in_automatic_mode_no_more_steps_wait_than_are_committed_together(rows: int, commits: int) -> None:
    """semantics 31.3"""
    written = list[str]()
    with tempfile.TemporaryDirectory() as folder:
        options: dict[str, Any] = {"mode": "automatic", "downstream": lambda emission: None}
        callbacks = Callbacks(write=written.append)
        with StandaloneOperator(
            SPEC, TYPES, store=folder, commit_rows=rows, callbacks=callbacks, **options
        ) as operator:
            for time in range(4):
                operator.add_message(message(time), position=("p", 0, time))
            operator.advance(watermark=2)
            operator.advance(watermark=10)
            operator.flush()
        assert written.count("position") == commits
        with StandaloneOperator(SPEC, TYPES, store=folder, **options) as operator:
            assert operator.positions() == [("p", 0, 3)]


def test_sums_that_do_not_fit_may_wait() -> None:
    """semantics 24.3, 31.7: the step that emits the sum raises, and no other."""
    spec = WindowOperator(window=Tumbling(10), keys=["k"], aggregates=[F.sum("v")])
    script = [{"k": "a", "event_time": 1, "v": 2**61} for _ in range(6)]
    agree(spec, TYPES, [*script, 10, *({**one, "event_time": 11} for one in script)])


@pytest.mark.filterwarnings("ignore::panewise.errors.SpecWarning")
def test_a_row_that_reaches_a_complete_session_is_evaluated_at_once() -> None:
    """semantics 9.1, 13.2: it retracts the pane of the session, or is late for a closed one."""
    for late in (None, Always()):
        spec = WindowOperator(
            window=Session(6),
            keys=["k"],
            aggregates=AGGREGATES,
            trigger=AfterWatermark(late=late),
            allowed_lateness=8,
            accumulation="retracting",
        )
        agree(spec, TYPES, [message(1), 7, "drain", message(5), "drain", message(20), 11, "drain"])


@pytest.mark.parametrize("late", [AfterProcessingTime(5), AfterSilence(5)])
def test_a_clock_that_fires_late_rows_does_not_wait(late: Any) -> None:
    spec = WindowOperator(
        window=Tumbling(10),
        aggregates=AGGREGATES,
        trigger=AfterWatermark(late=late),
        allowed_lateness=100,
    )
    script = [
        message(1),
        10,
        "drain",
        message(2),
        message(3),
        ("clocks", 4, 11),
        "drain",
        ("clock", 9),
        "drain",
    ]
    agree(spec, TYPES, [*script, message(4), ("clocks", 20, None), "drain"])


@pytest.mark.parametrize(
    "late",
    [
        AfterAll(AfterEventTime(7), AfterEventTime(5)),
        AfterAll(AfterEventTimeDelay(13), AfterEventTimeDelay(14)),
    ],
)
def test_a_watermark_that_fires_late_rows_does_not_wait(late: Any) -> None:
    """semantics 16.10, 31.1: the watermark 14 makes one part ready; the other one, at 15, fires."""
    spec = WindowOperator(
        window=Tumbling(10),
        aggregates=AGGREGATES,
        trigger=AfterWatermark(late=late),
        allowed_lateness=100,
    )
    script = [message(1), 10, "drain", message(1), 14, "drain", 15]
    operator = agree(spec, TYPES, [*script, "drain", message(2), 50, "drain"])
    for event in script:
        observed(operator, event)
    assert operator._core.buffer.steps == 0


@pytest.mark.parametrize(("kind", "value"), [("bigint", 2**62), ("decimal(38,0)", Decimal("6" * 38))])
@pytest.mark.parametrize("window", [Tumbling(10), Session(6)])
def test_messages_wait_whatever_their_sums_are(window: Any, kind: str, value: Any) -> None:
    aggregates = [F.sum("v").alias("total"), F.avg("v").alias("mean")]
    types = {**TYPES, "v": kind}
    operator = StandaloneOperator(replace(SPEC, window=window, aggregates=aggregates), types)
    less = value.copy_negate() if isinstance(value, Decimal) else -value
    for one in (value, value, less, less, less, 0 * value, value):
        operator.add_message({**message(41), "v": one})
    assert operator._core.buffer.size == 7
    operator.finish()
    assert totals(operator.drain()) == [0]


def test_a_reset_counts_the_messages_that_it_discards() -> None:
    """semantics 33.3: counts continue."""
    operator = StandaloneOperator(SPEC, TYPES)
    operator.add_message(message(1))
    operator.life_cycle.checkpoint("one")
    operator.add_message(message(1))
    operator.life_cycle.reset("one")
    operator.add_message(message(1))
    operator.life_cycle.reset_to_initial()
    assert operator.counts["input"].applied == 3


def test_a_misfit_in_a_column_that_is_not_read_is_emitted_at_once() -> None:
    """semantics 31.1: emissions have the numbers of their steps."""
    types = {**TYPES, "other": "bigint", "text": "string", "share": "double"}
    good = {**message(1), "other": 1, "text": "a", "share": 0.5}
    script = [good, {**good, "other": "x"}, {**good, "other": 2**63}, {**good, "text": "\ud800"}, good]
    agree(SPEC, types, script)


def test_event_times_that_are_far_away_do_not_wait() -> None:
    spec = WindowOperator(window=Tumbling(10), aggregates=[F.sum("event_time").alias("s")])
    agree(spec, TYPES, [message(2**61) for _ in range(5)])


def test_what_a_caller_changes_in_a_nested_value_has_no_effect() -> None:
    """semantics 31.9"""
    types = {**TYPES, "lists": "array<int>", "struct": "struct<a:array<int>>"}
    operator = StandaloneOperator(SPEC, types)
    values: dict[str, Any] = {"lists": [1], "struct": {"a": [1]}}
    operator.add_message({**message(1), **values})
    values["lists"].append("x")
    values["struct"]["a"].append("x")
    operator.finish()
    assert [emission.misfits for emission in operator.drain()] == [()]


@pytest.mark.parametrize("values", [(1, timedelta(1)), (timedelta(1), 1), (EPOCH,)])
def test_values_that_fit_only_one_by_one_do_not_wait(values: tuple[Any, ...]) -> None:
    """semantics 31.1, 31.7: a message is a batch of its own, and its own call raises."""
    types = {**TYPES, "other": pl.Duration("us"), "lists": pl.List(pl.Struct({"a": pl.Duration("us")}))}
    script = [{**message(1), "other": value, "lists": [{"a": value}]} for value in values]
    agree(SPEC, types, [*script, 10, "drain"])


def test_a_closed_operator_has_counted_all_messages(tmp_path: Path) -> None:
    """semantics 31.1: also those that find their window in the store, which is closed."""
    spec = WindowOperator(window=Tumbling(10), keys=["k"], aggregates=[F.count()])
    with StandaloneOperator(spec, TYPES, store=tmp_path) as operator:
        operator.add_message(message(1))
        operator.flush()
    with StandaloneOperator(spec, TYPES, store=tmp_path) as operator:
        operator.add_message(message(2), position=("p", 0, 7))
    assert operator.counts["input"].applied == 2
    assert operator.positions() == [("p", 0, 7)]
    assert operator.live()["pending"].to_list() == [2]


def test_mappings_that_are_no_dicts_wait() -> None:
    operator = StandaloneOperator(SPEC, TYPES)
    for kind in (OrderedDict, MappingProxyType):
        operator.add_message(kind(message(1)))
    assert operator._core.buffer.size == 2
