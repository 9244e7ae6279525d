"""The life cycle of S1's window operators: drain, checkpoint, reset and their callbacks."""

from pathlib import Path
from typing import Any

import pytest

from panewise import DeliveryDisabledError, InputError, StoreError
from panewise import functions as F
from panewise.spec import Aggregate
from panewise.standalone import (
    AggregatorSettings,
    Callbacks,
    Counts,
    JoinWindowOperator,
    JoinWindowSettings,
    WindowedAggregator,
    WindowOutput,
)
from tests.nightly import first_here
from tests.standalone.retained.scripts import shown
from tests.standalone.retained.test_kills import KilledError, Writes

TYPES = {"event_time": "bigint", "v": "bigint"}
SETTINGS = AggregatorSettings(
    measure="time", size=10, advance=10, retention_size=10**6, retention_time=100, late=20
)
SUM, MEDIAN = (F.sum("v").alias("a"),), (F.median("v").alias("a"),)


def aggregator(aggregates: tuple[Aggregate, ...] = SUM, **options: Any) -> WindowedAggregator:
    return WindowedAggregator(SETTINGS, aggregates, TYPES, **options)


def message(time: int, v: int = 1) -> dict[str, int]:
    return {"event_time": time, "v": v}


def values(outputs: list[WindowOutput]) -> list[tuple[int, str, int]]:
    return [(one.sequence, one.firing, one.window.value["a"]) for one in outputs if one.window.value]


@pytest.mark.parametrize("aggregates", [SUM, MEDIAN])
@pytest.mark.parametrize("stored", [False, True])
def test_reset_returns_to_a_checkpoint(
    aggregates: tuple[Aggregate, ...], stored: bool, tmp_path: Path
) -> None:
    """semantics 33.2, 33.3, 33.7: windows, messages and the position return. What waited before stays."""
    operator = aggregator(aggregates, store=tmp_path if stored else None)
    for time in (1, 12):
        operator.add_message(message(time, 4))
    operator.life_cycle.checkpoint("one")
    for time in (13, 25, 300):
        operator.add_message(message(time, 7))
    operator.life_cycle.reset("one")
    assert values(operator.get_result()) == [(1, "full", 4)]
    assert [one.start for one in operator.get_windows(0, 1000)] == [0, 10]
    assert (operator.position, operator.counts) == (1, Counts(rows_in=5, applied=5))
    assert operator.add_message(message(13, 4)) == "in_time"
    operator.add_message(message(20))
    total = 4 if aggregates is MEDIAN else 8
    assert values(operator.get_result()) == [(1, "full", 4), (4, "full", total)]
    if aggregates is MEDIAN:
        assert operator.get_messages(0, 1000) == [message(time, 4) for time in (1, 12, 13)] + [message(20)]


def test_messages_of_a_join_window_return() -> None:
    """semantics 33.3: messages that were retired since the checkpoint, and those not yet emitted."""
    chosen = JoinWindowSettings(
        measure="time",
        size=10,
        advance=10,
        retention_size=10**6,
        retention_time=0,
        early=None,
        keyed_message_store=("v",),
    )
    operator = JoinWindowOperator(chosen, TYPES)
    operator.add_message(message(1, 5))
    operator.life_cycle.checkpoint("one")
    operator.add_message(message(300))
    assert (len(operator.drain()), operator.get_messages(0, 10)) == (1, [])
    operator.life_cycle.reset("one")
    assert operator.get_messages(0, 10, join_keys=(5,)) == [message(1, 5)]
    operator.add_message(message(11))
    assert [one.messages for one in operator.drain()] == [(message(1, 5),)]


