"""Random scripts with checkpoints, resets and restarts, beside the slow model."""

import shutil
import tempfile
from copy import deepcopy
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from panewise.spec import Aggregate
from panewise.standalone import AggregatorSettings
from tests.engine.effort import at_length, examples
from tests.standalone.retained.model import Model
from tests.standalone.retained.scripts import LONG, Step, made, settings, steps
from tests.standalone.retained.test_model import TOTALS, VALUES, content

EVENTS = ("none", "none", "none", "checkpoint", "reset", "initial", "restart")


class Pair:
    """An operator and the model. Each method does the same with both, and returns what the model emits."""

    def __init__(self, chosen: AggregatorSettings, aggregates: tuple[Aggregate, ...], store: Any) -> None:
        self._chosen, self._aggregates, self._store = chosen, aggregates, store
        self.operator, self.model = made(chosen, aggregates, store=store), Model(chosen)
        self._saved: dict[str, Model] = {}
        self._clock = 0

    def happens(self, event: str, name: str) -> list[Any]:
        if event == "checkpoint":
            self.operator.life_cycle.checkpoint(name)
            self._saved[name] = deepcopy(self.model)
        elif event == "reset" and name in self._saved:
            self.operator.life_cycle.reset(name)
            self.model = deepcopy(self._saved[name])
            return self.model.clock(self._clock)
        elif event == "initial":
            self.operator.life_cycle.reset_to_initial()
            self.model = Model(self._chosen)
            self.model.clock(self._clock)
        elif event == "restart" and self._store is not None:
            self.operator.flush()
            self.operator.close()
            self.operator = made(self._chosen, self._aggregates, store=self._store)
        return []

    def plays(self, step: Step, offset: int) -> list[Any]:
        what, value = step
        if what == "add":
            kind, wanted = self.model.add(value, offset)
            assert self.operator.add_message(value, offset) == kind
            return wanted
        self._clock = max(self._clock, value)
        self.operator.timeout(value)
        return self.model.clock(value)

    def check(self, wanted: list[Any]) -> None:
        """Compares what was emitted, and which windows are there."""
        is_join = self._chosen.is_join
        found = [
            (one.window.start, one.window.session_key, one.firing, content(one, is_join))
            for one in self.operator.drain()
        ]
        if self._aggregates is TOTALS and not is_join:
            wanted = [(*most, [sum(values), len(values)]) for *most, values in wanted]
        assert found == wanted
        windows = [(one.session_key, one.start) for one in self.operator.get_windows(-LONG, LONG)]
        assert windows == [(one.key, one.start) for one in self.model.windows]


def check(data: st.DataObject, *, stored: bool) -> None:
    """Plays a script, and compares after each step."""
    chosen, aggregates = data.draw(settings(join=data.draw(st.booleans()))), data.draw(AGGREGATES)
    least = 1 if chosen.by_time or chosen.session_key is not None else chosen.length
    chosen = replace(chosen, retention_size=data.draw(st.sampled_from([least, least + 3, LONG])))
    directory = tempfile.mkdtemp() if stored else None
    pair = Pair(chosen, aggregates, directory)
    try:
        for at, step in enumerate(data.draw(steps(30))):
            wanted = pair.happens(data.draw(st.sampled_from(EVENTS)), data.draw(st.sampled_from("ab")))
            pair.check(wanted + pair.plays(step, 3 * at))
    finally:
        pair.operator.close()
        if directory is not None:
            shutil.rmtree(directory)


AGGREGATES = st.sampled_from([TOTALS, VALUES])


@examples(100)
@given(data=st.data())
def test_resets_do_what_the_model_does(data: st.DataObject) -> None:
    """semantics 33.3, 33.4, 33.7"""
    check(data, stored=False)


@examples(10)
@given(data=st.data())
def test_resets_in_a_store_do_what_the_model_does(data: st.DataObject) -> None:
    """semantics 33.2 to 33.4, 33.7"""
    check(data, stored=True)


test_resets_do_what_the_model_does_at_length = at_length(check, 1000, data=st.data(), stored=st.booleans())
