"""The word for the name of an input is `input` in every call and event (semantics 31.26)."""

import asyncio
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import polars as pl
import pytest

from panewise import Frame, InputError, Interval, JoinOperator, OverColumn, OverOperator, Side, Tumbling
from panewise import WindowOperator as Windows
from panewise import functions as F
from panewise.standalone import (
    AggregatorSettings,
    AsyncOperator,
    JoinWindowOperator,
    JoinWindowSettings,
    StandaloneOperator,
    WindowedAggregator,
)
from panewise.stores import DurableMap
from panewise.testing import run

N = [F.count().alias("n")]
FRAME = Frame("rows", None, 0)
SIDE = Side(keys=["k"])
JOIN = JoinOperator(left=SIDE, right=Side(keys=["k"], prefix="r_"), match=Interval(0, 5))
TYPES = {"left": {"k": "string", "event_time": "bigint"}, "right": {"k": "string", "event_time": "bigint"}}
ROW = {"k": "a", "event_time": 1}
CALLS: dict[str, Callable[..., Any]] = {
    "add_message": lambda operator, **named: operator.add_message(ROW, **named),
    "add_batch": lambda operator, **named: operator.add_batch(pl.DataFrame([ROW]), **named),
    "advance": lambda operator, **named: operator.advance(watermark=1, **named),
    "finish": lambda operator, **named: operator.finish(**named),
    "positions": lambda operator, **named: operator.positions(**named),
}


@pytest.mark.parametrize("word", ["port", "side", "source"])
@pytest.mark.parametrize("call", CALLS)
def test_another_word_for_the_input_is_refused(call: str, word: str) -> None:
    """semantics 31.26"""
    operator = StandaloneOperator(JOIN, TYPES)
    CALLS[call](operator, input="right")
    with pytest.raises(InputError) as caught:
        CALLS[call](operator, **{word: "left"})
    assert caught.value.args[0] == (
        f"{call}({word}='left') | an input is named by input=... | write input='left'"
    )
    with pytest.raises(TypeError, match=rf"^{call}\(\) got an unexpected keyword argument 'inputs'$"):
        CALLS[call](operator, inputs="left")


@pytest.mark.parametrize("call", ["add_message", "add_batch", "advance", "finish"])
def test_another_word_is_refused_by_the_front_for_asyncio(call: str) -> None:
    async def main() -> None:
        operator = AsyncOperator(JOIN, TYPES)
        await CALLS[call](operator, input="left")
        with pytest.raises(InputError, match=r"write input='left' \[PW-"):
            await CALLS[call](operator, port="left")
        assert operator.positions(input="left") == []
        with pytest.raises(InputError, match=r"write input='left' \[PW-"):
            operator.positions(side="left")  # type: ignore[call-arg]

    asyncio.run(main())


@pytest.mark.parametrize("word", ["side", "port"])
@pytest.mark.parametrize("event", [{"op": "add", "rows": []}, {"op": "finish"}, {"op": "watermark", "to": 1}])
def test_another_word_in_an_event_is_refused(event: dict[str, Any], word: str) -> None:
    run(JOIN, [{**event, "input": "left"}], types=TYPES)  # type: ignore[arg-type]
    with pytest.raises(InputError) as caught:
        run(JOIN, [{**event, word: "left"}])
    assert str(caught.value).startswith(f"events[0] has a field '{word}': ")
    assert caught.value.args[0].endswith(
        " | an event names an input in the field 'input' | say 'input': 'left'"
    )


@pytest.mark.parametrize("buffer", [1, None])
@pytest.mark.parametrize(
    ("name", "remedy"),
    [("event_tim", "say 'event_time'"), ("zzz", "leave it out, or add it to the schema"), (7, "leave")],
)
def test_a_message_with_an_unknown_column_is_refused(name: Any, remedy: str, buffer: int | None) -> None:
    """semantics 31.27: it changes nothing."""
    for spec in (Windows(window=Tumbling(10), aggregates=N), OverOperator(columns=[OverColumn(N[0], FRAME)])):
        operator = StandaloneOperator(spec, {"event_time": "bigint"}, buffer=buffer)
        for message in ({name: 1}, MappingProxyType({"event_time": 1, name: None})):
            with pytest.raises(InputError) as caught:
                operator.add_message(message)
            rule = "the columns of a message are those of the schema: ['event_time']"
            assert str(caught.value).startswith(f"a message with a column {name!r} | {rule} | {remedy}")
        operator.add_batch(pl.DataFrame({"event_time": [1], "other": [2]}))
        operator.finish()
        assert operator.counts["input"].rows_in == 1


@pytest.mark.parametrize("mode", ["aggregator", "join"])
def test_a_message_of_retained_windows_with_an_unknown_column_is_refused(mode: str) -> None:
    """semantics 31.27: it is not rejected as an invalid one."""
    given: Any = {"measure": "time", "size": 10, "advance": 10, "retention_size": 9, "retention_time": 9}
    types = {"event_time": "bigint"}
    operator: Any
    if mode == "join":
        operator = JoinWindowOperator(JoinWindowSettings(keyed_message_store=(), **given), types)
    else:
        operator = WindowedAggregator(AggregatorSettings(**given), N, types)
    with pytest.raises(InputError, match=r"a message with a column 'event_tim' .* say 'event_time' \[PW-"):
        operator.add_message({"event_tim": 1})
    assert (operator.counts.rows_in, operator.drain_rejected()) == (0, [])


def test_emissions_and_outputs_name_the_input() -> None:
    rows = [{"k": "a", "event_time": None}]
    operator = StandaloneOperator(JOIN, TYPES)
    operator.add_message(rows[0], "right")
    assert [(one.input, one.invalid.height) for one in operator.drain()] == [("right", 1)]
    for runtime in ("oracle", "engine", "standalone"):
        [output] = run(JOIN, [{"op": "add", "input": "right", "rows": rows}], runtime, types=TYPES)  # type: ignore[arg-type]
        assert [entry["input"] for entry in output["invalid"]] == ["right"]


@pytest.mark.parametrize("place", ["", 3])
def test_a_directory_has_a_path(place: Any) -> None:
    """semantics 31.3"""
    settings = AggregatorSettings(
        measure="time", size=10, advance=10, retention_size=100, retention_time="1 day"
    )
    for make in (
        lambda: StandaloneOperator(JOIN, TYPES, store=place),
        lambda: WindowedAggregator(settings, N, {"event_time": "bigint"}, store=place),
        lambda: DurableMap(place),
    ):
        with pytest.raises(InputError, match=r"directory|OperatorStore"):
            make()


def test_aggregates_are_added_to_a_store() -> None:
    """semantics 47.3"""
    with pytest.raises(InputError, match="give the store"):
        StandaloneOperator(JOIN, TYPES, added_aggregates="from_now_on")
