"""Settings of S1's window operators."""

from typing import Any

import pytest

from panewise import AfterProcessingTime, Every
from panewise.errors import SpecError
from panewise.standalone import AggregatorSettings, JoinWindowOperator, JoinWindowSettings, WindowedAggregator
from panewise.standalone.retained.updates import deadline

TIME = {"measure": "time", "size": 10, "advance": 5, "retention_size": 9, "retention_time": 0}
TUPLE = {**TIME, "measure": "tuple", "size": 5, "advance": 5}
JOIN = {**TIME, "keyed_message_store": ("v",)}


@pytest.mark.parametrize("name", ["measure", "size", "advance", "retention_size", "retention_time"])
def test_a_required_setting_that_is_missing_is_refused_by_its_name(name: str) -> None:
    left: Any = {key: value for key, value in TIME.items() if key != name}
    with pytest.raises(SpecError, match=rf"^{name} is missing \| a windowed aggregator needs"):
        AggregatorSettings(**left)
    with pytest.raises(SpecError, match=rf"^{name} is missing \| a join window operator needs"):
        JoinWindowSettings(**left, keyed_message_store=())


def test_the_keys_of_messages_are_optional() -> None:
    """S1: setKeyedMessageStore is disabled by default."""
    assert JoinWindowSettings(**TIME) == JoinWindowSettings(**TIME, keyed_message_store=None)
    none = JoinWindowSettings(**TIME, keyed_message_store=())
    assert JoinWindowSettings(**TIME).layout() == none.layout()


@pytest.mark.parametrize("fields", [(), ("v",)])
def test_a_join_of_sessions_compares_the_session_key(fields: tuple[str, ...]) -> None:
    """semantics 26.13"""
    given: Any = {**TIME, "advance": None, "session_key": "k"}
    with pytest.raises(SpecError) as caught:
        JoinWindowSettings(**given, keyed_message_store=fields)
    assert caught.value.args[0] == (
        f"session_key='k', keyed_message_store={fields!r} | a join of sessions compares the session key, or "
        "it would read every session (S1) | add 'k', or leave keyed_message_store out"
    )
    assert JoinWindowSettings(**given).equal_fields == ()
    assert JoinWindowSettings(**given, keyed_message_store=("k", *fields)).equal_fields == ("k", *fields)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({**TIME, "measure": "rows"}, "measure='rows'"),
        ({**TIME, "size": 0}, "size=0"),
        ({**TIME, "advance": 11}, "windows leave no gaps"),
        ({**TUPLE, "size": "1 minute"}, "the size is a number of messages"),
        ({**TUPLE, "retention_size": 4}, "at least 5"),
        ({**TIME, "retention_size": True}, "retention_size=True"),
        ({**TIME, "retention_time": -1}, "a retention is not negative"),
        ({**TIME, "session_key": "k"}, "sessions begin with their first message"),
        ({**TIME, "origin": "2020-01-01"}, "an origin is a whole number of microseconds"),
        ({**TIME, "origin": 1.5}, "an origin is a whole number of microseconds"),
        ({**TUPLE, "origin": 1}, "only windows of time with a fixed size have an origin"),
        ({**TIME, "full": "at_size"}, "full='at_size'"),
        ({**TIME, "full": "soon"}, "full is one of"),
        ({**TIME, "early": Every(5)}, "the periods of an update policy are aligned"),
        ({**TIME, "late": 0}, "a period is above zero"),
        ({**TIME, "late": 1.5}, "late is 'each', a period"),
        ({**TIME, "message_store": "yes"}, "message_store='yes' \\| message_store is True or False"),
        ({**TIME, "message_store": 1}, "message_store=1 \\| message_store is True or False"),
    ],
)
def test_settings_that_break_a_rule_are_refused(given: Any, message: str) -> None:
    """semantics 26.1 to 26.4"""
    with pytest.raises(SpecError, match=message):
        AggregatorSettings(**given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"keyed_message_store": "v"}, "names the columns"),
        ({"keyed_message_store": (), "time_range_join": True}, "a range of time changes no key"),
        ({"message_store": False}, "stores its messages"),
        ({"window_scale": "huge"}, "window_size is"),
        ({"time_range_join": "no"}, "time_range_join='no' \\| time_range_join is True or False"),
    ],
)
def test_settings_of_a_join_that_break_a_rule_are_refused(given: Any, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        JoinWindowSettings(**{**JOIN, **given})  # type: ignore[arg-type]


def test_each_operator_has_its_own_settings() -> None:
    schema = {"event_time": "bigint", "v": "bigint"}
    aggregator: Any = AggregatorSettings(**TIME)  # type: ignore[arg-type]
    join: Any = JoinWindowSettings(**JOIN)  # type: ignore[arg-type]
    with pytest.raises(SpecError, match="settings of the type AggregatorSettings"):
        JoinWindowOperator(aggregator, schema)
    with pytest.raises(SpecError, match="settings of the type JoinWindowSettings"):
        WindowedAggregator(join, [], schema)


def test_the_first_boundary_after_a_message_counts_or_the_one_at_it() -> None:
    """semantics 26.4, 16.14"""
    every = Every(10, aligned=True, offset=3)
    assert [deadline(every, since) for since in (12, 13, 14)] == [13, 23, 23]
    assert deadline(AfterProcessingTime(5), 7) == 12
