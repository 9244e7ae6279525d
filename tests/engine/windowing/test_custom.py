"""What a window function may return, and which results are invalid or errors (semantics 6.6, 9.4)."""

from typing import Any

import polars as pl
import pytest

import panewise as pw
from panewise import functions as F
from panewise.chrono import MAX_INSTANT
from panewise.engine.windows.operator import WindowEngine
from panewise.errors import InputError, SpecError
from panewise.oracle import Interpreter
from panewise.testing import run

RULE = (
    "a window function returns a list of windows for each row: a Series of "
    "List(Struct(start, end)) in whole microseconds"
)


def spec(window: pw.Custom) -> pw.WindowOperator:
    return pw.WindowOperator(window=window, event_time="t", aggregates=[F.count().alias("n")])


def taken(given: Any, merge: bool = False) -> tuple[list[tuple[int, int]], list[str]]:
    """Returns the stored windows and the reasons of invalid rows if the function returns `given`."""
    rows = pl.DataFrame({"t": range(len(given))}, schema={"t": pl.Int64})
    operator = WindowEngine(spec(pw.Custom(lambda frame: given, name="mine", merge=merge)), dict(rows.schema))
    output = operator.add(rows)
    return list(operator.live().select("window_start", "window_end").iter_rows()), output.invalid[
        "__reason"
    ].to_list()


BAD = "mine gave a bad window"


@pytest.mark.parametrize(
    "given",
    [
        pl.Series([[{"start": 3, "end": 5}, {"start": 0, "end": 2}, {"start": 3, "end": 5}]]),
        pl.Series(
            [[{"end": 2, "start": 0}, {"end": 5, "start": 3}]],
            dtype=pl.List(pl.Struct({"end": pl.Int32(), "start": pl.Int8()})),
        ),
        [[(3, 5), (0, 2), (3, 5)]],
        [((0, 2), [3, 5])],
    ],
)
def test_windows(given: Any) -> None:
    """Windows may be a Series or lists of pairs; equal windows count once (semantics 6.6)."""
    assert taken(given) == ([(0, 2), (3, 5)], [])


@pytest.mark.parametrize("as_series", [True, False])
def test_rows_at_fault(as_series: bool) -> None:
    """A row without a list, or with a window that is null, unbounded or empty, is invalid (semantics 6.6)."""
    good = {"start": 0, "end": 2}
    rows = [[good], None, [good, None], [{"start": 0, "end": None}], [{"start": 2, "end": 2}], []]
    lists = [None if row is None else [None if w is None else tuple(w.values()) for w in row] for row in rows]
    assert taken(pl.Series(rows) if as_series else lists) == ([(0, 2)], [BAD] * 4 + ["gap"])


@pytest.mark.parametrize("given", [["ab"], [3], [[(1,)]], [[(1.0, 2.0)]], [[(False, True)]], [[1, 2]]])
def test_values_at_fault(given: Any) -> None:
    """A row whose list does not have pairs of whole numbers is invalid."""
    assert taken(given) == ([], [BAD])


def test_the_ends_of_time() -> None:
    """A window whose end exceeds 64 bits does not exist; a row without others is invalid (semantics 6.3)."""
    assert taken([[(0, MAX_INSTANT), (0, MAX_INSTANT + 1)], [(0, MAX_INSTANT + 1)]]) == (
        [(0, MAX_INSTANT)],
        ["window out of range"],
    )


@pytest.mark.parametrize(
    "empty", [pl.Series([[], []]), pl.Series([[], []], dtype=pl.List(pl.Null())), [[], []]]
)
def test_no_windows_at_all(empty: Any) -> None:
    assert taken(empty) == ([], ["gap", "gap"])


def test_several_windows_to_merge() -> None:
    """With merge=True a row with several windows is invalid (semantics 9.4)."""
    lists = [[(0, 2), (1, 3)], [(5, 6)]]
    series = pl.Series([[{"start": s, "end": e} for s, e in pairs] for pairs in lists])
    for given in (lists, series):
        assert taken(given, merge=True) == ([(5, 6)], ["mine gave several windows"])


@pytest.mark.parametrize(
    ("given", "told", "remedy"),
    [
        ([[(0, 1)]] * 2, "2 for 1 rows", "return one list for each row, in the order of the rows"),
        (None, "NoneType", "return one list for each row, in the order of the rows"),
        (pl.Series([3]), "Int64", "return such a Series"),
        (pl.Series([[1, 2]]), "List(Int64)", "return such a Series"),
        (
            pl.Series([[{"start": 1.0, "end": 2.0}]]),
            "List(Struct({'start': Float64, 'end': Float64}))",
            "return such a Series",
        ),
    ],
)
def test_functions_at_fault(given: Any, told: str, remedy: str) -> None:
    """It is an error if the function does not return one list for each row (semantics 6.6)."""
    rows = pl.DataFrame({"t": [0]})
    operator = WindowEngine(spec(pw.Custom(lambda frame: given, name="mine")), dict(rows.schema))
    with pytest.raises(InputError) as caught:
        operator.add(rows)
    assert caught.value.args[0] == f"windows of mine: {told} | {RULE} | {remedy}"


def test_a_function_sees_valid_rows_and_its_columns_only() -> None:
    seen: list[pl.DataFrame] = []

    def mine(frame: pl.DataFrame) -> list[Any]:
        seen.append(frame)
        return [[(0, 1)]] * frame.height

    rows = pl.DataFrame({"t": [1, None, 3], "a": [1, 2, 3], "b": [4, 5, 6]})
    operator = WindowEngine(spec(pw.Custom(mine, name="mine", columns=["b"])), dict(rows.schema))
    operator.add(rows)
    assert len(seen) == 1
    assert seen[0].to_dict(as_series=False) == {"event_time": [1, 3], "b": [4, 6]}


def test_the_oracle_asks_row_by_row() -> None:
    """The oracle calls a function of single rows; panewise.testing.run adapts a function of frames."""
    frames = spec(pw.Custom(lambda frame: [[(0, 1)]] * frame.height, name="mine"))
    events = [{"op": "add", "rows": [{"t": 0}, {"t": 1}]}]
    assert run(frames, events, windows=True) == run(frames, events, "engine", windows=True)
    with pytest.raises(SpecError) as caught:
        Interpreter(frames).add([{"t": 0}])
    told = (
        "Custom 'mine' of DataFrames | the oracle calls window functions for one row at a "
        "time | make it with Custom.each, or use another runtime"
    )
    assert caught.value.args[0] == told


def test_a_position_does_not_lose_the_function() -> None:
    """The function is called if rows have positions, too; the second row is a replay (semantics 4)."""
    window = pw.Custom.each(lambda row: [(0, 8)], name="mine")
    events = [{"op": "add", "rows": [{"t": 0, "position": [0, 0]}, {"t": 1, "position": [0, 0]}]}]
    for runtime in ("oracle", "engine"):
        [output] = run(spec(window), events, runtime)
        assert (output["counts"]["applied"], output["counts"]["replays"]) == (1, 1)
