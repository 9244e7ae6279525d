"""Failures of S1's window operators within a flush: before each of its writes."""

import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panewise import functions as F
from panewise.standalone import (
    AggregatorSettings,
    Callbacks,
    JoinWindowOperator,
    JoinWindowSettings,
    WindowedAggregator,
    WindowOutput,
)
from tests.engine.effort import at_length, examples
from tests.nightly import first_here
from tests.standalone.retained.scripts import (
    AGGREGATES,
    Step,
    made,
    settings,
    shown,
    steps,
    with_offsets,
)


class KilledError(Exception):
    """The process ends here."""


class Writes:
    """Ends the process before the writes with these numbers."""

    def __init__(self, ends: Sequence[int] = ()) -> None:
        self._ends, self.number = set(ends), 0

    def __call__(self, kind: str) -> None:
        self.number += 1
        if self.number in self._ends:
            raise KilledError(kind)


def automatic(open_with: Callable[..., Any], script: Sequence[tuple[int, Step]], ends: Sequence[int]) -> Any:
    """Adds messages in automatic mode, from behind the position after each end. Returns all outputs."""
    store, writes, received = Path(tempfile.mkdtemp()), Writes(ends), list[WindowOutput]()
    options = {"mode": "automatic", "downstream": received.append, "callbacks": Callbacks(write=writes)}
    try:
        while True:
            try:
                with open_with(store=store, **options) as operator:
                    behind = -1 if operator.position is None else operator.position
                    for offset, (_, value) in script:
                        if offset > behind:
                            operator.add_message(value, offset)
                    return received
            except KilledError:
                pass
    finally:
        shutil.rmtree(store)


def standalone(
    open_with: Callable[..., Any], script: Sequence[tuple[int, Step]], ends: Sequence[int], every: int
) -> list[WindowOutput]:
    """Plays steps, and flushes after each so many of them. Repeats those since the last complete flush."""
    store, writes, received = Path(tempfile.mkdtemp()), Writes(ends), list[WindowOutput]()
    flushed = 0
    try:
        while True:
            try:
                with open_with(store=store, callbacks=Callbacks(write=writes)) as operator:
                    for at in range(flushed, len(script)):
                        offset, (what, value) = script[at]
                        if what == "add":
                            operator.add_message(value, offset)
                        elif what == "retire":
                            operator.retire(*value)
                        else:
                            operator.timeout(value)
                        received += operator.drain()
                        if at % every == every - 1:
                            operator.flush()
                            flushed = at + 1
                    return received
            except KilledError:
                pass
    finally:
        shutil.rmtree(store)


def check(found: Sequence[WindowOutput], wanted: Sequence[WindowOutput]) -> None:
    """Repeated outputs have the same content, and no output is missing."""
    by_number: dict[int, Any] = {}
    for one in found:
        assert by_number.setdefault(one.sequence, shown(one)) == shown(one)
    assert [by_number[number] for number in sorted(by_number)] == list(map(shown, wanted))


MEDIAN = (F.median("v").alias("middle"),)


def median(**options: Any) -> WindowedAggregator:
    chosen = AggregatorSettings(
        measure="time", size=10, advance=10, retention_size=10**6, retention_time=20, late=1000
    )
    types = {"event_time": "bigint", "v": "bigint"}
    return WindowedAggregator(chosen, MEDIAN, types, **options)


@pytest.mark.parametrize("step", first_here([3, 1]))
def test_a_window_that_expires_in_a_failed_flush_emits_again(step: int) -> None:
    """semantics 26.10: its messages stay until the metadata without the window are stored."""
    script = [(at, ("add", {"event_time": t, "v": t})) for at, t in enumerate((1, 12, 3, 25, 35, 14, 47, 60))]
    wanted = automatic(median, script, ())
    assert [one.firing for one in wanted] == ["full", "full", "full", "late", "full", "late", "full"]
    for end in range(1, 35, step):
        check(automatic(median, script, (end,)), wanted)


def test_messages_that_were_stored_but_not_applied_are_in_no_result() -> None:
    """semantics 26.10: a failure between messages and metadata leaves messages above the mark."""
    script = [(at, ("add", {"event_time": t, "v": t})) for at, t in enumerate((1, 2, 12, 3, 25, 9, 35))]
    wanted = standalone(median, script, (), every=7)
    for end in range(1, 4):
        check(standalone(median, script, (end,), every=7), wanted)


@pytest.mark.parametrize("sessions", [False, True])
def test_messages_of_equal_fields_that_were_retired_in_a_failed_flush(sessions: bool) -> None:
    """semantics 26.9, 26.10: they stay until the metadata after it are stored, and are emitted again."""

    def open_with(**options: Any) -> Any:
        shape: dict[str, Any] = {"session_key": "s"} if sessions else {"advance": 10}
        chosen = JoinWindowSettings(
            measure="time",
            size=10,
            retention_size=10**6,
            retention_time=20,
            early=5,
            keyed_message_store=("s", "k") if sessions else ("k",),
            **shape,
        )
        types = {"event_time": "bigint", "s": "string", "k": "bigint"}
        return JoinWindowOperator(chosen, types, **options)

    def message(time: int, k: int) -> Step:
        return "add", {"event_time": time, "s": "a", "k": k}

    key, fields = ("a", ("a", 1)) if sessions else (None, (1,))
    steps: list[Any] = [
        ("clock", 1),
        message(1, 1),
        message(2, 2),
        ("clock", 7),
        ("retire", (4, key, fields)),
    ]
    steps += [message(4, 1), ("clock", 20), message(40, 2), message(90, 2)]
    script = list(enumerate(steps))
    wanted = standalone(open_with, script, (), every=3)
    assert [[one["event_time"] for one in output.messages] for output in wanted][:2] == [[1, 2], [4]]
    for end in range(1, 10):
        check(standalone(open_with, script, (end,), every=3), wanted)


def check_ends(data: st.DataObject) -> None:
    chosen = data.draw(settings(join=data.draw(st.booleans())))
    aggregates, script = data.draw(st.sampled_from(AGGREGATES)), with_offsets(data.draw(steps(20)))
    ends = data.draw(st.lists(st.integers(1, 30), max_size=3, unique=True))
    every = data.draw(st.integers(1, 8))

    def open_with(**options: Any) -> Any:
        return made(chosen, aggregates, **options)

    check(standalone(open_with, script, ends, every), standalone(open_with, script, (), every))


@examples(12)
@given(data=st.data())
def test_failures_within_a_flush(data: st.DataObject) -> None:
    """semantics 26.10: after a failure before any write, outputs repeat with their numbers."""
    check_ends(data)


test_failures_within_a_flush_at_length = at_length(check_ends, 500, data=st.data())


def test_an_operator_in_memory_that_is_never_flushed_forgets_windows() -> None:
    operator = median()
    for time in range(0, 3000, 10):
        operator.add_message({"event_time": time, "v": 1})
    assert len(operator._state.windows) < 5
    assert not operator._state.windows.removed
