"""Messages as entries of a map."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from panewise.stores import Message, MessageKey
from panewise.stores.message_codec import MessageCodec
from panewise.stores.message_layout import LAYOUTS

TIMES = st.integers(-(2**62), 2**62)
SESSIONS = st.sampled_from(["s", "ss", "s\0"])
FIELDS = st.tuples(st.sampled_from(["x", "xx", ""]), st.none() | st.integers(-3, 300))
KEYS = st.builds(MessageKey, offset=TIMES, time=TIMES, session_key=SESSIONS, join_keys=FIELDS)
VALUES = st.none() | st.text() | st.lists(st.integers())


@given(KEYS, VALUES, st.sampled_from(LAYOUTS))
def test_a_message_has_the_key_and_the_value_of_its_entry(key: MessageKey, value: Any, layout: Any) -> None:
    """semantics 25.1, 25.6"""
    codec = MessageCodec(layout, sessions=True)
    (place, position), data = codec.encode_key(key), codec.encode_value(key, value)
    assert codec.decode(place, data) == Message(*key, value)
    assert position == codec.position(place, data) == (key.time if "timestamp" in layout else key.offset)


@given(KEYS, st.sampled_from(LAYOUTS))
def test_a_message_without_what_its_key_does_not_need(key: MessageKey, layout: Any) -> None:
    bare = key._replace(
        session_key=None,
        time=key.time if "timestamp" in layout else None,
        join_keys=key.join_keys if "equal_fields" in layout else None,
    )
    codec = MessageCodec(layout, sessions=False)
    assert codec.decode(codec.encode_key(bare)[0], codec.encode_value(bare, "v")) == Message(*bare, "v")


@given(st.lists(KEYS, min_size=2, max_size=2), st.sampled_from(LAYOUTS))
def test_entries_are_in_the_order_of_their_fields(keys: list[MessageKey], layout: Any) -> None:
    """semantics 25.4: a null sorts before a number."""

    def fields(key: MessageKey) -> Any:
        assert key.join_keys is not None
        text, number = key.join_keys
        parts = {
            "timestamp": key.time,
            "offset": key.offset,
            "equal_fields": (text, number is not None, number or 0),
        }
        return key.session_key, [parts[field] for field in layout]

    codec = MessageCodec(layout, sessions=True)
    places = [codec.encode_key(key)[0] for key in keys]
    assert (places[0] < places[1]) == (fields(keys[0]) < fields(keys[1]))
