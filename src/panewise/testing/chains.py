"""Hypothesis strategies of chains (semantics 30)."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

from hypothesis import strategies as st

from panewise import functions as F
from panewise.families import INPUT
from panewise.oracle.chain.interpreter import kinds_of
from panewise.spec import (
    Aggregate,
    Chain,
    Specification,
    WindowOperator,
    counted,
    has_key_watermarks,
    merging,
)
from panewise.spec.aggregates.aggregate import PAIRS
from panewise.spec.fields import silently
from panewise.testing.samples import ALL_TEXT, NULLS, TEXTS, TRUES, types_of
from panewise.testing.window_specs import specs

_ROUNDED = PAIRS | {"skewness", "kurtosis"}
_NUMERIC = (F.sum, F.avg, F.stddev, F.var_pop, F.median)
_SINGLE = (F.min, F.max, F.collect_set, F.count_distinct, F.mode, F.sort_list, NULLS)  # all but lists


@st.composite
def chains(draw: st.DrawFn, /, kind: str | None = None, longest: int = 3, **fixed: Any) -> Chain:
    """Draws chains of an operator, as :func:`panewise.testing.window_specs.specs` draws it, and of stages.

    Args:
        kind: kind of the window, such as "session". Default: all.
        longest: the maximum number of stages.
        fixed: fields of the operator that are not drawn, with their values.
    """
    fixed = {"keys": draw(_KEYS), "delta": False, **fixed}
    first = draw(specs(kind, **fixed).filter(can_begin_chain))
    if merging(first.window) and first.accumulation == "accumulating":
        with silently():
            first = draw(
                specs(kind, **{**fixed, "window": first.window, "accumulation": "retracting"}).filter(
                    can_begin_chain
                )
            )
    spec: WindowOperator | Chain = _without_rounded(first)
    for _ in range(draw(st.integers(1, longest))):
        spec = spec.then(**draw(_stage(spec)))
    assert isinstance(spec, Chain)
    return spec


def _without_rounded(first: WindowOperator) -> WindowOperator:
    """Returns the operator without aggregates whose last bits depend on cuts (semantics 3.1).

    A stage may group by a result, or count distinct results. Then the last bit of one would decide.
    """
    exact = [aggregate for aggregate in first.aggregates if aggregate.fn not in _ROUNDED]
    with silently():
        return replace(first, aggregates=tuple(exact) or (F.count().alias("a0"),))


def can_begin_chain(first: WindowOperator) -> bool:
    """Returns whether a chain can begin with the operator (semantics 30.6), apart from its delta."""
    return not has_key_watermarks(first.watermark) and not counted(first.window)


_KEYS = st.sampled_from(
    [["key", "shop"], ["key", "shop"], ["shop", "level"], ["level", "key", "shop"], ["key"], []]
)


def columns_of_panes(spec: Specification) -> dict[str, str]:
    """Returns the columns of a specification's panes that a stage can read, with their types.

    The type of every list, struct and map is "list".
    """
    first = spec.ports[INPUT]
    before: list[Any] = [first, *(spec.stages if isinstance(spec, Chain) else ())]
    types = types_of(first)
    for stage in before:
        types = _types(stage.keys, stage.aggregates, types)
    return types


def _types(
    keys: tuple[str, ...], aggregates: tuple[Aggregate, ...], types: Mapping[str, str]
) -> dict[str, str]:
    kinds = kinds_of(keys, aggregates, {name: kind for name, kind in types.items() if kind != "list"})
    users = {
        a.name: "list" if a.user.result.startswith(("array", "struct", "map")) else a.user.result
        for a in aggregates
        if a.user is not None
    }
    return {
        name: kinds.get(name) or users.get(name, "list") for name in (*keys, *(a.name for a in aggregates))
    }


@st.composite
def _stage(draw: st.DrawFn, spec: WindowOperator | Chain) -> dict[str, Any]:
    """Draws the arguments of `then` for one more stage."""
    types, first = columns_of_panes(spec), spec.first if isinstance(spec, Chain) else spec
    last: Any = spec.stages[-1] if isinstance(spec, Chain) else first
    results = [a.name for a in last.aggregates if types[a.name] != "list"]
    groups = [*last.keys, *(results if first.accumulation != "accumulating" else [])]
    keys = draw(st.lists(st.sampled_from(groups), max_size=2, unique=True)) if groups else []
    chosen = draw(st.lists(st.sampled_from(_aggregates(types)), min_size=1, max_size=3))
    depth = len(spec.stages) if isinstance(spec, Chain) else 0
    return {
        "keys": keys,
        "aggregates": [aggregate.alias(f"b{depth}_{n}") for n, aggregate in enumerate(chosen)],
    }


def _aggregates(types: Mapping[str, str]) -> list[Aggregate]:
    """Returns aggregates of most functions, over columns of the types that these take."""
    drawn = [F.count()]
    simple = [name for name, kind in types.items() if kind != "list"]
    for name, kind in types.items():
        drawn += [F.count(name), F.first(name), F.last(name, ignorenulls=True), F.collect_list(name)]
        drawn += [
            F.first_n(name, 2),
            F.last_n(name, 2, ignorenulls=True),
            F.collect_list(name, nulls="include"),
        ]
        if kind == "list":
            continue
        drawn += [fn(name) for fn in _SINGLE]
        drawn += [F.top_n(name, 2), *(fn(name, other) for other in simple[:2] for fn in (F.max_by, F.min_by))]
        drawn += [F.top_n_by(name, other, 2, distinct=True) for other in simple[-1:]]
        drawn += [F.max_by(name, [first, F.asc(other)]) for first, other in pairwise(simple[:2])]
        drawn += [fn(name) for fn in _of_type(kind)]
    return drawn


def _of_type(kind: str) -> tuple[Callable[[str], Aggregate], ...]:
    """Returns the functions that take only columns of a type."""
    if kind in ("bigint", "double") or kind.startswith("decimal"):
        return _NUMERIC[:2] if kind.startswith("decimal") else _NUMERIC
    if kind == "boolean":
        return F.count_if, F.bool_and, F.bool_or, TRUES
    return (TEXTS, ALL_TEXT) if kind == "string" else ()
