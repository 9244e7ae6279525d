"""The front for asyncio: back pressure, order, acceptance and commits."""

import asyncio
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from panewise import InputError, StreamWindow
from panewise.standalone import AsyncOperator, StandaloneOperator
from panewise.streamwindow import count
from tests.standalone.test_operator import SPEC, TYPES, message, totals


async def settled() -> None:
    """Lets all tasks run until each of them waits."""
    for _ in range(50):
        await asyncio.sleep(0)


async def produce(operator: AsyncOperator, windows: int, done: list[int]) -> None:
    for number in range(windows):
        await operator.add_message(message(10 * number, number), position=("p", 0, number))
        await operator.advance(watermark=10 * (number + 1))
        done.append(number)
    await operator.end()


def test_producers_wait_while_the_consumer_is_behind() -> None:
    """semantics 32.5: at most `capacity` emissions are not accepted."""

    async def main() -> None:
        async with AsyncOperator(SPEC, TYPES, capacity=3) as operator:
            done: list[int] = []
            producer = asyncio.create_task(produce(operator, 10, done))
            await settled()
            assert done == [0, 1, 2]
            found = []
            async for emission in operator:
                found += totals([emission])
                await settled()
                assert len(done) <= len(found) + 2
            await producer
            assert found == list(range(10))
            assert operator.counts["input"].applied == 10

    asyncio.run(main())


def test_commits_follow_acceptance(tmp_path: Path) -> None:
    """semantics 31.3, 32.5: what the consumer took and did not accept is emitted again after a restart."""

    async def main() -> list[Any]:
        async with AsyncOperator(SPEC, TYPES, store=tmp_path) as operator:
            await operator.add_message(message(1, 5), position=("p", 0, 0))
            await operator.advance(watermark=10)
            async for emission in operator:
                first = emission
                break
            async for emission in operator:
                assert emission is first
                break
            assert operator.positions() == [("p", 0, 0)]
            return [first]

    [first] = asyncio.run(main())
    with StandaloneOperator(SPEC, TYPES, store=tmp_path) as operator:
        assert operator.positions() == [("p", 0, 0)]  # committed by the message, which emitted nothing
        operator.advance(watermark=10)
        [again] = operator.drain()
    assert (again.first_row, again.rows.rows()) == (first.first_row, first.rows.rows())


def test_an_accepted_emission_is_not_repeated(tmp_path: Path) -> None:
    """semantics 32.5"""

    async def main() -> None:
        async with AsyncOperator(SPEC, TYPES, store=tmp_path) as operator:
            producer = asyncio.create_task(produce(operator, 3, []))
            assert [total async for one in operator for total in totals([one])] == [0, 1, 2]
            await producer

    asyncio.run(main())
    with StandaloneOperator(SPEC, TYPES, store=tmp_path) as operator:
        assert operator.positions() == [("p", 0, 2)]
        operator.finish()
        assert operator.drain() == []


def test_a_reset_discards_the_emission_that_the_loop_has() -> None:
    """semantics 33.3, 32.5"""

    async def main() -> None:
        async with AsyncOperator(SPEC, TYPES) as operator:
            await operator.add_message(message(1, 5))
            operator.life_cycle.checkpoint("one")
            await operator.advance(watermark=10)
            found = []
            async for emission in operator:
                found.append((emission.first_row, *totals([emission])))
                if len(found) == 1:
                    operator.life_cycle.reset("one")
                    await operator.finish()
                    await operator.end()
            assert found == [(1, 5), (2, 5)]

    asyncio.run(main())


def test_buffers_and_batches() -> None:
    async def main() -> None:
        async with AsyncOperator(SPEC, TYPES, buffer=100) as operator:
            await operator.add_message(message(1, 1))
            await operator.timeout(5)
            await operator.add_batch(pl.DataFrame([message(2, 2)]))
            await operator.finish()
            await operator.end()
            assert [total async for one in operator for total in totals([one])] == [3]
            with pytest.raises(
                InputError, match=r"^an operator that has ended \| .* \| make a new one \[PW-"
            ):
                await operator.add_message(message(1))

    asyncio.run(main())


