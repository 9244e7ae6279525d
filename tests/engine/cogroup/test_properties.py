"""Cogroups: engine and oracle agree, in memory and with a run store (semantics 43 to 43.8)."""

import json
import warnings
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panewise import CogroupOperator
from panewise.errors import SpecWarning
from panewise.spec.codec import from_dict, to_dict
from panewise.testing import run
from panewise.testing.cogroups import USERS, cogroup_specs
from panewise.testing.compare import same
from panewise.testing.joins import join_events, join_types
from panewise.testing.samples import USER_WINDOWS
from tests.engine.effort import SOAK, examples

Events = list[dict[str, Any]]
FEWER = examples(15)
PARTS = ("counts", "invalid", "late", "panes", "windows")
pytestmark = pytest.mark.filterwarnings("ignore::panewise.errors.SpecWarning")


def agree(spec: CogroupOperator, script: Events, **options: Any) -> None:
    """Asserts that engine and oracle have the same output and live windows after every event."""
    types = join_types(spec)
    wanted = run(spec, script, "oracle", types=types, windows=True)
    found = run(spec, script, "engine", types=types, windows=True, **options)
    for number, (event, right, left) in enumerate(zip(script, wanted, found, strict=True)):
        for part in PARTS:
            told = (
                f"{part} after events[{number}], {event}\nengine {left[part]}\noracle {right[part]}\n{spec}"
            )
            assert same(left[part], right[part]), told
        for side, counts in left["counts"].items():
            taken = counts["applied"] + counts["replays"] + counts["late"] + counts["invalid"]
            rows = event["rows"][side] if isinstance(event["rows"], dict) else event["rows"]
            assert counts["rows_in"] == taken == len(rows)


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


@pytest.mark.soak
@SOAK
@given(data=st.data())
def test_engine_is_oracle_at_length(data: st.DataObject) -> None:
    check(data, **data.draw(st.sampled_from([{}, {"stored": True}])))


@FEWER
@given(spec=cogroup_specs())
def test_json_is_read_back(spec: CogroupOperator) -> None:
    document = json.loads(json.dumps(to_dict(spec)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SpecWarning)
        assert from_dict(document, USERS, user_windows=USER_WINDOWS) == spec
