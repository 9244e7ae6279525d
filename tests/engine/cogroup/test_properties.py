"""Cogroups: engine and oracle agree, in memory and with a run store (semantics 43 to 43.8)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panewise.testing.cogroups import cogroup_specs
from panewise.testing.join_events import join_events
from tests.engine.effort import at_length, examples
from tests.engine.join.test_properties import agree

FEWER = examples(15)
pytestmark = pytest.mark.filterwarnings("ignore::panewise.errors.SpecWarning")


def check(data: st.DataObject, **options: Any) -> None:
    spec = data.draw(cogroup_specs(), label="spec")
    agree(spec, data.draw(join_events(spec), label="events"), **options)


@examples(40)
@given(data=st.data())
def test_engine_is_oracle(data: st.DataObject) -> None:
    check(data)


@FEWER
@given(data=st.data())
def test_stored_engine_is_oracle(data: st.DataObject) -> None:
    """Engine and oracle agree if every event loads the state from a run store and commits its changes."""
    check(data, stored=True)


test_engine_is_oracle_at_length = at_length(check, 20_000, data=st.data(), stored=st.booleans())
