"""Intervals of offsets are received with the same effect as one offset after the other (semantics 4.4)."""

from hypothesis import given
from hypothesis import strategies as st

from panewise import Position
from panewise.engine.ingest.offsets import Offsets
from panewise.oracle.received_offsets import ReceivedOffsets
from tests.engine.effort import DEFAULT

OFFSETS = st.lists(st.lists(st.integers(-8, 8), max_size=8), max_size=5)


@DEFAULT
@given(most=st.integers(1, 3), batches=OFFSETS)
def test_offsets_are_received_one_by_one(most: int, batches: list[list[int]]) -> None:
    """Batches of offsets have the same intervals and replays as offsets that are received one by one."""
    position, oracle, together, apart = (
        Position(ordered=False, remember=most),
        ReceivedOffsets(),
        Offsets(most),
        Offsets(most),
    )
    for batch in batches:
        known = {offset: together.has(offset) for offset in batch}
        for offset in sorted(set(batch)):
            assert oracle.is_replay(position, {"partition": 0, "offset": offset}) == known[offset]
            apart.receive([(offset, offset)])
        together.receive((offset, offset) for offset in batch)
        assert together == apart
        assert len(together.intervals()) <= most


def test_a_run_is_received_as_a_whole() -> None:
    offsets = Offsets(2)
    offsets.receive([(10, 1_000_000_000), (2_000_000_000, 3_000_000_000)])
    offsets.receive([(5, 1_500_000_000)])
    # 5 begins a third interval, so it becomes the floor. Then the offsets that follow it raise the floor.
    assert offsets.rows() == [(None, 1_500_000_000), (2_000_000_000, 3_000_000_000)]
    offsets.receive([(1_800_000_000, 1_999_999_999), (3_000_000_002, 3_000_000_002)])
    assert offsets.rows() == [
        (None, 1_500_000_000),
        (1_800_000_000, 3_000_000_000),
        (3_000_000_002, 3_000_000_002),
    ]
