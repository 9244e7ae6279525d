"""An operator whose process is killed (SIGKILL) at any instant loses nothing.

Its state is that of the events up to the committed positions. Every number in the sink has one content, and
together they are what an operator without faults emits.
"""

from itertools import cycle
from pathlib import Path
from typing import Any, get_args

import pytest

from panewise.standalone import Emission, StandaloneOperator
from panewise.standalone.delivery import Mode
from tests.killing import Kills, in_sink
from tests.nightly import first_here
from tests.standalone import killed_job
from tests.standalone.killed_job import SPECS, add, advance_after, lines, made, play, start_of

MODES = get_args(Mode)
MESSAGES, MESSAGES_OF_CAMPAIGN = 60, 1_500


class Model:
    """An operator in memory, which plays as far as it is asked, and remembers what it has emitted."""

    def __init__(self, kind: str) -> None:
        self.found: list[Emission] = []
        self.operator = made(kind, "automatic", None, self.found.append)
        self.next = 0
        self.states = [state(self.operator)]

    def states_before(self, start: int) -> list[Any]:
        """Returns the state before a message: also that in which the clocks have not yet been moved."""
        if start > self.next:
            play(self.operator, self.next, start - 1)
            add(self.operator, start - 1)
            self.states = [state(self.operator)]
            advance_after(self.operator, start - 1)
            self.states.append(state(self.operator))
            self.next = start
        return self.states

    def emitted(self, messages: int) -> dict[tuple[str, int], str]:
        """Returns what is emitted until the end of the input, by kind and number."""
        play(self.operator, self.next, messages)
        self.operator.finish()
        return {(what, number): row for one in self.found for what, number, row in lines(one)}


def state(operator: StandaloneOperator) -> Any:
    """Returns what can be seen of a state."""
    return sorted(map(repr, operator.live().rows())), operator.counts, operator.watermark, operator.clock


def rounds(folder: Path, kind: str, mode: Mode, kills: Kills, number: int, messages: int) -> None:
    """Kills the job, and compares the state, so many times; then lets it end, and compares the sink."""
    model, store, sink = Model(kind), folder / "store", folder / "sink"
    for _ in range(number):
        kills.strike(kind, mode, store, sink, messages)
        with made(kind, mode, store) as operator:
            assert state(operator) in model.states_before(start_of(operator))
    kills.finish(kind, mode, store, sink, messages)
    assert in_sink(sink) == model.emitted(messages)


@pytest.mark.parametrize(("kind", "mode"), first_here(zip(SPECS, cycle(MODES), strict=False), 2))
def test_a_killed_operator_continues(kind: str, mode: Mode, tmp_path: Path) -> None:
    """semantics 31.2 to 31.4: state exactly once, outputs at least once, with the same numbers."""
    rounds(tmp_path, kind, mode, Kills(killed_job.__name__, seed=1, longest=0.1), 1, MESSAGES)


@pytest.mark.soak
@pytest.mark.kills
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", SPECS)
def test_operators_that_are_killed_often(kind: str, mode: Mode, tmp_path: Path, record_property: Any) -> None:
    """semantics 31.2 to 31.4"""
    kills = Kills(killed_job.__name__, seed=sum(map(ord, kind + mode)))
    rounds(tmp_path, kind, mode, kills, 8, MESSAGES_OF_CAMPAIGN)
    kills.report(record_property)
