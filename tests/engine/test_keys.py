"""Null and NaN keys in operations for which Polars has other rules for floats (semantics 15.2)."""

import math

import polars as pl
import pytest

from panewise import OverColumn, OverOperator, Sliding, StreamTime, Tumbling, WindowOperator
from panewise import functions as F
from panewise.engine.kernels.small_frames import join_frames
from panewise.testing import run

NAN = math.nan


@pytest.mark.parametrize("how", ["inner", "left"])
@pytest.mark.parametrize("values", [[NAN], [1.0, NAN], [None, 1.0, NAN]])
def test_a_join_by_one_sorted_column_of_floats_matches_nan(values: list[float | None], how: str) -> None:
    rows = pl.DataFrame({"k": values}, schema={"k": pl.Float64}).sort("k")
    others = rows.with_row_index("n")
    assert join_frames(rows, others, ["k"], how)["n"].to_list() == list(range(len(values)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "fields",
    [
        {"window": Tumbling(10)},
        {"window": Tumbling(10), "watermark": StreamTime()},
        {"window": Sliding(3), "watermark": StreamTime(1)},
    ],
)
def test_a_key_that_is_nan_alone(fields: dict[str, object]) -> None:
    """A table whose only key is NaN, so that its key column counts as sorted, is right over restarts."""
    spec = WindowOperator(
        keys=["x"], accumulation="accumulating", aggregates=[F.count().alias("n")], **fields
    )  # type: ignore[arg-type]
    batches = [{"op": "add", "rows": [{"event_time": t, "x": NAN}]} for t in (1, 2, 4, 3, 20)]
    events = [step for batch in batches for step in (batch, {"op": "restart"})] + [{"op": "finish"}]
    wanted, got = (run(spec, events, runtime, types={"x": "double"}) for runtime in ("oracle", "engine"))
    shown = [
        [(pane["window_start"], pane["n"]) for output in outputs for pane in output["panes"]]
        for outputs in (wanted, got)
    ]
    assert shown[0] == shown[1] != []
    assert all(math.isnan(pane["x"]) for output in got for pane in output["panes"])


@pytest.mark.parametrize("runtime", ["oracle", "engine"])
def test_a_row_that_waits_is_emitted_with_its_own_zero(runtime: str) -> None:
    """semantics 29.1: -0.0 and 0.0 are one key, but the columns of a row are emitted unchanged."""
    spec = OverOperator(keys=["k"], event_time=None, columns=[OverColumn(F.lead("v").alias("next"))])
    script = [{"op": "add", "rows": [{"k": 0.0, "v": 1}, {"k": -0.0, "v": 2}]}, {"op": "finish"}]
    first, last = run(spec, script, runtime, types={"k": "double", "v": "bigint"})
    emitted = [*first["panes"], *last["panes"]]
    assert [(math.copysign(1, row["k"]), row["v"], row["next"]) for row in emitted] == [
        (1, 1, 2),
        (-1, 2, None),
    ]


@pytest.mark.parametrize("runtime", ["oracle", "engine"])
def test_a_row_looks_back_to_the_zero_of_another(runtime: str) -> None:
    """semantics 29.1: a stored row has its own columns, not the key of another row of its batch."""
    spec = OverOperator(keys=["k"], event_time=None, columns=[OverColumn(F.lag("k").alias("before"))])
    script = [{"op": "add", "rows": [{"k": 0.0}, {"k": -0.0}]}, {"op": "add", "rows": [{"k": 0.0}]}]
    _, last = run(spec, script, runtime, types={"k": "double"})
    assert [math.copysign(1, row["before"]) for row in last["panes"]] == [-1]
