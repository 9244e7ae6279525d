"""Messages that are evaluated later have the outputs of messages that are evaluated at once."""

from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panewise import AfterWatermark, Always, Hopping, Tumbling, WindowOperator
from panewise import functions as F
from panewise.standalone import Emission, StandaloneOperator
from panewise.testing.strategies import events, specs, types_of
from tests.engine.effort import examples
from tests.standalone.test_operator import SPEC, TYPES, message

AGGREGATES = [F.sum("v"), F.count(), F.count("v").alias("n"), F.min("v"), F.max("v"), F.max("k").alias("m")]


def content(emission: Emission) -> Any:
    tables = (emission.rows, emission.late, emission.invalid)
    numbers = (emission.step, emission.first_row, emission.first_late, emission.first_invalid)
    return [repr(table.rows()) for table in tables], numbers, emission.port, emission.misfits


def observed(operator: StandaloneOperator, event: Any) -> Any:
    """Does what an event says; returns what can be seen of it, or the error."""
    match event:
        case int():
            operator.advance(watermark=event)
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


def agree(spec: Any, types: Any, script: list[Any]) -> None:
    """Asserts that an operator shows the same after each event as one that defers nothing."""
    deferring, plain = (StandaloneOperator(spec, types) for _ in range(2))
    plain._deferral.stop()
    for event in [*script, "result", "look"]:
        assert repr(observed(deferring, event)) == repr(observed(plain, event)), event  # NaN equals NaN
    for operator in (deferring, plain):
        operator.finish()
    assert repr([*map(content, deferring.drain())]) == repr([*map(content, plain.drain())])


VALUES = st.one_of(
    st.integers(-5, 5), st.sampled_from([None, 2**62, -(2**62), 2**63 - 1, 2**63, 2.0, "x", True, -(2**63)])
)
MESSAGES = st.fixed_dictionaries(
    {"event_time": st.one_of(st.integers(-5, 40), st.sampled_from([None, "x", 2**63, 2**62, -(2**63)]))},
    optional={"k": st.sampled_from(["a", "b", None, 1]), "v": VALUES},
)
EVENTS = st.one_of(
    MESSAGES,
    MESSAGES,
    MESSAGES,
    st.integers(0, 40),
    st.tuples(st.just("clock"), st.integers(0, 40)),
    st.sampled_from(["look", "result", "drain", "look", "drain", "finish"]),
)


@pytest.mark.filterwarnings("ignore::panewise.errors.SpecWarning")
@pytest.mark.parametrize("window", [Tumbling(10), Hopping(20, 5), Tumbling(7, origin=3)])
@pytest.mark.parametrize("late", [None, Always()])
@pytest.mark.parametrize("null_keys", [True, False])
@examples(15)
@given(script=st.lists(EVENTS, max_size=14))
def test_outputs_are_the_same(window: Any, late: Any, null_keys: bool, script: list[Any]) -> None:
    """semantics 31.1, 31.2, 31.7: outputs, numbers, counts, live windows and errors."""
    spec = WindowOperator(
        window=window,
        keys=["k"],
        aggregates=AGGREGATES,
        null_keys=null_keys,
        trigger=AfterWatermark(late=late),
        allowed_lateness=8,
    )
    assert StandaloneOperator(spec, TYPES)._deferral.takes(message(1), _Clocks())
    agree(spec, TYPES, script)


class _Clocks:
    instant_watermark = None
    finished = False


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


def test_messages_wait_until_something_needs_them() -> None:
    operator = StandaloneOperator(SPEC, TYPES)
    buffer = operator._driver.buffer
    for _ in range(3):
        operator.add_message(message(1))
    assert buffer.size == 3
    assert operator.counts["input"].applied == 3
    assert buffer.size == 0
    operator.add_message(message(1))
    operator.add_batch(pl.DataFrame([message(1)]))
    operator.add_message(message(1))
    assert buffer.size == 0


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


def test_large_numbers_that_are_not_summed_may_wait() -> None:
    spec = WindowOperator(window=Tumbling(10), keys=["k"], aggregates=[F.count().alias("n"), F.max("v")])
    operator = StandaloneOperator(spec, {**TYPES, "k": "bigint"})
    for number in range(5):
        operator.add_message({"k": 2**62 + number, "v": -(2**62), "event_time": 1})
    assert operator._driver.buffer.size == 5


def test_sums_of_event_times_may_overflow() -> None:
    spec = WindowOperator(window=Tumbling(10), aggregates=[F.sum("event_time").alias("s")])
    agree(spec, TYPES, [message(2**61) for _ in range(5)])
