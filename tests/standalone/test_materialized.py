"""The store of current results has those of the oracle after every event (semantics 31.13 to 31.15)."""

from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panewise.chrono import MAX_INSTANT, MIN_INSTANT
from panewise.oracle.aggregate.aggregates import aggregate
from panewise.spec import AfterWatermark, Session, WindowOperator
from panewise.stores import SessionStore, WindowStore
from panewise.testing.compare import same
from panewise.testing.events import Script, script
from panewise.testing.runner import play_script
from panewise.testing.runtimes.standalone import PlayedOperator, _Player
from panewise.testing.strategies import events, specs, types_of
from tests.engine.effort import SOAK, examples

KINDS = ["tumbling", "hopping", "sliding", "sliding when complete", "calendar", "session"]


def store_for(spec: WindowOperator, retention: int = MAX_INSTANT) -> Any:
    """Returns a store in memory for the results of an operator."""
    window: Any = spec.window
    if isinstance(window, Session):
        return SessionStore(retention)
    return WindowStore(retention, getattr(window, "size", 0))


def contents(store: Any) -> dict[Any, Any]:
    """Returns what a store has, by key, start and, for sessions, end."""
    if isinstance(store, SessionStore):
        return {(one.key, one.start, one.end): one.value for one in store.fetch_keys(None, None)}
    return {(one.key, one.start): one.value for one in store.all()}


def fits(stored: Any, value: Any) -> bool:
    """Returns whether a stored value is that of the oracle, with texts for decimals."""
    if isinstance(value, dict):
        return value.keys() == stored.keys() and all(fits(stored[name], value[name]) for name in value)
    if isinstance(value, (list, tuple)):
        return len(stored) == len(value) and all(map(fits, stored, value))
    return same(Decimal(stored) if isinstance(value, Decimal) else stored, value)


@dataclass
class Expected:
    """What the store has to have, by the oracle.

    Attributes:
        spec: the specification.
        types: the types of the columns.
        results: the results by key, start and, for sessions, end.
        live: the places of the live windows.
        now: the time of the store.
    """

    spec: WindowOperator
    types: dict[str, str]
    results: dict[Any, Any] = field(default_factory=dict)
    live: set[Any] = field(default_factory=set)
    now: int = MIN_INSTANT

    def after(self, output: dict[str, Any]) -> dict[Any, Any]:
        """Returns the expected contents after an event.

        Panes show the results of windows that close or expire in the step that changes them.
        """
        panes = {self.place(pane): self.of_pane(pane) for pane in output["panes"] if pane["op"] == "+"}
        windows = output["progress"]["windows"]
        open_ = {self.place(one): self.of_rows(one["rows"]) for one in windows if not one["closed"]}
        live = {self.place(one) for one in windows}
        if isinstance(self.spec.window, Session):
            for gone in self.live - live:
                if any(_contains(place, gone) for place in {*open_, *panes}):
                    del self.results[gone]
        self.results |= panes | open_
        self.live = live
        self.now = max([self.now, *(place[-1] for place in self.results)])
        return {
            place: value
            for place, value in self.results.items()
            if place[-1] > self.now - MAX_INSTANT and (len(place) == 3 or place[1] > MIN_INSTANT)
        }

    def place(self, window: dict[str, Any]) -> Any:
        """Returns where the store has the result of a window."""
        key = tuple(window[name] for name in self.spec.keys)
        one = key[0] if len(key) == 1 and key[0] is not None else key
        start, end = window["window_start"], window["window_end"]
        return (one, start, end) if isinstance(self.spec.window, Session) else (one, start)

    def of_pane(self, pane: dict[str, Any]) -> dict[str, Any]:
        return {one.name: pane[one.name] for one in self.spec.aggregates}

    def of_rows(self, rows: list[Any]) -> dict[str, Any]:
        return {
            one.name: aggregate(one, rows, None if one.column is None else self.types.get(one.column))
            for one in self.spec.aggregates
        }


def _contains(one: Any, other: Any) -> bool:
    return one != other and one[0] == other[0] and one[1] <= other[1] and one[2] >= other[2]


@dataclass
class Player(_Player):
    """A standalone operator whose results are in a store."""

    store: Any = None

    def _new_operator(self, state: Path | None = None) -> PlayedOperator:
        super()._new_operator(state).close()
        types: Any = {port: {**of, "__row": "bigint"} for port, of in self.script.types.items()}
        where = self.directory if self.script.options.get("stored") else None
        return PlayedOperator(self.script.spec, types, buffer=None, store=where, materialize=self.store)


def materializable(data: st.DataObject, kind: str) -> WindowOperator:
    """Draws a specification whose results a store can have."""
    if kind == "sliding when complete":  # their windows are not in the table before
        whole = {"keys": [], "trigger": AfterWatermark(), "on_time": "if_pending", "closing": "if_pending"}
        return data.draw(specs("sliding", accumulation="accumulating", evictor=None, **whole).filter(limited))
    keys = data.draw(st.sampled_from([["key"], ["key"], [], ["shop"], ["shop", "key"]]))
    how = data.draw(st.sampled_from(["accumulating", "retracting"]))
    return data.draw(specs(kind, keys=keys, accumulation=how, evictor=None).filter(limited))


def limited(spec: WindowOperator) -> bool:
    return spec.lateness_us is not None


def singly(event: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns an event for each row, so that each session can be seen before it is merged."""
    return [{**event, "rows": [row]} for row in event["rows"]] if event["op"] == "add" else [event]


def check(data: st.DataObject, kind: str, tmp_path: Any) -> None:
    spec = materializable(data, kind)
    drawn = data.draw(events(spec))
    if spec.evaluate == "record":
        drawn = [one for event in drawn for one in singly(event)]
    types = types_of(spec)
    options = data.draw(st.sampled_from([{}, {"messages": True}, {"stored": True}]), label="options")
    wanted = play_script(script(spec, drawn, types, progress=True), "oracle")
    played: Script = script(spec, drawn, types, options=options)
    store = store_for(spec)
    player = Player(played, tmp_path, store=store)
    expected = Expected(spec, dict(played.types["input"]))
    for event, added, output in zip(played.events, played.added, wanted, strict=True):
        player.after(event, added)
        got, right = contents(store), expected.after(output)
        shown = f"{event}\nstore {got}\noracle {right}\nspec {spec}\ntypes {types}"
        assert got.keys() == right.keys(), shown
        assert all(fits(got[place], right[place]) for place in got), shown
    player.operator.close()


@pytest.mark.filterwarnings("ignore::panewise.errors.SpecWarning")
@pytest.mark.parametrize("kind", KINDS)
@examples(40)
@given(data=st.data())
def test_results_are_those_of_the_oracle(
    kind: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """semantics 31.13, 31.14, 31.15"""
    check(data, kind, tmp_path_factory.mktemp("stored"))


@pytest.mark.soak
@pytest.mark.filterwarnings("ignore::panewise.errors.SpecWarning")
@pytest.mark.parametrize("kind", KINDS)
@SOAK
@given(data=st.data())
def test_results_are_those_of_the_oracle_at_length(
    kind: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    check(data, kind, tmp_path_factory.mktemp("stored"))
