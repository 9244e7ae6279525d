"""Engine and oracle emit the same output after every event, for specifications of every kind."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panewise.spec import WindowOperator
from panewise.testing import run
from panewise.testing.compare import same
from panewise.testing.strategies import ALL_KINDS, events, specs, types_of
from tests.engine.effort import DEFAULT, SOAK
from tests.engine.orders import columns

Events = list[dict[str, Any]]


def agree(spec: WindowOperator, script: Events) -> None:
    """Asserts that engine and oracle have the same output and stored windows after every event."""
    types = types_of(spec)
    wanted = run(spec, script, "oracle", types=types, windows=True)
    got = run(spec, script, "engine", types=types, windows=True)
    for number, (event, right, left) in enumerate(zip(script, wanted, got, strict=True)):
        for part in ("counts", "invalid", "late", "panes", "windows"):
            told = (
                f"{part} after events[{number}], {event}\nengine {left[part]}\noracle "
                f"{right[part]}\nspec {spec}\ntypes {types}"
            )
            assert same(left[part], right[part]), told
            assert shape(left[part]) == shape(right[part]), told
        assert keys(spec, left) == keys(spec, right)
        assert columns(left) == columns(right)
        counts = left["counts"]
        assert counts["rows_in"] == counts["applied"] + counts["replays"] + counts["late"] + counts["invalid"]
        assert counts["rows_in"] == len(event.get("rows", ()))


def keys(spec: WindowOperator, output: dict[str, Any]) -> list[str]:
    """Returns the keys of panes and windows as text, in which -0.0 and 0.0 differ (semantics 15.2)."""
    return [
        repr([told[name] for name in spec.keys]) for part in ("panes", "windows") for told in output[part]
    ]


def shape(value: Any) -> Any:
    """Returns the type of a value, and those of its elements. So 1 and 1.0 differ."""
    if isinstance(value, dict):
        return {name: shape(item) for name, item in value.items()}
    return [shape(item) for item in value] if isinstance(value, list) else type(value)


def check(data: st.DataObject, kind: str) -> None:
    spec = data.draw(specs(kind), label="spec")
    agree(spec, data.draw(events(spec), label="events"))


@pytest.mark.parametrize("kind", ALL_KINDS)
@DEFAULT
@given(data=st.data())
def test_engine_is_oracle(kind: str, data: st.DataObject) -> None:
    check(data, kind)


@pytest.mark.soak
@pytest.mark.parametrize("kind", ALL_KINDS)
@SOAK
@given(data=st.data())
def test_engine_is_oracle_at_length(kind: str, data: st.DataObject) -> None:
    check(data, kind)
