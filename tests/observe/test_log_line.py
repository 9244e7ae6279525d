"""Tests of the log line of a micro-batch."""

from panewise.observe.log_line import log_line
from panewise.observe.micro_batch import BatchFigures, MicroBatch


def report(**operators: BatchFigures) -> MicroBatch:
    return MicroBatch("orders", 7, 1200, 0.25, operators)


def test_nothing_is_logged_if_no_row_is_late_or_invalid() -> None:
    """Such a micro-batch has no line (semantics 15.8)."""
    assert log_line(report(panewise=BatchFigures({"rows_in": 1200, "applied": 1200}))) is None
    assert log_line(report()) is None


def test_the_rows_of_all_operators_are_in_one_line() -> None:
    """The numbers and reasons of all operators are added up (semantics 15.8)."""
    first = BatchFigures({"rows_in": 1200, "late": 3}, late={"expired": 3})
    second = BatchFigures(
        {"rows_in": 10, "late": 1, "invalid": 2},
        late={"expired": 1},
        invalid={"gap": 1, "event time is null": 1},
    )
    assert log_line(report(panewise=first, panewise_2=second)) == (
        "query orders, micro-batch 7: 4 of 1,210 rows late (expired 4), "
        "2 of 1,210 rows invalid (event time is null 1, gap 1)"
    )


def test_rows_without_a_reason() -> None:
    """A cogroup does not know the reasons of all its late rows (semantics 15.6)."""
    figures = BatchFigures({"rows_in": 5, "late": 2})
    assert log_line(report(panewise=figures)) == "query orders, micro-batch 7: 2 of 5 rows late"
