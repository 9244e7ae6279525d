"""The whole state of an operator as one value, and values that are no such state."""

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import panewise as pw
from panewise import functions as F
from panewise.engine.saved_operator import restore, save
from panewise.engine.windows.operator import WindowEngine
from panewise.errors import StateError

SPEC = pw.WindowOperator(window=pw.Tumbling(1_000), aggregates=[F.sum("v").alias("s")], keys=["key"])
SCHEMA: dict[str, pl.DataType] = {"key": pl.Int64(), "event_time": pl.Int64(), "v": pl.Int64()}


def operator() -> WindowEngine:
    engine = WindowEngine(SPEC, SCHEMA)
    engine.advance(3, 40)
    engine.add(pl.DataFrame([(1, 1_010, 1), (2, 3_000, 5)], schema=SCHEMA, orient="row"))
    return engine


def test_saved_and_restored_is_the_same_operator() -> None:
    saved = operator()
    again = restore(SPEC, SCHEMA, save(saved))
    assert_frame_equal(again.live(), saved.live())
    assert again.state.clocks == saved.state.clocks
    assert_frame_equal(again.finish().panes, saved.finish().panes)


def test_a_value_that_is_cut_is_refused() -> None:
    whole = save(operator())
    with pytest.raises(StateError, match=rf"of {len(whole) - 1} bytes \| its parts have {len(whole)} bytes"):
        restore(SPEC, SCHEMA, whole[:-1])


def test_a_value_with_more_tables_is_refused() -> None:
    whole = save(operator())
    run = whole[4 + int.from_bytes(whole[:4], "little") :]
    with pytest.raises(StateError, match=r"a saved operator with 2 tables \| its state has 1 tables"):
        restore(SPEC, SCHEMA, whole + run)
