"""The columns, values, and user-defined aggregates and windows that the strategies draw from."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

import polars as pl

from panewise.spec import Custom, Entry, UserAggregate, input_columns
from panewise.spec.column_values import ColumnType

_TIMES_AND_PLACES = {
    "event_time": "bigint",
    "t": "bigint",
    "order": "bigint",
    "partition": "bigint",
    "offset": "bigint",
    "source": "string",
}
_KEYS = {"key": "string", "level": "double", "shop": "bigint"}
OF_WINDOWS: Final = {"gap": "bigint"}
OF_INPUTS: Final = {"input": "string"}
_DECIMALS = {"price": "decimal(10,2)", "amount": "decimal(38,18)"}
MEASURES: Final = {"v": "double", "n": "bigint", "s": "string", "flag": "boolean"} | _DECIMALS
COLUMN_TYPES: Final = _TIMES_AND_PLACES | _KEYS | OF_WINDOWS | OF_INPUTS | MEASURES
VALUES: Final[dict[str, list[Any]]] = {
    "bigint": [0, 1, 2, -1, 7],
    "double": [0.0, 1.0, -0.25, 2.5, 100.75, -0.0, 3],
    "string": ["a", "b", "", "aé"],
    "boolean": [False, True],
    "decimal": [Decimal("0.00"), Decimal("1.25"), Decimal("-3.5"), Decimal("99999999.99")],
}
# Few keys, so that many rows of one key share windows.
KEY_VALUES: Final[dict[str, list[Any]]] = {"key": ["a", "a", "b"], "level": [0.0, -0.0, 3], "shop": [1, 1, 2]}
INPUT_VALUES: Final = ["a", "b"] * 6 + ["c"]  # the inputs are a and b; c is unknown
MISFITS: Final[dict[str, list[Any]]] = {
    "bigint": ["x", True, 1.5, 2**63, -(2**70)],
    "double": ["x", True, Decimal("1.5")],
    "string": [5, False],
    "boolean": [1, "true"],
    "decimal": [5, Decimal("0.001"), Decimal("NaN"), Decimal(10**9)],
}
TEXTS = UserAggregate(
    "joined",
    init=lambda: "",
    accumulate=lambda state, value: state + ("-" if value is None else value),
    merge=lambda state, other: state + other,
    finish=lambda state: state,
    result="string",
)
NULLS = UserAggregate(
    "nulls",
    init=lambda: [0],
    accumulate=lambda state, value: [state[0] + (value is None)],
    merge=lambda state, other: [state[0] + other[0]],
    finish=lambda state: state[0],
    result="bigint",
)
ALL_TEXT = UserAggregate.reduce("all_text", lambda state, other: state + other, result="string")
TRUES = UserAggregate.fold(
    "trues",
    0,
    lambda n, flag: n + (flag is True),
    combine=lambda state, other: state + other,
    result="bigint",
    commutative=True,
)
LATEST = UserAggregate.fold(
    "latest",
    [],
    lambda two, n: [*two, n][-2:],
    combine=lambda state, other: [*state, *other][-2:],
    result="array<bigint>",
)
COSTS = UserAggregate(
    "costs",
    init=lambda: {"rows": 0, "cents": 0},
    accumulate=lambda state, price, n: {
        "rows": state["rows"] + 1,
        "cents": state["cents"] + (0 if price is None else int(price * 100) * (1 if n is None else n)),
    },
    merge=lambda state, other: {name: state[name] + other[name] for name in state},
    finish=lambda state: {**state, "cents": Decimal(state["cents"]).scaleb(-2)},
    result="struct<rows:bigint,cents:decimal(38,2)>",
    commutative=True,
)
TALLY = UserAggregate.fold(
    "tally",
    {},
    lambda state, s: {**state, str(s): state.get(str(s), 0) + 1},
    combine=lambda state, other: {
        name: state.get(name, 0) + other.get(name, 0) for name in dict.fromkeys((*state, *other))
    },
    result="map<string,bigint>",
)
USER_AGGREGATES: Final = {user.name: user for user in (TEXTS, NULLS, ALL_TEXT, TRUES, LATEST, COSTS, TALLY)}


def _gap_window(frame: pl.DataFrame) -> pl.Series:
    """Returns one window for each row: it starts at the row's event time and is as long as the row's gap."""
    start = pl.col("event_time")
    return frame.select(
        pl.concat_list(pl.struct(start.alias("start"), (start + pl.col("gap")).alias("end")))
    ).to_series()


def _shifts(row: dict[str, Any]) -> Any:
    """Returns two windows, but no window if `n` is 7, and null if `n` is null (semantics 6.6)."""
    start, n = row["event_time"] // 4 * 4, row["n"]
    return {7: [], None: None}.get(n, [(start, start + 4), (start + 1, start + 3)])


GAP_WINDOWS = Custom(_gap_window, name="holds", columns=["gap"])
SHIFTS = Custom.each(_shifts, name="shifts", columns=["n"])
STEPS = Custom.each(lambda row: [(row["event_time"] // 3 * 3, row["event_time"] // 2 * 2 + 3)], name="steps")
SHIFTS_ONCE = Custom.each(lambda row: [(row["event_time"] + 1, row["event_time"] // 3 * 3 + 5)], name="once")
USER_WINDOWS: Final = {window.name: window for window in (GAP_WINDOWS, SHIFTS, STEPS, SHIFTS_ONCE)}


def types_of(spec: Entry) -> dict[str, str]:
    """Returns the types of the columns that a specification reads, as the strategies of events draw them.

    Columns that are not in the samples are bigint, and names of inputs are strings.

    >>> from panewise import functions as F, Global, WindowOperator
    >>> types_of(WindowOperator(window=Global(), aggregates=[F.sum("v")]))
    {'event_time': 'bigint', 'v': 'double'}
    """
    others = dict.fromkeys(spec.columns_read, "bigint") | dict.fromkeys(
        input_columns(spec.watermark), "string"
    )
    return {name: COLUMN_TYPES.get(name, others[name]) for name in spec.columns_read}


def with_types(types: Mapping[str, str], types_of_test: Mapping[str, str] | None) -> dict[str, str]:
    """Returns types, of which those that a test gives take precedence.

    Raises:
        InputError: for an unknown type.

    >>> with_types({"a": "bigint", "b": "bigint"}, {"b": "decimal(4, 1)"})
    {'a': 'bigint', 'b': 'decimal(4,1)'}
    """
    return {**types, **{name: str(ColumnType.parse(text)) for name, text in (types_of_test or {}).items()}}
