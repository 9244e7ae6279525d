"""Which operators and stores fit together (semantics 31.16)."""

from typing import Any

import polars as pl
import pytest

from panewise import (
    Calendar,
    CountEvictor,
    Cumulating,
    Frame,
    Global,
    Hopping,
    InputError,
    Interval,
    JoinOperator,
    OverColumn,
    OverOperator,
    PanewiseError,
    Session,
    Side,
    Sliding,
    SpecError,
    StreamWindow,
    Tumbling,
    WindowOperator,
    rows,
)
from panewise import functions as F
from panewise.standalone import AsyncOperator, StandaloneOperator
from panewise.stores import MessageStore, SessionStore, WindowStore, message_key_layout
from panewise.streamwindow import count

TYPES = {"k": "string", "event_time": "bigint", "v": "bigint", "d": "double", "b": "binary"}
WINDOWS = "materialize needs a WindowOperator with Tumbling, Hopping, Sliding, Calendar or Session windows"


TEN = Tumbling(10)


def spec(window: Any = TEN, **fields: Any) -> WindowOperator:
    return WindowOperator(**{"window": window, "aggregates": [F.sum("v").alias("total")], **fields})


def store(**settings: Any) -> WindowStore:
    return WindowStore(**{"retention": 100, "window_size": 10, **settings})


@pytest.mark.parametrize(
    ("window", "found"),
    [
        (Tumbling(10), store()),
        (Hopping(10, 5), store()),
        (Hopping(10, 15, gaps=True), store()),
        (Sliding(10), store()),
        (Calendar("day"), store(retention="2 days")),
        (Session(10), SessionStore(100)),
        (Session(10, closed="both"), SessionStore(100)),
    ],
)
@pytest.mark.parametrize("front", [StandaloneOperator, AsyncOperator])
def test_stores_that_fit(front: Any, window: Any, found: Any) -> None:
    front(spec(window), TYPES, materialize=found)


@pytest.mark.parametrize(
    ("refused", "text"),
    [
        (
            OverOperator(keys=["k"], columns=[OverColumn(F.sum("v").alias("n"), Frame("rows", -2, 0))]),
            f"materialize with OverOperator | {WINDOWS} | leave materialize out",
        ),
        (
            StreamWindow.tumbling(count(2)),
            f"materialize with StreamWindow | {WINDOWS} | leave materialize out",
        ),
        (
            spec().then(aggregates=[F.sum("total").alias("both")]),
            f"materialize with Chain | {WINDOWS} | leave materialize out",
        ),
        (spec(Global()), f"materialize with Global windows | {WINDOWS} | use one of these"),
        (spec(Cumulating(10, 5)), f"materialize with Cumulating windows | {WINDOWS} | use one of these"),
        (
            spec(Tumbling(rows(2))),
            (
                "materialize with Tumbling of rows | windows of rows start at row numbers of each "
                "key, and a store has one time for all keys | use windows of time"
            ),
        ),
        (
            spec(accumulation="discarding"),
            (
                "materialize with accumulation='discarding' | a current result is that of all rows "
                "of a window, and firings discard these | use 'accumulating'"
            ),
        ),
        (
            spec(evictor=CountEvictor(1)),
            (
                f"materialize with {CountEvictor(1)!r} | a current result is that of all rows of a "
                "window, and an evictor removes some when it fires | leave one of them out"
            ),
        ),
        (
            spec(keys=["d"]),
            (
                "materialize with key 'd' of Float64 | the key of a store has whole numbers, texts, "
                "Booleans or bytes | use another key"
            ),
        ),
        (
            spec(aggregates=[F.collect_list("b").alias("all")]),
            (
                "materialize with 'all' of List(Binary) | a result in a store has values that JSON "
                "knows, and JSON does not know bytes | leave it out"
            ),
        ),
    ],
)
def test_operators_without_results_for_a_store(refused: Any, text: str) -> None:
    """semantics 31.16"""
    types: Any = TYPES
    with pytest.raises(SpecError) as caught:
        StandaloneOperator(refused, types, materialize=store())
    assert caught.value.args[0] == text


