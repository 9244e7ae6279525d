"""The number of stored entries: those of real states in this process, and values that no query can have."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from statistics import median
from typing import Any

import numpy as np
import polars as pl
import pytest

from panewise import Hopping, Interval, JoinOperator, Session, Side, Tumbling, Window, WindowOperator
from panewise import functions as F
from panewise.engine.checkpoint import StoredOperator
from panewise.engine.run_library import Cache, RunLibrary
from panewise.errors import SetupError
from panewise.families import INPUT
from panewise.sizing.costs import costs
from panewise.sizing.requirements import requirements
from panewise.sizing.workload import Workload
from panewise.spec import Specification, over_operator
from panewise.spec.operators.deduplicate import DeduplicateOperator
from panewise.state import MemoryRunStore
from tests.nightly import nightly

FACTOR = 2.0  # docs/operations/sizing.md
BATCH, DELAY, BATCHES = 15, 10, 9
SECOND = 1_000_000
SCHEMA = {"k": pl.Int64(), "ts": pl.Int64(), "v": pl.Int64()}
TOTALS = [F.count().alias("n"), F.sum("v").alias("s"), F.max("v").alias("m")]
SIDE = Side(keys=["k"], event_time="ts")
BY_KEY = Window.partitionBy("k").orderBy("ts")


def windows(window: Any, *aggregates: Any) -> WindowOperator:
    return WindowOperator(window=window, aggregates=aggregates or TOTALS, keys=["k"], event_time="ts")


# The operators that `python -m bench.size` measures, with what `panewise size` is given for them.
CASES: Mapping[str, tuple[Specification, str, float, float | None]] = {
    "windows": (windows(Tumbling("1 minute")), "windows", 60, None),
    "hopping": (windows(Hopping("1 minute", "10 seconds")), "windows", 60, 10),
    "sessions": (windows(Session("2 seconds")), "sessions", 2, None),
    "values": (windows(Tumbling("1 minute"), F.median("v").alias("m")), "values", 60, None),
    "over": (over_operator({"s": F.sum("v").over(BY_KEY.rowsBetween(-2, 0))}, "ts"), "over", 0, None),
    "deduplicate": (
        DeduplicateOperator(keys=["k"], within="1 minute", event_time="ts"),
        "deduplicate",
        60,
        None,
    ),
    "join": (
        JoinOperator(left=SIDE, right=replace(SIDE, prefix="r_"), match=Interval(0, SECOND), how="inner"),
        "join",
        1,
        None,
    ),
}


def batch(number: int, rows: int, keys: int) -> pl.DataFrame:
    """Returns the rows of a micro-batch, which are up to two seconds out of order."""
    random = np.random.default_rng(number)
    time = (number * BATCH * rows + np.arange(rows) * BATCH) * SECOND // rows
    columns = {"k": random.integers(0, keys, rows), "ts": time + random.integers(0, 2 * SECOND, rows)}
    return pl.DataFrame(columns | {"v": random.integers(0, 1_000_000, rows)})


def state_bytes(spec: Specification, rows: int, keys: int) -> Iterator[int]:
    """Yields the stored bytes after each micro-batch."""
    store, cache = MemoryRunStore(), Cache()
    ports = list(spec.ports)
    schemas = SCHEMA if ports == [INPUT] else dict.fromkeys(ports, SCHEMA)
    for number in range(BATCHES):
        stored = StoredOperator.load(spec, schemas, RunLibrary(store, cache))
        if number:
            stored.operator.advance(watermark=(number * BATCH - DELAY) * SECOND)
        frame = batch(number, rows, keys)
        for _ in stored.operator.add_batch(
            {port: frame.filter(pl.col("v") % len(ports) == place) for place, port in enumerate(ports)}
        ):
            pass
        stored.commit()
        yield sum(len(store.run(run.name)) for run in stored.manifest.runs)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(
    ("rows", "keys"), [(5_000, 2_500), nightly((50_000, 25_000)), nightly((100_000, 50_000))]
)
def test_the_state_has_the_size_that_is_computed(name: str, rows: int, keys: int) -> None:
    spec, operator, window, slide = CASES[name]
    stored = median([*state_bytes(spec, rows, keys)][-4:])
    workload = Workload(operator, rows / BATCH, keys, window, slide, DELAY, 0, BATCH)
    computed = requirements([workload], costs()).state_bytes
    assert computed / FACTOR < stored < computed * FACTOR


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"operator": "triggers"},
            "operator='triggers' | costs are known of the operators windows, sessions, values, over, ",
        ),
        (
            {"rows_per_second": 0},
            "rows_per_second=0 | a stream has more than 0 rows a second | give the rate of the busiest",
        ),
        ({"rows_per_second": float("inf")}, "rows_per_second=inf | "),
        ({"rows_per_second": float("nan")}, "rows_per_second=nan | "),
        ({"keys": 0}, "keys=0 | a stream has a key or more | give 1 if rows have none"),
        ({"batch": 0}, "batch=0 s | a micro-batch takes time | give such as 10 seconds"),
        ({"delay": -1}, "delay=-1 s | the delay is 0 or more | give such as 10 seconds"),
        ({"lateness": -1}, "lateness=-1 s | the lateness is 0 or more | give such as 10 seconds"),
        ({"window": 0}, "window=0 s | the length of windows is above 0 | give the window"),
        (
            {"operator": "over", "window": -1},
            "window=-1 s | the range of a frame is 0 or more | give the window",
        ),
        (
            {"operator": "join", "slide": 1},
            (
                "slide=1 s, operator='join' | only the operators 'windows' and 'values' have a slide"
                " | leave it out"
            ),
        ),
        (
            {"slide": 61},
            "slide=61 s, window=60 s | a slide is above 0, and at most the window | give a smaller slide",
        ),
        ({"slide": 0}, "slide=0 s, window=60 s | "),
    ],
)
def test_values_that_no_query_has(values: dict[str, Any], message: str) -> None:
    with pytest.raises(SetupError) as refused:
        Workload(**({"operator": "windows", "rows_per_second": 100, "keys": 10, "window": 60} | values))
    assert str(refused.value).startswith(message)


def test_the_range_of_a_frame_may_be_zero() -> None:
    assert Workload("over", 100, 10).entries == 100 * 20 + 10
