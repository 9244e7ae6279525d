"""One call at a time: calls beside a call of another thread, from within a call, and in event loops."""

import asyncio
import dis
import inspect
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import polars as pl
import pytest

from panewise import ConcurrentCallError, InputError, StreamWindow, Tumbling, WindowOperator, calls
from panewise import functions as F
from panewise.standalone import (
    AggregatorSettings,
    AsyncOperator,
    Callbacks,
    JoinWindowOperator,
    JoinWindowSettings,
    SqlQuery,
    StandaloneOperator,
    WindowedAggregator,
)
from panewise.standalone.life_cycle import LifeCycle
from panewise.stores import (
    DurableMap,
    Entries,
    KeyedWindowedStorage,
    MemoryMap,
    MessageStore,
    SessionStore,
    SessionWindowedStorage,
    TimeSeriesStore,
    WindowedStorage,
    WindowStore,
)
from panewise.streamwindow import count

SPEC = WindowOperator(window=Tumbling(10), aggregates=[F.count().alias("n")])
TYPES = {"event_time": "bigint"}
RETENTION = {"size": 10, "advance": 10, "retention_size": 1000, "retention_time": 100}
SETTINGS = AggregatorSettings(measure="time", early="each", **RETENTION)
JOIN = JoinWindowSettings(measure="time", keyed_message_store=(), **RETENTION)
MESSAGE = {"event_time": 1}

# What a call needs. Others need nothing.
ARGUMENTS: dict[str, Any] = {
    "message": MESSAGE,
    "rows": pl.DataFrame([MESSAGE]),
    "name": "one",
    "partition": 0,
    "metadata": None,
    "key": "a",
    "first_key": None,
    "last_key": None,
    "value": 1,
    "topic": "t",
    "offset": 1,
    "entries": (),
    "dumped": (),
    "keys": (),
    "window": (0, 1),
    "to": (0, 1),
    "wanted": lambda message: True,
}
# Reads that are allowed at any time (semantics 31.24, 34.24).
FREE = {
    StandaloneOperator: {"watermark", "clock", "spec", "evaluation", "delivery_enabled"},
    WindowedAggregator: {"counts", "position", "clock", "mode", "restoring", "delivery_enabled"},
    JoinWindowOperator: {"counts", "position", "clock", "mode", "restoring", "delivery_enabled"},
    LifeCycle: set(),
    SqlQuery: {"explain"},
    WindowStore: {
        "now",
        "retention",
        "window_size",
        "duplicates",
        "position",
        "expired_puts",
        "ignored_deletes",
    },
    SessionStore: {"now", "retention", "position", "expired_puts", "fetch_session"},
    TimeSeriesStore: set(),
    MessageStore: {"layout", "replays", "retired_adds", "get_many", "prefix_of"},
    WindowedStorage: {"get"},
    KeyedWindowedStorage: {"get"},
    SessionWindowedStorage: {"get"},
    MemoryMap: {"pending", "get", "items", "calls"},
    DurableMap: {"pending", "get", "directory", "calls"},
    Entries: {"close"},
}


