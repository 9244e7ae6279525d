"""Which changes of the conditions over emitted rows would lose rows (semantics 47.22 to 47.24)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

import panewise as pw
from panewise import functions as F
from panewise.errors import StateError
from panewise.spec import Selected
from panewise.spec.codec import to_dict
from panewise.spec.codec.same_aggregates import AddedAggregates
from panewise.spec.evolution import continuation
from panewise.spec.row_filter import EVERY_ROW, RowCondition, RowFilter

SUM, COUNT = F.sum("v").alias("s"), F.count().alias("n")
SPEC = pw.WindowOperator(keys=["k"], window=pw.Tumbling(10), aggregates=[SUM])
COUNTED = replace(SPEC, aggregates=[SUM, COUNT])
RETRACTING = replace(SPEC, accumulation="retracting")
COLUMNS = ("k", "s", "n")
INSERTIONS = RowCondition("op = '+'", ("", " = '+'"), ("op",))


def over(column: str, rest: str = " > 1") -> RowFilter:
    return RowFilter((RowCondition(f"{column}{rest}", ("", rest), (column,)),))


def check(
    old: tuple[Any, RowFilter],
    new: tuple[Any, RowFilter],
    added: AddedAggregates = "null",
    columns: Sequence[str] = COLUMNS,
) -> None:
    change = continuation(to_dict(old[0]), new[0], added)
    new[1].check(old[1].record(old[0], COLUMNS), change, columns)


def test_a_condition_over_an_added_aggregate_is_refused() -> None:
    """semantics 47.23: unless it is computed from now on, or the condition says what null means."""
    refused = r"^the condition n > 1 \(HAVING, .*\) with the added 'n' \| 'n' is null for rows from before"
    with pytest.raises(StateError, match=refused):
        check((SPEC, EVERY_ROW), (COUNTED, over("n")))
    check((SPEC, EVERY_ROW), (COUNTED, over("n")), "from_now_on")
    (part,) = over("n").conditions
    safe = replace(part, null_safe=frozenset({"n"}))
    check((SPEC, EVERY_ROW), (COUNTED, RowFilter((safe,))))
    with pytest.raises(StateError, match=refused):  # another part says nothing of null
        check((SPEC, EVERY_ROW), (COUNTED, RowFilter((safe, part))))
    check((SPEC, EVERY_ROW), (COUNTED, over("s")))


def test_an_aggregate_stays_an_added_one() -> None:
    """semantics 47.23: a later condition over it is refused, too, but one that was there is not."""
    marked = continuation(to_dict(SPEC), COUNTED).spec
    with pytest.raises(StateError, match="'n' is null"):
        check((marked, EVERY_ROW), (COUNTED, over("n")))
    check((marked, over("n")), (COUNTED, over("n")))
    over("n").check(None, continuation(to_dict(marked), COUNTED), COLUMNS)  # of an earlier release
    with pytest.raises(StateError, match="'n' is null"):  # a state that is imported
        over("n").check({}, continuation(to_dict(marked), COUNTED), COLUMNS)


def test_an_added_aggregate_is_noticed_without_a_record() -> None:
    """semantics 47.23: a checkpoint of an earlier release."""
    with pytest.raises(StateError, match="'n' is null"):
        over("n").check(None, continuation(to_dict(SPEC), COUNTED), COLUMNS)


def test_a_top_n_whose_list_is_added_is_refused() -> None:
    """semantics 47.23"""
    first, more = (
        replace(SPEC, aggregates=[F.top_n_by("v", "v", n).alias("rows")], accumulation="retracting")
        for n in (1, 2)
    )
    places = RowFilter(unnested=("rows",))
    check((first, places), (replace(first, allowed_lateness=3), places))
    with pytest.raises(StateError, match=r"^a changed Top-N \(its list 'rows' is an added aggregate\)"):
        check((first, places), (more, places))
    check((first, places), (more, places), "from_now_on")


@pytest.mark.parametrize("new", [EVERY_ROW, over("s", " > 2"), over("k")])
def test_another_condition_over_retracted_rows_is_refused(new: RowFilter) -> None:
    """semantics 47.24"""
    refused = r"^a changed condition over rows that are retracted \(s > 1 -> "
    with pytest.raises(StateError, match=refused):
        check((RETRACTING, over("s")), (RETRACTING, new))
    check((SPEC, over("s")), (SPEC, new))
    check((SPEC, over("s")), (RETRACTING, new))
    check((RETRACTING, over("s")), (SPEC, new))
    new.check(None, continuation(to_dict(RETRACTING), RETRACTING), COLUMNS)


def test_the_same_condition_under_other_names() -> None:
    """semantics 47.1, 47.22: aggregates are compared by what they compute, and the order has no effect."""
    renamed = replace(RETRACTING, aggregates=[F.sum("v").alias("total")])
    two = RowFilter((*over("s").conditions, *over("k").conditions))
    check((RETRACTING, two), (renamed, RowFilter((*over("k").conditions, *over("total").conditions))))


def test_other_insertions() -> None:
    """semantics 47.24: no retraction is written, so none can be missing."""
    old, new = (RowFilter((*over("s", rest).conditions, INSERTIONS)) for rest in (" > 1", " > 2"))
    check((RETRACTING, old), (RETRACTING, new))
    with pytest.raises(StateError, match=r"\(op = '\+' -> none\)"):
        check((RETRACTING, old), (RETRACTING, over("s", " > 1")))


def test_a_condition_over_columns_that_stored_rows_lack() -> None:
    """semantics 47.12, 47.16, 47.23: of the rows of a join, of OVER and of a deduplication."""
    rows = pw.DeduplicateOperator(keys=["k"], within="1 hour", event_time="ts")
    check((rows, EVERY_ROW), (rows, over("s")))
    with pytest.raises(StateError, match="with the added 'w' "):
        check((rows, EVERY_ROW), (rows, over("w")), columns=(*COLUMNS, "w"))
    join = pw.JoinOperator(
        left=pw.Side(), right=pw.Side(), match=pw.Interval(0, 5), select=[Selected("left", "v", "s")]
    )
    renamed = replace(join, select=[Selected("left", "v", "value"), Selected("left", "v2", "n")])
    record, change = over("s").record(join, ["s"]), continuation(to_dict(join), renamed)
    over("value").check(record, change, ["value", "n"])
    with pytest.raises(StateError, match="with the added 'n' "):
        over("n").check(record, change, ["value", "n"])
    whole = replace(join, select=None)
    over("s").check(over("v").record(whole, ["v"]), continuation(to_dict(join), join), ["s"])
    over("v").check(record, continuation(to_dict(whole), whole), ["v"])
