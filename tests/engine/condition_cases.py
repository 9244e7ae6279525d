"""Conditions with the truth value that Spark 4.2 gives them in ANSI mode for a pair of rows.

tests/spark/test_conditions.py compares the table with Spark. A row has the columns of
tests.conditions; those that a case does not name are null.
"""

import math
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Final

import polars as pl

from panewise.spec.conditions import Node, Term, as_condition, left, right, sql_text
from tests.conditions import COLUMNS, Pair

NAN, INF = math.nan, math.inf
LONG: Final = 2**63
OVERFLOW: Final = "overflow"
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

# The values of columns: "name" of the left row, "right.name" of the right one.
Values = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A condition, values of the pair, and True, False, None for null, or `OVERFLOW`."""

    term: Term
    values: Values
    truth: bool | str | None

    @property
    def condition(self) -> Node:
        return as_condition(self.term)

    def row(self, side: str) -> dict[str, Any]:
        start = "right." if side == "right" else ""
        return {name: self.values.get(start + name) for name in COLUMNS}

    def __str__(self) -> str:
        return f"{sql_text(self.term.node)} {self.values}"


n, m, x, s, o, d, e, f, t, w = map(left, ("n", "m", "x", "s", "o", "d", "e", "f", "t", "w"))
D = Decimal
CASES = (
    # sentence 38.3: three truth values. `o` is the first operand, `right.o` the second.
    *(
        Case(o & right("o"), {"o": one, "right.o": other}, truth)
        for one, other, truth in (
            (True, True, True), (True, False, False), (False, False, False),
            (True, None, None), (False, None, False), (None, None, None),
            (None, True, None), (None, False, False),
        )
    ),
    *(
        Case(o | right("o"), {"o": one, "right.o": other}, truth)
        for one, other, truth in (
            (True, True, True), (True, False, True), (False, False, False),
            (True, None, True), (False, None, None), (None, None, None),
            (None, True, True), (None, False, None),
        )
    ),
    *(Case(~o, {"o": one}, truth) for one, truth in ((True, False), (False, True), (None, None))),
    # sentence 38.4: null
    Case(n == right("n"), {"n": 1}, None),
    Case(n != right("n"), {}, None),
    Case(n + 1 > 0, {}, None),
    Case(n.is_null(), {}, True),
    Case(n.is_null(), {"n": 1}, False),
    Case(n.is_not_null(), {}, False),
    Case((n == right("n")).is_null(), {"n": 1}, True),
    Case(n.eq_null_safe(right("n")), {}, True),
    Case(n.eq_null_safe(right("n")), {"n": 1}, False),
    Case(n.eq_null_safe(right("n")), {"n": 1, "right.n": 1}, True),
    Case(x.eq_null_safe(right("x")), {"x": NAN, "right.x": NAN}, True),
    Case(n.eq_null_safe(None), {}, True),
    # sentence 38.6: numbers by value
    Case(n == right("f"), {"n": 2**53 + 1, "right.f": D(2**53 + 1)}, True),
    Case(n < right("f"), {"n": LONG - 1, "right.f": D(LONG)}, True),
    Case(d == right("n"), {"d": D("2.00"), "right.n": 2}, True),
    Case(d > right("n"), {"d": D("2.01"), "right.n": 2}, True),
    Case(d < -1, {"d": D("-1.50")}, True),
    Case(d == D("1.5"), {"d": D("1.50")}, True),
    Case(left("i") == right("n"), {"i": -2, "right.n": -2}, True),
    # sentence 38.7: the nearest double
    Case(n == right("x"), {"n": 2**53 + 1, "right.x": 2.0**53}, True),
    Case(n > right("x"), {"n": 2**53 + 1, "right.x": 2.0**53}, False),
    Case(n == right("x"), {"n": LONG - 1, "right.x": 2.0**63}, True),
    Case(d == right("x"), {"d": D("0.10"), "right.x": 0.1}, True),
    Case(f == right("x"), {"f": D("9007199254740993"), "right.x": 2.0**53}, True),
    Case(f < right("x"), {"f": D("9" * 38), "right.x": 1e38}, False),
    # sentence 38.8: NaN and zeros
    Case(x == right("x"), {"x": NAN, "right.x": NAN}, True),
    Case(x != right("x"), {"x": NAN, "right.x": NAN}, False),
    Case(x > right("x"), {"x": NAN, "right.x": INF}, True),
    Case(x > right("n"), {"x": NAN, "right.n": LONG - 1}, True),
    Case(x < right("x"), {"x": NAN, "right.x": 1.0}, False),
    Case(x < right("x"), {"x": 1.0, "right.x": NAN}, True),
    Case(x == right("x"), {"x": -0.0, "right.x": 0.0}, True),
    Case(x < right("x"), {"x": -0.0, "right.x": 0.0}, False),
    Case(x.is_null(), {"x": NAN}, False),
    # sentence 38.9: other values
    Case(s < right("s"), {"s": "B", "right.s": "a"}, True),
    Case(s < right("s"), {"s": "a", "right.s": "ab"}, True),
    Case(s < right("s"), {"s": "\uffff", "right.s": "\U0001f600"}, True),
    Case(s == right("s"), {"s": "a", "right.s": "a "}, False),
    Case(o < right("o"), {"o": False, "right.o": True}, True),
    Case(o == (n == 1), {"o": False, "n": 2}, True),
    Case(w < right("w"), {"w": date(1969, 12, 31), "right.w": date(1970, 1, 1)}, True),
    Case(w == date(2024, 2, 29), {"w": date(2024, 2, 29)}, True),
    Case(t < EPOCH, {"t": -1}, True),
    Case(t == EPOCH, {"t": 0}, True),
    Case(t > right("t"), {"t": 1, "right.t": 1}, False),
    # sentence 38.10: BETWEEN
    Case(n.between(1, 5), {"n": 1}, True),
    Case(n.between(1, 5), {"n": 5}, True),
    Case(n.between(1, 5), {"n": 6}, False),
    Case(n.between(5, 1), {"n": 3}, False),
    Case(n.between(1, right("n")), {"n": 0}, False),
    Case(n.between(1, right("n")), {"n": 2}, None),
    Case(x.between(0, NAN), {"x": INF}, True),
    # sentence 38.11: IN
    Case(s.is_in(["a", "b"]), {"s": "b"}, True),
    Case(s.is_in(["a", "b"]), {"s": "c"}, False),
    Case(s.is_in(["a", "b"]), {}, None),
    Case(n.is_in([1, right("n")]), {"n": 1}, True),
    Case(n.is_in([1, right("n")]), {"n": 2}, None),
    Case(x.is_in([1.0, NAN]), {"x": NAN}, True),
    Case(~n.is_in([1, 2]), {"n": 3}, True),
    # sentence 38.14: whole numbers in 64 bits
    Case(n + right("n") > 0, {"n": LONG - 1, "right.n": 0}, True),
    Case(n + right("n") > 0, {"n": LONG - 1, "right.n": 1}, OVERFLOW),
    Case(n - right("n") < 0, {"n": -LONG, "right.n": 1}, OVERFLOW),
    Case(n * right("n") > 0, {"n": 2**62, "right.n": 2}, OVERFLOW),
    Case(n * right("n") < 0, {"n": 2**62, "right.n": -2}, True),
    Case(-n > 0, {"n": -LONG}, OVERFLOW),
    Case((n + 1) - 1 == n, {"n": LONG - 1}, OVERFLOW),
    # sentence 38.15: doubles
    Case(x * 10 == right("x"), {"x": 1e308, "right.x": INF}, True),
    Case(x - right("x") == NAN, {"x": INF, "right.x": INF}, True),
    Case(x + 0.2 == 0.3, {"x": 0.1}, False),
    Case(n + right("x") == 2.0**53, {"n": 2**53 + 1, "right.x": 0.0}, True),
    Case(d * right("x") == 0.25, {"d": D("0.50"), "right.x": 0.5}, True),
    # sentence 38.16: decimals
    Case(d + right("d") == D("0.30"), {"d": D("0.10"), "right.d": D("0.20")}, True),
    Case(d * right("d") == D("0.0001"), {"d": D("0.01"), "right.d": D("0.01")}, True),
    Case(d - 1 < D("-0.99"), {"d": D("0.01")}, False),
    Case(d * n == D("922337203593243860331452241.93"), {"d": D("99999999.99"), "n": LONG - 1}, True),
    Case(d * n == D("922337203593243860331452241.94"), {"d": D("99999999.99"), "n": LONG - 1}, False),
    Case(d * n > right("f"), {"d": D("99999999.99"), "n": LONG - 1, "right.f": D("922337203593")}, True),
)  # fmt: skip

_DTYPES: Final[dict[str, Any]] = {
    "bigint": pl.Int64(),
    "int": pl.Int32(),
    "double": pl.Float64(),
    "string": pl.String(),
    "boolean": pl.Boolean(),
    "decimal(10,2)": pl.Decimal(10, 2),
    "decimal(38,37)": pl.Decimal(38, 37),
    "decimal(38,0)": pl.Decimal(38, 0),
    "timestamp": pl.Int64(),
    "date": pl.Date(),
}


def frame_of(rows: list[Pair]) -> pl.DataFrame:
    """Returns pairs of rows as a frame, with the columns that :func:`column_name` names."""
    schema = {
        column_name(side, name): _DTYPES[kind] for side in ("left", "right") for name, kind in COLUMNS.items()
    }
    columns = {
        column_name(side, name): [pair[n][name] for pair in rows]
        for n, side in enumerate(("left", "right"))
        for name in COLUMNS
    }
    times = [name for name in schema if COLUMNS[name.split(":")[1]] == "timestamp"]
    return pl.DataFrame(columns, schema=schema).with_columns(pl.col(times).cast(pl.Datetime("us", "UTC")))


def column_name(side: str, name: str) -> str:
    return f"{side}:{name}"
