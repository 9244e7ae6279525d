"""What is deleted from the message store of S1's window operators, and when."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panewise.errors import StoreError
from panewise.standalone import JoinWindowOperator, JoinWindowSettings
from panewise.standalone.retained.retirement import Retirements
from panewise.stores import MessageStore
from panewise.stores.message_codec import Message, MessageCodec
from tests.engine.effort import at_length, examples
from tests.standalone.retained.test_properties import directory

TYPES = {"event_time": "bigint", "k": "string", "id": "bigint"}


def test_bounds_that_a_later_one_contains_are_forgotten() -> None:
    """Sessions of a key expire one after the other, and each read would compare messages with all of them."""
    retirements = Retirements(MessageStore(("timestamp", "offset"), sessions=True), in_memory=False)
    for number in range(100):
        retirements.add_session(10 * number, "a", number, left=0)
    retirements.add_session(5, "a", 200, left=0)  # fewer times, and later offsets
    assert [len(bounds) for bounds in retirements._bounds.values()] == [2]
    hidden = [(989, 99), (4, 200)]
    visible = [(990, 99), (989, 100), (5, 200)]
    assert all(retirements.hides(Message(offset, time, "a", None, {})) for time, offset in hidden)
    assert not any(retirements.hides(Message(offset, time, "a", None, {})) for time, offset in visible)


def operator(store: Path | None = None, **given: Any) -> JoinWindowOperator:
    """Returns an operator whose messages have equal fields first in their keys."""
    settings: Any = {
        "measure": "time",
        "size": 10,
        "session_key": "k",
        "retention_size": 10**6,
        "retention_time": 10**6,
        **given,
    }
    settings["keyed_message_store"] = ("id",) if settings["session_key"] is None else ("k", "id")
    return JoinWindowOperator(JoinWindowSettings(**settings), TYPES, store=store)


def add(one: JoinWindowOperator, time: int, k: str = "a", id: int = 0) -> str:  # noqa: A002
    return one.add_message({"event_time": time, "k": k, "id": id})


def times(one: JoinWindowOperator) -> list[int]:
    return sorted(row["event_time"] for row in one.get_messages(-(10**9), 10**9))


def stored(one: JoinWindowOperator) -> int:
    """Returns how many messages are stored, also those that no read returns."""
    assert one._state.messages is not None
    with one._state.messages.get_messages(start=-(10**9), end=10**9) as found:
        return sum(1 for _ in found)


@pytest.mark.parametrize("measure", ["time", "tuple"])
@pytest.mark.parametrize("durable", [False, True])
def test_an_expiry_does_not_read_the_messages_of_the_session_key(
    measure: str, durable: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """semantics 26.10: messages are hidden at once, and deleted later, many together."""
    size = 10 if measure == "time" else 0
    given: Any = {"measure": measure, "size": size, "retention_time": 100 * 200}
    one = operator(tmp_path if durable else None, **given)
    for number in range(200):
        add(one, 100 * number, id=number)
        add(one, 100 * number + 50, k="b")
    read: list[int] = []
    position = MessageCodec.position
    monkeypatch.setattr(MessageCodec, "position", lambda *given: (read.append(1), position(*given))[1])
    for number in range(200, 800):
        add(one, 100 * number, id=number)
        add(one, 100 * number + 50, k="b")
        if durable and number % 20 == 0:
            one.flush()
    assert len(read) < 6 * 1200  # 200 for each message, if each expiry read all of its key
    one.flush()
    assert len(times(one)) < 410
    assert stored(one) < 2 * 420


def test_messages_of_the_last_session_of_a_key_are_deleted_with_it() -> None:
    """semantics 26.10: a key that returns no more leaves nothing behind."""
    one = operator(retention_time=0)
    for number in range(50):
        add(one, 100 * number, k=f"k{number}")
    assert (times(one), stored(one)) == ([4900], 1)
    assert one._state.retirements is not None
    assert (len(one._state.retirements._bounds), len(one._state.retirements._expired)) == (0, 0)


def expired_beside_an_older_session(one: JoinWindowOperator) -> None:
    """Lets a session expire by number, and a session that is older by offsets grow over its messages."""
    for time in (0, 50, 1, 51, 300, 400):
        add(one, time)
    add(one, 600, k="b")
    for time in (41, 31, 21, 11, 2, 0):
        add(one, time)


def test_messages_of_an_expired_session_stay_hidden_after_a_restart(tmp_path: Path) -> None:
    """semantics 26.10: also those in the range of a session that has grown over them."""
    given: Any = {"retention_size": 4}
    reference = operator(**given)
    expired_beside_an_older_session(reference)
    wanted = times(reference)
    assert wanted[:4] == [0, 2, 11, 21]  # of the expired session there were messages at 0 and at 1
    with operator(tmp_path, **given) as one:
        expired_beside_an_older_session(one)
        assert times(one) == wanted
        one.flush()
        assert times(one) == wanted
        assert stored(one) > len(wanted)  # they wait for more expiries
    for _ in range(2):  # a failure after it was opened changes nothing
        with operator(tmp_path, **given) as one:
            assert times(one) == wanted
            assert stored(one) == len(wanted)
    with operator(tmp_path, **given) as one:
        one.flush()
    with operator(tmp_path, **given) as one:
        assert times(one) == wanted
        assert not list(one._state.files.retired())


@pytest.mark.parametrize("sessions", [False, True])
def test_equal_fields_that_were_retired_stay_so_after_a_failure(
    sessions: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """semantics 26.10: the metadata say that they are retired, and the last commit of the flush fails."""
    shape: dict[str, Any] = {} if sessions else {"session_key": None, "advance": 10}
    commit, commits = MessageStore.commit, []

    def failing(store: MessageStore) -> None:
        commits.append(1)
        if len(commits) == 2:
            raise StoreError("a full disk", "a commit writes", "make room")
        commit(store)

    with operator(tmp_path, **shape) as one:
        add(one, 1, id=1)
        add(one, 2, id=2)
        one.flush()
        assert one.retire(9, "a" if sessions else None, join_keys=("a", 1) if sessions else (1,)) == 1
        monkeypatch.setattr(MessageStore, "commit", failing)
        with pytest.raises(StoreError, match="a full disk"):
            one.flush()
    monkeypatch.undo()
    with operator(tmp_path, **shape) as one:
        assert times(one) == [2]


def test_a_reset_forgets_what_was_retired_after_the_checkpoint(tmp_path: Path) -> None:
    """semantics 33.3, 26.10"""
    with operator(tmp_path, retention_time=100) as one:
        for time in (0, 50, 100):
            add(one, time)
        one.life_cycle.checkpoint("before")
        add(one, 120)
        one.flush()
        assert times(one) == [50, 100, 120]
        one.life_cycle.reset("before")
        assert times(one) == [0, 50, 100]
    with operator(tmp_path, retention_time=100) as one:
        assert times(one) == [0, 50, 100]


Step = tuple[int, str, int]


@st.composite
def scripts(draw: st.DrawFn) -> list[Step]:
    """Draws messages of two keys, mostly in order, with messages that come late."""
    time, made = 0, list[Step]()
    for _ in range(draw(st.integers(1, 40))):
        time += draw(st.sampled_from([1, 4, 12, 30]))
        late = draw(st.sampled_from([0, 0, 0, 10, 40, 80]))
        made.append((time - late, draw(st.sampled_from("aab")), draw(st.integers(0, 2))))
    return made


def visible(one: JoinWindowOperator, script: list[Step]) -> Iterator[Any]:
    """Yields all messages that can be read, after each step."""
    for time, k, number in script:
        add(one, time, k, number)
        yield times(one), sorted(row["event_time"] for row in one.get_messages(-99, 999, "a", ("a", 1)))


def check_reads(data: st.DataObject) -> None:
    """Compares what can be read with equal fields first in keys, or times, and after restarts."""
    script = data.draw(scripts())
    chosen: Any = {
        "retention_time": data.draw(st.sampled_from([0, 30, 100])),
        "retention_size": data.draw(st.sampled_from([3, 8, 10**6])),
    }
    small = operator(time_range_join=True, window_scale="small", **chosen)
    wanted = list(visible(small, script))
    assert list(visible(operator(**chosen), script)) == wanted
    found, flushes = [], data.draw(st.sets(st.integers(0, len(script)), max_size=3))
    with directory() as store:
        one = operator(store, **chosen)
        for at, step in enumerate(script):
            found += visible(one, [step])
            if at in flushes:
                one.flush()
                one.close()
                one = operator(store, **chosen)
        one.close()
    assert found == wanted


@examples(15)
@given(data=st.data())
def test_messages_that_are_deleted_later_are_read_as_little_as_deleted_ones(data: st.DataObject) -> None:
    """semantics 26.10: whether equal fields come first in keys, or times; also after restarts."""
    check_reads(data)


test_messages_that_are_deleted_later_at_length = at_length(check_reads, 500, data=st.data())
