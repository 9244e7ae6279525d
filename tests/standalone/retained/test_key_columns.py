"""The columns of session keys and equal fields: types, stored forms, and the values that callers give."""

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from panewise import functions as F
from panewise.errors import InputError, SpecError
from panewise.standalone import AggregatorSettings, JoinWindowOperator, JoinWindowSettings, WindowedAggregator
from panewise.standalone.retained.key_columns import KeyColumn

WHOLE: Any = {"measure": "time", "size": 10, "retention_size": 10**6, "retention_time": 10**6}
NOON = datetime(2020, 2, 29, 12, tzinfo=UTC)
MICROSECONDS = 1_582_977_600_000_000

# A type, two values that messages have, the first of them as it is read, and as it is stored.
KEYS: Any = [
    ("date", date(2020, 2, 29), date(1969, 12, 31), date(2020, 2, 29), "2020-02-29"),
    ("timestamp", NOON, datetime(1969, 1, 1, tzinfo=UTC), MICROSECONDS, MICROSECONDS),
    ("timestamp_ntz", NOON.replace(tzinfo=None), 5, NOON.replace(tzinfo=None), MICROSECONDS),
    ("decimal(38,2)", Decimal("9" * 36 + ".5"), Decimal("-0.01"), Decimal("9" * 36 + ".50"), 10**38 - 50),
    ("binary", b"\x00a", b"", b"\x00a", b"\x00a"),
    ("double", 2.0, -0.5, 2.0, 2.0),
    ("boolean", True, False, True, True),
]


def message(time: int, key: Any) -> dict[str, Any]:
    return {"event_time": time, "k": key, "v": 1}


@pytest.mark.parametrize(("dtype", "key", "other", "read", "stored"), KEYS)
def test_keys_have_a_stable_form_in_stores(
    dtype: str, key: Any, other: Any, read: Any, stored: Any, tmp_path: Path
) -> None:
    """semantics 26.9: as a session key and as equal fields, after a restart, too."""
    types = {"event_time": "bigint", "k": dtype, "v": "bigint"}
    settings = JoinWindowSettings(**WHOLE, session_key="k", keyed_message_store=("k", "v"))
    for _ in range(2):
        with JoinWindowOperator(settings, types, store=tmp_path) as one:
            for offset, value in enumerate((key, other)):
                one.add_message(message(offset, value), offset)
            (window,) = one.get_windows(0, 99, session_key=key)
            assert (window.session_key, one.get_window(0, read)) == (read, window)
            one.put_window(window)
            assert [row["k"] for row in one.get_messages(0, 99, read, join_keys=(key, 1))] == [read]
            assert one.get_messages(0, 99, key, join_keys=(other, 1)) == []
            assert [found.session_key for found in one._state.windows.backward()][-1] == stored or other == 5
            one.flush()
    with JoinWindowOperator(settings, types, store=tmp_path) as one:
        assert one.retire(99, key, join_keys=(key, 1)) == 1
        assert one.del_window(0, key)
        assert len(one.get_windows(0, 99)) == 1


def test_decimals_are_in_the_order_of_numbers() -> None:
    """semantics 25.2: messages are read in the order of their equal fields."""
    types = {"event_time": "bigint", "k": "decimal(5,1)", "v": "bigint"}
    one = JoinWindowOperator(JoinWindowSettings(**WHOLE, advance=10, keyed_message_store=("k",)), types)
    for text in ("10.5", "-2.5", "9", "-10"):
        one.add_message(message(1, Decimal(text)))
    assert [str(row["k"]) for row in one.get_messages(0, 9)] == ["-10.0", "-2.5", "9.0", "10.5"]


@pytest.mark.parametrize("dtype", ["array<int>", "struct<a:int>", pl.Time(), pl.Duration("us")])
def test_other_types_are_refused(dtype: Any) -> None:
    rule = "columns of keys are numbers, texts, Booleans, bytes, dates or timestamps"
    with pytest.raises(SpecError, match=f"column 'k' of the type .*{rule}"):
        JoinWindowOperator(
            JoinWindowSettings(**WHOLE, advance=10, keyed_message_store=("k",)),
            {"event_time": "bigint", "k": dtype},
        )
    with pytest.raises(SpecError, match="the columns of keys are in the schema"):
        KeyColumn("other", {"k": pl.Int64()})


def joining(dtype: str) -> JoinWindowOperator:
    one = JoinWindowOperator(
        JoinWindowSettings(**WHOLE, session_key="k", keyed_message_store=("k", "v")),
        {"event_time": "bigint", "k": "double", "v": dtype},
    )
    one.add_message(message(1, 0))
    return one


def test_a_whole_number_is_a_key_of_a_column_of_floats() -> None:
    """semantics 26.9: keys have the type of their column."""
    one = joining("double")
    assert one.get_messages(0, 9, join_keys=(0, 1)) == one.get_messages(0, 9, 0, (0.0, 1.0)) != []
    assert [window.session_key for window in one.get_windows(0, 9, 0)] == [0.0]
    assert one.get_window(1, 0) is not None
    assert one.retire(9, 0, join_keys=(0, 1)) == 1


@pytest.mark.parametrize("given", [1.0, "1", True, (1,), Decimal(1)])
def test_keys_of_another_type_are_refused(given: Any) -> None:
    """semantics 26.9: otherwise nothing would be found, and nobody would notice."""
    one = joining("bigint")
    rule = "the keys of column 'v' are of the type Int64"
    for call in (one.get_messages, lambda *bounds, **keys: one.retire(9, 0, **keys)):
        with pytest.raises(InputError, match=rule):
            call(0, 9, join_keys=(0.0, given))
    aggregator = WindowedAggregator(
        AggregatorSettings(**WHOLE, session_key="v"),
        [F.count().alias("n")],
        {"event_time": "bigint", "v": "bigint"},
    )
    calls: Any = (aggregator.get_window, aggregator.del_window, aggregator.retire)
    for call in (*calls, lambda start, key: aggregator.get_windows(start, 9, key)):
        with pytest.raises(InputError, match=rule):
            call(0, given)
