"""The word for the name of an input is `input` in every call and event (semantics 31.26)."""

import asyncio
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from panewise import InputError, Interval, JoinOperator, Side
from panewise.standalone import AsyncOperator, StandaloneOperator
from panewise.testing import run

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
    operator = StandaloneOperator(JOIN, TYPES)
    CALLS[call](operator, input="right")
    with pytest.raises(InputError) as caught:
        CALLS[call](operator, **{word: "left"})
    assert str(caught.value) == (f"{call}({word}='left') | an input is named by input=... | say input='left'")
    with pytest.raises(TypeError, match=rf"^{call}\(\) got an unexpected keyword argument 'inputs'$"):
        CALLS[call](operator, inputs="left")


@pytest.mark.parametrize("call", ["add_message", "add_batch", "advance", "finish"])
def test_another_word_is_refused_by_the_front_for_asyncio(call: str) -> None:
    async def main() -> None:
        operator = AsyncOperator(JOIN, TYPES)
        await CALLS[call](operator, input="left")
        with pytest.raises(InputError, match=r"say input='left'$"):
            await CALLS[call](operator, port="left")
        assert operator.positions(input="left") == []
        with pytest.raises(InputError, match=r"say input='left'$"):
            operator.positions(side="left")  # type: ignore[call-arg]

    asyncio.run(main())


@pytest.mark.parametrize("word", ["side", "port"])
@pytest.mark.parametrize("event", [{"op": "add", "rows": []}, {"op": "finish"}, {"op": "watermark", "to": 1}])
def test_another_word_in_an_event_is_refused(event: dict[str, Any], word: str) -> None:
    run(JOIN, [{**event, "input": "left"}], types=TYPES)  # type: ignore[arg-type]
    with pytest.raises(InputError) as caught:
        run(JOIN, [{**event, word: "left"}])
    assert str(caught.value).startswith(f"events[0] has a field '{word}': ")
    assert str(caught.value).endswith(" | an event names an input in the field 'input' | say 'input': 'left'")


def test_emissions_and_outputs_name_the_input() -> None:
    rows = [{"k": "a", "event_time": None}]
    operator = StandaloneOperator(JOIN, TYPES)
    operator.add_message(rows[0], "right")
    assert [(one.input, one.invalid.height) for one in operator.drain()] == [("right", 1)]
    for runtime in ("oracle", "engine", "standalone"):
        [output] = run(JOIN, [{"op": "add", "input": "right", "rows": rows}], runtime, types=TYPES)  # type: ignore[arg-type]
        assert [entry["input"] for entry in output["invalid"]] == ["right"]
