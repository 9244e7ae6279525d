"""How tests draw specifications of every family, events for them, and the types of their columns."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final, TypeAlias

import pytest
from hypothesis.strategies import SearchStrategy

from panewise.spec import Chain, DeduplicateOperator, OverOperator, Specification, StreamWindow, WindowedJoin
from panewise.spec.operators.join.side_entry import TwoSided
from panewise.testing.matches.interval import unbounded_intervals
from panewise.testing.matches.last_rows import last_rows
from panewise.testing.matches.latest import latests
from panewise.testing.strategies import (
    ALL_KINDS,
    KINDS,
    chains,
    cogroup_specs,
    deduplicate_events,
    deduplicate_specs,
    events,
    frame_events,
    frame_specs,
    join_events,
    join_specs,
    join_types,
    specs,
    stream_events,
    stream_types,
    stream_windows,
    types_of,
    window_join_specs,
    windowed_join_specs,
    windowed_streams,
)
from panewise.testing.window_specs import LIMITED_KINDS, limited_specs
from tests.nightly import LIKE_ANOTHER, nightly

Events: TypeAlias = list[dict[str, Any]]
Specs: TypeAlias = Callable[..., SearchStrategy[Any]]  # given fields that are not drawn


def _of_match(matches: Callable[[], SearchStrategy[Any]], of_join: Specs = join_specs) -> Specs:
    """Returns a strategy of joins, or of windows over joins, with matches of a strategy."""
    return lambda **fixed: matches().flatmap(lambda match: of_join(match=match, **fixed))


WINDOWS: Final[Mapping[str, Specs]] = {kind: partial(specs, kind) for kind in ALL_KINDS}
LIMITED: Final[Mapping[str, Specs]] = {
    f"limited {kind}": partial(limited_specs, kind) for kind in LIMITED_KINDS
}
CHAINS: Final[Mapping[str, Specs]] = {f"chain of {kind}": partial(chains, kind) for kind in KINDS}
ROWS: Final[Mapping[str, Specs]] = {"over": frame_specs, "deduplicate": deduplicate_specs}
POLICIES: Final[Mapping[str, Specs]] = {
    "tumbling policy": partial(stream_windows, "tumbling"),
    "sliding policy": partial(stream_windows, "sliding"),
}
JOINS: Final[Mapping[str, Specs]] = {
    "join": join_specs,
    "last rows": _of_match(last_rows),
    "latest rows": _of_match(latests),
    "unbounded interval": _of_match(unbounded_intervals),
    "windowed streams": _of_match(windowed_streams),
    "window join": window_join_specs,
    "cogroup": cogroup_specs,
}
OVER_JOINS: Final[Mapping[str, Specs]] = {
    "windowed join": windowed_join_specs,
    "windows over windowed streams": _of_match(windowed_streams, windowed_join_specs),
}
FAMILIES: Final[Mapping[str, Specs]] = {
    "windows": specs,
    "chain": chains,
    **ROWS,
    "policy": stream_windows,
    **{name: JOINS[name] for name in ("join", "window join", "cogroup")},
    "windowed join": windowed_join_specs,
}
# The same with a line for each kind of windows, and with their limit.
BY_KIND: Final[Mapping[str, Specs]] = {
    **WINDOWS,
    "limited": limited_specs,
    **{name: of for name, of in FAMILIES.items() if name != "windows"},
}
# And with one for each kind of windows, of policies and of matches.
SPECS: Final[Mapping[str, Specs]] = {
    **WINDOWS,
    **LIMITED,
    **CHAINS,
    **ROWS,
    **POLICIES,
    **JOINS,
    **OVER_JOINS,
}


def input_of(spec: Specification) -> Any:
    """Returns the specification that takes the rows: the first stage of a chain, the join below windows."""
    return spec.first if isinstance(spec, Chain) else spec.join if isinstance(spec, WindowedJoin) else spec


def events_of(spec: Specification, types: Any = None) -> SearchStrategy[Events]:
    """Returns the strategy of events for a specification. `types` are those that differ from the samples."""
    match of_input := input_of(spec):
        case TwoSided():
            return join_events(of_input, types=types)
        case OverOperator():
            return frame_events(of_input, types=types)
        case DeduplicateOperator():
            return deduplicate_events(of_input, types=types)
        case StreamWindow():
            return stream_events(of_input, types=types)
    return events(of_input, types=types)


def types_for(*specifications: Specification) -> Any:
    """Returns the types of the columns that specifications read; of two sides by side, those of the first."""
    first, *others = map(input_of, specifications)
    match first:
        case TwoSided():
            return join_types(first)
        case StreamWindow():
            return stream_types(first)
    return {name: kind for spec in (first, *others) for name, kind in types_of(spec).items()}


def few(families: Iterable[str]) -> pytest.MarkDecorator:
    """Returns families as parameters. Those with windows that are drawn like other ones are nightly."""
    kinds = [nightly(one) if one.split()[-1] in LIKE_ANOTHER else one for one in families]
    return pytest.mark.parametrize("family", kinds)
