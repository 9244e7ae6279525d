"""Column types of the runner: how they are inferred, and which values fit them."""

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from panewise.errors import InputError
from panewise.spec.column_values import MISFIT, ColumnType
from panewise.testing.columns import infer


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([None, None], "bigint"),
        ([True, None, False], "boolean"),
        ([1, None], "bigint"),
        ([1, 2.5], "double"),
        ([2.5], "double"),
        (["a"], "string"),
        ([Decimal(1)], "decimal(18,0)"),
        ([Decimal("1.50"), Decimal("1.125"), Decimal("1E+3")], "decimal(18,3)"),
        ([None, 1, "a"], "bigint"),
        (["a", 1], "string"),
        ([True, 1], "boolean"),
        ([1, True], "bigint"),
        ([2**63, "a"], "bigint"),
        ([Decimal("1.5"), 1], "decimal(18,1)"),
        ([date(2026, 1, 1)], "date"),
        ([datetime(2026, 1, 1, tzinfo=UTC), 5], "timestamp"),
        ([datetime(2026, 1, 1)], "timestamp_ntz"),  # noqa: DTZ001 - it has no zone
        ([[None, datetime(2026, 1, 1)]], "array<timestamp_ntz>"),  # noqa: DTZ001 - as above
        ([b"a"], "binary"),
        ([[], None], "array<bigint>"),
        ([[], [None, 1], (2.5,)], "array<double>"),
        ([[[]], [["a"]]], "array<array<string>>"),
        ([{"a": 1}, {"b b": None}], "struct<a:bigint,`b b`:bigint>"),
        ([{"a": []}, {"a": [b"x"]}], "struct<a:array<binary>>"),
        ([{}], "string"),
        ([{}, {"a": 1}], "struct<a:bigint>"),
        ([[{}, {"a": "x"}]], "array<struct<a:string>>"),
    ],
)
def test_types_are_inferred(values: list[Any], kind: str) -> None:
    assert infer([{"c": value} for value in values], {}, [], []) == {"c": kind}


def test_given_types_win() -> None:
    rows = [{"c": 1, "t": "x"}]
    assert infer(rows, {"c": "decimal(4, 1)"}, ["d"], ["t"]) == {
        "d": "bigint",
        "c": "decimal(4,1)",
        "t": "bigint",
    }


@pytest.mark.parametrize(
    ("kind", "value", "held"),
    [
        ("bigint", 5, 5),
        ("bigint", None, None),
        ("bigint", -(2**63), -(2**63)),
        ("bigint", 2**63, MISFIT),
        ("bigint", True, MISFIT),
        ("bigint", 1.0, MISFIT),
        ("double", 5, 5.0),
        ("double", 2.5, 2.5),
        ("double", 10**400, MISFIT),
        ("double", Decimal(1), MISFIT),
        ("double", False, MISFIT),
        ("string", "", ""),
        ("string", 5, MISFIT),
        ("boolean", False, False),
        ("boolean", 0, MISFIT),
        ("decimal(3,1)", Decimal("99.9"), Decimal("99.9")),
        ("decimal(3,1)", Decimal("1.50"), Decimal("1.5")),
        ("decimal(3,1)", Decimal("100"), MISFIT),
        ("decimal(3,1)", Decimal("1.25"), MISFIT),
        ("decimal(3,1)", Decimal("NaN"), MISFIT),
        ("decimal(3,1)", Decimal("Infinity"), MISFIT),
        ("decimal(3,1)", 1, MISFIT),
        ("decimal(38,0)", Decimal("9" * 38), Decimal("9" * 38)),
        ("array<double>", (1, None), [1.0, None]),
        ("struct<a:bigint,b:double>", {"b": 1}, {"a": None, "b": 1.0}),
        ("struct<a:bigint>", {"c": 1}, MISFIT),
        ("map<string,double>", {"a": 1}, [{"key": "a", "value": 1.0}]),
        ("map<string,double>", [{"key": "a"}], [{"key": "a", "value": None}]),
        ("map<string,double>", {None: 1}, MISFIT),
        ("array<struct<a:bigint>>", {"a": 1}, MISFIT),
        ("timestamp", datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC), 1_000_000),
        ("date", datetime(1970, 1, 1, tzinfo=UTC), MISFIT),
        ("binary", b"a", b"a"),
        ("tinyint", -128, -128),
        ("tinyint", 128, MISFIT),
        ("smallint", -(2**15) - 1, MISFIT),
        ("int", 2**31 - 1, 2**31 - 1),
        ("int", 2**31, MISFIT),
        ("array<int>", [True], MISFIT),
        ("float", 0.1, 0.10000000149011612),
        ("float", 16_777_217, 16_777_216.0),
        ("float", 1e39, MISFIT),
        ("float", float("inf"), float("inf")),
        ("timestamp_ntz", datetime(1969, 12, 31, 23, 59, 59), -1_000_000),  # noqa: DTZ001 - it has no zone
        ("timestamp_ntz", datetime(1970, 1, 1, tzinfo=UTC), MISFIT),
    ],
)
def test_values_fit_their_type(kind: str, value: Any, held: Any) -> None:
    got = ColumnType.parse(kind).fit(value)
    assert got is held if held is MISFIT else (got == held and type(got) is type(held))


@pytest.mark.parametrize(
    "text", ["integer", "decimal", "decimal(39,0)", "decimal(2,3)", "decimal(0,0)", "double x"]
)
def test_unknown_types_are_refused(text: str) -> None:
    with pytest.raises(InputError) as caught:
        ColumnType.parse(text)
    assert caught.value.given == f"type={text!r}"