def test_capacity_is_checked() -> None:
    with pytest.raises(
        InputError, match=r"^capacity=0 \| capacity is a whole number above zero \| give 1 or"
    ):
        AsyncOperator(SPEC, TYPES, capacity=0)


def test_a_producer_that_waits_ends_when_the_consumer_fails() -> None:
    """semantics 32.5: closing wakes it."""

    async def fail(operator: AsyncOperator) -> None:
        async with operator:
            async for _ in operator:
                await settled()
                raise ConnectionError

    async def main() -> None:
        operator = AsyncOperator(SPEC, TYPES, capacity=1)
        producer = asyncio.create_task(produce(operator, 10, []))
        with pytest.raises(ConnectionError):
            await fail(operator)
        with pytest.raises(InputError, match=r"^a closed operator"):
            await asyncio.wait_for(producer, 5)

    asyncio.run(main())


def test_commits_are_not_put_off_for_good(tmp_path: Path) -> None:
    """semantics 32.5: with a store, producers that have waited continue when all is accepted."""

    async def main() -> None:
        async with AsyncOperator(SPEC, TYPES, capacity=3, store=tmp_path) as operator:
            writes = operator._operator._core
            producer, found = asyncio.create_task(produce(operator, 30, [])), 0
            async for _ in operator:
                await settled()
                found += 1
                assert writes.uncommitted <= 3 * 3
            await producer
            assert found == 30

    asyncio.run(main())


def test_one_loop_at_a_time_reads() -> None:
    """semantics 32.5: else a loop would accept what the other one has."""

    async def read(operator: AsyncOperator, found: list[int]) -> None:
        async for emission in operator:
            found += totals([emission])

    async def main() -> None:
        async with AsyncOperator(SPEC, TYPES) as operator:
            first, second = list[int](), list[int]()
            tasks = [asyncio.create_task(read(operator, found)) for found in (first, second)]
            await settled()
            await produce(operator, 2, [])
            with pytest.raises(InputError, match=r"^a loop that another one has replaced"):
                await asyncio.wait_for(tasks[0], 5)
            await asyncio.wait_for(tasks[1], 5)
            assert (first, second) == ([], [0, 1])

    asyncio.run(main())


def test_what_the_life_cycle_emits_wakes_the_consumer() -> None:
    """semantics 32.5, 33.5"""

    async def main() -> None:
        spec = StreamWindow.tumbling(count(3), partition_by=["k"])
        async with AsyncOperator(spec, {"k": "string", "v": "bigint"}, buffer=None) as operator:
            await operator.add_message({"k": "a", "v": 1})
            emissions = aiter(operator)
            waiting = asyncio.ensure_future(anext(emissions))
            await settled()
            operator.life_cycle.evict_partition({"k": "a"})
            assert "INSERTION" in (await asyncio.wait_for(waiting, 5)).rows["event"].to_list()

    asyncio.run(main())


def test_a_call_that_is_cancelled_while_it_waits_adds_nothing() -> None:
    """semantics 32.5"""

    async def main() -> None:
        async with AsyncOperator(SPEC, TYPES, capacity=1) as operator:
            await operator.add_message(message(1))
            await operator.advance(watermark=10)
            waiting = [asyncio.create_task(operator.add_message(message(11, n))) for n in (5, 6)]
            await settled()
            waiting[0].cancel()
            await settled()
            assert len(operator._delivery.waiting_calls._waiting) == 1
            emissions = aiter(operator)
            await anext(emissions)
            following = asyncio.create_task(anext(emissions))
            await asyncio.wait_for(waiting[1], 5)
            await operator.finish()
            assert totals([await asyncio.wait_for(following, 5)]) == [6]

    asyncio.run(main())


def test_an_exported_state(tmp_path: Path) -> None:
    """semantics 48.4, 48.8: an operator begins with the state of another one."""

    async def main() -> list[Any]:
        async with AsyncOperator(SPEC, TYPES) as first:
            await first.add_message(message(1, 5))
            await first.export_state(tmp_path / "state")
        async with AsyncOperator(SPEC, TYPES, initial_state=tmp_path / "state") as second:
            await second.add_message(message(2, 3))
            await second.advance(watermark=10)
            await second.end()
            return totals([emission async for emission in second])

    assert asyncio.run(main()) == [8]
