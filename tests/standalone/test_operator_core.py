"""The end of input: nothing is added after it, in every family and by every call."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from panewise import (
    CogroupOperator,
    InputError,
    Interval,
    JoinOperator,
    OverColumn,
    OverOperator,
    SameWindow,
    Side,
    StreamWindow,
    Tumbling,
    WindowOperator,
)
from panewise import functions as F
from panewise.standalone import AsyncOperator, StandaloneOperator
from panewise.streamwindow import count

TYPES = {"k": "string", "event_time": "bigint"}
ROW = {"k": "a", "event_time": 1}
FRAME = pl.DataFrame([ROW])
N = [F.count().alias("n")]
WINDOWS = WindowOperator(window=Tumbling(10), keys=["k"], aggregates=N)
LEFT, RIGHT = Side(keys=["k"]), Side(keys=["k"], prefix="r_")
JOIN = JoinOperator(left=LEFT, right=RIGHT, match=Interval(0, 5))
ONE_INPUT = {
    "windows": WINDOWS,
    "chain": WINDOWS.then(aggregates=[F.sum("n").alias("s")]),
    "over": OverOperator(keys=["k"], columns=[OverColumn(F.row_number().alias("n"))]),
    "policy": StreamWindow.tumbling(count(2)),
}
TWO_INPUTS = {
    "join": JOIN,
    "window_join": JoinOperator(left=LEFT, right=RIGHT, match=SameWindow(Tumbling(10))),
    "cogroup": CogroupOperator(left=LEFT, right=LEFT, window=Tumbling(10), left_aggregates=N),
    "windowed_join": JOIN.then(window=Tumbling(10), aggregates=N),
}
ADDITIONS: dict[str, Callable[[Any, Any], object]] = {
    "message": lambda operator, port: operator.add_message(ROW, port),
    "batch": lambda operator, port: operator.add_batch(FRAME, port),
    "empty batch": lambda operator, port: operator.add_batch(FRAME.clear(), port),
    "batch by input": lambda operator, port: operator.add_batch({port or "input": FRAME}),
}
SETTINGS: dict[str, dict[str, Any]] = {"deferred": {}, "waiting": {"buffer": None}, "buffered": {"buffer": 2}}


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("family", ONE_INPUT)
def test_nothing_is_added_after_the_end_of_input(family: str, settings: str) -> None:
    """semantics 12.2: the call raises an error and changes nothing; clocks may move."""
    operator = StandaloneOperator(ONE_INPUT[family], TYPES, **SETTINGS[settings])
    operator.add_message(ROW)
    operator.finish()
    assert operator.drain()
    counts = operator.counts
    for add in ADDITIONS.values():
        with pytest.raises(
            InputError, match=r"^rows after finish \| nothing is added after the end of input \| "
        ):
            add(operator, None)
    operator.advance(watermark=50, clock=60)
    operator.finish()
    assert (operator.counts, operator.remove_waiting(), operator.drain()) == (counts, [], [])


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("family", TWO_INPUTS)
def test_nothing_is_added_to_a_side_after_its_end(family: str, settings: str) -> None:
    """semantics 36.4, 12.2"""
    operator = StandaloneOperator(TWO_INPUTS[family], {"left": TYPES, "right": TYPES}, **SETTINGS[settings])
    operator.finish("left")
    for add in (*ADDITIONS.values(), lambda to, port: to.add_batch({"left": FRAME, "right": FRAME})):
        with pytest.raises(InputError, match=r"^rows of 'left' after finish \| nothing is added after"):
            add(operator, "left")
    operator.advance(watermark=50, input="left")
    operator.add_message(ROW, "right")
    operator.finish()
    assert {port: one.rows_in for port, one in operator.counts.items() if one.rows_in} == {"right": 1}
    with pytest.raises(InputError, match=r"^rows of 'right' after finish"):
        operator.add_message(ROW, "right")


def test_the_end_of_input_is_a_part_of_the_state(tmp_path: Path) -> None:
    """semantics 12.2, 31.4, 33.3"""
    with StandaloneOperator(WINDOWS, TYPES, store=tmp_path) as operator:
        operator.life_cycle.checkpoint("before")
        operator.finish()
        operator.flush()
    with StandaloneOperator(WINDOWS, TYPES, store=tmp_path) as operator:
        with pytest.raises(InputError, match=r"^rows after finish"):
            operator.add_message(ROW)
        operator.life_cycle.reset("before")
        operator.add_message(ROW)
        operator.finish()
        operator.life_cycle.reset_to_initial()
        operator.add_message(ROW)


def test_nothing_is_added_by_the_front_for_asyncio_after_the_end() -> None:
    async def main() -> None:
        async with AsyncOperator(WINDOWS, TYPES) as operator:
            await operator.finish()
            with pytest.raises(InputError, match=r"^rows after finish"):
                await operator.add_message(ROW)
            with pytest.raises(InputError, match=r"^rows after finish"):
                await operator.add_batch(FRAME)

    asyncio.run(main())
