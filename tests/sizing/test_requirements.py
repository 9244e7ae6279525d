"""More rows, keys and time never need less, and rows and keys scale; options that no query can have."""

from dataclasses import asdict, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panewise.errors import SetupError
from panewise.sizing.costs import Costs, costs
from panewise.sizing.requirements import SHARD_BYTES, Requirements, requirements
from panewise.sizing.workload import OPERATORS, SLIDING, Workload

NUMBERS = st.floats(1, 1e9)
SECONDS = st.floats(0.001, 1e6)
# Each of them is longer or larger in the second workload, and nothing is needed less for it.
GROWING = ("rows_per_second", "keys", "lateness", "delay")
# Only of a fixed slide: tumbling windows of twice the size are half as many.
SIZES = {"windows": True, "values": True, "over": True, "deduplicate": True, "join": True, "sessions": False}


@st.composite
def workloads(draw: st.DrawFn) -> Workload:
    operator, window = draw(st.sampled_from([*OPERATORS])), draw(SECONDS)
    slide = draw(st.floats(0.001, 1)) * window if operator in SLIDING else None
    times = {name: draw(SECONDS) for name in ("delay", "lateness")}
    return Workload(
        operator, draw(NUMBERS), draw(NUMBERS), window, slide, **times, batch=draw(st.floats(5, 600))
    )


def of(*inputs: Workload, costs: Costs = costs()) -> Requirements:  # noqa: B008 - the costs are a constant
    return requirements(inputs, costs)


def never_less(before: Requirements, after: Requirements) -> None:
    rounding = 1 - 1e-9
    for name in ("cores", "shards", "entries", "state_bytes", "checkpoint_bytes"):
        assert getattr(after, name) >= getattr(before, name) * rounding, name


@given(workloads(), st.sampled_from(GROWING), st.floats(1, 100))
def test_more_never_needs_less(workload: Workload, name: str, factor: float) -> None:
    more = replace(workload, **{name: getattr(workload, name) * factor})
    never_less(of(workload), of(more))


@given(workloads(), st.floats(1, 100))
def test_longer_windows_never_need_less(workload: Workload, factor: float) -> None:
    if SIZES[workload.operator]:
        never_less(of(workload), of(replace(workload, window=workload.window * factor)))


@given(workloads(), workloads())
def test_a_second_operator_never_needs_less(first: Workload, second: Workload) -> None:
    never_less(of(first), of(first, replace(second, batch=first.batch)))


@given(workloads(), st.floats(0.5, 1), st.floats(0.5, 1))
def test_busier_cores_are_never_more(workload: Workload, first: float, second: float) -> None:
    low, high = sorted((first, second))
    needs = [requirements([workload], costs(), utilization=share) for share in (low, high)]
    assert needs[0].cores >= needs[1].cores
    assert all(0 < need.busy <= share * (1 + 1e-9) for need, share in zip(needs, (low, high), strict=True))


@given(workloads(), st.integers(2, 100))
def test_rows_and_keys_scale(workload: Workload, factor: int) -> None:
    """So many times the rows and keys need so many times the state, and the cores up to what is rounded."""
    larger = replace(workload, rows_per_second=workload.rows_per_second * factor, keys=workload.keys * factor)
    before, after = of(workload), of(larger)
    for name in ("entries", "state_bytes", "checkpoint_bytes"):
        assert getattr(after, name) == pytest.approx(getattr(before, name) * factor)
    # Each core, and each shard of a large state, was rounded up before.
    assert after.cores <= before.cores * factor
    assert after.shards <= before.shards * factor
    assert after.cores >= (before.cores - 1) * factor - before.shards * factor


@given(workloads())
def test_shards(workload: Workload) -> None:
    """There is one for each core, and none has more than a gigabyte of state."""
    need = of(workload)
    assert need.cores <= need.shards
    assert need.state_bytes / need.shards <= SHARD_BYTES * (1 + 1e-9)


def test_workers_have_their_cache_at_most() -> None:
    """And the rows of their part of a micro-batch."""
    few = replace(costs(), worker_bytes=100.0)
    large = Workload("windows", 1.0, 1e8, 3600)
    assert of(large, costs=few).worker_bytes < 1025 * (1 << 20)
    assert requirements([large], few, cache_mb=1).worker_bytes < 2 * (1 << 20)


def test_micro_batches_that_are_too_short() -> None:
    fixed = replace(costs(), shard_core_seconds=0.25)
    workload = Workload("windows", 1000, 10, 60, batch=0.5)
    with pytest.raises(SetupError) as refused:
        requirements([workload, workload], fixed)
    assert refused.value.args[0] == (
        "micro-batches of 0.5 s, utilization=0.6 | each shard takes 0.50 s of a core for a micro-batch, "
        "however few rows it has | give micro-batches of more than 0.83 s"
    )
    assert requirements([workload], fixed).shards == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"utilization": 0},
            "utilization=0 | cores are busy for a share of their time, above 0 and at most 1 | ",
        ),
        ({"utilization": 1.1}, "utilization=1.1 | "),
        (
            {"cache_mb": 0},
            "cache_mb=0 | the cache of a worker has a megabyte or more | give a number such as 1024",
        ),
        ({"cache_mb": float("inf")}, "cache_mb=inf | "),
    ],
)
def test_options_that_no_query_has(options: dict[str, float], message: str) -> None:
    with pytest.raises(SetupError) as refused:
        requirements([Workload("windows", 1, 1, 60)], costs(), **options)
    assert str(refused.value).startswith(message)


def test_all_operators_have_costs() -> None:
    assert set(costs().operators) == set(OPERATORS)
    for values in map(asdict, costs().operators.values()):
        assert all(value >= 0 for value in values.values())
        assert values["entry_bytes"] > 0
        assert values["row_core_seconds"] > 0
