"""Engine and oracle agree when the specification of windows changes between events (semantics 47)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panewise.testing.changes import changes, placed, types_with
from panewise.testing.strategies import ALL_KINDS, events, specs
from tests.engine.agreement import outputs_that_agree
from tests.engine.effort import DEFAULT, at_length

EACH_KIND = pytest.mark.parametrize("kind", ALL_KINDS)


def check(data: st.DataObject, kind: str) -> None:
    spec = data.draw(specs(kind), label="spec")
    changed = data.draw(changes(spec), label="changes")
    types = types_with(spec, changed)
    script = data.draw(placed(data.draw(events(spec, types=types)), changed), label="events")
    stored = data.draw(st.booleans(), label="stored")
    outputs_that_agree(spec, script, types, exact=True, **({"stored": True} if stored else {}))


@EACH_KIND
@DEFAULT
@given(data=st.data())
def test_engine_is_oracle_across_changes(kind: str, data: st.DataObject) -> None:
    """semantics 47 to 47.8."""
    check(data, kind)


test_engine_is_oracle_across_changes_at_length = EACH_KIND(at_length(check, 20_000, data=st.data()))
