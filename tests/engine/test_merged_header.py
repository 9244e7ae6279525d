"""The header that all new shards get, from those of the shards before (semantics 48.11)."""

from dataclasses import replace

import pytest

import panewise as pw
from panewise import functions as F
from panewise.engine.family_parts import engine_parts
from panewise.engine.merged_header import HeaderRules, merged_header, with_floor_of
from panewise.errors import StateError

_JOIN = pw.JoinOperator(left=pw.Side(), right=pw.Side(prefix="r_"), match=pw.Interval(0, 5))
_WINDOWS = pw.WindowOperator(window=pw.Tumbling(10), aggregates=[F.count()])
_STREAMS = replace(_JOIN, match=pw.WindowedStreams())
JOIN, STREAMS, WINDOWS = (engine_parts(spec).header_rules(spec) for spec in (_JOIN, _STREAMS, _WINDOWS))


def test_the_latest_clocks_hold() -> None:
    """semantics 48.11"""
    one = {"processing_time": 5, "watermark": 7, "finished": False, "received": 3, "timer": 1, "lengths": {}}
    other = {"processing_time": 9, "watermark": None, "finished": False}
    assert merged_header([one, other], WINDOWS) == {
        "processing_time": 9,
        "watermark": 7,
        "finished": False,
        "received": 3,
    }
    assert merged_header([]) == {}


def test_inputs_by_name() -> None:
    one = {"since": 4, "told": {"a": [1, None], "b": [None, 3]}}
    other = {"since": None, "told": {"a": [5, 2]}}
    assert merged_header([{"inputs": one}, {"inputs": other}]) == {
        "inputs": {"since": 4, "told": {"a": [5, 2], "b": [None, 3]}}
    }


def test_marks_that_cover_most() -> None:
    """semantics 48.11: ordered positions, and intervals with a floor."""
    assert merged_header([{"marks": [[0, 8]]}, {"marks": []}, {"marks": [[0, 6]]}]) == {"marks": [[0, 8]]}
    intervals = [[0, None, 3], [0, 5, 5]], [[0, None, 3], [0, 5, 7]]
    assert merged_header([{"marks": it} for it in intervals]) == {"marks": intervals[1]}
    sides = {"left": [["s", 0, 4]], "right": []}
    assert merged_header(
        [{"marks_by_side": sides}, {"marks_by_side": {"left": [], "right": [["s", 0, 1]]}}], JOIN
    ) == {"marks_by_side": {"left": [["s", 0, 4]], "right": [["s", 0, 1]]}}


def test_numbers_add_up_and_blocks_are_in_all_shards_or_dropped() -> None:
    counted = [{"next_number": 3, "released": 1}, {"next_number": 4, "released": 2}]
    assert merged_header(counted, STREAMS) == {"next_number": 7, "released": 3}
    assert JOIN.counters == ("next_number",)
    assert STREAMS.counters == ("next_number", "released")
    blocks = [{"then": {"in_blocks": True}}, {"then": {}}]
    assert merged_header(blocks, HeaderRules(nested={"then": WINDOWS})) == {"then": {"in_blocks": False}}
    assert merged_header(blocks[:1], HeaderRules(nested={"then": WINDOWS})) == {"then": {"in_blocks": True}}
    assert merged_header([{"ended": []}, {"ended": ["left"]}], JOIN) == {"ended": ["left"]}
    waiting = [{"waiting": {"left": [1, None, 4]}}, {"waiting": {"left": [3, 2, None]}}]
    assert merged_header(waiting, STREAMS) == {"waiting": {"left": [1, 2, 4]}}


def test_a_floor_that_all_shards_have() -> None:
    """semantics 48.11: of windows over a join, too. A floor would hide live windows of shards without one."""
    assert merged_header([{"floor": 5}, {"floor": 3}]) == {"floor": 3}
    assert merged_header([{"floor": 5, "closes": True}, {}], WINDOWS) == {"closes": True}
    assert merged_header([{"floor_left": 5}, {"floor_left": 4}], JOIN) == {"floor_left": 4}
    rules, nested = HeaderRules(nested={"windows": WINDOWS}), {"windows": {"floor": 5, "watermark": 1}}
    without = {"windows": {"watermark": 1}}
    assert merged_header([nested, without], rules) == without
    assert with_floor_of(without, nested, rules) == {"windows": {"watermark": 1, "floor": 5}}


def test_a_field_without_a_rule_is_equal_in_all_shards() -> None:
    assert merged_header([{"own": 1}, {"own": 1}]) == {"own": 1}
    with pytest.raises(StateError, match="shards with other values of 'own'"):
        merged_header([{"own": 1}, {"own": 2}])