def test_joins_are_refused() -> None:
    """semantics 31.16"""
    join = JoinOperator(left=Side(keys=["k"]), right=Side(keys=["k"], prefix="r_"), match=Interval(0, 9))
    with pytest.raises(
        SpecError, match=r"^materialize with JoinOperator \| .* \| leave materialize out \[PW-"
    ):
        StandaloneOperator(join, {"left": TYPES, "right": TYPES}, materialize=store())


KINDS = "results of Session windows are in a SessionStore, those of other windows in a WindowStore"


@pytest.mark.parametrize(
    ("window", "found", "text"),
    [
        (
            Session(10),
            store(),
            f"materialize=WindowStore with Session windows | {KINDS} | give a SessionStore",
        ),
        (
            Tumbling(10),
            SessionStore(100),
            f"materialize=SessionStore with Tumbling windows | {KINDS} | give a WindowStore",
        ),
        (
            Sliding(10),
            MessageStore(message_key_layout("time", "aggregate")),
            f"materialize=MessageStore with Sliding windows | {KINDS} | give a WindowStore",
        ),
        (
            Tumbling(10),
            store(duplicates=True),
            (
                "materialize=WindowStore(duplicates=True) | a window has one current result, which "
                "each put replaces | leave duplicates out"
            ),
        ),
        (
            Tumbling(5),
            store(),
            (
                "materialize=WindowStore(window_size=10 microseconds) | the windows of this operator "
                "have a size of 5 microseconds | give this size"
            ),
        ),
        (
            Hopping(10, 5),
            store(retention=21),
            (
                "materialize=WindowStore(retention=21 microseconds) | a window is live for 22 "
                "microseconds: its size and the allowed lateness | give a longer retention"
            ),
        ),
        (
            Session(10),
            SessionStore(21),
            (
                "materialize=SessionStore(retention=21 microseconds) | a window is live for 22 "
                "microseconds: its gap and the allowed lateness | give a longer retention"
            ),
        ),
    ],
)
def test_stores_that_do_not_fit(window: Any, found: Any, text: str) -> None:
    """semantics 31.16"""
    with pytest.raises(InputError) as caught:
        StandaloneOperator(spec(window, allowed_lateness=12), TYPES, materialize=found)
    assert caught.value.args[0] == text


def test_unlimited_lateness_is_refused() -> None:
    """semantics 31.16"""
    with pytest.raises(InputError) as caught:
        StandaloneOperator(spec(allowed_lateness="unlimited"), TYPES, materialize=store())
    assert caught.value.args[0] == (
        "materialize with allowed_lateness='unlimited' | a result stays for the retention of the store, and "
        "with this lateness windows stay live | give a duration as the allowed lateness"
    )


@pytest.mark.parametrize(
    ("unit", "n", "days"),
    [("day", 2, 2), ("week", 1, 7), ("month", 1, 31), ("quarter", 1, 92), ("year", 1, 366)],
)
def test_the_longest_calendar_window_is_within_the_retention(unit: Any, n: int, days: int) -> None:
    """semantics 31.16: with the end of summer time a window is longer by an hour."""
    window, needed = Calendar(unit, n), (days * 24 + 1) * 3_600_000_000
    StandaloneOperator(spec(window), TYPES, materialize=store(retention=needed))
    with pytest.raises(InputError, match="its size and the allowed lateness"):
        StandaloneOperator(spec(window), TYPES, materialize=store(retention=needed - 1))


def test_a_refusal_leaves_the_directory_unlocked(tmp_path: Any) -> None:
    with pytest.raises(PanewiseError):
        StandaloneOperator(spec(), TYPES, store=tmp_path, materialize=SessionStore(100))
    StandaloneOperator(spec(), TYPES, store=tmp_path).close()


def test_every_type_of_key_that_is_accepted_can_be_stored() -> None:
    """semantics 31.14: a null key is a tuple, as the keys of several columns are."""
    for dtype, value in ((pl.UInt8, 3), (pl.Boolean, True), (pl.Binary, b"x"), (pl.String, "x")):
        found = store()
        types = {**TYPES, "k": dtype}
        operator = StandaloneOperator(spec(keys=["k"], null_keys=True), types, materialize=found)
        for key in (value, None):
            operator.add_message({"k": key, "event_time": 1, "v": 2})
        assert [one.key for one in found.all()] == [value, (None,)]