def test_a_checkpoint_in_a_store_survives_the_process(tmp_path: Path) -> None:
    """semantics 33.2, 33.7: also if nothing was flushed. A reset is durable at once."""
    with aggregator(MEDIAN, store=tmp_path) as operator:
        operator.add_message(message(1, 3))
        operator.life_cycle.checkpoint("one")
        operator.life_cycle.checkpoint("oneself")
        operator.add_message(message(2, 9))
        operator.life_cycle.checkpoint("one self")
    with aggregator(MEDIAN, store=tmp_path) as operator:
        assert operator.get_windows(0, 10) == []
        operator.life_cycle.reset("one")
    with aggregator(MEDIAN, store=tmp_path) as operator:
        assert (operator.position, operator.get_messages(0, 10)) == (0, [message(1, 3)])
        operator.add_message(message(10))
        assert values(operator.drain()) == [(1, "full", 3)]


def test_a_checkpoint_of_other_settings_is_refused(tmp_path: Path) -> None:
    """semantics 33.7: also if nothing was flushed."""
    with aggregator(store=tmp_path) as operator:
        operator.life_cycle.checkpoint("one")
    other = aggregator((F.max("v").alias("a"),), store=tmp_path)
    with other, pytest.raises(StoreError, match="a store is opened with the settings that made it"):
        other.life_cycle.reset("one")


def test_a_checkpoint_of_the_same_name_is_replaced(tmp_path: Path) -> None:
    operator = aggregator(MEDIAN, store=tmp_path)
    for time in (1, 2):
        operator.add_message(message(time))
    operator.life_cycle.checkpoint("one")
    operator.life_cycle.reset_to_initial()
    operator.add_message(message(15), 7)
    operator.life_cycle.checkpoint("one")
    operator.life_cycle.reset("one")
    assert operator.get_messages(0, 100) == [message(15)]
    assert [one.start for one in operator.get_windows(0, 100)] == [10]


def test_what_is_due_at_a_reset_happens_at_once() -> None:
    """semantics 33.3: processing time does not turn back."""
    operator = aggregator()
    operator.add_message(message(1))
    operator.add_message(message(12))
    operator.add_message(message(2), now=100)
    operator.drain()
    operator.life_cycle.checkpoint("one")
    operator.timeout(119)
    operator.life_cycle.reset("one")
    assert operator.drain() == []
    operator.timeout(150)
    assert values(operator.drain()) == [(2, "late", 2)]
    operator.life_cycle.reset("one")
    assert (values(operator.drain()), operator.clock) == ([(3, "late", 2)], 150)


@pytest.mark.parametrize("stored", [False, True])
def test_reset_to_initial(stored: bool, tmp_path: Path) -> None:
    """semantics 33.4: nothing is emitted; the clock and the numbers stay."""
    operator = aggregator(MEDIAN, store=tmp_path if stored else None)
    operator.add_message(message(1), 5, now=40)
    operator.add_message(message(12), 6)
    operator.flush()
    operator.add_message(message(22), 7)
    operator.life_cycle.reset_to_initial()
    assert (operator.get_result(), operator.get_windows(0, 100), operator.get_messages(0, 100)) == (
        [],
        [],
        [],
    )
    assert (operator.position, operator.clock) == (None, 40)
    operator.add_message(message(1, 8), 0)
    operator.add_message(message(12), 1)
    assert values(operator.drain()) == [(3, "full", 8)]


def test_numbers_continue_from_the_higher_ones(tmp_path: Path) -> None:
    """semantics 33.3: the outputs up to the checkpoint were emitted by the process that ended."""
    with aggregator(store=tmp_path) as operator:
        for time in (1, 12, 23):
            operator.add_message(message(time))
        operator.life_cycle.checkpoint("one")
    with aggregator(store=tmp_path) as operator:
        operator.life_cycle.reset("one")
        operator.add_message(message(33))
        assert values(operator.drain()) == [(3, "full", 1)]


