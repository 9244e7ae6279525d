"""S1's window operators against the oracle, a naive model, and themselves after restarts."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from panewise import AfterWatermark, Hopping, Session, StreamTime, WindowOperator
from panewise.spec import Aggregate
from panewise.standalone import AggregatorSettings, WindowedAggregator, WindowMetadata, WindowOutput
from panewise.testing import run
from tests.engine.effort import examples, soak
from tests.standalone.retained.scripts import (
    AGGREGATES,
    LONG,
    TYPES,
    Step,
    made,
    play,
    settings,
    shown,
    steps,
    with_offsets,
)

KINDS = st.sampled_from(AGGREGATES)


@contextmanager
def directory() -> Iterator[Path]:
    made_at = Path(tempfile.mkdtemp())
    try:
        yield made_at
    finally:
        shutil.rmtree(made_at)


def as_windows(chosen: AggregatorSettings, aggregates: tuple[Aggregate, ...]) -> WindowOperator:
    """Returns the window operator that has the panes of a windowed aggregator."""
    early: Any = chosen.early_policy
    late: Any = chosen.late_policy
    sessions = chosen.session_key is not None
    return WindowOperator(
        window=Session(chosen.length, closed="both")
        if sessions
        else Hopping(chosen.length, chosen.step, origin=chosen.origin % chosen.step),
        aggregates=aggregates,
        keys=["k"] if sessions else [],
        event_time="event_time",
        trigger=AfterWatermark(early=early, late=late),
        allowed_lateness=chosen.retained_us,
        watermark=StreamTime(0, per="all"),
        evaluate="record",
        on_time="if_pending",
    )


def plain(value: Any) -> Any:
    return sorted(value, key=repr) if isinstance(value, list) else value


@examples(80)
@given(chosen=settings(measures=("time",)), aggregates=KINDS, script=steps(40))
def test_an_aggregator_has_the_panes_of_the_oracle(
    chosen: AggregatorSettings, aggregates: tuple[Aggregate, ...], script: list[Step]
) -> None:
    """semantics 26 to 26.7, 17.1: windows of time, with retention by time alone."""
    assume(chosen.retention_size == LONG)
    events = [
        {"op": "add", "rows": [value]} if what == "add" else {"op": "clock", "to": value}
        for what, value in script
    ]
    wanted = run(as_windows(chosen, aggregates), events)
    operator = made(chosen, aggregates)
    names = [one.name for one in aggregates]
    for outputs, after in zip(play(operator, with_offsets(script)), wanted, strict=True):
        panes = [
            (one["window_start"], one["window_end"], one.get("k"), [plain(one[name]) for name in names])
            for one in after["panes"]
        ]
        found = [
            (
                one.window.start,
                one.window.end_time,
                one.window.session_key,
                [plain(value) for value in one.window.value.values()],
            )
            for one in outputs
            if one.firing != "retraction" and one.window.value is not None
        ]
        assert sorted(found, key=repr) == sorted(panes, key=repr)
        assert len(operator.drain_rejected()) == sum(not one["partial"] for one in after["late"])


@examples(40)
@given(chosen=settings(measures=("tuple",)), script=steps(40))
def test_windows_of_messages_contain_the_messages_that_a_count_says(
    chosen: AggregatorSettings, script: list[Step]
) -> None:
    """semantics 26.1, 26.3: each message is in the windows of its number, whatever its event time."""
    assume(chosen.retention_time == LONG == chosen.retention_size)
    (aggregate,) = AGGREGATES[3]
    operator = WindowedAggregator(chosen, [aggregate], TYPES)
    for _ in play(operator, with_offsets(script, gap=3)):
        pass
    messages = [value for what, value in script if what == "add"]
    found = [(one.start // 3, one.session_key, one.value) for one in operator.get_windows(0, LONG)]
    if chosen.session_key is None:
        starts = range(0, len(messages), chosen.step)
        wanted = [(at, None, [one["v"] for one in messages[at : at + chosen.length]]) for at in starts]
    else:
        wanted = [found for key in "ab" for found in naive_sessions(messages, key, chosen.length)]
    assert found == [(at, key, {"a": values}) for at, key, values in sorted(wanted, key=lambda one: one[0])]


def naive_sessions(messages: list[dict[str, Any]], key: str, most: int) -> list[tuple[int, str, list[int]]]:
    """Returns the sessions of a key: their first number, the key and the values."""
    sessions: list[tuple[int, str, list[int]]] = []
    last = -LONG
    for number, message in enumerate(messages):
        if message["k"] != key:
            continue
        if number - last - 1 > most:
            sessions.append((number, key, []))
        sessions[-1][2].append(message["v"])
        last = number
    return sessions


def of_window(operator: Any, window: WindowMetadata) -> Any:
    """Returns the stored messages of a window."""
    bounds = (window.start_offset, window.last_offset)
    if window.start_time is not None and window.end_time is not None:
        bounds = (window.start_time, window.end_time - (window.session_key is None))
    return operator.get_messages(*bounds, session_key=window.session_key)


def check_restarts(data: st.DataObject) -> None:
    """Restarts an operator after each step, after a flush."""
    chosen, aggregates = data.draw(settings(join=data.draw(st.booleans()))), data.draw(KINDS)
    numbered = with_offsets(data.draw(steps()))
    wanted = [list(map(shown, outputs)) for outputs in play(made(chosen, aggregates), numbered)]
    found = []
    with directory() as store:
        for one in numbered:
            with made(chosen, aggregates, store=store) as operator:
                found += [list(map(shown, outputs)) for outputs in play(operator, [one])]
                operator.flush()
    assert found == wanted


def check_failures(data: st.DataObject) -> None:
    """Ends an operator without a flush, and repeats the events since the last one."""
    chosen, aggregates = data.draw(settings(join=data.draw(st.booleans()))), data.draw(KINDS)
    numbered = with_offsets(data.draw(steps()))
    reference = made(chosen, aggregates)
    wanted = [one for outputs in play(reference, numbered) for one in map(shown, outputs)]
    places = st.sets(st.integers(0, len(numbered) - 1), max_size=4)
    flushes, failures = data.draw(places), sorted(data.draw(places))
    sink: dict[int, Any] = {}
    flushed = 0
    with directory() as store:
        for stop in [*failures, len(numbered)]:
            with made(chosen, aggregates, store=store) as operator:
                for at in range(flushed, stop):
                    for outputs in play(operator, [numbered[at]]):
                        assert all(sink.setdefault(one.sequence, shown(one)) == shown(one) for one in outputs)
                    if at in flushes:
                        operator.flush()
                        flushed = at + 1
                found, counts = bare(operator), operator.counts
    assert [sink[number] for number in sorted(sink)] == wanted
    assert (found, counts) == (bare(reference), reference.counts)


def check_losses(data: st.DataObject) -> None:
    """Removes the message store, and restores it while the operator goes on."""
    join = data.draw(st.booleans())
    chosen, aggregates = data.draw(settings(join=join)), AGGREGATES[3]
    if chosen.session_key is not None:  # a session that does not expire in time takes further messages
        chosen = replace(chosen, retention_time=LONG, retention_size=LONG)
    numbered = with_offsets(data.draw(steps()))
    reference = made(chosen, aggregates)
    wanted = [one for outputs in play(reference, numbered) for one in outputs]
    loss = data.draw(st.integers(0, len(numbered)))
    before, rest = numbered[:loss], numbered[loss:]
    with directory() as store:
        with made(chosen, aggregates, store=store) as operator:
            emitted = [one for outputs in play(operator, before) for one in outputs]
            operator.flush()
        shutil.rmtree(store / "messages")
        with made(chosen, aggregates, store=store) as operator:
            first = operator.restore_from
            lost = [one for one in before if first is not None and one[1][0] == "add" and one[0] >= first]
            while rest or lost:
                ahead = lost if lost and (not rest or data.draw(st.booleans())) else rest
                emitted += [one for outputs in play(operator, [ahead.pop(0)]) for one in outputs]
            assert not operator.restoring
            for one in (operator, reference):
                if join and chosen.session_key is not None:  # a session that grew is full only now
                    one.add_message({"event_time": LONG // 2, "v": 0, "k": "c"}, LONG)
                one.timeout(LONG)
            emitted, wanted = emitted + operator.drain(), wanted + reference.drain()
            assert bare(operator) == bare(reference)
            for window in bare(reference):
                assert of_window(operator, window) == of_window(reference, window)
    check_last_values(emitted, wanted, reference)
    if join:
        sent, due = ([row for one in outputs for row in one.messages] for outputs in (emitted, wanted))
        assert sorted(map(repr, sent)) == sorted(map(repr, due))


def check_last_values(emitted: list[WindowOutput], wanted: list[WindowOutput], reference: Any) -> None:
    """The last output of each window in retention has the value of an operator without a loss."""
    last, right = ({one.window[:2]: one.window.value for one in found} for found in (emitted, wanted))
    for window in bare(reference):
        assert last.get(window[:2]) == right.get(window[:2])


def bare(operator: Any) -> list[WindowMetadata]:
    """Returns all windows without their partials, whose bytes depend on how they were merged."""
    return [one._replace(partial=b"") for one in operator.get_windows(-LONG, LONG)]


def linear(operator: Any, low: int, high: int, session_key: str | None) -> list[WindowMetadata]:
    """Returns the windows that share an instant or an offset with a range, by a look at each window."""
    found = []
    for one in bare(operator):
        if operator._state.settings.by_time:
            end = one.end_time - (operator._state.settings.session_key is None)
            overlaps = one.start <= high and low <= end
        else:
            overlaps = one.start <= high and low <= one.last_offset
        if overlaps and session_key in (None, one.session_key):
            found.append(one)
    return found


def check_ranges(data: st.DataObject) -> None:
    """Compares the windows of ranges with a linear search, where windows may have been put."""
    chosen = replace(data.draw(settings()), retention_time=LONG, retention_size=LONG)
    operator = made(chosen, AGGREGATES[0])
    put = data.draw(st.integers(0, 2)) if not chosen.by_time else 0
    for number, step in enumerate(with_offsets(data.draw(steps(40)), gap=data.draw(st.integers(1, 3)))):
        list(play(operator, [step]))
        if number % 10 == 9 and put:
            window = data.draw(st.sampled_from(operator.get_windows(-LONG, LONG) or [None]))
            if window is not None:
                last = max(window.start_offset, window.last_offset + data.draw(st.integers(-20, 20)))
                operator.put_window(window._replace(last_offset=last))
    for _ in range(8):
        low = data.draw(st.integers(-40, 120))
        high = low + data.draw(st.integers(-5, 40))
        key = None if chosen.session_key is None else data.draw(st.sampled_from([None, "a", "b"]))
        found = [one._replace(partial=b"") for one in operator.get_windows(low, high, key)]
        assert found == linear(operator, low, high, key)


@examples(60)
@given(data=st.data())
def test_windows_of_a_range_are_those_of_a_linear_search(data: st.DataObject) -> None:
    """semantics 26.9: also where windows were put whose last offsets are not in the order of their starts."""
    check_ranges(data)


@examples(4)
@given(data=st.data())
def test_a_restart_after_a_flush_changes_nothing(data: st.DataObject) -> None:
    """semantics 26.10: the stored windows, messages and progress are all that an operator has."""
    check_restarts(data)


@examples(10)
@given(data=st.data())
def test_after_a_failure_outputs_repeat_with_their_numbers(data: st.DataObject) -> None:
    """semantics 26.10: windows count no message twice."""
    check_failures(data)


@examples(10)
@given(data=st.data())
def test_a_lost_message_store_is_restored_while_messages_arrive(data: st.DataObject) -> None:
    """semantics 26.11: in the end windows and messages are those of an operator without a loss."""
    check_losses(data)


@pytest.mark.soak
@pytest.mark.parametrize("check", [check_ranges, check_restarts, check_failures, check_losses])
@soak(500)
@given(data=st.data())
def test_restarts_failures_and_losses_at_length(check: Any, data: st.DataObject) -> None:
    check(data)
