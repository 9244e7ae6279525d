"""Engine and oracle emit the same output after every event, for specifications of every kind."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panewise.spec import WindowOperator
from panewise.testing.strategies import ALL_KINDS, events, specs, types_of
from tests.engine.agreement import outputs_that_agree
from tests.engine.effort import DEFAULT, at_length

Events = list[dict[str, Any]]
EACH_KIND = pytest.mark.parametrize("kind", ALL_KINDS)


def agree(spec: WindowOperator, script: Events) -> None:
    """Asserts that engine and oracle have the same output and stored windows after every event."""
    for left, right in outputs_that_agree(spec, script, types_of(spec), exact=True):
        assert keys(spec, left) == keys(spec, right)


def keys(spec: WindowOperator, output: dict[str, Any]) -> list[str]:
    """Returns the keys of panes and windows as text, in which -0.0 and 0.0 differ (semantics 15.2)."""
    return [
        repr([told[name] for name in spec.keys]) for part in ("panes", "windows") for told in output[part]
    ]


def check(data: st.DataObject, kind: str) -> None:
    spec = data.draw(specs(kind), label="spec")
    agree(spec, data.draw(events(spec), label="events"))


@EACH_KIND
@DEFAULT
@given(data=st.data())
def test_engine_is_oracle(kind: str, data: st.DataObject) -> None:
    check(data, kind)


test_engine_is_oracle_at_length = EACH_KIND(at_length(check, 20_000, data=st.data()))