def test_a_refused_output_of_a_later_step_is_discarded() -> None:
    """semantics 33.3: it leaves the queue, and delivery is enabled."""
    accepts, received = [True], list[WindowOutput]()

    def downstream(output: WindowOutput) -> bool:
        if accepts[0]:
            received.append(output)
        return accepts[0]

    operator = aggregator(mode="automatic", downstream=downstream)
    operator.add_message(message(1))
    operator.life_cycle.checkpoint("one")
    accepts[0] = False
    operator.add_message(message(12))
    assert operator.life_cycle.drain() is False
    with pytest.raises(DeliveryDisabledError, match="1 outputs"):
        operator.life_cycle.checkpoint("two")
    operator.life_cycle.reset("one")
    accepts[0] = True
    assert operator.delivery_enabled
    assert operator.life_cycle.drain() is True
    operator.add_message(message(12))
    assert values(received) == [(2, "full", 1)]


def test_rejected_messages_stay() -> None:
    """semantics 33.8: they are messages of the input, and no outputs."""
    operator = aggregator()
    operator.life_cycle.checkpoint("one")
    operator.add_message({"event_time": None, "v": 1})
    operator.life_cycle.reset("one")
    assert [one.reason for one in operator.drain_rejected()] == ["event time is null"]


def test_a_store_that_cannot_be_written_closes_the_operator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """semantics 33.7: the reset is done when the store is opened again."""
    operator = aggregator(MEDIAN, store=tmp_path)
    operator.add_message(message(1, 3))
    operator.life_cycle.checkpoint("one")
    operator.add_message(message(2, 9))
    operator.flush()

    def full(*given: object) -> None:
        raise StoreError("the disk is full", "a commit needs room", "make room")

    with monkeypatch.context() as patched:
        assert operator._state.messages is not None
        patched.setattr(operator._state.messages, "commit", full)
        with pytest.raises(StoreError, match="the disk is full"):
            operator.life_cycle.reset("one")
    with pytest.raises(InputError, match="a closed operator"):
        operator.add_message(message(3))
    with aggregator(MEDIAN, store=tmp_path) as operator:
        assert (operator.position, operator.get_messages(0, 10)) == (0, [message(1, 3)])


def play_until_reset(store: Path, writes: Writes) -> tuple[Any, dict[int, Any]]:
    """Adds messages, resets once, and adds others behind the position, over all failures.

    Returns the windows and messages at the end, and the outputs by number.
    """
    received, was_reset = list[WindowOutput](), False
    options = {"mode": "automatic", "downstream": received.append, "callbacks": Callbacks(write=writes)}
    script = [message(time, time) for time in (1, 12, 3, 25, 130, 14, 147, 160)]
    while True:
        try:
            with aggregator(MEDIAN, store=store, **options) as operator:
                behind = -1 if operator.position is None else operator.position
                for offset in range(behind + 1, 8):
                    operator.add_message(script[offset], offset)
                    if offset == 2 and not was_reset:
                        operator.life_cycle.checkpoint("one")
                    if offset == 6 and not was_reset:
                        operator.life_cycle.reset("one")
                        was_reset = True
                        break
                else:
                    operator.flush()
                    state = operator.get_windows(-1000, 1000), operator.get_messages(-1000, 1000)
                    return (*state, operator.position), checked(received)
        except KilledError:
            pass


def checked(received: list[WindowOutput]) -> dict[int, Any]:
    """Returns outputs by number. None has two contents."""
    found: dict[int, Any] = {}
    for one in received:
        assert found.setdefault(one.sequence, shown(one)) == shown(one)
    return found


@pytest.mark.parametrize("step", first_here([3, 1]))
def test_failures_before_each_write_of_a_checkpoint_and_a_reset(tmp_path: Path, step: int) -> None:
    """semantics 33.3, 33.7: the state is that of a run without failures, and no number has two contents."""
    undisturbed = Writes()
    state, outputs = play_until_reset(tmp_path / "0", undisturbed)
    assert len(outputs) == 10
    for end in range(1, undisturbed.number + 1, step):
        found, numbered = play_until_reset(tmp_path / str(end), Writes([end]))
        assert found == state
        repeated = [one for _, *one in numbered.values()]
        assert all(one in repeated for _, *one in outputs.values())
