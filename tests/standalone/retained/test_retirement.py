"""What is to be deleted from the message store of S1's window operators."""

from panewise.standalone.retained.retirement import Retirements
from panewise.stores import MessageStore
from panewise.stores.message_codec import Message


def test_parts_that_a_later_one_contains_are_forgotten() -> None:
    """Sessions of a key expire one after the other, and each read would compare messages with all of them."""
    retirements = Retirements(MessageStore(("timestamp", "offset"), sessions=True), at_once=False)
    for number in range(100):
        retirements.add_part(10 * number, "a", None, number)
    retirements.add_part(5, "a", None, 200)  # fewer times, and later offsets
    assert [len(parts) for parts in retirements._parts.values()] == [2]
    hidden = [(989, 99), (4, 200)]
    kept = [(990, 99), (989, 100), (5, 200)]
    assert all(retirements.hides(Message(offset, time, "a", None, {})) for time, offset in hidden)
    assert not any(retirements.hides(Message(offset, time, "a", None, {})) for time, offset in kept)
