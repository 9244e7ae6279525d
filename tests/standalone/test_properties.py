"""A standalone operator has the outputs of the oracle after every event, for specifications of every kind."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panewise.testing import run
from panewise.testing.compare import same
from tests.drawn import BY_KIND, events_of, types_for
from tests.engine.effort import SOAK, examples
from tests.nightly import unlike

FEW = examples(12)


OPTIONS: list[dict[str, bool]] = [
    {},
    {"messages": True},
    {"stored": True},
    {"exported": True},
    {"exported": True, "stored": True},
]


def check(data: st.DataObject, family: str) -> None:
    spec = data.draw(BY_KIND[family]())
    script, types = data.draw(events_of(spec)), types_for(spec)
    options = data.draw(st.sampled_from(OPTIONS), label="options")
    wanted = run(spec, script, "oracle", types=types, windows=True)
    got = run(spec, script, "standalone", types=types, windows=True, **options)
    for event, left, right in zip(script, got, wanted, strict=True):
        assert same(left, right), f"{event}\nstandalone {left}\noracle {right}\nspec {spec}\ntypes {types}"


@pytest.mark.filterwarnings("ignore::panewise.errors.SpecWarning")
@pytest.mark.parametrize("family", unlike(BY_KIND))
@FEW
@given(data=st.data())
def test_standalone_is_oracle(family: str, data: st.DataObject) -> None:
    """semantics 31; of a limit of windows also 15.24, 15.25, exported and stored."""
    check(data, family)


@pytest.mark.soak
@pytest.mark.filterwarnings("ignore::panewise.errors.SpecWarning")
@pytest.mark.parametrize("family", BY_KIND)
@SOAK
@given(data=st.data())
def test_standalone_is_oracle_at_length(family: str, data: st.DataObject) -> None:
    check(data, family)
