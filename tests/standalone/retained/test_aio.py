"""S1's window operators for asyncio: acceptance and flushes. Back pressure is that of AsyncOperator."""

import asyncio
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from panewise import InputError
from panewise import functions as F
from panewise.standalone import AggregatorSettings, AsyncWindows, Callbacks, StandaloneOperator
from panewise.standalone import WindowedAggregator as Aggregator
from tests.standalone.test_aio import settled
from tests.standalone.test_operator import SPEC
from tests.standalone.test_operator import TYPES as OTHER_TYPES

TYPES = {"event_time": "bigint", "v": "bigint"}
SETTINGS = AggregatorSettings(
    measure="time", size=10, advance=10, retention_size=10**6, retention_time=20, late=5
)


def aggregator(**options: Any) -> Aggregator:
    return Aggregator(SETTINGS, [F.sum("v").alias("a")], TYPES, **options)


def message(number: int) -> dict[str, int]:
    return {"event_time": 10 * number, "v": number}


async def produce(windows: AsyncWindows, messages: int, done: list[int]) -> None:
    for number in range(messages):
        await windows.add_message(message(number), number)
        done.append(number)
    await windows.end()


def sums(outputs: list[Any]) -> list[int]:
    return [one.window.value["a"] for one in outputs]


def test_flushes_follow_acceptance(tmp_path: Path) -> None:
    """semantics 32.6: what the consumer took and did not accept is emitted again after a restart."""

    async def main() -> Any:
        async with AsyncWindows(aggregator(store=tmp_path)) as windows:
            await windows.add_message(message(0), 0)
            assert windows.operator.position == 0
            await windows.add_message(message(1), 1)
            async for output in windows:
                first = output
                break
            async for output in windows:
                assert output is first
                break
            assert windows.operator.position == 0
            return first

    first = asyncio.run(main())
    with aggregator(store=tmp_path) as operator:
        operator.add_message(message(1), 1)
        [again] = operator.drain()
    assert (again.sequence, again.window.value) == (first.sequence, first.window.value)


def test_an_accepted_output_is_not_repeated(tmp_path: Path) -> None:
    """semantics 32.6: the writes have S1's order, and the position is the last offset."""
    writes: list[str] = []

    async def main() -> None:
        async with AsyncWindows(
            aggregator(store=tmp_path, callbacks=Callbacks(write=writes.append))
        ) as windows:
            producer = asyncio.create_task(produce(windows, 3, []))
            assert sums([one async for one in windows]) == [0, 1]
            await producer

    asyncio.run(main())
    assert writes[:2] == ["metadata", "position"]
    with aggregator(store=tmp_path) as operator:
        assert operator.position == 2
        operator.add_message(message(3), 3)
        assert sums(operator.drain()) == [2]


def test_clock_batches_and_retirement() -> None:
    async def main() -> None:
        async with AsyncWindows(aggregator()) as windows:
            assert await windows.add_batch(pl.DataFrame([message(0), message(1)])) == ["in_time", "future"]
            assert await windows.add_message(message(0), now=1) == "past"
            await windows.timeout(6)
            assert await windows.retire(10) == 1
            await windows.end()
            assert [(one.firing, one.window.start) async for one in windows] == [("full", 0), ("late", 0)]
            with pytest.raises(
                InputError, match=r"^an operator that has ended \| .* \| make a new one \[PW-"
            ):
                await windows.add_message(message(1))

    asyncio.run(main())


@pytest.mark.parametrize("remove", [Aggregator.flush, Aggregator.drain])
def test_outputs_that_the_operator_removes_make_room(remove: Any) -> None:
    async def main() -> list[int]:
        windows, done = AsyncWindows(aggregator(), capacity=1), list[int]()
        producer = asyncio.create_task(produce(windows, 3, done))
        await settled()
        assert done == [0, 1]
        assert sums(remove(windows.operator)) == [0]
        await settled()
        producer.cancel()
        return done

    assert asyncio.run(main()) == [0, 1, 2]


def test_refusals() -> None:
    with pytest.raises(InputError, match=r"^capacity=0"):
        AsyncWindows(aggregator(), capacity=0)
    with pytest.raises(InputError, match=r"^mode='automatic' \| .* \| use mode='standalone' \[PW-"):
        AsyncWindows(aggregator(mode="automatic", downstream=lambda output: None))
    other: Any = StandaloneOperator(SPEC, OTHER_TYPES)
    with pytest.raises(InputError, match=r"^an operator of the type StandaloneOperator"):
        AsyncWindows(other)
