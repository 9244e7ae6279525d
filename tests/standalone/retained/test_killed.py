"""Retained windows whose process is killed (SIGKILL) at any instant lose nothing.

They continue behind their position. With an intact message store each number in the sink has one content, and
together these are what an operator without faults emits. If the message store is lost at each kill, it is
restored, and windows and messages are those of an operator without faults.
"""

import shutil
from pathlib import Path
from typing import Any

import pytest

from panewise.standalone import WindowOutput
from tests.killing import Kills, in_sink
from tests.nightly import first_here
from tests.standalone.retained import killed_job
from tests.standalone.retained.killed_job import KINDS, play
from tests.standalone.retained.scripts import LONG, shown

MESSAGES, MESSAGES_OF_CAMPAIGN = 600, 4_000
CASES = [(kind, loses) for kind in KINDS for loses in (False, True)]


def state(operator: Any, kind: str) -> Any:
    """Returns what can be read of an operator."""
    windows = [window._replace(partial=b"") for window in operator.get_windows(-LONG, LONG)]
    messages = [] if kind == "sums" else operator.get_messages(-LONG, LONG)
    return operator.counts.applied, windows, messages


def rounds(folder: Path, kind: str, loses: bool, kills: Kills, number: int, messages: int) -> None:
    """Kills the job so many times, then lets it end, and compares it with an operator without faults."""
    store, sink, emitted = folder / "store", folder / "sink", list[WindowOutput]()
    for _ in range(number):
        kills.strike(kind, store, sink, messages)
        if loses:
            shutil.rmtree(store / "messages", ignore_errors=True)
    kills.finish(kind, store, sink, messages)
    model = KINDS[kind](mode="automatic", downstream=emitted.append)
    play(model, 0, messages)
    with KINDS[kind](mode="automatic", downstream=emitted.append, store=store) as operator:
        assert operator.position == messages - 1
        assert not operator.restoring
        assert state(operator, kind) == state(model, kind)
    if not loses:
        assert in_sink(sink) == {(one.sequence,): repr(shown(one)) for one in emitted}


@pytest.mark.parametrize(("kind", "loses"), first_here(CASES[1:7:2]))
def test_killed_windows_continue(kind: str, loses: bool, tmp_path: Path) -> None:
    """semantics 26.10, 26.11"""
    rounds(tmp_path, kind, loses, Kills(killed_job.__name__, seed=3, longest=0.1), 1, MESSAGES)


@pytest.mark.soak
@pytest.mark.kills
@pytest.mark.parametrize(("kind", "loses"), CASES)
def test_windows_that_are_killed_often(kind: str, loses: bool, tmp_path: Path, record_property: Any) -> None:
    """semantics 26.10, 26.11"""
    kills = Kills(killed_job.__name__, seed=sum(map(ord, kind)) + loses)
    rounds(tmp_path, kind, loses, kills, 8, MESSAGES_OF_CAMPAIGN)
    kills.report(record_property)
