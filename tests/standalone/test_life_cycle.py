"""The life cycle: drain, checkpoints, resets, evictions and callbacks."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from panewise import (
    AfterProcessingTime,
    AfterWatermark,
    DeliveryDisabledError,
    InputError,
    StreamWindow,
    Tumbling,
    WindowOperator,
)
from panewise import functions as F
from panewise.standalone import (
    AggregatorSettings,
    Callbacks,
    Emission,
    StandaloneOperator,
    WindowedAggregator,
)
from panewise.streamwindow import count, time
from tests.standalone.test_operator import SPEC, TYPES, Downstream, automatic, message, totals

EARLY = WindowOperator(
    window=Tumbling(10),
    keys=["k"],
    aggregates=[F.sum("v").alias("total")],
    trigger=AfterWatermark(early=AfterProcessingTime(5)),
)


def retained(**options: Any) -> WindowedAggregator:
    settings = AggregatorSettings(measure="time", size=10, advance=10, retention_size=99, retention_time=100)
    return WindowedAggregator(settings, [F.sum("v").alias("total")], TYPES, **options)


BOTH = pytest.mark.parametrize("opened", [partial(StandaloneOperator, SPEC, TYPES), retained])


@BOTH
def test_callbacks(opened: Any, tmp_path: Path) -> None:
    """semantics 33.6: each is called after the operator has done its work."""
    calls: list[Any] = []
    callbacks = Callbacks(
        setup=lambda: calls.append("setup"),
        drained=lambda: calls.append("drained"),
        checkpoint=lambda name: calls.append(("checkpoint", name)),
        restored=lambda name: calls.append(("restored", name)),
        teardown=lambda: calls.append("teardown"),
    )
    with opened(store=tmp_path, callbacks=callbacks) as operator:
        operator.add_message(message(1))
        operator.life_cycle.drain()
        operator.life_cycle.checkpoint("one")
        operator.life_cycle.reset("one")
        operator.life_cycle.reset_to_initial()
        operator.flush()
    opened(store=tmp_path, callbacks=callbacks).close()
    first = ["setup", "drained", ("checkpoint", "one"), ("restored", "one"), ("restored", None), "teardown"]
    assert calls == [*first, "setup", ("restored", "commit"), "teardown"]


@BOTH
def test_errors(opened: Any) -> None:
    """semantics 33.5: names that are none, partitions, and calls of a closed operator."""
    operator = opened()
    with pytest.raises(
        InputError, match=r"^reset\('one'\) \| a reset returns to a checkpoint \| make it before"
    ):
        operator.life_cycle.reset("one")
    with pytest.raises(InputError, match=r"^'' \| a checkpoint has a name \| give a non-empty string"):
        operator.life_cycle.checkpoint("")
    with pytest.raises(InputError, match=r"^evict_partition\(\) \| only policy windows .* \| use a "):
        operator.life_cycle.evict_partition({"k": "a"})
    operator.close()
    for call in (operator.life_cycle.drain, operator.life_cycle.reset_to_initial):
        with pytest.raises(InputError, match="a closed operator"):
            call()


def test_a_checkpoint_is_refused_while_an_emission_waits() -> None:
    operator, downstream = automatic()
    downstream.accepts = False
    operator.add_message({"k": "a"})
    with pytest.raises(DeliveryDisabledError):
        operator.life_cycle.checkpoint("one")
    operator.life_cycle.reset_to_initial()
    assert operator.delivery_enabled


def test_drain_evaluates_and_delivers() -> None:
    """semantics 33.1: it returns whether nothing waits any more."""
    operator, downstream = automatic(buffer=None)
    operator.add_message(message(1, 3))
    operator.advance(watermark=10)
    operator.add_message(message(2))
    downstream.accepts = False
    assert operator.life_cycle.drain() is False
    assert operator.life_cycle.drain() is False
    downstream.accepts = True
    assert operator.life_cycle.drain() is True
    assert [one.late.height for one in downstream.received] == [0, 1]


@pytest.mark.parametrize("stored", [False, True])
def test_reset_returns_to_a_checkpoint(stored: bool, tmp_path: Path) -> None:
    """semantics 33.2, 33.3: state and positions return, numbers do not; what waits from before stays."""
    operator = StandaloneOperator(SPEC, TYPES, buffer=2, store=tmp_path if stored else None)
    operator.add_message(message(1, 1), position=("p", 0, 1))
    operator.life_cycle.checkpoint("empty window")
    operator.advance(watermark=10)
    operator.life_cycle.checkpoint("one")
    operator.add_message(message(12, 5), position=("p", 0, 2))
    operator.advance(watermark=20)
    operator.add_message(message(31), position=("p", 0, 3))
    operator.life_cycle.reset("one")
    assert operator.positions() == [("p", 0, 1)]
    [emission] = operator.get_result()
    assert totals([emission]) == [1]
    operator.add_message(message(12, 7))
    operator.finish()
    first, second = operator.flush()
    assert (first.first_row, second.first_row, totals([second])) == (1, 3, [7])
    operator.life_cycle.reset("empty window")
    assert operator.live()["pending"].to_list() == [1]


def test_a_checkpoint_in_a_store_survives_the_process(tmp_path: Path) -> None:
    """semantics 33.2"""
    with StandaloneOperator(SPEC, TYPES, store=tmp_path) as operator:
        operator.add_message(message(1, 1), position=("p", 0, 1))
        operator.life_cycle.checkpoint("one")
    with StandaloneOperator(SPEC, TYPES, store=tmp_path) as operator:
        assert operator.live().is_empty()
        operator.life_cycle.reset("one")
        assert operator.positions() == [("p", 0, 1)]
        operator.finish()
        assert totals(operator.drain()) == [1]


def test_what_is_due_at_a_reset_happens_at_once() -> None:
    """semantics 33.3: processing time does not turn back."""
    operator = StandaloneOperator(EARLY, TYPES)
    operator.advance(clock=100)
    operator.add_message(message(1, 1))
    operator.life_cycle.checkpoint("one")
    operator.advance(clock=104)
    operator.add_message(message(1, 2))
    assert operator.drain() == []
    operator.life_cycle.reset("one")
    assert operator.drain() == []
    operator.advance(clock=200)
    assert totals(operator.drain()) == [1]
    operator.life_cycle.reset("one")
    [emission] = operator.drain()
    assert (totals([emission]), operator.clock, emission.first_row) == ([1], 200, 2)


@pytest.mark.parametrize("stored", [False, True])
def test_reset_to_initial(stored: bool, tmp_path: Path) -> None:
    """semantics 33.4: nothing is emitted, and the clock stays."""
    operator = StandaloneOperator(EARLY, TYPES, store=tmp_path if stored else None)
    operator.advance(clock=100, watermark=5)
    operator.add_message(message(1, 1), position=("p", 0, 1))
    operator.flush()
    operator.life_cycle.reset_to_initial()
    assert operator.get_result() == []
    assert (operator.live().height, operator.clock, operator.watermark, operator.positions()) == (
        0,
        100,
        None,
        [],
    )
    operator.add_message(message(1, 7))
    operator.finish()
    assert totals(operator.flush()) == [7]


def test_policies_of_the_wall_clock_catch_up_after_a_reset() -> None:
    """semantics 10.22, 33.3: the overdue window is raised once, at the reset."""
    operator = StandaloneOperator(StreamWindow.tumbling(time(5)), {"v": "bigint"})
    operator.advance(clock=1)
    operator.add_message({"v": 1})
    operator.life_cycle.checkpoint("one")
    operator.advance(clock=100)
    operator.drain()
    operator.life_cycle.reset("one")
    events = [event for one in operator.drain() for event in one.rows["event"].to_list()]
    assert events == ["EVICTION"]


def test_partitions_are_evicted() -> None:
    """semantics 33.5, 10.23"""
    spec = StreamWindow.tumbling(count(3), partition_by=["k"])
    operator = StandaloneOperator(spec, {"k": "string", "v": "bigint"}, buffer=None)
    operator.add_message({"k": "a", "v": 1})
    operator.add_message({"k": "b", "v": 1})
    operator.life_cycle.evict_partition({"k": "a"})
    assert operator.live()["k"].to_list() == ["b"]
    events = [event for one in operator.drain() for event in one.rows["event"].to_list()]
    assert "PARTITION_EVICTION" in events


def test_a_reset_keeps_what_a_downstream_refused_before_the_checkpoint() -> None:
    """semantics 33.3: emissions of earlier steps are not lost."""
    downstream = Downstream()
    received: list[Emission] = downstream.received
    operator = StandaloneOperator(SPEC, TYPES, mode="automatic", downstream=downstream)
    operator.add_message(message(1, 1))
    operator.life_cycle.checkpoint("one")
    downstream.accepts = False
    operator.finish()
    operator.life_cycle.reset("one")
    assert operator.delivery_enabled
    downstream.accepts = True
    operator.finish()
    assert totals(received) == [1]


async def _nobody_awaits(*arguments: object) -> None: ...


@pytest.mark.parametrize("name", ["setup", "drained", "checkpoint", "restored", "teardown", "write"])
@pytest.mark.parametrize("function", [5, _nobody_awaits])
def test_a_callback_is_a_plain_function(name: str, function: Any) -> None:
    """semantics 33.6: otherwise it would never run."""
    with pytest.raises(InputError, match=rf"^{name}=.* \| a callback is a function, and nothing awaits it"):
        Callbacks(**{name: function})
