"""A standalone operator has the outputs of the oracle after every event, for specifications of every kind."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panewise.spec import WindowedJoin
from panewise.testing import run
from panewise.testing.chains import chains
from panewise.testing.cogroups import cogroup_specs
from panewise.testing.compare import same
from panewise.testing.deduplicates import deduplicate_events, deduplicate_specs
from panewise.testing.join_events import join_events, join_types
from panewise.testing.joins import join_specs
from panewise.testing.over_specs import frame_events, frame_specs
from panewise.testing.policy_events import stream_events
from panewise.testing.policy_specs import TYPES as POLICY_TYPES
from panewise.testing.policy_specs import stream_windows
from panewise.testing.strategies import ALL_KINDS, events, specs, types_of
from panewise.testing.window_specs import limited_specs
from panewise.testing.windowed_joins import windowed_join_specs
from tests.engine.effort import SOAK, examples
from tests.nightly import unlike

FEW = examples(12)


def drawn(data: st.DataObject, family: str) -> tuple[Any, list[dict[str, Any]], Any]:
    """Draws a specification of a family, events, and the types of their columns."""
    spec: Any
    match family:
        case "over":
            spec = data.draw(frame_specs())
            return spec, data.draw(frame_events(spec)), types_of(spec)
        case "deduplicate":
            spec = data.draw(deduplicate_specs())
            return spec, data.draw(deduplicate_events(spec)), types_of(spec)
        case "chain":
            spec = data.draw(chains(data.draw(st.sampled_from(["tumbling", "session"]))))
            return spec, data.draw(events(spec.first)), types_of(spec.first)
        case "limited":
            spec = data.draw(limited_specs())
            return spec, data.draw(events(spec)), types_of(spec)
        case "policy":
            spec = data.draw(stream_windows())
            return spec, data.draw(stream_events(spec)), POLICY_TYPES
        case "join" | "cogroup" | "windowed_join":
            made = {"join": join_specs, "cogroup": cogroup_specs, "windowed_join": windowed_join_specs}
            spec = data.draw(made[family]())
            sides = spec.join if isinstance(spec, WindowedJoin) else spec
            return spec, data.draw(join_events(sides)), join_types(sides)
    spec = data.draw(specs(family))
    return spec, data.draw(events(spec)), types_of(spec)


OPTIONS: list[dict[str, bool]] = [
    {},
    {"messages": True},
    {"stored": True},
    {"exported": True},
    {"exported": True, "stored": True},
]
FAMILIES = [
    *ALL_KINDS,
    "limited",
    "over",
    "deduplicate",
    "chain",
    "policy",
    "join",
    "cogroup",
    "windowed_join",
]


def check(data: st.DataObject, family: str) -> None:
    spec, script, types = drawn(data, family)
    options = data.draw(st.sampled_from(OPTIONS), label="options")
    wanted = run(spec, script, "oracle", types=types, windows=True)
    got = run(spec, script, "standalone", types=types, windows=True, **options)
    for event, left, right in zip(script, got, wanted, strict=True):
        assert same(left, right), f"{event}\nstandalone {left}\noracle {right}\nspec {spec}\ntypes {types}"


@pytest.mark.filterwarnings("ignore::panewise.errors.SpecWarning")
@pytest.mark.parametrize("family", unlike(FAMILIES))
@FEW
@given(data=st.data())
def test_standalone_is_oracle(family: str, data: st.DataObject) -> None:
    """semantics 31; of a limit of windows also 15.24, 15.25, exported and stored."""
    check(data, family)


@pytest.mark.soak
@pytest.mark.filterwarnings("ignore::panewise.errors.SpecWarning")
@pytest.mark.parametrize("family", FAMILIES)
@SOAK
@given(data=st.data())
def test_standalone_is_oracle_at_length(family: str, data: st.DataObject) -> None:
    check(data, family)
