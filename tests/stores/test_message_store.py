"""The message store against a list, in all layouts, in memory and in a directory."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

from panewise import InputError, SpecError
from panewise.chrono import MAX_INSTANT, MIN_INSTANT
from panewise.stores import Message, MessageKey, MessageStore
from panewise.stores.message_layout import LAYOUTS
from tests.stores.machine import AnyStore, in_directory, in_memory

TIMES = st.integers(-3, 12)
FIELDS = st.sampled_from([("x",), ("xx",), ("x", 1), ()])
SESSIONS = st.sampled_from(["s", "ss"])


class AnyMessageStore(AnyStore):
    """semantics 25.1 to 25.8, 34, 34.3"""

    def __init__(self) -> None:
        super().__init__()
        self.model: dict[Any, Message] = {}
        self.horizon = MIN_INSTANT
        self.counts = [0, 0]

    @initialize(layout=st.sampled_from(LAYOUTS), sessions=st.booleans())
    def create(self, layout: Any, sessions: bool) -> None:
        self.layout, self.sessions = layout, sessions
        self.store = MessageStore(layout, sessions=sessions, directory=self.folder)

    def position(self, message: Message) -> int:
        return message.time if "timestamp" in self.layout else message.offset  # type: ignore[return-value]

    def key(self, message: Message) -> Any:
        parts = {
            "timestamp": message.time,
            "offset": message.offset,
            "equal_fields": tuple(map(repr, message.join_keys or ())),
        }
        return (message.session_key or "", *(parts[field] for field in self.layout))

    @rule(offset=TIMES, time=TIMES, fields=FIELDS, session=SESSIONS, bare=st.booleans())
    def add(self, offset: int, time: int, fields: Any, session: str, bare: bool) -> None:
        message = Message(
            offset,
            None if bare and "timestamp" not in self.layout else time,
            session if self.sessions else None,
            None if bare and "equal_fields" not in self.layout else fields,
            f"{offset}",
        )
        late = self.position(message) < self.horizon
        replay = not late and self.key(message) in self.model
        applied = self.store.add(
            message.value,
            offset=offset,
            time=message.time,
            session_key=message.session_key,
            join_keys=message.join_keys,
        )
        assert applied == (not late and not replay)
        if applied:
            self.model[self.key(message)] = message
        self.counts = [self.counts[0] + replay, self.counts[1] + late]
        assert [self.store.replays, self.store.retired_adds] == self.counts

    @rule(
        start=TIMES,
        end=TIMES,
        session=SESSIONS | st.none(),
        fields=FIELDS | st.none(),
        offsets=st.none() | st.tuples(TIMES, TIMES),
    )
    def get(self, start: int, end: int, session: Any, fields: Any, offsets: Any) -> None:
        session = session if self.sessions else None
        offsets = offsets if offsets and "timestamp" in self.layout else (MIN_INSTANT, MAX_INSTANT)
        expected = [
            message
            for _, message in sorted(self.model.items())
            if self.position(message) >= self.horizon
            and (start, offsets[0]) <= (self.position(message), message.offset) <= (end, offsets[1])
            and session in (None, message.session_key)
            and fields in (None, message.join_keys)
        ]
        found = self.store.get_messages(
            start=start,
            end=end,
            session_key=session,
            join_keys=fields,
            start_offset=offsets[0],
            last_offset=offsets[1],
        )
        self.open.append((found, expected))

    @rule(keys=st.lists(st.tuples(TIMES, TIMES, FIELDS, SESSIONS), max_size=4))
    def get_many(self, keys: Any) -> None:
        named = [
            MessageKey(offset, time, session if self.sessions else None, fields)
            for offset, time, fields, session in keys
        ]
        wanted = {self.key(Message(*key, None)) for key in named}
        expected = [
            message
            for place, message in sorted(self.model.items())
            if place in wanted and self.position(message) >= self.horizon
        ]
        assert self.store.get_many(named) == expected

    @rule(end=TIMES)
    def retire(self, end: int) -> None:
        self.store.retire(end)
        self.horizon = max(self.horizon, end if "timestamp" in self.layout else end + 1)

    @rule(end=TIMES, session=SESSIONS, fields=FIELDS)
    def retire_a_prefix(self, end: int, session: str, fields: Any) -> None:
        equal_first = self.layout[0] == "equal_fields"
        if not self.sessions and not equal_first:
            return
        names: dict[str, Any] = {"session_key": session} if self.sessions else {}
        names |= {"join_keys": fields} if equal_first else {}
        self.store.retire(end, **names)
        limit = end if "timestamp" in self.layout else end + 1
        self.model = {
            key: message
            for key, message in self.model.items()
            if self.position(message) >= limit
            or (self.sessions and message.session_key != session)
            or (equal_first and message.join_keys != fields)
        }

    @rule(least=TIMES)
    def copy(self, least: int) -> None:
        with self.store.dump(lambda message: message.offset >= least) as dumped:
            other = MessageStore(self.layout, sessions=self.sessions)
            other.load(dumped)
        with other.dump(lambda message: True) as dumped:
            self.store.load(dumped)
        self.model = {
            key: message
            for key, message in self.model.items()
            if self.position(message) >= self.horizon and message.offset >= least
        }
        self.horizon = MIN_INSTANT

    @rule()
    def purge(self) -> None:
        self.store.purge()
        assert self.store.purge() == 0

    @precondition(lambda self: self.durable)
    @rule()
    def reopen(self) -> None:
        self.store.close()
        self.store = MessageStore(self.layout, sessions=self.sessions, directory=self.folder)
        self.open = []


TestMemory = in_memory(AnyMessageStore, 200)
TestDurable = in_directory(AnyMessageStore)


def filled(layout: Any, directory: Path | None = None) -> MessageStore:
    store = MessageStore(layout, directory=directory)
    for number in range(10):
        store.add(number, offset=number, time=number * 10, join_keys=("even" if number % 2 == 0 else "odd",))
    return store


def values(entries: Any) -> list[Any]:
    return [message.value for message in entries]


def entries_of(store: MessageStore) -> int:
    return len(store._map) - 1  # type: ignore[arg-type]


def test_both_ends_of_a_scan_are_included() -> None:
    """semantics 25.3, 25.5: retiring excludes a time, and includes an offset."""
    by_time, by_offset = filled(("timestamp", "offset")), filled(("offset",))
    assert (
        values(by_time.get_messages(start=20, end=40))
        == values(by_offset.get_messages(start=2, end=4))
        == [2, 3, 4]
    )
    assert by_time.retire(20) == 2
    assert by_offset.retire(2) == 3
    assert values(by_time.get_messages(start=0, end=40)) == [2, 3, 4]
    assert values(by_offset.get_messages(start=0, end=4)) == [3, 4]


def test_equal_fields_first_expire_prefix_by_prefix() -> None:
    """semantics 25.6"""
    store = filled(("equal_fields", "timestamp", "offset"))
    assert store.retire(60) == 0
    assert entries_of(store) == 10
    assert values(store.get_messages(start=0, end=100)) == [6, 8, 7, 9]
    assert values(store.get_messages(start=0, end=100, join_keys=("even",))) == [6, 8]
    assert entries_of(store) == 7
    assert not store.add(4, offset=4, time=40, join_keys=("even",))
    assert (store.purge(), entries_of(store)) == (3, 4)
    assert store.retire(80, join_keys=("odd",)) == 1
    assert store.add(7, offset=7, time=70, join_keys=("odd",))


def test_everything_retires() -> None:
    """semantics 25.5"""
    for layout in LAYOUTS:
        store = filled(layout)
        store.retire(MAX_INSTANT)
        assert values(store.get_messages(start=0, end=MAX_INSTANT)) == []
        assert values(store.get_messages(start=0, end=MAX_INSTANT, join_keys=("odd",))) == []


@pytest.mark.parametrize(
    ("call", "rule"),
    [
        (lambda: MessageStore(("offset", "timestamp")), "a layout is one of S1's matrix"),
        (lambda: filled(("timestamp", "offset")).add(1, offset=1), "a message has every field of its key"),
        (
            lambda: filled(("equal_fields", "offset")).add(1, offset=1),
            "a message has every field of its key",
        ),
        (
            lambda: MessageStore(("offset",), sessions=True).add(1, offset=1),
            "a message has every field of its key",
        ),
        (
            lambda: filled(("offset",)).get_messages(start=0, end=1, session_key="s"),
            "only a store with sessions has session keys",
        ),
        (
            lambda: filled(("offset",)).get_messages(start=0, end=1, start_offset=0),
            "without a timestamp a range is one of offsets",
        ),
        (
            lambda: filled(("offset",)).retire(0, join_keys=("odd",)),
            "retire takes all fields with which the keys of messages begin",
        ),
        (
            lambda: filled(("timestamp", "offset")).retire(0, last_offset=5),
            "only with a session key or join keys does retire keep messages above an offset",
        ),
    ],
)
def test_what_is_refused(call: Any, rule: str) -> None:
    """semantics 25.1, 25.3, 25.6"""
    with pytest.raises((SpecError, InputError)) as caught:
        call()
    assert caught.value.rule == rule  # type: ignore[attr-defined]
    assert caught.value.remedy  # type: ignore[attr-defined]


NOW = datetime(2024, 5, 1, tzinfo=UTC)
OFFSETS: list[Any] = [
    (("offset",), lambda store, wrong: store.add("m", offset=wrong)),
    (("timestamp", "offset"), lambda store, wrong: store.add("m", offset=wrong, time=1)),
    (("timestamp", "offset"), lambda store, wrong: store.get_many([MessageKey(wrong, 1)])),
    (("timestamp", "offset"), lambda store, wrong: store.get_messages(start=0, end=1, start_offset=wrong)),
    (("timestamp", "offset"), lambda store, wrong: store.get_messages(start=0, end=1, last_offset=wrong)),
    (("offset",), lambda store, wrong: store.get_messages(start=wrong, end=1)),
    (("offset",), lambda store, wrong: store.get_messages(start=1, end=wrong)),
    (("offset",), lambda store, wrong: store.retire(wrong)),
    (("timestamp", "offset"), lambda store, wrong: store.retire(1, session_key="s", last_offset=wrong)),
]


@pytest.mark.parametrize("wrong", [NOW, None, True, "1", 1.0, 1 << 63])
@pytest.mark.parametrize(("layout", "call"), OFFSETS)
def test_an_offset_is_a_whole_number(layout: Any, call: Any, wrong: Any) -> None:
    """semantics 25.1: a datetime is none, although it is a time."""
    store = MessageStore(layout)
    with pytest.raises(InputError) as caught:
        call(store, wrong)
    assert caught.value.given.endswith(f"={wrong!r}")
    assert caught.value.rule == "an offset is a whole number of 64 bits"
    assert caught.value.remedy
    assert list(store.get_messages(start=MIN_INSTANT, end=MAX_INSTANT)) == []


def test_times_of_messages_are_datetimes() -> None:
    """semantics 25.3"""
    store = MessageStore(("timestamp", "offset"))
    assert store.add("m", offset=MAX_INSTANT, time=NOW)
    assert values(store.get_messages(start=NOW, end=NOW)) == ["m"]
    assert store.retire(datetime(2025, 1, 1, tzinfo=UTC)) == 1


def test_a_text_as_join_keys() -> None:
    """semantics 25.1: it is not the tuple of its letters."""
    store = MessageStore(("equal_fields", "timestamp", "offset"))
    with pytest.raises(InputError, match="join keys are a tuple"):
        store.add("m", offset=1, time=1, join_keys="ab")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="join keys are a tuple"):
        store.get_messages(start=0, end=5, join_keys=b"ab")  # type: ignore[arg-type]


def test_messages_above_an_offset_do_not_retire_with_a_session() -> None:
    """semantics 25.6"""
    store = MessageStore(("timestamp", "offset"), sessions=True)
    for offset, time in ((1, 10), (2, 5), (3, 30)):
        store.add(offset, offset=offset, time=time, session_key="a")
    assert store.retire(20, session_key="a", last_offset=1) == 1
    assert [one.offset for one in store.get_messages(start=0, end=99, session_key="a")] == [2, 3]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("sessions", [False, True])
def test_retired_messages_do_not_pile_up(layout: Any, sessions: bool) -> None:
    """semantics 25.6: also if no prefix is ever read."""
    store, live = MessageStore(layout, sessions=sessions), 100
    for number in range(5_000):
        session = f"s{number % 1_000}" if sessions else None
        store.add("m", offset=number, time=number, session_key=session, join_keys=(f"k{number}",))
        store.retire(number - live)
    assert store.purge() <= live


def test_what_is_no_dumped_message_leaves_the_messages() -> None:
    """semantics 15.34, 25.7"""
    store = MessageStore(("offset",))
    store.add("kept", offset=1)
    for wrong in (None, "abc", [("a", b"1")], [(b"a", b"1", b"2")]):
        with pytest.raises(InputError):
            store.load(wrong)  # type: ignore[arg-type]
    assert [message.value for message in store.get_messages(start=0, end=9)] == ["kept"]


def test_messages_are_read_by_their_keys() -> None:
    """semantics 15.34, 25.8"""
    store = MessageStore(("offset",))
    for wrong in (None, "abc", [(1,)]):
        with pytest.raises(InputError):
            store.get_many(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [None, 5, ["offset", "offset"]])
def test_a_layout_is_one_of_the_matrix(wrong: Any) -> None:
    """semantics 25"""
    with pytest.raises(SpecError, match="matrix"):
        MessageStore(wrong)