def uses(of: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yields all public methods and properties of an object that are not always allowed, as calls."""
    kind = type(of)
    for name in dir(kind):
        if (
            name.startswith("_")
            or name in FREE[kind]
            or not (callable(getattr(kind, name)) or _is_property(kind, name))
        ):
            continue
        if _is_property(kind, name):
            yield name, lambda name=name: getattr(of, name)
            continue
        given = {
            parameter.name: ARGUMENTS.get(parameter.name, 0)
            for parameter in inspect.signature(getattr(of, name)).parameters.values()
            if parameter.default is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD
        }
        if (kind, name) == (WindowStore, "fetch"):
            given["last"] = 0
        yield name, lambda name=name, given=given: getattr(of, name)(**given)


def _is_property(kind: type, name: str) -> bool:
    return isinstance(inspect.getattr_static(kind, name), property)


def in_a_thread(call: Callable[[], Any]) -> BaseException | None:
    """Makes a call in another thread. Returns the error that it raises."""
    found: list[BaseException | None] = []

    def run() -> None:
        try:
            call()
        except BaseException as error:
            found.append(error)
        else:
            found.append(None)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return found[0]


def check_refused(*objects: Any) -> None:
    """Checks that another thread cannot call any of these objects now."""
    for of in objects:
        for name, call in uses(of):
            error = in_a_thread(call)
            assert isinstance(error, ConcurrentCallError), (name, error)
            assert str(error).startswith("a call while another thread is within a call | ")


@pytest.mark.parametrize("buffer", [1, None, 3])
def test_another_thread_cannot_call_an_operator_during_a_call(buffer: int | None) -> None:
    """semantics 31.24: the call changes nothing, and the other one goes on."""
    done = []

    def downstream(emission: Any) -> None:
        check_refused(operator, operator.life_cycle)
        assert (operator.watermark, operator.delivery_enabled) == (10, False)
        done.append(emission.rows["n"].to_list())

    operator = StandaloneOperator(SPEC, TYPES, mode="automatic", downstream=downstream, buffer=buffer)
    operator.add_message(MESSAGE)
    operator.advance(watermark=10)
    assert done == [[1]]
    assert in_a_thread(lambda: operator.add_message({"event_time": 11})) is None  # in turn
    assert operator.counts["input"].applied == (2 if buffer == 1 else 1)


@pytest.mark.parametrize("kind", ["aggregator", "join"])
def test_another_thread_cannot_call_retained_windows_during_a_call(kind: str) -> None:
    """semantics 31.24"""
    done = []

    def downstream(output: Any) -> None:
        check_refused(operator, operator.life_cycle)
        done.append(output)

    settings: Any = {"mode": "automatic", "downstream": downstream}
    operator: Any
    if kind == "join":
        operator = JoinWindowOperator(JOIN, TYPES, **settings)
    else:
        operator = WindowedAggregator(SETTINGS, [F.count().alias("n")], TYPES, **settings)
    operator.add_message(MESSAGE)
    assert len(done) == 1


@pytest.mark.parametrize(
    "store",
    [
        WindowStore(100, 10),
        SessionStore(100),
        TimeSeriesStore(),
        MessageStore(("timestamp", "offset")),
        WindowedStorage(),
        KeyedWindowedStorage(),
        SessionWindowedStorage(),
        MemoryMap(),
    ],
    ids=lambda store: type(store).__name__,
)
def test_another_thread_cannot_call_a_store_during_a_call(store: Any) -> None:
    """semantics 34.24"""
    with store._calls.within():
        check_refused(store)
    for entries in opened(store):
        with store._calls.within():
            assert isinstance(in_a_thread(lambda entries=entries: next(entries, None)), ConcurrentCallError)
        assert next(entries, None) is None


def opened(store: Any) -> list[Any]:
    """Returns iterators of a store."""
    match store:
        case WindowStore():
            return [store.all(), store.fetch("a", first=0, last=1)]
        case SessionStore():
            return [store.fetch("a")]
        case TimeSeriesStore():
            return [store.get("a", start=0, end=1)]
        case MessageStore():
            return [store.get_messages(start=0, end=1)]
        case MemoryMap():
            return [store.scan(), store.snapshot().scan()]
    return [store.entries()]


def test_a_durable_map_is_called_by_one_thread_at_a_time(tmp_path: Any) -> None:
    """semantics 34.24"""
    with DurableMap(tmp_path) as store:
        scans = [store.scan(), store.snapshot().scan()]
        with store._calls.within():
            check_refused(store)
            for scan in scans:
                assert isinstance(in_a_thread(lambda scan=scan: next(scan, None)), ConcurrentCallError)


def test_another_thread_cannot_call_a_query_during_a_call() -> None:
    """semantics 46.51: else the undoing of its step would undo the other one."""
    query = SqlQuery("SELECT v FROM t", t={"v": "bigint"})
    with query._calls.within():
        check_refused(query)
    assert query.add(t=pl.DataFrame({"v": [1]})).rows.height == 1


def entry(key: str, value: int, time: int) -> dict[str, Any]:
    return {"key": key, "value": value, "time": time}


def test_what_a_store_is_given_may_call_it() -> None:
    """semantics 34.24"""
    store = WindowStore(100, 10)
    store.put("a", 1, time=1)
    assert store.restore(entry(one.key, one.value + 1, one.start) for one in store.all()) == 1
    assert store.fetch("a", time=1) == 2
    errors = []

    def entries() -> Iterator[Any]:
        errors.append(in_a_thread(lambda: store.put("b", 1, time=1)))
        yield entry("a", 3, 1)

    assert store.restore(entries()) == 1
    assert [type(one) for one in errors] == [ConcurrentCallError]
    assert (store.fetch("a", time=1), store.fetch("b", time=1)) == (3, None)


def test_threads_at_the_same_time_lose_no_message() -> None:
    """semantics 31.24: what was accepted is applied."""
    operator = StandaloneOperator(SPEC, TYPES, buffer=7)
    store = WindowStore(10**6, 10, duplicates=True)
    accepted = [0, 0]
    lock = threading.Lock()

    def work(number: int) -> None:
        mine = [0, 0]
        for turn in range(400):
            try:
                operator.add_message(MESSAGE)
                mine[0] += 1
            except ConcurrentCallError:
                pass
            try:
                store.put(number, turn, time=1)
                mine[1] += 1
            except ConcurrentCallError:
                pass
        with lock:
            accepted[:] = [one + more for one, more in zip(accepted, mine, strict=True)]

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    operator.finish()
    assert [operator.counts["input"].applied, len(store)] == accepted


def test_python_changes_threads_at_no_place_between_reading_and_writing_the_owner() -> None:
    """The check is exact: on the way from one to the other there is no call and no backward jump."""
    methods = [calls.one_at_a_time, calls.one_thread_at_a_time]
    codes = [method(lambda self: None).__code__ for method in methods]
    codes += [calls.Calls.within.__wrapped__.__code__]  # type: ignore[attr-defined]
    codes += [StandaloneOperator.add_message.__code__, WindowStore.put.__code__]
    for code in codes:
        instructions = list(dis.get_instructions(code))
        places = {one.offset: number for number, one in enumerate(instructions)}
        [first] = [
            n for n, one in enumerate(instructions) if (one.opname, one.argval) == ("LOAD_ATTR", "owner")
        ]
        ways, ends = [first], []
        while ways:
            number = ways.pop()
            one = instructions[number]
            if (one.opname, one.argval) == ("STORE_ATTR", "owner"):
                ends.append(number)
                continue
            if "JUMP" in one.opname:
                assert places[one.argval] > number, code.co_qualname
                ways.append(places[one.argval])
            is_end = one.opname in ("RETURN_VALUE", "RERAISE") or one.opname == "JUMP_FORWARD"
            if one.argval in ("refuse", "refuse_thread") or is_end:
                continue  # raises
            assert "CALL" not in one.opname, code.co_qualname
            ways.append(number + 1)
        assert len(set(ends)) == 1, code.co_qualname


def test_an_error_in_a_call_ends_it() -> None:
    operator = StandaloneOperator(SPEC, TYPES)
    with pytest.raises(InputError):
        operator.add_batch("no batch")  # type: ignore[arg-type]
    with pytest.raises(InputError):
        operator.add_message("no message")  # type: ignore[arg-type]
    operator.add_message(MESSAGE)
    assert operator.counts["input"].applied == 1


def test_callbacks_of_the_life_cycle_may_call_the_operator() -> None:
    """semantics 31.8, 33.6"""
    seen: list[Any] = []

    def note(*given: Any) -> None:
        operator.add_message(MESSAGE)
        seen.append((*given, operator.counts["input"].applied))

    callbacks = Callbacks(drained=note, checkpoint=note, restored=note)
    operator = StandaloneOperator(SPEC, TYPES, callbacks=callbacks)
    operator.life_cycle.drain()
    operator.life_cycle.checkpoint("one")
    operator.life_cycle.reset("one")
    operator.life_cycle.reset_to_initial()
    assert seen == [(1,), ("one", 2), ("one", 3), (None, 4)]


def test_a_downstream_may_read_the_operator() -> None:
    """semantics 31.8"""
    seen: list[Any] = []

    def downstream(emission: Any) -> None:
        seen.append((operator.counts["input"].applied, operator.positions(), operator.live().height))

    operator = StandaloneOperator(SPEC, TYPES, mode="automatic", downstream=downstream)
    operator.add_message(MESSAGE, position=(0, 5))
    operator.advance(watermark=10)
    assert seen == [(1, [(0, 5)], 0)]


def test_a_message_cannot_call_the_operator_that_reads_it() -> None:
    """semantics 31.8: the methods of a mapping of the caller run within the call."""

    class Message(Mapping[str, Any]):
        def __iter__(self) -> Iterator[str]:
            operator.add_message(MESSAGE)
            return iter(MESSAGE)

        def __len__(self) -> int:
            return 1

        def __getitem__(self, name: str) -> Any:
            return MESSAGE[name]

    operator = StandaloneOperator(StreamWindow.tumbling(count(2)), TYPES)
    with pytest.raises(InputError, match="a call within another call"):
        operator.add_message(Message())
    assert operator.counts == {}


def test_a_front_for_asyncio_is_used_in_one_event_loop() -> None:
    """semantics 31.25"""
    operator = AsyncOperator(SPEC, TYPES)

    async def main() -> None:
        await operator.add_message(MESSAGE)
        error = in_a_thread(lambda: asyncio.run(operator.add_message(MESSAGE)))  # type: ignore[arg-type]
        assert isinstance(error, ConcurrentCallError)
        assert str(error).startswith("a call in a second event loop | ")

    asyncio.run(main())
    asyncio.run(operator.add_message(MESSAGE))  # type: ignore[arg-type]
    assert operator.counts["input"].applied == 2
