"""Engine and oracle agree if the state is in short runs, which are merged and cut into parts all the time."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panewise.engine.tables import compaction
from panewise.testing import run
from panewise.testing.compare import same
from panewise.testing.strategies import events, specs, types_of
from tests.engine.effort import FEW
from tests.nightly import FEW_KINDS


@pytest.fixture(scope="module", params=[(2, 2, 8), (3, 10**6, 10**6)], ids=["cut", "whole"], autouse=True)
def short_runs(request: pytest.FixtureRequest) -> Iterator[None]:
    """Sets limits with which even short runs are merged, with or without cutting them into parts."""
    fan_in, part_rows, step_rows = request.param
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compaction, "FAN_IN", fan_in)
        patch.setattr(compaction, "PART_ROWS", part_rows)
        patch.setattr(compaction, "_STEP_ROWS", step_rows)
        yield


@pytest.mark.parametrize("kind", FEW_KINDS)
@FEW
@given(data=st.data())
def test_stored_runs_give_what_the_oracle_gives(kind: str, data: st.DataObject) -> None:
    spec = data.draw(specs(kind), label="spec")
    script = data.draw(events(spec), label="events")
    types = types_of(spec)
    wanted = run(spec, script, "oracle", types=types, windows=True)
    got = run(spec, script, "engine", types=types, windows=True, stored=True)
    for number, (right, left) in enumerate(zip(wanted, got, strict=True)):
        for part in ("counts", "invalid", "late", "panes", "windows"):
            assert same(left[part], right[part]), (
                f"{part} after events[{number}]\nengine {left[part]}\noracle {right[part]}\nspec {spec}"
            )
