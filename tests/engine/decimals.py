"""Columns of decimals with the sum and the mean that Spark 4.2 returns in ANSI mode, None where it raises.

tests/spark/test_decimals.py compares the table with Spark.
"""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import polars as pl

WIDEST = "9" * 38


@dataclass(frozen=True)
class Case:
    """Values of a decimal(precision, scale) in arrival order, with their sum and mean."""

    precision: int
    scale: int
    values: tuple[str, ...]
    total: str | None
    mean: str | None

    @property
    def dtype(self) -> pl.Decimal:
        return pl.Decimal(self.precision, self.scale)

    @property
    def kind(self) -> str:
        """Returns the name of the type."""
        return f"decimal({self.precision},{self.scale})"

    @property
    def rows(self) -> list[dict[str, Any]]:
        return [{"v": Decimal(value)} for value in self.values]

    @property
    def total_type(self) -> pl.Decimal:
        return pl.Decimal(min(38, self.precision + 10), self.scale)

    @property
    def mean_type(self) -> pl.Decimal:
        return pl.Decimal(min(38, self.precision + 4), min(38, self.scale + 4))

    def __str__(self) -> str:
        return f"{self.kind}[{len(self.values)}]{self.values[0][:6]}"


CASES = (
    Case(1, 0, ("1", "2", *["0"] * 14), "3", "0.1875"),
    Case(5, 5, ("0.00001", "0.00002"), "0.00003", "0.000015"),
    Case(8, 8, ("0.00000001", "0.00000001", "0.00000002"), "0.00000004", "0.000000013333"),
    Case(10, 2, ("0.01", "-0.02", "-0.02"), "-0.03", "-0.01"),
    Case(10, 2, ("0.01", "0.02", "0.02"), "0.05", "0.016667"),
    Case(11, 0, (*["99999999999", "99999999998"] * 11, "5"), "2199999999972", "95652173911.8261"),
    Case(18, 18, ("0.999999999999999999",) * 9, "8.999999999999999991", "0.999999999999999999"),
    Case(20, 5, ("1.00001", "2.00002", "4.00004"), "7.00007", "2.333356667"),
    Case(28, 0, ("9" * 28,) * 9, "89999999999999999999999999991", "9" * 28),
    Case(35, 10, ("1" * 25, "2" * 25), "3" * 25, None),
    Case(
        35,
        35,
        ("0." + "7" * 35, "0." + "7" * 34 + "6", "0.1"),
        "1." + "6" + "5" * 32 + "53",
        "0." + "551851851851851851851851851851851" + "84333",
    ),
    Case(38, 0, (WIDEST, "-" + WIDEST, "5"), "5", "1.6667"),
    Case(38, 0, ("-" + WIDEST, WIDEST), "0", "0"),
    Case(38, 0, (WIDEST, "1"), None, None),
    Case(38, 0, ("-" + WIDEST, "-1"), None, None),
    Case(38, 0, (WIDEST,), WIDEST, None),
    Case(38, 0, ("9" * 34, "1"), "1" + "0" * 34, "5" + "0" * 33),
    Case(38, 18, ("99999999999999999999",) * 30, None, None),
    Case(
        38,
        18,
        ("9999999999999999", "-0.000000000000000001"),
        "9999999999999998.999999999999999999",
        "4999999999999999.4999999999999999995",
    ),
    Case(
        38,
        30,
        ("12345678.000000000000000000000000000001",) * 7,
        "86419746.000000000000000000000000000007",
        None,
    ),
    Case(38, 36, ("1.5", "2." + "3" * 36), "3.8" + "3" * 35, None),
    Case(38, 37, ("9.1",) * 30, None, None),
    Case(38, 38, ("0." + "4" * 38,) * 2, "0." + "8" * 38, "0." + "4" * 38),
    Case(38, 38, ("0." + "9" * 38,) * 2, None, None),
)
