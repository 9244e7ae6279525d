"""The comparison of retained windows with a standalone operator: both have the same results."""

import pytest

from bench.retained import CASES, Case, messages


@pytest.mark.nightly
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_both_operators_emit_the_same(case: Case) -> None:
    retained, standalone = case.retained(), case.standalone()
    for message in messages(700):
        retained.add_message(message)
        standalone.add_message(message)
    found = [
        (one.window.start, one.window.session_key, one.window.value)
        for one in retained.drain()
        if one.firing != "retraction"
    ]
    wanted = [
        (row["window_start"], row.get("k"), {"a": row["a"]})
        for one in standalone.drain()
        for row in one.rows.to_dicts()
    ]
    assert sorted(found, key=repr) == sorted(wanted, key=repr)
    assert len(found) > 1
