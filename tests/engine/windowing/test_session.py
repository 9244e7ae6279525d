"""Session gaps from a column of the rows: accepted and refused types (semantics 9.3)."""

from datetime import timedelta

import polars as pl
import pytest

import panewise as pw
from panewise import functions as F
from panewise.engine.windows.operator import WindowEngine
from panewise.errors import SpecError
from panewise.testing import run
from tests.engine.agreement import agree

SPEC = pw.WindowOperator(window=pw.Session("gap"), event_time="t", aggregates=[F.count().alias("n")])
TIMES = pl.Series("t", [0, 3, 100, 200, 300], dtype=pl.Int64)


def stored_windows(gap: pl.Series) -> list[tuple[int, int]]:
    """Returns the stored sessions. Asserts that the last three rows are invalid."""
    rows = pl.DataFrame([TIMES, gap])
    operator = WindowEngine(SPEC, dict(rows.schema))
    output = operator.add(rows)
    assert output.invalid["__reason"].to_list() == [
        "gap gap is null",
        "gap gap is not above zero",
        "gap gap is not above zero",
    ]
    return list(operator.live().select("window_start", "window_end").iter_rows())


@pytest.mark.parametrize("dtype", [pl.Int8(), pl.Int32(), pl.Int64()])
def test_whole_microseconds(dtype: pl.DataType) -> None:
    assert stored_windows(pl.Series("gap", [5, 9, None, 0, -1], dtype=dtype)) == [(0, 12)]


def test_intervals() -> None:
    gap = [timedelta(microseconds=5), timedelta(seconds=1), None, timedelta(0), timedelta(microseconds=-1)]
    assert stored_windows(pl.Series("gap", gap, dtype=pl.Duration("us"))) == [(0, 1_000_003)]


@pytest.mark.parametrize(
    ("dtype", "shown"),
    [(pl.Float64(), "double"), (pl.String(), "string"), (pl.Duration("ns"), "duration(time_unit='ns')")],
    ids=["double", "string", "duration"],
)
def test_other_types_are_refused(dtype: pl.DataType, shown: str) -> None:
    with pytest.raises(SpecError) as caught:
        WindowEngine(SPEC, {"t": pl.Int64(), "gap": dtype})
    rule = "the gap of a row is whole microseconds or an interval of them (semantics 9.3)"
    assert (
        caught.value.args[0]
        == f"gap gap: {shown} | {rule} | cast gap to BIGINT microseconds, or to INTERVAL DAY TO SECOND"
    )


def test_a_row_is_late_although_a_later_row_would_connect_it() -> None:
    """semantics 13.2: only the sessions that are stored when a row arrives decide whether it is late."""
    spec = pw.WindowOperator(window=pw.Session(10), event_time="t", aggregates=[F.count().alias("n")])
    batches = [[{"t": 95}], [{"t": 80}, {"t": 88}]]
    first, second = ({"op": "add", "rows": batch} for batch in batches)
    script = [first, {"op": "watermark", "to": 100}, second]
    agree(spec, script)
    output = run(spec, script, windows=True)[-1]
    assert [late["row"]["t"] for late in output["late"]] == [80]
    assert [(window["window_start"], window["window_end"]) for window in output["windows"]] == [(88, 105)]
